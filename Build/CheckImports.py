#!/usr/bin/env python3
"""Checks that images import from nothing but ntdll.dll and kernel32.dll, and
that nothing in them gives away when or where they were built.

    Build/CheckImports.py IMAGE...
"""

import re
import subprocess
import sys

ALLOWED = {"ntdll.dll", "kernel32.dll"}

# A path is no longer than this; what is printable before it is text.
LONGEST_PATH = 260


def imports(image):
    """{dll: [symbol, ...]}, delay-loaded ones too."""
    output = subprocess.run(["llvm-readobj-19", "--coff-imports", image],
                            check=True, capture_output=True,
                            text=True).stdout
    found = {}
    dll = None
    for line in output.split("\n"):
        match = re.match(r"^\s+Name: (\S+)", line)
        if match:
            dll = match.group(1).lower()
            found.setdefault(dll, [])
        match = re.match(r"^\s+Symbol: (\S*)", line)
        if match and dll:
            found[dll].append(match.group(1))
    return found


def check(image):
    found = imports(image)
    complaints = [f"imports {dll}" for dll in sorted(found)
                  if dll not in ALLOWED]
    with open(image, "rb") as file:
        data = file.read()
    for match in re.finditer(rb"\.pdb", data):
        before = data[max(match.start() - LONGEST_PATH, 0):match.end()]
        path = re.search(rb"[ -~]*$", before).group(0).decode()
        if "/" in path or "\\" in path:
            complaints.append(f"names the path {path}")
    return found, complaints


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    failed = False
    for image in sys.argv[1:]:
        try:
            found, complaints = check(image)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"CheckImports: {image}: {error}")
            return 1
        for complaint in complaints:
            print(f"{image}: {complaint}")
        failed |= bool(complaints)
        listed = "; ".join(f"{dll}: {', '.join(sorted(names))}"
                           for dll, names in sorted(found.items()))
        print(f"CheckImports: {image}: {listed or 'no imports'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

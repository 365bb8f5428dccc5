#!/usr/bin/env python3
"""Checks a driver that has the whole of TracerPenterKernel.lib in it, linked by
lld and by GNU ld: it imports from ntoskrnl.exe alone, no section of it is both
writable and executable, and none of the library's code or data lies in a section
that is paged or discarded.

    Build/CheckDriver.py LIBRARY...
"""

import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import CheckImports

ALLOWED = {"ntoskrnl.exe"}
IMPORTS = "/usr/x86_64-w64-mingw32/lib/libntoskrnl.a"

# A driver in MSVC's shapes.
SOURCE = """
        bits 64
        default rel
        extern _penter
        extern _pexit
        global DriverEntry
        section .text
DriverEntry:
        sub rsp, 40
        call _penter
        xor eax, eax
        call _pexit
        add rsp, 40
        ret
"""


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True,
                          text=True, errors="replace").stdout


def link(folder, library, which):
    source, made = os.path.join(folder, "d.asm"), os.path.join(folder, "d.obj")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    run("nasm", "-f", "win64", source, "-o", made)
    image = os.path.join(folder, which + ".sys")
    if which == "lld":
        run("lld-link-19", "/nologo", "/driver", "/subsystem:native",
            "/nodefaultlib", "/machine:x64", "/out:" + image,
            "/entry:TracerKernelDriverEntry",
            "/alternatename:TracerKernelRealEntry=DriverEntry", made,
            "/wholearchive:" + library, IMPORTS)
    else:
        run("x86_64-w64-mingw32-ld", "-shared", "--subsystem", "native",
            "--exclude-all-symbols", "-e", "TracerKernelDriverEntry",
            "--defsym=TracerKernelRealEntry=DriverEntry", "-o", image, made,
            "--whole-archive", library, "--no-whole-archive", IMPORTS)
    return image


def check_sections(image):
    complaints = []
    name = None
    for line in run("llvm-readobj-19", "--sections", image).split("\n"):
        match = re.match(r"^\s+Name: (\S+)", line)
        if match:
            name, flags = match.group(1), set()
        match = re.match(r"^\s+IMAGE_SCN_(\w+)", line)
        if match:
            flags.add(match.group(1))
            if {"MEM_WRITE", "MEM_EXECUTE"} <= flags:
                complaints.append(f"section {name} is written and executed")
    return complaints


def check_members(library):
    """Names of sections that drivers page or discard."""
    return [f"has a section {name}" for name in sorted(set(re.findall(
        r"^\s+Name: (PAGE\S*|INIT\S*|\.?init\S*)", run(
            "llvm-readobj-19", "--sections", library), re.M)))]


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    failed = False
    for library in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for which in "lld", "GNU ld":
                try:
                    complaints = check_members(library)
                    image = link(folder, library, which)
                    found = CheckImports.imports(image)
                    complaints += check_sections(image)
                except subprocess.CalledProcessError as error:
                    print(f"CheckDriver: {library}: {which}: "
                          f"{error.stderr.strip()}")
                    return 1
                complaints += [f"imports {name}" for name in sorted(found)
                               if name not in ALLOWED]
                if not found:
                    complaints.append("imports nothing")
                for complaint in complaints:
                    print(f"{library}: {which}: {complaint}")
                failed |= bool(complaints)
                names = sorted(name for names in found.values()
                               for name in names)
                print(f"CheckDriver: {library}: {which}: "
                      f"{', '.join(sorted(found))}: {', '.join(names)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

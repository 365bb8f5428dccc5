#!/usr/bin/env python3
"""Checks who includes whom, and who calls whom.

    Build/CheckLayers.py [FOLDER [LIBRARY-FOLDER]]

A source may include headers of its own folder and of those that the table
gives it; system headers come in through RtlTypes.h, except for those that any
freestanding compiler has.  With a folder of built libraries (x64/Release), a
symbol that a layer's library lacks must be defined by a layer that it may use
or be one of the system's.
"""

import pathlib
import re
import subprocess
import sys

ALLOWED = {
    "Rtl": set(),
    "Asm": {"Rtl"},
    "StringTable": {"Rtl", "Asm"},
    "TraceStore": {"Rtl", "Asm"},
    "Penter": {"TraceStore", "StringTable", "Rtl", "Asm"},
    "Reader": {"Rtl", "StringTable"},
}

# Single headers that a layer may include from a layer that it may not use.
ALLOWED_HEADERS = {
    "Reader": {"TraceStore/TraceFormat.h"},
}

# Headers that stand alone: they include nothing of ours.
ALONE = {"TraceStore/TraceFormat.h", "StringTable/StringTable.h"}

FREESTANDING = {"stdint.h", "stddef.h", "stdarg.h", "stdbool.h", "limits.h",
                "intrin.h", "immintrin.h", "assert.h"}

# Who may include any other system header, and which (None: any).
SYSTEM = {
    "Rtl/RtlTypes.h": None,
    "Reader/ReaderDbgHelp.c": {"dbghelp.h"},
}

INCLUDE = re.compile(r'^\s*[#%]\s*include\s*([<"])([^">]+)[">]')


def included_file(root, source, name):
    """The path of ours that an include names, or None."""
    beside = (root / source).parent / name
    if beside.is_file():
        return beside.resolve().relative_to(root.resolve()).as_posix()
    for folder in list(ALLOWED) + ["Tests", "."]:
        if (root / folder / name).is_file():
            path = (root / folder / name).resolve()
            return path.relative_to(root.resolve()).as_posix()
    return None


def check_includes(root):
    complaints = []
    count = 0
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).glob("*")):
            if path.suffix not in {".c", ".h", ".asm", ".inc"}:
                continue
            source = f"{folder}/{path.name}"
            lines = path.read_text(encoding="utf-8").split("\n")
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                count += 1
                where = f"{source}:{number}"
                name = match.group(2)
                if match.group(1) == "<":
                    if name not in FREESTANDING and not (
                            source in SYSTEM and
                            (SYSTEM[source] is None or
                             name.lower() in SYSTEM[source])):
                        complaints.append(f"{where}: <{name}>: system "
                                          "headers come from RtlTypes.h")
                    continue
                target = included_file(root, source, name)
                if target is None:
                    complaints.append(f"{where}: {name}: not found")
                    continue
                other = target.split("/")[0]
                if source in ALONE:
                    complaints.append(f"{where}: {target}: {source} must "
                                      "stand alone")
                elif (other != folder and other not in allowed and
                      target not in ALLOWED_HEADERS.get(folder, set())):
                    complaints.append(f"{where}: {target}: {folder} may not "
                                      f"use {other}")
    return count, complaints


def symbols(library):
    """The external symbols that a library defines, and those it lacks."""
    output = subprocess.run(["llvm-nm-19", "--extern-only", str(library)],
                            check=True, capture_output=True,
                            text=True).stdout
    defined, undefined = set(), set()
    for line in output.split("\n"):
        fields = line.split()
        if len(fields) >= 2 and len(fields[-2]) == 1:
            (undefined if fields[-2] in "Uw" else defined).add(fields[-1])
    return defined, undefined - defined


def check_symbols(folder):
    names = [name for name in ALLOWED if name != "Penter" and
             (folder / f"{name}.lib").is_file()]
    tables = {name: symbols(folder / f"{name}.lib") for name in names}
    complaints = []
    count = 0
    for name in names:
        for symbol in sorted(tables[name][1]):
            count += 1
            owners = {other for other in names
                      if other != name and symbol in tables[other][0]}
            if owners and not owners & ALLOWED[name]:
                complaints.append(f"{name}.lib: {symbol}: defined only in "
                                  f"{', '.join(sorted(owners))}, which "
                                  f"{name} may not use")
    return count, complaints


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    includes, complaints = check_includes(root)
    references = 0
    if len(sys.argv) > 2:
        references, more = check_symbols(pathlib.Path(sys.argv[2]))
        complaints += more
    for complaint in complaints:
        print(complaint)
    if includes == 0:
        print("CheckLayers: no includes found")
        return 1
    print(f"CheckLayers: {includes} includes, {references} references "
          f"between libraries: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

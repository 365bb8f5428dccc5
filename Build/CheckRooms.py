#!/usr/bin/env python3
"""Checks that the house stays one that can be walked: a header has at most 400
lines, a source 1,500, a folder 30 sources, and a routine's name begins with the
word of its folder, and not with the name of another file there.

    Build/CheckRooms.py [FOLDER]

What is above a limit has a row in ALLOWED, with the lines that it may have.  It
may shrink: then so does its row.
"""

import collections
import pathlib
import re
import sys

MAXIMUM = {".h": 400, ".c": 1500}
MAXIMUM_SOURCES = 30

# What a routine's name begins with in a folder.
PREFIXES = {
    "Asm": ("Asm",), "Rtl": ("Rtl",), "StringTable": ("StringTable", "Kernel"),
    "Codec": ("Codec",),
    "TraceStore": ("Trace",), "Penter": ("Penter",),
    "Imports": ("Imports",),
    "Reader/Base": ("Base",), "Reader/Calls": ("Call",),
    "Reader/Collect": ("Collect",),
    "Reader/Commands": ("Command",), "Reader/Core": ("Core",),
    "Reader/Demangle": ("Demangle",), "Reader/Etl": ("Etl",),
    "Reader/Export": ("Export",),
    "Reader/Functions": ("Function",), "Reader/Image": ("Image",),
    "Reader/Live": ("Live",), "Reader/Output": ("Output",),
    "Reader/Session": ("Session",), "Reader/Sql": ("Sql",),
    "Reader/Start": ("Start",),
    "Reader/Sums": ("Sum",),
    "Reader/Symbols": ("Symbol",), "Reader/View": ("View",),
    "Reader/View/Wasm": ("Wasm", "Symbol", "Rtl", "StringTable"),
    "Sqlite": ("Sqlite", "sqlite3_"),
    "Kernel": ("Kernel", "TracerKernel"),
    "Debugger": ("Kd", "DebugExtension", "modulestats", "lastcalls",
                 "calltree", "stack_usage", "tracer", "help"),
}

# What compilers, linkers and NASM's twins name.
OTHERS = {"mainCRTStartup", "memcpy", "memmove", "memset", "memcmp",
          "__chkstk"}

# File: (lines, why).
ALLOWED = {
    "Rtl/Rtl.h": (917, "one page for all of the RTL's routines"),
    "Rtl/RtlOs.h": (616, "the names of what ntdll and kernel32 export"),
    "StringTable/StringTableKernel.h": (
        779, "one search, compiled for each instruction set"),
    "StringTable/StringTablePrivate.h": (591, "a table's layout, once"),
    "TraceStore/TraceFormat.h": (947, "the disk: Docs/Format.md in C"),
}

# Folder: (sources, why).
FOLDERS = {
    "Tests/Programs": (40, "a program each, that scripts trace"),
}

ROUTINE = re.compile(r"^(?:[\w *]*?[ *])?(\w+)\(\n(?:    [^\n]*\n)*?    \)\n\{",
                     re.MULTILINE)
SKIPPED = {"x64", ".git"}


def find(root):
    for top in sorted(root.iterdir()):
        if top.is_dir() and top.name not in SKIPPED:
            for path in sorted(top.rglob("*")):
                if path.suffix in (".c", ".h", ".asm"):
                    yield path


def find_other(name, stem, prefix, stems):
    """The file that a routine's name leads to, if that is not its own.

    TraceControlRead may be in TraceControlFile.c as well as in TraceControl.c,
    and TraceStoreStop in TraceStop.c.
    """
    best = max((other for other in stems if name.startswith(other) and
                not name[len(other):len(other) + 1].islower()),
               key=len, default="")
    return None if stem.startswith(best) or stem[len(prefix):] in name else best


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    complaints = []
    folders = collections.Counter()
    allowed = dict(ALLOWED)
    for path in find(root):
        name = path.relative_to(root).as_posix()
        folder = name.rpartition("/")[0]
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if path.suffix != ".h":
            folders[folder] += 1
        most = MAXIMUM.get(path.suffix, lines)
        if name in allowed:
            may = allowed.pop(name)[0]
            if lines > may:
                complaints.append(f"{name}: {lines} lines, {may} are allowed")
            elif may <= most or lines <= most:
                complaints.append(f"{name}: {lines} lines need no row in "
                                  "ALLOWED")
        elif lines > most:
            complaints.append(f"{name}: {lines} lines, more than {most}")
        if folder not in PREFIXES or path.suffix != ".c":
            continue
        stems = {other.stem for other in path.parent.glob("*.c")}
        for match in ROUTINE.finditer(text):
            routine = match[1]
            if routine in OTHERS:
                continue
            if not routine.startswith(PREFIXES[folder]):
                complaints.append(f"{name}: {routine}: not "
                                  f"{' or '.join(PREFIXES[folder])}...")
            above = text[:match.end(1)].rpartition("\n\n")[2]
            other = find_other(routine, path.stem, PREFIXES[folder][0], stems)
            if other and "static" not in above.split():
                complaints.append(f"{name}: {routine}: is not in {other}.c")
    complaints += [f"{name}: is in ALLOWED, but not there" for name in allowed
                   if (root / "README.md").exists()]
    for folder, count in sorted(folders.items()):
        most = FOLDERS.get(folder, (MAXIMUM_SOURCES, ""))[0]
        if count > most:
            complaints.append(f"{folder}: {count} sources, more than {most}")
    for complaint in complaints:
        print(complaint)
    print(f"CheckRooms: {sum(folders.values())} sources in {len(folders)} "
          f"folders: {len(complaints)} complaints")
    return 1 if complaints or not folders else 0


if __name__ == "__main__":
    sys.exit(main())

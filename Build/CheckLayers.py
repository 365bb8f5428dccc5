#!/usr/bin/env python3
"""Checks who includes whom, and who calls whom; and that nobody calls in a
circle.

    Build/CheckLayers.py [FOLDER [LIBRARY-FOLDER]]

A source may include headers of its own folder and of those that the table
gives it, Reader's by their rooms; system headers come in through RtlTypes.h, except for those that any
freestanding compiler has.  With a folder of built libraries (x64/Release), a
symbol that a layer's library lacks must be defined by a layer that it may use
or be one of the system's; a source of Reader must find what it lacks in a room
that it may use; and no source of a layer may need, through others of it, what
needs it.
"""

import pathlib
import re
import subprocess
import sys

ALLOWED = {
    "Rtl": set(),
    "Asm": {"Rtl"},
    "StringTable": {"Rtl", "Asm"},
    "Codec": {"Rtl"},
    "TraceStore": {"Codec", "Rtl", "Asm"},
    "Penter": {"TraceStore", "StringTable", "Codec", "Rtl", "Asm"},
    "Imports": {"Penter", "TraceStore", "StringTable", "Codec", "Rtl", "Asm"},
    "Reader": {"Rtl", "StringTable", "Codec"},
    "Sqlite": {"Rtl", "Reader/Sql"},
    "Kernel": set(),
    "Debugger": {"Rtl", "Reader/Core", "Reader/Base", "Reader/Image",
                 "Reader/Collect"},
}

# The rooms of Reader: whom else each may use.
ROOMS = {
    "Core": "",
    "Base": "Core",
    "Etl": "Core Base",
    "Image": "",
    "Demangle": "",
    "Symbols": "Image Demangle",
    "Output": "Core Base",
    "Session": "Core Base Symbols Output",
    "Functions": "Core Base Image Symbols Output Session",
    "Calls": "Core Base Image Symbols Output Session Functions",
    "Sums": "Core Base Etl Symbols Output Session Functions Calls",
    "Export": "Core Base Output Session Functions Calls Sums",
    "Live": "Core Base Output Session Functions Calls Sums",
    "View": "Core Base Output Session Functions Calls Sums",
    "Sql": "Core Base Output Session Functions Calls Sums Export",
    "Collect": "Core Base Output Session",
    "Commands": "Core Base Etl Image Demangle Symbols Output Session Functions "
                "Calls Sums Export Live View Sql Collect",
    "Start": "Core Base Etl Image Demangle Symbols Output Session Functions "
             "Calls Sums Export Live View Sql Collect Commands",
}

# Single headers that a layer may include from a layer that it may not use.
ALLOWED_HEADERS = {
    "Reader": {"TraceStore/TraceFormat.h", "Imports/ImportsRequest.h",
               "Imports/ImportsTrivial.h"},
    "Kernel": {"TraceStore/TraceFormat.h", "Rtl/RtlTypes.h",
               "Asm/Unwind.inc"},
    "Debugger": {"TraceStore/TraceFormat.h", "Kernel/KernelFormat.h",
                 "Reader/Calls/CallSiteImage.h"},
}

for name, others in ROOMS.items():
    ALLOWED["Reader/" + name] = ALLOWED["Reader"] | {
        "Reader/" + other for other in others.split()}
    ALLOWED_HEADERS["Reader/" + name] = set(ALLOWED_HEADERS["Reader"])

# What a command is: its row is in the room of what it does.
ALLOWED_HEADERS["Reader/Sql"].add("Reader/Commands/Command.h")
ALLOWED_HEADERS["Reader/Collect"] |= {"Reader/Commands/Command.h",
                                      "Kernel/KernelFormat.h"}

# Headers that stand alone: they include nothing of ours.
ALONE = {"TraceStore/TraceFormat.h", "StringTable/StringTable.h",
         "Imports/ImportsRequest.h"}

FREESTANDING = {"stdint.h", "stddef.h", "stdarg.h", "stdbool.h", "limits.h",
                "intrin.h", "immintrin.h", "assert.h"}

# Who may include any other system header, and which (None: any).
SYSTEM = {
    "Rtl/RtlTypes.h": None,
    "Rtl/RtlPortable.h": {"ntstatus.h"},
    "Reader/Symbols/SymbolDbgHelp.c": {"dbghelp.h"},
}

# Layers whose sources must not need each other in a circle; and the one circle
# that there is: a name's grammar is recursive, and its rules stand in files.
WITHOUT_CIRCLES = ["Rtl", "StringTable", "Codec", "TraceStore", "Penter",
                   "Imports", "Reader", "Kernel", "Debugger"]
CIRCLES = ["Reader/Demangle/"]

# Where C may need assembly that needs it: the hooks enter C on their slow path,
# and C gives the program the addresses of the hooks, and the hooks their data.
# That is what the library is; so what C needs of assembly makes no circle here.
HANDED_OUT = ["Penter/"]

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


def layer_of(path):
    """The folder of a file of ours, as the table has it."""
    folder = path.rpartition("/")[0]
    return folder if folder in ALLOWED else folder.split("/")[0]


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
                other = layer_of(target)
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
    names = [name for name in ALLOWED
             if name != "Penter" and "/" not in name and
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


def read_sources(root, folder, layer):
    """For each source of a layer: the sources that define what it lacks, and
    what that is."""
    tables = {}
    for path in sorted((root / layer).rglob("*")):
        if path.suffix not in {".c", ".asm"}:
            continue
        source = path.relative_to(root).as_posix()
        made = folder / "obj" / (source.removesuffix(".c") + ".obj")
        if made.is_file():
            tables[source] = symbols(made)
    owners = {symbol: source for source, (defined, _) in tables.items()
              for symbol in defined}
    uses = {}
    for source, (_, lacking) in tables.items():
        uses[source] = {}
        for symbol in sorted(lacking):
            owner = owners.get(symbol)
            if owner is not None and owner != source:
                uses[source].setdefault(owner, symbol)
    return uses


def without_handed_out(uses):
    """The same without what C needs of assembly where that makes no circle."""
    return {source: {other: symbol for other, symbol in others.items()
                     if not (source.endswith(".c") and other.endswith(".asm")
                             and source.startswith(tuple(HANDED_OUT)))}
            for source, others in uses.items()}


def find_circles(uses):
    """The sources that need each other, in groups (Tarjan's algorithm)."""
    order, low, stack, circles = {}, {}, [], []
    for root in uses:
        waiting = [] if root in order else [(root, iter(uses[root]))]
        if waiting:
            order[root] = low[root] = len(order)
            stack.append(root)
        while waiting:
            source, others = waiting[-1]
            for other in others:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    waiting.append((other, iter(uses[other])))
                    break
                if other in stack:
                    low[source] = min(low[source], order[other])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    low[above] = min(low[above], low[source])
                if low[source] == order[source]:
                    group = []
                    while not group or group[-1] != source:
                        group.append(stack.pop())
                    if len(group) > 1:
                        circles.append(sorted(group))
    return circles


def check_sources(root, folder):
    complaints = []
    count = 0
    for layer in WITHOUT_CIRCLES:
        uses = read_sources(root, folder, layer)
        for source, others in uses.items():
            for other, symbol in others.items():
                count += 1
                mine, theirs = layer_of(source), layer_of(other)
                if mine != theirs and theirs not in ALLOWED[mine]:
                    complaints.append(f"{source}: {symbol}: of {other}: "
                                      f"{mine} may not use {theirs}")
        for group in find_circles(without_handed_out(uses)):
            if not any(all(source.startswith(place) for source in group)
                       for place in CIRCLES):
                complaints.append(f"{layer}: a circle: {', '.join(group)}")
    return count, complaints


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    includes, complaints = check_includes(root)
    references = 0
    if len(sys.argv) > 2:
        folder = pathlib.Path(sys.argv[2])
        for count, more in (check_symbols(folder),
                            check_sources(root, folder)):
            references += count
            complaints += more
    for complaint in complaints:
        print(complaint)
    if includes == 0:
        print("CheckLayers: no includes found")
        return 1
    print(f"CheckLayers: {includes} includes, {references} references: "
          f"{len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

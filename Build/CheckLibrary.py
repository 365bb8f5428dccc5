#!/usr/bin/env python3
"""Checks what a library that is linked into users' programs brings with it.

    Build/CheckLibrary.py [--breakpoints] LIBRARY...

- What it does not define itself is on the list below, so that neither it
  changes which memcpy a program gets, nor a program needs more than it links.
- It defines none of the C library's names.
- None of its objects has thread-local storage, names a library to link, or
  holds a breakpoint that can be reached.

With --breakpoints only that last point is checked, for the libraries and
images that are for programs of our own.
"""

import re
import subprocess
import sys

ALLOWED = {
    "GetModuleHandleW", "__imp_GetModuleHandleW",
    "GetProcAddress", "__imp_GetProcAddress",
    "__ImageBase",
    "__C_specific_handler",
}

# What a library for drivers may need: of ntoskrnl.exe alone, and the driver's
# own entry point.
ALLOWED_IN_DRIVERS = {
    "__imp_" + name for name in (
        "DbgPrintEx", "IoAllocateMdl", "IoFreeMdl",
        "KeGetCurrentProcessorNumberEx", "MmGetSystemRoutineAddress",
        "MmMapLockedPagesSpecifyCache", "MmProbeAndLockPages", "MmUnlockPages",
        "PsGetCurrentProcessId", "PsGetCurrentThreadId", "ZwClose",
        "ZwCreateSection", "ZwMapViewOfSection", "ZwOpenKey",
        "ZwQueryValueKey", "ZwUnmapViewOfSection")
} | {"__ImageBase", "__C_specific_handler", "TracerKernelRealEntry"}

FORBIDDEN = re.compile(
    r"^(mem(cpy|move|set|cmp|chr)|str\w+|wcs\w+|_fltused|__chkstk|"
    r"mainCRTStartup|WinMainCRTStartup|DllMain\w*|_tls_\w+|malloc|free)$")

SECTION = re.compile(r"^\s*Name: (\S+)")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)")


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True,
                          text=True, errors="replace").stdout


def check(library):
    complaints = []
    defined, undefined = set(), {}
    member = "?"
    for line in run("llvm-nm-19", "--extern-only", library).split("\n"):
        fields = line.split()
        if line.endswith(":") and len(fields) == 1:
            member = line[:-1].split("/")[-1]
        elif len(fields) >= 2 and len(fields[-2]) == 1:
            if fields[-2] in "Uw":
                undefined.setdefault(fields[-1], member)
            else:
                defined.add(fields[-1])

    needed = {name: by for name, by in undefined.items()
              if name not in defined}
    allowed = ALLOWED_IN_DRIVERS if "Kernel" in library else ALLOWED
    for name, by in sorted(needed.items()):
        if name not in allowed:
            complaints.append(f"{by} needs {name}, which is not on the list")
    for name in sorted(defined):
        if FORBIDDEN.match(name):
            complaints.append(f"defines {name}, which is the program's own")

    member = "?"
    for line in run("llvm-readobj-19", "--sections",
                    library).split("\n"):
        if line.startswith("File: "):
            member = line.split("/")[-1].rstrip(")")
        match = SECTION.match(line)
        if match and match.group(1).startswith(".tls"):
            complaints.append(f"{member} has a section {match.group(1)}")

    # llvm-readobj prints .drectve as a hexadecimal dump with text beside it.
    dump = run("llvm-readobj-19", "--string-dump=.drectve", library)
    for match in re.finditer(r"(?i)[-/]defaultlib:\S+", dump):
        complaints.append(f"names a library to link: {match.group(0)}")

    breakpoints, instructions = check_breakpoints(library)
    complaints += breakpoints
    return complaints, sorted(needed), instructions


def check_breakpoints(library):
    """Breakpoints that can be reached: what stands before one falls through
    to it.  The compiler puts one behind a call that does not return, and
    fills the gaps between procedures with them."""
    complaints = []
    previous = where = ""
    count = 0
    for line in run("llvm-objdump-19", "-d", "--no-show-raw-insn",
                    library).split("\n"):
        if line.endswith(">:"):
            where = line
            previous = ""
            continue
        match = INSTRUCTION.match(line)
        if not match:
            continue
        count += 1
        name = match.group(1)
        if name == "int3" and not re.match(r"(jmp|ret|call|ud2|int3)",
                                           previous):
            complaints.append(f"a breakpoint can be reached in {where}")
        previous = name
    return complaints, count


def main():
    libraries = sys.argv[1:]
    only_breakpoints = libraries[:1] == ["--breakpoints"]
    if only_breakpoints:
        del libraries[0]
    if not libraries:
        print(__doc__)
        return 2
    failed = False
    for library in libraries:
        try:
            if only_breakpoints:
                complaints, instructions = check_breakpoints(library)
                what = "breakpoints"
            else:
                complaints, needed, instructions = check(library)
                what = f"needs {', '.join(needed) or 'nothing'}"
        except subprocess.CalledProcessError as error:
            print(f"CheckLibrary: {library}: {error.stderr.strip()}")
            return 1
        for complaint in complaints:
            print(f"{library}: {complaint}")
        if instructions == 0:
            print(f"{library}: has no instructions")
        failed |= bool(complaints) or instructions == 0
        print(f"CheckLibrary: {library}: {instructions} instructions; "
              f"{what}: {len(complaints)} complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

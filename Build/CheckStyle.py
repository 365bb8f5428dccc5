#!/usr/bin/env python3
"""Checks what can be read off the lines of a file.  Every C and NASM source has
at most 80 columns, no tabs, no blanks at the end, line feeds only, and none of
the words that a finished source does not have.  What only gcc and clang know
is, in a C source of the product, for those compilers alone.  A document has at most 100
columns, but for tables and commands, and README.md at most 130 lines.

    Build/CheckStyle.py [FOLDER]
"""

import pathlib
import re
import sys

EXTENSIONS = {".c", ".h", ".asm", ".inc"}
SKIPPED = {"x64", ".git"}
COLUMNS = 80
DOCUMENT_COLUMNS = 100
DOCUMENT_LINES = {"README.md": 130}
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|__debugbreak|DebugBreak)\b"
                   r"|\bint\s+3\s*(;|$)|^\s*int3\b")

# Ours but the product: what is never compiled with cl.exe.
NOT_PRODUCT = ("Tests/", "Benchmarks/", "Build/", "Packaging/",
               "Reader/View/Wasm/", "Rtl/RtlPortable.h")
GNU_WORDS = re.compile(r"\b(__builtin_\w+|__asm__|__attribute__|__typeof__|"
                       r"__extension__|__int128|__auto_type)\b")
COMPILERS = re.compile(r"\b(_MSC_VER|__clang__|__GNUC__|__wasm__|"
                       r"__MINGW32__|_WIN32|__x86_64__|__cplusplus)\b")
NOT_CODE = re.compile(r'//.*|/\*.*?\*/|"(\\.|[^"\\])*"')


def find_sources(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] not in SKIPPED and path.suffix in EXTENSIONS:
            yield relative


def check_text(data):
    """The complaints about one file's bytes, as (line, complaint)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [(1, "is not UTF-8")]
    found = []
    if text and not text.endswith("\n"):
        found.append((text.count("\n") + 1, "no line feed at the end"))
    for number, line in enumerate(text.split("\n"), 1):
        if "\r" in line:
            found.append((number, "carriage return"))
            line = line.replace("\r", "")
        if "\t" in line:
            found.append((number, "tab"))
        if line != line.rstrip():
            found.append((number, "blanks at the end"))
        if len(line) > COLUMNS:
            found.append((number, f"{len(line)} columns"))
        word = WORDS.search(line)
        if word:
            found.append((number, f"'{word.group(0).strip()}'"))
    return found


def check_compilers(text):
    """The complaints about what cl.exe does not know, and compiles."""
    found = []
    conditions = []     # of each #if, whether it asks which compiler it is
    for number, line in enumerate(text.split("\n"), 1):
        words = line.lstrip().lstrip("#").split()
        if line.lstrip().startswith("#") and words:
            if words[0] in ("if", "ifdef", "ifndef"):
                conditions.append(bool(COMPILERS.search(line)))
            elif words[0] == "elif" and conditions:
                conditions[-1] = conditions[-1] or bool(COMPILERS.search(line))
            elif words[0] == "endif" and conditions:
                conditions.pop()
        word = GNU_WORDS.search(NOT_CODE.sub("", line))
        if word and not any(conditions):
            found.append((number, f"{word.group(0)}, which cl.exe does not "
                          "know"))
    return found


def check_document(name, text):
    """Likewise of a document; commands are indented by four columns."""
    lines = text.rstrip("\n").split("\n")
    found = [(number, f"{len(line)} columns")
             for number, line in enumerate(lines, 1)
             if len(line) > DOCUMENT_COLUMNS and
             not line.startswith(("|", "    ", "<!--"))]
    if len(lines) > DOCUMENT_LINES.get(name, len(lines)):
        found.append((len(lines), f"{len(lines)} lines"))
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    files = lines = complaints = 0
    for relative in find_sources(root):
        data = (root / relative).read_bytes()
        files += 1
        lines += data.count(b"\n")
        found = check_text(data)
        if (relative.suffix in (".c", ".h") and
                not relative.as_posix().startswith(NOT_PRODUCT)):
            found += check_compilers(data.decode("utf-8", "replace"))
        for number, complaint in found:
            print(f"{relative}:{number}: {complaint}")
            complaints += 1
    for path in sorted([*root.glob("*.md"), *root.glob("Docs/**/*.md")]):
        relative = path.relative_to(root)
        files += 1
        for number, complaint in check_document(
                relative.as_posix(), path.read_text(encoding="utf-8")):
            print(f"{relative}:{number}: {complaint}")
            complaints += 1
    if files == 0:
        print("CheckStyle: no sources found")
        return 1
    print(f"CheckStyle: {files} files, {lines} lines: "
          f"{complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that git tracks nothing that was made here: no store, index, control
file or log of a session, by name or by its first bytes, no build product, and
no file above 1 MiB but those that are listed below.

    Build/CheckTracked.py [FOLDER]

What counts is what git has, in the state that the next commit would have.
"""

import os
import pathlib
import re
import subprocess
import sys

LARGEST = 1 << 20

# Larger files that belong here, and why.
LARGE = {
}

# The fuzz targets' inputs are stores, images and lists, by intent.
INPUTS = "Tests/Fuzz/Corpus/"

NAMES = [
    (re.compile(r"\.trace(\.index(\.\w+)?)?$|(^|/)session\.control$|\.log$",
                re.I), "of a session"),
    (re.compile(r"\.(o|obj|a|lib|exe|dll|sys|pdb|d|members|exp|ilk|pyc|so|"
                r"gcno|gcda|profraw)$|^x64/|(^|/)__pycache__/", re.I),
     "a build product"),
    (re.compile(r"(^|/)(crash|leak|oom|slow-unit|timeout)-[0-9a-f]+$|"
                r"\.(zip|tar|gz|xz|zst|orig|rej|swp|tmp|core)$|(^|/)core$",
                re.I), "left over"),
]

CONTENTS = [
    (b"TRCSTORE", "a store"), (b"TRCONTRL", "a control file"),
    (b"TRCINDEX", "an index"), (b"MZ", "a Windows image"),
    (b"\x7fELF", "an image"), (b"!<arch>\n", "a library"),
    (b"\x64\x86", "an object"), (b"Microsoft C/C++ MSF", "a PDB"),
]


def tracked(root):
    """(path, size in bytes, first bytes) of what git has."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-s", "-z"],
                            check=True, stdout=subprocess.PIPE).stdout
    entries = [entry.split("\t", 1) for entry in
               os.fsdecode(listed).split("\0") if entry]
    entries = [(path, fields.split()[1]) for fields, path in entries
               if not fields.startswith("160000")]
    with subprocess.Popen(["git", "-C", root, "cat-file", "--batch"],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as git:
        for path, name in entries:
            git.stdin.write(name.encode() + b"\n")
            git.stdin.flush()
            size = int(git.stdout.readline().split()[2])
            first = git.stdout.read(min(size, 32))
            left = size - len(first) + 1
            while left:
                left -= len(git.stdout.read(min(left, 1 << 20)))
            yield path, size, first


def check(path, size, first):
    """What is wrong with a file."""
    if size > LARGEST and path not in LARGE:
        yield f"{size} bytes, and not on the list of large files"
    if path.startswith(INPUTS):
        return
    for pattern, what in NAMES:
        if pattern.search(path):
            yield f"the name of something that is {what}"
    for start, what in CONTENTS:
        if first.startswith(start):
            yield f"{what}, by its first bytes"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else \
        pathlib.Path(__file__).resolve().parent.parent
    if not os.path.exists(os.path.join(root, ".git")):
        print("CheckTracked: skipped: not a clone of a repository")
        return 0
    files = complaints = 0
    for path, size, first in tracked(root):
        files += 1
        for complaint in check(path, size, first):
            complaints += 1
            print(f"{path}: {complaint}")
    for path in sorted(LARGE):
        if not os.path.exists(os.path.join(root, path)):
            complaints += 1
            print(f"{path}: on the list of large files, and not there")
    print(f"CheckTracked: {files} files: {complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

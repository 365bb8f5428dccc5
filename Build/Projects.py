"""What the Makefile says about its projects, read from `make describe`."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATIONS = ("Debug", "Release")


class Project:
    def __init__(self, kind, name, folder):
        self.kind = kind
        self.name = name
        self.folder = folder
        self.sources = []
        self.includes = []
        self.libraries = []
        self.entry = None

    @property
    def path(self):
        return f"{self.folder}/{self.name}.vcxproj"


def read_makefile(root=ROOT):
    """({name: Project}, {configuration: [define, ...]})"""
    output = subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", str(root), "SETUP=true",
         "describe"], check=True, capture_output=True, text=True).stdout
    projects, defines = {}, {}
    for line in output.split("\n"):
        fields = line.split()
        if not fields:
            continue
        word, rest = fields[0], fields[1:]
        if word == "define":
            defines[rest[0]] = rest[1:]
        elif word == "project":
            projects[rest[1]] = Project(*rest)
        elif word == "source":
            projects[rest[0]].sources = rest[1:]
        elif word == "include":
            projects[rest[0]].includes = rest[1:]
        elif word == "link":
            projects[rest[0]].libraries = rest[1:]
        elif word == "entry":
            projects[rest[0]].entry = rest[1]
        else:
            raise ValueError(f"make describe: {line}")
    if not projects or set(defines) != set(CONFIGURATIONS):
        raise ValueError("make describe: said nothing of use")
    return projects, defines

#!/usr/bin/env python3
"""Compares the Visual Studio projects with the Makefile: which projects there
are, what each one is, its sources, include folders, defines and libraries;
that the solution has all of them; and the settings that matter most.

    Build/CheckProjects.py [FOLDER]

It reads the XML as it stands, and knows nothing of what wrote it.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True

from Projects import CONFIGURATIONS, ROOT, read_makefile

NS = "{http://schemas.microsoft.com/developer/msbuild/2003}"

# Tool, setting, value: what the shared properties must say.
SETTINGS = [
    ("ClCompile", "LanguageStandard_C", "stdc11"),
    ("ClCompile", "WarningLevel", "Level4"),
    ("ClCompile", "TreatWarningAsError", "true"),
    ("ClCompile", "BufferSecurityCheck", "false"),
    ("ClCompile", "BasicRuntimeChecks", "Default"),
    ("ClCompile", "SupportJustMyCode", "false"),
    ("ClCompile", "OmitDefaultLibName", "true"),
    ("ClCompile", "DebugInformationFormat", "OldStyle"),
    ("Link", "EntryPointSymbol", "mainCRTStartup"),
    ("Link", "SubSystem", "Console"),
    ("Link", "IgnoreAllDefaultLibraries", "true"),
    ("Link", "TreatLinkerWarningAsErrors", "true"),
]

PROPERTIES = [
    ("PlatformToolset", "v143"),
    ("WholeProgramOptimization", "false"),
]


class Complaints:
    def __init__(self):
        self.count = 0

    def add(self, where, what):
        print(f"{where}: {what}")
        self.count += 1

    def same(self, where, what, theirs, ours):
        if theirs != ours:
            self.add(where, f"{what}: has {theirs}, the Makefile {ours}")


def parse(path):
    return ElementTree.parse(path).getroot()


def applies(element, configuration):
    condition = element.get("Condition")
    if condition is None:
        return True
    match = re.fullmatch(r"\s*'\$\(Configuration\)'\s*==\s*'(\w+)'\s*",
                         condition)
    if not match:
        raise ValueError(f"a condition that is not understood: {condition}")
    return match.group(1) == configuration


def setting(root, tool, name, configuration):
    """The last value that a property sheet or project gives a setting."""
    value = None
    for group in root.findall(f"{NS}ItemDefinitionGroup"):
        if applies(group, configuration):
            for element in group.findall(f"{NS}{tool}/{NS}{name}"):
                value = element.text
    return value


def listed(text):
    """The parts of a list, without the %(...) that passes a default on."""
    return [part for part in (text or "").split(";")
            if part and not part.startswith("%(")]


def from_root(folder, path):
    """A project's relative Windows path, as a path from the root."""
    parts = [folder]
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def check_project(root, project, projects, complaints):
    where = project.path
    try:
        xml = parse(root / where)
    except (OSError, ElementTree.ParseError) as error:
        complaints.add(where, f"cannot be read: {error}")
        return None

    def included(kind):
        return [from_root(project.folder, item.get("Include"))
                for item in xml.findall(f"{NS}ItemGroup/{NS}{kind}")]

    def text(name):
        found = [item.text for item in xml.iter(f"{NS}{name}")]
        return found[-1] if found else None

    sources = included("ClCompile") + included("CustomBuild") + \
        included("ResourceCompile")
    complaints.same(where, "sources", sorted(sources),
                    sorted(project.sources))
    for source in included("ClCompile"):
        if not source.endswith(".c"):
            complaints.add(where, f"{source} is compiled as C")
    for source in included("CustomBuild"):
        if not source.endswith(".asm"):
            complaints.add(where, f"{source} is assembled")
    for source in included("ResourceCompile"):
        if not source.endswith(".rc"):
            complaints.add(where, f"{source} is compiled as resources")
    for kind in ("ClInclude", "None"):
        for header in included(kind):
            if not (root / header).is_file():
                complaints.add(where, f"lists {header}, which is not there")

    complaints.same(where, "kind", text("ConfigurationType"),
                    {"Library": "StaticLibrary", "Program": "Application",
                     "Dynamic": "DynamicLibrary"}[project.kind])
    complaints.same(where, "entry point", text("EntryPointSymbol"),
                    project.entry)
    complaints.same(where, "name", text("ProjectName"), project.name)
    for name, value in PROPERTIES:
        if text(name) != value:
            complaints.add(where, f"{name} is {text(name)}, not {value}")

    configurations = sorted(
        item.get("Include") for item in
        xml.iter(f"{NS}ProjectConfiguration"))
    if configurations != [f"{name}|x64" for name in CONFIGURATIONS]:
        complaints.add(where, f"configurations: {configurations}")
    imports = [item.get("Project") for item in xml.iter(f"{NS}Import")]
    for sheet in ("..\\Build\\Tracer.props", "..\\Build\\Nasm.props"):
        if sheet not in imports:
            complaints.add(where, f"does not import {sheet}")

    for name in CONFIGURATIONS:
        folders = [from_root(project.folder, path) for path in listed(
            setting(xml, "ClCompile", "AdditionalIncludeDirectories", name))]
        complaints.same(where, f"{name} include folders", folders,
                        project.includes)
        if included("ResourceCompile"):
            folders = [from_root(project.folder, path) for path in listed(
                setting(xml, "ResourceCompile",
                        "AdditionalIncludeDirectories", name))]
            complaints.same(where, f"{name} include folders of resources",
                            folders, project.includes)
        defines = listed(
            setting(xml, "ClCompile", "PreprocessorDefinitions", name))
        if defines:
            complaints.add(where, f"{name} defines of its own: {defines}")
        if project.kind == "Program":
            libraries = listed(
                setting(xml, "Link", "AdditionalDependencies", name))
            complaints.same(
                where, f"{name} libraries", libraries,
                [f"$(OutDir){other}.lib" for other in project.libraries] +
                ["ntdll.lib", "kernel32.lib"])

    nasm = [from_root(project.folder, path.rstrip("\\")) for path in
            re.findall(r"-I(\S+)", text("NasmIncludes") or "")]
    complaints.same(where, "NASM include folders", nasm, project.includes)
    inputs = [from_root(project.folder, path)
              for path in listed(text("NasmInputs"))]
    complaints.same(where, "NASM includes", sorted(inputs), sorted(
        path.relative_to(root).as_posix() for folder in project.includes
        for path in (root / folder).glob("*.inc")))
    complaints.same(where, "project references",
                    sorted(included("ProjectReference")),
                    sorted(projects[name].path
                           for name in project.libraries))
    return text("ProjectGuid")


def check_sheets(root, defines, complaints):
    where = "Build/Tracer.props"
    sheet = parse(root / where)
    for name in CONFIGURATIONS:
        complaints.same(
            where, f"{name} defines",
            listed(setting(sheet, "ClCompile", "PreprocessorDefinitions",
                           name)), defines[name])
        for tool, what, value in SETTINGS:
            if setting(sheet, tool, what, name) != value:
                complaints.add(where, f"{name}: {tool} {what} is not {value}")

    where = "Build/Nasm.props"
    options = {name: "" for name in CONFIGURATIONS}
    for element in parse(root / where).iter(f"{NS}NasmOptions"):
        for name in CONFIGURATIONS:
            if applies(element, name):
                options[name] = element.text.replace("$(NasmOptions)",
                                                     options[name])
    for name in CONFIGURATIONS:
        complaints.same(where, f"{name} defines",
                        re.findall(r"-D(\S+)", options[name]), defines[name])


def check_solution(root, projects, guids, complaints):
    where = "Tracer.sln"
    try:
        text = (root / where).read_text(encoding="utf-8-sig")
    except OSError as error:
        complaints.add(where, f"cannot be read: {error}")
        return
    found = {}
    for name, path, guid in re.findall(
            r'Project\("\{8BC9CEB8[^"]*"\) = "([^"]*)", "([^"]*)", '
            r'"([^"]*)"', text):
        found[name] = path.replace("\\", "/")
        if guids.get(name) != guid:
            complaints.add(where, f"{name}: its GUID differs from the "
                                  "project's")
        for configuration in CONFIGURATIONS:
            for what in ("ActiveCfg", "Build.0"):
                line = (f"{guid}.{configuration}|x64.{what} = "
                        f"{configuration}|x64")
                if line not in text:
                    complaints.add(where, f"{name}: no {what} for "
                                          f"{configuration}|x64")
    complaints.same(where, "projects", sorted(found.items()),
                    sorted((project.name, project.path)
                           for project in projects.values()))


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    complaints = Complaints()
    projects, defines = read_makefile(root)
    guids = {}
    for project in projects.values():
        guids[project.name] = check_project(root, project, projects,
                                            complaints)
    if len(set(guids.values())) != len(guids):
        complaints.add("*.vcxproj", "two projects have one GUID")
    expected = {project.path for project in projects.values()}
    for path in sorted(root.glob("*/*.vcxproj")):
        name = path.relative_to(root).as_posix()
        if name not in expected:
            complaints.add(name, "is not in the Makefile")
    check_sheets(root, defines, complaints)
    check_solution(root, projects, guids, complaints)
    number = sum(len(project.sources) for project in projects.values())
    print(f"CheckProjects: {len(projects)} projects, {number} sources: "
          f"{complaints.count} differences"
          f"{' (make projects writes them anew)' if complaints.count else ''}")
    return 1 if complaints.count else 0


if __name__ == "__main__":
    sys.exit(main())

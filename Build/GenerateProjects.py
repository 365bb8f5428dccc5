#!/usr/bin/env python3
"""Writes Tracer.sln and every .vcxproj from what the Makefile says, and
removes projects that it no longer has.

    Build/GenerateProjects.py [FOLDER]
"""

import pathlib
import sys
import uuid
from xml.sax.saxutils import escape

sys.dont_write_bytecode = True

from Projects import CONFIGURATIONS, ROOT, read_makefile

NAMESPACE = uuid.UUID("5c1d2a6e-6f4f-4f0c-9d0e-7a1c2b3d4e5f")
CPP_PROJECT = "{8BC9CEB8-8B4A-11D0-8D11-00A0C91BC942}"
SOLUTION_FOLDER = "{2150E333-8FDC-42A3-9474-1A3956D46DE8}"
XMLNS = "http://schemas.microsoft.com/developer/msbuild/2003"


def guid(name):
    return "{" + str(uuid.uuid5(NAMESPACE, name)).upper() + "}"


def relative(project, path):
    """A path below the root as the project's folder sees it."""
    if path.startswith(project.folder + "/"):
        return path[len(project.folder) + 1:].replace("/", "\\")
    return "..\\" + path.replace("/", "\\")


def items(kind, names, optimized=()):
    """A group of files; those that are optimized in every configuration,
    as the Makefile's FolderFlags have it."""
    if not names:
        return ""
    lines = ""
    for name in names:
        line = f'    <{kind} Include="{escape(name)}"'
        if name in optimized:
            line += (">\n      <Optimization>MaxSpeed</Optimization>\n"
                     f"    </{kind}>\n")
        else:
            line += " />\n"
        lines += line
    return f"  <ItemGroup>\n{lines}  </ItemGroup>\n"


def own_files(root, project):
    """The folder's files, and those of its rooms if it has any."""
    folder = root / project.folder
    rooms = {pathlib.PurePath(source).parent for source in project.sources
             if source.startswith(project.folder + "/")}
    return {path for place in [folder, *(root / room for room in rooms)]
            for path in place.iterdir()}


def project_text(root, project, projects):
    own = sorted(relative(project, path.relative_to(root).as_posix())
                 for path in own_files(root, project))
    include = ";".join(f"..\\{folder}" for folder in project.includes)
    nasm = " ".join(f"-I..\\{folder}\\" for folder in project.includes)
    inputs = ";".join(f"..\\{folder}\\{path.name}"
                      for folder in project.includes
                      for path in sorted((root / folder).glob("*.inc")))
    kind = {"Library": "StaticLibrary", "Program": "Application",
            "Dynamic": "DynamicLibrary"}[project.kind]
    text = '<?xml version="1.0" encoding="utf-8"?>\n'
    text += "<!-- Written by `make projects`. -->\n"
    text += f'<Project DefaultTargets="Build" xmlns="{XMLNS}">\n'
    text += '  <ItemGroup Label="ProjectConfigurations">\n'
    for name in CONFIGURATIONS:
        text += (f'    <ProjectConfiguration Include="{name}|x64">\n'
                 f"      <Configuration>{name}</Configuration>\n"
                 "      <Platform>x64</Platform>\n"
                 "    </ProjectConfiguration>\n")
    text += "  </ItemGroup>\n"
    text += ('  <PropertyGroup Label="Globals">\n'
             "    <VCProjectVersion>17.0</VCProjectVersion>\n"
             f"    <ProjectGuid>{guid(project.name)}</ProjectGuid>\n"
             f"    <ProjectName>{project.name}</ProjectName>\n"
             "    <WindowsTargetPlatformVersion>10.0"
             "</WindowsTargetPlatformVersion>\n"
             "  </PropertyGroup>\n")
    text += ('  <Import Project="$(VCTargetsPath)\\'
             'Microsoft.Cpp.Default.props" />\n')
    text += ('  <PropertyGroup Label="Configuration">\n'
             f"    <ConfigurationType>{kind}</ConfigurationType>\n"
             "    <PlatformToolset>v143</PlatformToolset>\n"
             "    <CharacterSet>NotSet</CharacterSet>\n"
             "    <UseDebugLibraries>false</UseDebugLibraries>\n"
             "    <WholeProgramOptimization>false"
             "</WholeProgramOptimization>\n"
             "  </PropertyGroup>\n")
    text += '  <Import Project="$(VCTargetsPath)\\Microsoft.Cpp.props" />\n'
    text += ('  <ImportGroup Label="PropertySheets">\n'
             '    <Import Project="..\\Build\\Tracer.props" />\n'
             '    <Import Project="..\\Build\\Nasm.props" />\n'
             "  </ImportGroup>\n")
    text += ("  <PropertyGroup>\n"
             f"    <NasmIncludes>{nasm}</NasmIncludes>\n"
             f"    <NasmInputs>{inputs}</NasmInputs>\n"
             "  </PropertyGroup>\n")
    text += ("  <ItemDefinitionGroup>\n"
             "    <ClCompile>\n"
             f"      <AdditionalIncludeDirectories>{include}"
             "</AdditionalIncludeDirectories>\n"
             "    </ClCompile>\n")
    if any(name.endswith(".rc") for name in project.sources):
        text += ("    <ResourceCompile>\n"
                 f"      <AdditionalIncludeDirectories>{include}"
                 "</AdditionalIncludeDirectories>\n"
                 "    </ResourceCompile>\n")
    if project.kind != "Library":
        libraries = ";".join([f"$(OutDir){name}.lib"
                              for name in project.libraries] +
                             ["ntdll.lib", "kernel32.lib"])
        text += ("    <Link>\n"
                 f"      <AdditionalDependencies>{libraries}"
                 "</AdditionalDependencies>\n")
        if project.entry:
            text += (f"      <EntryPointSymbol>{project.entry}"
                     "</EntryPointSymbol>\n")
        text += "    </Link>\n"
    text += "  </ItemDefinitionGroup>\n"
    sources = [relative(project, name) for name in project.sources]
    optimized = {relative(project, name) for name in project.sources
                 if name.startswith("StringTable/")}
    text += items("ClCompile", [n for n in sources if n.endswith(".c")],
                  optimized)
    text += items("CustomBuild", [n for n in sources if n.endswith(".asm")])
    text += items("ResourceCompile", [n for n in sources if n.endswith(".rc")])
    text += items("ClInclude", [n for n in own if n.endswith(".h")])
    text += items("None", [n for n in own if n.endswith(".inc")])
    if project.libraries:
        text += "  <ItemGroup>\n"
        for name in project.libraries:
            path = "..\\" + projects[name].path.replace("/", "\\")
            text += (f'    <ProjectReference Include="{path}">\n'
                     f"      <Project>{guid(name)}</Project>\n"
                     "      <LinkLibraryDependencies>false"
                     "</LinkLibraryDependencies>\n"
                     "    </ProjectReference>\n")
        text += "  </ItemGroup>\n"
    text += '  <Import Project="$(VCTargetsPath)\\Microsoft.Cpp.targets" />\n'
    text += "</Project>\n"
    return text


def solution_text(projects):
    folders = {"Tests": []}
    text = ("\nMicrosoft Visual Studio Solution File, Format Version 12.00\n"
            "# Visual Studio Version 17\n"
            "VisualStudioVersion = 17.0.31903.59\n"
            "MinimumVisualStudioVersion = 10.0.40219.1\n")
    for project in projects.values():
        path = project.path.replace("/", "\\")
        text += (f'Project("{CPP_PROJECT}") = "{project.name}", "{path}", '
                 f'"{guid(project.name)}"\nEndProject\n')
        if project.folder in folders:
            folders[project.folder].append(project.name)
    for folder, names in folders.items():
        if names:
            text += (f'Project("{SOLUTION_FOLDER}") = "{folder}", '
                     f'"{folder}", "{guid("folder " + folder)}"\n'
                     "EndProject\n")
    text += "Global\n"
    text += "\tGlobalSection(SolutionConfigurationPlatforms) = preSolution\n"
    for name in CONFIGURATIONS:
        text += f"\t\t{name}|x64 = {name}|x64\n"
    text += "\tEndGlobalSection\n"
    text += "\tGlobalSection(ProjectConfigurationPlatforms) = postSolution\n"
    for project in projects.values():
        for name in CONFIGURATIONS:
            for what in ("ActiveCfg", "Build.0"):
                text += (f"\t\t{guid(project.name)}.{name}|x64.{what} = "
                         f"{name}|x64\n")
    text += "\tEndGlobalSection\n"
    text += "\tGlobalSection(SolutionProperties) = preSolution\n"
    text += "\t\tHideSolutionNode = FALSE\n"
    text += "\tEndGlobalSection\n"
    text += "\tGlobalSection(NestedProjects) = preSolution\n"
    for folder, names in folders.items():
        for name in names:
            text += f"\t\t{guid(name)} = {guid('folder ' + folder)}\n"
    text += "\tEndGlobalSection\n"
    text += "EndGlobal\n"
    return text


def write(path, text):
    """Writes with the line ends of Windows; True if it changed anything."""
    data = text.replace("\n", "\r\n").encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return False
    path.write_bytes(data)
    return True


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    projects, _ = read_makefile(root)
    for project in projects.values():
        names = [pathlib.PurePath(source).name for source in project.sources]
        for name in {name for name in names if names.count(name) > 1}:
            print(f"GenerateProjects: {project.name}: two sources named "
                  f"{name}")
            return 1
    changed = 0
    for project in projects.values():
        changed += write(root / project.path,
                         project_text(root, project, projects))
    changed += write(root / "Tracer.sln",
                     "\ufeff" + solution_text(projects))
    kept = {root / project.path for project in projects.values()}
    for path in root.glob("*/*.vcxproj"):
        if path not in kept:
            path.unlink()
            changed += 1
    print(f"GenerateProjects: {len(projects)} projects, {changed} files "
          "changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())

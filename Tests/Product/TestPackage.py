#!/usr/bin/env python3
"""The packages: what is in them, that they are the same when made again, and
that a program built with nothing but the unpacked zip, by CMake and Ninja, is
traced.

How often each function is called stands in Tests/Programs/Package.  MSBuild,
vcpkg, winget, NuGet and PowerShell are not here: what they read is held against
what their documents ask for, MSBuild's files are evaluated by the rules that
they use, and vcpkg's port is run with stand-ins for vcpkg's functions.  In the
long form each compiler builds with every mode.
"""
# Takes long.

import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

SOURCE = os.path.join(programs.PROGRAMS, 'Package')
PACKAGE = os.path.join(programs.ROOT, 'Build', 'Package.py')
COMPILERS = ('gcc', 'clang', 'clang-cl')

# (module, function): calls
CALLS = {('game', 'main'): 1, ('game', 'Tick'): 20, ('game', 'Area'): 20,
         ('engine', 'EngineFrame'): 20, ('engine', 'Draw'): 40,
         ('physics', 'PhysicsStep'): 21, ('physics', 'Move'): 20 * 7 + 3}
INLINED = {**CALLS, ('game', 'Inner'): 20}

HOOKS = ('_penter', '__cyg_profile_func_enter')

CONTENTS = {
    'bin/TraceReader.exe', 'bin/TraceReader.pdb', 'bin/TracerImports.dll',
    'bin/TracerImports.pdb', 'bin/TraceViewer.html',
    'bin/TracerSqlite.dll', 'bin/TracerSqlite.pdb', 'bin/TracerKd.dll',
    'bin/TracerKd.pdb', 'lib/TracerPenter.lib',
    'lib/TracerPenterNull.lib', 'include/Penter.h', 'include/TraceFormat.h',
    'lib/TracerPenterKernel.lib', 'include/TracerKernel.h',
    'include/KernelFormat.h', 'build/TracerKernel.targets', 'Docs/Drivers.md',
    'cmake/TracerConfig.cmake', 'cmake/TracerConfigVersion.cmake',
    'cmake/TracerTargets.cmake', 'build/Tracer.props', 'build/Tracer.targets',
    'completions/TraceReader.bash', 'completions/TraceReader.ps1',
    'README.md', 'LICENSE', 'CHANGELOG.md', 'Docs/Building.md',
    'Docs/Settings.md', 'Docs/Commands.md', 'Docs/Format.md',
    'Docs/TraceReader.schema.json',
}


def version():
    """The version that CHANGELOG.md begins with."""
    with open(os.path.join(programs.ROOT, 'CHANGELOG.md'),
              encoding='utf-8') as file:
        return re.search(r'^## (\d+\.\d+\.\d+)', file.read(), re.M).group(1)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def read_text(path):
    return read(path).decode('utf-8').replace('\r\n', '\n')


def make_package(folder, **variables):
    """Runs Package.py; the bytes of what it made, by path."""
    done = subprocess.run([PACKAGE, programs.BIN, folder], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **variables))
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            found[os.path.relpath(path, folder)] = read(path)
    return found, done.stdout.decode()


def check_zip(results, made, number):
    """What is in the zip; the hash beside it."""
    name = 'Tracer-%s-x64' % number
    results.equal(made[name + '.zip.sha256'].decode(), '%s  %s.zip\n' % (
        hashlib.sha256(made[name + '.zip']).hexdigest(), name), 'the hash')
    with zipfile.ZipFile(io.BytesIO(made[name + '.zip'])) as file:
        results.equal(file.testzip(), None, 'the zip is whole')
        names = file.namelist()
        results.equal({entry.split('/')[0] for entry in names}, {name},
                      'one folder')
        results.equal({entry.date_time for entry in file.infolist()},
                      {(1980, 1, 1, 0, 0, 0)}, 'no times')
        names = {entry.split('/', 1)[1] for entry in names}
        results.check(CONTENTS <= names, 'what the zip has',
                      sorted(CONTENTS - names))
        documents = {'Docs/' + entry for entry in
                     os.listdir(os.path.join(programs.ROOT, 'Docs'))
                     if entry.endswith('.md')}
        results.check(documents <= names, 'documents',
                      sorted(documents - names))
        pages = {entry: file.read(name + '/' + entry).decode('utf-8')
                 for entry in names if entry.endswith('.md')}
        for page, text in sorted(pages.items()):
            for link in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', text):
                path = os.path.normpath(os.path.join(os.path.dirname(page),
                                                     link))
                results.check(path in names, '%s: link to %s' % (page, link))
        for entry in names:
            if entry.endswith('.cmake'):
                results.check('@' not in file.read(name + '/' + entry).decode(
                    ).replace('@file', ''), entry + ': all filled in')
        for image in 'bin/TraceReader.exe', 'lib/TracerPenter.lib':
            results.equal(file.read('%s/%s' % (name, image)), read(
                os.path.join(programs.BIN, os.path.basename(image))), image)


def check_building(results, unpacked):
    """How to build, for who has the zip alone: the files that it names are
    there, and what needs the source tree says so."""
    text = read_text(os.path.join(unpacked, 'Docs', 'Building.md'))
    named = {path.replace('\\', '/') for path in re.findall(
        r'(?<![\w/\\.-])(?:lib|bin|include|build|cmake|completions)'
        r'[/\\][\w.-]+', text)}
    missing = [path for path in named
               if not os.path.exists(os.path.join(unpacked, path))]
    results.check(len(named) == 4 and not missing, 'Building.md: its files',
                  [named, missing])
    of_source = [part for part in text.split('\n\n') if re.search(
        r'\bx64[/\\]|`make\b|\[make\]|Build/|Penter/|Packaging/|Tests/|'
        r'\.sln|build\.cmd', part)]
    results.check(of_source and all('source tree' in ' '.join(part.split())
                                    for part in of_source),
                  'Building.md: the source tree', of_source)


def check_nuget(results, made, number, folder):
    """The parts that OPC asks for, and what nuspec.xsd (2013/05) does."""
    opc = '{http://schemas.openxmlformats.org/package/2006/%s}'
    nuspec = '{http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd}'
    with zipfile.ZipFile(io.BytesIO(made['Tracer.%s.nupkg' % number])) as file:
        names = set(file.namelist())
        parts = {name: file.read(name) for name in names}
        file.extractall(folder)
    types = ElementTree.fromstring(parts['[Content_Types].xml'])
    known = {item.get('Extension') for item in
             types.findall(opc % 'content-types' + 'Default')}
    override = {item.get('PartName') for item in
                types.findall(opc % 'content-types' + 'Override')}
    untyped = [name for name in names - {'[Content_Types].xml'}
               if os.path.splitext(name)[1][1:] not in known and
               '/' + name not in override and name != '_rels/.rels']
    results.equal(untyped, [], 'NuGet: every part has a type')
    results.check('rels' in known, 'NuGet: .rels has a type', [known])

    targets = {}
    for item in ElementTree.fromstring(parts['_rels/.rels']):
        targets[item.get('Type').rsplit('/', 1)[1]] = item.get('Target')[1:]
    results.equal((targets.get('manifest'),
                   targets.get('core-properties') in names),
                  ('Tracer.nuspec', True), 'NuGet: relationships')
    ElementTree.fromstring(parts[targets['core-properties']])

    metadata = ElementTree.fromstring(parts['Tracer.nuspec']).find(
        nuspec + 'metadata')
    field = {item.tag[len(nuspec):]: item.text for item in metadata}
    results.check({'id', 'version', 'authors', 'description'} <= set(field) and
                  all(field.values()), 'NuGet: the required fields', [field])
    results.equal((field['id'], field['version']), ('Tracer', number),
                  'NuGet: name and version')
    results.check(re.fullmatch(r'\w+([_.-]\w+)*', field['id']) and
                  len(field['id']) <= 100, 'NuGet: the id')
    results.check(field['readme'] in names, 'NuGet: the readme is there')
    results.equal({'build/native/Tracer.props', 'build/native/Tracer.targets',
                   'tools/TraceReader.exe'} - names, set(),
                  'NuGet: files are named as the package')


class MSBuild:
    """As much of MSBuild as the package's files use: properties, conditions,
    Exists, GetFullPath, imports, and the metadata of ItemDefinitionGroups."""

    def __init__(self, **properties):
        self.properties = properties
        self.metadata = {}
        self.folder = ''

    def expand(self, text):
        def path(match):
            return os.path.normpath(match.group(1)) + '\\'

        def value(match):
            if match.group(1) == 'MSBuildThisFileDirectory':
                return self.folder + '/'
            return self.properties.get(match.group(1), '')

        text = re.sub(r'\$\((\w+)\)', value, text).replace('\\', '/')
        return re.sub(r"\$\(\[System\.IO\.Path\]::GetFullPath\('([^']*)'\)\)",
                      path, text).replace('\\', '/')

    def holds(self, condition):
        if condition is None:
            return True
        text = self.expand(condition)
        text = re.sub(r"Exists\('([^']*)'\)",
                      lambda match: str(os.path.exists(match.group(1))), text)
        text = re.sub(r'\bAnd\b', 'and', re.sub(r'\bOr\b', 'or', text))
        if not re.fullmatch(r"('[^']*'|==|!=|and|or|True|False|\s)+", text):
            raise ValueError('a condition that is not understood: ' + text)
        return eval(text, {'__builtins__': {}})

    def load(self, path):
        above, self.folder = self.folder, os.path.dirname(path)
        for group in ElementTree.parse(path).getroot():
            kind = group.tag.split('}')[1]
            if not self.holds(group.get('Condition')):
                continue
            if kind == 'Import':
                self.load(self.expand(group.get('Project')))
            for item in group:
                name = item.tag.split('}')[1]
                if not self.holds(item.get('Condition')):
                    continue
                if kind == 'PropertyGroup':
                    self.properties[name] = self.expand(item.text or '')
                    continue
                for field in item:
                    key = '%s.%s' % (name, field.tag.split('}')[1])
                    self.metadata[key] = self.expand(field.text).replace(
                        '%%(%s)' % key.split('.')[1],
                        self.metadata.get(key, ''))
        self.folder = above
        return self


def check_msbuild(results, unpacked, nuget):
    """The files of three layouts, from wherever they are."""
    native = os.path.join(nuget, 'build', 'native')
    for what, imports in (
            ('the source tree', [os.path.join(programs.ROOT, 'Penter',
                                              'Penter.props')]),
            ('the zip', [os.path.join(unpacked, 'build', 'Tracer.targets')]),
            ('NuGet', [os.path.join(native, 'Tracer.props'),
                       os.path.join(native, 'Tracer.targets')])):
        def load(**properties):
            project = MSBuild(Platform='x64', **properties)
            for path in imports:
                project.load(path)
            return project.metadata

        found = load()
        includes = found['ClCompile.AdditionalIncludeDirectories'].split(';')
        library = found['Link.AdditionalDependencies'].split(';')[0]
        results.check(os.path.exists(os.path.join(includes[0], 'Penter.h')),
                      'MSBuild: %s: Penter.h is found' % what, includes)
        results.check(os.path.exists(library) or
                      (what == 'the source tree' and
                       library.endswith('/x64/Release/TracerPenter.lib')),
                      'MSBuild: %s: the library is found' % what, [library])
        results.equal((found['ClCompile.AdditionalOptions'].split(),
                       found['ClCompile.PreprocessorDefinitions'].split(';')[0],
                       found['Link.ForceSymbolReferences'].split(';')[0],
                       'kernel32.lib' in found['Link.AdditionalDependencies']),
                      (['/Gh', '/GH'], 'TRACER_PENTER', '_tls_used', True),
                      'MSBuild: %s: switches' % what)
        results.equal(load(PlatformToolset='ClangCL')[
            'ClCompile.AdditionalOptions'].split(),
            ['/clang:-finstrument-functions-after-inlining'],
            'MSBuild: %s: ClangCL' % what)
        results.check('TracerPenterNull.lib' in load(TracerUntraced='true')[
            'Link.AdditionalDependencies'], 'MSBuild: %s: untraced' % what)
        for off in ({'TracerEnabled': 'false'}, {'Platform': 'Win32'}):
            project = MSBuild(**{'Platform': 'x64', **off})
            for path in imports:
                project.load(path)
            results.equal(set(project.metadata),
                          {'ClCompile.AdditionalIncludeDirectories'},
                          'MSBuild: %s: %s changes nothing' % (what, off))


def check_driver_projects(results, unpacked, nuget):
    """The files for drivers, likewise."""
    for what, path in (
            ('the source tree', os.path.join(programs.ROOT, 'Penter',
                                             'PenterKernel.props')),
            ('the zip', os.path.join(unpacked, 'build',
                                     'TracerKernel.targets')),
            ('NuGet', os.path.join(nuget, 'build', 'native',
                                   'TracerKernel.targets'))):
        def load(**properties):
            return MSBuild(**{'Platform': 'x64', **properties}).load(
                path).metadata

        found = load()
        includes = found['ClCompile.AdditionalIncludeDirectories'].split(';')
        library = found['Link.AdditionalDependencies'].split(';')[0]
        results.check(os.path.exists(os.path.join(includes[0],
                                                  'TracerKernel.h')),
                      'MSBuild: %s: TracerKernel.h is found' % what, includes)
        results.check(library.endswith('/TracerPenterKernel.lib') and
                      (os.path.exists(library) or what == 'the source tree'),
                      'MSBuild: %s: the kernel library' % what, [library])
        results.equal((found['ClCompile.AdditionalOptions'].split(),
                       found['Link.EntryPointSymbol']),
                      (['/Gh', '/GH'], 'TracerKernelDriverEntry'),
                      'MSBuild: %s: switches for drivers' % what)
        for properties, entry in (({}, 'GsDriverEntry'),
                                  ({'DriverType': 'KMDF'}, 'FxDriverEntry'),
                                  ({'TracerRealEntry': 'Main'}, 'Main')):
            results.equal(load(**properties)['Link.AdditionalOptions'].split(),
                          ['/ALTERNATENAME:TracerKernelRealEntry=' + entry],
                          'MSBuild: %s: entry point' % what)
        results.check('Link.EntryPointSymbol' not in load(
            TracerStartsItself='true'), 'MSBuild: %s: starts itself' % what)
        for off in ({'TracerEnabled': 'false'}, {'Platform': 'ARM64'}):
            results.equal(set(load(**off)),
                          {'ClCompile.AdditionalIncludeDirectories'},
                          'MSBuild: %s: %s changes nothing' % (what, off))


def check_vcpkg(results, made, number, scratch, unpacked):
    """vcpkg.json, by vcpkg-tool's docs/vcpkg.schema.json; the port is run, and
    what it installs is found by CMake (in build_all)."""
    manifest = json.loads(made['vcpkg/tracer/vcpkg.json'])
    known = {'name', 'version', 'port-version', 'maintainers', 'description',
             'homepage', 'documentation', 'license', 'supports',
             'dependencies', 'features'}
    results.check(set(manifest) <= known and
                  {'name', 'version'} <= set(manifest),
                  'vcpkg.json: fields', [manifest])
    results.check(re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*', manifest['name']) and
                  manifest['name'] not in ('core', 'default'),
                  'vcpkg.json: name')
    results.check(re.fullmatch(r'\d+(\.\d+)*', manifest['version']) and
                  manifest['version'] == number, 'vcpkg.json: version')
    results.check(all(isinstance(value, str) for value in manifest.values()),
                  'vcpkg.json: texts')

    name = 'Tracer-%s-x64' % number
    archive = os.path.join(scratch, 'made', name + '.zip')
    target = os.path.join(scratch, 'vcpkg installed')
    script = os.path.join(scratch, 'vcpkg.cmake')
    with open(script, 'w', encoding='utf-8') as file:
        file.write('''
function(vcpkg_download_distfile Variable)
    cmake_parse_arguments(PARSE_ARGV 1 Given "" "FILENAME;SHA512" "URLS")
    file(SHA512 "%s" Hash)
    if(NOT Hash STREQUAL Given_SHA512 OR NOT Given_URLS MATCHES
        "^https://dl.example/r/${Given_FILENAME}$")
        message(FATAL_ERROR "${Given_URLS} ${Given_SHA512}")
    endif()
    set(${Variable} "%s" PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive Variable)
    set(${Variable} "%s" PARENT_SCOPE)
endfunction()
function(vcpkg_install_copyright Kind File)
    file(INSTALL "${File}" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}"
        RENAME copyright)
endfunction()
set(PORT tracer)
set(CURRENT_PACKAGES_DIR "%s")
include("%s")
''' % (archive, archive, unpacked, target,
            os.path.join(scratch, 'made', 'vcpkg', 'tracer',
                         'portfile.cmake')))
    code, text = programs.run(['cmake', '-P', script],
                              stderr=subprocess.STDOUT)
    results.equal(code, 0, 'vcpkg: the port: ' + text[-300:])
    missing = [path for path in (
        'include/Penter.h', 'lib/TracerPenter.lib', 'share/tracer/copyright',
        'share/tracer/usage', 'share/tracer/TracerConfig.cmake',
        'tools/tracer/TraceReader.exe')
        if not os.path.exists(os.path.join(target, path))]
    results.equal(missing, [], 'vcpkg: what the port installs')
    return target


# Of winget-cli's schemas/JSON/manifests/v1.10.0: the fields that must be there,
# and what those that are may be.
WINGET = {
    'version': {'PackageIdentifier', 'PackageVersion', 'DefaultLocale',
                'ManifestType', 'ManifestVersion'},
    'installer': {'PackageIdentifier', 'PackageVersion', 'Installers',
                  'ManifestType', 'ManifestVersion'},
    'defaultLocale': {'PackageIdentifier', 'PackageVersion', 'PackageLocale',
                      'Publisher', 'PackageName', 'License',
                      'ShortDescription', 'ManifestType', 'ManifestVersion'},
}
NAME_PART = r'[^.\s\\/:*?"<>|\x01-\x1f]{1,32}'
FIELDS = {
    'PackageIdentifier': r'%s(\.%s){1,7}' % (NAME_PART, NAME_PART),
    'PackageVersion': r'[^\\/:*?"<>|\x01-\x1f]{1,128}',
    'ManifestVersion': r'1\.10\.0',
    'DefaultLocale': r'[a-zA-Z]{2,3}(-[a-zA-Z]{1,8})*',
    'PackageLocale': r'[a-zA-Z]{2,3}(-[a-zA-Z]{1,8})*',
    'Publisher': r'.{2,256}',
    'PackageName': r'.{2,256}',
    'License': r'.{3,512}',
    'Copyright': r'.{3,512}',
    'ShortDescription': r'.{3,256}',
    'Description': r'(?s).{3,10000}',
    'InstallerType': r'zip',
    'NestedInstallerType': r'portable',
    'MinimumOSVersion': r'\d{1,5}(\.\d{1,5}){0,3}',
    'Architecture': r'x86|x64|arm|arm64|neutral',
    'InstallerUrl': r'https?://.{1,2040}',
    'InstallerSha256': r'[A-Fa-f0-9]{64}',
    'RelativeFilePath': r'.{1,512}',
    'PortableCommandAlias': r'.{1,40}',
    'ManifestType': r'version|installer|defaultLocale',
    'Platform': r'Windows\.Desktop|Windows\.Universal',
    'Tags': r'.{1,40}',
}


def winget_complaints(manifest):
    """What is wrong with a manifest."""
    wanted = WINGET.get(manifest.get('ManifestType'), {'a known ManifestType'})
    found = ['%s is missing' % name for name in sorted(wanted - set(manifest))]

    def check(fields, above):
        for name, value in fields.items():
            if isinstance(value, dict):
                check(value, name)
            elif isinstance(value, list) and isinstance(value[0], dict):
                for item in value:
                    check(item, name)
            elif name not in FIELDS:
                found.append('%s.%s is unknown' % (above, name))
            else:
                for text in value if isinstance(value, list) else [value]:
                    if not isinstance(text, str) or \
                            not re.fullmatch(FIELDS[name], text):
                        found.append('%s: %r' % (name, text))

    check(manifest, '')
    for installer in manifest.get('Installers', ()):
        for name in 'Architecture', 'InstallerUrl', 'InstallerSha256':
            if name not in installer:
                found.append('Installers.%s is missing' % name)
    return found


def check_winget(results, made, number):
    try:
        import yaml
    except ImportError:
        results.skip('winget: python3-yaml is not installed')
        return
    name = 'Tracer-%s-x64' % number
    manifests = {}
    for path, data in made.items():
        if path.startswith('winget/'):
            manifest = yaml.safe_load(data)
            manifests[manifest['ManifestType']] = manifest
            results.equal(winget_complaints(manifest), [], path)
            results.check(os.path.basename(path).startswith(
                manifest['PackageIdentifier'] + '.'), path + ': its name')
    results.equal(set(manifests), set(WINGET), 'winget: the manifests')
    results.equal({(manifest['PackageIdentifier'], manifest['PackageVersion'])
                   for manifest in manifests.values()},
                  {('TracerAuthors.Tracer', number)},
                  'winget: one name and one version')
    installer = manifests['installer']
    results.equal(installer['Installers'], [{
        'Architecture': 'x64',
        'InstallerUrl': 'https://dl.example/r/%s.zip' % name,
        'InstallerSha256': hashlib.sha256(made[name + '.zip']).hexdigest(),
    }], 'winget: the installer')
    nested = installer['NestedInstallerFiles'][0]['RelativeFilePath']
    with zipfile.ZipFile(io.BytesIO(made[name + '.zip'])) as file:
        results.check(nested.replace('\\', '/') in file.namelist(),
                      'winget: the program is in the zip', [nested])
    for field, value in (('PackageVersion', None), ('Installers', [{}]),
                         ('PackageIdentifier', 'Tracer'), ('Unknown', 'x')):
        wrong = dict(installer, **{field: value})
        results.check(winget_complaints(wrong),
                      'control: winget: %s=%r' % (field, value))


def check_version_resource(results, scratch, number):
    """What Windows says of TraceReader.exe, asked by another program."""
    source = os.path.join(scratch, 'Version.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(r'''
#include <stdio.h>
#include <windows.h>

int main(int Count, char **Arguments)
{
    static char Data[4096];
    VS_FIXEDFILEINFO *Fixed;
    const char *Names[] = { "FileVersion", "ProductVersion", "ProductName",
                            "CompanyName", "OriginalFilename" };
    char Path[100], *Text;
    UINT Size, Index;
    if (Count != 2 ||
        !GetFileVersionInfoA(Arguments[1], 0, sizeof(Data), Data) ||
        !VerQueryValueA(Data, "\\", (void **)&Fixed, &Size)) {
        return 1;
    }
    printf("%u.%u.%u.%u\n", HIWORD(Fixed->dwFileVersionMS),
           LOWORD(Fixed->dwFileVersionMS), HIWORD(Fixed->dwFileVersionLS),
           LOWORD(Fixed->dwFileVersionLS));
    for (Index = 0; Index < 5; Index++) {
        sprintf(Path, "\\StringFileInfo\\040904B0\\%s", Names[Index]);
        if (!VerQueryValueA(Data, Path, (void **)&Text, &Size)) {
            return 2;
        }
        printf("%s\n", Text);
    }
    return 0;
}
''')
    program = os.path.join(scratch, 'Version.exe')
    subprocess.run([programs.GCC, source, '-o', program, '-lversion'],
                   check=True)
    results.equal(programs.run_windows(program, programs.windows_path(
        programs.READER)), (0, '%s.0\n%s\n%s\nTracer\nThe Tracer authors\n'
                            'TraceReader.exe\n' % (number, number, number)),
                  'the version resource')
    code, text = programs.run_windows(program, programs.windows_path(program))
    results.equal(code, 1, 'control: a program without one')


class Builds:
    """Builds and runs the game."""

    def __init__(self, results, scratch, prefix):
        self.results = results
        self.scratch = scratch
        self.prefix = prefix
        self.tools = os.path.join(scratch, 'tools')
        os.mkdir(self.tools)
        os.symlink(shutil.which('clang-19'),
                   os.path.join(self.tools, 'clang-cl'))
        shutil.copy('/usr/x86_64-w64-mingw32/lib/libkernel32.a',
                    os.path.join(self.tools, 'kernel32.lib'))

    def cmake(self, *arguments):
        return programs.run(['cmake', *arguments], stderr=subprocess.STDOUT,
                            env=dict(os.environ, PACKAGE_TOOLS=self.tools))

    def configure(self, compiler, kind, name, *more, prefix=None):
        """(exit code, what CMake said, folder); no compiler is this system's
        own."""
        folder = os.path.join(self.scratch, name)
        code, text = self.cmake(
            '-S', SOURCE, '-B', folder, '-G', 'Ninja',
            *(['-DCMAKE_TOOLCHAIN_FILE=%s.cmake' % os.path.join(
                SOURCE, compiler)] if compiler else []),
            '-DCMAKE_PREFIX_PATH=%s' % (prefix or self.prefix),
            '-DCMAKE_BUILD_TYPE=Release', '-DKIND=' + kind, *more)
        return code, text, folder

    def build(self, compiler, kind, what, *more, prefix=None):
        """The folder of what was built, or None."""
        code, text, folder = self.configure(compiler, kind,
                                            'build ' + what, *more,
                                            prefix=prefix)
        if self.results.check(code == 0, what + ': cmake',
                              text.split('\n')[-20:]):
            code, text = self.cmake('--build', folder)
            if self.results.check(code == 0, what + ': ninja',
                                  text.split('\n')[-20:]):
                return folder
        return None

    def commands(self, folder):
        """What Ninja runs, without the build folder's name, where headers of
        the package are, and the define of the game."""
        _, text = programs.run(['ninja', '-C', folder, '-t', 'commands'])
        text = re.sub(r' (-isystem |-imsvc)("[^"]*"|\S+)| -DMARKS', '',
                      text.replace(folder, ''))
        return [' '.join(line.split()) for line in text.split('\n')]

    def run(self, folder, what):
        """Runs the game: its sessions."""
        directory = os.path.join(folder, 'sessions')
        code, _ = support.run(os.path.join(folder, 'game.exe'),
                              directory=directory)
        self.results.equal(code, EXIT_CODE, what + ': the exit code')
        return support.sessions(directory)

    def check_traced(self, folder, what, expected):
        sessions = self.run(folder, what)
        if not self.results.equal(len(sessions), 1, what + ': sessions'):
            return
        images = {re.sub(r'^(lib)?(\w+)\..*', r'\2', os.path.basename(path))
                  for path in support.stores(sessions[0])}
        self.results.equal(images, {'game', 'engine', 'physics'},
                           what + ': the EXE and both DLLs have stores')
        # All of it is after the mark; without one it would be an error.
        code, text, errors = support.reader(
            'report', '--csv', '--from', 'mark:the game begins', sessions[0])
        self.results.check(code == 0, what + ': the mark', [errors])
        seen = {}
        for row in csv.DictReader(io.StringIO(text)):
            module = re.sub(r'^(lib)?(\w+)\..*', r'\2', row['module'])
            function = re.sub(r'\(.*', '', row['function'])
            seen[module, function] = int(row['calls'])
        self.results.equal(sorted(seen.items()), sorted(expected.items()),
                           what + ': calls')

    def check_untouched(self, folder, what):
        """No session, no hook in an image."""
        self.results.equal(self.run(folder, what), [], what + ': no session')
        self.check_hooks(folder, what, False)

    def check_hooks(self, folder, what, expected):
        objects = [os.path.join(above, name)
                   for above, _, names in os.walk(folder) for name in names
                   if re.match(r'(Game|Engine|Physics|Shapes)\.\w+\.obj$',
                               name)]
        self.results.equal(len(objects), 4, what + ': objects')
        for path in objects:
            _, text = programs.run(['llvm-nm-19', '-u', path])
            self.results.equal(any(hook in text for hook in HOOKS), expected,
                               '%s: %s: calls of hooks' %
                               (what, os.path.basename(path)))


def exit_code():
    """What the game returns, by what its sources say."""
    drawn = moved = total = 0
    for frame in range(20):
        inner = frame ^ 0x55
        drawn += inner * 3 + (inner + 1) * 3
        moved += sum(range(7))
        total += drawn + moved + frame * frame
    moved += sum(range(3))
    return (total + moved) & 0x7F


EXIT_CODE = exit_code()


def build_all(results, scratch, unpacked, installed):
    """The game, by every compiler, traced and not."""
    builds = Builds(results, scratch, unpacked)
    for compiler in COMPILERS:
        folder = builds.build(compiler, '', compiler)
        if folder:
            builds.check_traced(folder, compiler, CALLS)
            builds.check_hooks(folder, compiler, True)
        if compiler == 'clang' and not programs.LONG:
            continue
        what = compiler + ', TRACER=OFF'
        folder = builds.build(compiler, '', what, '-DTRACER=OFF')
        if folder:
            builds.check_untouched(folder, what)
            code, _, plain = builds.configure(compiler, 'plain',
                                              compiler + ' plain')
            results.equal(code, 0, compiler + ': without tracer_enable')
            with_it = builds.commands(folder)
            without = builds.commands(plain)
            results.check(len(without) > 6 and with_it == without,
                          what + ': commands are those without tracer_enable',
                          sorted(set(with_it) ^ set(without)))
        if not programs.LONG and compiler != 'gcc':
            continue
        folder = builds.build(compiler, 'MODE;inlined', compiler + ', inlined')
        if folder:
            builds.check_traced(folder, compiler + ', inlined', INLINED)
        what = compiler + ', untraced'
        folder = builds.build(compiler, 'UNTRACED', what)
        if folder:
            results.equal(builds.run(folder, what), [], what + ': no session')
            builds.check_hooks(folder, what, True)

    folder = builds.build('gcc', '', 'vcpkg', prefix=installed)
    if folder:
        builds.check_traced(folder, 'vcpkg', CALLS)
    if programs.LONG:
        code, text, _ = builds.configure(None, '', 'elsewhere')
        results.check(code != 0 and 'Tracer is for Windows x64' in
                      ' '.join(text.split()), 'on this system',
                      text.split('\n')[-10:])
        code, text, _ = builds.configure(None, '', 'elsewhere',
                                         '-DTRACER=OFF')
        results.check(code == 0, 'on this system, TRACER=OFF',
                      text.split('\n')[-10:])
    for bad, said in (('nosuch', 'nosuch is no target'),
                      ('game;MODE;all', 'MODE all: it is calls or inlined'),
                      ('game;MODE', 'it is calls or inlined'),
                      ('UNTRACED', 'no target is given')):
        code, text, _ = builds.configure('gcc', '', 'build gcc', '-DBAD=' + bad)
        results.check(code != 0 and said in ' '.join(text.split()),
                      'tracer_enable(%s)' % bad, text.split('\n')[-10:])


def check_versions(results, scratch, unpacked, number):
    """Which versions find_package takes."""
    major, minor, patch = number.split('.')
    later = '%s.%s.%d' % (major, minor, int(patch) + 1)
    wanted = [('', '8', True), (number, '8', True), (number, '', True),
              ('%s.%s' % (major, minor), '8', True), (later, '8', False),
              ('%d.0' % (int(major) + 1), '8', False), (number, '4', False)]
    if major == '0':
        wanted.append(('0.%d' % (int(minor) - 1), '8', False))
    script = os.path.join(scratch, 'versions.cmake')
    with open(script, 'w', encoding='utf-8') as file:
        for version, size, _ in wanted:
            file.write('''
set(PACKAGE_FIND_VERSION "%s")
set(CMAKE_SIZEOF_VOID_P "%s")
unset(PACKAGE_VERSION_UNSUITABLE)
include("%s/cmake/TracerConfigVersion.cmake")
if(PACKAGE_VERSION_COMPATIBLE AND NOT PACKAGE_VERSION_UNSUITABLE)
    message("yes")
else()
    message("no")
endif()
''' % (version, size, unpacked))
    _, text = programs.run(['cmake', '-P', script], stderr=subprocess.STDOUT)
    results.equal(text.split(), ['yes' if fits else 'no'
                                 for _, _, fits in wanted],
                  'versions that fit: %s' % (wanted,))


def documented_options():
    """{command: {option: whether it takes a value}}, from Docs/Commands.md."""
    text = read_text(os.path.join(programs.ROOT, 'Docs', 'Commands.md'))
    found = {}
    for part in re.split(r'^## ', text, flags=re.M)[1:]:
        name = part.split('\n', 1)[0]
        options = part.split('\nOptions:\n')[1].split('\n\n')[0]
        found[name] = {
            match.group(1): bool(match.group(2)) for match in
            re.finditer(r'^  (--[a-z-]+)(?: ([A-Z]+)(?= |$))?(?: |$)', options,
                        re.M)}
    return found


def complete(script, *words, cwd=None):
    """What bash offers; the last word is being typed."""
    code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_TraceReader TraceReader "${@: -1}" "${@: -2:1}"; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(['bash', '-c', code, 'bash', script, 'TraceReader',
                           *words], stdin=subprocess.DEVNULL, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode().split('\n')[:-1] if done.stdout != b'\n' else []


def check_bash(results, scratch, script, options):
    folder = os.path.join(scratch, 'words')
    os.makedirs(os.path.join(folder, 'a folder'))
    with open(os.path.join(folder, 'a file'), 'w', encoding='ascii'):
        pass
    results.equal(sorted(complete(script, '')), sorted(
        [*options, 'help', '--help', '--version', '--schema']),
        'bash: commands')
    results.equal(sorted(complete(script, 'help', '')), sorted(options),
                  'bash: after help')
    for command, known in sorted(options.items()):
        results.equal(sorted(complete(script, command, '-')), sorted(known),
                      'bash: the options of ' + command)
    formats = ['folded', 'chrome', 'perfetto', 'fxt', 'speedscope',
               'callgrind', 'csv', 'csv-osr', 'csv-cap', 'html',
               'parquet']
    for words, expected in (
            (('re',), ['report', 'replay', 'recover']),
            (('report', '--per'), ['--percentiles']),
            (('export', '--format', ''), formats),
            (('export', '--format', '=', 'c'),
             [name for name in formats if name[0] == 'c']),
            (('export', '--format', '='), formats),
            (('export', '--format=ht',), ['--format=html']),
            (('report', '--width', 'a'), ['auto']),
            (('report', '--limit', ''), []),
            (('run', '--mode', ''), ['compact', 'compact-ring', 'file', 'ring',
                                      'tree']),
            (('run', '--mode', 'tree', '--clo'), ['--clock']),
            (('run', '--mode', '=', 'tree', '--clo'), ['--clock']),
            (('run', '--mode', 'tree', 'program.exe', '--clo'), []),
            (('run', '--', '--clo'), []),
            (('run', '--exclude', 'a'), ['a file', 'a folder']),
            (('run', '--directory', 'a'), ['a folder']),
            (('pack', '-o', 'a f'), ['a file', 'a folder']),
            (('report', '', '--per'), ['--percentiles']),
            (('report', 'a'), ['a file', 'a folder']),
            (('nosuch', '--'), [])):
        results.equal(sorted(complete(script, *words, cwd=folder)),
                      sorted(expected), 'bash: %s' % (words,))


def check_powershell(results, script, options):
    """There is no PowerShell here: the text alone."""
    text = read_text(script)
    bare, depth = '', []
    for match in re.finditer(r"'(?:[^']|'')*'|#[^\n]*|\"[^\"\n]*\"|.", text,
                             re.S):
        if match.group(0)[0] not in '\'"#':
            bare += match.group(0)
    pairs = {')': '(', ']': '[', '}': '{'}
    for letter in bare:
        if letter in '([{':
            depth.append(letter)
        elif letter in pairs and (not depth or depth.pop() != pairs[letter]):
            depth.append('wrong')
            break
    results.equal((depth, bare.count("'"), bare.count('"')), ([], 0, 0),
                  'PowerShell: brackets and quotes')
    commands = dict(re.findall(r"^        '(\w+)' = '((?:[^']|'')*)'$", text,
                               re.M))
    results.equal(sorted(commands), sorted(options), 'PowerShell: commands')
    rows = {}
    for name, body in re.findall(r"^        '(\w+)' = @\(\n(.*?)^        \)$",
                                 text, re.M | re.S):
        rows[name] = {}
        for row in body.split('\n')[:-1]:
            match = re.fullmatch(r" {12}'(--[a-z-]+)(=\S*)? (?:[^']|'')+'",
                                 row)
            if results.check(match, 'PowerShell: %s: a row' % name, [row]):
                rows[name][match.group(1)] = match.group(2) is not None
    for name, known in sorted(options.items()):
        results.equal(rows.get(name), known, 'PowerShell: options of ' + name)
    results.check("'--mode=file,ring,tree,compact,compact-ring " in text,
                  'PowerShell: values')


def check_completions(results, scratch, unpacked):
    options = documented_options()
    results.check(len(options) > 15 and all(options.values()),
                  'Docs/Commands.md has options', [options])
    folder = os.path.join(unpacked, 'completions')
    for shell, name in (('bash', 'TraceReader.bash'),
                        ('powershell', 'TraceReader.ps1')):
        results.equal(support.reader('--completions', shell)[:2],
                      (0, read_text(os.path.join(folder, name))),
                      '--completions ' + shell)
    code, text, errors = support.reader('--completions', 'fish')
    results.check((code, text) == (1, '') and 'bash or powershell' in errors,
                  '--completions fish', [errors])
    check_bash(results, scratch, os.path.join(folder, 'TraceReader.bash'),
               options)
    check_powershell(results, os.path.join(folder, 'TraceReader.ps1'), options)


def main():
    results = programs.Results()
    number = version()
    url = {'TRACER_RELEASE_URL': 'https://dl.example/r/'}
    with programs.Scratch() as scratch:
        made, _ = make_package(os.path.join(scratch, 'made'), **url)
        again, _ = make_package(os.path.join(scratch, 'again', 'elsewhere'),
                                **url)
        results.equal(sorted(made), sorted(again), 'the same files')
        results.equal([name for name in made if made[name] != again[name]], [],
                      'the same bytes')
        there = os.path.join(scratch, 'unpacked elsewhere')
        name = 'Tracer-%s-x64' % number
        if not results.check(name + '.zip' in made, 'the zip', sorted(made)):
            return results.finish()
        with zipfile.ZipFile(io.BytesIO(made[name + '.zip'])) as file:
            file.extractall(there)
        unpacked = os.path.join(there, name)

        check_zip(results, made, number)
        check_building(results, unpacked)
        nuget = os.path.join(scratch, 'nuget unpacked')
        check_nuget(results, made, number, nuget)
        check_msbuild(results, unpacked, nuget)
        check_driver_projects(results, unpacked, nuget)
        check_winget(results, made, number)
        check_version_resource(results, scratch, number)
        check_completions(results, scratch, unpacked)
        if not shutil.which('cmake') or not shutil.which('ninja'):
            results.skip('cmake or ninja is not installed')
            return results.finish()
        check_versions(results, scratch, unpacked, number)
        installed = check_vcpkg(results, made, number, scratch, unpacked)
        build_all(results, scratch, unpacked, installed)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

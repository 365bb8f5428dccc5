#!/usr/bin/env python3
"""Makes the packages of a build.

    Build/Package.py [BUILD-FOLDER [FOLDER]]

BUILD-FOLDER (x64/Release) has TraceReader.exe and the libraries.  FOLDER
(x64/Package) gets, in place of what an earlier run left:

    Tracer-VERSION-x64.zip          the program, libraries, headers, CMake and
                                    MSBuild files, documents, completions
    Tracer-VERSION-x64.zip.sha256   its hash, as sha256sum -c takes it
    Tracer.VERSION.nupkg            the same for NuGet
    vcpkg/tracer/                   the overlay port, with version and hash
    winget/                         the manifests, likewise

TRACER_RELEASE_URL is the address of the folder that the zip will be in; without
it the port and the manifests have one that does not exist.

The same build gives the same bytes: files are in order of their names and have
no times.
"""

import hashlib
import os
import pathlib
import re
import shutil
import sys
import uuid
import zipfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_URL = 'https://tracer.invalid/releases'
NAMESPACE = uuid.UUID('0d6c5f0e-3b0f-5c55-9d1f-6f0a7a4f2b11')

PROGRAMS = ['TraceReader.exe', 'TraceReader.pdb', 'TraceViewer.html',
            'TracerImports.dll', 'TracerImports.pdb', 'TracerSqlite.dll',
            'TracerSqlite.pdb', 'TracerKd.dll', 'TracerKd.pdb']
LIBRARIES = ['TracerPenter.lib', 'TracerPenterNull.lib',
             'TracerPenterKernel.lib']
HEADERS = ['Penter/Penter.h', 'TraceStore/TraceFormat.h',
           'Kernel/TracerKernel.h', 'Kernel/KernelFormat.h']
PAGES = ['README.md', 'LICENSE', 'CHANGELOG.md']

# What a part of the NuGet package is, by the end of its name.
TYPES = {
    'rels': 'application/vnd.openxmlformats-package.relationships+xml',
    'psmdcp': 'application/vnd.openxmlformats-package.core-properties+xml',
}
OPC = 'http://schemas.openxmlformats.org/package/2006/'


def read_version():
    """"0.9.0", from the header that has it."""
    text = (ROOT / 'Rtl' / 'RtlVersion.h').read_text(encoding='utf-8')
    return '.'.join(re.search(r'#define TRACER_VERSION_%s (\d+)' % name,
                              text).group(1)
                    for name in ('MAJOR', 'MINOR', 'PATCH'))


def fill(path, values):
    """A template's bytes with @NAME@ replaced."""
    text = path.read_bytes().decode('utf-8')
    text = re.sub('@([A-Z0-9]+)@', lambda match: values[match.group(1)], text)
    return text.encode('utf-8')


def files_below(folder, under):
    return {'%s/%s' % (under, path.relative_to(folder).as_posix()):
            path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def read_parts(binaries, values):
    """{path in the zip: bytes}"""
    parts = {}
    if not (binaries / 'TraceViewer.html').exists():
        raise SystemExit('Package: %s is not there: the viewer\'s page is made '
                         'by `make viewer`' % (binaries / 'TraceViewer.html'))
    for folder, names in (('bin', PROGRAMS), ('lib', LIBRARIES)):
        for name in names:
            parts['%s/%s' % (folder, name)] = (binaries / name).read_bytes()
    for name in HEADERS:
        parts['include/' + pathlib.Path(name).name] = \
            (ROOT / name).read_bytes()
    for name in PAGES:
        parts[name] = (ROOT / name).read_bytes()
    for path in (ROOT / 'Packaging' / 'CMake').iterdir():
        parts['cmake/' + path.name] = fill(path, values)
    parts.update(files_below(ROOT / 'Packaging' / 'MSBuild', 'build'))
    parts.update(files_below(ROOT / 'Packaging' / 'Completions',
                             'completions'))
    parts.update(files_below(ROOT / 'Docs', 'Docs'))
    return parts


def write_zip(path, parts):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED,
                         compresslevel=9) as file:
        for name in sorted(parts):
            entry = zipfile.ZipInfo(name)           # of 1980-01-01
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, parts[name])


def nuget_parts(parts, values):
    """What the zip has, where NuGet wants it, and the parts of OPC."""
    kept = {}
    for name, data in parts.items():
        folder = name.split('/')[0]
        if folder in ('include', 'lib'):
            kept['build/native/' + name] = data
        elif folder == 'build':
            kept['build/native/' + name.split('/', 1)[1]] = data
        elif folder == 'bin':
            kept['tools/' + name.split('/', 1)[1]] = data
        elif name in PAGES:
            kept[name] = data
    nuspec = fill(ROOT / 'Packaging' / 'NuGet' / 'Tracer.nuspec', values)
    kept['Tracer.nuspec'] = nuspec

    field = dict(re.findall(r'<(\w+)[^>]*>([^<]*)</', nuspec.decode('utf-8')))
    properties = 'package/services/metadata/core-properties/%s.psmdcp' % \
        uuid.uuid5(NAMESPACE, values['VERSION']).hex
    kept[properties] = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns="%smetadata/core-properties">\n'
        '  <dc:creator>%s</dc:creator>\n'
        '  <dc:description>%s</dc:description>\n'
        '  <dc:identifier>%s</dc:identifier>\n'
        '  <version>%s</version>\n'
        '  <keywords>%s</keywords>\n'
        '</coreProperties>\n' %
        (OPC, field['authors'], field['description'], field['id'],
         field['version'], field['tags'])).encode('utf-8')
    kept['_rels/.rels'] = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<Relationships xmlns="%srelationships">\n'
        '  <Relationship Id="R1" Target="/Tracer.nuspec" Type='
        '"http://schemas.microsoft.com/packaging/2010/07/manifest" />\n'
        '  <Relationship Id="R2" Target="/%s" Type='
        '"%srelationships/metadata/core-properties" />\n'
        '</Relationships>\n' % (OPC, properties, OPC)).encode('utf-8')

    ends = {name.rsplit('.', 1)[1] for name in kept
            if '.' in name.rsplit('/', 1)[-1]}
    types = ''.join('  <Default Extension="%s" ContentType="%s" />\n' %
                    (end, TYPES.get(end, 'application/octet'))
                    for end in sorted(ends))
    types += ''.join('  <Override PartName="/%s" ContentType='
                     '"application/octet" />\n' % escape(name)
                     for name in sorted(kept)
                     if '.' not in name.rsplit('/', 1)[-1])
    kept['[Content_Types].xml'] = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<Types xmlns="%scontent-types">\n%s</Types>\n' %
        (OPC, types)).encode('utf-8')
    return kept


def main():
    if len(sys.argv) > 3 or any(word.startswith('-') for word in sys.argv[1:]):
        print(__doc__)
        return 2
    given = [pathlib.Path(word).resolve() for word in sys.argv[1:]]
    binaries = given[0] if given else ROOT / 'x64' / 'Release'
    target = given[1] if len(given) > 1 else ROOT / 'x64' / 'Package'
    version = read_version()
    major, minor, _ = version.split('.')
    values = {
        'VERSION': version,
        'COMPATIBLE': '%s.%s.0' % (major, minor if major == '0' else 0),
        'NAME': 'Tracer-%s-x64' % version,
        'URL': os.environ.get('TRACER_RELEASE_URL', NO_URL).rstrip('/'),
    }

    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    parts = read_parts(binaries, values)
    path = target / (values['NAME'] + '.zip')
    write_zip(path, {'%s/%s' % (values['NAME'], name): data
                     for name, data in parts.items()})
    data = path.read_bytes()
    values['SHA256'] = hashlib.sha256(data).hexdigest()
    values['SHA512'] = hashlib.sha512(data).hexdigest()
    (target / (path.name + '.sha256')).write_bytes(
        ('%s  %s\n' % (values['SHA256'], path.name)).encode('ascii'))
    package = target / ('Tracer.%s.nupkg' % version)
    write_zip(package, nuget_parts(parts, values))

    for kind, folder in (('vcpkg', 'vcpkg/tracer'), ('winget', 'winget')):
        (target / folder).mkdir(parents=True)
        for source in (ROOT / 'Packaging' / kind).iterdir():
            (target / folder / source.name).write_bytes(fill(source, values))

    for made in (path, package):
        print('Package: %s: %d bytes' % (made, made.stat().st_size))
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OSError as error:
        print('Package: %s: %s' % (error.filename, error.strerror))
        sys.exit(1)

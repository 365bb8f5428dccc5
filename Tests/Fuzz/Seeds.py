#!/usr/bin/env python3
"""Tests/Fuzz/Seeds.py FOLDER

Makes inputs of FuzzSession that are whole sessions (FuzzReal.h): traces
Seed.c with MinGW's hooks in every mode, with the products in x64/Release
(TRACER_BIN), and writes one input a session to FOLDER.

Tests/Fuzz/Seeds.py FOLDER NAME PATH... makes one of the files that are named,
or of all files of a session directory, with the name given.
"""

import os
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), room)
                for room in ('Product', 'Library')]
import CompactStores as compact                              # noqa: E402
import programs                                              # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestTreeModules as modules                            # noqa: E402

REAL = 0xFF
SEVERAL = 0x80             # FUZZ_SESSION_SEVERAL
GAP = 8                     # zeroes that end a piece
LIMIT = 0x180000            # bytes that the files of one input may have
CONTROL_ROOM = 0x4000       # of a control file, which says what it has

TREE = {'TRACER_MODE': 'tree', 'TRACER_MAX_BYTES': '1M'}
RING = {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'}


def pieces(data):
    """The parts of a file that are not zero, as FuzzReal.h wants them."""
    result, last, at = b'', 0, 0
    while at < len(data):
        if not data[at]:
            at += 1
            continue
        end = data.find(bytes(GAP), at)
        end = len(data) if end < 0 else end
        end = min(end, at + 0xFFFF)
        result += struct.pack('<I', at - last)[:3]
        result += struct.pack('<H', end - at) + data[at:end]
        last = at = end
    return result + bytes(5)


def encode(files, flags=0, line=0):
    result = bytes([REAL, flags, 0, 0, 0, line])
    for name, data in files:
        name = name.encode()[-63:]
        result += bytes([0, len(name)]) + name
        result += struct.pack('<I', len(data)) + pieces(data)
    return result


def read(path):
    with open(path, 'rb') as file:
        data = file.read(LIMIT)
    if path.endswith('session.control') and len(data) > CONTROL_ROOM:
        data = bytearray(data[:CONTROL_ROOM])
        struct.pack_into('<I', data, 0x18, (CONTROL_ROOM - 4096) // 128)
    return bytes(data)


def session_files(session):
    return [(name, read(os.path.join(session, name)))
            for name in sorted(os.listdir(session))]


def thin_image(path, sources):
    """An image with the code, the unwind data and the names of one object."""
    text = subprocess.run([programs.NM, '-n', path], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    places = [(int(line.split()[0], 16), line.split()[2])
              for line in text.splitlines() if len(line.split()) == 3]
    base = min(place for place, name in places if name == '.text') - 0x1000
    end = max(place - base for place, name in places if name in sources)
    end += 0x100
    copy = path + '.thin'
    subprocess.run(['x86_64-w64-mingw32-strip', '-s',
                    *('-K' + name for name in sources), '-o', copy, path],
                   check=True)
    with open(copy, 'rb') as file:
        data = bytearray(file.read())
    header = struct.unpack_from('<I', data, 0x3C)[0]
    count, = struct.unpack_from('<H', data, header + 6)
    optional, = struct.unpack_from('<H', data, header + 20)
    symbols, = struct.unpack_from('<I', data, header + 12)
    keep, unwind = [(symbols, len(data))] if symbols else [], 0
    for index in range(count):
        at = header + 24 + optional + 40 * index
        name = data[at:at + 8].rstrip(b'\0')
        address, size, place = struct.unpack_from('<III', data, at + 12)
        if name == b'.text':
            keep.append((place, place + max(0, end - address)))
        if name == b'.pdata':
            while (unwind * 12 < size and
                   struct.unpack_from('<I', data, place + unwind * 12)[0] <
                   end):
                unwind += 1
            keep.append((place, place + unwind * 12))
        if name == b'.xdata':
            keep.append((place, place + 16 * unwind))
    first = min(place for place, _ in keep)
    result = bytearray(len(data))
    for begin, stop in [(0, first), *keep]:
        result[begin:stop] = data[begin:stop]
    return bytes(result)


def build(folder, flags, name='Seed.exe', libraries=(programs.LIBRARY,)):
    return programs.build(
        folder, [os.path.join(HERE, 'Seed.c')],
        [*flags, '-g0', '-I' + os.path.join(programs.ROOT, 'Penter')], name,
        list(libraries))


def trace(scratch, program, *arguments, **variables):
    folder = os.path.join(scratch, 'Traces')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    code, text = support.run(program, *arguments, directory=folder,
                             **variables)
    sessions = os.listdir(folder)
    if code != 0 or len(sessions) != 1:
        raise RuntimeError('exit code %r: %s' % (code, text))
    return os.path.join(folder, sessions[0])


def make_all(folder, scratch):
    penter = build(os.path.join(scratch, 'penter'), programs.PENTER_FLAGS)
    function = build(os.path.join(scratch, 'cyg'), programs.FUNCTION_FLAGS)
    names = ('Leaf', 'Work', 'Recurse', 'Jump', 'Land', 'Switch', 'Fiber',
             'Thread')
    images = {path: ('Seed.exe', thin_image(path, names))
              for path in (penter, function)}
    plan = os.path.join(scratch, 'Work.list')
    subprocess.run([programs.WINE, programs.READER, 'exclude', '-o',
                    programs.windows_path(plan),
                    programs.windows_path(penter), 'Work'], check=True)
    chrono = dict(TREE, TRACER_CHRONO=programs.windows_path(plan))

    def write(name, session, *more, line=0, flags=0):
        files = session_files(session) + list(more)
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(encode(files, flags, line))

    write('records', trace(scratch, penter), images[penter], line=2)
    write('records-paused', trace(scratch, penter, '1'), line=12)
    write('functions', trace(scratch, function), images[function], line=18)
    write('ring', trace(scratch, penter, **RING), line=19)
    write('tree', trace(scratch, penter, **TREE), images[penter], line=2)
    write('tree-paused', trace(scratch, penter, '1', **TREE), line=12)
    write('tree-functions', trace(scratch, function, '1', **TREE), line=14)
    write('chrono', trace(scratch, penter, **chrono), line=7)
    write('thread-clock', trace(scratch, penter, TRACER_CLOCK='thread'),
          line=44)
    write('no-clock', trace(scratch, penter, TRACER_CLOCK='none'), line=18)
    write('choice', trace(scratch, penter, TRACER_MAX_DEPTH='4',
                          TRACER_MIN_DURATION='1us'), line=21)

    session = trace(scratch, penter)
    for name, how, line in (('compact', {'tail': True}, 2),
                            ('compact-open', {}, 24),
                            ('compact-ring', {'capacity': 0x1000}, 20)):
        converted = compact.convert(session, os.path.join(scratch, name),
                                    view=0x100, segment=0x1000, ring=0x3000,
                                    **how)
        write(name, converted, images[penter], line=line)

    # Files lie in the folders of three processes, in turn.
    files = [[item for item in session_files(trace(scratch, program, **more))
              if item[0].endswith('.trace')]
             for program, more in ((penter, {}), (penter, TREE),
                                   (function, {}))]
    mixed = [item for group in zip(*files) for item in group]
    with open(os.path.join(folder, 'processes'), 'wb') as file:
        file.write(encode(mixed, SEVERAL, 9))

    # An EXE and three DLLs: one tree, and the records of each.
    built = os.path.join(scratch, 'modules')
    host, *dlls = (modules.build(built, number,
                                 modules.FUNCTIONS if number == 2 else
                                 modules.PENTER) for number in range(4))
    for name, more in (('tree-modules', TREE), ('modules', {})):
        _, session = modules.run(built, host, dlls, 'ping', 2, name, **more)
        write(name, session, line=2)

    session = trace(scratch, penter)
    code, _ = programs.trace_reader('report', '--mark-every', '64',
                                    programs.windows_path(session))
    if code != 0:
        raise RuntimeError('report: exit code %d' % code)
    write('index-and-cache', session, line=2)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    if len(sys.argv) > 2:
        files = []
        for path in sys.argv[3:]:
            files += (session_files(path) if os.path.isdir(path) else
                      [(os.path.basename(path), read(path))])
        with open(os.path.join(folder, sys.argv[2]), 'wb') as file:
            file.write(encode(files))
        return
    with programs.Scratch() as scratch:
        make_all(folder, scratch)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""TraceReader pack and unpack: a pack gives what the session gave with the
image, byte for byte, where there is no image; unpacked, the files are the
session's again.

Tests/Library/pack_reader.py, which was written from Docs/Format.md, reads the
packs, too; the records that must be in them are read from the stores with
trace_reader.py.  TestPackHostile.py has the packs that nobody wrote.
"""
# Takes long.

import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as made                                    # noqa: E402
import pack_reader                                           # noqa: E402
import PackSupport as packs                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestCache as cached                                   # noqa: E402
import TestIndex as index                                    # noqa: E402
import TestRuns as runs                                      # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

support.OTHER_MODES.clear()     # TestCompactReader.py packs compact stores
from TestBadInput import mounted                             # noqa: E402

LOG = 'Größe: 1\n'.encode()

# What is read of a pack as it is of the session, beside cached.WAYS.  The short
# form has fewer of the combinations.
FORMS = [[], ['--csv'], ['--json']] if programs.LONG else [[]]
READING = [[*command, *form] for form in FORMS for command in (
    ['info'], ['info', '--internals'], ['report'], ['tree'],
    ['tree', '--per-thread'], ['replay'], ['replay', '--tail', '9'],
    ['threads'], ['modules'], ['verify'], ['hot'], ['callers', 'Leaf'],
    ['callees', 'Around'], ['outliers', 'Leaf'], ['stack'],
    ['report', '--percentiles'], ['report', '--by', 'process'],
    ['report', '--from', '1us'], ['diff', '@'])] + [
    ['live', '--count', '1', '--from-start'],
    ['live', '--plain', '--count', '2', '--interval', '50']]
# When live looked, and how long that took.
MOMENT = re.compile(r'\d\d:\d\d:\d\d\.\d+Z|(?<= new in )[\d.]+ s')
EXPORTS = ['folded', 'chrome'] + ['callgrind', 'csv'] * programs.LONG


def pack(session, path, *options):
    return support.reader('pack', programs.windows_path(session), '-o',
                          programs.windows_path(path), *options)


def records(path, **options):
    """All records of a store that can be read, whatever else is in it."""
    store = trace_reader.Store(path, **options)
    return list(store.records()), dict(store.bad)


def left_over(folder):
    return [name for name in os.listdir(folder) if name.endswith('.tmp')]


def unpack(results, path, folder, what):
    """Unpacks; pack_reader must agree.  The names in the pack."""
    before = sorted(os.listdir(os.path.dirname(path)))
    code, text, errors = support.reader(
        'unpack', '-o', programs.windows_path(folder),
        programs.windows_path(path))
    results.check((code, errors) == (0, ''), what + ': unpack',
                  [code, text, errors])
    results.equal([name for name in sorted(os.listdir(os.path.dirname(path)))
                   if os.path.join(os.path.dirname(path), name) != folder],
                  before, what + ': unpack makes nothing else')
    names = packs.check_unpacked(results, path, folder, random.Random(1), what)
    results.check('%d files' % len(names) in text, what + ': what is said',
                  [text])
    return names


def said(place, inside, command):
    """What a command says of a place, with nothing in it of where that is."""
    there = programs.windows_path(place)
    code, *texts = support.reader(*(there if word == '@' else word
                                    for word in command), there)
    for index, text in enumerate(texts):
        for name in (inside, there):
            for form in (name.replace('\\', '\\\\'), name):
                text = text.replace(form, 'PLACE')
        texts[index] = MOMENT.sub('MOMENT', text)
    return code, texts


def check_reading(results, session, target, what, commands,
                  has_answers=True):
    """Commands say the same of a pack as of the session's directory."""
    inside = '%s\\%s' % (programs.windows_path(target),
                         os.path.basename(session))
    for command in commands:
        expected = said(session, inside, command)
        have = said(target, inside, command)
        results.check(have == expected, '%s: %s' % (what, ' '.join(command)),
                      [expected[0], have[0], *differing(expected, have)])
        results.check(not has_answers or command[0] == 'hot' or
                      expected[0] == 0 and expected[1][0],
                      '%s: %s: an answer' % (what, ' '.join(command)),
                      [expected])


def differing(expected, have):
    """The first lines that differ."""
    for left, right in zip(expected[1], have[1]):
        if left != right:
            lines = list(zip(left.splitlines() + [''],
                             right.splitlines() + ['']))
            return [pair for pair in lines if pair[0] != pair[1]][:2]
    return []


def check_exports(results, session, target, what, *options, folder):
    for form in EXPORTS:
        files = []
        for number, place in enumerate((session, target)):
            path = os.path.join(folder, 'export%d' % number)
            code, text, errors = support.reader(
                'export', '--format', form, *options, '-o',
                programs.windows_path(path), programs.windows_path(place))
            results.check(code == 0, '%s: export %s' % (what, form),
                          [code, text, errors])
            data = packs.read_bytes(path) if code == 0 else b''
            name = programs.windows_path(place).replace('\\', '\\\\')
            files.append(data.replace(name.encode(), b'PLACE'))
            if code == 0:
                os.remove(path)
        results.check(files[0] == files[1] and files[0],
                      '%s: export %s: the same' % (what, form),
                      [data[:300] for data in files])


def check_pack(results, scratch):
    """A session of two threads, with functions that were inlined."""
    session, image = cached.make_session(
        scratch, 'packed', [*programs.FUNCTION_FLAGS, '-gdwarf-4'])
    with open(os.path.join(session, 'Cached.exe.log'), 'wb') as file:
        file.write(LOG)
    with open(os.path.join(session, 'notes.txt'), 'wb') as file:
        file.write(b'not of the session')
    stores = support.stores(session)
    for path in stores:         # room that the writer had reserved
        with open(path, 'ab') as file:
            file.write(bytes(0x30000))
    expected = cached.show(session, '--no-cache', '--no-index')
    before = {name: os.stat(os.path.join(session, name)).st_mtime_ns
              for name in os.listdir(session)}
    target = os.path.join(scratch, 'one.tracepack')
    code, text, errors = pack(session, target)
    results.check((code, errors) == (0, '') and '2 stores' in text and
                  not left_over(scratch), 'pack', [code, text, errors])
    results.check(all(os.stat(os.path.join(session, name)).st_mtime_ns == time
                      for name, time in before.items()) and
                  set(os.listdir(session)) - set(before) ==
                  {'symbols.cache'}, 'pack: the session is as it was')

    folder = os.path.join(scratch, 'there')
    names = unpack(results, target, folder, 'pack')
    results.equal(sorted(names),
                  sorted('session/' + name for name in
                         [*map(os.path.basename, stores), 'Cached.exe.log',
                          'symbols.cache']), 'pack: what is in it')
    results.equal(cached.read_bytes(os.path.join(folder, 'Cached.exe.log')),
                  LOG, 'pack: the log')
    total = 0
    for path in stores:
        copy = os.path.join(folder, os.path.basename(path))
        size = 4096 + 16 * trace_reader.Store(path).number_of_slots
        total += size
        results.equal(os.path.getsize(copy), size, 'pack: no room for more')
        results.equal(cached.read_bytes(copy), cached.read_bytes(path)[:size],
                      'pack: header and records')
    results.check(total > 60000 and os.path.getsize(target) < total // 4,
                  'pack: is small', [total, os.path.getsize(target)])

    check_reading(results, session, target, 'pack, text', READING)
    check_exports(results, session, target, 'pack', folder=scratch)

    # Elsewhere: no image.
    os.rename(image, image + '.gone')
    known = sorted(os.listdir(scratch))
    for place, what in ((folder, 'unpacked'), (target, 'pack')):
        results.equal(cached.show(place), expected, what + ': without the image')
    results.equal(cached.show(target, '--no-index'), expected,
                  'pack: without the image and an index')
    results.equal(sorted(os.listdir(scratch)), known,
                  'pack: nothing is written beside it')
    check_reading(results, folder, target, 'pack, without the image',
                  READING[:18])
    exports = []
    for number, place in enumerate((session, folder, target)):
        export = os.path.join(scratch, 'callgrind%d' % number)
        if place == session:
            os.rename(image + '.gone', image)
        code, _, errors = support.reader(
            'export', '--format', 'callgrind', '--no-cache' if place == session
            else '--no-index', '-o', programs.windows_path(export),
            programs.windows_path(place))
        if place == session:
            os.rename(image, image + '.gone')
        results.check(code == 0, 'pack: export', [errors])
        exports.append(cached.read_bytes(export))
    results.check(exports[0] == exports[1] == exports[2] and
                  b'Cached.c' in exports[0],
                  'pack: an export with lines, without the image',
                  [data[:400] for data in exports])

    # Controls: neither image nor cache, in a directory and in a pack.
    _, entries = cached.parse(cached.read_bytes(cached.cache_of(folder)))
    os.remove(cached.cache_of(folder))
    without = os.path.join(scratch, 'without.tracepack')
    cached.write_bytes(without, packs.make(
        [('session/' + name, data)
         for name, data in packs.files_below(folder).items()]))
    for place, what in ((folder, 'unpacked'), (without, 'pack')):
        control = cached.show(place)
        results.check(all(have[0] == 0 and have != wanted
                          for have, wanted in zip(control, expected)),
                      what + ': control: without the cache', control[:1])
    os.rename(image + '.gone', image)
    results.equal(cached.show(without), expected,
                  'a pack without a cache, with the image')
    check_lines(results, session, image, entries)

    again = os.path.join(scratch, 'again.tracepack')
    pack(session, again)
    results.equal(cached.read_bytes(again), cached.read_bytes(target),
                  'pack: the same bytes again')
    return session, target


def check_lines(results, session, image, entries):
    """The lines of all entries' sites must be those of addr2line."""
    wanted = sorted(cached.entry_rvas(session))
    _, text = programs.run(['x86_64-w64-mingw32-addr2line', '-e', image] +
                           ['0x%x' % (0x140000000 + rva) for rva in wanted])
    lines = {rva: int(line.rpartition(':')[2].split()[0])
             for rva, line in zip(wanted, text.splitlines())
             if 'Cached.c:' in line}
    found = {key[2]: values[0] for key, values in entries.items()
             if key[1] == cached.LINE and values[0] and
             values[1].endswith('Cached.c')}
    results.check(len(lines) > 5 and
                  sum(found.get(rva) == line
                      for rva, line in lines.items()) >= len(lines) * 3 // 4,
                  'pack: lines', [lines, found])


def check_errors(results, scratch, session, target):
    """What cannot be written leaves nothing; what is there stays."""
    data = cached.read_bytes(target)
    code, _, errors = pack(session, target)
    results.check(code == 1 and 'STATUS_OBJECT_NAME_COLLISION' in errors and
                  cached.read_bytes(target) == data and
                  not left_over(scratch), 'a file that is there', [errors])
    code, _, errors = support.reader('pack', programs.windows_path(session))
    results.check(code == 1 and '--output is required' in errors,
                  'no --output', [errors])
    noisy = os.path.join(scratch, 'noisy')
    shutil.copytree(session, noisy)
    with open(os.path.join(noisy, 'Noise.log'), 'wb') as file:
        file.write(os.urandom(200000))      # cannot be compressed
    with mounted(os.path.join(scratch, 'small'), 'size=64k') as root:
        if root is None:
            results.skip('a file system cannot be mounted')
            return
        code, _, errors = pack(noisy, os.path.join(root, 'a.tracepack'))
        results.check(code == 1 and 'write the pack' in errors and
                      'STATUS_DISK_FULL' in errors and
                      not os.listdir(root), 'a full disk',
                      [code, errors, os.listdir(root)])
        whole = os.path.join(scratch, 'noisy.tracepack')
        pack(noisy, whole)
        code, text, errors = support.reader(
            'unpack', '-o', programs.windows_path(os.path.join(root, 'new')),
            programs.windows_path(whole))
        results.check(code == 1 and not text and 'write the file' in errors and
                      'STATUS_DISK_FULL' in errors, 'unpack: a full disk',
                      [code, text, errors])
        results.check('Noise.log' not in packs.files_below(root) and
                      '  at ' in errors, 'unpack: the file that is not whole',
                      [errors, list(packs.files_below(root))])


def check_refused(results, scratch, session, target):
    """What is no use of a pack, and where unpack does not write."""
    path = programs.windows_path(target)
    new = os.path.join(scratch, 'refused')
    for command in (['ctl', path, 'stop'], ['ctl', path, 'status'],
                    ['recover', '-o', programs.windows_path(new), path],
                    ['sessions', path],
                    ['pack', '-o', programs.windows_path(new), path]):
        code, text, errors = support.reader(*command)
        results.check(code == 1 and not text and 'is a pack' in errors and
                      'unpack' in errors and errors.count('\n') == 1 and
                      not os.path.exists(new), 'refused: ' + command[0],
                      [code, text, errors])
    code, text, errors = support.reader('unpack', path)
    results.check(code == 1 and '--output is required' in errors,
                  'unpack: no --output', [code, text, errors])
    code, text, errors = support.reader('unpack', '-o',
                                        programs.windows_path(new))
    results.check(code == 1 and not os.path.exists(new),
                  'unpack: no path', [code, text, errors])

    # An empty directory is as good as none; any other stays as it is.
    expected = packs.files_below(os.path.join(scratch, 'there-again')) or None
    for name, make in (('empty', True), ('deep/er/est', False)):
        folder = os.path.join(scratch, 'into', name)
        os.makedirs(folder if make else os.path.join(scratch, 'into'),
                    exist_ok=True)
        code, text, errors = support.reader(
            'unpack', '-o', programs.windows_path(folder), path)
        if not results.check(code == 0, 'unpack: to ' + name,
                             [code, text, errors]):
            continue
        found = packs.files_below(folder)
        results.check(found and expected in (None, found),
                      'unpack: the same in ' + name)
        expected = found
    folder = os.path.join(scratch, 'into', 'full')
    os.makedirs(folder)
    for name in ('file', 'symbols.cache'):
        cached.write_bytes(os.path.join(folder, name), b'mine')
        code, text, errors = support.reader(
            'unpack', '-o', programs.windows_path(folder), path)
        results.check(code == 1 and not text and
                      'it exists and is not empty' in errors and
                      packs.files_below(folder) == {name: b'mine'},
                      'unpack: not empty', [code, text, errors])
        os.remove(os.path.join(folder, name))
    cached.write_bytes(new, b'mine')
    code, text, errors = support.reader('unpack', '-o',
                                        programs.windows_path(new), path)
    results.check(code == 1 and not text and errors and
                  cached.read_bytes(new) == b'mine', 'unpack: to a file',
                  [code, text, errors])
    os.remove(new)

    # What is no pack.
    archive = os.path.join(scratch, 'old.zip')
    with zipfile.ZipFile(archive, 'w') as file:
        file.writestr('session/a.trace', b'x' * 9999)
    for place, word in ((archive, 'it is none'),
                        (support.stores(session)[0], 'it is none'),
                        (session, 'STATUS_'),
                        (os.path.join(scratch, 'nothing'), 'STATUS_')):
        code, text, errors = support.reader(
            'unpack', '-o', programs.windows_path(new),
            programs.windows_path(place))
        results.check(code == 1 and not text and 'open the pack' in errors and
                      word in errors and not os.path.exists(new),
                      'unpack: no pack: ' + os.path.basename(place),
                      [code, text, errors])
    code, text, errors = support.reader('report',
                                        programs.windows_path(archive))
    results.check(code == 1 and not text and errors, 'a ZIP file is no session',
                  [code, text, errors])


def reader_in(folder, *arguments):
    done = support.watch.run([programs.WINE, programs.READER, *arguments],
                             stdin=subprocess.DEVNULL, cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=support.environment())
    return (done.returncode, support.decode(done.stdout),
            support.decode(done.stderr))


def check_short_name(results, scratch, target):
    """The name of a pack in the directory one is in is a path."""
    folder = os.path.join(scratch, 'short')
    os.makedirs(folder)
    for name in ('busy.tracepack', 'busy'):
        shutil.copy(target, os.path.join(folder, name))
        expected = cached.show(target, ways=cached.WAYS[:1])[0]
        have = reader_in(folder, *cached.WAYS[0], name)
        results.equal(have[:2], expected, 'a short name: ' + name)
    code, _, errors = reader_in(folder, 'unpack', '-o', 'new', 'busy')
    results.check(code == 0 and packs.files_below(os.path.join(folder, 'new')),
                  'a short name: unpack', [errors])

    # Control: of a file that is no pack, the program's sessions are meant.
    cached.write_bytes(os.path.join(folder, 'busy'), b'TRACPACX' + bytes(999))
    code, text, errors = reader_in(folder, 'report', 'busy')
    results.check(code == 1 and not text and 'busy' in errors,
                  'a short name: control', [code, text, errors])


def is_same(data, copy, path, path_of_copy):
    """Byte for byte.  Of what a ring no longer has, nothing is packed."""
    if data == copy:
        return True
    first, place, size = struct.unpack_from('<3Q', data.ljust(4096), 0x0A8)
    return (path.endswith('.trace') and len(data) == len(copy) and size and
            first and data[:4096] == copy[:4096] and
            all(data[at:at + place] == copy[at:at + place] or
                not any(copy[max(at, 4096):at + place])
                for at in range(0, len(data), place)) and
            records(path) == records(path_of_copy))


def check_both(results, scratch, session, what, commands, same=True,
               exports=True):
    """Packs a session, and reads both: (the pack, the names in it)."""
    target = os.path.join(scratch, what + '.tracepack')
    code, text, errors = pack(session, target, '--all-runs')
    results.check(code == 0, what + ': pack', [code, text, errors])
    if code != 0:
        return target, []
    folder = os.path.join(scratch, what + ' unpacked')
    names = unpack(results, target, folder, what)
    if same:
        left, right = packs.files_below(session), packs.files_below(folder)
        for name in sorted(left):
            if name.endswith(('.trace', '.log', '.control')):
                results.check(is_same(left[name], right.get(name, b''),
                                      os.path.join(session, name),
                                      os.path.join(folder, name)),
                              '%s: %s is as it was' % (what, name),
                              [len(left[name]), len(right.get(name, b''))])
    check_reading(results, session, target, what, commands, False)
    if exports:
        check_exports(results, session, target, what, folder=scratch)
    return target, names


SOME = [[command, *form] for form in FORMS for command in (
    'info', 'report', 'tree', 'replay', 'threads', 'modules', 'verify')] + [
    ['report', '--workers', '3'], ['tree', '--workers', '1'],
    ['report', '--general', '--csv']]


def without_clock(session):
    """Times in ticks, so that two runs can be compared."""
    for path in support.stores(session):
        data = bytearray(cached.read_bytes(path))
        data[0x0E0:0x120] = bytes(0x40)
        cached.write_bytes(path, data)
    return session


def check_modes(results, scratch, program):
    """Rings and trees."""
    for what, mode in (
            ('ring', {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'}),
            ('tree', {'TRACER_MODE': 'tree', 'TRACER_MAX_BYTES': '1M'})):
        code, text = support.run(program, 'run', '2', '9000', '0',
                                 directory=os.path.join(scratch, what), **mode)
        results.equal(code, 0, what + ': the program')
        session = without_clock(
            support.sessions(os.path.join(scratch, what))[0])
        target, names = check_both(results, scratch, session, what, SOME,
                                   exports=what == 'ring')
        results.check(what == 'tree' or any(
            any(cached.read_bytes(path)[0x0A8:0x0B0])
            for path in support.stores(session)), 'ring: it came around')
        results.check(len(names) > 2, what + ': stores', names)


def check_processes(results, scratch):
    """Several processes, in folders; --all-runs and the newest run."""
    root = runs.make(os.path.join(scratch, 'runs')).root
    cached.write_bytes(os.path.join(root, 'a-child', 'a.log'), LOG)
    target, names = check_both(
        results, scratch, root, 'processes',
        [[*command, *more] for command in SOME
         for more in ([], ['--all-runs'], ['--process', '301'])])
    results.equal(sorted(name for name in names if '.trace' in name),
                  sorted('root/%s/made-up.exe-7-0.trace' % item[0]
                         for item in runs.MADE), 'processes: names')
    results.check('root/a-child/a.log' in names, 'processes: a log', names)
    code, text, errors = support.reader('report', '--json', '--all-runs',
                                        programs.windows_path(target))
    found = {row['function']: row['calls']
             for row in json.loads(text)['functions']} if code == 0 else {}
    results.equal(found, runs.expected('a', 'b', 'c'), 'processes: calls')

    # One process of them.
    one = os.path.join(scratch, 'process.tracepack')
    code, text, errors = pack(root, one, '--process', '301')
    results.check(code == 0, 'one process', [text, errors])
    names = list(pack_reader.read(one))
    results.equal([name for name in names if name.endswith('.trace')],
                  ['root/c-child/made-up.exe-7-0.trace'],
                  'one process: names')


def check_damage(results, scratch):
    """Stores that are not good are packed as they are."""
    session = os.path.join(scratch, 'damage', 'session')
    os.makedirs(session)
    calls = [record for index in range(3000) for record in (
        (1000 + 100 * index, made.A, made.TOP - 64, made.ENTER),
        (1030 + 100 * index, made.A, made.TOP - 64, made.EXIT))]
    for number, name in enumerate(('good', 'magic', 'short', 'holes',
                                   'records', 'tiny', 'nothing')):
        path = os.path.join(session, name + '.trace')
        made.write(path, calls, at0x1C=struct.pack('<I', 7 + number))
        data = bytearray(cached.read_bytes(path))
        if name == 'magic':
            data[0:8] = b'TRCSTORY'
        elif name == 'short':           # the header says more
            del data[len(data) // 2 + 3:]
        elif name == 'holes':
            for place in range(4096 + 1600, len(data) - 6400, 6400):
                data[place:place + 800] = bytes(800)
        elif name == 'records':
            for place in range(4096 + 1600, len(data), 1600):
                data[place:place + 16] = b'\xff' * 16
        elif name == 'tiny':
            del data[100:]
        elif name == 'nothing':
            data = b''
        cached.write_bytes(path, data)
    _, names = check_both(results, scratch, session, 'damage', SOME)
    results.equal(len([name for name in names if name.endswith('.trace')]), 7,
                  'damage: stores')
    code, _, _ = support.reader('verify', programs.windows_path(session))
    results.equal(code, 2, 'control: verify sees the damage')


def check_empty(results, scratch):
    """A session without records, and one of a store alone."""
    session = os.path.join(scratch, 'empty', 'session')
    os.makedirs(session)
    path = made.write(os.path.join(session, 'made.trace'), [])
    check_both(results, scratch, session, 'empty', SOME, exports=False)
    made.write(path, [(1000, made.A, made.TOP - 64, made.ENTER),
                      (1100, made.A, made.TOP - 64, made.EXIT)])
    target, names = check_both(results, scratch, session, 'two records', SOME)
    alone = os.path.join(scratch, 'alone.tracepack')
    code, text, errors = pack(path, alone)
    results.check(code == 0, 'a store alone', [code, text, errors])
    results.equal(pack_reader.read(alone).get('session/made.trace'),
                  cached.read_bytes(path), 'a store alone: its bytes')
    results.equal(said(alone, '\0', ['report', '--csv']),
                  said(target, '\0', ['report', '--csv']),
                  'a store alone: report')


def check_gaps(results, scratch):
    """What no block has is zero."""
    session = os.path.join(scratch, 'gaps', 'session')
    os.makedirs(session)
    records = [(1000 + 10 * number, made.A if number % 4 < 2 else made.B,
                made.TOP - 64, made.ENTER if number % 2 == 0 else made.EXIT)
               for number in range(200000)]
    path = made.write(os.path.join(session, 'made.trace'), records)
    data = bytearray(cached.read_bytes(path))
    gaps = [(4096 + 160000, 160000), (4096 + 16 * 70000, 1600000)]
    for place, size in gaps:
        data[place:place + size] = bytes(size)
    cached.write_bytes(path, data)
    blocks, at = [], 0
    for place, size in [*gaps, (len(data), 0)]:
        blocks += [(start, packs.stored(
            bytes(data[start:min(place, start + (1 << 20))]), start))
            for start in range(at, place, 1 << 20)]
        at = place + size
    target = os.path.join(scratch, 'gaps.tracepack')
    cached.write_bytes(target, packs.make(
        [('session/made.trace', len(data), blocks)]))
    results.check(len(blocks) == 3 and os.path.getsize(target) <
                  len(data) - 1700000, 'gaps: there are some')
    folder = os.path.join(scratch, 'gaps unpacked')
    unpack(results, target, folder, 'gaps')
    results.check(packs.files_below(folder) == {'made.trace': bytes(data)},
                  'gaps: the file')
    check_reading(results, session, target, 'gaps', SOME, False)


def check_index(results, scratch):
    """An index that is in a pack is used, and changes nothing."""
    session = os.path.join(scratch, 'index', 'session')
    index.one_store(session, 17)
    times = index.times_of(session)
    packed = os.path.join(scratch, 'none.tracepack')
    pack(session, packed)
    results.check(not any(name.endswith('.index')
                          for name in pack_reader.read(packed)),
                  'index: a short store has none')
    support.reader('report', *index.MARKS, programs.windows_path(session))
    target = os.path.join(scratch, 'index.tracepack')
    code, text, errors = pack(session, target)
    results.check(code == 0, 'index: pack', [text, errors])
    names = unpack(results, target, os.path.join(scratch, 'index unpacked'),
                   'index')
    results.check(any(name.endswith('.index') for name in names),
                  'index: it is in the pack', names)
    for form, place in ((['--csv'], 3), ([], 2), (['--json'], 5)):
        options = [*form, '--from', '%dns' %
                   times[len(times) * place // (place + 1)]]
        expected, _ = index.replay(session, '--no-index', *options)
        for path, used in ((target, True), (packed, False)):
            seen, cost = index.replay(path, *index.MARKS, *options)
            results.check(seen == expected and expected[0] == 0 and
                          len(expected[1]) > 1000,
                          'index: replay %s' % options,
                          [seen[0], len(seen[1]), len(expected[1]), seen[2]])
            results.equal(bool(cost and cost[2]), used,
                          'index: %d records are passed by' %
                          (cost[2] if cost else -1))
        seen, cost = index.replay(target, '--no-index', *options)
        results.check(seen == expected and not cost[2], 'index: --no-index')


def has_enough(traces, is_ring):
    """Every thread has some records, or its ring has come around."""
    paths = support.stores(traces)
    if len(paths) != support.BUSY_THREADS:
        return False
    for path in paths:
        with support.LiveStore(path) as store:
            if not store.is_ready():
                return False
            if not (store.get(0x0A8) if is_ring
                    else (store.end() or 0) > 0x10000):
                return False
    return True


def ends_of(session):
    """Where the records of each store end."""
    ends = {}
    for path in support.stores(session):
        with support.LiveStore(path) as store:
            ends[path] = store.end() or 0
    return ends


def check_running(results, scratch, program, mode):
    """A program is packed while it runs: what the pack has was there, in its
    order, and is whole."""
    what = 'running, %s' % (mode.get('TRACER_MODE') or 'file')
    traces = os.path.join(scratch, 'traces-' + what)
    stop = os.path.join(scratch, 'stop-' + what)
    process = support.start(program, 'for', '86400000', '1000000',
                            programs.windows_path(stop), directory=traces,
                            **mode)
    support.wait_for(lambda: has_enough(traces, bool(mode)))
    session = support.sessions(traces)[0]
    target = os.path.join(scratch, what + '.tracepack')
    code, text, errors = pack(session, target)

    # For the control: each store has more than it can have had.
    if not mode:
        before = ends_of(session)
        support.wait_for(lambda: all(end > before.get(path, 0) for path, end
                                     in ends_of(session).items()))
    with open(stop, 'wb'):
        pass
    support.finish(process)
    results.check(code == 0, what, [code, text, errors])
    folder = os.path.join(scratch, what)
    names = unpack(results, target, folder, what)
    code, _, text = support.verify(folder)
    results.check(code == 0, what + ': verify', [code, text])
    total = 0
    for name in names:
        if not name.endswith('.trace'):
            continue
        copy = os.path.join(folder, os.path.basename(name))
        have, bad = records(copy)
        total += len(have)
        results.check(set(bad) <= {'reserved'}, what + ': bad', [bad])
        if not mode:
            whole, _ = records(os.path.join(session, os.path.basename(name)))
            results.check(whole[:len(have)] == have, what + ': a beginning',
                          [name, len(have), len(whole)])
    results.check(total > 1000, what + ': records', [total])
    if mode:
        results.check(any(struct.unpack_from(
            '<Q', cached.read_bytes(path), 0x0A8)[0]
            for path in support.stores(folder)), what + ': came around')
    else:
        results.check(any(len(records(path)[0]) >
                          len(records(os.path.join(
                              folder, os.path.basename(path)))[0])
                          for path in support.stores(session)),
                      what + ': control: more came later')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        session, target = check_pack(results, scratch)
        check_errors(results, scratch, session, target)
        check_refused(results, scratch, session, target)
        check_short_name(results, scratch, target)
        check_processes(results, scratch)
        check_damage(results, scratch)
        check_empty(results, scratch)
        check_gaps(results, scratch)
        check_index(results, scratch)
        program = support.build_busy(os.path.join(scratch, 'busy'))
        check_modes(results, scratch, program)
        check_running(results, scratch, program, {})
        check_running(results, scratch, program,
                      {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'})
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

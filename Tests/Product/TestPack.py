#!/usr/bin/env python3
"""TraceReader pack: a ZIP file that other tools open; unpacked where there is
no image it gives, byte for byte, what the session gave with the image.

Python's zipfile and Info-ZIP's unzip read the pack; the records that must be in
it are read from the stores with trace_reader.py.
"""

import os
import shutil
import struct
import subprocess
import sys
import zipfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestCache as cached                                   # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402
from TestBadInput import mounted                             # noqa: E402

LOG = 'Größe: 1\n'.encode()


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
    """Unpacks with zipfile, which checks each CRC; unzip must agree."""
    with zipfile.ZipFile(path) as file:
        results.equal(file.testzip(), None, what + ': zipfile')
        results.check(all(entry.compress_type == zipfile.ZIP_DEFLATED
                          for entry in file.infolist()),
                      what + ': compressed')
        file.extractall(folder)
        names = file.namelist()
    if shutil.which('unzip'):
        done = subprocess.run(['unzip', '-t', path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        results.check(done.returncode == 0 and b'No errors' in done.stdout,
                      what + ': unzip -t', [done.stdout[-300:]])
    else:
        results.skip('there is no unzip')
    tops = {name.split('/')[0] for name in names}
    results.check(len(tops) == 1 and all(name.count('/') == 1
                                         for name in names),
                  what + ': one folder', names)
    return os.path.join(folder, tops.pop()), names


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

    folder, names = unpack(results, target, os.path.join(scratch, 'there'),
                           'pack')
    results.equal(sorted(map(os.path.basename, names)),
                  sorted([*map(os.path.basename, stores), 'Cached.exe.log',
                          'symbols.cache']), 'pack: what is in it')
    results.equal(cached.read_bytes(os.path.join(folder, 'Cached.exe.log')),
                  LOG, 'pack: the log')
    for path in stores:
        copy = os.path.join(folder, os.path.basename(path))
        size = 4096 + 16 * trace_reader.Store(path).number_of_slots
        results.equal(os.path.getsize(copy), size, 'pack: no room for more')
        results.equal(cached.read_bytes(copy), cached.read_bytes(path)[:size],
                      'pack: header and records')

    # Elsewhere: no image.
    os.rename(image, image + '.gone')
    results.equal(cached.show(folder), expected, 'pack: without the image')
    exports = []
    for number, place in enumerate((session, folder)):
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
    results.check(exports[0] == exports[1] and b'Cached.c' in exports[0],
                  'pack: an export with lines, without the image',
                  [data[:400] for data in exports])
    _, entries = cached.parse(cached.read_bytes(cached.cache_of(folder)))
    os.remove(cached.cache_of(folder))
    control = cached.show(folder)
    results.check(all(have != wanted
                      for have, wanted in zip(control, expected)),
                  'pack: control: without the cache')
    os.rename(image + '.gone', image)
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
    with open(os.path.join(session, 'Noise.log'), 'wb') as file:
        file.write(os.urandom(200000))      # cannot be compressed
    with mounted(os.path.join(scratch, 'small'), 'size=64k') as root:
        if root is None:
            results.skip('a file system cannot be mounted')
            return
        code, _, errors = pack(session, os.path.join(root, 'a.tracepack'))
        results.check(code == 1 and 'write the pack' in errors and
                      'STATUS_DISK_FULL' in errors and
                      not os.listdir(root), 'a full disk',
                      [code, errors, os.listdir(root)])


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
    folder, names = unpack(results, target, os.path.join(scratch, what), what)
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
        program = support.build_busy(os.path.join(scratch, 'busy'))
        check_running(results, scratch, program, {})
        check_running(results, scratch, program,
                      {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'})
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TraceReader sessions --older, --keep, --larger and --remove.

What is there before and after comes from the file system, and which sessions
are meant from the times and sizes that the test gives them.  Beside what must
stay there is always a session that goes.
"""

import csv
import io
import os
import shutil
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as made                                    # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

STORE = 'made-up.exe-7-1.trace'
MINUTE = 60
DAY = 24 * 60 * MINUTE
REMOVE = '--remove'


def write_store(path, age, records=10):
    """A store of a process that is gone and began age seconds ago."""
    start = support.FILETIME_OF_1970 + int((time.time() - age) * 10 ** 7)
    made.write(path, [(index, made.A, 0x1000, made.ENTER)
                      for index in range(records)],
               x020=struct.pack('<Q', start))


def make(folder, name, age, records=10):
    path = os.path.join(folder, name)
    os.makedirs(path)
    write_store(os.path.join(path, STORE), age, records)
    return path


def content(folder):
    """path -> bytes, or what a link leads to, of all that is in a folder."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(above, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, 'rb') as file:
                    found[path] = file.read()
            else:
                found[path] = None
    return found


def size(folder):
    return sum(len(data) for data in content(folder).values() if data)


def sessions(folder, *options):
    """(exit code, directory -> row, what was printed)."""
    code, text, errors = support.reader('sessions', '--csv', *options,
                                        programs.windows_path(folder))
    return code, {row['directory']: row
                  for row in csv.DictReader(io.StringIO(text))}, text + errors


def check_choice(results, scratch):
    """Which sessions an option means."""
    folder = os.path.join(scratch, 'choice')
    ages = {'hour': 61 * MINUTE, 'day': DAY + 60, 'week': 7 * DAY + 60,
            'month': 30 * DAY, 'future': -DAY}
    for name, age in ages.items():
        make(folder, name, age, 3000 if name in ('day', 'month') else 10)
    before = content(folder)
    for options, expected in (
            (['--older', '60m'], 'hour day week month'),
            (['--older', '2h'], 'day week month'),
            (['--older=1d'], 'day week month'),
            (['--older', '1w'], 'week month'),
            (['--older', '5w'], ''),
            (['--older', '0m'], 'hour day week month'),
            (['--keep', '0'], 'hour day week month future'),
            (['--keep', '2'], 'day week month'),
            (['--keep', '5'], ''),
            (['--keep', '18446744073709551615'], ''),
            (['--larger', '40K'], 'day month'),
            (['--larger', '%d' % (4096 + 160)], 'day month'),
            (['--larger', '%d' % (4096 + 159)],
             'hour day week month future'),
            (['--keep', '3', '--larger', '40K'], 'month'),
            (['--older', '2d', '--keep', '1', '--larger', '0'],
             'week month')):
        code, rows, told = sessions(folder, *options)
        results.check(
            code == 0 and set(rows) == set(expected.split()) and
            all(row['removal'] == 'would go' and not row['reason'] and
                int(row['removal_bytes']) == size(os.path.join(folder, name))
                for name, row in rows.items()),
            'choice: %s' % ' '.join(options), [expected, told])
    code, rows, told = sessions(folder)
    results.check(code == 0 and len(rows) == len(ages) and
                  not any(row['removal'] for row in rows.values()),
                  'choice: control: none of the options', [told])
    for options, expected in (
            ([REMOVE], '--remove needs --older, --keep or --larger'),
            (['--older', '7'], 'bad value "7" for --older'),
            (['--older', 'd', REMOVE], 'bad value "d" for --older'),
            (['--older', '-1d', REMOVE], 'bad value "-1d" for --older'),
            (['--older', '1.5d', REMOVE], 'bad value "1.5d" for --older'),
            (['--older', '99999999999999999999w', REMOVE], 'bad value'),
            (['--older', '30500568904944w', REMOVE], 'bad value'),
            (['--keep', '-1', REMOVE], 'bad value "-1" for --keep'),
            (['--larger', 'x', REMOVE], 'bad value "x" for --larger')):
        code, _, told = sessions(folder, *options)
        results.check(code == 1 and expected in told,
                      'choice: refused: %s' % ' '.join(options), [told])
    results.check(content(folder) == before, 'choice: nothing is touched')

    gone = sum(size(os.path.join(folder, name)) for name in ('week', 'month'))
    code, text, errors = support.reader(
        'sessions', '--older', '2d', REMOVE, programs.windows_path(folder))
    results.check(
        code == 0 and not errors and
        text.endswith('\n2 sessions are removed, %d bytes.\n' % gone),
        'choice: what is said', [text, errors])
    results.equal(sorted(os.listdir(folder)), ['day', 'future', 'hour'],
                  'choice: what is left')
    kept = {path: data for path, data in before.items()
            if path.split(os.sep)[len(folder.split(os.sep))]
            in ('day', 'future', 'hour')}
    results.check(content(folder) == kept, 'choice: it is as it was')


def log(module):
    return ('2026-11-26 08:40:17.123Z Tracer: %s (process 4, thread 8): '
            'reading: "a": bad; none\r\n' % module).encode()


LOG = log('made-up.exe')
CUT = 'ä' + 'x' * 199


def check_foreign_logs(results, scratch):
    """Whose logs are shown: those that have the library's first line."""
    path = make(os.path.join(scratch, 'logs'), 'session', DAY)
    lines = {}
    for name, data in {'made-up.exe.log': LOG,
                       CUT + '.log': log(CUT + 'more'),
                       **FOREIGN}.items():
        with open(os.path.join(path, name), 'wb') as file:
            file.write(data)
        lines[name] = data.decode().split('\r\n')[0]
    _, text, _ = support.reader('info', programs.windows_path(path))
    for name, line in lines.items():
        results.equal(line in text, name not in FOREIGN,
                      'logs: info shows: %s' % name)
    code, rows, told = sessions(os.path.dirname(path), '--keep', '0', REMOVE)
    results.check(code == 0 and rows['session']['removal'] == 'stays' and
                  len(os.listdir(path)) == len(lines) + 1,
                  'logs: all stays', [told])
    for name in FOREIGN:
        os.remove(os.path.join(path, name))
    code, rows, told = sessions(os.path.dirname(path), '--keep', '0', REMOVE)
    results.check(code == 0 and rows['session']['removal'] == 'removed' and
                  not os.path.exists(path), 'logs: control: its own', [told])


# What somebody else has put there.
FOREIGN = {
    'server.log': b'12:00 started',
    'notes.exe.log': b'2026-11-26 08:40:17.123Z Server: notes.exe (process ',
    'renamed.exe.log': LOG.replace(b'none', b'renamed'),
    'made-up.log': LOG.replace(b'none', b'shorter'),
    'made-up.exe2.log': LOG.replace(b'none', b'longer'),
    'letters.exe.log': log('letters.exe').replace(b'2026', b'year'),
}


def check_own_files(results, scratch):
    """All that the library and TraceReader leave in a session goes with it."""
    folder = os.path.join(scratch, 'own')
    path = make(folder, 'whole', DAY)
    for name in ('made-up.exe.log', 'symbols.cache', 'symbols.cache.new',
                 'made-up.exe-1-0.trace.levels',
                 'made-up.exe-1-0.trace.levels.tmp',
                 'session.control', STORE + '.index', 'EMPTY.TRACE',
                 'empty.exe.log', 'cut.exe.log', CUT + '.log'):
        with open(os.path.join(path, name), 'wb') as file:
            file.write({'made-up.exe.log': LOG + b'more\n',
                        'cut.exe.log': log('cut.exe')[:30],
                        CUT + '.log': log(CUT + 'longer'),
                        'empty.exe.log': b'', 'EMPTY.TRACE': b''}.get(
                            name, b'text'))
    with open(os.path.join(path, 'made-up.exe-8-2.trace'), 'wb') as file:
        file.write(bytes(4096))
    expected = str(size(path))
    code, rows, told = sessions(folder, '--keep', '0', REMOVE)
    results.check(code == 0 and
                  rows['whole']['removal'] == 'removed' and
                  rows['whole']['removal_bytes'] == expected and
                  os.listdir(folder) == [],
                  'own files: they go', [told])


def spoil(folder, outside):
    """Directories that must stay: name -> what the reason begins with."""
    def put(name, file, data=b'text'):
        with open(os.path.join(make(folder, name, DAY), file), 'wb') as target:
            target.write(data)

    expected = {}
    for number, file in enumerate((
            'notes.txt', 'symbols.cache.old', 'xsession.control', 'trace',
            'a.trace.idx', '.trace.index.bak', 'a.trace.levels.old')):
        put('other%d' % number, file)
        expected['other%d' % number] = file + ': it is no file of a session'
    for number, (file, data) in enumerate(FOREIGN.items()):
        put('log%d' % number, file, data)
        expected['log%d' % number] = file + ': it is no log of the library'
    put('strange', 'strace.trace', b'execve("/bin/true")')
    expected['strange'] = 'strace.trace: it is no trace store'

    os.mkdir(os.path.join(make(folder, 'deep', DAY), 'below.trace'))
    expected['deep'] = 'below.trace: it is a directory'
    make(os.path.join(folder, 'session'), 'session', DAY)
    write_store(os.path.join(folder, 'session', STORE), DAY)
    expected['session'] = 'session: it is a directory'

    os.rename(make(folder, 'linked', DAY), os.path.join(outside, 'linked'))
    os.symlink(os.path.join(outside, 'linked'),
               os.path.join(folder, 'linked'))
    expected['linked'] = 'it is a link'
    for name in ('b.trace', 'cache.log'):
        write_store(os.path.join(outside, name), DAY)
    path = make(folder, 'toStore', DAY)
    shutil.copy(os.path.join(path, STORE), os.path.join(outside, 'b.trace'))
    os.symlink(os.path.join(outside, 'b.trace'), os.path.join(path, 'b.trace'))
    expected['toStore'] = 'b.trace: it is a link'
    os.symlink(os.path.join(outside, 'cache.log'),
               os.path.join(make(folder, 'toLog', DAY), 'cache.log'))
    expected['toLog'] = 'cache.log: it is a link'
    os.symlink(outside, os.path.join(make(folder, 'toFolder', DAY), 'b.log'))
    expected['toFolder'] = 'b.log: it is a link'
    os.symlink(STORE, os.path.join(make(folder, 'beside', DAY), 'b.trace'))
    expected['beside'] = 'b.trace: it is a link'

    os.chmod(os.path.join(make(folder, 'fixed', DAY), STORE), 0o444)
    expected['fixed'] = STORE + ': it is read-only'
    write_store(os.path.join(make(folder, 'mixed', DAY), 'b.trace'), DAY + 5)
    expected['mixed'] = 'it has stores of another process'
    os.mkdir(os.path.join(folder, 'damaged'))
    with open(os.path.join(folder, 'damaged', STORE), 'wb') as file:
        file.write(b'TRCSTORE' + bytes(5000))
    expected['damaged'] = 'no store of it can be read'
    return expected


def check_hostile(results, scratch):
    """What stays, and that nothing of it or elsewhere is touched."""
    folder = os.path.join(scratch, 'hostile')
    outside = os.path.join(scratch, 'outside')
    os.mkdir(outside)
    make(folder, 'good', DAY)
    expected = spoil(folder, outside)
    os.mkdir(os.path.join(folder, 'empty'))
    os.mkdir(os.path.join(folder, 'pictures'))
    with open(os.path.join(folder, 'pictures', 'a.log'), 'wb') as file:
        file.write(b'no session')
    with open(os.path.join(folder, 'x.log'), 'wb') as file:
        file.write(b'no session')
    good = os.path.join(folder, 'good')
    before = content(folder)
    elsewhere = content(outside)
    for options, removal in (([], 'would go'), ([REMOVE], 'removed')):
        code, rows, told = sessions(folder, '--keep', '0', *options)
        results.check(code == 0 and set(rows) == {'good', *expected} and
                      rows['good']['removal'] == removal,
                      'hostile: %s' % removal, [told])
        for name, reason in expected.items():
            row = rows.get(name)
            results.check(row and row['removal'] == 'stays' and
                          not row['removal_bytes'] and
                          row['reason'].startswith(reason),
                          'hostile: %s stays' % name, [row])
        results.equal(os.path.isdir(good), not options, 'hostile: the good')
    left = {path: data for path, data in before.items()
            if not path.startswith(good)}
    results.check(content(folder) == left and content(outside) == elsewhere,
                  'hostile: nothing else is touched',
                  set(left) ^ set(content(folder)))

    # The directory itself is a session.
    path = make(scratch, 'itself', DAY)
    code, rows, told = sessions(path, '--keep', '0', REMOVE)
    results.check(code == 0 and rows['.']['removal'] == 'stays' and
                  'the directory that was given' in rows['.']['reason'] and
                  os.listdir(path) == [STORE],
                  'hostile: the directory itself', [told])
    code, text, errors = support.reader('sessions', '--keep', '0',
                                        programs.windows_path(path))
    results.check(code == 0 and
                  '\n. stays: it is the directory that was given' in text and
                  text.endswith('\n0 sessions would go, 0 bytes; 1 stays.\n'),
                  'hostile: what is said', [text, errors])


def check_failure(results, scratch):
    """A link to nothing, which Wine does not list: a step fails, and what is
    not a session's is there."""
    folder = os.path.join(scratch, 'failure')
    path = make(folder, 'bad', DAY)
    make(folder, 'good', DAY)
    os.symlink(os.path.join(scratch, 'nothing'), os.path.join(path, 'b.trace'))
    code, rows, told = sessions(folder, '--keep', '0', REMOVE)
    results.check(code == 1 and rows['good']['removal'] == 'removed' and
                  rows['bad']['removal'] == 'stays' and
                  ': 0xC0000' in rows['bad']['reason'] and
                  os.listdir(folder) == ['bad'] and
                  os.path.islink(os.path.join(path, 'b.trace')),
                  'failure: exit code 1', [code, told])


def check_live(results, scratch):
    """A session that is being recorded stays, until it is not any more."""
    folder = os.path.join(scratch, 'live')
    program = support.build_busy(os.path.join(scratch, 'busy'))
    make(folder, 'good', DAY)
    go_on = os.path.join(scratch, 'go-on')
    process = support.start(program, 'run', '1', '128', '1',
                            programs.windows_path(go_on), directory=folder)
    try:
        live = support.wait_for(lambda: [
            path for path in support.stores(folder)
            if 'good' not in path and support.slots(path)])
        if not results.check(live, 'live: it has begun'):
            return
        name = os.path.basename(os.path.dirname(live[0]))
        code, rows, told = sessions(folder, '--keep', '0', REMOVE)
        results.check(code == 0 and rows['good']['removal'] == 'removed' and
                      rows[name]['removal'] == 'stays' and
                      rows[name]['reason'].startswith('it is being recorded'),
                      'live: it stays', [told])
        results.equal(os.listdir(folder), [name], 'live: the other goes')
        results.check(os.path.exists(live[0]), 'live: its store is there')
    finally:
        with open(go_on, 'wb'):
            pass
        code, told = support.finish(process)
    results.check(support.has_ended(code), 'live: the program', [code, told])
    support.wait_unmapped(folder)
    code, rows, told = sessions(folder, '--keep', '0', REMOVE)
    results.check(code == 0 and rows[name]['removal'] == 'removed' and
                  os.listdir(folder) == [],
                  'live: control: it goes when its process is gone', [told])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_choice(results, scratch)
        check_own_files(results, scratch)
        check_foreign_logs(results, scratch)
        check_hostile(results, scratch)
        check_failure(results, scratch)
        check_live(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Several processes: a program that starts children, which start others, all
in different folders, and made-up processes.

What there must be comes from the program itself, which counts its calls, from
trace_reader.py, which reads each store by itself, and from TraceReader's
reports of each session by itself.
"""
# Takes long.

import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

FOLDERS = ('one', 'two', 'one/deep', 'two/deep')
COUNTED = 'Work', 'Leaf', 'RunChild'
SUMMED = ('calls', 'total_ticks', 'self_ticks', 'abandoned',
          'abandoned_time_ticks', 'unfinished')
SECOND = 10 ** 7            # in units of system time, and in counts
HOUR = 3600

Told = collections.namedtuple('Told', 'parent level work leaf children base')


def reader_json(results, *arguments):
    code, text, errors = support.reader(*arguments[:-1], '--json',
                                        programs.windows_path(arguments[-1]))
    if not results.check(code == 0 and text[:1] == '{',
                         'TraceReader %s' % (arguments[:-1],),
                         [code, errors]):
        return collections.defaultdict(list)
    return json.loads(text)


def counts(rows, field='calls'):
    return {row['function']: row[field] for row in rows}


def without_anchors(directory, copy):
    """The sessions without anchors: all times are then in ticks."""
    shutil.copytree(directory, copy)
    for path in support.stores(copy):
        with open(path, 'r+b') as file:
            file.seek(0x0E0)
            file.write(bytes(0x40))
    return copy


#
# The program.
#

def run_program(results, scratch, program, name, directory=None, user=None,
                **variables):
    """Runs it in a folder of its own: (process -> Told, the folder).  user is
    its user's LOCALAPPDATA."""
    folder = os.path.join(scratch, name, 'run')
    for below in FOLDERS:
        os.makedirs(os.path.join(folder, below))
    told = os.path.join(scratch, name, 'told.txt')
    command = [program, '0', '10', '0']
    if user is not None:
        command = support.with_user_directory(user, *command)
        variables.setdefault('TRACER_BASE_DIRECTORY', '')
    code, _ = support.run(
        *command, directory=directory, cwd=folder,
        leaves=[folder, os.path.dirname(told)],
        PROCESSES_FILE=programs.windows_path(told), **variables)
    results.equal(code, 0, name + ': exit code')
    found = {}
    with open(told, encoding='utf-8') as file:
        for line in file:
            words = line.rstrip('\n').split(' ', 6)
            found[int(words[0])] = Told(*map(int, words[1:6]), words[6])
    results.equal(sorted(each.level for each in found.values()),
                  [0, 1, 1, 2, 2], name + ': five processes')
    return found, folder


def read_stores(directory):
    """process -> its session's path, and (process, thread, ticks) of all
    records."""
    sessions, records = {}, []
    for path in support.stores(directory):
        store = trace_reader.Store(path)
        with open(path, 'rb') as file:
            process = struct.unpack_from('<I', file.read(0x20), 0x18)[0]
        sessions[process] = os.path.dirname(path)
        for record in store.records():
            records.append((process, store.ThreadId, record[0]))
    return sessions, records


def check_where(results, scratch, program):
    """Where the sessions go, and what the program sees of that."""
    runs = {}
    traces = os.path.join(scratch, 'traces')
    user = os.path.join(scratch, 'user')
    for name, directory, variables, above, base in (
            ('absolute', traces, {}, lambda folder: traces, '-'),
            ('user', None, {'user': user},
             lambda folder: os.path.join(user, 'Tracer'), '-'),
            ('unset', None, {'user': ''}, lambda folder: folder, 'run'),
            ('relative', None, {'TRACER_DIRECTORY': 'a\\b'},
             lambda folder: os.path.join(folder, 'a', 'b'), 'run\\a\\b')):
        told, folder = run_program(results, scratch, program, name, directory,
                                   **variables)
        place = above(folder)
        sessions, records = read_stores(place)
        results.equal(sorted(sessions), sorted(told),
                      name + ': all processes in one directory')
        results.equal({os.path.dirname(path) for path in sessions.values()},
                      {place}, name + ': it is the right one')
        seen = {each.base for each in told.values()}
        if base == '-':
            results.equal(seen, {'-'}, name + ': no variable is set')
        else:
            results.equal(seen, {programs.windows_path(place)},
                          name + ': TRACER_BASE_DIRECTORY')
        runs[name] = told, place, sessions, records

    # What was set from outside counts, but an absolute directory more.
    other = os.path.join(scratch, 'other')
    for name, variables, expected in (
            ('base', {'TRACER_DIRECTORY': 'x'}, other),
            ('base, absolute', {'TRACER_DIRECTORY':
                                programs.windows_path(other + '2')},
             other + '2'),
            ('base, bad', {'TRACER_BASE_DIRECTORY': 'c:nothing',
                           'user': ''}, None)):
        variables = {'TRACER_BASE_DIRECTORY': programs.windows_path(other),
                     **variables}
        told, folder = run_program(results, scratch, program, name,
                                   **variables)
        results.equal(sorted(read_stores(expected or folder)[0]),
                      sorted(told), name + ': where the sessions are')

    # Controls: a library that is off sets nothing, and without the variable
    # each process goes its own way.
    told, folder = run_program(results, scratch, program, 'off', user='',
                               TRACER_ENABLED='0')
    results.equal(({each.base for each in told.values()},
                   support.stores(folder)), ({'-'}, []), 'off: nothing')
    return runs['unset']


def check_sessions(results, told, place):
    rows = reader_json(results, 'sessions', place)['sessions']
    results.equal(sorted(row['process_id'] for row in rows), sorted(told),
                  'sessions: processes')
    order = [row['process_id'] for row in rows]
    for row in rows:
        known = told[row['process_id']]
        if known.level:
            results.equal(row['parent_id'], known.parent, 'sessions: parent')
            results.check(order.index(known.parent) <
                          order.index(row['process_id']),
                          'sessions: a child after its parent', order)
    results.check({(row['state'], row['boot'], row['process'],
                    row['threads'], row['stores_left_out'])
                   for row in rows} == {('closed', 1, 'Processes.exe', 1, 0)},
                  'sessions: what they say', rows)
    levels = [told[process].level for process in order]
    results.equal(levels, [0, 1, 2, 1, 2], 'sessions: a tree')
    code, text, _ = support.reader('sessions', programs.windows_path(place))
    lines = [line.index('Processes.exe') for line in text.splitlines()[1:6]]
    results.equal([place - lines[0] for place in lines], [0, 2, 4, 2, 4],
                  'sessions: indented')
    results.check(code == 0 and '2 directories have no stores.' in text and
                  'Boot' not in text, 'sessions: text', [text])


def check_reports(results, told, sessions, place, ticks):
    """Sums are the sums of single reports; by process they are these."""
    single = {}
    for process, path in sessions.items():
        rows = reader_json(results, 'report',
                           os.path.join(ticks, os.path.basename(path)))
        single[process] = rows['functions']
        seen, known = counts(rows['functions']), told[process]
        results.equal([seen.get(name, 0) for name in COUNTED],
                      [known.work, known.leaf, known.children],
                      'what the program counted')
    names = {name for rows in single.values() for name in counts(rows)}
    whole = reader_json(results, 'report', ticks)['functions']
    results.check(all('process' not in row for row in whole),
                  'report: no processes')
    for field in SUMMED:
        expected = collections.Counter()
        for rows in single.values():
            expected.update(counts(rows, field))
        results.equal(counts(whole, field),
                      {name: expected[name] for name in names},
                      'report: the sum of ' + field)
    results.equal(max(row['max_ticks'] for row in whole),
                  max(row['max_ticks'] for rows in single.values()
                      for row in rows), 'report: the largest')

    parts = collections.defaultdict(list)
    for row in reader_json(results, 'report', '--by', 'process',
                           ticks)['functions']:
        process = row.pop('process_id')
        results.check(row.pop('process') == 'Processes.exe',
                      'report --by process: name')
        parts[process].append(row)
    results.equal(dict(parts), single, 'report --by process: each by itself')
    results.check(len({json.dumps(rows) for rows in single.values()}) == 5,
                  'control: they differ')
    ordered = sorted(told, key=lambda process: os.path.basename(
        sessions[process]).split('-', 2)[2])
    results.equal(list(parts), ordered, 'report --by process: in order')

    one = ordered[2]
    results.equal(reader_json(results, 'report', '--process', str(one),
                              ticks)['functions'], single[one],
                  'report --process PID')
    results.equal(reader_json(results, 'report', '--process', 'pRoc',
                              ticks)['functions'], whole,
                  'report --process NAME')
    results.equal(reader_json(results, 'report', '--by', 'process',
                              '--workers', '3', '--general',
                              ticks)['functions'],
                  [dict(row, process_id=process, process='Processes.exe')
                   for process in ordered for row in single[process]],
                  'report --by process: the other way')
    # Modules of each process, as each by itself; in both orders of words.
    modules = {process: reader_json(results, 'report', '--by', 'module',
                                    '--process', str(process),
                                    ticks)['modules']
               for process in ordered}
    results.check(all(modules.values()) and
                  len({json.dumps(rows) for rows in modules.values()}) == 5,
                  'control: modules differ')
    for words in (('process,module',), ('module,process',),
                  ('process,module', '--general', '--workers', '3')):
        parts = collections.defaultdict(list)
        for row in reader_json(results, 'report', '--by', *words,
                               ticks)['modules']:
            process = row.pop('process_id')
            results.check(row.pop('process') == 'Processes.exe',
                          'report --by %s: name' % words[0])
            parts[process].append(row)
        results.equal((list(parts), dict(parts)), (ordered, modules),
                      'report --by %s' % (words,))
    text = support.reader('report', '--by', 'process,module',
                          programs.windows_path(place))[1].splitlines()
    results.equal([line for line in text if line.startswith('Process ')],
                  ['Process %d: Processes.exe' % process
                   for process in ordered],
                  'report --by process,module: sections')
    whole_modules = reader_json(results, 'report', '--by', 'module',
                                ticks)['modules']
    results.check(all('process_id' not in row or row['process_id'] is None
                      for row in whole_modules) and
                  sum(row['calls'] for row in whole_modules) ==
                  sum(row['calls'] for rows in modules.values()
                      for row in rows), 'report --by module: the sum')
    for value in '9999', 'nobody.exe':
        code, text, errors = support.reader(
            'report', '--process', value, programs.windows_path(place))
        results.check(code == 1 and not text and
                      'find a process that --process selects' in errors,
                      '--process %s' % value, [code, errors])
    text = support.reader('report', '--by', 'process', '--limit', '1',
                          programs.windows_path(place))[1].splitlines()
    results.equal([line for line in text if line.startswith('Process ')],
                  ['Process %d: Processes.exe' % process
                   for process in ordered], 'report --by process: sections')
    text = support.reader('report', programs.windows_path(place))[1]
    results.check('Sums over 5 processes' in text, 'report: sums', [text])
    code, _, errors = support.reader('report', '--by', 'thread',
                                     programs.windows_path(place))
    results.check(code == 1 and 'it takes process' in errors, '--by thread',
                  [code, errors])


def check_clock(results, told, records, place, ticks):
    """One clock: replay has every record of every process at its time, and a
    child's lie where its parent waited for it."""
    first = min(stamp for _, _, stamp in records)
    rows = reader_json(results, 'replay', ticks)['events']
    results.equal(
        sorted((row['process_id'], row['thread_id'], row['time_ticks'])
               for row in rows),
        sorted((process, thread, stamp - first)
               for process, thread, stamp in records),
        'replay: all records of all processes')
    results.check(all(left['time_ticks'] <= right['time_ticks']
                      for left, right in zip(rows, rows[1:])),
                  'replay: in order')
    waits, spans = collections.defaultdict(list), {}
    for row in rows:
        process, stamp = row['process_id'], row['time_ticks']
        if row['function'] == 'RunChild':
            waits[process].append(stamp)
        begin, _ = spans.get(process, (stamp, stamp))
        spans[process] = begin, stamp
    for process, known in told.items():
        if known.level == 0:
            continue
        around = [begin <= spans[process][0] and spans[process][1] <= end
                  for begin, end in zip(waits[known.parent][::2],
                                        waits[known.parent][1::2])]
        results.equal((around.count(True), len(around)),
                      (1, 3 - known.level),
                      'a child runs while its parent waits for it')

    # Control: in a session by itself time begins with its own first record.
    child = max(told, key=lambda process: spans[process][0])
    rows = reader_json(results, 'replay', '--process', str(child),
                       ticks)['events']
    results.check(rows[0]['time_ticks'] == 0 and
                  'process_id' not in rows[0] and spans[child][0] > 0,
                  'control: one process by itself')


def check_others(results, told, place, scratch):
    """Commands that show threads show their processes."""
    data = reader_json(results, 'threads', place)['threads']
    results.equal(sorted(row['process_id'] for row in data), sorted(told),
                  'threads')
    data = reader_json(results, 'info', place)
    results.equal((data['session'][0]['processes'],
                   [(row['process_id'], row['threads'], row['state'])
                    for row in data['processes']],
                   sorted(row['process_id'] for row in data['threads'])),
                  (5, [(process['process_id'], 1, 'closed') for process in
                       sorted(data['processes'],
                              key=lambda row: row['start_time'])],
                   sorted(told)), 'info')
    data = reader_json(results, 'tree', '--per-thread', place)['nodes']
    seen = collections.Counter()
    for row in data:
        if row['function'] == 'Leaf':
            seen[row['process_id']] += row['calls']
    results.equal(seen, {process: known.leaf for process, known in
                         told.items()}, 'tree --per-thread')
    data = reader_json(results, 'tree', place)['nodes']
    results.equal([row['calls'] for row in data if row['function'] == 'Leaf'],
                  [sum(known.leaf for known in told.values())], 'tree: merged')
    data = reader_json(results, 'modules', place)['modules']
    results.equal([(row['module'], row['stores']) for row in data],
                  [('Processes.exe', 5)], 'modules: one image is one module')
    data = reader_json(results, 'outliers', 'RunChild', place)['calls']
    results.equal(sorted(row['process_id'] for row in data),
                  sorted(2 * [process for process in told if
                              told[process].level == 0] +
                         [process for process in told if
                          told[process].level == 1]), 'outliers')

    file = os.path.join(scratch, 'trace.json')
    code, _, errors = support.reader(
        'export', '--format', 'chrome', '-o', programs.windows_path(file),
        programs.windows_path(place))
    results.check(code == 0, 'export', [errors])
    with open(file, encoding='utf-8') as opened:
        events = json.load(opened)['traceEvents']
    seen, names = collections.Counter(), {}
    for event in events:
        if event['ph'] == 'B' and event['name'] == 'Leaf':
            seen[event['pid']] += 1
        elif event['name'] == 'process_name':
            names[event['pid']] = event['args']['name']
    results.equal(seen, {process: known.leaf for process, known in
                         told.items()}, 'export chrome: calls by process')
    results.equal(names, dict.fromkeys(told, 'Processes.exe'),
                  'export chrome: names')

    pack = os.path.join(scratch, 'all.tracepack')
    code, _, errors = support.reader('pack', '-o', programs.windows_path(pack),
                                     programs.windows_path(place))
    results.check(code == 0, 'pack', [errors])
    unpacked = os.path.join(scratch, 'unpacked')
    code, text, errors = support.reader('unpack', '-o',
                                        programs.windows_path(unpacked),
                                        programs.windows_path(pack))
    results.check(code == 0, 'unpack', [text, errors])
    expected = counts(reader_json(results, 'report', place)['functions'])
    for path in (unpacked, pack):
        results.equal(counts(reader_json(results, 'report', path)['functions']),
                      expected, 'pack: report')
    results.equal(sorted(name for name in os.listdir(unpacked)
                         if os.path.isdir(os.path.join(unpacked, name))),
                  sorted({os.path.basename(os.path.dirname(path))
                          for path in support.stores(place)}),
                  'unpack: folders')
    code, text, _ = support.reader('verify', programs.windows_path(pack))
    results.check(code == 0 and '5 stores' in text, 'verify a pack', [text])
    code, text, _ = support.reader('verify', programs.windows_path(place))
    results.check(code == 0 and '5 stores' in text, 'verify', [text])
    code, _, errors = support.reader(
        'recover', '-o', programs.windows_path(os.path.join(scratch, 'new')),
        programs.windows_path(place))
    results.check(code == 1 and 'several processes' in errors and
                  not os.path.exists(os.path.join(scratch, 'new')), 'recover',
                  [errors])


#
# Made-up processes.
#

NAMES = ['Alpha', 'Beta', 'Gamma']


def anchor(tsc, qpc, when):
    return struct.pack('<4Q', tsc, qpc, when, tsc ^ qpc ^ when)


def calls(function, number, begin, length=10):
    """Records of so many calls of a function."""
    place = filters.FIRST + function * filters.STEP
    return [record for index in range(number)
            for record in (
                (begin + 100 * index, place, made.TOP - 64, made.ENTER),
                (begin + 100 * index + length, place + 9, made.TOP - 64,
                 made.EXIT))]


class Root:
    """A directory of made-up sessions."""

    def __init__(self, path):
        self.path = path
        self.root = os.path.join(path, 'root')
        os.makedirs(self.root)
        self.image = os.path.join(path, 'made-up.exe')
        data, self.size = filters.image(NAMES)
        with open(self.image, 'wb') as file:
            file.write(data)

    def add(self, name, process, records, thread=7, created=0, base=made.BASE,
            boot=0, uptime=0, parent=0, stamp=0x12345678, guid=b''):
        """A session of one store.  boot is when the machine was booted,
        uptime how long that was ago, both in seconds."""
        folder = os.path.join(self.root, name)
        os.makedirs(folder, exist_ok=True)
        path = programs.windows_path(self.image).encode()
        when = 133_000_000_000_000_000 + (boot + uptime) * SECOND
        tsc, qpc = 1000 + uptime * 10 ** 9, 500 + uptime * SECOND
        return made.write(
            os.path.join(folder, 'made-up.exe-%d-0.trace' % thread),
            [(time, place, rsp, kind) if base == made.BASE else
             struct.pack('<QII', time, (base + place) & 0xFFFFFFFF,
                         rsp & 0xFFFFFFF8 | kind)
             for time, place, rsp, kind in records],
            at0x18=struct.pack('<IIQ', process, thread, 10 ** 17 + created),
            at0xE0=anchor(tsc, qpc, when),
            at0x100=anchor(tsc + 10 ** 10, qpc + 10 * SECOND,
                           when + 10 * SECOND),
            at0x120=struct.pack('<QII', base, self.size, stamp),
            at0x138=guid,
            at0x148=struct.pack('<4I', *(4 * [len(path)])),
            at0x1F0=struct.pack('<I', parent),
            at0x200=path, at0x620=path)


def by_process(results, root):
    """(process, function) -> calls."""
    found = {}
    for row in reader_json(results, 'report', '--by', 'process',
                           '--all-runs', root)['functions']:
        key = row['process_id'], row['function']
        found[key] = found.get(key, 0) + row['calls']
    return found


def check_same_thread(results, scratch):
    """The same thread, and the same process, twice."""
    root = Root(os.path.join(scratch, 'same'))
    root.add('a', 100, calls(0, 5, 1000) + calls(1, 3, 5000))
    root.add('b', 200, calls(0, 7, 1050), created=5, base=made.BASE + 0x7000)
    root.add('c', 200, calls(1, 11, 9000), created=9, parent=100)

    # A call that lies around the others: threads that were one would pair it
    # with those.
    results.equal(counts(reader_json(results, 'report', '--all-runs',
                                     root.root)['functions']),
                  {'Alpha': 12, 'Beta': 14}, 'same thread: sums')
    rows = reader_json(results, 'threads', '--all-runs',
                       root.root)['threads']
    results.equal(sorted((row['process_id'], row['thread_id'], row['calls'])
                         for row in rows),
                  [(100, 7, 8), (200, 7, 7), (200, 7, 11)],
                  'same thread: it is three')
    rows = reader_json(results, 'report', '--by', 'process',
                       '--all-runs', root.root)['functions']
    results.equal([(row['process_id'], row['function'], row['calls'])
                   for row in sorted(rows, key=lambda row: (
                       row['process_id'], row['calls']))],
                  [(100, 'Beta', 3), (100, 'Alpha', 5), (200, 'Alpha', 7),
                   (200, 'Beta', 11)],
                  'a process identifier that came twice')
    rows = reader_json(results, 'modules', '--all-runs',
                       root.root)['modules']
    results.equal(len(rows), 1, 'one image at two bases')
    rows = reader_json(results, 'sessions', root.root)['sessions']
    results.equal([(row['directory'], row['parent_id']) for row in rows],
                  [('a', None), ('c', 100), ('b', None)],
                  'sessions: behind the parent')
    file = os.path.join(scratch, 'same.json')
    support.reader('export', '--all-runs', '--format', 'chrome', '-o',
                   programs.windows_path(file),
                   programs.windows_path(root.root))
    with open(file, encoding='utf-8') as opened:
        events = json.load(opened)['traceEvents']
    seen = collections.Counter((event['pid'], event['name'])
                               for event in events if event['ph'] == 'B')
    results.equal(sorted(seen.values()), [3, 5, 7, 11],
                  'export: three processes')
    results.check(len({pid for pid, _ in seen}) == 3 and
                  (100, 'Alpha') in seen and (200, 'Alpha') in seen,
                  'export: their numbers', [seen])

    # Another build of the image is another module.
    root.add('d', 300, calls(0, 2, 100), created=20, stamp=0x77)
    root.add('e', 301, calls(0, 2, 100), created=21, guid=b'another guid 456')
    rows = reader_json(results, 'modules', '--all-runs',
                       root.root)['modules']
    results.equal(sorted(row['stores'] for row in rows), [1, 1, 3],
                  'other builds')


def check_boots(results, scratch):
    root = Root(os.path.join(scratch, 'boots'))
    root.add('a', 100, calls(0, 5, 1000), uptime=50)
    root.add('b', 200, calls(0, 6, 2000), uptime=50 + HOUR, created=1)
    results.equal(by_process(results, root.root),
                  {(100, 'Alpha'): 5, (200, 'Alpha'): 6}, 'one boot')

    # Up for as long as the first one was, but an hour later.
    root.add('c', 300, calls(0, 7, 3000), boot=HOUR, uptime=52, created=2)
    root.add('d', 400, calls(0, 8, 3000), boot=HOUR, uptime=53, created=3,
             parent=200)
    for command in 'report', 'threads', 'live':
        code, text, errors = support.reader(
            command, '--all-runs', programs.windows_path(root.root))
        results.check(code == 1 and not text and
                      'different boots' in errors and
                      '--process' in errors, 'two boots: ' + command,
                      [code, errors])
    results.equal(counts(reader_json(results, 'report', '--process', '300',
                                     root.root)['functions']), {'Alpha': 7},
                  'two boots: --process')

    # The newest run: its parent's identifier is one of the other boot.
    results.equal(counts(reader_json(results, 'report',
                                     root.root)['functions']), {'Alpha': 8},
                  'two boots: the newest run')
    rows = reader_json(results, 'sessions', root.root)['sessions']
    results.equal([(row['process_id'], row['boot']) for row in rows],
                  [(100, 1), (200, 1), (300, 2), (400, 2)],
                  'sessions: two boots')
    text = support.reader('sessions', programs.windows_path(root.root))[1]
    results.check('Boot' in text and 'several boots' in text and
                  '  made-up.exe   ' in text, 'sessions: it says so', [text])


def check_around(results, scratch):
    """What else lies in the directory: nothing that counts."""
    root = Root(os.path.join(scratch, 'around'))
    path = root.add('a', 100, calls(0, 5, 1000))
    root.add('b', 200, calls(0, 6, 2000), created=1)
    expected = {(100, 'Alpha'): 5, (200, 'Alpha'): 6}
    os.makedirs(os.path.join(root.root, 'empty', 'deeper'))
    shutil.copy(path, os.path.join(root.root, 'empty', 'deeper'))
    os.makedirs(os.path.join(root.root, 'logs'))
    for name in 'notes.txt', 'logs/made-up.exe.log', 'a/made-up.exe.log':
        with open(os.path.join(root.root, name), 'w',
                  encoding='utf-8') as file:
            file.write('text\n')
    os.makedirs(os.path.join(root.root, 'new'))
    with open(os.path.join(root.root, 'new', 'x.trace'), 'wb') as file:
        file.write(bytes(65536))
    results.equal(by_process(results, root.root), expected,
                  'other files and directories')
    code, _, errors = support.reader('report', '--all-runs',
                                     programs.windows_path(root.root))
    results.equal((code, errors), (0, ''), 'nothing to say of them')
    rows = reader_json(results, 'sessions', root.root)['sessions']
    results.equal([(row['directory'], row['state']) for row in rows],
                  [('a', 'closed'), ('b', 'closed'), ('new', 'created')],
                  'sessions: one is being created')

    # Directories whose names would be taken for something else on Windows.
    hostile = ('dot.', 'CON', 'blank ', 'nul.txt')
    for name in hostile:
        shutil.copytree(os.path.join(root.root, 'a'),
                        os.path.join(root.root, name))
    code, text, errors = support.reader('sessions', programs.windows_path(
        root.root))
    results.check(code == 0 and '\n%d directories are left out' %
                  len(hostile) in text and errors.count('ignored') == 1 and
                  any('warning: %s: ignored' % name in errors
                      for name in hostile), 'sessions: hostile names',
                  [code, text, errors])
    for name in hostile:
        shutil.rmtree(os.path.join(root.root, name))
    code, text, errors = support.reader('sessions', programs.windows_path(
        root.root))
    results.check(code == 0 and 'left out' not in text and
                  'ignored' not in errors,
                  'sessions: no hostile names', [code, text, errors])

    # A copy beside the original, and a damaged store.
    shutil.copytree(os.path.join(root.root, 'a'),
                    os.path.join(root.root, 'z copy'))
    with open(os.path.join(root.root, 'b', 'bad.trace'), 'wb') as file:
        file.write(b'no store' * 1000)
    results.equal(by_process(results, root.root), expected,
                  'a copy counts once')
    code, _, errors = support.reader('report', '--all-runs',
                                     programs.windows_path(root.root))
    results.check(code == 0 and errors.count('left out') == 2 and
                  'z copy\\made-up.exe-7-0.trace: it is a copy' in errors and
                  'b\\bad.trace: header' in errors, 'it is said', [errors])
    code, _, errors = support.reader('report', '--process', '100',
                                     programs.windows_path(root.root))
    results.check(code == 0 and 'bad.trace' not in errors,
                  'not of a process that is not selected', [errors])

    # One session by itself is shown as ever.
    single = os.path.join(root.root, 'a')
    for command in 'threads', 'info', 'replay', 'report':
        code, text, _ = support.reader(command, '--csv',
                                       programs.windows_path(single))
        results.check(code == 0 and ',process,' not in text and
                      'processes' not in text,
                      'one session: %s has no processes' % command, [text])


#
# A process that comes while live runs.
#

def check_steering(results, traces, is_running):
    """ctl on all processes at once."""
    path = programs.windows_path(traces)
    code, text, errors = support.reader('ctl', path, 'mark', 'all of them')
    late = is_running and support.UNSEEN.search(errors) is not None
    if not is_running:
        results.check(code == 1 and 'have ended' in errors,
                      'ctl: nobody is left', [code, text, errors])
        return
    results.check(code == 0 and text.count('Busy.exe: mark: action ') == 2 or
                  code == 1 and late and not support.UNSEEN.sub('', errors),
                  'ctl: a mark for each process', [code, text, errors])
    for session in support.sessions(traces):
        with open(os.path.join(session, 'session.control'), 'rb') as file:
            results.equal(file.read().count(b'all of them'), 1,
                          'ctl: it is in the control file')
    code, text, errors = support.reader('ctl', path, 'status')
    results.check(code == 0 and text.count('Busy.exe:') == 2 and not errors,
                  'ctl: status is of all', [code, text, errors])


def check_live(results, scratch):
    program = support.build_busy(os.path.join(scratch, 'busy'))
    traces = os.path.join(scratch, 'live')
    stop = os.path.join(scratch, 'stop')
    arguments = ('for', '86400000', '4000', programs.windows_path(stop))
    processes = [support.start(program, *arguments, directory=traces)]
    support.wait_for(lambda: len(support.stores(traces)) >= 4)
    output = os.path.join(scratch, 'live.txt')
    with open(output, 'wb') as file:
        live = subprocess.Popen(
            [programs.WINE, programs.READER, 'live', '--plain', '--interval',
             '100', programs.windows_path(traces)], stdin=subprocess.DEVNULL,
            stdout=file, stderr=file, env=support.environment())

    def said(word):
        with open(output, encoding='utf-8', errors='replace') as opened:
            return word in opened.read()

    results.check(support.wait_for(lambda: said('  process ')),
                  'live: one process')
    results.check(not said('processes'), 'control: it is one')
    processes.append(support.start(program, *arguments, directory=traces))
    results.check(support.wait_for(lambda: said('  2 processes, ')),
                  'live: a second one is followed')
    check_steering(results, traces, True)
    with open(stop, 'wb'):
        pass
    for process in processes:
        results.check(support.has_ended(support.finish(process)[0]),
                      'live: the program')
    try:
        code = support.watch.wait(live)
    except support.watch.Hangs:
        code = None
    with open(output, encoding='utf-8', errors='replace') as opened:
        text = opened.read()
    if code is not None:
        code = support.watch.ExitCode(code, text)
    results.check(support.has_ended(code), 'live ends with the last of them',
                  [code, text[-2000:]])
    check_steering(results, traces, False)
    last = [line for line in text.splitlines() if ' processes, ' in line][-1]
    results.check('of 10 threads' in last or 'of 8 threads' in last,
                  'live: threads of both', [last])


#
# ctl on several processes.
#

def actions(session):
    """The actions of a session's control file, read by this test."""
    with open(os.path.join(session, support.CONTROL_NAME), 'rb') as file:
        data = file.read()
    count, = struct.unpack_from('<I', data, 0x1C)
    found = []
    for place in range(4096, 4096 + 128 * count, 128):
        kind, = struct.unpack_from('<I', data, place)
        text = data[place + 32:place + 128].rstrip(b'\0')
        found.append((kind, text.decode()))
    return found


def check_ctl(results, scratch):
    start, stop_, clear, mark = range(1, 5)
    program = support.build_busy(os.path.join(scratch, 'busy-ctl'))
    traces = os.path.join(scratch, 'ctl')
    ends = [os.path.join(scratch, 'end%d' % number) for number in range(3)]
    processes = []
    for number, end in enumerate(ends):
        processes.append(support.start(
            program, 'for', '86400000', '4000', programs.windows_path(end),
            directory=traces, TRACER_MODE='ring',
            TRACER_MAX_BYTES='1M'))
        support.wait_for(lambda: len(support.sessions(traces)) == number + 1
                         and support.stores(support.sessions(traces)[-1]))
    sessions = {}

    def find():
        for path in support.stores(traces):
            with open(path, 'rb') as file:
                process, = struct.unpack('<I', file.read(0x1C)[0x18:] or
                                         bytes(4))
            if process:
                sessions[process] = os.path.dirname(path)
        return len(sessions) == 3

    support.wait_for(find)
    results.equal(len(sessions), 3, 'ctl: three processes')
    expected = {process: [] for process in sessions}
    late_words = []

    def ctl(*arguments, code=0):
        found, text, errors = support.reader('ctl', *arguments[:-1],
                                             programs.windows_path(traces),
                                             *arguments[-1])
        # ctl waits a second for the programs to see an action; they may have
        # had no processor.  What is done then is checked like all else.
        late = re.findall(r'^TraceReader: ctl: .* is written, but .*\n', errors,
                          re.MULTILINE)
        if code == 0 and found == 1 and errors == ''.join(late):
            print('seen late: %r' % late)
            late_words.extend(late)
            return text
        results.check(found == code and bool(errors) == bool(code),
                      'ctl %s' % (arguments,), [found, text, errors])
        return text + errors

    def check(what):
        results.equal({process: actions(path) for process, path in
                       sessions.items()}, expected, what)

    def to_all(kind, text, *words):
        late_words.clear()
        said = ctl(list(words)).splitlines()
        for each in expected.values():
            each.append((kind, text))
        results.check(not late_words or len(late_words) <= 3,
                      'ctl %s: what is late' % words[0], late_words)
        if not late_words:
            check_said(said, words)
        check('ctl %s: to all' % words[0])

    def check_said(said, words):
        results.equal((sorted(line.split(':')[0] for line in said[:-1]),
                       said[-1]),
                      (sorted('process %d Busy.exe' % process
                              for process in sessions),
                       '%s: 3 of 3 processes' % words[0]),
                      'ctl %s: it says to whom' % words[0])

    to_all(mark, 'to all', 'mark', 'to all')
    to_all(stop_, '', 'stop')
    to_all(start, '', 'start')
    to_all(clear, '', 'clear')

    # One alone, in the words of a single session.
    one = sorted(sessions)[1]
    late_words.clear()
    said = ctl('--process', str(one), ['mark', 'to one'])
    expected[one].append((mark, 'to one'))
    check('ctl --process: to one')
    results.check(said.startswith('mark: action 4, seen by') and
                  'processes' not in said or late_words,
                  'ctl --process: it says so', [said])
    data = json.loads(ctl('--process', str(one), '--json', ['status']))
    results.equal((data['session'][0]['process_id'],
                   data['session'][0]['actions']), (one, 5),
                  'ctl --process --json status')
    said = ctl('--process', 'bUsy', ['mark', 'by name'])
    for each in expected.values():
        each.append((mark, 'by name'))
    check('ctl --process NAME: to all that have it')
    ctl('--process', 'nobody', ['stop'], code=1)

    # What is of one session alone is refused, and nothing is done.
    for words in (['--json'], ['stop']), (['--csv'], ['status']):
        said = ctl(*words[0], words[1], code=1)
        results.check('--process' in said and
                      all('process %d Busy.exe' % process in said
                          for process in sessions), 'ctl: which there are',
                      [said])
    check('ctl: nothing was done')
    said = ctl(['status'])
    order = sorted(sessions, key=lambda process: os.path.basename(
        sessions[process]).split('-', 2)[2])
    results.equal([line for line in said.splitlines()
                   if line.startswith('process ')],
                  ['process %d Busy.exe:' % process for process in order],
                  'ctl status: of all')

    # A snapshot has all sessions, or what is chosen.
    for number, words in enumerate(([], ['--process', str(one)])):
        folder = os.path.join(scratch, 'snapshot%d' % number)
        ctl(*words, ['snapshot', programs.windows_path(folder)])
        found = reader_json(results, 'info', '--all-runs', folder)
        chosen = [one] if number else order
        results.equal(([row['process_id'] for row in found['processes']] if
                       number == 0 else
                       [found['session'][0]['process_id']]), chosen,
                      'ctl snapshot: processes')
        results.equal([row['actions'] for row in found['control']],
                      [len(expected[process]) for process in chosen],
                      'ctl snapshot: control files')
        results.check(number or sorted(os.listdir(folder)) == sorted(
            map(os.path.basename, sessions.values())),
            'ctl snapshot: directories')

    # One has ended: it is left alone.
    with open(ends[0], 'wb'):
        pass
    support.finish(processes[0])
    gone = order[0]
    late_words.clear()
    said = ctl(['mark', 'to two'])
    for process, each in expected.items():
        if process != gone:
            each.append((mark, 'to two'))
    check('ctl: not to one that has ended')
    results.check('mark: 2 of 2 processes' in said or late_words,
                  'ctl: two are left', [said])
    for end in ends[1:]:
        with open(end, 'wb'):
            pass
    for process in processes[1:]:
        results.check(support.has_ended(support.finish(process)[0]),
                      'ctl: the program')
    said = ctl(['stop'], code=1)
    results.check('all of its processes have ended' in said, 'ctl: none',
                  [said])
    check('ctl: nothing is written when all have ended')
    rows = reader_json(results, 'replay', '--limit', '1', traces)['events']
    results.check(len(rows) == 1, 'ctl: they can be read')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = programs.build(
            os.path.join(scratch, 'program'),
            [os.path.join(programs.PROGRAMS, 'Processes.c')],
            programs.PENTER_FLAGS, 'Processes.exe', [programs.LIBRARY])
        told, place, sessions, records = check_where(results, scratch,
                                                     program)
        check_sessions(results, told, place)
        ticks = without_anchors(place, os.path.join(scratch, 'ticks'))
        check_reports(results, told, sessions, place, ticks)
        check_clock(results, told, records, place, ticks)
        check_others(results, told, place, scratch)
        check_same_thread(results, scratch)
        check_boots(results, scratch)
        check_around(results, scratch)
        check_live(results, scratch)
        check_ctl(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

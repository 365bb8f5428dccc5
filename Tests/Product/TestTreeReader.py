#!/usr/bin/env python3
"""TraceReader on stores that hold a tree: what every command makes of known
numbers, and of stores that are damaged.

The stores are made up by TreeSupport.py, which also computes what is to be
found, from the description that it made them of.  Where the library can make
trees, a real program's are compared with what it leaves when it records calls.
"""

import csv
import io
import json
import os
import random
import re
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
import TreeSupport as tree                                   # noqa: E402
from StoreSupport import programs                            # noqa: E402
from TreeSupport import OTHER, call                          # noqa: E402

try:
    import jsonschema
except ImportError:     # another Python than Debian's comes first
    sys.path.append('/usr/lib/python3/dist-packages')
    try:
        import jsonschema
    except ImportError:
        jsonschema = None

SCHEMA = os.path.join(programs.ROOT, 'Docs', 'TraceReader.schema.json')
NAMES = ['main', 'Run', 'Leaf', 'Fib', 'Odd', 'Wait', 'Gone']
NOW = 9000
FRAMES_ROOM = 4096


def main_thread():
    """Recursion, abandoned calls, a node for others, two open calls."""
    return [call('main', 1, 0,
                 call('Run', 3, 500,
                      call('Leaf', 10, 200, minimum=5, maximum=50, first=7),
                      call('Fib', 3, 90,
                           call('Fib', 4, 60, call('Fib', 2, 20))),
                      open=6000),
                 call('Odd', 5, 400, abandoned=2, minimum=20, maximum=100,
                      first=90),
                 call('Gone', 2, 70, abandoned=2),
                 call(OTHER, 12, 40, minimum=1, maximum=9, first=2),
                 open=1000)]


def worker():
    return [call('Run', 7, 700, call('Leaf', 7, 70, minimum=2, maximum=30)),
            call('Leaf', 1, 5)]


def fibers():
    """One stack waits since 5000 in Wait, inside of Run."""
    wait = call('Wait', 2, 300, away=200, minimum=300, maximum=300)
    run = call('Run', 1, 0, wait, minimum=tree.NONE_ENDED)
    return [run, call('main', 1, 0, open=5500)], [([(run, 2000, False), (wait, 4000, False)], 5000)]


def make(scratch, name='known'):
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    stores = [(main_thread(), dict(now=NOW, NumberOfUnmatchedExits=3)),
              (worker(), dict(now=NOW, kind=3))]
    session, written = tree.write_session(folder, NAMES, stores)
    return session, written, [(roots, NOW) for roots, _ in stores]


class Reader:
    """TraceReader on one session."""

    def __init__(self, results, session):
        self.results = results
        self.session = programs.windows_path(session)

    def run(self, command, *arguments):
        return support.reader(command, *arguments, self.session)

    def json(self, command, *arguments, schema=None):
        code, text, errors = self.run(command, '--json', *arguments)
        data = json.loads(text) if text else {}
        self.results.check(code in (0, 2) and not errors,
                           '%s --json' % command, [code, errors])
        if schema and jsonschema:
            branch = [branch for branch in schema['oneOf']
                      if branch['title'] == command][0]
            problems = ['%s: %s' % (list(problem.absolute_path),
                                    problem.message)
                        for problem in jsonschema.Draft202012Validator(
                            {**branch, '$defs': schema['$defs']}
                        ).iter_errors(ticks_as_times(data))]
            self.results.check(not problems, '%s --json: the schema' %
                               command, problems)
        return data

    def export(self, kind, scratch):
        path = os.path.join(scratch, 'export.' + kind)
        code, text, errors = self.run('export', '--format', kind, '--output',
                                      programs.windows_path(path))
        self.results.check(code == 0, 'export --format %s' % kind,
                           [code, text, errors])
        with open(path, encoding='utf-8', newline='') as file:
            return file.read()


def ticks_as_times(value):
    """The schema names nanoseconds."""
    if isinstance(value, dict):
        return {re.sub('_ticks$', '_ns', key): ticks_as_times(each)
                for key, each in value.items()}
    if isinstance(value, list):
        return [ticks_as_times(each) for each in value]
    return value


def paths(rows):
    """The chain of names of each row of tree."""
    by_node = {row['node']: row for row in rows}

    def path(row):
        above = by_node.get(row['parent']) if row['depth'] else None
        return (path(above) if above else ()) + (row['function'],)

    return {path(row): row for row in rows}


#
# Known numbers.
#

def check_report(results, reader, threads, schema):
    rows = reader.json('report', schema=schema)['functions']
    seen = {row['function']: tree.Sums(
        row['calls'], row['total_ticks'], row['self_ticks'],
        row['abandoned'], row['unfinished']) for row in rows}
    results.equal(seen, tree.functions(threads), 'report: the sums')
    wrong = [dict(threads_) for threads_ in [seen]]
    wrong[0]['Fib'] = wrong[0]['Fib']._replace(total=170)
    results.check(wrong[0] != tree.functions(threads),
                  'control: recursion counted again')
    by_name = {row['function']: row for row in rows}
    leaf, odd, other = (by_name[name] for name in ('Leaf', 'Odd', OTHER))
    run = by_name['Run']
    results.equal((run['min_ticks'], run['max_ticks']), (100, 3000),
                  'report: the open call is the longest')
    results.equal((leaf['min_ticks'], leaf['max_ticks'],
                   leaf['average_ticks']), (2, 50, 275 // 18),
                  'report: minimum, maximum, average')
    results.check(all(row['p50_ticks'] is None and row['p99_ticks'] is None
                      for row in rows), 'report: no percentiles')
    results.equal((odd['abandoned_time_ticks'],
                   by_name['Gone']['abandoned_time_ticks'],
                   by_name['Gone']['total_ticks'], odd['average_ticks']),
                  (None, 70, 0, None), 'report: the time of abandoned calls')
    results.check(other['rva'] is None and leaf['rva'] == '0x1020' and
                  other['file'] is None, 'report: (other) has no address',
                  other)
    text = reader.run('report', '--percentiles')[1]
    results.check('(other): calls of functions for which' in text and
                  'trees of an earlier version' in ' '.join(text.split()) and
                  'Unfinished: open;' in text and
                  re.search(r'\s-\s+-\s+-\s+Leaf\n', text) and
                  '3 exits had no entry' in text, 'report: the notes', text)
    order = [row['function'] for row in
             reader.json('report', '--sort', 'calls')['functions']]
    results.check(order.index(OTHER) == 1 and order[0] == 'Leaf',
                  'report: (other) is sorted like the others', order)
    code, text, _ = reader.run('report', '--csv')
    cells = {row['function']: row for row in csv.DictReader(io.StringIO(text))}
    results.check(code == 0 and cells['Leaf']['p50_ticks'] == '' and
                  cells[OTHER]['rva'] == '' and cells['Leaf']['calls'] == '18',
                  'report --csv', text)
    only = reader.json('report', '--thread', '2')['functions']
    results.equal({row['function']: row['calls'] for row in only},
                  {'Run': 7, 'Leaf': 8}, 'report --thread')
    only = reader.json('report', '--function', '(other)')['functions']
    results.equal([(row['function'], row['calls']) for row in only],
                  [(OTHER, 12)], 'report --function (other)')


def check_abandoned(results, scratch):
    """Stores that say how long abandoned calls took."""
    folder = os.path.join(scratch, 'abandoned')
    os.makedirs(folder)
    # What finished took 250; Leaf is in calls of both kinds.
    roots = [call('main', 1, 500,
                  call('Odd', 5, 400, call('Leaf', 9, 40), abandoned=2,
                       abandoned_total=150, minimum=20, maximum=100),
                  call('Late', 3, 300, abandoned=2, abandoned_total=290,
                       minimum=10, maximum=10),
                  call('Gone', 2, 70, abandoned=2))]
    session, written = tree.write_session(
        folder, NAMES + ['Late'], [(roots, dict(now=NOW, MinorVersion=6))])
    reader = Reader(results, session)
    fields = ('calls', 'total_ticks', 'self_ticks', 'average_ticks',
              'min_ticks', 'max_ticks', 'abandoned', 'abandoned_time_ticks')
    expected = {'main': (1, 500, 0, 500, 500, 500, 0, 0),
                'Odd': (5, 250, 250, 83, 20, 100, 2, 150),
                'Late': (3, 10, 10, 10, 10, 10, 2, 290),
                'Leaf': (9, 40, 40, 4, 4, 4, 0, 0),
                'Gone': (2, 0, 0, 0, 0, 0, 2, 70)}
    for command, key in ('report', 'functions'), ('tree', 'nodes'):
        results.equal({row['function']: tuple(row[field] for field in fields)
                       for row in reader.json(command)[key]}, expected,
                      command + ': abandoned calls have times of their own')
        text = ' '.join(reader.run(command)[1].split())
        results.check('self: in trees that is at most' in text and
                      'earlier version' not in text, command + ': the note',
                      text)
    results.equal(support.verify(session)[0], 0, 'abandoned: verify')
    path, store = written[0]
    store.change(store.offset(roots[0].children[0].index) + 0x78, 'Q', 401)
    with open(path, 'wb') as file:
        file.write(store.data)
    code, rows, _ = support.verify(session)
    row, = rows.values()
    results.check(code == 2 and 'AbandonedTotal is more than Total' in
                  row['result'], 'abandoned: damage is found', row)


def check_tree(results, reader, threads, schema):
    rows = reader.json('tree', schema=schema)['nodes']
    expected = tree.chains(threads)
    seen = {path: (row['calls'], row['total_ticks'], row['self_ticks'])
            for path, row in paths(rows).items() if path[-1] != 'Gone'}
    del expected['main', 'Gone']
    results.equal(seen, expected, 'tree: every node')
    shallow = paths(reader.json('tree', '--depth', '1')['nodes'])
    results.equal(sorted(shallow), [('Leaf',), ('Run',), ('main',)],
                  'tree --depth 1')
    apart = reader.json('tree', '--per-thread')['nodes']
    results.equal(sorted((row['function'], row['thread'], row['calls'])
                         for row in apart
                         if row['depth'] == 0 and row['function']),
                  [('Leaf', 2, 1), ('Run', 2, 7), ('main', 1, 1)],
                  'tree --per-thread')


def check_edges(results, reader, schema):
    rows = reader.json('callers', 'Leaf', schema=schema)['callers']
    results.equal([(row['function'], row['calls'], row['level'])
                   for row in rows],
                  [('Leaf', 18, 0), ('Run', 17, 1), ('(outermost)', 1, 1)],
                  'callers')
    rows = reader.json('callees', 'main', schema=schema)['callees']
    results.equal([(row['function'], row['calls'], row['total_ticks'])
                   for row in rows if row['level'] == 1],
                  [('Run', 3, 3500), ('Odd', 5, 400), (OTHER, 12, 40),
                   ('Gone', 2, 0)], 'callees')


def check_tables(results, reader, session, schema):
    rows = {row['thread_id']: row for row in
            reader.json('threads', schema=schema)['threads']}
    results.equal([(rows[number]['calls'], rows[number]['busy_ticks'],
                    rows[number]['maximum_depth'],
                    rows[number]['top_function'], rows[number]['records'])
                   for number in (1, 2)],
                  [(42, 8000, 5, 'main', 0), (15, 705, 2, 'Run', 0)],
                  'threads')
    row, = reader.json('modules', schema=schema)['modules']
    results.equal((row['calls'], row['functions'], row['calls_outermost'],
                   row['calls_from_others']), (57, 7, 9, 0), 'modules')
    data = reader.json('info', schema=schema)
    trees, = data['trees']
    results.equal((trees['stores'], trees['nodes'], trees['calls'],
                   trees['open_calls'], trees['nodes_for_others'],
                   trees['unmatched_exits'], trees['used_bytes'],
                   data['recording'][0]['mode']),
                  (2, 14, 57, 2, 1, 3, 14 * 128, 'tree'), 'info')
    code, verdicts, text = support.verify(session)
    results.check(code == 0 and all(
        verdict['bad'] == '0' for verdict in verdicts.values()) and
        'tree: 10 nodes, 2 open calls' in text, 'verify', text)


def check_exports(results, reader, threads, scratch):
    folded = dict(line.rsplit(' ', 1)
                  for line in reader.export('folded', scratch).splitlines())
    expected = {';'.join(names): str(sums[2])
                for names, sums in tree.chains(threads).items()
                if sums[2] and names[-1] != 'Gone'}
    results.equal(folded, expected, 'folded')

    rows = [line.split('\t') for line in
            reader.export('csv-cap', scratch).splitlines()]
    start = rows.index(['Thread 2'])
    seen = {}
    for part in rows[:start], rows[start:]:
        names = []
        for row in part:
            if len(row) > 1 and row[0].isdigit():
                names[int(row[0]):] = [row[1].split('!')[1]]
                seen[part[0][0], tuple(names)] = tuple(map(int, row[2:]))
    results.equal(
        [seen['Thread 1', ('main', 'Run', 'Leaf')],
         seen['Thread 1', ('main', 'Run', 'Fib', 'Fib')],
         seen['Thread 1', ('main', OTHER)],
         seen['Thread 1', ('main', 'Odd')],
         seen['Thread 2', ('Run',)], len(seen)],
        [(10, 200, 20, 200, 20, 7, 5, 50), (4, 60, 15, 40, 10, 15, 15, 15),
         (12, 40, 3, 40, 3, 2, 1, 9), (5, 400, 80, 400, 80, 90, 20, 100),
         (7, 700, 100, 630, 90, 100, 100, 100), 12], 'csv-cap')

    sums = tree.functions(threads)
    rows = list(csv.DictReader(io.StringIO(
        reader.export('csv-osr', scratch))))
    results.equal({row['Function'].split('!')[1]: (int(row['CallCount']),
                                                   int(row['CallTicks']))
                   for row in rows},
                  {name: (each.calls, each.total)
                   for name, each in sums.items()}, 'csv-osr')
    text = reader.export('csv', scratch)
    results.equal(support.decode(text.encode()),
                  reader.run('report', '--csv')[1], 'csv')

    self_times, name, is_call = {}, None, False
    for line in reader.export('callgrind', scratch).splitlines():
        match = re.match(r'(c?)fn=(\(\w+\))(?: (.*))?', line)
        if match:
            self_times.setdefault('names', {})
            if match.group(3):
                self_times['names'][match.group(2)] = match.group(3)
            if not match.group(1):
                name = self_times['names'].get(match.group(2))
        elif line.startswith('calls='):
            is_call = True
        elif re.match(r'\d+ \d+$', line):
            if not is_call and name:
                self_times[name] = int(line.split()[1])
            is_call = False
    self_times.pop('names')
    results.equal({name: time for name, time in self_times.items() if time},
                  {name: each.self for name, each in sums.items()
                   if each.self}, 'callgrind: self times')
    page = reader.export('html', scratch)
    results.check('</html>' in page and len(page) > 10000, 'html', len(page))


def check_live(results, reader, threads):
    code, text, errors = reader.run('live', '--plain', '--count', '1')
    seen = {match.group(3): (int(match.group(1)), int(match.group(2)))
            for match in re.finditer(r'^ +(\d+) +(\d+)  (\S+)$', text, re.M)}
    results.equal(seen, {name: (each.calls, each.self) for name, each in
                         tree.functions(threads).items()},
                  'live: counts and times')
    frames = re.findall(r'^ +(\d+)  (?:  )*(\w+)$',
                        text[text.find('Thread 1:'):], re.M)
    results.check(code == 0 and not errors and '57 calls' in text and
                  [name for _, name in frames][:2] == ['main', 'Run'],
                  'live: open calls', [code, text, errors])


def check_diff(results, scratch, session):
    folder = os.path.join(scratch, 'other')
    roots = main_thread()
    roots[0].children[0].children[0].calls += 90
    roots[0].children[0].children[0].total += 25
    other, _ = tree.write_session(folder, NAMES, [
        (roots, dict(now=NOW)), (worker(), dict(now=NOW))])
    code, text, errors = support.reader('diff', '--json',
                                        programs.windows_path(session),
                                        programs.windows_path(other))
    rows = {row['function']: row for row in json.loads(text)['functions']}
    results.check(
        code == 0 and not errors and
        (rows['Leaf']['calls_a'], rows['Leaf']['calls_b']) == (18, 108) and
        (rows['Odd']['calls_a'], rows['Odd']['calls_b']) == (5, 5),
        'diff', [code, errors, rows.get('Leaf')])


def check_fibers(results, scratch):
    """A stack that waits: its time is not its innermost call's own."""
    roots, stacks = fibers()
    session, _ = tree.write_session(
        os.path.join(scratch, 'fibers'), NAMES,
        [(roots, dict(now=NOW, other_stacks=stacks))])
    reader = Reader(results, session)
    rows = {row['function']: row for row in
            reader.json('report')['functions']}
    results.equal([(rows[name]['total_ticks'], rows[name]['self_ticks'],
                    rows[name]['unfinished']) for name in ('Run', 'Wait')],
                  [(7000, 7000 - 5300, 1), (300 + 5000, 5300 - 200 - 4000, 1)],
                  'fibers: the time of a stack that waits')
    text = reader.run('live', '--plain', '--count', '1')[1]
    results.equal(re.findall(r'^ +(\d+)(\*?)  (\w+)$',
                             text[text.find('Thread 1:'):], re.M),
                  [('3500', '', 'main'), ('7000', '*', 'Run'),
                   ('5000', '*', 'Wait')], 'fibers: their open calls')


def check_ends(results, scratch):
    """A killed process: open calls count up to what the tree proves."""
    for name, header, expected in (
            ('never closed', dict(State=1, Reason=0), 1400),
            ('stopped from outside', dict(HookFlags=5), 0)):
        roots = [call('main', 1, 0, call('Run', 2, 400), open=1000)]
        session, _ = tree.write_session(
            os.path.join(scratch, name), NAMES,
            [(roots, dict(now=1000, **header))])
        rows = {row['function']: row for row in Reader(
            results, session).json('report')['functions']}
        results.equal((rows['main']['total_ticks'],
                       rows['main']['unfinished'], rows['Run']['self_ticks']),
                      (max(expected - 1000, 0), 1, 400), name)
    roots = [call('main', 1, 0, call('Run', 0, 0, call('Leaf', 0, 0)),
                  open=2000, stale=True)]
    session, _ = tree.write_session(
        os.path.join(scratch, 'cleared'), NAMES,
        [(roots, dict(now=NOW, ClearTimestamp=2000))])
    rows = Reader(results, session).json('tree')['nodes']
    results.equal([(row['function'], row['calls'], row['total_ticks'])
                   for row in rows], [('main', 1, 7000)],
                  'cleared: nodes without calls are not shown')


def check_control(results, scratch):
    """What an idle thread has not carried out, its reader does."""
    roots = [call('main', 1, 0, call('Run', 2, 400), open=1000)]
    actions = [(3, 3000), (2, 5000), (4, 5500), (1, 7000)]
    for carried_out, expected in (
            (0, {'main': (1, 2000 + NOW - 7000)}),
            (1, {'main': (1, 4000 + NOW - 7000), 'Run': (2, 400)}),
            (4, {'main': (1, NOW - 1000), 'Run': (2, 400)})):
        session, _ = tree.write_session(
            os.path.join(scratch, 'control %d' % carried_out), NAMES,
            [(roots, dict(now=NOW, NumberOfActions=carried_out))])
        data = bytearray(4096)
        struct.pack_into('<8sHHIQII', data, 0, b'TRCONTRL', 1, 3, 4242,
                         133_000_000_000_000_000, 16, len(actions))
        for kind, time in actions:
            data += struct.pack('<IIQQII96s', kind, 0, time, 1, 1, 0, b'x')
        data += bytes(4096 + 16 * 128 - len(data))
        with open(os.path.join(session, 'session.control'), 'wb') as file:
            file.write(data)
        rows = Reader(results, session).json('report')['functions']
        results.equal({row['function']: (row['calls'], row['total_ticks'])
                       for row in rows}, expected,
                      'control: %d of 4 carried out' % carried_out)


def check_refusals(results, reader, scratch):
    output = programs.windows_path(os.path.join(scratch, 'refused'))
    for arguments in (
            ['replay'], ['outliers', 'Leaf'], ['stack'],
            ['report', '--from', '1ms'], ['tree', '--to', '1ms'],
            ['threads', '--from', '1ms'], ['report', '--subtract-probe'],
            *(['export', '--format', kind, '--output', output] for kind in (
                'chrome', 'perfetto', 'fxt', 'speedscope'))):
        code, text, errors = reader.run(*arguments)
        results.check(code == 1 and not text and 'hold trees' in errors,
                      'refused: %s' % ' '.join(arguments[:3]),
                      [code, text, errors])
    results.check(not os.path.exists(os.path.join(scratch, 'refused')),
                  'refused: no file')


def check_mixed(results, scratch, name, flags, sums):
    """Records and trees in one session: both are read, where that makes
    sense; but records of what is in a tree, too, count for single calls
    alone."""
    folder = os.path.join(scratch, name)
    session, written = tree.write_session(folder, NAMES,
                                          [(worker(), dict(now=NOW))])
    with open(written[0][0], 'rb') as file:
        header = file.read(4096)
    path = header[0x200:].split(b'\0')[0]
    leaf = filters.FIRST + NAMES.index('Leaf') * filters.STEP
    made.write(os.path.join(session, 'made-up.exe-9-0.trace'),
               [(5000, leaf + 5, made.TOP - 64, made.ENTER),
                (5100, leaf + 9, made.TOP - 64, made.EXIT)],
               at0x14=struct.pack('<I', 1 | flags),
               at0x1C=struct.pack('<I', 1 if flags else 9), at0x128=header[0x128:0x130],
               at0xE0=bytes(64), at0x148=header[0x148:0x158],
               at0x200=path, at0x620=path)
    reader = Reader(results, session)
    rows = {row['function']: row for row in
            reader.json('report')['functions']}
    results.equal((rows['Leaf']['calls'], rows['Leaf']['total_ticks'],
                   rows['Leaf']['p50_ticks'], rows['Run']['calls']),
                  (*sums, None, 7), '%s: report' % name)
    code, text, errors = reader.run('replay', '--csv')
    results.check(code == 0 and len(text.splitlines()) == 3 and
                  'hold trees, which have no single calls: ' in errors,
                  '%s: replay' % name, [code, text, errors])
    code, text, errors = reader.run('report', '--csv', '--from', '0')
    seen = {row['function']: row['calls']
            for row in csv.DictReader(io.StringIO(text))}
    results.check(code == 0 and seen == {'Leaf': '1'} and
                  'hold trees' in errors, '%s: report --from' % name,
                  [code, seen, errors])
    results.equal(reader.json('info')['recording'][0]['mode'],
                  'tree and ranges' if flags else 'tree and records',
                  '%s: info' % name)


def check_pack(results, reader, scratch, schema):
    """What is packed, and what recover copies, is the session again."""
    packed = os.path.join(scratch, 'packed.tracepack')
    code, text, errors = support.reader('pack', reader.session, '--output',
                                        programs.windows_path(packed))
    if results.check(code == 0, 'pack', [code, text, errors]):
        again = os.path.join(scratch, 'again')
        code, text, errors = support.reader(
            'unpack', programs.windows_path(packed), '--output',
            programs.windows_path(again))
        results.check(code == 0, 'unpack', [code, text, errors])
        for path, what in ((again, 'unpack'), (packed, 'pack')):
            results.equal(Reader(results, path).json('report'),
                          reader.json('report'), what + ': the same report')
    target = os.path.join(scratch, 'recovered')
    code, text, errors = support.reader('recover', reader.session, '--output',
                                        programs.windows_path(target))
    results.check(code == 0 and 'a tree of 10 nodes, copied' in text,
                  'recover', [code, text, errors])
    results.equal(Reader(results, target).json('report'),
                  reader.json('report'), 'recover: the same report')


#
# Damage.
#

def damaged(scratch, name, changes):
    """A session of copies of one store, each changed in its way.

    changes: (what, [(offset, code, value)] or a size to cut it to).
    """
    folder = os.path.join(scratch, name)
    session, written = tree.write_session(folder, NAMES,
                                          [(main_thread(), dict(now=NOW))])
    path, store = written[0]
    os.remove(path)
    files = {}
    for number, (what, change) in enumerate(changes):
        data = bytearray(store.data)
        if isinstance(change, int):
            del data[change:]
        else:
            struct.pack_into('<I', data, 0x1C, 100 + number)
            for offset, code, value in change:
                if isinstance(value, bytes):
                    data[offset:offset + len(value)] = value
                else:
                    struct.pack_into('<' + code, data, offset, value)
        name = 'made-up.exe-%d-0.trace' % (100 + number)
        files[name] = what
        with open(os.path.join(session, name), 'wb') as file:
            file.write(data)
    return session, files


def check_all_commands(results, session, what):
    """No command crashes on it, and none says nothing."""
    path = programs.windows_path(session)
    for arguments in (['report', '--csv', path], ['tree', '--json', path],
                      ['info', '--json', path], ['threads', path],
                      ['callers', 'Leaf', path],
                      ['live', '--plain', '--count', '1', path]):
        code, text, errors = support.reader(*arguments)
        results.check(code in (0, 1) and (text or errors) and
                      'wine:' not in errors.replace('wine: created', ''),
                      '%s: %s' % (what, arguments[0]),
                      [code, text[-300:], errors[-600:]])


HEADER_IS_BAD = {
    'Mode': 7, 'RecordSize': 16, 'HeaderSize': 8192, 'Clock': 2,
    'RingSizeInBytes': 1 << 20, 'NodesFileOffset': 4096,
    'NumberOfNodes': 1 << 60, 'State': 9, 'ModuleBase': 5, 'ModuleSize': 0,
    'MajorVersion': 2, 'Magic': 5,
}
NODE_IS_BAD = {
    'Parent': 5, 'Kind': 2, 'Site': 0, 'Flags': 1, 'Calls': 1 << 62,
    'Total': 1 << 61, 'Minimum': 1 << 61, 'Maximum': 1 << 61,
    'First': 1 << 63, 'Abandoned': 11, 'Away': 1 << 61,
}
STACK_IS_BAD = {
    'Top': None, 'End': 0, 'NextFileOffset': 4095,
}


def check_fields(results, scratch):
    """Every field, with a value that it cannot have: it is named."""
    roots = main_thread()
    store = tree.Store(roots, NAMES, now=NOW)
    leaf = store.offset(roots[0].children[0].children[0].index)
    first_frame = tree.FIRST_STACK + tree.STACK_SIZE
    changes = [('none', [])]
    for name, offset, code in tree.HEADER_FIELDS:
        if name in HEADER_IS_BAD:
            changes.append(('header ' + name,
                            [(offset, code, HEADER_IS_BAD[name])]))
    for name, offset, code in tree.NODE_FIELDS:
        if name in NODE_IS_BAD:
            changes.append(('node ' + name,
                            [(leaf + offset, code, NODE_IS_BAD[name])]))
    changes += [
        ('header Cursor', [(tree.HEADER['Cursor'][0], 'Q', 12345)]),
        ('stack NextFileOffset', [(tree.FIRST_STACK + 0x20, 'Q', 4095)]),
        ('stack NextFileOffset far', [(tree.FIRST_STACK + 0x20, 'Q',
                                       1 << 40)]),
        ('stack NextFileOffset circle', [(tree.FIRST_STACK + 0x20, 'Q',
                                          tree.FIRST_STACK)]),
        ('frame Node', [(first_frame + 32 + 0x10, 'Q', tree.ADDRESS)]),
        ('frame Node leaf', [(first_frame + 64 + 0x10, 'Q',
                              tree.ADDRESS + leaf)]),
        ('frame Start', [(first_frame + 32 + 0x08, 'Q', 1 << 62)]),
        ('frame Stack of the first', [(first_frame, 'Q', 1)]),
        ('root Parent', [(store.offset(0) + 0x60, 'Q', 1)]),
        ('root Kind', [(store.offset(0) + 0x38, 'I', 1)]),
    ]
    session, files = damaged(scratch, 'fields', changes)
    code, rows, text = support.verify(session)
    for name, what in files.items():
        row = rows.get(name, {'bad': '?', 'result': ''})
        field = what.split()[1] if ' ' in what else ''
        if what == 'node Flags':
            field = 'Kind'          # which does not go with them
        results.check((row['bad'] != '0') == (what != 'none') and
                      field in row['result'] or what == 'header Magic' or
                      what == 'header NumberOfNodes' and row['bad'] != '0',
                      'damage: %s is found' % what, row)
    results.check(code == 2 and len(rows) == len(files), 'damage: verify',
                  [code, text[-500:]])
    check_all_commands(results, session, 'damage')


def check_leaving_out(results, scratch):
    """A bad node takes what is below it along, and nothing else."""
    roots = main_thread()
    store = tree.Store(roots, NAMES, now=NOW)
    fib = store.offset(roots[0].children[0].children[1].index)
    for what, change, gone in (
            ('none', [], ()), ('Fib', [(fib + 0x38, 'I', 4)], ('Fib',))):
        session, _ = damaged(scratch, 'left out ' + what, [(what, change)])
        code, text, errors = support.reader('report', '--csv',
                                            programs.windows_path(session))
        seen = {row['function']: int(row['calls'])
                for row in csv.DictReader(io.StringIO(text))}
        expected = {name: sums.calls for name, sums in
                    tree.functions([(roots, NOW)]).items()
                    if name not in gone}
        results.check(seen == expected and code == 0 and
                      ('Kind is not that of an entry' in errors) == bool(gone),
                      'left out: %s' % what, [code, seen, errors])


def check_cuts(results, scratch):
    """A file that ends anywhere."""
    store = tree.Store(main_thread(), NAMES, now=NOW)
    sizes = [0, 7, 100, 4095, 4096, 4097, 4160, 4191, 4192,
             store.nodes_offset - 1, store.nodes_offset,
             store.nodes_offset + 1, *range(store.nodes_offset + 127,
                                            len(store.data), 100)]
    session, files = damaged(scratch, 'cut',
                             [(str(size), size) for size in sizes])
    code, rows, text = support.verify(session)
    results.check(code == 2 and len(rows) == len(sizes) and all(
        row['bad'] != '0' or row['state'] == 'new' for row in rows.values()),
        'cut: all are found', text[-1500:])
    results.check(any('bytes before the end of its nodes' in row['result']
                      for row in rows.values()), 'cut: the message', text)
    check_all_commands(results, session, 'cut')


def check_noise(results, scratch, count=250):
    """Random fields get random values, several at a time."""
    numbers = random.Random(7)
    store = tree.Store(main_thread(), NAMES, now=NOW)
    places = []
    for name, offset, code in tree.HEADER_FIELDS[8:]:
        places.append((offset, code))
    for index in range(len(store.nodes) + 1):
        places += [(store.offset(index) + offset, code)
                   for _, offset, code in tree.NODE_FIELDS]
    for index in range(3):
        start = tree.FIRST_STACK + tree.STACK_SIZE + 32 * index
        places += [(start + offset, code)
                   for _, offset, code in tree.FRAME_FIELDS]
    places += [(tree.FIRST_STACK + offset, code)
               for _, offset, code in tree.STACK_FIELDS] * 3

    def value(offset, code):
        size = struct.calcsize(code)
        limit = (1 << 8 * size) - 1
        old = store.get(offset, code)
        return numbers.choice([
            0, 1, limit, limit >> 1, old ^ 1 << numbers.randrange(8 * size),
            numbers.randrange(limit), numbers.randrange(0x3000),
            tree.ADDRESS + numbers.randrange(0x3000) & limit])

    changes = []
    for number in range(count):
        changes.append((str(number), [
            (offset, code, value(offset, code)) for offset, code in
            numbers.sample(places, numbers.randrange(1, 5))]))
    session, files = damaged(scratch, 'noise', changes)
    code, rows, text = support.verify(session)
    results.check(code in (0, 2) and len(rows) == count,
                  'noise: verify', [code, text[-500:]])
    check_all_commands(results, session, 'noise')


#
# Real ones.
#

def calls_by_function(session):
    code, text, errors = support.reader('report', '--csv',
                                        programs.windows_path(session))
    return {row['function']: (int(row['calls']), int(row['abandoned']))
            for row in csv.DictReader(io.StringIO(text))}


def check_real(results, scratch):
    program = programs.build_sample(os.path.join(scratch, 'sample'),
                                    programs.PENTER_FLAGS,
                                    [programs.LIBRARY])
    sessions = {}
    for mode in 'file', 'tree':
        directory = os.path.join(scratch, 'real-' + mode)
        _, sessions[mode] = programs.trace(program, directory=directory,
                                           TRACER_MODE=mode)
    with open(support.stores(sessions['tree'])[0], 'rb') as file:
        header = file.read(4096)
    if struct.unpack_from('<I', header, 0x1B0)[0] != 1:
        results.skip('the library makes no trees: no real ones are compared')
        return
    calls = {mode: calls_by_function(session)
             for mode, session in sessions.items()}
    results.equal(calls['tree'], calls['file'],
                  'real: calls and abandoned calls of both modes')
    results.check(len(calls['tree']) > 20 and
                  calls['tree'] != {**calls['file'], 'main': (2, 0)},
                  'control: a call more')
    code, _, text = support.verify(sessions['tree'])
    results.check(code == 0, 'real: verify', text)

    functions = os.path.join(scratch, 'functions')
    code, _, errors = support.reader(
        'exclude', '--output', programs.windows_path(functions),
        programs.windows_path(program), 'WorkerParse')
    results.check(code == 0, 'exclude', [errors])
    _, session = programs.trace(
        program, directory=os.path.join(scratch, 'real-ranges'),
        TRACER_MODE='tree', TRACER_CHRONO=programs.windows_path(functions))
    results.check(len(support.stores(session)) >
                  len(support.stores(sessions['tree'])),
                  'real: chronological ranges have stores')
    results.equal({name: count[0] for name, count in
                   calls_by_function(session).items()},
                  {name: count[0] for name, count in calls['file'].items()},
                  'real: what is in ranges counts once')
    data = json.loads(support.reader(
        'outliers', '--json', 'WorkerParse',
        programs.windows_path(session))[1])
    results.equal(data['summary'][0]['calls'], calls['file']['WorkerParse'][0],
                  'real: single calls are those of the ranges')


def main():
    results = programs.Results()
    schema = None
    if jsonschema:
        with open(SCHEMA, encoding='utf-8') as file:
            schema = json.load(file)
    else:
        results.skip('no jsonschema: JSON is not checked against the schema')
    with programs.Scratch() as scratch:
        session, _, threads = make(scratch)
        reader = Reader(results, session)
        check_report(results, reader, threads, schema)
        check_abandoned(results, scratch)
        check_tree(results, reader, threads, schema)
        check_edges(results, reader, schema)
        check_tables(results, reader, session, schema)
        check_exports(results, reader, threads, scratch)
        check_live(results, reader, threads)
        check_diff(results, scratch, session)
        check_fibers(results, scratch)
        check_ends(results, scratch)
        check_control(results, scratch)
        check_refusals(results, reader, scratch)
        check_mixed(results, scratch, 'mixed', 0, (9, 175))
        check_mixed(results, scratch, 'ranges', 8, (8, 75))
        check_pack(results, reader, scratch, schema)
        check_fields(results, scratch)
        check_leaving_out(results, scratch)
        check_cuts(results, scratch)
        check_noise(results, scratch)
        check_real(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

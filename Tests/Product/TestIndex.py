#!/usr/bin/env python3
"""The index of a thread (Docs/Format.md, section 13): TraceReader replay
--from shows the same with one as without, over the made-up sessions of
TestReportPaths.py and real ones, whether the index is whole, of a part of the
store, damaged, another store's, or cannot be written.

tree and report of a range of time show what trace_reader.py makes of it, with
an index, without one and with a damaged one.
"""
# Takes long.

import collections
import concurrent.futures
import csv
import io
import itertools
import json
import math
import os
import random
import re
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import MadeStores as made                                    # noqa: E402
import TestReportPaths as paths                              # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

SESSIONS = 4
KINDS = ('thread', 'frozen', 'taken back')
MARKS = ['--mark-every', '64']
SOME_MARKS = ['--mark-every', '600']
FORMATS = ([], ['--csv'], ['--json'])
COST = re.compile(r'TraceReader: index: (\d+) marks; (\d+) left out to '
                  r'keep the index small; (\d+) records skipped\n')
HEADER = 64
CURSOR, CURSOR_TO_POSITION = 0x040, 0x050

# By range that was read with functions that wait: whether one did.
WAITED = []


def indexes(session):
    return sorted(os.path.join(session, name) for name in os.listdir(session)
                  if name.endswith('.index'))


def remove_indexes(session):
    for path in indexes(session):
        os.remove(path)


def replay(session, *options):
    """(what replay gave, [marks, left out, passed by] of --verbose)."""
    code, text, errors = support.reader('replay', '--verbose', *options,
                                        programs.windows_path(session))
    found = COST.search(errors)
    errors = COST.sub('', errors)
    return ((code, text, errors),
            [int(number) for number in found.groups()] if found else None)


def times_of(session):
    _, _, threads = paths.replay(session, '--no-index')
    return sorted(int(row['time_ns']) for rows in threads.values()
                  for row in rows)


def check_ranges(results, session, what, times, numbers, count=3):
    """The same from any time on; how many records were passed by."""
    total = 0
    for turn in range(count):
        first = numbers.choice(times) + numbers.randrange(2)
        options = [*FORMATS[turn % len(FORMATS)], '--from', '%dns' % first]
        if turn % 2:
            options += ['--to', '%dns' %
                        (first + max(0, times[-1] - first) // 4)]
        expected, cost = replay(session, '--no-index', *options)
        results.equal(cost, [0, 0, 0], what + ': --no-index')
        seen, cost = replay(session, *MARKS, *options)
        results.check(seen == expected,
                      '%s: %s' % (what, ' '.join(options)),
                      [len(seen[1]), len(expected[1]), seen[2], expected[2]])
        total += cost[2] if cost else 0
    return total


def check_session(results, scratch, number, kind=None):
    numbers = random.Random(1000 + number)
    session = os.path.join(scratch, 'session%d' % number)
    paths.make_session(session, numbers, kind)
    what = 'session %d' % number + (kind is not None) * (', %s' % kind)
    times = times_of(session)
    results.equal(indexes(session), [], what + ': --no-index writes none')
    whole, _ = replay(session, '--no-index')
    results.equal(replay(session, *MARKS)[0], whole, what + ': replay')
    if kind != 'none':
        results.check(indexes(session), what + ': there is an index')
    passed = check_ranges(results, session, what, times, numbers, 6)
    results.check(passed > 0, what + ': records are passed by', [passed])

    #
    # Whoever reads the records leaves the same marks.
    #

    kept = {path: open(path, 'rb').read() for path in indexes(session)}
    remove_indexes(session)
    support.reader('report', *MARKS, '--workers', '3',
                   programs.windows_path(session))
    results.check(check_ranges(results, session, what + ', report', times,
                               numbers, 2) > 0 or len(times) < 500,
                  what + ': report writes indexes')
    return kept


def check_none(results, scratch):
    """Rings, and what has no times, have no index."""
    for number, kind in enumerate(('ring', 'none')):
        session = os.path.join(scratch, 'without%d' % number)
        paths.make_session(session, random.Random(number), kind)
        expected, _ = replay(session, '--no-index')
        for _ in range(2):
            seen, cost = replay(session, *MARKS)
            results.equal(seen, expected, kind + ': replay')
        results.equal(cost, [0, 0, 0], kind + ': no marks')
        results.equal(indexes(session), [], kind + ': no index')


def one_store(folder, seed, steps=20000, oddities=20):
    """A session of one store: (its path, its bytes)."""
    os.makedirs(folder)
    items = paths.Thread(random.Random(seed), oddities).make(steps)[0]
    path = os.path.join(folder, 'made-100-0.trace')
    data = paths.store_of(items, 100, 0, 2)
    with open(path, 'wb') as file:
        file.write(data)
    return path, data


def cut(data, records):
    """The store when it had no more records."""
    body = 16 * records
    head = bytearray(data[:4096])
    cursor, = struct.unpack_from('<Q', head, CURSOR)
    struct.pack_into('<Q', head, CURSOR, cursor - (len(data) - 4096 - body))
    return bytes(head) + data[4096:4096 + body]


def check_growth(results, scratch):
    """What is appended to a store is added to its index."""
    session = os.path.join(scratch, 'growth')
    path, data = one_store(session, 5)
    records = (len(data) - 4096) // 16
    times = times_of(session)
    numbers = random.Random(6)
    marks = 0
    for part in (records // 4, records // 2, records // 2 + 7, records):
        with open(path, 'wb') as file:
            file.write(cut(data, part))
        expected, _ = replay(session, '--no-index')
        before = marks
        seen, (marks, _, _) = replay(session, *MARKS)
        results.equal(seen, expected, 'growth: replay of %d' % part)
        results.check(marks > before or part == records // 2 + 7,
                      'growth: marks are added', [before, marks])
        known = times_of(session)
        check_ranges(results, session, 'growth, %d' % part, known, numbers)
    first = times[len(times) * 9 // 10]
    _, (now, _, passed) = replay(session, *MARKS, '--from', '%dns' % first)
    results.check(now == marks and passed > records // 2,
                  'growth: the end of it', [now, marks, passed])

    #
    # A store that is shorter than its index, or another one.
    #

    with open(path, 'wb') as file:
        file.write(cut(data, records // 3))
    known = times_of(session)
    check_ranges(results, session, 'growth, cut', known, numbers)
    index = open(indexes(session)[0], 'rb').read()
    other = bytearray(data)
    for place in range(4096, len(other), 16):
        time, = struct.unpack_from('<Q', other, place)
        struct.pack_into('<Q', other, place, time + 9 * (time != 0))
    with open(path, 'wb') as file:
        file.write(other)
    known = times_of(session)
    with open(indexes(session)[0], 'wb') as file:
        file.write(index)
    check_ranges(results, session, 'growth, another', known, numbers)


def check_damage(results, scratch):
    """A damaged index is as none; and a file of that name that is not an
    index is left alone.
    """
    session = os.path.join(scratch, 'damage')
    one_store(session, 7, 8000)
    times = times_of(session)
    replay(session, *MARKS)
    path = indexes(session)[0]
    whole = open(path, 'rb').read()
    numbers = random.Random(8)
    options = ['--csv', '--from', '%dns' % times[len(times) * 3 // 4]]
    expected, _ = replay(session, '--no-index', *options)
    used = 0
    for turn in range(30):
        data = bytearray(whole)
        choice = turn % 3
        if choice == 0:
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        elif choice == 1:
            del data[numbers.randrange(len(data)):]
        else:
            place = numbers.randrange(HEADER)
            data[place] = numbers.randrange(256)
        with open(path, 'wb') as file:
            file.write(data)
        seen, cost = replay(session, *MARKS, *options)
        results.equal(seen, expected, 'damage %d' % turn)
        used += cost is not None and cost[2] > 0
    results.check(used < 30, 'damage: it is noticed', [used])
    for text in (b'not an index', b'x' * 500):
        with open(path, 'wb') as file:
            file.write(text)
        seen, cost = replay(session, *MARKS, *options)
        results.equal(seen, expected, 'another file')
        results.equal(open(path, 'rb').read(), text, 'it is left alone')
    with open(path, 'wb') as file:
        file.write(whole)
    seen, (_, _, passed) = replay(session, *MARKS, *options)
    results.check(seen == expected and passed > 0, 'damage: without', [passed])
    os.remove(path)
    os.mkdir(path)
    seen, cost = replay(session, *MARKS, *options)
    results.equal((seen, cost), (expected, [0, 0, 0]), 'a folder of its name')


def check_bound(results, scratch):
    """An index is not larger than 1/64 of its records and 64 KiB."""
    session = os.path.join(scratch, 'deep')
    os.makedirs(session)
    items, rsp, time = [], made.TOP - 0x100, 10 ** 9
    numbers = random.Random(9)
    depth = 0
    for _ in range(60000):
        if depth and numbers.random() < 0.3:
            items.append((0x1040, rsp, made.EXIT))
            rsp += 16
            depth -= 1
        else:
            rsp -= 16
            depth += 1
            items.append((0x1000, rsp, made.ENTER))
    records = []
    for rva, stack, kind in items:
        time += 3
        records.append(made.record(time, rva, stack & 0xFFFFFFFF, kind))
    with open(os.path.join(session, 'made-100-0.trace'), 'wb') as file:
        file.write(paths.store_of(records, 100, 0, 2))
    times = times_of(session)
    expected, _ = replay(session, '--no-index', '--csv')
    seen, (marks, left, _) = replay(session, *MARKS, '--csv')
    results.check(seen == expected and marks > 3 and left > 3,
                  'deep: marks are left out', [marks, left])
    size = os.path.getsize(indexes(session)[0])
    results.check(size <= 16 * len(records) // 64 + 65536, 'deep: the bound',
                  [size])
    results.check(check_ranges(results, session, 'deep', times, numbers) > 0,
                  'deep: what there is of it is used')


def check_readers(results, scratch):
    """Several readers write and read one index at a time."""
    session = os.path.join(scratch, 'readers')
    one_store(session, 11)
    times = times_of(session)
    options = ['--csv', '--from', '%dns' % times[-200]]
    path = programs.windows_path(session)
    expected, _ = replay(session, '--no-index', *options)
    for turn in range(3):
        remove_indexes(session)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for code, text, _ in pool.map(lambda _: support.reader(
                    'replay', *MARKS, *options, path), range(4)):
                results.equal((code, text), expected[:2],
                              'readers at a time, turn %d' % turn)
    _, cost = replay(session, *MARKS, *options)
    results.check(cost and cost[2] > 0, 'readers: an index is left', [cost])


def check_fibers(results, scratch):
    """Many fibers, of which few run between two marks."""
    session = os.path.join(scratch, 'fibers')
    os.makedirs(session)
    numbers = random.Random(12)
    thread = paths.Thread(numbers, 0)
    thread.stacks = [[] for _ in range(60)]
    records = []
    for turn in range(400):
        thread.current = numbers.choice((turn // 10 % 60, turn // 40 % 60))
        thread.make(numbers.randrange(2, 60))
    records = thread.records
    for module, items in enumerate(records):
        with open(os.path.join(session, 'made-100-%d.trace' % module),
                  'wb') as file:
            file.write(paths.store_of(items, 100, module, 1 + module % 2))
    times = times_of(session)
    expected, _ = replay(session, '--no-index', '--csv')
    seen, (marks, _, _) = replay(session, *MARKS, '--csv')
    results.check(seen == expected and marks > 30 and
                  re.search(r',[345]\d,', seen[1]), 'fibers', [marks])
    results.check(check_ranges(results, session, 'fibers', times, numbers,
                               10) > 0, 'fibers: records are passed by')


class Range:
    """What a thread did from one time stamp to another one, by function and by
    path: a watch for trace_reader.pair().

    Time is charged to the innermost frame of the stack that ran, record by
    record; what is open at the end of the range ends there.
    """

    def __init__(self, first, last, tree, report):
        self.first, self.last = first, last
        self.tree, self.report = tree, report
        self.open = {}          # id of a frame -> [ticks of its own, path]
        self.active = collections.Counter()
        self.before = None      # the record before: its time
        self.jumps = 0          # of the clock, when the range began
        self.is_over = False

    def record(self, time, stacks, current, jumps):
        if self.is_over:
            return
        self.charge(min(time, self.last), current)
        if time > self.last:
            for stack in reversed(stacks):
                frames = list(stack.frames)
                while frames:
                    self.leave(frames, self.last, 'open', self.before_jumps)
                    frames.pop()
            self.is_over = True
        if time < self.first:
            self.jumps = jumps
        self.before, self.before_jumps = time, jumps

    def charge(self, time, stack):
        if self.before is not None and stack.frames:
            began = max(self.before, self.first)
            if time > began:
                self.open[id(stack.frames[-1])][0] += time - began

    def enter(self, frames):
        if not self.is_over:
            frame = frames[-1]
            above = self.open[id(frames[-2])][1] if len(frames) > 1 else ()
            self.open[id(frame)] = [0, above + (self.key(frame),)]
            self.active[self.key(frame)] += 1

    def key(self, frame):
        return frame[4].key

    def leave(self, frames, time, how, jumps):
        if self.is_over:
            return
        frame = frames[-1]
        key, start = self.key(frame), frame[2]
        own, path = self.open.pop(id(frame))
        self.active[key] -= 1
        if time < self.first:
            return
        elapsed = time - max(start, self.first)
        jumps_before = frame[5] if start >= self.first else self.jumps
        for totals, is_outermost in (
                (self.tree.setdefault(path, collections.Counter()), True),
                (self.report.setdefault(key, collections.Counter()),
                 not self.active[key])):
            totals['calls'] += 1
            totals['begun_before'] += start < self.first
            totals['uncertain'] += jumps != jumps_before
            if how == 'abandoned':
                totals['abandoned'] += 1
                totals['abandoned_time_ns'] += is_outermost * elapsed
                continue
            totals['unfinished'] += how == 'open'
            totals['total_ns'] += is_outermost * elapsed
            totals['self_ns'] += own
            if 'min_ns' not in totals or elapsed < totals['min_ns']:
                totals['min_ns'] = elapsed
            totals['max_ns'] = max(totals['max_ns'], elapsed)


class Keys(dict):
    """Functions that know which one they are."""

    def setdefault(self, key, function):
        if key not in self:
            self[key] = Keyed(key)
        return self[key]


class Keyed(trace_reader.Function):
    __slots__ = ('key',)

    def __init__(self, key):
        super().__init__()
        self.key = key


FIELDS = ('calls', 'total_ns', 'self_ns', 'min_ns', 'max_ns', 'abandoned',
          'abandoned_time_ns', 'unfinished', 'uncertain', 'begun_before')


def expected_range(session, first, last):
    """(path -> numbers, function -> numbers) of a range, nanoseconds after
    the first record; None: there is no such end.
    """
    stores = trace_reader.open_all([session])
    start = min(time for store in stores
                for time, _, _, _ in itertools.islice(store.records(), 1))
    tree, report = {}, {}
    for store in stores:
        watch = Range(start + first if first else 0,
                      math.inf if last is None else start + last,
                      tree, report)
        trace_reader.pair(store, Keys(), watch=watch)
    return [{key: tuple(totals[field] for field in FIELDS)
             for key, totals in found.items()} for found in (tree, report)]


def rva_of(row):
    return int(row['function'].split('+')[1], 16)


def numbers_of(row):
    return tuple(int(row[field]) for field in FIELDS)


def seen_tree(text):
    """The same as TraceReader tree --csv says it."""
    found, paths_by_node = {}, {'0': ()}
    for row in csv.DictReader(io.StringIO(text)):
        above = () if row['depth'] == '0' else paths_by_node[row['parent']]
        path = paths_by_node[row['node']] = above + (rva_of(row),)
        found[path] = numbers_of(row)
    return found


def seen_report(text):
    return {rva_of(row): numbers_of(row)
            for row in csv.DictReader(io.StringIO(text))}


class OneModule(paths.Thread):
    """Makes up a thread of one module: trace_reader pairs store by store."""

    def add(self, function, rsp, kind):
        rva = 0x1000 + function * 0x100
        if kind == made.EXIT:
            rva += 0x40
        self.records[0].append(made.record(self.time, rva, rsp & 0xFFFFFFFF,
                                           kind))


def make_one_module(folder, numbers, oddities, steps, kind=paths.plain()):
    """Three threads, one of which has little to say."""
    os.makedirs(folder)
    for thread, count in enumerate((6000, 300, 5000)):
        items = OneModule(numbers, oddities, steps)
        items.time += thread * 1000
        with open(os.path.join(folder, 'made-%d-0.trace' % (100 + thread)),
                  'wb') as file:
            file.write(paths.store_of(items.make(count)[0], 100 + thread, 0,
                                      1 + thread % 2, kind))


def bounds(first, last):
    """The options for a range."""
    return ((['--from', '%dns' % first] if first else []) +
            ([] if last is None else ['--to', '%dns' % last]))


def run(command, session, *options):
    """(what the command gave without its cost, [marks, left out, passed])."""
    code, text, errors = support.reader(command, '--verbose', '--csv',
                                        *options,
                                        programs.windows_path(session))
    found = COST.search(errors)
    cost = [int(number) for number in found.groups()] if found else None
    return (code, text, re.sub(r'TraceReader: (index|\d+ records of).*\n', '',
                               errors)), cost


def check_range(results, session, what, first, last):
    """tree and report of a range, by any way: records that were passed by."""
    what = '%s, from %s to %s' % (what, first, last)
    options = bounds(first, last)
    expected_tree, expected_report = expected_range(session, first, last)
    plain, cost = run('tree', session, '--no-index', *options)
    results.check(plain[0] == 0 and seen_tree(plain[1]) == expected_tree,
                  what + ': tree',
                  differences(seen_tree(plain[1]), expected_tree))
    results.equal(cost, [0, 0, 0], what + ': tree --no-index')
    seen, cost = run('tree', session, *MARKS, *options)
    results.check(seen == plain, what + ': tree with an index')
    passed = cost[2] if cost else 0
    plain, _ = run('report', session, '--no-index', '--general',
                   '--workers', '1', *options)
    results.check(plain[0] == 0 and seen_report(plain[1]) == expected_report,
                  what + ': report',
                  differences(seen_report(plain[1]), expected_report))
    seen, cost = run('report', session, '--workers', str(1 + first % 3),
                     *MARKS, *options)
    results.check(seen == plain, what + ': report with an index')
    passed = min(passed, cost[2] if cost else 0)
    with tempfile.TemporaryDirectory() as folder:

        # Of frames that a mark has, too, it is known whether they wait.
        path = os.path.join(folder, 'waits')
        with open(path, 'w', encoding='utf-8') as file:
            names = sorted(row['function'] for row in csv.DictReader(
                io.StringIO(seen[1])))
            for number, name in enumerate(names):
                file.write('%s %s\n' % (name, ('sleep', 'lock')[number % 2])
                           if number % 3 else '')
        listed = ('--waits', programs.windows_path(path),
                  '--contention', '20us', *options)
        for command in 'report', 'tree':
            plain, _ = run(command, session, '--no-index', '--general',
                           *listed)
            seen, _ = run(command, session, *MARKS, *listed)
            results.check(seen == plain and plain[0] == 0,
                          '%s: %s with waits' % (what, command),
                          [line for pair in zip(plain[1].split('\n'),
                                                seen[1].split('\n'))
                           if pair[0] != pair[1] for line in pair] +
                          [plain[0], plain[2], seen[0], seen[2]])
        WAITED.append(any(row['waited_ns'] != '0' for row in csv.DictReader(
            io.StringIO(plain[1]))))
    #
    # What the two have in common.
    #

    for field in 'calls', 'self_ns', 'abandoned', 'unfinished', 'begun_before':
        place = FIELDS.index(field)
        sums = collections.Counter()
        for path, row in expected_tree.items():
            sums[path[-1]] += row[place]
        results.equal(dict(sums), {key: row[place] for key, row in
                                   expected_report.items()},
                      '%s: %s of tree and report' % (what, field))
    return passed


def differences(seen, expected):
    return [(key, seen.get(key), expected.get(key))
            for key in {**expected, **seen}
            if seen.get(key) != expected.get(key)][:5]


def check_clipping(results, scratch):
    """tree and report of a part of the session."""
    for number, (oddities, kind, steps) in enumerate((
            (0, paths.plain(), (0, 0, 1, 3, 20, 500)),
            (30, paths.plain(), (0, 0, 1, 3, 20, 500)),
            (20, paths.Kind(paths.CLOCK_THREAD, 1, 1),
             40 * (0,) + 8 * (103,) + (707, 9001)))):
        numbers = random.Random(700 + number)
        session = os.path.join(scratch, 'clipped%d' % number)
        make_one_module(session, numbers, oddities, steps, kind)
        times = times_of(session)
        what = 'clipped %d' % number
        end = times[-1]

        #
        # A range leaves no marks of frames that it has clipped.
        #

        check_range(results, session, what, end // 3, None)
        for place in 2, 3:
            options = ['--csv', '--from', '%dns' % (end * place // 4)]
            results.check(replay(session, *MARKS, *options)[0] ==
                          replay(session, '--no-index', *options)[0],
                          what + ': replay after a range')
        ranges = [(0, None), (0, end // 3), (end * 2 // 3, None),
                  (numbers.choice(times), None),
                  (times[len(times) // 2], times[len(times) // 2]),
                  (end + 1000, None),
                  sorted(numbers.choice(times) + numbers.randrange(2)
                         for _ in range(2))]
        passed = [check_range(results, session, what, *item)
                  for item in ranges]
        results.check(passed[2] > 4000 and passed[5] > 10000 and
                      not passed[0] and not passed[1],
                      what + ': records are passed by', passed)
        check_differ(results, session, what, *ranges[2:4], end)
        check_clipping_damage(results, session, what, ranges[2])


def check_differ(results, session, what, first, second, end):
    """The controls: other ranges, other results; and the parts make up the
    whole.
    """
    whole = expected_range(session, 0, None)[1]
    results.check(expected_range(session, *first)[1] !=
                  expected_range(session, *second)[1],
                  what + ': control: another range')
    results.check(any(row[-1] for row in
                      expected_range(session, *first)[1].values()),
                  what + ': control: calls began before')
    middle = first[0]
    parts = [expected_range(session, 0, middle)[1],
             expected_range(session, middle, None)[1]]
    if not any(row[5] for row in whole.values()):
        place = FIELDS.index('self_ns')
        results.equal({key: sum(part[key][place] for part in parts
                                if key in part) for key in whole},
                      {key: row[place] for key, row in whole.items()},
                      what + ': two parts make up the whole')


def check_clipping_damage(results, session, what, bounds_of):
    """A damaged index is as none to tree and report, too."""
    numbers = random.Random(7)
    options = bounds(*bounds_of)
    expected = {command: run(command, session, '--no-index', *options)[0]
                for command in ('tree', 'report')}
    kept = {path: open(path, 'rb').read() for path in indexes(session)}
    results.check(len(kept) == 3, what + ': indexes', sorted(kept))
    for turn in range(6):
        for path, data in kept.items():
            data = bytearray(data)
            if turn % 3 == 2:
                del data[numbers.randrange(len(data)):]
            else:
                for _ in range(1 + 40 * (turn % 3)):
                    data[numbers.randrange(len(data))] ^= \
                        1 << numbers.randrange(8)
            with open(path, 'wb') as file:
                file.write(data)
        command = ('tree', 'report')[turn % 2]
        seen, _ = run(command, session, *MARKS, *options)
        results.check(seen == expected[command],
                      '%s: %s, damage %d' % (what, command, turn))
    for path, data in kept.items():
        with open(path, 'wb') as file:
            file.write(data)


def check_range_usage(results, scratch):
    """What is said of ranges, and which there are none of."""
    session = os.path.join(scratch, 'clipped0')
    path = programs.windows_path(session)
    for command in 'tree', 'report', 'replay':
        code, text, errors = support.reader(command, '--from', '2us', '--to',
                                            '1us', path)
        results.check(code == 1 and not text and
                      '--from is later than --to' in errors,
                      command + ': no range', [errors])
    for command in 'tree', 'report':
        code, text, errors = support.reader(command, '--from', '1.5us',
                                            '--to', '0.012345678s', path)
        results.check(code == 0 and
                      'Range: from 1500 ns to 12345678 ns after the first '
                      'record.' in text and 'Begun before' in text,
                      command + ': the range in full', [text[-400:], errors])
        text = support.reader(command, path)[1]
        results.check('Begun before' not in text and 'Range' not in text,
                      command + ': without a range', [text[-400:]])
    for value in '1.5', '1.', '0.0000000001s', '1.2345us', '.', 's', '1.x':
        code, text, errors = support.reader('tree', '--from', value, path)
        results.check(code == 1 and not text and
                      'bad value "%s" for --from' % value in errors,
                      'tree --from ' + value, [errors])
    rows = json.loads(support.reader('tree', '--json', '--from', '5us',
                                     path)[1])['nodes']
    results.check(any(row['begun_before'] for row in rows),
                  'JSON says which calls began before', rows[:2])
    check_from_end(results, path)


def check_from_end(results, path):
    """Times before the last record are those after the first one."""
    _, _, errors = support.reader('replay', '--from', '18446744073s', path)
    last = int(re.search(r'long: from 0 to (\d+) ns', errors).group(1))
    seen = []
    for begin, end in ((1000, None), (last // 3, None), (last // 2, None),
                       (last, None), (last + 5, None), (None, last // 4),
                       (last // 2, last // 4), (1, 0)):
        negative, positive = [], []
        for option, time in (('--from', begin), ('--to', end)):
            if time is not None:
                negative += [option, '-%dns' % time]
                positive += [option, str(max(0, last - time))]
        for command in 'replay', 'tree', 'report':
            what = '%s %s' % (command, ' '.join(negative))
            expected = support.reader(command, '--json', *positive, path)
            results.check(expected[0] == 0 and expected[1],
                          what + ': control', [expected])
            results.equal(support.reader(command, '--json', *negative, path),
                          expected, what)
        seen.append(expected[1])
    results.check(len(set(seen)) >= len(seen) - 1,
                  'control: ranges before the end differ')
    code, text, _ = support.reader('report', '--from', '-2us', path)
    results.check(code == 0 and 'Range: from 2000 ns before the last record '
                  'on.' in text, 'the range before the end', [text[-300:]])
    for value in '-', '-mark:a', '--1', '-1.5':
        code, text, errors = support.reader('tree', '--from', value, path)
        results.check(code == 1 and not text and
                      'bad value "%s" for --from' % value in errors,
                      'tree --from ' + value, [errors])


class Ends:
    """How many records come after a mark, and which calls begin there, and
    which are open in the end: a watch for trace_reader.pair().
    """

    def __init__(self, passed):
        self.passed = passed    # records
        self.records = 0
        self.calls = collections.Counter()
        self.left = []

    def record(self, *_):
        self.records += 1

    def enter(self, frames):
        if self.records > self.passed:
            self.calls[frames[-1][4].key] += 1

    def leave(self, frames, _, how, __):
        if how == 'open':
            self.left.insert(0, frames[-1][4].key)


def last_mark(path):
    """Section 13: (records before the last mark, the time, marks)."""
    with open(path, 'rb') as file:
        data = file.read()
    marks, last = struct.unpack_from('<2Q', data, 16)
    time, records = struct.unpack_from('<2Q', data, last + 32)
    return records, time, marks


def put_cursor(path, data, records):
    """Publishes so many of the store's records."""
    cursor, = struct.unpack_from('<Q', data, CURSOR)
    cursor -= len(data) - 4096 - 16 * records
    with open(path, 'r+b') as file:
        os.pwrite(file.fileno(), struct.pack('<Q', cursor), CURSOR)


def live_until(process, records):
    """The lines of TraceReader live, up to the refresh that follows the one
    that shows so many records.
    """
    lines = []
    for line in process.stdout:
        lines.append(support.decode(line).rstrip('\n'))
        shown = re.search(r' (\d+) records, ', lines[-1])
        if shown and lines and any(' %d records, ' % records in other
                                   for other in lines[:-1]):
            break
    return lines


def check_live(results, scratch):
    """live begins at the last mark of a running program's index, and shows
    what came since.
    """
    busy = support.start(support.build_busy(os.path.join(scratch, 'busy')),
                         'run', '1', '640000', '10000',
                         directory=os.path.join(scratch, 'traces'))
    try:
        first = support.wait_for(lambda: [
            path for path in support.stores(os.path.join(scratch, 'traces'))
            if os.path.getsize(path) >= 4096 and
            open(path, 'rb').read(8) == b'TRCSTORE'])
        if results.check(first, 'live: a program runs'):
            with open(first[0], 'rb') as file:
                process = file.read(4096)
            for number, (options, is_damaged) in enumerate((
                    ([], False), (['--from-start'], False),
                    (['--no-index'], False), ([], True))):
                check_live_store(results, scratch, process, number, options,
                                 is_damaged)
    finally:
        busy.kill()
        busy.communicate()


def check_live_store(results, scratch, process, number, options,
                     is_damaged):
    """A session of that process, of which more is published meanwhile."""
    session = os.path.join(scratch, 'live%d' % number)
    what = 'live%s%s' % (is_damaged * ', damaged', ' '.join(['', *options]))
    is_whole = is_damaged or bool(options)
    os.makedirs(session)
    path = os.path.join(session, 'made-100-0.trace')
    data = bytearray(paths.store_of(
        OneModule(random.Random(77), 10).make(20000)[0], 100, 0, 1))
    data[0x018:0x01C] = process[0x018:0x01C]
    data[0x020:0x028] = process[0x020:0x028]
    whole = (len(data) - 4096) // 16
    part = whole * 9 // 10
    with open(path, 'wb') as file:
        file.write(data)
    put_cursor(path, data, part)
    native = programs.windows_path(session)
    results.equal(support.reader('report', *SOME_MARKS, native)[0], 0,
                  what + ': report')
    passed, time, marks = last_mark(indexes(session)[0])
    results.check(passed > part // 2, what + ': a late mark', [passed, part])
    before = count_good(path, 0).records
    put_cursor(path, data, whole)
    after, everything = count_good(path, before), count_good(path, 0)
    put_cursor(path, data, part)
    new = after.records - before
    if is_whole:
        passed = 0
    if is_damaged:
        with open(indexes(session)[0], 'r+b') as file:
            file.seek(HEADER + 20)
            file.write(b'damaged!')

    live = support.start(programs.READER, 'live', '--interval', '200',
                         '--limit', '100', *SOME_MARKS, *options, native)
    try:
        lines = live_until(live, before - passed)
        put_cursor(path, data, whole)
        lines += live_until(live, after.records - passed)
    finally:
        live.kill()
        live.communicate()
    text = '\n'.join(lines)
    since = re.findall(r'Records since (\S+) s after', text)
    begin = next(trace_reader.Store(path).records())[0]
    results.equal(since, [] if is_whole else
                  ['%d.%09d' % divmod(time - begin, 10 ** 9)],
                  what + ': since when')
    refreshes = text.split('\n\n')
    found = [part for part in refreshes
             if ' %d records, %d new in ' % (after.records - passed,
                                             new) in part]
    if not results.check(len(found) == 1, what + ': the records', [text]):
        return
    seconds = float(re.search(r'new in ([0-9.]+) s', found[0]).group(1))
    rates = {int(rva, 16): int(rate) for rate, rva in
             re.findall(r'^ *(\d+) +\S+ \S+  \S+\+(0x[0-9a-f]+)$', found[0],
                        re.M)}
    fits = [all(int(count / (seconds + 0.001)) <= rates.get(key, 0) <=
                int(count / seconds) for key, count in watch.calls.items())
            for watch in (after, everything)]
    results.equal(fits, [True, False], what + ': the calls, and all calls')
    frames = re.findall(r'^  +[0-9.]+ +\S+  \S+\+(0x[0-9a-f]+)$',
                        found[0][found[0].index('Thread 100'):], re.M)
    results.equal([int(rva, 16) for rva in frames], after.left,
                  what + ': the open frames')
    now = last_mark(indexes(session)[0])
    if '--no-index' in options:
        results.equal(now[2], marks, what + ': no marks are added')
        return
    results.check(now[2] > marks, what + ': marks are added', [now, marks])
    for place in 2, 3, 4:
        first = '%dns' % ((now[1] - begin) * place // 4)
        results.check(replay(session, *SOME_MARKS, '--from', first)[0] ==
                      replay(session, '--no-index', '--from', first)[0],
                      what + ': replay with its marks')


def count_good(path, passed):
    watch = Ends(passed)
    trace_reader.pair(trace_reader.Store(path), Keys(), watch=watch)
    return watch


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for number in range(SESSIONS):
            check_session(results, scratch, number)
        for number, kind in enumerate(KINDS):
            check_session(results, scratch, SESSIONS + number, kind)
        check_none(results, scratch)
        check_growth(results, scratch)
        check_damage(results, scratch)
        check_bound(results, scratch)
        check_fibers(results, scratch)
        check_readers(results, scratch)
        check_clipping(results, scratch)
        check_range_usage(results, scratch)
        check_live(results, scratch)
    results.check(sum(WAITED) > 3, 'something waited', [WAITED])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Datasets of many machines (Docs/Fleet.md): what export --append adds of a
process that is cleared between, and the page's questions.

Sessions are made up or traced.  Of made-up ones it is known what each file has
to say; of traced ones that is what report --csv said at that time.
"""
# Takes long.

import collections
import csv
import datetime
import io
import itertools
import math
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import EventSupport as events                                # noqa: E402
import ParquetSupport as parquet                             # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestControl as steering                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestMarks as marks                                    # noqa: E402
import TestTreeReader as trees                               # noqa: E402
import TreeSupport as tree                                   # noqa: E402
import trace_reader                                          # noqa: E402
from StoreSupport import programs                            # noqa: E402
from TestMarks import CLEAR, MARK, ZERO, enter, leave        # noqa: E402

A, B, C = range(3)
BEGINNING = 133_000_000_000_000_000     # of made-up stores (FILETIME)
DAY = 24 * 3600 * 10 ** 7


#
# What is known of a dataset.
#

def name_of(filetime, pid):
    """The folder's date and the file's name of a process."""
    seconds, rest = divmod(filetime - support.FILETIME_OF_1970, 10 ** 7)
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(0, seconds)
    return '%s' % when.date(), '%s%07d00Z-%d' % (
        when.strftime('%Y%m%dT%H%M%S'), rest, pid)


class Dataset:
    """A dataset that a test adds to."""

    def __init__(self, exporter, scratch, name):
        self.exporter, self.results = exporter, exporter.results
        self.what, self.path = name, os.path.join(scratch, name)
        self.known = {}

    def append(self, session, *arguments, **expected):
        return self.exporter.append(
            self.path, session, '--host', 'h', '--tables',
            'calls,functions,marks', *arguments, **expected)

    def names(self):
        """(date, name) of each process."""
        found = set()
        for path in parquet.files(self.path):
            _, _, date, _, name = path.split(os.sep)
            found.add((date.split('=')[1], name.split('.')[0]))
        return sorted(found)

    def bytes(self, name):
        """What all the files of a process have in them."""
        found = {}
        for path in parquet.files(self.path):
            if name[1] in path:
                with open(os.path.join(self.path, path), 'rb') as file:
                    found[path] = file.read()
        return found

    def rows(self, table, name=None):
        """The rows of a table, of one process or of all.  What is new is read
        at once."""
        found = {}
        for path in parquet.files(self.path):
            state = os.stat(os.path.join(self.path, path))
            found[path] = state.st_ino, state.st_mtime_ns, state.st_size
        new = [path for path, state in found.items()
               if self.known.get(path, [None])[0] != state]
        for path, each in zip(new, self.exporter.engines.read(*(
                os.path.join(self.path, path) for path in new)) if new else []):
            self.known[path] = found[path], each.rows
        return [row for path in found if path.startswith(table) and
                (name is None or name[1] in path)
                for row in self.known[path][1]]

    def calls(self, name=None):
        """Function -> how many calls."""
        found = collections.Counter()
        for row in self.rows('functions', name):
            found[row['function']] += row['calls']
        return dict(found)


def control(session, actions, **changes):
    """Writes a control file: (kind, time stamp, FILETIME, text, thread)."""
    places = []
    for kind, time_stamp, system, *more in actions:
        place = bytearray(support.control_action(kind, time_stamp, *more))
        struct.pack_into('<Q', place, 0x10, system)
        places.append(bytes(place))
    support.write_control(session, places, **changes)


#
# A process that is cleared.
#

RECORDS = [enter(0, A, 1), enter(10, B, 2), leave(20, B, 2),
           enter(30, C, 2), leave(50, C, 2), enter(60, C, 2), leave(65, C, 2),
           leave(100, A, 1)]


def check_clear(results, exporter, scratch):
    """Records: what was added before the clear stays, and what is added after
    it is what came after it."""
    folder = os.path.join(scratch, 'records')
    session = filters.make_session(folder, marks.NAMES, [RECORDS])
    dataset = Dataset(exporter, scratch, 'cleared')
    early = [(MARK, ZERO + 15, BEGINNING, 'early', 1)]
    control(session, early)
    dataset.append(session)
    first = name_of(BEGINNING, 4242)
    results.equal(dataset.names(), [first], 'before the clear: its beginning')
    results.equal(dataset.calls(), {'A': 1, 'B': 1, 'C': 2},
                  'before the clear: calls')
    before = dataset.bytes(first)

    # The control: without a clear it is the same process.
    dataset.append(session)
    results.equal((dataset.names(), dataset.bytes(first)), ([first], before),
                  'not cleared: it is the same process')

    #
    # An older clear is behind the newer one in the file; both are of another
    # day than the beginning, and the clock's time for their time stamps is
    # another one than what they say.
    #

    clear = BEGINNING + 3 * DAY + 1234567
    actions = early + [(CLEAR, ZERO + 40, clear),
                       (CLEAR, ZERO + 5, BEGINNING + DAY),
                       (MARK, ZERO + 60, clear + 1, 'late', 1)]
    control(session, actions)
    second = name_of(clear, 4242)
    for _ in range(2):
        dataset.append(session)
        results.equal((dataset.names(), dataset.bytes(first)),
                      ([first, second], before),
                      'cleared: what was added before stays')
    results.check(first[0] != second[0], 'cleared: another day')
    rows = dataset.rows('calls', second)
    results.equal(sorted((row['function'], row['start'], row['duration'],
                          row['depth']) for row in rows),
                  [('A', 40, 60, 0), ('C', 40, 10, 1), ('C', 60, 5, 1)],
                  'cleared: calls since, in the session\'s time')
    begun = (BEGINNING + (ZERO - 1000) // 100 -
             support.FILETIME_OF_1970) // 10
    for table in parquet.TABLES:
        results.equal(
            {(row['session'], row['begun'])
             for row in dataset.rows(table, second)},
            {(second[1], datetime.datetime.utcfromtimestamp(
                begun / 10 ** 6).isoformat(timespec='milliseconds') + 'Z')},
            'cleared: begun is what times are counted from, %s' % table)
    results.equal([(row['name'], row['time'])
                   for row in dataset.rows('marks', second)],
                  [('cleared', 40), ('late', 60)], 'cleared: marks since')
    results.equal([row['name'] for row in dataset.rows('marks', first)],
                  ['early'], 'cleared: the mark of before')
    results.equal(dataset.calls(), {'A': 2, 'B': 1, 'C': 4},
                  'cleared: what was open counts in both')

    #
    # When its control file cannot be read, nothing takes a place.
    #

    path = os.path.join(session, support.CONTROL_NAME)
    with open(path, 'rb') as file:
        good = file.read()
    everything = dataset.bytes(first), dataset.bytes(second)
    for what, bad in ('another magic', b'X' + good[1:]), ('cut', good[:40]):
        with open(path, 'wb') as file:
            file.write(bad)
        errors = dataset.append(session, code=1)
        results.check('nothing is added: session.control cannot be read' in
                      errors and dataset.names() == [first, second] and
                      everything == (dataset.bytes(first),
                                     dataset.bytes(second)),
                      'control file: ' + what, [errors, dataset.names()])
    with open(path, 'wb') as file:
        file.write(good)

    #
    # Packed, it is the same process, and the same rows.
    #

    whole = dataset.bytes(second)
    pack = os.path.join(folder, 'packed.tpk')
    code, _, errors = support.reader('pack', '-o', programs.windows_path(pack),
                                     programs.windows_path(session))
    results.check(code == 0, 'pack', [errors])
    dataset.append(pack)
    results.equal((dataset.names(), dataset.bytes(second) == whole,
                   dataset.bytes(first) == before),
                  ([first, second], True, True), 'packed')

    # Cleared once more, and nothing has come since but what was open.
    third = name_of(clear + DAY, 4242)
    control(session, actions + [(CLEAR, ZERO + 70, clear + DAY)])
    dataset.append(session)
    results.equal((dataset.names(), dataset.calls(third),
                   dataset.bytes(second) == whole),
                  ([first, second, third], {'A': 1}, True),
                  'cleared again: nothing but what is open')

    # An action without a time of day tells nothing.
    control(session, early + [(CLEAR, ZERO + 40, 0)])
    odd = Dataset(exporter, scratch, 'no time of day')
    odd.append(session)
    results.equal((odd.names(), odd.calls()), ([first], {'A': 1, 'C': 2}),
                  'a clear without a time of day')

    # All of it, whatever was cleared, has no place.
    code, text, errors = support.reader(
        'export', '--format', 'parquet', '--append',
        programs.windows_path(dataset.path), '--all',
        programs.windows_path(session))
    results.check(code == 1 and '--append and --all exclude' in errors,
                  '--append --all', [code, text, errors])


def check_clear_first(results, exporter, scratch):
    """A clear before anything was recorded, and a mark before it."""
    session = filters.make_session(os.path.join(scratch, 'first'),
                                   marks.NAMES, [RECORDS])
    clear = BEGINNING - 5
    control(session, [(MARK, ZERO - 20, clear - 1, 'early', 1),
                      (CLEAR, ZERO - 10, clear),
                      (MARK, ZERO + 20, clear, 'late', 1)])
    dataset = Dataset(exporter, scratch, 'cleared first')
    dataset.append(session)
    name = name_of(clear, 4242)
    results.equal((dataset.names(), dataset.calls(),
                   [row['name'] for row in dataset.rows('marks')]),
                  ([name], {'A': 1, 'B': 1, 'C': 2},
                   ['cleared', 'late']),
                  'cleared before the first record')


def check_trees(results, exporter, scratch):
    """Trees: whether the thread has carried out the clear or its reader does,
    they have lost what was before, and the dataset has not."""
    dataset = Dataset(exporter, scratch, 'cleared trees')
    clear = BEGINNING + 2 * DAY
    first, second = name_of(BEGINNING, 4242), name_of(clear, 4242)
    early = (MARK, 1500, BEGINNING + 1, 'early', 1)

    def make(name, roots, actions, done):
        session, _ = tree.write_session(
            os.path.join(scratch, 'trees ' + name), trees.NAMES,
            [(roots, dict(now=None, NumberOfActions=done))])
        control(session, actions)
        return session

    def main_of(calls, total):
        return [tree.call('main', 1, 0, tree.call('Run', calls, total),
                          open=1000)]

    actions = [early, (CLEAR, 3000, clear), (MARK, 4000, clear, 'late', 1)]
    dataset.append(make('before', main_of(7, 700), actions[:1], 0))
    before = dataset.bytes(first)
    for what, roots, done, wanted in (
            ('not carried out', main_of(7, 700), 0, {'main': 1}),
            ('carried out', [tree.call('main', 1, 0,
                                       tree.call('Run', 2, 90), open=3000)],
             3, {'main': 1, 'Run': 2})):
        dataset.append(make(what, roots, actions, done))
        results.equal(
            (dataset.names(), dataset.bytes(first) == before,
             dataset.calls(first), dataset.calls(second),
             [row['name'] for row in dataset.rows('marks', second)]),
            ([first, second], True, {'main': 1, 'Run': 7}, wanted,
             ['cleared', 'late']), 'trees: %s' % what)


def check_processes(results, exporter, scratch):
    """Of two processes one is cleared."""
    folder = os.path.join(scratch, 'two')
    clear = BEGINNING + DAY
    marks.make_processes(results, folder, (RECORDS, []), (RECORDS, []))
    parent = os.path.join(folder, 'parent')
    dataset = Dataset(exporter, scratch, 'two of them')
    dataset.append(parent, '--all-runs')
    names = [name_of(BEGINNING, 5000), name_of(BEGINNING, 5001)]
    results.equal(dataset.names(), names, 'two processes')
    before = dataset.bytes(names[0]), dataset.bytes(names[1])
    control(os.path.join(parent, '1'), [(CLEAR, ZERO + 40, clear)],
            process=5001, created=BEGINNING + 1)
    dataset.append(parent, '--all-runs')
    new = name_of(clear, 5001)
    results.equal(dataset.names(), names + [new],
                  'one of two processes was cleared')
    results.equal((dataset.bytes(names[0]) == before[0],
                   dataset.bytes(names[1]) == before[1],
                   dataset.calls(names[0]), dataset.calls(new)),
                  (True, True, {'A': 1, 'B': 1, 'C': 2}, {'A': 1, 'C': 2}),
                  'one of two processes: sums')


#
# A program that runs.
#

def report(session):
    """Function -> (calls, unfinished), as report --csv says."""
    code, text, errors = support.reader('report', '--csv',
                                        programs.windows_path(session))
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        one = found.setdefault(row['function'], [0, 0])
        one[0] += int(row['calls'])
        one[1] += int(row['unfinished'] or 0)
    return found if code == 0 else errors


def sums(rows):
    found = {}
    for row in rows:
        one = found.setdefault(row['function'], [0, 0])
        one[0] += row['calls']
        one[1] += row['unfinished']
    return found


def check_running(results, exporter, scratch, program, mode):
    """Once a day: stopped, added, cleared, started.  What is added is what
    report says at that time, and the day before stays."""
    folder = os.path.join(scratch, 'running-' + mode)
    os.makedirs(folder)
    flag = os.path.join(folder, 'stop')
    process = support.start(
        program, 'spin', programs.windows_path(flag), directory=folder,
        TRACER_MODE=mode)
    dataset = Dataset(exporter, scratch, 'days of ' + mode)

    def make_calls(session):
        """Waits until more is recorded than now."""
        def count():
            found = report(session)
            return sum(one[0] for one in found.values()) \
                if isinstance(found, dict) else -1
        start = max(count(), 0)
        support.wait_for(lambda: count() > start + 100)

    def follow(session):
        """Waits until the thread has carried out all that was asked for."""
        with open(os.path.join(session, support.CONTROL_NAME), 'rb') as file:
            number, = struct.unpack_from('<I', file.read(4096), 0x1c)
        results.check(support.wait_for(lambda: all(
            store.actions >= number
            for store in steering.read_stores(session))),
            '%s: it follows' % mode)

    def check_snapshot(session, name, wanted):
        """A copy is the same process."""
        copy = os.path.join(scratch, 'copy-' + mode)
        code, _, errors, _ = support.ctl(session, 'snapshot',
                                         programs.windows_path(copy))
        results.check(code == 0, '%s: snapshot' % mode, [errors])
        other = Dataset(exporter, scratch, 'copies of ' + mode)
        other.append(copy)
        results.equal((other.names(), sums(other.rows('functions'))),
                      ([name], wanted), '%s: a snapshot' % mode)

    try:
        support.wait_for(lambda: support.sessions(folder) and
                         support.is_followed(support.sessions(folder)[0]))
        session, = support.sessions(folder)
        days, wanted = [], []
        for day in range(2):
            make_calls(session)
            code, _, errors, _ = support.ctl(session, 'stop')
            results.check(code == 0, '%s: stop' % mode, [errors])
            follow(session)
            wanted.append(report(session))
            dataset.append(session)
            new = [name for name in dataset.names() if name not in days]
            if not results.equal(len(new), 1, '%s: day %d is a new process' %
                                 (mode, day)):
                break
            days += new
            results.equal([sums(dataset.rows('functions', name))
                           for name in days], wanted,
                          '%s: day %d: report\'s sums, and those of the days '
                          'before' % (mode, day))
            if day == 1:
                check_snapshot(session, days[-1], wanted[-1])
            code, _, errors, _ = support.ctl(session, 'clear')
            results.check(code == 0, '%s: clear' % mode, [errors])
            code, _, errors, _ = support.ctl(session, 'start')
            results.check(code == 0, '%s: start' % mode, [errors])
        results.equal(days, sorted(days), '%s: in the order of time' % mode)
    finally:
        with open(flag, 'w', encoding='ascii'):
            pass
        code, _ = support.finish(process)
    results.check(support.has_ended(code), '%s: it ends' % mode, [code])


def check_cleared_meanwhile(results, exporter, scratch):
    """A clear that comes while trees are read: nothing takes the place of what
    was added before.  The export is held when it has made the last table's
    folder, which is before it reads the trees."""
    wide = [tree.call('main', 1, 0, *(tree.call('Run', 1, 1)
                                      for _ in range(15000)), open=1000)]
    session, _ = tree.write_session(
        os.path.join(scratch, 'wide'), trees.NAMES,
        [(wide, dict(now=None)) for _ in range(2)])
    control(session, [], capacity=4)
    dataset = Dataset(exporter, scratch, 'meanwhile')
    dataset.append(session)
    first = name_of(BEGINNING, 4242)
    before = dataset.bytes(first)
    before.pop([path for path in before if path.startswith('marks')][0])
    results.equal(dataset.calls(), {'main': 2, 'Run': 30000}, 'meanwhile')
    last = os.path.join(dataset.path, 'marks')
    for attempt in range(1, 31):
        control(session, [], capacity=4)
        shutil.rmtree(last)
        process = subprocess.Popen(
            [programs.WINE, programs.READER, 'export', '--format', 'parquet',
             '--host', 'h', '--append', programs.windows_path(dataset.path),
             programs.windows_path(session)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=support.environment(), start_new_session=True)
        while process.poll() is None and not os.path.exists(last):
            pass
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGSTOP)
            control(session, [(CLEAR, 2000 + attempt, BEGINNING + attempt)],
                    capacity=4)
            os.killpg(process.pid, signal.SIGCONT)
        errors = support.decode(process.communicate()[1])
        if process.returncode == 1:
            results.check('it was cleared while' in errors and
                          dataset.bytes(first) == before and
                          dataset.names() == [first],
                          'meanwhile: nothing is added',
                          [errors, dataset.names()])
            print('cleared meanwhile: in attempt %d' % attempt)
            break
    else:
        results.check(False, 'meanwhile: no export was met')
    dataset.append(session)
    results.equal((len(dataset.names()), dataset.bytes(first) == before),
                  (2, True), 'meanwhile: then it is another process')


#
# The page's questions.
#

PAGE = os.path.join(programs.ROOT, 'Docs', 'Fleet.md')
HOSTS, DAYS = 6, 10
NAMES = ['main', 'Parse', 'Find', 'Store', 'Reply']
BUILDS = {'treea': 0x60000001, 'treeb': 0x60000002, 'calls': 0x60000003}
SIZE = 0x1D4000                 # of the image, as in the page's statements
QUESTION = 'request 7'


def statements(heading):
    """The statements below a heading of the page, up to the next heading."""
    with open(PAGE, encoding='utf-8') as file:
        lines = file.read().split('\n')
    first = lines.index(heading) + 1
    found = ['']
    for line in lines[first:]:
        if line.startswith('#'):
            break
        if line.startswith('    '):
            found[-1] += line + '\n'
        elif found[-1]:
            found.append('')
    return [each for text in found for each in text.split(';') if each.strip()]


def make_tree(numbers):
    """Random sums, in which no two are alike."""
    def node(name, *children):
        calls = numbers.randrange(3, 50)
        return tree.call(name, calls, numbers.randrange(1000, 10 ** 6) +
                         sum(child.total for child in children), *children)
    return [node('main', node('Parse', node('Find')),
                 node('Store', node('Find'), node('Reply')), node('Reply'))]


def change(session, folder, pid, stamp):
    """A process and a build of its own, in the image and in the stores."""
    with open(os.path.join(folder, 'made-up.exe'), 'r+b') as file:
        for offset, value in (0x48, stamp), (0x58 + 56, SIZE):
            file.seek(offset)
            file.write(struct.pack('<I', value))
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            file.seek(0x018)
            file.write(struct.pack('<I', pid))
            file.seek(0x128)
            file.write(struct.pack('<II', SIZE, stamp))


class Base:
    """The sessions that a fleet is made of, and what is known of each."""

    def __init__(self, exporter, scratch):
        numbers = random.Random(4)
        self.path = os.path.join(scratch, 'base')
        self.sums, self.durations, self.build = {}, {}, {}
        for number, kind in enumerate(
                kind for kind in BUILDS for _ in range(
                    3 if kind != 'calls' else 2)):
            folder = os.path.join(scratch, 'base-%d' % number)
            pid = 6000 + number
            if kind == 'calls':
                session = filters.make_session(
                    folder, NAMES, [events.random_records(
                        numbers, 1500, 1000, functions=range(len(NAMES)))])
                self.durations[pid] = durations(session)
            else:
                session, _ = tree.write_session(
                    folder, NAMES, [(make_tree(numbers), dict(now=None))])
            change(session, folder, pid, BUILDS[kind])
            exporter.append(self.path, session, '--host',
                            '%s%d' % (kind, number))
            self.sums[pid] = self_times(session)
            self.build[pid] = '%08X%x' % (BUILDS[kind], SIZE)


def self_times(session):
    """Function -> (calls, self time), as report --csv says."""
    _, text, _ = support.reader('report', '--csv',
                                programs.windows_path(session))
    return {row['function']: (int(row['calls']), int(row['self_ns'] or 0))
            for row in csv.DictReader(io.StringIO(text))}


class Watch:
    """Makes each call a node: [function, start, end, nodes in it, how it
    ended], of times after the first record."""

    def __init__(self, first):
        self.first, self.roots, self.open = first, [], []

    def record(self, *_):
        """Nothing is needed of a single record."""

    def enter(self, frames):
        node = [id(frames[-1][4]), frames[-1][2] - self.first, None, [], None]
        (self.open[-1][3] if self.open else self.roots).append(node)
        self.open.append(node)

    def leave(self, _frames, time_stamp, how, _jumps):
        node = self.open.pop()
        node[2], node[4] = time_stamp - self.first, how


def call_trees(session, names):
    """Thread -> its outermost calls, as the second reader pairs them; and the
    time stamp of the first record."""
    stores = trace_reader.open_all([session])
    first = min(next(iter(store.records()))[0] for store in stores)
    found = {}
    for store in stores:
        functions, watch = {}, Watch(first)
        trace_reader.pair(store, functions, lambda rva: names[
            (rva - filters.FIRST) // filters.STEP], watch)
        known = {id(function): name for name, function in functions.items()}

        def name_all(nodes):
            for node in nodes:
                node[0] = known[node[0]]
                name_all(node[3])
        name_all(watch.roots)
        found[store.ThreadId] = watch.roots
    return found, first


def walk(nodes, depth=0):
    for node in nodes:
        yield depth, node
        yield from walk(node[3], depth + 1)


def durations(session):
    """Function -> the durations of its calls but those that were left."""
    found = collections.defaultdict(list)
    for roots in call_trees(session, NAMES)[0].values():
        for _, (name, start, end, _, how) in walk(roots):
            if how != 'abandoned':
                found[name].append(end - start)
    return found


def part_of(node, begin, end):
    """A node's time between two, or None if it has none there."""
    part = min(node[2], end) - max(node[1], begin)
    return part if part > 0 else None


def chain_of(roots, begin, end):
    """(depth, function, part, share) of a request's chain; None if two calls
    could be in one place."""
    inside = [(depth, node, part_of(node, begin, end))
              for depth, node in walk(roots)
              if part_of(node, begin, end) is not None]
    if not inside:
        return None
    whole = max(min(node[2], end) for _, node, _ in inside) - begin
    found, level, depth = [], roots, 0
    while True:
        parts = sorted(((part_of(node, begin, end), node) for node in level
                        if part_of(node, begin, end) is not None),
                       key=lambda each: -each[0])
        if not parts:
            return found
        if len(parts) > 1 and parts[0][0] == parts[1][0]:
            return None
        part, node = parts[0]
        found.append((depth, node[0], part, part / whole))
        level, depth = node[3], depth + 1


def longest_of(roots, begin, end):
    """The longest at each depth, whoever called it."""
    found = {}
    for depth, node in walk(roots):
        part = part_of(node, begin, end)
        if part is not None and part > found.get(depth, ('', -1))[1]:
            found[depth] = node[0], part
    return [(depth, *found[depth]) for depth in sorted(found)]


#
# The answers, computed from what is known of the sessions.
#

def members(fleet):
    """(host, date, program, session, pid) of each file of functions."""
    found = []
    for path in parquet.files(os.path.join(fleet, 'functions')):
        host, date, program, name = path.split(os.sep)
        name = name[:-len('.parquet')]
        found.append((*(part.split('=')[1] for part in (host, date, program)),
                      name, int(name.rsplit('-', 1)[1])))
    return found


def took_most(base, files, today):
    sums = collections.Counter()
    first = str(today - datetime.timedelta(7))
    for host, date, program, _, pid in files:
        for name, (_, own) in base.sums[pid].items():
            if date >= first:
                sums[program, host, name] += own
    found = []
    for program, host in {key[:2] for key in sums}:
        found += sorted(((program, host, name, own)
                         for (one, other, name), own in sums.items()
                         if (one, other) == (program, host)),
                        key=lambda row: -row[3])[:3]
    return sorted(found)


def two_builds(base, files):
    seen = collections.defaultdict(list)
    for *_, pid in files:
        for name, (calls, own) in base.sums[pid].items():
            seen[name, base.build[pid]].append(own / calls)
    one, two = ('%08X%x' % (BUILDS[kind], SIZE) for kind in ('treea', 'treeb'))
    found = []
    for name in NAMES:
        a, b = seen[name, one], seen[name, two]
        variance = statistics.variance(a) / len(a) + \
            statistics.variance(b) / len(b)
        means = statistics.fmean(a), statistics.fmean(b)
        found.append((name, *means,
                      (means[1] - means[0]) / math.sqrt(variance)))
    return sorted(found)


def slowest(base, files):
    """Function -> (the slowest of a thousand, how many calls)."""
    pooled = collections.defaultdict(list)
    for *_, pid in files:
        for name, times in base.durations.get(pid, {}).items():
            pooled[name] += times
    return {name: (sorted(times)[-(-999 * len(times) // 1000) - 1],
                   len(times)) for name, times in pooled.items()}


def differing(base, files):
    sums = collections.defaultdict(lambda: [0, 0])
    for host, *_, pid in files:
        for name, (calls, own) in base.sums[pid].items():
            sums[host, name][0] += own
            sums[host, name][1] += calls
    found = collections.Counter()
    for name in NAMES:
        each = {host: own / calls for (host, one), (own, calls) in sums.items()
                if one == name}
        middle = statistics.median(each.values())
        deviation = statistics.median(abs(x - middle) for x in each.values())
        for host, x in each.items():
            found[host] += deviation > 0 and abs(x - middle) > 5 * deviation
    return sorted((host, number) for host, number in found.items() if number)


def wrong_rows(found, wanted):
    """Rows that differ; numbers that are not whole may by rounding."""
    if isinstance(found, str):
        return [found]
    found = sorted(map(tuple, found))
    return [(one, two) for one, two in itertools.zip_longest(found, wanted)
            if one is None or two is None or len(one) != len(two) or not all(
                math.isclose(x, y, rel_tol=1e-9) if isinstance(y, float)
                else x == y for x, y in zip(one, two))]


def wrong_slowest(found, wanted):
    """Rows that do not say how long the slowest takes: a bucket's end, at most
    an eighth, or three ticks, too much."""
    if isinstance(found, str):
        return [found]
    found = {name: row for name, *row in found}
    return [(name, found.get(name), wanted.get(name))
            for name in {*found, *wanted}
            if name not in found or name not in wanted or
            found[name][1] != wanted[name][1] or not
            wanted[name][0] <= found[name][0] <= max(
                wanted[name][0] * 9 / 8, wanted[name][0] + 3)]


def make_requests(results, exporter, scratch, fleet):
    """A session with calls and marks in the fleet: (name of a request, its
    chain) of some."""
    numbers = random.Random(9)
    folder = os.path.join(scratch, 'requests')
    session = filters.make_session(folder, NAMES, [
        events.random_records(numbers, 3000, 1000 + thread, functions=range(
            len(NAMES))) for thread in range(2)])
    change(session, folder, 7000, BUILDS['calls'])
    trees_of, first = call_trees(session, NAMES)
    end = max(node[2] for roots in trees_of.values() for node in roots)
    times = {thread: sorted(numbers.sample(range(end), 40))
             for thread in trees_of}
    control(session, [(MARK, first + time_stamp, BEGINNING,
                       'request %d of %d' % (number, thread), thread)
                      for thread, some in times.items()
                      for number, time_stamp in enumerate(some)],
            process=7000)
    exporter.append(fleet, session, '--host', 'h0000', '--tables',
                    'calls,marks')
    found, kinds = [], set()
    for thread, some in times.items():
        for number, (begin, ends) in enumerate(
                zip(some, some[1:] + [2 ** 63 - 1])):
            chain = chain_of(trees_of[thread], begin, ends)
            if chain is None:
                continue
            flat = [(depth, name, part) for depth, name, part, _ in chain]
            outer = [node for node in trees_of[thread]
                     if part_of(node, begin, ends) is not None]
            kind = (flat != longest_of(trees_of[thread], begin, ends),
                    any(node[1] < begin for node in outer),
                    any(node[2] > ends for node in outer))
            if kind not in kinds or ends == 2 ** 63 - 1:
                kinds.add(kind)
                found.append(('request %d of %d' % (number, thread), chain))
    results.check(len(found) > 3 and all(any(kind[index] for kind in kinds)
                                         for index in range(3)),
                  'requests: chains that are not the longest of each depth, '
                  'and calls around a mark', [kinds])
    return found


def check_page(results, exporter, scratch):
    """The page's statements, as they stand there, on a made fleet."""
    engines, clickhouse = exporter.engines, parquet.ClickHouse()
    if not engines.has_duckdb:
        results.skip('the page\'s questions: DuckDB cannot be had')
        return
    if not clickhouse.has_any:
        if programs.LONG:
            results.skip('the page\'s questions: ClickHouse cannot be had')
        else:
            print('ClickHouse is not here: the long form fetches it')
    base = Base(exporter, scratch)
    duck = statements('## Five questions')
    views, duck = duck[:3], duck[3:]
    house = statements('### The same in ClickHouse')
    spark = statements('### The same in Spark SQL')
    results.equal((len(duck), len(house), len(spark)), (5, 5, 8),
                  'statements of the page')
    results.check(all(each.count("'%s'" % QUESTION) == 1
                      for each in (duck[-1], house[-1], spark[-1])),
                  'statements: the request\'s name')

    # Not while a day ends.
    while True:
        today = datetime.datetime.utcnow().date()
        where = os.path.join(scratch, 'at-%s' % today)
        fleet = os.path.join(where, 'fleet')
        first = today - datetime.timedelta(DAYS - 1)
        done = subprocess.run(
            [sys.executable, os.path.join(programs.ROOT, 'Benchmarks',
                                          'MakeFleet.py'),
             base.path, fleet, str(HOSTS), str(DAYS), str(first)],
            stdout=subprocess.PIPE, check=True)
        requests = make_requests(results, exporter, scratch, fleet)
        ask = {'DuckDB': lambda texts: engines.sql(
            *views, *texts, cwd=where)[len(views):]}
        asked = {'DuckDB': duck}
        if clickhouse.has_any:
            ask['ClickHouse'] = lambda texts: clickhouse.sql(*texts, cwd=where)
            asked['ClickHouse'] = house
        answers = {name: ask[name](
            asked[name][:4] + [each[-1].replace(QUESTION, request)
                               for each in [asked[name]] + [spark] * (
                                   name == 'DuckDB')
                               for request, _ in requests])
                   for name in ask}
        if today == datetime.datetime.utcnow().date():
            break
    files = members(fleet)
    results.equal((len(files), {date for _, date, *_ in files}),
                  (HOSTS * DAYS + 2 * DAYS,
                   {str(first + datetime.timedelta(day))
                    for day in range(DAYS)}), 'the fleet: %s' % done.stdout)
    wanted = [took_most(base, files, today), two_builds(base, files),
              slowest(base, files), differing(base, files)]
    results.check(all(wanted) and len(wanted[0]) == 3 * HOSTS and
                  len(wanted[1]) == len(wanted[2]) == len(NAMES),
                  'the fleet: every question has an answer', wanted)
    for name, found in answers.items():
        for number, what in enumerate(('took most', 'two builds', 'slowest',
                                       'hosts that differ')):
            compare = wrong_slowest if what == 'slowest' else wrong_rows
            wrong = compare(found[number], wanted[number])
            results.check(not wrong, '%s: %s' % (name, what), wrong)
        for (request, chain), rows in zip(requests * 2, found[4:]):
            wrong = wrong_rows(rows, chain)
            results.check(not wrong, '%s: %s' % (name, request), wrong)
    if clickhouse.has_any:
        results.equal(sorted(answers['DuckDB'][2]),
                      sorted(answers['ClickHouse'][2]),
                      'slowest: the same in both')

    # The controls: a number that is another one is found.
    for found, good in zip(answers['DuckDB'], wanted):
        if isinstance(good, dict):
            bad = {name: (time_stamp, calls + 1)
                   for name, (time_stamp, calls) in good.items()}
            results.check(wrong_slowest(found, bad), 'control: slowest')
        else:
            bad = [(*good[0][:-1], good[0][-1] * 1.0001), *good[1:]]
            results.check(wrong_rows(found, bad), 'control: %s' % (good[0],))


def main():
    results = programs.Results()
    if not support.has_reader():
        results.skip('there is no TraceReader')
        return results.finish()
    engines = parquet.Engines()
    if not engines.has_any:
        results.skip('hyparquet cannot be had')
        return results.finish()
    with programs.Scratch() as scratch:
        exporter = parquet.Exporter(results, engines, scratch)
        check_page(results, exporter, scratch)
        check_clear(results, exporter, scratch)
        check_clear_first(results, exporter, scratch)
        check_trees(results, exporter, scratch)
        check_processes(results, exporter, scratch)
        check_cleared_meanwhile(results, exporter, scratch)
        program = programs.build(
            os.path.join(scratch, 'control'),
            [os.path.join(programs.PROGRAMS, 'Control.c')],
            [*programs.PENTER_FLAGS,
             '-I' + os.path.join(programs.ROOT, 'Penter')], 'Control.exe',
            [programs.LIBRARY])
        for mode in 'tree', 'file', 'ring':
            check_running(results, exporter, scratch, program, mode)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

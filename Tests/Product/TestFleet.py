#!/usr/bin/env python3
"""Datasets of many machines (Docs/Fleet.md): what export --append adds of a
process that is cleared between, and the page's questions.

Sessions are made up or traced.  Of made-up ones it is known what each file has
to say; of traced ones that is what report --csv said at that time.
"""

import collections
import csv
import datetime
import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as made                                    # noqa: E402
import ParquetSupport as parquet                             # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestMarks as marks                                    # noqa: E402
import TestTreeReader as trees                               # noqa: E402
import TreeSupport as tree                                   # noqa: E402
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

    def is_stopped(session):
        def same():
            before = report(session)
            time.sleep(0.2)
            return before == report(session) and before
        return support.wait_for(same)

    try:
        support.wait_for(lambda: support.sessions(folder) and
                         support.is_followed(support.sessions(folder)[0]))
        session, = support.sessions(folder)
        days, wanted = [], []
        for day in range(2):
            make_calls(session)
            code, _, errors, _ = support.ctl(session, 'stop')
            results.check(code == 0, '%s: stop' % mode, [errors])
            is_stopped(session)
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

#!/usr/bin/env python3
"""What the reader makes of a session's control file: pauses, clears, marks and
names.

Sessions and control files are made up.  The expected numbers are known from
how the records were made up, or are computed here, on a clock that stands
still in the pauses, which is not how the reader does it.
"""
# Takes long.

import csv
import io
import json
import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestExportTraces as traces                            # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestHtml as html                                      # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

START, STOP, CLEAR, MARK, NAME = range(1, 6)
NAMES = ['A', 'B', 'C', 'D'] + ['f%d' % number for number in range(36)]
ZERO = 5000                     # the first time stamp of the known sessions
COLUMNS = ('calls', 'total_ns', 'self_ns', 'min_ns', 'max_ns', 'abandoned',
           'abandoned_time_ns', 'unfinished')
WAYS = ([], ['--general'], ['--workers', '2', '--no-index'])


def site(function, kind):
    rva = filters.FIRST + function * filters.STEP
    return rva + (9 if kind == made.EXIT else 0)


def enter(time, function, depth, kind=made.ENTER, top=made.TOP):
    return ZERO + time, site(function, kind), top - 64 * depth, kind


def leave(time, function, depth, kind=made.EXIT, top=made.TOP):
    return ZERO + time, site(function, kind), top - 64 * depth, kind


def action(kind, time, text='', thread=0):
    return kind, ZERO + time, text, thread


class Session:
    """A made-up session and what TraceReader says of it."""

    runs = ()           # --all-runs, of processes that did not start each other

    def __init__(self, results, folder, threads, actions=None, names=NAMES,
                 **control):
        self.results, self.folder = results, folder
        self.path = filters.make_session(folder, names, threads)
        self.control = os.path.join(self.path, support.CONTROL_NAME)
        if actions is not None:
            support.write_control(self.path, actions, **control)

    def run(self, command, *arguments, code=0, said=''):
        found, text, errors = support.reader(
            command, *self.runs, *arguments, programs.windows_path(self.path))
        self.results.check(
            found == code and (said in errors if said else not errors),
            '%s: %s %s' % (os.path.basename(self.folder), command, arguments),
            [found, text[-500:], errors])
        return text

    def rows(self, command, *arguments, **expected):
        return list(csv.DictReader(io.StringIO(self.run(
            command, '--csv', *arguments, **expected))))

    def json(self, command, *arguments, **expected):
        return json.loads(self.run(command, '--json', *arguments, **expected))

    def report(self, *arguments, **expected):
        """Function -> the numbers of COLUMNS."""
        return {row['function']: tuple(int(row[each] or 0)
                                       for each in COLUMNS)
                for row in self.rows('report', *arguments, **expected)}


#
# Pauses.
#

# What it is; records; actions; function -> (calls, total, self, abandoned,
# unfinished).
A, B, C, D = range(4)
ENTER_F, EXIT_F = made.ENTER_F, made.EXIT_F
PAUSES = [
    ('a call goes on after a pause',
     [enter(0, A, 1), enter(10, B, 2), leave(20, B, 2), enter(140, B, 2),
      leave(150, B, 2), leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 70, 0, 0), 'B': (2, 20, 20, 0, 0)}),
    ('two pauses, and a stop and a start that change nothing',
     [enter(0, A, 1), enter(10, B, 2), leave(150, B, 2), leave(400, A, 1)],
     [action(STOP, 30), action(STOP, 40), action(START, 130),
      action(START, 140), action(STOP, 200), action(START, 300)],
     {'A': (1, 200, 160, 0, 0), 'B': (1, 40, 40, 0, 0)}),
    ('what was recorded in a pause is left out',
     [enter(0, A, 1), enter(10, B, 2), leave(35, B, 2), enter(36, C, 2),
      leave(37, C, 2), enter(38, D, 2), enter(140, C, 2), leave(150, C, 2),
      leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 60, 0, 0), 'B': (1, 20, 20, 0, 0), 'C': (1, 10, 10, 0, 0)}),
    ('a record at the stop is left out, one at the start is not',
     [enter(0, A, 1), enter(10, B, 2), leave(30, B, 2), enter(130, C, 2),
      leave(150, C, 2), leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 50, 0, 0), 'B': (1, 20, 20, 0, 0), 'C': (1, 20, 20, 0, 0)}),
    ('gone, but not at once',
     [enter(0, A, 1), enter(10, B, 2), enter(140, D, 3), leave(150, D, 3),
      leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 70, 0, 0), 'B': (1, 20, 10, 0, 0), 'D': (1, 10, 10, 0, 0)}),
    ('gone, after calls that took longer',
     [enter(0, A, 1), enter(10, B, 2), enter(140, D, 3), leave(170, D, 3),
      leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 60, 0, 0), 'B': (1, 20, 0, 0, 0), 'D': (1, 30, 30, 0, 0)}),
    ('abandoned after a pause, as ever',
     [enter(0, A, 1), enter(140, B, 2), leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 40, 0, 0), 'B': (1, 0, 0, 1, 0)}),
    ('an exit whose entry was in the pause is no call',
     [enter(0, A, 1, ENTER_F), leave(140, B, 2, EXIT_F),
      leave(190, A, 1, EXIT_F), leave(195, C, 1, EXIT_F)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 90, 0, 0)}),
    ('open when it was stopped for good',
     [enter(0, A, 1), enter(10, B, 2), leave(35, B, 2)],
     [action(STOP, 30)],
     {'A': (1, 30, 10, 0, 1), 'B': (1, 20, 20, 0, 1)}),
    ('open at the end, after a pause',
     [enter(0, A, 1), enter(10, B, 2), enter(140, C, 3), leave(150, C, 3)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 50, 10, 0, 1), 'B': (1, 40, 30, 0, 1), 'C': (1, 10, 10, 0, 0)}),
    ('a pause before everything, and one after',
     [enter(0, A, 1), leave(50, A, 1)],
     [action(STOP, -300), action(START, -200), action(STOP, 60)],
     {'A': (1, 50, 50, 0, 0)}),
    ('the functions\' own hooks',
     [enter(0, A, 1, ENTER_F), enter(10, B, 2, ENTER_F),
      enter(140, C, 1, ENTER_F, made.TOP - 32),
      leave(150, C, 1, EXIT_F, made.TOP - 32),
      leave(190, A, 1, EXIT_F)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 60, 0, 0), 'B': (1, 20, 20, 0, 0), 'C': (1, 10, 10, 0, 0)}),
    ('a fiber runs over a pause',
     [enter(0, A, 1), enter(10, B, 1, top=made.FIBER),
      leave(150, B, 1, top=made.FIBER), leave(190, A, 1)],
     [action(STOP, 30), action(START, 130)],
     {'A': (1, 90, 10, 0, 0), 'B': (1, 40, 40, 0, 0)}),
    ('actions that come in another order than their times',
     [enter(0, A, 1), enter(10, B, 2), leave(150, B, 2), leave(400, A, 1)],
     [action(START, 300), None, action(START, 130), action(STOP, 200), None,
      action(STOP, 30)],
     {'A': (1, 200, 160, 0, 0), 'B': (1, 40, 40, 0, 0)}),
]


def check_pauses(results, scratch):
    for number, (what, records, actions, expected) in enumerate(PAUSES):
        session = Session(results, os.path.join(scratch, 'pause%d' % number),
                          [records], actions)
        found = {name: (row[0], row[1], row[2], row[5], row[7])
                 for name, row in session.report().items()}
        results.equal(found, expected, what)

    #
    # Control: without the file, the first one has other numbers.
    #

    first = Session(results, os.path.join(scratch, 'pause-none'),
                    [PAUSES[0][1]])
    results.equal(first.report()['A'][1], 190, 'control: no pause')


class Model:
    """Pairing without fibers, by the rules of Docs/Format.md, on a clock that
    stands still in the pauses."""

    def __init__(self, pauses, begin=0, end=None):
        self.pauses, self.begin, self.end = pauses, begin, end
        self.rows, self.stack, self.last = {}, [], None

    def active(self, time):
        """The time less the pauses before it."""
        return time - sum(min(time, start) - stop
                          for stop, start in self.pauses if stop < time)

    def number(self, time):
        return sum(start <= time for _, start in self.pauses)

    def end_call(self, time, how):
        function, _, begin, inside, number, _ = self.stack.pop()
        now = self.active(time)
        is_stale = number != self.number(time)
        if how == 'gone' and is_stale:
            now = self.active(self.pauses[self.number(time) - 1][1])
        begin = max(begin, self.active(self.begin))
        length = max(now - begin, 0)
        row = self.rows.setdefault(NAMES[function], [0] * len(COLUMNS))
        row[0] += 1
        if how == 'gone' and not is_stale:
            row[5] += 1
            row[6] += length
        else:
            row[1] += length
            row[2] += max(length - inside, 0)
            row[3] = min(row[3] or length, length) if row[0] - row[5] > 1 \
                else length
            row[4] = max(row[4], length)
            row[7] += how == 'open'
        if self.stack:
            self.stack[-1][3] += max(length, inside) \
                if how == 'gone' and is_stale else length

    def add(self, time, rva, place, kind):
        if any(stop <= time < start for stop, start in self.pauses):
            return
        if kind == made.ENTER:
            while self.stack and self.stack[-1][1] <= place:
                self.end_call(time, 'gone')
            self.stack.append([(rva - filters.FIRST) // filters.STEP, place,
                               self.active(time), 0, self.number(time), time])
        else:
            while self.stack and self.stack[-1][1] < place:
                self.end_call(time, 'gone')
            if self.stack:
                self.end_call(time, 'exit')
        self.last = time

    def finish(self):
        while self.stack:
            self.end_call(self.last, 'open')
        return {name: tuple(row) for name, row in self.rows.items()}


def random_calls(numbers, count, time=ZERO):
    """Calls of functions that are their depth's own: none is recursive."""
    records, depth, places = [], 0, [made.TOP - 0x100]
    while len(records) < count:
        time += numbers.randrange(1, 60)
        chance = numbers.random()
        if chance < 0.03 and depth:
            depth = numbers.randrange(depth)
            del places[depth + 1:]
        elif (chance < 0.54 and depth < 9) or not depth:
            function = 4 * depth + numbers.randrange(4)
            places.append(places[-1] - 64)
            depth += 1
            records.append((time, site(function, made.ENTER), places[-1],
                            made.ENTER))
            open_calls = records[-1]
        else:
            depth -= 1
            place = places.pop()
            records.append((time, open_calls[1] + 9, place, made.EXIT))
    return records


def random_pauses(numbers, first, last, count):
    times = sorted(numbers.sample(range(first, last), 2 * count))
    return list(zip(times[::2], times[1::2]))


def check_random(results, scratch):
    numbers = random.Random(23)
    for number, count in enumerate((0, 1, 3, 40)):
        threads = [random_calls(numbers, 3000) for _ in range(2)]
        last = max(records[-1][0] for records in threads)
        pauses = random_pauses(numbers, ZERO - 500, last - 10, count)

        #
        # Two thirds of what lies in a pause was not recorded at all.
        #

        threads = [[record for record in records
                    if not any(stop <= record[0] < start
                               for stop, start in pauses) or
                    numbers.random() < 0.33] for records in threads]
        actions = [(kind, time) for stop, start in pauses
                   for kind, time in ((STOP, stop), (START, start))]
        numbers.shuffle(actions)
        session = Session(results, os.path.join(scratch, 'random%d' % number),
                          threads, actions)
        expected = {}
        for records in threads:
            model = Model(pauses)
            for record in records:
                model.add(*record)
            for name, row in model.finish().items():
                known = expected.setdefault(name, [0] * len(COLUMNS))
                is_new = known[0] == known[5]
                for index, value in enumerate(row):
                    if index == 3:
                        if row[0] != row[5]:
                            known[3] = value if is_new else min(known[3],
                                                                value)
                    elif index == 4:
                        known[4] = max(known[4], value)
                    else:
                        known[index] += value
        expected = {name: tuple(row) for name, row in expected.items()}
        for way in WAYS:
            found = session.report(*way)
            results.check(
                found == expected,
                '%d pauses, report %s' % (count, way),
                [(name, found.get(name), expected.get(name))
                 for name in {*found, *expected}
                 if found.get(name) != expected.get(name)])
        results.equal(support.index_differences(session.path), [],
                      '%d pauses: indexes' % count)

        #
        # An index from before the pauses were known is of no use.
        #

        if count == 3:
            session.run('report', '--mark-every', '64')
            support.write_control(session.path,
                                  actions + [(STOP, last - 5)])
            results.equal(
                session.run('replay', '--csv', '--from', str(last // 2),
                            '--mark-every', '64'),
                session.run('replay', '--csv', '--from', str(last // 2),
                            '--no-index'),
                'an index from before a pause')
            results.check(session.report('--from', '0') != expected,
                          'control: one pause more')


#
# Clears, and ranges.
#

def check_clear(results, scratch):
    records = [enter(0, A, 1), enter(10, B, 2), leave(20, B, 2),
               enter(30, C, 2), leave(50, C, 2), leave(100, A, 1)]
    note = 'before the last clear, 40 ns after the first record, is left out'
    session = Session(results, os.path.join(scratch, 'clear'), [records],
                      [action(CLEAR, 5), action(CLEAR, 40),
                       action(MARK, 60, 'last'), action(MARK, 15, 'first'),
                       action(MARK, 45, 'first')])
    for way in WAYS:
        results.equal(session.report(*way, said=note),
                      {'A': (1, 60, 50, 60, 60, 0, 0, 0),
                       'C': (1, 10, 10, 10, 10, 0, 0, 0)},
                      'since the clear %s' % way)
    results.equal(session.report('--all')['A'], (1, 100, 70, 100, 100, 0, 0,
                                                 0), '--all')
    results.equal(session.rows('report', said=note),
                  session.rows('report', '--all', '--from', '40ns'),
                  'a clear is as --from')
    results.equal(session.rows('report', '--from', '20ns', said=note),
                  session.rows('report', said=note), '--from before a clear')
    for command in 'tree', 'callers', 'callees', 'modules', 'threads':
        first = [] if command not in ('callers', 'callees') else ['C']
        results.equal(session.run(command, '--csv', *first, said=note),
                      session.run(command, '--csv', '--all', '--from', '40ns',
                                  *first), '%s and the clear' % command)
    results.check(
        [row['function'] for row in session.json(
            'stack', said=note)['functions']] == ['A', 'C'] and
        len(session.json('stack', '--all')['functions']) == 3,
        'stack and the clear')
    session.run('report', '--to', '30ns', code=1, said='nothing to show')
    path = programs.windows_path(session.path)
    code, text, errors = support.reader('diff', '--csv', path, path)
    results.check(code == 0 and 'B' not in
                  {row['function'] for row in csv.DictReader(
                      io.StringIO(text))} and errors.count(note) == 2,
                  'diff and the clear', [code, text, errors])

    #
    # Marks as the ends of a range; those before the clear count with --all.
    #

    results.equal(session.report('--from', 'mark:first', '--to', 'mark:last'),
                  {'A': (1, 15, 10, 15, 15, 0, 0, 1),
                   'C': (1, 5, 5, 5, 5, 0, 0, 0)}, 'from a mark to a mark')
    results.equal(session.report('--all', '--from', 'mark:first', '--to',
                                 '50ns')['B'][:3], (1, 5, 5),
                  'from a mark before the clear')
    session.run('report', '--from', 'mark:none', code=1,
                said='there is no mark "none"')
    session.run('report', '--all', '--from', 'mark:last', '--to',
                'mark:first', code=1, said='there is no mark "first" from '
                'there on')
    results.check('mark:first' in session.run('report', '--from',
                                              'mark:first'),
                  'the note names the mark')

    #
    # A store by itself has the file beside it.
    #

    store, = support.stores(session.path)
    code, text, errors = support.reader('report', '--csv',
                                        programs.windows_path(store))
    results.check(code == 0 and note in errors and 'B' not in
                  text, 'a store by itself', [text, errors])

    #
    # Without a clock nothing is before or after.
    #

    untimed = Session(results, os.path.join(scratch, 'untimed'), [records],
                      [action(CLEAR, 40), action(STOP, 45),
                       action(MARK, 50, 'm')])
    store, = support.stores(untimed.path)
    with open(store, 'r+b') as file:
        file.seek(0x03C)
        file.write(struct.pack('<I', 2))
        for number in range(len(records)):
            file.seek(4096 + 16 * number)
            file.write(struct.pack('<Q', 4096 + 16 * number))
    results.equal({name: row[0] for name, row in untimed.report().items()},
                  {'A': 1, 'B': 1, 'C': 1}, 'without a clock')
    results.check(all(row['event'] != 'mark' for row in untimed.rows('replay')),
                  'marks without a clock')


#
# Processes, each with its own file.
#

def check_processes(results, scratch):
    folder = os.path.join(scratch, 'processes')
    first = Session(results, os.path.join(folder, 'one'), [PAUSES[0][1]],
                    PAUSES[0][2] + [action(MARK, 15, 'of one'),
                                    action(NAME, 16, 'main of one', 1)])
    records = [enter(2, C, 1), enter(12, D, 2), leave(42, D, 2),
               enter(135, D, 2), leave(145, D, 2), leave(182, C, 1)]
    second = Session(results, os.path.join(folder, 'two'), [records],
                     [action(CLEAR, 32), action(MARK, 140, 'of two', 1)],
                     process=4243, created=133_000_000_000_000_001)
    store, = support.stores(second.path)
    with open(store, 'r+b') as file:
        file.seek(0x018)
        file.write(struct.pack('<I', 4243))
        file.seek(0x020)
        file.write(struct.pack('<Q', 133_000_000_000_000_001))
    parent = os.path.join(folder, 'parent')
    os.makedirs(parent)
    for name, session in ('one', first), ('two', second):
        shutil.copytree(session.path, os.path.join(parent, name))
    both = Session.__new__(Session)
    both.runs = ('--all-runs', )
    both.results, both.folder, both.path = results, folder, parent
    note = 'process 4243 made-up.exe: what was recorded before the last clear'
    expected = {'A': (1, 90, 70), 'B': (2, 20, 20), 'C': (1, 150, 130),
                'D': (2, 20, 20)}
    for way in WAYS:
        results.equal({name: row[:3] for name, row in both.report(
            *way, said=note).items()}, expected, 'two processes %s' % way)
    results.equal(both.report('--all')['C'][:3], (1, 180, 140),
                  'two processes --all')
    rows = both.rows('replay', said=note)
    results.equal([(int(row['time_ns']), row['process_id'], row['event'],
                    row['text']) for row in rows
                   if row['event'] in ('mark', 'start', 'stop', 'clear')],
                  [(15, '4242', 'mark', 'of one'), (30, '4242', 'stop', ''),
                   (32, '4243', 'clear', ''), (130, '4242', 'start', ''),
                   (140, '4243', 'mark', 'of two')], 'marks of two processes')
    results.equal({row['process_id']: row['name']
                   for row in both.rows('threads', said=note)},
                  {'4242': 'main of one', '4243': ''}, 'names of processes')
    found = both.json('info')
    results.equal([[row[name] for name in ('process_id', 'actions', 'pauses',
                                           'paused_ns', 'clears')]
                   for row in found['control']],
                  [[4242, 4, 1, 100, 0], [4243, 2, 0, 0, 1]],
                  'info of two processes')
    path = os.path.join(scratch, 'both.json')
    both.run('export', '--format', 'chrome', '-o', programs.windows_path(path),
             said=note)
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    results.equal([(each['pid'], each['s'], each['name']) for each in events
                   if each['ph'] == 'i'],
                  [(4242, 'p', 'of one'), (4242, 'p', 'recording stopped'),
                   (4243, 'p', 'cleared'), (4242, 'p', 'recording started'),
                   (4243, 't', 'of two')], 'chrome: marks of two processes')
    times = [each['ts'] for each in events if each['ph'] in 'BE']
    results.check(times == sorted(times), 'chrome: two processes by time')
    results.equal([(each['name'], round(each['ts'] * 1000))
                   for each in events if each['ph'] == 'B' and
                   each['pid'] == 4243],
                  [('C', 32), ('D', 32), ('D', 135)],
                  'chrome: what was open at the clear')
    for form, read in (('fxt', traces.read_fxt),
                       ('perfetto', traces.read_perfetto)):
        if form == 'perfetto' and not shutil.which('protoc'):
            continue
        instants = []
        both.run('export', '--format', form, '-o',
                 programs.windows_path(path), said=note)
        read(path, instants)
        results.equal([(name, time) for _, name, _, time in instants],
                      [('of one', 15), ('recording stopped', 30),
                       ('cleared', 32), ('recording started', 130),
                       ('of two', 140)], '%s: marks of two processes' % form)


def make_processes(results, folder, *processes):
    """A directory with a session of each (records, actions), all of thread 1,
    and what TraceReader says of it."""
    parent = os.path.join(folder, 'parent')
    os.makedirs(parent)
    for number, (records, actions) in enumerate(processes):
        owner = 5000 + number, 133_000_000_000_000_000 + number
        session = Session(results, os.path.join(folder, str(number)),
                          [records], actions, process=owner[0],
                          created=owner[1])
        store, = support.stores(session.path)
        with open(store, 'r+b') as file:
            file.seek(0x018)
            file.write(struct.pack('<I', owner[0]))
            file.seek(0x020)
            file.write(struct.pack('<Q', owner[1]))
        os.rename(session.path, os.path.join(parent, str(number)))
    both = Session.__new__(Session)
    both.runs = ('--all-runs', )
    both.results, both.folder, both.path = results, folder, parent
    return both


def check_process_ranges(results, scratch):
    """Instants, ranges and marks around the clear of one of two processes."""
    one = [enter(0, A, 1), enter(10, B, 2), leave(20, B, 2),
           enter(100, B, 2), leave(110, B, 2), leave(190, A, 1)]
    two = [enter(2, C, 1), enter(12, D, 2), leave(22, D, 2),
           enter(120, D, 2), leave(130, D, 2), leave(180, C, 1)]
    marks = [action(MARK, 30, 'same'), action(MARK, 65, 'in one', 1),
             action(NAME, 31, 'one\'s', 1)], \
        [action(MARK, 25, 'same'), action(MARK, 27, 'gone'),
         action(CLEAR, 60), action(MARK, 70, 'same'),
         action(MARK, 66, 'in two', 1),
         action(NAME, 71, 'two\'s', 1)]
    both = make_processes(results, os.path.join(scratch, 'ranges'),
                          (one, marks[0]), (two, marks[1]))
    said = 'process 5001 made-up.exe: what was recorded before the last clear'

    #
    # What was asked before the clear is left out like what was recorded, and
    # what was asked of the other process keeps its time.
    #

    expected = [(30, 5000, 'same'), (60, 5001, 'cleared'),
                (65, 5000, 'in one'), (66, 5001, 'in two'),
                (70, 5001, 'same')]
    everything = [(25, 5001, 'same'), (27, 5001, 'gone')] + expected
    for arguments, instants in ([], expected), (['--all'], everything):
        note, done = ('', 'TraceReader: export: ') if arguments else (said,
                                                                      said)
        rows = both.rows('replay', *arguments, said=note)
        results.equal([(int(row['time_ns']), int(row['process_id']),
                        row['text'] or 'cleared') for row in rows
                       if row['event'] in ('mark', 'clear')], instants,
                      'replay %s: instants of processes' % arguments)
        path = os.path.join(both.folder, 'trace%d' % len(arguments))
        both.run('export', '--format', 'chrome', *arguments, '-o',
                 programs.windows_path(path + '.json'), said=done)
        with open(path + '.json', encoding='utf-8') as file:
            events = json.load(file)['traceEvents']
        results.equal([(round(each['ts'] * 1000), each['pid'], each['name'])
                       for each in events if each['ph'] == 'i'], instants,
                      'chrome %s: instants of processes' % arguments)
        times = [each['ts'] for each in events if each['ph'] in 'BEi']
        results.equal(times, sorted(times), 'chrome %s: by time' % arguments)
        forms = [('fxt', traces.read_fxt)]
        if shutil.which('protoc'):
            forms.append(('perfetto', traces.read_perfetto))
        for form, read in forms:
            both.run('export', '--format', form, *arguments, '-o',
                     programs.windows_path(path + '.' + form), said=done)
            found = []
            read(path + '.' + form, found)
            tracks = {'in one': 'Thread 1 (one\'s)',
                      'in two': 'Thread 1 (two\'s)'}
            whole = {process: 'Process %d' % process
                     for process in (5000, 5001)}
            if form == 'fxt':
                first = instants[0][1]
                whole = {first: 'Session',
                         10001 - first: 'Session of process %d' %
                         (10001 - first)}
            results.equal([(each[3], each[0], each[1]) for each in found],
                          [(time, tracks.get(name, whole[process]), name)
                           for time, process, name in instants],
                          '%s %s: instants of processes' % (form, arguments))
    results.equal({row['process_id']: row['name']
                   for row in both.rows('threads', said=said)},
                  {'5000': 'one\'s', '5001': 'two\'s'},
                  'names of one thread identifier')

    #
    # A range that ends before the clear has nothing of that process.
    #

    none = 'process 5001 made-up.exe: nothing to show'
    for way in WAYS:
        results.equal(both.report('--to', '40ns', *way, said=none),
                      {'A': (1, 40, 30, 40, 40, 0, 0, 1),
                       'B': (1, 10, 10, 10, 10, 0, 0, 0)},
                      'a clear after the range %s' % way)
    for command in 'tree', 'threads', 'callees':
        rows = both.rows(command, *(['A'] if command == 'callees' else []),
                         '--to', '40ns', said=none)
        results.check(rows and not [row for row in rows if 'C' in (
            row.get('function'), row.get('callee')) or
            row.get('process_id') == '5001' and row['calls'] != '0'],
            '%s: a clear after the range' % command, [rows])
    results.equal({row['process_id'] for row in both.rows(
        'replay', '--to', '40ns', said=none)}, {'5000'},
        'replay: a clear after the range')
    results.equal(both.report('--to', '40ns', '--all')['C'][:2], (1, 38),
                  'control: --all')

    #
    # The first mark that is not before its process's clear.
    #

    for name, arguments, expected in (
            ('same', [], [100, 120]), ('same', ['--all'], [100, 120]),
            ('gone', ['--all'], [100, 120])):
        rows = both.rows('replay', '--from', 'mark:' + name, *arguments,
                         said='' if arguments else said)
        results.equal([int(row['time_ns']) for row in rows
                       if row['event'] == 'enter'], expected,
                      'from mark:%s %s' % (name, arguments))
    for arguments, expected in ([], (1, 160)), (['--all'], (1, 165)):
        results.equal(both.report(
            '--from', 'mark:same', *arguments,
            said='' if arguments else said)['A'][:2], expected,
            'from mark:same %s' % arguments)
    both.run('report', '--from', 'mark:gone', code=1,
             said='there is no mark "gone"')

    #
    # A process that was cleared before its first record has nothing that is
    # left out; two that were cleared begin each with its own clear.
    #

    late = make_processes(results, os.path.join(scratch, 'late'), (one, None),
                          ([enter(50, C, 1), leave(70, C, 1)],
                           [action(CLEAR, 40)]))
    results.equal(late.report()['C'][:2], (1, 20), 'cleared before it began')
    each = make_processes(results, os.path.join(scratch, 'each'),
                          (one, [action(CLEAR, 105)]),
                          (two, [action(CLEAR, 15)]))
    for way in WAYS:
        results.equal(each.report(*way, said='process 5000'),
                      {'A': (1, 85, 80, 85, 85, 0, 0, 0),
                       'B': (1, 5, 5, 5, 5, 0, 0, 0),
                       'C': (1, 165, 148, 165, 165, 0, 0, 0),
                       'D': (2, 17, 17, 7, 10, 0, 0, 0)},
                      'two clears %s' % way)

    #
    # info: each process has its own.
    #

    found = both.json('info')
    results.equal([[row[name] for name in (
        'process_id', 'actions', 'marks', 'names', 'clears', 'last_clear_ns')]
        for row in found['control']],
        [[5000, 3, 2, 1, 0, None], [5001, 6, 4, 1, 1, 60]],
        'info: control by process')
    results.equal([(row['process_id'], row['time_ns'], row['text'])
                   for row in found['actions'] if row['action'] == 'mark'],
                  [(5001, 25, 'same'), (5001, 27, 'gone'), (5000, 30, 'same'),
                   (5000, 65, 'in one'), (5001, 66, 'in two'),
                   (5001, 70, 'same')], 'info: marks by process')

    #
    # A file that says that it is the other process's counts for nothing.
    #

    for number, other in (0, 1), (1, 0):
        support.write_control(
            os.path.join(both.path, str(number)), marks[other],
            process=5000 + other, created=133_000_000_000_000_000 + other)
    results.equal(both.report(said='process 5000 made-up.exe: session.control')
                  ['C'][:2], (1, 178), 'control: files that were swapped')


#
# Marks and names.
#

HOSTILE = '<b>"quoted"</b> & \u6587\u5b57'
MARKED = [
    [enter(0, A, 1), enter(10, B, 2), leave(20, B, 2), enter(140, B, 2),
     leave(150, B, 2), leave(190, A, 1)],
    [enter(5, C, 1), leave(170, C, 1)],
]
MARKED_ACTIONS = [
    action(MARK, 160, 'by one', 1), action(STOP, 30), action(MARK, 12, HOSTILE),
    action(START, 130), None, action(NAME, 7, 'old', 2),
    action(NAME, 8, 'worker', 2), action(MARK, 300, 'after all'),
    support.control_action(MARK, ZERO + 155, b'bad \xff\xe6\x96', 2),
    support.control_action(MARK, ZERO + 156, b'x' * 96, 0, 4000),
    support.control_action(99, ZERO + 157, b'unknown'),
]
LONG = 'x' * 96

# (time, thread, kind, text), as they are shown.
INSTANTS = [
    (12, None, 'mark', HOSTILE), (30, None, 'stop', ''),
    (130, None, 'start', ''), (155, 2, 'mark', 'bad \ufffd\ufffd'),
    (156, None, 'mark', LONG), (160, 1, 'mark', 'by one'),
    (300, None, 'mark', 'after all'),
]
NAMED = [(time, thread, text or 'recording %s' % {
    'stop': 'stopped', 'start': 'started'}[kind])
    for time, thread, kind, text in INSTANTS]


def check_depth(results, scratch):
    """A thread's marks stand where its calls do, in replay's text."""
    session = Session(
        results, os.path.join(scratch, 'depth'),
        [[enter(0, A, 1), enter(20, B, 2), enter(40, C, 3), leave(60, C, 3),
          enter(70, D, 3), leave(75, D, 3), leave(80, B, 2), leave(100, A, 1)],
         [enter(5, C, 1), leave(110, C, 1)]],
        [action(MARK, 2, 'in A', 1), action(MARK, 10, 'in A', 1),
         action(MARK, 50, 'in C', 1), action(MARK, 65, 'in B', 1),
         action(MARK, 72, 'of all'), action(MARK, 90, 'in A', 1),
         action(MARK, 105, 'outside', 1)])
    lines = [line.split('| ', 1)[1] for line in session.run(
        'replay', '--thread', '1').splitlines()[1:]]
    results.equal(lines, [
        'A() {', '  /* mark: in A */', '  /* mark: in A */', '  B() {',
        '    C() {', '      /* mark: in C */', '    } /* C */',
        '    /* mark: in B */', '    D();', '/* mark: of all */', '  } /* B */',
        '  /* mark: in A */', '} /* A */', '/* mark: outside */'],
                  'marks stand where the calls do')


def check_marks(results, scratch):
    session = Session(results, os.path.join(scratch, 'marks'), MARKED,
                      MARKED_ACTIONS)

    #
    # replay: in the order of time, each with its own kind.
    #

    rows = session.json('replay')['events']
    times = [row['time_ns'] for row in rows]
    results.equal(times, sorted(times), 'replay goes by time')
    kinds = 'mark', 'start', 'stop', 'clear'
    found = [(row['time_ns'], row['thread_id'], row['event'],
              row['text'] or '') for row in rows if row['event'] in kinds]
    results.check(clean(found) == clean(INSTANTS), 'replay --json', [found])
    results.equal(sum(row['event'] not in kinds for row in rows), 8,
                  'the calls\' own events')
    found = [(int(row['time_ns']), int(row['thread_id'] or 0) or None,
              row['event'], row['text']) for row in session.rows('replay')
             if row['event'] in kinds]
    results.check(clean(found) == clean(INSTANTS), 'replay --csv', [found])
    text = session.run('replay').splitlines()
    results.equal([line.split('|')[1].strip() for line in text
                   if '/* mark: ' in line or '/* recording' in line][:3],
                  ['/* mark: %s */' % HOSTILE, '/* recording stopped */',
                   '/* recording started */'], 'replay, as text')
    results.equal(
        [row['text'].rstrip('\ufffd') for row in session.rows(
            'replay', '--from', '100ns', '--to', '158ns')
         if row['event'] == 'mark'], ['bad ', LONG], 'marks of a range')
    results.equal(
        [row['text'].rstrip('\ufffd')
         for row in session.rows('replay', '--thread', '2')
         if row['event'] == 'mark'],
        [HOSTILE, 'bad ', LONG, 'after all'], 'marks of a thread')
    results.equal(len(session.run('replay', '--limit', '3').splitlines()), 4,
                  '--limit counts marks')

    check_depth(results, scratch)

    #
    # info; names.
    #

    found = session.json('info')
    results.equal(found['control'], [{
        'actions': 9, 'marks': 5, 'names': 2, 'pauses': 1, 'paused_ns': 100,
        'events_left_out': 0,
        'clears': 0, 'last_clear_ns': None, 'actions_left_out': 0}], 'info: the numbers')
    results.equal([(each['time_ns'], each['action'])
                   for each in found['actions']],
                  sorted([(time, kind) for time, _, kind, _ in INSTANTS] +
                         [(7, 'name'), (8, 'name')]), 'info: the actions')
    results.check('after all' in session.run('info', '--raw') and
                  'after all' not in session.run('info') and
                  'Pauses              1' in session.run('info'),
                  'info, as text')
    results.equal({row['thread_id']: row['name'] for row in found['threads']},
                  {1: '', 2: 'worker'}, 'info: names')
    results.equal({row['thread_id']: row['name']
                   for row in session.rows('threads')},
                  {'1': '', '2': 'worker'}, 'threads: names')
    check_traces(results, scratch, session)

    #
    # Without the file there is none of it.
    #

    os.remove(session.control)
    found = session.json('info')
    results.check(
        found['control'][0]['actions'] == 0 and not found['actions'] and
        all(row['event'] not in kinds for row in session.rows('replay')) and
        {row['thread_id']: row['name']
         for row in session.rows('threads')}['2'] == '',
        'control: without the file', [found])


def clean(instants):
    """What is no UTF-8 may become one character or several."""
    return [(*each[:-1], each[-1].rstrip('\ufffd?')) for each in instants]


def check_traces(results, scratch, session):
    def export(form, *arguments):
        path = os.path.join(scratch, 'marks.' + form)
        text = session.run('export', '--format', form, '-o',
                           programs.windows_path(path), *arguments,
                           said='TraceReader: export: ')
        results.equal(text, '', 'export %s' % form)
        return path

    with open(export('chrome'), encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    found = [(round(each['ts'] * 1000), each['tid'] or None, each['name'])
             for each in events if each['ph'] == 'i']
    results.check(clean(found) == clean(NAMED), 'chrome', [found])
    results.equal([each['s'] for each in events if each['ph'] == 'i'],
                  ['gt'[thread is not None] for _, thread, _ in NAMED],
                  'chrome: scopes')
    results.check(any(each['ph'] == 'M' and 'worker' in str(each['args'])
                      for each in events), 'chrome: a thread\'s name')
    results.equal(
        [(each['name'], each['ph'], round(each['ts'] * 1000))
         for each in events if each['ph'] in 'BE' and each['tid'] == 1],
        [('A', 'B', 0), ('B', 'B', 10), ('B', 'E', 20), ('B', 'B', 140),
         ('B', 'E', 150), ('A', 'E', 190)], 'chrome: calls around a pause')

    forms = [('fxt', traces.read_fxt, 'Session')]
    if shutil.which('protoc'):
        forms.append(('perfetto', traces.read_perfetto, None))
    else:
        results.skip('TestMarks needs protoc for perfetto')
    titles = {1: 'Thread 1', 2: 'Thread 2 (worker)'}
    for form, read, whole in forms:
        path = export(form)
        instants = []
        read(path, instants)
        expected = [(titles.get(thread, whole), name, 'mark', time)
                    for time, thread, name in NAMED]
        results.check([(*each[:1], each[1].rstrip('\ufffd?'), *each[2:])
                       for each in instants] ==
                      [(*each[:1], each[1].rstrip('\ufffd?'), *each[2:])
                       for each in expected], form, [instants])
        try:
            read(path)
            results.check(False, 'control: %s, instants that are not asked '
                          'for' % form)
        except (traces.FormatError, KeyError, TypeError):
            results.check(True, '')
    with open(export('speedscope'), encoding='utf-8') as file:
        results.check('by one' not in file.read(), 'speedscope has no marks')


def check_page(results, scratch):
    if BrowserSupport.find() is None:
        results.skip('TestMarks needs Chromium for html')
        return
    session = Session(results, os.path.join(scratch, 'page'), MARKED,
                      MARKED_ACTIONS + [action(CLEAR, 6)])
    expected = [each for each in NAMED]
    with BrowserSupport.Browser() as browser:
        page = html.Page(results, browser, session.path)
        browser.wait_for('document.querySelectorAll("#marks button").length')
        found = [(time, thread or None, name)
                 for time, thread, _, name in page.get('tracer.about.marks')]
        results.check(clean(found[1:]) == clean(expected) and
                      found[0] == (6, None, 'cleared'), 'html: the marks',
                      [found])
        results.check('last clear' in page.get(
            'document.getElementById("notes").textContent'),
            'html: the clear')

        #
        # Where they are: each where its time is.
        #

        shown = page.get(
            '[...document.querySelectorAll("#marks button")].map(each => '
            '[each.hidden, each.offsetLeft + 6, each.getAttribute('
            '"aria-label")])')
        width = page.get('tracer.timeline.width')
        begin, end = page.get('[tracer.timeline.from, tracer.timeline.to]')
        for (time, _, name), (is_hidden, left, label) in zip(found, shown):
            if begin <= time <= end:
                results.check(
                    not is_hidden and abs(
                        left - (time - begin) / (end - begin) * width) < 2 and
                    name in label, 'html: where %s is' % name,
                    [time, is_hidden, left, label])
            else:
                results.check(is_hidden, 'html: %s is not seen' % name)

        #
        # The label when the pointer is on it, and by keys alone.
        #

        tip = ('document.getElementById("tip").hidden ? null : '
               'document.getElementById("tip").querySelector("b").textContent')
        results.equal(page.get(tip), None, 'html: no label yet')
        x, y = page.get(
            '(box => [box.x + box.width / 2, box.y + 4])(document.'
            'querySelectorAll("#marks button.mark")[0]'
            '.getBoundingClientRect())')
        browser.move(x, y)
        browser.wait_for('!document.getElementById("tip").hidden')
        results.equal(page.get(tip), HOSTILE, 'html: the label')
        browser.move(x, y + 200)
        page.get('document.getElementById("timelineScroll").focus()')
        for index in range(3):
            browser.key('m')
        browser.wait_for('document.activeElement.tagName === "BUTTON"')
        focused = page.get('document.activeElement.getAttribute("aria-label")')
        results.check('recording' in focused or 'Mark' in focused,
                      'html: m reaches a mark', [focused])
        results.check(page.get(tip) in focused, 'html: its label', [focused])
        before = focused
        browser.key('M')
        focused = page.get('document.activeElement.getAttribute("aria-label")')
        results.check(focused != before and page.get(tip) in focused,
                      'html: M goes back', [before, focused])
        browser.key('Tab')
        results.equal(page.get(
            'document.activeElement.getAttribute("aria-label")'), before,
            'html: Tab goes on')
        results.check(page.get('window.hacked === undefined'),
                      'html: texts are texts')

        #
        # A call that goes on after a pause is one box, from its entry to its
        # end; the table has its time.
        #

        results.equal(page.get(
            'tracer.numbers.total[tracer.names.findIndex(each => each[1] === '
            '"C")]'), 64, 'html: the time of a call around a pause')
        page.check_quiet('marks')


#
# Damage.
#

def check_damage(results, scratch):
    what, records, actions, _ = PAUSES[0]
    session = Session(results, os.path.join(scratch, 'damage'), [records],
                      actions)
    with open(session.control, 'rb') as file:
        good = file.read()
    path = programs.windows_path(session.path)

    def report():
        return support.reader('report', '--csv', path)

    expected = report()
    os.remove(session.control)
    without = report()
    results.check(expected[0] == without[0] == 0 and expected[1] != without[1]
                  and not expected[2] + without[2], 'with and without',
                  [expected, without])

    def check(data, name, ignored=None, said=None):
        """ignored: whether the file must count for nothing; None: either."""
        with open(session.control, 'wb') as file:
            file.write(data)
        code, text, errors = report()
        results.check(
            code == 0 and text in (expected[1], without[1]) and
            (ignored is None or text == (without if ignored else expected)[1])
            and errors.count('session.control') < 2 and
            (said is None or bool(said) == ('session.control' in errors) and
             said in errors), name, [code, text, errors])

    # The fields that count, one byte at a time; then all the others at once.
    for offset in range(0x20):
        data = bytearray(good)
        data[offset] ^= 0xFF
        check(data, 'byte %#x' % offset,
              None if offset in (0x1C, 0x1D, 0x1E, 0x1F)
              else offset not in (0x0A, 0x0B),
              None if offset >= 0x1C else '' if offset in (0x0A, 0x0B)
              else 'ignored')
    check(good[:0x20] + bytes(byte ^ 0xFF for byte in good[0x20:4096]) +
          good[4096:], 'the rest of the header', False, '')
    check(bytes(4096), 'still being created', True, '')
    check(b'', 'empty', True, '')
    for length in (1, 63, 1087, 1088, 4095, 4096, 4096 + 127,
                   4096 + 128, len(good) - 1):
        check(good[:length], 'cut at %d' % length, True)
    check(good, 'control: as it was', False, '')

    #
    # More was claimed than there is room for; a capacity beyond all.
    #

    support.write_control(session.path, actions, capacity=2,
                          claimed=0xFFFFFFFF)
    results.equal(report(), expected, 'more claimed than there is room for')
    support.write_control(session.path, actions + [None] * 50)
    results.equal(report(), expected, 'places that were never written')

    #
    # Version 1.4: the file grows, and says what found no place in it.  What
    # is claimed beyond its end has been cut off.
    #

    note = 'has no place for 7 marks or requests of the program'
    for version, claimed, said, left_out in (
            ((1, 4), None, '', 0),
            ((1, 4), len(actions) + 50, 'has 47 more actions', 47),
            ((1, 3), 0xFFFFFFFF, '', 0), ((1, 4), None, note, 7)):
        support.write_control(session.path, actions, version=version,
                              claimed=claimed)
        with open(session.control, 'r+b') as file:
            file.seek(0x20)
            file.write(struct.pack('<Q', 7 if said == note else 0))
        code, text, errors = report()
        results.check((code, text) == expected[:2] and
                      (said in errors if said else not errors),
                      'left out: report', [code, errors])
        found = session.json('info', said=said)['control']
        results.equal([row['actions_left_out'] for row in found], [left_out],
                      'left out: info')
        results.equal(
            session.json('verify', said=said, code=2 if left_out else 0)
            ['summary'][0]['actions_left_out'], left_out, 'left out: verify')
        if said == note:
            code, text, errors = support.reader('verify', path)
            results.check(code == 2 and
                          ', 7 marks or requests left out\n' in text,
                          'left out: verify, text', [code, text])
            code, text, _ = support.reader('info', path)
            results.check(code == 0 and text.count('Actions left out') == 1,
                          'left out: info, text', [code, text])
            code, text, _ = support.reader('ctl', '--json', path, 'status')
            results.equal(json.loads(text)['session'][0]['actions_left_out'],
                          7, 'left out: status')

    #
    # Actions of any bytes.
    #

    numbers = random.Random(5)
    for _ in range(4):
        places = []
        for _ in range(200):
            place = bytearray(numbers.randbytes(128))
            if numbers.random() < 0.9:
                struct.pack_into('<I', place, 0, numbers.randrange(7))
            if numbers.random() < 0.8:
                struct.pack_into('<Q', place, 8, numbers.randrange(
                    ZERO - 100, ZERO + 400))
            places.append(bytes(place))
        support.write_control(session.path, places)
        for command in 'report', 'replay', 'info':
            code, text, errors = support.reader(
                command, '--json', *(['--all'] if command != 'info' else []),
                path)
            results.check(code == 0 and json.loads(text) and
                          'session.control' not in errors,
                          'any bytes: %s' % command, [code, errors])
    os.remove(session.control)
    os.mkdir(session.control)
    code, text, errors = report()
    results.check(code == 0 and text == without[1] and
                  'cannot be read' in errors, 'a folder', [code, errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_pauses(results, scratch)
        check_random(results, scratch)
        check_clear(results, scratch)
        check_processes(results, scratch)
        check_process_ranges(results, scratch)
        check_marks(results, scratch)
        check_page(results, scratch)
        check_damage(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

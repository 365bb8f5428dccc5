#!/usr/bin/env python3
"""What is left out and what is put in front: --min-duration and --depth of
replay, tree and the exports of single calls, and the calls that are open where
a range begins.

The sessions are made up.  What is expected is put together from their records
as the second reader (Tests/Library/trace_reader.py) pairs them.
"""

import json
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestQuestions as questions                            # noqa: E402
import MadeStores as made                                    # noqa: E402
import trace_reader                                          # noqa: E402
from StoreSupport import programs                            # noqa: E402

NAMES = questions.NAMES
FIRST = 1000
MINIMA = (1, 50, 300, 2000, 10 ** 6)
DEPTHS = (1, 2, 3, 50)
EXPORTS = ('chrome', 'speedscope', 'perfetto', 'fxt')


class Watch:
    """Notes each thread's calls: [enter, end, how, depth, function]."""

    def __init__(self, thread):
        self.thread, self.calls, self.open = thread, [], []

    def record(self, *_):
        """Nothing is needed of a single record."""

    def enter(self, frames):
        self.open.append([frames[-1][2], None, None, len(frames) - 1,
                          frames[-1][4].name, self.thread])
        self.calls.append(self.open[-1])

    def leave(self, frames, time, how, _):
        call = self.open.pop()
        call[1], call[2] = time, {'completed': 'exit'}.get(how, how)


def read_calls(session):
    calls = []
    for file in sorted(os.listdir(session)):
        if file.endswith('.trace'):
            store = trace_reader.Store(os.path.join(session, file))
            watch = Watch(store.ThreadId)
            trace_reader.pair(store, questions.Functions(),
                              questions.name_of, watch)
            calls += watch.calls
    return calls


def rows_of(calls, begin=0, end=10 ** 18, opened=None):
    """The rows of replay: by time, the ends of one record innermost first.

    opened gives the order of threads at the range's beginning: that of their
    first records.
    """
    rows, first = [], []
    for enter, left, how, depth, function, thread in calls:
        if begin <= enter <= end:
            rows.append((enter, 1, depth, 'enter', function, thread, None))
        elif opened is not None and enter < begin and \
                (left >= begin or how == 'open'):
            first.append((opened[thread], thread, depth, enter, 'open_before',
                          function))
        if begin <= left <= end:
            rows.append((left, 2 if how == 'open' else 0, -depth, how,
                         function, thread, left - enter))
    return [(enter - FIRST, kind, depth, function, thread, None)
            for _, thread, depth, enter, kind, function in sorted(first)] + \
        [(time - FIRST, kind, abs(depth), function, thread, duration)
         for time, _, depth, kind, function, thread, duration in sorted(rows)]


def same(results, rows, expected, what):
    results.check(rows == expected, what, [
        [len(rows), len(expected)],
        *(pair for pair in zip(rows, expected) if pair[0] != pair[1])][:4])


def ask(results, session, *arguments):
    code, text, told = support.reader(*arguments, '--no-cache', '--json',
                                      programs.windows_path(session))
    results.equal((code, told), (0, ''), ' '.join(arguments))
    return json.loads(text)


def replay(results, session, *arguments):
    data = ask(results, session, 'replay', *arguments)
    return [(row['time_ns'], row['event'], row['depth'], row['function'],
             row['thread_id'], row['duration_ns']) for row in data['events']],\
        data.get('limits')


def make(scratch, name, seed, count=600):
    numbers = random.Random(seed)
    threads = [filters.random_calls(numbers, len(NAMES), count, FIRST)]
    # Odd times: no two threads have a record at the same one.
    threads[0] = [(2 * time - FIRST, *rest) for time, *rest in threads[0]]
    other = filters.random_calls(numbers, len(NAMES), count, FIRST)
    threads.append([(2 * time - FIRST + 1, *rest) for time, *rest in other])
    shift = FIRST - min(records[0][0] for records in threads)
    threads = [[(time + shift, *rest) for time, *rest in records]
               for records in threads]
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    return filters.make_session(folder, NAMES, threads)


def check_limits(results, session, calls):
    whole, limits = replay(results, session)
    same(results, whole, rows_of(calls), 'replay: nothing is left out')
    results.equal(limits, None, 'replay: nothing is said of limits')
    for least in MINIMA:
        left = [call for call in calls if call[1] - call[0] >= least]
        rows, limits = replay(results, session, '--min-duration', str(least))
        same(results, rows, rows_of(left), '--min-duration %d' % least)
        results.equal(limits, [{'short_calls': len(calls) - len(left),
                                'short_nodes': None, 'deep_calls': 0}],
                      '--min-duration %d: what it left out' % least)
    for depth in DEPTHS:
        left = [call for call in calls if call[3] < depth]
        rows, limits = replay(results, session, '--depth', str(depth))
        same(results, rows, rows_of(left), '--depth %d' % depth)
        results.equal(limits[0]['deep_calls'], len(calls) - len(left),
                      '--depth %d: what it left out' % depth)
    left = [call for call in calls
            if call[1] - call[0] >= 300 and call[3] < 3]
    both = '--min-duration', '300', '--depth', '3'
    same(results, replay(results, session, *both)[0], rows_of(left), 'both')
    same(results, replay(results, session, *both, '--tail', '20')[0],
                  rows_of(left)[-20:], 'both, and --tail')
    results.check(0 < len(left) < len(calls) // 2, 'control: it is a part',
                  [len(left), len(calls)])
    code, text, _ = support.reader('replay', '--no-cache', *both,
                                   programs.windows_path(session))
    results.check(
        code == 0 and 'Not shown (--min-duration): %d calls.' %
        len([call for call in calls if call[3] < 3 and
             call[1] - call[0] < 300]) in text and
        'Not shown (--depth): %d calls.' %
        len([call for call in calls if call[3] >= 3]) in text,
        'text: what was left out', [text[-300:]])
    for arguments in (('--min-duration', 'x'), ('--min-duration', '-3'),
                      ('--min-duration', '1.5'), ('--depth', '0')):
        code, text, told = support.reader('replay', *arguments,
                                          programs.windows_path(session))
        results.check(code == 1 and not text and 'it takes' in told,
                      'refused: %s %s' % arguments, [code, told])


def check_open(results, session, calls):
    """The calls that are open where a range begins."""
    last = max(call[1] for call in calls)
    order = {}
    for call in calls:
        order[call[5]] = min(call[0], order.get(call[5], call[0]))
    for numerator in range(1, 8):
        begin = FIRST + (last - FIRST) * numerator // 8
        end = begin + (last - FIRST) // 9
        arguments = '--from', str(begin - FIRST), '--to', str(end - FIRST)
        expected = rows_of(calls, begin, end, order)
        rows, _ = replay(results, session, *arguments, '--open')
        same(results, rows, expected, '--open %s %s' % arguments[1::2])
        opened = [row for row in expected if row[1] == 'open_before']
        results.check(opened, 'control: some are open')
        rows, _ = replay(results, session, *arguments)
        same(results, rows, expected[len(opened):], 'without --open')

        left = [call for call in calls if call[1] - call[0] >= 300]
        rows, _ = replay(results, session, *arguments, '--open',
                         '--min-duration', '300')
        same(results, rows, rows_of(left, begin, end, order),
                      '--open --min-duration')

        code, text, _ = support.reader('replay', '--no-cache', *arguments,
                                       programs.windows_path(session))
        shown = re.findall(r'(?m)\[ *(\d+)\] \| ( *)(\w+)\(\) \{ '
                           r'/\* open since ([\d.]+) +(\w+) \*/$', text)
        results.equal(
            [(int(thread), len(blanks) // 2, name,
              round(float(since) * {'ns': 1, 'us': 1000}[unit]))
             for thread, blanks, name, since, unit in shown],
            [(row[4], row[2], row[3], row[0]) for row in opened],
            'text: open since')


def check_exports(results, scratch, session, calls):
    for form in EXPORTS:
        sizes = []
        for number, (least, depth) in enumerate(((0, 99), (300, 3))):
            path = os.path.join(scratch, '%s-%d' % (form, number))
            code, _, told = support.reader(
                'export', '--no-cache', '--format', form, '-o',
                programs.windows_path(path), *(
                    ('--min-duration', str(least), '--depth', str(depth))
                    if number else ()), programs.windows_path(session))
            left = [call for call in calls
                    if call[1] - call[0] >= least and call[3] < depth]
            results.check(code == 0 and 'export: %d calls, %d events' %
                          (len(left), 2 * len(left)) in told,
                          form + ': calls', [len(left), told])
            results.equal('left out: ' in told, number == 1,
                          form + ': what is left out is said')
            sizes.append(os.path.getsize(path))
        results.check(sizes[1] < sizes[0], form + ': the file is smaller',
                      sizes)
    events = {}
    with open(os.path.join(scratch, 'chrome-1'), encoding='utf-8') as file:
        for event in json.load(file)['traceEvents']:
            if event['ph'] in 'BE':
                events.setdefault(event['tid'], []).append(event)
    for thread, found in events.items():
        stack = []
        for event in found:
            if event['ph'] == 'B':
                stack.append(event)
            else:
                begin = stack.pop()
                results.check(round((event['ts'] - begin['ts']) * 1000) >=
                              299, 'chrome: no shorter call', [begin, event])
        results.equal(stack, [], 'chrome: every call of %s ends' % thread)

    # A range cuts calls: what counts is what is left of them.
    last = max(call[1] for call in calls)
    begin, end = (FIRST + (last - FIRST) * part // 5 for part in (2, 3))
    path = os.path.join(scratch, 'part.json')
    left = [call for call in calls if call[0] <= end and call[1] >= begin and
            min(call[1], end) - max(call[0], begin) >= 300]
    code, _, told = support.reader(
        'export', '--no-cache', '--format', 'chrome', '-o',
        programs.windows_path(path), '--min-duration', '300', '--from',
        str(begin - FIRST), '--to', str(end - FIRST),
        programs.windows_path(session))
    with open(path, encoding='utf-8') as file:
        kinds = [event['ph'] for event in json.load(file)['traceEvents']]
    before = len([call for call in left if call[0] < begin])
    results.check(code == 0 and abs(kinds.count('B') - len(left)) <= 2 and
                  kinds.count('B') == kinds.count('E') and before and
                  '%d begun before' % before in told, 'a part of the session',
                  [kinds.count('B'), len(left), told])
    for form in 'folded', 'csv', 'html':
        code, _, told = support.reader(
            'export', '--format', form, '--depth', '3', '-o',
            programs.windows_path(os.path.join(scratch, 'no')),
            programs.windows_path(session))
        results.check(code == 1 and 'is of sums' in told,
                      form + ': refused', [code, told])


def check_tree(results, session):
    nodes = ask(results, session, 'tree')['nodes']
    known = {node['node']: node for node in nodes}
    for least in 300, 3000, 10 ** 5:
        keep = set()
        for node in nodes:
            if node['total_ns'] + node['abandoned_time_ns'] >= least:
                while node is not None:
                    keep.add(node['node'])
                    node = known[node['parent']] if node['depth'] else None
        data = ask(results, session, 'tree', '--min-duration', str(least))
        same(results, data['nodes'],
             [node for node in nodes if node['node'] in keep],
             'tree: --min-duration %d' % least)
        gone = [node for node in nodes if node['node'] not in keep]
        results.equal(data['limits'],
                      [{'short_calls': sum(node['calls'] for node in gone),
                        'short_nodes': len(gone), 'deep_calls': None}],
                      'tree: what is left out')
    results.check('limits' not in ask(results, session, 'tree', '--depth',
                                      '3'), 'tree --depth: as ever')


def check_fiber(results, scratch):
    """A call on a fiber that is not decided while others end on the thread's
    own stack, and many short ones."""
    def at(time, function, place, kind):
        return (time, filters.FIRST + filters.STEP * function +
                (0 if kind == made.ENTER else 9), place, kind)

    own, fiber = made.TOP, made.FIBER
    records = [at(1000, 0, own - 64, made.ENTER),
               at(1100, 1, fiber - 64, made.ENTER)]
    for number in range(2000):
        records += [at(1102 + 2 * number, 2, own - 256, made.ENTER),
                    at(1103 + 2 * number, 2, own - 256, made.EXIT)]
    records += [at(6000, 0, own - 64, made.EXIT),
                at(6050, 1, fiber - 64, made.EXIT),
                at(7000, 3, own - 64, made.ENTER),
                at(7100, 3, own - 64, made.EXIT)]
    folder = os.path.join(scratch, 'fiber')
    os.makedirs(folder)
    session = filters.make_session(folder, NAMES, [records])
    for least, expected in (
            (4990, [(0, 'enter', 'A'), (5000, 'exit', 'A')]),
            (4900, [(0, 'enter', 'A'), (100, 'enter', 'B'),
                    (5000, 'exit', 'A'), (5050, 'exit', 'B')]),
            (100, [(0, 'enter', 'A'), (100, 'enter', 'B'),
                   (5000, 'exit', 'A'), (5050, 'exit', 'B'),
                   (6000, 'enter', 'D'), (6100, 'exit', 'D')])):
        rows, limits = replay(results, session, '--min-duration', str(least))
        results.equal([(row[0], row[1], row[3]) for row in rows], expected,
                      'fiber: --min-duration %d' % least)
        results.equal(limits[0]['short_calls'],
                      2003 - len(expected) // 2, 'fiber: left out')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for seed in range(20 if programs.LONG else 2):
            session = make(scratch, 'seed%d' % seed, seed)
            calls = read_calls(session)
            results.check(len(calls) > 400 and
                          {call[2] for call in calls} ==
                          {'exit', 'abandoned', 'open'},
                          'control: calls of all kinds', [len(calls)])
            check_limits(results, session, calls)
            check_open(results, session, calls)
        check_exports(results, scratch, session, calls)
        check_tree(results, session)
        check_fiber(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

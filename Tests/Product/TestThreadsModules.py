#!/usr/bin/env python3
"""TraceReader threads and modules against all records and calls, as
trace_reader.py has them."""

import collections
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402



def busy(found):
    """Time with an open call: that of the outermost ones."""
    return sum(call.elapsed for call in found if len(call.path) == 1)


def sizes(session, key):
    """(stores, bytes) by what key says of a file's name."""
    found = collections.defaultdict(lambda: [0, 0])
    for name in os.listdir(session.folder):
        if name.endswith('.trace'):
            entry = found[key(name)]
            entry[0] += 1
            entry[1] += os.path.getsize(os.path.join(session.folder, name))
    return found


def check_threads(results, session, found, records):
    wall = session.last - session.first
    stored = sizes(session, lambda name: int(name.split('-')[-2]))
    expected = []
    for thread in session.threads:
        mine = [call for call in found if call.thread == thread]
        ticks = collections.Counter()
        for call in mine:
            if call.how != 'abandoned':
                ticks[call.path[-1]] += call.self
        top = max(ticks, key=ticks.get)
        expected.append({
            'thread_id': thread, 'calls': len(mine),
            'records': len(records[thread - 1]),
            'first_ns': records[thread - 1][0][0] - session.first,
            'last_ns': records[thread - 1][-1][0] - session.first,
            'busy_ns': session.busy[thread],
            'waited_ns': 0, 'ran_ns': session.busy[thread],
            'cpu_ns': None,             # nobody ran
            'maximum_depth': max(len(call.path) for call in mine),
            'stores': stored[thread][0], 'bytes': stored[thread][1],
            'lost': 7 * stored[thread][0],
            'top_self_ns': ticks[top], 'top_function': top[1],
            'top_module': session.modules[top[0]],
            'name': ''})
    for arguments, key in (((), lambda row: -row['busy_ns']),
                           (('--sort', 'calls'), lambda row: -row['calls']),
                           (('--sort', 'self'),
                            lambda row: -row['top_self_ns']),
                           (('--thread', '2'), None)):
        rows = session.json(results, 'threads', *arguments)['threads']
        shares = [row.pop('busy_percent') for row in rows]
        right = ([expected[1]] if key is None else
                 sorted(expected, key=key))
        results.equal(rows, right, 'threads %s' % (arguments,))
        results.check(all(
            0 <= row['busy_ns'] * 100 / wall - share < 0.011
            for row, share in zip(rows, shares)), 'threads: shares', shares)
    results.check(any(row['busy_ns'] < row['last_ns'] - row['first_ns']
                      for row in expected), 'control: a thread is idle')
    sums = [busy([call for call in found if call.thread == thread])
            for thread in session.threads]
    results.equal(sums[:3], [session.busy[thread] for thread in (1, 2, 3)],
                  'without fibers, busy is the sum of the outermost calls')
    results.check(sums[3] > session.busy[4],
                  'control: with fibers it is not', [sums, session.busy])


def clip(call, low, high):
    return call._replace(elapsed=min(call.end, high) - max(call.begin, low))


def check_threads_range(results, session, found, records):
    times = sorted(record[0] for some in records for record in some)
    low, high = times[len(times) // 5], times[len(times) // 2]
    rows = session.json(results, 'threads', '--sort', 'name', '--from',
                        str(low - session.first), '--to',
                        str(high - session.first))['threads']
    expected = []
    for thread in session.threads[:3]:
        mine = [clip(call, low, high) for call in found
                if call.thread == thread and call.begin <= high and
                call.end >= low]
        inside = [record[0] for record in records[thread - 1]
                  if low <= record[0] <= high]
        expected.append((thread, len(mine), len(inside), busy(mine),
                         max(len(call.path) for call in mine),
                         inside[0] - session.first,
                         inside[-1] - session.first))
    results.equal([tuple(row[field] for field in (
        'thread_id', 'calls', 'records', 'busy_ns', 'maximum_depth',
        'first_ns', 'last_ns')) for row in sorted(
            rows, key=lambda row: row['thread_id'])[:3]], expected,
        'threads: a range')


def check_modules(results, session, found, records):
    stored = sizes(session, lambda name: name.split('-')[0])
    expected = []
    for number, module in enumerate(session.modules):
        mine = [call for call in found if call.path[-1][0] == number]
        expected.append({
            'functions': len({call.path[-1] for call in mine}),
            'calls': len(mine),
            'self_ns': sum(call.self for call in mine
                           if call.how != 'abandoned'),
            'calls_from_others': sum(
                len(call.path) > 1 and call.path[-2][0] != number
                for call in mine),
            'calls_outermost': sum(len(call.path) == 1 for call in mine),
            'records': sum((record[1] >= calls.FAR) == number
                           for some in records for record in some),
            'stores': stored[module][0], 'bytes': stored[module][1],
            'lost': 7 * stored[module][0], 'symbols': 'coff',
            'module': module})
    for arguments, key in (((), lambda row: -row['self_ns']),
                           (('--sort', 'name'), lambda row: row['module'])):
        rows = session.json(results, 'modules', *arguments)['modules']
        paths = [row.pop('path') for row in rows]
        results.equal(rows, sorted(expected, key=key),
                      'modules %s' % (arguments,))
        results.check(all(path.endswith('\\' + row['module'])
                          for path, row in zip(paths, rows)),
                      'modules: paths', paths)
    results.check(all(0 < row['calls_from_others'] < row['calls'] -
                      row['calls_outermost'] for row in expected),
                  'control: calls between modules and inside')


def check_others(results, session):
    for command in 'threads', 'modules':
        code, text, _ = session.run(command)
        results.check(code == 0 and len(text.splitlines()) in (3, 5) and
                      'Lost' in text, command + ': text', [text])
        code, _, errors = session.run(command, '--sort', 'max')
        results.check(code == 1 and
                      '%s: --sort takes total, self' % command in errors,
                      command + ': --sort max', [errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        numbers = random.Random(29)
        records = [calls.random_calls(numbers, 1000 + 1500 * thread,
                                      1000 + 7777 * thread)
                   for thread in range(3)]
        # A thread that returns from all its calls now and then.
        for thread in range(3):
            time = records[thread][-1][0]
            for _ in range(50):
                time += 5000
                records[thread] += [
                    (time, calls.rva(0), made.TOP - 32, made.ENTER),
                    (time + 700, calls.rva(0) + 9, made.TOP - 32, made.EXIT)]
        records.append(calls.with_fiber(numbers, 1500))
        session = calls.Session(
            os.path.join(scratch, 'two'), records,
            changes={'at0x60': struct.pack('<Q', 3),
                     'at0x78': struct.pack('<Q', 4)})
        found = session.calls()
        check_threads(results, session, found, records)
        check_threads_range(results, session, found, records)
        check_modules(results, session, found, records)
        check_others(results, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

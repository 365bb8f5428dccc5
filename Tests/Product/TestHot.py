#!/usr/bin/env python3
"""Checks TraceReader hot: which functions it lists, and its list.

The calls are made up (TestProbe.py), with hooks of a known cost, so that it is
known which functions cost more to trace than they take.
"""

import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                                # noqa: E402
import TestProbe as probe                                     # noqa: E402
import MadeStores as made                                     # noqa: E402
import programs                                              # noqa: E402

ENTER, EXIT = 1, 2
INNER, TOTAL = 20, 50

# One name begins with another, more than once: ...+0x1000 and ...+0x10000.
FUNCTIONS = [0x100, 0x1000, 0x1001, 0x10000, 0x2000, 0x20000, 0x3000, 0x4000,
             0x5000, 0x50]


def name_of(rva):
    return 'made-up.exe+0x%x' % rva


def make(path, seed=1, leaf=False):
    """Calls of each function, in a row; function -> (calls, own ticks)."""
    numbers = random.Random(seed)
    time, records, sums = 10000, [], {}
    for index, function in enumerate(FUNCTIONS):
        for _ in range(20 + 7 * index):
            own = numbers.randrange(20 * (index + 1))
            rsp = made.TOP - 64
            records.append((time, function, rsp, ENTER))
            time += INNER + own
            if not leaf and numbers.random() < 0.5:
                inner = numbers.randrange(30)
                other = FUNCTIONS[-1]
                time += TOTAL - INNER - 10
                records.append((time, other, rsp - 64, ENTER))
                time += INNER + inner
                records.append((time, other, rsp - 64, EXIT))
                time += 10
                calls, ticks = sums.get(other, (0, 0))
                sums[other] = calls + 1, ticks + inner
            records.append((time, function, rsp, EXIT))
            time += 30
            calls, ticks = sums.get(function, (0, 0))
            sums[function] = calls + 1, ticks + own
    made.write(path, records, **probe.costs(INNER * 256, TOTAL * 256))
    return sums, len(records)


def expected_rows(sums, count, minimum=0):
    rows = []
    for function, (calls, own) in sums.items():
        cost, size = calls * TOTAL, calls * 32
        if cost > own and size >= minimum:
            rows.append((calls, own, own // calls, cost, size,
                         str(cost * 100 // own) if own else '',
                         size * 10 ** 6 // (count * 16), function))
    return sorted(rows, key=lambda row: (-row[3], name_of(row[-1])))


def seen_rows(found):
    return [(int(row['calls']), int(row['self_ns']),
             int(row['self_per_call_ns']), int(row['probe_ns']),
             int(row['bytes']), row['ratio_percent'], int(row['bytes_ppm']),
             int(row['rva'], 16)) for row in found]


def read_list(path):
    """(names, comments)."""
    with open(path, 'rb') as file:
        lines = file.read().decode('utf-8').splitlines()
    return ([line for line in lines if not line.startswith('#')],
            [line for line in lines if line.startswith('#')])


def check_rows(results, scratch):
    path = os.path.join(scratch, 'a.trace')
    sums, count = make(path)
    expected = expected_rows(sums, count)
    results.check(1 < len(expected) < len(sums),
                  'control: %d of %d functions' % (len(expected), len(sums)))
    code, found, errors = probe.rows('hot', path)
    results.check(code == 0 and seen_rows(found) == expected, 'rows',
                  [seen_rows(found), expected, errors])
    _, found, _ = probe.rows('hot', path, '--limit', '2')
    results.check(seen_rows(found) == expected[:2], '--limit')
    minimum = sorted(row[4] for row in expected)[1]
    _, found, _ = probe.rows('hot', path, '--min', str(minimum))
    results.check(seen_rows(found) == expected_rows(sums, count, minimum) and
                  0 < len(found) < len(expected), '--min')
    _, found, _ = probe.rows('hot', path, '--exclude',
                             name_of(expected[0][-1]))
    results.check(seen_rows(found) == [
        row for row in expected
        if not name_of(row[-1]).startswith(name_of(expected[0][-1]))],
        '--exclude')
    path = programs.windows_path(path)
    value = json.loads(support.reader('hot', '--json', path)[1])
    results.check([row['bytes_ppm'] for row in value['functions']] ==
                  [row[6] for row in expected], 'JSON')
    text = support.reader('hot', path)[1]
    results.check('20.0 ns from each call, and 30.0 ns more' in text and
                  '%d functions that cost more' % len(expected) in text and
                  '%d of %d bytes' % (sum(row[4] for row in expected),
                                      count * 16) in text, 'text',
                  text.splitlines())
    return sums, count


def check_list(results, scratch, sums, count):
    """What the list leaves out is what was listed, and nothing else."""
    path = os.path.join(scratch, 'a.trace')
    target = os.path.join(scratch, 'list.txt')
    at = programs.windows_path(target)
    for limit in range(1, len(expected_rows(sums, count)) + 1):
        rows = expected_rows(sums, count)[:limit]
        code, _, errors = probe.rows('hot', path, '--limit', str(limit),
                                     '--output', at)
        names, comments = read_list(target)
        listed = {name_of(row[-1]) for row in rows}
        others = {name_of(function) for function in sums} - listed
        clean = {name for name in listed
                 if not any(other.startswith(name) for other in others)}
        results.check(code == 0 and names == sorted(clean),
                      'the list of %d' % limit, [names, clean, errors])
        results.check(all(any(name in line for line in comments)
                          for name in listed - clean) and
                      'a.trace' in comments[1], 'its comments', comments)
        code, found, _ = probe.rows('report', path, '--exclude', '@' + at)
        shown = {row['function'] for row in found}
        results.check(shown == others | (listed - clean),
                      'what --exclude leaves of %d' % limit,
                      [shown, others, clean])
    results.check(listed - clean or any(
        name_of(a) != name_of(b) and name_of(b).startswith(name_of(a))
        for a in sums for b in sums), 'control: names that others begin with')
    before = open(target, 'rb').read()
    code, _, errors = support.reader(
        'hot', '--output', programs.windows_path(
            os.path.join(scratch, 'not', 'there')), programs.windows_path(
                path))
    results.check(code == 1 and errors, 'a list that cannot be written')
    results.check(open(target, 'rb').read() == before and
                  not os.path.exists(target + '.tmp'), 'nothing is left over')


def check_prefixes(results, scratch):
    """The short name is hot and the long one is not, and the other way."""
    target = os.path.join(scratch, 'short.txt')
    for short, long, names in ((10, 1000, []), (1000, 10, [name_of(0x10000)]),
                               (10, 10, [name_of(0x1000), name_of(0x10000)])):
        path = os.path.join(scratch, 'prefix.trace')
        made.write(path, [
            (100, 0x1000, made.TOP - 64, ENTER),
            (100 + INNER + short, 0x1000, made.TOP - 64, EXIT),
            (5000, 0x10000, made.TOP - 64, ENTER),
            (5000 + INNER + long, 0x10000, made.TOP - 64, EXIT)],
            **probe.costs(INNER * 256, TOTAL * 256))
        probe.rows('hot', path, '-o', programs.windows_path(target))
        seen, comments = read_list(target)
        results.equal(seen, names, 'prefixes, %d and %d' % (short, long))
        results.equal(any('too) ' + name_of(0x1000) in line
                          for line in comments), not names,
                      'the comment, %d and %d' % (short, long))


def check_unknown(results, scratch):
    path = os.path.join(scratch, 'unknown.trace')
    made.write(path, [(100, 0x1000, made.TOP - 64, ENTER),
                      (150, 0x1000, made.TOP - 64, EXIT)])
    code, text, errors = support.reader('hot', programs.windows_path(path))
    results.check(code == 1 and not text and
                  'find what the hooks cost' in errors,
                  'no cost is known', [code, text, errors])
    made.write(path, [(100, 0x1000, made.TOP - 64, ENTER),
                      (100 + INNER, 0x1000, made.TOP - 64, EXIT),
                      (200, 0x2000, made.TOP - 64, ENTER)],
               at0x1A8=struct.pack('<II', INNER * 256, TOTAL * 256))
    code, found, _ = probe.rows('hot', path)
    results.check([(row['calls'], row['bytes'], row['ratio_percent'])
                   for row in sorted(found, key=lambda row: row['rva'])] ==
                  [('1', '32', ''), ('1', '16', '')],
                  'self of 0, a call without an exit', [found])


def check_traced(results, scratch):
    """A traced program: the list leaves the rest."""
    program = programs.build(
        os.path.join(scratch, 'build'),
        [os.path.join(programs.PROGRAMS, 'Sample.c')],
        programs.PENTER_FLAGS, 'Sample.exe', [programs.LIBRARY])
    directory = os.path.join(scratch, 'traced')
    support.run(program, directory=directory)
    session = support.sessions(directory)[0]
    target = os.path.join(scratch, 'traced.txt')
    code, found, errors = probe.rows('hot', session, '-o',
                                     programs.windows_path(target))
    results.check(code == 0, 'a traced program', [errors])
    names, _ = read_list(target)
    _, whole, _ = probe.rows('report', session)
    everything = {row['function'] for row in whole}
    listed = {row['function'] for row in found}
    results.check(set(names) <= listed <= everything, 'its list',
                  [names, listed])
    if names:
        _, rest, _ = probe.rows('report', session, '--exclude',
                                '@' + programs.windows_path(target))
        results.check({row['function'] for row in rest} ==
                      everything - set(names), 'what is left')
    else:
        results.skip('no function of the traced program is listed')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        sums, count = check_rows(results, scratch)
        check_list(results, scratch, sums, count)
        check_prefixes(results, scratch)
        check_unknown(results, scratch)
        check_traced(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

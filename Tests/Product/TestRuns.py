#!/usr/bin/env python3
"""A directory with sessions of several runs: what is shown is the run that
began last, with all processes that it started; --all-runs adds them up.

The sessions are made up, so that what started what, and when, is known.
"""

import collections
import json
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestProcesses as processes                            # noqa: E402
from StoreSupport import programs                            # noqa: E402

# (directory, process, parent, created, function, calls); a run a letter.
MADE = [
    ('a-root', 100, 9, 0, 0, 5), ('a-child', 101, 100, 4, 1, 6),
    ('b-only', 200, 9, 2, 0, 70),
    ('c-root', 300, 9, 3, 2, 800), ('c-child', 301, 300, 5, 0, 900),
    ('c-deep', 302, 301, 6, 1, 1000),
]
NEWEST = 'c'
NOTE = 'the newest of 3 runs in '
COMMANDS = [('report', ), ('tree', ), ('callers', 'Alpha'),
            ('callees', 'Alpha'), ('threads', ), ('modules', ), ('hot', ),
            ('outliers', 'Alpha'), ('replay', '--limit', '2'), ('stack', ),
            ('info', ), ('live', '--count', '1'),
            ('export', '--format', 'folded'), ('pack', )]


def expected(*runs):
    """function -> calls, of runs."""
    sums = collections.Counter()
    for name, _, _, _, function, calls in MADE:
        if name[0] in runs:
            sums[processes.NAMES[function]] += calls
    return dict(sums)


def make(path, made=MADE):
    root = processes.Root(path)
    for number, (name, process, parent, created, function, calls) in \
            enumerate(made):
        root.add(name, process,
                 processes.calls(function, calls, 1000 + 7 * number),
                 created=created, parent=parent)
    return root


def report(results, root, *arguments):
    """function -> calls, and what was said."""
    code, text, told = support.reader('report', '--json', '--no-cache',
                                      *arguments,
                                      programs.windows_path(root.root))
    if not results.check(code == 0, 'report %s' % (arguments,), [told]):
        return {}, told
    return processes.counts(json.loads(text)['functions']), told


def check_newest(results, scratch):
    root = make(os.path.join(scratch, 'three'))
    seen, told = report(results, root)
    results.equal(seen, expected(NEWEST), 'the newest run')
    results.check('process 300 made-up.exe and 2 others, ' + NOTE in told and
                  'root (--all-runs adds them up' in told and
                  told.count('\n') == 1, 'what is said of the others', [told])
    seen, told = report(results, root, '--all-runs')
    results.equal((seen, told), (expected('a', 'b', 'c'), ''), '--all-runs')
    seen, told = report(results, root, '--all')
    results.check(seen == expected(NEWEST) and NOTE in told,
                  '--all is of clears', [seen, told])

    # What --process selects is looked for in all runs.
    for process, function, calls in ((101, 'Beta', 6), (302, 'Beta', 1000),
                                     (200, 'Alpha', 70)):
        seen, told = report(results, root, '--process', str(process))
        results.check(seen == {function: calls} and NOTE in told,
                      '--process %d' % process, [seen, told])
    seen, _ = report(results, root, '--process', 'made')
    results.equal(seen, expected(NEWEST), '--process NAME')
    code, _, told = support.reader('report', '--process', '303',
                                   programs.windows_path(root.root))
    results.check(code == 1 and 'find a process that --process selects' in
                  told, '--process of none', [code, told])

    path = programs.windows_path(root.root)
    for command in COMMANDS:
        arguments = list(command)
        if command[0] in ('export', 'pack'):
            arguments += ['-o', programs.windows_path(
                os.path.join(scratch, command[0]))]
        code, _, told = support.reader(*arguments, path)
        # These stores do not say what hooks cost.
        results.check(code == (command[0] == 'hot') and told.count(NOTE) == 1,
                      'said by ' + command[0], [code, told])
    _, _, told = support.reader('diff', path, path)
    results.equal(told.count(NOTE), 2, 'said by diff, of both')

    # What adds nothing up looks at all.
    code, text, told = support.reader('verify', path)
    results.check(code == 0 and '6 stores' in text and NOTE not in told,
                  'verify: all', [text, told])
    code, text, told = support.reader('sessions', '--json', path)
    results.equal((len(json.loads(text)['sessions']), told), (6, ''),
                  'sessions: all')
    code, _, told = support.reader('ctl', path, 'stop')
    results.check(code == 1 and 'all of its processes have ended' in told,
                  'ctl: all', [code, told])


def end(path, when):
    """The process of a store ended then."""
    with open(path, 'r+b') as file:
        file.seek(0xE0)
        opened, count, _, _ = struct.unpack('<4Q', file.read(32))
        closed = opened + 10 ** 10, count + 10 * processes.SECOND, when
        file.seek(0x100)
        file.write(processes.anchor(*closed))
        file.seek(0x80)
        file.write(struct.pack('<II', 2, 3))


def check_one(results, scratch):
    """What is one run, and what is none."""
    root = make(os.path.join(scratch, 'one'), MADE[:2])
    seen, told = report(results, root)
    results.equal((seen, told), (expected('a'), ''), 'one run: all of it')
    single = processes.Root(os.path.join(scratch, 'single'))
    single.add('s', 1, processes.calls(0, 3, 1000))
    results.equal(report(results, single), ({'Alpha': 3}, ''), 'one session')

    # A child of the older run that was started after the newer one began.
    root = make(os.path.join(scratch, 'late'),
                [MADE[0], MADE[2], ('a-late', 109, 100, 9, 1, 11)])
    seen, _ = report(results, root)
    results.equal(seen, expected('b'), 'the run counts that began last')

    # An identifier that was used again: the first of the two had ended.
    for ended, runs in ((2, 2), (-2, 1)):
        root = processes.Root(os.path.join(scratch, 'again%d' % ended))
        began = 133_000_000_000_000_000 - 10 ** 17
        first = root.add('first', 100, processes.calls(0, 5, 1000),
                         created=began)
        root.add('second', 101, processes.calls(1, 6, 2000), parent=100,
                 created=began + 20 * processes.SECOND)
        end(first, 10 ** 17 + began + (20 - ended) * processes.SECOND)
        seen, told = report(results, root)
        results.equal((len(seen), 'of 2 runs' in told), (3 - runs, runs == 2),
                      'a parent that had ended: %d' % ended)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_newest(results, scratch)
        check_one(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

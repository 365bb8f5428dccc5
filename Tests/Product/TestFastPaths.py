#!/usr/bin/env python3
"""Every command that adds calls up says the same by the fast way as by the
general rules alone, byte for byte, with one worker or with several: trees,
edges, the exports of sums, outliers, hot, and what the hooks cost.

The sessions are made up: threads, fibers, frames that are left, exits without
an entry, bad records, rings, modules, and clocks of every kind
(TestReportPaths.py makes them and holds report against the same).
"""
# Takes long.

import os
import random
import re
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestReportPaths as paths                              # noqa: E402
from StoreSupport import programs                            # noqa: E402

SESSIONS = 3 if programs.LONG else 1
KINDS = paths.KINDS
TREE = (['tree', '--csv'], ['tree', '--per-thread', '--json'],
        ['tree', '--depth', '3', '--limit', '40'])
EDGES = (['callers', '--csv', '--depth', '3'], ['callees', '--sort', 'self'])
EXPORTS = (['--format', 'folded'], ['--format', 'csv-cap'],
           ['--format', 'callgrind'], ['--format', 'csv-osr'],
           ['--format', 'folded', '--exclude', 'module1.exe+0x1'])
PROBE = 0x1A8               # where a header has the cost of the hooks
PROBES = (['hot', '--csv'], ['report', '--subtract-probe', '--csv'],
          ['tree', '--subtract-probe', '--json'])
GENERAL = ['--general', '--workers', '1']
FAST = (['--workers', '1'], ['--workers', '2'], ['--workers', '5'])
FUNCTION = re.compile(r'module0\.exe\+0x[0-9a-f]+')
COST = paths.COST


def run(session, command, *options):
    """(exit code, output, errors) of a command; an export's file too."""
    path = programs.windows_path(session)
    if command[0] != 'export':
        return support.reader(*command, *options, path)
    file = os.path.join(os.path.dirname(session), 'exported')
    if os.path.exists(file):
        os.remove(file)
    code, text, errors = support.reader(
        *command, *options, '-o', programs.windows_path(file), path)
    if not os.path.exists(file):
        return code, text, errors, None
    with open(file, 'rb') as written:
        return code, text, errors, written.read()


def named(session, command, name, *options):
    """The same of a command that takes a function."""
    return support.reader(*command, *options, name,
                          programs.windows_path(session))


def check(results, what, call, ways=FAST):
    """One command in every way; what the general rules say of it."""
    expected = call(*GENERAL)
    for way in ways:
        results.equal(call(*way), expected, '%s: %s' % (what, ' '.join(way)))
    return expected


def check_session(results, scratch, number, kind):
    numbers = random.Random(1000 + number)
    session = os.path.join(scratch, 'session%d' % number)
    _, clocks = paths.make_session(session, numbers, kind)
    what = 'session %d, %s' % (number, kind)
    has_times = paths.NONE not in clocks
    code, text, errors = support.reader('tree', '--csv', '--general',
                                        programs.windows_path(session))
    names = sorted(set(FUNCTION.findall(text)))
    results.check(code == 0 and len(names) > 5, what + ': there are functions',
                  [code, errors, text[:300]])
    first, last = sorted(numbers.randrange(30000) for _ in range(2))
    ranges = [[]]
    if has_times:
        ranges.append(['--from', str(first), '--to', str(last + 2000)])
    trees = 0
    for span in ranges:
        for command in TREE:
            said = check(results, '%s: %s' % (what, command + span),
                         lambda *way: run(session, command, *span, *way))
            trees += len(said[1])
        for command in EDGES:
            name = numbers.choice(names)
            check(results, '%s: %s %s' % (what, command + span, name),
                  lambda *way: named(session, command, name, *span, *way))
        for form in EXPORTS[:None if has_times else 1]:
            check(results, '%s: %s' % (what, form + span),
                  lambda *way: run(session, ['export', *form], *span, *way))
        if has_times:
            for name in numbers.sample(names, 2):
                check(results, '%s: outliers %s %s' % (what, name, span),
                      lambda *way: named(
                          session, ['outliers', '--json', '--limit', '7'],
                          name, *span, *way))
    for thread in ('100', '101'):
        check(results, '%s: thread %s' % (what, thread),
              lambda *way: run(session, ['tree', '--csv', '--thread', thread],
                               *way))
    results.check(trees > 3000, what + ': there is something', [trees])
    file = programs.windows_path(os.path.join(scratch, 'exported'))
    check_ways(results, session, what, [
        (['tree'], []), (['callers'], [names[0]]),
        (['export', '--format', 'folded', '-o', file], [])] +
        [(['outliers'], [names[0]])] * has_times)
    check_control(results, scratch, session, what)


def check_ways(results, session, what, commands):
    """That the ways are different ones."""
    for command, after in commands:
        seen = []
        for way in (['--workers', '2'], GENERAL):
            _, _, errors = support.reader(*command, '--verbose', *way, *after,
                                          programs.windows_path(session))
            found = COST.search(errors)
            seen.append([int(text) for text in found.groups()]
                        if found else None)
        results.check(None not in seen and seen[0][0] == seen[1][0] and
                      seen[0][3] > 0 and seen[1][3] == 0 and seen[1][2] == 1,
                      '%s: what %s --verbose says' % (what, command[0]), seen)


def check_control(results, scratch, session, what):
    """A record with another site makes another tree, by either way."""
    copy = os.path.join(scratch, 'copy')
    shutil.copytree(session, copy)
    path = os.path.join(copy, 'made-100-0.trace')
    with open(path, 'r+b') as file:
        first = struct.unpack_from('<Q', file.read(4096), 0x0A8)[0]
        start = paths.SEGMENT if first else 4096
        for index in range(100, 140):
            file.seek(start + 16 * index + 8)
            site = struct.unpack('<I', file.read(4))[0]
            file.seek(start + 16 * index + 8)
            file.write(struct.pack('<I', (site + 0x100) & 0xFFFFFFFF))
    for way in FAST[1], GENERAL:
        results.check(run(session, ['tree', '--csv'], *way) !=
                      run(copy, ['tree', '--csv'], *way),
                      '%s: another site: %s' % (what, way))
    shutil.rmtree(copy)


def check_probe(results, scratch, number):
    """What the hooks cost, of modules that have costs of their own."""
    numbers = random.Random(2000 + number)
    session = os.path.join(scratch, 'probe%d' % number)
    paths.make_session(session, numbers)
    for path in support.stores(session):
        module = int(path.rsplit('-', 1)[1].split('.')[0])
        with open(path, 'r+b') as file:
            file.seek(PROBE)
            if module != 1 or number % 2:
                file.write(struct.pack('<2I', 300 + module, 900 + module))
            else:
                file.write(struct.pack('<2I', 0, 700))
    what = 'probe %d' % number
    texts = 0
    for command in PROBES:
        said = check(results, '%s: %s' % (what, command),
                     lambda *way: run(session, command, *way))
        results.check(said[0] == 0, '%s: %s' % (what, command), said)
        texts += len(said[1])
        check(results, '%s: %s in a range' % (what, command),
              lambda *way: run(session, command, *way,
                               *([] if command[0] == 'hot' else
                                 ['--from', '3000', '--to', '20000'])))
    results.check(texts > 3000, what + ': there is something', [texts])
    check_ways(results, session, what,
               [(command, []) for command in PROBES])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for number in range(SESSIONS):
            check_session(results, scratch, number, None)
        for number, kind in enumerate(KINDS):
            check_session(results, scratch, SESSIONS + number, kind)
        for number in range(SESSIONS):
            check_probe(results, scratch, number)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

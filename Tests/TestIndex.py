#!/usr/bin/env python3
"""The index of a thread (Docs/Format.md, section 13): TraceReader replay
--from shows the same with one as without, over the made-up sessions of
TestReportPaths.py and real ones, whether the index is whole, of a part of the
store, damaged, another store's, or cannot be written.
"""

import os
import random
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import StoreSupport as support                               # noqa: E402
import TestPythonReader as made                              # noqa: E402
import TestReportPaths as paths                              # noqa: E402
from StoreSupport import programs                            # noqa: E402

SESSIONS = 4
KINDS = ('thread', 'frozen', 'taken back')
MARKS = ['--mark-every', '64']
FORMATS = ([], ['--csv'], ['--json'])
COST = re.compile(r'TraceReader: index: (\d+) marks; (\d+) left out, or the '
                  r'index would be too large; (\d+) records passed by\n')
HEADER = 64
CURSOR, CURSOR_TO_POSITION = 0x040, 0x050


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
            options += ['--to', '%dns' % (first + (times[-1] - first) // 4)]
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
        running = [subprocess.Popen(
            [programs.WINE, programs.READER, 'replay', *MARKS, *options,
             path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=support.environment())
            for _ in range(4)]
        for process in running:
            code, text = support.finish(process)
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
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the two readers against the format, and against each other.

Tests/Library/trace_reader.py was made from Docs/Format.md alone.  Here it reads stores
that are written byte by byte with known answers; then it and TraceReader read
the same stores, made up and traced, and must agree on every function's calls
and times.
"""
# Takes long.

import array
import collections
import contextlib
import functools
import io
import mmap
import os
import random
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
from MadeStores import (                                     # noqa: E402
    A, B, BASE, C, ENTER, ENTER_F, EXIT, EXIT_F, FIBER, HIGH, LIMIT, RATE,
    SIZE, TOP, anchor, header, record, write)
import StoreSupport as support                                # noqa: E402
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402


def read(path):
    """(function -> (calls, total, self), counts, store).

    A function with abandoned calls has their ticks as a fourth number.
    """
    store = trace_reader.Store(path)
    functions, counts = trace_reader.pair(store)
    seen = {key: (f.calls, f.total, f.self) +
            ((f.abandoned,) if f.abandoned else ())
            for key, f in functions.items()}
    return seen, counts, store


PAIRING = [
    ('a call in a call',
     [(10, A, TOP - 64, ENTER), (12, B, TOP - 128, ENTER),
      (15, B + 9, TOP - 128, EXIT), (20, A + 9, TOP - 64, EXIT)],
     {A: (1, 10, 7), B: (1, 3, 3)}, {'completed': 2}),
    ('recursion counts the outermost',
     [(10, A, TOP - 64, ENTER), (12, A, TOP - 128, ENTER),
      (15, A + 9, TOP - 128, EXIT), (20, A + 9, TOP - 64, EXIT)],
     {A: (2, 10, 10)}, {'completed': 2}),
    ('an entry shows two frames gone',
     [(10, A, TOP - 64, ENTER), (11, B, TOP - 128, ENTER),
      (12, C, TOP - 192, ENTER), (20, B, TOP - 128, ENTER),
      (25, B + 9, TOP - 128, EXIT), (30, A + 9, TOP - 64, EXIT)],
     {A: (1, 20, 6), B: (2, 5, 5, 9), C: (1, 0, 0, 8)},
     {'completed': 2, 'abandoned': 2}),
    ('an exit shows a frame gone',
     [(10, A, TOP - 64, ENTER), (11, B, TOP - 128, ENTER),
      (20, A + 9, TOP - 64, EXIT)],
     {A: (1, 10, 1), B: (1, 0, 0, 9)}, {'completed': 1, 'abandoned': 1}),
    ('an exit below its entry',
     [(10, A, TOP - 64, ENTER), (20, A + 9, TOP - 4096, EXIT)],
     {A: (1, 10, 10)}, {'completed': 1}),
    ('an exit without an entry',
     [(10, A + 9, TOP - 64, EXIT), (11, B, TOP - 64, ENTER),
      (12, B + 9, TOP - 64, EXIT), (13, A + 9, TOP - 64, EXIT)],
     {B: (1, 1, 1)}, {'completed': 1, 'unmatched': 2}),
    ('frames open at the end',
     [(10, A, TOP - 64, ENTER), (12, B, TOP - 128, ENTER),
      (15, C, TOP - 192, ENTER), (18, C + 9, TOP - 192, EXIT)],
     {A: (1, 8, 2), B: (1, 6, 3), C: (1, 3, 3)},
     {'completed': 1, 'open': 2}),
    ('functions: a jump to the exit hook',
     [(10, A, TOP - 64, ENTER_F), (12, B, TOP - 128, ENTER_F),
      (15, B, TOP - 72, EXIT_F), (20, A, TOP - 8, EXIT_F)],
     {A: (1, 10, 7), B: (1, 3, 3)}, {'completed': 2}),
    ('functions: frames passed over',
     [(10, A, TOP - 64, ENTER_F), (12, B, TOP - 128, ENTER_F),
      (14, C, TOP - 192, ENTER_F), (20, A, TOP - 64, EXIT_F)],
     {A: (1, 10, 2), B: (1, 0, 0, 8), C: (1, 0, 0, 6)},
     {'completed': 1, 'abandoned': 2}),
    ('functions: no frame of that site in reach',
     [(10, A, TOP - 64, ENTER_F), (12, B, TOP - 128, ENTER_F),
      (14, C, TOP - 192, EXIT_F), (15, A, TOP - 192, EXIT_F),
      (16, B, TOP - 128, EXIT_F)],
     {A: (1, 6, 2), B: (1, 4, 4)},
     {'completed': 1, 'open': 1, 'unmatched': 2}),
    ('the two kinds of hooks do not end each other',
     [(10, A, TOP - 64, ENTER_F), (12, B, TOP - 128, EXIT),
      (14, A, TOP - 64, EXIT_F)],
     {A: (1, 4, 4)}, {'completed': 1, 'unmatched': 1}),
    ('a fiber has its own frames',
     [(10, A, TOP - 64, ENTER), (12, B, FIBER, ENTER),
      (14, C, TOP - 128, ENTER), (16, C + 9, TOP - 128, EXIT),
      (18, B + 9, FIBER, EXIT), (20, A + 9, TOP - 64, EXIT)],
     {A: (1, 10, 4), B: (1, 6, 2), C: (1, 2, 2)}, {'completed': 3}),
    ('two fibers take turns',
     [(10, A, FIBER, ENTER), (12, B, FIBER + 0x100000, ENTER),
      (13, A, FIBER - 64, ENTER), (14, C, FIBER + 0x100000 - 64, ENTER),
      (15, A + 9, FIBER - 64, EXIT), (16, C + 9, FIBER + 0x100000 - 64, EXIT),
      (18, A + 9, FIBER, EXIT), (20, B + 9, FIBER + 0x100000, EXIT)],
     {A: (2, 8, 4), B: (1, 8, 3), C: (1, 2, 1)}, {'completed': 4}),
    ('a stack across a multiple of 4 GiB',
     [(10, A, HIGH - 64, ENTER), (12, B, HIGH - 0x2000, ENTER),
      (15, B + 9, HIGH - 0x2000, EXIT), (20, A + 9, HIGH - 64, EXIT)],
     {A: (1, 10, 7), B: (1, 3, 3)}, {'completed': 2}),
]


def changes_for(records):
    if any(item[2] > TOP for item in records):
        return {'at0x28': struct.pack('<QQ', HIGH, HIGH - 0x100000)}
    return {}


def check_pairing(results, scratch):
    for number, (what, records, functions, counts) in enumerate(PAIRING):
        path = write(os.path.join(scratch, 'pair%d.trace' % number), records,
                     **changes_for(records))
        seen, seen_counts, store = read(path)
        results.equal(seen, functions, what)
        results.equal(dict(seen_counts), counts, what)
        results.equal((sum(store.bad.values()), store.number_of_records),
                      (0, len(records)), what)


def check_records(results, scratch):
    path = os.path.join(scratch, 'records.trace')
    good = [(10, A, TOP - 64, ENTER), (20, A + 9, TOP - 64, EXIT)]
    for what, bad, cause in (
            ('hole', (0, B, TOP - 128, ENTER), 'hole'),
            ('kind 0', (15, B, TOP - 128, 0), 'kind'),
            ('kind 6', (15, B, TOP - 128, 6), 'kind'),
            ('outside the module', (15, SIZE, TOP - 128, ENTER), 'site'),
            ('time backwards', (9, B, TOP - 128, ENTER), 'time')):
        seen, _, store = read(write(path, [good[0], bad, good[1]]))
        results.equal((dict(store.bad), store.first_bad_offset, seen),
                      ({cause: 1}, 4112, {A: (1, 10, 10)}), what)
    _, _, store = read(write(path, [*good, (0, 0, 0, 0)]))
    results.equal((store.number_of_records, dict(store.bad)), (2, {}),
                  'a reserved record at the end')
    _, _, store = read(write(path, [*good, (0, 0, 0, 0), (0, 0, 0, 0)]))
    results.equal((store.number_of_records, dict(store.bad)), (2, {'hole': 1}),
                  'two records that were not written')


def check_reading_all(results, scratch):
    """read_all says what records says, whatever is wrong and wherever."""
    path = os.path.join(scratch, 'all.trace')
    numbers = random.Random(5)
    good = [(10 + index, A + index % 7, TOP - 64 * (index % 5), ENTER)
            for index in range(19)]
    whole, trace_reader.PIECE = trace_reader.PIECE, 64
    slow = trace_reader.Store.records
    calls, causes = collections.Counter(), collections.Counter()

    def records(store):
        calls['records'] += 1
        return slow(store)

    def said(store, number):
        return number, dict(store.bad), store.first_bad_offset

    differ = []
    for index in [None, *range(len(good))] * 2:
        for bad in ((0, B, TOP - 128, ENTER), (0, 0, 0, 0),
                    (10 + (index or 0), B, TOP - 128, 0),
                    (10 + (index or 0), B, TOP - 128, 6),
                    (10 + (index or 0), SIZE, TOP - 128, ENTER),
                    (1, B, TOP - 128, ENTER), (999, B, TOP - 128, ENTER)):
            changed = list(good)
            if index is not None:
                changed[index] = bad
                if numbers.random() < 0.3:
                    changed[numbers.randrange(len(changed))] = bad
            store = trace_reader.Store(write(path, changed))
            expected = said(store, sum(1 for _ in store.records()))
            trace_reader.Store.records = records
            seen = said(store, store.read_all())
            trace_reader.Store.records = slow
            causes.update(store.bad.keys() or ['nothing'])
            if seen != expected or store.bad and not calls['records']:
                differ.append((index, bad, expected, seen))
            if not store.bad and calls['records']:
                differ.append((index, bad, 'read twice'))
            calls.clear()
    trace_reader.PIECE = whole
    results.check(not differ, 'all that is read at once', differ)
    results.check(all(causes[cause] > 20 for cause in (
        'hole', 'kind', 'site', 'time', 'nothing')),
        'control: what is wrong with what is read at once', [causes])


def check_ends(results, scratch):
    path = os.path.join(scratch, 'end.trace')
    good = [(10, A, TOP - 64, ENTER), (20, A + 9, TOP - 64, EXIT)]
    _, _, store = read(write(path, good, tail=bytes(8192)))
    results.equal(store.number_of_slots, 2, 'bytes after the end')
    odd = dict(at0x58=struct.pack('<I', 9), at0x68=struct.pack('<Q', 4112))
    _, _, store = read(write(path, good, **odd))
    results.equal(store.number_of_slots, 1, 'an odd generation')
    write(path, good * 10)
    os.truncate(path, 4096 + 5 * 16 + 3)
    _, _, store = read(path)
    results.equal(store.number_of_slots, 5, 'a file that was cut')
    _, _, store = read(write(path, []))
    results.equal(store.number_of_slots, 0, 'no records')


def check_headers(results, scratch):
    path = os.path.join(scratch, 'header.trace')
    good = [(10, A, TOP - 64, ENTER)]
    for what, changes in (
            ('being created', dict(at0x00=bytes(8))),
            ('not a store', dict(at0x00=b'TRCSTORF')),
            ('major version', dict(at0x08=b'\2')),
            ('header size', dict(at0x0C=struct.pack('<I', 4088))),
            ('record size', dict(at0x10=struct.pack('<I', 8))),
            ('stack', dict(at0x28=struct.pack('<QQ', LIMIT, TOP))),
            ('state', dict(at0x80=struct.pack('<I', 4))),
            ('module base', dict(at0x120=struct.pack('<Q', BASE + 1))),
            ('module size', dict(at0x128=struct.pack('<I', 0))),
            ('text length', dict(at0x148=struct.pack('<II', 1057, 1057))),
            ('text lengths', dict(at0x148=struct.pack('<II', 20, 19))),
            ('end before the records',
             dict(at0x40=struct.pack('<Q', 0x1F0000 + 16))),
            ('end between records',
             dict(at0x40=struct.pack('<Q', 0x1F0000 + 4100)))):
        write(path, good, **changes)
        try:
            trace_reader.Store(path)
            results.check(False, 'a header with a bad %s' % what)
        except trace_reader.FormatError:
            results.check(True, what)
    for size in (0, 5, 4095):
        write(path, good)
        os.truncate(path, size)
        try:
            trace_reader.Store(path)
            results.check(False, 'a file of %d bytes' % size)
        except trace_reader.FormatError:
            results.check(True, 'size')
    _, _, store = read(write(path, good, at0xA=b'\7', at0x170=b'\xff' * 144))
    results.equal(store.number_of_slots, 1, 'a higher minor version')


def check_clock(results, scratch):
    path = os.path.join(scratch, 'clock.trace')
    torn = bytearray(anchor(77, 1))
    torn[0] ^= 1
    store = trace_reader.Store(write(path, []))
    results.equal(trace_reader.ticks_per_second([store]), RATE, 'the clock')
    other = trace_reader.Store(write(
        path, [], at0xE0=bytes(torn),
        at0x100=anchor(1000 + 300 * RATE, 300)))
    results.equal(len(other.anchors), 1, 'a torn anchor')
    results.equal(trace_reader.ticks_per_second([other]), None, 'no clock')
    results.equal(trace_reader.ticks_per_second([store, other]), RATE,
                  'anchors of two stores')


#
# Rings.  Record number N, counted from the first that was ever written, is
# what ring_record makes of N, at position 4096 + 16 * N.  The model below
# keeps the newest records by their numbers, and knows nothing of positions.
#

SEGMENT, SEGMENTS = 0x10000, 3
IN_SEGMENT, BEFORE = SEGMENT // 16, (SEGMENT - 4096) // 16
RING_FILE = SEGMENT * (SEGMENTS + 1)


def ring_record(number):
    """Calls, one after the other, of a few functions."""
    rva = 0x1000 * (1 + number // 2 % 7) + 9 * (number & 1)
    return (5000 + 3 * number, rva, TOP - 64 - 8 * (number // 2 % 11),
            EXIT if number & 1 else ENTER)


@functools.lru_cache(None)
def all_ring_bytes():
    return b''.join(record(*ring_record(number))
                    for number in range(BEFORE + 12 * IN_SEGMENT))


def ring_bytes(first, count):
    return all_ring_bytes()[16 * first:16 * (first + count)]


def ring_header(first, end, **changes):
    changes = {'at0xA': b'\1', 'at0x40': struct.pack('<Q', 0x1F0000 + 4096 +
                                                     16 * end),
               'at0xA8': struct.pack('<Q', first and 4096 + 16 * first),
               'at0xB0': struct.pack('<Q', SEGMENT),
               'at0xB8': struct.pack('<Q', SEGMENT * SEGMENTS), **changes}
    return header(0, **changes)


def ring_file(end, **changes):
    """(bytes, number of the first record) of a ring with end records."""
    segments, first, parts = [], 0, [(0, min(end, BEFORE))]
    while parts[-1][1] < end:
        parts.append((parts[-1][1], min(parts[-1][1] + IN_SEGMENT, end)))
    data = bytearray(RING_FILE)
    data[4096:4096 + 16 * parts[0][1]] = ring_bytes(0, parts[0][1])
    segments = list(enumerate(parts[1:]))
    if len(segments) > SEGMENTS:
        first = segments[-SEGMENTS][1][0]
    for index, (low, high) in segments[-SEGMENTS:]:
        at = SEGMENT * (1 + index % SEGMENTS)
        data[at:at + 16 * (high - low)] = ring_bytes(low, high - low)
    data[0:4096] = ring_header(first, end, **changes)
    return bytes(data), first


def write_bytes(path, data):
    with open(path, 'wb') as file:
        file.write(data)
    return path


def numbers_of(store):
    """The numbers of a ring's records, or what is no record of one."""
    for item in store.records():
        number = (item[0] - 5000) // 3
        time, rva, rsp, kind = ring_record(number)
        yield number if item == (time, rva, rsp & 0xFFFFFFF8, kind) else item


def check_rings(results, scratch):
    path = os.path.join(scratch, 'ring.trace')
    ends = [0, 1] + [BEFORE + segment * IN_SEGMENT + more
                     for segment in range(3 * SEGMENTS + 2)
                     for more in (-1, 0, 1)]
    for end in ends:
        data, first = ring_file(end)
        store = trace_reader.Store(write_bytes(path, data))
        seen = list(numbers_of(store))
        results.check(seen == list(range(first, end)),
                      'a ring of %d records' % end, seen[:3])
        results.equal((sum(store.bad.values()), store.number_of_overtaken),
                      (0, 0), 'a ring of %d records' % end)

    # A control: a place that was not written anew.
    data = bytearray(data)
    data[SEGMENT + 16:SEGMENT + 32] = ring_bytes(0, 1)
    store = trace_reader.Store(write_bytes(path, bytes(data)))
    results.check(list(numbers_of(store)) != list(range(first, end)) and
                  store.bad['time'] == 1, 'control: an old record')

    # Cut at every border of a segment: what lies together, up to the newest.
    last = BEFORE + 4 * IN_SEGMENT
    data, first = ring_file(last + 100)
    for size, low, high in ((SEGMENT, 0, 0),
                            (2 * SEGMENT, last - IN_SEGMENT, last),
                            (3 * SEGMENT, last - IN_SEGMENT, last + 100),
                            (4 * SEGMENT, first, last + 100)):
        store = trace_reader.Store(write_bytes(path, data[:size]))
        results.check(list(numbers_of(store)) == list(range(low, high)),
                      'a ring cut at %d' % size)
    for what, changes in (
            ('segment', dict(at0xB0=struct.pack('<Q', 0x8000))),
            ('segment, no power', dict(at0xB0=struct.pack('<Q', 0x18000))),
            ('two segments', dict(at0xB8=struct.pack('<Q', 0x20000))),
            ('no whole segments', dict(at0xB8=struct.pack('<Q', 0x38000))),
            ('first in a segment', dict(at0xA8=struct.pack('<Q', 0x20010))),
            ('first before the ring', dict(at0xA8=struct.pack('<Q', 0x10000))),
            ('first beyond the end', dict(at0xA8=struct.pack('<Q', 1 << 40))),
            ('end beyond the ring', dict(at0xA8=bytes(8))),
            ('clock', dict(at0x3C=struct.pack('<I', 3)))):
        write_bytes(path, ring_file(last + 100, **changes)[0])
        try:
            trace_reader.Store(path)
            results.check(False, 'a ring with a bad %s' % what)
        except trace_reader.FormatError:
            results.check(True, what)


def write_ring_for_ever(path):
    """A ring's writer, in a process of its own, until the file is gone.

    It appends some records at a time: they are whole when they are published.
    """
    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as view:
        words = array.array('Q', (struct.unpack('<8xQ', record(
            *ring_record(number)))[0] for number in range(2 * 7 * 11)))
        number, batch, period = 0, 64, 2 * 7 * 11
        while number < 10 ** 8:
            if number % (IN_SEGMENT * 8) == 0 and not os.path.exists(path):
                return
            at = 4096 + 16 * number
            if number >= BEFORE:
                place = (number - BEFORE) % (IN_SEGMENT * SEGMENTS)
                at = SEGMENT + 16 * place
                if place % IN_SEGMENT == 0:
                    if number >= BEFORE + IN_SEGMENT * SEGMENTS:
                        first = number - IN_SEGMENT * (SEGMENTS - 1)
                        support.put(view, 0xA8, 'Q', 4096 + 16 * first)
                    view[at:at + SEGMENT] = bytes(SEGMENT)
            data = array.array('Q', bytes(16 * batch))
            data[0::2] = array.array('Q', range(
                5000 + 3 * number, 5000 + 3 * (number + batch), 3))
            data[1::2] = array.array('Q', (
                words[n % period] for n in range(number, number + batch)))
            view[at:at + 16 * batch] = data.tobytes()
            number += batch
            support.put(view, 0x40, 'Q', 0x1F0000 + 4096 + 16 * number)
            if number % (IN_SEGMENT // 2) == 0:
                time.sleep(0.0002)


def check_overtaking(results, scratch):
    """Both readers on a ring that another process goes around in."""
    session = os.path.join(scratch, 'overtaking')
    os.mkdir(session)
    path = write_bytes(os.path.join(session, 'ring.trace'),
                       ring_file(0, at0x80=struct.pack('<II', 1, 0))[0])
    writer = subprocess.Popen([sys.executable, __file__, '--write', path])
    overtaken = shown = rounds = 0
    unordered, codes = [], []
    try:
        support.wait_for(lambda: trace_reader.Store(path).FirstPosition)
        while rounds < 40 or overtaken == 0 and rounds < 400:
            rounds += 1
            store = trace_reader.Store(path)
            first = (store.start - 4096) // 16
            gaps = 0
            for number in numbers_of(store):
                if number != first:
                    if (not isinstance(number, int) or number < first or
                            gaps == store.number_of_gaps):
                        unordered.append((number, first))
                        break
                gaps, first = store.number_of_gaps, number + 1
                shown += 1
            overtaken += store.number_of_overtaken
            if sum(store.bad.values()):
                unordered.append(dict(store.bad))
            elif store.number_of_slots != (store.number_of_records +
                                           store.number_of_overtaken):
                unordered.append((store.number_of_slots,
                                  store.number_of_records,
                                  store.number_of_overtaken))
        for _ in range(3):
            codes.append(support.verify(session))
    finally:
        os.unlink(path)
        support.watch.wait(writer)
    results.check(not unordered, 'a ring that is overtaken', unordered[:5])
    results.check(shown > 0, 'records of a ring that is overtaken')
    if overtaken == 0:
        results.skip('the writer never overtook its reader')
    for code, rows, text in codes:
        results.check(code == 0 and rows['ring.trace']['bad'] == '0' and
                      'ring: ' in text, 'TraceReader on the same ring', text)


def check_clocks(results, scratch):
    """Clock threads that froze, and no clock."""
    path = os.path.join(scratch, 'clocks.trace')
    calls = [(1000, A, TOP - 64, ENTER), (1000, B, TOP - 128, ENTER),
             (1100, B + 9, TOP - 128, EXIT), (1200, B, TOP - 128, ENTER),
             (9000, B + 9, TOP - 128, EXIT), (9000, A + 9, TOP - 64, EXIT)]
    frozen = dict(at0x3C=struct.pack('<I', 1),
                  at0xC8=struct.pack('<3Q', 100, 1, 7801))
    functions, _ = trace_reader.pair(
        trace_reader.Store(write(path, calls, **frozen)))
    results.equal({key: (f.calls, f.total, f.uncertain)
                   for key, f in functions.items()},
                  {A: (1, 8000, 1), B: (2, 7900, 1)}, 'a clock that froze')
    frozen['at0xC8'] = struct.pack('<3Q', 100, 0, 0)
    functions, _ = trace_reader.pair(
        trace_reader.Store(write(path, calls, **frozen)))
    results.equal(sum(f.uncertain for f in functions.values()), 0,
                  'control: a clock that never froze')
    none = [(4096 + 16 * index, *item[1:]) for index, item in enumerate(calls)]
    write(path, none, at0x3C=struct.pack('<I', 2))
    with contextlib.redirect_stdout(io.StringIO()) as text:
        trace_reader.main([path])
    results.equal(text.getvalue().splitlines()[1:],
                  ['0x2000,2,,,', '0x1000,1,,,'], 'no clock')


TAILS = [
    ('nothing', [], 0),
    ('one entry', [(5000, ENTER)], 0),
    ('an exit stays', [(5000, ENTER), (5001, EXIT), (5002, ENTER)], 2),
    ('functions', [(5000, ENTER_F), (5000, EXIT_F), (5000, ENTER_F)], 2),
    ('entries that are too young',
     [(5000, ENTER), (5001, ENTER), (5099, ENTER)], 0),
    ('one that is old enough',
     [(5000, ENTER), (5001, ENTER), (5100, ENTER)], 1),
    ('two', [(5000, ENTER), (5001, ENTER), (5101, ENTER)], 2),
    ('a slot that is used again',
     [(5000, EXIT), (5001, ENTER), (0, ENTER), (5002, ENTER)], 1),
    ('a reserved exit', [(5000, EXIT), (5001, ENTER), (0, EXIT)], 1),
]


def check_tails(results, scratch):
    """What a writer may still take back is not shown while it runs."""
    path = os.path.join(scratch, 'tail.trace')
    least = dict(at0x170=struct.pack('<Q', 100),
                 at0x80=struct.pack('<II', 1, 0))
    for what, tail, stay in TAILS:
        write(path, [(time, A, TOP - 64 - 8 * index, kind)
                     for index, (time, kind) in enumerate(tail)], **least)
        seen = [trace_reader.Store(path, is_running=True).number_of_slots,
                trace_reader.Store(path).number_of_slots]
        results.equal(seen, [stay, len(tail)], what)
        write(path, [(time, A, TOP - 64 - 8 * index, kind)
                     for index, (time, kind) in enumerate(tail)],
              at0x170=least['at0x170'])
        results.equal(trace_reader.Store(path, True).number_of_slots,
                      len(tail), what + ', closed')
    long_ago = 5100 + (1 << 32)
    write(path, [(5000, A, TOP - 64, ENTER)], **least)
    results.equal([trace_reader.Store(path, True, now).number_of_slots
                   for now in (long_ago - 1, long_ago)], [0, 1],
                  'an entry of long ago')
    write(path, [(5000, A, TOP - 64, ENTER)], at0x3C=b'\1', **least)
    results.equal(trace_reader.Store(path, True, 2 * long_ago)
                  .number_of_slots, 0, 'an entry by a clock thread')


def compare(results, what, session, resolve=None):
    """Both readers on one session: calls are equal, and so are times.

    TraceReader prints whole nanoseconds, rounded down in every row.
    """
    report = programs.read_report(session)
    stores = trace_reader.open_all([session])
    functions = {}
    for store in stores:
        trace_reader.pair(store, functions, resolve or (
            lambda rva: '%s+0x%x' % (
                store.ModulePath.rpartition('\\')[2], rva)))
    nanoseconds = 1e9 / trace_reader.ticks_per_second(stores)
    wrong = programs.differences(
        {name: f.calls for name, f in functions.items()},
        {name: row['calls'] for name, row in report.items()})
    results.check(functions and not wrong, '%s: calls' % what, wrong)
    for field, own in (('total', 'total'), ('self', 'self'),
                       ('abandoned_time', 'abandoned')):
        wrong = []
        for name in set(functions) & set(report):
            mine = getattr(functions[name], own) * nanoseconds
            allowed = report[name]['rows'] + 0.5 + mine * 1e-8
            if abs(report[name][field] - mine) > allowed:
                wrong.append((name, field, report[name][field], mine))
        results.check(not wrong, '%s: %s' % (what, field), wrong)
    return functions


def made_up_records(random_numbers, number_of_records):
    """Calls as a program makes them, with some of everything that goes wrong."""
    r, time, frames, made = random_numbers, 1000, [], []
    stack, stacks = TOP - 256, [TOP - 256, FIBER, FIBER + 0x200000]
    open_frames = {where: [] for where in stacks}
    for _ in range(number_of_records):
        time += r.randrange(1, 200)
        chance = r.random()
        if chance < 0.01:
            stack = r.choice(stacks)
        frames = open_frames[stack]
        rsp = frames[-1][1] if frames else stack
        if chance < 0.03:
            made.append((time, r.choice((A, B, C)) + 5, rsp,
                         r.choice((EXIT, EXIT_F))))
        elif chance < 0.05:
            del frames[-r.randrange(1, 5):]
        elif (chance < 0.53 and len(frames) < 40) or not frames:
            rva, rsp = 0x1000 * r.randrange(1, 30), rsp - 8 * r.randrange(1, 9)
            kind = ENTER_F if rva >= 0x18000 else ENTER
            frames.append((rva, rsp, kind))
            made.append((time, rva, rsp, kind))
        else:
            rva, rsp, kind = frames.pop()
            shift = r.choice((0, 0, 0, 8 if kind == ENTER_F else -24))
            site = rva if kind == ENTER_F else rva + 0x30
            made.append((time, site, rsp + shift, kind + 1))
    return made


def check_made_up(results, scratch):
    """TraceReader and trace_reader.py on stores that no program wrote."""
    session = os.path.join(scratch, 'pairing')
    os.mkdir(session)
    for number, (_, records, _, _) in enumerate(PAIRING):
        write(os.path.join(session, 'made-up-%d-0.trace' % number), records,
              at0x1C=struct.pack('<I', number + 1), **changes_for(records))
    compare(results, 'the cases of this test', session)
    session = os.path.join(scratch, 'rings')
    os.mkdir(session)
    for thread in range(1, 10):
        write_bytes(os.path.join(session, 'ring-%d-0.trace' % thread),
                    ring_file(BEFORE + thread * IN_SEGMENT - thread,
                              at0x1C=struct.pack('<I', thread))[0])
    compare(results, 'rings', session)
    for seed in range(3):
        session = os.path.join(scratch, 'random%d' % seed)
        os.mkdir(session)
        for thread in range(1, 21):
            numbers = random.Random(seed * 100 + thread)
            write(os.path.join(session, 'made-up-%d-0.trace' % thread),
                  made_up_records(numbers, 1500),
                  at0x1C=struct.pack('<I', thread))
        compare(results, 'random calls %d' % seed, session)


def check_lua(results, scratch):
    source = programs.find_lua()
    if source is None:
        results.skip('Lua: its source cannot be had')
        return
    folder = os.path.join(scratch, 'lua')
    program = programs.build_lua(folder, source, programs.PENTER_FLAGS,
                                 [programs.LIBRARY])
    _, session = programs.trace(
        program, os.path.join(programs.PROGRAMS, 'counts.lua'),
        '1' if programs.LONG else '10',
        directory=os.path.join(folder, 'traces'))
    compare(results, 'Lua', session, trace_reader.read_symbols(
        programs.write_symbols(program, os.path.join(folder, 'symbols'))))


def check_traced(results, scratch):
    for what, flags in (('Sample, -pg', programs.PENTER_FLAGS),
                        ('Sample, -finstrument-functions',
                         programs.FUNCTION_FLAGS)):
        folder = os.path.join(scratch, 'sample%d' % len(flags))
        program = programs.build_sample(folder, flags, [programs.LIBRARY])
        _, session = programs.trace(program, '3', '40', '1',
                                    directory=os.path.join(folder, 'traces'))
        resolve = trace_reader.read_symbols(programs.write_symbols(
            program, os.path.join(folder, 'symbols')))
        functions = compare(results, what, session, resolve)
        results.equal(functions['WorkerMain'].calls, 3, what)

        #
        # A control: the comparison sees one byte that has changed.
        #

        name = max(os.listdir(session), key=lambda name: os.path.getsize(
            os.path.join(session, name)))
        report = programs.read_report(session)
        with open(os.path.join(session, name), 'r+b') as file:
            file.seek(4096 + 16 * 1000 + 12)
            kind = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([kind & 0xF8]))
        changed = {}
        for store in trace_reader.open_all([session]):
            trace_reader.pair(store, changed, resolve)
        results.check(
            any(report[key]['calls'] != f.calls for key, f in changed.items())
            or any(functions[key].self != f.self
                   for key, f in changed.items()),
            '%s: control: one record is bad' % what)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_pairing(results, scratch)
        check_records(results, scratch)
        check_reading_all(results, scratch)
        check_ends(results, scratch)
        check_headers(results, scratch)
        check_clock(results, scratch)
        check_clocks(results, scratch)
        check_rings(results, scratch)
        check_tails(results, scratch)
        check_overtaking(results, scratch)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            code = trace_reader.main(['--stores',
                                      os.path.join(scratch, 'pair2.trace')])
        results.equal((code, text.getvalue().splitlines()[1]),
                      (0, 'pair2.trace,7,2,6,2,2,0,0,0,'), 'the command')
        check_made_up(results, scratch)
        check_traced(results, scratch)
        check_lua(results, scratch)
    return results.finish()


if __name__ == '__main__':
    if sys.argv[1:2] == ['--write']:
        write_ring_for_ever(sys.argv[2])
        sys.exit(0)
    sys.exit(main())

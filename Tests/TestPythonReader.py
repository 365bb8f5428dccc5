#!/usr/bin/env python3
"""Checks the two readers against the format, and against each other.

Tests/trace_reader.py was made from Docs/Format.md alone.  Here it reads stores
that are written byte by byte with known answers; then it and TraceReader read
the same stores, made up and traced, and must agree on every function's calls
and times.
"""

import contextlib
import io
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, 'Programs')]
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402

BASE, SIZE = 0x7FF612340000, 0x100000
TOP, LIMIT = 0x00000012_00300000, 0x00000012_00200000
ENTER, EXIT, ENTER_F, EXIT_F = 1, 2, 3, 4
RATE = 10 ** 9          # ticks a second, so that a tick is a nanosecond


def record(time, rva, rsp, kind):
    return struct.pack('<QII', time, (BASE + rva) & 0xFFFFFFFF,
                       (rsp & 0xFFFFFFF8) | kind)


def anchor(tsc, seconds):
    values = tsc, 500 + seconds * 10 ** 7, 133_000_000_000_000_000 + seconds
    check = values[0] ^ values[1] ^ values[2]
    return struct.pack('<4Q', *values, check)


def header(records, **changes):
    """A header for that many bytes of records; changes is offset -> bytes."""
    data = bytearray(4096)

    def put(offset, code, *values):
        struct.pack_into('<' + code, data, offset, *values)

    data[0:8] = b'TRCSTORE'
    put(0x008, 'HHIII', 1, 0, 4096, 16, 1)
    put(0x018, 'IIQQQI', 4242, 7, 133_000_000_000_000_000, TOP, LIMIT, 0)
    view = 0x1F0000
    put(0x040, 'QQQI', view + 4096 + records, view + 0x10000,
        -view & 0xFFFFFFFFFFFFFFFF, 8)
    put(0x068, 'Q', 4096)
    put(0x080, 'II', 2, 1)
    put(0x0C0, 'Q', 10 ** 7)
    data[0x0E0:0x100] = anchor(1000, 0)
    data[0x100:0x120] = anchor(1000 + 100 * RATE, 100)
    put(0x120, 'QI', BASE, SIZE)
    path = b'C:\\nowhere\\made-up.exe'
    put(0x148, '4I', len(path), len(path), len(path), len(path))
    data[0x200:0x200 + len(path)] = path
    data[0x620:0x620 + len(path)] = path
    for offset, value in changes.items():
        offset = int(offset[2:], 16)
        data[offset:offset + len(value)] = value
    return bytes(data)


def write(path, records, tail=b'', **changes):
    body = b''.join(record(*item) if isinstance(item, tuple) else item
                    for item in records)
    with open(path, 'wb') as file:
        file.write(header(len(body), **changes) + body + tail)
    return path


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


A, B, C = 0x1000, 0x2000, 0x3000
FIBER = 0x40000000
HIGH = 0x00000013_00001000          # a stack that crosses a multiple of 4 GiB

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
            ('kind 5', (15, B, TOP - 128, 5), 'kind'),
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
        directory=os.path.join(folder, 'traces'))
    compare(results, 'Lua', session, trace_reader.read_symbols(
        programs.write_symbols(program, os.path.join(folder, 'symbols'))))


def check_traced(results, scratch):
    for what, flags in (('Sample, -pg', programs.PENTER_FLAGS),
                        ('Sample, -finstrument-functions',
                         programs.FUNCTION_FLAGS)):
        folder = os.path.join(scratch, 'sample%d' % len(flags))
        program = programs.build_sample(folder, flags, [programs.LIBRARY])
        _, session = programs.trace(program, '3', '40',
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
        check_ends(results, scratch)
        check_headers(results, scratch)
        check_clock(results, scratch)
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
    sys.exit(main())

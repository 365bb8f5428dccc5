#!/usr/bin/env python3
"""Compact stores are read as any other: every command and export shows of them
what it shows of stores of the same records that are not compact.

Tests/Library/CompactStores.py makes compact stores of traced and of made-up
ones, in all states that there are: all records raw, half of them, blocks that
do not count yet, closed, with the end of the stream behind the header, rings of
blocks that have gone around.  Tests/Library/trace_reader.py, which was made
from Docs/Format.md alone, reads them, too.  Stores that are damaged, and fields
that have other values, must mean the same to both readers.  A thread that
writes a store on and on, as a traced program would, never shows a reader
anything but good records.
"""
# Takes long.

import csv
import io
import mmap
import os
import random
import re
import shutil
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import codec_writer                                          # noqa: E402
import CompactStores as compact                              # noqa: E402
import EventSupport as events                                # noqa: E402
import PackSupport as packs                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestPack as packing                                   # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

HEADER, SEGMENT = compact.HEADER, compact.SEGMENT

# What is not told of bytes of files is the same.
COMMANDS = [
    ['report'], ['report', '--csv'], ['report', '--percentiles'],
    ['report', '--general'], ['report', '--workers', '2'],
    ['report', '--from', '1us', '--to', '2ms'], ['report', '--lines'],
    ['tree'], ['tree', '--per-thread'], ['tree', '--from', '3us'],
    ['replay'], ['replay', '--tail', '9'], ['replay', '--from', '2us'],
    ['verify'], ['hot'], ['outliers'], ['stack'],
    ['diff', '@'], ['live', '--count', '1', '--from-start']]
FORMATS = ['html', 'chrome', 'perfetto', 'fxt', 'speedscope', 'folded',
           'callgrind', 'csv', 'csv-osr', 'csv-cap']


OFFSET = re.compile(r'(?<= at offset )\d+')


def near_end(data, back, view=SEGMENT):
    """Where a view begins, so many before the last."""
    places = compact.borders(compact.end_of(data), view)
    return places[max(len(places) - 1 - back, 0)]


# State -> how a store is made so.
STATES = {
    'raw': lambda data: compact.make(data, first=HEADER, ring=1 << 22),
    'half': lambda data: compact.make(data, first=near_end(data, 2),
                                      stale=b'\x11\x22\x33\x44' * 4),
    'beyond': lambda data: compact.make(data, first=near_end(data, 3),
                                        beyond=1),
    'encoded': compact.make,
    'stored': lambda data: compact.make(data, encode=codec_writer.stored,
                                        tail=True),
    'large': lambda data: compact.make(data, view=8 * SEGMENT,
                                       ring=24 * SEGMENT, tail=True),
    'closed': lambda data: compact.make(data, tail=True),
    'crossing': lambda data: compact.make(
        data, segment=HEADER, view=HEADER, ring=3 * HEADER),
}

# A pack and what is made of it have every byte of these: nothing is left in
# places that are not used, and the blocks are those that this project makes.
EXACT = ('raw', 'encoded', 'large', 'closed')


def write_session(session, target, make):
    """The session with its stores made anew."""
    os.makedirs(target)
    for name in sorted(os.listdir(session)):
        data = packs.read_bytes(os.path.join(session, name))
        if name.endswith('.index'):
            continue
        if name.endswith('.trace'):
            data = make(data)
        with open(os.path.join(target, name), 'wb') as file:
            file.write(data)
    return target


def read_records(session):
    return [packing.records(path) for path in support.stores(session)]


def without_bytes(command, session):
    """The rows of a command in CSV, without the column of bytes."""
    code, text, errors = support.reader(command, '--csv',
                                        programs.windows_path(session))
    return code, errors, [{name: value for name, value in row.items()
                           if name != 'bytes'}
                          for row in csv.DictReader(io.StringIO(text))]


def check_exports(results, session, target, what, folder):
    for form in FORMATS:
        found = []
        for place in (session, target):
            path = os.path.join(folder, 'export')
            said = support.reader('export', '--format', form, '-o',
                                  programs.windows_path(path),
                                  *support.as_picture(form),
                                  programs.windows_path(place))
            data = packs.read_bytes(path) if said[0] == 0 else b''
            name = programs.windows_path(place)
            for escape in ('\\', '\\\\', '\\u005c', '/'):
                data = data.replace(name.replace('\\', escape).encode(),
                                    b'PLACE')
            found.append(data)
            if os.path.exists(path):
                os.remove(path)
        results.check(found[0] == found[1] and found[0],
                      '%s: export %s' % (what, form),
                      [data[:200] for data in found])


def check_same(results, session, folder, what, states, commands=None):
    """Commands say the same, packs are packed and unpacked."""
    expected = read_records(session)
    tables = {command: without_bytes(command, session)
              for command in ('threads', 'modules')}
    results.check(tables['threads'][0] == 0 and
                  sum(len(records) for records, _ in expected) > 100,
                  what + ': there is something', [tables])
    for state in states:
        name = '%s, %s' % (what, state)
        target = write_session(session, os.path.join(
            folder, state, os.path.basename(session)), STATES[state])
        results.check(read_records(target) == expected,
                      name + ': the second reader')
        packing.check_reading(results, session, target, name,
                              commands or [['report'], ['verify']],
                              has_answers=False)
        for command, rows in tables.items():
            results.equal(without_bytes(command, target), rows,
                          '%s: %s' % (name, command))
        if commands:
            check_exports(results, session, target, name, folder)
        check_pack(results, session, target, name, state in EXACT, folder)
        shutil.rmtree(os.path.dirname(target))


def check_pack(results, session, target, what, is_exact, folder):
    path = os.path.join(folder, 'one.tracepack')
    code, text, errors = packing.pack(target, path)
    results.check((code, errors) == (0, ''), what + ': pack',
                  [code, text, errors])
    packing.check_reading(results, session, path, what + ', pack',
                          [['report', '--csv'], ['replay', '--tail', '9'],
                           ['tree']], has_answers=False)
    there = os.path.join(folder, 'there')
    code, text, errors = support.reader(
        'unpack', '-o', programs.windows_path(there),
        programs.windows_path(path))
    results.check((code, errors) == (0, ''), what + ': unpack',
                  [code, text, errors])
    results.check(read_records(there) == read_records(target),
                  what + ': unpacked')
    for store in support.stores(target) * is_exact:
        results.check(packs.read_bytes(store) == packs.read_bytes(
            os.path.join(there, os.path.basename(store))),
            '%s: %s: every byte' % (what, os.path.basename(store)))
    shutil.rmtree(there)
    os.remove(path)


def make_up(folder, seed, *counts, **options):
    numbers = random.Random(seed)
    os.makedirs(folder)
    return events.make_session(
        folder, [events.random_records(numbers, count, 1000, fibers=fibers)
                 for count, fibers in counts], **options)


def check_made_up(results, scratch):
    session = make_up(os.path.join(scratch, 'made'), 1, (30000, 0), (4000, 2),
                      (7, 0))
    states = [state for state in STATES if state != 'crossing']
    for state in states:
        check_same(results, session, os.path.join(scratch, 'made'), 'made up',
                   [state], COMMANDS if state in ('half', 'closed') or
                   programs.LONG else None)


def check_controls(results, scratch):
    """What is not the same is not shown as the same."""
    folder = os.path.join(scratch, 'controls')
    session = make_up(folder, 9, (9000, 0))

    def change(data):
        data = bytearray(data)
        time, = struct.unpack_from('<Q', data, HEADER + 16 * 5000)
        next_time, = struct.unpack_from('<Q', data, HEADER + 16 * 5001)
        struct.pack_into('<Q', data, HEADER + 16 * 5000,
                         next_time if next_time > time else time - 1)
        return compact.make(data, tail=True)

    target = write_session(session, os.path.join(folder, 'changed', 'session'),
                           change)
    results.check(read_records(target) != read_records(session),
                  'control: the second reader')
    for command in (['report'], ['replay', '--csv']):
        inside = programs.windows_path(target)
        results.check(packing.said(session, inside, command) !=
                      packing.said(target, inside, command),
                      'control: ' + command[0])


def check_traced(results, scratch):
    """Programs that were traced."""
    sample = programs.build_sample(os.path.join(scratch, 'sample'),
                                   programs.PENTER_FLAGS, [programs.LIBRARY])
    threads = programs.build(
        os.path.join(scratch, 'busy'),
        [os.path.join(programs.PROGRAMS, 'Named.c')], programs.PENTER_FLAGS,
        'Named.exe', [programs.LIBRARY])
    runs = [('sample', sample, ('3', '12'), {}), ('named', threads, (), {}),
            ('short', sample, (), {'TRACER_MIN_DURATION': '2us'})]
    lua = programs.find_lua()
    if lua:
        program = programs.build_lua(os.path.join(scratch, 'lua'), lua,
                                     programs.PENTER_FLAGS,
                                     [programs.LIBRARY])
        runs.append(('Lua', program, ('-e', 'for i = 1, 99 do print(i) end'),
                     {}))
    for what, program, arguments, variables in runs:
        folder = os.path.join(scratch, 'runs-' + what)
        try:
            _, session = programs.trace(program, *arguments, directory=folder,
                                        **variables)
        except RuntimeError as error:
            results.check(False, what + ': runs', [str(error)])
            continue
        copy = os.path.join(folder, 'copy', os.path.basename(session))
        os.makedirs(os.path.dirname(copy))
        events.without_anchors(session, copy)
        check_same(results, copy, folder, what, ['half', 'closed'],
                   COMMANDS[:8])


def check_rings(results, scratch):
    """A ring of blocks shows what a ring of the same records shows."""
    folder = os.path.join(scratch, 'rings')
    session = make_up(folder, 2, (60000, 0), (20000, 1))
    for capacity in (SEGMENT, 2 * SEGMENT):
        starts = {}

        def ring(data, capacity=capacity, starts=starts):
            made = compact.make(data, capacity=capacity)
            with open(os.path.join(folder, 'one.trace'), 'wb') as file:
                file.write(made)
            starts[data[:64]] = trace_reader.Store(file.name).start
            os.remove(file.name)
            return made

        def plain(data, starts=starts):
            start = starts[data[:64]]
            return compact.as_ring(data, start) if start > HEADER else data

        what = 'ring of %d' % capacity
        target = write_session(session, os.path.join(
            folder, 'compact%d' % capacity, 'session'), ring)
        results.check(any(start >= 2 * SEGMENT for start in starts.values()),
                      what + ': has gone around', [starts.values()])
        other = write_session(session, os.path.join(
            folder, 'plain%d' % capacity, 'session'), plain)
        results.equal(read_records(target), read_records(other),
                      what + ': the second reader')
        packing.check_reading(results, other, target, what, COMMANDS,
                              has_answers=False)
        check_pack(results, other, target, what, True, folder)


def blocks_of(path):
    """(stream offset, position, bytes of records, bytes in the stream)."""
    store = trace_reader.Store(path)
    return [(offset, position, raw, used)
            for position, offset, raw, used in store.blocks]


def place(data, offset):
    """Where a stream offset is in the file."""
    tail = compact.get(data, 'BlocksTail')
    if offset >= tail:
        return HEADER + offset - tail
    return compact.get(data, 'BlocksFileOffset') + offset


def check_damage(results, scratch):
    """A block that is not good is named, and costs its own records."""
    folder = os.path.join(scratch, 'damage')
    session = make_up(folder, 3, (30000, 0))
    good, _ = read_records(session)[0]
    whole = compact.make(packs.read_bytes(support.stores(session)[0]),
                         tail=True)
    name = os.path.basename(support.stores(session)[0])
    image = os.path.join(folder, 'made-up.exe')
    shutil.copy(image, os.path.join(folder, 'kept.exe'))

    def write(data):
        there = os.path.join(folder, 'damaged')
        shutil.rmtree(there, ignore_errors=True)
        os.makedirs(there)
        path = os.path.join(there, name)
        with open(path, 'wb') as file:
            file.write(data)
        return path

    blocks = blocks_of(write(whole))
    results.check(len(blocks) > 5, 'damage: blocks', [len(blocks)])

    def change(number, at, bits):
        def made(data):
            data[place(data, blocks[number][0]) + at] ^= bits
        return made

    last = len(blocks) - 1
    cases = [('nothing', lambda data: None, []),
             ('contents', change(2, 300, 1), [2]),
             ('sum', change(2, 0x38, 1), [2]),
             ('magic', change(2, 0, 1), [2]),
             ('method', change(2, 5, 3), [2]),
             ('position', change(3, 0x11, 1), [3]),
             ('size of records', change(2, 9, 0x10), [2]),
             ('size', change(4, 0x0D, 1), [4]),
             ('the first', change(0, 0x0D, 1), [0]),
             ('the last', change(last, 0, 1), [last]),
             ('two', lambda data: (change(1, 70, 1)(data),
                                   change(4, 0, 1)(data)), [1, 4])]
    at = place(whole, blocks[3][0])
    cases.append(('zeroes', lambda data: data.__setitem__(
        slice(at, at + blocks[3][3]), bytes(blocks[3][3])), [3]))
    cases.append(('cut', lambda data: data.__delitem__(
        slice(place(whole, blocks[last - 1][0]) + 100, None)),
        [last - 1, last]))
    for what, damage, expected in cases:
        data = bytearray(whole)
        damage(data)
        path = write(data)
        bad = sum(blocks[number][2] for number in expected) // 16
        first = (place(whole, blocks[expected[0]][0]) if expected else None)
        left = [record for index, record in enumerate(good)
                if not any(blocks[number][1] <= HEADER + 16 * index <
                           blocks[number][1] + blocks[number][2]
                           for number in expected)]
        have, causes = packing.records(path)
        results.check(have == left and causes == ({'block': bad} if bad
                                                  else {}),
                      'damage, %s: the second reader' % what,
                      [len(have), len(left), causes])
        code, rows, text = support.verify(os.path.dirname(path))
        row = rows[name]
        results.check(code == (2 if bad else 0) and
                      (int(row['records']), int(row['bad'])) ==
                      (len(left), bad) and row['first_bad_offset'] ==
                      ('' if first is None else str(first)),
                      'damage, %s: verify' % what, [code, text, first])
        results.check(('in a damaged block' in row['result']) == bool(bad),
                      'damage, %s: what is said' % what, [row])
        check_recovered(results, path, left, 'damage, ' + what, bool(bad))
        target = os.path.join(folder, 'one.tracepack')
        code, text, errors = packing.pack(os.path.dirname(path), target)
        results.check(code == 0, 'damage, %s: pack' % what,
                      [code, text, errors])
        found = [support.reader('replay', '--csv', programs.windows_path(each))
                 for each in (os.path.dirname(path), target)]
        found = [(code, text, OFFSET.sub('', errors))
                 for code, text, errors in found]
        results.check(found[0] == found[1], 'damage, %s: replay' % what,
                      [found[0][2], found[1][2]])
        os.remove(target)

    # What the header has is not believed.
    damaged = bytearray(whole)
    damaged[:HEADER] = bytes(HEADER)
    path = write(damaged)
    shutil.copy(support.stores(session)[0],
                os.path.join(os.path.dirname(path), 'made-up.exe-9-9.trace'))
    other = os.path.join(os.path.dirname(path), 'made-up.exe-9-9.trace')
    with open(other, 'wb') as file:
        file.write(compact.make(packs.read_bytes(support.stores(session)[0]),
                                tail=True))
    check_recovered(results, path, good, 'no header', True)
    damaged = bytearray(whole)
    struct.pack_into('<H', damaged, 8, 9)
    check_recovered(results, write(damaged), good, 'another version', True)
    damaged = bytearray(whole)
    damaged[0x40] ^= 1
    check_recovered(results, write(damaged), good, 'no end', True)


def check_recovered(results, path, expected, what, is_plain):
    """recover saves the good records, in a store that is sound."""
    there = os.path.join(os.path.dirname(os.path.dirname(path)), 'recovered')
    shutil.rmtree(there, ignore_errors=True)
    code, text, errors = support.reader(
        'recover', '-o', programs.windows_path(there),
        programs.windows_path(os.path.dirname(path)))
    results.check(code in (0, 2) and not errors, what + ': recover',
                  [code, text, errors])
    copy = os.path.join(there, os.path.basename(path))
    store = trace_reader.Store(copy)
    results.check(packing.records(copy) == (expected, {}) and
                  store.MajorVersion == (1 if is_plain else 2),
                  what + ': recovered',
                  [store.number_of_slots, len(expected), text])
    results.check(is_plain or packs.read_bytes(copy) ==
                  packs.read_bytes(path), what + ': as it was')


def check_hostile(results, scratch):
    """Fields of any values: the readers agree on what is refused."""
    folder = os.path.join(scratch, 'hostile')
    session = make_up(folder, 4, (9000, 0))
    source = packs.read_bytes(support.stores(session)[0])
    name = os.path.basename(support.stores(session)[0])
    numbers = random.Random(5)
    made = [compact.make(source, tail=True),
            compact.make(source, first=near_end(source, 1)),
            compact.make(source, capacity=SEGMENT)]
    values = (0, 1, 8, 15, 16, HEADER, SEGMENT, SEGMENT - 8, 1 << 32,
              (1 << 62) - 8, 1 << 62, 1 << 63, compact.NO_TAIL - 7,
              compact.NO_TAIL)
    cases = [(data, field, value) for data in made
             for field in compact.OFFSETS for value in values]
    there = os.path.join(folder, 'changed')
    os.makedirs(there)
    agreed = 0
    for data, field, value in (cases if programs.LONG else
                               numbers.sample(cases, 60)):
        data = bytearray(data)
        compact.put(data, **{field: value})
        path = os.path.join(there, name)
        with open(path, 'wb') as file:
            file.write(data)
        what = 'hostile: %s is 0x%x' % (field, value)
        code, rows, text = support.verify(there)
        try:
            have, causes = packing.records(path)
            expected = len(have), sum(causes.values())
        except trace_reader.FormatError:
            expected = None
        row = rows.get(name, {})
        if expected is None:
            results.check(code in (1, 2), what + ': refused', [code, text])
            continue
        found = int(row.get('records', -1)), int(row.get('bad', -1))
        cut = 'ends at offset' in row.get('result', '')
        results.check(found[0] == expected[0] and
                      found[1] == expected[1] + cut, what,
                      [code, text, expected])
        agreed += found[0] > 0
    results.check(agreed > 5, 'hostile: some is read', [agreed])


def check_hostile_packs(results, scratch):
    """Packs with compact stores that pack did not write: unpack makes stores
    that have what the pack has, or says that it cannot."""
    folder = os.path.join(scratch, 'packs')
    session = make_up(folder, 11, (9000, 0))
    source = packs.read_bytes(support.stores(session)[0])
    name = os.path.basename(support.stores(session)[0])
    numbers = random.Random(12)
    plain = [(compact.make(source, tail=True), {}),
             (compact.make(source, first=near_end(source, 1)), {}),
             (compact.make(source, capacity=2 * SEGMENT), {})]
    values = (0, 1, 8, 24, HEADER, SEGMENT, 3 * SEGMENT, 64 * SEGMENT,
              1 << 36, 1 << 40, 1 << 62, 1 << 63, compact.NO_TAIL)
    cases = plain + [(data, {field: value}) for data, _ in plain
                     for field in compact.OFFSETS for value in values]
    body = source[HEADER:compact.end_of(source)]
    unpacked = 0
    for number, (data, change) in enumerate(
            cases if programs.LONG else plain + numbers.sample(cases, 40)):
        header = bytearray(data[:HEADER])
        compact.put(header, **change)
        path = os.path.join(folder, '%d.tracepack' % number)
        blocks = [(0, packs.stored(bytes(header), 0))] + [
            (HEADER + at, packs.stored(body[at:at + SEGMENT], HEADER + at))
            for at in range(0, len(body), SEGMENT)]
        with open(path, 'wb') as file:
            file.write(packs.make([('session/' + name, HEADER + len(body),
                                    blocks)]))
        what = 'pack that nobody wrote %d: %s' % (number, change)
        code, rows, text = support.verify(path)
        there = os.path.join(folder, 'there')
        shutil.rmtree(there, ignore_errors=True)
        done, said, errors = support.reader(
            'unpack', '-o', programs.windows_path(there),
            programs.windows_path(path))
        results.check(done == 0 or done == 1 and errors, what + ': unpack',
                      [done, said, errors])
        os.remove(path)
        if done != 0 or code == 1:
            continue
        copy = os.path.join(there, name)
        results.check(os.path.getsize(copy) < 1 << 37, what + ': is no larger',
                      [os.path.getsize(copy)])
        row = next(iter(rows.values()), {})
        if row.get('bad') == '0' and int(row['records']) > 0:
            have, causes = packing.records(copy)
            results.check((len(have), causes) == (int(row['records']), {}),
                          what + ': the same', [len(have), causes, row])
            unpacked += 1
    results.check(unpacked > 5, 'packs that nobody wrote: some are good',
                  [unpacked])


class Writer(threading.Thread):
    """Writes a store on and on, as a traced thread and its worker would."""

    def __init__(self, path, source, capacity, is_wrong=False):
        super().__init__()
        self.path, self.capacity, self.is_wrong = path, capacity, is_wrong
        self.body = source[HEADER:compact.end_of(source)]
        self.empty = compact.make(
            source[:0x40] + struct.pack('<Q', HEADER) + source[0x48:0x50] +
            bytes(8) + source[0x58:HEADER], first=HEADER, capacity=capacity)
        self.blocks = compact.blocks_of(
            self.body, HEADER + len(self.body),
            compact.borders(HEADER + len(self.body)), codec_writer.encode)
        self.started, self.is_asked = threading.Event(), False
        self.error = None

    def run(self):
        try:
            self.write()
        except Exception as error:  # noqa: BLE001
            self.error = error
        self.started.set()

    def write(self):
        ring = compact.RING
        data = bytearray(self.empty) + bytes(SEGMENT + ring - HEADER)
        data[0x80:0x88] = struct.pack('<II', 1, 0)
        struct.pack_into('<I', data, 0x58, 0)
        with open(self.path, 'w+b') as file:
            file.write(data)
            file.flush()
            with mmap.mmap(file.fileno(), len(data)) as view:
                self.fill(file, view)
            if not self.capacity:
                self.close(file)

    def fill(self, file, view):
        stream, first, sizes = 0, 0, []
        self.put = lambda field, value: support.put(
            view, compact.OFFSETS[field], 'Q', value)
        for position, body, block in self.blocks:
            start = position
            for at in range(0, len(body), 4096):
                self.append(view, start + at, body[at:at + 4096])
            support.put(view, 0x68, 'Q', position + len(body))
            block = compact.padded(block)
            if self.capacity:
                while stream + len(block) - first > self.capacity:
                    first += sizes.pop(0)
                    self.put('BlocksFirst', first)
            sizes.append(len(block))
            if self.is_wrong:   # the block comes too late
                self.put('BlocksEnd', stream + len(block))
                self.put('FirstPosition', position + len(body))
                self.started.set()
                time.sleep(0.03)
            self.write_stream(file, stream, block)
            stream += len(block)
            self.put('BlocksEnd', stream)
            self.put('FirstPosition', position + len(body))
            # The place is cleared: nobody may read it any more.
            for at in range(position, position + len(body), SEGMENT):
                where = at if at < SEGMENT else (
                    SEGMENT + (at - SEGMENT) % compact.RING)
                size = min(len(body), SEGMENT - (where % SEGMENT))
                view[where:where + size] = bytes(size)
            self.started.set()
            time.sleep(0.004)
        self.total = stream

    def append(self, view, position, body):
        where = position if position < SEGMENT else (
            SEGMENT + (position - SEGMENT) % compact.RING)
        view[where:where + len(body)] = body
        support.put(view, 0x40, 'Q', position + len(body))

    def write_stream(self, file, offset, data):
        base = SEGMENT + compact.RING
        while data:
            at, size = offset, len(data)
            if self.capacity:
                at %= self.capacity
                size = min(size, self.capacity - at)
            os.pwrite(file.fileno(), data[:size], base + at)
            offset, data = offset + size, data[size:]

    def close(self, file):
        """The end of the stream goes where the first records were."""
        room = SEGMENT + compact.RING - HEADER
        tail = max(self.total - room, 0)
        base = SEGMENT + compact.RING
        os.pwrite(file.fileno(), os.pread(file.fileno(), self.total - tail,
                                          base + tail), HEADER)
        with mmap.mmap(file.fileno(), HEADER) as view:
            support.put(view, compact.OFFSETS['BlocksTail'], 'Q', tail)
            support.put(view, 0x80, 'I', 2)
        os.ftruncate(file.fileno(), base + tail if tail else
                     HEADER + self.total)


def check_moving(results, scratch, capacity):
    """A store is read while it is written."""
    folder = os.path.join(scratch, 'moving%d' % capacity)
    session = make_up(folder, 6, (400000, 0))
    source = packs.read_bytes(support.stores(session)[0])
    good = [(time, rva, rsp, kind) for time, rva, rsp, kind in
            packing.records(support.stores(session)[0])[0]]
    what = 'written on, ring' if capacity else 'written on'
    there = os.path.join(folder, 'there')
    os.makedirs(there)
    path = os.path.join(there, os.path.basename(support.stores(session)[0]))
    seen, rounds = set(), 0
    while rounds < (12 if programs.LONG else 3) or (len(seen) < 3 and
                                                    rounds < 60):
        rounds += 1
        writer = Writer(path, source, capacity)
        writer.start()
        writer.started.wait()
        while writer.is_alive():
            code, text, errors = support.reader(
                'verify', '--csv', programs.windows_path(there))
            rows = list(csv.DictReader(io.StringIO(text)))
            ok = code == 0 and rows and rows[0]['bad'] == '0'
            results.check(ok, what + ': verify', [code, text, errors])
            if rows:
                seen.add((rows[0]['records'], rows[0]['result']))
        writer.join()
        results.check(writer.error is None, what + ': is written',
                      [writer.error])
        have, causes = packing.records(path)
        results.check(have == good[len(good) - len(have):] and not causes and
                      (capacity or len(have) == len(good)),
                      what + ': all of it', [len(have), causes])
    results.check(len(seen) > 2, what + ': is seen to grow', [sorted(seen)])


def check_index(results, scratch):
    """An index is made of blocks, and used."""
    folder = os.path.join(scratch, 'index')
    session = make_up(folder, 10, (20000, 0), (3000, 1))
    for state in ('half', 'closed'):
        target = write_session(session, os.path.join(folder, state, 'session'),
                               STATES[state])
        results.equal(support.index_differences(target), [],
                      'index of %s' % state)
        results.equal(len([name for name in os.listdir(target)
                           if name.endswith('.index')]), 2,
                      'index of %s: is there' % state)
        for options in ([], ['--no-index']):
            found = [support.reader('replay', '--csv', '--from', '8ms',
                                    *options, programs.windows_path(each))
                     for each in (target, session)]
            results.check(found[0] == found[1] and found[0][0] == 0 and
                          len(found[0][1].splitlines()) > 1000,
                          'index of %s: a range' % state,
                          [text[:300] for _, text, _ in found])
    target = write_session(session, os.path.join(folder, 'ring', 'session'),
                           lambda data: compact.make(data, capacity=SEGMENT))
    support.index_differences(target)
    results.check(not any(name.endswith('.index')
                          for name in os.listdir(target)),
                  'index: a ring of blocks has none')


def check_wrong(results, scratch):
    """A writer that tells of blocks before they are there is seen through."""
    folder = os.path.join(scratch, 'wrong')
    session = make_up(folder, 6, (100000, 0))
    there = os.path.join(folder, 'there')
    os.makedirs(there)
    path = os.path.join(there, os.path.basename(support.stores(session)[0]))
    bad = 0
    for _ in range(60):
        writer = Writer(path, packs.read_bytes(support.stores(session)[0]), 0,
                        is_wrong=True)
        writer.start()
        writer.started.wait()
        while writer.is_alive() and not bad:
            _, text, _ = support.reader('verify', '--csv',
                                        programs.windows_path(there))
            bad = sum(int(row['bad'])
                      for row in csv.DictReader(io.StringIO(text)))
        writer.join()
        if bad:
            break
    results.check(bad, 'control: a writer in another order')


def check_info(results, scratch):
    """info tells what is in blocks."""
    folder = os.path.join(scratch, 'info')
    session = make_up(folder, 7, (30000, 0))
    target = write_session(session, os.path.join(folder, 'half', 'session'),
                           STATES['half'])
    path = support.stores(target)[0]
    store = trace_reader.Store(path)
    code, text, errors = support.reader('info', '--csv',
                                        programs.windows_path(target))
    row = {line.split(',')[2]: line.split(',', 3)[3]
           for line in text.splitlines() if line.startswith('compact,')}
    used = HEADER + store.BlocksEnd + store.end - store.FirstPosition
    raw = (store.end - store.FirstPosition) // 16
    results.equal((code, row), (0, {
        'stores': '1', 'records': '30000', 'bytes': str(used),
        'file_bytes': str(os.path.getsize(path)),
        'bytes_a_call': '%.2f' % (used * 200 // 30000 / 100),
        'blocks': str(len(store.blocks)), 'blocks_inline': '0',
        'raw_records': str(raw),
        'raw_percent': '%.2f' % (raw * 10000 // 30000 / 100)}),
        'info: compact')
    results.check('recording,0,mode,compact' in text, 'info: the mode',
                  [text])
    code, text, _ = support.reader('info', '--csv',
                                   programs.windows_path(session))
    results.check('compact' not in text, 'info: not compact', [text])


def check_snapshot(results, scratch):
    """A snapshot has the records one behind the other."""
    folder = os.path.join(scratch, 'snapshot')
    session = make_up(folder, 8, (30000, 0))
    for state in ('half', 'closed'):
        target = write_session(session, os.path.join(folder, state, 'session'),
                               STATES[state])
        support.write_control(target, [])
        there = os.path.join(folder, state, 'copy')
        code, text, errors = support.reader(
            'ctl', programs.windows_path(target), 'snapshot',
            programs.windows_path(there))
        results.check(code == 0, 'snapshot of %s' % state,
                      [code, text, errors])
        if code == 0:
            results.equal(read_records(there), read_records(session),
                          'snapshot of %s: records' % state)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for check in (check_made_up, check_rings, check_damage, check_hostile,
                      check_hostile_packs,
                      check_controls, check_index, check_info, check_snapshot,
                      check_wrong, check_traced):
            check(results, scratch)
        for capacity in (0, 4 * SEGMENT):
            check_moving(results, scratch, capacity)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

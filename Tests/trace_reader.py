#!/usr/bin/env python3
"""Reads trace stores: a second reader, made from Docs/Format.md alone.

usage: trace_reader.py [--stores] [--symbols NM-LIST] PATH...

PATH is a store, or a session directory.  Prints one CSV line for each
function: its calls, total, self and abandoned ticks (or with --stores, one line for each
store).  NM-LIST is the output of nm for the traced module; without it a
function is named by the image-relative address of its entry site.

As a module: Store(path) validates one store, Store.records() iterates,
pair(store, ...) pairs and adds up, ticks_per_second(stores) is the clock.
"""

import bisect
import collections
import csv
import itertools
import mmap
import os
import struct
import sys

ENTER, EXIT, ENTER_FUNCTION, EXIT_FUNCTION = 1, 2, 3, 4
LOW32 = 0xFFFFFFFF
LOW64 = 0xFFFFFFFFFFFFFFFF

# Section 3: name -> (offset, struct code).
FIELDS = {
    'MajorVersion': (0x008, 'H'), 'MinorVersion': (0x00A, 'H'),
    'HeaderSize': (0x00C, 'I'), 'RecordSize': (0x010, 'I'),
    'Flags': (0x014, 'I'), 'ProcessId': (0x018, 'I'),
    'ThreadId': (0x01C, 'I'), 'ProcessCreationTime': (0x020, 'Q'),
    'StackBase': (0x028, 'Q'), 'StackLimit': (0x030, 'Q'),
    'SequenceNumber': (0x038, 'I'), 'NumberOfEventsLost': (0x060, 'Q'),
    'NumberOfEventsReentered': (0x078, 'Q'), 'State': (0x080, 'I'),
    'Reason': (0x084, 'I'), 'Status': (0x088, 'I'),
    'QpcFrequency': (0x0C0, 'Q'), 'ModuleBase': (0x120, 'Q'),
    'ModuleSize': (0x128, 'I'), 'ModuleTimeDateStamp': (0x12C, 'I'),
    'CodeViewAge': (0x134, 'I'),
}
TEXTS = {  # name -> (offset of the length, offset, size)
    'ModulePath': (0x148, 0x200, 1056), 'ProcessPath': (0x150, 0x620, 1056),
    'CommandLine': (0x158, 0xA40, 768), 'PdbPath': (0x160, 0xD40, 544),
    'ThreadName': (0x168, 0xF60, 160),
}


class FormatError(Exception):
    """The file is not a store that can be read; the text says why."""


class Store:
    """One validated store.  Fields of the header are attributes."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as file:
            size = os.fstat(file.fileno()).st_size
            self.map = b''
            if size:
                self.map = mmap.mmap(file.fileno(), size,
                                     access=mmap.ACCESS_READ)
        magic = self.map[:8]
        if not any(magic):
            raise FormatError('still being created: no magic')
        if magic != b'TRCSTORE':
            raise FormatError('not a trace store')
        if size < 4096:
            raise FormatError('cut: %d bytes' % size)
        for name, (offset, code) in FIELDS.items():
            setattr(self, name, self._get(offset, code))
        self._validate()
        for name, (length, offset, _) in TEXTS.items():
            text = self.map[offset:offset + self._get(length, 'I')]
            setattr(self, name, text.decode('utf-8', 'replace'))
        self.anchors = []
        for offset in (0x0E0, 0x100):
            tsc, qpc, time, check = self._get(offset, '4Q', whole=True)
            if tsc ^ qpc ^ time == check and (tsc or qpc or time):
                self.anchors.append((qpc, tsc, time))
        end = self._find_end()
        if end < self.HeaderSize or (end - self.HeaderSize) % 16:
            raise FormatError('damaged: end of the records at %d' % end)
        self.number_of_slots = (min(end, size) - self.HeaderSize) // 16
        self.number_of_records = 0
        self.bad = collections.Counter()
        self.first_bad_offset = None

    def _validate(self):
        """Section 8: the header."""
        if self.MajorVersion != 1:
            raise FormatError('unknown major version %d' % self.MajorVersion)
        stack = self.StackBase - self.StackLimit
        rules = [
            ('HeaderSize', 4096 <= self.HeaderSize <= 65536 and
             self.HeaderSize % 16 == 0),
            ('RecordSize', self.RecordSize == 16),
            ('StackBase', 0 < stack <= LOW32 or
             self.StackBase == self.StackLimit == 0),
            ('State', 1 <= self.State <= 3),
            ('ModuleBase', self.ModuleBase and self.ModuleBase % 4096 == 0),
            ('ModuleSize', 1 <= self.ModuleSize <= 1 << 31),
        ]
        for name, (length, _, room) in TEXTS.items():
            used, full = self._get(length, '2I', whole=True)
            rules.append((name + 'Length', used <= room and used <= full))
        for name, holds in rules:
            if not holds:
                raise FormatError('damaged: ' + name)

    def _get(self, offset, code, whole=False):
        values = struct.unpack_from('<' + code, self.map, offset)
        return values if whole else values[0]

    def _find_end(self):
        """Section 5: the end of the records, as a file offset."""
        for _ in range(1000):
            before = self._get(0x058, 'I')
            cursor, delta = self._get(0x040, 'Q'), self._get(0x050, 'Q')
            view = self._get(0x068, 'Q')
            if self._get(0x058, 'I') == before:
                return view if before & 1 else (cursor + delta) & LOW64
        raise FormatError('busy: the view keeps changing')

    def _note(self, cause, index):
        self.bad[cause] += 1
        if self.first_bad_offset is None:
            self.first_bad_offset = self.HeaderSize + 16 * index

    def records(self):
        """Yields (timestamp, site RVA, Rsp, kind) of every good record."""
        base, size = self.ModuleBase & LOW32, self.ModuleSize
        start, last, count = self.HeaderSize, 0, 0
        self.bad.clear()
        self.first_bad_offset = None
        with memoryview(self.map) as view, \
                view[start:start + 16 * self.number_of_slots] as body:
            for index, (time, site, word) in enumerate(
                    struct.iter_unpack('<QII', body)):
                rva, kind = (site - base) & LOW32, word & 7
                if time == 0:
                    if index + 1 < self.number_of_slots:
                        self._note('hole', index)
                elif not 1 <= kind <= 4:
                    self._note('kind', index)
                elif rva >= size:
                    self._note('site', index)
                elif time < last:
                    self._note('time', index)
                else:
                    last = time
                    count += 1
                    yield time, rva, word & 0xFFFFFFF8, kind
        self.number_of_records = count


class Function:
    """What pair() adds up for one function.  Abandoned calls are apart."""
    __slots__ = ('calls', 'total', 'self', 'abandoned', 'depth')

    def __init__(self):
        self.calls = self.total = self.self = self.abandoned = self.depth = 0


class Stack:
    """One stack of open frames; addresses are bytes above the own stack's."""

    def __init__(self, address):
        self.lowest = self.highest = address
        self.frames = []  # of [address, site, start, ticks of others, Function]
        self.left = None  # when another stack took over


def signed(difference):
    return ((difference + 0x80000000) & LOW32) - 0x80000000


def other_stack(stacks, current, address, leaves):
    """Section 11, other stacks: the one of stacks[1:] of an address."""
    above = below = None
    for stack in stacks[1:]:
        if stack.lowest <= address <= stack.highest:
            return stack
        if stack.lowest > address:
            if above is None or stack.lowest < above.lowest:
                above = stack
        elif below is None or stack.highest > below.highest:
            below = stack
    far_above = far_below = None
    if above:
        if above.frames:
            distance = above.frames[-1][0] - address
            near = distance <= 0x8000
        else:
            distance = above.lowest - address
            near = (distance <= 0x8000 and
                    above.lowest >> 16 == address >> 16)
        if near:
            far_above = distance
        elif (leaves and above is current and
              above.lowest - address <= 1 << 20):
            far_above = 1 << 20
    if below and address - below.highest <= 0x1000:
        far_below = address - below.highest
    if far_above is not None and (far_below is None or above is current or
                                  far_above <= far_below):
        above.lowest = address
        return above
    if far_below is not None:
        below.highest = address
        return below
    stacks.append(Stack(address))
    return stacks[-1]


def pair(store, functions=None, resolve=None):
    """Pairs the records of a store (section 11) and adds them up.

    This is the pairing without the image.  functions maps what resolve(rva)
    returns (the RVA itself if None) to a Function, and is returned with a
    Counter of what happened to the frames.
    """
    functions = {} if functions is None else functions
    counts = collections.Counter()
    known = {}
    base, size = store.StackBase & LOW32, store.StackBase - store.StackLimit
    current = Stack(0)
    stacks, time = [current], 0

    def leave(frames, time, how):
        _, _, start, inner, function = frames.pop()
        elapsed = max(time - start, 0)
        function.depth -= 1
        if how == 'abandoned':
            if function.depth == 0:
                function.abandoned += elapsed
        else:
            function.self += max(elapsed - inner, 0)
            if function.depth == 0:
                function.total += elapsed
        if frames:
            frames[-1][3] += elapsed
        counts[how] += 1

    def charge(stack, time):
        if stack.left is not None and stack.frames:
            stack.frames[-1][3] += time - stack.left
        stack.left = None

    for time, rva, rsp, kind in store.records():
        stack = stacks[0]
        if size and (base - rsp) & LOW32 > size:
            stack = other_stack(stacks, current, (rsp - base) & LOW32,
                                kind in (EXIT, EXIT_FUNCTION))
            place = (rsp - base) & LOW32
        else:
            place = signed(rsp - base)
        if stack is not current:
            current.left = time
            current = stack
            charge(stack, time)
        frames = current.frames
        if kind == ENTER or kind == ENTER_FUNCTION:
            while frames and (frames[-1][0] < place or
                              frames[-1][0] == place and
                              (kind == ENTER or frames[-1][1] is None)):
                leave(frames, time, 'abandoned')
            function = known.get(rva)
            if function is None:
                key = resolve(rva) if resolve else rva
                function = known[rva] = functions.setdefault(key, Function())
            function.calls += 1
            function.depth += 1
            frames.append([place, rva if kind == ENTER_FUNCTION else None,
                           time, 0, function])
        elif kind == EXIT:
            while frames and frames[-1][0] < place:
                leave(frames, time, 'abandoned')
            if frames and frames[-1][1] is None:
                leave(frames, time, 'completed')
            else:
                counts['unmatched'] += 1
        else:
            index = len(frames) - 1
            while (index >= 0 and frames[index][1] != rva and
                   frames[index][0] <= place):
                index -= 1
            if index >= 0 and frames[index][1] == rva:
                while len(frames) > index + 1:
                    leave(frames, time, 'abandoned')
                leave(frames, time, 'completed')
            else:
                counts['unmatched'] += 1
    for stack in stacks:
        charge(stack, time)
    for stack in reversed(stacks):
        while stack.frames:
            leave(stack.frames, time, 'open')
    return functions, counts


def ticks_per_second(stores):
    """Section 7: the rate from the two anchors that are farthest apart."""
    anchors = sorted(itertools.chain(*(store.anchors for store in stores)))
    frequency = max((store.QpcFrequency for store in stores), default=0)
    if not anchors or anchors[0][0] == anchors[-1][0] or not frequency:
        return None
    return ((anchors[-1][1] - anchors[0][1]) * frequency /
            (anchors[-1][0] - anchors[0][0]))


def open_all(paths):
    """The stores of files and session directories, in order of their names."""
    stores = []
    for path in paths:
        names = [path]
        if os.path.isdir(path):
            names = [os.path.join(path, name)
                     for name in sorted(os.listdir(path))
                     if name.lower().endswith('.trace')]
        for name in names:
            try:
                stores.append(Store(name))
            except FormatError as error:
                print('%s: %s' % (name, error), file=sys.stderr)
    return stores


def read_symbols(path):
    """Makes a resolver (RVA -> name) from the output of nm."""
    symbols, base = {}, 0x140000000
    with open(path, encoding='utf-8') as file:
        for fields in map(str.split, file):
            if len(fields) == 3 and fields[2] in ('__ImageBase',
                                                  '__image_base__'):
                base = int(fields[0], 16)
            elif (len(fields) == 3 and fields[1] in 'Tt' and
                  not fields[2].startswith('.')):
                symbols.setdefault(int(fields[0], 16), fields[2])
    addresses = sorted(symbols)

    def resolve(rva):
        index = bisect.bisect_right(addresses, base + rva) - 1
        return symbols[addresses[index]] if index >= 0 else '0x%x' % rva
    return resolve


def main(arguments):
    resolve, only_stores, paths = None, False, []
    arguments = iter(arguments)
    for argument in arguments:
        if argument == '--symbols':
            resolve = read_symbols(next(arguments))
        elif argument == '--stores':
            only_stores = True
        else:
            paths.append(argument)
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    out, functions = csv.writer(sys.stdout, lineterminator='\n'), {}
    if only_stores:
        out.writerow(('store', 'thread', 'state', 'records', 'completed',
                      'abandoned', 'open', 'unmatched', 'bad', 'firstbad'))
    for store in open_all(paths):
        _, counts = pair(store, functions, resolve)
        if only_stores:
            first = store.first_bad_offset
            out.writerow((os.path.basename(store.path), store.ThreadId,
                          store.State, store.number_of_records,
                          counts['completed'], counts['abandoned'],
                          counts['open'], counts['unmatched'],
                          sum(store.bad.values()),
                          '' if first is None else first))
    if not only_stores:
        out.writerow(('function', 'calls', 'total', 'self', 'abandoned'))
        for key, function in sorted(functions.items(),
                                    key=lambda item: -item[1].self):
            out.writerow((key if resolve else '0x%x' % key, function.calls,
                          function.total, function.self, function.abandoned))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

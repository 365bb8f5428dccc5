#!/usr/bin/env python3
"""Reads trace stores: a second reader, made from Docs/Format.md alone.

usage: trace_reader.py [--stores] [--symbols NM-LIST] PATH...

PATH is a store, or a session directory.  Prints one CSV line for each
function: its calls, total, self and abandoned ticks (or with --stores, one
line for each store).  Without a clock there are no ticks.  NM-LIST is the output of nm for the traced module; without it a
function is named by the image-relative address of its entry site.

As a module: Store(path) validates one store, Store.records() iterates,
pair(store, ...) pairs and adds up, ticks_per_second(stores) is the clock.
Store(path, is_running=True) leaves out what a writer may still take back.
"""

import bisect
import collections
import csv
import functools
import itertools
import mmap
import os
import struct
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import codec_reader                                          # noqa: E402

ENTER, EXIT, ENTER_FUNCTION, EXIT_FUNCTION, GONE = 1, 2, 3, 4, 5
TSC, THREAD, NONE = 0, 1, 2         # Clock
FREEZE = 64
PIECE = 1 << 20         # bytes that are checked at a time
ALLOWANCE = 1 << 32
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
    'CodeViewAge': (0x134, 'I'), 'Clock': (0x03C, 'I'),
    'FirstPosition': (0x0A8, 'Q'), 'RingFileOffset': (0x0B0, 'Q'),
    'RingSizeInBytes': (0x0B8, 'Q'), 'ClockResolution': (0x0C8, 'Q'),
    'NumberOfClockFreezes': (0x0D0, 'Q'), 'MaximumClockStep': (0x0D8, 'Q'),
    'MinimumDuration': (0x170, 'Q'), 'NumberOfCallsTakenBack': (0x178, 'Q'),
    'MaximumBytes': (0x180, 'Q'), 'MaximumDepth': (0x188, 'I'),
    'NumberOfEventsDoubtful': (0x18C, 'I'),
    'NumberOfCallsDoubtful': (0x1E0, 'Q'),
    'NumberOfEventsTooDeep': (0x190, 'Q'), 'NumberOfWaits': (0x198, 'Q'),
    'WaitTicks': (0x1A0, 'Q'),
    'ProbeInner': (0x1A8, 'I'), 'ProbeTotal': (0x1AC, 'I'),
    'Mode': (0x1B0, 'I'),
}
BLOCKS = {  # section 21, of a compact store
    'BlocksFileOffset': (0x1C8, 'Q'), 'BlocksEnd': (0x1D0, 'Q'),
    'BlocksTail': (0x1D8, 'Q'), 'BlocksFirst': (0x1E8, 'Q'),
    'NumberOfBlocksInline': (0x1F4, 'I'), 'BlocksCapacity': (0x1F8, 'Q'),
}
COMPACT = 2                         # Mode, and its MajorVersion
TIMES = {  # since minor version 5; before that, the end of PdbPath
    'OpenUserTime': (0xF20, 'Q'), 'OpenKernelTime': (0xF28, 'Q'),
    'EndUserTime': (0xF30, 'Q'), 'EndKernelTime': (0xF38, 'Q'),
    'ProcessUserTime': (0xF40, 'Q'), 'ProcessKernelTime': (0xF48, 'Q'),
    'TimesValid': (0xF50, 'I'), 'ThreadCreationTime': (0xF58, 'Q'),
}
TEXTS = {  # name -> (offset of the length, offset, size)
    'ModulePath': (0x148, 0x200, 1056), 'ProcessPath': (0x150, 0x620, 1056),
    'CommandLine': (0x158, 0xA40, 768), 'PdbPath': (0x160, 0xD40, 480),
    'ThreadName': (0x168, 0xF60, 160),
}


# Tests look into a store several times, and at it and its copy.
decode = functools.lru_cache(maxsize=128)(codec_reader.decode)


class FormatError(Exception):
    """The file is not a store that can be read; the text says why."""


class Store:
    """One validated store.  Fields of the header are attributes.

    is_running: its process may still write, so that calls may be taken back;
    now is the time stamp counter, 0 if that is not known.
    """

    def __init__(self, path, is_running=False, now=0):
        self.path = path
        with open(path, 'rb') as file:
            size = os.fstat(file.fileno()).st_size
            self.map = b''
            if size:
                try:
                    self.map = mmap.mmap(file.fileno(), size,
                                         access=mmap.ACCESS_READ)
                except ValueError as error:
                    raise FormatError('cut while it was opened') from error
        magic = self.map[:8]
        if not any(magic):
            raise FormatError('still being created: no magic')
        if magic != b'TRCSTORE':
            raise FormatError('not a trace store')
        if size < 4096:
            raise FormatError('cut: %d bytes' % size)
        for name, (offset, code) in FIELDS.items():
            setattr(self, name, self._get(offset, code))
        for name, (offset, code) in TIMES.items():
            setattr(self, name, self._get(offset, code)
                    if self.MinorVersion >= 5 else 0)
        self._validate()
        for name, (length, offset, _) in TEXTS.items():
            text = self.map[offset:offset + self._get(length, 'I')]
            setattr(self, name, text.decode('utf-8', 'replace'))
        self.anchors = []
        for offset in (0x0E0, 0x100):
            tsc, qpc, time, check = self._get(offset, '4Q', whole=True)
            if tsc ^ qpc ^ time == check and (tsc or qpc or time):
                self.anchors.append((qpc, tsc, time))
        self._find_range(size)
        if (is_running and self.MinimumDuration and self.State == 1 and
                not self.is_cut):
            self.end = self._find_final_end(now)
        self.number_of_slots = max(self.end - self.start, 0) // 16
        self.number_of_overtaken = self.number_of_gaps = 0
        self.number_of_records = 0
        self.bad = collections.Counter()
        self.first_bad_offset = None

    def _validate(self):
        """Sections 8 and 21: the header."""
        self.is_compact = self.MajorVersion == self.Mode == COMPACT
        if self.MajorVersion != 1 and not self.is_compact:
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
            ('Clock', self.Clock <= NONE),
        ]
        segment, ring = self.RingFileOffset, self.RingSizeInBytes
        if ring or self.is_compact:
            is_power = self.HeaderSize <= 1 << 16 <= segment <= 1 << 62 and (
                segment & (segment - 1) == 0)
            rules += [
                ('RingFileOffset', is_power),
                ('RingSizeInBytes', is_power and ring <= 1 << 62 and
                 ring % segment == 0 and ring >= 3 * segment)]
            if self.is_compact:
                rules += self._blocks_rules()
            else:
                rules.append(('FirstPosition', is_power and
                              self.FirstPosition % segment == 0 and
                              self.FirstPosition != segment))
        for name, (length, _, room) in TEXTS.items():
            used, full = self._get(length, '2I', whole=True)
            if name == 'PdbPath' and self.MinorVersion < 5:
                room = 544
            rules.append((name + 'Length', used <= room and used <= full))
        for name, holds in rules:
            if not holds:
                raise FormatError('damaged: ' + name)

    def _blocks_rules(self):
        """Section 21: what is different for a compact store."""
        for name, (offset, code) in BLOCKS.items():
            setattr(self, name, self._get(offset, code))
        first, end = self.BlocksFirst, self.BlocksEnd
        return [
            ('BlocksFileOffset', self.BlocksFileOffset % 65536 == 0 and
             self.RingFileOffset <= self.BlocksFileOffset <= 1 << 62),
            ('BlocksCapacity', self.BlocksCapacity % 65536 == 0 and
             self.BlocksCapacity <= 1 << 62),
            ('BlocksEnd', first <= end <= 1 << 62 and first % 8 == 0 and
             end % 8 == 0 and (not self.BlocksCapacity or
                               end - first <= self.BlocksCapacity))]

    def _get(self, offset, code, whole=False):
        """A field; one of a writer that runs is read at once, which struct
        does not do."""
        if code in ('I', 'Q'):
            size = struct.calcsize(code)
            with memoryview(self.map) as view, \
                    view[offset:offset + size] as field, \
                    field.cast(code) as words:
                return (words[0],) if whole else words[0]
        values = struct.unpack_from('<' + code, self.map, offset)
        return values if whole else values[0]

    def _find_end(self):
        """Section 5: the end of the records, as a position."""
        for _ in range(1000):
            before = self._get(0x058, 'I')
            cursor, delta = self._get(0x040, 'Q'), self._get(0x050, 'Q')
            view = self._get(0x068, 'Q')
            if self._get(0x058, 'I') == before:
                return view if before & 1 else (cursor + delta) & LOW64
        raise FormatError('busy: the view keeps changing')

    def _first(self):
        """Section 5, rings: where the records begin now."""
        first = self._get(0x0A8, 'Q') if self.RingSizeInBytes else 0
        return max(first - first % 16, self.HeaderSize)

    def _find_range(self, size):
        """Section 5: self.start and self.end, as positions."""
        end, first, is_bad = self._find_end(), self._first(), False
        low = self.HeaderSize
        if end < low or (end - low) % 16:
            raise FormatError('damaged: end of the records at %d' % end)
        room = end
        if self.RingSizeInBytes:
            room = self.RingFileOffset + self.RingSizeInBytes
            if first == low:
                is_bad = end > room
            elif self.is_compact:
                is_bad = end > first and end - first > self.RingSizeInBytes
            else:
                is_bad = end - first > self.RingSizeInBytes
            if is_bad or end < self.FirstPosition:
                raise FormatError('damaged: end of the ring at %d' % end)
        self.start, self.end = first, end
        if self.is_compact:
            self._find_blocks(first, size)
            return
        self.is_cut = size < min(end, room)
        if not self.is_cut:
            return
        if end <= room:
            self.end = low + max(size - low, 0) // 16 * 16
            self.start = min(first, self.end)
        else:  # the newest records of the ring that lie together
            last = self.offset(end - 16)
            lap = end - 16 - (last - self.RingFileOffset)
            if size < last + 16:
                self.end = lap + max(size - self.RingFileOffset, 0) // 16 * 16
            self.start = min(max(first, lap), self.end)

    def _read_stream(self, offset, size):
        """Section 21: bytes of the stream of blocks; fewer if it was cut."""
        found = b''
        while len(found) < size:
            at = offset + len(found)
            left = size - len(found)
            if at >= self.BlocksTail:
                place = self.HeaderSize + at - self.BlocksTail
            else:
                left = min(left, self.BlocksTail - at)
                if self.BlocksCapacity:
                    at %= self.BlocksCapacity
                    left = min(left, self.BlocksCapacity - at)
                place = self.BlocksFileOffset + at
            piece = self.map[place:place + left]
            found += piece
            if len(piece) < left:
                break
        return found

    def _block_at(self, offset, least, most):
        """(position, bytes of records, bytes in the stream) of the block whose
        header is there, at a position that it may have; or None."""
        data = self._read_stream(offset, 64)
        try:
            header = codec_reader.read_header(data)
        except codec_reader.FormatError:
            return None
        position, raw = header.position, header.raw_bytes
        used = (64 + header.encoded_bytes + 7) // 8 * 8
        if (not least <= position <= most or not raw or raw % 16 or
                (position - self.HeaderSize) % 16 or
                position + raw > self.first or
                offset + used > self.BlocksEnd):
            return None
        return position, raw, used

    def _decode(self, offset, position, raw, used):
        """The records of a block, or None if it is not good."""
        try:
            header, body, _ = decode(self._read_stream(offset, used))
        except codec_reader.FormatError:
            return None
        return body if (header.position, header.raw_bytes,
                        (64 + header.encoded_bytes + 7) // 8 * 8) == (
                            position, raw, used) else None

    def _search(self, offset, least):
        """Where the next good block is: (offset, position), or the end."""
        stream = self._read_stream(offset, self.BlocksEnd - offset)
        for at in range(0, len(stream) - 63, 8):
            if stream[at:at + 4] == b'TRBK':
                found = self._block_at(offset + at, least, self.first)
                if found and self._decode(offset + at, *found) is not None:
                    return offset + at, found[0]
        return self.BlocksEnd, self.first

    def _find_blocks(self, first, size):
        """The blocks up to the first raw record: self.blocks has (position,
        stream offset, bytes of records, size of the block; 0: it is lost), and
        is_cut says whether raw records are missing."""
        self.first, self.blocks = first, []
        offset, position = self.BlocksFirst, self.HeaderSize
        if offset and position < first:
            found = self._block_at(offset, position, first)
            if found:
                position = found[0]
            else:  # one record stands for all that are lost
                next_offset, next_position = self._search(offset, position)
                position = max(next_position - 16, position)
                if position < next_position:
                    self.blocks.append((position, offset, 16, 0))
                offset, position = next_offset, next_position
        while position < first:
            found = self._block_at(offset, position, position)
            if found:
                self.blocks.append((position, offset, *found[1:]))
                position, offset = position + found[1], offset + found[2]
                continue
            start, least = offset, position
            if self.blocks and self.blocks[-1][3]:
                last = self.blocks[-1]
                if self._decode(last[1], last[0], *last[2:]) is None:
                    position, offset, _, _ = self.blocks.pop()
                    start, least = offset, position + 16
            start, least = self._search(start + 8, least)
            self.blocks.append((position, offset, least - position, 0))
            offset, position = start, least
        self.start = self.blocks[0][0] if self.blocks else position
        self.is_cut = False
        raw, end = first, self.end
        while raw < end:
            at = self.offset(raw)
            left = min(end - raw, self.RingFileOffset + self.RingSizeInBytes -
                       at)
            if size < at + left:
                self.is_cut = True
                self.end = raw + max(size - at, 0) // 16 * 16
                break
            raw += left

    def _block_pieces(self):
        """Yields (position, bytes, records) of the blocks; None for what is
        lost."""
        for position, offset, raw, used in self.blocks:
            body = self._decode(offset, position, raw, used) if used else None
            yield position, raw, body

    def offset(self, position):
        """Section 5, positions: where in the file that is."""
        ring, start = self.RingSizeInBytes, self.RingFileOffset
        if not ring or position < start:
            return position
        return start + (position - start) % ring

    def _find_final_end(self, now):
        """Section 5, calls that are taken back: the end of what stays."""
        newest, least = 0, self.MinimumDuration
        for position in range(self.end - 16, self.start - 16, -16):
            at = self.offset(position)
            time, word = self._get(at, 'Q'), self._get(at + 12, 'I')
            if time == 0 or self._get(at, 'Q') != time:
                continue
            if (word & 7 in (EXIT, EXIT_FUNCTION) or newest - time >= least or
                    self.Clock == TSC and now - time - ALLOWANCE >= least):
                return position + 16
            newest = max(newest, time)
        return self.start

    def _note(self, cause, position):
        self.bad[cause] += 1
        if self.first_bad_offset is None:
            self.first_bad_offset = self.offset(position)

    def contents(self):
        """Yields (position, bytes) of records that lie together.

        A ring's are copied, and dropped if its writer came past meanwhile.
        """
        position = self.start
        end = position + 16 * self.number_of_slots
        if self.is_compact:
            for position, size, body in self._block_pieces():
                if body is None:
                    self.bad['block'] += size // 16
                else:
                    yield position, body
            position = max(self.first, self.start)
        if not self.RingSizeInBytes:
            with memoryview(self.map) as view, view[position:end] as body:
                yield position, body
            return
        while position < end:
            at = self.offset(position)
            size = min(end - position, 0x4000,
                       self.RingFileOffset + self.RingSizeInBytes - at)
            body = self.map[at:at + size]
            first = self._first()
            if first > position and self.is_compact:
                raise FormatError('its writer went on: read it again')
            if first > position:
                first = min(first, end)
                self.number_of_overtaken += (first - position) // 16
                self.number_of_gaps += 1
                position = first
            else:
                yield position, body
                position += size

    def records(self):
        """Yields (timestamp, site RVA, Rsp, kind) of every good record.

        number_of_gaps is higher than before where records of a ring are
        missing that its writer overwrote.
        """
        base, size = self.ModuleBase & LOW32, self.ModuleSize
        last, count = 0, 0
        tail = self.start + 16 * self.number_of_slots - 16
        self.bad.clear()
        self.first_bad_offset = None
        for start, body in self.contents():
            for index, (time, site, word) in enumerate(
                    struct.iter_unpack('<QII', body)):
                rva, kind = (site - base) & LOW32, word & 7
                if time == 0:
                    if start + 16 * index != tail:
                        self._note('hole', start + 16 * index)
                elif not 1 <= kind <= 5:
                    self._note('kind', start + 16 * index)
                elif rva >= size:
                    self._note('site', start + 16 * index)
                elif time < last:
                    self._note('time', start + 16 * index)
                else:
                    last = time
                    count += 1
                    yield time, rva, word & 0xFFFFFFF8, kind
        self.number_of_records = count

    def read_all(self):
        """Reads every record, and returns how many are good: what records()
        leaves in bad and its neighbours, sooner if nothing is wrong."""
        before = self.number_of_overtaken, self.number_of_gaps
        self.bad.clear()
        self.first_bad_offset = None
        count, last = 0, 1
        tail = self.start + 16 * self.number_of_slots - 16
        for start, body in self.contents():
            size = len(body)
            if (size and start + size - 16 == tail and
                    not any(body[-16:-8])):
                size -= 16
            for at in range(0, size, PIECE):
                with memoryview(body) as view, \
                        view[at:min(at + PIECE, size)] as piece:
                    last = self._good_until(piece, last)
                if last is None:
                    break
            if last is None:
                break
            count += size // 16
        if last is None or self.bad:
            self.number_of_overtaken, self.number_of_gaps = before
            collections.deque(self.records(), 0)
        else:
            self.number_of_records = count
        return self.number_of_records

    def _good_until(self, piece, last):
        """The last time stamp of records of which every one is good, or None:
        the checks of records(), each once for all that are alike."""
        with piece.cast('Q') as words:
            times, others = words[0::2].tolist(), set(words[1::2].tolist())
        base, size = self.ModuleBase & LOW32, self.ModuleSize
        if (times[0] < last or times != sorted(times) or
                any((word - base) & LOW32 >= size or
                    not 1 <= (word >> 32) & 7 <= 5 for word in others)):
            return None
        return times[-1]


class Function:
    """What pair() adds up for one function.  Abandoned calls are apart.

    During uncertain calls the clock jumped.
    """
    __slots__ = ('calls', 'total', 'self', 'abandoned', 'uncertain', 'depth')

    def __init__(self):
        self.calls = self.total = self.self = self.abandoned = self.depth = 0
        self.uncertain = 0


class Stack:
    """One stack of open frames; addresses are bytes above the own stack's."""

    def __init__(self, address):
        self.lowest = self.highest = address
        # Of [address, site, start, ticks of others, Function, jumps before].
        self.frames = []
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


def pair(store, functions=None, resolve=None, watch=None):
    """Pairs the records of a store (section 11) and adds them up.

    This is the pairing without the image.  functions maps what resolve(rva)
    returns (the RVA itself if None) to a Function, and is returned with a
    Counter of what happened to the frames.  watch.record() is called before
    each record, watch.enter() and watch.leave() for each call.
    """
    functions = {} if functions is None else functions
    counts = collections.Counter()
    known = {}
    base, size = store.StackBase & LOW32, store.StackBase - store.StackLimit
    current = Stack(0)
    stacks, time, jumps, gaps = [current], 0, 0, store.number_of_gaps
    jump = None
    if store.Clock == THREAD and store.NumberOfClockFreezes:
        jump = FREEZE * store.ClockResolution

    def leave(frames, time, how):
        if watch:
            watch.leave(frames, time, how, jumps)
        _, _, start, inner, function, jumps_before = frames.pop()
        elapsed = max(time - start, 0)
        function.depth -= 1
        function.uncertain += jumps != jumps_before
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

    def finish(time):
        for stack in stacks:
            charge(stack, time)
        for stack in reversed(stacks):
            while stack.frames:
                leave(stack.frames, time, 'open')

    for stamp, rva, rsp, kind in store.records():
        if gaps != store.number_of_gaps:
            gaps = store.number_of_gaps
            finish(time)
        if store.Clock == NONE:
            stamp = 0
        elif jump and time and stamp - time > jump:
            jumps += 1
        if watch:
            watch.record(stamp, stacks, current, jumps)
        time = stamp
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
                           time, 0, function, jumps])
            if watch:
                watch.enter(frames)
        elif kind == GONE:
            while frames and frames[-1][0] < place:
                leave(frames, time, 'abandoned')
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
    finish(time)
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


def earlier(first, second):
    """Orders records of one thread, as functools.cmp_to_key wants it: (time,
    Rsp, whether it is an entry, anything, its store).  Those of one store are
    in their order; of one time, the stack pointer tells."""
    if first[0] != second[0]:
        return -1 if first[0] < second[0] else 1
    if first[4] == second[4]:
        return 0
    if first[2] and second[2]:
        return second[1] - first[1]
    return first[1] - second[1] or (1 if first[2] else -1)


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

    @functools.lru_cache(maxsize=None)
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
    has_times = True
    for store in open_all(paths):
        _, counts = pair(store, functions, resolve)
        has_times = has_times and store.Clock != NONE
        if store.number_of_overtaken:
            print('%s: %d records were overwritten unread' % (
                store.path, store.number_of_overtaken), file=sys.stderr)
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
        for key, function in sorted(
                functions.items(),
                key=lambda item: (-item[1].self, -item[1].calls)):
            times = function.total, function.self, function.abandoned
            out.writerow((key if resolve else '0x%x' % key, function.calls,
                          *(times if has_times else ('', '', ''))))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

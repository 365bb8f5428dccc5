"""Compact stores made of stores of records, from Docs/Format.md, section 21.

make(data) has the bytes of a store that keeps everything, and gives those of a
compact store with the same records, in any state that there is.
"""

import os
import struct

import codec_reader
import codec_writer
import trace_reader

SEGMENT = 65536
RING = 3 * SEGMENT
NO_TAIL = trace_reader.LOW64
HEADER = 4096

OFFSETS = {'FirstPosition': 0x0A8, 'RingFileOffset': 0x0B0,
           'RingSizeInBytes': 0x0B8, 'BlocksFileOffset': 0x1C8,
           'BlocksEnd': 0x1D0, 'BlocksTail': 0x1D8, 'BlocksFirst': 0x1E8,
           'BlocksCapacity': 0x1F8}


def put(data, **fields):
    for name, value in fields.items():
        struct.pack_into('<Q', data, OFFSETS[name], value)


def get(data, name):
    return struct.unpack_from('<Q', data, OFFSETS[name])[0]


def end_of(data):
    """Where the records end that a header publishes."""
    generation, = struct.unpack_from('<I', data, 0x058)
    cursor, = struct.unpack_from('<Q', data, 0x040)
    delta, view = (struct.unpack_from('<Q', data, at)[0]
                   for at in (0x050, 0x068))
    return view if generation & 1 else cursor + delta & trace_reader.LOW64


def borders(end, view=SEGMENT, segment=SEGMENT):
    """Where views begin, and the end."""
    return sorted({HEADER, *range(segment, end, view), end})


def blocks_of(body, first, places, encode):
    """(position, records, block) up to a position; body is from HEADER on."""
    starts = [at for at in places if at <= first]
    return [(at, body[at - HEADER:to - HEADER],
             encode(body[at - HEADER:to - HEADER], at))
            for at, to in zip(starts, starts[1:])]


def padded(block):
    return block + bytes(-len(block) % 8)


def put_stream(data, offset, stream):
    """Writes a part of the stream where the header says that it is."""
    place = get(data, 'BlocksFileOffset')
    tail, capacity = get(data, 'BlocksTail'), get(data, 'BlocksCapacity')
    while stream:
        size = len(stream)
        if offset >= tail:
            at = HEADER + offset - tail
        else:
            size = min(size, tail - offset)
            at = place + offset
            if capacity:
                at = place + offset % capacity
                size = min(size, capacity - offset % capacity)
        if len(data) < at + size:
            data += bytes(at + size - len(data))
        data[at:at + size] = stream[:size]
        offset, stream = offset + size, stream[size:]


def put_raw(data, position, body):
    """Writes records where the raw ring has them."""
    segment = get(data, 'RingFileOffset')
    ring = get(data, 'RingSizeInBytes')
    for index in range(0, len(body), 16):
        at = position + index
        if at >= segment:
            at = segment + (at - segment) % ring
        if len(data) < at + 16:
            data += bytes(at + 16 - len(data))
        data[at:at + 16] = body[index:index + 16]


def make(source, first=None, view=SEGMENT, ring=RING, capacity=0, tail=False,
         beyond=0, stale=b'', encode=codec_writer.encode, change=None,
         segment=SEGMENT):
    """A compact store with the records of one that keeps everything.

    first: where raw records begin, a border of views or the end; None: the
    end.  capacity: of a ring of blocks.  tail: the end of the stream is behind
    the header, and the file is cut.  beyond: blocks behind first that do not
    count.  stale: what is in unused places.  change(blocks) may alter the list
    of [position, records, block].
    """
    end = end_of(source)
    body = bytes(source[HEADER:end])
    first = end if first is None else first
    places = borders(end, view, segment)
    assert first in places and end - first <= ring
    data = bytearray(source[:HEADER])
    struct.pack_into('<H', data, 0x008, 2)
    struct.pack_into('<I', data, 0x1B0, 2)
    struct.pack_into('<I', data, 0x1F4, 0)
    put(data, FirstPosition=0 if first == HEADER < end else first,
        RingFileOffset=segment, RingSizeInBytes=ring,
        BlocksFileOffset=segment + ring, BlocksTail=NO_TAIL, BlocksFirst=0,
        BlocksEnd=0, BlocksCapacity=capacity)
    blocks = [list(block) for block in blocks_of(body, first, places, encode)]
    if change:
        change(blocks)
    stream_at = [0]
    for _, _, block in blocks:
        stream_at.append(stream_at[-1] + len(padded(block)))
    total = stream_at[-1]
    oldest = 0
    while capacity and total - stream_at[oldest] > capacity:
        oldest += 1
    put(data, BlocksFirst=stream_at[oldest], BlocksEnd=total)
    if tail:
        room = segment + ring - HEADER          # all that is before the stream
        put(data, BlocksTail=max(total - room, 0))
    elif stale:
        room = segment + ring - HEADER
        data += (stale * (room // len(stale) + 1))[:room]
    for at, (_, _, block) in list(zip(stream_at, blocks))[oldest:]:
        put_stream(data, at, padded(block))
    put_raw(data, first, body[first - HEADER:])
    if beyond:
        later = [at for at in places if at >= first]
        for at, to in list(zip(later, later[1:]))[:beyond]:
            block = padded(encode(body[at - HEADER:to - HEADER], at))
            put_stream(data, total, block)
            total += len(block)
        put(data, BlocksEnd=total)
    return bytes(data)


def as_ring(source, start):
    """A ring of records that has those from a position on."""
    end = end_of(source)
    data = bytearray(source[:end])
    ring = max(-(-(end - SEGMENT) // SEGMENT), 3) * SEGMENT
    data[HEADER:start] = bytes(start - HEADER)
    put(data, FirstPosition=start, RingFileOffset=SEGMENT,
        RingSizeInBytes=ring)
    return bytes(data)


def convert(session, target, **options):
    """Makes a session with compact stores of one with stores of records."""
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(session):
        path = os.path.join(session, name)
        with open(path, 'rb') as file:
            data = file.read()
        if name.endswith('.trace') and data[0x1B0] == 0:
            data = make(data, **options)
        elif name.endswith('.index'):
            continue
        with open(os.path.join(target, name), 'wb') as file:
            file.write(data)
    return target


__all__ = ['codec_reader', 'make', 'convert', 'as_ring']

#!/usr/bin/env python3
"""Decodes blocks: a second decoder, made from Docs/Format.md, section 19, alone.

usage: codec_reader.py FILE

FILE is blocks, one after the other.  Writes the bytes to standard output.

As a module: decode(data) gives (header, bytes, size of the block), or raises
FormatError; header is a Header.  sum_of(header bytes, contents) is the sum.
"""

import array
import collections
import struct
import sys

MAGIC = 0x4B425254
HEADER_SIZE = 64
MAXIMUM_BYTES = 1 << 20
STORED, TOKENS, DENSE = 0, 1, 2
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
from_bytes = int.from_bytes

Header = collections.namedtuple(
    'Header', 'magic version method unused raw_bytes encoded_bytes position '
    'first_timestamp last_timestamp unused3 operand_bytes unused2 sum')


class FormatError(Exception):
    """What is there is no good block; the text says why."""


def require(condition, what):
    if not condition:
        raise FormatError(what)


def sum_of(header, contents):
    """The sum over the first 56 bytes of a header and the contents."""
    start, multiplier = 0x2545F4914F6CDD1D, 0x9FB21C651E98DF25

    def add(value, word):
        value ^= word
        return ((value << 23 | value >> 41) & M64) * multiplier & M64

    sums = [start + lane for lane in range(5)]
    for word in struct.unpack('<7Q', header[:56]):
        sums[4] = add(sums[4], word)
    whole = len(contents) // 32 * 32
    words = struct.unpack(f'<{whole // 8}Q', contents[:whole])
    for lane in range(4):
        value = sums[lane]
        for word in words[lane::4]:
            value ^= word
            value = ((value << 23 | value >> 41) & M64) * multiplier & M64
        sums[4] = add(sums[4], value)
    left = contents[whole:]
    while len(left) >= 8:
        sums[4] = add(sums[4], struct.unpack('<Q', left[:8])[0])
        left = left[8:]
    for byte in left:
        sums[4] = add(sums[4], byte)
    return sums[4] ^ sums[4] >> 32


class Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, data):
        self.data, self.next = data, 0

    def take(self, size):
        require(len(self.data) - self.next >= size, 'bytes are missing')
        self.next += size
        return self.data[self.next - size:self.next]

    def number(self, size):
        return int.from_bytes(self.take(size), 'little')

    def left(self):
        return len(self.data) - self.next


def read_code(source):
    """{(length, code): symbol} of a description."""
    lengths = []
    while len(lengths) < 256:
        byte = source.number(1)
        lengths += [byte & 15] * ((byte >> 4) + 1)
    require(len(lengths) == 256, 'a code for more than 256 symbols')
    require(max(lengths) <= 11, 'a code of more than 11 bits')
    require(sum(2048 >> length for length in lengths if length) == 2048,
            'a code that is not complete')
    codes, code, previous = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length
                                 in enumerate(lengths) if length):
        code <<= length - previous
        codes[length, code] = symbol
        code, previous = code + 1, length
    return codes


def read_stream(codes, data, count):
    """Count symbols, which take all of the data."""
    table = [None] * 2048
    symbols = bytearray(count)

    # Every 11 bits, the first of them the lowest, begin with one code.
    for (length, code), symbol in codes.items():
        backwards = int(format(code, f'0{length}b')[::-1], 2)
        for rest in range(2048 >> length):
            table[backwards | rest << length] = symbol, length
    window, held, place = 0, 0, 0
    for index in range(count):
        if held < 11:
            part = data[place:place + 6]
            window |= int.from_bytes(part, 'little') << held
            place, held = place + 6, held + 48
        symbols[index], length = table[window & 2047]
        window >>= length
        held -= length
    used = 8 * place - held
    require((used + 7) // 8 == len(data), 'a stream of another size')
    return symbols


def read_part(source, count):
    form = source.number(1)
    if form == 0:
        return source.take(count)
    require(form == 1, 'an unknown form')
    codes = read_code(source)
    sizes = [source.number(4) for _ in range(4)]
    result = bytearray(count)
    for lane, size in enumerate(sizes):
        result[lane::4] = read_stream(codes, source.take(size),
                                      len(range(lane, count, 4)))
    return bytes(result)


class Lane:
    __slots__ = 'time', 'word', 'context'

    def __init__(self, time):
        self.time, self.word, self.context = time, 0, 0


class Model:
    def __init__(self, operands):
        self.first, self.second = [0] * 4096, [0] * 4096
        self.pairs, self.sites = [0] * 4096, []
        self.operands = operands

    def missed(self, lane, place):
        """(ticks, growth of the word) of a record that was not predicted."""
        data, at = self.operands.data, self.operands.next
        if at == len(data):
            raise FormatError('bytes are missing')
        form = data[at]
        if form & 15 > 8:
            raise FormatError('ticks of more than 8 bytes')
        at, end = at + 1, at + 1 + (form & 15)
        ticks = from_bytes(data[at:end], 'little')
        how = form >> 4 & 3
        if how == 3:
            raise FormatError('an unknown form of a site')
        at, end = end, end + (1, 2, 4)[how]
        site = from_bytes(data[at:end], 'little')
        if how == 2:
            if len(self.sites) < 4096:
                self.sites.append(site)
        elif site < len(self.sites):
            site = self.sites[site]
        else:
            raise FormatError('no such site')
        word = lane.word
        pair = ((word & M32) * 0x85EBCA6B ^ site * 0x9E3779B1) & M32
        pair >>= 20
        if form >> 6 == 0:
            change = self.pairs[pair]
        else:
            at, end = end, end + (1, 2, 4)[(form >> 6) - 1]
            number = from_bytes(data[at:end], 'little')
            change = (number // 2 if number % 2 == 0
                      else -(number + 1) // 2) & M32
        if end > len(data):
            raise FormatError('bytes are missing')
        self.operands.next = end
        stack_kind = (word >> 32) + change & M32
        growth = (site | stack_kind << 32) - word & M64
        self.second[place] = self.first[place]
        self.first[place] = growth
        self.pairs[pair] = change
        return ticks, growth


def check_times(header, data, count):
    """The first and the last record have the times that the header states."""
    if count:
        require(data[:8] == struct.pack('<Q', header.first_timestamp) and
                data[16 * count - 16:16 * count - 8] ==
                struct.pack('<Q', header.last_timestamp),
                'other times than the header has')


def decode_records(header, tokens, operands):
    count = len(tokens)
    quarter = count // 4
    model = Model(Bytes(operands))
    first, second = model.first, model.second
    lanes = [Lane(header.first_timestamp) for _ in range(4)]
    words = array.array('Q', bytes(16 * count))

    # Four records at a time, one of each lane; what is left is the last one's.
    order = [(lanes[number], number * quarter) for number in range(4)]
    for index in range(count):
        if index < 4 * quarter:
            lane, at = order[index & 3]
            at += index >> 2
        else:
            lane, at = lanes[3], index
        token = tokens[index]
        word, place = lane.word, lane.context >> 20
        value = token & 127
        if value < 112:
            ticks = value
            growth = (second if token & 128 else first)[place]
        elif token == 127:
            ticks, growth = model.missed(lane, place)
        else:
            require(value < 120, 'an unknown token')
            ticks = model.operands.number(value - 111)
            growth = (second if token & 128 else first)[place]
        lane.time = time = lane.time + ticks & M64
        lane.word = word = word + growth & M64
        lane.context = (lane.context << 7 & M32) ^ (
            (word & M32) * 0x9E3779B1 & M32)
        words[2 * at] = time
        words[2 * at + 1] = word
    require(model.operands.left() == 0, 'operands are left')
    data = words.tobytes()
    check_times(header, data, count)
    return data


def read_header(data):
    """The header, which does not contradict itself; contents are not looked
    at."""
    require(len(data) >= HEADER_SIZE, 'the header is cut off')
    header = Header(*struct.unpack('<IBBHIIQQQQIIQ', data[:HEADER_SIZE]))
    require(header.magic == MAGIC, 'no block')
    require(header.version == 1 and header.method <= DENSE,
            'an unknown version or method')
    count, tail = divmod(header.raw_bytes, 16)
    require(header.raw_bytes <= MAXIMUM_BYTES and
            header.encoded_bytes <= header.raw_bytes and
            header.unused == header.unused2 == 0 and
            header.operand_bytes <= 15 * count, 'a field is wrong')
    if header.method == STORED:
        require(header.encoded_bytes == header.raw_bytes and
                header.operand_bytes == 0, 'a field is wrong')
    elif header.method == TOKENS:
        require(header.encoded_bytes == count + header.operand_bytes + tail,
                'a field is wrong')
    return header


def decode(data):
    header = read_header(data)
    count, tail = divmod(header.raw_bytes, 16)
    size = HEADER_SIZE + header.encoded_bytes
    require(len(data) >= size, 'the contents are cut off')
    contents = data[HEADER_SIZE:size]
    require(sum_of(data, contents) == header.sum, 'the sum is wrong')
    if header.method == STORED:
        check_times(header, contents, count)
        return header, contents, size
    source = Bytes(contents)
    if header.method == TOKENS:
        tokens = source.take(count)
        operands = source.take(header.operand_bytes)
    else:
        tokens = read_part(source, count)
        operands = read_part(source, header.operand_bytes)
    end = source.take(tail)
    require(source.left() == 0, 'contents are left')
    return header, decode_records(header, tokens, operands) + end, size


def main():
    with open(sys.argv[1], 'rb') as file:
        data = file.read()
    while data:
        _, raw, size = decode(data)
        sys.stdout.buffer.write(raw)
        data = data[size:]


if __name__ == '__main__':
    main()

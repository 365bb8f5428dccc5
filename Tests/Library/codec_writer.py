"""Encodes blocks as Docs/Format.md, section 19, says that this project does.

encode(data, position) gives a block of Method 0 or 1; stored(data, position)
one of Method 0.
"""

import struct

import codec_reader
from codec_reader import M32, M64


def sealed(block):
    """The same block with the sum that is right."""
    contents = bytes(block[64:])
    return (bytes(block[:56]) + struct.pack(
        '<Q', codec_reader.sum_of(bytes(block), contents)) + contents)


def make(data, position, method, operand_bytes, contents):
    records = list(struct.iter_unpack('<QII', data[:len(data) // 16 * 16]))
    return sealed(struct.pack(
        '<IBBHIIQQQQIIQ', codec_reader.MAGIC, 1, method, 0, len(data),
        len(contents), position, records[0][0] if records else 0,
        records[-1][0] if records else 0, 0, operand_bytes, 0, 0) + contents)


def stored(data, position):
    return make(data, position, codec_reader.STORED, 0, data)


class Encoder:
    def __init__(self):
        self.first, self.second = [0] * 4096, [0] * 4096
        self.pairs, self.sites, self.numbers = [0] * 4096, [], {}
        self.operands = bytearray()

    def put(self, value, size):
        self.operands += value.to_bytes(size, 'little')

    def missed(self, place, old, word, ticks, size):
        site = word & M32
        key = site * 0x9E3779B1 & M32
        pair = ((old & M32) * 0x85EBCA6B & M32 ^ key) >> 20
        change = (word >> 32) - (old >> 32) & M32
        folded = (change << 1 & M32) ^ (M32 if change >> 31 else 0)
        number = self.numbers.get(key >> 20, 0)
        known = number < len(self.sites) and self.sites[number] == site
        form = (0 if number <= 0xFF else 1) if known else 2
        stack = 0
        if self.pairs[pair] != change:
            stack = 1 if folded <= 0xFF else 2 if folded <= 0xFFFF else 3
        self.put(size | form << 4 | stack << 6, 1)
        self.put(ticks, size)
        if known:
            self.put(number, form + 1)
        else:
            self.put(site, 4)
            self.numbers[key >> 20] = len(self.sites)
            if len(self.sites) < 4096:
                self.sites.append(site)
        if stack:
            self.put(folded, (1, 2, 4)[stack - 1])
        self.second[place] = self.first[place]
        self.first[place] = word - old & M64
        self.pairs[pair] = change

    def token(self, context, old, record):
        """The token of a record; old is the one before it in its lane."""
        place = context >> 20
        growth = record[1] - old[1] & M64
        ticks = record[0] - old[0] & M64
        is_first = self.first[place] == growth
        if is_first or self.second[place] == growth:
            if ticks < 112:
                return ticks | (0 if is_first else 128)
            size = (ticks.bit_length() + 7) // 8
            self.put(ticks, size)
            return 111 + size | (0 if is_first else 128)
        self.missed(place, old[1], record[1], ticks,
                    (ticks.bit_length() + 7) // 8)
        return 127


def encode(data, position):
    """The block that this project makes of the bytes."""
    count, tail = divmod(len(data), 16)
    records = list(struct.iter_unpack('<QQ', data[:16 * count]))
    quarter = count // 4
    if not count:
        return stored(data, position)
    coder, tokens = Encoder(), bytearray()
    lanes = [(0, (records[0][0], 0))] * 4
    room = 15 * count
    for index in range(count):
        lane, place = 3, index
        if index < 4 * quarter:
            lane, place = index % 4, index % 4 * quarter + index // 4
        context, old = lanes[lane]
        record = records[place]
        before = len(coder.operands)
        token = coder.token(context, old, record)

        # What is ordinary needs no room; anything else the most that there is.
        is_ordinary = index >= 4 and index < 4 * quarter and (
            token & 127) < 112
        if not is_ordinary and room - before < 21:
            return stored(data, position)
        tokens.append(token)
        context = (context << 7 & M32) ^ ((record[1] & M32) * 0x9E3779B1 &
                                          M32)
        lanes[lane] = context, record
    return make(data, position, codec_reader.TOKENS, len(coder.operands),
                bytes(tokens) + bytes(coder.operands) +
                data[len(data) - tail:])

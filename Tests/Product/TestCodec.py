#!/usr/bin/env python3
"""Blocks of records: a second decoder, made from Docs/Format.md alone, gives
the bytes that were encoded.

Tests/Library/codec_reader.py decodes what Tests/Fuzz/CodecTool.c encodes, built
natively, and linked with the library that the products are made of: both must
write the same blocks.  The bytes are made up, and those of traced programs'
stores.  What a header says beside them is worked out here.  Blocks that were
changed, with their sums made right, must be refused by both decoders or mean
the same to both.  In the long form there are more of them.
"""
# Takes long.

import glob
import os
import random
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import codec_reader                                          # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

TOOL = os.path.join(programs.ROOT, 'Tests', 'Fuzz', 'CodecTool.c')
LIBRARY = os.path.join(programs.BIN, 'Codec.lib')
LEVELS = ('encode', 'pack')
BLOCK = 65536           # records


def build_native(folder):
    compiler = shutil.which(programs.CLANG) or shutil.which('cc')
    if not compiler:
        return None
    path = os.path.join(folder, 'CodecTool')
    subprocess.run([compiler, '-O2', '-std=c11', '-D_DEFAULT_SOURCE', TOOL,
                    *glob.glob(os.path.join(programs.ROOT, 'Codec', '*.c')),
                    '-o', path], check=True)
    return path


def build_windows(folder):
    path = os.path.join(folder, 'CodecTool.exe')
    subprocess.run([programs.GCC, '-O2', '-w', '-D_DEFAULT_SOURCE', TOOL,
                    LIBRARY, '-static', '-o', path], check=True)
    return path


class Tool:
    def __init__(self, folder):
        self.folder = folder
        self.native = build_native(folder)
        self.windows = build_windows(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, what, data, records=BLOCK, windows=False):
        """(exit code, what was written)."""
        source, target = self.path('from'), self.path('to')
        with open(source, 'wb') as file:
            file.write(data)
        if windows:
            code, _ = programs.run_windows(
                self.windows, what, programs.windows_path(source),
                programs.windows_path(target), str(records))
        else:
            code = subprocess.run([self.native, what, source, target,
                                   str(records)],
                                  stderr=subprocess.DEVNULL,
                                  check=False).returncode
        with open(target, 'rb') as file:
            return code, file.read()


def calls(numbers, count, sites=60, gap=60):
    """Records of a made-up thread."""
    data, stack, time, rsp, last = bytearray(), [], 10 ** 12, 0x20FF00, 0
    for _ in range(count):
        time += 18 + numbers.randrange(gap)
        if not stack or (len(stack) < 50 and numbers.random() < .47):
            last = (last * 3 + 1 + (numbers.random() < .05)) % sites
            stack.append(last)
            rsp -= 0x40 + last % 5 * 8
            data += struct.pack('<QII', time, 0x401000 + last * 48, rsp | 1)
        else:
            site = stack.pop()
            data += struct.pack('<QII', time, 0x401011 + site * 48, rsp | 2)
            rsp += 0x40 + site % 5 * 8
    return bytes(data)


def damaged(numbers, data):
    """Holes, bad kinds, times that go backwards, gaps of 8 bytes."""
    data = bytearray(data)
    for _ in range(len(data) // 300):
        place = numbers.randrange(max(len(data) - 16, 1)) // 8 * 8
        kind = numbers.randrange(4)
        if kind == 0:
            data[place:place + 16] = bytes(16)
        elif kind == 1:
            del data[place:place + 8]
        elif kind == 2:
            data[place + 7:place + 8] = bytes([numbers.randrange(256)])
        else:
            data[place:place + 8] = numbers.randbytes(8)
    return bytes(data)


def inputs(numbers):
    yield 'a byte', b'x'
    yield '15 bytes', bytes(range(15))
    for count in (1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65):
        yield f'{count} records', calls(numbers, count) + bytes(count % 16)
    yield 'zeroes', bytes(16 * 70000 + 5)
    yield 'ones', b'\xff' * (16 * 3000 + 15)
    yield 'noise', numbers.randbytes(50000)
    yield 'calls', calls(numbers, 70000)
    yield 'calls of many sites', calls(numbers, 30000, 9000)
    yield 'long calls', calls(numbers, 20000, 60, 10 ** 6)
    for index in range(40 if programs.LONG else 6):
        yield (f'damaged calls {index}',
               damaged(numbers, calls(numbers, numbers.randrange(1, 9000),
                                      numbers.choice((3, 60, 5000)),
                                      numbers.choice((1, 30, 200, 10 ** 5)))))


def check_header(results, what, header, raw):
    count = len(raw) // 16
    first = struct.unpack('<Q', raw[:8])[0] if count else 0
    last = (struct.unpack('<Q', raw[count * 16 - 16:count * 16 - 8])[0]
            if count else 0)
    results.equal((header.raw_bytes, header.position, header.first_timestamp,
                   header.last_timestamp, header.unused3),
                  (len(raw), 4096, first, last, 0),
                  what + ': header')


def check_bytes(results, tool, what, data, records=BLOCK, windows=False):
    """Encodes bytes at both levels; returns the bytes of both."""
    sizes = []
    for level in LEVELS:
        name = f'{what}, {level}'
        code, blocks = tool.run(level, data, records)
        results.equal(code, 0, name + ': is encoded')
        sizes.append(len(blocks))
        if windows:
            results.check(tool.run(level, data, records, True) == (0, blocks),
                          name + ': the same blocks on Windows')
            results.check(tool.run('decode', blocks, records, True) ==
                          (0, data), name + ': decoded on Windows')
        results.check(tool.run('decode', blocks) == (0, data),
                      name + ': decoded')
        place, left = 0, blocks
        while left:
            try:
                header, raw, size = codec_reader.decode(left)
            except codec_reader.FormatError as error:
                results.check(False, f'{name}: by the second decoder: {error}')
                break
            expected = data[place:place + records * 16]
            if not results.check(raw == expected,
                                 name + ': by the second decoder'):
                break
            check_header(results, name, header, raw)
            place += len(raw)
            left = left[size:]
        results.equal(place, len(data), name + ': all of it')
    results.check(sizes[1] <= sizes[0] <=
                  len(data) + 64 * (len(data) // (records * 16) + 1),
                  what + ': sizes', sizes)
    return sizes


def with_sum(block):
    """The same block with a sum that is right."""
    contents = block[64:]
    return (bytes(block[:56]) +
            struct.pack('<Q', codec_reader.sum_of(block, contents)) +
            bytes(contents))


def check_changed(results, tool, numbers):
    """Changed blocks: two decoders, one verdict."""
    refused = different = 0
    rounds = 4000 if programs.LONG else 250
    for index in range(rounds):
        raw = damaged(numbers, calls(numbers, numbers.randrange(20, 120)))
        _, block = tool.run(LEVELS[index % 2], raw)
        block = bytearray(block)
        for _ in range(numbers.randrange(1, 3)):
            place = numbers.randrange(64 if numbers.random() < .8 else 8,
                                      len(block))
            if numbers.random() < .5:
                block[place] ^= 1 << numbers.randrange(8)
            else:
                block[place] = numbers.choice((0, 1, 112, 119, 120, 126, 127,
                                               128, 255))
        block = with_sum(block)
        code, first = tool.run('decode', block)
        try:
            second = codec_reader.decode(block)[1]
        except codec_reader.FormatError as error:
            second = None
            refused += 1
            results.check(code == 1, f'changed {index}: {error}')
            continue
        different += second != raw
        results.check(code == 0 and first == second,
                      f'changed {index}: both decode the same',
                      [code, block.hex()])
    print(f'{rounds} changed blocks: {refused} refused, {different} decode '
          'to other bytes')

    #
    # Controls: what is changed is noticed, refused or different.
    #

    results.check(refused > rounds // 20, 'control: some are refused')
    results.check(different > rounds // 20, 'control: some are different')

    #
    # Times that are not those of the records, where these are as they were.
    #

    _, block = tool.run('encode', numbers.randbytes(160))
    results.equal(block[5], codec_reader.STORED, 'noise is stored')
    for place in (24, 32):
        changed = bytearray(block)
        changed[place] ^= 1
        changed = with_sum(changed)
        code, _ = tool.run('decode', changed)
        results.equal(code, 1, f'stored: a time at {place}: refused')
        try:
            codec_reader.decode(changed)
            results.check(False, f'stored: a time at {place}: by the second')
        except codec_reader.FormatError:
            results.check(True, '')

    #
    # A bit changed, and the sum not made right.
    #

    _, block = tool.run('pack', calls(numbers, 300))
    for _ in range(60):
        changed = bytearray(block)
        bit = numbers.randrange(len(block) * 8)
        changed[bit // 8] ^= 1 << bit % 8
        code, _ = tool.run('decode', bytes(changed))
        results.equal(code, 1, f'bit {bit} changed: refused')
        try:
            codec_reader.decode(bytes(changed))
            results.check(False, f'bit {bit} changed: by the second decoder')
        except codec_reader.FormatError:
            results.check(True, '')


def check_traced(results, tool, scratch):
    """Every store of a program with threads, header and all."""
    folder = os.path.join(scratch, 'sample')
    program = programs.build_sample(folder, programs.PENTER_FLAGS,
                                    [programs.LIBRARY])
    directory = os.path.join(folder, 'traces')
    programs.trace(program, '3', '30', directory=directory)
    total, sizes = 0, [0, 0]
    for path in support.stores(directory):
        with open(path, 'rb') as file:
            data = file.read()
        check_bytes(results, tool, os.path.basename(path), data[:1 << 20],
                    BLOCK, True)
        records = data[4096:4096 + (4 << 20)]
        if len(records) < 1 << 20:
            continue
        seen = check_bytes(results, tool, os.path.basename(path) + ': records',
                           records)
        total += len(records)
        sizes = [sum(pair) for pair in zip(sizes, seen)]
    results.check(total != 0, 'there are records')
    rates = [size * 32 / max(total, 1) for size in sizes]
    print('Sample: %.2f and %.2f bytes a call' % tuple(rates))
    results.check(rates[0] < 3.0 and rates[1] < 1.5, 'bytes a call', rates)


def main():
    results = programs.Results()
    numbers = random.Random(17)
    with programs.Scratch() as scratch:
        tool = Tool(scratch)
        if tool.native is None:
            results.skip('there is no compiler for this machine')
            return results.finish()
        for index, (what, data) in enumerate(inputs(numbers)):
            check_bytes(results, tool, what, data,
                        numbers.choice((BLOCK, BLOCK, 1000, 4096)),
                        index % 6 == 0)
        check_bytes(results, tool, 'blocks of one record',
                    calls(numbers, 40), 1)
        check_changed(results, tool, numbers)
        check_traced(results, tool, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

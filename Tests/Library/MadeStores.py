"""Stores that are written byte by byte, from Docs/Format.md."""

import struct

BASE, SIZE = 0x7FF612340000, 0x100000
TOP, LIMIT = 0x00000012_00300000, 0x00000012_00200000
ENTER, EXIT, ENTER_F, EXIT_F = 1, 2, 3, 4
RATE = 10 ** 9          # ticks a second, so that a tick is a nanosecond

A, B, C = 0x1000, 0x2000, 0x3000
FIBER = 0x40000000
HIGH = 0x00000013_00001000          # a stack that crosses a multiple of 4 GiB


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

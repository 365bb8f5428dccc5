#!/usr/bin/env python3
"""Tests/Fuzz/EtlSeeds.py FOLDER

Makes inputs of FuzzEtl: small logs of every kind (Tests/Library/EtlMaker.py),
behind the four bytes that say what fails.
"""

import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import EtlMaker as maker                                     # noqa: E402

THREADS = [0x1000 + 4 * index for index in range(9)]


def log_of(seed, events=60, build=None, **options):
    options.setdefault('buffer', 1024)
    log = maker.Log(**options)
    maker.Schedule(log, random.Random(seed), THREADS, events)
    return log.build(**(build or {}))


def hostile():
    """What would be read or written beyond a buffer."""
    log = maker.Log(buffer=1024)
    log.switch(0, 2000, 0x1000, 0, maker.RUNNING)
    for name, size, saved in (('saved', 16, 0x3000), ('long', 40, 1024),
                              ('short', 16, 1024)):
        data = bytearray(log.build())
        struct.pack_into('<I', data, 1024 + 4, saved)
        for place in (1024 + 0x48, *range(1024 + 0x60, 2048, 16)):
            struct.pack_into('<HBBHHQ', data, place, 2, 17, 0xC0,
                             24 if place < 1024 + 0x60 else 16,
                             0x0524 if place == 2032 else 1, 3000)
        struct.pack_into('<H', data, 2032 + 4, size)
        yield name, bytes(data), 0, 0, 0
    log.method = 3
    good = log.build()
    for name, stream in (('distance', 'ffffffffffff' + '00' * 30),
                         ('length', 'ffffff7f4107000fff000000001000' +
                          '00' * 30)):
        data = bytearray(good)
        stream = bytes.fromhex(stream)[:len(data) - 1024 - 0x48]
        data[1024 + 0x48:1024 + 0x48 + len(stream)] = stream
        yield name, bytes(data), 0, 0, 0
    yield 'first-buffer', good[:900], 0, 0, 0


def small():
    """What no schedule has: one time, ends, batches, what is no event."""
    log = maker.Log(buffer=1024)
    log.switch(1, 2000, 0x1000, 0, maker.RUNNING)
    log.switch(0, 3000, 0x1000, 0x3000, maker.WAITING, 6)
    log.ready(0, 3000, 0x1000)
    log.switch(1, 3000, 0, 0x1000, maker.WAITING, 4)
    log.switch(0, 4000, 0x3000, 0x1000, maker.TERMINATED)
    log.thread(0, 4100, 0x1000, 7, maker.HOOK_END)
    log.thread(0, 4200, 0x1000, 8, maker.HOOK_START)
    log.add(0, 4300, 0x0525, bytes(9))
    log.named(1, 4400, 7, 'seven.exe')
    log.named(1, 4500, 9, 'nine.exe', 2, None)
    log.noise(1, 5000)
    yield 'small', log.build(), 0, 0, 0x43
    log.events[1].append((5100, struct.pack('<HBBHHQ', 0, 99, 0xC0, 16, 1, 9)))
    yield 'malformed', log.build(), 0, 0, 0
    log = maker.Log(buffer=1024)
    for index in range(20):
        log.switch(index % 2, 2000, 0x1000, 0x1000, maker.WAITING, index)
    yield 'ties', log.build(), 0, 0, 3
    yield 'empty', b'', 0, 0, 0
    yield 'header-only', maker.Log(buffer=1024).build(), 0, 0, 0


def seeds():
    """(name, log, failing allocation, failing read, flags)"""
    for header in ('perfinfo', 'system', 'compact', 'event', 'full',
                   'counters'):
        yield 'header-' + header, log_of(1, header=header, version=2), 0, 0, 3
    yield 'version5', log_of(2, version=5), 0, 0, 2
    yield 'pointer4', log_of(3, pointer=4), 0, 0, 1
    yield 'cycles', log_of(4, clock=3), 0, 0, 0x82
    yield 'processors9', log_of(5, 90, processors=9, buffer=512), 0, 0, 0
    yield 'compressed', log_of(6, 120, method=3), 0, 0, 3
    yield ('compressed-large', log_of(6, 300, method=3, buffer=4096), 0, 0, 3)
    for name, build in (('lost', {'lost': {1, 3}}), ('flagged', {'flagged':
                                                                 {1}}),
                        ('turned', {'turn': 2}), ('cut', {'cut': 700}),
                        ('tail', {'tail': bytes(600)})):
        yield name, log_of(7, 120, build), 0, 0, 3
    yield ('cut-processors', log_of(10, 120, {'cut': 2900}, processors=3), 0,
           0, 0)
    yield 'shared', log_of(11, mode=maker.MODE_SHARED), 0, 0, 0
    yield 'method2', log_of(13, 20, method=2), 0, 0, 0
    yield 'clock2', log_of(14, 20, clock=2), 0, 0, 0
    yield 'clock7', log_of(14, 20, clock=7), 0, 0, 0
    for fail in (1, 2, 3, 4, 5, 6, 7, 9, 11, 13):
        yield 'fails%d' % fail, log_of(15, method=3), fail, 0, 0
    for read in (1, 2, 3, 5, 8):
        yield 'reads%d' % read, log_of(16), 0, read, 0
    yield from small()
    yield from hostile()


def main():
    for name, log, fail, read, flags in seeds():
        with open(os.path.join(sys.argv[1], name), 'wb') as file:
            file.write(struct.pack('<HBB', fail, read, flags) + log)


if __name__ == '__main__':
    main()

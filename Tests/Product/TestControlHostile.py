#!/usr/bin/env python3
"""A running program whose control file somebody else writes to.

Eight threads run, in every mode, while the file's fields are changed, its
numbers run away, it is made longer, cut, emptied and replaced.  The program
must end as it does untraced: exit code 0 and what it has to say, with no wait
and no crash; and what it has recorded must be readable.
"""
# Takes long.

import os
import random
import re
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestControl as control                                # noqa: E402
from StoreSupport import programs                            # noqa: E402

THREADS = 8
MODES = {
    'records': {'TRACER_MAX_BYTES': '2M'},
    'ring': {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'},
    'tree': {'TRACER_MODE': 'tree', 'TRACER_MAX_BYTES': '1M'},
    'chronological': {'TRACER_MODE': 'tree', 'TRACER_MAX_BYTES': '1M',
                      'TRACER_CHRONO': 'Branch'},
}
KIND, THREAD, STAMP, SYSTEM, LENGTH = 0, 4, 8, 16, 24
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            2**63 - 1, 2**63, 2**64 - 1)


class File:
    """The control file, as a stranger writes it."""

    def __init__(self, session, numbers):
        self.path = os.path.join(session, 'session.control')
        self.numbers = numbers
        self.file = os.open(self.path, os.O_RDWR)
        self.good = os.pread(self.file, 65536, 0)

    def put(self, offset, code, value):
        mask = {'I': 2**32 - 1, 'Q': 2**64 - 1, 'H': 65535}[code]
        os.pwrite(self.file, struct.pack('<' + code, value & mask), offset)

    def value(self):
        return self.numbers.choice(EXTREMES) if self.numbers.random() < 0.5 \
            else self.numbers.getrandbits(64)

    def action(self, number, kind, stamp, length=0):
        offset = 4096 + 128 * number
        os.pwrite(self.file, struct.pack('<IIQQI', 0, self.value() & 0xFFFF,
                                         stamp & (2**64 - 1), 0,
                                         length & (2**32 - 1)), offset)
        self.put(offset, 'I', kind)

    def claim(self):
        claimed = struct.unpack_from('<I', os.pread(self.file, 4, 0x1c)
                                     .ljust(4, b'\0'))[0]
        self.put(0x1c, 'I', claimed + 1)
        return claimed % 4096

    #
    # The attacks.
    #

    def header(self):
        self.put(self.numbers.randrange(0x440) // 2 * 2,
                 self.numbers.choice('HIQ'), self.value())

    def runaway(self):
        self.put(0x1c, 'I', self.value())

    def capacity(self):
        self.put(0x18, 'I', self.value())

    def kinds(self):
        number = self.numbers.randrange(64)
        for _ in range(20):
            self.put(4096 + 128 * number + KIND, 'I',
                     self.numbers.randrange(9))

    def requests(self):
        for kind in self.numbers.choices(range(1, 8), k=20):
            self.action(self.claim(), kind, self.value(), self.value())

    def times(self):
        for number in range(64):
            self.put(4096 + 128 * number + STAMP, 'Q', self.value())
            self.put(4096 + 128 * number + LENGTH, 'I', self.value())

    def instances(self):
        for index in range(64):
            self.put(0x40 + 16 * index, 'Q', self.value())
            self.put(0x48 + 16 * index, 'I', self.value())

    def noise(self):
        os.pwrite(self.file, self.numbers.randbytes(4096),
                  self.numbers.randrange(16) * 4096)

    def good_again(self):
        os.pwrite(self.file, self.good, 0)

    def longer(self):
        os.ftruncate(self.file, self.numbers.choice((1, 64, 1024)) << 20)

    def cut(self):
        os.ftruncate(self.file, self.numbers.choice(
            (0, 1, 4095, 4096, 4097, 8192, 65536)))

    def replaced(self):
        os.unlink(self.path)
        with open(self.path, 'wb') as file:
            file.write(self.numbers.randbytes(65536))


HARMLESS = ('header', 'runaway', 'capacity', 'kinds', 'requests', 'times',
            'instances', 'noise', 'good_again', 'longer')
ROUNDS = (('fields', HARMLESS, 120), ('runaway', ('runaway', 'requests'), 60),
          ('cut', ('cut',), 1), ('replaced', ('replaced', 'requests'), 4),
          ('everything', HARMLESS + ('cut',), 60))


def attack(results, scratch, program, mode, what, attacks, count, rounds):
    numbers = random.Random('%s %s' % (mode, what))
    name = '%s: %s' % (mode, what)
    run = control.Run(results, scratch, program, name.replace(':', ''),
                      'busy', str(THREADS), rounds=rounds, **MODES[mode])
    file = File(run.session, numbers)
    began = time.monotonic()
    for number in range(count):
        getattr(file, attacks[0] if number == 0 else
                numbers.choice(attacks))()
        time.sleep(numbers.choice((0, 0, 0.001, 0.02)))
    time.sleep(0.3)
    with open(run.flag, 'w', encoding='ascii'):
        pass
    code, text = support.finish(run.process)
    lines = [line for line in text.splitlines() if line != 'rounds']
    results.check(support.has_ended(code) and len(lines) == 2 * THREADS and
                  all(re.fullmatch(r'\d+ \d+', line) for line in lines) and
                  ('rounds' in text) == bool(rounds),
                  name + ': ends as untraced', [code, text[-300:]])
    print('%5.1f s  %s' % (time.monotonic() - began, name), flush=True)
    os.close(file.file)

    #
    # The control: what the file has become is not what it was.
    #

    with open(file.path, 'rb') as now:
        results.check(now.read(65536) != file.good, name + ': it was changed')
    for command in ('verify', 'report', 'info'):
        code, text, errors = support.reader(
            command, programs.windows_path(run.session))
        results.check(code in ((0, 2) if command == 'verify' else (0,)),
                      '%s: %s' % (name, command), [code, errors])


def main():
    results = programs.Results()
    flags = [*programs.PENTER_FLAGS, '-DTRACER_PENTER']
    with programs.Scratch() as scratch:
        control.build_clock(scratch)
        program = control.build(scratch, 'penter', *flags)
        for mode in MODES:
            for what, attacks, count in ROUNDS:
                attack(results, scratch, program, mode, what, attacks, count,
                       200 if what in ('fields', 'cut') else 0)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

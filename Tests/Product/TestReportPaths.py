#!/usr/bin/env python3
"""TraceReader report says the same whatever way it reads: with its fast path
or by the general rules alone, with one worker or with several.  replay --from
passes over what comes before in the fast way, and shows the same as without.

The sessions are made up, with all that makes a call out of the ordinary:
frames that are left without an exit, exits without an entry, fibers, several
modules in one thread, records of one time, records that are bad; and of every
kind of store: rings, clock threads that froze or did not, no clock, calls that
are taken back.  What report should say of them is checked by
TestPythonReader.py, TestReader.c, TestFlow.py and others.
"""
# Takes long.

import csv
import io
import os
import pty
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

SESSIONS = 16 if programs.LONG else 6
RECORDS = 3000
KINDS = ('thread', 'frozen', 'none', 'ring', 'taken back', 'mixed')
SESSIONS_OF_A_KIND = 3 if programs.LONG else 1
TSC, CLOCK_THREAD, NONE = 0, 1, 2
SEGMENT, SEGMENTS = 0x10000, 3
MODULES = 3
FUNCTIONS = 40
WAYS = (['--workers', '1'], ['--workers', '2'], ['--workers', '5'],
        ['--general', '--workers', '1'], ['--general', '--workers', '3'])
FORMATS = ([], ['--csv'], ['--json', '--sort', 'self'])
COST = re.compile(r'TraceReader: (\d+) records of (\d+) threads in \d+ us by '
                  r'(\d+) workers: \d+ records/s; (\d+) were ordinary; peak '
                  r'working set (\d+) KiB\n')


def text_field(data, offset, lengths, value):
    data[offset:offset + len(value)] = value
    struct.pack_into('<2I', data, lengths, len(value), len(value))


class Kind:
    """What the header of a store says of the way in which it was made."""

    def __init__(self, clock=TSC, resolution=0, freezes=0, is_ring=False,
                 minimum=0):
        self.clock = clock
        self.resolution = resolution    # ticks
        self.freezes = freezes
        self.is_ring = is_ring
        self.minimum = minimum          # ticks
        self.is_plain = False


def plain():
    kind = Kind()
    kind.is_plain = True
    return kind


def kind_of_store(name, numbers, resolution):
    if name == 'thread':
        return Kind(CLOCK_THREAD, resolution)
    if name == 'frozen':
        return Kind(CLOCK_THREAD, max(resolution, 1), 1)
    if name == 'none':
        return Kind(NONE)
    if name == 'ring':
        return Kind(is_ring=True)
    if name == 'taken back':
        return Kind(minimum=1 + numbers.randrange(1000))
    if name == 'mixed':
        return Kind(numbers.randrange(3), 1, is_ring=numbers.random() < 0.5,
                    minimum=numbers.choice((0, 20)))
    return plain()


def header(size, thread, module, state=2, kind=plain()):
    """A header for size bytes of records."""
    data = bytearray(made.header(size))
    if not kind.is_plain:
        struct.pack_into('<H', data, 0x00A, 1)
        struct.pack_into('<I', data, 0x03C, kind.clock)
        struct.pack_into('<3Q', data, 0x0C8, kind.resolution, kind.freezes,
                         1000 * kind.resolution * kind.freezes)
        struct.pack_into('<Q', data, 0x170, kind.minimum)
    struct.pack_into('<I', data, 0x01C, thread)
    struct.pack_into('<I', data, 0x038, module)
    struct.pack_into('<2I', data, 0x080, state, 1 if state == 2 else 0)
    struct.pack_into('<Q', data, 0x120, base_of(module))
    struct.pack_into('<I', data, 0x12C, module)
    text_field(data, 0x200, 0x148, b'C:\\nowhere\\module%d.exe' % module)
    return bytes(data)


def store_of(items, thread, module, state, kind=plain()):
    """The bytes of a store of these records."""
    if kind.clock == NONE:
        items = [item if item[:8] == bytes(8) else
                 struct.pack('<Q', 4096 + 16 * index) + item[8:]
                 for index, item in enumerate(items)]
    body = b''.join(items)
    data = bytearray(header(len(body), thread, module, state, kind))
    if not kind.is_ring:
        return bytes(data) + body
    struct.pack_into('<2Q', data, 0x0B0, SEGMENT, SEGMENT * SEGMENTS)
    data += body[:SEGMENT - 4096] + bytes(max(0, SEGMENT - 4096 - len(body)))
    rest = [body[at:at + SEGMENT]
            for at in range(SEGMENT - 4096, len(body), SEGMENT)]
    if len(rest) > SEGMENTS:
        struct.pack_into('<Q', data, 0x0A8,
                         SEGMENT * (1 + len(rest) - SEGMENTS))
    data += bytes(SEGMENT * min(len(rest), SEGMENTS))
    for index, segment in enumerate(rest):
        at = SEGMENT * (1 + index % SEGMENTS)
        data[at:at + SEGMENT] = segment + bytes(SEGMENT - len(segment))
    return bytes(data)


def base_of(module):
    return made.BASE + module * 0x1000000


class Thread:
    """Makes up a thread's records, in one list for each module."""

    def __init__(self, numbers, oddities, steps=(0, 0, 1, 3, 20, 500)):
        self.numbers = numbers
        self.oddities = oddities        # of a thousand steps
        self.steps = steps              # of the clock, ticks
        self.time = 10 ** 9
        self.stacks = [[]]              # each of (function, RSP)
        self.current = 0
        self.records = [[] for _ in range(MODULES)]
        self.functions = numbers.random() < 0.3

    def add(self, function, rsp, kind):
        module = function % MODULES if function % 7 == 0 else 0
        rva = 0x1000 + function * 0x100
        if kind == made.EXIT:
            rva += 0x40 + function % 2
        self.records[module].append(struct.pack(
            '<QII', self.time, (base_of(module) + rva) & 0xFFFFFFFF,
            (rsp & 0xFFFFFFF8) | kind))

    def top(self):
        if self.current == 0:
            return made.TOP - 0x100
        return made.FIBER + self.current * 0x200000

    def enter(self):
        numbers, stack = self.numbers, self.stacks[self.current]
        above = stack[-1][1] if stack else self.top()
        function = numbers.randrange(FUNCTIONS)
        rsp = above - 16 * numbers.randrange(1, 12)
        stack.append((function, rsp))
        self.add(function, rsp,
                 made.ENTER_F if self.functions else made.ENTER)

    def leave(self):
        function, rsp = self.stacks[self.current].pop()
        self.add(function, rsp, made.EXIT_F if self.functions else made.EXIT)

    def odd(self):
        numbers, stack = self.numbers, self.stacks[self.current]
        choice = numbers.randrange(6)
        if choice == 0:                                 # frames are left
            del stack[len(stack) - min(len(stack), numbers.randrange(4)):]
        elif choice == 1 and stack:                     # one of the others
            function, rsp = stack[-1]
            self.add((function + 1) % FUNCTIONS, rsp, made.EXIT)
        elif choice == 2:                               # another fiber
            self.current = numbers.randrange(4)
            while len(self.stacks) <= self.current:
                self.stacks.append([])
        elif choice == 3 and stack:                     # below its entry
            function, rsp = stack.pop()
            self.add(function, rsp - 8 * numbers.randrange(4), made.EXIT)
        elif choice == 4:                               # bad
            self.records[0].append(bytes(numbers.randrange(256)
                                         for _ in range(16)))
        else:
            self.records[0].append(bytes(16))

    def make(self, steps):
        for _ in range(steps):
            self.time += self.numbers.choice(self.steps)
            if self.numbers.randrange(1000) < self.oddities:
                self.odd()
            elif self.stacks[self.current] and self.numbers.random() < (
                    0.4 + len(self.stacks[self.current]) / 100):
                self.leave()
            else:
                self.enter()
        return self.records


def make_session(folder, numbers, name=None):
    """(number of threads that the reader tells apart, clocks of the stores)."""
    os.makedirs(folder)
    threads = numbers.choice((1, 2, 7))
    count, steps = RECORDS, (0, 0, 1, 3, 20, 500)
    if name in ('ring', 'mixed'):
        threads, count = numbers.choice((1, 2)), 10 * RECORDS
    elif name in ('thread', 'frozen'):
        steps = 40 * (0,) + 8 * (103,) + (707,) + (name == 'frozen') * (9001,)
    resolution = numbers.choice((0, 1, 100))
    told_apart, clocks = 0, set()
    for thread in range(threads):
        oddities = numbers.choice((0, 3, 30, 200))
        records = Thread(numbers, oddities, steps).make(
            count // (1 if name == 'ring' else numbers.randrange(1, 5)))
        has_clock = False
        for module, items in enumerate(records):
            if items or module == 0:
                kind = kind_of_store(name, numbers, resolution)
                clocks.add(kind.clock)
                #
                # Without a clock each store is by itself.
                #

                told_apart += kind.clock == NONE or not has_clock
                has_clock |= kind.clock != NONE
                path = os.path.join(folder, 'made-%d-%d.trace' %
                                    (100 + thread, module))
                with open(path, 'wb') as file:
                    file.write(store_of(items, 100 + thread, module,
                                        numbers.choice((1, 2)), kind))
    return told_apart, clocks


def report(session, *options):
    return support.reader('report', *options, programs.windows_path(session))


def cost(session, *options):
    """What --verbose says: records, threads, workers, ordinary, KiB."""
    _, _, errors = report(session, '--verbose', *options)
    found = COST.search(errors)
    return [int(text) for text in found.groups()] if found else None


def check_session(results, scratch, number, kind=None):
    numbers = random.Random(number)
    session = os.path.join(scratch, 'session%d' % number)
    threads, clocks = make_session(session, numbers, kind)
    what = 'session %d' % number + (kind is not None) * (', %s' % kind)
    form = FORMATS[number % len(FORMATS)]
    expected = report(session, *form, *WAYS[-2])
    results.check(expected[0] == 0 and len(expected[1]) > 500,
                  what + ': report', expected)
    for way in WAYS:
        results.equal(report(session, *form, *way), expected,
                      '%s: %s' % (what, ' '.join(way)))

    #
    # That the ways are different ones, and that a difference would be seen.
    #

    usual, general = cost(session, '--workers', '2'), cost(session,
                                                           '--general')
    results.check(usual and general and usual[0] == general[0] and
                  usual[1] == threads and usual[2] == min(2, threads) and
                  general[3] == 0 and usual[3] > 0,
                  what + ': what --verbose says', [usual, general, threads])
    text = report(session)[1]
    results.equal(['Uncertain' in text, 'There are no times' in text,
                   'those of a clock thread' in text],
                  [kind == 'frozen', NONE in clocks,
                   max(clocks) == CLOCK_THREAD],
                  what + ': the clock')
    results.check(kind != 'ring' or 'a ring keeps the newest records' in text,
                  what + ': it went around', [text[-300:]])
    path = os.path.join(session, 'made-100-0.trace')
    with open(path, 'r+b') as file:
        first = struct.unpack_from('<Q', file.read(4096), 0x0A8)[0]
        for index in range(40):
            place = (SEGMENT if first else 4096) + 16 * (index + 100)
            file.seek(place)
            time, site, rest = struct.unpack('<QII', file.read(16))
            if kind is None:
                time += 7 * (time != 0)
            else:
                site += 0x100
            file.seek(place)
            file.write(struct.pack('<QII', time, site & 0xFFFFFFFF, rest))
    results.check(report(session, *form) != expected,
                  what + ': another time or site makes another report')
    return clocks


def replay(session, *options):
    """(exit code, errors, thread -> rows) of replay."""
    code, text, errors = support.reader('replay', '--csv', *options,
                                        programs.windows_path(session))
    threads = {}
    for row in csv.DictReader(io.StringIO(text)):
        threads.setdefault(row['thread_id'], []).append(row)
    return code, errors, threads


def check_replay(results, scratch, number):
    """replay --from and --to show what is in the range, and nothing else
    changes: neither depths nor durations of calls that began before.
    """
    numbers = random.Random(number)
    session = os.path.join(scratch, 'session%d' % number)
    code, errors, whole = replay(session)
    times = [int(row['time_ns']) for rows in whole.values() for row in rows]
    results.check(code == 0 and len(times) > 100 and max(times) > 1000,
                  'session %d: replay' % number, [errors])
    for _ in range(3):
        first, last = sorted(numbers.choice(times) + numbers.randrange(2)
                             for _ in range(2))
        expected = {}
        for thread, rows in whole.items():
            kept = [row for row in rows
                    if first <= int(row['time_ns']) <= last]
            if kept:
                expected[thread] = kept
        _, _, seen = replay(session, '--from', str(first),
                            '--to', '%dns' % last)
        results.check(seen == expected,
                      'session %d: replay from %d to %d' %
                      (number, first, last),
                      [len(seen), len(expected)])
        _, _, other = replay(session, '--from', str(first),
                             '--to', str(last + 300))
        results.check(other != seen or last + 300 > max(times) or
                      not any(last < time <= last + 300 for time in times),
                      'session %d: another range' % number)
    results.equal(replay(session, '--from', '%dus' % (max(times) // 1000 + 1)
                         )[2], {}, 'session %d: after the end' % number)


def check_no_replay(results, scratch, number):
    """Without a clock there are no times to show calls from or to."""
    path = programs.windows_path(os.path.join(scratch, 'session%d' % number))
    for option in ('--from', '--to'):
        code, text, errors = support.reader('replay', option, '1us', path)
        results.check(code == 1 and not text and 'has no times' in errors,
                      'session %d: replay %s' % (number, option), [errors])
    code, text, errors = support.reader('replay', '--limit', '9', path)
    results.check(code == 0 and text, 'session %d: replay' % number, [errors])


def check_processes(results, scratch):
    """One process after the other, and which functions are shown: what is
    known of the functions of one stays theirs when workers meet the next's.
    """
    above = os.path.join(scratch, 'processes')
    for process in range(3):
        folder = os.path.join(above, 'process%d' % process)
        for number in range(100):
            shutil.rmtree(folder, ignore_errors=True)
            if make_session(folder, random.Random(1000 * process + number)
                            )[0] > 2:
                break
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), 'r+b') as file:
                data = bytearray(file.read(4096))
                struct.pack_into('<I', data, 0x018, 4242 + process)
                at = data.index(b'module', 0x200)
                data[at:at + 6] = b'modul%d' % process
                file.seek(0)
                file.write(data)
    for options in (['--exclude', 'modul10.exe+0x1'],
                    ['--json', '--sort', 'calls',
                     '--function', 'modul00,modul20.exe+0x2'],
                    ['--csv', '--from', '20000']):
        options += '--by', 'process', '--all-runs'
        expected = report(above, *options, *WAYS[-2])
        results.check(expected[0] == 0 and 'modul00' in expected[1] and
                      'modul20' in expected[1], 'processes: %s' % options,
                      expected)
        for way in WAYS:
            results.equal(report(above, *options, *way), expected,
                          'processes: %s: %s' % (options, ' '.join(way)))
    results.equal(cost(above, '--by', 'process', '--all-runs',
                       '--workers', '2')[2], 2,
                  'processes: workers')


def check_said(results, scratch):
    """What modules lack is said of those that have calls in the range, open
    ones included, and of no other.
    """
    session = os.path.join(scratch, 'said')
    os.makedirs(session)
    for thread in (100, 101):
        for module, depth, begin, end in ((1, 0, 10, 20), (2, 0, 30, 900),
                                          (0, 1, 500, 600)):
            items = [struct.pack('<QII', 10 ** 9 + time,
                                 (base_of(module) + rva) & 0xFFFFFFFF,
                                 (made.TOP - 64 - 64 * depth) & 0xFFFFFFF8 |
                                 kind)
                     for time, rva, kind in ((begin, 0x1000, made.ENTER),
                                             (end, 0x1040, made.EXIT))]
            path = os.path.join(session, 'made-%d-%d.trace' % (thread, module))
            with open(path, 'wb') as file:
                file.write(store_of(items, thread, module, 2))
    for options, expected in (([], ['1', '2', '0']),
                              (['--from', '400'], ['2', '0']),
                              (['--to', '400'], ['1', '2'])):
        for way in WAYS:
            _, text, errors = report(session, *options, *way)
            results.equal(re.findall(r'no function names for module(\d)',
                                     errors), expected,
                          'what is said with %s' % (options + way))
            results.equal(sorted(set(re.findall(r'module(\d).exe\+', text))),
                          sorted(expected), 'what is shown then')


def check_ordinary(results, scratch):
    """Nearly all of an ordinary program's calls go the fast way."""
    session = os.path.join(scratch, 'ordinary')
    os.makedirs(session)
    body = b''.join(Thread(random.Random(1), 0).make(20000)[0])
    with open(os.path.join(session, 'made-1-0.trace'), 'wb') as file:
        file.write(header(len(body), 1, 0) + body)
    seen = cost(session)
    results.check(seen and seen[3] > seen[0] * 0.9,
                  'ordinary calls go the fast way', [seen])


def check_usage(results, scratch):
    path = programs.windows_path(os.path.join(scratch, 'session0'))
    for command, option, value in (
            ('report', '--workers', '0'), ('report', '--workers', '33'),
            ('report', '--workers', 'x'), ('replay', '--from', ''),
            ('replay', '--from', '5x'), ('replay', '--to', 'ms'),
            ('replay', '--to', '--1s'),
            ('replay', '--from', '99999999999999999999'),
            ('replay', '--from', '18446744073709551s')):
        code, text, errors = support.reader(command, option, value, path)
        results.check(code == 1 and not text and
                      'bad value "%s" for %s' % (value, option) in errors,
                      '%s %s %s' % (command, option, value), [errors])
    for value in ('0', '7ns', '7us', '7ms', '7s', '18446744073s'):
        code, _, errors = support.reader('replay', '--to', value, path)
        results.check(code == 0, 'replay --to ' + value, [errors])


@support.watch.unless_wine_failed
def run_on_terminal(*arguments):
    """TraceReader with a terminal as its standard error: what that got."""
    master, slave = pty.openpty()
    said = []

    def listen():
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:
                return
            if not data:
                return
            said.append(data)

    listener = threading.Thread(target=listen)
    listener.start()
    with tempfile.TemporaryFile() as output:
        done = support.watch.run(
            [programs.WINE, programs.READER, *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=slave,
            env=support.environment())
    os.close(slave)

    # It ends when nobody has the terminal any more, but something of Wine's
    # may keep it; what was written is there.
    support.wait_for(lambda: not listener.is_alive() or
                     not select.select([master], [], [], 0)[0])
    listener.join(5)
    os.close(master)
    text = b''.join(said).decode('utf-8', 'replace')
    return support.watch.ExitCode(done.returncode, text), text


def check_progress(results, scratch):
    """On a terminal report says how far it is, and takes that away again."""
    session = os.path.join(scratch, 'long')
    os.makedirs(session)
    rsp = made.TOP - 256
    block = (made.record(10 ** 9, 0x1000, rsp, made.ENTER) +
             made.record(10 ** 9, 0x1040, rsp, made.EXIT)) * 65536
    count = 96
    with open(os.path.join(session, 'made-1-0.trace'), 'wb') as file:
        file.write(header(len(block) * count, 1, 0))
        for _ in range(count):
            file.write(block)
    path = programs.windows_path(session)
    code, _, errors = support.reader('report', path)
    results.check(code == 0 and '%' not in errors,
                  'a file is told nothing of the progress', [errors])
    code, text = run_on_terminal('report', '--general', path)
    results.equal(code, 0, 'on a terminal')
    if '%' not in text:
        results.skip('progress: none was shown (no console, or too fast)')
        return
    shown = re.findall(r'TraceReader: +(\d+) % of (\d+) records', text)
    shares = [int(share) for share, _ in shown]
    results.check(shares == sorted(shares) and shares[-1] <= 100 and
                  {total for _, total in shown} == {str(131072 * count)},
                  'the progress', [text])
    code, text_of_live = run_on_terminal('live', path)
    if code == 0 and '%' not in text_of_live:
        results.skip('progress of live: none was shown (too fast)')
    else:
        results.check(code == 0 and re.search(
            r'reading what was recorded so far: +\d+ %% of %d records' %
            (131072 * count), text_of_live), 'the progress of live',
            [text_of_live])
    #
    # By blanks, or by what Wine's console makes of them.
    #

    after = text[text.rindex('%'):].split('TraceReader: warning')[0]
    results.check(re.search(r'\r +\r|\x1b\[K', after),
                  'the progress is erased', [text])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for number in range(SESSIONS):
            check_session(results, scratch, number)
            if number % 2 == 0:
                check_replay(results, scratch, number)
        for number in range(SESSIONS_OF_A_KIND * len(KINDS)):
            kind = KINDS[number % len(KINDS)]
            clocks = check_session(results, scratch, SESSIONS + number, kind)
            if NONE in clocks:
                check_no_replay(results, scratch, SESSIONS + number)
            else:
                check_replay(results, scratch, SESSIONS + number)
        check_processes(results, scratch)
        check_said(results, scratch)
        check_ordinary(results, scratch)
        check_usage(results, scratch)
        check_progress(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

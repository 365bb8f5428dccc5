#!/usr/bin/env python3
"""Event trace logs: what the reader finds in them is what they were made from.

Tests/Library/EtlMaker.py writes logs from schedules, with layouts of its own;
Tests/Fuzz/EtlTool.c, built natively, says what Reader/Etl reads: the events,
and what each thread did when.  Versions, headers, pointers, clocks, many
processors, compressed buffers, lost ones, logs that go round and ends that are
cut off; what is lost is unknown, and nothing else is.
"""

import glob
import os
import random
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import EtlMaker as maker                                     # noqa: E402
import programs                                              # noqa: E402

THREADS = [0x1000 + 4 * index for index in range(9)]


def build_native(folder):
    compiler = shutil.which(programs.CLANG) or shutil.which('cc')
    if not compiler:
        return None
    path, fuzz = os.path.join(folder, 'EtlTool'), 'Tests/Fuzz/'
    subprocess.run([compiler, '-O2', '-w', '-std=c11', '-D_DEFAULT_SOURCE',
                    '-fshort-wchar', '-include', 'Rtl/RtlPortable.h',
                    '-idirafter', '/usr/share/mingw-w64/include',
                    fuzz + 'EtlTool.c', fuzz + 'FuzzSupport.c',
                    fuzz + 'FuzzWork.c', *glob.glob(
                        'Reader/Etl/*.c', root_dir=programs.ROOT),
                    'Reader/Core/CoreClock.c', 'Reader/Base/BaseContainer.c',
                    'Rtl/RtlString.c', '-o', path], check=True,
                   cwd=programs.ROOT)
    return path


class Found:
    """What the tool says of a log."""

    def __init__(self, tool, path, data, threads):
        with open(path, 'wb') as file:
            file.write(data)
        done = subprocess.run([tool, path, *map(str, threads)],
                              stdout=subprocess.PIPE, check=False)
        self.code = done.returncode
        self.text = done.stdout.decode()
        self.lines = [line.split() for line in self.text.splitlines()]
        self.counts = [int(word) for word in self.first('counts')]
        self.log = [int(word) for word in self.first('log')]
        self.end = [int(word) for word in self.first('end')[-3:]]
        self.gaps = [tuple(map(int, line[1:4])) for line in self.lines
                     if line[0] == 'gap']
        self.names = [(int(line[2]), int(line[5]), line[-1]) for line in
                      self.lines if line[0] == 'named']
        self.processes = {int(line[1]): int(line[2]) for line in self.lines
                          if line[0] == 'process'}
        self.spans = {thread: [] for thread in threads}
        for line in self.lines:
            if line[0] == 'span':
                self.spans[int(line[1])].append(
                    (int(line[2]), line[3], *map(int, line[4:])))

    def first(self, word):
        return next((line[1:] for line in reversed(self.lines)
                     if line[0] == word), [])

    def states(self, thread):
        """[(start, end, state, reason, by, by an interrupt)]"""
        spans = self.spans[thread]
        result = []
        for span, after in zip(spans, spans[1:]):
            start, state, reason, by, interrupt, ended = span
            waits = state == 'waiting'
            result.append((start, after[0], state, reason if waits else 0,
                           None if not waits or by == 0xFFFFFFFF else by,
                           bool(interrupt)))
        return result


def truth(schedule, thread):
    return [(start, end, state, reason if state == 'waiting' else 0,
             by if state == 'waiting' else None,
             interrupt and state == 'waiting')
            for start, end, state, reason, by, interrupt in
            schedule.spans[thread]]


def sums(spans):
    """By state, added up."""
    result = {}
    for start, end, state, *_ in spans:
        result[state] = result.get(state, 0) + end - start
    return result


def check_same(results, what, found, schedule, threads):
    for thread in threads:
        left, right = found.states(thread), truth(schedule, thread)
        wrong = [pair for pair in zip(left, right) if pair[0] != pair[1]]
        results.check(left == right, '%s: thread %d: %d and %d spans' %
                      (what, thread, len(left), len(right)), wrong[:3])
        results.equal(sums(left), sums(right), what + ': sums')


def kinds():
    """(name, what the log is like)"""
    for header in ('perfinfo', 'system', 'compact', 'event', 'full',
                   'counters'):
        yield header, {'header': header}
    for version in (2, 3, 5):
        yield 'version %d' % version, {'version': version}
    yield '32 bits', {'pointer': 4}
    yield '32 bits, system', {'pointer': 4, 'header': 'system'}
    yield 'cycles', {'clock': 3, 'frequency': 0}
    yield 'one processor', {'processors': 1}
    yield '64 processors', {'processors': 64}
    yield '200 processors without indexes', {'processors': 200, 'index': False}
    yield '700 processors', {'processors': 700}
    yield 'compressed', {'method': 3}
    yield 'compressed, version 5', {'method': 3, 'version': 5, 'buffer': 65536}
    yield 'large buffers', {'buffer': 1 << 20}


def check_kinds(results, tool, path):
    for number, (what, options) in enumerate(kinds()):
        log = maker.Log(**options)
        numbers = random.Random(number)
        processes = {thread: 400 + thread % 3 for thread in THREADS}
        schedule = maker.Schedule(log, numbers, THREADS, 4000,
                                  processes=processes)
        data = log.build()
        found = Found(tool, path, data, THREADS)
        results.equal(found.code, 0, what + ': is read')
        check_same(results, what, found, schedule, THREADS)
        results.equal(found.gaps, [], what + ': nothing is lost')
        results.equal(found.processes, processes, what + ': processes')
        hooks = [struct.unpack_from('<H', event, 6)[0] for events in log.events
                 for _, event in events] if 'perf' in log.header else []
        if hooks:
            results.equal(found.counts[:3],
                          [hooks.count(hook) for hook in
                           (maker.HOOK_SWITCH, maker.HOOK_READY,
                            maker.HOOK_SAMPLE)], what + ': counts')
        results.equal(found.log[8] != 0, bool(log.method),
                      what + ': compressed')
        results.equal(found.end[2], 0, what + ': no contradictions')
        if log.method:
            results.check(len(data) < 0.9 * sum(
                len(event) for events in log.events for _, event in events),
                          what + ': it is')

        #
        # A log that goes round is the same; and the control: one whose
        # switches are of another thread is not.
        #

        if number % 4 == 0:
            again = Found(tool, path, log.build(turn=3), THREADS)
            results.equal(again.text.count('span'), found.text.count('span'),
                          what + ': turned')
            check_same(results, what + ', turned', again, schedule, THREADS)
            place = data.index(struct.pack('<HHQ', 0x28, 0x0524,
                                           schedule_time(log))) \
                if log.header == 'perfinfo' and not log.method and \
                log.version < 5 else None
            if place is not None:
                changed = bytearray(data)
                struct.pack_into('<II', changed, place + 12, 9, 9)
                other = Found(tool, path, bytes(changed), THREADS)
                results.check(any(other.states(thread) != truth(schedule,
                                                                thread)
                                  for thread in THREADS),
                              what + ': control: a switch is changed')


def schedule_time(log):
    """When the 50th switch was."""
    return sorted(time for events in log.events for time, event in events
                  if event[6:8] == struct.pack('<H', maker.HOOK_SWITCH))[50]


def check_lost(results, tool, path):
    """What is found agrees with the truth wherever it is not unknown, and is
    unknown where the lost part was."""
    unknown = 0
    for number in range(60):
        numbers = random.Random(1000 + number)
        log = maker.Log(processors=numbers.choice((1, 2, 5)),
                        method=numbers.choice((0, 3)))
        schedule = maker.Schedule(log, numbers, THREADS, 5000)
        parts = log.parts()
        lost = {numbers.randrange(len(parts))
                for _ in range(numbers.randrange(1, 4))}
        flagged = set()
        if number % 3 == 0:
            flagged, lost = lost, set()
        cut = number % 3 == 1
        data = log.build(lost=lost, flagged=flagged,
                         cut=numbers.randrange(1, 9000) if cut else 0)
        found = Found(tool, path, data, THREADS)
        what = 'lost %d' % number
        results.equal(found.code, 0, what + ': is read')
        results.check(found.gaps, what + ': there are gaps')
        results.equal(found.log[10], int(cut), what + ': cut off')
        if lost and not cut:
            inside = lost - {len(parts) - 1, 0}
            results.check(found.log[9] <= len(lost) and
                          (found.log[9] or not inside),
                          what + ': numbers are missing')
        for thread in THREADS:
            wrong = compare(found.states(thread), truth(schedule, thread))
            results.check(not wrong, '%s: thread %d says what is not so' %
                          (what, thread), wrong[:3])
            unknown += sums(found.states(thread)).get('unknown', 0)
    results.check(unknown, 'control: something is unknown')


def compare(found, true):
    """The spans, known to begin and end, of which something else is true."""
    wrong, index = [], 0
    for span in found:
        if span[2] == 'unknown':
            continue
        while index < len(true) and true[index][1] <= span[0]:
            index += 1
        if index == len(true) or span[1] > true[index][1] or (
                span[2:4] != true[index][2:4]):
            wrong.append((span, true[index:index + 1]))
        elif span[4] is not None and span[4:] != true[index][4:]:
            wrong.append((span, true[index]))
    return wrong


def check_small(results, tool, path):
    """Logs of a few events, worked out by hand."""
    log = maker.Log(processors=2)
    log.switch(0, 2000, 0x1000, 0, maker.RUNNING)
    log.switch(0, 3000, 0, 0x1000, maker.WAITING, maker.REASON_DELAY)
    log.ready(1, 5000, 0x1000, 1)
    log.switch(1, 5500, 0x1000, 0x2000, maker.READY, 30)
    log.noise(0, 9000)
    found = Found(tool, path, log.build(), [0x1000, 0x2000])
    results.equal(found.states(0x1000), [
        (2000, 3000, 'running', 0, None, False),
        (3000, 5000, 'waiting', 4, None, True),
        (5000, 5500, 'ready', 0, None, False),
        (5500, 9000, 'running', 0, None, False)], 'by hand')
    results.equal(found.states(0x2000), [
        (5500, 9000, 'ready', 0, None, False)], 'nothing before the first')

    #
    # All at one time, on two processors, in the order of these.
    #

    log = maker.Log(processors=2)
    log.switch(1, 2000, 0x1000, 0, maker.RUNNING)
    log.switch(0, 3000, 0x1000, 0x3000, maker.WAITING, 6)
    log.ready(0, 3000, 0x1000, 0, 0x3000)
    log.switch(1, 3000, 0, 0x1000, maker.WAITING, 4)
    log.switch(0, 4000, 0x3000, 0x1000, maker.WAITING, 15)
    log.noise(1, 5000)
    found = Found(tool, path, log.build(), [0x1000])
    results.equal(found.states(0x1000), [
        (2000, 3000, 'running', 0, None, False),
        (3000, 4000, 'running', 0, None, False),
        (4000, 5000, 'waiting', 15, None, False)], 'at one time')
    results.equal(found.end[2], 0, 'at one time: no contradictions')

    #
    # Events that do not go together: what is between them is unknown.
    #

    log = maker.Log(processors=2)
    log.switch(0, 2000, 0x1000, 0, maker.RUNNING)
    log.switch(1, 3000, 0x1000, 0, maker.RUNNING)
    log.switch(1, 4000, 0, 0x1000, maker.TERMINATED)
    log.noise(1, 5000)
    found = Found(tool, path, log.build(), [0x1000])
    results.equal(found.states(0x1000), [
        (2000, 3000, 'unknown', 0, None, False),
        (3000, 4000, 'running', 0, None, False),
        (4000, 5000, 'unknown', 0, None, False)], 'contradictions')
    results.equal(found.end[2], 1, 'a contradiction is counted')

    #
    # Who made it ready, where buffers are not of one processor.
    #

    log = maker.Log(processors=1, mode=maker.MODE_SHARED)
    log.switch(0, 2000, 0x1000, 0x2000, maker.WAITING, 6)
    log.ready(0, 3000, 0x2000)
    log.noise(0, 4000)
    found = Found(tool, path, log.build(), [0x2000])
    results.equal(found.states(0x2000)[0],
                  (2000, 3000, 'waiting', 6, None, False), 'shared buffers')
    log.mode = 0
    found = Found(tool, path, log.build(), [0x2000])
    results.equal(found.states(0x2000)[0],
                  (2000, 3000, 'waiting', 6, 0x1000, False),
                  'control: buffers of processors')


def check_names(results, tool, path):
    """Names of processes: all versions, with a user or without."""
    for pointer in (4, 8):
        for header in ('system', 'full', 'event'):
            log = maker.Log(pointer=pointer, header=header)
            right = []
            for number, (version, user) in enumerate(
                    (version, user) for version in (2, 3, 4)
                    for user in (None, 0, 1, 5)):
                name = 'program%d.exe' % number
                log.named(number % 2, 2000 + number, 100 + number, name,
                          version, user)
                right.append((2000 + number, 100 + number, name))
            log.named(0, 3000, 7, 'x', 5)
            log.named(0, 3001, 8, '', 4)
            log.named(0, 3002, 9, 'y' * 99, 4)
            right.append((3002, 9, 'y' * 64))
            found = Found(tool, path, log.build(), [])
            results.equal(sorted(found.names), sorted(right),
                          'names: %d, %s' % (pointer, header))


def check_refused(results, tool, path):
    log = maker.Log()
    log.switch(0, 2000, 0x1000, 0, maker.RUNNING)
    good = log.build()
    for what, data, words in (
            ('nothing', b'', 'not an event trace log'),
            ('zeroes', bytes(9000), 'not an event trace log'),
            ('text', b'Hello, world. ' * 400, 'not an event trace log'),
            ('short', good[:300], 'not an event trace log'),
            ('system time', maker.Log(clock=2).build(), 'system times'),
            ('a clock', maker.Log(clock=7).build(), 'not known'),
            ('no rate', maker.Log(frequency=0).build(), 'rate')):
        found = Found(tool, path, data, [])
        results.check(found.code == 1 and words in found.text,
                      what + ': refused', [found.text])
    for method, words in ((2, 'LZNT1'), (4, 'Xpress Huffman'),
                          (9, 'not known')):
        log.method = method
        found = Found(tool, path, log.build(), [])
        results.check(found.code == 1 and words in found.text,
                      'method %d: refused' % method, [found.text])
    log.method = 0
    log.add(0, 2100, 0x0525, bytes(40))
    log.events[1].append((2200, struct.pack('<HBBHHQ', 0, 99, 0xC0, 16, 1, 9)))
    found = Found(tool, path, log.build(), [])
    results.equal(found.counts[5:7], [1, 1],
                  'compact switches, and what is no event, are counted')
    results.equal(found.code, 0, 'the others are read')


def check_compression(results, tool, folder):
    """The documented examples, and what the maker compresses."""
    source, target = (os.path.join(folder, name) for name in ('from', 'to'))

    def decode(data, size):
        with open(source, 'wb') as file:
            file.write(data)
        code = subprocess.run([tool, '--xpress', source, target, str(size)],
                              check=False).returncode
        with open(target, 'rb') as file:
            return None if code else file.read()

    alphabet = bytes(range(ord('a'), ord('z') + 1))
    results.equal(decode(b'\x3f\0\0\0' + alphabet, 26), alphabet,
                  '[MS-XCA] 3.1, the alphabet')
    results.equal(decode(bytes.fromhex('ffffff1f61626317000fff2601'), 300),
                  b'abc' * 100, '[MS-XCA] 3.1, abc')
    numbers = random.Random(5)
    for index in range(300):
        data = b''.join(
            numbers.choice((numbers.randbytes(numbers.randrange(1, 20)),
                            b'abcd' * numbers.randrange(1, 90),
                            bytes(numbers.choice((1, 9, 25, 30, 280, 70000)))))
            for _ in range(numbers.randrange(1, 12)))
        packed = maker.lz77(data)
        results.check(decode(packed, len(data)) == data,
                      'compressed %d: %d bytes' % (index, len(data)))
        if index < 60:
            changed = bytearray(packed)
            changed[numbers.randrange(len(changed))] ^= 1 << index % 8
            decode(bytes(changed), len(data))
    results.equal(decode(b'\xff\xff\xff\xff\x18\0', 10), None,
                  'a match before the first byte')
    results.equal(decode(b'\xff\xff\xff\x7fa\x07\0\x0f\xff\0\0\xff\xff\xff\xff',
                         100), None, 'a match beyond the end')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        tool = build_native(scratch)
        if tool is None:
            results.skip('there is no compiler for this machine')
            return results.finish()
        path = os.path.join(scratch, 'log.etl')
        check_small(results, tool, path)
        check_kinds(results, tool, path)
        check_lost(results, tool, path)
        check_names(results, tool, path)
        check_refused(results, tool, path)
        check_compression(results, tool, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TracerKd.dll over a kernel's memory: an image that was linked as a driver is,
and a section as the driver's library leaves it (Kernel/KernelFormat.h), both
written by this test into a dump.  What the commands say is what the test put
in; then the section is damaged.
"""

import csv
import io
import os
import random
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
import KdSupport as kd                                       # noqa: E402

BASE = 0xFFFFF80312340000
SECTION = 0xFFFFA80400000000
RINGS, RECORDS, SLOTS, OPEN_SLOTS = 3, 4096, 64, 32
FREQUENCY, RATE = 10000000, 3       # QPC; ticks of the counter for one of it
FUNCTIONS = ('ScannerPreCreate', 'ScannerCheck', 'ScannerAllocate')
THREADS = (0x1A4, 0x1A8, 0x2F00)

SOURCE = '''
%s void *TracerKernelHeader;
volatile int Sink;
void _penter(void) {}
void __return__(void) {}
__attribute__((noinline)) int ScannerAllocate(int X)
{ volatile char Frame[300]; Frame[X & 255] = 1; return Sink + Frame[3]; }
__attribute__((noinline)) int ScannerCheck(int X)
{ int Y = ScannerAllocate(X) + 1; return Y + ScannerAllocate(Y); }
__attribute__((noinline)) int ScannerPreCreate(int X)
{ return ScannerCheck(X) + 1; }
int DriverEntry(void *Driver, void *Path)
{ return ScannerPreCreate((int)(long long)Driver) +
         (TracerKernelHeader == Path); }
'''


class Image:
    """A driver's image as it lies in memory, and where its hooks are called."""

    def __init__(self, folder, name, declaration):
        source = os.path.join(folder, name + '.c')
        path = os.path.join(folder, name + '.sys')
        with open(source, 'w', encoding='ascii') as file:
            file.write(SOURCE % declaration)
        subprocess.run([programs.GCC, '-O2', '-pg', '-mfentry',
                        '-mfentry-name=_penter', '-minstrument-return=call',
                        '-fno-optimize-sibling-calls', '-fno-inline',
                        '-shared', '-nostdlib', '-Wl,-e,DriverEntry',
                        '-Wl,--exclude-all-symbols' if declaration == '' else
                        '-Wl,--subsystem,native', '-o', path, source],
                       check=True, stderr=subprocess.DEVNULL)
        with open(path, 'rb') as file:
            data = file.read()
        pe = struct.unpack_from('<I', data, 0x3C)[0]
        count, self.stamp = struct.unpack_from('<HI', data, pe + 6)
        optional = struct.unpack_from('<H', data, pe + 20)[0]
        self.base, = struct.unpack_from('<Q', data, pe + 24 + 24)
        self.size, headers = struct.unpack_from('<II', data, pe + 24 + 56)
        self.size = (self.size + 4095) & ~4095
        memory = bytearray(self.size)
        memory[:headers] = data[:headers]
        for index in range(count):
            at = pe + 24 + optional + 40 * index
            size, rva, raw_size, raw = struct.unpack_from('<IIII', data, at + 8)
            memory[rva:rva + min(size, raw_size)] = \
                data[raw:raw + min(size, raw_size)]
        self.memory = memory
        self.symbols = kd.read_symbols(path)
        code, text = programs.run([programs.NM, path])
        self.variable, = [int(line.split()[0], 16) - self.base
                          for line in text.splitlines()
                          if line.endswith(' TracerKernelHeader')]
        code, text = programs.run(['x86_64-w64-mingw32-objdump', '-d',
                                   '--no-show-raw-insn', path])
        self.sites, function, after = {}, None, None
        for line in text.splitlines():
            match = re.match(r'^\w+ <(\w+)>:$', line)
            if match:
                function, after = match[1], None
                continue
            match = re.match(r'^ *(\w+):\s+(.*)$', line)
            if not match:
                continue
            if after is not None:
                self.sites.setdefault((function, after),
                                      int(match[1], 16) - self.base)
                after = None
            if '<_penter>' in match[2]:
                after = 'enter'
            elif '<__return__>' in match[2]:
                after = 'exit'


class Section:
    """What the library writes while threads call, processors change."""

    def __init__(self, image, seed):
        self.image = image
        self.random = random.Random(seed)
        self.time = 1000000
        self.rings = [[] for _ in range(RINGS)]
        self.functions = [{} for _ in range(RINGS)]
        self.calls = {thread: [] for thread in THREADS}
        self.stacks = {thread: [] for thread in THREADS}

    def record(self, thread, site, stack, kind, ring, irql=None):
        self.time += self.random.randrange(20, 400)
        irql = (thread >> 2) % 2 if irql is None else irql
        self.rings[ring].append((self.time, BASE + site, stack | kind,
                                 thread >> 2 | irql << 28))
        return self.time

    def interrupt(self, thread, ring, irql, top):
        """A deferred call with a call in it, on a stack of its processor, in
        the context of a thread: its calls."""
        found = []
        for depth, name in enumerate(FUNCTIONS[1:]):
            call = kd.Call(0, name, depth)
            call.start = self.record(thread, self.image.sites[name, 'enter'],
                                     top - 0x1A0 * (depth + 1), 1, ring, irql)
            found.append(call)
        for call in reversed(found):
            end = self.record(thread, self.image.sites[call.name, 'exit'],
                              top - 0x1A0 * (call.depth + 1), 2, ring, irql)
            call.ticks = end - call.start
        return found

    def enter(self, thread, function):
        stack = self.stacks[thread]
        rsp = (stack[-1][1] if stack else
               0xFFFFFA8000100000 + thread * 0x10000) - 0x1A0
        ring = self.random.randrange(RINGS)
        call = kd.Call(0, function, len(stack))
        call.start = self.record(thread, self.image.sites[function, 'enter'],
                                 rsp, 1, ring)
        self.calls[thread].append(call)
        stack.append((call, rsp))

    def leave(self, thread):
        call, rsp = self.stacks[thread].pop()
        ring = self.random.randrange(RINGS)
        end = self.record(thread, self.image.sites[call.name, 'exit'], rsp, 2,
                          ring)
        call.ticks = end - call.start
        site = BASE + self.image.sites[call.name, 'enter']
        entry = self.functions[ring].setdefault(site, [0, 0, 1 << 64, 0])
        entry[0] += 1
        entry[1] += call.ticks
        entry[2] = min(entry[2], call.ticks)
        entry[3] = max(entry[3], call.ticks)

    def run(self, steps):
        for _ in range(steps):
            thread = self.random.choice(THREADS)
            if len(self.stacks[thread]) < 3 and self.random.random() < 0.52:
                self.enter(thread, FUNCTIONS[len(self.stacks[thread])])
            elif self.stacks[thread]:
                self.leave(thread)

    def text(self, module=b'\\SystemRoot\\System32\\drivers\\scanner.sys'):
        """The section's bytes."""
        rings_at = 4096
        records_at = rings_at + 128 * RINGS
        functions_at = records_at + 32 * RECORDS * RINGS
        open_at = functions_at + 64 * SLOTS * RINGS
        size = (open_at + 32 * OPEN_SLOTS + 4095) & ~4095
        data = bytearray(size)
        first, last = (1000000, 5000, 132000000000000000), \
            (1000000 + RATE * FREQUENCY, 5000 + FREQUENCY, 132000000010000000)
        struct.pack_into('<8sHHIQIIII', data, 0, b'TRCKERNL', 1, 0, 4096, size,
                         32, 1, 1, RINGS)
        struct.pack_into('<QQQQIIQQQ', data, 0x28, rings_at, records_at,
                         RECORDS, functions_at, SLOTS, OPEN_SLOTS, open_at,
                         SECTION, FREQUENCY)
        for at, anchor in ((0x70, first), (0x90, last)):
            struct.pack_into('<QQQQ', data, at, *anchor,
                             anchor[0] ^ anchor[1] ^ anchor[2])
        struct.pack_into('<QII', data, 0xB0, BASE, self.image.size,
                         self.image.stamp)
        struct.pack_into('<I', data, 0xE8, len(module))
        data[0x600:0x600 + len(module)] = module
        for ring, records in enumerate(self.rings):
            struct.pack_into('<QQQQQQQ', data, rings_at + 128 * ring,
                             len(records), 0, 0, ring, 0, 0, 0)
            for number, (time, site, stack, thread) in enumerate(records):
                struct.pack_into(
                    '<QQQII', data, records_at + 32 * (
                        RECORDS * ring + number % RECORDS), time, site, stack,
                    (number + 1) << 1 & 0xFFFFFFFF, thread)
            for slot, (site, entry) in enumerate(
                    sorted(self.functions[ring].items())):
                struct.pack_into('<QQQQQQ', data, functions_at + 64 * (
                    SLOTS * ring + (slot * 7 + ring) % SLOTS), site, *entry,
                                 entry[0])
        return data


def write(folder, image, data, name, with_symbol, pointer=SECTION):
    """(dump, symbols)"""
    memory = bytearray(image.memory)
    struct.pack_into('<Q', memory, image.variable, pointer)
    dump = os.path.join(folder, name + '.dmp')
    kd.write_dump(dump, {BASE: (bytes(memory), 0x1000000),
                         SECTION: (bytes(data), 0x20000)})
    symbols = os.path.join(folder, name + '.symbols')
    kd.write_symbols(symbols, 'scanner', BASE, image.size, image.symbols + (
        [(image.variable, 'TracerKernelHeader')] if with_symbol else []))
    return programs.windows_path(dump), symbols


def check_calls(results, answers, section, what):
    """The commands of COMMANDS."""
    statistics = {}
    for functions in section.functions:
        for site, (calls, ticks, least, most) in functions.items():
            name, = [name for (name, kind), rva in section.image.sites.items()
                     if rva + BASE == site and kind == 'enter']
            row = statistics.setdefault(name, [0, 0, 1 << 64, 0])
            row[0] += calls
            row[1] += ticks
            row[2] = min(row[2], least)
            row[3] = max(row[3], most)
    expected = ['Function,CallCount,CallTicks,TicksPerCall'] + [
        'scanner!%s,%d,%d,%d' % (name, row[0], row[1], row[1] // row[0])
        for name, row in sorted(statistics.items(),
                                key=lambda item: -item[1][1])]
    results.equal(answers[0].splitlines(), expected, '%s: !modulestats' % what)
    rows = {}
    for line in answers[1].splitlines()[1:]:
        words = line.split()
        rows[words[5].split('!')[1]] = [int(word) for word in words[:5]]
    results.equal(rows, {name: [row[0], row[1], row[1] // row[0], row[2],
                                row[3]] for name, row in statistics.items()},
                  '%s: !modulestats -t -k' % what)
    for index, thread in enumerate(THREADS):
        calls = section.calls[thread]
        end = max(max(call.start, call.start + (call.ticks or 0))
                  for call in calls)
        results.equal(kd.read_last(answers[2 + 2 * index]),
                      [call.key(end) for call in calls],
                      '%s: !lastcalls %x' % (what, thread))
        results.equal(kd.read_tree(answers[3 + 2 * index]),
                      kd.tree_of(calls, end),
                      '%s: !calltree %x' % (what, thread))
    lines = answers[8].splitlines()[1:]
    results.equal(len(lines), 25, '%s: records of a processor' % what)
    records = section.rings[1][-25:]
    results.equal(
        [line.split()[:4] for line in lines],
        [['%d' % (records[-1][0] - time), '%x' % ((word & 0xFFFFFFF) << 2),
          '%d' % (word >> 28), 'enter' if stack & 7 == 1 else 'leave']
         for time, _, stack, word in records],
        '%s: the records of a processor' % what)


def commands():
    found = ['modulestats scanner', 'modulestats -t -k scanner']
    for thread in THREADS:
        found += ['lastcalls -k -m scanner %x 5000' % thread,
                  'calltree -k -m scanner %x' % thread]
    return found + ['lastcalls -k -m scanner -p 1 * 25', 'tracer',
                    'tracer scanner', 'lastcalls']


def ask(host, dump, symbols, wanted, *options):
    return [answer for answer in host.commands('dump', dump, symbols, wanted,
                                               ['kernel', *options])]


def check_ways(results, folder, host, images):
    """The section is found by the export, by the symbol, by the variable."""
    for what, image, with_symbol in (
            ('by its export', images['export'], False),
            ('by its symbol', images['static'], True),
            ('by the variables', images['static'], False)):
        section = Section(image, 5)
        section.run(900)
        dump, symbols = write(folder, image, section.text(), 'ways',
                              with_symbol)
        answers = ask(host, dump, symbols, commands())
        for body, _, unknown, references, code in answers:
            results.equal((unknown, references, code), (0, 0, '00000000'),
                          '%s: methods, references, result' % what)
        texts = [answer[0] for answer in answers]
        check_calls(results, texts, section, what)
        for text in texts[9], texts[10]:
            results.check('scanner at %08x`%08x, recording' %
                          (BASE >> 32, BASE & 0xFFFFFFFF) in text and
                          '3 rings of 4096 records' in text and
                          '3 exits without an entry' in text,
                          '%s: !tracer' % what, [text])
        last = max((record for ring in section.rings for record in ring))
        results.check(texts[11].startswith('Thread %x' %
                                           ((last[3] & 0xFFFFFFF) << 2)),
                      '%s: the thread of the last record' % what, [texts[11]])
    # On a machine that runs no variable is followed that does not stand as the
    # library's does (TestDebuggerDriver has that).
    for image, with_symbol, found in (('export', False, True),
                                      ('static', True, True),
                                      ('static', False, False)):
        dump, symbols = write(folder, images[image], section.text(), 'ways',
                              with_symbol)
        text = ask(host, dump, symbols, ['tracer scanner'], 'connection')[0][0]
        results.equal(('3 rings' in text, 'is not traced' in text),
                      (found, not found), 'a machine that runs: %s' % image)
    dump, symbols = write(folder, images['export'], section.text(), 'ways',
                          False, 0)
    text = ask(host, dump, symbols, ['tracer scanner', 'tracer'])
    results.check('is not traced' in text[0][0], 'no section', [text[0][0]])
    results.check('# 0 of 1 modules' in text[1][0], 'no section of any',
                  [text[1][0]])


def check_wrapped(results, folder, host, image):
    """More records than the rings hold, and some not written."""
    section = Section(image, 9)
    section.run(14000)
    while not all(len(ring) > RECORDS for ring in section.rings):
        section.run(1000)
    data = section.text()
    gone = sum(len(ring) - RECORDS for ring in section.rings)
    dump, symbols = write(folder, image, data, 'wrapped', True)
    answers = ask(host, dump, symbols, commands())
    results.check('%d records overwritten' % gone in answers[9][0],
                  'records that are gone', [answers[9][0]])
    thread = THREADS[0]
    calls = section.calls[thread]
    end = max(call.start + (call.ticks or 0) for call in calls)
    found = kd.read_last(answers[2][0])
    results.check(len(found) > 500, 'calls of a full ring: %d' % len(found))
    results.equal(found[-300:], [call.key(end) for call in calls][-300:],
                  'the last calls of a full ring')

    # A record that was being written is not there; nor is one of an earlier
    # round of the ring.
    newest = max((ring[-1][0], index)
                 for index, ring in enumerate(section.rings))[1]
    number = len(section.rings[newest]) - 1
    at = 4096 + 128 * RINGS + 32 * (RECORDS * newest + number % RECORDS) + 24
    for value in ((number + 1) << 1 | 1, (number + 1 - RECORDS) << 1, 0):
        damaged = bytearray(data)
        struct.pack_into('<I', damaged, at, value & 0xFFFFFFFF)
        dump, symbols = write(folder, image, damaged, 'wrapped', True)
        text = ask(host, dump, symbols,
                   ['lastcalls -k -m scanner -p %d * 3' % newest])[0][0]
        results.equal(len(text.splitlines()), 3,
                      'a record with the number %x is left out' % value)


def parts(text):
    """The lines below each that names a thread or a processor."""
    found, lines = {}, None
    for line in text.splitlines():
        match = re.match(r'(Thread|Processor) (\w+)\b.*: scanner '
                         r'\(\d+ records', line)
        if match:
            lines = found.setdefault((match[1], match[2]), [])
        elif lines is not None:
            lines.append(line)
    return {key: '\n'.join(lines) for key, lines in found.items()}


def check_interrupts(results, folder, host, image):
    """Deferred calls in the midst of a thread's, on stacks that lie above its:
    they are the processors', and end none of the thread's calls."""
    section = Section(image, 13)
    section.run(300)
    thread = THREADS[0]
    while section.stacks[thread]:
        section.leave(thread)
    section.enter(thread, FUNCTIONS[0])
    section.enter(thread, FUNCTIONS[1])
    first = section.interrupt(thread, 1, 2, 0xFFFFF801A0000000)
    again = section.interrupt(thread, 1, 2, 0xFFFFF801A0000000)
    other = section.interrupt(thread, 2, 7, 0xFFFFF801B0000000)
    section.enter(thread, FUNCTIONS[2])
    section.leave(thread)
    section.leave(thread)
    dump, symbols = write(folder, image, section.text(), 'interrupts', True)
    name = '%x' % thread
    answers = ask(host, dump, symbols,
                  ['lastcalls -k -m scanner %s 5000' % name,
                   'calltree -k -m scanner %s' % name, 'calltree -k',
                   'lastcalls -k * 5000', 'calltree -k -m scanner *',
                   'lastcalls -m scanner 4444'])
    for body, _, unknown, references, code in answers:
        results.equal((unknown, references, code), (0, 0, '00000000'),
                      'interrupts: methods, references, result')
    answers = [answer[0] for answer in answers]
    end = section.time
    expected = {('Thread', name): section.calls[thread],
                ('Processor', '1'): first + again, ('Processor', '2'): other}
    for text, read, form, what in (
            (answers[0], kd.read_last,
             lambda calls, end: [call.key(end) for call in calls],
             '!lastcalls'),
            (answers[1], kd.read_tree, kd.tree_of, '!calltree'),
            (answers[2], kd.read_tree, kd.tree_of, '!calltree of the newest')):
        found = parts(text)
        results.equal(list(found), list(expected), 'interrupts: %s: whose' %
                      what)
        for key, calls in expected.items():
            last = end if key[0] == 'Thread' else \
                max(call.start + call.ticks for call in calls)
            results.equal(read(found.get(key, '')), form(calls, last),
                          'interrupts: %s of %s' % (what, key))
        results.check('in the context of thread ' + name in text,
                      'interrupts: %s: in whose context' % what, [text])
    for text, what in (answers[3], '!lastcalls *'), (answers[4], '!calltree *'):
        results.equal(sorted(parts(text)), sorted(
            [('Thread', '%x' % one) for one in THREADS] +
            [('Processor', '1'), ('Processor', '2')]), what)
        results.check('in the context' not in text, what + ': in any context',
                      [text])
    results.check('No record of thread 4444' in answers[5] and
                  not parts(answers[5]), 'a thread that has none',
                  [answers[5]])


def check_names(results, folder, host, image):
    """Names with what parts cells are one cell, and nothing that the target
    says begins a line."""
    section = Section(image, 17)
    section.run(300)
    module = b'\\SystemRoot\\System32\\drivers\\=sc\nan.sys'
    dump, _ = write(folder, image, section.text(module), 'names', True)
    plain = 'ScannerCheck'
    for name in plain, 'Pair<int,char>::Get', 'operator"_x', 'A;B':
        symbols = os.path.join(folder, 'names.symbols')
        kd.write_symbols(symbols, 'scanner', BASE, image.size,
                         [(rva, name if old == plain else old)
                          for rva, old in image.symbols] +
                         [(image.variable, 'TracerKernelHeader')])
        text = ask(host, dump, symbols, ['modulestats scanner'])[0][0]
        rows = list(csv.reader(io.StringIO(text)))
        results.equal({len(row) for row in rows}, {4},
                      '%s: cells of a row' % name)
        results.check('scanner!' + name in [row[0] for row in rows],
                      '%s: its row' % name, [text])
        results.equal('"' in text, name != plain, '%s: quotes' % name)
    kd.write_symbols(symbols, 'scanner', BASE, image.size,
                     [(image.variable, 'TracerKernelHeader')])
    text = ask(host, dump, symbols, ['modulestats scanner'])[0][0]
    rows = list(csv.reader(io.StringIO(text)))[1:]
    results.check(len(rows) == 3 and
                  all(row[0].startswith("'=sc?an!+0x") for row in rows),
                  'a module that could be a formula', [text])


def check_damage(results, folder, host, image):
    section = Section(image, 11)
    section.run(300)
    data = section.text()
    for at, form, value, message in (
            (0x08, 'H', 2, 'of a version'), (0x0C, 'I', 100, 'sizes'),
            (0x10, 'Q', 1 << 62, 'sizes'), (0x18, 'I', 16, 'sizes'),
            (0x24, 'I', 0, 'numbers'), (0x24, 'I', 0xFFFFFFFF, 'numbers'),
            (0x24, 'I', 4000, 'parts'), (0x28, 'Q', 8, 'parts'),
            (0x28, 'Q', (1 << 64) - 16, 'parts'), (0x30, 'Q', 1 << 40, 'parts'),
            (0x38, 'Q', 4095, 'numbers'), (0x38, 'Q', 1 << 60, 'numbers'),
            (0x38, 'Q', 1 << 24, 'parts'), (0x40, 'Q', 1 << 50, 'parts'),
            (0x48, 'I', 1 << 30, 'numbers'), (0x4C, 'I', 3, 'numbers'),
            (0x50, 'Q', 1 << 63, 'parts'), (0x58, 'Q', 0, 'another'),
            (0xB0, 'Q', BASE + 4096, 'another')):
        damaged = bytearray(data)
        struct.pack_into('<' + form, damaged, at, value)
        dump, symbols = write(folder, image, damaged, 'damaged', True)
        for body, _, unknown, references, code in ask(
                host, dump, symbols, ['modulestats scanner',
                                      'lastcalls -m scanner *', 'tracer']):
            results.check(message in body and code == '00000000' and
                          (unknown, references) == (0, 0),
                          'field 0x%x is 0x%x' % (at, value), [body])

    # Parts that are not in the dump.
    dump, symbols = write(folder, image, data, 'damaged', True)
    whole = [answer[0] for answer in ask(host, dump, symbols, commands())]
    functions = SECTION + 4096 + 128 * RINGS + 32 * RECORDS * RINGS
    answers = ask(host, dump, symbols, commands(),
                  'hole=%x,1000' % (functions + 64 * SLOTS))
    results.check('not in memory that can be read' in answers[0][0] and
                  answers[0][0] != whole[0], 'a table is not there',
                  [answers[0][0]])
    answers = ask(host, dump, symbols, commands(),
                  'hole=%x,100000' % (SECTION + 0x1800))
    results.check('No record is in memory' in answers[11][0] or
                  'not in memory' in answers[2][0], 'records are not there',
                  [answers[2][0]])
    answers = ask(host, dump, symbols, ['tracer'], 'hole=%x,1000' % SECTION)
    results.check('# 0 of 1' in answers[0][0], 'the header is not there',
                  [answers[0][0]])
    answers = ask(host, dump, symbols, ['tracer'],
                  'hole=%x,80' % (SECTION + 0x900))
    results.check('not in memory as a whole' in answers[0][0],
                  'half a header', [answers[0][0]])
    code, text = host.run('memory', dump, programs.windows_path(symbols),
                          'kernel', *commands())
    results.check(code == 0 and '=== 0 failures' in text,
                  'no memory: exit code %s: %s' % (code, text))
    rounds = 2000 if programs.LONG else 100
    code, text = host.run('fuzz', dump, programs.windows_path(symbols), rounds,
                          3, 'kernel', *commands())
    results.check(code == 0 and '%d rounds, 0 failures, 0 unknown' % rounds in
                  text, 'damaged memory: exit code %s: %s' %
                  (code, text[-300:]))


def main():
    results = programs.Results()
    with programs.Scratch() as folder:
        host = kd.Host(kd.build_host(folder))
        images = {'export': Image(folder, 'scanner',
                                  '__declspec(dllexport)'),
                  'static': Image(folder, 'other', '')}
        check_ways(results, folder, host, images)
        check_wrapped(results, folder, host, images['static'])
        check_interrupts(results, folder, host, images['static'])
        check_names(results, folder, host, images['static'])
        check_damage(results, folder, host, images['export'])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

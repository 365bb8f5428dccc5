#!/usr/bin/env python3
"""Runs what BenchHooks.sh has built, and prints the tables.

    BenchHooks.py [--write FILE]

BenchHooks.sh says what is measured and which variables set its sizes.
"""

import argparse
import glob
import json
import os
import platform
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.abspath(os.environ.get('TRACER_BIN') or
                      os.path.join(ROOT, 'x64', 'Release'))
WINE = (os.environ.get('TRACER_WINE') or
        os.path.join(ROOT, 'Build', 'RunWine.sh'))
WORK = os.path.join(ROOT, 'x64', 'Bench', 'Hooks')
SESSION = os.path.join(WORK, 'session')
HEADING = '## Tables'
BEGIN = '<!-- make bench: tables begin -->'
END = '<!-- make bench: tables end -->'
LIMIT = 600                      # seconds, of any program
IDLE = 0.15                      # of one processor: a machine without other
                                 # work
LOOK = 3                         # seconds, for how busy the machine is
MEBIBYTE = 1 << 20
WARM = 2816 * MEBIBYTE

# The kernel tells the host which free pages it may take back, those of this
# order (power of two) and above; of the highest order and above there are none.
REPORTING = '/sys/module/page_reporting/parameters/page_reporting_order'
NO_REPORTING = '11'

ROUNDS = int(os.environ.get('ROUNDS') or 15)
LEAF_CALLS = int(os.environ.get('LEAF_CALLS') or 1 << 26)
FIB_DEPTH = int(os.environ.get('FIB_DEPTH') or 37)
THREAD_CALLS = int(os.environ.get('THREAD_CALLS') or 1 << 25)
SINGLE_CALLS = int(os.environ.get('SINGLE_CALLS') or 1 << 24)

TRIAL_CALLS = 200000

# TraceFormat.h: offsets in a store's header, and values there.
MAGIC = b'TRCSTORE'
CLOCK_OFFSET = 0x3c
CLOCKS = {'tsc': 0, 'thread': 1, 'none': 2}

SLOW = (('10 us', 1e4), ('100 us', 1e5), ('1 ms', 1e6))
QUANTILES = (('median', 0.5), ('99 %', 0.99), ('99.9 %', 0.999),
             ('99.99 %', 0.9999))


class Failed(Exception):
    """A figure that would not be what its name says; the text says why."""


class Variant:
    """A way to build and to run the programs."""

    def __init__(self, name, meaning, build=None, records=False, clock='tsc',
                 most_bytes=None, **environment):
        self.name = name
        self.meaning = meaning
        self.build = build or name
        self.records = records
        self.clock = clock
        self.most_bytes = most_bytes
        self.environment = environment
        self.supported = True


BARE = Variant('bare', 'not instrumented')
EMPTY = Variant('empty', 'TracerPenterNull.lib')
FILTERED = Variant('filtered', 'left out by TRACER_MODULES', 'traced',
                   TRACER_MODULES='-hook')
STOPPED = Variant('stopped', 'after TRACER_MAX_BYTES, counted', 'traced', True,
                  most_bytes=2 * MEBIBYTE, TRACER_MODE='file',
                  TRACER_MAX_BYTES=str(MEBIBYTE))
FLOOR = Variant('floor', 'two rdtsc and nothing else')
TRACED = Variant('traced', 'every record to a file', 'traced', True,
                 TRACER_MODE='file')
COMPACT = Variant('compact', 'every record, TRACER_MODE=compact', 'traced',
                  True, TRACER_MODE='compact')
THREAD = Variant('clock thread', 'traced, TRACER_CLOCK=thread', 'traced', True,
                 'thread', TRACER_MODE='file', TRACER_CLOCK='thread')
NONE = Variant('clock none', 'traced, TRACER_CLOCK=none', 'traced', True,
               'none', TRACER_MODE='file', TRACER_CLOCK='none')
VARIANTS = [BARE, EMPTY, FILTERED, STOPPED, FLOOR, TRACED, COMPACT,
            THREAD, NONE]
RECORDING = [FLOOR, TRACED, COMPACT]
SINGLE = [BARE] + RECORDING


class Work:
    """What a program is told to do, and how many calls that makes."""

    def __init__(self, name, program, arguments, calls):
        self.name = name
        self.program = program
        self.arguments = [str(argument) for argument in arguments]
        self.calls = calls


def fibonacci_calls(depth):
    """fib(n) makes 2 fib(n + 1) - 1 calls."""
    previous, value = 0, 1
    for _ in range(depth):
        previous, value = value, previous + value
    return 2 * value - 1


LEAF = Work('leaf', 'HookCost', [LEAF_CALLS, 0], LEAF_CALLS)
FIB = Work('fib', 'HookCost', [0, FIB_DEPTH], fibonacci_calls(FIB_DEPTH))
LOOP_2 = Work('two threads', 'HookPairs', ['loop', 2, THREAD_CALLS],
              2 * THREAD_CALLS)
SINGLE_1 = Work('single, one thread', 'HookPairs',
                ['single', 1, SINGLE_CALLS], SINGLE_CALLS)
SINGLE_2 = Work('single, two threads', 'HookPairs',
                ['single', 2, SINGLE_CALLS // 2], SINGLE_CALLS // 2 * 2)
TRIAL = Work('trial', 'HookCost', [TRIAL_CALLS, 0], TRIAL_CALLS)


def say(text):
    print('BenchHooks: ' + text, file=sys.stderr, flush=True)


def windows_path(path):
    return 'Z:' + path.replace('/', '\\')


def run(command, environment=None):
    """Runs a command to its end; returns its output."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=LIMIT,
                          env=environment, check=False)
    if done.returncode != 0:
        raise Failed('%s: exit code %d' % (' '.join(command),
                                           done.returncode))
    return done.stdout.decode('utf-8', 'replace').replace('\r\n', '\n')


class Warm:
    """The memory that is kept warm, or nothing if that is not wanted.

    Where the kernel can be kept from giving free memory back to the host, it is
    touched before each run and set free.  Elsewhere the program that has
    touched it gives it back during the run, at the pace at which it is used.
    """

    def __init__(self):
        self.process = None
        self.times = []              # (MiB, mean, least, most)
        self.size = 0
        self.reporting = None        # as it was before
        if os.environ.get('WARM') == '0':
            return
        with open('/proc/meminfo', encoding='ascii') as file:
            available = re.search(r'MemAvailable: *(\d+)', file.read())
        self.size = min(WARM, int(available.group(1)) * 1024 // 2) // MEBIBYTE
        try:
            with open(REPORTING, 'r+', encoding='ascii') as file:
                before = file.read().strip()
                file.write(NO_REPORTING)
            self.reporting = before
        except OSError:
            pass

    def tell(self, word):
        self.process.stdin.write(word + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Failed('warm: has ended')
        return answer

    def take(self):
        if not self.size:
            return
        if self.process is None:
            self.process = subprocess.Popen(
                [os.path.join(WORK, 'warm'), str(self.size)], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer = self.tell('take').split()
        if answer[0] != '0':
            self.times.append(tuple(int(number) for number in answer))

    def give(self):
        if self.reporting is not None:
            self.stop()
        elif self.process is not None:
            self.tell('give')

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def end(self):
        self.stop()
        if self.reporting is not None:
            with open(REPORTING, 'w', encoding='ascii') as file:
                file.write(self.reporting)


class Store:
    """What of a store's header is looked at, without TraceReader."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            header = file.read(4096)
        if not header.startswith(MAGIC) or len(header) != 4096:
            raise Failed('%s: not a store' % path)
        self.clock, = struct.unpack_from('<I', header, CLOCK_OFFSET)


class Run:
    """One run of a program: what it printed, and what it left."""

    records_of_a_line = 0

    def __init__(self, variant, work, warm):
        self.variant = variant
        self.work = work
        self.info = {}
        if variant.records:
            warm.take()
        os.sync()
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith('TRACER_') or
                       name == 'TRACER_WINE_PREFIX'}
        environment['TRACER_DIRECTORY'] = windows_path(SESSION)
        environment.update(variant.environment)
        if variant.records:
            warm.give()
        try:
            self.output = run([WINE, self.program_path()] + work.arguments,
                              environment)
            if variant.build == 'traced':
                self.look()
        finally:
            shutil.rmtree(SESSION, ignore_errors=True)

        self.costs = [float(line.split()[-1])
                      for line in self.output.splitlines()
                      if line.split()[0] in ('leaf', 'fib', 'thread')]
        if not self.costs:
            raise Failed('%s: printed no figure' % work.program)
        self.cost = statistics.mean(self.costs)

    def program_path(self):
        return os.path.join(WORK, '%s-%s.exe' % (self.work.program,
                                                 self.variant.build))

    def fail(self, text):
        raise Failed('%s, %s: %s' % (self.variant.name, self.work.name, text))

    def look(self):
        """Checks that what was asked for is what happened."""
        folders = glob.glob(os.path.join(SESSION, '*'))
        paths = glob.glob(os.path.join(SESSION, '*', '*.trace'))
        size = sum(os.path.getsize(path) for path in paths)
        if not self.variant.records:
            if paths:
                self.fail('there are records')
            return
        if len(folders) != 1 or not paths:
            self.fail('no session')

        text = json.loads(run([WINE, os.path.join(BIN, 'TraceReader.exe'),
                               'info', '--json', windows_path(folders[0])]))
        for name in ('session', 'recording'):
            self.info.update((text.get(name) or [{}])[0])

        # The C runtime's headers may make printf a function of the program,
        # which is instrumented then; it is called once for each line.  The
        # trials, which come first, show whether they do.
        records = self.info['records'] + self.info['lost_after_stop']
        more = records - 2 * self.work.calls
        lines = len(self.output.splitlines())
        if self.work is TRIAL and more in (0, 2 * lines):
            Run.records_of_a_line = more // lines
        if more != Run.records_of_a_line * lines:
            self.fail('%d records for %d calls' % (records, self.work.calls))

        if {Store(path).clock for path in paths} != {
                CLOCKS[self.variant.clock]}:
            raise NotSupported('%s: another clock' % self.variant.name)
        if self.variant.most_bytes is None:
            if self.info['lost_after_stop']:
                self.fail('records were lost')
        elif size >= self.variant.most_bytes:
            raise NotSupported('%s: %d bytes' % (self.variant.name, size))


class NotSupported(Failed):
    """The library does not do what the variant asks for."""


class Distribution:
    """The single calls of all rounds."""

    def __init__(self, runs):
        self.pairs = 0
        self.buckets = {}
        self.worst = 0
        self.firsts = []
        self.loops = [run.cost for run in runs]
        rates = []
        steps = []
        for one in runs:
            for line in one.output.splitlines():
                word, *numbers = line.split()
                numbers = [float(number) for number in numbers]
                if word == 'clock':
                    rates.append(numbers[0])
                    steps.append(numbers[1])
                elif word == 'first':
                    self.firsts.append(numbers[0])
                elif word == 'worst':
                    self.worst = max(self.worst, numbers[0])
                elif word == 'bucket':
                    self.pairs += int(numbers[1])
                    self.buckets[numbers[0]] = (
                        self.buckets.get(numbers[0], 0) + int(numbers[1]))
        rate = statistics.median(rates)
        self.nanoseconds = 1e9 / rate
        self.step = statistics.median_low(steps) * self.nanoseconds
        self.worst *= self.nanoseconds
        self.first = statistics.median(self.firsts) * self.nanoseconds

    def quantile(self, part):
        """The cost that this part of the calls does not exceed."""
        count = 0
        for ticks, number in sorted(self.buckets.items()):
            count += number
            if count >= part * self.pairs:
                return ticks * self.nanoseconds
        return self.worst

    def above(self, limit):
        """How many calls took that long, and how long together."""
        count = time_of_all = 0
        for ticks, number in self.buckets.items():
            # The middle of the bucket, which is a 64th wide.
            cost = ticks * (1 + 1 / 128) * self.nanoseconds
            if cost >= limit:
                count += number
                time_of_all += number * min(cost, self.worst)
        return count, time_of_all


class Table:
    """A table; the columns that are words are named by their numbers."""

    def __init__(self, title, header, rows, words=(0,)):
        self.title = title
        self.words = words
        self.rows = [[str(cell) for cell in row] for row in [header] + rows]
        self.widths = [max(len(row[column]) for row in self.rows)
                       for column in range(len(header))]

    def cells(self, row):
        return [cell.ljust(width) if column in self.words
                else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, self.widths))]

    def plain(self):
        return ([self.title, ''] +
                ['  '.join(self.cells(row)).rstrip() for row in self.rows] +
                [''])

    def markdown(self):
        lines = ['| %s |' % ' | '.join(self.cells(row)) for row in self.rows]
        rule = ['-' * width if column in self.words
                else '-' * (width - 1) + ':'
                for column, width in enumerate(self.widths)]
        lines.insert(1, '| %s |' % ' | '.join(rule))
        return ['### ' + self.title, ''] + lines + ['']


def spread(figures, form):
    """Median, best and worst."""
    if not figures:
        return ['not supported', '', '']
    return [form % statistics.median(figures), form % min(figures),
            form % max(figures)]


def readable(nanoseconds):
    for unit, size in (('s', 1e9), ('ms', 1e6), ('us', 1e3)):
        if nanoseconds >= size:
            return '%.2f %s' % (nanoseconds / size, unit)
    return '%.0f ns' % nanoseconds


def busy_processors():
    """How many processors other programs use at the moment."""
    def read():
        with open('/proc/stat', encoding='ascii') as file:
            ticks = list(map(int, file.readline().split()[1:9]))
        return sum(ticks), ticks[3] + ticks[4]      # idle, waiting for a disk

    before = read()
    time.sleep(LOOK)
    after = read()
    total = after[0] - before[0]
    return (1 - (after[1] - before[1]) / max(total, 1)) * os.cpu_count()


def processor_ticks():
    """All of the processors' time, and what the host has stolen of it."""
    with open('/proc/stat', encoding='ascii') as file:
        numbers = [int(number) for number in file.readline().split()[1:9]]
    return sum(numbers), numbers[7]


def describe_machine():
    model = ''
    flags = []
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        for line in file:
            key, _, value = line.partition(':')
            if key.strip() == 'model name':
                model = value.strip()
            elif key.strip() == 'flags':
                flags = value.split()
    with open('/proc/meminfo', encoding='ascii') as file:
        memory = int(file.readline().split()[1]) / 1024 / 1024
    kind = run(['stat', '-f', '-c', '%T', WORK]).strip()
    place = run(['findmnt', '-n', '-o', 'FSTYPE', '-T', WORK]).strip() \
        if shutil.which('findmnt') else kind
    compiler = run(['x86_64-w64-mingw32-gcc', '-dumpfullversion']).strip()
    return '%s, %d processors%s, %.0f GiB; Linux %s; files on %s; %s; ' \
        'MinGW gcc %s' % (
            model, os.cpu_count(),
            ' (virtual machine)' if 'hypervisor' in flags else '', memory,
            platform.release(), place or kind,
            run([WINE, '--version']).strip(), compiler)


class Bench:
    """All runs, and the tables made of them."""

    def __init__(self):
        self.runs = {}
        self.start = time.monotonic()
        self.busy = busy_processors()
        self.ticks = processor_ticks()
        self.processors = len(os.sched_getaffinity(0))
        self.warm = Warm()

    def measure(self):
        for variant in VARIANTS:
            try:
                Run(variant, TRIAL, self.warm)
            except NotSupported as error:
                variant.supported = False
                say('not supported: %s' % error)

        jobs = [(variant, work) for work in (LEAF, FIB)
                for variant in VARIANTS]
        if self.processors >= 2:
            jobs += [(variant, LOOP_2) for variant in RECORDING]
        jobs += [(variant, SINGLE_1) for variant in SINGLE]
        if self.processors >= 2:
            jobs += [(variant, SINGLE_2) for variant in SINGLE]
        jobs = [job for job in jobs if job[0].supported]

        for number in range(ROUNDS):
            say('round %d of %d' % (number + 1, ROUNDS))

            # There and back, so that no variant is always behind the same.
            for variant, work in jobs if number % 2 == 0 else jobs[::-1]:
                one = Run(variant, work, self.warm)
                self.runs.setdefault((variant, work), []).append(one)

    def costs(self, variant, work):
        return [one.cost for one in self.runs.get((variant, work), [])]

    def ratios(self, above, below, work, below_work=None):
        """Of the runs of the same round."""
        return [one / other for one, other in zip(
            self.costs(above, work), self.costs(below, below_work or work))]

    def cost_table(self):
        return Table(
            'One thread: nanoseconds per call',
            ['', 'leaf', 'best', 'worst', 'fib', 'best', 'worst', ''],
            [[variant.name] + spread(self.costs(variant, LEAF), '%.2f') +
             spread(self.costs(variant, FIB), '%.2f') + [variant.meaning]
             for variant in VARIANTS], (0, 7))

    def ratio_table(self):
        rows = []
        for above, below in ((TRACED, FLOOR), (COMPACT, FLOOR),
                             (FILTERED, EMPTY),
                             (STOPPED, EMPTY), (THREAD, FLOOR),
                             (NONE, FLOOR)):
            rows.append(['%s / %s' % (above.name, below.name)] +
                        spread(self.ratios(above, below, LEAF), '%.3f') +
                        spread(self.ratios(above, below, FIB), '%.3f'))
        return Table('One thread: ratios of the runs of a round',
                     ['', 'leaf', 'best', 'worst', 'fib', 'best', 'worst'],
                     rows)

    def threads_table(self):
        rows = []
        for variant in RECORDING:
            costs = [cost for one in self.runs[variant, LOOP_2]
                     for cost in one.costs]
            rows.append([variant.name + ', ns per call'] +
                        spread(costs, '%.2f'))
        for variant in RECORDING[1:]:
            rows.append([variant.name + ' / floor'] + spread(
                self.ratios(variant, FLOOR, LOOP_2), '%.3f'))
        for variant in RECORDING:
            rows.append(['%s: two threads / one' % variant.name] + spread(
                self.ratios(variant, variant, LOOP_2, LEAF), '%.3f'))
        return Table('Two threads on two processors, leaf: each thread',
                     ['', 'median', 'best', 'worst'], rows)

    def single_tables(self):
        names = []
        distributions = []
        for work, threads in ((SINGLE_1, 'one thread'),
                              (SINGLE_2, 'two threads')):
            for variant in SINGLE:
                if (variant, work) in self.runs:
                    names.append('%s, %s' % (variant.name, threads))
                    distributions.append(
                        Distribution(self.runs[variant, work]))

        costs = Table(
            'Single calls, ns, with what it costs to time them',
            ['', *(name for name, _ in QUANTILES), 'worst', 'first call',
             'loop'],
            [[name, *('%.0f' % one.quantile(part) for _, part in QUANTILES),
              readable(one.worst), readable(one.first),
              '%.1f' % statistics.median(one.loops)]
             for name, one in zip(names, distributions)])

        rows = []
        for name, one in zip(names, distributions):
            row = [name, '%.1f' % (one.pairs / 1e6)]
            for _, limit in SLOW:
                count, time_of_all = one.above(limit)
                row += [count, '%.2f' % (time_of_all / 1e6)]
            row.append('%.2f' % (one.above(SLOW[0][1])[1] / one.pairs))
            rows.append(row)
        header = ['', 'million calls']
        for name, _ in SLOW:
            header += ['>= ' + name, 'ms']
        slow = Table('Single calls that took long: how many, and how long '
                     'together', header + ['ns per call'], rows)

        timing = statistics.median(
            self.costs(BARE, SINGLE_1)) - statistics.median(
            self.costs(BARE, LEAF))
        note = ['The counter counts in steps of %.1f ns here. The two rdtsc '
                'around a call and the' % distributions[0].step,
                'histogram add %.1f ns to a call that is not instrumented '
                '(loop, less bare leaf).' % timing,
                'Interrupts and the machine\'s other work are in all rows: '
                'the difference to the',
                'floor\'s is the tracer\'s.', '']
        return [costs, slow], note

    def waits_table(self):
        """How the traced thread got on with its pages."""
        rows = []
        for variant, work in self.runs:
            if not variant.records or variant is STOPPED:
                continue
            infos = [one.info for one in self.runs[variant, work]]

            def column(name, form, infos=infos):
                figures = [info.get(name) for info in infos]
                if None in figures:
                    return 'not shown'
                return form(statistics.median(figures))

            # Each thread's time is in the sums.
            long = 0
            for one in self.runs[variant, work]:
                wait = one.info.get('wait_ns',
                                    one.info.get('inline_wait_ns') or 0)
                long += wait >= 0.05 * one.cost * one.work.calls
            rows.append([
                '%s, %s' % (variant.name, work.name),
                column('view_changes', lambda figure: '%.0f' % figure),
                column('inline_wait_ns', readable),
                column('longest_inline_wait_ns', readable),
                column('waits', lambda figure: '%.0f' % figure),
                column('wait_ns', readable),
                column('longest_wait_ns', readable),
                '%d of %d' % (long, len(infos))])
        return Table('Waits of the traced threads, as TraceReader info has '
                     'them: medians',
                     ['', 'views', 'slow path', 'longest', 'waits',
                      'together', 'longest', 'over 5 %'], rows)

    def machine(self):
        total, stolen = processor_ticks()
        total -= self.ticks[0]
        stolen -= self.ticks[1]
        lines = [
            describe_machine(),
            '%.2f processors busy before; %.2f %% of the processors\' time '
            'stolen by the host' % (
                self.busy, 100 * stolen / max(total, 1)),
            '%d rounds in %.1f minutes; calls a run: leaf %s, fib(%d) %s, '
            'two threads %s each, single %s' % (
                ROUNDS, (time.monotonic() - self.start) / 60,
                format(LEAF_CALLS, ','), FIB_DEPTH, format(FIB.calls, ','),
                format(THREAD_CALLS, ','), format(SINGLE_CALLS, ',')),
        ]
        if self.warm.size:
            pages = sum(one[0] for one in self.warm.times)
            mean = sum(one[0] * one[1] for one in self.warm.times)
            lines.append(
                'memory kept warm%s: %d MiB; its first touches took %.0f ns '
                'per 4 KiB, at best %d, at worst %d' % (
                    '' if self.warm.reporting is None else
                    ', no free memory reported to the host',
                    self.warm.size, mean / max(pages, 1),
                    min(one[2] for one in self.warm.times),
                    max(one[3] for one in self.warm.times)))
        else:
            lines.append('memory not kept warm')
        if 'waits' not in self.runs[TRACED, LEAF][0].info:
            lines.append('TraceReader info does not show waits; the last '
                         'column of the waits goes by the slow path')
        if self.busy > IDLE:
            lines.append('**the machine had other work: the figures are '
                         'worth little**')
        left_out = [variant.name for variant in VARIANTS
                    if not variant.supported]
        if self.processors < 2:
            left_out.append('two threads (one processor)')
        lines.append('not supported: ' + (', '.join(left_out) or 'none'))
        return lines

    def tables(self, markdown):
        lines = []
        for line in self.machine():
            lines.append('- ' + line)
        lines.append('')
        tables = [self.cost_table(), self.ratio_table()]
        if (FLOOR, LOOP_2) in self.runs:
            tables.append(self.threads_table())
        single, note = self.single_tables()
        for table in tables + single:
            lines += table.markdown() if markdown else table.plain()
        lines += note
        table = self.waits_table()
        lines += table.markdown() if markdown else table.plain()
        return lines


def put_into(path, lines):
    """Puts lines between the two marks, which are made if they are not."""
    try:
        with open(path, encoding='utf-8') as file:
            text = file.read()
    except FileNotFoundError:
        text = '# Figures: what the hooks cost\n'
    if BEGIN not in text or END not in text:
        text = '\n\n'.join([text.rstrip('\n'), HEADING, BEGIN + '\n' + END])
        text += '\n'
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join([before + BEGIN, ''] + lines + [END + after]))


def main():
    parser = argparse.ArgumentParser(
        description='Measures what the hooks cost.')
    parser.add_argument('--write', metavar='FILE',
                        default=os.environ.get('PERFORMANCE'))
    options = parser.parse_args()

    bench = Bench()
    try:
        bench.measure()
    except Failed as error:
        say(str(error))
        return 1
    finally:
        bench.warm.end()
        shutil.rmtree(SESSION, ignore_errors=True)
    print('What the hooks cost, %s' % time.strftime('%Y-%m-%d'))
    print()
    print('\n'.join(bench.tables(False)))
    if options.write:
        put_into(options.write,
                 ['Written by `make bench '
                  'PERFORMANCE=Docs/figures/Hooks.md` on %s.' %
                  time.strftime('%Y-%m-%d'), ''] + bench.tables(True))
    return 0


if __name__ == '__main__':
    sys.exit(main())

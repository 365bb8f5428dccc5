#!/usr/bin/env python3
"""TraceReader collect, on rings that a program fills as a traced driver does.

Tests/Programs/Kernel/KernelRings.c writes the records that it is told to, so that what
ran where, at which IRQL and on which stack is known here, call by call.
"""
# Takes long.

import collections
import csv
import glob
import io
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestLivePty as live                                   # noqa: E402
import WatchSupport as watch                                 # noqa: E402
import trace_reader                                          # noqa: E402
from TestBadInput import mounted                             # noqa: E402
from StoreSupport import programs                            # noqa: E402

ENTER, EXIT = 1, 2
PASSIVE, APC, DISPATCH, DEVICE = 0, 1, 2, 7
HEADER, RING = 4096, 128
STATE, PAUSED, UNLOADED = 0x20, 2, 3

# Where the stacks of threads and processors are; 16 MiB apart.
THREADS = 0xFFFFF80012345000
DPC = 0xFFFFF801A0000000
ISR = 0xFFFFF801B0000000
NUMBERS = itertools.count(os.getpid() * 1000)


class Driver:
    """A program that plays a driver."""

    def __init__(self, program, rings=2, records=1024, opened=64):
        self.name = 'test%d' % next(NUMBERS)
        self.rings, self.records, self.opened = rings, records, opened
        self.errors = open(os.devnull, 'wb')
        self.process = subprocess.Popen(
            [programs.WINE, program, self.name, str(rings), str(records),
             str(opened)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors)
        self.ready = self.process.stdout.readline().decode().split()
        self.expected = collections.Counter()   # (owner, path): calls
        self.open = collections.defaultdict(list)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        watch.wait(self.process)
        self.process.stdout.close()
        self.errors.close()

    def tell(self, *words):
        self.process.stdin.write((' '.join(map(str, words)) + '\n').encode())
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def record(self, ring, thread, irql, kind, function, stack):
        return int(self.tell('record', ring, thread, irql, kind, function,
                             stack))

    def enter(self, ring, thread, irql, function, stack, owner=None,
              context=''):
        """A call, which is shown as of owner (the thread) and as called by what
        is open of that in the same context."""
        owner = thread if owner is None else owner
        path = self.open[owner, context]
        path.append(function)
        self.expected[owner, tuple(path)] += 1
        return self.record(ring, thread, irql, ENTER, function, stack)

    def leave(self, ring, thread, irql, function, stack, owner=None,
              context=''):
        owner = thread if owner is None else owner
        assert self.open[owner, context].pop() == function
        return self.record(ring, thread, irql, EXIT, function, stack)

    def unload(self):
        self.tell('poke', STATE, 4, UNLOADED)


class Terminal(live.Terminal):
    COMMAND = ('collect',)


def processor(ring):
    """The thread identifier of a processor's store."""
    return 4 * ring + 1


def collect(driver, output, *arguments):
    return support.reader('collect', driver.name, '-o',
                          programs.windows_path(output), *arguments)


def start_collecting(driver, output, *arguments):
    return support.start(programs.READER, 'collect', driver.name, '-o',
                         programs.windows_path(output), *arguments)


def read_rows(results, session, command, *arguments):
    code, text, errors = support.reader(command, '--csv', *arguments,
                                        programs.windows_path(session))
    results.equal(code, 0, '%s %s' % (command, errors))
    return list(csv.DictReader(io.StringIO(text)))


def replayed(results, session):
    """(owner, path): calls, by replay; and how many were abandoned."""
    found, ends = collections.Counter(), collections.Counter()
    stacks = collections.defaultdict(list)
    for row in read_rows(results, session, 'replay'):
        key = int(row['thread_id']), row['fiber']
        path = stacks[key]
        if row['event'] == 'enter':
            del path[int(row['depth']):]
            path.append(int(row['function'][-1]))
            found[key[0], tuple(path)] += 1
        else:
            ends[row['event']] += 1
    return found, ends


def second_reader(session):
    """The same by the reader that was written from the document, with the
    number of records and what headers say was lost."""
    found, records, lost = collections.Counter(), 0, 0
    for path in support.stores(session):
        store = trace_reader.Store(path)
        seen, functions = calls.Watch(store.ThreadId), {}
        trace_reader.pair(store, functions, None, seen)
        order = {id(function): rva for rva, function in functions.items()}
        for call in seen.calls:
            found[store.ThreadId, tuple(order[one] for one in call.path)] += 1
        records += sum(1 for _ in store.records())
        lost += store.NumberOfEventsLost
    return found, records, lost


def check_calls(results, session, driver, text):
    """All readers see the calls that the driver made."""
    found, ends = replayed(results, session)
    results.equal(found, driver.expected, '%s: replay' % text)
    second, records, lost = second_reader(session)
    places = sorted({path[-1] for _, path in second})
    shapes = collections.Counter(
        {(owner, tuple(places.index(one) for one in path)): count
         for (owner, path), count in second.items()})
    names = sorted({path[-1] for _, path in driver.expected})
    results.equal(shapes, collections.Counter(
        {(owner, tuple(names.index(one) for one in path)): count
         for (owner, path), count in driver.expected.items()}),
        '%s: the other reader' % text)
    sums = collections.Counter()
    for (_, path), count in driver.expected.items():
        sums['Function%d' % path[-1]] += count
    for command in 'report', 'tree':
        rows = collections.Counter()
        for row in read_rows(results, session, command):
            rows[row['function']] += int(row['calls'])
        results.equal(rows, sums, '%s: %s' % (text, command))
    results.equal(lost, 0, '%s: nothing is lost' % text)
    return ends


def check_kernel(results, session, driver, text):
    """The row that info has of a driver's session, by the second reader."""
    code, output, errors = support.reader('info', '--json',
                                          programs.windows_path(session))
    results.equal(code, 0, '%s: info --json: %s' % (text, errors))
    stores = [trace_reader.Store(path) for path in support.stores(session)]
    processors = [store for store in stores if store.ThreadId % 4 == 1]
    row, = json.loads(output)['kernel']
    results.equal(
        (row['section'], row['driver'], row['collector_process_id'],
         row['threads'], row['processors'], row['lost']),
        ('\\BaseNamedObjects\\TracerKernel.' + driver.name, driver.name,
         stores[0].ProcessId, len(stores) - len(processors), len(processors),
         sum(store.NumberOfEventsLost for store in processors)),
        '%s: info --json' % text)
    return row


def finished(results, driver, session, text):
    """Unloads the driver and collects what it left."""
    driver.unload()
    code, output, errors = collect(driver, session)
    results.check(code == 0 and 'was unloaded' in output,
                  '%s: collect: %s, %s %s' % (text, code, output, errors))
    code, output, errors = support.reader('verify',
                                          programs.windows_path(session))
    results.equal(code, 0, '%s: verify: %s %s' % (text, output, errors))
    check_kernel(results, session, driver, text)
    return output


def test_contexts(results, program, folder):
    """Threads that move, raise the IRQL, and are interrupted."""
    with Driver(program, rings=3) as driver:

        # A call that moves from processor to processor.
        driver.enter(0, 100, PASSIVE, 0, THREADS)
        driver.enter(1, 100, PASSIVE, 1, THREADS - 0x80)

        # Another thread on the processor that it left.
        driver.enter(0, 104, APC, 2, THREADS + 0x1000000)

        # The first takes a spin lock: what it calls is still its own.
        driver.enter(1, 100, DISPATCH, 2, THREADS - 0x100)

        # A DPC on a stack of the processor, in the context of that thread; an
        # interrupt inside of it on another one; and a call in the DPC after.
        driver.enter(1, 100, DISPATCH, 3, DPC, processor(1), 'dpc')
        driver.enter(1, 100, DEVICE, 4, ISR, processor(1), 'isr')
        driver.enter(1, 100, DEVICE, 5, ISR - 0x40, processor(1), 'isr')
        driver.leave(1, 100, DEVICE, 5, ISR - 0x40, processor(1), 'isr')
        driver.leave(1, 100, DEVICE, 4, ISR, processor(1), 'isr')
        driver.enter(1, 100, DISPATCH, 5, DPC - 0x60, processor(1), 'dpc')
        driver.leave(1, 100, DISPATCH, 5, DPC - 0x60, processor(1), 'dpc')
        driver.leave(1, 100, DISPATCH, 3, DPC, processor(1), 'dpc')

        # An interrupt on the very stack of the thread: nested as it ran.
        driver.enter(1, 100, DEVICE, 4, THREADS - 0x300)
        driver.leave(1, 100, DEVICE, 4, THREADS - 0x300)
        driver.leave(1, 100, DISPATCH, 2, THREADS - 0x100)
        driver.leave(2, 100, PASSIVE, 1, THREADS - 0x80)

        # A function that raises the IRQL and one that lowers it.
        driver.enter(2, 100, PASSIVE, 6, THREADS - 0x90)
        driver.leave(2, 100, DISPATCH, 6, THREADS - 0x90)
        driver.enter(2, 100, DISPATCH, 7, THREADS - 0x90)
        driver.leave(0, 100, PASSIVE, 7, THREADS - 0x90)
        driver.leave(0, 100, PASSIVE, 0, THREADS)
        driver.leave(1, 104, APC, 2, THREADS + 0x1000000)

        # In a thread that has no call open, DISPATCH is the processor's, where
        # the idle thread's are too; so is the exit when the IRQL is low then.
        driver.enter(2, 108, DISPATCH, 1, THREADS + 0x2000000, processor(2))
        driver.leave(0, 108, PASSIVE, 1, THREADS + 0x2000000, processor(2))
        driver.enter(2, 0, DISPATCH, 2, DPC + 0x10000000, processor(2))
        driver.leave(2, 0, DISPATCH, 2, DPC + 0x10000000, processor(2))

        # A thread that goes on on another stack, which is above the first.
        driver.enter(0, 112, PASSIVE, 0, THREADS + 0x3000000)
        driver.enter(0, 112, PASSIVE, 1, THREADS + 0x9000000)
        driver.enter(1, 112, PASSIVE, 2, THREADS + 0x9000000 - 0x70)
        driver.leave(1, 112, PASSIVE, 2, THREADS + 0x9000000 - 0x70)
        driver.leave(1, 112, PASSIVE, 1, THREADS + 0x9000000)
        driver.enter(1, 112, PASSIVE, 3, THREADS + 0x3000000 - 0x50)
        driver.leave(1, 112, PASSIVE, 3, THREADS + 0x3000000 - 0x50)
        driver.leave(1, 112, PASSIVE, 0, THREADS + 0x3000000)

        session = os.path.join(folder, 'contexts')
        finished(results, driver, session, 'contexts')
        ends = check_calls(results, session, driver, 'contexts')
        results.equal(set(ends), {'exit'}, 'contexts: every call returned')

        # The interrupt's time is not the interrupted DPC's own.
        rows = {(row['thread'], row['function'], row['depth']): row for row in
                read_rows(results, session, 'tree', '--per-thread')}
        of = str(processor(1))
        dpc = rows[of, 'Function3', '0']
        isr = rows[of, 'Function4', '0']
        inner = rows[of, 'Function5', '1']
        results.check(int(dpc['self_ns']) + int(isr['total_ns']) <=
                      int(dpc['total_ns']),
                      'an interrupt on its own stack is not the self time of '
                      'what it interrupted: %s, %s' % (dpc, isr))
        results.check(inner is not None, 'calls of an interrupt are its own')


def test_random(results, program, folder):
    """Real threads that change the ring at every record, at their speed."""
    with Driver(program, rings=3, records=1 << 17) as driver:
        sums = [int(one) for one in driver.tell('play', 5, 6000, 77).split()]
        session = os.path.join(folder, 'random')
        text = finished(results, driver, session, 'random')
        rows = {row['function']: row for row in
                read_rows(results, session, 'report')}
        results.equal([int(rows['Function%d' % index]['calls'])
                       if 'Function%d' % index in rows else 0
                       for index in range(8)], sums,
                      'random: calls of each function')
        results.equal({row['abandoned'] + row['unfinished'] for row in
                       rows.values()}, {'00'}, 'random: all returned')
        results.check(' 0 bad' in text and sum(sums) > 1000,
                      'random: %s' % text)
        _, ends = replayed(results, session)
        results.equal(ends, {'exit': sum(sums)}, 'random: replay')


def test_before(results, program, folder):
    """What was overwritten before the collector began, and calls that may have
    ended then."""
    for is_known in False, True:
        with Driver(program, rings=2, records=64) as driver:
            time = driver.record(0, 100, PASSIVE, ENTER, 0, THREADS)
            if is_known:
                driver.tell('open', 9, THREADS | ENTER, 0, time)
            driver.expected[100, (0,)] += 1
            driver.tell('burst', 1, 200, 40)
            driver.expected[200, (0,)] += 16
            driver.expected[200, (0, 1)] += 16
            driver.enter(1, 100, PASSIVE, 1, THREADS - 0x40)
            driver.leave(1, 100, PASSIVE, 1, THREADS - 0x40)
            del driver.expected[100, (1,)]
            driver.expected[100, (0, 1) if is_known else (1,)] += 1
            if is_known:
                driver.record(1, 100, PASSIVE, EXIT, 0, THREADS)
            session = os.path.join(folder, 'before%d' % is_known)
            finished(results, driver, session, 'before')
            found, ends = replayed(results, session)

            # The ring kept 64 records of the burst's and the thread's.
            rest = 64 - (3 if is_known else 2)
            results.equal(
                {path: count for (owner, path), count in found.items()
                 if owner == 100},
                {path: count for (owner, path), count in
                 driver.expected.items() if owner == 100},
                'before %s: the call that may have ended' % is_known)
            results.equal(ends['abandoned'], 0 if is_known else 1,
                          'before %s: it is abandoned unless the driver knows '
                          'it: %s' % (is_known, ends))
            _, records, lost = second_reader(session)
            results.equal((records, lost), (64 + 1 + (not is_known), 0),
                          'before: records')
            log = open(glob.glob(session + '/*.log')[0]).read()
            results.check('processor 1: %d records were overwritten before '
                          'collecting began' % (160 - rest) in log,
                          'before: the log has them: %s' % log)
            code, text, _ = support.reader('info',
                                           programs.windows_path(session))
            results.check(code == 0 and 'Kernel trace of' in text and
                          '2 processors, 64 records each' in text and
                          'overwritten before' in text and
                          'a driver has none' in text and
                          'TraceReader run' not in text,
                          'info says what it is: %s' % text)


def test_loss(results, program, folder):
    """A ring that is far too small: what is there and what was lost add up."""
    with Driver(program, rings=2, records=256) as driver:
        session = os.path.join(folder, 'loss')
        process = start_collecting(driver, session)
        support.wait_for(lambda: glob.glob(session + '/*.log') or
                         process.poll() is not None)
        total = 0
        for _ in range(20):
            driver.tell('burst', 0, 100, 2000)
            total += 8000
        driver.enter(1, 104, PASSIVE, 2, THREADS + 0x1000000)
        driver.leave(1, 104, PASSIVE, 2, THREADS + 0x1000000)
        driver.unload()
        code, text = support.finish(process)
        results.equal(code, 0, 'loss: collect: %s' % text)
        _, records, lost = second_reader(session)
        before = re.search(r'processor 0: (\d+) records were overwritten before '
                           'coll', text)
        before = int(before.group(1)) if before else 0
        gone = sum(1 for path in support.stores(session)
                   for record in trace_reader.Store(path).records()
                   if record[3] == 5)
        results.equal(records - gone + lost + before, total + 2,
                      'loss: every record is there or counted (%d lost, %d '
                      'before)' % (lost, before))
        results.check(lost > 0, 'loss: some were lost')
        code, text, _ = support.reader('verify',
                                       programs.windows_path(session))
        results.check(' 0 bad' in text, 'loss: verify: %s' % text)
        depths = {int(row['depth']) for row in
                  read_rows(results, session, 'replay')}
        results.check(max(depths) <= 1, 'loss: no call swallows the next: %s' %
                      depths)
        rows = {row['function']: row for row in
                read_rows(results, session, 'report')}
        results.equal(rows['Function2']['calls'], '1',
                      'loss: the other processor')


def test_live(results, program, folder):
    """Followed while it is collected, set aside where a hook was preempted, and
    killed."""
    with Driver(program, rings=2, records=4096) as driver:
        session = os.path.join(folder, 'live')
        process = start_collecting(driver, session)

        def calls_seen():
            if not support.stores(session):
                return 0
            code, text, _ = support.reader('report', '--csv',
                                           programs.windows_path(session))
            rows = list(csv.DictReader(io.StringIO(text))) if code == 0 else []
            return sum(int(row['calls']) for row in rows)

        driver.tell('burst', 0, 100, 10)
        results.equal(support.wait_for(lambda: calls_seen() == 20 and 20), 20,
                      'live: the first calls')
        driver.tell('burst', 1, 104, 15)
        results.equal(support.wait_for(lambda: calls_seen() == 50 and 50), 50,
                      'live: those of another thread')

        # A record that is begun does not keep those behind it back.
        number = driver.tell('hole', 0)
        driver.tell('burst', 0, 108, 5)
        results.equal(support.wait_for(lambda: calls_seen() == 60 and 60), 60,
                      'live: behind a record that is not finished')
        driver.tell('fill', 0, number, 112, PASSIVE, ENTER, 3, THREADS)
        driver.record(1, 112, PASSIVE, EXIT, 3, THREADS)
        results.equal(support.wait_for(lambda: calls_seen() == 61 and 61), 61,
                      'live: that record when it is finished')
        code, text, _ = support.reader('info', programs.windows_path(session))
        results.check(code == 0 and re.search(r'State +open', text),
                      'live: info says that it goes on: %s' % text)
        code, text, errors = support.reader(
            'live', '--plain', '--count', '1', '--interval', '50',
            programs.windows_path(session))
        results.check(code == 0 and '4 of 4 threads running, 122 rec' in text,
                      'live shows it: %s %s' % (text, errors))

        process.send_signal(signal.SIGKILL)
        watch.wait(process)
        process.stdout.close()
        process.errors.close()
        results.equal(support.wait_for(lambda: calls_seen() == 61 and 61), 61,
                      'killed: the session can be read')
        code, text, _ = support.reader('info', programs.windows_path(session))
        results.check(code == 0 and re.search(r'State +died', text),
                      'killed: info: %s' % text)
        code, text, _ = support.reader('verify',
                                       programs.windows_path(session))
        results.check(' 0 bad' in text, 'killed: verify: %s' % text)

        # The same driver is collected anew.
        again = os.path.join(folder, 'again')
        finished(results, driver, again, 'again')
        found, ends = replayed(results, again)
        results.equal(sum(found.values()), 61, 'again: the rings still have it')


def test_others(results, program, folder):
    """What else reads a session reads this one; two collectors at a time."""
    with Driver(program, rings=2, records=1 << 16) as driver:
        driver.tell('play', 4, 1500, 5)
        driver.enter(0, 108, DISPATCH, 5, DPC, processor(0))
        driver.leave(0, 108, DISPATCH, 5, DPC, processor(0))
        sessions = [os.path.join(folder, name) for name in ('one', 'two')]
        collectors = [start_collecting(driver, session) for session in sessions]
        for session in sessions:
            support.wait_for(lambda one=session: support.stores(one))
        driver.tell('play', 4, 1500, 6)
        driver.unload()
        for collector in collectors:
            code, text = support.finish(collector)
            results.equal(code, 0, 'two collectors: %s' % text)
        results.equal(replayed(results, sessions[0]),
                      replayed(results, sessions[1]), 'two collectors')
        session = sessions[0]
        found, _ = replayed(results, session)
        sums = collections.Counter()
        for (_, path), count in found.items():
            sums[path[-1]] += count

        def reader(*arguments):
            code, text, errors = support.reader(*arguments)
            results.equal(code, 0, '%s: %s' % (arguments[0], errors))
            return text, errors

        for number, form in enumerate((
                'folded', 'chrome', 'perfetto', 'fxt', 'speedscope',
                'callgrind', 'csv-osr', 'csv-cap', 'html', 'parquet')):
            path = os.path.join(folder, 'export%d' % number)
            _, errors = reader('export', '--format', form, '-o',
                               programs.windows_path(path),
                               programs.windows_path(session))
            results.check(os.path.exists(path) or
                          glob.glob(path + '*'), '%s: is there' % form)
            if form in ('chrome', 'perfetto', 'fxt', 'speedscope', 'parquet'):
                results.check('%d calls' % sum(found.values()) in errors,
                              '%s has all calls: %s' % (form, errors))
            if form == 'chrome':
                with open(path, encoding='utf-8') as file:
                    events = json.load(file)['traceEvents']
                results.equal(collections.Counter(
                    int(event['name'][-1]) for event in events
                    if event['ph'] == 'B'), sums, 'chrome: the calls')
                names = {event['args']['name'] for event in events
                         if event['name'] == 'thread_name'}
                results.check(any('processor 0, DISPATCH_LEVEL' in name
                                  for name in names),
                              'chrome: names of threads: %s' % names)

        pack, back, whole = (os.path.join(folder, name) for name in
                             ('pack', 'back', 'whole'))
        reader('pack', '-o', programs.windows_path(pack),
               programs.windows_path(session))
        reader('unpack', '-o', programs.windows_path(back),
               programs.windows_path(pack))
        reader('recover', '-o', programs.windows_path(whole),
               programs.windows_path(session))
        for other in pack, back, whole:
            results.equal(replayed(results, other)[0], found,
                          '%s: replay' % os.path.basename(other))
        text, _ = reader('info', programs.windows_path(back))
        results.check('Kernel trace of' in text and '2 processors' in text,
                      'unpacked: info says what it is: %s' % text)


def test_break(results, program, folder):
    """Ctrl+C on a terminal ends the collecting in good order."""
    if live.pyte is None:
        results.skip('Ctrl+C: python3-pyte is not there')
        return
    with Driver(program) as driver:
        driver.tell('burst', 0, 100, 7)
        session = os.path.join(folder, 'break')
        terminal = Terminal(driver.name, '-o', programs.windows_path(session))
        terminal.wait_for(lambda shown: support.stores(session))
        driver.tell('burst', 1, 104, 9)
        terminal.type(b'\x03')
        code = terminal.finish()
        text = re.sub(r'\s+', ' ', terminal.text())
        results.check(code == 0 and 'the driver runs' in text and
                      '64 records of 2 threads' in text,
                      'Ctrl+C: %s %s' % (code, text))
        code, text, _ = support.reader('info', programs.windows_path(session))
        results.check(re.search(r'State +closed', text), 'Ctrl+C: info %s' %
                      text)


def test_disk(results, program, folder):
    """A full disk ends it, and what was written remains."""
    with mounted(os.path.join(folder, 'small'), 'size=1m') as path:
        if path is None:
            results.skip('a full disk: mounting is not allowed')
            return
        with Driver(program, rings=2, records=1 << 16) as driver:
            session = os.path.join(path, 'session')
            process = start_collecting(driver, session)
            support.wait_for(lambda: glob.glob(session + '/*.log'))
            driver.enter(1, 104, PASSIVE, 2, THREADS)

            # What is overwritten before it is read fills no disk.
            rounds = 0
            while process.poll() is None and rounds < 10000:
                driver.tell('burst', 0, 100, 10000)
                time.sleep(0.02)
                rounds += 1
            code, text = support.finish(process)
            results.check(code == 1 and 'it failed' in text,
                          'a full disk: %s %s' % (code, text))
            code, text, _ = support.reader('verify',
                                           programs.windows_path(session))
            results.check(' 0 bad' in text, 'a full disk: verify: %s' % text)
            code, text, _ = support.reader('info',
                                           programs.windows_path(session))
            results.check(code == 0 and re.search(r'State +stopped', text) and
                          '0xc000007f' in text.lower(),
                          'a full disk: info: %s' % text)


def test_paths(results, program, folder):
    """A service's ImagePath becomes one for programs."""
    for number, (path, expected) in enumerate((
            ('\\SystemRoot\\System32\\drivers\\a.sys',
             'C:\\windows\\System32\\drivers\\a.sys'),
            ('System32\\drivers\\b.sys',
             'C:\\windows\\System32\\drivers\\b.sys'),
            ('\\??\\D:\\Src\\c.sys', 'D:\\Src\\c.sys'),
            ('D:\\Src\\d.sys', 'D:\\Src\\d.sys'),
            ('\\SystemRootless\\e.sys', '\\SystemRootless\\e.sys'))):
        with Driver(program) as driver:
            data = path.encode()
            driver.tell('poke', 0xE8, 4, len(data))
            for at in range(0, len(data), 8):
                part = data[at:at + 8]
                driver.tell('poke', 0x600 + at, len(part),
                            int.from_bytes(part, 'little'))
            driver.tell('burst', 0, 100, 2)
            session = os.path.join(folder, str(number))
            finished(results, driver, session, path)
            row = check_kernel(results, session, driver, path)
            results.equal(row['image'].replace('WINDOWS', 'windows'), expected,
                          '%s: the image' % path)
            results.equal({trace_reader.Store(store).ModulePath
                           for store in support.stores(session)},
                          {row['image']}, '%s: the stores' % path)

    # Without the flag of a driver's session there is no row.
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            file.seek(0x14)
            flags, = struct.unpack('<I', file.read(4))
            results.equal(flags >> 5 & 1, 1, 'the flag')
            file.seek(0x14)
            file.write(struct.pack('<I', flags & ~32))
    code, output, _ = support.reader('info', '--json',
                                     programs.windows_path(session))
    results.check(code == 0 and 'kernel' not in json.loads(output),
                  'no driver, no row: %s' % output)


def test_errors(results, program, folder):
    code, text, errors = support.reader('collect', 'no-such-driver')
    results.check(code == 1 and 'TracerKernel.no-such-driver' in errors and
                  '0xC0000034' in errors and 'is loaded' in errors,
                  'no such driver: %s' % errors)
    code, text, errors = support.reader('collect', 'a\\b')
    results.check(code == 1 and '0xC0000033' in errors,
                  'a name with a backslash: %s' % errors)
    code, text, errors = support.reader('collect')
    results.check(code == 1 and 'missing' in errors, 'no name: %s' % errors)
    with Driver(program) as driver:
        driver.tell('burst', 0, 100, 3)
        session = os.path.join(folder, 'there')
        code, _, errors = collect(driver, session, '--seconds', '1')
        results.equal(code, 0, 'for a second: %s' % errors)
        before = {name: open(os.path.join(session, name), 'rb').read()
                  for name in os.listdir(session)}
        code, _, errors = collect(driver, session, '--seconds', '1')
        results.check(code == 1 and 'not empty' in errors,
                      'a session that is there: %s' % errors)
        results.equal({name: open(os.path.join(session, name), 'rb').read()
                       for name in os.listdir(session)}, before,
                      'a session that is there stays as it is')
        above = os.path.join(folder, 'above')
        code, text, errors = support.reader(
            'collect', driver.name, '--seconds', '1', '--directory',
            programs.windows_path(above))
        results.check(code == 0 and len(support.sessions(above)) == 1 and
                      re.search(r'KernelRings\.exe-\d+-\d{8}-\d{6}-\d{3}$',
                                support.sessions(above)[0]),
                      'a directory of its own: %s' % errors)

    # Whatever a header says, nothing outside of the section is read.
    pokes = [
        (0x000, 8, 0, 'not finished'), (0x000, 8, 1, 'none of a traced'),
        (0x008, 2, 2, 'another version'), (0x00C, 4, 16, 'HeaderSize'),
        (0x00C, 4, 0xFFFFFFF0, 'HeaderSize'),
        (0x010, 8, 1 << 62, 'SectionSize'), (0x018, 4, 16, 'RecordSize'),
        (0x020, 4, 0, 'State'), (0x020, 4, 9, 'State'),
        (0x024, 4, 0, 'rings'), (0x024, 4, 0xFFFFFFFF, 'rings'),
        (0x024, 4, 4000, 'inside'), (0x028, 8, 8, 'rings'),
        (0x028, 8, (1 << 64) - 8, 'rings'), (0x030, 8, (1 << 64) - 64,
                                             'records'),
        (0x030, 8, 4097, 'records'), (0x038, 8, 1000, 'records'),
        (0x038, 8, 1 << 40, 'records'), (0x038, 8, 1 << 63, 'records'),
        (0x048, 4, 3, 'functions'), (0x048, 4, 1 << 31, 'functions'),
        (0x04C, 4, 48, 'open calls'), (0x050, 8, 1 << 50, 'open calls'),
        (0x0B0, 8, 0, 'image'), (0x0B0, 8, 77, 'image'),
        (0x0B8, 4, 0, 'image'), (0x0E8, 4, 5000, 'text'),
        (0x0EC, 4, 257, 'text'), (0x0F0, 4, 0xFFFFFFFF, 'text'),
    ]
    for offset, size, value, word in pokes:
        with Driver(program) as driver:
            driver.tell('poke', offset, size, value)
            session = os.path.join(folder, 'poke')
            code, text, errors = collect(driver, session, '--seconds', '1')
            results.check(code == 1 and word in errors and
                          driver.name in errors and
                          not os.path.exists(session),
                          'poke %#x %#x: %s %s %s' % (offset, value, code, text,
                                                      errors))

    # A ring that goes backwards, and one that jumps, under the collector.
    for value, expected in ((1, 1), ((1 << 64) - 1, 0)):
        with Driver(program) as driver:
            driver.tell('burst', 0, 100, 10)
            session = os.path.join(folder, 'jump%d' % expected)
            process = start_collecting(driver, session)
            support.wait_for(lambda: support.stores(session) or
                             process.poll() is not None)
            driver.tell('poke', HEADER, 8, value)
            if expected == 0:
                driver.unload()
            code, text = support.finish(process)
            results.equal(code, expected, 'Reserved becomes %#x: %s' %
                          (value, text))
            code, text, errors = support.reader('verify',
                                                programs.windows_path(session))
            results.check(' 0 bad' in text, 'Reserved becomes %#x: verify %s' %
                          (value, text))

    # Records that no hook can have made.
    with Driver(program) as driver:
        driver.tell('burst', 0, 100, 2)
        place = HEADER + 2 * RING
        driver.tell('poke', place + 8, 8, 0x1234)            # Site
        driver.tell('poke', place + 32 + 16, 8, THREADS | 7)  # kind
        driver.tell('poke', place + 64, 8, 0)                # no time
        session = os.path.join(folder, 'bad')
        text = finished(results, driver, session, 'bad records')
        results.check('5 records, 0 bad' in text,
                      'bad records: the others are there: %s' % text)
        log = open(glob.glob(session + '/*.log')[0]).read()
        results.check('3 records are not valid' in log, 'bad records: %s' % log)


def main():
    results = programs.Results()
    with programs.Scratch() as folder:
        program = programs.build(
            os.path.join(folder, 'program'),
            [os.path.join(programs.PROGRAMS, 'Kernel', 'KernelRings.c')],
            ['-g', '-gdwarf-4', '-I' + os.path.join(programs.ROOT,
                                                    'TraceStore')],
            'KernelRings.exe', ['-lntdll'])
        chosen = sys.argv[1:]
        for test in (test_contexts, test_random, test_before, test_loss,
                     test_live, test_others, test_break, test_disk,
                     test_paths, test_errors):
            if not chosen or test.__name__[5:] in chosen:
                above = os.path.join(folder, test.__name__)
                os.mkdir(above)
                test(results, program, above)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Reads traces while the traced program runs.

A reader that starts in the middle of a run sees all that was recorded before it
looked, and when that was.  Fifty readers that come and go at any time change
neither what the program writes nor what is recorded.  What a reader has once
seen is what the files hold in the end.
"""

import collections
import concurrent.futures
import os
import random
import re
import shutil
import sys
import threading
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

# A run with readers: threads, iterations of each, and milliseconds of sleep
# after every 64 of them.
RUN = ('4', '40000', '12')
READERS = 50
LIMIT = 0.100
DAY = 24 * 60 * 60

# Byte -> the kind in the low three bits.
KINDS = bytes(value & 7 for value in range(256))


def open_session(traces, count):
    """Waits for a session with at least count stores, all of them ready."""
    def ready():
        found = support.stores(traces)
        if len(found) < count:
            return None
        lives = []
        for path in found:
            live = support.LiveStore(path)
            lives.append(live)
            if not live.is_ready():
                for other in lives:
                    other.close()
                return None
        return lives
    return support.wait_for(ready)


def check_freshness(results, program, scratch):
    """What the program has counted is there, with its time."""
    traces = os.path.join(scratch, 'fresh')
    stop = os.path.join(scratch, 'stop')
    counts = os.path.join(scratch, 'counts')
    process = support.start(program, 'for', '86400000', '200000',
                            programs.windows_path(stop),
                            programs.windows_path(counts), directory=traces)
    try:
        check_fresh_stores(results, scratch, traces, counts)
    finally:
        with open(stop, 'wb'):
            pass
    code, said = support.finish(process)
    results.check(support.has_ended(code) and said == 'done\n',
                  'the program', [code, said])
    check_verified(results, support.sessions(traces)[0],
                   'after the live readers')


def records_due(counts):
    """The records of the calls that each thread has finished: by thread."""
    return {thread: finished * support.BUSY_RECORDS
            for _, finished, thread in support.read_progress(counts) if thread}


def time_of_next(live, clock):
    """A record of which all was after a moment and before another one: their
    times and its, seconds since 1970."""
    end = support.wait_for(live.end)
    begin = time.time()

    # The first one behind the end may have got its time before.
    wanted = end + 2 * support.RECORD_SIZE
    # Of a compact store the same place may have a later one by now.
    stamp = support.wait_for(lambda: (live.end() or 0) > wanted and
                             int.from_bytes(live.record(wanted)[:8], 'little'))
    return begin, clock.seconds_of(stamp), time.time()


def check_fresh_stores(results, scratch, traces, counts):
    lives = open_session(traces, support.BUSY_THREADS)
    if not results.check(lives, 'a session appears'):
        return

    # The rate of the time stamp counter comes from the anchors, which a view
    # change renews; a second between two of them makes it good to a few parts
    # in a million.
    def clock():
        made = support.Clock(lives)
        return made if made.qpc_apart > 1 else None
    made = support.wait_for(clock)
    if not results.check(made, 'two anchors that are a second apart'):
        return

    copies = []
    for live in lives:
        copies.append(os.path.join(scratch, os.path.basename(live.path)))
        shutil.copyfile(live.path, copies[-1])

    # However long a thread, or this reader, waits for a processor.
    session = support.sessions(traces)[0]
    refreshes = Refreshes(session)
    refreshes.start()
    history, missing, looks = [], [], collections.Counter()
    while looks.total() < 400 or refreshes.is_alive():
        due = records_due(counts)
        for live in lives:
            end = live.end()
            if end is None:
                continue
            thread = live.get(0x01C, 'I')
            there = (end - support.HEADER_SIZE) // support.RECORD_SIZE
            looks[thread] += 1
            if there < due[thread]:
                missing.append((thread, there, due[thread]))
        total = count_records(lives)
        if total is not None:
            history.append((time.time(), total))
        time.sleep(0.01)
    results.check(not missing and len(looks) == len(lives),
                  'what was recorded is visible', [looks, *missing[:5]])
    print('%d looks' % looks.total())

    for live in lives:
        begin, seen, end = time_of_next(live, made)
        results.check(begin - LIMIT < seen < end + LIMIT,
                      '%s: a record is of %.3f, between %.3f and %.3f' %
                      (os.path.basename(live.path), seen, begin, end))

    # The control: what a copy has is not what there is by now.
    for path in copies:
        with support.LiveStore(path) as copy:
            thread = copy.get(0x01C, 'I')
            there = ((copy.end() - support.HEADER_SIZE) //
                     support.RECORD_SIZE)
            results.check(support.wait_for(
                lambda there=there, thread=thread:
                records_due(counts)[thread] > there),
                'control: a copy of %s lacks something' %
                os.path.basename(path))

    refreshes.join()
    if support.has_reader():
        check_refreshes(results, refreshes, history, lives)
    for live in lives:
        live.close()


def count_records(lives):
    ends = [live.end() for live in lives]
    if None in ends:
        return None
    return sum((end - support.HEADER_SIZE) // 16 for end in ends)


def parse_time(near, hours, minutes, seconds, thousandths):
    """Seconds since 1970, of a time of day that is not long after another."""
    time_of_day = (int(hours) * 3600 + int(minutes) * 60 + int(seconds) +
                   int(thousandths) / 1000)
    return near - near % DAY + time_of_day + (
        DAY if time_of_day < near % DAY - DAY / 2 else 0)


class Refreshes(threading.Thread):
    """TraceReader live, and its lines."""

    def __init__(self, session):
        super().__init__()
        self.session = session
        self.code = None
        self.lines = []

    def run(self):
        if not support.has_reader():
            return
        process = support.start(programs.READER, 'live', '--interval', '200',
                                '--count', '12',
                                programs.windows_path(self.session))
        for line in process.stdout:
            self.lines.append(support.decode(line))
        process.stdout.close()
        self.code = process.wait()


def check_refreshes(results, refreshes, history, lives):
    """TraceReader live shows what was there when it looked.

    Each line has the time at which it looked, in the clock that is read here,
    and how many records it has read since.  There are no fewer than had been
    counted by then; one a thread may be reserved, and not yet written.  When a
    line comes out says nothing: it may have waited for a processor.
    """
    results.equal(refreshes.code, 0, 'TraceReader live')
    text = ''.join(refreshes.lines)
    results.check('Outer' in text and 'Small' in text,
                  'TraceReader live shows the functions', [text])
    if not results.check(history, 'records were counted'):
        return
    looks = [(parse_time(history[0][0], *match.groups()[:4]),
              int(match.group(5)))
             for match in re.finditer(
                 r'^(\d+):(\d+):(\d+)\.(\d+)Z .*? (\d+) records, ', text,
                 re.MULTILINE)]
    counted = [max((total for when, total in history
                    if when <= look), default=0) -
               support.BUSY_THREADS for look, _ in looks]
    results.check(sum(count > 0 for count in counted) > 2,
                  'TraceReader live looks several times', [looks, text])
    wrong = [(look, shown, count)
             for (look, shown), count in zip(looks, counted) if shown < count]
    results.check(not wrong, 'TraceReader live shows what is there', wrong)
    first = min((shown for _, shown in looks), default=0)
    results.check(support.wait_for(lambda: (count_records(lives) or 0) -
                                   support.BUSY_THREADS > first),
                  'control: later it is not', [looks])


def check_verified(results, session, what):
    bad = [(os.path.basename(path), dict(store.bad))
           for path, store in good_stores(session) if store.bad]
    results.check(not bad, 'trace_reader, %s' % what, bad)
    if support.has_reader():
        code, rows, text = support.verify(session)
        results.check(code == 0 and len(rows) == len(support.stores(session))
                      and all(row['bad'] == '0' for row in rows.values()),
                      'TraceReader verify, %s: exit code %s' % (what, code),
                      text.split('\n'))


def good_stores(session):
    for path in support.stores(session):
        store = trace_reader.Store(path)
        support.read_all(store)
        yield path, store


def sequences(session):
    """What each thread did, by the RVA of its first record: (RVAs, kinds)."""
    result = {}
    for path in support.stores(session):
        store = trace_reader.Store(path)
        data = b''.join(bytes(body) for _, body in store.contents())
        base = store.ModuleBase & trace_reader.LOW32
        sites = memoryview(data).cast('I')[2::4].tolist()
        kinds = data[12::16].translate(KINDS)
        result[(sites[0] - base) & trace_reader.LOW32] = (
            [site - base for site in sites], kinds)
    return result


class Watcher(threading.Thread):
    """A reader that keeps some of what it sees: path -> offset -> bytes."""

    def __init__(self, traces, seed):
        super().__init__()
        self.traces = traces
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.seen = {}
        self.ends = {}
        self.wrong = []
        self.opened = 0

    def run(self):
        while not self.stopping.is_set():
            paths = support.stores(self.traces)
            if paths:
                try:
                    self.watch(self.chance.choice(paths))
                except Exception as error:          # noqa: B902
                    self.wrong.append(repr(error))
                self.opened += 1
            self.stopping.wait(self.chance.uniform(0, 0.1))

    def watch(self, path):
        seen = self.seen.setdefault(path, {})
        with support.LiveStore(path) as live:
            for _ in range(self.chance.randrange(1, 20)):
                if self.stopping.is_set() or not live.is_ready():
                    return
                end = live.end()
                if end is None:
                    continue
                if end < self.ends.get(path, 0):
                    self.wrong.append('%s: the end went from %d to %d' %
                                      (path, self.ends[path], end))
                self.ends[path] = end
                start = max(support.HEADER_SIZE, end - 64 * 16)
                seen.update(live.records(start, end))
                if end > support.HEADER_SIZE:
                    start = self.chance.randrange(support.HEADER_SIZE, end, 16)
                    seen.update(live.records(start, min(end, start + 1024)))
                self.stopping.wait(self.chance.uniform(0, 0.02))


def run_reader(session, command, delay):
    """One TraceReader at some moment: (command, exit code, what it wrote)."""
    time.sleep(delay)
    options = {'live': ['--count', '1', '--interval', '100'],
               'replay': ['--limit', '1000']}
    code, text, errors = support.reader(command, *options.get(command, ()),
                                        programs.windows_path(session))
    return command, code, text + errors


def check_readers(results, program, scratch):
    """Readers change nothing, and what they see is what there is."""
    code, untraced = support.run(program, 'run', RUN[0], RUN[1], '0',
                                 directory=os.path.join(scratch, 'none'),
                                 TRACER_ENABLED='0')
    results.equal(code, 0, 'the untraced run')
    results.equal(support.stores(scratch + '/none'), [],
                  'an untraced run leaves no store')
    alone = os.path.join(scratch, 'alone')
    code, text = support.run(program, 'run', RUN[0], RUN[1], '0',
                             directory=alone)
    results.equal((code, text), (0, untraced), 'the run without readers')
    expected = sequences(support.sessions(alone)[0])
    results.equal(len(expected), support.BUSY_THREADS + 1,
                  'threads that differ by their first function')
    check_verified(results, support.sessions(alone)[0], 'without readers')

    # The program waits in the middle of its work until there were readers
    # enough, and then goes on before their eyes.
    traces = os.path.join(scratch, 'read')
    go = os.path.join(scratch, 'go')
    process = support.start(program, 'run', *RUN, programs.windows_path(go),
                            directory=traces)
    support.wait_for(lambda: support.stores(traces))
    session = support.sessions(traces)[0]
    watchers = [Watcher(traces, seed) for seed in range(2)]
    for watcher in watchers:
        watcher.start()
    chance = random.Random(50)
    commands = ['info', 'report', 'verify', 'live', 'tree', 'replay']
    wanted = READERS if support.has_reader() else 0
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        done = list(pool.map(run_reader, [session] * wanted,
                             [commands[number % len(commands)]
                              for number in range(wanted)],
                             [chance.uniform(0, 0.25)
                              for _ in range(wanted)]))
    readers_took = time.monotonic() - began
    support.wait_for(lambda: all(
        watcher.opened >= READERS // 2 and
        sum(map(len, watcher.seen.copy().values())) > 1000 or watcher.wrong
        for watcher in watchers))
    with open(go, 'wb'):
        pass
    running = process.poll() is None
    code, text = support.finish(process)
    for watcher in watchers:
        watcher.stopping.set()
        watcher.join()
    if wanted:
        print('%d readers in %.1f s, the program %s when they ended' %
              (wanted, readers_took, 'ran' if running else 'had ended'))
    for command, status, output in done:
        results.check(status == 0, 'TraceReader %s on a running program: '
                      'exit code %s' % (command, status), output.split('\n'))
    opened = sum(watcher.opened for watcher in watchers)
    results.check(opened >= READERS, '%d native readers' % opened)

    results.equal((support.has_ended(code), text), (True, untraced),
                  'the output with readers is that of the untraced run')
    seen = sequences(session)
    results.equal(sorted(seen), sorted(expected), 'threads')
    for first in expected:
        results.check(seen.get(first) == expected[first],
                      'the records of the thread that begins at 0x%x' % first)
    check_verified(results, session, 'after the readers')

    # The control for the comparison: one record that differs.
    sites, kinds = next(iter(expected.values()))
    changed = list(sites)
    changed[len(changed) // 2] += 1
    results.check((changed, kinds) != (sites, kinds) and
                  (sites, kinds[:-1]) != (sites, kinds),
                  'control: a record that differs')

    # What was seen is what is there.
    for watcher in watchers:
        results.check(not watcher.wrong, 'a native reader', watcher.wrong)
        compared = wrong = 0
        for path, records in watcher.seen.items():
            store = trace_reader.Store(path)
            data = bytes(store.start) + b''.join(
                bytes(body) for _, body in store.contents())
            for position, record in records.items():
                compared += 1
                wrong += data[position:position + 16] != record
        results.check(compared > 1000 and wrong == 0,
                      '%d of %d records that were seen differ in the end' %
                      (wrong, compared))
        print('%d records seen live are those of the files' % compared)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        if not support.has_reader():
            results.skip('there is no TraceReader.exe')
        check_freshness(results, program, scratch)
        check_readers(results, program, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

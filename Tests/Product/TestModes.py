#!/usr/bin/env python3
"""Other clocks, rings, and limits of size, duration and depth: what is left
must be exactly what the program itself says that it called (the log of
Tests/Programs/Modes.c, or Witness.dll), less what was asked to be left out, and
every event must be in one of the counts.

    TestModes.py [--full] [PART...]
"""
# Takes long.

import collections
import concurrent.futures
import csv
import glob
import io
import itertools
import json
import os
import random
import re
import shutil
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestFlow as flow                                      # noqa: E402
import TestModules as modules                                # noqa: E402
import ThreadSupport as threads                              # noqa: E402
from ThreadSupport import programs, support, witness         # noqa: E402
from StoreSupport import trace_reader                        # noqa: E402

FULL = '--full' in sys.argv
# Of what is counted in tens of thousands, a part will do for most purposes.
PART = 1 if FULL or programs.LONG else 4
BUILDS = ('penter', 'gcc', 'clang')
# What Modes.c does next nobody can predict: a compact store holds no more than
# three to four times as much of it in the same bytes.
LEAST, TIMES = (3, 4) if support.IS_COMPACT else (1, 1)

# Modes.c: the number of a function is its place here.
NAMES = ('Work0', 'Work1', 'Work2', 'Work3', 'Work4', 'Work5', 'Work6',
         'Work7', 'Short', 'Long', 'Parent', 'Leap', 'Outer', 'Catch',
         'Recurse')
LONG = NAMES.index('Long')
NUMBERS = {name: number for number, name in enumerate(NAMES)}
ROOM_SIZE, EVENTS_OFFSET, FIBERS_OFFSET = 0x800000, 64, 16
EXIT = 0x20
UNKNOWN = 0xFF
EXIT_CODE = 7

MEBIBYTE = 1 << 20
VIEW_UNIT = 1 << 16         # views begin and end at multiples of this
MAXIMUM_BYTES_REACHED = 8
TSC, THREAD, NONE = trace_reader.TSC, trace_reader.THREAD, trace_reader.NONE
CLOCKS = {'tsc': TSC, 'thread': THREAD, 'none': NONE}
INVALID_PARAMETER, NOT_SUPPORTED = '0xC000000D', '0xC00000BB'

Run = collections.namedtuple('Run', 'code output session log stores')


#
# What the program says.
#

class Told:
    """The log of one thread."""

    def __init__(self, data, offset):
        count, self.thread = struct.unpack_from('<QI', data, offset)
        self.fibers = struct.unpack_from('<4Q', data, offset + FIBERS_OFFSET)
        first = offset + EVENTS_OFFSET
        self.data = bytes(data[first:first + count])
        self.events = self.data
        if any(event >= 0x40 for event in set(self.data)):
            self.events = bytes(event for event in self.data if event < 0x40)

    def up_to(self, maximum):
        """The events of calls no deeper than that, and how many are."""
        kept, fiber = bytearray(), 0
        depths = collections.Counter()
        for event in self.data:
            if event < EXIT:
                depths[fiber] += 1
                if depths[fiber] <= maximum:
                    kept.append(event)
            elif event < 0x40:
                if depths[fiber] <= maximum:
                    kept.append(event)
                depths[fiber] -= 1
            elif event < 0x80:
                fiber = event - 0x40
            else:
                depths[fiber] = event - 0x80
        return bytes(kept)

    def trees(self):
        """Fiber -> a Call that holds its outermost calls."""
        roots = collections.defaultdict(lambda: Call(UNKNOWN))
        stacks, fiber = {}, 0
        for event in self.data:
            if 0x40 <= event < 0x80:
                fiber = event - 0x40
                continue
            stack = stacks.setdefault(fiber, [roots[fiber]])
            if event < EXIT:
                stack.append(stack[-1].add(Call(event)))
            elif event < 0x40:
                stack.pop()
            else:
                while len(stack) > event - 0x80 + 1:
                    stack.pop().is_gone = True
        return dict(roots)


class Call:
    """A call: the number of its function, and the calls that it made."""
    __slots__ = ('number', 'calls', 'is_gone', 'start', 'end', 'stack',
                 'first', 'last')

    def __init__(self, number, start=0, stack=0, index=0):
        self.number, self.start, self.stack = number, start, stack
        self.calls, self.is_gone, self.end = [], False, 0
        self.first, self.last = index, index

    def add(self, call):
        self.calls.append(call)
        return call

    def must_stay(self):
        """Whether no minimum of 1 ms may take this call back."""
        return (self.number == LONG or self.is_gone or
                any(call.must_stay() for call in self.calls))


def read_log(path, count):
    with open(path, 'rb') as file:
        data = file.read()
    return [Told(data, ROOM_SIZE * index) for index in range(count)]


#
# What was recorded.
#

class Names:
    """Tells the event of a record."""

    def __init__(self, program):
        self.resolve = trace_reader.read_symbols(
            programs.write_symbols(program, program + '.nm'))
        self.known = {}

    def event(self, store, site, word):
        key = (site, word & 7)
        event = self.known.get(key)
        if event is None:
            name = self.resolve((site - store.ModuleBase) & 0xFFFFFFFF)
            event = NUMBERS.get(name, UNKNOWN)
            if event != UNKNOWN and word & 7 in (trace_reader.EXIT,
                                                 trace_reader.EXIT_FUNCTION):
                event += EXIT
            self.known[key] = event
        return event

    def events(self, store, pieces=None):
        """The events of a store's records, or of copies of some of them."""
        found = bytearray()
        known, event_of = self.known, self.event
        if pieces is None:
            pieces = [body for _, body in whole_pieces(store)]
        for body in pieces:
            for stamp, site, word in struct.iter_unpack('<QII', body):
                event = known.get((site, word & 7))
                found.append(event_of(store, site, word)
                             if event is None else event)
                if stamp == 0:
                    found[-1] = UNKNOWN
        return bytes(found)

    def records(self, store):
        """(stamp, event, stack pointer) of every record."""
        for _, body in whole_pieces(store):
            for stamp, site, word in struct.iter_unpack('<QII', body):
                yield stamp, self.event(store, site, word), word & 0xFFFFFFF8


def whole_pieces(store):
    """(position, bytes) of the records of a store that rests."""
    if store.is_compact:
        yield from store.contents()
        return
    position = store.start
    while position < store.end:
        at = store.offset(position)
        size = store.end - position
        if store.RingSizeInBytes:
            if position < store.RingFileOffset:
                end = store.RingFileOffset
            else:
                end = store.RingFileOffset + store.RingSizeInBytes
            size = min(size, end - at)
        yield position, store.map[at:at + size]
        position += size


def is_ring(store):
    """Whether it keeps the last records."""
    return (store.BlocksCapacity if store.is_compact
            else store.RingSizeInBytes) != 0


def written(store):
    """How many records were ever appended and not taken back."""
    return (store.end - store.HeaderSize) // 16


def left(store):
    """How many of these are there; the last one may not be written."""
    count = (store.end - store.start) // 16
    if count and store.State == support.STATE_OPEN:
        if not store.is_compact or store.first < store.end:
            at = store.offset(store.end - 16)
            count -= not any(store.map[at:at + 8])
    return count


def accounted(store):
    return (written(store) + store.NumberOfEventsLost +
            2 * store.NumberOfCallsTakenBack + store.NumberOfEventsTooDeep)


def by_thread(paths):
    return {store.ThreadId: store for store in map(trace_reader.Store, paths)}


#
# Running the programs.
#

class Programs:
    """The builds of Modes.c and of the others."""

    def __init__(self, scratch, pool):
        self.builds = threads.Builds(scratch)
        self.outputs = {}
        builds = ('plain', *BUILDS)
        self.names = {build: Names(path) for build, path in
                      zip(builds, pool.map(self.build_modes, builds))}

    def build_modes(self, build):
        hooked = [] if build == 'plain' else ['-DHOOKED']
        return self.builds.add(build, 'Modes.c', 'Modes.exe', *hooked)

    def untraced(self, arguments):
        """What a program without hooks prints, and its exit code."""
        if arguments not in self.outputs:
            above = self.builds.fresh('plain')
            outcome = threads.run(self.builds.path('plain', 'Modes.exe'),
                                  *arguments, 'log', cwd=above)
            self.outputs[arguments] = outcome[:2]
        return self.outputs[arguments]

    def run(self, results, what, build, *arguments, before=(), **variables):
        """Runs Modes traced; None if that went wrong."""
        arguments = tuple(map(str, arguments))
        above = self.builds.fresh(arguments[0])
        directory = os.path.join(above, 'traces')
        outcome = threads.run(self.builds.path(build, 'Modes.exe'),
                              *arguments, 'log', directory=directory,
                              cwd=above, before=before, **variables)
        results.equal(outcome[:2], self.untraced(arguments),
                      what + ': traced, untraced')
        session = threads.one_session(results, directory, what)
        if session is None:
            return None
        return Run(outcome.code, outcome.output, session,
                   read_log(os.path.join(above, 'log'), int(arguments[2])),
                   by_thread(support.stores(session)))


def check_verify(results, run, what, lost=False):
    """verify finds nothing; with lost only that some events were."""
    code, rows, text = support.verify(run.session)
    results.check(code == (2 if lost else 0) and
                  len(rows) == len(run.stores) and
                  all(row['bad'] == '0' for row in rows.values()),
                  '%s: verify: exit code %s' % (what, code), [text[-800:]])
    records = {name: int(row['records']) for name, row in rows.items()}
    expected = {os.path.basename(store.path): left(store)
                for store in run.stores.values()}
    results.equal(records, expected, what + ': number of records, two readers')


def check_paired(results, run, what):
    code, text = threads.exits_without_entry(run.session)
    results.check(code == 0 and not text, what + ': no exit without an entry',
                  [code, text])


def check_accounts(results, run, what):
    """Every event of every thread is in one of the counts."""
    for told in run.log:
        store = run.stores.get(told.thread)
        if results.check(store, '%s: thread %d has a store' %
                         (what, told.thread)):
            results.equal(accounted(store), len(told.events),
                          what + ': every event is counted')


def reader(*arguments):
    return threads.Outcome(*support.reader(*arguments))


def information(session):
    code, text, errors = reader('info', '--json',
                                        programs.windows_path(session))
    if code != 0:
        raise RuntimeError('TraceReader info: %s %s' % (code, errors))
    return json.loads(text)


def replayed(session, *options):
    """What replay says: (rows, standard error)."""
    code, text, errors = reader('replay', '--csv', *options,
                                        programs.windows_path(session))
    if code != 0:
        raise RuntimeError('TraceReader replay: %s %s' % (code, errors))
    return list(csv.DictReader(io.StringIO(text))), errors


def events_of_rows(rows):
    """The events of replay, in pieces: a new one where records are missing."""
    pieces = [bytearray()]
    for row in rows:
        number = NUMBERS.get(row['function'], UNKNOWN)
        if row['event'] == 'enter':
            pieces[-1].append(number)
        elif row['event'] in ('exit', 'unmatched'):
            pieces[-1].append(number + EXIT)
        elif row['event'] == 'open' and pieces[-1]:
            pieces.append(bytearray())
    return [bytes(piece) for piece in pieces if piece]


#
# Rings.
#

def check_ring_store(results, names, store, told, maximum, what):
    """What is left is the last records, in order, and enough of them."""
    size = os.path.getsize(store.path)
    results.check(size <= maximum, '%s: the file has %d of %d bytes' %
                  (what, size, maximum))
    seen = names.events(store)
    results.equal(written(store), len(told.events), what + ': positions')
    results.check(seen and told.events.endswith(seen),
                  what + ': exactly the last records')
    if 16 * len(told.events) + 4096 <= LEAST * maximum // 2:
        results.equal(len(seen), len(told.events),
                      what + ': a ring that is not full has all')
        return
    results.check(16 * len(seen) >= LEAST * maximum * 3 // 4,
                  '%s: %d of %d bytes are records' %
                  (what, 16 * len(seen), maximum))
    results.check(not told.events[:-1].endswith(seen) and
                  not told.events.endswith(seen[:-1] +
                                               bytes([seen[-1] ^ 1])),
                  what + ': control: other records')


def check_ring(results, tests, build, count, count_of_threads, text):
    count *= TIMES
    what = 'ring of %s, %s, %d calls' % (text, build, count)
    run = tests.run(results, what, build, 'work', count, count_of_threads,
                    TRACER_MODE='ring', TRACER_MAX_BYTES=text)
    if run is None:
        return
    maximum = (int(text[:-1]) * MEBIBYTE if text.endswith('M')
               else int(text))
    check_verify(results, run, what)
    for told in run.log:
        if results.check(told.thread in run.stores, what + ': a store'):
            check_ring_store(results, tests.names[build],
                             run.stores[told.thread], told, maximum, what)
    told = information(run.session)['recording'][0]
    overwritten = sum((store.start - store.HeaderSize) // 16
                      for store in run.stores.values())
    results.check((told['mode'], told['overwritten'],
                   told['maximum_bytes']) == (
                       support.mode('ring'), overwritten, maximum),
                  what + ': info', [told])
    if count_of_threads == 1:
        rows, _ = replayed(run.session)
        seen = b''.join(events_of_rows(rows))
        results.check(seen and run.log[0].events.endswith(seen),
                      what + ': replay shows the last records')
        results.equal(len(seen), sum(map(left, run.stores.values())),
                      what + ': replay shows all that are left')


def check_rings(tests):
    return [(check_ring, (tests, *job)) for job in (
        ('penter', 300000, 1, '1M'), ('gcc', 300000, 1, '1500000'),
        ('clang', 200000, 2, '2M'), ('penter', 12000, 1, '1M'),
        ('penter', 60000, 12, '1M'))]


def check_killed(results, tests, build, way, clock):
    """Rings of a process that was ended by force."""
    what = 'ring, %s, %s' % (way, build)
    above = tests.builds.fresh('killed')
    directory = os.path.join(above, 'traces')
    log = os.path.join(above, 'log')
    wanted = 100000 * TIMES
    process = support.start(
        tests.builds.path(build, 'Modes.exe'), 'kill',
        str(wanted if way == 'kill' else 100000000), '2', 'log',
        directory=directory, cwd=above, TRACER_MODE='ring',
        TRACER_MAX_BYTES='1M', TRACER_CLOCK=clock)
    if way == 'signal':
        def is_there():
            if not os.path.exists(log) or os.path.getsize(log) < 2 * ROOM_SIZE:
                return False
            with open(log, 'rb') as file:
                first, = struct.unpack('<Q', file.read(8))
                file.seek(ROOM_SIZE)
                return first > 2 * wanted and any(file.read(8))
        results.check(support.wait_for(is_there), what + ': it runs')
        process.send_signal(signal.SIGKILL)
    code, _ = support.finish(process)
    results.check(code == 9 and way == 'kill' or
                  support.watch.is_wine_failure(code),
                  '%s: exit code %s' % (what, code))
    support.wait_unmapped(above)
    session = threads.one_session(results, directory, what)
    if session is None:
        return
    support.wait_for(lambda: information(session)['session'][0]
                     ['process_running'] != 'yes')
    run = Run(code, '', session, read_log(log, 2),
              by_thread(support.stores(session)))
    check_verify(results, run, what)
    for told in run.log:
        store = run.stores.get(told.thread)
        if not results.check(store, what + ': a store'):
            continue
        count, known = written(store), len(told.events)
        if known == ROOM_SIZE - EVENTS_OFFSET:
            results.skip('%s: the log is full' % what)
            continue
        results.check(abs(count - known) <= 1,
                      '%s: %d records, %d events' % (what, count, known))
        seen = tests.names[build].events(store)
        first = count - len(seen)
        if seen and seen[-1] == UNKNOWN and store.State == 1:
            seen = seen[:-1]            # reserved and not written
        seen = seen[:known - first]
        # A thread that had not come around when the other one ended it all has
        # everything.
        results.check(seen == told.events[first:first + len(seen)] and
                      16 * len(seen) >= min(16 * (count - 1),
                                            LEAST * MEBIBYTE * 3 // 4 - 32),
                      what + ': exactly the last records')


def live_pieces(results, names, path, log, what):
    """Reads a ring once while it is written; the number of records seen."""
    try:
        store = trace_reader.Store(path, is_running=True)
    except trace_reader.FormatError as error:
        if 'created' in str(error) or 'busy' in str(error):
            return 0, 0
        results.check(False, '%s: %s' % (what, error))
        return 0, 0
    count, pieces = 0, []
    try:
        for position, body in store.contents():
            pieces.append((position, bytes(body)))
    except trace_reader.FormatError:
        if not store.is_compact:        # of one, blocks are what there is
            raise
    with open(log, 'rb') as file:
        told = Told(file.read(), 0).events
    for position, body in pieces:
        seen = names.events(store, [body])
        index = (position - store.HeaderSize) // 16
        if position + len(body) == store.end and seen.endswith(b'\xff'):
            seen = seen[:-1]
        if len(told) < ROOM_SIZE - EVENTS_OFFSET:
            seen = seen[:len(told) - index]
        expected = told[index:index + len(seen)]
        if seen != expected:
            results.check(False, '%s: records at position %d are wrong' %
                          (what, position))
        count += len(seen)
    return count, store.number_of_overtaken


def check_live(results, tests):
    """Readers of a ring whose writer runs."""
    what = 'a ring that is written'
    names = tests.names['penter']
    above = tests.builds.fresh('live')
    directory = os.path.join(above, 'traces')
    log = os.path.join(above, 'log')
    process = support.start(
        tests.builds.path('penter', 'Modes.exe'), 'steps', '3000000', '1',
        'log', 'go', directory=directory, cwd=above, TRACER_MODE='ring',
        TRACER_MAX_BYTES='1M')
    path = support.wait_for(lambda: support.stores(directory))[0]
    total = overtaken = reads = live = 0
    replays = []
    while process.poll() is None:
        count, missed = live_pieces(results, names, path, log, what)
        total, overtaken, reads = total + count, overtaken + missed, reads + 1
        if reads % 4 == 1 and len(replays) < 3:
            replays.append(replayed(os.path.dirname(path)))
            live += process.poll() is None

        # After half of its calls the program waits until it has been read.
        if reads > 3 and live > 0 and total > 100000:
            with open(os.path.join(above, 'go'), 'wb'):
                pass
    code, _ = support.finish(process)
    results.check(support.has_ended(code, EXIT_CODE), what + ': exit code',
                  [code])
    told = read_log(log, 1)[0].events
    print('%s: %d reads, %d records, %d overtaken; %d replays' %
          (what, reads, total, overtaken, live))
    results.check(reads > 3 and total > 100000, what + ': it was read')
    results.check(live > 0, what + ': replayed while it ran')
    for rows, errors in replays:
        place = shown = 0
        for piece in events_of_rows(rows):
            found = told.find(piece, place)
            if not results.check(found >= 0, '%s: replay shows %d records '
                                 'that were not so' % (what, len(piece)),
                                 [errors]):
                break
            place = found + len(piece)
            shown += len(piece)
        results.check(not rows or shown > 0, what + ': replay shows calls')
        if rows:
            piece = max(events_of_rows(rows), key=len)
            results.check(told.find(piece[:-1] + b'\xff') < 0 and
                          told.find(piece[::-1]) < 0,
                          what + ': control: other records')


#
# A file with a maximum, and every combination.
#

def check_maximum(results, tests):
    for build, count_of_threads in (('penter', 1), ('clang', 3)):
        what = 'maximum bytes, %s' % build
        run = tests.run(results, what, build, 'work', 100000 * TIMES,
                        count_of_threads, TRACER_MAX_BYTES='1M')
        if run is None:
            continue
        check_verify(results, run, what, lost=True)
        check_accounts(results, run, what)
        for told in run.log:
            store = run.stores[told.thread]
            results.equal((store.State, store.Reason),
                          (support.STATE_STOPPED, MAXIMUM_BYTES_REACHED),
                          what + ': stopped for that reason')
            results.check(os.path.getsize(store.path) <= MEBIBYTE and
                          written(store) * 16 >= MEBIBYTE * 15 // 16,
                          '%s: %d bytes' % (what,
                                            os.path.getsize(store.path)))
            seen = tests.names[build].events(store)
            results.check(told.events.startswith(seen),
                          what + ': exactly the first records')
            results.equal(store.NumberOfEventsLost,
                          len(told.events) - len(seen), what + ': lost')
        check_paired(results, run, what)


def check_stopped(results, tests):
    """After the end of a file nothing is taken back, whatever is short: the
    calls of the latest one were lost.
    """
    what = 'a file that is full, and a minimum duration'
    run = tests.run(results, what, 'penter', 'recurse', 70000, 1,
                    TRACER_MAX_BYTES='1M', TRACER_MIN_DURATION='1000s',
                    TRACER_MODE='file')     # no stack fills a compact one
    if run is None:
        return
    check_verify(results, run, what, lost=True)
    check_accounts(results, run, what)
    check_paired(results, run, what)
    seen = tests.names['penter'].events(run.stores[run.log[0].thread])
    results.check(len(seen) > 65000 and run.log[0].events.startswith(seen),
                  what + ': exactly the first records')


def check_combination(results, tests, build, mode, clock, duration, depth):
    variables = {'TRACER_CLOCK': clock}
    if mode != 'file':
        variables['TRACER_MAX_BYTES'] = '1M'
    if mode == 'ring':
        variables['TRACER_MODE'] = 'ring'
    if duration and clock != 'none':
        variables['TRACER_MIN_DURATION'] = duration
    if depth:
        variables['TRACER_MAX_DEPTH'] = str(depth)
    what = ', '.join((build, mode, clock, duration or 'any duration',
                      'depth %s' % (depth or 'any')))
    run = tests.run(results, what, build, 'work',
                    100000 * (1 if mode == 'file' else TIMES), 2, **variables)
    if run is None:
        return
    stores = run.stores.values()
    lost = any(store.NumberOfEventsLost for store in stores)
    check_verify(results, run, what, lost=lost)
    check_accounts(results, run, what)
    for store in stores:
        results.equal((store.Clock, store.MaximumDepth,
                       is_ring(store), store.MinimumDuration != 0),
                      (CLOCKS[clock], depth, mode == 'ring',
                       'TRACER_MIN_DURATION' in variables),
                      what + ': the header')
        results.check((store.NumberOfCallsTakenBack != 0) ==
                      ('TRACER_MIN_DURATION' in variables) and
                      (store.NumberOfEventsTooDeep != 0) == (depth != 0) and
                      (store.State == support.STATE_STOPPED) ==
                      (store.NumberOfEventsLost != 0),
                      what + ': what is counted')
        if not depth and 'TRACER_MIN_DURATION' not in variables:
            results.equal(store.NumberOfEventsLost != 0, mode == 'maximum',
                          what + ': lost')
    for told in run.log:
        store = run.stores[told.thread]
        seen = tests.names[build].events(store)
        results.check(UNKNOWN not in seen, what + ': known functions')
        if 'TRACER_MIN_DURATION' not in variables:
            expected = told.up_to(depth) if depth else told.events
            results.check(expected.startswith(seen) if mode == 'maximum' else
                          expected.endswith(seen) if mode == 'ring' else
                          expected == seen, what + ': exactly these records')
        elif mode == 'maximum' and lost:
            # What was recorded before the end is nested.
            results.check(is_nested(seen), what + ': entries and exits match')
    if mode != 'ring':
        check_paired(results, run, what)


def is_nested(events):
    """Whether each exit ends the call that was entered last; open ones may
    be left.
    """
    stack = []
    for event in events:
        if event < EXIT:
            stack.append(event)
        elif not stack or stack.pop() != event - EXIT:
            return False
    return True


def check_combinations(results, tests):
    results.check(is_nested(b'\0\1\x21\2') and not is_nested(b'\0\1\x20') and
                  not is_nested(b'\0\x20\x20'), 'control: nesting')
    cases = list(itertools.product(('file', 'maximum', 'ring'), CLOCKS,
                                   ('', '1us'), (0, 3)))
    if PART != 1:
        cases = random.Random(7).sample(cases, len(cases) // 3)
    jobs = []
    for mode, clock, duration, depth in cases:
        number = (('file', 'maximum', 'ring').index(mode) + CLOCKS[clock] +
                  len(duration) // 3 + depth // 3)
        builds = BUILDS if FULL else [('penter', 'gcc')[number % 2]]
        jobs += [(build, mode, clock, duration, depth) for build in builds]
    return [(check_combination, (tests, *job)) for job in jobs]


#
# Depth.
#

def cut_tree(tree, maximum):
    """A tree without the calls that are deeper, and its events: all, left
    out."""
    whole = witness.Node()
    waiting = [(whole, tree, 0)]
    counts = [0, 0]
    while waiting:
        into, node, depth = waiting.pop()
        into.add(node.calls, node.abandoned, node.open)
        counts[0] += 2 * node.calls - node.abandoned - node.open
        for name, child in node.children.items():
            if depth < maximum:
                waiting.append((into.child(name), child, depth + 1))
            else:
                deeper = [child]
                while deeper:
                    other = deeper.pop()
                    events = 2 * other.calls - other.abandoned - other.open
                    counts[0] += events
                    counts[1] += events
                    deeper.extend(other.children.values())
    return whole, counts


def cut_trees(tracks, maximum):
    """The same of all tracks."""
    cut, total, deep = {}, 0, 0
    for key, trees in tracks.items():
        cut[key] = []
        for tree in trees:
            whole, counts = cut_tree(tree, maximum)
            cut[key].append(whole)
            total, deep = total + counts[0], deep + counts[1]
    return cut, total, deep


def check_cut(results, what, session, expected, seen, maximum, put=dict):
    """Compares the trees of a session with what the witness told; put is what
    makes tracks comparable.
    """
    stores = [trace_reader.Store(path) for path in support.stores(session)]
    cut, total, deep = cut_trees(expected, maximum)
    seen = put(seen)
    found = witness.track_differences(put(cut), seen)
    results.check(not found, what + ': trees', found)
    wrong, _, _ = cut_trees(expected, maximum + 1)
    results.check(witness.track_differences(put(wrong), seen),
                  what + ': control: one deeper')
    results.equal(sum(map(written, stores)) +
                  sum(store.NumberOfEventsTooDeep for store in stores), total,
                  what + ': every event is counted')
    results.equal(sum(store.NumberOfEventsTooDeep for store in stores), deep,
                  what + ': events that are too deep')
    results.check(deep > 0 and all(store.NumberOfEventsLost == 0
                                   for store in stores), what + ': lost')
    told = information(session)['recording'][0]
    results.equal((told['maximum_depth'], told['too_deep']), (maximum, deep),
                  what + ': info')


def check_depth(results, tests, build, scenario, count, maximum):
    """Modes: the very records."""
    what = '%s, depth %d, %s' % (scenario, maximum, build)
    run = tests.run(results, what, build, scenario, count, 2,
                    TRACER_MAX_DEPTH=str(maximum))
    if run is None:
        return
    check_verify(results, run, what)
    check_paired(results, run, what)
    check_accounts(results, run, what)
    for told in run.log:
        seen = tests.names[build].events(run.stores[told.thread])
        expected = told.up_to(maximum)
        results.check(seen == expected, '%s: exactly these %d records, %d' %
                      (what, len(expected), len(seen)),
                      [first_difference(expected, seen)])
        results.check(seen != told.up_to(maximum + 1) and
                      seen != told.up_to(maximum - 1),
                      what + ': control: another depth')


def first_difference(left, right):
    for index, (one, two) in enumerate(zip(left, right)):
        if one != two:
            return index, left[max(index - 8, 0):index + 8].hex(' '), \
                right[max(index - 8, 0):index + 8].hex(' ')
    return min(len(left), len(right)), 'end'


def check_witness(results, tests, build, program, scenario, count, maximum):
    """Fibers and Threads: their trees, cut."""
    what = '%s, depth %d, %s' % (scenario, maximum, build)
    above = tests.builds.fresh(scenario)
    directory, tree = os.path.join(above, 'traces'), os.path.join(above, 'w')
    arguments = (scenario, str(count))
    outcome = threads.run(tests.builds.path(build, program), *arguments,
                          directory=directory, tree=tree,
                          TRACER_MAX_DEPTH=str(maximum))
    expected = threads.run(tests.builds.path('plain', program), *arguments)
    results.equal(outcome[:2], expected[:2], what + ': traced, untraced')
    session = threads.one_session(results, directory, what)
    if session is None:
        return
    threads.check_session(results, session, what)
    check_cut(results, what, session, witness.read_witness(tree),
              witness.read_tree(session), maximum,
              threads.without_fibers if scenario == 'end' else dict)


def check_flow(results, made, what, is_cpp, maximum):
    """Flow programs: jumps and exceptions."""
    program = made.result()
    above = os.path.dirname(program)
    directory = os.path.join(above, 'depth%d' % maximum)
    report = directory + '.report'
    outcome = flow.run(program, (), report, directory,
                       TRACER_MAX_DEPTH=str(maximum))
    expected = flow.run(program, (), report + '.off', TRACER_ENABLED='0')
    results.equal(outcome, expected, what + ': traced, untraced')
    session = threads.one_session(results, directory, what)
    if session is None:
        return
    threads.check_session(results, session, what)
    expected = flow.read(witness.read_witness, report, is_cpp)
    seen = flow.read(witness.read_tree, session, is_cpp)
    check_cut(results, what, session, expected, seen, maximum)


def flow_cases(tests, scratch, pool):
    """Builds the Flow programs; returns what to do with them."""
    shared = {'folder': tests.builds.witness, 'witness': tests.builds.library}
    jobs = []
    for source, build, compiler, flags, depths in (
            ('FlowThrow.cpp', 'penter', flow.GCC_CPP, flow.PENTER, (2, 7)),
            ('FlowThrow.cpp', 'functions', flow.GCC, flow.GCC_CYG, (2,)),
            ('FlowJump.c', 'penter', flow.GCC,
             [*flow.PENTER, *flow.JUMPS_EXIT], (1, 7))):
        folder = os.path.join(scratch, 'flow' + build + source)
        made = pool.submit(flow.build, folder, source, compiler, flags,
                           shared)
        for maximum in ((1, 2, 7) if FULL else depths):
            jobs.append((check_flow, (made, '%s, depth %d, %s' %
                                      (source, maximum, build),
                                      source.endswith('.cpp'), maximum)))
    return jobs


def check_depths(tests, scratch, pool):
    made = [pool.submit(tests.builds.add, build, name + '.c', name + '.exe')
            for build in ('plain', *BUILDS)
            for name in ('Fibers', 'Threads')]
    jobs = flow_cases(tests, scratch, pool) if PART == 1 else []
    for one in made:
        one.result()
    jobs += [(check_depth, (tests, build, scenario, count, maximum))
            for build, scenario, count, maximum in (
                ('penter', 'jump', 400, 1), ('penter', 'jump', 400, 2),
                ('penter', 'jump', 400, 7), ('penter', 'fibers', 1500, 2),
                ('gcc', 'fibers', 1500, 1), ('penter', 'recurse', 5000, 7),
                ('clang', 'recurse', 5000, 4999))]
    jobs += [(check_witness, (tests, build, program, scenario, count, maximum))
             for build, program, scenario, count, maximum in (
                 ('penter', 'Fibers.exe', 'switch', 30000 // PART, 1),
                 ('penter', 'Fibers.exe', 'switch', 30000 // PART, 2),
                 ('gcc', 'Fibers.exe', 'switch', 30000 // PART, 7),
                 ('clang', 'Fibers.exe', 'end', 120, 2),
                 ('penter', 'Fibers.exe', 'end', 120, 7),
                 ('penter', 'Threads.exe', 'short', 200, 2),
                 ('clang', 'Threads.exe', 'short', 200, 1))]
    return jobs


#
# Duration.
#

def seen_trees(names, store, told):
    """Fiber -> a Call with its outermost calls, from the records alone (of a
    _penter build, whose exits have the stack pointer of their entries).
    """
    roots = collections.defaultdict(lambda: Call(UNKNOWN))
    stacks = {}
    for index, (stamp, event, stack_pointer) in enumerate(
            names.records(store)):
        fiber = next((number for number, base in enumerate(told.fibers, 1)
                      if base and (base - stack_pointer) & 0xFFFFFFFF <
                      0x40000), 0)
        if event >= 0x40:
            raise ValueError('a record of another function')
        stack = stacks.setdefault(fiber, [roots[fiber]])
        while len(stack) > 1 and (
                stack[-1].stack < stack_pointer or
                event < EXIT and stack[-1].stack == stack_pointer):
            stack.pop().is_gone = True
        if event < EXIT:
            stack.append(stack[-1].add(Call(event, stamp, stack_pointer,
                                            index)))
        else:
            call = stack.pop()
            if len(stack) == 0 or (call.number + EXIT, call.stack) != (
                    event, stack_pointer):
                raise ValueError('an exit of another call')
            call.end, call.last = stamp, index
    return dict(roots)


def should_be_gone(call, least):
    """Whether a call should have been taken back: it was short, and its entry
    was the latest record when it ended, in the same view.
    """
    return (not call.calls and call.end - call.start < least and
            call.last == call.first + 1 and
            (support.HEADER_SIZE + 16 * call.last) % VIEW_UNIT != 0)


def compare_calls(told, seen, least, kept):
    """What is wrong with the calls that are left of a call's, as a list."""
    wrong = []
    waiting = [(told, seen)]
    while waiting:
        one, two = waiting.pop()
        left = [call for call in one.calls if call.must_stay()]
        right = [call for call in two.calls if call.must_stay()]
        if [call.number for call in left] != [call.number for call in right]:
            wrong.append(('calls of %d that stay' % one.number,
                          [NAMES[call.number] for call in left],
                          [NAMES[call.number] for call in right]))
            continue
        waiting.extend(zip(left, right))
        others = collections.Counter(call.number for call in one.calls
                                     if not call.must_stay())
        for call in two.calls:
            if call.must_stay():
                continue
            kept.append(call)
            others[call.number] -= 1
            deeper = [call]
            while deeper:
                inner = deeper.pop()
                deeper.extend(inner.calls)
                if should_be_gone(inner, least):
                    wrong.append((NAMES[inner.number],
                                  inner.end - inner.start))
        if any(count < 0 for count in others.values()):
            wrong.append(('calls that were not made', others))
    return wrong


def check_trees_left(results, tests, run, what):
    names = tests.names['penter']
    kept, calls = [], 0
    for told in run.log:
        store = run.stores[told.thread]
        expected = told.trees()
        try:
            seen = seen_trees(names, store, told)
        except ValueError as error:
            results.check(False, '%s: %s' % (what, error))
            continue
        for fiber, tree in expected.items():
            calls += 1
            wrong = compare_calls(tree, seen.get(fiber, Call(UNKNOWN)),
                                  store.MinimumDuration, kept)
            results.check(not wrong, '%s: what is left of fiber %d' %
                          (what, fiber), wrong)
        results.check(not seen.keys() - expected.keys(), what + ': fibers')
        results.check(store.NumberOfCallsTakenBack > len(told.events) // 8,
                      what + ': most calls are taken back')
        tree = next(iter(seen.values()))
        while tree.calls and any(call.must_stay() for call in tree.calls):
            last = tree
            tree = [call for call in tree.calls if call.must_stay()][-1]
            index = last.calls.index(tree)
        if tree.number != UNKNOWN:
            del last.calls[index]
            first = next(iter(seen))
            results.check(compare_calls(expected[first], seen[first],
                                        store.MinimumDuration, []),
                          what + ': control: a long call is missing')
    print('%s: %d short calls are left' % (what, len(kept)))


def check_duration(results, tests, build, scenario, count, clock, depth=0):
    what = 'minimum duration, %s, %s, %s' % (scenario, build, clock)
    variables = {'TRACER_MAX_DEPTH': str(depth)} if depth else {}
    run = tests.run(results, what, build, scenario, count, 2,
                    TRACER_MIN_DURATION='1ms', TRACER_CLOCK=clock,
                    **variables)
    if run is None:
        return
    check_verify(results, run, what)
    check_paired(results, run, what)
    check_accounts(results, run, what)
    least = {store.MinimumDuration for store in run.stores.values()}
    rate = trace_reader.ticks_per_second(list(run.stores.values()))
    results.check(len(least) == 1 and
                  abs(least.pop() / rate * 1000 - 1) < 0.05,
                  what + ': the duration in the header')
    rows = programs.read_report(run.session)
    longs = sum(told.data.count(LONG) for told in run.log)
    if clock == 'tsc' and not depth:
        results.equal(rows.get('Long', {}).get('calls', 0), longs,
                      what + ': long calls')
        results.check(longs == 0 or rows['Long']['total'] >= longs * 4950000,
                      what + ': time of long calls')
        if build == 'penter':
            check_trees_left(results, tests, run, what)
    told = information(run.session)['recording'][0]
    results.equal(told['taken_back'],
                  sum(store.NumberOfCallsTakenBack
                      for store in run.stores.values()),
                  what + ': info')


def check_no_duration(results, tests):
    """Control: without a minimum duration short calls are there."""
    what = 'control: no minimum duration'
    run = tests.run(results, what, 'penter', 'spin', 20, 1)
    if run is not None:
        store = run.stores[run.log[0].thread]
        tree = seen_trees(tests.names['penter'], store, run.log[0])[0]
        results.check(compare_calls(run.log[0].trees()[0], tree, 2000000, []),
                      what)


def check_durations(tests):
    return [(check_no_duration, (tests,))] + [
        (check_duration, (tests, *job)) for job in (
        ('penter', 'spin', 250, 'tsc'), ('gcc', 'spin', 100, 'tsc'),
        ('clang', 'fibers', 400, 'tsc'), ('penter', 'fibers', 1500, 'tsc'),
        ('penter', 'jump', 400, 'tsc'), ('gcc', 'jump', 400, 'tsc'),
        ('penter', 'spin', 100, 'thread'), ('penter', 'jump', 200, 'tsc', 4),
        ('penter', 'fibers', 600, 'tsc', 2))]


#
# Clocks.
#

def check_clock(results, tests, build, clock, before=()):
    what = 'clock %s, %s%s' % (clock, build, ', one processor' * bool(before))
    count = 1000000 if before else 20000 // PART
    run = tests.run(results, what, build, 'work', count, 2, before=before,
                    TRACER_CLOCK=clock)
    if run is None:
        return
    check_verify(results, run, what)
    check_accounts(results, run, what)
    if before:
        freezes = [store.NumberOfClockFreezes
                   for store in run.stores.values()]
        told = information(run.session)['recording'][0]
        results.check(any(freezes) and told['clock_freezes'] > 0 and
                      told['longest_clock_step_ns'] > 0,
                      what + ': freezes', [freezes, told])
        return
    check_paired(results, run, what)
    rows = programs.read_report(run.session) if clock != 'none' else None
    calls = collections.Counter()
    for told in run.log:
        store = run.stores[told.thread]
        results.equal(store.Clock, CLOCKS[clock], what + ': the header')
        results.check(tests.names[build].events(store) == told.events,
                      what + ': exactly these records')
        calls.update(event for event in told.events if event < EXIT)
        stamps = [stamp for stamp, _, _ in tests.names[build].records(store)]
        if clock == 'none':
            results.check(stamps == list(range(4096, store.end, 16)),
                          what + ': stamps are positions')
            continue
        # Where the clock's thread had no processor, the clock stood still.
        results.check(store.ClockResolution > 0 or clock != 'thread' or
                      store.NumberOfClockFreezes, what + ': resolution')
        results.check(all(map(int.__le__, stamps, stamps[1:])),
                      what + ': stamps do not go back')
        last = max(tsc for _, tsc, _ in store.anchors)
        first = min(tsc for _, tsc, _ in store.anchors)
        results.check(first - store.MaximumClockStep - (1 << 24) <=
                      stamps[0] <= stamps[-1] <= last and
                      (stamps[0] < stamps[-1] or store.NumberOfClockFreezes),
                      what + ': stamps and the counter',
                      [first, stamps[0], stamps[-1], last,
                       store.NumberOfClockFreezes, store.MaximumClockStep])
    expected = {NAMES[number]: count for number, count in calls.items()}
    if clock == 'none':
        check_no_times(results, run, expected, what)
    else:
        results.equal({name: row['calls'] for name, row in rows.items()},
                      expected, what + ': calls')


def check_no_times(results, run, expected, what):
    """Counts and order, and no time anywhere."""
    path = programs.windows_path(run.session)
    code, text, _ = reader('report', '--csv', path)
    rows = list(csv.DictReader(io.StringIO(text)))
    results.equal({row['function']: int(row['calls']) for row in rows},
                  expected, what + ': calls')
    times = [name for name in rows[0] if re.search('_ns|_ticks|time', name)]
    results.check(code == 0 and len(times) > 3 and
                  not any(row[name] for row in rows for name in times) and
                  all(row['clock'] == 'none' for row in rows),
                  what + ': report has no times', rows[:2])
    results.check(any(row['calls'] for row in rows),
                  what + ': control: other columns are there')
    thread = run.log[0].thread
    rows, _ = replayed(run.session, '--thread', str(thread))
    results.check(b''.join(events_of_rows(rows)) == run.log[0].events,
                  what + ': replay is in order')
    results.check(not any(row['time_ns'] or row['duration_ns']
                          for row in rows), what + ': replay has no times')
    told = information(run.session)
    results.equal((told['clock'], told['recording'][0]['clock']),
                  ('none', 'none'), what + ': info')
    code, text, _ = reader('report', path)
    results.check(code == 0 and not re.search(r'\d [num]?s\b', text),
                  what + ': no times in the table', [text[:500]])


def check_modules_clock(results, tests, clock):
    """A program and three DLLs, each with its copy of the library."""
    what = 'four modules, clock %s' % clock
    above = tests.builds.fresh('modules')
    directory, tree = os.path.join(above, 'traces'), os.path.join(above, 'w')
    arguments = ('nested', '5')
    program = tests.builds.path('penter', 'Modules.exe')
    outcome = threads.run(program, *arguments, directory=directory, tree=tree,
                          TRACER_CLOCK=clock)
    expected = threads.run(program, *arguments, TRACER_ENABLED='0')
    results.equal(outcome[:2], expected[:2], what + ': traced, untraced')
    session = threads.one_session(results, directory, what)
    if session is None:
        return
    code, rows, text = support.verify(session)
    results.check(code == 0 and len(rows) >= 4, what + ': verify',
                  [text[-500:]])

    # Calls from one module into another may be shown beside their callers.
    told, seen = collections.Counter(), collections.Counter()
    for counts, tracks in ((told, witness.read_witness(tree)),
                           (seen, witness.read_tree(session))):
        own, _ = modules.split_workers(tracks)
        for root in itertools.chain(*own.values()):
            counts.update(flow.count_calls(root))
    results.check(told == seen and sum(told.values()) > 100,
                  what + ': calls', [told - seen, seen - told])
    stores = [trace_reader.Store(path) for path in support.stores(session)]
    results.check(all(store.Clock == CLOCKS[clock] for store in stores) and
                  len({store.ModulePath for store in stores}) == 4,
                  what + ': headers')


def check_clocks(results, tests, pool):
    tests.builds.add('penter', 'Modules.c', 'Modules.exe')
    for done in [pool.submit(tests.builds.add, 'penter', 'Modules.c',
                             module + '.dll', '-DMODULE=' + module,
                             shared=True) for module in modules.MODULES]:
        done.result()
    jobs = [(check_clock, (tests, build, clock))
            for build in ('penter', 'gcc') for clock in CLOCKS]
    jobs += [(check_modules_clock, (tests, clock)) for clock in CLOCKS]
    processor = str(min(os.sched_getaffinity(0)))
    if shutil.which('taskset'):
        jobs.append((check_clock, (tests, 'penter', 'thread',
                                   ('taskset', '-c', processor))))
    else:
        results.skip('taskset is not installed')
    return jobs


#
# Values.
#

BAD = {
    'TRACER_CLOCK': ('tsc2', 'threads', 'no', '0'),
    'TRACER_MODE': ('rings', 'files', '1', 'fil'),
    'TRACER_MAX_BYTES': ('1048575', 'banana', '-1', '9223372036854775808'),
    'TRACER_MAX_DEPTH': ('0', '16001', '-1', 'deep'),
    'TRACER_MIN_DURATION': ('1xs', 'ms', '3601s', '1.5ms'),
    'TRACER_FLUSH': ('2', 'yes', '-1', '1x'),
}
GOOD = [
    ({'TRACER_CLOCK': 'TSC', 'TRACER_MODE': 'FILE', 'TRACER_MAX_BYTES': '1M',
      'TRACER_MAX_DEPTH': '16000', 'TRACER_MIN_DURATION': '3600s',
      'TRACER_FLUSH': '0'}, (TSC, MEBIBYTE, 16000, 3600e9, False)),
    ({'TRACER_CLOCK': 'Thread', 'TRACER_MODE': 'Ring',
      'TRACER_MAX_DEPTH': '1', 'TRACER_MIN_DURATION': '5us',
      'TRACER_FLUSH': '1'}, (THREAD, None, 1, 5e3, True)),
    ({'TRACER_CLOCK': 'NONE', 'TRACER_MIN_DURATION': '0',
      'TRACER_MAX_BYTES': '1048576'}, (NONE, MEBIBYTE, 0, 0, False)),
    ({'TRACER_MIN_DURATION': '70000', 'TRACER_CLOCK': '', 'TRACER_MODE': '',
      'TRACER_MAX_BYTES': '', 'TRACER_MAX_DEPTH': '', 'TRACER_FLUSH': ''},
     (TSC, 0, 0, 70e3, False)),
    ({'TRACER_MIN_DURATION': '70000ns', 'TRACER_MAX_BYTES': '3G'},
     (TSC, 3 << 30, 0, 70e3, False)),
]


def logged(run):
    text = ''
    for path in glob.glob(os.path.join(run.session, '*.log')):
        with open(path, encoding='utf-8') as file:
            text += file.read()
    return text.splitlines()


def check_values(results, tests, variables, expected, errors):
    """One run: the header, and the lines of the log."""
    what = ' '.join('%s=%s' % item for item in variables.items())
    run = tests.run(results, what, 'penter', 'work', 1000, 1, **variables)
    if run is None:
        return
    store = run.stores[run.log[0].thread]
    rate = trace_reader.ticks_per_second([store])
    clock, maximum, depth, duration, wants_ring = expected
    results.equal((store.Clock, store.MaximumDepth, is_ring(store)),
                  (clock, depth, wants_ring), what + ': the header')
    results.check(store.MaximumBytes == maximum or
                  maximum is None and store.MaximumBytes >= MEBIBYTE,
                  '%s: maximum bytes: %d' % (what, store.MaximumBytes))
    results.check(abs(store.MinimumDuration - duration * rate / 1e9) <=
                  0.05 * duration * rate / 1e9,
                  '%s: minimum duration: %d' % (what, store.MinimumDuration))
    lines = logged(run)
    results.equal(len(lines), len(errors), what + ': lines in the log')
    for step, value, status in errors:
        text = '%s: %s: %s' % (step, value, status)
        told = re.compile(r'%s( \([^)]+\))?: %s: %s.*the default is used' % (
            re.escape(step), re.escape(value), status))
        results.check(any(told.search(line) for line in lines),
                      what + ': ' + text, lines)
    check_accounts(results, run, what)


def check_all_values(tests):
    default = (TSC, 0, 0, 0, False)
    jobs = []
    for values in zip(*BAD.values()):
        variables = dict(zip(BAD, values))
        jobs.append((check_values, (tests, variables, default, [
            ('reading ' + name, value, INVALID_PARAMETER)
            for name, value in variables.items()])))
    jobs += [(check_values, (tests, variables, expected, []))
             for variables, expected in GOOD]
    jobs.append((check_values, (
        tests, {'TRACER_CLOCK': 'none', 'TRACER_MIN_DURATION': '1ms'},
        (NONE, 0, 0, 0, False),
        [('reading TRACER_MIN_DURATION with TRACER_CLOCK=none', '1ms',
          NOT_SUPPORTED)])))
    return jobs


#
# Modules that are left out.
#

def check_left_out(results, tests, build):
    what = 'a module that is left out, %s' % build
    program = tests.builds.path(build, 'Modes.exe')
    for arguments in (('work', '50000', '2'), ('hook', '0', '0')):
        for variables in ({'TRACER_MODULES': '-modes'},
                          {'TRACER_MODULES': 'other;-modes.exe'}, {},
                          {'TRACER_MODULES': '-other'},
                          {'TRACER_ENABLED': '0'}):
            is_out = ('modes' in variables.get('TRACER_MODULES', '') or
                      'TRACER_ENABLED' in variables)
            above = tests.builds.fresh('out')
            directory = os.path.join(above, 'traces')
            outcome = threads.run(program, *arguments, 'log', cwd=above,
                                  directory=directory, **variables)
            if arguments[0] == 'work':
                results.equal(outcome[:2], tests.untraced(arguments),
                              '%s: %s' % (what, variables))
                results.equal(len(support.sessions(directory)),
                              0 if is_out else 1,
                              '%s: %s: sessions' % (what, variables))
                continue
            first = outcome.output.split()
            results.check(outcome.code == EXIT_CODE and len(first) == 2 and
                          (first == ['c3', 'c3']) == is_out and
                          ('c3' in first) == is_out,
                          '%s: %s: the first bytes' % (what, variables),
                          [outcome])


def make_parts(results, tests, scratch, pool):
    """Part -> a routine that makes its list of (check, arguments)."""
    return {
        'rings': lambda: check_rings(tests),
        'killed': lambda: [(check_killed, (tests, *job)) for job in (
            ('penter', 'kill', 'tsc'), ('gcc', 'signal', 'none'),
            ('penter', 'signal', 'thread'))],
        'live': lambda: [(check_live, (tests,))],
        'maximum': lambda: [(check_maximum, (tests,)),
                            (check_stopped, (tests,))],
        'depth': lambda: check_depths(tests, scratch, pool),
        'duration': lambda: check_durations(tests),
        'clock': lambda: check_clocks(results, tests, pool),
        'combination': lambda: check_combinations(results, tests),
        'values': lambda: check_all_values(tests),
        'left-out': lambda: [(check_left_out, (tests, build))
                             for build in ('penter', 'gcc')],
    }


def timed(check, results, *arguments):
    started = time.monotonic()
    check(results, *arguments)
    return time.monotonic() - started


def main():
    results = programs.Results()
    wanted = [argument for argument in sys.argv[1:]
              if not argument.startswith('-')]
    with programs.Scratch() as scratch, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        tests = Programs(scratch, pool)
        parts, jobs = make_parts(results, tests, scratch, pool), []
        for name, make_jobs in parts.items():
            if wanted and name not in wanted:
                continue
            jobs += [(name, pool.submit(timed, check, results, *arguments))
                     for check, arguments in make_jobs()]
        seconds = collections.Counter()
        for name, job in jobs:
            seconds[name] += job.result()
    print(', '.join('%s %.1f s' % item for item in seconds.items()))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Recording that is stopped, started and cleared while the program runs: by
TraceReader ctl, by the program itself (Penter.h), and by actions that this
test writes into the control file as TraceFormat.h describes it.

Whatever was asked for, what a thread recorded and what it left out must add up
to the calls that it says it made; and the program must print what it prints
untraced.
"""

import collections
import csv
import ctypes
import io
import json
import mmap
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

START, STOP, CLEAR, MARK, NAME, VOID = range(1, 7)
PAUSED = 4
TREE = 1
THREADS = 8
ROUNDS = 1000
SOME = 100              # events
PENTER = os.path.join(programs.ROOT, 'Penter')
RING_ONLY = {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M'}
RING = {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '1M',
        'TRACER_CONTROL': '4M'}


class Control:
    """A control file, written without the help of TraceReader."""

    clock = None            # reads the time stamp counter

    def __init__(self, session):
        self.path = os.path.join(session, 'session.control')
        with open(self.path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), os.fstat(file.fileno()).st_size)
        self.capacity = (len(self.map) - 4096) // 128

    def word(self, offset, code='I'):
        return struct.unpack_from('<' + code, self.map, offset)[0]

    def claimed(self):
        return self.word(0x1c)

    def seen(self):
        """What each module instance that follows has seen."""
        return [self.word(0x48 + 16 * index) for index in range(64)
                if self.word(0x40 + 16 * index, 'Q')]

    def claim(self):
        number = self.claimed()
        support.put(self.map, 0x1c, 'I', number + 1)
        return number

    def append(self, kind, text=b''):
        """Only while nobody else appends: the place is filled before it is
        claimed, so that nobody gives it up where this has no processor."""
        number = self.claimed()
        self.fill(number, kind, text)
        self.claim()
        return number

    def fill(self, number, kind, text=b''):
        offset = 4096 + 128 * number
        struct.pack_into('<IQQI', self.map, offset + 4, 0, Control.clock(),
                         int(time.time() * 1e7) + support.FILETIME_OF_1970,
                         len(text))
        self.map[offset + 0x20:offset + 0x20 + len(text)] = text
        support.put(self.map, offset, 'I', kind)

    def actions(self):
        """(kind, thread, time stamp, text) of each."""
        result = []
        for number in range(min(self.claimed(), self.capacity)):
            offset = 4096 + 128 * number
            kind, thread, tsc, _, length = struct.unpack_from(
                '<IIQQI', self.map, offset)
            result.append((kind, thread, tsc,
                           self.map[offset + 32:offset + 32 + length]))
        return result


def build_clock(scratch):
    source = os.path.join(scratch, 'clock.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('unsigned long long Now(void)\n{\n'
                   '    return __builtin_ia32_rdtsc();\n}\n')
    library = os.path.join(scratch, 'clock.so')
    subprocess.run(['gcc', '-shared', '-fPIC', source, '-o', library],
                   check=True)
    Control.clock = ctypes.CDLL(library).Now
    Control.clock.restype = ctypes.c_ulonglong


class Store:
    """What the header of a store says, and how many records it was given."""

    def __init__(self, path):
        with support.LiveStore(path) as live:
            self.ready = live.is_ready()
            if not self.ready:
                return
            self.path = path
            self.thread = live.get(0x01c, 'I')
            self.flags = live.get(0x05c, 'I')
            self.lost = live.get(0x060)
            self.state = live.get(0x080, 'I')
            self.taken_back = live.get(0x178)
            self.is_tree = live.get(0x1b0, 'I') == TREE
            self.too_deep = live.get(0x190)
            self.actions = live.get(0x1b4, 'I')
            self.paused = live.get(0x1b8)
            self.clear = live.get(0x1c0)
            self.name = live.map[0xf60:0xf60 + live.get(0x168, 'I')]
            cursor, delta = live.get(0x040), live.get(0x050)
            self.records = ((cursor + delta) % 2**64 - 4096) // 16

    def chosen(self):
        """The events that came while it was not paused."""
        return self.records + self.too_deep + 2 * self.taken_back

    def left_out(self):
        """Those that came while it was: lost, up to its start."""
        return self.paused + self.lost

    def events(self):
        return self.chosen() + self.left_out()


def read_stores(session):
    return [store for store in map(Store, support.stores(session))
            if store.ready]


def build(scratch, name, *flags, library=programs.LIBRARY):
    return programs.build(os.path.join(scratch, name),
                          [os.path.join(programs.PROGRAMS, 'Control.c')],
                          [*flags, '-I' + PENTER], 'Control.exe', [library])


class Run:
    """A traced program that runs until finish()."""

    def __init__(self, results, scratch, program, what, *arguments,
                 rounds=0, **variables):
        self.results, self.what = results, what
        self.folder = os.path.join(scratch, what.replace(' ', '-'))
        os.makedirs(self.folder)
        self.flag = os.path.join(self.folder, 'stop')
        self.process = support.start(
            program, *arguments, programs.windows_path(self.flag),
            str(rounds), directory=self.folder, **variables)
        threads = 2 * int(arguments[1])
        found = support.wait_for(
            lambda: sum(store.events() > 0 for session in support.sessions(
                self.folder) for store in read_stores(session)) >= threads)
        results.check(found, what + ': it runs')
        self.session = support.sessions(self.folder)[0]
        self.control = None

    def windows(self):
        return programs.windows_path(self.session)

    def open(self):
        self.control = Control(self.session)
        return self.control

    def ctl(self, *arguments):
        """support.ctl: what is late has no text."""
        return support.ctl(self.session, *arguments)

    def wait_for_more(self, threads, what, count):
        """Waits until each of these threads has more events than now; count
        tells them of a store."""
        def counts():
            return {store.thread: count(store)
                    for store in read_stores(self.session)
                    if store.thread in threads}
        before = counts()
        return self.results.check(
            support.wait_for(lambda: all(
                number > before.get(thread, 0) + SOME
                for thread, number in counts().items())),
            '%s: %s' % (self.what, what), [before, counts()])

    def find_busy(self, count, wanted):
        """The threads that make calls; count tells them of a store."""
        found = support.wait_for(lambda: (
            lambda threads: threads if len(threads) == wanted else None)(
                {store.thread for store in read_stores(self.session)
                 if count(store) > 100})) or set()
        self.results.equal(len(found), wanted, self.what + ': busy threads')
        return found

    def follow(self, threads, number):
        """Waits until these threads have carried out an action."""
        return self.results.check(
            support.wait_for(lambda: all(
                store.actions > number for store in read_stores(self.session)
                if store.thread in threads)), self.what + ': followed')

    def finish(self):
        """The calls of each thread, as it says: thread -> hook calls."""
        with open(self.flag, 'w', encoding='ascii'):
            pass
        code, text = support.finish(self.process)
        lines = [line.split() for line in text.splitlines()
                 if line != 'rounds']
        self.results.check(support.has_ended(code) and lines and
                           len(lines) % 2 == 0 and
                           all(len(line) == 2 for line in lines),
                           self.what + ': ends as untraced',
                           [code, text[-300:]])
        return {int(thread): int(calls) for thread, calls in lines}

    def check_sums(self, calls):
        """Recorded and left out: what each thread says that it called."""
        stores = {store.thread: store for store in read_stores(self.session)}
        wrong = [(thread, number, vars(stores[thread])
                  if thread in stores else None)
                 for thread, number in calls.items()
                 if thread not in stores or
                 stores[thread].events() != number or
                 stores[thread].lost]
        self.results.check(not wrong, self.what +
                           ': recorded and left out add up', wrong[:3])
        left_out = sum(store.paused for store in stores.values())
        records = sum(store.records for store in stores.values())
        self.results.check(left_out > 0 and records > 0,
                           '%s: %d events recorded, %d left out' %
                           (self.what, records, left_out))
        print('%s: %d threads, %d events, %d of them left out' %
              (self.what, len(calls), sum(calls.values()), left_out),
              flush=True)
        return stores


def timed(check, *arguments):
    began = time.monotonic()
    check(*arguments)
    print('%5.1f s  %s' % (time.monotonic() - began, check.__name__),
          flush=True)


def check_outside(results, scratch, program):
    """Every verb 1,000 times from outside, and some by ctl itself."""
    run = Run(results, scratch, program, 'outside', 'busy', str(THREADS),
              **RING)
    busy = run.find_busy(Store.chosen, THREADS)
    for verb in ['stop', 'start', 'clear', 'mark', 'stop', 'stop', 'start',
                 'start'] * 2:
        more = ['now \u00e4'] if verb == 'mark' else []
        code, text, errors, late = run.ctl(verb, *more)
        results.check(code == 0 and not errors and (late or
                      re.match(verb + r': action \d+, seen by (1 module|'
                               r'0 modules; 1 idle module will follow later, '
                               r'with effect from now)\n$', text)),
                      'ctl ' + verb, [code, text, errors])
    control = run.open()
    results.equal([kind for kind, *_ in control.actions()],
                  [STOP, START, CLEAR, MARK, STOP, STOP, START, START] * 2,
                  'what ctl has written')
    results.equal(control.actions()[3][3], 'now \u00e4'.encode(),
                  'the text of a mark')

    def followed(number):
        stores = read_stores(run.session)
        return all(store.actions > number for store in stores
                   if store.thread in busy)

    #
    # How soon busy threads follow: printed, and in any case within seconds.
    #

    waits = []
    for index in range(20):
        began = time.monotonic()
        number = control.append(START if index % 2 else STOP)
        if not results.check(support.wait_for(lambda: followed(number)),
                             'followed'):
            break
        waits.append((time.monotonic() - began) * 1000)
        if index % 2 == 0:
            before = {store.thread: store.records
                      for store in read_stores(run.session)
                      if store.thread in busy}
            time.sleep(0.005)
            after = {store.thread: store.records
                     for store in read_stores(run.session)
                     if store.thread in busy}
            results.equal(after, before, 'nothing is recorded while stopped')
    print('busy threads follow: median %.1f ms, longest %.1f ms' %
          (statistics.median(waits), max(waits)))

    for index in range(ROUNDS):
        for kind in (STOP, CLEAR, MARK, START):
            last = control.append(kind, b'x' * 96 if kind == MARK else b'')
        if index % 10 == 9:
            time.sleep(0.01)
    results.check(support.wait_for(lambda: min(control.seen()) > last),
                  'all are seen', control.seen())

    #
    # Threads that wait have not come by, and are stopped all the same.
    #

    results.check(support.wait_for(lambda: followed(last)) and
                  all(store.actions == 0 for store in
                      read_stores(run.session) if store.thread not in busy),
                  'threads that wait')
    code, text, errors, _ = run.ctl('stop')
    results.check(code == 0, 'ctl stop', [code, errors])
    data = json.loads(support.reader('ctl', '--json', run.windows(),
                                     'status')[1])
    results.check(len(data['stores']) == 2 * THREADS and
                  all(store['recording'] == 'stopped'
                      for store in data['stores']) and
                  data['session'][0]['recording'] == 'stopped' and
                  data['session'][0]['process'] == 'running' and
                  data['session'][0]['actions'] == len(data['actions']) ==
                  control.claimed(), 'status of a session that is stopped',
                  [data['session'], data['stores'][:2]])
    calls = run.finish()
    stores = run.check_sums(calls)
    results.check(all(stores[thread].actions == control.claimed()
                      for thread in calls), 'all threads have followed')
    idle = [stores[thread] for thread in calls if thread not in busy]
    results.check(len(idle) == THREADS and
                  all((store.records, store.paused) == (1, 1)
                      for store in idle),
                  'the end of a wait is left out while stopped',
                  [vars(store) for store in idle])
    code, text, errors, _ = run.ctl('start')
    results.check(code == 1 and not text and 'has ended' in errors,
                  'ctl start of a program that has ended', [code, errors])
    code, text, errors, _ = run.ctl('status')
    results.check(code == 0 and 'ended' in text, 'its status', [code, errors])


def check_inside(results, scratch, program):
    """Every verb 1,000 times by the program itself, while ctl does, too."""
    run = Run(results, scratch, program, 'inside', 'busy', str(THREADS),
              rounds=ROUNDS, **RING)
    for verb in ('stop', 'mark', 'clear', 'start') * 3:
        code, _, errors, _ = run.ctl(verb, *(['m'] if verb == 'mark' else []))
        results.check(code == 0, 'ctl %s meanwhile' % verb, [code, errors])
    control = run.open()
    results.check(support.wait_for(
        lambda: collections.Counter(kind for kind, *_ in control.actions())[
            START] >= ROUNDS + 3), 'the rounds are over')
    code, _, errors, _ = run.ctl('start')
    results.check(code == 0, 'ctl start after the rounds', [code, errors])
    snapshot = os.path.join(run.folder, 'snapshot')
    for number in range(2):
        code, text, errors, _ = run.ctl('snapshot',
                                        programs.windows_path(snapshot))
        results.check(code == number and ('16 stores' in text) == (code == 0),
                      'snapshot %d' % number, [code, text, errors])
    code, rows, text = support.verify(snapshot)
    results.check(code in (0, 2) and len(rows) == 2 * THREADS and
                  all(row['bad'] == '0' and row['state'] == 'closed'
                      for row in rows.values()),
                  'the snapshot is good', [code, text[-600:]])
    code, text, errors = support.reader('report', '--all', '--csv',
                                        programs.windows_path(snapshot))
    results.check(code == 0 and 'Branch' in text,
                  'report of the snapshot', [code, errors, text[-600:]])
    results.equal(Control(snapshot).seen(), [], 'nobody follows a snapshot')
    calls = run.finish()
    run.check_sums(calls)

    # A place whose writer had no processor for a second was given up, and the
    # action was written behind it.
    counts = collections.Counter(kind for kind, *_ in control.actions()
                                 if kind != VOID)
    results.check(counts == {START: ROUNDS + 4, STOP: ROUNDS + 3,
                             CLEAR: ROUNDS + 3, MARK: ROUNDS + 3},
                  'every action is there', counts)


def stack_levels(path):
    """How many stack pointers the entries of a store have."""
    return len({stack for _, body in trace_reader.Store(path).contents()
                for stamp, _, stack in struct.iter_unpack('<QII', body)
                if stamp and stack & 7 == trace_reader.ENTER})


def check_choosing(results, scratch, program):
    """The depth, and what is taken back, across pauses.

    The functions nest by eight stack pointers; those of the outermost are to
    be recorded, which a depth that lost count in a pause would not be.
    """
    for what, variables, levels in (
            ('depth', {'TRACER_MAX_DEPTH': '3'}, 3),
            ('depth and duration', {'TRACER_MAX_DEPTH': '4',
                                    'TRACER_MIN_DURATION': '1us'}, 4),
            ('duration', {'TRACER_MIN_DURATION': '1ms'}, None),
            ('neither', {}, 8)):
        run = Run(results, scratch, program, what, 'depth', '2', rounds=300,
                  **RING, **variables)
        control = run.open()
        results.check(support.wait_for(
            lambda control=control: sum(
                kind == START for kind, *_ in control.actions()) >= 300),
            what + ': the rounds are over')

        # Recording is on.  Both ways each thread has a whole call of the
        # outermost function, which is 254 events.
        threads = run.find_busy(Store.events, 2)
        run.wait_for_more(threads, 'recorded',
                          lambda store: store.chosen() // 4)
        run.follow(threads, control.append(STOP))
        run.wait_for_more(threads, 'left out', Store.left_out)
        run.follow(threads, control.append(START))
        calls = run.finish()
        stores = run.check_sums(calls)
        busy = [stores[thread] for thread, number in calls.items()
                if number > 2]
        if levels:
            results.equal({stack_levels(store.path) for store in busy},
                          {levels}, what + ': levels that are recorded')
        if 'duration' in what:
            results.check(sum(store.taken_back for store in busy) > 0,
                          what + ': calls are taken back')


def tree_calls(path):
    """The calls in all nodes of a tree."""
    with open(path, 'rb') as file:
        data = file.read()
    nodes, count = struct.unpack_from('<QQ', data, 0x1c8)
    return sum(struct.unpack_from('<Q', data, nodes + 128 * index)[0]
               for index in range(count))


def cleared_calls(path):
    """The calls that clearings took out of the nodes."""
    with open(path, 'rb') as file:
        return struct.unpack_from('<Q', file.read(4096), 0x1f8)[0]


def check_tree_clears(results, scratch, program):
    """Without pauses the sum is exact: calls in nodes, and cleared ones."""
    run = Run(results, scratch, program, 'tree clears', 'busy', str(THREADS),
              TRACER_MODE='tree', TRACER_MAX_BYTES='1M')
    control = run.open()
    clears = 100
    for _ in range(clears):
        control.append(CLEAR)
        time.sleep(0.005)

    # A thread may have had no processor so far: none is left out.
    def are_cleared():
        paths = support.stores(run.session)
        if sum(cleared_calls(path) > 0 for path in paths) >= THREADS:
            return True
        control.append(CLEAR)
        time.sleep(0.05)
        return False
    results.check(support.wait_for(are_cleared), 'trees: all are cleared')
    calls = run.finish()
    stores = {store.thread: store for store in read_stores(run.session)}
    results.equal({thread: 2 * (tree_calls(stores[thread].path) +
                                cleared_calls(stores[thread].path))
                   for thread in calls}, calls,
                  'trees: calls add up across clears')
    busy = [stores[thread] for thread, number in calls.items() if number > 2]
    results.check(busy and all(store.clear and
                               cleared_calls(store.path) > 0
                               for store in busy),
                  'trees: they were cleared')


def check_trees(results, scratch, program):
    """Trees: what is cleared is gone, so first there are only pauses.

    A pause may begin or end between a call's entry and its exit, so that the
    sum is good to one call for each frame that was open then.
    """
    pauses = 20
    for what, rounds in (('tree paused', 0), ('tree cleared', ROUNDS // 4)):
        run = Run(results, scratch, program, what, 'busy', str(THREADS),
                  rounds=rounds, TRACER_MODE='tree', TRACER_MAX_BYTES='1M')
        control = run.open()
        if rounds:
            results.check(support.wait_for(
                lambda control=control: sum(
                    kind == START for kind, *_ in control.actions()) >=
                rounds), what + ': the rounds are over')

            # A thread may have had no processor in any of their pauses.
            busy = run.find_busy(
                lambda store: tree_calls(store.path) + store.left_out(),
                THREADS)
            run.follow(busy, control.append(STOP))
            run.wait_for_more(busy, 'left out', Store.left_out)
            run.follow(busy, control.append(CLEAR))
            run.follow(busy, control.append(START))
            run.wait_for_more(busy, 'counted',
                              lambda store: tree_calls(store.path))
        else:
            busy = run.find_busy(lambda store: tree_calls(store.path), THREADS)
            for _ in range(pauses):
                run.follow(busy, control.append(STOP))
                run.wait_for_more(busy, 'left out', Store.left_out)
                control.append(START)
                time.sleep(0.005)
        snapshot = programs.windows_path(os.path.join(run.folder, 'copy'))
        code, _, errors, _ = run.ctl('snapshot', snapshot)
        results.check(code == 0, what + ': snapshot', [code, errors])
        code, text, errors = support.reader('report', '--all', '--csv',
                                            snapshot)
        results.check(code == 0 and 'Branch' in text and
                      'bad nodes' not in errors,
                      what + ': report of the snapshot', [code, errors])
        calls = run.finish()
        stores = {store.thread: store for store in read_stores(run.session)}
        results.check(set(calls) <= set(stores), what + ': stores')
        if rounds:
            results.check(all(store.clear and store.paused and not store.lost
                              for thread, store in stores.items()
                              if calls.get(thread, 0) > 2),
                          what + ': cleared and paused')
            continue
        for thread, number in calls.items():
            store = stores[thread]
            seen = 2 * tree_calls(store.path) + store.paused
            results.check(abs(seen - number) <= 8 * pauses and
                          not store.lost and
                          (number == 2 or store.paused > 8 * pauses),
                          '%s: %d events, %d seen, %d paused' %
                          (what, number, seen, store.paused))


def check_across(results, scratch, program):
    """An exit does not take back another call's entry from before a pause."""
    for duration in ('0', '1s'):
        folder = os.path.join(scratch, 'across-' + duration)
        results.equal(support.run(program, 'across', directory=folder,
                                  TRACER_MIN_DURATION=duration), (0, ''),
                      'across: output')
        store, = read_stores(support.sessions(folder)[0])
        results.equal((store.records, store.paused, store.taken_back,
                       store.lost), (2, 2, 0, 0),
                      'across a pause, calls of less than ' + duration)


def check_marks(results, scratch, program):
    folder = os.path.join(scratch, 'marks')
    code, text = support.run(program, 'marks', directory=folder)
    off = support.run(program, 'marks', TRACER_ENABLED='0')
    results.check((code, text) == off and text.endswith(' 4711\n'),
                  'marks: output and last error', [code, text, off])
    session = support.sessions(folder)[0]
    actions = Control(session).actions()
    store, = read_stores(session)
    umlauts = '\u00e4'.encode() * 47 + b'a'
    results.equal([(kind, thread, text) for kind, thread, _, text in actions],
                  [(MARK, store.thread, b'before all'),
                   (NAME, store.thread, 'the first \u20ac'.encode()),
                   (STOP, store.thread, b''), (START, store.thread, b''),
                   (CLEAR, store.thread, b''),
                   (MARK, store.thread, umlauts)], 'marks: the actions')
    results.check(len(umlauts) == 95, 'marks: a text is cut at a character')
    results.equal(store.name.decode(), 'the first \u20ac', 'marks: the name')
    results.equal((store.paused, store.lost, store.actions, store.clear),
                  (80, 0, 6, actions[4][2]), 'marks: what is left out')
    stamps = [stamp for _, _, stamp, _ in actions]
    results.equal(stamps, sorted(stamps), 'marks: the times grow')
    times = [stamp for _, body in
             trace_reader.Store(support.stores(session)[0]).contents()
             for stamp, _, _ in struct.iter_unpack('<QII', body)]
    between = collections.Counter(
        sum(stamp < time for stamp in stamps) for time in times)
    results.equal([between[index] for index in range(1, 6)],
                  [20, 40, 0, 160, 320],
                  'marks: calls between the actions')


def read_marks(session):
    """The texts of a control file's marks, and the other kinds, in order."""
    with open(os.path.join(session, 'session.control'), 'rb') as file:
        data = file.read()
    claimed, left_out = struct.unpack_from('<I', data, 0x1c)[0], \
        struct.unpack_from('<Q', data, 0x20)[0]
    marks, others = collections.Counter(), []
    for offset in range(4096, 4096 + 128 * claimed, 128):
        kind = data[offset]
        if kind == MARK:
            length = data[offset + 0x18]
            marks[data[offset + 32:offset + 32 + length]] += 1
        else:
            others.append(kind)
    return marks, others, left_out


def check_many(results, scratch, program):
    """Marks do not run out, nor does the room for stop, start and clear."""
    for count, threads, variables in (
            (1000000, 1, {}),
            (9000, 8, {'TRACER_CONTROL': '64K'}),
            (9000, 8, {'TRACER_CONTROL': '64K', **RING_ONLY}),
            (9000, 8, {'TRACER_CONTROL': '100000', 'TRACER_MODE': 'tree'}),
            (2000, 8, {'TRACER_CONTROL': '64K', 'TRACER_MODE': 'tree',
                       'TRACER_CHRONO': 'Leaf'})):
        what = '%d marks of %d threads, %s' % (
            count, threads, ' '.join(sorted(variables.values())))
        folder = os.path.join(scratch, 'many')
        shutil.rmtree(folder, ignore_errors=True)
        off = support.run(program, 'many', '1', str(threads),
                          TRACER_ENABLED='0')
        began = time.monotonic()
        results.equal(support.run(program, 'many', str(count), str(threads),
                                  directory=folder, **variables), off,
                      what + ': output')
        print('%5.1f s  %s' % (time.monotonic() - began, what), flush=True)
        session = support.sessions(folder)[0]
        marks, others, left_out = read_marks(session)
        results.check(
            marks == {b'%d.%d' % (thread, number): 1
                      for thread in range(threads)
                      for number in range(count)}, what + ': all are there',
            [len(marks), sum(marks.values())])
        results.equal((others, left_out), ([STOP, START], 0),
                      what + ': what else is there')
        main = [store for store in read_stores(session) if store.paused]
        results.equal([(store.paused, store.lost) for store in main],
                      [(80, 0)], what + ': the pause is carried out')
        code, text, errors = support.reader(
            'info', '--json', programs.windows_path(session))
        data = json.loads(text)
        results.equal(
            (code, errors, [(row['marks'], row['pauses'],
                             row['actions_left_out'])
                            for row in data['control']],
             sum(row['action'] == 'mark' for row in data['actions'])),
            (0, '', [(count * threads, 1, 0)], count * threads),
            what + ': info')
        code, text, errors = support.reader('verify', '--json',
                                            programs.windows_path(session))
        results.check(code == 0 and not errors and json.loads(text)[
            'summary'][0]['actions_left_out'] == 0, what + ': verify',
                      [code, errors])


def check_idle(results, scratch, program):
    """A program that waits, and has no worker yet, is steered all the same."""
    for mode in ({}, RING_ONLY, {'TRACER_MODE': 'tree'}):
        folder = os.path.join(scratch, 'idle')
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        flag = os.path.join(folder, 'stop')
        process = support.start(program, 'idle', programs.windows_path(flag),
                                directory=folder, **mode)
        what = 'idle %s' % mode.get('TRACER_MODE', 'records')
        results.check(support.wait_for(lambda folder=folder: any(
            store.events() or 'tree' in what
            for session in support.sessions(folder)
            for store in read_stores(session))), what + ': it runs')
        session = support.sessions(folder)[0]
        if 'tree' in what:
            results.check(support.wait_for(
                lambda session=session: support.is_followed(session)),
                what + ': a worker looks')
        for verb in ('stop', 'mark', 'start', 'clear', 'stop'):
            code, text, errors, late = support.ctl(
                session, verb, *(['m'] if verb == 'mark' else []))
            seen = 'seen by 1 module\n' if 'tree' in what else \
                'seen by 0 modules; 1 idle module will follow later, with ' \
                'effect from now\n'
            results.check((code, errors) == (0, '') and
                          (text.endswith(seen) or late and 'tree' in what),
                          '%s: ctl %s' % (what, verb), [code, text, errors])
        data = json.loads(support.reader(
            'ctl', '--json', programs.windows_path(session), 'status')[1])
        results.equal([row['follows'] for row in data['instances']],
                      ['at once' if 'tree' in what else
                       'when its threads come by'], what + ': status')
        with open(flag, 'w', encoding='ascii'):
            pass
        code, text = support.finish(process)
        results.check(support.has_ended(code) and text.strip().isdigit(),
                      what + ': ends',
                      [code, text])

        #
        # The ten calls at the end came after the stop.
        #

        for option, calls in ((), 0), (('--all',), 0 if mode.get(
                'TRACER_MODE') == 'tree' else 1):
            code, text, errors = support.reader(
                'report', '--csv', *option, programs.windows_path(session))
            results.equal((code, sum(int(row['calls']) for row in
                                     csv.DictReader(io.StringIO(text)))),
                          (0, calls), '%s: report %s' % (what, option))


def is_controlled(session):
    try:
        return os.path.getsize(os.path.join(session,
                                            'session.control')) >= 65536
    except OSError:
        return False


def spins(session):
    """How many calls of Inner are recorded."""
    return sum(store.records // 2 if not store.is_tree else
               tree_calls(store.path) for store in read_stores(session))


def check_one_spin(results, scratch, program, mode, verbs, rounds):
    """What an open function has as its own is what its calls leave of it.

    Outer does nothing but call Inner, and the program knows by the time stamp
    counter what passed between these calls: Outer's own time is no more than
    that, whenever recording was stopped, cleared or started, and the time of
    its calls is never more than its own.  One call of Inner that began while
    recording was stopped is not seen.  In a busy thread's records Outer also
    has what it called from a start until the thread has noticed.
    """
    what = 'spin, %s, %s' % (mode, verbs)
    folder = os.path.join(scratch, 'spin')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    flag = os.path.join(folder, 'stop')
    variables = {'TRACER_MODE': mode} if mode != 'records' else {}
    if mode == 'ring':
        variables['TRACER_MAX_BYTES'] = '8M'
    process = support.start(program, 'spin', programs.windows_path(flag),
                            directory=folder, **variables)
    results.check(support.wait_for(lambda folder=folder: any(
        read_stores(session) and is_controlled(session)
        for session in support.sessions(folder))),
                  what + ': it runs')
    session = support.sessions(folder)[0]
    control = Control(session)
    support.wait_for(lambda session=session: spins(session) > 8)
    for _ in range(rounds):
        for kind in verbs:
            time.sleep(0.12)
            last = control.append(kind)
    results.check(support.wait_for(
        lambda session=session, last=last: all(
            store.actions > last for store in read_stores(session))),
                  what + ': followed')
    if verbs[-1] != STOP:
        before = spins(session)
        support.wait_for(lambda session=session, before=before:
                         spins(session) > before + 8)
    with open(flag, 'w', encoding='ascii'):
        pass
    code, text = support.finish(process)
    if not results.check(support.has_ended(code) and
                         len(text.split()) == 5,
                         what + ': ends', [code, text]):
        return
    inside, between, longest, elapsed, ticks = map(float, text.split())
    code, text, errors = support.reader(
        'report', '--csv', programs.windows_path(session))
    rows = [(int(row['total_ns']), int(row['self_ns']), int(row['calls']))
            for name in ('Inner', 'Outer')
            for row in csv.DictReader(io.StringIO(text))
            if row['function'] == name]
    if not results.check(code == 0 and len(rows) == 2,
                         what + ': report', [code, errors, text]):
        return
    (inner, own, calls), (outer, left, once) = rows
    scale = elapsed / ticks
    most = 1.02 * scale * (between + (longest if START in verbs else 0))
    print('%s: Outer %.1f ms, of it in Inner %.1f ms, at most %.1f ms not' %
          (what, outer / 1e6, inner / 1e6, most / 1e6), flush=True)
    exact = mode == 'tree' or START not in verbs
    results.check(once == 1 and calls > 1 and own == inner and
                  abs(outer - inner - left) <= 1 and
                  inner <= 1.02 * scale * (inside + between) and
                  (left <= most or not exact),
                  what + ': times', [rows, inside * scale, most])


def check_spin(results, scratch, program):
    """Between what the program measures itself and the hook a thread may lose
    its processor to others: what is so three times is so."""
    for mode, verbs, rounds in (('tree', (STOP,), 1),
                                ('tree', (STOP, CLEAR, START), 3),
                                ('tree', (CLEAR,), 3),
                                ('records', (STOP,), 1),
                                ('records', (CLEAR,), 3),
                                ('ring', (CLEAR,), 3),
                                ('records', (STOP, CLEAR, START), 3)):
        for _ in range(3):
            trial = programs.Results()
            check_one_spin(trial, scratch, program, mode, verbs, rounds)
            if not trial.failed:
                break
        results.passed += trial.passed
        results.failed += trial.failed


def check_threads(results, scratch, program):
    """Stores that are opened while recording is stopped begin paused."""
    folder = os.path.join(scratch, 'threads')
    code, text = support.run(program, 'threads', '120', directory=folder)
    results.equal((code, text), (0, 'done\n'), 'threads: output')
    stores = [store for store in read_stores(support.sessions(folder)[0])]
    wanted = collections.Counter([100, 110, 100, 100] * 30)
    seen = collections.Counter(store.events() for store in stores
                               if store.events() >= 100)
    results.equal(seen, wanted, 'threads: recorded and left out add up')
    results.check(any(store.paused >= 100 and not store.records
                      for store in stores) and
                  any(store.records >= 100 and not store.paused
                      for store in stores), 'threads: some begin paused')


def check_refusals(results, scratch, program):
    """What ctl says where it cannot help; and a place that is left empty."""
    run = Run(results, scratch, program, 'without', 'busy', '1',
              TRACER_CONTROL='0', TRACER_MODE='ring', TRACER_MAX_BYTES='1M')
    code, text, errors, _ = run.ctl('stop')
    results.check(code == 1 and not text and 'has no control file' in errors
                  and 'TRACER_CONTROL=0' in errors, 'ctl without a file',
                  [code, text, errors])
    code, text, errors, _ = run.ctl('status')
    results.check(code == 0 and 'not controlled' in text,
                  'status without a file', [code, text, errors])
    run.finish()

    run = Run(results, scratch, program, 'full', 'busy', '1',
              TRACER_CONTROL='64K', TRACER_MODE='ring', TRACER_MAX_BYTES='1M')
    control = run.open()
    results.equal(control.capacity, 480, 'full: capacity')

    #
    # Somebody claims a place and is gone: what follows counts a second later.
    #

    busy = run.find_busy(Store.chosen, 1)
    hole = control.claim()
    number = control.append(STOP)
    results.check(support.wait_for(lambda: min(control.seen()) > number),
                  'full: a place that is left empty')
    results.equal(control.word(4096 + 128 * hole), VOID,
                  'full: it is given up')
    run.wait_for_more(busy, 'left out', Store.left_out)

    # Where ctl itself is so late, it takes the next place.
    number = control.claimed()
    support.put(control.map, 4096 + 128 * number, 'I', VOID)
    code, text, errors, late = run.ctl('mark', 'behind')
    results.check((code, errors) == (0, '') and
                  (text.startswith('mark: action %d,' % (number + 1)) or late),
                  'full: a place that ctl has lost', [code, text, errors])
    results.equal([kind for kind, *_ in control.actions()[number:]],
                  [VOID, MARK], 'full: it takes the next one')
    while control.claimed() < 479:
        control.append(MARK, b'mark')

    #
    # The file grows: a mark needs more room than a start.
    #

    sizes = [os.path.getsize(control.path)]
    for verb, place in (('start', 479), ('stop', 480), ('mark', 481),
                        ('start', 482)):
        code, text, errors, late = run.ctl(
            verb, *(['m'] if verb == 'mark' else []))
        results.check((code, errors) == (0, '') and
                      (text.startswith('%s: action %d,' % (verb, place)) or
                       late and control.claimed() == place + 1),
                      'ctl where there was no room', [code, text, errors])
        sizes.append(os.path.getsize(control.path))
    results.check(sizes == sorted(sizes) and sizes[0] == 65536 < sizes[-1],
                  'full: it grows', sizes)
    calls = run.finish()
    run.check_sums(calls)

    for arguments, words in ((('halt',), 'unknown verb halt'),
                             (('mark',), 'needs TEXT'),
                             (('snapshot',), 'needs DIR'),
                             (('stop', 'it'), 'stop takes no argument: it')):
        code, text, errors, _ = run.ctl(*arguments)
        results.check(code == 1 and not text and words in errors,
                      'ctl %s' % ' '.join(arguments), [code, errors])

    #
    # A file that is damaged is refused, and harms nobody.
    #

    path = os.path.join(run.session, 'session.control')
    with open(path, 'rb') as file:
        data = file.read()
    for what, damaged in (('magic', b'X' + data[1:]),
                          ('version', data[:8] + b'\x09' + data[9:]),
                          ('process', data[:12] + b'\xff\xff' + data[14:]),
                          ('short', data[:4000]), ('empty', b''),
                          ('capacity', data[:0x18] + b'\xff' * 8 +
                           data[0x20:]),
                          ('texts', data[:4096] + b'\xff' * 61440)):
        with open(path, 'wb') as file:
            file.write(damaged)
        code, _, errors, _ = run.ctl('status')
        results.check(code == (0 if what in ('capacity', 'texts') else 1) and
                      (code == 0 or '0xC0000098' in errors),
                      'a damaged control file: ' + what, [code, errors])


def undefined(path):
    text = programs.run([programs.NM, '-u', path])[1]
    return sorted(set(re.findall(r'Penter\w+', text)))


def check_header(results, scratch):
    """Penter.h leaves nothing without TRACER_PENTER, in C and C++."""
    source = os.path.join(programs.PROGRAMS, 'Control.c')
    folder = os.path.join(scratch, 'header')
    os.makedirs(folder)
    shutil.copy(source, os.path.join(folder, 'Control.c'))
    small = os.path.join(folder, 'Small.c')
    with open(small, 'w', encoding='ascii') as file:
        file.write('#include "Penter.h"\n#include "Penter.h"\n'
                   'int Called(void);\n'
                   'void All(const char *Text)\n{\n'
                   '    PenterMark(Called() ? Text : "");\n'
                   '    PenterNameThread(Text);\n    PenterStop();\n'
                   '    if (Text)\n        PenterStart();\n    else\n'
                   '        PenterClear();\n}\n')
    clang = ['clang-19', '--driver-mode=cl',
             '--target=x86_64-pc-windows-msvc', '/nologo', '/W4', '/WX',
             '/c', '/Zl']
    gcc = [programs.GCC, '-Wall', '-Wextra', '-Werror', '-pedantic', '-c']
    all_names = ['PenterClear', 'PenterMark', 'PenterNameThread',
                 'PenterStart', 'PenterStop']
    for name, command, output in (
            ('gcc', [*gcc, '-x', 'c', '-std=c99'], ['-o']),
            ('g++', [*gcc, '-x', 'c++', '-std=c++11'], ['-o']),
            ('clang-cl', [*clang, '/TC'], ['/Fo']),
            ('clang-cl C++', [*clang, '/TP'], ['/Fo'])):
        for define in ([], ['-DTRACER_PENTER']):
            target = os.path.join(folder, 'Small.obj')
            place = ([*output, target] if output == ['-o'] else
                     [output[0] + target])
            # clang-cl takes a path that begins with /w or /t for an option.
            end = ['--'] if 'cl' in name else []
            done = subprocess.run([*command, *define, '-I' + PENTER, *place,
                                   *end, small], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            results.check(done.returncode == 0,
                          'Penter.h: %s %s' % (name, define),
                          [done.stdout.decode(errors='replace')[-500:]])
            called = programs.run([programs.NM, '-u', target])[1]
            results.equal((undefined(target), 'Called' in called),
                          ([each + 'Gnu' * ('cl' not in name)
                            for each in all_names] if define else [],
                           bool(define)),
                          'Penter.h: references: %s %s' % (name, define))

    #
    # A DLL exports none of it.
    #

    target = os.path.join(folder, 'Small.dll')
    stub = os.path.join(folder, 'Stub.c')
    with open(stub, 'w', encoding='ascii') as file:
        file.write('int Called(void)\n{\n    return 1;\n}\n')
    for library in ('TracerPenter.lib', 'TracerPenterNull.lib'):
        subprocess.run([programs.GCC, '-DTRACER_PENTER', '-I' + PENTER,
                        '-shared', small, stub,
                        os.path.join(programs.BIN, library), '-o', target],
                       check=True)
        text = programs.run(['x86_64-w64-mingw32-objdump', '-p', target])[1]
        exports = set(re.findall(r'^\s+\[\s*\d+\].*\s(\w+)$',
                                 text.split('[Ordinal/Name Pointer]')[-1],
                                 re.M))
        results.check({'All', 'Called'} <= exports and
                      not any('enter' in name for name in exports),
                      'exports of a DLL with ' + library, sorted(exports))


def main():
    results = programs.Results()
    flags = [*programs.PENTER_FLAGS, '-DTRACER_PENTER']
    with programs.Scratch() as scratch:
        build_clock(scratch)
        program = build(scratch, 'penter', *flags)
        null = build(scratch, 'null', *flags, library=os.path.join(
            programs.BIN, 'TracerPenterNull.lib'))
        plain = programs.build(
            os.path.join(scratch, 'plain'),
            [os.path.join(programs.PROGRAMS, 'Control.c')], ['-I' + PENTER],
            'Control.exe')
        timed(check_header, results, scratch)
        timed(check_marks, results, scratch, program)
        for verb, code in (('few', 0), ('leave', 42)):
            outcomes = [support.run(path, verb, directory=os.path.join(
                scratch, 'plain-' + verb)) for path in (plain, null, program)]
            results.check(outcomes[0][0] == code and outcomes[1:] ==
                          outcomes[:1] * 2, '%s: untraced, without a library '
                          'behind it, traced' % verb, outcomes)
        checks = [check_across, check_threads, check_many, check_idle,
                  check_spin, check_refusals, check_choosing, check_trees,
                  check_tree_clears]
        if programs.LONG:
            checks += [check_outside, check_inside]
        for check in checks:
            timed(check, results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

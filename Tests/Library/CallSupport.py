"""What the tests of the commands that look at single calls have in common:
made-up sessions of two modules, and all their calls as trace_reader.py pairs
them.

The stores' clock has a tick each nanosecond.  A thread that calls both modules
has a store for each; the same records also go into one store that only the
tests read, in which the second module's functions are FAR away.
"""

import collections
import json
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

STEP, FIRST = filters.STEP, filters.FIRST
FAR = 0x80000
MODULES = 'game.exe', 'plug.dll'

# Functions by number; the two modules have some names in common.
NAMES = [(0, 'main'), (0, 'Update'), (0, 'Draw'), (0, 'DrawAll'),
         (0, 'Load<int>'), (1, 'Load<int>'), (1, 'Init'), (1, 'Update'),
         (0, 'Größe'), (0, 'operator!='), (1, 'Plug')]

Call = collections.namedtuple(
    'Call', 'thread path begin end elapsed self how child')


def random_calls(numbers, count, time=1000, functions=NAMES):
    """Records as made.record takes them: durations of all magnitudes; some
    calls are left, and some are open at the end."""
    records, stack = [], []
    while len(records) < count:
        time += int(10 ** numbers.uniform(0.1, numbers.choice((2, 2, 3, 5))))
        chance = numbers.random()
        if chance < 0.02 and stack:
            del stack[-numbers.randrange(1, 3):]
        elif (chance < 0.54 and len(stack) < 9) or not stack:
            top = stack[-1][1] if stack else made.TOP - 0x100
            stack.append((numbers.randrange(len(functions)), top - 64))
            records.append((time, rva(stack[-1][0]), stack[-1][1],
                            made.ENTER))
        else:
            function, place = stack.pop()
            records.append((time, rva(function) + 9, place, made.EXIT))
    return records


def with_fiber(numbers, count):
    """Records of a thread that runs a fiber now and then."""
    streams = [random_calls(numbers, count), [
        (time, place, rsp - made.TOP + made.FIBER + 0x10000, kind)
        for time, place, rsp, kind in random_calls(numbers, count)]]
    records, time, done, turn = [], 1000, [0, 0], 0
    while done[turn] < count:
        for _ in range(numbers.randrange(1, 60)):
            if done[turn] < count:
                record = streams[turn][done[turn]]
                before = streams[turn][max(done[turn] - 1, 0)]
                time += record[0] - before[0] + 1
                records.append((time,) + record[1:])
                done[turn] += 1
        turn = 1 - turn
    return records


def rva(function):
    return FIRST + function * STEP + FAR * NAMES[function][0]


class Session:
    """A session in folder: threads is a list of records, thread N + 1 each.

    modules are the files' names; keep says which functions there are symbols
    of.  session is the path as Windows programs spell it.
    """

    def __init__(self, folder, threads, modules=MODULES, changes=None):
        self.folder = os.path.join(folder, 'session')
        self.modules, self.threads = modules, range(1, len(threads) + 1)
        whole = os.path.join(folder, 'whole')
        os.makedirs(self.folder)
        os.makedirs(whole)
        program = programs.windows_path(
            os.path.join(folder, modules[0])).encode()
        fields = {}
        for number, module in enumerate(modules):
            path = os.path.join(folder, module)
            data, size = filters.image(
                [name if home == number else 'none%d' % index
                 for index, (home, name) in enumerate(NAMES)])
            with open(path, 'wb') as file:
                file.write(data)
            path = programs.windows_path(path).encode()
            fields[number] = {
                'at0x80': struct.pack('<II', 1, 0),
                'at0x120': struct.pack('<Q', made.BASE + (number << 32)),
                'at0x128': struct.pack('<II', size, 0x12345678),
                'at0x148': struct.pack('<4I', len(path), len(path),
                                       len(program), len(program)),
                'at0x200': path, 'at0x620': program, **(changes or {})}
        self.stores = []
        for thread, records in enumerate(threads, 1):
            thread_id = {'at0x1C': struct.pack('<I', thread)}
            self.stores.append(made.write(
                os.path.join(whole, '%d.trace' % thread), records,
                **thread_id))
            for number, module in enumerate(modules):
                mine = [(time, place - FAR * number, rsp, kind)
                        for time, place, rsp, kind in records
                        if (place >= FAR) == number]
                if mine:
                    made.write(os.path.join(self.folder, '%s-%d-0.trace' %
                                            (module, thread)), mine,
                               **fields[number], **thread_id)
        self.busy = {}      # by thread, once there are calls()
        self.session = programs.windows_path(self.folder)
        self.first = min(records[0][0] for records in threads)
        self.last = max(records[-1][0] for records in threads)

    def run(self, command, *arguments):
        return support.reader(command, *arguments, self.session)

    def json(self, results, command, *arguments):
        code, text, errors = self.run(command, '--json', *arguments)
        if not results.check(code == 0 and text[:1] == '{',
                             '%s %s' % (command, arguments), [code, errors]):
            return {}
        return json.loads(text)

    def calls(self):
        """All calls, as the other reader pairs them."""
        found = []
        for thread, path in enumerate(self.stores, 1):
            watch, functions = Watch(thread), {}
            trace_reader.pair(trace_reader.Store(path), functions, None,
                              watch)
            self.busy[thread] = watch.busy
            names = {id(function): NAMES[(place % FAR - FIRST) // STEP]
                     for place, function in functions.items()}
            for call in watch.calls:
                found.append(call._replace(
                    path=tuple(names[one] for one in call.path),
                    child={names[one]: ticks
                           for one, ticks in call.child.items()}))
        return found


class Watch:
    """Notes each call that ends, and the time with an open call on the stack
    that ran, for trace_reader.pair."""

    def __init__(self, thread):
        self.thread, self.calls, self.children = thread, [], {}
        self.busy = self.time = 0

    def record(self, stamp, _, current, __):
        if current.frames:
            self.busy += stamp - self.time
        self.time = stamp

    def enter(self, frames):
        self.children[id(frames[-1])] = collections.Counter()

    def leave(self, frames, time, how, _):
        _, _, begin, inner, function, _ = frames[-1]
        elapsed = max(time - begin, 0)
        if len(frames) > 1:
            self.children[id(frames[-2])][id(function)] += elapsed
        self.calls.append(Call(
            self.thread, tuple(id(frame[4]) for frame in frames), begin, time,
            elapsed, max(elapsed - inner, 0), how,
            self.children.pop(id(frames[-1]))))


def exact(durations, share):
    """The share-th percentile of sorted numbers: the nearest rank."""
    rank = -(-len(durations) * share // 1000)
    return durations[max(rank, 1) - 1]


def is_near(shown, durations, share):
    """Is a shown percentile as exact as it is to be?"""
    right = exact(durations, share)
    return right <= shown <= min(right + right // 32, durations[-1])

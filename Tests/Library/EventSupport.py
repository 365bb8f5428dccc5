"""What the tests of exports that hold every call have in common.

An event is (kind, function, time, mark): kind is 'B' or 'E', time is in
nanoseconds (or ticks) after the session's first record, mark is None or one of
begun_before, continued, abandoned, unfinished.  A track is named as in the
files: 'Thread 7 (name), fiber 1'.
"""

import collections
import json
import os
import random
import struct

import StoreSupport as support
import TestFilters as filters
import MadeStores as made
from StoreSupport import programs, trace_reader

#
# Made-up sessions.  A tick is a nanosecond.
#


class Raw(bytes):
    """A name for filters.image that is not UTF-8."""

    def encode(self):
        return bytes(self)


NAMES = ['Outer', 'Inner', 'a "quoted" \\ name', 'Map<int,long>::Find',
         'Grüße', '文字列 🙂', 'semi;colon', 'tab\tand\nline', '\x7fdel',
         'x' * 300, '{"ph":"B"},', Raw(b'bad \xff\xc3 utf'), "it's", '%s%n']

# The name as every export shows it: a byte that is not UTF-8 is a question
# mark, and so is a control character.
SHOWN = [name if isinstance(name, str) else
         name.decode('utf-8', 'replace').replace('\ufffd', '?')
         for name in NAMES]
SHOWN = [''.join('?' if ord(each) < 0x20 or ord(each) == 0x7f else each
                 for each in name) for name in SHOWN]

THREAD_NAME = 'the "main" \\ thread ü'


def resolve(rva):
    return SHOWN[(rva - filters.FIRST) // filters.STEP]


def random_records(numbers, count, time, steps=(0, 0, 1, 2, 5, 300, 4000),
                   fibers=0, functions=None):
    """Records of random calls: recursion, calls without any time, some that
    are left without an exit or stay open, exits without an entry, fibers."""
    tops = [made.TOP - 0x100] + [made.FIBER + 0x100000 * number
                                 for number in range(fibers)]
    stacks, current, records = [[] for _ in tops], 0, []
    functions = range(len(NAMES)) if functions is None else functions
    while len(records) < count:
        time += numbers.choice(steps)
        if fibers and numbers.random() < 0.1:
            current = numbers.randrange(len(tops))
        stack, chance = stacks[current], numbers.random()
        if chance < 0.01 and stack:
            del stack[-numbers.randrange(1, 3):]
        elif chance < 0.015 and not stack and not fibers:
            records.append((time, filters.FIRST + 9, tops[0] - 8, made.EXIT))
        elif (chance < 0.53 and len(stack) < 12) or not stack:
            place = (stack[-1][1] if stack else tops[current]) - 64
            stack.append((numbers.choice(functions), place))
            records.append((time, filters.FIRST + stack[-1][0] * filters.STEP,
                            place, made.ENTER))
        else:
            function, place = stack.pop()
            records.append((time,
                            filters.FIRST + function * filters.STEP + 9,
                            place, made.EXIT))
    return records


def make_session(folder, threads, **changes):
    """filters.make_session, with a name for thread 1."""
    session = filters.make_session(folder, NAMES, threads)
    for number in range(1, len(threads) + 1):
        path = os.path.join(session, 'made-up.exe-%d-0.trace' % number)
        with open(path, 'r+b') as file:
            for offset, value in changes.items():
                file.seek(int(offset[2:], 16))
                file.write(value)
            if number == 1:
                name = THREAD_NAME.encode()
                file.seek(0x168)
                file.write(struct.pack('<II', len(name), len(name)))
                file.seek(0xF60)
                file.write(name)
    return session


class Watch:
    """Notes what trace_reader.pair does, as events by fiber."""

    def __init__(self, first):
        self.first = first
        self.events = collections.defaultdict(list)
        self.stacks = None

    def record(self, _stamp, stacks, *_):
        self.stacks = stacks

    def note(self, frames, kind, time, mark):
        fiber, = [number for number, stack in enumerate(self.stacks)
                  if stack.frames is frames]
        self.events[fiber].append((kind, id(frames[-1][4]),
                                   time - self.first, mark))

    def enter(self, frames):
        self.note(frames, 'B', frames[-1][2], None)

    def leave(self, frames, time, how, _jumps):
        self.note(frames, 'E', time, {'completed': None, 'open': 'unfinished',
                                      'abandoned': 'abandoned'}[how])


def track_name(store, fiber):
    name = 'Thread %d' % store.ThreadId
    with open(store.path, 'rb') as file:
        file.seek(0x168)
        length, = struct.unpack('<I', file.read(4))
        file.seek(0xF60)
        text = file.read(length).decode()
    return '%s%s%s' % (name, ' (%s)' % text if text else '',
                       ', fiber %d' % fiber if fiber else '')


def read_events(session):
    """What trace_reader.py finds in a made-up session: (track -> events,
    thread of a track -> times of its records)."""
    stores = trace_reader.open_all([session])
    times = {store.ThreadId: [record[0] for record in store.records()]
             for store in stores}
    first = min(map(min, times.values()))
    tracks, records = {}, {}
    for store in stores:
        functions, watch = {}, Watch(first)
        trace_reader.pair(store, functions, resolve, watch)
        names = {id(function): name for name, function in functions.items()}
        for fiber, events in watch.events.items():
            name = track_name(store, fiber)
            tracks[name] = [(kind, names[function], time, mark)
                            for kind, function, time, mark in events]
            records[name] = [time - first for time in times[store.ThreadId]]
    return tracks, records


def clip(tracks, records, start, end):
    """What --from and --to leave of the tracks."""
    clipped = {}
    for name, events in tracks.items():
        inside, stack, begun = [], [], False
        if records[name][-1] < start:
            continue
        last = end if records[name][-1] > end else records[name][-1]
        for event in events:
            if event[2] >= start and not begun:
                inside += [('B', function, start, 'begun_before')
                           for function in stack]
                begun = True
            if event[2] > end:
                break
            if event[0] == 'B':
                stack.append(event[1])
            else:
                stack.pop()
            if begun:
                inside.append(event)
        if not begun:
            inside += [('B', function, start, 'begun_before')
                       for function in stack]
        inside += [('E', function, last, 'unfinished')
                   for function in reversed(stack)]
        if inside:
            clipped[name] = inside
    return clipped


def select(tracks, keep):
    """The events of functions for which keep(name) is true."""
    kept = {name: [event for event in events if keep(event[1])]
            for name, events in tracks.items()}
    return {name: events for name, events in kept.items() if events}


def without_marks(tracks):
    return {name: [event[:3] for event in events]
            for name, events in tracks.items()}


def weights(tracks):
    """Function -> [calls, total, self], recursion counted once a track."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for events in tracks.values():
        stack = []
        for kind, function, time, _ in events:
            if kind == 'B':
                stack.append([function, time, 0])
                sums[function][0] += 1
                continue
            name, begun, inner = stack.pop()
            if name != function:
                raise ValueError('%r ends in %r' % (function, name))
            if all(frame[0] != name for frame in stack):
                sums[name][1] += time - begun
            sums[name][2] += time - begun - inner
            if stack:
                stack[-1][2] += time - begun
        if stack:
            raise ValueError('%d calls do not end' % len(stack))
    return dict(sums)


def problems(tracks):
    """What is not nested or not in the order of time."""
    found = []
    try:
        weights(tracks)
    except (ValueError, IndexError) as error:
        found.append(error)
    for name, events in tracks.items():
        times = [event[2] for event in events]
        if times != sorted(times):
            found.append('%s: not in the order of time' % name)
    return found


def differences(found, expected):
    """The first of what is not the same, for a message."""
    lines = []
    for name in sorted(set(found) | set(expected)):
        left, right = found.get(name, []), expected.get(name, [])
        if left != right:
            lines.append('%s: %d events, %d expected' % (name, len(left),
                                                         len(right)))
            lines += [(index, pair) for index, pair in enumerate(
                zip(left, right)) if pair[0] != pair[1]][:2]
    return lines


def join(parts):
    """The tracks of several files as one, and what is wrong in them."""
    joined, wrong, ended = {}, [], {}
    for number, tracks in enumerate(parts):
        wrong += ['part %d: %s' % (number + 1, each)
                  for each in problems(tracks)]
        open_again = {}
        for name, events in tracks.items():
            for event in events:
                if event[3] != 'continued':
                    joined.setdefault(name, []).append(event)
                elif event[0] == 'B':
                    open_again.setdefault(name, []).append(event[1:3])
        if {name: each[::-1] for name, each in ended.items()} != open_again:
            wrong.append('part %d does not begin as the one before ends' %
                         (number + 1))
        ended = {}
        for name, events in tracks.items():
            for event in events:
                if event[0] == 'E' and event[3] == 'continued':
                    ended.setdefault(name, []).append(event[1:3])
    if ended:
        wrong.append('the last part goes on')
    return joined, wrong


#
# Running TraceReader.
#


class Exporter:
    """TraceReader export on one session."""

    def __init__(self, results, scratch, session, what):
        self.results, self.scratch, self.what = results, scratch, what
        self.session = programs.windows_path(session)
        self.number = 0

    def export(self, form, *arguments, code=0, extension='.out'):
        """The paths of the files and what was said, or ([], ...)."""
        self.number += 1
        folder = os.path.join(self.scratch, '%s-%d-%s' % (
            form, self.number, self.what.replace(' ', '-')))
        os.makedirs(folder)
        path = os.path.join(folder, 'calls.v1' + extension)
        found, text, errors = support.reader(
            'export', '--format', form, '-o', programs.windows_path(path),
            *arguments, self.session)
        names = ['calls.v1%s%s' % ('-%d' % number if number > 1 else '',
                                   extension)
                 for number in range(1, len(os.listdir(folder)) + 1)]
        self.results.check(
            found == code and text == '' and
            sorted(names) == sorted(os.listdir(folder)),
            '%s: export %s %s' % (self.what, form, arguments),
            [found, text, errors, os.listdir(folder)])
        return [os.path.join(folder, name) for name in names], errors

    def json(self, command, *arguments):
        code, text, errors = support.reader(command, '--json', *arguments,
                                            self.session)
        self.results.equal(code, 0, '%s %s' % (command, errors))
        return json.loads(text)


def without_anchors(session, copy):
    """Copies a session without its clock: all times are then ticks, and do not
    depend on when the reader reads it."""
    os.makedirs(copy)
    for path in support.stores(session):
        with open(path, 'rb') as file:
            data = bytearray(file.read())
        data[0x0E0:0x120] = bytes(0x40)
        with open(os.path.join(copy, os.path.basename(path)), 'wb') as file:
            file.write(data)
    return copy


def replayed(rows):
    """The events of replay --json, as tracks."""
    tracks = {}
    for row in rows:
        if row['event'] == 'unmatched':
            continue
        name = 'Thread %d' % row['thread_id']
        if row['fiber']:
            name += ', fiber %d' % row['fiber']
        time = row.get('time_ns', row.get('time_ticks'))
        mark = {'open': 'unfinished'}.get(row['event'], row['event'])
        tracks.setdefault(name, []).append(
            ('B' if mark == 'enter' else 'E', row['function'], time,
             None if mark in ('enter', 'exit') else mark))
    return tracks


def check_made_up(exporter, tracks, records, form, read, marks=True):
    """One format on one made-up session: all of it, ranges, filters, parts.

    read(path) gives a file's tracks.
    """
    results = exporter.results

    def compare(arguments, expected):
        paths, _ = exporter.export(form, *arguments)
        found = read(paths[0])
        wrong = problems(found)
        if not marks:
            found, expected = map(without_marks, (found, expected))
        wrong += differences(found, expected)
        results.check(not wrong and found, '%s: %s %s' % (
            exporter.what, form, arguments), wrong)
        return paths[0], found

    last = max(each[-1] for each in records.values())
    path, whole = compare([], tracks)
    middle = sorted(time for each in records.values() for time in each)
    middle = middle[len(middle) // 2]
    for start, end in ((last // 3, last * 2 // 3), (middle, middle + 1),
                       (0, middle), (last * 9 // 10, last * 3)):
        arguments = ['--from', str(start), '--to', str(end)]
        if start == 0:
            del arguments[:2]
        compare(arguments, clip(tracks, records, start, end) if start else {
            name: events for name, events in clip(tracks, records, -1,
                                                  end).items()})

    rules = filters.Filter(*filters.shown('Inner', 'a', 'Gr', 'x'),
                           *filters.hidden('x' * 300 + 'y', 'Grx'))
    compare(['--function', 'Inner,a,Gr,x'], select(tracks, rules.shows))
    compare(['--exclude', 'Outer,Inner,semi', '--from', str(last // 3)],
            select(clip(tracks, records, last // 3, last * 2),
                   lambda name: not name.startswith(('Outer', 'Inner',
                                                     'semi'))))
    thread = next(iter(tracks))
    compare(['--thread', thread.split()[1].rstrip(',')],
            {name: events for name, events in tracks.items()
             if name.split()[:2] == thread.split()[:2] or
             name.split()[1].rstrip(',') == thread.split()[1].rstrip(',')})

    start = ['--from', str(last // 2)]
    first, second = (exporter.export(form, *start, *more)[0][0]
                     for more in (['--no-index'], ['--mark-every', '64']))
    with open(first, 'rb') as one, open(second, 'rb') as other:
        results.check(one.read() == other.read(),
                      '%s: %s, with an index' % (exporter.what, form))

    paths, said = exporter.export(form, '--split-size', '64K')
    sizes = list(map(os.path.getsize, paths))
    results.check(len(paths) > 2 and min(sizes[:-1]) >= 65536 and
                  max(sizes) < 90000,
                  '%s: %s, sizes of parts' % (exporter.what, form), [sizes])
    results.check('in %d files' % len(paths) in said,
                  '%s: %s, what is said of parts' % (exporter.what, form),
                  [said])
    if marks:
        joined, wrong = join(map(read, paths))
        wrong += differences(joined, tracks)
    else:
        wrong = [each for path in paths for each in problems(read(path))]
    results.check(not wrong, '%s: %s, parts' % (exporter.what, form), wrong)
    return path, whole


def check_times(results, scratch, formats):
    """Times that are large, all the same, or those of a clock that stands still
    for long; formats maps a format to (what reads it, whether it has marks)."""
    numbers = random.Random(4)
    for what, steps, count in (('large times', (1, 10 ** 12, 10 ** 15), 300),
                               ('one time', (0,), 300),
                               ('a slow clock', 20 * (0,) + (10 ** 6,), 3000)):
        session = make_session(os.path.join(scratch, what.replace(' ', '-')), [
            random_records(numbers, count, 1000 + 50 * thread, steps=steps,
                           fibers=2 * thread) for thread in range(2)])
        tracks, _ = read_events(session)
        for form, (read, has_marks) in formats.items():
            exporter = Exporter(results, scratch, session, what)
            (path,), _ = exporter.export(form)
            found, expected = read(path), tracks
            if not has_marks:
                found, expected = map(without_marks, (found, expected))
            wrong = differences(found, expected)
            results.check(not wrong, '%s: %s' % (what, form), wrong)

#!/usr/bin/env python3
"""What people ask of a trace: its last lines (replay --tail), how long it is,
where a range is empty, and what info begins with.

The sessions are made up.  What is expected is put together from their records
as the second reader (Tests/Library/trace_reader.py) pairs them, not from what
TraceReader shows without the option.
"""

import csv
import io
import json
import os
import random
import re
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
import trace_reader                                          # noqa: E402
from StoreSupport import programs                            # noqa: E402

NAMES = ['A', 'B', 'C', 'D']
TAIL_LIMIT = 1000000


def make_thread(numbers, first, count, unfinished):
    """Random nested calls: records, each at its own time (first + 2 * n)."""
    records, frames, time = [], [], first
    for number in range(count):
        is_entry = not frames or (len(frames) < 6 and numbers.random() < 0.5)
        if not is_entry and number >= count - unfinished:
            is_entry = True
        if is_entry:
            site = filters.FIRST + filters.STEP * numbers.randrange(4)
            frames.append(site)
            records.append((time, site, made.TOP - 64 * len(frames),
                            made.ENTER))
        else:
            records.append((time, frames[-1] + 9,
                            made.TOP - 64 * len(frames), made.EXIT))
            frames.pop()
        time += 2 * numbers.randrange(1, 50)
    return records


class Watch:
    """Notes each thread's events: (time, event, depth, thread, function)."""

    def __init__(self, thread):
        self.thread, self.events = thread, []

    def record(self, *_):
        """Nothing is needed of a single record."""

    def note(self, time, event, frames):
        self.events.append((time, event, len(frames) - 1, self.thread,
                            frames[-1][4].name))

    def enter(self, frames):
        self.note(frames[-1][2], 'enter', frames)

    def leave(self, frames, time, how, _):
        self.note(time, {'completed': 'exit'}.get(how, how), frames)


class Functions(dict):
    """Functions that know their names."""

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = Named()
            self[key].name = key
        return self[key]


class Named(trace_reader.Function):
    __slots__ = ('name', )


def name_of(rva):
    return NAMES[(rva - filters.FIRST) // filters.STEP]


def read_events(session):
    """The events of all threads as the second reader sees them, in order."""
    events = []
    for file in sorted(os.listdir(session)):
        if file.endswith('.trace'):
            store = trace_reader.Store(os.path.join(session, file))
            watch = Watch(store.ThreadId)
            trace_reader.pair(store, Functions(), name_of, watch)
            events += watch.events
    return sorted(events, key=lambda event: event[0])


def read_rows(results, session, *arguments):
    code, text, told = support.reader('replay', '--json', '--no-cache',
                                      *arguments,
                                      programs.windows_path(session))
    results.equal((code, told), (0, ''), 'replay %s' % ' '.join(arguments))
    return [(row['event'], row['depth'], row['thread_id'], row['function'])
            for row in json.loads(text)['events']]


def lines_of(events, threads):
    """The text's lines: (thread, what is behind the bar)."""
    lines, queues = [], {thread: [event for event in events
                                  if event[3] == thread]
                         for thread in threads}
    places, taken = dict.fromkeys(threads, 0), set()
    for event in events:
        thread = event[3]
        place = places[thread]
        places[thread] += 1
        if (thread, place) in taken:
            continue
        _, kind, depth, _, name = event
        following = queues[thread][place + 1:place + 2]
        line = '  ' * depth
        if kind == 'enter' and following and \
                following[0][1] != 'enter' and following[0][2] == depth:
            how = following[0][1]
            taken.add((thread, place + 1))
            line += name + '();' + ('' if how == 'exit' else
                                    ' /* %s */' % how)
        elif kind == 'enter':
            line += name + '() {'
        else:
            line += '} /* %s%s */' % (name, '' if kind == 'exit'
                                      else ', ' + kind)
        lines.append((thread, line))
    return lines


def check_tail(results, scratch):
    numbers = random.Random(16)
    #
    # Even and odd times: no two threads have a record at the same one.  The
    # second begins later, and ends just before the first.
    #
    threads = [make_thread(numbers, 1000, 400, 4),
               make_thread(numbers, 1001, 300, 3)]
    shift = threads[0][-1][0] - threads[1][-1][0] - 1
    threads[1] = [(time + shift, *record) for time, *record in threads[1]]
    results.check(threads[1][0][0] > 1000, 'the first begins first')
    session = filters.make_session(scratch, NAMES, threads)
    events = read_events(session)
    last = max(event[0] for event in events)
    rows = [event[1:] for event in events]
    results.check(any(row[0] == 'open' for row in rows) and
                  len({row[2] for row in rows[-40:]}) == 2,
                  'the end has open calls and both threads', rows[-40:])
    results.equal(read_rows(results, session), rows, 'all rows')
    for count in 1, 2, 7, 40, len(rows) - 1, len(rows), len(rows) + 1, \
            TAIL_LIMIT:
        results.equal(read_rows(results, session, '--tail', str(count)),
                      rows[-count:], '--tail %d' % count)
    results.equal(read_rows(results, session, '--tail', '9',
                            '--thread', '2'),
                  [row for row in rows if row[2] == 2][-9:],
                  '--tail of a thread')
    results.equal(read_rows(results, session, '--tail', '9',
                            '--function', 'B'),
                  [row for row in rows if row[3] == 'B'][-9:],
                  '--tail of a function')
    middle = (last + 1000) // 2
    part = [event[1:] for event in events if event[0] <= middle]
    to = str(middle - 1000)
    results.equal(read_rows(results, session, '--tail', '12', '--to', to),
                  part[-12:], '--tail of a range')

    lines = lines_of(events, (1, 2))
    for count in 1, 25, len(lines), len(lines) + 5:
        code, text, told = support.reader('replay', '--no-cache', '--tail',
                                          str(count),
                                          programs.windows_path(session))
        # What follows is how the threads ended: TestCrash looks at that.
        shown = [(int(match[1]), match[2]) for match in
                 re.finditer(r'(?m)^.*\[ *(\d+)\] \| (.*)$',
                             text.partition('\nThread ')[0])]
        results.equal((code, told, shown), (0, '', lines[-count:]),
                      'text: --tail %d' % count)
        note = '--tail: the last %d of %d lines.' % (count, len(lines))
        results.equal(note in text, count < len(lines),
                      'text: what is said of --tail %d' % count)
    for arguments, words in (
            (('--tail', '0'), '--tail'),
            (('--tail', str(TAIL_LIMIT + 1)), 'from 1 to %d' % TAIL_LIMIT),
            (('--tail', '3', '--limit', '3'), 'exclude each other')):
        code, text, told = support.reader('replay', *arguments,
                                          programs.windows_path(session))
        results.check(code == 1 and not text and words in told,
                      'refused: %s' % ' '.join(arguments), (code, told))


RANGES = [('report', ), ('tree', ), ('callers', 'A'), ('callees', 'A'),
          ('threads', ), ('modules', ), ('outliers', 'A'), ('replay', ),
          ('export', )]


def check_ranges(results, scratch):
    """A range that is beyond the session: how long that is."""
    records = make_thread(random.Random(6), 1000, 300, 2)
    session = filters.make_session(scratch, NAMES, [records])
    last = read_events(session)[-1][0] - 1000
    results.check(1000 < last < 1000000, 'the session is microseconds', last)
    length = 'the session is %.3f us long: from 0 to %d ns' % (last / 1e3, last)
    path = programs.windows_path(session)

    def ask(command, *arguments):
        if command == ('export', ):
            arguments += ('--format', 'chrome', '-o', programs.windows_path(
                os.path.join(scratch, 'range.json')))
        return support.reader(*command, path, '--no-cache', *arguments)

    for command in RANGES:
        what = 'range: ' + command[0]
        code, text, told = ask(command, '--from', str(last + 1))
        results.check(code != 1 and 'is after the session\'s last record; ' +
                      length in told, what + ': after the end',
                      (code, text, told))
        code, text, told = ask(command, '--from', '3', '--to', '2')
        results.check(code == 1 and 'later than --to; ' + length in told,
                      what + ': none', (code, text, told))
        if command[0] in ('report', 'replay') or programs.LONG:
            code, text, told = ask(command, '--to', '-%d' % (last + 1))
            results.check('is before the session\'s first record; ' + length
                          in told, what + ': before the start',
                          (code, text, told))
            for form in ('--csv', '--json') if command[0] in (
                    'report', 'replay') else ():
                found = ask(command, form, '--to', '-%d' % (last + 1))[1]
                rows = list(csv.reader(io.StringIO(found)))[1:] \
                    if form == '--csv' else \
                    next(iter(value for value in json.loads(found).values()
                              if isinstance(value, list)))
                results.equal(rows, [], what + ': nothing before the start')
            for arguments in (('--from', str(last)),
                              ('--to', '-%d' % last), ('--to', '1s')):
                _, text, told = ask(command, *arguments)
                results.check('warning' not in told and length not in told,
                              what + ': control: %s %s' % arguments,
                              (text, told))


# What only --internals shows.
INTERNALS = ['Views used up', 'Invariant clock', 'Lost inside a hook',
             'Waits for pages']


def check_info(results, scratch):
    """The first lines of info; what else there is, and where."""
    numbers = random.Random(61)
    threads = [make_thread(numbers, 1000, 200, 2),
               make_thread(numbers, 1501, 90, 0)]
    session = filters.make_session(scratch, NAMES, threads)
    path = programs.windows_path(session)

    def ask(*arguments):
        code, text, told = support.reader('info', '--no-cache', *arguments,
                                          path)
        results.equal((code, told), (0, ''), 'info %s' % ' '.join(arguments))
        return text

    def first():
        """The first paragraph: {what: value}, and the order."""
        rows = [re.split(r' {2,}', line, maxsplit=1)
                for line in ask().split('\n\n')[0].splitlines()]
        return dict(rows), [row[0] for row in rows]

    times = [record[0] for records in threads for record in records]
    count = len(times)
    expected = {
        'Program': programs.windows_path(os.path.join(scratch,
                                                      'made-up.exe')),
        'Duration': '%.3f us' % ((max(times) - min(times)) / 1e3),
        'State': 'died', 'Mode': 'file', 'Threads': '2',
        'Records': str(count), 'Lost': '0',
        'Bytes': '%.2f KiB' % ((2 * 4096 + 16 * count) / 1024)}
    seen, order = first()
    for name, value in expected.items():
        results.equal(seen.get(name), value, 'info: ' + name)
    results.equal([name for name in order if name in
                   ('Program', 'Command line', 'Duration', 'Records',
                    'Threads', 'Bytes', 'Lost', 'Too deep')],
                  ['Program', 'Command line', 'Duration', 'Threads',
                   'Records', 'Bytes', 'Lost'], 'info: the order')

    # What was lost, of both threads.
    for name in os.listdir(session):
        with open(os.path.join(session, name), 'r+b') as file:
            for offset, value in ((0x60, 5), (0x78, 70), (0x190, 900)):
                file.seek(offset)
                file.write(struct.pack('<Q', value))
    stores = [trace_reader.Store(os.path.join(session, name))
              for name in os.listdir(session)]
    lost = sum(store.NumberOfEventsLost + store.NumberOfEventsReentered
               for store in stores)
    deep = sum(store.NumberOfEventsTooDeep for store in stores)
    seen = first()[0]
    results.equal((seen['Lost'], seen.get('Too deep')), (str(lost), str(deep)),
                  'info: what was lost')
    results.equal((lost, deep), (150, 1800), 'what was lost')

    text, whole = ask(), ask('--internals')
    for name in INTERNALS:
        results.equal((name in text, name in whole), (False, True),
                      'info: ' + name)
    results.check(whole.startswith(text.split('\n\n')[0]) and
                  all(part in whole for part in text.split('\n\n')),
                  'info --internals adds', (text, whole))
    for form in '--csv', '--json':
        results.equal(ask(form), ask(form, '--internals'),
                      'info %s --internals' % form)
    found = json.loads(ask('--json'))
    results.check({'session', 'recording', 'modules', 'threads'} <=
                  set(found) and 'summary' not in found and
                  found['session'][0]['lost_reentered'] == 140,
                  'info --json: as ever', found)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_tail(results, scratch)
    with programs.Scratch() as scratch:
        check_ranges(results, scratch)
    with programs.Scratch() as scratch:
        check_info(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

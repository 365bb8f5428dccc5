#!/usr/bin/env python3
"""TraceReader live on a terminal, and the page that it writes.

The reader runs on a pseudo terminal; what it writes there is followed by
pyte.  The terminal is Wine's: it says that it takes control sequences and
shows them as text, so the reader gives it cells, and Wine makes sequences of
those.  TestLiveScreen looks at the sequences that other consoles get.

What is shown of a program that has ended is compared with what report says.
"""

import csv
import fcntl
import html.parser
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time

try:
    import pyte
except ImportError:
    # Debian's Python has it, which may not be the first one in the path.
    if os.path.exists('/usr/bin/python3') and not os.environ.get('TRACER_PYTE'):
        os.environ['TRACER_PYTE'] = 'tried'
        os.execv('/usr/bin/python3', ['/usr/bin/python3'] + sys.argv)
    pyte = None
os.environ.pop('TRACER_PYTE', None)

sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as stores                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

PATIENCE = 300      # seconds until something must have happened
WIDTH, HEIGHT = 130, 30
UP, DOWN = b'\x1b[A', b'\x1b[B'
TIME = r'(-|\S+ +[mun]?s)'


class Terminal:
    """TraceReader live on a pseudo terminal."""

    COMMAND = ('live', )

    def __init__(self, *arguments, width=WIDTH, height=HEIGHT, **variables):
        self.screen = pyte.Screen(width, height)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b''
        self.code = None
        go, ready = os.pipe()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.read(go, 1)
            os.environ.update(support.environment(**variables),
                              TERM='xterm-256color')
            os.execv(programs.WINE, [programs.WINE, programs.READER,
                                     *self.COMMAND, *arguments])
        fcntl.ioctl(self.file, termios.TIOCSWINSZ,
                    struct.pack('HHHH', height, width, 0, 0))
        self.modes = termios.tcgetattr(self.file)
        os.write(ready, b'x')
        os.close(go)
        os.close(ready)

    def read(self, seconds):
        """Takes what comes within a time; False: it has ended."""
        end = time.monotonic() + seconds
        while True:
            left = max(0, end - time.monotonic())
            if not select.select([self.file], [], [], left)[0]:
                return True
            try:
                data = os.read(self.file, 65536)
            except OSError:
                data = b''
            if not data:
                return False
            self.raw += data
            self.stream.feed(data)
            if time.monotonic() >= end:
                return True

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return '\n'.join(self.lines()).rstrip()

    def wait_for(self, condition):
        """Reads until condition(self) gives something, and returns that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = condition(self)
            if value:
                return value
            if not self.read(0.05):
                break
        return condition(self)

    def type(self, keys):
        os.write(self.file, keys)

    def finish(self):
        """Waits for the end; the exit code."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.code is None:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        if self.code is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        return self.code

    def has_its_modes(self):
        """What Wine's console restores in a process of its own."""
        return self.wait_for(lambda _: termios.tcgetattr(self.file)[:4] ==
                             self.modes[:4])

    def rows(self):
        """The list: the lines below the titles, as words."""
        found = [number for number, line in enumerate(self.lines())
                 if line.endswith('Function') or line.endswith('Runs')]
        if not found:
            return []
        rows = []
        for line in self.lines()[found[0] + 1:-1]:
            if not line.strip():
                break
            rows.append(line[1:].split())
        return rows

    def colors(self):
        """The colors of what is on the screen."""
        return {cell.fg for row in self.screen.buffer.values()
                for cell in row.values() if cell.data.strip()}

    def chains(self):
        """Chain of names -> (total %, self %, calls, total, self) of the tree,
        as words; None if it is not there.
        """
        if not any(line.endswith('Function') and 'Total %' in line
                   for line in self.lines()):
            return None
        result, above = {}, []
        for line in self.lines():
            match = re.match(
                r'[> ] +([\d.]+|-) +([\d.]+|-) +(\S+(?: [kMG])?) +' + TIME +
                ' +' + TIME + r'  ([\u2500-\u257f ]*)(\S+)', line)
            if match:
                depth = len(match.group(6)) // 2
                above = above[:depth] + [match.group(7)]
                result[tuple(above)] = match.groups()[:5]
        return result

    def callers(self):
        """Caller -> (share, calls, total, self), '' is the function itself;
        None if that is not there.
        """
        if not any(line.endswith('Caller') for line in self.lines()):
            return None
        result = {}
        for line in self.lines():
            match = re.match(r'[> ] +([\d.]+|-) +(\S+(?: [kMG])?) +' + TIME +
                             ' +' + TIME + r'  (  )?(\S+)$', line)
            if match:
                result[match.group(6) if match.group(5) else ''] = \
                    match.groups()[:4]
        return result

    def records(self):
        match = re.search(r'([0-9,]+) records', self.text())
        return int(match.group(1).replace(',', '')) if match else None


def number(text):
    return int(text.replace(',', ''))


def by_name(rows):
    """Function -> (self %, self/s, calls/s, calls, total, self, average); a
    time is two words.
    """
    result = {}
    for words in rows:
        if len(words) == 12:
            self_time, total, own, average = (
                ' '.join(words[i:i + 2]) for i in (1, 5, 7, 9))
            result[words[11]] = (float(words[0]), self_time,
                                 number(words[3]), number(words[4]), total,
                                 own, average)
    return result


def report_of(session):
    """Function -> (calls, total, self, average), the times as text."""
    code, text, errors = support.reader('report',
                                        programs.windows_path(session))
    result = {}
    for line in text.split('\n')[1:]:
        words = line.split()
        if code == 0 and len(words) >= 12 and words[0].isdigit():
            result[words[-1]] = (int(words[0]), *(' '.join(words[i:i + 2])
                                                  for i in (1, 3, 5)))
    return result, text + errors


def count_records(session):
    return sum(support.slots(path) for path in support.stores(session))


def start_busy(program, scratch, name, **variables):
    traces = os.path.join(scratch, name)
    stop = os.path.join(scratch, name + '-stop')
    process = support.start(program, 'for', '86400000', '200000',
                            programs.windows_path(stop), directory=traces,
                            **variables)
    support.wait_for(lambda: support.stores(traces))
    return process, support.sessions(traces)[0], stop


def check_screen(results, program, scratch):
    process, session, stop = start_busy(program, scratch, 'screen')
    terminal = Terminal('--budget', '100', '--interval', '200',
                        programs.windows_path(session))
    try:
        check_running(results, terminal)
        check_control(results, terminal, session, scratch)
    finally:
        with open(stop, 'wb'):
            pass
    code, said = support.finish(process)
    results.check(support.has_ended(code) and said == 'done\n',
                  'the program', [code, said])
    check_ended(results, terminal, session)

    # What cannot be done is said, too.
    for key in b'S', b'Mtoo late\r':
        terminal.type(key)
        results.check(terminal.wait_for(
            lambda shown: re.search(r'process \d+ has ended$',
                                    shown.lines()[-1])),
            '%s after the end' % key.decode(), terminal.lines())
        terminal.type(UP)
        results.check(terminal.wait_for(
            lambda shown: shown.lines()[-1].startswith('q quit')),
            'a key takes what was said away', terminal.lines())

    # What the terminal showed before is back: nothing, as Wine has it.
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                  [terminal.code])
    results.check(terminal.wait_for(lambda shown: not shown.text()),
                  'q: the terminal is as it was', terminal.lines())
    results.check(terminal.wait_for(
        lambda shown: not shown.screen.cursor.hidden), 'q: the cursor is back')
    results.check(terminal.has_its_modes(), 'q: the modes of the terminal')
    return session


def check_running(results, terminal):
    results.check(terminal.wait_for(lambda t: by_name(t.rows()).get('Outer')),
                  'the functions of a running program', terminal.lines())
    if not results.check('Up to date' in terminal.text() and
                         '[1 Functions]' in terminal.text(),
                         'the state', terminal.lines()):
        return

    # Busy calls Middle twice and Small five times for each Outer; a refresh
    # may be in the middle of one on each of its threads.
    def is_proportional(shown):
        rows = by_name(shown.rows())
        if not {'Outer', 'Middle', 'Small'} <= set(rows):
            return False
        calls = [rows[name][3] for name in ('Outer', 'Middle', 'Small')]
        return calls[0] > 100 and \
            abs(calls[1] - 2 * calls[0]) <= 2 * support.BUSY_THREADS and \
            abs(calls[2] - 5 * calls[0]) <= 5 * support.BUSY_THREADS
    results.check(terminal.wait_for(is_proportional),
                  'the calls are in proportion', terminal.lines())

    # Sorting by what keys say, and the other way around.
    for key, column in ((b'c', 2), (b's', 0)):
        terminal.type(key)

        def is_sorted(shown, column=column, reverse=True):
            values = [row[column] for row in
                      by_name(shown.rows()).values()]
            return len(values) > 2 and len(set(values)) > 1 and \
                values == sorted(values, reverse=reverse)
        results.check(terminal.wait_for(is_sorted),
                      'sorted by %s' % key.decode(), terminal.lines())
    terminal.type(b'cr')
    results.check(terminal.wait_for(
        lambda shown: is_sorted(shown, 2, False)), 'reversed',
        terminal.lines())
    terminal.type(b'n')
    results.check(terminal.wait_for(
        lambda shown: (names := list(by_name(shown.rows())))[:2] ==
        sorted(names)[:2] and names[0] == 'Middle'),
        'sorted by name', terminal.lines())

    # A filter, and away with it.
    terminal.type(b'/mID\r')
    results.check(terminal.wait_for(
        lambda shown: list(by_name(shown.rows())) == ['Middle']),
        'a filter', terminal.lines())
    terminal.type(b'/\r')
    results.check(terminal.wait_for(lambda shown: len(shown.rows()) >= 3),
                  'no filter', terminal.lines())

    # Threads, and the frames of one.
    terminal.type(b'2')
    results.check(terminal.wait_for(
        lambda shown: '[2 Threads]' in shown.text() and
        sum(row[1] == 'running' for row in shown.rows()) >=
        support.BUSY_THREADS), 'the threads', terminal.lines())
    terminal.type(DOWN + b'\r')
    results.check(terminal.wait_for(
        lambda shown: re.search(r'\[3 Open frames\]  4 Tree   thread \d+, '
                                r'\d+ open', shown.text())), 'open frames of a thread',
        terminal.lines())
    terminal.type(b'h')
    results.check(terminal.wait_for(lambda shown: 'any other key goes back' in
                                    shown.text()), 'help', terminal.lines())
    terminal.type(b'x1s')
    results.check(terminal.wait_for(lambda shown: '[1 Functions]' in
                                    shown.text()), 'back from the help',
                  terminal.lines())

    # While it is paused the screen stands still and reading goes on.
    terminal.type(b'p')
    results.check(terminal.wait_for(lambda shown: 'PAUSED' in shown.text()),
                  'paused', terminal.lines())
    shown, records = terminal.text(), terminal.records()
    terminal.read(1)
    results.equal(terminal.text(), shown, 'paused: the screen')
    terminal.type(b'p')
    results.check(terminal.wait_for(
        lambda shown: 'PAUSED' not in shown.text() and
        (shown.records() or 0) > records), 'not paused any more',
        terminal.lines())
    terminal.type(b'-')
    results.check(terminal.wait_for(lambda shown: 'every 0.5 s' in
                                    shown.text()), 'another interval',
                  terminal.lines())


def check_control(results, terminal, session, scratch):
    """What ctl does, by keys; ctl itself says what was done."""
    terminal.type(b'Mnever\x7f')
    results.check(terminal.wait_for(
        lambda shown: 'Set a mark with the text: neve_' in shown.lines()[-1]),
        'the text of a mark', terminal.lines())
    terminal.type(b'\x1b')
    results.check(terminal.wait_for(
        lambda shown: shown.lines()[-1].startswith('q quit')),
        'Esc: no mark', terminal.lines())
    for keys, verb in (b'Mafter loading\r', 'mark'), (b'S', 'stop'), \
            (b'G', 'start'):
        terminal.type(keys)
        results.check(terminal.wait_for(
            lambda shown, verb=verb: re.match(
                verb + r': action \d+, seen by 1 module$|'
                r'action \d+ \(%s\) is written, but' % verb,
                shown.lines()[-1])), 'the key for ' + verb, terminal.lines())
    code, text, errors = support.reader('ctl', '--json',
                                        programs.windows_path(session),
                                        'status')
    done = [(action['kind'], action['text'])
            for action in json.loads(text)['actions']] if code == 0 else []
    results.equal(done, [('mark', 'after loading'), ('stop', ''),
                         ('start', '')], 'what ctl status says')

    copy = os.path.join(scratch, 'copy')
    for said in (r'snapshot: \d+ stores in .*copy$', r'.*must be new or empty'):
        terminal.type(b'W%s\r' % programs.windows_path(copy).encode())
        results.check(terminal.wait_for(
            lambda shown, said=said: re.match(said, shown.lines()[-1])),
            'W: ' + said, terminal.lines())
    results.check(len(report_of(copy)[0]) >= 3, 'the snapshot can be read')


def check_ended(results, terminal, session):
    """What is shown is what report says."""
    if not results.check(terminal.wait_for(
            lambda shown: 'ENDED' in shown.text() and
            'exactly' in shown.text()), 'the end', terminal.lines()):
        return
    expected, text = report_of(session)
    shown = {name: (row[3], row[4], row[5], row[6])
             for name, row in by_name(terminal.rows()).items()}
    results.check(len(expected) >= 3 and shown == expected,
                  'the numbers are those of report',
                  [shown, expected, text, *terminal.lines()])
    results.equal(terminal.records(), count_records(session),
                  'the number of records')
    wrong = dict(shown, Outer=(1,) + shown.get('Outer', (0,))[1:])
    results.check(wrong != expected, 'control: another number')


def check_others(results, session):
    """Ctrl+C, a small terminal, and lines where lines are asked for."""
    path = programs.windows_path(session)
    terminal = Terminal(path, width=20, height=5)
    results.check(terminal.wait_for(lambda shown: 'Middle' in shown.text()),
                  'a small terminal', terminal.lines())
    terminal.type(b'\x03')
    results.check(support.has_ended(terminal.finish()),
                  'Ctrl+C: the exit code', [terminal.code])
    results.check(terminal.has_its_modes(),
                  'Ctrl+C: the modes of the terminal')
    for option in ('--plain',), ('--count', '1'):
        terminal = Terminal(*option, path)
        results.check(support.has_ended(terminal.finish()), ' '.join(option),
                      [terminal.code])
        results.check(terminal.wait_for(
            lambda shown: '0 of 4 threads running' in shown.text() and
            'The program has ended.' in shown.text()) and
            '[1 Functions]' not in terminal.text(),
            '%s: lines' % ' '.join(option), terminal.lines())


def check_names(results, program, scratch, session):
    """What two images have in common is told apart by where it is."""
    names = 'Outer', 'Middle', 'Small'
    for kind in 'Other.exe', 'Busy.exe':
        other = programs.build(os.path.join(scratch, kind),
                               [os.path.join(programs.PROGRAMS, 'Busy.c')],
                               programs.PENTER_FLAGS + ['-O1', '-fno-inline'],
                               kind, [programs.LIBRARY])
        first, _, stop = start_busy(program, scratch, 'with' + kind)
        traces = os.path.join(scratch, 'with' + kind)
        second = support.start(other, 'for', '86400000', '200000',
                               programs.windows_path(stop), directory=traces)
        support.wait_for(lambda: len(support.sessions(traces)) == 2 and
                         all(map(support.stores, support.sessions(traces))))
        with open(stop, 'wb'):
            pass
        results.check(all(support.has_ended(support.finish(process)[0])
                          for process in (first, second)), 'two processes')
        if kind == 'Busy.exe':
            wanted = {'%s [Busy.exe, process %s]' % (name, path.split('-')[-4])
                      for path in support.sessions(traces) for name in names}
        else:
            wanted = {'%s [%s]' % (name, module) for name in names
                      for module in ('Busy.exe', 'Other.exe')}
        check_places(results, traces, wanted)
    check_places(results, session, set())


def check_places(results, path, wanted):
    terminal = Terminal('--all-runs', programs.windows_path(path), width=160)
    results.check(terminal.wait_for(lambda shown: 'exactly' in shown.text()),
                  'the end of all', terminal.lines())
    shown = {name for row in terminal.rows()
             for name in re.findall(r'(?:Outer|Middle|Small) \[.*\]$',
                                    ' '.join(row))}
    results.check(len(wanted) in (0, 6) and shown == wanted,
                  'places of functions, %d wanted' % len(wanted),
                  [sorted(wanted), sorted(shown), *terminal.lines()])
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                  [terminal.code])


# Busy's chains, and how often each is called for a call of Outer.
BUSY_TREE = {('Outer',): 1, ('Outer', 'Middle'): 2, ('Outer', 'Small'): 1,
             ('Outer', 'Middle', 'Small'): 4}


def tree_of(session):
    """Chain of names -> (calls, total, self) as tree says, in words."""
    code, text, _ = support.reader('tree', programs.windows_path(session))
    result, above = {}, []
    for line in text.split('\n'):
        match = re.match(r' *(\d+) +' + ' +'.join([TIME] * 5) +
                         r'  .*?(?:  )?((?:  )*)(\w+)$', line)
        if match and code == 0:
            start = len(line) - len(line.split()[-1])
            above.append((start, match.group(8)))
            while len(above) > 1 and above[-2][0] >= start:
                del above[-2]
            result[tuple(name for _, name in above)] = (
                int(match.group(1)), match.group(2), match.group(3))
    return result


def callers_of(session, function):
    """Caller -> calls as callers says; '' is the function."""
    code, text, _ = support.reader('callers', '--csv', function,
                                   programs.windows_path(session))
    return {row['function'] if row['relation'] == 'caller' else '':
            int(row['calls'])
            for row in csv.DictReader(io.StringIO(text))} if code == 0 else {}


def words(text):
    return ' '.join(text.split())


def is_proportional_tree(chains):
    """Whether a tree of Busy has its calls in proportion, but for the calls
    that its threads are in.
    """
    if not chains or set(chains) != set(BUSY_TREE):
        return False
    calls = {chain: number(chains[chain][2]) for chain in chains}
    outer = calls['Outer',]
    return outer > 100 and all(
        abs(calls[chain] - often * outer) <= (often + 1) *
        support.BUSY_THREADS for chain, often in BUSY_TREE.items())


def check_tree(results, program, scratch, kind):
    """The call tree and the callers while a program runs, and afterwards."""
    variables = {'TRACER_MODE': 'tree'} if kind == 'tree' else {}
    process, session, stop = start_busy(program, scratch, 'of' + kind,
                                        **variables)
    terminal = Terminal('--budget', '100', '--interval', '200',
                        programs.windows_path(session))
    try:
        check_running_tree(results, terminal, session, kind)
    finally:
        with open(stop, 'wb'):
            pass
    code, said = support.finish(process)
    results.check(support.has_ended(code) and said == 'done\n',
                  'the program', [code, said])

    # The end comes while the callers are shown, and they are read for it.
    results.check(terminal.wait_for(lambda shown: 'exactly' in shown.text() and
                                    'ENDED' in shown.text()), 'the end',
                  terminal.lines())
    shown = {caller: number(row[1])
             for caller, row in (terminal.callers() or {}).items()}
    expected = callers_of(session, 'Small')
    results.check(len(expected) == 3 and shown == expected,
                  '%s: the callers are those of callers' % kind,
                  [shown, expected, *terminal.lines()])
    results.check(shown != callers_of(session, 'Middle'),
                  'control: those of another function are others')
    terminal.type(b'T')
    chains = terminal.wait_for(lambda shown: shown.chains()) or {}
    shown = {chain: (number(row[2]), words(row[3]), words(row[4]))
             for chain, row in chains.items()}
    expected = {chain: (row[0], words(row[1]), words(row[2]))
                for chain, row in tree_of(session).items()}
    results.check(len(expected) == 4 and shown == expected,
                  '%s: the tree is that of tree' % kind,
                  [shown, expected, *terminal.lines()])
    wrong = dict(shown)
    wrong['Outer',] = (1,) + wrong.get(('Outer',), (0,))[1:]
    results.check(wrong != expected, 'control: another number')
    results.check(is_proportional_tree(chains) and
                  not is_proportional_tree(
                      {**chains, ('Outer', 'Middle'): chains['Outer',]}),
                  'the proportion, and a control', terminal.lines())
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                  [terminal.code])


def check_running_tree(results, terminal, session, kind):
    results.check(terminal.wait_for(lambda t: by_name(t.rows()).get('Outer')),
                  'the functions of a running program', terminal.lines())
    before = tree_of(session)
    terminal.type(b'T')
    results.check(terminal.wait_for(
        lambda shown: is_proportional_tree(shown.chains())),
        '%s: the calls of the tree are in proportion' % kind,
        [before, *terminal.lines()])
    chains = terminal.chains() or {}
    after = tree_of(session)
    expected = 'since recording began, exactly' if kind == 'tree' else \
        'All calls of the last '
    results.check(expected in terminal.text(), 'what the tree is of',
                  terminal.lines())

    # A tree has all calls, so that two looks at it have the screen between
    # them.  Of records those count that came since the tree was opened.
    def is_between(chain, row, least=None):
        return (before[chain][0] if kind == 'tree' else 0) <= \
            number(row[2]) <= (after[chain][0] if least is None else least)
    results.check(set(chains) == set(after) and
                  all(is_between(*item) for item in chains.items()) and
                  not is_between(('Outer',), chains['Outer',], -1),
                  '%s: no more calls than there are' % kind,
                  [before, chains, after])
    shares = {chain: float(row[0]) for chain, row in chains.items()}
    results.check(shares.get(('Outer',)) == 100 and all(
        shares[chain] <= shares[chain[:-1]] + 0.1 and
        float(chains[chain][1]) <= shares[chain]
        for chain in shares if len(chain) > 1),
        '%s: a share is that of the caller at most' % kind, [chains])

    # Folded away, and back.
    terminal.type(b'\x1b[H\x1b[D')
    results.check(terminal.wait_for(
        lambda shown: re.search(r'Outer \(\+2\)$', shown.text(), re.M) and
        len(shown.chains() or ()) == 1), 'folded', terminal.lines())
    terminal.type(b'\x1b[C')
    results.check(terminal.wait_for(
        lambda shown: len(shown.chains() or ()) == 4), 'unfolded',
        terminal.lines())

    # The callers of Small, which is the last row or the one before.
    terminal.type(b'\x1b[F')
    terminal.wait_for(lambda shown: any(line.startswith('>')
                                        and line.endswith('Small')
                                        for line in shown.lines()))
    terminal.type(b'\r')

    def is_called(shown):
        calls = {caller: number(row[1])
                 for caller, row in (shown.callers() or {}).items()}
        return set(calls) == {'', 'Middle', 'Outer'} and \
            calls['Outer'] > 100 and \
            calls[''] == calls['Middle'] + calls['Outer'] and \
            abs(calls['Middle'] - 4 * calls['Outer']) <= \
            5 * support.BUSY_THREADS
    results.check(terminal.wait_for(is_called) and
                  '2 callers of Small' in terminal.text(),
                  '%s: the callers of Small' % kind, terminal.lines())

    # Up to who called those, and back.
    terminal.type(DOWN + b'\r')
    results.check(terminal.wait_for(
        lambda shown: re.search(r'^[01] callers? of (Middle|Outer)$',
                                shown.text(), re.M)),
        'the callers of a caller', terminal.lines())
    terminal.type(b'\x7f')
    results.check(terminal.wait_for(
        lambda shown: '2 callers of Small' in shown.text()), 'Backspace',
        terminal.lines())
    terminal.type(b'\x7f')
    results.check(terminal.wait_for(
        lambda shown: '[4 Tree]' in shown.text()), 'back in the tree',
        terminal.lines())

    # From the functions, too.  Chains are kept anew each time.
    terminal.type(b'1/small\r')
    terminal.wait_for(lambda shown: list(by_name(shown.rows())) == ['Small'])
    terminal.type(b'\r')
    terminal.wait_for(lambda shown: 'callers of Small' in shown.text())
    terminal.type(b'/\r')
    results.check(terminal.wait_for(is_called), 'from the functions',
                  terminal.lines())


def check_bounds(results, scratch):
    """Of chains that are too many or too deep their calls are said."""
    many = [call for first in range(200) for call in
            [first, *[(first, second) for second in range(200)]]]
    for name, calls, outside in (
            # 200 functions that call 200 others each: the root and what is
            # outside count as chains.
            ('many', many, len(many) - (0x8000 - 2)),
            # 3 times 600 calls inside one another, of which 512 are kept.
            ('deep', ['deep'] * 3, 3 * (600 - 512)),
            ('few', many[:201], 0)):
        traces = os.path.join(scratch, 'bounds-' + name)
        os.makedirs(traces)
        records, time = [], 1000

        def add(site, depth, kind):
            nonlocal time
            time += 10
            records.append((time, site, stores.TOP - 0x100 - depth * 64, kind))
        for call in calls:
            if call == 'deep':
                for depth in range(600):
                    add(0x1000 + depth * 16, depth, stores.ENTER_F)
                for depth in reversed(range(600)):
                    add(0x1000 + depth * 16, depth, stores.EXIT_F)
            elif isinstance(call, int):
                if records:
                    add(last, 0, stores.EXIT_F)
                last = 0x1000 + call * 16
                add(last, 0, stores.ENTER_F)
            else:
                add(0x8000 + call[1] * 16, 1, stores.ENTER_F)
                add(0x8000 + call[1] * 16, 1, stores.EXIT_F)
        if name != 'deep':
            add(last, 0, stores.EXIT_F)
        stores.write(os.path.join(traces, 'made-up.exe-4242-7.trace'), records)
        terminal = Terminal(programs.windows_path(traces), width=160)
        terminal.wait_for(lambda shown: 'exactly' in shown.text())
        terminal.type(b'T')
        terminal.wait_for(lambda shown: shown.chains())
        said = re.search(r'Too deep to be shown: ([0-9,]+) calls\.',
                         terminal.text())
        results.equal(number(said.group(1)) if said else 0, outside,
                      name + ': calls of chains that are not kept')
        terminal.type(b'q')
        results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                      [terminal.code])


def check_colors(results, session):
    """Colors, and none with NO_COLOR; the text is the same."""
    texts = {}
    for name, variables in ('color', {}), ('none', {'NO_COLOR': '1'}):
        terminal = Terminal(programs.windows_path(session), width=100,
                            **variables)
        results.check(terminal.wait_for(
            lambda shown: 'exactly' in shown.text()), 'the end of ' + name,
            terminal.lines())
        terminal.type(b'T')
        results.check(terminal.wait_for(
            lambda shown: '[4 Tree]' in shown.text() and
            'Middle' in shown.text()), 'the tree, ' + name, terminal.lines())
        texts[name] = terminal.text(), terminal.colors()
        terminal.type(b'q')
        results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                      [terminal.code])
    results.equal(texts['color'][0], texts['none'][0], 'the text')
    plain = {'default', 'black', 'white'}
    results.check(texts['none'][1] <= plain and
                  len(texts['color'][1] - plain) >= 2,
                  'colors, and none', [texts['color'][1], texts['none'][1]])


class Page(html.parser.HTMLParser):
    """A page's tables, and what of it is not well-formed."""

    VOID = {'meta', 'input'}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.wrong = []
        self.tables = {}
        self.body = {}
        self.text = ''
        self.cell = None
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append(self.open)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == 'body':
            self.body = attributes
        if tag == 'table':
            self.table = self.tables.setdefault(attributes['id'], [])
        if tag == 'tr':
            self.table.append([])
        if tag in ('td', 'th'):
            self.cell = attributes.get('data-v')
            self.table[-1].append('')
        for name in ('src', 'href'):
            if name in attributes:
                self.wrong.append((tag, attributes))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] in ('td', 'th'):
            self.table[-1][-1] = self.cell or data
        elif self.open and self.open[-1] not in ('style', 'script'):
            self.text += data


class Pages(threading.Thread):
    """Reads a page again and again while it is being written."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.stopping = threading.Event()
        self.seen = {}

    def run(self):
        while not self.stopping.is_set():
            try:
                with open(self.path, encoding='utf-8') as file:
                    text = file.read()
                self.seen[text] = self.seen.get(text, 0) + 1
            except FileNotFoundError:
                pass
            self.stopping.wait(0.003)


def check_pages(results, program, scratch):
    process, session, stop = start_busy(program, scratch, 'a&b')
    path = os.path.join(scratch, 'live.html')
    pages = Pages(path)
    pages.start()
    try:
        reader = support.start(programs.READER, 'live', '--interval', '100',
                               '--html', programs.windows_path(path),
                               programs.windows_path(session))
        results.check(support.wait_for(lambda: len(pages.seen) >= 8),
                      'pages come', [len(pages.seen)])
    finally:
        with open(stop, 'wb'):
            pass
    code, said = support.finish(process)
    results.check(support.has_ended(code) and said == 'done\n',
                  'the program', [code, said])
    code, text = support.finish(reader)
    results.check(support.has_ended(code), 'live --html', [code])
    pages.stopping.set()
    pages.join()
    with open(path, encoding='utf-8') as file:
        last = file.read()
    pages.seen[last] = 1
    print('%d pages were seen, %d times' %
          (len(pages.seen), sum(pages.seen.values())))

    wrong = []
    for page in pages.seen:
        parsed = Page(page)
        state = parsed.body.get('data-state')
        if parsed.wrong or not page.endswith('</html>\n') or \
                state != ('ended' if page == last else 'running') or \
                parsed.body.get('data-interval') != '100' or \
                ('http-equiv=refresh' in page) != (page != last) or \
                'a&amp;b' not in page or 'a&b' in page or \
                set(parsed.tables) != {'functions', 'threads'}:
            wrong.append((parsed.wrong, state, page[:200]))
    results.check(not wrong, 'the pages are whole and well-formed', wrong)
    results.check(Page(last[:len(last) // 2]).wrong,
                  'control: half a page is not')

    parsed = Page(last)
    rows = {row[7]: int(row[3]) for row in parsed.tables['functions'][1:]}
    _, text, _ = support.reader('report', '--csv',
                                programs.windows_path(session))
    expected = {row['function']: int(row['calls'])
                for row in csv.DictReader(io.StringIO(text))}
    results.check(len(expected) >= 3 and rows == expected,
                  'the last page has what report says', [rows, expected])
    results.check('The program has ended.' in parsed.text, 'it says so',
                  [parsed.text])
    results.check(not os.path.exists(path + '.tmp'),
                  'nothing is left beside it')

    code, _, errors = support.reader(
        'live', '--html', programs.windows_path(scratch + '/none/x.html'),
        programs.windows_path(session))
    results.check(code == 1 and 'x.html' in errors,
                  'a page that cannot be written', [code, errors])


UNITS = {'': 1, ' k': 1000, ' M': 1000000, ' G': 1000000000}


class Estimates:
    """What live --budget has written so far."""

    def __init__(self, text):
        self.refreshes = text.split('\n\n')
        self.sampled = self.wrong = self.silent = self.long = 0
        later = False
        for refresh in self.refreshes:
            shown = re.search(r', (\d+) new in ([0-9.]+) s', refresh)
            skipped = re.search(r'^Estimated from (\d+\.\d) % of all records '
                                r'since reading began; functions may be '
                                r'missing\.', refresh, re.M)
            later |= bool(skipped)
            self.silent += bool(later and shown and not skipped)
            rows = re.findall(r'^ *~([\d.]+)( [kMG]|) +(?:~[\d.]+ +\S+|-)  '
                              r'(\w+)$',
                              refresh, re.M)
            if shown and skipped and rows:
                self.add(int(shown.group(1)), float(shown.group(2)), rows)

    def add(self, new, seconds, rows):
        self.long += sum(len(rate.replace('.', '')) > 3 for rate, _, _ in rows)
        calls = {name: float(rate) * UNITS[unit] * seconds
                 for rate, unit, name in rows}
        if new < 20000:
            return
        self.sampled += 1
        outer, middle, inner = (calls.get(name, 0) for name in
                                ('Outer', 'Middle', 'Inner'))
        total = new / 2
        self.wrong += not (abs(outer + middle + inner - total) < total * 0.1
                           and abs(inner - 2 * outer) < total * 0.1 and
                           abs(middle - outer) < total * 0.1)


def start_paced(scratch, name):
    program = programs.build(
        os.path.join(scratch, 'paced-' + name),
        [os.path.join(programs.PROGRAMS, 'Paced.c')],
        programs.PENTER_FLAGS + ['-O1', '-fno-inline'], 'Paced.exe',
        [programs.LIBRARY])
    traces = os.path.join(scratch, name)
    stop = os.path.join(scratch, name + '-stop')
    process = support.start(program, '2', '600000', '86400',
                            programs.windows_path(stop), directory=traces)
    support.wait_for(lambda: len(support.stores(traces)) >= 3)
    return process, support.sessions(traces)[0], stop


def estimate(text):
    """An estimate as a number; a limit as a negative one."""
    match = re.match(r'([~<])([\d.]+)( [kMG]|)$', text)
    return float(match.group(2)) * UNITS[match.group(3)] * \
        (1 if match.group(1) == '~' else -1) if match else None


def check_sampled_tree(results, scratch):
    """With the budget that a screen has the tree is of a part, and says so."""
    process, session, stop = start_paced(scratch, 'sampled')
    terminal = Terminal('--interval', '200', programs.windows_path(session))
    try:
        terminal.wait_for(lambda shown: 'Estimated from' in shown.text())
        terminal.type(b'T')
        terminal.wait_for(lambda shown: shown.chains())
        terminal.type(b'/o\r')

        def calls(shown):
            return {chain: estimate(row[2])
                    for chain, row in (shown.chains() or {}).items()}
        outer, middle = ('Worker', 'Outer'), ('Worker', 'Outer', 'Middle')
        results.check(terminal.wait_for(
            lambda shown: (calls(shown).get(outer) or 0) > 200000),
            'a sampled tree', terminal.lines())
        terminal.type(b'p/\r')
        terminal.wait_for(lambda shown: 'filter' not in shown.lines()[3])
        terminal.type(b'\x1b[H\x1b[C' + DOWN + b'\x1b[C' + DOWN + b'\x1b[C')
        terminal.wait_for(lambda shown: middle in calls(shown))
        found, chains = calls(terminal), terminal.chains() or {}
        results.check(re.search(r'^Estimated from \d+\.\d % of the records of '
                                r'the last \d+\.\d s; others may differ\.$',
                                terminal.text(), re.M),
                      'the tree says that it is estimated', terminal.lines())
        results.check(middle in found and
                      0.75 < found[middle] / found[outer] < 1.25,
                      'Outer calls Middle once', terminal.lines())
        results.check(None not in found.values() and
                      found.get(('Worker',), 0) < 0 and '~0 ' not in
                      terminal.text(), 'a limit of rare calls',
                      terminal.lines())
        shares = [float(row[0]) for chain, row in chains.items()
                  if len(chain) == 1]
        results.check(len(shares) >= 2 and 98 < sum(shares) < 100.1,
                      'the shares of what nothing called add up',
                      terminal.lines())
    finally:
        with open(stop, 'wb'):
            pass
    results.check(support.has_ended(support.finish(process)[0]),
                  'the paced program')
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                  [terminal.code])


def check_budget(results, scratch):
    """With a budget, calls are estimated from a part, and records exact."""
    process, session, stop = start_paced(scratch, 'budget')
    output = os.path.join(scratch, 'budget.txt')

    def written():
        with open(output, 'rb') as file:
            return support.decode(file.read())

    with open(output, 'wb') as file:
        reader = subprocess.Popen(
            [programs.WINE, programs.READER, 'live', '--interval', '200',
             '--budget', '1', programs.windows_path(session)],
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL,
            env=support.environment())
    support.wait_for(lambda: Estimates(written()).sampled >= 4 or
                     reader.poll() is not None)
    with open(stop, 'wb'):
        pass
    code = support.watch.wait(reader)
    results.check(support.has_ended(code), 'live --budget', [code])
    results.check(support.has_ended(support.finish(process)[0]),
                  'the paced program')
    text = written()
    seen = Estimates(text)
    results.check(seen.sampled >= 2 and seen.wrong == 0,
                  'estimates: %d refreshes, %d wrong' %
                  (seen.sampled, seen.wrong),
                  text.split('\n'))
    results.equal((seen.silent, seen.long), (0, 0),
                  'once records were left out every refresh says so, and an '
                  'estimate has three digits')
    # main and Worker run all the time, and no call of them is counted.
    results.check(re.search(r'^ *<[\d.]+(?: [kMG]|) .* (?:main|Worker)$', text,
                            re.M), 'an upper limit', text.split('\n'))
    results.check(not re.search(r'~0\b(?!\.)', text),
                  'no estimate is 0: it has a limit', text.split('\n'))
    last = re.findall(r' (\d+) records, ', text)[-1]
    results.equal(int(last), count_records(session),
                  'the number of records is exact')
    print('%d refreshes with estimates of %d' %
          (seen.sampled, len(seen.refreshes)))


def main():
    results = programs.Results()
    if not support.has_reader():
        results.skip('there is no TraceReader.exe')
        return results.finish()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        check_pages(results, program, scratch)
        check_budget(results, scratch)
        if pyte is None:
            results.skip('the terminal: there is no pyte')
        else:
            session = check_screen(results, program, scratch)
            check_others(results, session)
            check_names(results, program, scratch, session)
            check_colors(results, session)
            check_bounds(results, scratch)
            for kind in 'records', 'tree':
                check_tree(results, program, scratch, kind)
            check_sampled_tree(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

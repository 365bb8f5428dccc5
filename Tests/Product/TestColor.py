#!/usr/bin/env python3
"""Colours: none where there is no terminal, the same text with them and
without, --color, NO_COLOR; and what a terminal shows, followed by pyte.

The terminal is Wine's, which shows control sequences as text: colours have to
come by the console's attributes there.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
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

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestLimits as limits                                  # noqa: E402
from StoreSupport import programs                            # noqa: E402

PATIENCE = 300      # seconds until something must have happened
WIDTH, HEIGHT = 100, 40
SEQUENCE = re.compile('\x1b\\[[0-9;]*m')
COMMANDS = [('report', ), ('report', '--width', '90'), ('tree', ),
            ('tree', '--width', '90'), ('callers', 'A'), ('replay', ),
            ('replay', '--from', '1us'), ('threads', ), ('modules', ),
            ('info', ), ('stack', ), ('outliers', 'A')]


def ask(session, *arguments, **variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        code, text, _ = support.reader(*arguments, '--no-cache',
                                       programs.windows_path(session))
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return code, text


def check_text(results, session):
    for command in COMMANDS:
        what = ' '.join(command)
        code, plain = ask(session, *command)
        results.check(code == 0 and '\x1b' not in plain,
                      what + ': no colours where there is no terminal')
        for variables in {}, {'NO_COLOR': '1'}:
            code, text = ask(session, *command, '--color', 'always',
                             **variables)
            results.check(code == 0 and SEQUENCE.sub('', text) == plain,
                          what + ': the same text')
            found = SEQUENCE.findall(text)
            results.check('\x1b[1m' in found and
                          len(found) % 2 == 0 and
                          set(found[1::2]) == {'\x1b[0m'},
                          what + ': each colour ends', found[:8])
            results.check(all(len(SEQUENCE.findall(line)) % 2 == 0
                              for line in text.split('\n')),
                          what + ': on its line')
        results.equal(ask(session, *command, '--color', 'never'), (0, plain),
                      what + ': --color never')
    for form in '--csv', '--json':
        results.equal(ask(session, 'report', form, '--color', 'always'),
                      ask(session, 'report', form), form + ' has no colours')
    code, text = ask(session, 'report', '--color', 'blue')
    results.equal((code, text), (1, ''), '--color blue is refused')


class Terminal:
    """TraceReader on a pseudo terminal, until it ends."""

    def __init__(self, *arguments, **variables):
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        stream = pyte.ByteStream(self.screen)
        go, ready = os.pipe()
        pid, file = pty.fork()
        if pid == 0:
            os.read(go, 1)
            os.environ.pop('NO_COLOR', None)
            os.environ.update(support.environment(), TRACER_PAGER='cat',
                              TERM='xterm-256color',
                              **variables)
            os.execv(programs.WINE, [programs.WINE, programs.READER,
                                     *arguments])
        fcntl.ioctl(file, termios.TIOCSWINSZ,
                    struct.pack('HHHH', HEIGHT, WIDTH, 0, 0))
        os.write(ready, b'x')
        os.close(go)
        os.close(ready)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not select.select([file], [], [], 1)[0]:
                continue
            try:
                data = os.read(file, 65536)
            except OSError:
                break
            if not data:
                break
            stream.feed(data)
        os.close(file)
        self.code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.lines = [line.rstrip() for line in self.screen.display]

    def look(self, text):
        """The colours (and whether bold) of a text that the screen shows."""
        for number, line in enumerate(self.lines):
            place = line.find(text)
            if place >= 0:
                cells = self.screen.buffer[number]
                return {(cells[place + index].fg, cells[place + index].bold)
                        for index, letter in enumerate(text) if letter != ' '}
        return None


def check_terminal(results, session):
    path = programs.windows_path(session)

    def show(*arguments, **variables):
        terminal = Terminal(*arguments, '--no-cache', path, **variables)
        results.check(terminal.code == 0 and
                      not any('\x1b' in line or '[0m' in line
                              for line in terminal.lines),
                      'terminal: %s' % (arguments,), terminal.lines)
        return terminal

    plain = show('report', '--color', 'never')
    default = plain.look('Calls')
    results.check(default is not None and len(default) == 1,
                  'control: the title has the usual colour', plain.lines)
    whole = {(cell.fg, cell.bold) for row in plain.screen.buffer.values()
             for cell in row.values()}
    results.check(len(whole) <= 2, '--color never: one colour', whole)
    for variables in {}, {'NO_COLOR': ''}:
        coloured = show('report', **variables)
        results.check(coloured.look('Calls') not in (None, default),
                      'report: the titles stand out %s' % variables,
                      [coloured.look('Calls'), default])
        row = next(line for line in coloured.lines if '.' in line)
        results.equal(coloured.look(row[:row.index('.')]), default,
                      'report: numbers do not')
        results.check(coloured.look('\u2588') not in (None, default),
                      'report: bars have a colour')
        results.equal(coloured.lines, plain.lines, 'report: the same text')
    results.equal(show('report', NO_COLOR='1').look('Calls'), default,
                  'NO_COLOR')
    results.check(show('report', '--color', 'always', NO_COLOR='1')
                  .look('Calls') not in (None, default),
                  '--color always, and NO_COLOR')
    tree = show('tree', '--limit', '20')
    results.check(tree.look('\u2514\u2500') not in (None, default),
                  'tree: its lines are faint', tree.lines)
    replay = show('replay', '--limit', '30', '--from', '2us')
    results.check(replay.look('/* open since') not in (None, default),
                  'replay: comments are faint', replay.lines)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        session = limits.make(scratch, 'session', 3, 120)
        check_text(results, session)
        if pyte is None:
            results.skip('what a terminal shows: python3-pyte is not there')
        else:
            check_terminal(results, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Text that is longer than the terminal goes through a pager: the pages
against the same text where there is no terminal.

The terminal is a pseudo terminal, followed by pyte.  Controls: what is short,
--no-pager, and outputs that are no text show no page and wait for no key.
"""

import fcntl
import os
import re
import struct
import sys
import termios
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestLivePty as live                                   # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestLimits as limits                                  # noqa: E402
from StoreSupport import programs                            # noqa: E402

WIDTH, HEIGHT = 100, 24
PAGE = HEIGHT - 1
NAMES = ['--names', 'full']
REPLAY = ('replay', '--no-cache', *NAMES)

NUMBER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments)
{
    static char line[65536];
    int number = 0, most = count > 2 ? atoi(arguments[2]) : 1 << 30;
    while (number < most && fgets(line, sizeof(line), stdin))
        printf("%s%d %s", arguments[1], ++number, line);
    return 0;
}
"""


class Terminal(live.Terminal):
    """TraceReader on a pseudo terminal."""

    COMMAND = ()

    def __init__(self, *arguments, width=WIDTH, height=HEIGHT, **variables):
        before = os.environ.pop('PAGER', None)
        super().__init__(*arguments, width=width, height=height, **variables)
        if before is not None:
            os.environ['PAGER'] = before

    def finish(self):
        code = super().finish()
        end = time.monotonic() + live.PATIENCE
        while time.monotonic() < end and self.read(0.05):
            pass
        return code

    def status(self):
        """The last line, if it is that of a page."""
        line = ([''] + self.lines())[min(self.screen.cursor.y + 1,
                                         len(self.lines()))]
        return line if re.match('lines [0-9]', line) else None

    def page(self, lines, first):
        """Whether the page that begins at a line is shown."""
        rows = self.lines()
        end = self.screen.cursor.y
        rows = rows[max(0, end - PAGE):end]
        return rows == lines[first:first + len(rows)] and len(rows) == PAGE


def text_of(session, *arguments):
    code, text, _ = support.reader(*arguments, programs.windows_path(session))
    return code, [line.rstrip() for line in text.split('\n')[:-1]]


def check_pages(results, session):
    code, lines = text_of(session, *REPLAY)
    results.check(code == 0 and len(lines) > 8 * PAGE and
                  max(len(line) for line in lines) < WIDTH,
                  'control: there are pages', [len(lines)])
    last = len(lines) - PAGE
    terminal = Terminal(*REPLAY, programs.windows_path(session))

    def expect(first, what):
        found = terminal.wait_for(
            lambda shown: shown.status() and shown.page(lines, first))
        results.check(found, '%s: line %d' % (what, first + 1),
                      terminal.lines())
        number = 'lines %d-%d' % (first + 1, first + PAGE)
        results.check(terminal.wait_for(
            lambda shown: (shown.status() or '').startswith(number)),
            what + ': what the status says', terminal.lines())

    expect(0, 'at once')
    results.check(' of ' not in terminal.status(),
                  'nothing is said of what was not read yet')
    at = 0
    for keys, move, what in (
            (b' ', PAGE, 'Space'), (b'\r', 1, 'Enter'), (live.DOWN, 1, 'Down'),
            (live.UP, -1, 'Up'), (b'b', -PAGE, 'b'), (b'\x1b[6~', PAGE, 'PgDn'),
            (b'k', -1, 'k'), (b'j', 1, 'j'), (b'\x1b[5~', -PAGE, 'PgUp')):
        terminal.type(keys)
        at += move
        expect(at, what)
    terminal.type(b'x')
    terminal.type(b'bb')
    at = 0
    expect(0, 'not before the first line')
    terminal.type(b'G')
    expect(last, 'G')
    results.check(terminal.status().startswith(
        'lines %d-%d of %d (end)' % (last + 1, len(lines), len(lines))),
        'the end', [terminal.status()])
    terminal.type(b' ')
    expect(last, 'not behind the last line')
    terminal.type(b'\x1b[H')
    expect(0, 'Home')

    # What is sought stands at the top, and is found again.
    name = lines[5 * PAGE].split('(')[0].split()[-1]
    found = [number for number, line in enumerate(lines)
             if name.lower() in line.lower()]
    terminal.type(b'/' + name.lower().encode() + b'zzz')
    results.check(terminal.wait_for(
        lambda shown: shown.lines()[shown.screen.cursor.y] ==
        '/' + name.lower() + 'zzz'), 'what is typed', terminal.lines())
    terminal.type(b'\x7f\x7f\x7f\r')
    expect(found[0], 'found')
    if results.check(len(found) > 3 and found[2] < last,
                     'control: there are more', found):
        terminal.type(b'nn')
        expect(found[2], 'n')
        terminal.type(b'N')
        expect(found[1], 'N')
    terminal.type(b'/no such text\r')
    results.check(terminal.wait_for(
        lambda shown: shown.lines()[shown.screen.cursor.y] == 'not found'),
        'not found', terminal.lines())
    terminal.type(b'h')
    results.check(terminal.wait_for(
        lambda shown: shown.lines()[shown.screen.cursor.y].endswith('q: quit')),
        'help', terminal.lines())

    # Leaving leaves the page, and the line below it free.
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'q: the exit code',
                  [terminal.code])
    results.check(terminal.page(lines, found[1]) and
                  not terminal.lines()[terminal.screen.cursor.y],
                  'q: the page stays', terminal.lines())
    results.check(terminal.has_its_modes(), 'q: the modes of the terminal')


def check_resize(results, session):
    _, lines = text_of(session, *REPLAY)
    terminal = Terminal(*REPLAY, programs.windows_path(session))
    results.check(terminal.wait_for(lambda shown: shown.page(lines, 0)),
                  'before another size', terminal.lines())
    terminal.screen.resize(HEIGHT - 6, WIDTH)
    fcntl.ioctl(terminal.file, termios.TIOCSWINSZ,
                struct.pack('HHHH', HEIGHT - 6, WIDTH, 0, 0))
    terminal.type(b' ')
    results.check(terminal.wait_for(
        lambda shown: (shown.status() or '') and
        re.match(r'lines \d+-', shown.status())), 'another size',
        terminal.lines())
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'another size: q',
                  [terminal.code])


def check_whole(results, session):
    """What shows no pages, and ends without a key."""
    path = programs.windows_path(session)
    _, lines = text_of(session, *REPLAY)
    short = (*REPLAY, '--limit', str(PAGE - 2))
    _, few = text_of(session, *short)
    results.check(PAGE - 3 <= len(few) <= PAGE, 'control: it fits', [len(few)])

    def expect(what, *arguments, last=lines[-1], **variables):
        terminal = Terminal(*arguments, path, **variables)
        results.check(support.has_ended(terminal.finish()), what,
                      [terminal.code, *terminal.lines()])
        text = '\n'.join(terminal.lines())
        results.check(last in text and 'Space: on' not in text,
                      what + ': all of it', terminal.lines())
        return terminal

    fits = expect('what fits', *short, last=few[-1])
    results.equal([line for line in fits.lines() if line], few, 'what fits')
    expect('--no-pager', *REPLAY, '--no-pager')
    expect('--pager cat', *REPLAY, '--pager', 'cat')
    expect('TRACER_PAGER=cat', *REPLAY, TRACER_PAGER='cat', PAGER='more.com')
    expect('PAGER=cat', *REPLAY, PAGER='cat')
    _, rows = text_of(session, *REPLAY, '--csv')
    expect('--csv', *REPLAY, '--csv', last=rows[-1][:WIDTH - 1])
    expect('--json', *REPLAY, '--json', last='}')


def check_ends(results, session):
    """Other ways to end, and that what nobody wants is not read."""
    path = programs.windows_path(session)
    for key, what in (b'\x03', 'Ctrl+C'), (b'\x1b', 'Esc'), (b'Q', 'Q'):
        terminal = Terminal(*REPLAY, path)
        results.check(terminal.wait_for(lambda shown: shown.status()),
                      what + ': a page', terminal.lines())
        terminal.type(key)
        results.check(support.has_ended(terminal.finish()),
                      what + ': the exit code', [terminal.code])
        results.check(terminal.has_its_modes(), what + ': the modes')
    terminal = Terminal('report', '--help')
    results.check(terminal.wait_for(lambda shown: shown.status()),
                  'help has pages', terminal.lines())
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'help: q',
                  [terminal.code])


def check_programs(results, scratch, session):
    """Pagers that are programs: one that is not there, and one that is."""
    _, lines = text_of(session, *REPLAY)
    path = programs.windows_path(session)
    terminal = Terminal(*REPLAY, '--pager', 'no-such-pager -x', path)
    results.check(terminal.wait_for(lambda shown: shown.page(lines, 0)),
                  'a pager that is not there', terminal.lines())
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()) and
                  b'start the pager: no-such-pager -x: no such file' in
                  terminal.raw, 'which is said', [terminal.raw[:400]])

    # One that numbers the lines; it gets all of them, and ends by itself.
    source = os.path.join(scratch, 'number.c')
    with open(source, 'w', encoding='utf-8') as file:
        file.write(NUMBER)
    program = programs.windows_path(programs.build(
        os.path.join(scratch, 'number'), [source], ['-O1'], 'number.exe'))
    for variables, option in ({}, ('--pager', program + ' >')), \
            ({'TRACER_PAGER': program + ' >', 'PAGER': 'cat'}, ()), \
            ({'PAGER': program + ' >'}, ()):
        what = 'a program: %s %s' % (list(variables), option[:1])
        terminal = Terminal(*REPLAY, *option, path, **variables)
        results.check(support.has_ended(terminal.finish()), what,
                      [terminal.code])
        shown = [line for line in terminal.lines() if line]
        results.equal(shown[-3:], ['>%d %s' % (number + 1, lines[number])
                                   for number in range(len(lines) - 3,
                                                       len(lines))],
                      what + ': it has the lines')
    terminal = Terminal(*REPLAY, '--pager', program + ' > 5', path)
    results.check(support.has_ended(terminal.finish()) and
                  '>5 ' + lines[4] in terminal.lines() and
                  not any(line.startswith('>6') for line in terminal.lines()),
                  'a program that has seen enough', terminal.lines())
    terminal = Terminal(*REPLAY, '--limit', '5', '--pager', program, path)
    results.check(support.has_ended(terminal.finish()) and
                  any(terminal.lines()) and
                  not any(line.startswith('>') for line in terminal.lines()),
                  'none is started for what fits', terminal.lines())


def check_colors(results, session):
    """The same colours in pages as without."""
    path = programs.windows_path(session)

    def colors(*arguments):
        terminal = Terminal('tree', '--no-cache', *arguments, path)
        if arguments:
            terminal.finish()
        else:
            terminal.wait_for(lambda shown: shown.status())
            terminal.type(b'q')
            terminal.finish()
        return {(cell.data, cell.fg, cell.bold)
                for row in terminal.screen.buffer.values()
                for cell in row.values() if cell.data in '\u2502\u2514\u2500'}
    paged, whole = colors(), colors('--no-pager')
    results.check(paged and paged == whole, 'the lines of a tree',
                  [paged, whole])
    results.check(colors('--color', 'never', '--no-pager') != whole,
                  'control: they have a colour')


def main():
    results = programs.Results()
    if live.pyte is None:
        results.skip('pages: python3-pyte is not there')
        return results.finish()
    with programs.Scratch() as scratch:
        session = limits.make(scratch, 'session', 3, 150)
        check_pages(results, session)
        check_resize(results, session)
        check_whole(results, session)
        check_ends(results, session)
        check_programs(results, scratch, session)
        check_colors(results, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

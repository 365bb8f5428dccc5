#!/usr/bin/env python3
"""Tables that fit a width: --width against what JSON says, with the widths of
characters from Python's own tables.

Controls: without --width there are lines that are longer, and columns that
--width leaves out.
"""

import json
import os
import re
import struct
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

SOURCE = os.path.join(programs.PROGRAMS, 'Screen.cpp')
COMPILER = ('x86_64-w64-mingw32-g++', '-O1', '-fno-exceptions',
            '-fno-optimize-sibling-calls', '-Wno-normalized')
WIDTHS = (80, 120, 200)
MORE_WIDTHS = (40, 41, 55, 79, 81, 100, 160, 399)
ELLIPSIS = '\u2026'
NOT_SHOWN = 'Not shown, for the width (--width): '
BRANCH = re.compile('^((?:\u2502 |  )*)(\u251c\u2500|\u2514\u2500)')


def cells(text):
    """What a text takes on a terminal."""
    return sum(0 if unicodedata.category(character) in ('Mn', 'Me', 'Cf')
               else 2 if unicodedata.east_asian_width(character) in 'WF'
               else 1 for character in text)


class Screen:
    def __init__(self, results, session, *others):
        self.results = results
        self.paths = [programs.windows_path(path)
                      for path in (session, *others)]

    def read(self, command, *arguments):
        code, text = programs.trace_reader(command, *arguments,
                                           *self.paths)
        self.results.equal(code, 0, '%s %s' % (command, arguments))
        return text

    def table(self, width, command, *arguments):
        """The titles, the rows and the columns that were left out."""
        if command != 'modules':        # which shows no functions
            arguments = ('--names', 'full', *arguments)
        text = self.read(command, '--width', str(width), *arguments)
        lines = text.split('\n')
        joined = ' '.join(text.split())
        left_out = joined.partition(NOT_SHOWN)[2]
        end = next((index for index, line in enumerate(lines)
                    if not line or line.startswith(('Not shown', '('))),
                   len(lines))
        wide = [line for line in lines[:end] if cells(line) > width]
        self.results.check(not wide, '%s: lines wider than %d' %
                           (command, width), wide)
        return lines[0], lines[1:end], \
            [name.strip() for name in left_out.split(',')] if left_out else []


def is_shortened(shown, full):
    """Whether a text is another one, or that without its middle."""
    head, dots, tail = shown.partition(ELLIPSIS)
    if not dots:
        return shown == full
    return full.startswith(head) and full.endswith(tail) and \
        len(head) + len(tail) < len(full)


def check_report(results, screen, width):
    titles, rows, left_out = screen.table(width, 'report')
    functions = json.loads(screen.read('report', '--json'))['functions']
    whole = sum(row['self_ns'] for row in functions)
    what = 'report at %d' % width
    results.equal(len(rows), len(functions), what + ': rows')
    results.check(width < 80 or any('\u2588' in row for row in rows),
                  what + ': there is a bar', rows)
    for row, function in zip(rows, functions):
        name = row[titles.index('Function'):]
        results.check(is_shortened(name, function['function']),
                      what + ': the name', (row, function['function']))
        results.equal(int(row.split()[0]), function['calls'],
                      what + ': calls')
        share = re.search(r'(\d+)\.(\d)%', row)
        if not results.check(share is not None or width < 60,
                             what + ': the share', [row]) or not share:
            continue
        # Times are whole nanoseconds there, and ticks here.
        tenths = int(share.group(1) + share.group(2))
        expected = function['self_ns'] * 1000 / whole
        results.check(abs(tenths - expected) <= 2,
                      what + ': the share is of self times',
                      [row, expected])
        if '\u2588' in row or '\u258c' in row:
            halves = 2 * row.count('\u2588') + row.count('\u258c')
            results.equal(halves, tenths * 20 // 1000, what + ': bar')
    for title in ('Min', 'Max', 'Average'):
        results.equal((title in titles.split(), title in left_out),
                      (title not in left_out, title not in titles.split()),
                      what + ': a column is shown, or named: ' + title)


def check_tree(results, screen, width):
    """Lines of a tree: what JSON has as depth, and which child is a last."""
    titles, rows, _ = screen.table(width, 'tree')
    nodes = json.loads(screen.read('tree', '--json'))['nodes']
    results.equal(len(rows), len(nodes), 'tree: rows')
    last = {}
    for node in nodes:
        if node['depth']:
            last[node['parent']] = node['node']
    bad = []
    for row, node in zip(rows, nodes):
        # Wide characters stand only in names, behind the lines.
        text = row[titles.index('Function'):]
        match = BRANCH.match(text)
        depth = len(match.group(0)) // 2 if match else 0
        name = text[match.end():] if match else text
        is_last = last.get(node['parent']) == node['node']
        if depth != node['depth'] or \
                not is_shortened(name, node['function']) or \
                match and (match.group(2)[0] == '\u2514') != is_last:
            bad.append((row, node['depth'], node['function'], is_last))
    results.check(not bad, 'tree: lines', bad)
    results.check(any('\u251c' in row for row in rows) and
                  any('\u2514' in row for row in rows),
                  'control: there are both kinds of branches')


def check_info(results, screen):
    """Below what it says first, tables that fit."""
    def widest(*arguments):
        lines = screen.read('info', *arguments).partition('\n\n')[2]
        return max(map(cells, lines.split('\n')))

    results.check(widest('--width', '80') <= 80, 'info at 80')
    results.check(widest() > 80 and widest('--width', 'none') == widest(),
                  'control: info without --width')


def same(results, one, other, what):
    """Two outputs, byte for byte."""
    lines = one.split('\n'), other.split('\n')
    results.check(one == other, what,
                  [*map(len, lines),
                   *(pair for pair in zip(*lines) if pair[0] != pair[1])])


def check_same(results, screen):
    """What is no terminal's stays as it is."""
    plain = screen.read('report')
    for arguments in (('--width', 'none'), ('--width=auto',)):
        same(results, plain, screen.read('report', *arguments), arguments[-1])
    results.check(max(map(cells, plain.split('\n'))) > 200,
                  'control: lines are longer without --width')
    same(results, screen.read('report', '--csv', '--width', '80'),
         screen.read('report', '--csv'), 'CSV has no width')
    for bad in ('39', '1001', 'wide', '-1', ''):
        code, text = programs.trace_reader('report', '--width=' + bad,
                                           *screen.paths)
        results.equal((code, text), (1, ''), '--width=%s is refused' % bad)


def check_columns(results, screen, pair):
    titles, _, left_out = screen.table(80, 'report', '--sort', 'min')
    results.check('Min' in titles.split() and 'Min' not in left_out,
                  'the column of --sort stays', [titles])
    titles, _, _ = screen.table(80, 'report')
    results.check('Min' not in titles.split(), 'control: otherwise it goes',
                  [titles])

    # The difference of a session and itself.
    plain = pair.read('diff').split('\n')[0]
    rows = json.loads(pair.read('diff', '--json'))
    rows = next(value for value in rows.values() if isinstance(value, list))
    results.check(all(row['calls_difference'] == 0 for row in rows),
                  'control: there is no difference')
    titles, _, left_out = pair.table(399, 'diff')
    gone = [title for title in re.split(r'\s{2,}', plain.strip())
            if title not in re.split(r'\s{2,}', titles.strip())]
    results.check(len(gone) >= 2 and not left_out,
                  'columns that are all zero are hidden',
                  [plain, titles])


def check_many(results, screen):
    """More rows than are kept for the layout."""
    nodes = json.loads(screen.read('tree', '--json'))['nodes']
    titles, rows, _ = screen.table(120, 'tree')
    results.check(len(nodes) > 8000, 'control: there are many rows')
    results.equal(len(rows), len(nodes), 'all rows are there')
    bad = [(row, node['function']) for row, node in zip(rows, nodes)
           if re.sub(r'^ *(\[\d+\] )?', '', row[titles.index('Function'):])
           != node['function']]
    results.check(not bad, 'many rows, in order', bad)


def fix_rate(session):
    """Gives the stores a last anchor 100 s after the first one, at 2 GHz: the
    reader takes part in finding the rate of a short session's clock, and
    would not say the same to the nanosecond twice."""
    for name in os.listdir(session):
        if not name.endswith('.trace'):
            continue
        with open(os.path.join(session, name), 'r+b') as file:
            data = file.read(0x120)
            tsc, qpc, system, _ = struct.unpack_from('<4Q', data, 0x0E0)
            frequency, = struct.unpack_from('<Q', data, 0x0C0)
            last = tsc + 200 * 10 ** 9, qpc + 100 * frequency, \
                system + 10 ** 9
            file.seek(0x100)
            file.write(struct.pack('<4Q', *last, last[0] ^ last[1] ^ last[2]))


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = programs.build(os.path.join(scratch, 'program'), [SOURCE],
                                 programs.FUNCTION_FLAGS, 'Screen.exe',
                                 [programs.LIBRARY], compiler=COMPILER)
        _, session = programs.trace(program,
                                    directory=os.path.join(scratch, 'few'))
        fix_rate(session)
        screen = Screen(results, session)
        pair = Screen(results, session, session)
        check_same(results, screen)
        check_info(results, screen)
        check_columns(results, screen, pair)
        for width in WIDTHS + (MORE_WIDTHS if programs.LONG else ()):
            check_report(results, screen, width)
            for command in ('tree', 'threads', 'modules', 'hot'):
                screen.table(width, command)
            pair.table(width, 'diff')
        check_tree(results, screen, 399)
        _, session = programs.trace(program, 'many',
                                    directory=os.path.join(scratch, 'many'))
        check_many(results, Screen(results, session))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

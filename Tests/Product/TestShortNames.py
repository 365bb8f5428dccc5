#!/usr/bin/env python3
"""--names: short names on a terminal and with --width, full ones elsewhere; no
two functions are shown under one name.

The short names were written by hand.
"""
# Takes long.

import csv
import fcntl
import io
import json
import os
import pty
import struct
import sys
import termios

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

try:
    import pyte
except ImportError:
    # Debian's Python has it, which may not be the first one in the path.
    if os.path.exists('/usr/bin/python3') and not os.environ.get('TRACER_PYTE'):
        os.environ['TRACER_PYTE'] = 'tried'
        os.execv('/usr/bin/python3', ['/usr/bin/python3'] + sys.argv)
    pyte = None
os.environ.pop('TRACER_PYTE', None)

STRING = ('std::__cxx11::basic_string<char, std::char_traits<char>, '
          'std::allocator<char> >')

# A function's name, and how it is shown beside the others.
NAMES = {
    'main': 'main',
    'Game::Update(float)': 'Game::Update',
    # Overloads have their parameters, and only those.
    'Draw(int)': 'Draw(int)',
    'Draw(' + STRING + ' const&)': 'Draw(std::string const&)',
    'Scene::Draw(int) const': 'Scene::Draw',
    # Only their qualifiers tell these two apart.
    'Node::next()': 'Node::next()',
    'Node::next() const': 'Node::next() const',
    # Their parameters do not tell these apart.
    'int pick<int>(Box<int> const&)': 'int pick<int>(Box<int> const&)',
    'long pick<long>(Box<long> const&)': 'long pick<long>(Box<long> const&)',
    'int pick<char>(char)': 'pick<...>(char)',
    'void sort<int>(int*)': 'sort<...>',
    'std::vector<int, std::allocator<int> >::push_back(int&&)':
        'std::vector<...>::push_back',
    STRING + '::append(char const*)': 'std::string::append',
    'Vec::operator*(float) const': 'Vec::operator*',
    'main::{lambda(int)#1}::operator()(int) const':
        'main::{lambda(int)#1}::operator()',
    # A C function of the same name as an overload without its parameters.
    'Load': 'Load', 'Load(char const*)': 'Load(char const*)',
}
MORE = {'Draw(float)': 'Draw(float)', 'Scene::Draw(char)':
        'Scene::Draw(char)', 'Node::next()': 'Node::next()',
        'main': 'main', 'Other::run(int)': 'Other::run'}


def make(folder, names):
    """A session in which the functions call each other in their order."""
    records, time, stack = [], 1000, []
    for number in range(len(names)):
        place = made.TOP - 0x100 - 64 * number
        stack.append((filters.FIRST + number * filters.STEP, place))
        records.append((time, *stack[-1], made.ENTER))
        time += 1000
    while stack:
        site, place = stack.pop()
        records.append((time, site + 9, place, made.EXIT))
        time += 1000
    return filters.make_session(folder, list(names), [records])


def rows_of(text, table):
    return json.loads(text)[table]


def check_default(results, path):
    """What is no terminal has the full names, byte for byte."""
    for arguments in (['report'], ['report', '--csv'], ['report', '--json'],
                      ['tree'], ['replay'], ['replay', '--csv'], ['threads'],
                      ['callers', 'main'], ['stack'], ['live', '--plain'],
                      ['report', '--width', 'none']):
        plain = support.reader(*arguments, path)
        full = support.reader(arguments[0], '--names', 'full', *arguments[1:],
                              path)
        short = support.reader(arguments[0], '--names', 'short',
                               *arguments[1:], path)
        what = ' '.join(arguments)
        if arguments[0] == 'live':      # it says how much it read
            plain, full, short = ((code, ''.join(filter(
                lambda line: 'std::' in line, text.splitlines(True))), '')
                for code, text, _ in (plain, full, short))
        results.check(plain == full and plain[0] == 0 and plain[1],
                      'the same as --names full: ' + what,
                      [plain[2], full[2]])
        if arguments[0] not in ('threads', 'callers'):
            results.check('std::char_traits' in plain[1] and
                          'std::char_traits' not in short[1] and
                          short[0] == 0, '--names short: ' + what,
                          [short[1][:500], short[2]])


def check_short(results, path):
    """Every function has its short name, whoever shows it."""
    short = sorted(NAMES.values())

    def names(command, *arguments, field='function', table=None):
        code, text, errors = support.reader(command, '--names', 'short',
                                            *arguments, path)
        if not results.check(code == 0, '%s %s' % (command, arguments),
                             [errors]):
            return []
        if table:
            return [row[field] for row in rows_of(text, table)]
        return [row[field] for row in csv.DictReader(io.StringIO(text))]

    results.equal(sorted(names('report', '--csv')), short, 'report --csv')
    results.equal(sorted(names('report', '--json', table='functions')), short,
                  'report --json')
    results.equal(names('tree', '--csv'), list(NAMES.values()), 'tree --csv')
    results.equal(sorted(set(names('replay', '--csv'))), short,
                  'replay --csv')
    results.equal(sorted(names('callers', '--json', '--depth', '99', 'Load(',
                               table='callers')),
                  sorted([*short, '(outermost)']), 'callers')
    results.equal(names('callees', '--json', 'Draw(int)', table='callees'),
                  ['Draw(int)', 'Draw(std::string const&)'], 'callees')
    results.equal(names('threads', '--json', table='threads',
                        field='top_function')[0] in short, True, 'threads')
    code, text, errors = support.reader('outliers', '--names', 'short',
                                        '--json', 'Node::next() const', path)
    results.check(code == 0 and 'Node::next() const' in text and
                  'std::char_traits' not in text, 'outliers', [errors, text])
    # A filter has the full names.
    code, text, errors = support.reader(
        'report', '--csv', '--names', 'short', '--function',
        'std::__cxx11,int pick<int>', path)
    results.equal(sorted(row['function'] for row in
                         csv.DictReader(io.StringIO(text))),
                  ['int pick<int>(Box<int> const&)', 'std::string::append'],
                  '--function')
    # A line of replay has parentheses of its own.
    code, text, errors = support.reader('replay', '--names', 'short', path)
    results.check(code == 0 and 'Game::Update() {\n' in text and
                  'Draw(int) {\n' in text, 'replay', [text])


def check_width(results, path):
    """--width stands for a terminal."""
    for command in ('report',), ('tree',), ('callees', 'main'):
        one = support.reader(command[0], '--width', '160', *command[1:], path)
        other = support.reader(command[0], '--width', '160', '--names',
                               'short', *command[1:], path)
        full = support.reader(command[0], '--width', '160', '--names', 'full',
                              *command[1:], path)
        results.check(one == other and one[0] == 0 and one != full,
                      '--width 160: %s' % command[0], [one, full])
    _, text, _ = support.reader('report', '--width', '160', path)
    missing = [name for name in NAMES.values()
               if name + '\n' not in text and name + ' ' not in text]
    results.check(not missing, '--width 160: all names', [missing, text])
    for command in ('report', 'tree', 'export'):
        code, text, errors = support.reader(
            command, *(['--format', 'folded', '-o', '-'] if command ==
                       'export' else []), '--names', 'tall', path)
        results.check(code == 1 and 'short or full' in errors or
                      command == 'export', '%s --names tall' % command,
                      [code, errors])


def check_copied(results, path):
    """What a terminal shows is a name that the commands take."""
    def callers(name):
        return support.reader('callers', '--json', '--no-cache', name, path)

    for full, short in NAMES.items():
        results.equal(callers(short), callers(full), 'copied: ' + short)
        for width in 9, 12, 20:
            if len(short) <= width:
                continue
            cut = short[:width // 2] + '\u2026' + short[1 - width +
                                                        width // 2:]
            code, text, errors = callers(cut)
            others = [other for other, shown in NAMES.items()
                      if any(form.startswith(short[:width // 2]) and
                             form.endswith(short[1 - width + width // 2:])
                             for form in (other, shown,
                                          other.removesuffix(' const'),
                                          other.partition('(')[0]))]
            if len(others) == 1:
                results.equal((code, text), callers(full)[:2],
                              'copied: %s: %s' % (cut, others))
            else:
                results.check(
                    code == 0 and (code, text) == callers(full)[:2] or
                    code == 1 and 'several names are meant by' in errors and
                    '!%s\n' % full in errors,
                    'copied: %s: the candidates' % cut,
                    [code, text, errors])
        if '<...>' in short:
            code, text, _ = support.reader('report', '--csv', '--function',
                                           short, path)
            results.equal([row['function'] for row in
                           csv.DictReader(io.StringIO(text))], [full],
                          '--function ' + short)
    code, text, _ = support.reader('report', '--csv', '--function',
                                   'std::vector<...>::*,-*\u2026push_back',
                                   path)
    results.equal(text.count('\n'), 1, '--function: one that excludes')
    code, _, errors = callers('no<...>such')
    results.check(code == 3 and 'no<...>such' in errors,
                  'control: no such name', [errors])
    code, text, _ = callers('std::vector<..>::push_back')
    results.equal((code, text), (3, ''), 'control: no name that is shown')


def check_apart(results, scratch):
    """Names that would look the same when they are cut are cut elsewhere."""
    head, tail = 'alpha_' * 9, '_omega' * 9
    names = ['main', head + 'one' + tail, head + 'two' + tail,
             head + 'two_more' + tail, 'other_' * 20 + 'one',
             'Take(%s, int)' % ', '.join(['unsigned long'] * 9),
             'Take(%s, int)' % ', '.join(['unsigned long'] * 4 + ['char'] +
                                         ['unsigned long'] * 4),
             'g\u00e4ste' * 12 + '\u4e2d' + '\u6587' * 20,
             'g\u00e4ste' * 12 + '\u56fd' + '\u6587' * 20]
    path = programs.windows_path(make(os.path.join(scratch, 'apart'), names))
    for width in 60, 80, 100:
        for command in 'report', 'tree':
            code, text, errors = support.reader(command, '--width', str(width),
                                                '--no-cache', path)
            shown = [line.split('  ')[-1].lstrip(
                '\u2502\u251c\u2514\u2500 ') for line in
                text.split('\n')[1:1 + len(names)]]
            what = '%s at %d' % (command, width)
            results.check(code == 0 and len(set(shown)) == len(names),
                          'no two look the same: ' + what, [text, errors])
            results.check(all(sum(2 if letter >= '\u4e00' else 1
                                  for letter in line) <= width
                              for line in text.split('\n')),
                          'nothing is wider: ' + what, [text])
            # Copied, each means its function, or is one of several that
            # are listed where words stand in it again and again.
            for name in shown if command == 'report' else ():
                code, text, errors = support.reader(
                    'callers', '--csv', '--no-cache', name, path)
                rows = list(csv.DictReader(io.StringIO(text)))
                results.check(code == 0 and is_cut(rows[0]['function'], name)
                              or name.startswith('Take') and
                              errors.count('!Take(') == 2,
                              'what is cut means one: ' + name,
                              [text, errors])
            cut = [name for name in shown if name.startswith('other')]
            results.check(len(cut) == 1 and cut[0].count('\u2026') == 1 and
                          abs(len(cut[0].partition('\u2026')[0]) -
                              len(cut[0].partition('\u2026')[2])) <= 1,
                          'control: what looks like no other: ' + what, cut)


def is_cut(name, shown):
    parts = shown.split('\u2026')
    return name.startswith(parts[0]) and all(part in name for part in parts)


def check_export(results, scratch, path):
    """An export has full names unless short ones are asked for."""
    for kind in 'short', 'full', None:
        target = os.path.join(scratch, 'folded-%s.txt' % kind)
        code, _, errors = support.reader(
            'export', '--format', 'folded', '-o',
            programs.windows_path(target),
            *(['--names', kind] if kind else []), path)
        with open(target, encoding='utf-8') as file:
            text = file.read()
        results.check(code == 0 and ('std::char_traits' not in text) ==
                      (kind == 'short'), 'export: %s' % kind, [errors, text])


def check_diff(results, scratch, path):
    """Both sessions of diff count."""
    other = programs.windows_path(make(os.path.join(scratch, 'b'), MORE))
    code, text, errors = support.reader('diff', '--names', 'short', '--csv',
                                        path, other)
    found = sorted(row['function'] for row in
                   csv.DictReader(io.StringIO(text)))
    expected = {**NAMES, **MORE, 'Scene::Draw(int) const':
                'Scene::Draw(int) const'}
    results.equal((code, found), (0, sorted(expected.values())), 'diff')
    results.equal(len(found), len(set(found)), 'diff: no name twice')


def check_terminal(results, path):
    """On a terminal, names are short without being asked for."""
    if pyte is None:
        results.skip('a terminal: there is no pyte (Debian: python3-pyte)')
        return
    for more, is_short in ([], True), (['--names', 'full'], False):
        screen = pyte.Screen(250, 60)
        stream = pyte.ByteStream(screen)
        go, ready = os.pipe()
        pid, file = pty.fork()
        if pid == 0:
            os.read(go, 1)
            os.environ.update(support.environment(), TRACER_PAGER='cat',
                              TERM='xterm-256color')
            os.execv(programs.WINE, [programs.WINE, programs.READER, 'report',
                                     *more, path])
        fcntl.ioctl(file, termios.TIOCSWINSZ,
                    struct.pack('HHHH', 60, 250, 0, 0))
        os.write(ready, b'x')
        try:
            while True:
                data = os.read(file, 65536)
                if not data:
                    break
                stream.feed(data)
        except OSError:
            pass                        # the terminal's other end is closed
        os.waitpid(pid, 0)
        os.close(file)
        text = '\n'.join(screen.display)
        results.check(('std::vector<...>::push_back' in text) == is_short and
                      ('std::vector<int, ' in text) != is_short,
                      'a terminal %s' % more, [text])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        path = programs.windows_path(make(os.path.join(scratch, 'a'), NAMES))
        check_default(results, path)
        check_short(results, path)
        check_width(results, path)
        check_copied(results, path)
        check_apart(results, scratch)
        check_export(results, scratch, path)
        check_diff(results, scratch, path)
        check_terminal(results, path)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""--function and --exclude: what report, tree, replay and live show with them
is what they show without, less what the prefixes leave out.

The sessions are made up, and so are the images that name their functions: a
header and a COFF symbol table.  What a filter should leave is computed here,
from the unfiltered output and from trace_reader.py, by trying every beginning
of a name.
"""
# Takes long.

import collections
import csv
import io
import json
import os
import random
import re
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

STEP = 16                   # bytes of a function
FIRST = 0x1000              # RVA
NOTHING = 3                 # exit code
MANY_FUNCTIONS, MANY_PREFIXES = 100000, 10000
LONGEST = 32767

NAMES = [
    'Alpha', 'AlphaBeta', 'AlphaBetaGamma', 'AlphaBetaGammaDelta', 'Alp',
    'alpha', 'Beta', 'BetaTwo', 'Game::Update', 'Game::UpdateAll',
    'Game::Draw', 'Game::DebugDraw', 'Map<int,long>::Find',
    'Map<int,short>::Find', 'operator!=', 'Grüße', 'Grün', 'Größe', 'Ωmega',
    '文字列', '文字', '@stack@8', 'Hash#One', 'with blank', 'Zeta', 'z',
]

COST = re.compile(r'TraceReader: filter: (\d+) prefixes in a table in \d+ us; '
                  r'(\d+) functions decided in \d+ us \((.*)\)')


#
# Made-up sessions.
#

def image(names):
    """A PE image that has a symbol for each name, STEP bytes apart."""
    size = (len(names) * STEP + 0xFFF) & ~0xFFF
    data = bytearray(0x400)
    data[0:2] = b'MZ'
    struct.pack_into('<I', data, 0x3C, 0x40)
    data[0x40:0x44] = b'PE\0\0'
    struct.pack_into('<HHIIIHH', data, 0x44, 0x8664, 1, 0x12345678, 0x600,
                     len(names), 0xF0, 0x22)
    struct.pack_into('<H', data, 0x58, 0x20B)
    struct.pack_into('<QII', data, 0x58 + 24, made.BASE, 0x1000, 0x200)
    struct.pack_into('<II', data, 0x58 + 56, FIRST + size, 0x400)
    struct.pack_into('<I', data, 0x58 + 108, 16)
    struct.pack_into('<8sIIIIIIHHI', data, 0x58 + 0xF0, b'.text', size, FIRST,
                     0x200, 0x400, 0, 0, 0, 0, 0x60000020)
    data += bytes(0x200)
    symbols, strings = bytearray(), bytearray(4)
    for number, name in enumerate(names):
        symbols += struct.pack('<IIIhHBB', 0, len(strings), number * STEP, 1,
                               0x20, 2, 0)
        strings += name.encode() + b'\0'
    struct.pack_into('<I', strings, 0, len(strings))
    return bytes(data + symbols + strings), FIRST + size


def random_calls(numbers, functions, count, time=1000):
    """Calls of random functions; some are left, some are open at the end."""
    records, stack = [], []
    while len(records) < count:
        time += numbers.randrange(1, 300)
        chance = numbers.random()
        if chance < 0.02 and stack:
            del stack[-numbers.randrange(1, 3):]
        elif (chance < 0.54 and len(stack) < 9) or not stack:
            top = stack[-1][1] if stack else made.TOP - 0x100
            stack.append((numbers.randrange(functions), top - 64))
            records.append((time, FIRST + stack[-1][0] * STEP, stack[-1][1],
                            made.ENTER))
        else:
            function, place = stack.pop()
            records.append((time, FIRST + function * STEP + 9, place,
                            made.EXIT))
    return records


def make_session(folder, names, threads):
    """Writes a session: names are its functions', threads lists of records."""
    session = os.path.join(folder, 'session')
    os.makedirs(session)
    path = os.path.join(folder, 'made-up.exe')
    data, size = image(names)
    with open(path, 'wb') as file:
        file.write(data)
    path = programs.windows_path(path).encode()
    changes = {
        'at0x80': struct.pack('<II', 1, 0),
        'at0x128': struct.pack('<II', size, 0x12345678),
        'at0x148': struct.pack('<4I', *(4 * [len(path)])),
        'at0x200': path,
        'at0x620': path,
    }
    for number, records in enumerate(threads, 1):
        made.write(os.path.join(session, 'made-up.exe-%d-0.trace' % number),
                   records, at0x1C=struct.pack('<I', number), **changes)
    return session


#
# What a filter means.
#

class Filter:
    """The rules, in one place: a list of (prefix, is it excluded)."""

    def __init__(self, *prefixes, lower=False, shortest=False):
        self.lower, self.shortest = lower, shortest
        self.verdicts = {}
        for prefix, is_excluded in prefixes:
            self.verdicts.setdefault(self.fold(prefix), is_excluded)
        self.has_functions = not all(self.verdicts.values())
        self.known = {}

    def fold(self, name):
        return name.lower() if self.lower else name

    def verdict(self, name):
        """True: shown; False: excluded; None: no prefix says."""
        if name not in self.known:
            folded, found = self.fold(name), None
            lengths = range(1, len(folded) + 1)
            for length in lengths if self.shortest else reversed(lengths):
                if folded[:length] in self.verdicts:
                    found = not self.verdicts[folded[:length]]
                    break
            self.known[name] = found
        return self.known[name]

    def shows(self, name):
        verdict = self.verdict(name)
        return not self.has_functions if verdict is None else verdict


def shown(*names):
    return [(name, False) for name in names]


def hidden(*names):
    return [(name, True) for name in names]


def filtered_nodes(rows, rules):
    """The nodes of tree that are to stay, from those of the whole tree."""
    by_node = {row['node']: row for row in rows}
    names = {}

    def path(node):
        if node not in names:
            row = by_node[node]
            names[node] = ((path(row['parent']) if row['depth'] else ()) +
                           (row['function'],))
        return names[node]

    keep = set()
    for node in by_node:
        verdicts = list(map(rules.verdict, path(node)))
        if False not in verdicts and any(map(rules.shows, path(node))):
            while node not in keep:
                keep.add(node)
                if not by_node[node]['depth']:
                    break
                node = by_node[node]['parent']
    return [row for row in rows if row['node'] in keep]


def filtered_rows(rows, rules):
    return [row for row in rows if rules.shows(row['function'])]


#
# Reading.
#

class Reader:
    """TraceReader on one session."""

    def __init__(self, results, session):
        self.results = results
        self.session = programs.windows_path(session)

    def run(self, command, *arguments):
        return support.reader(command, *arguments, self.session)

    def rows(self, command, *arguments):
        """(exit code, rows, what was not shown), from JSON."""
        code, text, errors = self.run(command, '--json', *arguments)
        if not self.results.check(text[:1] == '{', '%s %s: JSON' % (
                command, arguments), [code, errors]):
            return code, [], {}
        data = json.loads(text)
        rows = data[{'report': 'functions', 'tree': 'nodes',
                     'replay': 'events'}[command]]
        return code, rows, data.get('not_shown')


def differences(rows, expected):
    if rows == expected:
        return []
    return ['%d rows, %d expected' % (len(rows), len(expected))] + [
        pair for pair in zip(rows, expected) if pair[0] != pair[1]][:3]


def check(results, reader, whole, arguments, rules, what, more=()):
    """report, tree and replay with a filter, against those without."""
    for command, select in (('report', filtered_rows),
                            ('tree', filtered_nodes),
                            ('replay', filtered_rows)):
        if (command, *more) not in whole:
            whole[command, *more] = reader.rows(command, *more)[1]
        rows = whole[command, *more]
        expected = select(rows, rules)
        code, found, said = reader.rows(command, *more, *arguments)
        wrong = differences(found, expected)
        kept = {row.get('node', index) for index, row in enumerate(expected)}
        if command == 'tree':
            gone = [row for row in rows if row['node'] not in kept]
            told = {'nodes': len(gone),
                    'calls': sum(row['calls'] for row in gone)}
        else:
            gone = [row for row in rows if not rules.shows(row['function'])]
            told = {'functions': len({(row['module'], row['function'])
                                      for row in gone}),
                    'calls': sum(row['calls'] if command == 'report' else
                                 row['event'] == 'enter' for row in gone)}
        if said != [told]:
            wrong.append(('not shown', said, told))
        if code != (0 if expected or not gone else NOTHING):
            wrong.append(('exit code', code))
        results.check(not wrong, '%s: %s' % (command, what), wrong)


#
# The parts.
#

def write_lines(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return '@' + programs.windows_path(path)


def check_rules(results, scratch, reader):
    """What decides: longest prefix, case, lists, files."""
    whole = {}
    lines = '\ufeff# what to show\r\n\r\n  Map<int,long>\t\r\nAlpha\r\n\t# x' \
            '\n-AlphaBetaGamma\nGr\xfc\n@stack\nHash#\nwith blank'
    listed = write_lines(scratch, 'für, alle @ 1.txt', lines)
    out = write_lines(scratch, 'exclude.txt', '文字列\nz\n')
    marked = write_lines(scratch, 'marked.txt', '\ufeffAlpha\r\nBeta')
    empty = write_lines(scratch, 'nothing.txt', '# nothing\n')
    cases = [
        ('one prefix', ['--function', 'Alpha'], Filter(*shown('Alpha'))),
        ('a prefix of a prefix with the other verdict, twice',
         ['--function=Alpha,AlphaBetaGamma',
          '--exclude=AlphaBeta,AlphaBetaGammaDelta'],
         Filter(*shown('Alpha', 'AlphaBetaGamma'),
                *hidden('AlphaBeta', 'AlphaBetaGammaDelta'))),
        ('the same in one option',
         ['--function', 'Alpha, -AlphaBeta ,,AlphaBetaGamma,'
          '-AlphaBetaGammaDelta'],
         Filter(*shown('Alpha', 'AlphaBetaGamma'),
                *hidden('AlphaBeta', 'AlphaBetaGammaDelta'))),
        ('only --exclude, given twice',
         ['--exclude', 'Alpha', '--exclude', 'Game::D'],
         Filter(*hidden('Alpha', 'Game::D'))),
        ('longer than the names, and equal to one',
         ['--function', 'BetaTwoThree,Zeta', '--exclude', 'AlphaBetaGammaX'],
         Filter(*shown('BetaTwoThree', 'Zeta'),
                *hidden('AlphaBetaGammaX'))),
        ('UTF-8', ['--function', 'Gr,文', '--exclude', 'Grü'],
         Filter(*shown('Gr', '文'), *hidden('Grü'))),
        ('equal prefixes: the first',
         ['--function', 'Alpha,Beta', '--exclude', 'Alpha'],
         Filter(*shown('Alpha', 'Beta'))),
        ('equal prefixes the other way round',
         ['--exclude', 'Alpha', '--function', 'Alpha,Beta'],
         Filter(*hidden('Alpha'), *shown('Beta'))),
        ('! behind operator, and behind a module',
         ['--function', 'operator!,made-up.exe!Alpha,other.exe!Beta'],
         Filter(*shown('operator!', 'Alpha', 'alpha'))),
        ('a module that excludes', ['--function', 'Alpha,Beta,alpha',
                                    '--exclude', 'MADE-UP!ALPHAbeta'],
         Filter(*shown('Alpha', 'Beta', 'alpha'), *hidden('AlphaBeta'))),
        ('a file', ['--function', listed],
         Filter(*shown('Map<int,long>', 'Alpha', 'Grü', '@stack', 'Hash#',
                       'with blank'), *hidden('AlphaBetaGamma'))),
        ('files and lists',
         ['--function', 'z,Zeta', '--exclude', out, '--function', listed],
         Filter(*shown('Zeta', 'Map<int,long>', 'Alpha', 'Grü', '@stack',
                       'Hash#', 'with blank', 'z'),
                *hidden('AlphaBetaGamma', '文字列'))),
        ('a file that begins with its mark', ['--exclude', marked],
         Filter(*hidden('Alpha', 'Beta'))),
        ('nothing to exclude', ['--exclude', empty], Filter()),
        ('nothing is left', ['--function', 'Nothing,alphabet'],
         Filter(*shown('Nothing', 'alphabet'))),
    ]
    for what, arguments, rules in cases:
        check(results, reader, whole, arguments, rules, what)
    for what, arguments, rules in cases[1:2]:
        for more in (['--from', '20us', '--to', '60us'], ['--thread', '2']):
            check(results, reader, whole, arguments, rules,
                  '%s, %s' % (what, more), more)
    return whole


def check_controls(results, whole):
    """Other rules give something else here: the checks would see them."""
    right = [*shown('Alpha', 'AlphaBetaGamma'),
             *hidden('AlphaBeta', 'AlphaBetaGammaDelta')]
    for what, wrong in (('shortest', Filter(*right, shortest=True)),
                        ('case', Filter(*right, lower=True)),
                        ('all', Filter()),
                        ('one less', Filter(*right[:-1]))):
        for command, select in (('report', filtered_rows),
                                ('tree', filtered_nodes),
                                ('replay', filtered_rows)):
            rows = whole[command, ]
            results.check(select(rows, Filter(*right)) != select(rows, wrong),
                          'control: %s, %s' % (command, what))
    rows = whole['tree', ]
    results.check(filtered_nodes(rows, Filter(*right)) !=
                  filtered_rows(rows, Filter(*right)),
                  'control: tree, a filter of rows')


class Watch:
    """Counts the calls of each path, for trace_reader.pair."""

    def __init__(self):
        self.paths = collections.Counter()
        self.names = {}

    def record(self, *_):
        pass

    def enter(self, frames):
        self.paths[tuple(id(frame[4]) for frame in frames)] += 1

    def leave(self, *_):
        pass


def check_other_reader(results, session, reader):
    """Calls of functions and of paths, as trace_reader.py counts them."""
    functions, watch = {}, Watch()
    for store in trace_reader.open_all([session]):
        trace_reader.pair(store, functions,
                          lambda rva: NAMES[(rva - FIRST) // STEP], watch)
    names = {id(function): name for name, function in functions.items()}
    arguments = ['--function', 'Alpha,-AlphaBeta,Gr', '--exclude', 'Zeta,z']
    rules = Filter(*shown('Alpha', 'Gr'), *hidden('AlphaBeta', 'Zeta', 'z'))

    _, rows, _ = reader.rows('report', *arguments)
    results.equal({row['function']: row['calls'] for row in rows},
                  {name: function.calls
                   for name, function in functions.items()
                   if rules.shows(name)}, 'report: calls, another reader')

    paths = {tuple(names[number] for number in path): count
             for path, count in watch.paths.items()}
    allowed = [path for path in paths
               if not any(rules.verdict(name) is False for name in path)]
    ends = [path for path in allowed if any(map(rules.shows, path))]
    expected = {path[:length]: paths[path[:length]]
                for path in ends for length in range(1, len(path) + 1)}
    _, rows, said = reader.rows('tree', *arguments)
    found, above = {}, {}
    for row in rows:
        above[row['node']] = ((above[row['parent']] if row['depth'] else ()) +
                              (row['function'],))
        found[above[row['node']]] = row['calls']
    results.check(len(expected) > 100 and found == expected,
                  'tree: calls, another reader',
                  [len(found), len(expected)])
    results.equal(said, [{'nodes': len(paths) - len(expected),
                          'calls': sum(paths.values()) -
                          sum(expected.values())}], 'tree: not shown')


def check_formats(results, reader, whole):
    """Text and CSV; --limit; --per-thread; workers."""
    arguments = ['--function', 'Alpha', '--exclude', 'AlphaBeta']
    rules = Filter(*shown('Alpha'), *hidden('AlphaBeta'))
    for command in 'report', 'replay':
        _, text, _ = reader.run(command, '--csv')
        _, kept, _ = reader.run(command, '--csv', *arguments)
        rows = list(csv.DictReader(io.StringIO(text)))
        results.equal(list(csv.DictReader(io.StringIO(kept))),
                      filtered_rows(rows, rules), '%s --csv' % command)
        results.equal(reader.run(command, '--csv', '--limit', '2',
                                 *arguments)[1].splitlines(),
                      kept.splitlines()[:3], '%s --csv --limit' % command)

    _, text, _ = reader.run('replay')
    code, kept, errors = reader.run('replay', *arguments)
    lines, wanted = text.splitlines(), []
    for line in lines[1:]:
        match = re.match(r'[^|]*\| *(?:\} )?(?:/\* )?(?:exit without an entry:'
                         r' )?(.+?)(?:\(\)| \*/|, \w+ \*/)', line)
        if match and rules.shows(match.group(1)):
            wanted.append(line)
    results.check(len(wanted) > 10 and kept.splitlines()[1:-1] == wanted,
                  'replay: lines', [len(wanted), *kept.splitlines()[-5:]])
    rows = whole['replay', ]
    gone = [row for row in rows if not rules.shows(row['function'])]
    note = 'Not shown (--function, --exclude): %d functions, %d calls.' % (
        len({row['function'] for row in gone}),
        sum(row['event'] == 'enter' for row in gone))
    results.equal((code, errors, kept.splitlines()[-1]), (0, '', note),
                  'replay: the last line')

    code, kept, errors = reader.run('report', *arguments)
    results.check(code == 0 and errors == '' and note in kept.splitlines(),
                  'report: the last line', kept.splitlines())
    results.check('Not shown' not in text and 'Not shown' not in
                  reader.run('report')[1], 'control: without a filter')

    _, rows, _ = reader.rows('tree', '--per-thread')
    want = filtered_nodes(rows, rules)
    _, rows, _ = reader.rows('tree', '--per-thread', *arguments)
    results.check(want and not differences(rows, want), 'tree --per-thread',
                  differences(rows, want))
    _, text, _ = reader.run('tree', '--per-thread', '--function', 'Grün')
    tracks = re.findall(r'\[thread (\d+)\]\n', text)
    want = filtered_nodes(reader.rows('tree', '--per-thread')[1],
                          Filter(*shown('Grün')))
    results.equal(sorted(set(tracks)),
                  sorted({str(row['thread']) for row in want}),
                  'tree --per-thread: threads with nothing are not there')

    for command in 'report', 'tree', 'replay', 'live':
        _, _, errors = reader.run(command, '--verbose', *arguments)
        cost = COST.search(errors)
        results.check(cost and cost.group(1, 2) == ('2', str(len(NAMES))),
                      '%s: each function is decided once' % command, [errors])

    code, text, errors = reader.run('report', '--csv', '--module', 'MADE',
                                    *arguments)
    results.equal((code, text, errors),
                  (0, reader.run('report', '--csv', *arguments)[1], ''),
                  'report --module')
    code, text, errors = reader.run('report', '--module', 'x', *arguments)
    results.check(code == 0 and ': 0 functions, 0 calls.\n' in text,
                  'report --module: nothing was there', [code, text, errors])

    expected = reader.run('report', '--json', *arguments)
    for way in (['--workers', '3'], ['--general', '--workers', '1']):
        results.equal(reader.run('report', '--json', *way, *arguments),
                      expected, 'report %s' % way)


def live_lines(text):
    """(rows, open frames by thread, how many are not shown)."""
    rows, frames, notes, thread = [], {}, [], None
    for line in text.splitlines():
        match = re.match(r'Thread (\d+)', line)
        if match:
            thread = frames.setdefault(match.group(1), [])
        elif line.startswith('Not shown'):
            notes.append(line)
        elif not line or line.startswith('The program') or \
                re.match(r' +Calls(/s)?  ', line):
            pass
        elif thread is not None:
            thread.append(line)
        elif re.match(r' +\d', line):
            rows.append(line)
    return rows, frames, notes


def check_live(results, reader, whole):
    arguments = ['--function', 'Alpha,Gr,Beta', '--exclude', 'AlphaBeta']
    rules = Filter(*shown('Alpha', 'Gr', 'Beta'), *hidden('AlphaBeta'))

    def keeps(line):
        return rules.shows(re.split(r'(?:[num]?s|-)\*?  +', line)[-1])

    code, text, errors = reader.run('live', '--limit', '1000')
    rows, frames, notes = live_lines(text)
    results.check(code == 0 and len(rows) == len(NAMES) and not notes and
                  sum(map(len, frames.values())) > 3, 'live without a filter',
                  [code, errors, len(rows), frames, notes])
    code, text, errors = reader.run('live', '--limit', '1000', *arguments)
    found, found_frames, notes = live_lines(text)
    expected = list(filter(keeps, rows))
    results.check(3 < len(expected) < len(rows) and found == expected,
                  'live: functions', [*found[:3], *expected[:3]])
    expected = {thread: list(filter(keeps, lines))
                for thread, lines in frames.items()
                if any(map(keeps, lines))}
    results.equal(found_frames, expected, 'live: open frames')
    gone = [row for row in whole['report', ]
            if not rules.shows(row['function'])]
    results.equal((code, errors, notes),
                  (0, '', ['Not shown (--function, --exclude): %d functions, '
                           '%d calls.' % (len(gone), sum(row['calls']
                                                         for row in gone))]),
                  'live: not shown')
    _, text, _ = reader.run('live', '--limit', '1', *arguments)
    results.equal(live_lines(text)[1],
                  {thread: ['%*s(%d more outside)' % (14, '', len(lines) - 1),
                            lines[-1]] if len(lines) > 1 else lines
                   for thread, lines in expected.items()},
                  'live --limit: open frames')
    results.check(max(map(len, expected.values())) > 1,
                  'live: there is a frame outside', [expected])
    code, text, errors = reader.run('live', '--function', 'Nothing')
    results.check(code == NOTHING and 'leave no function' in errors and
                  live_lines(text)[:2] == ([], {}), 'live: nothing is left',
                  [code, errors])


def check_bad(results, scratch, reader):
    """Values and files that are none; nothing is written to the output."""
    def file(name, data):
        return write_lines(scratch, name, data)

    folder = os.path.join(scratch, 'folder')
    os.mkdir(folder)
    missing = '@' + programs.windows_path(os.path.join(scratch, 'missing'))
    cases = [
        (['--function', ''], 'bad value "" for --function'),
        (['--function', ' , ,'], 'bad value " , ," for --function'),
        (['--function', '@'], 'bad value "@" for --function'),
        (['--function', 'a,-'], 'bad value "a,-" for --function'),
        (['--exclude', '-a'], 'bad value "-a" for --exclude'),
        (['--function'], 'bad value'),
        (['--function', missing], 'open the file of prefixes: ' +
         missing[1:] + ': no such file or directory (0xC0000034, '
         'STATUS_OBJECT_NAME_NOT_FOUND)'),
        (['--exclude', '@' + programs.windows_path(folder)],
         'open the file of prefixes: ' + programs.windows_path(folder) +
         ': it is a directory (0xC00000BA, STATUS_FILE_IS_A_DIRECTORY)'),
        (['--function', file('utf16', 'Alpha\r\n'.encode('utf-16'))],
         'utf16: line 1 is not text in UTF-8'),
        (['--function', file('latin', 'a\nb\nGr\xfcn\n'.encode('latin-1'))],
         'latin: line 3 is not text in UTF-8'),
        (['--exclude', file('surrogate', b'a\n\xED\xA0\x80\n')],
         'surrogate: line 2 is not text in UTF-8'),
        (['--exclude', file('zero', b'a\r\n\r\nb\0c')],
         'zero: line 3 is not text in UTF-8'),
        (['--function', file('long', 'a\n' + (LONGEST + 1) * 'b')],
         'long: line 2 is longer than 32767 bytes'),
        (['--exclude', file('minus', 'a\n-b\n')],
         'minus: line 2 begins with -, which is not allowed in '
         '--exclude'),
        (['--function', file('only', 'a\n-\n')],
         'only: line 2 has a - without a prefix'),
        (['--function', file('none', '# nothing\n\n')],
         'none: there is no prefix in it'),
        (['--function', file('empty', '')], 'empty: there is no prefix in it'),
    ]
    for arguments, message in cases:
        for command in ('report', 'tree', 'replay', 'live')[:1 + (
                arguments[-1] == missing) * 3]:
            code, text, errors = reader.run(command, *arguments)
            if arguments == ['--function']:
                message = 'a session directory or store is missing'
            results.check(code == 1 and text == '' and message in errors,
                          '%s %s' % (command, arguments),
                          [code, text[:80], errors])
    code, text, _ = reader.run('report', '--csv', '--function', 'Alpha',
                               '--function', file('longest', LONGEST * 'b' +
                                                  '\n\ufffd\n'))
    results.check(code == 0 and text.count('Alpha') > 2,
                  'the longest prefix, and U+FFFD', [code, text])
    for command in 'info', 'verify':
        code, text, errors = reader.run(command, '--function', 'a')
        results.check(code == 1 and 'unknown option' in errors,
                      '%s has no filter' % command, [code, errors])


def check_nothing(results, reader):
    """The message and the exit code when nothing is left, and only then."""
    for command in 'report', 'tree', 'replay':
        code, text, errors = reader.run(command, '--csv', '--function', 'No')
        results.check(code == NOTHING and text.count('\n') == 1 and
                      '--function and --exclude leave no function' in
                      errors, '%s: nothing is left' % command, [code, errors])
    # A name that is misspelt is named with the one that is near.
    for command, *more in (['report'], ['tree'], ['replay'], ['live'],
                           ['diff', reader.session]):
        for given, near in ('Game::Udpate', 'Game::Update'), \
                ('zeta', 'Zeta'), ('DebugDraw', 'Game::DebugDraw'), \
                ('Hash#Oen', 'Hash#One'):
            code, text, errors = reader.run(
                command, '--plain' if command == 'live' else '--csv',
                '--function', given, *more)
            results.check(code == NOTHING and
                          "--function: no function's name begins with %s; did "
                          'you mean %s?\n' % (given, near) in errors,
                          '%s: near %s' % (command, given), [code, errors])
    code, text, errors = reader.run('report', '--csv', '--function',
                                    'Game::Draw,Betta,-Zetta,~Apha')
    results.check(code == 0 and text.count('\n') == 2 and
                  errors.count('did you mean') == 1 and
                  'begins with Betta; did you mean Beta' in errors,
                  'near: beside one that is there', [code, text, errors])
    for given in 'Alpha', 'Gr', 'qqqq', 'Game::', '~Zetta', 'Zet*':
        code, text, errors = reader.run('report', '--csv', '--function', given)
        results.check('did you mean' not in errors, 'control: ' + given,
                      [errors])
    every = ','.join(sorted({name[0] for name in NAMES if name[0] != '@'}))
    code, text, errors = reader.run('report', '--csv', '--exclude',
                                    every + ',@stack')
    results.check(code == NOTHING and '--exclude leaves no function' in errors,
                  'everything is excluded', [code, errors])
    code, text, errors = reader.run('report', '--thread', '77', '--csv',
                                    '--function', 'No')
    results.check(code == 0 and 'no function' not in errors,
                  'nothing was there before', [code, errors])
    code, text, errors = reader.run('report', '--csv', '--exclude', 'No')
    results.check(code == 0 and errors == '',
                  'nothing is excluded', [code, errors])


def many_functions(numbers, count, calls):
    """Many names, and the records of so many calls of each."""
    words = ['get', 'set', 'Read', 'Write', 'Node', 'Tree', 'ns::', 'Ptr',
             'ß', 'x']
    names = ['%s%s_%d' % (numbers.choice(words), numbers.choice(words), number)
             for number in range(count)]
    records, time = [], 1000
    for _ in range(calls):
        for number in range(count):
            site = FIRST + number * STEP
            records += [(time, site, made.TOP - 128, made.ENTER),
                        (time + 5, site + 9, made.TOP - 128, made.EXIT)]
            time += 10
    return names, records


def many_prefixes(numbers, names, count):
    """Prefixes of some of the names -> whether they are excluded."""
    prefixes = {}
    while len(prefixes) < count:
        name = numbers.choice(names)
        prefixes.setdefault(name[:numbers.randrange(4, len(name) + 3)],
                            numbers.random() < 0.5)
    return prefixes


def check_many(results, scratch):
    """100,000 functions and 10,000 prefixes: each function decided once."""
    numbers = random.Random(1)
    names, records = many_functions(numbers, MANY_FUNCTIONS, 1)
    reader = Reader(results, make_session(os.path.join(scratch, 'many'), names,
                                          [records]))
    prefixes = many_prefixes(numbers, names, MANY_PREFIXES)
    listed = write_lines(scratch, 'many.txt', ''.join(
        '-' * is_excluded + prefix + '\n'
        for prefix, is_excluded in prefixes.items()))
    rules = Filter(*prefixes.items())
    expected = {name for name in names if rules.shows(name)}
    code, text, errors = reader.run('report', '--csv', '--verbose',
                                    '--function', listed)
    found = {row['function'] for row in csv.DictReader(io.StringIO(text))}
    results.check(code == 0 and found == expected and
                  1000 < len(expected) < MANY_FUNCTIONS - 1000,
                  'many functions', [code, len(found), len(expected)])
    cost = COST.search(errors)
    results.check(cost and cost.group(1, 2) ==
                  (str(MANY_PREFIXES), str(MANY_FUNCTIONS)),
                  'many functions: each is decided once', [errors])
    if cost:
        print('    ' + cost.group(0))


def without_anchors(session):
    """Makes times ticks: the reader itself takes part in finding the rate of
    a short session's clock."""
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            file.seek(0x0E0)
            file.write(bytes(0x40))


def check_traced(results, scratch):
    """A traced program: while it runs, with live, and what another one left.

    How much a refresh has is up to the machine, so live is asked until there
    is something; which functions it has is not.
    """
    program = support.build_busy(os.path.join(scratch, 'busy'))
    traces = os.path.join(scratch, 'running')
    stop = os.path.join(scratch, 'stop')
    process = support.start(program, 'for', '86400000', '100000',
                            programs.windows_path(stop), directory=traces)
    try:
        results.check(support.wait_for(
            lambda: len(support.stores(traces)) >= support.BUSY_THREADS),
            'a program runs')
        reader = Reader(results, support.sessions(traces)[0])
        end = time.monotonic() + 300
        while time.monotonic() < end:
            code, text, errors = reader.run(
                'live', '--interval', '200', '--count', '3', '--function',
                'Small,Midd', '--exclude', 'Smaller')
            rows, frames, notes = [], [], []
            for refresh in re.split(r'[\d:.]+Z  process ', text)[1:]:
                found = live_lines(refresh)
                rows += [line.split()[-1] for line in found[0]]
                frames += [line.split()[-1] for lines in found[1].values()
                           for line in lines]
                notes += found[2]
            gone = re.search(r': [1-9]\d* functions?, [1-9]\d* call',
                             '\n'.join(notes))
            if code or len(set(rows)) > 1 and gone and len(notes) == 3:
                break
    finally:
        with open(stop, 'wb'):
            pass
    ended, said = support.finish(process)
    results.check(support.has_ended(ended) and said == 'done\n',
                  'the program', [ended, said])
    results.check(code == 0 and set(rows) == {'Small', 'Middle'} and
                  set(frames) <= {'Small', 'Middle'} and len(notes) == 3,
                  'live, while it runs', [code, errors, text])
    results.check(gone, 'live: what is not shown', notes)

    traces = os.path.join(scratch, 'done')
    support.run(program, 'run', '2', '100', programs.PAUSE, directory=traces)
    session = support.sessions(traces)[0]
    without_anchors(session)
    reader, whole = Reader(results, session), {}
    for arguments, rules in (
            (['--function', 'Role,Middle'], Filter(*shown('Role', 'Middle'))),
            (['--exclude', 'RoleA,Mid'], Filter(*hidden('RoleA', 'Mid')))):
        check(results, reader, whole, arguments, rules,
              'a traced program, %s' % arguments)
    results.check({'RoleA', 'RoleB', 'Outer'} <=
                  {row['function'] for row in whole['report', ]},
                  'a traced program: its functions', whole['report', ])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        numbers = random.Random(7)
        session = make_session(
            os.path.join(scratch, 'few'), NAMES,
            [random_calls(numbers, len(NAMES), 700, 1000 + 50 * thread)
             for thread in range(3)])
        reader = Reader(results, session)
        whole = check_rules(results, scratch, reader)
        check_controls(results, whole)
        check_other_reader(results, session, reader)
        check_formats(results, reader, whole)
        check_live(results, reader, whole)
        check_bad(results, scratch, reader)
        check_nothing(results, reader)
        check_traced(results, scratch)
        check_many(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

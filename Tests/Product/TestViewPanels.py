#!/usr/bin/env python3
"""Checks what the viewer's panels compute, without a browser: node runs the
page's scripts.

What is expected is computed here in another way (all possibilities are gone
through, fractions, Python's own reader of CSV), or is what TraceReader prints.
Without node all is skipped.
"""

import csv
import fractions
import io
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import MadeStores as made                                    # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestHtml as html                                      # noqa: E402
import TestShortNames as short                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), '../../Reader/View/Page')
SCRIPTS = ('Names.js', 'Csv.js', 'Commands.js', 'Columns.js', 'Grid.js',
           'CallTree.js', 'Histogram.js', 'Threads.js')

# Reads [[expression, arguments] ...]; writes what each of them gives.
HARNESS = '''
const input = require('fs').readFileSync(0, 'utf8');
const revive = (key, value) => value && typeof value.big === 'string'
    ? BigInt(value.big) : value;
const answers = JSON.parse(input, revive).map(([name, args]) => {
    const made = new Function('args', 'Names', 'Csv', 'Commands', 'Columns',
        'RowScroll', 'Grid', 'CallTree', 'DurationAxis', 'ThreadsPanel',
        'return ' + name);
    const value = made(args, Names, Csv, Commands, Columns, RowScroll, Grid,
                       CallTree, DurationAxis, ThreadsPanel);
    return value === undefined ? null : value;
});
process.stdout.write(JSON.stringify(answers, (key, value) =>
    ArrayBuffer.isView(value) ? Array.from(value) : value));
'''


def page(questions):
    """The answers of the page's scripts to [(expression, arguments) ...]."""
    source = ['"use strict";']
    for name in SCRIPTS:
        with open(os.path.join(PAGE, name), encoding='utf-8') as file:
            source.append(file.read())
    with programs.Scratch() as scratch:
        path = os.path.join(scratch, 'page.js')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join([*source, HARNESS]))
        done = subprocess.run(['node', path], check=False,
                              input=json.dumps(questions).encode(),
                              capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors='replace')[-2000:])
    return json.loads(done.stdout)


def ask(expression, many):
    return page([(expression, each) for each in many])


#
# The search for some letters of a name.
#

def begins_word(text, at):
    if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in '$'):
        return True
    return (text[at].isupper() and not text[at - 1].isupper() or
            text[at].isdigit() and not text[at - 1].isdigit())


def score_of(typed, name, places):
    score = -len(name) / 1000
    for number, at in enumerate(places):
        score += 1 + 3 * begins_word(name, at) + (name[at] == typed[number])
        if number and places[number - 1] == at - 1:
            score += 4
    return score


def find_all(typed, name):
    """Every way in which the letters are found, by trying all places."""
    return [places for places in
            itertools.combinations(range(len(name)), len(typed))
            if all(name[at].lower() == letter.lower()
                   for at, letter in zip(places, typed))]


def check_find(results):
    generator = random.Random(19)
    cases = [('gu', 'Game::Update'), ('UPD', 'Game::Update'), ('', 'x'),
             ('main', 'main'), ('x', ''), ('aa', 'a'), ('_b', 'a_b')]
    for _ in range(1500):
        name = ''.join(generator.choice('aAbB_1:c') for _ in
                       range(generator.randrange(1, 12)))
        typed = ''.join(generator.choice('aAbB1') for _ in
                        range(generator.randrange(1, 5)))
        cases.append((typed, name))
    answers = ask('Names.find(...args)', cases)
    found = greedy = 0
    for (typed, name), answer in zip(cases, answers):
        ways = find_all(typed, name)
        if not typed:
            results.equal(answer, {'score': 0, 'places': []}, 'no letters')
            continue
        if not ways:
            results.check(answer is None, 'not found: %r in %r' %
                          (typed, name), [answer])
            continue
        found += 1
        best = max(score_of(typed, name, places) for places in ways)
        greedy += score_of(typed, name, ways[0]) < best - 1e-9
        results.check(answer is not None and
                      abs(answer['score'] - best) < 1e-9 and
                      abs(score_of(typed, name, answer['places']) - best) <
                      1e-9 and tuple(answer['places']) in ways,
                      'the best way: %r in %r' % (typed, name),
                      [answer, best])
    results.check(found > 300 and greedy > 50,
                  'the first way would often have been another',
                  [found, greedy])


#
# Names that are shortened.
#

def check_names(results, path):
    names = list(short.NAMES)
    answers = ask('[Names.shorten(args), Names.shorten(args, false), args]',
                  names)
    for name, answer in zip(names, answers):
        results.check(short.NAMES[name] in answer, 'short: ' + name, answer)
    results.check(sum(short.NAMES[name] != name for name in names) > 5,
                  'most names have a short one')

    # A terminal's names, where no other function has the same one.
    code, text, errors = support.reader('report', '--csv', '--names', 'full',
                                        path)
    full = [row['function'] for row in csv.DictReader(io.StringIO(text))]
    code, text, errors = support.reader('report', '--csv', '--names', 'short',
                                        path)
    results.check(code == 0 and len(full) > 15, 'report', [errors])
    shown = [row['function'] for row in csv.DictReader(io.StringIO(text))]
    answers = ask('[Names.shorten(args), Names.shorten(args, false), args]',
                  full)
    for name, expected, answer in zip(full, shown, answers):
        results.check(expected in answer, 'as TraceReader: ' + name,
                      [expected, answer])


def check_fit(results):
    plain = ['a' * 40, 'Update', 'abcdefghijklmnopqrstuvwxyz']
    cases = [(name, width) for name in plain for width in range(1, 45)]
    answers = ask('Names.fit(args[0], args[1], text => text.length)', cases)
    for (name, width), answer in zip(cases, answers):
        if len(name) <= width:
            expected = name
        else:
            head = (width - 1) // 3
            tail = width - 1 - head
            expected = name[:head] + '\u2026' + name[len(name) - tail:]
        results.equal(answer, expected, 'fit %s into %d' % (name, width))
    long = ('void engine::Table<std::map<int, std::vector<char> >, 12>::'
            'insert(std::map<int, std::vector<char> > const&, int)')
    cases = [(long, width) for width in range(1, 130)]
    answers = ask('Names.fit(args[0], args[1], text => text.length)', cases)
    seen = set()
    for (name, width), answer in zip(cases, answers):
        seen.add(answer)
        results.check(len(answer) <= width, 'not wider than %d' % width,
                      [answer])
    results.check({long, 'engine::Table<...>::insert'} <= seen,
                  'the steps', sorted(seen)[:9])
    emoji = 'a\U0001f600' * 12
    for answer in ask('Names.fit(args[0], args[1], text => text.length)',
                      [(emoji, width) for width in range(1, 20)]):
        results.check(not any(0xd800 <= ord(letter) < 0xe000
                              for letter in answer), 'no half character',
                      [ascii(answer)])


#
# CSV.
#

def check_csv(results, path):
    # Cell for cell what TraceReader writes of names that would do harm.
    code, text, errors = support.reader('report', '--csv', '--sort', 'name',
                                        path)
    results.check(code == 0, 'report --csv', [errors])
    code, data, errors = support.reader('report', '--json', '--sort', 'name',
                                        path)
    names = [row['function'] for row in json.loads(data)['functions']]
    lines = text.replace('\r', '').split('\n')[1:-1]
    results.equal(len(lines), len(names), 'rows')
    for name, line, cell in zip(names, lines, ask('Csv.cell(args)', names)):
        results.check(',' + cell in line, 'as TraceReader: %r' % name,
                      [cell, line])

    rows = [['a', 1, None, 'b,c', 'say "no"', 2 ** 53, 0.5],
            ['=1+1', -5, '', ' @x', 'a;=b', 'x\ny', '-']]
    answer = page([('Csv.write(...args)', [list('abcdefg'), rows])])[0]
    results.equal(list(csv.reader(io.StringIO(answer))),
                  [list('abcdefg'),
                   ['a', '1', '', 'b,c', 'say "no"', '9007199254740992',
                    '0.5'],
                   ["'=1+1", '-5', '', "' @x", "a;'=b", 'x?y', "'-"]],
                  'rows of CSV')


#
# Ranges, and the commands.
#

def check_ranges(results):
    generator = random.Random(7)
    cases = []
    for _ in range(400):
        ticks = generator.randrange(1, 40)
        time = generator.randrange(1, 40)
        step = generator.choice([1, 1, 1, 10])
        begin = generator.randrange(0, 300)
        end = begin + generator.randrange(0, 200)
        cases.append((begin, end, ticks, time, step))
    # 40 hours at 3 GHz: no double would do.
    huge = 40 * 3600 * 2_999_998_777
    for _ in range(50):
        begin = generator.randrange(huge)
        cases.append((begin, begin + generator.randrange(10 ** 9),
                      2_999_998_777_123, 10 ** 12 + 1, 1))
    answers = ask('Commands.rangeOf({begin: args[0], end: args[1]}, '
                  '{begin: -1, end: 2 ** 60, clock: {ticks: args[2], '
                  'nanoseconds: args[3]}, granularity: args[4]})',
                  [(begin, end, {'big': str(ticks)}, {'big': str(time)}, step)
                   for begin, end, ticks, time, step in cases])
    for case, answer in zip(cases, answers):
        begin, end, ticks, time, step = case
        rate = fractions.Fraction(time, ticks)

        def time_of(tick):
            exact = math.floor(tick * rate)
            return exact - exact % step

        first, last = answer['begin'], answer['end']
        results.check(
            answer['from'] == time_of(begin) and
            answer['to'] == time_of(end) and
            # TraceReader's range: from the first tick that is not before
            # --from to the last one that is not behind --to.
            time_of(first) >= answer['from'] and
            (first == 0 or time_of(first - 1) < answer['from']) and
            time_of(last) <= answer['to'] and
            time_of(last + 1) > answer['to'] and
            first <= begin and end <= last, 'range %r' % (case,), [answer])
    whole = page([('Commands.rangeOf({begin: 0, end: 9}, {begin: 0, end: 9})',
                   [])])[0]
    results.equal(whole, {'begin': 0, 'end': 9, 'from': None, 'to': None},
                  'the whole session has no --from')
    answers = ask('Commands.nanoseconds(args[0], {clock: {ticks: args[1], '
                  'nanoseconds: args[2]}})',
                  [(begin, {'big': str(ticks)}, {'big': str(time)})
                   for begin, _, ticks, time, _ in cases])
    for (begin, _, ticks, time, _), answer in zip(cases, answers):
        results.equal(answer, begin * time // ticks, 'nanoseconds')


def split_command(text):
    """The words of a command line, by the rules of the C runtime."""
    words, word, quoted, slashes, is_word = [], '', False, 0, False
    for letter in text + ' ':
        if letter == '\\':
            slashes += 1
            is_word = True
            continue
        if letter == '"':
            word += '\\' * (slashes // 2)
            if slashes % 2:
                word += '"'
            else:
                quoted = not quoted
            is_word = True
        else:
            word += '\\' * slashes
            if letter == ' ' and not quoted:
                if is_word:
                    words.append(word)
                word, is_word = '', False
            else:
                word += letter
                is_word = True
        slashes = 0
    return words


def check_commands(results, path, names):
    cases = [
        ('report', {'range': {'from': 1500, 'to': 9000}, 'sort': 'self',
                    'find': 'a', 'lines': True}),
        ('report', {'range': {'from': None, 'to': None}, 'sort': 'avg',
                    'find': 'two words'}),
        ('report', {'find': 'a,b', 'sort': 'min', 'limit': 3}),
        ('tree', {'range': {'from': 1500, 'to': 9000}, 'thread': 1}),
        ('threads', {'range': {'from': 1500, 'to': 9000}}),
        ('replay', {'range': {'from': 1500, 'to': 9000}, 'thread': 1}),
        ('verify', {}), ('info', {'more': ['--raw']}),
        *[(command, {'target': {'name': name, 'module': 'made-up.exe'},
                     'range': {'from': 0, 'to': 10 ** 9}, **more})
          for name in names for command, more in
          (('callers', {}), ('callees', {}), ('outliers', {'limit': 100}))],
    ]
    answers = page([('Commands.make(args[0], args[1])',
                     [name, {**more, 'session': path}])
                    for name, more in cases])
    for (name, more), answer in zip(cases, answers):
        words = split_command(answer)
        results.check(words[:2] == ['TraceReader', name] and
                      words[-1] == path, 'the words', [answer, words])
        if 'find' in more:
            results.check(('--function' in words) ==
                          (more['find'] == 'a'), 'the filter', [answer])
        code, text, errors = support.reader(*words[1:])
        results.check(code == 0 and text, 'TraceReader takes ' + answer,
                      [code, errors])

    # An import's name has its module; one that only begins alike has not.
    for name, module, wanted in (
            ('kernel32!Sleep', 'KERNEL32.dll', 'kernel32!Sleep'),
            ('kernel32x!Sleep', 'kernel32.dll', 'kernel32.dll!kernel32x!Sleep'),
            ('operator!', 'game.exe', 'game.exe!operator!')):
        answer, = page([('Commands.make("callers", args)', {
            'target': {'name': name, 'module': module}, 'session': 's'})])
        results.equal(split_command(answer), ['TraceReader', 'callers', wanted,
                                              's'], 'of ' + name)
    code, _, errors = support.reader('callers', 'made-up.exe!not there', path)
    results.check(code == 3, 'a function that is not there', [code, errors])


#
# Columns, rows, sorting.
#

COLUMNS = [{'id': 'name', 'width': 100, 'isText': True},
           {'id': 'calls', 'width': 60},
           {'id': 'self', 'width': 70, 'isHidden': True}]
STATE = ('{text: made.write(), hidden: [...made.hidden].sort(), key: made.key,'
         ' isAscending: made.isAscending, widths: [...made.widths]}')
MADE = ('(() => { const made = new Columns(args[0], args[1]); %s; return ' +
        STATE + '; })()')


def check_columns(results):
    first = page([(MADE % '', [COLUMNS, 'calls'])])[0]
    results.equal(first, {'text': '', 'hidden': ['self'], 'key': 'calls',
                          'isAscending': False, 'widths': []},
                  'columns at first')
    steps = ('made.sort("name"); made.size("name", 77.6); '
             'made.hide("self", false); made.hide("calls", true)')
    changed = page([(MADE % steps, [COLUMNS, 'calls'])])[0]
    results.equal(changed, {'text': 'name+.name_78.!calls.*self',
                            'hidden': ['calls'], 'key': 'name',
                            'isAscending': True, 'widths': [['name', 78]]},
                  'columns that were changed')
    hidden = page([(MADE % 'made.sort("name"); made.hide("name", true)',
                    [COLUMNS, 'calls'])])[0]
    results.equal((hidden['key'], hidden['isAscending'], hidden['text']),
                  ('calls', False, '!name'), 'no hidden column sorts')
    hidden = page([(MADE % 'made.hide("calls", true)',
                    [COLUMNS, 'calls'])])[0]
    results.equal((hidden['key'], hidden['isAscending']), ('name', True),
                  'nor the first one')
    again = page([(MADE % ('made.read(%s)' % json.dumps(changed['text'])),
                   [COLUMNS, 'calls'])])[0]
    results.equal(again, changed, 'columns that were read')
    back = page([(MADE % (steps + '; made.reset()'), [COLUMNS, 'calls'])])[0]
    results.equal(back, first, 'columns as at first')
    twice = page([(MADE % 'made.sort("calls"); made.sort("calls")',
                   [COLUMNS, 'calls'])])[0]
    results.equal((twice['isAscending'], twice['text']), (False, ''),
                  'sorted twice')
    last = page([(MADE % 'for (const id of ["name", "calls", "self"]) '
                  'made.hide(id, true)', [COLUMNS, 'calls'])])[0]
    results.equal(last['hidden'], ['name', 'self'], 'the last column stays')
    # What somebody writes into a link.
    for text in ('', 'x', '...', 'nobody-', '!nobody', 'calls_', 'calls_x',
                 'calls_-5', 'constructor+', '!__proto__', '<script>',
                 'calls_99999999999'):
        answer = page([(MADE % ('made.read(%s)' % json.dumps(text)),
                        [COLUMNS, 'calls'])])[0]
        results.equal(answer, first, 'a link with %r' % text)
    wide = page([(MADE % 'made.read("calls_99999.name_1.!name.!calls")',
                  [COLUMNS, 'calls'])])[0]
    results.equal((wide['widths'], wide['hidden']),
                  ([['calls', 4000], ['name', 36]], ['calls', 'self']),
                  'widths have bounds, one column stays')


def check_rows(results):
    cases = [(rows, 22, view, scroll) for rows in (0, 1, 30, 100_000, 363_636)
             for view in (100, 451) for scroll in (0, 7, 22, 661.5)]
    answers = ask('(new RowScroll(...args.slice(0, 3))).rangeOf(args[3])',
                  cases)
    for (rows, high, view, scroll), answer in zip(cases, answers):
        shown = {row for row in range(min(rows, 200))
                 if row * high < scroll + view and (row + 1) * high > scroll}
        made_rows = set(range(answer['first'], answer['last']))
        top = answer['first'] * high
        results.check(shown <= made_rows and len(made_rows) < 60 and
                      abs(answer['offset'] - top) < 1e-6,
                      'rows in sight %r' % ((rows, high, view, scroll),),
                      [answer])
    # Of ten million rows each can be reached, and is in sight then.
    rows, high, view = 10_000_000, 22, 451
    places = [0, 1, 19, 20, 4_999_999, 9_999_979, 9_999_998, 9_999_999]
    answers = ask(
        '(() => { const s = new RowScroll(%d, %d, %d); '
        'const at = s.reveal(args[1], s.scrollOf(args[0])); '
        'return [at, s.space, s.topOf(at), s.rangeOf(at), s.reveal(args[1], '
        'at) - at]; })()' % (rows, high, view),
        [(start, row) for start in places for row in places])
    for number, (at, space, top, made_rows, moved) in enumerate(answers):
        row = places[number % len(places)]
        results.check(0 <= at <= space - view and space <= 8_000_000 and
                      top - 0.1 <= row and row + 1 <= top + view / high + 0.1
                      and made_rows['first'] <= row < made_rows['last'] and
                      abs(moved) < 0.5, 'row %d of many' % row,
                      [at, space, top, made_rows, moved])


def check_sorting(results):
    generator = random.Random(3)
    cases = [([{'n': number, 'v': generator.choice([None, 0, 1, 2, 5, 2 ** 40,
                                                    -3])}
               for number in range(generator.randrange(0, 30))], is_ascending)
             for _ in range(40) for is_ascending in (True, False)]
    answers = ask('Grid.sort(args[0], {value: row => row.v}, args[1])', cases)
    for (rows, is_ascending), answer in zip(cases, answers):
        sign = 1 if is_ascending else -1
        expected = sorted(rows, key=lambda row: (
            row['v'] is None, 0 if row['v'] is None else sign * row['v'],
            row['n']))
        results.equal(answer, expected, 'sorted')


#
# Call trees.
#

def random_tree(generator, size):
    """Nodes as [function, parent, calls, total, self]; some whose children
    took longer, as those of calls that were abandoned did."""
    nodes = [[0xffffffff, -1, 0, 0, 0]]
    used = set()
    while len(nodes) < size:
        parent = generator.randrange(len(nodes))
        name = generator.randrange(5)
        if (parent, name) not in used:
            used.add((parent, name))
            nodes.append([name, parent, generator.randrange(1, 9),
                          generator.randrange(0, 100),
                          generator.randrange(0, 20)])
    return nodes


class Tree:
    """The same as CallTree, by recursion over children's lists."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.below = [[i for i, each in enumerate(nodes) if each[1] == node]
                      for node in range(len(nodes))]

    def width(self, node):
        inside = sum(map(self.width, self.below[node]))
        return inside if node == 0 else max(self.nodes[node][3], inside)

    def chain(self, node):
        return [] if node == 0 else \
            self.chain(self.nodes[node][1]) + [self.nodes[node][0]]

    def outermost(self, name):
        return [i for i in range(1, len(self.nodes))
                if self.nodes[i][0] == name and
                name not in self.chain(i)[:-1]]

    def inside(self, node):
        return [node, *itertools.chain(*map(self.inside, self.below[node]))]

    def merged(self, name):
        """What the function calls, by chain: chain to [calls, width, self]."""
        sums = {}
        for top in self.outermost(name):
            skip = len(self.chain(top)) - 1
            for node in self.inside(top):
                row = sums.setdefault(tuple(self.chain(node)[skip:]),
                                      [0, 0, 0])
                row[0] += self.nodes[node][2]
                row[1] += self.width(node)
                row[2] += self.nodes[node][4]
        return sums

    def callers(self, name):
        """Who calls it, by chain, itself first."""
        sums = {}
        for node in self.outermost(name):
            chain = self.chain(node)[::-1]
            for length in range(1, len(chain) + 1):
                row = sums.setdefault(tuple(chain[:length]), [0, 0, 0])
                row[0] += self.nodes[node][2]
                row[1] += self.width(node)
                row[2] += self.nodes[node][4] if length == 1 else 0
        return sums


def as_columns(nodes):
    return dict(zip(('function', 'parent', 'calls', 'total', 'self'),
                    map(list, zip(*nodes))))


def by_chain(tree):
    """A CallTree as it was written: chain to [calls, total, self]."""
    chains = [()]
    rows = {}
    for i in range(1, tree['count']):
        chains.append(chains[tree['parent'][i]] + (tree['function'][i],))
        rows[chains[i]] = [tree['calls'][i], tree['total'][i],
                           tree['self'][i]]
    return rows


def check_trees(results):
    generator = random.Random(11)
    trees = [random_tree(generator, generator.randrange(1, 40))
             for _ in range(60)]
    answers = ask('(() => { const t = new CallTree(args); return {tree: t, '
                  'above: [0, 1, 2, 3, 4].map(f => t.above(f)), '
                  'below: [0, 1, 2, 3, 4].map(f => t.below(f)), '
                  'found: [0, 1, 2, 3, 4].map(f => t.widthOf(x => x === f)), '
                  'paths: Array.from({length: t.count}, (_, i) => '
                  't.nodeAt(t.pathOf(i))), '
                  'boxes: t.layout(0, 1000, 9), '
                  'zoomed: t.layout(t.count - 1, 500, 0)}; })()',
                  [as_columns(nodes) for nodes in trees])
    rests = 0
    for nodes, answer in zip(trees, answers):
        tree = Tree(nodes)
        widths = [tree.width(node) for node in range(len(nodes))]
        results.equal(answer['tree']['width'], widths, 'widths')
        results.equal(answer['paths'], list(range(len(nodes))), 'paths')
        for name in range(5):
            results.equal(by_chain(answer['below'][name]), tree.merged(name),
                          'what a function calls')
            results.equal(by_chain(answer['above'][name]), tree.callers(name),
                          'who calls a function')
            results.equal(answer['found'][name], sum(
                widths[node] for node in tree.outermost(name)),
                'the width of a function')
        rests += check_boxes(results, tree, widths, answer['boxes'], 1000, 0)
        check_boxes(results, tree, widths, answer['zoomed'], 500,
                    len(nodes) - 1)
    results.check(rests > 20, 'some boxes were of several nodes', [rests])


def check_boxes(results, tree, widths, boxes, width, zoomed):
    """Each node is once in the picture, as wide as it should be, inside of
    its parent and beside the others."""
    scale = width / widths[zoomed] if widths[zoomed] else 0
    above = len(tree.chain(zoomed))
    spans, shown, rests = {}, [], 0
    for box in boxes:
        node = box['node']
        left, right = box['x'], box['x'] + box['width']
        if box['rest']:
            rests += 1
            parent = tree.nodes[node][1]
            small = sorted((widths[each] for each in tree.below[parent]))
            small = small[:box['rest']]
            good = abs(box['width'] - sum(small) * scale) < 1e-6 and \
                all(each * scale < 9 for each in small)
        elif box['isAbove']:
            good = (left, right) == (0, width) and \
                zoomed in tree.inside(node) and node != zoomed
            shown.append(node)
        else:
            shown.append(node)
            good = abs(right - left - widths[node] * scale) < 1e-6 or \
                node == zoomed
            good = good and box['row'] == len(tree.chain(node))
            if node != zoomed and tree.nodes[node][1] in spans:
                outer = spans[tree.nodes[node][1]]
                good = good and left >= outer[0] - 1e-6 and \
                    right <= outer[1] + 1e-6
            spans[node] = (left, right)
        results.check(good, 'a box', [box])
    results.check(len(set(shown)) == len(shown) and zoomed in shown and
                  len([box for box in boxes if box['isAbove']]) == above,
                  'each node once', [boxes])
    rows = {}
    for box in boxes:
        rows.setdefault(box['row'], []).append((box['x'],
                                                box['x'] + box['width']))
    for row in rows.values():
        row.sort()
        results.check(all(one[1] <= other[0] + 1e-6 for one, other in
                          zip(row, row[1:])), 'boxes beside each other', row)
    return rests


#
# The axis of durations, and what a thread did.
#

def check_axis(results):
    generator = random.Random(5)
    cases = []
    for _ in range(200):
        least = 2 ** generator.uniform(0, 40)
        cases.append((least, least * 2 ** generator.uniform(0, 24),
                      generator.randrange(200, 1500),
                      generator.choice([1, 1 / 3, 0.4])))
    answers = ask('(() => { const a = new DurationAxis(...args.slice(0, 3)); '
                  'const m = a.marks(args[3]); return [m, m.map(t => '
                  'a.xOf(t)), a.xOf(args[0]), a.xOf(args[1])]; })()', cases)
    some = 0
    for (least, most, width, tick), answer in zip(cases, answers):
        marks, places, first, last = answer
        some += len(marks) > 2
        for ticks, place in zip(marks, places):
            value = ticks * tick
            digit = value / 10 ** math.floor(math.log10(value) + 1e-9)
            expected = width * math.log(ticks / least) / math.log(most / least)
            results.check(least * (1 - 1e-9) <= ticks <= most * (1 + 1e-9) and
                          min(abs(digit - each) for each in (1, 2, 3, 5)) <
                          1e-6 and (abs(place - expected) < 1 or
                                    most / least < 1.04),
                          'a mark of the axis', [ticks, place, expected])
        results.check(all(other - one >= 70 for one, other in
                          zip(places, places[1:])) and first == 0 and
                      (abs(last - width) < 1e-6 or most / least < 1.04),
                      'the axis %r' % ((least, most, width),), [answer])
    results.check(some > 100, 'most axes have marks', [some])
    check_bars(results, generator)


def check_bars(results, generator):
    """Bars have all calls of the buckets, are wide enough to be seen, and
    lie beside each other."""
    cases = []
    for _ in range(60):
        ends = sorted({int(2 ** generator.uniform(0, 30)) for _ in
                       range(generator.randrange(2, 300))})
        if len(ends) > 1:
            cases.append(([{'from': one, 'to': other,
                            'calls': generator.randrange(9)}
                           for one, other in zip(ends, ends[1:])], 700, 5))
    answers = ask('(() => { const b = args[0], a = new DurationAxis(b[0].from,'
                  'b[b.length - 1].to, args[1]); return a.bars(b, args[2]); '
                  '})()', cases)
    for (buckets, width, least), bars in zip(cases, answers):
        low, high = math.log(buckets[0]['from']), math.log(buckets[-1]['to'])
        good = len(bars) <= width / least + 1
        for bar in bars:
            mine = [each for each in buckets
                    if bar['from'] <= each['from'] < bar['to']]
            good = good and bar['calls'] == sum(each['calls'] for each in mine)
            good = good and bar['to'] == mine[-1]['to'] and all(
                bar['x'] - 1e-6 <= (math.log(each['from']) - low) /
                (high - low) * width < bar['x'] + least + 1e-6
                for each in mine)
        good = good and sum(bar['calls'] for bar in bars) == \
            sum(each['calls'] for each in buckets)
        good = good and all(one['x'] + one['wide'] <= other['x'] + 1e-6
                            for one, other in zip(bars, bars[1:]))
        results.check(good, 'the bars', [bars[:3]])


def check_shares(results):
    parts = {'covered': [0.5, 0, 1, 0.25], 'function': [7, 9, 3, 7]}
    results.equal(ask('ThreadsPanel.sumOf(args)', [
        parts, {'covered': [0, 0], 'function': [1, 2]}]),
        [{'covered': 1.75 / 4, 'top': 3}, {'covered': 0, 'top': None}],
        'what a thread did')


def main():
    results = programs.Results()
    if not shutil.which('node'):
        results.skip('node is not installed')
        return results.finish()
    check_find(results)
    check_fit(results)
    check_ranges(results)
    check_columns(results)
    check_rows(results)
    check_sorting(results)
    check_trees(results)
    check_axis(results)
    check_shares(results)
    with programs.Scratch() as scratch:
        names = [*short.NAMES, *html.HOSTILE]
        path = programs.windows_path(
            short.make(os.path.join(scratch, 'a'), dict.fromkeys(names)))
        check_names(results, path)
        check_csv(results, path)
        check_commands(results, path, [
            'main', 'Draw(int)', 'Node::next() const', 'operator<',
            'Map<int, long>::operator[]', '"; window.hacked = 5; "',
            '</script><script>window.hacked = 2</script>', 'a\\u003cb'])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

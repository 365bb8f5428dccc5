#!/usr/bin/env python3
"""Patterns of functions' names: *, ~text and /expressions/, against Python's
fnmatch and re on the same names, and what takes a function takes them.

The names are made of their parts (return type, name, parameters, what stands
behind), so that what a pattern is compared with is known without finding it.
"""
# Takes long.

import csv
import fnmatch
import io
import json
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

NOTHING = 3                 # exit code


class Name:
    """A function's name, and the forms that a pattern is compared with."""

    def __init__(self, name, parameters='', returned='', behind=''):
        self.full = returned + name + parameters + behind
        ends = {name + parameters + behind, name + parameters, name}
        self.forms = ends | {returned + end for end in ends}


FIXED = [
    Name('Draw', '(int)'), Name('Draw', '(int*)'), Name('Draw', '(int, char)'),
    Name('Draw', '(float)', 'void '), Name('Scene::Draw', '(int*)', '',
                                           ' const'),
    Name('operator*', '(Vec const&, Vec const&)'), Name('operator+', '(Vec)'),
    Name('Vec::operator*=', '(float)'), Name('Vec::operator*', '()', '',
                                             ' const'),
    Name('Vec::operator()', '(int)'), Name('Vec::operator<', '(Vec)', '',
                                           ' const'),
    Name('Vec::operator->', '()'), Name('Vec::operator bool', '()', '',
                                        ' const'),
    Name('map<int*, char>::find', '(int* const&)', 'char* ', ' const'),
    Name('(anonymous namespace)::hidden', '(int)'),
    Name('main::{lambda(int)#1}::operator()', '(int)', '', ' const'),
    Name('outer(int)::Local::run', '(char)'),
    Name('call', '(void (*)(int))'), Name('~Thing', '()'),
    Name('Thing::~Thing', '()', '', ' [clone .cold]'),
    Name('plain', '', '', ' [+2 folded]'), Name('module.dll+0x12'),
    Name('Grüße', '(Größe)'), Name('文字列'), Name('a.b'), Name('a/b'),
    Name('`anonymous namespace\'::quiet', '(void)'),
    Name('<lambda_1>::operator()', '(int)'),
]

WORDS = ['a', 'b', 'ab', 'ba', 'aab', 'abc', 'Draw', 'x1', '_', 'ß', 'z9']


def names(numbers, count):
    made_up = list(FIXED)
    known = {name.full for name in made_up}
    while len(made_up) < count:
        name = '::'.join(''.join(numbers.choice(WORDS) for _ in
                                 range(numbers.randrange(1, 4)))
                         for _ in range(numbers.randrange(1, 4)))
        parameters = numbers.choice(['', '', '()', '(int)', '(a*, b)'])
        returned = numbers.choice(['', '', 'int ', 'b<a> ']) if \
            parameters else ''
        new = Name(name, parameters, returned,
                   numbers.choice(['', ' const']) if parameters else '')
        if new.full not in known:
            known.add(new.full)
            made_up.append(new)
    return made_up


#
# The same patterns for both.
#

# Repeated groups whose matching takes no more steps than the name has
# characters, whatever follows.  Python's engine goes back: (a*)* and (a|ab)*
# may take it years.
REPEATED = ['(a|b)*', '(ab|c)+', '(Draw|::)*', '(\\w:)*', '(\\d|_)+', '(a[bc])*',
            '(::(a|b))*', '([a-c] ?b)+']


def random_expression(numbers, depth=0):
    def atom():
        chance = numbers.random()
        if chance < 0.05:
            return numbers.choice(REPEATED)
        if chance < 0.16 and depth < 3:
            return '(' + random_expression(numbers, depth + 1) + ')'
        if chance < 0.30:
            return numbers.choice(['.', '\\d', '\\w', '\\s', '\\W', '\\D',
                                   '\\S'])
        if chance < 0.44:
            return numbers.choice(['[ab]', '[^ab]', '[a-c]', '[^a-z:]',
                                   '[]a]', '[^]b]', '[\\d_]', '[\\W]', '[a-]',
                                   '[ß-ü]', '[(*]', '[\\]\\^]'])
        if chance < 0.50:
            return numbers.choice(['\\(', '\\)', '\\*', '\\.', '::', '\\/',
                                   '\\~', ']', '}', '-', ',', ' '])
        return numbers.choice(list('aabbcxDrawß_19:') + WORDS)

    parts = []
    for _ in range(numbers.choice([1, 1, 1, 2, 3])):
        branch = ''
        for _ in range(numbers.randrange(0 if depth else 1, 5)):
            piece = atom()
            if len(piece) > 1 and not re.match(r'[\\\[(]', piece):
                branch += piece
                continue
            if piece in REPEATED:
                branch += piece
            elif piece[0] == '(':
                branch += piece + numbers.choice(['', '', '?'])
            else:
                branch += piece + numbers.choice(['', '', '', '*', '+', '?'])
        parts.append(branch)
    text = '|'.join(parts)
    if not depth:
        text = numbers.choice(['', '', '^']) + text + numbers.choice(
            ['', '', '$'])
    return text


def random_glob(numbers):
    text = ''
    while '*' not in text.rstrip('*'):
        text = ''.join(numbers.choice(['*', '*', 'a', 'b', 'c', '::', 'Draw',
                                       'aab', 'ß', '(', 'int', '()'])
                       for _ in range(numbers.randrange(2, 8)))
        # An asterisk that is a pointer's is not meant here.
        if re.search(r'\([^)]*[\w*]\*', text):
            text = ''
    return text


def expects(kind, pattern):
    """A function that says whether a name is meant."""
    if kind == 'text':
        return lambda name: pattern in name.full
    if kind == 'glob':
        # Only * is special here.
        rule = re.compile(fnmatch.translate(
            re.sub(r'([\[?])', r'[\1]', pattern)))
        return lambda name: any(map(rule.match, name.forms)) or \
            name.full.startswith(pattern) or any(
                form.startswith(pattern) for form in name.forms)
    rule = re.compile(pattern, re.ASCII)
    return lambda name: any(map(rule.search, name.forms))


class Session:
    def __init__(self, results, scratch, all_names):
        self.results, self.names = results, all_names
        records, time = [], 1000
        for number in range(len(all_names)):
            site = filters.FIRST + number * filters.STEP
            records += [(time, site, made.TOP - 128, made.ENTER),
                        (time + 5, site + 9, made.TOP - 128, made.EXIT)]
            time += 10
        self.folder = scratch
        self.session = filters.make_session(
            scratch, [name.full for name in all_names], [records])
        self.path = programs.windows_path(self.session)

    def run(self, *arguments):
        return support.reader(*arguments, self.path)

    def shown(self, *arguments):
        """(exit code, the functions of report, errors)."""
        code, text, errors = self.run('report', '--csv', *arguments)
        return code, {row['function'] for row in
                      csv.DictReader(io.StringIO(text))}, errors

    def check(self, what, expected, *arguments):
        code, found, errors = self.shown(*arguments)
        expected = {name if isinstance(name, str) else name.full
                    for name in expected}
        self.results.check(
            found == expected and code == (0 if expected else NOTHING), what,
            [code, errors[:200], sorted(found - expected)[:5],
             sorted(expected - found)[:5]])


def check_random(session, numbers, count):
    """Patterns that nobody thought of."""
    counts = []
    for number in range(count):
        kind = ('expression', 'expression', 'glob', 'text')[number % 4]
        if kind == 'expression':
            pattern = random_expression(numbers)
            given = '/%s/' % pattern
        elif kind == 'glob':
            given = pattern = random_glob(numbers)
        else:
            full = numbers.choice(session.names).full
            start = numbers.randrange(len(full))
            pattern = full[start:start + numbers.randrange(1, 6)].strip()
            if not pattern:
                continue
            given = '~' + pattern
        rule = expects(kind, pattern)
        expected = [name for name in session.names if rule(name)]
        counts.append(len(expected))
        listed = filters.write_lines(session.folder, 'pattern.txt',
                                     given + '\n')
        session.check('%s %s' % (kind, ascii(given)), expected,
                      '--function', listed)
    session.results.check(sum(0 < count < len(session.names)
                              for count in counts) > len(counts) // 3,
                          'many patterns mean some', counts)


def check_lists(session):
    """What stands together in lists."""
    def meant(*tests):
        return [name for name in session.names
                if any(test(name) for test in tests)]

    def begins(*texts):
        return lambda name: any(form.startswith(text) for text in texts
                                for form in name.forms)

    def has(text):
        return lambda name: text in name.full

    every = set(session.names)
    check = session.check
    check('a name with an asterisk is itself',
          meant(begins('Draw(int*)')), '--function', 'Draw(int*)')
    check('operator* is itself', meant(begins('operator*')),
          '--function', 'operator*')
    check('a pointer to a function', meant(begins('call(void (*)(int))')),
          '--function', 'call(void (*)(int))')
    check('an asterisk at the end is a prefix', meant(begins('Draw')),
          '--function', 'Draw*')
    check('patterns in a list, with commas in an expression',
          meant(has('Grü'), lambda name: 'int, char' in name.full,
                begins('plain')),
          '--function', '~Grü, /(int, |zz\\/,)char/ ,plain')
    check('an exclusion comes before a prefix',
          every & set(meant(begins('Scene'))) - set(meant(has('Draw'))),
          '--function', 'Scene', '--exclude', '~Draw')
    check('a prefix comes before a pattern that shows',
          set(meant(has('Draw'))) - set(meant(begins('Draw'))),
          '--function', '~Draw,-Draw')
    check('the longest prefix, one of them with an asterisk',
          meant(begins('Vec::operator*')), '--function',
          'Vec::operator*,-Vec*')
    check('* is all the rest', meant(begins('Draw')), '--exclude', '*',
          '--function', 'Draw')
    check('* shows the rest', every - set(meant(begins('Draw'))),
          '--function', '*,-Draw')
    check('only exclusions', every - set(meant(has('a'))), '--exclude',
          '/a/')
    code, _, errors = session.shown('--verbose', '--function',
                                    'Draw,~x,/y/,a*b')
    session.results.check(
        code == 0 and 'filter: 2 prefixes in a table' in errors and
        'filter: 3 patterns beside' in errors, 'what they are', [errors])
    session.results.check(
        session.shown('--function', 'draw*')[1] == set() and
        session.shown('--function', '/draw/')[1] == set(), 'case matters')


BAD = [
    ('/a(/', 3, '( has no )'), ('/a)/', 3, ') has no ('),
    ('/[a/', 2, '[ has no ]'), ('/*a/', 2, 'nothing that could be repeated'),
    ('/a**/', 4, 'nothing that could be repeated'),
    ('/a*?/', 4, 'nothing that could be repeated'),
    ('/(?:a)/', 3, 'nothing that could be repeated'),
    ('/ß{2}/', 3, 'there are no counts'), ('/a\\1/', 3, 'no sign, d, w or s'),
    ('/a\\b/', 3, 'no sign, d, w or s'), ('/[z-a]/', 3, 'a range goes'),
    ('/[a-\\d]/', 3, 'a range goes'), ('/^*/', 3, 'nothing that could be'),
    ('/abc', 4, 'has no / at its end'), ('//', 1, 'has nothing between'),
    ('/a\\/', 4, 'has no / at its end'), ('~', 1, 'a ~ without a text'),
    ('/' + 33 * '(' + 33 * ')' + '/', 34, 'more than 32'),
    ('/' + 1030 * 'a' + '/', 1, 'is longer than 1024 bytes'),
    ('~' + 1030 * 'a', 1, 'is longer than 1024 bytes'),
]


def check_bad(session):
    """What is wrong is said, with the place, and nothing is shown."""
    for pattern, place, message in BAD:
        where = 'character %d: ' % place
        for arguments in (('report', '--function', 'a, ' + pattern),
                          ('callers', pattern), ('outliers', pattern)):
            code, text, errors = session.run(*arguments)
            session.results.check(
                code == 1 and not text and where in errors and
                message in errors, '%s %s' % (arguments[0], pattern[:40]),
                [code, text[:80], errors[:300]])
        listed = filters.write_lines(session.folder, 'bad.txt',
                                     'a\n-%s\n' % pattern)
        code, text, errors = session.run('report', '--function', listed)
        session.results.check(
            code == 1 and not text and where in errors and
            'bad.txt: line 2: ' in errors, 'file: %s' % pattern[:40],
            [code, text[:80], errors[:300]])
    # A long name is a prefix, not a pattern.
    code, text, errors = session.run('report', '--csv', '--function',
                                     'Draw,' + 1030 * 'a' + '*b')
    session.results.check(code == 0 and 'Draw' in text, 'a long name',
                          [code, errors])


def check_commands(session):
    """FUNCTION is a pattern that means one name alone."""
    def callers(text, command='callers'):
        code, text, errors = session.run(command, '--json', text)
        table = json.loads(text) if text else {}
        rows = table.get(command, [])
        return (code, [row['function'] for row in rows
                       if row.get('relation') == 'function'], errors)

    for text, full in (('~hidden', '(anonymous namespace)::hidden(int)'),
                       ('Sc*::Draw', 'Scene::Draw(int*) const'),
                       ('/^call/', 'call(void (*)(int))'),
                       ('Draw(int*)', 'Draw(int*)'),
                       ('operator*', 'operator*(Vec const&, Vec const&)'),
                       ('made-up.exe!~quiet',
                        "`anonymous namespace'::quiet(void)"),
                       ('made-up!/文.列/', '文字列'),
                       ('Grü*', 'Grüße(Größe)')):
        for command in 'callers', 'callees':
            code, found, errors = callers(text, command)
            session.results.equal((code, found), (0, [full]),
                                  '%s %s' % (command, text))
        code, text, errors = session.run('outliers', '--json', text)
        session.results.check(
            code == 0 and json.dumps(full, ensure_ascii=False)[1:-1] in text,
            'outliers %s' % full, [code, text[:200], errors])
    code, found, errors = callers('~Draw(int')
    session.results.check(
        code == 1 and 'several names are meant by ~Draw(int' in errors and
        'made-up.exe!Draw(int*)\n' in errors and
        'made-up.exe!Scene::Draw(int*) const\n' in errors,
        'several are listed', [code, errors])
    for text in '~nowhere', '/^nowhere$/', 'no*where', 'nowhere*':
        code, found, errors = callers(text)
        session.results.check(
            code == NOTHING and 'that it is a pattern of' in errors,
            'nothing: %s' % text, [code, errors])
    code, _, errors = callers('hiddne')
    session.results.check(code == NOTHING, 'no pattern', [code, errors])


def main():
    results = programs.Results()
    numbers = random.Random(16)
    with programs.Scratch() as scratch:
        session = Session(results, scratch,
                          names(numbers, 2000 if programs.LONG else 600))
        check_lists(session)
        check_commands(session)
        check_bad(session)
        check_random(session, numbers, 500 if programs.LONG else 100)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

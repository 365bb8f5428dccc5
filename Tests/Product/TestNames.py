#!/usr/bin/env python3
"""Names that somebody else chose: no command and no export carries a control
character, a direction, markup, a formula or a line of its own from them into a
terminal, a page, JSON, CSV or a file of another tool.

The names are of functions, modules, threads, processes, marks, paths, command
lines, PDBs and files, as whoever writes a session, an image or an argument can
make them.  Every command runs in every form on the same sessions, and once
more on their twin, which differs in nothing but harmless names: elements,
events, rows and lines must be as many as there.

Docs/Reader.md has the rules; they are written down here once more.
"""
# Takes long.

import collections
import csv
import html.parser
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import pack_reader                                           # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
import TreeSupport as trees                                  # noqa: E402
from EventSupport import Raw                                 # noqa: E402
from StoreSupport import programs                            # noqa: E402

try:
    import TestLivePty as terminals
except ImportError:
    terminals = None

NAMES = [
    'bell\x07esc\x1b[31mred\x1b]0;title\x07\x1b[2J\x9b31m',
    'line\r\nforged 1\nforged 2 3',
    '\t=1+1', '\r=2', '\n=3',
    'c1\u009b31m\u0085next\u0090\u009f', 'del\x7f\x08\x00'.rstrip('\0'),
    'bidi\u202edcb\u202c\u2066x\u2069\u200f\u200e\u061c',
    '\ufeffzero\u200b\u200c\u200d\u2060\u00ad\u180e',
    'lines\u2028forged\u2029forged', 'tags\U000e0041\U000e007f\ufe0f\u3164',
    'none\ufdd0\ufffe\U0001ffff', 'annotated\ufff9\ufffa\ufffb',
    Raw(b'bad\xff\xfe\xed\xa0\x80\xed\xb0\x80\xc0\xaf\xf8\x88\xe2\x80'),
    '<script>window.hacked=1</script>',
    '</script><img src=x onerror=window.hacked=2>', '</title><b>--><!--<i>',
    '<![CDATA[x]]>', '&lt;b&gt;&amp;&#27;', '" onload="hacked" x="', "' x='",
    'back\\slash\\u001b\\n"', '`$(id)`', '%s%n%Z%S%T%1$s',
    "=cmd|' /C calc'!A0", '+1+1', '-1+1', '@SUM(1)', '\uff1d1+1', '\uff0b1',
    '  =1+1', "'=1", "'quoted", '"=1+1', 'a;=1+1;+2; -3;"=4,=5', 'a,=1+1',
    'x"\r\n=1,"', 'folded;chain;deep 12345', 'name 12345', '(1)', '(2) other',
    'fn=(1) forged', 'calls=1 0', '{"ph":"B"},', '","name":"forged',
    'Grüße 文字列 🙂', 'plain',
    'C:\\a\\..\\b', 'up/../..', 'CON', 'L' * 3000,
]
HARMLESS = ['f%d' % number for number in range(len(NAMES))]

THREADS = 8
FIELDS = {'process': (0x620, 0x150, 1056), 'command': (0xA40, 0x158, 768),
          'pdb': (0xD40, 0x160, 544), 'thread': (0xF60, 0x168, 160),
          'module': (0x200, 0x148, 1056)}
CREATED = 133_000_000_000_000_000

# What is in no category of its own but takes no room, or joins.
IGNORED = set('\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065'
              '\u3164\uffa0') | set(map(chr, range(0xFE00, 0xFE10)))
FORMULA = re.compile('[ ]*[=+\\-@\'"\uff1d\uff0b\uff0d\uff20]')
NUMBER = re.compile(r'[+-]?[0-9]+(\.[0-9]+)?')


#
# The rules.
#

def is_printable(char):
    return (unicodedata.category(char) not in ('Cc', 'Cf', 'Cs', 'Zl', 'Zp')
            and char not in IGNORED and not 0xFDD0 <= ord(char) <= 0xFDEF and
            ord(char) & 0xFFFE != 0xFFFE and
            not 0xFFF0 <= ord(char) <= 0xFFFB and
            not 0xE0000 <= ord(char) <= 0xE0FFF)


def decode(name):
    return name.encode().decode('utf-8', 'replace')


def clean(name, instead='?'):
    return ''.join(char if is_printable(char) else instead
                   for char in decode(name))


def of_image(name):
    """A name out of an image: each byte of what is not printable is a question
    mark."""
    return ''.join(char if is_printable(char) else
                   '?' * len(char.encode('utf-8', 'surrogateescape'))
                   for char in name.encode().decode('utf-8',
                                                    'surrogateescape'))


def as_cell(text):
    """A text as CSV has it: an apostrophe wherever a formula could begin."""
    cells = text.split(';')
    return ';'.join("'" * bool(FORMULA.match(cell)) + cell for cell in cells)


def from_cell(cell):
    return ';'.join(part[1:] if part.startswith("'") else part
                    for part in cell.split(';'))


#
# Checkers: each takes bytes and gives what is wrong with them.
#

def decoded(data, ends=('\n',)):
    """(text, problems): no character but the ends of lines that is not
    printable."""
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError as error:
        return '', ['not UTF-8: %s' % error]
    rest = text
    for end in ends:
        rest = rest.replace(end, '')
    found = sorted(char for char in set(rest) if not is_printable(char))
    return text, ['U+%04X' % ord(char) for char in found]


def check_text(data):
    text, problems = decoded(data)
    problems += ['a line of its own: %r' % line for line in text.split('\n')
                 if re.match(r'[ |]*forged', line)]
    return problems


def check_csv(data, end='\r\n'):
    text, problems = decoded(data, (end,))
    if not text:
        return problems
    rows = list(csv.reader(io.StringIO(text, newline=''), strict=True))
    if len({len(row) for row in rows}) != 1:
        problems.append('rows of %s cells' % {len(row) for row in rows})
    for row in rows:
        for cell in row:
            for part in cell.split(';'):
                if FORMULA.match(part) and not part.startswith("'") and \
                        not NUMBER.fullmatch(part):
                    problems.append('a formula: %r' % cell[:80])
    if len(rows) != text.count(end):
        problems.append('a line within a cell')
    return problems


def check_osr(data):
    """What OSR's tool writes has lines that end as others' do."""
    return check_csv(data, '\n')


def check_json(data):
    text, problems = decoded(data)
    try:
        json.loads(text)
    except ValueError as error:
        problems.append(str(error))
    return problems


class Elements(html.parser.HTMLParser):
    """Elements and attributes, in their order; scripts that are data."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.data = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        # A number of bytes, or a row's value, may differ.
        self.found.append((tag, tuple((name, '' if name.startswith('data-')
                                       else value) for name, value in attrs)))
        self.inside = ([tag] if tag in ('script', 'style') and
                       dict(attrs).get('type') == 'application/json' else [])

    def handle_endtag(self, tag):
        self.found.append('/' + tag)
        self.inside = []

    def handle_comment(self, data):
        self.found.append('a comment')

    def handle_data(self, data):
        if self.inside and data.strip()[:1] in '[{':
            self.data.append(data)


def check_html(data):
    text, problems = decoded(data)
    for part in Elements(text).data:
        try:
            json.loads(part)
        except ValueError as error:
            problems.append(str(error))
    return problems


def check_folded(data):
    text, problems = decoded(data)
    return problems + ['a line %r' % line for line in text.splitlines()
                       if not re.fullmatch(r'.+ \d+', line)]


def check_callgrind(data):
    """Callgrind Format Specification: a number of a name is given once."""
    text, problems = decoded(data)
    given = collections.Counter(
        (match.group(1)[-2:], match.group(2)) for match in
        re.finditer(r'^c?(fn|ob|fl|fi|fe)=\((\d+)\) ', text, re.M))
    return problems + ['%s=(%s) %d times' % (*key, number)
                       for key, number in given.items() if number != 1]


def check_tabs(data):
    text, problems = decoded(data, ('\n', '\t'))
    for line in text.splitlines():
        cells = line.split('\t')
        if len(cells) not in (1, 10) and line:
            problems.append('%d cells: %r' % (len(cells), line[:80]))
        problems += ['a formula: %r' % cell[:80] for cell in cells
                     if re.match(r' *[=+@-]', cell) and
                     not NUMBER.fullmatch(cell)]
    return problems


def check_binary(data):
    """Names are between others' bytes: what none of them may have."""
    return ['%r' % part for part in
            (b'\x1b[31m', b'\x1b]0;', b'line\r\n', '\u202e'.encode(),
             '\u2028'.encode(), '\ufeff'.encode(), '\u009b'.encode(),
             b'bad\xff') if part in data]


# What the shape of an output is: it must be that of the twin.

def shape_text(data):
    return data.count(b'\n')


def shape_json(data):
    def shape(value):
        if isinstance(value, dict):
            return {name: shape(item) for name, item in value.items()}
        return ([shape(item) for item in value] if isinstance(value, list)
                else 'a value')
    return shape(json.loads(data))


def shape_html(data):
    return Elements(data.decode()).found


def shape_folded(data):
    return sorted((line.count(b';'), len(line.split(b';')))
                  for line in data.splitlines())


def shape_callgrind(data):
    return [re.split(r'[= ]', line)[0] if '=' in line else len(line.split())
            for line in data.decode().splitlines()
            if not line.startswith('cmd: ')]


Kind = collections.namedtuple('Kind', 'check shape')
TEXT = Kind(check_text, shape_text)
CSV = Kind(check_csv, shape_text)
JSON = Kind(check_json, shape_json)
HTML = Kind(check_html, shape_html)
FOLDED = Kind(check_folded, shape_folded)
CALLGRIND = Kind(check_callgrind, shape_callgrind)
TABS = Kind(check_tabs, shape_text)
BINARY = Kind(check_binary, None)

# Each checker must find each of these.
PLANTED = [
    (TEXT, [b'\x1b[31m', b'a\rb', b'a\tb', b'\x7f', '\u009b'.encode(), b'\xff',
            '\u202e'.encode(), '\u2028'.encode(), '\u200b'.encode(),
            '\ufeffx'.encode(), b'a\nforged 1\n', '\U000e0041'.encode()]),
    (CSV, [b'a,b\r\n=1,2\r\n', b'a\r\n@x\r\n', b'a\r\n"  +x"\r\n',
           b'a\r\nx;-y\r\n', b'a,b\r\n1\r\n', b'a\r\n"x\ny"\r\n',
           b'a\r\n"x\r\ny"\r\n', '\uff1dx\r\n'.encode(), b'a\r\nx\ty\r\n']),
    (JSON, [b'{"a": "\x1b"}', b'{"a": "b"c"}', '"\u202e"'.encode(), b'']),
    (HTML, [b'<p>\x1b</p>', '<p>\u202e</p>'.encode(),
            b'<script type=application/json>{"a":</script>']),
    (FOLDED, [b'a;b\n', b'a\nb 1\n', b'a\x1b 1\n']),
    (CALLGRIND, [b'fn=(1) a\nfn=(1) b\n', b'cfn=(2) \x07\n']),
    (TABS, [b'1\t=a\t1\t1\t1\t1\t1\t1\t1\t1\n', b'1\ta\tb\n', b'\x1b\n']),
    (BINARY, [b'..\x1b[31m..', '\u202e'.encode()]),
]
PLANTED_SHAPES = [
    (HTML, b'<p>&lt;b></p>', b'<p><b></p>'),
    (HTML, b'<p>x</p>', b'<p>x<!-- --></p>'),
    (JSON, b'{"a": [1]}', b'{"a": [1], "b": 2}'),
    (TEXT, b'a\n', b'a\nb\n'),
    (FOLDED, b'a;b 1\n', b'a;b;c 1\n'),
    (CALLGRIND, b'fn=(1) a\n1 2\n', b'fn=(1) a\n1 2\n1 2\n'),
]


def check_checkers(results):
    for kind, outputs in PLANTED:
        for output in outputs:
            results.check(kind.check(output),
                          '%s finds %r' % (kind.check.__name__, output))
    for kind, good, planted in PLANTED_SHAPES:
        results.check(kind.shape(good) != kind.shape(planted),
                      '%s finds %r' % (kind.shape.__name__, planted))
    for name in NAMES:
        results.equal(from_cell(as_cell(clean(name))), clean(name),
                      'a cell gives the name back')


#
# Sessions.
#

def put(path, **fields):
    """Writes texts into a store's header."""
    with open(path, 'r+b') as file:
        for field, value in fields.items():
            where, length, room = FIELDS[field]
            value = value[:room]
            file.seek(where)
            file.write(value.ljust(room, b'\0'))
            file.seek(length)
            file.write(struct.pack('<2I', len(value), len(value)))
        file.seek(0x1A8)            # what the hooks cost, for hot
        file.write(struct.pack('<2I', 256 * 100, 256 * 2000))


def calls(names):
    """Each function calls itself and the next one, twice; some stay open."""
    records, time = [], 1000
    for number in range(len(names)):
        following = (number + 1) % len(names)
        chain = [(number, 64), (number, 128), (following, 192)]
        for _ in range(2):
            for function, depth in chain:
                time += 7
                records.append((time, filters.FIRST + function * filters.STEP,
                                made.TOP - depth, made.ENTER))
            for function, depth in reversed(chain):
                time += 1000 + 100 * number
                records.append((time,
                                filters.FIRST + function * filters.STEP + 9,
                                made.TOP - depth, made.EXIT))
    for number, depth in ((0, 64), (1, 128), (2, 192)):
        time += 7
        records.append((time, filters.FIRST + number * filters.STEP,
                        made.TOP - depth, made.ENTER))
    return records


def make_records(folder, names, texts, process=4242):
    """A session with every name as a function, a module, a thread, a mark."""
    os.makedirs(folder)
    session = filters.make_session(
        folder, names, [calls(names)] + (THREADS - 1) * [calls(names[:3])])
    for number, path in enumerate(support.stores(session)):
        put(path, process=b'C:\\' + texts[0], command=b' '.join(texts),
            pdb=texts[1], thread=b' '.join(
                text[:40] for text in texts[number * 6:number * 6 + 6]))
    # Of other modules, which are not to be found: their names are all there
    # is.
    for number, text in enumerate(texts):
        text = b'D:\\x\\' + text.replace(b'\\', b'').replace(b'/', b'')
        path = os.path.join(session, 'other%d-1-0.trace' % number)
        made.write(path, [(20000 + 10 * number, made.A, made.TOP - 64,
                           made.ENTER),
                          (20005 + 10 * number, made.A + 9, made.TOP - 64,
                           made.EXIT)],
                   at0x80=struct.pack('<II', 1, 0),
                   at0x1C=struct.pack('<I', 1),
                   at0x120=struct.pack('<Q', made.BASE + (number << 32)))
        put(path, module=text, process=b'C:\\' + texts[0],
            command=b' '.join(texts), pdb=texts[number])
    support.write_control(session, [
        (support.ACTION_MARK, 2000 + 50 * number, text[:96], 0)
        for number, text in enumerate(texts)] + [
            (support.ACTION_NAME, 1500, texts[1][:90], 1)],
        process=process)
    if process != 4242:
        for path in support.stores(session):
            with open(path, 'r+b') as file:
                file.seek(0x018)
                file.write(struct.pack('<I', process))
    return session


def make_tree(folder, names, texts):
    os.makedirs(folder)
    root = [trees.call(names[0], 1, 10 ** 6, *[
        trees.call(name, 3, 3000 + number,
                   trees.call(names[(number + 1) % len(names)], 5, 50))
        for number, name in enumerate(names[1:], 1)])]
    session, written = trees.write_session(folder, names, [(root, {})])
    put(written[0][0], process=b'C:\\' + texts[0], command=b' '.join(texts),
        thread=texts[0], pdb=texts[1])
    return session


def make_processes(folder, names, texts, directories):
    """Several sessions in one directory, each a process of another name."""
    os.makedirs(folder)
    above = os.path.join(folder, 'all')
    os.makedirs(above)
    for number, directory in enumerate(directories):
        below = texts[number:] + texts[:number]
        session = make_records(os.path.join(folder, 'p%d' % number), names,
                               below, process=5000 + number)
        os.rename(session, os.path.join(above, directory))
    return above


ARGUMENTS = ['a\x1b[31m\x07\rb\u202ec\u009b', '\u2028x\nforged\u200b<b>']

DIRECTORIES = ['=cmd', '\u202eabc', "'q", '&amp;', '\u0085x', '@\u2028y']

TABLES = [
    ['info'], ['info', '--internals'], ['sessions'], ['report'],
    ['report', '--percentiles'],
    ['report', '--lines'], ['tree'], ['tree', '--per-thread'], ['threads'],
    ['modules'], ['verify'], ['hot'],
]
OF_RECORDS = [
    ['stack'], ['replay', '--times'], ['replay', '--from', '1us', '--all'],
]
OF_PROCESSES = [['report', '--by', 'process']]
FORMATS = [
    ('html', HTML), ('chrome', JSON), ('perfetto', BINARY), ('fxt', BINARY),
    ('speedscope', JSON), ('folded', FOLDED), ('callgrind', CALLGRIND),
    ('csv', CSV), ('csv-osr', Kind(check_osr, shape_text)), ('csv-cap', TABS),
]
OF_TREES = ('html', 'folded', 'callgrind', 'csv', 'csv-osr', 'csv-cap')


@support.watch.unless_wine_failed
def reader(*arguments):
    """(exit code, output, errors), as bytes."""
    with open(os.devnull, 'rb') as nothing:
        done = support.watch.run([programs.WINE, programs.READER, *arguments],
                                 stdin=nothing, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE,
                                 env=support.environment())
    return (support.watch.ExitCode(done.returncode, done.stderr), done.stdout,
            done.stderr)


class Pair:
    """A session with hostile names, and its twin."""

    def __init__(self, results, scratch, what, session, twin, names):
        self.results, self.scratch, self.what = results, scratch, what
        self.session, self.twin, self.names = session, twin, names
        self.number = 0

    def judge(self, kind, outputs, what):
        what = '%s: %s' % (self.what, what)
        found = kind.check(outputs[0])
        self.results.check(not found, what, found[:5])
        if kind.shape is not None and not found:
            shapes = [kind.shape(output) for output in outputs]
            self.results.check(shapes[0] == shapes[1],
                               what + ': as the twin', [
                                   str(shape)[:300] for shape in shapes])
        self.results.check(outputs[0], what + ': there is something')

    def run(self, kind, *arguments, code=0):
        """A command's output and errors; the hostile session's output."""
        outcomes = [reader(*arguments[:1], *arguments[1:],
                           programs.windows_path(path))
                    for path in (self.session, self.twin)]
        what = ' '.join(arguments)
        self.results.equal([outcome[0] for outcome in outcomes], [code, code],
                           '%s: %s: exit codes' % (self.what, what))
        self.judge(kind, [outcome[1] for outcome in outcomes], what)
        found = check_text(outcomes[0][2])
        self.results.check(not found, '%s: %s: errors' % (self.what, what),
                           found)
        return outcomes[0][1]

    def run_all(self, tables):
        for table in tables:
            self.run(TEXT, *table)
            self.run(CSV, *table, '--csv')
            self.run(JSON, *table, '--json')

    def write(self, kind, *arguments, option='-o'):
        """A command that writes a file: the file of the hostile session."""
        self.number += 1
        outputs = []
        for path in (self.session, self.twin):
            target = os.path.join(self.scratch, 'out-%d-%d-%s' % (
                self.number, len(outputs), self.what.replace(' ', '-')))
            code, text, errors = reader(*arguments, option,
                                        programs.windows_path(target),
                                        programs.windows_path(path))
            what = '%s: %s' % (self.what, ' '.join(arguments))
            self.results.equal(code, 0, what + ': exit code')
            self.results.check(not check_text(text + errors),
                               what + ': what it says',
                               [check_text(text + errors)])
            outputs.append(b'')
            if os.path.exists(target):
                with open(target, 'rb') as file:
                    outputs[-1] = file.read()
        self.judge(kind, outputs, ' '.join(arguments))
        return outputs[0]

    def check_names(self, found, instead, what):
        expected = {instead(name) for name in self.names}
        self.results.check(expected <= set(found), '%s: %s: the names' %
                           (self.what, what),
                           sorted(expected - set(found), key=len)[:5])


def check_report(pair):
    """Names come out as the rules have them."""
    data = pair.run(JSON, 'report', '--json', '--sort', 'name')
    found = json.loads(data)['functions'] if data else []
    pair.check_names([row['function'] for row in found], of_image,
                     'report JSON')
    data = pair.run(CSV, 'report', '--csv', '--sort', 'name').decode()
    rows = list(csv.DictReader(io.StringIO(data, newline='')))
    pair.check_names([row['function'] for row in rows],
                     lambda name: as_cell(of_image(name)), 'report CSV')
    pair.check_names([from_cell(row['function']) for row in rows], of_image,
                     'report CSV, read back')
    pair.results.check(
        all(NUMBER.fullmatch(row[field] or '0') for row in rows
            for field in row if field.endswith('_ns') or field == 'calls'),
        'numbers stay numbers')


def check_exports(pair, formats, several=False, listed=True):
    """Every format.  A page lists the functions of calls, not of trees."""
    for form, kind in formats:
        data = pair.write(kind, 'export', '--format', form,
                          *support.as_picture(form))
        if form == 'chrome' and data:
            events = json.loads(data)['traceEvents']
            pair.check_names([event.get('name') for event in events],
                             of_image, form)
        elif form == 'speedscope' and data:
            pair.check_names([frame['name'] for frame in
                              json.loads(data)['shared']['frames']],
                             of_image, form)
        elif form == 'folded' and not several:
            chains = [line.rsplit(' ', 1)[0].split(';')
                      for line in data.decode().splitlines()]
            pair.check_names([name for chain in chains for name in chain],
                             lambda name: of_image(name).replace(';', ':'),
                             form)
        elif form == 'callgrind':
            found = re.findall(r'^c?fn=\(\d+\) (.*)$', data.decode(), re.M)
            pair.check_names(found, of_image, form)
        elif form == 'html' and listed:
            parts = [json.loads(part) for part in
                     Elements(data.decode()).data]
            found = [row[1] for part in parts if isinstance(part, list)
                     for row in part if isinstance(row, list)]
            pair.check_names(
                [name for name in found if isinstance(name, str)],
                lambda name: of_image(name), form)


def check_arguments(results, session):
    """What is said of arguments: verbs, names, paths, lists, marks."""
    path = programs.windows_path(session)
    for name in ARGUMENTS:
        for arguments in (
                [name], ['--' + name], ['report', '--' + name, path],
                ['report', path + '\\' + name], ['info', name],
                ['callers', name, path], ['callees', path, name],
                ['outliers', path, name], ['report', '--sort', name, path],
                ['report', '--function', '@' + name, path],
                ['report', '--function', name + '#', path],
                ['export', '--format', name, '-o', 'x', path],
                ['export', '--format', 'csv', '-o', path + '\\' + name + '\\x',
                 path],
                ['ctl', path, name], ['ctl', path, 'mark', name],
                ['ctl', path, 'stop', name], ['ctl', name, 'status'],
                ['replay', '--from', 'mark:' + name + '?', path],
                ['report', '--process', name, path],
                ['report', '--module', name, path],
                ['report', '--symbols', name, '--no-cache', path],
                ['pack', '-o', path + '\\' + name + '\\x', path],
                ['recover', '-o', path + '\\' + name + '\\..\\' + name, path],
                ['exclude', name, name], ['exclude', path, name],
                ['diff', path, name], ['live', '--plain', name],
                ['verify', path + '\\' + name + '.trace']):
            _, text, errors = reader(*arguments)
            found = check_text(text + errors)
            results.check(not found, '%r: what is said' % (
                [argument[-60:] for argument in arguments],), found)


def check_live(pair):
    """Lines, a page and, on a terminal, a screen."""
    for arguments in (['--plain', '--from-start'],
                      ['--count', '1', '--budget', '100', '--from-start']):
        outcomes = [reader('live', *arguments, '--limit', '1000',
                           programs.windows_path(path))
                    for path in (pair.session, pair.twin)]
        pair.results.equal([outcome[0] for outcome in outcomes], [0, 0],
                           'live %s' % arguments)
        pair.judge(TEXT, [outcome[1] + outcome[2] for outcome in outcomes],
                   'live %s' % arguments)
    data = pair.write(HTML, 'live', '--plain', '--from-start', '--limit',
                      '1000', option='--html')
    text = data.decode()
    pair.results.check('<td class=t>&lt;script&gt;window.hacked=1'
                       in text and '\ufffd' in text, 'live: the page',
                       [text[-300:]])
    if terminals is None or terminals.pyte is None:
        pair.results.skip('there is no pyte: live on a terminal')
        return
    terminal = terminals.Terminal(
        '--from-start', programs.windows_path(pair.session), width=200,
        height=90)
    shown = terminal.wait_for(lambda this: any(
        'window.hacked' in line for line in this.lines()))
    pair.results.check(shown, 'live: the screen', terminal.lines()[:20])
    for view in (b't', b'o', b'f'):
        terminal.type(view)
        terminal.read(0.5)
        found = {char for line in terminal.lines() for char in line
                 if not is_printable(char)}
        pair.results.check(not found, 'live: view %s' % view,
                           map(ascii, found))
    terminal.type(b'q')
    pair.results.check(support.has_ended(terminal.finish()), 'live: q')
    # Wine's own sequences are there; none that begins where a name has one.
    pair.results.check(b'esc\x1b[31m' not in terminal.raw and
                       b'title\x07\x1b[2J' not in terminal.raw and
                       '\u202e'.encode() not in terminal.raw and
                       '\u2028'.encode() not in terminal.raw and
                       b'bad\xff' not in terminal.raw, 'live: raw')


FILE_NAMES = ['=1+1', '\u202eevil', '\u009b31m', '@a', "'b", '&lt;', '-c',
              'x\u2028forged', '\ufeff', 'z\u200bz']


def check_files(results, scratch):
    """Stores with names like these, whole and damaged: warnings and rows."""
    folder = os.path.join(scratch, 'files')
    session = make_records(folder, HARMLESS,
                           [name.encode() for name in HARMLESS])
    good = support.stores(session)[0]
    for number, name in enumerate(FILE_NAMES):
        path = os.path.join(session, name + '-%d-0.trace' % (100 + number))
        shutil.copy(good, path)
        with open(path, 'r+b') as file:
            if number % 3 == 0:             # it has no header
                file.write(b'\0' * 8)
            elif number % 3 == 1:           # another process
                file.seek(0x18)
                file.write(struct.pack('<I', 99))
            file.seek(4096 + 160)           # bad records
            file.write(b'\xff' * 64)
        shutil.copy(path, os.path.join(session, name + '.log'))
    path = programs.windows_path(session)
    target = os.path.join(scratch, 'files-out')
    os.makedirs(target)
    there = programs.windows_path(target) + '\\'
    for arguments in (['info'], ['info', '--internals'], ['verify'],
                      ['report'], ['threads'],
                      ['verify', '--csv'], ['info', '--csv'],
                      ['verify', '--json'], ['info', '--json'],
                      ['recover', '-o', there + 'one'],
                      ['recover', '--csv', '-o', there + 'two'],
                      ['recover', '--json', '-o', there + 'three'],
                      ['pack', '-o', there + '\u202epacked'],
                      ['ctl', 'status'], ['ctl', 'status', '--json'],
                      ['live', '--plain']):
        if arguments[0] == 'ctl':
            arguments = ['ctl', path, *arguments[1:]]
        else:
            arguments = [*arguments, path]
        _, text, errors = reader(*arguments)
        kind = (CSV if '--csv' in arguments else
                JSON if '--json' in arguments else TEXT)
        what = 'files: %s' % ' '.join(arguments[:2])
        found = kind.check(text) + check_text(errors)
        results.check(not found, what, found)
        results.check(text or errors, what + ': there is something')
    _, _, errors = reader('report', path)
    results.check('?evil-101-0.trace' in errors.decode(),
                  'files: the warning names them', [errors.decode()[-500:]])


def check_snapshot(results, scratch, session):
    """Of what a snapshot says, and where it goes."""
    target = os.path.join(scratch, 'shot \u202e')
    code, text, errors = reader('ctl', programs.windows_path(session),
                                'snapshot', programs.windows_path(target))
    results.check(code == 0 and not check_text(text + errors) and
                  os.listdir(target), 'snapshot', [code, text, errors])


# None of these is a file of its own in a directory of Windows.
ELSEWHERE = ['..\\up', '..\\..\\up', 'C:\\root', '\\\\server\\share\\x',
             'in\\side', 'file:stream', 'C:drive', 'CON', 'nul', 'Aux ', 'COM1',
             'lpt\u00b9', 'CONOUT$', 'a*', 'b?', 'c|', 'd<', 'e"', 'f\x1bg']


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(above, name), folder)
                  for above, _, names in os.walk(folder) for name in names)


def check_targets(results, scratch):
    """recover, snapshot, pack and exports in parts write their own files and
    no others, whatever the names of a session's files are."""
    harmless = [name.encode() for name in HARMLESS]
    session = make_records(os.path.join(scratch, 'elsewhere'), HARMLESS,
                           harmless)
    good = support.stores(session)[0]
    expected = sorted(os.listdir(session))
    for name in ELSEWHERE:
        shutil.copy(good, os.path.join(session, name + '.trace'))
        shutil.copy(good, os.path.join(session, name + '.log'))
    # Where they would go: two levels above are the test's own.
    outside = os.path.join(scratch, 'out')
    above = os.path.join(outside, 'above', 'target')
    os.makedirs(above)
    before = files_below(scratch)
    path, there = map(programs.windows_path, (session, above))
    for arguments in (['recover', '-o', there + '\\recovered', path],
                      ['ctl', path, 'snapshot', there + '\\shot'],
                      ['pack', '-o', there + '\\a.tracepack', path],
                      ['export', '--format', 'chrome', '--split-size', '64K',
                       '-o', there + '\\parts.json', path]):
        code, text, errors = reader(*arguments)
        results.check(code == 0 and b'ignored, as are all names' in errors
                      and not check_text(errors),
                      'targets: %s' % arguments[0], [code, text, errors])
    for made_by in ('recovered', 'shot'):
        results.equal(files_below(os.path.join(above, made_by)), [
            name for name in expected if name != 'symbols.cache' and
            not name.endswith('.index')], 'targets: ' + made_by)
    names = pack_reader.read(os.path.join(above, 'a.tracepack'))
    results.check(names and all(re.fullmatch(r'session/[\w.-]+', name)
                                for name in names), 'targets: pack',
                  list(names))
    new = [name for name in files_below(scratch) if name not in before]
    results.check(new and all(
        name.startswith(os.path.join('out', 'above', 'target') + os.sep) or
        os.path.basename(name) == 'symbols.cache' or
        name.endswith('.index') for name in new), 'targets: nothing else', new)
    # One that is named itself.
    for name in ('file:stream', 'a*'):
        code, text, errors = reader('recover', '-o', there + '\\one',
                                    path + '\\' + name + '.trace')
        results.check(code != 0 and not files_below(
            os.path.join(above, 'one')), 'targets: %r itself' % name,
                      [code, text, errors])
        shutil.rmtree(os.path.join(above, 'one'), ignore_errors=True)


IMAGE_NAMES = [name for name in NAMES
               if 0 < len(name.encode()) < 90]
PLACE = 'Placeholder%02d' + 'x' * 87


def image_source(attribute):
    return ''.join('%s int %s(int n) { static volatile int s; s += n + %d; '
                   'return s; }\n' % (attribute, PLACE % number, number)
                   for number in range(len(IMAGE_NAMES)))


def rename(path):
    """Writes the hostile names over the harmless ones of a file."""
    with open(path, 'rb') as file:
        data = file.read()
    for number, name in enumerate(IMAGE_NAMES):
        old = (PLACE % number).encode()
        data = data.replace(old, name.encode().ljust(len(old), b'\0'))
    with open(path, 'wb') as file:
        file.write(data)


def build_images(scratch):
    """An image with each source of names: (what, path)."""
    folder = os.path.join(scratch, 'images')
    os.makedirs(folder)
    with open(os.path.join(folder, 'names.c'), 'w', encoding='ascii') as file:
        file.write(image_source('__attribute__((noinline))') +
                   'int mainCRTStartup(void) { return 0; }\n')
    with open(os.path.join(folder, 'exports.c'), 'w',
              encoding='ascii') as file:
        file.write(image_source('__declspec(dllexport)') +
                   'int DllMainCRTStartup(void) { return 1; }\n')
    gcc = [programs.GCC, '-O1', '-nostdlib', '-mconsole']
    subprocess.run([*gcc, '-s', '-shared', 'exports.c', '-o', 'exports.dll',
                    '-Wl,-e,DllMainCRTStartup'], check=True, cwd=folder)
    subprocess.run([*gcc, '-g', 'names.c', '-o', 'dwarf.exe',
                    '-Wl,-e,mainCRTStartup'], check=True, cwd=folder)
    subprocess.run([*gcc, 'names.c', '-o', 'coff.exe',
                    '-Wl,-e,mainCRTStartup'], check=True, cwd=folder)
    subprocess.run([programs.CLANG, '--driver-mode=cl', '/nologo', '/c',
                    '--target=x86_64-pc-windows-msvc', '/Z7', '/Od',
                    '/Fonames.obj', '--', 'names.c'], check=True, cwd=folder)
    subprocess.run(['lld-link-19', '/nologo', '/debug', '/nodefaultlib',
                    '/opt:noref', '/entry:mainCRTStartup',
                    '/subsystem:console', '/pdbaltpath:%_PDB%',
                    '/out:pdb.exe', 'names.obj'], check=True, cwd=folder)
    for name in ('exports.dll', 'dwarf.exe', 'coff.exe', 'pdb.pdb'):
        rename(os.path.join(folder, name))
    return [(what, os.path.join(folder, name)) for what, name in (
        ('exports', 'exports.dll'), ('DWARF', 'dwarf.exe'),
        ('COFF', 'coff.exe'), ('PDB', 'pdb.exe'))]


def check_images(results, scratch):
    """Whatever source a name has, it goes the same way."""
    for what, path in build_images(scratch):
        image = programs.windows_path(path)
        code, text, errors = reader('stack', '--static', '--json',
                                    '--no-cache', image)
        results.equal(code, 0, what + ': stack --static')
        found = check_json(text) + check_text(errors)
        results.check(not found, what + ': JSON', found)
        shown = set()
        if not found:
            for table in json.loads(text).values():
                if isinstance(table, list):
                    shown |= {row.get('function') for row in table}
        shown = {re.sub(r'\+0x[0-9a-f]+$', '', name)
                 for name in shown if name}
        expected = {of_image(name) for name in IMAGE_NAMES}
        results.check(len(expected & shown) > len(expected) * 3 // 4,
                      what + ': the names are there',
                      [len(expected & shown), sorted(expected - shown)[:9]])
        for form, kind in (('--csv', CSV), ('--raw', TEXT)):
            code, text, errors = reader('stack', '--static', form,
                                        '--no-cache', image)
            found = kind.check(text) + check_text(errors)
            results.check(code == 0 and text and not found,
                          what + ': stack --static ' + form, found)


def check_source_files(results, scratch):
    """A header that several parts of a program include is one file of the
    page; and functions have the files and lines that report has."""
    folder = os.path.join(scratch, 'parts')
    os.mkdir(folder)
    for name, text in (
            ('shared.h', 'static __attribute__((noinline)) int Shared(int '
                         'Value)\n{\n    return Value * Value;\n}\n'),
            ('one.c', '#include "shared.h"\nint Two(int);\nint main(void)\n'
                      '{\n    return Shared(3) + Two(4);\n}\n'),
            ('two.c', '#include "shared.h"\n\n\nint Two(int Value)\n{\n'
                      '    return Shared(Value) - 25;\n}\n')):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
    program = programs.build(
        os.path.join(scratch, 'built'),
        [os.path.join(folder, name) for name in ('one.c', 'two.c')],
        ['-g', *programs.PENTER_FLAGS], 'parts.exe', [programs.LIBRARY])
    _, session = programs.trace(program,
                                directory=os.path.join(scratch, 'of-parts'))
    path = programs.windows_path(session)
    rows = json.loads(support.reader('report', '--json', '--lines',
                                     path)[1])['functions']
    page = os.path.join(scratch, 'parts.html')
    code, _, errors = support.reader('export', '--format', 'html',
                                     '--embed', '0', '--no-cache', '-o',
                                     programs.windows_path(page), path)
    results.check(code == 0, 'source files: export', [errors])
    with open(page, encoding='utf-8') as file:
        text = file.read()
    names, files = (json.loads(re.search(
        'id="%s">(.*?)</script>' % part, text, re.S).group(1))
        for part in ('names', 'files'))
    results.equal(sorted(files), sorted({row['file'] for row in rows}),
                  'source files: each once')
    results.equal(sorted((name[1], files[name[3]], name[4]) for name in names),
                  sorted((row['function'], row['file'], row['line'])
                         for row in rows), 'source files: of each function')
    results.equal(sum(name[1] == 'Shared' for name in names), 2,
                  'control: two functions are of one file')


def main():
    results = programs.Results()
    check_checkers(results)
    with programs.Scratch() as scratch:
        texts = [name.encode() for name in NAMES] + [b'zero\0and more']
        plain = [b'x%d' % number for number in range(len(texts))]
        pair = Pair(results, scratch, 'records',
                    make_records(os.path.join(scratch, 'a'), NAMES, texts),
                    make_records(os.path.join(scratch, 'b'), HARMLESS, plain),
                    NAMES)
        check_report(pair)
        pair.run_all(TABLES + OF_RECORDS)
        for form, kind in (('--raw', TEXT), ('--csv', CSV), ('--json', JSON)):
            pair.run(Kind(kind.check, None), 'diff', form,
                     programs.windows_path(pair.twin))
        check_exports(pair, FORMATS)
        pair.write(Kind(check_text, None), 'hot')
        check_live(pair)
        check_snapshot(results, scratch, pair.session)
        check_arguments(results, pair.session)

        pair = Pair(results, scratch, 'trees',
                    make_tree(os.path.join(scratch, 'c'), NAMES, texts),
                    make_tree(os.path.join(scratch, 'd'), HARMLESS, plain),
                    NAMES)
        pair.run_all(TABLES)
        check_exports(pair, [each for each in FORMATS
                             if each[0] in OF_TREES], listed=False)

        names = NAMES[:20]
        pair = Pair(results, scratch, 'processes',
                    make_processes(os.path.join(scratch, 'e'), names,
                                   texts[:20], DIRECTORIES),
                    make_processes(os.path.join(scratch, 'f'), HARMLESS[:20],
                                   plain[:20], ['d%d' % number for number in
                                                range(len(DIRECTORIES))]),
                    names)
        pair.run_all(TABLES[:3] + OF_PROCESSES +
                     [['tree', '--per-thread'], ['replay'], ['stack']])
        check_exports(pair, FORMATS, several=True)
        check_files(results, scratch)
        check_source_files(results, scratch)
        check_images(results, scratch)
        check_targets(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Packs that pack did not write: TraceReader takes those that Docs/Format.md,
section 15, allows, and refuses all others; it writes nothing outside of the
directory that it was told to make.

The packs are written by Tests/Library/PackSupport.py, their CRC always right
unless that is what is wrong.  Which of them are to be refused says
Tests/Library/pack_reader.py.  In the long form there are more of them.
"""
# Takes long.

import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import codec_reader                                          # noqa: E402
import MadeStores as made                                    # noqa: E402
import pack_reader                                           # noqa: E402
import PackSupport as packs                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

MOST = 1 << 24              # bytes of a file that is really written
COMMANDS = [['report', '--csv'], ['verify', '--csv'], ['info', '--json'],
            ['replay', '--limit', '3'], ['tree'], ['threads']]


def content():
    """The files of a session: (name, bytes)."""
    result = []
    for thread in (7, 8):
        records = [(1000 + 100 * number + 7 * thread, made.A + thread,
                    made.TOP - 64, made.ENTER if number % 2 == 0
                    else made.EXIT) for number in range(60)]
        body = b''.join(made.record(*item) for item in records)
        result.append(('session/made-%d.trace' % thread, made.header(
            len(body), at0x1C=struct.pack('<I', thread)) + body))
    return result + [('session/made.log', b'A line.\n' * 20)]


def in_blocks(files, size=2000):
    """The files in blocks of so many bytes."""
    return [(name, len(data), [(at, packs.stored(data[at:at + size], at))
                               for at in range(0, len(data), size)])
            for name, data in files]


def read(data):
    """(files, what is wrong): pack_reader's verdict."""
    try:
        files, end = pack_reader.parse(data)
        if any(size > MOST for _, size, _ in files):
            return None, None
        return {name: pack_reader.read_file(data, size, blocks, end)
                for name, size, blocks in files}, None
    except (pack_reader.FormatError, struct.error) as error:
        return None, str(error)


class Case:
    """Where packs are tried."""

    def __init__(self, results, scratch):
        self.results = results
        self.root = os.path.join(scratch, 'root')
        self.path = os.path.join(self.root, 'a', 'b', 'hostile.tracepack')
        self.target = os.path.join(self.root, 'a', 'b', 'target')
        os.makedirs(os.path.dirname(self.path))
        self.tried = self.refused = 0

    def outside(self):
        """All that is there beside the target, with its size."""
        return sorted((os.path.join(above, name),
                       os.path.getsize(os.path.join(above, name)))
                      for above, folders, names in os.walk(self.root)
                      if not (above + '/').startswith(self.target + '/')
                      for name in names + folders
                      if os.path.join(above, name) != self.target)

    def read(self, what, command):
        code, text, errors = support.reader(*command,
                                            programs.windows_path(self.path))
        self.results.check(code in (0, 1, 2, 3) and
                           (code != 1 or errors), '%s: %s: a clear end' %
                           (what, command[0]), [code, text[:300], errors])
        return code, errors

    def try_it(self, data, what, wanted=None):
        """wanted is True: to be refused; False: not; None: as pack_reader
        says."""
        expected, wrong = read(data)
        results = self.results
        self.tried += 1
        self.refused += wrong is not None
        if wanted is not None:
            results.equal(wrong is not None, wanted,
                          '%s: by the second reader' % what)
        with open(self.path, 'wb') as file:
            file.write(data)
        before = self.outside()
        if programs.LONG or self.tried % 4 == 0 or expected is None is wrong:
            self.read(what, COMMANDS[self.tried // 4 % len(COMMANDS)])
        if expected is None and wrong is None:      # too large to be written
            results.equal(self.outside(), before, what + ': nothing else')
            return ''
        shutil.rmtree(self.target, ignore_errors=True)
        code, text, errors = support.reader(
            'unpack', '-o', programs.windows_path(self.target),
            programs.windows_path(self.path))
        found = packs.files_below(self.target)
        results.equal(self.outside(), before, what + ': nothing outside')
        if wrong is None:
            results.check(code == 0 and not errors, what + ': is taken',
                          [code, text, errors])
            tops = {pack_reader.without_case(name.split('/')[0])
                    for name in expected}
            if len(tops) == 1 and all('/' in name for name in expected):
                expected = {name.split('/', 1)[1]: value
                            for name, value in expected.items()}
            results.check(found == expected, what + ': its bytes',
                          [sorted(found), sorted(expected)])
            return errors
        results.check(code == 1 and not text and
                      ('open the pack' in errors or 'read the pack' in
                       errors) and 'STATUS_' in errors,
                      '%s: is refused (%s)' % (what, wrong),
                      [code, text, errors])
        results.check('open the pack' not in errors or not found,
                      what + ': nothing is made of it', sorted(found))
        return errors


def widths(code):
    return {'I': 32, 'Q': 64}[code]


def values(numbers, now, code):
    """What a field is set to instead."""
    bits = widths(code)
    known = {0, 1, now + 1, now - 1, now + 8, now * 2, 1 << bits - 1,
             (1 << bits) - 1, numbers.getrandbits(bits)}
    known = sorted(value for value in known
                   if 0 <= value < 1 << bits and value != now)
    return known if programs.LONG else numbers.sample(known, 2)


def check_fields(case, numbers, files):
    """Every field of every table."""
    def setter(table, row, index, value):
        def change(parts):
            place = getattr(parts, table)
            (place if row is None else place[row])[index] = value
        return change

    tables = [('header', None, [(1, 'version', 'I'), (2, 'size', 'I')]),
              ('end', None, [(1, 'version', 'I'), (2, 'files', 'I'),
                             (3, 'blocks', 'Q'), (4, 'offset', 'Q'),
                             (5, 'names', 'Q')])]
    for row in (0, 1, -1):
        tables.append(('files', row, [
            (0, 'size', 'Q'), (1, 'first', 'Q'), (2, 'blocks', 'I'),
            (3, 'name', 'I'), (4, 'length', 'I'), (5, 'unused', 'I')]))
        tables.append(('blocks', row, [
            (0, 'offset', 'Q'), (1, 'position', 'Q'), (2, 'size', 'I'),
            (3, 'raw', 'I'), (4, 'time', 'Q')]))
    seen = []
    packs.make(files, seen.append)
    parts = seen[0]
    for table, row, fields in tables:
        place = getattr(parts, table)
        for index, name, code in fields:
            now = (place if row is None else place[row])[index]
            for value in values(numbers, now, code):
                case.try_it(
                    packs.make(files, setter(table, row, index, value)),
                    '%s %s: %s is %#x' % (table, row, name, value),
                    True if row is None else None)
    for table, index, value in (
            ('header', 0, b'TRACPACX'), ('header', 3, bytes(47) + b'\1'),
            ('header', 3, b'\1' + bytes(47)), ('end', 0, b'TRACPENX'),
            ('end', 6, bytes(15) + b'\1')):
        errors = case.try_it(
            packs.make(files, setter(table, None, index, value)),
            '%s: %r' % (table, value[-8:]), True)
        case.results.equal('it is none' in errors, index == 0 and
                           table == 'header', table + ': what is said')

    def unused(parts):
        parts.unused = 1

    def crc(parts):
        parts.crc = 0x12345678

    def tail(parts):
        parts.tail = b'\0'

    for change in (unused, crc, tail):
        case.try_it(packs.make(files, change), change.__name__, True)


def check_blocks(case, files):
    """Blocks that overlap, in another order, outside, of others."""
    def swapped(parts):
        parts.blocks[0], parts.blocks[1] = parts.blocks[1], parts.blocks[0]

    def overlapping(parts):
        parts.blocks[1][1] -= 1

    def shared(parts):
        parts.files[1][1:3] = parts.files[0][1:3]

    def in_lists(parts):
        parts.blocks[-1][0] = parts.end[4] - 8

    def in_header(parts):
        parts.blocks[0][0] = 0

    def odd(parts):
        parts.blocks[0][0] += 4

    for change in (swapped, overlapping, in_lists, in_header, odd):
        case.try_it(packs.make(files, change), change.__name__, True)

    # Two files of the same blocks contradict nothing.
    case.try_it(packs.make(files, shared), 'shared', False)

    # A block may lie before another file's; what lies between is not read.
    def spread(parts):
        parts.body += b'\xff' * 80
        parts.end[4] += 80

    case.try_it(packs.make(files, spread), 'spread', False)

    # Of a block that has other bytes than its entry says.
    name, data = 'session/x.log', bytes(range(200))
    good = packs.stored(data, 0)
    for what, block, wanted in (
            ('good', good, False),
            ('another position', packs.stored(data, 16), True),
            ('no magic', packs.sealed(b'TRBX' + good[4:]), True),
            ('no sum', good[:56] + bytes(8) + good[64:], True),
            ('another first time', packs.sealed(
                good[:24] + b'\1' + good[25:]), True),
            ('another last time', packs.sealed(
                good[:32] + b'\1' + good[33:]), True),
            ('one byte less', packs.sealed(
                good[:12] + struct.pack('<I', 199) + good[16:]), True)):
        case.try_it(packs.make([(name, 200, [(0, block)])]), 'a block: ' + what,
                    wanted)

    def raw(parts):
        parts.blocks[0][3] -= 1
        parts.files[0][0] -= 1

    def cut(parts):             # the block says that it is longer
        parts.blocks[0][2] -= 8

    def longer(parts):
        parts.blocks[0][2] += 8
        parts.body += bytes(8)
        parts.end[4] += 8

    for change in (raw, cut, longer):
        case.try_it(packs.make([(name, 200, [(0, good)])], change),
                    'a block: ' + change.__name__, True)


REFUSED = [
    '', '/', '/a', 'a/', 'a//b', '.', '..', '../x', 'a/..', 'a/../../x', './x',
    'session/..', '\\x', 'a\\b', '..\\x', '..\\..\\x', 'C:\\x', 'C:/x', 'C:x',
    '//server/share/x', 'x:stream', 'CON', 'con', 'Nul.txt', 'session/aux',
    'session/COM1.log', 'session/lpt\u00b9', 'CONIN$', 'prn /x', 'x.', 'x ',
    'a./x', 'x\x00y', 'x\x1fy', 'a*', 'a?', 'a<', 'a>', 'a|', 'a"',
    'session/made.log', 'Session/MADE.LOG', 'SESSION/made-7.TRACE', 'session',
    'SESSION', 'session/made.log/x', 'session/MADE.LOG/x/y']
ALLOWED = [
    'session/a b.log', 'session/ä.log', 'session/追踪器',
    'session/\U0001F600', 'session/.x', 'session/...x', 'session/CON1',
    'session/CONSOLE', 'session/COM10', 'session/made.log.1', 'session/made',
    'session 2/x', 'x', 'SESSION/x', 'other/x', 'session/' + 'n' * 200,
    'session/sub/x', 'session/sub.x/x']


def check_names(case, files):
    for name in REFUSED:
        errors = case.try_it(packs.make([*files, (name, b'outside')]),
                             'the name %r' % name, True)
        case.results.check('open the pack' in errors,
                           'the name %r: at once' % name, [errors])
    for name in ALLOWED:
        case.try_it(packs.make([*files, (name, b'inside')]),
                    'the name %r' % name, False)
    for pair, wanted in ((('session/\u00c4', 'session/\u00e4'), True),
                         (('session/\u00c4', 'session/a'), False),
                         (('a/b', 'A/c'), False), (('a/b', 'A'), True),
                         (('a/b', 'a.b'), False), (('a', 'a/b'), True),
                         (('a-/x', 'a/x', 'a'), True),
                         (('a-', 'a/x', 'a.', 'b'), True),
                         (('x/a b', 'x/a', 'x/a-c', 'x/A/b'), True)):
        case.try_it(packs.make([(name, b'x') for name in pair]),
                    'the names %r' % (pair, ), wanted)
    for name in (b'session/\xff\xfe', b'session/\xed\xa0\x80x',
                 b'session/\xc0\xaf', b'session/\xe2\x80'):
        case.try_it(packs.make([*files, (name, b'no UTF-8')]),
                    'the name %r' % name)
    # No session has such folders.
    with open(case.path, 'wb') as file:
        file.write(packs.make([*files, ('session/a/b/x', b'deep')]))
    shutil.rmtree(case.target, ignore_errors=True)
    code, text, errors = support.reader(
        'unpack', '-o', programs.windows_path(case.target),
        programs.windows_path(case.path))
    case.results.check(code == 1 and not text and 'folders in its folders' in
                       errors, 'folders in folders', [code, text, errors])
    case.read('folders in folders', COMMANDS[0])


def check_large(case, files):
    """Sizes that nobody has."""
    for size, wanted in ((1 << 30, None), (1 << 35, None),
                         ((1 << 35) + 9, True), (1 << 40, True),
                         (1 << 62, True), ((1 << 63) - 1, True)):
        data = packs.make([*files, ('session/large.trace', size, []),
                           ('session/large.log', size, [
                               (size - 8, packs.stored(b'the end.',
                                                       size - 8))])])
        case.try_it(data, 'files of %#x bytes' % size, wanted)
    case.try_it(packs.make([*files, ('session/x.trace', 1 << 63, [])]),
                'a file of 2^63 bytes', True)
    many = [('session/%05d.log' % number, b'') for number in range(1500)]
    case.try_it(packs.make(many), 'many files', False)
    deep = '/'.join('d' * 3 for _ in range(4000))
    case.try_it(packs.make([('s/' + 'n' * 40000, b'x')]),
                'a name of 40,000 characters', True)
    with open(case.path, 'wb') as file:
        file.write(packs.make([*files, (deep + '/x', b'x')]))
    case.read('many folders', COMMANDS[0])


def check_flips(case, numbers, data, what):
    """Bits of a pack that pack wrote, changed; the CRC stays."""
    files, end = pack_reader.parse(data)
    covered = [(at, length) for _, _, blocks in files
               for at, _, length, _, _ in blocks]
    case.try_it(data, what + ': as it is', False)
    for number in range(120 if programs.LONG else 16):
        changed = bytearray(data)
        if number % 2:
            at, length = numbers.choice(covered)
            place = at + numbers.randrange(length)
        else:
            place = numbers.randrange(len(data))
        changed[place] ^= 1 << numbers.randrange(8)
        is_used = (place < 64 or place >= end or
                   any(at <= place < at + length for at, length in covered))
        case.try_it(bytes(changed), '%s: a bit at %d' % (what, place),
                    is_used)
    for number in range(40 if programs.LONG else 8):
        case.try_it(data[:numbers.randrange(len(data))],
                    '%s: cut, %d' % (what, number), True)
    for size in (0, 7, 8, 63, 64, 65, 127, 128, len(data) - 1):
        case.try_it(data[:size], '%s: %d bytes' % (what, size), True)
    case.try_it(data + bytes(64), what + ': more behind it', True)
    case.try_it(data[8:], what + ': the beginning is missing', True)


def check_sums(case, numbers, data):
    """Blocks' contents changed and their sums made right: whatever comes of
    it, two readers make the same of it."""
    files, _ = pack_reader.parse(data)
    blocks = [block for _, _, entries in files for block in entries]
    for number in range(150 if programs.LONG else 15):
        changed = bytearray(data)
        at, _, length, _, _ = numbers.choice(blocks)
        block = bytearray(data[at:at + length])
        for _ in range(numbers.randrange(1, 4)):
            place = numbers.randrange(8 if numbers.random() < .3 else 64,
                                      length)
            block[place] = numbers.randrange(256)
        changed[at:at + length] = packs.sealed(block)
        case.try_it(bytes(changed), 'changed contents %d' % number)


def main():
    results = programs.Results()
    numbers = random.Random(2015)
    with programs.Scratch() as scratch:
        case = Case(results, scratch)
        files = content()
        session = os.path.join(scratch, 'session')
        os.makedirs(session)
        for name, data in files:
            with open(os.path.join(scratch, name), 'wb') as file:
                file.write(data)
        packed = os.path.join(scratch, 'real.tracepack')
        code, text, errors = support.reader(
            'pack', '-o', programs.windows_path(packed),
            programs.windows_path(session))
        results.check(code == 0, 'pack', [code, text, errors])
        real = packs.read_bytes(packed)

        # What is written here is a pack like those that pack writes.
        made_here = packs.make(in_blocks(files))
        case.try_it(made_here, 'good', False)
        with open(case.path, 'wb') as file:
            file.write(made_here)
        for command in COMMANDS:
            code, text, errors = support.reader(
                *command, programs.windows_path(case.path))
            results.check(code == 0 and text, 'good: ' + command[0],
                          [code, text, errors])
        methods = {codec_reader.decode(real[at:at + length])[0].method
                   for _, _, blocks in pack_reader.parse(real)[0]
                   for at, _, length, _, _ in blocks}
        results.check(max(methods) > codec_reader.STORED,
                      'a real pack has blocks that are coded', [methods])

        check_fields(case, numbers, in_blocks(files))
        check_blocks(case, in_blocks(files))
        check_names(case, files)
        check_large(case, files)
        check_flips(case, numbers, real, 'real')
        check_sums(case, numbers, real)
        print('%d packs, %d of them refused' % (case.tried, case.refused))
        results.check(20 < case.refused < case.tried - 20,
                      'control: both verdicts occur')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""tracer.ini and CAP.INI: each key has the effect of its variable, the
environment wins key by key, one file is found in the documented order, and what
makes no sense is in the session's log with the file and the line.

What a value does is read off the stores' headers; what it should do is what the
variable of the environment does in the same program.
"""

import os
import random
import re
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

support.OTHER_MODES.clear()             # ini files say the mode here

CALLS = 2000
ATTEMPTS = 50
A_DAY = '86400000'      # milliseconds: longer than anything takes
MEBIBYTE = 1 << 20
NOT_SUPPORTED, NOT_FOUND = '0xC00000BB', '0xC0000225'
INVALID, NAME_INVALID = '0xC000000D', '0xC0000033'

# Section, key, variable, a value that is not the default, another one.
KEYS = (
    ('output', 'mode', 'TRACER_MODE', 'Ring', 'file'),
    ('output', 'max_bytes', 'TRACER_MAX_BYTES', '2M', '0x300000'),
    ('output', 'view_size', 'TRACER_VIEW_SIZE', '64k', '1M'),
    ('flags', 'clock', 'TRACER_CLOCK', 'NONE', 'tsc'),
    ('flags', 'max_depth', 'TRACER_MAX_DEPTH', '2', '1'),
    ('output', 'directory', 'TRACER_DIRECTORY', 'below', None),
    ('modules', None, 'TRACER_MODULES', 'busy', '-Busy'),
    ('executables', None, 'TRACER_EXECUTABLES', 'Bus', 'other'),
    ('flags', 'enabled', 'TRACER_ENABLED', '1', '0'),
)


class Place:
    """A folder with the program, and one that is the current directory."""

    def __init__(self, scratch, program):
        self.above, self.number = scratch, 0
        self.program = program

    def fresh(self):
        self.number += 1
        self.folder = os.path.join(self.above, 'run%d' % self.number)
        self.cwd = os.path.join(self.folder, 'cwd')
        os.makedirs(self.cwd)
        self.exe = os.path.join(self.folder, 'Busy.exe')
        os.link(self.program, self.exe)
        return self

    def write(self, name, text, encoding='utf-8'):
        data = text if isinstance(text, bytes) else text.encode(encoding)
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data)
        return self

    def run(self, results, what, **variables):
        """The program must run as ever; its result is what it left."""
        code, _ = support.run(self.exe, 'run', '1', str(CALLS), '0',
                              cwd=self.cwd, leaves=[self.folder, self.cwd],
                              **variables)
        results.equal(code, 0, what + ': exit code')
        left = Left(self.folder)
        self.check_taken(results, what, left, variables)
        return left

    def check_taken(self, results, what, left, variables):
        """A program that is traced says first which file it uses: the first
        of the documented places, unless it says why not."""
        said = [path.replace('\\', '/').lower() for path, _ in left.taken]
        refused = any('no ini file is used' in line or '; it is not used' in
                      line for line in left.log)
        names = ('tracer.ini', 'cap.ini')
        there = {name.lower() for name in os.listdir(self.folder)}
        near = {name.lower() for name in os.listdir(self.cwd)}
        expected = [os.path.join(*place) for name in names
                    for place in ((self.folder, name), (self.cwd, name))
                    if name in (there if place[0] == self.folder else near)]
        if refused and left.taken:
            return
        if not left.stores or refused:
            expected = []
        elif variables.get('TRACER_CONFIG'):
            name = variables['TRACER_CONFIG'].replace('\\', '/')
            expected = [os.path.normpath(os.path.join(
                self.cwd, name[2:] if name[1:2] == ':' else name))]
            if name == 'NUL':
                expected = []
        results.equal(said and said[0].split(':', 1)[-1],
                      expected[0].lower() if expected else [],
                      what + ': which file is used')
        results.equal((len(said), left.first),
                      (len(left.sessions) if expected else 0, bool(expected)),
                      what + ': said once a session, and first')


class Left:
    """What a program left below a folder: its stores and its log's lines."""

    def __init__(self, folder):
        paths = support.stores(folder)
        self.where = sorted({os.path.relpath(os.path.dirname(os.path.dirname(
            path)), folder) for path in paths})
        self.sessions = {os.path.dirname(path) for path in paths}
        self.stores = [trace_reader.Store(path) for path in paths]
        self.stores.sort(key=lambda store: store.number_of_slots)
        lines = []
        for above, _, names in os.walk(folder):
            for name in names:
                if name.endswith('.log'):
                    with open(os.path.join(above, name), 'rb') as file:
                        lines += file.read().decode().split('\r\n')[:-1]

        # Which file is used is no complaint: it has a list of its own.
        self.log = [line for line in lines if '; it is used: ' not in line]
        self.taken = [match.group(1, 2) for match in (
            re.search(r'reading the ini file: (.*); it is used: (.*)$', line)
            for line in lines if line not in self.log) if match]
        self.first = bool(lines and self.taken and lines[0] not in self.log)

    def settings(self):
        """What the settings did, as far as stores tell."""
        if not self.stores:
            return None
        store = self.stores[-1]
        return {'directory': self.where, 'ring': store.RingSizeInBytes,
                'maximum': store.MaximumBytes, 'clock': store.Clock,
                'depth': store.MaximumDepth,
                'records': store.number_of_slots > CALLS}

    def has_small_views(self):
        """Each view of the last store was of 64 KiB at most: there were so
        many changes.  Views of other sizes may be as small where the machine
        is busy."""
        store = self.stores[-1]
        used = store.number_of_slots * 16
        return store._get(0x08C, 'I') >= used // 65536 - 1 > 4

    def lines(self):
        """(line of the ini file, the text) for each message with one."""
        found = [re.search(r', line (\d+)(?:: (.*?))?: 0x', line)
                 for line in self.log]
        return [(int(match.group(1)), match.group(2) or '')
                for match in found if match]


def text_of(values):
    """A tracer.ini with these values, by variable."""
    text, section = '', None
    for where, key, variable, _, _ in sorted(KEYS, key=lambda row: row[0]):
        if variable in values:
            if where != section:
                text, section = text + '[%s]\n' % where, where
            value = values[variable]
            text += value + '\n' if key is None else '%s = %s\n' % (key, value)
    return text


def check_keys(results, place):
    """Each key does what its variable does, and the environment wins."""
    nothing = place.fresh().run(results, 'no ini')
    results.check(nothing.stores and not nothing.log and
                  nothing.where == ['cwd'], 'no ini: recorded, no log',
                  [nothing.where, nothing.log])
    default = nothing.settings()

    one = {row[2]: row[3] for row in KEYS}
    other = {row[2]: row[4] for row in KEYS if row[4] is not None}
    effects = {}
    for section, key, variable, first, second in KEYS:
        what = '[%s] %s' % (section, key)
        if variable == 'TRACER_DIRECTORY':
            continue
        changes = second if variable in ('TRACER_MODULES', 'TRACER_ENABLED',
                                         'TRACER_EXECUTABLES') else first
        ini = place.fresh().write('tracer.ini', text_of({variable: changes})
                                  ).run(results, what)
        variable_alone = place.fresh().run(results, variable,
                                           **{variable: changes})
        results.check(not ini.log and not variable_alone.log,
                      what + ': no log', ini.log + variable_alone.log)
        results.equal(ini.settings(), variable_alone.settings(),
                      what + ' is ' + variable)
        effects[variable] = changes
        if variable == 'TRACER_VIEW_SIZE':
            results.check(ini.has_small_views() and
                          variable_alone.has_small_views(), what + ': views')
            results.check(any(not place.fresh().run(
                results, 'larger views').has_small_views()
                for _ in range(ATTEMPTS)), what + ' does something')
            continue
        results.check(ini.settings() != default, what + ' does something')

    # All of them, and the environment against one at a time.
    keys = {name: value for name, value in one.items()}
    every = place.fresh().write('tracer.ini', text_of(keys)).run(
        results, 'all keys')
    results.equal(every.where, ['below'], 'all keys: directory')
    results.check(not every.log, 'all keys: no log', every.log)
    base = every.settings()
    results.equal((base['ring'] > 0, base['maximum'], base['clock'],
                   base['depth']), (True, 2 * MEBIBYTE, trace_reader.NONE, 2),
                  'all keys: their values')
    expected = {
        'TRACER_MODE': {'ring': 0}, 'TRACER_CLOCK': {'clock': 0},
        'TRACER_MAX_BYTES': {'maximum': 3 * MEBIBYTE},
        'TRACER_MAX_DEPTH': {'depth': 1},
        'TRACER_VIEW_SIZE': {}}
    for variable, change in expected.items():
        left = place.fresh().write('tracer.ini', text_of(keys)).run(
            results, 'all keys but ' + variable, **{variable: other[variable]})
        seen = left.settings() or {}
        results.equal({name: seen.get(name) for name in change}, change,
                      '%s of the environment wins' % variable)
        kept = [name for name in ('ring', 'maximum', 'clock', 'depth')
                if name not in change and not (name == 'ring' and
                                               'maximum' in change)]
        results.equal({name: seen.get(name) for name in kept},
                      {name: base[name] for name in kept},
                      '%s: the ini has the rest' % variable)
    for variable, value, recorded in (
            ('TRACER_ENABLED', '0', False), ('TRACER_MODULES', '-b', False),
            ('TRACER_EXECUTABLES', 'x', False)):
        left = place.fresh().write('tracer.ini', text_of(keys)).run(
            results, variable, **{variable: value})
        results.equal(bool(left.stores), recorded, '%s wins' % variable)
    left = place.fresh().write('tracer.ini', text_of(
        {'TRACER_ENABLED': '0', 'TRACER_EXECUTABLES': 'x',
         'TRACER_MODULES': 'x'})).run(
        results, 'on', TRACER_ENABLED='1', TRACER_EXECUTABLES='busy.exe',
        TRACER_MODULES='BUSY')
    results.check(left.stores and not left.log, 'the environment turns it on')

    # Empty variables count as not set.
    left = place.fresh().write('tracer.ini', text_of(keys)).run(
        results, 'empty', **{name: '' for name in one})
    results.equal(left.settings(), base, 'empty variables')


def check_min_duration(results, place):
    """What is short is taken back: the same number of the outermost calls."""
    left = place.fresh().write(
        'tracer.ini', '[flags]\nmin_duration = 1s\n').run(results, '1s')
    results.check(left.stores and not left.log and
                  left.stores[-1].MinimumDuration > 1000000 and
                  left.stores[-1].number_of_slots < CALLS,
                  'min_duration')


def check_order(results, place):
    """One file is used: the first of the documented places."""
    def depth(number):
        return '[flags]\nmax_depth = %d\n' % number

    named = place.fresh().folder
    place.write('named.ini', depth(7))
    named = programs.windows_path(os.path.join(named, 'named.ini'))
    for files, variables, expected in (
            (('tracer.ini', 'cwd/tracer.ini', 'CAP.INI', 'cwd/CAP.INI'),
             {'TRACER_CONFIG': named}, 7),
            (('tracer.ini', 'cwd/tracer.ini', 'CAP.INI'), {}, 1),
            (('tracer.ini', 'cwd/tracer.ini'), {'TRACER_CONFIG': ''}, 1),
            (('cwd/tracer.ini', 'CAP.INI', 'cwd/CAP.INI'), {}, 1),
            (('cwd/Tracer.INI',), {}, 1),
            (('elsewhere/tracer.ini',), {}, 0),
            (('cwd/other.ini',), {'TRACER_CONFIG': 'other.ini'}, 1)):
        place.fresh()
        for number, name in enumerate(files, 1):
            place.write(name, depth(number))
        left = place.run(results, files[0], **variables)
        results.check(left.stores and not left.log, 'order: no log', left.log)
        results.equal(left.stores and left.stores[-1].MaximumDepth, expected,
                      'order: %s %s' % (files, variables))

    # CAP.INI is told by its name: beside the program before the current
    # directory's.
    place.fresh().write('cap.ini', '[EXES]\nother.exe\n')
    place.write('cwd/CAP.INI', '[EXES]\nbusy.exe\n')
    left = place.run(results, 'CAP.INI first')
    results.check(not left.stores, 'CAP.INI beside the program')
    place.fresh().write('cwd/CAP.INI', '[EXES]\nother.exe\n')
    results.check(not place.run(results, 'CAP.INI').stores,
                  'CAP.INI in the current directory')

    # What TRACER_CONFIG names must be there; nothing else is looked for then.
    place.fresh().write('tracer.ini', depth(3))
    left = place.run(results, 'not there', TRACER_CONFIG='not there.ini')
    results.check(
        left.stores and left.stores[-1].MaximumDepth == 0 and
        len(left.log) == 1 and 'TRACER_CONFIG' in left.log[0] and
        'not there.ini: 0xC0000034' in left.log[0] and
        'no ini file is used' in left.log[0], 'TRACER_CONFIG: not there',
        left.log)
    left = place.run(results, 'NUL', TRACER_CONFIG='NUL')
    results.check(left.stores and left.stores[-1].MaximumDepth == 0,
                  'TRACER_CONFIG=NUL: no ini file', left.log)

    # A directory is no file; and what is found first is what is used.
    place.fresh().write('cwd/tracer.ini', depth(3))
    os.mkdir(os.path.join(place.folder, 'tracer.ini'))
    left = place.run(results, 'directory')
    results.check(
        left.stores and left.stores[-1].MaximumDepth == 0 and
        len(left.log) == 1 and 'tracer.ini: 0xC00000BA' in left.log[0],
        'a directory', left.log)


def check_trust(results, place):
    """A file of the current directory is used if nobody but the user (and
    administrators) can write to it and to the directory, or if TRACER_CONFIG
    names it.  Wine makes security descriptors of a file's mode and its owner;
    what a group may do it does not say."""
    nobody = 65534
    directory = 'can write to its directory'
    file = 'can write to it;'
    owner, writers = '0xC000005A (STATUS_INVALID_OWNER)', \
        '0xC0000022 (STATUS_ACCESS_DENIED)'
    rows = [
        # Modes of the directory and the file, whose they are, what is said.
        (0o755, 0o644, None, None, None),
        (0o700, 0o600, None, None, None),
        (0o555, 0o444, None, None, None),
        (0o777, 0o644, None, None, (writers, directory)),
        (0o1777, 0o644, None, None, (writers, directory)),
        (0o702, 0o600, None, None, (writers, directory)),
        (0o755, 0o666, None, None, (writers, file)),
        (0o755, 0o602, None, None, (writers, file))]
    if os.getuid() == 0:
        rows += [(0o755, 0o644, nobody, None, (owner, directory)),
                 (0o755, 0o644, None, nobody, (owner, file)),
                 (0o755, 0o400, None, nobody, (owner, file))]
    else:
        results.skip('not root: no file of another user')
    for name in ('tracer.ini', 'CAP.INI'):
        text = '[flags]\nmax_depth = 5\n' if name == 'tracer.ini' else \
            '[EXES]\nother.exe\n'

        def effect(left):
            if name == 'CAP.INI':
                return not left.stores
            return bool(left.stores) and left.stores[-1].MaximumDepth == 5

        for mode, file_mode, who, file_owner, said in rows:
            what = '%s, %o %o %s %s' % (name, mode, file_mode, who, file_owner)
            place.fresh().write('cwd/' + name, text)
            path = os.path.join(place.cwd, name)
            os.chmod(path, file_mode)
            if file_owner is not None:
                os.chown(path, file_owner, -1)
            if who is not None:
                os.chown(place.cwd, who, -1)
            os.chmod(place.cwd, mode)
            left = place.run(results, what, TRACER_DIRECTORY='..')
            results.equal(effect(left), said is None, what + ': used')
            if said is not None:
                results.check(
                    left.stores and len(left.log) == 1 and
                    all(words in left.log[0] for words in
                        (*said, 'opening the ini file: ', '\\%s: ' % name,
                         'it is not used: users other than this user',
                         'TRACER_CONFIG can name')), what + ': log', left.log)
            elif left.stores:
                results.equal(left.taken and left.taken[0][1],
                              'nobody but the user and administrators can '
                              'write where it is', what + ': why it is used')
                results.check(not left.log, what + ': log', left.log)

            # TRACER_CONFIG asks for it, whoever may write there.
            before = left.sessions
            left = place.run(results, what + ', named', TRACER_CONFIG=name,
                             TRACER_DIRECTORY='..\\named')
            results.check(name == 'CAP.INI' and left.sessions == before or
                          any(store.MaximumDepth == 5
                              for store in left.stores) and
                          any('TRACER_CONFIG names it' in why
                              for _, why in left.taken),
                          what + ': named', left.log)

    # Beside the program it is used: who can write there can change the program.
    place.fresh().write('tracer.ini', '[flags]\nmax_depth = 5\n')
    os.chmod(place.folder, 0o777)
    os.chmod(os.path.join(place.folder, 'tracer.ini'), 0o666)
    left = place.run(results, 'beside the program')
    results.check(left.stores and left.stores[-1].MaximumDepth == 5 and
                  left.taken[0][1] == 'it is beside the program',
                  'beside the program', left.taken)

    # A stranger's file does not hide the one that comes after it.
    place.fresh().write('cwd/tracer.ini', '[flags]\nenabled = 0\n')
    place.write('CAP.INI', '[EXES]\nbusy.exe\n')
    os.chmod(place.cwd, 0o777)
    left = place.run(results, 'CAP.INI after tracer.ini')
    results.check(left.stores and len(left.log) == 1 and
                  left.taken[0][0].endswith('CAP.INI'),
                  'CAP.INI after tracer.ini', left.log + left.taken)


def check_encodings(results, place):
    name = 'Schöne Ω漢😀 = #;'
    text = ('; Kommentar: ä\r\n\r\n[ Output ]  \r\n\tDirectory=%s\r\n'
            '# [flags]\r\n[FLAGS]\r\n  MAX_depth =\t9  ' % name)
    for what, data in (
            ('utf-8', text.encode()),
            ('utf-8, a mark', text.encode('utf-8-sig')),
            ('utf-8, line feeds', text.replace('\r', '').encode()),
            ('utf-16le, a mark', b'\xff\xfe' + text.encode('utf-16-le')),
            ('utf-16le', text.encode('utf-16-le')),
            ('utf-16le, half a unit more', text.encode('utf-16-le') + b' ')):
        place.fresh().write('tracer.ini', data)
        left = place.run(results, what)
        results.check(not left.log, what + ': no log', left.log)
        results.equal((left.where, left.stores and
                       left.stores[-1].MaximumDepth), ([name], 9), what)

    # Of what is no text the lines that are count.
    place.fresh().write('tracer.ini', b'; \xe4\xff\x00\x01\n[flags]\n'
                        b'max_depth = 9\nclock = \xe4\nview_size = 1\x00M\n'
                        b'flush = \x1b[2J\n[\xff]\nclock = none\n')
    left = place.run(results, 'bytes')
    results.check(left.stores and left.stores[-1].MaximumDepth == 9 and
                  left.stores[-1].Clock == trace_reader.TSC, 'bytes: used')
    results.equal([line for line, _ in left.lines()], [4, 5, 6, 7],
                  'bytes: said')
    results.check(all(ord(character) >= 32 for line in left.log
                      for character in line), 'bytes: the log is text')


def check_paths(results, place):
    """A path without a drive is one below the ini file's directory."""
    place.fresh().write('some/where/x.ini', '[output]\ndirectory = ../out\n')
    left = place.run(results, 'relative', TRACER_CONFIG='..\\some/where\\x.ini')
    results.equal(left.where, ['some/out'], 'relative to the ini file')
    place.fresh().write('some/x.ini', '[output]\ndirectory = "%s"\n' %
                        programs.windows_path(os.path.join(place.folder,
                                                           'a b')))
    left = place.run(results, 'absolute', TRACER_CONFIG='..\\some\\x.ini')
    results.equal(left.where, ['a b'], 'absolute, in quotes')
    place.fresh().write('some/x.ini', '[output]\ndirectory = in the ini\n')
    left = place.run(results, 'environment', TRACER_CONFIG='..\\some\\x.ini',
                     TRACER_DIRECTORY='in the environment')
    results.equal(left.where, ['cwd/in the environment'],
                  'relative to the current directory')


BAD = (
    # The line, and what its message says; None: no message.
    ('stray = 1', (INVALID, 'no section')),
    ('[flags]', None),
    ('enabled = maybe', (INVALID, 'TRACER_ENABLED', 'maybe')),
    ('clock = sundial', (INVALID, 'TRACER_CLOCK', 'sundial')),
    ('min_duration = 5m', (INVALID, 'TRACER_MIN_DURATION', '5m')),
    ('max_depth = 0', (INVALID, 'TRACER_MAX_DEPTH', ': 0: ')),
    ('colour = red', (NOT_FOUND, 'colour = red', 'no such key')),
    ('directory = x', (NOT_FOUND, 'directory = x', 'no such key')),
    ('[output]', None),
    ('mode = circle', (INVALID, 'TRACER_MODE', 'circle')),
    ('max_bytes = 1', (INVALID, 'TRACER_MAX_BYTES', ': 1: ')),
    ('view_size = 64K ; small', (INVALID, 'TRACER_VIEW_SIZE', '; small')),
    ('flush = yes', (INVALID, 'TRACER_FLUSH', 'yes')),
    ('just words', (INVALID, 'just words', 'KEY = VALUE')),
    ('[modules]', None),
    ('a*b', (NAME_INVALID, 'a*b', 'left out')),
    ('[no such]', (NOT_FOUND, '[no such]', 'no such section')),
    ('enabled = 0', None),
    ('[flags', (INVALID, '[flags', 'a section is')),
    ('[exclude]', None),
    ('lua.exe!luaV_execute', (NOT_SUPPORTED, 'TraceReader exclude',
                              '(and 2 more)')),
    ('lua.exe!operator=', None),
    ('lua.exe!luaD_call', None),
    ('[chronological]', None),
    ('lua.exe!main', (NOT_SUPPORTED, 'TraceReader exclude')),
    ('list = x', (NOT_SUPPORTED, 'TRACER_CHRONO', 'recorded in its order')),
)


def check_bad(results, place):
    place.fresh().write('tracer.ini', '\n'.join(line for line, _ in BAD))
    path = programs.windows_path(os.path.join(place.folder, 'tracer.ini'))
    left = place.run(results, 'bad values')
    results.check(left.stores, 'bad values: recorded')
    for number, (line, words) in enumerate(BAD, 1):
        found = [message for message in left.log
                 if '%s, line %d: ' % (path, number) in message]
        results.check(
            len(found) == (words is not None) and
            all(word in message for message in found for word in words),
            'bad values: line %d: %s' % (number, line), found)
    results.equal(len(left.log), sum(words is not None for _, words in BAD),
                  'bad values: no more')

    # A value of the environment has no line, and the ini's is not asked.
    left = place.run(results, 'bad variable', TRACER_CLOCK='moon')
    about = [line for line in left.log
             if 'CLOCK' in line and 'sundial' not in line]
    results.check(len(about) == 1 and ': moon: ' in about[0] and
                  ', line' not in about[0], 'a bad variable', about)
    left = place.fresh().write('tracer.ini', '[flags]\nclock=none\n').run(
        results, 'bad variable, good ini', TRACER_CLOCK='moon')
    results.check(left.stores and left.stores[-1].Clock == trace_reader.TSC,
                  'a bad variable: the default, not the ini')

    # Said twice: the later line counts.
    left = place.fresh().write(
        'tracer.ini', '[flags]\nmax_depth=3\n[flags]\nMax_Depth = 5').run(
        results, 'twice')
    results.check(left.stores and left.stores[-1].MaximumDepth == 5 and
                  left.lines() == [(4, 'Max_Depth = 5')], 'twice', left.log)

    # More than there is room for is counted.
    left = place.fresh().write(
        'tracer.ini', '[flags]\n' + 'x = 1\n' * 500 + 'max_depth = 5').run(
        results, 'many')
    results.check(left.stores and left.stores[-1].MaximumDepth == 5 and
                  len(left.log) == 21 and '480 more' in left.log[-1], 'many',
                  left.log[-2:])

    # Names: prefixes, several on a line, a '-' leaves out.
    for text, recorded in (
            ('[modules]\nother\n-bus\n', False), ('[modules]\nx;busy\n', True),
            ('[modules]\nbus\n-BUSY.exe\n', False), ('[modules]\n', True),
            ('[modules]\nother\n[flags]\n[modules]\nb\n', True),
            ('[executables]\nx\nbusy\n', True), ('[executables]\n-b\n', False)):
        left = place.fresh().write('tracer.ini', text).run(results, text)
        results.check(bool(left.stores) == recorded and not left.log,
                      'names: %r' % text, left.log)
        if not recorded:
            results.equal(sorted(os.listdir(place.folder)),
                          ['Busy.exe', 'cwd', 'tracer.ini'],
                          'left out: nothing is made')


def check_size(results, place):
    last = '\n[flags]\nmax_depth = 6\n'
    for size, used in ((MEBIBYTE, True), (MEBIBYTE + 1, False), (0, False)):
        text = ('; filler\n' * (MEBIBYTE // 9 + 1))[:size - len(last)] + last
        place.fresh().write('tracer.ini', text[:size])
        left = place.run(results, 'size %d' % size)
        results.equal(left.stores and left.stores[-1].MaximumDepth,
                      6 if used else 0, 'size %d' % size)
        results.equal([line.split('tracer.ini')[1][:12] for line in left.log],
                      [': 0xC0000904'] if size > MEBIBYTE else [],
                      'size %d: log' % size)

    chance = random.Random(7)
    garbage = bytes(chance.randrange(256) for _ in range(200000))
    for data in (garbage, b'\xff\xfe' + garbage,
                 b'[flags]\nmax_depth = 4\n' + garbage, b'[' * MEBIBYTE,
                 b'[modules]\n' + b'busy\n' * 200000):
        left = place.fresh().write('tracer.ini', data).run(
            results, 'garbage')
        results.check(left.stores, 'garbage: recorded')
        results.check(len(left.log) <= 21, 'garbage: a short log')
        if data.startswith(b'[f'):
            results.equal(left.stores[-1].MaximumDepth, 4,
                          'garbage: what is before it')


CAP = '''\
; Call Profiler
[EXES]
busy.exe
zooman.exe

[PATCH IMPORTS]
busy.exe
elephant.dll

[PATCH CALLERS]
food.dll

[NAME LENGTH]
60

[CHRONO FUNCS]
busy=Outer

[EXCLUDE FUNCS]
busy=Inner
busy=Small

[OUTPUT FILE]
filename=results\\busy.cap

[CAP FLAGS]
profile=on
dumpbinary=off
capthread=off
loadlibrary=on
setjump=on
undecoratename=on
excelaware=on
regular dump=on
chronocollect=off
chronodump=off
slowsymbols=off
fastsymbols=off
'''

CAP_SAID = {
    7: 'hooks that are compiled in', 11: 'hooks that are compiled in',
    14: 'names are not cut', 17: 'TraceReader exclude',
    20: 'TraceReader exclude', 24: 'made in that of this file',
    28: 'always binary', 29: 'no threads', 30: 'LoadLibrary',
    31: 'longjmp', 32: '--raw', 33: '--csv', 34: 'TraceReader',
    35: 'in their order', 36: 'TraceReader replay', 37: 'TraceReader',
    38: 'no such key'}


def check_cap(results, place):
    left = place.fresh().write('CAP.INI', CAP.replace('\n', '\r\n')).run(
        results, 'CAP.INI')
    results.equal(left.where, ['results'], 'CAP.INI: where sessions go')
    lines = CAP.split('\n')
    seen = {}
    for message in left.log:
        match = re.search(r'CAP\.INI, line (\d+): (.*): 0x', message)
        if results.check(match, 'CAP.INI: a line', [message]):
            seen[int(match.group(1))] = (match.group(2), message)
    results.equal(sorted(seen), sorted(CAP_SAID), 'CAP.INI: lines')
    for line, words in CAP_SAID.items():
        text, message = seen.get(line, ('', ''))
        results.check(words in message and text.startswith(lines[line - 1]),
                      'CAP.INI: line %d' % line, [message])
    results.check(seen.get(20, [''])[0].endswith('(and 1 more)'),
                  'CAP.INI: how many lines', seen.get(20, ()))

    # What it asks for, one by one; a section's header need not be there.
    for text, recorded in (
            ('[EXES]\nbusy.exe', True), ('[exes]\nzooman.exe\n', False),
            ('[PATCH CALLERS]\nwater.dll\n', False), ('[EXES]\n', True),
            ('[PATCH IMPORTS]\nwater.dll\n[PATCH CALLERS]\nbusy.exe', True),
            ('[CAP FLAGS]\nprofile=maybe\n', True), ('', True)):
        left = place.fresh().write('cwd/cap.ini', text).run(results, text)
        results.equal(bool(left.stores), recorded, 'CAP.INI: %r' % text)
    for variables, recorded in (({}, False), ({'TRACER_STOPPED': '0'}, True)):
        left = place.fresh().write(
            'CAP.INI', '[CAP FLAGS]\nPROFILE = Off\n').run(
            results, 'CAP.INI, profile', **variables)
        results.check(
            left.stores and not left.log and
            (left.stores[-1].number_of_slots > CALLS) == recorded and
            (left.stores[-1].number_of_slots == 0) != recorded,
            'CAP.INI: profile=off, %s' % variables,
            [store.number_of_slots for store in left.stores])
    left = place.fresh().write('CAP.INI', '[OUTPUT FILE]\nfilename=x.cap\n'
                               ).run(results, 'CAP.INI, no directory')
    results.check(left.where == ['cwd'] and len(left.log) == 1 and
                  'names no directory' in left.log[0],
                  'CAP.INI: no directory', left.log)


def check_dll(results, scratch):
    """[executables] decides for the DLLs of a program too, [modules] for each
    module; a DLL finds the file beside the program."""
    source = os.path.join(programs.PROGRAMS, 'TwoModules.c')
    exe = programs.build(os.path.join(scratch, 'two'), [source],
                         programs.PENTER_FLAGS, 'TwoModules.exe',
                         [programs.LIBRARY])
    dll = programs.build(os.path.join(scratch, 'dll'), [source],
                         [*programs.PENTER_FLAGS, '-DPLUGIN'], 'Plugin.dll',
                         [programs.LIBRARY, '-shared'])
    for number, (text, expected) in enumerate((
            ('', {'TwoModules.exe', 'Plugin.dll'}),
            ('[executables]\ntwo', {'TwoModules.exe', 'Plugin.dll'}),
            ('[executables]\nplugin', set()),
            ('[modules]\nplug', {'Plugin.dll'}))):
        folder = os.path.join(scratch, 'dlls%d' % number)
        for name in ('bin', 'plugins', 'cwd'):
            os.makedirs(os.path.join(folder, name))
        shutil.copy(exe, os.path.join(folder, 'bin'))
        path = shutil.copy(dll, os.path.join(folder, 'plugins'))
        with open(os.path.join(folder, 'bin', 'tracer.ini'), 'w') as file:
            file.write(text)
        code, _ = support.run(os.path.join(folder, 'bin', 'TwoModules.exe'),
                              programs.windows_path(path),
                              cwd=os.path.join(folder, 'cwd'))
        results.equal(code, 0, 'a DLL: exit code')
        modules = {os.path.basename(store.ModulePath.replace('\\', '/'))
                   for store in Left(folder).stores}
        results.equal(modules, expected, 'a DLL: %r' % text)


def check_rest(results, place):
    """What does not show in the header of a store of records."""
    place.fresh().write('tracer.ini', '[output]\nmode = tree\n')
    code, _ = support.run(place.exe, 'run', '1', str(CALLS), '0',
                          cwd=place.cwd)
    modes = set()
    for path in support.stores(place.folder):
        with open(path, 'rb') as file:
            modes.add(struct.unpack_from('<I', file.read(4096), 0x1B0)[0])
    results.equal((code, modes), (0, {1}), 'mode = tree')

    for text, there in (('', True), ('[output]\ncontrol = 0\n', False)):
        place.fresh().write('tracer.ini', text).run(results, 'control')
        found = [name for _, _, names in os.walk(place.folder)
                 for name in names if name == 'session.control']
        results.equal(len(found), there, 'control: %r' % text)

    every = place.fresh().run(results, 'all functions')
    path = os.path.join(place.above, 'small.list')
    code, _ = programs.trace_reader(
        'exclude', '--output', programs.windows_path(path),
        programs.windows_path(place.program), 'Small')
    if results.equal(code, 0, 'TraceReader exclude'):
        place.fresh().write('lists/x.ini', '[exclude]\nlist=../small.list\n')
        shutil.copy(path, place.folder)
        ini = place.run(results, 'list', TRACER_CONFIG='..\\lists\\x.ini')
        variable = place.fresh().run(
            results, 'list', TRACER_EXCLUDE=programs.windows_path(path))
        numbers = [left.stores and left.stores[-1].number_of_slots
                   for left in (every, ini, variable)]
        results.check(numbers[1] == numbers[2] < numbers[0] and numbers[1] and
                      not ini.log, '[exclude] list is TRACER_EXCLUDE', numbers)


def check_stopped(results, place):
    """Nothing is recorded until TraceReader starts it."""
    place.fresh().write('tracer.ini', '[flags]\nstopped = 1\n')
    end = os.path.join(place.folder, 'end')
    process = support.start(place.exe, 'for', A_DAY, '100',
                            programs.windows_path(end), cwd=place.cwd)
    support.wait_for(lambda: len(support.stores(place.folder)) >= 4)
    before = [support.slots(path) for path in support.stores(place.folder)]
    session = support.sessions(place.cwd)
    code, text, errors, late = support.ctl(session[0], 'start')
    results.check(code == 0 and (text.startswith('start: action ') or late),
                  'stopped: ctl start', [code, text, errors])

    def has_records():
        return sum(support.slots(path) > CALLS
                   for path in support.stores(place.folder)) >= 4

    support.wait_for(has_records)
    with open(end, 'w'):
        pass
    code, _ = support.finish(process)
    results.equal((support.has_ended(code), before and max(before),
                   has_records()), (True, 0, True),
                  'stopped: nothing before the start')

    # There is nothing to start it with: it begins.
    left = place.fresh().write(
        'tracer.ini', '[flags]\nstopped = 1\n[output]\ncontrol = 0\n').run(
        results, 'stopped, no control file')
    results.check(left.stores and left.stores[-1].number_of_slots > CALLS and
                  len(left.log) == 1 and 'TRACER_STOPPED' in left.log[0] and
                  'begins at once' in left.log[0], 'stopped, no control file',
                  left.log)


def check_children(results, scratch):
    """A child that does not find the ini file, which is in its parent's current
    directory, traces into the same directory."""
    exe = programs.build(os.path.join(scratch, 'many'),
                         [os.path.join(programs.PROGRAMS, 'Processes.c')],
                         programs.PENTER_FLAGS, 'Processes.exe',
                         [programs.LIBRARY])
    folder = os.path.join(scratch, 'family')
    for name in ('one', 'two', 'one/deep', 'two/deep', 'deep'):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    with open(os.path.join(folder, 'tracer.ini'), 'w') as file:
        file.write('[output]\ndirectory = traces\n')
    code, _ = support.run(
        exe, '0', '3', '0', cwd=folder, leaves=[folder],
        PROCESSES_FILE=programs.windows_path(os.path.join(folder, 'said')))
    left = Left(folder)
    with open(os.path.join(folder, 'said')) as file:
        said = {int(line.split()[0]) for line in file}
    results.equal((code, left.where, {store.ProcessId
                                      for store in left.stores}),
                  (0, ['traces'], said), 'children')
    results.equal(len(said), 5, 'children: all of them')


def main():
    results = programs.Results()
    wanted = sys.argv[1:]
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        place = Place(scratch, program)
        for check in (check_keys, check_min_duration, check_order,
                      check_trust, check_encodings, check_paths, check_bad, check_size,
                      check_cap, check_rest, check_stopped):
            if not wanted or check.__name__[6:] in wanted:
                check(results, place)
        for check in (check_dll, check_children):
            if not wanted or check.__name__[6:] in wanted:
                check(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

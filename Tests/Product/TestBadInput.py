#!/usr/bin/env python3
"""Hostile surroundings: directories, variables and files.

The traced program must never notice: same output, same exit code.  What does
not work is reported once, with the step, the object and the status.
TraceReader must answer any input with a result or a clear error, never with a
crash.
"""
# Takes long.

import contextlib
import csv
import glob
import io
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

# What the program of most of these tests does: two threads, 200 iterations.
WORK = ('run', '2', '200', '0')
COMMANDS = ('info', 'report', 'tree', 'replay', 'verify')

# Names in several writing systems reach the program through the environment.
os.environ['LC_ALL'] = 'C.UTF-8'


@support.watch.unless_wine_failed
def run(program, *arguments, directory=None, **variables):
    """Runs a program with what it reports to the debugger.

    Returns (exit code, standard output, what it reported).  Wine shows the
    beginning of each report, with two backslashes for each.
    """
    variables.setdefault('WINEDEBUG', 'warn+seh')
    code, output = support.finish(support.start(
        program, *arguments, directory=directory, cwd=os.path.dirname(program),
        **variables))
    reports = [line for line in getattr(code, 'errors', '').splitlines()
               if 'OutputDebugString' in line and 'Tracer: ' in line]
    return code, output, reports


def mentions(reports, *words):
    text = '\n'.join(reports).replace('\\\\', '\\')
    return all(word in text for word in words)


@contextlib.contextmanager
def mounted(path, options):
    """A small file system in memory, or None where one may not mount."""
    os.makedirs(path)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs',
                           path], stderr=subprocess.DEVNULL)
    try:
        yield path if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(['umount', '-l', path], check=True)


def delete_logs(program):
    """The logs of sessions without a directory; returns what they hold."""
    prefix = (os.environ.get('TRACER_WINE_PREFIX') or
              os.path.join(programs.ROOT, 'x64', 'Wine'))
    text = ''
    for pattern in ('users/*/Temp', 'users/*/AppData/Local/Temp'):
        for path in glob.glob(os.path.join(
                prefix, 'drive_c', pattern,
                'Tracer-%s-*.log' % os.path.basename(program))):
            with open(path, encoding='utf-8') as file:
                text += file.read()
            os.remove(path)
    return text


def check_directories(results, program, expected, scratch):
    """Where sessions can and cannot go."""
    plain = os.path.join(scratch, 'a file')
    with open(plain, 'w') as file:
        file.write('not a directory')
    long = os.path.join(scratch, *['d' * 200] * 6)
    good = [
        ('a path longer than MAX_PATH', long),
        ('umlauts', os.path.join(scratch, 'Größenwahn übel')),
        ('CJK', os.path.join(scratch, '追踪器', 'トレース')),
        ('emoji', os.path.join(scratch, '\U0001F600\U0001F680 x')),
        ('blanks and signs', os.path.join(scratch, "a b's (1) %TEMP% & =;,")),
        ('many levels that are missing', os.path.join(scratch, *'abcdefgh')),
    ]
    for what, directory in good:
        code, text, reports = run(program, *WORK, directory=directory)
        results.equal((code, text), (0, expected), '%s: the program' % what)
        results.equal(reports, [], '%s: reports' % what)
        found = support.sessions(directory)
        if not results.check(len(found) == 1, '%s: sessions %s' %
                             (what, found)):
            continue
        paths = support.stores(found[0])
        results.check(len(paths) == 3 and all(
            trace_reader.Store(path).State == support.STATE_CLOSED
            for path in paths), '%s: stores %s' % (what, paths))
        if support.has_reader():
            code, rows, text = support.verify(found[0])
            results.check(code == 0 and len(rows) == 3,
                          '%s: TraceReader verify: exit code %s' %
                          (what, code), [text])

    bad = [
        ('a path below a file', os.path.join(plain, 'below')),
        ('a file', plain),
        ('/proc', '/proc/tracer'),
    ]
    with mounted(os.path.join(scratch, 'read-only'), 'ro') as fixed:
        if fixed:
            bad.append(('a directory that cannot be written',
                        os.path.join(fixed, 'traces')))
        else:
            results.skip('a read-only file system cannot be mounted')
        delete_logs(program)
        for what, directory in bad:
            code, text, reports = run(program, *WORK, directory=directory)
            results.equal((code, text), (0, expected),
                          '%s: the program' % what)
            results.check(mentions(reports, 'creating the session directory'),
                          '%s: reported' % what, reports)

            # Each thread reports once, not each call; and their events are
            # counted at the end.
            results.check(2 <= len(reports) <= 4, '%s: %d reports' %
                          (what, len(reports)))
            log = delete_logs(program)
            results.check(mentions([log], 'creating the session directory',
                                   programs.windows_path(directory),
                                   '0xC0000'),
                          '%s: the log in the temporary directory' % what,
                          [log])
    results.equal(os.path.getsize(plain), 15, 'the file is as it was')


def check_variables(results, program, expected, scratch):
    """Values that make no sense: reported, and the default is used."""
    garbage = [
        ('TRACER_ENABLED', 'maybe'), ('TRACER_ENABLED', '2'),
        ('TRACER_ENABLED', '-1'), ('TRACER_ENABLED', '1x'),
        ('TRACER_ENABLED', '99999999999999999999'),
        ('TRACER_VIEW_SIZE', 'banana'), ('TRACER_VIEW_SIZE', '1'),
        ('TRACER_VIEW_SIZE', '0'), ('TRACER_VIEW_SIZE', '65537'),
        ('TRACER_VIEW_SIZE', '-65536'), ('TRACER_VIEW_SIZE', '4G'),
        ('TRACER_VIEW_SIZE', '18446744073709551616'),
        ('TRACER_VIEW_SIZE', '64KK'), ('TRACER_VIEW_SIZE', '\U0001F600'),
        ('TRACER_MODULES', 'a|b'), ('TRACER_MODULES', '-'),
        ('TRACER_MODULES', 'C:\\x'), ('TRACER_MODULES', '*'),
        ('TRACER_MODULES', 'ok;?'),
        ('TRACER_MODULES', 'x' * 30000),
        ('TRACER_CLOCK', 'rdtsc'), ('TRACER_CLOCK', '0'),
        ('TRACER_MODE', 'ring '), ('TRACER_MODE', '\u0280ing'),
        ('TRACER_MAX_BYTES', '1048575'), ('TRACER_MAX_BYTES', '-1'),
        ('TRACER_MAX_BYTES', '9223372036854775808'),
        ('TRACER_MIN_DURATION', '1 us'), ('TRACER_MIN_DURATION', '-5'),
        ('TRACER_MIN_DURATION', '5m'), ('TRACER_MIN_DURATION', '1h'),
        ('TRACER_MIN_DURATION', '3600000000001'),
        ('TRACER_MIN_DURATION', '18446744073709551615s'),
        ('TRACER_MAX_DEPTH', '0'), ('TRACER_MAX_DEPTH', '16001'),
        ('TRACER_MAX_DEPTH', '3.5'),
        ('TRACER_FLUSH', 'yes'), ('TRACER_FLUSH', '2'),
    ]
    silent = [
        ('TRACER_ENABLED', ''), ('TRACER_VIEW_SIZE', ''),
        ('TRACER_MODULES', ''), ('TRACER_MODULES', ';;;'),
        ('TRACER_MODULES', ' ; busy ; '), ('TRACER_MODULES', '-xyz'),
        ('TRACER_MODULES', ';'.join('-x%d' % n for n in range(3000))),
        ('TRACER_UNKNOWN', 'whatever'),
        ('TRACER_CLOCK', ''), ('TRACER_CLOCK', 'ThReAd'),
        ('TRACER_CLOCK', 'NONE'), ('TRACER_MODE', ''),
        ('TRACER_MODE', 'Ring'), ('TRACER_MAX_BYTES', ''),
        ('TRACER_MAX_BYTES', '9223372036854775807'),
        ('TRACER_MIN_DURATION', ''), ('TRACER_MIN_DURATION', '0s'),
        ('TRACER_MIN_DURATION', '3600s'), ('TRACER_MIN_DURATION', '0x10ns'),
        ('TRACER_MAX_DEPTH', ''), ('TRACER_MAX_DEPTH', '16000'),
        ('TRACER_FLUSH', ''), ('TRACER_FLUSH', '1'),
    ]
    for number, (name, value) in enumerate(garbage + silent):
        directory = os.path.join(scratch, 'variable%d' % number)
        code, text, reports = run(program, *WORK, directory=directory,
                                  **{name: value})
        what = '%s=%s' % (name, value[:20])
        results.equal((code, text), (0, expected), '%s: the program' % what)
        found = support.stores(directory)
        if len(value) < 30000:
            results.equal(len(found), 3, '%s: stores' % what)
        logs = glob.glob(os.path.join(directory, '*', 'Busy.exe.log'))
        if (name, value) in silent:
            results.equal((reports, logs), ([], []), '%s: reports' % what)
        elif len(value) < 30000:
            results.check(mentions(reports, 'reading ' + name) and
                          len(reports) == 1, '%s: reports' % what, reports)
            log = ''
            for path in logs:
                with open(path, encoding='utf-8') as file:
                    log += file.read()
            results.check('reading ' + name in log and '0xC0000' in log and
                          'the default is used' in log and
                          (value in log or name == 'TRACER_MODULES') and
                          log.count('\n') == 1, '%s: the log' % what, [log])

    # Anything at all, in all of them at once; nothing can be said but that the
    # program goes on.
    chance = random.Random(4)
    signs = ('abcXYZ0159-+.;:,*?<>|"\'/\\ %$&()[]{}~^`!@#=\t\x01\x7f'
             'äß漢\U0001F600\u202e\ufeff')
    for number in range(12):
        values = {name: ''.join(chance.choice(signs) for _ in
                                range(chance.choice((1, 5, 40, 400, 3000))))
                  for name in ('TRACER_ENABLED', 'TRACER_VIEW_SIZE',
                               'TRACER_MODULES', 'TRACER_DIRECTORY',
                               'TRACER_CLOCK', 'TRACER_MODE',
                               'TRACER_MAX_BYTES', 'TRACER_MIN_DURATION',
                               'TRACER_MAX_DEPTH', 'TRACER_FLUSH')}
        values['TRACER_DIRECTORY'] = (
            programs.windows_path(os.path.join(scratch, 'random')) + '\\' +
            values['TRACER_DIRECTORY'].replace('..', '.'))
        code, text, _ = run(program, *WORK,
                            TRACER_BASE_DIRECTORY=programs.windows_path(scratch),
                            **values)
        results.check((code, text) == (0, expected),
                      'random values %d: the program: %s' % (number, code),
                      [text, values])
    delete_logs(program)


def check_modules(results, scratch):
    """A program and a DLL: one session, two modules, each by choice."""
    source = os.path.join(programs.PROGRAMS, 'TwoModules.c')
    folder = os.path.join(scratch, 'modules')
    program = programs.build(folder, [source], programs.PENTER_FLAGS,
                             'TwoModules.exe', [programs.LIBRARY])
    programs.build(os.path.join(folder, 'dll'), [source],
                   ['-DPLUGIN', *programs.PENTER_FLAGS], 'Plugin.dll',
                   [programs.LIBRARY, '-shared'])
    plugin = programs.windows_path(os.path.join(folder, 'dll', 'Plugin.dll'))
    exe, dll = 'TwoModules.exe', 'Plugin.dll'
    cases = [
        (None, {exe: 2, dll: 2}), ('', {exe: 2, dll: 2}),
        ('twomod', {exe: 2}), ('PLUGIN.DLL', {dll: 2}),
        ('-plugin', {exe: 2}), ('-TwoModules.exe', {dll: 2}),
        ('plug;-plugin', {}), ('two;plug', {exe: 2, dll: 2}),
        ('somethingelse', {}), ('-', {exe: 2, dll: 2}),
    ]
    outputs = set()
    for number, (value, expected) in enumerate(cases):
        directory = os.path.join(folder, 'traces%d' % number)
        variables = {} if value is None else {'TRACER_MODULES': value}
        code, text, _ = run(program, plugin, directory=directory, **variables)
        outputs.add((code, text))
        what = 'TRACER_MODULES=%s' % value
        results.check(len(support.sessions(directory)) == (1 if expected
                                                          else 0),
                      '%s: sessions' % what, support.sessions(directory))
        seen = {}
        for path in support.stores(directory):
            store = trace_reader.Store(path)
            name = store.ModulePath.split('\\')[-1]
            seen[name] = seen.get(name, 0) + 1
            results.check(os.path.basename(path).startswith(name + '-') and
                          support.read_all(store) > 1000 and not store.bad and
                          store.State == support.STATE_CLOSED,
                          '%s: %s' % (what, path))
        results.equal(seen, expected, '%s: stores of each module' % what)
    results.check(len(outputs) == 1 and min(outputs)[0] == 0,
                  'two modules: the program')

    # The DLL is unloaded at any moment of the life of its worker thread, which
    # has only just begun, or not yet; nothing may wait for it for ever.
    for number in range(100):
        directory = os.path.join(folder, 'again')
        code, text, _ = run(program, plugin, directory=directory)
        if not results.check((code, text) in outputs,
                             'unloading, run %d: exit code %s' %
                             (number, code), [text]):
            break
        shutil.rmtree(directory)

    # Both modules in one report, with the right number of calls.
    if support.has_reader():
        session = support.sessions(os.path.join(folder, 'traces0'))[0]
        calls = {name: row['calls'] for name, row in
                 programs.read_report(session).items()}
        results.equal([calls.get(name) for name in
                       ('ProgramStep', 'PluginWork', 'PluginStep')],
                      [2000, 2000, 4000], 'two modules: calls')


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)


def make_store(program, scratch):
    """The bytes of one good store of a few thousand records."""
    directory = os.path.join(scratch, 'good')
    run(program, *WORK, directory=directory, TRACER_MODE='file')
    path = max(support.stores(directory), key=os.path.getsize)
    with open(path, 'rb') as file:
        return path, file.read()


def crashed(code):
    """Wine's exit code of a program that died of an exception, and others."""
    return code is None or code not in (0, 1, 2)


def check_truncated(results, good, scratch):
    """A store that ends at every byte of its header, and anywhere behind."""
    chance = random.Random(6)
    lengths = list(range(4097))
    lengths += sorted(chance.randrange(4097, len(good)) for _ in range(127))
    per_directory = 256
    for start in range(0, len(lengths), per_directory):
        directory = os.path.join(scratch, 'cut')
        os.makedirs(directory)
        chosen = lengths[start:start + per_directory]
        for length in chosen:
            write(os.path.join(directory, '%05d.trace' % length),
                  good[:length])
        code, rows, text = support.verify(directory)
        results.equal(code, 2, 'cut at %d to %d: exit code' %
                      (chosen[0], chosen[-1]))
        results.equal(len(rows), len(chosen), 'cut: every store is listed')
        wrong = []
        for length in chosen:
            row = rows.get('%05d.trace' % length)
            name = os.path.join(directory, '%05d.trace' % length)
            if row is None:
                wrong.append('%d: not listed' % length)
            elif length == 0:
                if row['state'] != 'new' or row['bad'] != '0':
                    wrong.append('%d: %s' % (length, row))
            elif length < 8 and row['state'] == 'new':
                continue
            elif length < 4096:
                if row['bad'] == '0' or 'inside' not in row['result']:
                    wrong.append('%d: %s' % (length, row))
            else:
                records = support.read_all(trace_reader.Store(name))
                if (row['bad'] == '0' or int(row['records']) != records or
                        records != (length - 4096) // 16):
                    wrong.append('%d: %s' % (length, row))
        results.check(not wrong, 'cut at %d to %d' % (chosen[0], chosen[-1]),
                      wrong)
        if start == 0 or start + per_directory > len(lengths):
            for command in COMMANDS:
                code, text, errors = support.reader(
                    command, programs.windows_path(directory))
                results.check(not crashed(code), 'cut: %s: exit code %s' %
                              (command, code), [text[-500:], errors[-500:]])
        shutil.rmtree(directory)


def check_mutated(results, good, scratch):
    """Headers and records with random changes: no crash, no hang."""
    chance = random.Random(7)
    sizes = (1, 2, 4, 8)
    values = (0, 1, 0x7f, 0x80, 0xff)
    for number in range(5):
        directory = os.path.join(scratch, 'mutated')
        os.makedirs(directory)
        for index in range(150):
            data = bytearray(good)
            for _ in range(chance.choice((1, 1, 1, 2, 5, 40))):
                size = chance.choice(sizes)
                area = chance.choice((0x80, 0x200, 0x200, 4096, len(data)))
                place = chance.randrange(8, area) // size * size
                value = bytes([chance.choice(values)]) * size
                if chance.random() < 0.5:
                    value = chance.randbytes(size)
                data[place:place + size] = value
            write(os.path.join(directory, '%03d.trace' % index), data)
        for command in COMMANDS:
            options = ['--limit', '200'] if command == 'replay' else []
            code, text, errors = support.reader(
                command, *options, programs.windows_path(directory))
            results.check(not crashed(code), 'mutated %d: %s: exit code %s' %
                          (number, command, code),
                          [text[-500:], errors[-500:]])
        shutil.rmtree(directory)


def check_reader_errors(results, path, good, scratch):
    """One thing that is wrong, for each command."""
    folder = os.path.join(scratch, 'wrong')
    os.makedirs(os.path.join(folder, 'empty'))
    os.makedirs(os.path.join(folder, 'other', 'below.trace'))
    write(os.path.join(folder, 'other', 'readme.txt'), b'nothing to see')
    chance = random.Random(8)
    files = {
        'nothing.trace': b'',
        'random.trace': chance.randbytes(10000),
        'text.trace': b'This is not a trace store.\n' * 400,
        'short.trace': good[:100],
        'half.trace': good[:2048],
        'major.trace': good[:8] + b'\2\0' + good[10:],
        'major255.trace': good[:8] + b'\xff\xff' + good[10:],
        'zero.trace': bytes(8192),
        'size.trace': good[:12] + b'\0\0\0\0' + good[16:],
    }
    for name, data in files.items():
        write(os.path.join(folder, name), data)
    cases = [(name, ['0xC', 'header: ', 'being created']) for name in files]
    cases += [
        ('missing.trace', ['0xC0000034']), ('missing', ['0xC0000034']),
        ('missing/below', ['0xC000003A']), ('empty', ['0xC']),
        ('other', ['0xC']), ('text.trace/below', ['0xC']),
        ('other/below.trace', ['0xC']),
    ]
    for name, statuses in cases:
        full = programs.windows_path(os.path.join(folder, name))
        for command in COMMANDS + ('live',):
            options = []
            if command == 'live':
                options = ['--count', '1', '--interval', '50']
            code, text, errors = support.reader(command, *options, full)
            said = text + errors if command == 'verify' else errors
            new = name in ('nothing.trace', 'zero.trace')
            expected = (1, 2) if command == 'verify' else (1,)
            if new and command in ('verify', 'live', 'info'):
                expected = (0, 1, 2)
            results.check(code in expected,
                          '%s %s: exit code %s' % (command, name, code),
                          [text, errors])
            results.check(os.path.basename(name) in said and
                          any(status in said for status in statuses),
                          '%s %s: names what is wrong' % (command, name),
                          [text, errors])

    # A newer minor version is read like this one.
    minor = os.path.join(folder, 'minor')
    os.makedirs(minor)
    write(os.path.join(minor, 'x.trace'), good[:10] + b'\7\0' + good[12:])
    same = os.path.join(folder, 'same')
    os.makedirs(same)
    write(os.path.join(same, 'x.trace'), good)
    for command in COMMANDS:
        code, text, errors = support.reader(command,
                                            programs.windows_path(minor))
        results.check((code, errors) == (0, '') and text,
                      'a newer minor version: %s: exit code %s' %
                      (command, code), [text, errors])
    results.equal(support.verify(minor), support.verify(same),
                  'a newer minor version: verify')
    code, _, _ = support.reader('verify', programs.windows_path(path))
    results.equal(code, 0, 'control: the store that the others are made of')

    # Commands and options.
    for arguments in ((), ('nonsense',), ('report',), ('report', '--nonsense'),
                      ('report', '--sort'), ('report', '--limit', 'many', '.'),
                      ('report', '--csv', '--json', minor),
                      ('report', 'one', 'two'), ('', ''), ('--',)):
        code, text, errors = support.reader(*arguments)
        if arguments[-2:-1] == ('--json',):
            results.check(not crashed(code), 'arguments %r' % (arguments,))
        else:
            results.check(code == 1 and 'TraceReader' in errors + text,
                          'arguments %r: exit code %s' % (arguments, code),
                          [text, errors])


def build_with_pdb(folder):
    """Builds Tests/Programs/Symbols.c as a program of MSVC's kind."""
    os.makedirs(folder)
    library = '/usr/x86_64-w64-mingw32/lib/lib%s.a'
    subprocess.run(
        [programs.CLANG, '--driver-mode=cl',
         '--target=x86_64-pc-windows-msvc', '/nologo', '/c', '/Z7', '/Od',
         '/clang:-finstrument-functions', '/FoSymbols.obj', '--',
         os.path.join(programs.PROGRAMS, 'Symbols.c')],
        check=True, cwd=folder)
    subprocess.run(
        ['lld-link-19', '/nologo', '/debug', '/nodefaultlib',
         '/entry:mainCRTStartup', '/subsystem:console', '/pdbaltpath:%_PDB%',
         '/out:Symbols.exe', 'Symbols.obj', programs.LIBRARY,
         library % 'ntdll', library % 'kernel32'], check=True, cwd=folder)
    return (os.path.join(folder, 'Symbols.exe'),
            os.path.join(folder, 'Symbols.pdb'))


SYMBOLS_CALLS = {'mainCRTStartup': 1, 'Recursive': 21, 'Middle': 20,
                 'Leaf': 210}


def read_names(session):
    """TraceReader report: (exit code, {function: calls}, errors)."""
    code, text, errors = support.reader('report', '--csv', '--no-cache',
                                        programs.windows_path(session))
    rows = csv.DictReader(io.StringIO(text))
    calls = {row['function']: int(row['calls']) for row in rows
             if (row.get('calls') or '').isdigit()}
    return code, calls, errors


def change(data, chance, first):
    """Some changes of 1 to 4 bytes anywhere behind the first ones."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 10, 50))):
        size = chance.choice((1, 2, 4))
        place = chance.randrange(first, len(data) - size)
        data[place:place + size] = chance.choice(
            (bytes(size), b'\xff' * size, chance.randbytes(size)))
    return bytes(data)


def find_procedure_type(pdb, name):
    """Where a procedure's symbol (S_LPROC32) has the index of its type."""
    place = pdb.find(name + b'\0')
    while place >= 37:
        if struct.unpack_from('<H', pdb, place - 37)[0] == 0x110F:
            return place - 11
        place = pdb.find(name + b'\0', place + 1)
    return None


def pointers_to_themselves(pdb):
    """The PDB with every pointer type (LF_POINTER) pointing to itself."""
    pdb = bytearray(pdb)
    size, _, _, length, _, place = struct.unpack_from('<6I', pdb, 32)
    blocks = struct.unpack_from('<%dI' % -(-length // size), pdb, place * size)
    directory = b''.join(pdb[block * size:(block + 1) * size]
                         for block in blocks)
    number, = struct.unpack_from('<I', directory, 0)
    sizes = struct.unpack_from('<%dI' % number, directory, 4)
    first = 1 + number + sum(-(-sizes[index] // size) for index in (0, 1))
    count = -(-sizes[2] // size)
    blocks = struct.unpack_from('<%dI' % count, directory, 4 * first)

    def at(offset):
        return blocks[offset // size] * size + offset % size

    # Stream 2: its header, then the types, each a length, a kind and more.
    offset, index = struct.unpack_from('<2I', pdb, at(4))
    changed = 0
    while offset + 4 <= sizes[2]:
        length, kind = struct.unpack_from('<2H', pdb, at(offset))
        if kind == 0x1002 and at(offset) % size + 8 <= size:
            struct.pack_into('<I', pdb, at(offset) + 4, index)
            changed += 1
        offset += length + 2
        index += 1
    return bytes(pdb), changed


def streams(pdb):
    """The streams of a PDB: the places of the bytes of each, by block."""
    size, _, _, length, _, place = struct.unpack_from('<6I', pdb, 32)
    blocks = struct.unpack_from('<%dI' % -(-length // size), pdb, place * size)
    directory = b''.join(pdb[block * size:(block + 1) * size]
                         for block in blocks)
    number, = struct.unpack_from('<I', directory, 0)
    offset, found = 4 + 4 * number, []
    for index in range(number):
        length, = struct.unpack_from('<I', directory, 4 + 4 * index)
        count = -(-length // size)
        blocks = struct.unpack_from('<%dI' % count, directory, offset)
        offset += 4 * count
        found.append([(block * size, min(size, length - size * each))
                      for each, block in enumerate(blocks)])
    return found


def with_holes(pdb):
    """(name, PDB, whether it can be told) with zeroes where DbgHelp expects
    records with a length: in types, and in each large module's symbols and
    lines.  The last block may have line numbers alone: zeroes are some, too.
    """
    found = streams(pdb)
    head = b''.join(pdb[place:place + size] for place, size in found[3])
    offset, end = 64, 64 + struct.unpack_from('<I', head, 24)[0]
    wanted = {2: 'types', 4: 'identifiers'}
    while offset < end:
        stream, = struct.unpack_from('<H', head, offset + 34)
        if stream != 0xffff and len(found[stream]) > 2:
            wanted[stream] = 'module in stream %d' % stream
        offset += 64
        for _ in range(2):
            offset = head.index(b'\0', offset) + 1
        offset = (offset + 3) & ~3
    for stream, name in wanted.items():
        last = len(found[stream]) - 1
        for each in sorted({1, last}):
            place, size = found[stream][each]
            yield ('%s, block %d' % (name, each),
                   pdb[:place] + bytes(size) + pdb[place + size:],
                   each != last)


ADDRESS_SPACE = 4 << 30         # bytes
MEMORY = 512 << 10              # KiB


@support.watch.unless_wine_failed
def read_bounded(session):
    """TraceReader report with an address space that has an end: (exit code,
    calls, errors, KiB of memory at most)."""
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        pid = os.posix_spawn(
            '/bin/sh', ['sh', '-c', 'ulimit -v %d; exec "$@"' %
                        (ADDRESS_SPACE >> 10), 'sh', programs.WINE,
                        programs.READER, 'report', '--csv', '--no-cache',
                        programs.windows_path(session)],
            support.environment(), file_actions=[
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        output.seek(0)
        errors.seek(0)
        rows = csv.DictReader(io.StringIO(support.decode(output.read())))
        told = support.decode(errors.read())
        code = support.watch.ExitCode(os.waitstatus_to_exitcode(status), told)
        return (code, {row['function']: int(row['calls']) for row in rows},
                told, usage.ru_maxrss)


def check_holes(results, session, pdb, good):
    """Wine's DbgHelp goes round for ever on records without a length, and
    takes all memory: it is not given such a PDB."""
    code, calls, errors, memory = read_bounded(session)
    results.check(code == 0 and calls == SYMBOLS_CALLS and not errors and
                  memory < MEMORY, 'holes: control: a whole PDB',
                  [code, calls, errors, memory])
    holes = list(with_holes(good))
    for what, data, is_told in holes:
        write(pdb, data)
        code, calls, errors, memory = read_bounded(session)
        results.check(code == 0 and sum(calls.values()) == 252 and
                      ('PDB is damaged: ' in errors or not is_told) and
                      memory < MEMORY,
                      'PDB with a hole: ' + what,
                      [code, calls, errors, memory])
    results.check(len(holes) > 20, 'holes: %d' % len(holes))
    write(pdb, good)


def check_symbols(results, scratch):
    """An image and a PDB that are damaged, next to a session that is good.

    The reader does without what it cannot use; no damage may end it.
    """
    folder = os.path.join(scratch, 'symbols')
    image, pdb = build_with_pdb(folder)
    directory = os.path.join(folder, 'traces')
    code, _, _ = run(image, directory=directory)
    found = support.sessions(directory)
    if not results.check(code == 0 and len(found) == 1,
                         'symbols: the program: %s' % code, found):
        return
    session = found[0]
    results.equal(read_names(session), (0, SYMBOLS_CALLS, ''),
                  'symbols: control: whole image and PDB')
    with open(image, 'rb') as file:
        good_image = file.read()
    with open(pdb, 'rb') as file:
        good_pdb = file.read()

    check_holes(results, session, pdb, good_pdb)

    def outcome(what, code, calls):
        results.check(code == 0 and sum(calls.values()) == 252,
                      'symbols: %s: exit code %s' % (what, code), [calls])
        return sorted(calls.values()) == sorted(SYMBOLS_CALLS.values()) and \
            set(calls) == set(SYMBOLS_CALLS)

    # The PDB: cut, with blocks of zeroes, with changes.
    chance = random.Random(9)
    block = 4096
    variants = [('PDB cut at %d' % size, good_pdb[:size]) for size in
                [0, 1, 31, 32, 55, 56, 511, block, 2 * block] +
                [len(good_pdb) * part // 8 for part in range(1, 8)] +
                [len(good_pdb) - 1]]
    for place in range(0, len(good_pdb), block * 3):
        variants.append(('PDB with zeroes at %d' % place,
                         good_pdb[:place] + bytes(block) +
                         good_pdb[place + block:]))
    for number in range(40):
        variants.append(('PDB with changes %d' % number,
                         change(good_pdb, chance, 56)))
    named = 0
    for what, data in variants:
        write(pdb, data)
        code, calls, _ = read_names(session)
        named += outcome(what, code, calls)
    results.check(0 < named < len(variants),
                  'symbols: %d of %d damaged PDBs still give all names' %
                  (named, len(variants)))

    # A procedure whose type is none of a procedure: DbgHelp may trust it
    # (Wine's has an assertion, and would end the program).
    place = find_procedure_type(good_pdb, b'Recursive')
    if results.check(place is not None, 'symbols: the procedure in the PDB'):
        write(pdb, good_pdb[:place] + struct.pack('<I', 0x74) +
              good_pdb[place + 4:])
        code, calls, errors = read_names(session)
        outcome('PDB with a wrong type', code, calls)
        if 'Recursive' not in calls:
            results.check('0xC0000420' in errors,
                          'symbols: the failed assertion is reported',
                          [errors])

    # Types that contain themselves make Wine's DbgHelp fill the stack.
    data, changed = pointers_to_themselves(good_pdb)
    if results.check(changed, 'symbols: the pointer types in the PDB'):
        write(pdb, data)
        code, calls, errors = read_names(session)
        outcome('PDB with pointers to themselves', code, calls)
        if 'Recursive' not in calls:
            results.check('0xC00000FD' in errors,
                          'symbols: the full stack is reported', [errors])
    write(pdb, good_pdb)

    # The image: cut, with changes, most of them in its headers.
    variants = [('image cut at %d' % size, good_image[:size]) for size in
                [0, 1, 2, 63, 64, 255, 511, 512, 1024, 4096,
                 len(good_image) // 2, len(good_image) - 1]]
    for number in range(40):
        first = 0 if number % 4 else 1024
        area = good_image[:1024] if number % 4 else good_image
        variants.append(('image with changes %d' % number,
                         change(area, chance, first) +
                         good_image[len(area):]))
    named = 0
    for what, data in variants:
        write(image, data)
        code, calls, _ = read_names(session)
        named += outcome(what, code, calls)
    results.check(0 < named < len(variants),
                  'symbols: %d of %d damaged images still give all names' %
                  (named, len(variants)))
    write(image, good_image)
    results.equal(read_names(session), (0, SYMBOLS_CALLS, ''),
                  'symbols: control: all is whole again')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        code, expected, _ = run(program, *WORK, TRACER_ENABLED='0',
                                directory=os.path.join(scratch, 'off'))
        results.check(code == 0 and expected.count('\n') == 2 and
                      not support.sessions(os.path.join(scratch, 'off')),
                      'the program alone')
        check_directories(results, program, expected, scratch)
        check_variables(results, program, expected, scratch)
        check_modules(results, scratch)
        if support.has_reader():
            path, good = make_store(program, scratch)
            check_truncated(results, good, scratch)
            check_mutated(results, good, scratch)
            check_reader_errors(results, path, good, scratch)
            check_symbols(results, scratch)
        else:
            results.skip('there is no TraceReader.exe')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

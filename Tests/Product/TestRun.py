#!/usr/bin/env python3
"""TraceReader run, and sessions that are found without a path.

What run refuses is held against what the library reports of the same value, in
a run without TraceReader (in the long form); what a program gets from it and
gives back, against the program alone.
"""

import contextlib
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

# Writes its arguments and its input, and calls Leaf as often as is given.
SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>

int Leaf(int Value)
{
    return Value * 3;
}

int Middle(int Count)
{
    int Sum = 0;
    for (int Index = 0; Index < Count; Index++) {
        Sum += Leaf(Index);
    }
    return Sum;
}

int main(int Count, char **Arguments)
{
    int Index, Character;
    for (Index = 1; Index < Count; Index++) {
        printf("[%s]\n", Arguments[Index]);
    }
    while ((Character = getchar()) != EOF) {
        putchar(Character);
    }
    fprintf(stderr, "errors\n");
    if (Count > 1 && Arguments[1][0] == '!') {
        Leaf(*(volatile int *)strtoull(Arguments[1] + 1, NULL, 0));
    }
    printf("%d\n", Middle(Count > 1 ? atoi(Arguments[1]) : 0));
    return Count > 2 ? (int)strtoul(Arguments[2], NULL, 0) : 0;
}
'''

SESSION = re.compile(r'^TraceReader: run: the session is (\S.*)$', re.M)

# (variable, values that the library takes, values that it reports)
VALUES = [
    ('TRACER_MODE', ['file', 'RING', 'Tree'], ['ring ', 'rign', '0']),
    ('TRACER_MODULES', ['echo', 'ECHO.EXE', '-xyz', ' ; echo ; ', ';;;'],
     ['a|b', '-', 'C:\\x', '*', 'ok;?', 'echo;-']),
    ('TRACER_EXECUTABLES', ['echo', '-other'], ['a|b']),
    ('TRACER_MAX_BYTES', ['1M', '0x100000', '9223372036854775807'],
     ['1048575', '-1', '9223372036854775808', '1T']),
    # What no disk has too little of: otherwise recording stops, with a report.
    ('TRACER_MIN_FREE', ['0', '0%', '1', '0x10', '1k'],
     ['100%', '%', '5 %', '5K%', '-1', '2T', '1.5G', '9223372036854775808']),
    ('TRACER_VIEW_SIZE', ['64K', '1g', '65536'],
     ['65537', '32K', '2G', '96K', 'banana']),
    ('TRACER_CLOCK', ['ThReAd', 'none'], ['rdtsc', '0']),
    ('TRACER_MIN_DURATION', ['500', '10us', '1ms', '0x10ns', '3600s', '0s'],
     ['1 us', '5m', '1.5ms', '3601s', '3600000000001', '5k', 'us', '-5']),
    ('TRACER_MAX_DEPTH', ['1', '16000'], ['0', '16001', '3.5']),
    ('TRACER_FLUSH', ['0', '1'], ['yes', '2']),
    ('TRACER_STOPPED', ['0'], ['2']),
    ('TRACER_CONTROL', ['0', '64K', '256M'], ['1', '63K', '257M']),
]
# Of these options run knows one value.
GIVEN = ('TRACER_FLUSH', 'TRACER_STOPPED')


@support.watch.unless_wine_failed
def execute(command, directory=None, given=b'', cwd=None, **variables):
    """(exit code, output, errors) of a program with an input."""
    with tempfile.TemporaryFile() as source, \
            tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        source.write(given)
        source.seek(0)
        done = support.watch.run([programs.WINE, *command], stdin=source,
                                 stdout=output, stderr=errors, cwd=cwd,
                                 env=support.environment(None, **variables))
        output.seek(0)
        errors.seek(0)
        told = support.decode(errors.read())
        return (support.watch.ExitCode(done.returncode, told),
                support.decode(output.read()), told)


def run(program, *arguments, options=(), directory=None, **more):
    """TraceReader run with a program."""
    if directory:
        more['TRACER_DIRECTORY'] = programs.windows_path(directory)
    return execute([programs.READER, 'run', *options, '--', program,
                    *arguments], directory=directory, **more)


def native(path):
    """The path under Linux of one that a program under Wine wrote."""
    if path.startswith('Z:'):
        return path[2:].replace('\\', '/')
    prefix = os.environ.get('TRACER_WINE_PREFIX') or \
        os.path.join(programs.ROOT, 'x64', 'Wine')
    return os.path.join(prefix, 'drive_c', path[3:].replace('\\', '/'))


def session_of(results, errors, what):
    found = SESSION.findall(errors)
    results.check(len(found) == 1 and os.path.isdir(native(found[0])),
                  what + ': the session is named', [errors])
    return found[0] if found else ''


def check_passed_through(results, scratch, program, plain):
    """What the program gets and gives is what it would without run."""
    text = 'a line\numlauts: äöü\n'.encode() + bytes(range(1, 26))
    for number, arguments in enumerate((
            ('10',), ('3', '5', 'a b', '', 'quo"te', 'back\\', 'end\\"'),
            ('0', '255', '--mode', 'tree', '--', '-o', '@1'),
            ('1', '1'), ('1', '0x1F4', 'Größe'))):
        what = 'arguments %d' % number
        alone = execute([plain, *arguments], given=text)
        traced = run(program, *arguments, given=text,
                     directory=os.path.join(scratch, 'passed%d' % number))
        results.equal(traced[:2], alone[:2], what + ': as without run')
        results.check('errors\n' in traced[2], what + ': its errors',
                      [traced[2]])
        session = session_of(results, traced[2], what)
        seen = programs.read_report(native(session))
        results.equal([seen.get(name, {}).get('calls', 0)
                       for name in ('main', 'Middle', 'Leaf')],
                      [1, 1, int(arguments[0])], what + ': calls')


def check_settings(results, scratch, program):
    """What run refuses is what the library reports."""
    marker = 'errors'
    number = 0
    for name, good, bad in VALUES:
        option = '--' + name[len('TRACER_'):].lower().replace('_', '-')
        for value in good + bad:
            what = '%s=%s' % (name, value)
            number += 1
            directory = os.path.join(scratch, 'value%d' % number)
            code, _, _ = execute(
                [program, '1'], TRACER_DIRECTORY=programs.windows_path(
                    directory), directory=directory, **{name: value})
            logs = list(find_logs(directory))
            results.equal((code, bool(logs)), (0, value in bad),
                          what + ': control: what the library reports')
            ways = [('the environment', (), {name: value})]
            if name not in GIVEN:
                ways.append(('an option', (option, value), {}))
            for way, options, variables in ways:
                code, _, errors = run(program, '1', options=options,
                                      directory=directory + way[-3:],
                                      **variables)
                refused = marker not in errors
                results.equal((refused, code), (value in bad,
                                                1 if value in bad else 0),
                              '%s: %s' % (what, way))
                if refused:
                    results.check(name in errors or option in errors,
                                  '%s: %s: what is wrong' % (what, way),
                                  [errors])
    for value in '"%s"', '%s\\a<b', '%s\\a|b', '%s\\*', '%s\\a?':
        where = value % programs.windows_path(os.path.join(scratch, 'path'))
        what = 'TRACER_DIRECTORY=' + value
        code, _, _ = execute([program, '1'], TRACER_DIRECTORY=where)
        results.check(code == 0 and not os.path.exists(
            os.path.join(scratch, 'path')), what + ': control: no session')
        for options, variables in ((('--directory', where), {}),
                                   ((), {'TRACER_DIRECTORY': where})):
            code, output, errors = execute(
                [programs.READER, 'run', *options, program, '1'], **variables)
            results.check(code == 1 and not output and
                          ('TRACER_DIRECTORY' in errors or
                           '--directory' in errors) and
                          ('set "TRACER_DIRECTORY=VALUE"' in errors) ==
                          (value[0] == '"' and not options),
                          what + ': refused', [code, output, errors])
    for value, noted in (('program,other', True), ('program other', True),
                         ('program, other;echo', False), ('echo', False),
                         (' echo ', False)):
        code, _, errors = run(program, '1', options=['--modules', value],
                              directory=os.path.join(scratch, 'lists'))
        results.equal((code, 'semicolons separate several' in errors),
                      (0, noted), '--modules %r: the note' % value)
    for option, name in (('--flush', 'flush'), ('--stopped', 'stopped')):
        directory = os.path.join(scratch, name)
        code, _, errors = run(program, '1', options=[option],
                              directory=directory)
        session = session_of(results, errors, option)
        code, rows, _ = support.reader('report', '--csv', session)
        results.equal(len(rows.split('\n')) > 2, option == '--flush',
                      option + ': what it does')


def find_logs(directory):
    for above, _, names in os.walk(directory):
        for name in names:
            if name.endswith('.log'):
                yield os.path.join(above, name)


def check_names(results, scratch, program, plain):
    """Names that are misspelt, and the nearest of those that there are."""
    directory = os.path.join(scratch, 'names')
    for name, nearest in (('TRACER_MODUELS', 'TRACER_MODULES'),
                          ('TRACER_DIRECTROY', 'TRACER_DIRECTORY'),
                          ('tracer_mod', 'TRACER_MODE'),
                          ('TRACER_MAXBYTES', 'TRACER_MAX_BYTES')):
        code, output, errors = run(program, '1', directory=directory,
                                   **{name: 'x'})
        results.check(code == 1 and not output and 'errors' not in errors and
                      'did you mean %s?' % nearest in errors,
                      name + ': refused', [code, output, errors])
    for name in 'TRACER_SOMETHING_ELSE', 'TRACER_HOME', 'TRACER_LOG':
        code, output, errors = run(program, '1', directory=directory,
                                   **{name: 'x'})
        results.check(code == 0 and output == '[1]\n0\n' and
                      'no setting ' + name in errors,
                      'another variable: named', [code, output, errors])
    for arguments, nearest in ((('reprot', ), 'report'),
                               (('tre', ), 'tree'), (('Report', ), 'report'),
                               (('report', '--limt', '3'), '--limit'),
                               (('report', '--per-centiles'), '--percentiles'),
                               (('run', '--mdoe', 'x', 'y'), '--mode')):
        code, output, errors = support.reader(*arguments)
        results.check(code == 1 and not output and
                      'did you mean %s?' % nearest in errors,
                      '%s: named' % (arguments, ), [errors])
    for arguments in (('xyzzy', ), ('report', '--xyzzy'), ('r', )):
        code, _, errors = support.reader(*arguments)
        results.check(code == 1 and 'unknown' in errors and
                      'did you mean' not in errors,
                      'control: %s: nothing is near' % (arguments, ), [errors])
    expected = support.reader('--help')
    for word in '/?', '-?', '-h', 'help':
        results.equal(support.reader(word), expected, word + ': help')
    with open(os.path.join(programs.ROOT, 'CHANGELOG.md'),
              encoding='utf-8') as file:
        version = re.search(r'^## (\S+?),? ', file.read(), re.M).group(1)
    results.check(support.reader('--version')[1].startswith(
        'TraceReader %s, for stores of format ' % version), '--version')
    code, _, errors = support.reader('run')
    results.check(code == 1 and 'a program is missing' in errors,
                  'run without a program', [errors])
    code, _, errors = run('nosuch.exe')
    results.check(code == 1 and 'start the program: nosuch.exe: no such file '
                  'or directory (0xC0000034, STATUS_OBJECT_NAME_NOT_FOUND)\n'
                  in errors, 'a program that is not there', [errors])
    code, _, errors = run(program, '1', directory=directory + '-out',
                          TRACER_MODULES='progam')
    results.check(code == 0 and 'TRACER_MODULES=progam may leave it out' in
                  errors, 'a module that is left out', [errors])
    for value, missing in (('echo;progam', ['progam']), (' ECHO ; xyz', ['xyz']),
                           ('echo.exe;-progam', []), ('e', []),
                           ('echo;progam;echoes', ['progam', 'echoes'])):
        code, _, errors = run(program, '1', directory=directory,
                              options=['--modules', value])
        results.equal(re.findall(r'nothing was recorded of a module (\S+)\.\.\.',
                                 errors), missing, '--modules ' + value)
    code, _, errors = run('cmd.exe', '/c', program, '1',
                          directory=directory + '-cmd')
    results.check(code == 0 and 'but 1 session of processes that started '
                  'later is there' in errors, 'a program that starts one', [errors])
    place = os.path.join(scratch, 'relative')
    os.makedirs(place)
    code, _, errors = run(program, '1', cwd=place,
                          options=['--directory', 'below'],
                          TRACER_BASE_DIRECTORY=programs.windows_path(scratch))
    results.check(session_of(results, errors, 'a relative directory').startswith(
        programs.windows_path(os.path.join(place, 'below'))),
                  'a relative directory: where it is', [errors])
    code, _, errors = run(plain, '1', '3', directory=directory)
    results.check(code == 3 and 'left no session' in errors and
                  '/Gh /GH' in errors and 'Null' not in errors,
                  'a program without hooks', [errors])
    null = build(scratch, 'null', programs.PENTER_FLAGS,
                 [os.path.join(programs.BIN, 'TracerPenterNull.lib')])
    for options in [], ['-s', '-Wl,--gc-sections']:
        image = os.path.join(os.path.dirname(null), 'null%d.exe' % len(options))
        subprocess.run([programs.GCC,
                        *glob.glob(os.path.join(os.path.dirname(null), '*.o')),
                        os.path.join(programs.BIN, 'TracerPenterNull.lib'),
                        '-static', *options, '-o', image], check=True)
        code, _, errors = run(image, '1', '3', directory=directory)
        results.check(code == 3 and 'left no session' in errors and
                      'TracerPenterNull.lib, whose hooks' in errors and
                      '/Gh /GH' not in errors,
                      'hooks that record nothing %s' % options, [errors])
    code, _, errors = run(programs.READER, '--version', directory=directory)
    results.check(code == 0 and 'left no session' in errors and
                  'Null' not in errors, 'control: the reader', [errors])
    code, _, errors = run(program, '1', directory=directory,
                          options=('--mode=tree', '--clock=none'))
    session = session_of(results, errors, 'a conflict')
    with open(next(find_logs(native(session))), encoding='utf-8') as file:
        lines = file.read().splitlines()
    results.check(code == 0 and len(lines) == 1 and
                  'TRACER_CLOCK (tsc or thread with a tree)' in lines[0] and
                  '\n  %s\n' % lines[0] in errors,
                  'what the log says', [errors, lines])
    rows = json.loads(support.reader('info', '--json', session)[1])['log']
    text = support.reader('info', session)[1]
    results.check(rows == [{'line': lines[0]}] and
                  text.endswith('\nLog\n%s\n' % lines[0]),
                  'info: what the log says', [rows, text])
    log = next(find_logs(native(session)))
    line = b'%05d: what a library says of a thread, many times\r\n'
    for size, more in ((65536, 0), (65537, 1), (200000, 1)):
        data = lines[0].encode() + b'\r\n'
        data = (data + b''.join(line % number
                                for number in range(5000)))[:size]
        with open(log, 'wb') as file:
            file.write(data)
        end = data.rindex(b'\n', 0, 65536) + 1 if more else size
        wanted = data[:end].decode().splitlines() + [
            '(%d more bytes of this log are not shown)' % (size - end)] * more
        results.equal([row['line'] for row in json.loads(support.reader(
            'info', '--json', session)[1])['log']], wanted,
                      'a log of %d bytes' % size)
    with open(log, 'w', encoding='utf-8') as file:
        file.write(lines[0] + '\n')
    note = 'Log: 1 line: TraceReader info shows what the library reported.\n'
    results.check(note in support.reader('report', session)[1] and
                  note not in support.reader('report', '--csv', session)[1],
                  'report: there is a log')
    code, _, errors = run(program, '1', directory=directory)
    session = session_of(results, errors, 'no log')
    results.check('Log:' not in support.reader('report', session)[1],
                  'control: report: no log')
    text = support.reader('info', session)[1]
    results.check('\nLog\n' not in text and json.loads(
        support.reader('info', '--json', session)[1])['log'] == [],
                  'control: info: no log', [text])


def check_symbols(results, scratch, program):
    """Names and lines stay when the program has gone."""
    for option in (), ('--no-symbols', ):
        what = 'symbols%s' % ''.join(option)
        place = os.path.join(scratch, what)
        os.makedirs(place)
        copy = shutil.copy(program, place)
        _, _, errors = run(copy, '5', options=(*option, '--report'),
                           directory=os.path.join(place, 'traces'))
        session = session_of(results, errors, what)
        results.equal(os.path.exists(os.path.join(native(session),
                                                  'symbols.cache')),
                      not option, what + ': what is kept')
        shutil.copytree(native(session), os.path.join(place, 'kept'))
        before = support.reader('report', '--csv', '--lines', session)
        shutil.rmtree(native(session))
        shutil.move(os.path.join(place, 'kept'), native(session))
        os.remove(copy)
        after = support.reader('report', '--csv', '--lines', session)
        if option:
            results.check('Middle' in before[1] and 'Middle' not in after[1],
                          'control: ' + what, [after])
        else:
            results.check('Middle' in before[1] and 'echo.c' in before[1],
                          what + ': before', [before])
            results.equal(steady(after), steady(before), what + ': after')


def check_rebuilt(results, scratch, program):
    """Names of several runs stay when the program has been built anew, and has
    gone.
    """
    place = os.path.join(scratch, 'rebuilt')
    directory = os.path.join(place, 'traces')
    os.makedirs(place)
    with open(os.path.join(scratch, 'echo.c'), encoding='ascii') as file:
        source = file.read()
    path = os.path.join(place, 'echo.c')
    with open(path, 'w', encoding='ascii') as file:
        file.write(source.replace('Leaf', 'Blossom'))
    other = programs.build(os.path.join(place, 'other'), [path],
                           [*programs.PENTER_FLAGS, '-g'], 'echo.exe',
                           [programs.LIBRARY])
    copy = os.path.join(place, 'echo.exe')

    # Of the first build, one run calls less than the other.
    for image, arguments in ((program, ['0']), (program, ['5']),
                             (other, ['6'])):
        shutil.copy(image, copy)
        run(copy, *arguments, directory=directory)
    os.remove(copy)
    made = sorted(support.sessions(directory), key=lambda path:
                  os.path.basename(path).split('-')[2:])
    sessions = [programs.windows_path(path) for path in made]
    whole = programs.windows_path(directory)

    def names(*arguments):
        code, text, errors = support.reader(*arguments)
        results.check(code == 0 and 'no function names' not in errors,
                      'rebuilt: %s' % arguments[0], [code, errors])
        return [(row['function'], int(row.get('calls', 0)))
                for row in csv.DictReader(io.StringIO(text))
                if 'printf' not in row['function']]
    expected = sorted([('main', 2), ('Middle', 2), ('Leaf', 5), ('main', 1),
                       ('Middle', 1), ('Blossom', 6)])
    for what in 'children alone', 'and one above':
        results.equal(sorted(names('report', '--csv', '--all-runs', whole)),
                      expected, 'rebuilt: %s: --all-runs' % what)
        _, text, _ = support.reader('report', '--csv', '--lines',
                                    '--all-runs', whole)
        results.check(text.count('echo.c') == 6,
                      'rebuilt: %s: the lines' % what, [text])

        # The next one has a cache of its own, with one session's names.
        with open(os.path.join(made[0], 'symbols.cache'), 'rb') as file:
            data = file.read()
        with open(os.path.join(directory, 'symbols.cache'), 'wb') as file:
            file.write(data)
    results.equal({name for name, _ in names('diff', '--csv', sessions[1],
                                             sessions[2])},
                  {'main', 'Middle', 'Leaf', 'Blossom'}, 'rebuilt: diff')
    results.equal(sorted(names('report', '--csv', '--process', 'echo',
                               whole)),
                  sorted([('main', 1), ('Middle', 1), ('Blossom', 6)]),
                  'rebuilt: one of them')
    os.remove(os.path.join(directory, 'symbols.cache'))
    for path in made[:2]:
        os.remove(os.path.join(path, 'symbols.cache'))
    code, text, errors = support.reader('report', '--csv', '--all-runs', whole)
    results.check('Blossom' in text and 'Leaf' not in text and
                  'no function names' in errors,
                  'control: without the caches', [text, errors])
    with open(os.path.join(made[1], 'symbols.cache'), 'wb') as file:
        file.write(data[:-1])
    code, text, errors = support.reader('report', '--csv', '--all-runs', whole)
    results.check('Blossom' in text and re.search(
        r'warning: echo\.exe-[-\d]+\\symbols\.cache is not used', errors),
                  'rebuilt: a damaged one', [text, errors])


def check_report(results, scratch, program):
    directory = os.path.join(scratch, 'report')
    code, output, errors = run(program, '7', directory=directory,
                               options=['--report'])
    session = session_of(results, errors, '--report')
    _, text, _ = support.reader('report', '--limit', '10', session)

    # Without times (see steady()), and what is said of them.
    seen, expected = (re.sub(r' *[\d.]+ +[nmu]?s', ' TIME', re.sub(
        '^Times are approximate.*\n', '', text, flags=re.M))
                      for text in (output, '[7]\n63\n' + text))
    results.check(code == 0 and 'Middle' in text and seen == expected,
                  '--report', [output, text])


def crashes():
    """{exit code: the system's name}, of MinGW's header."""
    with open('/usr/share/mingw-w64/include/ntstatus.h',
              encoding='utf-8') as file:
        return {int(code, 16): name for name, code in re.findall(
            r'^#define (STATUS_\w+) \(\(NTSTATUS\)(0x\w{8})\)',
            file.read(), re.M)}


def check_crash(results, scratch, program, plain):
    """A crash is named, and how to see what came before it."""
    names = crashes()
    told = re.compile(r'^TraceReader: run: .* ended with '
                      r'0x([0-9A-F]{8})(?: \((\w+).*\))?$', re.M)

    def check(what, expected, *arguments, kind=program, **more):
        directory = os.path.join(scratch, what)
        code, _, errors = run(kind, *arguments, directory=directory, **more)
        found = [(int(number, 16), name or None)
                 for number, name in told.findall(errors)]
        results.check(code == expected & 255 and found == (
            [(expected, names.get(expected))] if expected >> 28 in (8, 12)
            else []), 'crash: ' + what, [code, errors])
        hints = re.findall(r'TraceReader (replay --tail 40) "(.*)"$', errors,
                           re.M)
        wanted = found and kind is program and not more
        results.check([path for _, path in hints] ==
                      (SESSION.findall(errors) if wanted else []),
                      'crash: the advice: ' + what, [errors])
        return hints

    # The address is no one's; nothing ran but main.
    for command, path in check('read', 0xC0000005, '!16'):
        code, output, errors = support.reader(*command.split(), path)
        results.check(code == 0 and 'main' in output and 'Leaf' not in output,
                      'crash: replay --tail', [output, errors])
    check('tree', 0xC0000005, '!16', options=['--mode', 'tree'])
    check('no hooks', 0xC0000005, '!16', kind=plain)
    check('unnamed', 0xC0ABCDEF, '1', '0xC0ABCDEF')
    for number in 0xFFFFFFFF, 3, 0xD0000005:
        check('control %x' % number, number, '1', hex(number))

    codes = {0x80000003, 0xC0000094, 0xC0000374}
    if programs.LONG:
        codes |= {0x80000002, 0x80000004, 0xC0000006, 0xC000001D, 0xC0000025,
                  0xC000008C, 0xC000008E, 0xC0000095, 0xC0000096, 0xC00000FD,
                  0xC0000135, 0xC0000139, 0xC000013A, 0xC0000142, 0xC0000409}
    for number in sorted(codes):
        results.check(number in names, 'the header knows %x' % number)
        check('%x' % number, number, '1', hex(number))


@contextlib.contextmanager
def no_default():
    """While the user's directory of sessions is not there."""
    prefix = native('C:\\users')
    found = glob.glob(os.path.join(prefix, '*', 'AppData', 'Local', 'Tracer'))
    for path in found:
        os.rename(path, path + '.aside')
    try:
        yield
    finally:
        for path in found:
            os.rename(path + '.aside', path)


def steady(result):
    """The exit code and a table without times: the rate of the clock of so
    short a session is known better each time that it is asked for."""
    code, text, _ = result
    rows = list(csv.reader(io.StringIO(text)))
    kept = [index for index, name in enumerate(rows[0] if rows else [])
            if not re.search('_ns$|ratio|percent', name)]
    return code, sorted([row[index] for index in kept] for row in rows)


def check_found(results, scratch, program):
    """Sessions by age and by name, in each of the places."""
    directory = os.path.join(scratch, 'found')
    other = shutil.copy(program, os.path.join(scratch, 'second.exe'))
    made = [session_of(results, run(which, str(count), directory=directory)[2],
                       'found')
            for which, count in ((program, 4), (other, 5), (program, 6))]
    ways = [
        ('', made[2], ', the newest of 3'), ('@1', made[2], '\n'),
        ('@2', made[1], '\n'), ('@3', made[0], '\n'),
        ('second', made[1], '\n'), ('ECHO', made[2], ', the newest of 2'),
        ('s', made[1], '\n'), ('echo@1', made[2], '\n'),
        ('echo@2', made[0], '\n'), ('ECHO.exe@2', made[0], '\n'),
        ('second@1', made[1], '\n'),
    ]

    def ask(*words, **options):
        return execute([programs.READER, *words], **options)

    places = [{'TRACER_DIRECTORY': programs.windows_path(directory)},
              {'cwd': directory}]
    for number, place in enumerate(places):
        for text, session, note in ways:
            what = 'place %d: "%s"' % (number, text)
            expected = support.reader('report', '--csv', session)
            seen = ask('report', '--csv', *([text] if text else []), **place)
            results.equal(steady(seen), steady(expected), what)
            name = os.path.basename(native(session))
            results.check(name + note in seen[2], what + ': it is named',
                          [seen])
        expected = support.reader('callers', '--csv', 'Leaf', made[2])
        results.equal(steady(ask('callers', '--csv', 'Leaf', **place)),
                      steady(expected), 'place %d: callers' % number)
        expected = support.reader('diff', '--csv', made[1], made[2])
        results.equal(steady(ask('diff', '--csv', '@2', '@1', **place)),
                      steady(expected), 'place %d: diff' % number)
        code, text, errors = ask('sessions', '--json', **place)
        rows = json.loads(text)['sessions']
        results.equal((code, sorted(row['directory'] for row in rows)),
                      (0, sorted(os.path.basename(native(session))
                                 for session in made)),
                      'place %d: sessions' % number)
        results.equal([row['directory'] for row in
                       sorted(rows, key=lambda row: row['age'])],
                      [os.path.basename(native(session))
                       for session in reversed(made)],
                      'place %d: @N of sessions' % number)
        code, _, errors = ask('callers', 'Laef', **place)
        results.check(code == 3 and 'near are:\n  echo.exe!Leaf\n' in errors,
                      'place %d: a function that is nearly right' % number,
                      [errors])
        code, _, errors = ask('callers', 'Xyzzy', **place)
        results.check(code == 3 and 'near are' not in errors,
                      'control: place %d: no function is near' % number,
                      [errors])
        code, _, errors = ask('report', '@4', **place)
        results.check(code == 1 and '@4' in errors and
                      'there are 3: @3 is the oldest' in errors,
                      'place %d: @4' % number, [errors])
        for text, note in (
                ('echo@3', 'there are 2 of that program: @2 is the oldest'),
                ('third@1', 'no session was found'),
                ('@0', '@1 is the newest session'),
                ('@', '@1 is the newest session'),
                ('echo@0', '@1 is the newest session')):
            code, _, errors = ask('report', text, **place)
            results.check(code == 1 and text in errors and note in errors,
                          'place %d: %s' % (number, text), [errors])
        code, _, errors = ask('report', 'third', **place)
        results.check(code == 1 and 'open the session: third' in errors and
                      'is called third (TraceReader sessions' in errors and
                      'did you mean' not in errors,
                      'place %d: no such name' % number, [errors])
        for text, name in (('secnod', 'second'), ('ehco.exe', 'echo.exe')):
            code, _, errors = ask('report', text, **place)
            results.check(code == 1 and 'is called %s; did you mean %s? (' %
                          (text, name) in errors,
                          'place %d: %s' % (number, text), [errors])
    # Those that have no store yet, or never got one, are passed over, but not
    # where an age is given; where none has one the newest is taken.
    stamp = '-1-29990101-000000-00'
    for number, name in enumerate(('echo.exe', 'echo.exe', 'second.exe')):
        os.makedirs(os.path.join(directory, name + stamp + str(number)))
    for text, session, note, second in (
            ('', made[2], ', the newest of 6 that has a store',
             '  3 that are newer have none'),
            ('echo', made[2], ', the newest of 4 that has a store',
             '  2 that are newer have none'),
            ('second', made[1], ', the newest of 2 that has a store',
             '  1 that is newer has none')):
        seen = ask('report', '--csv', *([text] if text else []), **places[0])
        results.equal(steady(seen),
                      steady(support.reader('report', '--csv', session)),
                      'no store: "%s"' % text)
        results.check(os.path.basename(native(session)) + note in seen[2] and
                      second in seen[2], 'no store: "%s": notes' % text,
                      [seen[2]])
    code, _, errors = ask('report', 'second@1', **places[0])
    results.check(code == 1 and 'second.exe' + stamp in errors,
                  'no store: second@1', [code, errors])
    os.rename(native(made[1]), native(made[1]) + '.aside')
    code, _, errors = ask('report', 'second', **places[0])
    results.check(code == 1 and 'second.exe' + stamp in errors and
                  'newer' not in errors, 'no store: none has one',
                  [code, errors])
    os.rename(native(made[1]) + '.aside', native(made[1]))
    for name in os.listdir(directory):
        if stamp in name:
            os.rmdir(os.path.join(directory, name))
    code, text, _ = ask('sessions', '--json', 'found', cwd=scratch)
    results.equal((code, [row['age'] for row in json.loads(text)['sessions']]),
                  (0, [None] * 3), 'control: @N means another directory')
    path = programs.windows_path(program)
    for command in 'report', 'info', 'live':
        code, text, errors = ask(command, path)
        results.check(code == 1 and not text and errors.startswith(
            'TraceReader: %s: %s is a program, not' % (command, path)),
                      command + ': a program', [code, text, errors])
    code, _, errors = ask('report', path + '.c')
    results.check(code == 1 and 'is a program' not in errors,
                  'control: a program that is not there', [errors])

    # An age means something in one place: the current directory has more.
    single = os.path.join(scratch, 'single')
    run(program, '1', directory=single)
    only = {'TRACER_DIRECTORY': programs.windows_path(single),
            'cwd': directory}
    results.equal([ask('report', name, **only)[0] for name in ('@1', '@2')],
                  [0, 1], 'ages are those of one place')
    results.equal(ask('report', '--csv', 'second', **only)[:1], (0, ),
                  'control: a name is looked for in the next place')

    # Names that no clock gives, and one that is a file.
    for name in ('program.exe-1-99999999-999999-999', 'x-1-20261301-000000-000',
                 'x-99999999999-20261201-000000-000'):
        os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, 'y-1-29991201-000000-000'), 'wb'):
        pass
    shutil.copy(program, directory)
    for words in ('report', ), ('report', 'echo.exe'):
        results.check(os.path.basename(native(made[2])) in
                      ask(*words, cwd=directory)[2],
                      '%s: beside the program' % (words, ))
    expected = support.reader('diff', '--csv', made[1], made[2])
    results.equal(steady(ask('diff', '--csv', 'second', 'echo',
                             cwd=directory)), steady(expected), 'diff by name')
    for words in (('report', ''), ('ctl', '', 'status'), ('callers', ),
                  ('diff', '@1')):
        code, text, errors = ask(*words, cwd=directory)
        results.check(code == 1 and not text and
                      ('missing' in errors or 'needed' in errors),
                      '%s: nothing is guessed' % (words, ), [errors])

    # A path is a path, even if a program has that name.
    os.makedirs(os.path.join(directory, 'second'))
    code, _, errors = ask('report', 'second', cwd=directory)
    results.check(code == 1 and 'newest' not in errors,
                  'control: a directory of that name', [errors])
    empty = os.path.join(scratch, 'nothing')
    os.makedirs(empty)
    code, _, errors = ask('report', cwd=empty,
                          TRACER_DIRECTORY=programs.windows_path(empty))
    results.check(code == 1 and 'a session directory or store is missing'
                  in errors, 'control: no session', [code, errors])


def build(scratch, kind, flags, libraries):
    source = os.path.join(scratch, 'echo.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(SOURCE)
    return programs.build(os.path.join(scratch, kind), [source],
                          [*flags, '-g'], 'echo.exe', libraries)


def build_traced(scratch):
    return build(scratch, 'traced', programs.PENTER_FLAGS, [programs.LIBRARY])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program, plain = build_traced(scratch), build(scratch, 'plain', [], [])
        check_passed_through(results, scratch, program, plain)
        if programs.LONG:
            check_settings(results, scratch, program)
        check_names(results, scratch, program, plain)
        check_symbols(results, scratch, program)
        check_rebuilt(results, scratch, program)
        check_report(results, scratch, program)
        check_crash(results, scratch, program, plain)
        with no_default():
            check_found(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

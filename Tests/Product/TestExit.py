#!/usr/bin/env python3
"""The exit code of a program: what run keeps of it, and what info shows.

The codes are those that the program was told to end with; the file is read as
Docs/Format.md describes it.  Controls: a program that run did not start, one
that a traced program started, and files that are not the session's.
"""

import csv
import datetime
import io
import json
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestRun as tool                                       # noqa: E402
from TestRun import programs, support                        # noqa: E402

SOURCE = r'''
#include <process.h>
#include <stdlib.h>
#include <windows.h>

static volatile unsigned Sum;

void Work(int Count)
{
    while (Count-- > 0) {
        Sum += (unsigned)Count * 3;
    }
}

int main(int Count, char **Arguments)
{
    unsigned Code = (unsigned)strtoul(Arguments[2], NULL, 0);
    const char *Child[] = { Arguments[0], "return", "9", NULL };

    for (int Index = 0; Index < 40; Index++) {
        Work(1000000);
    }
    switch (Arguments[1][0]) {
    case 'k':
        TerminateProcess(GetCurrentProcess(), Code);
        break;
    case 'c':
        *(volatile int *)16 = 1;
        break;
    case 'e':
        ExitProcess(Code);
    case 'p':
        _spawnv(_P_WAIT, Arguments[0], Child);
        break;
    }
    return (int)Code;
}
'''
DLL = r'''
__declspec(dllexport) int Work(int Count)
{
    return Count + 1;
}

int __stdcall DllMain(void *Instance, unsigned Reason, void *Reserved)
{
    return Instance != Reserved || Reason != 9;
}
'''
USER = r'''
__declspec(dllimport) int Work(int Count);

int main(int Count, char **Arguments)
{
    if (Work(Count) == 3) {
        *(volatile int *)16 = 1;
    }
    return 7;
}
'''
UNKNOWN = 'not known (TraceReader run keeps it)'
FILE = 'session.exit'


def info(session):
    """The row of the session, the exit code of its CSV, and text's line."""
    _, text, _ = support.reader('info', '--json', session)
    rows = json.loads(text)
    _, text, _ = support.reader('info', '--csv', session)
    cells = [row['value'] for row in csv.DictReader(io.StringIO(text))
             if (row['table'], row['field']) == ('session', 'exit_code')]
    _, text, _ = support.reader('info', session)
    lines = re.findall('^Exit code +(.*)$', text, re.M)
    return rows, cells, lines


def check_codes(results, scratch, program):
    for what, way, code, text in (
            ('0', 'return', 0, '0'),
            ('3', 'return', 3, '3'),
            ('-1', 'exit', 0xFFFFFFFF, '-1'),
            ('killed', 'kill', 1, '1'),
            ('crash', 'crash', 0xC0000005,
             '0xC0000005 (STATUS_ACCESS_VIOLATION)'),
            ('Ctrl+C', 'kill', 0xC000013A,
             '0xC000013A (STATUS_CONTROL_C_EXIT)'),
            ('no name', 'exit', 0xC0ABCDEF, '0xC0ABCDEF')):
        directory = os.path.join(scratch, what)
        result, _, errors = tool.run(program, way, hex(code),
                                     directory=directory)
        session = tool.session_of(results, errors, what)
        results.check(support.has_ended(result, code & 255),
                      what + ': run ends with it', [result, errors])
        rows, cells, lines = info(session)
        row = rows['session'][0]
        results.equal((row['exit_code'], cells, lines),
                      (code, [str(code)], [text]), what + ': info')
        results.equal(row['state'], 'ended' if what == 'killed'
                      else 'died' if way in ('kill', 'crash')
                      else 'closed', what + ': the state')

        # By the document.
        with open(os.path.join(tool.native(session), FILE), 'rb') as file:
            data = file.read()
        magic, version, size, process, seen, created, ended, kernel, user = \
            struct.unpack('<8sIIIIQQQQ', data)
        results.equal((magic, version, size, process, seen),
                      (b'TRACEXIT', 1, len(data), row['process_id'], code),
                      what + ': the file')
        start = datetime.datetime(1601, 1, 1) + \
            datetime.timedelta(microseconds=created // 10)
        results.check(row['start_time'].startswith(
            start.isoformat(timespec='milliseconds')) and
                      created < ended,
                      what + ': its times',
                      [row, created, ended, kernel, user])

        # What was killed has what the file says; Wine does not always know.
        if way in ('kill', 'crash'):
            results.equal(row['cpu_ns'], (kernel + user) * 100 or None,
                          what + ': processor time')
    return session


def check_kept(results, scratch, session):
    """It goes where the session goes."""
    packed = os.path.join(scratch, 'packed.tracepack')
    code, _, errors = support.reader('pack', '-o',
                                     programs.windows_path(packed), session)
    results.check(code == 0, 'pack', [errors])
    unpacked = os.path.join(scratch, 'unpacked')
    code, _, errors = support.reader('unpack', '-o',
                                     programs.windows_path(unpacked),
                                     programs.windows_path(packed))
    results.check(code == 0, 'unpack', [errors])
    recovered = os.path.join(scratch, 'recovered')
    code, _, errors = support.reader('recover', '-o',
                                     programs.windows_path(recovered), session)
    results.check(code in (0, 2), 'recover', [code, errors])
    for path in packed, unpacked, recovered:
        results.equal(info(programs.windows_path(path))[1:],
                      ([str(0xC0ABCDEF)], ['0xC0ABCDEF']), 'kept: ' + path)

    def unknown(what):
        rows, cells, lines = info(session)
        results.equal((rows['session'][0]['exit_code'], cells, lines),
                      (None, [''], [UNKNOWN]), what)

    path = os.path.join(tool.native(session), FILE)
    with open(path, 'rb') as file:
        good = file.read()
    for what, data in (
            ('none', None), ('cut off', good[:-1]), ('empty', b''),
            ('no magic', b'X' + good[1:]),
            ('no version', good[:8] + bytes(4) + good[12:]),
            ('a size that is too small', good[:12] + b'\x08' + good[13:]),
            ('another process', good[:16] + bytes(4) + good[20:]),
            ('another start', good[:24] + bytes(8) + good[32:])):
        os.remove(path)
        if data is not None:
            with open(path, 'wb') as file:
                file.write(data)
        else:
            unknown('a file: ' + what)
            with open(path, 'wb'):
                pass
            continue
        unknown('a file: ' + what)
    with open(path, 'wb') as file:
        file.write(good + b'more')
    results.equal(info(session)[1], [str(0xC0ABCDEF)], 'control: a good one')
    directory = os.path.dirname(tool.native(session))
    code, _, errors = support.reader('sessions', '--keep', '0', '--remove',
                                     programs.windows_path(directory))
    results.check(code == 0 and not os.path.exists(tool.native(session)),
                  'it is removed with the session', [errors])


def check_unknown(results, scratch, program):
    directory = os.path.join(scratch, 'alone')
    support.run(program, 'return', '0', directory=directory)
    rows, cells, lines = info(programs.windows_path(
        support.sessions(directory)[0]))
    results.equal((rows['session'][0]['exit_code'], cells, lines),
                  (None, [''], [UNKNOWN]), 'without run')

    # Of two processes, run knows the one that it started.
    directory = os.path.join(scratch, 'parent')
    tool.run(program, 'parent', '4', directory=directory)
    rows, cells, lines = info(programs.windows_path(directory))
    results.equal(([row['exit_code'] for row in rows['processes']], cells,
                   lines), ([4, None], ['4'], ['4']), 'a child')
    _, text, _ = support.reader('info', programs.windows_path(directory))
    results.check(re.search(r'^ +PID .* Exit code +Process$', text, re.M),
                  'a child: text has the column', [text])


def check_untold(results, scratch):
    """A DLL without a TLS callback is not told of the end: its store stays
    open, and that is no sign of a crash."""
    folder = os.path.join(scratch, 'untold')
    os.mkdir(folder)
    for name, text in ('dll', DLL), ('user', USER):
        with open(os.path.join(folder, name + '.c'), 'w',
                  encoding='ascii') as file:
            file.write(text)
    flags = ['-O2', *programs.PENTER_FLAGS]
    for command in (
            [*flags, '-c', 'dll.c'],
            ['-shared', '-nostdlib', '-Wl,-eDllMain', 'dll.o',
             programs.LIBRARY, '-lkernel32', '-lntdll', '-o', 'untold.dll',
             '-Wl,--out-implib,untold.a'],
            [*flags, '-c', 'user.c'],
            ['user.o', programs.LIBRARY, 'untold.a', '-static', '-o',
             'user.exe'],
            ['-O2', 'user.c', 'untold.a', '-static', '-o', 'plain.exe']):
        subprocess.run([programs.GCC, *command], cwd=folder, check=True)
    for program, with_file, without in (('user.exe', 'ended', 'ended'),
                                        ('plain.exe', 'ended', 'died')):
        for arguments, states in (([], [with_file, without]),
                                  (['crash'], ['died', 'died'])):
            what = 'untold: %s %s: ' % (program, arguments)
            _, _, errors = tool.run(os.path.join(folder, program), *arguments,
                                    directory=os.path.join(
                                        folder, 'of-' + '-'.join(
                                            (program, *arguments))))
            session = tool.session_of(results, errors, what)
            seen = []
            for _ in 'with', 'without':
                rows = info(session)[0]
                seen.append(rows['session'][0]['state'])
                results.equal([row['state'] for row in rows['threads']],
                              seen[-1:], what + 'its thread')
                path = os.path.join(tool.native(session), FILE)
                if os.path.exists(path):
                    os.remove(path)
            results.equal(seen, states, what + 'with the exit code, without')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        source = os.path.join(scratch, 'ends.c')
        with open(source, 'w', encoding='ascii') as file:
            file.write(SOURCE)
        program = programs.build(os.path.join(scratch, 'ends'), [source],
                                 programs.PENTER_FLAGS, 'ends.exe',
                                 [programs.LIBRARY])
        session = check_codes(results, scratch, program)
        check_kept(results, scratch, session)
        check_unknown(results, scratch, program)
        check_untold(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Calls into functions that nobody compiled with hooks: TracerImports.dll.

How often a function was called is what the DLL that has it has counted itself.
The programs are generated: functions with random parameters and results, that
throw through their callers, call back, and take as many arguments as they like.
Each prints what it has computed, with the imports patched and without, and the
two must be the same byte by byte; so must what Wine's own programs print.
Controls: lists that leave the DLL out, a reader without the file of names, and
a program that is run without any list.
"""

import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import programs                                              # noqa: E402

GXX = 'x86_64-w64-mingw32-g++'
FILE = 'session.imports'
HEADER = struct.Struct('<QIIQIIIIQII8IQ')
ENTRY = struct.Struct('<HHHHIIII')

# Types of parameters and results: how a value is written, and its sum.
TYPES = {
    'int': ('%d', lambda n: str(n)),
    'long long': ('%d', lambda n: '%dLL' % (n * 1000003)),
    'unsigned char': ('%d', lambda n: str(n % 256)),
    'float': ('%g', lambda n: '%d.5f' % n),
    'double': ('%g', lambda n: '%d.25' % n),
    'SMALL': ('s', lambda n: 'SMALL{%d,%d}' % (n, n + 1)),
    'ODD': ('s', lambda n: 'ODD{{%s}}' % ','.join(
        str((n + i) % 128) for i in range(3))),
    'BIG': ('s', lambda n: 'BIG{%d,%d.5,%dLL}' % (n, n, n)),
    'const BIG *': ('s', lambda n: '&Bigs[%d]' % (n % 4)),
    'BIG *': ('s', lambda n: '&Changed[%d]' % (n % 4)),
    'short': ('%d', lambda n: '(short)%d' % (n - 500)),
    'unsigned long long': ('%d', lambda n: '%dULL << 40' % n),
    'bool': ('%d', lambda n: 'true' if n % 2 else 'false'),
    'long double': ('%g', lambda n: '%d.125L' % n),
    'VECTOR': ('s', lambda n: 'VECTOR{%d, %d.5f, 1, 2}' % (n, n)),
    'ONE': ('s', lambda n: 'ONE{%d}' % (n % 128)),
    'TWO': ('s', lambda n: 'TWO{%d}' % n),
    'FLOATS': ('s', lambda n: 'FLOATS{%d.5f, %d}' % (n, n + 2)),
    'PAIR': ('s', lambda n: 'PAIR{%d.25, %dLL}' % (n, n + 1)),
}
SHARED = r'''
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
struct SMALL { int A, B; };
struct ODD { char A[3]; };
struct BIG { int A; double B; long long C; };
struct ONE { signed char A; };
struct TWO { short A; };
struct FLOATS { float A, B; };
struct PAIR { double A; long long B; };
typedef float VECTOR __attribute__((vector_size(16)));
typedef double CALLBACK_ROUTINE(int);
static inline double Value(int X) { return X; }
static inline double Value(long long X) { return (double)(X % 1000003); }
static inline double Value(unsigned char X) { return X; }
static inline double Value(float X) { return X; }
static inline double Value(double X) { return X; }
static inline double Value(SMALL X) { return X.A * 3.0 + X.B; }
static inline double Value(ODD X) { return X.A[0] + X.A[1] * 2 + X.A[2] * 5; }
static inline double Value(BIG X) { return X.A + X.B * 7 + (double)X.C; }
static inline double Value(const BIG *X) { return Value(*X) + 1; }
static inline double Value(BIG *X)
{
    X->A = X->A % 1000 + 1;
    return Value(*X) + 2;
}
static inline double Value(short X) { return X; }
static inline double Value(unsigned long long X) { return (double)(X >> 40); }
static inline double Value(bool X) { return X ? 3 : 4; }
static inline double Value(long double X) { return (double)X; }
static inline double Value(VECTOR X) { return X[0] + X[1] * 3 + X[3]; }
static inline double Value(ONE X) { return X.A; }
static inline double Value(TWO X) { return X.A; }
static inline double Value(FLOATS X) { return X.A + X.B * 2; }
static inline double Value(PAIR X) { return X.A + (double)X.B; }
'''


def make_result(kind):
    return {'void': 'return;', 'SMALL': 'return SMALL{(int)Sum, 3};',
            'ODD': 'return ODD{{1, (char)((long long)Sum & 63), 2}};',
            'BIG': 'return BIG{(int)Sum, Sum / 2, (long long)Sum};',
            'VECTOR': 'return VECTOR{(float)Sum, 1, 2, 3};',
            'FLOATS': 'return FLOATS{(float)Sum, 3};',
            'PAIR': 'return PAIR{Sum, 7};'}.get(
                kind, 'return (%s)Sum;' % kind)


class Generated:
    """Sources of a DLL and of a program that calls it, from a seed."""

    def __init__(self, seed, count):
        chance = random.Random(seed)
        names = [kind for kind in TYPES]
        self.functions = []
        dll, header, calls = [], [], []
        for number in range(count):
            name = 'Function%03d' % number
            shape = chance.randrange(10)
            parameters = [chance.choice(names) for _ in range(
                chance.choice((0, 1, 2, 3, 4, 5, 6, 8, 12, 17, 21, 22, 30,
                               40)))]
            result = chance.choice(('void', 'int', 'long long', 'float',
                                    'double', 'SMALL', 'ODD', 'BIG', 'bool',
                                    'long double', 'VECTOR', 'FLOATS', 'PAIR'))
            body = ['    Counts[%d] += 1;' % number, '    double Sum = %d;' %
                    number]
            listed = ['%s P%d' % (kind, index)
                      for index, kind in enumerate(parameters)]
            for index in range(len(parameters)):
                body.append('    Sum = Sum * 1.5 + Value(P%d);' % index)
            values = [TYPES[kind][1](chance.randrange(1000))
                      for kind in parameters]
            throws = False
            if shape == 0:
                listed.append('CALLBACK_ROUTINE *Routine')
                values.append('Back')
                body.append('    Sum += Routine((int)Sum & 255);')
            elif shape == 1:
                listed.append('int Throws')
                values.append('Round & 1')
                throws = True
                body.append('    if (Throws) throw (int)Sum;')
            elif shape == 2:
                listed.append('CALLBACK_ROUTINE *Routine')
                values.append('BackThrows')
                throws = True
                body.append('    Sum += Routine((int)Sum & 255);')
            elif shape == 3:
                # 65 in all, with the place of the result (Docs/Imports.md).
                more = chance.choice((1, 3, 9, 20, 33, 50,
                                      63 - len(parameters)))
                more = min(more, 63 - len(parameters))
                listed += ['int Number', '...']
                body += ['    va_list List;', '    va_start(List, Number);',
                         '    for (int I = 0; I < Number; I += 1) Sum = '
                         'Sum * 1.25 + (I % 3 == 1 ? va_arg(List, double) : '
                         '(double)va_arg(List, long long));',
                         '    va_end(List);']
                values += [str(more)] + [
                    ('%d.5' if index % 3 == 1 else '%dLL') %
                    chance.randrange(1000) for index in range(more)]
            prototype = '%s %s(%s)' % (result, name, ', '.join(listed))
            header.append('extern "C" __declspec(dllimport) %s;' % prototype)
            dll.append('extern "C" __declspec(dllexport) %s\n{\n%s\n    %s\n}'
                       % (prototype, '\n'.join(body), make_result(result)))
            call = '%s(%s)' % (name, ', '.join(values))
            call = '%s;' % call if result == 'void' else 'Total += Value(%s);' \
                % call
            if throws:
                call = 'try { %s } catch (int Code) { Total += Code * 3; }' \
                    % call
            calls.append('            ' + call)
            self.functions.append(name)
        self.dll = SHARED + '''
static volatile long long Counts[%d];
%s
extern "C" __declspec(dllexport) int Exported = 4711;
extern "C" __declspec(dllexport) int Touch(int X) { return X + 1; }
__declspec(dllexport) int Mangled(int X, double Y) { return X + (int)Y; }
extern "C" __declspec(dllexport) void Tell(void)
{
    for (int I = 0; I < %d; I += 1)
        printf("count %%d %%lld\\n", I, Counts[I]);
    fflush(stdout);
}
''' % (count, '\n'.join(dll), count)
        self.dll = re.sub(r'Counts\[(\d+)\] \+= 1;',
                          r'_InterlockedIncrement64(&Counts[\1]);', self.dll)
        self.exe = SHARED + '''
%s
extern "C" __declspec(dllimport) void Tell(void);
extern "C" __declspec(dllimport) int Touch(int);
__declspec(dllimport) int Mangled(int, double);
extern "C" __declspec(dllimport) int Exported;
static const BIG Bigs[4] = {{1, 2.5, 3}, {4, 5.5, 6}, {7, 8.5, 9}, {1, 1, 1}};
static double Back(int X) { return X * 2.0; }
static double BackThrows(int X) { if (X & 1) throw X; return X; }
static double Totals[4];
static DWORD WINAPI Work(void *Parameter)
{
    double Total = 0;
    BIG Changed[4] = {{2, 1.5, 4}, {4, 2.5, 3}, {3, 8.5, 1}, {6, 2, 2}};
    for (int Round = 0; Round < 10; Round += 1) {
%s
        SetLastError(Round + 77);
        Total += Touch(Round);
        if (GetLastError() != (DWORD)Round + 77) Total += 1e9;
    }
    Totals[(int)(size_t)Parameter] = Total;
    return 0;
}
int main()
{
    HANDLE Threads[4];
    for (size_t I = 0; I < 4; I += 1)
        Threads[I] = CreateThread(NULL, 0, Work, (void *)I, 0, NULL);
    WaitForMultipleObjects(4, Threads, TRUE, INFINITE);
    for (int I = 0; I < 4; I += 1) printf("%%.17g\\n", Totals[I]);
    printf("%%d %%s %%g %%d %%d %%d %%d %%d %%d %%d %%d %%d %%d %%d %%d %%d %%d"
           " %%d %%d %%d %%d %%d %%d %%d %%d\\n", Exported, "text", 2.5, 1, 2, 3,
           4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
           22);
    printf("%%d\\n", Mangled(1, 2.5) + Mangled(3, 4.5) + Mangled(5, 6.5));
    Tell();
    return 42;
}
''' % ('\n'.join(header), '\n'.join(calls))

    def build(self, folder):
        os.makedirs(folder)
        for name, text in (('Counted.cpp', self.dll), ('Caller.cpp',
                                                       self.exe)):
            with open(os.path.join(folder, name), 'w',
                      encoding='ascii') as file:
                file.write(text)
        flags = ['-O1', '-w', '-static']
        subprocess.run([GXX, *flags, '-shared', 'Counted.cpp', '-o',
                        'Counted.dll', '-Wl,--out-implib,libCounted.a'],
                       check=True, cwd=folder)
        subprocess.run([GXX, *flags, 'Caller.cpp', 'libCounted.a', '-o',
                        'Caller.exe'], check=True, cwd=folder)
        return os.path.join(folder, 'Caller.exe')


def run(program, *arguments, options=(), directory=None, reader=None,
        **environment):
    """Runs a program, with TraceReader run if there are options; (exit code,
    output, errors, the session's folder or None)."""
    command = [program, *arguments]
    if directory is not None:
        os.makedirs(directory)
        command = [reader or programs.READER, 'run', '--directory',
                   programs.windows_path(directory), *options, '--',
                   program, *arguments]
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        done = programs.watch.run(
            [programs.WINE, *command], stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors,
            env={**support.environment(), **environment})
        output.seek(0)
        errors.seek(0)
        told, said = output.read(), errors.read().decode('utf-8', 'replace')
    sessions = []
    if directory is not None:
        sessions = [os.path.join(directory, name)
                    for name in sorted(os.listdir(directory))]
    return (done.returncode, told, said, sessions[0] if sessions else None)


def calls(session, *options):
    """function -> calls, as report has them."""
    code, text, errors = support.reader('report', '--json', *options, session)
    if code:
        raise RuntimeError('report: %d: %s' % (code, errors))
    counts = {}
    for row in json.loads(text)['functions']:
        counts[row['function']] = counts.get(row['function'], 0) + row['calls']
    return counts


def read_file(session):
    """The header's fields, and (importer, exporter, name) of each stub, as
    Docs/Format.md describes the file."""
    with open(os.path.join(session, FILE), 'rb') as file:
        data = file.read()
    header = HEADER.unpack_from(data)
    modules, stubs = [], {}
    position, end = header[2], header[8]
    while position < end:
        size, kind, length, ordinal, rva, stub, importer, exporter = \
            ENTRY.unpack_from(data, position)
        name = data[position + ENTRY.size:][:length].decode()
        if kind == 1:
            modules.append(name)
        elif kind == 2:
            stubs[rva] = (modules[importer], modules[exporter], name or
                          ordinal, stub)
        position += size
    return header, stubs


def check_generated(results, scratch, seed, count):
    generated = Generated(seed, count)
    program = generated.build(os.path.join(scratch, 'made%d' % seed))
    folder = os.path.dirname(program)
    plain = run(program)
    results.equal(plain[0], 42, 'seed %d: the program by itself' % seed)
    counted = {'counted!Function%03d' % int(index): int(number)
               for index, number in re.findall(rb'count (\d+) (\d+)',
                                               plain[1])}
    counted = {name: number for name, number in counted.items() if number}
    results.check(len(counted) == count, 'seed %d: all are called' % seed)
    for name, options, exact in (
            ('all', ['--imports', '*'], True),
            ('one', ['--imports', 'Counted.dll'], True),
            ('callers', ['--callers', 'CALLER'], True),
            ('tree', ['--imports', 'counted', '--mode', 'tree'], True),
            ('compact', ['--imports', 'counted', '--mode', 'compact'], True),
            ('named', ['--imports', 'counted!Function00;-counted!Function001'],
             False),
            ('others', ['--imports', '*;-counted'], False)):
        what = 'seed %d, %s' % (seed, name)
        code, output, errors, session = run(
            program, options=options,
            directory=os.path.join(folder, name))
        results.equal(code, plain[0], '%s: exit code' % what)
        results.check(output == plain[1], '%s: output' % what,
                      [output[:300], plain[1][:300], errors])
        if not results.check(session, '%s: a session' % what, [errors]):
            continue
        seen = {key: number for key, number in calls(session).items()
                if key.startswith('counted!Function')}
        if exact:
            results.equal(programs.differences(counted, seen), [],
                          '%s: calls' % what)
        elif name == 'named':
            results.equal(seen, {key: number for key, number in
                                 counted.items() if '!Function00' in key and
                                 key != 'counted!Function001'},
                          '%s: calls' % what)
        else:
            results.equal(seen, {}, '%s: none' % what)
    return program, counted


def check_files(results, scratch, program):
    """The file of names, in all that copies a session; and without it."""
    session = run(program, options=['--imports', '*'],
                  directory=os.path.join(scratch, 'files'))[3]
    expected = calls(session)
    header, stubs = read_file(session)
    results.equal(header[7], len(stubs), 'stubs in the file')
    results.equal(expected.get('counted!Mangled(int, double)'), 3,
                  'a name of C++')
    for command in (['report'], ['tree'], ['callers', 'counted!Function000'],
                    ['hot']):
        _, text, _ = support.reader(command[0], '--json', *command[1:],
                                    session)
        seen = set(re.findall('"module": "([^"]*)"[^}]*'
                              '"function": "counted!', text))
        results.equal(seen, {'counted.dll'}, '%s: modules' % command[0])
    code, _, errors = support.reader('exclude', session, 'counted*')
    results.check(code == 1 and 'an image that calls hooks' in errors,
                  'stubs are not excluded', [code, errors])
    results.check(header[9] >= header[10] + sum(header[11:19]) >=
                  header[10] > 100, 'imports in the file', [header])
    results.check(('caller.exe', 'counted.dll', 'Function000', 48) in
                  stubs.values(), 'a stub', list(stubs.values())[:5])
    never = {'RtlCaptureContext', '__C_specific_handler', '__chkstk',
             'RtlUnwindEx', 'setjmp', '_setjmp', 'Exported', '_acmdln'}
    results.equal({name for _, _, name, _ in stubs.values()} & never, set(),
                  'what has no stub')
    for command, target in (('pack', 'packed.tracepack'), ('recover', 'again'),
                            ('snapshot', 'copied')):
        path = os.path.join(scratch, target)
        code, _, errors = support.reader(*(
            ('ctl', session, command, programs.windows_path(path))
            if command == 'snapshot' else
            (command, '--output', programs.windows_path(path), session)))
        results.equal(code, 0, '%s: %s' % (command, errors))
        results.equal(calls(path), expected, '%s: calls' % command)
    _, text, _ = support.reader('info', session)
    results.check(re.search(r'Imports asked for +%d\nPatched +%d\n' % (
        header[9], header[10]), text), 'info', [text])
    check_trivial(results, scratch, program, session)

    # Of another process; of another version; cut; gone.
    path = os.path.join(session, FILE)
    with open(path, 'rb') as file:
        good = file.read()
    for what, data in (('process', good[:24] + b'\1\2\3\4' + good[28:]),
                       ('version', good[:8] + b'\2' + good[9:]),
                       ('magic', b'X' + good[1:]), ('cut', good[:200]),
                       ('empty', b'')):
        with open(path, 'wb') as file:
            file.write(data)
        seen = calls(session)
        results.equal(sum(seen.values()), sum(expected.values()),
                      '%s: all calls' % what)
        results.check(not any('counted!' in name for name in seen) and
                      all(name.startswith('TracerImports.dll+0x')
                          for name in seen), '%s: no names' % what,
                      list(seen)[:5])
    os.remove(path)
    results.check(not any('!' in name for name in calls(session)),
                  'without the file')


def check_ini(results, scratch, program, counted):
    """The lists of an ini file; and of CAP.INI, whose sections are what they
    were: the modules of which all imports are patched, and those that are
    patched wherever they are called."""
    folder = os.path.dirname(program)
    for number, (name, text, pairs) in enumerate((
            ('tracer.ini', '[imports]\nCOUNTED.dll\n',
             {('caller.exe', 'counted.dll')}),
            ('tracer.ini', '[imports]\ncount.dll\n', set()),
            ('tracer.ini', '[imports]\n*\n-msvcrt\n[callers]\ncall\n',
             {('caller.exe', 'counted.dll'), ('caller.exe', 'kernel32.dll')}),
            ('CAP.INI', '[EXES]\ncaller.exe\n[PATCH IMPORTS]\ncaller.exe\n',
             {('caller.exe', 'counted.dll'), ('caller.exe', 'kernel32.dll'),
              ('caller.exe', 'msvcrt.dll')}),
            ('CAP.INI', '[PATCH CALLERS]\ncounted.dll\n',
             {('caller.exe', 'counted.dll')}),
            ('CAP.INI', '[PATCH IMPORTS]\ncounted.dll\n[PATCH CALLERS]\n'
             'counted.dll\n',
             {('caller.exe', 'counted.dll'), ('counted.dll', 'kernel32.dll'),
              ('counted.dll', 'msvcrt.dll')}))):
        what = '%s %r' % (name, text)
        path = os.path.join(folder, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        code, _, errors, session = run(
            program, options=['--imports', '@ini'],
            directory=os.path.join(scratch, 'ini%d' % number))
        os.remove(path)
        results.equal(code, 42, '%s: exit code' % what)
        seen = set()
        if session:
            seen = {stub[:2] for stub in read_file(session)[1].values()}
        results.equal(seen, pairs, '%s: who calls whom' % what)
        if ('caller.exe', 'counted.dll') in pairs:
            results.equal(programs.differences(counted, {
                key: count for key, count in calls(session).items()
                if key.startswith('counted!Function')}), [],
                '%s: calls' % what)


def check_wine(results, scratch):
    """Wine's own programs, with the imports of all modules patched."""
    several = [
        ('cmd.exe', '/c', 'ver'), ('cmd.exe', '/c', 'set'),
        ('cmd.exe', '/c', 'dir /b C:\\windows\\system32\\drivers'),
        ('cmd.exe', '/c', 'type C:\\windows\\win.ini'),
        ('cmd.exe', '/c', 'exit 5'), ('cmd.exe', '/c', 'no_such_program'),
        ('reg.exe', 'query', 'HKLM\\Software\\Microsoft\\Windows NT', '/s'),
        ('hostname.exe',), ('whoami.exe',), ('find.exe', '/?'),
        ('findstr.exe', 'a', 'C:\\windows\\win.ini'), ('xcopy.exe', '/?'),
        ('attrib.exe', 'C:\\windows\\win.ini'), ('where.exe', 'cmd'),
        ('ipconfig.exe',), ('expand.exe',), ('fc.exe',), ('net.exe',),
        ('netsh.exe',), ('icacls.exe',), ('cacls.exe',), ('subst.exe',),
        ('regini.exe',), ('sc.exe',), ('schtasks.exe', '/?'),
        ('taskkill.exe',), ('winepath.exe', '-w', '/tmp'), ('wevtutil.exe',),
        ('eject.exe', '-h'), ('extrac32.exe',), ('fsutil.exe',),
        ('certutil.exe',), ('cabarc.exe',), ('arp.exe',), ('netstat.exe',),
        ('systeminfo.exe',), ('tasklist.exe', '/?'), ('robocopy.exe', '/?'),
        ('lodctr.exe',), ('unlodctr.exe',), ('setx.exe',), ('secedit.exe',),
        ('regsvr32.exe',), ('mofcomp.exe',), ('dism.exe',), ('msidb.exe', '-?'),
        ('icinfo.exe',), ('wusa.exe',),
        ('cscript.exe', '/?'), ('wmic.exe', 'os', 'get', 'version'),
    ]
    if not programs.LONG:
        several = several[:14]
    for number, (program, *arguments) in enumerate(several):
        what = ' '.join((program, *arguments))
        environment = {'TRACER_MIN_FREE': '0'}
        plain = run(program, *arguments, TRACER_IMPORTS='*', **environment)
        directory = os.path.join(scratch, 'wine%d' % number)
        code, output, errors, session = run(
            program, *arguments, options=['--imports', '*', '--no-symbols'],
            directory=directory, **environment)
        results.equal(code, plain[0], '%s: exit code' % what)
        if arguments != ['/c', 'set']:
            results.check(output == plain[1], '%s: output' % what,
                          [output[:300], plain[1][:300], errors])
        if results.check(session, '%s: a session' % what, [errors]):
            header, _ = read_file(session)
            results.check(header[10] > 200 and header[14] == 0,
                          '%s: imports' % what, [header])
            log = [name for name in os.listdir(session)
                   if name.endswith('.log')]
            results.equal(log, [], '%s: no log' % what)
        shutil.rmtree(directory)


LATE = r'''
#include <setjmp.h>
#include <stdio.h>
#include <windows.h>
typedef int (*ROUTINE)(int);
static jmp_buf Place;
__declspec(dllimport) int Twice(int);
#ifdef HOOKS
__attribute__((noinline)) int Own(int X) { return Twice(X) + 1; }
#else
static int Own(int X) { return Twice(X) + 1; }
#endif
int main(int Count, char **Arguments)
{
    int Sum = 0;
    HMODULE Late;
    ROUTINE Thrice, Same;
    (void)Count;
    for (int Index = 0; Index < 5; Index += 1) Sum += Own(Index);
    for (int Round = 0; Round < 3; Round += 1) {
        Late = LoadLibraryA("Late.dll");
        Thrice = (ROUTINE)GetProcAddress(Late, "Thrice");
        Same = (ROUTINE)GetProcAddress(Late, (LPCSTR)1);
        if (Thrice != Same) printf("two addresses\n");
        for (int Index = 0; Index < 4; Index += 1) Sum += Thrice(Index);
        FreeLibrary(Late);
    }
    if (GetProcAddress(GetModuleHandleA("kernel32.dll"), "NoSuchName") ||
        GetLastError() != ERROR_PROC_NOT_FOUND) printf("found\n");
    for (volatile int Index = 0; Index < 3; Index += 1) {
        if (setjmp(Place) == 0) longjmp(Place, 1);
        Sum += Index;
    }
    printf("%d %s\n", Sum, Arguments[1]);
    return 0;
}
'''
TWICE = '''
__declspec(dllexport) int Twice(int X) { return 2 * X; }
__declspec(dllexport) int Data = 5;
'''
LATER = '''
__declspec(dllimport) int Twice(int);
__declspec(dllexport) int Thrice(int X) { return Twice(X) + X; }
'''


def check_late(results, scratch):
    """Modules that come and go, addresses that are asked for, ordinals; delayed
    imports; and a program with hooks of its own."""
    folder = os.path.join(scratch, 'late')
    os.makedirs(folder)
    for name, text in (('late.c', LATE), ('twice.c', TWICE),
                       ('later.c', LATER)):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)

    def gcc(*arguments):
        subprocess.run([programs.GCC, '-O1', '-w', *arguments], check=True,
                       cwd=folder)

    gcc('-shared', 'twice.c', '-o', 'Twice.dll', '-Wl,--out-implib,libtwice.a')
    with open(os.path.join(folder, 'later.def'), 'w',
              encoding='ascii') as file:
        file.write('EXPORTS\n    Thrice @1\n')
    gcc('-shared', 'later.c', 'later.def', 'libtwice.a', '-o', 'Late.dll')
    gcc('late.c', 'libtwice.a', '-o', 'Plain.exe')
    with open(os.path.join(folder, 'twice.def'), 'w',
              encoding='ascii') as file:
        file.write('LIBRARY Twice.dll\nEXPORTS\n    Twice\n')
    subprocess.run(['x86_64-w64-mingw32-dlltool', '-d', 'twice.def',
                    '--output-delaylib', 'libdelay.a'], check=True, cwd=folder)
    gcc('late.c', 'libdelay.a', '-o', 'Delayed.exe')
    gcc('-DHOOKS', *programs.PENTER_FLAGS, '-c', 'late.c', '-o', 'hooks.o')
    gcc('hooks.o', 'libtwice.a', programs.LIBRARY, '-o', 'Hooks.exe')
    shutil.copy(os.path.join(folder, 'Plain.exe'),
                os.path.join(folder, 'Bare.exe'))
    for name in ('Plain.exe', 'Delayed.exe', 'Hooks.exe', 'Bare.exe'):
        if name == 'Bare.exe':
            for image in (name, 'Late.dll'):
                programs.remove_lookups(os.path.join(folder, image))
        program = os.path.join(folder, name)
        plain = run(program, 'x', TRACER_ENABLED='0')
        code, output, errors, session = run(
            program, 'x', options=['--imports', 'twice;late;kernel32!Load'],
            directory=os.path.join(folder, name + '.out'))
        results.equal((code, output), plain[:2], '%s: output' % name)
        if not results.check(session, '%s: a session' % name, [errors]):
            continue
        seen = calls(session)
        for function, count in (('twice!Twice', 17), ('late!Thrice', 12),
                                ('kernel32!LoadLibraryA',
                                 4 if name == 'Delayed.exe' else 3)):
            results.equal(seen.get(function), count, '%s: %s' %
                          (name, function))
        if name == 'Hooks.exe':
            results.equal((seen.get('Own'), seen.get('main')), (5, 1),
                          'with hooks')
            _, text, _ = support.reader('tree', '--json', session)
            chains = {(row['function'], row['calls'], row['depth'])
                      for row in json.loads(text)['nodes']}
            results.check({('main', 1, 0), ('Own', 5, 1),
                           ('twice!Twice', 5, 2), ('late!Thrice', 12, 1),
                           ('twice!Twice', 12, 2)} <= chains,
                          'one tree', sorted(chains))


def trivial():
    """The names in the table that the DLL and the reader have."""
    with open(os.path.join(programs.ROOT, 'Imports', 'ImportsTrivial.h'),
              encoding='utf-8') as file:
        return re.findall('"([^"]*)"', file.read())


def check_document(results):
    """The document lists what is trivial, and how many that are."""
    with open(os.path.join(programs.ROOT, 'Docs', 'Imports.md'),
              encoding='utf-8') as file:
        document = file.read()
    table = trivial()
    section = re.search(r'### Trivial functions\n(.*?)\n#', document,
                        re.DOTALL)[1]
    listed = [name.strip() for names in re.findall(
        r'^- [^:]*: (.*?)(?=\n- |\n*\Z)', section, re.DOTALL | re.MULTILINE)
              for name in names.replace('\n', ' ').split(',')]
    results.check(sorted(table) == sorted(listed) and len(table) > 100,
                  'the document', sorted(set(table) ^ set(listed)))
    results.equal(re.findall(r'\*\*trivial\*\*: (\d+) functions', document),
                  [str(len(table))], 'how many are trivial')


def check_trivial(results, scratch, program, session):
    """info lists them, if some were left out; and what the document says of
    naming them."""
    note = 'These are the trivial ones'
    said = support.reader('info', session)[1]
    results.check(re.search(r'Left out, trivial +[1-9]', said),
                  'info: trivial', [said])
    listed = [line for line in said[said.index(note):].splitlines()
              if line.startswith('  ') and set(line.split()) <= set(trivial())]
    results.equal(' '.join(listed).split(), trivial(),
                  'info: which are trivial')
    results.check(max(map(len, listed)) < 80, 'info: its lines', listed)
    results.check(note not in support.reader('info', '--json', session)[1],
                  'info: no note in JSON')
    for name, lists, wanted in (
            ('other', '*', set()),
            ('named', '*;kernel32!EnterCriticalSection',
             {'EnterCriticalSection'}),
            ('none', 'counted', set())):
        session = run(program, options=['--callers', 'caller', '--imports',
                                        lists],
                      directory=os.path.join(scratch, 'trivial-' + name))[3]
        header, stubs = read_file(session)
        results.equal({what for _, whose, what, _ in stubs.values()
                       if whose == 'kernel32.dll' and
                       'EnterCrit' in str(what)}, wanted,
                      'trivial, %s: recorded' % name)
        results.equal(note in support.reader('info', session)[1],
                      header[13] != 0, 'trivial, %s: said' % name)
        results.check((header[13] == 0) == (name == 'none'),
                      'trivial, %s: left out' % name, [header])


def check_bare(results, scratch, program, counted):
    """Images without lookup tables: their slots are named by what the modules
    export that these lead to.  The control is each image as it was linked."""
    folder = os.path.join(scratch, 'bare')
    shutil.copytree(os.path.dirname(program), folder,
                    ignore=lambda _, names: [name for name in names if
                                             not name.startswith('C')])
    bare = os.path.join(folder, os.path.basename(program))
    results.check(programs.remove_lookups(bare) > 2 and
                  programs.remove_lookups(os.path.join(
                      folder, 'Counted.dll')) > 1, 'tables are gone')
    plain = run(program)
    for name, *options in (('all', '--imports', '*'),
                           ('callers', '--callers', 'CALLER'),
                           ('one', '--imports', 'counted'),
                           ('named', '--imports',
                            'counted!_Z;kernel32!DeleteCrit'),
                           ('others', '--imports', '*;-counted')):
        seen, stubs, headers = [], [], []
        for which in (program, bare):
            code, output, errors, session = run(
                which, options=options, directory=os.path.join(
                    folder, name + str(len(seen))))
            results.check((code, output) == plain[:2] and session,
                          'bare, %s: output' % name, [code, output, errors])
            results.check('nothing of --imports' not in errors,
                          'bare, %s: something is imported' % name, [errors])
            header, named = read_file(session)
            headers.append(header[9:15])
            stubs.append({(who, whose, str(what))
                          for who, whose, what, _ in named.values()})
            seen.append(calls(session))
        results.equal(headers[1], headers[0], 'bare, %s: slots' % name)
        results.equal({key: number for key, number in seen[1].items()
                       if key.startswith('counted!Function')},
                      counted if name in ('all', 'callers', 'one') else {},
                      'bare, %s: calls' % name)
        results.equal(sorted(stubs[1] - stubs[0]) +
                      sorted(stubs[0] - stubs[1]), [],
                      'bare, %s: what stubs stand for' % name)


SHARED_NAMES = r'''
int Alpha(int X) { return X + 1; }
int Nameless(int X) { return X + 2; }
int Slot(int X) { return X + 3; }
static int Hidden(int X) { return X + 4; }
void *Find(void) { return (void *)Hidden; }
'''
CHANGING = r'''
#include <stdio.h>
#include <windows.h>
__declspec(dllimport) int Beta(int);
__declspec(dllimport) int Nameless(int);
__declspec(dllimport) int Slot(int);
__declspec(dllimport) void *Find(void);
extern void *__imp_Slot;
int main(int Count, char **Arguments)
{
    int Sum = 0;
    *(void *volatile *)&__imp_Slot = Find();
    if (Count > 1 && LoadLibraryA(Arguments[1]) == NULL) return 1;
    for (int I = 0; I < 3; I += 1) Sum += Beta(I);
    for (int I = 0; I < 5; I += 1) Sum += Nameless(I);
    for (int I = 0; I < 7; I += 1) Sum += Slot(I);
    printf("%d\n", Sum);
    return 7;
}
'''


def check_nameless(results, scratch):
    """An address that has two names, one that has none but an ordinal, and one
    that nobody exports, which the program has put into a slot itself."""
    folder = os.path.join(scratch, 'nameless')
    os.makedirs(folder)
    for name, text in (('Names.c', SHARED_NAMES), ('Changing.c', CHANGING),
                       ('Names.def', 'LIBRARY Names.dll\nEXPORTS\n'
                        '    Beta = Alpha @1\n    Alpha @2\n'
                        '    Nameless @9 NONAME\n    Slot @3\n'
                        '    Find @4\n')):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
    for arguments in (('-shared', 'Names.c', 'Names.def', '-o', 'Names.dll',
                       '-Wl,--out-implib,libNames.a'),
                      ('Changing.c', 'libNames.a', '-o', 'Changing.exe')):
        subprocess.run([programs.GCC, '-O1', '-w', *arguments], check=True,
                       cwd=folder)
    program = os.path.join(folder, 'Changing.exe')
    dll = programs.windows_path(os.path.join(programs.BIN,
                                             'TracerImports.dll'))
    headers = []
    for what, expected in (
            ('tables', {'names!Beta': 3, 'names!#9': 5, 'names!Slot': 7}),
            ('no tables', {'names!Alpha': 3, 'names!#9': 5})):
        if what == 'no tables':
            programs.remove_lookups(program)
        directory = os.path.join(folder, what.replace(' ', ''))
        os.makedirs(directory)
        code, output, errors, _ = run(
            program, dll, TRACER_IMPORTS='names',
            TRACER_DIRECTORY=programs.windows_path(directory))
        results.equal((code, output.split()), (7, [b'%d' % (3 + 3 + 10 + 10 +
                                                            21 + 28)]),
                      '%s: output: %s' % (what, errors))
        session, = (os.path.join(directory, name)
                    for name in os.listdir(directory))
        results.equal(calls(session), expected, '%s: names' % what)
        headers.append(read_file(session)[0][9:15])
    # asked for, patched, left out: data, never, trivial, no stub
    results.equal(headers, [(4, 4, 0, 0, 0, 0), (4, 3, 1, 0, 0, 0)],
                  'a slot without a name is counted')


UNFILLED = r'''
#include <stdio.h>
#include <windows.h>
int main(int Count, char **Arguments)
{
    char *Base = (char *)LoadLibraryExA("Late.dll", NULL,
        Count > 1 ? 0 : DONT_RESOLVE_DLL_REFERENCES);
    IMAGE_NT_HEADERS64 *Headers =
        (IMAGE_NT_HEADERS64 *)(Base + ((IMAGE_DOS_HEADER *)Base)->e_lfanew);
    IMAGE_IMPORT_DESCRIPTOR *Import = (IMAGE_IMPORT_DESCRIPTOR *)
        (Base + Headers->OptionalHeader.DataDirectory[1].VirtualAddress);
    unsigned long long Slot, Size = Headers->OptionalHeader.SizeOfImage;
    int Filled = 0, Unfilled = 0;
    LoadLibraryA("version.dll");
    GetProcAddress(GetModuleHandleA("kernel32.dll"), "Beep");
    for (; Import->Name != 0; Import += 1)
        for (int I = 0; ; I += 1) {
            Slot = ((unsigned long long *)(Base + Import->FirstThunk))[I];
            if (Slot == 0) break;
            if (Slot < Size) Unfilled += 1; else Filled += 1;
        }
    printf("%d %d\n", Filled, Unfilled);
    return 0;
}
'''


def check_unfilled(results, scratch):
    """Slots that the loader has not filled stay as they are, and are not
    counted, with lookup tables and without.  The control is the same DLL, loaded
    as usual."""
    for folder, is_bare in (('unfilled', False), ('unfilledbare', True)):
        folder = os.path.join(scratch, folder)
        os.makedirs(folder)
        for name, text in (('twice.c', TWICE), ('later.c', LATER),
                           ('unfilled.c', UNFILLED)):
            with open(os.path.join(folder, name), 'w',
                      encoding='ascii') as file:
                file.write(text)
        for arguments in (('-shared', 'twice.c', '-o', 'Twice.dll',
                           '-Wl,--out-implib,libtwice.a'),
                          ('-shared', 'later.c', 'libtwice.a', '-o',
                           'Late.dll'), ('unfilled.c', '-o', 'Unfilled.exe')):
            subprocess.run([programs.GCC, '-O1', '-w', *arguments], check=True,
                           cwd=folder)
        if is_bare:
            programs.remove_lookups(os.path.join(folder, 'Late.dll'))
        program = os.path.join(folder, 'Unfilled.exe')
        asked, counts = [], []
        for number, arguments in enumerate(((), ('filled',))):
            plain = run(program, *arguments)
            code, output, errors, session = run(
                program, *arguments, options=['--callers', 'late;unfilled'],
                directory=os.path.join(folder, 'traces%d' % number))
            results.check((code, output) == plain[:2] and session,
                          'unfilled: output', [code, output, plain, errors])
            asked.append(read_file(session)[0][9])
            counts.append([int(word) for word in output.split()])
        results.check(counts[0][0] == counts[1][1] == 0 and
                      counts[0][1] == counts[1][0] > 5,
                      'unfilled: slots', counts)
        results.equal(asked[1] - asked[0], counts[0][1],
                      'unfilled: what is asked for')


PLUG = r'''
#include <windows.h>
__attribute__((noinline)) int Inner(int X) { Sleep(0); return X + 1; }
__declspec(dllexport) int Plug(int X)
{
    int Sum = 0;
    for (int Index = 0; Index < X; Index += 1) Sum += Inner(Index);
    return Sum;
}
'''
HOST = r'''
#include <stdio.h>
#include <windows.h>
__attribute__((noinline)) int Own(HMODULE Module)
{
    return ((int (*)(int))GetProcAddress(Module, "Plug"))(10);
}
static DWORD WINAPI Thread(void *Parameter) { return Own(Parameter); }
int main(void)
{
    int Sum = 0;
    for (int Round = 0; Round < 3; Round += 1) {
        HANDLE Threads[4];
        HMODULE Module = LoadLibraryA("Plug.dll");
        Sum += Own(Module);
        for (int I = 0; I < 4; I += 1)
            Threads[I] = CreateThread(NULL, 0, Thread, Module, 0, NULL);
        WaitForMultipleObjects(4, Threads, TRUE, INFINITE);
        for (int I = 0; I < 4; I += 1) CloseHandle(Threads[I]);
        FreeLibrary(Module);
    }
    printf("%d\n", Sum);
    return 5;
}
'''


def check_beside(results, scratch):
    """A DLL with hooks that is loaded late, three times, by a program with
    hooks and by one without: its functions, its imports, and what is called in
    it by its import's name; the library in it gets the system's routines."""
    folder = os.path.join(scratch, 'beside')
    os.makedirs(folder)
    for name, text in (('plug.c', PLUG), ('host.c', HOST)):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
        subprocess.run([programs.GCC, '-O1', '-w', *programs.PENTER_FLAGS,
                        '-c', name], check=True, cwd=folder)
    for arguments in (['-shared', 'plug.o', programs.LIBRARY, '-o',
                       'Plug.dll'],
                      ['host.o', programs.LIBRARY, '-o', 'Hooked.exe'],
                      ['-O1', '-w', 'host.c', '-o', 'Plain.exe']):
        subprocess.run([programs.GCC, *arguments], check=True, cwd=folder)
    for name in ('Hooked.exe', 'Plain.exe'):
        program = os.path.join(folder, name)
        plain = run(program, TRACER_ENABLED='0')
        for mode in ('file', 'tree', 'compact'):
            what = '%s, %s' % (name, mode)
            code, output, errors, session = run(
                program, options=['--imports', '*', '--mode', mode],
                directory=os.path.join(folder, name + mode))
            results.equal((code, output), plain[:2], '%s: output' % what)
            expected = {'Plug': 15, 'Inner': 150, 'kernel32!Sleep': 150,
                        'plug!Plug': 15, 'kernel32!LoadLibraryA': 3,
                        'kernel32!FreeLibrary': 3}
            if name == 'Hooked.exe':
                expected.update({'main': 1, 'Own': 15})
            seen = calls(session)
            results.equal(programs.differences(expected, {
                key: seen.get(key) for key in expected}), [],
                '%s: calls' % what)
            results.check('\n  2' not in errors, '%s: no log' % what, [errors])
            # None is lost, and the library's own work is no call.
            results.check(not any(key.startswith('ntdll!NtCreateSection')
                                  for key in seen),
                          '%s: the library\'s work' % what, sorted(seen))


FLOW = r'''
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
static jmp_buf Place;
static void *MainFiber, *Other;
static int Sorts, Switches, Raises, Seen, Compared, Walked, Hops;
int main(int Count, char **Arguments);
static int Compare(const void *A, const void *B)
{
    Compared += 1;
    return *(const int *)A - *(const int *)B;
}
static int Leave(const void *A, const void *B)
{
    longjmp(Place, 1);
}
static void Sort(int (*Routine)(const void *, const void *))
{
    int List[8] = { 5, 3, 8, 1, 9, 2, 7, 4 };
    Sorts += 1;
    qsort(List, 8, sizeof(List[0]), Routine);
    if (Routine == Compare && (List[0] != 1 || List[7] != 9)) printf("no\n");
}
static void Hop(void *To)
{
    Switches += 1;
    SwitchToFiber(To);
}
static int HopAway(const void *A, const void *B)
{
    Hop(Other);
    return Compare(A, B);
}
static int Walk(const void *A, const void *B)
{
    void *Frames[60];
    int Number = RtlCaptureStackBackTrace(0, 60, Frames, NULL);
    char *First = (char *)main;
    while (Number-- > 0) {
        Walked += (char *)Frames[Number] >= First &&
                  (char *)Frames[Number] < First + 0x600;
    }
    return Compare(A, B);
}
static int Crash(const void *A, const void *B)
{
    return *(volatile int *)16;
}
static void CALLBACK Fiber(void *Parameter)
{
    for (;;) {
        Hops += 1;
        Sort(Compare);
        Hop(MainFiber);
    }
}
static LONG CALLBACK Handler(EXCEPTION_POINTERS *Pointers)
{
    if (Pointers->ExceptionRecord->ExceptionCode == 0xE0001234) {
        Seen += 1;
        return EXCEPTION_CONTINUE_EXECUTION;
    }
    return EXCEPTION_CONTINUE_SEARCH;
}
static DWORD WINAPI Thread(void *Parameter)
{
    Sleep(1);
    return 3;
}
int main(int Count, char **Arguments)
{
    AddVectoredExceptionHandler(1, Handler);
    for (volatile int Index = 0; Index < 1000; Index += 1) {
        if (setjmp(Place) == 0) Sort(Leave);
    }
    MainFiber = ConvertThreadToFiber(NULL);
    Other = CreateFiber(0, Fiber, NULL);
    for (int Index = 0; Index < 50; Index += 1) Sort(HopAway);
    Sort(Walk);
    for (int Index = 0; Index < 200; Index += 1) {
        Raises += 1;
        RaiseException(0xE0001234, 0, 0, NULL);
    }
    for (int Index = 0; Index < 100; Index += 1) {
        HANDLE New = CreateThread(NULL, 0, Thread, NULL, 0, NULL);
        WaitForSingleObject(New, INFINITE);
        CloseHandle(New);
    }
    printf("%d %d %d %d\n", Seen, Compared, Walked > 0, Hops);
    printf("count msvcrt!qsort %d\n", Sorts);
    printf("count kernel32!SwitchToFiber %d\n", Switches);
    printf("count kernel32!RaiseException %d\n", Raises);
    printf("count kernel32!Sleep 100\ncount kernel32!CreateThread 100\n");
    printf("count msvcrt!longjmp 1000\n");
    fflush(stdout);
    if (Arguments[1][0] == 'c') Sort(Crash);
    if (Arguments[1][0] == 'e') ExitThread(9);
    if (Arguments[1][0] == 't') TerminateProcess(GetCurrentProcess(), 11);
    return 0;
}
'''


def check_flow(results, scratch):
    """What leaves frames without a return, runs on other stacks, or ends."""
    folder = os.path.join(scratch, 'flow')
    os.makedirs(folder)
    with open(os.path.join(folder, 'flow.c'), 'w', encoding='ascii') as file:
        file.write(FLOW)
    subprocess.run([programs.GCC, '-O1', '-w', 'flow.c', '-o', 'Flow.exe'],
                   check=True, cwd=folder)
    program = os.path.join(folder, 'Flow.exe')
    for way in ('return', 'crash', 'exit', 'terminate'):
        plain = run(program, way)
        for number, options in enumerate((
                ['--imports', '*'], ['--callers', 'flow.exe'],
                ['--imports', '*', '--mode', 'tree'])):
            what = '%s %s' % (way, ' '.join(options))
            code, output, errors, session = run(
                program, way, options=options,
                directory=os.path.join(folder, '%s%d' % (way, number)))
            results.equal((code, output), plain[:2], '%s: output' % what)
            if not results.check(session and b'200 ' in output,
                                 '%s: a session' % what, [errors]):
                continue
            counted = {name.decode(): int(count) for name, count in re.findall(
                rb'count (\S+) (\d+)', output)}
            if way == 'crash':
                counted['msvcrt!qsort'] += 1
            seen = calls(session)
            if '--callers' not in options:
                # msvcrt's own calls are among these.
                seen = {name: seen.get(name) for name in counted}
            results.equal(programs.differences(counted, {
                name: seen.get(name) for name in counted}), [],
                '%s: calls' % what)
            stores = [name for name in os.listdir(session)
                      if name.endswith('.trace')]
            # When the last thread has ended it is the library's that ends the
            # process, and what DLLs do then is done on it.
            more = {0, 1} if way == 'exit' else {0}
            results.check(len(stores) - 101 in more,
                          '%s: a store a thread' % what, [len(stores)])


# What a call finds in the registers: the DLL writes them down, the program fills
# them, 32 bytes of each vector, and prints both what arrived and what came
# back.  rax and r11 are nobody's.
REGISTERS_DLL = r"""
#include <stdint.h>
__declspec(dllexport) uint64_t SeenGeneral[16], SeenVectors[16][4];
__declspec(dllexport) uint64_t SeenFirst, SeenLast;
__asm__(".text\n.globl Registers\n"
        ".section .drectve,\"yn\"\n.ascii \" -export:Registers\"\n.text\n"
        "Registers:\n"
        "movq 0x28(%rsp), %rax\nmovq %rax, SeenFirst(%rip)\n"
        "movq 0xa8(%rsp), %rax\nmovq %rax, SeenLast(%rip)\n"
        "leaq SeenGeneral(%rip), %rax\n"
        "movq %rcx, (%rax)\nmovq %rdx, 8(%rax)\nmovq %r8, 16(%rax)\n"
        "movq %r9, 24(%rax)\nmovq %r10, 32(%rax)\nmovq %rbx, 40(%rax)\n"
        "movq %rbp, 48(%rax)\nmovq %rsi, 56(%rax)\nmovq %rdi, 64(%rax)\n"
        "movq %r12, 72(%rax)\nmovq %r13, 80(%rax)\nmovq %r14, 88(%rax)\n"
        "movq %r15, 96(%rax)\n"
        "leaq SeenVectors(%rip), %rax\n"
        VECTORS
        "ret\n");
"""

REGISTERS_EXE = r"""
#include <stdint.h>
#include <stdio.h>
__declspec(dllimport) extern uint64_t SeenGeneral[16], SeenVectors[16][4];
__declspec(dllimport) extern uint64_t SeenFirst, SeenLast;
__declspec(dllimport) void Registers(void);
__attribute__((used)) volatile uint64_t In[16][4], Out[16][4];
static void Call(void *Routine)
{
    __asm__ volatile(
        "pushq %%rbx\npushq %%rbp\npushq %%rsi\npushq %%rdi\npushq %%r12\n"
        "pushq %%r13\npushq %%r14\npushq %%r15\nmovq %%rsp, %%r15\n"
        "subq $0x210, %%rsp\nandq $-16, %%rsp\nmovq %%r15, 0x200(%%rsp)\n"
        "movq $0x1111, 0x20(%%rsp)\nmovq $0x2222, 0xa0(%%rsp)\n"
        LOADS
        "movq %%rcx, %%rax\n"
        "movl $1, %%ecx\nmovl $2, %%edx\nmovl $8, %%r8d\nmovl $9, %%r9d\n"
        "movl $10, %%r10d\nmovl $3, %%ebx\nmovl $5, %%ebp\nmovl $6, %%esi\n"
        "movl $7, %%edi\nmovl $12, %%r12d\nmovl $13, %%r13d\n"
        "movl $14, %%r14d\nmovl $15, %%r15d\n"
        "callq *%%rax\n"
        "movq 0x200(%%rsp), %%rsp\n"
        "popq %%r15\npopq %%r14\npopq %%r13\npopq %%r12\npopq %%rdi\n"
        "popq %%rsi\npopq %%rbp\npopq %%rbx\n"
        STORES
        : "+c"(Routine) : : "rax", "rdx", "r8", "r9", "r10", "r11", "memory",
          "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
          "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
int main(void)
{
    unsigned Index, Part;
    for (Index = 0; Index < 64; Index += 1) {
        In[Index / 4][Index % 4] = 0x9e3779b97f4a7c15ull * (Index + 1);
    }
    Call((void *)Registers);
    for (Index = 0; Index < 13; Index += 1) {
        printf("general %u %llu\n", Index,
               (unsigned long long)SeenGeneral[Index]);
    }
    for (Index = 0; Index < 16; Index += 1) {
        for (Part = 0; Part < WORDS; Part += 1) {
            printf("vector %u.%u %d %d\n", Index, Part,
                   SeenVectors[Index][Part] == In[Index][Part],
                   Out[Index][Part] == In[Index][Part]);
        }
    }
    printf("stack %llx %llx\n", (unsigned long long)SeenFirst,
           (unsigned long long)SeenLast);
    return 0;
}
"""


def check_registers(results, scratch):
    """All registers, and the arguments on the stack, reach the function as the
    caller left them, and come back as the function left them."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        has_avx = ' avx ' in file.read()
    move, name, words = (('vmovups', 'ymm', 4) if has_avx else
                         ('movups', 'xmm', 2))
    folder = os.path.join(scratch, 'registers')
    os.makedirs(folder)

    def lines(shape):
        return '\n'.join('        "%s\\n"' % (shape % {
            'move': move, 'register': '%s%d' % (name, index),
            'offset': 32 * index}) for index in range(16))

    texts = {
        'Registers.c': REGISTERS_DLL.replace('VECTORS', lines(
            '%(move)s %%%(register)s, %(offset)d(%%rax)')),
        'Fill.c': REGISTERS_EXE.replace('LOADS', lines(
            '%(move)s In+%(offset)d(%%%%rip), %%%%%(register)s')).replace(
                'STORES', lines('%(move)s %%%%%(register)s, '
                                'Out+%(offset)d(%%%%rip)')).replace(
                                    'WORDS', str(words))}
    for name_of, text in texts.items():
        with open(os.path.join(folder, name_of), 'w',
                  encoding='ascii') as file:
            file.write(text)
    subprocess.run([GXX, '-x', 'c', '-O1', '-shared', 'Registers.c', '-o',
                    'Registers.dll', '-Wl,--out-implib,libRegisters.a'],
                   check=True, cwd=folder)
    subprocess.run([GXX, '-x', 'c', '-O1', 'Fill.c', '-x', 'none', 'libRegisters.a', '-o',
                    'Fill.exe'], check=True, cwd=folder)
    program = os.path.join(folder, 'Fill.exe')
    plain = run(program)
    expected = ['general %d %d' % pair for pair in enumerate(
        (1, 2, 8, 9, 10, 3, 5, 6, 7, 12, 13, 14, 15))] + [
            'vector %d.%d 1 1' % (index, part) for index in range(16)
            for part in range(words)] + ['stack 1111 2222']
    results.equal(plain[1].decode().replace('\r', '').split('\n')[:-1],
                  expected, 'registers: by itself')
    code, output, errors, session = run(
        program, options=['--imports', 'registers'],
        directory=os.path.join(folder, 'traces'))
    results.check(code == 0 and session, 'registers: a session', [errors])
    results.equal(output.decode().replace('\r', '').split('\n')[:-1], expected,
                  'registers: through a stub')
    results.equal(calls(session).get('registers!Registers'), 1,
                  'registers: recorded')


def check_refused(results, scratch, program):
    """What cannot be done is said, and the program runs or does not."""
    plain = run(program)
    alone = os.path.join(scratch, 'alone')
    os.makedirs(alone)
    reader = shutil.copy(programs.READER, alone)
    code, output, errors, session = run(
        program, options=['--imports', '*'], reader=reader,
        directory=os.path.join(scratch, 'refused'))
    results.check(code == 1 and not output and 'TracerImports.dll' in errors,
                  'without the DLL', [code, output, errors])

    # What is no DLL is not loaded, and the program runs all the same.
    with open(os.path.join(alone, 'TracerImports.dll'), 'wb') as file:
        file.write(b'MZ no image')
    code, output, errors, session = run(
        program, options=['--imports', '*'], reader=reader,
        directory=os.path.join(scratch, 'broken'))
    results.check((code, output) == plain[:2] and
                  'no imports were recorded' in errors and session is None,
                  'a broken DLL', [code, output[:100], errors])
    code, output, errors, session = run(
        program, options=['--imports', '*'],
        directory=os.path.join(scratch, 'off'), TRACER_ENABLED='0')
    results.check((code, output) == plain[:2] and session is None and
                  'no imports were recorded' in errors, 'TRACER_ENABLED=0',
                  [code, errors])
    code, output, errors, session = run(
        program, options=['--modules', 'nothing', '--imports', 'counted'],
        directory=os.path.join(scratch, 'modules'))
    results.check(code == 42 and session and calls(session),
                  '--modules has no say', [code, errors])
    code, output, errors, session = run(
        program, options=['--mode', 'file'],
        directory=os.path.join(scratch, 'none'))
    results.check((code, output) == plain[:2] and session is None,
                  'without lists', [code, errors])
    for options, said in ((['--imports', 'kernel23'], True),
                          (['--imports', 'kernel32'], False)):
        _, _, errors, _ = run(program, options=options, directory=os.path.join(
            scratch, options[1]))
        results.equal('nothing of --imports' in errors, said,
                      '%s: said' % options)
    for value in ('a"b', 'kernel32;-', 'a\\b', 'a|b'):
        code, output, errors, session = run(
            program, options=['--imports', value],
            directory=os.path.join(scratch, 'bad%d' % len(value)))
        shutil.rmtree(os.path.join(scratch, 'bad%d' % len(value)))
        results.check(code == 1 and not output, 'refused: %s' % value,
                      [code, errors])


RELAY = '''
local t = {} for i = 1, 2000 do t[i] = string.rep("x", i % 50) end
local f = io.open("out.txt", "w")
for i = 1, 500 do f:write(i, "\\n") f:flush() end f:close()
local n = 0 for l in io.lines("out.txt") do n = n + #l end
for i = 1, 100 do pcall(error, "x") end
print(n, #t)
'''


def check_relay(results, scratch):
    """Lua, built without any switch: Wine's own log of calls from one module
    to another (WINEDEBUG=+relay) counts the same."""
    source = programs.find_lua()
    if source is None:
        results.skip('there is no Lua')
        return
    folder = os.path.join(scratch, 'lua')
    program = programs.build_lua(folder, source, [])
    script = os.path.join(folder, 'test.lua')
    with open(script, 'w', encoding='ascii') as file:
        file.write(RELAY.replace('out.txt',
                                 os.path.join(folder, 'out.txt')))
    log = os.path.join(folder, 'relay.log')
    with open(log, 'wb') as file:
        programs.watch.run([programs.WINE, program,
                            programs.windows_path(script)],
                           stdin=subprocess.DEVNULL, stderr=file,
                           stdout=subprocess.DEVNULL,
                           env=dict(support.environment(),
                                    WINEDEBUG='+relay'))
    counts, threads = {}, collections.Counter()
    with open(log, encoding='utf-8', errors='replace') as file:
        for line in file:
            match = re.match(r'(\w+):Call (\w+)\.(?:dll\.)?(\w+)\(.*'
                             r'ret=140', line)
            if match:
                name = '%s!%s' % (match[2].lower(), match[3])
                seen = counts.setdefault(match[1], collections.Counter())
                seen[name] += 1
                threads[match[1]] += match[2] == 'msvcrt'
    expected = counts[threads.most_common(1)[0][0]]
    # Of a forwarder the log has the name that it leads to; and that one is
    # called before the program begins.
    names = {name for name in expected if not name.startswith('ntdll!')}
    code, _, errors, session = run(
        program, programs.windows_path(script), options=[
            '--callers', 'lua.exe', '--imports',
            '*;' + ';'.join(sorted(names))],
        directory=os.path.join(scratch, 'relay'))
    results.equal(code, 0, 'Lua: %s' % errors)
    seen = {name: number for name, number in calls(session).items()
            if name in names}
    results.check(len(names) > 30 and expected['msvcrt!memcpy'] > 10000 and
                  expected['msvcrt!fwrite'] > 500, 'Lua: the log', [expected])
    results.equal(programs.differences(
        {name: expected[name] for name in names}, seen), [],
        'Lua: calls, and Wine\'s own log')


OTHERS = r'''
#include <windows.h>
#include <stdio.h>

static void Tell(const char *name)
{
    HMODULE module = NULL;
    char path[MAX_PATH], *end;

    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                       GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (char *)GetProcAddress(GetModuleHandleA("kernel32"),
                                              name), &module);
    GetModuleFileNameA(module, path, MAX_PATH);
    end = strrchr(path, '\\');
    printf("%s %s\n", name, end ? end + 1 : path);
}

int main(void)
{
    Tell("LoadLibraryA");
    Tell("LoadLibraryW");
    Tell("FreeLibrary");
    Tell("ExitThread");
    Tell("Sleep");
    Sleep(1);
    return 0;
}
'''


def check_others(results, scratch):
    """Addresses that programs give to other processes are the functions' own;
    and lists of any length."""
    source = os.path.join(scratch, 'Others.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(OTHERS)
    program = os.path.join(scratch, 'Others.exe')
    subprocess.run([programs.GCC, source, '-o', program], check=True)
    _, plain, _, _ = run(program)
    _, text, _, session = run(program, options=('--callers', 'others'),
                              directory=os.path.join(scratch, 'others'))
    rows, told = (dict(line.split() for line in one.decode().splitlines())
                  for one in (plain, text))
    results.check(told.pop('Sleep').lower() == 'tracerimports.dll' and
                  rows.pop('Sleep').lower() != 'tracerimports.dll',
                  'control: a stub', [text])
    results.check(told == rows and len(rows) == 4, 'whose address it is',
                  [told, rows])
    results.equal(calls(session)['kernel32!Sleep'], 1, 'one call of Sleep')
    for number in 1100, 1900:
        names = ';'.join('%s!Fn%04d' % ('kernel32', place)
                         for place in range(number))
        _, _, errors, session = run(
            program, options=('--imports', names + ';kernel32!Sleep'),
            directory=os.path.join(scratch, 'many%d' % number))
        if results.check(session, '%d names' % number, [errors]):
            results.equal(calls(session), {'kernel32!Sleep': 1},
                          '%d names: what was called' % number)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program, counted = check_generated(results, scratch, 1, 40)
        if programs.LONG:
            for seed in range(2, 12):
                check_generated(results, scratch, seed, 200)
        check_document(results)
        check_files(results, scratch, program)
        check_ini(results, scratch, program, counted)
        check_late(results, scratch)
        check_bare(results, scratch, program, counted)
        check_nameless(results, scratch)
        check_unfilled(results, scratch)
        check_others(results, scratch)
        check_beside(results, scratch)
        check_flow(results, scratch)
        check_registers(results, scratch)
        check_refused(results, scratch, program)
        check_relay(results, scratch)
        check_wine(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

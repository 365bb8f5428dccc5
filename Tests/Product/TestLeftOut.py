#!/usr/bin/env python3
"""A list of modules that fits none of the process's: the process says so in a
log at its end, and TraceReader run repeats it.

A program and two DLLs, which it loads on demand; which of them are recorded, or
say something, is known from the list alone.
"""

import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

LIBRARY_SOURCE = '__declspec(dllexport) int Part(int Value) {return Value + 1;}'
SOURCE = r'''
#include <windows.h>
#include <stdio.h>

int Own(int Value)
{
    return Value * 2;
}

static DWORD WINAPI Leave(void *Unused)
{
    (void)Unused;
    Own(1);
    ExitProcess(0);
}

int main(int Count, char **Arguments)
{
    int Sum = 0;
    for (int Index = 1; Index < Count; Index++) {
        if (Arguments[Index][0] == '/') {
            SetCurrentDirectoryA(Arguments[Index][1] ? Arguments[Index] + 1 :
                                 "C:\\");
        } else if (Arguments[Index][0] == '!') {
            TerminateProcess(GetCurrentProcess(), 0);
        } else if (Arguments[Index][0] == '?') {
            CreateThread(NULL, 0, Leave, NULL, 0, NULL);
            Sleep(INFINITE);
        } else {
            HMODULE Module = LoadLibraryA(Arguments[Index]);
            int (*Part)(int) = (int (*)(int))GetProcAddress(Module, "Part");
            Sum += Part(Own(Index));
        }
    }
    printf("%d\n", Sum);
    return 0;
}
'''
LINE = re.compile(
    r'Tracer: (\S+) \(process \d+, thread \d+\): reading TRACER_MODULES: (.*): '
    r'0xC0000225 \(STATUS_NOT_FOUND\); none of these is how the name of this '
    r'module begins, and nothing of the process is recorded; '
    r'TRACER_MODULES=(\S+) records this module$', re.M)

ALL = ('one.dll', 'two.dll')
# (list, arguments, modules that are recorded, modules that may say something)
CASES = [
    ('nosuch', ALL, (), ('main.exe', 'one.dll', 'two.dll')),
    ('nosuch;-third', ALL, (), ('main.exe', 'one.dll', 'two.dll')),
    ('nosuch', (), (), ('main.exe', )),
    ('ain;ne.dll', ALL, (), ('main.exe', 'one.dll', 'two.dll')),
    ('nosuch;-main', ('one.dll', ), (), ('one.dll', )),
    ('nosuch', ('one.dll', '/'), (), ('main.exe', 'one.dll')),
    ('two', ALL, ('two.dll', ), ()),
    ('ONE;two', ALL, ('one.dll', 'two.dll'), ()),
    ('main', ALL, ('main.exe', ), ()),
    ('two', ALL + ('/', ), ('two.dll', ), ()),
    ('-third', ALL, ('main.exe', 'one.dll', 'two.dll'), ()),
    ('-main;-one;-two', ALL, (), ()),
    ('nosuch;-main', (), (), ()),
    ('nosuch', ('!', ), (), ()),
]


def build(scratch):
    """The program; its DLLs lie beside it."""
    def compile(name, text, *libraries):
        source = os.path.join(scratch, name + '.c')
        with open(source, 'w', encoding='ascii') as file:
            file.write(text)
        return source, [programs.LIBRARY, *libraries]
    folder = os.path.join(scratch, 'program')
    source, libraries = compile('main', SOURCE)
    program = programs.build(folder, [source], programs.PENTER_FLAGS,
                             'main.exe', libraries)
    for name in 'one', 'two':
        source, libraries = compile(name, LIBRARY_SOURCE, '-shared')
        made = programs.build(os.path.join(scratch, name), [source],
                              programs.PENTER_FLAGS, name + '.dll', libraries)
        os.rename(made, os.path.join(folder, name + '.dll'))
    return program


def take_logs():
    """The logs without a session: their texts; they are removed."""
    prefix = (os.environ.get('TRACER_WINE_PREFIX') or
              os.path.join(programs.ROOT, 'x64', 'Wine'))
    texts = []
    for pattern in ('users/*/Temp', 'users/*/AppData/Local/Temp'):
        for name in 'main.exe', 'one.dll', 'two.dll':
            for path in glob.glob(os.path.join(
                    prefix, 'drive_c', pattern, 'Tracer-%s-*.log' % name)):
                with open(path, encoding='utf-8', newline='') as file:
                    texts.append(file.read().replace('\r\n', '\n'))
                os.remove(path)
    return texts


def check_cases(results, scratch, program):
    for number, (modules, arguments, recorded, told) in enumerate(CASES):
        for where in 'absolute', 'relative':
            what = '%s, %s, %s' % (modules, ' '.join(arguments), where)
            folder = os.path.join(scratch, '%s%d' % (where, number))
            os.makedirs(folder)
            take_logs()
            directory = os.path.join(folder, 'traces')
            code, _ = support.run(
                program, *arguments, cwd=folder,
                TRACER_DIRECTORY=programs.windows_path(directory)
                if where == 'absolute' else 'traces', TRACER_MODULES=modules)
            logs = take_logs()
            results.equal(code, 0, what + ': exit code')
            names = {os.path.basename(path).split('-')[0]
                     for path in support.stores(directory)}
            results.equal(names, set(recorded), what + ': recorded')
            said = [match for text in logs for match in LINE.findall(text)]
            results.equal(sorted(said),
                          sorted((name, modules, name) for name in told),
                          what + ': said')
            results.equal(sum(text.count('\n') for text in logs), len(told),
                          what + ': nothing else is said')
            if not recorded:
                results.check(not os.path.exists(directory),
                              what + ': nothing else is left')


def check_thread(results, scratch, program):
    """Another thread than the first one ends the process.  Where no callback
    of the program is called then, nobody is there to say it."""
    take_logs()
    code, _ = support.run(program, '?', cwd=scratch, TRACER_MODULES='nosuch')
    logs = take_logs()
    results.check(code == 0 and len(logs) <= 1, 'another thread ends it', logs)


def check_run(results, scratch, program):
    """TraceReader run says it, beside what it says anyway."""
    for modules, line in ('nosuch', True), ('-main', False):
        what = 'run --modules ' + modules
        directory = os.path.join(scratch, 'run' + modules)
        take_logs()
        code, _, errors = support.reader(
            'run', '--modules=' + modules, '--directory',
            programs.windows_path(directory), program)
        results.check(code == 0 and 'left no session' in errors and
                      'TRACER_MODULES=%s may leave it out' % modules in errors,
                      what + ': no session', [code, errors])
        results.equal(LINE.findall(errors),
                      [('main.exe', modules, 'main.exe')] if line else [],
                      what + ': the log')
        take_logs()


def check_ini(results, scratch, program):
    """A list of an ini file is named with its place."""
    path = os.path.join(scratch, 'list.ini')
    with open(path, 'w', encoding='ascii') as file:
        file.write('; a list\n[modules]\nnosuch\n')
    take_logs()
    support.run(program, cwd=scratch,
                TRACER_CONFIG=programs.windows_path(path))
    logs = take_logs()
    results.check(len(logs) == 1 and 'list.ini, line 3: nosuch: 0xC0000225'
                  in logs[0], 'ini file', logs)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = build(scratch)
        check_cases(results, scratch, program)
        check_thread(results, scratch, program)
        check_run(results, scratch, program)
        check_ini(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

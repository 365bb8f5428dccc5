#!/usr/bin/env python3
"""TracerImports.dll comes into a program that runs, and goes: attach, detach.

The program (Tests/Programs/Held.c) has four threads that call a DLL which
counts its calls itself, and check their results and last errors.  It compares
all import slots of all its modules, and their protection, with what they were
at its start.  Controls: while it is attached slots differ, GetProcAddress gives
something else, calls are recorded; and a program that nobody attaches to.
"""
# Takes long.

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import programs                                              # noqa: E402

THREADS = 4
ROUNDS = 1000 if programs.LONG else 30
KILLS = 60 if programs.LONG else 10
ORDERS = 40
PAIRS = 30 if programs.LONG else 5

COUNTED = r'''
#include <windows.h>
static volatile LONG64 Calls[2];
__declspec(dllexport) int Twice(int X)
{ InterlockedIncrement64(&Calls[0]); return 2 * X; }
__declspec(dllexport) double Half(double X, int A, int B, int C, int D, int E)
{ InterlockedIncrement64(&Calls[1]); return X * 0.5 + A + B + C + D + E; }
__declspec(dllexport) long long CallsOf(int Function)
{ return Calls[Function]; }
'''
LATE = r'''
#include <windows.h>
__declspec(dllimport) int Twice(int X);
__declspec(dllexport) int LateTwice(int X)
{ SetLastError(5); return GetLastError() == 5 ? Twice(X) : 0; }
'''
LAUNCH = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
static int Variables(void)
{
    char *Strings = GetEnvironmentStringsA();
    int Number = 0;
    for (; *Strings != 0; Strings += strlen(Strings) + 1)
        Number += strncmp(Strings, "TRACER_", 7) == 0;
    return Number;
}
/* Starts this program, suspended or not, and gives its exit code. */
static int Launch(const char *Program, int Depth, int Suspended, int Own)
{
    STARTUPINFOA Startup = { sizeof(Startup) };
    PROCESS_INFORMATION Process;
    DWORD Code = 0;
    char Line[512], Environment[512];
    sprintf(Line, "\"%s\" %d", Program, Depth);
    sprintf(Environment, "SystemRoot=%s%cA=1%c", getenv("SystemRoot"), 0, 0);
    SetLastError(4711);
    if (!CreateProcessA(NULL, Line, NULL, NULL, FALSE,
                        Suspended ? CREATE_SUSPENDED : 0,
                        Own ? Environment : NULL, NULL, &Startup, &Process))
        return -(int)GetLastError();
    if (Suspended) {
        if (WaitForSingleObject(Process.hProcess, 300) != WAIT_TIMEOUT)
            return -1;
        if (ResumeThread(Process.hThread) != 1) return -2;
    }
    WaitForSingleObject(Process.hProcess, INFINITE);
    GetExitCodeProcess(Process.hProcess, &Code);
    CloseHandle(Process.hProcess);
    CloseHandle(Process.hThread);
    return (int)Code;
}
int main(int Count, char **Arguments)
{
    char Line[256], Path[MAX_PATH], Other[64], *Name;
    int Depth, Suspended, Own, Words;
    GetModuleFileNameA(NULL, Path, sizeof(Path));
    if (Count > 1) {
        for (int I = 0; I < 5; I += 1) Sleep(0);
        Depth = atoi(Arguments[1]);
        return (Depth == 0 ? 40 : Launch(Path, Depth - 1, Depth & 1, 0)) +
               1000 * Variables();
    }
    printf("%lu\n", GetCurrentProcessId());
    fflush(stdout);
    while (fgets(Line, sizeof(Line), stdin) != NULL) {
        Words = sscanf(Line, "%d %d %d %63s", &Depth, &Suspended, &Own, Other);
        if (Words < 3) break;
        /* Another program of this folder. */
        if (Words == 4 && (Name = strrchr(Path, '\\')) != NULL)
            strcpy(Name + 1, Other);
        printf("%d %d\n", Depth < 0 ? Launch("no such.exe", 0, 0, 0) :
               Launch(Path, Depth, Suspended, Own), Variables());
        fflush(stdout);
    }
    printf("end 0\n");
    return 43;
}
'''
# A process that nobody may open: its list of who may is empty.
CLOSED = r'''
#include <stdio.h>
#include <windows.h>
int main(void)
{
    SECURITY_DESCRIPTOR Descriptor;
    ACL List;
    InitializeSecurityDescriptor(&Descriptor, 1);
    InitializeAcl(&List, sizeof(List), ACL_REVISION);
    SetSecurityDescriptorDacl(&Descriptor, TRUE, &List, FALSE);
    if (!SetKernelObjectSecurity(GetCurrentProcess(),
                                 DACL_SECURITY_INFORMATION, &Descriptor))
        return 1;
    printf("%lu\n", GetCurrentProcessId());
    fflush(stdout);
    getchar();
    printf("%d\n", GetModuleHandleA("TracerImports.dll") != NULL);
    return 44;
}
'''
KINDS = {1: 'counted!Twice', 2: 'counted!Half'}


def build(folder, flags=(), libraries=()):
    os.makedirs(folder)
    for name, text in (('Counted.c', COUNTED), ('Late.c', LATE)):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
    for arguments in (
            ['-shared', 'Counted.c', '-o', 'Counted.dll',
             '-Wl,--out-implib,libCounted.a'],
            ['-shared', 'Late.c', 'libCounted.a', '-o', 'Late.dll'],
            [*flags, '-c', os.path.join(programs.PROGRAMS, 'Held.c'), '-o',
             'Held.o'],
            ['Held.o', 'libCounted.a', *libraries, '-o', 'Held.exe']):
        subprocess.run([programs.GCC, '-O1', '-w', *arguments], check=True,
                       cwd=folder)
    return os.path.join(folder, 'Held.exe')


class Held:
    """The program, which runs; ask() gives its answer's words."""

    def __init__(self, program, **variables):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [programs.WINE, program], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors,
            cwd=os.path.dirname(program),
            env={**support.environment(), **variables})
        self.pid = self.answer()[0]

    def answer(self):
        return self.process.stdout.readline().decode().split()

    def ask(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        return self.answer()

    def numbers(self, line):
        return [int(word) for word in self.ask(line)]

    def quit(self, results, what):
        last = self.ask('quit')
        code = programs.watch.wait(self.process)
        results.equal((code, last), (43, ['end', '0']),
                      '%s: how the program ends' % what)
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


def attach(held, *options, directory=None, **variables):
    """(exit code, output, errors)"""
    places = [] if directory is None else [
        '--directory', programs.windows_path(directory)]
    return reader('attach', held.pid, *places, *options, **variables)


def reader(*arguments, program=programs.READER, **variables):
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        done = programs.watch.run(
            [programs.WINE, program, *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
            env={**support.environment(), **variables})
        output.seek(0)
        errors.seek(0)
        return (done.returncode, output.read().decode(),
                errors.read().decode())


def detach(held):
    return reader('detach', held.pid)


def session_of(directory):
    names = os.listdir(directory)
    assert len(names) == 1, names
    return os.path.join(directory, names[0])


def calls(session, *options):
    code, text, errors = support.reader('report', '--json', '--no-cache',
                                        *options, session)
    if code:
        raise RuntimeError('report: %d: %s' % (code, errors))
    counts = {}
    for row in json.loads(text)['functions']:
        counts[row['function']] = counts.get(row['function'], 0) + row['calls']
    return counts


def check_slots(results, held, what, attached=False):
    """All slots are as they were; or, the control, they are not."""
    _, values, protections, within = held.numbers('slots')
    real = held.numbers('ask')[0]
    if attached:
        results.check(values > 0 and within >= values and not real,
                      '%s: slots differ' % what, [values, within, real])
    else:
        results.equal((values, within, real), (0, 0, 1),
                      '%s: slots are as they were' % what)
    results.equal(protections, 0, '%s: protections' % what)


def check_exact(results, scratch, program,
                modes=('file', 'ring', 'tree', 'compact', 'compact-ring')):
    """Parked threads make so many calls, and so many are recorded."""
    for mode in modes:
        directory = os.path.join(scratch, 'exact-' + mode)
        os.makedirs(directory)
        held = Held(program)
        held.ask('go 10')
        before = held.numbers('counts')
        variables = held.numbers('variables')
        check_slots(results, held, '%s: before' % mode)
        code, output, errors = attach(held, '--imports', '*', '--mode', mode,
                                      directory=directory)
        if not results.check(code == 0 and not errors,
                             '%s: attach' % mode, [code, output, errors]):
            held.quit(results, mode)
            continue
        session = session_of(directory)
        results.check('the session is %s' % programs.windows_path(session) in
                      output, '%s: its place' % mode, [output])
        check_slots(results, held, mode, attached=True)
        for number in (100, 250):
            held.ask('go %d' % number)
        after = held.numbers('counts')
        results.equal(held.numbers('load'), [42], '%s: a late module' % mode)
        results.equal(held.numbers('variables'), variables,
                      '%s: the environment' % mode)
        results.equal(attach(held)[0], 1, '%s: attached already' % mode)
        code, output, errors = detach(held)
        results.check(code == 0 and not errors and
                      programs.windows_path(session) in output,
                      '%s: detach' % mode, [code, output, errors])
        check_slots(results, held, '%s: afterwards' % mode)
        held.ask('go 77')
        results.equal(held.numbers('free'), [1], '%s: freed' % mode)
        expected = {KINDS[1]: after[0] - before[0] + 1,
                    KINDS[2]: after[1] - before[1]}
        results.equal(expected, {KINDS[1]: 350 * THREADS + 1,
                                 KINDS[2]: 350 * THREADS},
                      '%s: what the program counts' % mode)
        for state in ('still runs', 'has ended'):
            seen = calls(session)
            results.equal({name: seen.get(name) for name in expected},
                          expected, '%s, %s: calls' % (mode, state))
            if state == 'still runs':
                code, text, _ = support.reader('info', session)
                results.check(
                    code == 0 and re.search(r'^State +detached$', text,
                                            re.MULTILINE) and
                    re.search(r'\d  closed +detached', text) and
                    'module unload' not in text,
                    '%s: stores are closed' % mode, [text])
                results.equal(detach(held)[0], 1, '%s: not attached' % mode)
                held.quit(results, mode)
        code, text, errors = support.reader('verify', session)
        results.equal(code, 0, '%s: verify: %s%s' % (mode, text[-300:],
                                                    errors))
        pack = os.path.join(scratch, mode + '.pack')
        code, text, errors = support.reader('pack', '--output', pack, session)
        results.check(code == 0 and calls(pack) == calls(session),
                      '%s: packed' % mode, [text, errors])


def check_bare(results, scratch, program):
    """The same, where no image has a lookup table (Tests/Product/TestImports.py
    has the control)."""
    folder = os.path.join(scratch, 'bare')
    shutil.copytree(os.path.dirname(program), folder)
    for name in ('Held.exe', 'Counted.dll', 'Late.dll'):
        results.check(programs.remove_lookups(os.path.join(folder, name)) > 1,
                      'bare: %s' % name)
    check_exact(results, folder, os.path.join(folder, 'Held.exe'), ('file',))


def check_numbers(results, scratch, program):
    """Both say how many slots record; the program has counted how many lead
    into the DLL.  What comes later, and goes, is told apart."""
    directory = os.path.join(scratch, 'numbers')
    os.makedirs(directory)
    held = Held(program)
    said = []
    inside = []
    for order in ('load', 'free'):
        said += [attach(held, '--imports', '*', directory=directory)[1]]
        inside += [held.numbers('slots')[3]]
        held.ask(order)
        inside += [held.numbers('slots')[3]]
        said += [detach(held)[1]]
    held.quit(results, 'numbers')
    few, many = inside[:2]
    results.check(0 < few < many and inside == [few, many, many, few],
                  'numbers: a module comes and goes', inside)
    results.equal(
        [text.split('\n')[1:-1] for text in said],
        [['%d imports are recorded' % few],
         ['%d imports are as they were, %d of which came later' %
          (many, many - few)],
         ['%d imports are recorded' % many],
         ['%d imports are as they were' % few,
          '%d more went with modules that were unloaded' % (many - few)]],
        'numbers: what is said')


def check_threads(results, scratch, program):
    """The threads that TraceReader makes in the process are not recorded, as
    little as the library's own: what has calls is what the program has made.
    No thread is busy for longer than the session lasts, though it goes on while
    it is read."""
    for mode in ('file', 'tree', 'compact'):
        directory = os.path.join(scratch, 'threads-' + mode)
        os.makedirs(directory)
        held = Held(program)
        held.ask('go 10')
        for number in range(3):
            results.equal(attach(held, '--imports', '*', '--mode', mode,
                                 directory=directory)[0], 0,
                          'threads, %s: attach' % mode)
            attach(held, '--imports', '*')
            held.ask('go %d' % (20 + number))
            results.equal(detach(held)[0], 0, 'threads, %s: detach' % mode)
        held.quit(results, 'threads')
        _, text, _ = support.reader('threads', '--json',
                                    session_of(directory))
        rows = json.loads(text)['threads']
        session = session_of(directory)
        files = sum(name.endswith('.trace') for name in os.listdir(session))
        results.check(
            len(rows) == len({row['thread_id'] for row in rows}) ==
            THREADS + 1 and files == sum(row['stores'] for row in rows) and
            max(row['stores'] for row in rows) == 3,
            'threads, %s: one row for each' % mode, [rows])
        results.equal(sum(row['calls'] for row in rows),
                      sum(calls(session).values()),
                      'threads, %s: calls' % mode)
        _, text, _ = support.reader('info', '--json', session)
        about = json.loads(text)
        results.equal(sorted((row['thread_id'], row['stores'])
                             for row in about['threads']),
                      sorted((row['thread_id'], row['stores'])
                             for row in rows), 'info, %s: threads' % mode)
        _, text, _ = support.reader('info', session)
        results.check(re.search(r'^Threads +%d$' % (THREADS + 1), text,
                                re.MULTILINE) and
                      re.search(r'^PID +%d$' % int(held.pid), text,
                                re.MULTILINE),
                      'info, %s: how many' % mode, [text[:600]])
        _, text, _ = support.reader('waits', '--json', session)
        kinds = [(row['kind'], row['thread_id'])
                 for table in json.loads(text).values()
                 if isinstance(table, list)
                 for row in table if 'thread_id' in row]
        results.check(kinds and len(kinds) == len(set(kinds)),
                      'waits, %s: one row for each' % mode, [kinds])
        _, text, _ = support.reader('live', '--plain', '--count', '1',
                                    '--interval', '100', session)
        results.check(', 0 of %d threads running' % (THREADS + 1) in text,
                      'live, %s: one row for each' % mode, [text[:300]])
        _, text, _ = support.reader('tree', '--per-thread', '--json', session)
        tracks = {(row['track'], row['thread'])
                  for row in json.loads(text)['nodes']}
        results.equal(len(tracks), len({row['thread_id'] for row in rows
                                        if row['calls']}),
                      'tree, %s: one track for each' % mode)
        held = Held(program)
        held.ask('go -1')
        running = os.path.join(scratch, 'busy-' + mode)
        os.makedirs(running)
        attach(held, '--imports', '*', '--mode', mode, directory=running)
        for number in range(3):
            _, text, _ = support.reader('threads', '--json',
                                        session_of(running))
            shares = [row['busy_percent']
                      for row in json.loads(text)['threads']]
            results.check(shares and 0 < max(shares) <= 100,
                          'threads, %s: busy' % mode, [shares])
        detach(held)
        held.quit(results, 'threads: busy')


def check_nothing(results, scratch, program):
    """No list at all says what to record, where the user has said that there
    is one in an ini file: it is refused, and the program ends as it would."""
    directory = os.path.join(scratch, 'nothing')
    os.makedirs(directory)
    held = Held(program)
    for number in range(5):
        code, output, errors = attach(held, '--imports', '@ini', '--callers',
                                      '@ini', directory=directory)
        results.check(code == 1 and not output and
                      'says what to record' in errors,
                      'nothing: refused', [code, output, errors])
        check_slots(results, held, 'nothing')
        held.ask('go %d' % (10 + number))
    results.equal(os.listdir(directory), [], 'nothing: no session')
    held.quit(results, 'nothing')


def check_again(results, scratch, program):
    """It is attached again: other lists, another mode, another directory; in
    the directory of before are both."""
    first, second = (os.path.join(scratch, 'again%d' % n) for n in (1, 2))
    os.makedirs(first)
    os.makedirs(second)
    held = Held(program)
    held.ask('go 10')
    steps = ((first, 'counted!Twice', 'file'), (first, 'counted!Half', 'file'),
             (second, 'counted', 'compact'), (first, 'counted!Twice', 'file'))
    for number, (directory, imports, mode) in enumerate(steps):
        code, output, errors = attach(held, '--imports', imports, '--mode',
                                      mode, directory=directory)
        results.equal(code, 0, 'again %d: attach: %s%s' % (number, output,
                                                          errors))
        held.ask('go %d' % (100 + number))
        code, output, errors = detach(held)
        results.equal(code, 0, 'again %d: detach: %s%s' % (number, output,
                                                          errors))
        check_slots(results, held, 'again %d' % number)
    held.quit(results, 'again')
    results.equal(calls(session_of(first)),
                  {KINDS[1]: (100 + 103) * THREADS, KINDS[2]: 101 * THREADS},
                  'again: the first directory')
    results.equal(calls(session_of(second)),
                  {KINDS[1]: 102 * THREADS, KINDS[2]: 102 * THREADS},
                  'again: the second one')
    _, text, _ = support.reader('replay', session_of(first))
    results.equal(len(re.findall(r'\battach\b', text)), 3, 'again: marks')


def check_settings(results, scratch, program):
    """Without a list it is what the program calls; the process's environment
    comes before TraceReader's, and the options before both."""
    directory = os.path.join(scratch, 'settings')
    os.makedirs(directory)
    held = Held(program, TRACER_MODE='tree',
                TRACER_DIRECTORY=programs.windows_path(directory))
    held.ask('go 10')
    code, output, errors = attach(held, TRACER_MODE='ring',
                                  TRACER_DIRECTORY='Z:\\nowhere')
    results.equal(code, 0, 'settings: attach: %s%s' % (output, errors))
    held.ask('go 20')
    detach(held)
    _, text, _ = support.reader('info', session_of(directory))
    results.check(re.search(r'^Mode +tree', text, re.MULTILINE),
                  'settings: the process\'s', [text[:400]])
    seen = calls(session_of(directory))
    results.equal(seen.get(KINDS[1]), 20 * THREADS, 'settings: calls')
    results.check(any(name.startswith('msvcrt!') for name in seen) and not any(
        name.startswith('ntdll!Nt') for name in seen),
        'settings: the program\'s own', [sorted(seen)])
    other = os.path.join(scratch, 'others')
    os.makedirs(other)
    code, output, errors = attach(held, '--mode', 'ring', '--imports',
                                  'counted', directory=other)
    held.ask('go 21')
    detach(held)
    _, text, _ = support.reader('info', session_of(other))
    results.check(re.search(r'^Mode +ring', text, re.MULTILINE),
                  'settings: the options\'', [text[:400]])
    code, output, errors = attach(held, TRACER_MODE='rang')
    results.check(code == 1 and 'TRACER_MODE=rang' in errors,
                  'settings: a bad one', [code, errors])
    check_slots(results, held, 'settings')
    held.quit(results, 'settings')


def check_hooks(results, scratch, folder):
    """A program with hooks: one tree of both."""
    program = build(folder, programs.PENTER_FLAGS, [programs.LIBRARY])
    directory = os.path.join(scratch, 'hooks')
    os.makedirs(directory)
    held = Held(program, TRACER_MODE='tree',
                TRACER_DIRECTORY=programs.windows_path(directory))
    for number in range(3):
        held.ask('go %d' % (10 + number))
        code, output, errors = attach(held, '--imports', 'counted')
        results.equal(code, 0, 'hooks: attach: %s%s' % (output, errors))
        held.ask('go %d' % (50 + number))
        results.equal(detach(held)[0], 0, 'hooks: detach')
        check_slots(results, held, 'hooks')
    held.quit(results, 'hooks')
    session = session_of(directory)
    _, text, _ = support.reader('tree', '--json', session)
    chains = {}
    for row in json.loads(text)['nodes']:
        key = row['function'], row['depth']
        chains[key] = chains.get(key, 0) + row['calls']
    results.equal({key: chains.get(key) for key in (
        ('Work', 0), ('Own', 1), ('Other', 1), (KINDS[1], 2),
        (KINDS[2], 2))},
        {('Work', 0): THREADS, ('Own', 1): (33 + 153) * THREADS,
         ('Other', 1): (33 + 153) * THREADS,
         (KINDS[1], 2): 153 * THREADS, (KINDS[2], 2): 153 * THREADS},
        'hooks: one tree')


def check_held(results, scratch, program):
    """Threads that are in a call when it ends, and when it begins again."""
    for again in (False, True):
        for mode in ('file', 'tree', 'compact'):
            what = 'held, %s, %s' % (mode, again)
            directory = os.path.join(scratch, 'held%s%d' % (mode, again))
            os.makedirs(directory)
            held = Held(program)
            results.equal(held.numbers('hold'), [1], what)
            code, output, errors = attach(held, '--imports', '*', '--mode',
                                          mode, directory=directory)
            results.equal(code, 0, '%s: attach: %s' % (what, errors))
            for number in range(2, 6):
                held.ask('hold')
            results.equal(detach(held)[0], 0, '%s: detach' % what)
            check_slots(results, held, what)
            if again:
                results.equal(attach(held, '--imports', '*', '--mode', mode,
                                     directory=directory)[0], 0,
                              '%s: attach again' % what)
            results.equal(held.numbers('release'), [5], '%s: results' % what)
            if again:
                results.equal(detach(held)[0], 0, '%s: detach again' % what)
                check_slots(results, held, '%s: again' % what)
            held.quit(results, what)
            code, text, errors = support.reader('verify',
                                                session_of(directory))
            results.equal(code, 0, '%s: verify: %s' % (what, text[-300:]))
            results.check(
                calls(session_of(directory)).get(
                    'kernel32!WaitForSingleObject', 0) >= 4,
                '%s: calls that were open' % what)


def check_kept(results, scratch, program):
    """Threads that keep what GetProcAddress has given, and call it all the
    time: they go through stubs, and nothing waits for them."""
    for mode in ('file', 'tree'):
        directory = os.path.join(scratch, 'kept-' + mode)
        os.makedirs(directory)
        held = Held(program)
        for number in range(5):
            code, output, errors = attach(held, '--imports', 'counted',
                                          '--mode', mode, directory=directory)
            results.equal(code, 0, 'kept, %s: attach: %s' % (mode, errors))
            for _ in range(2):
                held.ask('spin')
            code, output, errors = detach(held)
            results.check(code == 0 and 'stay open' not in output,
                          'kept, %s: detach' % mode, [code, output, errors])
            check_slots(results, held, 'kept, %s' % mode)
        held.quit(results, 'kept, %s' % mode)
        seen = calls(session_of(directory)).get(KINDS[1], 0)
        results.check(seen > 0, 'kept, %s: calls' % mode, [seen])
        code, text, errors = support.reader('verify', session_of(directory))
        results.equal(code, 0, 'kept, %s: verify: %s' % (mode, text[-300:]))


def check_foreign(results, scratch, program):
    """Somebody else changes slots: those stay, and it is said."""
    directory = os.path.join(scratch, 'foreign')
    os.makedirs(directory)
    held = Held(program)
    held.ask('go 10')
    attach(held, '--imports', '*', directory=directory)
    results.equal(held.numbers('steal GetEnvironmentStrings'), [1],
                  'foreign: stolen')
    code, output, errors = detach(held)
    results.check(code == 0 and
                  '1 were changed by somebody else' in output,
                  'foreign: it is said', [code, output, errors])
    results.equal(held.numbers('kept'), [1], 'foreign: it stays')
    _, values, _, within = held.numbers('slots')
    results.equal((values, within), (1, 0), 'foreign: the others')
    held.quit(results, 'foreign')


def check_rounds(results, scratch, program):
    """Again and again, while the threads are busy."""
    held = Held(program)
    held.ask('go -1')
    rounds = -1
    for number in range(ROUNDS):
        directory = os.path.join(scratch, 'rounds%d' % (number // 50))
        os.makedirs(directory, exist_ok=True)
        mode = ('file', 'ring', 'tree', 'compact')[number // 5 % 4]
        code, output, errors = attach(
            held, '--imports', ('*', 'counted')[number % 10 in (1, 4)],
            '--mode', mode, directory=directory)
        if not results.check(code == 0, 'round %d: attach' % number,
                             [code, output, errors]):
            break
        if number % 10 == 3:
            results.equal(held.numbers('load'), [42], 'round %d' % number)
        if number % 10 == 7 or number == ROUNDS - 1:
            check_slots(results, held, 'round %d' % number, attached=True)
        code, output, errors = detach(held)
        if not results.check(code == 0 and 'stay open' not in output,
                             'round %d: detach' % number,
                             [code, output, errors]):
            break
        if number % 10 == 5:
            results.equal(held.numbers('free'), [1], 'round %d' % number)
        check_slots(results, held, 'round %d' % number)
        twice, half, bad, made = held.numbers('counts')
        results.check(bad == 0 and made > rounds,
                      'round %d: it works' % number, [bad, made, rounds])
        rounds = made
    held.ask('go 5')
    twice, half, bad, made = held.numbers('counts')
    # Of the calls that Late.dll makes there are some besides.
    results.check(half == made and made <= twice <= made + ROUNDS,
                  'rounds: what was counted', [twice, half, made])
    held.quit(results, 'rounds')
    seen = {}
    for number in range((ROUNDS + 49) // 50):
        directory = os.path.join(scratch, 'rounds%d' % number)
        for name, count in calls(session_of(directory)).items():
            seen[name] = seen.get(name, 0) + count
        code, text, _ = support.reader('verify', session_of(directory))
        results.equal(code, 0, 'rounds: verify: %s' % text[-300:])
    results.check(0 < seen.get(KINDS[1], 0) <= twice and
                  0 < seen.get(KINDS[2], 0) <= half, 'rounds: records',
                  [seen.get(KINDS[1]), twice, seen.get(KINDS[2]), half])


def check_kills(results, scratch, program):
    """The attacher is killed on its way: the program goes on, and can be
    attached to and detached from."""
    chance = random.Random(18)
    held = Held(program)
    held.ask('go -1')
    directory = os.path.join(scratch, 'kills')
    os.makedirs(directory)
    found = set()
    for number in range(KILLS):
        verb = ('attach', 'detach')[number % 3 == 2]
        arguments = [verb, held.pid] + ([] if verb == 'detach' else [
            '--imports', '*', '--directory',
            programs.windows_path(directory)])
        with subprocess.Popen([programs.WINE, programs.READER, *arguments],
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              start_new_session=True,
                              env=support.environment()) as process:
            time.sleep(chance.random() * 0.25)
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        # What its thread in the program was at is done sooner or later.
        for _ in range(1000):
            code, output, errors = detach(held)
            if 'at this moment' not in errors:
                break
            time.sleep(0.01)
        found.add(code)
        results.check(code == 0 or 'not attached' in errors,
                      'kill %d: detach' % number, [code, output, errors])
        check_slots(results, held, 'kill %d' % number)
        twice, half, bad, made = held.numbers('counts')
        results.equal(bad, 0, 'kill %d: it works' % number)
    code, output, errors = attach(held, '--imports', '*', directory=directory)
    results.equal(code, 0, 'kills: attach: %s%s' % (output, errors))
    check_slots(results, held, 'kills: attached', attached=True)
    results.equal(detach(held)[0], 0, 'kills: detach')
    check_slots(results, held, 'kills')
    held.quit(results, 'kills')


def check_pairs(results, scratch, program):
    """Two at once: one attaches, and the other says why it does not."""
    held = Held(program)
    held.ask('go -1')
    directory = os.path.join(scratch, 'pairs')
    os.makedirs(directory)
    for number in range(PAIRS):
        for verb in ('attach', 'detach'):
            arguments = [verb, held.pid] + ([] if verb == 'detach' else [
                '--imports', '*', '--directory',
                programs.windows_path(directory)])
            files = [tempfile.TemporaryFile() for _ in range(2)]
            both = [subprocess.Popen(
                [programs.WINE, programs.READER, *arguments],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env=support.environment()) for file in files]
            codes = [programs.watch.wait(each) for each in both]
            texts = []
            for file in files:
                file.seek(0)
                texts.append(file.read().decode())
                file.close()
            loser = texts[codes.index(1)] if 1 in codes else ''
            results.check(
                sorted(codes) == [0, 1] and re.search(
                    'attached already|at this moment' if verb == 'attach' else
                    'not attached|at this moment', loser),
                'pair %d: %s' % (number, verb), [codes, *texts])
            check_slots(results, held, 'pair %d: %s' % (number, verb),
                        attached=verb == 'attach')
    held.quit(results, 'pairs')


def check_refused(results, scratch, program):
    """What cannot be done is said, and changes nothing (TestRefusal.c has the
    cases that Wine has not)."""
    held = Held(program)
    for verb in ('attach', 'detach'):
        for pid, said in (('4242424', 'no such process'),
                          ('0', 'the system\'s own'),
                          ('4', 'the system\'s own'),
                          ('x', 'not the identifier'),
                          ('99999999999', 'not the identifier')):
            code, output, errors = reader(verb, pid)
            results.check(code == 1 and not output and said in errors,
                          '%s %s' % (verb, pid), [code, output, errors])
    code, output, errors = reader('attach')
    results.check(code == 1 and 'identifier is missing' in errors,
                  'attach alone', [code, errors])
    code, output, errors = detach(held)
    results.check(code == 1 and 'not attached' in errors, 'not attached',
                  [code, errors])
    # Nothing can be written there: nothing is changed.
    code, output, errors = attach(held, '--imports', '*', '--directory',
                                  'Z:\\proc\\self')
    results.check(code == 1 and 'nothing was changed' in errors,
                  'no directory', [code, output, errors])
    check_slots(results, held, 'refused')
    code, output, errors = attach(held, '--imports', 'a"b')
    results.check(code == 1 and 'bad value' in errors, 'a bad list',
                  [code, errors])
    directory = os.path.join(scratch, 'refused')
    os.makedirs(directory)
    code, output, errors = attach(held, '--imports', '*', directory=directory)
    results.equal(code, 0, 'after all that: %s%s' % (output, errors))
    # The DLL of another build is left alone: one with another time stamp.
    other = os.path.join(scratch, 'other')
    os.makedirs(other)
    copy = shutil.copy(programs.READER, other)
    with open(os.path.join(programs.BIN, 'TracerImports.dll'), 'rb') as file:
        image = bytearray(file.read())
    image[int.from_bytes(image[0x3C:0x40], 'little') + 8] ^= 1
    with open(os.path.join(other, 'TracerImports.dll'), 'wb') as file:
        file.write(image)
    code, output, errors = reader('detach', held.pid, program=copy)
    results.check(code == 1 and 'not the one beside' in errors,
                  'another build', [code, output, errors])
    results.equal(detach(held)[0], 0, 'after all that: detach')
    check_slots(results, held, 'after all that')
    held.quit(results, 'refused')
    code, output, errors = attach(held)
    results.check(code == 1 and re.search(
        'no such process|has ended|TraceReader itself', errors),
                  'it has ended', [code, errors])


def check_closed(results, scratch):
    """A process that this user may not open."""
    folder = os.path.join(scratch, 'closed')
    os.makedirs(folder)
    with open(os.path.join(folder, 'closed.c'), 'w', encoding='ascii') as file:
        file.write(CLOSED)
    subprocess.run([programs.GCC, '-O1', '-w', 'closed.c', '-o', 'Closed.exe',
                    '-ladvapi32'], check=True, cwd=folder)
    held = Held(os.path.join(folder, 'Closed.exe'))
    for verb in ('attach', 'detach'):
        code, output, errors = reader(verb, held.pid)
        results.check(code == 1 and not output and
                      'does not let this user open it' in errors and
                      '0xc0000022' in errors,
                      'closed: %s' % verb, [code, output, errors])
    results.equal(held.numbers(''), [0], 'closed: nothing is loaded')
    results.equal(programs.watch.wait(held.process), 44, 'closed: it goes on')
    held.process.stdin.close()
    held.process.stdout.close()
    held.errors.close()


def check_run(results, scratch, program):
    """What run has begun, detach ends."""
    directory = os.path.join(scratch, 'run')
    os.makedirs(directory)
    process = subprocess.Popen(
        [programs.WINE, programs.READER, 'run', '--directory',
         programs.windows_path(directory), '--imports', 'counted', '--',
         program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=support.environment())
    held = Held.__new__(Held)
    held.process = process
    held.errors = tempfile.TemporaryFile()
    held.pid = held.answer()[0]
    held.ask('go 30')
    code, output, errors = detach(held)
    results.check(code == 0, 'run: detach', [code, output, errors])
    results.equal(held.numbers('slots')[3], 0, 'run: slots')
    held.ask('go 40')
    held.quit(results, 'run')
    seen = calls(session_of(directory))
    results.check(seen.get(KINDS[1], 0) >= 30 * THREADS and
                  seen.get(KINDS[1]) == seen.get(KINDS[2]), 'run: calls',
                  [seen])


def check_children(results, scratch):
    """Processes that it starts, and those that these start; the control is
    without --children."""
    folder = os.path.join(scratch, 'launch')
    os.makedirs(folder)
    with open(os.path.join(folder, 'launch.c'), 'w', encoding='ascii') as file:
        file.write(LAUNCH)
    subprocess.run([programs.GCC, '-O1', '-w', 'launch.c', '-o',
                    'Launch.exe'], check=True, cwd=folder)
    program = os.path.join(folder, 'Launch.exe')
    orders = ['%d %d %d' % (depth, suspended, own) for depth in (0, 2)
              for suspended in (0, 1) for own in (0, 1)] + ['-1 0 0']
    alone = Held(program)
    expected = [alone.numbers(order) for order in orders]
    alone.quit(results, 'children: alone')
    results.equal([code % 1000 for code, _ in expected[:8]], [40] * 8,
                  'children: what they give')
    results.equal(expected[8][0], -2, 'children: there is none')
    for options, processes in (([], 1), (['--children'], 1 + 4 + 12),
                               (['--children', '--mode', 'tree'],
                                1 + 4 + 12)):
        what = 'children: %s' % ' '.join(options)
        directory = os.path.join(scratch, 'children%d' % len(options))
        os.makedirs(directory)
        held = Held(program)
        code, output, errors = attach(held, '--imports', 'kernel32', *options,
                                      directory=directory)
        results.equal(code, 0, '%s: attach: %s' % (what, errors))
        results.equal([held.numbers(order) for order in orders], expected,
                      '%s: nothing else is different' % what)
        results.equal(detach(held)[0], 0, '%s: detach' % what)
        results.equal(held.numbers(orders[0]), expected[0],
                      '%s: afterwards' % what)
        held.quit(results, what)
        sessions = sorted(os.listdir(directory))
        results.equal(len(sessions), processes, '%s: sessions' % what)
        seen = {}
        for name in sessions:
            for function, count in calls(os.path.join(directory,
                                                      name)).items():
                seen[function] = seen.get(function, 0) + count
            code, text, _ = support.reader('verify',
                                           os.path.join(directory, name))
            results.equal(code, 0, '%s: verify: %s' % (what, text[-300:]))
        results.equal((seen.get('kernel32!Sleep', 0),
                       seen.get('kernel32!CreateProcessA')),
                      (5 * (processes - 1), 9 + (8 if options else 0)),
                      '%s: calls' % what)
        logs = [name for above, _, names in os.walk(directory)
                for name in names if name.lower().endswith('.log')]
        results.equal(logs, [], '%s: logs' % what)
    # Without a list it is what each program itself calls: those that it starts
    # are other programs, by another name.
    directory = os.path.join(scratch, 'children-own')
    os.makedirs(directory)
    other = os.path.join(folder, 'Another.exe')
    shutil.copy(program, other)
    held = Held(program)
    code, output, errors = attach(held, '--children', directory=directory)
    results.equal(code, 0, 'children, no list: attach: %s' % errors)
    results.equal(held.numbers('0 0 0 Another.exe')[0] % 1000, 40,
                  'children, no list')
    results.equal(detach(held)[0], 0, 'children, no list: detach')
    held.quit(results, 'children, no list')
    seen = {}
    for name in os.listdir(directory):
        functions = calls(os.path.join(directory, name))
        seen[name.split('.')[0]] = functions
        results.check(not any(function.startswith(('ntdll!Nt', 'kernelbase!'))
                              for function in functions),
                      'children, no list: nothing of other modules',
                      [name, sorted(functions)])
    results.equal({name: (functions.get('kernel32!Sleep'),
                          functions.get('kernel32!CreateProcessA'))
                   for name, functions in seen.items()},
                  {'Launch': (None, 1), 'Another': (5, None)},
                  'children, no list: calls')
    # run has an environment, which children inherit; one of them has its own.
    directory = os.path.join(scratch, 'children-run')
    os.makedirs(directory)
    process = subprocess.Popen(
        [programs.WINE, programs.READER, 'run', '--directory',
         programs.windows_path(directory), '--imports',
         'kernel32!Sleep;kernel32!CreateProcessA', '--children', '--',
         program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=support.environment())
    held = Held.__new__(Held)
    held.process, held.errors = process, tempfile.TemporaryFile()
    held.pid = held.answer()[0]
    for order in ('0 0 0', '0 0 1', '1 1 1'):
        results.equal(held.numbers(order)[0] % 1000, 40,
                      'children, run: %s' % order)
    held.quit(results, 'children, run')
    seen = sorted(str(sorted(calls(os.path.join(directory, name)).items()))
                  for name in os.listdir(directory))
    sleeps, starts = 'kernel32!Sleep', 'kernel32!CreateProcessA'
    results.equal(seen, [str([(starts, 1), (sleeps, 5)]),
                         str([(starts, 3)]), *[str([(sleeps, 5)])] * 3],
                  'children, run: calls')


def check_alone(results, scratch, program):
    """Nobody attaches: the control.  The program itself does what it is told,
    as often: its threads park once for each time, and after no round more."""
    held = Held(program)
    for number in range(ORDERS):
        held.ask('go %d' % (number + 1))
    results.equal(held.numbers('counts'),
                  [THREADS * ORDERS * (ORDERS + 1) // 2] * 2 +
                  [0, THREADS * ORDERS * (ORDERS + 1) // 2],
                  'alone: what it was told')
    held.ask('go 100')
    check_slots(results, held, 'alone')
    results.equal(held.numbers('hold'), [1], 'alone')
    results.equal(held.numbers('release'), [1], 'alone')
    held.quit(results, 'alone')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = build(os.path.join(scratch, 'made'))
        check_alone(results, scratch, program)
        check_refused(results, scratch, program)
        check_closed(results, scratch)
        check_exact(results, scratch, program)
        check_bare(results, scratch, program)
        check_numbers(results, scratch, program)
        check_threads(results, scratch, program)
        check_nothing(results, scratch, program)
        check_again(results, scratch, program)
        check_settings(results, scratch, program)
        check_held(results, scratch, program)
        check_kept(results, scratch, program)
        check_foreign(results, scratch, program)
        check_run(results, scratch, program)
        check_children(results, scratch)
        check_hooks(results, scratch, os.path.join(scratch, 'hooked'))
        check_pairs(results, scratch, program)
        check_kills(results, scratch, program)
        check_rounds(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

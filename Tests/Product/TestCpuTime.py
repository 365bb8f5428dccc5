#!/usr/bin/env python3
"""Processor time: what threads and info say is what the system told the program
itself at its end.

Each thread asks GetThreadTimes at its beginning and at its end, inside of what
is measured and outside of it, so that the store's difference lies between
theirs, whatever else the machine does.
"""

import json
import os
import re
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

SOURCE = r'''
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_TRACED __attribute__((no_instrument_function))

static volatile unsigned long long Sink;

/* In no store: the hooks are not called. */
NOT_TRACED static unsigned long long Now(void)
{
    FILETIME Created, Exited, Kernel, User;
    GetThreadTimes(GetCurrentThread(), &Created, &Exited, &Kernel, &User);
    return (((unsigned long long)Kernel.dwHighDateTime << 32) |
            Kernel.dwLowDateTime) +
           (((unsigned long long)User.dwHighDateTime << 32) |
            User.dwLowDateTime);
}

NOT_TRACED static unsigned long long OfProcess(void)
{
    FILETIME Created, Exited, Kernel, User;
    GetProcessTimes(GetCurrentProcess(), &Created, &Exited, &Kernel, &User);
    return (((unsigned long long)Kernel.dwHighDateTime << 32) |
            Kernel.dwLowDateTime) +
           (((unsigned long long)User.dwHighDateTime << 32) |
            User.dwLowDateTime);
}

/* Until the system has counted so much for this thread. */
void Work(unsigned long long Time)
{
    unsigned long long Until = Now() + Time;
    while (Now() < Until) {
        for (int Index = 0; Index < 10000; Index++) {
            Sink += Index;
        }
    }
}

void Rest(void)
{
    Sleep(300);
}

NOT_TRACED static DWORD WINAPI Main(void *Parameter)
{
    const char *What = Parameter;
    unsigned long long Before = Now(), Begun, Done;
    Rest();
    Begun = Now();
    if (What[0] == 'w') {
        Work(strtoull(What + 1, NULL, 10));
    }
    Done = Now();
    printf("thread %lu %llu %llu %llu\n", GetCurrentThreadId(), Before, Begun,
           Done);
    fflush(stdout);
    if (What[0] == 'k') {
        TerminateThread(GetCurrentThread(), 0);
    }
    if (What[0] == 's') {
        Sleep(INFINITE);
    }
    return 0;
}

NOT_TRACED int main(int Count, char **Arguments)
{
    HANDLE Threads[16];
    unsigned long long Before = Now(), Begun;
    int Number = 0;
    Rest();
    Begun = Now();
    for (int Index = 1; Index < Count; Index++) {
        HANDLE Thread = CreateThread(NULL, 0, Main, Arguments[Index], 0, NULL);
        if (Arguments[Index][0] != 's') {
            Threads[Number++] = Thread;
        } else {
            Sleep(1000);
        }
    }
    WaitForMultipleObjects(Number, Threads, TRUE, INFINITE);
    printf("main %lu %llu %llu %llu\n", GetCurrentThreadId(), Before, Begun,
           Now());
    printf("process %llu\n", OfProcess());
    fflush(stdout);
    if (Arguments[1][0] == '!') {
        TerminateProcess(GetCurrentProcess(), 5);
    }
    return 0;
}
'''

SECOND = 10000000               # 100 ns
FLAGS = ['-finstrument-functions']
WORK = 4000000


def build(scratch):
    source = os.path.join(scratch, 'cpu.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(SOURCE)
    return programs.build(os.path.join(scratch, 'program'), [source], FLAGS,
                          'cpu.exe', [programs.LIBRARY])


def run(results, program, what, directory, *arguments, code=0, **variables):
    """What it printed: thread -> (before, begun, done), and the process's."""
    ended, text = support.run(program, *arguments, directory=directory,
                              **variables)
    results.equal(ended, code, what + ': exit code')
    told = {int(number): tuple(map(int, times.split())) for number, times in
            re.findall(r'^(?:thread|main) (\d+) ([\d ]+)$', text, re.M)}
    main = int(re.search(r'^main (\d+)', text, re.M).group(1))
    process = int(re.search(r'^process (\d+)$', text, re.M).group(1))
    return told, main, process


def read(results, command, directory):
    code, text, errors = support.reader(
        command, '--json', programs.windows_path(support.sessions(
            directory)[0]))
    results.equal(code, 0, '%s: exit code %s' % (command, errors))
    return json.loads(text)


def check_known(results, program, scratch, mode):
    what = 'mode ' + mode
    directory = os.path.join(scratch, mode)
    told, main, process = run(results, program, what, directory,
                              'w%d' % WORK, 'r', 'r', TRACER_MODE=mode)
    info = read(results, 'info', directory)
    rows = read(results, 'threads', directory)['threads']
    results.equal(sorted(row['thread_id'] for row in rows), sorted(told),
                  what + ': threads')
    for where in rows, info['threads']:
        for row in where:
            before, begun, done = told[row['thread_id']]
            seen = row['cpu_ns']
            results.check(seen is not None and seen % 100 == 0 and
                          done - begun <= seen // 100, what +
                          ': a thread has what it had between two traced calls',
                          [row, told])
            if row['thread_id'] != main:
                results.check(seen is not None and
                              seen // 100 <= done - before + SECOND * 3600,
                              what + ': no more than it had', [row, told])
    busy = [row['cpu_ns'] for row in rows
            if told[row['thread_id']][2] - told[row['thread_id']][1] >= WORK]
    results.check(len(busy) == 1 and busy[0] >= WORK * 100,
                  what + ': the one that works', [rows])

    # It slept inside a recorded call for 0.3 s, longer than it could be on a
    # processor; busy time has that.
    for row in rows:
        results.check(row['busy_ns'] >= 300000000, what + ': busy', [row])
    seen = info['session'][0]['cpu_ns']
    results.check(seen is not None and seen >= process * 100 and
                  seen >= sum(row['cpu_ns'] for row in rows),
                  what + ': the process', [seen, process, rows])
    path = programs.windows_path(support.sessions(directory)[0])
    text = support.reader('info', path)[1]
    results.check(re.search(r'^CPU time +\d+\.\d+ [num ]?s$', text, re.M),
                  what + ': info', [text])
    return directory


def check_sleep(results, directory):
    """Control: a thread that sleeps has less processor time than it was
    there."""
    rows = read(results, 'threads', directory)['threads']
    least = min(rows, key=lambda row: row['cpu_ns'])
    results.check(least['cpu_ns'] < least['busy_ns'],
                  'a thread that sleeps is not on a processor', [least])


def check_bytes(results, directory):
    """The fields, as Docs/Format.md has them."""
    for path in support.stores(directory):
        store = trace_reader.Store(path)
        user, kernel, user_end, kernel_end, user_all, kernel_all = (
            store.OpenUserTime, store.OpenKernelTime, store.EndUserTime,
            store.EndKernelTime, store.ProcessUserTime,
            store.ProcessKernelTime)
        results.check(store.MinorVersion == 6 and store.TimesValid == 15 and
                      user <= user_end <= user_all and
                      kernel <= kernel_end <= kernel_all and
                      store.ThreadCreationTime != 0,
                      'the fields of a store', [vars(store)])


def check_unknown(results, program, scratch):
    """Of threads that were killed, and processes, nothing is said."""
    directory = os.path.join(scratch, 'killed')
    told, main, _ = run(results, program, 'killed threads', directory, 'w10',
                        'k', 's')
    rows = {row['thread_id']: row for row in
            read(results, 'threads', directory)['threads']}
    results.equal(sorted(rows), sorted(told), 'killed threads: all are there')
    known = [number for number, row in rows.items()
             if row['cpu_ns'] is not None]
    results.check(len(known) == 2 and main in known,
                  'killed threads: those that ended', [rows, told])
    directory = os.path.join(scratch, 'process')
    run(results, program, 'a killed process', directory, '!', 'r', code=5)
    info = read(results, 'info', directory)
    results.equal(info['session'][0]['cpu_ns'], None, 'a killed process')
    text = support.reader('info', programs.windows_path(
        support.sessions(directory)[0]))[1]
    results.check('CPU time' not in text, 'a killed process: info', [text])


def check_old(results, directory, scratch):
    """A store of an earlier version has text where the times are."""
    place = os.path.join(scratch, 'old', os.path.basename(
        support.sessions(directory)[0]))
    os.makedirs(place)
    for path in support.stores(directory):
        with open(path, 'rb') as file:
            data = bytearray(file.read())
        struct.pack_into('<H', data, 0x00A, 4)
        struct.pack_into('<II', data, 0x160, 544, 544)
        data[0xD40:0xF60] = b'p' * 544
        with open(os.path.join(place, os.path.basename(path)), 'wb') as file:
            file.write(data)
    windows = programs.windows_path(place)
    rows = json.loads(support.reader('threads', '--json', windows)[1])
    results.equal({row['cpu_ns'] for row in rows['threads']}, {None},
                  'version 1.4: no times')
    info = json.loads(support.reader('info', '--json', windows)[1])
    results.equal((info['session'][0]['cpu_ns'], info['modules'][0]['pdb']),
                  (None, 'p' * 544), 'version 1.4: the path of the PDB')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = build(scratch)
        for mode in 'ring', 'tree', 'file':
            directory = check_known(results, program, scratch, mode)
        check_sleep(results, directory)
        check_bytes(results, directory)
        check_unknown(results, program, scratch)
        check_old(results, directory, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

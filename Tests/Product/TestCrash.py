#!/usr/bin/env python3
"""A program that dies in a thread: replay --tail shows how each thread ended.

The thread that crashes makes its last record long before the others: they go on
until it has seen that they did.  Controls: the same program that ends as it
should, and the lines of --tail alone, which are only the others'.
"""
# Takes long.

import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestRun as tool                                       # noqa: E402
from TestRun import programs, support                        # noqa: E402

SOURCE = r'''
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define PLAIN __attribute__((no_instrument_function, noinline))

static volatile LONG Waiting, Turns;
static volatile LONG IsDown;
static const char *Way;

PLAIN static void Die(void)
{
    LONG Seen;

    IsDown = 1;
    Seen = Turns;
    while (Turns - Seen < 2000) {
        SwitchToThread();
    }
    if (Way[0] == 'c') {
        *(volatile int *)16 = 1;
    }
    if (Way[0] == 'k') {
        TerminateProcess(GetCurrentProcess(), 7);
    }
    IsDown = 2;
    Sleep(INFINITE);
}

__attribute__((noinline)) void Load(int Level)
{
    if (Level == 3) {
        Die();
    }
}

__attribute__((noinline)) void Loading(void)
{
    for (int Level = 0; Level < 40; Level++) {
        Load(Level % 2);
    }
    Load(3);
}

static DWORD WINAPI Begin(void *Context)
{
    Loading();
    return 0;
}

static DWORD WINAPI Idler(void *Context)
{
    InterlockedIncrement(&Waiting);
    Sleep(INFINITE);
    return 0;
}

__attribute__((noinline)) void Turn(void)
{
    Turns += 1;
}

int main(int Count, char **Arguments)
{
    int Idlers = atoi(Arguments[2]);

    Way = Arguments[1];
    for (int Index = 0; Index < Idlers; Index++) {
        CreateThread(NULL, 0, Idler, NULL, 0, NULL);
    }
    while (Waiting < Idlers) {
        SwitchToThread();
    }
    CreateThread(NULL, 0, Begin, NULL, 0, NULL);
    while (IsDown < 2) {
        Turn();
    }
    return 3;
}
'''
TITLE = re.compile(r'^Thread (\d+) was in (\d+) calls? when the process '
                   r'(died|ended):$')
ABOVE = re.compile(r'^Thread (\d+) was in (\d+) calls? when the process '
                   r'(died|ended), which are above\.$')
MORE = re.compile(r'^(\d+) more threads were in calls when the process '
                  r'(died|ended): --thread shows each\.$')


def build(scratch):
    source = os.path.join(scratch, 'dies.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(SOURCE)
    return programs.build(os.path.join(scratch, 'dies'), [source],
                          programs.PENTER_FLAGS, 'dies.exe',
                          [programs.LIBRARY])


def read(session, *arguments):
    """The lines of the tail, {thread: (calls, lines)} behind it, and the rest.
    """
    _, text, _ = support.reader('replay', '--tail', '30', '--no-cache',
                                *arguments, session)
    tail, _, rest = text.partition('\n\n')
    ends, above, more, thread, words = {}, {}, [], None, set()
    for line in rest.split('\n'):
        match = TITLE.match(line) or ABOVE.match(line) or MORE.match(line)
        if match:
            words.add(match.group(match.lastindex))
        match = ABOVE.match(line)
        if match:
            above[int(match.group(1))] = int(match.group(2))
            continue
        match = TITLE.match(line)
        if match:
            thread = int(match.group(1))
            ends[thread] = int(match.group(2)), []
        elif thread is not None and line:
            ends[thread][1].append(line)
        elif MORE.match(line):
            more.append(int(MORE.match(line).group(1)))
    return tail.split('\n')[1:], ends, above, more, words


def names(lines):
    """What happened, without times and threads."""
    return [line.partition(' | ')[2].strip() for line in lines]


def check(results, scratch, program, way, idlers, code):
    what = '%s, %d idle' % (way, idlers)
    directory = os.path.join(scratch, what)
    result, _, errors = tool.run(program, way, str(idlers),
                                 directory=directory)
    session = tool.session_of(results, errors, what)
    results.check(support.has_ended(result, code & 255), what + ': it ended',
                  [result, errors])
    tail, ends, above, more, words = read(session)
    if way == 'end':
        results.equal((ends, above, more), ({}, {}, []), what + ': nothing died')
        return
    results.equal(words, {'died' if code & 0x80000000 else 'ended'},
                  what + ': what the process did')
    rows = json.loads(support.reader('replay', '--json', '--no-cache',
                                     session)[1])['events']
    by_name = {name: {row['thread_id'] for row in rows
                      if row['function'] == name}
               for name in ('Load', 'Idler', 'main')}
    loader, = by_name['Load']
    last, = by_name['main']
    results.check(len(tail) == 30 and
                  all('[%6d]' % last in line for line in tail),
                  what + ': control: the lines of --tail are of another',
                  tail[-3:])
    results.check(loader in ends and last not in ends, what +
                  ': the thread that died is there', [list(ends)])
    calls, lines = ends.get(loader, (0, []))
    results.equal((calls, names(lines)),
                  (3, ['Load();'] * 10 +
                   ['Load(); /* open */', '} /* Loading, open */',
                    '} /* Begin, open */']), what + ': how it ended')
    results.check(all('[%6d]' % loader in line for line in lines),
                  what + ': only its lines')
    shown = min(idlers, 16 - 2)
    results.equal(sorted(set(ends) - {loader}) == sorted(
        by_name['Idler'])[:shown] if shown == idlers else len(ends),
                  shown == idlers or shown + 1, what + ': who waited')
    results.equal(more, [idlers - shown] if idlers > shown else [],
                  what + ': how many are not shown')
    results.check(list(ends)[-1:] == [loader],
                  what + ': the latest is the last', [list(ends)])
    for thread in set(ends) - {loader}:
        results.equal(names(ends[thread][1]), ['Idler(); /* open */'],
                      what + ': one that waited')

    # What is above already is not there again; nor where it is not wanted.
    _, alone, named, _, _ = read(session, '--thread', str(loader))
    results.equal((alone, named), ({}, {loader: 3}),
                  what + ': --thread shows it itself')
    results.check(set(above) == {last} and above[last] in (1, 2),
                  what + ': whose lines --tail shows', [above, last])
    for form in '--csv', '--json':
        results.check('when the process' not in support.reader(
            'replay', '--tail', '30', form, session)[1], what + ': ' + form)
    results.check('when the process' not in support.reader(
        'replay', session)[1], what + ': without --tail')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = build(scratch)
        check(results, scratch, program, 'crash', 0, 0xC0000005)
        check(results, scratch, program, 'crash', 2, 0xC0000005)
        check(results, scratch, program, 'kill', 20, 7)
        check(results, scratch, program, 'end', 2, 3)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

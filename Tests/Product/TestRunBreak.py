#!/usr/bin/env python3
"""Ctrl+C on a terminal while `TraceReader run` runs a program: it is the
program's, and the reader goes on to say where the session is.

A program with a handler for it ends as it likes; one without is ended.  The
program's child has a handler too and is reached: a console gives Ctrl+C to all
of its processes, and so to the reader.  Control: a reader that does something
else (live --plain) is ended by it.
"""

import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestLivePty as live                                   # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

SOURCE = r'''
#include <process.h>
#include <stdio.h>
#include <windows.h>

static volatile LONG Seen;

__attribute__((noinline)) void Work(void)
{
    Sleep(10);
}

__attribute__((noinline)) void Clean(void)
{
    Sleep(10);
}

BOOL WINAPI Handle(DWORD Type)
{
    Seen = 1 + Type;
    return TRUE;
}

int main(int Count, char **Arguments)
{
    const char *Child[] = { Arguments[0], "child", NULL };
    const char *Way = Arguments[1];
    intptr_t Process = 0;
    int Code = 0;

    if (Way[0] != 'n') {
        SetConsoleCtrlHandler(Handle, TRUE);
    }
    if (Way[0] == 'p') {
        Process = _spawnv(_P_NOWAIT, Arguments[0], Child);
    } else {
        printf("%s is ready\n", Way);
        fflush(stdout);
    }
    while (Seen == 0) {
        Work();
    }
    Clean();
    if (Way[0] == 'p') {
        _cwait(&Code, Process, 0);
    }
    printf("%s: event %ld, child %d\n", Way, Seen - 1, Code);
    fflush(stdout);
    return 42;
}
'''
BREAK = b'\x03'
EXIT_CODE = 42


class Terminal(live.Terminal):
    """TraceReader on a pseudo terminal."""

    COMMAND = ()


def run(program, way, directory):
    """Runs it until it is ready, and breaks it; (exit code, the screen)."""
    terminal = Terminal('run', '--directory',
                        programs.windows_path(directory), '--',
                        programs.windows_path(program), way)
    ready = 'child' if way == 'parent' else way
    terminal.wait_for(lambda shown: ready + ' is ready' in shown.text())
    terminal.type(BREAK)
    code = terminal.finish()
    return code, terminal.text()


def calls(results, what, session):
    """The calls of the program's own functions."""
    code, text, errors = support.reader('report', '--json', session)
    results.check(code == 0, what + ': report', [errors])
    return {row['function']: row['calls']
            for row in json.loads(text or '{"functions": []}')['functions']}


def session_of(directory, text):
    """The session that the screen names: lines are broken there."""
    paths = glob.glob(os.path.join(directory, '*', 'session.exit'))
    names = [os.path.basename(os.path.dirname(path)) for path in paths]
    joined = re.sub(r'\s+', '', text)
    return [programs.windows_path(os.path.join(directory, name))
            for name in names if name in joined]


def check_handled(results, scratch, program):
    for way in 'parent', 'alone':
        directory = os.path.join(scratch, way)
        code, text = run(program, way, directory)
        results.check(support.has_ended(code, EXIT_CODE),
                      way + ': the exit code', [code, text])
        child = EXIT_CODE if way == 'parent' else 0
        results.check('%s: event 0, child %d' % (way, child) in text and
                      (way == 'alone' or 'child: event 0, child 0' in text),
                      way + ': its handler was called', [text])
        sessions = session_of(directory, text)
        if not results.equal(len(sessions), 1, way + ': the session is named'):
            continue
        rows = json.loads(support.reader('info', '--json', sessions[0])[1])
        results.equal([rows['session'][0][name] for name in
                       ('exit_code', 'state')], [EXIT_CODE, 'closed'],
                      way + ': info')
        seen = calls(results, way, sessions[0])
        results.check(seen.get('Work', 0) > 0 and seen.get('Clean') == 1,
                      way + ': what it did after that is recorded', [seen])


def check_ended(results, scratch, program):
    """Without a handler the system ends the program, and not the reader."""
    directory = os.path.join(scratch, 'none')
    code, text = run(program, 'none', directory)
    results.check('none: event' not in text, 'none: it was ended', [text])
    sessions = session_of(directory, text)
    if results.equal(len(sessions), 1, 'none: the session is named'):
        rows = json.loads(support.reader('info', '--json', sessions[0])[1])
        results.equal(rows['session'][0]['exit_code'] & 255, code & 255,
                      'none: its exit code is the reader\'s')
        seen = calls(results, 'none', sessions[0])
        results.check(seen.get('Work', 0) > 0 and 'Clean' not in seen,
                      'none: what it did', [seen])


def check_control(results, scratch, program):
    """The reader gets Ctrl+C, too."""
    directory = os.path.join(scratch, 'live')
    process = support.start(program, 'live', directory=directory)
    try:
        path = support.wait_for(lambda: support.sessions(directory))
        terminal = Terminal('live', '--plain', programs.windows_path(path[0]))
        terminal.wait_for(lambda shown: 'Work' in shown.text())
        terminal.type(BREAK)
        terminal.finish()
        results.check(process.poll() is None and
                      'has ended' not in terminal.text(),
                      'control: another reader is ended', [terminal.text()])
    finally:
        process.kill()
        support.finish(process)


def main():
    results = programs.Results()
    if live.pyte is None:
        results.skip('Ctrl+C: python3-pyte is not there')
        return results.finish()
    with programs.Scratch() as scratch:
        source = os.path.join(scratch, 'breaks.c')
        with open(source, 'w', encoding='ascii') as file:
            file.write(SOURCE)
        program = programs.build(os.path.join(scratch, 'breaks'), [source],
                                 programs.PENTER_FLAGS, 'breaks.exe',
                                 [programs.LIBRARY])
        check_handled(results, scratch, program)
        check_ended(results, scratch, program)
        check_control(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

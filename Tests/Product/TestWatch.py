#!/usr/bin/env python3
"""Tests WatchSupport.py: what hangs is ended and shown, what is slow is not,
and nothing waits for a pipe that somebody else has kept."""
# Takes long.

import contextlib
import io
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import watch                               # noqa: E402

# A child that keeps what it got, longer than any limit here.
KEEPS = 'echo out; echo err >&2; sleep 5000 & echo $! >&3; exit 3'
# Seconds of a processor.
WORKS = ('import time\nwhile time.process_time() < %d: pass\n'
         'print("done")')


def shell(text, **options):
    return ['sh', '-c', text], dict(stdin=subprocess.DEVNULL, **options)


@contextlib.contextmanager
def keeper(scratch):
    """Where a child's id goes; the child is ended."""
    path = os.path.join(scratch, 'keeper')
    with open(path, 'wb') as file:
        yield file.fileno()
    support.wait_for(lambda: os.path.getsize(path))
    with open(path, encoding='ascii') as file:
        os.kill(int(file.read()), signal.SIGKILL)


def check_pipes(results, scratch):
    """What has ended is not waited for because its child has its pipe.

    The control: subprocess does wait.
    """
    text = KEEPS.replace('&3', '/dev/fd/%d')
    for what, run in (('run', watch.run), ('communicate', None),
                      ('control', None)):
        with keeper(scratch) as number:
            command, options = shell(text % number, pass_fds=(number,),
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            if what == 'control':
                process = subprocess.Popen(command, **options)
                process.wait()
                try:
                    process.communicate(timeout=3)
                    waited = False
                except subprocess.TimeoutExpired:
                    waited = True
                results.check(waited, 'control: subprocess waits')
            elif run:
                done = run(command, **options)
                results.equal((done.returncode, done.stdout, done.stderr),
                              (3, b'out\n', b'err\n'), what)
            else:
                process = subprocess.Popen(command, **options)
                output, errors = watch.communicate(process)
                results.equal((process.returncode, output, errors),
                              (3, b'out\n', b'err\n'), what)


def hangs(command, **options):
    """(the exception, what was shown) of a command, or a program that runs,
    that is to hang."""
    run = watch.wait if isinstance(command, subprocess.Popen) else watch.run
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        try:
            run(command, **options)
        except watch.Hangs as error:
            return error, shown.getvalue()
    return None, shown.getvalue()


def is_gone(command):
    """Waits until no process has that in its command line."""
    return support.wait_for(lambda: not any(
        command in watch.command_line(pid) for pid in watch.all_processes()))


def check_asleep(results):
    command, options = shell('echo said; sleep 5001; true',
                             stdout=subprocess.PIPE)
    error, shown = hangs(command, limit=2, **options)
    results.check(error is not None and error.output == b'said\n',
                  'asleep: it hangs, and its output is there')
    for part in ('has wanted a processor for 0', 'sleep 5001', 'waits in ',
                 'system call '):
        results.check(part in shown, 'asleep: "%s" is shown' % part, [shown])
    results.check(is_gone('sleep 5001'),
                  'asleep: its child is ended')


def check_working(results):
    """Two seconds of work under a limit of a second of rest, beside load; the
    control has the limit on work, which is six times that on rest."""
    loops = [subprocess.Popen([sys.executable, '-c', WORKS % 1000])
             for _ in range(3)]
    try:
        done = watch.run([sys.executable, '-c', WORKS % 2], limit=1,
                         stdout=subprocess.PIPE)
        results.equal(done.stdout, b'done\n', 'slow beside load')
    finally:
        for process in loops:
            process.kill()
            process.wait()
    rounds, watch.ROUNDS = watch.ROUNDS, 1
    try:
        error, shown = hangs([sys.executable, '-c', WORKS % 500], limit=1)
        results.check(error is not None and 'seconds of processors' in
                      str(error), 'control: goes round', [error, shown])
    finally:
        watch.ROUNDS = rounds


def check_windows(results, scratch):
    """A Windows program that waits for ever is shown from both sides."""
    source = os.path.join(scratch, 'Waits.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <windows.h>\n'
                   'int WaitsForever(void) { return WaitForSingleObject('
                   'CreateEventA(0, 0, 0, 0), INFINITE); }\n'
                   'int main(void) { CloseHandle(CreateFileA("waits", '
                   'GENERIC_WRITE, 0, 0, CREATE_ALWAYS, 0, 0)); '
                   'return WaitsForever(); }\n')
    program = os.path.join(scratch, 'Waits.exe')
    subprocess.run([programs.GCC, '-O0', source, '-o', program], check=True)

    # It takes any time until it waits.
    process = subprocess.Popen([programs.WINE, program], cwd=scratch,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    support.wait_for(lambda: os.path.exists(os.path.join(scratch, 'waits')))
    error, shown = hangs(process, limit=4)
    results.check(error is not None, 'Windows: it hangs')
    for part in ('Waits.exe', 'wineserver', 'winedbg --command bt all',
                 'WaitForSingleObject'):
        results.check(part in shown, 'Windows: "%s" is shown' % part,
                      shown.splitlines()[-40:])


def check_failures(results):
    """What Wine writes when it takes a program down is told from what a program
    that fails by itself leaves."""
    broken = "server_get_unix_fd: Assertion `wine_server_ptr_handle(fd_handle)" \
        " == handle' failed"
    client = 'wine client error:20: write: Bad'
    connect = 'wine: a wine server seems to be running, but I cannot ' \
        'connect to it.'
    for code, output, errors, expected in (
            (0, '', '', False), (1, '', '', False), (None, '', '', False),
            (137, 'text', '', True), (-9, 'text', '', True),
            (1, '', client, True), (1, b'', client.encode(), True),
            (1, '', connect, True), (1, 'text', connect, False),
            (1, 'text', client, False), (0, '', client, False),
            (1, 'text', broken, True), (2, 'text', broken, False),
            (1, '', 'no such file', False)):
        told = None if code is None else watch.ExitCode(code, errors)
        results.equal(watch.is_wine_failure((told, output, 'more')), expected,
                      'a failure of Wine: %r' % ((code, output, errors), ))
        results.equal(watch.is_wine_failure(told),
                      expected and errors not in
                      (client, client.encode(), connect),
                      'of an exit code: %r' % ((code, errors), ))
    results.equal(watch.is_wine_failure((1, '', broken)), False,
                  'control: no ExitCode')
    try:
        watch.unless_wine_failed(lambda: (1, 'text'))()
        results.check(False, 'control: errors that nobody keeps')
    except TypeError:
        results.check(True, 'control: errors that nobody keeps')

    # Each way to run a program keeps what Wine wrote.
    for run in (programs.run_windows, support.run):
        told = run('/no/such/program.exe')
        results.check(told[0] != 0 and 'program.exe' in told[0].errors,
                      'what Wine wrote: %s' % run.__name__,
                      [told, told[0].errors])


def check_silent(results):
    """A run without a word and without a failure is run again; others are not."""
    for runs, expected in (
            (['', 'text'], 'text'), (['', '', 'text'], 'text'),
            (['', '', '', 'text'], ''), (['text', 'other'], 'text')):
        left = list(runs)
        code, output = watch.unless_silent(
            lambda: (watch.ExitCode(0, ''), left.pop(0)))()
        results.equal((code, output, len(left)),
                      (0, expected, len(runs) - 1 - min(
                          2, next((index for index, text in enumerate(runs)
                                   if text), 2))),
                      'silent: %r' % runs)
    for code, errors in ((1, ''), (0, 'a warning')):
        left = ['', 'text']
        watch.unless_silent(
            lambda: (watch.ExitCode(code, errors), left.pop(0)))()
        results.equal(len(left), 1, 'control: %r' % ((code, errors),))


# Makes a program under Wine slow to end, as often as its file has bytes left.
LINGERS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((destructor)) static void Linger(void)
{
    const char *path = getenv("LINGER");
    char name[16] = "";
    struct stat file;

    if (path != NULL && prctl(PR_GET_NAME, name) == 0 &&
        strcmp(name, "Returns.exe") == 0 && stat(path, &file) == 0 &&
        file.st_size != 0 && truncate(path, file.st_size - 1) == 0) {

        sleep(120);
    }
}
"""


def check_lingering(results, scratch):
    """What Wine kills since it is slow to end is run again, without what it
    left; the controls are killed more often, and are not run again."""
    source = os.path.join(scratch, 'Returns.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <stdio.h>\n'
                   'int main(void) { puts("here"); return 7; }\n')
    program = os.path.join(scratch, 'Returns.exe')
    subprocess.run([programs.GCC, source, '-o', program], check=True)
    with open(source, 'w', encoding='ascii') as file:
        file.write(LINGERS)
    library, left = (os.path.join(scratch, 'lingers' + end)
                     for end in ('.so', ''))
    subprocess.run(['gcc', '-shared', '-fPIC', source, '-o', library],
                   check=True)
    directory = os.path.join(scratch, 'directory')
    os.makedirs(os.path.join(directory, 'kept'))
    runs = []

    def run(times, directory):
        runs.append(times)
        os.makedirs(os.path.join(directory, 'run%d' % len(runs)))
        done = watch.run([programs.WINE, program], stdout=subprocess.PIPE,
                         env=dict(os.environ, LINGER=left, LD_PRELOAD=library))
        return watch.ExitCode(done.returncode, ''), done.stdout.split()

    for how, times, code, count in (
            (watch.unless_wine_failed(run), 2, 7, 3),
            (watch.unless_wine_failed(run), 3, -signal.SIGKILL, 3),
            (run, 1, -signal.SIGKILL, 1)):
        runs.clear()
        with open(left, 'wb') as file:
            file.write(bytes(times))
        results.equal(how(times, directory), (code, [b'here']),
                      'lingers %d times' % times)
        results.equal(len(runs), count, 'lingers %d times: runs' % times)
        results.equal(
            sorted(os.listdir(directory)),
            ['kept', 'run%d' % count],
            'lingers %d times: what is left' % times)
        for name in os.listdir(directory):
            if name != 'kept':
                os.rmdir(os.path.join(directory, name))


def check_runner(results, scratch):
    """As the runner starts it: exit codes, and an interruption."""
    mine = os.path.join(os.path.dirname(__file__), '../Library',
                        'WatchSupport.py')
    for text, code in (('exit 0', 0), ('exit 7', 7), ('kill -9 $$', 137)):
        done = subprocess.run([mine, '5', 'Name', 'sh', '-c', text])
        results.equal(done.returncode, code, 'runner: %s' % text)
    process = subprocess.Popen([mine, '500', 'Name', 'sh', '-c',
                                'echo here; sleep 5002; true'],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    process.terminate()
    results.equal(watch.wait(process), 128 + signal.SIGTERM, 'interrupted')
    results.check(is_gone('sleep 5002'),
                  'interrupted: nothing is left')
    process.stdout.close()


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_pipes(results, scratch)
        check_asleep(results)
        check_working(results)
        check_windows(results, scratch)
        check_failures(results)
        check_silent(results)
        check_lingering(results, scratch)
        check_runner(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Tells a program that hangs from one that is slow, and shows where it hangs.

Every test script starts programs through run(), or waits for those that it has
started with communicate() or wait(); the runner starts each test with

    Tests/Library/WatchSupport.py LIMIT NAME COMMAND [ARGUMENT...]

No limit is a time on the clock.  A program hangs

  - when it and its children have wanted less than a tenth of a processor,
    while it was looked at LIMIT times, a second apart: on a machine that is
    busy with other things it waits for a processor, and that counts as
    wanting it; or
  - when it has had six times LIMIT seconds of processors: it goes round and
    round.

Then all that is known of it is printed: what its processes and their threads
wait for, in the kernel and (where gdb, eu-stack or Wine's debugger can tell)
outside of it, and how Wine's server is.  Its own processes are killed.

What a program has written is complete when it has ended, but its pipes may
stay open: what Wine starts for itself, beside the first program after its
server, has that program's standard error until the server goes.  So run()
collects in files, and communicate() waits for no pipe of a program that has
ended.
"""

import contextlib
import functools
import glob
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 300                     # looks, a second apart
SHARE = 10                      # a tenth
ROUNDS = 6                      # times LIMIT, in seconds of processors
TICKS = os.sysconf('SC_CLK_TCK')
TOOL_SECONDS = 60               # for a debugger
KERNEL_LINES = 3
FRAMES = 16
TOOL_LINES = 250

# What Wine starts for itself, whoever was first, and what outlives it.
SERVICES = ('wineserver', 'wineserver64', 'wineserver32', 'services.exe',
            'winedevice.exe', 'plugplay.exe', 'svchost.exe', 'explorer.exe',
            'rpcss.exe')


class Hangs(Exception):
    """A program that hung and was killed; what it had written is in output
    and errors, as far as it was collected."""

    output = errors = None


def read(path):
    """A file of /proc; nothing if there is no such file, or it is not ours."""
    try:
        with open(path, 'rb') as file:
            return file.read().decode('utf-8', 'replace')
    except OSError:
        return ''


class Process:
    """What /proc says of a process."""

    def __init__(self, pid, fields):
        self.pid = pid
        self.name, rest = fields
        self.state, self.parent = rest[0], int(rest[1])
        self.ticks = sum(int(each) for each in rest[11:15])
        self.started = int(rest[19])

    @classmethod
    def of(cls, pid):
        before, _, after = read('/proc/%d/stat' % pid).rpartition(')')
        return cls(pid, (before.partition('(')[2], after.split())) \
            if before else None


def all_processes():
    found = {}
    for name in os.listdir('/proc'):
        process = Process.of(int(name)) if name.isdigit() else None
        if process is not None:
            found[process.pid] = process
    return found


def processes_of(pid, mark=None):
    """A process, its descendants, and whoever has mark in its environment:
    Wine's processes are nobody's children."""
    found = all_processes()
    chosen = {pid} & set(found)
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for each in found.values():
            if each.parent == parent and each.pid not in chosen:
                chosen.add(each.pid)
                waiting.append(each.pid)
    if mark is not None:
        above, parent = set(), os.getpid()
        while parent in found:
            above.add(parent)
            parent = found[parent].parent
        chosen.update(
            each for each in found if each not in above and
            mark in read('/proc/%d/environ' % each).split('\0') and
            found[each].name not in SERVICES)
    return [found[each] for each in sorted(chosen)]


def is_ready(pid):
    """Does a thread run, or wait for a processor or a disk?  What it waits
    is added to the time in schedstat only when it has got it."""
    return any(read(path).rpartition(')')[2].split()[:1] in (['R'], ['D'])
               for path in glob.glob('/proc/%d/task/*/stat' % pid))


def waited(pid):
    """Seconds that a process's threads have been ready without running."""
    total = 0
    for path in glob.glob('/proc/%d/task/*/schedstat' % pid):
        fields = read(path).split()
        total += int(fields[1]) if len(fields) > 1 else 0
    return total / 1e9


class Watch:
    """Looks at a process, once a second; is_over() when it hangs.

    The processors' time of a child that has ended is its parent's, so the sum
    over those that live leaves none out.  Where it gets smaller, a process
    has ended that was nobody's child: that is progress, too.
    """

    def __init__(self, pid, limit=None, mark=None):
        self.pid, self.mark = pid, mark
        self.limit = limit or LIMIT
        self.used = self.first = self.ready = 0
        self.wanted = []
        self.reason = ''

    def is_over(self):
        processes = processes_of(self.pid, self.mark)
        used = sum(each.ticks for each in processes) / TICKS
        self.used += max(used - self.first, 0)
        self.first = used
        self.ready += any(is_ready(each.pid) for each in processes)
        self.wanted.append(self.ready + used +
                           sum(waited(each.pid) for each in processes))
        if self.used > ROUNDS * self.limit:
            self.reason = 'has used %d seconds of processors' % \
                self.used
        elif len(self.wanted) > self.limit:
            steps = zip(self.wanted[-self.limit - 1:],
                        self.wanted[-self.limit:])
            moved = sum(abs(after - before) for before, after in steps)
            if moved < self.limit / SHARE:
                self.reason = 'has wanted a processor for %.1f s of %d' % (
                    moved, self.limit)
        del self.wanted[:-self.limit - 1]
        return bool(self.reason)


def command_line(pid):
    return ' '.join(read('/proc/%d/cmdline' % pid).split('\0')).strip()


def describe_process(process, write):
    write('process %d, child of %d, %s, state %s, %.2f s of processors: %s' %
          (process.pid, process.parent, process.name, process.state,
           process.ticks / TICKS, command_line(process.pid)[:300]))
    write('    in %s' % read_link('/proc/%d/cwd' % process.pid))
    tasks = sorted(glob.glob('/proc/%d/task/*' % process.pid),
                   key=lambda path: int(os.path.basename(path)))
    for path in tasks[:64]:
        before, _, after = read(path + '/stat').rpartition(')')
        fields = after.split()
        if not fields:
            continue
        write('    thread %s, %s, state %s, %.2f s, waits in %s, system call '
              '%s' % (os.path.basename(path), before.partition('(')[2],
                      fields[0], (int(fields[11]) + int(fields[12])) / TICKS,
                      read(path + '/wchan') or '-',
                      read(path + '/syscall').strip() or '-'))
        for line in read(path + '/stack').splitlines()[:KERNEL_LINES]:
            write('        kernel %s' % line.partition(' ')[2])


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return '?'


def tool(command, write, environment=None, choose=list):
    """Writes what a debugger says, or what is chosen of it; False if there
    is no such program."""
    with tempfile.TemporaryFile() as output:
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL,
                                  stdout=output, stderr=subprocess.STDOUT,
                                  env=environment,
                                  timeout=TOOL_SECONDS).returncode
        except FileNotFoundError:
            return False
        except subprocess.TimeoutExpired:
            code = 'none: did not end in %d s' % TOOL_SECONDS
        except OSError as error:
            code = error
        output.seek(0)
        text = output.read()
    write('%s: exit code %s' % (' '.join(command)[:100], code))
    lines = choose(text.decode('utf-8', 'replace').splitlines())
    for line in lines[:TOOL_LINES]:
        if line.strip():
            write('    ' + line.rstrip())
    return True


def without_services(lines):
    """Backtraces of Wine's debugger, but those of Wine's own programs."""
    chosen, wanted = [], False
    for line in lines:
        if line.startswith('Backtracing for thread'):
            wanted = ':\\windows\\system32\\' not in line.lower()
        if wanted:
            chosen.append(line)
    return chosen


def is_wine(pid):
    return any(name in read('/proc/%d/maps' % pid)
               for name in ('ntdll.so', 'wine-preloader', 'wine64-preloader'))


def prefix_of(pid):
    for entry in read('/proc/%d/environ' % pid).split('\0'):
        if entry.startswith('WINEPREFIX='):
            return entry
    return None


def describe_wine(pids, write):
    """Wine's side: its server, the stacks as its debugger sees them, and
    whether another program starts."""
    prefixes = {prefix_of(pid) for pid in pids} - {None}
    for prefix in prefixes:
        for process in all_processes().values():
            if process.name.startswith('wineserver') and \
                    prefix_of(process.pid) == prefix:
                describe_process(process, write)
        environment = dict(os.environ, WINEDEBUG='-all',
                           WINEPREFIX=prefix.partition('=')[2],
                           WINEDLLOVERRIDES='mscoree=;mshtml=;'
                                            'winemenubuilder.exe=')
        environment.pop('DISPLAY', None)
        before = time.monotonic()
        tool(['wine', 'cmd', '/c', 'exit 0'], write, environment)
        write('    took %.1f s' % (time.monotonic() - before))
        tool(['wine', 'winedbg', '--command', 'info proc'], write,
             environment)
        tool(['wine', 'winedbg', '--command', 'bt all'], write, environment,
             without_services)


def describe(processes, write=None):
    """Prints all that is known of processes that hang."""
    if write is None:
        def write(line):
            print('hangs: ' + line, flush=True)
    offline = dict(os.environ, DEBUGINFOD_URLS='')
    write('load %s' % read('/proc/loadavg').strip())
    for process in processes:
        describe_process(process, write)
    for process in processes:
        if process.state != 'Z' and process.pid != os.getpid():
            tool(['gdb', '-nx', '-batch', '-p', str(process.pid), '-ex',
                  'thread apply all bt %d' % FRAMES], write, offline) or \
                tool(['eu-stack', '-p', str(process.pid)], write, offline)
    wine = [each.pid for each in processes if is_wine(each.pid)]
    if wine:
        describe_wine(wine, write)


def kill(processes):
    for process in processes:
        now = Process.of(process.pid)
        if now is not None and now.started == process.started:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGKILL)


def end(watch, what):
    """Shows a program that hangs, and kills it: the exception to raise."""
    processes = processes_of(watch.pid, watch.mark)
    try:
        print('hangs: %s %s' % (what, watch.reason), flush=True)
        describe(processes)
    finally:
        kill(processes)
    return Hangs('%s %s' % (what, watch.reason))


def name_of(process):
    arguments = process.args
    if isinstance(arguments, (list, tuple)):
        arguments = ' '.join(str(each) for each in arguments)
    return str(arguments)[:300]


def communicate(process, data=None, limit=None):
    """Popen.communicate; Hangs is raised when the program hangs."""
    watch, has_ended = Watch(process.pid, limit), False
    while True:
        try:
            return process.communicate(data, timeout=1)
        except subprocess.TimeoutExpired as error:
            if has_ended:
                return (process.stdout and error.output or b'',
                        process.stderr and error.stderr or b'')
            has_ended = process.poll() is not None
            if not has_ended and watch.is_over():
                hangs = end(watch, name_of(process))
                hangs.output, hangs.errors = error.output, error.stderr
                process.wait(timeout=10)
                raise hangs from None


def wait(process, limit=None):
    """Popen.wait; Hangs is raised when the program hangs."""
    watch = Watch(process.pid, limit)
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if watch.is_over():
                error = end(watch, name_of(process))
                process.wait(timeout=10)
                raise error from None


def run(command, *, input=None, limit=None, check=False,
        capture_output=False, **options):
    """subprocess.run, for bytes; Hangs is raised when the program hangs."""
    if capture_output:
        options.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with contextlib.ExitStack() as stack:
        files = {}
        for name in 'stdout', 'stderr':
            if options.get(name) == subprocess.PIPE:
                files[name] = options[name] = stack.enter_context(
                    tempfile.TemporaryFile())
        if input is not None:
            options['stdin'] = stack.enter_context(tempfile.TemporaryFile())
            options['stdin'].write(input)
            options['stdin'].seek(0)
        process = subprocess.Popen(command, **options)

        def written(name):
            if name not in files:
                return None
            files[name].seek(0)
            return files[name].read()

        try:
            wait(process, limit)
        except Hangs as error:
            error.output, error.errors = written('stdout'), written('stderr')
            raise
        except BaseException:
            process.kill()
            raise
        done = subprocess.CompletedProcess(command, process.returncode,
                                           written('stdout'),
                                           written('stderr'))
    if check:
        done.check_returncode()
    return done


# What Wine writes when it takes down a program by itself.
CLIENT_ERROR = 'wine client error'
CONNECT_ERROR = 'a wine server seems to be running, but I cannot connect'
DESCRIPTOR_ERROR = re.compile(
    r'server_get_unix_fd: Assertion .wine_server_ptr_handle\(fd_handle\) == ')


class ExitCode(int):
    """An exit code, and what was written to standard error before: by the
    program, or by Wine for it."""

    def __new__(cls, code, errors):
        self = super().__new__(cls, code)
        if isinstance(errors, bytes):
            errors = errors.decode('utf-8', 'replace')
        self.errors = errors
        return self


def is_wine_failure(result):
    """Whether Wine took a program down, traced or not.

    A result is an exit code, or begins with an exit code and the output.  What
    Wine wrote is known of an ExitCode only.  There are three cases.  A program leaves the server first and ends then; one
    that is not gone half a second later is killed, with all its work done, and
    its exit code is lost.  That takes a machine that gives it no processor for
    so long.  Or a program that starts or ends comes to a "wine client error",
    with no output: exit code 1.  And an assertion fails, at any time, with exit
    code 1: a thread that is terminated after it has asked Wine's server for a
    file descriptor, and before it has taken it, leaves it behind; the next
    thread that asks takes that one for its own and finds that it belongs to
    another handle.
    """
    code, output = result[:2] if isinstance(result, tuple) else (result, None)
    if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return True
    errors = getattr(code, 'errors', '')
    return code == 1 and (DESCRIPTOR_ERROR.search(errors) is not None or
                          (CLIENT_ERROR in errors or
                           CONNECT_ERROR in errors) and
                          output is not None and not output)


def unless_silent(run):
    """For a function that runs TraceReader and returns (ExitCode, output, ...).

    Where Wine's server ends a client's connection, the client ends with exit
    code 0 and without a word.  What says nothing is run again, twice at most;
    but for what writes a file, which may have nothing to say.
    """
    @functools.wraps(run)
    def repeated(*arguments):
        for attempt in 1, 2, 3:
            result = run(*arguments)
            code, output = result[:2]
            if code != 0 or output or code.errors or attempt == 3 or \
                    '-o' in arguments or '--output' in arguments:
                return result
            print('no word, attempt %d: %s' % (attempt, arguments), flush=True)
    return repeated


def unless_wine_failed(run):
    """For a function that runs a Windows program to its end and returns what
    is_wine_failure knows, with an ExitCode: where Wine failed by itself, the run
    says nothing of Tracer.  It is printed and done once more, twice at most,
    and what it left in its argument directory, and in those that its argument
    leaves names, is removed.
    """
    signature = inspect.signature(run)

    def entries(directories):
        return {os.path.join(directory, name) for directory in directories
                if directory and os.path.isdir(directory)
                for name in os.listdir(directory)}

    @functools.wraps(run)
    def repeated(*arguments, **keywords):
        bound = signature.bind(*arguments, **keywords).arguments
        directories = [bound.get('directory'), *bound.get('leaves', ())]
        known = entries(directories)
        for attempt in 1, 2, 3:
            result = run(*arguments, **keywords)
            code = result[0] if isinstance(result, tuple) else result
            errors = getattr(code, 'errors', None)
            if errors is None and code is not None:
                raise TypeError('%s returns no ExitCode' % run.__qualname__)
            if attempt == 3 or not is_wine_failure(result):
                return result
            print('Wine failed, attempt %d: %s: %s, %s' %
                  (attempt, arguments, repr(result)[-200:],
                   repr(errors)[-200:]), flush=True)
            for path in entries(directories) - known:
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.remove(path)
    return repeated


def main():
    """Runs a test; exit code 124 when it hangs.  A program that Wine took
    down is run again."""
    command = sys.argv[3:]
    if os.path.basename(command[0]) == 'RunWine.sh':
        return run_program(command)[0]
    return run_test(command)


@unless_wine_failed
def run_program(command):
    """A test that is a Windows program: its exit code, and no output, which
    went where it goes."""
    with tempfile.TemporaryFile() as errors:
        code = run_test(command, errors)
        errors.seek(0)
        told = errors.read()
    sys.stderr.buffer.write(told)
    sys.stderr.flush()
    return ExitCode(code, told), ''


def run_test(command, errors=None):
    limit, name = int(sys.argv[1]), sys.argv[2]
    mark = 'TRACER_TEMP=' + os.environ['TRACER_TEMP'] \
        if 'TRACER_TEMP' in os.environ else None
    ended, outcome, asked, process = threading.Event(), [], [], None

    def follow():
        outcome.append(process.wait())
        ended.set()

    def interrupted(number, _):
        asked.append(number)
        if process is not None:
            found = processes_of(process.pid, mark)

            # What is being started now is not found, but of this group.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            kill(found)
            sys.exit(128 + number)

    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, interrupted)
    process = subprocess.Popen(command, stderr=errors, start_new_session=True)
    if asked:
        interrupted(asked[0], None)
    threading.Thread(target=follow, daemon=True).start()
    watch = Watch(process.pid, limit, mark)
    while not ended.wait(1):
        if watch.is_over():
            end(watch, name)
            ended.wait(10)
            return 124
    return outcome[0] if outcome[0] >= 0 else 128 - outcome[0]


if __name__ == '__main__':
    sys.exit(main())

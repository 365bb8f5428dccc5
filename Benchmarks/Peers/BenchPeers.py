#!/usr/bin/env python3
"""Compares what a traced call costs here and in other function tracers.

    BenchPeers.py [--rounds N] [--quick] [--only NAME,...] [--write FILE]

Run it by `make bench-peers`, which installs what it needs first.  Prints a
section in Markdown; the progress goes to standard error.  --write puts the
section into FILE, in place of the one of the same heading.  --quick is for
trying the script out: small sizes, whose figures mean nothing.

The same programs are built for every tracer: HookCost.c for the cost of a
call, Killed.c for what is left after SIGKILL, and Lua for a real program.
The runs are interleaved, and the medians are shown.  Every tracer writes all
that it records to a file, and is asked afterwards, by its own reader, how
many calls are there.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import glob
import io
import json
import os
import platform
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIN = os.path.abspath(os.environ.get('TRACER_BIN') or
                      os.path.join(ROOT, 'x64', 'Release'))
WINE = (os.environ.get('TRACER_WINE') or
        os.path.join(ROOT, 'Build', 'RunWine.sh'))
WORK = os.path.join(os.path.dirname(BIN), 'Bench', 'Peers')
PROGRAMS = os.path.join(ROOT, 'Benchmarks', 'Programs')
SCRIPT = os.path.join(HERE, 'Calls.lua')
HEADING = '## Against other tracers'
LIMIT = 120
KILLS = 3

GCC = ['gcc', '-O2']
CLANG = ['clang-19', '-O2']
MINGW = ['x86_64-w64-mingw32-gcc', '-O2']
COMPILERS = {'gcc': GCC, 'clang': CLANG, 'mingw': MINGW}
HOOKS = ['-pg', '-mfentry', '-mfentry-name=_penter',
         '-minstrument-return=call']

# As in BenchHooks.sh: every call is made, and code begins at fresh lines.
# clang 19 does not know -falign-loops=N as gcc does, but takes it.
SAME_CALLS = ['-fno-inline', '-fno-optimize-sibling-calls',
              '-falign-functions=64', '-falign-loops=64']


class Failed(Exception):
    """A step did not do what it must; the text says which."""


def say(text):
    print('BenchPeers: ' + text, file=sys.stderr, flush=True)


def windows_path(path):
    return 'Z:' + os.path.abspath(path).replace('/', '\\')


def fibonacci_calls(depth):
    """fib(n) makes 2 fib(n + 1) - 1 calls."""
    previous, value = 0, 1
    for _ in range(depth):
        previous, value = value, previous + value
    return 2 * value - 1


def run(command, environment=None, check=True, limit=LIMIT):
    """Runs a command to its end; returns (exit code, its output, errors)."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=limit,
                          env=dict(os.environ, LC_ALL='C',
                                   **(environment or {})))
    output = done.stdout.decode('utf-8', 'replace').replace('\r\n', '\n')
    errors = done.stderr.decode('utf-8', 'replace').replace('\r\n', '\n')
    if check and done.returncode != 0:
        raise Failed('%s: exit code %d: %s' % (
            ' '.join(command), done.returncode,
            (errors or output).strip()[-300:]))
    return done.returncode, output, errors


def size_of(folder):
    return sum(os.lstat(os.path.join(path, name)).st_size
               for path, _, names in os.walk(folder) for name in names)


def short(text):
    """A command as a reader would type it."""
    for long, name in ((windows_path(WORK), 'Z:work'), (WORK, 'work'),
                       (ROOT + '/', ''), (windows_path(ROOT), 'Z:.')):
        text = text.replace(long, name)
    return text


class Tool:
    """A way to run the programs: how to build, run and read back."""

    name = mode = None
    compiler = 'gcc'
    flags = []                   # of the compiler
    links = []                   # of the linker, after the objects
    group = None                 # which packages it needs
    keeps_calls = True           # False: there is nothing to read back
    records = 'nothing'
    wine = False
    speed = 'fast'               # how many calls it gets

    def __init__(self):
        self.commands = []

    @property
    def title(self):
        return self.name if not self.mode else '%s, %s' % (self.name,
                                                           self.mode)

    @property
    def folder(self):
        return os.path.join(WORK, re.sub(r'\W+', '-', self.title))

    @property
    def suffix(self):
        return '.exe' if self.wine else ''

    def note(self, command, environment=None):
        """Keeps a command for the report, each only once."""
        words = ['%s=%s' % pair for pair in (environment or {}).items()]
        words += ["'%s'" % word if re.search(r'[*\s()&;]', word) else word
                  for word in command]
        text = short(' '.join(words))
        if text not in self.commands:
            self.commands.append(text)

    def build(self, sources, name, extra=(), includes=(), libraries=()):
        """Compiles each source and links them; returns the program."""
        folder = os.path.join(self.folder, name + '.objects')
        os.makedirs(folder)

        def compile_one(source):
            target = os.path.join(folder, os.path.basename(source) + '.o')
            line = [*COMPILERS[self.compiler], *extra, *self.flags,
                    *includes, '-c', source, '-o', target]
            run(line)
            return line

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(compile_one, sources))
        objects = [line[-1] for line in lines]
        if len(sources) == 1:
            self.note(lines[0])
        program = os.path.join(self.folder, name + self.suffix)
        link = [COMPILERS[self.compiler][0], *objects, *self.links,
                *libraries, '-o', program]
        run(link)
        if len(sources) == 1:
            self.note(link)
        return program

    def build_all(self, lua):
        os.makedirs(self.folder, exist_ok=True)
        includes = [] if self.wine else ['-I' + os.path.join(HERE, 'Native')]
        self.cost = self.build([os.path.join(PROGRAMS, 'HookCost.c')],
                               'HookCost', SAME_CALLS, includes)
        self.killed = self.build([os.path.join(HERE, 'Killed.c')], 'Killed',
                                 SAME_CALLS)
        self.lua = None
        if lua:
            sources = sorted(
                path for path in glob.glob(os.path.join(lua, '*.c'))
                if os.path.basename(path) != 'luac.c')
            self.lua = self.build(sources, 'lua',
                                  libraries=[] if self.wine else ['-lm'])

    # What a tool does otherwise.  A step that its own programs do not come
    # back from after a kill is named in stuck.

    patience = LIMIT
    stuck = ''

    def start(self, folder):
        """Makes ready for one run that leaves its data in a new folder."""

    def command(self, program, arguments, folder):
        """(command, environment) that runs a program."""
        return [program, *arguments], {}

    def stop(self, folder):
        """Waits until all is in the folder."""

    def finish(self, folder):
        """Ends what start began."""

    def lost(self, folder, errors):
        """Events lost by the tool's own count, or None if it has none."""
        return None

    def calls(self, program, folder):
        """The calls that the tool's reader finds: {function: calls}."""
        raise NotImplementedError

    def execute(self, program, arguments, folder):
        """One run: (seconds until all is on file, output, events lost)."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.start(folder)
        try:
            command, environment = self.command(program, arguments, folder)
            self.note(command, environment)
            begin = time.perf_counter()
            _, output, errors = run(command, environment)
            self.stop(folder)
            seconds = time.perf_counter() - begin
            lost = self.lost(folder, errors)
        finally:
            self.finish(folder)
        return seconds, output, lost


class Bare(Tool):
    name = 'not traced'

    keeps_calls = False

    def __init__(self, compiler):
        super().__init__()
        self.compiler = compiler
        self.wine = compiler == 'mingw'
        self.mode = {'gcc': 'gcc', 'clang': 'clang',
                     'mingw': 'MinGW gcc, Wine'}[compiler]
        if self.wine:
            self.links = ['-static']

    def command(self, program, arguments, folder):
        if self.wine:
            return [WINE, program, *arguments], {}
        return [program, *arguments], {}


class Floor(Tool):
    name = 'floor: two rdtsc'
    keeps_calls = False

    def __init__(self, wine):
        super().__init__()
        self.wine = wine
        self.compiler = 'mingw' if wine else 'gcc'
        self.mode = 'MinGW gcc, Wine' if wine else 'gcc'
        self.flags = HOOKS

    def build_all(self, lua):
        os.makedirs(self.folder, exist_ok=True)
        floor = os.path.join(self.folder, 'Floor.o')
        assemble = ['nasm', '-w-other', '-f',
                    'win64' if self.wine else 'elf64', '-o', floor,
                    os.path.join(PROGRAMS, 'Floor.asm')]
        run(assemble)
        self.note(assemble)
        self.links = [floor, '-static' if self.wine else '-Wl,-z,noexecstack']
        super().build_all(lua)

    command = Bare.command


class Ours(Tool):
    name = 'Tracer'
    mode = 'MinGW gcc, Wine'
    compiler = 'mingw'
    wine = True
    flags = HOOKS
    links = [os.path.join(BIN, 'TracerPenter.lib'), '-static']
    records = 'entry and exit: time, function, stack pointer'

    def command(self, program, arguments, folder):
        return ([WINE, program, *arguments],
                {'TRACER_DIRECTORY': windows_path(folder)})

    def reader(self, command, folder):
        sessions = os.listdir(folder)
        if len(sessions) != 1:
            raise Failed('%s: sessions %s' % (self.title, sessions))
        line = [WINE, os.path.join(BIN, 'TraceReader.exe'), command, '--csv',
                windows_path(os.path.join(folder, sessions[0]))]
        self.note([*line[:-1], 'Z:work\\SESSION'])
        return csv.DictReader(io.StringIO(run(line, check=False)[1]))

    def lost(self, folder, errors):
        rows = list(self.reader('verify', folder))
        if not rows:
            raise Failed('%s: verify shows no store' % self.title)
        return sum(int(row['lost']) + int(row['bad']) for row in rows)

    def calls(self, program, folder):
        return {row['function']: int(row['calls'])
                for row in self.reader('report', folder)}


class Compact(Ours):
    mode = 'TRACER_MODE=compact'

    def command(self, program, arguments, folder):
        line, environment = super().command(program, arguments, folder)
        return line, {**environment, 'TRACER_MODE': 'compact'}


class Uftrace(Tool):
    name = 'uftrace'
    group = 'uftrace'
    speed = 'slow'
    records = 'entry and exit: time, function, depth'

    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.flags = mode.split()
        self.links = ['-pg']

    def command(self, program, arguments, folder):
        # Lua's errors are longjmps, which it sees as library calls.
        options = ['--no-event']
        if program != self.lua:
            options.append('--no-libcall')
        return (['uftrace', 'record', *options, '-d',
                 os.path.join(folder, 'data'), program, *arguments], {})

    def lost(self, folder, errors):
        return sum(int(number)
                   for number in re.findall(r'LOST (\d+)', errors))

    def calls(self, program, folder):
        line = ['uftrace', 'report', '--no-pager', '-d',
                os.path.join(folder, 'data')]
        self.note(line)
        own = {row.split()[-1] for row in
               run(['nm', '--defined-only', program])[1].splitlines()}
        found = {}
        for row in run(line)[1].splitlines():
            fields = row.split()
            if (len(fields) >= 6 and fields[4].isdigit() and
                    fields[5] in own):
                found[fields[5]] = found.get(fields[5], 0) + int(fields[4])
        return found


class Lttng(Tool):
    name = 'LTTng-UST'
    group = 'lttng'
    compiler = 'clang'
    speed = 'slow'
    flags = ['-finstrument-functions-after-inlining']

    def __init__(self, library):
        super().__init__()
        self.mode = library
        found = sorted(glob.glob('/usr/lib/*/liblttng-ust-%s.so*' % library))
        self.library = found[0] if found else None
        self.session = 'tracer-peers-%d' % os.getpid()
        self.records = ('entry and exit: time, function%s; which processor' %
                        (' (at entries)' if library.endswith('fast')
                         else ', call site'))

    def build_all(self, lua):
        if not self.library:
            raise Failed('liblttng-ust-%s.so is not there' % self.mode)
        super().build_all(lua)

    def lttng(self, *words):
        self.note(['lttng', *words])
        try:
            return run(['lttng', *words], limit=self.patience)[1]
        except subprocess.TimeoutExpired:
            self.stuck = 'lttng ' + words[0]
            raise Failed('lttng %s does not come back' % words[0])

    def start(self, folder):
        size = '16M' if os.cpu_count() <= 8 else '4M'
        self.lttng('create', self.session, '--output=' + folder)
        try:
            self.lttng('enable-channel', '-u', '-s', self.session,
                       '--num-subbuf=4', '--subbuf-size=' + size, 'calls')
            self.lttng('enable-event', '-u', '-s', self.session, '-c',
                       'calls', 'lttng_ust_cyg_profile*')
            self.lttng('start', self.session)
        except Failed:
            self.finish(folder)
            raise

    def command(self, program, arguments, folder):
        return [program, *arguments], {'LD_PRELOAD': self.library}

    def stop(self, folder):
        self.lttng('stop', self.session)

    def finish(self, folder):
        try:
            if not self.stuck:
                self.lttng('destroy', self.session)
        finally:
            if self.stuck:
                DAEMON.restart()

    def lost(self, folder, errors):
        text = self.lttng('list', self.session)
        counts = [int(number) for number in
                  re.findall(r'(?:Discarded events|Lost packets): (\d+)',
                             text)]
        if not counts:
            raise Failed('lttng list shows no count of discarded events')
        return sum(counts)

    def calls(self, program, folder):
        line = ['babeltrace2', folder, '-c', 'sink.utils.counter',
                '-p', 'step=+0']
        self.note(line)
        found = re.findall(r'(\d+) Event messages', run(line)[1])
        return {'(all, entries and exits halved)':
                int(found[-1]) // 2 if found else 0}


class XRay(Tool):
    name = 'XRay'
    group = 'xray'
    compiler = 'clang'
    speed = 'slowest'
    flags = ['-fxray-instrument', '-fxray-instruction-threshold=1',
             '-Dno_instrument_function=xray_never_instrument']
    links = ['-fxray-instrument']
    records = 'entry and exit: time, function'

    def log(self, folder):
        found = glob.glob(os.path.join(folder, 'log.*'))
        return found[0] if len(found) == 1 else None

    def calls(self, program, folder):
        if not self.log(folder):
            return {}
        raw = os.path.join(folder, 'raw')
        names = ['llvm-xray-19', 'convert', '-f', 'raw', '-instr_map=' +
                 program, '-o', raw, self.log(folder)]
        self.note([*names[:-1], os.path.join(folder, 'log.*')])
        run(names)

        # A header of 32 bytes, then records of 32; the byte at 3 is 0 for an
        # entry, 1 or 2 for an exit.
        with open(raw, 'rb') as file:
            kinds = file.read()[32 + 3::32]
        os.remove(raw)
        return {'(all, exits)': kinds.count(1) + kinds.count(2)}


class XRayBasic(XRay):
    mode = 'basic'

    def command(self, program, arguments, folder):
        return ([program, *arguments],
                {'XRAY_OPTIONS': 'patch_premain=true xray_mode=xray-basic '
                 'xray_logfile_base=' + os.path.join(folder, 'log.'),
                 'XRAY_BASIC_OPTIONS': 'func_duration_threshold_us=0'})


class XRayFdr(XRay):
    mode = 'FDR'

    def __init__(self, megabytes):
        super().__init__()
        self.megabytes = megabytes
        self.records = XRay.records + '; in memory until the exit'

    def build_all(self, lua):
        os.makedirs(self.folder, exist_ok=True)
        start = os.path.join(self.folder, 'XRayLog.o')
        compile_it = [*CLANG, '-c', os.path.join(HERE, 'XRayLog.c'), '-o',
                      start]
        run(compile_it)
        self.note(compile_it)
        self.links = [start, '-fxray-instrument']
        super().build_all(lua)

    def command(self, program, arguments, folder):
        return ([program, *arguments],
                {'XRAY_OPTIONS': 'patch_premain=false xray_logfile_base=' +
                 os.path.join(folder, 'log.'),
                 'XRAY_LOG': 'func_duration_threshold_us=0:'
                 'buffer_size=1048576:buffer_max=%d' % self.megabytes})


class Gprof(Tool):
    name = 'gprof'
    group = 'gprof'
    mode = '-pg'
    flags = links = ['-pg']
    records = 'a count per function and caller; no calls'

    def command(self, program, arguments, folder):
        return ([program, *arguments],
                {'GMON_OUT_PREFIX': os.path.join(folder, 'gmon')})

    def calls(self, program, folder):
        found = glob.glob(os.path.join(folder, 'gmon.*'))
        if not found:
            return {}
        line = ['gprof', '-b', '-q', program, found[0]]
        self.note([*line[:-1], os.path.join(folder, 'gmon.*')])

        # A function's own line; a recursive one's calls are "1+41".  Without
        # calls there is one number less.
        calls = {}
        for row in run(line)[1].splitlines():
            own = re.match(r'\[\d+\] +[\d.]+ +[\d.]+ +[\d.]+ +'
                           r'(\d+)(?:\+(\d+))? +([A-Za-z_]\S*)', row)
            if own:
                calls[own.group(3)] = int(own.group(1)) + int(own.group(2) or
                                                              0)
        return calls


class SessionDaemon:
    """LTTng's session daemon: the one that runs, or one of our own."""

    def __init__(self):
        self.process = None

    def start(self):
        if not shutil.which('lttng-sessiond') or self.answers():
            return
        self.process = subprocess.Popen(
            ['lttng-sessiond', '--no-kernel'], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        for _ in range(100):
            if self.answers():
                break
            time.sleep(0.1)

    @staticmethod
    def answers():
        return run(['lttng', '--no-sessiond', 'list'], check=False)[0] == 0

    def end(self):
        if not self.process:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass

        # It and its consumers, which it does not always take with it, are a
        # process group of their own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def restart(self):
        if self.process:
            self.end()
            self.start()


DAEMON = SessionDaemon()


@contextlib.contextmanager
def resident_program():
    """A program that keeps Wine's server and services alive meanwhile.

    Otherwise a program would now and then start them, and wait for that.
    """
    program = subprocess.Popen([WINE, 'cmd', '/k'], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        program.communicate(b'exit\r\n', timeout=LIMIT)


def measure_cost(tool, sizes, keep):
    """One run of HookCost; returns what came of it."""
    folder = os.path.join(tool.folder, 'data')
    leaf, depth = sizes
    seconds, output, lost = tool.execute(tool.cost, [str(leaf), str(depth)],
                                         folder)
    shapes = {fields[0]: float(fields[2]) for fields in
              (line.split() for line in output.splitlines())
              if len(fields) == 3}
    if set(shapes) != {'leaf', 'fib'}:
        raise Failed('%s: HookCost printed %r' % (tool.title, output))
    pairs = leaf + fibonacci_calls(depth)
    figures = dict(shapes, seconds=seconds, lost=lost,
                   bytes=size_of(folder) / pairs)
    if keep:
        figures['seen'] = sum(
            count for name, count in tool.calls(tool.cost, folder).items()
            if name.startswith('(') or name in ('Leaf', 'Fibonacci'))
        figures['pairs'] = pairs
    shutil.rmtree(folder)
    return figures


def measure_lua(tool, rounds, keep):
    folder = os.path.join(tool.folder, 'data')
    script = windows_path(SCRIPT) if tool.wine else SCRIPT
    seconds, output, lost = tool.execute(tool.lua, [script, str(rounds)],
                                         folder)
    if 'checksum' not in output:
        raise Failed('%s: Lua printed %r' % (tool.title, output))
    figures = dict(seconds=seconds, lost=lost)
    if keep:
        figures['seen'] = sum(tool.calls(tool.lua, folder).values())
    shutil.rmtree(folder)
    return figures


def kill_it(tool, first, limit):
    """Kills Killed in mid-run: (calls it had made, calls that are read)."""
    folder = os.path.join(tool.folder, 'data')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    count = os.path.join(tool.folder, 'count')
    arguments = [str(first), str(limit),
                 windows_path(count) if tool.wine else count]
    tool.stuck, tool.patience = '', 10
    tool.start(folder)
    try:
        command, environment = tool.command(tool.killed, arguments, folder)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, LC_ALL='C', **environment))
        words = process.stdout.readline().split()
        if words[:1] != [b'ready']:
            process.kill()
            process.communicate()
            raise Failed('%s: Killed is not ready: %r' % (tool.title, words))
        time.sleep(0.2)

        # Wine's process is the one that was started, because RunWine.sh
        # replaces itself; uftrace's is a child of its recorder.
        victim = process.pid if tool.wine else int(words[1])
        os.kill(victim, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        if process.returncode == 3:
            raise Failed('%s: Killed ended before it was killed' % tool.title)
        with open(count, 'rb') as file:
            made = struct.unpack('<Q', file.read(8))[0]
        with contextlib.suppress(Failed):
            tool.stop(folder)
    finally:
        with contextlib.suppress(Failed):
            tool.finish(folder)
    problem = ''
    try:
        seen = sum(number for name, number in
                   tool.calls(tool.killed, folder).items()
                   if name.startswith('(') or name == 'Leaf')
    except Failed as failed:
        seen, problem = 0, str(failed)
    if tool.stuck:
        problem = '%s hangs' % tool.stuck
    shutil.rmtree(folder)
    return made, seen, problem


def describe_kills(kills):
    """Killed counts a call when it has returned, so a tracer that lost
    nothing may have one more.  Returns (verdict, numbers of the worst)."""
    whole = sum(seen >= made for made, seen, _ in kills)
    made, seen, _ = min(kills, key=lambda kill: kill[1] - kill[0])
    if whole == len(kills):
        verdict = 'yes'
    elif not any(seen for _, seen, _ in kills):
        verdict = 'no'
    else:
        verdict = 'all but the last %s' % format(made - seen, ',')
    problems = [problem for _, _, problem in kills if problem]
    if problems:
        verdict += '; %d of %d: %s' % (len(problems), len(kills),
                                       problems[0][:60])
    return verdict, '%s of %s' % (format(seen, ','), format(made, ','))


def describe_machine():
    """What the figures depend on, as lines."""
    model = flags = ''
    with open('/proc/cpuinfo') as file:
        for line in file:
            key, _, value = line.partition(':')
            if key.strip() == 'model name' and not model:
                model = value.strip()
            if key.strip() == 'flags' and not flags:
                flags = value.split()
    release = ''
    with open('/etc/os-release') as file:
        for line in file:
            if line.startswith('PRETTY_NAME='):
                release = line.split('=', 1)[1].strip().strip('"')
    with open('/etc/debian_version') as file:
        release += ' (%s)' % file.read().strip()
    versions = []
    for name, command, pattern in (
            ('gcc', ['gcc', '--version'], r'(\S+)$'),
            ('clang', ['clang-19', '--version'], r'version (\S+)'),
            ('MinGW gcc', [MINGW[0], '--version'], r'GCC\) (\S+)'),
            ('Wine', [WINE, '--version'], r'wine-(\S+)'),
            ('uftrace', ['uftrace', '--version'], r'v(\S+)'),
            ('LTTng', ['lttng', '--version'], r'(\d\S+)'),
            ('LTTng-UST', ['dpkg-query', '-W', '-f', '${Version}',
                           'liblttng-ust-dev'], r'(\S+)'),
            ('Babeltrace', ['babeltrace2', '--version'], r'(\d\S+)'),
            ('gprof', ['gprof', '--version'], r'(\d\S+)$')):
        try:
            text = run(command, check=False)[1].split('\n')[0].strip()
        except OSError:
            continue
        found = re.search(pattern, text)
        if found:
            versions.append('%s %s' % (name, found.group(1)))
    with open('/proc/meminfo') as file:
        memory = int(file.readline().split()[1]) // 1024 // 1024
    disk = run(['stat', '-f', '-c', '%T', WORK])[1].strip()
    return [
        '%s, %d processors%s, %d GiB; Linux %s; %s; files on %s' % (
            model, os.cpu_count(),
            ' (virtual machine)' if 'hypervisor' in flags else '', memory,
            platform.release(), release, disk),
        ', '.join(versions),
    ]


def table(header, rows, left=1):
    """A Markdown table whose columns are aligned in the source too."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows])
              for column in range(len(header))]
    rule = ['-' * width if column < left else '-' * (width - 1) + ':'
            for column, width in enumerate(widths)]
    lines = []
    for row in [header, rule, *rows]:
        cells = [cell.ljust(width) if column < left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append('| %s |' % ' | '.join(cells))
    return lines


def wrap(text):
    """Paragraphs as lines of at most 79 characters."""
    lines = []
    for paragraph in text.strip().split('\n\n'):
        lines += textwrap.wrap(' '.join(paragraph.split()), 79,
                               break_long_words=False,
                               break_on_hyphens=False) + ['']
    return lines[:-1]


def replace_section(path, section):
    """Puts the section into a file, in place of the one it has."""
    try:
        with open(path) as file:
            text = file.read()
    except FileNotFoundError:
        text = '# Figures: other function tracers\n\n'
    found = re.search(r'^%s\n.*?(?=^## |\Z)' % re.escape(HEADING), text,
                      re.MULTILINE | re.DOTALL)
    if found:
        tail = text[found.end():]
        text = (text[:found.start()] + section + ('\n' if tail else '') +
                tail)
    else:
        text = text.rstrip('\n') + '\n\n' + section
    with open(path, 'w') as file:
        file.write(text)


class Comparison:
    """All of it: tools, sizes, figures, and what was left out."""

    def __init__(self, options):
        self.options = options
        self.skipped = []
        if options.quick:
            self.sizes = {'fast': (1000000, 26), 'slow': (500000, 24),
                          'slowest': (300000, 23)}
            self.lua_rounds = {'fast': 6, 'slow': 4, 'slowest': 2}
            self.first = 200000
        else:
            self.sizes = {'fast': (20000000, 35), 'slow': (5000000, 31),
                          'slowest': (3000000, 30)}
            self.lua_rounds = {'fast': 40, 'slow': 20, 'slowest': 8}
            self.first = 2000000
        leaf, depth = self.sizes['slowest']
        pairs = max(leaf + fibonacci_calls(depth), self.first * 4,
                    self.lua_rounds['slowest'] * 2000000)
        absent = os.environ.get('PEERS_ABSENT', '').split()
        self.tools = []
        for tool in (Bare('gcc'), Bare('clang'), Bare('mingw'), Floor(False),
                     Floor(True), Ours(), Compact(), Uftrace('-pg'),
                     Uftrace('-pg -mfentry'),
                     Uftrace('-finstrument-functions'),
                     Lttng('cyg-profile-fast'), Lttng('cyg-profile'),
                     XRayFdr(32 + pairs * 16 // 1048576), XRayBasic(),
                     Gprof()):
            if options.only and not any(
                    name.lower() in tool.title.lower()
                    for name in options.only.split(',')) and \
                    not isinstance(tool, (Bare, Ours)):
                continue
            if tool.group in absent:
                self.skip(tool.title, 'its packages cannot be installed')
                continue
            self.tools.append(tool)

    def skip(self, what, why):
        self.skipped.append((what, why))
        say('skipped: %s: %s' % (what, why))

    def each(self, what, action):
        """Does something with every tool; one that fails is left out."""
        for tool in list(self.tools):
            try:
                action(tool)
            except (Failed, OSError, subprocess.SubprocessError) as failed:
                if isinstance(tool, (Bare, Ours)):
                    raise
                self.skip(tool.title, '%s: %s' % (what, failed))
                self.tools.remove(tool)

    def measure(self):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        code, lua, _ = run([os.path.join(ROOT, 'Build', 'FetchLua.sh'),
                            os.path.join(os.path.dirname(BIN), 'Lua')],
                           check=False)
        lua = lua.strip() if code == 0 else None
        if not lua:
            self.skip('Lua', 'its source cannot be had')
        say('building')
        self.each('building', lambda tool: tool.build_all(lua))

        # The first run has what only the first one ever does.
        say('starting each of them, with almost no calls')
        self.starts, self.lua_starts = {}, {}

        def start_it(tool):
            measure_cost(tool, (1000, 10), False)
            self.starts[tool] = statistics.median(
                measure_cost(tool, (1000, 10), False)['seconds']
                for _ in range(3))
            if tool.lua:
                measure_lua(tool, 0, False)
                self.lua_starts[tool] = statistics.median(
                    measure_lua(tool, 0, False)['seconds']
                    for _ in range(3))

        self.each('a short run', start_it)

        self.costs = {}
        for number in range(self.options.rounds):
            say('calls, round %d of %d' % (number + 1, self.options.rounds))

            def cost_it(tool):
                self.costs.setdefault(tool, []).append(measure_cost(
                    tool, self.sizes[tool.speed],
                    number == 0 and (tool.keeps_calls or
                                     isinstance(tool, Gprof))))

            self.each('calls', cost_it)

        self.luas = {}
        self.lua_failures = {}
        rounds = (self.options.rounds + 1) // 2 if lua else 0
        if self.options.rounds >= 5:
            rounds = max(rounds, 3) if lua else 0
        self.lua_repeats = rounds
        for number in range(rounds):
            say('Lua, round %d of %d' % (number + 1, rounds))
            for tool in self.tools:
                if tool in self.lua_failures:
                    continue
                try:
                    for loops in self.lua_loops(tool):
                        self.luas.setdefault((tool, loops), []).append(
                            measure_lua(tool, loops,
                                        number == 0 and tool.keeps_calls))
                except (Failed, OSError,
                        subprocess.SubprocessError) as failed:
                    self.skip(tool.title, 'Lua: %s' % failed)
                    self.lua_failures[tool] = True

        say('killing')
        self.kills = {}
        for tool in self.tools * KILLS:
            if not tool.keeps_calls:
                continue
            try:
                self.kills.setdefault(tool, []).append(kill_it(
                    tool, self.first, self.first + 200000000))
            except (Failed, OSError, ValueError,
                    subprocess.SubprocessError) as failed:
                self.skip(tool.title, 'SIGKILL: %s' % failed)

    def lua_loops(self, tool):
        """The untraced ones run with each parameter that a tool has."""
        if isinstance(tool, Bare):
            return sorted(set(self.lua_rounds.values()))
        return [self.lua_rounds[tool.speed]]

    def median(self, tool, what):
        return statistics.median(run[what] for run in self.costs[tool])

    def pairs(self, tool):
        leaf, depth = self.sizes[tool.speed]
        return leaf + fibonacci_calls(depth)

    def cost_rows(self):
        ours = next(tool for tool in self.tools if isinstance(tool, Ours))
        for tool in self.tools:
            leaf = self.median(tool, 'leaf')
            fib = self.median(tool, 'fib')
            traces = tool.keeps_calls and not isinstance(tool, Gprof)
            whole = ((self.median(tool, 'seconds') - self.starts[tool]) *
                     1e9 / self.pairs(tool))
            yield [
                tool.title, '%.1f' % leaf, '%.1f' % fib,
                '%.2f' % (leaf / self.median(ours, 'leaf')),
                '%.2f' % (fib / self.median(ours, 'fib')),
                '%.1f' % whole,
                '%.1f' % self.median(tool, 'bytes') if traces else '-',
            ]

    def kept_rows(self):
        for tool in self.tools:
            if not tool.keeps_calls:
                continue
            first = self.costs[tool][0]
            own = [run['lost'] for run in self.costs[tool]
                   if run['lost'] is not None]
            missing = first['pairs'] - first['seen']
            if self.kills.get(tool):
                kill, numbers = describe_kills(self.kills[tool])
            else:
                kill = numbers = 'not tried'
            yield [
                tool.title, tool.records,
                'none' if not missing else format(missing, ','),
                'no count' if not own else 'none in %d runs' % len(own)
                if not any(own) else
                '%s to %s' % (format(min(own), ','), format(max(own), ',')),
                kill, numbers,
            ]

    def lua_rows(self):
        bare = {tool.compiler: tool for tool in self.tools
                if isinstance(tool, Bare)}
        for tool in self.tools:
            if tool in self.lua_failures:
                yield [tool.title, '-', 'failed', '-', '-', '-']
                continue
            for loops in self.lua_loops(tool):
                runs = self.luas[tool, loops]
                base = self.luas[bare[tool.compiler], loops]
                start = self.lua_starts[tool]
                base_start = self.lua_starts[bare[tool.compiler]]
                seconds = statistics.median(run['seconds'] for run in runs)
                factor = statistics.median(
                    (run['seconds'] - start) / (one['seconds'] - base_start)
                    for run, one in zip(runs, base))
                seen = runs[0].get('seen')
                own = [run['lost'] for run in runs
                       if run['lost'] is not None]
                yield [
                    tool.title, loops, '%.2f' % (seconds - start),
                    '%.1f' % factor,
                    '-' if seen is None else '%.2f' % (seen / 1e6),
                    '-' if not own else format(max(own), ','),
                ]

    def section(self, minutes):
        sizes = {speed: '%s leaf calls and fib(%d), %s calls' % (
            format(leaf, ','), depth, format(fibonacci_calls(depth), ','))
            for speed, (leaf, depth) in self.sizes.items()}
        lines = [HEADING, '']
        lines += [
            "Written by `make bench-peers PEERS='--write "
            "Docs/figures/Peers.md'` on %s,\nin %.1f minutes%s." % (
                time.strftime('%Y-%m-%d'), minutes,
                ', **with --quick: the figures mean nothing**'
                if self.options.quick else ''),
            '', *('- ' + line for line in describe_machine()),
            '- load of the machine at the end: %.2f, %.2f, %.2f' %
            os.getloadavg(), '']
        lines += wrap(METHOD.format(rounds=self.options.rounds,
                                    kills=KILLS, **sizes))
        lines += ['', '### What a call costs', '']
        lines += table(['nanoseconds a call', 'leaf', 'fib', 'leaf / ours',
                        'fib / ours', 'until on file', 'bytes a call'],
                       list(self.cost_rows()))
        lines += ['', '### What is kept', '']
        lines += table(['', 'records', 'calls missing', "tool's own count",
                        'after SIGKILL', 'calls read after SIGKILL'],
                       list(self.kept_rows()), left=2)
        if self.luas:
            lines += ['', '### Lua', '']
            lines += wrap(LUA.format(repeats=self.lua_repeats)) + ['']
            lines += table(['', 'parameter', 'seconds', 'slowdown',
                            'million calls read', 'lost'],
                           list(self.lua_rows()))
        lines += ['', '### What is not comparable', '']
        lines += CAVEATS.strip('\n').splitlines()
        lines += ['', '### Left out', '']
        lines += ['- %s: %s' % pair for pair in self.skipped]
        lines += ['%s%d skipped.' % ('\n' if self.skipped else '',
                                     len(self.skipped))]
        lines += ['', '### Commands', '',
                  'As they were run, each once; `work` is `x64/Bench/Peers`.',
                  'Lua is built with the same flags but for those that '
                  'HookCost.c', 'alone needs (`%s`).' % ' '.join(SAME_CALLS)]
        for tool in self.tools:
            lines += ['', tool.title + ':', '']
            lines += ['    ' + command for command in tool.commands]
        return '\n'.join(lines) + '\n'


METHOD = """\
The same source, `Benchmarks/Programs/HookCost.c`, is built for every tracer: a
leaf in a loop, and the recursive Fibonacci function, with inlining and sibling
calls off. Every call and every return is recorded in a file. The figures are
the times of whole loops divided by their calls, as the program itself measures
them. They include the call, the function's own work and the tracer; the row
"not traced" shows the time without a tracer. They are medians of {rounds}
interleaved runs. The programs that are not traced, the floor, Tracer and gprof
make {fast}, a run; uftrace and LTTng {slow}; XRay {slowest}. "Until on file"
is the time of the whole command until the tool has ended and everything is in
its files, less that of a run with hardly any calls, divided by the calls of
both shapes. "Bytes a call" is the size of all files divided by the calls.

"Calls missing" compares the calls that the program is known to have made with
those that the tool's own reader finds in the files of the first run. For
SIGKILL, `Benchmarks/Peers/Killed.c` makes calls and counts those that have
returned in a file that it has mapped. It is killed (the process alone; LTTng's
and uftrace's own processes continue) two tenths of a second after its first
two million calls; then the tool's own reader counts the calls that it finds.
The worst of {kills} kills is shown.
"""

LUA = """\
Lua 5.4, built with -O2 and each tracer's flags, runs the script
`Benchmarks/Peers/Calls.lua`, which spends its time in Lua's own small C
functions. The seconds are those of the whole command, until everything is on
file, less those of the same command with the parameter 0. The slowdown is this
time divided by that of an untraced Lua, built by the same compiler for the
same platform, with the same parameter in the same round; medians of {repeats}
interleaved rounds. What is recorded differs, because the compilers inline
differently, and gcc's -finstrument-functions records inlined functions too.
"""

CAVEATS = """
- Tracer's programs are Windows programs and run under Wine, the others are
  native. The code of the loop and of the hooks runs directly on the processor
  in both cases, as the two rows of the floor show; files are written by the
  same kernel, but through Wine.
- The tools record different things (see the table). LTTng records the
  processor and, in its full variant, the call site, and can be switched on and
  off while the program runs. XRay can be patched in and out. uftrace can
  record arguments, library calls and events of the kernel. All of that is
  switched off here where possible. Tracer records the stack pointer.
- XRay's flight data recorder keeps its records in memory and writes them when
  the program asks for it, after the loops; only "until on file" includes that.
  Its buffers are made large enough for all records here; by default it keeps
  only the last ones. By default both of its modes leave out calls shorter than
  5 microseconds; that is switched off here.
- XRay uses the time stamp counter only where the kernel tells it the frequency
  (in `/sys/devices/system/cpu/cpu0`), which it often does not in virtual
  machines. It then calls clock_gettime for every record; its figures would be
  better on a machine where it does not need to.
- uftrace loses track at longjmp, and then leaves out calls as too deep, unless
  it also records library calls. For Lua it therefore records these, too (about
  a fifth more calls, which are not in the number of calls read).
- uftrace reads CLOCK_MONOTONIC, Tracer and LTTng the time stamp counter.
- `lttng stop` waits in steps of 0.2 seconds, so that LTTng's "until on file"
  is uncertain by some 20 nanoseconds either way.
- If SIGKILL came between the reservation and the end of a record, LTTng 2.13
  sometimes did not end its session (`lttng destroy` hung for minutes), and the
  contents of that buffer stayed unread; the script then ends the daemon after
  ten seconds. `lttng-crash`, which reads buffers from a file system that is
  configured beforehand, was not tried.
- LTTng may discard events when its consumer does not keep up; the number is in
  the table. It can be configured to wait instead, which is not measured here.
- The script needs memory for XRay's buffers and some 3 GiB for llvm-xray,
  which holds all records at once; XRay's runs are short for that reason.
- gprof counts calls and samples the time; it records no calls. It is included
  for comparison.
- The numbers of calls differ between tools so that a run of each takes one or
  two seconds; the costs of starting are divided among the calls.
"""


def main():
    parser = argparse.ArgumentParser(
        description='Compares Tracer with other function tracers.')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--only', metavar='NAME,...')
    parser.add_argument('--write', metavar='FILE')
    options = parser.parse_args()

    begin = time.monotonic()
    comparison = Comparison(options)
    try:
        DAEMON.start()
        with resident_program():
            comparison.measure()
    finally:
        DAEMON.end()
    section = comparison.section((time.monotonic() - begin) / 60)
    for path in glob.glob(os.path.join(WORK, '*')):
        shutil.rmtree(path)
    with open(os.path.join(WORK, 'AgainstOtherTracers.md'), 'w') as file:
        file.write(section)
    if options.write:
        replace_section(options.write, section)
    print(section, end='')
    say('%d skipped' % len(comparison.skipped))
    return 0


if __name__ == '__main__':
    sys.exit(main())

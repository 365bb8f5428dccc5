"""Builds and runs the programs that the tests trace.

Shared by the tests that compare what Tracer saw with what happened.  The
environment is that of Tests/RunTests.sh; a test can also be run by hand, with
the build in x64/Release.
"""

import concurrent.futures
import csv
import glob
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'Tests', 'Library')]
import WatchSupport as watch                                 # noqa: E402

PROGRAMS = os.path.join(ROOT, 'Tests', 'Programs')
BIN = os.path.abspath(os.environ.get('TRACER_BIN') or
                      os.path.join(ROOT, 'x64', 'Release'))
WINE = (os.environ.get('TRACER_WINE') or
        os.path.join(ROOT, 'Build', 'RunWine.sh'))
LIBRARY = os.path.join(BIN, 'TracerPenter.lib')
READER = os.path.join(BIN, 'TraceReader.exe')

# Columns of `TraceReader report --csv`; names of functions are in "function".
REPORT_COLUMNS = {'calls': 'calls', 'total': 'total_ns', 'self': 'self_ns',
                  'abandoned': 'abandoned',
                  'abandoned_time': 'abandoned_time_ns'}

# Milliseconds that Busy and Sample sleep now and then.  A session shorter than
# 10 ms gets its clock's rate from when it is read (READER_MINIMUM_CLOCK_SPAN),
# so two readings of it may be a nanosecond apart.
PAUSE = '20'

# How full the machine's disk is must not matter; TestMinFree.py says otherwise.
os.environ.setdefault('TRACER_MIN_FREE', '0')

# What takes long is wanted too: make test-long (Tests/RunTests.sh).
LONG = bool(os.environ.get('TRACER_LONG'))

GCC = 'x86_64-w64-mingw32-gcc'
CLANG = 'clang-19'
GCOV = 'x86_64-w64-mingw32-gcov'
NM = 'x86_64-w64-mingw32-nm'

# Before a compiler: half of what a test compiles another one compiles, too, and
# compilers are two fifths of what all tests cost.
CACHE = ['ccache'] if shutil.which('ccache') else []
os.environ.setdefault('CCACHE_DIR', os.path.join(os.path.dirname(BIN),
                                                 'Compiled'))

# What compilers search before the system's headers: a lean windows.h.
for name in 'C_INCLUDE_PATH', 'CPLUS_INCLUDE_PATH':
    os.environ.setdefault(name, os.path.join(ROOT, 'Tests', 'Library',
                                             'Include'))

# The optimizer must not change which function is called how often, or the
# builds could not be compared: no inlining, no clones, no folding of equal
# functions, no calls left out because their result is known.
SAME_CALLS = [
    '-O2', '-fno-inline', '-fno-inline-functions-called-once',
    '-fno-partial-inlining', '-fno-optimize-sibling-calls', '-fno-ipa-cp',
    '-fno-ipa-sra', '-fno-ipa-icf', '-fno-ipa-pure-const', '-fno-ipa-modref',
    '-fno-ipa-reference', '-fno-ipa-ra',
]
GCOV_FLAGS = ['-fprofile-arcs', '-ftest-coverage', '-fprofile-update=atomic']
PENTER_FLAGS = ['-pg', '-mfentry', '-mfentry-name=_penter',
                '-minstrument-return=call']
FUNCTION_FLAGS = ['-finstrument-functions']
CLANG_SAME_CALLS = ['--target=x86_64-w64-mingw32', '-O2', '-fno-inline',
                    '-fno-optimize-sibling-calls']

# Lua uses the time and addresses in a few places; a count must not depend on
# them.  gcov cannot follow computed gotos.  GNU as drops local symbols that
# begin with L, so these get other names.
LUA_FLAGS = [
    '-Dluai_makeseed(L)=1234u', '-Dl_randomizePivot()=0u',
    '-DSTRCACHE_N=1', '-DSTRCACHE_M=2', '-DLUA_USE_JUMPTABLE=0',
    '-DLTnum=NumberLT', '-DLEnum=NumberLE', '-DLTintfloat=IntFloatLT',
    '-DLEintfloat=IntFloatLE', '-DLTfloatint=FloatIntLT',
    '-DLEfloatint=FloatIntLE',
]


class Results:
    """Counts checks, and ends a test as Tests/RunTests.sh wants it."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, condition, text, details=()):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print('FAILED: %s' % text)
            for line in list(details)[:20]:
                print('        %s' % (line,))
        return bool(condition)

    def equal(self, left, right, text):
        return self.check(left == right, '%s: %r, %r' % (text, left, right))

    def skip(self, text):
        self.skipped += 1
        print('skipped: %s' % text)

    def finish(self):
        while Scratch.open:
            Scratch.open.pop().check_round_trips()
        for name in 'passed', 'failed', 'skipped':
            setattr(self, name, getattr(self, name) +
                    getattr(Scratch.round_trips, name, 0))
        line = '%d passed, %d failed' % (self.passed, self.failed)
        if self.skipped:
            line += ', %d skipped' % self.skipped
        print(line, flush=True)
        return 1 if self.failed else 0


class Scratch:
    """A folder for a test, removed at its end; with TEST_ROUND_TRIP every
    session in it goes through pack and unpack before (RoundTrip.py)."""
    open = []
    round_trips = None

    def __enter__(self):
        above = os.environ.get('TRACER_TEMP')
        if not above:
            above = os.path.join(os.path.dirname(BIN), 'Test')
            os.makedirs(above, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix='programs-', dir=above)
        self.open.append(self)
        return self.path

    def __exit__(self, *_):
        if self in self.open:
            self.check_round_trips()
            self.open.remove(self)
        shutil.rmtree(self.path, ignore_errors=True)

    def check_round_trips(self):
        if os.environ.get('TEST_ROUND_TRIP'):
            import RoundTrip                   # it uses this module
            Scratch.round_trips = Scratch.round_trips or Results()
            RoundTrip.check_folder(Scratch.round_trips, self.path)


def windows_path(path):
    return 'Z:' + os.path.abspath(path).replace('/', '\\')


def run(command, **options):
    """Runs a program; returns (exit code, standard output as text)."""
    done = watch.run(command, stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, **options)
    text = done.stdout.decode('utf-8', 'replace').replace('\r\n', '\n')
    return done.returncode, text


@watch.unless_wine_failed
def run_windows(program, *arguments, cwd=None, directory=None, **environment):
    """Runs a Windows program; other keywords go into its environment.

    directory is where it leaves something, what gcov counts for example.
    """
    with tempfile.TemporaryFile() as errors:
        code, text = run([WINE, program, *arguments], cwd=cwd, stderr=errors,
                         env=dict(os.environ, **environment))
        errors.seek(0)
        told = errors.read()
    sys.stderr.buffer.write(told)
    sys.stderr.flush()
    return watch.ExitCode(code, told), text


@watch.unless_silent
def trace_reader(*arguments):
    return run_windows(READER, *arguments)


def find_lua():
    """The folder of Lua's source, or None (what is missing was printed)."""
    code, text = run([os.path.join(ROOT, 'Build', 'FetchLua.sh')])
    return text.strip() if code == 0 else None


def build(folder, sources, flags, name, libraries=(),
          compiler=(GCC, *SAME_CALLS)):
    """Compiles a program, links it with MinGW gcc, and returns its path."""
    os.makedirs(folder)

    def compile_one(source):
        base = os.path.splitext(os.path.basename(source))[0]
        target = os.path.join(folder, base + '.o')
        subprocess.run([*CACHE, *compiler, *flags, '-c', source, '-o', target],
                       check=True, cwd=folder)
        return target

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    program = os.path.join(folder, name)
    coverage = ['-fprofile-arcs'] if '-fprofile-arcs' in flags else []
    subprocess.run([GCC, *objects, *coverage, *libraries, '-static',
                    '-o', program], check=True, cwd=folder)
    return program


def build_sample(folder, flags, libraries=(), **options):
    return build(folder, [os.path.join(PROGRAMS, 'Sample.c')], flags,
                 'Sample.exe', libraries, **options)


def build_lua(folder, source, flags, libraries=()):
    sources = sorted(path for path in glob.glob(os.path.join(source, '*.c'))
                     if os.path.basename(path) != 'luac.c')
    return build(folder, sources, [*flags, *LUA_FLAGS], 'lua.exe', libraries)


def remove_lookups(path):
    """Takes from an image what names its imports once the loader has filled
    their slots, as old linkers and packers leave it: its descriptors have no
    lookup table, and the tables are nothing.  Returns their number."""
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    header = struct.unpack_from('<I', data, 0x3C)[0]
    sections, optional = struct.unpack_from('<2xH12xH', data, header + 4)
    table = header + 24 + optional

    def find(rva):
        for position in range(table, table + 40 * sections, 40):
            start, size, offset = struct.unpack_from('<III', data,
                                                     position + 12)
            if start <= rva < start + size:
                return rva - start + offset
        raise RuntimeError('%s: 0x%x is in no section' % (path, rva))

    number = 0
    place = find(struct.unpack_from('<I', data, header + 24 + 112 + 8)[0])
    while struct.unpack_from('<I', data, place + 12)[0]:
        lookup, slots = struct.unpack_from('<I12xI', data, place)
        position, slot = find(lookup), find(slots)
        while any(data[position:position + 8]):
            if data[position:position + 8] != data[slot:slot + 8]:
                raise RuntimeError('%s: slots are not names' % path)
            data[position:position + 8] = bytes(8)
            position, slot = position + 8, slot + 8
        struct.pack_into('<I', data, place, 0)
        place += 20
        number += 1
    with open(path, 'wb') as file:
        file.write(data)
    return number


def place(program, folder):
    """Copies a program to where another of the same name ran before.

    Programs that differ in the path by which they are called differ in the
    strings that they make of it.
    """
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(program, folder)


def trace(program, *arguments, directory, **environment):
    """Runs a traced program; returns (output, session directory)."""
    os.makedirs(directory)
    code, text = run_windows(program, *arguments, directory=directory,
                             TRACER_DIRECTORY=windows_path(directory),
                             **environment)
    sessions = sorted(os.listdir(directory))
    if code != 0 or len(sessions) != 1:
        raise RuntimeError('%s: exit code %d, sessions %s' %
                           (program, code, sessions))
    return text, os.path.join(directory, sessions[0])


def gcov_counts(folder):
    """How often each function was entered, says gcov; names are summed.

    gcov takes the second return of setjmp for another entry of the function.
    The line that the function begins on does not have it, so the smaller of
    the two numbers is the one.
    """
    counts = Counter()
    data = sorted(glob.glob(os.path.join(folder, '*.gcda')))
    if not data:
        raise RuntimeError('no .gcda file in %s' % folder)
    for path in data:
        _, text = run([GCOV, '-j', '-t', path], cwd=folder)
        for file in json.loads(text)['files']:
            lines = {(line.get('function_name'), line['line_number']):
                     line['count'] for line in file['lines']}
            for function in file['functions']:
                name, count = function['name'], function['execution_count']
                first = lines.get((name, function['start_line']), count)
                counts[name] += min(count, first)
    return Counter({name: count for name, count in counts.items() if count})


def read_report(session):
    """What TraceReader reports: function -> calls, total and self (ns).

    Functions of one name are added up; "rows" says how many there are.  Where
    there is no time, it is 0.
    """
    code, text = trace_reader('report', '--csv', windows_path(session))
    if code != 0:
        raise RuntimeError('TraceReader report: exit code %d: %s' %
                           (code, text))
    rows = {}
    for row in csv.DictReader(io.StringIO(text)):
        seen = rows.setdefault(row['function'], Counter())
        seen['rows'] += 1
        for field, column in REPORT_COLUMNS.items():
            seen[field] += int(row[column] or 0)
    return rows


def differences(expected, seen):
    """Every function whose two counts differ: (name, expected, seen)."""
    return [(name, expected.get(name, 0), seen.get(name, 0))
            for name in sorted(set(expected) | set(seen))
            if expected.get(name, 0) != seen.get(name, 0)]


def write_symbols(program, path):
    """Writes the symbol list that trace_reader.py takes."""
    with open(path, 'wb') as file:
        subprocess.run([NM, program], check=True, stdout=file,
                       stderr=subprocess.DEVNULL)
    return path


if __name__ == '__main__':
    sys.exit('This is a module of Tests/Product/TestCounts.py and its neighbours.')

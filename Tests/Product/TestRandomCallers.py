#!/usr/bin/env python3
"""Functions that keep values everywhere across the calls of the hooks.

    TestRandomCallers.py [SEED [FUNCTIONS [SEEDS]]]

random_callers.py writes random programs, and says what they must print and in
which order they enter which function.  They are run with the hooks recording
(small views, so that the slow path is taken often; several threads; both kinds
of TLS slots; a slow path that changes all that a call of C may change), with
the hooks off, left out, and empty.  The controls are hooks that change one
register, one flag or one other thing now and then: all must be noticed.

With arguments: SEEDS programs of FUNCTIONS functions, from SEED on; the vector
registers are xmm, ymm, zmm in turn.
"""
# Takes long.

import csv
import io
import os
import subprocess
import sys
from collections import Counter

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402
import random_callers                                        # noqa: E402

# Seed, functions, level.
DEFAULT = [(1, 800, 2), (2, 300, 1), (3, 300, 0)]
LEVELS = ['xmm', 'ymm', 'zmm and k']
THREADS = 6
VIEW = 64 * 1024
CONTROL_ROUNDS = 10
LONG = [(THREADS, 25), (50, 1)]     # threads, rounds


def vector_level():
    """What the processor has, and the system has turned on."""
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        for line in file:
            if line.startswith('flags'):
                flags = set(line.split())
                if {'avx512f', 'avx512bw'} <= flags:
                    return 2
                return 1 if 'avx2' in flags else 0
    return 0


@support.watch.unless_wine_failed
def run(program, *arguments, directory=None, **variables):
    """(exit code, lines); the code is None if the program did not end."""
    code, text = support.finish(
        support.start(program, *map(str, arguments), directory=directory,
                      **variables))
    return code, text.splitlines()


def check_output(results, what, done, expected):
    """A run's exit code and lines; shows the first that differ."""
    code, lines = done
    different = [pair for pair in zip(expected, lines) if pair[0] != pair[1]]
    results.check((code, lines) == (0, expected), what + ': output',
                  ['exit code %s, %d lines of %d (expected, seen)' %
                   (code, len(lines), len(expected)), *different[:5]])


class Build:
    """The executables of one random program."""

    def __init__(self, folder, program, level):
        os.makedirs(folder)
        self.folder = folder
        sources = program.write(folder)
        hooks = self.write('broken.asm', random_callers.broken_hooks(level))
        clobber = self.write('clobber.asm',
                             random_callers.clobber(vector_level()))
        assemblers = [subprocess.Popen(['nasm', '-f', 'win64', source, '-o',
                                        source + '.obj'])
                      for source in [*sources, hooks, clobber]]
        main = os.path.join(programs.PROGRAMS, 'RandomCallers.c')
        for name, flags in (('main.o', []), ('broken.o', ['-DBROKEN']),
                            ('clobbered.o', ['-DCLOBBERED'])):
            subprocess.run([programs.GCC, '-O2', *flags, '-c', main, '-o',
                            os.path.join(folder, name)], check=True)
        for assembler in assemblers:
            if assembler.wait() != 0:
                raise RuntimeError('nasm failed')
        self.objects = [source + '.obj' for source in sources]
        null = os.path.join(programs.BIN, 'TracerPenterNull.lib')
        self.traced = self.link('RandomCallers.exe', 'main.o',
                                programs.LIBRARY)
        self.empty = self.link('Empty.exe', 'main.o', null)
        self.broken = self.link('Broken.exe', 'broken.o', hooks + '.obj')
        self.clobbered = self.link(
            'Clobbered.exe', 'clobbered.o', clobber + '.obj',
            programs.LIBRARY, '-Wl,--wrap=PenterSlowPath')

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    def link(self, name, main, *others):
        """Without local symbols, which would look like functions."""
        path = os.path.join(self.folder, name)
        subprocess.run([programs.GCC, os.path.join(self.folder, main),
                        *self.objects, *others, '-static', '-Wl,-x', '-o',
                        path], check=True)
        return path


def count(calls):
    return Counter(call[1] for one in calls for call in one)


def check_counts(results, what, session, expected):
    """The calls of every function, and that each was seen to end."""
    rows = programs.read_report(session)
    seen = {name: row['calls'] for name, row in rows.items()}
    wrong = programs.differences(expected, seen)
    results.check(not any(row['abandoned'] for row in rows.values()),
                  what + ': every call was seen to end')
    if not results.check(not wrong,
                         what + ': calls (function, model, report)', wrong):
        return
    name = max(expected)
    for change in (1, -1):
        changed = dict(expected)
        changed[name] += change
        results.equal(len(programs.differences(changed, seen)), 1,
                      what + ': control: %+d' % change)


def read_calls(session):
    """TraceReader replay: the calls of each thread, and how many ended."""
    code, text, errors = support.reader('replay', '--csv',
                                        programs.windows_path(session))
    if code != 0:
        raise RuntimeError('replay: exit code %d: %s' % (code, errors))
    calls, ends = {}, 0
    for row in csv.DictReader(io.StringIO(text)):
        if row['event'] == 'enter':
            calls.setdefault(row['thread_id'], []).append(
                (int(row['depth']), row['function'], int(row['tail_call'])))
        else:
            ends += row['event'] == 'exit'
    return sorted(calls.values()), ends


def check_calls(results, what, session, calls):
    """Every call in its order: depth, function, whether a tail call."""
    expected = sorted(calls)
    seen, ends = read_calls(session)
    results.equal([len(one) for one in seen], [len(one) for one in expected],
                  what + ': replay: calls of each thread')
    different = [pair for one, other in zip(expected, seen)
                 for pair in zip(one, other) if pair[0] != pair[1]]
    results.check(not different, what + ': replay: order (model, replay)',
                  different)
    results.check(all(one[1:] != other[:-1]
                      for one, other in zip(expected, seen)),
                  what + ': replay: control: shifted by one')
    results.equal(ends, sum(map(len, calls)), what + ': replay: ends')
    results.check(any(call[2] for one in calls for call in one),
                  what + ': there are tail calls')


def check_recording(results, what, program, directory, expected, calls,
                    **variables):
    """One recorded run, compared with the model."""
    done = run(program, THREADS, 1, directory=directory,
               TRACER_VIEW_SIZE=str(VIEW // 1024) + 'K', **variables)
    check_output(results, what, done, expected)
    found = support.sessions(directory)
    if not results.check(len(found) == 1, what + ': sessions', found):
        return
    _, rows, text = support.verify(found[0])
    results.check(len(rows) == THREADS and
                  all(row['bad'] == '0' and row['lost'] == '0'
                      for row in rows.values()),
                  what + ': verify', [text[-500:]])
    check_counts(results, what, found[0], count(calls))
    check_calls(results, what, found[0], calls)


def check_long(results, what, build, directory, threads, rounds):
    """More than the model would care to follow: full against empty."""
    what += ', %d threads, %d rounds' % (threads, rounds)
    code, expected = run(build.empty, threads, rounds)
    done = run(build.clobbered, threads, rounds, directory=directory,
               TRACER_VIEW_SIZE=str(VIEW // 1024) + 'K')
    results.check(code == 0, what + ': empty hooks')
    check_output(results, what, done, expected)
    views = [trace_reader.Store(path).end / VIEW
             for path in support.stores(directory)]
    results.check(len(views) == threads and
                  min(views, default=0) * 8 > rounds, what + ': views', views)
    return sum(int(number) for number in views)


def sum_of(lines):
    """What Broken prints instead of the lines."""
    total = 0
    for line in lines:
        for value in line.split()[2:]:
            total = (total * 31 + int(value, 16)) & random_callers.MASK
    return '%016x' % total


def check_controls(results, what, build, level):
    """Every broken hook must change what the program prints.

    One that takes the program down is noticed as well; the others follow in
    another run.
    """
    names = list(random_callers.controls(level))
    code, lines = run(build.empty, 1, CONTROL_ROUNDS)
    expected = sum_of(lines)
    results.check(code == 0, what + ': controls: untraced')
    kinds = [0, *range(1, len(names) + 1)]
    noticed = set()
    while kinds:
        code, lines = run(build.broken, 1, CONTROL_ROUNDS, *kinds)
        seen = [line.split() for line in lines if line[-17:-16] == ' ']
        noticed |= {int(kind) for kind, total in seen if total != expected}
        kinds = kinds[len(seen):]
        if code == 0 and kinds or code is None:
            results.check(False, what + ': controls: end', [code, kinds[:1]])
            return
        if kinds:
            noticed.add(kinds.pop(0))
    results.check(0 not in noticed, what + ': hooks that change nothing')
    for number, name in enumerate(names, 1):
        results.check(number in noticed,
                      '%s: control: %s changed and not noticed' % (what,
                                                                   name))


def check_program(results, scratch, seed, functions, level):
    what = 'seed %d, %s' % (seed, LEVELS[level])
    folder = os.path.join(scratch, 'seed%d-%d' % (seed, level))
    program = random_callers.Program(seed, functions, level)
    build = Build(folder, program, level)
    expected, calls = program.run(range(1, THREADS + 1), 1)

    def place(name):
        return os.path.join(folder, name)

    check_output(results, what + ', empty hooks',
                 run(build.empty, THREADS, 1), expected)
    for name, variables in (('off', {'TRACER_ENABLED': '0'}),
                            ('left out', {'TRACER_MODULES': '-random'})):
        done = run(build.traced, THREADS, 1, directory=place(name),
                   **variables)
        check_output(results, '%s, %s' % (what, name), done, expected)
        results.equal(support.sessions(place(name)), [],
                      '%s: %s: sessions' % (what, name))
    for name, program, variables in (
            ('direct slots', build.traced, {}),
            ('expansion slots', build.traced, {'RANDOM_CALLERS_SLOTS': '1'}),
            ('clobbers', build.clobbered, {})):
        check_recording(results, '%s, %s' % (what, name), program,
                        place(name), expected, calls, **variables)
    views = sum(check_long(results, what, build, place('%dx%d' % size), *size)
                for size in LONG)
    check_controls(results, what, build, level)
    print('%s: %d functions, %d called, %d calls followed, %d views filled' %
          (what, functions, len(count(calls)), sum(map(len, calls)), views),
          flush=True)


def main(arguments):
    results = programs.Results()
    level = vector_level()
    wanted = DEFAULT
    if arguments:
        seed, functions, seeds = [int(value) for value in arguments] + [
            1, 5000, 1][len(arguments):]
        wanted = [(number, functions, number % 3)
                  for number in range(seed, seed + seeds)]
    for seed, functions, wanted_level in wanted:
        if wanted_level > level:
            results.skip('no %s here' % LEVELS[wanted_level])
            continue
        with programs.Scratch() as scratch:
            check_program(results, scratch, seed, functions, wanted_level)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

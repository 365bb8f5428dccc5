#!/usr/bin/env python3
"""Runs what BenchTree.sh has built, and prints the table.

BenchTree.sh says what is measured and which variables set its sizes.
"""

import glob
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, 'Tests', 'Library')]
import tree_reader                                           # noqa: E402

WINE = os.environ['TRACER_WINE']
WORK = sys.argv[1]
SESSION = os.path.join(WORK, 'session')
ROUNDS = int(os.environ.get('ROUNDS') or 9)
LEAF_CALLS = os.environ.get('LEAF_CALLS') or str(1 << 24)
FIB_DEPTH = os.environ.get('FIB_DEPTH') or '34'
LUA_ROUNDS = os.environ.get('LUA_ROUNDS') or '5'
SCRIPT = os.path.join(ROOT, 'Benchmarks', 'Peers', 'Calls.lua')
LIMIT = 600                      # seconds, of any program
VARIANTS = ('bare', 'floor', 'tree', 'records')
MODES = {'tree': 'tree', 'records': 'file'}


def windows_path(path):
    return 'Z:' + path.replace('/', '\\')


def run(program, variant, *arguments):
    """Runs a program: (its output, seconds of processors, calls in trees)."""
    shutil.rmtree(SESSION, ignore_errors=True)
    os.makedirs(SESSION)
    environment = dict(os.environ, TRACER_DIRECTORY=windows_path(SESSION))
    if variant in MODES:
        environment['TRACER_MODE'] = MODES[variant]
    build = 'traced' if variant in MODES else variant
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [WINE, os.path.join(WORK, '%s-%s.exe' % (program, build)),
         *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        cwd=WORK, env=environment, timeout=LIMIT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = (after.ru_utime + after.ru_stime -
            before.ru_utime - before.ru_stime)
    calls = 0
    if variant == 'tree':
        calls = sum(tree_reader.Tree(path).number_of_calls() for path in
                    glob.glob(os.path.join(SESSION, '*', '*.trace')))
    return done.stdout.decode('utf-8', 'replace'), took, calls


def measure(figures):
    """One round: adds (nanoseconds per call) to figures[what][variant]."""
    lua = {}
    for variant in VARIANTS:
        for program, added in (('HookCost', ''), ('Frames', ', frames')):
            text, _, _ = run(program, variant, LEAF_CALLS, FIB_DEPTH)
            for what, value in re.findall(r'(leaf|fib) \d+ ([\d.]+)', text):
                figures.setdefault(what + added, {}).setdefault(
                    variant, []).append(float(value))
        if os.path.exists(os.path.join(WORK, 'Lua-bare.exe')):
            _, took, calls = run('Lua', variant, windows_path(SCRIPT),
                                 LUA_ROUNDS)
            lua[variant] = took
            lua['calls'] = calls or lua.get('calls')
    if lua:
        for variant in VARIANTS[1:]:
            figures.setdefault('Lua', {}).setdefault(variant, []).append(
                (lua[variant] - lua['bare']) * 1e9 / lua['calls'])
        figures['Lua'].setdefault('bare', []).append(
            lua['bare'] * 1e9 / lua['calls'])


def main():
    figures = {}
    for _ in range(ROUNDS):
        measure(figures)
    shutil.rmtree(SESSION, ignore_errors=True)
    print('| ns per call | %s | tree / floor | records / floor |' %
          ' | '.join(VARIANTS))
    print('|---' * (len(VARIANTS) + 3) + '|')
    for what, columns in figures.items():
        ratios = [statistics.median(
            one / floor for one, floor in zip(columns[variant],
                                              columns['floor']))
            for variant in ('tree', 'records')]
        print('| %s | %s | %.2f | %.2f |' % (
            what, ' | '.join('%.1f' % statistics.median(columns[variant])
                             for variant in VARIANTS), *ratios))
    print('\nMedians of %d rounds; Lua: what the run takes longer than '
          'without hooks, of the time of processors.' % ROUNDS)


if __name__ == '__main__':
    main()

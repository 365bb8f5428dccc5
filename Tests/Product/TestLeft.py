#!/usr/bin/env python3
"""Calls that are left without an exit, then calls that come through functions
without hooks (Tests/Programs/Left.cpp): the tree that a trace shows must be the
one that the program itself says.

Both conventions, with records and with a tree; the functions named Hidden are
excluded.  Programs/Mixed.cpp has both conventions in one image.  clang's exits
do not come while an exception unwinds, and records alone do not tell then who
has called (Docs/Limits.md): that build has a tree only.

    TestLeft.py [PART...]           part of a case's name
"""
# Takes long.

import collections
import concurrent.futures
import csv
import io
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFlow as flow                                      # noqa: E402
import witness                                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

BUILDS = [
    ('_penter', flow.GCC_CPP, flow.PENTER),
    ('_penter -O0', flow.GCC_PLAIN, flow.PENTER),
    ('functions', flow.GCC_CPP, flow.GCC_CYG),
    ('clang', flow.CLANG, flow.CYG),
]
MODES = {'records': {}, 'tree': {'TRACER_MODE': 'tree'},
         'ring': {'TRACER_MODE': 'ring'}, 'nothing excluded': {}}


def exclude(checks, what, program, folder):
    path = os.path.join(folder, 'hidden.list')
    code, text, errors = support.reader(
        'exclude', '-o', programs.windows_path(path),
        programs.windows_path(program), 'Hidden16', 'Hidden300',
        'HiddenAlloca')
    checks.check(code == 0, what + ': the list', [code, text, errors])
    return {'TRACER_EXCLUDE': programs.windows_path(path)}


def run_case(number, build, mode, scratch, shared):
    checks = flow.Checks()
    name, compiler, flags = build
    what = '%s, %s' % (name, mode)
    folder = os.path.join(scratch, 'case%d' % number)
    program = flow.build(folder, 'Left.cpp', compiler, flags, shared)
    settings = dict(MODES[mode])
    if mode != 'nothing excluded':
        settings.update(exclude(checks, what, program, folder))
    plain, report = (os.path.join(folder, name)
                     for name in ('plain', 'report'))
    directory = os.path.join(folder, 'sessions')
    expected = flow.run(program, (), plain, TRACER_ENABLED='0')
    checks.check(expected[0] == 0, what + ': untraced', expected)
    checks.equal(flow.run(program, (), report, directory, **settings),
                 expected, what + ': output and exit code')
    checks.check(flow.flow_of(plain) == flow.flow_of(report),
                 what + ': the program did the same')
    found = support.sessions(directory)
    if checks.check(len(found) == 1, what + ': sessions', found):
        left = flow.read(witness.read_witness, report)
        right = flow.read(witness.read_tree, found[0])
        compare(checks, what, mode, left, right)
    shutil.rmtree(folder, ignore_errors=True)
    return checks


def names(tree):
    found, waiting = set(), [tree]
    while waiting:
        node = waiting.pop()
        found |= node.children.keys()
        waiting.extend(node.children.values())
    return found


def compare(checks, what, mode, left, right):
    """Each scenario is a thread of its own.

    Those that jump are for trees: without an exception nobody tells records
    that a call was left.
    """
    for key, trees in left.items():
        for tree in trees:
            if not tree.children:
                continue
            has = names(tree)
            scenario = sorted(tree.children)[0]
            if mode != 'tree' and has & {'JumpThrough', 'JumpHidden',
                                         'JumpPair', 'JumpGrow'}:
                continue
            best = min((witness.differences(tree, other)
                        for other in right.get(key, [])), key=len,
                       default=['no such thread'])
            checks.check(not best, '%s: %s, thread %s' %
                         (what, scenario, key), best[:6])


def run_mixed(results, scratch):
    """900 rounds, of which two of three throw: who calls whom, how often."""
    folder = os.path.join(scratch, 'mixed')
    os.makedirs(folder)
    objects = []
    for name, flags in (('middle', ['-DMIDDLE', *programs.FUNCTION_FLAGS]),
                        ('outer', programs.PENTER_FLAGS)):
        objects.append(os.path.join(folder, name + '.o'))
        subprocess.run(['x86_64-w64-mingw32-g++', *programs.SAME_CALLS, *flags,
                        '-c', os.path.join(programs.PROGRAMS, 'Mixed.cpp'),
                        '-o', objects[-1]], check=True)
    program = os.path.join(folder, 'Mixed.exe')
    subprocess.run(['x86_64-w64-mingw32-g++', *objects, programs.LIBRARY,
                    '-static', '-o', program], check=True)
    path = ['main', 'Catcher', 'Outer', 'Middle', 'Thrower', 'Error::Error']
    expected = {(path[index - 1] if index else '', name):
                1 if index == 0 else 900 if index < 5 else 600
                for index, name in enumerate(path)}
    expected['Catcher', 'Error::~Error'] = 600
    for mode in 'records', 'tree':
        _, session = programs.trace(
            program, '900', directory=os.path.join(folder, mode),
            **MODES[mode])
        code, text, errors = support.reader(
            'tree', '--csv', programs.windows_path(session))
        results.check(code == 0, 'mixed: tree', [code, text, errors])
        seen, names_of = collections.Counter(), {}
        for row in csv.DictReader(io.StringIO(text)):
            name = names_of[row['node']] = row['function'].split('(')[0]
            seen[names_of.get(row['parent'], ''), name] += int(row['calls'])
        seen = {pair: calls for pair, calls in seen.items()
                if pair[0] in path or pair[1] in path}
        results.equal(seen, expected, 'mixed, %s: who has called' % mode)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        library, folder = witness.build(os.path.join(scratch, 'witness'))
        shared = {'witness': library, 'folder': folder, 'imports': [],
                  'shapes': ''}
        if not sys.argv[1:] or 'mixed' in sys.argv[1:]:
            run_mixed(results, scratch)
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            cases = [(build, mode) for build in BUILDS for mode in MODES
                     if (build[0] != 'clang' or mode == 'tree') and
                     (not sys.argv[1:] or
                      any(word in build[0] + ', ' + mode
                          for word in sys.argv[1:]))]
            waiting = [pool.submit(run_case, number, *case, scratch, shared)
                       for number, case in enumerate(cases)]
            for case in waiting:
                for condition, text, details in case.result():
                    results.check(condition, text, details)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

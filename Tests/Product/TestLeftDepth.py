#!/usr/bin/env python3
"""TRACER_MAX_DEPTH where calls are left without an exit and others then come
through functions without hooks (Tests/Programs/Left.cpp): of each thread exactly
those calls are recorded that the program itself says are not deeper, and those
that are left out are counted, none of them as doubtful.

Both conventions, without optimization too, in a file and in a ring; the
functions named Hidden are excluded.

Where functions are inlined into the one that catches it cannot always be known
whether they have been left: then fewer calls are recorded, never others, and
those that are missing are counted as doubtful.

    TestLeftDepth.py [PART...]      part of a case's name
"""
# Takes long.

import concurrent.futures
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFlow as flow                                      # noqa: E402
import TestLeft as left                                      # noqa: E402
import TestModes as modes                                    # noqa: E402
import trace_reader                                          # noqa: E402
import witness                                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

DEPTHS = (1, 2, 3, 4, 7)
INLINED = [
    ('functions, inlined', flow.GCC_INLINE, flow.GCC_CYG),
    ('clang, inlined', flow.CLANG_INLINE, flow.CYG),
]
RING = {'TRACER_MODE': 'ring', 'TRACER_MAX_BYTES': '32M'}


def calls_of(tracks):
    """Of each thread, how often each function was called."""
    return {key: sum((flow.count_calls(tree) for tree in trees),
                     start=type(flow.count_calls(trees[0]))())
            for key, trees in tracks.items()}


def differences(wanted, seen):
    found = []
    for key, calls in sorted(wanted.items()):
        other = seen.get(key, {})
        for name in sorted(calls.keys() | other.keys(), key=str):
            if calls.get(name, 0) != other.get(name, 0):
                found.append((key, name, calls.get(name, 0),
                              other.get(name, 0)))
    return found


def check_depth(checks, what, program, folder, settings, depth):
    report = os.path.join(folder, 'report%d' % depth)
    directory = os.path.join(folder, 'sessions%d' % depth)
    done = flow.run(program, (), report, directory, **settings,
                    TRACER_MAX_DEPTH=str(depth))
    checks.check(done[0] == 0, what + ': exit code', done)
    found = support.sessions(directory)
    if not checks.check(len(found) == 1, what + ': sessions', found):
        return
    told = flow.read(witness.read_witness, report)
    cut, _, deep = modes.cut_trees(told, depth)
    seen = calls_of(flow.read(witness.read_tree, found[0]))
    wrong = differences(calls_of(cut), seen)
    checks.check(not wrong, what + ': calls', wrong[:9])
    for other in depth - 1, depth + 1:
        wrong, _, _ = modes.cut_trees(told, other)
        checks.check(differences(calls_of(wrong), seen),
                     what + ': control: depth %d' % other)
    stores = [trace_reader.Store(path) for path in support.stores(found[0])]
    checks.equal(sum(store.NumberOfEventsTooDeep for store in stores), deep,
                 what + ': events that are too deep')
    checks.check(deep > 100, what + ': control: some are', [deep])
    checks.equal(sum(store.NumberOfEventsDoubtful for store in stores), 0,
                 what + ': none is doubtful')
    _, text, _ = support.reader('info', '--json',
                                programs.windows_path(found[0]))
    recording = json.loads(text)['recording'][0]
    checks.equal((recording['too_deep'], recording.get('too_deep_doubtful')),
                 (deep, 0), what + ': info')


def check_inlined(checks, what, program, folder, depth):
    """How many events are missing."""
    report = os.path.join(folder, 'report%d' % depth)
    directory = os.path.join(folder, 'sessions%d' % depth)
    done = flow.run(program, (), report, directory,
                    TRACER_MAX_DEPTH=str(depth))
    checks.check(done[0] == 0, what + ': exit code', done)
    found = support.sessions(directory)
    if not checks.check(len(found) == 1, what + ': sessions', found):
        return 0
    cut, _, deep = modes.cut_trees(flow.read(witness.read_witness, report),
                                   depth)
    seen = calls_of(flow.read(witness.read_tree, found[0]))
    wrong = [line for line in differences(calls_of(cut), seen)
             if line[3] > line[2]]
    checks.check(not wrong, what + ': calls that are too deep', wrong[:9])
    stores = [trace_reader.Store(path) for path in support.stores(found[0])]
    missing, doubtful = 0, 0
    for store in stores:
        doubtful += store.NumberOfEventsDoubtful
        missing += store.NumberOfEventsTooDeep
    missing -= deep
    print('%s: %d of %d events are missing, %d are doubtful' %
          (what, missing, deep, doubtful))
    checks.check(0 <= missing <= doubtful, what + ': what is missing is said',
                 [missing, doubtful])
    _, text, _ = support.reader('report', programs.windows_path(found[0]))
    checks.equal('may not have been deeper' in text, doubtful != 0,
                 what + ': and below tables')
    return missing


def run_inlined(number, build, source, scratch, shared):
    checks = flow.Checks()
    name, compiler, flags = build
    what = '%s, %s' % (name, source)
    folder = os.path.join(scratch, 'inlined%d' % number)
    program = flow.build(folder, source, compiler, flags, shared)
    missing = [check_inlined(checks, '%s, depth %d' % (what, depth), program,
                             folder, depth) for depth in (1, 2, 4)]
    checks.check(any(missing) or source != 'FlowJump.c',
                 what + ': control: some cannot be known', [missing])
    shutil.rmtree(folder, ignore_errors=True)
    return checks


def run_case(number, build, mode, scratch, shared):
    checks = flow.Checks()
    name, compiler, flags = build
    what = '%s, %s' % (name, mode)
    folder = os.path.join(scratch, 'case%d' % number)
    program = flow.build(folder, 'Left.cpp', compiler, flags, shared)
    settings = left.exclude(checks, what, program, folder)
    settings.update(RING if mode == 'ring' else {})
    for depth in DEPTHS if mode == 'file' else DEPTHS[1:3]:
        check_depth(checks, '%s, depth %d' % (what, depth), program, folder,
                    settings, depth)
    shutil.rmtree(folder, ignore_errors=True)
    return checks


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        library, folder = witness.build(os.path.join(scratch, 'witness'))
        shared = {'witness': library, 'folder': folder, 'imports': [],
                  'shapes': ''}
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            cases = [(build, mode) for build in left.BUILDS
                     for mode in ('file', 'ring')
                     if not sys.argv[1:] or
                     any(word in build[0] + ', ' + mode
                         for word in sys.argv[1:])]
            waiting = [pool.submit(run_case, number, *case, scratch, shared)
                       for number, case in enumerate(cases)]
            waiting += [pool.submit(run_inlined, number, build, source,
                                    scratch, shared)
                        for number, (build, source) in enumerate(
                            (build, source) for build in INLINED
                            for source in ('FlowJump.c', 'FlowThrow.cpp'))
                        if not sys.argv[1:] or
                        any(word in build[0] for word in sys.argv[1:])]
            for case in waiting:
                for condition, text, details in case.result():
                    results.check(condition, text, details)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Traces a program and three DLLs, each linked with its own copy of the
library, and compares the call tree of every thread across all of them with
what they themselves say that they called.

The worker thread of one module is seen by the DllMain and TLS callbacks of the
others, and leaves a store there (Docs/Limits.md, Wine 8), but none in its own
module: the calls of threads that do nothing else are compared as far as that.

All builds run all scenarios: _penter and __return__ by gcc, and
-finstrument-functions by gcc and by clang.
"""
# Takes long.

import concurrent.futures
import os
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import ThreadSupport as threads                              # noqa: E402
from ThreadSupport import programs, support, witness         # noqa: E402

FULL = '--full' in sys.argv
ALL = ('penter', 'gcc', 'clang')
SCENARIOS = [
    ('nested', 9, 6, ALL),
    ('exit', 9, 6, ALL),
    ('fibers', 8, 6, ALL),
    ('reload', 1000, 100, ALL),
    ('busy', 1000, 60, ALL),
    ('slots', 7, 6, ALL),
    ('allSlots', 5, 5, ALL),
    ('children', 4, 2, ALL),
]
MODULES = ('One', 'Two', 'Three')

# What the threads of the library call, and nothing but.
NOTICES = re.compile(r'(Main|One|Two|Three)TlsCallback|DllMain')


def is_worker(tree):
    return all(NOTICES.fullmatch(name) for name in tree.children)


def split_workers(tracks):
    """(the program's threads, the library's) of some tracks."""
    own, workers = {}, []
    for key, trees in tracks.items():
        kept = [tree for tree in trees if not is_worker(tree)]
        workers += [tree for tree in trees if is_worker(tree)]
        if kept:
            own[key] = kept
    return own, workers


def too_many(expected, seen):
    """Calls in a tree that are in more of another: chain, numbers."""
    left, right = witness.describe(expected), witness.describe(seen)
    return [(chain, left.get(chain), numbers)
            for chain, numbers in right.items()
            if numbers[0] > left.get(chain, (0, 0, 0))[0]]


def check_session(results, session, tree, what, controls=True):
    threads.check_session(results, session, what)
    if not results.check(os.path.exists(tree), what + ': the witness wrote'):
        return
    expected, told = split_workers(witness.read_witness(tree))
    seen, workers = split_workers(witness.read_tree(session))
    threads.check_trees(results, expected, seen, what, controls)
    found = too_many(witness.merge(told), witness.merge(workers))
    results.check(not found, what + ': calls of the workers', found)


def check_all_slots(results, builds, directory, arguments, build, what):
    """Nothing is recorded, and the debugger is told why, by each module."""
    results.equal(support.stores(directory), [], what + ': stores')
    outcome = threads.run(builds.path(build, 'Modules.exe'), *arguments,
                          directory=directory, WINEDEBUG='warn+seh')
    said = re.findall(r'OutputDebugString\w "Tracer: allocating a TLS slot.*'
                      r'nothing is recorded', outcome.errors)
    results.check(len(said) == 1 + len(MODULES),
                  what + ': what the debugger is told',
                  outcome.errors.splitlines()[-20:])


def check_children(results, builds, directory, tree, count, what):
    """One session for each process, told apart by the process number."""
    found = support.sessions(directory)
    if not results.equal(len(found), count + 1, what + ': sessions'):
        return
    threads_of = {}
    for session in found:
        tracks, _ = split_workers(witness.read_tree(session))
        threads_of[session] = {thread for thread, _ in tracks}
    for path in [tree] + ['%s.%d' % (tree, number + 1)
                          for number in range(count)]:
        if not results.check(os.path.exists(path), what + ': ' + path):
            continue
        expected, _ = split_workers(witness.read_witness(path))
        own = {thread for thread, _ in expected}
        same = [session for session in found if threads_of[session] == own]
        if len(same) > 1:
            same = [session for session in same
                    if not witness.track_differences(
                        expected,
                        split_workers(witness.read_tree(session))[0])][:1]
        if results.check(len(same) == 1, '%s: the session of %s' %
                         (what, os.path.basename(path))):
            check_session(results, same[0], path,
                          what + ', ' + os.path.basename(path))
            found.remove(same[0])


def check_scenario(results, builds, scenario, build):
    name, most, fewer, _ = scenario
    count = most if build == 'penter' else fewer
    if not (FULL or programs.LONG) and count > 20:
        count = fewer if build == 'penter' else fewer // 3
    what = '%s, %s' % (name, build)
    started = time.monotonic()
    arguments = (name, str(count))
    above = builds.fresh(name)
    directory, tree = os.path.join(above, 'traces'), os.path.join(above, 'w')
    outcome = threads.run(builds.path(build, 'Modules.exe'), *arguments,
                          directory=directory, tree=tree)
    threads.same_as_untraced(results, builds, build, 'Modules.exe', arguments,
                             outcome, what)
    if name == 'allSlots':
        check_all_slots(results, builds, directory, arguments, build, what)
    elif name == 'children':
        check_children(results, builds, directory, tree, count, what)
    else:
        session = threads.one_session(results, directory, what)
        if session is not None:
            check_session(results, session, tree, what)
    print('%5.1f s  %s' % (time.monotonic() - started, what), flush=True)


def main():
    results = programs.Results()
    wanted = [argument for argument in sys.argv[1:]
              if not argument.startswith('-')]
    with programs.Scratch() as scratch:
        builds = threads.Builds(scratch)
        for build in ('plain', *ALL):
            builds.add(build, 'Modules.c', 'Modules.exe')
            for module in MODULES:
                builds.add(build, 'Modules.c', module + '.dll',
                           '-DMODULE=' + module, shared=True)
        cases = [(scenario, build) for scenario in SCENARIOS
                 for build in scenario[3]
                 if not wanted or scenario[0] in wanted]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(check_scenario, results, builds, *case)
                         for case in cases]:
                done.result()
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

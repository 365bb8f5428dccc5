#!/usr/bin/env python3
"""Traces programs with many threads and fibers, and compares the call tree of
each of them with what the program itself says that it called.

The builds: _penter and __return__ by gcc for all scenarios; -finstrument-
functions by gcc and by clang for those that name them.

    TestThreads.py [--full] [SCENARIO...]
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
from ThreadSupport import programs, witness                  # noqa: E402

FULL = '--full' in sys.argv

# A part of that otherwise.
PART = 1 if FULL or programs.LONG else 4

# Scenario -> (program, argument, builds).  A million switches and 10,000
# threads for the first build, fewer for the others.
ALL = ('penter', 'gcc', 'clang')
SCENARIOS = [
    ('switch', 'Fibers.exe', 1000000, 100000, ALL),
    ('near', 'Fibers.exe', 100000, 20000, ALL),
    ('deep', 'Fibers.exe', 20000, 5000, ALL),
    ('first', 'Fibers.exe', 5000, 5000, ('penter',)),
    ('end', 'Fibers.exe', 1800, 600, ALL),
    ('short', 'Threads.exe', 10000, 500, ALL),
    ('pool', 'Threads.exe', 4000, 2000, ALL),
    ('suspend', 'Threads.exe', 10000, 500, ('penter', 'gcc')),
    ('terminate', 'Threads.exe', 60, 20, ('penter', 'clang')),
    ('outlive', 'Threads.exe', 1, 1, ALL),
    ('sample', 'Threads.exe', 3000, 1000, ('penter', 'clang')),
]


# For `make test`; --full leaves nothing out.
QUICK = {'short': 2000, 'suspend': 1500, 'sample': 1500, 'terminate': 30}


def open_chains(tree):
    """The chain of calls that are open, as a list of names."""
    chain, node = [], tree
    while node is not None:
        node = next((child for child in node.children.values() if child.open),
                    None)
        if node is not None:
            chain.append(node.name)
    return chain


def prefix_differences(expected, seen):
    """Compares a thread that was ended: what is wrong, as a list.

    It may have entered one function of which it had not yet told the witness,
    or told it of one exit that was not yet recorded.
    """
    found = witness.differences(expected, seen, ignore_open=True)
    left, right = open_chains(expected), open_chains(seen)
    if right[:len(left)] != left or len(right) > len(left) + 1:
        return [(left, right)]
    if not found:
        return []
    if len(found) == 1 and len(right) == len(left) + 1:
        chain, one, two = found[0]
        if (two[0], two[1]) == (one[0] + 1, one[1]) and \
                chain.split('/') == right[-len(chain.split('/')):]:
            return []
    return found


def check_ended(results, expected, seen, count, what):
    """Trees of threads that TerminateThread ended."""
    wrong, ended = [], 0
    for key in sorted(expected.keys() | seen.keys()):
        left = [tree for tree in expected.get(key, []) if tree.children]
        right = list(seen.get(key, []))
        if len(left) != len(right):
            wrong.append((key, len(left), len(right)))
            continue
        for tree in left:
            ended += 'Forever' in tree.children
            for index, other in enumerate(right):
                found = prefix_differences(tree, other)
                if not found:
                    del right[index]
                    break
            else:
                wrong.append((key, found[:5]))
    results.check(not wrong, what + ': trees up to the end', wrong)
    results.equal(ended, count, what + ': threads that were ended')
    changed = threads.change_one(seen, 'missing')
    results.check(any(prefix_differences(expected[key][0], changed[key][0])
                      for key in changed if key in expected),
                  what + ': control: a call that is missing is found')


def read_walks(outcome, what):
    """What the sampler said of its walks: seven numbers, or None."""
    numbers = re.search(r'walks (\d+), in hooks (\d+), outside (\d+), '
                        r'jmp epilogues (\d+), call epilogues (\d+), '
                        r'foreign (\d+), wrong (\d+)', outcome.errors)
    if numbers is None:
        return None
    print('%s: %s' % (what, numbers.group(0)))
    return [int(number) for number in numbers.groups()]


def check_walks(results, builds, path, arguments, outcome, what):
    """Every walk arrives, and some begin in a hook.

    Where a sample falls is chance: on a machine that is busy it may be that
    none is in a hook.  Then the program is run again, for its walks alone.
    """
    for attempt in range(20):
        if attempt:
            print('%s: no walk out of a hook, attempt %d' % (what, attempt))
            above = builds.fresh(arguments[0])
            outcome = threads.run(path, *arguments, tree=os.path.join(
                above, 'w'), directory=os.path.join(above, 'traces'))
        walked = read_walks(outcome, what)
        if not results.check(walked, what + ': numbers of walks',
                             [outcome.errors[-500:]]):
            return
        walks, hooks, _, jumps, calls, foreign, wrong = walked
        results.check(wrong == 0, what + ': every walk arrives',
                      outcome.errors.splitlines())
        results.check(jumps + calls + foreign < walks // 20,
                      what + ': walks that are excused')
        if hooks > 0:
            break
    results.check(hooks > 0, what + ': walks out of hooks')


def check_scenario(results, builds, scenario, build):
    name, program, most, fewer, _ = scenario
    count = most if build == 'penter' and PART == 1 else fewer
    count = max(count // PART, min(count, 20))
    if build == 'penter' and not FULL:
        count = min(count, QUICK.get(name, count))
    what = '%s, %s' % (name, build)
    started = time.monotonic()
    arguments = (name, str(count))
    above = builds.fresh(name)
    directory, tree = os.path.join(above, 'traces'), os.path.join(above, 'w')
    outcome = threads.run(builds.path(build, program), *arguments,
                          directory=directory, tree=tree)
    threads.same_as_untraced(results, builds, build, program, arguments,
                             outcome, what)
    session = threads.one_session(results, directory, what)
    if session is None or not os.path.exists(tree):
        results.check(False, what + ': what the witness wrote')
        return
    rows = threads.check_session(results, session, what)
    expected = witness.read_witness(tree)
    seen = witness.read_tree(session)
    if name == 'terminate':
        check_ended(results, expected, seen, count, what)
    elif name == 'first':
        threads.check_trees(results, threads.without_numbers(expected),
                            threads.without_numbers(seen), what)
    elif name == 'end':
        threads.check_trees(results, threads.without_fibers(expected),
                            threads.without_fibers(seen), what)
    else:
        threads.check_trees(results, expected, seen, what)
    if name == 'short':
        results.check(len(rows) == count, '%s: %d stores of %d threads' %
                      (what, len(rows), count))
    if name == 'sample':
        check_walks(results, builds, builds.path(build, program), arguments,
                    outcome, what)
    print('%5.1f s  %s' % (time.monotonic() - started, what), flush=True)


def check_wrong_sampler(results, builds):
    outcome = threads.run(builds.path('penter', 'Threads.exe'),
                          'sampleWrong', '50', TRACER_ENABLED='0')
    numbers = [int(text) for text in
               re.findall(r'(?:jmp epilogues|call epilogues|foreign|wrong) '
                          r'(\d+)',
                          outcome.errors)]
    results.check(outcome.code == 1 and sum(numbers) == 50 and
                  numbers[-1] > 10,
                  'control: walks to another function fail',
                  [outcome.errors[-300:]])


def main():
    results = programs.Results()
    wanted = [argument for argument in sys.argv[1:]
              if not argument.startswith('-')]
    with programs.Scratch() as scratch:
        builds = threads.Builds(scratch)
        for build in ('plain', *ALL):
            for source in ('Fibers.c', 'Threads.c'):
                builds.add(build, source, source.replace('.c', '.exe'))
        cases = [(scenario, build) for scenario in SCENARIOS
                 for build in scenario[4]
                 if not wanted or scenario[0] in wanted]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(check_scenario, results, builds, *case)
                         for case in cases]:
                done.result()
        check_wrong_sampler(results, builds)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

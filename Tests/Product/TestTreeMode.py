#!/usr/bin/env python3
"""Traces programs with TRACER_MODE=tree, and compares the trees.

The witnesses: gcov's counts of calls; records of the same program, counted by
trace_reader.py; and what programs with exceptions, jumps, threads and fibers
say themselves of each chain of calls (Programs/Witness.c).  The trees are read
by tree_reader.py.

    TestTreeMode.py [--full] [PART...]

Without --full there are fewer builds, and no Lua.  PART: calls, flow, stacks,
lua, threads, limits, kill, live, settings.
"""
# Takes long.

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFlow as flow                                      # noqa: E402
import ThreadSupport as threads                              # noqa: E402
import tree_reader                                           # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402
from ThreadSupport import witness                            # noqa: E402

FULL = '--full' in sys.argv
MODE = {'TRACER_MODE': 'tree'}
MEBIBYTE = 1 << 20

# Trees that are too deep for a node for each of their calls, or that end where
# the stack does, which is earlier with hooks.
DEEP = {'StackDeepest', 'FaultOverflow'}

# What TestFlow.py's cases are run in: those of each way to compile that has
# one, where the tree is that of the program to the last call.  A part of them
# for make test.
FLOW_QUICK = {('_penter', 'FlowJump.c'), ('_penter', 'FlowThrow.cpp'),
              ('functions', 'FlowThrow.cpp'), ('clang', 'FlowJump.c'),
              ('clang, entries only', 'FlowJump.c')}

FIBERS = [('switch', 20000, 'penter'), ('deep', 2000, 'gcc'),
          ('near', 3000, 'clang'), ('end', 300, 'penter')]
FIBERS_QUICK = FIBERS[:2]

BUSY = r'''
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#define PLAIN __attribute__((noinline, no_instrument_function))
#define TRACED __attribute__((noinline))
volatile unsigned Sink;
TRACED unsigned Leaf(unsigned Value) { return Value * 3 + 1; }
TRACED unsigned Other(unsigned Value) { return Leaf(Value) ^ Value; }
TRACED unsigned Middle(unsigned Value)
{
    Value = Leaf(Value);
    Value = Leaf(Value) + Other(Value);
    return Value;
}
static unsigned Count;
PLAIN DWORD WINAPI Run(LPVOID Argument)
{
    unsigned Index, Value = (unsigned)(size_t)Argument;
    for (Index = 0; Index < Count; Index += 1) {
        Value = Middle(Value);
    }
    Sink = Value;
    return 0;
}
PLAIN int main(int Number, char **Words)
{
    HANDLE Threads[64];
    int Index, Wanted = Number > 1 ? atoi(Words[1]) : 1;
    Count = Number > 2 ? (unsigned)strtoul(Words[2], 0, 10) : 1000;
    for (Index = 0; Index < Wanted; Index += 1) {
        Threads[Index] = CreateThread(0, 0, Run, (void *)(size_t)Index, 0, 0);
    }
    for (Index = 0; Index < Wanted; Index += 1) {
        WaitForSingleObject(Threads[Index], INFINITE);
    }
    puts("done");
    return 0;
}
'''
BUSY_CALLS = {'Middle': 1, 'Leaf': 3, 'Other': 1}


def wide_source(functions, depth):
    """A program with many functions that call each other: many contexts.  Now
    and then it sends the next hook over the slow path."""
    lines = ['#include <stdio.h>', '#include <stdlib.h>',
             '#include "Penter.h"', 'static unsigned Count;',
             'static unsigned (*Table[%d])(unsigned, unsigned);' % functions,
             '__attribute__((noinline, no_instrument_function))',
             'static void Name(void) { if (++Count % 61 == 0) '
             'PenterNameThread("wide"); }']
    for number in range(functions):
        lines.append(
            '__attribute__((noinline)) unsigned F%d(unsigned Depth, unsigned '
            'Value) { if (Depth != 0) { Value = Table[(Value + %d) %% %d]'
            '(Depth - 1, Value * 5 + 1); Value = Table[(Value ^ %d) %% %d]'
            '(Depth - 1, Value + 3); } else { Name(); } return Value + %d; }' %
            (number, number, functions, number, functions, number))
    lines.append('__attribute__((no_instrument_function)) int main(void) {')
    lines += ['Table[%d] = F%d;' % (number, number)
              for number in range(functions)]
    lines.append('printf("%%u\\n", F0(%d, 1)); return 0; }' % depth)
    return '\n'.join(lines)


def build_source(folder, name, text, flags=tuple(programs.PENTER_FLAGS)):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + '.c')
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)
    flags = [*flags, '-DTRACER_PENTER',
             '-I' + os.path.join(programs.ROOT, 'Penter')]
    return programs.build(os.path.join(folder, name), [path], flags,
                          name + '.exe', [programs.LIBRARY])


def resolver(program):
    return trace_reader.read_symbols(
        programs.write_symbols(program, program + '.symbols'))


def read_trees(session):
    return [tree_reader.Tree(path) for path in support.stores(session)]


def names(trees, resolve):
    """Calls by function name; those in "other" nodes under None."""
    counts = collections.Counter()
    for tree in trees:
        for key, calls in tree.calls().items():
            counts[None if key is None else resolve(key[0])] += calls
    return collections.Counter({name: calls for name, calls in counts.items()
                                if calls})


def entries(session, resolve):
    """The same of a session of records."""
    counts = collections.Counter()
    for path in support.stores(session):
        counts.update(resolve(rva) for _, rva, _, kind in
                      trace_reader.Store(path).records() if kind in (1, 3))
    return counts


def sound(results, trees, what, closed=True, lost=0):
    """What must hold of every tree."""
    wrong = []
    for tree in trees:
        where = os.path.basename(tree.path)
        if closed and tree.state != tree_reader.STATE_CLOSED:
            wrong.append('%s: state %d' % (where, tree.state))
        if tree.lost != lost or tree.reentered:
            wrong.append('%s: lost %d, reentered %d' % (where, tree.lost,
                                                        tree.reentered))
        if tree.unmatched:
            wrong.append('%s: %d exits without an entry' % (where,
                                                            tree.unmatched))
        seen = collections.Counter(frame.node for frame in tree.frames)
        for node in tree.nodes[1:]:
            ended = node.calls - seen[node.index] - node.abandoned
            if ended < 0 or node.is_other and not node.calls:
                wrong.append('%s: node %d: %d calls, %d abandoned, %d open' %
                             (where, node.index, node.calls, node.abandoned,
                              seen[node.index]))
            if ended > 0 and not node.is_other and not (
                    node.minimum <= node.first <= node.maximum):
                wrong.append('%s: node %d: first %d, %d to %d' %
                             (where, node.index, node.first, node.minimum,
                              node.maximum))
            if (ended > 0 and not node.is_other and not seen[node.index] and
                    not node.minimum * ended <=
                    node.total - node.abandoned_total <=
                    node.maximum * ended) or (
                        node.abandoned_total and not node.abandoned):
                wrong.append('%s: node %d: total %d of %d calls of %d to %d' %
                             (where, node.index, node.total, ended,
                              node.minimum, node.maximum))
        sites = [(node.parent, node.site, node.is_other)
                 for node in tree.nodes[1:]]
        if len(sites) != len(set(sites)):
            wrong.append('%s: two nodes of one context' % where)
    return results.check(trees and not wrong, what + ': the trees are sound',
                         wrong)


def control(results, what, expected, seen):
    """The comparison must see a count that is off by one."""
    changed = collections.Counter(seen)
    changed[random.Random(3).choice(sorted(filter(None, seen)))] += 1
    results.check(len(programs.differences(expected, changed)) == 1,
                  what + ': control: one call more is found')


def both(results, what, program, arguments, scratch, expected=None,
         **variables):
    """Runs a program with records and with trees; returns the trees."""
    resolve = resolver(program)
    folder = os.path.join(scratch, 'both-%d' % both.number)
    both.number += 1
    text, session = programs.trace(program, *arguments,
                                   directory=folder + '-records')
    records = entries(session, resolve)
    shutil.rmtree(session)
    said, session = programs.trace(program, *arguments,
                                   directory=folder + '-tree', **MODE,
                                   **variables)
    trees = read_trees(session)
    sound(results, trees, what)
    seen = names(trees, resolve)
    results.equal(said, text, what + ': output')
    wrong = programs.differences(records, seen)
    results.check(not wrong and sum(seen.values()) > 0,
                  '%s: %d calls (function, records, tree)' %
                  (what, sum(records.values())), wrong)
    if expected is not None:
        wrong = programs.differences(expected, seen)
        results.check(not wrong, what + ': calls (function, gcov, tree)',
                      wrong)
    control(results, what, records, seen)
    return trees


both.number = 0


def check_calls(results, scratch):
    counted = programs.build_sample(os.path.join(scratch, 'gcov'),
                                    programs.GCOV_FLAGS)
    arguments = ('5', '120' if FULL else '20')
    programs.run_windows(counted, *arguments,
                         directory=os.path.dirname(counted))
    expected = programs.gcov_counts(os.path.dirname(counted))
    builds = [('-pg', programs.PENTER_FLAGS, {}),
              ('functions', programs.FUNCTION_FLAGS, {}),
              ('functions, inlined', programs.FUNCTION_FLAGS,
               {'compiler': (programs.GCC, '-O2')})]
    if shutil.which(programs.CLANG):
        builds.append(('clang, functions', programs.FUNCTION_FLAGS,
                       {'compiler': (programs.CLANG,
                                     *programs.CLANG_SAME_CALLS)}))
    if not FULL:
        builds = [builds[0], builds[2]]
    for number, (what, flags, options) in enumerate(builds):
        program = programs.build_sample(
            os.path.join(scratch, 'sample%d' % number), flags,
            [programs.LIBRARY], **options)
        both(results, 'Sample, ' + what, program, arguments, scratch, expected)
        if number == 0 and FULL:
            both(results, 'Sample, clock thread', program, arguments, scratch,
                 expected, TRACER_CLOCK='thread')


def chains(tree, resolve):
    """A tree store as witness.Node: calls, abandoned, open."""
    opened = collections.Counter(frame.node for frame in tree.frames)
    nodes = [witness.Node()]
    for node in tree.nodes[1:]:
        mine = nodes[node.parent].child(resolve(tree.rva(node)))
        mine.add(node.calls, node.abandoned, opened[node.index])
        nodes.append(mine)
    return nodes[0]


ABANDONED = r'''
#include <windows.h>
#include <stdio.h>
static intptr_t Buffer[5];
static long long Around, Inside, Slept;
static long long Now(void)
{
    LARGE_INTEGER Time;
    QueryPerformanceCounter(&Time);
    return Time.QuadPart;
}
__attribute__((noinline)) void Jump(void) { __builtin_longjmp(Buffer, 1); }
__attribute__((noinline)) void Step(int X) { __asm__ volatile("" :: "r"(X)); }
/* Those that are left take long, the others hardly any time. */
__attribute__((noinline)) void LeftLate(int Leaves)
{
    Step(1);
    if (Leaves) {
        long long Start = Now();
        Sleep(5);
        Inside += Now() - Start;
        Jump();
    }
}
/* The other way round. */
__attribute__((noinline)) void LeftEarly(int Leaves)
{
    Step(2);
    if (Leaves) Jump();
    long long Start = Now();
    Sleep(3);
    Slept += Now() - Start;
}
/* All are left. */
__attribute__((noinline)) void Gone(int X)
{
    Step(X);
    Jump();
}
int main(void)
{
    LARGE_INTEGER Frequency;
    for (volatile int I = 0; I < 20; I += 1) {
        if (I % 2 && __builtin_setjmp(Buffer) == 0) LeftLate(1);
        long long Start = Now();
        LeftLate(0);
        Around += Now() - Start;
        if (__builtin_setjmp(Buffer) == 0) LeftEarly(I % 4 != 3);
        if (__builtin_setjmp(Buffer) == 0) Gone(I);
        Step(3);
    }
    QueryPerformanceFrequency(&Frequency);
    printf("%lld %lld %lld\n", Inside * 1000000000 / Frequency.QuadPart,
           Around * 1000000000 / Frequency.QuadPart,
           Slept * 1000000000 / Frequency.QuadPart);
    return 0;
}
'''


def check_abandoned(results, scratch):
    """The times of functions some of whose calls are abandoned: what they are
    of is the same in both modes, and the program has measured them."""
    folder = os.path.join(scratch, 'abandoned')
    os.makedirs(folder)
    source = os.path.join(folder, 'Left.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(ABANDONED)
    program = os.path.join(folder, 'Left.exe')
    subprocess.run([programs.GCC, '-O1', '-w', *programs.PENTER_FLAGS, '-c',
                    source, '-o', source + '.o'], check=True)
    subprocess.run([programs.GCC, source + '.o', programs.LIBRARY, '-static',
                    '-o', program], check=True)
    calls = {'LeftLate': (30, 10), 'LeftEarly': (20, 15), 'Gone': (20, 20)}
    for mode in 'file', 'tree':
        text, session = programs.trace(
            program, directory=os.path.join(folder, mode), TRACER_MODE=mode)
        inside, around, slept = map(int, text.split())
        path = programs.windows_path(session)
        code, text, errors = support.reader('report', '--json', path)
        rows = {row['function']: row for row in json.loads(text)['functions']}
        results.equal({name: (rows[name]['calls'], rows[name]['abandoned'])
                       for name in calls}, calls, mode + ': abandoned calls')
        _, text, _ = support.reader('tree', '--json', path)
        for row in [*rows.values(), *json.loads(text)['nodes']]:
            ended = row['calls'] - row['abandoned']
            average = row['average_ns']
            results.check(
                row['self_ns'] <= row['total_ns'] and
                (row['min_ns'] <= average <= row['max_ns'] and
                 abs(average * ended - row['total_ns']) <= 2 * ended + 2
                 if ended else row['total_ns'] == average == 0) and
                (row['abandoned_time_ns'] > 0) == (row['abandoned'] > 0),
                '%s: the times of %s' % (mode, row['function']), [row])
        late, early = rows['LeftLate'], rows['LeftEarly']
        # The two clocks may differ by a thousandth.
        results.check(late['abandoned_time_ns'] >= inside * 0.999,
                      mode + ': those that were left late', [late, inside])
        results.check(late['total_ns'] <= around * 1.001,
                      mode + ': the others', [late, around])
        results.check(early['total_ns'] >= slept * 0.999,
                      mode + ': those that were not left', [early, slept])
        _, text, _ = support.reader('report', path)
        results.equal('in no other column' in text and
                      ('in trees that is at most' in text),
                      mode == 'tree', mode + ': the note')


def check_flow(results, scratch):
    """Exceptions and jumps: each chain of calls as the program says."""
    library, folder = witness.build(os.path.join(scratch, 'witness'))
    shared = {'witness': library, 'folder': folder}
    for number, case in enumerate(flow.CASES):
        build, source, compiler, flags, scenarios = case
        if (source not in flow.SCENARIOS or
                compiler[:2] == flow.CLANG_CL[:2] or
                not FULL and (build, source) not in FLOW_QUICK or
                compiler[0] == programs.CLANG and
                not shutil.which(programs.CLANG)):
            continue
        what = '%s, %s' % (source, build)
        below = os.path.join(scratch, 'flow%d' % number)
        program = flow.build(below, source, compiler, flags, shared)
        report = os.path.join(below, 'report')
        code, _ = flow.run(program, scenarios, report,
                           os.path.join(below, 'traces'), **MODE)
        session = support.sessions(os.path.join(below, 'traces'))
        if not results.check(code == 0 and len(session) == 1,
                             '%s: exit code %s' % (what, code), session):
            continue
        trees = read_trees(session[0])
        resolve = resolver(program)
        expected = flow.read(witness.read_witness, report)
        left = [tree for track in expected.values() for tree in track
                if tree.children]
        right = [tree for tree in (flow.tidy(chains(tree, resolve))
                                   for tree in trees) if tree.children]
        unsure = set(flow.UNSURE)
        if compiler[0] == programs.CLANG:
            unsure |= flow.UNSURE_CLANG
        if 'inlined' in build:
            unsure |= flow.UNSURE_INLINED
        wrong = []
        totals = [tree.number_of_calls() for tree in trees]
        for tree in left:
            best = min((witness.differences(tree, other, ignore_open=True)
                        for other in right
                        if other.children.keys() == tree.children.keys()),
                       key=len, default=['no such tree'])
            calls = flow.count_calls(tree)
            if tree.children.keys() & DEEP:
                if source == 'FlowStack.c' and \
                        sum(calls.values()) not in totals:
                    wrong.append((sorted(tree.children), calls, totals))
            elif best and not tree.children.keys() & unsure:
                wrong.append((sorted(tree.children), best[:4]))
            elif best and calls not in map(flow.count_calls, right):
                wrong.append((sorted(tree.children), 'calls'))
        results.check(left and not wrong, '%s: %d trees' % (what, len(left)),
                      wrong)
        results.check(len(left) == len(right), what + ': threads',
                      [len(left), len(right)])
        spoiled = witness.merge(right[:1])
        next(iter(spoiled.children.values())).abandoned += 1
        results.check(witness.differences(right[0], spoiled),
                      what + ': control: a call abandoned more is found')


def check_stacks(results, scratch):
    """Fibers: the chains of all fibers of a thread together."""
    builds = threads.Builds(scratch)
    for scenario, count, build in FIBERS if FULL else FIBERS_QUICK:
        what = 'Fibers %s, %s' % (scenario, build)
        program = builds.path(build, 'Fibers.exe')
        if not os.path.exists(program):
            builds.add(build, 'Fibers.c', 'Fibers.exe')
        directory = builds.fresh('stacks')
        report = os.path.join(directory, 'report')
        outcome = threads.run(program, scenario, str(count),
                              directory=directory, tree=report,
                              cwd=builds.folder(build), **MODE)
        session = support.sessions(directory)
        if not results.check(outcome.code == 0 and len(session) == 1,
                             what + ': runs', [outcome]):
            continue
        trees = read_trees(session[0])
        resolve = resolver(program)
        left = collections.defaultdict(list)
        for (thread, _), tracks in witness.read_witness(report).items():
            left[thread].extend(tracks)
        wrong = []
        calls = sum(tree.number_of_calls() for tree in trees)
        right = collections.defaultdict(list)
        for tree in trees:
            right[tree.thread].append(chains(tree, resolve))
            if tree.unmatched or tree.lost:
                wrong.append(('unmatched', tree.unmatched, tree.lost))
        for thread in left.keys() | right.keys():
            expected = threads.not_returned(witness.merge(left[thread]))
            seen = threads.not_returned(witness.merge(right[thread]))
            wrong += witness.differences(expected, seen)
        results.check(calls and not wrong, '%s: %d calls' % (what, calls),
                      wrong)
        away = [node for tree in trees for node in tree.nodes if node.away]
        results.check(away, what + ': time on other stacks')


def check_lua(results, scratch):
    if not FULL:
        return
    source = programs.find_lua()
    if source is None:
        results.skip('Lua: its source cannot be had')
        return
    script = os.path.join(programs.PROGRAMS, 'counts.lua')
    program = programs.build_lua(os.path.join(scratch, 'lua'), source,
                                 programs.PENTER_FLAGS, [programs.LIBRARY])
    both(results, 'Lua', program, (script,), scratch)


def busy_calls(threads_number, count):
    return collections.Counter(
        {name: calls * threads_number * count
         for name, calls in BUSY_CALLS.items()})


def check_threads(results, scratch):
    """Eight threads, each with a known number of calls."""
    program = build_source(scratch, 'Busy', BUSY)
    resolve = resolver(program)
    count = 20000000 if FULL else 1000000
    _, session = programs.trace(program, '8', str(count),
                                directory=os.path.join(scratch, 'traces'),
                                **MODE)
    trees = read_trees(session)
    sound(results, trees, 'threads')
    results.equal(len(trees), 8, 'threads: stores')
    seen = names(trees, resolve)
    wrong = programs.differences(busy_calls(8, count), seen)
    results.check(not wrong, 'threads: %d calls' % (40 * count), wrong)
    size = sum(os.path.getsize(tree.path) for tree in trees)
    results.check(size < 64 * MEBIBYTE, 'threads: bytes', [size])
    control(results, 'threads', busy_calls(8, count), seen)
    for tree in trees:
        if len(tree.nodes) != 5:
            results.check(False, 'threads: nodes', [len(tree.nodes)])


def check_limits(results, scratch):
    """A store that is far too small: what has no node is in "other" nodes."""
    program = build_source(scratch, 'Wide', wide_source(150, 17))
    resolve = resolver(program)
    text, session = programs.trace(program,
                                   directory=os.path.join(scratch, 'records'))
    expected = entries(session, resolve)
    total = sum(expected.values())
    for size, is_enough in (('1M', False), ('256M', True)):
        what = 'limits, %s' % size
        said, session = programs.trace(
            program, directory=os.path.join(scratch, size),
            TRACER_MAX_BYTES=size, **MODE)
        trees = read_trees(session)
        sound(results, trees, what)
        results.equal(said, text, what + ': output')
        seen = names(trees, resolve)
        others = seen.pop(None, 0)
        results.equal(sum(seen.values()) + others, total, what + ': calls')
        results.check((others == 0) == is_enough, what + ': in other nodes',
                      [others])
        less = [name for name in expected if seen[name] > expected[name]]
        results.check(not less, what + ': no function has too many', less)
        results.check(all(os.path.getsize(tree.path) <= tree.maximum_bytes
                          for tree in trees), what + ': bytes')
    wrong = programs.differences(expected, seen)
    results.check(not wrong, 'limits: calls where there is room', wrong)


def check_kill(results, scratch):
    """Killed in the middle: the trees are sound as far as they came."""
    program = build_source(scratch, 'Busy', BUSY)
    resolve = resolver(program)
    chance = random.Random(5)
    for number in range(12 if FULL else 4):
        directory = os.path.join(scratch, 'kill%d' % number)
        process = support.start(program, '4', '2000000000',
                                directory=directory, **MODE)
        support.wait_for(lambda folder=directory:
                         len(support.stores(folder)) >= 4 and
                         known_calls(folder) > 2000)
        time.sleep(chance.uniform(0.02, 0.4))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        support.wait_unmapped(directory)
        what = 'kill %d' % number
        wrong = []
        trees = []
        for path in support.stores(directory):
            try:
                trees.append(tree_reader.Tree(path))
            except tree_reader.Broken as error:
                with open(path, 'rb') as file:
                    if any(file.read(8)):
                        wrong.append((path, error))
        for tree in trees:
            node = {resolve(tree.rva(one)): one for one in tree.nodes[1:]
                    if tree.nodes[one.parent].parent == 0 and
                    one.parent in (0, 1)}
            calls = names([tree], resolve)
            if tree.state != tree_reader.STATE_OPEN or tree.lost:
                wrong.append(('state', tree.state, tree.lost))
            middle = calls['Middle']
            if not (3 * middle - 3 <= calls['Leaf'] <= 3 * middle and
                    middle - 1 <= calls['Other'] <= middle):
                wrong.append(calls)

            # A thread may have had no processor for its first call yet.
            if len(tree.frames) > 3 or not node and len(tree.nodes) > 1:
                wrong.append(('open', len(tree.frames)))
        results.check(not wrong, what, wrong)
        results.check(sum(tree.number_of_calls() for tree in trees) > 1000,
                      what + ': calls')


def known_calls(directory):
    """The calls in all trees; stores that are being created have none."""
    calls = 0
    for path in support.stores(directory):
        with contextlib.suppress(tree_reader.Broken):
            calls += tree_reader.Tree(path, 6 * MEBIBYTE).number_of_calls()
    return calls


def known_nodes(path):
    """The number of nodes; 0 of a store that is still being created."""
    try:
        return len(tree_reader.Tree(path, 6 * MEBIBYTE).nodes)
    except tree_reader.Broken:
        return 0


def check_live(results, scratch):
    """Running threads: whatever is seen only grows, and none of it is torn."""
    program = build_source(scratch, 'Busy', BUSY)
    directory = os.path.join(scratch, 'traces')
    process = support.start(program, '3', '2000000000', directory=directory,
                            **MODE)
    try:
        support.wait_for(lambda: len(support.stores(directory)) >= 3)
        paths = support.stores(directory)
        support.wait_for(lambda: all(known_nodes(path) >= 5
                                     for path in paths))
        last, wrong, grown = {}, [], 0
        looks, end = 0, time.monotonic() + 300

        # However long the program has no processor for.
        while looks < (200 if FULL else 40) or \
                grown <= 10 and time.monotonic() < end:
            looks += 1
            for path in paths:
                tree = tree_reader.Tree(path, 6 * MEBIBYTE)
                now = [(node.calls, node.total, node.maximum, -node.minimum)
                       for node in tree.nodes]
                before = last.get(path, now)
                if any(new < old for pair in zip(before, now)
                       for old, new in zip(*pair)):
                    wrong.append((before, now))
                grown += before != now
                last[path] = now
                if len(tree.frames) > 3 or tree.state != 1 or tree.lost or \
                        tree.unmatched or len(tree.nodes) != 5:
                    wrong.append((len(tree.frames), tree.state, tree.lost))
        results.check(not wrong and grown > 10, 'live', [*wrong, grown])
    finally:
        process.kill()
        process.communicate()


def check_settings(results, scratch):
    """What does not go with a tree is left out, and said."""
    program = build_source(scratch, 'Busy', BUSY)
    resolve = resolver(program)
    cases = [({'TRACER_MAX_DEPTH': '1'}, 'TRACER_MAX_DEPTH (not with a tree)'),
             ({'TRACER_MIN_DURATION': '1s'},
              'TRACER_MIN_DURATION (not with a tree)'),
             ({'TRACER_CLOCK': 'none'},
              'TRACER_CLOCK (tsc or thread with a tree)'),
             ({'TRACER_FLUSH': '1'}, 'TRACER_FLUSH (not with a tree)'),
             ({'TRACER_MAX_BYTES': '100K'}, 'TRACER_MAX_BYTES (1M or more)'),
             ({}, None)]
    for number, (variables, said) in enumerate(cases):
        what = 'settings, %s' % (' '.join(variables) or 'none')
        _, session = programs.trace(
            program, '2', '50', directory=os.path.join(scratch, str(number)),
            **MODE, **variables)
        trees = read_trees(session)
        sound(results, trees, what)
        results.equal(names(trees, resolve), busy_calls(2, 50),
                      what + ': calls')
        log = ''
        for name in os.listdir(session):
            if name.endswith('.log'):
                with open(os.path.join(session, name), encoding='utf-8') as f:
                    log = f.read()
        results.check(said in log if said else not log, what + ': log', [log])


PARTS = {'calls': check_calls, 'abandoned': check_abandoned,
         'flow': check_flow, 'stacks': check_stacks,
         'lua': check_lua, 'threads': check_threads, 'limits': check_limits,
         'kill': check_kill, 'live': check_live, 'settings': check_settings}


def main():
    results = programs.Results()
    wanted = [word for word in sys.argv[1:] if not word.startswith('-')]
    with programs.Scratch() as scratch:
        for name, check in PARTS.items():
            if not wanted or name in wanted:
                start = time.monotonic()
                folder = os.path.join(scratch, name)
                os.makedirs(folder)
                check(results, folder)
                print('%s: %.0f s' % (name, time.monotonic() - start))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""gcc's functions with a static chain (functions inside functions), whose entry
hook is called between a push and a pop that the unwind data does not have.

What is shown must be what a build with -finstrument-functions shows, whose
hooks are called like any function: the same events; the same tree, from records
and in TRACER_MODE=tree; the same with depth and duration limits, and with the
reader's two ways; the same records in chronological ranges.  Controls: the
image has that shape; jumps leave calls.
"""

import collections
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestChrono as chrono                                  # noqa: E402
import TestFilters as filters                                # noqa: E402
import programs                                              # noqa: E402

OBJDUMP = 'x86_64-w64-mingw32-objdump'
SOURCE = os.path.join(programs.PROGRAMS, 'Nested.c')
ROUNDS = 7
SETTINGS = {
    'all': {},
    'depth 3': {'TRACER_MAX_DEPTH': '3'},
    'depth 5': {'TRACER_MAX_DEPTH': '5'},
    'an hour': {'TRACER_MIN_DURATION': '3600s'},
    'an hour, depth 4': {'TRACER_MIN_DURATION': '3600s',
                         'TRACER_MAX_DEPTH': '4'},
}


def build(scratch, name, flags):
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    program = os.path.join(folder, 'Nested.exe')
    subprocess.run([programs.GCC, '-O2', '-fno-optimize-sibling-calls', *flags,
                    '-c', SOURCE, '-o', program + '.o'], check=True)
    subprocess.run([programs.GCC, program + '.o', programs.LIBRARY, '-static',
                    '-o', program], check=True)
    return program


def trace(scratch, program, **variables):
    trace.number = getattr(trace, 'number', 0) + 1
    directory = os.path.join(scratch, 'traces-%d' % trace.number)
    _, session = programs.trace(program, str(ROUNDS), directory=directory,
                                **variables)
    return programs.windows_path(session)


def events(session):
    _, text = programs.trace_reader('replay', '--json', session)
    return [(row['event'], row['depth'], row['function'])
            for row in json.loads(text)['events']]


def nodes(session, *options):
    """Calls and abandoned calls by path."""
    _, text = programs.trace_reader('tree', '--json', *options, session)
    found, above = {}, {}
    for row in json.loads(text)['nodes']:
        above[row['node']] = ((above[row['parent']] if row['depth'] else ()) +
                              (row['function'],))
        found[above[row['node']]] = (row['calls'], row['abandoned'])
    return found


def expected_nodes(wanted):
    found, stack = collections.defaultdict(lambda: [0, 0]), []
    for event, depth, name in wanted:
        if event == 'enter':
            stack.append(name)
            found[tuple(stack)][0] += 1
        else:
            found[tuple(stack)][1] += event == 'abandoned'
            stack.pop()
    return {path: tuple(counts) for path, counts in found.items()}


def difference(left, right):
    for index, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return [index, *left[max(0, index - 3):index + 3], 'not',
                    *right[max(0, index - 3):index + 3]]
    return [len(left), len(right)]


def check_chronological(results, scratch, program):
    """Functions inside others begin ranges, and are in ranges of others."""
    resolve = chrono.resolver(program)
    path = programs.windows_path(program)
    rounds = str(ROUNDS)
    full = chrono.Run(scratch, program, rounds)
    plain = chrono.Run(scratch, program, rounds, **chrono.TREE)
    names = {name for store in full.records
             for name, _, _, _ in chrono.events(store, resolve)}
    # gcc numbers functions that are inside others.
    inside = {name.split('.')[0]: name for name in names if '.' in name}
    results.equal(set(inside), {'Inner', 'Tiny', 'Deep', 'Jump', 'Middle'},
                  path + ': control: functions inside others')
    for listed in ([inside['Deep']], [inside['Inner'], inside['Tiny']],
                   ['Outer'], [inside['Middle']]):
        what = 'chronological ' + '+'.join(listed)
        where = chrono.make_list(results, program,
                                 os.path.join(scratch, 'ranges.list'),
                                 *listed)
        run = chrono.Run(scratch, program, rounds, chrono=where,
                         **chrono.TREE)
        results.equal(run.log, '', what + ': log')
        if listed == [inside['Middle']]:
            # It is left by a jump, which ends its range.
            one = [(inside['Middle'], True), (inside['Tiny'], True),
                   (inside['Tiny'], False), (inside['Jump'], True)]
            results.equal([chrono.shape(chrono.events(store, resolve))
                           for store in run.ranges],
                          [one * len(range(1, ROUNDS, 3))],
                          what + ': what is in ranges that were left')
        else:
            chrono.compare_records(results, what, full, run, resolve, listed)
        chrono.compare_trees(results, what, plain, run, resolve)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        plain = build(scratch, 'functions', programs.FUNCTION_FLAGS)
        program = build(scratch, 'penter', programs.PENTER_FLAGS)
        _, code = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', program])
        results.equal(len(re.findall(r'push\s+%r10\n\s*\S+\s+call\s+\S+ '
                                     r'<_penter>\n\s*\S+\s+pop\s+%r10', code)),
                      5, 'control: functions with a static chain')
        for name, variables in SETTINGS.items():
            wanted = events(trace(scratch, plain, **variables))
            session = trace(scratch, program, **variables)
            seen = events(session)
            results.check(seen == wanted, name + ': events',
                          difference(seen, wanted))
            kinds = collections.Counter(event for event, _, _ in seen)
            results.check(kinds['abandoned'] >= 2 and
                          kinds['unmatched'] == 0,
                          name + ': control: calls that were left', [kinds])
            tree = expected_nodes(wanted)
            results.equal(nodes(session), tree, name + ': tree')
            if not variables:
                results.check(kinds['enter'] > 100, 'control: calls', [kinds])
                filters.without_anchors(session)
                rows = {}
                for options in (), ('--general',):
                    _, text = programs.trace_reader('report', '--csv',
                                                    '--no-cache', *options,
                                                    session)
                    rows[options] = text
                results.equal(*rows.values(), 'report --general')
                results.equal(nodes(trace(scratch, program,
                                          TRACER_MODE='tree')), tree,
                              'TRACER_MODE=tree')
        check_chronological(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

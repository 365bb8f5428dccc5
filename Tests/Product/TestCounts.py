#!/usr/bin/env python3
"""Compares the calls that Tracer reports with what gcov counted.

The same sources are built twice: with gcov's counters, and with the hooks.
Both programs do the same work, and the number of calls of every function must
be the same: Lua with a fixed script, a program of our own with several
threads, and that program built with -finstrument-functions.

A control follows each comparison: a report in which one count is off by one,
one that lacks a function and one that has a function too many must be found;
and so must one record in the store that was made bad.
"""

import os
import random
import shutil
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

THREADS, ITERATIONS = '5', '120'

COMPACT = {'TRACER_MODE': 'compact'}


def control(results, what, expected, seen):
    """The comparison must see what is wrong with a changed report."""
    name = random.Random(1).choice(sorted(seen))
    for change in ('one more', 'one less', 'a function less',
                   'a function more'):
        changed = dict(seen)
        if change == 'one more':
            changed[name] += 1
        elif change == 'one less':
            changed[name] -= 1
        elif change == 'a function less':
            del changed[name]
        else:
            changed['a function that is not there'] = 1
        found = programs.differences(expected, changed)
        results.check(len(found) == 1, '%s: control: %s' % (what, change))


def control_on_disk(results, what, expected, session):
    """One entry record made bad: verify says so, one function lacks a call."""
    path = max((os.path.join(session, name) for name in os.listdir(session)),
               key=os.path.getsize)
    with open(path, 'r+b') as file:
        offset = 4096 + 16 * 1000 + 12
        while True:
            file.seek(offset)
            word = file.read(1)[0]
            if word & 7 in (1, 3):
                break
            offset += 16
        file.seek(offset)
        file.write(bytes([word & 0xF8]))
    code, _ = programs.trace_reader('verify', programs.windows_path(session))
    results.equal(code, 2, '%s: control: verify' % what)
    seen = {name: row['calls'] for name, row in
            programs.read_report(session).items()}
    wrong = programs.differences(expected, seen)
    results.check(len(wrong) == 1 and wrong[0][1] - wrong[0][2] == 1,
                  '%s: control: a record that is bad' % what, wrong)


def compare(results, what, expected, session, is_compact=False):
    """Every function's calls, and nothing lost or bad on the way."""
    code, _ = programs.trace_reader('verify', programs.windows_path(session))
    results.equal(code, 0, '%s: verify' % what)
    seen = {name: row['calls'] for name, row in
            programs.read_report(session).items()}
    wrong = programs.differences(expected, seen)
    print('%s: %d functions, %d calls' % (what, len(expected),
                                          sum(expected.values())))
    results.check(len(expected) > 10 and not wrong,
                  '%s: calls (function, gcov, report)' % what, wrong)
    if not wrong:
        control(results, what, expected, seen)
        if not is_compact:
            control_on_disk(results, what, expected, session)


def check_sample(results, scratch):
    counted = programs.build_sample(os.path.join(scratch, 'sample-gcov'),
                                    programs.GCOV_FLAGS)
    _, text = programs.run_windows(counted, THREADS, ITERATIONS,
                                   directory=os.path.dirname(counted))
    expected = programs.gcov_counts(os.path.dirname(counted))
    builds = [
        ('Sample, -pg', programs.PENTER_FLAGS, {}, {}),
        ('Sample, -pg, a view for every 4,096 records', programs.PENTER_FLAGS,
         {}, {'TRACER_VIEW_SIZE': '64K'}),
        ('Sample, -finstrument-functions', programs.FUNCTION_FLAGS, {}, {}),
        ('Sample, compact', programs.PENTER_FLAGS, {}, COMPACT),
        ('Sample, compact, 64 KiB', programs.PENTER_FLAGS, {},
         dict(COMPACT, TRACER_VIEW_SIZE='64K')),
        ('Sample, compact, clock thread', programs.PENTER_FLAGS, {},
         dict(COMPACT, TRACER_VIEW_SIZE='64K', TRACER_CLOCK='thread')),
    ]
    if shutil.which(programs.CLANG):
        builds.append(('Sample, clang -finstrument-functions',
                       programs.FUNCTION_FLAGS,
                       {'compiler': (programs.CLANG,
                                     *programs.CLANG_SAME_CALLS)}, {}))
    else:
        results.skip('Sample, clang: there is no %s' % programs.CLANG)
    for number, (what, flags, options, settings) in enumerate(builds):
        folder = os.path.join(scratch, 'sample%d' % number)
        program = programs.build_sample(folder, flags, [programs.LIBRARY],
                                        **options)
        traced, session = programs.trace(
            program, THREADS, ITERATIONS,
            directory=os.path.join(folder, 'traces'), **settings)
        results.equal(traced, text, '%s: output' % what)
        stores = [name for name in os.listdir(session)
                  if name.endswith('.trace')]
        results.equal(len(stores), int(THREADS) + 1, '%s: stores' % what)
        compare(results, what, expected, session, 'TRACER_MODE' in settings)


def check_inlined(results, scratch):
    """-finstrument-functions also hooks what is inlined: at its caller's RSP.

    The calls are those of gcov's build, which inlines nothing; every exit has
    its entry, and just the calls are abandoned that are so without inlining.
    """
    counted = programs.build_sample(os.path.join(scratch, 'inlined-gcov'),
                                    programs.GCOV_FLAGS)
    programs.run_windows(counted, THREADS, ITERATIONS,
                         directory=os.path.dirname(counted))
    expected = programs.gcov_counts(os.path.dirname(counted))
    abandoned = []
    for name, compiler in (('plain', (programs.GCC, *programs.SAME_CALLS)),
                           ('inlined', (programs.GCC, '-O2'))):
        folder = os.path.join(scratch, 'inlined-' + name)
        program = programs.build_sample(folder, programs.FUNCTION_FLAGS,
                                        [programs.LIBRARY], compiler=compiler)
        _, session = programs.trace(program, THREADS, ITERATIONS,
                                    directory=os.path.join(folder, 'traces'))
        report = programs.read_report(session)
        seen = {function: row['calls'] for function, row in report.items()}
        results.equal(programs.differences(expected, seen), [],
                      'inlining, %s: calls' % name)
        _, text = programs.trace_reader('report', '--limit', '1',
                                        programs.windows_path(session))
        results.check('had no entry' not in text,
                      'inlining, %s: unmatched exits' % name, [text])
        abandoned.append({function: row['abandoned'] for function, row in
                          report.items() if row['abandoned']})
    results.check(sum(abandoned[0].values()) > 0,
                  'inlining: the sample has calls without an exit', abandoned)
    results.equal(abandoned[1], abandoned[0], 'inlining: abandoned calls')


def check_lua(results, scratch):
    source = programs.find_lua()
    if source is None:
        results.skip('Lua: its source cannot be had')
        return
    script = os.path.join(programs.PROGRAMS, 'counts.lua')
    counted = programs.build_lua(os.path.join(scratch, 'lua-gcov'), source,
                                 programs.GCOV_FLAGS)
    run = os.path.join(scratch, 'lua-run')
    _, text = programs.run_windows(programs.place(counted, run), script,
                                   directory=os.path.dirname(counted))
    expected = programs.gcov_counts(os.path.dirname(counted))
    folder = os.path.join(scratch, 'lua')
    program = programs.build_lua(folder, source, programs.PENTER_FLAGS,
                                 [programs.LIBRARY])
    results.check('true' in text, 'Lua: the script ran', [text])
    for what, settings in (('Lua, -pg', {}), ('Lua, compact', COMPACT)):
        traced, session = programs.trace(
            programs.place(program, run), script,
            directory=os.path.join(folder, 'traces%d' % len(settings)),
            **settings)
        results.equal(traced, text, '%s: output' % what)
        compare(results, what, expected, session, settings == COMPACT)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_sample(results, scratch)
        check_inlined(results, scratch)
        check_lua(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TRACER_MIN_DURATION with functions of -finstrument-functions whose exit hook
is jumped to: what is kept is what a build without tail jumps keeps.

With an hour all calls that return are taken back, however fast the machine is;
those stay that were left by a jump, and what called them.  With a tenth of a
second those stay that waited for longer, and of the others only what lasted as
long, which the machine may make them do.  Controls: the builds have such jumps,
or have none; without a duration all calls are there.
"""
# Takes long.

import json
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
from StoreSupport import programs, trace_reader              # noqa: E402

OBJDUMP = 'x86_64-w64-mingw32-objdump'
SOURCE = os.path.join(programs.PROGRAMS, 'Short.c')
GCC = (programs.GCC, '-O2')
CLANG = (programs.CLANG, '--target=x86_64-w64-mingw32', '-O2')
CALLED = '-fno-optimize-sibling-calls'
ROUNDS = 30
LEAVES = 200000
LIMIT_MS = 100

# (name, the command without tail jumps, [(name, a command with them)]).
CASES = [
    ('gcc', (*GCC, CALLED), [
        ('gcc', GCC),
        ('gcc, frame pointers', (*GCC, '-fno-omit-frame-pointer'))]),
    ('clang', (*CLANG, CALLED), [('clang', CLANG)]),
]
SLOW = ['SlowLeaf', 'SlowParent', 'SlowLeaf', *['SlowRecurse'] * 4]


def build(scratch, name, command):
    folder = os.path.join(scratch, re.sub(r'\W+', '-', name))
    os.makedirs(folder)
    program = os.path.join(folder, 'Short.exe')
    subprocess.run([*command, *programs.FUNCTION_FLAGS, '-c', SOURCE, '-o',
                    program + '.o'], check=True)
    subprocess.run([programs.GCC, program + '.o', programs.LIBRARY, '-static',
                    '-o', program], check=True)
    _, text = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', program])
    return program, len(re.findall(r'jmp\s.*<__cyg_profile_func_exit>', text))


def read_json(*arguments):
    code, text = programs.trace_reader(*arguments)
    if code != 0:
        raise RuntimeError('%s: exit code %s: %s' %
                           (arguments, code, code.errors))
    return json.loads(text)


class Trace:
    """What a run leaves: events without their times, counts."""

    def __init__(self, scratch, program, *arguments, **variables):
        Trace.number = getattr(Trace, 'number', 0) + 1
        directory = os.path.join(scratch, 'traces-%d' % Trace.number)
        _, self.session = programs.trace(program, *arguments,
                                         directory=directory, **variables)
        path = programs.windows_path(self.session)
        self.rows = rows = read_json('replay', '--json', path)['events']
        self.events = [(row['event'], row['depth'], row['function'])
                       for row in rows]
        said = read_json('info', '--json', path)['recording'][0]
        self.counts = {name: said[name] for name in
                       ('taken_back', 'taken_back_doubtful', 'too_deep',
                        'left_out')
                       if name in said}
        self.entered = [name for event, _, name in self.events
                        if event == 'enter']


def without_unwind_data(program):
    """A copy of an image that says nothing of its functions' frames."""
    with open(program, 'rb') as file:
        data = bytearray(file.read())
    header = struct.unpack_from('<I', data, 0x3c)[0]
    # The exception directory: the fourth, behind 112 bytes of PE32+.
    entry = header + 24 + 112 + 3 * 8
    if struct.unpack_from('<H', data, header + 24)[0] != 0x20b or not any(
            data[entry:entry + 8]):
        raise RuntimeError('%s has no unwind data' % program)
    data[entry:entry + 8] = bytes(8)
    path = program.replace('.exe', '-bare.exe')
    with open(path, 'wb') as file:
        file.write(data)
    return path


def check_doubtful(results, what, scratch, program, hour):
    """Large leaves, with unwind data and without."""
    rounds = 1000
    seen = Trace(scratch, program, str(rounds), 'big', **hour)
    results.equal((seen.events, seen.counts['taken_back'],
                   seen.counts['taken_back_doubtful']), ([], rounds + 1, 0),
                  what + ': large leaves')
    bare = without_unwind_data(program)
    for mode, limit, doubtful in (
            ('big', hour, rounds),
            ('busy', {'TRACER_MIN_DURATION': '1ns'}, 0)):
        seen = Trace(scratch, bare, str(rounds), mode, **limit)
        results.equal((seen.entered.count('WideLeaf'), len(seen.entered),
                       seen.counts['taken_back'],
                       seen.counts['taken_back_doubtful']),
                      (rounds, rounds + 1, 0, doubtful),
                      what + ': large leaves without unwind data, %s' % limit)
        code, text = programs.trace_reader(
            'report', programs.windows_path(seen.session))
        results.equal((code, re.findall(
            r'(\d+) calls that took less were kept', text)),
                      (0, [str(doubtful)] if doubtful else []),
                      what + ': the note')
        path = [os.path.join(seen.session, name)
                for name in os.listdir(seen.session)
                if name.endswith('.trace')]
        results.equal(sum(trace_reader.Store(name).NumberOfCallsDoubtful
                          for name in path), doubtful, what + ': the store')
    seen = Trace(scratch, bare, str(rounds), 'leaf', **hour)
    results.equal((seen.events, seen.counts['taken_back'],
                   seen.counts['taken_back_doubtful']), ([], rounds + 1, 0),
                  what + ': small leaves without unwind data')


def difference(left, right):
    for index, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return [index, *left[max(0, index - 3):index + 3], 'not',
                    *right[max(0, index - 3):index + 3]]
    return [len(left), len(right)]


def check_same(results, what, left, right):
    results.check(left.events == right.events, what + ': what is kept',
                  difference(left.events, right.events))
    results.equal(left.counts, right.counts, what + ': counts')


def check_limit(results, what, trace):
    """What waited is there; all else has lasted as long, or holds what has."""
    results.check([name for name in trace.entered if name in SLOW] == SLOW,
                  what + ': slow calls', trace.entered[:40])
    wrong, parents = [], []
    for row in trace.rows:
        if row['event'] == 'enter':
            if parents:
                parents[-1] = True
            parents.append(False)
        elif row['event'] in ('exit', 'abandoned', 'open'):
            has_children = parents.pop()
            if (row['event'] == 'exit' and not has_children and
                    row['duration_ns'] < LIMIT_MS * 999000):
                wrong.append(row)
    results.check(not wrong, what + ': nothing is too short', wrong)


def main():
    results = programs.Results()
    hour = {'TRACER_MIN_DURATION': '3600s'}
    with programs.Scratch() as scratch:
        for name, command, cases in CASES:
            program, jumps = build(scratch, name + ' called', command)
            results.equal(jumps, 0, name + ': control: no jumps')
            rounds = str(ROUNDS)
            called = {
                '': Trace(scratch, program, rounds),
                'an hour': Trace(scratch, program, rounds, **hour),
                'depth 3': Trace(scratch, program, rounds, **hour,
                                 TRACER_MAX_DEPTH='3'),
            }
            kept = called['an hour']
            results.check(5 < len(kept.entered) < 40 and
                          'BigAbandoned' in kept.entered and
                          kept.counts['taken_back'] > 25 * ROUNDS,
                          name + ': control: what is kept',
                          [kept.counts, *kept.events])
            results.check(len(called[''].entered) >
                          len(kept.entered) + kept.counts['taken_back'] - 1,
                          name + ': control: all calls')
            for what, flags in cases:
                program, jumps = build(scratch, what, flags)
                results.check(jumps > 5, what + ': control: jumps', [jumps])
                check_same(results, what, Trace(scratch, program, rounds),
                           called[''])
                check_same(results, what + ', an hour',
                           Trace(scratch, program, rounds, **hour), kept)
                check_same(results, what + ', depth 3', Trace(
                    scratch, program, rounds, **hour, TRACER_MAX_DEPTH='3'),
                           called['depth 3'])
                check_limit(results, what + ', 100 ms', Trace(
                    scratch, program, rounds,
                    TRACER_MIN_DURATION='%dms' % LIMIT_MS))
                seen = Trace(scratch, program, str(LEAVES), 'leaf', **hour)
                results.equal((seen.events, seen.counts['taken_back']),
                              ([], LEAVES + 1), what + ': leaves')
                check_doubtful(results, what, scratch, program, hour)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

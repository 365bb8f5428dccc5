#!/usr/bin/env python3
"""Ends the programs with fibers, threads, DLLs and hard control flow at random
moments, with SIGKILL.

Whatever the moment, every store must be good (verify), and its records must
pair: each exit that is recorded closes a call.

    TestKillAny.py [NUMBER-OF-KILLS] [SEED]
"""
# Takes long.

import collections
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import ThreadSupport as threads                              # noqa: E402
from ThreadSupport import programs, support                  # noqa: E402
from StoreSupport import trace_reader                        # noqa: E402

KILLS = 60
LONGEST = 0.3           # seconds
MOST_RECORDS = 20000    # of one store, to be paired

# Arguments that keep a program busy for longer than that.
PROGRAMS = [
    ('Fibers.exe', 'switch', '100000000'),
    ('Fibers.exe', 'near', '100000000'),
    ('Fibers.exe', 'end', '10000000'),
    ('Fibers.exe', 'deep', '100000000'),
    ('Threads.exe', 'short', '1000000'),
    ('Threads.exe', 'pool', '10000000'),
    ('Threads.exe', 'suspend', '10000000'),
    ('Threads.exe', 'terminate', '1000000'),
    ('Modules.exe', 'kill', '12'),
    ('Modules.exe', 'reload', '1000000'),
    ('Modules.exe', 'busy', '1000000'),
    ('Modules.exe', 'fibers', '16'),
]

# These run for less than a second, through all of their scenarios.
FLOWS = ['FlowJump.c', 'FlowStack.c', 'FlowFault.c', 'FlowThrow.cpp']
VIEW_SIZES = ['', '64K', '1M']


def build_all(scratch):
    builds = threads.Builds(scratch)
    for source in ('Fibers.c', 'Threads.c', 'Modules.c'):
        builds.add('penter', source, source.replace('.c', '.exe'))
    for module in ('One', 'Two', 'Three'):
        builds.add('penter', 'Modules.c', module + '.dll',
                   '-DMODULE=' + module, shared=True)
    for source in FLOWS:
        add_flow(builds, source)
    return builds


def add_flow(builds, source):
    name = os.path.splitext(source)[0]
    program = programs.build(
        os.path.join(builds.scratch, name),
        [os.path.join(programs.PROGRAMS, file)
         for file in (source, 'FlowMain.c')],
        [*programs.PENTER_FLAGS, '-DFLOW_TAIL_EXITS'], name + '.exe',
        [programs.LIBRARY, builds.library, '-lstdc++'],
        compiler=(programs.GCC, *programs.SAME_CALLS))
    shutil.copy(program, builds.folder('penter'))


def one_kill(builds, case, moment, size, directory):
    """One kill: (what is wrong, stores, records, records that pair)."""
    name, *arguments = case
    variables = {'TRACER_VIEW_SIZE': size} if size else {}
    process = support.start(builds.path('penter', name), *arguments,
                            directory=directory,
                            cwd=builds.folder('penter'), **variables)
    found = support.wait_for(lambda: support.stores(directory) or
                             process.poll() is not None)
    time.sleep(moment)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wrong = []
    if not found or not support.stores(directory):
        return ['no store'], 0, 0, 0
    if not alive and name.startswith('Flow') and process.returncode == 0:
        alive = True
    if not alive:
        wrong.append('ended before: exit code %s' % process.returncode)
    support.wait_unmapped(directory)
    session = support.sessions(directory)[0]
    code, rows, text = support.verify(session)
    bad = [row for row in rows.values()
           if (row['bad'], row['lost']) != ('0', '0')]
    if code != 0 or bad:
        wrong.append('verify: exit code %s: %s %s' % (code, bad, text[-300:]))
    counts = collections.Counter()
    for path in support.stores(session):
        try:
            store = trace_reader.Store(path)
        except trace_reader.FormatError as error:

            # One that was being created has nothing in it.
            if os.path.getsize(path) and open(path, 'rb').read(8) != bytes(8):
                wrong.append('%s: %s' % (os.path.basename(path), error))
            continue
        counts['stores'] += 1

        # verify has read all of it; pairing all of it here takes long.
        store.number_of_slots = min(store.number_of_slots, MOST_RECORDS)
        _, paired = trace_reader.pair(store)
        counts.update(paired)
        if store.bad or paired['unmatched'] and not name.startswith('Flow'):
            wrong.append('%s: bad %s, %s' % (os.path.basename(path),
                                             dict(store.bad), dict(paired)))
        counts['records'] += store.number_of_records
    if counts['stores']:
        code, text = threads.exits_without_entry(session)
        if code != 0 or text:
            wrong.append('report: exit code %s: %s' % (code, text))
    if not wrong:
        shutil.rmtree(directory)
    return (wrong, counts['stores'], counts['records'],
            counts['completed'] + counts['abandoned'])


def check_control(results, builds, scratch):
    """An exit without its entry must be found by the pairing."""
    directory = os.path.join(scratch, 'control')
    threads.run(builds.path('penter', 'Fibers.exe'), 'switch', '2000',
                directory=directory, TRACER_MODE='file')
    path = max(support.stores(directory), key=os.path.getsize)
    _, counts = trace_reader.pair(trace_reader.Store(path))
    results.equal(counts['unmatched'], 0, 'control: the original pairs')
    with open(path, 'r+b') as file:
        file.seek(support.HEADER_SIZE)
        first = file.read(16)
        file.seek(support.HEADER_SIZE)
        file.write(first[:12] + bytes([first[12] & 0xF8 | 2]) + first[13:])
    _, counts = trace_reader.pair(trace_reader.Store(path))
    results.check(counts['unmatched'] > 0,
                  'control: an exit without an entry is found')


def main():
    results = programs.Results()
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 31)
    with programs.Scratch() as scratch:
        builds = build_all(scratch)
        cases = PROGRAMS + [(source.rsplit('.')[0] + '.exe',)
                            for source in FLOWS]
        cases = [cases[number % len(cases)] for number in range(kills)]
        moments = [chance.uniform(0, LONGEST) ** 2 / LONGEST for _ in cases]
        sizes = [chance.choice(VIEW_SIZES) for _ in cases]
        folders = [os.path.join(scratch, 'kill%d' % number)
                   for number in range(kills)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done = list(pool.map(one_kill, [builds] * kills, cases, moments,
                                 sizes, folders))
        for case, moment, size, (wrong, *_) in zip(cases, moments, sizes,
                                                   done):
            results.check(not wrong, '%s after %d ms, views of %s' %
                          (' '.join(case), moment * 1000,
                           size or 'the default size'), wrong)
        print('%d kills, %d stores, %d records, %d calls paired' %
              (kills, *(sum(entry[index] for entry in done)
                        for index in (1, 2, 3))))
        check_control(results, builds, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

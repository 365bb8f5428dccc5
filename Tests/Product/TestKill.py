#!/usr/bin/env python3
"""Ends a busy program at 150 random moments, in four ways; in the long form at
225, 100 of them with compact stores.

TerminateProcess by one of its own threads and by another process, an access
violation, and SIGKILL.  Whatever the moment, every record must be there: the
program counts in a mapped file of its own the calls that each thread has begun
and has finished, so that the number of records that a store must hold is known
to within one call.  Both readers must find every store good.

A control: a record that is zeroed, or that gets a wrong site or time, must be
found by both readers, at its offset.
"""

import concurrent.futures
import os
import random
import shutil
import signal
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

# How many of each; the number of microseconds after which a program is ended
# is random.
WAYS = [('kill', 45), ('signal', 30), ('outside', 15), ('fault', 10)]
LONGEST = 40000
VIEW_SIZES = ['', '64K', '128K', '1M']
# The same with compact stores: so many of WAYS' numbers, and of rings of blocks,
# which lose what they have no room for.
COMPACT = (({'TRACER_MODE': 'compact'}, 1 if programs.LONG else 0.25),
           ({'TRACER_MODE': 'compact-ring', 'TRACER_MAX_BYTES': '1M'}, 0.25))


@support.watch.unless_wine_failed
def run(program, way, moment, directory, counts, traces, **variables):
    """Runs Busy, which ends itself; what it left goes where it is run again,
    its counts too."""
    return support.finish(support.start(
        program, way, programs.windows_path(counts), str(moment),
        directory=traces, **variables))


def end_program(program, way, moment, directory):
    """Runs Busy and ends it; returns (exit code, path of its counts)."""
    os.makedirs(directory)
    counts = os.path.join(directory, 'counts')
    name = programs.windows_path(counts)
    sizes = dict(way[2])
    if way[1]:
        sizes['TRACER_VIEW_SIZE'] = way[1]
    traces = os.path.join(directory, 'traces')
    if way[0] != 'signal':
        if way[0] == 'outside':
            sizes['TRACER_ENABLED'] = '0'
        code, _ = run(program, way[0], moment, directory, counts, traces,
                      **sizes)
        return code, counts

    process = support.start(program, 'kill', name, '0', directory=traces,
                            **sizes)
    support.wait_for(lambda: os.path.exists(counts) and
                     os.path.getsize(counts) == 4096 and
                     all(finished for _, finished, _ in
                         support.read_progress(counts)))
    time.sleep(moment / 1e6)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode, counts


def check_stores(session, counts, read=None):
    """What is wrong with a session's stores, as a list of texts; read gets path
    -> (slots, good records) of those that are looked into."""
    wrong = []
    by_thread = {}
    for path in support.stores(session):
        try:
            store = trace_reader.Store(path)
        except trace_reader.FormatError as error:
            wrong.append('%s: %s' % (os.path.basename(path), error))
            continue
        by_thread[store.ThreadId] = store
    for begun, finished, thread in counts:
        store = by_thread.pop(thread, None)
        if store is None:
            wrong.append('thread %d has no store' % thread)
            continue

        # Every record of the calls that were finished, and none too many.
        lost = (store.start - support.HEADER_SIZE) // 16
        if lost and not store.BlocksCapacity:
            wrong.append('thread %d: begins at %d' % (thread, store.start))
        slots = store.number_of_slots + lost
        if not (finished * support.BUSY_RECORDS <= slots <=
                begun * support.BUSY_RECORDS):
            wrong.append('thread %d: %d calls begun, %d finished, %d slots' %
                         (thread, begun, finished, slots))

        # All of them whole, but for the last one.
        good = support.read_all(store) + lost
        if read is not None:
            read[store.path] = store.number_of_slots, good - lost
        if good + 1 < slots or store.bad:
            wrong.append('thread %d: %d slots, %d good, %s' %
                         (thread, slots, good, dict(store.bad)))
        if store.State != support.STATE_OPEN or store.NumberOfEventsLost:
            wrong.append('thread %d: state %d, %d lost' %
                         (thread, store.State, store.NumberOfEventsLost))
    if by_thread:
        wrong.append('stores of threads %s' % sorted(by_thread))
    return wrong


def one_kill(program, way, moment, directory):
    """One kill: (what is wrong, records, views changed, last one unwritten).
    """
    code, counts_path = end_program(program, way, moment, directory)
    expected = {'signal': (-signal.SIGKILL,), 'fault': (5, 0xC0000005)}
    wrong = []
    if code not in expected.get(way[0], (support.BUSY_EXIT_CODE,)):
        wrong.append('exit code %s' % code)

    # What is gone for Wine's server may still have threads.
    traces = os.path.join(directory, 'traces')
    found = support.sessions(traces)
    if len(found) != 1:
        return wrong + ['sessions: %s' % found], 0, 0, 0
    support.wait_unmapped(found[0], counts_path)
    counts = support.read_progress(counts_path)
    read = {}
    wrong += check_stores(found[0], counts, read)
    records = views = unwritten = 0
    for path in support.stores(found[0]):
        with support.LiveStore(path) as store:
            views += store.get(0x08C, 'I')
            if not way[2] and not support.IS_COMPACT:
                records += (store.end() - support.HEADER_SIZE) // 16
                unwritten += store.get(store.end() - 16) == 0
        if (way[2] or support.IS_COMPACT) and not wrong:
            slots, good = read[path]
            records += slots
            unwritten += slots - good
    if support.has_reader():
        code, rows, text = support.verify(found[0])
        if code != 0 or any(row['bad'] != '0' for row in rows.values()):
            wrong.append('TraceReader verify: exit code %s: %s' %
                         (code, text))
        elif sum(int(row['records']) for row in rows.values()) not in range(
                records - support.BUSY_THREADS - 1, records + 1):
            wrong.append('TraceReader verify: %d records expected: %s' %
                         (records, text))
    if not wrong:
        shutil.rmtree(directory)
    return wrong, records, views, unwritten


def check_kills(results, program, scratch):
    chance = random.Random(20)
    kills = [(way, chance.choice(VIEW_SIZES), {})
             for way, count in WAYS for _ in range(count)]
    kills += [(way, chance.choice(VIEW_SIZES), variables)
              for variables, part in COMPACT for way, count in WAYS
              for _ in range(round(count * part))]
    chance.shuffle(kills)
    moments = [chance.randrange(500, LONGEST) for _ in kills]
    folders = [os.path.join(scratch, 'kill%d' % number)
               for number in range(len(kills))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(one_kill, [program] * len(kills), kills, moments,
                             folders))
    for way, moment, (wrong, _, _, _) in zip(kills, moments, done):
        results.check(not wrong, '%s after %d us, views of %s, %s' %
                      (way[0], moment, way[1] or 'the default size',
                       way[2].get('TRACER_MODE', 'file')), wrong)
    print('%d kills, %d records, %d view changes, %d records cut short' %
          (len(done), sum(entry[1] for entry in done),
           sum(entry[2] for entry in done), sum(entry[3] for entry in done)))
    results.check(sum(entry[2] for entry in done) > len(done),
                  'views changed while the programs ran')


def damaged(path, target, offset, value):
    shutil.copyfile(path, target)
    with open(target, 'r+b') as file:
        file.seek(offset)
        file.write(value)


def check_control(results, program, scratch):
    """Damage to one record must be found where it is."""
    directory = os.path.join(scratch, 'control')
    end_program(program, ('kill', '', {'TRACER_MODE': 'file'}), 200000,
                directory)
    session = support.sessions(os.path.join(directory, 'traces'))[0]
    support.wait_unmapped(directory)
    counts = support.read_progress(os.path.join(directory, 'counts'))
    results.equal(check_stores(session, counts), [],
                  'control: the original is good')
    changed = [(begun + 1, finished + 1, thread)
               for begun, finished, thread in counts]
    results.equal(len(check_stores(session, changed)), len(changed),
                  'control: stores that lack a call are found')
    original = max(support.stores(session), key=os.path.getsize)
    store = trace_reader.Store(original)
    records = support.read_all(store)
    results.check(records > 1000, 'control: a store with enough records')
    index = records // 2
    offset = support.HEADER_SIZE + 16 * index
    changes = [
        ('zeroed', offset, bytes(16), 'hole'),
        ('without a time', offset, bytes(8), 'hole'),
        ('with another kind', offset + 12, b'\7\0\0\0', 'kind'),
        ('with a wrong site', offset + 8, b'\xff\xff\xff\x7f', 'site'),
        ('from long ago', offset, b'\1\0\0\0\0\0\0\0', 'time'),
        ('a page zeroed', offset // 4096 * 4096, bytes(4096), 'hole'),
    ]
    for number, (what, place, value, cause) in enumerate(changes):
        folder = os.path.join(directory, 'changed%d' % number)
        os.makedirs(folder)
        target = os.path.join(folder, os.path.basename(original))
        damaged(original, target, place, value)
        expected = place // 16 * 16
        count = max(1, len(value) // 16)
        changed = trace_reader.Store(target)
        support.read_all(changed)
        results.equal((dict(changed.bad), changed.first_bad_offset),
                      ({cause: count}, expected),
                      'control: a record %s, trace_reader' % what)
        if support.has_reader():
            code, rows, text = support.verify(folder)
            row = rows.get(os.path.basename(original), {})
            results.equal((code, row.get('bad'), row.get('first_bad_offset')),
                          (2, str(count), str(expected)),
                          'control: a record %s, TraceReader' % what)
    shutil.rmtree(directory)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        if not support.has_reader():
            results.skip('there is no TraceReader.exe')
        check_kills(results, program, scratch)
        check_control(results, program, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

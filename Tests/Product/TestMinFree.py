#!/usr/bin/env python3
"""TRACER_MIN_FREE: recording stops before the disk has less left than that, and
says so; the program goes on.

No disk has the most that may be asked for, and every disk has a byte.  How a
store stops in its middle is measured on a small file system in memory, whose
size and room Linux tells.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402
from TestBadInput import mounted                             # noqa: E402

MOST, LEAST = '9223372036854775807', '1'
STOPPED, MINIMUM_FREE, DISK_FULL = 3, 9, 0xC000007F
CALLS = 5000
MEBIBYTE = 1 << 20
FIRST_VIEW, PAGE = 1 << 16, 1 << 12
REASON = 'the disk has too little room left'
LINE = re.compile(
    r'keeping TRACER_MIN_FREE of the disk: (\S+): 0xC000007F '
    r'\(STATUS_DISK_FULL\); (\d+) bytes are free and (\d+) are to stay free: '
    r'recording of this thread has stopped, the program goes on\r?\n')


def lines_of(directory):
    text = ''
    for above, _, names in os.walk(directory):
        for name in names:
            if name.endswith('.log'):
                with open(os.path.join(above, name), encoding='utf-8',
                          newline='') as file:
                    text += file.read()
    return text


def run(results, program, directory, what, calls=CALLS, **variables):
    """A program that makes calls: the headers of its stores."""
    code, text = support.run(program, 'run', '1', str(calls), '0',
                             directory=directory, **variables)
    results.equal(code, 0, what + ': exit code')
    return text, [field_reader(path) for path in support.stores(directory)]


class Header:
    """The fields of any store's header."""


def field_reader(path):
    header = Header()
    with open(path, 'rb') as file:
        data = file.read(4096)
    for name, (offset, code) in trace_reader.FIELDS.items():
        size = {'H': 2, 'I': 4, 'Q': 8}[code]
        setattr(header, name,
                int.from_bytes(data[offset:offset + size], 'little'))
    header.path = path
    header.size = os.path.getsize(path)
    return header


def check_modes(results, scratch, program):
    """A disk that has too little from the start, whatever is kept."""
    for mode in 'file', 'ring', 'tree':
        made = {}
        for value in MOST, LEAST, '0':
            what = '%s, %s' % (mode, value)
            directory = os.path.join(scratch, mode + value)
            text, stores = run(results, program, directory, what,
                               TRACER_MODE=mode, TRACER_MIN_FREE=value)
            made[value] = text, stores
            results.check(stores, what + ': stores')
            log = lines_of(directory)
            if value != MOST:
                results.check(not log and all(
                    store.State == support.STATE_CLOSED and
                    store.NumberOfEventsLost == 0 for store in stores),
                              'control: %s: all is recorded' % what, [log])
                continue
            results.equal({(store.State, store.Reason, store.Status)
                           for store in stores},
                          {(STOPPED, MINIMUM_FREE, DISK_FULL)},
                          what + ': states')
            said = LINE.findall(log)
            session = support.sessions(directory)[0]
            results.check(
                len(said) == len(stores) == log.count('\n') and
                {place for place, _, _ in said} ==
                {'\\??\\' + programs.windows_path(session)} and
                {kept for _, _, kept in said} == {MOST} and
                all(int(free) < int(MOST) for _, free, _ in said),
                what + ': the log', [log])
            windows = programs.windows_path(session)
            code, text, _ = support.reader('info', windows)
            results.check(code == 0 and re.search(
                r'State +stopped\n.*Reason +%s\n.*Status +0xc000007f\n' % REASON,
                text, re.S), what + ': info', [text])
            code, text, errors = support.reader('report', windows)
            lost = sum(store.NumberOfEventsLost for store in stores)
            results.check(code == 0 and 'Stopped: %s: %d events of %d stores '
                          'are not recorded.\n' % (REASON, lost, len(stores))
                          in text, what + ': report', [text, errors])
            results.check(re.search(r'stopped.*%s' % REASON, support.reader(
                'verify', windows)[1]), what + ': verify')
        results.equal(made[MOST][0], made['0'][0], mode + ': the output')
        if mode == 'file':
            results.equal(
                sorted(store.NumberOfEventsLost for store in made[MOST][1]),
                sorted(trace_reader.Store(store.path).number_of_slots
                       for store in made['0'][1]),
                'what is counted is what would have been recorded')


def check_default(results, scratch, program):
    """Nothing asked for: 2 GiB or 5 %, whichever is smaller."""
    directory = os.path.join(scratch, 'default')
    status = os.statvfs(scratch)
    free = status.f_bavail * status.f_frsize
    wanted = min(2 << 30, status.f_blocks * status.f_frsize // 20)
    if abs(free - wanted) < 1 << 30:
        results.skip('the disk has about as much left as stays free')
        return
    for value in '', 'nonsense':
        _, stores = run(results, program, directory + value, 'default',
                        TRACER_MIN_FREE=value)
        results.equal({store.Reason == MINIMUM_FREE for store in stores},
                      {free < wanted}, 'default %r: recorded or not' % value)
        results.equal('reading TRACER_MIN_FREE (2G, 5%): nonsense: 0xC000000D'
                      in lines_of(directory + value), bool(value),
                      'default %r: the log' % value)


def beside_the_limit(root, stores):
    """What Settings.md holds nothing back of: the first 64 KiB of each
    thread's file, of which this file system has what was touched, and logs."""
    return len(stores) * FIRST_VIEW + sum(
        -(-os.path.getsize(os.path.join(above, name)) // PAGE) * PAGE
        for above, _, names in os.walk(root)
        for name in names if name.endswith('.log'))


def check_small_disk(results, scratch, program):
    """Half of a disk stays free, as Linux sees it.

    A compact store needs more calls for that; its raw ring, which is 8 MiB, is
    given back when it is closed.
    """
    calls, ring, most = 40000, 0, '16M'
    if support.IS_COMPACT:
        calls, ring, most = 16 * calls, 8 * MEBIBYTE, '13M'
    with mounted(os.path.join(scratch, 'disk'), 'size=24m') as root:
        if root is None:
            results.skip('one may not mount a file system here')
            return
        _, stores = run(results, program, root, 'control', calls,
                        TRACER_MIN_FREE='0', TRACER_VIEW_SIZE='1M')
        results.equal({store.State for store in stores},
                      {support.STATE_CLOSED}, 'control: no limit: recorded')
        whole = max(trace_reader.Store(store.path).number_of_slots
                    for store in stores)
    os.rmdir(os.path.join(scratch, 'disk'))
    for value, kept in (('50%', 12 * MEBIBYTE),
                        (most, int(most[:-1]) * MEBIBYTE)):
        for size in '1M', '64K':
            what = 'a disk of 24 MiB, %s, views of %s' % (value, size)
            with mounted(os.path.join(scratch, 'disk'), 'size=24m') as root:
                _, stores = run(results, program, root, what, calls,
                                TRACER_MIN_FREE=value, TRACER_VIEW_SIZE=size)
                status = os.statvfs(root)
                free = status.f_bavail * status.f_frsize
                store = max(stores, key=lambda each: each.size)
                results.equal((store.State, store.Reason, store.Status),
                              (STOPPED, MINIMUM_FREE, DISK_FULL),
                              what + ': stopped')
                least = kept - beside_the_limit(root, stores)
                results.check(least <= free < kept + ring + 5 * MEBIBYTE,
                              '%s: %d stay free' % (what, free),
                              [least, kept])
                slots = trace_reader.Store(store.path).number_of_slots
                results.equal(slots + store.NumberOfEventsLost, whole,
                              what + ': all is counted')
                results.check(slots > 0x40000, what + ': recorded', [slots])
                results.check(LINE.search(lines_of(root)), what + ': the log')
            os.rmdir(os.path.join(scratch, 'disk'))


def check_places(results, scratch, program):
    """The ini file, and TraceReader run."""
    for number, (text, variable, reason) in enumerate((
            ('min_free = ' + MOST, '', MINIMUM_FREE),
            ('min_free = 99%', LEAST, None),
            ('Min_Free = 1', '', None))):
        place = os.path.join(scratch, 'ini%d' % number)
        os.makedirs(place)
        with open(os.path.join(place, 'tracer.ini'), 'w',
                  encoding='ascii') as file:
            file.write('[output]\n%s\n' % text)
        directory = os.path.join(place, 'traces')
        _, stores = run(results, program, directory, text,
                        TRACER_MIN_FREE=variable,
                        TRACER_CONFIG=programs.windows_path(
                            os.path.join(place, 'tracer.ini')))
        results.equal({store.Reason == MINIMUM_FREE for store in stores},
                      {reason is not None}, 'ini: ' + text)
    for value in MOST, LEAST:
        directory = os.path.join(scratch, 'run' + value)
        code, _ = programs.run_windows(
            programs.READER, 'run', '--min-free', value, '--directory',
            programs.windows_path(directory), program, 'run', '1', '100', '0')
        results.equal((code, {field_reader(path).Reason == MINIMUM_FREE
                              for path in support.stores(directory)}),
                      (0, {value == MOST}), 'run --min-free ' + value)
    code, _, errors = support.reader('run', '--min-free', '100%', program)
    results.check(code == 1 and '--min-free' in errors, 'run: refused',
                  [errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        check_modes(results, scratch, program)
        check_default(results, scratch, program)
        check_small_disk(results, scratch, program)
        check_places(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TraceReader recover: a clean copy of a session that was damaged in ways that
are known here, so that the records that must be in it are known, too.

All of them are read with trace_reader.py.  verify must find nothing in the
copy; the damaged session must stay as it is, byte for byte.
"""

import csv
import io
import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

support.OTHER_MODES.clear()     # what is damaged here lies as in plain stores

HEADER, RECORD = 4096, 16
LOG = b'a report\n'
NOISY = 6


def read_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def contents(folder):
    return {name: read_bytes(os.path.join(folder, name))
            for name in sorted(os.listdir(folder))}


def records(path):
    return list(trace_reader.Store(path).records())


class Case:
    """A copy of a session, with the damage done to it."""

    def __init__(self, results, scratch, session, what):
        self.results, self.what = results, what
        self.folder = os.path.join(scratch, 'damaged ' + what)
        self.target = os.path.join(scratch, 'clean ' + what)
        shutil.copytree(session, self.folder)
        self.expected = {os.path.basename(path): records(path)
                         for path in support.stores(session)}
        self.older = {}         # name: how many more there may be before them
        self.rows = self.code = None

    def store(self, number):
        return support.stores(self.folder)[number]

    def change(self, number, offset, data):
        with open(self.store(number), 'r+b') as file:
            file.seek(offset)
            file.write(data)

    def drop(self, number, first, end):
        """The records from first up to end are not expected any more."""
        del self.expected[os.path.basename(self.store(number))][first:end]

    def recover(self, code):
        before = contents(self.folder)
        done, text, errors = support.reader(
            'recover', '--csv', programs.windows_path(self.folder), '-o',
            programs.windows_path(self.target))
        self.rows = {row['store']: row
                     for row in csv.DictReader(io.StringIO(text))}
        self.results.equal(done, code, self.what + ': exit code')
        self.results.check(not errors, self.what + ': no errors', [errors])
        self.results.check(contents(self.folder) == before,
                           self.what + ': the original is as it was')
        found = {os.path.basename(path): records(path)
                 for path in support.stores(self.target)}
        self.results.check(sorted(found) == sorted(self.expected),
                           self.what + ': stores', [sorted(found)])
        for name, wanted in self.expected.items():
            seen = found.get(name, [])
            more = len(seen) - len(wanted)
            self.results.check(
                0 <= more <= self.older.get(name, 0) and
                seen[more:] == wanted and
                all(one[0] <= other[0]
                    for one, other in zip(seen, seen[1:more + 1])) and
                int(self.rows[name]['records']) in (len(seen), len(seen) + 1),
                '%s: records of %s' % (self.what, name),
                [self.rows.get(name), len(wanted), len(seen)])
        code, _, text = support.verify(self.target)
        self.results.check(code == 0, self.what + ': verify', [text])
        return self.rows

    def row(self, number):
        return self.rows[os.path.basename(self.store(number))]


def check_sound(results, scratch, session, what):
    """Nothing is damaged: everything is kept as it is."""
    case = Case(results, scratch, session, what + ', sound')
    with open(os.path.join(case.folder, 'Busy.exe.log'), 'wb') as file:
        file.write(LOG)
    with open(os.path.join(case.folder, 'x.trace.index'), 'wb') as file:
        file.write(b'not copied')
    rows = case.recover(0)
    results.check(all((row['header'], row['bad'], row['missing'],
                       row['result']) == ('whole', '0', '0', 'ok')
                      for row in rows.values()), case.what + ': rows', [rows])
    for name, data in contents(case.target).items():
        original = read_bytes(os.path.join(case.folder, name))
        results.check(original[:len(data)] == data and len(data) > 8,
                      case.what + ': the same bytes', [name])
    results.equal(sorted(set(os.listdir(case.folder)) -
                         set(os.listdir(case.target))), ['x.trace.index'],
                  case.what + ': files')
    report = [support.reader('report', '--csv', '--no-cache', '--sort',
                             'name', programs.windows_path(path))[1]
              for path in (case.folder, case.target)]
    results.check(report[0].count('\n') > 2 and
                  [line.split(',')[0] for line in report[0].splitlines()] ==
                  [line.split(',')[0] for line in report[1].splitlines()],
                  case.what + ': report', report)
    code, _, errors = support.reader(
        'recover', programs.windows_path(case.folder), '-o',
        programs.windows_path(case.target))
    results.check(code == 1 and 'STATUS_DIRECTORY_NOT_EMPTY' in errors,
                  case.what + ': a directory with something in it', [errors])


def check_records(results, scratch, session):
    """Runs of bad records are left out, and nothing else."""
    numbers = random.Random(3)
    case = Case(results, scratch, session, 'bad records')
    first = 100
    case.change(0, HEADER + RECORD * first, bytes(RECORD * 64))
    case.drop(0, first, first + 64)
    case.change(1, HEADER + RECORD * first + 12, b'\7')
    case.drop(1, first, first + 1)
    noise = bytes(numbers.randrange(256) | 7 for _ in range(RECORD * 50))
    case.change(2, HEADER + RECORD * first, noise)
    case.drop(2, first, first + 50)
    # One record is from a time to come: only that one is bad.
    case.change(3, HEADER + RECORD * first + 6, b'\x70')
    case.drop(3, first, first + 1)
    case.recover(2)
    results.equal([case.row(number)['bad'] for number in range(4)],
                  ['64', '1', '50', '1'], 'bad records: how many')


def check_headers(results, scratch, session):
    """Headers that are damaged a little, much, and altogether."""
    case = Case(results, scratch, session, 'headers')
    original = [trace_reader.Store(case.store(number))
                for number in range(4)]
    case.change(0, 0, b'BADMAGIC')
    case.change(0, 0x010, b'\0\0\0\0')
    case.change(1, 0x128, b'\0\0\0\0')          # ModuleSize
    case.change(2, 0, bytes(HEADER))
    case.recover(0)
    results.equal([case.row(number)['header'] for number in range(4)],
                  ['repaired', 'rebuilt', 'rebuilt', 'whole'],
                  'headers: what became of them')
    for number, store in enumerate(original):
        copy = trace_reader.Store(os.path.join(
            case.target, os.path.basename(store.path)))
        for field in ('ThreadId', 'SequenceNumber', 'ModuleBase',
                      'ModuleSize', 'ModulePath', 'ProcessId', 'CommandLine',
                      'ProcessCreationTime', 'Clock', 'QpcFrequency'):
            results.equal(getattr(copy, field), getattr(store, field),
                          'headers: %s of %d' % (field, number))
        stack = (0, 0) if number == 2 else (store.StackBase, store.StackLimit)
        results.equal((copy.StackBase, copy.StackLimit), stack,
                      'headers: stack of %d' % number)
        results.check(copy.anchors == ([] if number == 2 else store.anchors),
                      'headers: anchors of %d' % number)


def check_process(results, scratch, session):
    """The first store is of another process than most: it is left out, and
    what it says does not count."""
    case = Case(results, scratch, session, 'process')
    case.change(0, 0x018, b'\1\2\3\4')
    case.change(0, 0x020, b'\1\2\3\4')
    del case.expected[os.path.basename(case.store(0))]
    case.change(3, 0x018, b'\4\3\2\1')
    case.recover(2)
    results.equal([(case.row(number)['header'], case.row(number)['result'])
                   for number in range(4)],
                  [('lost', 'it is of another process'), ('whole', 'ok'),
                   ('whole', 'ok'), ('repaired', 'ok')], 'process: results')


def check_ends(results, scratch, session):
    """Stores that were cut, and ends that were never published."""
    case = Case(results, scratch, session, 'ends')
    kept = 300
    size = HEADER + RECORD * kept + 7
    count = trace_reader.Store(case.store(0)).number_of_slots
    os.truncate(case.store(0), size)
    case.drop(0, kept, None)
    # The header is of the time when there was no record yet.
    case.change(1, 0x040, struct.pack('<Q', HEADER))
    case.change(1, 0x050, bytes(8))
    case.change(1, 0x058, bytes(4))
    # An end that is none.
    case.change(2, 0x040, bytes(8))
    case.change(2, 0x050, bytes(8))
    case.change(2, 0x058, bytes(4))
    # A file that was just being created.
    with open(os.path.join(case.folder, 'Busy.exe-999999-99.trace'), 'wb') as file:
        file.write(bytes(0x10000))
    case.recover(2)
    results.equal((case.row(0)['missing'], case.row(0)['result']),
                  (str(count - kept), 'the file was cut'), 'ends: cut')
    results.check('after the published end' in case.row(1)['result'] and
                  case.row(1)['bad'] == '0', 'ends: never published',
                  [case.row(1)])
    results.equal(case.row(2)['result'], 'its end was not published',
                  'ends: not an end')
    results.equal(case.rows['Busy.exe-999999-99.trace']['header'], 'empty',
                  'ends: nothing in it')


def check_rings(results, scratch, session):
    """Rings: bad records in one, another without a header, a third cut."""
    case = Case(results, scratch, session, 'rings')
    store = trace_reader.Store(case.store(0))
    results.check(all(struct.unpack_from('<Q', read_bytes(case.store(number)),
                                         0x0A8)[0] for number in range(4)),
                  'rings: all have come around')
    # Where a record of the first one lies: 1,000 before its end.
    place = store.number_of_slots - 1000
    stamp = case.expected[os.path.basename(store.path)][place][0]
    data = read_bytes(case.store(0))
    offset = data.find(struct.pack('<Q', stamp), store.RingFileOffset)
    case.change(0, offset, bytes(RECORD * 2))
    case.drop(0, place, place + 2)
    # The writer gives a segment up before it fills it with zeroes, and may have
    # ended between: without the header, its records are there.  That may be so
    # of two, the one in use and the one after it, where the worker gets no
    # processor.  Here one more is given up.
    segment, = struct.unpack_from('<Q', read_bytes(case.store(1)), 0x0B0)
    case.drop(1, 0, segment // RECORD)
    case.older[os.path.basename(case.store(1))] = 3 * segment // RECORD
    case.change(1, 0, bytes(HEADER))
    rows = case.recover(2)
    results.equal([case.row(number)['header'] for number in range(3)],
                  ['whole', 'rebuilt', 'whole'], 'rings: headers')
    results.check(int(case.row(1)['records']) >= segment // RECORD + len(
        case.expected[os.path.basename(case.store(1))]),
                  'rings: what was given up and is there', [case.row(1)])
    results.equal([case.row(number)['bad'] for number in range(3)],
                  ['2', '0', '0'], 'rings: bad')
    results.check(len(rows) == 4, 'rings: rows')


def check_hopeless(results, scratch, session):
    """Without any header, or of another process, a store is lost."""
    case = Case(results, scratch, session, 'hopeless')
    for number in range(4):
        case.change(number, 0, bytes(HEADER))
    for number in range(4):
        del case.expected[os.path.basename(case.store(number))]
    code, text, errors = support.reader(
        'recover', programs.windows_path(case.folder), '-o',
        programs.windows_path(case.target))
    results.check(code == 2 and text.count('no other store says') == 4 and
                  '4 stores lost' in text and
                  not support.stores(case.target), 'hopeless',
                  [code, text, errors])


def check_noise(results, scratch, session):
    """Headers full of noise, and noise in the records: no crash, no hang, and
    whatever is made of it is clean; records that are sound all stay."""
    numbers = random.Random(17)
    for number in range(NOISY):
        case = Case(results, scratch, session, 'noise %d' % number)
        for place in range(3):
            for _ in range(1 << numbers.randrange(10)):
                case.change(place, numbers.randrange(0x1D0),
                            bytes([numbers.choice((0, 255, 1,
                                                   numbers.randrange(256)))]))
        case.change(1, numbers.randrange(HEADER),
                    bytes(numbers.randrange(256) for _ in range(5000)))
        os.truncate(case.store(2), numbers.randrange(HEADER * 3))
        code, text, errors = support.reader(
            'recover', programs.windows_path(case.folder), '-o',
            programs.windows_path(case.target))
        results.check(code in (0, 2) and 'stores lost' in text,
                      case.what + ': exit code', [code, text, errors])
        last = os.path.basename(case.store(3))
        results.check(records(os.path.join(case.target, last)) ==
                      case.expected[last], case.what + ': a sound store')
        code, rows, text = support.verify(case.target)
        results.check(all(row['bad'] == '0' for row in rows.values()) and rows,
                      case.what + ': verify', [text])


def make_session(scratch, program, what, **mode):
    """A session of four threads of a program that was killed."""
    traces = os.path.join(scratch, what)
    process = support.start(program, 'for', '86400000', '1000000',
                            programs.windows_path(os.path.join(scratch,
                                                               'never')),
                            directory=traces, **mode)

    def is_enough():
        paths = support.stores(traces)
        for path in paths:
            with support.LiveStore(path) as store:
                if not store.is_ready() or not (
                        store.get(0x0A8) if mode
                        else (store.end() or 0) > 0x8000):
                    return False
        return len(paths) == support.BUSY_THREADS
    support.wait_for(is_enough)
    process.kill()
    process.communicate()
    session = support.sessions(traces)[0]

    def ends():
        return [read_bytes(path)[:0x80] for path in support.stores(session)]
    before = None
    while before != ends():
        before = ends()
        support.wait_for(lambda: False, 0.1)
    return session


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        session = make_session(scratch, program, 'file')
        ring = make_session(scratch, program, 'ring', TRACER_MODE='ring',
                            TRACER_MAX_BYTES='1M')
        check_sound(results, scratch, session, 'file')
        check_sound(results, scratch, ring, 'ring')
        check_records(results, scratch, session)
        check_headers(results, scratch, session)
        check_process(results, scratch, session)
        check_ends(results, scratch, session)
        check_rings(results, scratch, ring)
        check_hopeless(results, scratch, session)
        check_noise(results, scratch, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

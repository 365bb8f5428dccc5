"""What the tests of running, killed and damaged stores have in common.

Stores are read here natively, through a mapping that the traced program
shares, with the protocol of Docs/Format.md and with trace_reader.py; and by
TraceReader.exe.
"""

import csv
import io
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import programs                                              # noqa: E402
import WatchSupport as watch                                 # noqa: E402
import trace_reader                                          # noqa: E402

BUSY_THREADS = 4
BUSY_RECORDS = 16       # what one call of Outer leaves
BUSY_EXIT_CODE = 77

HEADER_SIZE, RECORD_SIZE = 4096, 16
LARGEST_REPLAYED = 0x400000     # bytes of a session
STATE_OPEN, STATE_CLOSED, STATE_STOPPED = 1, 2, 3

# 100 ns units between 1601 and 1970.
FILETIME_OF_1970 = 116444736000000000

# TEST_MODE=compact: what a test records goes into compact stores, if the test
# does not say that it wants a file, and has no ini file (make test-compact).
IS_COMPACT = os.environ.get('TEST_MODE') == 'compact'
OTHER_MODES = ({'': 'compact', 'ring': 'compact-ring'} if IS_COMPACT else {})


def build_busy(folder):
    return programs.build(folder,
                          [os.path.join(programs.PROGRAMS, 'Busy.c')],
                          programs.PENTER_FLAGS, 'Busy.exe',
                          [programs.LIBRARY])


def mode(name):
    """What a test gets that asks for TRACER_MODE=name."""
    return OTHER_MODES.get(name, name)


def environment(directory=None, **variables):
    """The environment for a traced program; directory is a native path."""
    result = {name: value for name, value in os.environ.items()
              if not name.startswith('TRACER_') or
              name in ('TRACER_WINE_PREFIX', 'TRACER_MIN_FREE')}
    if directory is not None:
        result['TRACER_DIRECTORY'] = programs.windows_path(directory)
    result.update(variables)
    if (result.get('TRACER_MODE', '') in OTHER_MODES and
            'TRACER_CONFIG' not in variables):      # it may say the mode
        result['TRACER_MODE'] = mode(result.get('TRACER_MODE', ''))
    return result


def start(program, *arguments, directory=None, cwd=None, **variables):
    """Starts a traced program; what it writes to standard error is in the file
    errors of the result.

    Its session never goes to the directory of Wine's user: without a directory
    it goes where the program runs, as if a traced parent had said so.
    """
    if directory is None and not variables.get('TRACER_DIRECTORY'):
        variables.setdefault('TRACER_BASE_DIRECTORY',
                             programs.windows_path(cwd or '.'))
    errors = tempfile.TemporaryFile()
    process = subprocess.Popen([programs.WINE, program, *arguments],
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=errors, cwd=cwd,
                               env=environment(directory, **variables))
    process.errors = errors
    return process


def with_user_directory(path, program, *arguments):
    """What start takes to run a program as a user whose LOCALAPPDATA is this
    path, or nothing: Wine sets it for what is started from Linux.  Variables
    are to have TRACER_BASE_DIRECTORY='', or it says where sessions go."""
    value = programs.windows_path(path) if path else ''
    return ('cmd', '/c', ' '.join(('set LOCALAPPDATA=%s&%s' % (value, program),
                                   *arguments)))


def exit_code(process):
    """The exit code of a program that start started, and that ends."""
    code = watch.wait(process)
    with process.errors as errors:
        errors.seek(0)
        return watch.ExitCode(code, errors.read())


def finish(process):
    """Waits for a program that start started: (exit code, standard output as
    text)."""
    try:
        text, _ = watch.communicate(process)
    except watch.Hangs:
        return None, 'did not end'
    return exit_code(process), decode(text)


def decode(data):
    return data.decode('utf-8', 'replace').replace('\r\n', '\n')


@watch.unless_wine_failed
def run(program, *arguments, directory=None, cwd=None, leaves=(), **variables):
    """leaves are other directories that it leaves something in."""
    return finish(start(program, *arguments, directory=directory, cwd=cwd,
                        **variables))


def has_ended(code, expected=0):
    """Whether a program that cannot be run again has ended as it should, or
    Wine took it down: whether its work was done, something else has to tell."""
    return code == expected or watch.is_wine_failure(code)


def sessions(directory):
    """The session directories in a directory."""
    if not os.path.isdir(directory):
        return []
    return sorted(os.path.join(directory, name)
                  for name in os.listdir(directory)
                  if os.path.isdir(os.path.join(directory, name)))


def stores(directory):
    """All store files below a directory."""
    return sorted(os.path.join(above, name)
                  for above, _, names in os.walk(directory)
                  for name in names if name.endswith('.trace'))


def wait_for(condition, seconds=300):
    """Waits until condition() gives something, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    return condition()


def is_mapped(*paths):
    """Whether another process still has one of these files, or one in these
    directories, mapped: a thread may write into it, even if the process that
    was waited for has ended."""
    wanted = [os.path.realpath(path) + end for path in paths
              for end in ('/', '\n')]
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            maps = watch.read('/proc/%s/maps' % name)
            if any(path in maps for path in wanted):
                return True
    return False


def wait_unmapped(*paths):
    """Waits until nothing writes into what is in these files or directories."""
    return wait_for(lambda: not is_mapped(*paths))


def put(view, offset, code, value):
    """Writes a field that others read meanwhile: struct clears it first."""
    with memoryview(view) as whole, \
            whole[offset:offset + struct.calcsize(code)] as field, \
            field.cast(code) as words:
        words[0] = value


def slots(path):
    """How many records a store that may be growing has room for so far; 0 of
    one that is still being created, or whose header is just changing."""
    try:
        return trace_reader.Store(path).number_of_slots
    except trace_reader.FormatError:
        return 0


class LiveStore:
    """A store that may be growing, read through a shared mapping."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, 'rb')
        self.map = None
        self.remap(0)

    def close(self):
        if self.map is not None:
            self.map.close()
            self.map = None
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def remap(self, end):
        """Maps the file again if it is needed up to end; False: too short."""
        while self.map is None or len(self.map) < max(end, HEADER_SIZE):
            size = os.fstat(self.file.fileno()).st_size
            if self.map is not None:
                self.map.close()
                self.map = None
            if size < HEADER_SIZE:
                break
            try:
                self.map = mmap.mmap(self.file.fileno(), size,
                                     access=mmap.ACCESS_READ)
                break
            except ValueError:
                # It has been cut since: its writer has closed it.
                continue
        return self.map is not None and len(self.map) >= end

    def get(self, offset, code='Q'):
        with memoryview(self.map) as view, \
                view[offset:offset + struct.calcsize(code)] as field, \
                field.cast(code) as words:
            return words[0]

    def is_ready(self):
        return self.remap(0) and self.map[:8] == b'TRCSTORE'

    def end(self):
        """Section 5 of Docs/Format.md; None if the view keeps changing."""
        for _ in range(1000):
            before = self.get(0x058, 'I')
            cursor, delta = self.get(0x040), self.get(0x050)
            view = self.get(0x068)
            if self.get(0x058, 'I') == before:
                end = view
                if not before & 1:
                    end = (cursor + delta) & trace_reader.LOW64
                # Positions of a compact store say nothing of its file.
                return end if self.is_compact() or self.remap(end) else None
        return None

    def is_compact(self):
        return self.get(0x1B0, 'I') == trace_reader.COMPACT

    def offset(self, position):
        """Where in the file a position is; in its raw ring if it is compact."""
        start, size = self.get(0x0B0), self.get(0x0B8)
        if self.is_compact() and position >= start:
            return start + (position - start) % size
        return position

    def record(self, position):
        """The 16 bytes there.  Not of the mapping: a compact store that is
        closed has its end cut off."""
        return os.pread(self.file.fileno(), RECORD_SIZE, self.offset(position))

    def records(self, first, end):
        """The whole records from a position on: (position, 16 bytes); of a
        compact store those that are not in blocks."""
        for position in range(first, end, RECORD_SIZE):
            record = self.record(position)
            if any(record[:8]) and not (self.is_compact() and
                                        position < self.get(0x0A8)):
                yield position, record

    def anchors(self):
        """The valid anchors: (qpc, tsc, system time)."""
        found = []
        for offset in (0x0E0, 0x100):
            tsc, qpc, now, check = struct.unpack_from('<4Q', self.map, offset)
            if tsc and tsc ^ qpc ^ now == check:
                found.append((qpc, tsc, now))
        return found


class Clock:
    """Section 7 of Docs/Format.md: the time of day of a time stamp."""

    def __init__(self, live_stores):
        anchors = sorted(anchor for store in live_stores
                         for anchor in store.anchors())
        first, last = anchors[0], anchors[-1]
        frequency = live_stores[0].get(0x0C0)
        self.qpc_apart = (last[0] - first[0]) / frequency
        self.rate = ((last[1] - first[1]) / self.qpc_apart
                     if self.qpc_apart else None)
        self.base = last

    def seconds_of(self, tsc):
        """Seconds since 1970."""
        return ((self.base[2] - FILETIME_OF_1970) / 1e7 +
                (tsc - self.base[1]) / self.rate)


def read_progress(path):
    """What Busy counted: (calls begun, calls finished, thread) per thread."""
    with open(path, 'rb') as file:
        data = file.read(64 * (BUSY_THREADS + 1))
    return [struct.unpack_from('<3Q', data, 64 * index)
            for index in range(BUSY_THREADS + 1)]


def has_reader():
    return os.path.exists(programs.READER)


def as_picture(form):
    """Options with which an export is what it is of a large session, too: of
    the page, the picture and not the viewer with the session in it."""
    return ('--embed', '0') if form == 'html' else ()


@watch.unless_silent
@watch.unless_wine_failed
def reader(*arguments):
    """Runs TraceReader: (exit code, standard output, standard error).

    Files, not pipes: a server that Wine starts and leaves running for a while
    would keep a pipe open.
    """
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        done = watch.run([programs.WINE, programs.READER, *arguments],
                         stdin=subprocess.DEVNULL, stdout=output,
                         stderr=errors, env=environment())
        output.seek(0)
        errors.seek(0)
        told = decode(errors.read())
        return watch.ExitCode(done.returncode, told), decode(output.read()), told


# What ctl says of an action that a module has not seen within ctl's second.
UNSEEN = re.compile(r'TraceReader: ctl: .*: action (\d+) \(\w+\) is written, '
                    r'but \d+ of \d+ modules have not seen it: .*\n')
CONTROL_FOLLOWS = 0x100


def control_instances(session):
    """The module instances in a control file: (actions seen, state) of each;
    none while it is still being made, after its directory."""
    try:
        with open(os.path.join(session, CONTROL_NAME), 'rb') as file:
            data = file.read(4096)
    except FileNotFoundError:
        return []
    if len(data) < 4096:
        return []
    return [(seen, state) for base, seen, state in
            (struct.unpack_from('<QII', data, 0x40 + 16 * index)
             for index in range(64)) if base]


def is_followed(session):
    """Whether each module instance has a worker that looks at the control
    file."""
    found = control_instances(session)
    return bool(found) and all(state & CONTROL_FOLLOWS for _, state in found)


def ctl(session, *words):
    """TraceReader ctl on a session: reader()'s result, and whether ctl was not
    heard within its second.

    On a machine that does other things the program may have had no processor in
    that second.  What was asked for holds all the same, and is waited for; the
    exit code is then 0, and there is no text.
    """
    code, text, errors = reader('ctl', programs.windows_path(session), *words)
    unseen = UNSEEN.fullmatch(errors)
    if code != 1 or text or unseen is None:
        return code, text, errors, False
    print('seen late: %s' % errors.strip())
    number = int(unseen.group(1))
    wait_for(lambda: all(seen > number or not state & CONTROL_FOLLOWS
                         for seen, state in control_instances(session)))
    return 0, '', '', True


def verify(path):
    """TraceReader verify: (exit code, file name -> row, all it wrote)."""
    code, text, errors = reader('verify', '--csv',
                                programs.windows_path(path))
    rows = {row['store']: row for row in csv.DictReader(io.StringIO(text))
            if row.get('result')}
    return code, rows, text + errors


def index_differences(session):
    """The times from which replay with an index shows something else."""
    if sum(map(os.path.getsize, stores(session))) > LARGEST_REPLAYED:
        return []
    path = programs.windows_path(session)
    whole = reader('replay', '--csv', '--no-index', path)
    rows = whole[1].splitlines()[1:]
    differences = []
    if reader('replay', '--csv', '--mark-every', '64', path) != whole:
        differences.append('all')
    for row in rows[len(rows) // 3], rows[len(rows) * 9 // 10]:
        options = ['--csv', '--from', row.split(',')[0], path]
        if reader('replay', '--no-index', *options) != reader(
                'replay', '--mark-every', '64', *options):
            differences.append(row)
    return differences


def report_differences(session):
    """The ways of reading in which TraceReader report says something else.

    The reader takes part in finding the rate of a short session's clock, so
    the stores are copied without their anchors: times are then in ticks.
    """
    with tempfile.TemporaryDirectory(dir=os.path.dirname(session)) as copy:
        for path in stores(session):
            with open(path, 'rb') as file:
                data = bytearray(file.read())
            data[0x0E0:0x120] = bytes(0x40)
            with open(os.path.join(copy, os.path.basename(path)), 'wb') as out:
                out.write(data)
        path = programs.windows_path(copy)
        expected = reader('report', '--csv', '--general', '--workers', '1',
                          path)
        return index_differences(copy) + [
            (way, said, expected)
            for way in ('1', '3')
            for said in [reader('report', '--csv', '--workers', way, path)]
            if said != expected or said[0] or 'ticks' not in said[1]]


def read_all(store):
    """Reads every record of a trace_reader.Store; returns their number."""
    return store.read_all()


ACTION_START, ACTION_STOP, ACTION_CLEAR, ACTION_MARK, ACTION_NAME = range(1, 6)
CONTROL_NAME = 'session.control'


def control_action(kind, timestamp, text=b'', thread=0, length=None):
    """One place of a control file; TraceStore/TraceFormat.h has its fields."""
    text = text.encode() if isinstance(text, str) else text
    return struct.pack('<IIQQII96s', kind, thread, timestamp,
                       133_000_000_000_000_000,
                       len(text) if length is None else length, 0, text[:96])


def write_control(session, actions, process=4242,
                  created=133_000_000_000_000_000, capacity=None,
                  claimed=None, version=(1, 3), magic=b'TRCONTRL'):
    """Writes the control file of a session: actions as control_action's
    arguments, bytes, or None for a place that was claimed and not written."""
    places = [item if isinstance(item, bytes) else
              bytes(128) if item is None else control_action(*item)
              for item in actions]
    if capacity is None:
        capacity = len(places) + 3
    header = bytearray(4096)
    struct.pack_into('<8sHHIQII', header, 0, magic, *version, process, created,
                     capacity, len(places) if claimed is None else claimed)
    path = os.path.join(session, CONTROL_NAME)
    with open(path, 'wb') as file:
        file.write(bytes(header) + b''.join(places) +
                   bytes(128 * max(0, capacity - len(places))))
    return path

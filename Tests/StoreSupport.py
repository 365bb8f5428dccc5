"""What the tests of running, killed and damaged stores have in common.

Stores are read here natively, through a mapping that the traced program
shares, with the protocol of Docs/Format.md and with trace_reader.py; and by
TraceReader.exe.
"""

import csv
import io
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             'Programs')]
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402

BUSY_THREADS = 4
BUSY_RECORDS = 16       # what one call of Outer leaves
BUSY_EXIT_CODE = 77

HEADER_SIZE, RECORD_SIZE = 4096, 16
LARGEST_REPLAYED = 0x400000     # bytes of a session
STATE_OPEN, STATE_CLOSED, STATE_STOPPED = 1, 2, 3

# 100 ns units between 1601 and 1970.
FILETIME_OF_1970 = 116444736000000000


def build_busy(folder):
    return programs.build(folder,
                          [os.path.join(programs.PROGRAMS, 'Busy.c')],
                          programs.PENTER_FLAGS, 'Busy.exe',
                          [programs.LIBRARY])


def environment(directory=None, **variables):
    """The environment for a traced program; directory is a native path."""
    result = {name: value for name, value in os.environ.items()
              if not name.startswith('TRACER_') or
              name == 'TRACER_WINE_PREFIX'}
    if directory is not None:
        result['TRACER_DIRECTORY'] = programs.windows_path(directory)
    result.update(variables)
    return result


def start(program, *arguments, directory=None, cwd=None, **variables):
    """Starts a traced program."""
    return subprocess.Popen([programs.WINE, program, *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, cwd=cwd,
                            env=environment(directory, **variables))


def finish(process, timeout=100):
    """Waits for a program: (exit code, standard output as text)."""
    try:
        text, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, 'did not end'
    return process.returncode, decode(text)


def decode(data):
    return data.decode('utf-8', 'replace').replace('\r\n', '\n')


def run(program, *arguments, directory=None, cwd=None, **variables):
    return finish(start(program, *arguments, directory=directory, cwd=cwd,
                        **variables))


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


def wait_for(condition, seconds=30):
    """Waits until condition() gives something, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    return condition()


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
        if self.map is None or len(self.map) < max(end, HEADER_SIZE):
            size = os.fstat(self.file.fileno()).st_size
            if self.map is not None:
                self.map.close()
                self.map = None
            if size >= HEADER_SIZE:
                self.map = mmap.mmap(self.file.fileno(), size,
                                     access=mmap.ACCESS_READ)
        return self.map is not None and len(self.map) >= end

    def get(self, offset, code='Q'):
        return struct.unpack_from('<' + code, self.map, offset)[0]

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
                return end if self.remap(end) else None
        return None

    def records(self, first, end):
        """The whole records from offset first on: (offset, 16 bytes)."""
        for offset in range(first, end, RECORD_SIZE):
            if any(self.map[offset:offset + 8]):
                yield offset, self.map[offset:offset + RECORD_SIZE]

    def newest(self):
        """The timestamp of the newest whole record, or None."""
        end = self.end()
        if end is None:
            return None
        for offset in (end - 16, end - 32):
            if offset >= HEADER_SIZE and self.get(offset):
                return self.get(offset)
        return None

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


def reader(*arguments, timeout=100):
    """Runs TraceReader: (exit code, standard output, standard error).

    Files, not pipes: a server that Wine starts and leaves running for a while
    would keep a pipe open.  Where Wine takes down a program that starts or
    ends (ThreadSupport.py says how that looks), it is run once more.
    """
    for attempt in range(3):
        with tempfile.TemporaryFile() as output, \
                tempfile.TemporaryFile() as errors:
            done = subprocess.run([programs.WINE, programs.READER, *arguments],
                                  stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=errors, timeout=timeout,
                                  env=environment())
            output.seek(0)
            errors.seek(0)
            outcome = (done.returncode, decode(output.read()),
                       decode(errors.read()))
        if outcome[0] != 1 or outcome[1] or \
                'wine client error' not in outcome[2]:
            break
        print('Wine failed, attempt %d: TraceReader %s: %r' %
              (attempt + 1, arguments, outcome[2][-200:]))
    return outcome


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
    for _ in store.records():
        pass
    return store.number_of_records


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

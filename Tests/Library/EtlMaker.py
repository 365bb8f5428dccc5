"""Event trace logs (.etl), made up from a schedule: who ran when, and where.

Layouts are written here from their documentation, not from the reader's
headers:

- TRACE_LOGFILE_HEADER, EVENT_HEADER, EVENT_TRACE_HEADER: evntrace.h and
  evntcons.h in Microsoft's SDK reference; the classes CSwitch (36), ReadyThread
  (50), SampledProfile (46), Thread_V2_TypeGroup1 (1 to 4): win32/etw.
- WMI_BUFFER_HEADER, headers by type, flags of buffers: ntwmi.h of phnt.
- Compression: [MS-XCA], 2.3 and 2.4 (plain LZ77).
"""

import struct

HOOK_SWITCH, HOOK_READY, HOOK_SAMPLE = 0x0524, 0x0532, 0x0F2E
HOOK_START, HOOK_END, HOOK_DC_START, HOOK_DC_END = (0x0501, 0x0502, 0x0503,
                                                    0x0504)
THREAD = bytes.fromhex('d16fa83dfe05d0119dda00c04fd7ba7c')
PROCESS = bytes.fromhex('d06fa83dfe05d0119dda00c04fd7ba7c')
PERFINFO = bytes.fromhex('b4df1dce7e13a64d87b03f59aa102cbc')

READY, RUNNING, TERMINATED, WAITING, GATE = 1, 2, 4, 5, 8
REASON_DELAY, REASON_USER, REASON_QUEUE, REASON_QUANTUM = 4, 6, 15, 30

LOST_EVENTS, LOST_BUFFER, INDEX, COMPRESSED = 2, 4, 0x20, 0x40
MODE_COMPRESSED, MODE_SHARED = 0x04000000, 0x10000000


def lz77(data):
    """Compressed as [MS-XCA] has it: greedy, one candidate a position."""
    output, flags, count, half = bytearray(4), 0, 0, None
    place, position, seen = 0, 0, {}

    def flag(bit):
        nonlocal flags, count, place
        flags, count = flags << 1 | bit, count + 1
        if count == 32:
            struct.pack_into('<I', output, place, flags)
            flags, count, place = 0, 0, len(output)
            output.extend(bytes(4))

    def number(size, value):
        output.extend(value.to_bytes(size, 'little'))

    while position < len(data):
        key = data[position:position + 3]
        found = seen.get(key) if len(key) == 3 else None
        seen[key] = position
        length = 0
        if found is not None and position - found <= 8192:
            while (position + length < len(data) and
                   data[found + length] == data[position + length]):
                length += 1
        if length < 3:
            output.append(data[position])
            flag(0)
            position += 1
            continue
        rest = length - 3
        number(2, (position - found - 1) << 3 | min(rest, 7))
        if rest >= 7:
            low = min(rest - 7, 15)
            if half is None:
                half = len(output)
                output.append(low)
            else:
                output[half] |= low << 4
                half = None
            if low == 15:
                number(1, min(rest - 22, 255))
                if rest - 22 >= 255:
                    if rest < 0x10000:
                        number(2, rest)
                    else:
                        number(2, 0)
                        number(4, rest)
        flag(1)
        position += length
    flags = flags << (32 - count) | (1 << (32 - count)) - 1
    struct.pack_into('<I', output, place, flags)
    return bytes(output)


class Log:
    """A log.  Times are on its clock; header says which header events have:
    perfinfo, system, compact, event, full, or counters (perfinfo with two
    counters).  buffer: bytes."""

    def __init__(self, processors=2, clock=1, frequency=10 ** 7, pointer=8,
                 buffer=4096, version=4, header='perfinfo', method=0, mode=0,
                 start=1000, start_time=133_000_000_000_000_000,
                 events_lost=0, buffers_lost=0, index=True):
        self.__dict__.update(locals())
        self.events = [[] for _ in range(processors)]

    def add(self, cpu, time, hook, data, version=2, thread=0, process=0,
            header=None):
        header, wide = header or self.header, self.pointer == 8
        flags = 0xC0
        if header in ('perfinfo', 'counters'):
            more = 2 if header == 'counters' else 0
            event = struct.pack('<HBBHHQ', version | more << 8, 16 + wide,
                                flags, 16 + 8 * more + len(data), hook, time)
            event += bytes(range(8 * more))
        elif header in ('system', 'compact'):
            size = 32 if header == 'system' else 24
            event = struct.pack('<HBBHHIIQII', version,
                                (1 if header == 'system' else 3) + wide, flags,
                                size + len(data), hook, thread, process, time,
                                7, 9)[:size]
        else:
            guid = {5: THREAD, 3: PROCESS}.get(hook >> 8, PERFINFO)
            if header == 'full':
                event = struct.pack('<HBBBBHIIQ16sQ', 48 + len(data),
                                    20 if wide else 10, flags, hook & 0xFF, 0,
                                    version, thread, process, time, guid, 0)
            else:
                event = struct.pack('<HBBHHIIQ16sHBBBBHQQ16s', 80 + len(data),
                                    18 + wide, flags, 0x40, 0, thread, process,
                                    time, guid, 0, version, 0, 0, hook & 0xFF,
                                    0, 0, 0, bytes(16))
        event += data
        event += bytes(-len(event) % 8)
        self.events[cpu].append((time, event))

    def switch(self, cpu, time, new, old, state, reason=0):
        data = struct.pack('<IIbbBbBBBBII', new, old, 8, 8, 1, 0, reason, 1,
                           state, cpu & 0xFF, 3, 0xEE)
        data += struct.pack('<I', 8) if self.version >= 5 else b''
        self.add(cpu, time, HOOK_SWITCH, data, self.version, old)

    def ready(self, cpu, time, thread, flags=0, by=0):
        self.add(cpu, time, HOOK_READY,
                 struct.pack('<IBBBB', thread, 1, 2, flags, 0),
                 min(self.version, 4), by)

    def sample(self, cpu, time, thread, address=0x401000):
        code = 'Q' if self.pointer == 8 else 'I'
        self.add(cpu, time, HOOK_SAMPLE,
                 struct.pack('<' + code + 'IHH', address & 0xFFFFFFFF, thread,
                             1, 0), 2, thread)

    def thread(self, cpu, time, thread, process, hook=HOOK_DC_START):
        pointers = struct.pack('<7' + ('Q' if self.pointer == 8 else 'I'),
                               *range(7))
        self.add(cpu, time, hook, struct.pack('<II', process, thread) +
                 pointers + bytes(8), 3, thread, process)

    def named(self, cpu, time, process, name, version=4, user=3,
              hook=0x0303):
        """A process with a name; user: parts of its SID, or None."""
        wide = self.pointer == 8
        data = struct.pack('<QIIIi' if wide else '<IIIIi', 0xFFFF8000,
                           process, 4, 1, 0)
        data += struct.pack('<Q' if wide else '<I', 5) if version > 2 else b''
        data += struct.pack('<I', 0) if version > 3 else b''
        if user is None:
            data += bytes(4)
        else:
            data += struct.pack('<QQ' if wide else '<II', 0x1234, 0)
            data += struct.pack('<BB6B', 1, user, 0, 0, 0, 0, 0, 5)
            data += struct.pack('<%dI' % user, *range(9, 9 + user))
        data += name.encode() + b'\0' + 'cmd\0'.encode('utf-16le')
        self.add(cpu, time, hook, data, version, 0, process)

    def noise(self, cpu, time):
        """Events of other kinds: a message, and one of another provider."""
        self.events[cpu].append(
            (time, struct.pack('<HBBHHQ', 16, 0, 0x90, 1, 2, time)))
        self.add(cpu, time, 0x0150, b'12345678901', 2)

    def wrap(self, cpu, events, sequence, flags=0, kind=0, state=3):
        used = 0x48 + len(events)
        size = self.buffer
        data = events + b'\xFF' * (size - used)
        if flags & COMPRESSED:
            data = lz77(events)
            size = 0x48 + len(data)
        context = (cpu, 2)
        if self.index:
            flags |= INDEX
        return struct.pack('<IIIIQQQHHIIHHQQ', size, used, used, 0, 77,
                           sequence, self.frequency << 3 | self.clock,
                           *context, state, used, flags, kind, 0, 0) + data

    def log_header(self, written):
        names = struct.pack('<2' + ('Q' if self.pointer == 8 else 'I'), 0, 0)
        data = struct.pack('<IIIIQIIIIIIII', self.buffer, 0x0000000A, 19045,
                           self.processors,
                           self.start_time + 10 ** 7, 156250, 0, self.mode |
                           (MODE_COMPRESSED if self.method else 0), written, 1,
                           self.pointer, self.events_lost, 3000)
        data += names + bytes(172)
        data += bytes(-len(data) % 8)
        data += struct.pack('<QQQII', self.start_time - 10 ** 9,
                            self.frequency, self.start_time, self.clock,
                            self.buffers_lost)
        data += 'Logger\0file.etl\0'.encode('utf-16le')
        data += bytes(-len(data) % 8)
        return struct.pack('<HBBHHIIQII', 2, 2 if self.pointer == 8 else 1,
                           0xC0, 32 + len(data), 0, 0, 0, self.start, 0,
                           0) + data

    def parts(self):
        """[(processor, first time, last time, events' bytes)] by the time when
        each is full."""
        result = []
        for cpu, events in enumerate(self.events):
            events = sorted(events, key=lambda event: event[0])
            data, first, last = b'', None, None
            for time, event in events:
                if data and len(data) + len(event) > self.buffer - 0x48:
                    result.append((last, cpu, first, data))
                    data, first = b'', None
                first = time if first is None else first
                data, last = data + event, time
            if data:
                result.append((last, cpu, first, data))
        result.sort(key=lambda part: part[:2])
        return [(cpu, first, last, data) for last, cpu, first, data in result]

    def build(self, lost=(), flagged=(), turn=0, cut=0, tail=b'',
              written=None):
        """The file.  lost: indexes of parts that are not in it; flagged: of
        those that say that something was lost; turn: how many parts come in
        front of the others, as in a circular log; cut: bytes that its end
        lacks."""
        parts = self.parts()
        buffers = []
        for number, (cpu, _, _, data) in enumerate(parts):
            flags = COMPRESSED if self.method else 0
            flags |= LOST_EVENTS if number in flagged else 0
            if number not in lost:
                buffers.append(self.wrap(cpu, data, number + 2, flags))
        buffers = buffers[len(buffers) - turn:] + buffers[:len(buffers) - turn]
        first = self.wrap(0, self.log_header(
            len(buffers) + 1 if written is None else written), 1, 0, 4,
            self.method or 3)
        data = first + b''.join(buffers) + tail
        return data[:len(data) - cut]


class Schedule:
    """Threads on processors, at random, and what is true of each: spans of
    (start, end, state, reason, by, by an interrupt)."""

    def __init__(self, log, random, threads, events, step=1000, samples=True,
                 first=None, processes=None):
        self.log, self.random = log, random
        self.time = log.start + 100 if first is None else first
        self.state = {thread: ('waiting', REASON_USER) for thread in threads}
        self.since = {thread: None for thread in threads}
        self.spans = {thread: [] for thread in threads}
        self.samples = {thread: [] for thread in threads}
        self.running = [0] * log.processors
        self.known = set() if log.header in ('perfinfo', 'counters') else \
            set(range(log.processors))     # whose threads the log tells
        self.begin = None
        for thread in threads:
            if processes:
                log.thread(0, log.start + 1, thread, processes[thread])
        for _ in range(events):
            self.time += random.randrange(1, step)
            self.event(samples)
        self.end = max(time for events in log.events for time, _ in events)
        for thread in threads:
            self.close(thread, self.end, None, False)

    def close(self, thread, time, by, interrupt):
        state, reason = self.state[thread][:2]
        start = self.since[thread]
        if start is not None and start < time:
            self.spans[thread].append((start, time, state, reason, by,
                                       interrupt))
        self.since[thread] = time

    def change(self, thread, state, reason=0, by=None, interrupt=False):
        if thread:
            self.close(thread, self.time, by, interrupt)
            self.state[thread] = state, reason

    def dispatch(self, cpu, state, reason):
        """The thread that runs there stops; another one, or none, runs."""
        old = self.running[cpu]
        ready = sorted(thread for thread in self.state
                       if self.state[thread][0] == 'ready' and thread != old)
        new = self.random.choice(ready) if ready else 0
        if new == 0 and old == 0:
            return
        self.log.switch(cpu, self.time, new, old, state if old else RUNNING,
                        reason if old else 0)
        self.change(old, 'waiting' if state == WAITING else 'ready',
                    reason if state == WAITING else 0)
        self.change(new, 'running')
        self.running[cpu] = new
        self.known.add(cpu)

    def event(self, samples):
        random, cpu = self.random, self.random.randrange(self.log.processors)
        kind = random.random()
        if kind < 0.45:
            waiting = sorted(thread for thread in self.state
                             if self.state[thread][0] == 'waiting')
            if not waiting:
                return
            thread, by = random.choice(waiting), self.running[cpu]
            interrupt = random.random() < 0.3
            self.log.ready(cpu, self.time, thread, 1 if interrupt else 0, by)
            by = by if cpu in self.known else None
            self.change(thread, 'ready', 0, by, interrupt or by == 0)
            if random.random() < 0.5:
                self.time += 1
                idle = [cpu for cpu, thread in enumerate(self.running)
                        if not thread]
                if idle:
                    self.dispatch(random.choice(idle), READY, 0)
        elif kind < 0.75:
            self.dispatch(cpu, WAITING, random.choice(
                (REASON_DELAY, REASON_USER, REASON_QUEUE, 37)))
        elif kind < 0.9:
            self.dispatch(cpu, READY, REASON_QUANTUM)
        elif samples and self.running[cpu]:
            self.log.sample(cpu, self.time, self.running[cpu])
            self.samples[self.running[cpu]].append(self.time)
        else:
            self.log.noise(cpu, self.time)

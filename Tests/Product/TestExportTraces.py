#!/usr/bin/env python3
"""export: Perfetto's and Fuchsia's trace files hold every call.

protoc decodes the first, with the numbers of the public messages
(PerfettoTrace.proto); the second are read here, by the rules of the public
description of the format, which allow nothing that is not in them.  What the
files of made-up sessions must hold comes from trace_reader.py, of a traced one
from replay and report.
"""

import os
import random
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import EventSupport as events                                # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

PROTO = os.path.join(programs.ROOT, 'Tests', 'Library', 'PerfettoTrace.proto')

MARKS = {'begun_before', 'continued', 'abandoned', 'unfinished'}
BEGIN, END, CLEARED, NEEDED = 1, 2, 1, 2


class FormatError(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise FormatError(what)


#
# Perfetto.
#

def unquote(text):
    """A string of protoc's text format: octal and other escapes of bytes."""
    data = bytearray()
    for each in re.finditer(r'\\([0-7]{3})|\\(.)|([^\\]+)', text):
        octal, simple, plain = each.groups()
        if octal:
            data.append(int(octal, 8))
        elif simple:
            data += {'n': '\n', 'r': '\r', 't': '\t'}.get(simple,
                                                          simple).encode()
        else:
            data += plain.encode()
    return data.decode()


def parse_text(lines):
    """protoc's text format: a message is a dictionary of lists."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == '}':
            return message
        name, value = line.split(' ', 1)
        if value == '{':
            value = parse_text(lines)
        elif value[0] == '"':
            value = unquote(value[1:-1])
        elif value.lstrip('-').isdigit():
            value = int(value)
        message.setdefault(name.rstrip(':'), []).append(value)
    return message


def decode(path):
    with open(path, 'rb') as file:
        done = support.watch.run(
            ['protoc', '--decode=Trace', '-I', os.path.dirname(PROTO),
             os.path.basename(PROTO)], stdin=file, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
    expect(done.returncode == 0, done.stderr.decode())
    return parse_text(iter(done.stdout.decode().splitlines()))


def one(message, name, default=None):
    values = message.pop(name, [default])
    expect(len(values) == 1, '%s: %d of them' % (name, len(values)))
    return values[0]


def check_descriptor(message, uuids):
    """Adds a track; returns its name."""
    uuid, parent = one(message, 'uuid'), one(message, 'parent_uuid')
    expect(uuid and uuid not in uuids, 'uuid %s' % uuid)
    process, thread = one(message, 'process'), one(message, 'thread')
    if process is not None:
        expect(parent is None and thread is None and not message and
               set(process) == {'pid', 'process_name'}, 'a process')
        uuids[uuid] = None
        uuids['pid', uuid], = process['pid']
        return
    expect(parent in uuids and uuids[parent] is None, 'parent %s' % parent)
    if thread is not None:
        expect(set(thread) == {'pid', 'tid', 'thread_name'}, 'a thread')
        name, = thread['thread_name']
    else:
        name = one(message, 'name')
    expect(name not in uuids.values() and not message, 'track %s' % name)
    uuids[uuid] = name


def check_event(event, names, uuids):
    """(kind, name, mark, track) of a TrackEvent."""
    kind = one(event, 'type')
    track = uuids[one(event, 'track_uuid')]
    mark = one(event, 'debug_annotations')
    if mark is not None:
        expect(mark['bool_value'] == ['true'] and set(mark) ==
               {'bool_value', 'name'}, 'a mark: %s' % mark)
        mark, = mark['name']
        expect(mark in MARKS, mark)
    name = None
    if kind == 'TYPE_SLICE_BEGIN':
        name = names['event_names'][one(event, 'name_iid')]
        expect(one(event, 'category_iids') in names['event_categories'],
               'a category')
    else:
        expect(kind == 'TYPE_SLICE_END', kind)
    expect(not event, 'more in an event: %s' % event)
    return 'BE'[kind == 'TYPE_SLICE_END'], name, mark, track


def check_instant(event, uuids):
    """(track, name, category) of a TrackEvent; the process's track is None,
    where there are several 'Process 12'."""
    one(event, 'type')
    uuid = one(event, 'track_uuid')
    expect(uuid in uuids, 'an instant on track %s' % uuid)
    track = uuids[uuid]
    if track is None and list(uuids.values()).count(None) > 1:
        track = 'Process %d' % uuids['pid', uuid]
    found = track, one(event, 'name'), one(event, 'categories')
    expect(not event, 'more in an instant: %s' % event)
    return found


def read_perfetto(path, instants=None):
    """The events by track.  instants receives (track, name, category, time);
    without it, there may be none."""
    names = {'event_names': {}, 'event_categories': {}}
    uuids, tracks, stacks = {}, {}, {}
    packets = decode(path)
    expect(set(packets) == {'packet'}, 'only packets')
    for number, packet in enumerate(packets['packet']):
        expect(one(packet, 'trusted_packet_sequence_id') == 1, 'the sequence')
        flags = one(packet, 'sequence_flags')
        expect(flags == (NEEDED if number else CLEARED), 'the flags')
        expect((one(packet, 'first_packet_on_sequence') == 'true') ==
               (number == 0), 'the first packet')
        interned = one(packet, 'interned_data', {})
        for kind, entries in interned.items():
            for entry in entries:
                identifier, name = one(entry, 'iid'), one(entry, 'name')
                expect(identifier and identifier not in names[kind] and
                       name is not None and not entry, 'what is interned')
                names[kind][identifier] = name
        descriptor = one(packet, 'track_descriptor')
        if descriptor is not None:
            check_descriptor(descriptor, uuids)
        event, time = one(packet, 'track_event'), one(packet, 'timestamp')
        expect((event is None) == (time is None), 'a time without an event')
        if (event is not None and instants is not None and
                event['type'] == ['TYPE_INSTANT']):
            instants.append((*check_instant(event, uuids), time))
        elif event is not None:
            kind, name, mark, track = check_event(event, names, uuids)
            stack = stacks.setdefault(track, [])
            if kind == 'B':
                stack.append(name)
            else:
                expect(stack, 'an end without a beginning')
                name = stack.pop()
            tracks.setdefault(track, []).append((kind, name, time, mark))
        expect(not packet, 'more in a packet: %s' % packet)
    return tracks


#
# Fuchsia.
#

def field(word, first, last):
    return word >> first & (1 << last - first + 1) - 1


class Fxt:
    """A file in Fuchsia's trace format, read record by record."""

    def __init__(self, data, instants=None):
        self.instants = instants
        expect(len(data) % 8 == 0, 'not whole words')
        self.words = struct.unpack('<%dQ' % (len(data) // 8), data)
        self.data, self.at = data, 0
        self.strings, self.threads, self.names = {0: ''}, {}, {}
        self.provider, self.ticks, self.tracks = None, None, {}
        self.callers = {}               # calls by (module that called, name)
        expect(self.words and self.words[0] == 0x0016547846040010, 'the magic')

    def word(self):
        expect(self.at < self.end, 'a record that is too short')
        self.at += 1
        return self.words[self.at - 1]

    def text(self, length):
        begin = self.at * 8
        self.at += (length + 7) // 8
        expect(self.at <= self.end, 'a text that is too long')
        expect(not any(self.data[begin + length:self.at * 8]), 'the padding')
        return self.data[begin:begin + length].decode()

    def string(self, reference):
        if reference & 0x8000:
            return self.text(reference & 0x7FFF)
        expect(reference in self.strings, 'string %d' % reference)
        return self.strings[reference]

    def arguments(self, count):
        found = {}
        for _ in range(count):
            begin, header = self.at, self.word()
            kind, size = field(header, 0, 3), field(header, 4, 15)
            name = self.string(field(header, 16, 31))
            if kind == 2:
                found[name] = field(header, 32, 63)
            elif kind == 6:
                found[name] = self.string(field(header, 32, 47))
                expect(field(header, 48, 63) == 0, 'a text')
            else:
                expect(kind == 8 and field(header, 32, 63) == 0,
                       'an argument of kind %d' % kind)
                found[name] = self.word()
            expect(self.at == begin + size, 'the size of an argument')
        return found

    def read(self):
        while self.at < len(self.words):
            header = self.words[self.at]
            begin, size = self.at, field(header, 4, 15)
            self.end = begin + size
            expect(size and self.end <= len(self.words), 'the size of a record')
            self.at += 1
            kind = field(header, 0, 3)
            expect(kind == 0 or self.provider is not None, 'no provider')
            reader = {0: self.metadata, 1: self.initialization,
                      2: self.add_string, 3: self.add_thread, 4: self.event,
                      7: self.object}.get(kind)
            expect(reader, 'a record of kind %d' % kind)
            reader(header)
            expect(self.at == self.end, 'the size of a record of kind %d' %
                   kind)
        return self.tracks

    def metadata(self, header):
        kind = field(header, 16, 19)
        if kind == 1:
            self.provider_known = field(header, 20, 51)
            expect(self.text(field(header, 52, 59)) and
                   field(header, 60, 63) == 0, 'a provider')
        elif kind == 2:
            self.provider = field(header, 20, 51)
            expect(self.provider == self.provider_known and
                   field(header, 52, 63) == 0, 'a section')
        else:
            expect(kind == 4 and self.at == 1, 'metadata of kind %d' % kind)

    def initialization(self, header):
        expect(field(header, 16, 63) == 0, 'initialization')
        self.ticks = self.word()
        expect(self.ticks == 10 ** 9, 'ticks')

    def add_string(self, header):
        index, length = field(header, 16, 30), field(header, 32, 46)
        expect(index and not field(header, 31, 31) and
               not field(header, 47, 63) and length <= 32000, 'a string')
        self.strings[index] = self.text(length)

    def add_thread(self, header):
        index = field(header, 16, 23)
        expect(index and not field(header, 24, 63), 'a thread')
        self.threads[index] = self.word(), self.word()

    def object(self, header):
        kind, count = field(header, 16, 23), field(header, 40, 43)
        expect(field(header, 44, 63) == 0, 'an object')
        koid = self.word()
        name = self.string(field(header, 24, 39))
        arguments = self.arguments(count)
        expect((kind, set(arguments)) in ((1, set()), (2, {'process'})),
               'an object of kind %d' % kind)
        if kind == 2:
            expect(koid not in {known for _, known in self.names},
                   'a thread twice')
            if name == 'Session' and name in self.names.values():
                name = 'Session of process %d' % arguments['process']
            expect(name not in self.names.values(), 'a name twice')
            self.names[arguments['process'], koid] = name

    def event(self, header):
        kind = field(header, 16, 19)
        time = self.word()
        thread = field(header, 24, 31)
        if self.instants is not None and kind == 0 and thread == 0:
            track = self.names.get((self.word(), self.word()))
            category = self.string(field(header, 32, 47))
            name = self.string(field(header, 48, 63))
            expect(track and category and not field(header, 20, 23),
                   'an instant')
            self.instants.append((track, name, category, time))
            return
        expect(thread in self.threads, 'thread %d' % thread)
        category = self.string(field(header, 32, 47))
        name = self.string(field(header, 48, 63))
        marks = self.arguments(field(header, 20, 23))
        caller = marks.pop('caller_module', None)
        expect(kind == 2 or caller is None, 'a caller at an end')
        if kind == 2:
            self.callers[caller, name] = self.callers.get(
                (caller, name), 0) + 1
        expect(kind in (2, 3) and category and len(marks) < 2 and
               set(marks) <= MARKS and set(marks.values()) <= {1}, 'an event')
        self.tracks.setdefault(self.names[self.threads[thread]], []).append(
            ('BE'[kind - 2], name, time, next(iter(marks), None)))


def read_fxt(path, instants=None):
    with open(path, 'rb') as file:
        return Fxt(file.read(), instants).read()


READ = {'perfetto': read_perfetto, 'fxt': read_fxt}


#
# The checks.
#

def check_formats(results, scratch, session, forms):
    exporter = events.Exporter(results, scratch, session, 'made-up')
    tracks, records = events.read_events(session)
    for form in forms:
        read = READ[form]
        path, found = events.check_made_up(exporter, tracks, records, form,
                                           read)
        name = max(found, key=lambda each: len(found[each]))
        del found[name][len(found[name]) // 2]
        results.check(events.differences(found, tracks),
                      'control: %s, an event less' % form)

        #
        # Controls: files that are not whole, or not what they should be.
        #

        with open(path, 'rb') as file:
            data = file.read()
        damaged = path + '.bad'
        for what, bad in (('half', data[:len(data) // 2 - 3]),
                          ('a byte more', data + b'\x08'),
                          ('a byte less', data[1:]),
                          ('a number that is not in it', data +
                           (b'\x0a\x02\x98\x01' if form == 'perfetto' else
                            struct.pack('<Q', 0x15)))):
            with open(damaged, 'wb') as file:
                file.write(bad)
            try:
                wrong = events.differences(read(damaged), tracks)
            except (FormatError, KeyError, ValueError) as error:
                wrong = error
            results.check(wrong, 'control: %s, %s' % (form, what))


def check_tables(results, scratch, forms):
    """More functions and threads than the tables of a file hold."""
    numbers = random.Random(5)
    names = ['Function%d' % number for number in range(34000)]
    time, records = 1000, []
    top = events.made.TOP - 0x100
    for function in [*range(len(names)), *range(40),
                     *(numbers.randrange(len(names)) for _ in range(200))]:
        rva = events.filters.FIRST + function * events.filters.STEP
        records += [(time, rva, top, events.made.ENTER),
                    (time + 3, rva + 9, top, events.made.EXIT)]
        time += 10
    session = events.filters.make_session(os.path.join(scratch, 'many'),
                                          names, [records])
    expected = [(kind, names[(record[1] - events.filters.FIRST) //
                             events.filters.STEP], record[0] - 1000, None)
                for kind, record in zip('BE' * (len(records) // 2), records)]
    exporter = events.Exporter(results, scratch, session, 'many functions')
    for form in forms:
        (path,), _ = exporter.export(form)
        results.check(READ[form](path) == {'Thread 1': expected},
                      '%s: many functions' % form)

    threads = [events.random_records(numbers, 20, 1000 + thread,
                                     functions=range(4))
               for thread in range(300)]
    session = events.make_session(os.path.join(scratch, 'threads'), threads)
    tracks, _ = events.read_events(session)
    exporter = events.Exporter(results, scratch, session, 'many threads')
    for form in forms:
        (path,), _ = exporter.export(form)
        wrong = events.differences(READ[form](path), tracks)
        results.check(len(tracks) == 300 and not wrong,
                      '%s: many threads' % form, wrong)


def check_traced(results, scratch, forms):
    """A traced program, against replay and report."""
    busy = support.build_busy(os.path.join(scratch, 'busy-build'))
    directory = os.path.join(scratch, 'busy')
    os.makedirs(directory)
    done = support.run(busy, 'run', '2', '100', programs.PAUSE,
                       directory=directory)
    sessions = support.sessions(directory)
    if not results.check(done[0] == 0 and len(sessions) == 1, 'tracing',
                         [done]):
        return
    session = events.without_anchors(sessions[0],
                                     os.path.join(scratch, 'ticks'))
    exporter = events.Exporter(results, scratch, session, 'busy')
    tracks = events.replayed(exporter.json('replay')['events'])
    reported = {row['function']: [row['calls'], row['total_ticks'],
                                  row['self_ticks']]
                for row in exporter.json('report')['functions']}
    for form in forms:
        (path,), _ = exporter.export(form)
        found = {re.sub(r' \(.*\)', '', track): each
                 for track, each in READ[form](path).items()}
        wrong = events.differences(found, tracks)
        results.check(not wrong, 'busy: %s and replay' % form, wrong)
        results.equal(events.weights(found), reported,
                      'busy: %s and report' % form)
        found[min(found)].pop()
        try:
            differs = events.weights(found) != reported
        except ValueError:
            differs = True
        results.check(differs, 'control: %s, busy, an event less' % form)
        with open(path, 'rb') as file:
            results.check(b'(times are ticks)' in file.read(),
                          '%s: says ticks' % form)


def main():
    results = programs.Results()
    if not support.has_reader():
        results.skip('there is no TraceReader')
        return results.finish()
    forms = ['fxt']
    if shutil.which('protoc'):
        forms.append('perfetto')
    else:
        results.skip('there is no protoc')
    numbers = random.Random(12)
    with programs.Scratch() as scratch:
        session = events.make_session(os.path.join(scratch, 'made'), [
            events.random_records(numbers, 4000, 1000 + 50 * thread,
                                  fibers=3 * (thread == 1))
            for thread in range(3)])
        check_formats(results, scratch, session, forms)
        events.check_times(results, scratch,
                           {form: (READ[form], True) for form in forms})
        check_tables(results, scratch, forms)
        check_traced(results, scratch, forms)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

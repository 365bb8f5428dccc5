#!/usr/bin/env python3
"""What the viewer has added up of a session is kept, by its page and by
TraceReader: who opens the session again reads no records for it, and sees the
same.  What is damaged, or is of other stores, is as none.

In node; TestViewer.py has the browser's database.
"""
# Takes long.

import csv
import io
import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import CompactStores as compact                              # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestViewEngine as engine                              # noqa: E402
from StoreSupport import programs                            # noqa: E402

RECORD = 16
HEADER = 4096


def looks(session, numbers):
    """Pictures of everything and of parts, of all threads; and sums."""
    length = session.last - session.first
    steps = [{'op': 'query', 'thread': thread, 'begin': begin, 'end': end,
              'pixels': pixels}
             for thread in range(len(session.threads))
             for begin, end, pixels in [(0, length + 1, 64),
                                        (0, length + 1, 1500)] +
             [(*where, 900) for where in engine.places(numbers, session)[:3]]]
    return steps + [{'op': 'sums', 'begin': 0, 'end': length}]


def open_(results, path, steps, **more):
    """(what it cost, the answers, the session)"""
    answer, = engine.ask(results, request(path, steps, **more))
    return taken(results, answer)


def request(path, steps, **more):
    return {'path': path, 'steps': [{'op': 'pass'}, {'op': 'cost'}, *steps],
            **more}


def taken(results, answer):
    if not results.check('session' in answer, 'opens', [answer.get('error')]):
        return {'bytesRead': -1, 'restored': []}, [], {}

    # Functions have no order of their own: workers meet them when they do.
    answers = answer['results'][2:]
    for one in answers:
        if 'functions' in one:
            one['functions'].sort(key=lambda row: row['function'])
    return answer['results'][1], answers, answer['session']


def size_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name))
               for name in os.listdir(folder) if name.endswith('.trace'))


def check_page(results, scratch, session, numbers):
    """The page's own."""
    steps = looks(session, numbers)
    other = os.path.join(scratch, 'changed')
    shutil.copytree(session.folder, other)
    name = sorted(each for each in os.listdir(other)
                  if each.endswith('.trace'))[0]
    with open(os.path.join(other, name), 'r+b') as file:
        file.seek(0, 2)
        file.truncate(file.tell() - 10 * RECORD)
    answers = engine.ask(
        results, request(session.folder, steps),
        request(session.folder, steps, keeper='k'),
        request(session.folder, steps, keeper='k'),
        request(other, steps, keeper='k'), request(other, steps),
        request(session.folder, steps, keeper='k', workers=1))
    (_, right, _), first, second, changed, anew, alone = [
        taken(results, answer) for answer in answers]
    threads = len(session.threads)
    results.equal(first[0]['restored'], [False] * threads, 'page: nothing yet')
    results.check(first[0]['bytesRead'] >= size_of(session.folder) * 0.9,
                  'page: all is read first', [first[0]])
    for text, one in (('again', second), ('by one worker', alone)):
        results.equal(one[0]['restored'], [True] * threads, 'page: ' + text)
        results.check(one[1] == right, 'page: %s: the same is seen' % text)
    results.check(second[0]['bytesRead'] < first[0]['bytesRead'] / 2,
                  'page: records are not read again',
                  [first[0], second[0]])

    # Controls: another store's are not these, and would not do.
    results.check(not changed[0]['restored'][0] or
                  not all(changed[0]['restored']),
                  'page: a changed store is added up anew', [changed[0]])
    results.check(changed[1] == anew[1] and changed[1] != right,
                  'page: what is changed is seen')

    for share in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1):
        answers = engine.ask(
            results, request(session.folder, steps, keeper='d'),
            request(session.folder, steps, keeper='d', damage=share),
            request(session.folder, steps, keeper='d'))
        _, damaged, mended = [taken(results, each) for each in answers]
        results.equal(damaged[0]['restored'], [False] * threads,
                      'page: damaged at %s' % share)
        results.check(damaged[1] == right and mended[1] == right,
                      'page: damaged at %s: the same is seen' % share)
        results.equal(mended[0]['restored'], [True] * threads,
                      'page: damaged at %s: kept anew' % share)


def levels_of(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)
                  if name.endswith('.levels'))


def check_reader(results, scratch, session, numbers):
    """Those that TraceReader view --levels leaves."""
    steps = looks(session, numbers)
    _, right, _ = open_(results, session.folder, steps)
    threads = len(session.threads)
    page = programs.windows_path(os.path.join(scratch, 'page.html'))
    results.equal(levels_of(session.folder), [], 'reader: nothing yet')
    code, _, errors = support.reader('view', '--levels', '--no-open',
                                     '--output', page, session.session)
    results.equal((code, errors), (0, ''), 'view --levels')
    files = levels_of(session.folder)
    results.equal(len(files), threads, 'reader: a file for each thread')
    cost, seen, _ = open_(results, session.folder, steps)
    results.equal(cost['restored'], [True] * threads, 'reader: no pass')
    results.check(seen == right, 'reader: the same is seen')

    # Whatever is in them, the page shows what is there.
    good = []
    for path in files:
        with open(path, 'rb') as file:
            good.append(file.read())
    for round_ in range(15):
        for path, data in zip(files, good):
            bad = bytearray(data)
            for _ in range(numbers.randrange(1, 4)):
                bad[numbers.randrange(len(bad))] ^= 1 << numbers.randrange(8)
            if round_ % 4 == 0:
                del bad[numbers.randrange(len(bad)):]
            with open(path, 'wb') as file:
                file.write(bad)
        cost, seen, _ = open_(results, session.folder, steps)
        results.equal(cost['restored'], [False] * threads,
                      'reader: damaged %d' % round_)
        results.check(seen == right, 'reader: damaged %d: the same' % round_)

    # With a hash that is right: whatever is shown, the page and what it can
    # read live on.
    check_hostile(results, session, files, good, numbers)

    # A file of another thread, or of another session, is not this one's.
    for path, data in zip(files, good[1:] + good[:1]):
        with open(path, 'wb') as file:
            file.write(data)
    cost, seen, _ = open_(results, session.folder, steps)
    results.equal((cost['restored'], seen == right), ([False] * threads, True),
                  'reader: of other threads')
    for path, data in zip(files, good):
        with open(path, 'wb') as file:
            file.write(data)
    cost, _, _ = open_(results, session.folder, steps)
    results.equal(cost['restored'], [True] * threads, 'reader: the good again')

    # What is written instead is whole, and a pack keeps nothing.
    code, _, _ = support.reader('view', '--levels', '--no-open', '--output',
                                page, session.session)
    results.equal([open(path, 'rb').read() for path in files], good,
                  'reader: the same bytes again')
    pack = programs.windows_path(os.path.join(scratch, 'a.tracepack'))
    support.reader('pack', session.session, '--output', pack)
    code, _, errors = support.reader('view', '--levels', '--no-open',
                                     '--output', page, pack)
    results.check(code == 0 and 'no levels are kept' in errors,
                  'reader: a pack', [code, errors])


def hash_of(data):
    """Docs/Format.md, section 13."""
    value = 0
    for word, in struct.iter_unpack('<Q', data):
        value = (value ^ word) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        value ^= value >> 29
    return struct.pack('<Q', value)


def check_hostile(results, session, files, good, numbers):
    for data in good:
        results.check(data[:8] == b'TRLEVELS' and
                      hash_of(data[:-8]) == data[-8:], 'hostile: the hash')
    length = session.last - session.first
    steps = [{'op': 'query', 'thread': thread, 'begin': begin, 'end': end,
              'pixels': 900} for thread in range(len(session.threads))
             for begin, end in ((0, length + 1), (length // 3, length // 2),
                                (length // 2, length // 2 + 50))]
    steps += [{'op': 'sums', 'begin': 0, 'end': length},
              {'op': 'sums', 'begin': 1, 'end': length}]
    taken_ = 0
    for round_ in range(30):
        for path, data in zip(files, good):
            bad = bytearray(data[:-8])
            for _ in range(numbers.choice((1, 1, 2, 5, 40))):
                # Most rounds spoil the lists before the boxes.
                end = numbers.choice((200, 2000, len(bad)))
                bad[numbers.randrange(24, min(end, len(bad)))] = \
                    numbers.choice((0, 1, 0x7F, 0x80, 0xFF,
                                    numbers.randrange(256)))
            if round_ % 5 == 0:
                del bad[numbers.randrange(24, len(bad)) & ~7:]
            with open(path, 'wb') as file:
                file.write(bad + hash_of(bad))
        answer, = engine.ask(results, request(session.folder, steps))
        cost, seen, _ = taken(results, answer)
        taken_ += cost['restored'].count(True)
        results.check(len(seen) == len(steps) and
                      all('error' not in one for one in seen),
                      'hostile %d: all is answered' % round_,
                      [one.get('error') for one in seen])
    results.check(taken_ > 5, 'hostile: some were taken', [taken_])


def check_losses(results, scratch, numbers):
    """Where records are damaged is said, with how many; sums say so, too."""
    records = calls.random_calls(numbers, 20000)
    session = calls.Session(os.path.join(scratch, 'holes'), [records],
                            modules=calls.MODULES[:1])
    name, = [each for each in os.listdir(session.folder)
             if each.endswith('.trace')]
    path = os.path.join(session.folder, name)
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    times = [struct.unpack_from('<Q', data, HEADER + RECORD * index)[0]
             for index in range((len(data) - HEADER) // RECORD)]
    times = [time for time in times if time]
    holes = [(1000, 10), (5000, 1), (5500, 400), (len(times) - 300, 7)]
    for first, count in holes:
        data[HEADER + RECORD * first:HEADER + RECORD * (first + count)] = \
            b'\xff' * (RECORD * count)
    with open(path, 'wb') as file:
        file.write(data)
    answer, = engine.ask(results, {'path': session.folder, 'keeper': 'l',
                                   'steps': [{'op': 'pass'},
                                             {'op': 'session'}]})
    thread, = answer['results'][1]['threads']
    results.equal([(loss['begin'], loss['end'], loss['records'])
                   for loss in thread['losses']],
                  [(times[first - 1] - times[0],
                    times[first + count] - times[0], count)
                   for first, count in holes], 'losses')
    again = engine.ask(
        results, {'path': session.folder, 'keeper': 'l', 'steps': [
            {'op': 'pass'}, {'op': 'session'}]},
        {'path': session.folder, 'keeper': 'l', 'steps': [
            {'op': 'pass'}, {'op': 'cost'}, {'op': 'session'},
            {'op': 'sums'}]})[1]['results']
    results.equal((again[1]['restored'], again[2]['threads'][0]['losses']),
                  ([True], thread['losses']), 'losses: kept')
    results.check(again[3]['functions'] and again[3]['notes'],
                  'losses: what sums say', [again[3].get('notes')])

    # Of compact stores whole blocks are missing, as many records as verify
    # counts.
    other = compact.convert(calls.Session(
        os.path.join(scratch, 'blocks'), [records],
        modules=calls.MODULES[:1]).folder, os.path.join(scratch, 'compact'))
    name, = [each for each in os.listdir(other) if each.endswith('.trace')]
    path = os.path.join(other, name)
    with open(path, 'r+b') as file:
        data = file.read()
        first = HEADER + len(data[HEADER:]) - len(data[HEADER:].lstrip(b'\0'))
        file.seek((first + len(data)) // 2)
        file.write(b'\xa5' * 64)
    _, text, _ = support.reader('verify', '--csv',
                                programs.windows_path(other))
    bad = sum(int(row['bad']) for row in csv.DictReader(
        io.StringIO(text)))
    answer, = engine.ask(results, {'path': other, 'steps': [
        {'op': 'pass'}, {'op': 'session'}]})
    losses = answer['results'][1]['threads'][0]['losses']
    results.equal((len(losses), sum(loss['records'] for loss in losses)),
                  (1, bad), 'losses: of a block')
    results.check(bad > 10, 'losses: a block is not whole', [bad, text])

    # Control: without holes there are none.
    whole = calls.Session(os.path.join(scratch, 'whole'), [records],
                          modules=calls.MODULES[:1])
    answer, = engine.ask(results, {'path': whole.folder, 'steps': [
        {'op': 'pass'}, {'op': 'session'}]})
    results.equal(answer['results'][1]['threads'][0]['losses'], [],
                  'losses: none')


def check_whole_threads(results, scratch, numbers):
    """A range that some threads lie in, and others do not: the sums of those
    are the pass's, of these the records', and of all report's."""
    def later(records, by):
        return [(time + by, *rest) for time, *rest in records]

    session = calls.Session(os.path.join(scratch, 'inside'), [
        calls.random_calls(numbers, 40000),
        later(calls.random_calls(numbers, 3000), 50000),
        later(calls.random_calls(numbers, 1500), 90000)])
    support.reader('report', session.session)
    length = session.last - session.first
    ranges = [(20000, length - 10), (20000, length // 2), (60000, length - 1)]
    steps = [{'op': 'pass'}, {'op': 'session'}]
    for begin, end in ranges:
        steps += [{'op': 'sums', 'begin': begin, 'end': end},
                  {'op': 'tree', 'begin': begin, 'end': end}]
    answer, = engine.ask(results, {'path': session.folder, 'steps': steps})
    threads = answer['results'][1]['threads']
    inside = [sum(begin < thread['begin'] and thread['end'] < end
                  for thread in threads) for begin, end in ranges]
    results.equal(inside, [2, 2, 1], 'whole threads: inside of ranges')
    for at, range_ in enumerate(ranges):
        engine.check_sums(results, 'whole threads: %d to %d' % range_,
                          session.session, range_,
                          *answer['results'][2 + 2 * at:4 + 2 * at])


def check_cancelled(results, session):
    """What is taken back is said to be, and what follows is answered."""
    answer, = engine.ask(results, {'path': session.folder, 'steps': [
        {'op': 'pass'},
        {'op': 'cancel', 'what': 'sums', 'begin': 1, 'end': 10 ** 9},
        {'op': 'cancel', 'what': 'query', 'thread': 0, 'begin': 0,
         'end': 10 ** 6, 'pixels': 100},
        {'op': 'sums', 'begin': 1, 'end': 10 ** 9},
        {'op': 'query', 'thread': 0, 'begin': 0, 'end': 10 ** 6,
         'pixels': 100}]})
    _, first, second, sums, query = answer['results']
    results.equal((first['said'], second['said']),
                  ('AbortError', 'AbortError'), 'cancelled')
    results.check(sums.get('functions') and query.get('count'),
                  'cancelled: the next is answered', [sums, query])


def main():
    results = programs.Results()
    numbers = random.Random(1126)
    if not os.path.exists(engine.WASM):
        results.check(False, engine.WASM + ' is built')
        return results.finish()
    with programs.Scratch() as scratch:
        session = calls.Session(os.path.join(scratch, 'records'), [
            calls.random_calls(numbers, 40000),
            calls.random_calls(numbers, 9000),
            calls.with_fiber(numbers, 3000)])
        support.reader('report', session.session)       # symbols.cache
        check_page(results, scratch, session, numbers)
        check_reader(results, scratch, session, numbers)
        check_losses(results, scratch, numbers)
        check_cancelled(results, session)
        check_whole_threads(results, scratch, numbers)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

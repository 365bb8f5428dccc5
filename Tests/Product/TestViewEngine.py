#!/usr/bin/env python3
"""The viewer's engine, in node: what it shows of made-up sessions against all
their calls, as trace_reader.py pairs them, and its sums against TraceReader's.

The same sessions are looked at as stores of records, compact, as rings, as a
pack, and damaged.
"""
# Takes long.

import collections
import csv
import io
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import CompactStores as compact                              # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestImportNames as imports                            # noqa: E402
from StoreSupport import programs                            # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
PAGE = os.path.join(ROOT, 'Reader/View/Page')
DRIVER = os.path.join(ROOT, 'Tests/Library/ViewEngine.js')
WASM = os.path.join(os.path.dirname(programs.BIN), 'Viewer/Viewer.wasm')
PLACES = 20
ABANDONED, OPEN, SUMMARY, UNKNOWN = 1, 2, 8, 16
FLAGS = {'completed': 0, 'abandoned': ABANDONED, 'open': OPEN}


def ask(results, *requests):
    """What the engine answers: a list like the requests."""
    done = subprocess.run(['node', DRIVER, PAGE, WASM], check=False,
                          input=json.dumps(requests).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=300)
    if not results.check(done.returncode == 0 and done.stdout,
                         'ViewEngine.js', [done.stderr.decode()[-2000:]]):
        return [{'error': 'none', 'results': []} for _ in requests]
    return json.loads(done.stdout)


def name_of(one):
    module, name = one
    return calls.MODULES[module] + '!' + name


def overlap(call, begin, end):
    return call.begin < end and (call.end > begin or call.begin >= begin)


def boxes_of(answer):
    """(track is left out) start, stop, depth, function, flags of each box."""
    return sorted(zip(answer['start'], answer['stop'], answer['depth'],
                      answer['function'], answer['flags'], answer['calls']))


def expect(session, found, thread, begin, end):
    """The same of a thread's calls, times from the session's first record."""
    base = session.first
    return sorted((call.begin - base, call.end - base, len(call.path) - 1,
                   name_of(call.path[-1]), FLAGS[call.how], 1)
                  for call in found
                  if call.thread == thread and
                  overlap(call, begin + base, end + base))


def places(numbers, session):
    """Ranges anywhere that some calls overlap."""
    length = session.last - session.first
    chosen = []
    while len(chosen) < PLACES:
        width = max(int(length * 10 ** numbers.uniform(-4, -1)), 1)
        begin = numbers.randrange(length - width)
        chosen.append((begin, begin + width))
    return chosen


def check_boxes(results, text, session, found, answer, steps):
    """Each range's boxes are its calls, each of them."""
    ids = {thread['tid']: thread['id']
           for thread in answer['session']['threads']}
    singles = 0
    for step, got in zip(steps, answer['results']):
        if step['op'] != 'query':
            continue
        tid = next(tid for tid, each in ids.items() if each == step['thread'])
        right = expect(session, found, tid, step['begin'], step['end'])
        seen = [] if 'error' in got else boxes_of(got)
        singles += len(right)
        results.check(seen == right,
                      '%s: boxes of thread %d from %d to %d' %
                      (text, tid, step['begin'], step['end']),
                      [got.get('error'), len(seen), len(right),
                       *sorted(set(seen) ^ set(right))[:6]])
    results.check(singles > 100, text + ': there were calls', [singles])


def check_summary(results, text, session, found, answer, got):
    """A picture of everything: the calls of each depth are all there, and the
    time that is covered."""
    for thread, picture in got:
        tid = answer['session']['threads'][thread]['tid']
        mine = [call for call in found if call.thread == tid]
        depths, covered = collections.Counter(), collections.Counter()
        for call in mine:
            depths[len(call.path) - 1] += 1
            covered[len(call.path) - 1] += call.end - call.begin
        seen, shown = collections.Counter(), collections.Counter()
        for index, depth in enumerate(picture['depth']):
            seen[depth] += picture['calls'][index]
            shown[depth] += round(
                (picture['stop'][index] - picture['start'][index]) *
                picture['covered'][index])
        results.equal(seen, depths, '%s: calls of thread %d by depth' %
                      (text, tid))
        results.check(
            all(abs(shown[depth] - ticks) <= 1 + ticks * 1e-5
                for depth, ticks in covered.items()),
            '%s: time covered in thread %d' % (text, tid),
            [shown, covered])
        results.check(
            picture['count'] < len(mine) / 2 and
            any(flags & SUMMARY for flags in picture['flags']),
            '%s: thread %d is put together' % (text, tid),
            [picture['count'], len(mine)])


def check_activity(results, text, session, found, answer, got, step):
    """What all threads did, by pixel: the calls, the time in which one was
    open, and a function that ran there."""
    threads, pixels = len(answer['session']['threads']), step['pixels']
    width = (step['end'] - step['begin']) / pixels
    covered, names = [0.0] * pixels, [set() for _ in range(pixels)]
    for call in found:
        begin, end = call.begin - session.first, call.end - session.first
        for pixel in range(int(begin / width),
                           min(int(end / width) + 1, pixels)):
            names[pixel].add(name_of(call.path[-1]))
            if len(call.path) == 1:
                low = pixel * width
                covered[pixel] += max(0, min(end, low + width) -
                                      max(begin, low)) / width / threads
    results.equal(sum(got['calls']), len(found), text + ': calls by pixel')
    steps = [abs(ours - theirs) for ours, theirs in
             zip(itertools.accumulate(covered),
                 itertools.accumulate(got['covered']))]
    results.check(max(steps) < 1.5, text + ': time covered by pixel',
                  [max(steps), covered[:8], got['covered'][:8]])
    results.check(abs(sum(covered) - sum(got['covered'])) <
                  sum(covered) * 1e-3, text + ': time covered in all',
                  [sum(covered), sum(got['covered'])])
    shown = [(pixel, name) for pixel, name in enumerate(got['function'])
             if name is not None]
    near = [set().union(*names[max(pixel - 1, 0):pixel + 2])
            for pixel in range(pixels)]
    wrong = [pair for pair in shown if pair[1] not in near[pair[0]]]
    results.check(shown and not wrong, text + ': functions by pixel',
                  [len(shown), wrong[:4]])


def reader_rows(results, session, command, *arguments):
    code, text, errors = support.reader(
        command, '--csv', '--raw', *arguments, session)
    if not results.check(code == 0, '%s %s' % (command, arguments),
                         [code, errors]):
        return []
    return list(csv.DictReader(io.StringIO(text, newline='')))


FIELDS = (('calls', 'calls'), ('total_ns', 'total'), ('self_ns', 'self'),
          ('min_ns', 'min'), ('max_ns', 'max'), ('abandoned', 'abandoned'),
          ('unfinished', 'unfinished'), ('begun_before', 'begunBefore'))


def numbers_of(row, fields=FIELDS):
    return tuple(int(row[name]) for name, _ in fields)


def check_sums(results, text, session, range_, sums, tree):
    """Sums and tree against report and tree; a tick is a nanosecond."""
    options = [] if range_ is None else [
        '--from', '%dns' % range_[0], '--to', '%dns' % range_[1]]
    right = {row['module'] + '!' + row['function']: numbers_of(row)
             for row in reader_rows(results, session, 'report', *options)}
    seen = {row['function']: tuple(int(row[name]) for _, name in FIELDS)
            for row in sums.get('functions', [])}
    results.check(bool(right) and seen == right, text + ': report',
                  [sums.get('error'), *sorted(set(seen.items()) ^
                                              set(right.items()))[:6]])
    chains, right = {}, {}
    for row in reader_rows(results, session, 'tree', *options):
        above = chains[row['parent']] if row['depth'] != '0' else ()
        chain = above + (row['module'] + '!' + row['function'].strip(),)
        chains[row['node']] = chain
        right[chain] = numbers_of(row, FIELDS[:3])
    seen, nodes, chains = {}, tree.get('nodes'), [()]
    for index in range(1, len(nodes['function']) if nodes else 0):
        chain = chains[nodes['parent'][index]] + (nodes['function'][index],)
        chains.append(chain)
        seen[chain] = (nodes['calls'][index], nodes['total'][index],
                       nodes['self'][index])
    results.check(bool(right) and seen == right, text + ': tree',
                  [tree.get('error'), *sorted(set(seen.items()) ^
                                              set(right.items()))[:6]])


def check_edges(results, text, session, range_, name, answers):
    options = [] if range_ is None else [
        '--from', '%dns' % range_[0], '--to', '%dns' % range_[1]]
    for command, answer in zip(('callers', 'callees'), answers):
        right = {}
        for row in reader_rows(results, session, command, *options,
                               name.partition('!')[2]):
            if row['level'] == '1':
                key = None if row['function'].strip() == '(outermost)' else \
                    row['module'] + '!' + row['function'].strip()
                right[key] = numbers_of(row, FIELDS[:5])
        seen = {row['function']: tuple(int(row[field])
                                       for _, field in FIELDS[:5])
                for row in answer.get('rows', [])}
        results.check(bool(right) and seen == right,
                      '%s: %s of %s' % (text, command, name),
                      [answer.get('error'), *sorted(
                          set(seen.items()) ^ set(right.items()),
                          key=str)[:6]])


def check_calls(results, text, session, found, name, histogram, nexts, steps):
    """The slowest calls of a function, and those before and after a time."""
    mine = [call for call in found if name_of(call.path[-1]) == name]
    ended = sorted(call.elapsed for call in mine if call.how == 'completed')
    results.equal(histogram.get('calls'), len(ended),
                  text + ': calls of the histogram')
    results.equal([row['ticks'] for row in histogram.get('slowest', [])],
                  ended[::-1][:100], text + ': the slowest')
    results.equal(sum(row['calls'] for row in histogram.get('buckets', [])),
                  len(ended), text + ': buckets')
    results.check(all(
        row['calls'] == sum(row['from'] <= one <= row['to'] for one in ended)
        for row in histogram.get('buckets', [])), text + ': each bucket')
    for share, key in ((500, 'p50'), (900, 'p90'), (990, 'p99'),
                       (999, 'p999')):
        results.check(calls.is_near(histogram['percentiles'][key], ended,
                                    share), '%s: %s' % (text, key))
    begins = sorted(call.begin - session.first for call in mine)
    for step, got in zip(steps, nexts):
        if step['direction'] > 0:
            right = next((one for one in begins if one > step['from']), None)
        else:
            right = next((one for one in reversed(begins)
                          if one < step['from']), None)
        results.equal(got and got.get('begin'), right,
                      '%s: %s' % (text, step))
        if got and right is not None:
            results.check((got['begin'], got['end']) in {
                (call.begin - session.first, call.end - session.first)
                for call in mine}, '%s: its end: %s' % (text, step), [got])


def check_session(results, text, session, found, path, numbers,
                  calls_only=False):
    """Everything that the engine gives of a session."""
    length = session.last - session.first
    threads = len(session.threads)
    steps = [{'op': 'query', 'thread': numbers.randrange(threads),
              'begin': begin, 'end': end, 'pixels': 1600}
             for begin, end in places(numbers, session)]
    steps = [{'op': 'pass'}] + steps
    answer, = ask(results, {'path': path, 'steps': steps})
    if not results.check('session' in answer, text + ': opens',
                         [answer.get('error')]):
        return
    results.equal(answer['session']['problems'], [], text + ': problems')
    check_boxes(results, text, session, found, answer, steps)
    if calls_only:
        return

    range_ = length // 5, length // 2
    name = name_of(collections.Counter(
        call.path[-1] for call in found).most_common(1)[0][0])
    whole = {'begin': 0, 'end': length}
    part = {'begin': range_[0], 'end': range_[1]}
    finds = [{'op': 'find', 'name': name, 'from': numbers.randrange(length),
              'direction': numbers.choice((1, -1))} for _ in range(6)]
    finds += [{'op': 'find', 'name': name, 'from': -1, 'direction': 1},
              {'op': 'find', 'name': name, 'from': length + 1,
               'direction': -1},
              {'op': 'find', 'name': name, 'from': length, 'direction': 1}]
    steps = [{'op': 'pass'}]
    steps += [{'op': 'query', 'thread': thread, 'begin': 0,
               'end': length + 1, 'pixels': 64} for thread in range(threads)]
    activity = {'op': 'activity', 'begin': 0, 'end': length + 1, 'pixels': 64}
    steps.append(activity)
    steps += [{'op': op, **where} for where in (whole, part)
              for op in ('sums', 'tree')]
    steps += [{'op': op, 'name': name, **where} for where in (whole, part)
              for op in ('callers', 'callees')]
    steps += [{'op': 'histogram', 'name': name, **whole}, *finds]
    answer, = ask(results, {'path': path, 'steps': steps})
    got = answer['results'][1:]
    check_summary(results, text, session, found, answer,
                  list(enumerate(got[:threads])))
    check_activity(results, text, session, found, answer, got[threads],
                   activity)
    got = got[threads + 1:]
    windows = programs.windows_path(path)
    check_sums(results, text + ', whole', windows, None, *got[:2])
    check_sums(results, text + ', a range', windows, range_, *got[2:4])
    check_edges(results, text + ', whole', windows, None, name, got[4:6])
    check_edges(results, text + ', a range', windows, range_, name, got[6:8])
    check_calls(results, text, session, found, name, got[8], got[9:], finds)


def check_damaged(results, scratch, session):
    """What cannot be read is named, and hides nothing else."""
    folder = os.path.join(scratch, 'damaged')
    shutil.copytree(session.folder, folder)
    names = sorted(name for name in os.listdir(folder)
                   if name.endswith('.trace'))
    with open(os.path.join(folder, names[0]), 'r+b') as file:
        file.seek(0x0C)
        file.write(b'\xff\xff')             # HeaderSize
    with open(os.path.join(folder, names[1]), 'r+b') as file:
        file.truncate(5000)
    with open(os.path.join(folder, 'broken-9-9.trace'), 'wb') as file:
        file.write(b'no store' * 1000)
    good, bad, pack, nothing = (os.path.join(scratch, name) for name in (
        'damaged', 'all-bad', 'bad.tracepack', 'nothing'))
    os.makedirs(bad)
    shutil.copy(os.path.join(folder, names[0]), bad)
    with open(pack, 'wb') as file:
        file.write(b'TRACPACK' + bytes(5000))
    os.makedirs(nothing)
    with open(os.path.join(nothing, 'readme.txt'), 'wb') as file:
        file.write(b'text')
    answers = ask(results, *({'path': path, 'steps': [
        {'op': 'pass'}, {'op': 'sums'}]} for path in (
            good, bad, pack, nothing)))
    first = answers[0]
    if results.check('session' in first, 'damaged: opens',
                     [first.get('error')]):
        told = {problem['path'] for problem in first['session']['problems']}
        results.check({names[0], names[1], 'broken-9-9.trace'} <= told,
                      'damaged: each is named',
                      [first['session']['problems']])
        results.check(bool(first['results'][1].get('functions')),
                      'damaged: the others are read', first['results'])
    for answer, text, word in zip(answers[1:], ('one bad store', 'a bad pack',
                                                'nothing'),
                                  ('.trace', '.tracepack', 'no .trace file')):
        results.check(word in answer.get('error', ''),
                      text + ': the error says what', [answer])


def check_names(results, scratch, numbers):
    """A module without names is said once, whoever meets it first, and nothing
    is lost by that: sums are whole, when the session is opened first and when
    it is opened again.  (Sums of damaged records are not.)"""
    session = calls.Session(os.path.join(scratch, 'nameless'), [
        calls.random_calls(numbers, 90000), calls.random_calls(numbers, 3000)])
    length = session.last - session.first
    sums = [{'op': 'sums'}, {'op': 'sums', 'begin': length // 9,
                             'end': length // 2}]
    steps = [{'op': 'pass'}, *sums, {'op': 'tree'}, {'op': 'session'}]
    for text, more in (('first', {}), ('again', {}),
                       ('one worker', {'workers': 1, 'keeper': 'other'})):
        answer, = ask(results, {'path': session.folder, 'keeper': 'names',
                                'steps': steps, **more})
        pass_, *parts, tree, after = answer['results']
        for one in parts:
            results.equal((one.get('complete'), one.get('notes'),
                           len(one.get('functions', [])) > 5), (True, '', True),
                          'names, %s: sums are whole' % text)
        results.equal(tree.get('notes'), '', 'names, %s: tree' % text)
        told = [problem['text'] for problem in after['problems']]
        results.check(len(told) == len(set(told)) == len(calls.MODULES) and
                      all(re.match('no function names for ', each)
                          for each in told) and
                      all(problem['isOfNames'] for problem in
                          after['problems']),
                      'names, %s: each module is said once' % text, told)
    name = max((name for name in os.listdir(session.folder)
                if name.endswith('.trace')), key=lambda name: os.path.getsize(
                    os.path.join(session.folder, name)))
    with open(os.path.join(session.folder, name), 'r+b') as file:
        file.seek(4096 + 16 * 40000)
        file.write(b'\xff' * 160)
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'pass'}, {'op': 'session'}]})
    loss, = [loss for thread in answer['results'][1]['threads']
             for loss in thread['losses']]
    ranges = [(0, length), (loss['begin'] - 1000, loss['end'] + 5),
              (loss['end'] + 1, length), (0, loss['begin'] - 1), (0, length)]
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'pass'}, *({'op': 'sums', 'begin': begin, 'end': end}
                          for begin, end in ranges)]})
    results.equal([(one.get('complete'), 'records' in one.get('notes', ''))
                   for one in answer['results'][1:]],
                  [(True, False) if end < loss['begin'] or begin > loss['end']
                   else (False, True) for begin, end in ranges],
                  'names, control: what is damaged is not whole')


def check_growing(results, scratch, numbers):
    """A session that grows: what was open at each look, and at the end all.
    (Names are not compared: nobody has read it, so there are none.)"""
    threads = [calls.random_calls(numbers, 20000),
               calls.random_calls(numbers, 6000)]
    folder = os.path.join(scratch, 'growing')
    steps, looks = [{'op': 'pass'}], []
    for part in (3, 6, 10):
        now = calls.Session(os.path.join(scratch, 'part%d' % part), [
            records[:len(records) * part // 10] for records in threads])
        for name in os.listdir(now.folder):
            path = os.path.join(now.folder, name)
            with open(path, 'r+b') as file:
                file.seek(0x80)
                file.write(struct.pack('<II', 1, 0))    # State: open
            if part == 3:
                os.makedirs(folder, exist_ok=True)
                shutil.copy(path, folder)
        if part != 3:
            steps.append({'op': 'refresh', 'path': folder, 'copies': [
                [os.path.join(now.folder, name), os.path.join(folder, name)]
                for name in os.listdir(now.folder)
                if name.endswith('.trace')]})
        length = now.last - now.first
        for thread in (0, 1):
            for begin, end in places(numbers, now)[:5] + [
                    (0, length + 1)]:
                looks.append((len(steps), now, thread, begin, end))
                steps.append({'op': 'query', 'thread': thread, 'begin': begin,
                              'end': end, 'pixels': 40000000})
    answer, = ask(results, {'path': folder, 'isFresh': True, 'steps': steps})
    if not results.check('session' in answer, 'growing: opens',
                         [answer.get('error')]):
        return
    results.check(answer['session']['isLive'], 'growing: it goes on')
    results.check(all(got.get('changed') for step, got in zip(
        steps, answer['results']) if step['op'] == 'refresh'),
        'growing: it has grown')
    ids = {thread['id']: thread['tid']
           for thread in answer['session']['threads']}
    for place, now, thread, begin, end in looks:
        got = answer['results'][place]
        right, seen = (sorted(each[:3] + each[4:] for each in boxes)
                       for boxes in (expect(now, now.calls(), ids[thread],
                                            begin, end),
                                     [] if 'error' in got else
                                     boxes_of(got)))
        results.check(seen == right, 'growing: look %d, thread %d, %d to %d' %
                      (place, thread, begin, end),
                      [got.get('error'), len(seen), len(right),
                       *sorted(set(seen) ^ set(right))[:6]])


def check_reading_on(results, scratch, numbers):
    """While it is looked at what has been added, what there was before is
    shown as ever, a box for each call; and what is asked of what is new comes
    when that is there."""
    threads = [calls.random_calls(numbers, 300000),
               calls.random_calls(numbers, 20000)]
    parts = []
    for part in (3, 10):
        now = calls.Session(os.path.join(scratch, 'read%d' % part), [
            records[:len(records) * part // 10] for records in threads])
        for name in os.listdir(now.folder):
            with open(os.path.join(now.folder, name), 'r+b') as file:
                file.seek(0x80)
                file.write(struct.pack('<II', 1, 0))    # State: open
        parts.append((now, now.calls()))
    (before, old), (now, found) = parts
    tids = sorted({call.thread for call in old})
    last = {tid: max(call.end for call in old if call.thread == tid) -
            before.first for tid in tids}
    answer, = ask(results, {'path': now.folder, 'steps': []})
    ids = {thread['tid']: thread['id']
           for thread in answer['session']['threads']}
    looks = []
    for begin, _ in places(numbers, before):
        for tid in tids[0], tids[1], tids[0]:
            looks.append((tid, begin * min(last.values()) // last[tid] // 2,
                          numbers.randrange(1, 5000)))
        looks += [(tid, last[tid] - numbers.randrange(3000), 20000)
                  for tid in tids]
    steps = [{'op': 'pace'}] + [
        {'op': 'query', 'thread': ids[tid], 'begin': begin,
         'end': begin + length, 'pixels': 40000000}
        for tid, begin, length in looks]
    for workers in (2, 1):
        folder = os.path.join(scratch, 'reading%d' % workers)
        shutil.copytree(before.folder, folder)
        answer, = ask(results, {
            'path': folder, 'isFresh': True, 'workers': workers, 'steps': [
                {'op': 'pass'}, {'op': 'refresh', 'path': folder,
                                 'steps': steps, 'copies': [
                    [os.path.join(now.folder, name),
                     os.path.join(folder, name)]
                    for name in os.listdir(now.folder)
                    if name.endswith('.trace')]}]})
        if results.check('answers' in answer.get('results', [{}, {}])[1],
                         'reading on: it is read', [answer]):
            check_looks(results, '%d workers' % workers, looks,
                        answer['results'][1]['answers'][1:], now, found, last)
    check_reading(results, now)


def check_looks(results, text, looks, answers, now, found, last):
    singles = 0
    for (tid, begin, length), got in zip(looks, answers):
        right, seen = ({box[:3] + box[4:] for box in boxes} for boxes in (
            expect(now, found, tid, begin, begin + length),
            [] if 'error' in got else boxes_of(got)))

        # A call that was open before may have come to its end by now.
        if begin + length < last[tid]:
            right, seen = ({box for box in boxes if box[1] < last[tid]}
                           for boxes in (right, seen))
        singles += len(right)
        results.check(seen == right and set(got.get('calls', [])) <= {1},
                      'reading on, %s: thread %d from %d, %d long' %
                      (text, tid, begin, length),
                      [got.get('error'), len(seen), len(right),
                       *sorted(seen ^ right)[:6]])
    results.check(singles > 500, 'reading on: there were calls', [singles])


def check_reading(results, session):
    """What a picture of a long thread is made of: of its levels, unless their
    boxes, of 64 records, are wide, or little has to be read."""
    answer, = ask(results, {'path': session.folder, 'steps': []})
    thread = max(answer['session']['threads'],
                 key=lambda thread: thread['records'])
    length = session.last - session.first
    looks = (('all of it', 0, 1, 1400, False),
             ('a quarter', 0.6, 4, 1400, False),
             ('in finer boxes', 0.6, 4, 2800, False),
             ('in boxes of many pixels', 0.6, 4, 40000, True),
             ('a hundredth', 0.3, 100, 1400, True),
             ('a tenth', 0.1, 10, 1400, True))
    steps = [{'op': 'pass'}, {'op': 'cost'}]
    for _, place, part, pixels, _ in looks:
        begin = int(length * place)
        steps += [{'op': 'query', 'thread': thread['id'], 'begin': begin,
                   'end': begin + length // part, 'pixels': pixels},
                  {'op': 'cost'}]
    answer, = ask(results, {'path': session.folder, 'steps': steps})
    read = [cost['bytesRead'] for cost in answer['results'][1::2]]
    for (what, *_, is_read), before, after in zip(looks, read, read[1:]):
        results.check((after > before) == is_read, 'reading: %s: %s' %
                      (what, 'of records' if is_read else 'of levels'),
                      [after - before])


def check_ring(results, scratch, numbers):
    """A ring that has lost its oldest records is as a session without them."""
    records = calls.random_calls(numbers, 30000, functions=calls.NAMES[:5])
    whole = calls.Session(os.path.join(scratch, 'unringed'), [records],
                          modules=calls.MODULES[:1])
    start = 2 * compact.SEGMENT
    left = calls.Session(
        os.path.join(scratch, 'left'),
        [records[(start - compact.HEADER) // 16:]],
        modules=calls.MODULES[:1])
    for name in os.listdir(whole.folder):
        path = os.path.join(whole.folder, name)
        with open(path, 'rb') as file:
            data = compact.as_ring(file.read(), start)
        with open(path, 'wb') as file:
            file.write(data)
    support.reader('report', whole.session)
    check_session(results, 'ring', left, left.calls(), whole.folder, numbers)


def check_disturbed(results, session, found, numbers):
    """What is added up comes to an end though its worker is stopped in the
    middle; of those who look for a call the last one is answered; and when the
    session is closed nobody starts again."""
    length = session.last - session.first
    names = [name_of(one) for one in sorted({call.path[-1]
                                             for call in found})]
    asked = []
    for what in ('find', 'find', 'histogram', 'sums', 'tree', 'callers'):
        begin = numbers.randrange(length // 3)
        asked.append({'what': what, 'name': numbers.choice(names),
                      'begin': begin, 'end': begin + length // 2,
                      'from': begin, 'direction': 1})
    plain = [{'op': 'disturbed', **one, 'waits': []} for one in asked]
    steps = [{'op': 'disturbed', **one,
              'waits': [numbers.randrange(12) for _ in range(times)]}
             for times in (1, 3) for one in asked]
    together = {'op': 'together', 'what': 'find', 'from': -1, 'direction': 1,
                'threads': [2, 1, 0]}
    pairs = [numbers.sample(names, 3) for _ in range(8)]
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'pass'}, *plain, *steps,
        *({**together, 'functions': pair} for pair in pairs),
        *({**together, 'functions': pair[-1:]} for pair in pairs)]})
    got = answer['results'][1:]
    right, got = got[:len(asked)], got[len(asked):]
    for step, one, expected in zip(steps, got, right * 2):
        results.check(one == expected and 'error' not in one,
                      'disturbed: %s, %d times' % (step['what'],
                                                   len(step['waits'])),
                      [one.get('error'), expected.get('error')])
    got = got[len(steps):]
    for pair, many, one in zip(pairs, got, got[len(pairs):]):
        results.equal(many.get('said'),
                      ['AbortError'] * 2 + one.get('said', []),
                      'together: the last one is answered')
        results.check(one.get('said', [None])[0] not in (None, 'AbortError'),
                      'together: there is a call', [one])
    for what in 'find', 'sums':
        for wait in 0, 5, 30:
            answer, = ask(results, {'path': session.folder, 'steps': [
                {'op': 'pass'}, {'op': 'closed', **asked[0], 'what': what,
                                 'wait': wait}]})
            closed = answer['results'][1]
            results.check(closed.get('said') in ('AbortError', 'answered') and
                          closed['adder'] is None, 'closed: ' + what,
                          [closed])
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'pass'}, {'op': 'stopped', **asked[3], 'wait': 0},
        {'op': 'stopped', **asked[0], 'wait': 1}, plain[3]]})
    for one in answer['results'][1:3]:
        results.equal((one.get('said'), one.get('adder')),
                      (['AbortError'] * 2, None), 'stopped')
    results.equal(answer['results'][3], right[3], 'stopped: asked again')


def check_nothing_new(results, session):
    """A running program's session in which nothing is new: whoever adds up
    goes on.  (That growth stops it is the control.)"""
    folder = session.folder + '-open'
    more = session.folder + '-more'
    shutil.copytree(session.folder, folder)
    shutil.copytree(session.folder, more)
    for place, cut in (folder, 160), (more, 0):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if not name.endswith('.trace'):
                continue
            with open(path, 'r+b') as file:
                if cut:
                    file.seek(0, os.SEEK_END)
                    file.truncate(file.tell() - cut)
                file.seek(0x80)
                file.write(struct.pack('<II', 1, 0))    # State: open
    grow = [[os.path.join(more, name), os.path.join(folder, name)]
            for name in os.listdir(more) if name.endswith('.trace')]
    sums = {'op': 'sums', 'begin': 5, 'end': 50}
    tree = {'begin': 0, 'end': session.last, 'threads': [0]}
    answer, = ask(results, {'path': folder, 'isFresh': True, 'steps': [
        {'op': 'pass'}, sums,
        {'op': 'refresh', 'path': folder, 'copies': []},
        {'op': 'refresh', 'path': folder, 'copies': grow,
         'asked': {'what': 'tree', **tree}}, {'op': 'tree', **tree}]})
    other, = ask(results, {'path': more, 'isFresh': True, 'steps': [
        {'op': 'pass'}, {'op': 'tree', **tree}]})
    _, _, same, grown, after = answer['results']
    full = other['results'][1]['nodes']['calls']
    results.check(grown['asked'] and sum(grown['asked']['nodes']['calls']) <
                  sum(full) and grown['retired'] == 0,
                  'growth: what is asked before is answered, of what there '
                  'was', [grown])
    results.equal(sorted(after['nodes']['calls']), sorted(full),
                  'growth: what is asked after is of all')
    results.equal((same.get('changed'), same.get('isKept')), (False, True),
                  'nothing new: goes on')
    results.equal((grown.get('changed'), grown.get('isKept')), (True, False),
                  'nothing new: control')


def check_during(results, session, found, numbers):
    """What is asked while the pass goes on is answered, with what is known;
    a short range at once, but for the ends of calls that are open behind it.
    """
    ranges = places(numbers, session)[:8]
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'during', 'steps': [
            {'op': 'query', 'thread': 0, 'begin': begin, 'end': end,
             'pixels': 1600} for begin, end in ranges]}]})
    tid = answer['session']['threads'][0]['tid']
    for (begin, end), got in zip(ranges, answer['results'][0]['answers']):
        right = expect(session, found, tid, begin, end)
        seen = [] if 'error' in got else boxes_of(got)
        results.check(
            [(one[0], *one[2:4]) for one in seen] ==
            [(one[0], *one[2:4]) for one in right] and
            {one for one in seen if not one[4] & UNKNOWN} <= set(right),
            'during the pass: %d to %d' % (begin, end),
            [got.get('error'), *sorted(set(seen) ^ set(right))[:6]])

    query = {'op': 'query', 'thread': 0, 'begin': 0,
             'end': session.last - session.first + 1, 'pixels': 100}
    answer, = ask(results, {'path': session.folder, 'steps': [
        {'op': 'during', 'steps': [query] * 5}, query]})
    during, after = answer['results']
    known = [sum(got.get('calls', [-1])) for got in during['answers']]
    results.check(len(known) == 5 and all(
        0 <= one <= sum(after['calls']) for one in known),
        'during the pass', [known, sum(after['calls'])])


#
# Imports.  The programs count themselves what each module calls.  All times
# are ticks.
#

def check_boxes_of_imports(results, text, answers, expected):
    """Boxes of single calls have the module that called."""
    found, plain = collections.Counter(), set()
    for answer in answers:
        results.check(all(calls_ == 1 for calls_ in answer.get('calls', [])),
                      text + ': each call is a box', [answer.get('error')])
        callers = answer.get('caller') or [None] * len(answer['function'])
        for caller, name in zip(callers, answer['function']):
            if name.count('!') > 1:
                found[caller, name.split('!')[-1]] += 1
            else:
                plain.add(caller)
    results.equal({key: number for key, number in found.items()
                   if key[1] in ('Sleep', 'GetTickCount', 'Work', 'Back')},
                  expected, text + ': who called')
    results.check(plain <= {None}, text + ': what is no import', plain)


def check_nodes_of_imports(results, text, windows, tree):
    """The tree is that of tree, node for node."""
    chains, right = {}, {}
    for row in reader_rows(results, windows, 'tree'):
        above = chains[row['parent']] if row['depth'] != '0' else ()
        chain = above + ((row.get('caller_module') or None, row['module'] +
                          '!' + row['function'].strip()),)
        chains[row['node']] = chain
        right[chain] = int(row['calls']), int(row['total_ticks'])
    nodes, chains, seen = tree['nodes'], [()], {}
    callers = nodes.get('caller') or [None] * len(nodes['function'])
    for index in range(1, len(nodes['function'])):
        chain = chains[nodes['parent'][index]] + (
            (callers[index], nodes['function'][index]),)
        chains.append(chain)
        seen[chain] = nodes['calls'][index], nodes['total'][index]
    results.check(right == seen and len({chain[-1][0] for chain in right}) > 1,
                  text + ': tree', [sorted(set(right.items()) ^
                                           set(seen.items()), key=str)[:6]])


def check_edges_of_imports(results, text, windows, names, edges):
    """Callers and callees are those of callers and callees; a module stands
    for functions that are not recorded.  Returns the callers."""
    found = set()
    for index, name in enumerate(names):
        for command, answer in zip(('callers', 'callees'),
                                   edges[2 * index:2 * index + 2]):
            right = {}
            for row in reader_rows(results, windows, command,
                                   name.partition('!')[2]):
                if row['level'] == '1':
                    name_ = row['function'].strip()
                    right[row.get('caller_module') or None,
                          None if name_ == '(outermost)' else
                          row['module'] + '!' + name_] = (
                              int(row['calls']), int(row['total_ticks']),
                              int(row['self_ticks']))
            seen = {(row.get('caller'), row['function']): (
                row['calls'], row['total'], row['self']) for row in answer.get('rows', [])}
            results.check(right == seen, '%s: %s of %s' % (text, command,
                                                           name),
                          [answer.get('error'), right, seen])
            if command == 'callers':
                found |= {key[1] for key in right if key[1]}
    return found


def check_imports(results, scratch):
    made = imports.Programs(os.path.join(scratch, 'imports'))
    for program, mode in (('Names.exe', 'file'), ('Hooked.exe', 'file'),
                          ('Hooked.exe', 'compact'), ('Names.exe', 'tree')):
        text = 'imports, %s, %s' % (program, mode)
        windows = made.run(results, program, '--imports', imports.LISTS,
                           '--mode', mode)
        folder = os.path.join(made.folder, 'run%d' % made.number)
        path = support.sessions(folder)[0]
        filters.without_anchors(path)
        own = program.lower()
        expected = {(caller.replace('names.exe', own), function): number
                    for (caller, function), number in made.counts.items()}
        names = ['kernel32.dll!kernel32!Sleep', 'plug.dll!plug!Work',
                 'plug.dll!plug!Back'] + (
                     ['Hooked.exe!Nap', 'Hooked.exe!main']
                     if program == 'Hooked.exe' else [])
        steps = [{'op': 'pass'}, {'op': 'cost'}, {'op': 'sums', 'begin': 0},
                 {'op': 'tree', 'begin': 0}]
        steps += [{'op': op, 'name': name, 'begin': 0} for name in names
                  for op in ('callers', 'callees')]
        answer, = ask(results, {'path': path, 'steps': [{'op': 'pass'}]})
        session = answer['session']
        looks = [{'op': 'query', 'thread': thread['id'], 'begin': 0,
                  'end': session['end'] + 1, 'pixels': pixels}
                 for thread in session['threads'] for pixels in (1, 40000)]
        first, kept, early = ask(
            results, {'path': path, 'steps': steps + looks, 'keeper': text},
            {'path': path, 'steps': steps[:4] + looks, 'keeper': text},
            {'path': path, 'steps': looks[1::2]})
        got = first['results']
        right = {row['module'] + '!' + row['function']: (
            int(row['calls']), int(row['total_ticks']), int(row['self_ticks']))
                 for row in reader_rows(results, windows, 'report')}
        seen = {row['function']: (row['calls'], row['total'], row['self'])
                for row in got[2]['functions']}
        results.equal(seen, right, text + ': report, each function once')
        check_nodes_of_imports(results, text, windows, got[3])
        found = check_edges_of_imports(results, text, windows, names,
                                       got[4:4 + 2 * len(names)])
        results.equal({name for name in found if '![' in name},
                      {'names.exe![names.exe]'} if own == 'names.exe'
                      else set(), text + ': modules that called')
        if mode == 'tree':
            continue
        results.equal([one['restored'] for one in (got[1],
                                                   kept['results'][1])],
                      [[False] * len(session['threads']),
                       [True] * len(session['threads'])], text + ': kept')
        for what, answers in (
                ('read', got[-len(looks):]),
                ('kept', kept['results'][-len(looks):]),
                ('at once', early['results'])):
            check_boxes_of_imports(
                results, '%s, %s' % (text, what),
                answers if what == 'at once' else answers[1::2], expected)


def check_indexes(results, scratch):
    """Few calls at the end of a long thread, after the pass: the way there is
    in an index, be it TraceReader's, one that is of no use to the page (then
    it makes its own), or none."""
    scratch = os.path.join(scratch, 'indexes')
    os.makedirs(scratch)
    sample = programs.build_sample(os.path.join(scratch, 'sample'),
                                   programs.PENTER_FLAGS, [programs.LIBRARY])
    _, path = programs.trace(sample, '1', '25', '20',
                             directory=os.path.join(scratch, 'long'))
    alone = shutil.copytree(path, os.path.join(scratch, 'alone'))
    support.reader('report', programs.windows_path(path))
    results.check({'symbols.cache'} < set(os.listdir(path)) - set(
        os.listdir(alone)), 'TraceReader leaves what it knows',
        os.listdir(path))
    uncached = shutil.copytree(path, os.path.join(scratch, 'uncached'))
    os.remove(os.path.join(uncached, 'symbols.cache'))
    damaged = shutil.copytree(path, os.path.join(scratch, 'damaged'))
    for name in os.listdir(damaged):
        if name.endswith('.index'):
            with open(os.path.join(damaged, name), 'r+b') as file:
                file.seek(8)
                file.write(bytes(8))
    answer, = ask(results, {'path': path, 'steps': []})
    thread = max(answer['session']['threads'],
                 key=lambda thread: thread['records'])
    query = {'op': 'query', 'thread': thread['id'], 'pixels': 500,
             'begin': thread['end'] - (thread['end'] - thread['begin']) // 2000,
             'end': thread['end']}
    steps = [{'op': 'pass'}, {'op': 'cost'}, query, {'op': 'cost'}]
    kinds = {'an index': path, 'one without symbols': uncached,
             'a damaged one': damaged, 'none': alone}
    asked = [{'path': kind, 'steps': steps, 'keeper': kind}
             for kind in kinds.values()]
    answers = ask(results, *asked, *asked)
    pictures = set()
    for kind, answer in zip((*kinds, *('kept, ' + kind for kind in kinds)),
                            answers):
        _, before, picture, after = answer['results']
        pictures.add(str([box[:3] + box[4:] for box in boxes_of(picture)]))
        results.equal(before['restored'][thread['id']],
                      kind.startswith('kept'), kind + ': kept or read')
        read = after['bytesRead'] - before['bytesRead']
        results.check(read < thread['records'] * 16 // 4,
                      'what lies before is not read: ' + kind,
                      ['%d bytes of %d records' % (read, thread['records'])])
    results.equal(len(pictures), 1, 'the calls are the same')


def main():
    results = programs.Results()
    numbers = random.Random(20261126)
    if not os.path.exists(WASM):
        results.check(False, WASM + ' is built')
        return results.finish()
    with programs.Scratch() as scratch:
        threads = [calls.random_calls(numbers, 30000),
                   calls.random_calls(numbers, 9000),
                   calls.with_fiber(numbers, 3000)]
        session = calls.Session(os.path.join(scratch, 'records'), threads)
        found = session.calls()
        support.reader('report', session.session)       # symbols.cache
        check_session(results, 'records', session, found, session.folder,
                      numbers)
        other = compact.convert(session.folder,
                                os.path.join(scratch, 'compact'))
        check_session(results, 'compact', session, found, other, numbers)
        pack = os.path.join(scratch, 'made.tracepack')
        code, _, errors = support.reader(
            'pack', session.session, '--output', programs.windows_path(pack))
        results.check(code == 0, 'pack', [errors])
        check_session(results, 'pack', session, found, pack, numbers)
        check_damaged(results, scratch, session)
        check_names(results, scratch, numbers)
        check_growing(results, scratch, numbers)
        check_reading_on(results, scratch, numbers)
        check_ring(results, scratch, numbers)
        check_during(results, session, found, numbers)
        check_disturbed(results, session, found, numbers)
        check_nothing_new(results, session)
        check_imports(results, scratch)
        check_indexes(results, scratch)

        # Negative: the boxes of another session are not these.
        other = calls.Session(os.path.join(scratch, 'other'), [
            calls.random_calls(numbers, 2000)])
        steps = [{'op': 'pass'}, {'op': 'query', 'thread': 0, 'begin': 0,
                                  'end': other.last, 'pixels': 100}]
        answer, = ask(results, {'path': other.folder, 'steps': steps})
        results.check(boxes_of(answer['results'][1]) != expect(
            session, found, 1, 0, other.last), 'another session is another')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

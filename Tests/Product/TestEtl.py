#!/usr/bin/env python3
"""--etl: what threads did during calls, from an event trace log.

Sessions and logs are made up (CallSupport.py, EtlMaker.py): all calls are
known, and so is what each thread did when.  What report, tree, callers,
callees, replay, outliers, threads and info say is worked out here from both,
span by span.
"""
# Takes long.

import collections
import decimal
import glob
import json
import os
import random
import re
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestExportTraces as traces                            # noqa: E402
import CallSupport as calls                                  # noqa: E402
import CompactStores as compact                              # noqa: E402
import EtlMaker as maker                                     # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestProbe as probe                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

QPC, TSC, RATE = 500, 1000, 100     # MadeStores' first anchor; ticks a count
SYSTEM_TIME = 133_000_000_000_000_000
OTHERS = [0x2000 + 4 * index for index in range(4)]
STATES = 'running', 'ready', 'waiting'


def count(stamp):
    return QPC + (stamp - TSC) // RATE


def stamp(counted):
    return TSC + (counted - QPC) * RATE


def make_log(session, seed, first=0.0, last=1.0, **options):
    """A log of a part of a session, and its schedule."""
    length = session.last - session.first
    begin = count(session.first + int(length * first))
    end = count(session.first + int(length * last)) + 3
    options.setdefault('start', begin - 150)
    options.setdefault('start_time', SYSTEM_TIME + options['start'] - QPC)
    log = maker.Log(**options)
    threads = [*session.threads, *OTHERS]
    step = max(2, (end - begin) // 2000)
    schedule = maker.Schedule(log, random.Random(seed), threads, 4000, step,
                              first=begin,
                              processes={thread: 4242 if thread < 99 else 77
                                         for thread in threads})
    return log, schedule


class Truth:
    """What a thread did between two time stamps."""

    def __init__(self, schedule):
        self.spans = {
            thread: [(stamp(start), stamp(end), *rest)
                     for start, end, *rest in spans]
            for thread, spans in schedule.spans.items()}
        self.samples = {thread: [stamp(time) for time in times]
                        for thread, times in schedule.samples.items()}

    def sums(self, thread, begin, end):
        found = collections.Counter({'samples': sum(
            begin <= time < end for time in self.samples[thread])})
        for start, stop, state, *_ in self.spans[thread]:
            found[state] += max(0, min(stop, end) - max(start, begin))
        return found

    def wait(self, thread, begin, end):
        """(reason, ticks, by, an interrupt) of the longest wait of the reason
        that took longest."""
        total, longest = collections.Counter(), {}
        for start, stop, state, reason, by, interrupt in self.spans[thread]:
            ticks = min(stop, end) - max(start, begin)
            if state == 'waiting' and ticks > 0:
                total[reason] += ticks
                if ticks > longest.get(reason, (0,))[0]:
                    longest[reason] = ticks, by, interrupt, stop
        if not total:
            return None
        most = max(total.values())
        reason = min(one for one, ticks in total.items() if ticks == most)
        return (reason, most, *longest[reason][1:])


def by_function(found, truth):
    """(total, self) by function, of the calls that were not abandoned."""
    totals, selves = (collections.defaultdict(collections.Counter)
                      for _ in range(2))
    children = collections.defaultdict(collections.Counter)
    for call in found:
        sums = truth.sums(call.thread, call.begin, call.end)
        inner = children.pop((call.thread, call.path), collections.Counter())
        children[call.thread, call.path[:-1]].update(sums)
        if call.how == 'abandoned':
            continue
        selves[call.path[-1]].update({key: sums[key] - inner[key]
                                      for key in sums})
        if call.path[-1] not in call.path[:-1]:
            totals[call.path[-1]].update(sums)
    return totals, selves


def function_of(session, row):
    return session.modules.index(row['module']), row['function']


def check_report(results, what, session, found, log, schedule, path,
                 *arguments, **build):
    with open(path, 'wb') as file:
        file.write(log.build(**build))
    rows = session.json(results, 'report', '--etl', programs.windows_path(path),
                        *arguments).get('functions', [])
    results.check(len(rows) > 5, what + ': there are functions')
    totals, selves = by_function(found, Truth(schedule))
    wrong, unknown = [], 0
    for row in rows:
        name = function_of(session, row)
        for title, sums, ticks in (('', totals[name], row['total_ns']),
                                   ('self_', selves[name], row['self_ns'])):
            shown = [row[title + state + '_ns'] for state in STATES]
            right = [sums[state] for state in STATES]
            left = ticks - sum(right)
            unknown += left
            if shown != right or row[title + 'unknown_ns'] != left:
                wrong.append((name, title, shown, right, left))
        if row['samples'] != selves[name]['samples']:
            wrong.append((name, 'samples', row['samples']))
    results.check(not wrong, what + ': report', wrong[:4])
    return rows, unknown


def check_reports(results, scratch, path):
    numbers = random.Random(11)
    session = calls.Session(os.path.join(scratch, 'one'), [
        calls.random_calls(numbers, 900) for _ in range(3)])
    found = session.calls()
    for what, seed, options in (
            ('all', 1, {}), ('a part', 2, {'first': 0.3, 'last': 0.7}),
            ('version 5, compressed', 3, {'version': 5, 'method': 3}),
            ('nine processors', 4, {'processors': 9, 'header': 'compact'})):
        log, schedule = make_log(session, seed, **options)
        rows, unknown = check_report(results, what, session, found, log,
                                     schedule, path)
        whole = sum(row['total_ns'] for row in rows)
        results.check(unknown < whole if what == 'a part' else
                      unknown < 0.2 * whole, what + ': what is unknown',
                      [unknown, whole])
        results.check(unknown > (0.3 * whole if what == 'a part' else 0),
                      what + ': something is unknown')
        results.check(sum(row['samples'] for row in rows) > 20,
                      what + ': samples')

    check_report(results, 'by process', session, found, log, schedule, path,
                 '--by', 'process')

    #
    # A range: calls are clipped; those that are abandoned later count.
    #

    length, truth = session.last - session.first, Truth(schedule)
    low, high = (session.first + length * part // 100 for part in (35, 60))
    rows = session.json(results, 'report', '--etl',
                        programs.windows_path(path), '--from',
                        str(low - session.first), '--to',
                        str(high - session.first))['functions']
    totals = collections.defaultdict(collections.Counter)
    for call in found:
        if (call.path[-1] not in call.path[:-1] and call.begin <= high and
                call.end >= low and
                (call.how != 'abandoned' or call.end > high)):
            totals[call.path[-1]].update(truth.sums(
                call.thread, max(call.begin, low), min(call.end, high)))
    wrong = [(row, totals[function_of(session, row)]) for row in rows
             if [row[state + '_ns'] for state in STATES] !=
             [totals[function_of(session, row)][state] for state in STATES] or
             any(sum(row[title + state + '_ns']
                     for state in (*STATES, 'unknown')) != row[whole]
                 for title, whole in (('', 'total_ns'), ('self_', 'self_ns')))]
    results.check(rows and not wrong, 'a range', wrong[:2])

    #
    # A control: another schedule is not what the log says.
    #

    other = make_log(session, 5)[1]
    totals, _ = by_function(found, Truth(other))
    results.check(any(row['running_ns'] != totals[
        function_of(session, row)]['running'] for row in rows),
                  'control: of another schedule')
    return session, found


REASONS = {4: 'DelayExecution', 6: 'UserRequest', 15: 'WrQueue',
           37: 'WrAlertByThreadId'}


def innermost(found, thread, time):
    """The function that a thread was in, or None."""
    inside = [call.path for call in found
              if call.thread == thread and call.begin <= time < call.end]
    return max(inside, key=len)[-1][1] if inside else None


def check_outliers(results, session, found, path):
    log, schedule = make_log(session, 21, processors=3)
    log.named(0, log.start + 2, 77, 'other.exe')
    log.named(0, log.start + 3, 78, 'not it.exe')
    with open(path, 'wb') as file:
        file.write(log.build())
    truth, seen = Truth(schedule), collections.Counter()
    for name in ('game.exe!main', 'game.exe!Update', 'plug.dll!Plug',
                 'game.exe!DrawAll'):
        rows = session.json(results, 'outliers', '--limit', '12', '--etl',
                            programs.windows_path(path), name).get('calls', [])
        results.equal(len(rows), 12, name + ': calls')
        wrong = []
        for row in rows:
            begin = session.first + row['start_ns']
            end = begin + row['duration_ns']
            sums = truth.sums(row['thread'], begin, end)
            shown = [row[state + '_ns'] for state in STATES]
            if shown != [sums[state] for state in STATES] or (
                    row['unknown_ns'] != row['duration_ns'] - sum(shown)):
                wrong.append((row, sums))
            wait = truth.wait(row['thread'], begin, end)
            told = tuple(row[key] for key in (
                'wait_reason', 'ready_by', 'ready_by_thread',
                'ready_by_process', 'ready_by_process_name',
                'ready_by_function'))
            if wait is None:
                right = (None,) * 6
            else:
                reason, _, by, interrupt, when = wait
                right = (REASONS[reason], *(None,) * 5)
                if interrupt:
                    right = (REASONS[reason], 'interrupt', *(None,) * 4)
                elif by is not None:
                    right = (REASONS[reason], 'thread', by,
                             4242 if by < 99 else 77,
                             'game.exe' if by < 99 else 'other.exe',
                             innermost(found, by, when))
            seen[right[1], right[5] is not None] += 1
            if told != right:
                wrong.append((told, right))
        results.check(not wrong, name + ': outliers', wrong[:3])
    results.check(seen['interrupt', False] and seen['thread', False] and
                  seen['thread', True], 'outliers: of each kind', [seen])
    code, text, _ = session.run('outliers', '--etl',
                                programs.windows_path(path), 'game.exe!main')
    results.check(code == 0 and 'Wait reason' in text and ' of other.exe' in text and
                  'covers' in text, 'outliers: text', [text])


def check_threads(results, session, path):
    log, schedule = make_log(session, 22, first=0.1, last=0.8)
    with open(path, 'wb') as file:
        file.write(log.build())
    truth = Truth(schedule)
    low = (session.last - session.first) // 3
    for arguments in ((), ('--from', str(low), '--to', str(2 * low))):
        rows = session.json(results, 'threads', '--etl',
                            programs.windows_path(path),
                            *arguments).get('threads', [])
        results.equal(len(rows), 3, 'threads')
        for row in rows:
            begin, end = (session.first + row[key]
                          for key in ('first_ns', 'last_ns'))
            sums = truth.sums(row['thread_id'], begin, end)
            results.equal([row[state + '_ns'] for state in STATES],
                          [sums[state] for state in STATES], 'threads: states')
            results.equal(sum(row[state + '_ns']
                              for state in (*STATES, 'unknown')), end - begin,
                          'threads: all of the time')
            results.equal(row['samples'], sums['samples'], 'threads: samples')
    rows = session.json(results, 'threads')['threads']
    results.check('running_ns' not in rows[0], 'control: without --etl')


def shown(row, title=''):
    """What a row says; and of the rest of its time, that it is the rest."""
    whole = row[(title or 'total_') + 'ns']
    parts = [row[title + state + '_ns'] for state in STATES]
    if row[title + 'unknown_ns'] != whole - sum(parts):
        return None
    return parts


def add_up(found, truth, keys):
    """(total, self) by what keys(call) gives: (key, whether its total counts)
    each; of the calls that were not abandoned."""
    totals, selves = (collections.defaultdict(collections.Counter)
                      for _ in range(2))
    children = collections.defaultdict(collections.Counter)
    for call in found:
        sums = truth.sums(call.thread, call.begin, call.end)
        inner = children.pop((call.thread, call.path), collections.Counter())
        children[call.thread, call.path[:-1]].update(sums)
        if call.how == 'abandoned':
            continue
        for key, is_outermost in keys(call):
            selves[key].update({one: sums[one] - inner[one] for one in sums})
            if is_outermost:
                totals[key].update(sums)
    return totals, selves


def compare(rows, totals, selves, key):
    """What is wrong in the rows."""
    return [(key(row), row, totals[key(row)]) for row in rows
            if shown(row) != [totals[key(row)][state] for state in STATES] or
            shown(row, 'self_') != [selves[key(row)][state]
                                    for state in STATES] or
            row['samples'] != selves[key(row)]['samples']]


def chains(session, nodes):
    """Gives each node its chain of functions, and its thread's."""
    known = {}
    for row in nodes:
        above = known[row['parent']] if row['depth'] else ()
        known[row['node']] = row['chain'] = (*above, function_of(session, row))
    return nodes


def check_tree(results, session, found, path):
    """tree, callers and callees: each node, each edge; and the same sums as
    report's."""
    log, schedule = make_log(session, 27, first=0.05, last=0.9)
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    truth = Truth(schedule)
    report = {function_of(session, row): row for row in
              session.json(results, 'report', *etl)['functions']}
    nodes = chains(session, session.json(results, 'tree', *etl)['nodes'])
    sums = add_up(found, truth, lambda call: [(call.path, True)])
    wrong = compare(nodes, *sums, lambda row: row['chain'])
    results.check(len(nodes) > 30 and not wrong, 'tree: nodes', wrong[:2])
    results.check(any(row['running_ns'] and row['ready_ns'] and
                      row['waiting_ns'] and row['unknown_ns']
                      for row in nodes), 'tree: all states')

    # Sums of all nodes' own time are report's.
    for name in (*STATES, 'unknown'):
        by_name = collections.Counter()
        for row in nodes:
            by_name[row['chain'][-1]] += row['self_%s_ns' % name]
        results.equal({key: value for key, value in by_name.items() if value},
                      {key: row['self_%s_ns' % name] for key, row in
                       report.items() if row['self_%s_ns' % name]},
                      'tree: sums, self %s' % name)
        by_name = collections.Counter()
        for row in nodes:
            if row['chain'][-1] not in row['chain'][:-1]:
                by_name[row['chain'][-1]] += row['%s_ns' % name]
        results.equal({key: value for key, value in by_name.items() if value},
                      {key: row['%s_ns' % name] for key, row in
                       report.items() if row['%s_ns' % name]},
                      'tree: sums, %s' % name)

    # Each thread, and not the deepest; a part of the time; the general way.
    apart = chains(session, session.json(results, 'tree', '--per-thread',
                                         *etl)['nodes'])
    wrong = compare(apart, *add_up(
        found, truth, lambda call: [((call.thread, *call.path), True)]),
        lambda row: (row['thread'], *row['chain']))
    results.check(len(apart) > len(nodes) and not wrong,
                  'tree: of each thread', wrong[:2])
    few = session.json(results, 'tree', '--depth', '2', *etl)['nodes']
    results.equal([[row[key] for key in row if key.endswith('_ns')]
                   for row in few],
                  [[row[key] for key in row if key.endswith('_ns')]
                   for row in nodes if row['depth'] < 2], 'tree --depth')
    general = session.json(results, 'tree', '--general', *etl)['nodes']
    results.equal([row['waiting_ns'] for row in general],
                  [row['waiting_ns'] for row in nodes], 'tree --general')
    length = session.last - session.first
    cut = '--from', str(length // 3), '--to', str(length // 2)
    part = chains(session, session.json(results, 'tree', *etl, *cut)['nodes'])
    whole = {function_of(session, row): row for row in session.json(
        results, 'report', *etl, *cut)['functions']}
    for name in STATES:
        by_name = collections.Counter()
        for row in part:
            by_name[row['chain'][-1]] += row['self_%s_ns' % name]
        results.equal({key: by_name[key] for key in whole},
                      {key: row['self_%s_ns' % name]
                       for key, row in whole.items()},
                      'tree: of a range, self %s' % name)

    # Callers and callees: pairs of functions.
    for module, name in sorted(report)[:4] + sorted(report)[-3:]:
        text = '%s!%s' % (session.modules[module], name)
        mine = module, name

        def callers(call):
            pairs = list(zip((None, *call.path), call.path))
            return [(pairs[-1][0], pairs[-1] not in pairs[:-1])] \
                if call.path[-1] == mine else []

        def callees(call):
            pairs = list(zip((None, *call.path), call.path))
            return [(pairs[-1][1], pairs[-1] not in pairs[:-1])] \
                if pairs[-1][0] == mine else []

        for command, keys in (('callers', callers), ('callees', callees)):
            rows = session.json(results, command, *etl, text)[command]
            results.equal([rows[0][key] for key in report[mine]
                           if key.endswith('_ns') and key in rows[0]],
                          [report[mine][key] for key in report[mine]
                           if key.endswith('_ns') and key in rows[0]],
                          '%s %s: the function' % (command, text))
            wrong = compare(rows[1:], *add_up(found, truth, keys),
                            lambda row: None if row['module'] is None
                            else function_of(session, row))
            results.check(not wrong, '%s %s' % (command, text), wrong[:2])

    # Control: of another schedule; without --etl; a word in the text.
    other = add_up(found, Truth(make_log(session, 28)[1]),
                   lambda call: [(call.path, True)])
    results.check(compare(nodes, *other, lambda row: row['chain']),
                  'control: tree, of another schedule')
    for command in ('tree',), ('callers', 'game.exe!main'), (
            'callees', 'game.exe!main'), ('replay',):
        rows = list(session.json(results, *command).values())
        results.check('running_ns' not in rows[0][0],
                      'control: %s without --etl' % command[0])
        code, text, _ = session.run(*command, *etl)
        results.check(code == 0 and 'Waiting' in text.splitlines()[0] and
                      'covers' in text, '%s: text' % command[0],
                      [text[:300], text[-300:]])


def check_replay(results, session, found, path):
    """replay: each end of a call; the outermost add up to report's."""
    log, schedule = make_log(session, 29)
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    truth = Truth(schedule)
    length = session.last - session.first
    for what, arguments in (('all', ()), ('--min-duration', (
            '--min-duration', str(length // 500))), ('a range', (
                '--from', str(length // 3), '--to', str(length // 2)))):
        rows = session.json(results, 'replay', *etl, *arguments)['events']
        wrong, ends = [], 0
        for row in rows:
            parts = [row[state + '_ns'] for state in (*STATES, 'unknown')]
            if row['duration_ns'] is None:
                wrong += [row] if parts != [None] * 4 else []
                continue
            end = session.first + row['time_ns']
            sums = truth.sums(row['thread_id'], end - row['duration_ns'], end)
            right = [sums[state] for state in STATES]
            ends += 1
            if parts != [*right, row['duration_ns'] - sum(right)]:
                wrong.append((row, right))
        results.check(ends > 20 and not wrong, 'replay: ' + what, wrong[:2])
        if what != 'all':
            continue
        open_calls = collections.Counter()
        sums = collections.defaultdict(collections.Counter)
        for row in rows:
            key = row['thread_id'], *function_of(session, row)
            if row['event'] == 'enter':
                open_calls[key] += 1
            elif row['event'] in ('exit', 'abandoned', 'open'):
                open_calls[key] -= 1
                if row['event'] != 'abandoned' and not open_calls[key]:
                    sums[key[1:]].update({state: row[state + '_ns']
                                          for state in STATES})
        report = session.json(results, 'report', *etl)['functions']
        results.equal([sums[function_of(session, row)][state]
                       for row in report for state in STATES],
                      [row[state + '_ns'] for row in report
                       for state in STATES], 'replay: its sums are report\'s')
        rows = session.json(results, 'replay', *etl, '--wall',
                            'utc')['events']
        results.check(all('wall_time' in row and 'running_ns' in row
                          for row in rows), 'replay: with --wall')


def nanoseconds(text):
    """Of Chrome's microseconds."""
    return int(decimal.Decimal(text) * 1000)


def read_chrome(path):
    """(calls, states): [(thread, name, begin, end, marks)] in the order of
    their ends, and {thread: [(begin, end, state, reason)]}."""
    with open(path, encoding='utf-8') as file:
        events = json.load(file, parse_float=str)['traceEvents']
    found, states, stacks, names = [], {}, collections.defaultdict(list), {}
    for event in events:
        if event['ph'] == 'M' and event['name'] == 'thread_name':
            names[event['tid']] = event['args']['name']
    for event in events:
        if event['ph'] == 'X':
            title = names[event['tid']]
            if event['cat'] != 'state' or not title.endswith(
                    ': running, ready, waiting'):
                raise RuntimeError('%s: %s' % (title, event))
            begin = nanoseconds(event['ts'])
            states.setdefault(int(title.split()[1].rstrip(':')), []).append(
                (begin, begin + nanoseconds(event['dur']),
                 event['name'].lower(), event.get('args', {}).get('reason')))
        elif event['ph'] == 'B':
            stacks[event['tid']].append((event['name'],
                                         nanoseconds(event['ts'])))
        elif event['ph'] == 'E':
            name, begin = stacks[event['tid']].pop()
            found.append((event['tid'], name, begin,
                          nanoseconds(event['ts']), event.get('mark')))
    return found, states


def read_perfetto(path):
    """The same; the calls have no marks but abandoned."""
    found, states, stacks = [], {}, collections.defaultdict(list)
    names, tracks, packets = {}, {}, []
    for packet in traces.decode(path)['packet']:
        for data in packet.get('interned_data', []):
            for entry in data.get('event_names', []):
                names[entry['iid'][0]] = entry['name'][0]
        for track in packet.get('track_descriptor', []):
            thread = track.get('thread', [{}])[0].get('tid')
            tracks[track['uuid'][0]] = (thread[0], False) if thread else (
                int(track['name'][0].split()[1].rstrip(':')), True) \
                if 'name' in track else None
        for event in packet.get('track_event', []):
            packets.append((packet['timestamp'][0], event))
    for time, event in packets:
        thread, is_of_states = tracks[event['track_uuid'][0]]
        stack = stacks[thread, is_of_states]
        notes = {note['name'][0]: note for note in
                 event.get('debug_annotations', []) if 'name' in note}
        if event['type'] == ['TYPE_SLICE_BEGIN']:
            stack.append((time, event.get('name', [None])[0] or
                          names[event['name_iid'][0]],
                          notes['reason']['string_value'][0]
                          if 'reason' in notes else None))
            if is_of_states != (event.get('categories') == ['state']):
                raise RuntimeError('category: %s' % event)
            continue
        begin, name, reason = stack.pop()
        if is_of_states:
            states.setdefault(thread, []).append((begin, time, name.lower(),
                                                  reason))
        else:
            found.append((thread, name, begin, time,
                          'abandoned' if 'abandoned' in notes else None))
    return found, states


def overlaps(spans, begin, end):
    found = collections.Counter()
    for start, stop, state, _ in spans:
        found[state] += max(0, min(stop, end) - max(start, begin))
    return found


def check_exports(results, session, found, scratch, path):
    """chrome and perfetto: spans beside the calls.  What falls into them is
    what report says; what there is in all, what threads says."""
    log, schedule = make_log(session, 31, first=0.1, last=0.85)
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    truth = Truth(schedule)
    length = session.last - session.first
    folder = os.path.join(scratch, 'exported')
    os.makedirs(folder)

    def export(form, *arguments):
        for old in glob.glob(os.path.join(folder, '*')):
            os.remove(old)
        code, _, errors = session.run(
            'export', '--format', form, '-o',
            programs.windows_path(os.path.join(folder, 'one.out')),
            *arguments)
        results.equal(code, 0, 'export %s %s: %s' % (form, arguments[:1],
                                                     errors))
        return sorted(glob.glob(os.path.join(folder, '*.out')),
                      key=lambda name: (len(name), name))

    for form, read in (('chrome', read_chrome), ('perfetto', read_perfetto)):
        if form == 'perfetto' and not shutil.which('protoc'):
            continue
        for what, arguments in (('all', ()), ('a range', (
                '--from', str(length // 4), '--to', str(length // 2))), (
                    'a thread', ('--thread', str(session.threads[1]))), (
                        'in files', ('--split-size', '64K'))):
            what = '%s, %s' % (form, what)
            files = export(form, *etl, *arguments)
            results.equal(len(files) > 2, 'in files' in what, what + ': files')
            ended, states = [], {}
            for name in files:
                one, spans = read(name)
                ended += one
                for thread, these in spans.items():
                    states.setdefault(thread, []).extend(these)
            cut = arguments if 'in files' not in what else ()
            threads = {row['thread_id']: row for row in session.json(
                results, 'threads', *etl, *cut)['threads']}
            if 'range' not in what:
                results.equal({thread: [sum(
                    end - begin for begin, end, state, _ in spans
                    if state == name) for name in STATES]
                               for thread, spans in states.items()},
                              {thread: [row[name + '_ns'] for name in STATES]
                               for thread, row in threads.items()},
                              what + ': as threads says')
            for thread, spans in states.items():
                results.check(all(first[1] <= second[0] for first, second in
                                  zip(spans, spans[1:])),
                              what + ': one after the other')
                if 'in files' in what:
                    continue
                low, high = (threads[thread][key]
                             for key in ('first_ns', 'last_ns'))
                if 'range' in what:
                    low, high = length // 4, length // 2
                right = [(max(start - session.first, low),
                          min(stop - session.first, high), state,
                          REASONS[reason] if state == 'waiting' else None)
                         for start, stop, state, reason, *_ in
                         truth.spans[thread]]
                right = [one for one in right if one[0] < one[1] and
                         one[2] in STATES]
                results.check(spans == right, what + ': the schedule', [
                    (one, other) for one, other in zip(spans, right)
                    if one != other][:3])
            if 'in files' in what:
                continue
            if cut:
                continue
            sums, expected = {}, {}
            for thread, name, begin, end, mark in ended:
                if mark != 'abandoned':
                    sums[thread, name, begin, end] = {
                        state: number for state, number in overlaps(
                            states[thread], begin, end).items() if number}
            for call in found:
                if call.how != 'abandoned':
                    expected[call.thread, call.path[-1][1],
                             call.begin - session.first,
                             call.end - session.first] = {
                        state: number for state, number in truth.sums(
                            call.thread, call.begin, call.end).items()
                        if state in STATES and number}
            results.equal(sums, expected, what + ': of each call')

            # And so report's: what is outermost of a function, in all.
            totals = collections.defaultdict(collections.Counter)
            for call in found:
                if call.how != 'abandoned' and \
                        call.path[-1] not in call.path[:-1]:
                    totals[call.path[-1]].update(sums[
                        call.thread, call.path[-1][1],
                        call.begin - session.first, call.end - session.first])
            report = session.json(results, 'report', *etl)['functions']
            results.equal([[row[state + '_ns'] for state in STATES]
                           for row in report],
                          [[totals[function_of(session, row)][state]
                            for state in STATES] for row in report],
                          what + ': as report says')
        results.check(not read(export(form)[0])[1],
                      'control: %s without --etl' % form)

    # csv is report's; others have no place for it.
    name, = export('csv', *etl)
    with open(name, encoding='utf-8') as file:
        text = file.read()
    results.equal(text.splitlines(), session.run(
        'report', '--csv', *etl)[1].splitlines(), 'csv: as report')
    for form in ('fxt', 'speedscope', 'folded', 'callgrind', 'csv-osr',
                 'csv-cap', 'html', 'parquet'):
        code, _, errors = session.run(
            'export', '--format', form, '-o',
            programs.windows_path(os.path.join(folder, 'no.out')), *etl)
        results.check(code == 1 and 'no place' in errors and
                      not os.path.exists(os.path.join(folder, 'no.out')),
                      '%s: refused' % form, [code, errors])


def attached_again(folder, is_again):
    """Threads 1 and 2, and 3, which is thread 1 once more if is_again: its
    stores say that it was created when that was."""
    numbers = random.Random(17)
    first = calls.random_calls(numbers, 300)
    second = calls.random_calls(numbers, 300)
    third = calls.random_calls(numbers, 300,
                               max(first[-1][0], second[-1][0]) + 50_000)
    session = calls.Session(folder, [first, second, third])
    for name in os.listdir(session.folder):
        number = int(name.split('-')[1])
        path = os.path.join(session.folder, name)
        with open(path, 'r+b') as file:
            header = bytearray(file.read(4096))
            struct.pack_into('<H', header, 0x0A, 6)
            struct.pack_into('<I', header, 0xF50, 8)
            struct.pack_into('<Q', header, 0xF58, SYSTEM_TIME - (
                number if is_again and number != 3 else
                1 if is_again else number))
            if is_again and number == 3:
                struct.pack_into('<I', header, 0x1C, 1)
            if number == 1:     # what is known of it ends with its records
                struct.pack_into('<II', header, 0x80, 2, 2)
                end = stamp(count(first[-1][0]) + 1)
                values = end, count(end), SYSTEM_TIME + count(end) - QPC
                struct.pack_into('<4Q', header, 0x100, *values,
                                 values[0] ^ values[1] ^ values[2])
            file.seek(0)
            file.write(header)
        if is_again and number == 3:
            os.rename(path, path.replace('-3-', '-1-').replace(
                '-0.trace', '-7.trace'))
    return session


def check_again(results, scratch, path):
    """A thread that was attached to again is one: in threads --etl, in trees
    of threads and in exports."""
    session = attached_again(os.path.join(scratch, 'again'), True)
    apart = attached_again(os.path.join(scratch, 'apart'), False)
    log, schedule = make_log(session, 33)
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    truth = Truth(schedule)
    found = collections.defaultdict(list)
    for call in apart.calls():
        found[1 if call.thread == 3 else call.thread].append(call)

    rows = session.json(results, 'threads', *etl)['threads']
    results.equal(sorted(row['thread_id'] for row in rows), [1, 2],
                  'again: threads')
    results.equal([row['stores'] for row in rows if row['thread_id'] == 1],
                  [4], 'again: stores')
    results.equal(len(apart.json(results, 'threads')['threads']), 3,
                  'control: of other times of creation')
    for row in rows:
        begin, end = (session.first + row[key]
                      for key in ('first_ns', 'last_ns'))
        sums = truth.sums(row['thread_id'], begin, end)
        results.equal([row[state + '_ns'] for state in STATES] + [
            sum(row[state + '_ns'] for state in (*STATES, 'unknown'))],
                      [sums[state] for state in STATES] + [end - begin],
                      'again: what thread %d did' % row['thread_id'])
        results.equal(row['calls'], len(found[row['thread_id']]),
                      'again: its calls')

    nodes = session.json(results, 'tree', '--per-thread', *etl)['nodes']
    others = apart.json(results, 'tree', '--per-thread')['nodes']
    results.equal((len({row['track'] for row in nodes}),
                   len({row['track'] for row in others})), (2, 3),
                  'again: tracks of tree')
    chains(session, nodes)
    results.equal({(row['thread'], row['chain']): row['calls']
                   for row in nodes},
                  dict(collections.Counter(
                      (thread, call.path) for thread, these in found.items()
                      for call in these)), 'again: nodes')
    wrong = compare(nodes, *add_up(
        [call._replace(thread=thread) for thread, these in found.items()
         for call in these], truth,
        lambda call: [((call.thread, *call.path), True)]),
        lambda row: (row['thread'], *row['chain']))
    results.check(not wrong, 'again: states of nodes', wrong[:2])

    for form, read in (('chrome', read_chrome), ('perfetto', read_perfetto)):
        if form == 'perfetto' and not shutil.which('protoc'):
            continue
        name = os.path.join(scratch, 'again.' + form)
        session.run('export', '--format', form, '-o',
                    programs.windows_path(name), *etl)
        ended, states = read(name)
        results.equal(collections.Counter(
            (thread, function) for thread, function, *_ in ended),
                      collections.Counter(
                          (thread, call.path[-1][1])
                          for thread, these in found.items()
                          for call in these), form + ': again, calls')
        results.equal({thread: [sum(end - begin for begin, end, state, _
                                    in spans if state == one)
                                for one in STATES]
                       for thread, spans in states.items()},
                      {row['thread_id']: [row[state + '_ns']
                                          for state in STATES]
                       for row in rows}, form + ': again, states')
    for form, count in (('speedscope', lambda data: len(data['profiles'])),
                        ('html', lambda data: len(data['tracks']))):
        found_tracks = []
        for one in session, apart:
            name = os.path.join(scratch, 'again.' + form)
            if os.path.exists(name):
                os.remove(name)
            code, _, errors = one.run('export', '--format', form, '-o',
                                      programs.windows_path(name),
                                      *support.as_picture(form))
            results.equal(code, 0, '%s: again: %s' % (form, errors))
            with open(name, encoding='utf-8') as file:
                text = file.read()
            if form == 'html':
                text = re.search(r'id="session">(.*?)</script>', text,
                                 re.S)[1]
            found_tracks.append(count(json.loads(text)))
        results.equal(found_tracks, [2, 3], '%s: again, tracks' % form)


def check_refused(results, session, path):
    def refused(what, words, *arguments, **options):
        log, _ = make_log(session, 30, **options)
        with open(path, 'wb') as file:
            file.write(log.build())
        code, _, errors = session.run('report', '--etl',
                                      programs.windows_path(path), *arguments)
        results.check(code == 1 and words in errors, 'refused: ' + what,
                      [code, errors])

    refused('system time', 'system times', clock=2)
    refused('another rate', 'another machine', frequency=10 ** 7 + 1)
    refused('another boot', 'another boot', start_time=SYSTEM_TIME - 10 ** 9)
    refused('cycles of another boot', 'another boot', clock=3,
            start_time=SYSTEM_TIME + 10 ** 9)
    refused('Xpress Huffman', 'Xpress Huffman', method=4)
    log = maker.Log(start=count(session.first), start_time=SYSTEM_TIME)
    log.noise(0, count(session.first) + 9)
    with open(path, 'wb') as file:
        file.write(log.build())
    for data, words in ((log.build(), 'no context switches'),
                        (b'text' * 500, 'not an event trace log'),
                        (None, 'read the log')):
        os.remove(path)
        if data is not None:
            with open(path, 'wb') as file:
                file.write(data)
        for command in (('report',), ('threads',), ('outliers', 'main'),
                        ('tree',), ('callers', 'main'), ('callees', 'main'),
                        ('replay',)):
            code, _, errors = session.run(*command, '--etl',
                                          programs.windows_path(path))
            results.check(code == 1 and words in errors,
                          '%s: %s' % (command, words), [code, errors])


def check_info(results, session, path):
    log, schedule = make_log(session, 23, first=0.25, last=0.75, method=3,
                             processors=5, events_lost=7, buffers_lost=2)
    windows = programs.windows_path(path)
    times = [stamp(time) for events in log.events for time, event in events]
    switches = [stamp(time) for events in log.events for time, event in events
                if struct.unpack_from('<H', event, 6)[0] == maker.HOOK_SWITCH]
    for lost in ((), (3, 4)):
        with open(path, 'wb') as file:
            file.write(log.build(lost=lost))
        row = session.json(results, 'info', '--etl', windows)['etl'][0]
        length = session.last - session.first
        if not lost:
            first, last = min(switches), max(times)
            results.equal((row['covered_from_ns'], row['covered_to_ns']),
                          (first - session.first, last - session.first),
                          'info: the part that is covered')
            results.check(abs(row['covered_percent'] - 100 * (last - first) /
                              length) < 0.011, 'info: its share', [row])
            results.equal(row['switches'], len(switches), 'info: switches')
        results.equal([row[key] for key in (
            'clock_type', 'processors', 'threads_seen', 'events_lost',
            'buffers_lost', 'buffers_missing', 'cut_off')],
            ['counter', 5, 3, 7, 2, len(lost), 'no'], 'info: the log')
        results.equal(bool(row['gaps']), bool(lost), 'info: gaps')
        results.check(row['buffers_compressed'] == row['buffers'] - 1,
                      'info: compressed')
    results.check('etl' not in session.json(results, 'info'),
                  'control: info without --etl')
    code, text, _ = session.run('info', '--etl', windows)
    results.check(code == 0 and 'Covered, %' in text, 'info: text', [text])
    code, text, _ = session.run('report', '--etl', windows)
    results.check('it lost 7 events and 2 buffers' in text,
                  'report: what is lost is said', [text])

    #
    # What was asked for is there where a narrow screen has no room for all.
    #

    for more, there in ((('--etl', windows), True), ((), False)):
        _, text, _ = session.run('report', '--width', '120', *more)
        title = text.splitlines()[0]
        results.check(('Waiting' in title and 'Unknown' in title) == there and
                      'Not shown, for the width' in text,
                      'report: 120 columns wide', [text[:400]])

    #
    # Without events of ready threads they are part of waiting.
    #

    log, schedule = make_log(session, 24)
    log.events = [[one for one in events if struct.unpack_from(
        '<H', one[1], 6)[0] != maker.HOOK_READY] for events in log.events]
    with open(path, 'wb') as file:
        file.write(log.build())
    code, text, _ = session.run('report', '--etl', windows)
    results.check('ready is part of waiting' in text, 'no ready events')


def check_forms(results, session, scratch, path):
    """The same of a pack, and of compact stores."""
    log, _ = make_log(session, 25)
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    packed = os.path.join(scratch, 'one.tracepack')
    code, _, errors = support.reader('pack', session.session,
                                     '--output', programs.windows_path(packed))
    results.equal(code, 0, 'pack: %s' % errors)
    folder = os.path.join(scratch, 'compact')
    os.makedirs(folder)
    for name in os.listdir(session.folder):
        if name.endswith('.trace'):
            with open(os.path.join(session.folder, name), 'rb') as file:
                data = compact.make(file.read())
            with open(os.path.join(folder, name), 'wb') as file:
                file.write(data)
    for what in (('report',), ('outliers', 'game.exe!main'), ('threads',),
                 ('tree',), ('replay',)):
        command = what[0], '--json', *etl, *what[1:]
        texts = [support.reader(*command, programs.windows_path(one))[1]
                 for one in (session.folder, packed, folder)]
        texts = [[line for line in text.splitlines() if '"bytes"' not in line]
                 if what[0] != 'threads' else text.count('"running_ns"')
                 for text in texts]
        results.check(texts[0] and texts[0] == texts[1] == texts[2],
                      '%s: of a session, a pack and compact stores' % what[0])


def check_modes(results, scratch, path):
    """Traced programs in each mode: the parts of all times make them up."""
    program = programs.build_sample(os.path.join(scratch, 'sample'),
                                    programs.PENTER_FLAGS, [programs.LIBRARY])
    for mode in ('file', 'ring', 'compact', 'tree'):
        directory = os.path.join(scratch, 'mode-' + mode)
        programs.trace(program, '2', '30', '5', directory=directory,
                       TRACER_MODE=mode, TRACER_MAX_BYTES='4M')
        session = support.sessions(directory)[0]
        anchors, threads = [], set()
        for store in support.stores(session):
            with open(store, 'rb') as file:
                data = file.read(4096)
            anchors += [struct.unpack_from('<3Q', data, place)
                        for place in (0x0E0, 0x100)]
            threads.add(struct.unpack_from('<I', data, 0x1C)[0])
            frequency, = struct.unpack_from('<Q', data, 0x0C0)
        anchors = sorted(anchor for anchor in anchors if anchor[0])
        low, high = anchors[0][1] - frequency, anchors[-1][1] + frequency
        log = maker.Log(frequency=frequency, start=low,
                        start_time=anchors[0][2] - 10 ** 7)
        for index, thread in enumerate(sorted(threads)):
            log.switch(index % 2, low + 10, thread, 0, maker.RUNNING)
            step = max(1, (high - low) // 3000)
            for number, time in enumerate(range(low + 20 + index, high, step)):
                if number % 2:
                    log.switch(index % 2, time, thread, 0, maker.RUNNING)
                else:
                    log.switch(index % 2, time, 0, thread, maker.WAITING, 4)
        with open(path, 'wb') as file:
            file.write(log.build())
        code, text, errors = support.reader(
            'report', '--json', '--etl', programs.windows_path(path),
            programs.windows_path(session))
        if not results.equal(code, 0, '%s: %s' % (mode, errors)):
            continue
        rows = json.loads(text)['functions']
        results.check(len(rows) > 5, mode + ': functions')
        if mode == 'tree':
            results.check(all(row['running_ns'] is None for row in rows),
                          'tree: there are no times of calls')
            _, text, _ = support.reader(
                'report', '--etl', programs.windows_path(path),
                programs.windows_path(session))
            results.check('Calls in trees have no times' in text,
                          'tree: that is said', [text])
            _, text, _ = support.reader(
                'threads', '--json', '--etl', programs.windows_path(path),
                programs.windows_path(session))
            for row in json.loads(text)['threads']:
                whole = row['last_ns'] - row['first_ns']
                results.check(
                    abs(sum(row[state + '_ns']
                            for state in (*STATES, 'unknown')) - whole) < 9 and
                    0.3 < row['running_ns'] / whole < 0.7,
                    'tree: what its threads did', [row])
            continue
        wrong = [row for row in rows for title, total in
                 (('', 'total_ns'), ('self_', 'self_ns'))
                 if abs(sum(row[title + state + '_ns']
                            for state in (*STATES, 'unknown')) -
                        row[total]) > 4]
        results.check(not wrong, mode + ': all of the time', wrong[:2])
        whole = max(rows, key=lambda row: row['total_ns'])
        results.check(whole['unknown_ns'] < 0.05 * whole['total_ns'] and
                      0.3 < whole['running_ns'] / whole['total_ns'] < 0.7 and
                      0.3 < whole['waiting_ns'] / whole['total_ns'] < 0.7,
                      mode + ': half of it ran', [whole])


def check_pause(results, scratch, path):
    """Time in which recording was stopped is in no part, by hand."""
    zero, top = TSC + 10 ** 6, calls.made.TOP - 0x100

    def at(time):
        return zero + 1000 * time

    def record(time, function, depth, leaving=False):
        return (at(time), calls.rva(function) + 9 * leaving,
                top - 64 * depth, calls.made.EXIT if leaving else
                calls.made.ENTER)

    session = calls.Session(os.path.join(scratch, 'pause'), [[
        record(1000, 0, 1), record(2000, 1, 2), record(8000, 1, 2, True),
        record(9000, 0, 1, True)]])
    log = maker.Log(start=count(at(0)),
                    start_time=SYSTEM_TIME + count(at(0)) - QPC)
    for time, new, old, state in ((500, 1, 0, maker.RUNNING),
                                  (2500, 0, 1, maker.WAITING),
                                  (6000, 1, 0, maker.RUNNING),
                                  (7500, 0, 1, maker.READY),
                                  (7700, 1, 0, maker.RUNNING),
                                  (8500, 0, 1, maker.WAITING)):
        log.switch(0, count(at(time)), new, old, state, 6)
    log.noise(1, count(at(9500)))
    with open(path, 'wb') as file:
        file.write(log.build())
    etl = '--etl', programs.windows_path(path)
    for stops, main_right, update_right, row_right in (
            (((3000, 7000),), (2800, 200, 1000, 0), (1300, 200, 500, 0),
             (2800, 200, 1000, 0)),
            ((), (3800, 200, 4000, 0), (2300, 200, 3500, 0),
             (3800, 200, 4000, 0))):
        control = os.path.join(session.folder, support.CONTROL_NAME)
        if os.path.exists(control):
            os.remove(control)
        if stops:
            support.write_control(session.folder, [
                (kind, at(time), '', 0) for stop in stops
                for kind, time in zip((2, 1), stop)])
        rows = {row['function']: row for row in
                session.json(results, 'report', *etl)['functions']}
        one = session.json(results, 'outliers', *etl, 'game.exe!main')
        thread = session.json(results, 'threads', *etl)['threads'][0]
        nodes = {row['function']: row for row in
                 session.json(results, 'tree', *etl)['nodes']}
        ends = {row['function']: row for row in
                session.json(results, 'replay', *etl)['events']
                if row['event'] == 'exit'}
        what = 'stopped' if stops else 'control: not stopped'
        for row, right in ((rows['main'], main_right),
                           (rows['Update'], update_right),
                           (one['calls'][0], main_right),
                           (nodes['main'], main_right),
                           (nodes['Update'], update_right),
                           (ends['main'], main_right),
                           (ends['Update'], update_right),
                           (thread, row_right)):
            results.equal(tuple(row[state + '_ns'] // 1000
                                for state in (*STATES, 'unknown')), right,
                          what)


def check_probe(results, scratch, path):
    """What hooks cost cannot be taken out of what threads did."""
    numbers = random.Random(12)
    session = calls.Session(os.path.join(scratch, 'probe'),
                            [calls.random_calls(numbers, 100)],
                            changes=probe.costs(5 * 256, 9 * 256))
    log, _ = make_log(session, 26)
    with open(path, 'wb') as file:
        file.write(log.build())
    for more, expected in (((), 0), (('--subtract-probe',), 1)):
        code, _, errors = session.run('report', *more, '--etl',
                                      programs.windows_path(path))
        results.check(code == expected and
                      ('exclude each other' in errors) == bool(more),
                      'with the cost of hooks: %s' % (more,), [errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        path = os.path.join(scratch, 'log.etl')
        session, found = check_reports(results, scratch, path)
        check_outliers(results, session, found, path)
        check_threads(results, session, path)
        check_tree(results, session, found, path)
        check_replay(results, session, found, path)
        check_exports(results, session, found, scratch, path)
        check_info(results, session, path)
        check_forms(results, session, scratch, path)
        check_refused(results, session, path)
        check_pause(results, scratch, path)
        check_probe(results, scratch, path)
        check_again(results, scratch, path)
        check_modes(results, scratch, path)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

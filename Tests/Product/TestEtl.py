#!/usr/bin/env python3
"""--etl: what threads did during calls, from an event trace log.

Sessions and logs are made up (CallSupport.py, EtlMaker.py): all calls are
known, and so is what each thread did when.  What report, outliers, threads and
info say is worked out here from both, span by span.
"""

import collections
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import EtlMaker as maker                                     # noqa: E402
import StoreSupport as support                               # noqa: E402
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

    #
    # A control: another schedule is not what the log says.
    #

    other = make_log(session, 5)[1]
    totals, _ = by_function(found, Truth(other))
    results.check(any(row['running_ns'] != totals[
        function_of(session, row)]['running'] for row in rows),
                  'control: of another schedule')
    return session, found


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        path = os.path.join(scratch, 'log.etl')
        session, found = check_reports(results, scratch, path)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TraceReader outliers, the percentiles of report, and how a function is named
on the command line.

The sessions are made up.  What is expected is computed from all calls, which
trace_reader.py pairs: sorted durations give the exact percentiles, of which
those that are shown may exceed by a 32nd.
"""
# Takes long.

import collections
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

SHARES = {'p50_ns': 500, 'p90_ns': 900, 'p99_ns': 990, 'p99_9_ns': 999}
NOTHING = 3                 # exit code


def wrong_shares(row, durations, shares):
    return [(field, row[field], calls.exact(durations, share))
            for field, share in shares.items() if field in row and
            not calls.is_near(row[field], durations, share)]


def check_report(results, session, found):
    """Percentiles, whichever way the report is made."""
    durations = collections.defaultdict(list)
    for call in found:
        if call.how != 'abandoned':
            durations[call.path[-1]].append(call.elapsed)
    for name in durations:
        durations[name].sort()
    reports = [session.json(results, 'report', *way)['functions']
               for way in ([], ['--general', '--workers', '1'],
                           ['--workers', '3'])]
    results.check(reports[0] == reports[1] == reports[2],
                  'report: the same percentiles in every way')
    wrong, off = [], 0
    for row in reports[0]:
        name = session.modules.index(row['module']), row['function']
        wrong += wrong_shares(row, durations[name], SHARES)
        off += calls.exact(durations[name], 900) != row['p90_ns']
    results.check(not wrong and len(reports[0]) == len(durations),
                  'report: percentiles', wrong)
    results.check(off, 'report: some percentiles are not exact ones')

    # Others than those asked for are seen to be others.
    for field, share in (('p50_ns', 550), ('p90_ns', 860), ('p99_ns', 950)):
        results.check(any(not calls.is_near(
            row[field],
            durations[session.modules.index(row['module']), row['function']],
            share) for row in reports[0]), 'control: %s' % field)

    code, text, _ = session.run('report')
    results.check(code == 0 and ' p99 ' not in text, 'report: as text')
    code, text, _ = session.run('report', '--percentiles')
    results.check(code == 0 and ' p50 ' in text and ' p99 ' in text,
                  'report: --percentiles', [text])


def expected_rows(session, mine, limit):
    """The rows of the slowest calls."""
    order = sorted(mine, key=lambda call: (-call.elapsed, call.begin,
                                           call.thread, len(call.path)))
    rows = []
    for call in order[:limit]:
        rows.append({
            'duration_ns': call.elapsed,
            'start_ns': call.begin - session.first, 'thread': call.thread,
            'fiber': 0, 'depth': len(call.path) - 1, 'self_ns': call.self,
            'child_ns': max(call.child.values()) if call.child else None,
            'module': session.modules[call.path[-1][0]],
            'function': call.path[-1][1],
            'path': ';'.join(name for _, name in call.path[:-1]) or
                    '(outermost)'})
    return rows


def check_outliers(results, session, found, name, arguments=(), limit=10,
                   select=lambda call: True, clip=lambda call: call):
    """One command against the calls of the functions of one name."""
    what = 'outliers %s %s' % (name, ' '.join(arguments))
    mine = [clip(call) for call in found
            if call.path[-1] in name and select(call)]
    done = [call for call in mine if call.how == 'completed']
    durations = sorted(call.elapsed for call in done)
    spelled = name[0][1] if len(name) > 1 else '%s!%s' % (
        session.modules[name[0][0]].split('.')[0].upper(), name[0][1])
    data = session.json(results, 'outliers', spelled, *arguments)
    if not data or not results.check(durations, what + ': there are calls'):
        return None

    row = data['summary'][0]
    results.equal((row['calls'], row['min_ns'], row['max_ns'],
                   row['average_ns'], row['abandoned'], row['unfinished']),
                  (len(durations), durations[0], durations[-1],
                   sum(durations) // len(durations),
                   sum(call.how == 'abandoned' for call in mine),
                   sum(call.how == 'open' for call in mine)),
                  what + ': summary')
    for how, field in (('abandoned', 'abandoned_max_ns'),
                       ('open', 'unfinished_max_ns')):
        results.equal(row[field], max((call.elapsed for call in mine
                                       if call.how == how), default=0),
                      what + ': ' + field)
    wrong = wrong_shares(row, durations, SHARES)
    results.check(not wrong, what + ': percentiles', wrong)

    rows = expected_rows(session, done, limit)
    seen = [{field: row[field] for field in rows[0]} for row in data['calls']]
    results.check(seen == rows, what + ': the slowest calls',
                  [pair for pair in zip(seen, rows) if pair[0] != pair[1]])
    children = [call.child for call in sorted(
        done, key=lambda call: (-call.elapsed, call.begin, call.thread,
                                len(call.path)))[:limit]]
    results.check(all(
        not child if row['child_function'] is None else
        max(child.values()) == max(
            ticks for (_, function), ticks in child.items()
            if function == row['child_function'])
        for row, child in zip(data['calls'], children)),
        what + ': largest children')

    counts = collections.Counter(duration.bit_length()
                                 for duration in durations)
    shown = {(row['from_ns'], row['to_ns']): row['calls']
             for row in data['histogram']}
    results.equal({edges: count for edges, count in shown.items() if count},
                  {(1 << bits >> 1, 1 << bits): count
                   for bits, count in counts.items()}, what + ': histogram')

    by_caller = collections.defaultdict(list)
    for call in done:
        by_caller[call.path[-2] if len(call.path) > 1 else None].append(
            call.elapsed)
    wrong = []
    for row in data['callers']:
        caller = None
        if row['module'] is not None:
            caller = session.modules.index(row['module']), row['caller']
        ticks = sorted(by_caller.pop(caller, [0]))
        wrong += wrong_shares(row, ticks, SHARES)
        if (row['calls'], row['max_ns']) != (len(ticks), ticks[-1]):
            wrong.append((row, len(ticks), ticks[-1]))
    results.check(not wrong and not by_caller, what + ': callers', wrong)
    seen = [session.modules.index(row['module']) if row['module'] else None
            for row in data['callers']]
    results.equal([(home, None if home is None else row['caller'])
                   for home, row in zip(seen, data['callers'])],
                  expected_callers(done), what + ': order of callers')
    return data


def expected_callers(done):
    """Callers by their slowest call, then by calls, then as they come up in
    the threads, one after another."""
    longest, number = {}, collections.Counter()
    for call in done:
        caller = call.path[-2] if len(call.path) > 1 else (None, None)
        longest[caller] = max(longest.get(caller, 0), call.elapsed)
        number[caller] += 1
    return sorted(longest, key=lambda one: (-longest[one], -number[one]))


def check_range(results, session, found):
    """With --from and --to, times are of the part in between."""
    middle = sorted(call.begin for call in found)
    low, high = middle[len(middle) // 4], middle[len(middle) * 3 // 4]

    def clip(call):
        begin = max(call.begin, low)
        how, end = call.how, call.end
        if end > high:
            how, end = 'open', high
        return call._replace(begin=begin, elapsed=end - begin, how=how)

    name = [(0, 'Update'), (1, 'Update')]
    mine = [clip(call) for call in found if call.path[-1] in name and
            call.end >= low and call.begin <= high]
    data = session.json(results, 'outliers', 'Update', '--limit', '100000',
                        '--from', '%dns' % (low - session.first),
                        '--to', '%d' % (high - session.first))
    rows = [row['duration_ns'] for row in data['calls']]
    right = sorted((call.elapsed for call in mine if call.how == 'completed'),
                   reverse=True)
    results.check(rows == right and len(right) > 50, 'outliers: a range',
                  [len(rows), len(right), rows[:5], right[:5]])
    row = data['summary'][0]
    results.equal((row['unfinished'], row['begun_before']),
                  (sum(call.how == 'open' for call in mine),
                   sum(call.path[-1] in name and
                       call.begin < low <= call.end for call in found)),
                  'outliers: a range, cut calls')


def check_names(results, session):
    """Which function a name means, and what is said when that is not clear."""
    for name, meant in (('Draw', 'Draw'), ('m', 'main'),
                        ('operator!=', 'operator!='), ('Grö', 'Größe'),
                        ('Game!DrawA', 'DrawAll'), ('plug!L', 'Load<int>')):
        data = session.json(results, 'outliers', name)
        results.equal({row['function'] for row in data.get('calls', [])},
                      {meant}, 'a name: %s' % name)
    for command, name, code, said, unsaid in (
            ('outliers', 'Dra', 1,
             ['several names begin with Dra', 'game.exe!Draw\n',
              'game.exe!DrawAll\n'], ['Update']),
            ('callers', 'draw', 3,
             ['has the name draw', 'game.exe!Draw\n',
              'game.exe!DrawAll\n'], ['Update']),
            ('callees', 'rawal', 3, ['near are:', 'game.exe!DrawAll\n'],
             ['game.exe!Draw\n']),
            ('outliers', 'plug!Draw', 3,
             ['has the name plug!Draw'], []),
            ('callers', 'Nothing', 3, ['TraceReader report --names full lists'],
             ['near'])):
        ended, text, errors = session.run(command, name)
        results.check(
            ended == code and not text and
            'TraceReader: %s: ' % command in errors and
            all(part in errors for part in said) and
            not any(part in errors for part in unsaid),
            '%s: %s' % (command, name), [ended, text, errors])
    for name, said in (('Load<', 2), ('plug.dll!Update', 0)):
        _, _, errors = session.run('callers', name)
        results.check(('matches 2 functions in several modules; all' in
                       errors) == bool(said), 'said: %s' % name, [errors])


def check_more_names(results, scratch):
    """At most ten candidates are listed; parameters may be left out."""
    names = calls.NAMES[:]
    try:
        calls.NAMES[:] = [(0, 'Many%02d' % number) for number in range(25)]
        calls.NAMES += [(0, 'Go(int)'), (0, 'GoAll()'), (0, 'Run(int)'),
                        (0, 'Run(char)'), (0, 'Runs')]
        session = calls.Session(
            os.path.join(scratch, 'names'),
            [calls.random_calls(random.Random(3), 2000)], ('game.exe',))
        code, _, errors = session.run('callees', 'Many')
        results.check(code == 1 and errors.count('game.exe!') == 10 and
                      'and 15 more' in errors, 'many candidates', [errors])
        data = session.json(results, 'callees', 'Many07')
        results.check(len(data['callees']) > 10, 'one of many')
        for command in 'outliers', 'callers':
            data = session.json(results, command, 'Go')
            row = (data.get('summary') or data.get('callers'))[0]
            results.equal(row['function'], 'Go(int)',
                          command + ': without parameters')
            code, _, errors = session.run(command, 'Run')
            results.check(code == 1 and 'Run(char)' in errors and
                          'several functions are called Run;' in errors and
                          'Runs' not in errors, command + ': overloads',
                          [errors])
    finally:
        calls.NAMES[:] = names


def same_calls(first, count, stands=1):
    """Records of calls of Draw that take as long as one another, by three
    callers in turn, of which this is the first.  The clock stands still but
    for one call in so many."""
    records, time = [], 1000
    top = made.TOP - 0x200
    draw = calls.NAMES.index((0, 'Draw'))
    for turn in range(count):
        caller = first + turn % 3
        for function, place, step, kind in (
                (caller, top, 7, made.ENTER), (draw, top - 64, 5, made.ENTER),
                (draw, top - 64, 90, made.EXIT), (caller, top, 3, made.EXIT)):
            time += step if turn % stands == 0 else 0
            records.append((time, calls.rva(function) +
                            9 * (kind == made.EXIT), place, kind))
    return records


def check_workers(results, session, names, spans):
    """Whoever reads what, the same is said, byte for byte."""
    for name in names:
        for options in ([], ['--csv', '--limit', '40'],
                        ['--general', '--json', '--limit', '1'],
                        *spans)[:None if name == names[0] else 1]:
            one, *others = [session.run('outliers', name, *options,
                                        '--workers', workers)
                            for workers in ('1', '2', '5')]
            results.check(others == [one, one], 'workers: %s %s' %
                          (name, options), [one, others])
    numbers = []
    for workers in '1', '2', '5':
        code, _, errors = session.run('outliers', names[0], '--verbose',
                                      '--workers', workers)
        found = re.search(r'records of (\d+) threads in \d+ us by (\d+) work',
                          errors)
        numbers.append((code, *map(int, found.groups())) if found else errors)
    threads = len(session.threads)
    results.equal(numbers, [(0, threads, min(most, threads))
                            for most in (1, 2, 5)],
                  'control: these workers read all threads')


def check_ties(results, scratch):
    """What takes as long is in order of time, of threads, of depth; callers
    that nothing tells apart are in the order in which they come up."""
    numbers = random.Random(5)
    records = calls.random_calls(numbers, 3000)
    twice = calls.Session(os.path.join(scratch, 'twice'), [records] * 4)
    found = twice.calls()
    for workers in '1', '5':
        check_outliers(results, twice, found, [(0, 'Draw')],
                       ['--limit', '30', '--workers', workers], 30)
    check_workers(results, twice, ['Draw'], [])
    slowest = sorted(call.elapsed for call in found
                     if call.path[-1] == (0, 'Draw'))[-8:]
    results.check(len(set(slowest)) <= 2, 'control: there are ties', slowest)

    names = calls.NAMES[:]
    try:
        calls.NAMES[:] = [(0, 'From%02d' % number) for number in range(12)]
        calls.NAMES += [(0, 'Draw')]
        equal = calls.Session(
            os.path.join(scratch, 'equal'),
            [same_calls(first, 3000) for first in (6, 3, 9, 0)],
            ('game.exe',))
        found = equal.calls()
        for workers in '1', '2', '5':
            check_outliers(results, equal, found, [(0, 'Draw')],
                           ['--limit', '30', '--workers', workers], 30)
        check_workers(results, equal, ['Draw'], [])
        order = [name for _, name in expected_callers(
            [call for call in found if call.path[-1] == (0, 'Draw')])]
        results.equal(order, ['From%02d' % caller for caller in
                              (6, 7, 8, 3, 4, 5, 9, 10, 11, 0, 1, 2)],
                      'control: the order of callers is that of threads')
        still = calls.Session(
            os.path.join(scratch, 'still'),
            [same_calls(first, 20, 5) for first in (6, 3, 0)], ('game.exe',))
        found = still.calls()
        for workers in '1', '5':
            check_outliers(results, still, found, [(0, 'Draw')],
                           ['--limit', '40', '--workers', workers], 40)
        alike = collections.Counter(
            (call.elapsed, call.begin, call.thread) for call in found
            if call.path[-1] == (0, 'Draw'))
        results.check(max(alike.values()) > 3, 'control: the clock stands')
    finally:
        calls.NAMES[:] = names


def check_texts(results, session):
    """Text is for people; --limit, and when nothing is left."""
    code, text, _ = session.run('outliers', 'Draw', '--limit', '3')
    tables = text.split('\n\n')
    results.check(code == 0 and len(tables) == 4 and '####' in tables[2] and
                  len(tables[1].splitlines()) == 4,
                  'outliers: text', [text])
    code, text, _ = session.run('outliers', 'Draw', '--csv')
    results.check(code == 0 and
                  text.startswith('table,row,field,value\n') and
                  '\ncallers,0,calls,' in text, 'outliers: CSV')
    code, _, errors = session.run('outliers', 'main', '--from', '1000s')
    results.check(code == 3 and 'no call of main was found' in errors or
                  'no function that was called has the name' in errors,
                  'outliers: after the end', [code, errors])
    code, _, errors = session.run('outliers')
    results.check(code == 1 and 'an argument is needed: FUNCTION [PATH]' in errors,
                  'outliers: no arguments', [errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        numbers = random.Random(11)
        session = calls.Session(
            os.path.join(scratch, 'two'),
            [calls.random_calls(numbers, 6000, 1000 + 777 * thread)
             for thread in range(3)])
        found = session.calls()
        results.check(min(collections.Counter(
            call.how for call in found).values()) > 5, 'calls of all kinds',
            [collections.Counter(call.how for call in found)])
        check_report(results, session, found)
        update = [(0, 'Update'), (1, 'Update')]
        check_outliers(results, session, found, update)
        check_outliers(results, session, found, [(1, 'Update')],
                       ['--limit', '25'], 25)
        check_outliers(results, session, found, [(0, 'Draw')],
                       ['--thread', '2'],
                       select=lambda call: call.thread == 2)
        check_outliers(results, session, found, [(0, 'main')],
                       ['--limit', '1000000'], 1000000)
        check_range(results, session, found)
        check_names(results, session)
        check_more_names(results, scratch)
        check_texts(results, session)
        middle = sorted(call.begin for call in found)
        low, high = middle[len(middle) // 4], middle[len(middle) * 3 // 4]
        check_workers(results, session,
                      ['Update', 'plug!Update', 'Dra', 'rawal', 'Load<'],
                      [['--json', '--from', '%dns' % (low - session.first),
                        '--to', '%dns' % (high - session.first)],
                       ['--csv', '--thread', '2']])
        check_ties(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""export: folded stacks, callgrind profiles and the three shapes of CSV say
what report and tree say.

callgrind_annotate reads the profiles; the others are read here, by the rules
of their formats.  What they must hold comes from report, tree and replay; of
the made-up session, also from how it was made.
"""

import collections
import csv
import json
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

NAMES = ['Outer', 'semi;colon', 'Grüße', 'Map<int,long>::Find', 'a "name"',
         'with blank', 'Again', 'Again2', 'x', '文字列']

#
# A line of callgrind_annotate: cost, share, file:function, object.
#

ANNOTATED = re.compile(r'^ *([\d,]+)(?: \([ \d.]+%\))?  +(?:([*<>]) +)?(.*?)'
                       r'(?: \(([\d,]+)x\))?(?: \[(.*)\])?$')


def nested_calls(numbers, count, time):
    """Calls where a function calls itself or those behind it in the list, so
    that no two call each other; some are left, some stay open."""
    records, stack = [], []
    while len(records) < count:
        time += numbers.randrange(1, 5000)
        chance = numbers.random()
        lowest = stack[-1][0] if stack else 0
        if chance < 0.02 and stack:
            del stack[-numbers.randrange(1, 3):]
        elif (chance < 0.54 and len(stack) < 12) or not stack:
            top = stack[-1][1] if stack else made.TOP - 0x100
            stack.append((min(lowest + numbers.choice((0, 0, 1, 1, 2, 4)),
                              len(NAMES) - 1), top - 64))
            records.append((time, filters.FIRST + stack[-1][0] * filters.STEP,
                            stack[-1][1], made.ENTER))
        else:
            function, place = stack.pop()
            records.append((time, filters.FIRST + function * filters.STEP + 9,
                            place, made.EXIT))
    return records


class Session:
    def __init__(self, results, scratch, path, what):
        self.results, self.scratch, self.what = results, scratch, what
        self.path = programs.windows_path(path)
        self.number = 0

    def export(self, form, *arguments, code=0):
        """The file's bytes, or None."""
        self.number += 1
        path = os.path.join(self.scratch, '%s-%d.out' % (form, self.number))
        found, text, errors = support.reader(
            'export', '--format', form, '-o', programs.windows_path(path),
            *arguments, self.path)
        self.results.check(
            found == code and text == '' and
            not os.path.exists(path + '.tmp'),
            '%s: export %s %s' % (self.what, form, arguments),
            [found, text, errors])
        if not os.path.exists(path):
            return None
        self.file = path
        with open(path, 'rb') as file:
            return file.read()

    def json(self, command, *arguments):
        code, text, errors = support.reader(command, '--json', *arguments,
                                            self.path)
        self.results.equal(code, 0, '%s %s' % (command, errors))
        return json.loads(text)


def paths(nodes):
    """The chain of functions of each node of tree."""
    by_node, chains = {row['node']: row for row in nodes}, {}
    for row in nodes:       # a node comes before its children
        above = chains[row['parent']] if row['depth'] else ()
        chains[row['node']] = above + (row['function'],)
    return [(chains[row['node']], row) for row in by_node.values()]


def check_folded(session, arguments):
    nodes = session.json('tree', *arguments)['nodes']
    expected = collections.Counter()
    for chain, row in paths(nodes):
        if row['self_ns']:
            expected[';'.join(name.replace(';', ':')
                              for name in chain)] += row['self_ns']
    found = collections.Counter()
    for line in session.export('folded', *arguments).decode().splitlines():
        chain, weight = line.rsplit(' ', 1)
        found[chain] += int(weight)
    session.results.check(found == expected and found,
                          '%s: folded %s' % (session.what, arguments),
                          (found - expected).items())
    return sum(found.values())


def annotate(path, *options):
    done = support.watch.run(
        ['callgrind_annotate', '--threshold=100', '--auto=no',
         *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode()
    lines = [match.groups() for match in
             map(ANNOTATED.match, text.splitlines()) if match]
    return done.returncode, lines, text, done.stderr.decode()


def read_profile(data):
    """Self times, and calls by callee, by the rules of the format."""
    names, costs, calls = {}, collections.Counter(), collections.Counter()
    function = callee = None
    is_call = False

    def named(text):
        key, _, name = text.partition(' ')
        return names.setdefault(key, name)

    for line in data.decode().splitlines():
        if line.startswith('fn='):
            function = named(line[3:])
        elif line.startswith('cfn='):
            callee = named(line[4:])
        elif line.startswith('calls='):
            calls[callee] += int(line[6:].split()[0])
            is_call = True
        elif re.match(r'\d+ \d+$', line):
            if not is_call:
                costs[function] += int(line.split()[1])
            is_call = False
    return costs, calls


def number(text):
    return int(text.replace(',', ''))


def by_function(lines, modules):
    """Costs and calls by function; a line names the file, then a colon.  With
    --tree, those who call a function come before it."""
    costs, calls, callers = collections.Counter(), collections.Counter(), 0
    for cost, kind, place, times, module in lines:
        name = place.split(':', 2 if re.match(r'[A-Z]:\\', place) else 1)[-1]
        if kind in (None, '*') and module in modules:
            costs[name] += number(cost)
            calls[name] += callers
            callers = 0
        elif kind == '<':
            callers += number(times)
    return costs, calls


def check_callgrind(session, arguments, is_cyclic):
    report = session.json('tree', *arguments)['nodes']
    selfs, totals = collections.Counter(), collections.Counter()
    calls, outermost = collections.Counter(), collections.Counter()
    for chain, row in paths(report):
        selfs[chain[-1]] += row['self_ns']
        calls[chain[-1]] += row['calls']
        if chain[-1] not in chain[:-1]:
            totals[chain[-1]] += row['total_ns']
        outermost[chain[-1]] += row['calls'] * (len(chain) == 1)
    modules = {row['module'] for row in report}
    nodes = collections.Counter(row['function'] for row in report)
    results, what = session.results, '%s: callgrind %s' % (session.what,
                                                           arguments)
    profile = session.export('callgrind', *arguments)
    code, lines, text, errors = annotate(session.file)
    costs = by_function(lines, modules)[0]
    results.check(code == 0 and not errors,
                  '%s: callgrind_annotate' % what, [code, errors])

    #
    # tree rounds each node's nanoseconds down, the profile each function's.
    # callgrind_annotate stops when it has shown all the time there is.
    #

    wrong = [(name, selfs[name], costs.get(name, 0)) for name in selfs
             if not 0 <= costs.get(name, 0) - selfs[name] <= nodes[name]]
    results.check(not wrong and set(costs) <= set(selfs),
                  '%s: self times' % what, wrong)
    total = re.search(r'([\d,]+) \(100.0%\)  PROGRAM TOTALS', text)
    results.equal(number(total.group(1)), sum(costs.values()),
                  '%s: the sum' % what)

    _, lines, text, errors = annotate(session.file, '--tree=both',
                                      '--inclusive=yes')
    included, seen = by_function(lines, modules)
    edges = sum(nodes.values())
    wrong = [(name, totals[name], cost) for name, cost in included.items()
             if not is_cyclic and abs(cost - totals[name]) > edges]
    results.check(not wrong and included and not errors,
                  '%s: inclusive times' % what, [*wrong, errors])
    wrong = [(name, calls[name], seen[name]) for name in included
             if seen[name] != calls[name]]
    results.check(not wrong, '%s: calls' % what, wrong)

    found = read_profile(profile)
    results.check(+found[0] == +costs and found[1] == calls,
                  '%s: all edges' % what, [found[1] - calls,
                                           found[0] - costs])
    results.check(calls - outermost != calls,
                  '%s: control: there are outermost calls' % what)
    return sum(costs.values())


def check_csv(session, arguments):
    report = session.json('report', *arguments)['functions']
    data = session.export('csv', *arguments).decode()
    rows = list(csv.DictReader(data.splitlines()))
    expected = sorted(tuple('' if row[key] is None else str(row[key])
                            for key in row) for row in report)
    fields = list(report[0]) if report else []
    session.results.check(
        sorted(tuple(row[key] for key in fields) for row in rows) == expected,
        '%s: csv %s' % (session.what, arguments), [expected[:3], rows[:3]])

    text = session.export('csv-osr', *arguments).decode()
    rows = list(csv.reader(text.splitlines()))
    session.results.equal(rows[0], ['Function', 'CallCount', 'CallTicks',
                                    'TicksPerCall'], 'csv-osr: the header')
    rate = session.json('info')['session'][0]['clock_rate_hz']
    expected = sorted((row['module'].rsplit('.', 1)[0] + '!' +
                       row['function'], row['calls'], row['total_ns'])
                      for row in report)
    rows = sorted((name, int(calls), int(ticks), int(each))
                  for name, calls, ticks, each in rows[1:])
    wrong = [pair for pair in zip(rows, expected)
             if pair[0][:2] != pair[1][:2] or
             pair[0][3] != pair[0][2] // pair[0][1] or
             abs(pair[0][2] * 10 ** 9 // rate - pair[1][2]) >
             1 + pair[1][2] // 10 ** 6]
    session.results.check(not wrong and len(rows) == len(expected),
                          '%s: csv-osr %s' % (session.what, arguments), wrong)
    return sum(row['self_ns'] for row in report), sum(row['calls']
                                                      for row in report)


def first_times(events):
    """The time of the first call of each chain that was not abandoned."""
    stacks, first = collections.defaultdict(list), {}
    for row in events:
        stack = stacks[row['thread_id'], row['fiber']]
        if row['event'] == 'enter':
            del stack[row['depth']:]
            stack.append(row['function'])
        elif row['event'] in ('exit', 'open'):
            first.setdefault((row['thread_id'], row['fiber'],
                              *stack[:row['depth'] + 1]), row['duration_ns'])
    return first


def check_cap(session, arguments):
    nodes = session.json('tree', '--per-thread', *arguments)['nodes']
    chains = {(row['thread'], row['fiber'], *chain): row
              for chain, row in paths(nodes)}

    #
    # replay shows whole calls, and of a filtered one its own events.
    #

    is_whole = not {'--from', '--function'} & set(arguments)
    first = is_whole and first_times(
        session.json('replay', *arguments)['events'])
    found, wrong, stack, track = 0, [], [], None
    self_sum = calls_sum = 0
    for line in session.export('csv-cap', *arguments).decode().splitlines():
        head = re.match(r'Thread (\d+)(?:, fiber (\d+))?$', line)
        if head:
            track, stack = (int(head.group(1)), int(head.group(2) or 0)), []
            continue
        cells = line.split('\t')
        if not line or cells[0] == 'Depth':
            continue
        depth, name = int(cells[0]), cells[1].split('!', 1)[1]
        stack[depth:] = [name]
        row = chains.get((*track, *stack))
        times = [int(cell.replace('.', '')) for cell in cells[3:]]
        counted = max(row['calls'] - row['abandoned'], 1) if row else 1
        if row is None or int(cells[2]) != row['calls'] or times != [
                row['total_ns'], row['total_ns'] // counted, row['self_ns'],
                row['self_ns'] // counted,
                first.get((*track, *stack), 0) if is_whole else times[4],
                row['min_ns'], row['max_ns']]:
            wrong.append((line, row, first.get((*track, *stack))))
        found += 1
        calls_sum += int(cells[2])
        self_sum += times[2]
    session.results.check(not wrong and found == len(nodes),
                          '%s: csv-cap %s' % (session.what, arguments), wrong)
    return self_sum, calls_sum


def check_session(session, ranges, is_cyclic):
    for arguments in ranges:
        folded = check_folded(session, arguments)
        profile = check_callgrind(session, arguments, is_cyclic)
        report = (0, 0)
        if '--function' not in arguments:
            report = check_csv(session, arguments)
        cap = check_cap(session, arguments)

        #
        # Each rounds down in another place.
        #

        if '--function' not in arguments:
            nodes = len(session.json('tree', '--per-thread',
                                     *arguments)['nodes'])
            session.results.check(
                report[1] == cap[1] and
                max(folded, profile, report[0], cap[0]) -
                min(folded, profile, report[0], cap[0]) <= nodes,
                '%s %s: the sums agree' % (session.what, arguments),
                [folded, profile, report, cap])


def check_filters(session):
    """csv leaves out what report does, the trees what tree does."""
    check_csv(session, ['--function', 'Again,x'])
    check_csv(session, ['--exclude', 'Again'])
    check_folded(session, ['--exclude', 'Again'])
    check_folded(session, ['--function', 'Again2'])
    text = session.export('folded').decode()
    session.results.check(
        'Again2' in text and
        session.export('folded', '--exclude', 'Again2').decode() != text,
        'control: a filter leaves something out')
    session.export('csv', '--function', 'nobody', code=filters.NOTHING)


def check_bad(results, scratch, session):
    for arguments, words in (
            ([], '--format is required'),
            (['--format', 'folded'], '--output is required'),
            (['--format', 'postscript', '-o', 'x'],
             'csv-cap, html or parquet'),
            (['--format', 'csv', '-o', 'x', '--split-size', '1M'],
             'cannot be split'),
            (['--format', 'csv', '-o', 'x', '--split-size', '1'],
             '64K or more')):
        code, text, errors = support.reader('export', *arguments,
                                            session.path)
        results.check(code == 1 and words in errors and not text,
                      'export %s' % arguments, [code, text, errors])
    folder = os.path.join(scratch, 'no such folder')
    code, _, errors = support.reader(
        'export', '--format', 'csv', '-o',
        programs.windows_path(os.path.join(folder, 'x.csv')), session.path)
    results.check(code == 1 and 'create the file' in errors and
                  'x.csv' in errors and not os.path.exists(folder),
                  'a folder that is not there', [code, errors])

    #
    # A file that is there is replaced as a whole; one that cannot be made
    # leaves it as it was.
    #

    path = os.path.join(scratch, 'there.csv')
    with open(path, 'w') as file:
        file.write('x' * 1000000)
    support.reader('export', '--format', 'csv', '-o',
                   programs.windows_path(path), session.path)
    with open(path) as file:
        results.check(file.read().startswith('calls,'), 'a file is replaced')
    store = [name for name in os.listdir(os.path.join(scratch, 'made',
                                                      'session'))
             if name.endswith('.trace')][0]
    store = os.path.join(scratch, 'made', 'session', store)
    with open(store, 'rb') as file:
        data = file.read()
    for name in (store, store[:-6] + '.TRACE'):
        code, _, errors = support.reader('export', '--format', 'csv', '-o',
                                         programs.windows_path(name),
                                         session.path)
        results.check(code == 1 and 'a trace store, which is never' in errors,
                      'no store is replaced', [code, errors])
    with open(store, 'rb') as file:
        results.check(file.read() == data, 'the store is as it was')
    image = os.path.join(scratch, 'image.exe')
    for start, kept in ((b'MZ\x90\0', True), (b'MY\x90\0', False)):
        with open(image, 'wb') as file:
            file.write(start + b'x' * 100)
        code, _, errors = support.reader('export', '--format', 'csv', '-o',
                                         programs.windows_path(image),
                                         session.path)
        with open(image, 'rb') as file:
            results.equal((code, file.read(4) == start,
                           'an executable file, which is never' in errors),
                          (int(kept), kept, kept),
                          'a file that begins with %r' % start)
    code, _, errors = support.reader('export', '--format', 'csv', '-o',
                                     programs.windows_path(scratch),
                                     session.path)
    results.check(code == 1 and 'there is a directory' in errors,
                  'no directory is replaced', [code, errors])
    os.mkdir(path + '.tmp')
    with open(path, 'w') as file:
        file.write('kept')
    code, _, errors = support.reader('export', '--format', 'csv', '-o',
                                     programs.windows_path(path),
                                     session.path)
    with open(path) as file:
        results.check(file.read() == 'kept' and code == 1,
                      'a file is kept', [code, errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        numbers = random.Random(3)
        made_up = Session(results, scratch, filters.make_session(
            os.path.join(scratch, 'made'), NAMES,
            [nested_calls(numbers, 2000, 1000 + 70 * thread)
             for thread in range(3)]), 'made up')
        check_session(made_up, ([], ['--from', '1ms', '--to', '3ms'],
                                ['--thread', '2'],
                                ['--function', 'Again2']), False)
        check_filters(made_up)
        check_bad(results, scratch, made_up)

        source = programs.find_lua()
        if source is None:
            results.skip('Lua: its source cannot be had')
        else:
            folder = os.path.join(scratch, 'lua')
            program = programs.build_lua(folder, source,
                                         programs.PENTER_FLAGS,
                                         [programs.LIBRARY])
            _, path = programs.trace(
                program, os.path.join(programs.PROGRAMS, 'counts.lua'),
                '1' if programs.LONG else '10',
                directory=os.path.join(folder, 'traces'))
            check_session(Session(results, scratch, path, 'Lua'), ([], ),
                          True)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

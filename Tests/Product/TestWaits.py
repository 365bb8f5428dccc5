#!/usr/bin/env python3
"""How long calls waited: Docs/Waits.md.

A program measures each of its waits by itself; what the reader says of the same
calls must not differ by more than 5 % or 50 us, in the median, and never be more.
A loop that computes has not waited, nor has anything whose entry in the table is
taken out.  The reader's sums are compared to the tick with what another program
finds in the records: it does not go from callees to callers, but measures the
times that are covered by calls of waiting functions, in a file, a ring, compact,
as a tree, in ranges and in a pack.
"""

import csv
import functools
import io
import json
import os
import re
import shutil
import statistics
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestExportTraces as traces                            # noqa: E402
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402
import tree_reader                                           # noqa: E402

ROUNDS = 5
LOCKS = 'EnterCriticalSection', 'AcquireSRWLockExclusive'
IMPORTS = '*;' + ';'.join('%s!%s' % (module, name) for name in LOCKS
                          for module in ('kernel32', 'ntdll'))
ENTRY = struct.Struct('<HHHHIIII')
CONTENTION = 5000                       # ticks, where there is no rate
TIE = 4800                              # ticks of one function, where all are

KINDS = {'Sleep': 'sleep', 'WaitForSingleObject': 'object', 'recv': 'socket',
         'send': 'socket', 'accept': 'socket', 'connect': 'socket',
         'WaitOnAddress': 'condition', 'SleepConditionVariableCS': 'condition',
         'ReadFile': 'file', 'WriteFile': 'file',
         **{name: 'lock' for name in LOCKS}}

# What the program waits in, and what it does not wait in.
WAITING = ('WaitEvent', 'WaitSleep', 'WaitPipe', 'WaitSocket', 'WaitSection',
           'WaitShared', 'WaitCondition', 'WaitAddress', 'WaitThread',
           'WaitFile')
RUNNING = 'Busy', 'OwnWait'


def is_wait(name):
    """What the test knows of the names of imports: wait, lock or None."""
    module, _, function = name.partition('!')
    if not function or module not in ('kernel32', 'kernelbase', 'ntdll',
                                      'ws2_32'):
        return None
    return ('lock' if function in LOCKS else
            'wait' if function in KINDS else None)


class Stub(str):
    """The name of an import, and the module that calls it."""

    importer = None


class Names:
    """The names of sites, from the symbols and the file of imports."""

    def __init__(self, session, program, folder):
        path = os.path.join(folder, 'symbols')
        self.symbols = trace_reader.read_symbols(
            programs.write_symbols(program, path))
        with open(os.path.join(session, 'session.imports'), 'rb') as file:
            data = file.read()
        self.stubs, modules = [], []
        position, = struct.unpack_from('<I', data, 12)
        end, = struct.unpack_from('<Q', data, 40)
        while position < end:
            size, kind, length, ordinal, rva, stub, importer, exporter = \
                ENTRY.unpack_from(data, position)
            name = data[position + ENTRY.size:][:length].decode()
            if kind == 1:
                modules.append(name)
            elif kind == 2:
                module = re.sub(r'\.dll$', '', modules[exporter])
                name = Stub('%s!%s' % (module, name or '#%d' % ordinal))
                name.importer = modules[importer]
                self.stubs.append((rva, rva + stub, name))
            position += size

    def find(self, module, rva):
        if not module.lower().endswith('tracerimports.dll'):
            return self.symbols(rva)
        return next(name for first, end, name in self.stubs
                    if first <= rva < end)


class Call:
    """A call: its path is the names from the outermost one to its own."""

    def __init__(self, thread, path, start, outermost):
        self.thread, self.path, self.start = thread, path, start
        self.name, self.end = path[-1], None
        self.is_outermost = outermost   # of its name
        self.waited = 0


def read_calls(session, names):
    """All calls, by thread, in the order of their entries, with their times."""
    threads = {}
    for number, store in enumerate(trace_reader.open_all([session])):
        records = threads.setdefault(store.ThreadId, [])
        for time, rva, rsp, kind in store.records():
            is_entry = kind in (1, 3)
            records.append((time, rsp, is_entry,
                            names.find(store.ModulePath, rva)
                            if is_entry else None, number))
    found = []
    for thread, records in sorted(threads.items()):
        records.sort(key=functools.cmp_to_key(trace_reader.earlier))
        open_calls = []
        for time, _, is_entry, name, _ in records:
            if is_entry:
                path = (open_calls[-1].path if open_calls else ()) + (name,)
                call = Call(thread, path, time, name not in path[:-1])
                open_calls.append(call)
                found.append(call)
            else:
                open_calls.pop().end = time
        for call in open_calls:
            call.end = records[-1][0]
    return found


def measure(calls, contention, first=0, last=1 << 64):
    """Cuts the calls off at a range, and gives each what it has waited: the
    time that calls of waiting functions cover, from its entry to its exit."""
    ends = {}
    for call in calls:
        ends[call.thread] = max(ends.get(call.thread, 0), call.end)
    kept = []
    for call in calls:
        if call.start <= last and call.end >= first and \
                ends[call.thread] >= first:
            call.start, call.end = max(call.start, first), min(call.end, last)
            kept.append(call)
    covers = {}
    for call in kept:
        kind = is_wait(call.name)
        if kind == 'wait' or (kind == 'lock' and
                              call.end - call.start >= contention):
            covers.setdefault(call.thread, []).append((call.start, call.end))
    for each in covers.values():
        each.sort(key=lambda cover: (cover[0], -cover[1]))
    for call in kept:
        reached = call.start
        for start, end in covers.get(call.thread, ()):
            if start >= reached and end <= call.end:
                call.waited += end - start
                reached = end
    return kept


def add(sums, key, call, counts=True):
    row = sums.setdefault(key, [0, 0, 0])
    row[0] += 1
    if counts:
        row[1] += call.end - call.start
        row[2] += call.waited


def sums_of(calls):
    """By function, by chain, and by thread (calls, total, waited)."""
    functions, chains, threads, callers = {}, {}, {}, {}
    for call in calls:
        add(functions, call.name, call, call.is_outermost)
        add(chains, call.path, call)
        add(callers, (call.name, call.path[-2] if len(call.path) > 1 else
                      '(outermost)'), call,
            call.is_outermost or len(call.path) == 1)
        add(threads, call.thread, call, len(call.path) == 1)
    return functions, chains, threads, callers


def nodes_of(session, names, contention):
    """Yields the thread, the path, the node and what it has waited; of a lock's
    node only what is sure has."""
    for name in sorted(os.listdir(session)):
        if not name.endswith('.trace'):
            continue
        tree = tree_reader.Tree(os.path.join(session, name))
        waited = [0] * len(tree.nodes)
        paths = [()] * len(tree.nodes)
        for node in tree.nodes[1:]:
            paths[node.index] = paths[node.parent] + (
                names.find(tree.modules[node.module].path, tree.rva(node)),)
        for node in reversed(tree.nodes[1:]):
            kind = is_wait(paths[node.index][-1])
            if kind == 'wait':
                waited[node.index] = node.total
            elif kind == 'lock' and node.maximum >= contention:
                waited[node.index] = max(
                    waited[node.index], node.total
                    if node.minimum >= contention else node.maximum)
            waited[node.parent] += waited[node.index]
        for node in tree.nodes[1:]:
            if node.calls:
                yield (tree.thread, paths[node.index], node,
                       waited[node.index])


def read_nodes(session, names, contention):
    """The same sums of trees."""
    functions, chains, threads, callers = {}, {}, {}, {}
    for thread, path, node, waited in nodes_of(session, names, contention):
        parent = path[-2] if len(path) > 1 else '(outermost)'
        outermost = path[-1] not in path[:-1]
        for sums, key, counts in (
                (functions, path[-1], outermost), (chains, path, True),
                (threads, thread, len(path) == 1),
                (callers, (path[-1], parent), outermost)):
            row = sums.setdefault(key, [0, 0, 0])
            row[0] += node.calls
            row[1] += node.total * counts
            row[2] += waited * counts
    return functions, chains, threads, callers


def add_wait(sums, thread, path, row):
    """Adds (calls, total, longest) of a call that waits, if it is outermost."""
    if any(is_wait(name) for name in path[:-1]):
        return
    name = path[-1]
    caller = next((other for other in reversed(path[:-1]) if '!' not in other),
                  next(('[%s]' % other.importer for other in reversed(path)
                        if '!' in other), '(outermost)'))
    kind = KINDS[name.partition('!')[2]]
    for key in (name, kind), (name, kind, caller), (thread, kind):
        own = sums.setdefault(key, [0, 0, 0])
        own[:] = own[0] + row[0], own[1] + row[1], max(own[2], row[2])


def check_view(results, what, session, sums, options=()):
    """The tables of waits."""
    code, text, errors = support.reader('waits', '--json', *options, session)
    results.equal(code, 0, '%s: waits: %s' % (what, errors))
    rows = json.loads(text)
    seen = {}
    for name, key in (('functions', lambda row: (row['function'],
                                                 row['kind'])),
                      ('callers', lambda row: (row['function'], row['kind'],
                                               row['caller'])),
                      ('threads', lambda row: (row['thread_id'],
                                               row['kind']))):
        times = [ticks(row, 'total') for row in rows[name]]
        results.equal(times, sorted(times, reverse=True), '%s: order' % name)
        for row in rows[name]:
            results.check(key(row) not in seen, '%s: %s twice' % (
                name, key(row)))
            seen[key(row)] = [row['calls'], ticks(row, 'total'),
                              ticks(row, 'max')]
            results.check(
                row['average_ticks'] == ticks(row, 'total') // row['calls'] and
                (row['p50_ticks'] is None if what == 'tree' else
                 row['p50_ticks'] <= row['p90_ticks'] <= row['p99_ticks'] <=
                 row['max_ticks']), '%s: averages' % name, [row])
    results.check(seen == sums, '%s: waits' % what, [
        (key, seen.get(key), sums.get(key)) for key in set(seen) | set(sums)
        if seen.get(key) != sums.get(key)])


def check_view_of_calls(results, what, session, calls, options=()):
    sums = {}
    for call in calls:
        kind, length = is_wait(call.name), call.end - call.start
        if kind == 'wait' or (kind == 'lock' and length >= CONTENTION):
            add_wait(sums, call.thread, call.path, (1, length, length))
    check_view(results, what, session, sums, options)


def table(session, command, *options):
    if command == 'diff':
        options, session = (session,), options[0]
    code, text, errors = support.reader(command, '--csv', *options, session)
    if code:
        raise RuntimeError('%s: %d: %s' % (command, code, errors))
    return list(csv.DictReader(io.StringIO(text)))


def ticks(row, name):
    return int(row.get(name + '_ticks') or row.get(name + '_ns') or 0)


def check_sums(results, what, session, expected, options=(), open_time=None):
    """The tables of the reader, to the tick.  open_time are names of which the
    total is not compared: they are open at the end."""
    functions, chains, threads, callers = expected

    def equal(text, seen, right):
        for key, row in right.items():
            own = seen.get(key)
            if own and open_time and (key[-1] if isinstance(key, tuple)
                                      else key) in open_time:
                own[1] = row[1]
        return results.check(seen == right, '%s: %s' % (what, text), [
            (key, seen.get(key), right.get(key))
            for key in sorted(set(seen) | set(right), key=str)
            if seen.get(key) != right.get(key)])

    seen, ran = {}, []
    for row in table(session, 'report', *options):
        own = seen.setdefault(row['function'], [0, 0, 0])
        own[0] += int(row['calls'])
        own[1] += ticks(row, 'total')
        own[2] += ticks(row, 'waited')
        ran.append(ticks(row, 'waited') + ticks(row, 'ran') -
                   ticks(row, 'total'))
    equal('report', seen, functions)
    results.check(not any(ran), '%s: waited and ran are the total' % what)
    seen, path = {}, []
    for row in table(session, 'tree', *options):
        path[int(row['depth']):] = [row['function']]
        seen[tuple(path)] = [int(row['calls']), ticks(row, 'total'),
                             ticks(row, 'waited')]
    equal('tree', seen, chains)
    seen = {int(row['thread_id']): [int(row['calls']), ticks(row, 'busy'),
                                    ticks(row, 'waited')]
            for row in table(session, 'threads', *options)
            if row['calls'] != '0'}
    if open_time:
        for thread, row in seen.items():
            row[1] = threads[thread][1]
    equal('threads', seen, threads)
    for name in 'WaitSleep', 'Round', next(key for key in functions
                                           if key.endswith('!Sleep')):
        seen = {(name, row['function']): [int(row['calls']),
                                          ticks(row, 'total'),
                                          ticks(row, 'waited')]
                for row in table(session, 'callers', *options, name)
                if row['relation'] == 'caller'}
        equal('callers %s' % name, seen, {key: row for key, row in
                                          callers.items() if key[0] == name})
        own = [row for row in table(session, 'callees', *options, 'WaitSleep')
               if row['relation'] == 'callee' and
               row['function'].endswith('!Sleep')]
        results.equal(
            [ticks(row, 'waited') for row in own],
            [row[2] for key, row in callers.items()
             if key[0].endswith('!Sleep') and key[1] == 'WaitSleep'],
            '%s: callees' % what)


def check_order(results, what, session, expected, options):
    """--sort waited: what has not waited is in the order of the total, and of
    one order are names, except where there is no time: calls are."""
    functions, chains, _, callers = expected

    def in_order(sums, by_waited=True):
        return sorted(sums, key=lambda name: (
            -sums[name][2] * by_waited,
            *((0, 0) if sums[name][2] and by_waited else
              (-sums[name][1], 0 if sums[name][1] else -sums[name][0])),
            name))

    def names(*command):
        return [row['function'] for row in table(
            session, command[0], '--sort', 'waited', *options, *command[1:])
            if row.get('relation') != 'function']

    results.equal(names('report'), in_order(functions),
                  '%s: report --sort waited' % what)
    results.check(in_order(functions) != in_order(functions, False),
                  '%s: which is another order' % what)
    name = next(key for key in functions if key.endswith('!Sleep'))
    results.equal(names('callers', name), in_order(
        {key[1]: row for key, row in callers.items() if key[0] == name}),
        '%s: callers --sort waited' % what)
    path, below = [], {}
    for row in table(session, 'tree', '--sort', 'waited', *options):
        path[int(row['depth']):] = [row['function']]
        below.setdefault(tuple(path[:-1]), []).append(row['function'])
    expected = {}
    for chain, row in chains.items():
        expected.setdefault(chain[:-1], {})[chain[-1]] = row
    results.equal(below, {above: in_order(sums) for above, sums in
                          expected.items()}, '%s: tree --sort waited' % what)
    results.check(any(in_order(sums) != in_order(sums, False)
                      for sums in expected.values()),
                  '%s: which is another order of the tree' % what)
    for refused in (('report', '--by', 'module'), ('threads',), ('modules',)):
        code, _, errors = support.reader(*refused, '--sort', 'waited', session)
        results.check(code == 1 and '--sort' in errors,
                      '%s --sort waited' % ' '.join(refused), [errors])


def without_rate(session, folder):
    """A copy whose clock has no rate, so that the reader writes ticks."""
    path = os.path.join(folder, os.path.basename(session) + '-ticks')
    shutil.copytree(session, path)
    for name in os.listdir(path):
        if name.endswith('.trace'):
            with open(os.path.join(path, name), 'r+b') as file:
                file.seek(0xE0)
                file.write(bytes(64))
        elif name.endswith(('.index', '.cache')):
            os.remove(os.path.join(path, name))
    return path


def with_ties(session):
    """From now on functions that call nothing took the same time in all, TIE,
    in as many calls as they were called."""
    threads, calls = {}, {}
    for store in trace_reader.open_all([session]):
        own = threads.setdefault(store.ThreadId, [])
        for start, body in store.contents():
            own += [(time, word & ~7, word & 7 in (1, 3), site, store.path,
                     start + support.RECORD_SIZE * index)
                    for index, (time, site, word) in
                    enumerate(struct.iter_unpack('<QII', body)) if time]
    for records in threads.values():
        records.sort(key=functools.cmp_to_key(trace_reader.earlier))
        for _, _, is_entry, site, *_ in records:
            if is_entry:
                calls[site] = calls.get(site, 0) + 1
    rest = {site: TIE % number for site, number in calls.items()}
    for records in threads.values():
        time, open_sites = records[0][0], []
        for _, _, is_entry, site, path, at in records:
            if is_entry:
                time += 1
                open_sites.append(site)
            else:
                site = open_sites.pop()
                time += TIE // calls[site] + rest.pop(site, 0)
            with open(path, 'r+b') as file:
                file.seek(at)
                file.write(struct.pack('<Q', time))
    return session


def run(program, folder, mode, callers='Waits'):
    """Runs it; (its own lines, the session)."""
    os.makedirs(folder)
    code, text = programs.run_windows(
        programs.READER, 'run', '--mode', mode, '--imports', IMPORTS,
        '--callers', callers, '--directory', programs.windows_path(folder),
        '--', program, str(ROUNDS), cwd=os.path.dirname(program))
    if code:
        raise RuntimeError('%s: %d: %s' % (mode, code, text))
    sessions = [os.path.join(folder, name) for name in os.listdir(folder)]
    lines = [line.split() for line in text.splitlines()]
    return [(name, int(number)) for name, number in lines], sessions[0]


def check_truth(results, lines, session, names):
    """What the program has measured of each call."""
    frequency = dict(lines)['frequency']
    stores = trace_reader.open_all([session])
    rate = trace_reader.ticks_per_second(stores)
    calls = measure(read_calls(session, names), 1e-6 * rate)
    own, seen = {}, {}
    for name, number in lines:
        own.setdefault(name, []).append(number / frequency)
    for call in calls:
        if call.name in own:
            seen.setdefault(call.name, []).append(call.waited / rate)
    for name in WAITING:
        left = [abs(mine - other) - max(0.05 * mine, 50e-6)
                for mine, other in zip(own[name], seen[name])]
        results.equal(len(seen[name]), len(own[name]), '%s: calls' % name)
        results.check(statistics.median(left) <= 0, '%s: waited' % name,
                      list(zip(own[name], seen[name])))
        results.check(all(other <= mine * 1.01 + 2e-6 for mine, other
                          in zip(own[name], seen[name])),
                      '%s: not more' % name,
                      list(zip(own[name], seen[name])))
        results.check(sum(seen[name]) > 0, '%s: something' % name)
    for name in RUNNING:
        results.equal(set(seen[name]), {0}, '%s: no wait' % name)
        results.check(min(own[name]) > 0, '%s: and yet it took time' % name)
    results.check(all(0 < other <= mine * 1.01 + 2e-6 for mine, other
                      in zip(own['Poll'], seen['Poll'])), 'Poll')


def waited_of(session, *options):
    """function -> (waited, total)."""
    return {row['function']: (ticks(row, 'waited'), ticks(row, 'total'))
            for row in table(session, 'report', *options)}


def check_lists(results, session, folder):
    """Files of --waits, and --contention."""
    before = waited_of(session)
    sleep = next(name for name in before if name.endswith('!Sleep'))

    def listed(text, *options):
        path = os.path.join(folder, 'list.txt')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return ('--waits', programs.windows_path(path), *options)

    results.check(before['WaitSleep'][0] > 0 and before[sleep][0] ==
                  before[sleep][1], 'sleep waits', [before])
    after = waited_of(session, *listed('# nothing\n\n-%s\n' % sleep.upper()))
    results.equal((after['WaitSleep'][0], after[sleep][0],
                   after['Recursive'][0]), (0, 0, 0), 'taken out')
    results.equal(after['WaitEvent'], before['WaitEvent'], 'others stay')
    after = waited_of(session, *listed('%s sleep\n-%s\n%s lock\r\n' % (
        sleep, sleep, sleep), '--contention', '1ns'))
    results.equal(after[sleep], before[sleep], 'the last line counts')
    for text in 'OwnWait sleep', 'waits.exe!ownwait file', \
            'WAITS!OwnWait   object':
        after = waited_of(session, *listed(text))
        results.check(after['OwnWait'][0] == after['OwnWait'][1] > 0,
                      '%r waits' % text, [after['OwnWait']])
        results.check(0 <= after['main'][0] - before['main'][0] -
                      after['OwnWait'][0] <= 1, '%r: and so does main' % text,
                      [after, before])
    after = waited_of(session, *listed('ownwait sleep\nother!OwnWait file\n'))
    results.equal(after, before, 'names of others')
    for text, problem in (('Sleepy', 'line 1 does not end with a kind'),
                          ('#\n\n%s often' % sleep, 'line 3 does not end'),
                          ('-', 'line 1 has no function'),
                          ('lock', 'line 1 has no function')):
        code, _, errors = support.reader('report', *listed(text), session)
        results.check(code == 1 and problem in errors, 'file %r' % text,
                      [code, errors])
    code, _, errors = support.reader('report', '--waits', 'Z:\\none', session)
    results.check(code == 1 and 'read the file of --waits' in errors,
                  'no file', [code, errors])
    after = waited_of(session, '--contention', '100s')
    results.equal((after['WaitSection'][0], after['WaitShared'][0],
                   after['FreeLocks'][0]), (0, 0, 0), 'no contention')
    results.equal(after['WaitSleep'], before['WaitSleep'], 'and others')
    results.check(before['WaitSection'][0] > 0 and
                  before['WaitShared'][0] > 0, 'contention')
    after = waited_of(session, '--contention', '0')
    results.check(after['FreeLocks'][0] > 0, 'any time is contention')


def check_ways(results, session):
    """The fast way and the general one, and workers."""
    for command in ('report',), ('tree',), ('tree', '--per-thread'), \
            ('callers', 'WaitSleep'):
        texts = [support.reader(command[0], '--csv', *command[1:], *options,
                                session)[1]
                 for options in ((), ('--general',), ('--workers', '1'),
                                 ('--workers', '2', '--no-index'))]
        results.check(len(set(texts)) == 1 and len(texts[0]) > 100,
                      '%s: all ways agree' % ' '.join(command),
                      [pair for text in texts[1:]
                       for pair in zip(texts[0].split('\n'), text.split('\n'))
                       if pair[0] != pair[1]])
    probe = [support.reader('report', '--csv', '--subtract-probe', *options,
                            session)[1] for options in ((), ('--general',))]
    results.check(probe[0] == probe[1] and 'waited' in probe[0],
                  'without the cost of hooks')


def check_calls(results, copy, calls):
    """outliers, call by call; the fast way and the general one."""
    for name in 'WaitSection', 'Recursive', 'Round', 'Busy':
        expected = sorted((call.end - call.start, call.waited)
                          for call in calls if call.name == name)
        for options in (), ('--general',):
            _, text, errors = support.reader(
                'outliers', '--json', '--limit', '100', '--contention',
                str(CONTENTION), *options, name, copy)
            rows = json.loads(text)['calls']
            results.equal(sorted((ticks(row, 'duration'), ticks(row, 'waited'))
                                 for row in rows), expected,
                          'outliers %s: %s' % (name, errors))
            results.check(all(ticks(row, 'ran') == ticks(row, 'duration') -
                              ticks(row, 'waited') for row in rows),
                          'outliers %s: ran' % name)


def check_diff(results, first, second):
    """The two sides are what report says of each."""
    sides = waited_of(first), waited_of(second)
    for row in table(first, 'diff', second):
        name = row['function']
        own = [ticks({key.replace('_' + side, ''): value for key, value in
                      row.items()}, 'waited') for side in 'ab']
        right = [side.get(name, (0, 0))[0] for side in sides]
        total = [side.get(name, (0, 0))[1] for side in sides]
        if own != right or int(row['ran_difference_ns']) != (
                total[1] - right[1]) - (total[0] - right[0]) or \
                int(row['waited_difference_ns']) != right[1] - right[0]:
            results.check(False, 'diff %s' % name, [row, right, total])
    results.check(sum(side['main'][0] > 0 for side in sides) == 2, 'diff')


def check_exports(results, session, calls, folder):
    """Which calls have the category of a wait, or its colour."""
    expected = {}
    for call in calls:
        kind = KINDS[call.name.partition('!')[2]] if is_wait(call.name) \
            else None
        key = call.name, kind and (
            'lock' if kind == 'lock' else 'wait:' + kind)
        expected[key] = expected.get(key, 0) + 1

    def export(form, *options):
        path = os.path.join(folder, 'out.' + form)
        code, _, errors = support.reader('export', '--format', form, '-o',
                                         programs.windows_path(path), *options,
                                         *support.as_picture(form),
                                         session)
        results.equal(code, 0, '%s: %s' % (form, errors))
        return path

    with open(export('chrome'), encoding='utf-8') as file:
        events = [event for event in json.load(file)['traceEvents']
                  if event['ph'] == 'B']
    seen = {}
    for event in events:
        more = event['cat'].split(',')[1:]
        key = event['name'], more[0] if more else None
        seen[key] = seen.get(key, 0) + 1
        results.check((event.get('cname') == 'thread_state_sleeping') ==
                      bool(more and more[0] != 'lock'), 'a colour', [event])
    results.equal(seen, expected, 'chrome')
    if shutil.which('protoc'):
        names, seen = {'event_names': {}, 'event_categories': {}}, {}
        for packet in traces.decode(export('perfetto'))['packet']:
            for kind, texts in names.items():
                for text in packet.get('interned_data', [{}])[0].get(kind, ()):
                    texts[text['iid'][0]] = text['name'][0]
            for event in packet.get('track_event', ()):
                if event['type'] == ['TYPE_SLICE_BEGIN']:
                    more = [names['event_categories'][number]
                            for number in event['category_iids'][1:]]
                    key = (names['event_names'][event['name_iid'][0]],
                           more[0] if more else None)
                    seen[key] = seen.get(key, 0) + 1
        results.equal(seen, expected, 'perfetto')
    else:
        results.skip('there is no protoc')
    for options, contention in (((), 1000), (('--contention', '5us'), 5000)):
        with open(export('html', *options), encoding='utf-8') as file:
            text = file.read()
        parts = {name: json.loads(re.search(
            r'id="%s">(.*?)</script>' % name, text, re.S)[1])
            for name in ('names', 'waits')}
        found = {(parts['names'][number][1], kind)
                 for number, kind in parts['waits']['functions']}
        results.equal(found, {(name, KINDS[name.partition('!')[2]])
                              for name, kind in expected if kind}, 'html')
        results.equal(parts['waits']['contention'], contention, 'contention')


def check_text(results, session, plain):
    """Text has the columns where something waited."""
    for command in ('report',), ('tree',), ('threads',), \
            ('callers', 'WaitSleep'):
        _, text, _ = support.reader(*command, '--width', 'none', session)
        results.check('Waited         Ran' in text, '%s: text' %
                      ' '.join(command), [text[:300]])
    for command in 'report', 'tree', 'threads':
        _, text, _ = support.reader(command, '--width', 'none', plain)
        results.check('Waited' not in text, '%s: hidden' % command)
        _, text, _ = support.reader(command, '--csv', plain)
        results.check(',waited_ns,ran_ns,' in text, '%s: in CSV' % command)
    code, text, errors = support.reader('waits', plain)
    results.check(code == 0 and 'No function that waits was called' in text,
                  'waits: none', [code, text, errors])
    code, text, _ = support.reader('waits', '--json', plain)
    results.equal([json.loads(text)[name] for name in
                   ('functions', 'callers', 'threads')], [[], [], []],
                  'waits: nothing in JSON')
    _, text, _ = support.reader('waits', '--limit', '2', session)
    kinds = '|'.join(set(KINDS.values()))
    results.check(len(re.findall(r'^(?:%s) +\d+ ' % kinds, text, re.M)) == 6 and
                  'Waited in' in text and
                  text.count(' rows more: --limit)') == 3, 'waits: text',
                  [text])


def check_document(results):
    """The document lists what the table has."""
    def read(*path):
        with open(os.path.join(programs.ROOT, *path),
                  encoding='utf-8') as file:
            return file.read()

    table = {(module, name, kind.lower()) for kind, modules, names in
             re.findall(r'ReaderWait(\w+), "([^"]*)",\s*((?:"[^"]*"\s*)+)}',
                        read('Reader', 'Functions', 'FunctionWaits.c'))
             for module in modules.split()
             if module != 'kernelbase' and not (
                 module == 'ntdll' and 'kernel32' in modules)
             for name in re.sub('["\n]', ' ', names).split()}
    listed = {(module.strip(), name.strip(), kind) for kind, text in
              re.findall(r'\*\*(\w+)\*\*: [^\n]*\n((?:\n?[- ] ?[^\n]*)+)',
                         read('Docs', 'Waits.md'))
              for modules, names in re.findall(r'^- ([^:]*): ([^-]*?)(?=\n- |'
                                               r'\n*\Z)', text, re.M | re.S)
              for module in modules.split(',')
              for name in names.replace('\n', ' ').split(',')}
    listed = {(re.sub('ucrtbase|combase', lambda name: name[0], module), name,
               kind) for module, name, kind in listed}
    results.check(table == listed and len(table) > 150, 'the document',
                  sorted(table ^ listed))


def check_without_hooks(results, scratch):
    """For whom are modules then: the program, and its C runtime."""
    program = programs.build(
        os.path.join(scratch, 'plainly'),
        [os.path.join(programs.PROGRAMS, 'Waits.c')], [], 'Waits.exe',
        ['-lws2_32', '-lkernel32', '-lsynchronization'])
    for mode in 'file', 'tree':
        _, session = run(program, os.path.join(scratch, 'plainly-' + mode),
                         mode, 'Waits;msvcrt')
        names = Names(session, program, scratch)
        copy = without_rate(session, scratch)
        options = '--contention', str(CONTENTION)
        if mode == 'tree':
            sums = {}
            for thread, path, node, waited in nodes_of(session, names,
                                                       CONTENTION):
                if is_wait(path[-1]) and waited:
                    add_wait(sums, thread, path, (
                        1 if waited < node.total else node.calls, waited,
                        node.maximum))
            check_view(results, 'tree', copy, sums, options)
        else:
            calls = read_calls(session, names)
            for way in (), ('--general',):
                check_view_of_calls(results, 'without hooks', copy, calls,
                                    (*options, *way))
        _, text, _ = support.reader('waits', '--json', copy)
        callers = json.loads(text)['callers']
        results.equal({(row['caller'], row['module']) for row in callers},
                      {('[waits.exe]', 'waits.exe'),
                       ('[msvcrt.dll]', 'msvcrt.dll')},
                      '%s: for which modules' % mode)


def main():
    results = programs.Results()
    check_document(results)
    if not support.has_reader():
        results.skip('there is no TraceReader')
        return results.finish()
    with programs.Scratch() as scratch:
        program = programs.build(
            os.path.join(scratch, 'built'),
            [os.path.join(programs.PROGRAMS, 'Waits.c')],
            programs.PENTER_FLAGS, 'Waits.exe',
            [programs.LIBRARY, '-lws2_32', '-lkernel32', '-lsynchronization'])
        check_without_hooks(results, scratch)
        for mode in 'file', 'ring', 'compact', 'tree':
            lines, session = run(program, os.path.join(scratch, mode), mode)
            names = Names(session, program, scratch)
            if mode == 'file':
                check_truth(results, lines, session, names)
                check_lists(results, session, scratch)
                check_ways(results, session)
                check_exports(results, session, read_calls(session, names),
                              scratch)
            copy = without_rate(session, scratch)
            options = '--contention', str(CONTENTION)
            if mode == 'tree':
                expected = read_nodes(session, names, CONTENTION)
                check_sums(results, mode, copy, expected, options,
                           ('main', 'exit', 'msvcrt!exit', 'ucrtbase!exit'))
                sums = {}
                for thread, path, node, waited in nodes_of(session, names,
                                                           CONTENTION):
                    if is_wait(path[-1]) and waited:
                        add_wait(sums, thread, path, (
                            1 if waited < node.total else node.calls, waited,
                            node.maximum))
                check_view(results, mode, copy, sums, options)
                continue
            calls = read_calls(session, names)
            start = min(call.start for call in calls)
            end = max(call.end for call in calls)
            expected = sums_of(measure(calls, CONTENTION))
            check_sums(results, mode, copy, expected, options)
            check_order(results, mode, copy, expected, options)
            for number in (1, 2, 3) if programs.LONG else (
                    (2,) if mode == 'file' else ()):
                first = start + (end - start) * number // 7
                last = start + (end - start) * (number + 3) // 7
                expected = sums_of(measure(read_calls(session, names),
                                           CONTENTION, first, last))
                part = (*options, '--from', str(first - start), '--to',
                        str(last - start))
                check_sums(results, '%s, part %d' % (mode, number), copy,
                           expected, part)
                check_view_of_calls(
                    results, '%s, part %d' % (mode, number), copy,
                    measure(read_calls(session, names), CONTENTION, first,
                            last), part)
            for way in (), ('--general',):
                check_view_of_calls(results, mode, copy, calls,
                                    (*options, *way))
            check_calls(results, copy, measure(read_calls(session, names),
                                               CONTENTION))
            if mode == 'ring':
                check_diff(results, filed, session)
            if mode == 'file':
                filed = session
                pack = os.path.join(scratch, 'waits.tracepack')
                code, _, errors = support.reader(
                    'pack', '--output', programs.windows_path(pack), copy)
                results.equal(code, 0, 'pack: %s' % errors)
                check_sums(results, 'pack', programs.windows_path(pack),
                           sums_of(measure(read_calls(session, names),
                                           CONTENTION)), options)
                _, plain = programs.trace(
                    programs.build_sample(os.path.join(scratch, 'sample'),
                                          programs.PENTER_FLAGS,
                                          [programs.LIBRARY]),
                    directory=os.path.join(scratch, 'plain'))
                check_text(results, session, plain)
                os.mkdir(os.path.join(scratch, 'ties'))
                ties = with_ties(without_rate(
                    session, os.path.join(scratch, 'ties')))
                expected = sums_of(measure(read_calls(ties, names),
                                           CONTENTION))
                check_sums(results, 'ties', ties, expected, options)
                check_order(results, 'ties', ties, expected, options)
                results.check(any(
                    name < other and sums[0] < more[0] and sums[1:] == more[1:]
                    for name, sums in expected[0].items()
                    for other, more in expected[0].items()),
                    'of one time, names decide, not calls')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

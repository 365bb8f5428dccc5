#!/usr/bin/env python3
"""TraceReader callers and callees against the calls that trace_reader.py finds,
and against what gcov counted.
"""

import collections
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
from StoreSupport import programs                            # noqa: E402

THREADS, ITERATIONS = '3', '40'
OUTERMOST = (None, '(outermost)')


class Edge:
    """What is expected of a row."""

    def __init__(self):
        self.calls = self.total = self.self = 0
        self.abandoned = self.abandoned_time = self.unfinished = 0
        self.ticks = []

    def add(self, call, is_outermost):
        self.calls += 1
        if call.how == 'abandoned':
            self.abandoned += 1
            self.abandoned_time += call.elapsed * is_outermost
            return
        self.unfinished += call.how == 'open'
        self.self += call.self
        self.total += call.elapsed * is_outermost
        self.ticks.append(call.elapsed)

    def row(self):
        return (self.calls, self.total, self.self,
                sum(self.ticks) // len(self.ticks) if self.ticks else 0,
                min(self.ticks, default=0), max(self.ticks, default=0),
                self.abandoned, self.abandoned_time, self.unfinished)


FIELDS = ('calls', 'total_ns', 'self_ns', 'average_ns', 'min_ns', 'max_ns',
          'abandoned', 'abandoned_time_ns', 'unfinished')


def callers_of(path, end, meant, depth):
    """The chain of callers of path[end], if that is one that is meant."""
    if path[end] not in meant:
        return None
    chain = tuple(reversed(path[max(end - depth, 0):end]))
    return chain + (OUTERMOST,) * (len(chain) < depth)


def callees_of(path, end, meant, _):
    """path[end], if it was called by one that is meant."""
    if end == 0 or path[end - 1] not in meant:
        return None
    return path[end],


def expected(found, meant, edge_of, depth, recursion=True):
    """Chain -> Edge; the empty chain is the function itself."""
    edges = collections.defaultdict(Edge)
    for call in found:
        last = len(call.path) - 1
        if call.path[-1] in meant:
            edges[()].add(call, not set(call.path[:-1]) & set(meant))
        whole = edge_of(call.path, last, meant, depth)
        for length in range(1, len(whole or ()) + 1):
            chain = whole[:length]
            inside = any(
                (edge_of(call.path, end, meant, depth) or ())[:length] ==
                chain for end in range(last))
            edges[chain].add(call, not inside or not recursion)
    return edges


def shown(session, rows):
    """Chain -> (numbers, share), from the rows in their order."""
    found, chain = {}, []
    for row in rows:
        function = OUTERMOST
        if row['module'] is not None:
            function = session.modules.index(row['module']), row['function']
        del chain[max(row['level'] - 1, 0):]
        if row['level']:
            chain.append(function)
        found[tuple(chain)] = (tuple(row[field] for field in FIELDS),
                               row['share_percent'])
    return found


def compare(results, session, found, command, name, meant, *arguments,
            depth=1, select=lambda call: True):
    what = '%s %s %s' % (command, name, ' '.join(arguments))
    rows = session.json(results, command, name, *arguments)[command]
    edges = expected([call for call in found if select(call)], meant,
                     {'callers': callers_of, 'callees': callees_of}[command],
                     depth)
    right = {chain: edge.row() for chain, edge in edges.items()}
    seen = shown(session, rows)
    wrong = [(chain, right.get(chain), seen.get(chain, [None])[0])
             for chain in set(right) | set(seen)
             if right.get(chain) != seen.get(chain, [None])[0]]
    results.check(not wrong and len(right) > 3 and len(rows) == len(right),
                  what, wrong)
    total = right[()][1]
    wrong = [(chain, share, right[chain][1], total)
             for chain, (_, share) in seen.items()
             if abs(share - right[chain][1] * 100 / total) > 0.011]
    results.check(not wrong, what + ': shares', wrong)
    firsts = [row['total_ns'] for row in rows[1:] if row['level'] == 1]
    results.check(firsts == sorted(firsts, reverse=True), what + ': order')
    return edges, right


def check_made_up(results, scratch):
    numbers = random.Random(5)
    session = calls.Session(
        os.path.join(scratch, 'made'),
        [calls.random_calls(numbers, 5000, 1000 + 99 * thread)
         for thread in range(2)])
    found = session.calls()
    update = [(0, 'Update'), (1, 'Update')]
    draw = [(0, 'Draw')]
    _, right = compare(results, session, found, 'callers', 'Draw', draw)
    results.check(((0, 'Draw'),) in right, 'an edge of a function to itself')
    for what, wrong in (
            ('recursion', expected(found, draw, callers_of, 1, False)),
            ('a call less', expected(found[1:], [found[0].path[-1]],
                                     callers_of, 1)),
            ('callees', expected(found, draw, callees_of, 1))):
        meant = draw if what != 'a call less' else [found[0].path[-1]]
        whole = expected(found, meant, callers_of, 1)
        results.check({chain: edge.row() for chain, edge in wrong.items()} !=
                      {chain: edge.row() for chain, edge in whole.items()},
                      'control: ' + what)
    compare(results, session, found, 'callers', 'Update', update, '--depth',
            '3', depth=3)
    compare(results, session, found, 'callers', 'PLUG.DLL!Update',
            update[1:], '--thread', '2', '--depth', '20', depth=20,
            select=lambda call: call.thread == 2)
    compare(results, session, found, 'callees', 'Draw', draw)
    compare(results, session, found, 'callees', 'Update', update)

    code, text, _ = session.run('callees', 'Draw', '--limit', '2', '--sort',
                                'calls')
    results.check(code == 0 and len([
        line for line in text.splitlines() if '  ' in line and
        line.split()[0].isdigit()]) == 3, 'callees: text, --limit', [text])
    rows = session.json(results, 'callers', 'Draw', '--sort',
                        'calls')['callers'][1:]
    results.equal([row['calls'] for row in rows],
                  sorted((row['calls'] for row in rows), reverse=True),
                  'callers: --sort calls')

    # A range has the same rows as the tree of that range.
    options = ['--from', '50us', '--to', '150us']
    nodes = session.json(results, 'tree', *options)['nodes']
    by_node = {row['node']: row for row in nodes}
    sums = collections.Counter()
    for row in nodes:
        if row['function'] == 'Draw':
            above = by_node[row['parent']] if row['depth'] else None
            sums[above and (above['module'], above['function'])] += \
                row['calls']
    rows = session.json(results, 'callers', 'Draw', *options)['callers'][1:]
    results.equal({row['module'] and (row['module'], row['function']):
                   row['calls'] for row in rows}, dict(sums),
                  'callers: a range')


def check_gcov(results, scratch):
    """The edges to a function add up to what gcov counted."""
    counted = programs.build_sample(os.path.join(scratch, 'gcov'),
                                    programs.GCOV_FLAGS)
    programs.run_windows(counted, THREADS, ITERATIONS,
                         directory=os.path.dirname(counted))
    expected_calls = programs.gcov_counts(os.path.dirname(counted))
    folder = os.path.join(scratch, 'traced')
    program = programs.build_sample(folder, programs.PENTER_FLAGS,
                                    [programs.LIBRARY])
    _, session = programs.trace(program, THREADS, ITERATIONS,
                                directory=os.path.join(folder, 'traces'))
    made = calls.Session.__new__(calls.Session)
    made.session = programs.windows_path(session)
    names = sorted(expected_calls, key=lambda name: -expected_calls[name])
    edges = {}
    for name in names[:2] + names[-1:]:
        rows = made.json(results, 'callers', name)['callers']
        own = [row['calls'] for row in rows if row['level'] == 0]
        above = {row['function']: row['calls'] for row in rows
                 if row['level']}
        edges[name] = above
        results.equal((own, sum(above.values())),
                      ([expected_calls[name]], expected_calls[name]),
                      'gcov: %s' % name)
    name = names[0]
    caller = max(edges[name], key=edges[name].get)
    rows = made.json(results, 'callees', caller)['callees']
    results.equal([row['calls'] for row in rows if row['function'] == name and
                   row['level']], [edges[name][caller]],
                  'an edge from both of its ends: %s, %s' % (caller, name))


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_made_up(results, scratch)
        check_gcov(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

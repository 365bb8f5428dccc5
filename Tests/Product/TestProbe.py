#!/usr/bin/env python3
"""Checks what the hooks cost: how it is measured, and how it is taken out.

Programs are made up here: random calls whose own times are known, and a clock
that hooks of a known cost run on.  With --subtract-probe TraceReader must show
the times of the program without hooks.  A program that is really traced must
have a cost in its stores that can be true.
"""

import csv
import io
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                                # noqa: E402
import MadeStores as made                                     # noqa: E402
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402

UNIT = 256
ENTER, EXIT = 1, 2
FUNCTIONS = [0x1000 * (index + 1) for index in range(6)]


class Program:
    """Calls as a program makes them, once without and once with hooks.

    before, after: what an entry's hook takes before and after its time stamp;
    then those of an exit's.
    """

    def __init__(self, seed, costs):
        self.random = random.Random(seed)
        self.costs = costs
        self.true = self.traced = 1_000_000
        self.records = []
        self.functions = {}         # function -> [calls, total, self]
        self.nodes = {}             # chain -> [calls, total, self]
        self.totals = {}            # function -> those of its calls
        self.chain = []

    def work(self, ticks):
        self.true += ticks
        self.traced += ticks
        return ticks

    def call(self, function, depth, rsp, budget):
        before, after, exit_before, exit_after = self.costs
        begin = self.true
        self.chain.append(function)
        self.traced += before
        self.records.append((self.traced, function, rsp, ENTER))
        self.traced += after
        own = self.work(self.random.randrange(200))
        while budget[0] > 0 and depth < 40 and self.random.random() < 0.6:
            budget[0] -= 1
            self.call(self.random.choice(FUNCTIONS), depth + 1, rsp - 64,
                      budget)
            own += self.work(self.random.randrange(100))
        self.traced += exit_before
        self.records.append((self.traced, function + 9, rsp, EXIT))
        self.traced += exit_after
        total = self.true - begin
        row = self.functions.setdefault(function, [0, 0, 0])
        node = self.nodes.setdefault(tuple(self.chain), [0, 0, 0])
        self.chain.pop()
        for sums in row, node:
            sums[0] += 1
            sums[2] += own
        node[1] += total
        self.totals.setdefault(function, []).append(total)
        if function not in self.chain:
            row[1] += total

    def run(self, calls):
        budget = [calls]
        while budget[0] > 0:
            budget[0] -= 1
            self.call(self.random.choice(FUNCTIONS), 0, made.TOP - 64, budget)
        return self


def costs(inner, total, minor=2):
    return {'at0x1A8': struct.pack('<II', inner, total),
            'at0xA': bytes([minor])}


def write(folder, name, records, **changes):
    os.makedirs(folder, exist_ok=True)
    return made.write(os.path.join(folder, name + '.trace'), records,
                      **changes)


def rows(command, path, *options):
    code, text, errors = support.reader(command, '--csv', *options,
                                        programs.windows_path(path))
    return code, list(csv.DictReader(io.StringIO(text))), errors


def seen_functions(found):
    return {int(row['rva'], 16) if 'rva' in row else row['function']:
            [int(row['calls']), int(row['total_ns']), int(row['self_ns'])]
            for row in found}


def seen_nodes(found):
    """Chain of function names -> numbers."""
    chains, result = {}, {}
    for row in found:
        above = chains[row['parent']] if row['depth'] != '0' else ()
        chain = above + (row['function'],)
        chains[row['node']] = chain
        result[chain] = [int(row['calls']), int(row['total_ns']),
                         int(row['self_ns'])]
    return result


def check_truth(results, scratch):
    """Whatever the hooks cost, what is shown is the program without them."""
    for seed, parts in enumerate([(5, 9, 11, 7), (0, 30, 0, 0), (1, 1, 1, 40),
                                  (400, 300, 200, 100)]):
        folder = os.path.join(scratch, 'truth%d' % seed)
        inner = parts[1] + parts[2]
        program = Program(seed, parts).run(3000)
        path = write(folder, 'a', program.records,
                     **costs(inner * UNIT, sum(parts) * UNIT))
        code, found, errors = rows('report', path, '--subtract-probe')
        results.check(code == 0 and
                      seen_functions(found) == program.functions,
                      'functions, costs %s' % (parts,),
                      [seen_functions(found), program.functions, errors])
        _, plain, _ = rows('report', path)
        results.check(
            [(int(row['total_ns']) + int(row['probe_total_ns']),
              int(row['self_ns']) + int(row['probe_self_ns']))
             for row in sorted(found, key=lambda row: row['rva'])] ==
            [(int(row['total_ns']), int(row['self_ns']))
             for row in sorted(plain, key=lambda row: row['rva'])],
            'what was taken out, costs %s' % (parts,))
        results.check(seen_functions(plain) != program.functions,
                      'control: with the cost, costs %s' % (parts,))
        calls = {key: sorted(values)
                 for key, values in program.totals.items()}
        results.equal({int(row['rva'], 16):
                       (int(row['min_ns']), int(row['max_ns']),
                        int(row['average_ns'])) for row in found},
                      {key: (values[0], values[-1],
                             sum(values) // len(values))
                       for key, values in calls.items()},
                      'each call, costs %s' % (parts,))
        results.check(all(
            exact <= int(row['p50_ns']) <= exact * 1.03126
            for row in found
            for values in [calls[int(row['rva'], 16)]]
            for exact in [values[(len(values) + 1) // 2 - 1]]),
            'the median, costs %s' % (parts,))

        code, found, _ = rows('tree', path, '--subtract-probe')
        names = {}
        for chain, numbers in program.nodes.items():
            names[tuple('made-up.exe+0x%x' % rva for rva in chain)] = numbers
        seen = seen_nodes(found)
        short = {tuple(name.split('!')[-1] for name in chain): numbers
                 for chain, numbers in seen.items()}
        results.check(sorted(short.values()) == sorted(names.values()),
                      'nodes, costs %s' % (parts,),
                      [sorted(short)[:2], sorted(names)[:2]])
        results.check(len(seen) > 100, 'a tree of %d nodes' % len(seen))


def check_fractions(results, scratch):
    """Costs that are no whole ticks: summed up, then rounded."""
    folder = os.path.join(scratch, 'fractions')
    inner, total = 777, 4321
    program = Program(77, (8, 1, 2, 6)).run(2000)
    path = write(folder, 'a', program.records, **costs(inner, total))
    _, plain, _ = rows('report', path)
    _, found, _ = rows('report', path, '--subtract-probe')

    # Counted in the chains: direct callees, and all inside of the outermost.
    direct, inside, outermost, calls = {}, {}, {}, {}
    for chain, (count, _, _) in program.nodes.items():
        calls[chain[-1]] = calls.get(chain[-1], 0) + count
        if len(chain) > 1:
            direct[chain[-2]] = direct.get(chain[-2], 0) + count
        if chain[-1] not in chain[:-1]:
            outermost[chain[-1]] = outermost.get(chain[-1], 0) + count
        for above in set(chain[:-1]):
            inside[above] = inside.get(above, 0) + count

    seen, before = seen_functions(found), seen_functions(plain)
    expected = {}
    for key, (count, whole, own) in before.items():
        taken = outermost[key] * inner + inside.get(key, 0) * total
        mine = calls[key] * inner + direct.get(key, 0) * (total - inner)
        expected[key] = [count, max(whole - (taken + UNIT // 2) // UNIT, 0),
                         max(own - (mine + UNIT // 2) // UNIT, 0)]
    results.check(seen == expected, 'fractions of ticks', [seen, expected])


def check_flow(results, scratch):
    """Abandoned and open calls, a range, several threads, several modules."""
    folder = os.path.join(scratch, 'flow')
    a, b, c = FUNCTIONS[:3]
    top = made.TOP
    # A calls B, which calls C and is left by a jump to A; A stays open.
    path = write(folder, 'a', [
        (1000, a, top - 64, ENTER), (1100, b, top - 128, ENTER),
        (1150, c, top - 192, ENTER), (1190, c + 9, top - 192, EXIT),
        (1300, c, top - 128, ENTER), (1390, c + 9, top - 128, EXIT),
        (1500, b, top - 128, ENTER), (1600, b + 9, top - 128, EXIT)],
        **costs(10 * UNIT, 30 * UNIT))
    _, found, _ = rows('report', path, '--subtract-probe')
    seen = seen_functions(found)
    results.check(seen == {
        a: [1, 600 - 10 - 4 * 30, 600 - 200 - 90 - 100 - 10 - 3 * 20],
        b: [2, 100 - 10, 100 - 10],
        c: [2, 40 + 90 - 20, 40 + 90 - 20]}, 'abandoned and open', [seen])
    _, found, _ = rows('report', path, '--subtract-probe', '--from', '200',
                       '--to', '550')
    seen = seen_functions(found)
    results.check(seen[a] == [1, 350 - 10 - 2 * 30,
                              350 - 100 - 90 - 50 - 10 - 2 * 20],
                  'a range', [seen])

    # Two threads of a session; only one of its stores says what hooks cost.
    folder = os.path.join(scratch, 'threads')
    first, second = Program(5, (3, 4, 5, 6)), Program(6, (3, 4, 5, 6))
    write(folder, 'a', first.run(500).records, **costs(9 * UNIT, 18 * UNIT))
    write(folder, 'b', second.run(500).records,
          at0x1C=struct.pack('<I', 8), **costs(0, 0, 1))
    expected = {
        key: [first.functions.get(key, [0] * 3)[index] +
              second.functions.get(key, [0] * 3)[index] for index in range(3)]
        for key in set(first.functions) | set(second.functions)}
    for workers in '1', '3':
        _, found, _ = rows('report', folder, '--subtract-probe', '--workers',
                           workers)
        results.check(seen_functions(found) == expected,
                      'two threads, %s workers' % workers)


def check_noise(results, scratch):
    """Times that the cost swallows, in text; the note; JSON."""
    folder = os.path.join(scratch, 'noise')
    a, b = FUNCTIONS[:2]
    records, time = [], 1000
    for _ in range(100):
        records += [(time, a, made.TOP - 64, ENTER),
                    (time + 500, b, made.TOP - 128, ENTER),
                    (time + 510, b + 9, made.TOP - 128, EXIT),
                    (time + 1000, a + 9, made.TOP - 64, EXIT)]
        time += 2000
    path = write(folder, 'a', records, **costs(16 * UNIT + 128, 40 * UNIT))
    _, found, _ = rows('report', path, '--subtract-probe')
    seen = seen_functions(found)
    results.check(seen[b] == [100, 0, 0], 'never below 0', [seen])
    results.check([row['probe_self_ns'] for row in found
                   if int(row['rva'], 16) == b] == ['1650'],
                  'what was taken out, more than there was')
    path = programs.windows_path(path)
    text = support.reader('report', '--subtract-probe', path)[1]
    # An eighth of 1650 ns, and of 16.5.
    results.check(text.count('< 208 ns') == 2 and '< 3 ns' in text,
                  'text says less than', text.splitlines())
    results.check('16.5 ns from each call, and 23.5 ns more' in text,
                  'text says how much', text.splitlines())
    lines = [line for line in text.splitlines() if line]
    results.check(lines[1].index('made') == lines[2].index('made')
                  if 'made' in lines[1] else
                  len(lines[1]) == len(lines[2]), 'columns line up', lines)
    plain = support.reader('report', path)[1]
    results.check('<' not in plain and 'hooks' not in plain,
                  'control: without the option')
    value = json.loads(support.reader('report', '--json', '--subtract-probe',
                                      path)[1])
    results.check({row['probe_total_ns'] for row in value['functions']} ==
                  {1650, 1650 + 4000}, 'JSON', [value])
    value = json.loads(support.reader('info', '--json', path)[1])
    results.check([(row['probe_total_ps'], row['probe_inner_ps'])
                   for row in value['modules']] == [(40000, 16500)],
                  'info', [value['modules']])


def check_unknown(results, scratch):
    """Stores that do not say, or cannot be believed."""
    folder = os.path.join(scratch, 'unknown')
    records = [(1000, FUNCTIONS[0], made.TOP - 64, ENTER),
               (2000, FUNCTIONS[0] + 9, made.TOP - 64, EXIT)]
    for name, changes in (
            ('old', {}), ('zero', costs(0, 0)),
            ('no inner part', costs(0, 40 * UNIT)),
            ('more inside than in all', costs(41 * UNIT, 40 * UNIT)),
            ('another clock', dict(costs(9, 9), at0x3C=b'\1'))):
        path = write(folder, name.replace(' ', '-'), records, **changes)
        for command in 'report', 'tree':
            code, text, errors = support.reader(
                command, '--subtract-probe', programs.windows_path(path))
            results.check(code == 1 and not text and
                          'find what the hooks cost' in errors,
                          '%s: %s' % (command, name), [code, text, errors])
        code, text, _ = support.reader('report', programs.windows_path(path))
        results.check(code == 0 and '1.000 us' in text,
                      '%s: without the option' % name, [text])


def check_measured(results, scratch):
    """What the library measures, in a program that is traced."""
    folder = os.path.join(scratch, 'measured')
    program = programs.build(
        folder, [os.path.join(programs.PROGRAMS, 'Sample.c')],
        programs.PENTER_FLAGS, 'Sample.exe', [programs.LIBRARY])
    for name, variables, knows in (
            ('tsc', {}, (True, True)),
            ('ring', {'TRACER_MODE': 'ring'}, (True, True)),
            ('none', {'TRACER_CLOCK': 'none'}, (False, True)),
            ('duration', {'TRACER_MIN_DURATION': '1us'}, (False, False)),
            ('depth', {'TRACER_MAX_DEPTH': '3'}, (False, False))):
        sessions = os.path.join(folder, name)
        support.run(program, directory=sessions, **variables)
        stores = [trace_reader.Store(path)
                  for path in support.stores(sessions)]
        results.check(bool(stores), name + ': there are stores')
        for store in stores:
            inner, total = store.ProbeInner, store.ProbeTotal
            results.check((inner != 0, total != 0) == knows and
                          inner <= total,
                          '%s: %.1f of %.1f ticks' % (
                              name, inner / UNIT, total / UNIT))
        if name == 'tsc':
            print('measured: %.1f ticks in all, %.1f inside' % (
                stores[0].ProbeTotal / UNIT, stores[0].ProbeInner / UNIT))
            code, found, errors = rows('report', support.sessions(sessions)[0],
                                       '--subtract-probe')
            results.check(code == 0 and found, 'report of a traced program',
                          [errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_truth(results, scratch)
        check_fractions(results, scratch)
        check_flow(results, scratch)
        check_noise(results, scratch)
        check_unknown(results, scratch)
        check_measured(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

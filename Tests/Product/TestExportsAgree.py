#!/usr/bin/env python3
"""One session of a real program, Lua, in every form that there is: report,
tree, callers, threads, modules, all exports, and the HTML page in a browser
have the same calls, the same self times and the same call tree.

The session's clock is taken away, so that all times are ticks and no form
rounds another way than the next.  The forms of every call are added up here.
"""

import collections
import csv
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import EventSupport as events                                # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestExportEvents                                      # noqa: E402
import TestExportTables as tables                            # noqa: E402
import TestExportTraces                                      # noqa: E402
import TestHtml                                              # noqa: E402
from StoreSupport import programs                            # noqa: E402

SCRIPT = ("local t = {} for i = 1, 60 do t[i] = tostring(i * 7 % 101) end "
          "table.sort(t) for _, v in ipairs(t) do v:rep(3):gsub('1', 'x') end")
READ = {**TestExportEvents.READ, **TestExportTraces.READ}


class Sums:
    """Calls, self and total time by function, and calls and self time by chain
    of calls."""

    def __init__(self):
        self.functions = collections.defaultdict(lambda: [0, 0])
        self.totals = collections.Counter()
        self.chains = collections.defaultdict(lambda: [0, 0])

    def add(self, chain, calls, own, total=None):
        for sums in (self.functions[chain[-1]], self.chains[chain]):
            sums[0] += calls
            sums[1] += own
        if total is not None and chain[-1] not in chain[:-1]:
            self.totals[chain[-1]] += total

    def everything(self):
        return dict(self.functions), +self.totals, dict(self.chains)


def of_tree(rows):
    sums = Sums()
    for chain, row in tables.paths(rows):
        sums.add(chain, row['calls'], row['self_ticks'], row['total_ticks'])
    return sums


def of_events(tracks):
    sums = Sums()
    for each in tracks.values():
        stack = []
        for kind, function, time, _ in each:
            if kind == 'B':
                stack.append([function, time, 0])
                continue
            chain = tuple(frame[0] for frame in stack)
            name, begun, inner = stack.pop()
            if name != function:
                raise ValueError('%r ends in %r' % (function, name))
            sums.add(chain, 1, time - begun - inner, time - begun)
            if stack:
                stack[-1][2] += time - begun
        if stack:
            raise ValueError('%d calls do not end' % len(stack))
    return sums


def of_cap(text):
    sums, stack = Sums(), []
    for line in text.splitlines():
        cells = line.split('\t')
        if cells[0].isdigit():
            stack[int(cells[0]):] = [cells[1].split('!', 1)[1]]
            sums.add(tuple(stack), int(cells[2]), int(cells[5]),
                     int(cells[3]))
    return sums


def check_forms(results, exporter, expected):
    """The exports; each is compared in all that it holds."""
    functions, totals, chains = expected.everything()

    def text(form):
        with open(exporter.export(form)[0][0], encoding='utf-8') as file:
            return file.read()

    def equal(found, wanted, what):
        results.check(found == wanted and found, what, [
            (key, found.get(key), wanted.get(key))
            for key in {*found, *wanted} if found.get(key) != wanted.get(key)])

    for form, read in READ.items():
        sums = of_events(read(exporter.export(form)[0][0]))
        for found, wanted, what in zip(sums.everything(),
                                       (functions, totals, chains),
                                       ('functions', 'totals', 'tree')):
            equal(found, wanted, '%s: %s' % (form, what))
    equal(of_cap(text('csv-cap')).chains, chains, 'csv-cap: tree')

    found = collections.Counter()
    for line in text('folded').splitlines():
        chain, weight = line.rsplit(' ', 1)
        found[tuple(chain.split(';'))] += int(weight)
    equal(found, {chain: own for chain, (_, own) in chains.items() if own},
          'folded: tree')

    costs, calls = tables.read_profile(text('callgrind').encode())
    equal({name: [calls[name], costs[name]] for name in calls}, functions,
          'callgrind: functions')

    found = collections.defaultdict(lambda: [0, 0])
    for row in csv.DictReader(text('csv').splitlines()):
        found[row['function']][0] += int(row['calls'])
        found[row['function']][1] += int(row['self_ticks'])
    equal(dict(found), functions, 'csv: functions')

    found = collections.Counter()
    for row in csv.DictReader(text('csv-osr').splitlines()):
        name = row['Function'].split('!', 1)[1]
        found[name] += int(row['CallTicks'])
        results.equal(int(row['TicksPerCall']),
                      int(row['CallTicks']) // int(row['CallCount']),
                      'csv-osr: %s' % name)
    equal(+found, totals, 'csv-osr: totals')

    #
    # A control: one call less is seen.
    #

    sums = of_events(READ['chrome'](exporter.export('chrome')[0][0]))
    sums.chains[max(sums.chains)][0] -= 1
    results.check(sums.chains != chains, 'control: a call less')


def check_commands(results, exporter, expected):
    functions, totals, _ = expected.everything()
    found, found_totals = collections.defaultdict(lambda: [0, 0]), \
        collections.Counter()
    for row in exporter.json('report')['functions']:
        found[row['function']][0] += row['calls']
        found[row['function']][1] += row['self_ticks']
        found_totals[row['function']] += row['total_ticks']
    results.equal((dict(found), +found_totals), (functions, totals),
                  'report and tree')
    calls = sum(each[0] for each in functions.values())
    own = sum(each[1] for each in functions.values())
    threads = exporter.json('threads')['threads']
    results.equal((sum(row['calls'] for row in threads),
                   sum(row['busy_ticks'] for row in threads)), (calls, own),
                  'threads')
    modules = exporter.json('modules')['modules']
    results.equal((sum(row['calls'] for row in modules),
                   sum(row['self_ticks'] for row in modules)), (calls, own),
                  'modules')
    for name in ('luaV_execute', 'luaH_getshortstr', 'l_alloc'):
        for command in ('callers', 'callees'):
            code, text, errors = support.reader(command, '--json', name,
                                                exporter.session)
            rows = json.loads(text)[command]
            results.check(code == 0 and
                          [rows[0]['calls'], rows[0]['self_ticks']] ==
                          functions[name] and
                          (command == 'callees' or sum(
                              row['calls'] for row in rows[1:]) ==
                           functions[name][0]),
                          '%s %s' % (command, name), [code, errors, rows[:3]])


def check_page(results, session):
    if BrowserSupport.find() is None:
        results.skip('the HTML page: there is no Chromium')
        return
    with BrowserSupport.Browser() as browser:
        page = TestHtml.Page(results, browser, session)
        TestHtml.check_numbers(page, 'html')


def main():
    results = programs.Results()
    source = programs.find_lua()
    if source is None:
        results.skip('Lua: its source cannot be had')
        return results.finish()
    with programs.Scratch() as scratch:
        folder = os.path.join(scratch, 'lua')
        program = programs.build_lua(folder, source, programs.PENTER_FLAGS,
                                     [programs.LIBRARY])
        _, traced = programs.trace(program, '-e', SCRIPT,
                                   directory=os.path.join(folder, 'traces'))
        session = events.without_anchors(traced,
                                         os.path.join(scratch, 'ticks'))
        exporter = events.Exporter(results, scratch, session, 'Lua')
        rows = exporter.json('tree')['nodes']
        results.check(len(rows) > 300 and not any(
            row['abandoned'] or row['unfinished'] for row in rows),
            'what was traced', [len(rows)])
        expected = of_tree(rows)
        check_commands(results, exporter, expected)
        check_forms(results, exporter, expected)
        check_page(results, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""What the viewer's panels show is what TraceReader prints: each panel's table
is copied as CSV, its command is copied too, the command is run, and the two
are compared, call for call and nanosecond for nanosecond.

The sessions are made up, with all kinds of ends of calls.  Chromium is needed;
without it all is skipped.
"""

import collections
import csv
import io
import json
import os
import random
import re
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import CallSupport as calls                                  # noqa: E402
import MadeStores as made                                    # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestImportNames as imports                            # noqa: E402
import TestViewPanels as panels                              # noqa: E402
from StoreSupport import programs                            # noqa: E402

PAGE = os.path.join(programs.BIN, 'TraceViewer.html')
READY = 'window.Viewer && Viewer.session !== null && Viewer.isPassed === true'
MARK = 4
UNLOADED = 2, 2                         # TRACE_STATE_, TRACE_REASON_
NUMBERS = 'calls', 'total_ns', 'self_ns'
MORE = 'average_ns', 'min_ns', 'max_ns'


class Page:
    """A session in the viewer."""

    def __init__(self, results, browser, session):
        self.results = results
        self.browser = browser
        self.session = session
        browser.open(PAGE)
        browser.wait_for('window.Viewer !== undefined')
        browser.choose_files('#folderInput', [session.folder])
        browser.wait_for(READY)

    def get(self, expression):
        return self.browser.evaluate(expression)

    def set(self, change, panel):
        """Changes the state; returns when the panel shows what it is about."""
        self.get('Viewer.set(%s)' % json.dumps({**change, 'panel': panel}))
        # Listeners are told in the next frame, and ask then.
        self.get('new Promise(done => requestAnimationFrame(() => '
                 'requestAnimationFrame(() => setTimeout(done, 200))))')
        self.browser.wait_for(
            '(e => !e.dataset.state || e.dataset.state === "shown")'
            '(document.querySelector("#panel-%s .panelBody"))' % panel)
        self.results.equal(self.get(
            'document.querySelector("#panel-%s .panelNote.isBad:not([hidden])")'
            '?.textContent || ""' % panel), '', panel + ': what it says')

    def choose(self, text):
        """Another of the sessions that there are."""
        self.get('(box => { box.value = [...box.options].find(each => '
                 'each.textContent === %s).value; box.dispatchEvent('
                 'new Event("change")); })(document.querySelector("#choose"))' %
                 json.dumps(text))
        self.browser.wait_for('Viewer.engine.plan.isAllRuns && ' + READY)

    def function(self, name, module=None):
        """The page's number of a function; of a module, where that matters."""
        return self.get('Viewer.engine.functions.findIndex(each => each.name '
                        '=== %s && %s)' % (json.dumps(name), 'each.module === '
                                           + json.dumps(module)
                                           if module else 'true'))

    def copied(self, panel, title):
        """What a button of the panel copies."""
        return self.get('''(() => {
            const old = Viewer.copy;
            let copied = null;
            Viewer.copy = text => { copied = text; };
            [...document.querySelectorAll('#panel-%s button')].find(
                each => each.textContent === '%s').click();
            Viewer.copy = old;
            return copied;
        })()''' % (panel, title))

    def rows(self, panel):
        return list(csv.DictReader(io.StringIO(
            self.copied(panel, 'Copy CSV'))))

    def printed(self, panel):
        """What the copied commands print, as rows, one list a command."""
        found = []
        for line in self.copied(panel, 'Copy command').split('\n'):
            words = panels.split_command(line)
            self.results.equal((words[0], words[-1]),
                               ('TraceReader', os.path.basename(
                                   self.session.folder)), 'the command')
            code, text, errors = support.reader(
                words[1], '--csv', *words[2:-1], self.session.session)
            self.results.check(code == 0, line, [code, errors])
            found.append(list(csv.DictReader(io.StringIO(text))))
        return found


def key_of(row):
    return row['module'], row['function']


def numbers(row, fields):
    return tuple(int(row[field]) if row[field] else None for field in fields)


def compare(results, what, page, reader, fields=NUMBERS, key=key_of):
    """Rows of the page and of TraceReader, whatever their order."""
    left = collections.Counter((key(row), numbers(row, fields))
                               for row in page)
    right = collections.Counter((key(row), numbers(row, fields))
                                for row in reader)
    results.check(left == right, what, [list((left - right).items())[:4],
                                        list((right - left).items())[:4]])
    return bool(right)


def chains(rows):
    """Nodes of a tree: their functions from the outermost on, and numbers."""
    chain, found = {'0': ()}, collections.Counter()
    for row in rows:
        chain[row['node']] = chain[row['parent']] + (key_of(row),)
        found[chain[row['node']], numbers(row, NUMBERS)] += 1
    return found


def facts(rows):
    """Tables of fields: table to its rows, each a dictionary."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        found[row['table']][row['row']][row['field']] = row['value']
    return {table: list(each.values()) for table, each in found.items()}


def check_range(results, page, what, name):
    """All panels of the range that is set, and of one function."""
    page.set({}, 'functions')
    has = compare(results, what + ': functions', page.rows('functions'),
                  page.printed('functions')[0], NUMBERS + MORE)

    page.set({}, 'flame')
    tree = chains(page.rows('flame'))
    expected = chains(page.printed('flame')[0])
    results.check(tree == expected, what + ': tree',
                  [list((tree - expected).items())[:3],
                   list((expected - tree).items())[:3]])

    number = page.function(name)
    page.set({'function': number}, 'sandwich')
    rows = page.rows('sandwich')
    callers, callees = page.printed('sandwich')
    for relation, printed in (('caller', callers), ('callee', callees)):
        compare(results, '%s: %ss' % (what, relation),
                [row for row in rows if row['relation'] == relation],
                [row for row in printed if row['relation'] == relation])

    page.set({'function': number}, 'histogram')
    ours = facts(page.rows('histogram'))
    theirs = facts(page.printed('histogram')[0])
    for field in ('p50_ns', 'p90_ns', 'p99_ns', 'p99_9_ns'):
        results.equal(ours['summary'][0].get(field),
                      theirs['summary'][0].get(field) or '0',
                      '%s: %s' % (what, field))
    count = sum(int(row['calls']) for row in ours.get('histogram', []))
    results.equal(str(count), theirs['summary'][0]['calls'],
                  what + ': calls of the histogram')
    slowest = [[tuple(row[field] for field in
                      ('duration_ns', 'start_ns', 'thread', 'depth'))
                for row in both.get('calls', [])] for both in (ours, theirs)]
    results.check([row[0] for row in slowest[0]] ==
                  [row[0] for row in slowest[1]] and
                  (len(slowest[0]) == 100 or
                   sorted(slowest[0]) == sorted(slowest[1])),
                  what + ': the slowest calls', [slowest[0][:3],
                                                 slowest[1][:3]])
    return has


def check_filter(results, page, found):
    """A filter that --function can say prints what is shown; another leaves
    nothing out."""
    page.set({}, 'functions')
    names = {name for call in found for _, name in call.path[-1:]}
    some = 0
    for text in ('', 'Update', 'update', 'o', 'Draw', 'a b', ','):
        page.get('''(box => { box.value = %s; box.dispatchEvent(
            new Event('input')); })(document.querySelector(
            '#panel-functions .panelFilter'))''' % json.dumps(text))
        shown = page.rows('functions')
        printed = page.printed('functions')[0]
        if not set(text) & set(' ,') and \
                {row['function'] for row in shown} == \
                {name for name in names if text in name}:
            some += 1
            compare(results, 'filter %r' % text, shown, printed)
        else:
            results.check({row['function'] for row in printed} >=
                          {row['function'] for row in shown},
                          'filter %r leaves nothing out' % text)
    results.check(some > 3, 'most of them can be said', [some])
    page.get('''(box => { box.value = ''; box.dispatchEvent(
        new Event('input')); })(document.querySelector(
        '#panel-functions .panelFilter'))''')


def check_call(results, page, found, numbers_):
    """Single calls, with those around them, as the other reader pairs them."""
    base = page.session.first
    whole = [call for call in found if call.how == 'completed']
    for call in numbers_.sample(whole, 12):
        depth = len(call.path) - 1
        thread = page.get('Viewer.session.threads.find(each => each.tid === '
                          '%d).id' % call.thread)
        module, name = call.path[-1]
        page.get('Viewer.show({thread: %d, begin: %d, end: %d, depth: %d, '
                 'function: %d})' % (
                     thread, call.begin - base, call.end - base, depth,
                     page.function(name, page.session.modules[module])))
        page.set({}, 'call')
        rows = page.rows('call')
        results.equal([(row['module'], row['function']) for row in rows],
                      [(page.session.modules[module], name)
                       for module, name in call.path], 'the calls around it')
        results.equal((rows[-1]['start_ns'], rows[-1]['duration_ns'],
                       rows[-1]['thread']),
                      (str(call.begin - base), str(call.end - call.begin),
                       str(call.thread)), 'the call')
        inside = sum(each.end - each.begin for each in found
                     if each.thread == call.thread and
                     each.path[:-1] == call.path and
                     each.begin >= call.begin and each.end <= call.end)
        text = page.get('[...document.querySelectorAll(".callFacts dt")].find('
                        'each => each.textContent === "Self")'
                        '.nextSibling.textContent')
        results.equal(text.split(' (')[0], page.get(
            'Viewer.format.time(%d)' % (call.end - call.begin - inside)),
            'the call\'s own time')
        replayed = page.printed('call')[0]
        results.check(any(row['time_ns'] == str(call.begin - base) and
                          row['function'] == call.path[-1][1] and
                          row['depth'] == str(depth) for row in replayed),
                      'replay has the call', replayed[:3])


def check_steps(results, page, found):
    """n and N go through all calls of a function, in the order of time."""
    name = collections.Counter(call.path[-1] for call in found).most_common(
        )[-1][0]
    base = page.session.first
    begins = sorted({call.begin - base for call in found
                     if call.path[-1] == name})[:8]
    number = page.function(name[1], page.session.modules[name[0]])
    page.set({'function': number, 'call': None, 'selection': None}, 'find')
    page.get('Viewer.fit()')
    seen = []
    for _ in begins:
        page.get('document.activeElement.blur()')
        page.browser.key('n')
        last = seen[-1] if seen else -1
        page.browser.wait_for('Viewer.state.call && Viewer.state.call.begin '
                              '!== %d' % last)
        seen.append(page.get('Viewer.state.call.begin'))
    results.equal(seen, begins, 'the next calls')
    page.browser.key('N')
    page.browser.wait_for('Viewer.state.call.begin !== %d' % seen[-1])
    results.equal(page.get('Viewer.state.call.begin'), begins[-2],
                  'the previous call')


#
# Imports: which module called, as the program has counted it.
#

class Traced:
    """What Page wants of a session."""

    def __init__(self, folder):
        self.folder = folder
        self.session = programs.windows_path(folder)


def compare_callers(results, page, name):
    """Callers and callees with the module that called; returns the callers."""
    page.set({'function': page.function(name)}, 'sandwich')
    rows = page.rows('sandwich')
    for relation, printed in zip(('caller', 'callee'),
                                 page.printed('sandwich')):
        left, right = [sorted(
            (row.get('caller_module') or '', row['module'], row['function'],
             row['calls']) for row in table if row['relation'] == relation)
                       for table in (rows, printed)]
        results.check(left == right, 'imports: %ss of %s' % (relation, name),
                      [left, right])
    return {row['function']: int(row['calls']) for row in rows
            if row['relation'] == 'caller'}


BOXES = """(async () => {
    const found = [];
    for (const thread of Viewer.session.threads) {
        const b = await Viewer.engine.query({ thread: thread.id, begin: 0,
            end: Viewer.session.end + 1, pixels: 100000, key: 'test' });
        for (let i = 0; i < b.count; i++) {
            found.push([Viewer.nameOf(b.function[i]), b.caller ?
                Viewer.importerOf(b.caller[i]) : '', { thread: thread.id,
                begin: b.start[i], end: b.stop[i], depth: b.depth[i],
                function: b.function[i] }]);
        }
    }
    return found;
})()"""

# Moves the pointer to a call's box, if it is in sight; what the tooltip says.
TIP = """(call => {
    const { timeline } = Viewer;
    const x = timeline.placeOf((call.begin + call.end) / 2);
    const frame = timeline.canvas.getBoundingClientRect();
    for (let y = 0; y < frame.height; y += 2) {
        const hit = timeline.hit(x, y);
        if (hit && hit.box >= 0 && hit.answer.calls[hit.box] === 1 &&
            hit.answer.start[hit.box] === call.begin &&
            hit.answer.stop[hit.box] === call.end &&
            hit.depth === call.depth) {
            timeline.canvas.dispatchEvent(new PointerEvent('pointermove', {
                clientX: frame.left + x, clientY: frame.top + y,
                bubbles: true }));
            return Object.fromEntries([...document.querySelectorAll('#tip tr')]
                .map(row => [...row.children].map(each => each.textContent)));
        }
    }
    return null;
})(%s)"""


def check_imports(results, browser, scratch):
    made = imports.Programs(os.path.join(scratch, 'imports'))
    made.run(results, 'Names.exe', '--imports', imports.LISTS)
    session = Traced(support.sessions(os.path.join(made.folder, 'run1'))[0])
    filters.without_anchors(session.folder)
    page = Page(results, browser, session)
    counts = made.counts
    page.set({}, 'functions')
    compare(results, 'imports: functions', page.rows('functions'),
            page.printed('functions')[0], ['calls'])
    page.set({}, 'flame')
    nodes = [collections.Counter(
        (row['caller_module'], row['function'].strip(), row['depth'],
         row['calls']) for row in table)
             for table in (page.rows('flame'), page.printed('flame')[0])]
    results.check(nodes[0] == nodes[1] and nodes[0], 'imports: tree', nodes)
    for name, callers in (
            ('kernel32!Sleep', {'plug!Work': counts['plug.dll', 'Sleep'],
                                '[names.exe]': counts['names.exe', 'Sleep']}),
            ('plug!Work', {'[names.exe]': counts['names.exe', 'Work']}),
            ('plug!Back', {'[names.exe]': counts['names.exe', 'Back']})):
        results.equal(compare_callers(results, page, name), callers,
                      'imports: who called ' + name)
    results.equal(page.get('[...document.querySelectorAll("#panel-sandwich '
                           '.sandwichSide [role=columnheader]")].map('
                           'each => each.dataset.id).filter(each => each === '
                           '"caller").length'), 1, 'imports: the column')

    # A module is no function: a click on it goes nowhere.
    shown = page.get('Viewer.state.function')
    page.get('[...document.querySelectorAll("#panel-sandwich [role=row]")]'
             '.find(each => each.textContent.startsWith("[names.exe]"))'
             '.click()')
    results.equal(page.get('Viewer.state.function'), shown,
                  'imports: a module is not gone to')

    # The panel and the tooltip of one call of each kind.
    seen = set()
    for name, caller, call in page.get(BOXES):
        if (name, caller) in seen:
            continue
        seen.add((name, caller))
        page.get('Viewer.show(%s)' % json.dumps(call))
        page.set({}, 'call')
        results.equal(page.rows('call')[-1]['caller_module'], caller,
                      'imports: the call of ' + name)
        results.equal(page.get(
            '[...document.querySelectorAll(".callFacts dt")].find(each => '
            'each.textContent === "Called by")?.nextSibling.textContent'),
            caller, 'imports: what it says of ' + name)
        edge = max(call['end'] - call['begin'], 10)
        page.get('Viewer.setRange(%d, %d)' % (call['begin'] - edge,
                                              call['end'] + edge))
        tip = TIP % json.dumps(call)
        browser.wait_for('(%s) !== null' % tip)
        results.equal(page.get(tip).get('called by'), caller,
                      'imports: the tooltip of ' + name)
    results.check({caller for _, caller in seen} == {'names.exe', 'plug.dll'},
                  'imports: both of them', seen)
    check_hooked(results, browser, made)


def attached_again(folder, chosen):
    """Thread 2 is recorded twice, and then another thread that has its number."""
    lives = [calls.random_calls(chosen, 3000, time=10 ** 6 + 1000 * at *
                                made.RATE) for at in range(3)]
    session = calls.Session(folder, [calls.random_calls(chosen, 2000), *lives])
    for path in support.stores(session.folder):
        thread = int(path.rpartition('.')[0].split('-')[-2])
        begin = 1000 * max(thread - 2, 0)
        with open(path, 'r+b') as file:
            for offset, value in (
                    (0x00A, struct.pack('<H', 6)),
                    (0x01C, struct.pack('<I', min(thread, 2))),
                    (0x080, struct.pack('<II', *UNLOADED)),
                    (0x0E0, made.anchor(1000 + begin * made.RATE, begin) +
                            made.anchor(1000 + (begin + 500) * made.RATE,
                                        begin + 500)),
                    (0xF50, struct.pack('<I', 8)),
                    (0xF58, struct.pack('<Q', 133_000_000_100_000_000 +
                                        (thread == 1) + 2 * (thread == 4)))):
                file.seek(offset)
                file.write(value)
    support.write_control(session.folder, [
        (MARK, 2 * 10 ** 6 + 1000 * at * made.RATE, str(at), 2)
        for at in range(3)])
    return session


def check_again(results, browser, scratch, chosen):
    """What the panels say of a thread is what --thread says: of all that had
    its number.  One that was attached to again is one thread."""
    session = attached_again(os.path.join(scratch, 'again'), chosen)
    support.reader('report', session.session)           # symbols.cache
    page = Page(results, browser, session)
    threads = session.json(results, 'threads')['threads']
    page.set({}, 'threads')
    results.equal([(row['name'].strip(), row['number'])
                   for row in page.rows('threads')][1:], [
        ('Thread', '1'), ('Thread', '2'), ('Thread, attached again', '2'),
        ('Thread', '2')], 'again: the panel of threads')
    results.equal([page.get('Viewer.countThreads(Viewer.session.threads.map('
                            'each => each.id))'), len(threads)], [3, 3],
                  'again: threads')
    results.check('3 threads' in page.get(
        'document.querySelector("#subtitle").textContent'),
        'again: what the bar says')
    results.equal(page.get('Viewer.session.marks.map(each => [each.text, '
                           'each.thread])'), [['0', 1], ['1', 2], ['2', 3]],
                  'again: whose marks they are')
    for at in range(4):
        page.get('Viewer.set({scope: "t" + Viewer.session.threads[%d].id})' %
                 at)
        check_range(results, page, 'again: thread %d' % at, 'Update')
        results.equal(page.get(
            '(choice => [choice.selectedOptions[0].textContent, '
            'choice.options.length])'
            '(document.querySelector("#panel-functions select"))'),
            ['Thread %d' % min(at + 1, 2), 3], 'again: the choice')


def anchor(tsc, seconds, late):
    """One of a clock that is late by so many of its ticks."""
    _, qpc, time, _ = struct.unpack('<4Q', made.anchor(tsc, seconds))
    return struct.pack('<4Q', tsc, qpc + late, time, tsc ^ (qpc + late) ^ time)


def check_runs(results, browser, scratch, chosen):
    """Two runs, of processes whose clocks differ.  With --process times are
    after its first record, by its clock; all runs are --all-runs."""
    folder, runs = (os.path.join(scratch, name) for name in ('run', 'runs'))
    os.makedirs(runs)
    for number in range(2):
        session = calls.Session(folder, [
            calls.random_calls(chosen, 2500, time=1000 + 3_000_000 * number),
            calls.random_calls(chosen, 1500, time=1500 + 3_500_000 * number)])
        for path in support.stores(session.folder):
            with open(path, 'r+b') as file:
                for offset, value in (
                        (0x018, struct.pack('<I', 500 + number)),
                        (0x020, struct.pack('<Q', 133_000_000_000_000_000 +
                                            number)),
                        (0x080, struct.pack('<II', *UNLOADED)),
                        (0x100, anchor(1000 + 100 * made.RATE, 100,
                                       12345 * number))):
                    file.seek(offset)
                    file.write(value)
        support.reader('report', session.session)       # symbols.cache
        os.rename(session.folder, os.path.join(runs, str(number)))
        shutil.rmtree(os.path.join(folder, 'whole'))
    session = Traced(runs)
    page = Page(results, browser, session)
    results.equal(page.get('Viewer.session.processes.map(each => each.pid)'),
                  [501], 'runs: the newest')
    page.choose('All runs')
    results.equal(page.get('Viewer.session.processes.map(each => each.pid)'),
                  [500, 501], 'runs: all of them')
    results.equal(page.get('[...document.querySelector("#choose").options]'
                           '.map(each => each.textContent)'),
                  ['The newest run', 'All runs'], 'runs: the choice')
    length = page.get('Viewer.session.end')
    for what, scope in (('all', 'null'),
                        ('a process', '"p" + Viewer.session.processes[1].id'),
                        ('a thread', '"t" + Viewer.session.threads.find(each '
                                     '=> each.process === 1).id')):
        for begin, end in ((0, length), (length * 5 // 8, length * 7 // 8)):
            page.get('Viewer.set({scope: %s, selection: {begin: %d, end: %d}})'
                     % (scope, begin, end))
            results.check(check_range(results, page, 'runs: %s, %d to %d' % (
                what, begin, end), 'main'), 'runs: there are calls')
    command = page.copied('functions', 'Copy command')
    results.check('--process 501 --thread 1' in command and
                  '--all-runs' in command, 'runs: the command', [command])

    # The tables of everything are so whatever the panels are about.
    for panel in 'threads', 'marks', 'problems':
        page.set({}, panel)
        command = page.copied(panel, 'Copy command')
        results.check('--process' not in command and '--thread' not in command
                      and ('--all-runs' in command) == (panel != 'problems'),
                      'runs: the command of ' + panel, [command])


def check_clock(results, browser, scratch, chosen):
    """A clock thread's times are rounded down to its step, and so is a range."""
    session = calls.Session(
        os.path.join(scratch, 'clock'), [calls.random_calls(chosen, 3000)],
        changes={'at0x3C': struct.pack('<I', 1),        # TRACE_CLOCK_THREAD
                 'at0xC8': struct.pack('<Q', 900)})
    support.reader('report', session.session)           # symbols.cache
    page = Page(results, browser, session)
    length = page.get('Viewer.session.end')
    results.equal(page.get('Viewer.session.granularity'), 1000, 'clock: step')
    for begin, end in ((0, length), (length // 3 + 501, length // 2 + 499)):
        page.get('Viewer.set({selection: {begin: %d, end: %d}})' % (begin, end))
        check_range(results, page, 'clock: %d to %d' % (begin, end), 'Update')


def check_no_clock(results, browser, scratch, chosen):
    """Without times there are none, in no table."""
    session = calls.Session(
        os.path.join(scratch, 'none'), [calls.random_calls(chosen, 2000)] * 2,
        modules=calls.MODULES[:1],
        changes={'at0x3C': struct.pack('<I', 2)})       # TRACE_CLOCK_NONE
    support.reader('report', session.session)           # symbols.cache
    page = Page(results, browser, session)
    page.set({}, 'functions')
    rows = page.rows('functions')
    compare(results, 'no clock: functions', rows, page.printed('functions')[0])
    results.check(rows and not any(row['total_ns'] for row in rows),
                  'no clock: no times', rows[:2])
    page.set({}, 'threads')
    text = page.get('document.querySelector("#panel-threads").textContent')
    results.check(' records' in text and ' ns' not in text and
                  ' ms' not in text and not re.search('[0-9] s', text),
                  'no clock: what a thread says', [text])


def check_twins(results, browser, scratch, chosen):
    """Two functions of one name: a command means both, and it is said."""
    names = calls.NAMES[:]
    calls.NAMES[2] = calls.NAMES[1]
    session = calls.Session(os.path.join(scratch, 'twins'),
                            [calls.random_calls(chosen, 2000)])
    calls.NAMES[:] = names
    support.reader('report', session.session)           # symbols.cache
    page = Page(results, browser, session)
    for name, twins in (('Update', 2), ('DrawAll', 1)):
        for panel in 'sandwich', 'histogram':
            page.set({'function': page.function(name, 'game.exe')}, panel)
            results.equal('one of 2 functions' in page.get(
                'document.querySelector("#panel-%s").textContent' % panel),
                twins == 2, 'twins: %s, %s' % (name, panel))


def check_trees(results, browser, scratch):
    """What is in trees is in no range, but in all."""
    runs = os.path.join(scratch, 'modes')
    program = programs.build_sample(os.path.join(scratch, 'sample'),
                                    programs.PENTER_FLAGS, [programs.LIBRARY])
    for mode in 'file', 'tree', 'ring':
        _, session = programs.trace(
            program, '2', '3', programs.PAUSE, TRACER_MODE=mode,
            directory=os.path.join(scratch, 'mode-' + mode))
        support.reader('report', session)               # symbols.cache
        shutil.copytree(session, os.path.join(runs,
                                              os.path.basename(session)))
    page = Page(results, browser, Traced(runs))
    page.choose('All runs')
    length = page.get('Viewer.session.end')
    calls_ = []
    for begin in 0, 1000:
        page.get('Viewer.set({selection: {begin: %d, end: %d}})' %
                 (begin, length))
        page.set({}, 'functions')
        rows = page.rows('functions')
        compare(results, 'trees: functions from %d' % begin, rows,
                page.printed('functions')[0])
        calls_.append(sum(int(row['calls']) for row in rows))
        page.set({}, 'flame')
        results.equal(chains(page.rows('flame')),
                      chains(page.printed('flame')[0]),
                      'trees: tree from %d' % begin)
    results.check(calls_[0] > calls_[1] + 10 > 10, 'trees: they are left out',
                  calls_)


def check_hooked(results, browser, made):
    """A function that has hooks and is called as an import, too: its name with
    its module would mean the import."""
    folder = made.run(results, 'other/Names.exe', '--imports', imports.LISTS)
    filters.without_anchors(folder)
    page = Page(results, browser, Traced(folder))
    for name, module in (('Work', 'Plug.dll'), ('plug!Work', None)):
        number = page.function(name, module)
        page.set({'function': number}, 'sandwich')
        rows = page.rows('sandwich')
        for relation, printed in zip(('caller', 'callee'),
                                     page.printed('sandwich')):
            compare(results, 'hooked: %ss of %s' % (relation, name),
                    [row for row in rows if row['relation'] == relation],
                    [row for row in printed if row['relation'] == relation],
                    ['calls'])
        results.check(number >= 0 and rows, 'hooked: ' + name, [number])


def main():
    results = programs.Results()
    if not BrowserSupport.find():
        results.skip('there is no Chromium')
        return results.finish()
    if not os.path.exists(PAGE):
        results.check(False, PAGE + ' is built')
        return results.finish()
    chosen = random.Random(2026)
    with programs.Scratch() as scratch, \
            BrowserSupport.Browser(width=1400, height=900) as browser:
        threads = [calls.random_calls(chosen, 12000),
                   calls.random_calls(chosen, 5000)]
        session = calls.Session(os.path.join(scratch, 'records'), threads)
        found = session.calls()
        support.reader('report', session.session)       # symbols.cache
        page = Page(results, browser, session)
        names = [name for (_, name), _ in collections.Counter(
            call.path[-1] for call in found).most_common(3)]
        length = session.last - session.first
        check_range(results, page, 'all', names[0])
        some = 0
        for number in range(4):
            width = int(length * 10 ** chosen.uniform(-3, -0.5)) + 1
            begin = chosen.randrange(length - width)
            page.get('Viewer.set({selection: {begin: %d, end: %d}})' %
                     (begin, begin + width))
            some += check_range(results, page, 'range %d to %d' %
                                (begin, begin + width), names[number % 3])
        results.check(some > 2, 'calls are in most ranges', [some])
        page.get('Viewer.set({scope: "t" + Viewer.session.threads.find(each '
                 '=> each.tid === 2).id})')
        check_range(results, page, 'one thread', names[1])
        page.get('Viewer.set({scope: null, selection: null})')
        check_filter(results, page, found)
        check_call(results, page, found, chosen)
        check_steps(results, page, found)
        results.equal(page.get(
            '[...document.querySelectorAll("[role=columnheader]")].filter('
            'each => each.dataset.id === "caller").length'), 0,
            'without imports nothing says which module called')
        check_imports(results, browser, scratch)
        check_again(results, browser, scratch, chosen)
        check_runs(results, browser, scratch, chosen)
        check_clock(results, browser, scratch, chosen)
        check_no_clock(results, browser, scratch, chosen)
        check_twins(results, browser, scratch, chosen)
        check_trees(results, browser, scratch)
        page = Page(results, browser, session)
        results.equal(browser.errors, [], 'the page\'s errors')
        results.equal(browser.requests, [], 'what the page asked for')

        # Negative: another range has other numbers.
        page.get('Viewer.set({selection: {begin: 0, end: %d}})' %
                 (length // 3))
        page.set({}, 'functions')
        rows = page.rows('functions')
        code, text, _ = support.reader('report', '--csv', '--to',
                                       str(length // 2), session.session)
        results.check(code == 0 and sorted(
            numbers(row, NUMBERS) for row in rows) != sorted(
            numbers(row, NUMBERS) for row in
            csv.DictReader(io.StringIO(text))), 'another range is another')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the page that TraceReader export --format html writes, in a browser.

What the page shows is read from its document and its script, and compared with
report, tree and replay of the same session.  Sessions are made up, with names
that would do harm as HTML.  Chromium is needed; without it all is skipped.
"""
# Takes long.

import array
import collections
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestImportNames as imports                            # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

LARGEST = 50 * 1000 * 1000      # bytes of a page
ROWS = 1000                     # depths that have a row
ABANDONED, OPEN, BEGUN = 2, 4, 8
KINDS = {'exit': 0, 'abandoned': ABANDONED, 'open': OPEN}

HOSTILE = [
    '<script>window.hacked = 1</script>',
    '</script><script>window.hacked = 2</script>',
    '<img src=x onerror="window.hacked = 3">',
    '<!-- <script> \'"`&lt;', ']]>', 'a${window.hacked = 4}', '__proto__',
    'constructor', 'Grüße \u202e文字列', 'a\\u003cb', '"; window.hacked = 5; "',
    'operator<', 'Map<int, long>::operator[]', '0', '-1',
]
TEXT = '</title></script><script>window.hacked = 6</script>&"\''

# The numbers of report and tree, and what the page calls them.
FIELDS = {
    'calls': 'calls', 'total': 'total', 'self': 'self', 'average': 'average',
    'min': 'min', 'max': 'max', 'abandoned': 'abandoned',
    'abandoned_time': 'abandonedTime', 'unfinished': 'unfinished',
    'uncertain': 'uncertain', 'begun_before': 'begunBefore',
}
TIMES = {'total', 'self', 'average', 'min', 'max', 'abandoned_time'}


def make_session(folder, names, threads, **more):
    """A session; threads are lists of records, or their bytes."""
    session = os.path.join(folder, 'session')
    os.makedirs(session)
    path = os.path.join(folder, 'made-up.exe')
    data, size = filters.image(names)
    with open(path, 'wb') as file:
        file.write(data)
    path = programs.windows_path(path).encode()
    text = TEXT.encode()
    changes = {
        'at0x80': struct.pack('<II', 1, 0),
        'at0x128': struct.pack('<II', size, 0x12345678),
        'at0x148': struct.pack('<6I', *(4 * [len(path)]), len(text),
                               len(text)),
        'at0x168': struct.pack('<2I', len(text), len(text)),
        'at0x200': path, 'at0x620': path, 'at0xA40': text, 'at0xF60': text,
        **more,
    }
    for number, records in enumerate(threads, 1):
        made.write(os.path.join(session, 'made-up.exe-%d-0.trace' % number),
                   records if isinstance(records, list) else [records],
                   at0x1C=struct.pack('<I', number), **changes)
    return session


def with_fiber(records, others):
    """Calls of a thread, and others that it makes on a fiber."""
    return sorted(records + [
        (time, rva, place - made.TOP + made.FIBER, kind)
        for time, rva, place, kind in others], key=lambda record: record[0])


class Page:
    """A session's page, in the browser."""

    def __init__(self, results, browser, session, *arguments):
        self.results = results
        self.browser = browser
        self.session = programs.windows_path(session)
        self.arguments = arguments
        self.path = os.path.join(os.path.dirname(session), 'page.html')
        self.said = support.reader(
            'export', '--format', 'html', '--embed', '0', '-o',
            programs.windows_path(self.path), *arguments, self.session)
        results.equal(self.said[0], 0, 'export %s' % (arguments,))
        browser.open(self.path)
        browser.wait_for('window.tracer !== undefined')
        self.unit = self.get('tracer.about.unit')

    def get(self, expression):
        return self.browser.evaluate(expression)

    def json(self, command, *arguments):
        code, text, errors = support.reader(
            command, '--json', *self.arguments, *arguments, self.session)
        self.results.equal((code, errors), (0, ''), command)
        return json.loads(text)[{'report': 'functions', 'tree': 'nodes',
                                 'replay': 'events'}[command]]

    def numbers(self, row):
        """A row of report or tree as the page should have it."""
        found = {}
        for theirs, ours in FIELDS.items():
            if theirs in TIMES:
                theirs += '_' + ('ticks' if self.unit == 'ticks' else 'ns')
            found[ours] = row[theirs] or 0
        return found

    def expected_functions(self):
        return sorted((row['function'], row['module'],
                       sorted(self.numbers(row).items()))
                      for row in self.json('report'))

    def functions(self):
        return sorted((name, module, sorted(numbers.items()))
                      for name, module, numbers in self.get(
                          'tracer.names.map((each, i) => [tracer.functionName'
                          '(i), tracer.moduleName(i), tracer.numbers.get(i)])'))

    def expected_nodes(self, rows):
        """(track) -> sorted (names from the outermost on, numbers)."""
        paths, nodes = {}, collections.defaultdict(list)
        for row in rows:
            path = paths.get(row['parent'], ()) if row['depth'] else ()
            paths[row['node']] = path + (row['function'],)
            nodes[row['thread'], row['fiber']].append(
                (paths[row['node']], sorted(self.numbers(row).items())))
        return {track: sorted(found) for track, found in nodes.items()}

    def nodes(self, track):
        """The same of the flame graph, as it shows that track."""
        self.get('tracer.flame.showTrack(%d)' % track)
        nodes = self.get(
            '(f => Array.from(f.parent, (parent, i) => [parent, tracer.'
            'functionName(f.func[i]), f.present === null || f.present[i] === '
            '1, f.statistics.get(i)]))(tracer.flame)')
        paths, found = [], []
        for parent, name, is_present, numbers in nodes:
            paths.append((paths[parent] if parent >= 0 else ()) + (name,))
            if is_present:
                found.append((paths[-1], sorted(numbers.items())))
        self.get('tracer.flame.showTrack(-1)')
        return sorted(found)

    def calls(self):
        """(thread, fiber) -> Counter of what the timeline has."""
        found = {}
        for thread, fiber, items in self.get(
                'tracer.timeline.tracks.map(t => [t.about.thread, t.about.'
                'fiber, tracer.timeline.rowsOf(t).flatMap((row, depth) => '
                'Array.from(row.start, (start, i) => [depth, start, row.end[i]'
                ' - start, tracer.functionName(row.func[i]), row.flags[i], '
                'row.callsOf(i, i + 1)]))])'):
            found[thread, fiber] = [tuple(item) for item in items]
        return found

    def expected_calls(self):
        suffix = '_ticks' if self.unit == 'ticks' else '_ns'
        found = collections.defaultdict(list)
        for row in self.json('replay'):
            if row['event'] in KINDS:
                duration = row['duration' + suffix]
                found[row['thread_id'], row['fiber']].append(
                    (row['depth'], row['time' + suffix] - duration, duration,
                     row['function'], KINDS[row['event']], 1))
        return dict(found)

    def check_quiet(self, what):
        self.results.equal((self.browser.errors, self.browser.requests),
                           ([], []), what + ': errors, requests')


def same(results, found, expected, what):
    details = []
    if found != expected:
        details = ['only there: %r' % (each,) for each in found
                   if each not in expected][:4] + [
                       'missing: %r' % (each,) for each in expected
                       if each not in found][:4]
    results.check(found == expected, what, details)


def check_numbers(page, what):
    """Table and flame graph against report and tree."""
    results = page.results
    expected = page.expected_functions()
    results.check(expected, what + ': there are functions')
    same(results, page.functions(), expected, what + ': functions')
    merged = page.expected_nodes(page.json('tree'))
    same(results, page.nodes(-1), merged.get((None, None), []),
         what + ': flame graph')
    tracks = page.expected_nodes(page.json('tree', '--per-thread'))
    trees = page.get('tracer.about.trees')
    results.equal(sorted((thread, fiber) for thread, fiber, _ in trees),
                  sorted(tracks) if len(tracks) > 1 else [],
                  what + ': tracks')
    for index, (thread, fiber, _) in enumerate(trees):
        same(results, page.nodes(index), tracks.get((thread, fiber), []),
             '%s: flame graph of thread %d, fiber %d' % (what, thread, fiber))
    page.check_quiet(what)


def check_table(page):
    """What the document says, row by row."""
    results, rows = page.results, {}
    page.browser.resize(1900, 1500)
    page.get('document.getElementById("timeline").style.flexBasis = "20%"')
    page.browser.wait_for('document.querySelectorAll(".row").length >= ' +
                          str(len(page.json('report'))))
    columns = page.get('tracer.table.columns.map(each => each[0])')
    for cells in page.get('[...document.querySelectorAll(".row")].map(row => ['
                          '...row.children].map(cell => [cell.textContent, '
                          'cell.title]))'):
        values = dict(zip(columns, cells))
        rows[values['name'][0]] = values
    for row in page.json('report'):
        shown = rows.get(row['function'])
        if not results.check(shown, 'a row for %s' % row['function']):
            continue
        expected = page.numbers(row)
        for theirs, ours in FIELDS.items():
            if ours not in shown:
                results.equal(expected[ours], 0, 'without a column: ' + ours)
            elif theirs in TIMES:
                results.equal(shown[ours][1], '{:,} ns'.format(expected[ours]),
                              '%s: %s' % (row['function'], ours))
            else:
                results.equal(shown[ours][0], '{:,}'.format(expected[ours]),
                              '%s: %s' % (row['function'], ours))
    results.equal(page.get(
        '[...document.querySelectorAll("#tableHead > div")].map((each, i) => '
        'Math.abs(each.getBoundingClientRect().right - document.querySelector('
        '".row").children[i].getBoundingClientRect().right)).filter(apart => '
        'apart > 1)'), [], 'the columns stand below their titles')
    page.browser.resize(1400, 900)


def check_hostile(page):
    results, browser = page.results, page.browser
    results.equal(page.get('window.hacked'), None, 'nothing ran')
    page.get('tracer.select(0); tracer.search("script")')
    browser.click_on('#aboutOpen')
    browser.wait_for('document.querySelector("#about").open')
    text = page.get('document.querySelector("#facts").textContent')
    results.check(TEXT in text and page.session in text,
                  'the session: command line and path', [text])
    browser.key('Escape')
    browser.wait_for('!document.querySelector("#about").open')
    results.check(TEXT in page.get('tracer.timeline.tracks[0].title'),
                  'the thread\'s name')
    for index in range(len(page.get('tracer.names'))):
        page.get('tracer.select(%d)' % index)
        results.check(page.get('document.querySelector("#status").textContent'
                               ).startswith(page.get('tracer.functionName(%d)'
                                                     % index)),
                      'function %d in the status' % index)
    results.equal(page.get('[[...document.scripts].filter(each => !each.id)'
                           '.length, document.images.length, window.hacked]'),
                  [1, 0, None], 'elements')
    with open(page.path, encoding='utf-8') as file:
        content = file.read()
    results.check('default-src \'none\'' in content and
                  'http' not in content.split('id="session"')[0].replace(
                      'http-equiv', ''), 'the policy')
    page.get('tracer.select(-1); tracer.search("")')
    page.check_quiet('hostile names')


def check_timeline(page):
    """Every call of a small session is there."""
    results = page.results
    found, expected = page.calls(), page.expected_calls()
    results.equal(sorted(found), sorted(expected), 'timeline: tracks')
    for track, items in expected.items():
        results.check(len(items) > 100, 'timeline: calls of %s' % (track,))
        same(results, sorted(found.get(track, [])), sorted(items),
             'timeline: thread %d, fiber %d' % track)
    results.check(any(fiber for _, fiber in found), 'timeline: a fiber')
    kinds = {item[4] for items in expected.values() for item in items}
    results.equal(kinds, {0, ABANDONED, OPEN}, 'timeline: kinds of ends')


def view(page):
    return page.get('[tracer.timeline.from, tracer.timeline.to]')


def check_mouse(page):
    results, browser = page.results, page.browser
    left, top = page.get(
        '(r => [r.left, r.top])(document.getElementById("timelineCanvas")'
        '.getBoundingClientRect())')
    width = page.get('tracer.timeline.width')
    page.get('tracer.timeline.fit()')
    whole = view(page)
    at = whole[0] + (whole[1] - whole[0]) * 0.25
    browser.wheel(left + width / 4, top + 60, -240)
    browser.wait_for('tracer.timeline.to - tracer.timeline.from < %f' %
                     ((whole[1] - whole[0]) * 0.9))
    now = view(page)
    results.check(abs(now[0] + (now[1] - now[0]) * 0.25 - at) <
                  (now[1] - now[0]) * 0.01, 'the wheel zooms at the pointer',
                  [whole, now])
    browser.drag(left + 500, top + 60, left + 300, top + 60)
    moved = view(page)
    results.check(abs(moved[1] - moved[0] - now[1] + now[0]) < 1e-3 and
                  abs(moved[0] - now[0] - 200 / width * (now[1] - now[0])) <
                  (now[1] - now[0]) * 0.02, 'a drag moves', [now, moved])
    results.equal(page.get('tracer.state.selected'), -1,
                  'a drag selects nothing')

    # Zoom to the longest call of the outermost row, and click it.
    page.get('''(() => {
        const row = tracer.timeline.rowsOf(tracer.timeline.tracks[0])[0];
        let best = 0;
        for (let i = 0; i < row.count; i++) {
            if (row.end[i] - row.start[i] > row.end[best] - row.start[best]) {
                best = i;
            }
        }
        const span = row.end[best] - row.start[best];
        tracer.timeline.show(row.start[best] - span, row.end[best] + span);
        tracer.timeline.box.scrollTop = 0;
        window.wanted = row.func[best];
    })()''')
    wanted = page.get('window.wanted')
    before = browser.screenshot()
    browser.move(left + width / 2, top + 22 + 20 + 8)
    browser.wait_for('!document.querySelector("#tip").hidden')
    tip = page.get('document.querySelector("#tip").textContent')
    results.check(tip.startswith(page.get('tracer.functionName(%d)' % wanted))
                  and 'takes' in tip and 'average' in tip, 'the tooltip',
                  [tip])
    browser.click(left + width / 2, top + 22 + 20 + 8)
    results.equal(page.get('tracer.state.selected'), wanted,
                  'a click selects')
    results.equal(page.get('[...document.querySelectorAll(".row[aria-selected'
                           '=true]")].map(row => row.id)'),
                  ['row%d' % wanted], 'the row of what is selected')
    results.check(page.get('tracer.flame.matched') > 0,
                  'the frames of what is selected')
    browser.move(left + width / 2, top + 4)
    results.check(browser.screenshot() != before, 'that can be seen')
    browser.click(left + 40, top + 22 + 8)
    results.equal(page.get('tracer.timeline.tracks.map(t => t.isOpen)')[:2],
                  [False, True], 'a click on a name collapses the track')
    browser.click(left + 40, top + 22 + 8)
    results.equal(page.get('tracer.timeline.tracks[0].isOpen'), True,
                  'and expands it')

    page.get('tracer.select(-1)')
    place = page.get('''(() => {
        const f = tracer.flame, r = f.canvas.getBoundingClientRect();
        const each = f.drawn.find(d => d.node >= 0 && f.depth[d.node] === 1 &&
                                  d.width > 4);
        return [r.left + each.x + each.width / 2, r.top + each.y + 8,
                each.node];
    })()''')
    browser.click(place[0], place[1])
    results.equal(page.get('[tracer.flame.root, tracer.state.selected === '
                           'tracer.flame.func[tracer.flame.root]]'),
                  [place[2], True], 'a click zooms the flame graph')
    browser.wait_for('!document.querySelector("#flameReset").hidden')
    browser.click_on('#flameReset')
    results.equal(page.get('tracer.flame.root'), -1, 'and back')
    page.get('tracer.select(-1); tracer.timeline.fit()')
    page.check_quiet('mouse')


def check_keys(page):
    results, browser = page.results, page.browser
    page.get('document.activeElement.blur(); tracer.timeline.fit()')
    browser.move(700, 4)
    spans = [view(page)]
    for key in 'w', '+', 'd', 's', '-', 'w', 'ArrowRight', 'a', '0':
        browser.key(key)
        spans.append(view(page))
    sizes = [round(to - start, 3) for start, to in spans]
    results.check(sizes[0] > sizes[1] > sizes[2] == sizes[3] < sizes[4] <
                  sizes[5] > sizes[6] and spans[3][0] > spans[2][0] and
                  spans[8][0] < spans[7][0] and spans[7][0] > spans[6][0] and
                  spans[9] == spans[0], 'keys zoom and move', spans)

    # Search.
    browser.key('/')
    browser.type('script')
    browser.wait_for('tracer.state.query === "script"')
    expected = {name for name in page.get(
        'tracer.names.map((_, i) => tracer.functionName(i))')
        if 'script' in name}
    results.equal(set(page.get(
        'tracer.names.map((_, i) => tracer.functionName(i)).filter((_, i) => '
        'tracer.state.matches[i])')), expected, 'what search finds')
    results.equal(page.get('document.querySelector("#found").textContent'),
                  '%d functions' % len(expected), 'how many it says')

    # How much of the time that is: of nested ones the outermost counts.
    nodes = page.expected_nodes(page.json('tree'))[None, None]
    times = {path: dict(numbers) for path, numbers in nodes}
    matched = sum(
        numbers['total'] + numbers['abandonedTime']
        for path, numbers in times.items() if path[-1] in expected and
        not any(name in expected for name in path[:-1]))
    shown = page.get('tracer.flame.matched')
    results.check(shown >= matched > 0 and shown < matched * 1.3 and
                  '% matched' in page.get(
                      'document.querySelector("#matched").textContent'),
                  'the matched share', [shown, matched])
    browser.key('Enter')
    first = page.get('tracer.timeline.at')
    page.get('document.activeElement.blur()')
    browser.key('n')
    second = page.get('tracer.timeline.at')
    browser.key('N')
    starts = sorted({item[1] for items in page.calls().values()
                     for item in items if item[3] in expected})
    results.equal([first, second, page.get('tracer.timeline.at')],
                  [starts[0], starts[1], starts[0]], 'n and N step')
    browser.key('Escape')
    results.equal(page.get('tracer.state.query'), '', 'Escape ends a search')

    # The table.
    for field, text in ('calls', 'Calls'), ('self', 'Self'), ('name',
                                                              'Function'):
        browser.click_on('[data-field=%s]' % field)
        order = page.get('Array.from(tracer.table.order, i => [tracer.numbers.'
                         'get(i), tracer.functionName(i)])')
        values = [name if field == 'name' else numbers[field]
                  for numbers, name in order]
        key = (lambda name: name.encode('utf-16-be')) if field == 'name' \
            else None
        results.equal(values, sorted(values, key=key,
                                     reverse=field != 'name'),
                      'sorted by ' + text)
        results.equal(page.get(
            '[...document.querySelectorAll("[role=columnheader]")].filter('
            'e => e.getAttribute("aria-sort") !== "none").map(e => [e.'
            'textContent.slice(0, -2), e.getAttribute("aria-sort")])'),
            [[text, 'ascending' if field == 'name' else 'descending']],
            'aria-sort of ' + text)
    browser.key(' ')
    results.equal(page.get('tracer.table.isAscending'), False,
                  'a key turns the order around')
    page.get('document.querySelector("#table").focus()')
    for key in 'Home', 'ArrowDown', 'ArrowDown', 'Enter':
        browser.key(key)
    results.equal(page.get('tracer.state.selected === tracer.table.order[2]'),
                  True, 'keys select in the table')
    browser.key('Enter')
    browser.click_on('#filter')
    browser.type('operator')
    results.equal(page.get('document.querySelector("#filtered").textContent'),
                  '2 of %d' % len(page.get('tracer.names')),
                  'the table\'s filter')
    page.get('document.querySelector("#filter").value = "";'
             'tracer.table.arrange()')

    # The flame graph by keys; themes; help.
    page.get('document.querySelector("#flameScroll").focus()')
    for key in 'ArrowDown', 'ArrowDown', 'Enter':
        browser.key(key)
    results.equal(page.get('tracer.flame.depth[tracer.flame.root]'), 1,
                  'keys zoom the flame graph')
    browser.key('Escape')
    results.equal(page.get('tracer.flame.root'), -1, 'Escape, and back')
    page.get('tracer.select(-1)')
    for scheme in 'dark', 'light':
        browser.prefer_colors(scheme)
        browser.wait_for('document.documentElement.dataset.theme === "%s"' %
                         scheme)
    before = browser.screenshot()
    browser.key('t')
    browser.wait_for('document.documentElement.dataset.theme === "dark"')
    results.check(browser.screenshot() != before, 'a dark theme')
    browser.key('t')
    page.get('document.activeElement.blur()')
    browser.key('?')
    browser.wait_for('document.querySelector("#help").open')
    browser.key('Escape')
    browser.wait_for('!document.querySelector("#help").open')
    page.check_quiet('keys')


def check_parts(results, browser, session):
    """Parts of a session, and what the page says of them."""
    def notes():
        return browser.evaluate('document.querySelector("#notes").textContent')

    page = Page(results, browser, session)
    end = page.get('tracer.about.to')
    results.equal(notes(), '', 'nothing to be said of all of it')
    middle = (end // 3, end // 3 * 2)
    page = Page(results, browser, session, '--from', str(middle[0]), '--to',
                str(middle[1]))
    check_numbers(page, 'a range')
    found = [item for items in page.calls().values() for item in items]
    begun = [item for item in found if item[4] & BEGUN]
    results.check(begun and all(item[1] == middle[0] for item in begun),
                  'calls that began before', begun)
    results.equal(len(begun), sum(row['begun_before']
                                  for row in page.json('report')),
                  'how many began before')
    results.check(all(middle[0] <= item[1] <= item[1] + item[2] <= middle[1]
                      for item in found), 'all inside of the range')
    results.equal(view(page), list(middle), 'what is shown of it')
    results.check('--from' in notes() and '--to' in notes(), 'that is said',
                  [notes()])

    page = Page(results, browser, session, '--exclude', HOSTILE[1],
                '--exclude', 'operator')
    check_numbers(page, 'a filter')
    found = {item[3] for items in page.calls().values() for item in items}
    results.check(found and not any(
        name.startswith((HOSTILE[1], 'operator')) for name in found),
        'filtered calls', found)
    results.check('--exclude' in notes(), 'that is said', [notes()])

    page = Page(results, browser, session, '--thread', '2')
    check_numbers(page, 'a thread')
    results.equal(list(page.calls()), [(2, 0)], 'the timeline of a thread')
    results.check('--thread' in notes(), 'that is said', [notes()])


def check_clocks(results, browser, scratch):
    """Ticks, and no times at all."""
    numbers = random.Random(5)
    names = ['Alpha', 'Beta', 'Gamma']
    session = make_session(
        os.path.join(scratch, 'ticks'), names,
        [filters.random_calls(numbers, 3, 300)], at0xE0=bytes(0x40),
        at0x170=struct.pack('<2Q', 1, 5))
    page = Page(results, browser, session)
    results.equal(page.unit, 'ticks', 'the unit')
    notes = page.get('[...document.querySelector("#notes").children].map('
                     'e => e.textContent)')
    results.check(len(notes) == 2 and '5 calls' in notes[0] and
                  'ticks' in notes[1] and
                  all(note.endswith('.') for note in notes),
                  'each note is one by itself', notes)
    check_numbers(page, 'ticks')
    results.check('ticks' in page.get(
        'document.querySelector("#notes").textContent + document.querySelector'
        '(".row").textContent'), 'ticks are said to be ticks')
    same(results, sorted(page.calls()[1, 0]),
         sorted(page.expected_calls()[1, 0]), 'ticks: the timeline')

    records = [(4096 + 16 * index, *record[1:]) for index, record in
               enumerate(filters.random_calls(numbers, 3, 300))]
    session = make_session(os.path.join(scratch, 'none'), names, [records],
                           at0x3C=struct.pack('<I', 2))
    page = Page(results, browser, session)
    results.equal(page.unit, 'none', 'no times')
    check_numbers(page, 'no times')
    results.equal(page.get('[document.querySelector("#timeline").hidden, '
                           'tracer.timeline]'), [True, None], 'no timeline')
    results.check('no times' in page.get(
        'document.querySelector("#notes").textContent'), 'and why')
    page.get('document.activeElement.blur()')
    browser.key('w')
    browser.key('n')
    page.check_quiet('no times: keys')


def check_deep(results, browser, scratch):
    """Calls that are deeper than the timeline has rows."""
    depth, records, time = ROWS + 300, [], 1000
    for level in range(depth):
        time += 10
        records.append((time, filters.FIRST + level % 2 * filters.STEP,
                        made.TOP - 64 * (level + 4), made.ENTER))
    for level in reversed(range(depth)):
        time += 10
        records.append((time, filters.FIRST + level % 2 * filters.STEP + 9,
                        made.TOP - 64 * (level + 4), made.EXIT))
    session = make_session(os.path.join(scratch, 'deep'), ['Even', 'Odd'],
                           [records])
    page = Page(results, browser, session)
    items = page.calls()[1, 0]
    results.equal([item for item in items if not item[4] & 1], sorted(
        (level, level * 10, (depth - level) * 20 - 10,
         ('Even', 'Odd')[level % 2], 0, 1) for level in range(ROWS)),
        'deep calls: those that have a row')
    results.equal([(item[0], item[1], item[2], item[5]) for item in items
                   if item[4] & 1], [(ROWS, ROWS * 10, 300 * 20 - 10, 300)],
                  'deep calls: those below')
    results.check('300 calls' in page.get(
        'document.querySelector("#notes").textContent'), 'that is said')
    check_numbers(page, 'deep calls')


def check_blocks(page, calls, first, time, names, resolution):
    """What blocks say of their calls: calls are (depth, begin, length,
    function), from first on."""
    results = page.results
    blocks = page.get('''tracer.timeline.rowsOf(tracer.timeline.tracks[0])
        .flatMap((row, depth) => {
            const items = [], first = %d, last = first + %d;
            for (let i = 0; i < row.count; i++) {
                if (row.start[i] >= first && row.end[i] < last &&
                    row.flags[i] & 1) {
                    items.push([depth, row.start[i] - first,
                        row.end[i] - first, row.callsOf(i, i + 1),
                        row.busy[i], row.share[i],
                        tracer.functionName(row.func[i])]);
                }
            }
            return items;
        })''' % (first, time))
    results.check(len(blocks) > 100, 'there are blocks', [len(blocks)])
    wrong, alone, mixed, nested = [], 0, 0, 0
    for block in blocks:
        depth, begin, end, number, busy, share, name = block
        inside = [call for call in calls if call[0] >= depth and
                  call[1] >= begin and call[1] + call[2] <= end]
        ticks, last = collections.Counter(), begin
        for call in sorted(inside, key=lambda call: call[1]):
            if call[0] == depth:
                if call[1] - last > resolution:
                    wrong.append((block, 'a gap', call[1] - last))
                last = call[1] + call[2]
                ticks[names[call[3]]] += call[2]
        total = sum(ticks.values())
        if (number, busy) != (len(inside), total * 250 // (end - begin)) or \
                (share and ticks[name] * 100 < (50 + share / 2) * total) or \
                not ticks[name]:
            wrong.append((block, ticks, len(inside)))
        alone += len(ticks) == 1 and share == 100
        mixed += len(ticks) > 1 and 0 < share < 100
        nested += number > sum(call[0] == depth for call in inside)
    results.equal(wrong, [], 'what blocks say')
    results.check(alone and mixed and nested, 'blocks of one function and of '
                  'several, and with calls inside', [alone, mixed, nested])


def check_many(results, browser, scratch):
    """More calls than the timeline keeps: outer ones, with some inner ones and
    Leaf's inside of them, over and over, of lengths that vary."""
    names = ['Outer', 'Inner', 'Leaf', 'Other', 'Between']
    numbers, records, time = random.Random(3), [], 0
    for _ in range(400):
        outer, inner = numbers.choice((0, 0, 3)), numbers.choice((1, 1, 4))
        records.append((time, outer, 64, made.ENTER))
        for _ in range(numbers.randrange(1, 4)):
            time += numbers.randrange(1, 30)
            records.append((time, inner, 128, made.ENTER))
            for _ in range(numbers.randrange(3)):
                time += numbers.randrange(1, 10)
                records.append((time, 2, 192, made.ENTER))
                time += numbers.choice((2, 5, 40, 900))
                records.append((time, 2, 192, made.EXIT))
            time += numbers.randrange(1, 300)
            records.append((time, inner, 128, made.EXIT))
        time += numbers.randrange(1, 50)
        records.append((time, outer, 64, made.EXIT))
        time += numbers.choice((1, 100, 3000))
    rest = [(made.BASE + filters.FIRST + function * filters.STEP +
             (9 if kind == made.EXIT else 0) & 0xFFFFFFFF) |
            ((made.TOP - place & 0xFFFFFFF8) | kind) << 32
            for _, function, place, kind in records]
    turns = 1600000 // (len(records) // 2) + 1
    data = array.array('Q', bytes(16 * len(records) * turns))
    data[1::2] = array.array('Q', rest * turns)
    data[0::2] = array.array('Q', [
        turn * time + record[0] + 1000 for turn in range(turns)
        for record in records])
    session = make_session(os.path.join(scratch, 'many'), names,
                           [data.tobytes()])
    calls, stack = collections.Counter(), []
    for at, function, _, kind in records:
        if kind == made.ENTER:
            stack.append((at, function))
        else:
            begin, _ = stack.pop()
            calls[len(stack), begin, at - begin, function] += 1

    page = Page(results, browser, session)
    track = page.get('tracer.about.tracks[0]')
    total = sum(calls.values()) * turns
    results.equal(track['calls'], total, 'many calls')
    results.check(0 < track['items'] <= 0x180000 and 0 < track['kept'] <
                  total and track['resolution'] > 0, 'they are too many',
                  [track, total])
    results.check(os.path.getsize(page.path) < LARGEST, 'the page is small')
    results.check('{:,} calls of {:,}'.format(total - track['kept'], total) in
                  page.get('document.querySelector("#notes").textContent'),
                  'that is said')
    check_numbers(page, 'many calls')

    # Sums over all items, and all items of one turn in the middle.
    sums = page.get('''(() => {
        let calls = 0, kept = 0, shortest = Infinity, wrong = 0;
        for (const row of tracer.timeline.rowsOf(tracer.timeline.tracks[0])) {
            for (let i = 0; i < row.count; i++) {
                calls += row.callsOf(i, i + 1);
                if (!(row.flags[i] & 1)) {
                    kept++;
                    shortest = Math.min(shortest, row.end[i] - row.start[i]);
                }
                wrong += i > 0 && row.start[i] < row.end[i - 1];
            }
        }
        return [calls, kept, shortest, wrong];
    })()''')
    results.check(sums[0] == total and sums[1] == track['kept'] and
                  sums[2] >= track['resolution'] and sums[3] == 0,
                  'no call is lost or twice', [sums, track])
    turn = turns // 2
    found = page.get('''tracer.timeline.rowsOf(tracer.timeline.tracks[0])
        .flatMap((row, depth) => {
            const items = [], first = %d, last = first + %d;
            for (let i = 0; i < row.count; i++) {
                if (row.start[i] >= first && row.end[i] < last &&
                    !(row.flags[i] & 1)) {
                    items.push([depth, row.start[i] - first,
                        row.end[i] - row.start[i], row.func[i]]);
                }
            }
            return items;
        })''' % (turn * time, time))
    listed = page.get('tracer.names.map(each => each[1])')
    expected = sorted(call for call in calls.elements()
                      if call[2] >= track['resolution'])
    results.check(expected, 'some are long enough')
    same(results, sorted((depth, at, length, names.index(listed[function]))
                         for depth, at, length, function in found), expected,
         'all that are long enough are there')
    check_blocks(page, list(calls.elements()), turn * time, time, names,
                 track['resolution'])
    page.get('tracer.timeline.fit()')
    browser.wait_for('tracer.timeline.drawn > 0')
    results.check(page.get('tracer.timeline.drawn') < 20000,
                  'what is drawn is bounded by the width')
    page.check_quiet('many calls')


def check_traced(results, browser, scratch):
    """A traced program with several threads, and its source lines."""
    program = programs.build(
        os.path.join(scratch, 'busy'),
        [os.path.join(programs.PROGRAMS, 'Busy.c')],
        [*programs.PENTER_FLAGS, '-gdwarf-4'], 'Busy.exe',
        [programs.LIBRARY])
    traces = os.path.join(scratch, 'done')
    support.run(program, 'run', '2', '100', programs.PAUSE, directory=traces)
    session = support.sessions(traces)[0]
    filters.without_anchors(session)
    page = Page(results, browser, session)
    check_numbers(page, 'traced')
    for track, items in page.expected_calls().items():
        same(results, sorted(page.calls().get(track, [])), sorted(items),
             'traced: thread %d, fiber %d' % track)
    lines = {row['function']: '%s:%d' % (row['file'], row['line'])
             for row in page.json('report') if row.get('file')}
    results.check(any(line.split(':')[-2].endswith('Busy.c')
                      for line in lines.values()), 'lines are known', lines)
    results.equal(dict(page.get(
        'tracer.names.map((_, i) => [tracer.functionName(i), tracer.sourceOf('
        'i)[1]]).filter(each => each[1])')), lines, 'lines')
    results.equal(page.get('tracer.table.columns.at(-1)[0]'), 'source',
                  'their column')


def check_imports(results, browser, scratch):
    """Imports: which modules called, in the table and of each call."""
    programs_of = imports.Programs(os.path.join(scratch, 'imports'))
    programs_of.run(results, 'Hooked.exe', '--imports', imports.LISTS)
    counts = programs_of.counts
    session = support.sessions(os.path.join(programs_of.folder, 'run1'))[0]
    filters.without_anchors(session)
    page = Page(results, browser, session)
    check_numbers(page, 'imports')
    browser.resize(1900, 1500)
    browser.wait_for('document.querySelectorAll(".row").length >= ' +
                     str(len(page.json('report'))))
    place = page.get('tracer.table.columns.map(each => each[0])'
                     ).index('caller')
    results.equal(dict(page.get(
        '[...document.querySelectorAll(".row")].map(row => [row.children[0].'
        'textContent, row.children[%d].textContent])' % place)), {
            row['function']: row['caller_modules'] or ''
            for row in page.json('report')}, 'imports: the table')
    page.get('tracer.table.sort("caller")')
    shown = page.get('[...document.querySelectorAll(".row")].map(row => row.'
                     'children[%d].textContent)' % place)
    results.check(shown == sorted(shown) and len(set(shown)) > 2,
                  'imports: the table by who called', shown)
    tips = page.get("""(() => {
        const text = () => [...document.querySelectorAll('#tip tr')]
            .map(row => [...row.children].map(cell => cell.textContent))
            .filter(each => each[0] === 'called by').map(each => each[1]);
        const found = { flame: [], timeline: [] };
        const f = tracer.flame;
        for (let node = 0; node < f.func.length; node++) {
            f.describe({ node }, 0, 0);
            found.flame.push([f.all.calls[node],
                              tracer.functionName(f.func[node]), text()]);
        }
        for (const track of tracer.timeline.tracks) {
            tracer.timeline.rowsOf(track).forEach((row, depth) => {
                for (let i = 0; i < row.count; i++) {
                    tracer.timeline.describe(
                        { row, first: i, next: i + 1, track, depth }, 0, 0);
                    found.timeline.push([
                        1, tracer.functionName(row.func[i]), text()]);
                }
            });
        }
        return found;
    })()""")
    for kind, rows in tips.items():
        found = collections.Counter()
        for calls, name, text in rows:
            if name == 'kernel32!Sleep':
                found[tuple(text)] += calls
            elif '!' not in name:
                results.equal(text, [], 'imports: %s of %s' % (kind, name))
        results.equal(found, {('hooked.exe',): counts['names.exe', 'Sleep'],
                              ('plug.dll',): counts['plug.dll', 'Sleep']},
                      'imports: who called Sleep, %s' % kind)
    page.check_quiet('imports')
    browser.resize(1400, 900)

    # Control: without imports there is no such column.
    page = Page(results, browser, os.path.join(scratch, 'few', 'session'))
    results.check('caller' not in page.get(
        'tracer.table.columns.map(each => each[0])'), 'no imports, no column')


def check_trees(results, browser, scratch):
    """A session of trees alone: no timeline, everything else."""
    program = programs.build(
        os.path.join(scratch, 'tree'),
        [os.path.join(programs.PROGRAMS, 'Busy.c')],
        [*programs.PENTER_FLAGS, '-gdwarf-4'], 'Busy.exe',
        [programs.LIBRARY])
    traces = os.path.join(scratch, 'trees')
    support.run(program, 'run', '2', '100', programs.PAUSE, directory=traces,
                TRACER_MODE='tree')
    session = support.sessions(traces)[0]
    filters.without_anchors(session)
    page = Page(results, browser, session)
    check_numbers(page, 'trees')
    results.equal(page.get('tracer.about.calls'),
                  sum(row['calls'] for row in page.json('report')),
                  'trees: calls of the session')
    results.equal(page.get('tracer.about.tracks'), [], 'trees: no timeline')
    thread = min(thread for thread, _ in
                 page.expected_nodes(page.json('tree', '--per-thread')))
    check_numbers(Page(results, browser, session, '--thread', str(thread)),
                  'trees of one thread')


def check_controls(page):
    """What is compared is seen to differ, and the policy to hold."""
    results, browser = page.results, page.browser
    browser.open(page.path)
    browser.wait_for('window.tracer !== undefined')
    functions, nodes, calls = page.functions(), page.nodes(-1), page.calls()
    page.get('tracer.numbers.total[3] += 1; tracer.flame.all.max[5] += 1;'
             'tracer.timeline.rowsOf(tracer.timeline.tracks[0])[0].end[1] += 1'
             )
    results.check(page.functions() != functions and
                  page.nodes(-1) != nodes and page.calls() != calls,
                  'a wrong number is seen')
    page.check_quiet('controls')
    page.get('document.body.append(Object.assign(new Image(), '
             '{ src: "nothing.png" }))')
    support.wait_for(lambda: browser.evaluate('1') and browser.errors)
    results.check(any('Content Security Policy' in error and
                      'has been blocked' in error for error in browser.errors),
                  'the policy lets nothing out', browser.errors)


def check_harness(results, browser, scratch):
    """The harness sees errors and requests, or the rest says nothing."""
    path = os.path.join(scratch, 'control.html')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('<script>console.error("one"); setTimeout(() => { throw '
                   'new Error("two"); }); window.hacked = 1</script>'
                   '<img src="nothing.png">')
    browser.open(path)
    browser.wait_for('document.readyState === "complete"')
    support.wait_for(lambda: browser.evaluate('1') and
                     len(browser.errors) >= 2 and browser.requests)
    text = ' '.join(browser.errors)
    results.check('one' in text and 'two' in text, 'errors are seen', [text])
    results.check(any(url.endswith('nothing.png')
                      for url in browser.requests), 'requests are seen',
                  browser.requests)


def main():
    results = programs.Results()
    if BrowserSupport.find() is None:
        results.skip('TestHtml needs Chromium')
        return results.finish()
    with programs.Scratch() as scratch, BrowserSupport.Browser() as browser:
        browser.prefer_colors('light')
        check_harness(results, browser, scratch)
        numbers = random.Random(11)
        session = make_session(
            os.path.join(scratch, 'few'), HOSTILE,
            [filters.random_calls(numbers, len(HOSTILE), 900,
                                  1000 + 40 * thread) for thread in range(3)] +
            [with_fiber(*(filters.random_calls(numbers, len(HOSTILE), 900)
                          for _ in range(2)))])
        page = Page(results, browser, session)
        check_numbers(page, 'all')
        check_table(page)
        check_hostile(page)
        check_timeline(page)
        check_mouse(page)
        check_keys(page)
        check_controls(page)
        check_parts(results, browser, session)
        check_clocks(results, browser, scratch)
        check_traced(results, browser, scratch)
        check_imports(results, browser, scratch)
        check_trees(results, browser, scratch)
        check_deep(results, browser, scratch)
        check_many(results, browser, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

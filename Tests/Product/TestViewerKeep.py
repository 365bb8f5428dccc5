#!/usr/bin/env python3
"""What the viewer's page keeps in the browser, sessions that are dropped
together, and where records are missing, in Chromium; without it all is skipped.

What the page has read is counted in bytes, so that no clock decides.
"""

import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import CallSupport as calls                                  # noqa: E402
import MadeStores as made                                    # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

PAGE = os.path.join(programs.BIN, 'TraceViewer.html')
PICTURES = os.path.join(os.path.dirname(programs.BIN), 'Screenshots')
READY = 'window.Viewer && Viewer.session !== null && Viewer.isPassed === true'
SAID = ('(e => e && !e.hidden ? e.textContent : "")(document.querySelector('
        '"#welcomeError"))')
HEADER, RECORD = 4096, 16

# The first and the last time stamp.
PLACE = ('[Number(Viewer.session.first), Number(Viewer.session.first) + '
         'Viewer.session.end]')


class Page:
    """A page, and what is dropped on it."""

    def __init__(self, results, browser, *paths, before=''):
        self.results, self.browser = results, browser
        browser.open(PAGE)
        browser.wait_for('window.Viewer !== undefined')
        if before:
            self.get(before)
        if paths:
            self.drop(*paths)

    def get(self, expression):
        return self.browser.evaluate(expression)

    def drop(self, *paths):
        self.browser.drop_files(500, 400, list(paths))
        self.wait()

    def wait(self):
        self.browser.wait_for('(%s) || %s !== ""' % (READY, SAID), 120)
        self.results.equal(self.get(SAID), '', 'what the page says')
        self.get('Viewer.keeper.waiting.then(() => 0)')

    def cost(self):
        return self.get('[Viewer.engine.bytesRead, Viewer.session.threads.map('
                        'each => each.isRestored)]')

    def picture(self):
        """All boxes of all threads, and the pixels of the timeline."""
        boxes = self.get('''(async () => {
            const { session, engine } = Viewer, all = [];
            for (const thread of session.threads) {
                for (const pixels of [50, 1400]) {
                    const got = await engine.query({ thread: thread.id,
                        begin: 0, end: session.end + 1, pixels,
                        maxDepth: 1000, key: 'test' });
                    for (let i = 0; i < got.count; i++) {
                        all.push([got.start[i], got.stop[i], got.depth[i],
                            got.covered[i], got.calls[i], got.flags[i],
                            engine.functions[got.function[i]].name]);
                    }
                }
            }
            return all;
        })()''')

        # What was asked before the pass was over has other summaries.
        self.get('Viewer.timeline.answers.expire(true), '
                 'Viewer.set({panel: "problems"}), Viewer.redraw()')
        self.get('new Promise(done => requestAnimationFrame(() => '
                 'requestAnimationFrame(() => setTimeout(done, 50))))')
        self.browser.wait_for('Viewer.timeline.answers.running === 0')
        self.get('new Promise(done => requestAnimationFrame(() => '
                 'requestAnimationFrame(() => setTimeout(done, 200))))')
        pixels = self.get('''(() => {
            const { pixels } = Viewer.timeline.raster;
            let hash = 0;
            for (let i = 0; i < pixels.length; i++) {
                hash = Math.imul(hash ^ pixels[i], 0x01000193);
            }
            return hash >>> 0;
        })()''')
        return boxes, pixels

    def check_quiet(self, what):
        self.results.equal((self.browser.errors, self.browser.requests),
                           ([], []), what + ': errors, requests')


def make(scratch, name, numbers, counts=(30000, 8000), **more):
    session = calls.Session(os.path.join(scratch, name),
                            [calls.random_calls(numbers, count)
                             for count in counts], **more)
    for store in os.listdir(session.folder):        # closed: nothing goes on
        if store.endswith('.trace'):
            with open(os.path.join(session.folder, store), 'r+b') as file:
                file.seek(0x80)
                file.write(struct.pack('<II', 2, 1))
    support.reader('report', session.session)       # symbols.cache
    return session


def check_kept(results, browser, scratch, session):
    """Who opens a session again has no pass, and sees the same."""
    threads = len(session.threads)
    page = Page(results, browser, session.folder)
    first, right = page.cost(), page.picture()
    results.equal(first[1], [False] * threads, 'kept: nothing yet')
    page = Page(results, browser, session.folder)
    again = page.cost()
    results.equal(again[1], [True] * threads, 'kept: no pass')
    results.check(again[0] < first[0] / 2, 'kept: no records are read',
                  [first, again])
    seen = page.picture()
    results.check(seen[0] == right[0], 'kept: boxes are the same')
    results.equal(seen[1], right[1], 'kept: pixels are the same')
    page.check_quiet('kept')

    # What is kept is said, and goes by a button.
    page.get('document.querySelector("#title").click()')
    browser.wait_for('!document.querySelector("#kept").hidden')
    results.check('%d threads' % threads in page.get(
        'document.querySelector("#keptText").textContent'), 'kept: it is said')
    page.get('document.querySelector("#forget").click()')
    browser.wait_for('document.querySelector("#kept").hidden')
    results.equal(Page(results, browser, session.folder).cost()[1],
                  [False] * threads, 'kept: forgotten')

    # Damaged, it is as nothing, and is made anew.
    damage = '''(async () => {
        const base = await Viewer.keeper.open();
        const table = base.transaction('kept', 'readwrite')
            .objectStore('kept');
        const result = request => new Promise(done => {
            request.onsuccess = () => done(request.result); });
        const keys = await result(table.getAllKeys());
        const all = await result(table.getAll());
        const bytes = await Promise.all(all.map(each =>
            each.levels.arrayBuffer()));
        const again = base.transaction('kept', 'readwrite')
            .objectStore('kept');
        keys.forEach((key, i) => {
            const data = new Uint8Array(bytes[i]);
            data[data.length >> 1] ^= 1;
            again.put(%s, key);
        });
        await new Promise(done => { again.transaction.oncomplete = done; });
        return keys.length;
    })()'''
    for what in ('{ levels: new Blob([data]), indexes: [] }',
                 '{ levels: "text", indexes: 5 }', '7',
                 '{ levels: new Blob([]), indexes: [] }'):
        results.equal(page.get(damage % what), threads, 'damaged: ' + what)
        page = Page(results, browser, session.folder)
        results.equal(page.cost()[1], [False] * threads,
                      'damaged: not used: ' + what)
        results.check(page.picture()[0] == right[0],
                      'damaged: the same is seen: ' + what)
        page = Page(results, browser, session.folder)
        results.equal(page.cost()[1], [True] * threads,
                      'damaged: kept anew: ' + what)
        page.check_quiet('damaged')

    # Control: a store that has changed is another.
    other = os.path.join(scratch, 'other', 'session')
    shutil.copytree(session.folder, other)
    name = sorted(each for each in os.listdir(other)
                  if each.endswith('.trace'))[0]
    with open(os.path.join(other, name), 'r+b') as file:
        file.seek(HEADER + 100 * RECORD)
        file.write(bytes(64 * RECORD))
    page = Page(results, browser, other)
    results.check(False in page.cost()[1] and page.picture()[0] != right[0],
                  'a changed store is added up anew', page.cost())

    # Without a database all is as before.
    page = Page(results, browser, session.folder, before='''
        Viewer.keeper.opening = Promise.resolve(null), 0''')
    results.equal(page.cost()[1], [False] * threads, 'no database: a pass')
    results.check(page.picture()[0] == right[0], 'no database: the same')
    page.check_quiet('no database')

    # There is room for so much: what was used least lately goes.
    page = Page(results, browser, before='Viewer.keeper.clear().then(() => 0)')
    sizes = page.get('''(async () => {
        const { keeper } = Viewer;
        keeper.constructor.MOST = 1000;
        for (const [key, size] of [['a', 300], ['b', 400], ['c', 200],
                                   ['d', 400], ['e', 2000]]) {
            await keeper.put(key, { levels: new Blob([new Uint8Array(size)]),
                                    indexes: [] });
            await new Promise(done => setTimeout(done, 5));
            if (key === 'c') {
                await keeper.find(['a']);
                await new Promise(done => setTimeout(done, 5));
            }
        }
        return (await keeper.find(['a', 'b', 'c', 'd', 'e'])).map(each =>
            each && each.levels.size);
    })()''')
    results.equal(sizes, [300, None, 200, 400, None], 'room for so much')


def check_several(results, browser, scratch, numbers):
    """Sessions that are dropped together are on one clock, if they have one."""
    def run(name, pid, seconds):
        shift = seconds * 10 ** 7
        start = 133_000_000_000_000_000 + shift

        def anchor(tsc, after):
            values = tsc, 500 + after * 10 ** 7, start + after
            return struct.pack('<4Q', *values,
                               values[0] ^ values[1] ^ values[2])

        changes = {'at0x18': struct.pack('<I', pid)}
        if seconds:
            changes.update({'at0x20': struct.pack('<Q', start),
                            'at0xE0': anchor(1000, 0),
                            'at0x100': anchor(1000 + 100 * made.RATE, 100)})
        return make(scratch, name, numbers, (4000,), changes=changes,
                    modules=calls.MODULES[:1])

    one, two, later = (run('one', 4242, 0), run('two', 4300, 0),
                       run('later', 4400, 10 ** 6))

    def counts(page):
        return page.get('''(async () => {
            const { engine, session } = Viewer, found = {};
            for (const process of session.processes) {
                const sums = await engine.sums({ begin: 0, end: session.end,
                    threads: process.threads });
                found[process.pid] = sums.functions.reduce(
                    (sum, each) => sum + each.calls, 0);
            }
            return found;
        })()''')

    def expected(session):
        return sum(int(row['calls']) for row in session.json(
            results, 'report')['functions'])

    alone, places = {}, {}
    for session, pid in ((one, '4242'), (two, '4300'), (later, '4400')):
        page = Page(results, browser, session.folder)
        alone.update(counts(page))
        places[pid] = page.get(PLACE)
        results.equal(counts(page), {pid: expected(session)},
                      'several: alone, as report')
    page = Page(results, browser, one.folder, two.folder)
    results.equal(counts(page), {pid: alone[pid] for pid in ('4242', '4300')},
                  'several: both, each with its sums')
    first, last = page.get(PLACE)
    results.equal([first, last], [
        min(places[pid][0] for pid in ('4242', '4300')),
        max(places[pid][1] for pid in ('4242', '4300'))],
        'several: one clock')
    options = page.get('[...document.querySelector("#choose").options].map('
                       'each => each.textContent)')
    results.check(len(set(options)) == 3 and
                  options[:2] == ['All that was given', 'session'],
                  'several: the list', options)
    names = page.get('[...new Set(Viewer.engine.functions.map(each => '
                     'each.name))].some(each => each.includes("+0x"))')
    results.equal(names, False, 'several: functions have their names')
    page.get('''(box => { box.value = "2";
        box.dispatchEvent(new Event("change")); Viewer.isPassed = false; })(
        document.querySelector("#choose"))''')
    browser.wait_for('Viewer.isPassed && Viewer.session.processes.length === 1')
    results.equal(counts(page), {'4300': alone['4300']}, 'several: chosen')
    page.check_quiet('several')

    # Of two boots there is one at a time.
    page = Page(results, browser, one.folder, later.folder)
    results.equal(page.get('Viewer.session.processes.length'), 1,
                  'two boots: one at a time')
    results.check('no common clock' in page.get(
        'document.querySelector("#noticeText").textContent'),
        'two boots: it is said')
    results.equal(page.get('document.querySelector("#choose").hidden'), False,
                  'two boots: there is a list')
    first = counts(page)
    page.get('''(box => { box.value = "1";
        box.dispatchEvent(new Event("change")); Viewer.isPassed = false; })(
        document.querySelector("#choose"))''')
    browser.wait_for('Viewer.isPassed')
    page.get('Viewer.keeper.waiting.then(() => 0)')
    results.equal({**first, **counts(page)},
                  {pid: alone[pid] for pid in ('4242', '4400')},
                  'two boots: each with its sums')
    page.check_quiet('two boots')


def check_losses(results, browser, scratch, numbers):
    """Where records are damaged the timeline is hatched, and the panel and the
    tooltip say how many there were."""
    session = make(scratch, 'holes', numbers, (20000,),
                   modules=calls.MODULES[:1])
    name, = [each for each in os.listdir(session.folder)
             if each.endswith('.trace')]
    path = os.path.join(session.folder, name)

    def lost(page):
        """Columns of pixels that are hatched, as shares of the width."""
        return page.get('''(() => {
            const { raster, gutter, ratio } = Viewer.timeline;
            const text = getComputedStyle(document.documentElement)
                .getPropertyValue('--lost').trim();
            const value = parseInt(text.slice(1), 16);
            const pixel = (0xff000000 | (value & 255) << 16 |
                (value & 0xff00) | value >> 16) >>> 0;
            const left = Math.round(gutter * ratio), found = new Set();
            for (let i = 0; i < raster.pixels.length; i++) {
                const x = i % raster.width;
                if (raster.pixels[i] === pixel && x >= left) {
                    found.add(Math.floor((x - left) * 100 /
                                         (raster.width - left)));
                }
            }
            return [...found].sort((a, b) => a - b);
        })()''')

    page = Page(results, browser, session.folder)
    page.picture()
    results.equal(lost(page), [], 'losses: none')
    with open(path, 'r+b') as file:
        data = bytearray(file.read())
        first = 10000
        data[HEADER + first * RECORD:HEADER + (first + 50) * RECORD] = \
            b'\xff' * (50 * RECORD)
        file.seek(0)
        file.write(data)
    times = struct.unpack_from('<Q', data, HEADER)[0], *[
        struct.unpack_from('<Q', data, HEADER + RECORD * at)[0]
        for at in (first - 1, first + 50)]
    begin, end = times[1] - times[0], times[2] - times[0]
    page = Page(results, browser, session.folder)
    page.picture()
    whole = page.get('Viewer.session.end')
    columns = lost(page)
    results.check(columns and set(columns) <= set(range(
        begin * 100 // whole - 1, end * 100 // whole + 2)),
        'losses: hatched where they are',
        [columns, begin * 100 / whole, end * 100 / whole])
    os.makedirs(PICTURES, exist_ok=True)
    browser.screenshot(os.path.join(PICTURES, 'losses.png'))
    text = page.get('document.querySelector("#panel-problems").textContent')
    results.check('50 records could not be read' in text, 'losses: the panel',
                  [text[:400]])
    results.check('50 records could not be read' in page.get(
        'document.querySelector("#noticeText").textContent'),
        'losses: the notice')
    x, y = page.get('''(() => {
        const { timeline } = Viewer;
        const box = timeline.canvas.getBoundingClientRect();
        const lane = timeline.lanes.list.find(each =>
            each.kind === 'thread');
        return [box.left + timeline.placeOf(%d) + 1,
                box.top + timeline.top + lane.y - timeline.scroll + 10];
    })()''' % ((begin + end) // 2))
    browser.move(x, y)
    browser.wait_for('!document.querySelector("#tip").hidden')
    tip = page.get('document.querySelector("#tip").textContent')
    results.check('Records are missing here' in tip and '50' in tip,
                  'losses: the tooltip', [tip])
    page.check_quiet('losses')


def check_stopped(results, browser, session):
    """What takes long can be stopped, and is asked anew with the next range."""
    page = Page(results, browser, session.folder)
    panel = 'document.querySelector("#panel-functions %s")'
    button = ('[...document.querySelectorAll("#panel-functions button")].find('
              'each => each.textContent === "Stop")')
    body = panel % '.panelBody'
    page.get('Viewer.set({ panel: "functions" })')
    browser.wait_for(body + '.dataset.state === "shown"')
    results.equal(page.get(button + '.hidden'), True, 'stop: nothing to stop')
    page.get('Viewer.engine.sums = () => new Promise(() => {}), '
             'Viewer.set({ selection: { begin: 5, end: 50000 } })')
    browser.wait_for('!%s.hidden' % button)
    page.get(button + '.click()')
    results.equal(page.get('[%s.dataset.state, %s.hidden, %s.textContent]' % (
        body, button, panel % '.panelNote')),
        ['stopped', True, 'Stopped: this is not of the range that is chosen.'],
        'stop: it is said')
    page.get('delete Viewer.engine.sums, '
             'Viewer.set({ selection: { begin: 5, end: 60000 } })')
    browser.wait_for(body + '.dataset.state === "shown"')
    results.equal(page.get('%s.hidden' % (panel % '.panelNote')), True,
                  'stop: the next is shown')
    page.check_quiet('stop')


def main():
    results = programs.Results()
    if BrowserSupport.find() is None:
        results.skip('TestViewerKeep needs Chromium')
        return results.finish()
    numbers = random.Random(77)
    with programs.Scratch() as scratch, BrowserSupport.Browser() as browser:
        browser.prefer_colors('light')
        session = make(scratch, 'kept', numbers)
        check_kept(results, browser, scratch, session)
        check_stopped(results, browser, session)
        check_several(results, browser, scratch, numbers)
        check_losses(results, browser, scratch, numbers)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""The viewer, in a browser: what it shows is held against replay and report of
the same session, and what is wrong with files is said with their names.

Sessions are made up, so that a tick is a nanosecond and every kind of end
occurs, and traced from Tests/Programs.  Chromium is needed; without it all is
skipped.  Screenshots of each panel, light and dark, are left in
x64/Screenshots, to be looked at.
"""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestHtml as html                                      # noqa: E402
from StoreSupport import programs                            # noqa: E402

PAGE = os.path.join(programs.BIN, 'TraceViewer.html')
PICTURES = os.path.join(os.path.dirname(programs.BIN), 'Screenshots')
ABANDONED, OPEN = 1, 2
ENDS = {'exit': 0, 'abandoned': ABANDONED, 'open': OPEN}
PLACES = 20

READY = ('window.Viewer && (Viewer.session !== null && Viewer.isPassed === '
         'true)')
SAID = ('(e => e && !e.hidden ? e.textContent : "")(document.querySelector('
        '"#welcomeError"))')


def read_json(results, command, *arguments):
    code, text, errors = support.reader(command, '--json', *arguments)
    results.equal((code, errors), (0, ''), command)
    return json.loads(text)


class Page:
    """A session in the viewer."""

    def __init__(self, results, browser, session, page=PAGE):
        self.results = results
        self.browser = browser
        self.path = session
        self.session = programs.windows_path(session)
        browser.open(page)
        browser.wait_for('window.Viewer !== undefined')

    def get(self, expression):
        return self.browser.evaluate(expression)

    def drop(self, *paths):
        self.browser.drop_files(500, 400, paths or [self.path])
        self.wait()

    def choose(self):
        self.browser.choose_files('#folderInput', [self.path])
        self.wait()

    def wait(self):
        self.browser.wait_for('%s || %s !== ""' % (READY, SAID), 120)
        self.results.equal(self.get(SAID), '', 'opened: what the page says')

    def threads(self):
        """The page's index of each thread, by its identifier."""
        return dict(self.get('Viewer.session.threads.map(each => [each.tid, '
                             'each.id])'))

    def boxes(self, thread, begin, end):
        """The single calls in a range: (track, depth, duration, end, function,
        end's kind), in nanoseconds, and how many boxes are of several."""
        found = self.get('''(async () => {
            let answer;
            do {
                answer = await Viewer.engine.query({ thread: %d, begin: %d,
                    end: %d, pixels: 1400, maxDepth: 1000, key: 'test' });
            } while (answer.isRough);
            const { ticks, nanoseconds } = Viewer.session.clock;
            const time = t => Number(BigInt(t) * nanoseconds / ticks);
            const boxes = [];
            for (let i = 0; i < answer.count; i++) {
                const start = answer.start[i], stop = answer.stop[i];
                boxes.push([answer.calls[i], answer.track[i], answer.depth[i],
                            time(stop - start), time(stop),
                            Viewer.engine.functions[answer.function[i]].name,
                            answer.flags[i] & 3]);
            }
            return boxes;
        })()''' % (thread, begin, end))
        return ([tuple(box[1:]) for box in found if box[0] == 1],
                [box for box in found if box[0] != 1])

    def check_quiet(self, what):
        self.results.equal((self.browser.errors, self.browser.requests),
                           ([], []), what + ': errors, requests')


def expected_calls(results, session):
    """thread -> the calls that replay lists, as Page.boxes has them."""
    found = collections.defaultdict(list)
    fibers = collections.defaultdict(dict)
    for row in read_json(results, 'replay', session)['events']:
        tracks = fibers[row['thread_id']]
        if row['fiber'] and row['fiber'] not in tracks:
            tracks[row['fiber']] = len(tracks) + 1
        if row['event'] in ENDS:
            found[row['thread_id']].append(
                (tracks.get(row['fiber'], 0), row['depth'],
                 row['duration_ns'], row['time_ns'], row['function'],
                 ENDS[row['event']]))
    return found


def overlapping(calls, begin, end):
    """Those that are open at some time in [begin, end)."""
    return sorted(call for call in calls
                  if call[3] > begin and call[3] - call[2] < end)


def check_boxes(page, what):
    """Twenty places, each with some ten calls: there is a box for each."""
    results = page.results
    expected = expected_calls(results, page.session)
    threads = page.threads()
    results.equal(sorted(expected), sorted(threads), what + ': threads')
    numbers = random.Random(5)
    kinds = set()
    for place in range(PLACES):
        thread = numbers.choice(sorted(expected))
        calls = sorted(expected[thread], key=lambda call: call[3])
        first = numbers.randrange(max(1, len(calls) - 10))
        last = min(first + 9, len(calls) - 1)
        begin = max(0, calls[first][3] - 1)
        end = calls[last][3] + 1
        scale = page.get('Number(Viewer.session.clock.ticks) / '
                         'Number(Viewer.session.clock.nanoseconds)')
        boxes, summaries = page.boxes(threads[thread], int(begin * scale),
                                      int(end * scale) + 1)
        wanted = overlapping(calls, begin, end)
        if scale != 1:
            # What ends or begins within a tick of the range's ends may be in
            # it or not.
            near = [call for call in boxes + wanted if
                    abs(call[3] - begin) < 2 or
                    abs(call[3] - call[2] - end) < 2]
            boxes = [box for box in boxes if box not in near]
            wanted = [call for call in wanted if call not in near]
        results.equal(summaries, [], '%s: place %d: single calls only' %
                      (what, place))
        html.same(results, sorted(boxes), sorted(wanted),
                  '%s: place %d: thread %d from %d to %d' %
                  (what, place, thread, begin, end))
        kinds |= {box[5] for box in boxes}
    return kinds


def check_summary(page, what):
    """All of a thread at once: what is between two pixels says how many calls
    it is of, and no call is counted twice or not at all."""
    results = page.results
    expected = expected_calls(results, page.session)
    for thread, index in page.threads().items():
        calls = page.get('''(async () => {
            const { begin, end } = Viewer.session;
            const answer = await Viewer.engine.query({ thread: %d, begin,
                end: end + 1, pixels: 4, maxDepth: 1000, key: 'test' });
            return answer.calls.slice(0, answer.count)
                .reduce((sum, each) => sum + each, 0);
        })()''' % index)
        results.equal(calls, len(expected[thread]),
                      '%s: calls of thread %d in all boxes' % (what, thread))


def check_sums(page, what):
    """Sums of ranges against report, where a tick is a nanosecond."""
    results = page.results
    numbers = random.Random(9)
    end = page.get('Viewer.session.end')
    for place in range(6):
        begin, stop = sorted(numbers.randrange(int(end)) for _ in range(2))
        if place == 0:
            begin, stop = 0, int(end)
        rows = read_json(results, 'report', '--from', str(begin), '--to',
                         str(stop), page.session)['functions']
        wanted = sorted((row['function'], row['calls'], row['total_ns'],
                         row['self_ns'], row['abandoned'] or 0)
                        for row in rows)
        found = page.get('''(async () => {
            const sums = await Viewer.engine.sums({ threads: null,
                begin: %d, end: %d });
            return sums.functions.filter(each => each.calls).map(each =>
                [Viewer.engine.functions[each.function].name, each.calls,
                 each.total, each.self, each.abandoned]);
        })()''' % (begin, stop))
        html.same(results, sorted(tuple(row) for row in found), wanted,
                  '%s: sums from %d to %d' % (what, begin, stop))


def make_session(folder, names, seed, count=900):
    numbers = random.Random(seed)
    return html.make_session(
        folder, names,
        [filters.random_calls(numbers, len(names), count, 1000 + 40 * thread)
         for thread in range(3)] +
        [html.with_fiber(*(filters.random_calls(numbers, len(names), count)
                           for _ in range(2)))])


def check_opening(results, browser, session):
    """By drop, and by the picker."""
    page = Page(results, browser, session)
    results.check(page.get('document.querySelector("#main").hidden'),
                  'nothing is shown at first')
    page.drop()
    dropped = page.get('Viewer.session.threads.map(each => [each.tid, '
                       'each.records])')
    page.check_quiet('dropped')
    page = Page(results, browser, session)
    page.choose()
    results.equal(page.get('Viewer.session.threads.map(each => [each.tid, '
                           'each.records])'), dropped,
                  'the same by the picker')
    page.check_quiet('chosen')
    results.equal(page.get('window.hacked'), None, 'nothing ran')
    return page


def check_control(page):
    """What is compared is seen to differ."""
    threads = page.threads()
    thread = next(iter(threads.values()))
    end = page.get('Viewer.session.end')
    boxes, _ = page.boxes(thread, 0, end + 1)
    page.results.check(
        boxes and sorted(boxes) != sorted(
            (*box[:2], box[2] + (number == 0), *box[3:])
            for number, box in enumerate(boxes)), 'a wrong number is seen')


def list_panels(page):
    return page.get('Viewer.panels.map(each => each.id)')


def check_panels(page):
    """Each panel in light and dark: nothing is wider than the page."""
    results, browser = page.results, page.browser
    os.makedirs(PICTURES, exist_ok=True)
    panels = list_panels(page)
    results.check(len(panels) > 5, 'there are panels', panels)
    call = page.get("""(async () => {
        const [thread] = Viewer.session.threads;
        const boxes = await Viewer.engine.query({ thread: thread.id, begin: 0,
            end: Viewer.session.end, pixels: 100, key: 'test' });
        let best = null;
        for (let i = 0; i < boxes.count; i++) {
            if (boxes.calls[i] === 1 && !(boxes.flags[i] & 16) &&
                (best === null || boxes.depth[i] > best.depth)) {
                best = { thread: thread.id, begin: boxes.start[i],
                         end: boxes.stop[i], depth: boxes.depth[i],
                         track: boxes.track[i], function: boxes.function[i] };
            }
        }
        return best;
    })()""")
    results.check(call is not None, 'there is a call to choose')
    for width in 1400, 800:
        browser.resize(width, 900)
        for scheme in 'light', 'dark':
            browser.prefer_colors(scheme)
            page.get('Viewer.set({function: 0, call: %s})' %
                     json.dumps(call))
            for panel in panels:
                page.get('Viewer.set({panel: %s})' % json.dumps(panel))
                page.get('new Promise(done => requestAnimationFrame(() => '
                         'setTimeout(done, 100)))')
                if panel == 'call':
                    browser.wait_for('document.querySelectorAll('
                                     '".callFacts dt").length > 5')
                browser.screenshot(os.path.join(
                    PICTURES, '%s-%s-%d.png' % (panel, scheme, width)))
                results.equal(page.get(
                    '[document.documentElement.scrollWidth, '
                    'document.documentElement.scrollHeight]'), [width, 900],
                    '%s, %s, %d: the page fits' % (panel, scheme, width))
    browser.resize(1400, 900)
    page.check_quiet('panels')


def check_damaged(results, browser, scratch, session):
    """What cannot be read is named, and the rest is shown; the page lives."""
    copy = os.path.join(scratch, 'damaged')
    shutil.copytree(session, copy)
    stores = sorted(name for name in os.listdir(copy)
                    if name.endswith('.trace'))
    with open(os.path.join(copy, stores[0]), 'r+b') as file:
        file.write(b'nothing of this is a store')
    with open(os.path.join(copy, stores[1]), 'r+b') as file:
        file.truncate(100)
    page = Page(results, browser, copy)
    page.drop()
    problems = page.get('Viewer.session.problems.map(each => each.path + ": " '
                        '+ each.text)')
    for name in stores[:2]:
        results.check(any(name in problem for problem in problems),
                      'damaged: %s is named' % name, problems)
    results.check(not any(name in problem for problem in problems
                          for name in stores[2:]),
                  'damaged: the others are not', problems)
    notice = page.get('document.querySelector("#notice").textContent')
    results.check(any(name in notice for name in stores[:2]),
                  'damaged: one is named where it is seen', [notice])
    results.equal(len(page.threads()), len(stores) - 2,
                  'damaged: the others are shown')
    page.check_quiet('damaged')
    for name in stores[2:]:
        os.remove(os.path.join(copy, name))
    check_refused(results, browser, copy, stores[0], 'nothing is left')


def check_refused(results, browser, path, name, what):
    page = Page(results, browser, path)
    browser.drop_files(500, 400, [path])
    browser.wait_for(SAID + ' !== ""')
    results.check(name in page.get(SAID), what + ': the error names the file',
                  [page.get(SAID)])
    results.equal(page.get('document.querySelector("#main").hidden'), True,
                  what + ': nothing is shown')
    results.equal(page.browser.errors, [], what + ': no error of a script')


def check_packs(results, browser, scratch, session):
    """A pack shows what the session shows; a damaged one is named."""
    pack = os.path.join(scratch, 'whole.tracepack')
    code, _, errors = support.reader('pack', '-o', programs.windows_path(pack),
                                     programs.windows_path(session))
    results.equal((code, errors), (0, ''), 'pack')
    page = Page(results, browser, session)
    page.drop(pack)
    check_boxes(page, 'pack')
    page.check_quiet('pack')
    with open(pack, 'rb') as file:
        data = file.read()
    for name, damaged in (('short.tracepack', data[:len(data) // 2]),
                          ('wrong.tracepack', data[:16] + b'\xFF' * 64 +
                           data[80:-64] + b'\xFF' * 64)):
        path = os.path.join(scratch, name)
        with open(path, 'wb') as file:
            file.write(damaged)
        check_refused(results, browser, path, name, name)




def read_sums(page):
    """name -> (calls, total in nanoseconds) of the whole session."""
    found = collections.Counter()
    for name, calls in page.get('''(async () => {
        const sums = await Viewer.engine.sums({ threads: null,
            begin: 0, end: Viewer.session.end });
        return sums.functions.map(each => [
            Viewer.engine.functions[each.function].name, each.calls]);
    })()'''):
        found[name] += calls
    return found


def check_live(results, browser, scratch):
    """A running program's session grows on the page, up to its end."""
    program = support.build_busy(os.path.join(scratch, 'busy'))
    traces, go = os.path.join(scratch, 'traces'), os.path.join(scratch, 'go')
    process = support.start(program, 'run', '2', '600', '5',
                            programs.windows_path(go), directory=traces)
    support.wait_for(lambda: len(support.stores(traces)) == 2)
    session = support.sessions(traces)[0]
    read_json(results, 'report', programs.windows_path(session))
    page = Page(results, browser, session)
    page.drop()
    results.check(page.get('Viewer.session.isLive'), 'live: it runs')
    before = page.get('Viewer.session.end')
    with open(go, 'wb'):
        pass
    code, _ = support.finish(process)
    results.equal(code, 0, 'live: the program')
    rows = read_json(results, 'report', programs.windows_path(session))
    expected = collections.Counter()
    for row in rows['functions']:
        expected[row['function']] += row['calls']

    def is_all_there():
        try:
            return read_sums(page) == expected
        except BrowserSupport.BrowserError:
            return False                # its file has changed meanwhile

    results.check(support.wait_for(is_all_there, 90),
                  'live: all calls at the end',
                  [expected, page.get('Viewer.session.threads.map(each => '
                                      '[each.tid, each.records])')])
    results.check(page.get('Viewer.session.end') > before,
                  'live: the session has grown')
    results.equal(sorted(page.threads()), sorted(expected_calls(
        results, page.session)), 'live: threads')
    results.equal(browser.requests, [], 'live: requests')

    # The clock's rate is known better at the end: so times are compared anew.
    page = Page(results, browser, session)
    page.drop()
    check_boxes(page, 'traced')
    page.check_quiet('traced')


def check_command(results, browser, session):
    """view writes a page that shows the session by itself, or says what it
    wants."""
    beside = session + '.viewer.html'
    code, text, errors = support.reader('view', '--no-open',
                                        programs.windows_path(session))
    results.equal((code, errors), (0, ''), 'view')
    results.check(os.path.isfile(beside) and
                  programs.windows_path(beside) in text and
                  'is in it' in text, 'view: the page', [text])
    page = Page(results, browser, session, beside)
    page.wait()
    check_boxes(page, 'view')
    page.check_quiet('view')
    results.equal([name for name in os.listdir(os.path.dirname(session))
                   if name.endswith(('.tmp', '.pack'))], [],
                  'view: nothing else is left')

    code, text, errors = support.reader('view', '--no-open', '--embed', '0',
                                        programs.windows_path(session))
    results.equal((code, errors), (0, ''), 'view --embed 0')
    page = Page(results, browser, session, beside)
    results.check(programs.windows_path(session) in page.get(
        'document.querySelector("#welcome").textContent'),
        'view --embed 0: the page says what it wants')
    results.equal(page.get('document.querySelector("#embedded")'), None,
                  'view --embed 0: nothing is in it')
    page.drop()
    check_boxes(page, 'view --embed 0')
    results.equal(page.get('window.hacked'), None, 'view: nothing ran')
    page.check_quiet('view --embed 0')
    os.remove(beside)


CLASS = 'HKLM\\Software\\Classes\\.html'


def check_browser(results, scratch, session):
    """The page is handed to the default browser, by its path alone: Wine asks
    for xdg-open, which is a script here.  The prefix has no HTML (RunWine.sh),
    so it is told for a while what opens it; before that, nothing does."""
    folder = os.path.join(scratch, 'browser')
    os.makedirs(folder)
    told = os.path.join(folder, 'told')
    script = os.path.join(folder, 'xdg-open')
    with open(script, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\nfor Each; do echo "$Each"; done >%s.new\n'
                   'mv %s.new %s\n' % (told, told, told))
    os.chmod(script, 0o755)
    path = folder + ':' + os.environ['PATH']
    target = os.path.join(folder, "a b & c' ;--x.html")

    def view(page):
        with tempfile.TemporaryFile() as errors:
            done = support.watch.run(
                [programs.WINE, programs.READER, 'view', '-o',
                 programs.windows_path(page), programs.windows_path(session)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors, env=dict(os.environ, PATH=path))
            errors.seek(0)
            return done.returncode, os.path.isfile(page), errors.read()

    code, is_there, said = view(target)
    results.check((code, is_there) == (0, True) and
                  b'open the page in a browser' in said,
                  'view: without a browser the page is there', [code, said])
    programs.run_windows('reg', 'add', CLASS, '/ve', '/d', 'htmlfile', '/f')
    try:
        code, is_there, said = view(target)
        results.equal((code, is_there), (0, True), 'view: %s' % said)
        support.wait_for(lambda: os.path.exists(told), 60)
        lines = []
        if os.path.exists(told):
            with open(told, encoding='utf-8') as file:
                lines = file.read().splitlines()
            os.remove(told)
        results.equal([urllib.parse.unquote(line) for line in lines],
                      ['file://' + target], 'view: what the browser is told')

        # What is no page is not opened.
        code, is_there, said = view(os.path.join(folder, 'page.txt'))
        results.check((code, is_there) == (0, True) and
                      b'open the page in a browser' in said and
                      not os.path.exists(told),
                      'view -o page.txt: it is not opened', [code, said])
    finally:
        programs.run_windows('reg', 'delete', CLASS, '/f')


def main():
    results = programs.Results()
    if BrowserSupport.find() is None:
        results.skip('TestViewer needs Chromium')
        return results.finish()
    with programs.Scratch() as scratch, BrowserSupport.Browser() as browser:
        browser.prefer_colors('light')
        session = make_session(os.path.join(scratch, 'few'), html.HOSTILE, 11)
        read_json(results, 'report', programs.windows_path(session))
        page = check_opening(results, browser, session)
        results.equal(check_boxes(page, 'made up') & {0, ABANDONED},
                      {0, ABANDONED}, 'kinds of ends')
        check_summary(page, 'made up')
        check_control(page)
        check_sums(page, 'made up')
        check_panels(page)
        check_damaged(results, browser, scratch, session)
        check_packs(results, browser, scratch, session)
        check_live(results, browser, scratch)
        check_command(results, browser, session)
        check_browser(results, scratch, session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Makes the sessions of BenchViewer.sh, looks at them, prints the table.

BenchViewer.sh says what is measured and which variables set its sizes.
"""

import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, 'Tests', 'Library')]
import BrowserSupport                                        # noqa: E402
import programs                                              # noqa: E402
import StoreSupport as support                               # noqa: E402

WORK = sys.argv[1]
PAGE = os.path.join(programs.BIN, 'TraceViewer.html')
ROUNDS = int(os.environ.get('ROUNDS') or 3)
PLACES = int(os.environ.get('PLACES') or 10)
BIG_GIB = float(os.environ.get('BIG_GIB') or 0)
ONLY = os.environ.get('SESSIONS', '').split()
DEMO_ROUNDS = 12
MARKS = 3334                            # of a process
GIB_OF_ROUND = 680e6 / 12 / 2 ** 30     # of records that the demo writes
LIMIT = 1800                            # seconds, for anything

# What the page is asked to do, before it is opened anew each time.
SCRIPT = '''(() => {
    const bench = window.bench = { dropped: 0, first: 0, passed: 0 };
    addEventListener('drop', () => { bench.dropped = performance.now(); },
                     true);
    const frame = () => new Promise(requestAnimationFrame);
    const sources = () => [...Viewer.timeline.answers.sources.values()];
    const hasBoxes = answer => answer !== null && answer.count > 0;
    const watch = now => {
        if (bench.dropped !== 0 && Viewer.session !== null) {
            if (bench.first === 0 && sources().some(each =>
                    !each.isActivity && (hasBoxes(each.whole) ||
                                         hasBoxes(each.fine)))) {
                bench.first = now - bench.dropped;
            }
            if (bench.passed === 0 && Viewer.isPassed) {
                bench.passed = now - bench.dropped;
            }
        }
        if (bench.passed === 0) {
            requestAnimationFrame(watch);
        }
    };
    requestAnimationFrame(watch);

    const isIdle = () => Viewer.timeline.answers.running === 0;

    bench.settle = async () => {
        for (let still = 0; still < 3;) {
            await frame();
            still = isIdle() ? still + 1 : 0;
        }
    };

    bench.zoom = async places => {
        const steps = [];
        for (const place of places) {
            const { begin, end } = Viewer.session;
            Viewer.fit();
            await bench.settle();
            const at = begin + (end - begin) * place;
            for (let span = (end - begin) / 4; span > 20000; span /= 4) {
                const start = performance.now();
                Viewer.setRange(at - span / 2, at + span / 2);
                await frame();
                await frame();
                while (!isIdle()) {
                    await frame();
                }
                steps.push(performance.now() - start);
            }
        }
        return steps;
    };

    bench.pan = async (place, depths, count) => {
        const frames = [];
        const { begin, end } = Viewer.session;
        for (const depth of depths) {
            const span = Math.max((end - begin) / depth, 20000);
            let at = begin + (end - begin - span) * place;
            Viewer.setRange(at, at + span);
            await frame();
            let last = await frame();
            for (let i = 0; i < count; i++) {
                at += span / 60 * (at + 2 * span > end ? -1 : 1);
                Viewer.setRange(at, at + span);
                const now = await frame();
                frames.push(now - last);
                last = now;
            }
        }
        return frames;
    };
})()'''

DEPTHS = '[2, 30, 1000, 30000, 1000000]'


#
# Sessions.
#

def make_demo(mode, rounds):
    program = os.path.join(ROOT, 'x64', 'Demo', 'lua.exe')
    if not os.path.exists(program):
        subprocess.run(['make', '-C', ROOT, 'demo'], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    script = os.path.join(ROOT, 'Tests', 'Programs', 'demo.lua')
    _, session = programs.trace(
        program, programs.windows_path(script), str(rounds),
        directory=os.path.join(WORK, mode + str(rounds)), TRACER_MODE=mode)
    return [session]


def make_many():
    """Three processes of some 33 threads, each of a few hundred thousand
    records, and marks."""
    directory = os.path.join(WORK, 'many')
    sample = programs.build_sample(os.path.join(WORK, 'build'),
                                   programs.PENTER_FLAGS, [programs.LIBRARY])
    processes = [support.start(sample, threads, '25', '20',
                               directory=directory)
                 for threads in ('33', '33', '34')]
    for process in processes:
        process.communicate()
    for session in support.sessions(directory):
        with open(support.stores(session)[0], 'rb') as file:
            header = file.read(0x120)
        process, _, created = struct.unpack_from('<IIQ', header, 0x018)
        first, = struct.unpack_from('<Q', header, 0x0E0)
        last, = struct.unpack_from('<Q', header, 0x100)
        support.write_control(session, [
            (support.ACTION_MARK, first + (last - first) * number // MARKS,
             'mark %d' % number) for number in range(MARKS)],
            process=process, created=created)

    # Of the folder that they are in the page would show the newest alone.
    return support.sessions(directory)


#
# The browser.
#

class Memory(threading.Thread):
    """The most memory that all processes of a browser have at a time, the
    driver's not counted."""

    def __init__(self, driver):
        super().__init__(daemon=True)
        self.driver = driver
        self.most = 0
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.25):
            self.most = max(self.most, self.take())

    def take(self):
        parents = {}
        for name in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % name, encoding='latin-1') as file:
                    parents[int(name)] = int(
                        file.read().rpartition(')')[2].split()[1])
            except OSError:
                pass
        total = 0
        for process in parents:
            above = parents[process]
            while above not in (0, self.driver):
                above = parents.get(above, 0)
            if above == self.driver:
                total += self.take_one(process)
        return total

    @staticmethod
    def take_one(process):
        try:
            with open('/proc/%d/smaps_rollup' % process,
                      encoding='ascii') as file:
                return sum(int(line.split()[1]) * 1024 for line in file
                           if line.startswith('Pss:'))
        except OSError:
            return 0


def look(sessions, places):
    """What one browser says of sessions: two tables, the second of the
    same opened again.  It is opened a third time, with nothing kept, to
    move while it is read."""
    tables = []
    with BrowserSupport.Browser(1400, 900, seconds=LIMIT) as browser:
        memory = Memory(browser.process.pid)
        memory.start()
        for again in False, True:
            row = {}
            browser.open(PAGE)
            browser.wait_for('window.Viewer !== undefined')
            browser.evaluate(SCRIPT)
            browser.drop_files(500, 400, sessions)
            browser.wait_for('bench.first')
            if browser.evaluate('Viewer.session.processes.length') != \
                    len(sessions):
                raise RuntimeError('not all sessions are shown')
            browser.wait_for('bench.passed', LIMIT)
            row['first'] = browser.evaluate('bench.first / 1000')
            row['passed'] = browser.evaluate('bench.passed / 1000')
            row['early'] = []
            browser.evaluate('bench.settle()')
            row['zoom'] = browser.evaluate('bench.zoom(%s)' % places)
            row['pan'] = browser.evaluate('bench.pan(0.4, %s, 120)' % DEPTHS)
            row['memory'] = memory.most
            tables.append(row)
            if not again:
                browser.evaluate('Viewer.keeper.waiting.then(() => 1)')
        memory.ended.set()
        memory.join()
        browser.evaluate('Viewer.keeper.clear()')
        browser.open(PAGE)
        browser.wait_for('window.Viewer !== undefined')
        browser.evaluate(SCRIPT)
        browser.drop_files(500, 400, sessions)
        browser.wait_for('bench.first')
        tables[0]['early'] = browser.evaluate('bench.pan(0.3, [2, 30], 60)')
        if browser.errors:
            raise RuntimeError('the page: ' + browser.errors[0])
    return tables


def at(numbers, share):
    numbers = sorted(numbers)
    return numbers[min(len(numbers) - 1, int(len(numbers) * share))]


def describe(name, rows):
    def middle(function):
        return statistics.median(function(row) for row in rows)

    def of(field, *shares):
        return ' / '.join('%.0f' % middle(lambda row: at(row[field], share))
                          for share in shares)

    early = of('early', 0.5, 0.99, 1) if rows[0]['early'] else '-'
    print('%-22s %6.2f %7.2f   %-15s %-15s %-15s %6.0f' % (
        name, middle(lambda row: row['first']),
        middle(lambda row: row['passed']), of('zoom', 0.5, 0.95, 1),
        of('pan', 0.5, 0.99, 1), early,
        middle(lambda row: row['memory']) / 1e6), flush=True)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    if BrowserSupport.find() is None:
        print('no Chromium here')
        return 0
    numbers = random.Random(7)
    places = [numbers.random() for _ in range(PLACES)]
    kinds = {'demo, raw': lambda: make_demo('file', DEMO_ROUNDS),
             'demo, compact': lambda: make_demo('compact', DEMO_ROUNDS),
             'many': make_many}
    if BIG_GIB:
        kinds['big, raw'] = lambda: make_demo(
            'file', max(1, round(BIG_GIB / GIB_OF_ROUND)))
    print('%-22s %6s %7s   %-15s %-15s %-15s %6s' % (
        '', 'first', 'pass', 'zoom', 'pan', 'pan in pass', 'memory'))
    print('%-22s %6s %7s   %-15s %-15s %-15s %6s' % (
        '', 's', 's', '50/95/100 ms', '50/99/100 ms', '50/99/100 ms', 'MB'))
    for name, make in kinds.items():
        if ONLY and name.split(',')[0] not in ONLY:
            continue
        sessions = make()
        rounds = [look(sessions, places) for _ in range(ROUNDS)]
        describe(name, [first for first, _ in rounds])
        describe('  again', [again for _, again in rounds])
        for session in sessions:
            shutil.rmtree(session)
    return 0


if __name__ == '__main__':
    sys.exit(main())

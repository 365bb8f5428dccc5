#!/usr/bin/env python3
"""TraceReader collect on a driver with TracerPenterKernel.lib in it, which
Wine's service manager loads: what the session says is compared with what the
driver has counted itself, and with its section.
"""

import collections
import csv
import io
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import trace_reader                                          # noqa: E402
from StoreSupport import programs                            # noqa: E402

try:
    import DriverSupport as drivers
except ImportError:
    drivers = None

RESULTS = programs.Results()


def read_rows(session, command, *arguments):
    code, text, errors = support.reader(command, '--csv', *arguments,
                                        programs.windows_path(session))
    RESULTS.equal(code, 0, '%s %s' % (command, errors))
    return list(csv.DictReader(io.StringIO(text)))


def start_collecting(driver, session, *arguments):
    process = support.start(programs.READER, 'collect', driver.name, '-o',
                            programs.windows_path(session), *arguments)
    support.wait_for(lambda: support.stores(session) or
                     process.poll() is not None)
    return process


def check_report(session, counts, text):
    """The driver's own counters, without what it did before it recorded."""
    rows = {row['function']: row for row in read_rows(session, 'report')}
    RESULTS.equal({name: int(row['calls']) for name, row in rows.items()},
                  {name: count for name, count in counts.items() if count},
                  '%s: calls of each function' % text)
    return rows


def count_records(session):
    records, lost = 0, 0
    for path in support.stores(session):
        store = trace_reader.Store(path)
        records += sum(1 for record in store.records() if record[3] != 5)
        lost += store.NumberOfEventsLost
    return records, lost


def test_whole(loader, folder):
    """From DriverEntry to the driver's unload routine, followed meanwhile."""
    image = drivers.build_driver(folder, 'collectwhole')
    driver = drivers.Driver(loader, image)
    session = os.path.join(folder, 'whole')
    try:
        driver.install(RESULTS)
        driver.use(RESULTS, 'start')
        process = start_collecting(driver, session)
        lines = driver.use(RESULTS, 'work=4:8:20', 'counts')
        counts, wrong = driver.counts(lines)
        RESULTS.equal(wrong, 0, 'whole: results of the driver')
        created = counts['Create']
        support.wait_for(lambda: sum(
            int(row['calls']) for row in read_rows(session, 'report')
            if row['function'] == 'Leaf') == counts['Leaf'])
        rows = {row['function']: row for row in read_rows(session, 'report')}
        RESULTS.equal(int(rows['Leaf']['calls']), counts['Leaf'],
                      'whole: while the driver runs')
        driver.use(RESULTS, 'stop')
        code, text = support.finish(process)
        RESULTS.check(code == 0 and 'the driver was unloaded' in text,
                      'whole: collect ends with the driver: %s' % text)

        # The last handle may be closed after the counters were read; then the
        # driver is unloaded.
        made = sum(count_records(session)[:1]) // 2
        counts['Create'] += made - sum(counts.values()) - 1
        counts['Unload'] += 1
        rows = check_report(session, counts, 'whole')
        RESULTS.check(0 <= counts['Create'] - created <= 1,
                      'whole: Create: %s, %d' % (counts, created))
        RESULTS.equal(collections.Counter(row['abandoned'] + row['unfinished']
                                          for row in rows.values()),
                      collections.Counter({'00': len(rows)}),
                      'whole: every call returned')
        RESULTS.equal(count_records(session), (2 * sum(counts.values()), 0),
                      'whole: records')

        # The call tree is that of the source.
        chains, path = collections.Counter(), []
        for row in read_rows(session, 'tree'):
            del path[int(row['depth']):]
            path.append(row['function'])
            chains[tuple(path[-2:])] += int(row['calls'])
        RESULTS.equal(chains['Middle', 'Leaf'], 2 * counts['Middle'],
                      'whole: Middle calls Leaf twice')
        RESULTS.equal(chains['Outer', 'Leaf'], counts['Outer'],
                      'whole: Outer calls it once')
        RESULTS.equal(chains['Control', 'Work'], counts['Work'],
                      'whole: Control calls Work')
        code, text, _ = support.reader('info', programs.windows_path(session))
        RESULTS.check(re.search(r'Kernel trace of .*collectwhole', text) and
                      re.search(r'Lost +0\n', text),
                      'whole: info: %s' % text)
        code, text, _ = support.reader('info', '--json',
                                       programs.windows_path(session))
        row, = json.loads(text)['kernel']
        RESULTS.equal((row['driver'], row['image'], row['lost']),
                      ('collectwhole', programs.windows_path(image), 0),
                      'whole: info --json')
    finally:
        driver.end()


def test_loss(loader, folder):
    """A ring that is far too small: the driver's own count of records is what
    there is and what was lost."""
    image = drivers.build_driver(folder, 'collectloss')
    driver = drivers.Driver(loader, image)
    session = os.path.join(folder, 'loss')
    try:
        driver.install(RESULTS)
        driver.use(RESULTS, 'set=TracerRecords:256', 'start')
        process = start_collecting(driver, session)
        counts, _ = driver.counts(driver.use(RESULTS, 'work=3:10:3000',
                                             'counts'))
        driver.use(RESULTS, 'stop')
        code, text = support.finish(process)
        RESULTS.equal(code, 0, 'loss: collect: %s' % text)
        records, lost = count_records(session)
        before = sum(map(int, re.findall(r'(\d+) records were overwritten '
                                         r'before coll', text)))
        counts['Unload'] += 1
        RESULTS.check(records + lost + before - 2 * sum(counts.values()) in
                      (0, 2),           # the last handle's
                      'loss: every record is there or counted: %d, %d lost' %
                      (records, lost))
        RESULTS.check(lost > 0, 'loss: some are lost')
        code, text, _ = support.reader('verify',
                                       programs.windows_path(session))
        RESULTS.check(' 0 bad' in text, 'loss: verify: %s' % text)
    finally:
        driver.end()


def main():
    if not drivers or not os.path.exists(drivers.LIBRARY):
        RESULTS.skip('there is no TracerPenterKernel.lib')
        return RESULTS.finish()
    with programs.Scratch() as folder:
        loader = drivers.build_loader(folder)
        test_whole(loader, folder)
        test_loss(loader, folder)
    return RESULTS.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""TracerKd.dll over the memory of a driver that is traced by
TracerPenterKernel.lib, which Wine's service manager has loaded: what the
commands say is what the driver has counted, and what the section says to
another reader (DriverSupport.py).
"""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
import KdSupport as kd                                       # noqa: E402

try:
    import DriverSupport as drivers                          # noqa: E402
except ImportError:
    drivers = None

NAME = 'TracerTestKd'


def check_statistics(results, text, driver, section, counts):
    rows = {}
    for line in text.splitlines()[1:]:
        if not line.startswith('#'):
            name, calls, ticks, each = line.split(',')
            rows[name.split('!')[1]] = (int(calls), int(ticks), int(each))
    expected = {}
    for function in section.functions:
        name = driver.names.find(section, function.site)
        calls, ticks = expected.get(name, (0, 0))
        expected[name] = (calls + function.calls, ticks + function.ticks)
    results.equal(rows, {name: (calls, ticks, ticks // calls if calls else 0)
                         for name, (calls, ticks) in expected.items()
                         if calls}, '!modulestats and the section')
    results.equal({name: row[0] for name, row in rows.items()},
                  {name: count for name, count in counts.items() if count},
                  '!modulestats and the driver')
    results.check(len(rows) > 5, 'functions: %d' % len(rows))


def check_thread(results, text, tree, driver, section, thread):
    records = [(record.time,
                record.site - section.module, record.stack, record.kind)
               for record in section.all_records() if record.thread == thread]
    calls, end = kd.pair(records, kd.Namer(sorted(
        driver.names.symbols.items())))
    results.equal(kd.read_last(text)[-200:],
                  [call.key(end) for call in calls][-200:],
                  '!lastcalls of thread %x' % thread)
    results.equal(kd.read_tree(tree), kd.tree_of(calls, end),
                  '!calltree of thread %x' % thread)


def check(results, folder):
    host = kd.Host(kd.build_host(folder))

    # Wine's services keep what the first program of a prefix has as its output:
    # a pipe to them would never end.
    with open(os.devnull, 'wb') as nothing:
        programs.watch.run([programs.WINE, host.path,
                            programs.windows_path(kd.EXTENSION), 'misuse'],
                           stdin=subprocess.DEVNULL, stdout=nothing,
                           stderr=nothing)
    driver = drivers.Driver(drivers.build_loader(folder),
                            drivers.build_driver(folder, NAME))
    try:
        driver.install(results)
        lines = driver.use(results, 'start', 'work=2:3:20', 'counts',
                           driver.dump_step())
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        symbols = os.path.join(folder, 'symbols')
        threads = sorted({record.thread for record in section.all_records()})
        wanted = ['tracer ' + NAME, 'modulestats ' + NAME, 'tracer']
        for thread in threads:
            wanted += ['lastcalls -k -m %s %x 100000' % (NAME, thread),
                       'calltree -k -m %s %x' % (NAME, thread)]
        for extra in [], [(variable(driver), 'TracerKernelHeader')]:
            kd.write_symbols(symbols, NAME, section.module,
                             section.module_size,
                             sorted(driver.names.symbols.items()) + extra)
            answers = host.commands('live', section.process, symbols, wanted,
                                    ['kernel', 'connection'])
            for body, _, unknown, references, code in answers:
                results.equal((unknown, references, code), (0, 0, '00000000'),
                              'methods, references, result')
            for text in answers[0][0], answers[2][0]:
                results.check(re.search('Section at .*%s at .*recording' % NAME,
                                        text) and
                              '%d rings of %d records' % (
                                  section.number, section.records_per_ring)
                              in text, '!tracer', [text])
            check_statistics(results, answers[1][0], driver, section, counts)
            for index, thread in enumerate(threads):
                check_thread(results, answers[3 + 2 * index][0],
                             answers[4 + 2 * index][0], driver, section,
                             thread)
    finally:
        driver.end()


def variable(driver):
    code, text = programs.run([programs.NM, driver.image])
    return [int(line.split()[0], 16) - kd.image_base(driver.image)
            for line in text.splitlines()
            if line.endswith(' TracerKernelHeader')][0]


def main():
    results = programs.Results()
    if drivers is None or not os.path.exists(drivers.LIBRARY):
        results.skip('there is no TracerPenterKernel.lib')
        return results.finish()
    with programs.Scratch() as folder:
        check(results, folder)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

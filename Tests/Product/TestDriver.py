#!/usr/bin/env python3
"""TracerPenterKernel.lib in drivers that Wine's service manager loads: what the
section says is compared with what the drivers have counted themselves, and the
header with the image.
"""

import os
import sys
from collections import Counter

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import DriverSupport as drivers                              # noqa: E402
import programs                                              # noqa: E402

RESULTS = programs.Results()
NAME_NOT_FOUND = 'c0000034'
ACCESS_DENIED = 'c0000022'


def check_header(driver, section, records, functions, opened):
    name = driver.name
    RESULTS.equal(section.magic, int.from_bytes(b'TRCKERNL', 'little'),
                  name + ': magic')
    RESULTS.equal((section.major, section.header_size, section.record_size),
                  (1, 4096, 32), name + ': version and sizes')
    RESULTS.equal(section.size, len(section.data), name + ': size')
    RESULTS.equal((section.records_per_ring, section.slots,
                   section.open_slots), (records, functions, opened),
                  name + ': tables')
    RESULTS.equal(section.number, os.cpu_count(), name + ': rings')
    RESULTS.equal(section.name, name, name + ': name')
    RESULTS.equal(section.path, programs.windows_path(driver.image),
                  name + ': path')
    RESULTS.equal((section.stamp, section.module_size, section.checksum),
                  (driver.names.stamp, driver.names.image_size,
                   driver.names.checksum), name + ': image')
    for anchor in section.open_anchor, section.last_anchor:
        RESULTS.check(anchor[0] ^ anchor[1] ^ anchor[2] == anchor[3] and
                      all(anchor), name + ': anchor', [anchor])
    RESULTS.check(section.frequency > 0, name + ': frequency')
    RESULTS.check(0 < section.inner <= section.total,
                  name + ': cost of hooks', [section.inner, section.total])
    RESULTS.equal(section.offsets[0] % 4096 + section.offsets[1] % 4096, 0,
                  name + ': offsets')


def check_records(driver, section, counts, kinds=(drivers.ENTER,
                                                  drivers.EXIT)):
    """Nothing was lost: every call's entry is there, and its exit."""
    name, names = driver.name, driver.names
    wanted = Counter(counts)
    seen = drivers.count_records(section, names, [kinds[0]])
    RESULTS.equal(dict(seen), dict(wanted), name + ': entries in the rings')
    RESULTS.equal(dict(drivers.count_statistics(section, names, 'entries')),
                  dict(wanted), name + ': entries in the tables')
    for counter in 'statistics_lost', 'open_lost', 'collided', 'abandoned':
        RESULTS.equal(section.total_of(counter), 0, name + ': ' + counter)
    RESULTS.equal(sum(section.records(ring)[1]
                      for ring in range(section.number)), 0,
                  name + ': records that are not whole')


def pair(section, kinds=(drivers.ENTER, drivers.EXIT)):
    """Calls as (site, time, end, thread), found by time on each stack, and the
    records that have no partner."""
    opened, calls, alone = {}, [], []
    for record in section.all_records():
        key = record.thread, record.stack
        if record.kind == kinds[0]:
            if key in opened:
                alone.append(opened[key])
            opened[key] = record
        elif key in opened:
            entry = opened.pop(key)
            calls.append((entry.site, entry.time, record.time, record.thread))
        else:
            alone.append(record)
    return calls, alone, list(opened.values())


def check_pairs(driver, section):
    """The tables' sums are those of the records."""
    name, names = driver.name, driver.names
    calls, alone, opened = pair(section)
    RESULTS.equal(alone, [], name + ': records without a partner')
    RESULTS.equal(sorted(call.stack & ~7 for call in section.open),
                  sorted(record.stack for record in opened),
                  name + ': open calls')
    wanted = {}
    for site, begin, end, _ in calls:
        number, ticks, least, most = wanted.get(site, (0, 0, 2 ** 64, 0))
        wanted[site] = (number + 1, ticks + end - begin,
                        min(least, end - begin), max(most, end - begin))
    seen = {}
    for function in section.functions:
        if not function.calls:
            RESULTS.equal((function.ticks, function.minimum, function.maximum),
                          (0, 2 ** 64 - 1, 0), name + ': an empty slot')
            continue
        number, ticks, least, most = seen.get(function.site,
                                              (0, 0, 2 ** 64, 0))
        seen[function.site] = (number + function.calls, ticks + function.ticks,
                               min(least, function.minimum),
                               max(most, function.maximum))
    RESULTS.equal({names.find(section, site): value
                   for site, value in seen.items()},
                  {names.find(section, site): value
                   for site, value in wanted.items()},
                  name + ': sums of calls')
    RESULTS.check(len(calls) > 100, name + ': pairs', [len(calls)])
    return calls


def test_counts(loader, folder):
    driver = drivers.Driver(loader, drivers.build_driver(folder, 'TracerTestA'))
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'start', 'work=1:3:50', 'work=4:5:40',
                           'counts', driver.dump_step())
        section, counts = driver.dumped(), driver.counts(lines)
        RESULTS.equal(counts['Leaf'], 3 * (150 + 4 * 5 * 40), 'leaves')
        counts['Create'] += 1               # the close behind the counts
        check_header(driver, section, 65536, 1024, 8192)
        RESULTS.equal(section.state, drivers.RUNNING, 'running')
        del counts['Unload']
        check_records(driver, section, counts)
        check_pairs(driver, section)
        RESULTS.equal(section.total_of('unpaired'), 0, 'unpaired')
        RESULTS.check(len({record.thread for record in section.all_records()})
                      >= 1 and all(record.irql == 0 and record.thread for
                                   record in section.all_records()),
                      'threads and IRQL')

        # Read-only, and for administrators.
        lines = driver.use(RESULTS, 'open=0x4', 'open=0x2', 'open=0xf001f',
                           'stop', 'open=0x4')
        RESULTS.equal([line.split()[1] for line in lines if line],
                      ['00000000', ACCESS_DENIED, ACCESS_DENIED,
                       NAME_NOT_FOUND], 'access')
    finally:
        driver.end()


def main():
    with programs.Scratch() as folder:
        loader = drivers.build_loader(folder)
        test_counts(loader, folder)
    return RESULTS.finish()


if __name__ == '__main__':
    sys.exit(main())

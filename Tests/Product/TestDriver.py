#!/usr/bin/env python3
"""TracerPenterKernel.lib in drivers that Wine's service manager loads: what the
section says is compared with what the drivers have counted themselves, and the
header with the image.
"""
# Takes long.

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


def totals(counts):
    return 2 * sum(counts.values())


def test_counts(loader, folder):
    driver = drivers.Driver(loader, drivers.build_driver(folder, 'TracerTestA'))
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'start', 'work=1:3:50', 'work=4:5:40',
                           'counts', driver.dump_step())
        section, (counts, wrong) = driver.dumped(), driver.counts(lines)
        RESULTS.equal((counts['Leaf'], wrong), (3 * (150 + 4 * 5 * 40), 0),
                      'leaves')
        check_header(driver, section, 65536, 1024, 8192)
        RESULTS.equal(section.state, drivers.RUNNING, 'running')
        check_records(driver, section, counts)
        check_pairs(driver, section)
        RESULTS.equal(section.total_of('unpaired'), 0, 'unpaired')
        RESULTS.check(all(record.irql == 0 and record.thread for record in
                          section.all_records()), 'threads and IRQL')

        # Read-only, and for administrators.
        lines = driver.use(RESULTS, 'open=0x4', 'open=0x2', 'open=0xf001f',
                           'stop', 'open=0x4')
        RESULTS.equal([line.split()[1] for line in lines if line],
                      ['00000000', ACCESS_DENIED, ACCESS_DENIED,
                       NAME_NOT_FOUND], 'access')

        # From the entry point to the end of the unload routine.
        driver.use(RESULTS, 'start', 'work=1:1:5', 'map', 'stop',
                   driver.dump_step('write'))
        section = driver.dumped()
        RESULTS.equal(section.state, drivers.UNLOADED, 'unloaded')
        calls = drivers.count_statistics(section, driver.names, 'calls')
        RESULTS.equal((calls['DriverEntry'], calls['Unload'], calls['Leaf'],
                       section.open), (1, 1, 15, []), 'an unloaded driver')
        RESULTS.check(section.last_anchor[0] > section.open_anchor[0] and
                      section.last_anchor[1] > section.open_anchor[1] and
                      section.last_anchor[2] >= section.open_anchor[2],
                      'anchors grow')
        RESULTS.equal(max(record.time for record in section.all_records()) <
                      section.last_anchor[0], True, 'the last anchor is last')
    finally:
        driver.end()


def test_shapes(loader, folder):
    """Callers in the shapes of Microsoft's compiler."""
    driver = drivers.Driver(loader, drivers.build_driver(
        folder, 'TracerTestB', more=drivers.build_asm(folder)))
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'start', 'work=1:2:100', 'work=3:4:50',
                           'counts', driver.dump_step())
        section, (counts, wrong) = driver.dumped(), driver.counts(lines)
        RESULTS.equal((counts['AsmFramed'], counts['AsmLeaf'], wrong),
                      (800, 1600, 0), 'results of callers in assembly')
        check_records(driver, section, counts)
        check_pairs(driver, section)
        RESULTS.equal({record.stack % 16 for record in section.all_records()
                       if driver.names.find(section, record.site) ==
                       'AsmLeaf'}, {8}, 'stack of a leaf')
        RESULTS.equal({record.stack % 16 for record in section.all_records()
                       if driver.names.find(section, record.site) ==
                       'AsmFramed'}, {0}, 'stack of a framed function')
    finally:
        driver.end()


def test_functions(loader, folder):
    """-finstrument-functions; and where gcc jumps to the exit hook."""
    driver = drivers.Driver(loader, drivers.build_driver(
        folder, 'TracerTestC', [*programs.FUNCTION_FLAGS,
                                '-fno-optimize-sibling-calls']))
    kinds = drivers.ENTER_FUNCTION, drivers.EXIT_FUNCTION
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'start', 'work=2:3:50', 'counts',
                           driver.dump_step())
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        check_records(driver, section, counts, kinds)
        RESULTS.equal(drivers.count_records(section, driver.names, [kinds[1]]),
                      counts, 'exits')
        RESULTS.equal(drivers.count_statistics(section, driver.names, 'calls'),
                      counts, 'calls')
        RESULTS.equal(section.total_of('unpaired'), 0, 'unpaired')
        RESULTS.equal(section.open, [], 'open calls')
    finally:
        driver.end()


def check_wrapped(driver, section, counts, what):
    """All events have their number, and what is not there is counted."""
    RESULTS.equal(section.total_of('reserved') + section.total_of('paused'),
                  totals(counts), what + ': events')
    missing = 0
    for ring in range(section.number):
        whole, lost = section.records(ring)
        RESULTS.equal(len(whole) + lost, min(section.rings[ring].reserved,
                                             section.records_per_ring),
                      what + ': records of a ring')
        RESULTS.check(all(driver.names.find(section, record.site) in counts
                          for record in whole), what + ': sites')
        missing += lost
    RESULTS.check(missing <= section.total_of('collided'),
                  what + ': records that never came',
                  [missing, section.total_of('collided')])


def test_losses(loader, folder):
    driver = drivers.Driver(loader, drivers.build_driver(folder, 'TracerTestD'))
    try:
        driver.install(RESULTS)

        # A small ring goes around many times; the tables go on counting.
        lines = driver.use(RESULTS, 'set=TracerRecords:200', 'start',
                           'work=4:20:100', 'counts', driver.dump_step())
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.equal(section.records_per_ring, 256, 'a ring of 256')
        RESULTS.check(section.total_of('reserved') > 100000, 'many records')
        check_wrapped(driver, section, counts, 'a small ring')
        for field in 'entries', 'calls':
            RESULTS.equal(drivers.count_statistics(section, driver.names,
                                                   field), counts, field)

        # Recording that is paused; calls that are left.
        lines = driver.use(RESULTS, 'stop', 'unset=TracerRecords', 'start',
                           'work=1:2:10', 'pause', 'work=1:3:20', 'resume',
                           'counts', driver.dump_step())
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.check(section.total_of('paused') > 600, 'paused')
        check_wrapped(driver, section, counts, 'paused')
        RESULTS.equal(drivers.count_statistics(section, driver.names,
                                               'entries')['Leaf'], 60,
                      'leaves that were recorded')

        lines = driver.use(RESULTS, 'stop', 'start', 'leave', 'leave', 'leave',
                           'counts', driver.dump_step())
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.equal(section.total_of('reserved'), totals(counts) - 3, 'left')
        RESULTS.equal(section.total_of('abandoned') + len(section.open), 3,
                      'calls that were left')
        RESULTS.equal({driver.names.find(section, call.site)
                       for call in section.open}, {'VeryDeep'},
                      'the one that was left last')

        # Tables that are too small.
        lines = driver.use(RESULTS, 'stop', 'set=TracerOpenCalls:0', 'start',
                           'work=2:2:10', 'counts', driver.dump_step(), 'stop',
                           'unset=TracerOpenCalls')
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.equal(drivers.count_statistics(section, driver.names,
                                               'entries'), counts, 'entries')
        RESULTS.equal(sum(function.calls for function in section.functions), 0,
                      'no call is timed')
    finally:
        driver.end()


def opened(lines):
    return [line.split()[1] for line in lines if line.startswith('open')]


def test_settings(loader, folder):
    driver = drivers.Driver(loader, drivers.build_driver(folder, 'TracerTestE'))
    try:
        driver.install(RESULTS)
        lines = driver.use(
            RESULTS, 'set=TracerEnabled:0', 'start', 'work=1:1:10', 'counts',
            'open=4', 'stop', 'unset=TracerEnabled',
            'text=TracerModules:other;-TracerTestE', 'start', 'work=1:1:10',
            'open=4', 'stop', 'text=TracerModules:other;tracertest', 'start',
            'work=1:1:10', 'open=4', 'stop', 'unset=TracerModules')
        RESULTS.equal(opened(lines), [NAME_NOT_FOUND, NAME_NOT_FOUND,
                                      '00000000'], 'left out, and not')
        RESULTS.equal(driver.counts(lines)[0]['Leaf'], 30,
                      'an untraced driver works')

        driver.use(RESULTS, 'set=TracerRecords:3', 'text=TracerFunctions:many',
                   'set=TracerOpenCalls:100', 'start', driver.dump_step(),
                   'stop', 'unset=TracerRecords', 'unset=TracerFunctions',
                   'unset=TracerOpenCalls')
        check_header(driver, driver.dumped(), 65536, 1024, 128)

        # Somebody holds the section of the driver that was unloaded.
        lines = driver.use(RESULTS, 'start', 'hold', 'stop', 'start',
                           'work=1:1:10', 'counts', 'stop')
        RESULTS.equal(driver.counts(lines)[0]['Leaf'], 30,
                      'a driver whose name is taken works')
        lines = driver.use(RESULTS, 'open=4', 'start', 'open=4', 'stop')
        RESULTS.equal(opened(lines), [NAME_NOT_FOUND, '00000000'],
                      'a name that is free again')
    finally:
        driver.end()


def test_starts(loader, folder):
    """Drivers that start the library themselves, and that fail to start."""
    driver = drivers.Driver(loader, drivers.build_driver(
        folder, 'TracerTestF', more=['-DSTARTS_ITSELF'], entry=False))
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'start', 'work=1:1:10', 'counts',
                           driver.dump_step(), 'stop', 'open=4')
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.equal(counts.pop('DriverEntry'), 1, 'started')
        RESULTS.equal(drivers.count_statistics(section, driver.names, 'calls'),
                      counts, 'calls behind the start')
        RESULTS.equal(section.total_of('unpaired'), 1, 'the exit of the start')
        RESULTS.equal(opened(lines), [NAME_NOT_FOUND], 'ended')
    finally:
        driver.end()

    driver = drivers.Driver(loader, drivers.build_driver(
        folder, 'TracerTestG', more=['-DFAILS']))
    try:
        driver.install(RESULTS)
        for _ in range(3):
            code, lines = driver.run('start')
            RESULTS.equal(code, 1, 'a driver that fails')
        RESULTS.equal(opened(driver.use(RESULTS, 'open=4')), [NAME_NOT_FOUND],
                      'nothing is left of a driver that fails')
    finally:
        driver.end()


def test_reload(loader, folder):
    """Unloaded and loaded again, in the long form a hundred times."""
    count = 100 if programs.LONG else 15
    driver = drivers.Driver(loader, drivers.build_driver(folder, 'TracerTestH'))
    try:
        driver.install(RESULTS)
        lines = driver.use(RESULTS, 'cycle=%d' % count)
        RESULTS.check('cycles %d' % count in lines, 'loaded again', lines)
        lines = driver.use(RESULTS, 'start', 'work=2:2:20', 'counts',
                           driver.dump_step(), 'stop', 'open=4')
        section, (counts, _) = driver.dumped(), driver.counts(lines)
        RESULTS.equal(counts['Leaf'], 240, 'a new image')
        check_records(driver, section, counts)
        check_pairs(driver, section)
        RESULTS.equal(opened(lines), [NAME_NOT_FOUND], 'ended')
    finally:
        driver.end()


# What Kernel/KernelOs.h says, compared with the kernel's own header.
LAYOUTS = r"""
#include <ntddk.h>
#define SAME(Type, Field, Offset) \
    _Static_assert(offsetof(Type, Field) == Offset, #Type "." #Field)
SAME(DRIVER_OBJECT, DriverUnload, 0x68);
SAME(MDL, Size, 8);
SAME(MDL, MdlFlags, 10);
SAME(MDL, Process, 16);
SAME(MDL, MappedSystemVa, 24);
SAME(MDL, StartVa, 32);
SAME(MDL, ByteCount, 40);
SAME(MDL, ByteOffset, 44);
_Static_assert(sizeof(MDL) == 48, "MDL");
SAME(KEY_VALUE_PARTIAL_INFORMATION, Type, 4);
SAME(KEY_VALUE_PARTIAL_INFORMATION, DataLength, 8);
SAME(KEY_VALUE_PARTIAL_INFORMATION, Data, 12);
SAME(KUSER_SHARED_DATA, SystemTime, 0x14);
_Static_assert(KeyValuePartialInformation == 2 && KernelMode == 0 &&
               IoModifyAccess == 2 && MmCached == 1 && ViewUnmap == 2 &&
               NormalPagePriority == 16 && KEY_READ == 0x20019 &&
               DPFLTR_IHVDRIVER_ID == 77 && ALL_PROCESSOR_GROUPS == 0xFFFF,
               "values");
"""


def test_layouts(folder):
    source = os.path.join(folder, 'Layouts.c')
    for text, wanted in ((LAYOUTS, 0), (LAYOUTS.replace('0x68', '0x60'), 1)):
        with open(source, 'w', encoding='ascii') as file:
            file.write(text)
        code, _ = programs.run([programs.GCC, '-fsyntax-only', '-I',
                                drivers.HEADERS, source],
                               stderr=open(os.devnull, 'wb'))
        RESULTS.equal(code, wanted, 'layouts of the kernel')


def main():
    with programs.Scratch() as folder:
        test_layouts(folder)
        loader = drivers.build_loader(folder)
        test_counts(loader, folder)
        test_shapes(loader, folder)
        test_functions(loader, folder)
        test_losses(loader, folder)
        test_settings(loader, folder)
        test_starts(loader, folder)
        test_reload(loader, folder)
    return RESULTS.finish()


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""export --format parquet, read by hyparquet and DuckDB.

Of made-up sessions every call is expected as trace_reader.py pairs it; of
traced ones the sums are those of report --csv, for each mode.
"""
# Takes long.

import collections
import csv
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CompactStores as compact                              # noqa: E402
import EventSupport as events                                # noqa: E402
import MadeStores as made                                    # noqa: E402
import ParquetSupport as parquet                             # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
from TestBadInput import mounted                             # noqa: E402
from TestMarks import MARK, START, STOP                      # noqa: E402
from StoreSupport import programs                            # noqa: E402

ENDED = {None: 'returned', 'abandoned': 'abandoned',
         'unfinished': 'unfinished'}


def expected_calls(session):
    """(thread, function, ended, start, duration, depth) of all calls."""
    calls = collections.Counter()
    for track, each in events.read_events(session)[0].items():
        thread, stack = int(track.split()[1].rstrip(',')), []
        for kind, function, time, mark in each:
            if kind == 'B':
                stack.append(time)
            else:
                start = stack.pop()
                calls[thread, function, ENDED[mark], start, time - start,
                      len(stack)] += 1
    return calls


def found_calls(rows):
    return collections.Counter(
        (row['thread'], row['function'].replace('\ufffd', '?'), row['ended'],
         row['start'], row['duration'], row['depth']) for row in rows)


def report(results, session, *arguments):
    """(module, function) -> what report --csv says of it."""
    code, text, errors = support.reader('report', '--csv', *arguments,
                                        programs.windows_path(session))
    results.equal(code, 0, 'report %s' % errors)
    sums = {}
    for row in csv.DictReader(io.StringIO(text)):
        each = sums.setdefault((row['module'], row['function']),
                               collections.Counter())
        each['rows'] += 1
        for name in ('calls', 'abandoned', 'unfinished', 'total_ns', 'self_ns',
                     'abandoned_time_ns'):
            each[name] += int(row[name] or 0)
        for name, choose in (('min_ns', min), ('max_ns', max)):
            if row[name]:
                each[name] = choose(each.get(name, int(row[name])),
                                    int(row[name]))
    return sums


def check_sums(results, exporter, session, what, *arguments, has_calls=True,
               **options):
    """The tables' sums are those of report.  Counts, minimum and maximum are
    exact; other times of a thread are rounded down to a nanosecond, and so
    are less than one for each row away."""
    files, _ = exporter.export(session, *arguments, **options)
    wanted = report(results, session)
    results.check(wanted, '%s: there are functions' % what)
    tables = dict(zip(files, [
        [row for table in exporter.engines.read(*paths) for row in table.rows]
        for paths in files.values()]))
    sums = {}
    for row in tables['functions']:
        each = sums.setdefault((row['module'], row['function']),
                               collections.Counter())
        each['rows'] += 1
        for name in ('calls', 'abandoned', 'unfinished', 'total', 'self',
                     'abandoned_time'):
            each[name] += row[name]
        if row['calls'] != row['abandoned']:
            each['minimum'] = min(each.get('minimum', row['minimum']),
                                  row['minimum'])
            each['maximum'] = max(each.get('maximum', row['maximum']),
                                  row['maximum'])
        counted = sum(row['bucket_calls'])
        if row['in_trees'] == 0 and counted != row['calls'] - row['abandoned']:
            each['bad histogram'] += 1
        if row['bucket'] != sorted(set(row['bucket'])) or (
                counted and not row['maximum'] <= row['bucket'][-1]):
            each['bad buckets'] += 1
    wrong = compare(wanted, sums)
    results.check(not wrong, '%s: functions' % what, wrong)
    control = {name: each.copy() for name, each in sums.items()}
    next(iter(control.values()))['calls'] += 1
    results.check(compare(wanted, control), '%s: control' % what)
    if not has_calls:
        return files, tables
    sums = collections.defaultdict(collections.Counter)
    for row in tables['calls']:
        each = sums[row['module'], row['function']]
        each['calls'] += 1
        each['abandoned'] += row['ended'] == 'abandoned'
        each['unfinished'] += row['ended'] == 'unfinished'
        if row['ended'] != 'abandoned':
            each['minimum'] = min(each.get('minimum', row['duration']),
                                  row['duration'])
            each['maximum'] = max(each.get('maximum', row['duration']),
                                  row['duration'])
    wrong = [(name, each, sums[name]) for name, each in wanted.items()
             if any(each[field] != sums[name][field] for field in
                    ('calls', 'abandoned', 'unfinished')) or
             ('min_ns' in each and (each['min_ns'], each['max_ns']) !=
              (sums[name]['minimum'], sums[name]['maximum']))]
    results.check(not wrong and len(sums) == len(wanted),
                  '%s: calls' % what, wrong)
    return files, tables


def compare(wanted, sums):
    wrong = []
    for name in {*wanted, *sums}:
        one = wanted.get(name, collections.Counter())
        other = sums.get(name, collections.Counter())
        rows = one['rows'] + other['rows']
        if (any(one[field] != other[field] for field in
                ('calls', 'abandoned', 'unfinished')) or
                any(abs(one[left] - other[right]) >= rows for left, right in
                    (('total_ns', 'total'), ('self_ns', 'self'),
                     ('abandoned_time_ns', 'abandoned_time'))) or
                (one.get('min_ns'), one.get('max_ns')) !=
                (other.get('minimum'), other.get('maximum')) or
                other['bad histogram'] or other['bad buckets']):
            wrong.append((name, dict(one), dict(other)))
    return wrong


#
# Made-up sessions.
#

def check_made_up(results, exporter, session):
    wanted = expected_calls(session)
    results.check({how for _, _, how, *_ in wanted} == set(ENDED.values()),
                  'made-up: calls end in all ways')
    read = exporter.engines.read
    for arguments in ((), ('--encoding', 'plain'), ('--general',)):
        what = 'made-up %s' % ' '.join(arguments)
        files, _ = exporter.export(session, *arguments)
        results.equal(sorted(files), ['calls', 'functions', 'marks'], what)
        calls, functions, marks = (read(*files[name])[0]
                                   for name in parquet.TABLES)
        found = found_calls(calls.rows)
        results.check(found == wanted, '%s: every call' % what,
                      [*((found - wanted).items()),
                       *((wanted - found).items())])
        for name, table in (('calls', calls), ('functions', functions)):
            wrong = table.wrong_statistics()
            results.check(not wrong, '%s: statistics of %s' % (what, name),
                          wrong)
        encodings = {each for group in calls.groups
                     for column in group['columns']
                     for each in column['encodings']}
        results.equal('DELTA_BINARY_PACKED' in encodings,
                      'plain' not in arguments, '%s: encodings' % what)
        results.equal(marks.number, 0, '%s: no marks' % what)
    if exporter.engines.has_duckdb:
        found, = exporter.engines.sql(
            "select thread, function, ended, start, duration, depth from '%s'"
            % files['calls'][0])
        found = collections.Counter(
            (row[0], row[1].replace('\ufffd', '?'), *row[2:])
            for row in found)
        results.check(found == wanted, 'made-up: every call, by DuckDB')
        found, = exporter.engines.sql(
            "select sum(list_sum(bucket_calls)), sum(calls - abandoned) "
            "from '%s'" % files['functions'][0])
        results.equal(found[0][0], found[0][1], 'made-up: DuckDB, lists')

    #
    # What is left out of the calls, and of both.
    #

    files, said = exporter.export(session, '--min-duration', '300', '--depth',
                                  '3')
    found = found_calls(read(files['calls'][0])[0].rows)
    results.check(found == collections.Counter(
        {call: number for call, number in wanted.items()
         if call[4] >= 300 and call[5] < 3}) and 'left out' in said,
        'made-up: --min-duration, --depth', [said])
    files, said = exporter.export(session, '--function', 'Outer,Map', '--tables',
                                  'calls')
    results.equal(sorted(files), ['calls'], 'made-up: --tables')
    found = found_calls(read(files['calls'][0])[0].rows)
    results.check(found == collections.Counter(
        {call: number for call, number in wanted.items()
         if call[1].startswith(('Outer', 'Map'))}), 'made-up: --function')


def check_range(results, exporter, session):
    """A range: report has the same one."""
    times = sorted(start for _, _, _, start, *_ in expected_calls(session))
    arguments = ('--from', str(times[len(times) // 3]), '--to',
                 str(times[len(times) * 2 // 3]))
    files, _ = exporter.export(session, *arguments)
    rows = exporter.engines.read(files['calls'][0])[0].rows
    wanted = report(results, session, *arguments)
    found = collections.Counter((row['module'], row['function'])
                                for row in rows)
    results.equal({name: each['calls'] for name, each in wanted.items()},
                  dict(found), 'a range: calls')


PART = 256 << 10


def make_many(folder, count, name='many'):
    """A session of 2 * count calls in pairs, ten nanoseconds a pair."""
    os.makedirs(os.path.join(folder, name))
    outer, inner = filters.FIRST, filters.FIRST + filters.STEP
    top = made.TOP - 0x100
    body = b''.join(
        made.record(time, outer, top, made.ENTER) +
        made.record(time + 1, inner, top - 0x40, made.ENTER) +
        made.record(time + 3, inner + 9, top - 0x40, made.EXIT) +
        made.record(time + 6, outer + 9, top, made.EXIT)
        for time in range(1000, 1000 + 10 * count, 10))
    return filters.make_session(os.path.join(folder, name),
                                ['Outer', 'Inner'], [[body]])


def check_many(results, exporter, scratch):
    """More than one row group, and more than one file, of bounded size."""
    count = 1200000
    session = make_many(scratch, count // 2)

    # Event by event, and number by number instead of four at a time: the same
    # bytes.
    several = []
    for arguments in (), ('--general',), ('--encoding', 'plain'):
        files, _ = exporter.export(session, *arguments)
        several.append([open(files[table][0], 'rb').read()
                        for table in ('calls', 'functions')])
    results.check(several[0] == several[1], 'many --general: bytes')
    results.check(several[0][0] != several[2][0] and
                  len(several[0][0]) > 1000000, 'many: other bytes')

    for arguments in (), ('--split-size', str(PART)):
        what = 'many %s' % ' '.join(arguments)
        files, _ = exporter.export(session, '--tables', 'calls', *arguments)
        tables = exporter.engines.read(*files['calls'], all_rows=False)
        groups = [group for table in tables for group in table.groups]
        rows = [group['rows'] for group in groups]
        if not arguments:
            results.equal((len(files['calls']), rows),
                          (1, [1 << 20, count - (1 << 20)]),
                          '%s: row groups' % what)
        else:

            # A page of 8,192 rows may be the one too many, and the footer.
            sizes = list(map(os.path.getsize, files['calls']))
            results.check(len(sizes) == len(rows) > 3 and
                          max(sizes) < PART + 40000 and
                          min(sizes[:-1]) > PART and sum(rows) == count and
                          not any(number % 8192 for number in rows[:-1]),
                          '%s: files' % what, [sizes, rows])

        #
        # Of two calls the inner one ends first; row groups begin with one.
        #

        first = 0
        for group in groups:
            said = {column['path_in_schema'][0]: column['statistics']
                    for column in group['columns']}
            last = first + group['rows'] - 1
            results.equal(
                [(said[name]['min_value'], said[name]['max_value'])
                 for name in ('start', 'duration', 'depth', 'function')],
                [(first // 2 * 10, last // 2 * 10 + 1), (2, 6), (0, 1),
                 ('Inner', 'Outer')], '%s: statistics' % what)
            first += group['rows']
        if exporter.engines.has_duckdb:
            found, = exporter.engines.sql(
                "select function, thread, ended, depth, duration, count(*), "
                "count(distinct start), min(start %% 10), max(start %% 10), "
                "min(start), max(start) from read_parquet([%s]) group by all "
                "order by all" % ', '.join(repr(path)
                                           for path in files['calls']))
            half = count // 2
            results.equal(found, [
                ['Inner', 1, 'returned', 1, 2, half, half, 1, 1, 1,
                 10 * half - 9],
                ['Outer', 1, 'returned', 0, 6, half, half, 0, 0, 0,
                 10 * half - 10]], '%s: rows' % what)
    return session


def rows_of(exporter, dataset):
    """(table -> rows of all its files, how many calls come twice, errors)."""
    names = [name for name in parquet.files(dataset)
             if name.endswith('.parquet')]
    tables = exporter.engines.read(*(os.path.join(dataset, name)
                                     for name in names), all_rows=False)
    rows, spans = collections.Counter(), []
    for name, table in zip(names, tables):
        rows[name.split(os.sep)[0]] += table.number or 0
        for group in table.groups:
            for column in group['columns']:
                if name.startswith('calls') and \
                        column['path_in_schema'] == ['start']:
                    spans.append((column['statistics']['min_value'],
                                  column['statistics']['max_value']))
    spans.sort()
    return dict(rows), sum(high > low for (_, high), (low, _) in
                           zip(spans, spans[1:])), [
        table.error for table in tables if table.error]


def check_killed(results, exporter, scratch, session):
    """An export that is killed, at any time, leaves what was there before or
    a beginning of what there will be, whole and not twice; one that comes
    after it puts everything right.  The parts of before are of another size,
    so that an old one beside a new one would have calls of it."""
    dataset = os.path.join(scratch, 'killed')
    common = ['--host', 'h', '--tables', 'calls,functions,marks',
              '--split-size']
    wanted = {'calls': 1200000, 'functions': 2}
    moments = set()
    for attempt in range(14):
        size = str((PART, PART * 3 // 4, PART * 3)[attempt % 3])
        before = {}
        process = subprocess.Popen(
            [programs.WINE, programs.READER, 'export', '--format', 'parquet',
             '--append', programs.windows_path(dataset), *common, size,
             programs.windows_path(session)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

        # Every other one while it writes, the others while it gives names.
        def look():
            names = {name for name in parquet.files(dataset)
                     if name.endswith('.parquet')}
            parts = {name: os.stat(os.path.join(dataset, name)).st_ino
                     for name in names
                     if os.path.exists(os.path.join(dataset, name))}
            before.setdefault('parts', parts)
            return parts != before['parts'] or attempt % 2 == 0 and any(
                name.endswith('.tmp') for name in parquet.files(dataset))

        end = time.monotonic() + 300
        while process.poll() is None and not look() and \
                time.monotonic() < end:
            pass
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        rows, twice, errors = rows_of(exporter, dataset)
        moments.add((rows.get('calls'), rows.get('functions')))
        results.check(not errors and twice == 0 and
                      all(rows[name] <= wanted[name] for name in rows
                          if name in wanted),
                      'killed: whole, and not twice', [rows, twice, errors])
        if attempt % 5 == 4 or not rows.get('functions'):
            exporter.append(dataset, session, *common, size)
            rows, twice, errors = rows_of(exporter, dataset)
            results.equal((rows, twice, errors),
                          ({**wanted, 'marks': 0}, 0, []),
                          'killed: then all of it')
    print('killed, left: %s' % sorted(moments, key=str))

    #
    # With larger files there are less, and the older parts must go.
    #

    exporter.append(dataset, session, *common, '16M')
    results.equal((len(parquet.files(dataset)), rows_of(exporter, dataset)),
                  (3, ({**wanted, 'marks': 0}, 0, [])),
                  'parts of before are gone')


def check_steps(results, exporter, scratch, session):
    """Each step at which files get their names fails once: a folder is where
    one is to be.  What has a name then is a beginning, and of one export."""
    common = ['--host', 'h', '--tables', 'calls', '--split-size']
    dataset = os.path.join(scratch, 'steps')
    exporter.append(dataset, session, *common, str(PART))
    first, = (name for name in parquet.files(dataset) if '-2.' not in name and
              not any('-%d.parquet' % part in name for part in range(2, 99)))
    number = len(parquet.files(dataset))
    results.check(number > 3, 'steps: parts', parquet.files(dataset))
    for step in range(1, number + 1):
        shutil.rmtree(dataset)
        exporter.append(dataset, session, *common, str(PART * 3 // 4))
        paths = [os.path.join(dataset, first if part == 1 else first.replace(
            '.parquet', '-%d.parquet' % part)) for part in range(1, 99)]
        path = paths[step - 1]
        for other in paths[step - 1:]:
            if os.path.exists(other):
                os.remove(other)
        os.makedirs(os.path.join(path, 'in the way'))
        exporter.append(dataset, session, *common, str(PART), code=1)
        shutil.rmtree(path)
        rows, twice, errors = rows_of(exporter, dataset)
        names = [name for name in parquet.files(dataset)
                 if not name.endswith('.parquet')]
        results.check(twice == 0 and errors == [] and names == [] and
                      len(parquet.files(dataset)) == step - 1 and
                      (step == 1) == (not rows.get('calls')) and
                      rows.get('calls', 0) < 1200000,
                      'steps: %d' % step, [rows, twice, errors, names])
        exporter.append(dataset, session, *common, str(PART))
        results.equal((len(parquet.files(dataset)),
                       rows_of(exporter, dataset)),
                      (number, ({'calls': 1200000}, 0, [])),
                      'steps: after %d' % step)


def check_full(results, exporter, scratch, session):
    """A full disk: the file is named, and nothing is left."""
    with mounted(os.path.join(scratch, 'disk'), 'size=1m') as disk:
        if disk is None:
            results.skip('no file system may be mounted')
            return
        dataset = os.path.join(disk, 'dataset')
        errors = exporter.append(dataset, session, '--host', 'h', '--tables',
                                 'calls,functions', code=1)
        results.check(errors.count('TraceReader:') == 1 and
                      'the disk is full' in errors and
                      '.calls' not in errors and 'host=h' in errors,
                      'a full disk: said', [errors])
        results.equal(parquet.files(dataset), [], 'a full disk: no file')


def check_marks(results, exporter, scratch):
    """Marks, and a pause inside of calls."""
    folder = os.path.join(scratch, 'marks')
    os.makedirs(folder)
    top = made.TOP - 0x100
    session = filters.make_session(folder, ['A', 'B'], [[
        (1000, filters.FIRST, top, made.ENTER),
        (1100, filters.FIRST + filters.STEP, top - 64, made.ENTER),
        (1150, filters.FIRST + filters.STEP + 9, top - 64, made.EXIT),
        (2100, filters.FIRST + filters.STEP, top - 64, made.ENTER),
        (2150, filters.FIRST + filters.STEP + 9, top - 64, made.EXIT),
        (2300, filters.FIRST + 9, top, made.EXIT)]])
    marks = [(MARK, 1040, b'request 7', 1), (STOP, 1200, b'', 0),
             (START, 2000, b'', 0), (MARK, 2050, 'Gr\u00fc\u00dfe'.encode(), 1)]
    support.write_control(session, marks)
    files, _ = exporter.export(session)
    calls, found = exporter.engines.read(files['calls'][0], files['marks'][0])
    results.equal([(row['time'], row['thread'], row['name'])
                   for row in found.rows if row['thread']],
                  [(40, 1, 'request 7'), (1050, 1, 'Gr\u00fc\u00dfe')], 'marks')
    results.equal(sorted((row['function'], row['start'], row['duration'])
                         for row in calls.rows),
                  [('A', 0, 500), ('B', 100, 50), ('B', 1100, 50)],
                  'a pause is in no call')


#
# Traced programs.
#

def check_traced(results, exporter, scratch):
    """Each mode, several processes, two modules, abandoned calls."""
    busy = support.build_busy(os.path.join(scratch, 'busy'))
    runs = {}
    for mode in 'file', 'ring', 'tree', 'compact', 'compact-ring':
        runs[mode] = (busy, ['run', '2', '300', programs.PAUSE],
                      {'TRACER_MODE': mode, **(
                          {'TRACER_MAX_BYTES': '1M'} if 'ring' in mode
                          else {})})
    source = os.path.join(programs.PROGRAMS, 'TwoModules.c')
    folder = os.path.join(scratch, 'two')
    program = programs.build(folder, [source], programs.PENTER_FLAGS,
                             'TwoModules.exe', [programs.LIBRARY])
    programs.build(os.path.join(folder, 'dll'), [source],
                   ['-DPLUGIN', *programs.PENTER_FLAGS], 'Plugin.dll',
                   [programs.LIBRARY, '-shared'])
    runs['two modules'] = (program, [programs.windows_path(
        os.path.join(folder, 'dll', 'Plugin.dll'))], {})
    program = programs.build(
        os.path.join(scratch, 'processes'),
        [os.path.join(programs.PROGRAMS, 'Processes.c')],
        programs.PENTER_FLAGS, 'Processes.exe', [programs.LIBRARY])
    runs['processes'] = (program, ['0', '10', '0'], {
        'PROCESSES_FILE': programs.windows_path(os.path.join(scratch,
                                                             'told.txt'))})
    for name, (program, arguments, variables) in runs.items():
        directory = os.path.join(scratch, 'traces-' + name.replace(' ', '-'))
        os.makedirs(directory)
        cwd = os.path.join(directory, 'run')
        for below in ('one', 'two', 'one/deep', 'two/deep'):
            os.makedirs(os.path.join(cwd, below))
        traces = os.path.join(directory, 'traces')
        code, _ = support.run(program, *arguments, directory=traces, cwd=cwd,
                              leaves=[scratch], **variables)
        sessions = support.sessions(traces)
        if not results.check(code == 0 and sessions, 'tracing %s' % name,
                             [code, sessions]):
            continue
        session = traces if name == 'processes' else sessions[0]
        _, tables = check_sums(results, exporter, session, name,
                               has_calls=name != 'tree')
        if name == 'tree':
            results.check(tables['calls'] == [] and all(
                row['in_trees'] == row['calls']
                for row in tables['functions']), 'tree: in trees')
        if name == 'processes':
            results.equal(len({row['session']
                               for row in tables['functions']}),
                          len(sessions), 'processes: sessions')
            dataset = os.path.join(scratch, 'farm')
            for _ in range(2):
                exporter.append(dataset, session, '--host', 'h', '--tables',
                                'calls,functions')
            rows = [row for table in exporter.engines.read(*(
                os.path.join(dataset, path)
                for path in parquet.files(dataset))) for row in table.rows]
            results.equal(
                len(parquet.files(dataset)), 2 * len(sessions),
                'processes: a file for each')
            results.equal(
                (sum('depth' in row for row in rows),
                 sum(row.get('calls', 0) for row in rows)),
                (len(tables['calls']), len(tables['calls'])),
                'processes: appended twice, counted once')
        if name == 'two modules':
            results.equal({row['module'] for row in tables['calls']},
                          {'TwoModules.exe', 'Plugin.dll'},
                          'two modules: both')


def check_append(results, exporter, scratch, session):
    """A dataset: the same session twice counts once; two hosts are two; names
    of hosts are escaped; a killed export leaves no broken file."""
    dataset = os.path.join(scratch, 'dataset')
    wanted = sum(expected_calls(session).values())
    hosts = ['plain', 'quo\'te 100%', 'x/../y=z', 'Gr\u00fc\u00dfe']
    for host in hosts:
        for _ in range(2):
            exporter.append(dataset, session, '--host', host, '--tables',
                            'calls,functions,marks')
    found = parquet.files(dataset)
    results.check(len(found) == 3 * len(hosts) and
                  all(name.endswith('.parquet') and name.count('/') == 4
                      for name in found), 'dataset: files', found)
    results.check(any('host=quo%27te 100%25' in name for name in found) and
                  any('host=x%2F..%2Fy%3Dz' in name for name in found),
                  'dataset: names', found)
    if exporter.engines.has_duckdb:
        found, = exporter.engines.sql(
            "select host, program, count(*), count(distinct session) from "
            "read_parquet('%s/calls/**/*.parquet', hive_partitioning=true) "
            "group by all order by all" % dataset)
        results.equal(sorted(found), sorted(
            [host, 'made-up.exe', wanted, 1] for host in hosts),
            'dataset: DuckDB')
        found, = exporter.engines.sql(
            "select count(*) from read_parquet('%s/calls/**/*.parquet', "
            "hive_partitioning=true) where host = 'plain'" % dataset)
        results.equal(found, [[wanted]], 'dataset: one host')
    for table in exporter.engines.read(*(
            os.path.join(dataset, name) for name in parquet.files(dataset))):
        results.check(table.error is None and
                      {row['host'] for row in table.rows} <= set(hosts),
                      'dataset: hyparquet', [table.error])


def check_bad(results, exporter, scratch, session):
    for arguments, word in (
            (['--append', 'x', '-o', 'y'], 'exclude each other'),
            (['-o', 'y', '--tables', 'call'], '--tables'),
            (['-o', 'y', '--gzip'], '--gzip'),
            (['-o', 'y', '--encoding', 'zip'], '--encoding')):
        code, text, errors = support.reader(
            'export', '--format', 'parquet', *arguments,
            programs.windows_path(session))
        results.check(code == 1 and text == '' and word in errors,
                      'refused: %s' % arguments, [code, errors])
    code, _, errors = support.reader(
        'export', '--format', 'chrome', '--append', 'x',
        programs.windows_path(session))
    results.check(code == 1 and 'parquet' in errors,
                  'refused: --append of chrome', [code, errors])

    #
    # Where a file cannot be: nothing is left.
    #

    folder = os.path.join(scratch, 'bad')
    os.makedirs(os.path.join(folder, 'out.calls.parquet'))
    code, _, errors = support.reader(
        'export', '--format', 'parquet', '-o',
        programs.windows_path(os.path.join(folder, 'out.parquet')),
        programs.windows_path(session))
    results.check(code == 1 and 'directory' in errors and
                  os.listdir(folder) == ['out.calls.parquet'],
                  'a directory in the way', [code, errors,
                                             os.listdir(folder)])

    #
    # A damaged store: what can be read is there.
    #

    damaged = os.path.join(scratch, 'damaged')
    shutil.copytree(session, damaged)
    path = sorted(support.stores(damaged))[0]
    with open(path, 'r+b') as file:
        file.seek(-16 * 40, 2)
        file.write(os.urandom(64))
    check_sums(results, exporter, damaged, 'damaged')


def check_empty(results, exporter, scratch):
    """No call: tables without rows."""
    folder = os.path.join(scratch, 'empty')
    os.makedirs(folder)
    session = filters.make_session(folder, ['Never'], [[]])
    code, _, errors = support.reader(
        'export', '--format', 'parquet', '-o',
        programs.windows_path(os.path.join(folder, 'out.parquet')),
        programs.windows_path(session))
    names = [name for name in os.listdir(folder) if name.endswith('.parquet')]
    results.equal((code, len(names)), (0, 3), 'no calls %s' % errors)
    for table in exporter.engines.read(*(os.path.join(folder, name)
                                         for name in sorted(names))):
        results.check(table.error is None and table.number == 0 and
                      table.columns, 'no calls: a table', [table.error])


def main():
    results = programs.Results()
    if not support.has_reader():
        results.skip('there is no TraceReader')
        return results.finish()
    engines = parquet.Engines()
    if not engines.has_any:
        results.skip('hyparquet cannot be had')
        return results.finish()
    if not engines.has_duckdb:
        results.skip('DuckDB cannot be had')
    numbers = random.Random(20)
    with programs.Scratch() as scratch:
        exporter = parquet.Exporter(results, engines, scratch)
        session = events.make_session(os.path.join(scratch, 'made'), [
            events.random_records(numbers, 2500, 1000 + 50 * thread,
                                  fibers=3 * (thread == 1))
            for thread in range(3)])
        check_made_up(results, exporter, session)
        check_range(results, exporter, session)
        check_sums(results, exporter, session, 'made-up')
        check_sums(results, exporter,
                   compact.convert(session, os.path.join(scratch, 'compact')),
                   'made-up, compact')
        check_append(results, exporter, scratch, session)
        check_bad(results, exporter, scratch, session)
        check_empty(results, exporter, scratch)
        check_marks(results, exporter, scratch)
        many = check_many(results, exporter, scratch)
        check_killed(results, exporter, scratch, many)
        check_steps(results, exporter, scratch, many)
        check_full(results, exporter, scratch, many)
        check_traced(results, exporter, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

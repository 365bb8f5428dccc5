#!/usr/bin/env python3
"""TracerSqlite.dll and TraceReader sql, in SQLite from the distribution's source.

Sums by SQL are those of report, tree and replay, for each kind of store and for
several processes; the places of SQLite's routines are those of its own header;
constraints change nothing but the time it takes; failures are SQL errors.
A program that uses SQLite (SqlHost.c) makes each allocation fail, interrupts
statements, runs several at a time, and leaves them half way.
"""

# Takes long.

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
import SqlSupport as sql                                     # noqa: E402
import StoreSupport as support                               # noqa: E402
import trace_reader                                          # noqa: E402

NUMBERS = ['calls', 'total', 'self', 'average', 'minimum', 'maximum',
           'abandoned', 'unfinished', 'waited']
TIMES = {'total', 'self', 'average', 'minimum', 'maximum', 'waited'}

WITH_ENDS = 'start, thread_id, depth, function, duration, self, abandoned'

# Without what only a call's events tell: these are read many at a time.
AT_ONCE = ('thread_id, function, count(*), sum(start), sum(duration), '
           'sum(depth), sum(depth * start % 1009), sum(abandoned), '
           'sum(unfinished), sum(uncertain), sum(begun_before), sum(fiber)')


def read_csv(*arguments):
    code, text = programs.trace_reader(*arguments)
    if code != 0:
        raise RuntimeError('TraceReader %s: exit code %d' % (arguments, code))
    return list(csv.DictReader(io.StringIO(text)))


def ask(results, what, *statements):
    """The rows of each statement, without heads."""
    rows, errors = sql.shell(statements)
    results.check(errors == '' and len(rows) == len(statements),
                  what + ': no error', errors.splitlines())
    return rows if len(rows) == len(statements) else [[]] * len(statements)


#
# The routines' places.
#

def check_places(results, scratch, folder=sql.FOLDER):
    """Each against SQLite's header; one that a version does not have is one of
    those that come with SQL_VERSION_OF_IN."""
    with open(os.path.join(programs.ROOT, 'Reader', 'Sql', 'SqlApi.h'),
              encoding='utf-8') as file:
        header = file.read()
    numbers = dict(re.findall(r'#define (SQL_PLACE_\w+)\s+(\d+)', header))
    with open(os.path.join(folder, 'sqlite3.h'), encoding='utf-8') as file:
        version = int(re.search(r'#define SQLITE_VERSION_NUMBER +(\d+)',
                                file.read()).group(1))
    of_in = int(re.search(r'#define SQL_VERSION_OF_IN +(\d+)',
                          header).group(1))
    places = [(name, int(numbers.get(place, place))) for name, place in
              re.findall(r'ENTRY\(SQL_\w+, (\w+), (\w+)\)', header)
              if version >= of_in or not name.startswith('vtab_in')]
    source = os.path.join(scratch, 'places.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <stddef.h>\n#include <stdio.h>\n'
                   '#include "sqlite3ext.h"\nint main(void) {\n')
        for name, _ in places:
            file.write('printf("%s %%d\\n", (int)(offsetof(struct '
                       'sqlite3_api_routines, %s) / 8));\n' % (name, name))
        for structure in ('sqlite3_index_info', 'sqlite3_vtab',
                          'sqlite3_index_constraint', 'sqlite3_module'):
            file.write('printf("%s %%d\\n", (int)sizeof(%s));\n' % (
                structure, {'sqlite3_index_constraint':
                            'struct sqlite3_index_constraint'}.get(
                                structure, structure)))
        file.write('}\n')
    program = os.path.join(scratch, 'places')
    subprocess.run(['cc', '-w', '-I', folder, source, '-o', program],
                   check=True)
    seen = dict(line.split() for line in subprocess.run(
        [program], check=True, capture_output=True,
        text=True).stdout.splitlines())
    results.check(len(places) > 20, 'places: some', places)
    for name, place in places:
        results.equal(int(seen[name]), place, 'the place of ' + name)
    results.equal((seen['sqlite3_index_info'], seen['sqlite3_vtab'],
                   seen['sqlite3_index_constraint']), ('96', '24', '12'),
                  'sizes')


#
# Sums.
#

def describe(row, columns):
    return tuple(int(row[name] or 0) for name in columns)


def check_functions(results, session, what, least=6):
    """trace_functions is report, number by number."""
    columns = [{'minimum': 'min', 'maximum': 'max'}.get(name, name) +
               ('_ns' if name in TIMES else '') for name in NUMBERS]
    expected = {}
    for row in read_csv('report', '--all-runs', '--by', 'process', '--csv',
                        programs.windows_path(session)):
        key = row['process_id'] if row.get('process_id') else '', \
            row['module'], row['function']
        expected.setdefault(key, []).append(describe(row, columns))
    rows, = ask(results, what,
                'SELECT process_id, module, function, %s FROM '
                'trace_functions(%s)' % (', '.join(NUMBERS),
                                         sql.quote(session)))
    several = any(key[0] for key in expected)
    seen = {}
    for row in rows:
        key = row[0] if several else '', row[1], row[2]
        seen.setdefault(key, []).append(
            tuple(int(cell or 0) for cell in row[3:]))
    results.equal({key: sorted(value) for key, value in seen.items()},
                  {key: sorted(value) for key, value in expected.items()},
                  what + ': trace_functions') if len(expected) < 3 else \
        results.check({key: sorted(value) for key, value in seen.items()} ==
                      {key: sorted(value) for key, value in expected.items()},
                      what + ': trace_functions',
                      [(key, seen.get(key), value) for key, value in
                       expected.items() if seen.get(key) != value])
    results.check(len(expected) >= least, what + ': functions')
    return expected


def check_calls(results, session, what, expected):
    """Single calls add up to the same: each one's time is rounded down."""
    path = sql.quote(session)
    rows, ordered, plain, total, fast, slow, late, some = ask(
        results, what,
        'SELECT function, count(*), sum(self), sum(abandoned), '
        'sum(unfinished) FROM trace_calls(%s) GROUP BY function' % path,
        'SELECT %s FROM trace_calls(%s) ORDER BY start' % (WITH_ENDS, path),
        'SELECT %s FROM trace_calls(%s)' % (WITH_ENDS, path),
        'SELECT count(*) FROM trace_calls(%s)' % path,
        'SELECT %s FROM trace_calls(%s) GROUP BY 1, 2' % (AT_ONCE, path),
        'SELECT %s, sum(self) FROM trace_calls(%s) GROUP BY 1, 2' % (AT_ONCE,
                                                                     path),
        'SELECT count(*) FROM trace_calls(%s) WHERE start >= (SELECT '
        'avg(start) FROM trace_calls(%s))' % (path, path),
        'SELECT count(*) FROM trace_calls(%s) WHERE start + 0 >= (SELECT '
        'avg(start) FROM trace_calls(%s))' % (path, path))
    results.check(fast and sorted(fast) == sorted(row[:-1] for row in slow),
                  what + ': many at a time, and one by one',
                  [len(fast), len(slow)])
    results.equal(late, some, what + ': from a time on')
    sums = {}
    for (_, _, function), several in expected.items():
        for numbers in several:
            one = dict(zip(NUMBERS, numbers))
            there = sums.setdefault(function, [0, 0, 0, 0])
            for index, name in enumerate(('calls', 'abandoned', 'unfinished')):
                there[index] += one[name]
            there[3] += one['self']
    results.check({row[0]: [int(row[1]), int(row[3]), int(row[4])]
                   for row in rows} ==
                  {name: numbers[:3] for name, numbers in sums.items()},
                  what + ': calls by function')
    found = [row for row in rows if not sums[row[0]][1] and not
             0 <= sums[row[0]][3] - int(row[2]) <= int(row[1])]
    results.check(not found, what + ': self by function', found)
    starts = [int(row[0]) for row in ordered]
    results.check(starts == sorted(starts), what + ': the order of start')
    results.check(sorted(ordered) == sorted(plain) and ordered,
                  what + ': with and without order')
    results.equal(int(total[0][0]), len(plain), what + ': count')
    return ordered


def check_constraints(results, session, what, ordered):
    """What a constraint leaves is what a filter in Python does."""
    path = sql.quote(session)
    threads = sorted({row[1] for row in ordered})
    names = sorted({row[3] for row in ordered})
    low, high = (int(ordered[len(ordered) * part // 5][0]) for part in (2, 3))
    tests = [
        ('thread_id = ' + threads[0], lambda row: row[1] == threads[0]),
        ("function = '%s'" % names[0], lambda row: row[3] == names[0]),
        ("function IN ('%s', '%s', 'none')" % (names[0], names[-1]),
         lambda row: row[3] in (names[0], names[-1])),
        ("function GLOB '*e*'", lambda row: 'e' in row[3]),
        ("function LIKE 's%'", lambda row: row[3][:1] in 'sS'),
        ('start >= %d AND start < %d' % (low, high),
         lambda row: low <= int(row[0]) < high),
        ('start BETWEEN %d.5 AND %d.5' % (low, high),
         lambda row: low < int(row[0]) <= high),
        ('start > %d AND function = \'%s\'' % (low, names[-1]),
         lambda row: int(row[0]) > low and row[3] == names[-1]),
        ('start = ' + str(low), lambda row: int(row[0]) == low),
        ('thread_id = NULL', lambda row: False),
        ("session = 'none'", lambda row: False),
        ('start < 0', lambda row: False),
    ]
    for order in '', ' ORDER BY start':
        for (text, keep), rows in zip(tests, ask(
                results, what, *('SELECT %s FROM trace_calls(%s) WHERE %s%s' %
                                 (WITH_ENDS, path, text, order)
                                 for text, _ in tests))):
            wanted = [row for row in ordered if keep(row)]
            results.check(sorted(rows) == sorted(wanted),
                          '%s: %s%s' % (what, text, order),
                          [len(rows), len(wanted)])


def check_nodes(results, session, what):
    """trace_nodes is tree --per-thread."""
    expected = sorted((row['function'], int(row['depth']), int(row['calls']),
                       int(row['self_ns']))
                      for row in read_csv('tree', '--per-thread', '--all-runs',
                                          '--csv',
                                          programs.windows_path(session)))
    rows, = ask(results, what, 'SELECT function, depth, calls, self FROM '
                'trace_nodes(%s)' % sql.quote(session))
    results.check(sorted((row[0], *map(int, row[1:])) for row in rows) ==
                  expected and expected, what + ': trace_nodes')


def check_records(results, session, what):
    path = sql.quote(session)
    (count,), (sums,), some = ask(
        results, what, 'SELECT count(*) FROM trace_records(%s)' % path,
        'SELECT sum(records) FROM trace_threads(%s)' % path,
        'SELECT time FROM trace_records(%s)' % path)
    results.equal(count, sums, what + ': records')
    results.equal(int(count[0]), len(some), what + ': rows of records')
    times = sorted(int(row[0]) for row in some)
    low, high = times[len(times) // 3], times[len(times) // 2]
    (inside,), = ask(results, what, 'SELECT count(*) FROM trace_records(%s) '
                     'WHERE time BETWEEN %d AND %d' % (path, low, high))
    results.equal(int(inside[0]), sum(low <= time <= high for time in times),
                  what + ': records in a range')


def check_counts(results, session, what):
    """Rows of which no column is asked for are passed over many at a time; each
    is one all the same."""
    path = sql.quote(session)
    for table, column in ('trace_calls', 'start'), ('trace_records', 'ticks'):
        one_by_one, counted, rows, twice, part, one = ask(
            results, what,
            'SELECT count(%s) FROM %s(%s)' % (column, table, path),
            'SELECT count(*), count(path), count(DISTINCT path) FROM %s(%s)' %
            (table, path),
            'SELECT count(DISTINCT rowid), max(rowid) - min(rowid) + 1 FROM '
            '%s(%s)' % (table, path),
            'SELECT count(*) FROM (SELECT 1 UNION ALL SELECT 2) CROSS JOIN '
            '%s(%s)' % (table, path),
            'SELECT count(*) FROM (SELECT 1 FROM %s(%s) LIMIT 700 OFFSET 5)' %
            (table, path),
            'SELECT EXISTS (SELECT 1 FROM %s(%s)), EXISTS (SELECT 1 FROM '
            "%s(%s) WHERE session = 'none')" % (table, path, table, path))
        number = int(one_by_one[0][0])
        results.check(number > 3000, '%s: %s: many' % (what, table), number)
        results.equal((counted, rows, twice, part, one),
                      ([[str(number), str(number), '1']],
                       [[str(number), str(number)]],
                       [[str(2 * number)]], [['700']], [['1', '0']]),
                      '%s: %s are counted' % (what, table))


def count_rows(session):
    """Of records and calls, each without a column and one by one."""
    path = sql.quote(session)
    rows, _ = sql.shell('SELECT count(%s) FROM %s(%s)' % (column, table, path)
                        for table, column in (
                            ('trace_records', '*'), ('trace_records', 'ticks'),
                            ('trace_calls', '*'), ('trace_calls', 'start')))
    return [int(row[0][0]) for row in rows]


def clear_half(session):
    """Clears a session in the middle of its longest store."""
    store = trace_reader.Store(max(support.stores(session),
                                   key=os.path.getsize))
    times = [record[0] for record in store.records()]
    support.write_control(
        session, [(support.ACTION_CLEAR, times[len(times) // 2] + 1)],
        process=store.ProcessId, created=store.ProcessCreationTime)


def check_index_counts(results, scratch, session):
    """Before its last mark an index says how many there are, unless a store was
    written after it."""
    what = 'counted by the index'
    good = count_rows(session)
    results.check(good[0] == good[1] and good[2] == good[3] and
                  good[0] > 4 * 65536, what, good)
    damaged = os.path.join(scratch, 'indexed')
    shutil.copytree(session, damaged)
    store = max((os.path.join(damaged, name) for name in os.listdir(damaged)
                 if name.endswith('.trace')), key=os.path.getsize)
    index = store + '.index'
    results.check(os.path.exists(index), what + ': there is one',
                  os.listdir(damaged))
    results.equal(count_rows(damaged), good, what + ': of a copy')

    # Twenty records without a time, in the middle of all.
    middle = os.path.getsize(store) // 2 // 16 * 16
    with open(store, 'r+b') as file:
        for place in range(middle, middle + 20 * 16, 16):
            file.seek(place)
            file.write(bytes(8))
    bad = count_rows(damaged)
    results.equal(bad[:2], [good[0] - 20] * 2, what + ': damaged since')
    results.equal(bad[2], bad[3], what + ': damaged since, calls')
    results.check(bad[2] < good[2], what + ': fewer calls', [bad, good])

    # That the damage is seen is due to its time: an index that is newer is
    # believed.
    times = os.stat(index)
    os.utime(store, ns=(times.st_atime_ns, times.st_mtime_ns))
    results.equal(count_rows(damaged), [good[0], bad[1], good[2], bad[3]],
                  what + ': no time tells of the damage')
    os.remove(index)
    results.equal(count_rows(damaged), bad, what + ': without it')


def check_window(results, scratch, program):
    """Calls that are open for longer than the window of 65,536 calls."""
    what = 'long calls'
    _, session = programs.trace(program, '1', '120',
                                directory=os.path.join(scratch, 'window'),
                                TRACER_MODE='file')
    ordered = check_calls(results, session, what,
                          check_functions(results, session, what))
    check_counts(results, session, what)
    check_index_counts(results, scratch, session)
    results.check(len(ordered) > 2 * 65536, what + ': enough of them',
                  [len(ordered)])
    rows, = ask(results, what, 'SELECT %s FROM trace_calls(%s) WHERE '
                'start >= %s ORDER BY start LIMIT 10' %
                (WITH_ENDS, sql.quote(session), ordered[5][0]))
    results.equal(rows, [row for row in ordered if int(row[0]) >=
                         int(ordered[5][0])][:10], what + ': the first')


#
# What goes wrong.
#

def check_errors(results, scratch, session):
    path = sql.quote(session)
    damaged = os.path.join(scratch, 'damaged')
    shutil.copytree(session, damaged)
    stores = [os.path.join(damaged, name) for name in os.listdir(damaged)
              if name.endswith('.trace')]
    for store in stores:
        with open(store, 'r+b') as file:
            file.seek(0x0C)
            file.write(b'\x01\x02\x03\x04')
    for statement, wanted in (
            ('SELECT * FROM trace_calls', 'its argument is missing'),
            ("SELECT * FROM trace_calls('no-such-place')",
             'STATUS_OBJECT_NAME_NOT_FOUND'),
            ('SELECT * FROM trace_calls(NULL)', 'the path is empty'),
            ('SELECT * FROM trace_calls(%s)' % sql.quote(damaged),
             'read a store: '),
            ('SELECT * FROM trace_functions(%s)' % sql.quote(damaged),
             os.path.basename(min(stores))),
            ('DELETE FROM trace_marks', 'may not be modified')):
        _, errors = sql.shell([statement])
        results.check(wanted in errors, 'an error: ' + statement,
                      errors.splitlines())
    (count,), = ask(results, 'damaged', 'SELECT count(*) FROM '
                    'trace_problems(%s)' % sql.quote(damaged))
    results.equal(int(count[0]), len(stores), 'trace_problems has them')
    code, text = sql.host('old')
    results.check(code == 0 and 'needs SQLite 3.31' in text, 'too old', [text])
    calls = 'SELECT count(*), sum(duration) FROM trace_calls(%s)' % path
    for arguments in (
            ('memory', calls + " WHERE function GLOB 'S*'"),
            ('memory', 'SELECT start FROM trace_calls(%s) ORDER BY start '
             'LIMIT 20' % path),
            ('memory', 'SELECT function, calls, file, p50 FROM '
             'trace_functions(%s)' % path),
            ('memory', 'SELECT count(*) FROM trace_nodes(%s)' % path),
            ('memory', 'SELECT count(time), max(function) FROM '
             'trace_records(%s)' % path),
            ('interrupt', calls + ' AS a, trace_threads(%s) AS b' % path),
            ('interrupt', 'SELECT sum(calls) FROM trace_nodes(%s)' % path),
            ('threads', '4', calls),
            ('cursors', 'SELECT duration FROM trace_calls(%s)' % path),
            ('misuse', calls, 'SELECT * FROM trace_functions(%s)' % path,
             'SELECT * FROM trace_records(%s)' % path,
             'SELECT * FROM trace_calls(%s) ORDER BY start' % path,
             'SELECT * FROM trace_nodes(%s)' % path,
             'SELECT * FROM trace_threads(%s) AS a, trace_calls(%s) AS b '
             'WHERE a.thread_id = b.thread_id' % (path, path))):
        code, text = sql.host(*arguments)
        results.check(code == 0, 'SqlHost %s' % (arguments,),
                      text.splitlines())


def check_command(results, scratch, session):
    """TraceReader sql with sqlite3.dll beside it, and without."""
    folder = os.path.join(scratch, 'command')
    os.makedirs(folder)
    reader = os.path.join(folder, 'TraceReader.exe')
    shutil.copy(programs.READER, reader)
    statement = ("SELECT function, calls, NULL AS empty FROM "
                 "trace_functions ORDER BY calls DESC, function LIMIT 3")
    arguments = [programs.windows_path(session), statement]
    code, text = programs.run_windows(reader, 'sql', *arguments)
    results.check(code == 1 and text == '', 'sql without SQLite', [text])
    shutil.copy(os.path.join(sql.FOLDER, 'sqlite3.dll'), folder)
    code, text = programs.run_windows(reader, 'sql', '--json', *arguments)
    rows = json.loads(text) if code == 0 else []
    expected, = ask(results, 'sql', statement.replace(
        'trace_functions', 'trace_functions(%s)' % sql.quote(session)))
    results.equal([[row['function'], str(row['calls']), ''] for row in rows],
                  expected, 'sql --json')
    results.check(rows and rows[0]['empty'] is None, 'sql --json: null')
    code, text = programs.run_windows(reader, 'sql', '--csv', *arguments)
    results.equal(list(csv.reader(io.StringIO(text))),
                  [['function', 'calls', 'empty']] + expected, 'sql --csv')
    code, text = programs.run_windows(reader, 'sql', *arguments)
    results.equal([line.split() for line in text.splitlines()],
                  [['function', 'calls', 'empty']] +
                  [row[:2] for row in expected], 'sql')
    for wrong in ('CREATE TABLE x(a)', "ATTACH 'x.db' AS x", 'SELECT',
                  "SELECT load_extension('x')", 'SELECT 1; SELECT 2', ''):
        code, text = programs.run_windows(reader, 'sql', arguments[0], wrong)
        results.check(code == 1 and text == '', 'sql: ' + wrong, [text])
    code, text = programs.run_windows(reader, 'sql')
    results.check(code == 0 and 'trace_calls' in text, 'the tables')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        if sql.find_sqlite() is None:
            results.skip('there is no SQLite')
            return results.finish()
        check_places(results, scratch)
        program = programs.build_sample(
            os.path.join(scratch, 'build'), programs.PENTER_FLAGS,
            [programs.LIBRARY])
        sessions = os.path.join(scratch, 'sessions')
        for mode in 'file', 'compact', 'ring', 'tree':
            what = 'mode ' + mode
            _, session = programs.trace(
                program, '2', '3', programs.PAUSE,
                directory=os.path.join(sessions, mode), TRACER_MODE=mode)
            expected = check_functions(results, session, what)
            check_nodes(results, session, what)
            if mode == 'tree':
                _, errors = sql.shell(['SELECT * FROM trace_calls(%s)' %
                                       sql.quote(session)])
                results.check('trace_calls' in errors, what + ': no calls',
                              errors.splitlines())
                continue
            ordered = check_calls(results, session, what, expected)
            check_records(results, session, what)
            rows = count_rows(session)
            results.equal(rows[::2], rows[1::2], what + ': counted')
            if mode == 'file':
                check_constraints(results, session, what, ordered)
                check_errors(results, scratch, session)
                check_command(results, scratch, session)
        check_window(results, scratch, program)
        both = os.path.join(scratch, 'both')
        for number in '1', '2':
            _, session = programs.trace(
                program, number, '2', programs.PAUSE,
                directory=os.path.join(scratch, 'run' + number))
            shutil.copytree(session, os.path.join(both,
                                                  os.path.basename(session)))
        expected = check_functions(results, both, 'two processes')
        check_calls(results, both, 'two processes', expected)
        rows = count_rows(both)
        results.equal(rows[::2], rows[1::2], 'two processes: counted')
        clear_half(sorted(support.sessions(both))[0])
        cleared = count_rows(both)
        results.check(cleared[::2] == cleared[1::2] and
                      0 < cleared[2] < rows[2],
                      'two processes, one cleared: counted', [cleared, rows])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

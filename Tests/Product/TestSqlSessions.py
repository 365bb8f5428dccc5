#!/usr/bin/env python3
"""SQL over what is not one session of one program: several boots, damaged
stores, programs that run, DLLs, processes, imports and packs.

Of made-up sessions it is known what there is; of others, sums are those of
report.  A statement over a running program sees one moment: what its
sub-queries count, one after the other, agrees.
"""

# Takes long.

import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import SqlSupport as sql                                     # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestImportNames as imports                            # noqa: E402
import TestProcesses as processes                            # noqa: E402
import TestSql as whole                                      # noqa: E402
from StoreSupport import programs                            # noqa: E402
from TestMarks import MARK                                   # noqa: E402

HOUR = 3600
EPOCH = 116_444_736_000_000_000     # FILETIME, 1970


#
# Several boots.
#

def check_boots(results, scratch):
    root = processes.Root(os.path.join(scratch, 'boots'))
    calls = processes.calls
    root.add('a', 100, calls(0, 5, 1000), uptime=50)
    root.add('b', 200, calls(0, 6, 2050), uptime=50 + HOUR, created=1)
    root.add('c', 300, calls(0, 7, 3000), boot=HOUR, uptime=52, created=2)
    root.add('d', 400, calls(1, 8, 3050), boot=HOUR, uptime=53, created=3)
    root.add('e', 500, calls(2, 9, 9000), boot=9 * HOUR, uptime=1, created=4)
    path = sql.quote(root.root)
    first = {'a': 1000, 'b': 1000, 'c': 3000, 'd': 3000, 'e': 9000}
    begin = {'a': 1000, 'b': 2050, 'c': 3000, 'd': 3050, 'e': 9000}
    number = {'a': 5, 'b': 6, 'c': 7, 'd': 8, 'e': 9}
    boots = {'a': 1, 'b': 1, 'c': 2, 'd': 2, 'e': 3}
    expected = sorted((name, begin[name] - first[name] + 100 * index)
                      for name in number for index in range(number[name]))
    (sessions, plain, ordered, chosen, functions, ranges, joined, records,
     nodes, limited) = whole.ask(
         results, 'boots',
         'SELECT session, boot, epoch, first FROM trace_sessions(%s)' % path,
         'SELECT session, start, duration FROM trace_calls(%s)' % path,
         'SELECT session, start FROM trace_calls(%s) ORDER BY start' % path,
         "SELECT session, start FROM trace_calls(%s) WHERE session = 'c'" %
         path,
         'SELECT session, function, calls FROM trace_functions(%s)' % path,
         'SELECT session, start FROM trace_calls(%s) WHERE start BETWEEN 100 '
         'AND 300 ORDER BY start' % path,
         'SELECT c.session, s.epoch + c.start FROM trace_calls(%s) AS c JOIN '
         'trace_sessions(%s) AS s USING (session) ORDER BY 2' % (path, path),
         'SELECT session, count(*) FROM trace_records(%s) GROUP BY 1' % path,
         'SELECT session, sum(calls) FROM trace_nodes(%s) GROUP BY 1' % path,
         'SELECT session, start FROM trace_calls(%s) ORDER BY start LIMIT 3' %
         path)
    results.equal({row[0]: int(row[1]) for row in sessions}, boots,
                  'boots: their numbers')

    # The anchors say when it was: made of the boot and how long it was up.
    whens = {name: (133 * 10 ** 15 + seconds * 10 ** 7 - EPOCH) * 100 +
             first[name] - 1000 for name, seconds in
             {'a': 0, 'b': 0, 'c': HOUR, 'd': HOUR, 'e': 9 * HOUR}.items()}
    results.check(all(abs(int(row[2]) - whens[row[0]]) <= 1000
                      for row in sessions), 'boots: epoch',
                  [sessions, whens])
    results.equal({row[0]: int(row[3]) for row in sessions},
                  {name: begin[name] - first[name] for name in begin},
                  'boots: first')
    results.equal(sorted((row[0], int(row[1])) for row in plain), expected,
                  'boots: calls')
    results.equal({row[2] for row in plain}, {'10'}, 'boots: durations')
    results.equal(sorted((row[0], int(row[1])) for row in ordered), expected,
                  'boots: calls in order, all')
    starts = [int(row[1]) for row in ordered]
    results.check(starts == sorted(starts) and
                  len({row[0] for row in ordered[:5]}) > 1,
                  'boots: side by side', ordered[:9])
    results.equal(limited, ordered[:3], 'boots: the first')
    results.equal([(row[0], int(row[1])) for row in chosen],
                  [pair for pair in expected if pair[0] == 'c'],
                  'boots: one session')
    results.equal(sorted(functions), [
        ['a', 'Alpha', '5'], ['b', 'Alpha', '6'], ['c', 'Alpha', '7'],
        ['d', 'Beta', '8'], ['e', 'Gamma', '9']], 'boots: functions')
    results.equal(sorted((row[0], int(row[1])) for row in ranges),
                  [pair for pair in expected if 100 <= pair[1] <= 300],
                  'boots: a range, in each of them')
    results.equal([row[0] for row in joined],
                  [name for name, _ in sorted(
                      expected, key=lambda pair: whens[pair[0]] + pair[1])],
                  'boots: in the order of UTC')
    results.equal({row[0]: int(row[1]) for row in records},
                  {name: 2 * count for name, count in number.items()},
                  'boots: records')
    results.equal({row[0]: int(row[1]) for row in nodes}, number,
                  'boots: nodes')
    support.write_control(os.path.join(root.root, 'a'),
                          [(MARK, 1205, b'first', 1)], process=100,
                          created=10 ** 17)
    marks, = whole.ask(results, 'boots', 'SELECT session, time, text FROM '
                       'trace_marks(%s) ORDER BY time' % path)
    results.equal(marks, [['a', '205', 'first']], 'boots: marks')

    #
    # The same by TraceReader's own sums, boot by boot.
    #

    for name, process in (('a', 100), ('c', 300), ('e', 500)):
        rows = whole.read_csv('report', '--all-runs', '--csv', '--process',
                              str(process), programs.windows_path(root.root))
        results.equal([int(row['calls']) for row in rows], [number[name]],
                      'boots: report of ' + name)
    for arguments in (
            ('memory', 'SELECT start FROM trace_calls(%s) ORDER BY start' %
             path),
            ('memory', 'SELECT count(*), max(function) FROM '
             'trace_functions(%s)' % path),
            ('misuse', 'SELECT * FROM trace_calls(%s) ORDER BY start' % path,
             'SELECT * FROM trace_calls(%s)' % path,
             'SELECT * FROM trace_functions(%s) AS a JOIN trace_calls(%s) AS b '
             'USING (function)' % (path, path)),
            ('threads', '3', 'SELECT sum(start) FROM trace_calls(%s)' % path),
            ('cursors', 'SELECT start FROM trace_calls(%s) ORDER BY start' %
             path)):
        code, text = sql.host(*arguments)
        results.check(code == 0, 'boots: SqlHost %s' % (arguments,),
                      text.splitlines())


#
# Damage.
#

def spoil(path):
    with open(path, 'r+b') as file:
        file.seek(0x0C)
        file.write(b'\x01\x02\x03\x04')


def check_damage(results, scratch, session):
    """What can be read is there; what cannot is named, and an error only if
    nothing else was asked for."""
    several = os.path.join(scratch, 'several')
    good = os.path.join(several, 'good')
    partly = os.path.join(several, 'partly')
    bad = os.path.join(several, 'bad')
    for folder in good, bad:
        shutil.copytree(session, folder)
    root = processes.Root(os.path.join(scratch, 'partly'))
    first = root.add('partly', 300, processes.calls(0, 7, 3000))
    second = root.add('partly', 300, processes.calls(1, 5, 3000), thread=8)
    shutil.copytree(os.path.dirname(first), partly)
    for name in os.listdir(bad):
        if name.endswith('.trace'):
            spoil(os.path.join(bad, name))
        else:
            os.remove(os.path.join(bad, name))
    spoil(os.path.join(partly, os.path.basename(second)))
    path = sql.quote(several)
    problems, calls, sums, sessions, alone, threads = whole.ask(
        results, 'damage',
        'SELECT session, process_id, store, is_left_out, problem FROM '
        'trace_problems(%s)' % path,
        'SELECT session, count(*) FROM trace_calls(%s) GROUP BY 1' % path,
        'SELECT session, sum(calls) FROM trace_functions(%s) GROUP BY 1' %
        path,
        'SELECT session, damaged FROM trace_sessions(%s)' % path,
        'SELECT count(*) FROM trace_calls(%s)' % sql.quote(good),
        "SELECT thread_id FROM trace_threads(%s) WHERE session = 'partly'" %
        path)
    results.equal(sorted((row[0], row[1], row[2], row[3]) for row in problems),
                  sorted([('partly', '300', os.path.basename(second), '1')] +
                         [('bad', '', name, '1') for name in os.listdir(bad)]),
                  'damage: problems')
    results.check(all('header: ' in row[4] for row in problems),
                  'damage: what it is', problems)
    results.equal(sorted(calls), sorted([['good', alone[0][0]],
                                         ['partly', '7']]),
                  'damage: calls of the others')
    results.equal(sorted(sums), sorted(calls), 'damage: sums of the others')
    results.equal(sorted(sessions), [['good', '0'], ['partly', '1']],
                  'damage: sessions')
    results.equal(threads, [['7']], 'damage: the thread that is left')
    for statement, wanted in (
            ('SELECT * FROM trace_calls(%s)' % sql.quote(bad), True),
            ('SELECT count(*) FROM trace_functions(%s)' % sql.quote(bad),
             True),
            ("SELECT * FROM trace_records(%s) WHERE session = 'bad'" % path,
             True),
            ("SELECT count(*) FROM trace_calls(%s) WHERE session = 'partly'" %
             path, False),
            ('SELECT count(*) FROM trace_problems(%s)' % sql.quote(bad),
             False),
            ('SELECT count(*) FROM trace_sessions(%s)' % sql.quote(bad),
             False)):
        _, errors = sql.shell([statement])
        results.equal('read a store: ' in errors and 'header: ' in errors,
                      wanted, 'damage: %s: %s' % (statement, errors))
        results.equal(errors != '', wanted, 'damage: error: ' + statement)
    one = os.path.join(bad, sorted(os.listdir(bad))[0])
    _, errors = sql.shell(['SELECT * FROM trace_calls(%s)' % sql.quote(one)])
    results.check(os.path.basename(one) in errors, 'damage: a store', [errors])


#
# A program that runs.
#

MOMENT = '''
    SELECT (SELECT count(*) FROM trace_calls({0})) AS calls,
        (SELECT count(*) FROM trace_records({0})) AS records,
        (SELECT sum(records) FROM trace_threads({0})) AS of_threads,
        (SELECT count(*) FROM trace_records({0}) WHERE kind = 'enter')
            AS entries,
        (SELECT sum(calls) FROM trace_functions({0})) AS of_functions,
        (SELECT count(*) FROM trace_records({0}) WHERE kind <> 'enter')
            AS exits,
        (SELECT count(*) FROM trace_calls({0}) WHERE NOT unfinished) AS ended,
        (SELECT sum(unfinished) FROM trace_functions({0})) AS unfinished,
        (SELECT sum(records) FROM trace_sessions({0})) AS of_sessions,
        (SELECT max(last) FROM trace_threads({0})) AS last,
        (SELECT max(time) FROM trace_records({0})) AS latest,
        (SELECT count(*) FROM trace_calls({0})) AS again
'''


def check_running(results, scratch):
    program = programs.build(
        os.path.join(scratch, 'paced'),
        [os.path.join(programs.PROGRAMS, 'Paced.c')],
        [*programs.PENTER_FLAGS, '-O1', '-fno-inline'], 'Paced.exe',
        [programs.LIBRARY])
    for mode in 'file', 'compact':
        what = 'running, %s' % mode
        directory = os.path.join(scratch, 'running-' + mode)
        os.makedirs(directory)
        end = os.path.join(directory, 'end')
        process = support.start(program, '3', '2000', '600',
                                programs.windows_path(end),
                                directory=os.path.join(directory, 'traces'),
                                TRACER_MODE=mode)
        session = support.wait_for(lambda: next(
            iter(support.sessions(os.path.join(directory, 'traces'))), None))
        support.wait_for(lambda: len(support.stores(session)) >= 4 and sum(
            map(os.path.getsize, support.stores(session))) > 30000)
        statement = ' '.join(MOMENT.split()).format(sql.quote(session))
        rows = whole.ask(results, what, *[statement] * 5)
        names = ('calls', 'records', 'of_threads', 'entries', 'of_functions',
                 'exits', 'ended', 'unfinished', 'of_sessions', 'last',
                 'latest', 'again')
        seen = [dict(zip(names, map(int, row[0]))) for row in rows if row]
        for each in seen:
            results.check(
                each['calls'] == each['again'] == each['entries'] ==
                each['of_functions'] == each['ended'] + each['unfinished'] and
                each['exits'] == each['ended'] and
                each['records'] == each['of_threads'] ==
                each['of_sessions'] == each['entries'] + each['exits'] and
                each['last'] == each['latest'],
                what + ': one moment', [each])
        results.check(len(seen) == 5 and
                      len({each['records'] for each in seen}) == 5 and
                      [each['records'] for each in seen] ==
                      sorted(each['records'] for each in seen),
                      what + ': it went on meanwhile',
                      [each['records'] for each in seen])
        with open(end, 'w', encoding='ascii'):
            pass
        code, _ = support.finish(process)
        results.check(support.has_ended(code), what + ': it ended', [code])


#
# What else there is.
#

def check_import_nodes(results, directory):
    """trace_nodes has a node for each module that calls an import, as tree
    has."""
    whole.check_nodes(results, directory, 'imports')
    expected = sorted(
        [row['function'], row['caller_module'], row['depth'], row['calls']]
        for row in whole.read_csv('tree', '--per-thread', '--all-runs',
                                  '--csv', programs.windows_path(directory)))
    rows, = whole.ask(results, 'imports', 'SELECT function, caller_module, '
                      'depth, calls FROM trace_nodes(%s)' %
                      sql.quote(directory))
    results.check(sorted(rows) == expected and
                  len({row[1] for row in rows}) > 2, 'imports: trace_nodes',
                  [rows, expected])


def check_callers(results, scratch):
    """Which module called an import: the programs count that themselves."""
    made = imports.Programs(os.path.join(scratch, 'callers'))
    counted = 'Sleep', 'GetTickCount', 'Work', 'Back'
    for name, mode in (('Names.exe', 'file'), ('Hooked.exe', 'compact'),
                       ('Hooked.exe', 'tree')):
        what = 'callers, %s, %s' % (name, mode)
        session = made.run(results, name, '--imports', imports.LISTS,
                           '--mode', mode)
        expected = {(module.replace('names.exe', name.lower()), function): n
                    for (module, function), n in made.counts.items()}
        path = sql.quote(session)
        tables = {'nodes': 'sum(calls) FROM trace_nodes(%s)' % path}
        if mode != 'tree':
            tables['calls'] = 'count(*) FROM trace_calls(%s)' % path
            tables['ordered'] = ('count(*) FROM (SELECT * FROM trace_calls(%s)'
                                 ' ORDER BY start LIMIT 1000000)' % path)
        for table, rest in tables.items():
            rows, one = whole.ask(
                results, what, 'SELECT caller_module, function, %s GROUP BY '
                '1, 2' % rest, "SELECT 1, %s WHERE caller_module = 'plug.dll' "
                "AND function = 'kernel32!Sleep'" % rest)
            found = {(row[0], row[1].split('!')[-1]): int(row[2])
                     for row in rows if row[1].split('!')[-1] in counted}
            results.equal(found, expected, '%s: %s' % (what, table))
            results.equal(one, [['1', str(expected['plug.dll', 'Sleep'])]],
                          '%s: %s of one module' % (what, table))
            # Control: what is no import was called by no module.
            results.equal({row[1] for row in rows if not row[0]},
                          {row[1] for row in rows if '!' not in row[1]},
                          '%s: %s, no imports' % (what, table))
        rows, = whole.ask(results, what, 'SELECT calls FROM '
                          "trace_functions(%s) WHERE function = "
                          "'kernel32!Sleep'" % path)
        results.equal(rows, [[str(sum(
            n for (_, function), n in expected.items()
            if function == 'Sleep'))]], what + ': one function')


def check_kinds(results, scratch):
    """Two modules, several processes, imports of all of them, packs."""
    source = os.path.join(programs.PROGRAMS, 'TwoModules.c')
    folder = os.path.join(scratch, 'two')
    program = programs.build(folder, [source], programs.PENTER_FLAGS,
                             'TwoModules.exe', [programs.LIBRARY])
    programs.build(os.path.join(folder, 'dll'), [source],
                   ['-DPLUGIN', *programs.PENTER_FLAGS], 'Plugin.dll',
                   [programs.LIBRARY, '-shared'])
    _, session = programs.trace(
        program, programs.windows_path(os.path.join(folder, 'dll',
                                                    'Plugin.dll')),
        directory=os.path.join(scratch, 'traces-two'))
    expected = whole.check_functions(results, session, 'two modules',
                                     least=2)
    results.equal({module for _, module, _ in expected},
                  {'TwoModules.exe', 'Plugin.dll'}, 'two modules: both')
    whole.check_calls(results, session, 'two modules', expected)
    whole.check_records(results, session, 'two modules')
    rows = whole.count_rows(session)
    results.equal(rows[::2], rows[1::2], 'two modules: counted')
    modules, = whole.ask(results, 'two modules', 'SELECT module FROM '
                         'trace_modules(%s)' % sql.quote(session))
    results.equal(sorted(row[0] for row in modules),
                  ['Plugin.dll', 'TwoModules.exe'], 'two modules: modules')
    pack = os.path.join(scratch, 'two.pack')
    code, _, errors = support.reader('pack', '-o', programs.windows_path(pack),
                                     programs.windows_path(session))
    if results.check(code == 0, 'a pack: %s' % errors):
        whole.check_functions(results, pack, 'a pack', least=2)
        whole.check_calls(results, pack, 'a pack', expected)

    program = programs.build(
        os.path.join(scratch, 'processes'),
        [os.path.join(programs.PROGRAMS, 'Processes.c')],
        programs.PENTER_FLAGS, 'Processes.exe', [programs.LIBRARY])
    directory = os.path.join(scratch, 'traces-processes')
    cwd = os.path.join(directory, 'run')
    for below in 'one', 'two', 'one/deep', 'two/deep':
        os.makedirs(os.path.join(cwd, below))
    traces = os.path.join(directory, 'traces')
    code, _ = support.run(program, '0', '10', '0', directory=traces, cwd=cwd,
                          leaves=[scratch],
                          PROCESSES_FILE=programs.windows_path(
                              os.path.join(scratch, 'told.txt')))
    results.check(code == 0 and len(support.sessions(traces)) > 2,
                  'processes: traced', [code])
    expected = whole.check_functions(results, traces, 'processes', least=2)
    whole.check_calls(results, traces, 'processes', expected)
    whole.check_nodes(results, traces, 'processes')

    directory = os.path.join(scratch, 'imports')
    code, _, errors = support.reader(
        'run', '--directory', programs.windows_path(directory), '--imports',
        'kernel32', '--children', '--', 'cmd', '/c', 'cmd /c echo hello')
    if results.check(code == 0 and len(support.sessions(directory)) == 2,
                     'imports: traced', [code, errors,
                                         support.sessions(directory)]):
        expected = whole.check_functions(results, directory, 'imports',
                                         least=2)
        results.check(any(function.startswith('kernel32!') for _, _, function
                          in expected), 'imports: names')
        whole.check_calls(results, directory, 'imports', expected)
        check_import_nodes(results, directory)


#
# Other versions of SQLite.
#

def check_or(results, scratch, session):
    """SQLite plans the terms of an OR one by one, and shows them without the
    argument: the rows are still those of the argument's path."""
    other = processes.Root(os.path.join(scratch, 'or'))
    other.add('a', 100, processes.calls(0, 5, 1000))
    folder = os.path.join(scratch, 'or-reader')
    os.makedirs(folder)
    shutil.copy(programs.READER, folder)
    shutil.copy(os.path.join(sql.FOLDER, 'sqlite3.dll'), folder)
    for terms in ("function = 'main' OR function GLOB 'S*'",
                  "thread_id = 1 OR function = 'main' OR start = 7",
                  "(start = 0 AND thread_id > 0 AND function = 'main') OR "
                  "(start < 0 AND function = 'x' AND function GLOB 'y*')"):
        statement = 'SELECT count(*) FROM trace_calls(%s) WHERE ' % sql.quote(
            session)
        wanted, seen = whole.ask(
            results, 'or', statement + 'CASE WHEN %s THEN 1 END' % terms,
            statement + terms)
        results.check(wanted == seen and wanted[0][0] != '0', 'or: ' + terms,
                      [wanted, seen])
        code, text = programs.run_windows(
            os.path.join(folder, 'TraceReader.exe'), 'sql', '--csv',
            programs.windows_path(other.root), statement + terms)
        results.equal((code, text.split()[1:]), (0, wanted[0]),
                      'or: beside another path: ' + terms)

    # Each term has an argument of its own.
    paths = [sql.quote(session), sql.quote(other.root)]
    counts = whole.ask(results, 'or', *(
        'SELECT count(*) FROM trace_calls(%s) WHERE depth = 0' % path
        for path in paths), 'SELECT count(*) FROM trace_calls WHERE ' +
        ' OR '.join('(path = %s AND depth = 0)' % path for path in paths))
    numbers = [int(rows[0][0]) for rows in counts]
    results.check(min(numbers) > 0 and
                  numbers[0] + numbers[1] == numbers[2],
                  'or: a path in each term', numbers)

    # Without the argument every term is without it.
    for terms in ("thread_id = %s OR function = 'main'" % whole.ask(
            results, 'or', 'SELECT min(thread_id) FROM trace_threads(%s)' %
            sql.quote(session), 'SELECT 1')[0][0][0],
                  "function = 'main' OR function GLOB 'S*' OR start = 7",
                  "function = 'main' OR depth > 1 OR function = 'Outer'"):
        statement = 'SELECT count(*) FROM trace_calls WHERE '
        answers = [programs.run_windows(
            os.path.join(folder, 'TraceReader.exe'), 'sql', '--csv', session,
            statement + condition)
                   for condition in ('CASE WHEN %s THEN 1 END' % terms, terms)]
        results.check(answers[0] == answers[1] and answers[0][0] == 0 and
                      answers[0][1].split()[1:] != ['0'],
                      'or: without the argument: ' + terms, answers)
    for value in "'%s'", '%s.0':
        statement = ('SELECT count(*) FROM trace_functions(%s) WHERE '
                     'thread_id = ' % sql.quote(session))
        thread = whole.ask(
            results, 'or', 'SELECT min(thread_id) FROM trace_threads(%s)' %
            sql.quote(session), 'SELECT 1')[0][0][0]
        wanted, seen = whole.ask(results, 'or', statement + thread,
                                 statement + value % thread)
        results.check(wanted == seen and wanted[0][0] != '0',
                      'a thread as ' + value, [wanted, seen])


def check_arguments(results, session):
    """Arguments that come from another table, and that are no integers."""
    path = sql.quote(session)
    (end,), _ = whole.ask(results, 'arguments', 'SELECT max(last) FROM '
                          'trace_threads(%s)' % path, 'SELECT 1')
    middle = int(end[0]) // 3
    ranges = [(0, middle), (middle, int(end[0]))]
    for table in 'trace_functions', 'trace_nodes':
        statement = 'SELECT %s, sum(calls) FROM ' + table + '(%s, %s)'
        answers = whole.ask(
            results, 'arguments',
            *(statement % (since, path, '%d, %d' % (since, until))
              for since, until in ranges),
            'CREATE TABLE r AS SELECT %d AS a, %d AS b UNION SELECT %d, %d' %
            (*ranges[0], *ranges[1]),
            ('SELECT a, sum(calls) FROM r, %s(%s, r.a, r.b) GROUP BY a' %
             (table, path)),
            'SELECT sum(calls) FROM %s(%s)' % (table, path),
            *(statement % (0, path, until) for until in (
                "'0', '%d'" % middle, '-0.5, %d.5' % middle, '-1e300, %d' %
                middle)),
            statement % (0, path, '1e19'),
            statement % (0, path, '0, -1e19'))
        wanted = answers[0] + answers[1]
        results.check(all(int(row[1]) > 0 for row in wanted) and
                      wanted[0][1] != answers[4][0][0],
                      table + ': a range is not all', answers)
        results.equal(answers[3], wanted, table + ': ranges of a table')
        for name, rows in zip(('text', 'fractions', 'far below'),
                              answers[5:]):
            results.equal(rows, answers[0], table + ': a time as ' + name)
        results.equal([rows[0][1] for rows in answers[8:]], ['', ''],
                      table + ': what no time is in')

    # A scan of the functions that does not know the thread is of no use.
    joined, single = whole.ask(
        results, 'arguments',
        'SELECT t.thread_id, sum(f.calls) FROM trace_functions(%s) f JOIN '
        'trace_threads(%s) t ON f.thread_id = t.thread_id GROUP BY 1' %
        (path, path),
        'SELECT thread_id, count(*) FROM trace_calls(%s) GROUP BY 1' % path)
    results.check(joined == single and len(joined) > 1,
                  "each thread's functions", [joined, single])


def check_versions(results, scratch, session):
    """The oldest that is taken and a new one: the same rows, and the same
    manners."""
    path = sql.quote(session)
    root = processes.Root(os.path.join(scratch, 'versions'))
    root.add('a', 100, processes.calls(0, 5, 1000))
    small = sql.quote(root.root)
    statements = [
        'SELECT function, calls, total, self, p99 FROM trace_functions(%s) '
        'ORDER BY 1' % path,
        "SELECT count(*), sum(duration) FROM trace_calls(%s) WHERE function "
        "IN ('main', 'Outer', 'Leaf') OR function GLOB 'S*'" % path,
        'SELECT start, depth FROM trace_calls(%s) ORDER BY start LIMIT 30' %
        path,
        'SELECT count(*), max(time) FROM trace_records(%s)' % path,
        'SELECT a.function, b.calls FROM trace_functions(%s) AS a JOIN '
        'trace_nodes(%s) AS b USING (function) ORDER BY 1, 2' % (path, path)]
    expected = [sql.host('rows', statement) for statement in statements]
    results.check(all(code == 0 and text for code, text in expected),
                  'versions: the distribution\'s', expected)
    for version in '3.31.1', '3.54.1':
        folder = sql.find_version(version)
        if folder is None:
            results.skip('SQLite %s cannot be had' % version)
            continue
        code, text = sql.host('rows', 'SELECT sqlite_version()',
                              folder=folder)
        results.equal((code, text.strip()), (0, version), 'its version')
        whole.check_places(results, scratch, folder)
        for statement, wanted in zip(statements, expected):
            results.equal(sql.host('rows', statement, folder=folder), wanted,
                          '%s: %s' % (version, statement))
        for arguments in (
                ('memory', 'SELECT count(*), sum(duration) FROM '
                 "trace_calls(%s) WHERE function IN ('main', 'Alpha')" %
                 small),
                ('interrupt', 'SELECT count(*), sum(duration) FROM '
                 'trace_calls(%s) AS a, trace_threads(%s) AS b, '
                 'trace_functions(%s) AS c' % (path, path, path)),
                ('threads', '3', 'SELECT sum(duration) FROM trace_calls(%s)' %
                 small),
                ('misuse', 'SELECT * FROM trace_calls(%s)' % small,
                 'SELECT * FROM trace_nodes(%s)' % small)):
            code, text = sql.host(*arguments, folder=folder)
            results.check(code == 0, '%s: SqlHost %s' % (version, arguments),
                          text.splitlines())
        reader = os.path.join(scratch, 'reader-' + version)
        os.makedirs(reader)
        shutil.copy(programs.READER, reader)
        shutil.copy(os.path.join(folder, 'sqlite3.dll'), reader)
        code, text = programs.run_windows(
            os.path.join(reader, 'TraceReader.exe'), 'sql', '--csv',
            programs.windows_path(session), 'SELECT sum(calls), '
            'sqlite_version() AS version FROM trace_functions')
        results.check(code == 0 and text.splitlines()[1].endswith(version),
                      '%s: TraceReader sql' % version, [code, text])


def check_pragmas(results, session):
    """A database that has real tables, too, is as good as before."""
    path = sql.quote(session)
    rows, errors = sql.shell([
        'CREATE TABLE kept AS SELECT function, calls FROM '
        'trace_functions(%s)' % path,
        'PRAGMA integrity_check', 'PRAGMA quick_check',
        'PRAGMA table_info(trace_calls)',
        'SELECT count(*) FROM kept JOIN trace_functions(%s) USING (function, '
        'calls)' % path,
        'SELECT count(*) FROM kept',
        'BEGIN', 'INSERT INTO kept SELECT function, calls FROM '
        'trace_functions(%s)' % path, 'ROLLBACK',
        'SELECT count(*) FROM kept', 'PRAGMA integrity_check'])
    results.equal(errors, '', 'pragmas: no error')
    results.check(rows[1] == rows[2] == rows[10] == [['ok']] and
                  len(rows[3]) > 10 and int(rows[4][0][0]) >=
                  int(rows[5][0][0]) > 5 and rows[5] == rows[9], 'pragmas',
                  [rows[1:3], rows[4:]])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        if sql.find_sqlite() is None:
            results.skip('there is no SQLite')
            return results.finish()
        check_boots(results, scratch)
        program = programs.build_sample(
            os.path.join(scratch, 'build'), programs.PENTER_FLAGS,
            [programs.LIBRARY])
        _, session = programs.trace(
            program, '2', '3', programs.PAUSE,
            directory=os.path.join(scratch, 'sample'),
            TRACER_MODE='file')
        check_damage(results, scratch, session)
        check_pragmas(results, session)
        check_or(results, scratch, session)
        check_arguments(results, session)
        check_versions(results, scratch, session)
        check_kinds(results, scratch)
        check_callers(results, scratch)
        check_running(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

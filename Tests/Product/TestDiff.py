#!/usr/bin/env python3
"""TraceReader diff against what two reports say, put together here."""

import collections
import csv
import io
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import CallSupport as calls                                  # noqa: E402
import StoreSupport as support                               # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

SUMS = 'calls', 'self_ns', 'total_ns', 'waited_ns', 'ran_ns'


def report(results, session):
    """(module, function) -> numbers; the program is called ''."""
    found = collections.defaultdict(collections.Counter)
    for row in session.json(results, 'report')['functions']:
        module = row['module'].lower()
        if module == session.modules[0].lower():
            module = ''
        for field in SUMS:
            found[module, row['function']][field] += row[field]
        found[module, row['function']]['average_ns'] = row['average_ns']
    return found


def expected_rows(first, second, program):
    rows = []
    for key in set(first) | set(second):
        one, other = first.get(key, {}), second.get(key, {})
        row = {'in': 'both' if one and other else
                     'only A' if one else 'only B',
               'module': key[0] or program[not one], 'function': key[1]}
        for field in SUMS + ('average_ns',):
            name, _, unit = field.partition('_')
            unit = unit and '_' + unit
            row[name + '_a' + unit] = one.get(field, 0)
            row[name + '_b' + unit] = other.get(field, 0)
            if field in SUMS:
                row[name + '_difference' + unit] = (other.get(field, 0) -
                                                    one.get(field, 0))
        row['self_ratio'] = (row['self_b_ns'] * 100 // row['self_a_ns'] / 100
                             if row['self_a_ns'] else None)
        rows.append(row)
    return rows


def diff(first, second, *arguments, out='--json'):
    return support.reader('diff', out, *arguments, first.session,
                          second.session)


def rows_of(results, what, outcome):
    code, text, errors = outcome
    if not results.check(code == 0 and text[:1] == '{', what, [code, errors]):
        return []
    return json.loads(text)['functions']


def by_key(rows):
    """The case of a module's name is that of the session that is shown."""
    rows = [dict(row, module=row['module'].lower()) for row in rows]
    return {(row['module'], row['function']): row for row in rows}


def check_equal(results, what, rows, expected):
    seen, right = by_key(rows), by_key(expected)
    results.check(seen == right and seen, what, [
        (key, seen.get(key), right.get(key)) for key in set(seen) | set(right)
        if seen.get(key) != right.get(key)])


def check_rows(results, first, second):
    program = first.modules[0], second.modules[0]
    one, other = report(results, first), report(results, second)
    expected = expected_rows(one, other, program)
    for key, field in ((None, 'self_difference_ns'),
                       ('total', 'total_difference_ns'),
                       ('calls', 'calls_difference')):
        what = 'diff, sorted by %s' % key
        rows = rows_of(results, what, diff(
            first, second, *(['--sort', key] if key else [])))
        check_equal(results, what, rows, expected)
        order = [abs(row[field]) for row in rows]
        results.check(order == sorted(order, reverse=True), what + ': order',
                      [order])
    kinds = collections.Counter(row['in'] for row in expected)
    results.check(len(kinds) == 3, 'functions of every kind', [kinds])
    results.check(min(row['self_difference_ns'] for row in expected) < 0 <
                  max(row['self_difference_ns'] for row in expected),
                  'differences up and down')
    results.check(by_key(expected) !=
                  by_key(expected_rows(other, one, program[::-1])),
                  'control: the other way round')
    changed = collections.defaultdict(collections.Counter, one)
    key = max(one, key=lambda name: one[name]['calls'])
    changed[key] = collections.Counter(one[key], calls=1)
    results.check(by_key(expected) !=
                  by_key(expected_rows(changed, other, program)),
                  'control: a call more')

    rows = rows_of(results, 'diff with itself', diff(first, first))
    results.check(rows and all(
        row['in'] == 'both' and row['self_ratio'] in (1, None) and
        not any(value for field, value in row.items() if 'difference' in field)
        for row in rows), 'diff with itself', rows)

    # CSV has the same, and --limit, --module and --function leave out.
    code, text, _ = diff(first, second, '--sort', 'name', '--limit', '4',
                         out='--csv')
    lines = list(csv.DictReader(io.StringIO(text)))
    results.equal([line['function'] for line in lines],
                  sorted((row['function'] for row in expected),
                         key=str.encode)[:4], 'diff: CSV')
    results.check(code == 0 and all(
        int(line['self_difference_ns']) ==
        int(line['self_b_ns']) - int(line['self_a_ns']) for line in lines),
        'diff: CSV, signs', lines)
    rows = rows_of(results, 'diff --module', diff(
        first, second, '--module', 'PLUG', '--exclude', 'Load'))
    check_equal(results, 'diff: --module, --exclude', rows, [
        row for row in expected if row['module'].lower() == 'plug.dll' and
        not row['function'].startswith('Load')])
    code, _, errors = diff(first, second, '--function', 'Nothing')
    results.check(code == 3 and 'leave no function' in errors,
                  'diff: nothing is left', [code, errors])


def made_path(session):
    return session.session.replace('\\', '/').removeprefix('Z:')


def check_clocks(results, scratch, first):
    """Two rates: times are nanoseconds all the same."""
    records = calls.random_calls(random.Random(8), 800)
    slow = calls.Session(
        os.path.join(scratch, 'slow'), [records],
        changes={'at0x100': made.anchor(1000 + 100 * made.RATE // 4, 100)})
    fast = calls.Session(os.path.join(scratch, 'fast'), [records])
    code, text, errors = support.reader('diff', fast.session, slow.session)
    results.check(code == 0 and 'The clocks have different rates' in text,
                  'two rates: text', [text, errors])
    results.equal(*map(os.path.basename, (fast.session.replace('\\', '/'),
                                          slow.session.replace('\\', '/'))),
                  'control: both are called the same')
    results.check('\nA: %s\nB: %s\n' % (fast.session, slow.session) in text,
                  'which is A, which is B', [text])
    renamed = os.path.join(os.path.dirname(made_path(slow)), 'other')
    os.rename(made_path(slow), renamed)
    _, text, _ = support.reader('diff', fast.session,
                                programs.windows_path(renamed))
    os.rename(renamed, made_path(slow))
    results.check('\nA: %s\nB: other\n' %
                  os.path.basename(made_path(fast)) in text,
                  'which is A, which is B: names that differ', [text])
    rows = rows_of(results, 'two rates', diff(fast, slow))
    results.check(rows and all(
        0 <= row['self_b_ns'] - 4 * row['self_a_ns'] <= 3 and
        abs(row['self_ratio'] - 4) < 0.011 for row in rows
        if row['self_a_ns'] > 1000), 'two rates: four times the time', rows)
    off = calls.Session(os.path.join(scratch, 'off'), [records],
                        changes={'at0x3C': struct.pack('<I', 2)})
    code, text, _ = support.reader('diff', fast.session, off.session)
    results.check(code == 0 and 'a session was recorded with' in text,
                  'a session without a clock', [text])
    code, text, _ = support.reader('diff', fast.session, first.session)
    results.check(code == 0 and 'different rates' not in text and
                  'only A' not in text.splitlines()[0], 'one rate', [text])
    for arguments, said in ((['x'], 'two arguments are needed: A B'),
                            (['--sort', 'max', 'x', 'y'], '--sort takes self'),
                            ([fast.session, fast.session + '\\none'],
                             'none')):
        code, _, errors = support.reader('diff', *arguments)
        results.check(code == 1 and said in errors, 'diff %s' % arguments,
                      [code, errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        numbers = random.Random(31)
        first = calls.Session(
            os.path.join(scratch, 'first'),
            [calls.random_calls(numbers, 2000, 1000 + thread,
                                calls.NAMES[:-2]) for thread in range(2)])
        records = [(time, place, rsp, kind) for time, place, rsp, kind in
                   calls.random_calls(numbers, 3000)
                   if place // calls.STEP != calls.rva(2) // calls.STEP]
        second = calls.Session(os.path.join(scratch, 'second'), [records],
                               ('Game2.exe', 'PLUG.dll'))
        check_rows(results, first, second)
        check_clocks(results, scratch, first)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())

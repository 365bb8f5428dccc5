#!/usr/bin/env bash
#
# What --function and --exclude cost TraceReader report: a made-up session of
# FUNCTIONS (default 100,000) functions with CALLS (10) calls of each, and a
# file of PREFIXES (10,000) prefixes of their names.
#
# Reports without a filter and with it run in turn, ROUNDS times over (default
# 5), after one run of each that warms the cache; medians are printed.  The
# times are the reader's own (--verbose): of the whole report, of making the
# table of the prefixes, and of deciding about all functions.

set -euo pipefail

cd "$(dirname "$0")/.."

export TRACER_BIN=${TRACER_BIN:-$PWD/x64/Release}
export TRACER_WINE=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Work=$PWD/x64/Bench/Filter

rm -rf "$Work"
mkdir -p "$Work"

python3 - "$Work" "${FUNCTIONS:-100000}" "${CALLS:-10}" \
    "${PREFIXES:-10000}" "${ROUNDS:-5}" <<'END'
import random
import re
import statistics
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ['Tests/Product', 'Tests/Library']
import TestFilters as filters

folder = sys.argv[1]
functions, calls, prefixes, rounds = map(int, sys.argv[2:])
numbers = random.Random(5)
names, records = filters.many_functions(numbers, functions, calls)
session = filters.make_session(folder, names, [records])
del records
listed = filters.write_lines(folder, 'prefixes.txt', ''.join(
    '-' * is_excluded + prefix + '\n' for prefix, is_excluded in
    filters.many_prefixes(numbers, names, prefixes).items()))
reader = filters.Reader(None, session)
WHOLE = re.compile(r'TraceReader: (\d+) records of \d+ threads in (\d+) us')
COST = re.compile(r'filter: (\d+) prefixes in a table in (\d+) us; '
                  r'(\d+) functions decided in (\d+) us \((.*)\)')

plain, filtered, made_in, decided_in = [], [], [], []
for number in range(rounds + 1):
    for arguments, times in (([], plain), (['--function', listed], filtered)):
        _, _, said = reader.run('report', '--verbose', '--no-index',
                                '--limit', '20', *arguments)
        times.append(int(WHOLE.search(said).group(2)))
        cost = COST.search(said)
        if cost:
            made_in.append(int(cost.group(2)))
            decided_in.append(int(cost.group(4)))

plain, filtered, made_in, decided_in = (
    statistics.median(times[1:])
    for times in (plain, filtered, made_in, decided_in))
print('TraceReader report of %d functions and %d records with %s prefixes '
      '(%s), medians of %d' % (functions, 2 * functions * calls,
                               cost.group(1), cost.group(5), rounds))
print()
print('%-28s%10.1f ms' % ('report without a filter', plain / 1000))
print('%-28s%10.1f ms' % ('report with it', filtered / 1000))
print('%-28s%10.1f ms' % ('table of the prefixes', made_in / 1000))
print('%-28s%10.1f ms, %.0f ns a function, %.1f %% of the report' % (
    'all functions decided', decided_in / 1000,
    1000 * decided_in / functions,
    100 * (decided_in + made_in) / (filtered + made_in)))
END
rm -rf "$Work"

#!/usr/bin/env bash
#
# What SQL over a session takes beside SQLite itself, in one process, in turns:
#
#     count(*) over records and calls, beside count(*) over a table that does
#     nothing but count to ROWS;
#
#     sums of calls, in all and by function, beside the same of a table of
#     SQLite's own with the same rows;
#
#     a hundredth of a second of calls, beside opening the session's files.
#
# SQLite is compiled with -O2; its own table is in memory, and so is what it
# sorts.
#
# usage: Benchmarks/BenchSql.sh SESSION     default: make demo's
#
# ROUNDS (default 5) is how often each is run, ROWS (default 10,000,000) how far
# the empty table counts, and how many calls the table has at most.  A line has
# the median of the processor time, user and kernel, and the fastest, in
# milliseconds; the same of the time that passed; how many rows there were, the
# first column of the last, and the statement.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Sql
Gcc="x86_64-w64-mingw32-gcc -O2 -w"
Session=$(realpath "${1:-$(ls -d x64/Demo/Traces/* | tail -n 1)}")

ToWindows()
{
    printf 'Z:%s' "${1//\//\\}"
}

Source=$(Build/FetchSqlite.sh 3.54.1)
mkdir -p "$Work"
if [ ! -f "$Work/sqlite3.dll" ]; then
    $Gcc -I "$Source" -shared -o "$Work/sqlite3.dll" "$Source/sqlite3.c" \
        -Wl,--export-all-symbols
fi

$Gcc -I "$Source" -o "$Work/SqlRows.exe" Benchmarks/Programs/SqlRows.c \
    "$Work/sqlite3.dll"
Path="('$(ToWindows "$Session")')"
Rows=${ROWS:-10000000}
Calls="select function, duration from trace_calls$Path limit $Rows"
Range="from trace_calls$Path where start between 100000000 and 110000000"
Build/RunWine.sh "$Work/SqlRows.exe" "$(ToWindows "$Bin/TracerSqlite.dll")" \
    "${ROUNDS:-5}" "$Rows" \
    "+create table own as $Calls" \
    "+pragma temp_store = memory" \
    "select count(*) from trace_records$Path" \
    "select count(*) from trace_calls$Path" \
    "select sum(duration) from (${Calls/function, /})" \
    "select sum(duration) from own" \
    "select function, count(*), sum(duration) from ($Calls) group by 1" \
    "select function, count(*), sum(duration) from own group by 1" \
    "=$(ToWindows "$Session")" \
    "select count(*) from trace_sessions$Path" \
    "select count(*) from trace_calls$Path where start < 0" \
    "select count(start) $Range" "select function, duration $Range" </dev/null

#!/usr/bin/env bash
#
# What SQL over a session takes beside SQLite itself: processor time, user and
# kernel, of count(*) and sum(duration) over calls and of count(*) over records,
# beside count(*) over a table that does nothing but count to ROWS, in one
# process, in turns.  SQLite is compiled with -O2.
#
# usage: Benchmarks/BenchSql.sh SESSION     default: make demo's
#
# ROUNDS (default 5) is how often each is run, ROWS (default 10,000,000) how far
# the empty table counts.  A line has the median and the fastest in
# milliseconds, what came out, and the statement.

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
Build/RunWine.sh "$Work/SqlRows.exe" "$(ToWindows "$Bin/TracerSqlite.dll")" \
    "${ROUNDS:-5}" "${ROWS:-10000000}" \
    "select count(*) from trace_calls$Path" \
    "select sum(duration) from trace_calls$Path" \
    "select count(*) from trace_records$Path" </dev/null

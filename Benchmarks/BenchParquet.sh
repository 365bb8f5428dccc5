#!/usr/bin/env bash
#
# What TraceReader export --format parquet takes beside report with one worker,
# which pairs and adds up the same calls: processor seconds, user and kernel, in
# turns, of a session from a warm page cache; and of --version, which is what
# the process itself takes.
#
# usage: Benchmarks/BenchParquet.sh SESSION     default: make demo's
#
# ROUNDS (default 5) is how often each is run.  A line has the median, the
# fastest, millions of calls a second of the median less that of --version,
# bytes a call, and what it was.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Parquet
Session=$(realpath "${1:-$(ls -d x64/Demo/Traces/* | tail -n 1)}")

rm -rf "$Work"
mkdir -p "$Work"

python3 - "$Session" "$Work" "$Bin/TraceReader.exe" "${ROUNDS:-5}" <<'END'
import glob
import os
import re
import resource
import statistics
import subprocess
import sys

session, work, reader, rounds = sys.argv[1:]
EXPORT = ('export', '--format', 'parquet', '-o', os.path.join(work, 'out'))
RUNS = {
    '--version': ('--version',),
    'report --workers 1': ('report', '--workers', '1', session),
    'parquet --tables functions': (*EXPORT, '--tables', 'functions', session),
    'parquet --tables calls': (*EXPORT, '--tables', 'calls', session),
    'parquet': (*EXPORT, session),
}


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


seconds = {what: [] for what in RUNS}
written = dict.fromkeys(RUNS, 0)
calls = 0
for number in range(int(rounds) + 1):
    for what, arguments in RUNS.items():
        start = used()
        done = subprocess.run(['Build/RunWine.sh', reader, *arguments],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=True)
        if number:
            seconds[what].append(used() - start)
        files = glob.glob(os.path.join(work, 'out*'))
        written[what] = sum(map(os.path.getsize, files))
        for file in files:
            os.remove(file)
        found = re.search(rb'export: (\d+) calls', done.stderr)
        calls = int(found[1]) if found else calls

base = statistics.median(seconds['--version'])
for what, these in seconds.items():
    middle = statistics.median(these)
    rate = calls / (middle - base) / 1e6 if what != '--version' else 0
    print(f'{middle:8.2f} {min(these):8.2f} {rate:8.1f} '
          f'{written[what] / calls:8.2f}  {what}')
print(calls, 'calls')
END
rm -rf "$Work"

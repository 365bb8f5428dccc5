#!/usr/bin/env bash
#
# What a call of an excluded leaf costs, against that of the same leaf compiled
# without instrumentation, in nanoseconds.
#
# Each program calls two leaves in turn, one of which has no hooks: not
# instrumented at all (bare), instrumented and recorded, and instrumented and
# excluded.  Medians of ROUNDS runs (default 7), each the median of 401 batches
# of 20,000 calls.  Fails if an excluded call costs 2 ns or more above one
# without instrumentation.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Wine=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Work=$PWD/x64/Bench/Exclude
Rounds=${ROUNDS:-7}
Gcc="x86_64-w64-mingw32-gcc -O2"
Source=Benchmarks/Programs/ExcludeCost.c

rm -rf "$Work"
mkdir -p "$Work/traces"

windows() {
    echo "Z:${1//\//\\}"
}

# shellcheck disable=SC2086
build() {
    local name=$1
    shift
    $Gcc "$@" -c "$Source" -o "$Work/$name.o"
    $Gcc -static "$Work/$name.o" "$Bin/TracerPenter.lib" -o "$Work/$name.exe"
}

build bare
build penter -pg -mfentry -mfentry-name=_penter -minstrument-return=call
build function -finstrument-functions
for name in penter function; do
    "$Wine" "$Bin/TraceReader.exe" exclude -o \
        "$(windows "$Work/$name.list")" "$(windows "$Work/$name.exe")" Listed
done

#
# Recorded calls go to a ring, so that no disk is measured.
#

run() {
    local name=$1 program=$2 list=${3:-}
    TRACER_DIRECTORY=$(windows "$Work/traces") TRACER_MODE=ring \
        TRACER_MAX_BYTES=4M TRACER_EXCLUDE=$list \
        "$Wine" "$Work/$program.exe" | tr -d '\r' >>"$Work/$name.txt"
}

for ((round = 0; round < Rounds; round++)); do
    run bare bare
    for name in penter function; do
        run "$name-recorded" "$name"
        run "$name-excluded" "$name" "$(windows "$Work/$name.list")"
    done
    rm -rf "$Work/traces"
    mkdir "$Work/traces"
done

python3 - "$Work" <<'END'
import statistics
import sys

worst = 0
print('%-20s %10s %10s %10s' % ('ns a call', 'plain', 'listed',
                                'difference'))
for name in ('bare', 'penter-recorded', 'penter-excluded',
             'function-recorded', 'function-excluded'):
    with open('%s/%s.txt' % (sys.argv[1], name), encoding='utf-8') as file:
        rows = [[float(word) for word in line.split()] for line in file]
    plain, listed = (statistics.median(column) for column in zip(*rows))
    difference = statistics.median(row[1] - row[0] for row in rows)
    print('%-20s %10.2f %10.2f %10.2f' % (name, plain, listed, difference))
    if name.endswith('excluded'):
        worst = max(worst, difference)
print('an excluded call costs %.2f ns more than one without instrumentation '
      '(limit: 2)' % worst)
sys.exit(worst >= 2)
END

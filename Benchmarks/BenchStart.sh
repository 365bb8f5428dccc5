#!/usr/bin/env bash
#
# What tracing costs a program to start and to end, in microseconds: a process
# from its start to its end, a thread from its start to its end, and what of
# that the session and the stores take, measured through the library's own
# routines with and without the worker thread.
#
# The variants run in turn: LAUNCHES times (default 60) each process, ROUNDS
# times (default 15) 60 threads of each kind, STORE_ROUNDS times (default 60)
# each kind of session.  Medians, nine tenths, and the longest are printed, and
# the median of the ratios of runs that follow each other.  Under Wine most of
# a process's and a thread's time is Wine's own.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Start
Launches=${LAUNCHES:-60}
Rounds=${ROUNDS:-15}
StoreRounds=${STORE_ROUNDS:-60}

Gcc="x86_64-w64-mingw32-gcc -O2 -static"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"
Source=Benchmarks/Programs/StartCost.c

rm -rf "$Work"
mkdir -p "$Work/stores"

# shellcheck disable=SC2086
{
    $Gcc -c "$Source" -o "$Work/bare.o"
    $Gcc $Hooks -c "$Source" -o "$Work/hooked.o"
    $Gcc "$Work/bare.o" -o "$Work/bare.exe"
    $Gcc "$Work/hooked.o" "$Bin/TracerPenterNull.lib" -o "$Work/empty.exe"
    $Gcc "$Work/hooked.o" "$Bin/TracerPenter.lib" -o "$Work/traced.exe"
    $Gcc -ITraceStore -IRtl Benchmarks/Programs/StoreCost.c \
        "$Bin/TraceStore.lib" "$Bin/Asm.lib" "$Bin/Rtl.lib" -lntdll \
        -o "$Work/stores.exe"
}

WindowsWork="Z:${Work//\//\\}"
export TRACER_DIRECTORY="$WindowsWork\\session"

Run() {
    Build/RunWine.sh "$Work/$1.exe" "${@:2}" | tr -d '\r'
}

#
# Lines of "GROUP VARIANT WHAT MICROSECONDS".
#

Launch() {
    Run bare launch "$1" "$WindowsWork\\bare.exe" "$WindowsWork\\empty.exe" \
        "-$WindowsWork\\traced.exe" "$WindowsWork\\traced.exe" |
        while read -r Variant Time; do
            set -- bare empty off traced
            echo "process ${*:Variant + 1:1} process $Time"
        done
    rm -rf "$Work/session"
}

Threads() {
    local Variant

    for Variant in bare empty off traced; do
        local Enabled=1 Program=$Variant

        if [ "$Variant" = off ]; then
            Enabled=0
            Program=traced
        fi
        TRACER_ENABLED=$Enabled Run "$Program" threads 60 |
            while read -r What Time; do
                echo "thread $Variant $What $Time"
            done
        rm -rf "$Work/session"
    done
}

Launch 2 >/dev/null
Threads >/dev/null
Run stores 1 "$WindowsWork\\stores" >/dev/null
rm -rf "$Work/stores"

{
    Launch "$Launches"
    for ((Round = 1; Round <= Rounds; Round += 1)); do
        Threads
    done
    mkdir "$Work/stores"
    Run stores "$StoreRounds" "$WindowsWork\\stores" | sed 's/^/store /'
    rm -rf "$Work/stores"
} >"$Work/figures"

python3 - "$Work/figures" <<'EOP'
import statistics
import sys

figures = {}
for line in open(sys.argv[1]):
    group, variant, what, time = line.split()
    figures.setdefault((group, variant, what), []).append(float(time))


def show(name, times, meaning=""):
    times = sorted(times)
    line = (f"{name:28}{statistics.median(times):10.1f}"
            f"{times[len(times) * 9 // 10]:10.1f}{times[-1]:10.1f}"
            f"{len(times):8}   {meaning}")
    print(line.rstrip())


def title(text):
    print(f"{text:28}{'median':>10}{'9 of 10':>10}{'longest':>10}{'runs':>8}")


variants = {
    "bare": "not instrumented",
    "empty": "TracerPenterNull.lib",
    "off": "TracerPenter.lib, TRACER_ENABLED=0",
    "traced": "TracerPenter.lib, one store",
}
for group, text in (("process", "A process"), ("thread", "A thread")):
    title(text)
    for variant, meaning in variants.items():
        show(variant, figures[group, variant, group], meaning)
    for above, below in (("empty", "bare"), ("off", "bare"),
                         ("traced", "bare")):
        pairs = list(zip(figures[group, above, group],
                         figures[group, below, group]))
        print(f"{above} / {below}: "
              f"{statistics.median(a / b for a, b in pairs):.3f}, "
              f"{statistics.median(a - b for a, b in pairs):+.1f} us")
    print()

steps = [("session-open", "session: open"),
         ("first-attach", "first store: open"),
         ("attach", "further store: open"), ("detach", "store: close"),
         ("session-close", "session: close")]
cases = [("few", "20 records a store"),
         ("worker", "20,000 records, a worker"),
         ("alone", "20,000 records, no worker")]
for case, text in cases:
    title(text)
    for what, name in steps:
        show(name, figures["store", case, what])
    print()
for what, name in steps:
    pairs = zip(figures["store", "worker", what],
                figures["store", "alone", what])
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name}: with / without a worker: {ratio:.3f}")
EOP

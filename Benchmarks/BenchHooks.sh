#!/usr/bin/env bash
#
# Benchmarks/BenchHooks.sh [--write FILE]
#
# What the hooks cost, in nanoseconds per call: one entry and one exit.
#
# One source is built bare, with empty hooks, with hooks that only read the
# clock (the floor), and traced; BenchHooks.py runs the programs in turn,
# ROUNDS times over (default 15), and prints medians, the best and the worst,
# and the ratios of runs of the same round:
#
#   - a leaf in a loop, and the recursive Fibonacci function, in one thread:
#     bare, empty, filtered, stopped, floor, traced, and traced with the other
#     clocks;
#   - the loop in two threads on two processors at once: floor, traced;
#   - single calls, each between two rdtsc, in one thread and in two: bare,
#     floor, traced; their distribution;
#   - how often and how long the traced thread waited, as TraceReader says.
#
# Every traced run of the loops makes at least 2 GiB of records, all of which
# are counted afterwards; everything is in the figure, the first call, page
# faults, view changes and the kernel's write-back too.  Before each run the
# session of the run before is deleted and the file systems are synchronized,
# so that its write-back is not in the figures of the next.  A variant whose
# settings turn out not to have been in force is "not supported".
#
# A virtual machine's host may take free memory back, and give it again at the
# first touch of each page, which takes microseconds: tens of nanoseconds a
# call that have nothing to do with the program.  So Programs/Warm.c, a plain
# native program, holds 2.75 GiB (half of the available memory at most)
# that it has touched, and while a traced program runs it gives back as much as
# that program uses.  To touch 3 GiB and end before the run is not enough: such
# a host has most of it back within a second, unless the kernel can be told not
# to report free pages (page_reporting_order; for root): then that is done until
# the bench ends, and Warm ends before the run.  WARM=0 leaves all this out.
#
# LEAF_CALLS, FIB_DEPTH, THREAD_CALLS and SINGLE_CALLS set other sizes.
# --write FILE, or PERFORMANCE=FILE, also puts the tables into FILE, between
# the two lines that mark their place.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Hooks

MingwGcc="x86_64-w64-mingw32-gcc -O2 -fno-inline -fno-optimize-sibling-calls
          -falign-functions=64 -falign-loops=64"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"
Programs=Benchmarks/Programs

rm -rf "$Work"
mkdir -p "$Work"

cc -O2 -o "$Work/warm" "$Programs/Warm.c"
nasm -f win64 -o "$Work/Floor.obj" "$Programs/Floor.asm"

#
# Build NAME: Programs/NAME.c in all variants.
#

Build() {
    local Name=$1

    # shellcheck disable=SC2086
    {
        $MingwGcc -c "$Programs/$Name.c" -o "$Work/$Name.bare.o"
        $MingwGcc $Hooks -c "$Programs/$Name.c" -o "$Work/$Name.hooked.o"
        $MingwGcc "$Work/$Name.bare.o" -o "$Work/$Name-bare.exe"
        $MingwGcc "$Work/$Name.hooked.o" "$Bin/TracerPenterNull.lib" \
            -o "$Work/$Name-empty.exe"
        $MingwGcc "$Work/$Name.hooked.o" "$Work/Floor.obj" \
            -o "$Work/$Name-floor.exe"
        $MingwGcc "$Work/$Name.hooked.o" "$Bin/TracerPenter.lib" \
            -o "$Work/$Name-traced.exe"
    }
}

Build HookCost
Build HookPairs

exec python3 Benchmarks/BenchHooks.py "$@"

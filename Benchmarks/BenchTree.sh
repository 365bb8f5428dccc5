#!/usr/bin/env bash
#
# What a pair of hooks costs with TRACER_MODE=tree, beside hooks that only read
# the clock (the floor) and hooks that write records.
#
#   - HookCost.c: a leaf in a loop, and the recursive Fibonacci function;
#     nanoseconds per call, of the call itself too; and the same with frame
#     pointers, as all functions have that are compiled without optimization;
#   - Lua, as in `make demo`, with Peers/Calls.lua, which spends its time in
#     short calls: what the run takes longer than without hooks, per call, in
#     time of the processor.
#
# The programs run in turn, ROUNDS times over (default 9).  Medians are
# printed, and the medians of the ratios to the floor of the same round.
# LEAF_CALLS, FIB_DEPTH and LUA_ROUNDS set other sizes.  Warm.c
# (BenchHooks.sh) is not needed: a tree needs no memory to speak of.  Records
# do, so each session of them is deleted before the next run.

set -euo pipefail

cd "$(dirname "$0")/.."

export TRACER_BIN=${TRACER_BIN:-$PWD/x64/Release}
export TRACER_WINE=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Work=$PWD/x64/Bench/Tree
Gcc="x86_64-w64-mingw32-gcc -O2"
Plain="-fno-inline -fno-optimize-sibling-calls -falign-functions=64
       -falign-loops=64"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call
       -fno-optimize-sibling-calls"
Programs=Benchmarks/Programs

rm -rf "$Work"
mkdir -p "$Work/lua"

#
# Link NAME BARE-OBJECTS HOOKED-OBJECTS: the variants of a program.
#

Link() {
    # shellcheck disable=SC2086
    {
        $Gcc $2 -static -o "$Work/$1-bare.exe"
        $Gcc $3 "$Work/Floor.obj" -static -o "$Work/$1-floor.exe"
        $Gcc $3 "$TRACER_BIN/TracerPenter.lib" -static \
            -o "$Work/$1-traced.exe"
    }
}

nasm -f win64 -o "$Work/Floor.obj" "$Programs/Floor.asm"
# shellcheck disable=SC2086
{
    $Gcc $Plain -c "$Programs/HookCost.c" -o "$Work/bare.o"
    $Gcc $Plain $Hooks -c "$Programs/HookCost.c" -o "$Work/hooked.o"
}
Link HookCost "$Work/bare.o" "$Work/hooked.o"
# shellcheck disable=SC2086
{
    $Gcc $Plain -fno-omit-frame-pointer -c "$Programs/HookCost.c" \
        -o "$Work/bare-frames.o"
    $Gcc $Plain -fno-omit-frame-pointer $Hooks -c "$Programs/HookCost.c" \
        -o "$Work/hooked-frames.o"
}
Link Frames "$Work/bare-frames.o" "$Work/hooked-frames.o"

Source=$(Build/FetchLua.sh || true)
if [ -n "$Source" ]; then
    for File in "$Source"/*.c; do
        Name=$(basename "$File" .c)
        [ "$Name" != luac ] || continue
        # shellcheck disable=SC2086
        {
            $Gcc -fno-optimize-sibling-calls -c "$File" \
                -o "$Work/lua/$Name.bare.o"
            $Gcc $Hooks -c "$File" -o "$Work/lua/$Name.hooked.o"
        }
    done
    Link Lua "$(echo "$Work"/lua/*.bare.o)" "$(echo "$Work"/lua/*.hooked.o)"
fi

exec python3 Benchmarks/BenchTree.py "$Work"

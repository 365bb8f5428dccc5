#!/usr/bin/env bash
#
# Benchmarks/BenchImports.sh
#
# What a call through a stub of TracerImports.dll costs, in nanoseconds, beside
# the same call bare, hooks that only read the clock (the floor), and a function
# with hooks: all recorded to a ring.  A small stub, which copies 17 arguments
# from the stack, is what the system's functions have (so the DLL gets a name of
# the system's that Wine has none of); a large one copies 61.
# And what loading the DLL costs, in milliseconds: with lists that have nothing,
# and with all imports of all modules patched.
#
# The programs run in turn, ROUNDS times over (default 9); medians are printed,
# and in brackets the best and the worst.  CALLS sets how many calls each makes.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Wine=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Work=$PWD/x64/Bench/Imports
Rounds=${ROUNDS:-9}
Calls=${CALLS:-20000000}
Source=$PWD/Benchmarks/Programs/ImportsCost.c
Gcc="x86_64-w64-mingw32-gcc -O2 -fno-inline -falign-functions=64
     -falign-loops=64"
System=${TRACER_WINE_PREFIX:-$PWD/x64/Wine}/drive_c/windows/system32

rm -rf "$Work"
mkdir -p "$Work"
trap 'rm -f "$System/gdi32full.dll"' EXIT

# shellcheck disable=SC2086
(
    cd "$Work"
    nasm -f win64 -o Floor.obj ../../../Benchmarks/Programs/Floor.asm
    for Name in Leaf gdi32full; do
        $Gcc -shared -DLEAF "$Source" -o $Name.dll \
            -Wl,--out-implib,lib$Name.a
        $Gcc "$Source" lib$Name.a -o Call$Name.exe
    done
    $Gcc -DHOOKED -pg -mfentry -mfentry-name=_penter \
        -minstrument-return=call -c "$Source" -o hooked.o
    $Gcc hooked.o Floor.obj -o Floor.exe
    $Gcc hooked.o "$Bin/TracerPenter.lib" -o Hooked.exe
    $Gcc "$Source" libLeaf.a -o Load.exe -luser32 -lws2_32 -lole32 -lshell32
    mv gdi32full.dll "$System"
    cp "$Bin/TracerImports.dll" .
)

export TRACER_MIN_FREE=0 TRACER_MODE=ring
export TRACER_DIRECTORY='Z:'${Work//\//\\}'\traces'

Run()
{
    local Name=$1
    shift
    (cd "$Work" && "$Wine" "$@" 2>/dev/null) | tr -d '\r' >>"$Work/$Name.txt"
    rm -rf "$Work/traces"
}

Reader=$Bin/TraceReader.exe
for ((Round = 0; Round < Rounds; Round += 1)); do
    Run bare CallLeaf.exe "$Calls"
    Run floor Floor.exe "$Calls"
    Run hooked Hooked.exe "$Calls"
    Run small "$Reader" run --no-symbols --imports gdi32full -- \
        Callgdi32full.exe "$Calls"
    Run large "$Reader" run --no-symbols --imports leaf -- \
        CallLeaf.exe "$Calls"
    TRACER_IMPORTS=nothing Run load-nothing Load.exe load
    TRACER_IMPORTS='*' Run load-all Load.exe load
done

for Name in bare floor hooked small large load-nothing load-all; do
    sort -n "$Work/$Name.txt" | awk -v Name=$Name '
        { Value[NR] = $1 }
        END { printf "%-13s %8.2f  [%.2f, %.2f]\n", Name,
              Value[int((NR + 1) / 2)], Value[1], Value[NR] }'
done

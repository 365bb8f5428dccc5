#!/usr/bin/env bash
#
# What the hooks cost: nanoseconds per call of a leaf in a loop and of the
# recursive Fibonacci function, from one source built bare, with empty hooks,
# with hooks that only read the clock (the floor), and traced to a file.
#
# The variants run in turn, ROUNDS times over (default 15); the medians are
# printed, and the ratio of each round's traced run to its own floor run.  The
# traced figure has everything in it: the first call, page faults, view
# changes, the kernel's write-back.  LEAF_CALLS (default 20,000,000) and
# FIB_DEPTH (default 35, 29,860,703 calls) make 1.5 GiB of records a run.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Hooks
Rounds=${ROUNDS:-15}
LeafCalls=${LEAF_CALLS:-20000000}
FibDepth=${FIB_DEPTH:-35}

Gcc="x86_64-w64-mingw32-gcc -O2 -fno-inline -fno-optimize-sibling-calls
     -falign-functions=64 -falign-loops=64"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"
Source=Benchmarks/Programs/HookCost.c

rm -rf "$Work"
mkdir -p "$Work"

# shellcheck disable=SC2086
{
    nasm -f win64 -o "$Work/Floor.obj" Benchmarks/Programs/Floor.asm
    $Gcc -c "$Source" -o "$Work/bare.o"
    $Gcc $Hooks -c "$Source" -o "$Work/hooked.o"
    $Gcc "$Work/bare.o" -o "$Work/bare.exe"
    $Gcc "$Work/hooked.o" "$Bin/TracerPenterNull.lib" -o "$Work/empty.exe"
    $Gcc "$Work/hooked.o" "$Work/Floor.obj" -o "$Work/floor.exe"
    $Gcc "$Work/hooked.o" "$Bin/TracerPenter.lib" -o "$Work/traced.exe"
    cp "$Work/traced.exe" "$Work/filtered.exe"
}

#
# The program as it was built is one thing, its loader's mood another: one run
# of each beforehand warms the page cache and starts Wine's server.
#

Run() {
    local Variant=$1
    local Modules=

    [ "$Variant" = filtered ] && Modules='-filtered'
    rm -rf "$Work/session"
    TRACER_DIRECTORY="Z:${Work//\//\\}\\session" TRACER_MODULES=$Modules \
        Build/RunWine.sh "$Work/$Variant.exe" "$2" "$3" | tr -d '\r'
    rm -rf "$Work/session"
}

Variants="bare empty filtered floor traced"
for Variant in $Variants; do
    Run "$Variant" 1000 10 >/dev/null
done

for ((Round = 1; Round <= Rounds; Round += 1)); do
    for Variant in $Variants; do
        Run "$Variant" "$LeafCalls" "$FibDepth" |
            while read -r Shape Calls Cost; do
                echo "$Round $Variant $Shape $Calls $Cost"
            done
    done
done >"$Work/figures"

python3 - "$Work/figures" <<'EOF'
import statistics
import sys

figures = {}
for line in open(sys.argv[1]):
    number, variant, shape, calls, cost = line.split()
    figures.setdefault((shape, variant), {})[number] = float(cost)

variants = ["bare", "empty", "filtered", "floor", "traced"]
meaning = {
    "bare": "not instrumented",
    "empty": "TracerPenterNull.lib",
    "filtered": "TracerPenter.lib, left out by TRACER_MODULES",
    "floor": "two rdtsc and nothing else",
    "traced": "TracerPenter.lib, every record to a file",
}

print("Hook cost, ns per call (one enter and one exit), median of",
      len(figures["leaf", "bare"]), "interleaved runs")
print()
print(f"{'':10}{'leaf':>8}{'fib':>8}")
for variant in variants:
    leaf = statistics.median(figures["leaf", variant].values())
    fib = statistics.median(figures["fib", variant].values())
    print(f"{variant:10}{leaf:8.2f}{fib:8.2f}   {meaning[variant]}")
print()
for above, below in (("traced", "floor"), ("filtered", "empty")):
    for shape in ("leaf", "fib"):
        ratios = [figures[shape, above][n] / figures[shape, below][n]
                  for n in figures[shape, above]]
        print(f"{shape}: {above} / {below}: median {statistics.median(ratios):.3f}, "
              f"best {min(ratios):.3f}, worst {max(ratios):.3f}")
EOF

#!/usr/bin/env bash
#
# What it costs to fill and to copy whole pages, in nanoseconds per 4 KiB:
# AsmFillPages and AsmCopyPages and the same in C, beside rep stosb and rep
# movsb and the C libraries' memset and memcpy (msvcrt and ucrtbase under Wine,
# the system's own natively), for sizes from 4 KiB to 64 MiB:
#
#   - again: the same memory over and over, in the caches if it fits;
#   - next: memory that is in no cache;
#   - ordinary stores against non-temporal ones, and the sizes from which on the
#     latter are the better choice;
#   - the pages of a view of a file: ways to make them ready, and what it then
#     costs to write records into them.
#
# All run in turn, ROUNDS times over (default 7); medians are printed, and
# medians of the ratios of the same round.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Pages
Rounds=${ROUNDS:-7}
Source=Benchmarks/Programs/PageCost.c

rm -rf "$Work"
mkdir -p "$Work"

#
# The product's own source, with the choice of stores taken away from it.
#

for Name in Fill Copy; do
    for Kind in Cached Stream; do
        From=0
        [ $Kind = Stream ] || From=0x7FFFFFFF
        nasm -f win64 -IAsm/ "-DAsm${Name}Pages=$Kind${Name}Pages" \
            "-D${Name^^}_PAGES_STREAM=$From" "Asm/${Name}Pages.asm" \
            -o "$Work/$Kind$Name.obj"
    done
done
x86_64-w64-mingw32-gcc -O2 -static "$Source" "$Work"/*.obj "$Bin/Asm.lib" \
    -o "$Work/PageCost.exe"
cc -O2 -o "$Work/PageCost" "$Source"

for ((Round = 1; Round <= Rounds; Round += 1)); do
    for Again in "" again; do
        # shellcheck disable=SC2086
        {
            Build/RunWine.sh "$Work/PageCost.exe" memory 128 $Again
            "$Work/PageCost" memory 128 $Again
        }
    done
    Build/RunWine.sh "$Work/PageCost.exe" file "Z:${Work//\//\\}\\view" 64
done | tr -d '\r' >"$Work/figures"

python3 - "$Work/figures" <<'END'
import statistics
import sys

figures = {}
for line in open(sys.argv[1]):
    what, way, size, *times = line.split()
    times = [float(time) for time in times]
    figures.setdefault((what, int(size)), {}).setdefault(way, []).append(times)
sizes = sorted({size for what, size in figures if what == "fill-next"})


def median(what, size, way, which=0):
    return statistics.median(
        times[which] for times in figures[what, size][way])


def ratio(what, size, above, below):
    pairs = zip(figures[what, size][above], figures[what, size][below])
    return statistics.median(one[0] / other[0] for one, other in pairs)


def text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


rounds = len(figures["fill-next", sizes[0]]["asm"])
print(f"Pages: nanoseconds per 4 KiB, medians of {rounds} rounds; ratios of "
      "the same round,")
print("above 1 where AsmFillPages or AsmCopyPages is faster")
for verb in ("fill", "copy"):
    string = {"fill": "rep stosb", "copy": "rep movsb"}[verb]
    for kind, meaning in (("again", "the same memory again and again"),
                          ("next", "memory that is in no cache")):
        print(f"\n{verb}, {meaning}")
        print(f"{'':8}{'asm':>8}{'C':>8}{string:>11}{'msvcrt':>8}{'ucrt':>8}"
              f"{'| natively: rep':>17}{'glibc':>8} |{'rep/asm':>8}"
              f"{'ucrt/asm':>9}")
        for size in sizes:
            what = f"{verb}-{kind}"
            row = [median(what, size, way) for way in
                   ("asm", "c", "rep", "msvcrt", "ucrt", "native-rep",
                    "native")]
            print(f"{text(size):8}{row[0]:8.1f}{row[1]:8.1f}{row[2]:11.1f}"
                  f"{row[3]:8.1f}{row[4]:8.1f}{row[5]:17.1f}{row[6]:8.1f} |"
                  f"{ratio(what, size, 'rep', 'asm'):8.2f}"
                  f"{ratio(what, size, 'ucrt', 'asm'):9.2f}")

#
# A caller knows the size, but not what is in the caches.  Where both taken
# together, the stores that go past them are faster by more than 3 %, at
# this size and at all larger ones, they are the better choice.
#

print("\nordinary stores / non-temporal stores: above 1 where the latter are "
      "faster")
print(f"{'':8}{'fill: again':>12}{'next':>8}{'mean':>8}"
      f"{'copy: again':>14}{'next':>8}{'mean':>8}")
means = {"fill": {}, "copy": {}}
for size in sizes:
    line = f"{text(size):8}"
    for verb, width in (("fill", 12), ("copy", 14)):
        again = ratio(f"{verb}-again", size, "cached", "stream")
        following = ratio(f"{verb}-next", size, "cached", "stream")
        means[verb][size] = (again * following) ** 0.5
        line += f"{again:{width}.2f}{following:8.2f}{means[verb][size]:8.2f}"
    print(line)
for verb, mean in means.items():
    good = [size for size in sizes
            if all(mean[other] > 1.03 for other in sizes if other >= size)]
    print(f"{verb}: non-temporal from {text(good[0]) if good else 'no size'}"
          " on")

print("\nthe pages of a view of a file, to make them ready and to write "
      "records into them")
print(f"{'':16}{'new: ready':>11}{'records':>9}{'both':>8}"
      f"{'mapped again: ready':>22}{'records':>9}{'both':>8}")
size = next(size for what, size in figures if what == "view-new")
for way in figures["view-new", size]:
    line = f"{way:16}"
    for what, width in (("view-new", 11), ("view-old", 22)):
        both = statistics.median(map(sum, figures[what, size][way]))
        line += (f"{median(what, size, way):{width}.0f}"
                 f"{median(what, size, way, 1):9.0f}{both:8.0f}")
    print(line)
END

#!/usr/bin/env bash
#
# How fast TraceReader report reads, symbols and all, from a warm page cache:
# records per second and core, with one worker, beside the rate at which a
# program adds up the same records from the same kind of mapping and does
# nothing else (the limit), and the most memory that it had; the same of a pack
# of the session, and its bytes for each call.  Then the same of the other
# commands that add calls up, beside their rate by the general rules
# alone (--general).
#
# The sessions are of Benchmarks/Programs/HookCost.c (LEAF_CALLS, default
# 12,000,000, of a leaf, and the Fibonacci function of FIB_DEPTH, default 31)
# and, if Lua's source has been fetched (make demo does that), of Lua.
#
# Limit and report run in turn, ROUNDS times over (default 5), after one run of
# each that warms the cache; medians are printed, and the median of the ratios
# of the rounds.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Reader
Rounds=${ROUNDS:-5}
LeafCalls=${LEAF_CALLS:-12000000}
FibDepth=${FIB_DEPTH:-31}
LuaRounds=${LUA_ROUNDS:-16}

Gcc="x86_64-w64-mingw32-gcc -O2 -gdwarf-4"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"

rm -rf "$Work"
mkdir -p "$Work/objects"

ToWindows()
{
    printf 'Z:%s' "${1//\//\\}"
}

# shellcheck disable=SC2086
{
    $Gcc Benchmarks/Programs/SumRecords.c -o "$Work/SumRecords.exe"
    $Gcc $Hooks -fno-inline -fno-optimize-sibling-calls \
        -c Benchmarks/Programs/HookCost.c -o "$Work/HookCost.o"
    $Gcc "$Work/HookCost.o" "$Bin/TracerPenter.lib" -o "$Work/HookCost.exe"
}

TRACER_DIRECTORY=$(ToWindows "$Work/HookCost") \
    Build/RunWine.sh "$Work/HookCost.exe" "$LeafCalls" "$FibDepth" >/dev/null
Names=HookCost
declare -A Functions=([HookCost]=Fibonacci [Lua]=luaC_step)

Source=$(find "$(dirname "$Bin")/Lua" -name lapi.c -printf '%h\n' -quit \
    2>/dev/null || true)
if [ -n "$Source" ]; then
    # shellcheck disable=SC2086
    find "$Source" -name '*.c' ! -name luac.c -print0 |
        xargs -0 -P 2 -I '{}' sh -c \
            'exec '"$Gcc $Hooks"' -c "$1" -o "$0/$(basename "$1" .c).o"' \
            "$Work/objects" '{}'
    $Gcc "$Work"/objects/*.o "$Bin/TracerPenter.lib" -static -o "$Work/lua.exe"
    TRACER_DIRECTORY=$(ToWindows "$Work/Lua") \
        Build/RunWine.sh "$Work/lua.exe" \
        "$(ToWindows "$PWD/Tests/Programs/demo.lua")" "$LuaRounds" >/dev/null
    Names="$Names Lua"
fi

for Name in $Names; do
    rm -f "$Work/$Name.tracepack"
    Build/RunWine.sh "$Bin/TraceReader.exe" pack \
        -o "$(ToWindows "$Work/$Name.tracepack")" \
        "$(ToWindows "$Work/$Name")" >/dev/null
done

Commands=('tree' 'callers FUNCTION' 'export --format folded'
    'export --format callgrind' 'hot' 'report --subtract-probe'
    'outliers FUNCTION')

#
# Arguments COMMAND NAME: what a command takes before the session.
#

Arguments()
{
    case $1 in
        export*) printf -- '-o %s ' "$(ToWindows "$Work/exported")" ;;
    esac
    case $1 in
        outliers*) ;;
        *) printf -- '--workers 1 ' ;;
    esac
    case $1 in
        *FUNCTION) printf '%s' "${Functions[$2]}" ;;
    esac
}

for ((Round = 0; Round <= Rounds; Round += 1)); do
    for Name in $Names; do
        Store=$(find "$Work/$Name" -name '*.trace' -size +1M)
        echo "$Round $Name limit $(Build/RunWine.sh "$Work/SumRecords.exe" \
            "$(ToWindows "$Store")" | tr -d '\r')"
        echo "$Round $Name report $(Build/RunWine.sh "$Bin/TraceReader.exe" \
            report --verbose --workers 1 \
            "$(ToWindows "$(dirname "$Store")")" 2>&1 >/dev/null |
            tr -d '\r' | grep 'peak working set')"
        echo "$Round $Name packed $(Build/RunWine.sh "$Bin/TraceReader.exe" \
            report --verbose --workers 1 \
            "$(ToWindows "$Work/$Name.tracepack")" 2>&1 >/dev/null |
            tr -d '\r' | grep 'peak working set')" \
            "$(stat -c %s "$Work/$Name.tracepack")"
        for Command in "${Commands[@]}"; do
            for Way in '' --general; do
                rm -f "$Work/exported"
                # shellcheck disable=SC2046,SC2086
                echo "$Round $Name ${Command// /_}$Way $(Build/RunWine.sh \
                    "$Bin/TraceReader.exe" ${Command/FUNCTION/} --verbose \
                    $Way $(Arguments "$Command" "$Name") \
                    "$(ToWindows "$(dirname "$Store")")" 2>&1 >/dev/null |
                    tr -d '\r' | grep 'peak working set')"
            done
        done
    done
done >"$Work/figures"

python3 - "$Work/figures" <<'END'
import re
import statistics
import sys

COST = re.compile(r'TraceReader: (\d+) records .* in (\d+) us by 1 .*'
                  r'peak working set (\d+) KiB')
rates, records, memory, sizes = {}, {}, {}, {}
for line in open(sys.argv[1]):
    number, name, what, rest = line.rstrip('\n').split(' ', 3)
    if number == '0':
        continue
    if what == 'limit':
        count, time = map(int, rest.split()[:2])
    elif what == 'packed':
        count, time, _ = map(int, COST.match(rest).groups())
        sizes[name] = int(rest.split()[-1])
    elif what != 'report':
        count, time, _ = map(int, COST.match(rest).groups())
    else:
        count, time, peak = map(int, COST.match(rest).groups())
        records[name] = count
        memory[name] = max(memory.get(name, 0), peak)
    rates.setdefault((name, what), {})[number] = count / time

print('TraceReader report, warm page cache, one worker: millions of records '
      'a second,')
print('median of', len(next(iter(rates.values()))), 'interleaved runs')
print()
print(f"{'':10}{'records':>12}{'report':>9}{'best':>9}{'limit':>9}"
      f"{'ratio':>8}{'memory':>10}")
for name in records:
    report, limit = rates[name, 'report'], rates[name, 'limit']
    ratio = statistics.median(limit[n] / report[n] for n in report)
    print(f"{name:10}{records[name]:12}"
          f"{statistics.median(report.values()):9.1f}"
          f"{max(report.values()):9.1f}"
          f"{statistics.median(limit.values()):9.1f}{ratio:8.2f}"
          f"{memory[name] / 1024:6.1f} MiB")
print()
print(f"{'of a pack':22}{'report':>9}{'ratio':>8}{'bytes a call':>14}")
for name in records:
    packed = rates[name, 'packed']
    ratio = statistics.median(packed[n] / rates[name, 'report'][n]
                              for n in packed)
    print(f"{name:22}{statistics.median(packed.values()):9.1f}{ratio:8.2f}"
          f"{2 * sizes[name] / records[name]:14.2f}")
print()
print(f"{'':38}{'now':>9}{'general':>9}")
for name, what in rates:
    if what not in ('limit', 'report', 'packed') and not what.endswith('--general'):
        ways = [statistics.median(rates[name, way].values())
                for way in (what, what + '--general')]
        print(f"{name:10}{what.replace('_', ' '):28}"
              f"{ways[0]:9.1f}{ways[1]:9.1f}")
END
rm -rf "$Work/HookCost" "$Work/Lua"

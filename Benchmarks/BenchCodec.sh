#!/usr/bin/env bash
#
# Benchmarks/BenchCodec.sh
#
# How small and how fast the codec (Codec/) is, beside lz4 and zstd at their
# fastest levels and a copy, on the records of
#
#   - Lua, as in `make demo` (if its source has been fetched);
#   - SQLite's speedtest1, of Debian's source package sqlite3 (if it can be
#     fetched, and tclsh is there to put its source together);
#   - Sample.c, a thread of four, and HookCost.c;
#   - Lua and SQLite with noise on every time, as a finer clock would give.
#
# Each of the programs runs once more with TRACER_MODE=compact: bytes a call of
# its session on disk, and of the session's pack.
#
# All ways run in turn, ROUNDS times over (default 7); medians are printed, of
# processor time.  The codec's sources are built natively with clang-19 -O2;
# then CodecSpeed runs under Wine, linked with the objects of the products, and
# takes the clock's time.  Docs/figures/Codec.md has the tables.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Wine=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Out=$(dirname "$Bin")
Work=$PWD/x64/Bench/Codec
Rounds=${ROUNDS:-7}
LuaRounds=${LUA_ROUNDS:-3}

Gcc="x86_64-w64-mingw32-gcc -O2"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"

rm -rf "$Work"
mkdir -p "$Work/objects" "$Work/amalgamation"

ToWindows()
{
    printf 'Z:%s' "${1//\//\\}"
}

#
# Trace NAME PROGRAM ARGUMENT...: the store of it that is largest gets a word
# in Stores.
#

Stores=()
Names=()
Trace()
{
    local Name=$1
    shift
    TRACER_DIRECTORY=$(ToWindows "$Work/$Name") "$Wine" "$@" \
        >"$Work/$Name.log" 2>&1 </dev/null || true
    Stores+=("$Name=$(find "$Work/$Name" -name '*.trace' -printf '%s %p\n' |
        sort -n | tail -n 1 | cut -d ' ' -f 2-)")

    TRACER_MODE=compact TRACER_DIRECTORY=$(ToWindows "$Work/$Name-compact") \
        "$Wine" "$@" >>"$Work/$Name.log" 2>&1 </dev/null || true
    "$Wine" "$Bin/TraceReader.exe" info --json \
        "$(ToWindows "$Work/$Name-compact")" \
        >"$Work/$Name-compact.json" </dev/null
    "$Wine" "$Bin/TraceReader.exe" pack "$(ToWindows "$Work/$Name-compact")" \
        --output "$(ToWindows "$Work/$Name.pack")" >>"$Work/$Name.log" </dev/null
    rm -rf "$Work/$Name-compact"
    Names+=("$Name")
}

Source=$(find "$Out/Lua" -name lapi.c -printf '%h\n' -quit 2>/dev/null || true)
if [ -n "$Source" ]; then
    find "$Source" -name '*.c' ! -name luac.c -print0 |
        xargs -0 -P 2 -I '{}' sh -c \
            'exec '"$Gcc $Hooks"' -c "$1" -o "$0/$(basename "$1" .c).o"' \
            "$Work/objects" '{}'
    $Gcc "$Work"/objects/*.o "$Bin/TracerPenter.lib" -static -o "$Work/lua.exe"
    Trace Lua "$Work/lua.exe" "$(ToWindows "$PWD/Tests/Programs/demo.lua")" \
        "$LuaRounds"
fi

#
# SQLite is one source of nine megabytes, which its own scripts put together.
#

Test=
if command -v tclsh >/dev/null; then
    Test=$(Build/FetchSource.sh sqlite3 test/speedtest1.c "$Out/Sqlite") ||
        Test=
fi

if [ -n "$Test" ] && (cd "$Work/amalgamation" &&
    "${Test%/test}/configure" --disable-tcl --disable-readline &&
    make sqlite3.c) >"$Work/amalgamation.log" 2>&1; then
    # shellcheck disable=SC2086
    {
        $Gcc $Hooks -I"$Work/amalgamation" -DSQLITE_THREADSAFE=0 \
            -DSQLITE_OMIT_LOAD_EXTENSION -c "$Work/amalgamation/sqlite3.c" \
            -o "$Work/sqlite3.o"
        $Gcc $Hooks -I"$Work/amalgamation" -c "$Test/speedtest1.c" \
            -o "$Work/speedtest1.o"
    }
    $Gcc "$Work/sqlite3.o" "$Work/speedtest1.o" "$Bin/TracerPenter.lib" \
        -static -o "$Work/speedtest1.exe"
    Trace SQLite "$Work/speedtest1.exe" --size 3 --memdb --nosync
else
    echo "SQLite is left out: its source or tclsh is not to be had"
fi

# shellcheck disable=SC2086
{
    $Gcc $Hooks -fno-inline -c Tests/Programs/Sample.c -o "$Work/Sample.o"
    $Gcc $Hooks -fno-inline -fno-optimize-sibling-calls \
        -c Benchmarks/Programs/HookCost.c -o "$Work/HookCost.o"
}
$Gcc "$Work/Sample.o" "$Bin/TracerPenter.lib" -o "$Work/Sample.exe"
$Gcc "$Work/HookCost.o" "$Bin/TracerPenter.lib" -o "$Work/HookCost.exe"
Trace Sample "$Work/Sample.exe" 4 300
Trace HookCost "$Work/HookCost.exe" 2000000 27

for Store in "${Stores[@]}"; do
    case $Store in
        Lua=*|SQLite=*) Stores+=("+$Store") ;;
    esac
done

clang-19 -O2 -std=c11 -fno-builtin -D_DEFAULT_SOURCE \
    Benchmarks/Programs/CodecSpeed.c Codec/*.c -ldl -o "$Work/CodecSpeed"
$Gcc -w Benchmarks/Programs/CodecSpeed.c "$Bin/Codec.lib" -static \
    -o "$Work/CodecSpeed.exe"

"$Work/CodecSpeed" "$Rounds" "${Stores[@]}" >"$Work/native"
Windows=()
for Store in "${Stores[@]}"; do
    Windows+=("${Store%%=*}=$(ToWindows "${Store#*=}")")
done
"$Wine" "$Work/CodecSpeed.exe" "$Rounds" "${Windows[@]}" </dev/null |
    tr -d '\r' >"$Work/wine"

python3 - "$Work" "$Rounds" "${Names[@]}" <<'END'
import json
import os
import sys

folder, rounds, *names = sys.argv[1:]
print(f'The codec: bytes a call, and GB/s of records encoded and decoded; '
      f'medians of {rounds} interleaved rounds')
for name, what in (('native', 'native, processor time'),
                   ('wine', "the products' objects under Wine")):
    print()
    print(f'{what:40}{"records":>12}{"B a call":>10}{"encode":>8}{"decode":>8}')
    for line in open(f'{folder}/{name}'):
        store, way, count, size, encode, decode = line.rstrip().split('|')
        if name == 'wine' and way == 'copy':
            continue
        print(f'{store:10}{way:30}{count:>12}{size:>10}{encode:>8}{decode:>8}')

print()
print('Sessions on disk, all files of all threads: bytes a call')
print()
print(f'{"":10}{"calls":>12}{"compact":>10}{"its pack":>10}')
for name in names:
    with open(f'{folder}/{name}-compact.json', encoding='utf-8') as file:
        session = json.load(file)['session'][0]
    calls = session['records'] / 2
    packed = os.path.getsize(f'{folder}/{name}.pack')
    print(f'{name:10}{calls:>12.0f}{session["bytes"] / calls:>10.3f}'
          f'{packed / calls:>10.3f}')
END
rm -rf "$Work"/{Lua,SQLite,Sample,HookCost}

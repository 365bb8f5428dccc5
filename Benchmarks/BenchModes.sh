#!/usr/bin/env bash
#
# What TRACER_MODE=file and TRACER_MODE=tree say of the same programs: Lua,
# bzip2 and zlib's minigzip, which nobody here wrote.
#
# Each program runs in both modes in turn, in an order that is drawn, ROUNDS
# times over (default 5).  Calls and abandoned calls of each function must be
# the same to the last one, in every round.  Printed are, for the functions
# with the most self time, the medians of the ratios tree / file within a
# round, of total and self time.  The hooks' cost, as the library measured it in
# that run, is taken out of both (BenchModes.py says how).
#
# Then, for the BARE functions (default 4) with the most self time, each mode
# against the same image with all other functions' hooks taken out.
#
# WARM bytes of the sessions' folder are touched before each run (default 1 GiB;
# less does where the input is small).  Records of a round take up to a GiB: they go to SESSIONS, /dev/shm if it has
# room.  LUA_ROUNDS and INPUT_SIZE (bytes) set other sizes, PREFIX is put before
# each program (PREFIX="nice -n -20" on a machine that is busy; real-time
# classes are no help, the kernel stops what is in one for 50 ms a second).
# SOURCES has folders lua5.4, bzip2 and zlib to use instead of fetching them.

set -euo pipefail

cd "$(dirname "$0")/.."

export TRACER_BIN=${TRACER_BIN:-$PWD/x64/Release}
export TRACER_WINE=${TRACER_WINE:-$PWD/Build/RunWine.sh}
Work=$PWD/x64/Bench/Modes
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call
       -fno-optimize-sibling-calls -O2 -g -gdwarf-4 -w"

rm -rf "$Work"
mkdir -p "$Work"

Fetch() {
    if [ -n "${SOURCES:-}" ]; then
        dirname "$SOURCES/$1/Source/$2"
    else
        Build/FetchSource.sh "$1" "$2" "x64/${3:-$1}" || true
    fi
}

#
# Compile NAME FLAGS SOURCE...: the program with hooks.
#

Compile() {
    local Name=$1 Flags=$2 File Objects=
    shift 2
    mkdir -p "$Work/$Name"
    for File; do
        # shellcheck disable=SC2086
        x86_64-w64-mingw32-gcc $Hooks $Flags -c "$File" \
            -o "$Work/$Name/$(basename "$File" .c).o"
        Objects="$Objects $Work/$Name/$(basename "$File" .c).o"
    done
    # shellcheck disable=SC2086
    x86_64-w64-mingw32-gcc $Objects "$TRACER_BIN/TracerPenter.lib" -static \
        -o "$Work/$Name.exe"
}

Source=$(Fetch lua5.4 src/lua.c Lua)
if [ -n "$Source" ]; then
    # shellcheck disable=SC2046
    Compile Lua "-Dluai_makeseed(L)=1 -Dl_randomizePivot()=0u" \
        $(ls "$Source"/*.c | grep -v /luac.c)
fi

Source=$(Fetch bzip2 bzip2.c)
if [ -n "$Source" ]; then
    # shellcheck disable=SC2046
    Compile bzip2 "" $(for File in blocksort bzip2 bzlib compress crctable \
        decompress huffman randtable; do echo "$Source/$File.c"; done)
fi

Source=$(Fetch zlib zlib.h)
if [ -n "$Source" ]; then
    # shellcheck disable=SC2046
    Compile minigzip "-I$Source" $(for File in adler32 compress crc32 deflate \
        gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees \
        uncompr zutil test/minigzip; do echo "$Source/$File.c"; done)
fi

exec python3 Benchmarks/BenchModes.py "$Work"

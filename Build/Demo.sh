#!/bin/bash
#
# Build/Demo.sh
#
# What `make demo` runs once the products are there: compiles Lua with the
# hooks, runs a script with it, looks at the trace while it grows, and shows
# where the time went.  If Lua's source cannot be had, a program of our own
# stands in.
#
# Everything is made in the build folder: x64/Demo (the traces of the last
# demo stay there) and x64/Lua (the source).
#
#     TRACER_BIN      the built programs (x64/Release)
#     TRACER_WINE     what runs a Windows program (Build/RunWine.sh)
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
Bin=$(cd "${TRACER_BIN:-$Root/x64/Release}" 2>/dev/null && pwd) || {
    echo "Demo: nothing is built yet: run make first" >&2
    exit 1
}
Wine=${TRACER_WINE:-$Root/Build/RunWine.sh}
Demo=$(dirname "$Bin")/Demo
Traces=$Demo/Traces
Library=$Bin/TracerPenter.lib
Reader=$Bin/TraceReader.exe
Compiler=x86_64-w64-mingw32-gcc
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call \
    -fno-optimize-sibling-calls"

for File in "$Library" "$Reader"; do
    [ -f "$File" ] || {
        echo "Demo: $File is not there: run make first" >&2
        exit 1
    }
done

Started=${EPOCHREALTIME/[.,]/}

Step()
{
    echo
    echo "== $*"
    Started=${EPOCHREALTIME/[.,]/}
}

Took()
{
    local Now=${EPOCHREALTIME/[.,]/}
    local Tenths=$(((Now - Started + 50000) / 100000))
    echo "-- ${1:-done} in $((Tenths / 10)).$((Tenths % 10)) s"
}

Fail()
{
    echo "Demo: $*" >&2
    exit 1
}

ToWindows()
{
    local Path=Z:${1//\//\\}
    printf '%s' "$Path"
}

#
# Show COMMAND [OPTION...]: what TraceReader says of the session.
#

Show()
{
    echo "\$ TraceReader $* SESSION"
    "$Wine" "$Reader" "$@" "$(ToWindows "$Session")" </dev/null ||
        Fail "TraceReader $1: exit code $?"
}

#
# What an earlier demo left is removed first: the report is to be about this
# run.
#

rm -rf "$Traces"
mkdir -p "$Demo" "$Traces" || Fail "cannot make $Traces"

Step "Fetching Lua's source (the distribution's source package lua5.4)"
Source=$("$Root/Build/FetchLua.sh" "$(dirname "$Bin")/Lua")
Took "$([ -n "$Source" ] && echo "have it" || echo "not to be had")"

Session=
if [ -n "$Source" ]; then

    #
    # lua.exe is all of it but the compiler luac.  The objects of another
    # source or other flags are not kept.
    #

    Program=$Demo/lua.exe
    Arguments=("$(ToWindows "$Root/Tests/Programs/demo.lua")" 12)
    Function=luaH_resize

    Step "Compiling Lua with $Compiler -O2 $Hooks"
    rm -rf "$Demo/obj" "$Program"
    mkdir -p "$Demo/obj"
    # shellcheck disable=SC2086
    find "$Source" -name '*.c' ! -name luac.c -print0 |
        xargs -0 -P 2 -I '{}' sh -c \
            'exec "$0" -O2 -g $1 -c "$3" \
                -o "$2/$(basename "$3" .c).o"' \
            "$Compiler" "$Hooks" "$Demo/obj" '{}' ||
        Fail "compiling Lua failed"
    Took "compiled $(find "$Demo/obj" -name '*.o' | wc -l) files"
else

    #
    # Without the network there is something to see all the same.
    #

    echo "   Tests/Programs/Sample.c stands in for Lua."
    Program=$Demo/Sample.exe
    Arguments=(4 600 10)
    Function=WorkerMain

    Step "Compiling Sample.c with $Compiler -O2 $Hooks"
    rm -rf "$Demo/obj" "$Program"
    mkdir -p "$Demo/obj"
    # shellcheck disable=SC2086
    "$Compiler" -O2 -g $Hooks -c "$Root/Tests/Programs/Sample.c" \
        -o "$Demo/obj/Sample.o" || Fail "compiling Sample.c failed"
    Took "compiled"
fi

Step "Linking it with TracerPenter.lib"
"$Compiler" "$Demo"/obj/*.o "$Library" -static -o "$Program" ||
    Fail "linking $Program failed"
Took "linked $(basename "$Program")"

Step "Running it under Wine, traced"
echo "\$ TRACER_DIRECTORY=... ${Program##*/} ${Arguments[*]}"
TRACER_DIRECTORY=$(ToWindows "$Traces") \
    "$Wine" "$Program" "${Arguments[@]}" </dev/null >"$Demo/output.txt" 2>&1 &
Process=$!
trap 'kill "$Process" 2>/dev/null' EXIT

#
# The session is there as soon as the first hook has run.
#

for ((Try = 0; Try < 200; Try += 1)); do
    Session=$(find "$Traces" -name '*.trace' -size +0 -print -quit 2>/dev/null)
    [ -z "$Session" ] || break
    kill -0 "$Process" 2>/dev/null || break
    sleep 0.05
done
if [ -z "$Session" ]; then
    cat "$Demo/output.txt" >&2
    Fail "no trace appeared in $Traces"
fi
Session=$(dirname "$Session")
RunStarted=$Started
echo "   session: $Session"

Step "Looking at it while it runs: two refreshes, a second apart"
Show live --interval 1000 --count 2
Took "looked"

Step "Waiting for the program to end"
wait "$Process" || Fail "$Program: exit code $?: $(cat "$Demo/output.txt")"
trap - EXIT
tr -d '\r' <"$Demo/output.txt"
Started=$RunStarted
Took "the program ran"
echo "   $(du -sh --apparent-size "$Session" | cut -f1) of trace in" \
     "$(find "$Session" -name '*.trace' | wc -l) file(s)"

Step "What was recorded"
Show info
Took "read"

Step "Where the time went"
Show report --limit 15
Took "read and paired"

Step "Who calls it, and for how long"
Show callers --limit 8 "$Function"
Took "read"

Step "A picture: timeline, flame graph, table"
Page=$Demo/${Program##*/}.html
Show export --format html --output "$(ToWindows "$Page")"
Took "written"
echo "   $Page ($(du -h "$Page" | cut -f1)): open it in a browser"

Step "Is every record sound?"
Show verify
Took "verified"

echo
echo "The trace stays in $Session"

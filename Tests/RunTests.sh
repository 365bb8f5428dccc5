#!/bin/bash
#
# Tests/RunTests.sh BUILD-FOLDER [BUILD-FOLDER...]
#
# Runs the tests and adds up their results.  With the first folder
# (x64/Release) it runs the program of every Tests/Test*.c, and every
# executable Tests/Test*.sh and Tests/Test*.py; with each other one
# (x64/Debug) the programs only, and with TRACER_QUICK=1.
#
# Programs run one after the other, scripts as many at a time as there are
# processors, at most two: most of their time they wait for Windows programs
# to start.  A script that has the line "# Runs alone." in its head runs
# alone.
#
# What failed is named again at the end, where a cut log still shows it.
#
# A test ends with the line "N passed, N failed" or "N passed, N failed,
# N skipped" and exit code 0.  One that does not, or that outlives its time
# limit, or that checked nothing at all, counts as one failure, and its output
# is shown.  The last line printed is the sum, in the same form; the exit code
# is 1 if anything failed.
#
# A test starts in a fresh folder of its own and finds in its environment
#
#     TRACER_ROOT             the top of the source tree
#     TRACER_ROOT_WINDOWS     the same, as Windows programs spell it
#     TRACER_BIN              the build folder
#     TRACER_CONFIGURATION    Release or Debug
#     TRACER_WINE             what to run a Windows program with
#     TRACER_TEMP             the folder that it starts in
#     TRACER_QUICK            1: leave out what takes long
#
# and no other variable whose name begins with TRACER_.  What the runner takes:
#
#     TESTS                   patterns of names to run (TestRtl 'TestReader*')
#     TRACER_TEST_LIMIT       seconds for one test (300)
#     TRACER_TEST_BUDGET      seconds for all of them (900)
#     TRACER_TEST_LANES       scripts at a time
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
Limit=${TRACER_TEST_LIMIT:-300}
Budget=${TRACER_TEST_BUDGET:-900}
Patterns=${TESTS:-*}

if [ $# = 0 ]; then
    echo "usage: Tests/RunTests.sh BUILD-FOLDER [BUILD-FOLDER...]" >&2
    exit 2
fi


Failures=()
Passed=0
Failed=0
Skipped=0
NumberOfTests=0
Started=$SECONDS
Running=()
Lanes=${TRACER_TEST_LANES:-$(nproc)}
[ "$Lanes" -le 2 ] || [ -n "${TRACER_TEST_LANES:-}" ] || Lanes=2
Wine=$Root/Build/RunWine.sh

for Name in ${!TRACER_*}; do
    [ "$Name" = TRACER_WINE_PREFIX ] || unset "$Name"
done

IsWanted()
{
    local Pattern Wanted=1
    set -f
    for Pattern in $Patterns; do
        # shellcheck disable=SC2053
        if [[ ${1%.*} == $Pattern || $1 == $Pattern ]]; then
            Wanted=0
        fi
    done
    set +f
    return $Wanted
}

#
# RunTest CONFIGURATION NAME COMMAND [ARGUMENT...]: Bin and Quick are set.  What
# is to be printed goes to NAME.text, then the counts and the failures to
# NAME.sum: it may run in the background.
#

RunTest()
{
    local Configuration=$1 Name=$2
    shift 2
    local Temp=$Bin/Temp/$Name Output=$Bin/Temp/$Name.log
    local Remaining=$((Budget - (SECONDS - Started))) Result Line Seconds
    local Code=0 Reason='' Start=${EPOCHREALTIME/[.,]/} End
    local P=0 F=0 S=0

    mkdir -p "$Temp" || exit 1
    if [ "$Remaining" -le 0 ]; then
        echo "   0.0 s  $Configuration  $Name: not run: the time for all" \
             "tests ($Budget s) is over" >"$Temp.text"
        printf '0 1 0\n%s\n' "$Configuration  $Name: not run" >"$Temp.sum"
        return
    fi
    [ "$Remaining" -lt "$Limit" ] || Remaining=$Limit

    (
        cd "$Temp" || exit 125
        export TRACER_ROOT=$Root
        export TRACER_ROOT_WINDOWS="Z:${Root//\//\\}"
        export TRACER_BIN=$Bin
        export TRACER_CONFIGURATION=$Configuration
        export TRACER_WINE=$Wine
        export TRACER_TEMP=$Temp
        [ -z "$Quick" ] || export TRACER_QUICK=1
        exec timeout -k 5 "$Remaining" "$@"
    ) >"$Output" 2>&1 </dev/null || Code=$?

    End=${EPOCHREALTIME/[.,]/}
    Seconds=$(((End - Start) / 100000))
    Line=$(tr -d '\r' <"$Output" | grep -aE \
        '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' | tail -n 1)

    if [ -n "$Line" ]; then
        read -r P _ F _ S _ <<<"${Line//,/}"
        S=${S:-0}
    fi

    if [ $Code = 124 ]; then
        Reason="stopped after $Remaining s"
    elif [ $Code = 137 ]; then
        Reason="killed after $((Seconds / 10)) s"
    elif [ $Code != 0 ] && [ "$F" = 0 ]; then
        Reason="exit code $Code"
    elif [ -z "$Line" ]; then
        Reason="no closing line"
    elif [ $((P + F + S)) = 0 ]; then
        Reason="checked nothing"
    fi

    [ -z "$Reason" ] || F=$((F + 1))
    Result=${Line:-no result}
    [ -z "$Reason" ] || Result="$Result: FAILED: $Reason"
    [ "$F" = 0 ] || [ -n "$Reason" ] || Result="$Result: FAILED"

    {
        printf '%4d.%d s  %s  %s: %s\n' $((Seconds / 10)) $((Seconds % 10)) \
            "$Configuration" "$Name" "$Result"
        tr -d '\r' <"$Output" |
            sed -n 's/^.*\(skipped: \)/                 \1/p'
        [ "$F" = 0 ] || tail -n 300 "$Output" | tr -d '\r' | sed 's/^/    | /'
    } >"$Temp.text"

    {
        echo "$P $F $S"
        if [ "$F" != 0 ]; then
            echo "$Configuration  $Name: $Result"
            tr -d '\r' <"$Output" | grep -a '^FAILED' | head -n 10 |
                sed 's/^/    /'
        fi
    } >"$Temp.sum.new"

    [ "$F" != 0 ] || rm -rf "$Temp" "$Output"
    mv "$Temp.sum.new" "$Temp.sum"
}

#
# Adds up and prints what has ended.
#

Collect()
{
    local Name Sum P F S Line
    local -a Still=()

    for Name in "${Running[@]}"; do
        Sum=$Bin/Temp/$Name.sum
        if [ ! -f "$Sum" ]; then
            Still+=("$Name")
            continue
        fi
        cat "$Bin/Temp/$Name.text"
        {
            read -r P F S
            Passed=$((Passed + P))
            Failed=$((Failed + F))
            Skipped=$((Skipped + S))
            while IFS= read -r Line; do
                Failures+=("$Line")
            done
        } <"$Sum"
        rm -f "$Sum" "$Bin/Temp/$Name.text"
    done
    Running=("${Still[@]}")
}

#
# Waits until fewer than so many tests run.
#

WaitForLane()
{
    Collect
    while [ ${#Running[@]} -ge "$1" ]; do
        wait -n
        Collect
    done
}

#
# StartTest LANES CONFIGURATION NAME COMMAND [ARGUMENT...]: when there are fewer
# than LANES others.
#

StartTest()
{
    local Most=$1
    shift

    WaitForLane "$Most"
    NumberOfTests=$((NumberOfTests + 1))
    rm -rf "$Bin/Temp/$2" "$Bin/Temp/$2".{log,text,sum,sum.new}
    Running+=("$2")
    RunTest "$@" &
    [ "$Most" != 1 ] || WaitForLane 1
}

#
# One Wine server for the whole run: left to itself it ends some seconds after
# the last program, and is started again for the next.
#

"$Root/Build/RunWine.sh" --server -p </dev/null >/dev/null 2>&1
trap '"$Root/Build/RunWine.sh" --server -k </dev/null >/dev/null 2>&1' EXIT

Quick=
for Folder in "$@"; do
    Bin=$(cd "$Folder" 2>/dev/null && pwd) || {
        echo "RunTests: no such build folder: $Folder" >&2
        exit 2
    }
    Configuration=${Bin##*/}

    for Source in "$Root"/Tests/Test*.c; do
        Name=$(basename "$Source" .c)
        case $Name in
            TestMain|*Support|'Test*') continue ;;
        esac
        IsWanted "$Name.exe" || continue
        StartTest 1 "$Configuration" "$Name.exe" "$Wine" "$Bin/$Name.exe"
    done

    if [ -z "$Quick" ]; then
        for Source in "$Root"/Tests/Test*.sh "$Root"/Tests/Test*.py; do
            [ -x "$Source" ] || continue
            Name=${Source##*/}
            IsWanted "$Name" || continue
            Most=$Lanes
            ! head -n 40 "$Source" | grep -qx '# Runs alone\.' || Most=1
            StartTest "$Most" "$Configuration" "$Name" "$Source"
        done
        WaitForLane 1
    fi
    Quick=1
done

if [ "$NumberOfTests" = 0 ]; then
    echo "RunTests: no tests were found"
    Failed=$((Failed + 1))
fi

if [ ${#Failures[@]} != 0 ]; then
    printf 'failed: %s\n' "${Failures[@]}"
fi

Sum="$Passed passed, $Failed failed"
[ "$Skipped" = 0 ] || Sum="$Sum, $Skipped skipped"
echo "$Sum"
[ "$Failed" = 0 ]

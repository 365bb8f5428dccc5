#!/bin/bash
#
# Tests/RunTests.sh [--long | --all | --each] BUILD-FOLDER [BUILD-FOLDER...]
#
# Runs the tests and adds up their results.  With the first folder
# (x64/Release) it runs the program of every Test*.c of Tests/Unit and
# Tests/Penter, and every Test*.sh and Test*.py of Tests/Product (one that
# cannot be executed fails); with each other one (x64/Debug) the programs only,
# and with TRACER_QUICK=1.
#
# A script that has the line "# Takes long." in its head is left out, and in
# Debug a program that has "Takes long in Debug." there.  Some tests have a long
# form, too, which the word TRACER_LONG (or programs.LONG) in their source
# tells.  With --each everything runs, once, in the short form what has two.
# With --all everything runs, once, in the long form what has two.  With --long
# only that runs in which --all differs from the run without any option.
#
# As many run at a time as there are processors, at most two: most of the time
# they wait for Windows programs to start.  A script that has the line
# "# Runs alone." in its head runs alone.  Those that take long are started
# first, so that at the end no long one runs beside nothing.
#
# Printed are the seconds that each took, and those that processors worked for
# it, Wine's server not counted.  What failed is named again at the end, where a
# cut log still shows it.
#
# A test ends with the line "N passed, N failed" or "N passed, N failed,
# N skipped" and exit code 0.  One that does not, or that hangs, or that checked
# nothing at all, counts as one failure, and its output is shown.  The last line
# printed is the sum, in the same form; the exit code is 1 if anything failed.
#
# There is no limit to the time that a test, or all of them, may take: on a
# machine that does other things too, time says nothing.  Tests/Library/WatchSupport.py
# tells a test that hangs from one that is slow, and shows where it hangs.  A
# runner that is interrupted says what was running, what has not run and what
# has failed so far, and fails.
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
#     TRACER_LONG             1: the long form is wanted
#     TRACER_MIN_FREE         0: how full the machine's disk is must not matter
#
# and no other variable whose name begins with TRACER_.  What the runner takes:
#
#     TESTS                   patterns of names to run (TestRtl 'TestReader*')
#     TRACER_TEST_LIMIT       for how many seconds a test may do nothing (600)
#     TRACER_TEST_LANES       tests at a time
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
Limit=${TRACER_TEST_LIMIT:-600}
Patterns=${TESTS:-*}

All=0
Long=0
Only=0
case ${1:-} in
    --long)
        All=1
        Long=1
        Only=1
        shift
        ;;
    --all)
        All=1
        Long=1
        shift
        ;;
    --each)
        All=1
        shift
        ;;
esac

if [ $# = 0 ]; then
    echo "usage: Tests/RunTests.sh [--long | --all | --each] BUILD-FOLDER" \
        "[BUILD-FOLDER...]" >&2
    exit 2
fi

Failures=()
Passed=0
Failed=0
Skipped=0
Running=()
# Tests wait for half of their time: two processors are busy with three of them.
Lanes=${TRACER_TEST_LANES:-$(($(nproc) > 1 ? 3 : 2))}
Wine=$Root/Build/RunWine.sh

for Name in ${!TRACER_*}; do
    [ "$Name" = TRACER_WINE_PREFIX ] || unset "$Name"
done

export TRACER_MIN_FREE=0

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
# Whether a script runs in this form of the tests.
#

TakesLong()
{
    head -n 40 "$1" | grep -qx '# Takes long\.'
}

#
# Whether it has a long form, too.
#

HasForms()
{
    grep -qE 'TRACER_LONG|programs\.LONG' "$1"
}

IsOfThisRun()
{
    local TakesLong=0
    ! TakesLong "$1" || TakesLong=1
    if [ $Only = 0 ]; then
        [ $TakesLong = 0 ] || [ $All = 1 ]
    else
        [ $TakesLong = 1 ] || HasForms "$1"
    fi
}

#
# RunTest BUILD-FOLDER QUICK NAME COMMAND [ARGUMENT...]: what is to be printed
# goes to NAME.text, then the counts and the failures to NAME.sum: it runs in
# the background.
#

RunTest()
{
    local Bin=$1 Quick=$2 Name=$3
    shift 3
    local Configuration=${Bin##*/} Temp=$Bin/Temp/$Name
    local Output=$Temp.log Result Line Seconds Processor
    local TIMEFORMAT='%U %S'
    local Code=0 Reason='' Start=${EPOCHREALTIME/[.,]/} End
    local P=0 F=0 S=0

    mkdir -p "$Temp" || exit 1
    { time { (
        cd "$Temp" || exit 125
        export TRACER_ROOT=$Root
        export TRACER_ROOT_WINDOWS="Z:${Root//\//\\}"
        export TRACER_BIN=$Bin
        export TRACER_CONFIGURATION=$Configuration
        export TRACER_WINE=$Wine
        export TRACER_TEMP=$Temp
        if [ "$Quick" != 0 ]; then
            export TRACER_QUICK=1
        elif [ $Long = 1 ]; then
            export TRACER_LONG=1
        fi
        echo $BASHPID >"$Temp.pid"
        exec "$Root/Tests/Library/WatchSupport.py" "$Limit" "$Name" "$@"
    ) >"$Output" 2>&1 </dev/null; } || Code=$?; } 2>"$Temp.time"

    End=${EPOCHREALTIME/[.,]/}
    Seconds=$(((End - Start) / 100000))
    Processor=$(awk '{ printf "%.1f", $1 + $2 }' "$Temp.time")
    rm -f "$Temp.time"
    Line=$(tr -d '\r' <"$Output" | grep -aE \
        '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' | tail -n 1)

    if [ -n "$Line" ]; then
        read -r P _ F _ S _ <<<"${Line//,/}"
        S=${S:-0}
    fi

    if [ $Code = 124 ]; then
        Reason="hangs: ended after $((Seconds / 10)) s"
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
        printf '%4d.%d s %6s s  %s  %s: %s\n' $((Seconds / 10)) \
            $((Seconds % 10)) "$Processor" "$Configuration" "$Name" "$Result"
        tr -d '\r' <"$Output" |
            sed -n 's/^.*\(skipped: \)/                 \1/p'
        [ "$F" = 0 ] || tail -n 600 "$Output" | tr -d '\r' | sed 's/^/    | /'
    } >"$Temp.text"

    {
        echo "$P $F $S"
        if [ "$F" != 0 ]; then
            echo "$Configuration  $Name: $Result"
            if grep -qa '^FAILED' "$Output"; then
                tr -d '\r' <"$Output" | grep -aA 3 '^FAILED' | head -n 30
            else
                tr -d '\r' <"$Output" | tail -n 12
            fi | cut -c 1-200 | sed 's/^/    /'
        fi
    } >"$Temp.sum.new"

    [ "$F" != 0 ] || rm -rf "$Temp" "$Output"
    rm -f "$Temp.pid"
    mv "$Temp.sum.new" "$Temp.sum"
}

#
# Adds up and prints what has ended.
#

Collect()
{
    local Test Sum P F S Line
    local -a Still=()

    for Test in "${Running[@]}"; do
        Sum=$Test.sum
        if [ ! -f "$Sum" ]; then
            Still+=("$Test")
            continue
        fi
        cat "$Test.text"
        {
            read -r P F S
            Passed=$((Passed + P))
            Failed=$((Failed + F))
            Skipped=$((Skipped + S))
            while IFS= read -r Line; do
                Failures+=("$Line")
            done
        } <"$Sum"
        rm -f "$Sum" "$Test.text"
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
# The tests that are to run: LANES BUILD-FOLDER QUICK NAME COMMAND
# [ARGUMENT...], each when there are fewer than LANES others.
#

Waiting=()

AddTest()
{
    local Test
    IsWanted "$4" || return
    printf -v Test '%q ' "$@"
    Waiting+=("$Test")
}

StartTest()
{
    local Most=$1 Test=$2/Temp/$4
    shift

    WaitForLane "$Most"
    rm -rf "$Test" "$Test".{log,text,sum,sum.new,pid}
    Running+=("$Test")
    RunTest "$@" &
    [ "$Most" != 1 ] || WaitForLane 1
}

#
# Prints the sum; the exit code is 1 if anything failed.
#

Finish()
{
    local Sum

    if [ ${#Failures[@]} != 0 ]; then
        printf 'failed: %s\n' "${Failures[@]}"
    fi

    Sum="$Passed passed, $Failed failed"
    [ "$Skipped" = 0 ] || Sum="$Sum, $Skipped skipped"
    echo "$Sum"
    [ "$Failed" = 0 ]
    exit
}

#
# The watchers of what runs end it, and say how.
#

Interrupted()
{
    local Test

    trap '' INT TERM HUP
    for Test in "${Running[@]}"; do
        kill "$(cat "$Test.pid" 2>/dev/null)" 2>/dev/null
    done
    wait
    Collect
    for Test in "${Running[@]}"; do
        Failed=$((Failed + 1))
        Failures+=("${Test##*/}: was running: the tests were interrupted")
    done
    for Test in "${Waiting[@]}"; do
        eval "set -- $Test"
        Failed=$((Failed + 1))
        Failures+=("${2##*/}  $4: not run: the tests were interrupted")
    done
    [ "$Failed" != 0 ] || Failed=1
    Finish
}

#
# One Wine server for the whole run: left to itself it ends some seconds after
# the last program, and is started again for the next.
#

"$Root/Build/RunWine.sh" --server -p </dev/null >/dev/null 2>&1
trap '"$Root/Build/RunWine.sh" --server -k </dev/null >/dev/null 2>&1' EXIT
trap Interrupted INT TERM HUP

Quick=0
for Folder in "$@"; do
    Bin=$(cd "$Folder" 2>/dev/null && pwd) || {
        echo "RunTests: no such build folder: $Folder" >&2
        exit 2
    }

    for Source in "$Root"/Tests/{Unit,Penter}/Test*.c; do
        Name=$(basename "$Source" .c)
        case $Name in
            *Support|'Test*') continue ;;
        esac
        [ $Only = 0 ] || grep -qrs TRACER_LONG "$Source" "${Source%.c}" ||
            continue
        [ "$Quick" = 0 ] || [ $All = 1 ] ||
            ! head -n 40 "$Source" | grep -q '^    Takes long in Debug\.$' ||
            continue
        AddTest "$Lanes" "$Bin" "$Quick" "$Name.exe" "$Wine" "$Bin/$Name.exe"
    done

    if [ "$Quick" = 0 ]; then
        for Order in long forms short; do
            for Source in "$Root"/Tests/Product/Test*.{sh,py}; do
                [ -e "$Source" ] || continue
                IsOfThisRun "$Source" || continue
                if TakesLong "$Source"; then
                    [ $Order = long ] || continue
                elif HasForms "$Source"; then
                    [ $Order = forms ] || continue
                else
                    [ $Order = short ] || continue
                fi
                Most=$Lanes
                ! head -n 40 "$Source" | grep -qx '# Runs alone\.' || Most=1
                AddTest "$Most" "$Bin" "$Quick" "${Source##*/}" "$Source"
            done
        done
    fi
    Quick=1
done

if [ ${#Waiting[@]} = 0 ]; then
    echo "RunTests: no tests were found"
    Failed=1
fi

while [ ${#Waiting[@]} != 0 ]; do
    eval "set -- ${Waiting[0]}"
    WaitForLane "$1"
    Waiting=("${Waiting[@]:1}")
    StartTest "$@"
done
WaitForLane 1
Finish

#!/bin/bash
#
# Tests/Product/TestSymbolsMingw.sh
#
# Builds C and C++ programs with MinGW's gcc, without debugging information,
# with DWARF 5, with DWARF 4 and stripped, and compares the names that the
# reader finds in them with those that nm finds.
#
# From the environment: TRACER_BIN is the folder of the built programs,
# TRACER_WINE what to run them with.
#

set -u

Root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd) || exit 1
Bin=${TRACER_BIN:-$Root/x64/Release}
Wine=${TRACER_WINE:-$Root/Build/RunWine.sh}
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT

Passed=0
Failed=0

Check()
{
    local What=$1
    shift
    if "$@"; then
        Passed=$((Passed + 1))
    else
        Failed=$((Failed + 1))
        echo "failed: $What"
    fi
}

#
# Names IMAGE LIST [OPTION]: the reader's answers, "RVA START NAME" a line, and
# its source in Source.
#

Names()
{
    "$Wine" "$Bin/TestSymbols.exe" --names "$@" 2>/dev/null | tr -d '\r' \
        >"$Temp/answer"
    Source=$(sed -n 's/^source //p' "$Temp/answer")
    sed -n 's/^= //p' "$Temp/answer"
}

#
# List IMAGE [NM-OPTION]: "RVA NAME" of every function that nm shows.  Names
# that begin with a dot are sections, but .weak.Function.Other is the weak
# definition of Function.
#

List()
{
    local Base Address Type Name
    Base=$(x86_64-w64-mingw32-objdump -p "$1" |
        sed -n 's/^ImageBase[[:space:]]*//p')
    x86_64-w64-mingw32-nm --defined-only "${@:2}" "$1" |
    while read -r Address Type Name; do
        if [[ $Name == .weak.* ]]; then
            Name=${Name#.weak.}
            Name=${Name%%.*}
        fi
        case $Type$Name in
            [TtWw].*) ;;
            [TtWw]*) printf '%x %s\n' $((16#$Address - 16#$Base)) "$Name" ;;
        esac
    done
}

#
# Wrong LIST ANSWERS OFFSET: how many of the list's addresses, OFFSET bytes on,
# did not give the start, or a name that nm has there.
#

Wrong()
{
    local Rva Start Name Wrong=0 Total=0
    declare -A Known=()
    while read -r Rva Name; do
        Known[$Rva]+="|$Name|"
    done <"$1"
    while read -r Rva Start Name; do
        Total=$((Total + 1))
        if [ "$Start" != "$(printf '%x' $((16#$Rva - $3)))" ] ||
            [[ ${Known[$Start]:-} != *"|$Name|"* ]]; then
            Wrong=$((Wrong + 1))
            [ $Wrong -gt 5 ] || echo "  $Rva: $Start $Name" >&2
        fi
    done <"$2"
    [ "$Total" = "$(wc -l <"$Temp/rvas")" ] || Wrong=$((Wrong + 1))
    [ "$Total" -gt 20 ] || Wrong=$((Wrong + 1))
    echo $Wrong
}

cat >"$Temp/one.c" <<'EOF'
static int __attribute__((noinline)) StaticHelper(int X)
{
    volatile int Y = X;
    return Y * 3;
}

int __attribute__((noinline)) ExternalFunction(int X)
{
    return StaticHelper(X) + 1;
}

int __attribute__((noinline, cold)) ColdFunction(int X)
{
    volatile int Y = X;
    return Y - 1;
}

int __attribute__((weak, noinline)) WeakFunction(int X)
{
    volatile int Y = X;
    return Y - 2;
}

int main(int Count, char **Values)
{
    (void)Values;
    return ExternalFunction(Count) + ColdFunction(Count) + WeakFunction(Count);
}
EOF

cat >"$Temp/two.cpp" <<'EOF'
namespace Outer {

struct Inner {
    int Method(int X);
    static int Static(double X);
    virtual ~Inner() { }
};

int __attribute__((noinline)) Inner::Method(int X)
{
    volatile int Y = X;
    return Y + 1;
}

int __attribute__((noinline)) Inner::Static(double X)
{
    volatile double Y = X;
    return (int)Y;
}

}

int main(int Count, char **)
{
    Outer::Inner Object;
    return Object.Method(Count) + Outer::Inner::Static(Count);
}
EOF

for Program in one.c two.cpp; do
    Compiler=x86_64-w64-mingw32-gcc
    [ $Program = one.c ] || Compiler=x86_64-w64-mingw32-g++

    for Debug in none -g -gdwarf-4; do
        Image=$Temp/${Program%.*}$Debug.exe
        Option=$Debug
        [ $Debug != none ] || Option=
        Check "$Program $Debug: compiling" \
            $Compiler -O2 $Option "$Temp/$Program" -o "$Image" || continue

        List "$Image" | llvm-cxxfilt-19 >"$Temp/list"
        cut -d' ' -f1 "$Temp/list" | sort -u >"$Temp/rvas"

        #
        # Exactly nm's names, as llvm-cxxfilt shows them, at the functions'
        # starts and, where functions are no closer, behind them.  The C runtime has DWARF, so that there is
        # some in every program.  DbgHelp has no say.
        #

        Names "$Image" "$Temp/rvas" --no-dbghelp >"$Temp/names"
        Check "$Program $Debug: source is DWARF" [ "$Source" = 2 ]
        Check "$Program $Debug: names" \
            [ "$(Wrong "$Temp/list" "$Temp/names" 0)" = 0 ]

        Names "$Image" "$Temp/rvas" >"$Temp/names-2"
        Check "$Program $Debug: source with DbgHelp" [ "$Source" = 2 ]
        Check "$Program $Debug: names with DbgHelp" \
            cmp -s "$Temp/names" "$Temp/names-2"

        case $Program in
            one.c) Wanted="StaticHelper ExternalFunction ColdFunction
                           WeakFunction main mainCRTStartup" ;;
            *) Wanted="Outer::Inner::Method(int) Outer::Inner::Static(double)
                       main mainCRTStartup" ;;
        esac
        for Name in $Wanted; do
            Check "$Program $Debug: $Name is there" \
                grep -q " $Name\$" "$Temp/names"
        done
    done
done

#
# Two bytes behind each start, in the user's functions.
#

grep -E ' (StaticHelper|ExternalFunction|ColdFunction|WeakFunction|main)$' \
    <(List "$Temp/one-g.exe") | while read -r Rva Name; do
    printf '%x\n' $((16#$Rva + 2)); done >"$Temp/rvas"
Names "$Temp/one-g.exe" "$Temp/rvas" >"$Temp/names"
for Name in StaticHelper ExternalFunction ColdFunction WeakFunction main; do
    Check "behind the start of $Name" grep -q " $Name\$" "$Temp/names"
done

#
# Without DWARF the names are the symbol table's.
#

cp "$Temp/one-g.exe" "$Temp/stripped.exe"
x86_64-w64-mingw32-strip --strip-debug "$Temp/one-g.exe"
Names "$Temp/one-g.exe" "$Temp/rvas" >"$Temp/names"
Check "without DWARF: source is the symbol table" [ "$Source" = 3 ]
for Name in StaticHelper ExternalFunction ColdFunction WeakFunction main; do
    Check "without DWARF: $Name" grep -q " $Name\$" "$Temp/names"
done

#
# Stripped: there is nothing, and the reader says so rather than guessing.
#

x86_64-w64-mingw32-strip "$Temp/stripped.exe"
Names "$Temp/stripped.exe" "$Temp/rvas" >"$Temp/names"
Check "stripped: no source" [ "$Source" = 0 ]
Check "stripped: no names" [ "$(grep -c ' - -$' "$Temp/names")" = 5 ]

echo "$Passed passed, $Failed failed"
[ $Failed = 0 ]

#!/bin/bash
#
# Tests/Product/TestStringTableExample.sh
#
# The program in Docs/StringTable.md builds with nothing of ours but one header
# and two libraries, and prints what the text beside it says; the header is C
# and C++ by itself; and ten lines (a few more with the braces) are enough.
#

set -u

Root=${TRACER_ROOT:-$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)}
Bin=${TRACER_BIN:-$Root/x64/Release}
Wine=${TRACER_WINE:-$Root/Build/RunWine.sh}
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT
cd "$Temp" || exit 1

Passed=0
Failed=0

Check()
{
    local What=$1
    shift
    if "$@" >log 2>&1; then
        Passed=$((Passed + 1))
    else
        Failed=$((Failed + 1))
        echo "failed: $What"
        head -n 40 log
    fi
}

cp "$Root/StringTable/StringTable.h" .
sed -n '/^```c$/,/^```$/p' "$Root/Docs/StringTable.md" | sed '/^```/d' \
    >Example.c

Says()
{
    [ "$("$Wine" ./Example.exe | tr -d '\r')" = "$1" ]
}

IsShort()
{
    [ "$(wc -l <Example.c)" -ge 8 ] && [ "$(wc -l <Example.c)" -le 14 ]
}

Check "there is a program, and it is short" IsShort
Check "it builds" x86_64-w64-mingw32-gcc -std=c11 -Wall -Wextra -Werror -O2 \
    Example.c "$Bin/StringTable.lib" "$Bin/Rtl.lib" -o Example.exe
Check "it prints what is found" Says "1 4294967295"

#
# The control: with another prefix it prints something else.
#

sed -i 's/"numpy.core", 10/"numpy.cord", 10/' Example.c
Check "it builds with another prefix" x86_64-w64-mingw32-gcc -O2 Example.c \
    "$Bin/StringTable.lib" "$Bin/Rtl.lib" -o Example.exe
Check "it then finds the other one" Says "0 4294967295"

echo '#include "StringTable.h"' >Header.c
cp Header.c Header.cpp
Check "the header is C" gcc -std=c99 -Wall -Wextra -Werror -pedantic \
    -fsyntax-only Header.c
Check "the header is C++" g++ -std=c++11 -Wall -Wextra -Werror -pedantic \
    -fsyntax-only Header.cpp

echo "$Passed passed, $Failed failed"
[ $Failed = 0 ]

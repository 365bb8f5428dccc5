#!/bin/bash
#
# Build/CheckReproducible.sh [FOLDER]
#
# Builds the Release products and their packages twice, in two folders whose
# names differ in length, at two times, and compares every byte.  Where
# x64/Release is built, that is one of the two.
#

set -u

Root=$(cd "${1:-$(dirname "$0")/..}" && pwd) || exit 1
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT

First=$Temp/a
Second=$Temp/a/longer-name/b

Target=products
[ ! -d "$Root/Packaging" ] || Target=package

Copy()
{
    mkdir -p "$1" || exit 1
    (cd "$Root" && tar -c --exclude=./x64 --exclude=./.git \
        Makefile Build Rtl Asm StringTable Codec TraceStore Penter Imports \
        Reader Sqlite Debugger Kernel Tests \
        $(cd "$Root" && ls -d Docs Packaging README.md LICENSE \
            CHANGELOG.md 2>/dev/null)) |
        tar -x -C "$1" || exit 1
}

if [ -f "$Root/x64/Release/TraceReader.exe" ]; then
    First=$Root
else
    Copy "$First"
fi
Copy "$Second"

for Folder in "$First" "$Second"; do
    if ! make -C "$Folder" -j2 SETUP=true $Target \
        >"$Temp/log" 2>&1; then
        tail -n 20 "$Temp/log"
        echo "CheckReproducible: building in $Folder: failed"
        exit 1
    fi
    sleep 1.1
done

Failed=0
Count=0
for File in "$Second"/x64/Release/*.{exe,dll,lib}; do
    [ -f "$File" ] || continue
    Name=${File##*/}
    Count=$((Count + 1))
    cmp "$First/x64/Release/$Name" "$File" || Failed=1
    if grep -a -q -e "$Temp" "$File"; then
        echo "$Name: names the folder that it was built in"
        Failed=1
    fi
done

if [ $Target = package ]; then
    Packages=0
    while IFS= read -r File; do
        Packages=$((Packages + 1))
        cmp "$First/$File" "$Second/$File" || Failed=1
    done < <(cd "$First" && find x64/Package -type f)
    if [ $Packages = 0 ]; then
        echo "CheckReproducible: no packages found"
        Failed=1
    fi
fi

if [ $Count = 0 ]; then
    echo "CheckReproducible: no products found"
    exit 1
fi
echo "CheckReproducible: $Count products, built in two places:" \
     "$([ $Failed = 0 ] && echo "the same bytes" || echo "they differ")"
exit $Failed

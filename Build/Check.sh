#!/bin/bash
#
# Build/Check.sh
#
# What `make check` runs once everything is built: every checker on the sources
# and the products, and then the checkers' own controls.  All of them run,
# whatever fails; the last line says which did.
#

set -u

cd "$(dirname "$0")/.." || exit 1

#
# The makes in here are not part of the one that started this.
#

unset MAKEFLAGS MFLAGS MAKELEVEL

#
# Two lanes run side by side, as some checkers use one core alone; each says
# how long its checkers took, and a lane's output stays together.
#

Lanes=$(mktemp -d) || exit 1
trap 'rm -rf "$Lanes"' EXIT

Run()
{
    local Start=$SECONDS Code=0
    "$@" || Code=$?
    [ $Code = 0 ] || echo "${1##*/}" >>"$Lanes/failed"
    [ $((SECONDS - Start)) -lt 10 ] ||
        echo "check: ${1##*/} took $((SECONDS - Start)) s"
}

Products=$(make -s --no-print-directory SETUP=true describe |
    sed -n 's/^project Program \([^ ]*\) .*/\1.exe/p
        s/^project Dynamic \([^ ]*\) .*/\1.dll/p')
Images=
for Configuration in Release Debug; do
    for Name in $Products; do
        Images="$Images x64/$Configuration/$Name"
    done
done

#
# Both lanes run programs under Wine; one server serves them, and does not go
# between two of them, which can be minutes apart.
#

Build/RunWine.sh --server -p600 </dev/null >/dev/null 2>&1

#
# The checkers' own controls work in trees of their own, and the build in a
# second folder does too.
#

{
    Run Build/CheckReproducible.sh
    Run Build/CheckTracked.py
    Run Build/CheckStyle.py
    Run Build/CheckRooms.py
    Run Build/CheckLayers.py . x64/Release
    Run Build/CheckProjects.py
    # shellcheck disable=SC2086
    Run Build/CheckImports.py $Images
    Run Build/CheckLibrary.py x64/{Release,Debug}/{TracerPenter{,Null,Kernel},Codec}.lib
    Run Build/CheckDriver.py x64/{Release,Debug}/TracerPenterKernel.lib
    Run Build/CheckLibrary.py --breakpoints \
        x64/Release/{Rtl,Asm,StringTable,Codec,TraceStore,Reader}.lib
    Run Build/CheckExports.sh
    Run Build/WriteDocs.py --check
} >"$Lanes/first" 2>&1 &

{
    Run Build/CheckHeaders.sh
    Run Build/TestCheckers.sh
} >"$Lanes/second" 2>&1

wait
cat "$Lanes/first" "$Lanes/second"

if [ -s "$Lanes/failed" ]; then
    echo "check: failed: $(paste -s -d ' ' "$Lanes/failed")"
    exit 1
fi
echo "check: everything passed"

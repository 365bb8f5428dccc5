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
Failures=

#
# The makes in here are not part of the one that started this.
#

unset MAKEFLAGS MFLAGS MAKELEVEL

Run()
{
    "$@" || Failures="$Failures ${1##*/}"
}

Products=$(make -s --no-print-directory SETUP=true describe |
    sed -n 's/^project Program \([^ ]*\) .*/\1/p')
Images=
for Configuration in Release Debug; do
    for Name in $Products; do
        Images="$Images x64/$Configuration/$Name.exe"
    done
done

Run Build/CheckTracked.py
Run Build/CheckStyle.py
Run Build/CheckRooms.py
Run Build/CheckHeaders.sh
Run Build/CheckLayers.py . x64/Release
Run Build/CheckProjects.py
# shellcheck disable=SC2086
Run Build/CheckImports.py $Images
Run Build/CheckLibrary.py x64/{Release,Debug}/TracerPenter{,Null}.lib
Run Build/CheckLibrary.py --breakpoints \
    x64/Release/{Rtl,Asm,StringTable,TraceStore,Reader}.lib
Run Build/CheckExports.sh
Run Build/CheckReproducible.sh
Run Build/WriteDocs.py --check
Run Build/TestCheckers.sh

if [ -n "$Failures" ]; then
    echo "check: failed:$Failures"
    exit 1
fi
echo "check: everything passed"

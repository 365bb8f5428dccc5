#!/bin/sh
#
# Gets puppeteer-core, which drives the browser in tests, through npm: the
# packages that Tests/Browser/package-lock.json names, each with its hash.  What
# is there already is used as it is: the second run needs no network.
#
# usage: Build/FetchPuppeteer.sh [folder]       default: x64/Puppeteer
#
# Prints the folder that holds node_modules on standard output; everything else
# goes to standard error.  Exit code 0 when the packages are there, 1 when they
# cannot be had.
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd)
Target=${1:-$Root/x64/Puppeteer}
Lock=$Root/Tests/Browser/package-lock.json

Fail()
{
    echo "FetchPuppeteer: $1" >&2
    exit 1
}

mkdir -p "$Target" || Fail "cannot create $Target"
Target=$(cd "$Target" && pwd)
Sum=$(sha256sum "$Lock" | cut -c 1-16)
[ -n "$Sum" ] || Fail "cannot read $Lock"
Packages=$Target/$Sum

if [ -f "$Packages/node_modules/puppeteer-core/package.json" ]; then
    echo "$Packages"
    exit 0
fi

command -v npm >/dev/null 2>&1 ||
    Fail "no npm here: install the packages into $Packages by hand"

#
# They go into a folder of their own first: two that fetch at a time do not
# meet, and one that was cut short leaves nothing that looks whole.
#

Unpack=$Target/Unpack.$$
trap 'rm -rf "$Unpack"' EXIT
mkdir -p "$Unpack/$Sum" || Fail "cannot create $Unpack"
cp "$Root/Tests/Browser/package.json" "$Lock" "$Unpack/$Sum/" ||
    Fail "cannot copy $Lock"
(cd "$Unpack/$Sum" && npm ci --ignore-scripts --no-audit --no-fund --silent \
    --cache "$Unpack/Cache") >"$Unpack/log" 2>&1 || {
    tail -n 3 "$Unpack/log" >&2
    Fail "the packages of $Lock cannot be had (no network?)"
}
mv "$Unpack/$Sum" "$Target/" 2>/dev/null
[ -f "$Packages/node_modules/puppeteer-core/package.json" ] ||
    Fail "cannot move the packages to $Target"

echo "$Packages"
exit 0

#!/bin/sh
#
# Gets the static pages of speedscope, as its npm package has them, for the
# tests that open exports in it.  What is there already is used as it is: the
# second run needs no network.
#
# usage: Build/FetchSpeedscope.sh [folder]       default: x64/Speedscope
#
# Prints the folder that holds index.html on standard output; everything else
# goes to standard error.  Exit code 0 when the pages are there, 1 when they
# cannot be had.
#

set -u

Version=1.25.0
Sum=2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03

Root=$(cd "$(dirname "$0")/.." && pwd)
Target=${1:-$Root/x64/Speedscope}

Fail()
{
    echo "FetchSpeedscope: $1" >&2
    exit 1
}

mkdir -p "$Target" || Fail "cannot create $Target"
Target=$(cd "$Target" && pwd)
Pages=$Target/$Version/package/dist/release

if [ -f "$Pages/index.html" ]; then
    echo "$Pages"
    exit 0
fi

command -v npm >/dev/null 2>&1 ||
    Fail "no npm here: unpack the package into $Target/$Version by hand"

#
# The package goes through a folder of its own: two that fetch at a time do
# not meet, and one that was cut short leaves nothing that looks whole.
#

Unpack=$Target/Unpack.$$
trap 'rm -rf "$Unpack"' EXIT
mkdir -p "$Unpack" || Fail "cannot create $Unpack"
(cd "$Unpack" && npm pack --silent --cache "$Unpack/Cache" \
    "speedscope@$Version") >"$Unpack/log" 2>&1 || {
    tail -n 3 "$Unpack/log" >&2
    Fail "speedscope $Version cannot be had (no network?)"
}

Archive=$Unpack/speedscope-$Version.tgz
echo "$Sum  $Archive" | sha256sum --check --status ||
    Fail "$Archive is not the package that it should be"
mkdir "$Unpack/$Version" &&
    tar -xzf "$Archive" -C "$Unpack/$Version" ||
    Fail "cannot unpack $Archive"
[ -f "$Unpack/$Version/package/dist/release/index.html" ] ||
    Fail "no index.html in $Archive"
mv "$Unpack/$Version" "$Target/" 2>/dev/null
[ -f "$Pages/index.html" ] || Fail "cannot move the pages to $Target"

echo "$Pages"
exit 0

#!/bin/bash
#
# Build/Setup.sh [BUILD-FOLDER]
#
# Makes a bare Debian 12 or 13 ready to build and test: installs the packages
# that are missing, and makes the Wine prefix in the build folder (x64 unless
# another is named).  Does nothing, quickly, when all of it is there.  Several
# may run at a time.
#

set -u

#
# wine64-preloader: without it about one program in 5,000 does not start (exit
# code 1, no output), because Wine finds its heap, which the kernel places at
# random, where the page shared with the Windows kernel must be (7FFE0000).
#

Packages="
    binutils
    ca-certificates
    ccache
    chromium
    clang-19
    cmake
    dpkg-dev
    e2fsprogs
    g++
    g++-mingw-w64-x86-64
    gcc
    gcc-mingw-w64-x86-64
    libc6-dev
    libclang-rt-19-dev
    lld-19
    llvm-19
    make
    nasm
    ninja-build
    protobuf-compiler
    python3
    python3-jsonschema
    python3-pyte
    tcl
    tzdata
    python3-yaml
    valgrind
    wine
    wine64
    wine64-preloader
    zlib1g-dev
"

#
# FetchSpeedscope.sh and FetchPuppeteer.sh want npm, and tests Node.js, which comes
# with it.  Where it came with another Node.js than the
# distribution's, the distribution's package would not install.
#

if ! command -v npm >/dev/null 2>&1; then
    Packages="$Packages npm"
fi

Root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
Folder=${1:-$Root/x64}

Fail()
{
    echo "Setup: $*" >&2
    exit 1
}

#
# Packages.
#

command -v dpkg-query >/dev/null ||
    Fail "finding packages: dpkg-query: not found (this needs Debian)"

#
# The lock keeps two makes from installing at a time; the second then finds
# that all is there.
#

mkdir -p "$Folder" || Fail "making the build folder: $Folder"
Folder=$(cd "$Folder" && pwd) || Fail "finding the build folder: $Folder"

ListMissing()
{
    # shellcheck disable=SC2086
    dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $Packages 2>/dev/null |
        sed -n 's/^ii //p' |
        sort -u |
        comm -13 - <(printf '%s\n' $Packages | sort -u)
}

Prefix=$Folder/Wine
Mark=$Prefix/tracer-ready.2

Missing=$(ListMissing)
if [ -z "$Missing" ] && [ -f "$Mark" ]; then
    exit 0
fi

exec 9>"$Folder/.setup.lock" ||
    Fail "opening the lock: $Folder/.setup.lock"
flock -w 900 9 ||
    Fail "waiting for the lock: $Folder/.setup.lock: held for 15 minutes"

Missing=$(ListMissing | paste -s -d ' ')
if [ -n "$Missing" ]; then
    echo "Setup: installing $Missing"

    AsRoot=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            Fail "installing packages: $Missing: neither root nor sudo"
        AsRoot="sudo -n"
    fi

    #
    # The output is shown only when a step fails.
    #

    Log=$(mktemp) || Fail "making a temporary file"
    trap 'rm -f "$Log"' EXIT

    Run()
    {
        local Step=$1
        shift
        # shellcheck disable=SC2086
        if ! $AsRoot env DEBIAN_FRONTEND=noninteractive "$@" \
            >"$Log" 2>&1 </dev/null 9>&-; then
            tail -n 30 "$Log" >&2
            Fail "$Step: $Missing: failed (above)"
        fi
    }

    Run "apt-get update" apt-get -q -o DPkg::Lock::Timeout=600 update

    # shellcheck disable=SC2086
    Run "apt-get install" apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=600 install $Missing

    Missing=$(ListMissing | paste -s -d ' ')
    [ -z "$Missing" ] ||
        Fail "apt-get install: $Missing: still missing afterwards"
fi

#
# The Wine prefix.  The mark is written last, so a prefix without it was cut
# short, and is made again.
#

if [ ! -f "$Mark" ]; then
    echo "Setup: making the Wine prefix in $Prefix"
    Wine=$Root/Build/RunWine.sh

    if [ -e "$Prefix" ]; then
        TRACER_WINE_PREFIX=$Prefix "$Wine" --server -k >/dev/null 2>&1 9>&-
        rm -rf "$Prefix" || Fail "removing an unfinished prefix: $Prefix"
    fi
    mkdir -p "$Prefix" || Fail "making the Wine prefix: $Prefix"
    export TRACER_WINE_PREFIX=$Prefix

    #
    # Wine's processes must not inherit the lock, or they would hold it for
    # as long as its server lives.
    #

    timeout 300 "$Wine" wineboot -i >"$Prefix/setup.log" 2>&1 9>&- || {
        cat "$Prefix/setup.log" >&2
        Fail "wineboot -i: $Prefix: failed"
    }
    timeout 120 "$Wine" reg add 'HKCU\Software\Wine' /v Version /d win10 /f \
        >"$Prefix/setup.log" 2>&1 9>&- || {
        cat "$Prefix/setup.log" >&2
        Fail "setting the Windows version: $Prefix: failed"
    }

    #
    # Each program that starts looks for the machine's time zone among Wine's,
    # by the alphabet, and that is a third of what a start costs.  UTC, where
    # most test machines are, comes first.
    #

    Zones='HKLM\Software\Microsoft\Windows NT\CurrentVersion\Time Zones'
    timeout 120 "$Wine" reg copy "$Zones\UTC" "$Zones\A UTC" /s /f \
        >"$Prefix/setup.log" 2>&1 9>&- || {
        cat "$Prefix/setup.log" >&2
        Fail "copying a time zone: $Prefix: failed"
    }
    timeout 120 "$Wine" --server -w 9>&- ||
        Fail "wineserver -w: $Prefix: still running after 2 minutes"
    [ -f "$Prefix/system.reg" ] ||
        Fail "wineboot -i: $Prefix: made no system.reg"

    rm -f "$Prefix/setup.log"
    : >"$Mark" || Fail "marking the prefix as ready: $Mark"
fi

exit 0

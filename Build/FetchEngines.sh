#!/bin/sh
#
# Gets programs that read Parquet files, as their npm packages have them, for
# the tests of that export: hyparquet (JavaScript) and DuckDB (native, Linux on
# x64).  What is there already is used as it is: the second run needs no
# network.
#
# usage: Build/FetchEngines.sh [--clickhouse] [folder]     default: x64/Engines
#
# Prints the folder that holds node_modules on standard output; everything else
# goes to standard error.  Exit code 0 when both are there, 2 when only
# hyparquet is, 1 when neither can be had.
#
# With --clickhouse it gets ClickHouse alone, as a library (native, Linux on
# x64), and prints that one's path: 178 MB to fetch, 570 MB on the disk.
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd)
ClickHouse=0
if [ "${1:-}" = --clickhouse ]; then
    ClickHouse=1
    shift
fi

Target=${1:-$Root/x64/Engines}

Fail()
{
    echo "FetchEngines: $1" >&2
    return 1
}

mkdir -p "$Target/node_modules/@duckdb" "$Target/node_modules/@chdb" || {
    Fail "cannot create $Target"
    exit 1
}

Target=$(cd "$Target" && pwd)
Unpack=$Target/Unpack.$$
trap 'rm -rf "$Unpack"' EXIT

#
# Each package goes through a folder of its own: two that fetch at a time do
# not meet, and one that was cut short leaves nothing that looks whole.
#

Get()
{
    Name=$1
    Version=$2
    Sum=$3
    [ -f "$Target/node_modules/$Name/package.json" ] && return 0
    command -v npm >/dev/null 2>&1 || {
        Fail "no npm here: unpack $Name $Version into $Target/node_modules"
        return 1
    }

    rm -rf "$Unpack"
    mkdir -p "$Unpack" || return 1
    (cd "$Unpack" && npm pack --silent --cache "$Unpack/Cache" \
        "$Name@$Version") >"$Unpack/log" 2>&1 || {
        tail -n 3 "$Unpack/log" >&2
        Fail "$Name $Version cannot be had (no network?)"
        return 1
    }

    Archive=$(echo "$Unpack"/*.tgz)
    echo "$Sum  $Archive" | sha256sum --check --status || {
        Fail "$Archive is not the package that it should be"
        return 1
    }

    tar -xzf "$Archive" -C "$Unpack" || {
        Fail "cannot unpack $Archive"
        return 1
    }

    mv -T "$Unpack/package" "$Target/node_modules/$Name" 2>/dev/null
    [ -f "$Target/node_modules/$Name/package.json" ] ||
        Fail "cannot move $Name to $Target"
}

IsLinux=0
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] && IsLinux=1

if [ $ClickHouse = 1 ]; then
    Package=@chdb/lib-linux-x64-gnu
    [ $IsLinux = 1 ] && Get $Package 26.7.3-stable.1 \
        c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad ||
        exit 1
    echo "$Target/node_modules/$Package/libchdb.so"
    exit 0
fi

Get hyparquet 1.33.0 \
    6af16c6ed33e983d6ee6e5e05b1ef3ae766efc22240fac3eb56ecd2ab5780e9b || exit 1
echo "$Target"

DuckDB=1.5.6-r.1
[ $IsLinux = 1 ] &&
    Get @duckdb/node-bindings-linux-x64 $DuckDB \
    1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff &&
    Get detect-libc 2.1.2 \
    270dec0fc06cff86481da8af2dd8f18dee6b602790b14ef0e1c2c18d7da39427 &&
    Get @duckdb/node-bindings $DuckDB \
    9d1ebca9020dcd5680e2e38bd182f1a0e69e59f00d31dfc5afca2623b8a34ac3 &&
    Get @duckdb/node-api $DuckDB \
    64d5080af3c0144329f9cbdbff7bc867c9c1f9df57a7e7e2a8b13bc6ed2bc664 || exit 2
exit 0

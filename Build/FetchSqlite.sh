#!/bin/sh
#
# Gets sources of SQLite (sqlite3.c, sqlite3.h, sqlite3ext.h) as npm's packages
# of better-sqlite3 have them, for the tests of TracerSqlite.dll: the oldest
# version that it takes and the newest that there was.  What is there already
# is used as it is: the second run needs no network.
#
# usage: Build/FetchSqlite.sh VERSION [folder]     default: x64/Sqlite/VERSION
#
#     VERSION     3.31.1 or 3.54.1
#
# Prints the folder on standard output; everything else goes to standard error.
# Exit code 0 when the source is there, 1 when it cannot be had, 2 for a wrong
# call.
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd)

Fail()
{
    echo "FetchSqlite: $1" >&2
    exit 1
}

case ${1:-} in
3.31.1)
    Package=6.0.1
    Sum=a1540d7efefd04ae00b09186338cd614deda0f5eb30979c57ee97f775bfc0cfc
    ;;
3.54.1)
    Package=13.2.0
    Sum=40487589df3496f2ee0079d22b73c63fccebe7db0e8ee9a2c42421861e321e0b
    ;;
*)
    echo "usage: Build/FetchSqlite.sh VERSION [folder]" >&2
    exit 2
    ;;
esac

Target=${2:-$Root/x64/Sqlite/$1}
mkdir -p "$Target" || Fail "cannot create $Target"
Target=$(cd "$Target" && pwd)
Print()
{
    echo "$Target"
    exit 0
}

[ -f "$Target/sqlite3.c" ] && Print
command -v npm >/dev/null 2>&1 ||
    Fail "no npm here: put SQLite $1's amalgamation into $Target"

#
# In a folder of its own: what was cut short leaves nothing that looks whole.
#

Unpack=$Target/Unpack.$$
trap 'rm -rf "$Unpack"' EXIT
mkdir -p "$Unpack" || Fail "cannot create $Unpack"
(cd "$Unpack" && npm pack --silent --cache "$Unpack/Cache" \
    "better-sqlite3@$Package") >"$Unpack/log" 2>&1 || {
    tail -n 3 "$Unpack/log" >&2
    Fail "better-sqlite3 $Package cannot be had (no network?)"
}

Archive=$(echo "$Unpack"/*.tgz)
echo "$Sum  $Archive" | sha256sum --check --status ||
    Fail "$Archive is not the package that it should be"
tar -xzf "$Archive" -C "$Unpack" || Fail "cannot unpack $Archive"

#
# Older packages have an archive in the archive.
#

Inner=$Unpack/package/deps/sqlite3.tar.gz
if [ -f "$Inner" ]; then
    mkdir -p "$Unpack/package/deps/sqlite3"
    tar -xzf "$Inner" -C "$Unpack/package/deps/sqlite3" ||
        Fail "cannot unpack $Inner"
fi

for File in sqlite3.h sqlite3ext.h sqlite3.c; do
    mv "$Unpack/package/deps/sqlite3/$File" "$Target" ||
        Fail "no $File in $Archive"
done

Print

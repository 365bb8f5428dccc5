#!/bin/sh
#
# Gets the source of a program from the distribution's source package and
# leaves it in FOLDER/Source.  What is there already is used as it is: the
# second run needs no network.
#
# The system's package lists, cache and configuration stay as they are: apt
# works on a private state below FOLDER/Apt, with source-package lines made
# from the system's own sources.
#
# usage: Build/FetchSource.sh PACKAGE FILE FOLDER
#
#     PACKAGE     the source package (lua5.4)
#     FILE        a file that tells that the source is there, from the top of
#                 the source (src/lua.c)
#     FOLDER      made if it is not there
#
# Prints the folder that FILE is in on standard output; everything else goes to
# standard error.  Exit code 0 when the source is there, 1 when it cannot be
# had, 2 for a wrong call.
#

set -u

if [ $# != 3 ]; then
    echo "usage: Build/FetchSource.sh PACKAGE FILE FOLDER" >&2
    exit 2
fi

Package=$1
Marker=$2
Target=$3

Fail()
{
    echo "FetchSource: $1" >&2
    exit 1
}

mkdir -p "$Target" || Fail "cannot create $Target"
Target=$(cd "$Target" && pwd)

Print()
{
    dirname "$Target/Source/$Marker"
    exit 0
}

if [ -f "$Target/Source/$Marker" ]; then
    Print
fi

command -v apt-get >/dev/null 2>&1 ||
    Fail "no apt-get here: unpack $Package into $Target/Source by hand"

#
# The private state.
#

Apt=$Target/Apt
mkdir -p "$Apt/lists/partial" "$Apt/cache/archives/partial" "$Apt/download" ||
    Fail "cannot create $Apt"
: > "$Apt/status"

#
# Proxies and other settings of the transfer are taken over; the system's
# hooks that run after an update are not.
#

{
    apt-config dump 2>/dev/null |
        grep '^Acquire::' | grep -v '^Acquire::IndexTargets'
    cat <<END
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
Dir::Etc::parts "/nonexistent";
Dir::Etc::main "/dev/null";
Dir::Etc::sourcelist "$Apt/sources.list";
Dir::Etc::sourceparts "/nonexistent";
Dir::State "$Apt";
Dir::State::lists "$Apt/lists";
Dir::State::status "$Apt/status";
Dir::Cache "$Apt/cache";
APT::Sandbox::User "";
END
} > "$Apt/apt.conf"
export APT_CONFIG="$Apt/apt.conf"

#
# One deb-src line for each URI and suite of the system.  Sources of other
# publishers are left out: a line counts when its URI names the distribution,
# unless no line does.
#

Distribution=$(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' /etc/os-release 2>/dev/null |
    tr -d "\"'" | tr ' \n' '||' | sed 's/|*$//; s/|/\\|/g')

ListAll()
{
    #
    # The one-line format: deb [options] uri suite components.
    #

    for File in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$File" ] || continue
        sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]\{1,\}/deb-src /p' \
            "$File"
    done

    #
    # The deb822 format: stanzas of fields, separated by empty lines.  A
    # Signed-By that is not a path is an embedded key and is not taken over.
    #

    for File in /etc/apt/sources.list.d/*.sources; do
        [ -r "$File" ] || continue
        awk '
            function Flush(    i, j, n, m, U, S, O) {
                if (Uris != "" && tolower(Enabled) !~ /^(no|false|0)$/) {
                    n = split(Uris, U, " ")
                    m = split(Suites, S, " ")
                    O = (Key ~ /^\//) ? "[signed-by=" Key "] " : ""
                    for (i = 1; i <= n; i++) {
                        for (j = 1; j <= m; j++) {
                            print "deb-src " O U[i] " " S[j] " " Components
                        }
                    }
                }
                Uris = Suites = Components = Key = Enabled = Field = ""
            }
            {
                sub(/\r$/, "")
            }
            /^#/ {
                next
            }
            /^[ \t]*$/ {
                Flush()
                next
            }
            {
                if ($0 ~ /^[ \t]/) {
                    Value = $0
                } else {
                    Field = tolower(substr($0, 1, index($0, ":") - 1))
                    Value = substr($0, index($0, ":") + 1)
                }
                sub(/^[ \t]+/, "", Value)
                sub(/[ \t]+$/, "", Value)
                if (Field == "uris") Uris = Uris " " Value
                if (Field == "suites") Suites = Suites " " Value
                if (Field == "components") Components = Components " " Value
                if (Field == "signed-by" && Key == "") Key = Value
                if (Field == "enabled") Enabled = Value
            }
            END {
                Flush()
            }' "$File"
    done
}

ListAll | sort -u > "$Apt/all.list"
grep -i "://[^ ]*\\(${Distribution:-debian}\\)" "$Apt/all.list" > "$Apt/sources.list" ||
    cp "$Apt/all.list" "$Apt/sources.list"
[ -s "$Apt/sources.list" ] || Fail "the system names no package source"

#
# The indexes of the source packages, then the package.  A source that does
# not answer is no failure as long as another one has the package.
#

echo "FetchSource: reading the source package indexes" >&2
apt-get -q update > "$Apt/update.log" 2>&1

echo "FetchSource: getting the source package $Package" >&2
rm -f "$Apt"/download/*
(cd "$Apt/download" && apt-get -q source --download-only "$Package") \
    > "$Apt/source.log" 2>&1

Archive=
for File in "$Apt/download/$Package"_*.orig.tar.*; do
    case $File in
    *.asc) ;;
    *) [ -f "$File" ] && Archive=$File ;;
    esac
done

if [ -z "$Archive" ]; then
    tail -n 3 "$Apt/update.log" "$Apt/source.log" >&2
    Fail "the source package $Package cannot be had (no network?)"
fi

rm -rf "$Target/Unpack" "$Target/Source"
mkdir -p "$Target/Unpack"
tar -xf "$Archive" -C "$Target/Unpack" || Fail "cannot unpack $Archive"

#
# An archive has one folder at its top as a rule; where it has not, that which
# FILE is below is the top.
#

Inner=$(find "$Target/Unpack" -path "*/$Marker" | sort | head -n 1)
[ -n "$Inner" ] || Fail "no $Marker in $Archive"
mv "${Inner%/"$Marker"}" "$Target/Source" ||
    Fail "cannot move the source into $Target/Source"

#
# The archive and the indexes are of no use any more.
#

rm -rf "$Target/Unpack" "$Apt"
Print

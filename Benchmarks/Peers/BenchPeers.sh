#!/bin/bash
#
# Benchmarks/Peers/BenchPeers.sh [OPTION...]
#
# What `make bench-peers` runs: installs the other tracers, as far as they are
# missing and Debian has them, and compares them with ours (BenchPeers.py,
# which takes the options).  The packages are not in Build/Setup.sh's list:
# nothing else needs them.
#
# A tracer that cannot be installed is left out of the comparison, which says
# so and counts it.
#

set -u

Root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1

#
# The packages of each tool.  XRay's and gprof's compilers are in Setup.sh's
# list, but a bench may be run where that was not.
#

Tools="uftrace lttng xray gprof"
declare -A Packages=(
    [uftrace]="uftrace"
    [lttng]="lttng-tools liblttng-ust-dev babeltrace2"
    [xray]="clang-19 libclang-rt-19-dev llvm-19"
    [gprof]="gcc binutils libc6-dev"
)

#
# ListMissing PACKAGE...
#

ListMissing()
{
    dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^ii //p' |
        sort -u |
        comm -13 - <(printf '%s\n' "$@" | sort -u)
}

AsRoot=
if [ "$(id -u)" != 0 ]; then
    AsRoot="sudo -n"
fi

Log=$(mktemp) || exit 1
trap 'rm -f "$Log"' EXIT

#
# Install PACKAGE...: each tool's packages in a step of their own, so that
# one that is not to be had does not keep the others out.  No service is
# started: policy-rc.d has the last word on that, and the comparison starts
# its own daemon anyway if there is none.
#

Updated=
Install()
{
    if [ -z "$Updated" ]; then
        # shellcheck disable=SC2086
        $AsRoot env DEBIAN_FRONTEND=noninteractive apt-get -q \
            -o DPkg::Lock::Timeout=600 update >"$Log" 2>&1 </dev/null
        Updated=yes
    fi
    # shellcheck disable=SC2086
    $AsRoot env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        --no-install-recommends -o DPkg::Lock::Timeout=600 \
        install "$@" >"$Log" 2>&1 </dev/null
}

Absent=
for Tool in $Tools; do
    # shellcheck disable=SC2086
    Missing=$(ListMissing ${Packages[$Tool]} | paste -s -d ' ')
    [ -n "$Missing" ] || continue
    echo "BenchPeers: installing $Missing" >&2
    # shellcheck disable=SC2086
    Install $Missing || {
        tail -n 3 "$Log" >&2
        echo "BenchPeers: $Tool: cannot be installed: $Missing" >&2
        Absent="$Absent $Tool"
    }
done

PEERS_ABSENT=$Absent python3 "$Root/Benchmarks/Peers/BenchPeers.py" "$@"

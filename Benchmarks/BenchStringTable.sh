#!/usr/bin/env bash
#
# Benchmarks/BenchStringTable.sh [FILE]
#
# What a search of a string table costs, beside other ways to find the longest
# prefix of a string (BenchStringTable.py says how the names are chosen), after
# CASES random cases (default 100,000,000) in which every variant must agree
# with a plain loop over the prefixes (up to 512; in a hundredth of the cases
# with a hash of 100,000), and a tenth as many with hashes cut short.
#
# Everything is built for this machine, with the same sources and the same
# assembly as the Windows library, so that the C library that it is compared
# with is the system's.  FILE receives the tables.

set -euo pipefail

cd "$(dirname "$0")/.."

Work=$PWD/x64/Bench/StringTable
rm -rf "$Work"
mkdir -p "$Work"

Sources=$(find StringTable -name "*.c" ! -name StringTableCpu.c)
nasm -f elf64 -Dcode=exec -IStringTable/ StringTable/StringTableAvx2.asm \
    -o "$Work/Avx2.o"
# shellcheck disable=SC2086
Build() {
    local Output=$1
    shift

    clang-19 -O2 -std=c11 -fshort-wchar -D_DEFAULT_SOURCE "$@" \
        -DSTRING_TABLE_HAS_ASSEMBLY=1 $Sources Benchmarks/BenchStringTable.c \
        "$Work/Avx2.o" -Wl,-z,noexecstack -o "$Work/$Output"
}

Build BenchStringTable
Build Weak -DSTRING_TABLE_TAG_MASK=3u

#
# Of the second, hashes agree that are not those of the same bytes.
#

Cases=${CASES:-100000000}
"$Work/BenchStringTable" random "$Cases"
"$Work/Weak" random $((Cases / 10))
echo
exec python3 Benchmarks/BenchStringTable.py "$Work/BenchStringTable" "$Work" \
    "$@"

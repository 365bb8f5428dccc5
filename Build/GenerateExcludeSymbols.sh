#!/usr/bin/env bash
#
# Prints Penter/ExcludeSymbols.inc for a TracerPenter.lib: the linker directive
# that keeps every global symbol of the library out of a DLL's export table.
#
#     Build/GenerateExcludeSymbols.sh x64/Release/TracerPenter.lib

set -euo pipefail

nm=$(command -v llvm-nm-19 || command -v llvm-nm)

cat <<'EOF'
;
; Written by Build/GenerateExcludeSymbols.sh; make check compares.
;

EOF

"$nm" --defined-only --extern-only --format=just-symbols "$1" |
    grep -v -e '^@' -e '\.obj:$' -e '^$' | sort -u |
    awk '{ printf "        db \" -exclude-symbols:%s\"\n", $0 }
         END { print "        db \" \"" }'

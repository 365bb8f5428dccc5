#!/bin/bash
#
# Tests/Fuzz/Run.sh TARGET SECONDS [FOLDER]
#
# Builds a fuzz target (FuzzStore, FuzzSession, FuzzConfig, FuzzImage,
# FuzzDemangle, FuzzPdb, FuzzStringTable, FuzzIni, FuzzControl, FuzzGzip,
# FuzzPattern, FuzzCodecEncode, FuzzCodecDecode, FuzzPack, FuzzEtl) and runs it for that
# long, from the corpus in Tests/Fuzz/Corpus on, with one process.  What it
# finds new is in FOLDER/TARGET.corpus (x64/Fuzz unless another is named), an
# input that fails in FOLDER/TARGET.findings.
#
# The last lines say how many inputs were run and what they covered:
#
#     TARGET: N executions, N edges of N, N features, N inputs, N findings
#
# The exit code is 1 if something was found.
#

set -u

Root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd) || exit 1
Target=${1:?usage: Run.sh TARGET SECONDS [FOLDER]}
Seconds=${2:?usage: Run.sh TARGET SECONDS [FOLDER]}
Folder=${3:-$Root/x64/Fuzz}

"$Root/Tests/Fuzz/Build.sh" "$Folder" "$Target" || exit 1
if [ "$(cat "$Folder/Engine")" != libFuzzer ]; then
    echo "Run: this needs libFuzzer (Debian: libclang-rt-19-dev)" >&2
    exit 1
fi

Corpus=$Folder/$Target.corpus
Findings=$Folder/$Target.findings
Log=$Folder/$Target.log
mkdir -p "$Corpus" "$Findings" || exit 1

case $Target in
    FuzzImage|FuzzPdb) Length=24000 ;;
    FuzzSession) Length=40000 ;;
    FuzzDemangle) Length=600 ;;
    *) Length=8000 ;;
esac

Code=0
"$Folder/$Target" -max_total_time="$Seconds" -max_len=$Length -timeout=60 \
    -report_slow_units=10 \
    -rss_limit_mb=2048 -detect_leaks=0 -print_final_stats=1 \
    -artifact_prefix="$Findings/" \
    "$Corpus" "$Root/Tests/Fuzz/Corpus/$Target" >"$Log" 2>&1 </dev/null ||
    Code=$?

[ $Code = 0 ] || grep -aE \
    'FUZZ_CHECK|^==.*ERROR|runtime error|^ *#[0-9]+ .* in [A-Z]' "$Log" |
    head -n 30

Last=$(grep -aE '^#[0-9]+.* cov: ' "$Log" | tail -n 1)
Edges=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' <<<"$Last")
Features=$(sed -n 's/.* ft: \([0-9]*\).*/\1/p' <<<"$Last")
All=$(sed -n 's/.*Loaded 1 modules *(\([0-9]*\) .*/\1/p' "$Log" | head -n 1)
Executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$Log")
echo "$Target: ${Executions:-?} executions, ${Edges:-?} edges of ${All:-?}," \
    "${Features:-?} features, $(find "$Corpus" -type f | wc -l) inputs," \
    "$(find "$Findings" -type f | wc -l) findings"
[ $Code = 0 ]

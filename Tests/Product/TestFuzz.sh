#!/bin/bash
#
# Tests/Product/TestFuzz.sh
#
# Builds the fuzz targets of Tests/Fuzz for this machine, gives each of them
# its corpus and some thousand inputs more, always the same, and expects no
# finding; what an input costs is counted, not measured (FuzzWork.c).  Then it
# plants faults in copies of the sources, and expects the corpus to find each
# one.  The short form has a fourth of the inputs, and the first fault of each
# target.  Tests/Fuzz/Run.sh runs a target for longer.
#
# Takes long.
#

set -u

Root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd) || exit 1
Fuzz=$Root/Tests/Fuzz
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT
cd "$Temp" || exit 1

#
# What the target does with memory is checked by the target itself; the leak
# checker wants to stop processes, which not every machine allows.
#

export ASAN_OPTIONS=detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1

Part=4
[ -z "${TRACER_LONG:-}" ] || Part=1

Passed=0
Failed=0
Skipped=0

Check()
{
    local What=$1
    shift
    if "$@"; then
        Passed=$((Passed + 1))
    else
        Failed=$((Failed + 1))
        echo "failed: $What"
        [ ! -s log ] || grep -avE '^(INFO|#)' log | head -n 60
    fi
}

Skip()
{
    Skipped=$((Skipped + 1))
    echo "skipped: $*"
}

#
# Replay PROGRAM TARGET: gives the program the target's corpus.
#

Replay()
{
    ("$1" -runs=0 "$Fuzz/Corpus/$2" </dev/null; exit $?) >log 2>&1
}

#
# Runs TARGET NUMBER LENGTH: gives it that many inputs made of the corpus.
#

Runs()
{
    mkdir -p "New.$1"
    "./Built/$1" -runs=$(($2 / Part)) -max_len="$3" -seed=1 -timeout=600 \
        -artifact_prefix=Finding. "New.$1" "$Fuzz/Corpus/$1" \
        >log 2>&1 </dev/null
}

#
# IsFound TARGET SOURCE EDIT: builds the target with a fault in one source,
# and says whether the corpus finds it; where is not of interest.
#

IsFound()
{
    PLANT_SOURCE=$2 PLANT_EDIT=$3 "$Fuzz/Build.sh" "$Temp/Built" "$1" \
        >log 2>&1 </dev/null || return 1
    if ASAN_OPTIONS=$ASAN_OPTIONS:symbolize=0 \
        UBSAN_OPTIONS=symbolize=0 Replay ./Built/Planted "$1"; then
        echo "the corpus of $1 does not find it" >log
        return 1
    fi
    grep -aqE 'FUZZ_CHECK failed|AddressSanitizer|runtime error' log
}

Targets="FuzzStore FuzzSession FuzzConfig FuzzImage FuzzDemangle FuzzPdb FuzzStringTable FuzzIni FuzzControl FuzzGzip FuzzPattern
         FuzzCodecEncode FuzzCodecDecode FuzzPack FuzzEtl"

Check "building" "$Fuzz/Build.sh" "$Temp/Built"
if [ $Failed != 0 ]; then
    echo "$Passed passed, $Failed failed"
    exit 1
fi

Engine=$(cat Built/Engine)
for Target in $Targets; do
    Count=$(find "$Fuzz/Corpus/$Target" -type f | wc -l)
    Check "$Target: there is a corpus" [ "$Count" -ge 10 ]
    Check "$Target: the corpus" Replay "./Built/$Target" "$Target"
done

if [ "$Engine" = libFuzzer ]; then
    Check "FuzzStore: more inputs" Runs FuzzStore 6000 6000
    Check "FuzzSession: more inputs" Runs FuzzSession 2500 14000
    Check "FuzzConfig: more inputs" Runs FuzzConfig 15000 3000
    Check "FuzzIni: more inputs" Runs FuzzIni 10000 3000
    Check "FuzzControl: more inputs" Runs FuzzControl 10000 8000
    Check "FuzzImage: more inputs" Runs FuzzImage 30000 16000
    Check "FuzzPdb: more inputs" Runs FuzzPdb 20000 24000
    Check "FuzzDemangle: more inputs" Runs FuzzDemangle 40000 600
    Check "FuzzPattern: more inputs" Runs FuzzPattern 30000 600
    Check "FuzzGzip: more inputs" Runs FuzzGzip 600 200
    Check "FuzzCodecEncode: more inputs" Runs FuzzCodecEncode 1000 300
    Check "FuzzCodecDecode: more inputs" Runs FuzzCodecDecode 20000 2000
    Check "FuzzPack: more inputs" Runs FuzzPack 20000 2000
    Check "FuzzEtl: more inputs" Runs FuzzEtl 20000 8000
    Check "FuzzStringTable: more inputs" Runs FuzzStringTable 4000 3000
else
    Skip "more inputs: there is no libFuzzer (Debian: libclang-rt-19-dev)"
fi

#
# The faults: TARGET, SOURCE, EDIT a line.  Where a division is planted it says
# that a check is reached: what it guards is checked again later on.
#

Before=''
while read -r Target Source Edit; do
    [ $Part = 1 ] || [ "$Target" != "$Before" ] || continue
    Before=$Target
    if [[ $Source == *Avx512* ]] && ! grep -qw avx512bw /proc/cpuinfo; then
        Skip "a fault in $Source: this processor does not run it"
        continue
    fi
    Check "$Target: a fault in $Source: $Edit" \
        IsFound "$Target" "$Source" "$Edit"
done <<'FAULTS'
FuzzStore Reader/Core/CoreHeader.c s/if (Length > Capacity)/if (0)/
FuzzStore Reader/Core/CoreHeader.c s/Header->RingSizeInBytes % Segment != 0/0/
FuzzStore Reader/Core/CoreLive.c s/ % Header->RingSizeInBytes;/;/
FuzzStore Reader/Core/CoreRecord.c s/ || Kind > TRACE_KIND_GONE//
FuzzStore Reader/Core/CorePair.c s/NumberOfFrames < Stack->Capacity/NumberOfFrames <= Stack->Capacity/
FuzzStore Reader/Core/CorePair.c s/Parent->ChildTicks += Inclusive/Parent->ChildTicks += 1/
FuzzSession Reader/Core/CoreFast.c s/IsOutermost ? Ticks : 0/Ticks/
FuzzSession Reader/Core/CoreFast.c s/(ULONG)(Rsp - Lowest) > Extent/0/
FuzzSession Reader/Core/CoreFast.c s/Path->SelfTicks += Self/Path->SelfTicks += Ticks/
FuzzSession Reader/Sums/SumPaths.c s/Sums->BegunBefore += 1;//
FuzzSession Reader/Core/CoreTree.c s/Node->Parent >= Index/0/
FuzzSession Reader/Core/CoreTree.c s/(Offset - Tree->NodesFileOffset) \/ TRACE_NODE_SIZE >=/0 \&\& &/
FuzzSession Reader/Core/CoreImports.c s/Entry->SizeInBytes > Left/0/
FuzzSession Reader/Core/CoreImports.c s/Entry->NameLength > Entry->SizeInBytes - sizeof(.Entry)/0/
FuzzSession Reader/Calls/CallIndexRestore.c s/Frame->EnterTimestamp = Packed->EnterTimestamp;/Frame->EnterTimestamp = 1;/
FuzzSession Reader/Calls/CallIndexRestore.c s/Iterator->NumberOfBadRecords = Known->NumberOfBadRecords;//
FuzzSession Reader/Calls/CallIndexRestore.c s/Change->NumberOfFrames - Change->FirstFrame > Remaining/1 \/ !(&) == 0/
FuzzSession Reader/Calls/CallIndexRead.c s/Size > End - Offset/1 \/ !(&) == 0/
FuzzSession Reader/Live/LiveList.c s/Live->Tally.NumberOfFunctions,$/0,/
FuzzSession Reader/Session/SessionIterator.c s/READER_RECORDS_IN_BUFFER \*$/1000 */
FuzzSession Reader/Session/SessionStore.c s/RtlClose(Context->Rtl, Store->File);//
FuzzSession Reader/Session/SessionWindow.c s/Store->WindowSize < FileOffset - Store->WindowOffset + Size/0/
FuzzSession Rtl/RtlString.c s/return CodePoint >= ' ';/return TRUE;/
FuzzSession Reader/Functions/FunctionFilter.c s/Allocator->Free(Allocator->Context, Filter->IsExclude);//
FuzzSession Reader/Functions/FunctionFilter.c s/File->SizeInBytes += Read/File->SizeInBytes += Read + 200/
FuzzStringTable StringTable/StringTableTrie.c s/OffsetInBytes + Widths.Level.) {/OffsetInBytes) {/
FuzzStringTable StringTable/StringTableTrie.c s/((1ULL << Widths.Level.) - 1) << OffsetInBytes/0/
FuzzStringTable StringTable/StringTableScalar.c s/== 0 ? KERNEL_WIDTH/!= 1 ? KERNEL_WIDTH/
FuzzStringTable StringTable/StringTableAvx512.c s/Length < 64 ? Length : 64/64/
FuzzConfig Penter/PenterConfig.c s/= !AnyIncludes;/= TRUE;/
FuzzIni Penter/PenterIni.c s/ % Unit;/ * 0;/
FuzzIni Penter/PenterIni.c s/First == NULL || First == Last/First == NULL/
FuzzIni Penter/PenterIni.c s/IsMore \&\& Kept->Text.Length != 0/IsMore/
FuzzIni Penter/PenterIni.c s/Parser->Section = NULL;//
FuzzControl TraceStore/TraceControlFile.c s/Action->TextLength > sizeof(Action->Text)/0/
FuzzControl TraceStore/TraceControlAppend.c s/InterlockedIncrement64(&Session->ControlLeftOut) == 1/0/
FuzzControl TraceStore/TraceControl.c s/Action.Timestamp > Now/0/
FuzzPattern Reader/Functions/FunctionPattern.c s/if (Depth == READER_MAXIMUM_GROUPS)/if (0)/
FuzzPattern Reader/Functions/FunctionPattern.c s/Marks.Targets.Index.. != Pattern->Round/Round != 0/
FuzzPattern Reader/Functions/FunctionShorten.c s/if (Walk.Index >= LengthInBytes) {/if (0) {/
FuzzGzip Reader/Base/BaseDeflate.c s/Position + 1 - Candidate <= DEFLATE_HISTORY/1/
FuzzCodecEncode Codec/CodecEncode.c s/Limit - Encoder->Operand < CODEC_ROOM_FOR_OPERANDS/Limit - Encoder->Operand < -999999/
FuzzCodecEncode Codec/CodecEncode.c s/Ticks >= CODEC_SHORT;/Ticks >= 120;/
FuzzCodecEncode Codec/CodecEncode.c s/Model->Pairs.Pair. != StackChange/0/
FuzzCodecEncode Codec/CodecPack.c s/while (Used > CODEC_CODES)/while (0)/
FuzzCodecEncode Codec/CodecPack.c s/Packer->Order.0. ^ 1. = 1/Packer->Order[0] ^ 1] = 0/
FuzzCodecDecode Codec/CodecDecode.c s/Value >= Model->NumberOfSites/0/
FuzzCodecDecode Codec/CodecDecode.c s/(SIZE_T)(Operands->End - Operands->Next) < SizeInBytes/0/
FuzzCodecDecode Codec/CodecUnpack.c s/(SIZE_T)(Reader->End - Reader->Next) < SizeInBytes/0/
FuzzCodecDecode Codec/CodecUnpack.c s/Stream->SizeInBytes >= 8 &&/1 ||/
FuzzCodecDecode Codec/CodecBlock.c s/Header->RawBytes > CODEC_MAXIMUM_BYTES ||//
FuzzPack Reader/Base/BasePack.c s/Block->RawBytes > File->SizeInBytes - Block->FileOffset ||//
FuzzPack Reader/Base/BasePack.c s/File->NumberOfBlocks > Pack->NumberOfBlocks - File->FirstBlock ||//
FuzzPack Reader/Base/BasePack.c s/File->NameLength > SizeInBytes - File->Name ||//
FuzzPack Reader/Base/BasePack.c s/!RtlIsPlainName(Name, TRUE)/0/
FuzzPack Reader/Base/BasePack.c s/Name.Length = Folder.Length;$//
FuzzPack Reader/Base/BasePack.c s/Status == STATUS_END_OF_FILE) {$/0) {/
FuzzPack Reader/Base/BasePack.c s/View->SizeInBytes = (ULONG)Size;/View->SizeInBytes = (ULONG)Size + 1;/
FuzzEtl Reader/Etl/EtlFile.c s/Header.SizeInBytes > File->SizeInBytes - Offset/0/
FuzzEtl Reader/Etl/EtlFile.c s/Header->SavedOffset <= Most/1/
FuzzEtl Reader/Etl/EtlEvents.c s/Raw->SizeInBytes > Left ||//
FuzzEtl Reader/Etl/EtlEvents.c s/Raw->DataSize < sizeof(.Switch)/0/
FuzzEtl Reader/Etl/EtlXpress.c s/Distance > Written ||/Distance > 8192 ||/
FuzzEtl Reader/Etl/EtlXpress.c s/Length > TargetSize - Written ||//
FuzzEtl Reader/Etl/EtlStates.c s/States->NumberOfSamples += Kind == EtlRecordSample;//
FuzzEtl Reader/Etl/EtlSpans.c s/Maker->Sums.Waiting += State == EtlStateWaiting/Maker->Sums.Waiting += State >= EtlStateWaiting/
FuzzImage Reader/Image/ImageCoff.c s/SizeInBytes <= Image->SizeInBytes - Offset/1/
FuzzPdb Reader/Image/ImagePdb.c s/Count > NumberOfWords - First/0/
FuzzPdb Reader/Image/ImagePdb.c s/Pdb->SizeInBytes - Offset < Pdb->BlockSize/0/
FuzzDemangle Reader/Demangle/DemangleName.c s/(SIZE_T)(Parser->End - Parser->Next) < Length/0/
FuzzDemangle Reader/Demangle/DemanglePrint.c s/Length > READER_DEMANGLE_MAXIMUM_TEXT - Parser->Length/0/
FuzzImage Reader/Image/ImageDwarfForm.c s/if (Offset >= Section->SizeInBytes)/if (0)/
FuzzImage Reader/Image/ImageDwarfLine.c s/if (Index >= Lines->Files.Number)/if (0)/
FuzzImage Reader/Image/ImageUnwindData.c s/SizeInBytes <= Section->SizeInBytes - (Rva - Section->Rva)/1/
FAULTS

if [ $Skipped = 0 ]; then
    echo "$Passed passed, $Failed failed"
else
    echo "$Passed passed, $Failed failed, $Skipped skipped"
fi
[ $Failed = 0 ]

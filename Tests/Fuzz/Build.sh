#!/bin/bash
#
# Tests/Fuzz/Build.sh FOLDER [TARGET...]
#
# Builds the fuzz targets (all of them unless some are named) for this machine,
# with the sanitizers of addresses and of undefined behaviour: FOLDER/TARGET,
# and the objects that they are made of in FOLDER/Objects.
#
# What an input costs is counted by what the coverage of comparisons calls
# (FuzzWork.c), with every engine.
#
# FOLDER/Engine says what they are built with: libFuzzer; main: clang and the
# sanitizers, but a main program that only replays files; gcc: the same with
# gcc.  FUZZ_ENGINE chooses one; otherwise it is the first that there is.
#
# PLANT_SOURCE and PLANT_EDIT plant a fault: the source is built from a copy
# that sed has edited so, for one target whose objects are there, and the
# target becomes FOLDER/Planted.
#

set -u

Root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd) || exit 1
Fuzz=$Root/Tests/Fuzz
Folder=${1:?usage: Build.sh FOLDER [TARGET...]}
shift
[ $# != 0 ] || set -- FuzzStore FuzzSession FuzzConfig FuzzImage \
    FuzzDemangle FuzzPdb FuzzStringTable FuzzIni FuzzControl FuzzGzip FuzzPattern \
    FuzzCodecEncode FuzzCodecDecode FuzzPack FuzzEtl
mkdir -p "$Folder/Objects" || exit 1
cd "$Root" || exit 1

Fail()
{
    echo "Build: $*" >&2
    exit 1
}

Rtl="Rtl/RtlAllocator.c Rtl/RtlClock.c Rtl/RtlDecode.c Rtl/RtlEnvironment.c Rtl/RtlFile.c
     Rtl/RtlPath.c Rtl/RtlSecurity.c Rtl/RtlStatus.c Rtl/RtlString.c
     Rtl/RtlWriter.c"

Sources()
{
    case $1 in
        FuzzStore)
            ls Reader/Core/*.c
            ;;
        FuzzSession)
            ls Reader/*/*.c Codec/*.c StringTable/*.c Rtl/RtlCpu.c $Rtl |
                grep -vE '/(Sql[A-Za-z]*|Collect[A-Za-z]*|SymbolDbgHelp|BaseAttach|Start|LiveConsole|OutputKey|OutputPager(Program)?|RtlEnvironment)\.c$'
            ;;
        FuzzConfig|FuzzIni)
            ls Penter/Penter{Config,Ini,IniFile,Word}.c StringTable/*.c Rtl/RtlCpu.c $Rtl |
                grep -v /RtlClock.c
            ;;
        FuzzStringTable)
            ls StringTable/*.c | grep -v /StringTableCpu.c
            ;;
        FuzzPdb)
            ls Reader/Image/Image{Pdb,Coff}.c Rtl/RtlString.c
            ;;
        FuzzDemangle)
            ls Reader/Demangle/*.c
            ;;
        FuzzPattern)
            ls Reader/Functions/Function{Pattern,Shorten}.c Rtl/RtlString.c
            ;;
        FuzzControl)
            ls TraceStore/TraceControl*.c Rtl/RtlString.c
            ;;
        FuzzGzip)
            ls Reader/Base/BaseDeflate.c Rtl/RtlString.c
            ;;
        FuzzCodecEncode|FuzzCodecDecode)
            ls Codec/*.c
            ;;
        FuzzPack)
            ls Reader/Base/Base{Container,Crc,Pack}.c Codec/*.c \
                Rtl/Rtl{Allocator,File,Path,Security,String}.c
            ;;
        FuzzEtl)
            ls Reader/Etl/Etl{Events,File,Spans,States,Xpress}.c \
                Reader/Core/CoreClock.c Reader/Base/BaseContainer.c \
                Rtl/RtlString.c
            ;;
        FuzzImage)
            ls Reader/Image/Image{Coff,DebugLink}.c \
                Reader/Image/Image{Dwarf*,Unwind*}.c Rtl/RtlDecode.c \
                Rtl/RtlString.c
            ;;
        *)
            Fail "there is no target $1"
            ;;
    esac
    echo "Tests/Fuzz/FuzzSupport.c"
    echo "Tests/Fuzz/FuzzWork.c"
    ls Tests/Fuzz/"$1".c Tests/Fuzz/"$1"/*.c 2>/dev/null
    if [ "$1" = FuzzSession ]; then
        echo "Tests/Fuzz/FuzzReal.c"
        [ "$Engine" != libFuzzer ] || echo "Tests/Fuzz/FuzzMutate.c"
    fi
    [ "$Engine" = libFuzzer ] || echo "Tests/Fuzz/FuzzMain.c"
}

#
# Searches that find nothing are cut short early.  The window that slides over a store's records is as small as it can be, so
# that stores of some thousand records are larger; rings are smaller than any
# writer makes them, and so are the buffers of logs.  What is wrong with an index, a cache, a pack or
# a block is not to be told by its checksums alone.
#
# mingw-w64's headers come last: nothing but ntstatus.h is to be found there.
#

Flags="-std=c11 -gline-tables-only -O1 -D_DEFAULT_SOURCE -fshort-wchar -fno-omit-frame-pointer
       -DREADER_WINDOW_SIZE=0x10000ULL -DCORE_MINIMUM_SEGMENT_SIZE=0x1000ULL
       -DCORE_MAXIMUM_SEARCHED=0x100000ULL -DREADER_INDEX_IS_CHECKED=0 -DREADER_CACHE_IS_CHECKED=0
       -DETL_MAXIMUM_BUFFER=0x4000u -DREADER_PACK_IS_CHECKED=0 -DCODEC_SUM_IS_CHECKED=0
       -DSTRING_TABLE_TAG_MASK=3u
       -include Rtl/RtlPortable.h
       -idirafter /usr/share/mingw-w64/include -Wall -Wextra -Werror
       -IRtl -IStringTable -ITraceStore -IPenter -IAsm -ITests/Fuzz"
Sanitizers="-fsanitize=address,undefined -fno-sanitize-recover=all"

#
# Which of the engines is there is found by linking an empty target.  A fault is
# planted in what was built with one.
#

Try()
{
    local Language=$1
    shift
    echo "$Language" |
        "$@" -x c - -o "$Folder/Objects/try" >/dev/null 2>&1
}

Empty='int LLVMFuzzerTestOneInput(const unsigned char *D, unsigned long S)
{ return D == 0 && S != 0; }'

Engine=${FUZZ_ENGINE:-}
if [ -n "${PLANT_SOURCE:-}" ]; then
    Engine=$(cat "$Folder/Engine") || Fail "there is nothing to plant in"
elif [ -z "$Engine" ]; then
    # shellcheck disable=SC2086
    if Try "$Empty" clang-19 -fsanitize=fuzzer $Sanitizers; then
        Engine=libFuzzer
    elif Try 'int main(void) { return 0; }' clang-19 $Sanitizers; then
        Engine=main
    elif Try 'int main(void) { return 0; }' gcc $Sanitizers; then
        Engine=gcc
    else
        Fail "neither clang-19 nor gcc has its sanitizers"
    fi
fi
echo "$Engine" >"$Folder/Engine"

#
# clang's own linker takes a fraction of the time.
#

Linker=
! command -v ld.lld-19 >/dev/null || Linker=-fuse-ld=lld-19

case $Engine in
    libFuzzer)
        Compiler=clang-19
        Compile="$Sanitizers -fsanitize=fuzzer-no-link -DFUZZ_HAS_LIBFUZZER=1"
        Link="$Sanitizers -fsanitize=fuzzer $Linker"
        for Routine in cmp1 cmp2 cmp4 cmp8 const_cmp1 const_cmp2 const_cmp4 \
            const_cmp8 switch; do
            Link="$Link -Wl,--wrap=__sanitizer_cov_trace_$Routine"
        done
        ;;
    main)
        Compiler=clang-19
        Compile="$Sanitizers -fsanitize-coverage=trace-cmp"
        Link="$Sanitizers $Linker"
        ;;
    gcc)
        Compiler=gcc
        Compile="$Sanitizers -fsanitize-coverage=trace-cmp"
        Link=$Sanitizers
        ;;
    *)
        Fail "there is no engine $Engine"
        ;;
esac

#
# The kernel that Windows has in assembly is searched with too; it is called by
# Windows' convention.
#

SetObject()
{
    Object=${1//\//.}
    Object=$Folder/Objects/${Object%.c}.o
}

if [ -n "${PLANT_SOURCE:-}" ]; then
    [ ! -f "$Folder/Objects/Avx2.o" ] ||
        Flags="$Flags -DSTRING_TABLE_HAS_ASSEMBLY=1"
elif nasm -f elf64 -Dcode=exec -IStringTable/ StringTable/StringTableAvx2.asm \
    -o "$Folder/Objects/Avx2.o" 2>/dev/null; then
    Flags="$Flags -DSTRING_TABLE_HAS_ASSEMBLY=1"
fi

LinkTarget()
{
    local Target=$1 Output=$2 Source Object Objects=
    shift 2
    for Source in $(Sources "$Target"); do
        SetObject "$Source"
        [ "$Source" = "${PLANT_SOURCE:-}" ] || Objects="$Objects $Object"
    done
    case $Target in
        FuzzSession|FuzzConfig|FuzzIni|FuzzStringTable)
            [ ! -f "$Folder/Objects/Avx2.o" ] ||
                Objects="$Objects $Folder/Objects/Avx2.o"
            ;;
    esac
    case $Target in
        FuzzSession)
            Objects="$Objects -Wl,--wrap=StringTableSearch"
            ;;
        FuzzGzip)
            set -- "$@" -lz
            ;;
    esac
    # shellcheck disable=SC2086
    "$Compiler" $Link $Objects "$@" -Wl,-z,noexecstack -o "$Output" ||
        Fail "linking $Target"
}

if [ -n "${PLANT_SOURCE:-}" ]; then
    Copy=$Folder/Objects/${PLANT_SOURCE##*/}
    sed "$PLANT_EDIT" "$PLANT_SOURCE" >"$Copy" || exit 1
    ! cmp -s "$PLANT_SOURCE" "$Copy" ||
        Fail "there is nothing to edit in $PLANT_SOURCE: $PLANT_EDIT"
    # shellcheck disable=SC2086
    "$Compiler" $Flags -g0 -Wno-error $Compile "-I${PLANT_SOURCE%/*}" -c "$Copy" \
        -o "$Folder/Objects/Planted.o" ||
        Fail "compiling the edited $PLANT_SOURCE"
    LinkTarget "$1" "$Folder/Planted" "$Folder/Objects/Planted.o"
    exit 0
fi

#
# Objects are shared; two are compiled at a time.  Nothing is made again that
# is newer than every source.
#

Newest=$(ls -t Reader/*/*.[ch] Codec/*.[ch] Rtl/*.[ch] Penter/*.[ch] StringTable/* \
    TraceStore/*.h TraceStore/TraceControl*.c Tests/Fuzz/*.[ch] \
    Tests/Fuzz/*/*.[ch] Tests/Fuzz/Build.sh | head -n 1)
All=$(for Target; do Sources "$Target"; done | sort -u)
Todo=
for Source in $All; do
    SetObject "$Source"
    [ "$Object" -nt "$Newest" ] || Todo="$Todo $Source $Object"
done

# shellcheck disable=SC2086
[ -z "$Todo" ] || printf '%s\n' $Todo |
    xargs -n 2 -P 2 "$BASH" -c \
        '"$0" '"$(echo $Flags $Compile)"' -c "$1" -o "$2"' "$Compiler" ||
    Fail "compiling"

for Target; do
    LinkTarget "$Target" "$Folder/$Target"
done

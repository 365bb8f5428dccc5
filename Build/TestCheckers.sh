#!/bin/bash
#
# Build/TestCheckers.sh
#
# The checkers' own controls.  Each checker is shown something that is wrong,
# and must say so, in words that name it and with an exit code; where nothing
# else does it, each is also shown something that is right.
#

set -u

Root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT

#
# What a make around this one was told is not for the makes in here.
#

unset TESTS MAKEFLAGS MFLAGS MAKELEVEL ${!TRACER_*}

Passed=0
Failed=0

#
# Expect fails|passes WHAT PATTERN COMMAND [ARGUMENT...]
#

Expect()
{
    local Expected=$1 What=$2 Pattern=$3 Seen=passes
    shift 3
    "$@" >"$Temp/output" 2>&1 || Seen=fails
    if [ "$Seen" = "$Expected" ] && grep -q -e "$Pattern" "$Temp/output"; then
        Passed=$((Passed + 1))
        return
    fi
    Failed=$((Failed + 1))
    echo "TestCheckers: $What: $Seen, without saying '$Pattern'," \
         "where it should have: $Expected"
    tail -n 10 "$Temp/output" | sed 's/^/    | /'
}

#
# A small tree: a source or two in each folder, and no viewer.  Tree FOLDER
# makes one.
#

Tree()
{
    rm -rf "$1"
    mkdir -p "$1" || exit 1
    (
        cd "$1" || exit 1
        mkdir -p Rtl Asm StringTable TraceStore Penter Reader/Core Tests
        cp -r "$Root/Makefile" "$Root/Build" .
        sed -i '/^\(products\|release\|debug\):/s/ [^ ]*TraceViewer\.html//' \
            Makefile
        cp "$Root/Rtl/RtlTypes.h" Rtl
        cp "$Root/TraceStore/TraceFormat.h" TraceStore

        cat >Rtl/Rtl.h <<'End'
#ifndef RTL_H
#define RTL_H
#include "RtlTypes.h"
ULONG RtlOne(ULONG Value);
#endif
End
        cat >Rtl/Rtl.c <<'End'
#include "Rtl.h"
ULONG RtlOne(ULONG Value) { return Value + 1; }
End
        cat >TraceStore/TraceStore.h <<'End'
#ifndef TRACESTORE_H
#define TRACESTORE_H
#include "Rtl.h"
#include "TraceFormat.h"
ULONG StoreTwo(ULONG Value);
#endif
End
        cat >TraceStore/TraceStore.c <<'End'
#include "TraceStore.h"
ULONG StoreTwo(ULONG Value) { return RtlOne(RtlOne(Value)); }
End
        cat >Penter/PenterNull.asm <<'End'
        section .text code align=16
        global _penter
_penter:
        ret
End
        cat >Reader/Core/Reader.c <<'End'
#include "Rtl.h"
#include "TraceFormat.h"
void mainCRTStartup(void);
void mainCRTStartup(void) { ExitProcess(RtlOne(0)); }
End
    ) || exit 1
}

Compile()
{
    clang-19 --driver-mode=cl --target=x86_64-pc-windows-msvc /nologo /c /O2 \
        /GS- /Zl "$1" "/Fo${1%.c}.obj" &&
        llvm-lib-19 /nologo "/out:${1%.c}.lib" "${1%.c}.obj"
}

Base=$Temp/base
Tree "$Base"
Change=$Temp/change

#
# CheckStyle.
#

Style()
{
    Tree "$Change"
    printf "$2" >>"$Change/Rtl/Rtl.c"
    Expect fails "style, $1" "Rtl.c:3: $3" "$Change/Build/CheckStyle.py"
}

Expect passes "style, nothing wrong" " 0 complaints" \
    "$Base/Build/CheckStyle.py"
Style "81 columns" "// $(printf 'x%.0s' {1..78})\n" "81 columns"
Style "a tab" 'int\tA;\n' "tab"
Style "blanks at the end" 'int A; \n' "blanks at the end"
Style "a carriage return" 'int A;\r\n' "carriage return"
Style "no line feed" 'int A;' "no line feed"
Style "a breakpoint" '    __debugbreak();\n' "'__debugbreak'"
Style "an unfinished place" "// TO""DO: more\n" "'TO""DO'"
Style "what gcc and clang know" 'int A = __builtin_ctz(8);\n' "__builtin_ctz"
Tree "$Change"
printf '#if 1\n__asm__("");\n#endif\n' >>"$Change/Rtl/Rtl.c"
Expect fails "style, assembly for all compilers" "Rtl.c:4: __asm__" \
    "$Change/Build/CheckStyle.py"
Tree "$Change"
printf '#if defined(__clang__)\n__asm__("");\n#endif\n' >>"$Change/Rtl/Rtl.c"
Expect passes "style, assembly for one compiler" " 0 complaints" \
    "$Change/Build/CheckStyle.py"
Tree "$Change"
printf '        int3\n' >>"$Change/Penter/PenterNull.asm"
Expect fails "style, int3 in assembly" "PenterNull.asm:5: 'int3'" \
    "$Change/Build/CheckStyle.py"
Tree "$Change"
printf '// %s\n' "$(printf 'x%.0s' {1..77})" >>"$Change/Rtl/Rtl.c"
Expect passes "style, 80 columns" " 0 complaints" \
    "$Change/Build/CheckStyle.py"
Tree "$Change"
mkdir "$Change/Docs"
printf '%s\n| %s |\n\n    %s\n' "$(printf 'x%.0s' {1..100})" \
    "$(printf 'x%.0s' {1..200})" "$(printf 'x%.0s' {1..200})" \
    >"$Change/Docs/Page.md"
printf 'x\n%.0s' {1..130} >"$Change/README.md"
Expect passes "style, documents" " 0 complaints" "$Change/Build/CheckStyle.py"
printf 'x%.0s' {1..101} >>"$Change/Docs/Page.md"
Expect fails "style, a wide document" "Docs/Page.md:5: 101 columns" \
    "$Change/Build/CheckStyle.py"
mkdir "$Change/Docs/figures"
mv "$Change/Docs/Page.md" "$Change/Docs/figures"
Expect fails "style, a wide document in a folder" \
    "Docs/figures/Page.md:5: 101 columns" "$Change/Build/CheckStyle.py"
rm -r "$Change/Docs/figures"
printf 'x\n' >>"$Change/README.md"
Expect fails "style, a long README" "README.md:131: 131 lines" \
    "$Change/Build/CheckStyle.py"

#
# CheckRooms.
#

Rooms()
{
    Expect fails "rooms, $1" "$2" "$Change/Build/CheckRooms.py"
    RoomsTree
}

RoomsTree()
{
    Tree "$Change"
    mv "$Change/Reader/Core/Reader.c" "$Change/Reader/Core/Core.c"
    sed -i '/^    "Rtl\/Rtl.h"/d' "$Change/Build/CheckRooms.py"
}

Lines()
{
    printf '// x\n%.0s' $(seq "$1")
}

RoomsTree
{ cat "$Base/Rtl/Rtl.c"; Lines 1498; } >"$Change/Rtl/Rtl.c"
Lines 400 >"$Change/Rtl/RtlLong.h"
for Number in {2..30}; do echo '// x' >"$Change/Rtl/Rtl$Number.c"; done
Expect passes "rooms, as large as may be" " 0 complaints" \
    "$Change/Build/CheckRooms.py"
echo '// x' >>"$Change/Rtl/Rtl.c"
Rooms "a long source" "Rtl/Rtl.c: 1501 lines, more than 1500"
Lines 401 >"$Change/Rtl/RtlLong.h"
Rooms "a long header" "Rtl/RtlLong.h: 401 lines, more than 400"
for Number in {2..31}; do echo '// x' >"$Change/Rtl/Rtl$Number.c"; done
Rooms "a full folder" "Rtl: 31 sources, more than 30"
printf 'ULONG\nStoreThree(\n    ULONG Value\n    )\n{\n    return Value;\n}\n' \
    >"$Change/Rtl/RtlThree.c"
Rooms "another room's name" "Rtl/RtlThree.c: StoreThree: not Rtl"
for Static in static ''; do
    echo '// x' >"$Change/Rtl/RtlThree.c"
    printf '%s\nULONG\nRtlThreeGo(\n    ULONG Value\n    )\n{\n}\n' "$Static" \
        >"$Change/Rtl/RtlFour.c"
    [ -z "$Static" ] || Expect passes "rooms, a static routine's name" \
        " 0 complaints" "$Change/Build/CheckRooms.py"
done
Rooms "another file's name" "Rtl/RtlFour.c: RtlThreeGo: is not in RtlThree.c"
sed -i 's/^ALLOWED = {$/&\n    "Rtl\/Rtl.c": (1600, ""),/' \
    "$Change/Build/CheckRooms.py"
Rooms "a row that is not needed" "Rtl/Rtl.c: 2 lines need no row"
sed -i 's/^ALLOWED = {$/&\n    "Rtl\/Rtl.c": (1600, ""),/' \
    "$Change/Build/CheckRooms.py"
Lines 1601 >"$Change/Rtl/Rtl.c"
Rooms "more than is allowed" "Rtl/Rtl.c: 1601 lines, 1600 are allowed"

#
# CheckTracked.
#

Git()
{
    git -C "$Change" -c user.name=A -c user.email=a@b -c commit.gpgsign=false \
        "$@" >/dev/null 2>&1
}

Tracked()
{
    Tree "$Change"
    Git init
    (cd "$Change" && eval "$2") || exit 1
    Git add -A -f
    Expect "${4:-fails}" "tracked, $1" "$3" "$Change/Build/CheckTracked.py"
}

Name=Lua-traced.exe-32-20261121-162550-663/Lua-traced.exe-36-14.trace
Tracked "nothing wrong" : " 0 complaints" passes
Tracked "a store" "mkdir ${Name%/*}; echo >$Name" \
    "$Name: the name of something that is of a session"
Tracked "a store by another name" 'echo TRCSTORE >Tests/Sample' \
    "Tests/Sample: a store"
Tracked "a fuzz target's input" \
    'mkdir -p Tests/Fuzz/Corpus; echo TRCSTORE >Tests/Fuzz/Corpus/Seed' \
    " 0 complaints" passes
Tracked "an index" "echo >a.exe-1-0.trace.index" "a.exe-1-0.trace.index: the"
Tracked "a control file" "echo >session.control" "session.control: the name"
Tracked "a log" "echo >a.exe.log" "a.exe.log: the name"
Tracked "a program" "echo MZ >Tests/Program" "Tests/Program: a Windows image"
Tracked "an object" "echo >Rtl/Rtl.obj" "Rtl.obj: .*a build product"
Tracked "1 MiB and a byte" "head -c 1048577 /dev/zero >Docs" "Docs: 1048577 b"
Tracked "1 MiB" "head -c 1048576 /dev/zero >Docs" " 0 complaints" passes
Tree "$Change"
Git init
echo >"$Change/a.trace"
Expect passes "tracked, a store that git does not have" " 0 complaints" \
    "$Change/Build/CheckTracked.py"

#
# A session is not even offered to git.
#

cp "$Root/.gitignore" "$Change"
mkdir "$Change/a-1-2"
touch "$Change"/a-1-2/{a.exe-1-0.trace,a.exe-1-0.trace.index,session.control}
touch "$Change/a-1-2/a.exe.log"
Expect passes "sessions are ignored" "^0\$" \
    bash -c "git -C '$Change' status --short -uall | grep -c a-1-2 || true"

#
# CheckLayers.
#

Layer()
{
    Tree "$Change"
    sed -i "1i $3" "$Change/$2"
    Expect fails "layers, $1" "$4" "$Change/Build/CheckLayers.py"
}

Expect passes "layers, nothing wrong" " 0 complaints" \
    "$Base/Build/CheckLayers.py"
Layer "the reader and the writer" Reader/Core/Reader.c \
    '#include "TraceStore.h"' "Reader/Core may not use TraceStore"
Layer "a path to it" Reader/Core/Reader.c \
    '#include "../../TraceStore/TraceStore.h"' \
    "Reader/Core may not use TraceStore"
Layer "Rtl looks up" Rtl/Rtl.c '#include "TraceFormat.h"' \
    "Rtl may not use TraceStore"
Layer "TraceFormat.h alone" TraceStore/TraceFormat.h '#include "Rtl.h"' \
    "must stand alone"
Layer "a system header" TraceStore/TraceStore.c '#include <windows.h>' \
    "<windows.h>"
Layer "a header that is not there" Rtl/Rtl.c '#include "Gone.h"' "not found"
Layer "assembly too" Penter/PenterNull.asm '%include "Reader.c"' \
    "Penter may not use Reader/Core"

Tree "$Change"
sed -i 's/RtlOne(0)/StoreTwo(0)/; 3i unsigned long StoreTwo(unsigned long);' \
    "$Change/Reader/Core/Reader.c"
make -C "$Change" SETUP=true -k x64/Release/{Rtl,TraceStore,Reader}.lib \
    >"$Temp/output" 2>&1 || cat "$Temp/output"
Expect fails "layers, a call without an include" \
    "Reader.lib: StoreTwo: defined only in TraceStore" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"

#
# Sources FOLDER TEXT: a second source of Reader, which the first one calls, and
# what CheckLayers.py says of the two.
#

Sources()
{
    Tree "$Change"
    mkdir -p "$Change/Reader/$1"
    echo "$2" >"$Change/Reader/$1/Second.c"
    sed -i 's/RtlOne(0)/Second()/; 3i int Second(void), First(void);' \
        "$Change/Reader/Core/Reader.c"
    echo "int First(void) { return 1; }" >>"$Change/Reader/Core/Reader.c"
    make -C "$Change" SETUP=true -k x64/Release/{Rtl,TraceStore,Reader}.lib \
        >"$Temp/output" 2>&1 || cat "$Temp/output"
}

Sources Core 'int Second(void); int Second(void) { return 2; }'
Expect passes "layers, two sources of a room" " 0 complaints" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"
Sources Base 'int Second(void); int Second(void) { return 2; }'
Expect fails "layers, a room above" \
    "Second: of Reader/Base/Second.c: Reader/Core may not use Reader/Base" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"
Sources Core 'int Second(void), First(void); int Second(void) { return First(); }'
Expect fails "layers, a circle" \
    "a circle: Reader/Core/Reader.c, Reader/Core/Second.c" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"

#
# Pair FOLDER FIRST SECOND: two sources of a layer without rooms.
#

Pair()
{
    Tree "$Change"
    echo "$2" >"$Change/$1/First.c"
    echo "$3" >"$Change/$1/Second.${4:-c}"
    make -C "$Change" SETUP=true -k \
        "x64/Release/obj/$1/First.obj" \
        "x64/Release/obj/$1/Second.${4:+$4.}obj" \
        >"$Temp/output" 2>&1 || cat "$Temp/output"
}

First='int First(void), Second(void); int First(void) { return Second(); }'
Second='int First(void), Second(void); int Second(void) { return'
for Folder in TraceStore Penter; do
    Pair "$Folder" "$First" "$Second 2; }"
    Expect passes "layers, two sources of $Folder" " 0 complaints" \
        "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"
    Pair "$Folder" "$First" "$Second First(); }"
    Expect fails "layers, a circle in $Folder" \
        "$Folder: a circle: $Folder/First.c, $Folder/Second.c" \
        "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"
done

#
# In Penter C and assembly may need each other, elsewhere not.
#

Assembly='        section .text code align=16
        global Second
        extern First
Second: jmp First'
Pair Penter "$First" "$Assembly" asm
Expect passes "layers, C and assembly in Penter" " 0 complaints" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"
Pair TraceStore "$First" "$Assembly" asm
Expect fails "layers, C and assembly in TraceStore" \
    "a circle: TraceStore/First.c, TraceStore/Second.asm" \
    "$Change/Build/CheckLayers.py" "$Change" "$Change/x64/Release"

#
# CheckHeaders.
#

Expect passes "headers, nothing wrong" " 0 complaints" \
    "$Base/Build/CheckHeaders.sh"
Tree "$Change"
sed -i '/include "RtlTypes.h"/d' "$Change/Rtl/Rtl.h"
Expect fails "headers, one that needs another" "unknown type name 'ULONG'" \
    "$Change/Build/CheckHeaders.sh"
Tree "$Change"
sed -i '$i struct PADDED { char A; long long B; };' \
    "$Change/TraceStore/TraceFormat.h"
Expect fails "headers, padding" "padd" "$Change/Build/CheckHeaders.sh"

#
# CheckLibrary.
#

Library()
{
    printf '%s\n' "$2" >"$Temp/library.c"
    Compile "$Temp/library.c" || exit 1
    Expect fails "library, $1" "$3" \
        "$Root/Build/CheckLibrary.py" "$Temp/library.lib"
}

cat >"$Temp/right.c" <<'End'
void *GetModuleHandleW(const unsigned short *);
extern char __ImageBase;
void *Right(void) { return GetModuleHandleW(0); }
void *Base(void) { return &__ImageBase; }
End
Compile "$Temp/right.c" || exit 1
Expect passes "library, nothing wrong" \
    "needs GetModuleHandleW, __ImageBase: 0 complaints" \
    "$Root/Build/CheckLibrary.py" "$Temp/right.lib"
Library "memcpy" \
    'typedef struct { char A[999]; } T; void F(T *A, T *B) { *A = *B; }' \
    "needs memcpy, which is not on the list"
Library "its own memcpy" \
    'void *memcpy(void *A, const void *B, unsigned long long C)
     { (void)B; (void)C; return A; }' "defines memcpy"
Library "another import" \
    '__declspec(dllimport) void Sleep(unsigned); void F(void) { Sleep(1); }' \
    "needs __imp_Sleep"
Library "thread-local storage" \
    '__declspec(thread) int A; int *F(void) { return &A; }' "section .tls"
Library "a default library" \
    '#pragma comment(lib, "user32")
     int F(void) { return 1; }' "names a library to link"
Library "a breakpoint" 'int F(int A) { __debugbreak(); return A; }' \
    "a breakpoint can be reached"
Expect fails "library, a breakpoint by itself" "a breakpoint can be reached" \
    "$Root/Build/CheckLibrary.py" --breakpoints "$Temp/library.lib"
Expect fails "library, none" "no.*such file" \
    "$Root/Build/CheckLibrary.py" "$Temp/none.lib"

#
# CheckLibrary and CheckDriver on libraries for drivers.
#

Driver()
{
    {
        cat <<'End'
#define IMPORT __declspec(dllimport)
IMPORT long ZwClose(void *);
void _penter(void) { }
void _pexit(void) { }
long TracerKernelRealEntry(void *, void *);
long TracerKernelDriverEntry(void *A, void *B)
{ return ZwClose(A) + TracerKernelRealEntry(A, B); }
End
        printf '%s\n' "$3"
    } >"$Temp/Kernel.c"
    Compile "$Temp/Kernel.c" || exit 1
    Expect "$1" "driver, $2" "$4" "$Root/Build/CheckDriver.py" "$Temp/Kernel.lib"
}

Driver passes "nothing wrong" '' "GNU ld: ntoskrnl.exe: ZwClose"
Expect passes "library for drivers, nothing wrong" \
    "needs TracerKernelRealEntry, __imp_ZwClose: 0 complaints" \
    "$Root/Build/CheckLibrary.py" "$Temp/Kernel.lib"
Driver fails "another system's routine" \
    'IMPORT void Sleep(unsigned); void F(void) { Sleep(1); }' "Sleep"
Expect fails "library for drivers, another system's routine" \
    "needs __imp_Sleep, which is not on the list" \
    "$Root/Build/CheckLibrary.py" "$Temp/Kernel.lib"
Driver fails "paged code" \
    '#pragma code_seg("PAGE")
     int F(int A) { return A + 1; }' "has a section PAGE"
Driver fails "code that is written" \
    '__asm__(".section odd,\"xw\"\n.byte 0xC3\n");' \
    "section odd is written and executed"

#
# CheckImports.
#

Mingw=/usr/x86_64-w64-mingw32/lib
cat >"$Temp/image.c" <<'End'
__declspec(dllimport) int MessageBeep(unsigned);
void mainCRTStartup(void) { MessageBeep(1); }
End
Compile "$Temp/image.c" || exit 1
lld-link-19 /nologo /entry:mainCRTStartup /subsystem:console /nodefaultlib \
    /out:"$Temp/image.exe" "$Temp/image.obj" $Mingw/libuser32.a || exit 1
Expect fails "imports, user32" "imports user32.dll" \
    "$Root/Build/CheckImports.py" "$Temp/image.exe"
echo 'void mainCRTStartup(void) { }' >"$Temp/image.c"
Compile "$Temp/image.c" || exit 1
lld-link-19 /nologo /entry:mainCRTStartup /subsystem:console /nodefaultlib \
    /debug /out:"$Temp/image.exe" "$Temp/image.obj" || exit 1
Expect fails "imports, a folder's name in the image" "names the path" \
    "$Root/Build/CheckImports.py" "$Temp/image.exe"
lld-link-19 /nologo /entry:mainCRTStartup /subsystem:console /nodefaultlib \
    /debug /pdbaltpath:%_PDB% /out:"$Temp/image.exe" "$Temp/image.obj" ||
    exit 1
Expect passes "imports, none" "no imports" \
    "$Root/Build/CheckImports.py" "$Temp/image.exe"

#
# CheckReproducible.
#

Reproducible()
{
    Tree "$Change"
    sed -i "$2" "$Change/Makefile"
    cmp -s "$Change/Makefile" "$Base/Makefile" && exit 1
    Expect fails "reproducible, $1" "they differ" \
        "$Change/Build/CheckReproducible.sh"
}

Expect passes "reproducible, nothing wrong" "the same bytes" \
    "$Base/Build/CheckReproducible.sh"
Reproducible "the time of assembly" 's/ --reproducible//'
Reproducible "the folder in objects" 's/ -fdebug-compilation-dir=\.//'
Reproducible "the time of linking" 's/ \/brepro / \/timestamp:$$(date +%s) /'

#
# CheckProjects.
#

Projects()
{
    Tree "$Change"
    "$Change/Build/GenerateProjects.py" "$Change" >/dev/null || exit 1
    (cd "$Change" && eval "$2") || exit 1
    Expect fails "projects, $1" "$3" \
        "$Change/Build/CheckProjects.py" "$Change"
}

"$Base/Build/GenerateProjects.py" "$Base" >/dev/null || exit 1
Expect passes "projects, nothing wrong" " 0 differences" \
    "$Base/Build/CheckProjects.py" "$Base"
Projects "a new source" 'echo "int A;" >Rtl/New.c' \
    "Rtl/Rtl.vcxproj: sources"
Projects "a new resource" 'echo "//" >Reader/New.rc' \
    "TraceReader.vcxproj: sources"
Projects "a source that went away" 'rm TraceStore/TraceStore.c' \
    "TraceStore.vcxproj: is not in the Makefile"
Projects "a source too many" \
    'sed -i "/ClCompile Include/p" Reader/TraceReader.vcxproj' \
    "TraceReader.vcxproj: sources"
Projects "an include folder" \
    'sed -i "s/Directories>..\\\\TraceStore;/Directories>/" \
        TraceStore/TraceStore.vcxproj' "Debug include folders"
Projects "a define" \
    'sed -i "s/TRACER_DEBUG=1;//" Build/Tracer.props' "Debug defines"
Projects "a define for Release" \
    'sed -i "s/<Optimization>MaxSpeed/<PreprocessorDefinitions>A=1<\/Pre\
processorDefinitions>&/" Build/Tracer.props' "Release defines"
Projects "a define for NASM" \
    'sed -i "s/ -DTRACER_DEBUG=1//" Build/Nasm.props' \
    "Nasm.props: Debug defines"
Projects "a define of a project" \
    'sed -i "s/<\/ClCompile>/<PreprocessorDefinitions>A=1<\/Preprocessor\
Definitions>&/" Rtl/Rtl.vcxproj' "defines of its own"
Projects "a library" \
    'sed -i "s/kernel32.lib/user32.lib/" Reader/TraceReader.vcxproj' \
    "TraceReader.vcxproj: Debug libraries"
Projects "a setting" \
    'sed -i "s/<TreatWarningAsError>true/<TreatWarningAsError>false/" \
        Build/Tracer.props' "TreatWarningAsError"
Projects "a project that the solution lacks" \
    'sed -i "/^Project.*TraceReader/d" Tracer.sln' "Tracer.sln: projects"
Projects "a configuration that the solution lacks" \
    'sed -i "/Release|x64.Build.0/d" Tracer.sln' "no Build.0"
Projects "a header that went away" 'rm TraceStore/TraceStore.h' \
    "lists TraceStore/TraceStore.h"

#
# RunTests.
#

Runner()
{
    local Expected=$1 What=$2 Line=$3
    shift 3
    rm -rf "$Change"
    mkdir -p "$Change"/Tests/{Library,Product} "$Change/x64/Release"
    cp "$Root/Tests/RunTests.sh" "$Change/Tests"
    cp "$Root/Tests/Library/WatchSupport.py" "$Change/Tests/Library"
    printf '#!/bin/bash\n%s\n' "$@" >"$Change/Tests/Product/TestOne.sh"
    printf '#!/bin/bash\necho 5 passed, 0 failed\n' \
        >"$Change/Tests/Product/TestTwo.sh"
    chmod +x "$Change"/Tests/Product/*.sh
    Expect "$Expected" "runner, $What" "^$Line\$" \
        env TRACER_TEST_LIMIT=1 TRACER_TEST_LANES="${RunnerLanes:-2}" \
        "$Change/Tests/RunTests.sh" "$Change/x64/Release"
    cp "$Temp/output" "$Temp/shown"
}

#
# Shown WHAT PATTERN: what the runner has printed.
#

Shown()
{
    Expect passes "runner, $1" "$2" cat "$Temp/shown"
}

Runner passes "nothing wrong" "7 passed, 0 failed" 'echo 2 passed, 0 failed'
Runner passes "something skipped" "7 passed, 0 failed, 3 skipped" \
    'echo 2 passed, 0 failed, 3 skipped'
Runner passes "Windows' line ends" "7 passed, 0 failed" \
    'printf "2 passed, 0 failed\r\n"'
Runner fails "a failure" "7 passed, 4 failed" \
    'echo 2 passed, 4 failed; exit 1'
Runner fails "a failure with exit code 0" "7 passed, 4 failed" \
    'echo 2 passed, 4 failed'
Runner fails "a failure that its line hides" "7 passed, 1 failed" \
    'echo 2 passed, 0 failed; exit 3'
Runner fails "no closing line" "5 passed, 1 failed" 'echo all is well'
Runner fails "death" "5 passed, 1 failed" 'kill -SEGV $$'
Runner fails "death by kill" "5 passed, 1 failed" 'kill -KILL $$'
Runner fails "nothing checked" "5 passed, 1 failed" 'echo 0 passed, 0 failed'

#
# One that hangs is ended, named and shown, asleep or going round; one that
# waits for processors is not.  The control: it is given less time in all than
# it takes.
#

Runner fails "asleep" "7 passed, 1 failed" \
    'echo 2 passed, 0 failed; sleep 1000'
Shown "who sleeps" "^failed: Release  TestOne.sh: .*: FAILED: hangs: ended"
Shown "what sleeps" "hangs: process .*: sleep 1000"
Shown "where it sleeps" "hangs:     thread .* waits in .*sleep"
Runner fails "asleep without a parent" "7 passed, 1 failed" \
    'echo 2 passed, 0 failed; (setsid sleep 1001 &) & sleep 1000'
Shown "what else sleeps" "hangs: process .*: sleep 1001"
Expect passes "runner, what else slept is ended" "none" \
    bash -c "grep -qs 'sleep.1001\$' /proc/[0-9]*/cmdline || echo none"
Runner fails "going round" "7 passed, 1 failed" \
    'echo 2 passed, 0 failed; while :; do :; done'
Shown "how much it has used" "hangs: TestOne.sh has used [1-9][0-9]* seconds of proc"

Loops=()
for Index in 1 2 3 4; do
    bash -c 'while :; do :; done' &
    Loops+=($!)
done
Work='Used() { read -r _ _ _ _ _ _ _ _ _ _ _ _ _ T _ </proc/$$/stat; }
T=0; while [ $T -lt 300 ]; do for ((I=0; I<9999; I++)); do :; done; Used; done
echo 2 passed, 0 failed; [ $SECONDS -ge 2 ]'
Runner passes "slow beside load" "7 passed, 0 failed" "$Work"
kill "${Loops[@]}"
wait "${Loops[@]}" 2>/dev/null

#
# What takes long runs with --long, and what has a long form in that.
#

rm -f "$Change"/Tests/Product/Test*.sh
printf '#!/bin/bash\n# Takes long.\necho 7 passed, 0 failed\n' \
    >"$Change/Tests/Product/TestA.sh"
printf '#!/bin/bash\necho $((TRACER_LONG + 2)) passed, 0 failed\n' \
    >"$Change/Tests/Product/TestB.sh"
printf '#!/bin/bash\necho 30 passed, 0 failed\n' >"$Change/Tests/Product/TestC.sh"
chmod +x "$Change"/Tests/Product/*.sh
Expect passes "runner, without what takes long" "^32 passed, 0 failed\$" \
    "$Change/Tests/RunTests.sh" "$Change/x64/Release"
Expect passes "runner, what takes long" "^10 passed, 0 failed\$" \
    "$Change/Tests/RunTests.sh" --long "$Change/x64/Release"
Expect passes "runner, everything once" "^40 passed, 0 failed\$" \
    "$Change/Tests/RunTests.sh" --all "$Change/x64/Release"

#
# Interrupted, it says what has not run.
#

rm -f "$Change"/Tests/Product/Test*.sh
printf '#!/bin/bash\necho 5 passed, 0 failed\n' >"$Change/Tests/Product/TestA.sh"
printf '#!/bin/bash\nkill $(cat ../../../../pid); sleep 1000\n' \
    >"$Change/Tests/Product/TestB.sh"
cp "$Change/Tests/Product/TestA.sh" "$Change/Tests/Product/TestC.sh"
chmod +x "$Change"/Tests/Product/*.sh
Expect fails "runner, interrupted" "^5 passed, 2 failed\$" \
    env TRACER_TEST_LANES=1 bash -c 'echo $$ >"$0/pid"
    exec "$0/Tests/RunTests.sh" "$0/x64/Release"' "$Change"
cp "$Temp/output" "$Temp/shown"
Shown "what was not run" "^failed: Release  TestC.sh: not run"
rm -f "$Change"/Tests/Product/Test*.sh
Expect fails "runner, no tests" "no tests were found" \
    "$Change/Tests/RunTests.sh" "$Change/x64/Release"

#
# Documents that are not what the program says.
#

mkdir -p "$Temp/docs"
cp "$Root"/Docs/{Commands.md,TraceReader.schema.json} "$Temp/docs"
Expect passes "documents as they are" '0 of the documents are stale' \
    env DOCS="$Temp/docs" "$Root/Build/WriteDocs.py" --check
sed -i '0,/--limit N/s//--limit M/' "$Temp/docs/Commands.md"
Expect fails "an option that has changed" 'Docs/Commands.md is stale' \
    env DOCS="$Temp/docs" "$Root/Build/WriteDocs.py" --check
cp "$Root/Docs/Commands.md" "$Temp/docs"
sed -i '0,/"calls"/s//"call"/' "$Temp/docs/TraceReader.schema.json"
Expect fails "a column that has changed" 'schema.json is stale' \
    env DOCS="$Temp/docs" "$Root/Build/WriteDocs.py" --check
mkdir -p "$Temp/completions"
cp "$Root"/Packaging/Completions/* "$Temp/completions"
sed -i 's/--percentiles//' "$Temp/completions/TraceReader.bash"
Expect fails "an option that is not completed" 'TraceReader.bash is stale' \
    env COMPLETIONS="$Temp/completions" "$Root/Build/WriteDocs.py" --check

echo "TestCheckers: $Passed passed, $Failed failed"
[ "$Failed" = 0 ]

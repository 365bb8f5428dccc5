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
# A small tree: a source or two in each folder.  Tree FOLDER makes one.
#

Tree()
{
    rm -rf "$1"
    mkdir -p "$1" || exit 1
    (
        cd "$1" || exit 1
        mkdir -p Rtl Asm StringTable TraceStore Penter Reader Tests
        cp -r "$Root/Makefile" "$Root/Build" .
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
        cat >Reader/Reader.c <<'End'
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
Tree "$Change"
printf '        int3\n' >>"$Change/Penter/PenterNull.asm"
Expect fails "style, int3 in assembly" "PenterNull.asm:5: 'int3'" \
    "$Change/Build/CheckStyle.py"
Tree "$Change"
printf '// %s\n' "$(printf 'x%.0s' {1..77})" >>"$Change/Rtl/Rtl.c"
Expect passes "style, 80 columns" " 0 complaints" \
    "$Change/Build/CheckStyle.py"

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
Layer "the reader and the writer" Reader/Reader.c '#include "TraceStore.h"' \
    "Reader may not use TraceStore"
Layer "a path to it" Reader/Reader.c '#include "../TraceStore/TraceStore.h"' \
    "Reader may not use TraceStore"
Layer "Rtl looks up" Rtl/Rtl.c '#include "TraceFormat.h"' \
    "Rtl may not use TraceStore"
Layer "TraceFormat.h alone" TraceStore/TraceFormat.h '#include "Rtl.h"' \
    "must stand alone"
Layer "a system header" TraceStore/TraceStore.c '#include <windows.h>' \
    "<windows.h>"
Layer "a header that is not there" Rtl/Rtl.c '#include "Gone.h"' "not found"
Layer "assembly too" Penter/PenterNull.asm '%include "Reader.c"' \
    "Penter may not use Reader"

Tree "$Change"
sed -i 's/RtlOne(0)/StoreTwo(0)/; 3i unsigned long StoreTwo(unsigned long);' \
    "$Change/Reader/Reader.c"
make -C "$Change" SETUP=true -k x64/Release/{Rtl,TraceStore,Reader}.lib \
    >"$Temp/output" 2>&1 || cat "$Temp/output"
Expect fails "layers, a call without an include" \
    "Reader.lib: StoreTwo: defined only in TraceStore" \
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
    cmp -s "$Change/Makefile" "$Root/Makefile" && exit 1
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
    mkdir -p "$Change/Tests" "$Change/x64/Release"
    cp "$Root/Tests/RunTests.sh" "$Change/Tests"
    printf '#!/bin/bash\n%s\n' "$@" >"$Change/Tests/TestOne.sh"
    printf '#!/bin/bash\necho 5 passed, 0 failed\n' \
        >"$Change/Tests/TestTwo.sh"
    chmod +x "$Change"/Tests/*.sh
    Expect "$Expected" "runner, $What" "^$Line\$" env TRACER_TEST_LIMIT=1 \
        "$Change/Tests/RunTests.sh" "$Change/x64/Release"
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
Runner fails "too long" "7 passed, 1 failed" \
    'echo 2 passed, 0 failed; sleep 20'
rm -f "$Change"/Tests/Test*.sh
Expect fails "runner, no tests" "no tests were found" \
    "$Change/Tests/RunTests.sh" "$Change/x64/Release"

echo "TestCheckers: $Passed passed, $Failed failed"
[ "$Failed" = 0 ]

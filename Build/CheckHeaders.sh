#!/bin/bash
#
# Build/CheckHeaders.sh [FOLDER]
#
# Every header compiles alone: all of ours with clang-cl, as the first and only
# line of a source; TraceFormat.h and KernelFormat.h also as C and C++ on Linux,
# with no padding that they do not name.
#

set -u

Root=$(cd "${1:-$(dirname "$0")/..}" && pwd) || exit 1
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT
cd "$Root" || exit 1

Failed=0
Count=0

for Folder in Rtl Asm StringTable Codec TraceStore Penter Imports Reader Sqlite \
    Debugger Kernel Tests; do
    Files=
    Headers=$Folder/*.h
    case $Folder in
        Reader) Headers="$Headers Reader/*/*.h" ;;
        Tests) Headers="Tests/Library/*.h Tests/Unit/*.h Tests/Penter/*.h
            Tests/Unit/*/*.h Tests/Penter/*/*.h" ;;
    esac
    for Header in $Headers; do
        [ -f "$Header" ] || continue
        Name=${Header#"$Folder/"}
        Source=$Temp/$Folder/${Name//\//-}.c
        mkdir -p "$Temp/$Folder"
        echo "#include \"$Root/$Header\"" >"$Source"
        Files="$Files $Source"
        Count=$((Count + 1))
    done
    [ -n "$Files" ] || continue
    make -s --no-print-directory SETUP=true syntax FOLDER="$Folder" \
        FILES="$Files" || Failed=1
done

#
# A header includes itself again when it has no guard.
#

Format=TraceStore/TraceFormat.h
printf '#include "%s"\n#include "%s"\n' "$Format" "$Format" >"$Temp/Format.c"
Format=Kernel/KernelFormat.h
[ ! -f $Format ] ||
    printf '#include "%s"\n#include "%s"\n' $Format $Format >>"$Temp/Format.c"
cp "$Temp/Format.c" "$Temp/Format.cpp"
Warnings="-Wall -Wextra -Wpadded -Wpedantic -Werror -fsyntax-only -I.
    -ITraceStore"

# shellcheck disable=SC2086
{
    gcc -std=c11 $Warnings "$Temp/Format.c" || Failed=1
    g++ -std=c++11 $Warnings "$Temp/Format.cpp" || Failed=1
    clang-19 -std=c17 $Warnings "$Temp/Format.c" || Failed=1
    clang-19 --driver-mode=cl --target=x86_64-pc-windows-msvc /nologo /W4 /WX \
        -Wpadded -I. -ITraceStore /Zs "$Temp/Format.c" || Failed=1
}

if [ "$Count" = 0 ]; then
    echo "CheckHeaders: no headers found"
    exit 1
fi
echo "CheckHeaders: $Count headers compile alone; TraceFormat.h as C and C++" \
     "without padding: $([ $Failed = 0 ] && echo "0 complaints" ||
     echo "complaints above")"
exit $Failed

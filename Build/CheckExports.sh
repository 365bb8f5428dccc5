#!/bin/bash
#
# Build/CheckExports.sh
#
# Penter/ExcludeSymbols.inc must list every global symbol of TracerPenter.lib,
# and a DLL that MinGW links without a list of exports must export its own
# symbols alone.  The control is a DLL that is linked with a directive that
# lists nothing.
#
# TracerKd.dll exports what a debugger looks for, and nothing else: every export
# is a command that a user may type.
#

set -u

cd "$(dirname "$0")/.." || exit 1
Temp=$(mktemp -d) || exit 1
trap 'rm -rf "$Temp"' EXIT
Failed=0

if ! Build/GenerateExcludeSymbols.sh x64/Release/TracerPenter.lib |
        diff - Penter/ExcludeSymbols.inc >"$Temp/diff"; then
    echo "CheckExports: Penter/ExcludeSymbols.inc: is not what" \
        "Build/GenerateExcludeSymbols.sh prints:"
    sed 's/^/    /' "$Temp/diff"
    Failed=1
fi

Exports()
{
    x86_64-w64-mingw32-objdump -p "$1" |
        sed -n 's/^[[:space:]]*\[ *[0-9]*\] \(+base\[ *[0-9]*\] *[0-9a-f]* \)\{0,1\}\([A-Za-z_][A-Za-z0-9_]*\)$/\2/p' |
        sort | tr '\n' ' '
}

echo 'int Own(int x) { return x + 1; }' >"$Temp/own.c"
x86_64-w64-mingw32-gcc -O2 -pg -mfentry -mfentry-name=_penter \
    -minstrument-return=call -c "$Temp/own.c" -o "$Temp/own.o" || exit 1
x86_64-w64-mingw32-gcc -shared "$Temp/own.o" x64/Release/TracerPenter.lib \
    -o "$Temp/own.dll" || exit 1

Found=$(Exports "$Temp/own.dll")
if [ "$Found" != "Own " ]; then
    echo "CheckExports: a DLL exports: $Found"
    Failed=1
fi

mkdir "$Temp/without"
sed '/exclude-symbols/d' Penter/ExcludeSymbols.inc \
    >"$Temp/without/ExcludeSymbols.inc"
nasm -f win64 -I "$Temp/without/" -I Penter/ -I Asm/ Penter/PenterGcc.asm \
    -o "$Temp/without/PenterGcc.obj" || exit 1
x86_64-w64-mingw32-gcc -shared "$Temp/own.o" "$Temp/without/PenterGcc.obj" \
    x64/Release/TracerPenter.lib -o "$Temp/control.dll" || exit 1
Found=$(Exports "$Temp/control.dll")
case " $Found" in
*" _penter "*) ;;
*)
    echo "CheckExports: the control does not export _penter: $Found"
    Failed=1
    ;;
esac

for Configuration in Release Debug; do
    [ -f "x64/$Configuration/TracerKd.dll" ] || continue
    Found=$(Exports "x64/$Configuration/TracerKd.dll")
    if [ "$Found" != "$(printf '%s ' DebugExtensionInitialize \
            DebugExtensionNotify DebugExtensionUninitialize calltree help \
            lastcalls modulestats stack_usage tracer)" ]; then
        echo "CheckExports: x64/$Configuration/TracerKd.dll exports: $Found"
        Failed=1
    fi
done

echo "CheckExports: $(grep -c exclude-symbols Penter/ExcludeSymbols.inc)" \
    "symbols kept out of a DLL's exports, failures: $Failed"
exit "$Failed"

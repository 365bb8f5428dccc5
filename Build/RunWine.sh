#!/bin/bash
#
# Build/RunWine.sh PROGRAM [ARGUMENT...]
# Build/RunWine.sh --server [ARGUMENT...]
#
# Runs a Windows program (or, with --server, wineserver) in the build folder's
# own Wine prefix, which Setup.sh makes, and hands its exit code on.  Nothing
# outside of the prefix is written: what Wine and its libraries keep in a home
# folder goes into the prefix too.  No display is needed.
#
# The debugger is left out, because a program that it attends after a crash may
# come out with exit code 0; without it the code is the exception's low byte.
#
# WINEDEBUG may be set to see Wine's own messages (WINEDEBUG=+debugstr).
# TRACER_WINE_PREFIX names another prefix.
#

set -u

Root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd) || exit 1

WINEPREFIX=${TRACER_WINE_PREFIX:-$Root/x64/Wine}
unset TRACER_WINE_PREFIX DISPLAY WAYLAND_DISPLAY
export WINEPREFIX
export WINEDEBUG=${WINEDEBUG:--all}
export WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="
export HOME=$WINEPREFIX/home
export XDG_CONFIG_HOME=$HOME/.config
export XDG_CACHE_HOME=$HOME/.cache
export XDG_DATA_HOME=$HOME/.local/share
export XDG_RUNTIME_DIR=$HOME/.run

if [ ! -d "$XDG_RUNTIME_DIR" ]; then
    mkdir -p "$XDG_RUNTIME_DIR" 2>/dev/null || {
        echo "RunWine: making the Wine prefix's home: $HOME: failed" >&2
        exit 125
    }
fi

if [ $# -ge 1 ] && [ "$1" = --server ]; then
    shift
    exec wineserver "$@"
fi

exec wine "$@"

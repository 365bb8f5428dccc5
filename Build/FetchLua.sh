#!/bin/sh
#
# Gets the source of Lua 5.4 (FetchSource.sh).
#
# usage: Build/FetchLua.sh [folder]       default: x64/Lua
#
# Prints the folder that holds lua.c on standard output.  Exit code 0 when the
# source is there, 1 when it cannot be had.
#

Build=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "$Build/FetchSource.sh" lua5.4 src/lua.c "${1:-${Build%/*}/x64/Lua}"

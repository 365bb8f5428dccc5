#!/usr/bin/env bash
#
# What TraceReader export takes for a session of 2 GiB: for each format the
# time, the most memory that the process had (its resident set, which counts
# what it maps of the stores) and the size of what it wrote; and the same of
# report and tree, which write nothing.
#
# The session is of Lua (Build/FetchLua.sh), running Tests/Programs/demo.lua
# for LUA_ROUNDS (default 40) rounds.  Each is run once, from a warm page
# cache, and what it wrote is deleted.  FORMATS (default: all that export
# --help lists) are the formats.

set -euo pipefail

cd "$(dirname "$0")/.."

Bin=${TRACER_BIN:-$PWD/x64/Release}
Work=$PWD/x64/Bench/Export
Gcc="x86_64-w64-mingw32-gcc -O2"
Hooks="-pg -mfentry -mfentry-name=_penter -minstrument-return=call"

rm -rf "$Work"
mkdir -p "$Work/objects"

ToWindows()
{
    printf 'Z:%s' "${1//\//\\}"
}

Source=$(Build/FetchLua.sh)
# shellcheck disable=SC2086
{
    find "$Source" -name '*.c' ! -name luac.c -print0 |
        xargs -0 -P 2 -I '{}' sh -c \
            'exec '"$Gcc $Hooks"' -c "$1" -o "$0/$(basename "$1" .c).o"' \
            "$Work/objects" '{}'
    $Gcc "$Work"/objects/*.o "$Bin/TracerPenter.lib" -static -o "$Work/lua.exe"
}

TRACER_DIRECTORY=$(ToWindows "$Work/Lua") \
    Build/RunWine.sh "$Work/lua.exe" \
    "$(ToWindows "$PWD/Tests/Programs/demo.lua")" "${LUA_ROUNDS:-40}" \
    >/dev/null
Session=$(echo "$Work"/Lua/*)

python3 - "$Session" "$Work" "$Bin/TraceReader.exe" "${FORMATS:-}" <<'END'
import glob
import os
import re
import subprocess
import sys
import time

session, work, reader, formats = sys.argv[1:]
MEASURE = ('import os,resource,subprocess,sys;'
           'code=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL)'
           '.returncode;'
           'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);'
           'sys.exit(code)')


def run(*arguments):
    start = time.monotonic()
    done = subprocess.run([sys.executable, '-c', MEASURE, 'Build/RunWine.sh',
                           reader, *arguments, session],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit('%s: exit code %d: %s' % (
            arguments, done.returncode, done.stderr.decode()))
    return seconds, int(done.stdout) / 1024


if not formats:
    text = subprocess.run(['Build/RunWine.sh', reader, 'export', '--help'],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    formats = ' '.join(re.findall(
        r'^  ([a-z][a-z-]*) {2,}\S', text.split('Formats:')[1], re.M))

size = sum(map(os.path.getsize, glob.glob(session + '/*.trace')))
run('report')
print('TraceReader on a session of %.2f GiB, once each, warm page cache' %
      (size / 2 ** 30))
print()
print(f"{'':14}{'seconds':>9}{'memory':>12}{'written':>14}")
for what in ('report', 'tree', *formats.split()):
    written = 0
    if what in ('report', 'tree'):
        seconds, memory = run(what)
    else:
        path = os.path.join(work, 'export')
        seconds, memory = run('export', '--format', what, '-o', path)
        written = os.path.getsize(path)
        os.remove(path)
    print(f"{what:14}{seconds:9.1f}{memory:8.0f} MiB"
          f"{written / 2 ** 20:10.1f} MiB")
END
rm -rf "$Work"

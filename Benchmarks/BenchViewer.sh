#!/usr/bin/env bash
#
# Benchmarks/BenchViewer.sh
#
# TraceViewer.html in a headless Chromium: how long people wait, and how much
# memory all of the browser takes.  Each session is opened by dropping its
# folder, in a browser that was just started.
#
#   - demo: the Lua program of `make demo`, in records (raw) and compact;
#   - many: 100 threads in 3 processes, with 10,000 marks;
#   - big: the demo's program until its records fill BIG_GIB GiB (0, none, if
#     it is not set: it writes that much to the disk).
#
# Printed are: seconds from the drop to the first picture, which has boxes of a
# thread on it, and to the end of the pass that reads everything; milliseconds
# of zoom steps, from the change of the range until every answer for it is
# painted (median, 95th percentile, slowest): from all of the session to a few
# calls, at PLACES places; milliseconds from frame to frame while the range
# moves on at five depths of zoom when all is read, and at two while the session
# is being read (median, 99th percentile, slowest); the most memory of all of
# the browser's processes (PSS, sampled).  Then the same folder is opened again,
# in the same browser profile, so that the summaries are at hand.
#
# SESSIONS="demo many" has those alone.  ROUNDS browsers are started for each
# session (default 3); medians are printed.  A zoom step is seen when the frame
# after it is, so 33 ms is the least.  A browser without a screen paints by
# processor: the numbers of a browser with a graphics card are smaller.

set -euo pipefail

cd "$(dirname "$0")/.."

export TRACER_BIN=${TRACER_BIN:-$PWD/x64/Release}
export TRACER_WINE=${TRACER_WINE:-$PWD/Build/RunWine.sh}

exec Benchmarks/BenchViewer.py "$PWD/x64/Bench/Viewer"

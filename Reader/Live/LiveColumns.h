/*++

Module Name:

    LiveColumns.h

Abstract:

    The columns of live's lists, which a screen draws and keys choose.

--*/

#ifndef TRACER_LIVE_COLUMNS_H
#define TRACER_LIVE_COLUMNS_H

enum {
    ReaderFunctionSelfPercent = 0,
    ReaderFunctionSelfPerSecond,
    ReaderFunctionCallsPerSecond,
    ReaderFunctionCalls,
    ReaderFunctionTotal,
    ReaderFunctionSelf,
    ReaderFunctionAverage,
    ReaderFunctionName,
    ReaderNumberOfFunctionColumns
};

enum {
    ReaderThreadId = 0,
    ReaderThreadState,
    ReaderThreadCallsPerSecond,
    ReaderThreadRecords,
    ReaderThreadSize,
    ReaderThreadDepth,
    ReaderThreadName,
    ReaderThreadInnermost,
    ReaderNumberOfThreadColumns
};

enum {
    ReaderNodeTotalPercent = 0,
    ReaderNodeSelfPercent,
    ReaderNodeCalls,
    ReaderNodeTotal,
    ReaderNodeSelf,
    ReaderNodeName,
    ReaderNumberOfNodeColumns
};

enum {
    ReaderEdgeShare = 0,
    ReaderEdgeCalls,
    ReaderEdgeTotal,
    ReaderEdgeSelf,
    ReaderEdgeName,
    ReaderNumberOfEdgeColumns
};

#endif // TRACER_LIVE_COLUMNS_H

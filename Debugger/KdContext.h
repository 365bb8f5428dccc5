/*++

Module Name:

    KdContext.h

Abstract:

    A command that runs: the engine's interfaces, memory, what was read of the
    target, and what stopped it.

--*/

#ifndef TRACER_KD_CONTEXT_H
#define TRACER_KD_CONTEXT_H

#include "../Reader/Base/BaseContainer.h"
#include "../Rtl/Rtl.h"
#include "KdApi.h"

//
// What a command may take of the debugger's memory, bytes, and how many lines
// it writes: counts in a target's memory may be anything.
//

#define KD_MEMORY_LIMIT             0x40000000ULL
#define KD_MAXIMUM_LINES            1000000u

//
// Text goes to the engine in pieces no longer than this, bytes.
//

#define KD_TEXT_SIZE                4096u

//
// Pages of the target that are kept.
//

#define KD_PAGE_SIZE                4096u
#define KD_PAGES                    64u

typedef struct _KD_PAGE {
    ULONGLONG Address;              // all ones: none
    ULONG SizeInBytes;              // from its beginning, that could be read
    UCHAR Bytes[KD_PAGE_SIZE];
} KD_PAGE;
typedef KD_PAGE *PKD_PAGE;

typedef struct _KD_CONTEXT {
    PCRTL Rtl;
    ALLOCATOR Allocator;
    ULONGLONG MemoryInUse;          // bytes
    PKD_CONTROL Control;
    PKD_DATA Data;
    PKD_SYMBOLS Symbols;            // these two NULL: the engine has none
    PKD_SYSTEM System;
    BOOLEAN HasQuery;               // Data has QueryVirtual
    BOOLEAN IsKernel;
    BOOLEAN IsKernelDump;           // and not a machine that runs
    BOOLEAN HasTarget;
    BOOLEAN IsStopped;              // by Ctrl+Break
    BOOLEAN IsCut;                  // KD_MAXIMUM_LINES were written
    BOOLEAN IsTicks;                // times are shown as they are
    ULONG Checks;                   // since Ctrl+Break was asked for
    ULONG NumberOfLines;
    ULONG NumberOfReads;            // by the engine
    RTL_WRITER Writer;              // what the command says
    CHAR Text[KD_TEXT_SIZE];
    KD_PAGE Pages[KD_PAGES];
} KD_CONTEXT;
typedef KD_CONTEXT *PKD_CONTEXT;

//
// Makes a context of its client.  Both outputs are NULL after a failure.
//     E_POINTER, E_NOINTERFACE, E_OUTOFMEMORY
//

_Must_inspect_result_
HRESULT
KdContextCreate(
    _In_ PCRTL Rtl,
    _In_opt_ PKD_UNKNOWN Client,
    _Outptr_ PKD_CONTEXT *Context
    );

VOID
KdContextDestroy(
    _In_ PKD_CONTEXT Context
    );

//
// Asks whether the user wants the command to end.  It is cheap: the engine is
// asked every now and then.  TRUE from then on.
//

BOOLEAN
KdContextIsStopped(
    _Inout_ PKD_CONTEXT Context
    );

//
// Ends a line: writes a line feed and hands the text to the engine.  FALSE: no
// more is wanted, by the user or for KD_MAXIMUM_LINES.
//

BOOLEAN
KdContextEndLine(
    _Inout_ PKD_CONTEXT Context
    );

//
// Reads the target's memory: all of it, or FALSE.
//

_Success_(return != FALSE)
BOOLEAN
KdContextRead(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Address,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes
    );

//
// The same, as much as there is from Address on.  Returns how many bytes.
//

ULONG
KdContextReadSome(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Address,
    _Out_writes_bytes_to_(SizeInBytes, return) PVOID Buffer,
    _In_ ULONG SizeInBytes
    );

//
// Memory of the context's allocator, zeroed; NULL: there is none, or the
// command has KD_MEMORY_LIMIT.
//

_Ret_maybenull_
PVOID
KdContextAllocate(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG SizeInBytes
    );

VOID
KdContextFree(
    _Inout_ PKD_CONTEXT Context,
    _In_opt_ PVOID Address
    );

//
// Why a command ends early, as a line of its own; STATUS_SUCCESS: nothing.
//

VOID
KdContextWriteStatus(
    _Inout_ PKD_CONTEXT Context,
    _In_ NTSTATUS Status
    );

#endif // TRACER_KD_CONTEXT_H

/*++

Module Name:

    KdKernel.h

Abstract:

    What a traced driver's library keeps in the kernel's memory
    (Kernel/KernelFormat.h).

--*/

#ifndef TRACER_KD_KERNEL_H
#define TRACER_KD_KERNEL_H

#include "../Kernel/KernelFormat.h"
#include "../Reader/Core/CoreClock.h"
#include "KdFeed.h"

typedef struct _KD_DRIVER {
    PKD_CONTEXT Context;
    ULONGLONG Address;              // of the header; 0: there is none
    PTRACE_KERNEL_HEADER Header;    // a copy
    PTRACE_KERNEL_RING Rings;       // NumberOfRings, copies
    PCSZ Problem;                   // a literal; NULL: the header is good
    ULONGLONG UnreadInBytes;
    ULONGLONG NumberBad;            // records and slots that cannot be
    CORE_CLOCK Clock;
    KD_NAMES Names;                 // the driver is module 0
} KD_DRIVER;
typedef KD_DRIVER *PKD_DRIVER;

//
// Finds the section of the driver at Base: by what the driver exports, by its
// symbol if it has a Name, and by what its variables point to, all of them if
// IsThorough.  Good for
// KdKernelClose after a failure, too.
//     STATUS_NOT_FOUND, STATUS_CANCELLED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdKernelOpen(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _In_opt_z_ PCSZ Name,
    _In_ BOOLEAN IsThorough,
    _Out_ PKD_DRIVER Driver
    );

VOID
KdKernelClose(
    _Inout_ PKD_DRIVER Driver
    );

//
// The functions' table of one processor, read at once; the caller frees it.
//     STATUS_NO_MEMORY, STATUS_CANCELLED, STATUS_PARTIAL_COPY
//

_Must_inspect_result_
NTSTATUS
KdKernelReadFunctions(
    _Inout_ PKD_DRIVER Driver,
    _In_ ULONG Ring,
    _Outptr_ PTRACE_KERNEL_FUNCTION *Functions
    );

//
// A record, and where it is from.
//

typedef struct _KD_KERNEL_RECORD {
    TRACE_KERNEL_RECORD Record;
    ULONG Ring;
    ULONG Unused;
} KD_KERNEL_RECORD;
typedef KD_KERNEL_RECORD *PKD_KERNEL_RECORD;

//
// Records that are gathered at a time, at most.
//

#define KD_MAXIMUM_GATHERED         0x00400000u

#define KD_ALL_THREADS              0xFFFFFFFFu
#define KD_ALL_RINGS                0xFFFFFFFFu

typedef struct _KD_KERNEL_FEED {
    PKD_DRIVER Driver;
    PKD_KERNEL_RECORD Records;
    PULONG Order;                   // indexes, in the order of time
    ULONG Count;
    ULONG Capacity;
} KD_KERNEL_FEED;
typedef KD_KERNEL_FEED *PKD_KERNEL_FEED;

//
// Gathers the newest MaximumInRing records of each ring, or of one, that are of
// a thread, or of all.  Good for KdKernelCloseFeed after a failure, too.
//     STATUS_NO_MEMORY, STATUS_CANCELLED
//

_Must_inspect_result_
NTSTATUS
KdKernelOpenFeed(
    _Inout_ PKD_DRIVER Driver,
    _In_ ULONG Thread,
    _In_ ULONG Ring,
    _In_ ULONG MaximumInRing,
    _Out_ PKD_KERNEL_FEED Feed
    );

VOID
KdKernelCloseFeed(
    _Inout_ PKD_KERNEL_FEED Feed
    );

//
// The module that a command is told, or else the first that leads to a section.
// FALSE: it was said that there is none, or why.
//

_Success_(return != FALSE)
BOOLEAN
KdKernelOpenNamed(
    _Inout_ PKD_CONTEXT Context,
    _In_reads_bytes_opt_(Length) const CHAR *Module,
    _In_ ULONG Length,
    _Out_ PKD_DRIVER Driver
    );

//
// The next loaded module, from *Index on, that leads to a section.
//     STATUS_NO_MORE_ENTRIES, STATUS_CANCELLED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdKernelNext(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PULONG Index,
    _Out_ PKD_DRIVER Driver
    );

#endif // TRACER_KD_KERNEL_H

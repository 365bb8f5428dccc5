/*++

Module Name:

    EtlFile.h

Abstract:

    An event trace log as a range of bytes: what it says of itself, and where
    its buffers are.  Portable, without system calls; anybody may have written
    the bytes.

--*/

#ifndef TRACER_ETL_FILE_H
#define TRACER_ETL_FILE_H

#include "../../Rtl/Allocator.h"
#include "../../Rtl/Rtl.h"
#include "EtlFormat.h"

//
// Reads SizeInBytes at Offset, all of which the log has.
//

typedef
_Must_inspect_result_
NTSTATUS
(ETL_READ)(
    _In_ PVOID Context,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    );
typedef ETL_READ *PETL_READ;

//
// A buffer, in the order of the file.
//

typedef struct _ETL_BUFFER {
    ULONGLONG Offset;               // of its header, in the file
    ULONGLONG Sequence;
    ULONG SizeInBytes;              // in the file
    ULONG UsedInBytes;              // decompressed, with the header
    ULONG Rank;                     // how many lower numbers there are
    USHORT Processor;
    USHORT Flags;                   // ETL_BUFFER_*
} ETL_BUFFER;
typedef ETL_BUFFER *PETL_BUFFER;
typedef const ETL_BUFFER *PCETL_BUFFER;

typedef struct _ETL_FILE {
    PCALLOCATOR Allocator;          // these four are the caller's
    PETL_READ Read;
    PVOID ReadContext;
    ULONGLONG SizeInBytes;
    PCSZ Problem;                   // why it is refused, as a phrase; or NULL
    ULONG PointerSize;
    ULONG NumberOfProcessors;       // as the log says
    ULONG ClockType;                // ETL_CLOCK_*
    ULONG Mode;                     // ETL_MODE_*
    ULONG BuffersWritten;           // these three as the log says
    ULONG EventsLost;
    ULONG BuffersLost;
    ULONG Method;                   // of compression; 0: none
    ULONGLONG Frequency;
    ULONGLONG StartTime;            // FILETIME
    ULONGLONG EndTime;              // FILETIME; 0: not known
    ULONGLONG StartTimestamp;       // on the log's clock
    PETL_BUFFER Buffers;
    PULONG Order;                   // by processor, and by number
    ULONG NumberOfBuffers;
    ULONG CapacityOfBuffers;
    ULONG LargestBuffer;            // bytes, in the file
    ULONG LargestUsed;              // bytes, decompressed
    ULONG NumberCompressed;
    ULONG NumberMissing;            // of numbers that no buffer has
    BOOLEAN IsCutOff;               // the file ends, or is none, before the
                                    // log does
} ETL_FILE;
typedef ETL_FILE *PETL_FILE;
typedef const ETL_FILE *PCETL_FILE;

//
// Reads the header and finds the buffers.
//
//     STATUS_FILE_INVALID: it is refused; Problem says why
//     STATUS_NO_MEMORY, or what Read failed with
//
// File: the caller's four are there and the rest is zero; good for
// EtlRundownFile afterwards in any case.
//

_Must_inspect_result_
NTSTATUS
EtlInitializeFile(
    _Inout_ PETL_FILE File
    );

VOID
EtlRundownFile(
    _Inout_ PETL_FILE File
    );

#endif // TRACER_ETL_FILE_H

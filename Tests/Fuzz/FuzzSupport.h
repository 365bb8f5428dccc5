/*++

Module Name:

    FuzzSupport.h

Abstract:

    What the fuzz targets share: taking numbers off the input, an allocator
    that can fail and is checked for leaks, and stores made to measure.

    A target is a routine over bytes (LLVMFuzzerTestOneInput).  libFuzzer
    calls it, or, where there is none, FuzzMain.c with the files of a corpus.
    A finding is a sanitizer's report or a FUZZ_CHECK that fails.

--*/

#ifndef TRACER_FUZZ_SUPPORT_H
#define TRACER_FUZZ_SUPPORT_H

#include "../../Rtl/RtlTypes.h"
#include "../../Rtl/Allocator.h"
#include "../../TraceStore/TraceFormat.h"

//
// An invariant of the code under test.
//

#define FUZZ_CHECK(Condition)                                               \
    do {                                                                    \
        if (!(Condition)) {                                                 \
            FuzzFail(#Condition, __FILE__, __LINE__);                       \
        }                                                                   \
    } while (0)

//
// Ends the program because of an invariant that does not hold.
// Condition, File, Line: say which one.
//

_Noreturn
VOID
FuzzFail(
    PCSZ Condition,
    PCSZ File,
    int Line
    );

//
// The input that is left.  Numbers are little endian; behind the end there are
// zeroes.
//

typedef struct _FUZZ_INPUT {
    const UCHAR *Bytes;
    SIZE_T Left;
} FUZZ_INPUT;
typedef FUZZ_INPUT *PFUZZ_INPUT;

//
// Takes a number off the input.
// SizeInBytes: its size, 1 to 8.
//

ULONGLONG
FuzzTake(
    PFUZZ_INPUT Input,
    ULONG SizeInBytes
    );

//
// Takes bytes off the input. The next bytes, at most SizeInBytes of them; the
// number is written back.
//

const UCHAR *
FuzzTakeBytes(
    PFUZZ_INPUT Input,
    PSIZE_T SizeInBytes
    );

//
// The C library's memory, each block exactly as large as was asked for.  The
// allocation after FailAfter good ones fails, once; 0: none.
//

typedef struct _FUZZ_ALLOCATOR {
    ALLOCATOR Allocator;
    ULONG FailAfter;
    LONGLONG Count;                 // blocks that are allocated
    ULONGLONG SizeInBytes;          // of these blocks
    ULONGLONG LargestSize;          // that they have had
    ULONGLONG MaximumSize;          // that they may have; 0: any
} FUZZ_ALLOCATOR;
typedef FUZZ_ALLOCATOR *PFUZZ_ALLOCATOR;

//
// Makes an allocator.
// FailAfter: how many allocations succeed before one fails; 0: all do.
//

VOID
FuzzInitializeAllocator(
    PFUZZ_ALLOCATOR Allocator,
    ULONG FailAfter
    );

//
// What an input may cost (FuzzWork.c): work is comparisons that are made, and
// FUZZ_BYTES_IN_WORK bytes that are copied or zeroed.  More than Limit of it is
// a finding.  FuzzEndWork says how much it was, and ends the limit; with
// FUZZ_WORK in the environment it also prints it.
//

#define FUZZ_BYTES_IN_WORK 32

//
// For targets that look at an input once.
//

#define FUZZ_WORK_OF_INPUT(SizeInBytes)                                     \
    (4000000ULL + 2000ULL * (SizeInBytes))

#define FUZZ_NO_LIMIT 0x7FFFFFFFFFFFFFFFLL

extern LONGLONG FuzzWorkLeft;

VOID
FuzzBeginWork(
    ULONGLONG Limit
    );

ULONGLONG
FuzzEndWork(
    VOID
    );

VOID
FuzzSpendWork(
    ULONGLONG SizeInBytes
    );

//
// Makes a store out of input and returns its size in bytes; *Store is freed
// with free().  The input is a number of changes to a good header, each an
// offset, a size and a value, and then the records, 4 bytes each: see the
// routine.  A small ring that the changes make is filled with them.  Most
// stores are good or nearly so.
//

SIZE_T
FuzzMakeStore(
    PFUZZ_INPUT Input,
    PUCHAR *Store
    );

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    );

#endif // TRACER_FUZZ_SUPPORT_H

/*++

Module Name:

    PenterStoreSupport.h

Abstract:

    Reading stores back: what the parts of TestPenter compare with what was
    called.

--*/

#ifndef TRACER_PENTER_STORE_SUPPORT_H
#define TRACER_PENTER_STORE_SUPPORT_H

#include "PenterSupport.h"

typedef struct _TEST_SEGMENT {
    ULONG Site[2];                  // of even and odd records
    ULONG StackKind[2];
    ULONGLONG NumberOfRecords;
} TEST_SEGMENT;
typedef TEST_SEGMENT *PTEST_SEGMENT;
typedef const TEST_SEGMENT *PCTEST_SEGMENT;

typedef struct _TEST_MATCH {
    ULONGLONG NumberOfRecords;      // that the store has
    ULONGLONG NumberExpected;
    ULONGLONG FirstDifference;      // index of a record; ~0: none
    ULONGLONG NumberOutOfTime;      // outside of the given times
} TEST_MATCH;
typedef TEST_MATCH *PTEST_MATCH;

//
// Describes the records that HookRepeat leaves behind.
// Hook, Count, Argument: what HookRepeat was given.
// Rsp: what it returned.
//

VOID
PenterTestSetRepeatSegment(
    _Out_ PTEST_SEGMENT Segment,
    _In_ PCTEST_HOOK Hook,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument,
    _In_ ULONG_PTR Rsp
    );

//
// Describes the records that HookRepeatPair leaves behind.
// Enter, Exit, Count, Argument: what HookRepeatPair was given.
// Rsp: what it returned.
//

VOID
PenterTestSetPairSegment(
    _Out_ PTEST_SEGMENT Segment,
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument,
    _In_ ULONG_PTR Rsp
    );

//
// Computes the number of records that a header publishes.
//

ULONGLONG
PenterTestNumberOfRecords(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// Compares a store's records with what was called.
// Segments, NumberOfSegments: what was called, in order.
// FirstTime, LastTime: readings of the time stamp counter between which all
// the calls were made.
// Returns TRUE if the number of records and every site, stack pointer and kind
// agree.
//

BOOLEAN
PenterTestMatchRecords(
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_reads_(NumberOfSegments) PCTEST_SEGMENT Segments,
    _In_ ULONG NumberOfSegments,
    _In_ ULONGLONG FirstTime,
    _In_ ULONGLONG LastTime,
    _Out_ PTEST_MATCH Match
    );

//
// Calls Callback for every store below a directory; returns their number.
//

typedef
VOID
(PENTER_TEST_STORE)(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    );
typedef PENTER_TEST_STORE *PPENTER_TEST_STORE;

//
// Calls a routine for every store below a directory.
// Returns the number of stores.
//

ULONG
PenterTestEnumerateStores(
    _In_ const TEST_PATH *Root,
    _In_ PPENTER_TEST_STORE Callback,
    _In_opt_ PVOID Context
    );

//
// The number of records in all the stores below a directory.
//

ULONGLONG
PenterTestSumRecords(
    _In_ const TEST_PATH *Root
    );

//
// Adds up the calls of hooks that all the stores below a directory know of.
// The number of calls that they know of: also those that were taken back or
// left out.
//

ULONGLONG
PenterTestSumEvents(
    _In_ const TEST_PATH *Root
    );

//
// TRACER_DIRECTORY as a path.
//

BOOLEAN
PenterTestSessionRoot(
    _Out_ PTEST_PATH Root
    );

#endif // TRACER_PENTER_STORE_SUPPORT_H

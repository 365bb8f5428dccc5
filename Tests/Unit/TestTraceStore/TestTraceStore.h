/*++

Module Name:

    TestTraceStore.h

Abstract:

    What the sources of TestTraceStore share.

--*/

#ifndef TRACER_TEST_TRACE_STORE_H
#define TRACER_TEST_TRACE_STORE_H

#include "Counting.h"

//
// What a file holds, read through kernel32.  NumberOfGoodRecords counts from
// the first record to the first that is not what the test wrote.
//

typedef struct _TEST_CONTENT {
    TRACE_STORE_HEADER Header;
    ULONGLONG FileSize;
    ULONGLONG End;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOfGoodRecords;
    BOOLEAN TailIsZero;
} TEST_CONTENT;
typedef TEST_CONTENT *PTEST_CONTENT;

extern TEST_CONTENT TestContent;

//
// The names of the files of a session that end in Suffix.
//

extern WCHAR TestFileNames[TEST_MAXIMUM_FILES][128];

//
// Sessions.c.
//

LONG
TestCountLiveViews(
    VOID
    );

//
// Everything that was had has been given back, once.
//

BOOLEAN
TestCheckBalance(
    VOID
    );

//
// A new, empty folder for sessions; the one before it is deleted.
//

VOID
TestNextRoot(
    VOID
    );

NTSTATUS
TestCreateSession(
    PCRTL Rtl,
    ULONGLONG MaximumViewSize,
    BOOLEAN WorkerAllowed,
    PTRACE_SESSION *Session,
    PRTL_ERROR Error
    );

//
// What the Index-th record of a test holds.
//

uint32_t
TestSite(
    ULONG Index
    );

uint32_t
TestStackKind(
    ULONG Index
    );

//
// Whether records, and their times, are such that nothing makes them smaller.
//

extern BOOLEAN TestNoise;

ULONGLONG
TestNoiseTime(
    ULONG Index
    );

//
// Appends one record as the hook does.  FALSE: it was counted as lost.
//

BOOLEAN
TestAppend(
    PTRACE_STORE Store,
    ULONG Index
    );

//
// Appends records First to Limit - 1; returns how many were recorded.
//

ULONG
TestAppendMany(
    PTRACE_STORE Store,
    ULONG First,
    ULONG Limit
    );

BOOLEAN
TestReadStore(
    PCWSTR Path,
    PTEST_CONTENT Content
    );

PCWSTR
TestSessionPath(
    PTRACE_SESSION Session,
    PCWSTR Name
    );

ULONG
TestListFiles(
    PTRACE_SESSION Session,
    PCWSTR Pattern
    );

//
// Reads the store of a session whose file has a sequence number.
//

BOOLEAN
TestReadSessionStore(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    PTEST_CONTENT Content
    );

//
// A closed store that holds the test's records, and is as long as they are.
//

BOOLEAN
TestCheckContent(
    ULONGLONG NumberOfRecords,
    ULONG State,
    ULONG Reason
    );

BOOLEAN
TestIsAnchorValid(
    PCTRACE_CLOCK_ANCHOR Anchor
    );

//
// The clocks, read through kernel32.
//

VOID
TestReadClocks(
    PRTL_CLOCK_READING Reading
    );

VOID
TestCheckAnchor(
    PCTRACE_CLOCK_ANCHOR Anchor,
    const RTL_CLOCK_READING *Before,
    const RTL_CLOCK_READING *After
    );

//
// A text of a header with a wide text that kernel32 converted.
//

VOID
TestCheckHeaderText(
    PCWSTR Expected,
    const CHAR *Actual,
    ULONG Length,
    ULONG FullLength,
    ULONG Capacity
    );

//
// Worker.c.
//

//
// Gives the worker time to prepare the next view; FALSE if it did not.
//

BOOLEAN
TestWaitForNextView(
    PTRACE_STORE Store
    );

//
// Views.c.
//

//
// What is asked for: TestOptions beside what every session of these tests has.
//

BOOLEAN
TestOpenSession(
    ULONGLONG MaximumViewSize,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    );

VOID
TestEndSession(
    PTRACE_SESSION Session
    );

//
// Compact.c.
//

//
// What a compact store holds, read by the text of Docs/Format.md alone.
// NumberOfGoodRecords counts from the oldest one.
//

typedef struct _TEST_COMPACT {
    TRACE_STORE_HEADER Header;
    ULONGLONG FileSize;
    ULONGLONG End;
    ULONGLONG First;                // position of the oldest record
    ULONGLONG NumberOfGoodRecords;
    ULONGLONG NumberOfBlocks;
    ULONGLONG NumberOfRawRecords;
    PCSZ Fault;                     // NULL: it is complete
} TEST_COMPACT;
typedef TEST_COMPACT *PTEST_COMPACT;

extern TEST_COMPACT TestCompact;

//
// Reads the store of a session whose file has a sequence number.
// IsLive: whether its thread may append meanwhile.
//

BOOLEAN
TestReadCompact(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    BOOLEAN IsLive
    );

//
// The same, and that it is complete: all records, or in a ring the last of
// them.
//

BOOLEAN
TestCheckCompact(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    ULONGLONG NumberOfRecords
    );

//
// The worker does nothing for a store until it is let go on.
//

VOID
TestHoldWorker(
    PTRACE_STORE Store
    );

//
// A session with compact stores, in TestOptions, and its first store.
//

BOOLEAN
TestOpenCompact(
    ULONGLONG MaximumViewSize,
    ULONGLONG MaximumBytes,
    BOOLEAN IsRing,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    );

//
// What TestTraceStore.c calls, source by source.
//

VOID TestMakeCountingRtl(VOID);                // Counting.c

VOID TestLifeOfAStore(VOID);                   // Stores.c
VOID TestHeaderFields(VOID);                   // Stores.c
VOID TestAnchors(VOID);                        // Stores.c
VOID TestNames(VOID);                          // Stores.c
VOID TestViewSizes(VOID);                      // Stores.c

VOID TestFaults(BOOLEAN Worker);               // Faults.c

VOID TestWorkerPrepares(VOID);                 // Worker.c
VOID TestWorkerStops(VOID);                    // Worker.c
VOID TestSlowDisk(VOID);                       // Worker.c

VOID TestThreads(VOID);                        // Threads.c
VOID TestManyStores(VOID);                     // Threads.c
VOID TestProcessExit(VOID);                    // Threads.c

VOID TestKills(VOID);                          // Kills.c
VOID TestTerminatedWorkers(VOID);              // Kills.c

VOID TestInvariant(VOID);                      // Views.c
VOID TestDemand(VOID);                         // Views.c
VOID TestSlowViews(VOID);                      // Views.c
VOID TestWaits(VOID);                          // Views.c
VOID TestFlush(VOID);                          // Views.c
VOID TestCoherence(VOID);                      // Views.c
VOID TestMaximumBytes(VOID);                   // Views.c

VOID TestRings(VOID);                          // Rings.c

VOID TestCompactStores(VOID);                  // Compact.c
VOID TestCompactEnds(VOID);                    // Compact.c
VOID TestCompactWrites(VOID);                  // Compact.c
VOID TestCompactStops(VOID);                   // Compact.c
VOID TestCompactFaults(VOID);                  // Compact.c
VOID TestCompactFlush(VOID);                   // Compact.c
VOID TestCompactTakesBack(VOID);               // Compact.c
VOID TestCompactIncoherent(VOID);              // Compact.c

VOID TestCompactKills(VOID);                   // CompactKills.c
VOID TestCompactDelays(VOID);                  // CompactKills.c
VOID TestCompactThreads(VOID);                 // CompactKills.c

VOID TestVolumes(VOID);                        // Volumes.c

VOID TestClockThread(VOID);                    // Clocks.c
VOID TestClockProcessors(VOID);                // Clocks.c

VOID TestDepths(VOID);                         // Depths.c

VOID TestLog(VOID);                            // Log.c

VOID TestControlRaces(VOID);                   // Controls.c
VOID TestControlSteps(BOOLEAN WorkerAllowed);  // Controls.c
VOID TestControlGivenUp(VOID);                 // Controls.c
VOID TestControlRefused(VOID);                 // Controls.c

#endif // TRACER_TEST_TRACE_STORE_H

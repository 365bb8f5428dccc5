/*++

Module Name:

    TestReader.h

Abstract:

    What the sources of TestReader share.

--*/

#ifndef TRACER_TEST_READER_H
#define TRACER_TEST_READER_H

#include "../../../Reader/Core/CoreTree.h"
#include "../../../Reader/Session/SessionStoreOpen.h"
#include "../../../Reader/Sums/SumTally.h"
#include "../../../Reader/Commands/Command.h"
#include "Test.h"

#define TEST_MODULE_BASE 0x140000000ULL
#define TEST_MODULE_SIZE 0x10000u
#define TEST_STACK_BASE 0x200000ULL
#define TEST_STACK_LIMIT 0x100000ULL
#define TEST_SYSTEM_TIME 133000000000000000ULL
#define TEST_FIRST_TICK 1000ULL

//
// A thousand million ticks a second: a tick is a nanosecond.
//

#define TEST_QPC_FREQUENCY 10000000ULL

#define TEST_MAXIMUM_RECORDS 512
#define TEST_OUTPUT_CAPACITY 65536
#define TEST_MAXIMUM_ARGUMENTS 12

#define TEST_N TRACE_KIND_ENTER
#define TEST_X TRACE_KIND_EXIT
#define TEST_NF TRACE_KIND_ENTER_FUNCTION
#define TEST_XF TRACE_KIND_EXIT_FUNCTION
#define TEST_K CORE_CALL_FRAME_KNOWN
#define TEST_D CORE_CALL_DYNAMIC
#define TEST_NO_IMAGE 0, 0, 0, 0, 0

typedef struct _TEST_STORE {
    TRACE_STORE_HEADER Header;
    TRACE_RECORD Records[TEST_MAXIMUM_RECORDS];
} TEST_STORE;
C_ASSERT(FIELD_OFFSET(TEST_STORE, Records) == TRACE_HEADER_SIZE);

#define TEST_SET_TEXT(Header, Name, Value)                                  \
    TestSetText((Header)->Name,                                             \
                &(Header)->Name##Length,                                    \
                &(Header)->Name##FullLength,                                \
                sizeof((Header)->Name),                                     \
                Value)

#define TEST_STORE_SIZE(NumberOfRecords) (4096 + 16 * (ULONG)(NumberOfRecords))

#define TEST_OUTPUT(Expected) \
    TEST_EQUAL_TEXT(TestOut.Buffer, TestOut.LengthInBytes, Expected)


//
// Rings.  Record number N, counted from the first that was ever written, is
// what TestMakeRingRecord makes of N, at position 4096 + 16 * N.
//

#define TEST_SEGMENT 0x10000u
#define TEST_SEGMENTS 3u
#define TEST_RING_FILE (TEST_SEGMENT * (TEST_SEGMENTS + 1))
#define TEST_IN_SEGMENT (TEST_SEGMENT / 16)

//
// Records before the ring.
//

#define TEST_BEFORE_RING (TEST_IN_SEGMENT - 256)


//
// What report adds up of the first thread of a session, with the fast path
// and by the general rules alone.
//

#define TEST_TALLY_FUNCTIONS 16u

typedef struct _TEST_TALLIED {
    READER_STATISTICS Statistics[TEST_TALLY_FUNCTIONS];
    ULONG NumberOfFunctions;
    ULONGLONG Unmatched;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;
    ULONGLONG NumberOfOrdinary;
} TEST_TALLIED;
typedef TEST_TALLIED *PTEST_TALLIED;

extern PCRTL TestRtl;
extern PCALLOCATOR TestHeap;
extern TEST_STORE TestStore;
extern TEST_STORE TestOther;
extern TEST_STORE TestDamaged;
extern TEST_PATH TestFolder;
extern TEST_PATH TestPath;
extern TEST_PATH TestSubfolder;
extern TEST_PATH TestPrefixes;
extern CHAR TestErrorBuffer[TEST_OUTPUT_CAPACITY];
extern CHAR TestEventText[TEST_OUTPUT_CAPACITY];
extern RTL_WRITER TestOut;
extern RTL_WRITER TestErr;
extern READER_CONTEXT TestContext;
extern READER_SESSION TestSession;
extern READER_STREAM TestStream;
extern ULONGLONG TestRandomState;

//
// An allocator that counts, and fails from one allocation on.
//

extern ULONGLONG TestNumberOfAllocations;
extern ULONGLONG TestNumberOfFrees;
extern ULONGLONG TestFailFrom;

extern const ALLOCATOR TestCountingAllocator;

//
// The session that the commands are tested on.
//
// Thread 100, in app.exe: main (0x1000) calls work (0x2000) three times, the
// first of which calls itself once; the third is left by a longjmp; main is
// still open at the end.  In nanoseconds.
//

extern const TRACE_RECORD TestMainRecords[10];

extern TEST_TALLIED TestTallied[2];

//
// Stores.c.
//

//
// A number that looks random and is the same in every run.
// Bound: not zero.
// Returns a number below it.
//

ULONG
TestRandom(
    _In_ ULONG Bound
    );

//
// Makes an anchor on the test's clock.
// Nanoseconds: since the clock's beginning.
//

VOID
TestSetAnchor(
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _In_ ULONGLONG Nanoseconds
    );

//
// Fills a text of a header.
// Text, Capacity: the field.
// Value: what it is to hold.
//

VOID
TestSetText(
    _Out_writes_(Capacity) char *Text,
    _Out_ uint32_t *Length,
    _Out_ uint32_t *FullLength,
    _In_ ULONG Capacity,
    _In_z_ PCSZ Value
    );

//
// Publishes an end of records as a writer does.
// EndOfRecords: a file offset.
//

VOID
TestSetEnd(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG EndOfRecords
    );

//
// Makes a good store that was closed: thread 100 of "app.exe".
// Records: the records; their Site is an RVA, their Timestamp nanoseconds.
// NumberOfRecords: how many.
//

VOID
TestMakeStore(
    _Out_ TEST_STORE *Store,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    );

//
// Writes a store into the session's directory.
// Name: the file's.
// Store: its bytes.
// SizeInBytes: how many of them.
// Returns TRUE if that worked.
//

BOOLEAN
TestWriteStore(
    _In_z_ PCWSTR Name,
    _In_ const TEST_STORE *Store,
    _In_ ULONG SizeInBytes
    );

//
// Makes an empty session directory.
// Returns TRUE if that worked.
//

BOOLEAN
TestBeginSession(
    VOID
    );

//
// CommandLine: its arguments, with one blank between two; "@" stands for Path,
// and "@@" for that of the file of prefixes, after an @.
// Returns the exit code. TestOut and TestErr have what it wrote.
//

ULONG
TestRunWithPath(
    _In_z_ PCSZ CommandLine,
    _In_opt_z_ PCWSTR Path
    );

//
// Runs the program on the session directory.
// CommandLine: its arguments; "@" stands for the directory.
//

ULONG
TestRun(
    _In_z_ PCSZ CommandLine
    );

//
// Looks for a text in what was written.
// Returns TRUE if it is there.
//

BOOLEAN
TestContains(
    _In_ const RTL_WRITER *Writer,
    _In_z_ PCSZ Text
    );

//
// Writes an event: + enter (= by a tail call), - exit, ! abandoned, ?
// unmatched, ~ open; the site; and for the ends @depth, inclusive and self
// ticks.
//

VOID
TestWriteEvent(
    _Inout_ PRTL_WRITER Writer,
    _In_ const CORE_EVENT *Event
    );

//
// Commands.c.
//

//
// Returns TRUE if that worked.
//

BOOLEAN
TestWriteSession(
    VOID
    );

//
// Writes a file of prefixes, beside the stores.
// Text: what is in it.
// Returns TRUE if that worked.
//

BOOLEAN
TestWritePrefixes(
    _In_z_ PCSZ Text
    );

//
// Rings.c.
//

//
// Makes a record of a ring: calls, one after the other.
//

VOID
TestMakeRingRecord(
    _In_ ULONGLONG Number,
    _Out_ PTRACE_RECORD Record
    );

//
// Opens the session, which has one store, and an iterator over it.
// Returns TRUE if that worked.
//

BOOLEAN
TestOpenOne(
    _Out_ PREADER_ITERATOR Iterator
    );

//
// Adds up the first thread of the session.
// IsGeneral: whether the fast path is left out.
// Tallied: what came of it.
//

VOID
TestTally(
    _In_ BOOLEAN IsGeneral,
    _Out_ PTEST_TALLIED Tallied
    );

//
// Compares what the two ways made of the same session, and takes the count of
// ordinary records off, of which the general rules have none.
//

VOID
TestCompareTallies(
    VOID
    );

//
// What TestReader.c calls, source by source.
//

VOID TestHeaders(VOID);                           // Records.c
VOID TestRecords(VOID);                           // Records.c
VOID TestClocks(VOID);                            // Records.c
VOID TestLiveEnds(VOID);                          // Records.c

VOID TestPairing(VOID);                           // Pairing.c

VOID TestCommands(VOID);                          // Commands.c
VOID TestFilters(VOID);                           // Commands.c
VOID TestUsage(VOID);                             // Commands.c

VOID TestClockKinds(VOID);                        // ClockKinds.c

VOID TestColumns(VOID);                           // Columns.c

VOID TestDamage(VOID);                            // Damage.c
VOID TestFailures(VOID);                          // Damage.c
VOID TestRandomDamage(VOID);                      // Damage.c

VOID TestMixedSessions(VOID);                     // Growing.c
VOID TestGrowing(VOID);                           // Growing.c
VOID TestCutOff(VOID);                            // Growing.c
VOID TestCutBetween(VOID);                        // Growing.c

VOID TestRings(VOID);                             // Rings.c
VOID TestCompactStores(VOID);                     // Compact.c
VOID TestOvertakenTallies(_In_ BOOLEAN IsOfTwo);  // Rings.c

VOID TestOvertaking(VOID);                        // Overtaking.c
VOID TestTails(VOID);                             // Overtaking.c

#endif // TRACER_TEST_READER_H

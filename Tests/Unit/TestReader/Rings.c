/*++

Module Name:

    Rings.c

Abstract:

    Stores that keep only the last records: where reading begins, calls whose
    beginning is gone, and sums whose records are overwritten meanwhile.

--*/

#include "TestReader.h"

static union {
    TRACE_STORE_HEADER Header;
    UCHAR Bytes[TEST_RING_FILE];
} TestRing;

_Use_decl_annotations_
VOID
TestMakeRingRecord(
    ULONGLONG Number,
    PTRACE_RECORD Record
    )
{
    Record->Timestamp = TEST_FIRST_TICK + 1 + Number;
    Record->Site = (uint32_t)TEST_MODULE_BASE +
                   (uint32_t)(Number % 4093) * 16;
    Record->StackKind = 0x1FF000 - 8 * (uint32_t)(Number / 2 % 101);
    Record->StackKind |= (Number & 1) != 0 ? TEST_X : TEST_N;
}


//
// Finds a record's place in the file, by counting.
// Returns the file offset.
//

static
ULONG
TestPlaceInRing(
    _In_ ULONGLONG Number
    )
{
    if (Number < TEST_BEFORE_RING) {
        return 4096 + 16 * (ULONG)Number;
    }

    Number -= TEST_BEFORE_RING;
    while (Number >= TEST_IN_SEGMENT * TEST_SEGMENTS) {
        Number -= TEST_IN_SEGMENT * TEST_SEGMENTS;
    }

    return TEST_SEGMENT + 16 * (ULONG)Number;
}


//
// Writes a ring as its writer leaves it: a segment is emptied when its first
// record is due.
// NumberOfRecords: how many were written.
// SizeInBytes: of the file; 0: none is written.
// Returns the number of the first record that is there.
//

static
ULONGLONG
TestWriteRing(
    _In_ ULONGLONG NumberOfRecords,
    _In_ ULONG SizeInBytes
    )
{
    TRACE_RECORD Record;
    ULONGLONG First = 0;
    ULONGLONG Number;
    ULONG Place;

    TestMakeStore(&TestOther, NULL, 0);
    RtlZeroBytes(&TestRing, sizeof(TestRing));
    for (Number = 0; Number < NumberOfRecords; Number++) {

        Place = TestPlaceInRing(Number);
        if (Number >= TEST_BEFORE_RING && Place % TEST_SEGMENT == 0) {

            if (Number >= TEST_BEFORE_RING +
                              TEST_IN_SEGMENT * TEST_SEGMENTS) {
                First = Number - TEST_IN_SEGMENT * (TEST_SEGMENTS - 1);
            }

            RtlZeroBytes(TestRing.Bytes + Place, TEST_SEGMENT);
        }

        TestMakeRingRecord(Number, &Record);
        RtlCopyBytes(TestRing.Bytes + Place, &Record, sizeof(Record));
    }

    TestRing.Header = TestOther.Header;
    TestRing.Header.MinorVersion = 1;
    TestRing.Header.RingFileOffset = TEST_SEGMENT;
    TestRing.Header.RingSizeInBytes = TEST_SEGMENT * TEST_SEGMENTS;
    TestRing.Header.FirstPosition = First == 0 ? 0 : 4096 + 16 * First;
    TestSetEnd(&TestRing.Header, 4096 + 16 * NumberOfRecords);
    if (SizeInBytes != 0) {
        TestWriteStore(L"ring.trace",
                       (const TEST_STORE *)(const VOID *)&TestRing,
                       SizeInBytes);
    }

    return First;
}


//
// Tests that pairing begins anew where records were overtaken: a call that was
// open ends there, and an exit without its entry is unmatched.
//

static
VOID
TestBrokenPairs(
    VOID
    )
{
    RTL_ERROR Error;
    CORE_EVENT Event;
    ULONGLONG First;
    ULONGLONG Count = 0;
    HANDLE File;

    TestWriteRing(3, TEST_RING_FILE);
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error)) ||
        !TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE))) {
        return;
    }

    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventEnter);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventExit);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventEnter);
    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);

    //
    // The writer goes around, and the first record that is left is an exit.
    //

    First = TestWriteRing(TEST_BEFORE_RING + 5 * TEST_IN_SEGMENT + 2, 0);
    TestRing.Bytes[TestPlaceInRing(First) + 12] ^= TEST_N ^ TEST_X;
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_OPEN_ALWAYS,
                               &File));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &TestRing,
                              TEST_RING_FILE));
    RtlClose(TestRtl, File);

    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventOpen);
    TEST_EQUAL(Event.Timestamp, TEST_FIRST_TICK + 3);
    TEST_EQUAL(Event.InclusiveTicks, 0);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventUnmatched);
    TEST_EQUAL(Event.Timestamp, TEST_FIRST_TICK + 1 + First);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventUnmatched);
    while (NT_SUCCESS(CallNextEvent(&TestStream, &Event))) {
        Count += 1;
    }

    TEST_EQUAL(Count, 2 * TEST_IN_SEGMENT);
    TEST_EQUAL(TestStream.Stores[0]->Iterator.NumberOvertaken, First - 3);
    RtlInitializeBufferWriter(&TestErr,
                              TestErrorBuffer,
                              sizeof(TestErrorBuffer));
    CallCloseStream(&TestStream);
    TEST(TestContains(&TestErr, " records were overwritten before they could "
                                "be read\n"));
    SessionCloseSession(&TestSession);
}

_Use_decl_annotations_
BOOLEAN
TestOpenOne(
    PREADER_ITERATOR Iterator
    )
{
    RTL_ERROR Error;

    RtlInitializeBufferWriter(&TestErr,
                              TestErrorBuffer,
                              sizeof(TestErrorBuffer));
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error))) {
        return FALSE;
    }

    if (TEST_SUCCESS(SessionOpenSessionStore(&TestSession,
                                             TestSession.Stores[0])) &&
        TEST_EQUAL(TestSession.Stores[0]->HeaderResult.State,
                   CoreHeaderValid) &&
        TEST_SUCCESS(SessionInitializeIterator(Iterator,
                                               &TestContext,
                                               TestSession.Stores[0]))) {
        return TRUE;
    }

    SessionCloseSession(&TestSession);
    return FALSE;
}


//
// Reads the ring and expects the records of some numbers, and no others.
// End: the number after the last.
//

static
VOID
TestReadRing(
    _In_ ULONGLONG First,
    _In_ ULONGLONG End
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    TRACE_RECORD Expected;
    ULONG Wrong = 0;
    NTSTATUS Status;

    if (!TestOpenOne(&Iterator)) {
        return;
    }

    while (NT_SUCCESS(Status = SessionNextRecord(&Iterator, &Record))) {
        TestMakeRingRecord(First, &Expected);
        if (!RtlAreBytesEqual(Record, &Expected, sizeof(Expected))) {
            Wrong += 1;
        }

        First += 1;
    }

    TEST_STATUS(Status, STATUS_END_OF_FILE);
    TEST_EQUAL(First, End);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
    TEST_EQUAL(Iterator.NumberOvertaken, 0);
    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
}


//
// Tests rings that went around not at all, once and many times; each cut at
// the borders of its segments; and headers of rings that cannot be.
//

VOID
TestRings(
    VOID
    )
{
    static const struct {
        ULONGLONG RingFileOffset;
        ULONGLONG RingSizeInBytes;
        ULONGLONG FirstPosition;
        PCSZ Field;
    } Cases[] = {
        { 0x10000, 0x30000, 0, "" },
        { 0x10000, 0x30000, 0x20000, "" },
        { 0x10000, 0x50000, 0x7770000, "" },
        { 0x80000, 0x400000, 0x100000, "" },
        { 0xFFFF, 0, 7, "" },
        { 0, 0x30000, 0, "RingFileOffset" },
        { 0x8000, 0x30000, 0, "RingFileOffset" },
        { 0x18000, 0x60000, 0, "RingFileOffset" },
        { 0x8000000000000000ULL, 0x30000, 0, "RingFileOffset" },
        { 0x10000, 0x10000, 0, "RingSizeInBytes" },
        { 0x10000, 0x20000, 0, "RingSizeInBytes" },
        { 0x10000, 0x38000, 0, "RingSizeInBytes" },
        { 0x10000, 0x8000000000000000ULL, 0, "RingSizeInBytes" },
        { 0x10000, 0x30000, 0x10000, "FirstPosition" },
        { 0x10000, 0x30000, 0x20010, "FirstPosition" },
        { 0x10000, 0x30000, 4096, "FirstPosition" },
    };
    CORE_HEADER_RESULT Result;
    CORE_RANGE Range;
    ULONGLONG Number;
    ULONGLONG First;
    ULONG Index;
    ULONG Segment;
    LONG Offset;

    TestMakeStore(&TestStore, NULL, 0);
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
        TestStore.Header.RingFileOffset = Cases[Index].RingFileOffset;
        TestStore.Header.RingSizeInBytes = Cases[Index].RingSizeInBytes;
        TestStore.Header.FirstPosition = Cases[Index].FirstPosition;
        TEST_EQUAL(CoreValidateHeader(&TestStore, 4096, &Result),
                   Cases[Index].Field[0] == 0);
        TEST_EQUAL_STRING(Result.Field, Cases[Index].Field);
    }

    TestMakeStore(&TestStore, NULL, 0);
    TestStore.Header.Clock = 3;
    TEST(!CoreValidateHeader(&TestStore, 4096, &Result));
    TEST_EQUAL_STRING(Result.Field, "Clock");

    if (!TestBeginSession()) {
        return;
    }

    //
    // Around every border of a segment, three times around the ring.
    //

    for (Segment = 0; Segment <= 3 * TEST_SEGMENTS + 1; Segment++) {
        for (Offset = -1; Offset <= 1; Offset++) {

            Number = TEST_BEFORE_RING +
                     (ULONGLONG)Segment * TEST_IN_SEGMENT +
                     (ULONGLONG)(LONGLONG)Offset;
            First = TestWriteRing(Number, TEST_RING_FILE);
            TEST_EQUAL(First != 0,
                       Segment + (Offset > 0) > TEST_SEGMENTS);
            TestReadRing(First, Number);
        }
    }

    TestReadRing(First, Number);
    TestWriteRing(0, TEST_RING_FILE);
    TestReadRing(0, 0);
    TestWriteRing(1, TEST_RING_FILE);
    TestReadRing(0, 1);

    //
    // A file that was cut: of a ring that has gone around, the newest records
    // that lie together are left.
    //

    Number = TEST_BEFORE_RING + 4 * TEST_IN_SEGMENT + 100;
    TestWriteRing(Number, 0x10000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT,
                 Number - 100 - TEST_IN_SEGMENT);
    TestWriteRing(Number, 0x20000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT, Number - 100);
    TestWriteRing(Number, 0x30000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT, Number);
    TEST_EQUAL(TestRun("verify @"), 2);
    TEST(TestContains(&TestOut, "the file ends at offset 196608, 65536 bytes "
                                "before the end of its records"));
    TestWriteRing(TEST_BEFORE_RING + 10, 0x10000);
    TestReadRing(0, TEST_BEFORE_RING);

    //
    // A whole one, as the commands show it; and with exits whose entries are
    // gone, which is not damage.
    //

    First = TestWriteRing(Number, TEST_RING_FILE);
    TestReadRing(First, Number);
    TEST_EQUAL(TestRun("verify @"), 0);
    TEST(TestContains(&TestOut, "ring: 12032 older records overwritten\n"));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "recording,0,mode,ring\r\n"));
    TEST(TestContains(&TestOut, "recording,0,ring_bytes,196608\r\n"));
    TEST(TestContains(&TestOut, "recording,0,overwritten,12032\r\n"));
    TEST(TestContains(&TestOut, "session,0,records,8292\r\n"));
    TEST(TestContains(&TestOut, "session,0,bytes,262144\r\n"));
    TEST_EQUAL(First, 12032);

    TestRing.Bytes[TestPlaceInRing(First) + 12] ^= TEST_N ^ TEST_X;
    TestWriteStore(L"ring.trace",
                   (const TEST_STORE *)(const VOID *)&TestRing,
                   TEST_RING_FILE);
    TEST_EQUAL(TestRun("report --limit 1 @"), 0);
    TEST(TestContains(&TestOut, "2 exits had no entry: a ring keeps the "
                                "newest records.\n"));
    TEST_EQUAL(TestErr.LengthInBytes,
               TestContains(&TestErr, "no function names")
                   ? TestErr.LengthInBytes
                   : 0);
    TEST_EQUAL(TestRun("verify @"), 0);

    TestBrokenPairs();
    First = TestWriteRing(Number, 0);

    //
    // Ends that cannot be: before the first record, and farther from it than
    // the ring is long.  The control: the farthest that can be.
    //

    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First - 16,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First + 0x30010,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First + 0x30000,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndValid);
    TestRing.Header.FirstPosition = 0;
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 0x40010, 4096,
                               TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 0x40000, 4096,
                               TEST_RING_FILE, &Range),
               CoreEndValid);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

TEST_TALLIED TestTallied[2];
static BOOLEAN TestIsToOvertake;

//
// The records of the ring, from its first on, from whose time on its writer
// overtakes, and at which that is noticed; each is of a site of its own.
//

#define TEST_OVERTAKE_AT 1400u
#define TEST_NOTICE_AT 1500u
#define TEST_OVERTAKEN_RING (TEST_BEFORE_RING + 4 * TEST_IN_SEGMENT + 100)


//
// Writes the ring into its file, which may be open.
//

static
VOID
TestWriteRingAgain(
    VOID
    )
{
    HANDLE File;

    TEST(TestMakePathIn(&TestPath, &TestSubfolder, L"ring.trace"));
    if (TEST_SUCCESS(RtlCreateFile(TestRtl,
                                   &TestPath.Nt,
                                   RTL_OPEN_ALWAYS,
                                   &File))) {
        TEST_SUCCESS(RtlWriteFile(TestRtl,
                                  File,
                                  0,
                                  &TestRing,
                                  TEST_RING_FILE));
        RtlClose(TestRtl, File);
    }
}


//
// Called while a thread is read: overtakes the reader, once, when it is in its
// second buffer.
//

static
VOID
TestOvertakeTally(
    _In_ PVOID Context
    )
{
    ULONGLONG First = TestRing.Header.FirstPosition;
    PREADER_TALLY Tally = (PREADER_TALLY)Context;

    if (!TestIsToOvertake || Tally->NumberOfRecords < TEST_OVERTAKE_AT) {
        return;
    }

    TEST(Tally->NumberOfRecords < 2048);
    TestIsToOvertake = FALSE;
    TestRing.Header.FirstPosition = First + TEST_SEGMENT;
    RtlZeroBytes(TestRing.Bytes + TestPlaceInRing((First - 4096) / 16),
                 TEST_SEGMENT);
    TestWriteRingAgain();
}

_Use_decl_annotations_
VOID
TestTally(
    BOOLEAN IsGeneral,
    PTEST_TALLIED Tallied
    )
{
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    RTL_ERROR Error;
    ULONG Index;

    RtlZeroBytes(Tallied, sizeof(*Tallied));
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error))) {
        return;
    }

    FunctionInitializeFunctions(&Functions, &TestSession);
    Functions.IsQuiet = TRUE;
    CallInitializeTally(&Tally, &Functions, NULL);
    Tally.IsGeneral = IsGeneral;
    Tally.Progress = TestOvertakeTally;
    Tally.ProgressContext = &Tally;
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TEST_SUCCESS(SumTallyThread(&Tally, 0));

    for (Index = 0; Index < TestSession.NumberOfStores; Index++) {
        Tallied->NumberOvertaken += TestSession.Stores[Index]->NumberOvertaken;
    }

    Tallied->Unmatched = Tally.Unmatched;
    Tallied->NumberOfRecords = Tally.NumberOfRecords;
    Tallied->NumberOfOrdinary = Tally.NumberOfOrdinary;
    Tallied->NumberOfFunctions = Tally.NumberOfFunctions;
    TEST(Tally.NumberOfFunctions <= TEST_TALLY_FUNCTIONS);
    for (Index = 0;
         Index < Tally.NumberOfFunctions && Index < TEST_TALLY_FUNCTIONS;
         Index++) {
        SumMergeStatistics(&Tallied->Statistics[Index], &Tally, Index);
    }

    CallRundownTally(&Tally);
    FunctionRundownFunctions(&Functions);
    SessionCloseSession(&TestSession);
}

_Use_decl_annotations_
VOID
TestCompareTallies(
    VOID
    )
{
    TEST_EQUAL(TestTallied[1].NumberOfOrdinary, 0);
    TestTallied[0].NumberOfOrdinary = 0;
    TEST(RtlAreBytesEqual(&TestTallied[0],
                          &TestTallied[1],
                          sizeof(TestTallied[0])));
    TestTallied[0].Statistics[0].SelfTicks += 1;
    TEST(!RtlAreBytesEqual(&TestTallied[0],
                           &TestTallied[1],
                           sizeof(TestTallied[0])));
}


//
// Tests that report breaks its pairs where a ring overtakes it, whatever way
// it reads.
// IsOfTwo: whether the thread has another module, whose call is around all of
// the ring's.
//

_Use_decl_annotations_
VOID
TestOvertakenTallies(
    BOOLEAN IsOfTwo
    )
{
    static const ULONG EntryStack = 0x1FFF00;
    PTRACE_RECORD Record;
    ULONGLONG First;
    ULONGLONG Number;
    ULONGLONG Unfinished = 0;
    ULONG Way;
    ULONG Index;

    for (Way = 0; Way < 2; Way++) {

        if (!TestBeginSession()) {
            return;
        }

        First = TestWriteRing(TEST_OVERTAKEN_RING, 0);
        for (Number = First; Number < TEST_OVERTAKEN_RING; Number++) {

            Record = (PTRACE_RECORD)(PVOID)(TestRing.Bytes +
                                            TestPlaceInRing(Number));
            Record->Site = (uint32_t)TEST_MODULE_BASE +
                           (uint32_t)(Number / 2 % 7) * 16;
            if ((Number - First) / 2 == TEST_OVERTAKE_AT / 2) {
                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x1000;
            } else if ((Number - First) / 2 == TEST_NOTICE_AT / 2) {
                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x2000;
            } else if (Number == First) {

                //
                // A call that is open for as long as there are records.
                //

                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x3000;
                Record->StackKind = EntryStack | TEST_N;
            } else if (Number == First + 1) {
                Record->StackKind ^= TEST_N ^ TEST_X;
            }
        }

        TestWriteStore(L"ring.trace",
                       (const TEST_STORE *)(const VOID *)&TestRing,
                       TEST_RING_FILE);

        if (IsOfTwo) {
            TestMakeStore(&TestOther, NULL, 0);
            TEST_SET_TEXT(&TestOther.Header,
                          ModulePath,
                          "Q:\\nowhere\\plug.dll");
            TestSetEnd(&TestOther.Header, 4096 + 32);
            for (Index = 0; Index < 2; Index++) {
                TestOther.Records[Index].Site = (uint32_t)TEST_MODULE_BASE;
                TestOther.Records[Index].StackKind =
                    (EntryStack + 0x40) | (Index == 0 ? TEST_N : TEST_X);
            }

            TestOther.Records[0].Timestamp = TEST_FIRST_TICK + First;
            TestOther.Records[1].Timestamp = TEST_FIRST_TICK + 100 +
                                             TEST_OVERTAKEN_RING;
            TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(2));
        }

        TestIsToOvertake = TRUE;
        TestTally(Way == 1, &TestTallied[Way]);
        TEST(!TestIsToOvertake);
    }

    for (Index = 0; Index < TEST_TALLY_FUNCTIONS; Index++) {
        Unfinished += TestTallied[0].Statistics[Index].Unfinished;
    }

    TEST(TestTallied[0].NumberOfOrdinary > 4000);
    TEST_EQUAL(TestTallied[0].NumberOvertaken, TEST_IN_SEGMENT - 2048);
    TEST_EQUAL(TestTallied[0].NumberOfRecords,
               2048 + TEST_IN_SEGMENT + 100 + (IsOfTwo ? 2 : 0));
    TEST_EQUAL(TestTallied[0].NumberOfFunctions, IsOfTwo ? 11 : 10);
    TEST(Unfinished != 0);
    TestCompareTallies();
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

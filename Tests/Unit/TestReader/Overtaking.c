/*++

Module Name:

    Overtaking.c

Abstract:

    Rings whose writer is at work, in another thread, while they are read: what
    it overtakes, and the tails that are read back from.

--*/

#include "TestReader.h"

//
// A store that a thread of this program writes while it is read.
//

typedef struct _TEST_WRITER {
    HANDLE File;
    HANDLE Section;
    PUCHAR View;
    HANDLE Thread;
    ULONG Go;
    ULONG Stop;
    ULONGLONG NumberOfRecords;      // of the file, at the end
    ULONGLONG MinimumDuration;      // ticks
    ULONG Clock;
} TEST_WRITER;
typedef TEST_WRITER *PTEST_WRITER;

static TEST_WRITER TestWriter;

#define TEST_WRITER_FILE 0x400000u


//
// Writes a record as the hook does, after the cursor was advanced.
// Place: in the view; its Timestamp is 0.
//

static
VOID
TestPutRecord(
    _Inout_ PTRACE_RECORD Place,
    _In_ PCTRACE_RECORD Record
    )
{
    RtlStoreRelease32(&Place->Site, Record->Site);
    RtlStoreRelease32(&Place->StackKind, Record->StackKind);
    RtlStoreRelease64(&Place->Timestamp, Record->Timestamp);
}


//
// Goes around a ring until it is told to stop.
// Returns 0.
//

static
ULONG
WINAPI
TestWriteRingLive(
    _In_ PVOID Parameter
    )
{
    PTEST_WRITER Writer = (PTEST_WRITER)Parameter;
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)Writer->View;
    TRACE_RECORD Record;
    ULONGLONG Number = 0;
    ULONG Place = 4096;
    ULONG Index;

    while (RtlLoadAcquire32(&Writer->Stop) == 0) {

        if (Place == TEST_RING_FILE) {
            Place = TEST_SEGMENT;
        }

        if (Place % TEST_SEGMENT == 0) {

            if (Number >= TEST_BEFORE_RING +
                              TEST_IN_SEGMENT * TEST_SEGMENTS) {
                RtlStoreRelease64(
                    &Header->FirstPosition,
                    4096 + 16 * (Number - TEST_IN_SEGMENT *
                                              (TEST_SEGMENTS - 1)));
                for (Index = 0; Index < TEST_SEGMENT; Index += 8) {
                    RtlStoreRelease64((uint64_t *)(PVOID)
                                      (Writer->View + Place + Index), 0);
                }
            }
        }

        TestMakeRingRecord(Number, &Record);
        Number += 1;
        RtlStoreRelease64(&Header->Cursor, 4096 + 16 * Number);
        TestPutRecord((PTRACE_RECORD)(PVOID)(Writer->View + Place), &Record);
        Place += 16;
    }

    Writer->NumberOfRecords = Number;
    return 0;
}


//
// The writer's clock: the counter, or one that a thread would have read now
// and then.
// Returns ticks.
//

static
ULONGLONG
TestWriterNow(
    _In_ const TEST_WRITER *Writer
    )
{
    ULONGLONG Tsc = __rdtsc();

    return Writer->Clock == TRACE_CLOCK_TSC ? Tsc : Tsc & ~0x3FFULL;
}


//
// Makes calls, and takes those back that were short and made none.
// Returns 0.
//

static
ULONG
WINAPI
TestWriteShortCalls(
    _In_ PVOID Parameter
    )
{
    static ULONGLONG Entered[64];
    PTEST_WRITER Writer = (PTEST_WRITER)Parameter;
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)Writer->View;
    PTRACE_RECORD Records = (PTRACE_RECORD)(PVOID)(Header + 1);
    ULONGLONG Count = 0;
    ULONGLONG TakenBack = 0;
    ULONGLONG Start;
    ULONG Random = 1;
    ULONG Depth = 0;
    TRACE_RECORD Record;

    //
    // It begins when its reader does.
    //

    while (RtlLoadAcquire32(&Writer->Go) == 0) {
        TestRtl->NtYieldExecution();
    }

    while (RtlLoadAcquire32(&Writer->Stop) == 0 &&
           Count < (TEST_WRITER_FILE - 4096) / 16 - 2) {

        Random = Random * 1103515245 + 12345;
        Record.Site = (uint32_t)TEST_MODULE_BASE + (Random >> 17) * 2;

        if (Depth == 0 || (Depth < 60 && (Random & 0x10000) != 0)) {

            Record.Timestamp = TestWriterNow(Writer);
            Record.StackKind = (0x1FF000 - Depth * 64) | TEST_N;
            Entered[Depth] = Record.Timestamp;
            Depth += 1;
            RtlStoreRelease64(&Header->Cursor, 4096 + 16 * (Count + 1));
            TestPutRecord(&Records[Count], &Record);
            Count += 1;
            continue;
        }

        Depth -= 1;
        if ((Random & 0xE0000) == 0) {
            Start = __rdtsc();
            while (__rdtsc() - Start < 2 * Writer->MinimumDuration) {
            }
        }

        Record.Timestamp = TestWriterNow(Writer);
        Record.StackKind = (0x1FF000 - Depth * 64) | TEST_X;
        if (Records[Count - 1].StackKind == Record.StackKind - 1 &&
            Record.Timestamp - Entered[Depth] < Writer->MinimumDuration) {
            RtlStoreRelease64(&Records[Count - 1].Timestamp, 0);
            Count -= 1;
            RtlStoreRelease64(&Header->Cursor, 4096 + 16 * Count);
            TakenBack += 1;
            continue;
        }

        RtlStoreRelease64(&Header->Cursor, 4096 + 16 * (Count + 1));
        TestPutRecord(&Records[Count], &Record);
        Count += 1;
    }

    Header->NumberOfCallsTakenBack = TakenBack;
    Writer->NumberOfRecords = Count;
    return 0;
}


//
// Makes a store of this process, maps it and starts its writer.
// SizeInBytes: of the file; TEST_RING_FILE makes a ring of it.
// Clock: TRACE_CLOCK_*.
// MinimumDuration: in ticks.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestBeginWriter(
    _In_ PTHREAD_START_ROUTINE Routine,
    _In_ ULONG SizeInBytes,
    _In_ ULONG Clock,
    _In_ ULONGLONG MinimumDuration
    )
{
    struct {
        LARGE_INTEGER Times[4];
    } Process;
    PTRACE_STORE_HEADER Header;
    NTSTATUS Status;

    RtlZeroBytes(&TestWriter, sizeof(TestWriter));
    if (!TestBeginSession() ||
        !TestMakePathIn(&TestPath, &TestSubfolder, L"live.trace") ||
        !TEST_SUCCESS(TestRtl->NtQueryInformationProcess(
            GetCurrentProcess(),
            RTL_PROCESS_TIMES,
            &Process,
            sizeof(Process),
            NULL)) ||
        !TEST_SUCCESS(RtlCreateFile(TestRtl,
                                    &TestPath.Nt,
                                    RTL_CREATE_ALWAYS,
                                    &TestWriter.File))) {
        return FALSE;
    }

    Status = RtlSetFileSize(TestRtl, TestWriter.File, SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Status = RtlCreateFileSection(TestRtl,
                                      TestWriter.File,
                                      SizeInBytes,
                                      TRUE,
                                      &TestWriter.Section);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(TestRtl,
                                   TestWriter.Section,
                                   0,
                                   SizeInBytes,
                                   TRUE,
                                   NULL,
                                   (PVOID *)&TestWriter.View);
    }

    if (!TEST_SUCCESS(Status)) {
        return FALSE;
    }

    TestMakeStore(&TestOther, NULL, 0);
    Header = &TestOther.Header;
    Header->MinorVersion = 1;
    Header->State = TRACE_STATE_OPEN;
    Header->Reason = TRACE_REASON_NONE;
    Header->ProcessId = GetCurrentProcessId();
    Header->ProcessCreationTime = (ULONGLONG)Process.Times[0].QuadPart;
    Header->Clock = Clock;
    Header->MinimumDuration = MinimumDuration;
    Header->Cursor = 4096;
    Header->CursorToFileOffset = 0;
    if (SizeInBytes == TEST_RING_FILE) {
        Header->RingFileOffset = TEST_SEGMENT;
        Header->RingSizeInBytes = TEST_SEGMENT * TEST_SEGMENTS;
    }

    RtlCopyBytes(TestWriter.View, Header, sizeof(*Header));
    TestWriter.MinimumDuration = MinimumDuration;
    TestWriter.Clock = Clock;
    TestWriter.Thread = CreateThread(NULL, 0, Routine, &TestWriter, 0, NULL);
    return TEST(TestWriter.Thread != NULL);
}


//
// Stops the writer; its view stays.
//

static
VOID
TestStopWriter(
    VOID
    )
{
    LARGE_INTEGER Timeout;

    RtlStoreRelease32(&TestWriter.Go, 1);
    RtlStoreRelease32(&TestWriter.Stop, 1);
    Timeout.QuadPart = -10000000LL * 600;
    TEST_STATUS(TestRtl->NtWaitForSingleObject(TestWriter.Thread,
                                               FALSE,
                                               &Timeout),
                STATUS_SUCCESS);
    RtlClose(TestRtl, TestWriter.Thread);
}


//
// Lets the writer's file go.
//

static
VOID
TestEndWriter(
    VOID
    )
{
    RtlUnmapFileSection(TestRtl, TestWriter.View);
    RtlClose(TestRtl, TestWriter.Section);
    RtlClose(TestRtl, TestWriter.File);
}


//
// Reads a ring whose writer is faster. Every record that is shown is one that
// was written, in order, and those between two that are not next to each other
// are counted.
//

VOID
TestOvertaking(
    VOID
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    TRACE_RECORD Expected;
    LARGE_INTEGER Pause;
    PREADER_STORE Store;
    ULONGLONG Next;
    ULONGLONG Number;
    ULONGLONG Shown = 0;
    ULONGLONG Missing = 0;
    ULONG Gaps = 0;
    ULONG Wrong = 0;
    ULONG Unprotected = 0;
    ULONG Round;
    ULONG Index;
    BOOLEAN IsStopped;

    if (!TestBeginWriter(TestWriteRingLive,
                         TEST_RING_FILE,
                         TRACE_CLOCK_TSC,
                         0) ||
        !TestOpenOne(&Iterator)) {
        return;
    }

    //
    // The last round is after the writer has stopped.
    //

    Store = TestSession.Stores[0];
    Next = (Iterator.BufferPosition - 4096) / 16;
    IsStopped = FALSE;
    for (Round = 0;; Round++) {

        if (Round == 3000 || (Gaps >= 100 && Unprotected != 0)) {
            TestStopWriter();
            IsStopped = TRUE;
        }

        if (!NT_SUCCESS(SessionRefreshStore(&TestContext, Store))) {
            Wrong += 1;
        }

        while (NT_SUCCESS(SessionNextRecord(&Iterator, &Record))) {

            Number = Record->Timestamp - TEST_FIRST_TICK - 1;
            TestMakeRingRecord(Number, &Expected);
            if (!RtlAreBytesEqual(Record, &Expected, sizeof(Expected))) {
                Wrong += 1;
            }

            if (Number != Next) {
                Gaps += 1;
                if (Number < Next || !Iterator.IsAfterGap) {
                    Wrong += 1;
                } else {
                    Missing += Number - Next;
                }
            } else if (Iterator.IsAfterGap) {
                Wrong += 1;
            }

            Next = Number + 1;
            Shown += 1;
        }

        if (IsStopped) {
            break;
        }

        //
        // The control: a copy that is not looked at again has records of
        // another time among it.
        //

        if (Round % 4 == 0) {

            static TRACE_RECORD Copies[TEST_IN_SEGMENT];

            Index = TEST_SEGMENT * (1 + Round / 4 % TEST_SEGMENTS);
            CoreCopyRecords(Copies,
                            (PCTRACE_RECORD)(PVOID)(TestWriter.View + Index),
                            TEST_IN_SEGMENT);
            for (Index = 1; Index < TEST_IN_SEGMENT; Index++) {
                if (Copies[Index].Timestamp != Copies[0].Timestamp + Index) {
                    Unprotected += 1;
                }
            }
        }

        if (Round % 16 == 0) {
            Pause.QuadPart = -10000;
            TestRtl->NtDelayExecution(FALSE, &Pause);
        }
    }

    TEST(Shown != 0);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
    TEST_EQUAL(Missing, Iterator.NumberOvertaken);
    if (Gaps == 0 || Unprotected == 0) {
        TEST_SKIP("the writer never overtook its reader");
    }

    TEST_EQUAL(Next, TestWriter.NumberOfRecords);
    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    TestEndWriter();
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Reads a store whose writer takes calls back. What is shown must be there in
// the end.
// Clock: TRACE_CLOCK_*.
// IsControl: whether the reader takes every record for one that stays: then it
// is expected to be wrong.
// Returns whether a record was shown that is not there in the end.
//

static
BOOLEAN
TestTakenBackLive(
    _In_ ULONG Clock,
    _In_ BOOLEAN IsControl
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    PTRACE_RECORD Shown;
    PCTRACE_RECORD Final;
    PREADER_STORE Store;
    ULONG Capacity = (TEST_WRITER_FILE - 4096) / 16;
    ULONG Count = 0;
    ULONG Wrong = 0;
    ULONG Index;
    ULONG Passes = 0;

    Shown = (PTRACE_RECORD)
        TestHeap->Allocate(TestHeap->Context, Capacity * 16);
    if (!TEST(Shown != NULL) ||
        !TestBeginWriter(TestWriteShortCalls,
                         TEST_WRITER_FILE,
                         Clock,
                         Clock == TRACE_CLOCK_TSC ? 500 : 2000) ||
        !TestOpenOne(&Iterator)) {
        return FALSE;
    }

    TEST_EQUAL(TestSession.ProcessState, ReaderProcessRunning);
    Store = TestSession.Stores[0];
    Store->IsWriterGone = IsControl;

    //
    // Until the file is full, and once more.
    //

    RtlStoreRelease32(&TestWriter.Go, 1);
    for (;;) {

        BOOLEAN IsEnd = RtlLoadAcquire64(&TestWriter.NumberOfRecords) != 0;

        if (!NT_SUCCESS(SessionRefreshStore(&TestContext, Store))) {
            Wrong += 1;
        }

        while (Count < Capacity &&
               NT_SUCCESS(SessionNextRecord(&Iterator, &Record))) {
            Shown[Count] = *Record;
            Count += 1;
        }

        Passes += 1;
        if (IsEnd) {
            break;
        }
    }

    TestStopWriter();
    Final = (PCTRACE_RECORD)(PVOID)(TestWriter.View + 4096);
    for (Index = 0; Index < Count; Index++) {
        if (Index >= TestWriter.NumberOfRecords ||
            !RtlAreBytesEqual(&Shown[Index], &Final[Index], 16)) {
            Wrong += 1;
        }
    }

    TEST(((PCTRACE_STORE_HEADER)(PVOID)TestWriter.View)
             ->NumberOfCallsTakenBack > 1000);
    if (!IsControl) {
        TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
        TEST(Count > TestWriter.NumberOfRecords - 100);
        if (Passes < 100) {
            TEST_SKIP("the writer was faster than its reader");
        }
    }

    Wrong += (ULONG)Iterator.NumberOfBadRecords;

    //
    // The process has gone: everything is there.
    //

    Store->IsWriterGone = TRUE;
    TEST_SUCCESS(SessionRefreshStore(&TestContext, Store));
    TEST_EQUAL(Store->EndOfRecords, 4096 + 16 * TestWriter.NumberOfRecords);

    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    TestEndWriter();
    TestHeap->Free(TestHeap->Context, Shown);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
    return Wrong != 0;
}


//
// Tests that the calls of one module wait for the caller in another module
// that may yet be taken back.
//

static
VOID
TestTailsOfTwo(
    VOID
    )
{
    static const TRACE_RECORD Inner[] = {
        { 5010, 0x2000, 0x1FE000 | TEST_N },
        { 5020, 0x2000, 0x1FE000 | TEST_X },
    };
    static const TRACE_RECORD Outer[] = {
        { 5000, 0x1000, 0x1FF000 | TEST_N },
        { 5200, 0x1000, 0x1FF000 | TEST_X },
    };
    static const ULONGLONG Order[] = { 5000, 5010, 5020, 5200 };
    RTL_ERROR Error;
    CORE_EVENT Event;
    HANDLE File;
    ULONG Index;
    ULONG End;

    //
    // The writer's header is that of a store of this process.
    //

    if (!TestBeginWriter(TestWriteShortCalls,
                         TEST_WRITER_FILE,
                         TRACE_CLOCK_THREAD,
                         100)) {
        return;
    }

    TestStopWriter();
    TestEndWriter();
    TestBeginSession();
    TestStore.Header = TestOther.Header;
    TEST_SET_TEXT(&TestStore.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestSetEnd(&TestStore.Header, 4096 + 32);
    TestSetEnd(&TestOther.Header, 4096 + 16);
    for (Index = 0; Index < 2; Index++) {
        TestStore.Records[Index] = Inner[Index];
        TestStore.Records[Index].Site += (uint32_t)TEST_MODULE_BASE;
        TestOther.Records[Index] = Outer[Index];
        TestOther.Records[Index].Site += (uint32_t)TEST_MODULE_BASE;
    }

    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(2));
    TestWriteStore(L"b.trace", &TestOther, TEST_STORE_SIZE(2));
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error)) ||
        !TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE))) {
        return;
    }

    TEST_EQUAL(TestRun("verify @"), 0);
    TEST(TestContains(&TestOut, "  1 more records may yet be taken back\n"));
    TEST_EQUAL(TestStream.NumberOfStores, 2);
    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);

    TestSetEnd(&TestOther.Header, 4096 + 32);
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_OPEN_ALWAYS,
                               &File));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &TestOther.Header,
                              sizeof(TestOther.Header)));
    RtlClose(TestRtl, File);
    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    for (Index = 0; Index < RTL_NUMBER_OF(Order); Index++) {
        TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
        TEST_EQUAL(Event.Timestamp, Order[Index]);
        TEST_EQUAL(Event.Kind, Index < 2 ? CoreEventEnter : CoreEventExit);
    }

    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);
    CallCloseStream(&TestStream);
    SessionCloseSession(&TestSession);

    //
    // report leaves out what may yet be taken back, whatever way it reads.
    //

    for (End = 1; End <= 2; End++) {
        TestSetEnd(&TestOther.Header, 4096 + 16 * End);
        TestWriteStore(L"b.trace", &TestOther, TEST_STORE_SIZE(2));
        TestTally(FALSE, &TestTallied[0]);
        TestTally(TRUE, &TestTallied[1]);
        TEST_EQUAL(TestTallied[0].NumberOfRecords, End * 2);
        TestCompareTallies();
    }

    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Writes one record after another in the same place until it is told to stop.
// Returns 0.
//

static
ULONG
WINAPI
TestReusePlace(
    _In_ PVOID Parameter
    )
{
    PTRACE_RECORD Place = (PTRACE_RECORD)Parameter;
    TRACE_RECORD Record;
    ULONG Number = 0;

    while (RtlLoadAcquire32(&TestWriter.Stop) == 0) {
        Number += 1;
        Record.Timestamp = Number;
        Record.Site = Number;
        Record.StackKind = Number;
        RtlStoreRelease64(&Place->Timestamp, 0);
        RtlStoreRelease64((uint64_t *)(PVOID)&Place->Site,
                          Record.Site | ((uint64_t)Record.StackKind << 32));
        RtlStoreRelease64(&Place->Timestamp, Record.Timestamp);
    }

    return 0;
}


//
// Tests that no record is made of two that were in one place.
//

static
VOID
TestTornPlaces(
    VOID
    )
{
    static TRACE_RECORD Place;
    TRACE_RECORD Copy;
    ULONG Whole = 0;
    ULONG Torn = 0;
    ULONG Wrong = 0;
    ULONG Try;

    RtlZeroBytes(&TestWriter, sizeof(TestWriter));
    TestWriter.Thread = CreateThread(NULL,
                                     0,
                                     TestReusePlace,
                                     &Place,
                                     0,
                                     NULL);
    if (!TEST(TestWriter.Thread != NULL)) {
        return;
    }

    while (RtlLoadAcquire64(&Place.Timestamp) == 0) {
        TestRtl->NtYieldExecution();
    }

    for (Try = 0; Try < 50000000; Try++) {

        CoreCopyTail(&Copy, &Place, 1);
        if (Copy.Timestamp != 0) {
            Whole += 1;
            if (Copy.Site != (uint32_t)Copy.Timestamp ||
                Copy.StackKind != Copy.Site) {
                Wrong += 1;
            }
        }

        //
        // The control: a copy that takes its time and is not looked at again.
        //

        if (Try % 1024 == 0) {
            Copy.Timestamp = RtlLoadAcquire64(&Place.Timestamp);
            TestRtl->NtYieldExecution();
            Copy.Site = RtlLoadAcquire32(&Place.Site);
            if (Copy.Timestamp != 0 &&
                Copy.Site != (uint32_t)Copy.Timestamp) {
                Torn += 1;
            }
        }

        if (Torn > 100 && Whole > 1000000) {
            break;
        }
    }

    TestStopWriter();
    TEST_EQUAL(Wrong, 0);
    if (Torn == 0 || Whole == 0) {
        TEST_SKIP("no record was seen torn");
    }
}


//
// Tests which of the newest records stay, case by case.
//

VOID
TestTails(
    VOID
    )
{
    //
    // Kinds and time stamps, the oldest first; how many stay where a call of
    // less than 100 ticks is taken back.
    //

    static const struct {
        ULONG Count;
        ULONG Stay;
        ULONG Kinds[5];
        ULONGLONG Timestamps[5];
    } Cases[] = {
        { 0, 0, { 0 }, { 0 } },
        { 1, 0, { TEST_N }, { 5000 } },
        { 1, 1, { TEST_X }, { 5000 } },
        { 3, 2, { TEST_N, TEST_X, TEST_N }, { 5000, 5001, 5002 } },
        { 4, 2, { TEST_NF, TEST_XF, TEST_NF, TEST_NF },
          { 5000, 5000, 5000, 5000 } },
        { 4, 0, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5099 } },
        { 4, 1, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5100 } },
        { 4, 3, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5102 } },
        { 4, 1, { TEST_X, TEST_N, TEST_N, TEST_N }, { 5000, 5001, 0, 5003 } },
        { 3, 1, { TEST_X, TEST_N, TEST_X }, { 5000, 5001, 0 } },
        { 4, 4, { TEST_N, TEST_N, 0, TEST_X }, { 5000, 0, 0, 5001 } },
    };
    TRACE_RECORD Records[5];
    CORE_TAIL Tail;
    ULONG Index;
    ULONG Record;

    TestMakeStore(&TestOther, NULL, 0);
    TestOther.Header.MinimumDuration = 100;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
        for (Record = 0; Record < 5; Record++) {
            Records[Record].Timestamp = Cases[Index].Timestamps[Record];
            Records[Record].StackKind = 0x1000 | Cases[Index].Kinds[Record];
        }

        CoreInitializeTail(&Tail, &TestOther.Header, 6000);
        TEST_EQUAL(CoreCountFinalRecords(&Tail,
                                         Records,
                                         Cases[Index].Count),
                   Cases[Index].Stay);
    }

    //
    // An entry of long ago stays, by the counter; not by a clock thread's,
    // which may have stood still.
    //

    Records[0].Timestamp = 5000;
    Records[0].StackKind = 0x1000 | TEST_N;
    CoreInitializeTail(&Tail,
                       &TestOther.Header,
                       5100 + CORE_TAIL_ALLOWANCE - 1);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);
    CoreInitializeTail(&Tail, &TestOther.Header, 5100 + CORE_TAIL_ALLOWANCE);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 1);
    TestOther.Header.Clock = TRACE_CLOCK_THREAD;
    CoreInitializeTail(&Tail, &TestOther.Header, ~0ULL);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);
    TestOther.Header.Clock = TRACE_CLOCK_NONE;
    CoreInitializeTail(&Tail, &TestOther.Header, ~0ULL);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);

    TestTornPlaces();
    TestTailsOfTwo();
    TEST(!TestTakenBackLive(TRACE_CLOCK_TSC, FALSE));
    TEST(!TestTakenBackLive(TRACE_CLOCK_THREAD, FALSE));
    for (Index = 0;
         Index < 8 && !TestTakenBackLive(TRACE_CLOCK_TSC, TRUE);
         Index++) {
    }

    if (Index == 8) {
        TEST_SKIP("no record that vanished was seen without the rule");
    }
}

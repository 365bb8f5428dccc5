/*++

Module Name:

    Growing.c

Abstract:

    Sessions of several processes' stores, stores that grow while they are read,
    and files that are cut off.

--*/

#include "TestReader.h"

//
// Tests sessions whose stores are not all alike: several modules on one
// thread, an identifier that was used again, a store of another process, one
// store that is bad among others.
//

VOID
TestMixedSessions(
    VOID
    )
{
    static const TRACE_RECORD Outer[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 4000, 0x1100, 0x1FD000 | TEST_N },
        { 5000, 0x1100, 0x1FD000 | TEST_X },
        { 9000, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Inner[] = {
        { 2000, 0x2000, 0x1FE000 | TEST_N },
        { 8000, 0x2000, 0x1FE000 | TEST_X },
    };
    static const TRACE_RECORD Later[] = {
        { 1000020000, 0x2000, 0x1FE000 | TEST_N },
        { 1000020010, 0x2000, 0x1FE000 | TEST_X },
    };

    if (!TestBeginSession()) {
        return;
    }

    TestMakeStore(&TestStore, Outer, RTL_NUMBER_OF(Outer));
    TestWriteStore(L"b.trace", &TestStore, TEST_STORE_SIZE(4));

    //
    // A DLL, loaded elsewhere; called from the EXE, and calling back.
    //

    TestMakeStore(&TestOther, Inner, RTL_NUMBER_OF(Inner));
    TestOther.Header.ModuleBase = 0x7FF800000000ULL;
    TestOther.Records[0].Site -= (uint32_t)TEST_MODULE_BASE;
    TestOther.Records[1].Site -= (uint32_t)TEST_MODULE_BASE;
    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(2));

    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "           [   100] |   plug.dll+0x2000() {\n"
        "  1.000 us [   100] |     app.exe+0x1100();\n"
        "  6.000 us [   100] |   } /* plug.dll+0x2000 */\n"
        "  8.000 us [   100] | } /* app.exe+0x1000 */\n");
    TEST_EQUAL(TestRun("report --csv --module plug @"), 0);
    TEST(TestContains(&TestOut,
                      "\n1,6000,5000,6000,6000,6000,0,0,0,0,0,0,6000,"
                      "6000,6000,6000,,plug.dll,"));
    TEST(!TestContains(&TestOut, "app.exe"));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "  Module            Function\n"));
    TEST(TestContains(&TestOut, "  plug.dll          plug.dll+0x2000\n"));

    //
    // The same identifier after the close is another thread; its store comes
    // first by name.
    //

    TestMakeStore(&TestOther, Later, RTL_NUMBER_OF(Later));
    TestWriteStore(L"0.trace", &TestOther, TEST_STORE_SIZE(2));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "threads,0,stores,2\r\n"));
    TEST(TestContains(&TestOut, "threads,1,stores,1\r\n"));
    TEST(TestContains(&TestOut, "threads,1,start_ns,1000019000\r\n"));

    //
    // Another process's store is no part of this session.
    //

    TestOther.Header.ProcessId += 4;
    TestWriteStore(L"c.trace", &TestOther, TEST_STORE_SIZE(2));
    TEST_EQUAL(TestRun("verify @"), 2);
    TEST(TestContains(&TestOut, "it is of another process ("));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,stores_left_out,1\r\n"));
    TEST(TestContains(&TestErr, "another process"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Appends records to a store as its writer would, and publishes them.
// Store: its header.
// NumberOfRecords: how many it has; updated.
// Records: the records, as for TestMakeStore, with time stamps as they are.
// Count: how many.
//

static
VOID
TestAppend(
    _In_ HANDLE File,
    _Inout_ TEST_STORE *Store,
    _Inout_ PULONG NumberOfRecords,
    _In_ PCTRACE_RECORD Records,
    _In_ ULONG Count
    )
{
    TRACE_RECORD Record;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {
        Record = Records[Index];
        Record.Site += (uint32_t)TEST_MODULE_BASE;
        TEST_SUCCESS(RtlWriteFile(TestRtl,
                                  File,
                                  TEST_STORE_SIZE(*NumberOfRecords),
                                  &Record,
                                  sizeof(Record)));
        *NumberOfRecords += 1;
    }

    TestSetEnd(&Store->Header, TEST_STORE_SIZE(*NumberOfRecords));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &Store->Header,
                              sizeof(Store->Header)));
}


//
// Refreshes TestStream and compares the events that come.
// Horizon: the time stamp to read up to.
//

static
VOID
TestReadEvents(
    _In_ ULONGLONG Horizon,
    _In_z_ PCSZ Expected
    )
{
    CORE_EVENT Event;
    RTL_WRITER Writer;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Writer, TestEventText, sizeof(TestEventText));
    Status = CallRefreshStream(&TestStream, Horizon);
    TEST_SUCCESS(Status);
    while (NT_SUCCESS(Status)) {
        Status = CallNextEvent(&TestStream, &Event);
        if (NT_SUCCESS(Status)) {
            TestWriteEvent(&Writer, &Event);
        }
    }

    TEST_STATUS(Status, STATUS_END_OF_FILE);
    TEST_EQUAL_TEXT(Writer.Buffer, Writer.LengthInBytes, Expected);
}


//
// Tests a store that grows while it is read, that this very process is said to
// write; then one more that its thread begins.
//

VOID
TestGrowing(
    VOID
    )
{
    static const TRACE_RECORD First[] = {
        { 100, 0x1000, 0x1FF000 | TEST_N },
        { 200, 0x2000, 0x1FE000 | TEST_N },
    };
    static const TRACE_RECORD Second[] = {
        { 260, 0x2000, 0x1FE000 | TEST_X },
        { 300, 0x3000, 0x1FE000 | TEST_N },
        { 0, 0, 0 },
    };
    static const TRACE_RECORD Third[] = {
        { 400, 0x3000, 0x1FE000 | TEST_X },
        { 900, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Plugin[] = {
        { 320, 0x4000, 0x1FD000 | TEST_N },
        { 380, 0x4000, 0x1FD000 | TEST_X },
    };
    static RTL_ERROR Error;
    RTL_CLOCK_READING Reading;
    LARGE_INTEGER Times[4];
    HANDLE File;
    ULONG Count = 0;
    ULONG OtherCount = 0;

    if (!TestBeginSession()) {
        return;
    }

    TEST_SUCCESS(TestRtl->NtQueryInformationProcess((HANDLE)(LONG_PTR)-1,
                                                    RTL_PROCESS_TIMES,
                                                    Times,
                                                    sizeof(Times),
                                                    NULL));
    TestMakeStore(&TestStore, NULL, 0);
    TestStore.Header.ProcessId =
        (ULONG)(ULONG_PTR)NtCurrentTeb()->Reserved1[8];
    TestStore.Header.ProcessCreationTime = (ULONGLONG)Times[0].QuadPart;
    TestStore.Header.State = TRACE_STATE_OPEN;
    TestStore.Header.Reason = TRACE_REASON_NONE;
    RtlZeroBytes(&TestStore.Header.LastAnchor, sizeof(TRACE_CLOCK_ANCHOR));
    RtlReadClocks(TestRtl, &Reading);
    TestStore.Header.QpcFrequency = Reading.QpcFrequency;
    TestStore.Header.OpenAnchor.Tsc = Reading.Tsc;
    TestStore.Header.OpenAnchor.Qpc = Reading.Qpc;
    TestStore.Header.OpenAnchor.SystemTime = Reading.SystemTime;
    TestStore.Header.OpenAnchor.Check =
        Reading.Tsc ^ Reading.Qpc ^ Reading.SystemTime;
    TestOther = TestStore;

    //
    // The file begins empty, then has a header without a magic.
    //

    TestMakePathIn(&TestPath, &TestSubfolder, L"a.trace");
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_CREATE_NEW,
                               &File));
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error))) {
        RtlClose(TestRtl, File);
        return;
    }

    TEST_EQUAL(TestSession.NumberOfStores, 1);
    TEST_EQUAL(TestSession.NumberOfValidStores, 0);
    TEST_SUCCESS(RtlSetFileSize(TestRtl, File, 65536));
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfValidStores, 0);

    TestAppend(File, &TestStore, &Count, First, RTL_NUMBER_OF(First));
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfValidStores, 1);
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TEST_EQUAL(SessionQueryProcess(&TestSession), ReaderProcessRunning);
    TEST(TestSession.IsClockRead);
    TEST(CoreQueryTickRate(&TestSession.Clock) != 0);

    TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE));
    TestReadEvents(~0ULL, "+1000 +2000");
    TestReadEvents(~0ULL, "");

    //
    // The horizon holds back what is later; a record that is not written yet
    // waits, and comes when it is.
    //

    TestAppend(File, &TestStore, &Count, Second, RTL_NUMBER_OF(Second));
    TestReadEvents(299, "-2000@1:60/60");
    TestReadEvents(300, "+3000");
    TEST(!CallHasWaitingRecords(&TestStream));

    //
    // The thread's store in another module appears; its records come in
    // between, by time.
    //

    Count -= 1;
    TestAppend(File, &TestStore, &Count, Third, RTL_NUMBER_OF(Third));
    RtlClose(TestRtl, File);

    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestMakePathIn(&TestPath, &TestSubfolder, L"b.trace");
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_CREATE_NEW,
                               &File));
    TestAppend(File, &TestOther, &OtherCount, Plugin, RTL_NUMBER_OF(Plugin));
    RtlClose(TestRtl, File);
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TestReadEvents(500,
                   "+100004000 -100004000@2:60/60 -3000@1:100/40");
    TEST(CallHasWaitingRecords(&TestStream));
    TestReadEvents(~0ULL, "-1000@0:800/640");

    CallCloseStream(&TestStream);
    SessionCloseSession(&TestSession);

    //
    // The commands see the process run, and live ends when it is told to.
    //

    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,state,open\r\n"));
    TEST(TestContains(&TestOut, "session,0,process_running,yes\r\n"));
    TEST_EQUAL(TestRun("live --count 2 --interval 10 @"), 0);
    TEST(TestContains(&TestOut, "1 of 1 threads running, 8 records, 0 new"));
    TEST(!TestContains(&TestOut, "The program"));

    //
    // The control: the same stores of a process that was created at another
    // time.
    //

    TestStore.Header.ProcessCreationTime += 1;
    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(0));
    TestMakePathIn(&TestPath, &TestSubfolder, L"b.trace");
    TEST_SUCCESS(TestDeleteTree(&TestPath));
    TestSetEnd(&TestStore.Header, 4096);
    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(0));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,state,died\r\n"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Cuts a file off under the reader: an error of the store, not of this
// program.
//

VOID
TestCutOff(
    VOID
    )
{
    static RTL_ERROR Error;
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    PREADER_STORE Store;
    HANDLE File;
    ULONG Index;
    NTSTATUS Status;

    if (!TestBeginSession()) {
        return;
    }

    //
    // 8,192 records, in a file that has them.
    //

    TestMakeStore(&TestStore, NULL, 0);
    TestSetEnd(&TestStore.Header, TEST_STORE_SIZE(8192));
    for (Index = 0; Index < TEST_MAXIMUM_RECORDS; Index++) {
        TestStore.Records[Index].Timestamp = Index + 1;
        TestStore.Records[Index].Site = (uint32_t)TEST_MODULE_BASE;
        TestStore.Records[Index].StackKind = 0x1FF000 | TEST_N;
    }

    TestWriteStore(L"a.trace", &TestStore, sizeof(TestStore));
    if (!TEST_SUCCESS(RtlCreateFile(TestRtl,
                                    &TestPath.Nt,
                                    RTL_OPEN_ALWAYS,
                                    &File))) {
        return;
    }

    TEST_SUCCESS(RtlSetFileSize(TestRtl, File, TEST_STORE_SIZE(8192)));
    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error))) {
        RtlClose(TestRtl, File);
        return;
    }

    Store = TestSession.Stores[0];
    TEST_SUCCESS(SessionOpenSessionStore(&TestSession, Store));
    TEST_SUCCESS(SessionInitializeIterator(&Iterator, &TestContext, Store));
    TEST_SUCCESS(SessionNextRecord(&Iterator, &Record));

    Status = RtlSetFileSize(TestRtl, File, 4096);
    if (!NT_SUCCESS(Status)) {
        TEST_SKIP("the system does not cut off a file that is mapped");
    } else {

        do {
            Status = SessionNextRecord(&Iterator, &Record);
        } while (NT_SUCCESS(Status));

        TEST_STATUS(Status, STATUS_IN_PAGE_ERROR);
        TEST_STATUS(Store->Status, STATUS_IN_PAGE_ERROR);
        TEST_EQUAL_STRING(Store->FailedStep, "read the records");
        TEST_EQUAL(Iterator.NumberOfRecords, TEST_MAXIMUM_RECORDS);
    }

    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    RtlClose(TestRtl, File);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// A writer that cuts its file off just before a section of it is made.
//

#define TEST_CUT_FILE 0x10000u
#define TEST_CUT_SIZE 0x1000u

static RTL TestCuttingRtl;
static HANDLE TestCutFile;
static ULONGLONG TestCutLength;
static ULONG TestCutsLeft;
static ULONG TestNumberOfSections;

static
NTSTATUS
NTAPI
TestCutAndCreateSection(
    PHANDLE SectionHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PLARGE_INTEGER MaximumSize,
    ULONG SectionPageProtection,
    ULONG AllocationAttributes,
    HANDLE FileHandle
    )
{
    TestNumberOfSections += 1;
    if (TestCutsLeft != 0) {
        TestCutsLeft -= 1;
        TestCutLength -= TEST_CUT_SIZE;
        TEST_SUCCESS(RtlSetFileSize(TestRtl, TestCutFile, TestCutLength));
    }

    return TestRtl->NtCreateSection(SectionHandle,
                                    DesiredAccess,
                                    ObjectAttributes,
                                    MaximumSize,
                                    SectionPageProtection,
                                    AllocationAttributes,
                                    FileHandle);
}


//
// Makes the file long again, of which the next sections find it cut off.
//

static
VOID
TestBeginCuts(
    _In_ ULONG Cuts
    )
{
    TestCutLength = TEST_CUT_FILE;
    TestCutsLeft = Cuts;
    TestNumberOfSections = 0;
    TEST_SUCCESS(RtlSetFileSize(TestRtl, TestCutFile, TEST_CUT_FILE));
}


//
// Cuts a file off between the question for its size and the section: the
// store is read all the same, unless that happens each time.
//

VOID
TestCutBetween(
    VOID
    )
{
    static const ULONG Cuts[] = { 0, 1, 7, 8, 9 };
    static RTL_ERROR Error;
    PREADER_STORE Store;
    HANDLE File;
    HANDLE Section;
    ULONGLONG Size;
    ULONG Index;

    if (!TestBeginSession()) {
        return;
    }

    TestMakeStore(&TestStore, TestMainRecords, 10);
    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(10));
    if (!TEST_SUCCESS(RtlCreateFile(TestRtl,
                                    &TestPath.Nt,
                                    RTL_OPEN_ALWAYS,
                                    &TestCutFile))) {
        return;
    }

    if (!TEST_SUCCESS(SessionOpenSession(&TestSession,
                                         &TestContext,
                                         TestDosPath(&TestSubfolder),
                                         &Error))) {
        RtlClose(TestRtl, TestCutFile);
        return;
    }

    //
    // The control: the system refuses a section that is made once.
    //

    TestCuttingRtl = *TestRtl;
    TestCuttingRtl.NtCreateSection = TestCutAndCreateSection;
    TestBeginCuts(1);
    if (TEST_SUCCESS(RtlOpenFileForReading(TestRtl, &TestPath.Nt, &File))) {
        TEST_SUCCESS(RtlQueryFileSize(TestRtl, File, &Size));
        TEST_STATUS(RtlCreateFileSection(&TestCuttingRtl,
                                         File,
                                         Size,
                                         FALSE,
                                         &Section),
                    STATUS_SECTION_TOO_BIG);
        RtlClose(TestRtl, File);
    }

    Store = TestSession.Stores[0];
    for (Index = 0; Index < RTL_NUMBER_OF(Cuts); Index++) {

        TestBeginCuts(Cuts[Index]);
        TestContext.Rtl = &TestCuttingRtl;
        if (Cuts[Index] < 8) {

            TEST_SUCCESS(SessionOpenSessionStore(&TestSession, Store));
            TEST_EQUAL(TestNumberOfSections, Cuts[Index] + 1);
            TEST_EQUAL(Store->SectionSize, TestCutLength);
            TEST_EQUAL(Store->EndOfRecords, TEST_STORE_SIZE(10));

        } else {

            TEST_STATUS(SessionOpenSessionStore(&TestSession, Store),
                        STATUS_SECTION_TOO_BIG);
            TEST_EQUAL(TestNumberOfSections, 8);
            TEST_STATUS(Store->Status, STATUS_SECTION_TOO_BIG);
            TEST_EQUAL_STRING(Store->FailedStep, "create a section");
        }

        TestContext.Rtl = TestRtl;
        SessionCloseStore(&TestContext, Store);
    }

    SessionCloseSession(&TestSession);
    RtlClose(TestRtl, TestCutFile);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

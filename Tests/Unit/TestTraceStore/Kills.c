/*++

Module Name:

    Kills.c

Abstract:

    Threads, and workers, that are ended anywhere.

--*/

#include "TestTraceStore.h"

static ULONG volatile TestKillAppended; // records, by such a thread

//
// Process exit, the worker or a traced thread having been killed at the worst
// moment: everything that it had is found, and the file is cut to its records.
// What has come to lie at the address, or has got the handle, of something that
// it had given back stays.
//
// Controls: a system that does not say whose the views are, where the file
// cannot be cut; and one that says of any view that it is the store's, where
// what has come there is lost.
//

#define TEST_KILL_SAYS      0
#define TEST_KILL_SILENT    1
#define TEST_KILL_LIES      2
#define TEST_KILL_KINDS     3

#define TEST_KILL_RECORDS   3000000
#define TEST_KILL_MARK      0x46    // in the first byte of another file
#define TEST_KILL_HANDLES   2000

static
DWORD
WINAPI
TestKillMain(
    PVOID Parameter
    )
{
    PTRACE_STORE Store;

    Store = (PTRACE_STORE)Parameter;
    while (TestKillAppended < TEST_KILL_RECORDS) {
        if (TestAppend(Store, TestKillAppended)) {
            TestKillAppended += 1;
        }
    }
    return 0;
}

//
// Appends until the worker has been stopped.  No view is left before the worker
// is done with the next one: a worker that has been stopped would be waited
// for.
//

static
VOID
TestAppendUntilKilled(
    PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;
    ULONG Tries;

    Header = Store->Header;
    for (Tries = 0;
         !TestKilled && Tries < TEST_PATIENCE &&
         TestKillAppended < TEST_KILL_RECORDS;
         ) {

        if (Header->Cursor ==
            (ULONG_PTR)Store->Current.Base + Store->Current.SizeInBytes &&
            Store->Session->Worker.State == TRACE_WORKER_RUNNING &&
            (*(PBYTE volatile *)&Store->Next.Base == NULL ||
             *(ULONGLONG volatile *)&Store->Next.PreparedInBytes !=
             Store->Next.SizeInBytes)) {

            Sleep(1);
            Tries += 1;
            continue;
        }
        if (TestAppend(Store, TestKillAppended)) {
            TestKillAppended += 1;
        }
    }
}

static
HANDLE
TestCreateOtherSection(
    VOID
    )
{
    return CreateFileMappingW(INVALID_HANDLE_VALUE,
                              NULL,
                              PAGE_READWRITE,
                              0,
                              TRACE_VIEW_MINIMUM_SIZE,
                              NULL);
}

//
// Another section's handle with a value that has been given back.
//

static
HANDLE
TestTakeHandle(
    HANDLE Value
    )
{
    static HANDLE Handles[TEST_KILL_HANDLES];
    HANDLE Taken;
    ULONG Count;
    ULONG Index;

    Taken = NULL;
    for (Count = 0; Count < TEST_KILL_HANDLES && Taken == NULL; Count += 1) {
        Handles[Count] = TestCreateOtherSection();
        if (Handles[Count] == Value) {
            Taken = Value;
        }
    }
    for (Index = 0; Index < Count; Index += 1) {
        if (Handles[Index] != Taken) {
            CloseHandle(Handles[Index]);
        }
    }
    return Taken;
}

static
BOOLEAN
TestIsOtherView(
    PBYTE View
    )
{
    MEMORY_BASIC_INFORMATION Information;

    return VirtualQuery(View, &Information, sizeof(Information)) != 0 &&
           Information.State == MEM_COMMIT &&
           Information.Type == MEM_MAPPED &&
           *(BYTE volatile *)View == TEST_KILL_MARK;
}

static
VOID
TestKill(
    LONG Place,
    BOOLEAN IsWorker,
    ULONG Kind
    )
{
    static RTL Silent;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE Thread;
    HANDLE Other;
    PBYTE OtherView;
    DWORD Flags;
    ULONG Sequence;
    ULONG Tries;
    BOOLEAN IsLeft;
    LONG Index;

    TestNextRoot();
    TestResetCounters();
    TestKillAppended = 0;
    RtlCopyBytes(&Silent, &TestCounting, sizeof(Silent));
    if (Kind == TEST_KILL_SILENT) {
        Silent.NtQueryVirtualMemory = NULL;
    }
    if (!TEST_SUCCESS(TestCreateSession(&Silent,
                                        0,
                                        IsWorker,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }
    Sequence = Store->Header->SequenceNumber;

    TestKillPlace = Place;
    Thread = NULL;
    if (IsWorker) {
        TestAppendUntilKilled(Store);
    } else {
        Thread = CreateThread(NULL, 0, TestKillMain, Store, 0, NULL);
    }
    for (Tries = 0; Tries < TEST_PATIENCE && !TestKilled; Tries += 1) {
        Sleep(1);
    }
    TEST(TestKilled);
    TerminateThread(IsWorker ? Session->Worker.Thread : Thread, 0);
    TEST_EQUAL(WaitForSingleObject(IsWorker ? Session->Worker.Thread : Thread,
                                   TEST_PATIENCE),
               WAIT_OBJECT_0);

    //
    // Somebody else moves in.
    //

    Other = NULL;
    OtherView = NULL;
    if (Place == TEST_KILL_CLOSED) {
        Other = TestTakeHandle(TestKillSection);
        TEST(Other != NULL);
    } else if (Place == TEST_KILL_HINT || Place == TEST_KILL_UNMAPPED) {
        Other = TestCreateOtherSection();
        OtherView = (PBYTE)MapViewOfFileEx(Other,
                                           FILE_MAP_WRITE,
                                           0,
                                           0,
                                           0,
                                           TestKillBase);
        if (TEST(OtherView != NULL)) {
            *OtherView = TEST_KILL_MARK;
        }
    }

    if (Kind == TEST_KILL_LIES) {
        TestMisnamedAs = Store->Header;
    }
    TraceSessionProcessExit(Session, NULL, FALSE);
    TestMisnamedAs = NULL;

    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(TestKillAppended,
                     TRACE_STATE_CLOSED,
                     TRACE_REASON_PROCESS_EXIT);
    TEST((TestContent.FileSize == TestContent.End) ==
         (Kind != TEST_KILL_SILENT));

    if (OtherView != NULL) {
        IsLeft = TestIsOtherView(OtherView);
        TEST(IsLeft == (Kind != TEST_KILL_LIES));
        if (IsLeft) {
            UnmapViewOfFile(OtherView);
        }
        CloseHandle(Other);
    } else if (Other != NULL) {
        IsLeft = GetHandleInformation(Other, &Flags) != FALSE;
        TEST(IsLeft == (Kind != TEST_KILL_LIES));
        if (IsLeft) {
            CloseHandle(Other);
        }
    }
    if (Kind == TEST_KILL_LIES) {
        TestBadCalls = 0;
        TestOpenHandles += Place == TEST_KILL_CLOSED;
    }

    //
    // The control has left what the killed thread had.
    //

    if (Kind == TEST_KILL_SILENT) {
        for (Index = 0; Index < TestNumberOfViews; Index += 1) {
            if (TestViews[Index].Live) {
                TestCounting.NtUnmapViewOfSection((HANDLE)-1,
                                                  TestViews[Index].Base);
            }
        }
        if (Place == TEST_KILL_SECTION || Place == TEST_KILL_HINT ||
            Place == TEST_KILL_MAPPED) {

            TestCounting.NtClose(TestKillSection);
        }
    }

    //
    // A process that ends leaves the worker's handles to the system.
    //

    if (IsWorker) {
        Session->Worker.State = TRACE_WORKER_RUNNING;
    } else {
        CloseHandle(Thread);
    }
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

VOID
TestKills(
    VOID
    )
{
    LONG Place;
    BOOLEAN IsTaken;
    ULONG IsWorker;
    ULONG Kind;

    for (Place = TEST_KILL_SECTION; Place < TEST_KILL_PLACES; Place += 1) {
        IsTaken = Place == TEST_KILL_HINT ||
                  Place == TEST_KILL_CLOSED ||
                  Place == TEST_KILL_UNMAPPED;
        for (Kind = 0; Kind < TEST_KILL_KINDS; Kind += 1) {

            //
            // A view that has been unmapped keeps no file from being cut; and
            // where nobody has moved in, nothing of his can be lost.
            //

            if ((Kind == TEST_KILL_SILENT && Place == TEST_KILL_UNMAPPED) ||
                (Kind == TEST_KILL_LIES && !IsTaken)) {

                continue;
            }
            for (IsWorker = 0; IsWorker < 2; IsWorker += 1) {
                TestKill(Place, (BOOLEAN)IsWorker, Kind);
            }
        }
    }
}

//
// A program that terminates the worker, at any moment: it is not waited for,
// the program's threads do its work, and at the end of the session nothing is
// left, nor taken from somebody else.
//

static
DWORD
WINAPI
TestEndingMain(
    PVOID Parameter
    )
{
    return WaitForSingleObject((HANDLE)Parameter, INFINITE);
}

static
VOID
TestTerminateWorker(
    LONG Place
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE Ending;
    HANDLE Event;
    HANDLE Other;
    DWORD ThreadId;
    DWORD Flags;
    ULONG Sequence;
    ULONG Tries;
    ULONG Last;

    TestNextRoot();
    TestResetCounters();
    TestKillAppended = 0;
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }
    Sequence = Store->Header->SequenceNumber;

    Event = CreateEventW(NULL, TRUE, FALSE, NULL);
    Ending = CreateThread(NULL, 0, TestEndingMain, Event, 0, &ThreadId);
    TestEndingThread = ThreadId;
    TestKillPlace = Place;
    if (Place == TEST_KILL_FORGOTTEN) {
        TestKillAppended = TestAppendMany(Store,
                                          0,
                                          (ULONG)TEST_RECORDS_IN(0x10000) + 1);
        for (Tries = 0;
             Tries < TEST_PATIENCE && Session->Worker.NumberWatched < 2;
             Tries += 1) {

            Sleep(1);
        }
        SetEvent(Event);
    } else {
        TestAppendUntilKilled(Store);
    }
    for (Tries = 0; Tries < TEST_PATIENCE && !TestKilled; Tries += 1) {
        Sleep(1);
    }
    TEST(TestKilled);
    TerminateThread(Session->Worker.Thread, 0);
    TEST_EQUAL(WaitForSingleObject(Session->Worker.Thread, TEST_PATIENCE),
               WAIT_OBJECT_0);

    Other = NULL;
    if (Place == TEST_KILL_CLOSED) {
        Other = TestTakeHandle(TestKillSection);
        TEST(Other != NULL);
    } else if (Place == TEST_KILL_FORGOTTEN) {
        Other = TestTakeHandle(TestKillThread);
        TEST(Other != NULL);
    }

    Last = TestKillAppended + 80000;
    TEST_EQUAL(TestAppendMany(Store, TestKillAppended, Last), 80000);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Last, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TestContent.End);
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();

    if (Other != NULL && TEST(GetHandleInformation(Other, &Flags))) {
        CloseHandle(Other);
    }
    SetEvent(Event);
    TEST_EQUAL(WaitForSingleObject(Ending, TEST_PATIENCE), WAIT_OBJECT_0);
    CloseHandle(Ending);
    CloseHandle(Event);
}

VOID
TestTerminatedWorkers(
    VOID
    )
{
    LONG Place;

    for (Place = TEST_KILL_SECTION; Place <= TEST_KILL_WAITS; Place += 1) {
        TestTerminateWorker(Place);
    }
}

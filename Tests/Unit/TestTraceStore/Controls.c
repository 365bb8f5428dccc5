/*++

Module Name:

    Controls.c

Abstract:

    The control file: actions that arrive at any time, step by step, those that
    nobody finishes, and those that are refused.

--*/

#include "TestTraceStore.h"

//
// The control file.  The owner of a store as the hook and the slow path are.
//

typedef struct _TEST_OWNER {
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    volatile LONG IsOpen;
    volatile LONG Stop;
    volatile ULONG Made;
    volatile ULONG Recorded;
} TEST_OWNER;
typedef TEST_OWNER *PTEST_OWNER;

#define TEST_OWNERS 3

static
BOOLEAN
TestAppendControlled(
    PTRACE_STORE Store,
    ULONG Index
    )
{
    PTRACE_STORE_HEADER Header;
    BOOLEAN IsPaused;

    Header = Store->Header;
    while (Header->Cursor >= *(ULONGLONG volatile *)&Header->Limit) {
        if ((*(ULONG volatile *)&Header->HookFlags &
             TRACE_HOOK_STOPPED) != 0) {

            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
        do {
            IsPaused = TraceControlServe(Store);
            if (!IsPaused) {
                TraceStoreAdvance(Store);
            }
        } while (Store->Attention);
        if (IsPaused && Store->IsPausedSlowly) {
            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
    }

    return TestAppend(Store, Index);
}

static
DWORD
WINAPI
TestOwnerMain(
    PVOID Parameter
    )
{
    PTEST_OWNER Owner;
    RTL_ERROR Error;

    Owner = (PTEST_OWNER)Parameter;
    TEST_SUCCESS(TraceStoreOpen(Owner->Session, &Owner->Store, &Error));
    InterlockedExchange(&Owner->IsOpen, 1);
    while (!Owner->Stop) {
        if (TestAppendControlled(Owner->Store, Owner->Made)) {
            Owner->Recorded += 1;
        }
        Owner->Made += 1;
    }
    return 0;
}

static
VOID
TestAct(
    PTRACE_SESSION Session,
    ULONG Kind
    )
{
    TEST_SUCCESS(TraceControlAppend(Session, Kind, "", 0));
}

//
// How many of the owners recorded some of the calls that each of them makes
// meanwhile.
//

static
ULONG
TestCountRecording(
    PTEST_OWNER Owners
    )
{
    ULONG Made;
    ULONG Recorded;
    ULONG Index;
    ULONG Count;

    Count = 0;
    for (Index = 0; Index < TEST_OWNERS; Index += 1) {
        Made = Owners[Index].Made;
        Recorded = Owners[Index].Recorded;
        while (Owners[Index].Made - Made < 1000) {
            Sleep(0);
        }
        Count += Owners[Index].Recorded != Recorded;
    }
    return Count;
}

static
BOOLEAN
TestDoRecord(
    PTEST_OWNER Owners,
    ULONG Count
    )
{
    ULONGLONG End;

    End = GetTickCount64() + TEST_PATIENCE;
    while (TestCountRecording(Owners) != Count && GetTickCount64() < End) {
        Sleep(0);
    }
    return TestCountRecording(Owners) == Count;
}

//
// Requests from another thread and the worker's own looks, as fast as can be:
// no store misses one, or counts a call twice, or not.
//

VOID
TestControlRaces(
    VOID
    )
{
    TEST_OWNER Owners[TEST_OWNERS];
    HANDLE Threads[TEST_OWNERS];
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    RTL_ERROR Error;
    ULONG Index;
    ULONG Round;

    TestNextRoot();
    TestOptions.ControlSize = TRACE_CONTROL_DEFAULT;
    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = TRACE_MAXIMUM_BYTES_LEAST;
    TEST_SUCCESS(TestCreateSession(TestReal, 0, TRUE, &Session, &Error));
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));

    RtlZeroBytes(Owners, sizeof(Owners));
    for (Index = 0; Index < TEST_OWNERS; Index += 1) {
        Owners[Index].Session = Session;
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      TestOwnerMain,
                                      &Owners[Index],
                                      0,
                                      NULL);
    }
    for (Index = 0; Index < TEST_OWNERS; Index += 1) {
        while (!Owners[Index].IsOpen) {
            Sleep(1);
        }
    }
    TEST(TestDoRecord(Owners, TEST_OWNERS));
    TEST_EQUAL(Session->Worker.State, TRACE_WORKER_RUNNING);

    //
    // Each request counts: the owners follow both ways, every time.
    //

    for (Round = 0; Round < 50; Round += 1) {
        TestAct(Session, TRACE_ACTION_STOP);
        TraceControlPoll(Session);
        if (!TestDoRecord(Owners, 0)) {
            break;
        }
        TestAct(Session, TRACE_ACTION_START);
        TraceControlPoll(Session);
        if (!TestDoRecord(Owners, TEST_OWNERS)) {
            break;
        }
    }
    TEST_EQUAL(Round, 50);

    //
    // And without waiting, with looks that meet the worker's.
    //

    for (Round = 0; Round < 1000; Round += 1) {
        TestAct(Session, Round % 2 == 0 ? TRACE_ACTION_STOP :
                         TRACE_ACTION_CLEAR);
        if (Round % 3 != 0) {
            TraceControlPoll(Session);
        }
        if (Round % 64 == 0) {
            Sleep(1);
        }
        TestAct(Session, TRACE_ACTION_START);
        TraceControlPoll(Session);
    }
    TEST(TestDoRecord(Owners, TEST_OWNERS));

    //
    // The worker alone: it looks every 50 ms.
    //

    TestAct(Session, TRACE_ACTION_STOP);
    TEST(TestDoRecord(Owners, 0));
    TestAct(Session, TRACE_ACTION_START);
    TEST(TestDoRecord(Owners, TEST_OWNERS));

    for (Index = 0; Index < TEST_OWNERS; Index += 1) {
        InterlockedExchange(&Owners[Index].Stop, 1);
        WaitForSingleObject(Threads[Index], INFINITE);
        CloseHandle(Threads[Index]);
        Header = Owners[Index].Store->Header;
        TEST_EQUAL(Header->NumberOfEventsLost, 0);
        TEST_EQUAL(Header->NumberOfEventsPaused,
                   Owners[Index].Made - Owners[Index].Recorded);
        TEST_EQUAL((Header->Cursor + Header->CursorToFileOffset -
                    TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE,
                   Owners[Index].Recorded);
        TEST(Owners[Index].Recorded > 1000 &&
             Header->NumberOfEventsPaused > 1000);
        TEST_EQUAL(Header->NumberOfActions,
                   TRACE_CONTROL_SEEN(Session));
        TEST(Header->ClearTimestamp != 0);
    }
    TEST_EQUAL(Session->ControlLook >> 1, 100 + 2000 + 2);

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
}

//
// One owner, step by step; with a worker and without.
//

VOID
TestControlSteps(
    BOOLEAN WorkerAllowed
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Later;
    PTRACE_STORE_HEADER Header;
    RTL_ERROR Error;
    ULONG Index;
    ULONG Hook;

    TestNextRoot();
    TestResetCounters();
    TestOptions.ControlSize = TRACE_CONTROL_LEAST;
    TEST_SUCCESS(TestCreateSession(&TestCounting,
                                   0,
                                   WorkerAllowed,
                                   &Session,
                                   &Error));
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
    Header = Store->Header;
    TEST(Session->Control != NULL);
    TEST_EQUAL(Session->Control->Magic, TRACE_CONTROL_MAGIC);
    TEST_EQUAL(Session->Control->Capacity, 480);
    TEST_EQUAL(Session->Control->ProcessId, GetCurrentProcessId());
    TEST_EQUAL(Session->Control->Instances[0].ModuleBase,
               (ULONG_PTR)&__ImageBase);
    TEST_EQUAL(TestAppendControlled(Store, 0), TRUE);

    //
    // Where nobody would take the hook's flag away it is not set.
    //

    Hook = TRACE_HOOK_PAUSED | (WorkerAllowed ? TRACE_HOOK_STOPPED : 0);
    TestAct(Session, TRACE_ACTION_STOP);
    TraceControlPoll(Session);
    TEST_EQUAL(Header->Limit, 0);
    TEST_EQUAL(Header->NumberOfActions, 0);
    for (Index = 0; Index < 5; Index += 1) {
        TEST_EQUAL(TestAppendControlled(Store, 1), FALSE);
        TEST_EQUAL(Header->HookFlags, Hook);
    }
    TEST_EQUAL(Header->NumberOfActions, 1);
    TEST_EQUAL(Header->NumberOfEventsLost, 5);
    TEST_EQUAL(Header->NumberOfEventsPaused, 0);

    //
    // A store that begins now begins paused; one that has stopped for good is
    // not started.
    //

    TEST_SUCCESS(TraceStoreOpen(Session, &Later, &Error));
    TEST_EQUAL(Later->Header->HookFlags, Hook);
    TEST_EQUAL(Later->Header->NumberOfActions, 1);
    TEST_EQUAL(TestAppendControlled(Later, 0), FALSE);

    TestAct(Session, TRACE_ACTION_START);
    TestAct(Session, TRACE_ACTION_START);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 1), TRUE);
    TEST_EQUAL(TestAppendControlled(Later, 0), TRUE);
    TEST_EQUAL(Header->HookFlags, 0);
    TEST_EQUAL(Header->NumberOfEventsLost, 0);
    TEST_EQUAL(Header->NumberOfEventsPaused, 5);
    TEST_EQUAL(Later->Header->NumberOfEventsPaused, 1);
    TEST_EQUAL(Store->Floor, (PBYTE)(ULONG_PTR)Header->Cursor -
                             TRACE_RECORD_SIZE);

    TraceStoreStop(Later, TRACE_REASON_INVARIANT, STATUS_INTERNAL_ERROR);
    TestAct(Session, TRACE_ACTION_STOP);
    TestAct(Session, TRACE_ACTION_START);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 2), TRUE);
    TEST_EQUAL(TestAppendControlled(Later, 1), FALSE);
    TEST_EQUAL(Later->Header->HookFlags, TRACE_HOOK_STOPPED);
    TEST_EQUAL(Later->Header->NumberOfEventsLost, 1);

    //
    // What is open while recording is stopped is closed with what it left out.
    //

    TestAct(Session, TRACE_ACTION_STOP);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 3), FALSE);
    TEST_EQUAL(Session->Control->Instances[0].NumberSeen, 6);
    TEST_EQUAL(Session->Control->Instances[0].State & ~TRACE_CONTROL_FOLLOWS,
               TRACE_ACTION_STOP);
    TEST(WorkerAllowed || (Session->Control->Instances[0].State &
                           TRACE_CONTROL_FOLLOWS) == 0);

    //
    // The file grows as far as it is needed, through all the sizes of its
    // pieces, and the next request is carried out.
    //

    for (Index = 6; Index < 100000; Index += 1) {
        TestAct(Session, TRACE_ACTION_MARK);
    }
    TEST_EQUAL(Session->Control->NumberClaimed, 100000);
    TEST_EQUAL(Session->Control->NumberLeftOut, 0);
    TestAct(Session, TRACE_ACTION_START);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 3), TRUE);
    TEST_EQUAL(Header->NumberOfActions, 100001);
    TEST_EQUAL(Session->Control->Capacity, 480);

    //
    // A store that begins does not go through all of that, and begins as it
    // should.
    //

    TEST_SUCCESS(TraceStoreOpen(Session, &Later, &Error));
    TEST_EQUAL(Later->Header->NumberOfActions, 100001);
    TEST_EQUAL(Later->Header->HookFlags, 0);
    TestAct(Session, TRACE_ACTION_STOP);
    for (Index = 0; Index < 10000; Index += 1) {
        TestAct(Session, TRACE_ACTION_MARK);
    }
    TraceControlPoll(Session);
    TEST_SUCCESS(TraceStoreOpen(Session, &Later, &Error));
    TEST_EQUAL(Later->Header->NumberOfActions, 110002);
    TEST_EQUAL(Later->Header->HookFlags & TRACE_HOOK_PAUSED, TRACE_HOOK_PAUSED);
    TEST_EQUAL(TestAppendControlled(Later, 0), FALSE);

    //
    // What the file says of itself and cannot be is refused, and counted.
    //

    Session->Control->NumberClaimed = 0xFFFFFFFF;
    for (Index = 1; Index <= 3; Index += 1) {
        TEST_EQUAL(TraceControlAppend(Session, TRACE_ACTION_START, "", 0),
                   STATUS_FILE_CORRUPT_ERROR);
        TEST_EQUAL(Session->Control->NumberLeftOut, Index);
        TEST_EQUAL(Session->Control->NumberClaimed, 0xFFFFFFFF);
    }
    Session->Control->NumberClaimed = 7;
    TEST_EQUAL(TraceControlAppend(Session, TRACE_ACTION_START, "", 0),
               STATUS_FILE_CORRUPT_ERROR);
    TEST_EQUAL(Session->Control->NumberLeftOut, 4);
    TEST_EQUAL(Session->NumberOfErrorsLogged, !WorkerAllowed + 1);
    TEST_EQUAL(Session->ControlFailed, 0);

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// Places that were given up before their writer came to fill them, as happens
// to one that gets no processor for a second: it takes the next one.
//

#define TEST_PLACES 16

static
VOID
TestGiveUp(
    PTRACE_SESSION Session,
    ULONG First,
    ULONG Count
    )
{
    static const ULONG Kind = TRACE_ACTION_VOID;
    HANDLE File;
    DWORD Written;
    ULONG Index;

    File = CreateFileW(TestSessionPath(Session, L"session.control"),
                       GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    TEST(File != INVALID_HANDLE_VALUE);
    for (Index = First; Index < First + Count; Index += 1) {
        TEST_EQUAL(SetFilePointer(File,
                                  (LONG)(TRACE_CONTROL_HEADER_SIZE +
                                         Index * TRACE_CONTROL_ACTION_SIZE),
                                  NULL,
                                  FILE_BEGIN),
                   TRACE_CONTROL_HEADER_SIZE +
                       Index * TRACE_CONTROL_ACTION_SIZE);
        TEST(WriteFile(File, &Kind, sizeof(Kind), &Written, NULL));
    }
    CloseHandle(File);
}

VOID
TestControlGivenUp(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;

    TestNextRoot();
    TestResetCounters();
    TestOptions.ControlSize = TRACE_CONTROL_LEAST;
    TEST_SUCCESS(TestCreateSession(&TestCounting, 0, FALSE, &Session, &Error));
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
    TEST_EQUAL(TestAppendControlled(Store, 0), TRUE);

    TestGiveUp(Session, 0, TEST_PLACES - 1);
    TestAct(Session, TRACE_ACTION_STOP);
    TEST_EQUAL(Session->Control->NumberClaimed, TEST_PLACES);
    TEST_EQUAL(Session->Control->NumberLeftOut, 0);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 1), FALSE);
    TEST_EQUAL(Store->Header->NumberOfActions, TEST_PLACES);

    //
    // It does not try for ever.
    //

    TestGiveUp(Session, TEST_PLACES, TEST_PLACES);
    TEST_STATUS(TraceControlAppend(Session, TRACE_ACTION_START, "", 0),
                STATUS_IO_TIMEOUT);
    TEST_EQUAL(Session->Control->NumberLeftOut, 1);
    TestAct(Session, TRACE_ACTION_START);
    TraceControlPoll(Session);
    TEST_EQUAL(TestAppendControlled(Store, 1), TRUE);
    TEST_EQUAL(Store->Header->NumberOfActions, 2 * TEST_PLACES + 1);
    TEST_EQUAL(Store->Header->NumberOfEventsPaused, 1);

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// Files that are no control files, and none at all: the stores are recorded as
// ever.
//

VOID
TestControlRefused(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE Directory;
    HANDLE File;
    TRACE_CONTROL Control;
    DWORD Written;
    ULONG Case;

    for (Case = 0; Case < 4; Case += 1) {
        TestNextRoot();
        TestResetCounters();
        TestOptions.ControlSize = Case == 3 ? 0 : TRACE_CONTROL_LEAST;
        TEST_SUCCESS(TestCreateSession(&TestCounting,
                                       0,
                                       TRUE,
                                       &Session,
                                       &Error));
        RtlZeroBytes(&TestOptions, sizeof(TestOptions));
        TEST_SUCCESS(TraceDirectoryOpenSession(Session, &Directory, &Error));

        RtlZeroBytes(&Control, sizeof(Control));
        Control.Magic = Case == 0 ? 1 : TRACE_CONTROL_MAGIC;
        Control.MajorVersion = TRACE_FORMAT_MAJOR + (Case == 1);
        Control.ProcessId = GetCurrentProcessId();
        Control.NumberClaimed = 0xFFFFFFFF;
        Control.Capacity = 0xFFFFFFFF;
        if (Case != 3) {
            File = CreateFileW(TestSessionPath(Session, L"session.control"),
                               GENERIC_WRITE,
                               0,
                               NULL,
                               CREATE_ALWAYS,
                               0,
                               NULL);
            TEST(File != INVALID_HANDLE_VALUE);
            WriteFile(File, &Control, sizeof(Control), &Written, NULL);
            CloseHandle(File);
        }

        TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
        TEST(Session->Control == NULL);
        TEST_EQUAL(Session->ControlFailed, Case != 3);
        TEST_EQUAL(Session->NumberOfErrorsLogged, Case != 3);
        TEST_EQUAL(Session->Worker.State, TRACE_WORKER_NONE);
        TEST_EQUAL(TestAppendMany(Store, 0, 5000), 5000);
        TEST_EQUAL(TraceControlAppend(Session, TRACE_ACTION_STOP, "", 0),
                   STATUS_NOT_FOUND);
        TraceControlPoll(Session);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

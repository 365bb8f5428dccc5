/*++

Module Name:

    Volumes.c

Abstract:

    What stays free of the disk: a store that would take it stops, whatever is
    kept and whoever maps the views, and none stops without need.

--*/

#include "TestTraceStore.h"

//
// With views of at most TEST_SMALL_VIEW a file has 64, 128, 256 and 512 KiB,
// then 768, and 1 MiB with its sixth view.
//

#define VOLUME_KEPT     0x40000000ULL
#define VOLUME_ROOM     0x100000ULL
#define VOLUME_VIEWS    6
#define VOLUME_SIZE     (VOLUME_KEPT * 20)

typedef struct _VOLUME_CASE {
    PCSZ Name;
    ULONGLONG Bytes;                // TRACER_MIN_FREE
    ULONG Percent;
    ULONGLONG Free;
    ULONG Unit;
    NTSTATUS Status;                // of the query
    BOOLEAN IsAbsent;
    BOOLEAN Stops;
} VOLUME_CASE;

static const VOLUME_CASE VolumeCases[] = {
    { "bytes", VOLUME_KEPT, 0, VOLUME_KEPT + VOLUME_ROOM, 8,
      STATUS_SUCCESS, FALSE, TRUE },
    { "a percentage", 0, 5, VOLUME_KEPT + VOLUME_ROOM, 1,
      STATUS_SUCCESS, FALSE, TRUE },
    { "the smaller one, bytes", VOLUME_KEPT, 6, VOLUME_KEPT + VOLUME_ROOM, 128,
      STATUS_SUCCESS, FALSE, TRUE },
    { "the smaller one, a percentage", VOLUME_KEPT * 2, 5,
      VOLUME_KEPT + VOLUME_ROOM, 8, STATUS_SUCCESS, FALSE, TRUE },
    { "less than a view more", VOLUME_KEPT, 0,
      VOLUME_KEPT + VOLUME_ROOM + 0x3F000, 8, STATUS_SUCCESS, FALSE, TRUE },
    { "control: a view more", VOLUME_KEPT, 0,
      VOLUME_KEPT + VOLUME_ROOM + 0x80000, 8, STATUS_SUCCESS, FALSE, FALSE },
    { "control: much is free", VOLUME_KEPT, 5, VOLUME_KEPT * 3, 8,
      STATUS_SUCCESS, FALSE, FALSE },
    { "control: nothing is to stay free", 0, 0, 0, 8,
      STATUS_SUCCESS, FALSE, FALSE },
    { "the system does not tell", VOLUME_KEPT, 5, 0, 8,
      STATUS_INVALID_DEVICE_REQUEST, FALSE, FALSE },
    { "the file system does not know", VOLUME_KEPT, 5, 0, 0,
      STATUS_SUCCESS, FALSE, FALSE },
    { "the system has no such routine", VOLUME_KEPT, 5, 0, 8,
      STATUS_SUCCESS, TRUE, FALSE }
};

static
BOOLEAN
VolumeOpen(
    const VOLUME_CASE *Case,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    )
{
    RTL_ERROR Error;

    TestNextRoot();
    TestResetCounters();
    TestOptions.MinimumFree = Case->Bytes;
    TestOptions.MinimumFreePercent = Case->Percent;
    TestVolumeSize = VOLUME_SIZE;
    TestVolumeFree = Case->Free;
    TestVolumeUnit = Case->Unit;
    if (!NT_SUCCESS(Case->Status)) {
        TestFault.Routine = TestRoutineNtQueryVolumeInformationFile;
        TestFault.Call = 1;
        TestFault.Sticky = TRUE;
        TestFault.Status = Case->Status;
    }
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        TEST_SMALL_VIEW,
                                        Worker,
                                        Session,
                                        &Error))) {
        return FALSE;
    }
    if (Case->IsAbsent) {
        (*Session)->Rtl.NtQueryVolumeInformationFile = NULL;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(*Session, Store, &Error))) {
        TraceSessionDestroy(*Session, TRACE_REASON_MODULE_UNLOAD);
        return FALSE;
    }
    return TRUE;
}

static
BOOLEAN
VolumeCheckStopped(
    PCTRACE_STORE_HEADER Header,
    ULONG Lost
    )
{
    BOOLEAN Passed;

    Passed = TEST_EQUAL(Header->State, TRACE_STATE_STOPPED);
    Passed = TEST_EQUAL(Header->Reason, TRACE_REASON_MINIMUM_FREE) && Passed;
    Passed = TEST_STATUS((NTSTATUS)Header->Status, STATUS_DISK_FULL) && Passed;
    return TEST_EQUAL(Header->NumberOfEventsLost, Lost) && Passed;
}

//
// Stores that keep everything.
//

static
VOID
VolumeTestFiles(
    const VOLUME_CASE *Case,
    BOOLEAN Worker
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Recorded;
    ULONG Made;
    ULONG Sequence;
    LONG Ahead;
    BOOLEAN Passed;

    if (!VolumeOpen(Case, Worker, &Session, &Store)) {
        return;
    }
    Recorded = (ULONG)TEST_RECORDS_IN(VOLUME_ROOM);
    Made = Recorded + 1000;
    if (!Case->Stops) {
        Recorded = Made;
    }

    Passed = TEST_EQUAL(TestAppendMany(Store, 0, Made), Recorded);
    if (Case->Stops) {
        Passed = VolumeCheckStopped(Store->Header, 1000) && Passed;
        Passed = TEST_EQUAL(Session->VolumeKept, VOLUME_KEPT) && Passed;
        Passed = TEST_EQUAL(Session->VolumeFree,
                            Case->Free - VOLUME_ROOM) && Passed;
        Passed = TEST_EQUAL(TestLargestFile, VOLUME_ROOM) && Passed;
    } else {
        Passed = TEST_EQUAL(Store->Header->State, TRACE_STATE_OPEN) && Passed;
        Passed = TEST_EQUAL(Store->Header->NumberOfEventsLost, 0) && Passed;
    }

    //
    // Once for each time that the file grows; nobody asks for what nobody
    // wants to know.
    //

    if (Case->IsAbsent || (Case->Bytes == 0 && Case->Percent == 0)) {
        Passed = TEST_EQUAL(
            TestCalls[TestRoutineNtQueryVolumeInformationFile], 0) && Passed;
    } else if (Case->Stops) {
        Passed = TEST_EQUAL(
            TestCalls[TestRoutineNtQueryVolumeInformationFile],
            VOLUME_VIEWS + 1) && Passed;
    } else {

        //
        // The worker may have asked for a view that it has not mapped yet.
        //

        Ahead = TestCalls[TestRoutineNtQueryVolumeInformationFile] -
                TestNumberOfViews;
        Passed = TEST(Ahead == 0 || (Worker && Ahead == 1)) && Passed;
    }

    Sequence = Store->Header->SequenceNumber;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    Passed = TestCheckContent(Recorded,
                              Case->Stops ? TRACE_STATE_STOPPED :
                                            TRACE_STATE_CLOSED,
                              Case->Stops ? TRACE_REASON_MINIMUM_FREE :
                                            TRACE_REASON_THREAD_EXIT) &&
             Passed;
    if (!Passed) {
        RtlWriteText(TestOutput,
                     "    ... %s, %s\n",
                     Case->Name,
                     Worker ? "worker" : "no worker");
    }
    TestEndSession(Session);
}

//
// A disk that has too little room when a thread makes its first call: the
// store says so and counts.
//

static
VOID
VolumeTestFirst(
    BOOLEAN IsTree
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    VOLUME_CASE Case;

    Case = VolumeCases[0];
    Case.Free = VOLUME_KEPT + 0xFFFF;
    TestOptions.IsTree = IsTree;
    if (!VolumeOpen(&Case, FALSE, &Session, &Store)) {
        return;
    }

    VolumeCheckStopped(Store->Header, 0);
    TEST((Store->Header->HookFlags & TRACE_HOOK_STOPPED) != 0);
    TEST(TestLargestFile <= (IsTree ? 0x100000 : 0x10000));
    if (!IsTree) {
        TEST_EQUAL(TestAppendMany(Store, 0, 77), 0);
        VolumeCheckStopped(Store->Header, 77);
    }
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestEndSession(Session);
}

//
// A ring that has come around and a tree have what they will ever have.
//

static
VOID
VolumeTestRing(
    BOOLEAN Worker
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    VOLUME_CASE Case;
    ULONG Records;

    Case = VolumeCases[0];
    Records = (ULONG)TEST_RECORDS_IN(0x400000);
    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = VOLUME_ROOM;
    if (!VolumeOpen(&Case, Worker, &Session, &Store)) {
        return;
    }
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(Store->Header->State, TRACE_STATE_OPEN);
    TEST_EQUAL(TestCalls[TestRoutineNtQueryVolumeInformationFile], 16);
    TestEndSession(Session);

    //
    // Control: one that has not.
    //

    Case.Free -= 0x10000;
    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = VOLUME_ROOM;
    if (!VolumeOpen(&Case, Worker, &Session, &Store)) {
        return;
    }
    TEST_EQUAL(TestAppendMany(Store, 0, Records), TEST_RECORDS_IN(0xF0000));
    VolumeCheckStopped(Store->Header,
                       Records - (ULONG)TEST_RECORDS_IN(0xF0000));
    TestEndSession(Session);
}

static
VOID
VolumeTestTree(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    VOLUME_CASE Case;

    Case = VolumeCases[0];
    TestOptions.IsTree = TRUE;
    TestOptions.MaximumBytes = VOLUME_ROOM;
    if (!VolumeOpen(&Case, FALSE, &Session, &Store)) {
        return;
    }
    TEST_EQUAL(Store->Header->State, TRACE_STATE_OPEN);
    TEST_EQUAL(TestCalls[TestRoutineNtQueryVolumeInformationFile], 1);
    TEST_EQUAL(TestLargestFile, VOLUME_ROOM);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestEndSession(Session);
}

VOID
TestVolumes(
    VOID
    )
{
    ULONG Index;

    for (Index = 0; Index < 2 * RTL_NUMBER_OF(VolumeCases); Index += 1) {
        VolumeTestFiles(&VolumeCases[Index / 2], Index & 1);
    }
    VolumeTestFirst(FALSE);
    VolumeTestFirst(TRUE);
    VolumeTestRing(FALSE);
    VolumeTestRing(TRUE);
    VolumeTestTree();
}

/*++

Module Name:

    TestTraceStore.c

Abstract:

    Tests the writer of trace stores through its headers: sessions, the files
    they make, views, the worker, and what happens when the system refuses.

    Records are appended by a routine that does what the hook does.  The RTL
    is a copy whose routines count handles, views and memory, and fail when a
    test asks for it.  What a store should hold comes from elsewhere: the
    files are read through kernel32, the process and the module are described
    by kernel32 and by the bytes of this program's own file.

    Takes long in Debug.

--*/

#include "../../TraceStore/TraceAdvance.h"
#include "../../TraceStore/TraceClock.h"
#include "../../TraceStore/TraceControl.h"
#include "../../TraceStore/TraceControlAppend.h"
#include "../../TraceStore/TraceDepth.h"
#include "../../TraceStore/TraceDirectory.h"
#include "../../TraceStore/TraceLog.h"
#include "../../TraceStore/TraceStop.h"
#include "../../TraceStore/TraceStore.h"
#include "../../TraceStore/TraceThread.h"
#include "Test.h"

extern IMAGE_DOS_HEADER __ImageBase;

#define TEST_MAXIMUM_VIEWS 4096
#define TEST_MAXIMUM_FILES 1100
#define TEST_SMALL_VIEW 0x40000

//
// How long is waited for what must happen, milliseconds: another thread may
// have no processor.
//

#define TEST_PATIENCE 300000

#define TEST_RECORDS_IN(SizeInBytes) \
    (((SizeInBytes) - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE)

static PCRTL TestReal;
static RTL TestCounting;
static TEST_PATH TestFolder;
static TEST_PATH TestRoot;
static ULONG TestNumberOfRoots;
static WCHAR TestText[RTL_MAXIMUM_PATH_IN_CHARS];
static CHAR TestUtf8[3 * RTL_MAXIMUM_PATH_IN_CHARS];

//
// The routines that can be made to fail.
//

#define TEST_ROUTINES(ENTRY)                                                \
    ENTRY(NtCreateFile)                                                     \
    ENTRY(NtWriteFile)                                                      \
    ENTRY(NtFlushVirtualMemory)                                             \
    ENTRY(NtSetInformationFile)                                             \
    ENTRY(NtCreateSection)                                                  \
    ENTRY(NtMapViewOfSection)                                               \
    ENTRY(NtAllocateVirtualMemory)                                          \
    ENTRY(NtCreateEvent)                                                    \
    ENTRY(NtGetNextThread)                                                  \
    ENTRY(NtDuplicateObject)                                                \
    ENTRY(NtCreateThreadEx)                                                 \
    ENTRY(NtQueryInformationProcess)                                        \
    ENTRY(NtOpenProcessToken)                                               \
    ENTRY(NtQueryInformationToken)

#define TEST_ROUTINE_NUMBER(Name) TestRoutine##Name,
#define TEST_ROUTINE_NAME(Name) #Name,

enum {
    TEST_ROUTINES(TEST_ROUTINE_NUMBER)
    TestNumberOfRoutines
};

static const PCSZ TestRoutineNames[] = { TEST_ROUTINES(TEST_ROUTINE_NAME) };

//
// Which call fails: the Call-th of Routine, and all after it if Sticky.
// MapReadOnlyCall is the number of a view that is mapped without the right to
// write, so that its pages cannot be had.
//

typedef struct _TEST_FAULT {
    ULONG Routine;
    LONG Call;                      // 0: none
    NTSTATUS Status;
    BOOLEAN Sticky;
    LONG MapReadOnlyCall;           // 0: none
    volatile LONG Fired;
} TEST_FAULT;

static TEST_FAULT TestFault;

//
// A slow disk: the routines that extend, map and unmap take this long on other
// threads than the one that tests.
//

static volatile LONG TestDelayMilliseconds;
static ULONG TestMainThreadId;
static volatile LONG TestCalls[TestNumberOfRoutines];
static volatile LONG TestOpenHandles;
static volatile LONG TestLiveAllocations;
static volatile LONG TestBadCalls;
static ULONG TestAdvances;              // calls of TraceStoreAdvance
static ULONG TestCalled;                // those with room left: the name was
                                        // to be read
static ULONGLONG TestLargestFile;       // bytes that a file was extended to

//
// What the next session is asked for.
//

static TRACE_SESSION_PARAMETERS TestOptions;

//
// The header of the ring that is checked at each write, how often one was over
// records that readers may still take, and the control of that.
//

static PTRACE_STORE_HEADER volatile TestRing;
static volatile LONG TestBadRingWrites;
static BOOLEAN TestForgetsFirstPosition;

//
// What is written to a file is not seen in its views.
//

static BOOLEAN TestSwallowsWrites;

//
// Threads that are not started when that is asked for.
//

static BOOLEAN TestKeepsSuspended;

//
// The processors that the process is said to be allowed.
//

static ULONG_PTR TestProcessors;

//
// Where a thread that maps or unmaps is stopped for good, as the end of a
// process stops it: after the system has made its section, before and after it
// has mapped the view, after it has closed the section's handle, before and
// after it has unmapped a view.  The thread that tests is never stopped.
//

#define TEST_KILL_NOWHERE   0
#define TEST_KILL_SECTION   1
#define TEST_KILL_HINT      2       // the view is to get a certain address
#define TEST_KILL_MAPPED    3
#define TEST_KILL_CLOSED    4
#define TEST_KILL_UNMAP     5
#define TEST_KILL_UNMAPPED  6
#define TEST_KILL_PLACES    7

//
// The worker alone: it has the handle of a thread, it has closed that of a
// thread that has ended, it waits.
//

#define TEST_KILL_FOUND     7
#define TEST_KILL_FORGOTTEN 8
#define TEST_KILL_WAITS     9

static volatile LONG TestKillPlace;
static volatile LONG TestKilled;        // a thread has been stopped
static HANDLE volatile TestKillSection; // the last one that it made
static PVOID volatile TestKillBase;     // what it was to map or unmap
static ULONG volatile TestKillAppended; // records, by such a thread
static ULONG volatile TestEndingThread; // the id of a thread that will end
static HANDLE volatile TestKillThread;  // the handle of that which was found

//
// What the system is made to say of any address: that the file lies there which
// lies here.
//

static PVOID TestMisnamedAs;

typedef struct _TEST_VIEW {
    PVOID Base;
    ULONGLONG FileOffset;
    SIZE_T SizeInBytes;
    volatile LONG Live;
} TEST_VIEW;

static TEST_VIEW TestViews[TEST_MAXIMUM_VIEWS];
static volatile LONG TestNumberOfViews;

static
BOOLEAN
TestIsDue(
    ULONG Routine
    )
{
    LONG Call;

    Call = InterlockedIncrement(&TestCalls[Routine]);
    if (TestFault.Call == 0 || TestFault.Routine != Routine ||
        Call < TestFault.Call ||
        (Call > TestFault.Call && !TestFault.Sticky)) {

        return FALSE;
    }

    InterlockedIncrement(&TestFault.Fired);
    return TRUE;
}

static
VOID
TestDelay(
    VOID
    )
{
    if (TestDelayMilliseconds != 0 &&
        GetCurrentThreadId() != TestMainThreadId) {

        Sleep((ULONG)TestDelayMilliseconds);
    }
}

static
VOID
TestMaybeKill(
    LONG Place,
    PVOID Base
    )
{
    if (TestKillPlace == Place &&
        GetCurrentThreadId() != TestMainThreadId &&
        InterlockedCompareExchange(&TestKillPlace,
                                   TEST_KILL_NOWHERE,
                                   Place) == Place) {

        TestKillBase = Base;
        InterlockedExchange(&TestKilled, 1);
        for (;;) {
            Sleep(1000);
        }
    }
}

static
NTSTATUS
TestCountHandle(
    NTSTATUS Status
    )
{
    if (NT_SUCCESS(Status)) {
        InterlockedIncrement(&TestOpenHandles);
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtCreateFile(
    PHANDLE FileHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatusBlock,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    if (TestIsDue(TestRoutineNtCreateFile)) {
        return TestFault.Status;
    }

    return TestCountHandle(TestReal->NtCreateFile(FileHandle,
                                                  DesiredAccess,
                                                  ObjectAttributes,
                                                  IoStatusBlock,
                                                  AllocationSize,
                                                  FileAttributes,
                                                  ShareAccess,
                                                  CreateDisposition,
                                                  CreateOptions,
                                                  EaBuffer,
                                                  EaLength));
}

static
NTSTATUS
NTAPI
TestNtSetInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatusBlock,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    if (TestIsDue(TestRoutineNtSetInformationFile)) {
        return TestFault.Status;
    }

    TestDelay();

    if (FileInformationClass == RTL_FILE_END_OF_FILE_INFORMATION &&
        TestLargestFile < *(PULONGLONG)FileInformation) {

        TestLargestFile = *(PULONGLONG)FileInformation;
    }

    return TestReal->NtSetInformationFile(FileHandle,
                                          IoStatusBlock,
                                          FileInformation,
                                          Length,
                                          FileInformationClass);
}

static
NTSTATUS
NTAPI
TestNtClose(
    HANDLE Handle
    )
{
    NTSTATUS Status;

    Status = TestReal->NtClose(Handle);
    if (NT_SUCCESS(Status)) {
        InterlockedDecrement(&TestOpenHandles);
    } else {
        InterlockedIncrement(&TestBadCalls);
    }
    if (Handle == TestKillSection) {
        TestMaybeKill(TEST_KILL_CLOSED, NULL);
    }
    if (Handle == TestKillThread) {
        TestMaybeKill(TEST_KILL_FORGOTTEN, NULL);
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtCreateSection(
    PHANDLE SectionHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PLARGE_INTEGER MaximumSize,
    ULONG SectionPageProtection,
    ULONG AllocationAttributes,
    HANDLE FileHandle
    )
{
    NTSTATUS Status;

    if (TestIsDue(TestRoutineNtCreateSection)) {
        return TestFault.Status;
    }

    Status = TestCountHandle(TestReal->NtCreateSection(SectionHandle,
                                                       DesiredAccess,
                                                       ObjectAttributes,
                                                       MaximumSize,
                                                       SectionPageProtection,
                                                       AllocationAttributes,
                                                       FileHandle));
    if (GetCurrentThreadId() != TestMainThreadId) {
        TestKillSection = NT_SUCCESS(Status) ? *SectionHandle : NULL;
    }
    TestMaybeKill(TEST_KILL_SECTION, NULL);
    return Status;
}

//
// What is mapped to be emptied, or written, is given up before.
//

static
VOID
TestCheckRingPlace(
    ULONGLONG FileOffset,
    ULONGLONG SizeInBytes
    )
{
    PTRACE_STORE_HEADER Header;
    ULONGLONG Position;
    ULONGLONG First;
    ULONGLONG End;

    Header = TestRing;
    if (Header == NULL) {
        return;
    }

    First = Header->FirstPosition;
    if (TestForgetsFirstPosition) {
        First = 0;
    }
    End = Header->Cursor + Header->CursorToFileOffset;
    for (Position = FileOffset;
         Position < End;
         Position += Header->RingSizeInBytes) {

        if (Position + SizeInBytes > First) {
            InterlockedIncrement(&TestBadRingWrites);
        }
    }
}

static
NTSTATUS
NTAPI
TestNtMapViewOfSection(
    HANDLE SectionHandle,
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    SIZE_T CommitSize,
    PLARGE_INTEGER SectionOffset,
    PSIZE_T ViewSize,
    ULONG InheritDisposition,
    ULONG AllocationType,
    ULONG Win32Protect
    )
{
    NTSTATUS Status;
    LONG Index;

    if (TestIsDue(TestRoutineNtMapViewOfSection)) {
        return TestFault.Status;
    }

    if (TestFault.MapReadOnlyCall != 0 &&
        TestCalls[TestRoutineNtMapViewOfSection] == TestFault.MapReadOnlyCall) {

        Win32Protect = PAGE_READONLY;
        InterlockedIncrement(&TestFault.Fired);
    }

    if (SectionOffset != NULL) {
        TestCheckRingPlace((ULONGLONG)SectionOffset->QuadPart, *ViewSize);
    }

    if (*BaseAddress != NULL) {
        TestMaybeKill(TEST_KILL_HINT, *BaseAddress);
    }

    Status = TestReal->NtMapViewOfSection(SectionHandle,
                                          ProcessHandle,
                                          BaseAddress,
                                          ZeroBits,
                                          CommitSize,
                                          SectionOffset,
                                          ViewSize,
                                          InheritDisposition,
                                          AllocationType,
                                          Win32Protect);
    if (NT_SUCCESS(Status)) {
        Index = InterlockedIncrement(&TestNumberOfViews) - 1;
        if (Index >= TEST_MAXIMUM_VIEWS) {
            InterlockedIncrement(&TestBadCalls);
            return Status;
        }
        TestViews[Index].Base = *BaseAddress;
        TestViews[Index].FileOffset = (SectionOffset == NULL) ?
            0 : (ULONGLONG)SectionOffset->QuadPart;
        TestViews[Index].SizeInBytes = *ViewSize;
        InterlockedExchange(&TestViews[Index].Live, 1);
    }

    TestMaybeKill(TEST_KILL_MAPPED, *BaseAddress);
    return Status;
}

static
NTSTATUS
NTAPI
TestNtUnmapViewOfSection(
    HANDLE ProcessHandle,
    PVOID BaseAddress
    )
{
    NTSTATUS Status;
    LONG Index;

    TestDelay();
    TestMaybeKill(TEST_KILL_UNMAP, BaseAddress);

    //
    // The view must be one of ours, mapped and not yet unmapped.
    //

    for (Index = 0;
         Index < TestNumberOfViews && Index < TEST_MAXIMUM_VIEWS;
         Index += 1) {

        if (TestViews[Index].Base == BaseAddress &&
            InterlockedCompareExchange(&TestViews[Index].Live, 0, 1) == 1) {

            break;
        }
    }
    if (Index == TestNumberOfViews || Index == TEST_MAXIMUM_VIEWS) {
        InterlockedIncrement(&TestBadCalls);
    }

    Status = TestReal->NtUnmapViewOfSection(ProcessHandle, BaseAddress);
    if (!NT_SUCCESS(Status)) {
        InterlockedIncrement(&TestBadCalls);
    }
    TestMaybeKill(TEST_KILL_UNMAPPED, BaseAddress);
    return Status;
}

static
NTSTATUS
NTAPI
TestNtQueryVirtualMemory(
    HANDLE ProcessHandle,
    PVOID BaseAddress,
    ULONG InformationClass,
    PVOID Information,
    SIZE_T SizeInBytes,
    PSIZE_T ReturnSize
    )
{
    return TestReal->NtQueryVirtualMemory(ProcessHandle,
                                          TestMisnamedAs != NULL ?
                                          TestMisnamedAs : BaseAddress,
                                          InformationClass,
                                          Information,
                                          SizeInBytes,
                                          ReturnSize);
}

static
NTSTATUS
NTAPI
TestNtAllocateVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    NTSTATUS Status;

    if (TestIsDue(TestRoutineNtAllocateVirtualMemory)) {
        return TestFault.Status;
    }

    Status = TestReal->NtAllocateVirtualMemory(ProcessHandle,
                                               BaseAddress,
                                               ZeroBits,
                                               RegionSize,
                                               AllocationType,
                                               Protect);
    if (NT_SUCCESS(Status)) {
        InterlockedIncrement(&TestLiveAllocations);
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtFreeVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG FreeType
    )
{
    NTSTATUS Status;

    Status = TestReal->NtFreeVirtualMemory(ProcessHandle,
                                           BaseAddress,
                                           RegionSize,
                                           FreeType);
    if (NT_SUCCESS(Status)) {
        InterlockedDecrement(&TestLiveAllocations);
    } else {
        InterlockedIncrement(&TestBadCalls);
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtCreateEvent(
    PHANDLE EventHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    ULONG EventType,
    BOOLEAN InitialState
    )
{
    if (TestIsDue(TestRoutineNtCreateEvent)) {
        return TestFault.Status;
    }

    return TestCountHandle(TestReal->NtCreateEvent(EventHandle,
                                                   DesiredAccess,
                                                   ObjectAttributes,
                                                   EventType,
                                                   InitialState));
}

static
NTSTATUS
NTAPI
TestNtOpenProcessToken(
    HANDLE ProcessHandle,
    ACCESS_MASK DesiredAccess,
    PHANDLE TokenHandle
    )
{
    if (TestIsDue(TestRoutineNtOpenProcessToken)) {
        return TestFault.Status;
    }

    return TestCountHandle(TestReal->NtOpenProcessToken(ProcessHandle,
                                                        DesiredAccess,
                                                        TokenHandle));
}

static
NTSTATUS
NTAPI
TestNtQueryInformationToken(
    HANDLE TokenHandle,
    ULONG TokenInformationClass,
    PVOID TokenInformation,
    ULONG TokenInformationLength,
    PULONG ReturnLength
    )
{
    if (TestIsDue(TestRoutineNtQueryInformationToken)) {
        return TestFault.Status;
    }

    return TestReal->NtQueryInformationToken(TokenHandle,
                                             TokenInformationClass,
                                             TokenInformation,
                                             TokenInformationLength,
                                             ReturnLength);
}

static
NTSTATUS
NTAPI
TestNtGetNextThread(
    HANDLE ProcessHandle,
    HANDLE ThreadHandle,
    ACCESS_MASK DesiredAccess,
    ULONG HandleAttributes,
    ULONG Flags,
    PHANDLE NewThreadHandle
    )
{
    NTSTATUS Status;

    if (TestIsDue(TestRoutineNtGetNextThread)) {
        return TestFault.Status;
    }

    Status = TestCountHandle(TestReal->NtGetNextThread(ProcessHandle,
                                                       ThreadHandle,
                                                       DesiredAccess,
                                                       HandleAttributes,
                                                       Flags,
                                                       NewThreadHandle));
    if (NT_SUCCESS(Status)) {
        if (TestEndingThread != 0 &&
            GetThreadId(*NewThreadHandle) == TestEndingThread) {

            TestKillThread = *NewThreadHandle;
        }
        TestMaybeKill(TEST_KILL_FOUND, NULL);
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtWaitForMultipleObjects(
    ULONG Count,
    HANDLE *Handles,
    ULONG WaitType,
    BOOLEAN Alertable,
    PLARGE_INTEGER Timeout
    )
{
    TestMaybeKill(TEST_KILL_WAITS, NULL);
    return TestReal->NtWaitForMultipleObjects(Count,
                                              Handles,
                                              WaitType,
                                              Alertable,
                                              Timeout);
}

static
NTSTATUS
NTAPI
TestNtDuplicateObject(
    HANDLE SourceProcessHandle,
    HANDLE SourceHandle,
    HANDLE TargetProcessHandle,
    PHANDLE TargetHandle,
    ACCESS_MASK DesiredAccess,
    ULONG HandleAttributes,
    ULONG Options
    )
{
    if (TestIsDue(TestRoutineNtDuplicateObject)) {
        return TestFault.Status;
    }

    return TestCountHandle(TestReal->NtDuplicateObject(SourceProcessHandle,
                                                       SourceHandle,
                                                       TargetProcessHandle,
                                                       TargetHandle,
                                                       DesiredAccess,
                                                       HandleAttributes,
                                                       Options));
}

static
NTSTATUS
NTAPI
TestNtCreateThreadEx(
    PHANDLE ThreadHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    HANDLE ProcessHandle,
    PVOID StartRoutine,
    PVOID Argument,
    ULONG CreateFlags,
    SIZE_T ZeroBits,
    SIZE_T StackSize,
    SIZE_T MaximumStackSize,
    PVOID AttributeList
    )
{
    if (TestIsDue(TestRoutineNtCreateThreadEx)) {
        return TestFault.Status;
    }

    return TestCountHandle(TestReal->NtCreateThreadEx(ThreadHandle,
                                                      DesiredAccess,
                                                      ObjectAttributes,
                                                      ProcessHandle,
                                                      StartRoutine,
                                                      Argument,
                                                      CreateFlags,
                                                      ZeroBits,
                                                      StackSize,
                                                      MaximumStackSize,
                                                      AttributeList));
}

static
NTSTATUS
NTAPI
TestNtQueryInformationProcess(
    HANDLE Handle,
    ULONG InformationClass,
    PVOID Information,
    ULONG Length,
    PULONG ReturnLength
    )
{
    NTSTATUS Status;

    if (TestIsDue(TestRoutineNtQueryInformationProcess)) {
        return TestFault.Status;
    }

    Status = TestReal->NtQueryInformationProcess(Handle,
                                                 InformationClass,
                                                 Information,
                                                 Length,
                                                 ReturnLength);
    if (NT_SUCCESS(Status) &&
        InformationClass == RTL_PROCESS_BASIC_INFORMATION) {

        ((PULONG_PTR)Information)[2] = TestProcessors;
    }

    return Status;
}

//
// A clock that does not depend on the machine's speed: TestClockStep counts go
// by from one reading to the next.
//

static LONGLONG volatile TestClock = 1000;
static LONG volatile TestClockStep = 1;

//
// Nor is what preparing a view took by the machine's speed, where it decides:
// it is set when a store's clocks are read, which comes before the decision.
//

#define TEST_SLOW_TICKS     (1ULL << 40)

static PTRACE_STORE TestPacedStore;
static ULONGLONG TestPacedTicks;

static
NTSTATUS
NTAPI
TestNtQueryPerformanceCounter(
    _Out_ PLARGE_INTEGER Counter,
    _Out_opt_ PLARGE_INTEGER Frequency
    )
{
    Counter->QuadPart = InterlockedExchangeAdd64(&TestClock, TestClockStep);
    if (Frequency != NULL) {
        Frequency->QuadPart = 10000000;
    }
    if (TestPacedStore != NULL) {
        TestPacedStore->Current.PrepareTicks = TestPacedTicks;
        TestPacedStore->Current.LongestTicks = TestPacedTicks;
    }
    return STATUS_SUCCESS;
}

//
// How long the zeroes over a view took, and which view that was.
//

static ULONGLONG TestWriteTicks;
static LONG TestWriteView;

//
// Zeroes over a part of a ring: no reader may still take what lies there.
//

static
NTSTATUS
NTAPI
TestNtWriteFile(
    HANDLE FileHandle,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatusBlock,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    NTSTATUS Status;
    ULONGLONG Ticks;

    if (TestIsDue(TestRoutineNtWriteFile)) {
        return TestFault.Status;
    }

    TestCheckRingPlace((ULONGLONG)ByteOffset->QuadPart, Length);

    if (TestSwallowsWrites) {
        IoStatusBlock->Information = Length;
        return STATUS_SUCCESS;
    }

    Ticks = __rdtsc();
    Status = TestReal->NtWriteFile(FileHandle,
                                   Event,
                                   ApcRoutine,
                                   ApcContext,
                                   IoStatusBlock,
                                   Buffer,
                                   Length,
                                   ByteOffset,
                                   Key);
    if (TestWriteView != TestNumberOfViews) {
        TestWriteView = TestNumberOfViews;
        TestWriteTicks = 0;
    }
    TestWriteTicks += __rdtsc() - Ticks;
    return Status;
}

//
// Only a view that is there can be written to the disk.
//

static
NTSTATUS
NTAPI
TestNtFlushVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    PIO_STATUS_BLOCK IoStatus
    )
{
    LONG Index;

    for (Index = 0; Index < TestNumberOfViews; Index += 1) {
        if (TestViews[Index].Live && TestViews[Index].Base == *BaseAddress &&
            TestViews[Index].FileOffset != 0 && *RegionSize == 0) {

            break;
        }
    }
    if (Index == TestNumberOfViews) {
        InterlockedIncrement(&TestBadCalls);
    }

    if (TestIsDue(TestRoutineNtFlushVirtualMemory)) {
        return TestFault.Status;
    }

    return TestReal->NtFlushVirtualMemory(ProcessHandle,
                                          BaseAddress,
                                          RegionSize,
                                          IoStatus);
}

static
NTSTATUS
NTAPI
TestNtResumeThread(
    HANDLE ThreadHandle,
    PULONG PreviousSuspendCount
    )
{
    return TestKeepsSuspended ? STATUS_SUCCESS :
           TestReal->NtResumeThread(ThreadHandle, PreviousSuspendCount);
}

static
VOID
TestMakeCountingRtl(
    VOID
    )
{
    RtlCopyBytes(&TestCounting, TestReal, sizeof(TestCounting));
    TestCounting.NtCreateFile = TestNtCreateFile;
    TestCounting.NtSetInformationFile = TestNtSetInformationFile;
    TestCounting.NtClose = TestNtClose;
    TestCounting.NtCreateSection = TestNtCreateSection;
    TestCounting.NtMapViewOfSection = TestNtMapViewOfSection;
    TestCounting.NtUnmapViewOfSection = TestNtUnmapViewOfSection;
    TestCounting.NtQueryVirtualMemory = TestNtQueryVirtualMemory;
    TestCounting.NtAllocateVirtualMemory = TestNtAllocateVirtualMemory;
    TestCounting.NtFreeVirtualMemory = TestNtFreeVirtualMemory;
    TestCounting.NtCreateEvent = TestNtCreateEvent;
    TestCounting.NtOpenProcessToken = TestNtOpenProcessToken;
    TestCounting.NtQueryInformationToken = TestNtQueryInformationToken;
    TestCounting.NtGetNextThread = TestNtGetNextThread;
    TestCounting.NtWaitForMultipleObjects = TestNtWaitForMultipleObjects;
    TestCounting.NtDuplicateObject = TestNtDuplicateObject;
    TestCounting.NtCreateThreadEx = TestNtCreateThreadEx;
    TestCounting.NtQueryInformationProcess = TestNtQueryInformationProcess;
    TestCounting.NtQueryPerformanceCounter = TestNtQueryPerformanceCounter;
    TestCounting.NtWriteFile = TestNtWriteFile;
    TestCounting.NtFlushVirtualMemory = TestNtFlushVirtualMemory;
    TestCounting.NtResumeThread = TestNtResumeThread;
}

//
// Forgets what was counted and takes the fault away.
//

static
VOID
TestResetCounters(
    VOID
    )
{
    RtlZeroBytes(&TestFault, sizeof(TestFault));
    RtlZeroBytes((PVOID)TestCalls, sizeof(TestCalls));
    RtlZeroBytes(TestViews, sizeof(TestViews));
    TestNumberOfViews = 0;
    TestOpenHandles = 0;
    TestLiveAllocations = 0;
    TestBadCalls = 0;
    TestDelayMilliseconds = 0;
    TestLargestFile = 0;
    TestBadRingWrites = 0;
    TestKillPlace = TEST_KILL_NOWHERE;
    TestKilled = 0;
    TestKillSection = NULL;
    TestKillBase = NULL;
    TestEndingThread = 0;
    TestKillThread = NULL;
    TestMisnamedAs = NULL;
}

static
LONG
TestCountLiveViews(
    VOID
    )
{
    LONG Index;
    LONG Count;

    Count = 0;
    for (Index = 0;
         Index < TestNumberOfViews && Index < TEST_MAXIMUM_VIEWS;
         Index += 1) {

        Count += TestViews[Index].Live;
    }
    return Count;
}

//
// Everything that was had has been given back, once.
//

static
BOOLEAN
TestCheckBalance(
    VOID
    )
{
    BOOLEAN Passed;

    Passed = TEST_EQUAL(TestOpenHandles, 0);
    Passed = TEST_EQUAL(TestCountLiveViews(), 0) && Passed;
    Passed = TEST_EQUAL(TestLiveAllocations, 0) && Passed;
    return TEST_EQUAL(TestBadCalls, 0) && Passed;
}

//
// A new, empty folder for sessions; the one before it is deleted.
//

static
VOID
TestNextRoot(
    VOID
    )
{
    WCHAR Name[16];
    ULONG Number;
    ULONG Length;

    if (TestNumberOfRoots != 0) {
        TestDeleteTree(&TestRoot);
    }
    TestNumberOfRoots += 1;

    Length = RTL_NUMBER_OF(Name) - 1;
    Name[Length] = L'\0';
    for (Number = TestNumberOfRoots; Number != 0; Number /= 10) {
        Length -= 1;
        Name[Length] = (WCHAR)(L'0' + Number % 10);
    }
    TestMakePathIn(&TestRoot, &TestFolder, Name + Length);
}

static
NTSTATUS
TestCreateSession(
    PCRTL Rtl,
    ULONGLONG MaximumViewSize,
    BOOLEAN WorkerAllowed,
    PTRACE_SESSION *Session,
    PRTL_ERROR Error
    )
{
    TRACE_SESSION_PARAMETERS Parameters;
    PCWSTR Root;

    Root = TestDosPath(&TestRoot);
    Parameters = TestOptions;
    Parameters.ModuleBase = &__ImageBase;
    RtlPointUnicodeString(&Parameters.RootDirectory,
                          Root,
                          RtlLengthOfWideString(Root));
    Parameters.MaximumViewSize = MaximumViewSize;
    Parameters.WorkerAllowed = WorkerAllowed;
    return TraceSessionCreate(Rtl, &Parameters, Session, Error);
}

//
// What the Index-th record of a test holds.
//

static
uint32_t
TestSite(
    ULONG Index
    )
{
    return (uint32_t)(ULONG_PTR)&__ImageBase + 0x1000 + Index % 0x1000;
}

static
uint32_t
TestStackKind(
    ULONG Index
    )
{
    return (Index << 3) | TRACE_KIND_ENTER;
}

//
// Appends one record as the hook does.  FALSE: it was counted as lost.
//

static
BOOLEAN
TestAppend(
    PTRACE_STORE Store,
    ULONG Index
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;

    Header = Store->Header;
    while (Header->Cursor >= Header->Limit) {
        if ((Header->HookFlags & TRACE_HOOK_STOPPED) != 0) {
            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
        TestAdvances += 1;
        if (Header->Cursor <
            (ULONG_PTR)Store->Current.Base + Store->Current.PreparedInBytes) {

            TestCalled += 1;
        }
        TraceStoreAdvance(Store);
    }

    Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease64(&Header->Cursor, Header->Cursor + TRACE_RECORD_SIZE);
    RtlStoreRelease32(&Record->Site, TestSite(Index));
    RtlStoreRelease32(&Record->StackKind, TestStackKind(Index));
    RtlStoreRelease64(&Record->Timestamp, __rdtsc());
    return TRUE;
}

//
// Appends records First to Limit - 1; returns how many were recorded.
//

static
ULONG
TestAppendMany(
    PTRACE_STORE Store,
    ULONG First,
    ULONG Limit
    )
{
    ULONG Index;
    ULONG Recorded;

    Recorded = 0;
    for (Index = First; Index < Limit; Index += 1) {
        if (TestAppend(Store, Index)) {
            Recorded += 1;
        }
    }
    return Recorded;
}

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

static TEST_CONTENT TestContent;

static
BOOLEAN
TestReadStore(
    PCWSTR Path,
    PTEST_CONTENT Content
    )
{
    HANDLE File;
    HANDLE Mapping;
    PBYTE View;
    LARGE_INTEGER Size;
    PCTRACE_RECORD Records;
    ULONGLONG Index;
    ULONGLONG Last;

    RtlZeroBytes(Content, sizeof(*Content));
    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (File == INVALID_HANDLE_VALUE) {
        return FALSE;
    }

    View = NULL;
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    if (Mapping != NULL) {
        View = (PBYTE)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(Mapping);
    }
    if (View == NULL || !GetFileSizeEx(File, &Size) ||
        Size.QuadPart < TRACE_HEADER_SIZE) {

        CloseHandle(File);
        return FALSE;
    }

    Content->FileSize = (ULONGLONG)Size.QuadPart;
    RtlCopyBytes(&Content->Header, View, sizeof(Content->Header));
    Content->End = Content->Header.Cursor + Content->Header.CursorToFileOffset;
    if ((Content->Header.Generation & 1) != 0) {
        Content->End = Content->Header.ViewFileOffset;
    }

    if (Content->End >= TRACE_HEADER_SIZE &&
        Content->End <= Content->FileSize) {

        Content->NumberOfRecords =
            (Content->End - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE;
        Records = (PCTRACE_RECORD)(View + TRACE_HEADER_SIZE);
        Last = 1;
        for (Index = 0; Index < Content->NumberOfRecords; Index += 1) {
            if (Records[Index].Site != TestSite((ULONG)Index) ||
                Records[Index].StackKind != TestStackKind((ULONG)Index) ||
                Records[Index].Timestamp < Last) {

                break;
            }
            Last = Records[Index].Timestamp;
        }
        Content->NumberOfGoodRecords = Index;

        Content->TailIsZero = TRUE;
        for (Last = Content->End; Last < Content->FileSize; Last += 1) {
            if (View[Last] != 0) {
                Content->TailIsZero = FALSE;
            }
        }
    }

    UnmapViewOfFile(View);
    CloseHandle(File);
    return TRUE;
}

//
// The names of the files of a session that end in Suffix.
//

static WCHAR TestFileNames[TEST_MAXIMUM_FILES][128];

static
PCWSTR
TestSessionPath(
    PTRACE_SESSION Session,
    PCWSTR Name
    )
{
    ULONG Length;
    ULONG Index;

    //
    // The NT path without \??\ is the DOS path.
    //

    Length = Session->Directory.Length / sizeof(WCHAR) - 4;
    RtlCopyBytes(TestText,
                 Session->Directory.Buffer + 4,
                 Length * sizeof(WCHAR));
    TestText[Length] = L'\\';
    Length += 1;
    for (Index = 0; Name[Index] != L'\0'; Index += 1) {
        TestText[Length + Index] = Name[Index];
    }
    TestText[Length + Index] = L'\0';
    return TestText;
}

static
ULONG
TestListFiles(
    PTRACE_SESSION Session,
    PCWSTR Pattern
    )
{
    WIN32_FIND_DATAW Data;
    HANDLE Find;
    ULONG Count;
    ULONG Length;

    Count = 0;
    Find = FindFirstFileW(TestSessionPath(Session, Pattern), &Data);
    if (Find == INVALID_HANDLE_VALUE) {
        return 0;
    }
    do {
        Length = RtlLengthOfWideString(Data.cFileName);
        if (Count < TEST_MAXIMUM_FILES &&
            Length < RTL_NUMBER_OF(TestFileNames[0])) {

            RtlCopyBytes(TestFileNames[Count],
                         Data.cFileName,
                         (Length + 1) * sizeof(WCHAR));
            Count += 1;
        }
    } while (FindNextFileW(Find, &Data));
    FindClose(Find);
    return Count;
}

//
// Reads the store of a session whose file has a sequence number.
//

static
BOOLEAN
TestReadSessionStore(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    PTEST_CONTENT Content
    )
{
    ULONG Count;
    ULONG Index;

    Count = TestListFiles(Session, L"*.trace");
    for (Index = 0; Index < Count; Index += 1) {
        if (TestReadStore(TestSessionPath(Session, TestFileNames[Index]),
                          Content) &&
            Content->Header.SequenceNumber == SequenceNumber) {

            return TRUE;
        }
    }
    return FALSE;
}

//
// A closed store that holds the test's records, and is as long as they are.
//

static
BOOLEAN
TestCheckContent(
    ULONGLONG NumberOfRecords,
    ULONG State,
    ULONG Reason
    )
{
    BOOLEAN Passed;

    Passed = TEST_EQUAL(TestContent.Header.Magic, TRACE_STORE_MAGIC);
    Passed = TEST_EQUAL(TestContent.NumberOfRecords, NumberOfRecords) &&
             Passed;
    Passed = TEST_EQUAL(TestContent.NumberOfGoodRecords, NumberOfRecords) &&
             Passed;
    Passed = TEST_EQUAL(TestContent.Header.State, State) && Passed;
    Passed = TEST_EQUAL(TestContent.Header.Reason, Reason) && Passed;
    return TEST(TestContent.TailIsZero) && Passed;
}

static
BOOLEAN
TestIsAnchorValid(
    PCTRACE_CLOCK_ANCHOR Anchor
    )
{
    return Anchor->Check ==
           (Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime) &&
           Anchor->Tsc != 0;
}

//
// The clocks, read through kernel32.
//

static
VOID
TestReadClocks(
    PRTL_CLOCK_READING Reading
    )
{
    LARGE_INTEGER Value;
    FILETIME Time;

    QueryPerformanceFrequency(&Value);
    Reading->QpcFrequency = (ULONGLONG)Value.QuadPart;
    QueryPerformanceCounter(&Value);
    Reading->Qpc = (ULONGLONG)Value.QuadPart;
    GetSystemTimeAsFileTime(&Time);
    Reading->SystemTime =
        ((ULONGLONG)Time.dwHighDateTime << 32) | Time.dwLowDateTime;
    Reading->Tsc = __rdtsc();
}

static
VOID
TestCheckAnchor(
    PCTRACE_CLOCK_ANCHOR Anchor,
    const RTL_CLOCK_READING *Before,
    const RTL_CLOCK_READING *After
    )
{
    TEST(TestIsAnchorValid(Anchor));
    TEST(Before->Tsc <= Anchor->Tsc && Anchor->Tsc <= After->Tsc);
    TEST(Before->Qpc <= Anchor->Qpc && Anchor->Qpc <= After->Qpc);

    //
    // The system's time may be as coarse as a clock interrupt, and differently
    // so in different routines: 20 ms.
    //

    TEST(Before->SystemTime <= Anchor->SystemTime + 200000 &&
         Anchor->SystemTime <= After->SystemTime + 200000);
}

//
// A text of a header with a wide text that kernel32 converted.
//

static
VOID
TestCheckHeaderText(
    PCWSTR Expected,
    const CHAR *Actual,
    ULONG Length,
    ULONG FullLength,
    ULONG Capacity
    )
{
    int Size;

    Size = WideCharToMultiByte(CP_UTF8,
                               0,
                               Expected,
                               -1,
                               TestUtf8,
                               sizeof(TestUtf8),
                               NULL,
                               NULL);
    TEST(Size > 1);
    TEST_EQUAL(FullLength, Size - 1);
    TEST_EQUAL(Length, FullLength < Capacity ? FullLength : Capacity);
    TEST_EQUAL_BYTES(Actual, TestUtf8, Length);
}

//
// A session and its first store: names, states, files.
//

static
VOID
TestLifeOfAStore(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE File;
    ULONG Sequence;
    PCWSTR Path;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }

    //
    // Nothing is touched before there is something to record.
    //

    TEST_EQUAL(GetFileAttributesW(TestDosPath(&TestRoot)),
               INVALID_FILE_ATTRIBUTES);
    TEST_EQUAL(TestOpenHandles, 0);

    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }
    TEST_EQUAL(TestListFiles(Session, L"*"), 3);        // . .. and the store
    TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1);
    TEST_EQUAL(Store->Header->State, TRACE_STATE_OPEN);
    TEST_EQUAL(Store->Header->Reason, TRACE_REASON_NONE);
    TEST_EQUAL(TestAppendMany(Store, 0, 10), 10);
    Sequence = Store->Header->SequenceNumber;

    //
    // While it is open: a reader that shares writing gets in and sees all; one
    // that does not share it, and one that wants to write, do not.
    //

    TestListFiles(Session, L"*.trace");
    Path = TestSessionPath(Session, TestFileNames[0]);
    TEST(TestReadStore(Path, &TestContent));
    TestCheckContent(10, TRACE_STATE_OPEN, TRACE_REASON_NONE);
    TEST_EQUAL(TestContent.FileSize, 0x10000);

    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    TEST(File == INVALID_HANDLE_VALUE);
    File = CreateFileW(Path,
                       GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    TEST(File == INVALID_HANDLE_VALUE);

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(10, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + 160);
    TEST_EQUAL(TestContent.Header.NumberOfEventsLost, 0);
    TEST_EQUAL(TestContent.Header.NumberOfViewChanges, 0);
    TEST(TestIsAnchorValid(&TestContent.Header.LastAnchor));

    //
    // Closing once more does nothing; the memory is used again.
    //

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestOpenHandles, 1);                     // the directory
    TEST_EQUAL(TestCountLiveViews(), 0);

    //
    // A store without a record.
    //

    if (TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TEST_EQUAL(Store->Header->SequenceNumber, Sequence + 1);
        TraceStoreClose(Store, TRACE_REASON_MODULE_UNLOAD);
        TEST(TestReadSessionStore(Session, Sequence + 1, &TestContent));
        TestCheckContent(0, TRACE_STATE_CLOSED, TRACE_REASON_MODULE_UNLOAD);
        TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE);
    }

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// Finds this program's CodeView entry in the bytes of its file.
//

static
const UCHAR *
TestFindCodeView(
    const UCHAR *Bytes,
    ULONG SizeInBytes
    )
{
    ULONG Index;
    ULONG End;

    for (Index = 0; Index + 32 < SizeInBytes; Index += 1) {
        if (Bytes[Index] == 'R' && Bytes[Index + 1] == 'S' &&
            Bytes[Index + 2] == 'D' && Bytes[Index + 3] == 'S') {

            End = Index + 24;
            while (End < SizeInBytes && Bytes[End] >= ' ') {
                End += 1;
            }
            if (End > Index + 28 && Bytes[End] == 0 &&
                RtlAreBytesEqual(Bytes + End - 4, ".pdb", 4)) {

                return Bytes + Index;
            }
        }
    }
    return NULL;
}

static
VOID
TestHeaderFields(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    RTL_CLOCK_READING Times[4];
    FILETIME Created, Exited, Kernel, User;
    ULONGLONG CreationTime;
    MEMORY_BASIC_INFORMATION Memory;
    ULONG_PTR Address;
    ULONG_PTR Low;
    ULONG_PTR High;
    HANDLE File;
    HANDLE Mapping;
    const UCHAR *Bytes;
    const UCHAR *Entry;
    ULONG Size;
    ULONG NtHeaders;
    HRESULT (WINAPI *SetName)(HANDLE, PCWSTR);
    PTRACE_STORE_HEADER Header;

    SetName = (PVOID)GetProcAddress(GetModuleHandleW(L"kernel32.dll"),
                                    "SetThreadDescription");
    if (SetName != NULL) {
        SetName(GetCurrentThread(), L"M\x00fchle \xd83d\xde00");
    } else {
        TEST_SKIP("this system has no SetThreadDescription");
    }

    TestNextRoot();
    TestReadClocks(&Times[0]);
    if (!TEST_SUCCESS(TestCreateSession(TestReal,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }
    TestReadClocks(&Times[1]);
    TestAppendMany(Store, 0, 3);
    Size = Store->Header->SequenceNumber;
    TestReadClocks(&Times[2]);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestReadClocks(&Times[3]);
    TEST(TestReadSessionStore(Session, Size, &TestContent));
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);

    Header = &TestContent.Header;
    TEST_EQUAL(Header->MajorVersion, 1);
    TEST_EQUAL(Header->MinorVersion, 4);
    TEST_EQUAL(Header->HeaderSize, 4096);
    TEST_EQUAL(Header->RecordSize, 16);
    TEST_EQUAL(Header->Flags & TRACE_FLAG_TSC_INVARIANT,
               TestReal->CpuFeatures.InvariantTsc);

    //
    // The process and the thread.
    //

    TEST_EQUAL(Header->ProcessId, GetCurrentProcessId());
    TEST_EQUAL(Header->ThreadId, GetCurrentThreadId());
    TEST(GetProcessTimes(GetCurrentProcess(),
                         &Created,
                         &Exited,
                         &Kernel,
                         &User));
    CreationTime = ((ULONGLONG)Created.dwHighDateTime << 32) |
                   Created.dwLowDateTime;
    TEST_EQUAL(Header->ProcessCreationTime, CreationTime);

    Address = (ULONG_PTR)&Session;
    TEST(Header->StackLimit < Address && Address < Header->StackBase);
    VirtualQuery((PVOID)Address, &Memory, sizeof(Memory));
    TEST_EQUAL(Header->StackLimit, (ULONG_PTR)Memory.AllocationBase);
    TEST_EQUAL(Header->StackBase,
               (ULONG_PTR)Memory.BaseAddress + Memory.RegionSize);

    TestCheckHeaderText(GetCommandLineW(),
                        Header->CommandLine,
                        Header->CommandLineLength,
                        Header->CommandLineFullLength,
                        sizeof(Header->CommandLine));
    GetModuleFileNameW(NULL, TestText, RTL_NUMBER_OF(TestText));
    TestCheckHeaderText(TestText,
                        Header->ModulePath,
                        Header->ModulePathLength,
                        Header->ModulePathFullLength,
                        sizeof(Header->ModulePath));
    TestCheckHeaderText(TestText,
                        Header->ProcessPath,
                        Header->ProcessPathLength,
                        Header->ProcessPathFullLength,
                        sizeof(Header->ProcessPath));
    if (SetName != NULL) {
        if (Header->ThreadNameLength == 0) {
            TEST_SKIP("this system keeps no thread names");
        } else {
            TEST_EQUAL_TEXT(Header->ThreadName,
                            Header->ThreadNameLength,
                            "M\xc3\xbchle \xf0\x9f\x98\x80");
            TEST_EQUAL(Header->ThreadNameFullLength, 11);
        }
    }

    //
    // The module: its size is what the system mapped, the rest is in the
    // bytes of the file.
    //

    Low = (ULONG_PTR)GetModuleHandleW(NULL);
    TEST_EQUAL(Header->ModuleBase, Low);
    High = Low;
    while (VirtualQuery((PVOID)High, &Memory, sizeof(Memory)) != 0 &&
           (ULONG_PTR)Memory.AllocationBase == Low) {

        High = (ULONG_PTR)Memory.BaseAddress + Memory.RegionSize;
    }
    TEST_EQUAL(Header->ModuleSize, High - Low);

    File = CreateFileW(TestText,
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    Size = GetFileSize(File, NULL);
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    Bytes = (const UCHAR *)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
    if (TEST(Bytes != NULL)) {
        NtHeaders = *(const ULONG *)(Bytes + 0x3c);
        TEST_EQUAL(Header->ModuleTimeDateStamp,
                   *(const ULONG *)(Bytes + NtHeaders + 8));
        TEST_EQUAL(Header->ModuleCheckSum,
                   *(const ULONG *)(Bytes + NtHeaders + 24 + 64));
        Entry = TestFindCodeView(Bytes, Size);
        if (TEST(Entry != NULL)) {
            TEST_EQUAL_BYTES(Header->CodeViewGuid, Entry + 4, 16);
            TEST_EQUAL(Header->CodeViewAge, *(const ULONG *)(Entry + 20));
            TEST_EQUAL_TEXT(Header->PdbPath,
                            Header->PdbPathLength,
                            (PCSZ)(Entry + 24));
            TEST_EQUAL(Header->PdbPathFullLength, Header->PdbPathLength);
        }
        UnmapViewOfFile(Bytes);
    }
    CloseHandle(Mapping);
    CloseHandle(File);

    //
    // The clocks.
    //

    TEST_EQUAL(Header->QpcFrequency, Times[0].QpcFrequency);
    TestCheckAnchor(&Header->OpenAnchor, &Times[0], &Times[1]);
    TestCheckAnchor(&Header->LastAnchor, &Times[2], &Times[3]);
    TEST(Header->OpenAnchor.Tsc < Header->LastAnchor.Tsc);

    if (SetName != NULL) {
        SetName(GetCurrentThread(), L"");
    }
}

//
// An anchor that is half written must not look valid, whatever it held before.
//

static
VOID
TestAnchors(
    VOID
    )
{
    TRACE_CLOCK_ANCHOR Anchor;
    RTL_CLOCK_READING Reading;

    RtlZeroBytes(&Anchor, sizeof(Anchor));
    Reading.Tsc = 0x1111222233334444;
    Reading.Qpc = 0x5555;
    Reading.SystemTime = 0x01d9000000000000;
    TraceStoreSetAnchor(&Anchor, &Reading);
    TEST(TestIsAnchorValid(&Anchor));
    TEST_EQUAL(Anchor.Tsc, 0x1111222233334444);
    TEST_EQUAL(Anchor.Qpc, 0x5555);
    TEST_EQUAL(Anchor.SystemTime, 0x01d9000000000000);

    Anchor.Qpc += 1;
    TEST(!TestIsAnchorValid(&Anchor));
    TraceStoreSetAnchor(&Anchor, &Reading);
    TEST(TestIsAnchorValid(&Anchor));
}

//
// The session directory is <exe>-<pid>-<creation time, UTC>, the file
// <module>-<tid>-<sequence>.trace.
//

static
VOID
TestNames(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_SESSION Second;
    PTRACE_STORE Stores[3];
    RTL_ERROR Error;
    RTL_WRITER Writer;
    FILETIME Created, Exited, Kernel, User;
    SYSTEMTIME Time;
    UNICODE_STRING Base;
    HANDLE File;
    ULONG Sequence;
    ULONG Index;
    ULONG Length;
    CHAR Expected[300];
    WCHAR Wide[300];

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error)) ||
        !TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Second,
                                        &Error))) {
        return;
    }

    GetProcessTimes(GetCurrentProcess(), &Created, &Exited, &Kernel, &User);
    FileTimeToSystemTime(&Created, &Time);
    RtlInitializeBufferWriter(&Writer, Expected, sizeof(Expected));
    RtlWriteText(&Writer,
                 "TestTraceStore.exe-%u-%04u%02u%02u-%02u%02u%02u-%03u",
                 GetCurrentProcessId(),
                 Time.wYear,
                 Time.wMonth,
                 Time.wDay,
                 Time.wHour,
                 Time.wMinute,
                 Time.wSecond,
                 Time.wMilliseconds);
    RtlUtf8ToWide(Expected, Writer.LengthInBytes, Wide, 299, &Length);
    Wide[Length] = L'\0';
    RtlBaseName(&Session->Directory, &Base);
    TEST_EQUAL_WIDE(Base.Buffer, Base.Length / sizeof(WCHAR), Wide);

    //
    // Two module instances arrive at the same directory and keep out of each
    // other's files, even with the same numbers to begin with.
    //

    TEST_EQUAL(Session->Directory.Length, Second->Directory.Length);
    TEST_EQUAL_BYTES(Session->Directory.Buffer,
                     Second->Directory.Buffer,
                     Session->Directory.Length);

    Session->NextSequenceNumber = 500;
    Second->NextSequenceNumber = 500;
    Stores[0] = NULL;
    Stores[1] = NULL;
    Stores[2] = NULL;
    TEST_SUCCESS(TraceStoreOpen(Session, &Stores[0], &Error));
    TEST_SUCCESS(TraceStoreOpen(Second, &Stores[1], &Error));
    if (Stores[0] == NULL || Stores[1] == NULL) {
        goto End;
    }
    TEST_EQUAL(Stores[0]->Header->SequenceNumber, 500);
    TEST_EQUAL(Stores[1]->Header->SequenceNumber, 501);

    //
    // Files with the next three names are there already and stay as they are.
    //

    for (Sequence = 501; Sequence < 505; Sequence += 1) {
        RtlInitializeBufferWriter(&Writer, Expected, sizeof(Expected));
        RtlWriteText(&Writer,
                     "TestTraceStore.exe-%u-%u.trace",
                     GetCurrentThreadId(),
                     Sequence);
        RtlUtf8ToWide(Expected, Writer.LengthInBytes, Wide, 299, &Length);
        Wide[Length] = L'\0';
        File = CreateFileW(TestSessionPath(Session, Wide),
                           GENERIC_WRITE,
                           0,
                           NULL,
                           CREATE_NEW,
                           0,
                           NULL);

        //
        // 501 is the second session's.
        //

        TEST_EQUAL(File == INVALID_HANDLE_VALUE, Sequence == 501);
        if (File != INVALID_HANDLE_VALUE) {
            CloseHandle(File);
        }
    }
    TEST_SUCCESS(TraceStoreOpen(Session, &Stores[2], &Error));
    if (Stores[2] != NULL) {
        TEST_EQUAL(Stores[2]->Header->SequenceNumber, 505);
    }
    TEST_EQUAL(TestListFiles(Session, L"*.trace"), 6);

    for (Index = 0; Index < 3; Index += 1) {
        TestAppendMany(Stores[Index], 0, 100 + Index);
    }

End:

    TraceSessionDestroy(Second, TRACE_REASON_MODULE_UNLOAD);
    TEST(TestReadSessionStore(Session, 501, &TestContent));
    TestCheckContent(101, TRACE_STATE_CLOSED, TRACE_REASON_MODULE_UNLOAD);
    TEST(TestReadSessionStore(Session, 500, &TestContent));
    TestCheckContent(100, TRACE_STATE_OPEN, TRACE_REASON_NONE);

    //
    // The directory's name is in memory that the session frees.
    //

    TestSessionPath(Session, L"*.trace");
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();

    //
    // When every name is taken, the search ends.
    //

    TestNextRoot();
    TestResetCounters();
    if (TEST_SUCCESS(TestCreateSession(&TestCounting,
                                       0,
                                       FALSE,
                                       &Session,
                                       &Error))) {

        TEST_SUCCESS(TraceSessionOpenDirectory(Session, &File, &Error));
        TestFault.Routine = TestRoutineNtCreateFile;
        TestFault.Status = STATUS_OBJECT_NAME_COLLISION;
        TestFault.Call = TestCalls[TestRoutineNtCreateFile] + 1;
        TestFault.Sticky = TRUE;
        TEST_STATUS(TraceStoreOpen(Session, &Stores[0], &Error),
                    STATUS_OBJECT_NAME_COLLISION);
        TEST(TestFault.Fired >= 100 && TestFault.Fired <= 10000);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// Views: sizes, offsets and addresses, without a worker.
//

static
VOID
TestViewSizes(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Records;
    ULONG Sequence;
    LONG Index;
    ULONGLONG Expected;
    ULONGLONG Offset;

    static const ULONGLONG Sizes[] = {
        0x10000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000,
        0x400000, 0x400000, 0x400000
    };

    TEST_EQUAL(TraceViewNextSize(0x10000, 0x10000, 0), 0x10000);
    TEST_EQUAL(TraceViewNextSize(0x20000, 0x10000, UINT64_MAX), 0x10000);
    TEST_EQUAL(TraceViewNextSize(0x80000, 0x2000000, UINT64_MAX), 0x80000);
    TEST_EQUAL(TraceViewNextSize(0x4000000, 0x2000000, UINT64_MAX), 0x2000000);

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0x400000,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }

    //
    // To the last record of the ninth view, and one into the tenth.
    //

    Expected = 0;
    for (Index = 0; Index < 9; Index += 1) {
        Expected += Sizes[Index];
    }
    Records = (ULONG)TEST_RECORDS_IN(Expected);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 8);
    TEST_EQUAL(TestNumberOfViews, 9);
    TEST_EQUAL(Store->Header->Generation, 16);
    TEST_EQUAL(TestCountLiveViews(), 2);
    TEST(TestAppend(Store, Records));
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 9);
    TEST_EQUAL(Store->Header->ViewFileOffset, Expected);
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 9);
    TEST_EQUAL(TestCountLiveViews(), 2);
    TEST(TestIsAnchorValid(&Store->Header->LastAnchor));
    TEST(Store->Header->InlineTicks >= Store->Header->MaximumInlineTicks);
    TEST(Store->Header->MaximumInlineTicks > 0);

    Offset = 0;
    for (Index = 0;
         Index < TestNumberOfViews && Index < (LONG)RTL_NUMBER_OF(Sizes);
         Index += 1) {

        TEST_EQUAL(TestViews[Index].FileOffset, Offset);
        TEST_EQUAL(TestViews[Index].SizeInBytes, Sizes[Index]);
        if (Sizes[Index] >= 0x200000) {
            TEST_EQUAL(Offset % Sizes[Index], 0);
            TEST_EQUAL((ULONG_PTR)TestViews[Index].Base % 0x200000,
                       Offset % 0x200000);
        }
        Offset += Sizes[Index];
    }

    //
    // The limit never passes what has been prepared.
    //

    TEST(Store->Header->Limit <=
         (ULONG_PTR)Store->Current.Base + Store->Current.PreparedInBytes);
    TEST(Store->Current.PreparedInBytes < Store->Current.SizeInBytes);

    Sequence = Store->Header->SequenceNumber;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records + 1,
                     TRACE_STATE_CLOSED,
                     TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize,
               TRACE_HEADER_SIZE + (Records + 1) * 16ull);

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// One run in which a call fails: open a store, append, open another one,
// close, destroy.  Whatever fails, the reason is right, what was recorded is
// there, what was not is counted, and nothing is left behind.
//

typedef struct _TEST_RUN {
    ULONGLONG MaximumViewSize;
    ULONG NumberOfRecords;
    BOOLEAN Worker;
} TEST_RUN;
typedef const TEST_RUN *PCTEST_RUN;

//
// What the runs of one routine came to, to see that each outcome was met.
//

typedef struct _TEST_OUTCOMES {
    ULONG NoSession;
    ULONG NoStore;
    ULONG Stopped;
    ULONG Completed;
} TEST_OUTCOMES;

static TEST_OUTCOMES TestOutcomes;

static
BOOLEAN
TestCheckStopped(
    PTRACE_STORE_HEADER Header,
    ULONG Routine,
    NTSTATUS Status,
    ULONG Lost
    )
{
    ULONG Reason;
    BOOLEAN Passed;

    switch (Routine) {
    case TestRoutineNtSetInformationFile:
        Reason = TRACE_REASON_EXTEND_FAILED;
        break;
    case TestRoutineNtWriteFile:
    case TestNumberOfRoutines:
        Reason = TRACE_REASON_PAGE_FAILED;
        break;
    default:
        Reason = TRACE_REASON_MAP_FAILED;
        break;
    }

    Passed = TEST_EQUAL(Header->State, TRACE_STATE_STOPPED);
    Passed = TEST_EQUAL(Header->Reason, Reason) && Passed;
    Passed = TEST_EQUAL(Header->Status, (ULONG)Status) && Passed;
    Passed = TEST(Lost > 0) && Passed;
    return TEST_EQUAL(Header->NumberOfEventsLost, Lost) && Passed;
}

static
BOOLEAN
TestRunWithFault(
    PCTEST_RUN Run
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    NTSTATUS Status;
    ULONG Recorded;
    ULONG Sequence;
    ULONG Routine;
    BOOLEAN Stopped;
    BOOLEAN Passed;
    BOOLEAN ReadOnly;

    Passed = TRUE;
    Session = NULL;
    ReadOnly = TestFault.MapReadOnlyCall != 0;
    Routine = ReadOnly ? TestNumberOfRoutines : TestFault.Routine;

    RtlZeroBytes(&Error, sizeof(Error));
    Status = TestCreateSession(&TestCounting,
                               Run->MaximumViewSize,
                               Run->Worker,
                               &Session,
                               &Error);
    if (!NT_SUCCESS(Status)) {
        TestOutcomes.NoSession += 1;
        Passed = TEST_STATUS(Status, TestFault.Status);
        Passed = TEST(Error.Step != NULL && Error.Step[0] != '\0') && Passed;
        Passed = TEST_STATUS(Error.Status, Status) && Passed;
        return TestCheckBalance() && Passed;
    }

    Status = TraceStoreOpen(Session, &Store, &Error);
    if (!NT_SUCCESS(Status)) {
        TestOutcomes.NoStore += 1;
        if (Routine == TestRoutineNtAllocateVirtualMemory) {
            Passed = TEST_STATUS(Status, STATUS_NO_MEMORY);
        } else if (!ReadOnly) {
            Passed = TEST_STATUS(Status, TestFault.Status);
        }
        Passed = TEST(Error.Step != NULL && Error.Step[0] != '\0') && Passed;
        Passed = TEST_STATUS(Error.Status, Status) && Passed;
        Passed = TEST(Error.ObjectLengthInChars != 0) && Passed;
        TraceLogError(Session, &Error, "a test made it fail");
        Passed = TEST_EQUAL(TestListFiles(Session, L"*.trace"), 0) && Passed;
        goto End;
    }

    Sequence = Store->Header->SequenceNumber;
    Recorded = TestAppendMany(Store, 0, Run->NumberOfRecords);
    Stopped = Store->Header->State == TRACE_STATE_STOPPED;
    if (Stopped) {
        TestOutcomes.Stopped += 1;
        Passed = TEST(Recorded > 0);
        Passed = TestCheckStopped(Store->Header,
                                  Routine,
                                  ReadOnly ?
                                  (NTSTATUS)Store->Header->Status :
                                  TestFault.Status,
                                  Run->NumberOfRecords - Recorded) && Passed;
        Passed = TEST(!NT_SUCCESS((NTSTATUS)Store->Header->Status)) && Passed;
    } else {
        TestOutcomes.Completed += 1;
        Passed = TEST_EQUAL(Recorded, Run->NumberOfRecords);
        Passed = TEST_EQUAL(Store->Header->NumberOfEventsLost, 0) && Passed;
    }

    //
    // The program goes on, and so does tracing where the system lets it.
    //

    Second = NULL;
    Status = TraceStoreOpen(Session, &Second, &Error);
    if (NT_SUCCESS(Status)) {
        Passed = TEST_EQUAL(TestAppendMany(Second, 0, 10), 10) && Passed;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
    } else {
        Passed = TEST(TestFault.Fired > 0) && Passed;
    }

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    Passed = TEST(TestReadSessionStore(Session, Sequence, &TestContent)) &&
             Passed;
    Passed = TestCheckContent(Recorded,
                              Stopped ? TRACE_STATE_STOPPED :
                              TRACE_STATE_CLOSED,
                              Stopped ? TestContent.Header.Reason :
                              TRACE_REASON_THREAD_EXIT) && Passed;
    Passed = TEST_EQUAL(TestContent.Header.NumberOfEventsLost,
                        Run->NumberOfRecords - Recorded) && Passed;

    //
    // The cut at the end is the one call whose failure only costs space.
    //

    if (Routine != TestRoutineNtSetInformationFile ||
        TestFault.Fired == 0 || (Stopped && !TestFault.Sticky)) {

        Passed = TEST_EQUAL(TestContent.FileSize,
                            TRACE_HEADER_SIZE + Recorded * 16ull) && Passed;
    }

End:

    if (Session->LogName.Length != 0 &&
        Session->LogName.Length / sizeof(WCHAR) < RTL_NUMBER_OF(TestText)) {

        RtlCopyBytes(TestText,
                     Session->LogName.Buffer + 4,
                     Session->LogName.Length - 4 * sizeof(WCHAR));
        TestText[Session->LogName.Length / sizeof(WCHAR) - 4] = L'\0';
        DeleteFileW(TestText);
    }
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    return TestCheckBalance() && Passed;
}

//
// Makes the first, second, third... call of a routine fail until a run does
// not come to the call.
//

static
ULONG
TestFailEveryCall(
    PCTEST_RUN Run,
    ULONG Routine,
    NTSTATUS Status,
    BOOLEAN Sticky
    )
{
    LONG Call;
    BOOLEAN Passed;

    RtlZeroBytes(&TestOutcomes, sizeof(TestOutcomes));
    for (Call = 1; Call < 200; Call += 1) {
        TestNextRoot();
        TestResetCounters();
        if (Routine == TestNumberOfRoutines) {
            TestFault.MapReadOnlyCall = Call;
        } else {
            TestFault.Routine = Routine;
            TestFault.Call = Call;
            TestFault.Status = Status;
            TestFault.Sticky = Sticky;
        }

        Passed = TestRunWithFault(Run);
        if (!Passed) {
            RtlWriteText(TestOutput,
                         "    ... %s, call %d, %s, views of 0x%llx, %s\n",
                         Routine == TestNumberOfRoutines ?
                         "a view without pages" : TestRoutineNames[Routine],
                         Call,
                         Sticky ? "for good" : "once",
                         Run->MaximumViewSize,
                         Run->Worker ? "worker" : "no worker");
        }
        if (TestFault.Fired == 0) {
            break;
        }
    }

    TEST(Call < 200);
    return (ULONG)Call - 1;
}

static
VOID
TestFaults(
    BOOLEAN Worker
    )
{
    TEST_RUN Small;
    TEST_RUN Large;
    ULONG Sticky;
    ULONG Calls;

    Small.MaximumViewSize = TEST_SMALL_VIEW;
    Small.NumberOfRecords = TEST_RECORDS_IN(0x100000) + 100;
    Small.Worker = Worker;
    Large.MaximumViewSize = 0;
    Large.NumberOfRecords = TEST_RECORDS_IN(0x400000) + 100;
    Large.Worker = Worker;

    for (Sticky = 0; Sticky < 2; Sticky += 1) {

        //
        // 64, 64, 128 KiB, then 256 KiB three times, and one for the last 100
        // records: seven views.  Once more for the second store, and twice to
        // cut.  A run that stops early makes fewer calls, which does not
        // matter: it is the Nth that fails.
        //

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtSetInformationFile,
                                  STATUS_DISK_FULL,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 9);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        //
        // The first view is too small for its pages to be written.
        //

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtWriteFile,
                                  STATUS_DISK_FULL,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 6);
        TEST_EQUAL(TestOutcomes.NoStore, 0);
        TEST(TestOutcomes.Stopped >= 5);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateSection,
                                  STATUS_INSUFFICIENT_RESOURCES,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 7);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtMapViewOfSection,
                                  STATUS_NO_MEMORY,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 7);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        //
        // Large views fall back to any address when the aligned one cannot be
        // had.
        //

        Calls = TestFailEveryCall(&Large,
                                  TestRoutineNtMapViewOfSection,
                                  STATUS_CONFLICTING_ADDRESSES,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 8);

        Calls = TestFailEveryCall(&Large,
                                  TestRoutineNtAllocateVirtualMemory,
                                  STATUS_NO_MEMORY,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 3);
        TEST_EQUAL(TestOutcomes.NoSession, 1);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST_EQUAL(TestOutcomes.Stopped, 0);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateFile,
                                  STATUS_ACCESS_DENIED,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 3);
        TEST(TestOutcomes.NoStore >= 2);
        TEST_EQUAL(TestOutcomes.Stopped, 0);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateEvent,
                                  STATUS_INSUFFICIENT_RESOURCES,
                                  (BOOLEAN)Sticky);
        TEST_EQUAL(Calls, Worker ? 3 : 0);
        TEST_EQUAL(TestOutcomes.Completed, Calls + 1);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateThreadEx,
                                  STATUS_ACCESS_DENIED,
                                  (BOOLEAN)Sticky);
        TEST_EQUAL(Calls, Worker ? 1 : 0);
        TEST_EQUAL(TestOutcomes.Completed, Calls + 1);
    }

    Calls = TestFailEveryCall(&Small,
                              TestRoutineNtQueryInformationProcess,
                              STATUS_ACCESS_DENIED,
                              FALSE);
    TEST_EQUAL(Calls, 2);
    TEST_EQUAL(TestOutcomes.NoSession, 1);

    //
    // Pages that cannot be had.
    //

    Calls = TestFailEveryCall(&Small, TestNumberOfRoutines, 0, FALSE);
    TEST(Calls >= 7);
    TEST_EQUAL(TestOutcomes.NoStore, 1);
    TEST(TestOutcomes.Stopped >= 5);
}

//
// The worker prepares views before they are needed: a thread that gives it
// time maps nothing and prepares nothing itself.
//

static
BOOLEAN
TestWaitForNextView(
    PTRACE_STORE Store
    )
{
    ULONG Tries;

    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(PBYTE volatile *)&Store->Next.Base != NULL &&
            *(ULONGLONG volatile *)&Store->Next.PreparedInBytes ==
            Store->Next.SizeInBytes) {

            return TRUE;
        }
        Sleep(1);
    }
    return FALSE;
}

static
VOID
TestWorkerPrepares(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Records;
    ULONG Sequence;
    ULONG Views;
    ULONG Mapped;
    ULONG Prepared;
    ULONGLONG Size;
    PVOID Base;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0x100000,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }

    //
    // No worker for a thread that makes few calls.
    //

    Records = (ULONG)TEST_RECORDS_IN(0x10000);
    TestAppendMany(Store, 0, Records);
    TEST_EQUAL(TestCalls[TestRoutineNtCreateThreadEx], 0);
    TEST_EQUAL(Session->Worker.State, TRACE_WORKER_NONE);

    TestAppend(Store, Records);
    Records += 1;
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 1);
    TEST_EQUAL(TestCalls[TestRoutineNtCreateThreadEx], 1);
    TEST_EQUAL(Session->Worker.State, TRACE_WORKER_RUNNING);

    Size = 0x20000;
    for (Views = 0; Views < 8; Views += 1) {
        if (!TEST(TestWaitForNextView(Store))) {
            goto End;
        }
        TEST(Session->Worker.ThreadId != 0 &&
             Session->Worker.ThreadId != GetCurrentThreadId());
        Base = Store->Next.Base;
        Mapped = Store->Header->NumberOfViewsMappedInline;

        //
        // To the end of the current view.  What the worker had not prepared
        // when the view was switched to was prepared by it afterwards, so that
        // the thread is the one to do it only if it was faster: here it waited.
        //

        TestAppendMany(Store, Records, (ULONG)TEST_RECORDS_IN(Size));
        Records = (ULONG)TEST_RECORDS_IN(Size);
        Prepared = Store->Header->NumberOfInlinePreparations;
        TestAppend(Store, Records);
        Records += 1;
        TEST_EQUAL(Store->Current.Base, Base);
        TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, Mapped);
        TEST_EQUAL(Store->Header->NumberOfInlinePreparations, Prepared);
        Size += Store->Current.SizeInBytes;
    }
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 1);
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 9);

    //
    // The views that are full are unmapped by the worker: what stays is the
    // first one, the current and the next.
    //

    TEST(TestWaitForNextView(Store));
    for (Views = 0; Views < 10000 && TestCountLiveViews() > 3; Views += 1) {
        Sleep(1);
    }
    TEST_EQUAL(TestCountLiveViews(), 3);

    Sequence = Store->Header->SequenceNumber;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + Records * 16ull);

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// The worker is stopped at any moment of its work, and the thread goes on
// without it.
//

static
VOID
TestWorkerStops(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Round;
    ULONG First;
    ULONG Last;
    ULONG Sequence;

    TestNextRoot();
    for (Round = 0; Round < 40; Round += 1) {
        TestResetCounters();
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

        //
        // A different number of records each time: the worker is mapping,
        // preparing, unmapping or waiting.
        //

        First = (ULONG)TEST_RECORDS_IN(0x10000) + 1 + Round * 4001;
        Last = First;
        TestAppendMany(Store, 0, First);
        if (Round % 2 == 0) {
            TraceWorkerStop(Session, &Session->Worker);
            TEST(Session->Worker.State == TRACE_WORKER_REFUSED);
            Last = First + 60000;
            TestAppendMany(Store, First, Last);
        }
        Sequence = Store->Header->SequenceNumber;
        if (Round % 4 < 2) {
            TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
            TEST(TestReadSessionStore(Session, Sequence, &TestContent));
            TestCheckContent(Last,
                             TRACE_STATE_CLOSED,
                             TRACE_REASON_THREAD_EXIT);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// A store is closed while the worker is in the middle of extending its file,
// on a disk that takes a second for that.  The next store gets the memory, and
// maybe the handle, of the first one: the worker must not touch it.
//

static
VOID
TestSlowDisk(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE First;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    ULONG Sequence;
    ULONG SecondSequence;
    ULONG Records;
    ULONG Tries;
    LONG Calls;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        TEST_SMALL_VIEW,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &First, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }

    //
    // Into the second view, which wakes the worker: it prepares that view, and
    // then extends the file for the third.
    //

    TestDelayMilliseconds = 1000;
    Calls = TestCalls[TestRoutineNtSetInformationFile];
    Records = (ULONG)TEST_RECORDS_IN(0x10000) + 1;
    TestAppendMany(First, 0, Records);
    Sequence = First->Header->SequenceNumber;
    Calls += 1;                             // the second view, by this thread
    for (Tries = 0;
         Tries < TEST_PATIENCE &&
         TestCalls[TestRoutineNtSetInformationFile] == Calls;
         Tries += 1) {

        Sleep(1);
    }
    TEST(Tries < TEST_PATIENCE);
    TraceStoreClose(First, TRACE_REASON_THREAD_EXIT);

    if (TEST_SUCCESS(TraceStoreOpen(Session, &Second, &Error))) {
        SecondSequence = Second->Header->SequenceNumber;
        TestAppendMany(Second, 0, 10);
        Sleep(1500);
        TEST(TestReadSessionStore(Session, SecondSequence, &TestContent));
        TestCheckContent(10, TRACE_STATE_OPEN, TRACE_REASON_NONE);
        TEST_EQUAL(TestContent.FileSize, 0x10000);
        TEST(Second->Next.Base == NULL);
        TestDelayMilliseconds = 0;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, SecondSequence, &TestContent));
        TestCheckContent(10, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TestContent.End);
    }

    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TestContent.End);
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// Threads that open, fill and close stores of one session at the same time.
//

#define TEST_THREADS 4
#define TEST_ROUNDS 4
#define TEST_THREAD_RECORDS 150000

static PTRACE_SESSION TestSharedSession;
static volatile LONG TestThreadFailures;

static
DWORD
WINAPI
TestThreadMain(
    PVOID Parameter
    )
{
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Round;
    ULONG Records;

    for (Round = 0; Round < TEST_ROUNDS; Round += 1) {
        if (!NT_SUCCESS(TraceStoreOpen(TestSharedSession, &Store, &Error))) {
            InterlockedIncrement(&TestThreadFailures);
            continue;
        }
        Records = TEST_THREAD_RECORDS - Round * 7000 +
                  (ULONG)(ULONG_PTR)Parameter;
        if (TestAppendMany(Store, 0, Records) != Records) {
            InterlockedIncrement(&TestThreadFailures);
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    }
    return 0;
}

static
VOID
TestThreads(
    VOID
    )
{
    HANDLE Threads[TEST_THREADS];
    RTL_ERROR Error;
    ULONG Index;
    ULONG Count;
    ULONGLONG Records;
    ULONGLONG Expected;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        TEST_SMALL_VIEW,
                                        TRUE,
                                        &TestSharedSession,
                                        &Error))) {
        return;
    }

    Expected = 0;
    TestThreadFailures = 0;
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      TestThreadMain,
                                      (PVOID)(ULONG_PTR)Index,
                                      0,
                                      NULL);
        for (Count = 0; Count < TEST_ROUNDS; Count += 1) {
            Expected += TEST_THREAD_RECORDS - Count * 7000 + Index;
        }
    }
    TEST_EQUAL(WaitForMultipleObjects(TEST_THREADS,
                                      Threads,
                                      TRUE,
                                      TEST_PATIENCE),
               WAIT_OBJECT_0);
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        CloseHandle(Threads[Index]);
    }
    TEST_EQUAL(TestThreadFailures, 0);

    Records = 0;
    Count = TestListFiles(TestSharedSession, L"*.trace");
    TEST_EQUAL(Count, TEST_THREADS * TEST_ROUNDS);
    for (Index = 0; Index < Count; Index += 1) {
        TEST(TestReadStore(TestSessionPath(TestSharedSession,
                                           TestFileNames[Index]),
                           &TestContent));
        TestCheckContent(TestContent.NumberOfRecords,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TestContent.End);
        Records += TestContent.NumberOfRecords;
    }
    TEST_EQUAL(Records, Expected);
    TraceSessionDestroy(TestSharedSession, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// More stores than one block of them has, all open at once; destroying the
// session closes them.
//

static
VOID
TestManyStores(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Index;
    ULONG Count;
    ULONG Closed;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }

    Count = TRACE_STORES_PER_BLOCK + 10;
    for (Index = 0; Index < Count; Index += 1) {
        if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
            break;
        }
        TestAppendMany(Store, 0, Index);
    }
    TEST_EQUAL(TestOpenHandles, Count + 1);
    TEST(Session->Blocks != NULL && Session->Blocks->Next != NULL &&
         Session->Blocks->Next->Next == NULL);

    TestListFiles(Session, L"*.trace");
    RtlCopyBytes(TestUtf8,
                 Session->Directory.Buffer,
                 Session->Directory.Length);
    Closed = TestListFiles(Session, L"*.trace");
    TEST_EQUAL(Closed, Count);

    //
    // A second session of the same process names the same directory.
    //

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
    TestResetCounters();
    if (TEST_SUCCESS(TestCreateSession(&TestCounting,
                                       0,
                                       FALSE,
                                       &Session,
                                       &Error))) {

        Closed = 0;
        for (Index = 0; Index < Count; Index += 1) {
            if (TestReadStore(TestSessionPath(Session, TestFileNames[Index]),
                              &TestContent) &&
                TestContent.Header.State == TRACE_STATE_CLOSED &&
                TestContent.Header.Reason == TRACE_REASON_MODULE_UNLOAD &&
                TestContent.NumberOfGoodRecords ==
                TestContent.NumberOfRecords &&
                TestContent.FileSize == TestContent.End) {

                Closed += 1;
            }
        }
        TEST_EQUAL(Closed, Count);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    }
    TestCheckBalance();
}

//
// Process exit: nothing is waited for, even if a thread that was killed held a
// lock, or was closing its store; the calling thread may go on.
//

static
VOID
TestProcessExit(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Own;
    PTRACE_STORE Other;
    RTL_ERROR Error;
    ULONG OwnSequence;
    ULONG OtherSequence;
    ULONG CloseOwn;
    ULONG Kind;

    for (Kind = 0; Kind < 4; Kind += 1) {
        CloseOwn = Kind & 1;
        TestNextRoot();
        TestResetCounters();
        if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                            TEST_SMALL_VIEW,
                                            FALSE,
                                            &Session,
                                            &Error))) {
            return;
        }
        Own = NULL;
        Other = NULL;
        if (!TEST_SUCCESS(TraceStoreOpen(Session, &Own, &Error)) ||
            !TEST_SUCCESS(TraceStoreOpen(Session, &Other, &Error))) {

            TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
            return;
        }
        OwnSequence = Own->Header->SequenceNumber;
        OtherSequence = Other->Header->SequenceNumber;
        TestAppendMany(Own, 0, 5000);
        TestAppendMany(Other, 0, 7000);

        Other->WorkLock = 1;
        Own->WorkLock = 1;
        Other->WorkerBusy = TRACE_WORKER_MAPS;
        Own->WorkerBusy = TRACE_WORKER_MAPS;
        if (Kind >= 2) {
            Other->Use = TRACE_STORE_CLOSING;
            TraceStoreClose(Other, TRACE_REASON_THREAD_EXIT);
            TEST_EQUAL(Other->Header->State, TRACE_STATE_OPEN);
        }
        TraceSessionProcessExit(Session, Own, (BOOLEAN)CloseOwn);

        TEST(TestReadSessionStore(Session, OtherSequence, &TestContent));
        TestCheckContent(7000, TRACE_STATE_CLOSED, TRACE_REASON_PROCESS_EXIT);
        TEST(TestReadSessionStore(Session, OwnSequence, &TestContent));
        TestCheckContent(5000, TRACE_STATE_CLOSED, TRACE_REASON_PROCESS_EXIT);

        if (!CloseOwn) {
            TEST_EQUAL(TestAppendMany(Own, 5000, 40000), 35000);
            TEST(TestReadSessionStore(Session, OwnSequence, &TestContent));
            TestCheckContent(40000,
                             TRACE_STATE_CLOSED,
                             TRACE_REASON_PROCESS_EXIT);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

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

static
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

static
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

//
// A cursor that something in the process has overwritten: the store stops, and
// closing it neither grows the file nor fails.
//

static
VOID
TestInvariant(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Case;
    ULONG Sequence;

    for (Case = 0; Case < 3; Case += 1) {
        TestNextRoot();
        TestResetCounters();
        if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                            TEST_SMALL_VIEW,
                                            FALSE,
                                            &Session,
                                            &Error))) {
            return;
        }
        if (TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
            Sequence = Store->Header->SequenceNumber;
            TestAppendMany(Store, 0, 100);
            switch (Case) {
            case 0:
                Store->Header->Cursor += 0x100000;
                break;
            case 1:
                Store->Header->Cursor = 0xFFFFFFFFFFFFFFF0;
                break;
            default:
                Store->Header->Cursor = 16;
                Store->Header->Limit = 0;
                break;
            }
            TEST(!TestAppend(Store, 100));
            TEST_EQUAL(Store->Header->State, TRACE_STATE_STOPPED);
            TEST_EQUAL(Store->Header->Reason, TRACE_REASON_INVARIANT);
            TEST_EQUAL(Store->Header->NumberOfEventsLost, 1);
            TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
            TEST(TestReadSessionStore(Session, Sequence, &TestContent));
            TEST(TestContent.FileSize >= TRACE_HEADER_SIZE + 1600 &&
                 TestContent.FileSize <= 0x10000);
            TEST_EQUAL(TestContent.Header.State, TRACE_STATE_STOPPED);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// Waits until the worker waits for work.
//

static
VOID
TestWaitForRest(
    PTRACE_SESSION Session
    )
{
    ULONG Tries;

    for (Tries = 0;
         Tries < TEST_PATIENCE && !Session->Worker.Waiting;
         Tries += 1) {

        Sleep(1);
    }
}

//
// What is asked for: TestOptions beside what every session of these tests has.
//

static
BOOLEAN
TestOpenSession(
    ULONGLONG MaximumViewSize,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    )
{
    RTL_ERROR Error;

    TestNextRoot();
    TestResetCounters();
    TestAdvances = 0;
    TestCalled = 0;
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        MaximumViewSize,
                                        Worker,
                                        Session,
                                        &Error))) {
        return FALSE;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(*Session, Store, &Error))) {
        TraceSessionDestroy(*Session, TRACE_REASON_MODULE_UNLOAD);
        return FALSE;
    }
    return TRUE;
}

static
VOID
TestEndSession(
    PTRACE_SESSION Session
    )
{
    TestRing = NULL;
    TestPacedStore = NULL;
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
    TestClockStep = 1;
}

//
// A view is as large as what is likely to be needed, and what the file has
// already.
//

static
VOID
TestDemand(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    LONG Index;
    ULONG Records;

    TEST_EQUAL(TraceViewNextSize(0x2000000, 0x2000000, 0x50000), 0x40000);
    TEST_EQUAL(TraceViewNextSize(0x2000000, 0x2000000, 0x80000), 0x80000);
    TEST_EQUAL(TraceViewNextSize(0x2000000, 0x2000000, 0x7FFFF), 0x40000);
    TEST_EQUAL(TraceViewNextSize(0x40000, 0x2000000, 0x1000000), 0x40000);
    TEST_EQUAL(TraceViewNextSize(0x2000000, 0x2000000, 1), 0x10000);
    TEST_EQUAL(TraceViewNextSize(0x2000000, 0x20000, 0x1000000), 0x20000);

    //
    // A second from one reading to the next: a thread that fills 64 KiB in more
    // than that needs no more.  Then 100 ns: sizes double, once a view has been
    // filled at that speed.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    TestClockStep = 10000000;
    Records = (ULONG)TEST_RECORDS_IN(0x80000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(TestNumberOfViews, 8);
    for (Index = 0; Index < 8; Index += 1) {
        TEST_EQUAL(TestViews[Index].SizeInBytes, 0x10000);
    }

    TestClockStep = 1;
    TestAppendMany(Store, Records, (ULONG)TEST_RECORDS_IN(0x220000));
    TEST_EQUAL(TestViews[8].SizeInBytes, 0x10000);
    TEST_EQUAL(TestViews[9].SizeInBytes, 0x10000);
    TEST_EQUAL(TestViews[10].SizeInBytes, 0x80000);
    TEST_EQUAL(TestViews[11].SizeInBytes, 0x100000);
    TestEndSession(Session);
}

//
// A disk that cannot keep pace: views are kept small for a while.
//

static
VOID
TestSlowViews(
    VOID
    )
{
    static const struct {
        ULONGLONG PrepareTicks;
        ULONGLONG LongestTicks;
        ULONGLONG PreparedInBytes;
        ULONGLONG Ticks;
        ULONGLONG Microseconds;
        BOOLEAN IsSlow;
    } Cases[] = {

        //
        // 2.5 ticks a nanosecond: 1 MiB in 1,048 and 1,049 us.
        //

        { 2620000, 0, 0x100000, 250000000, 100000, FALSE },
        { 2622500, 0, 0x100000, 250000000, 100000, TRUE },
        { 2622500, 0, 0x100000, 500000000, 100000, FALSE },

        //
        // A piece of 10,000 and of 10,001 us.
        //

        { 25000000, 25000000, 0x1000000, 250000000, 100000, FALSE },
        { 25002500, 25002500, 0x1000000, 250000000, 100000, TRUE },

        //
        // Nothing was prepared; the view took no time; it took very long.
        //

        { 0, 0, 0, 250000000, 100000, FALSE },
        { 2622500, 2622500, 0x1000, 0, 0, FALSE },
        { 1ULL << 40, 1ULL << 40, 0x1000, 1ULL << 40, 10000000, TRUE },
        { 1ULL << 40, 1ULL << 40, 0x1000, 1ULL << 40, 10000001, FALSE },
    };

    TRACE_VIEW View;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONGLONG Largest;
    ULONG Index;
    ULONG Records;
    ULONG Seen;

    RtlZeroBytes(&View, sizeof(View));
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        View.PrepareTicks = Cases[Index].PrepareTicks;
        View.LongestTicks = Cases[Index].LongestTicks;
        View.PreparedInBytes = Cases[Index].PreparedInBytes;
        TEST_EQUAL(TraceViewIsSlow(&View,
                                   Cases[Index].Ticks,
                                   Cases[Index].Microseconds),
                   Cases[Index].IsSlow);
    }

    //
    // What preparing takes is measured: no less than what the system took to
    // write the zeroes, and no piece longer than all.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    Records = (ULONG)TEST_RECORDS_IN(0x1000000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(TestWriteView, TestNumberOfViews);
    TEST(TestWriteTicks != 0 &&
         Store->Current.PrepareTicks >= TestWriteTicks);
    TEST(Store->Current.LongestTicks != 0 &&
         Store->Current.LongestTicks <= Store->Current.PrepareTicks);
    TestEndSession(Session);

    //
    // 10 ms from one reading to the next, and preparing took longer.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    TestPacedStore = Store;
    TestPacedTicks = TEST_SLOW_TICKS;
    TestClockStep = 100000;
    Records = (ULONG)TEST_RECORDS_IN(0x1000000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(Store->SlowViews, 31);
    Largest = 0;
    for (Index = 0; Index < (ULONG)TestNumberOfViews; Index += 1) {
        if (Largest < TestViews[Index].SizeInBytes) {
            Largest = TestViews[Index].SizeInBytes;
        }
    }
    TEST_EQUAL(Largest, 0x200000);

    //
    // 100 ns, and it took nothing: it is believed for 31 views more.  By then
    // 5 ms need views of the largest size.
    //

    TestPacedTicks = 0;
    TestClockStep = 1;
    Seen = (ULONG)TestNumberOfViews;
    for (Index = 0; Index <= 31; Index += 1) {
        TEST_EQUAL(Store->SlowViews, 31 - Index);
        while ((ULONG)TestNumberOfViews <= Seen + Index &&
               TestAppend(Store, Records)) {

            Records += 1;
        }
    }
    TEST_EQUAL(Store->Current.SizeInBytes, 0x400000);
    TestEndSession(Session);
}

//
// What the owner waits for: without a worker everything, and nothing while the
// worker is ahead.
//

static
VOID
TestWaits(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONG Worker;
    ULONG Waits;
    ULONG Advances;
    ULONG Last;

    for (Worker = 0; Worker < 2; Worker += 1) {
        if (!TestOpenSession(0x10000, (BOOLEAN)Worker, &Session, &Store)) {
            return;
        }
        Header = Store->Header;
        Last = (ULONG)TEST_RECORDS_IN(0x10000);
        TestAppendMany(Store, 0, Last + 1);

        //
        // In the first view the owner prepares everything.  It waits for
        // nothing where the worker called it, unless for the worker's lock.
        //

        TEST(Worker != 0 || TestCalled == 0);
        TEST(Header->NumberOfWaits <= TestAdvances &&
             Header->NumberOfWaits >= TestAdvances - TestCalled);
        if (Header->NumberOfWaits == TestAdvances) {
            TEST_EQUAL(Header->WaitTicks, Header->InlineTicks);
        } else {
            TEST(Header->WaitTicks < Header->InlineTicks);
        }
        TEST(Header->WaitTicks >= Header->MaximumInlineTicks ||
             TestCalled != 0);

        Waits = (ULONG)Header->NumberOfWaits;
        Advances = TestAdvances;
        for (; Last < (ULONG)TEST_RECORDS_IN(0x80000); Last += 0x1000) {
            if (Worker != 0) {
                TEST(TestWaitForNextView(Store));
                TestWaitForRest(Session);
            }
            TestAppendMany(Store, Last + 1, Last + 0x1001);
        }
        TEST(TestAdvances >= Advances + 7);
        TEST_EQUAL(Header->NumberOfWaits,
                   Waits + (Worker != 0 ? 0 : TestAdvances - Advances));
        TEST_EQUAL(Header->WaitTicks == Header->InlineTicks, Worker == 0);
        TestEndSession(Session);
    }
}

//
// Views that are full are written to the disk if the user asks for it, each
// once and before it is unmapped; a disk that refuses changes nothing.
//

static
VOID
TestFlush(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Records;
    ULONG Changes;
    ULONG Sequence;

    Records = (ULONG)TEST_RECORDS_IN(0x100000) + 1;
    for (Case = 0; Case < 6; Case += 1) {
        TestOptions.Flush = Case >= 2;
        if (!TestOpenSession(0x20000, Case & 1, &Session, &Store)) {
            return;
        }
        if (Case >= 4) {
            TestFault.Routine = TestRoutineNtFlushVirtualMemory;
            TestFault.Call = 1;
            TestFault.Status = STATUS_IO_DEVICE_ERROR;
            TestFault.Sticky = TRUE;
        }
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Changes = Store->Header->NumberOfViewChanges;
        TEST(Changes >= 7);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestCalls[TestRoutineNtFlushVirtualMemory],
                   TestOptions.Flush ? (LONG)Changes - 1 : 0);
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TestEndSession(Session);
    }
}

//
// Pages are prepared by writing where views show what is written, and only
// touched where they do not.
//

static
VOID
TestCoherence(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Records;
    ULONG Sequence;

    Records = (ULONG)TEST_RECORDS_IN(0x100000);
    for (Case = 0; Case < 4; Case += 1) {
        if (!TestOpenSession(0x20000, Case & 1, &Session, &Store)) {
            return;
        }
        TestSwallowsWrites = Case >= 2;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TestSwallowsWrites = FALSE;
        if (Case >= 2) {
            TEST_EQUAL(Session->Coherence, TRACE_COHERENCE_MISSED);
            TEST_EQUAL(TestCalls[TestRoutineNtWriteFile], 2);
        } else {
            TEST_EQUAL(Session->Coherence, TRACE_COHERENCE_SEEN);
            TEST(TestCalls[TestRoutineNtWriteFile] > 2);
        }
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TestEndSession(Session);
    }
}

//
// A store that keeps the first of its bytes.
//

static
VOID
TestMaximumBytes(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Recorded;
    ULONG Sequence;

    static const struct {
        ULONGLONG MaximumBytes;
        ULONGLONG Used;
        ULONGLONG ViewSize;
    } Cases[] = {
        { 0x100000, 0x100000, 0x10000 },
        { 0x10FFFF, 0x100000, 0x400000 },
        { 0x110000, 0x110000, 0x400000 },
        { 0x17ABCD, 0x170000, 0x40000 },
        { 0x300000, 0x300000, 0x200000 }
    };

    for (Case = 0; Case < 2 * RTL_NUMBER_OF(Cases); Case += 1) {
        TestOptions.MaximumBytes = Cases[Case / 2].MaximumBytes;
        if (!TestOpenSession(Cases[Case / 2].ViewSize,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Recorded = (ULONG)TEST_RECORDS_IN(Cases[Case / 2].Used);
        TEST_EQUAL(TestAppendMany(Store, 0, Recorded + 1000), Recorded);
        TEST_EQUAL(Store->Header->State, TRACE_STATE_STOPPED);
        TEST_EQUAL(Store->Header->Reason, TRACE_REASON_MAXIMUM_BYTES);
        TEST_STATUS((NTSTATUS)Store->Header->Status, STATUS_SUCCESS);
        TEST_EQUAL(Store->Header->NumberOfEventsLost, 1000);
        TEST(TestLargestFile <= Cases[Case / 2].MaximumBytes);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Recorded,
                         TRACE_STATE_STOPPED,
                         TRACE_REASON_MAXIMUM_BYTES);
        TEST_EQUAL(TestContent.FileSize, Cases[Case / 2].Used);
        TEST_EQUAL(TestContent.Header.MaximumBytes,
                   Cases[Case / 2].MaximumBytes);
        TestEndSession(Session);
    }
}

//
// Rings: what the file holds at any moment, also when nobody closes it, by the
// rule in TraceFormat.h.  Returns the number of records, or 0 if one is wrong.
//

static
ULONG
TestCheckRing(
    PTRACE_SESSION Session,
    ULONG NumberOfRecords
    )
{
    HANDLE File;
    HANDLE Mapping;
    PBYTE View;
    LARGE_INTEGER Size;
    PCTRACE_STORE_HEADER Header;
    PCTRACE_RECORD Record;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONGLONG End;
    ULONG Index;
    ULONG Count;

    if (!TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1)) {
        return 0;
    }
    File = CreateFileW(TestSessionPath(Session, TestFileNames[0]),
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    View = NULL;
    Size.QuadPart = 0;
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    if (Mapping != NULL) {
        View = (PBYTE)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(Mapping);
    }
    GetFileSizeEx(File, &Size);
    CloseHandle(File);
    if (!TEST(View != NULL)) {
        return 0;
    }

    Header = (PCTRACE_STORE_HEADER)View;
    TEST((ULONGLONG)Size.QuadPart <= Header->MaximumBytes);
    End = Header->Cursor + Header->CursorToFileOffset;
    TEST_EQUAL(End, TRACE_HEADER_SIZE + NumberOfRecords * 16ull);
    Position = Header->FirstPosition;
    if (Position == 0) {
        Position = TRACE_HEADER_SIZE;
    }

    Count = 0;
    for (; Position < End; Position += TRACE_RECORD_SIZE) {
        Offset = Position;
        if (Offset >= Header->RingFileOffset) {
            Offset = Header->RingFileOffset +
                     (Position - Header->RingFileOffset) %
                     Header->RingSizeInBytes;
        }
        Index = (ULONG)((Position - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE);
        Record = (PCTRACE_RECORD)(View + Offset);
        if (Offset + TRACE_RECORD_SIZE > (ULONGLONG)Size.QuadPart ||
            Record->Site != TestSite(Index) ||
            Record->StackKind != TestStackKind(Index) ||
            Record->Timestamp == 0) {

            break;
        }
        Count += 1;
    }

    if (!TEST_EQUAL(Position, End)) {
        Count = 0;
    }
    UnmapViewOfFile(View);
    return Count;
}

static
VOID
TestRings(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Position;
    ULONGLONG FileSize;
    ULONG Case;
    ULONG Records;
    ULONG Step;
    ULONG Count;
    ULONG Laps;

    static const struct {
        ULONGLONG MaximumBytes;
        ULONGLONG ViewSize;
        ULONGLONG SegmentSize;
        ULONGLONG RingSize;
    } Cases[] = {
        { 0x100000, 0, 0x10000, 0xF0000 },
        { 0x123456, 0x40000, 0x10000, 0x110000 },
        { 0x1FFFFF, 0x400000, 0x10000, 0x1E0000 },
        { 0x400000, 0x20000, 0x20000, 0x3E0000 },
        { 0x800000, 0x400000, 0x40000, 0x7C0000 }
    };

    for (Case = 0; Case < 2 * RTL_NUMBER_OF(Cases); Case += 1) {
        TestOptions.IsRing = TRUE;
        TestOptions.MaximumBytes = Cases[Case / 2].MaximumBytes;
        if (!TestOpenSession(Cases[Case / 2].ViewSize,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Header = Store->Header;
        TestRing = Header;
        TEST_EQUAL(Session->SegmentSize, Cases[Case / 2].SegmentSize);
        TEST_EQUAL(Header->RingFileOffset, TRACE_VIEW_MINIMUM_SIZE);
        TEST_EQUAL(Header->RingSizeInBytes, Cases[Case / 2].RingSize);
        FileSize = Header->RingFileOffset + Header->RingSizeInBytes;

        //
        // Three laps and a half, looked at where nothing agrees with anything.
        //

        Records = 0;
        Laps = 0;
        Step = (ULONG)(Cases[Case / 2].SegmentSize / 16 + 1237);
        while (Laps < 3 || Records % 5 != 0) {
            TEST_EQUAL(TestAppendMany(Store, Records, Records + Step), Step);
            Records += Step;
            Position = Header->Cursor + Header->CursorToFileOffset;
            Laps = (ULONG)((Position - Header->RingFileOffset) /
                           Header->RingSizeInBytes);
            Count = TestCheckRing(Session, Records);
            if (Laps == 0 && Header->FirstPosition == 0) {
                TEST_EQUAL(Count, Records);
            } else {
                TEST(Count * 16ull >= Header->RingSizeInBytes -
                                      2 * Session->SegmentSize);
                TEST(Header->FirstPosition + Header->RingSizeInBytes <=
                     Position + 2 * Session->SegmentSize);
            }
        }
        TEST_EQUAL(TestBadRingWrites, 0);
        TEST_EQUAL(TestLargestFile, FileSize);
        TEST_EQUAL(Header->State, TRACE_STATE_OPEN);

        //
        // A cursor that has been written over is found again.
        //

        TestRing = NULL;
        Header->Cursor += 0x10000000;
        TEST(!TestAppend(Store, Records));
        TEST_EQUAL(Header->Reason, TRACE_REASON_INVARIANT);
        TEST_EQUAL(Header->Cursor + Header->CursorToFileOffset, Position);

        //
        // The file is not cut any more, whatever lies where the cursor is.
        //

        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestCheckRing(Session, Records) > 0);
        TEST_EQUAL(TestLargestFile, FileSize);
        TestEndSession(Session);
    }

    //
    // It is in the first lap, which holds everything.
    //

    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = 0x100000;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        Records = 50000;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Count = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, Count, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + Records * 16ull);
        TestEndSession(Session);
    }

    //
    // The control of what is checked at each write.
    //

    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = 0x100000;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TestRing = Store->Header;
        TestForgetsFirstPosition = TRUE;
        TestAppendMany(Store, 0, 100000);
        TestForgetsFirstPosition = FALSE;
        TEST(TestBadRingWrites > 0);
        TestEndSession(Session);
    }
}

//
// The clock thread.
//

static
VOID
TestClockThread(
    VOID
    )
{
    static ULONGLONG volatile Place;
    static TRACE_STORE_HEADER Header;
    static CONTEXT Context;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONGLONG Freezes;
    ULONGLONG First;
    ULONGLONG Frozen;
    ULONG Call;
    ULONG Tries;

    //
    // It may not be started; or cannot be: the worker, the clock, its events.
    //

    TestOptions.Clock = TRACE_CLOCK_THREAD;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TEST_STATUS(TraceClockStart(Session, &Place), STATUS_NOT_SUPPORTED);
        TEST(Session->Clock.Place == NULL);
        TEST_EQUAL(Store->Header->Clock, TRACE_CLOCK_TSC);
        TestEndSession(Session);
    }

    for (Call = 1; Call <= 5; Call += 1) {
        if (!TestOpenSession(0, TRUE, &Session, &Store)) {
            return;
        }
        TestFault.Routine = Call <= 2 ? TestRoutineNtCreateThreadEx :
                                        TestRoutineNtCreateEvent;
        TestFault.Call = Call <= 2 ? (LONG)Call : (LONG)Call + 1;
        TestFault.Status = STATUS_QUOTA_EXCEEDED;
        TEST_STATUS(TraceClockStart(Session, &Place),
                    Call == 1 ? STATUS_NOT_SUPPORTED : STATUS_QUOTA_EXCEEDED);
        TEST(Session->Clock.Place == NULL);
        TEST_EQUAL(Session->Template->Clock, TRACE_CLOCK_TSC);
        TestEndSession(Session);
    }

    //
    // One that never begins: its clock stands still from the start.
    //

    if (TestOpenSession(0, TRUE, &Session, &Store)) {
        TraceWorkerRequest(Session);
        TestKeepsSuspended = TRUE;
        Place = 0;
        TEST_SUCCESS(TraceClockStart(Session, &Place));
        TestKeepsSuspended = FALSE;
        First = Place;
        TEST(First != 0);
        Sleep(5);
        RtlZeroBytes(&Header, sizeof(Header));
        TraceClockDescribe(Session, &Header);
        TEST_EQUAL(Place, First);
        TEST_EQUAL(Header.ClockResolution, 0);
        TEST_EQUAL(Header.NumberOfClockFreezes, 1);
        TEST(Header.MaximumClockStep > 0);
        TestEndSession(Session);
    }

    //
    // One that goes.
    //

    if (!TestOpenSession(0, TRUE, &Session, &Store)) {
        return;
    }
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST_SUCCESS(TraceClockStart(Session, &Place));
    First = Place;
    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(ULONGLONG volatile *)&Session->Clock.Resolution != 0 &&
            Place > First) {

            break;
        }
        Sleep(1);
    }
    TEST(Tries < TEST_PATIENCE);
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
    TEST_EQUAL(Store->Header->Clock, TRACE_CLOCK_THREAD);
    TEST_EQUAL(Store->Header->ClockResolution, Session->Clock.Resolution);
    TEST(Session->Clock.Resolution % 16 == 0);

    //
    // It is held up, and let go.
    //

    //
    // Whoever has its context knows that it stands still.
    //

    TEST(SuspendThread(Session->ClockWorker.Thread) != (DWORD)-1);
    RtlZeroBytes(&Context, sizeof(Context));
    Context.ContextFlags = CONTEXT_CONTROL;
    TEST(GetThreadContext(Session->ClockWorker.Thread, &Context));
    Freezes = Session->Clock.NumberOfFreezes;
    Frozen = Place;
    Sleep(30);
    TraceClockDescribe(Session, Store->Header);
    TEST_EQUAL(Place, Frozen);
    TEST_EQUAL(Store->Header->NumberOfClockFreezes, Freezes + 1);
    TEST(Store->Header->MaximumClockStep >
         Session->Clock.Resolution * TRACE_CLOCK_FREEZE);
    TEST(Store->Header->MaximumClockStep <= __rdtsc() - Frozen);
    TEST(ResumeThread(Session->ClockWorker.Thread) != (DWORD)-1);
    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(ULONGLONG volatile *)&Session->Clock.NumberOfFreezes > Freezes) {
            break;
        }
        Sleep(1);
    }
    TEST(Session->Clock.NumberOfFreezes >= Freezes + 1);
    TEST(Session->Clock.MaximumStep >= Store->Header->MaximumClockStep);
    TEST(Place > Frozen);

    TEST_EQUAL(TestAppendMany(Store, 0, 100), 100);
    TestEndSession(Session);

    First = Place;
    Sleep(5);
    TEST_EQUAL(Place, First);
}

//
// Who prepares the views while the clock thread runs: the worker, where there
// is a processor left for it.
//

static
VOID
TestClockProcessors(
    VOID
    )
{
    static const struct {
        ULONG_PTR Processors;
        NTSTATUS Status;
        BOOLEAN WorkerPrepares;
    } Cases[] = {
        { 0x1, STATUS_SUCCESS, FALSE },
        { 0x3, STATUS_SUCCESS, FALSE },
        { 0x8000000000000001ULL, STATUS_SUCCESS, FALSE },
        { 0x7, STATUS_SUCCESS, TRUE },
        { 0xFFFFFFFFFFFFFFFFULL, STATUS_SUCCESS, TRUE },
        { 0, STATUS_SUCCESS, TRUE },
        { 0x3, STATUS_ACCESS_DENIED, TRUE },
    };

    static ULONGLONG volatile Place;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Index;

    TestOptions.Clock = TRACE_CLOCK_THREAD;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        if (!TestOpenSession(0x100000, TRUE, &Session, &Store)) {
            return;
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(Session->WorkerPrepares);

        TestProcessors = Cases[Index].Processors;
        if (!NT_SUCCESS(Cases[Index].Status)) {
            TestFault.Routine = TestRoutineNtQueryInformationProcess;
            TestFault.Call =
                TestCalls[TestRoutineNtQueryInformationProcess] + 1;
            TestFault.Status = Cases[Index].Status;
        }
        TEST_SUCCESS(TraceClockStart(Session, &Place));
        TestFault.Call = 0;
        TEST_EQUAL(Session->WorkerPrepares, Cases[Index].WorkerPrepares);

        //
        // Twenty views of a megabyte.
        //

        TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
        TEST_EQUAL(TestAppendMany(Store, 0, 20 * 65536), 20 * 65536);
        if (!Cases[Index].WorkerPrepares) {
            TEST_EQUAL(Store->Header->NumberOfViewsMappedInline,
                       Store->Header->NumberOfViewChanges);
            TEST(Store->Next.Base == NULL);
            TEST(Store->Retired[0] == NULL);
        }
        TestEndSession(Session);
    }
}

//
// The depths of a thread's stacks.
//

static
BOOLEAN
TestFrontDepth(
    PTRACE_STORE Store,
    ULONGLONG StackBase,
    ULONG Count
    )
{
    return TEST_EQUAL(Store->Depth->StackBase, StackBase) &&
           TEST_EQUAL(Store->Depth->Count, Count) &&
           TEST_EQUAL(Store->Depth->Skipped, 0);
}

static
VOID
TestSwitchTo(
    PTRACE_STORE Store,
    ULONGLONG StackBase
    )
{
    ULONGLONG Real;

    Real = __readgsqword(0x08);
    __writegsqword(0x08, StackBase);
    TraceDepthSwitch(Store);
    __writegsqword(0x08, Real);
}

static
VOID
TestDepths(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    PTRACE_DEPTH Depth;
    RTL_ERROR Error;
    ULONGLONG Real;
    ULONG Index;
    LONG Before;

    TestOptions.MaximumDepth = TRACE_MAXIMUM_DEPTH;
    if (!TestOpenSession(0, FALSE, &Session, &Store)) {
        return;
    }
    Real = __readgsqword(0x08);
    TestFrontDepth(Store, Real, 0);
    TEST_EQUAL(Store->Header->MaximumDepth, TRACE_MAXIMUM_DEPTH);
    TEST_EQUAL(Store->Depth->Maximum, TRACE_MAXIMUM_DEPTH);
    Store->Depth->Calls[TRACE_MAXIMUM_DEPTH - 1].Stack = 1;
    Store->Depth->Count = 1;

    //
    // As many stacks as there may be, each of which keeps what it has.
    //

    for (Index = 1; Index < TRACE_DEPTH_STACKS; Index += 1) {
        TestSwitchTo(Store, Real + Index * 0x100000ull);
        TestFrontDepth(Store, Real + Index * 0x100000ull, 0);
        Store->Depth->Count = Index + 1;
    }
    Before = TestCalls[TestRoutineNtAllocateVirtualMemory];
    for (Index = 0; Index < TRACE_DEPTH_STACKS; Index += 1) {
        TestSwitchTo(Store, Real + Index * 0x100000ull);
        TestFrontDepth(Store, Real + Index * 0x100000ull, Index + 1);
    }

    //
    // One more takes the place of the one that was used least recently, which
    // comes back empty in place of the next.
    //

    TestSwitchTo(Store, Real + 1 * 0x100000ull);
    TestSwitchTo(Store, Real + 5000 * 0x100000ull);
    TestFrontDepth(Store, Real + 5000 * 0x100000ull, 0);
    TestSwitchTo(Store, Real);
    TestFrontDepth(Store, Real, 0);
    TestSwitchTo(Store, Real + 1 * 0x100000ull);
    TestFrontDepth(Store, Real + 1 * 0x100000ull, 2);
    TestSwitchTo(Store, Real + 3 * 0x100000ull);
    TestFrontDepth(Store, Real + 3 * 0x100000ull, 4);
    TEST_EQUAL(TestCalls[TestRoutineNtAllocateVirtualMemory], Before);

    Index = 0;
    for (Depth = Store->Depth; Depth != NULL; Depth = Depth->Next) {
        Index += 1;
    }
    TEST_EQUAL(Index, TRACE_DEPTH_STACKS);
    TestEndSession(Session);

    //
    // Without memory the same happens earlier; and a new thread has no store.
    //

    TestOptions.MaximumDepth = 3;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TestSwitchTo(Store, Real + 0x100000);
        Store->Depth->Count = 2;
        TestFault.Routine = TestRoutineNtAllocateVirtualMemory;
        TestFault.Call = TestCalls[TestRoutineNtAllocateVirtualMemory] + 1;
        TestFault.Status = STATUS_NO_MEMORY;
        TestFault.Sticky = TRUE;
        TestSwitchTo(Store, Real + 0x200000);
        TestFrontDepth(Store, Real + 0x200000, 0);
        TestSwitchTo(Store, Real + 0x100000);
        TestFrontDepth(Store, Real + 0x100000, 2);
        TEST(Store->Depth->Next->Next == NULL);
        TEST_STATUS(TraceStoreOpen(Session, &Second, &Error), STATUS_NO_MEMORY);
        TEST(Error.Step != NULL && Error.Step[0] != '\0');
        TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1);
        TestEndSession(Session);
    }
}

//
// The log: step, object and status on one line, in the session directory once
// there is one; a bounded number of lines.
//

static
BOOLEAN
TestContains(
    const CHAR *Text,
    ULONG LengthInBytes,
    PCSZ Wanted
    )
{
    ULONG Index;
    ULONG Length;

    Length = RtlLengthOfString(Wanted);
    for (Index = 0; Index + Length <= LengthInBytes; Index += 1) {
        if (RtlAreBytesEqual(Text + Index, Wanted, Length)) {
            return TRUE;
        }
    }
    return FALSE;
}

static
VOID
TestLog(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    UNICODE_STRING Object;
    HANDLE File;
    DWORD Read;
    ULONG Index;
    ULONG Lines;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));

    RtlPointUnicodeString(&Object, L"the object", 10);
    for (Index = 0; Index < TRACE_LOG_MAXIMUM_ERRORS + 50; Index += 1) {
        RtlSetError(&Error, "testing the log", &Object, STATUS_DISK_FULL);
        TraceLogError(Session, &Error, "nothing happens");
    }

    File = CreateFileW(TestSessionPath(Session, L"TestTraceStore.exe.log"),
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (TEST(File != INVALID_HANDLE_VALUE)) {
        Read = 0;
        ReadFile(File, TestUtf8, sizeof(TestUtf8), &Read, NULL);
        CloseHandle(File);
        TEST(TestContains(TestUtf8, Read, "testing the log"));
        TEST(TestContains(TestUtf8, Read, "the object"));
        TEST(TestContains(TestUtf8, Read, "0xC000007F"));
        TEST(TestContains(TestUtf8, Read, "STATUS_DISK_FULL"));
        TEST(TestContains(TestUtf8, Read, "nothing happens"));
        Lines = 0;
        for (Index = 0; Index < Read; Index += 1) {
            Lines += (TestUtf8[Index] == '\n');
        }
        TEST_EQUAL(Lines, TRACE_LOG_MAXIMUM_ERRORS);
    }

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

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

static
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

static
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

static
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

static
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
        TEST_SUCCESS(TraceSessionOpenDirectory(Session, &Directory, &Error));

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

//
// Runs the tests of the writer.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    UNREFERENCED_PARAMETER(Allocator);

    TestReal = Rtl;
    TestMainThreadId = GetCurrentThreadId();
    TestMakeCountingRtl();
    if (!TEST(TestCreateDirectory(&TestFolder))) {
        return;
    }

    TestLifeOfAStore();
    TestHeaderFields();
    TestAnchors();
    TestNames();
    TestViewSizes();
    TestFaults(FALSE);
    TestFaults(TRUE);
    TestWorkerPrepares();
    TestWorkerStops();
    TestSlowDisk();
    TestThreads();
    TestManyStores();
    TestProcessExit();
    TestKills();
    TestTerminatedWorkers();
    TestInvariant();
    TestDemand();
    TestSlowViews();
    TestWaits();
    TestFlush();
    TestCoherence();
    TestMaximumBytes();
    TestRings();
    TestClockThread();
    TestClockProcessors();
    TestDepths();
    TestLog();
    TestControlRaces();
    TestControlSteps(FALSE);
    TestControlSteps(TRUE);
    TestControlGivenUp();
    TestControlRefused();

    TestDeleteTree(&TestFolder);
}

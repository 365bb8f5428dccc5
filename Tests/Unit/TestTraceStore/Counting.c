/*++

Module Name:

    Counting.c

Abstract:

    An RTL that counts what it hands out and what is given back, and that fails,
    waits or ends a thread where a test wants it.

--*/

#include "TestTraceStore.h"

//
// The flags register's intrinsics, where windows.h does not bring them.
//

#ifdef __MINGW64_VERSION_MAJOR
#include <ia32intrin.h>
#endif

#define TEST_TRAP_FLAG  0x100

PCRTL TestReal;
RTL TestCounting;
TEST_PATH TestFolder;
TEST_PATH TestRoot;
WCHAR TestText[RTL_MAXIMUM_PATH_IN_CHARS];
CHAR TestUtf8[3 * RTL_MAXIMUM_PATH_IN_CHARS];

TEST_FAULT TestFault;

volatile LONG TestDelayMilliseconds;
ULONG TestMainThreadId;
volatile LONG TestCalls[TestNumberOfRoutines];
volatile LONG TestOpenHandles;
volatile LONG TestLiveAllocations;
volatile LONG TestBadCalls;
ULONG TestAdvances;
ULONG TestCalled;
ULONGLONG TestLargestFile;

TRACE_SESSION_PARAMETERS TestOptions;

PTRACE_STORE_HEADER volatile TestRing;
volatile LONG TestBadRingWrites;
BOOLEAN TestForgetsFirstPosition;

BOOLEAN TestSwallowsWrites;
ULONGLONG TestHiddenBelow;
TEST_AT_WRITE *volatile TestAtWrite;

volatile LONG TestStopPlace;
volatile LONG TestPlaces;
static LONG TestStepsLeft;
static PVOID TestStepHandler;

BOOLEAN TestKeepsSuspended;

ULONG_PTR TestProcessors;

ULONGLONG TestVolumeSize;
ULONGLONG TestVolumeFree;
ULONG TestVolumeUnit;

volatile LONG TestKillPlace;
volatile LONG TestKilled;
HANDLE volatile TestKillSection;
PVOID volatile TestKillBase;
ULONG volatile TestEndingThread;
HANDLE volatile TestKillThread;

PVOID TestMisnamedAs;

TEST_VIEW TestViews[TEST_MAXIMUM_VIEWS];
volatile LONG TestNumberOfViews;

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

//
// Another place.  A thread that is stopped while it has a lock which the one
// that tests wants ends before that asks it to.
//

#define TEST_STOPPED    2000            // milliseconds

static
VOID
TestCountPlace(
    VOID
    )
{
    ULONG Tries;

    TestPlaces += 1;
    if (TestPlaces == TestStopPlace) {
        InterlockedExchange(&TestKilled, 1);
        for (Tries = 0; TestStopPlace != 0 && Tries < TEST_STOPPED; Tries++) {
            Sleep(1);
        }
        ExitThread(0);
    }
}

static
BOOLEAN
TestHasPlaces(
    VOID
    )
{
    return TestStopPlace != 0 && GetCurrentThreadId() != TestMainThreadId;
}

VOID
TestEndSteps(
    VOID
    )
{
    if (TestHasPlaces()) {
        __writeeflags(__readeflags() & ~(ULONGLONG)TEST_TRAP_FLAG);
        TestStepsLeft = 0;
    }
}

static
VOID
TestEnter(
    VOID
    )
{
    TestEndSteps();
    if (TestHasPlaces()) {
        TestCountPlace();
    }
}

static
NTSTATUS
TestLeave(
    NTSTATUS Status
    )
{
    if (TestHasPlaces()) {
        TestCountPlace();
        TestStepsLeft = TEST_STEPS;
        __writeeflags(__readeflags() | TEST_TRAP_FLAG);
    }
    return Status;
}

//
// A step.  The instruction that fills a view has as many as the view has bytes:
// it is carried out here, in two.
//

static
LONG
NTAPI
TestStep(
    PEXCEPTION_POINTERS Pointers
    )
{
    PCONTEXT Context;
    ULONG64 Count;

    Context = Pointers->ContextRecord;
    if (Pointers->ExceptionRecord->ExceptionCode !=
        (DWORD)EXCEPTION_SINGLE_STEP ||
        GetCurrentThreadId() == TestMainThreadId) {

        return EXCEPTION_CONTINUE_SEARCH;
    }

    if (TestStepsLeft > 0 && TestStopPlace != 0) {
        TestCountPlace();
        TestStepsLeft -= 1;
        if (Context->Rcx > 16 && ((PBYTE)Context->Rip)[0] == 0xF3 &&
            ((PBYTE)Context->Rip)[1] == 0xAA) {

            Count = Context->Rcx / 2;
            RtlFillBytes((PVOID)Context->Rdi, Count, (BYTE)Context->Rax);
            Context->Rdi += Count;
            Context->Rcx -= Count;
            TestCountPlace();
            RtlFillBytes((PVOID)Context->Rdi,
                         Context->Rcx - 1,
                         (BYTE)Context->Rax);
            Context->Rdi += Context->Rcx - 1;
            Context->Rcx = 1;
            TestStepsLeft += 50;
        }
        Context->EFlags |= TEST_TRAP_FLAG;
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

_Use_decl_annotations_
VOID
TestBeginPlaces(
    LONG StopPlace
    )
{
    if (TestStepHandler == NULL) {
        TestStepHandler = AddVectoredExceptionHandler(1, TestStep);
    }
    TestPlaces = 0;
    TestStepsLeft = 0;
    InterlockedExchange(&TestStopPlace, StopPlace);
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
    NTSTATUS Status;

    TestEnter();

    if (TestIsDue(TestRoutineNtSetInformationFile)) {
        return TestLeave(TestFault.Status);
    }

    TestDelay();

    if (FileInformationClass == RTL_FILE_END_OF_FILE_INFORMATION &&
        TestLargestFile < *(PULONGLONG)FileInformation) {

        TestLargestFile = *(PULONGLONG)FileInformation;
    }

    Status = TestReal->NtSetInformationFile(FileHandle,
                                            IoStatusBlock,
                                            FileInformation,
                                            Length,
                                            FileInformationClass);
    return TestLeave(Status);
}

static
NTSTATUS
NTAPI
TestNtClose(
    HANDLE Handle
    )
{
    NTSTATUS Status;

    TestEnter();

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
    return TestLeave(Status);
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

    TestEnter();

    if (TestIsDue(TestRoutineNtCreateSection)) {
        return TestLeave(TestFault.Status);
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
    return TestLeave(Status);
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

    TestEnter();

    if (TestIsDue(TestRoutineNtMapViewOfSection)) {
        return TestLeave(TestFault.Status);
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
            return TestLeave(Status);
        }
        TestViews[Index].Base = *BaseAddress;
        TestViews[Index].FileOffset = (SectionOffset == NULL) ?
            0 : (ULONGLONG)SectionOffset->QuadPart;
        TestViews[Index].SizeInBytes = *ViewSize;
        InterlockedExchange(&TestViews[Index].Live, 1);
    }

    TestMaybeKill(TEST_KILL_MAPPED, *BaseAddress);
    return TestLeave(Status);
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

    TestEnter();

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
    return TestLeave(Status);
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
    NTSTATUS Status;

    TestEnter();

    Status = TestReal->NtQueryVirtualMemory(ProcessHandle,
                                            TestMisnamedAs != NULL ?
                                            TestMisnamedAs : BaseAddress,
                                            InformationClass,
                                            Information,
                                            SizeInBytes,
                                            ReturnSize);
    return TestLeave(Status);
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

    TestEnter();

    if (TestIsDue(TestRoutineNtAllocateVirtualMemory)) {
        return TestLeave(TestFault.Status);
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
    return TestLeave(Status);
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

    TestEnter();

    Status = TestReal->NtFreeVirtualMemory(ProcessHandle,
                                           BaseAddress,
                                           RegionSize,
                                           FreeType);
    if (NT_SUCCESS(Status)) {
        InterlockedDecrement(&TestLiveAllocations);
    } else {
        InterlockedIncrement(&TestBadCalls);
    }
    return TestLeave(Status);
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
// What a quota leaves to the caller is less than what is free.
//

static
NTSTATUS
NTAPI
TestNtQueryVolumeInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Information,
    ULONG Length,
    ULONG InformationClass
    )
{
    RTL_VOLUME_SIZE *Size;
    ULONGLONG Free;
    ULONG Unit;

    TestEnter();

    UNREFERENCED_PARAMETER(FileHandle);
    UNREFERENCED_PARAMETER(IoStatus);

    if (TestIsDue(TestRoutineNtQueryVolumeInformationFile)) {
        return TestLeave(TestFault.Status);
    }
    if (InformationClass != 7 || Length != 32) {
        InterlockedIncrement(&TestBadCalls);
        return TestLeave(STATUS_INFO_LENGTH_MISMATCH);
    }

    Unit = TestVolumeUnit == 0 ? 1 : TestVolumeUnit * 512;
    Free = TestVolumeFree > TestLargestFile ?
           TestVolumeFree - TestLargestFile : 0;
    Size = (RTL_VOLUME_SIZE *)Information;
    Size->Total.QuadPart = (LONGLONG)(TestVolumeSize / Unit);
    Size->CallerFree.QuadPart = (LONGLONG)(Free / Unit);
    Size->Free.QuadPart = INT64_MAX;
    Size->SectorsPerUnit = TestVolumeUnit;
    Size->BytesPerSector = 512;
    return TestLeave(STATUS_SUCCESS);
}

LONGLONG volatile TestClock = 1000;
LONG volatile TestClockStep = 1;

PTRACE_STORE TestPacedStore;
ULONGLONG TestPacedTicks;

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

ULONGLONG TestWriteTicks;
LONG TestWriteView;

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
    ULONGLONG Offset;

    TestEnter();

    if (TestIsDue(TestRoutineNtWriteFile)) {
        return TestLeave(TestFault.Status);
    }

    Offset = (ULONGLONG)ByteOffset->QuadPart;
    TestCheckRingPlace(Offset, Length);
    if (TestLargestFile < Offset + Length) {
        TestLargestFile = Offset + Length;
    }
    if (TestAtWrite != NULL) {
        TestAtWrite(Offset, Buffer, Length, FALSE);
    }

    if (TestSwallowsWrites || Offset < TestHiddenBelow) {
        IoStatusBlock->Information = Length;
        return TestLeave(STATUS_SUCCESS);
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
    if (TestAtWrite != NULL) {
        TestAtWrite(Offset, Buffer, Length, TRUE);
    }
    return TestLeave(Status);
}

static
NTSTATUS
NTAPI
TestNtReadFile(
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

    TestEnter();

    if (TestIsDue(TestRoutineNtReadFile)) {
        return TestLeave(TestFault.Status);
    }

    Status = TestReal->NtReadFile(FileHandle,
                                  Event,
                                  ApcRoutine,
                                  ApcContext,
                                  IoStatusBlock,
                                  Buffer,
                                  Length,
                                  ByteOffset,
                                  Key);
    return TestLeave(Status);
}

static
NTSTATUS
NTAPI
TestNtFlushBuffersFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatusBlock
    )
{
    NTSTATUS Status;

    TestEnter();

    if (TestIsDue(TestRoutineNtFlushBuffersFile)) {
        return TestLeave(TestFault.Status);
    }

    Status = TestReal->NtFlushBuffersFile(FileHandle, IoStatusBlock);
    return TestLeave(Status);
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
    TestCounting.NtQueryVolumeInformationFile =
        TestNtQueryVolumeInformationFile;
    TestCounting.NtQueryPerformanceCounter = TestNtQueryPerformanceCounter;
    TestCounting.NtWriteFile = TestNtWriteFile;
    TestCounting.NtReadFile = TestNtReadFile;
    TestCounting.NtFlushBuffersFile = TestNtFlushBuffersFile;
    TestCounting.NtFlushVirtualMemory = TestNtFlushVirtualMemory;
    TestCounting.NtResumeThread = TestNtResumeThread;
}

_Use_decl_annotations_
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
    TestHiddenBelow = 0;
    TestAtWrite = NULL;
    TestStopPlace = 0;
}

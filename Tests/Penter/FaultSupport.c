/*++

Module Name:

    FaultSupport.c

Abstract:

    The seam of TestFaults.  The wrappers are generated from the RTL's lists, so
    that no routine can be left out; all of them are FaultCall.

    Every routine of the lists takes at most eleven integers or pointers and
    returns one, so a wrapper takes eleven and hands on eleven: those that the
    caller has not passed are whatever lies on its stack, and nobody looks at
    them.

--*/

#include "FaultSupport.h"

typedef
ULONG_PTR
(NTAPI FAULT_ROUTINE)(
    ULONG_PTR A0,
    ULONG_PTR A1,
    ULONG_PTR A2,
    ULONG_PTR A3,
    ULONG_PTR A4,
    ULONG_PTR A5,
    ULONG_PTR A6,
    ULONG_PTR A7,
    ULONG_PTR A8,
    ULONG_PTR A9,
    ULONG_PTR A10
    );
typedef FAULT_ROUTINE *PFAULT_ROUTINE;

#define FAULT_NUMBER_OF_ARGUMENTS 11

#define FAULT_NAME(Type, Name) #Name,
const PCSZ FaultNames[FaultNumberOfRoutines] = { FAULT_ROUTINES(FAULT_NAME) };

//
// The failures that Microsoft documents for each routine, or for what it does
// (the Zw routines of the WDK, the Win32 routine above it with its error
// translated back, and [MS-ERREF] for what a file system returns).  Routines
// that are not here cannot fail: RtlUpcaseUnicodeChar, GetCommandLineW,
// OutputDebugStringW, RtlDllShutdownInProgress; or the writer does not call
// them, which the test checks.
//

#define FAULT_STATUS(Name, Status) \
    { Fault##Name, (ULONG)(Status), 0, (NTSTATUS)(Status) },

#define FAULT_WIN32(Name, Value, Error, Status) \
    { Fault##Name, (ULONG)(Value), (Error), (NTSTATUS)(Status) },

const FAULT_ERROR FaultErrors[] = {
    FAULT_STATUS(NtCreateFile, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtCreateFile, STATUS_OBJECT_NAME_COLLISION)
    FAULT_STATUS(NtCreateFile, STATUS_OBJECT_NAME_NOT_FOUND)
    FAULT_STATUS(NtCreateFile, STATUS_OBJECT_PATH_NOT_FOUND)
    FAULT_STATUS(NtCreateFile, STATUS_OBJECT_NAME_INVALID)
    FAULT_STATUS(NtCreateFile, STATUS_SHARING_VIOLATION)
    FAULT_STATUS(NtCreateFile, STATUS_DISK_FULL)
    FAULT_STATUS(NtCreateFile, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtCreateFile, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtCreateFile, STATUS_TOO_MANY_OPENED_FILES)
    FAULT_STATUS(NtCreateFile, STATUS_MEDIA_WRITE_PROTECTED)
    FAULT_STATUS(NtCreateFile, STATUS_DELETE_PENDING)
    FAULT_STATUS(NtCreateFile, STATUS_FILE_IS_A_DIRECTORY)
    FAULT_STATUS(NtCreateFile, STATUS_NOT_A_DIRECTORY)
    FAULT_STATUS(NtWriteFile, STATUS_DISK_FULL)
    FAULT_STATUS(NtWriteFile, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtWriteFile, STATUS_FILE_LOCK_CONFLICT)
    FAULT_STATUS(NtWriteFile, STATUS_IO_DEVICE_ERROR)
    FAULT_STATUS(NtQueryInformationFile, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtQueryInformationFile, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtSetInformationFile, STATUS_DISK_FULL)
    FAULT_STATUS(NtSetInformationFile, STATUS_USER_MAPPED_FILE)
    FAULT_STATUS(NtSetInformationFile, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtSetInformationFile, STATUS_FILE_SYSTEM_LIMITATION)
    FAULT_STATUS(NtSetInformationFile, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtSetInformationFile, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtSetInformationFile, STATUS_IO_DEVICE_ERROR)
    FAULT_STATUS(NtQueryVolumeInformationFile, STATUS_INVALID_DEVICE_REQUEST)
    FAULT_STATUS(NtQueryVolumeInformationFile, STATUS_NETWORK_NAME_DELETED)
    FAULT_STATUS(NtSetInformationObject, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtSetInformationObject, STATUS_INVALID_INFO_CLASS)
    FAULT_STATUS(NtClose, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtClose, STATUS_HANDLE_NOT_CLOSABLE)
    FAULT_STATUS(NtCreateSection, STATUS_NO_MEMORY)
    FAULT_STATUS(NtCreateSection, STATUS_DISK_FULL)
    FAULT_STATUS(NtCreateSection, STATUS_COMMITMENT_LIMIT)
    FAULT_STATUS(NtCreateSection, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtCreateSection, STATUS_FILE_LOCK_CONFLICT)
    FAULT_STATUS(NtCreateSection, STATUS_SECTION_TOO_BIG)
    FAULT_STATUS(NtCreateSection, STATUS_INVALID_FILE_FOR_SECTION)
    FAULT_STATUS(NtMapViewOfSection, STATUS_NO_MEMORY)
    FAULT_STATUS(NtMapViewOfSection, STATUS_CONFLICTING_ADDRESSES)
    FAULT_STATUS(NtMapViewOfSection, STATUS_INVALID_VIEW_SIZE)
    FAULT_STATUS(NtMapViewOfSection, STATUS_SECTION_PROTECTION)
    FAULT_STATUS(NtMapViewOfSection, STATUS_MAPPED_ALIGNMENT)
    FAULT_STATUS(NtMapViewOfSection, STATUS_COMMITMENT_LIMIT)
    FAULT_STATUS(NtMapViewOfSection, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtUnmapViewOfSection, STATUS_NOT_MAPPED_VIEW)
    FAULT_STATUS(NtUnmapViewOfSection, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtAllocateVirtualMemory, STATUS_NO_MEMORY)
    FAULT_STATUS(NtAllocateVirtualMemory, STATUS_COMMITMENT_LIMIT)
    FAULT_STATUS(NtAllocateVirtualMemory, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtAllocateVirtualMemory, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtAllocateVirtualMemory, STATUS_CONFLICTING_ADDRESSES)
    FAULT_STATUS(NtFreeVirtualMemory, STATUS_UNABLE_TO_FREE_VM)
    FAULT_STATUS(NtFreeVirtualMemory, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtFlushVirtualMemory, STATUS_NOT_MAPPED_DATA)
    FAULT_STATUS(NtFlushVirtualMemory, STATUS_FILE_LOCK_CONFLICT)
    FAULT_STATUS(NtFlushVirtualMemory, STATUS_DISK_FULL)
    FAULT_STATUS(NtFlushVirtualMemory, STATUS_IO_DEVICE_ERROR)
    FAULT_STATUS(NtProtectVirtualMemory, FAULT_DYNAMIC_CODE_BLOCKED)
    FAULT_STATUS(NtProtectVirtualMemory, STATUS_SECTION_PROTECTION)
    FAULT_STATUS(NtProtectVirtualMemory, STATUS_COMMITMENT_LIMIT)
    FAULT_STATUS(NtCreateEvent, STATUS_NO_MEMORY)
    FAULT_STATUS(NtCreateEvent, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtCreateEvent, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtSetEvent, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtSetEvent, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtWaitForSingleObject, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtWaitForSingleObject, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtWaitForMultipleObjects, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtWaitForMultipleObjects, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtWaitForMultipleObjects, STATUS_NO_MEMORY)
    FAULT_STATUS(NtGetNextThread, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtGetNextThread, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtGetNextThread, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtDuplicateObject, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtDuplicateObject, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtReadVirtualMemory, STATUS_PARTIAL_COPY)
    FAULT_STATUS(NtReadVirtualMemory, STATUS_ACCESS_VIOLATION)
    FAULT_STATUS(NtReadVirtualMemory, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtSignalAndWaitForSingleObject, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtSignalAndWaitForSingleObject, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtDelayExecution, STATUS_ALERTED)
    FAULT_STATUS(NtYieldExecution, STATUS_NO_YIELD_PERFORMED)
    FAULT_STATUS(NtCreateThreadEx, STATUS_NO_MEMORY)
    FAULT_STATUS(NtCreateThreadEx, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtCreateThreadEx, STATUS_QUOTA_EXCEEDED)
    FAULT_STATUS(NtCreateThreadEx, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtCreateThreadEx, STATUS_PROCESS_IS_TERMINATING)
    FAULT_STATUS(NtResumeThread, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtResumeThread, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtTerminateThread, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtTerminateThread, STATUS_INVALID_HANDLE)
    FAULT_STATUS(NtQueryInformationThread, STATUS_INVALID_INFO_CLASS)
    FAULT_STATUS(NtQueryInformationThread, STATUS_INFO_LENGTH_MISMATCH)
    FAULT_STATUS(NtQueryInformationThread, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtQueryInformationProcess, STATUS_INVALID_INFO_CLASS)
    FAULT_STATUS(NtQueryInformationProcess, STATUS_INFO_LENGTH_MISMATCH)
    FAULT_STATUS(NtQueryInformationProcess, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtOpenProcessToken, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtOpenProcessToken, STATUS_INSUFFICIENT_RESOURCES)
    FAULT_STATUS(NtQueryInformationToken, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtQueryInformationToken, STATUS_INVALID_INFO_CLASS)
    FAULT_STATUS(NtQuerySecurityObject, STATUS_ACCESS_DENIED)
    FAULT_STATUS(NtQuerySecurityObject, STATUS_INVALID_DEVICE_REQUEST)
    FAULT_STATUS(NtQuerySystemTime, STATUS_ACCESS_VIOLATION)
    FAULT_STATUS(NtQueryPerformanceCounter, STATUS_ACCESS_VIOLATION)
    FAULT_STATUS(RtlQueryEnvironmentVariable_U, STATUS_VARIABLE_NOT_FOUND)
    FAULT_STATUS(RtlQueryEnvironmentVariable_U, STATUS_BUFFER_TOO_SMALL)
    FAULT_WIN32(TlsAlloc, TLS_OUT_OF_INDEXES, ERROR_NO_MORE_ITEMS,
                STATUS_NO_MEMORY)
    FAULT_WIN32(TlsFree, FALSE, ERROR_INVALID_PARAMETER, STATUS_SUCCESS)
    FAULT_WIN32(TlsSetValue, FALSE, ERROR_NOT_ENOUGH_MEMORY, STATUS_NO_MEMORY)
    FAULT_WIN32(FlsAlloc, FLS_OUT_OF_INDEXES, ERROR_NO_MORE_ITEMS,
                STATUS_SUCCESS)
    FAULT_WIN32(FlsFree, FALSE, ERROR_INVALID_PARAMETER, STATUS_SUCCESS)
    FAULT_WIN32(FlsSetValue, FALSE, ERROR_NOT_ENOUGH_MEMORY, STATUS_SUCCESS)
    FAULT_WIN32(RtlAddVectoredExceptionHandler, 0, ERROR_NOT_ENOUGH_MEMORY,
                STATUS_NO_MEMORY)
    FAULT_WIN32(GetModuleFileNameW, 0, ERROR_NOT_ENOUGH_MEMORY,
                STATUS_NOT_FOUND)
    FAULT_WIN32(GetFullPathNameW, 0, ERROR_INVALID_NAME,
                STATUS_OBJECT_NAME_INVALID)
    FAULT_WIN32(GetFullPathNameW, 0, ERROR_FILENAME_EXCED_RANGE,
                STATUS_NAME_TOO_LONG)
    FAULT_WIN32(GetTempPathW, 0, ERROR_NOT_ENOUGH_MEMORY, STATUS_SUCCESS)
};

const ULONG FaultNumberOfErrors = RTL_NUMBER_OF(FaultErrors);

FAULT FaultCurrent;
volatile LONG FaultCalls[FaultNumberOfRoutines];
volatile LONG FaultFired;
volatile LONG FaultBadCalls;
CHAR FaultText[FAULT_TEXT_CAPACITY];
ULONG FaultTextLength;
volatile LONG FaultNumberOfReports;

static PVOID FaultReal[FaultNumberOfRoutines];
static volatile LONGLONG FaultClock;

//
// The worker: how many there are, whether it waits to be woken, whether
// somebody has done so since, and how many threads it has seen end.
//

static volatile LONG FaultWorkers;
static volatile LONG FaultWorkerWaits;
static volatile LONG FaultWakePending;
static volatile LONG FaultThreadEnds;

//
// What the library has: handles, views, memory, slots.  An entry is claimed
// by compare-exchange: a wrapper may be left by a thread that is terminated in
// it.
//

#define FAULT_OBJECT_HANDLE     1
#define FAULT_OBJECT_VIEW       2
#define FAULT_OBJECT_MEMORY     3
#define FAULT_OBJECT_TLS        4
#define FAULT_OBJECT_FLS        5
#define FAULT_OBJECT_THREAD     6       // one that could not be terminated
#define FAULT_OBJECT_HANDLER    7       // stays as long as the process

#define FAULT_MAXIMUM_OBJECTS   1024

typedef struct _FAULT_OBJECT {
    volatile LONG Kind;                 // 0: free, -1: being filled
    volatile LONG Refused;              // the library tried to give it back
    ULONG_PTR Value;
} FAULT_OBJECT;

static FAULT_OBJECT FaultObjects[FAULT_MAXIMUM_OBJECTS];

static
VOID
FaultAddObject(
    LONG Kind,
    ULONG_PTR Value,
    LONG Refused
    )
{
    ULONG Index;

    for (Index = 0; Index < FAULT_MAXIMUM_OBJECTS; Index += 1) {
        if (FaultObjects[Index].Kind == 0 &&
            InterlockedCompareExchange(&FaultObjects[Index].Kind, -1, 0) ==
            0) {

            FaultObjects[Index].Value = Value;
            FaultObjects[Index].Refused = Refused;
            InterlockedExchange(&FaultObjects[Index].Kind, Kind);
            return;
        }
    }
    InterlockedIncrement(&FaultBadCalls);
}

static
FAULT_OBJECT *
FaultFindObject(
    LONG Kind,
    ULONG_PTR Value
    )
{
    ULONG Index;

    for (Index = 0; Index < FAULT_MAXIMUM_OBJECTS; Index += 1) {
        if (FaultObjects[Index].Kind == Kind &&
            FaultObjects[Index].Value == Value &&
            FaultObjects[Index].Refused == 0) {

            return &FaultObjects[Index];
        }
    }
    return NULL;
}

//
// What a routine gives back, if that is what it does.
//

static
LONG
FaultReleases(
    ULONG Routine,
    const ULONG_PTR *Arguments,
    ULONG_PTR *Value
    )
{
    switch (Routine) {
    case FaultNtClose:
        *Value = Arguments[0];
        return FAULT_OBJECT_HANDLE;
    case FaultNtUnmapViewOfSection:
        *Value = Arguments[1];
        return FAULT_OBJECT_VIEW;
    case FaultNtFreeVirtualMemory:
        *Value = *(ULONG_PTR *)Arguments[1];
        return FAULT_OBJECT_MEMORY;
    case FaultTlsFree:
        *Value = (ULONG)Arguments[0];
        return FAULT_OBJECT_TLS;
    case FaultFlsFree:
        *Value = (ULONG)Arguments[0];
        return FAULT_OBJECT_FLS;
    default:
        return 0;
    }
}

//
// Notes what a call that succeeded has made.
//

static
VOID
FaultTrack(
    ULONG Routine,
    const ULONG_PTR *Arguments,
    ULONG_PTR Result
    )
{
    switch (Routine) {
    case FaultNtCreateFile:
    case FaultNtCreateSection:
    case FaultNtCreateEvent:
    case FaultNtCreateThreadEx:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_HANDLE,
                           *(ULONG_PTR *)Arguments[0],
                           0);
            if (Routine == FaultNtCreateThreadEx) {
                FaultWorkers = 1;
            }
        }
        break;
    case FaultNtGetNextThread:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_HANDLE,
                           *(ULONG_PTR *)Arguments[5],
                           0);
        }
        break;
    case FaultNtOpenProcessToken:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_HANDLE,
                           *(ULONG_PTR *)Arguments[2],
                           0);
        }
        break;
    case FaultNtDuplicateObject:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_HANDLE,
                           *(ULONG_PTR *)Arguments[3],
                           0);
        }
        break;
    case FaultNtMapViewOfSection:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_VIEW,
                           *(ULONG_PTR *)Arguments[2],
                           0);
        }
        break;
    case FaultNtAllocateVirtualMemory:
        if (NT_SUCCESS((NTSTATUS)Result)) {
            FaultAddObject(FAULT_OBJECT_MEMORY,
                           *(ULONG_PTR *)Arguments[1],
                           0);
        }
        break;
    case FaultTlsAlloc:
        if ((ULONG)Result != TLS_OUT_OF_INDEXES) {
            FaultAddObject(FAULT_OBJECT_TLS, (ULONG)Result, 0);
        }
        break;
    case FaultFlsAlloc:
        if ((ULONG)Result != FLS_OUT_OF_INDEXES) {
            FaultAddObject(FAULT_OBJECT_FLS, (ULONG)Result, 0);
        }
        break;
    case FaultRtlAddVectoredExceptionHandler:
        if (Result != 0) {
            FaultAddObject(FAULT_OBJECT_HANDLER, Result, 1);
        }
        break;
    default:
        break;
    }
}

//
// A call that is made to fail: what it should have given back is kept, so that
// FaultCleanUp can do it.
//

static
ULONG_PTR
FaultRefuse(
    ULONG Routine,
    const ULONG_PTR *Arguments
    )
{
    FAULT_OBJECT *Object;
    ULONG_PTR Value;
    HANDLE Thread;
    LONG Kind;

    Kind = FaultReleases(Routine, Arguments, &Value);
    if (Kind != 0) {
        Object = FaultFindObject(Kind, Value);
        if (Object != NULL) {
            Object->Refused = 1;
        } else {
            InterlockedIncrement(&FaultBadCalls);
        }
    }

    if (Routine == FaultNtTerminateThread &&
        DuplicateHandle(GetCurrentProcess(),
                        (HANDLE)Arguments[0],
                        GetCurrentProcess(),
                        &Thread,
                        0,
                        FALSE,
                        DUPLICATE_SAME_ACCESS)) {

        FaultAddObject(FAULT_OBJECT_THREAD, (ULONG_PTR)Thread, 1);
    }

    if (FaultCurrent.Error.LastError != 0) {
        SetLastError(FaultCurrent.Error.LastError);
    }
    return FaultCurrent.Error.Value;
}

static
BOOLEAN
FaultIsDue(
    ULONG Routine,
    LONG Call
    )
{
    if (FaultCurrent.Mode == FAULT_BOTH &&
        Routine == FaultNtCreateThreadEx) {

        return TRUE;
    }
    if (FaultCurrent.Call == 0 || FaultCurrent.Error.Routine != Routine ||
        Call < FaultCurrent.Call ||
        (Call > FaultCurrent.Call && !FaultCurrent.Sticky)) {

        return FALSE;
    }

    InterlockedIncrement(&FaultFired);
    return TRUE;
}

static
VOID
FaultNoteReport(
    PCWSTR Text
    )
{
    static volatile LONG Lock;
    ULONG Written;

    while (InterlockedExchange(&Lock, 1) != 0) {
        YieldProcessor();
    }
    InterlockedIncrement(&FaultNumberOfReports);
    RtlWideToUtf8(Text,
                  RtlLengthOfWideString(Text),
                  FaultText + FaultTextLength,
                  FAULT_TEXT_CAPACITY - FaultTextLength,
                  &Written);
    FaultTextLength += Written;
    InterlockedExchange(&Lock, 0);
}

static
ULONG_PTR
FaultInvoke(
    ULONG Routine,
    const ULONG_PTR *A
    )
{
    return ((PFAULT_ROUTINE)(ULONG_PTR)FaultReal[Routine])(A[0],
                                                           A[1],
                                                           A[2],
                                                           A[3],
                                                           A[4],
                                                           A[5],
                                                           A[6],
                                                           A[7],
                                                           A[8],
                                                           A[9],
                                                           A[10]);
}

//
// A mapping call that hides its failure: there is memory, but not the file's.
//

static
ULONG_PTR
FaultMapPrivate(
    const ULONG_PTR *Arguments
    )
{
    PVOID Base;

    Base = VirtualAlloc((PVOID)*(ULONG_PTR *)Arguments[2],
                        *(SIZE_T *)Arguments[6],
                        MEM_RESERVE | MEM_COMMIT,
                        PAGE_READWRITE);
    *(PVOID *)Arguments[2] = Base;
    return Base == NULL ? (ULONG)STATUS_NO_MEMORY : STATUS_SUCCESS;
}

//
// All the wrappers.
//

static
ULONG_PTR
FaultCall(
    ULONG Routine,
    ULONG_PTR *Arguments
    )
{
    ULONG_PTR Result;
    ULONG_PTR Value;
    FAULT_OBJECT *Object;
    LONG Kind;
    LONG Call;

    Call = InterlockedIncrement(&FaultCalls[Routine]);

    if (FaultIsDue(Routine, Call)) {
        switch (FaultCurrent.Mode) {
        case FAULT_HIDE:
            return STATUS_SUCCESS;
        case FAULT_READ_ONLY:
            Arguments[9] = PAGE_READONLY;
            break;
        case FAULT_PRIVATE:
            return FaultMapPrivate(Arguments);
        case FAULT_BOTH:
            if (Routine == FaultNtCreateThreadEx) {
                return (ULONG)STATUS_ACCESS_DENIED;
            }
            return FaultRefuse(Routine, Arguments);
        default:
            return FaultRefuse(Routine, Arguments);
        }
    }

    if (Routine == FaultOutputDebugStringW) {
        FaultNoteReport((PCWSTR)Arguments[0]);
        return 0;
    }

    //
    // What is given back leaves the list first: another thread may get the same
    // value at once.
    //

    Object = NULL;
    Kind = FaultReleases(Routine, Arguments, &Value);
    if (Kind != 0) {
        Object = FaultFindObject(Kind, Value);
        if (Object == NULL) {
            InterlockedIncrement(&FaultBadCalls);
        } else {
            InterlockedExchange(&Object->Kind, 0);
        }
    }

    //
    // Only the worker waits without a limit: to be woken, or for threads of the
    // program to end.
    //

    if (Routine == FaultNtSetEvent) {
        InterlockedExchange(&FaultWakePending, 1);
    }
    if ((Routine == FaultNtWaitForSingleObject && Arguments[2] == 0) ||
        (Routine == FaultNtWaitForMultipleObjects && Arguments[4] == 0)) {

        InterlockedExchange(&FaultWorkerWaits, 1);
        Result = FaultInvoke(Routine, Arguments);
        if ((NTSTATUS)Result == STATUS_WAIT_0) {
            InterlockedExchange(&FaultWakePending, 0);
        } else {
            InterlockedIncrement(&FaultThreadEnds);
        }
        InterlockedExchange(&FaultWorkerWaits, 0);
        return Result;
    }

    Result = FaultInvoke(Routine, Arguments);

    //
    // How large views are does not depend on the machine's speed: the clock
    // goes by one from one reading to the next.
    //

    if (Routine == FaultNtQueryPerformanceCounter &&
        NT_SUCCESS((NTSTATUS)Result)) {

        *(PLONGLONG)Arguments[0] = InterlockedIncrement64(&FaultClock);
    }

    if (Object != NULL &&
        ((Kind < FAULT_OBJECT_TLS && !NT_SUCCESS((NTSTATUS)Result)) ||
         (Kind >= FAULT_OBJECT_TLS && (BOOL)Result == FALSE))) {

        //
        // A handle whose protection was not taken away cannot be closed.
        //

        FaultAddObject(Kind, Value, 1);
        if (FaultCurrent.Error.Routine != FaultNtSetInformationObject ||
            (NTSTATUS)Result != STATUS_HANDLE_NOT_CLOSABLE) {

            InterlockedIncrement(&FaultBadCalls);
        }
    }
    FaultTrack(Routine, Arguments, Result);
    return Result;
}

#define FAULT_WRAPPER(Type, Name)                                           \
    static                                                                  \
    ULONG_PTR                                                               \
    NTAPI                                                                   \
    FaultWrap##Name(                                                        \
        ULONG_PTR A0,                                                       \
        ULONG_PTR A1,                                                       \
        ULONG_PTR A2,                                                       \
        ULONG_PTR A3,                                                       \
        ULONG_PTR A4,                                                       \
        ULONG_PTR A5,                                                       \
        ULONG_PTR A6,                                                       \
        ULONG_PTR A7,                                                       \
        ULONG_PTR A8,                                                       \
        ULONG_PTR A9,                                                       \
        ULONG_PTR A10                                                       \
        )                                                                   \
    {                                                                       \
        ULONG_PTR Arguments[FAULT_NUMBER_OF_ARGUMENTS];                     \
                                                                            \
        Arguments[0] = A0;                                                  \
        Arguments[1] = A1;                                                  \
        Arguments[2] = A2;                                                  \
        Arguments[3] = A3;                                                  \
        Arguments[4] = A4;                                                  \
        Arguments[5] = A5;                                                  \
        Arguments[6] = A6;                                                  \
        Arguments[7] = A7;                                                  \
        Arguments[8] = A8;                                                  \
        Arguments[9] = A9;                                                  \
        Arguments[10] = A10;                                                \
        return FaultCall(Fault##Name, Arguments);                           \
    }

FAULT_ROUTINES(FAULT_WRAPPER)

#define FAULT_WRAPPER_POINTER(Type, Name) FaultWrap##Name,

static FAULT_ROUTINE *const FaultWrappers[FaultNumberOfRoutines] = {
    FAULT_ROUTINES(FAULT_WRAPPER_POINTER)
};

PVOID
FaultResolve(
    PCSZ Name,
    PVOID Real
    )
{
    ULONG Routine;

    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        if (RtlAreStringsEqual(Name, FaultNames[Routine])) {
            FaultReal[Routine] = Real;
            if (FaultCurrent.Mode == FAULT_MISSING &&
                FaultCurrent.Error.Routine == Routine) {

                InterlockedIncrement(&FaultFired);
                return NULL;
            }
            if (Real == NULL) {
                return NULL;
            }
            return (PVOID)(ULONG_PTR)FaultWrappers[Routine];
        }
    }
    return Real;
}

VOID
FaultBegin(
    PCFAULT Fault
    )
{
    RtlZeroBytes(&FaultCurrent, sizeof(FaultCurrent));
    RtlZeroBytes((PVOID)FaultCalls, sizeof(FaultCalls));
    FaultFired = 0;
    FaultBadCalls = 0;
    FaultTextLength = 0;
    FaultNumberOfReports = 0;
    FaultWorkers = 0;
    FaultWorkerWaits = 0;
    FaultWakePending = 0;
    FaultThreadEnds = 0;
    if (Fault != NULL) {
        FaultCurrent = *Fault;
    }
}

BOOLEAN
FaultSettle(
    ULONG NumberEnded
    )
{
    ULONGLONG Start;

    if (FaultWorkers == 0 || FaultCalls[FaultNtTerminateThread] != 0) {
        return TRUE;
    }

    Start = GetTickCount64();
    while (FaultWorkerWaits == 0 || FaultWakePending != 0 ||
           (FaultCalls[FaultNtWaitForMultipleObjects] != 0 &&
            (ULONG)FaultThreadEnds < NumberEnded)) {

        if (FaultFired != 0 && GetTickCount64() - Start > 50) {
            return FALSE;
        }
        if (GetTickCount64() - Start > 600000) {
            return FALSE;
        }
        SwitchToThread();
    }
    return TRUE;
}

ULONG
FaultCleanUp(
    VOID
    )
{
    ULONG Count;
    ULONG Index;
    LONG Kind;
    FAULT_OBJECT *Object;

    //
    // Views before the files that they are of, threads before all.
    //

    static const LONG Order[] = {
        FAULT_OBJECT_THREAD,
        FAULT_OBJECT_VIEW,
        FAULT_OBJECT_MEMORY,
        FAULT_OBJECT_HANDLE,
        FAULT_OBJECT_TLS,
        FAULT_OBJECT_FLS,
        FAULT_OBJECT_HANDLER
    };
    ULONG Step;
    struct {
        BOOLEAN Inherit;
        BOOLEAN ProtectFromClose;
    } Flags;

    RtlZeroBytes(&Flags, sizeof(Flags));
    Count = 0;

    for (Step = 0; Step < RTL_NUMBER_OF(Order); Step += 1) {
        for (Index = 0; Index < FAULT_MAXIMUM_OBJECTS; Index += 1) {
            Object = &FaultObjects[Index];
            Kind = Object->Kind;
            if (Kind != Order[Step]) {
                continue;
            }
            if (Object->Refused == 0) {
                Count += 1;
            }
            switch (Kind) {
            case FAULT_OBJECT_THREAD:
                TerminateThread((HANDLE)Object->Value, 0);
                WaitForSingleObject((HANDLE)Object->Value, INFINITE);
                CloseHandle((HANDLE)Object->Value);
                break;
            case FAULT_OBJECT_VIEW:
                UnmapViewOfFile((PVOID)Object->Value);
                break;
            case FAULT_OBJECT_MEMORY:
                VirtualFree((PVOID)Object->Value, 0, MEM_RELEASE);
                break;
            case FAULT_OBJECT_HANDLE:
                SetHandleInformation((HANDLE)Object->Value,
                                     HANDLE_FLAG_PROTECT_FROM_CLOSE,
                                     0);
                CloseHandle((HANDLE)Object->Value);
                break;
            case FAULT_OBJECT_TLS:
                TlsFree((DWORD)Object->Value);
                break;
            case FAULT_OBJECT_FLS:
                FlsFree((DWORD)Object->Value);
                break;
            default:
                RemoveVectoredExceptionHandler((PVOID)Object->Value);
                break;
            }
            Object->Kind = 0;
            Object->Refused = 0;
        }
    }
    return Count;
}

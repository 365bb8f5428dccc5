/*++

Module Name:

    ImportsQuiet.c

Abstract:

    The hooks of this DLL are taken apart while the program's threads run.

    They are turned off first, so that no thread gets into them.  Those that are
    in them are waited for: each thread is suspended for a moment to see where
    it is.  One that has called through a stub and has not come back is in no
    hook; it returns through the stub, whose hook does nothing then.  So this
    DLL stays where it is.

    Nothing that a suspended thread may hold is needed meanwhile: there are only
    system calls.  One after the other is waited for, as none gets into the
    hooks again; where the end of a thread would matter the loader's lock is
    held.

--*/

#include "../Penter/PenterInside.h"
#include "../Penter/PenterPatch.h"
#include "../Penter/PenterStart.h"
#include "../Penter/PenterSwitch.h"
#include "ImportsEnvironment.h"

#define IMPORTS_QUIET_TRIES     1000
#define IMPORTS_QUIET_ROUNDS    16
#define IMPORTS_STATUS_PENDING  ((NTSTATUS)0x103)

#define IMPORTS_THREAD_ACCESS                                               \
    (THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_INFORMATION)

typedef struct _IMPORTS_THREAD_BASIC {
    NTSTATUS ExitStatus;
    ULONG Padding;
    PVOID Teb;
    HANDLE ProcessId;
    HANDLE ThreadId;
    ULONG_PTR AffinityMask;
    LONG Priority;
    LONG BasePriority;
} IMPORTS_THREAD_BASIC;

#define IMPORTS_QUIET_THREADS   4096    // of more, none is waited for

typedef struct _IMPORTS_THREADS {
    ULONG Number;
    BOOLEAN IsFull;
    HANDLE Handles[IMPORTS_QUIET_THREADS];
} IMPORTS_THREADS;
typedef IMPORTS_THREADS *PIMPORTS_THREADS;

//
// Is an address in this DLL, where a thread may be at work for the hooks?  A
// stub is no hook, nor is what it copies arguments with; and a hook that is
// about to go where all are turned off to is none any more.
//

static
BOOLEAN
ImportsIsInHook(
    _In_ ULONG_PTR Address
    )
{
    const IMAGE_NT_HEADERS64 *Headers;

    Headers = (const IMAGE_NT_HEADERS64 *)
        ((const BYTE *)&__ImageBase + __ImageBase.e_lfanew);
    return Address - (ULONG_PTR)&__ImageBase <
               Headers->OptionalHeader.SizeOfImage &&
           ImportsFindStub((const VOID *)Address) == IMPORTS_NONE &&
           Address - (ULONG_PTR)ImportsCopySmall >=
               (ULONG_PTR)ImportsSmallStubs - (ULONG_PTR)ImportsCopySmall &&
           Address != (ULONG_PTR)PenterReturn &&
           !PenterIsHook((const BYTE *)Address);
}

static
BOOLEAN
ImportsIsInside(
    _In_ HANDLE Thread,
    _In_ const IMPORTS_THREAD_BASIC *Basic
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    CONTEXT Context;
    BOOLEAN IsInside;
    NTSTATUS Status;

    //
    // One that cannot be suspended is at its end.
    //

    Status = ImportsState.Suspend(Thread, NULL);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_SUSPEND_COUNT_EXCEEDED;
    }

    Context.ContextFlags = CONTEXT_CONTROL;
    IsInside = !NT_SUCCESS(ImportsState.GetContext(Thread, &Context)) ||
               ImportsIsInHook(Context.Rip) ||
               PenterInsideThread((ULONG)(ULONG_PTR)Basic->ThreadId,
                                  Basic->Teb);
    (VOID)Rtl->NtResumeThread(Thread, NULL);
    return IsInside;
}

//
// Waits until a thread is outside of the hooks.  FALSE if it stays inside.
//

static
BOOLEAN
ImportsWaitOutside(
    _In_ HANDLE Thread
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    PTRACE_SESSION Session = ImportsState.Session;
    IMPORTS_THREAD_BASIC Basic;
    LARGE_INTEGER Interval;
    ULONG_PTR Cookie;
    ULONG ThreadId;
    ULONG Try;
    BOOLEAN IsInside;

    if (!NT_SUCCESS(Rtl->NtQueryInformationThread(Thread,
                                                  RTL_THREAD_BASIC_INFORMATION,
                                                  &Basic,
                                                  sizeof(Basic),
                                                  NULL)) ||
        Basic.Teb == NULL) {

        return TRUE;
    }

    ThreadId = (ULONG)(ULONG_PTR)Basic.ThreadId;
    if (ThreadId == __readgsdword(TEB_THREAD_ID) ||
        ThreadId == Session->Worker.ThreadId ||
        ThreadId == Session->ClockWorker.ThreadId) {

        return TRUE;
    }

    //
    // The loader's lock keeps its environment block, and the session's stores,
    // where they are.
    //

    Interval.QuadPart = -10000;             // 1 ms
    for (Try = 0; Try < IMPORTS_QUIET_TRIES; Try += 1) {
        if (!NT_SUCCESS(ImportsState.LockLoader(0, NULL, &Cookie))) {
            return FALSE;
        }

        IsInside = NT_SUCCESS(Rtl->NtQueryInformationThread(
                       Thread,
                       RTL_THREAD_BASIC_INFORMATION,
                       &Basic,
                       sizeof(Basic),
                       NULL)) &&
                   Basic.ExitStatus == IMPORTS_STATUS_PENDING &&
                   ImportsIsInside(Thread, &Basic);
        (VOID)ImportsState.UnlockLoader(0, Cookie);
        if (!IsInside) {
            return TRUE;
        }

        Rtl->NtDelayExecution(FALSE, &Interval);
    }

    return FALSE;
}

//
// Lists the threads of the process.  The loader's lock is held, so that none
// ends meanwhile.
//

static
VOID
ImportsListThreads(
    _Inout_ PIMPORTS_THREADS Threads
    )
{
    HANDLE Thread = NULL;

    Threads->Number = 0;
    Threads->IsFull = FALSE;
    while (NT_SUCCESS(ImportsState.Rtl.NtGetNextThread((HANDLE)-1,
                                                       Thread,
                                                       IMPORTS_THREAD_ACCESS,
                                                       0,
                                                       0,
                                                       &Thread))) {
        if (Threads->Number == IMPORTS_QUIET_THREADS) {
            RtlClose(&ImportsState.Rtl, Thread);
            Threads->IsFull = TRUE;
            break;
        }
        Threads->Handles[Threads->Number] = Thread;
        Threads->Number += 1;
    }
}

//
// Waits until every thread has been seen outside of the hooks, which are off:
// none gets into them again.  How many have not.
//

static
ULONG
ImportsWaitForThreads(
    _Inout_ PIMPORTS_THREADS Threads
    )
{
    PIMPORTS State = &ImportsState;
    ULONG_PTR Cookie;
    ULONG Count;
    ULONG Index;

    if (!NT_SUCCESS(State->LockLoader(0, NULL, &Cookie))) {
        return 1;
    }

    ImportsListThreads(Threads);
    (VOID)State->UnlockLoader(0, Cookie);
    Count = Threads->IsFull;
    for (Index = 0; Index < Threads->Number; Index += 1) {
        Count += Count == 0 && !ImportsWaitOutside(Threads->Handles[Index]);
        RtlClose(&State->Rtl, Threads->Handles[Index]);
    }

    return Count;
}

_Use_decl_annotations_
ULONG
ImportsEndRecording(
    VOID
    )
{
    PIMPORTS State = &ImportsState;
    PVOID Threads;
    ULONG_PTR Cookie;
    ULONG Count;
    ULONG Round;

    if (!NT_SUCCESS(RtlAllocatePages(&State->Rtl,
                                     sizeof(IMPORTS_THREADS),
                                     &Threads))) {
        PenterTurnOff();
        return 1;
    }

    for (Round = 0; Round < IMPORTS_QUIET_ROUNDS; Round += 1) {
        PenterTurnOff();
        Count = ImportsWaitForThreads((PIMPORTS_THREADS)Threads);
        if (Count != 0 || !NT_SUCCESS(State->LockLoader(0, NULL, &Cookie))) {
            break;
        }

        //
        // A thread that was getting its store turns the hooks on again.  If
        // they are still off, then none was.
        //

        if (PenterEnterRoutine == PenterReturn) {
            State->Session->ThreadsReturn = TRUE;
            PenterModuleUnload();
            State->Session = NULL;
            (VOID)State->UnlockLoader(0, Cookie);
            ImportsForgetEnvironment();
            RtlFreePages(&State->Rtl, Threads);
            return 0;
        }

        (VOID)State->UnlockLoader(0, Cookie);
    }

    PenterTurnOff();
    RtlFreePages(&State->Rtl, Threads);
    return Count == 0 ? 1 : Count;
}

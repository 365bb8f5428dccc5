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
    system calls.  The loader's lock is held, so that no thread begins or ends.

--*/

#include "../Penter/PenterInside.h"
#include "../Penter/PenterStart.h"
#include "../Penter/PenterSwitch.h"
#include "ImportsEnvironment.h"

#define IMPORTS_QUIET_TRIES     2000

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

//
// Is an address in this DLL, but in no stub?
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
           ImportsFindStub((const VOID *)Address) == IMPORTS_NONE;
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

    //
    // One that cannot be suspended is at its end.
    //

    if (!NT_SUCCESS(ImportsState.Suspend(Thread, NULL))) {
        return FALSE;
    }

    Context.ContextFlags = CONTEXT_CONTROL;
    IsInside = NT_SUCCESS(ImportsState.GetContext(Thread, &Context))
                   ? ImportsIsInHook(Context.Rip)
                   : TRUE;
    IsInside = IsInside ||
               PenterInsideThread((ULONG)(ULONG_PTR)Basic->ThreadId,
                                  Basic->Teb);
    (VOID)Rtl->NtResumeThread(Thread, NULL);
    return IsInside;
}

//
// How many threads are inside of the hooks.
//

static
ULONG
ImportsCountInside(
    VOID
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    PTRACE_SESSION Session = ImportsState.Session;
    IMPORTS_THREAD_BASIC Basic;
    HANDLE Thread = NULL;
    HANDLE Next;
    ULONG ThreadId;
    ULONG Count = 0;

    while (NT_SUCCESS(Rtl->NtGetNextThread((HANDLE)-1,
                                           Thread,
                                           IMPORTS_THREAD_ACCESS,
                                           0,
                                           0,
                                           &Next))) {
        RtlClose(Rtl, Thread);
        Thread = Next;
        if (!NT_SUCCESS(Rtl->NtQueryInformationThread(
                Thread,
                RTL_THREAD_BASIC_INFORMATION,
                &Basic,
                sizeof(Basic),
                NULL)) ||
            Basic.Teb == NULL) {

            continue;
        }

        ThreadId = (ULONG)(ULONG_PTR)Basic.ThreadId;
        if (ThreadId != __readgsdword(TEB_THREAD_ID) &&
            ThreadId != Session->Worker.ThreadId &&
            ThreadId != Session->ClockWorker.ThreadId) {

            Count += ImportsIsInside(Thread, &Basic);
        }
    }

    RtlClose(Rtl, Thread);
    return Count;
}

_Use_decl_annotations_
ULONG
ImportsEndRecording(
    VOID
    )
{
    PIMPORTS State = &ImportsState;
    LARGE_INTEGER Interval;
    ULONG_PTR Cookie;
    ULONG Count = 0;
    ULONG Try;

    Interval.QuadPart = -10000;             // 1 ms
    for (Try = 0; Try < IMPORTS_QUIET_TRIES; Try += 1) {
        PenterTurnOff();
        if (!NT_SUCCESS(State->LockLoader(0, NULL, &Cookie))) {
            return 1;
        }

        //
        // A thread that was getting its store turns the hooks on again.  If
        // they are still off, then none was.
        //

        Count = ImportsCountInside();
        if (Count == 0 && PenterEnterRoutine == PenterReturn) {
            PenterModuleUnload();
            State->Session = NULL;
            (VOID)State->UnlockLoader(0, Cookie);
            ImportsForgetEnvironment();
            return 0;
        }

        (VOID)State->UnlockLoader(0, Cookie);
        State->Rtl.NtDelayExecution(FALSE, &Interval);
    }

    return Count == 0 ? 1 : Count;
}

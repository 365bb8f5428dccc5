/*++

Module Name:

    ImportsLock.c

Abstract:

    One thread at a time changes what this DLL knows.

    The lock is taken inside of the loader's and outside, so whoever has it
    calls nothing that could wait for the loader.

--*/

#include "../Rtl/RtlTeb.h"
#include "Imports.h"

#define IMPORTS_SPINS 64

_Use_decl_annotations_
BOOLEAN
ImportsAcquireLock(
    VOID
    )
{
    LONG ThreadId;
    LARGE_INTEGER Interval;
    ULONG Spins;

    ThreadId = (LONG)__readgsdword(TEB_THREAD_ID);
    Interval.QuadPart = -10000;             // 1 ms
    for (Spins = 0;
         InterlockedCompareExchange(&ImportsState.Owner, ThreadId, 0) != 0;
         Spins += 1) {

        if (ImportsState.Owner == ThreadId ||
            (ImportsState.Rtl.RtlDllShutdownInProgress != NULL &&
             ImportsState.Rtl.RtlDllShutdownInProgress())) {

            return FALSE;
        }

        if (Spins < IMPORTS_SPINS) {
            ImportsState.Rtl.NtYieldExecution();
        } else {
            ImportsState.Rtl.NtDelayExecution(FALSE, &Interval);
        }
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
ImportsReleaseLock(
    VOID
    )
{
    InterlockedExchange(&ImportsState.Owner, 0);
}

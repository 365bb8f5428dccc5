/*++

Module Name:

    PenterSwitch.h

Abstract:

    One module instance's hooks: which routines they jump to, and a thread's
    context.

--*/

#ifndef TRACER_PENTER_SWITCH_H
#define TRACER_PENTER_SWITCH_H

#include "../Rtl/RtlTeb.h"
#include "../TraceStore/TraceSession.h"
#include "PenterExclude.h"
#include "PenterHooks.h"

//
// Stands in for a store's header where there is none: the hook finds its
// cursor at its limit and its store stopped, counts and returns.  Only the
// first 128 bytes of a header are ever touched by the hook.
//

typedef union _PENTER_STAND_IN {
    UCHAR Bytes[0x80];
    ULONGLONG Alignment;
} PENTER_STAND_IN;
typedef PENTER_STAND_IN *PPENTER_STAND_IN;

//
// One module instance's hooks.
//

typedef struct _PENTER {
    PTRACE_SESSION Session;
    ULONG TlsIndex;
    ULONG FlsIndex;                     // FLS_OUT_OF_INDEXES: none
    ULONG Clock;                        // TRACE_CLOCK_*
    BOOLEAN Chooses;                    // calls may be left out
    BOOLEAN IsTree;
    BOOLEAN IsExe;
    BOOLEAN HasTlsCallback;             // the loader calls PenterTlsCallback
    BOOLEAN ProcessExitDone;
    BOOLEAN SlotReported;               // that a TLS slot could not be set
    PTRACE_STORE Ended;                 // of a DLL's thread that was told to
                                        // detach; under the loader lock
    NTSTATUS NoStoreStatus;             // why the last of these has none
    PENTER_EXCLUSION Exclusion;
    PTRACE_CHRONO_RANGE Chrono;         // the session's; NULL: none
    PVOID ExceptionHandler;             // PenterThrow.c; NULL: none
    LONGLONG volatile NumberOfEventsReentered;  // in Attaching, and counted in
                                        // the stores' headers
    PENTER_STAND_IN Attaching;          // for threads that get their store
    PENTER_STAND_IN NoStore;            // for threads that have no store
    PENTER_STAND_IN OwnThread;          // for the library's own, whose calls
                                        // are not the program's
} PENTER;
typedef PENTER *PPENTER;

//
// This module's; NULL until it has been decided that it records.
//

extern PPENTER volatile PenterInstance;

//
// The thread that prepares the hooks, so that a call that comes from inside
// that (somebody may have hooked a system routine with instrumented code) is
// left out instead of recursing.
//

extern ULONG volatile PenterInitializingThread;

//
// This module's image.
//

extern IMAGE_DOS_HEADER __ImageBase;

//
// Sets what the recording routines read, and returns those that are the
// hooks'. Tells the recording routines where a thread's context is.
//

PCPENTER_ROUTINES
PenterSetSlot(
    _In_ PPENTER Penter
    );

//
// Makes the hooks record; and makes every hook of this module return at once.
//

VOID
PenterTurnOn(
    _In_ PPENTER Penter
    );

//
// Makes every hook of this module return at once.
//

VOID
PenterTurnOff(
    VOID
    );

//
// Reads the calling thread's slot without touching its last error value.
// Penter: the hooks.
// Returns the thread's header, a stand-in, or NULL.
//

static
__inline
PTRACE_STORE_HEADER
PenterGetContext(
    _In_ PPENTER Penter
    )
{
    ULONG_PTR Expansion;

    if (Penter->TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        return (PTRACE_STORE_HEADER)
            __readgsqword(TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID));
    }

    Expansion = __readgsqword(TEB_TLS_EXPANSION_SLOTS);
    if (Expansion == 0) {
        return NULL;
    }

    return ((PTRACE_STORE_HEADER *)Expansion)
        [Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS];
}

//
// Writes the calling thread's slot, without a call that somebody may have given
// hooks.  FALSE if the thread has no place for one as high yet, which
// PenterMakeContext makes.
// Context: a header, a stand-in, or NULL.
//

static
__inline
BOOLEAN
PenterSetContext(
    _In_ PPENTER Penter,
    _In_opt_ PVOID Context
    )
{
    ULONG_PTR Expansion;

    if (Penter->TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        __writegsqword(TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID),
                       (ULONG_PTR)Context);
        return TRUE;
    }

    Expansion = __readgsqword(TEB_TLS_EXPANSION_SLOTS);
    if (Expansion == 0) {
        return FALSE;
    }

    ((PVOID *)Expansion)[Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS] = Context;
    return TRUE;
}

//
// Counts the events that were left out where there was no header to count them
// in as lost, in the store of whichever thread comes by first.
// Header: the header of the calling thread's store.
//

static
__inline
VOID
PenterCountEventsLeftOut(
    _Inout_ PTRACE_STORE_HEADER Header
    )
{
    if (PenterEventsLeftOut != 0) {
        Header->NumberOfEventsLost +=
            (ULONGLONG)InterlockedExchange64(&PenterEventsLeftOut, 0);
    }
}

#endif // TRACER_PENTER_SWITCH_H

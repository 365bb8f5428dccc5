/*++

Module Name:

    PenterSlow.c

Abstract:

    The slow path of the hooks: the first call in the module, the first call of
    a thread, a full view, and what the hooks of a tree leave to C.

--*/

#include "../TraceStore/TraceAdvance.h"
#include "../TraceStore/TraceControl.h"
#include "../TraceStore/TraceDepth.h"
#include "../TraceStore/TraceDirectory.h"
#include "../TraceStore/TraceLog.h"
#include "../TraceStore/TraceName.h"
#include "../TraceStore/TraceShare.h"
#include "../TraceStore/TraceStore.h"
#include "../TraceStore/TraceTreeEnter.h"
#include "../TraceStore/TraceVolume.h"
#include "PenterInside.h"
#include "PenterJump.h"
#include "PenterStart.h"
#include "PenterSwitch.h"
#include "PenterWord.h"

#define PENTER_THREAD_START 9       // ThreadQuerySetWin32StartAddress

//
// Reports that a store has stopped.
//

static
VOID
PenterReportStop(
    _In_ PTRACE_STORE Store
    )
{
    PTRACE_SESSION Session;
    RTL_ERROR Error;
    RTL_WRITER Writer;
    PCUNICODE_STRING Object;
    PCSZ Step;
    CHAR Text[160];

    Session = Store->Session;
    Object = &Session->ModuleName;
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
    switch (Store->Header->Reason) {
    case TRACE_REASON_EXTEND_FAILED:
        Step = "extending a thread's store";
        break;
    case TRACE_REASON_MAP_FAILED:
        Step = "mapping a thread's store";
        break;
    case TRACE_REASON_PAGE_FAILED:
        Step = "writing a thread's store";
        break;
    case TRACE_REASON_MINIMUM_FREE:
        Step = TRACE_VOLUME_STEP;
        Object = TraceDirectoryGetPath(Session);
        RtlWriteText(&Writer,
                     "%llu bytes are free and %llu are to stay free: ",
                     Session->VolumeFree,
                     Session->VolumeKept);
        break;
    default:
        Step = "checking a thread's store";
        break;
    }

    RtlWriteText(&Writer,
                 "recording of this thread has stopped, the program goes on");
    Text[Writer.LengthInBytes] = '\0';
    RtlSetError(&Error, Step, Object, (NTSTATUS)Store->Header->Status);
    TraceLogError(Session, &Error, Text);
}

//
// Makes the calling thread's place for its TLS slot.  The system's routines for
// that may be such that somebody has given hooks (TracerImports.dll does): a
// call that comes from inside them finds its thread in here, and is left out.
//
// Context: what the slot gets.
// Returns STATUS_NO_MEMORY if there is none for it; STATUS_RETRY if the thread
// is in here, or nobody can tell.
//

#define PENTER_MAKING_CONTEXTS 64

static ULONG volatile PenterMaking[PENTER_MAKING_CONTEXTS];

_Use_decl_annotations_
BOOLEAN
PenterIsMakingContext(
    ULONG ThreadId
    )
{
    ULONG Index;

    for (Index = 0; Index < PENTER_MAKING_CONTEXTS; Index += 1) {
        if (PenterMaking[Index] == ThreadId) {
            return TRUE;
        }
    }

    return FALSE;
}

static
NTSTATUS
PenterMakeContext(
    _In_ PPENTER Penter,
    _In_ PVOID Context
    )
{
    ULONG ThreadId;
    ULONG Free;
    BOOLEAN Done;

    ThreadId = __readgsdword(TEB_THREAD_ID);
    if (PenterIsMakingContext(ThreadId)) {
        return STATUS_RETRY;
    }

    for (Free = 0; Free < PENTER_MAKING_CONTEXTS; Free += 1) {
        if (InterlockedCompareExchange((LONG volatile *)&PenterMaking[Free],
                                       (LONG)ThreadId,
                                       0) == 0) {
            break;
        }
    }
    if (Free == PENTER_MAKING_CONTEXTS) {
        return STATUS_RETRY;
    }

    Done = (BOOLEAN)(Penter->Session->Rtl.TlsSetValue(Penter->TlsIndex,
                                                      Context) != FALSE);
    PenterMaking[Free] = 0;
    return Done ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

//
// Was the calling thread made from outside, for TracerImports.dll?
//

static
BOOLEAN
PenterIsRoutineOurs(
    _In_ PTRACE_SESSION Session
    )
{
    PVOID Start = NULL;

    return PenterOwnRoutine != NULL &&
           NT_SUCCESS(Session->Rtl.NtQueryInformationThread(
               (HANDLE)-2,
               PENTER_THREAD_START,
               &Start,
               sizeof(Start),
               NULL)) &&
           Start == PenterOwnRoutine;
}

//
// Gives the calling thread a store.
//
// While this runs the thread's slot holds a stand-in, so that a call that
// comes from inside the library is counted and not recursed into; and stays
// there should an exception take the thread out of here.  Once the thread has a
// place for the slot it is written without a call: what TlsSetValue calls may
// have hooks, and with the slot between two values it would lead here again.
//
// Penter: the hooks.
// If there can be no store the thread gets a stand-in for good.
//

static
VOID
PenterAttachThread(
    _In_ PPENTER Penter
    )
{
    NTSTATUS Status;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    PTRACE_STORE_HEADER StandIn;
    ULONGLONG Reentered;

    Session = Penter->Session;
    StandIn = (PTRACE_STORE_HEADER)&Penter->Attaching;
    if (Session->Worker.ThreadId == __readgsdword(TEB_THREAD_ID) ||
        Session->ClockWorker.ThreadId == __readgsdword(TEB_THREAD_ID) ||
        PenterIsRoutineOurs(Session)) {

        StandIn = (PTRACE_STORE_HEADER)&Penter->OwnThread;
    }

    Status = STATUS_SUCCESS;
    if (!PenterSetContext(Penter, StandIn)) {
        Status = PenterMakeContext(Penter, StandIn);
    }

    if (Status == STATUS_NO_MEMORY) {

        //
        // No memory for the thread's array of expansion slots.  The next call
        // tries again; this is said once.
        //

        Penter->NoStoreStatus = Status;
        if (!Penter->SlotReported) {
            Penter->SlotReported = TRUE;
            RtlSetError(&Error,
                        "setting a thread's TLS slot",
                        &Session->ModuleName,
                        Status);
            TraceLogError(Session,
                          &Error,
                          "calls are lost until it can be set");
        }
    }

    if (!NT_SUCCESS(Status) ||
        StandIn == (PTRACE_STORE_HEADER)&Penter->OwnThread) {

        return;
    }

    //
    // A thread without a store, too, may be the one that ends the process.
    //

    if (Penter->FlsIndex != FLS_OUT_OF_INDEXES) {
        Session->Rtl.FlsSetValue(Penter->FlsIndex, Penter);
    }

    Reentered = StandIn->NumberOfEventsLost;
    Status = TraceStoreOpen(Session, &Store, &Error);
    if (Status == STATUS_RETRY) {

        //
        // Another module's hooks, on this thread, are what has led here: this
        // call is none of the program's, and the next one tries again.
        //

        (VOID)PenterSetContext(Penter, NULL);
        return;
    }
    if (!NT_SUCCESS(Status)) {
        Penter->NoStoreStatus = Status;
        TraceLogError(Session,
                      &Error,
                      "this thread is not recorded, the program goes on");
        (VOID)PenterSetContext(Penter, &Penter->NoStore);
        return;
    }

    if (Store->Header->State == TRACE_STATE_STOPPED &&
        Store->Header->Reason == TRACE_REASON_MINIMUM_FREE) {

        PenterReportStop(Store);
    }

    //
    // The stand-in is that of every thread that gets a store at this moment.
    // What others count on it is counted here too: never too little.
    //

    Reentered = StandIn->NumberOfEventsLost - Reentered;
    Store->Header->NumberOfEventsReentered += Reentered;
    InterlockedExchangeAdd64(&Penter->NumberOfEventsReentered,
                             (LONGLONG)Reentered);
    (VOID)PenterSetContext(Penter, Store->Header);
}

//
// Describes a hook's call to those who need not know how it was saved.
// Kind: its TRACE_KIND_*.
// TreeCall: all; it points to Registers.
//

static
VOID
PenterDescribeCall(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp,
    _Out_ PTRACE_REGISTERS Registers,
    _Out_ PTRACE_TREE_CALL TreeCall
    )
{
    Registers->R15 = Call->R15;
    Registers->R14 = Call->R14;
    Registers->R13 = Call->R13;
    Registers->R12 = Call->R12;
    Registers->Rdi = Call->Rdi;
    Registers->Rsi = Call->Rsi;
    Registers->Rbx = Call->Rbx;
    Registers->Rbp = Call->Rbp;

    TreeCall->Registers = Registers;
    TreeCall->Stack = (ULONG_PTR)(Call + 1);
    TreeCall->Place = Call->ReturnAddress;
    TreeCall->Timestamp = Timestamp;
    TreeCall->Kind = Kind;
    TreeCall->Site = (ULONG)Call->ReturnAddress;
    TreeCall->IsJump = FALSE;
    if (Kind == TRACE_KIND_ENTER_FUNCTION ||
        Kind == TRACE_KIND_EXIT_FUNCTION) {

        TreeCall->Site = (ULONG)Call->Rcx;
        TreeCall->IsJump = Kind == TRACE_KIND_EXIT_FUNCTION &&
                           Call->ReturnAddress == Call->Rdx;
    }
}

//
// Does what the hooks of a tree cannot do by themselves.
// Store: the calling thread's store.
// Kind: its TRACE_KIND_*.
// Timestamp: the time stamp counter at that time.
// Returns TRUE if the hook should try again.
//

static
BOOLEAN
PenterTreeCall(
    _Inout_ PPENTER Penter,
    _Inout_ PTRACE_STORE Store,
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp
    )
{
    BOOLEAN WasStopped;
    BOOLEAN Again;
    TRACE_TREE_CALL TreeCall;
    TRACE_REGISTERS Registers;

    PenterDescribeCall(Call,
                       Kind,
                       Penter->Clock == TRACE_CLOCK_THREAD ? PenterClock :
                                                             Timestamp,
                       &Registers,
                       &TreeCall);
    Again = FALSE;
    WasStopped = Store->Header->State == TRACE_STATE_STOPPED;
    if (Kind == TRACE_KIND_ENTER || Kind == TRACE_KIND_ENTER_FUNCTION) {
        Again = TraceTreeEnter(Store, &TreeCall);
    } else {
        TraceTreeExit(Store, &TreeCall);
    }

    if (!WasStopped && Store->Header->State == TRACE_STATE_STOPPED) {
        PenterReportStop(Store);
    }

    return Again;
}

//
// Counts an event while recording is stopped, where the hook does not do that
// by itself. Where it does, it is entered again, even if its flag was taken
// away meanwhile, since it follows the depth of calls, too.
//
// Store: the calling thread's store.
// IsPaused: whether it is stopped.
// Returns TRUE if it has been counted.
//

static
BOOLEAN
PenterCountPaused(
    _Inout_ PTRACE_STORE Store,
    _In_ BOOLEAN IsPaused
    )
{
    if (!IsPaused || !Store->IsPausedSlowly) {
        return FALSE;
    }

    Store->Header->NumberOfEventsLost += 1;
    return TRUE;
}

BOOLEAN
PenterSlowPath(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp
    );

BOOLEAN
PenterCheck(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind
    );

//
// Called by the hooks, before an entry is recorded, when it is not known
// whether its caller is a function with hooks, and for what they do not know
// of a call's depth. Little of the machine's state is saved: no routine of the
// system is called but RtlLookupFunctionEntry.
//
// Kind: its TRACE_KIND_*.
// Returns TRUE: the hook goes on.
//

BOOLEAN
PenterCheck(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind
    )
{
    PTRACE_STORE Store;
    TRACE_TREE_CALL TreeCall;
    TRACE_REGISTERS Registers;

    Store = (PTRACE_STORE)(ULONG_PTR)
            PenterGetContext(PenterInstance)->WriterContext;
    PenterDescribeCall(Call, Kind, 0, &Registers, &TreeCall);

    if (Store->InSlowPath) {
        if (Store->Depth != NULL) {
            Store->Header->NumberOfEventsReentered += 1;
            return FALSE;
        }
        Store->Checked = TreeCall.Stack;
        return TRUE;
    }

    Store->InSlowPath = TRUE;
    if (Store->Depth != NULL) {
        TraceDepthDecide(Store, &TreeCall);
    } else if (Store->Header->Mode == TRACE_MODE_TREE) {
        TraceShareServe(PenterInstance->Session, Store);
        TraceCallerCheckTree(Store, &TreeCall);
    } else {
        TraceCallerCheck(Store, &TreeCall);
    }
    Store->InSlowPath = FALSE;
    return TRUE;
}

//
// Called by the hooks, with all of the machine's state saved, when they cannot
// record at once: at the module's first call, at a thread's first call, when
// the prepared pages are full, when the store has stopped; and for what the
// hooks of a tree leave to it.
//
// Kind: its TRACE_KIND_*.
// Timestamp: the time stamp counter at that time.
// Returns TRUE if the hook should try again, FALSE if the event has been
// counted as lost and the program should go on.
//

BOOLEAN
PenterSlowPath(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp
    )
{
    PPENTER Penter;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    BOOLEAN Done;
    BOOLEAN IsPaused;

    Penter = PenterInstance;
    if (Penter == NULL) {
        if (PenterInitializingThread == __readgsdword(TEB_THREAD_ID)) {
            return FALSE;
        }
        Done = PenterPrepare();
        if (!Done) {
            InterlockedIncrement64(&PenterEventsLeftOut);
        }
        return Done;
    }

    Header = PenterGetContext(Penter);
    if (Header == NULL) {

        //
        // The instance may have been published by a thread that has not set
        // the routines yet.
        //

        PenterTurnOn(Penter);
        PenterAttachThread(Penter);
        if (PenterGetContext(Penter) == NULL) {
            InterlockedIncrement64(&PenterEventsLeftOut);
            return FALSE;
        }
        return TRUE;
    }

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    if (Store == NULL) {
        return FALSE;
    }

    if (Store->InSlowPath) {
        Header->NumberOfEventsReentered += 1;
        return FALSE;
    }

    PenterCountEventsLeftOut(Header);

    if (Header->Mode == TRACE_MODE_TREE) {
        Store->InSlowPath = TRUE;
        TraceShareServe(Penter->Session, Store);
        do {
            IsPaused = TraceControlServe(Store);
        } while (Store->Attention);
        TraceNameServe(Store);
        Done = IsPaused;
        if (!IsPaused) {
            Done = PenterTreeCall(Penter, Store, Call, Kind, Timestamp);
        }
        Store->InSlowPath = FALSE;
        return PenterCountPaused(Store, IsPaused) ? FALSE : Done;
    }

    if (Store->JumpPlace != 0) {
        PenterCheckJump(Store, Call);
        Store->JumpPlace = 0;
        return TRUE;
    }

    if (Store->Depth != NULL &&
        Store->Depth->StackBase != __readgsqword(TEB_STACK_BASE)) {

        Store->InSlowPath = TRUE;
        TraceDepthSwitch(Store);
        Store->InSlowPath = FALSE;
        return TRUE;
    }

    Store->InSlowPath = TRUE;
    if (Kind == TRACE_KIND_EXIT || Kind == TRACE_KIND_EXIT_FUNCTION) {
        TraceCallerNoteExit(Store,
                            (ULONG_PTR)(Call + 1),
                            Kind == TRACE_KIND_EXIT_FUNCTION,
                            Kind == TRACE_KIND_EXIT_FUNCTION &&
                            Call->ReturnAddress == Call->Rdx);
    } else {
        TraceCallerNoteEntry(Store);
    }
    do {
        IsPaused = TraceControlServe(Store);
        if (!IsPaused) {
            TraceStoreAdvance(Store);
        }
    } while (Store->Attention);
    TraceNameServe(Store);
    if (Header->State == TRACE_STATE_STOPPED &&
        Header->Reason != TRACE_REASON_MAXIMUM_BYTES) {

        PenterReportStop(Store);
    }
    Store->InSlowPath = FALSE;

    if (PenterCountPaused(Store, IsPaused)) {
        if (Store->Depth != NULL) {
            Store->Depth->Settled = TRACE_DEPTH_UNSETTLED;
        }
        return FALSE;
    }
    return TRUE;
}

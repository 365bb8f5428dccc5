/*++

Module Name:

    Penter.c

Abstract:

    The slow path of the hooks, and the hooks' life: the first call in the
    module, the first call of a thread, a full view, the end of a thread, of
    the module, of the process.

    The first call may come before any constructor, under the loader lock, on
    any thread, and on several at once.  So nothing here waits for another
    thread or loads a library, and nothing is allocated from the process heap
    (but by the system, for a thread's first TLS slot of 64 and up and its first
    FLS value): threads that come together each prepare the hooks, and the first
    to publish wins.

    Preparing the hooks asks the loader for addresses and names, which may need
    its lock.  So it is done when the module is loaded, when that lock is held
    anyway, wherever the image has a TLS directory to say so; and at the first
    call otherwise.

--*/

#include "PenterPrivate.h"

extern IMAGE_DOS_HEADER __ImageBase;

static PPENTER volatile PenterInstance;

//
// The thread that is in PenterInitialize, so that a call that comes from
// inside it (somebody may have hooked a system routine with instrumented code)
// is left out instead of recursing.
//

static ULONG volatile PenterInitializingThread;

static
VOID
PenterSetRoutines(
    _In_ PPENTER_ROUTINE Enter,
    _In_ PPENTER_ROUTINE Exit,
    _In_ PPENTER_ROUTINE EnterFunction,
    _In_ PPENTER_ROUTINE ExitFunction
    )
/*++

Routine Description:

    Sets where the public hooks jump to.

Arguments:

    Enter, Exit, EnterFunction, ExitFunction - Supply the routines.

Return Value:

    None.

--*/
{
    PenterEnterRoutine = Enter;
    PenterExitRoutine = Exit;
    PenterEnterFunctionRoutine = EnterFunction;
    PenterExitFunctionRoutine = ExitFunction;
}

static
VOID
PenterTurnOff(
    VOID
    )
/*++

Routine Description:

    Makes every hook of this module return at once.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PenterSetRoutines(PenterReturn, PenterReturn, PenterReturn, PenterReturn);
}

static
VOID
PenterTurnOn(
    _In_ ULONG TlsIndex
    )
/*++

Routine Description:

    Makes the hooks record.

Arguments:

    TlsIndex - Supplies the slot that holds a thread's context.

Return Value:

    None.

--*/
{
    if (TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        PenterSlotOffset = TEB_TLS_SLOTS + TlsIndex * sizeof(PVOID);
        PenterSetRoutines(PenterEnter,
                          PenterExit,
                          PenterEnterFunction,
                          PenterExitFunction);
    } else {
        PenterSlotOffset =
            (TlsIndex - TEB_TLS_NUMBER_OF_SLOTS) * sizeof(PVOID);
        PenterSetRoutines(PenterEnterExpansion,
                          PenterExitExpansion,
                          PenterEnterFunctionExpansion,
                          PenterExitFunctionExpansion);
    }
}

static
PTRACE_STORE_HEADER
PenterGetContext(
    _In_ PPENTER Penter
    )
/*++

Routine Description:

    Reads the calling thread's slot without touching its last error value.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    The thread's header, a stand-in, or NULL.

--*/
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

static
VOID
PenterInitializeStandIn(
    _Out_ PPENTER_STAND_IN StandIn
    )
/*++

Routine Description:

    Makes a stand-in header.

Arguments:

    StandIn - Receives it.

Return Value:

    None.

--*/
{
    RtlZeroBytes(StandIn, sizeof(*StandIn));
    ((PTRACE_STORE_HEADER)StandIn)->HookFlags = TRACE_HOOK_STOPPED;
}

static
VOID
NTAPI
PenterFlsCallback(
    PVOID Value
    )
/*++

Routine Description:

    Called for the exiting thread at process exit, where an EXE's TLS callback
    is not called under Wine; and at the end of each thread and fiber, which
    matters only to an EXE without a TLS callback.

Arguments:

    Value - Supplies nothing of use: a fiber may be deleted by another thread
        than the one that set it.

Return Value:

    None.

--*/
{
    PPENTER Penter;
    PCRTL Rtl;

    UNREFERENCED_PARAMETER(Value);

    Penter = PenterInstance;
    if (Penter == NULL || Penter->Session == NULL) {
        return;
    }

    Rtl = &Penter->Session->Rtl;
    if (Rtl->RtlDllShutdownInProgress != NULL &&
        Rtl->RtlDllShutdownInProgress()) {

        PenterProcessExit();
    } else if (!Penter->HasTlsCallback) {
        PenterThreadExit();
    }
}

static
VOID
PenterReportConfig(
    _Inout_ PTRACE_SESSION Session,
    _In_ PPENTER_CONFIG Config
    )
/*++

Routine Description:

    Reports the values of the environment that made no sense, in the session's
    log if there can be one.

Arguments:

    Session - Supplies the session.

    Config - Supplies the configuration.

Return Value:

    None.

--*/
{
    ULONG Index;
    HANDLE Directory;
    RTL_ERROR Error;

    if (Config->NumberOfErrors == 0) {
        return;
    }

    //
    // If this fails, the first store meets the same failure and reports it.
    //

    (VOID)TraceSessionOpenDirectory(Session, &Directory, &Error);

    for (Index = 0; Index < Config->NumberOfErrors; Index += 1) {
        TraceLogError(Session,
                      &Config->Errors[Index],
                      "the default is used");
    }
}

static
VOID
PenterDestroy(
    _In_ PCRTL Rtl,
    _In_ PPENTER Penter,
    _In_ ULONG Reason
    )
/*++

Routine Description:

    Undoes a finished or a half-built instance.

Arguments:

    Rtl - Supplies an RTL that is not the session's.

    Penter - Supplies the instance.

    Reason - Supplies a TRACE_REASON_* for the stores that are open.

Return Value:

    None.

--*/
{
    if (Penter->Session != NULL) {
        TraceSessionDestroy(Penter->Session, Reason);
    }
    if (Penter->FlsIndex != FLS_OUT_OF_INDEXES) {
        Rtl->FlsFree(Penter->FlsIndex);
    }
    if (Penter->TlsIndex != TLS_OUT_OF_INDEXES) {
        Rtl->TlsFree(Penter->TlsIndex);
    }

    RtlFreePages(Rtl, Penter);
}

static
BOOLEAN
PenterBuild(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter,
    _Out_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Builds an instance that records.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration.

    Penter - Supplies the instance, whose indexes say none.

    Error - Receives what failed.

Return Value:

    TRUE if the instance is complete.

--*/
{
    TRACE_SESSION_PARAMETERS Parameters;

    PenterInitializeStandIn(&Penter->NoStore);
    Penter->IsExe = *(PVOID *)(__readgsqword(TEB_PEB) + PEB_IMAGE_BASE) ==
                    (PVOID)&__ImageBase;
    Penter->HasTlsCallback = PenterHasTlsCallback(&__ImageBase);

    Penter->TlsIndex = Rtl->TlsAlloc();
    if (Penter->TlsIndex == TLS_OUT_OF_INDEXES) {
        RtlSetError(Error,
                    "allocating a TLS slot",
                    NULL,
                    STATUS_NO_MEMORY);
        return FALSE;
    }

    //
    // A DLL must not leave a callback behind that points into it, and has no
    // need of one: its TLS callback is called at process exit.
    //

    if (Penter->IsExe) {
        Penter->FlsIndex = Rtl->FlsAlloc(PenterFlsCallback);
    }

    Parameters.ModuleBase = &__ImageBase;
    Parameters.RootDirectory = Config->RootDirectory;
    Parameters.MaximumViewSize = Config->MaximumViewSize;
    Parameters.WorkerAllowed = Penter->IsExe || Penter->HasTlsCallback;

    return NT_SUCCESS(TraceSessionCreate(Rtl,
                                         &Parameters,
                                         &Penter->Session,
                                         Error));
}

static
VOID
PenterReportStart(
    _In_ PCRTL Rtl,
    _In_ PCRTL_ERROR Error
    )
/*++

Routine Description:

    Reports that tracing could not start.  There is no session and so no log:
    the debugger is all there is.

Arguments:

    Rtl - Supplies an RTL, of which OutputDebugStringW may be missing.

    Error - Supplies what failed.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;
    ULONG Written;
    CHAR Text[400];
    WCHAR Wide[400];

    if (Rtl->OutputDebugStringW == NULL) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "Tracer: ");
    RtlWriteError(&Writer, Error);
    RtlWriteText(&Writer, "; nothing is recorded\r\n");
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide) - 1,
                  &Written);
    Wide[Written] = L'\0';
    Rtl->OutputDebugStringW(Wide);
}

static
VOID
PenterInitialize(
    VOID
    )
/*++

Routine Description:

    Prepares the hooks of this module, and sets the routines that the public
    hooks jump to.

Arguments:

    None.

Return Value:

    None.  If something fails, or the module is left out, the hooks return at
    once from now on.

--*/
{
    RTL Rtl;
    RTL_ERROR Error;
    PCSZ MissingName;
    PPENTER Penter;
    PPENTER_CONFIG Config;
    NTSTATUS Status;
    PVOID Base;
    UNICODE_STRING Object;
    WCHAR MissingNameWide[64];
    ULONG Written;

    Config = NULL;
    Penter = NULL;

    Status = RtlBootstrap(&Rtl, &MissingName);
    if (!NT_SUCCESS(Status)) {
        Written = 0;
        if (MissingName != NULL) {
            RtlUtf8ToWide(MissingName,
                          RtlLengthOfString(MissingName),
                          MissingNameWide,
                          RTL_NUMBER_OF(MissingNameWide),
                          &Written);
        }
        RtlPointUnicodeString(&Object, MissingNameWide, Written);
        RtlSetError(&Error, "resolving a system routine", &Object, Status);
        goto Error;
    }

    Status = RtlAllocatePages(&Rtl, sizeof(*Config), &Base);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(&Error, "allocating the configuration", NULL, Status);
        goto Error;
    }
    Config = (PPENTER_CONFIG)Base;
    PenterReadConfig(&Rtl, &__ImageBase, Config);

    if (!Config->Enabled || !Config->ModuleIncluded) {
        PenterTurnOff();
        goto End;
    }

    Status = RtlAllocatePages(&Rtl, sizeof(*Penter), &Base);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(&Error, "allocating the hooks' state", NULL, Status);
        goto Error;
    }
    Penter = (PPENTER)Base;
    Penter->TlsIndex = TLS_OUT_OF_INDEXES;
    Penter->FlsIndex = FLS_OUT_OF_INDEXES;

    if (!PenterBuild(&Rtl, Config, Penter, &Error)) {
        goto Error;
    }

    if (InterlockedCompareExchangePointer((PVOID volatile *)&PenterInstance,
                                          Penter,
                                          NULL) != NULL) {

        //
        // Another thread was first.  It sets the routines, or has done so.
        //

        PenterDestroy(&Rtl, Penter, TRACE_REASON_NONE);
        goto End;
    }

    PenterTurnOn(Penter->TlsIndex);
    PenterReportConfig(Penter->Session, Config);
    goto End;

Error:

    if (Penter != NULL) {
        PenterDestroy(&Rtl, Penter, TRACE_REASON_NONE);
    }

    //
    // Another thread that came at the same time may have had better luck.
    //

    if (PenterInstance == NULL) {
        PenterTurnOff();
    }
    PenterReportStart(&Rtl, &Error);

End:

    RtlFreePages(&Rtl, Config);
}

static
VOID
PenterAttachThread(
    _In_ PPENTER Penter
    )
/*++

Routine Description:

    Gives the calling thread a store.

    While this runs the thread's slot holds the stand-in, so that a call that
    comes from inside the library is counted and not recursed into; and stays
    there should an exception take the thread out of here.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    None.  If there can be no store the thread gets the stand-in for good.

--*/
{
    NTSTATUS Status;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    PTRACE_STORE_HEADER StandIn;
    ULONGLONG Reentered;

    Session = Penter->Session;
    StandIn = (PTRACE_STORE_HEADER)&Penter->NoStore;

    if (Session->Worker.ThreadId == __readgsdword(TEB_THREAD_ID)) {
        Session->Rtl.TlsSetValue(Penter->TlsIndex, StandIn);
        return;
    }

    if (!Session->Rtl.TlsSetValue(Penter->TlsIndex, StandIn)) {

        //
        // No memory for the thread's array of expansion slots.  The next call
        // tries again.
        //

        return;
    }

    Reentered = StandIn->NumberOfEventsLost;
    Status = TraceStoreOpen(Session, &Store, &Error);
    if (!NT_SUCCESS(Status)) {
        TraceLogError(Session,
                      &Error,
                      "this thread is not recorded, the program goes on");
        return;
    }

    if (Penter->FlsIndex != FLS_OUT_OF_INDEXES) {
        Session->Rtl.FlsSetValue(Penter->FlsIndex, Penter);
    }

    //
    // The stand-in is every thread's.  What others count on it in these
    // microseconds is counted here too: never too little.
    //

    Store->Header->NumberOfEventsReentered =
        StandIn->NumberOfEventsLost - Reentered;
    Session->Rtl.TlsSetValue(Penter->TlsIndex, Store->Header);
}

static
VOID
PenterCountEventsWithoutStack(
    _Inout_ PTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Counts the events that were left out for lack of stack as lost, in the
    store of whichever thread comes by first.

Arguments:

    Header - Supplies the header of the calling thread's store.

Return Value:

    None.

--*/
{
    if (PenterEventsWithoutStack != 0) {
        Header->NumberOfEventsLost +=
            (ULONGLONG)InterlockedExchange64(&PenterEventsWithoutStack, 0);
    }
}

static
VOID
PenterReportStop(
    _In_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Reports that a store has stopped.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    RTL_ERROR Error;
    PCSZ Step;

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
    default:
        Step = "checking a thread's store";
        break;
    }

    RtlSetError(&Error,
                Step,
                &Store->Session->ModuleName,
                (NTSTATUS)Store->Header->Status);
    TraceLogError(Store->Session,
                  &Error,
                  "recording of this thread has stopped, the program goes on");
}

BOOLEAN
PenterSlowPath(
    VOID
    );

BOOLEAN
PenterSlowPath(
    VOID
    )
/*++

Routine Description:

    Called by the hooks, with all of the machine's state saved, when they
    cannot record at once: at the module's first call, at a thread's first
    call, when the prepared pages are full, when the store has stopped.

Arguments:

    None.

Return Value:

    TRUE if the hook should try again, FALSE if the event has been counted as
    lost and the program should go on.

--*/
{
    PPENTER Penter;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONG ThreadId;

    Penter = PenterInstance;
    if (Penter == NULL) {
        ThreadId = __readgsdword(TEB_THREAD_ID);
        if (PenterInitializingThread == ThreadId) {
            return FALSE;
        }
        PenterInitializingThread = ThreadId;
        PenterInitialize();
        PenterInitializingThread = 0;
        return TRUE;
    }

    Header = PenterGetContext(Penter);
    if (Header == NULL) {

        //
        // The instance may have been published by a thread that has not set
        // the routines yet.
        //

        PenterTurnOn(Penter->TlsIndex);
        PenterAttachThread(Penter);
        return PenterGetContext(Penter) != NULL;
    }

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    if (Store == NULL) {
        return FALSE;
    }

    if (Store->InSlowPath) {
        Header->NumberOfEventsReentered += 1;
        return FALSE;
    }

    PenterCountEventsWithoutStack(Header);

    Store->InSlowPath = TRUE;
    TraceStoreAdvance(Store);
    if (Header->State == TRACE_STATE_STOPPED) {
        PenterReportStop(Store);
    }
    Store->InSlowPath = FALSE;
    return TRUE;
}

_Use_decl_annotations_
VOID
PenterModuleLoad(
    VOID
    )
/*++

Routine Description:

    Prepares the hooks when the module is loaded, unless an instrumented
    callback or constructor has caused it before.

Arguments:

    None.

Return Value:

    None.

--*/
{
    if (PenterInstance == NULL && PenterEnterRoutine != PenterReturn) {
        PenterInitializingThread = __readgsdword(TEB_THREAD_ID);
        PenterInitialize();
        PenterInitializingThread = 0;
    }
}

static
VOID
PenterCloseEnded(
    _Inout_ PPENTER Penter
    )
/*++

Routine Description:

    Closes the store of the thread that was told to detach before.  The loader
    lock, which every such notification is made under, says that the thread is
    through with its own.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    None.

--*/
{
    PTRACE_STORE Store;

    Store = Penter->Ended;
    if (Store != NULL) {
        Penter->Ended = NULL;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    }
}

_Use_decl_annotations_
VOID
PenterThreadStart(
    VOID
    )
/*++

Routine Description:

    Takes the start of any thread as the occasion to close the store of one
    that has ended.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PPENTER Penter;

    Penter = PenterInstance;
    if (Penter != NULL) {
        PenterCloseEnded(Penter);
    }
}

_Use_decl_annotations_
VOID
PenterThreadExit(
    VOID
    )
/*++

Routine Description:

    Ends the calling thread's store.

    In an EXE the store is closed at once; should the thread make more calls,
    it gets another one.  In a DLL the loader has yet to call DllMain for this
    thread: the store is marked as ended, records what still comes, and is
    closed at the next notification.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PPENTER Penter;
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;

    Penter = PenterInstance;
    if (Penter == NULL) {
        return;
    }

    if (!Penter->IsExe) {
        PenterCloseEnded(Penter);
    }

    Header = PenterGetContext(Penter);
    if (Header == NULL || Header->WriterContext == 0) {
        return;
    }

    PenterCountEventsWithoutStack(Header);

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    if (Penter->IsExe) {
        Penter->Session->Rtl.TlsSetValue(Penter->TlsIndex, NULL);
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    } else {
        TraceStoreFinish(Store, TRACE_REASON_THREAD_EXIT);
        Penter->Ended = Store;
    }
}

_Use_decl_annotations_
VOID
PenterProcessExit(
    VOID
    )
/*++

Routine Description:

    Closes the stores at process exit.  In an EXE this is the end; in a DLL its
    own DllMain and destructors still come, on this thread, and are recorded.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PPENTER Penter;
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;

    Penter = PenterInstance;
    if (Penter == NULL || Penter->ProcessExitDone) {
        return;
    }
    Penter->ProcessExitDone = TRUE;

    Store = NULL;
    Header = PenterGetContext(Penter);
    if (Header != NULL) {
        Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    }
    if (Store != NULL) {
        PenterCountEventsWithoutStack(Header);
    }

    if (Penter->IsExe) {
        PenterTurnOff();
    }
    TraceSessionProcessExit(Penter->Session, Store, Penter->IsExe);
}

_Use_decl_annotations_
VOID
PenterModuleUnload(
    VOID
    )
/*++

Routine Description:

    Takes the hooks of a DLL apart before it is unmapped.  Called by the loader,
    under its lock; no thread may be running the DLL's code any more.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PPENTER Penter;
    RTL Rtl;

    PenterTurnOff();

    Penter = PenterInstance;
    if (Penter == NULL) {
        return;
    }

    PenterInstance = NULL;
    RtlCopyBytes(&Rtl, &Penter->Session->Rtl, sizeof(Rtl));
    PenterDestroy(&Rtl, Penter, TRACE_REASON_MODULE_UNLOAD);
}

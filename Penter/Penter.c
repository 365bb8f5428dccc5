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

//
// What becomes of the hooks: NULL until one of the threads that prepare them
// decides it for all, then its instance, or PENTER_CLOSED if it has given up.
// PenterInstance follows.  And how many threads there are, and how often one of
// them has failed.
//

#define PENTER_CLOSED           ((PPENTER)&PenterDecision)
#define PENTER_MAXIMUM_FAILURES 16

static PPENTER volatile PenterDecision;
static LONG volatile PenterInitializers;
static LONG volatile PenterFailures;

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

_Use_decl_annotations_
PCPENTER_ROUTINES
PenterSetSlot(
    PPENTER Penter
    )
/*++

Routine Description:

    Tells the recording routines where a thread's context is.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    The routines that record.

--*/
{
    PCPENTER_ROUTINES Routines;

    Routines = Penter->IsTree ?
               PenterTreeRoutines[Penter->Clock] :
               PenterRoutines[Penter->Clock][Penter->Chooses];
    if (Penter->TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        PenterSlotOffset = TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID);
    } else {
        PenterSlotOffset =
            (Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS) * sizeof(PVOID);
        Routines += 1;
    }

    return Routines;
}

static
VOID
PenterTurnOn(
    _In_ PPENTER Penter
    )
/*++

Routine Description:

    Makes the hooks record.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    None.

--*/
{
    PCPENTER_ROUTINES Routines;

    Routines = PenterSetSlot(Penter);
    PenterSetRoutines(Routines->Enter,
                      Routines->Exit,
                      Routines->EnterFunction,
                      Routines->ExitFunction);
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
    ((PTRACE_STORE_HEADER)StandIn)->HookFlags = TRACE_HOOK_STOPPED |
                                                TRACE_HOOK_SHARED;
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

    UNREFERENCED_PARAMETER(Value);

    Penter = PenterInstance;
    if (Penter == NULL) {
        return;
    }

    if (PenterIsProcessEnding()) {
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

    Reports the values of the environment and the ini file that made no sense,
    in the session's log if there can be one.

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
    RTL_WRITER Writer;
    CHAR Text[64];

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
                      Config->Consequences[Index] != NULL ?
                      Config->Consequences[Index] : "the default is used");
    }

    if (Config->NumberOfErrorsLeftOut != 0) {
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
        RtlWriteText(&Writer,
                     "%u more like these are not reported",
                     Config->NumberOfErrorsLeftOut);
        Text[Writer.LengthInBytes] = '\0';
        RtlSetError(&Error,
                    "reading the settings",
                    &Session->ModuleName,
                    STATUS_BUFFER_OVERFLOW);
        TraceLogError(Session, &Error, Text);
    }
}

static
VOID
PenterExcludeFunctions(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
/*++

Routine Description:

    Excludes the functions of TRACER_EXCLUDE.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration.

    Penter - Supplies the hooks, which have been decided for and do not record
        yet.

Return Value:

    None.  What cannot be excluded is recorded, and the log says so.

--*/
{
    PTRACE_SESSION Session;
    NTSTATUS Status;
    HANDLE Directory;
    RTL_ERROR Error;
    RTL_ERROR DirectoryError;
    RTL_WRITER Writer;
    CHAR Text[128];

    if (Config->ExcludeFile.Length == 0) {
        return;
    }

    Session = Penter->Session;
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
    Status = PenterExcludeByFile(Rtl,
                                 Session->Template,
                                 &Session->ModuleName,
                                 &Config->ExcludeFile,
                                 &Penter->Exclusion,
                                 &Error);
    if (Penter->Exclusion.NumberOfSites != 0) {
        Session->Template->Flags |= TRACE_FLAG_EXCLUDED;
    }
    if (!NT_SUCCESS(Status)) {
        RtlWriteText(&Writer, "no function of this module is excluded");
    } else if (Penter->Exclusion.NumberRefused != 0) {
        RtlSetError(&Error,
                    "excluding the functions of TRACER_EXCLUDE",
                    &Session->ModuleName,
                    STATUS_DATA_ERROR);
        RtlWriteText(&Writer,
                     "no hook is called at 0x%x; %u functions are recorded, "
                     "%u are excluded",
                     Penter->Exclusion.RefusedRva,
                     Penter->Exclusion.NumberRefused,
                     Penter->Exclusion.NumberOfFunctions);
    } else {
        return;
    }

    //
    // If this fails, the first store meets the same failure and reports it.
    //

    Text[Writer.LengthInBytes] = '\0';
    (VOID)TraceSessionOpenDirectory(Session, &Directory, &DirectoryError);
    TraceLogError(Session, &Error, Text);
}

static
VOID
PenterChooseChrono(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
/*++

Routine Description:

    Chooses the functions of TRACER_CHRONO.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration.

    Penter - Supplies the hooks, which have been decided for and do not record
        yet.

Return Value:

    None.  If the list cannot be used the log says so.

--*/
{
    PTRACE_SESSION Session;
    NTSTATUS Status;
    HANDLE Directory;
    RTL_ERROR Error;
    RTL_ERROR DirectoryError;

    if (Config->ChronoFile.Length == 0) {
        return;
    }

    Session = Penter->Session;
    Status = PenterReadChronoList(Rtl,
                                  Session->Template,
                                  &Session->ModuleName,
                                  &Config->ChronoFile,
                                  &Penter->Chrono,
                                  &Session->NumberOfChrono,
                                  &Error);
    Session->Chrono = Penter->Chrono;
    if (!NT_SUCCESS(Status)) {
        (VOID)TraceSessionOpenDirectory(Session, &Directory, &DirectoryError);
        TraceLogError(Session,
                      &Error,
                      "no calls of this module are recorded beside its trees");
    }
}

static
VOID
PenterReportLeftOut(
    _Inout_ PPENTER Penter
    )
/*++

Routine Description:

    Reports, at the end, how many events are in no store and counted in none:
    those of threads that could not have one.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    None.

--*/
{
    ULONGLONG Count;
    RTL_ERROR Error;
    RTL_WRITER Writer;
    CHAR Text[64];

    //
    // Those that were reentered while a thread was getting its store are
    // counted there.
    //

    Count = ((PTRACE_STORE_HEADER)&Penter->NoStore)->NumberOfEventsLost +
            ((PTRACE_STORE_HEADER)&Penter->Attaching)->NumberOfEventsLost -
            (ULONGLONG)Penter->NumberOfEventsReentered +
            (ULONGLONG)InterlockedExchange64(&PenterEventsLeftOut, 0);
    if (Count == 0) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
    RtlWriteText(&Writer, "%llu events are not recorded", Count);
    Text[Writer.LengthInBytes] = '\0';
    RtlSetError(&Error,
                "counting the events of threads without a store",
                &Penter->Session->ModuleName,
                NT_SUCCESS(Penter->NoStoreStatus) ? STATUS_NO_MEMORY :
                                                    Penter->NoStoreStatus);

    //
    // There is always room for this last report.
    //

    if (Penter->Session->NumberOfErrorsLogged >= TRACE_LOG_MAXIMUM_ERRORS) {
        Penter->Session->NumberOfErrorsLogged = TRACE_LOG_MAXIMUM_ERRORS - 1;
    }
    TraceLogError(Penter->Session, &Error, Text);
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
    PenterIncludeAgain(Rtl, &Penter->Exclusion);
    if (Penter->Session != NULL) {
        TraceSessionDestroy(Penter->Session, Reason);
    }
    RtlFreePages(Rtl, Penter->Chrono);
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
    PenterInitializeStandIn(&Penter->Attaching);
    PenterInitializeStandIn(&Penter->OwnThread);
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

    RtlZeroBytes(&Parameters, sizeof(Parameters));
    Parameters.ModuleBase = &__ImageBase;
    Parameters.RootDirectory = Config->RootDirectory;
    Parameters.MaximumViewSize = Config->MaximumViewSize;
    Parameters.WorkerAllowed = Penter->IsExe || Penter->HasTlsCallback;
    Parameters.MaximumBytes = Config->MaximumBytes;
    Parameters.IsRing = Config->IsRing;
    Parameters.IsTree = Config->IsTree;
    Parameters.Flush = Config->Flush;
    Parameters.Clock = Config->Clock;
    Parameters.MaximumDepth = Config->MaximumDepth;
    Parameters.MinimumDuration = Config->MinimumDuration;
    Parameters.ControlSize = Config->ControlSize;

    if (!NT_SUCCESS(TraceSessionCreate(Rtl,
                                       &Parameters,
                                       &Penter->Session,
                                       Error))) {
        return FALSE;
    }

    PenterShareDirectory(Rtl, Config);
    Penter->Clock = Config->Clock;
    Penter->IsTree = Config->IsTree;
    Penter->Chooses = Config->MaximumDepth != 0 ||
                      Config->MinimumDuration != 0;

    //
    // Until the clock goes, the hooks find it standing still.
    //

    if (Penter->Clock == TRACE_CLOCK_THREAD) {
        PenterClock = __rdtsc();
        Penter->Session->Template->Clock = TRACE_CLOCK_THREAD;
    }

    return TRUE;
}

static
VOID
PenterStartClock(
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
/*++

Routine Description:

    Starts the clock thread if the user asks for it.  Only the instance that has
    been decided for does: an instance that is given up would have to end a
    thread that has not begun and may be holding one of the loader's locks.

Arguments:

    Config - Supplies the configuration.

    Penter - Supplies the instance.

Return Value:

    None.  Without the thread the time stamp counter is used.

--*/
{
    NTSTATUS Status;

    if (Penter->Clock != TRACE_CLOCK_THREAD) {
        return;
    }

    Status = TraceClockStart(Penter->Session, &PenterClock);
    if (!NT_SUCCESS(Status)) {
        Penter->Clock = TRACE_CLOCK_TSC;
        Penter->Session->Template->Clock = TRACE_CLOCK_TSC;
        PenterConfigError(Config,
                          "starting the clock of TRACER_CLOCK",
                          &Penter->Session->ModuleName,
                          Status);
    }
}

static
VOID
PenterBeginStopped(
    _Inout_ PPENTER_CONFIG Config,
    _In_ PPENTER Penter
    )
/*++

Routine Description:

    Stops recording before it begins, if the user asks for it.  That is done
    once for a process: it may have been started again when another module is
    loaded.

Arguments:

    Config - Supplies the configuration.

    Penter - Supplies the instance, whose hooks do not record yet.

Return Value:

    None.  Where recording cannot be stopped it begins, which is noted.

--*/
{
    PTRACE_SESSION Session;
    NTSTATUS Status;

    if (!Config->IsStopped) {
        return;
    }

    Session = Penter->Session;
    TraceControlOpen(Session);
    TraceControlPoll(Session);
    if (Session->ControlSeen != 0) {
        return;
    }

    Status = TraceControlAppend(Session, TRACE_ACTION_STOP, "", 0);
    if (NT_SUCCESS(Status)) {
        TraceControlPoll(Session);
    } else {
        PenterAddError(Config,
                       "stopping as TRACER_STOPPED asks",
                       &Session->ModuleName,
                       Status,
                       "recording begins at once");
    }
}

static
VOID
PenterReportStart(
    _In_ PCRTL Rtl,
    _In_ PCRTL_ERROR Error,
    _In_z_ PCSZ Consequence
    )
/*++

Routine Description:

    Reports that tracing could not start.  There is no session and so no log:
    the debugger is all there is.

Arguments:

    Rtl - Supplies an RTL, of which OutputDebugStringW may be missing.

    Error - Supplies what failed.

    Consequence - Supplies what happens now.

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
    RtlWriteText(&Writer, "; %s\r\n", Consequence);
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide) - 1,
                  &Written);
    Wide[Written] = L'\0';
    Rtl->OutputDebugStringW(Wide);
}

static
BOOLEAN
PenterDecide(
    _In_ PPENTER Decision
    )
/*++

Routine Description:

    Decides what becomes of the hooks.

Arguments:

    Decision - Supplies the instance, or PENTER_CLOSED.

Return Value:

    FALSE if another thread has decided before.

--*/
{
    return InterlockedCompareExchangePointer((PVOID volatile *)&PenterDecision,
                                             Decision,
                                             NULL) == NULL;
}

static
BOOLEAN
PenterFollow(
    VOID
    )
/*++

Routine Description:

    Does what was decided, whoever decided it: nobody waits for that thread.

Arguments:

    None.

Return Value:

    FALSE if nothing has been decided.

--*/
{
    PPENTER Decision;

    Decision = PenterDecision;
    if (Decision == NULL) {
        return FALSE;
    }

    if (Decision == PENTER_CLOSED) {
        PenterTurnOff();
    } else {
        PenterInstance = Decision;
        PenterTurnOn(Decision);
    }

    return TRUE;
}

static
BOOLEAN
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

    TRUE if the hooks are prepared, or return at once from now on, because
    something failed or the module is left out.  FALSE if something failed and
    another thread is still at it.

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
    BOOLEAN Done;

    if (PenterFollow()) {
        return TRUE;
    }

    InterlockedIncrement(&PenterInitializers);

    Config = NULL;
    Penter = NULL;
    Done = TRUE;

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
        (VOID)PenterPatchHooks(&Rtl);
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

    if (!PenterDecide(Penter)) {

        //
        // Another thread was first.
        //

        PenterDestroy(&Rtl, Penter, TRACE_REASON_NONE);
        (VOID)PenterFollow();
        goto End;
    }

    PenterStartClock(Config, Penter);
    PenterExcludeFunctions(&Rtl, Config, Penter);
    PenterChooseChrono(&Rtl, Config, Penter);
    PenterMeasureProbe(&Rtl, Penter);
    PenterBeginStopped(Config, Penter);
    (VOID)PenterFollow();
    PenterReportConfig(Penter->Session, Config);
    goto End;

Error:

    if (Penter != NULL) {
        PenterDestroy(&Rtl, Penter, TRACE_REASON_NONE);
    }

    //
    // Another thread that came at the same time may have better luck.
    //

    if (PenterInitializers == 1 ||
        InterlockedIncrement(&PenterFailures) >= PENTER_MAXIMUM_FAILURES) {

        (VOID)PenterDecide(PENTER_CLOSED);
    }
    Done = PenterFollow();
    PenterReportStart(&Rtl,
                      &Error,
                      PenterDecision == PENTER_CLOSED ?
                      "nothing is recorded" : "left to another thread");

End:

    RtlFreePages(&Rtl, Config);
    InterlockedDecrement(&PenterInitializers);
    return Done;
}

static
BOOLEAN
PenterPrepare(
    VOID
    )
/*++

Routine Description:

    Prepares the hooks on behalf of the calling thread, which is not doing it
    already.

Arguments:

    None.

Return Value:

    As PenterInitialize.

--*/
{
    BOOLEAN Done;

    PenterInitializingThread = __readgsdword(TEB_THREAD_ID);
    Done = PenterInitialize();
    PenterInitializingThread = 0;
    return Done;
}

static
VOID
PenterAttachThread(
    _In_ PPENTER Penter
    )
/*++

Routine Description:

    Gives the calling thread a store.

    While this runs the thread's slot holds a stand-in, so that a call that
    comes from inside the library is counted and not recursed into; and stays
    there should an exception take the thread out of here.

Arguments:

    Penter - Supplies the hooks.

Return Value:

    None.  If there can be no store the thread gets a stand-in for good.

--*/
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
        Session->ClockWorker.ThreadId == __readgsdword(TEB_THREAD_ID)) {

        Session->Rtl.TlsSetValue(Penter->TlsIndex, &Penter->OwnThread);
        return;
    }

    if (!Session->Rtl.TlsSetValue(Penter->TlsIndex, StandIn)) {

        //
        // No memory for the thread's array of expansion slots.  The next call
        // tries again; this is said once.
        //

        Penter->NoStoreStatus = STATUS_NO_MEMORY;
        if (!Penter->SlotReported) {
            Penter->SlotReported = TRUE;
            RtlSetError(&Error,
                        "setting a thread's TLS slot",
                        &Session->ModuleName,
                        STATUS_NO_MEMORY);
            TraceLogError(Session,
                          &Error,
                          "calls are lost until it can be set");
        }
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
    if (!NT_SUCCESS(Status)) {
        Penter->NoStoreStatus = Status;
        TraceLogError(Session,
                      &Error,
                      "this thread is not recorded, the program goes on");
        Session->Rtl.TlsSetValue(Penter->TlsIndex, &Penter->NoStore);
        return;
    }

    //
    // The stand-in is that of every thread that gets a store at this moment.
    // What others count on it is counted here too: never too little.
    //

    Reentered = StandIn->NumberOfEventsLost - Reentered;
    Store->Header->NumberOfEventsReentered = Reentered;
    if (Session->Rtl.TlsSetValue(Penter->TlsIndex, Store->Header)) {
        InterlockedExchangeAdd64(&Penter->NumberOfEventsReentered,
                                 (LONGLONG)Reentered);
    } else {
        Penter->NoStoreStatus = STATUS_NO_MEMORY;
        Store->Header->NumberOfEventsReentered = 0;
        TraceStoreStop(Store, TRACE_REASON_INVARIANT, STATUS_NO_MEMORY);
        TraceStoreClose(Store, TRACE_REASON_NONE);
        RtlSetError(&Error,
                    "setting a thread's TLS slot",
                    &Session->ModuleName,
                    STATUS_NO_MEMORY);
        TraceLogError(Session,
                      &Error,
                      "this thread is not recorded, the program goes on");
        Session->Rtl.TlsSetValue(Penter->TlsIndex, &Penter->NoStore);
    }
}

static
VOID
PenterCountEventsLeftOut(
    _Inout_ PTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Counts the events that were left out where there was no header to count
    them in as lost, in the store of whichever thread comes by first.

Arguments:

    Header - Supplies the header of the calling thread's store.

Return Value:

    None.

--*/
{
    if (PenterEventsLeftOut != 0) {
        Header->NumberOfEventsLost +=
            (ULONGLONG)InterlockedExchange64(&PenterEventsLeftOut, 0);
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

static
BOOLEAN
PenterTreeCall(
    _Inout_ PPENTER Penter,
    _Inout_ PTRACE_STORE Store,
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Does what the hooks of a tree cannot do by themselves.

Arguments:

    Penter - Supplies the hooks.

    Store - Supplies the calling thread's store.

    Call - Supplies the hook's call.

    Kind - Supplies its TRACE_KIND_*.

    Timestamp - Supplies the time stamp counter at that time.

Return Value:

    TRUE if the hook should try again.

--*/
{
    BOOLEAN WasStopped;
    BOOLEAN Again;
    TRACE_TREE_CALL TreeCall;

    TreeCall.Stack = (ULONG_PTR)(Call + 1);
    TreeCall.Place = Call->ReturnAddress;
    TreeCall.Timestamp = Penter->Clock == TRACE_CLOCK_THREAD ? PenterClock :
                                                               Timestamp;
    TreeCall.Kind = Kind;
    TreeCall.Site = (ULONG)Call->ReturnAddress;
    TreeCall.IsJump = FALSE;
    if (Kind == TRACE_KIND_ENTER_FUNCTION ||
        Kind == TRACE_KIND_EXIT_FUNCTION) {

        TreeCall.Site = (ULONG)Call->Rcx;
        TreeCall.IsJump = Kind == TRACE_KIND_EXIT_FUNCTION &&
                          Call->ReturnAddress == Call->Rdx;
    }

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

static
BOOLEAN
PenterCountPaused(
    _Inout_ PTRACE_STORE Store,
    _In_ BOOLEAN IsPaused
    )
/*++

Routine Description:

    Counts an event while recording is stopped, where the hook does not do that
    by itself.  Where it does, it is entered again, even if its flag was taken
    away meanwhile, since it follows the depth of calls, too.

Arguments:

    Store - Supplies the calling thread's store.

    IsPaused - Supplies whether it is stopped.

Return Value:

    TRUE if it has been counted.

--*/
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
PenterSlowPath(
    _In_ PCPENTER_SLOW_CALL Call,
    _In_ ULONG Kind,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Called by the hooks, with all of the machine's state saved, when they
    cannot record at once: at the module's first call, at a thread's first
    call, when the prepared pages are full, when the store has stopped; and for
    what the hooks of a tree leave to it.

Arguments:

    Call - Supplies the hook's call.

    Kind - Supplies its TRACE_KIND_*.

    Timestamp - Supplies the time stamp counter at that time.

Return Value:

    TRUE if the hook should try again, FALSE if the event has been counted as
    lost and the program should go on.

--*/
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
        do {
            IsPaused = TraceControlServe(Store);
        } while (Store->Attention);
        Done = IsPaused;
        if (!IsPaused) {
            Done = PenterTreeCall(Penter, Store, Call, Kind, Timestamp);
        }
        Store->InSlowPath = FALSE;
        return PenterCountPaused(Store, IsPaused) ? FALSE : Done;
    }

    if (Store->Depth != NULL &&
        Store->Depth->StackBase != __readgsqword(TEB_STACK_BASE)) {

        Store->InSlowPath = TRUE;
        TraceDepthSwitch(Store);
        Store->InSlowPath = FALSE;
        return TRUE;
    }

    Store->InSlowPath = TRUE;
    do {
        IsPaused = TraceControlServe(Store);
        if (!IsPaused) {
            TraceStoreAdvance(Store);
        }
    } while (Store->Attention);
    if (Header->State == TRACE_STATE_STOPPED &&
        Header->Reason != TRACE_REASON_MAXIMUM_BYTES) {

        PenterReportStop(Store);
    }
    Store->InSlowPath = FALSE;

    return !PenterCountPaused(Store, IsPaused);
}

_Use_decl_annotations_
PTRACE_SESSION
PenterGetSession(
    VOID
    )
/*++

Routine Description:

    Finds the session of this module, and prepares the hooks if need be.

Arguments:

    None.

Return Value:

    The session, or NULL if nothing is recorded, or the calling thread is
    preparing the hooks at this moment.

--*/
{
    if (PenterInstance == NULL &&
        PenterEnterRoutine != PenterReturn &&
        PenterInitializingThread != __readgsdword(TEB_THREAD_ID)) {

        (VOID)PenterPrepare();
    }

    return PenterInstance != NULL ? PenterInstance->Session : NULL;
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
    PPENTER Penter;

    if (PenterInstance == NULL && PenterEnterRoutine != PenterReturn) {
        (VOID)PenterPrepare();
    }

    //
    // The callback at process exit is called for the exiting thread, and on
    // the stack that it then runs on.  A main thread that made its first
    // traced call on a fiber has no other value on its own.
    //

    Penter = PenterInstance;
    if (Penter != NULL &&
        Penter->Session != NULL &&
        Penter->FlsIndex != FLS_OUT_OF_INDEXES) {
        Penter->Session->Rtl.FlsSetValue(Penter->FlsIndex, Penter);
    }
}

_Use_decl_annotations_
BOOLEAN
PenterIsProcessEnding(
    VOID
    )
/*++

Routine Description:

    Says whether the process ends.  The loader tells a TLS callback only that
    the module goes away.

Arguments:

    None.

Return Value:

    FALSE also if the hooks were never prepared, or the system cannot say.

--*/
{
    PPENTER Penter;
    PCRTL Rtl;

    Penter = PenterInstance;
    if (Penter == NULL || Penter->Session == NULL) {
        return FALSE;
    }

    Rtl = &Penter->Session->Rtl;
    return Rtl->RtlDllShutdownInProgress != NULL &&
           Rtl->RtlDllShutdownInProgress();
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

    TraceWatchThreadEnds(Penter->Session);

    if (!Penter->IsExe) {
        PenterCloseEnded(Penter);
    }

    Header = PenterGetContext(Penter);
    if (Header == NULL || Header->WriterContext == 0) {
        return;
    }

    PenterCountEventsLeftOut(Header);

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
        PenterCountEventsLeftOut(Header);
    }

    if (Penter->IsExe) {
        PenterTurnOff();
    }
    PenterReportLeftOut(Penter);
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
    PenterDecision = NULL;
    PenterFailures = 0;

    Penter = PenterInstance;
    if (Penter == NULL) {
        PenterEventsLeftOut = 0;
        return;
    }

    PenterInstance = NULL;
    PenterReportLeftOut(Penter);
    RtlCopyBytes(&Rtl, &Penter->Session->Rtl, sizeof(Rtl));
    PenterDestroy(&Rtl, Penter, TRACE_REASON_MODULE_UNLOAD);
}

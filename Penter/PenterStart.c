/*++

Module Name:

    PenterStart.c

Abstract:

    The hooks of a module are prepared, when it is loaded or at the first call
    in it, and taken apart when it is unloaded.

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

    How the hooks learn that a thread ends or that their DLL is being unloaded:
    a callback in the image's TLS directory.

    The directory itself belongs to the C runtime.  MinGW's always has one;
    Microsoft's has one when _tls_used is referenced, which Penter.props sees
    to.  An image without one links and runs all the same: PenterHasTlsCallback
    then says no, and the hooks do without a worker in a DLL (it could not be
    told to leave) and without notice of thread ends.

--*/

#include "../TraceStore/TraceClock.h"
#include "../TraceStore/TraceControl.h"
#include "../TraceStore/TraceControlAppend.h"
#include "../TraceStore/TraceControlOpen.h"
#include "../TraceStore/TraceDirectory.h"
#include "../TraceStore/TraceLog.h"
#include "PenterEnd.h"
#include "PenterLeftOut.h"
#include "PenterList.h"
#include "PenterPatch.h"
#include "PenterProbe.h"
#include "PenterStart.h"
#include "PenterThrow.h"
#include "PenterWord.h"

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

//
// Makes a stand-in header.
//

static
VOID
PenterInitializeStandIn(
    _Out_ PPENTER_STAND_IN StandIn
    )
{
    RtlZeroBytes(StandIn, sizeof(*StandIn));
    ((PTRACE_STORE_HEADER)StandIn)->HookFlags = TRACE_HOOK_STOPPED |
                                                TRACE_HOOK_SHARED;
}

//
// Reports which ini file is used, and the values of the environment and of the
// ini file that made no sense, in the session's log if there can be one.
// Config: the configuration.
//

static
VOID
PenterReportConfig(
    _Inout_ PTRACE_SESSION Session,
    _In_ PPENTER_CONFIG Config
    )
{
    ULONG Index;
    HANDLE Directory;
    UNICODE_STRING Path;
    RTL_ERROR Error;
    RTL_WRITER Writer;
    CHAR Text[64];

    if (Config->NumberOfErrors == 0 && Config->Ini.Taken == NULL) {
        return;
    }

    //
    // If this fails, the first store meets the same failure and reports it.
    //

    (VOID)TraceDirectoryOpenSession(Session, &Directory, &Error);

    //
    // Of a long path the end says more than the beginning.
    //

    if (Config->Ini.Taken != NULL) {
        Path = Config->Ini.Path;
        if (Path.Length > sizeof(Error.Object)) {
            Path.Buffer += (Path.Length - sizeof(Error.Object)) / sizeof(WCHAR);
            Path.Length = sizeof(Error.Object);
        }
        RtlSetError(&Error, PENTER_INI_STEP, &Path, STATUS_SUCCESS);
        TraceLogError(Session, &Error, Config->Ini.Taken);
    }

    for (Index = 0; Index < Config->NumberOfErrors; Index += 1) {
        TraceLogError(Session,
                      &Config->Errors[Index],
                      Config->Consequences[Index] != NULL ?
                      Config->Consequences[Index] : "the default is used");
    }

    if (Config->NumberOfErrorsLeftOut != 0) {
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
        RtlWriteText(&Writer,
                     "%u more reports were suppressed",
                     Config->NumberOfErrorsLeftOut);
        Text[Writer.LengthInBytes] = '\0';
        RtlSetError(&Error,
                    "reading the settings",
                    &Session->ModuleName,
                    STATUS_BUFFER_OVERFLOW);
        TraceLogError(Session, &Error, Text);
    }
}

//
// Excludes the functions of TRACER_EXCLUDE.
// Config: the configuration.
// Penter: the hooks, which have been decided for and do not record yet.
// What cannot be excluded is recorded, and the log says so.
//

static
VOID
PenterExcludeFunctions(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
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
    (VOID)TraceDirectoryOpenSession(Session, &Directory, &DirectoryError);
    TraceLogError(Session, &Error, Text);
}

//
// Chooses the functions of TRACER_CHRONO.
// Config: the configuration.
// Penter: the hooks, which have been decided for and do not record yet.
// If the list cannot be used the log says so.
//

static
VOID
PenterChooseChrono(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
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
        (VOID)TraceDirectoryOpenSession(Session, &Directory, &DirectoryError);
        TraceLogError(Session,
                      &Error,
                      "no calls of this module are recorded beside its trees");
    }
}

//
// Undoes a finished or a half-built instance.
// Rtl: an RTL that is not the session's.
// Reason: a TRACE_REASON_* for the stores that are open.
//

static
VOID
PenterDestroy(
    _In_ PCRTL Rtl,
    _In_ PPENTER Penter,
    _In_ ULONG Reason
    )
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

//
// Builds an instance that records.
// Config: the configuration.
// Penter: the instance, whose indexes say none.
// Error: what failed.
// Returns TRUE if the instance is complete.
//

static
BOOLEAN
PenterBuild(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter,
    _Out_ PRTL_ERROR Error
    )
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
    Parameters.HasFallback = Config->IsDirectoryDefault;
    Parameters.MaximumViewSize = Config->MaximumViewSize;
    Parameters.WorkerAllowed = Penter->IsExe || Penter->HasTlsCallback;
    Parameters.MaximumBytes = Config->MaximumBytes;
    Parameters.IsRing = Config->IsRing;
    Parameters.IsCompact = Config->IsCompact;
    Parameters.IsTree = Config->IsTree;
    Parameters.Flush = Config->Flush;
    Parameters.Clock = Config->Clock;
    Parameters.MaximumDepth = Config->MaximumDepth;
    Parameters.MinimumDuration = Config->MinimumDuration;
    Parameters.MinimumFree = Config->MinimumFree;
    Parameters.MinimumFreePercent = Config->MinimumFreePercent;
    Parameters.ControlSize = Config->ControlSize;

    if (!NT_SUCCESS(TraceSessionCreate(Rtl,
                                       &Parameters,
                                       &Penter->Session,
                                       Error))) {
        return FALSE;
    }

    PenterShareDirectory(Rtl, Config);
    Penter->Clock = Config->Clock;
    Penter->Session->Places = PenterPlaces;
    Penter->Session->IsHook = PenterIsHook;
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

//
// Starts the clock thread if the user asks for it. Only the instance that has
// been decided for does: an instance that is given up would have to end a
// thread that has not begun and may be holding one of the loader's locks.
//
// Config: the configuration.
// Without the thread the time stamp counter is used.
//

static
VOID
PenterStartClock(
    _In_ PPENTER_CONFIG Config,
    _Inout_ PPENTER Penter
    )
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

//
// Stops recording before it begins, if the user asks for it. That is done once
// for a process: it may have been started again when another module is loaded.
// Config: the configuration.
// Penter: the instance, whose hooks do not record yet.
// Where recording cannot be stopped it begins, which is noted.
//

static
VOID
PenterBeginStopped(
    _Inout_ PPENTER_CONFIG Config,
    _In_ PPENTER Penter
    )
{
    PTRACE_SESSION Session;
    NTSTATUS Status;

    if (!Config->IsStopped) {
        return;
    }

    Session = Penter->Session;
    TraceControlOpen(Session);
    TraceControlPoll(Session);
    if (TRACE_CONTROL_SEEN(Session) != 0) {
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

//
// Reports that tracing could not start. There is no session and so no log: the
// debugger is all there is.
// Rtl: an RTL, of which OutputDebugStringW may be missing.
// Error: what failed.
// Consequence: what happens now.
//

static
VOID
PenterReportStart(
    _In_ PCRTL Rtl,
    _In_ PCRTL_ERROR Error,
    _In_z_ PCSZ Consequence
    )
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

//
// Decides what becomes of the hooks.
// Decision: the instance, or PENTER_CLOSED.
// Returns FALSE if another thread has decided before.
//

static
BOOLEAN
PenterDecide(
    _In_ PPENTER Decision
    )
{
    return InterlockedCompareExchangePointer((PVOID volatile *)&PenterDecision,
                                             Decision,
                                             NULL) == NULL;
}

//
// Does what was decided, whoever decided it: nobody waits for that thread.
// Returns FALSE if nothing has been decided.
//

static
BOOLEAN
PenterFollow(
    VOID
    )
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

//
// Prepares the hooks of this module, and sets the routines that the public
// hooks jump to.
// Returns TRUE if the hooks are prepared, or return at once from now on,
// because something failed or the module is left out. FALSE if something
// failed and another thread is still at it.
//

static
BOOLEAN
PenterInitialize(
    VOID
    )
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

    Rtl.Environment = PenterEnvironment;
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
        if (PenterKeepUnmatched(&Rtl, Config)) {
            Config = NULL;
        }
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
    PenterWatchExceptions(&Rtl, Penter);
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

_Use_decl_annotations_
BOOLEAN
PenterPrepare(
    VOID
    )
{
    BOOLEAN Done;

    PenterInitializingThread = __readgsdword(TEB_THREAD_ID);
    Done = PenterInitialize();
    PenterInitializingThread = 0;
    return Done;
}

_Use_decl_annotations_
PTRACE_SESSION
PenterGetSession(
    VOID
    )
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
VOID
PenterModuleUnload(
    VOID
    )
{
    PPENTER Penter;
    RTL Rtl;

    PenterTurnOff();
    PenterDecision = NULL;
    PenterFailures = 0;

    Penter = PenterInstance;
    if (Penter == NULL) {
        PenterEventsLeftOut = 0;
        PenterForgetUnmatched();
        return;
    }

    PenterInstance = NULL;
    PenterReportLeftOut(Penter);
    PenterForgetExceptions();
    RtlCopyBytes(&Rtl, &Penter->Session->Rtl, sizeof(Rtl));
    PenterDestroy(&Rtl, Penter, TRACE_REASON_MODULE_UNLOAD);
}

//
// Called by the loader, under its lock, as a DllMain would be.
// ModuleBase: the image base.
// Reason: what happens.
// Reserved: unlike DllMain's, NULL even when the process ends.
//

static
VOID
NTAPI
PenterTlsCallback(
    PVOID ModuleBase,
    DWORD Reason,
    PVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(ModuleBase);
    UNREFERENCED_PARAMETER(Reserved);

    if (Reason == DLL_PROCESS_ATTACH) {
        PenterModuleLoad();
    } else if (Reason == DLL_THREAD_ATTACH) {
        PenterThreadStart();
    } else if (Reason == DLL_THREAD_DETACH) {
        PenterThreadExit();
    } else if (Reason == DLL_PROCESS_DETACH) {
        PenterCloseUnmatched();
        if (PenterIsProcessEnding()) {
            PenterProcessExit();
        } else {
            PenterModuleUnload();
        }
    }
}

//
// The C runtimes gather the callbacks between .CRT$XLA and .CRT$XLZ.  Ours
// comes last, so that the program's own, which may be instrumented, come
// before a thread's store is closed.
//

#pragma section(".CRT$XLYZ", long, read)

extern const PIMAGE_TLS_CALLBACK PenterTlsCallbackEntry;
__declspec(allocate(".CRT$XLYZ"))
const PIMAGE_TLS_CALLBACK PenterTlsCallbackEntry = PenterTlsCallback;

_Use_decl_annotations_
BOOLEAN
PenterHasTlsCallback(
    PVOID ModuleBase
    )
{
    PBYTE Base;
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_DATA_DIRECTORY Directory;
    PIMAGE_TLS_DIRECTORY64 Tls;
    PIMAGE_TLS_CALLBACK *Callback;

    Base = (PBYTE)ModuleBase;
    NtHeaders = (PIMAGE_NT_HEADERS64)
        (Base + ((PIMAGE_DOS_HEADER)Base)->e_lfanew);
    Directory = &NtHeaders->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_TLS];
    if (Directory->VirtualAddress == 0 || Directory->Size < sizeof(*Tls)) {
        return FALSE;
    }

    Tls = (PIMAGE_TLS_DIRECTORY64)(Base + Directory->VirtualAddress);
    Callback = (PIMAGE_TLS_CALLBACK *)(ULONG_PTR)Tls->AddressOfCallBacks;
    if (Callback == NULL) {
        return FALSE;
    }

    while (*Callback != NULL) {
        if (*Callback ==
            *(const PIMAGE_TLS_CALLBACK volatile *)&PenterTlsCallbackEntry) {

            return TRUE;
        }
        Callback += 1;
    }

    return FALSE;
}

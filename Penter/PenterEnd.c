/*++

Module Name:

    PenterEnd.c

Abstract:

    The end of a thread and of the process: stores are closed, as far as the
    loader tells of it (PenterStart.c).

--*/

#include "../TraceStore/TraceLog.h"
#include "../TraceStore/TraceName.h"
#include "../TraceStore/TraceShare.h"
#include "../TraceStore/TraceStop.h"
#include "../TraceStore/TraceStore.h"
#include "../TraceStore/TraceTree.h"
#include "../TraceStore/TraceWatch.h"
#include "PenterEnd.h"
#include "PenterThrow.h"

_Use_decl_annotations_
BOOLEAN
PenterIsProcessEnding(
    VOID
    )
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

//
// Closes the store of the thread that was told to detach before. The loader
// lock, which every such notification is made under, says that the thread is
// through with its own.
//
// Penter: the hooks.
//

static
VOID
PenterCloseEnded(
    _Inout_ PPENTER Penter
    )
{
    PTRACE_STORE Store;

    Store = Penter->Ended;
    if (Store != NULL) {
        Penter->Ended = NULL;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    }
}

//
// Takes the start of any thread as the occasion to close the store of one that
// has ended.
//

_Use_decl_annotations_
VOID
PenterThreadStart(
    VOID
    )
{
    PPENTER Penter;

    Penter = PenterInstance;
    if (Penter != NULL) {
        PenterCloseEnded(Penter);
    }
}

//
// Ends the calling thread's store.
//
// In an EXE the store is closed at once; should the thread make more calls, it
// gets another one. In a DLL the loader has yet to call DllMain for this
// thread: the store is marked as ended, records what still comes, and is
// closed at the next notification.
//

_Use_decl_annotations_
VOID
PenterThreadExit(
    VOID
    )
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
    TraceShareServe(Penter->Session, Store);
    if (Penter->IsExe) {

        //
        // What closing the store calls may have hooks, which must not make
        // another one for that.
        //

        (VOID)PenterSetContext(Penter, &Penter->Attaching);
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        (VOID)PenterSetContext(Penter, NULL);
    } else {
        TraceNameRefresh(Store);
        TraceStopFinish(Store, TRACE_REASON_THREAD_EXIT);
        if (Penter->HasTlsCallback) {
            TraceTreeEnd(Store);
        }
        Penter->Ended = TraceShareFindEntry(Penter->Session, Store);
    }
}

_Use_decl_annotations_
VOID
PenterReportLeftOut(
    PPENTER Penter
    )
{
    ULONGLONG Count;
    ULONGLONG Reentered;
    RTL_ERROR Error;
    RTL_WRITER Writer;
    CHAR Text[64];

    //
    // Those that were reentered while a thread was getting its store are
    // counted there; twice where several threads got theirs at one time.
    //

    Count = ((PTRACE_STORE_HEADER)&Penter->Attaching)->NumberOfEventsLost;
    Reentered = (ULONGLONG)Penter->NumberOfEventsReentered;
    Count -= Reentered < Count ? Reentered : Count;
    Count += ((PTRACE_STORE_HEADER)&Penter->NoStore)->NumberOfEventsLost +
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

//
// Closes the stores at process exit. In an EXE this is the end; in a DLL its
// own DllMain and destructors still come, on this thread, and are recorded.
//

_Use_decl_annotations_
VOID
PenterProcessExit(
    VOID
    )
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
        TraceShareServe(Penter->Session, Store);
    }

    if (Penter->IsExe) {
        PenterTurnOff();
        PenterForgetExceptions();
    }
    PenterReportLeftOut(Penter);
    TraceSessionProcessExit(Penter->Session, Store, Penter->IsExe);
}

_Use_decl_annotations_
VOID
NTAPI
PenterFlsCallback(
    PVOID Value
    )
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

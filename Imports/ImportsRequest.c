/*++

Module Name:

    ImportsRequest.c

Abstract:

    TraceReader has written a request into this process, and started a thread
    here: the DLL attaches to the program, or detaches from it.

    Whoever may write into the process and start a thread in it may do anything
    there, so that what a request says is not doubted; but it must be of the
    version that is known here.

--*/

#include "../Penter/PenterStart.h"
#include "../Penter/PenterWord.h"
#include "../TraceStore/TraceControl.h"
#include "../TraceStore/TraceControlAppend.h"
#include "../TraceStore/TraceControlOpen.h"
#include "../TraceStore/TraceDirectory.h"
#include "../Rtl/RtlTeb.h"
#include "ImportsBegin.h"
#include "ImportsEnvironment.h"
#include "ImportsList.h"
#include "ImportsRequest.h"
#include "ImportsSlot.h"

static
VOID
ImportsPutError(
    _Inout_ PIMPORTS_REQUEST Request,
    _In_ PCRTL_ERROR Error
    )
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer, Request->Text, sizeof(Request->Text));
    RtlWriteError(&Writer, Error);
    Request->TextLength = Writer.LengthInBytes;
    Request->Status = (ULONG)Error->Status;
}

//
// Marks in the session that recording begins or ends.  Without a control file
// there is no mark.
//

static
VOID
ImportsMark(
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    PTRACE_SESSION Session = ImportsState.Session;

    TraceControlOpen(Session);
    if (NT_SUCCESS(TraceControlAppend(Session,
                                      TRACE_ACTION_MARK,
                                      Text,
                                      Length))) {
        TraceControlPoll(Session);
    }
}

static
ULONG
ImportsAttach(
    _Inout_ PIMPORTS_REQUEST Request
    )
{
    PIMPORTS State = &ImportsState;
    IMPORTS_SETTINGS Settings;
    PCUNICODE_STRING Path;
    RTL_ERROR Error;
    NTSTATUS Status;

    if (State->IsAttached) {
        return IMPORTS_OUTCOME_ATTACHED;
    }

    if (State->Session != NULL) {
        Request->NumberInside = ImportsEndRecording();
        if (Request->NumberInside != 0) {
            return IMPORTS_OUTCOME_INSIDE;
        }
    }

    RtlSetError(&Error, "reading the settings", NULL, STATUS_NO_MEMORY);
    Settings.Text = (PCWSTR)Request->Settings;
    Settings.FirstLength = Request->FirstLength;
    Settings.SecondLength = Request->SecondLength;
    PenterIsProcessNamed = TRUE;
    Status = ImportsMakeEnvironment(&Settings);
    if (!NT_SUCCESS(Status)) {
        Error.Status = Status;
        ImportsPutError(Request, &Error);
        return IMPORTS_OUTCOME_FAILED;
    }

    if (!ImportsReadLists()) {
        ImportsForgetEnvironment();
        return IMPORTS_OUTCOME_NOTHING;
    }

    ImportsKeepSettings(&Settings);
    (VOID)PenterPrepare();
    State->Session = PenterGetSession();
    if (State->Session == NULL) {
        RtlSetError(&Error,
                    "preparing the hooks",
                    NULL,
                    STATUS_UNSUCCESSFUL);
        ImportsPutError(Request, &Error);
        ImportsForgetEnvironment();
        return IMPORTS_OUTCOME_FAILED;
    }

    Status = ImportsBegin(FALSE, &Error);
    if (!NT_SUCCESS(Status)) {
        ImportsPutError(Request, &Error);
        Request->NumberInside = ImportsEndRecording();
        return IMPORTS_OUTCOME_FAILED;
    }

    ImportsMark("attach", 6);
    Request->NumberOfSlots = State->NumberAtFirst;
    Path = TraceDirectoryGetPath(State->Session);
    Request->PathLength = Path->Length / sizeof(WCHAR);
    RtlCopyBytes(Request->Path, Path->Buffer, Path->Length);
    return IMPORTS_OUTCOME_DONE;
}

static
ULONG
ImportsDetach(
    _Inout_ PIMPORTS_REQUEST Request
    )
{
    PIMPORTS State = &ImportsState;
    IMPORTS_RESTORED Restored;
    PCUNICODE_STRING Path;
    ULONG_PTR Cookie;
    RTL_ERROR Error;
    NTSTATUS Status;

    if (!State->IsAttached) {
        return IMPORTS_OUTCOME_DETACHED;
    }

    ImportsMark("detach", 6);
    Status = State->LockLoader(0, NULL, &Cookie);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(&Error, "acquiring the loader's lock", NULL, Status);
        ImportsPutError(Request, &Error);
        return IMPORTS_OUTCOME_FAILED;
    }

    if (!ImportsAcquireLock()) {
        (VOID)State->UnlockLoader(0, Cookie);
        return IMPORTS_OUTCOME_ENDING;
    }

    ImportsRestoreSlots(&Restored);
    State->IsAttached = FALSE;
    ImportsReleaseLock();
    (VOID)State->Unregister(State->Cookie);
    (VOID)State->UnlockLoader(0, Cookie);

    Request->NumberRestored = Restored.NumberRestored;
    Request->NumberLater = Restored.NumberLater;
    Request->NumberGone = Restored.NumberGone;
    Request->NumberForeign = Restored.NumberForeign;
    Request->NumberFailed = Restored.NumberFailed;
    Path = TraceDirectoryGetPath(State->Session);
    Request->PathLength = Path->Length / sizeof(WCHAR);
    RtlCopyBytes(Request->Path, Path->Buffer, Path->Length);
    Request->NumberInside = ImportsEndRecording();
    return IMPORTS_OUTCOME_DONE;
}

_Use_decl_annotations_
DWORD
WINAPI
ImportsRequest(
    PVOID Parameter
    )
{
    PIMPORTS State = &ImportsState;
    PIMPORTS_REQUEST Request = (PIMPORTS_REQUEST)Parameter;
    ULONG Outcome;

    if (Request->Magic != IMPORTS_REQUEST_MAGIC ||
        Request->Version != IMPORTS_REQUEST_VERSION) {

        return (DWORD)STATUS_REVISION_MISMATCH;
    }

    if (State->Register == NULL || State->Unregister == NULL ||
        State->LockLoader == NULL || State->UnlockLoader == NULL ||
        State->Suspend == NULL || State->GetContext == NULL ||
        State->GetEnvironment == NULL || State->FreeEnvironment == NULL ||
        State->Rtl.NtGetNextThread == NULL) {

        Request->Status = (ULONG)STATUS_ENTRYPOINT_NOT_FOUND;
        Outcome = IMPORTS_OUTCOME_FAILED;
    } else if (State->Rtl.RtlDllShutdownInProgress != NULL &&
               State->Rtl.RtlDllShutdownInProgress()) {
        Outcome = IMPORTS_OUTCOME_ENDING;
    } else if (InterlockedExchange(&State->IsChanging, 1) != 0) {
        Outcome = IMPORTS_OUTCOME_BUSY;
    } else {
        Outcome = Request->Kind == IMPORTS_REQUEST_ATTACH
                      ? ImportsAttach(Request)
                      : ImportsDetach(Request);
        InterlockedExchange(&State->IsChanging, 0);
    }

    RtlStoreRelease32(&Request->Outcome, Outcome);
    return (DWORD)STATUS_SUCCESS;
}

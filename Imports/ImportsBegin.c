/*++

Module Name:

    ImportsBegin.c

Abstract:

    The imports of all modules that are there are patched, and those that come
    are followed.

--*/

#include "ImportsBegin.h"
#include "ImportsChild.h"

#define IMPORTS_PIN 1               // LDR_ADDREF_DLL_PIN

_Use_decl_annotations_
NTSTATUS
ImportsBegin(
    BOOLEAN IsStarting,
    PRTL_ERROR Error
    )
{
    PIMPORTS State = &ImportsState;
    PTRACE_IMPORTS_HEADER Counts = &State->Counts;
    ULONG_PTR Cookie = 0;
    NTSTATUS Status;

    State->Session->Template->Flags |= TRACE_FLAG_IMPORTS;
    Status = ImportsCreateFile(Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ImportsPrepareChildren();

    //
    // Who starts has the loader's lock.
    //

    if (!IsStarting) {
        Status = State->LockLoader(0, NULL, &Cookie);
        if (!NT_SUCCESS(Status)) {
            return RtlSetError(Error,
                               "acquiring the loader's lock",
                               NULL,
                               Status);
        }
    }

    //
    // From now on stubs may be called until the process ends.
    //

    Status = State->Register(0, ImportsNotify, NULL, &State->Cookie);
    if (NT_SUCCESS(Status)) {
        (VOID)State->AddReference(IMPORTS_PIN, &__ImageBase);
        if (ImportsAcquireLock()) {
            Counts->NumberOfImports = 0;
            Counts->NumberPatched = 0;
            RtlZeroBytes(Counts->NumberLeftOut, sizeof(Counts->NumberLeftOut));
            State->IsAttached = TRUE;
            State->IsComplete = FALSE;
            State->IsStarting = IsStarting;
            ImportsReviewModules();
            ImportsRefreshModules();
            ImportsPatchModules();
            ImportsFollowChildren();
            State->IsStarting = FALSE;
            State->IsComplete = TRUE;
            State->NumberAtFirst = Counts->NumberPatched;
            ImportsReleaseLock();
        }
    } else {
        RtlSetError(Error,
                    "following the modules that come and go",
                    NULL,
                    Status);
    }

    if (!IsStarting) {
        (VOID)State->UnlockLoader(0, Cookie);
    }

    return Status;
}

/*++

Module Name:

    SessionStoreOpen.c

Abstract:

    One store of a session: opens it, and names the file of its index.

--*/

#include "SessionProcess.h"
#include "SessionStoreOpen.h"

_Use_decl_annotations_
NTSTATUS
SessionOpenSessionStore(
    PREADER_SESSION Session,
    PREADER_STORE Store
    )
{
    NTSTATUS Status;

    Session->Path.Length = Session->DirectoryLength;
    if (Session->IsDirectory) {
        Status = RtlAppendPath(&Session->Path,
                               Store->Name.Buffer,
                               Store->Name.Length / sizeof(WCHAR),
                               TRUE);
        if (!NT_SUCCESS(Status)) {
            Store->Status = Status;
            Store->FailedStep = "name the store";
            return Status;
        }
    }

    Store->IsWriterGone = SessionIsWriterGone(Session, Store);
    Status = SessionOpenStore(Session->Context,
                              Session->Pack,
                              &Session->Path,
                              Store);
    Session->Path.Length = Session->DirectoryLength;
    if (NT_SUCCESS(Status) && Session->StoreOpened != NULL) {
        Session->StoreOpened(Session->StoreOpenedContext, Store);
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
SessionComposeNameBeside(
    PREADER_SESSION Session,
    PCREADER_STORE Store,
    PCWSTR Suffix,
    PUNICODE_STRING NtPath
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    NTSTATUS Status = STATUS_SUCCESS;

    Session->Path.Length = Session->DirectoryLength;
    if (Session->IsDirectory) {
        Status = RtlAppendPath(&Session->Path,
                               Store->Name.Buffer,
                               Store->Name.Length / sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(&Session->Path,
                               Suffix,
                               RtlLengthOfWideString(Suffix),
                               FALSE);
    }

    NtPath->Buffer = NULL;
    if (NT_SUCCESS(Status)) {
        NtPath->Length = Session->Path.Length;
        NtPath->MaximumLength = Session->Path.Length;
        NtPath->Buffer = (PWSTR)Allocator->Allocate(Allocator->Context,
                                                    Session->Path.Length);
        if (NtPath->Buffer != NULL) {
            RtlCopyBytes(NtPath->Buffer,
                         Session->Path.Buffer,
                         Session->Path.Length);
        } else {
            Status = STATUS_NO_MEMORY;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    return Status;
}

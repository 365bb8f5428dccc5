/*++

Module Name:

    TraceDirectory.c

Abstract:

    The session directory, which the first store or the control file makes.
    Every module instance of the process comes to the same one: whoever is first
    makes it.

--*/

#include "TraceDirectory.h"
#include "TraceSession.h"

_Use_decl_annotations_
NTSTATUS
TraceSessionOpenDirectory(
    PTRACE_SESSION Session,
    PHANDLE Directory,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    HANDLE Handle;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    *Directory = (HANDLE)Session->DirectoryHandle;
    if (*Directory != NULL) {
        return STATUS_SUCCESS;
    }

    Status = RtlCreateDirectory(&Session->Rtl, &Session->Directory);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "creating the session directory",
                           &Session->Directory,
                           Status);
    }

    InitializeObjectAttributes(&Attributes,
                               &Session->Directory,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    Status = Session->Rtl.NtCreateFile(&Handle,
                                       FILE_LIST_DIRECTORY | FILE_TRAVERSE |
                                       READ_CONTROL | SYNCHRONIZE,
                                       &Attributes,
                                       &IoStatus,
                                       NULL,
                                       FILE_ATTRIBUTE_NORMAL,
                                       FILE_SHARE_READ | FILE_SHARE_WRITE |
                                       FILE_SHARE_DELETE,
                                       FILE_OPEN,
                                       FILE_DIRECTORY_FILE |
                                       FILE_SYNCHRONOUS_IO_NONALERT,
                                       NULL,
                                       0);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "opening the session directory",
                           &Session->Directory,
                           Status);
    }

    if (Session->User.SidSize != 0) {
        Status = RtlCheckOwner(&Session->Rtl, &Session->User, Handle);
        if (!NT_SUCCESS(Status)) {
            RtlClose(&Session->Rtl, Handle);
            return RtlSetError(Error,
                               "checking the owner of the session directory",
                               &Session->Directory,
                               Status);
        }
    }

    *Directory = InterlockedCompareExchangePointer(&Session->DirectoryHandle,
                                                   Handle,
                                                   NULL);
    if (*Directory == NULL) {
        *Directory = Handle;
        RtlProtectHandle(&Session->Rtl, Handle, TRUE);
    } else {
        RtlClose(&Session->Rtl, Handle);
    }

    return STATUS_SUCCESS;
}

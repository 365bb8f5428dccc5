/*++

Module Name:

    TraceDirectory.c

Abstract:

    The session directory, which the first store or the control file makes.
    Every module instance of the process comes to the same one: whoever is first
    makes it.  Where the user's directory for sessions is not usable, it is in
    the current directory.

--*/

#include "TraceDirectory.h"
#include "TraceLog.h"
#include "TraceSession.h"

//
// Opens a directory that is there.
//

static
NTSTATUS
TraceDirectoryOpenHandle(
    _In_ PTRACE_SESSION Session,
    _In_ PUNICODE_STRING Path,
    _Out_ PHANDLE Handle
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    InitializeObjectAttributes(&Attributes,
                               Path,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    return Session->Rtl.NtCreateFile(Handle,
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
}

//
// Creates a directory, if it is missing, and opens it.
//

static
NTSTATUS
TraceDirectoryOpen(
    _In_ PTRACE_SESSION Session,
    _In_ PUNICODE_STRING Path,
    _Out_ PHANDLE Directory,
    _Out_ PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    HANDLE Handle;

    Status = RtlCreateDirectory(&Session->Rtl, Path);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "creating the session directory",
                           Path,
                           Status);
    }

    Status = TraceDirectoryOpenHandle(Session, Path, &Handle);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "opening the session directory",
                           Path,
                           Status);
    }

    if (Session->User.SidSize != 0) {
        Status = RtlCheckOwner(&Session->Rtl, &Session->User, Handle);
        if (!NT_SUCCESS(Status)) {
            RtlClose(&Session->Rtl, Handle);
            return RtlSetError(Error,
                               "checking the owner of the session directory",
                               Path,
                               Status);
        }
    }

    *Directory = Handle;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
TraceDirectoryOpenSession(
    PTRACE_SESSION Session,
    PHANDLE Directory,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    PUNICODE_STRING Path;
    HANDLE Handle;
    RTL_ERROR Second;

    *Directory = (HANDLE)Session->DirectoryHandle;
    if (*Directory != NULL) {
        return STATUS_SUCCESS;
    }

    Path = &Session->Directory;
    Status = TraceDirectoryOpen(Session, Path, &Handle, Error);
    if (!NT_SUCCESS(Status) &&
        Session->Fallback.Length != 0 &&
        Session->DirectoryHandle == NULL) {

        Path = &Session->Fallback;
        if (NT_SUCCESS(TraceDirectoryOpen(Session, Path, &Handle, &Second))) {
            Status = STATUS_SUCCESS;
        }
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Directory = InterlockedCompareExchangePointer(&Session->DirectoryHandle,
                                                   Handle,
                                                   NULL);
    if (*Directory != NULL) {
        RtlClose(&Session->Rtl, Handle);
        return STATUS_SUCCESS;
    }

    *Directory = Handle;
    RtlProtectHandle(&Session->Rtl, Handle, TRUE);
    if (Path == &Session->Fallback) {
        Session->IsFallback = TRUE;
        TraceLogError(Session,
                      Error,
                      "the session is in the current directory");
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
PCUNICODE_STRING
TraceDirectoryGetPath(
    const TRACE_SESSION *Session
    )
{
    return Session->IsFallback ? &Session->Fallback : &Session->Directory;
}

_Use_decl_annotations_
BOOLEAN
TraceDirectoryIsThere(
    PTRACE_SESSION Session
    )
{
    HANDLE Handle;

    if (!NT_SUCCESS(TraceDirectoryOpenHandle(Session,
                                             &Session->Directory,
                                             &Handle)) &&
        (Session->Fallback.Length == 0 ||
         !NT_SUCCESS(TraceDirectoryOpenHandle(Session,
                                              &Session->Fallback,
                                              &Handle)))) {

        return FALSE;
    }

    RtlClose(&Session->Rtl, Handle);
    return TRUE;
}

/*++

Module Name:

    SessionTarget.c

Abstract:

    The directory that recover and ctl snapshot fill.

    Where its name leads to is for its user to say: links in it are followed.
    Below it nothing may be: somebody who can write there could put a link or a
    mount point in the place of a file or a directory that is about to be made,
    and have it written wherever the user may write.  So everything below is
    made by its name alone, in a directory that is known by its handle, and must
    not be there yet; FILE_OPEN_REPARSE_POINT has the name taken for itself and
    not for what it leads to.  (FILE_CREATE without it makes the file that a
    link with nothing behind it names.)

--*/

#include "../Base/BaseFile.h"
#include "SessionTarget.h"

_Must_inspect_result_
static
NTSTATUS
SessionCreateInTarget(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Directory,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONG Option,
    _Out_ PHANDLE Handle
    )
{
    BOOLEAN IsDirectory = Option == FILE_DIRECTORY_FILE;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    NTSTATUS Status;

    *Handle = NULL;
    if (Directory == NULL || !RtlIsPlainName(Name, FALSE)) {
        return STATUS_OBJECT_NAME_INVALID;
    }

    InitializeObjectAttributes(&Attributes,
                               (PUNICODE_STRING)Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               IsDirectory ? Context->Rtl->DirectorySecurity
                                           : Context->Rtl->FileSecurity);
    Status = Context->Rtl->NtCreateFile(
        Handle,
        IsDirectory ? FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE
                    : FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE,
        &Attributes,
        &IoStatus,
        NULL,
        FILE_ATTRIBUTE_NORMAL,
        IsDirectory ? FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE
                    : FILE_SHARE_READ | FILE_SHARE_DELETE,
        RTL_CREATE_NEW,
        FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_REPARSE_POINT | Option,
        NULL,
        0);
    if (!NT_SUCCESS(Status)) {
        *Handle = NULL;
    }

    return Status;
}

//
// Ends a listing: there is something in the directory.
//

static
NTSTATUS
SessionVisitTarget(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONG Attributes
    )
{
    UNREFERENCED_PARAMETER(CallbackContext);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(SizeInBytes);
    UNREFERENCED_PARAMETER(Attributes);

    return STATUS_DIRECTORY_NOT_EMPTY;
}

_Use_decl_annotations_
NTSTATUS
SessionOpenTarget(
    PREADER_TARGET Target,
    PCREADER_CONTEXT Context,
    PCWSTR Name,
    ULONG NumberOfDirectories
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PCRTL Rtl = Context->Rtl;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Path;
    SIZE_T Size = (SIZE_T)NumberOfDirectories * sizeof(HANDLE);
    NTSTATUS Status;

    RtlZeroBytes(Target, sizeof(*Target));
    Target->Context = Context;
    Status = BaseMakeNtPath(Context, Name, &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Target->Directories = (PHANDLE)Allocator->Allocate(Allocator->Context,
                                                       Size + 1);
    if (Target->Directories == NULL) {
        Status = STATUS_NO_MEMORY;
        goto End;
    }

    RtlZeroBytes(Target->Directories, Size);
    Target->NumberOfDirectories = NumberOfDirectories;
    Status = RtlCreateDirectory(Rtl, &Path);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    InitializeObjectAttributes(&Attributes,
                               &Path,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    Status = Rtl->NtCreateFile(&Target->Handle,
                               FILE_LIST_DIRECTORY | FILE_TRAVERSE |
                                   FILE_READ_ATTRIBUTES | SYNCHRONIZE,
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
        Target->Handle = NULL;
        goto End;
    }

    Status = RtlEnumerateOpenDirectory(Rtl,
                                       Target->Handle,
                                       NULL,
                                       SessionVisitTarget,
                                       NULL);

End:

    Allocator->Free(Allocator->Context, Path.Buffer);
    return Status;
}

_Use_decl_annotations_
VOID
SessionCloseTarget(
    PREADER_TARGET Target
    )
{
    PCREADER_CONTEXT Context = Target->Context;
    ULONG Index;

    if (Context == NULL) {
        return;
    }

    for (Index = 0; Index < Target->NumberOfDirectories; Index++) {
        if (Target->Directories[Index] != NULL) {
            RtlClose(Context->Rtl, Target->Directories[Index]);
        }
    }

    if (Target->Handle != NULL) {
        RtlClose(Context->Rtl, Target->Handle);
    }

    Context->Allocator->Free(Context->Allocator->Context, Target->Directories);
    RtlZeroBytes(Target, sizeof(*Target));
}

_Use_decl_annotations_
NTSTATUS
SessionMakeTargetDirectory(
    PREADER_TARGET Target,
    ULONG Directory,
    PCUNICODE_STRING Name
    )
{
    return SessionCreateInTarget(Target->Context,
                                 Target->Handle,
                                 Name,
                                 FILE_DIRECTORY_FILE,
                                 &Target->Directories[Directory]);
}

_Use_decl_annotations_
NTSTATUS
SessionMakeTargetFile(
    const READER_TARGET *Target,
    ULONG Directory,
    PCUNICODE_STRING Name,
    PHANDLE File
    )
{
    return SessionCreateInTarget(Target->Context,
                                 Directory == READER_NONE
                                    ? Target->Handle
                                    : Target->Directories[Directory],
                                 Name,
                                 FILE_NON_DIRECTORY_FILE,
                                 File);
}

_Use_decl_annotations_
VOID
SessionCloseTargetFile(
    const READER_TARGET *Target,
    HANDLE File,
    BOOLEAN IsComplete
    )
{
    if (!IsComplete) {
        BaseRemoveFile(Target->Context, File);
    }

    RtlClose(Target->Context->Rtl, File);
}

/*++

Module Name:

    SessionRemove.c

Abstract:

    A session's directory is removed, if it holds nothing but a session's files.

    Somebody else may be able to write where sessions lie, and put a link or a
    mount point in the place of what is about to be removed.  So everything is
    opened by its name alone, in a directory that is known by its handle, with
    FILE_OPEN_REPARSE_POINT, which takes the name for itself and not for what
    it leads to; what is marked is what was looked at, through one handle.

--*/

#include "../../TraceStore/TraceFormat.h"
#include "../Base/BaseContainer.h"
#include "../Base/BaseFile.h"
#include "SessionCopy.h"
#include "SessionLog.h"
#include "SessionName.h"
#include "SessionRemove.h"

//
// FILE_BASIC_INFORMATION of the Windows Driver Kit.
//

typedef struct _READER_BASIC_INFORMATION {
    LARGE_INTEGER Times[4];
    ULONG FileAttributes;
} READER_BASIC_INFORMATION;
C_ASSERT(sizeof(READER_BASIC_INFORMATION) == 40);

#define READER_FILE_NAME_INFORMATION 9

typedef struct _READER_NAME_INFORMATION {
    ULONG FileNameLength;           // bytes
    WCHAR FileName[RTL_MAXIMUM_PATH_IN_CHARS];
} READER_NAME_INFORMATION;
typedef READER_NAME_INFORMATION *PREADER_NAME_INFORMATION;

typedef struct _READER_REMOVED_FILE {
    UNICODE_STRING Name;            // allocated
    HANDLE Handle;
} READER_REMOVED_FILE;
typedef READER_REMOVED_FILE *PREADER_REMOVED_FILE;

typedef struct _READER_REMOVER {
    PCREADER_CONTEXT Context;
    PREADER_REMOVAL Removal;
    HANDLE Above;
    HANDLE Directory;
    PREADER_REMOVED_FILE Files;
    ULONG NumberOfFiles;
    ULONG Capacity;
    PCUNICODE_STRING Name;          // the directory's
    PREADER_NAME_INFORMATION Names; // allocated: what the system calls the
                                    // directory, and one of its files
    BOOLEAN IsFound;
} READER_REMOVER;
typedef READER_REMOVER *PREADER_REMOVER;

//
// Notes the first reason why a directory stays.
//

_Must_inspect_result_
static
NTSTATUS
SessionKeep(
    _Inout_ PREADER_REMOVER Remover,
    _In_z_ PCSZ Reason,
    _In_opt_ PCUNICODE_STRING Entry,
    _In_ NTSTATUS Status
    )
{
    PREADER_REMOVAL Removal = Remover->Removal;

    if (Removal->Reason != NULL) {
        return STATUS_SUCCESS;
    }

    Removal->Reason = Reason;
    Removal->Status = Status;
    return Entry == NULL ? STATUS_SUCCESS
                         : SessionNameCopy(Remover->Context->Allocator,
                                           Entry,
                                           &Removal->Entry);
}

//
// Opens what has a name in a directory.
// Above: the directory; NULL: Name is an NT path, and links in it are followed.
//

_Must_inspect_result_
static
NTSTATUS
SessionOpenEntry(
    _In_ PCRTL Rtl,
    _In_opt_ HANDLE Above,
    _In_ PCUNICODE_STRING Name,
    _In_ ACCESS_MASK Access,
    _In_ ULONG Options,
    _Out_ PHANDLE Handle
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    NTSTATUS Status;

    InitializeObjectAttributes(&Attributes,
                               (PUNICODE_STRING)Name,
                               OBJ_CASE_INSENSITIVE,
                               Above,
                               NULL);
    Status = Rtl->NtCreateFile(Handle,
                               Access | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
                               &Attributes,
                               &IoStatus,
                               NULL,
                               FILE_ATTRIBUTE_NORMAL,
                               FILE_SHARE_READ | FILE_SHARE_WRITE |
                                   FILE_SHARE_DELETE,
                               FILE_OPEN,
                               FILE_SYNCHRONOUS_IO_NONALERT | Options,
                               NULL,
                               0);
    if (!NT_SUCCESS(Status)) {
        *Handle = NULL;
    }

    return Status;
}

//
// Looks at the directory's own entry in the one above.
//

static
NTSTATUS
SessionVisitDirectory(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONG Attributes
    )
{
    PREADER_REMOVER Remover = (PREADER_REMOVER)CallbackContext;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (Name->Length != Remover->Name->Length ||
        !RtlAreBytesEqual(Name->Buffer, Remover->Name->Buffer, Name->Length)) {
        return STATUS_SUCCESS;
    }

    Remover->IsFound = TRUE;
    return (Attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0
               ? SessionKeep(Remover,
                             "it is a link to another directory",
                             NULL,
                             STATUS_SUCCESS)
               : STATUS_SUCCESS;
}

//
// Is a name one of those that the library and TraceReader give to files of a
// session?
//

static
BOOLEAN
SessionIsOwnName(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Name
    )
{
    static const WCHAR NewCache[] = L"SYMBOLS.CACHE.NEW";
    ULONG Length = RTL_NUMBER_OF(NewCache) - 1;

    return SessionEndsWith(Rtl, Name, L".TRACE", 6) ||
           SessionEndsWith(Rtl, Name, L".TRACE.INDEX", 12) ||
           SessionEndsWith(Rtl, Name, L".TRACE.LEVELS", 13) ||
           SessionEndsWith(Rtl, Name, L".TRACE.LEVELS.TMP", 17) ||
           SessionQueryFileKind(Rtl, Name) != ReaderFileOther ||
           (Name->Length == Length * sizeof(WCHAR) &&
            SessionEndsWith(Rtl, Name, NewCache, Length));
}

//
// Says why a file with such attributes stays, or NULL.
//

static
PCSZ
SessionRefuseAttributes(
    _In_ ULONG Attributes
    )
{
    return (Attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 ? "it is a link"
           : (Attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? "it is a directory"
           : (Attributes & FILE_ATTRIBUTE_READONLY) != 0  ? "it is read-only"
                                                          : NULL;
}

//
// Looks at an entry of the directory.
//

static
NTSTATUS
SessionVisitFile(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONG Attributes
    )
{
    PREADER_REMOVER Remover = (PREADER_REMOVER)CallbackContext;
    PCALLOCATOR Allocator = Remover->Context->Allocator;
    PREADER_REMOVED_FILE File;
    PCSZ Reason = SessionRefuseAttributes(Attributes);
    NTSTATUS Status;

    if (!RtlIsPlainName(Name, FALSE)) {
        Reason = "such a name may lead elsewhere";
    } else if (Reason == NULL &&
               !SessionIsOwnName(Remover->Context->Rtl, Name)) {
        Reason = "it is no file of a session";
    }

    if (Reason != NULL) {
        return SessionKeep(Remover, Reason, Name, STATUS_SUCCESS);
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Remover->Files,
                           &Remover->Capacity,
                           Remover->NumberOfFiles + 1,
                           sizeof(READER_REMOVED_FILE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    File = &Remover->Files[Remover->NumberOfFiles];
    File->Handle = NULL;
    Status = SessionNameCopy(Allocator, Name, &File->Name);
    if (NT_SUCCESS(Status)) {
        Remover->NumberOfFiles += 1;
        Remover->Removal->Bytes += SizeInBytes;
    }

    return Status;
}

//
// Is a file that is called a store one?  What was never finished is empty, or
// begins with zeroes.
//

static
BOOLEAN
SessionIsStore(
    _In_ PCRTL Rtl,
    _In_ HANDLE File
    )
{
    ULONGLONG Magic = 0;
    ULONG Read = 0;
    NTSTATUS Status;

    Status = RtlReadFile(Rtl, File, 0, &Magic, sizeof(Magic), &Read);
    if (Status == STATUS_END_OF_FILE) {
        return TRUE;
    }

    return NT_SUCCESS(Status) && (Magic == TRACE_STORE_MAGIC || Magic == 0);
}

//
// Is a file that is called a log one of the library's?
//

static
BOOLEAN
SessionIsOwnLog(
    _In_ PCRTL Rtl,
    _In_ const READER_REMOVED_FILE *File
    )
{
    CHAR Head[READER_LOG_HEAD];
    ULONG Read = 0;
    NTSTATUS Status;

    Status = RtlReadFile(Rtl, File->Handle, 0, Head, sizeof(Head), &Read);
    return Status == STATUS_END_OF_FILE ||
           (NT_SUCCESS(Status) && SessionIsLog(&File->Name, Head, Read));
}

//
// Asks what the system calls an open file.  FALSE: it does not say.
//

static
BOOLEAN
SessionQueryName(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Out_ PREADER_NAME_INFORMATION Information
    )
{
    IO_STATUS_BLOCK IoStatus;

    return NT_SUCCESS(Rtl->NtQueryInformationFile(
               File,
               &IoStatus,
               Information,
               sizeof(*Information),
               READER_FILE_NAME_INFORMATION)) &&
           Information->FileNameLength <= sizeof(Information->FileName);
}

//
// Is an open file another than the one that has the name?  Wine follows a link
// to a file without a word, and removes what it leads to.
//

static
BOOLEAN
SessionIsElsewhere(
    _In_ const READER_REMOVER *Remover,
    _In_ const READER_REMOVED_FILE *File
    )
{
    PREADER_NAME_INFORMATION Directory = &Remover->Names[0];
    PREADER_NAME_INFORMATION Path = &Remover->Names[1];
    ULONG Length = Directory->FileNameLength / sizeof(WCHAR);

    if (Length == 0 ||
        !SessionQueryName(Remover->Context->Rtl, File->Handle, Path)) {
        return FALSE;
    }

    return Path->FileNameLength != Directory->FileNameLength + sizeof(WCHAR) +
                                       File->Name.Length ||
           !RtlAreBytesEqual(Path->FileName,
                             Directory->FileName,
                             Directory->FileNameLength) ||
           Path->FileName[Length] != L'\\' ||
           !RtlAreBytesEqual(&Path->FileName[Length + 1],
                             File->Name.Buffer,
                             File->Name.Length);
}

//
// Opens a file to remove it, and looks at it again.
//

_Must_inspect_result_
static
NTSTATUS
SessionOpenRemoved(
    _Inout_ PREADER_REMOVER Remover,
    _Inout_ PREADER_REMOVED_FILE File
    )
{
    PCRTL Rtl = Remover->Context->Rtl;
    READER_BASIC_INFORMATION Information;
    IO_STATUS_BLOCK IoStatus;
    PCSZ Reason = "it cannot be opened to be removed";
    NTSTATUS Status;

    Status = SessionOpenEntry(Rtl,
                              Remover->Directory,
                              &File->Name,
                              DELETE | FILE_READ_DATA,
                              FILE_NON_DIRECTORY_FILE |
                                  FILE_OPEN_REPARSE_POINT,
                              &File->Handle);
    if (NT_SUCCESS(Status)) {
        Status = Rtl->NtQueryInformationFile(File->Handle,
                                             &IoStatus,
                                             &Information,
                                             sizeof(Information),
                                             RTL_FILE_BASIC_INFORMATION);
    }

    if (NT_SUCCESS(Status)) {
        Reason = SessionRefuseAttributes(Information.FileAttributes);
        if (Reason == NULL && SessionIsElsewhere(Remover, File)) {
            Reason = "it is a link";
        }

        if (Reason == NULL &&
            SessionEndsWith(Rtl, &File->Name, L".TRACE", 6) &&
            !SessionIsStore(Rtl, File->Handle)) {
            Reason = "it is no trace store";
        } else if (Reason == NULL &&
                   SessionQueryFileKind(Rtl, &File->Name) == ReaderFileLog &&
                   !SessionIsOwnLog(Rtl, File)) {
            Reason = "it is no log of the library";
        }
    }

    return Reason == NULL
               ? STATUS_SUCCESS
               : SessionKeep(Remover,
                             Reason,
                             &File->Name,
                             NT_SUCCESS(Status) ? STATUS_SUCCESS : Status);
}

//
// Marks all files, and after a failure none.
//

_Must_inspect_result_
static
NTSTATUS
SessionMarkFiles(
    _Inout_ PREADER_REMOVER Remover
    )
{
    NTSTATUS Status = STATUS_SUCCESS;
    ULONG Index;

    for (Index = 0; Index < Remover->NumberOfFiles; Index++) {
        Status = BaseMarkFile(Remover->Context,
                              Remover->Files[Index].Handle,
                              TRUE);
        if (!NT_SUCCESS(Status)) {
            break;
        }
    }

    if (NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    Status = SessionKeep(Remover,
                         "it cannot be removed",
                         &Remover->Files[Index].Name,
                         Status);
    while (Index != 0) {
        Index -= 1;
        (VOID)BaseMarkFile(Remover->Context,
                           Remover->Files[Index].Handle,
                           FALSE);
    }

    return Status;
}

static
VOID
SessionCloseFiles(
    _Inout_ PREADER_REMOVER Remover
    )
{
    PCREADER_CONTEXT Context = Remover->Context;
    ULONG Index;

    for (Index = 0; Index < Remover->NumberOfFiles; Index++) {
        RtlClose(Context->Rtl, Remover->Files[Index].Handle);
        Context->Allocator->Free(Context->Allocator->Context,
                                 Remover->Files[Index].Name.Buffer);
    }

    Remover->NumberOfFiles = 0;
}

_Use_decl_annotations_
NTSTATUS
SessionRemove(
    PCREADER_CONTEXT Context,
    PCUNICODE_STRING Above,
    PCUNICODE_STRING Name,
    BOOLEAN IsRemoving,
    PREADER_REMOVAL Removal
    )
{
    PCRTL Rtl = Context->Rtl;
    READER_REMOVER Remover;
    NTSTATUS Status;
    ULONG Index;

    RtlZeroBytes(Removal, sizeof(*Removal));
    RtlZeroBytes(&Remover, sizeof(Remover));
    Remover.Context = Context;
    Remover.Removal = Removal;
    Remover.Name = Name;
    Remover.Names = (PREADER_NAME_INFORMATION)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     2 * sizeof(READER_NAME_INFORMATION));
    if (Remover.Names == NULL) {
        return STATUS_NO_MEMORY;
    }

    //
    // A link is also known from its entry: there are systems below Windows'
    // interface where its handle is one of what it leads to.
    //

    Status = SessionOpenEntry(Rtl,
                              NULL,
                              Above,
                              FILE_LIST_DIRECTORY | FILE_TRAVERSE,
                              FILE_DIRECTORY_FILE,
                              &Remover.Above);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateOpenDirectory(Rtl,
                                           Remover.Above,
                                           Name,
                                           SessionVisitDirectory,
                                           &Remover);
    }

    if (NT_SUCCESS(Status) && !Remover.IsFound) {
        Status = STATUS_OBJECT_NAME_NOT_FOUND;
    }

    if (NT_SUCCESS(Status)) {
        Status = SessionOpenEntry(Rtl,
                                  Remover.Above,
                                  Name,
                                  FILE_LIST_DIRECTORY | FILE_TRAVERSE | DELETE,
                                  FILE_DIRECTORY_FILE |
                                      FILE_OPEN_REPARSE_POINT,
                                  &Remover.Directory);
    }

    if (NT_SUCCESS(Status) && Removal->Reason == NULL) {

        if (!SessionQueryName(Rtl, Remover.Directory, &Remover.Names[0])) {
            Remover.Names[0].FileNameLength = 0;
        }

        Status = RtlEnumerateOpenDirectory(Rtl,
                                           Remover.Directory,
                                           NULL,
                                           SessionVisitFile,
                                           &Remover);
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Removal->Reason == NULL &&
         Index < Remover.NumberOfFiles;
         Index++) {
        Status = SessionOpenRemoved(&Remover, &Remover.Files[Index]);
    }

    if (!NT_SUCCESS(Status) || Removal->Reason != NULL || !IsRemoving) {
        goto End;
    }

    Status = SessionMarkFiles(&Remover);
    if (!NT_SUCCESS(Status) || Removal->Reason != NULL) {
        goto End;
    }

    //
    // The files go when they are closed, and only then may the directory go.
    //

    SessionCloseFiles(&Remover);
    Status = BaseMarkFile(Context, Remover.Directory, TRUE);
    if (!NT_SUCCESS(Status)) {
        Status = SessionKeep(&Remover,
                             "its files are removed, but it cannot be",
                             NULL,
                             Status);
    }

End:

    if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
        Status = SessionKeep(&Remover,
                             "it cannot be opened or listed",
                             NULL,
                             Status);
    }

    SessionCloseFiles(&Remover);
    RtlClose(Rtl, Remover.Directory);
    RtlClose(Rtl, Remover.Above);
    Context->Allocator->Free(Context->Allocator->Context, Remover.Files);
    Context->Allocator->Free(Context->Allocator->Context, Remover.Names);
    return Status;
}

_Use_decl_annotations_
VOID
SessionFreeRemoval(
    PCREADER_CONTEXT Context,
    PREADER_REMOVAL Removal
    )
{
    Context->Allocator->Free(Context->Allocator->Context,
                             Removal->Entry.Buffer);
    RtlZeroBytes(Removal, sizeof(*Removal));
}

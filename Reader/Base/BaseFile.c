/*++

Module Name:

    BaseFile.c

Abstract:

    Files that commands write: under another name until they are complete.

--*/

#include "../../TraceStore/TraceFormat.h"
#include "BaseErrors.h"
#include "BaseFile.h"

#define READER_FILE_BUFFER_SIZE 0x10000u
#define READER_FILE_SUFFIX L".tmp"
#define READER_STORE_SUFFIX L".trace"

//
// NtSetInformationFile: FileRenameInformation and FileDispositionInformation
// (Windows Driver Kit, FILE_RENAME_INFORMATION: the handle needs DELETE
// access; the name without a root directory is a whole NT path).
//

#define READER_RENAME_INFORMATION 10
#define READER_DISPOSITION_INFORMATION 13

typedef struct _READER_RENAME {
    BOOLEAN ReplaceIfExists;
    HANDLE RootDirectory;
    ULONG FileNameLength;           // bytes
    WCHAR FileName[1];
} READER_RENAME;
typedef READER_RENAME *PREADER_RENAME;


_Use_decl_annotations_
NTSTATUS
BaseMakeNtPath(
    PCREADER_CONTEXT Context,
    PCWSTR Path,
    PUNICODE_STRING NtPath
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Given;
    ULONG LengthInChars = RtlLengthOfWideString(Path);
    PWCHAR Buffer;
    NTSTATUS Status;

    RtlPointUnicodeString(NtPath, NULL, 0);
    if (LengthInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    Buffer = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                         RTL_MAXIMUM_PATH_IN_CHARS *
                                             sizeof(WCHAR));
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlPointUnicodeString(&Given, Path, LengthInChars);
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                Buffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                NtPath);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, Buffer);
        RtlPointUnicodeString(NtPath, NULL, 0);
    }

    return Status;
}


_Use_decl_annotations_
VOID
BaseMakeDosPath(
    PCUNICODE_STRING NtPath,
    PUNICODE_STRING Path
    )
{
    ULONG Length = NtPath->Length / sizeof(WCHAR);
    PWCHAR Text = NtPath->Buffer;

    *Path = *NtPath;
    if (Length <= 4 || Text[0] != L'\\' || Text[1] != L'?') {
        return;
    }

    Path->Buffer += 4;
    if (Length > 8 && Text[4] == L'U' && Text[5] == L'N' &&
        Text[6] == L'C' && Text[7] == L'\\') {

        //
        // \??\UNC\server\...: the C becomes the second backslash.
        //

        Path->Buffer += 2;
        Path->Buffer[0] = L'\\';
    }

    Path->Length -= (USHORT)((Path->Buffer - Text) * sizeof(WCHAR));
}


_Use_decl_annotations_
NTSTATUS
BaseOpenTemporaryFile(
    PCREADER_CONTEXT Context,
    PCUNICODE_STRING NtPath,
    BOOLEAN IsPrivate,
    PHANDLE Handle
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    NTSTATUS Status;

    InitializeObjectAttributes(&Attributes,
                               (PUNICODE_STRING)NtPath,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               IsPrivate ? Context->Rtl->FileSecurity : NULL);
    Status = Context->Rtl->NtCreateFile(
        Handle,
        FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE,
        &Attributes,
        &IoStatus,
        NULL,
        FILE_ATTRIBUTE_NORMAL,
        FILE_SHARE_READ | FILE_SHARE_DELETE,
        RTL_CREATE_ALWAYS,
        FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE,
        NULL,
        0);
    if (!NT_SUCCESS(Status)) {
        *Handle = NULL;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseRenameFile(
    PCREADER_CONTEXT Context,
    HANDLE Handle,
    PCUNICODE_STRING NtPath,
    BOOLEAN IsReplacing
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    IO_STATUS_BLOCK IoStatus;
    PREADER_RENAME Rename;
    ULONG Size = (ULONG)sizeof(READER_RENAME) + NtPath->Length;
    NTSTATUS Status;

    Rename = (PREADER_RENAME)Allocator->Allocate(Allocator->Context, Size);
    if (Rename == NULL) {
        return STATUS_NO_MEMORY;
    }

    Rename->ReplaceIfExists = IsReplacing;
    Rename->FileNameLength = NtPath->Length;
    RtlCopyBytes(Rename->FileName, NtPath->Buffer, NtPath->Length);
    Status = Context->Rtl->NtSetInformationFile(Handle,
                                                &IoStatus,
                                                Rename,
                                                Size,
                                                READER_RENAME_INFORMATION);
    Allocator->Free(Allocator->Context, Rename);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseMarkFile(
    PCREADER_CONTEXT Context,
    HANDLE Handle,
    BOOLEAN IsDeleted
    )
{
    IO_STATUS_BLOCK IoStatus;

    return Context->Rtl->NtSetInformationFile(Handle,
                                              &IoStatus,
                                              &IsDeleted,
                                              sizeof(IsDeleted),
                                              READER_DISPOSITION_INFORMATION);
}


_Use_decl_annotations_
VOID
BaseRemoveFile(
    PCREADER_CONTEXT Context,
    HANDLE Handle
    )
{
    (VOID)BaseMarkFile(Context, Handle, TRUE);
}


//
// What an executable file begins with: "MZ".
//

#define READER_IMAGE_MAGIC 0x5A4D

//
// Looks at what has the name that a file is to get. A store is not replaced,
// whole or damaged, nor an executable file: whoever names one has taken one
// path for the other.
// Returns STATUS_SUCCESS; STATUS_OBJECT_NAME_COLLISION if it is one of these;
// STATUS_FILE_IS_A_DIRECTORY.
// Step: receives a literal, unless the status is STATUS_SUCCESS.
//

_Must_inspect_result_
static
NTSTATUS
BaseCheckTarget(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _Inout_ PCSZ *Step
    )
{
    static const WCHAR Suffix[] = READER_STORE_SUFFIX;
    ULONG Length = RTL_NUMBER_OF(Suffix) - 1;
    ULONGLONG Magic = 0;
    ULONG Chars = NtPath->Length / sizeof(WCHAR);
    ULONG Index;
    ULONG Read;
    HANDLE File;
    NTSTATUS Status;

    Status = RtlOpenFileForReading(Context->Rtl, NtPath, &File);
    if (!NT_SUCCESS(Status)) {
        if (Status != STATUS_FILE_IS_A_DIRECTORY) {
            return STATUS_SUCCESS;
        }
        *Step = "create the file (there is a directory of this name)";
        return Status;
    }

    Status = RtlReadFile(Context->Rtl,
                         File,
                         0,
                         &Magic,
                         sizeof(Magic),
                         &Read);
    RtlClose(Context->Rtl, File);
    if (NT_SUCCESS(Status) && Read >= sizeof(USHORT) &&
        (USHORT)Magic == READER_IMAGE_MAGIC) {
        *Step = "create the file (it is an executable file, which is never "
                "replaced)";
        return STATUS_OBJECT_NAME_COLLISION;
    }

    if (!NT_SUCCESS(Status) || Magic != TRACE_STORE_MAGIC) {

        if (Chars < Length) {
            return STATUS_SUCCESS;
        }

        for (Index = 0; Index < Length; Index++) {

            WCHAR Char = NtPath->Buffer[Chars - Length + Index];

            if (Char >= L'A' && Char <= L'Z') {
                Char = (WCHAR)(Char | 0x20);
            }

            if (Char != Suffix[Index]) {
                return STATUS_SUCCESS;
            }
        }
    }

    *Step = "create the file (it is a trace store, which is never replaced)";
    return STATUS_OBJECT_NAME_COLLISION;
}


_Use_decl_annotations_
NTSTATUS
BaseReadFile(
    PCREADER_CONTEXT Context,
    PCWSTR Name,
    ULONG MaximumBytes,
    PVOID *Bytes,
    PULONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    ULONGLONG Size;
    HANDLE File;
    ULONG Read;
    NTSTATUS Status;

    *Bytes = NULL;
    *SizeInBytes = 0;
    Status = BaseMakeNtPath(Context, Name, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Context->Rtl, &NtPath, &File);
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlQueryFileSize(Context->Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size > MaximumBytes) {
        Status = STATUS_FILE_TOO_LARGE;
    }

    if (NT_SUCCESS(Status)) {
        *Bytes = Allocator->Allocate(Allocator->Context, (SIZE_T)Size + 1);
        Status = *Bytes != NULL ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    }

    //
    // The file may have become shorter meanwhile.
    //

    while (NT_SUCCESS(Status) && *SizeInBytes < Size) {

        Status = RtlReadFile(Context->Rtl,
                             File,
                             *SizeInBytes,
                             (PUCHAR)*Bytes + *SizeInBytes,
                             (ULONG)Size - *SizeInBytes,
                             &Read);
        if (Status == STATUS_END_OF_FILE || (NT_SUCCESS(Status) && Read == 0)) {
            Status = STATUS_SUCCESS;
            break;
        }

        if (NT_SUCCESS(Status)) {
            *SizeInBytes += Read;
        }
    }

    RtlClose(Context->Rtl, File);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, *Bytes);
        *Bytes = NULL;
    }

    return Status;
}


//
// Compresses what the writer gathered: an RTL_WRITER_FLUSH.
//

static
NTSTATUS
BaseFlushToGzip(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_FILE File = (PREADER_FILE)
        ((PCHAR)Writer - FIELD_OFFSET(READER_FILE, Writer));

    Writer->FileOffset += SizeInBytes;
    return BaseWriteGzip(File->Gzip, Bytes, SizeInBytes);
}


_Use_decl_annotations_
BOOLEAN
BaseCreateFile(
    PREADER_FILE File,
    PCREADER_CONTEXT Context,
    PCWSTR Name,
    PCSZ NameUtf8,
    BOOLEAN IsCompressed
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Given;
    UNICODE_STRING Suffix;
    PCSZ Step = "create the file";
    PWCHAR Temporary;
    PCHAR Memory;
    NTSTATUS Status;

    RtlZeroBytes(File, sizeof(*File));
    File->Context = Context;
    File->Name = NameUtf8;

    //
    // One piece of memory for the writer's buffer and the two names.
    //

    Memory = (PCHAR)
        Allocator->Allocate(Allocator->Context,
                            READER_FILE_BUFFER_SIZE +
                                2 * RTL_MAXIMUM_PATH_IN_CHARS *
                                    sizeof(WCHAR));
    if (Memory == NULL) {
        BaseFail(Context, "create the file", NameUtf8, STATUS_NO_MEMORY);
        return FALSE;
    }

    File->Memory = Memory;
    RtlPointUnicodeString(&Given, Name, RtlLengthOfWideString(Name));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                (PWSTR)(Memory + READER_FILE_BUFFER_SIZE),
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &File->Path);
    if (!NT_SUCCESS(Status)) {
        goto Error;
    }

    Status = BaseCheckTarget(Context, &File->Path, &Step);
    if (!NT_SUCCESS(Status)) {
        goto Error;
    }

    RtlPointUnicodeString(&Suffix,
                          READER_FILE_SUFFIX,
                          RtlLengthOfWideString(READER_FILE_SUFFIX));
    if (File->Path.Length + Suffix.Length >=
        RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR)) {
        Status = STATUS_NAME_TOO_LONG;
        goto Error;
    }

    Temporary = (PWCHAR)(Memory + READER_FILE_BUFFER_SIZE) +
                RTL_MAXIMUM_PATH_IN_CHARS;
    RtlCopyBytes(Temporary, File->Path.Buffer, File->Path.Length);
    RtlCopyBytes((PCHAR)Temporary + File->Path.Length,
                 Suffix.Buffer,
                 Suffix.Length);
    RtlPointUnicodeString(&File->TemporaryPath,
                          Temporary,
                          (File->Path.Length + Suffix.Length) /
                              sizeof(WCHAR));

    Status = BaseOpenTemporaryFile(Context,
                                   &File->TemporaryPath,
                                   FALSE,
                                   &File->Handle);
    if (!NT_SUCCESS(Status)) {
        goto Error;
    }

    RtlInitializeFileWriter(Context->Rtl,
                            File->Handle,
                            0,
                            &File->Writer,
                            Memory,
                            READER_FILE_BUFFER_SIZE);
    if (!IsCompressed) {
        return TRUE;
    }

    Status = BaseCreateGzip(Allocator,
                            Context->Rtl,
                            File->Handle,
                            &File->Gzip);
    if (NT_SUCCESS(Status)) {
        File->Writer.Flush = BaseFlushToGzip;
        return TRUE;
    }

    Step = "write the file";
    BaseRemoveFile(Context, File->Handle);
    RtlClose(Context->Rtl, File->Handle);
    File->Handle = NULL;

Error:
    BaseFail(Context, Step, NameUtf8, Status);
    Allocator->Free(Allocator->Context, Memory);
    File->Memory = NULL;
    return FALSE;
}


_Use_decl_annotations_
ULONG
BaseCloseFile(
    PREADER_FILE File,
    BOOLEAN IsComplete
    )
{
    PCREADER_CONTEXT Context = File->Context;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status;

    if (File->Handle == NULL) {
        return READER_EXIT_SUCCESS;
    }

    Status = RtlFlushWriter(&File->Writer);
    if (NT_SUCCESS(Status) && IsComplete && File->Gzip != NULL) {
        Status = BaseEndGzip(File->Gzip);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "write the file", File->Name, Status);
    } else if (IsComplete) {
        Status = BaseRenameFile(Context, File->Handle, &File->Path, TRUE);
        if (!NT_SUCCESS(Status)) {
            ExitCode = BaseFail(Context,
                                "give the file its name",
                                File->Name,
                                Status);
        }
    }

    if (!IsComplete || ExitCode != READER_EXIT_SUCCESS) {
        BaseRemoveFile(Context, File->Handle);
    }

    BaseDestroyGzip(Context->Allocator, File->Gzip);
    Context->Rtl->NtClose(File->Handle);
    Context->Allocator->Free(Context->Allocator->Context, File->Memory);
    RtlZeroBytes(File, sizeof(*File));
    return ExitCode;
}

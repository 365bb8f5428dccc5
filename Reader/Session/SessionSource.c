/*++

Module Name:

    SessionSource.c

Abstract:

    A session's directories and files, wherever they are.

--*/

#include "SessionSource.h"


_Use_decl_annotations_
NTSTATUS
SessionListDirectory(
    PCREADER_CONTEXT Context,
    PCREADER_PACK Pack,
    PCUNICODE_STRING NtPath,
    PRTL_DIRECTORY_CALLBACK Callback,
    PVOID CallbackContext
    )
{
    if (Pack != NULL) {
        return BaseListPack(Pack, NtPath, Callback, CallbackContext);
    }

    return RtlEnumerateDirectory(Context->Rtl,
                                 NtPath,
                                 Callback,
                                 CallbackContext);
}


//
// Takes the only folder that a pack has beside no file: what a session's
// directory was called.
//

static
NTSTATUS
SessionVisitFolder(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PUNICODE_STRING Folder = (PUNICODE_STRING)CallbackContext;

    UNREFERENCED_PARAMETER(SizeInBytes);
    if (!IsDirectory || Folder->Length != 0) {
        return STATUS_CANCELLED;
    }

    *Folder = *Name;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SessionEnterPackFolder(
    PCREADER_PACK Pack,
    PUNICODE_STRING NtPath
    )
{
    UNICODE_STRING Folder;
    NTSTATUS Status;

    RtlPointUnicodeString(&Folder, NULL, 0);
    Status = BaseListPack(Pack, NtPath, SessionVisitFolder, &Folder);
    if (Status == STATUS_CANCELLED ||
        (NT_SUCCESS(Status) && Folder.Length == 0)) {
        return STATUS_SUCCESS;
    }

    return NT_SUCCESS(Status)
               ? RtlAppendPath(NtPath,
                               Folder.Buffer,
                               Folder.Length / sizeof(WCHAR),
                               TRUE)
               : Status;
}


_Use_decl_annotations_
NTSTATUS
SessionOpenSource(
    PCREADER_CONTEXT Context,
    PREADER_PACK Pack,
    PCUNICODE_STRING NtPath,
    PREADER_SOURCE Source
    )
{
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Source, sizeof(*Source));
    Source->Context = Context;
    if (Pack != NULL) {

        Source->Pack = Pack;
        Source->PackFile = BaseFindPackFile(Pack, NtPath);
        if (Source->PackFile == READER_NONE) {
            Status = STATUS_OBJECT_NAME_NOT_FOUND;
        }

    } else {

        Status = RtlOpenFileForReading(Context->Rtl, NtPath, &Source->File);
        if (!NT_SUCCESS(Status)) {
            Source->File = NULL;
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SessionQuerySource(
    const READER_SOURCE *Source,
    PULONGLONG SizeInBytes
    )
{
    UNICODE_STRING Name;

    if (Source->Pack != NULL) {
        *SizeInBytes = BaseQueryPackFile(Source->Pack,
                                         Source->PackFile,
                                         &Name);
        return STATUS_SUCCESS;
    }

    return RtlQueryFileSize(Source->Context->Rtl, Source->File, SizeInBytes);
}


_Use_decl_annotations_
NTSTATUS
SessionReadSource(
    PREADER_SOURCE Source,
    ULONGLONG FileOffset,
    PVOID Bytes,
    ULONG SizeInBytes,
    PULONG ReadInBytes
    )
{
    if (Source->Pack != NULL) {
        return BaseReadPack(Source->Pack,
                            Source->PackFile,
                            FileOffset,
                            Bytes,
                            SizeInBytes,
                            &Source->View,
                            ReadInBytes);
    }

    return RtlReadFile(Source->Context->Rtl,
                       Source->File,
                       FileOffset,
                       Bytes,
                       SizeInBytes,
                       ReadInBytes);
}


_Use_decl_annotations_
VOID
SessionCloseSource(
    PREADER_SOURCE Source
    )
{
    if (Source->Pack != NULL) {
        BaseFreePackView(Source->Pack, &Source->View);
    } else if (Source->File != NULL) {
        RtlClose(Source->Context->Rtl, Source->File);
        Source->File = NULL;
    }
}

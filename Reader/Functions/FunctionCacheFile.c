/*++

Module Name:

    FunctionCacheFile.c

Abstract:

    What reading and writing the file of the symbol cache share.

--*/

#include "../Base/BaseHashWords.h"
#include "FunctionCacheFile.h"

static const WCHAR ReaderCacheFile[] = L"symbols.cache";
static const WCHAR ReaderCacheNewFile[] = L"symbols.cache.new";

_Use_decl_annotations_
ULONGLONG
FunctionHashCache(
    const READER_CACHE_HEADER *Header,
    const VOID *Rest,
    SIZE_T SizeInBytes
    )
{
    ULONGLONG Hash;

    Hash = BaseHashWords(0,
                         Header,
                         FIELD_OFFSET(READER_CACHE_HEADER, Checksum));
    return BaseHashWords(Hash, Rest, SizeInBytes);
}

_Use_decl_annotations_
NTSTATUS
FunctionNameCache(
    PREADER_SESSION Session,
    ULONG Directory,
    BOOLEAN IsTemporary,
    PUNICODE_STRING NtPath
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCWSTR File = IsTemporary ? ReaderCacheNewFile : ReaderCacheFile;
    ULONG FileLength = RtlLengthOfWideString(File);
    PCUNICODE_STRING Below = &Session->Directories[Directory].Name;
    UNICODE_STRING Name;
    ULONG Size;
    NTSTATUS Status;

    Name.Length = 0;
    Session->Path.Length = Session->DirectoryLength;
    if (!Session->IsDirectory) {
        RtlBaseName(&Session->Path, &Name);
    }

    NtPath->Buffer = NULL;
    NtPath->Length = Session->DirectoryLength - Name.Length;
    Size = NtPath->Length + Below->Length +
           (FileLength + 2) * sizeof(WCHAR);
    if (Size > RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR)) {
        return STATUS_NAME_TOO_LONG;
    }

    NtPath->Buffer = (PWSTR)Allocator->Allocate(Allocator->Context, Size);
    if (NtPath->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    NtPath->MaximumLength = (USHORT)Size;
    RtlCopyBytes(NtPath->Buffer, Session->Path.Buffer, NtPath->Length);
    Status = STATUS_SUCCESS;
    if (Below->Length != 0) {
        Status = RtlAppendPath(NtPath,
                               Below->Buffer,
                               Below->Length / sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(NtPath, File, FileLength, TRUE);
    }

    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, NtPath->Buffer);
        NtPath->Buffer = NULL;
    }

    return Status;
}

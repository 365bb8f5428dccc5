/*++

Module Name:

    ReaderCacheRead.c

Abstract:

    Reads the file of a symbol cache, and sees to it that everything in it is
    where it says: after that its entries can be used without a look.

--*/

#include "ReaderCache.h"

#define READER_CACHE_FLAGS                                                  \
    (CORE_CALL_FRAME_KNOWN | CORE_CALL_DYNAMIC | CORE_CALL_JUMPS)


static
BOOLEAN
ReaderIsTextInCache(
    _Inout_ PREADER_CACHE Cache,
    _In_ ULONG Offset,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Decides whether a text lies among the texts, with the zero that ends it, and
    adds its length to that of all.

Arguments:

    Cache - The cache.

    Offset, LengthInBytes - Where the text is.

Return Value:

    TRUE if it does.

--*/
{
    ULONGLONG End = (ULONGLONG)Offset + LengthInBytes;

    Cache->SumOfTexts += LengthInBytes;
    return LengthInBytes <= READER_CACHE_MAXIMUM_TEXT &&
           Cache->SumOfTexts <= READER_CACHE_MAXIMUM_TEXTS &&
           End < Cache->Header->SizeOfTexts &&
           Cache->Texts[End] == 0;
}


static
BOOLEAN
ReaderIsEntryGood(
    _Inout_ PREADER_CACHE Cache,
    _In_ PCREADER_CACHE_ENTRY Entry
    )
/*++

Routine Description:

    Decides whether an entry can be used.

Arguments:

    Cache - The cache.

    Entry - The entry.

Return Value:

    TRUE if it can.

--*/
{
    const ULONG *Values = Entry->Values;

    if (Entry->Module >= Cache->Header->NumberOfModules ||
        (Entry->Type != ReaderCacheInlined && Entry->Key > 0xFFFFFFFFULL)) {
        return FALSE;
    }

    switch (Entry->Type) {

    case ReaderCacheName:
        return Values[0] == 0 ||
               (Values[0] <= 1 + READER_MAXIMUM_FOLDED &&
                ReaderIsTextInCache(Cache, Values[2], Values[3]) &&
                ReaderIsTextInCache(Cache, Values[4], Values[5]));

    case ReaderCacheSite:
    case ReaderCacheFunctionSite:
        return (Values[0] & ~(READER_CACHE_HAS_FUNCTION |
                              READER_CACHE_HAS_TARGET)) == 0 &&
               (Values[5] & ~READER_CACHE_FLAGS) == 0;

    case ReaderCacheInlined:
        return TRUE;

    case ReaderCacheLine:
        return Values[0] == 0 ||
               ReaderIsTextInCache(Cache, Values[1], Values[2]);
    }

    return FALSE;
}


static
BOOLEAN
ReaderIsAfterEntry(
    _In_ PCREADER_CACHE_ENTRY Entry,
    _In_ PCREADER_CACHE_ENTRY Previous
    )
/*++

Routine Description:

    Decides whether an entry comes after another one.

Arguments:

    Entry - The entry.

    Previous - The other one.

Return Value:

    TRUE if it does.

--*/
{
    if (Entry->Module != Previous->Module) {
        return Entry->Module > Previous->Module;
    }

    if (Entry->Type != Previous->Type) {
        return Entry->Type > Previous->Type;
    }

    return Entry->Key > Previous->Key;
}


static
PCSZ
ReaderCheckCache(
    _Inout_ PREADER_CACHE Cache,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Finds the parts of a cache, and checks all of it.

Arguments:

    Cache - The cache, with the file's bytes; receives where its parts are.

    SizeInBytes - The file's size, at least that of a header.

Return Value:

    What is wrong with it, or NULL.

--*/
{
    PREADER_CACHE_HEADER Header = (PREADER_CACHE_HEADER)Cache->Bytes;
    PCREADER_CACHE_MODULE Module;
    ULONGLONG Size;
    ULONGLONG Index;

    Cache->Header = Header;
    if (Header->Magic != READER_CACHE_MAGIC) {
        return "it is no symbol cache";
    }

    if (Header->Version != READER_CACHE_VERSION) {
        Cache->IsOtherVersion = TRUE;
        return "it is of another version";
    }

    //
    // The largest file is far smaller than what would make the sum overflow.
    //

    if (Header->SizeInBytes != SizeInBytes ||
        Header->NumberOfModules > READER_CACHE_MAXIMUM_MODULES ||
        Header->NumberOfEntries > SizeInBytes / sizeof(READER_CACHE_ENTRY) ||
        Header->SizeOfTexts > SizeInBytes ||
        Header->SizeOfTexts % sizeof(ULONGLONG) != 0) {
        return "it is damaged";
    }

    Size = sizeof(READER_CACHE_HEADER) +
           (ULONGLONG)Header->NumberOfModules * sizeof(READER_CACHE_MODULE) +
           Header->NumberOfEntries * sizeof(READER_CACHE_ENTRY) +
           Header->SizeOfTexts;
    if (Size != SizeInBytes ||
        (READER_CACHE_IS_CHECKED &&
         Header->Checksum != ReaderHashCache(Header,
                                             Header + 1,
                                             (SIZE_T)Size - sizeof(*Header)))) {
        return "it is damaged";
    }

    Cache->Modules = (PREADER_CACHE_MODULE)(Header + 1);
    Cache->Entries =
        (PREADER_CACHE_ENTRY)(Cache->Modules + Header->NumberOfModules);
    Cache->Texts = (PCSZ)(Cache->Entries + Header->NumberOfEntries);

    for (Index = 0; Index < Header->NumberOfModules; Index++) {
        Module = &Cache->Modules[Index];
        if (Module->Source > ReaderSymbolSourceExports ||
            !ReaderIsTextInCache(Cache, Module->Path, Module->PathLength)) {
            return "it is damaged";
        }
    }

    for (Index = 0; Index < Header->NumberOfEntries; Index++) {
        if (!ReaderIsEntryGood(Cache, &Cache->Entries[Index]) ||
            (Index != 0 && !ReaderIsAfterEntry(&Cache->Entries[Index],
                                               &Cache->Entries[Index - 1]))) {
            return "it is damaged";
        }
    }

    return NULL;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadCacheFile(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _Inout_ PREADER_CACHE Cache,
    _Out_ PULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Reads all of a file.

Arguments:

    Context - The context.

    NtPath - The file.

    Cache - Receives the bytes, unless the file is too large or too small to be
        a cache.

    SizeInBytes - Receives how many there are.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    HANDLE File;
    ULONG ReadInBytes = 0;
    NTSTATUS Status;

    *SizeInBytes = 0;
    Status = RtlOpenFileForReading(Context->Rtl, NtPath, &File);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlQueryFileSize(Context->Rtl, File, SizeInBytes);
    if (NT_SUCCESS(Status) &&
        *SizeInBytes >= sizeof(READER_CACHE_HEADER) &&
        *SizeInBytes <= READER_CACHE_MAXIMUM_SIZE) {

        Cache->Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                   (SIZE_T)*SizeInBytes);
        Status = STATUS_NO_MEMORY;
        if (Cache->Bytes != NULL) {
            Status = RtlReadFile(Context->Rtl,
                                 File,
                                 0,
                                 Cache->Bytes,
                                 (ULONG)*SizeInBytes,
                                 &ReadInBytes);
            if (NT_SUCCESS(Status) && ReadInBytes != *SizeInBytes) {
                Status = STATUS_END_OF_FILE;
            }
        }
    }

    RtlClose(Context->Rtl, File);
    return Status;
}


_Use_decl_annotations_
VOID
ReaderLoadCache(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Reads the file of a session's cache.  A file that cannot be used is said to
    be so, and is as none.

Arguments:

    Session - The session, with an empty cache.

Return Value:

    None.

--*/
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_CACHE Cache = Session->Cache;
    UNICODE_STRING Path;
    ULONGLONG SizeInBytes = 0;
    PCSZ Problem = NULL;
    PCSZ Name;
    NTSTATUS Status;

    Status = ReaderNameCache(Session, FALSE, &Path);
    if (!NT_SUCCESS(Status)) {
        return;
    }

    Status = ReaderReadCacheFile(Context, &Path, Cache, &SizeInBytes);
    Allocator->Free(Allocator->Context, Path.Buffer);
    if (Status == STATUS_OBJECT_NAME_NOT_FOUND ||
        Status == STATUS_OBJECT_PATH_NOT_FOUND) {
        return;
    }

    if (NT_SUCCESS(Status)) {
        Problem = Cache->Bytes != NULL
                      ? ReaderCheckCache(Cache, SizeInBytes)
                      : "it is no symbol cache";
    }

    if (NT_SUCCESS(Status) && Problem == NULL) {
        Cache->IsDropped = (PBOOLEAN)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Cache->Header->NumberOfModules + 1);
        if (Cache->IsDropped != NULL) {
            RtlZeroBytes(Cache->IsDropped,
                         (SIZE_T)Cache->Header->NumberOfModules + 1);
            return;
        }

        Status = STATUS_NO_MEMORY;
    }

    RtlWriteText(Context->Errors,
                 "TraceReader: warning: symbols.cache is not used: ");
    if (NT_SUCCESS(Status)) {
        RtlWriteText(Context->Errors, "%s\n", Problem);
    } else {
        Name = RtlStatusName(Status);
        RtlWriteText(Context->Errors,
                     "read: 0x%08X%s%s%s\n",
                     (ULONG)Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
    }

    RtlFlushWriter(Context->Errors);
    Allocator->Free(Allocator->Context, Cache->Bytes);
    Cache->Bytes = NULL;
}

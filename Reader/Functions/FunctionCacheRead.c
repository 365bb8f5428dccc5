/*++

Module Name:

    FunctionCacheRead.c

Abstract:

    Reads the file of a symbol cache, and sees to it that everything in it is
    where it says: after that its entries can be used without a look.

--*/

#include "../Core/CorePair.h"
#include "../Session/SessionSource.h"
#include "FunctionCacheFile.h"

#define READER_CACHE_FLAGS                                                  \
    (CORE_CALL_FRAME_KNOWN | CORE_CALL_DYNAMIC | CORE_CALL_JUMPS | \
     CORE_CALL_CHAIN)


//
// Decides whether a text lies among the texts, with the zero that ends it, and
// adds its length to that of all.
//

static
BOOLEAN
FunctionIsTextInCache(
    _Inout_ PREADER_CACHE Cache,
    _In_ ULONG Offset,
    _In_ ULONG LengthInBytes
    )
{
    ULONGLONG End = (ULONGLONG)Offset + LengthInBytes;

    Cache->SumOfTexts += LengthInBytes;
    return LengthInBytes <= READER_CACHE_MAXIMUM_TEXT &&
           Cache->SumOfTexts <= READER_CACHE_MAXIMUM_TEXTS &&
           End < Cache->Header->SizeOfTexts &&
           Cache->Texts[End] == 0;
}


//
// Decides whether an entry can be used.
//

static
BOOLEAN
FunctionIsEntryGood(
    _Inout_ PREADER_CACHE Cache,
    _In_ PCREADER_CACHE_ENTRY Entry
    )
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
                FunctionIsTextInCache(Cache, Values[2], Values[3]) &&
                FunctionIsTextInCache(Cache, Values[4], Values[5]));

    case ReaderCacheSite:
    case ReaderCacheFunctionSite:
        return (Values[0] & ~(READER_CACHE_HAS_FUNCTION |
                              READER_CACHE_HAS_TARGET)) == 0 &&
               (Values[5] & ~READER_CACHE_FLAGS) == 0;

    case ReaderCacheInlined:
        return TRUE;

    case ReaderCacheLine:
        return Values[0] == 0 ||
               FunctionIsTextInCache(Cache, Values[1], Values[2]);
    }

    return FALSE;
}


//
// Decides whether an entry comes after another one.
// Previous: the other one.
//

static
BOOLEAN
FunctionIsAfterEntry(
    _In_ PCREADER_CACHE_ENTRY Entry,
    _In_ PCREADER_CACHE_ENTRY Previous
    )
{
    if (Entry->Module != Previous->Module) {
        return Entry->Module > Previous->Module;
    }

    if (Entry->Type != Previous->Type) {
        return Entry->Type > Previous->Type;
    }

    return Entry->Key > Previous->Key;
}


//
// Finds the parts of a cache, and checks all of it.
// Cache: the cache, with the file's bytes; receives where its parts are.
// SizeInBytes: the file's size, at least that of a header.
// Returns what is wrong with it, or NULL.
//

static
PCSZ
FunctionCheckCache(
    _Inout_ PREADER_CACHE Cache,
    _In_ ULONGLONG SizeInBytes
    )
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
         Header->Checksum !=
             FunctionHashCache(Header,
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
            !FunctionIsTextInCache(Cache, Module->Path, Module->PathLength)) {
            return "it is damaged";
        }
    }

    for (Index = 0; Index < Header->NumberOfEntries; Index++) {
        if (!FunctionIsEntryGood(Cache, &Cache->Entries[Index]) ||
            (Index != 0 && !FunctionIsAfterEntry(&Cache->Entries[Index],
                                                 &Cache->Entries[Index - 1]))) {
            return "it is damaged";
        }
    }

    return NULL;
}


//
// Cache: the bytes, unless the file is too large or too small to be a cache.
// SizeInBytes: how many there are.
//

_Must_inspect_result_
static
NTSTATUS
FunctionReadCacheFile(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _Inout_ PREADER_CACHE Cache,
    _Out_ PULONGLONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_SOURCE File;
    ULONG ReadInBytes = 0;
    NTSTATUS Status;

    *SizeInBytes = 0;
    Status = SessionOpenSource(Context, Pack, NtPath, &File);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SessionQuerySource(&File, SizeInBytes);
    if (NT_SUCCESS(Status) &&
        *SizeInBytes >= sizeof(READER_CACHE_HEADER) &&
        *SizeInBytes <= READER_CACHE_MAXIMUM_SIZE) {

        Cache->Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                   (SIZE_T)*SizeInBytes);
        Status = STATUS_NO_MEMORY;
        if (Cache->Bytes != NULL) {
            Status = SessionReadSource(&File,
                                       0,
                                       Cache->Bytes,
                                       (ULONG)*SizeInBytes,
                                       &ReadInBytes);
            if (NT_SUCCESS(Status) && ReadInBytes != *SizeInBytes) {
                Status = STATUS_END_OF_FILE;
            }
        }
    }

    SessionCloseSource(&File);
    return Status;
}


_Use_decl_annotations_
VOID
FunctionLoadCache(
    PREADER_SESSION Session,
    ULONG Directory,
    PREADER_CACHE Cache
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Path;
    ULONGLONG SizeInBytes = 0;
    PCSZ Problem = NULL;
    PCSZ Name;
    NTSTATUS Status;

    Status = FunctionNameCache(Session, Directory, FALSE, &Path);
    if (!NT_SUCCESS(Status)) {
        return;
    }

    Status = FunctionReadCacheFile(Context,
                                   Session->Pack,
                                   &Path,
                                   Cache,
                                   &SizeInBytes);
    Allocator->Free(Allocator->Context, Path.Buffer);
    if (Status == STATUS_OBJECT_NAME_NOT_FOUND ||
        Status == STATUS_OBJECT_PATH_NOT_FOUND) {
        return;
    }

    if (NT_SUCCESS(Status)) {
        Problem = Cache->Bytes != NULL
                      ? FunctionCheckCache(Cache, SizeInBytes)
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
                 "TraceReader: warning: %Z%ssymbols.cache is not used: ",
                 &Session->Directories[Directory].Name,
                 Session->Directories[Directory].Name.Length != 0 ? "\\" : "");
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

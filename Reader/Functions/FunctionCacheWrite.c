/*++

Module Name:

    FunctionCacheWrite.c

Abstract:

    Makes the file of a symbol cache from what the one before had and from what
    is new, and writes it.

--*/

#include "../Base/BaseFile.h"
#include "FunctionCache.h"
#include "FunctionCacheFile.h"

//
// The Fowler-Noll-Vo hash of a text, and with how many texts of one hash it is
// compared before it is written again.
//

#define READER_HASH_SEED 0xCBF29CE484222325ULL
#define READER_HASH_MULTIPLIER 0x00000100000001B3ULL
#define READER_MAXIMUM_PROBES 8

typedef struct _READER_CACHE_MAKER {
    PREADER_SESSION Session;
    PREADER_CACHE Cache;
    PULONG Cached;                  // module of the file to module here, or
                                    // READER_NONE
    PULONG Modules;                 // module of the session, likewise
    PULONG Order;                   // the new entries, sorted
    ULONG NumberOfNews;
    ULONG NumberOfModules;
    ULONGLONG NumberOfEntries;
    PUCHAR Bytes;
    PREADER_CACHE_MODULE ModuleList;    // these three in Bytes
    PREADER_CACHE_ENTRY Entries;
    PCHAR Texts;
    ULONGLONG SizeOfTexts;          // so far
    ULONGLONG RoomForTexts;
    ULONGLONG SumOfTexts;           // of the lengths of all that were added
    READER_MAP Offsets;             // of texts, by their hash
    NTSTATUS Status;
} READER_CACHE_MAKER;
typedef READER_CACHE_MAKER *PREADER_CACHE_MAKER;


//
// Orders two entries.
// FirstModule, SecondModule: their modules in the file that is made.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareEntries(
    _In_ PCREADER_CACHE_ENTRY First,
    _In_ ULONG FirstModule,
    _In_ PCREADER_CACHE_ENTRY Second,
    _In_ ULONG SecondModule
    )
{
    if (FirstModule != SecondModule) {
        return FirstModule < SecondModule ? -1 : 1;
    }

    if (First->Type != Second->Type) {
        return First->Type < Second->Type ? -1 : 1;
    }

    if (First->Key != Second->Key) {
        return First->Key < Second->Key ? -1 : 1;
    }

    return 0;
}


//
// Orders two new entries.
// CompareContext: the maker.
// First, Second: their indexes.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareNews(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_CACHE_MAKER Maker = (PREADER_CACHE_MAKER)CompareContext;
    PCREADER_CACHE_ENTRY FirstEntry = &Maker->Cache->News[First].Entry;
    PCREADER_CACHE_ENTRY SecondEntry = &Maker->Cache->News[Second].Entry;

    return FunctionCompareEntries(FirstEntry,
                                  Maker->Modules[FirstEntry->Module],
                                  SecondEntry,
                                  Maker->Modules[SecondEntry->Module]);
}


//
// Puts a text among the texts, unless it is there.
// Maker: the maker; its Status is set if there is no room.
// Result: where it is.
//

static
ULONG
FunctionAddText(
    _Inout_ PREADER_CACHE_MAKER Maker,
    _In_reads_bytes_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONGLONG Hash = READER_HASH_SEED ^ LengthInBytes;
    ULONG Offset;
    ULONG Index;
    NTSTATUS Status;

    Maker->SumOfTexts += LengthInBytes;
    if (Maker->SumOfTexts > READER_CACHE_MAXIMUM_TEXTS) {
        Maker->Status = STATUS_FILE_TOO_LARGE;
        return 0;
    }

    for (Index = 0; Index < LengthInBytes; Index++) {
        Hash = (Hash ^ (UCHAR)Text[Index]) * READER_HASH_MULTIPLIER;
    }

    for (Index = 0; Index < READER_MAXIMUM_PROBES; Index++) {

        if (!BaseFindInMap(&Maker->Offsets, Hash + Index, &Offset)) {
            break;
        }

        if (Maker->SizeOfTexts - Offset > LengthInBytes &&
            Maker->Texts[Offset + LengthInBytes] == 0 &&
            RtlAreBytesEqual(Maker->Texts + Offset, Text, LengthInBytes)) {
            return Offset;
        }
    }

    if (Maker->RoomForTexts - Maker->SizeOfTexts <= LengthInBytes) {
        Maker->Status = STATUS_FILE_TOO_LARGE;
        return 0;
    }

    Offset = (ULONG)Maker->SizeOfTexts;
    RtlCopyBytes(Maker->Texts + Offset, Text, LengthInBytes);
    Maker->Texts[Offset + LengthInBytes] = 0;
    Maker->SizeOfTexts += (ULONGLONG)LengthInBytes + 1;
    if (Index < READER_MAXIMUM_PROBES) {
        Status = BaseAddToMap(&Maker->Offsets, Hash + Index, Offset);
        if (!NT_SUCCESS(Status)) {
            Maker->Status = Status;
        }
    }

    return Offset;
}


//
// Adds an entry to the file that is made.
// Text, RawText: its texts; NULL: there are none.
//

static
VOID
FunctionPutEntry(
    _Inout_ PREADER_CACHE_MAKER Maker,
    _In_ PCREADER_CACHE_ENTRY Entry,
    _In_ ULONG Module,
    _In_opt_ PCSZ Text,
    _In_opt_ PCSZ RawText
    )
{
    PREADER_CACHE_ENTRY Put = &Maker->Entries[Maker->NumberOfEntries];

    *Put = *Entry;
    Put->Module = Module;
    Maker->NumberOfEntries += 1;
    if (Text == NULL) {
        return;
    }

    if (Entry->Type == ReaderCacheName) {
        Put->Values[READER_CACHE_NAME_TEXT] =
            FunctionAddText(Maker,
                            Text,
                            Entry->Values[READER_CACHE_NAME_TEXT + 1]);
        Put->Values[READER_CACHE_RAW_TEXT] =
            FunctionAddText(Maker,
                            RawText,
                            Entry->Values[READER_CACHE_RAW_TEXT + 1]);
    } else {
        Put->Values[READER_CACHE_FILE_TEXT] =
            FunctionAddText(Maker,
                            Text,
                            Entry->Values[READER_CACHE_FILE_TEXT + 1]);
    }
}


//
// Adds an entry of the file before.
// Entry: the entry, whose module stays.
//

static
VOID
FunctionPutCachedEntry(
    _Inout_ PREADER_CACHE_MAKER Maker,
    _In_ PCREADER_CACHE_ENTRY Entry
    )
{
    PCSZ Texts = Maker->Cache->Texts;
    PCSZ Text = NULL;
    PCSZ RawText = NULL;

    if (Entry->Values[0] != 0) {
        if (Entry->Type == ReaderCacheName) {
            Text = Texts + Entry->Values[READER_CACHE_NAME_TEXT];
            RawText = Texts + Entry->Values[READER_CACHE_RAW_TEXT];
        } else if (Entry->Type == ReaderCacheLine) {
            Text = Texts + Entry->Values[READER_CACHE_FILE_TEXT];
        }
    }

    FunctionPutEntry(Maker, Entry, Maker->Cached[Entry->Module], Text, RawText);
}


//
// Adds all entries, those of the file before and the new ones, in order.
// Maker: the maker, with room for them.
//

static
VOID
FunctionPutEntries(
    _Inout_ PREADER_CACHE_MAKER Maker
    )
{
    PREADER_CACHE Cache = Maker->Cache;
    PREADER_CACHE_NEW New;
    PCREADER_CACHE_ENTRY Entry;
    ULONGLONG NumberOfCached = 0;
    ULONGLONG Index = 0;
    ULONG Next = 0;

    if (Cache->Bytes != NULL) {
        NumberOfCached = Cache->Header->NumberOfEntries;
    }

    while ((Index < NumberOfCached || Next < Maker->NumberOfNews) &&
           NT_SUCCESS(Maker->Status)) {

        Entry = Index < NumberOfCached ? &Cache->Entries[Index] : NULL;
        if (Entry != NULL && Maker->Cached[Entry->Module] == READER_NONE) {
            Index += 1;
            continue;
        }

        New = Next < Maker->NumberOfNews ? &Cache->News[Maker->Order[Next]]
                                         : NULL;
        if (New == NULL ||
            (Entry != NULL &&
             FunctionCompareEntries(Entry,
                                    Maker->Cached[Entry->Module],
                                    &New->Entry,
                                    Maker->Modules[New->Entry.Module]) <= 0)) {
            FunctionPutCachedEntry(Maker, Entry);
            Index += 1;
        } else {
            FunctionPutEntry(Maker,
                             &New->Entry,
                             Maker->Modules[New->Entry.Module],
                             New->Text,
                             New->RawText);
            Next += 1;
        }
    }
}


//
// Adds the modules to the file that is made.
// Maker: the maker, with room for them.
//

static
VOID
FunctionPutCacheModules(
    _Inout_ PREADER_CACHE_MAKER Maker
    )
{
    PREADER_CACHE Cache = Maker->Cache;
    PREADER_SESSION Session = Maker->Session;
    PREADER_CACHE_MODULE Put;
    PREADER_MODULE Module;
    ULONG Index;

    for (Index = 0;
         Cache->Bytes != NULL && Index < Cache->Header->NumberOfModules;
         Index++) {

        if (Maker->Cached[Index] != READER_NONE) {
            Put = &Maker->ModuleList[Maker->Cached[Index]];
            *Put = Cache->Modules[Index];
            Put->Path = FunctionAddText(Maker,
                                        Cache->Texts + Put->Path,
                                        Put->PathLength);
        }
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (Maker->Modules[Index] == READER_NONE ||
            Module->CachedModule != READER_NONE) {
            continue;
        }

        Put = &Maker->ModuleList[Maker->Modules[Index]];
        Put->TimeDateStamp = Module->Header->ModuleTimeDateStamp;
        Put->SizeOfImage = Module->Header->ModuleSize;
        Put->CheckSum = Module->Header->ModuleCheckSum;
        Put->CodeViewAge = Module->Header->CodeViewAge;
        RtlCopyBytes(Put->CodeViewGuid,
                     Module->Header->CodeViewGuid,
                     sizeof(Put->CodeViewGuid));
        Put->PathLength = Module->Header->ModulePathLength;
        Put->Path = FunctionAddText(Maker,
                                    Module->Header->ModulePath,
                                    Put->PathLength);
        Put->Source = (ULONG)SymbolGetSymbolSource(Module->Symbols);
    }
}


//
// Gives the modules their numbers in the file that is made: first those of the
// file before that stay, then those that were not in it and whose images are
// there.
//
// Maker: the maker, with room for the numbers.
//

static
VOID
FunctionNumberModules(
    _Inout_ PREADER_CACHE_MAKER Maker
    )
{
    PREADER_CACHE Cache = Maker->Cache;
    PREADER_SESSION Session = Maker->Session;
    PREADER_MODULE Module;
    ULONG Index;

    for (Index = 0;
         Cache->Bytes != NULL && Index < Cache->Header->NumberOfModules;
         Index++) {

        Maker->Cached[Index] = READER_NONE;
        if (!Cache->IsDropped[Index]) {
            Maker->Cached[Index] = Maker->NumberOfModules;
            Maker->NumberOfModules += 1;
        }
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        Maker->Modules[Index] = READER_NONE;
        if (!Module->IsSymbolsTried) {
            continue;
        }

        if (Module->CachedModule != READER_NONE) {
            Maker->Modules[Index] = Maker->Cached[Module->CachedModule];
        } else if (Module->Symbols != NULL &&
                   SymbolGetUnwind(Module->Symbols) != NULL) {
            Maker->Modules[Index] = Maker->NumberOfModules;
            Maker->NumberOfModules += 1;
        }
    }
}


//
// Sorts the new entries; of those that answer one question the first stays.
// Maker: the maker, with the modules' numbers.
//

static
VOID
FunctionSortNews(
    _Inout_ PREADER_CACHE_MAKER Maker
    )
{
    ULONG Index;
    ULONG Count = 0;

    for (Index = 0; Index < Maker->Cache->NumberOfNews; Index++) {
        if (Maker->Modules[Maker->Cache->News[Index].Entry.Module] !=
            READER_NONE) {
            Maker->Order[Count] = Index;
            Count += 1;
        }
    }

    BaseSort(Maker->Order, Count, FunctionCompareNews, Maker);
    Maker->NumberOfNews = 0;
    for (Index = 0; Index < Count; Index++) {
        if (Index == 0 ||
            FunctionCompareNews(Maker,
                                Maker->Order[Index],
                                Maker->Order[Index - 1]) != 0) {
            Maker->Order[Maker->NumberOfNews] = Maker->Order[Index];
            Maker->NumberOfNews += 1;
        }
    }
}


//
// Allocates the file that is made, as large as it can become.
// Maker: the maker, with the new entries sorted.
// Returns STATUS_SUCCESS, STATUS_FILE_TOO_LARGE or STATUS_NO_MEMORY.
//

_Must_inspect_result_
static
NTSTATUS
FunctionMakeRoom(
    _Inout_ PREADER_CACHE_MAKER Maker
    )
{
    PREADER_CACHE Cache = Maker->Cache;
    PREADER_SESSION Session = Maker->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CACHE_NEW New;
    ULONGLONG Entries = Maker->NumberOfNews;
    ULONGLONG Texts = sizeof(ULONGLONG);
    ULONGLONG Size;
    ULONG Index;

    if (Cache->Bytes != NULL) {
        Entries += Cache->Header->NumberOfEntries;
        Texts += Cache->Header->SizeOfTexts * 2;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        Texts += Session->Modules[Index]->Header->ModulePathLength + 1;
    }

    for (Index = 0; Index < Maker->NumberOfNews; Index++) {

        New = &Cache->News[Maker->Order[Index]];
        if (New->Text == NULL) {
            continue;
        }

        if (New->Entry.Type == ReaderCacheName) {
            Texts += New->Entry.Values[READER_CACHE_NAME_TEXT + 1] + 1ULL;
            if (New->RawText != New->Text) {
                Texts += New->Entry.Values[READER_CACHE_RAW_TEXT + 1] + 1ULL;
            }
        } else {
            Texts += New->Entry.Values[READER_CACHE_FILE_TEXT + 1] + 1ULL;
        }
    }

    Size = sizeof(READER_CACHE_HEADER) +
           (ULONGLONG)Maker->NumberOfModules * sizeof(READER_CACHE_MODULE) +
           Entries * sizeof(READER_CACHE_ENTRY);
    if (Size >= READER_CACHE_MAXIMUM_SIZE ||
        Maker->NumberOfModules > READER_CACHE_MAXIMUM_MODULES) {
        return STATUS_FILE_TOO_LARGE;
    }

    if (Texts > READER_CACHE_MAXIMUM_SIZE - Size) {
        Texts = (READER_CACHE_MAXIMUM_SIZE - Size) & ~7ULL;
    }

    Texts = (Texts + 7) & ~7ULL;
    Maker->Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                               (SIZE_T)(Size + Texts));
    if (Maker->Bytes == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Maker->Bytes, (SIZE_T)(Size + Texts));
    Maker->RoomForTexts = Texts;
    Maker->ModuleList =
        (PREADER_CACHE_MODULE)(Maker->Bytes + sizeof(READER_CACHE_HEADER));
    Maker->Entries =
        (PREADER_CACHE_ENTRY)(Maker->ModuleList + Maker->NumberOfModules);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
FunctionMakeCache(
    PREADER_SESSION Session,
    PVOID *Bytes,
    PULONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CACHE Cache = Session->Cache;
    READER_CACHE_MAKER Maker;
    PREADER_CACHE_HEADER Header;
    ULONGLONG Kept = 0;
    ULONGLONG Index;
    SIZE_T Rest;
    NTSTATUS Status = STATUS_NO_MEMORY;

    *Bytes = NULL;
    *SizeInBytes = 0;
    RtlZeroBytes(&Maker, sizeof(Maker));
    Maker.Session = Session;
    Maker.Cache = Cache;
    Maker.Status = STATUS_SUCCESS;
    BaseInitializeMap(&Maker.Offsets, Allocator);

    Maker.Cached = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            (Cache->Bytes != NULL
                                 ? (SIZE_T)Cache->Header->NumberOfModules
                                 : 0) * sizeof(ULONG) + sizeof(ULONG));
    Maker.Modules = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Session->NumberOfModules + 1) *
                                sizeof(ULONG));
    Maker.Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Cache->NumberOfNews + 1) *
                                sizeof(ULONG));
    if (Maker.Cached == NULL || Maker.Modules == NULL ||
        Maker.Order == NULL) {
        goto End;
    }

    FunctionNumberModules(&Maker);
    FunctionSortNews(&Maker);
    Status = FunctionMakeRoom(&Maker);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // The texts come behind the entries, whose number is known once those of
    // modules that are dropped are left out.
    //

    for (Index = 0;
         Cache->Bytes != NULL && Index < Cache->Header->NumberOfEntries;
         Index++) {
        if (Maker.Cached[Cache->Entries[Index].Module] != READER_NONE) {
            Kept += 1;
        }
    }

    Maker.Texts = (PCHAR)(Maker.Entries + Kept + Maker.NumberOfNews);
    FunctionPutCacheModules(&Maker);
    FunctionPutEntries(&Maker);
    Status = Maker.Status;
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Header = (PREADER_CACHE_HEADER)Maker.Bytes;
    Header->Magic = READER_CACHE_MAGIC;
    Header->Version = READER_CACHE_VERSION;
    Header->NumberOfModules = Maker.NumberOfModules;
    Header->NumberOfEntries = Maker.NumberOfEntries;
    Header->SizeOfTexts = (Maker.SizeOfTexts + 7) & ~7ULL;
    Rest = (SIZE_T)Maker.NumberOfModules * sizeof(READER_CACHE_MODULE) +
           (SIZE_T)Maker.NumberOfEntries * sizeof(READER_CACHE_ENTRY) +
           (SIZE_T)Header->SizeOfTexts;
    Header->SizeInBytes = sizeof(*Header) + Rest;
    Header->Checksum = FunctionHashCache(Header, Header + 1, Rest);
    *Bytes = Maker.Bytes;
    *SizeInBytes = (ULONG)Header->SizeInBytes;
    Maker.Bytes = NULL;

End:
    Allocator->Free(Allocator->Context, Maker.Bytes);
    Allocator->Free(Allocator->Context, Maker.Cached);
    Allocator->Free(Allocator->Context, Maker.Modules);
    Allocator->Free(Allocator->Context, Maker.Order);
    BaseRundownMap(&Maker.Offsets);
    return Status;
}


//
// Writes the file of a cache: under another name until it is whole.
//

static
NTSTATUS
FunctionWriteCacheFile(
    _Inout_ PREADER_SESSION Session,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Path;
    UNICODE_STRING Temporary;
    HANDLE File = NULL;
    NTSTATUS Status;

    Temporary.Buffer = NULL;
    Status = FunctionNameCache(Session, 0, FALSE, &Path);
    if (NT_SUCCESS(Status)) {
        Status = FunctionNameCache(Session, 0, TRUE, &Temporary);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseOpenTemporaryFile(Context, &Temporary, TRUE, &File);
    }

    //
    // Somebody else who is writing one has the temporary file open, without
    // sharing it.
    //

    if (NT_SUCCESS(Status)) {

        Status = RtlWriteFile(Context->Rtl, File, 0, Bytes, SizeInBytes);
        if (NT_SUCCESS(Status)) {
            Status = BaseRenameFile(Context, File, &Path, TRUE);
        }

        if (!NT_SUCCESS(Status)) {
            BaseRemoveFile(Context, File);
        }

        RtlClose(Context->Rtl, File);
    }

    Allocator->Free(Allocator->Context, Path.Buffer);
    Allocator->Free(Allocator->Context, Temporary.Buffer);
    return Status;
}


//
// Decides whether the image of a module that was asked for is not there.
//

static
BOOLEAN
FunctionIsImageMissing(
    _In_ const READER_SESSION *Session
    )
{
    const READER_MODULE *Module;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        Module = Session->Modules[Index];
        if (Module->IsSymbolsTried &&
            (Module->Symbols == NULL ||
             SymbolGetUnwind(Module->Symbols) == NULL)) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
VOID
FunctionSaveCache(
    PREADER_SESSION Session,
    BOOLEAN IsVerbose
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PREADER_CACHE Cache = Session->Cache;
    PVOID Bytes = NULL;
    ULONG SizeInBytes = 0;
    PCSZ Name;
    PCSZ Outcome = "nothing new to write";
    NTSTATUS Status = STATUS_SUCCESS;

    if (Cache == NULL) {
        return;
    }

    if (!Session->IsDirectory) {

        Outcome = "not written for one store";

    } else if (Session->Pack != NULL) {

        Outcome = "not written into a pack";

    } else if (Cache->IsOtherVersion && FunctionIsImageMissing(Session)) {

        Outcome = "not written over one of another version";

    } else if (Cache->NumberOfNews != 0) {

        Status = FunctionMakeCache(Session, &Bytes, &SizeInBytes);
        if (NT_SUCCESS(Status)) {
            Status = FunctionWriteCacheFile(Session, Bytes, SizeInBytes);
        }

        Context->Allocator->Free(Context->Allocator->Context, Bytes);
        Outcome = NT_SUCCESS(Status) ? "written" : "not written";
    }

    if (!IsVerbose) {
        return;
    }

    RtlWriteText(Context->Errors,
                 "TraceReader: cache: %llu answers were there, %u are new; "
                 "%s",
                 Cache->NumberOfHits,
                 Cache->NumberOfNews,
                 Outcome);
    if (!NT_SUCCESS(Status)) {
        Name = RtlStatusName(Status);
        RtlWriteText(Context->Errors,
                     ": 0x%08X%s%s%s",
                     (ULONG)Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
    }

    RtlWriteText(Context->Errors, "\n");
    RtlFlushWriter(Context->Errors);
}

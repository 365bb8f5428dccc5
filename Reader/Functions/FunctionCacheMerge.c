/*++

Module Name:

    FunctionCacheMerge.c

Abstract:

    Of a directory with several sessions, each may have a symbol cache, which
    TraceReader run left there, and the directory has one of its own.  One is
    made of all, in memory, in the format of the file.

    A module that several of them have gets the entries of all whose names come
    from the best source.

--*/

#include "../Base/BaseContainer.h"
#include "FunctionCache.h"
#include "FunctionCacheFile.h"

typedef struct _READER_CACHE_PART {
    READER_CACHE Cache;
    PULONG Modules;                 // in the whole; READER_NONE: left out
    ULONG TextOffset;               // of its texts among those of the whole
} READER_CACHE_PART;
typedef READER_CACHE_PART *PREADER_CACHE_PART;

typedef struct _READER_CACHE_MERGER {
    PREADER_SESSION Session;
    PREADER_CACHE_PART Parts;
    ULONG NumberOfParts;
    ULONG CapacityOfParts;
    PREADER_CACHE_MODULE Modules;   // of the whole
    ULONG NumberOfModules;
    ULONG CapacityOfModules;
    PREADER_CACHE_ENTRY Entries;    // of all parts
    PULONG Order;
    ULONG NumberOfEntries;
    ULONGLONG SizeOfTexts;
} READER_CACHE_MERGER;
typedef READER_CACHE_MERGER *PREADER_CACHE_MERGER;


static
VOID
FunctionFreePart(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_CACHE_PART Part
    )
{
    Allocator->Free(Allocator->Context, Part->Cache.Bytes);
    Allocator->Free(Allocator->Context, Part->Cache.IsDropped);
    Allocator->Free(Allocator->Context, Part->Modules);
}


//
// Reads the caches that there are: that of the session's directory first.  What
// would be more than a cache may be is left out.
//

_Must_inspect_result_
static
NTSTATUS
FunctionReadParts(
    _Inout_ PREADER_CACHE_MERGER Merger
    )
{
    PREADER_SESSION Session = Merger->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_CACHE_PART Part;
    ULONGLONG Size = sizeof(READER_CACHE_HEADER);
    ULONG Directory;
    NTSTATUS Status;

    for (Directory = 0;
         Directory < Session->NumberOfDirectories;
         Directory++) {

        if (Directory != 0 &&
            (Session->Directories[Directory].IsLeftOut ||
             Session->Directories[Directory].Process == READER_NONE)) {
            continue;
        }

        RtlZeroBytes(&Part, sizeof(Part));
        FunctionLoadCache(Session, Directory, &Part.Cache);
        if (Directory == 0) {
            Session->Cache->IsOtherVersion = Part.Cache.IsOtherVersion;
        }

        if (Part.Cache.Bytes == NULL) {
            continue;
        }

        Size += Part.Cache.Header->SizeInBytes;
        Status = STATUS_SUCCESS;
        if (Size <= READER_CACHE_MAXIMUM_SIZE) {

            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Merger->Parts,
                                   &Merger->CapacityOfParts,
                                   Merger->NumberOfParts + 1,
                                   sizeof(Part));
            if (NT_SUCCESS(Status)) {
                Merger->Parts[Merger->NumberOfParts] = Part;
                Merger->NumberOfParts += 1;
                continue;
            }
        }

        FunctionFreePart(Allocator, &Part);
        return Status;
    }

    return STATUS_SUCCESS;
}


//
// Is a module of a part the same as one of the whole?
//

static
BOOLEAN
FunctionAreModulesEqual(
    _In_ const READER_CACHE_MERGER *Merger,
    _In_ const READER_CACHE_PART *Part,
    _In_ PCREADER_CACHE_MODULE Module,
    _In_ ULONG Whole
    )
{
    PCREADER_CACHE_MODULE Other = &Merger->Modules[Whole];
    const READER_CACHE *Owner = &Merger->Parts[Other->Unused[0]].Cache;

    return Module->TimeDateStamp == Other->TimeDateStamp &&
           Module->SizeOfImage == Other->SizeOfImage &&
           Module->CheckSum == Other->CheckSum &&
           Module->CodeViewAge == Other->CodeViewAge &&
           Module->PathLength == Other->PathLength &&
           RtlAreBytesEqual(Module->CodeViewGuid,
                            Other->CodeViewGuid,
                            sizeof(Module->CodeViewGuid)) &&
           RtlAreBytesEqual(Part->Cache.Texts + Module->Path,
                            Owner->Texts + Other->Path,
                            Module->PathLength);
}


//
// Gives the modules of a part their numbers in the whole.  Until all are there,
// Unused[0] of a module of the whole is the part that its path is in.
//

_Must_inspect_result_
static
NTSTATUS
FunctionNumberPart(
    _Inout_ PREADER_CACHE_MERGER Merger,
    _In_ ULONG PartIndex
    )
{
    PREADER_CACHE_PART Part = &Merger->Parts[PartIndex];
    PCALLOCATOR Allocator = Merger->Session->Context->Allocator;
    ULONG Count = Part->Cache.Header->NumberOfModules;
    PREADER_CACHE_MODULE Module;
    ULONG Index;
    ULONG Whole;
    NTSTATUS Status;

    Part->Modules = (PULONG)Allocator->Allocate(Allocator->Context,
                                                ((SIZE_T)Count + 1) *
                                                    sizeof(ULONG));
    if (Part->Modules == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Count; Index++) {

        Module = &Part->Cache.Modules[Index];
        for (Whole = 0; Whole < Merger->NumberOfModules; Whole++) {
            if (FunctionAreModulesEqual(Merger, Part, Module, Whole)) {
                break;
            }
        }

        Part->Modules[Index] = Whole;
        if (Whole < Merger->NumberOfModules) {

            //
            // The sources are in the order of their worth, but for none.
            //

            if (Module->Source != ReaderSymbolSourceNone &&
                (Merger->Modules[Whole].Source == ReaderSymbolSourceNone ||
                 Module->Source < Merger->Modules[Whole].Source)) {
                Merger->Modules[Whole].Source = Module->Source;
            }
            continue;
        }

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Merger->Modules,
                               &Merger->CapacityOfModules,
                               Whole + 1,
                               sizeof(*Module));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Merger->Modules[Whole] = *Module;
        Merger->Modules[Whole].Unused[0] = PartIndex;
        Merger->NumberOfModules += 1;
    }

    return STATUS_SUCCESS;
}


//
// Orders two entries of all parts; of equal ones the earlier part's is first.
//

static
LONG
FunctionCompareMerged(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_CACHE_MERGER Merger = (PREADER_CACHE_MERGER)CompareContext;
    PCREADER_CACHE_ENTRY One = &Merger->Entries[First];
    PCREADER_CACHE_ENTRY Other = &Merger->Entries[Second];

    if (One->Module != Other->Module) {
        return One->Module < Other->Module ? -1 : 1;
    }

    if (One->Type != Other->Type) {
        return One->Type < Other->Type ? -1 : 1;
    }

    if (One->Key != Other->Key) {
        return One->Key < Other->Key ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


//
// Takes the entries of a part: of modules whose names it has from the best
// source.
//

static
VOID
FunctionTakeEntries(
    _Inout_ PREADER_CACHE_MERGER Merger,
    _In_ const READER_CACHE_PART *Part
    )
{
    const READER_CACHE *Cache = &Part->Cache;
    PREADER_CACHE_ENTRY Put;
    ULONGLONG Index;

    for (Index = 0; Index < Cache->Header->NumberOfEntries; Index++) {

        PCREADER_CACHE_ENTRY Entry = &Cache->Entries[Index];
        ULONG Whole = Part->Modules[Entry->Module];

        if (Cache->Modules[Entry->Module].Source !=
            Merger->Modules[Whole].Source) {
            continue;
        }

        Put = &Merger->Entries[Merger->NumberOfEntries];
        *Put = *Entry;
        Put->Module = Whole;
        if (Put->Type == ReaderCacheName && Put->Values[0] != 0) {
            Put->Values[READER_CACHE_NAME_TEXT] += Part->TextOffset;
            Put->Values[READER_CACHE_RAW_TEXT] += Part->TextOffset;
        } else if (Put->Type == ReaderCacheLine && Put->Values[0] != 0) {
            Put->Values[READER_CACHE_FILE_TEXT] += Part->TextOffset;
        }

        Merger->Order[Merger->NumberOfEntries] = Merger->NumberOfEntries;
        Merger->NumberOfEntries += 1;
    }
}


//
// Makes the whole, as it would be in a file.
//

_Must_inspect_result_
static
NTSTATUS
FunctionMakeWhole(
    _Inout_ PREADER_CACHE_MERGER Merger
    )
{
    PREADER_SESSION Session = Merger->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CACHE Cache = Session->Cache;
    PREADER_CACHE_HEADER Header;
    ULONG Count = 0;
    ULONG Index;
    SIZE_T Size;

    BaseSort(Merger->Order,
             Merger->NumberOfEntries,
             FunctionCompareMerged,
             Merger);
    Size = sizeof(*Header) +
           (SIZE_T)Merger->NumberOfModules * sizeof(READER_CACHE_MODULE) +
           (SIZE_T)Merger->NumberOfEntries * sizeof(READER_CACHE_ENTRY) +
           (SIZE_T)Merger->SizeOfTexts;
    Header = (PREADER_CACHE_HEADER)Allocator->Allocate(Allocator->Context,
                                                       Size);
    Cache->IsDropped = (PBOOLEAN)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Merger->NumberOfModules + 1);
    if (Header == NULL || Cache->IsDropped == NULL) {
        Allocator->Free(Allocator->Context, Header);
        Allocator->Free(Allocator->Context, Cache->IsDropped);
        Cache->IsDropped = NULL;
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Header, Size);
    RtlZeroBytes(Cache->IsDropped, (SIZE_T)Merger->NumberOfModules + 1);
    Cache->Bytes = (PUCHAR)Header;
    Cache->Header = Header;
    Cache->Modules = (PREADER_CACHE_MODULE)(Header + 1);
    Cache->Entries = (PREADER_CACHE_ENTRY)(Cache->Modules +
                                           Merger->NumberOfModules);
    for (Index = 0; Index < Merger->NumberOfModules; Index++) {

        PREADER_CACHE_MODULE Module = &Cache->Modules[Index];

        *Module = Merger->Modules[Index];
        Module->Path += Merger->Parts[Module->Unused[0]].TextOffset;
        Module->Unused[0] = 0;
    }

    for (Index = 0; Index < Merger->NumberOfEntries; Index++) {

        PCREADER_CACHE_ENTRY Entry = &Merger->Entries[Merger->Order[Index]];

        if (Count == 0 || Cache->Entries[Count - 1].Module != Entry->Module ||
            Cache->Entries[Count - 1].Type != Entry->Type ||
            Cache->Entries[Count - 1].Key != Entry->Key) {
            Cache->Entries[Count] = *Entry;
            Count += 1;
        }
    }

    Cache->Texts = (PCSZ)(Cache->Entries + Count);
    for (Index = 0; Index < Merger->NumberOfParts; Index++) {
        RtlCopyBytes((PCHAR)(Cache->Entries + Count) +
                         Merger->Parts[Index].TextOffset,
                     Merger->Parts[Index].Cache.Texts,
                     (SIZE_T)Merger->Parts[Index].Cache.Header->SizeOfTexts);
    }

    Header->Magic = READER_CACHE_MAGIC;
    Header->Version = READER_CACHE_VERSION;
    Header->NumberOfModules = Merger->NumberOfModules;
    Header->NumberOfEntries = Count;
    Header->SizeOfTexts = Merger->SizeOfTexts;
    Header->SizeInBytes = Size - (SIZE_T)(Merger->NumberOfEntries - Count) *
                                     sizeof(READER_CACHE_ENTRY);
    return STATUS_SUCCESS;
}


//
// Makes one of the parts.
//

_Must_inspect_result_
static
NTSTATUS
FunctionMergeParts(
    _Inout_ PREADER_CACHE_MERGER Merger
    )
{
    PCALLOCATOR Allocator = Merger->Session->Context->Allocator;
    ULONGLONG NumberOfEntries = 0;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Merger->NumberOfParts; Index++) {

        PREADER_CACHE_PART Part = &Merger->Parts[Index];

        Part->TextOffset = (ULONG)Merger->SizeOfTexts;
        Merger->SizeOfTexts += Part->Cache.Header->SizeOfTexts;
        NumberOfEntries += Part->Cache.Header->NumberOfEntries;
        Status = FunctionNumberPart(Merger, Index);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Merger->NumberOfModules > READER_CACHE_MAXIMUM_MODULES) {
        return STATUS_FILE_TOO_LARGE;
    }

    Merger->Entries = (PREADER_CACHE_ENTRY)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)NumberOfEntries + 1) *
                                sizeof(READER_CACHE_ENTRY));
    Merger->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)NumberOfEntries + 1) * sizeof(ULONG));
    if (Merger->Entries == NULL || Merger->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Merger->NumberOfParts; Index++) {
        FunctionTakeEntries(Merger, &Merger->Parts[Index]);
    }

    return FunctionMakeWhole(Merger);
}


_Use_decl_annotations_
VOID
FunctionLoadCaches(
    PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_CACHE_MERGER Merger;
    PREADER_CACHE Cache = Session->Cache;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Merger, sizeof(Merger));
    Merger.Session = Session;
    Status = FunctionReadParts(&Merger);
    if (NT_SUCCESS(Status) && Merger.NumberOfParts == 1) {

        Cache->Bytes = Merger.Parts[0].Cache.Bytes;
        Cache->Header = Merger.Parts[0].Cache.Header;
        Cache->Modules = Merger.Parts[0].Cache.Modules;
        Cache->Entries = Merger.Parts[0].Cache.Entries;
        Cache->Texts = Merger.Parts[0].Cache.Texts;
        Cache->IsDropped = Merger.Parts[0].Cache.IsDropped;
        Merger.NumberOfParts = 0;

    } else if (NT_SUCCESS(Status) && Merger.NumberOfParts != 0) {

        //
        // Without memory there is no cache: the images are asked.
        //

        (VOID)FunctionMergeParts(&Merger);
    }

    for (Index = 0; Index < Merger.NumberOfParts; Index++) {
        FunctionFreePart(Allocator, &Merger.Parts[Index]);
    }

    Allocator->Free(Allocator->Context, Merger.Parts);
    Allocator->Free(Allocator->Context, Merger.Modules);
    Allocator->Free(Allocator->Context, Merger.Entries);
    Allocator->Free(Allocator->Context, Merger.Order);
}

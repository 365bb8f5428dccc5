/*++

Module Name:

    FunctionCache.c

Abstract:

    The symbol cache of a session: everything that the reader ever asked of the
    images and their symbols, in a file beside the stores.  What is in it is not
    looked up again, so that the images can be gone.  Docs/Format.md,
    section 14, has its format.

    Nothing depends on it while the images are there: a cache that cannot be
    had, or is damaged, is as none.

    Here it is asked, and here is kept what it did not know; FunctionCacheRead.c
    and FunctionCacheWrite.c read and write the file.

--*/

#include "FunctionCache.h"
#include "FunctionCacheFile.h"


_Use_decl_annotations_
BOOLEAN
FunctionIsCachedModule(
    const READER_CACHE *Cache,
    PCREADER_CACHE_MODULE Cached,
    PCTRACE_STORE_HEADER Header
    )
{
    return Cached->TimeDateStamp == Header->ModuleTimeDateStamp &&
           Cached->SizeOfImage == Header->ModuleSize &&
           Cached->CheckSum == Header->ModuleCheckSum &&
           Cached->CodeViewAge == Header->CodeViewAge &&
           Cached->PathLength == Header->ModulePathLength &&
           RtlAreBytesEqual(Cached->CodeViewGuid,
                            Header->CodeViewGuid,
                            sizeof(Cached->CodeViewGuid)) &&
           RtlAreBytesEqual(Cache->Texts + Cached->Path,
                            Header->ModulePath,
                            Cached->PathLength);
}


_Use_decl_annotations_
VOID
FunctionOpenCache(
    PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;

    Session->Cache = (PREADER_CACHE)
        Allocator->Allocate(Allocator->Context, sizeof(READER_CACHE));
    if (Session->Cache != NULL) {
        RtlZeroBytes(Session->Cache, sizeof(READER_CACHE));
        if (Session->NumberOfDirectories > 1) {
            FunctionLoadCaches(Session);
        } else {
            FunctionLoadCache(Session, 0, Session->Cache);
        }
    }
}


_Use_decl_annotations_
VOID
FunctionCloseCache(
    PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CACHE Cache = Session->Cache;

    if (Cache != NULL) {
        Allocator->Free(Allocator->Context, Cache->Bytes);
        Allocator->Free(Allocator->Context, Cache->IsDropped);
        Allocator->Free(Allocator->Context, Cache->News);
        Allocator->Free(Allocator->Context, Cache);
        Session->Cache = NULL;
    }
}


_Use_decl_annotations_
BOOLEAN
FunctionFindModuleInCache(
    const READER_SESSION *Session,
    PREADER_MODULE Module
    )
{
    const READER_CACHE *Cache = Session->Cache;
    ULONG Index;

    Module->CachedModule = READER_NONE;
    Module->CachedSource = ReaderSymbolSourceNone;
    if (Cache == NULL || Cache->Bytes == NULL) {
        return FALSE;
    }

    for (Index = 0; Index < Cache->Header->NumberOfModules; Index++) {
        if (FunctionIsCachedModule(Cache,
                                   &Cache->Modules[Index],
                                   Module->Header)) {
            Module->CachedModule = Index;
            Module->CachedSource =
                (READER_SYMBOL_SOURCE)Cache->Modules[Index].Source;
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
FunctionIsImageKnown(
    const READER_MODULE *Module
    )
{
    return Module->CachedModule != READER_NONE ||
           (Module->Symbols != NULL &&
            SymbolGetUnwind(Module->Symbols) != NULL);
}


_Use_decl_annotations_
VOID
FunctionDropModuleFromCache(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
{
    Session->Cache->IsDropped[Module->CachedModule] = TRUE;
    Module->CachedModule = READER_NONE;
    Module->CachedSource = ReaderSymbolSourceNone;
}


_Use_decl_annotations_
PCREADER_CACHE_ENTRY
FunctionFindInCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    READER_CACHE_TYPE Type,
    ULONGLONG Key
    )
{
    PREADER_CACHE Cache = Session->Cache;
    ULONG Module = Session->Modules[ModuleIndex]->CachedModule;
    PCREADER_CACHE_ENTRY Entry;
    SIZE_T Low = 0;
    SIZE_T High;
    SIZE_T Middle;

    if (Cache == NULL || Cache->Bytes == NULL || Module == READER_NONE) {
        return NULL;
    }

    High = (SIZE_T)Cache->Header->NumberOfEntries;
    while (Low < High) {

        Middle = Low + (High - Low) / 2;
        Entry = &Cache->Entries[Middle];
        if (Entry->Module == Module && Entry->Type == (ULONG)Type &&
            Entry->Key == Key) {
            Cache->NumberOfHits += 1;
            return Entry;
        }

        if (Entry->Module < Module ||
            (Entry->Module == Module &&
             (Entry->Type < (ULONG)Type ||
              (Entry->Type == (ULONG)Type && Entry->Key < Key)))) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return NULL;
}


_Use_decl_annotations_
PREADER_CACHE_NEW
FunctionAddToCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    READER_CACHE_TYPE Type,
    ULONGLONG Key
    )
{
    PREADER_CACHE Cache = Session->Cache;
    PREADER_MODULE Module = Session->Modules[ModuleIndex];
    PREADER_CACHE_NEW New;
    NTSTATUS Status;

    if (Module->Symbols == NULL || SymbolGetUnwind(Module->Symbols) == NULL) {
        Module->IsImageMissed = TRUE;
        return NULL;
    }

    if (Cache == NULL) {
        return NULL;
    }

    Status = BaseGrowArray(Session->Context->Allocator,
                           (PVOID *)&Cache->News,
                           &Cache->CapacityOfNews,
                           Cache->NumberOfNews + 1,
                           sizeof(READER_CACHE_NEW));
    if (!NT_SUCCESS(Status)) {
        return NULL;
    }

    New = &Cache->News[Cache->NumberOfNews];
    Cache->NumberOfNews += 1;
    RtlZeroBytes(New, sizeof(*New));
    New->Entry.Module = ModuleIndex;
    New->Entry.Type = (ULONG)Type;
    New->Entry.Key = Key;
    return New;
}


_Use_decl_annotations_
BOOLEAN
FunctionFindNameInCache(
    PREADER_SESSION Session,
    ULONGLONG Site,
    PREADER_SYMBOL Symbol,
    PBOOLEAN IsFound
    )
{
    PCREADER_CACHE_ENTRY Entry;

    Entry = FunctionFindInCache(Session,
                                (ULONG)(Site >> 32),
                                ReaderCacheName,
                                (ULONG)Site);
    if (Entry == NULL) {
        return FALSE;
    }

    *IsFound = Entry->Values[0] != 0;
    RtlZeroBytes(Symbol, sizeof(*Symbol));
    Symbol->StartRva = Entry->Values[1];
    if (*IsFound) {
        Symbol->Name = Session->Cache->Texts +
                       Entry->Values[READER_CACHE_NAME_TEXT];
        Symbol->LengthInBytes = Entry->Values[READER_CACHE_NAME_TEXT + 1];
        Symbol->NumberFolded = Entry->Values[0] - 1;
        Symbol->RawText = Session->Cache->Texts +
                          Entry->Values[READER_CACHE_RAW_TEXT];
        Symbol->RawLengthInBytes = Entry->Values[READER_CACHE_RAW_TEXT + 1];
        while (Symbol->LinkageLengthInBytes < Symbol->RawLengthInBytes &&
               Symbol->RawText[Symbol->LinkageLengthInBytes] != '\n') {
            Symbol->LinkageLengthInBytes += 1;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
VOID
FunctionAddNameToCache(
    PREADER_SESSION Session,
    ULONGLONG Site,
    BOOLEAN IsFound,
    const READER_SYMBOL *Symbol
    )
{
    PREADER_CACHE_NEW New;

    if (IsFound &&
        (Symbol->LengthInBytes > READER_CACHE_MAXIMUM_TEXT ||
         Symbol->RawLengthInBytes > READER_CACHE_MAXIMUM_TEXT)) {
        return;
    }

    New = FunctionAddToCache(Session,
                             (ULONG)(Site >> 32),
                             ReaderCacheName,
                             (ULONG)Site);
    if (New == NULL) {
        return;
    }

    New->Entry.Values[1] = Symbol->StartRva;
    if (IsFound) {
        New->Entry.Values[0] = 1 + Symbol->NumberFolded;
        New->Entry.Values[READER_CACHE_NAME_TEXT + 1] =
            Symbol->LengthInBytes;
        New->Entry.Values[READER_CACHE_RAW_TEXT + 1] =
            Symbol->RawLengthInBytes;
        New->Text = Symbol->Name;
        New->RawText = Symbol->RawText;
    }
}


_Use_decl_annotations_
BOOLEAN
FunctionFindSiteInCache(
    PREADER_SESSION Session,
    ULONGLONG Key,
    BOOLEAN IsFunction,
    PREADER_SITE Site
    )
{
    PCREADER_CACHE_ENTRY Entry;
    ULONGLONG Module = Key & 0xFFFFFFFF00000000ULL;

    Entry = FunctionFindInCache(Session,
                                (ULONG)(Key >> 32),
                                IsFunction ? ReaderCacheFunctionSite
                                           : ReaderCacheSite,
                                (ULONG)Key);
    if (Entry == NULL) {
        return FALSE;
    }

    RtlZeroBytes(Site, sizeof(*Site));
    if ((Entry->Values[0] & READER_CACHE_HAS_FUNCTION) != 0) {
        Site->Function = Module | Entry->Values[1];
    }

    if ((Entry->Values[0] & READER_CACHE_HAS_TARGET) != 0) {
        Site->JumpTarget = Module | Entry->Values[2];
    }

    Site->FrameSize = Entry->Values[3];
    Site->BodySize = Entry->Values[4];
    Site->Flags = Entry->Values[5];
    return TRUE;
}


_Use_decl_annotations_
VOID
FunctionAddSiteToCache(
    PREADER_SESSION Session,
    ULONGLONG Key,
    BOOLEAN IsFunction,
    PCREADER_SITE Site
    )
{
    PREADER_CACHE_NEW New;

    New = FunctionAddToCache(Session,
                             (ULONG)(Key >> 32),
                             IsFunction ? ReaderCacheFunctionSite
                                        : ReaderCacheSite,
                             (ULONG)Key);
    if (New != NULL) {
        New->Entry.Values[0] =
            (Site->Function != 0 ? READER_CACHE_HAS_FUNCTION : 0) |
            (Site->JumpTarget != 0 ? READER_CACHE_HAS_TARGET : 0);
        New->Entry.Values[1] = (ULONG)Site->Function;
        New->Entry.Values[2] = (ULONG)Site->JumpTarget;
        New->Entry.Values[3] = Site->FrameSize;
        New->Entry.Values[4] = Site->BodySize;
        New->Entry.Values[5] = Site->Flags;
    }
}


_Use_decl_annotations_
BOOLEAN
FunctionFindInlinedInCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    ULONGLONG Key,
    PULONG Number
    )
{
    PCREADER_CACHE_ENTRY Entry;

    Entry = FunctionFindInCache(Session, ModuleIndex, ReaderCacheInlined, Key);
    if (Entry == NULL) {
        return FALSE;
    }

    *Number = Entry->Values[0];
    return TRUE;
}


_Use_decl_annotations_
VOID
FunctionAddInlinedToCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    ULONGLONG Key,
    ULONG Number
    )
{
    PREADER_CACHE_NEW New;

    New = FunctionAddToCache(Session, ModuleIndex, ReaderCacheInlined, Key);
    if (New != NULL) {
        New->Entry.Values[0] = Number;
    }
}

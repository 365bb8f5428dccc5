/*++

Module Name:

    ReaderCache.c

Abstract:

    The symbol cache of a session: everything that the reader ever asked of the
    images and their symbols, in a file beside the stores.  What is in it is not
    looked up again, so that the images can be gone.  Docs/Format.md,
    section 14, has its format.

    Nothing depends on it while the images are there: a cache that cannot be
    had, or is damaged, is as none.

    Here it is asked, and here is kept what it did not know; ReaderCacheRead.c
    and ReaderCacheWrite.c read and write the file.

--*/

#include "ReaderCache.h"

static const WCHAR ReaderCacheFile[] = L"symbols.cache";
static const WCHAR ReaderCacheNewFile[] = L"symbols.cache.new";


static
ULONGLONG
ReaderHashCacheWords(
    _In_ ULONGLONG Hash,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Adds bytes to a hash.

Arguments:

    Hash - What was hashed before.

    Bytes - The bytes, aligned on 8.

    SizeInBytes - How many, a multiple of 8.

Return Value:

    The hash.

--*/
{
    const ULONGLONG *Words = (const ULONGLONG *)Bytes;
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes / sizeof(ULONGLONG); Index++) {
        Hash = (Hash ^ Words[Index]) * READER_CACHE_MULTIPLIER;
        Hash ^= Hash >> 29;
    }

    return Hash;
}


_Use_decl_annotations_
ULONGLONG
ReaderHashCache(
    const READER_CACHE_HEADER *Header,
    const VOID *Rest,
    SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Finds the checksum of a cache.

Arguments:

    Header - Its header.

    Rest - What follows it.

    SizeInBytes - How much that is, a multiple of 8.

Return Value:

    The checksum.

--*/
{
    ULONGLONG Hash;

    Hash = ReaderHashCacheWords(0,
                                Header,
                                FIELD_OFFSET(READER_CACHE_HEADER, Checksum));
    return ReaderHashCacheWords(Hash, Rest, SizeInBytes);
}


_Use_decl_annotations_
NTSTATUS
ReaderNameCache(
    PREADER_SESSION Session,
    BOOLEAN IsTemporary,
    PUNICODE_STRING NtPath
    )
/*++

Routine Description:

    Names the file of a cache: in the session's directory, or in that of the
    store that is read alone.

Arguments:

    Session - The session.

    IsTemporary - Whether the file that is written is meant, which takes the
        other one's name when it is whole.

    NtPath - Receives the name, whose buffer is the caller's to free.

Return Value:

    STATUS_SUCCESS, STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCWSTR File = IsTemporary ? ReaderCacheNewFile : ReaderCacheFile;
    ULONG FileLength = RtlLengthOfWideString(File);
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
    Size = NtPath->Length + (FileLength + 1) * sizeof(WCHAR);
    if (Size > RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR)) {
        return STATUS_NAME_TOO_LONG;
    }

    NtPath->Buffer = (PWSTR)Allocator->Allocate(Allocator->Context, Size);
    if (NtPath->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    NtPath->MaximumLength = (USHORT)Size;
    RtlCopyBytes(NtPath->Buffer, Session->Path.Buffer, NtPath->Length);
    Status = RtlAppendPath(NtPath, File, FileLength, TRUE);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, NtPath->Buffer);
        NtPath->Buffer = NULL;
    }

    return Status;
}


_Use_decl_annotations_
BOOLEAN
ReaderIsCachedModule(
    const READER_CACHE *Cache,
    PCREADER_CACHE_MODULE Cached,
    PCTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Decides whether a module of the cache is one of the session's.

Arguments:

    Cache - The cache.

    Cached - The module in it.

    Header - Of a store of the session's module.

Return Value:

    TRUE if it is.

--*/
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
ReaderOpenCache(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Gives a session its cache.  Without memory it has none.

Arguments:

    Session - The session.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;

    Session->Cache = (PREADER_CACHE)
        Allocator->Allocate(Allocator->Context, sizeof(READER_CACHE));
    if (Session->Cache != NULL) {
        RtlZeroBytes(Session->Cache, sizeof(READER_CACHE));
        ReaderLoadCache(Session);
    }
}


_Use_decl_annotations_
VOID
ReaderCloseCache(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Frees a session's cache, which the names that it gave out are in.

Arguments:

    Session - The session, with a cache or without.

Return Value:

    None.

--*/
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
ReaderFindModuleInCache(
    const READER_SESSION *Session,
    PREADER_MODULE Module
    )
/*++

Routine Description:

    Looks for a module in the cache.

Arguments:

    Session - The session.

    Module - The module, whose CachedModule and CachedSource are set.

Return Value:

    TRUE if it is there.

--*/
{
    const READER_CACHE *Cache = Session->Cache;
    ULONG Index;

    Module->CachedModule = READER_NONE;
    Module->CachedSource = ReaderSymbolSourceNone;
    if (Cache == NULL || Cache->Bytes == NULL) {
        return FALSE;
    }

    for (Index = 0; Index < Cache->Header->NumberOfModules; Index++) {
        if (ReaderIsCachedModule(Cache,
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
VOID
ReaderDropModuleFromCache(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
/*++

Routine Description:

    Forgets what the cache has of a module, which now has better symbols.

Arguments:

    Session - The session.

    Module - One of its modules, which is in the cache.

Return Value:

    None.

--*/
{
    Session->Cache->IsDropped[Module->CachedModule] = TRUE;
    Module->CachedModule = READER_NONE;
    Module->CachedSource = ReaderSymbolSourceNone;
}


static
PCREADER_CACHE_ENTRY
ReaderFindInCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ READER_CACHE_TYPE Type,
    _In_ ULONGLONG Key
    )
/*++

Routine Description:

    Finds an entry of the cache's file.

Arguments:

    Session - The session.

    ModuleIndex - One of its modules.

    Type - What is asked.

    Key - Of what.

Return Value:

    The entry; NULL: the cache does not know.

--*/
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


static
PREADER_CACHE_NEW
ReaderAddToCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ READER_CACHE_TYPE Type,
    _In_ ULONGLONG Key
    )
/*++

Routine Description:

    Adds an entry, if there is a cache and the image answered.  Without memory
    it is not added, and looked up again another time.

Arguments:

    Session - The session.

    ModuleIndex - One of its modules.

    Type - What was asked.

    Key - Of what.

Return Value:

    The entry, to be filled in; NULL: none was added.

--*/
{
    PREADER_CACHE Cache = Session->Cache;
    PREADER_MODULE Module = Session->Modules[ModuleIndex];
    PREADER_CACHE_NEW New;
    NTSTATUS Status;

    if (Module->Symbols == NULL || ReaderGetUnwind(Module->Symbols) == NULL) {
        Module->IsImageMissed = TRUE;
        return NULL;
    }

    if (Cache == NULL) {
        return NULL;
    }

    Status = ReaderGrowArray(Session->Context->Allocator,
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
ReaderFindNameInCache(
    PREADER_SESSION Session,
    ULONGLONG Site,
    PREADER_SYMBOL Symbol,
    PBOOLEAN IsFound
    )
/*++

Routine Description:

    Asks the cache for the function that a site is in.

Arguments:

    Session - The session; the module is loaded.

    Site - (module index << 32) | RVA.

    Symbol - Receives the function, if it is known.

    IsFound - Receives whether it is.

Return Value:

    FALSE: the cache does not know.

--*/
{
    PCREADER_CACHE_ENTRY Entry;

    Entry = ReaderFindInCache(Session,
                              (ULONG)(Site >> 32),
                              ReaderCacheName,
                              (ULONG)Site);
    if (Entry == NULL) {
        return FALSE;
    }

    *IsFound = Entry->Values[0] != 0;
    if (*IsFound) {
        RtlZeroBytes(Symbol, sizeof(*Symbol));
        Symbol->StartRva = Entry->Values[1];
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
ReaderAddNameToCache(
    PREADER_SESSION Session,
    ULONGLONG Site,
    const READER_SYMBOL *Symbol
    )
/*++

Routine Description:

    Tells the cache which function a site is in.

Arguments:

    Session - The session.

    Site - (module index << 32) | RVA.

    Symbol - The function, as the image's symbols have it; NULL: none.

Return Value:

    None.

--*/
{
    PREADER_CACHE_NEW New;

    if (Symbol != NULL &&
        (Symbol->LengthInBytes > READER_CACHE_MAXIMUM_TEXT ||
         Symbol->RawLengthInBytes > READER_CACHE_MAXIMUM_TEXT)) {
        return;
    }

    New = ReaderAddToCache(Session,
                           (ULONG)(Site >> 32),
                           ReaderCacheName,
                           (ULONG)Site);
    if (New != NULL && Symbol != NULL) {
        New->Entry.Values[0] = 1 + Symbol->NumberFolded;
        New->Entry.Values[1] = Symbol->StartRva;
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
ReaderFindSiteInCache(
    PREADER_SESSION Session,
    ULONGLONG Key,
    BOOLEAN IsFunction,
    PREADER_SITE Site
    )
/*++

Routine Description:

    Asks the cache what the image says of a call's site.

Arguments:

    Session - The session; the module is loaded.

    Key - (module index << 32) | RVA.

    IsFunction - Whether the RVA is a function's first address.

    Site - Receives what the image said.

Return Value:

    FALSE: the cache does not know.

--*/
{
    PCREADER_CACHE_ENTRY Entry;
    ULONGLONG Module = Key & 0xFFFFFFFF00000000ULL;

    Entry = ReaderFindInCache(Session,
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
ReaderAddSiteToCache(
    PREADER_SESSION Session,
    ULONGLONG Key,
    BOOLEAN IsFunction,
    PCREADER_SITE Site
    )
/*++

Routine Description:

    Tells the cache what the image says of a call's site.

Arguments:

    Session - The session.

    Key - (module index << 32) | RVA.

    IsFunction - Whether the RVA is a function's first address.

    Site - What the image says.

Return Value:

    None.

--*/
{
    PREADER_CACHE_NEW New;

    New = ReaderAddToCache(Session,
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
ReaderFindInlinedInCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    ULONGLONG Key,
    PULONG Number
    )
/*++

Routine Description:

    Asks the cache how often a function may have been inlined.

Arguments:

    Session - The session; the module is loaded.

    ModuleIndex - The module.

    Key - (outer RVA << 32) | inner RVA.

    Number - Receives the number.

Return Value:

    FALSE: the cache does not know.

--*/
{
    PCREADER_CACHE_ENTRY Entry;

    Entry = ReaderFindInCache(Session, ModuleIndex, ReaderCacheInlined, Key);
    if (Entry == NULL) {
        return FALSE;
    }

    *Number = Entry->Values[0];
    return TRUE;
}


_Use_decl_annotations_
VOID
ReaderAddInlinedToCache(
    PREADER_SESSION Session,
    ULONG ModuleIndex,
    ULONGLONG Key,
    ULONG Number
    )
/*++

Routine Description:

    Tells the cache how often a function may have been inlined.

Arguments:

    Session - The session.

    ModuleIndex - The module.

    Key - (outer RVA << 32) | inner RVA.

    Number - The number.

Return Value:

    None.

--*/
{
    PREADER_CACHE_NEW New;

    New = ReaderAddToCache(Session, ModuleIndex, ReaderCacheInlined, Key);
    if (New != NULL) {
        New->Entry.Values[0] = Number;
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderFindLine(
    PREADER_SESSION Session,
    ULONGLONG Site,
    PREADER_SOURCE_LINE Line
    )
/*++

Routine Description:

    Finds the source line that the code at a place comes from: from the cache,
    or else from the module's symbols.

Arguments:

    Session - The session.

    Site - (module index << 32) | RVA.

    Line - Receives the line.

Return Value:

    TRUE if it is known; otherwise nothing is written.

--*/
{
    PREADER_MODULE Module = Session->Modules[(ULONG)(Site >> 32)];
    PCREADER_CACHE_ENTRY Entry;
    PREADER_CACHE_NEW New;
    BOOLEAN IsFound;

    if ((ULONG)Site == READER_OTHER_RVA ||
        !NT_SUCCESS(ReaderLoadModuleSymbols(Session, Module))) {
        return FALSE;
    }

    Entry = ReaderFindInCache(Session,
                              (ULONG)(Site >> 32),
                              ReaderCacheLine,
                              (ULONG)Site);
    if (Entry != NULL) {

        if (Entry->Values[0] == 0) {
            return FALSE;
        }

        RtlZeroBytes(Line, sizeof(*Line));
        Line->LineNumber = Entry->Values[0];
        Line->FileName = Session->Cache->Texts +
                         Entry->Values[READER_CACHE_FILE_TEXT];
        Line->LengthInBytes = Entry->Values[READER_CACHE_FILE_TEXT + 1];
        return TRUE;
    }

    if (!NT_SUCCESS(ReaderLoadModuleImage(Session, Module)) ||
        Module->Symbols == NULL) {
        return FALSE;
    }

    IsFound = ReaderFindSourceLine(Module->Symbols, (ULONG)Site, Line);
    if (IsFound && (Line->LineNumber == 0 ||
                    Line->LengthInBytes > READER_CACHE_MAXIMUM_TEXT)) {
        return TRUE;
    }

    New = ReaderAddToCache(Session,
                           (ULONG)(Site >> 32),
                           ReaderCacheLine,
                           (ULONG)Site);
    if (New != NULL && IsFound) {
        New->Entry.Values[0] = Line->LineNumber;
        New->Entry.Values[READER_CACHE_FILE_TEXT + 1] = Line->LengthInBytes;
        New->Text = Line->FileName;
    }

    return IsFound;
}

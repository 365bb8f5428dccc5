/*++

Module Name:

    CollectStore.c

Abstract:

    Writes stores as a traced program's library does, as far as readers see it:
    records first, and then the header's Cursor, which is the position of their
    end.  Records go through the file system and Cursor through a view: what a
    reader maps has what was written before, since both are the same pages of
    the file's cache.  Killed at any moment, a collector leaves stores that can
    be read up to their ends.

--*/

#include "../../Rtl/RtlTeb.h"
#include "CollectStore.h"

#define COLLECT_CURRENT_PROCESS ((HANDLE)(LONG_PTR)-1)

//
// Copies a text into a header, cut at a character.
//

static
VOID
CollectStoreText(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Destination,
    _In_ ULONG CapacityInBytes,
    _Out_ uint32_t *Length,
    _Out_ uint32_t *FullLength
    )
{
    ULONG Fits = LengthInBytes;

    if (Fits > CapacityInBytes) {
        Fits = CapacityInBytes;
        while (Fits != 0 && ((UCHAR)Text[Fits] & 0xC0) == 0x80) {
            Fits -= 1;
        }
    }

    RtlCopyBytes(Destination, Text, Fits);
    *Length = Fits;
    *FullLength = LengthInBytes;
}

static
VOID
CollectStoreReadAnchor(
    _In_ PCRTL Rtl,
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _Out_opt_ uint64_t *QpcFrequency
    )
{
    RTL_CLOCK_READING Reading;

    RtlReadClocks(Rtl, &Reading);
    Anchor->Tsc = Reading.Tsc;
    Anchor->Qpc = Reading.Qpc;
    Anchor->SystemTime = Reading.SystemTime;
    Anchor->Check = Reading.Tsc ^ Reading.Qpc ^ Reading.SystemTime;
    if (QpcFrequency != NULL) {
        *QpcFrequency = Reading.QpcFrequency;
    }
}

//
// Makes a path for programs of that which the service has: \??\C:\... is
// C:\..., and \SystemRoot\... and what has no beginning at all are below the
// system's directory.
// Returns how many bytes Buffer has; what does not fit is cut.
//

static
ULONG
CollectStoreResolvePath(
    _In_reads_bytes_(LengthInBytes) const CHAR *Path,
    _In_ ULONG LengthInBytes,
    _Out_writes_bytes_to_(CapacityInBytes, return) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    )
{
    static const CHAR Namespace[] = "\\??\\";
    static const CHAR Root[] = "\\SystemRoot\\";
    PCWSTR System = RTL_SYSTEM_ROOT;
    BOOLEAN IsBelow = FALSE;
    ULONG Length = 0;

    if (LengthInBytes > sizeof(Namespace) - 1 &&
        RtlAreBytesEqual(Path, Namespace, sizeof(Namespace) - 1)) {

        Path += sizeof(Namespace) - 1;
        LengthInBytes -= sizeof(Namespace) - 1;

    } else if (LengthInBytes > sizeof(Root) - 1 &&
               BaseIsTextAlike(Path,
                               sizeof(Root) - 1,
                               Root,
                               sizeof(Root) - 1)) {

        IsBelow = TRUE;
        Path += sizeof(Root) - 1;
        LengthInBytes -= sizeof(Root) - 1;

    } else if (LengthInBytes > 1 && Path[0] != '\\' && Path[1] != ':') {

        IsBelow = TRUE;
    }

    if (IsBelow) {

        while (Length < RTL_SYSTEM_ROOT_CHARS && System[Length] != 0) {
            Length += 1;
        }

        RtlWideToUtf8(System, Length, Buffer, CapacityInBytes - 1, &Length);
        if (Length != 0 && Buffer[Length - 1] != '\\') {
            Buffer[Length] = '\\';
            Length += 1;
        }
    }

    if (LengthInBytes > CapacityInBytes - Length) {
        LengthInBytes = CapacityInBytes - Length;
    }

    RtlCopyBytes(Buffer + Length, Path, LengthInBytes);
    return Length + LengthInBytes;
}

//
// The driver's file name, if it can be that of a file here.
//

static
VOID
CollectStoreNameModule(
    _Inout_ PCOLLECT_STORES Stores
    )
{
    static const WCHAR Otherwise[] = L"driver.sys";
    PTRACE_STORE_HEADER Template = &Stores->Template;
    UNICODE_STRING Name;
    ULONG Begin = Template->ModulePathLength;
    ULONG Length;

    while (Begin != 0 && Template->ModulePath[Begin - 1] != '\\' &&
           Template->ModulePath[Begin - 1] != '/') {
        Begin -= 1;
    }

    RtlUtf8ToWide(Template->ModulePath + Begin,
                  Template->ModulePathLength - Begin,
                  Stores->ModuleName,
                  200,
                  &Length);
    RtlPointUnicodeString(&Name, Stores->ModuleName, Length);
    if (Length == 0 || !RtlIsPlainName(&Name, FALSE)) {
        Length = RTL_NUMBER_OF(Otherwise) - 1;
        RtlCopyBytes(Stores->ModuleName, Otherwise, Length * sizeof(WCHAR));
    }

    Stores->ModuleNameLength = Length;
}

//
// Fills what all stores have in common.  The process is the collector: while it
// runs, the stores are being written.
//

static
VOID
CollectStoreFillTemplate(
    _Inout_ PCOLLECT_STORES Stores,
    _In_ PCCOLLECT_SECTION Section,
    _In_ PCUNICODE_STRING Name
    )
{
    PCRTL Rtl = Stores->Context->Rtl;
    const TRACE_KERNEL_HEADER *Source = &Section->Header;
    PTRACE_STORE_HEADER Header = &Stores->Template;
    ULONG PathLength;
    PCTRACE_CLOCK_ANCHOR Loaded = &Source->OpenAnchor;
    LARGE_INTEGER Times[4];
    CHAR Text[600];
    ULONG Length;

    RtlZeroBytes(Header, sizeof(*Header));
    Header->MajorVersion = TRACE_FORMAT_MAJOR;
    Header->MinorVersion = TRACE_FORMAT_MINOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->RecordSize = TRACE_RECORD_SIZE;
    Header->Flags = TRACE_FLAG_KERNEL |
                    (Source->Flags & TRACE_FLAG_TSC_INVARIANT);
    Header->ProcessId = __readgsdword(TEB_PROCESS_ID);
    if (NT_SUCCESS(Rtl->NtQueryInformationProcess(COLLECT_CURRENT_PROCESS,
                                                  RTL_PROCESS_TIMES,
                                                  Times,
                                                  sizeof(Times),
                                                  NULL))) {
        Header->ProcessCreationTime = (ULONGLONG)Times[0].QuadPart;
    }

    Header->Clock = TRACE_CLOCK_TSC;
    Header->Cursor = TRACE_HEADER_SIZE;
    Header->ViewFileOffset = TRACE_HEADER_SIZE;
    Header->State = TRACE_STATE_OPEN;

    //
    // A reading from when the driver was loaded makes the rate of the counter
    // more exact, if it is of the same clocks.
    //

    CollectStoreReadAnchor(Rtl, &Header->LastAnchor, &Header->QpcFrequency);
    Header->OpenAnchor = Header->LastAnchor;
    if ((Loaded->Tsc ^ Loaded->Qpc ^ Loaded->SystemTime) == Loaded->Check &&
        Loaded->Check != 0 &&
        Source->QpcFrequency == Header->QpcFrequency &&
        Loaded->Tsc < Header->LastAnchor.Tsc &&
        Loaded->Qpc < Header->LastAnchor.Qpc) {
        Header->OpenAnchor = *Loaded;
    }

    Header->ModuleBase = Source->ModuleBase;
    Header->ModuleSize = Source->ModuleSize;
    Header->ModuleTimeDateStamp = Source->ModuleTimeDateStamp;
    Header->ModuleCheckSum = Source->ModuleCheckSum;
    Header->CodeViewAge = Source->CodeViewAge;
    RtlCopyBytes(Header->CodeViewGuid,
                 Source->CodeViewGuid,
                 sizeof(Header->CodeViewGuid));
    Header->ProbeInner = Source->ProbeInner;
    Header->ProbeTotal = Source->ProbeTotal;

    PathLength = CollectStoreResolvePath((const CHAR *)Source->ModulePath,
                                         Source->ModulePathLength,
                                         Stores->ModulePath,
                                         sizeof(Stores->ModulePath));
    CollectStoreText(Stores->ModulePath,
                     PathLength,
                     Header->ModulePath,
                     sizeof(Header->ModulePath),
                     &Header->ModulePathLength,
                     &Header->ModulePathFullLength);
    CollectStoreText(Stores->ModulePath,
                     PathLength,
                     Header->ProcessPath,
                     sizeof(Header->ProcessPath),
                     &Header->ProcessPathLength,
                     &Header->ProcessPathFullLength);
    CollectStoreText((const CHAR *)Source->PdbPath,
                     Source->PdbPathLength,
                     Header->PdbPath,
                     sizeof(Header->PdbPath),
                     &Header->PdbPathLength,
                     &Header->PdbPathFullLength);
    RtlWideToUtf8(Name->Buffer,
                  Name->Length / sizeof(WCHAR),
                  Text,
                  sizeof(Text),
                  &Length);
    CollectStoreText(Text,
                     Length,
                     Header->CommandLine,
                     sizeof(Header->CommandLine),
                     &Header->CommandLineLength,
                     &Header->CommandLineFullLength);
    CollectStoreNameModule(Stores);
}

_Use_decl_annotations_
NTSTATUS
CollectStoresBegin(
    PCOLLECT_STORES Stores,
    PCCOLLECT_SECTION Section,
    PCUNICODE_STRING Name
    )
{
    PCALLOCATOR Allocator = Stores->Context->Allocator;
    ULONG Index;

    Stores->Memory = (PTRACE_RECORD)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)COLLECT_CHUNKS * COLLECT_CHUNK *
                                sizeof(TRACE_RECORD));
    if (Stores->Memory == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < COLLECT_CHUNKS; Index++) {
        Stores->Free[Index] = Stores->Memory + (SIZE_T)Index * COLLECT_CHUNK;
    }

    Stores->NumberOfFree = COLLECT_CHUNKS;
    CollectStoreFillTemplate(Stores, Section, Name);
    return STATUS_SUCCESS;
}

//
// Makes a store's file, and maps its header.
//

_Must_inspect_result_
static
NTSTATUS
CollectStoreCreate(
    _Inout_ PCOLLECT_STORES Stores,
    _In_ const COLLECT_OWNER *Owner,
    _Inout_ PCOLLECT_STORE Store
    )
{
    PCRTL Rtl = Stores->Context->Rtl;
    PTRACE_STORE_HEADER Template = &Stores->Template;
    UNICODE_STRING Name;
    RTL_WRITER Writer;
    WCHAR Wide[300];
    CHAR Text[80];
    HANDLE Section = NULL;
    PVOID View = NULL;
    ULONG Written;
    NTSTATUS Status;

    Stores->Sequence += 1;
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "-%u-%u" TRACE_FILE_SUFFIX,
                 Owner->Id,
                 Stores->Sequence);
    RtlCopyBytes(Wide,
                 Stores->ModuleName,
                 Stores->ModuleNameLength * sizeof(WCHAR));
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide + Stores->ModuleNameLength,
                  RTL_NUMBER_OF(Wide) - Stores->ModuleNameLength,
                  &Written);
    RtlPointUnicodeString(&Name, Wide, Stores->ModuleNameLength + Written);
    Stores->Step = "make a store";
    Status = SessionMakeTargetFile(&Stores->Target,
                                   0xFFFFFFFF,
                                   &Name,
                                   &Store->File);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Of a thread's stack it is not known where it ends, and what is put below
    // it is its own.  Of a processor's, only the first is.
    //

    Template->StackBase = 0;
    Template->StackLimit = 0;
    if (Owner->IsProcessor) {
        Template->StackBase = COLLECT_PLACE + COLLECT_STACK_SIZE;
        Template->StackLimit = COLLECT_PLACE - COLLECT_PLACE_BELOW;
    }

    Template->ThreadId = Owner->Id;
    Template->SequenceNumber = Stores->Sequence;
    RtlInitializeBufferWriter(&Writer,
                              Template->ThreadName,
                              sizeof(Template->ThreadName));
    if (Owner->IsProcessor) {
        RtlWriteText(&Writer,
                     "processor %u, DISPATCH_LEVEL and above",
                     Owner->Id / 4);
    }

    Template->ThreadNameLength = Writer.LengthInBytes;
    Template->ThreadNameFullLength = Writer.LengthInBytes;
    Stores->Step = "write a store";
    Template->Magic = 0;
    Status = RtlWriteFile(Rtl,
                          Store->File,
                          0,
                          Template,
                          sizeof(*Template));
    if (NT_SUCCESS(Status)) {
        Stores->Step = "map a store";
        Status = RtlCreateFileSection(Rtl,
                                      Store->File,
                                      0,
                                      TRUE,
                                      &Section);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   0,
                                   TRACE_HEADER_SIZE,
                                   TRUE,
                                   NULL,
                                   &View);
        RtlClose(Rtl, Section);
    }

    if (!NT_SUCCESS(Status)) {
        SessionCloseTargetFile(&Stores->Target, Store->File, FALSE);
        return Status;
    }

    Store->Header = (PTRACE_STORE_HEADER)View;
    Store->Position = TRACE_HEADER_SIZE;
    *(volatile uint64_t *)&Store->Header->Magic = TRACE_STORE_MAGIC;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
PCOLLECT_STORE
CollectStoresGet(
    PCOLLECT_STORES Stores,
    PCOLLECT_OWNER Owner
    )
{
    PCALLOCATOR Allocator = Stores->Context->Allocator;
    PCOLLECT_STORE Store = Owner->Store;
    NTSTATUS Status;

    if (Store != NULL) {
        return Store;
    }

    if (!NT_SUCCESS(Stores->Status)) {
        return NULL;
    }

    Store = (PCOLLECT_STORE)Allocator->Allocate(Allocator->Context,
                                                sizeof(*Store));
    if (Store == NULL) {
        Stores->Step = "make a store";
        Stores->Status = STATUS_NO_MEMORY;
        return NULL;
    }

    RtlZeroBytes(Store, sizeof(*Store));
    Status = CollectStoreCreate(Stores, Owner, Store);
    if (!NT_SUCCESS(Status)) {
        Stores->Status = Status;
        Allocator->Free(Allocator->Context, Store);
        return NULL;
    }

    Owner->Store = Store;
    return Store;
}

//
// Writes the records of a store's chunk.
//

static
VOID
CollectStoreWrite(
    _Inout_ PCOLLECT_STORES Stores,
    _Inout_ PCOLLECT_STORE Store
    )
{
    ULONG Size = Store->Count * sizeof(TRACE_RECORD);
    PTRACE_STORE_HEADER Header = Store->Header;
    NTSTATUS Status;

    if (Store->Count == 0) {
        return;
    }

    Status = RtlWriteFile(Stores->Context->Rtl,
                          Store->File,
                          Store->Position,
                          Store->Chunk,
                          Size);
    if (NT_SUCCESS(Status)) {

        //
        // One store of eight bytes, after what it says is there.
        //

        Store->Position += Size;
        *(volatile uint64_t *)&Header->Cursor = Store->Position;

    } else {

        Store->IsStopped = TRUE;
        Header->NumberOfEventsLost += Store->Count;
        Header->Status = (ULONG)Status;
        Header->Reason = TRACE_REASON_EXTEND_FAILED;
        *(volatile uint32_t *)&Header->State = TRACE_STATE_STOPPED;
        if (NT_SUCCESS(Stores->Status)) {
            Stores->Status = Status;
            Stores->Step = "write a store";
        }
    }

    Store->Count = 0;
}

_Use_decl_annotations_
VOID
CollectStoresFlush(
    PCOLLECT_STORES Stores
    )
{
    ULONG Index;

    for (Index = 0; Index < Stores->NumberOfFilled; Index++) {

        PCOLLECT_STORE Store = Stores->Filled[Index];

        CollectStoreWrite(Stores, Store);
        Stores->Free[Stores->NumberOfFree] = Store->Chunk;
        Stores->NumberOfFree += 1;
        Store->Chunk = NULL;
    }

    Stores->NumberOfFilled = 0;
}

_Use_decl_annotations_
VOID
CollectStoresPut(
    PVOID Context,
    PCOLLECT_OWNER Owner,
    ULONGLONG Timestamp,
    ULONG Site,
    ULONG StackKind
    )
{
    PCOLLECT_STORES Stores = (PCOLLECT_STORES)Context;
    PCOLLECT_STORE Store = Owner->Store;
    PTRACE_RECORD Target;

    if (Store == NULL) {
        Store = CollectStoresGet(Stores, Owner);
        if (Store == NULL) {
            Stores->NumberWithoutStore += 1;
            return;
        }
    }

    if (Store->IsStopped) {
        Store->Header->NumberOfEventsLost += 1;
        return;
    }

    if (Store->Chunk == NULL) {

        if (Stores->NumberOfFree == 0) {
            CollectStoresFlush(Stores);
        }

        Stores->NumberOfFree -= 1;
        Store->Chunk = Stores->Free[Stores->NumberOfFree];
        Stores->Filled[Stores->NumberOfFilled] = Store;
        Stores->NumberOfFilled += 1;
    }

    if (Timestamp < Store->LastTimestamp) {
        Stores->NumberLate += 1;
        Timestamp = Store->LastTimestamp;
    }

    Store->LastTimestamp = Timestamp;
    Target = &Store->Chunk[Store->Count];
    Target->Timestamp = Timestamp;
    Target->Site = Site;
    Target->StackKind = StackKind;
    Store->Count += 1;
    if (Store->Count == COLLECT_CHUNK) {
        CollectStoreWrite(Stores, Store);
    }
}

_Use_decl_annotations_
VOID
CollectStoresAnchor(
    PCOLLECT_STORES Stores,
    const COLLECT_STACKS *Stacks
    )
{
    TRACE_CLOCK_ANCHOR Anchor;
    ULONG Index;

    CollectStoreReadAnchor(Stores->Context->Rtl, &Anchor, NULL);
    Stores->Template.LastAnchor = Anchor;
    for (Index = 0; Index < Stacks->NumberOfOwners; Index++) {

        PCOLLECT_STORE Store = Stacks->Owners[Index]->Store;

        if (Store != NULL) {
            Store->Header->LastAnchor.Check = ~Anchor.Check;
            Store->Header->LastAnchor = Anchor;
        }
    }
}

_Use_decl_annotations_
VOID
CollectStoresEnd(
    PCOLLECT_STORES Stores,
    const COLLECT_STACKS *Stacks,
    ULONG Reason
    )
{
    PCALLOCATOR Allocator = Stores->Context->Allocator;
    PCRTL Rtl = Stores->Context->Rtl;
    ULONG Index;

    if (Stores->Memory == NULL) {
        return;
    }

    CollectStoresFlush(Stores);
    CollectStoresAnchor(Stores, Stacks);
    for (Index = 0; Index < Stacks->NumberOfOwners; Index++) {

        PCOLLECT_STORE Store = Stacks->Owners[Index]->Store;

        if (Store == NULL) {
            continue;
        }

        if (!Store->IsStopped) {
            Store->Header->Reason = Reason;
            *(volatile uint32_t *)&Store->Header->State = TRACE_STATE_CLOSED;
        }

        RtlUnmapFileSection(Rtl, Store->Header);
        SessionCloseTargetFile(&Stores->Target, Store->File, TRUE);
        Allocator->Free(Allocator->Context, Store);
        Stacks->Owners[Index]->Store = NULL;
    }

    Allocator->Free(Allocator->Context, Stores->Memory);
    Stores->Memory = NULL;
}

/*++

Module Name:

    CollectCommand.c

Abstract:

    TraceReader collect: follows the rings of a traced driver, and parts them
    into a session's stores while the driver runs.

--*/

#include "../../Rtl/RtlLog.h"
#include "../Base/BaseErrors.h"
#include "../Base/BaseProgram.h"
#include "../Commands/Command.h"
#include "../Session/SessionFind.h"
#include "CollectRing.h"
#include "CollectStore.h"

#define COLLECT_MAXIMUM_NAME 200u

//
// Of the calls that the driver says are open, at most so many are looked at.
//

#define COLLECT_MAXIMUM_OPEN 0x100000u

//
// When a round found the fullest ring with so many 256ths of new records, the
// next one begins at once; after so many rounds without any, a wait is longer.
// Waits are in 100 ns.
//

#define COLLECT_FULL 16u
#define COLLECT_IDLE_ROUNDS 200u
#define COLLECT_SHORT_WAIT 10000
#define COLLECT_LONG_WAIT 100000

//
// Rounds, at most, for what was being written when the collector was told to
// end, beside those that full rings take.
//

#define COLLECT_LAST_ROUNDS 50u

typedef struct _COLLECTION {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    COLLECT_SECTION Section;
    COLLECT_RINGS Rings;
    COLLECT_STACKS Stacks;
    COLLECT_STORES Stores;
    UNICODE_STRING Name;            // of the section
    UNICODE_STRING Path;            // of the session
    PTRACE_KERNEL_OPEN_CALL Open;   // a hash table of open calls, by Stack
    ULONG OpenCapacity;             // a power of two, or 0
    BOOLEAN IsOpenRead;             // in this round
    PULONGLONG Reported;            // losses of each ring that are in a store
    ULONGLONG NumberBad;            // records that no hook has written
    ULONGLONG NumberOfRecords;
    WCHAR NameBuffer[300];
    WCHAR PathBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    CHAR PathUtf8[3 * 1024];
    CHAR Log[0x4000];
} COLLECTION;
typedef COLLECTION *PCOLLECTION;

//
// Ctrl+C, Ctrl+Break and the console's end are noted here; the system calls the
// handler in a thread of its own.
//

static volatile LONG CollectBreak;

static
BOOL
WINAPI
CollectHandleBreak(
    DWORD Type
    )
{
    UNREFERENCED_PARAMETER(Type);
    CollectBreak = 1;
    return TRUE;
}

//
// Reads which calls the driver says are open.  What is torn by its writer is
// none of those that are looked for.
//

static
VOID
CollectReadOpen(
    _Inout_ PCOLLECTION Collection
    )
{
    PCCOLLECT_SECTION Section = &Collection->Section;
    volatile TRACE_KERNEL_OPEN_CALL *Calls = COLLECT_OPEN_CALLS(Section);
    ULONG Mask = Collection->OpenCapacity - 1;
    ULONG Index;

    Collection->IsOpenRead = TRUE;
    if (Collection->OpenCapacity == 0) {
        return;
    }

    RtlZeroBytes(Collection->Open,
                 Collection->OpenCapacity * sizeof(*Collection->Open));
    for (Index = 0; Index < Section->Header.OpenCallSlots; Index++) {

        ULONGLONG Stack = Calls[Index].Stack;
        ULONG Slot = (ULONG)(Stack >> 3) * 0x9E3779B1u & Mask;

        if (Stack == 0) {
            continue;
        }

        while (Collection->Open[Slot].Stack != 0) {
            Slot = (Slot + 1) & Mask;
        }

        Collection->Open[Slot].Stack = Stack;
        Collection->Open[Slot].Site = Calls[Index].Site;
        Collection->Open[Slot].Timestamp = Calls[Index].Timestamp;
    }
}

//
// A COLLECT_IS_OPEN.
//

static
BOOLEAN
CollectIsOpen(
    _In_opt_ PVOID Context,
    _In_ PCCOLLECT_FRAME Frame
    )
{
    PCOLLECTION Collection = (PCOLLECTION)Context;
    ULONG Mask = Collection->OpenCapacity - 1;
    ULONG Slot = (ULONG)(Frame->Stack >> 3) * 0x9E3779B1u & Mask;

    if (!Collection->IsOpenRead) {
        CollectReadOpen(Collection);
    }

    if (Collection->OpenCapacity == 0) {
        return FALSE;
    }

    while (Collection->Open[Slot].Stack != 0) {

        PTRACE_KERNEL_OPEN_CALL Call = &Collection->Open[Slot];

        if ((Call->Stack & ~(ULONGLONG)TRACE_KIND_MASK) == Frame->Stack &&
            Call->Site == Frame->Site &&
            Call->Timestamp == Frame->Timestamp) {
            return TRUE;
        }

        Slot = (Slot + 1) & Mask;
    }

    return FALSE;
}

//
// Hands out the records of a round.
//

_Must_inspect_result_
static
NTSTATUS
CollectHandOut(
    _Inout_ PCOLLECTION Collection
    )
{
    const TRACE_KERNEL_HEADER *Header = &Collection->Section.Header;
    PTRACE_KERNEL_RECORD Record;
    NTSTATUS Status;
    ULONG Kind;
    ULONG Ring;

    for (;;) {

        Record = CollectRingsNext(&Collection->Rings, &Ring);
        if (Record == NULL) {
            return STATUS_SUCCESS;
        }

        if ((Record->Number & COLLECT_GAP) != 0) {
            CollectStacksBreak(&Collection->Stacks,
                               Record->Timestamp,
                               CollectIsOpen,
                               Collection);
        }

        Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
        if (Kind < TRACE_KIND_ENTER || Kind > TRACE_KIND_EXIT_FUNCTION ||
            Record->Site - Header->ModuleBase >= Header->ModuleSize ||
            Record->Timestamp == 0) {
            Collection->NumberBad += 1;
            continue;
        }

        Collection->NumberOfRecords += 1;
        Status = CollectStacksTake(&Collection->Stacks, Record, Ring);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}

//
// Counts what was lost in the stores of processors.
//

static
VOID
CollectCountLost(
    _Inout_ PCOLLECTION Collection
    )
{
    PCOLLECT_STORE Store;
    ULONG Index;

    for (Index = 0; Index < Collection->Rings.NumberOfRings; Index++) {

        PCOLLECT_RING Ring = &Collection->Rings.Rings[Index];
        ULONGLONG Lost = Ring->Lost + Ring->Unfinished;

        if (Lost == Collection->Reported[Index]) {
            continue;
        }

        Store = CollectStoresGet(&Collection->Stores,
                                 Collection->Stacks.Owners[Index]);
        if (Store != NULL) {
            Store->Header->NumberOfEventsLost +=
                Lost - Collection->Reported[Index];
            Collection->Reported[Index] = Lost;
        }
    }
}

//
// Reads and writes what there is.
// Fullest: receives how full the fullest ring was with new records.
//

_Must_inspect_result_
static
NTSTATUS
CollectRound(
    _Inout_ PCOLLECTION Collection,
    _In_ BOOLEAN IsLast,
    _Out_ PULONG Fullest
    )
{
    NTSTATUS Status;
    ULONG Index;

    Collection->IsOpenRead = FALSE;
    *Fullest = CollectRingsRead(&Collection->Rings, __rdtsc(), IsLast);
    Status = CollectHandOut(Collection);
    CollectStoresFlush(&Collection->Stores);
    CollectCountLost(Collection);
    if (NT_SUCCESS(Status)) {
        Status = Collection->Stores.Status;
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Collection->Rings.NumberOfRings;
         Index++) {
        if (Collection->Rings.Rings[Index].IsDamaged) {
            Collection->Stores.Step = "follow the rings (one went backwards)";
            Status = STATUS_FILE_CORRUPT_ERROR;
        }
    }

    return Status;
}

//
// Is everything read that there will be?
//

static
BOOLEAN
CollectIsDone(
    _In_ const COLLECTION *Collection
    )
{
    ULONG Index;

    for (Index = 0; Index < Collection->Rings.NumberOfRings; Index++) {
        if (!Collection->Rings.Rings[Index].IsDrained) {
            return FALSE;
        }
    }

    return !CollectRingsHold(&Collection->Rings);
}

//
// Follows the driver until it is unloaded, the time is over or the user wants
// no more.
// Reason: receives why the stores end.
//

_Must_inspect_result_
static
NTSTATUS
CollectFollow(
    _Inout_ PCOLLECTION Collection,
    _Out_ PULONG Reason
    )
{
    PCRTL Rtl = Collection->Context->Rtl;
    ULONGLONG Seconds = Collection->Options->Count;
    ULONGLONG Last;
    LARGE_INTEGER Begin;
    LARGE_INTEGER Now;
    LARGE_INTEGER Frequency;
    LARGE_INTEGER Anchored;
    LARGE_INTEGER Wait;
    ULONG Idle = 0;
    ULONG Full;
    ULONG Index;
    ULONG Rounds;
    NTSTATUS Status;

    *Reason = TRACE_REASON_PROCESS_EXIT;
    Rtl->NtQueryPerformanceCounter(&Begin, &Frequency);
    Anchored = Begin;
    for (;;) {

        ULONG State = COLLECT_STATE(&Collection->Section);

        Status = CollectRound(Collection, FALSE, &Full);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (State == TRACE_KERNEL_STATE_UNLOADED) {
            *Reason = TRACE_REASON_MODULE_UNLOAD;
            break;
        }

        Rtl->NtQueryPerformanceCounter(&Now, NULL);
        if (CollectBreak != 0 ||
            (ULONGLONG)(Now.QuadPart - Begin.QuadPart) /
                    (ULONGLONG)Frequency.QuadPart >= Seconds) {
            break;
        }

        if (Now.QuadPart - Anchored.QuadPart >= Frequency.QuadPart) {
            Anchored = Now;
            CollectStoresAnchor(&Collection->Stores, &Collection->Stacks);
        }

        Idle = Full == 0 ? Idle + 1 : 0;
        if (Full < COLLECT_FULL) {
            Wait.QuadPart = Idle < COLLECT_IDLE_ROUNDS ? -COLLECT_SHORT_WAIT
                                                       : -COLLECT_LONG_WAIT;
            Rtl->NtDelayExecution(FALSE, &Wait);
        }
    }

    //
    // Of a driver that is gone, everything; of one that runs, what there was
    // when the end came.
    //

    Last = __rdtsc();
    Rounds = COLLECT_LAST_ROUNDS +
             (ULONG)(2 * Collection->Section.Header.RecordsPerRing /
                     Collection->Rings.Capacity);
    for (Index = 0; Index < Rounds || *Reason == TRACE_REASON_MODULE_UNLOAD;
         Index++) {

        Status = CollectRound(Collection,
                              *Reason == TRACE_REASON_MODULE_UNLOAD,
                              &Full);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (*Reason == TRACE_REASON_MODULE_UNLOAD
                ? CollectIsDone(Collection)
                : Collection->Rings.Watermark >= Last) {
            break;
        }
    }

    return STATUS_SUCCESS;
}

//
// Writes a line of the log, and to the output.
//

static
VOID
CollectWriteLine(
    _Inout_ PCOLLECTION Collection,
    _Inout_ PRTL_WRITER Log,
    _In_z_ PCSZ Format,
    ...
    )
{
    PCOLLECT_STORES Stores = &Collection->Stores;
    UNICODE_STRING Module;
    CHAR Text[400];
    RTL_WRITER Writer;
    va_list Arguments;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    va_start(Arguments, Format);
    RtlWriteTextArguments(&Writer, Format, Arguments);
    va_end(Arguments);

    RtlPointUnicodeString(&Module,
                          Stores->ModuleName,
                          Stores->ModuleNameLength);
    RtlWriteLogHead(Collection->Context->Rtl, Log, &Module);
    RtlWriteBytes(Log, Text, Writer.LengthInBytes);
    RtlWriteText(Log, "\r\n");

    RtlWriteBytes(Collection->Context->Output, Text, Writer.LengthInBytes);
    RtlWriteText(Collection->Context->Output, "\n");
}

//
// What a processor's ring has counted, if it is not 0.
//

static
VOID
CollectWriteCount(
    _Inout_ PCOLLECTION Collection,
    _Inout_ PRTL_WRITER Log,
    _In_ ULONG Processor,
    _In_ ULONGLONG Count,
    _In_z_ PCSZ Text
    )
{
    if (Count != 0) {
        CollectWriteLine(Collection,
                         Log,
                         "processor %u: %llu %s",
                         Processor,
                         Count,
                         Text);
    }
}

//
// Says what was not recorded, each cause once for each processor.
//

static
VOID
CollectWriteLosses(
    _Inout_ PCOLLECTION Collection,
    _Inout_ PRTL_WRITER Log
    )
{
    ULONG Index;

    for (Index = 0; Index < Collection->Rings.NumberOfRings; Index++) {

        PCCOLLECT_RING Ring = &Collection->Rings.Rings[Index];
        volatile TRACE_KERNEL_RING *Source =
            &COLLECT_RINGS(&Collection->Section)[Index];

        CollectWriteCount(Collection, Log, Index, Ring->Before,
                          "records were overwritten before collecting began");
        CollectWriteCount(Collection, Log, Index, Ring->Lost,
                          "records were overwritten before they were read");
        CollectWriteCount(Collection, Log, Index, Ring->Unfinished,
                          "records were begun and not finished");
        CollectWriteCount(Collection, Log, Index, Source->Collided,
                          "records were given up by their hooks since the "
                          "driver was loaded");
        CollectWriteCount(Collection, Log, Index, Source->Paused,
                          "hook calls while the driver's recording was paused");
        CollectWriteCount(Collection, Log, Index, Source->StatisticsLost,
                          "calls without a place in the driver's table of "
                          "functions");
        CollectWriteCount(Collection, Log, Index, Source->OpenLost,
                          "calls without a place in the driver's table of open "
                          "calls");
    }

    if (Collection->Stores.NumberLate != 0) {
        CollectWriteLine(Collection,
                         Log,
                         "%llu records came late, and have the time of the "
                         "record before",
                         Collection->Stores.NumberLate);
    }

    if (Collection->NumberBad != 0) {
        CollectWriteLine(Collection,
                         Log,
                         "%llu records are not valid, and were left out",
                         Collection->NumberBad);
    }

    if (Collection->Stacks.NumberWithoutOwner +
            Collection->Stores.NumberWithoutStore != 0) {
        CollectWriteLine(Collection,
                         Log,
                         "%llu records are of threads for which there was no "
                         "store",
                         Collection->Stacks.NumberWithoutOwner +
                             Collection->Stores.NumberWithoutStore);
    }
}

//
// Makes the session's directory: where the user says, or a new one where
// sessions go.
//

_Must_inspect_result_
static
NTSTATUS
CollectMakeDirectory(
    _Inout_ PCOLLECTION Collection
    )
{
    PCREADER_CONTEXT Context = Collection->Context;
    PCREADER_OPTIONS Options = Collection->Options;
    PCOLLECT_STORES Stores = &Collection->Stores;
    PCWSTR Directory = Options->Settings[ReaderSettingOfDirectory];
    PUNICODE_STRING Path = &Collection->Path;
    PWCHAR Buffer = Collection->PathBuffer;
    UNICODE_STRING Driver;
    UNICODE_STRING Name;
    WCHAR Wide[RTL_NUMBER_OF(Stores->ModuleName) + RTL_SESSION_SUFFIX_CHARS];
    ULONG Length;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Options->Output != NULL) {

        Directory = Options->Output;

    } else if (Directory == NULL) {

        if (!SessionQueryPlace(Context, 0, Buffer, 30000) &&
            !SessionQueryPlace(Context, 1, Buffer, 30000)) {
            return STATUS_VARIABLE_NOT_FOUND;
        }

        Directory = Buffer;
    }

    Length = RtlLengthOfWideString(Directory);
    if (Length > 30000) {
        return STATUS_NAME_TOO_LONG;
    }

    if (Directory != Buffer) {
        RtlCopyBytes(Buffer, Directory, Length * sizeof(WCHAR));
    }

    RtlPointUnicodeString(Path, Buffer, Length);
    Path->MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
    if (Options->Output == NULL) {

        RtlPointUnicodeString(&Driver,
                              Stores->ModuleName,
                              Stores->ModuleNameLength);
        RtlMakeSessionName(&Driver,
                           Stores->Template.ProcessCreationTime,
                           Wide,
                           RTL_NUMBER_OF(Wide),
                           &Name);
        Status = RtlAppendPath(Path,
                               Name.Buffer,
                               Name.Length / sizeof(WCHAR),
                               TRUE);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Path->Buffer[Path->Length / sizeof(WCHAR)] = 0;
    RtlWideToUtf8(Path->Buffer,
                  Path->Length / sizeof(WCHAR),
                  Collection->PathUtf8,
                  sizeof(Collection->PathUtf8) - 1,
                  &Length);
    Collection->PathUtf8[Length] = 0;
    return SessionOpenTarget(&Stores->Target, Context, Path->Buffer, 0);
}

//
// Makes the session's log.
//

_Must_inspect_result_
static
NTSTATUS
CollectMakeLog(
    _Inout_ PCOLLECTION Collection,
    _Out_ PHANDLE File,
    _Out_ PRTL_WRITER Log
    )
{
    PCOLLECT_STORES Stores = &Collection->Stores;
    UNICODE_STRING Name;
    WCHAR Buffer[300];
    ULONG Length = Stores->ModuleNameLength;
    NTSTATUS Status;

    RtlCopyBytes(Buffer, Stores->ModuleName, Length * sizeof(WCHAR));
    RtlCopyBytes(Buffer + Length, L".log", 4 * sizeof(WCHAR));
    RtlPointUnicodeString(&Name, Buffer, Length + 4);
    Status = SessionMakeTargetFile(&Stores->Target, READER_NONE, &Name, File);
    if (NT_SUCCESS(Status)) {
        RtlInitializeFileWriter(Collection->Context->Rtl,
                                *File,
                                0,
                                Log,
                                Collection->Log,
                                sizeof(Collection->Log));
    }

    return Status;
}

//
// Collects what a section that was checked has.
//

static
ULONG
CollectAll(
    _Inout_ PCOLLECTION Collection,
    _In_ PCSZ NameUtf8
    )
{
    PCREADER_CONTEXT Context = Collection->Context;
    PCOLLECT_STORES Stores = &Collection->Stores;
    HANDLE LogFile = NULL;
    RTL_WRITER Log;
    ULONG Reason = TRACE_REASON_PROCESS_EXIT;
    ULONG Threads;
    NTSTATUS Status;

    Stores->Step = "collect";
    Status = CollectStoresBegin(Stores, &Collection->Section,
                                &Collection->Name);
    if (NT_SUCCESS(Status)) {
        Status = CollectMakeDirectory(Collection);
        Stores->Step = Status == STATUS_DIRECTORY_NOT_EMPTY
                           ? "make the session's directory (it exists and is "
                             "not empty)"
                           : "make the session's directory";
    }

    if (NT_SUCCESS(Status)) {
        Stores->Step = "make the session's log";
        Status = CollectMakeLog(Collection, &LogFile, &Log);
    }

    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        Stores->Step,
                        Collection->PathUtf8[0] != 0 ? Collection->PathUtf8
                                                     : NameUtf8,
                        Status);
    }

    CollectWriteLine(Collection,
                     &Log,
                     "kernel trace of %T: %u processor%s, %llu records each",
                     NameUtf8,
                     Collection->Section.Header.NumberOfRings,
                     Collection->Section.Header.NumberOfRings == 1 ? "" : "s",
                     Collection->Section.Header.RecordsPerRing);
    RtlFlushWriter(&Log);
    RtlWriteText(Context->Output, "%T\n", Collection->PathUtf8);
    RtlFlushWriter(Context->Output);

    Status = CollectFollow(Collection, &Reason);
    Threads = Collection->Stacks.NumberOfOwners -
              Collection->Stacks.NumberOfProcessors;
    CollectCountLost(Collection);
    CollectStoresEnd(Stores, &Collection->Stacks, Reason);
    CollectWriteLine(Collection,
                     &Log,
                     "%llu records of %u thread%s were collected; %s",
                     Collection->NumberOfRecords,
                     Threads,
                     Threads == 1 ? "" : "s",
                     !NT_SUCCESS(Status)                    ? "it failed"
                     : Reason == TRACE_REASON_MODULE_UNLOAD
                         ? "the driver was unloaded"
                         : "the driver runs");
    CollectWriteLosses(Collection, &Log);
    RtlFlushWriter(&Log);
    SessionCloseTargetFile(&Stores->Target, LogFile, TRUE);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context, Stores->Step, Collection->PathUtf8, Status);
    }

    return READER_EXIT_SUCCESS;
}

//
// Makes room for what is kept while collecting.
//

_Must_inspect_result_
static
NTSTATUS
CollectBegin(
    _Inout_ PCOLLECTION Collection
    )
{
    PCALLOCATOR Allocator = Collection->Context->Allocator;
    ULONG Slots = Collection->Section.Header.OpenCallSlots;
    SIZE_T Size = Collection->Section.Header.NumberOfRings * sizeof(ULONGLONG);
    NTSTATUS Status;

    if (Slots <= COLLECT_MAXIMUM_OPEN) {
        Collection->OpenCapacity = 2 * Slots;
    }

    Collection->Reported = (PULONGLONG)Allocator->Allocate(Allocator->Context,
                                                           Size);
    Collection->Open = (PTRACE_KERNEL_OPEN_CALL)
        Allocator->Allocate(Allocator->Context,
                            Collection->OpenCapacity *
                                    sizeof(*Collection->Open) + 1);
    if (Collection->Reported == NULL || Collection->Open == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Collection->Reported, Size);
    Status = CollectStacksBegin(&Collection->Stacks,
                                Allocator,
                                Collection->Section.Header.NumberOfRings,
                                CollectStoresPut,
                                &Collection->Stores);
    return NT_SUCCESS(Status) ? CollectRingsBegin(&Collection->Rings,
                                                  &Collection->Section,
                                                  Allocator)
                              : Status;
}

static
VOID
CollectEnd(
    _Inout_ PCOLLECTION Collection
    )
{
    PCALLOCATOR Allocator = Collection->Context->Allocator;

    CollectStoresEnd(&Collection->Stores,
                     &Collection->Stacks,
                     TRACE_REASON_PROCESS_EXIT);
    SessionCloseTarget(&Collection->Stores.Target);
    CollectRingsEnd(&Collection->Rings);
    CollectStacksEnd(&Collection->Stacks);
    CollectSectionClose(Collection->Context->Rtl, &Collection->Section);
    if (Collection->Open != NULL) {
        Allocator->Free(Allocator->Context, Collection->Open);
    }

    if (Collection->Reported != NULL) {
        Allocator->Free(Allocator->Context, Collection->Reported);
    }

    Allocator->Free(Allocator->Context, Collection);
}

//
// Opens the section whose name begins with Prefix.
// NameUtf8: receives its name; room for 1,000 bytes.
//

_Must_inspect_result_
static
NTSTATUS
CollectOpenNamed(
    _Inout_ PCOLLECTION Collection,
    _In_z_ PCSZ Prefix,
    _Out_writes_(1000) PCHAR NameUtf8,
    _Outptr_ PCSZ *Step
    )
{
    PCWSTR Driver = Collection->Options->Path;
    ULONG Length = RtlLengthOfWideString(Driver);
    ULONG Written;

    RtlUtf8ToWide(Prefix,
                  RtlLengthOfString(Prefix),
                  Collection->NameBuffer,
                  RTL_NUMBER_OF(Collection->NameBuffer),
                  &Written);
    RtlCopyBytes(Collection->NameBuffer + Written,
                 Driver,
                 Length * sizeof(WCHAR));
    RtlPointUnicodeString(&Collection->Name,
                          Collection->NameBuffer,
                          Written + Length);
    RtlWideToUtf8(Collection->Name.Buffer,
                  Written + Length,
                  NameUtf8,
                  999,
                  &Written);
    NameUtf8[Written] = 0;
    return CollectSectionOpen(Collection->Context->Rtl,
                              &Collection->Name,
                              &Collection->Section,
                              Step);
}

//
// Makes the section's name from the driver's, and says what a user can do if it
// cannot be opened.
//

static
ULONG
CollectOpen(
    _Inout_ PCOLLECTION Collection
    )
{
    PCREADER_CONTEXT Context = Collection->Context;
    PCWSTR Driver = Collection->Options->Path;
    ULONG Length = RtlLengthOfWideString(Driver);
    CHAR NameUtf8[1000];
    ULONG Index;
    PCSZ Step;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Length; Index++) {
        if (Driver[Index] == L'\\' || Driver[Index] == L'/') {
            Status = STATUS_OBJECT_NAME_INVALID;
        }
    }

    if (!NT_SUCCESS(Status) || Length > COLLECT_MAXIMUM_NAME) {
        return BaseFail(Context,
                        "collect (a driver is named as its service is)",
                        Collection->Options->PathUtf8,
                        STATUS_OBJECT_NAME_INVALID);
    }

    //
    // A driver that starts with the system has no \BaseNamedObjects yet.
    //

    Status = CollectOpenNamed(Collection,
                              TRACE_KERNEL_EARLY_PREFIX,
                              NameUtf8,
                              &Step);
    if (Status == STATUS_OBJECT_NAME_NOT_FOUND ||
        Status == STATUS_OBJECT_PATH_NOT_FOUND) {
        Status = CollectOpenNamed(Collection,
                                  TRACE_KERNEL_SECTION_PREFIX,
                                  NameUtf8,
                                  &Step);
    }

    if (!NT_SUCCESS(Status)) {

        BaseFail(Context, Step, NameUtf8, Status);
        if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
            RtlWriteText(Context->Errors,
                         "  no traced driver with this service name is loaded "
                         "(Docs/Drivers.md), or another user's session has "
                         "it\n");
        } else if (Status == STATUS_ACCESS_DENIED) {
            RtlWriteText(Context->Errors,
                         "  only administrators may read a driver's records: "
                         "run TraceReader as one\n");
        }

        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Status = CollectBegin(Collection);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context, "collect", NameUtf8, Status);
    }

    return CollectAll(Collection, NameUtf8);
}

static
ULONG
CollectRun(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PCOLLECTION Collection;
    READER_PROGRAM Program;
    BOOLEAN HasBreak;
    ULONG ExitCode;

    Collection = (PCOLLECTION)Allocator->Allocate(Allocator->Context,
                                                  sizeof(*Collection));
    if (Collection == NULL) {
        return BaseFail(Context,
                        "collect",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    RtlZeroBytes(Collection, sizeof(*Collection));
    Collection->Context = Context;
    Collection->Options = Options;
    Collection->Stores.Context = Context;
    Collection->Stores.Target.Context = NULL;

    //
    // Without it Ctrl+C ends the process at once, which leaves what was
    // written.
    //

    HasBreak = NT_SUCCESS(BaseLoadProgram(&Program, Context)) &&
               Program.Routines.SetConsoleCtrlHandler(CollectHandleBreak,
                                                      TRUE);
    ExitCode = CollectOpen(Collection);
    if (HasBreak) {
        Program.Routines.SetConsoleCtrlHandler(CollectHandleBreak, FALSE);
    }

    CollectEnd(Collection);
    return ExitCode;
}

const READER_COMMAND ReaderCollectCommand = {
    "collect",
    "DRIVER",
    "Collects what a traced driver records, while it runs",
    "DRIVER is the name of the driver's service.  The driver is linked with\n"
    "TracerPenterKernel.lib (Docs/Drivers.md) and leaves its records in\n"
    "memory, a ring for each processor.  They are parted into the stores of a\n"
    "session, one for each thread and one for what each processor ran at\n"
    "DISPATCH_LEVEL and above that is no thread's, which every command reads,\n"
    "live also meanwhile.  It ends when the driver is unloaded, with Ctrl+C,\n"
    "or after --seconds.\n"
    "The session goes to a new directory in that of --directory, or to that\n"
    "of --output, which is empty or does not exist.  What was overwritten\n"
    "before it could be read is counted for each processor, and calls that\n"
    "may have ended meanwhile are abandoned.\n"
    "It takes an administrator.\n",
    "  TraceReader collect mydriver\n"
    "  TraceReader collect mydriver --seconds 10 -o C:\\traces\\boot\n",
    READER_OPTION_COLLECT | READER_OPTION_OUTPUT,
    CollectRun,
    NULL,
    NULL
};

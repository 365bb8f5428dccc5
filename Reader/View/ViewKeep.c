/*++

Module Name:

    ViewKeep.c

Abstract:

    What the pass over a thread has added up, as a file.  It has the boxes of
    the finest level alone: the others come out of these again, as they did the
    first time.

    Nothing depends on it: a file that is damaged, or is not of these stores, is
    as none.  Whatever it says is checked before it is used.

--*/

#include "../Base/BaseFile.h"
#include "../Base/BaseHashWords.h"
#include "../Functions/FunctionCache.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionSource.h"
#include "../Session/SessionStoreOpen.h"
#include "ViewKeep.h"
#include "ViewPrivate.h"

#define READER_KEEP_NUMBER 10u          // bytes that a number has at most
#define READER_KEEP_FLAG_BITS 6u        // READER_BOX_*
#define READER_KEEP_FIELDS \
    ((ULONG)(sizeof(READER_STATISTICS) / sizeof(ULONGLONG)))
#define READER_KEEP_SUFFIX L".levels"
#define READER_KEEP_LATEST 0x7FFFFFFFFFFFFFFFULL    // time stamp

C_ASSERT((READER_BOX_LOST >> READER_KEEP_FLAG_BITS) == 0);

typedef struct _READER_KEEPING {
    PRTL_WRITER Writer;                 // one of these two
    PREADER_KEEP_READ Read;
    PVOID Context;
    PUCHAR Bytes;                       // READER_KEEP_BUFFER
    ULONG Used;                         // of them
    ULONG Size;                         // that were read
    ULONGLONG Offset;                   // of Bytes in the file
    ULONGLONG Hash;                     // of what came before Bytes
    BOOLEAN IsBad;
} READER_KEEPING;
typedef READER_KEEPING *PREADER_KEEPING;

//
// The numbers that functions, and the modules that called imports, have in a
// file.
//

typedef struct _READER_KEPT_NAMES {
    PULONG NumberOf;                    // by function, from 1 on; 0: none
    PULONGLONG Sites;                   // likewise: the lowest of it
    ULONG Number;
    PULONG NumberOfCaller;              // by what READER_BOX has, from 1 on
    PULONGLONG CallerSites;             // likewise: the lowest of its stubs'
    ULONG NumberOfCallers;
} READER_KEPT_NAMES;
typedef READER_KEPT_NAMES *PREADER_KEPT_NAMES;

static
ULONGLONG
ViewHashNumber(
    _In_ ULONGLONG Hash,
    _In_ ULONGLONG Number
    )
{
    return BaseHashWords(Hash, &Number, sizeof(Number));
}


_Use_decl_annotations_
ULONGLONG
ViewIdentifyThread(
    PREADER_VIEW View,
    ULONG Number
    )
{
    PREADER_SESSION Session = &View->Session;
    const READER_THREAD *Thread = &Session->Threads[Number];
    PREADER_STORE Store;
    ULONGLONG Hash = READER_KEEP_VERSION;
    ULONG Index;

    if (View->IsLive || ViewCountRecords(View, Number) == 0) {
        return 0;
    }

    Hash = ViewHashNumber(Hash, Session->JumpTicks);
    Hash = ViewHashNumber(Hash,
                          READER_CONTROL_OF_THREAD(Session,
                                                   Number)->PauseHash);
    if (View->Range.IsGiven) {
        Hash = ViewHashNumber(Hash, View->Range.Start);
        Hash = ViewHashNumber(Hash, View->Range.End);
    }

    Hash = ViewHashNumber(Hash, Thread->TimestampBase);
    Hash = ViewHashNumber(Hash, Thread->FirstTimestamp);
    Hash = ViewHashNumber(Hash, Thread->LastTimestamp);
    for (Index = Thread->FirstStore;
         Index != READER_NONE;
         Index = Store->NextInThread) {

        Store = Session->Stores[Index];
        Hash = ViewHashNumber(Hash, Store->StartOfRecords);
        Hash = ViewHashNumber(Hash, Store->EndOfRecords);
        Hash = BaseHashWords(Hash, Store->Header, sizeof(*Store->Header));
        if (Store->Module == READER_NONE ||
            !NT_SUCCESS(FunctionLoadModuleSymbols(
                Session,
                Session->Modules[Store->Module]))) {
            return 0;
        }

        Hash = ViewHashNumber(
            Hash,
            FunctionIsImageKnown(Session->Modules[Store->Module]));
    }

    return Hash == 0 ? 1 : Hash;
}


//
// Which of a thread's stores has a module; READER_NONE: none does.
//

static
ULONG
ViewFindStoreOfModule(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _In_ ULONG Module
    )
{
    ULONG Store = Session->Threads[Thread].FirstStore;
    ULONG Number = 0;

    while (Store != READER_NONE) {
        if (Session->Stores[Store]->Module == Module) {
            return Number;
        }
        Store = Session->Stores[Store]->NextInThread;
        Number += 1;
    }

    return READER_NONE;
}


static
VOID
ViewFlushKeeping(
    _Inout_ PREADER_KEEPING Keeping
    )
{
    RtlWriteBytes(Keeping->Writer, (PCHAR)Keeping->Bytes, Keeping->Used);
    Keeping->Hash = BaseHashWords(Keeping->Hash,
                                  Keeping->Bytes,
                                  Keeping->Used);
    Keeping->Used = 0;
}


static
VOID
ViewPutByte(
    _Inout_ PREADER_KEEPING Keeping,
    _In_ UCHAR Byte
    )
{
    if (Keeping->Used == READER_KEEP_BUFFER) {
        ViewFlushKeeping(Keeping);
    }

    Keeping->Bytes[Keeping->Used] = Byte;
    Keeping->Used += 1;
}


//
// A number: seven bits a byte, the lowest first, all but the last with the
// eighth bit.
//

static
VOID
ViewPutNumber(
    _Inout_ PREADER_KEEPING Keeping,
    _In_ ULONGLONG Number
    )
{
    while (Number > 0x7F) {
        ViewPutByte(Keeping, (UCHAR)(Number | 0x80));
        Number >>= 7;
    }

    ViewPutByte(Keeping, (UCHAR)Number);
}


//
// A difference, which may be below zero.
//

static
VOID
ViewPutDifference(
    _Inout_ PREADER_KEEPING Keeping,
    _In_ ULONGLONG From,
    _In_ ULONGLONG To
    )
{
    ULONGLONG Difference = To - From;

    ViewPutNumber(Keeping,
                  (Difference << 1) ^
                      (0 - (Difference >> 63)));
}


static
VOID
ViewPutBytes(
    _Inout_ PREADER_KEEPING Keeping,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        ViewPutByte(Keeping, ((const UCHAR *)Bytes)[Index]);
    }
}


static
UCHAR
ViewTakeByte(
    _Inout_ PREADER_KEEPING Keeping
    )
{
    ULONG Read;

    if (Keeping->Used == Keeping->Size) {

        if (Keeping->IsBad ||
            (Keeping->Size != 0 && Keeping->Size != READER_KEEP_BUFFER)) {
            Keeping->IsBad = TRUE;
            return 0;
        }

        Keeping->Hash = BaseHashWords(Keeping->Hash,
                                      Keeping->Bytes,
                                      Keeping->Size);
        Keeping->Offset += Keeping->Size;
        Keeping->Used = 0;
        Keeping->Size = 0;
        do {
            Read = Keeping->Read(Keeping->Context,
                                 Keeping->Offset + Keeping->Size,
                                 Keeping->Bytes + Keeping->Size,
                                 READER_KEEP_BUFFER - Keeping->Size);
            Keeping->Size += Read;
        } while (Read != 0 && Keeping->Size < READER_KEEP_BUFFER);

        if (Keeping->Size == 0) {
            Keeping->IsBad = TRUE;
            return 0;
        }
    }

    Keeping->Used += 1;
    return Keeping->Bytes[Keeping->Used - 1];
}


static
ULONGLONG
ViewTakeNumber(
    _Inout_ PREADER_KEEPING Keeping
    )
{
    ULONGLONG Number = 0;
    ULONG Index;
    UCHAR Byte;

    for (Index = 0; Index < READER_KEEP_NUMBER; Index++) {
        Byte = ViewTakeByte(Keeping);
        Number |= (ULONGLONG)(Byte & 0x7F) << (7 * Index);
        if ((Byte & 0x80) == 0) {
            return Number;
        }
    }

    Keeping->IsBad = TRUE;
    return 0;
}


//
// The same of one that is at most as large as is said.
//

static
ULONG
ViewTakeSmall(
    _Inout_ PREADER_KEEPING Keeping,
    _In_ ULONG Maximum
    )
{
    ULONGLONG Number = ViewTakeNumber(Keeping);

    if (Number > Maximum) {
        Keeping->IsBad = TRUE;
        return 0;
    }

    return (ULONG)Number;
}


static
ULONGLONG
ViewTakeDifference(
    _Inout_ PREADER_KEEPING Keeping,
    _In_ ULONGLONG From
    )
{
    ULONGLONG Number = ViewTakeNumber(Keeping);

    return From + ((Number >> 1) ^ (0 - (Number & 1)));
}


static
VOID
ViewTakeBytes(
    _Inout_ PREADER_KEEPING Keeping,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        ((PUCHAR)Bytes)[Index] = ViewTakeByte(Keeping);
    }
}


static
VOID
ViewFreeNames(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_KEPT_NAMES Names
    )
{
    Allocator->Free(Allocator->Context, Names->NumberOf);
    Allocator->Free(Allocator->Context, Names->Sites);
    Allocator->Free(Allocator->Context, Names->NumberOfCaller);
    Allocator->Free(Allocator->Context, Names->CallerSites);
}


//
// Makes room for what there is to number; nothing is, yet.  To be freed even
// after a failure.
//

_Must_inspect_result_
static
NTSTATUS
ViewAllocateNames(
    _In_ const READER_VIEW *View,
    _Out_ PREADER_KEPT_NAMES Names
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    SIZE_T Functions = (SIZE_T)View->Functions.NumberOfFunctions + 1;
    SIZE_T Callers = (SIZE_T)View->Functions.NumberOfImported + 1;
    SIZE_T Index;

    RtlZeroBytes(Names, sizeof(*Names));
    Names->NumberOf = (PULONG)
        Allocator->Allocate(Allocator->Context, Functions * sizeof(ULONG));
    Names->Sites = (PULONGLONG)
        Allocator->Allocate(Allocator->Context,
                            Functions * sizeof(ULONGLONG));
    Names->NumberOfCaller = (PULONG)
        Allocator->Allocate(Allocator->Context, Callers * sizeof(ULONG));
    Names->CallerSites = (PULONGLONG)
        Allocator->Allocate(Allocator->Context, Callers * sizeof(ULONGLONG));
    if (Names->NumberOf == NULL || Names->Sites == NULL ||
        Names->NumberOfCaller == NULL || Names->CallerSites == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Names->NumberOf, Functions * sizeof(ULONG));
    RtlZeroBytes(Names->NumberOfCaller, Callers * sizeof(ULONG));
    for (Index = 0; Index < Functions; Index++) {
        Names->Sites[Index] = ~0ULL;
    }

    for (Index = 0; Index < Callers; Index++) {
        Names->CallerSites[Index] = ~0ULL;
    }

    return STATUS_SUCCESS;
}


static
VOID
ViewNumber(
    _Inout_updates_(Index + 1) PULONG Numbers,
    _In_ ULONG Index,
    _Inout_ PULONG Last
    )
{
    if (Numbers[Index] == 0) {
        *Last += 1;
        Numbers[Index] = *Last;
    }
}


//
// Numbers the functions that boxes of the finest level and sums are of, and the
// modules that called the boxes' imports, and finds a site of each.
//

static
VOID
ViewListNames(
    _In_ const READER_VIEW *View,
    _In_ ULONG Number,
    _Inout_ PREADER_KEPT_NAMES Names
    )
{
    const READER_VIEW_THREAD *Thread = &View->Threads[Number];
    PCREADER_LEVEL Level = &Thread->Levels.Levels[Thread->Levels.FirstLevel];
    const READER_MAP *Map = &View->Functions.Sites;
    PCREADER_BOX_ROW Boxes;
    ULONG Caller;
    ULONG Index;
    ULONG Row;

    for (Row = 0; Row < Level->NumberOfRows; Row++) {
        Boxes = &Level->Rows[Row];
        for (Index = 0; Index < Boxes->NumberOfBoxes; Index++) {
            ViewNumber(Names->NumberOf,
                       Boxes->Boxes[Index].Function,
                       &Names->Number);
            if (Boxes->Boxes[Index].Caller != 0) {
                ViewNumber(Names->NumberOfCaller,
                           Boxes->Boxes[Index].Caller,
                           &Names->NumberOfCallers);
            }
        }
    }

    for (Index = 0; Index < Thread->NumberOfSums; Index++) {
        ViewNumber(Names->NumberOf,
                   Thread->Sums[Index].Function,
                   &Names->Number);
    }

    for (Index = 0; Index < Map->Capacity; Index++) {
        if (Map->Slots[Index].IsUsed &&
            Map->Slots[Index].Key < Names->Sites[Map->Slots[Index].Value]) {
            Names->Sites[Map->Slots[Index].Value] = Map->Slots[Index].Key;
        }
    }

    //
    // Each stub that a box is of is there; and those of other processes, whose
    // modules may have the same names.
    //

    Map = &View->Callers;
    for (Index = 0; Index < Map->Capacity; Index++) {

        Caller = Map->Slots[Index].Value;
        if (Map->Slots[Index].IsUsed &&
            Map->Slots[Index].Key < Names->CallerSites[Caller] &&
            ViewFindStoreOfModule(&View->Session,
                                  Number,
                                  (ULONG)(Map->Slots[Index].Key >> 32)) !=
                READER_NONE) {
            Names->CallerSites[Caller] = Map->Slots[Index].Key;
        }
    }
}


//
// Writes a site.  STATUS_NOT_SUPPORTED: no store of the thread has its module.
//

_Must_inspect_result_
static
NTSTATUS
ViewSaveSite(
    _In_ const READER_VIEW *View,
    _In_ ULONG Thread,
    _In_ ULONGLONG Site,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    ULONG Store;

    Store = ViewFindStoreOfModule(&View->Session,
                                  Thread,
                                  (ULONG)(Site >> 32));
    if (Store == READER_NONE) {
        return STATUS_NOT_SUPPORTED;
    }

    ViewPutNumber(Keeping, Store);
    ViewPutNumber(Keeping, (ULONG)Site);
    return STATUS_SUCCESS;
}


//
// Writes the functions, and the modules that called, in the order of their
// numbers.
//

_Must_inspect_result_
static
NTSTATUS
ViewSaveNames(
    _In_ const READER_VIEW *View,
    _In_ ULONG Thread,
    _In_ const READER_KEPT_NAMES *Names,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    SIZE_T Capacity = (SIZE_T)Names->Number + Names->NumberOfCallers + 1;
    PULONG Order;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        Capacity * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < View->Functions.NumberOfFunctions; Index++) {
        if (Names->NumberOf[Index] != 0) {
            Order[Names->NumberOf[Index] - 1] = Index;
        }
    }

    ViewPutNumber(Keeping, Names->Number);
    for (Index = 0; NT_SUCCESS(Status) && Index < Names->Number; Index++) {
        Status = ViewSaveSite(View,
                              Thread,
                              Names->Sites[Order[Index]],
                              Keeping);
        ViewPutNumber(Keeping, View->Functions.Functions[Order[Index]].Wait);
    }

    for (Index = 1; Index <= View->Functions.NumberOfImported; Index++) {
        if (Names->NumberOfCaller[Index] != 0) {
            Order[Names->NumberOfCaller[Index] - 1] = Index;
        }
    }

    ViewPutNumber(Keeping, Names->NumberOfCallers);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Names->NumberOfCallers;
         Index++) {
        Status = ViewSaveSite(View,
                              Thread,
                              Names->CallerSites[Order[Index]],
                              Keeping);
    }

    Allocator->Free(Allocator->Context, Order);
    return Status;
}


//
// Writes the boxes of a row: each with where it begins, as the difference to
// the one before, how long it is, its calls and flags, which function, of
// several calls how much less they cover, and of one, if there are imports,
// which module called.
//

static
VOID
ViewSaveRow(
    _In_ PCREADER_BOX_ROW Row,
    _In_ ULONGLONG First,
    _In_ const READER_KEPT_NAMES *Names,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    PCREADER_BOX Box;
    ULONG Index;

    ViewPutNumber(Keeping, Row->NumberOfBoxes);
    for (Index = 0; Index < Row->NumberOfBoxes; Index++) {

        Box = &Row->Boxes[Index];
        ViewPutDifference(Keeping, First, Box->Start);
        ViewPutNumber(Keeping, Box->Stop - Box->Start);
        ViewPutNumber(Keeping,
                      ((ULONGLONG)Box->Calls << READER_KEEP_FLAG_BITS) |
                          Box->Flags);
        ViewPutNumber(Keeping, Names->NumberOf[Box->Function] - 1);
        if (Box->Calls != 1) {
            ViewPutDifference(Keeping,
                              Box->Covered,
                              Box->Stop - Box->Start);
        } else if (Names->NumberOfCallers != 0) {
            ViewPutNumber(Keeping, Names->NumberOfCaller[Box->Caller]);
        }

        First = Box->Start;
    }
}


//
// Writes all but the header.
//

_Must_inspect_result_
static
NTSTATUS
ViewSaveLevels(
    _In_ const READER_VIEW *View,
    _In_ ULONG Number,
    _Inout_ PREADER_KEPT_NAMES Names,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    const READER_VIEW_THREAD *Thread = &View->Threads[Number];
    PCREADER_LEVEL Level = &Thread->Levels.Levels[Thread->Levels.FirstLevel];
    ULONGLONG First = View->Session.Threads[Number].FirstTimestamp;
    ULONGLONG Last = First;
    const ULONGLONG *Numbers;
    ULONG Field;
    ULONG Index;
    NTSTATUS Status;

    ViewPutNumber(Keeping, Thread->NumberOfRecords);
    ViewPutDifference(Keeping, First, Thread->Known);
    ViewPutNumber(Keeping, Thread->Levels.Levels[0].Resolution);
    ViewPutNumber(Keeping, Thread->Levels.NumberOfLevels);
    ViewPutNumber(Keeping, Thread->Levels.FirstLevel);

    ViewPutNumber(Keeping, Thread->NumberOfSamples);
    for (Index = 0; Index < Thread->NumberOfSamples; Index++) {
        ViewPutDifference(Keeping, Last, Thread->Samples[Index]);
        Last = Thread->Samples[Index];
    }

    ViewPutNumber(Keeping, Thread->NumberOfLosses);
    Last = First;
    for (Index = 0; Index < Thread->NumberOfLosses; Index++) {
        ViewPutDifference(Keeping, Last, Thread->Losses[Index].Start);
        ViewPutNumber(Keeping,
                      Thread->Losses[Index].Stop -
                          Thread->Losses[Index].Start);
        ViewPutNumber(Keeping, Thread->Losses[Index].Number);
        Last = Thread->Losses[Index].Start;
    }

    ViewListNames(View, Number, Names);
    Status = ViewSaveNames(View, Number, Names, Keeping);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ViewPutByte(Keeping, Thread->HasSums);
    ViewPutNumber(Keeping, Thread->NumberOfSums);
    for (Index = 0; Index < Thread->NumberOfSums; Index++) {
        ViewPutNumber(Keeping,
                      Names->NumberOf[Thread->Sums[Index].Function] - 1);
        Numbers = (const ULONGLONG *)&Thread->Sums[Index].Statistics;
        for (Field = 0; Field < READER_KEEP_FIELDS; Field++) {
            ViewPutNumber(Keeping, Numbers[Field]);
        }
    }

    ViewPutNumber(Keeping, Thread->NumberOfRows);
    for (Index = 0; Index < Thread->NumberOfRows; Index++) {
        ViewPutNumber(Keeping, Thread->Rows[Index].Track);
        ViewPutNumber(Keeping, Thread->Rows[Index].Depth);
    }

    ViewPutNumber(Keeping, Level->NumberOfRows);
    for (Index = 0; Index < Level->NumberOfRows; Index++) {
        ViewSaveRow(&Level->Rows[Index], First, Names, Keeping);
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ViewSaveThread(
    PREADER_VIEW View,
    ULONG Number,
    PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    const READER_VIEW_THREAD *Thread = &View->Threads[Number];
    READER_KEEPING Keeping;
    READER_KEEP_HEADER Header;
    READER_KEPT_NAMES Names;
    NTSTATUS Status;

    RtlZeroBytes(&Header, sizeof(Header));
    Header.Magic = READER_KEEP_MAGIC;
    Header.Version = READER_KEEP_VERSION;
    Header.NumberOfStores = View->Session.Threads[Number].NumberOfStores;
    Header.Identity = ViewIdentifyThread(View, Number);
    if (Header.Identity == 0 || !Thread->IsDone || !Thread->IsBegun ||
        !NT_SUCCESS(Thread->Status)) {
        return STATUS_NOT_SUPPORTED;
    }

    RtlZeroBytes(&Keeping, sizeof(Keeping));
    Keeping.Writer = Writer;
    Keeping.Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                READER_KEEP_BUFFER);
    Status = ViewAllocateNames(View, &Names);
    if (Keeping.Bytes == NULL) {
        Status = STATUS_NO_MEMORY;
    }

    if (NT_SUCCESS(Status)) {

        ViewPutBytes(&Keeping, &Header, sizeof(Header));
        Status = ViewSaveLevels(View, Number, &Names, &Keeping);
        while (Keeping.Used % sizeof(ULONGLONG) != 0) {
            ViewPutByte(&Keeping, 0);
        }

        ViewFlushKeeping(&Keeping);
        RtlWriteBytes(Writer, (PCHAR)&Keeping.Hash, sizeof(Keeping.Hash));
        if (NT_SUCCESS(Status)) {
            Status = RtlFlushWriter(Writer);
        }
    }

    Allocator->Free(Allocator->Context, Keeping.Bytes);
    ViewFreeNames(Allocator, &Names);
    return Status;
}


//
// Reads a site.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreSite(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _Inout_ PREADER_KEEPING Keeping,
    _Out_ PULONGLONG Site
    )
{
    ULONG Stores = Session->Threads[Thread].NumberOfStores;
    ULONG Left = ViewTakeSmall(Keeping, Stores - 1);
    ULONG Store = Session->Threads[Thread].FirstStore;

    while (Left != 0 && Store != READER_NONE) {
        Store = Session->Stores[Store]->NextInThread;
        Left -= 1;
    }

    *Site = ViewTakeSmall(Keeping, READER_NONE);
    if (Store == READER_NONE || Keeping->IsBad) {
        return STATUS_FILE_INVALID;
    }

    *Site |= (ULONGLONG)Session->Stores[Store]->Module << 32;
    return STATUS_SUCCESS;
}


//
// Reads the functions, and finds them among the session's.  Numbers: is given
// memory.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreFunctions(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _Inout_ PREADER_KEEPING Keeping,
    _Inout_ PULONG *Functions,
    _Inout_ PULONG Capacity,
    _Out_ PULONG Number
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    ULONGLONG Site;
    ULONG Function;
    ULONG Index;
    NTSTATUS Status;

    *Number = ViewTakeSmall(Keeping, READER_NONE - 1);
    for (Index = 0; Index < *Number && !Keeping->IsBad; Index++) {

        Status = ViewRestoreSite(&View->Session, Thread, Keeping, &Site);
        if (NT_SUCCESS(Status)) {
            Status = FunctionFindFunction(&View->Functions,
                                          Site,
                                          TRUE,
                                          &Function);
        }

        if (NT_SUCCESS(Status)) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)Functions,
                                   Capacity,
                                   Index + 1,
                                   sizeof(ULONG));
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // Which functions wait is a matter of their names.
        //

        (*Functions)[Index] = Function;
        if (ViewTakeSmall(Keeping, 0xFF) !=
            View->Functions.Functions[Function].Wait) {
            return STATUS_FILE_INVALID;
        }
    }

    return Keeping->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
}


//
// Reads the modules that called, and finds them.  Callers: is given memory;
// the first is for 0.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreCallers(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _Inout_ PREADER_KEEPING Keeping,
    _Inout_ PUSHORT *Callers,
    _Out_ PULONG Number
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    ULONGLONG Site;
    ULONG Index;
    NTSTATUS Status;

    *Number = ViewTakeSmall(Keeping, 0xFFFF);
    *Callers = (PUSHORT)Allocator->Allocate(Allocator->Context,
                                            ((SIZE_T)*Number + 1) *
                                                sizeof(USHORT));
    if (*Callers == NULL) {
        return STATUS_NO_MEMORY;
    }

    (*Callers)[0] = 0;
    for (Index = 1; Index <= *Number; Index++) {

        Status = ViewRestoreSite(&View->Session, Thread, Keeping, &Site);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        (*Callers)[Index] = ViewFindCaller(View, Site);
    }

    return Keeping->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
}


//
// Reads the times of samples, and the losses.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreSamples(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_VIEW_THREAD Thread,
    _In_ ULONGLONG First,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    PREADER_VIEW_LOSS Loss;
    ULONGLONG Last = First;
    ULONG Number;
    NTSTATUS Status;

    Number = ViewTakeSmall(Keeping, READER_NONE);
    while (Thread->NumberOfSamples < Number && !Keeping->IsBad) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Thread->Samples,
                               &Thread->CapacityOfSamples,
                               Thread->NumberOfSamples + 1,
                               sizeof(ULONGLONG));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Last = ViewTakeDifference(Keeping, Last);
        Thread->Samples[Thread->NumberOfSamples] = Last;
        Thread->NumberOfSamples += 1;
    }

    Last = First;
    Number = ViewTakeSmall(Keeping, READER_VIEW_MAXIMUM_LOSSES);
    while (Thread->NumberOfLosses < Number && !Keeping->IsBad) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Thread->Losses,
                               &Thread->CapacityOfLosses,
                               Thread->NumberOfLosses + 1,
                               sizeof(READER_VIEW_LOSS));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Loss = &Thread->Losses[Thread->NumberOfLosses];
        Loss->Start = ViewTakeDifference(Keeping, Last);
        Loss->Stop = Loss->Start + ViewTakeNumber(Keeping);
        Loss->Number = ViewTakeNumber(Keeping);
        Last = Loss->Start;
        Thread->NumberOfLosses += 1;
        if (Loss->Stop < Loss->Start || Loss->Stop > READER_KEEP_LATEST) {
            return STATUS_FILE_INVALID;
        }
    }

    return Keeping->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
}


//
// Reads what the functions add up to.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreSums(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_VIEW_THREAD Thread,
    _In_reads_(NumberOfFunctions) const ULONG *Functions,
    _In_ ULONG NumberOfFunctions,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    PREADER_VIEW_SUM Sum;
    PULONGLONG Numbers;
    ULONG Field;
    ULONG Number;
    NTSTATUS Status;

    Thread->HasSums = ViewTakeByte(Keeping) == 1;
    Number = ViewTakeSmall(Keeping, NumberOfFunctions);
    while (Thread->NumberOfSums < Number && !Keeping->IsBad) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Thread->Sums,
                               &Thread->CapacityOfSums,
                               Thread->NumberOfSums + 1,
                               sizeof(READER_VIEW_SUM));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Sum = &Thread->Sums[Thread->NumberOfSums];
        Sum->Function = Functions[ViewTakeSmall(Keeping,
                                                NumberOfFunctions - 1)];
        Numbers = (PULONGLONG)&Sum->Statistics;
        for (Field = 0; Field < READER_KEEP_FIELDS; Field++) {
            Numbers[Field] = ViewTakeNumber(Keeping);
        }

        Thread->NumberOfSums += 1;
    }

    return Keeping->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
}


//
// Reads a row's boxes into the levels.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreRow(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Row,
    _In_ ULONGLONG First,
    _In_reads_(NumberOfFunctions) const ULONG *Functions,
    _In_ ULONG NumberOfFunctions,
    _In_reads_(NumberOfCallers + 1) const USHORT *Callers,
    _In_ ULONG NumberOfCallers,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    ULONGLONG Head;
    READER_BOX Box;
    ULONG Function;
    ULONG Number;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(&Box, sizeof(Box));
    Number = ViewTakeSmall(Keeping, READER_NONE);
    if (NumberOfFunctions == 0 && Number != 0) {
        return STATUS_FILE_INVALID;
    }

    for (; NT_SUCCESS(Status) && Number != 0; Number--) {

        Box.Start = ViewTakeDifference(Keeping, First);
        Box.Covered = ViewTakeNumber(Keeping);
        Box.Stop = Box.Start + Box.Covered;
        Head = ViewTakeNumber(Keeping);
        Box.Calls = (ULONG)(Head >> READER_KEEP_FLAG_BITS);
        Box.Flags = (USHORT)((ULONG)Head &
                             ((1u << READER_KEEP_FLAG_BITS) - 1));
        Box.Caller = 0;
        Function = ViewTakeSmall(Keeping, NumberOfFunctions - 1);
        if (Box.Calls != 1) {
            Box.Covered = Box.Covered -
                          ViewTakeDifference(Keeping, 0);
        } else if (NumberOfCallers != 0) {
            Box.Caller = Callers[ViewTakeSmall(Keeping, NumberOfCallers)];
        }

        if (Keeping->IsBad || Box.Calls == 0 ||
            (Head >> READER_KEEP_FLAG_BITS) > READER_NONE ||
            Box.Stop < Box.Start || Box.Stop > READER_KEEP_LATEST) {
            return STATUS_FILE_INVALID;
        }

        Box.Function = Functions[Function];
        First = Box.Start;
        Status = ViewAddDoneBox(Levels, Row, &Box);
    }

    return Status;
}


//
// Reads all but the header into a thread.
//

_Must_inspect_result_
static
NTSTATUS
ViewRestoreLevels(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Number,
    _Inout_ PREADER_VIEW_THREAD Thread,
    _Inout_ PREADER_KEEPING Keeping
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    ULONGLONG First = View->Session.Threads[Number].FirstTimestamp;
    PULONG Functions = NULL;
    PUSHORT Callers = NULL;
    PULONG Rows = NULL;
    ULONGLONG Resolution;
    ULONG NumberOfFunctions = 0;
    ULONG CapacityOfFunctions = 0;
    ULONG NumberOfCallers = 0;
    ULONG CapacityOfRows = 0;
    ULONG NumberOfLevels;
    ULONG NumberOfRows;
    ULONG Track;
    ULONG Index;
    NTSTATUS Status;

    BaseInitializeMap(&Thread->RowIndexes, Allocator);
    Thread->NumberOfRecords = ViewTakeNumber(Keeping);
    Thread->Known = ViewTakeDifference(Keeping, First);
    Resolution = ViewTakeNumber(Keeping);
    NumberOfLevels = ViewTakeSmall(Keeping, READER_MAXIMUM_LEVELS);
    ViewInitializeLevelsOf(&Thread->Levels,
                           Allocator,
                           Resolution,
                           NumberOfLevels);
    Thread->Levels.FirstLevel = ViewTakeSmall(Keeping,
                                              READER_MAXIMUM_LEVELS - 1);
    if (Keeping->IsBad || Resolution == 0 || NumberOfLevels == 0 ||
        Resolution > (~0ULL >> (READER_LEVEL_FACTOR_BITS * NumberOfLevels)) ||
        Thread->Levels.FirstLevel >= NumberOfLevels ||
        Thread->Known > READER_KEEP_LATEST) {
        return STATUS_FILE_INVALID;
    }

    Status = ViewRestoreSamples(Allocator, Thread, First, Keeping);
    if (NT_SUCCESS(Status)) {
        Status = ViewRestoreFunctions(View,
                                      Number,
                                      Keeping,
                                      &Functions,
                                      &CapacityOfFunctions,
                                      &NumberOfFunctions);
    }

    if (NT_SUCCESS(Status)) {
        Status = ViewRestoreCallers(View,
                                    Number,
                                    Keeping,
                                    &Callers,
                                    &NumberOfCallers);
    }

    if (NT_SUCCESS(Status)) {
        Status = ViewRestoreSums(Allocator,
                                 Thread,
                                 Functions,
                                 NumberOfFunctions,
                                 Keeping);
    }

    NumberOfRows = NT_SUCCESS(Status) ? ViewTakeSmall(Keeping, READER_NONE)
                                      : 0;
    for (Index = 0; NT_SUCCESS(Status) && Index < NumberOfRows; Index++) {

        Track = ViewTakeSmall(Keeping, READER_NONE);
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Rows,
                               &CapacityOfRows,
                               Index + 1,
                               sizeof(ULONG));
        if (NT_SUCCESS(Status)) {
            Status = ViewFindRow(Allocator,
                                 Thread,
                                 Track,
                                 ViewTakeSmall(Keeping, READER_NONE),
                                 &Rows[Index]);
        }

        if (NT_SUCCESS(Status) && (Keeping->IsBad || Rows[Index] != Index)) {
            Status = STATUS_FILE_INVALID;
        }
    }

    if (NT_SUCCESS(Status)) {
        NumberOfRows = ViewTakeSmall(Keeping, NumberOfRows);
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < NumberOfRows; Index++) {
        Status = ViewRestoreRow(&Thread->Levels,
                                Index,
                                First,
                                Functions,
                                NumberOfFunctions,
                                Callers,
                                NumberOfCallers,
                                Keeping);
    }

    Allocator->Free(Allocator->Context, Functions);
    Allocator->Free(Allocator->Context, Callers);
    Allocator->Free(Allocator->Context, Rows);
    if (NT_SUCCESS(Status)) {
        Status = Keeping->IsBad ? STATUS_FILE_INVALID
                                : ViewFlushLevels(&Thread->Levels);
    }

    return Status;
}


//
// What stands at the end of the file is the hash of what comes before.
//

static
BOOLEAN
ViewIsWhole(
    _Inout_ PREADER_KEEPING Keeping
    )
{
    ULONGLONG Expected;
    ULONGLONG Found;

    while (Keeping->Used % sizeof(ULONGLONG) != 0) {
        (VOID)ViewTakeByte(Keeping);
    }

    Expected = BaseHashWords(Keeping->Hash, Keeping->Bytes, Keeping->Used);
    return !Keeping->IsBad &&
           Keeping->Read(Keeping->Context,
                         Keeping->Offset + Keeping->Used,
                         (PUCHAR)&Found,
                         sizeof(Found)) == sizeof(Found) &&
           Found == Expected;
}


_Use_decl_annotations_
NTSTATUS
ViewRestoreThread(
    PREADER_VIEW View,
    ULONG Number,
    PREADER_KEEP_READ Read,
    PVOID Context
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    READER_VIEW_THREAD Thread;
    READER_KEEPING Keeping;
    READER_KEEP_HEADER Header;
    ULONGLONG Identity = ViewIdentifyThread(View, Number);
    NTSTATUS Status = STATUS_FILE_INVALID;

    if (Identity == 0 || View->Threads[Number].IsBegun) {
        return STATUS_FILE_INVALID;
    }

    RtlZeroBytes(&Thread, sizeof(Thread));
    RtlZeroBytes(&Keeping, sizeof(Keeping));
    Keeping.Read = Read;
    Keeping.Context = Context;
    Keeping.Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                READER_KEEP_BUFFER);
    if (Keeping.Bytes == NULL) {
        return STATUS_NO_MEMORY;
    }

    ViewTakeBytes(&Keeping, &Header, sizeof(Header));
    if (!Keeping.IsBad && Header.Magic == READER_KEEP_MAGIC &&
        Header.Version == READER_KEEP_VERSION &&
        Header.NumberOfStores ==
            View->Session.Threads[Number].NumberOfStores &&
        Header.Identity == Identity) {

        Status = ViewRestoreLevels(View, Number, &Thread, &Keeping);
        if (NT_SUCCESS(Status) && !ViewIsWhole(&Keeping)) {
            Status = STATUS_FILE_INVALID;
        }
    }

    if (NT_SUCCESS(Status)) {
        Thread.IsBegun = TRUE;
        Thread.IsDone = TRUE;
        ViewRundownThread(Allocator, &View->Threads[Number]);
        View->Threads[Number] = Thread;
    } else {
        ViewRundownThread(Allocator, &Thread);
    }

    Allocator->Free(Allocator->Context, Keeping.Bytes);
    return Status;
}


//
// READER_KEEP_READ of a READER_SOURCE.
//

_Use_decl_annotations_
static
ULONG
ViewReadSource(
    PVOID Context,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    PREADER_SOURCE Source = (PREADER_SOURCE)Context;
    ULONG Read;

    return NT_SUCCESS(SessionReadSource(Source,
                                        Offset,
                                        Bytes,
                                        SizeInBytes,
                                        &Read))
               ? Read
               : 0;
}


_Use_decl_annotations_
NTSTATUS
ViewRestoreBeside(
    PREADER_VIEW View,
    ULONG Number
    )
{
    PREADER_SESSION Session = &View->Session;
    PCALLOCATOR Allocator = View->Context->Allocator;
    READER_SOURCE Source;
    UNICODE_STRING Path;
    NTSTATUS Status;

    Status = SessionComposeNameBeside(
        Session,
        Session->Stores[Session->Threads[Number].FirstStore],
        READER_KEEP_SUFFIX,
        &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SessionOpenSource(View->Context, Session->Pack, &Path, &Source);
    if (NT_SUCCESS(Status)) {
        Status = ViewRestoreThread(View, Number, ViewReadSource, &Source);
        SessionCloseSource(&Source);
    }

    Allocator->Free(Allocator->Context, Path.Buffer);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
ViewSaveBeside(
    PREADER_VIEW View,
    ULONG Number
    )
{
    PREADER_SESSION Session = &View->Session;
    PCREADER_CONTEXT Context = View->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_STORE Store =
        Session->Stores[Session->Threads[Number].FirstStore];
    UNICODE_STRING Path;
    UNICODE_STRING Temporary;
    RTL_WRITER Writer;
    PCHAR Buffer;
    HANDLE File;
    NTSTATUS Status;

    if (Session->Pack != NULL) {
        return STATUS_NOT_SUPPORTED;
    }

    Temporary.Buffer = NULL;
    Buffer = (PCHAR)Allocator->Allocate(Allocator->Context,
                                        READER_KEEP_BUFFER);
    Status = SessionComposeNameBeside(Session,
                                      Store,
                                      READER_KEEP_SUFFIX,
                                      &Path);
    if (NT_SUCCESS(Status)) {
        Status = SessionComposeNameBeside(Session,
                                          Store,
                                          READER_KEEP_SUFFIX L".tmp",
                                          &Temporary);
    }

    if (NT_SUCCESS(Status)) {
        Status = Buffer == NULL ? STATUS_NO_MEMORY
                                : BaseOpenTemporaryFile(Context,
                                                        &Temporary,
                                                        TRUE,
                                                        &File);
    }

    if (NT_SUCCESS(Status)) {

        RtlInitializeFileWriter(Context->Rtl,
                                File,
                                0,
                                &Writer,
                                Buffer,
                                READER_KEEP_BUFFER);
        Status = ViewSaveThread(View, Number, &Writer);
        if (NT_SUCCESS(Status)) {
            Status = BaseRenameFile(Context, File, &Path, TRUE);
        }

        if (!NT_SUCCESS(Status)) {
            BaseRemoveFile(Context, File);
        }

        RtlClose(Context->Rtl, File);
    }

    Allocator->Free(Allocator->Context, Buffer);
    Allocator->Free(Allocator->Context, Path.Buffer);
    Allocator->Free(Allocator->Context, Temporary.Buffer);
    return Status;
}

/*++

Module Name:

    FuzzStore.c

Abstract:

    Fuzz target: a store's bytes through the reader's core.  The header is
    validated, the end of the records found, each record validated, the calls
    paired, the clock worked out.

    The input: one byte that says whether the rest is a store as it stands or
    what FuzzMakeStore makes one of (bit 0), and whether records are paired by
    module and RVA or by Site (bit 1); one byte that says which allocation
    fails, if any; one byte that makes up what the module's image says of the
    sites, 0 for nothing; the rest.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Core/CoreClock.h"
#include "../../Reader/Core/CoreHeader.h"
#include "../../Reader/Core/CoreLive.h"
#include "../../Reader/Core/CoreRecord.h"
#include "../../Reader/Core/CoreTree.h"
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 FUZZ_128;

#define FUZZ_IS_MADE 1
#define FUZZ_IS_RAW_SITE 2

//
// What is known of the calls, kept apart from the code under test.
//

typedef struct _FUZZ_PAIRING {
    CORE_PAIR Pair;
    ULONG Seed;                     // of what the image says
    BOOLEAN HasFibers;
    ULONGLONG FirstTimestamp;
    ULONGLONG LastTimestamp;
    ULONGLONG Entries;
    ULONGLONG ExitRecords;
    ULONGLONG Exits;
    ULONGLONG Abandoned;
    ULONGLONG Unmatched;
    ULONGLONG Open;
    FUZZ_128 SumOfSelf;
    FUZZ_128 SumOfOutermost;

    //
    // Of each entry, by its number: when it was, and whether it has ended.
    //

    PULONGLONG Times;
    PUCHAR IsEnded;
    ULONG Capacity;
} FUZZ_PAIRING;
typedef FUZZ_PAIRING *PFUZZ_PAIRING;

//
// Makes a number up.
// Seed, Value: what it depends on.
// Returns the number; its high bits are the better ones.
//

static
ULONG
FuzzHash(
    ULONG Seed,
    ULONGLONG Value
    )
{
    ULONGLONG Hash = (Value + Seed) * 0x9E3779B97F4A7C15ULL;

    Hash = (Hash ^ (Hash >> 29)) * 0xBF58476D1CE4E5B9ULL;
    return (ULONG)(Hash >> 32);
}

//
// Makes up how often a function may have been inlined.
// Returns 0 to 2 or the largest number, for the same functions always the
// same.
//

static
ULONG
FuzzCountInlined(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
{
    ULONG Count = FuzzHash(((PFUZZ_PAIRING)Context)->Seed,
                           Outer * 31 + Inner) >> 30;

    return Count == 3 ? 0xFFFFFFFF : Count;
}

//
// Makes up what the image says of a site: its function, of which four sites
// are one; the sizes of its frame, now and then absurd; where it jumps to.
// Seed: what it depends on; 0: nothing is known.
//

static
VOID
FuzzDescribeSite(
    ULONG Seed,
    PCORE_CALL Call
    )
{
    ULONG Bits = FuzzHash(Seed, Call->Site);

    if (Seed == 0 || Bits >> 29 == 0) {
        return;
    }

    Call->Function = Call->Site / 52 + 1;
    if ((Bits & 0x10) != 0) {
        Call->Flags |= CORE_CALL_FRAME_KNOWN;
        Call->FrameSize = ((Bits >> 5) & 31) * 8;
        Call->BodySize = ((Bits >> 10) & 63) * 8;
        if ((Bits & 0x3F0000) == 0) {
            Call->FrameSize = Bits;
            Call->BodySize = ~Bits;
        }
    }

    if ((Bits & 0x3000000) == 0) {
        Call->Flags |= CORE_CALL_DYNAMIC;
    }

    if ((Bits & 0x8000000) == 0) {
        Call->Flags |= CORE_CALL_JUMPS;
    }

    if (Call->Kind == TRACE_KIND_EXIT && (Bits & 0x4000000) != 0) {
        Call->JumpTarget = Call->Function + (Bits & 1);
    }
}

//
// Checks that the fibers' stacks are in order and do not overlap.
// Pair: the pairing.
//

static
VOID
FuzzCheckStacks(
    const CORE_PAIR *Pair
    )
{
    const CORE_STACK *Stack;
    ULONGLONG End = 0;
    ULONG Index;

    FUZZ_CHECK(Pair->Current < Pair->NumberOfStacks);
    for (Index = 0; Index + 1 < Pair->NumberOfStacks; Index++) {
        FUZZ_CHECK(Pair->Order[Index] != 0);
        FUZZ_CHECK(Pair->Order[Index] < Pair->NumberOfStacks);
        Stack = &Pair->Stacks[Pair->Order[Index]];
        FUZZ_CHECK(Stack->Lowest >= End);
        FUZZ_CHECK(Stack->Highest >= Stack->Lowest);
        End = (ULONGLONG)Stack->Highest + 1;
    }
}

//
// Counts the open frames of all stacks.
// Pair: the pairing.
// Returns their number.
//

static
ULONGLONG
FuzzCountOpenFrames(
    const CORE_PAIR *Pair
    )
{
    ULONGLONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        Count += Pair->Stacks[Index].NumberOfFrames;
    }

    return Count;
}

//
// Checks an event against what is known of the calls.
//

static
VOID
FuzzCheckEvent(
    PFUZZ_PAIRING Pairing,
    const CORE_EVENT *Event
    )
{
    ULONGLONG Span = Pairing->LastTimestamp - Pairing->FirstTimestamp;
    ULONGLONG Taken;
    ULONG Number;

    FUZZ_CHECK(Event->Track < Pairing->Pair.NumberOfStacks);
    if (Event->Track != 0) {
        Pairing->HasFibers = TRUE;
    }

    FUZZ_CHECK(Event->SelfTicks <= Event->InclusiveTicks);
    FUZZ_CHECK(Event->InclusiveTicks <= Span);
    FUZZ_CHECK(Event->Timestamp == Pairing->LastTimestamp);

    if (Event->Kind == CoreEventUnmatched) {
        Pairing->Unmatched += 1;
        FUZZ_CHECK(Event->Frame == NULL);
        FUZZ_CHECK(Event->InclusiveTicks == 0);
        return;
    }

    FUZZ_CHECK(Event->Frame != NULL);
    FUZZ_CHECK((Event->Parent == NULL) == (Event->Depth == 0));
    FUZZ_CHECK(Event->Site == Event->Frame->Site);
    FUZZ_CHECK(Event->Parent == NULL ||
               Event->Parent->EnterTimestamp <= Event->Frame->EnterTimestamp);

    if (Event->Kind == CoreEventEnter) {
        FUZZ_CHECK(Event->InclusiveTicks == 0);
        FUZZ_CHECK(Pairing->Entries < Pairing->Capacity);
        FUZZ_CHECK(CoreCurrentFrame(&Pairing->Pair) == Event->Frame);
        Number = (ULONG)Pairing->Entries;
        Pairing->Times[Number] = Event->Timestamp;
        Pairing->Entries += 1;

        //
        // The caller's fields must come back with the frame.
        //

        Event->Frame->Function = Number;
        Event->Frame->Node = ~Number;
        return;
    }

    Number = Event->Frame->Function;
    FUZZ_CHECK(Event->Frame->Node == ~Number);
    FUZZ_CHECK(Number < Pairing->Entries);
    FUZZ_CHECK(!Pairing->IsEnded[Number]);
    Pairing->IsEnded[Number] = TRUE;

    Taken = Event->Timestamp - Pairing->Times[Number];
    FUZZ_CHECK(Event->InclusiveTicks == Taken);

    Pairing->SumOfSelf += Event->SelfTicks;
    if (Event->Parent == NULL) {
        Pairing->SumOfOutermost += Event->InclusiveTicks;
    }

    switch (Event->Kind) {

    case CoreEventExit:
        Pairing->Exits += 1;
        break;

    case CoreEventAbandoned:
        Pairing->Abandoned += 1;
        break;

    default:
        FUZZ_CHECK(Event->Kind == CoreEventOpen);
        Pairing->Open += 1;
        break;
    }
}

//
// Takes the events that are there, and checks the sums.
//

static
VOID
FuzzTakeEvents(
    PFUZZ_PAIRING Pairing
    )
{
    CORE_EVENT Event;

    while (CoreNextEvent(&Pairing->Pair, &Event)) {
        FuzzCheckEvent(Pairing, &Event);
    }

    FUZZ_CHECK(Pairing->Entries ==
               Pairing->Exits + Pairing->Abandoned + Pairing->Open +
                   FuzzCountOpenFrames(&Pairing->Pair));
    FUZZ_CHECK(Pairing->ExitRecords == Pairing->Exits + Pairing->Unmatched);
    FuzzCheckStacks(&Pairing->Pair);
}

//
// Pairs one record.
// Record: the record, valid.
// Site: the key of its site.
// Returns FALSE if there was no memory.
//

static
BOOLEAN
FuzzAddRecord(
    PFUZZ_PAIRING Pairing,
    PCTRACE_RECORD Record,
    ULONGLONG Site
    )
{
    CORE_CALL Call;
    ULONGLONG OpenFrames = FuzzCountOpenFrames(&Pairing->Pair);
    NTSTATUS Status;

    memset(&Call, 0, sizeof(Call));
    Call.Timestamp = Record->Timestamp;
    Call.Site = Site;
    Call.Stack = Record->StackKind & ~TRACE_KIND_MASK;
    Call.Kind = Record->StackKind & TRACE_KIND_MASK;
    FuzzDescribeSite(Pairing->Seed, &Call);

    Status = CoreAddCall(&Pairing->Pair, &Call);
    if (Status == STATUS_NO_MEMORY) {
        FUZZ_CHECK(FuzzCountOpenFrames(&Pairing->Pair) == OpenFrames);
        return FALSE;
    }

    FUZZ_CHECK(Status == STATUS_SUCCESS);
    if (Pairing->FirstTimestamp == 0) {
        Pairing->FirstTimestamp = Record->Timestamp;
    }

    Pairing->LastTimestamp = Record->Timestamp;
    if (Call.Kind == TRACE_KIND_EXIT || Call.Kind == TRACE_KIND_EXIT_FUNCTION) {
        Pairing->ExitRecords += 1;
    }

    //
    // With events left to take there is no other call.
    //

    FUZZ_CHECK(CoreAddCall(&Pairing->Pair, &Call) == STATUS_INVALID_PARAMETER);
    FuzzTakeEvents(Pairing);
    return TRUE;
}

//
// Validates and pairs a store's records.
// Header: its valid header.
// IsRawSite: whether Site itself is the key.
// Seed: of what the image says.
// Allocator: for the frames.
//

static
VOID
FuzzPairRecords(
    PCTRACE_STORE_HEADER Header,
    PCTRACE_RECORD Records,
    SIZE_T NumberOfRecords,
    BOOLEAN IsRawSite,
    ULONG Seed,
    PFUZZ_ALLOCATOR Allocator
    )
{
    FUZZ_PAIRING Pairing;
    CORE_RECORD_CHECK Check;
    CORE_RECORD_STATE State;
    SIZE_T Good = 0;
    SIZE_T Bad = 0;
    SIZE_T Reserved = 0;
    SIZE_T Index;
    BOOLEAN IsLast;
    BOOLEAN IsWhole = TRUE;
    ULONG Rva;

    memset(&Pairing, 0, sizeof(Pairing));
    Pairing.Seed = Seed;
    Pairing.Capacity = (ULONG)NumberOfRecords;
    Pairing.Times = (PULONGLONG)calloc(NumberOfRecords + 1, 8);
    Pairing.IsEnded = (PUCHAR)calloc(NumberOfRecords + 1, 1);
    if (Pairing.Times == NULL || Pairing.IsEnded == NULL) {
        abort();
    }

    CoreInitializeRecordCheck(&Check, Header);
    if (!NT_SUCCESS(CoreInitializePair(&Pairing.Pair,
                                       &Allocator->Allocator,
                                       Header->StackBase,
                                       Header->StackLimit))) {
        goto End;
    }

    if (Seed != 0) {
        Pairing.Pair.CountInlined = FuzzCountInlined;
        Pairing.Pair.InlineContext = &Pairing;
    }

    for (Index = 0; Index < NumberOfRecords; Index++) {

        IsLast = Index + 1 == NumberOfRecords;
        State = CoreValidateRecord(&Check, &Records[Index], IsLast);
        FUZZ_CHECK(CoreDescribeRecordState(State)[0] != 0);
        if (State == CoreRecordReserved) {
            FUZZ_CHECK(IsLast && Records[Index].Timestamp == 0);
            Reserved += 1;
            continue;
        }

        if (State != CoreRecordValid) {
            Bad += 1;
            continue;
        }

        Good += 1;
        Rva = Records[Index].Site - (ULONG)Header->ModuleBase;
        FUZZ_CHECK(Rva < Header->ModuleSize);
        FUZZ_CHECK(Records[Index].Timestamp >= Pairing.LastTimestamp);
        (VOID)CoreIsOnThreadStack(&Check, &Records[Index]);

        IsWhole = FuzzAddRecord(&Pairing,
                                &Records[Index],
                                IsRawSite ? Records[Index].Site : Rva);
        if (!IsWhole) {
            break;
        }
    }

    if (IsWhole) {
        FUZZ_CHECK(Good + Bad + Reserved == NumberOfRecords);
        CoreFinishPair(&Pairing.Pair);
        FuzzTakeEvents(&Pairing);
        FUZZ_CHECK(FuzzCountOpenFrames(&Pairing.Pair) == 0);

        //
        // No moment is more than one function's own.
        //

        FUZZ_CHECK(Pairing.SumOfSelf <=
                   Pairing.LastTimestamp - Pairing.FirstTimestamp);
        FUZZ_CHECK(Pairing.HasFibers ||
                   Pairing.SumOfSelf == Pairing.SumOfOutermost);
    }

End:
    CoreRundownPair(&Pairing.Pair);
    free(Pairing.Times);
    free(Pairing.IsEnded);
}

//
// Checks the 128-bit arithmetic against the compiler's.
// First, Second, Divisor: any numbers.
//

static
VOID
FuzzCheckArithmetic(
    ULONGLONG First,
    ULONGLONG Second,
    ULONGLONG Divisor
    )
{
    FUZZ_128 Product = (FUZZ_128)First * Second;
    FUZZ_128 Quotient;
    ULONGLONG High;
    ULONGLONG Low;

    CoreMultiply(First, Second, &High, &Low);
    FUZZ_CHECK(High == (ULONGLONG)(Product >> 64));
    FUZZ_CHECK(Low == (ULONGLONG)Product);

    if (Divisor != 0) {
        Quotient = Product / Divisor;
        if (Quotient > UINT64_MAX) {
            Quotient = UINT64_MAX;
        }

        FUZZ_CHECK(CoreDivide(High, Low, Divisor) == (ULONGLONG)Quotient);
        FUZZ_CHECK(CoreMultiplyDivide(First, Second, Divisor) ==
                   (ULONGLONG)Quotient);
    }
}

//
// Works a store's clock out.
// Header: its valid header.
//

static
VOID
FuzzReadClock(
    PCTRACE_STORE_HEADER Header
    )
{
    CORE_CLOCK Clock;
    ULONGLONG Long;
    ULONGLONG Short;
    ULONGLONG Ticks = Header->LastAnchor.Tsc - Header->OpenAnchor.Tsc;
    BOOLEAN IsKnown;

    CoreInitializeClock(&Clock);
    FUZZ_CHECK(CoreQueryTickRate(&Clock) == 0);
    CoreAddAnchor(&Clock, &Header->OpenAnchor, Header->QpcFrequency);
    CoreAddAnchor(&Clock, &Header->LastAnchor, Header->QpcFrequency);
    (VOID)CoreIsSameBoot(&Clock, &Header->LastAnchor, Header->QpcFrequency);

    IsKnown = CoreTicksToNanoseconds(&Clock, Ticks, &Long);
    CoreTicksToNanoseconds(&Clock, Ticks / 2, &Short);
    FUZZ_CHECK(Short <= Long);
    FUZZ_CHECK(IsKnown == (CoreQueryTickRate(&Clock) != 0));
    FUZZ_CHECK(IsKnown || Long == Ticks);
    if (IsKnown) {
        FUZZ_CHECK(CoreTimestampToSystemTime(&Clock, Clock.Earliest.Tsc) ==
                   Clock.Earliest.SystemTime);
    }
    (VOID)CoreTimestampToSystemTime(&Clock, Ticks);
    (VOID)CoreTimestampToSystemTime(&Clock, Header->OpenAnchor.Tsc / 2);

    FuzzCheckArithmetic(Header->OpenAnchor.Tsc,
                        Header->OpenAnchor.Qpc,
                        Header->QpcFrequency);
    FuzzCheckArithmetic(Header->LastAnchor.Tsc,
                        Header->LastAnchor.SystemTime,
                        Header->OpenAnchor.Qpc);
}

//
// Checks what everything behind the validation of the header relies on.
// Header: a header that was found valid.
//

static
VOID
FuzzCheckHeader(
    PCTRACE_STORE_HEADER Header
    )
{
    FUZZ_CHECK(Header->HeaderSize >= TRACE_HEADER_SIZE);
    FUZZ_CHECK(Header->HeaderSize <= CORE_MAXIMUM_HEADER_SIZE);
    FUZZ_CHECK(Header->ModuleSize != 0);
    FUZZ_CHECK(Header->StackBase >= Header->StackLimit);
    FUZZ_CHECK(Header->Clock <= TRACE_CLOCK_NONE);
    FUZZ_CHECK(Header->RingSizeInBytes == 0 ||
               (Header->RingFileOffset >= TRACE_HEADER_SIZE &&
                Header->RingSizeInBytes % Header->RingFileOffset == 0 &&
                Header->RingSizeInBytes / Header->RingFileOffset >= 3));
    FUZZ_CHECK(Header->ModulePathLength <= sizeof(Header->ModulePath));
    FUZZ_CHECK(Header->ProcessPathLength <= sizeof(Header->ProcessPath));
    FUZZ_CHECK(Header->CommandLineLength <= sizeof(Header->CommandLine));
    FUZZ_CHECK(Header->PdbPathLength <= (Header->MinorVersion < 5 ? 544 : 480));
    FUZZ_CHECK(Header->ThreadNameLength <= sizeof(Header->ThreadName));
}

//
// Checks which records stay: an exit always does, whatever comes after it, and
// looking at the records in two parts changes nothing.
//

static
VOID
FuzzCheckTail(
    PCTRACE_STORE_HEADER Header,
    PCTRACE_RECORD Records,
    SIZE_T NumberOfRecords
    )
{
    CORE_TAIL Tail;
    TRACE_RECORD Copy;
    SIZE_T Whole;
    SIZE_T Part;
    SIZE_T Half = NumberOfRecords / 2;
    SIZE_T Index;
    ULONG Kind;

    CoreInitializeTail(&Tail, Header, Header->LastAnchor.Tsc);
    Whole = CoreCountFinalRecords(&Tail, Records, NumberOfRecords);
    FUZZ_CHECK(Whole <= NumberOfRecords);

    CoreInitializeTail(&Tail, Header, Header->LastAnchor.Tsc);
    Part = CoreCountFinalRecords(&Tail,
                                 Records + Half,
                                 NumberOfRecords - Half);
    if (Part != 0) {
        Part += Half;
    } else {
        Part = CoreCountFinalRecords(&Tail, Records, Half);
    }

    FUZZ_CHECK(Part == Whole);
    for (Index = Whole; Index < NumberOfRecords; Index++) {
        CoreCopyTail(&Copy, &Records[Index], 1);
        FUZZ_CHECK(memcmp(&Copy, &Records[Index], sizeof(Copy)) == 0);
        Kind = Copy.StackKind & TRACE_KIND_MASK;
        FUZZ_CHECK(Copy.Timestamp == 0 ||
                   (Kind != TRACE_KIND_EXIT &&
                    Kind != TRACE_KIND_EXIT_FUNCTION));
    }
}

//
// Reads a store as the reader does.
// Store, SizeInBytes: its bytes, aligned as the allocator aligns.
// IsRawSite: whether calls are paired by Site itself.
// Seed: of what the image says.
// Allocator: for the frames.
//

static
VOID
FuzzReadStore(
    const UCHAR *Store,
    SIZE_T SizeInBytes,
    BOOLEAN IsRawSite,
    ULONG Seed,
    PFUZZ_ALLOCATOR Allocator
    )
{
    PCTRACE_STORE_HEADER Header;
    CORE_HEADER_RESULT Result;
    CORE_END_STATE EndState;
    PTRACE_RECORD Records;
    CORE_RANGE Range;
    ULONGLONG End;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONGLONG Together;
    SIZE_T NumberOfRecords;
    SIZE_T Index;
    BOOLEAN IsValid;

    IsValid = CoreValidateHeader(Store, SizeInBytes, &Result);
    FUZZ_CHECK(IsValid == (Result.State == CoreHeaderValid));
    FUZZ_CHECK(Result.Field != NULL && Result.Problem != NULL);
    FUZZ_CHECK(Result.FileOffset <= TRACE_HEADER_SIZE);
    if (!IsValid) {
        return;
    }

    FUZZ_CHECK(SizeInBytes >= TRACE_HEADER_SIZE);
    Header = (PCTRACE_STORE_HEADER)(const VOID *)Store;
    FuzzCheckHeader(Header);
    FuzzReadClock(Header);

    if (!CoreReadEndOfRecords(Header, &End)) {
        FUZZ_CHECK(!"nobody changes the header");
        return;
    }

    EndState = CoreFindRecords(Header,
                               End,
                               CoreReadFirstRecord(Header),
                               SizeInBytes,
                               &Range);
    if (EndState == CoreEndBad) {
        return;
    }

    FUZZ_CHECK(Range.Start <= Range.End);
    FUZZ_CHECK(Range.End <= End);
    FUZZ_CHECK(EndState == CoreEndBeyondFile || Range.End == End);
    FUZZ_CHECK(Header->RingSizeInBytes != 0 ||
               Range.Start == Header->HeaderSize);
    NumberOfRecords = (Range.End - Range.Start) / TRACE_RECORD_SIZE;
    FUZZ_CHECK(NumberOfRecords <= SizeInBytes / TRACE_RECORD_SIZE);
    Records = (PTRACE_RECORD)calloc(NumberOfRecords + 1, TRACE_RECORD_SIZE);
    if (Records == NULL) {
        abort();
    }

    //
    // No two of them are in one place.
    //

    Position = Range.Start;
    Index = 0;
    while (Position < Range.End) {

        Offset = CorePositionToFileOffset(Header, Position, &Together);
        FUZZ_CHECK(Together != 0 && Together % TRACE_RECORD_SIZE == 0);
        FUZZ_CHECK(Offset >= Header->HeaderSize);
        if (Together > Range.End - Position) {
            Together = Range.End - Position;
        }

        FUZZ_CHECK(Together <= SizeInBytes &&
                   Offset <= SizeInBytes - Together);
        CoreCopyRecords(Records + Index,
                        (PCTRACE_RECORD)(const VOID *)(Store + Offset),
                        Together / TRACE_RECORD_SIZE);
        FUZZ_CHECK(memcmp(Records + Index, Store + Offset, Together) == 0);
        Position += Together;
        Index += Together / TRACE_RECORD_SIZE;
    }

    FUZZ_CHECK(Index == NumberOfRecords);
    FuzzCheckTail(Header, Records, NumberOfRecords);
    FuzzPairRecords(Header,
                    Records,
                    NumberOfRecords,
                    IsRawSite,
                    Seed,
                    Allocator);
    free(Records);
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_ALLOCATOR Allocator;
    FUZZ_INPUT Input = { Data, Size };
    PUCHAR Store;
    SIZE_T SizeInBytes;
    ULONG Mode;
    ULONG Seed;

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size) / 4);
    Mode = (ULONG)FuzzTake(&Input, 1);
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 1));
    Seed = (ULONG)FuzzTake(&Input, 1);

    if ((Mode & FUZZ_IS_MADE) != 0) {
        SizeInBytes = FuzzMakeStore(&Input, &Store);
    } else {
        SizeInBytes = Input.Left;
        Store = (PUCHAR)malloc(SizeInBytes == 0 ? 1 : SizeInBytes);
        if (Store == NULL) {
            abort();
        }
        memcpy(Store, Input.Bytes, SizeInBytes);
    }

    FuzzReadStore(Store,
                  SizeInBytes,
                  (Mode & FUZZ_IS_RAW_SITE) != 0,
                  Seed,
                  &Allocator);
    FUZZ_CHECK(Allocator.Count == 0);
    free(Store);
    (VOID)FuzzEndWork();
    return 0;
}

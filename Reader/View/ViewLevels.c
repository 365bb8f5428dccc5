/*++

Module Name:

    ViewLevels.c

Abstract:

    The levels of a thread's boxes.  Every box goes into the finest level;
    what comes out of a level, a box at a time, goes into the next.

--*/

#include "../Base/BaseContainer.h"
#include "ViewLevels.h"


_Use_decl_annotations_
VOID
ViewInitializeLevels(
    PREADER_LEVELS Levels,
    PCALLOCATOR Allocator,
    ULONGLONG Resolution,
    ULONGLONG Length,
    ULONGLONG MaximumBoxes
    )
{
    RtlZeroBytes(Levels, sizeof(*Levels));
    Levels->Allocator = Allocator;
    Levels->MaximumBoxes = MaximumBoxes;

    do {
        Levels->Levels[Levels->NumberOfLevels].Resolution = Resolution;
        Levels->NumberOfLevels += 1;
        if (Resolution > Length / READER_LEVEL_FACTOR) {
            break;
        }
        Resolution *= READER_LEVEL_FACTOR;
    } while (Levels->NumberOfLevels < READER_MAXIMUM_LEVELS &&
             Resolution != 0 && Resolution < Length / 256);
}


_Use_decl_annotations_
VOID
ViewInitializeLevelsOf(
    PREADER_LEVELS Levels,
    PCALLOCATOR Allocator,
    ULONGLONG Resolution,
    ULONG NumberOfLevels
    )
{
    RtlZeroBytes(Levels, sizeof(*Levels));
    Levels->Allocator = Allocator;
    while (Levels->NumberOfLevels < NumberOfLevels) {
        Levels->Levels[Levels->NumberOfLevels].Resolution = Resolution;
        Levels->NumberOfLevels += 1;
        Resolution *= READER_LEVEL_FACTOR;
    }
}


static
VOID
ViewRundownLevel(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_LEVEL Level
    )
{
    ULONG Row;

    for (Row = 0; Row < Level->NumberOfRows; Row++) {
        Allocator->Free(Allocator->Context, Level->Rows[Row].Boxes);
    }

    Allocator->Free(Allocator->Context, Level->Rows);
    Level->Rows = NULL;
    Level->NumberOfRows = 0;
    Level->Capacity = 0;
    Level->NumberOfBoxes = 0;
}


_Use_decl_annotations_
VOID
ViewRundownLevels(
    PREADER_LEVELS Levels
    )
{
    ULONG Index;

    for (Index = 0; Index < Levels->NumberOfLevels; Index++) {
        ViewRundownLevel(Levels->Allocator, &Levels->Levels[Index]);
    }

    Levels->NumberOfLevels = 0;
}


//
// Adds ticks to a function of a summary.  Of more functions than there is room
// for, the one with the fewest makes room, and its ticks become the new one's:
// so the one with the most is never missed, though it may be given too many.
//

static
VOID
ViewCountFunction(
    _Inout_ PREADER_SUMMARY Summary,
    _In_ ULONG Function,
    _In_ ULONGLONG Ticks
    )
{
    ULONG Least = 0;
    ULONG Index;

    for (Index = 0; Index < Summary->NumberOfFunctions; Index++) {
        if (Summary->Functions[Index] == Function) {
            Summary->Ticks[Index] += Ticks;
            return;
        }
        if (Summary->Ticks[Index] < Summary->Ticks[Least]) {
            Least = Index;
        }
    }

    if (Summary->NumberOfFunctions < READER_SUMMARY_FUNCTIONS) {
        Summary->Functions[Summary->NumberOfFunctions] = Function;
        Summary->Ticks[Summary->NumberOfFunctions] = Ticks;
        Summary->NumberOfFunctions += 1;
        return;
    }

    Summary->Functions[Least] = Function;
    Summary->Ticks[Least] += Ticks;
}


_Must_inspect_result_
static
NTSTATUS
ViewAddToLevel(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Number,
    _In_ ULONG Row,
    _In_ PCREADER_BOX Box
    );


//
// Puts a box into a level, and into the next.
//

_Must_inspect_result_
static
NTSTATUS
ViewPutBox(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Number,
    _In_ ULONG Row,
    _In_ PCREADER_BOX Box
    )
{
    PREADER_LEVEL Level = &Levels->Levels[Number];
    PREADER_BOX_ROW To = &Level->Rows[Row];
    NTSTATUS Status;

    Status = BaseGrowArray(Levels->Allocator,
                           (PVOID *)&To->Boxes,
                           &To->Capacity,
                           To->NumberOfBoxes + 1,
                           sizeof(READER_BOX));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    To->Boxes[To->NumberOfBoxes] = *Box;
    To->NumberOfBoxes += 1;
    Level->NumberOfBoxes += 1;
    if (Number + 1 == Levels->NumberOfLevels) {
        return STATUS_SUCCESS;
    }

    return ViewAddToLevel(Levels, Number + 1, Row, Box);
}


//
// Makes a level have a row.
//

_Must_inspect_result_
static
NTSTATUS
ViewGrowLevel(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Number,
    _In_ ULONG Row
    )
{
    PREADER_LEVEL Level = &Levels->Levels[Number];
    NTSTATUS Status;

    if (Row < Level->NumberOfRows) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Levels->Allocator,
                           (PVOID *)&Level->Rows,
                           &Level->Capacity,
                           Row + 1,
                           sizeof(READER_BOX_ROW));
    if (NT_SUCCESS(Status)) {
        Level->NumberOfRows = Row + 1;
    }

    return Status;
}


//
// Ends what is being put together in a row.
//

_Must_inspect_result_
static
NTSTATUS
ViewEndSummary(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Number,
    _In_ ULONG Row
    )
{
    PREADER_SUMMARY Summary = &Levels->Levels[Number].Rows[Row].Open;
    READER_BOX Box = Summary->Box;
    ULONG Best = 0;
    ULONG Index;

    if (Box.Calls == 0) {
        return STATUS_SUCCESS;
    }

    for (Index = 1; Index < Summary->NumberOfFunctions; Index++) {
        if (Summary->Ticks[Index] > Summary->Ticks[Best]) {
            Best = Index;
        }
    }

    Box.Function = Summary->Functions[Best];
    if (Box.Calls > 1) {
        Box.Flags |= READER_BOX_SUMMARY;
        Box.Caller = 0;
    }

    Summary->Box.Calls = 0;
    Summary->NumberOfFunctions = 0;
    return ViewPutBox(Levels, Number, Row, &Box);
}


_Use_decl_annotations_
static
NTSTATUS
ViewAddToLevel(
    PREADER_LEVELS Levels,
    ULONG Number,
    ULONG Row,
    PCREADER_BOX Box
    )
{
    PREADER_LEVEL Level = &Levels->Levels[Number];
    PREADER_SUMMARY Summary;
    ULONGLONG Bucket;
    NTSTATUS Status;

    Status = ViewGrowLevel(Levels, Number, Row);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Level->Resolution == 0 ||
        (Box->Calls == 1 && Box->Stop - Box->Start >= Level->Resolution)) {
        Status = ViewEndSummary(Levels, Number, Row);
        return NT_SUCCESS(Status) ? ViewPutBox(Levels, Number, Row, Box)
                                  : Status;
    }

    Summary = &Level->Rows[Row].Open;
    Bucket = Box->Start / Level->Resolution;
    if (Summary->Box.Calls != 0 && Summary->Bucket != Bucket) {
        Status = ViewEndSummary(Levels, Number, Row);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Summary->Box.Calls == 0) {
        Summary->Box = *Box;
        Summary->Bucket = Bucket;
    } else {
        Summary->Box.Stop = Box->Stop;
        Summary->Box.Calls += Box->Calls;
        Summary->Box.Covered += Box->Covered;
        Summary->Box.Flags |= Box->Flags;
    }

    ViewCountFunction(Summary, Box->Function, Box->Covered);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ViewAddBox(
    PREADER_LEVELS Levels,
    ULONG Row,
    PCREADER_BOX Box
    )
{
    ULONGLONG Number = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = ViewAddToLevel(Levels, Levels->FirstLevel, Row, Box);
    if (!NT_SUCCESS(Status) || Levels->MaximumBoxes == 0) {
        return Status;
    }

    for (Index = Levels->FirstLevel; Index < Levels->NumberOfLevels; Index++) {
        Number += Levels->Levels[Index].NumberOfBoxes;
    }

    //
    // What the finest level has not put together yet goes to the next.
    //

    if (Number > Levels->MaximumBoxes &&
        Levels->FirstLevel + 1 < Levels->NumberOfLevels) {

        for (Index = 0;
             NT_SUCCESS(Status) &&
             Index < Levels->Levels[Levels->FirstLevel].NumberOfRows;
             Index++) {
            Status = ViewEndSummary(Levels, Levels->FirstLevel, Index);
        }

        ViewRundownLevel(Levels->Allocator,
                         &Levels->Levels[Levels->FirstLevel]);
        Levels->FirstLevel += 1;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
ViewAddDoneBox(
    PREADER_LEVELS Levels,
    ULONG Row,
    PCREADER_BOX Box
    )
{
    NTSTATUS Status;

    Status = ViewGrowLevel(Levels, Levels->FirstLevel, Row);
    return NT_SUCCESS(Status)
               ? ViewPutBox(Levels, Levels->FirstLevel, Row, Box)
               : Status;
}


_Use_decl_annotations_
NTSTATUS
ViewFlushLevels(
    PREADER_LEVELS Levels
    )
{
    ULONG Level;
    ULONG Row;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Level = Levels->FirstLevel; Level < Levels->NumberOfLevels; Level++) {
        for (Row = 0;
             NT_SUCCESS(Status) && Row < Levels->Levels[Level].NumberOfRows;
             Row++) {
            Status = ViewEndSummary(Levels, Level, Row);
        }
    }

    return Status;
}


_Use_decl_annotations_
PCREADER_LEVEL
ViewChooseLevel(
    PCREADER_LEVELS Levels,
    ULONGLONG Resolution
    )
{
    ULONG Index = Levels->NumberOfLevels - 1;

    while (Index > Levels->FirstLevel &&
           Levels->Levels[Index].Resolution > Resolution) {
        Index -= 1;
    }

    return &Levels->Levels[Index];
}


_Use_decl_annotations_
ULONG
ViewFindBox(
    PCREADER_BOX_ROW Row,
    ULONGLONG Timestamp
    )
{
    ULONG First = 0;
    ULONG End = Row->NumberOfBoxes;
    ULONG Middle;

    while (First < End) {
        Middle = First + (End - First) / 2;
        if (Row->Boxes[Middle].Stop < Timestamp) {
            First = Middle + 1;
        } else {
            End = Middle;
        }
    }

    return First;
}


_Use_decl_annotations_
NTSTATUS
ViewCopyBoxes(
    PCREADER_LEVEL Level,
    ULONGLONG Begin,
    ULONGLONG End,
    ULONG MaximumRows,
    PREADER_LEVELS To
    )
{
    PCREADER_BOX_ROW From;
    READER_BOX Box;
    ULONG Index;
    ULONG Row;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Row = 0; Row < Level->NumberOfRows && Row < MaximumRows; Row++) {

        From = &Level->Rows[Row];
        for (Index = ViewFindBox(From, Begin);
             NT_SUCCESS(Status) && Index < From->NumberOfBoxes &&
             From->Boxes[Index].Start < End;
             Index++) {
            if (From->Boxes[Index].Stop <= Begin &&
                From->Boxes[Index].Start < Begin) {
                continue;
            }
            Status = ViewAddBox(To, Row, &From->Boxes[Index]);
        }

        //
        // What the level has not put together yet, while it is made.
        //

        if (NT_SUCCESS(Status) && From->Open.Box.Calls != 0 &&
            From->Open.Box.Start < End && From->Open.Box.Stop >= Begin) {

            Box = From->Open.Box;
            Box.Function = From->Open.Functions[0];
            if (Box.Calls > 1) {
                Box.Flags |= READER_BOX_SUMMARY;
                Box.Caller = 0;
            }
            Status = ViewAddBox(To, Row, &Box);
        }
    }

    return Status;
}

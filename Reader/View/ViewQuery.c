/*++

Module Name:

    ViewQuery.c

Abstract:

    The boxes of a range: from the levels where it has many records, from the
    records themselves where it has few.

--*/

#include "../Calls/CallIndex.h"
#include "../Calls/CallRead.h"
#include "../Calls/CallSkip.h"
#include "ViewPrivate.h"

//
// What becomes of a frame that is open where the range ends: the frame's Node.
//

#define READER_FRAME_WANTED 0u
#define READER_FRAME_DONE 1u            // it has its box
#define READER_FRAME_LATER 2u           // it begins behind the range

//
// So many records are read on behind a range, for the ends of calls that are
// not to be found in the finest level; and where there is none.
//

#define READER_VIEW_BEHIND 0x40000u
#define READER_VIEW_BEHIND_AT_ONCE 0x4000u

//
// A thread with more records is not read up to a range at once, when no index
// says how to get there.
//

#define READER_VIEW_SHORT 2000000u

typedef struct _READER_RAW {
    PREADER_VIEW View;
    PREADER_VIEW_THREAD Thread;
    ULONGLONG Begin;
    ULONGLONG End;
    ULONGLONG Resolution;
    ULONG MaximumDepth;
    ULONG Number;                       // of boxes, while each is a call
    ULONGLONG MaximumRecords;           // to read in the range
} READER_RAW;
typedef READER_RAW *PREADER_RAW;


//
// Adds a call to what is found.  Where there are too many to be a box each,
// those that there are go into levels that put them together.
//

_Must_inspect_result_
static
NTSTATUS
ViewFoundCall(
    _Inout_ PREADER_RAW Raw,
    _In_ ULONG Track,
    _In_ ULONG Depth,
    _In_ PCREADER_BOX Box
    )
{
    PREADER_VIEW View = Raw->View;
    PCALLOCATOR Allocator = View->Context->Allocator;
    READER_LEVELS Coarser;
    ULONG Row;
    NTSTATUS Status;

    if (Depth >= Raw->MaximumDepth || Box->Start >= Raw->End ||
        (Box->Stop <= Raw->Begin && Box->Start < Raw->Begin)) {
        return STATUS_SUCCESS;
    }

    Status = ViewFindRow(Allocator, Raw->Thread, Track, Depth, &Row);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Raw->Number += 1;
    if (Raw->Number == READER_VIEW_SINGLE) {

        ViewInitializeLevels(&Coarser, Allocator, Raw->Resolution, 0, 0);
        Status = ViewCopyBoxes(&View->Found.Levels[0],
                               0,
                               ~0ULL,
                               READER_NONE,
                               &Coarser);
        ViewRundownLevels(&View->Found);
        View->Found = Coarser;
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return ViewAddBox(&View->Found, Row, Box);
}


//
// Looks for the end of a call in the finest level, of which it is a box if it
// is long.
//

_Success_(return != FALSE)
static
BOOLEAN
ViewFindLongCall(
    _In_ PREADER_RAW Raw,
    _In_ ULONG Track,
    _In_ ULONG Depth,
    _In_ ULONGLONG Start,
    _Out_ PREADER_BOX Box
    )
{
    PREADER_VIEW_THREAD Thread = Raw->Thread;
    PCREADER_LEVEL Level;
    PCREADER_BOX_ROW Boxes;
    ULONG Index;
    ULONG Row;

    if (!Thread->IsBegun ||
        !NT_SUCCESS(ViewFindRow(Raw->View->Context->Allocator,
                                Thread,
                                Track,
                                Depth,
                                &Row))) {
        return FALSE;
    }

    for (Index = 0; Index < Thread->NumberOfOpenCalls; Index++) {
        if (Thread->OpenCalls[Index].Unused == Row &&
            Thread->OpenCalls[Index].Start == Start) {
            *Box = Thread->OpenCalls[Index];
            return TRUE;
        }
    }

    Level = &Thread->Levels.Levels[Thread->Levels.FirstLevel];
    if (Row >= Level->NumberOfRows) {
        return FALSE;
    }

    Boxes = &Level->Rows[Row];
    for (Index = ViewFindBox(Boxes, Start);
         Index < Boxes->NumberOfBoxes && Boxes->Boxes[Index].Start <= Start;
         Index++) {
        if (Boxes->Boxes[Index].Start == Start &&
            Boxes->Boxes[Index].Calls == 1 &&
            Boxes->Boxes[Index].Stop > Raw->End) {
            *Box = Boxes->Boxes[Index];
            return TRUE;
        }
    }

    return FALSE;
}


//
// The first record behind the range was read: decides of each call that is
// open what is still to be learned.
// Wanted: receives how many ends are still to be read.
//

_Must_inspect_result_
static
NTSTATUS
ViewLookAtOpenCalls(
    _Inout_ PREADER_RAW Raw,
    _Inout_ PREADER_STREAM Stream,
    _Out_ PULONG Wanted
    )
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    READER_BOX Box;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    *Wanted = 0;
    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            if (Frame->Node != READER_FRAME_WANTED) {
                continue;
            }

            if (CallFindEntry(Stream, Frame) >= Raw->End ||
                Depth >= Raw->MaximumDepth) {
                Frame->Node = READER_FRAME_LATER;
                continue;
            }

            if (ViewFindLongCall(Raw,
                                 Track,
                                 (ULONG)Depth,
                                 CallFindEntry(Stream, Frame),
                                 &Box)) {
                Frame->Node = READER_FRAME_DONE;
                Status = ViewFoundCall(Raw, Track, (ULONG)Depth, &Box);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
                continue;
            }

            *Wanted += 1;
        }
    }

    return STATUS_SUCCESS;
}


//
// The calls whose ends were not found in all that was read: they are open up
// to where that ends.
//

_Must_inspect_result_
static
NTSTATUS
ViewGiveUpOpenCalls(
    _Inout_ PREADER_RAW Raw,
    _Inout_ PREADER_STREAM Stream
    )
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    READER_BOX Box;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            if (Frame->Node != READER_FRAME_WANTED) {
                continue;
            }

            ViewFillBox(Raw->View,
                        CallFindEntry(Stream, Frame),
                        Stream->LastTimestamp,
                        Frame->Site,
                        Raw->View->Before.List[Frame->Function].Function,
                        READER_BOX_OPEN | READER_BOX_UNKNOWN,
                        &Box);
            Status = ViewFoundCall(Raw, Track, (ULONG)Depth, &Box);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


//
// Gives the frames that are open where the range begins the functions of the
// tally; they are wanted, too.
//

_Must_inspect_result_
static
NTSTATUS
ViewBeginRaw(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_STREAM Stream
    )
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Index;
    ULONG Track;
    NTSTATUS Status;

    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            Status = CallAddFunctionToTally(&View->Before,
                                            Frame->Function,
                                            &Index);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Frame->Function = Index;
            Frame->Node = READER_FRAME_WANTED;
        }
    }

    return STATUS_SUCCESS;
}


//
// Takes an event of the range, or of what is behind it.
//

_Must_inspect_result_
static
NTSTATUS
ViewTakeRawEvent(
    _Inout_ PREADER_RAW Raw,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsBehind
    )
{
    PREADER_VIEW View = Raw->View;
    READER_BOX Box;

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Node = IsBehind ? READER_FRAME_LATER
                                      : READER_FRAME_WANTED;
        Event->Frame->Function = View->Before.LastIndex;
        return STATUS_SUCCESS;
    }

    if (!ViewMakeBox(View, &View->Before, Event, &Box) ||
        Event->Frame->Node != READER_FRAME_WANTED) {
        return STATUS_SUCCESS;
    }

    return ViewFoundCall(Raw, Event->Track, Event->Depth, &Box);
}


//
// Reads the records up to the end of the range, ordinary calls by the fast way.
// STATUS_END_OF_FILE: that is done.
// STATUS_BUFFER_OVERFLOW: there are too many.
//

_Must_inspect_result_
static
NTSTATUS
ViewReadRaw(
    _Inout_ PREADER_RAW Raw,
    _Inout_ PREADER_STREAM Stream
    )
{
    PREADER_VIEW View = Raw->View;
    PCCORE_ENDED Call;
    CORE_EVENT Event;
    READER_BOX Box;
    ULONGLONG First = Stream->NumberOfRecords;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    while (NT_SUCCESS(Status)) {

        if (Stream->NumberOfRecords - First > Raw->MaximumRecords) {
            return STATUS_BUFFER_OVERFLOW;
        }

        if (!Stream->Pair.IsPending) {
            Status = CallRunStream(Stream);
        }

        for (Index = 0;
             NT_SUCCESS(Status) && Index < View->Ended.NumberOfCalls;
             Index++) {

            Call = &View->Ended.Calls[Index];
            ViewFillBox(View,
                        Call->EnterTimestamp,
                        Call->ExitTimestamp,
                        Call->Site,
                        View->Before.List[Call->Function].Function,
                        0,
                        &Box);
            Status = ViewFoundCall(Raw,
                                   Stream->Pair.Current,
                                   Call->Depth,
                                   &Box);
        }

        View->Ended.NumberOfCalls = 0;
        if (NT_SUCCESS(Status)) {
            Status = CallNextEvent(Stream, &Event);
        }

        if (NT_SUCCESS(Status)) {
            Status = ViewTakeRawEvent(Raw, &Event, FALSE);
        }
    }

    return Status;
}


//
// Reads on behind the range, for the ends of calls that are open there.
// STATUS_END_OF_FILE: the records end.
//

_Must_inspect_result_
static
NTSTATUS
ViewReadBehind(
    _Inout_ PREADER_RAW Raw,
    _Inout_ PREADER_STREAM Stream
    )
{
    CORE_EVENT Event;
    ULONGLONG First = Stream->NumberOfRecords;
    ULONG Wanted;
    NTSTATUS Status;

    Status = ViewLookAtOpenCalls(Raw, Stream, &Wanted);
    while (NT_SUCCESS(Status) && Wanted != 0) {

        Status = CallNextEvent(Stream, &Event);
        if (NT_SUCCESS(Status)) {
            Status = ViewTakeRawEvent(Raw, &Event, TRUE);
        }

        if (NT_SUCCESS(Status) && Event.Kind != CoreEventEnter &&
            !Stream->Pair.IsPending) {
            Status = ViewLookAtOpenCalls(Raw, Stream, &Wanted);
        }

        if (NT_SUCCESS(Status) &&
            Stream->NumberOfRecords - First >
                (Raw->Thread->IsBegun ? READER_VIEW_BEHIND
                                      : READER_VIEW_BEHIND_AT_ONCE)) {
            return ViewGiveUpOpenCalls(Raw, Stream);
        }
    }

    return Status;
}


//
// Reads the records of a range.
//

_Must_inspect_result_
static
NTSTATUS
ViewQueryRaw(
    _Inout_ PREADER_RAW Raw,
    _In_ ULONG Number
    )
{
    PREADER_VIEW View = Raw->View;
    READER_STREAM Stream;
    ULONGLONG Horizon;
    NTSTATUS Status;

    View->Before.Thread = Number;
    Status = CallPrepareTally(&View->Before);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = CallOpenStream(&Stream, &View->Session, Number, FALSE);
    if (NT_SUCCESS(Status) && Raw->MaximumRecords != ~0ULL &&
        (Stream.Index == NULL || Stream.Index->Header.NumberOfMarks == 0) &&
        ViewCountRecords(View, Number) > READER_VIEW_SHORT) {
        Status = STATUS_BUFFER_OVERFLOW;
    }

    if (NT_SUCCESS(Status)) {
        View->Threads[Number].NumberOfMarks =
            Stream.Index == NULL ? 0 : Stream.Index->Header.NumberOfMarks;
        Status = CallSkipStream(&View->Before, &Stream, Raw->Begin);
    }

    if (NT_SUCCESS(Status)) {
        Status = ViewBeginRaw(View, &Stream);
    }

    //
    // Up to the horizon the stream is one that goes on: its open frames do not
    // end there.
    //

    CallSetStreamTally(&Stream, &View->Before);
    if (NT_SUCCESS(Status)) {

        Horizon = Stream.Horizon;
        Stream.Horizon = Raw->End - 1;
        Stream.IsLive = TRUE;
        View->Before.Ended = &View->Ended;
        View->Before.IsEndedAlone = TRUE;
        View->Ended.NumberOfCalls = 0;
        Status = ViewReadRaw(Raw, &Stream);
        View->Before.Ended = NULL;
        View->Before.IsEndedAlone = FALSE;
        Stream.IsLive = FALSE;
        Stream.Horizon = Horizon;
        if (Status == STATUS_END_OF_FILE) {
            Status = ViewReadBehind(Raw, &Stream);
        }
    }

    CallSetStreamTally(&Stream, &View->Tally);
    CallCloseStream(&Stream);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


//
// How many records there may be in a range: what the samples say.
//

static
ULONGLONG
ViewEstimateRecords(
    _In_ const READER_VIEW_THREAD *Thread,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End
    )
{
    ULONGLONG Times[2] = { Begin, End };
    ULONG Places[2];
    ULONG Index;
    ULONG First;
    ULONG Last;
    ULONG Middle;

    for (Index = 0; Index < 2; Index++) {
        First = 0;
        Last = Thread->NumberOfSamples;
        while (First < Last) {
            Middle = First + (Last - First) / 2;
            if (Thread->Samples[Middle] < Times[Index]) {
                First = Middle + 1;
            } else {
                Last = Middle;
            }
        }
        Places[Index] = First;
    }

    return ((ULONGLONG)(Places[1] - Places[0]) + 1) * READER_VIEW_SAMPLE;
}


//
// About how many bytes of the thread's stores so many records in a row are.
//

static
ULONGLONG
ViewEstimateBytes(
    _In_ const READER_VIEW *View,
    _In_ ULONG Number,
    _In_ ULONGLONG Records
    )
{
    const READER_SESSION *Session = &View->Session;
    PREADER_STORE Each;
    ULONGLONG All = ViewCountRecords(View, Number);
    ULONGLONG Size = 0;
    ULONG Store = Session->Threads[Number].FirstStore;

    while (Store != READER_NONE) {
        Each = Session->Stores[Store];
        if (!Each->IsTree) {
            Size += Each->Pack != NULL || READER_IS_STORE_COMPACT(Each)
                        ? Each->FileSize
                        : Each->EndOfRecords - Each->StartOfRecords;
        }
        Store = Each->NextInThread;
    }

    return Records < All ? CoreMultiplyDivide(Size, Records, All) : Size;
}


//
// Records from one mark of the thread's index to the next: as the page makes
// them, unless the index that was used last has fewer marks (it is
// TraceReader's, or there was no room for more); not more than TraceReader's.
//

static
ULONGLONG
ViewGetInterval(
    _In_ const READER_VIEW *View,
    _In_ ULONG Number
    )
{
    ULONGLONG Marks = View->Threads[Number].NumberOfMarks;
    ULONGLONG Records = ViewCountRecords(View, Number);
    ULONGLONG Interval = CallChooseInterval(&View->Session, Records);

    if (Marks != 0 && Records / Marks > Interval) {
        Interval = Records / Marks;
    }

    return Interval < READER_INDEX_INTERVAL ? Interval : READER_INDEX_INTERVAL;
}


//
// Whether a range is to be read from the records: there are not too many, and
// the finest level does not show them well.
// Bytes: receives about how many that are at most, from a mark of the index on.
//

_Success_(return != FALSE)
static
BOOLEAN
ViewIsRaw(
    _In_ const READER_VIEW *View,
    _In_ ULONG Number,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_ ULONG Pixels,
    _Out_ PULONGLONG Bytes
    )
{
    PREADER_VIEW_THREAD Thread = &View->Threads[Number];
    ULONGLONG Resolution = (End - Begin) / (Pixels == 0 ? 1 : Pixels);
    ULONGLONG Interval;
    ULONGLONG Finest;
    ULONGLONG Records;

    if (!Thread->IsBegun) {
        return FALSE;
    }

    Finest = ViewChooseLevel(&Thread->Levels, Resolution)->Resolution;
    Records = ViewEstimateRecords(Thread, Begin, End);
    if (Finest <= Resolution || Records > READER_VIEW_RAW) {
        return FALSE;
    }

    Interval = ViewGetInterval(View, Number);
    *Bytes = ViewEstimateBytes(View, Number, Records + Interval);
    return Finest / READER_VIEW_RAW_PIXELS > Resolution ||
           ViewEstimateBytes(View, Number, Records + Interval / 2) <=
               READER_VIEW_RAW_BYTES;
}


_Use_decl_annotations_
ULONGLONG
ViewEstimateReading(
    const READER_VIEW *View,
    ULONG Number,
    ULONGLONG Begin,
    ULONGLONG End,
    ULONG Pixels
    )
{
    ULONGLONG Bytes;

    return ViewIsRaw(View, Number, Begin, End, Pixels, &Bytes) ? Bytes : 0;
}


_Use_decl_annotations_
NTSTATUS
ViewQueryAtOnce(
    PREADER_VIEW View,
    ULONG Number,
    ULONGLONG Begin,
    ULONGLONG End,
    ULONG Pixels,
    ULONG MaximumDepth,
    ULONGLONG MaximumRecords
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    READER_RAW Raw;
    NTSTATUS Status;

    ViewRundownLevels(&View->Found);
    View->FoundThread = Number;
    ViewInitializeLevels(&View->Found, Allocator, 0, 0, 0);
    Raw.View = View;
    Raw.Thread = &View->Threads[Number];
    Raw.Begin = Begin;
    Raw.End = End;
    Raw.Resolution = (End - Begin) / (Pixels == 0 ? 1 : Pixels);
    if (Raw.Resolution == 0) {
        Raw.Resolution = 1;
    }

    Raw.MaximumDepth = MaximumDepth;
    Raw.Number = 0;
    Raw.MaximumRecords = MaximumRecords;
    if (Raw.Thread->RowIndexes.Allocator == NULL) {
        BaseInitializeMap(&Raw.Thread->RowIndexes, Allocator);
    }

    Status = ViewQueryRaw(&Raw, Number);
    return NT_SUCCESS(Status) ? ViewFlushLevels(&View->Found) : Status;
}


_Use_decl_annotations_
NTSTATUS
ViewQuery(
    PREADER_VIEW View,
    ULONG Number,
    ULONGLONG Begin,
    ULONGLONG End,
    ULONG Pixels,
    ULONG MaximumDepth
    )
{
    PREADER_VIEW_THREAD Thread = &View->Threads[Number];
    PCREADER_LEVEL Level;
    ULONGLONG Resolution = (End - Begin) / (Pixels == 0 ? 1 : Pixels);
    ULONGLONG Bytes;
    READER_BOX Box;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Track;
    ULONG Row;
    NTSTATUS Status;

    ViewRundownLevels(&View->Found);
    View->FoundThread = Number;
    if (!Thread->IsBegun) {
        ViewInitializeLevels(&View->Found, View->Context->Allocator, 0, 0, 0);
        return STATUS_SUCCESS;
    }

    //
    // A stream of the thread is open while it is read; there can be no other.
    // Of one that is to be read further, what is behind that is not known.
    //

    if (View->Passing != Number && (Thread->IsDone || End <= Thread->Known) &&
        ViewIsRaw(View, Number, Begin, End, Pixels, &Bytes)) {
        return ViewQueryAtOnce(View,
                               Number,
                               Begin,
                               End,
                               Pixels,
                               MaximumDepth,
                               ~0ULL);
    }

    ViewInitializeLevels(&View->Found,
                         View->Context->Allocator,
                         Resolution == 0 ? 1 : Resolution,
                         0,
                         0);
    Level = ViewChooseLevel(&Thread->Levels, Resolution);
    Status = ViewCopyBoxes(Level,
                           Begin,
                           End,
                           READER_NONE,
                           &View->Found);

    //
    // The calls that are open where the reading is now.
    //

    if (View->Passing == Number) {
        for (Track = 0; Track < View->Stream.Pair.NumberOfStacks; Track++) {

            Stack = &View->Stream.Pair.Stacks[Track];
            for (Depth = 0;
                 NT_SUCCESS(Status) && Depth < Stack->NumberOfFrames;
                 Depth++) {

                Frame = &Stack->Frames[Depth];
                ViewFillBox(View,
                            CallFindEntry(&View->Stream, Frame),
                            Thread->Known,
                            Frame->Site,
                            View->Tally.List[Frame->Function].Function,
                            READER_BOX_OPEN | READER_BOX_UNKNOWN,
                            &Box);
                if (Box.Start >= End || Box.Stop < Begin) {
                    continue;
                }

                Status = ViewFindRow(View->Context->Allocator,
                                     Thread,
                                     Track,
                                     (ULONG)Depth,
                                     &Row);
                if (NT_SUCCESS(Status)) {
                    Status = ViewAddBox(&View->Found, Row, &Box);
                }
            }
        }
    }

    for (Row = 0;
         NT_SUCCESS(Status) && View->Passing != Number &&
         Row < Thread->NumberOfOpenCalls;
         Row++) {
        if (Thread->OpenCalls[Row].Start < End &&
            Thread->OpenCalls[Row].Stop > Begin) {
            Status = ViewAddBox(&View->Found,
                                Thread->OpenCalls[Row].Unused,
                                &Thread->OpenCalls[Row]);
        }
    }

    return NT_SUCCESS(Status) ? ViewFlushLevels(&View->Found) : Status;
}

/*++

Module Name:

    CallIndexRestore.c

Abstract:

    Moves a stream to a mark: puts the frames together that the mark and those
    before it have, and gives them to the pairing.

--*/

#include "../Core/CoreTree.h"
#include "CallIndexFile.h"
#include "CallSiteTable.h"

//
// A stack while it is put together from marks, the last one first.
//

typedef struct _READER_INDEX_RESTORE {
    PCORE_STACK Stacks;
    PULONG Missing;                 // frames below those that were found; the
                                    // number of frames is not known: all ones
    PULONG Order;
    ULONG NumberOfStacks;
    ULONG NumberOfIncomplete;
    ULONGLONG NumberOfFrames;       // of the stacks that are known
} READER_INDEX_RESTORE;
typedef READER_INDEX_RESTORE *PREADER_INDEX_RESTORE;

#define READER_INDEX_UNKNOWN 0xFFFFFFFFu


//
// Undoes CallPackKey.
// NumberOfStores: that the mark knows.
// Packed: the key in the file.
// Key: (module << 32) | RVA, or 0.
// Returns FALSE if there is no such store, or no such RVA in its module.
//

_Success_(return != FALSE)
static
BOOLEAN
CallUnpackKey(
    _In_ const READER_STREAM *Stream,
    _In_ ULONG NumberOfStores,
    _In_ ULONGLONG Packed,
    _Out_ PULONGLONG Key
    )
{
    ULONG Index = (ULONG)(Packed >> 32);
    PREADER_STREAM_STORE Part;

    *Key = 0;
    if (Packed == 0) {
        return TRUE;
    }

    if (Index >= NumberOfStores) {
        return FALSE;
    }

    Part = Stream->Stores[Index];
    if ((ULONG)Packed >= Part->Iterator.Check.ModuleSize) {
        return FALSE;
    }

    *Key = ((ULONGLONG)Part->Module << 32) | (ULONG)Packed;
    return TRUE;
}


//
// Change: what it has of the stack.
// Count: how many of them, from the first on, are not there yet.
// Returns FALSE if one cannot be what it is.
//

_Must_inspect_result_
static
BOOLEAN
CallTakeFrames(
    _In_ const READER_STREAM *Stream,
    _In_ PCREADER_INDEX_MARK Mark,
    _In_ const READER_INDEX_STACK *Change,
    _In_ const READER_INDEX_FRAME *Packed,
    _In_ ULONG Count,
    _Inout_ PCORE_STACK Stack
    )
{
    PCORE_FRAME Frame;
    ULONG Index;

    for (Index = 0; Index < Count; Index++, Packed++) {

        Frame = &Stack->Frames[Change->FirstFrame + Index];
        if ((Packed->Kind != TRACE_KIND_ENTER &&
             Packed->Kind != TRACE_KIND_ENTER_FUNCTION) ||
            Packed->EnterTimestamp == 0 ||
            Packed->EnterTimestamp > Mark->Timestamp ||
            Packed->NumberOfJumps > Mark->NumberOfJumps ||
            !CallUnpackKey(Stream,
                           Mark->NumberOfStores,
                           Packed->Site,
                           &Frame->Site) ||
            !CallUnpackKey(Stream,
                           Mark->NumberOfStores,
                           Packed->Physical,
                           &Frame->Physical)) {
            return FALSE;
        }

        Frame->EnterTimestamp = Packed->EnterTimestamp;
        Frame->ChildTicks = Packed->ChildTicks;
        Frame->Stack = Packed->Stack;
        Frame->Top = Packed->Top;
        Frame->BodySize = Packed->BodySize;
        Frame->Kind = Packed->Kind;
        Frame->Flags = Packed->Flags;
        Frame->Function = 0;
        Frame->Node = 0;
        Frame->NumberOfJumps = Packed->NumberOfJumps;
    }

    return TRUE;
}


//
// Takes what a mark has of the stacks and later ones have not.
// Returns FALSE if the mark cannot be right, or there is no memory.
//

_Must_inspect_result_
static
BOOLEAN
CallTakeMark(
    _In_ const READER_STREAM *Stream,
    _In_ PCREADER_INDEX_MARK Mark,
    _Inout_ PREADER_INDEX_RESTORE Restore
    )
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    const READER_INDEX_STACK *Change = READER_MARK_STACKS(Mark);
    const READER_INDEX_FRAME *Packed = READER_MARK_FRAMES(Mark);
    PCORE_STACK Stack;
    ULONG Remaining = Mark->NumberOfFrames;
    ULONG Number;
    ULONG Count;
    ULONG Index;

    for (Index = 0; Index < Mark->NumberOfChanges; Index++, Change++) {

        if (Change->Stack >= Restore->NumberOfStacks ||
            Change->FirstFrame > Change->NumberOfFrames ||
            Change->NumberOfFrames - Change->FirstFrame > Remaining) {
            return FALSE;
        }

        Number = Change->NumberOfFrames - Change->FirstFrame;
        Stack = &Restore->Stacks[Change->Stack];

        if (Restore->Missing[Change->Stack] == READER_INDEX_UNKNOWN) {

            //
            // Every frame is somewhere in the file.
            //

            Restore->NumberOfFrames += Change->NumberOfFrames;
            if (Restore->NumberOfFrames > Stream->Index->Header.EndOfMarks /
                                              sizeof(READER_INDEX_FRAME)) {
                return FALSE;
            }

            Restore->Missing[Change->Stack] = Change->NumberOfFrames;
            Stack->Lowest = Change->Lowest;
            Stack->Highest = Change->Highest;
            Stack->LeftTimestamp = Change->LeftTimestamp;
            if (!CallUnpackKey(Stream,
                               Mark->NumberOfStores,
                               Change->JumpTarget,
                               &Stack->JumpTarget)) {
                return FALSE;
            }

            if (Change->NumberOfFrames != 0) {
                Stack->Frames = (PCORE_FRAME)
                    Allocator->Allocate(Allocator->Context,
                                        CORE_STACK_BYTES(
                                            Change->NumberOfFrames));
                if (Stack->Frames == NULL) {
                    return FALSE;
                }
            }

            Stack->NumberOfFrames = Change->NumberOfFrames;
            Stack->Capacity = Change->NumberOfFrames;
            if (Change->NumberOfFrames == 0) {
                Restore->NumberOfIncomplete -= 1;
            }
        }

        //
        // The frames follow one another, so those that are missing are below
        // those that are there.
        //

        if (Restore->Missing[Change->Stack] > Change->NumberOfFrames) {
            return FALSE;
        }

        if (Restore->Missing[Change->Stack] > Change->FirstFrame) {

            Count = Restore->Missing[Change->Stack] - Change->FirstFrame;
            if (!CallTakeFrames(Stream,
                                Mark,
                                Change,
                                Packed,
                                Count,
                                Stack)) {
                return FALSE;
            }

            Restore->Missing[Change->Stack] = Change->FirstFrame;
            if (Change->FirstFrame == 0) {
                Restore->NumberOfIncomplete -= 1;
            }
        }

        Packed += Number;
        Remaining -= Number;
    }

    return TRUE;
}


//
// Orders stacks by their addresses.
// First, Second: their indexes.
// Returns negative, zero or positive.
//

static
LONG
CallCompareStacks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCORE_STACK Stacks = (PCORE_STACK)CompareContext;

    if (Stacks[First].Lowest != Stacks[Second].Lowest) {
        return Stacks[First].Lowest < Stacks[Second].Lowest ? -1 : 1;
    }

    return First < Second ? -1 : First != Second;
}


//
// Puts the stacks together from a mark and those before it.
// Offset: where the mark is.
// Mark: the mark, in the buffer.
// Restore: all zeroes; receives the stacks, to be freed even after a failure.
// Returns FALSE if that is not possible.
//

_Must_inspect_result_
static
BOOLEAN
CallCollectStacks(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _In_ PREADER_INDEX_MARK Mark,
    _Inout_ PREADER_INDEX_RESTORE Restore
    )
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    SIZE_T NumberOfStacks = Mark->NumberOfStacks;
    ULONGLONG Previous;
    ULONG Number;
    ULONG Index;

    Restore->Stacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(CORE_STACK));
    Restore->Missing = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(ULONG));
    Restore->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(ULONG));
    if (Restore->Stacks == NULL || Restore->Missing == NULL ||
        Restore->Order == NULL) {
        return FALSE;
    }

    Restore->NumberOfStacks = (ULONG)NumberOfStacks;
    Restore->NumberOfIncomplete = (ULONG)NumberOfStacks;
    RtlZeroBytes(Restore->Stacks, NumberOfStacks * sizeof(CORE_STACK));
    for (Index = 0; Index < Restore->NumberOfStacks; Index++) {
        Restore->Missing[Index] = READER_INDEX_UNKNOWN;
        Restore->Order[Index] = Index + 1;
    }

    for (;;) {

        if (!CallTakeMark(Stream, Mark, Restore)) {
            return FALSE;
        }

        if (Restore->NumberOfIncomplete == 0) {
            break;
        }

        Number = Mark->Number;
        Previous = Mark->Previous;
        if (Number == 0) {
            return FALSE;
        }

        Mark = CallIndexReadMark(Stream, Previous, Offset, Number - 1);
        if (Mark == NULL) {
            return FALSE;
        }

        Offset = Previous;
    }

    BaseSort(Restore->Order,
             Restore->NumberOfStacks - 1,
             CallCompareStacks,
             Restore->Stacks);
    return TRUE;
}


//
// Finds the functions of a stack's frames, and sees to it that the frames are
// what their entries make of them.
// Tally: the tally of the stream.
// Returns FALSE if not, or there is no memory.
//

_Must_inspect_result_
static
BOOLEAN
CallDescribeFrames(
    _Inout_ PREADER_TALLY Tally,
    _In_ const CORE_STACK *Stack
    )
{
    PCORE_FRAME Frame;
    PCORE_FRAME Parent;
    CORE_CALL Call;
    ULONG BodySize;
    ULONG Waits;
    ULONG Top;
    SIZE_T Depth;
    NTSTATUS Status;

    for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

        Frame = &Stack->Frames[Depth];
        Parent = Depth != 0 ? Frame - 1 : NULL;
        RtlZeroBytes(&Call, sizeof(Call));
        Call.Site = Frame->Site;
        Call.Kind = Frame->Kind;
        Call.Stack = Frame->Stack;
        Status = CallDescribeCallInTally(Tally, &Call);
        if (!NT_SUCCESS(Status) ||
            (Parent != NULL &&
             Parent->EnterTimestamp > Frame->EnterTimestamp)) {
            return FALSE;
        }

        //
        // What waits is not the image's to say, and is not in a mark.
        //

        Waits = Call.Flags & CORE_CALL_WAITS;
        Call.Flags &= ~(ULONG)CORE_CALL_WAITS;
        Frame->Function = Tally->LastIndex;
        if ((Frame->Flags & CORE_FRAME_INLINED) != 0 && Parent != NULL) {

            if (Frame->Physical != Parent->Physical ||
                Frame->Top != Parent->Top ||
                Frame->BodySize != 0 ||
                Frame->Flags != ((Parent->Flags & ~CORE_CALL_WAITS) |
                                 CORE_FRAME_INLINED)) {
                return FALSE;
            }

            Frame->Flags |= Waits;
            continue;
        }

        Top = Frame->Stack;
        BodySize = 0;
        if ((Call.Flags & CORE_CALL_FRAME_KNOWN) != 0) {
            Top += Call.FrameSize;
            BodySize = Call.BodySize;
        }

        if (Frame->Physical != Call.Function ||
            Frame->Flags != Call.Flags ||
            Frame->Top != Top ||
            Frame->BodySize != BodySize) {
            return FALSE;
        }

        Frame->Flags |= Waits;
    }

    return TRUE;
}


//
// Says of the modules of which there are entries before a mark what would have
// been said if those had been read, in the same order.
// Stores, NumberOfStores: what the mark has of its stores.
//

static
VOID
CallEnterModules(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_reads_(NumberOfStores) const READER_INDEX_STORE *Stores,
    _In_ ULONG NumberOfStores
    )
{
    PREADER_STREAM_STORE Part;
    ULONG Order;
    ULONG Index;

    for (Order = 1; Order <= NumberOfStores; Order++) {
        for (Index = 0; Index < NumberOfStores; Index++) {

            Part = Stream->Stores[Index];
            if (Stores[Index].Flags >> READER_INDEX_ENTERED_SHIFT != Order) {
                continue;
            }

            Part->Entered = Order;
            Stream->NumberEntered = Order;
            CallNoteModule(Tally, Part->Module);
        }
    }
}


_Use_decl_annotations_
BOOLEAN
CallRestoreStream(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    READER_INDEX_RESTORE Restore;
    READER_INDEX_MARK Found;
    PREADER_INDEX_STORE Stores = NULL;
    PREADER_INDEX_STORE Known;
    PREADER_INDEX_MARK Mark;
    READER_ITERATOR *Iterator;
    ULONGLONG Offset;
    ULONG Index;
    BOOLEAN IsRestored = FALSE;
    NTSTATUS Status;

    if (Stream->Index == NULL || Stream->Index->Header.NumberOfMarks == 0 ||
        !Stream->Index->IsReading) {
        return FALSE;
    }

    RtlZeroBytes(&Restore, sizeof(Restore));
    Mark = CallFindMark(Stream, Timestamp - 1, &Offset);
    if (Mark == NULL || !CallIsMarkOfStream(Stream, Mark)) {
        return FALSE;
    }

    //
    // The buffer goes to the marks before.
    //

    Found = *Mark;
    Stores = (PREADER_INDEX_STORE)
        Allocator->Allocate(Allocator->Context,
                            Found.NumberOfStores *
                                sizeof(READER_INDEX_STORE));
    if (Stores == NULL) {
        return FALSE;
    }

    RtlCopyBytes(Stores,
                 READER_MARK_STORES(Mark),
                 Found.NumberOfStores * sizeof(READER_INDEX_STORE));
    if (!CallCollectStacks(Stream, Offset, Mark, &Restore)) {
        goto End;
    }

    CallEnterModules(Tally, Stream, Stores, Found.NumberOfStores);
    for (Index = 0; Index < Restore.NumberOfStacks; Index++) {
        if (!CallDescribeFrames(Tally, &Restore.Stacks[Index])) {
            goto End;
        }
    }

    Status = CoreRestorePair(&Stream->Pair,
                             Restore.Stacks,
                             Restore.Order,
                             Restore.NumberOfStacks,
                             Found.Current,
                             Found.Timestamp);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // The pairing has the frames now.
    //

    Restore.NumberOfStacks = 0;
    for (Index = 0; Index < Found.NumberOfStores; Index++) {
        Known = &Stores[Index];
        Iterator = &Stream->Stores[Index]->Iterator;
        SessionSeekIterator(Iterator,
                            Known->Position,
                            Known->PreviousTimestamp);
        Iterator->NumberOfRecords = Known->Flags & READER_INDEX_SEEN;
        Iterator->NumberOfBadRecords = Known->NumberOfBadRecords;
        Iterator->FirstBadOffset = Known->FirstBadOffset;
        Iterator->FirstBadState = (CORE_RECORD_STATE)Known->FirstBadState;
    }

    Stream->LastTimestamp = Found.Timestamp;
    CallSetStreamPause(Stream);
    Stream->NumberOfJumps = Found.NumberOfJumps;
    Stream->IsAfterJump = (Found.Flags & READER_INDEX_AFTER_JUMP) != 0;
    Stream->NumberOfRecords = Found.NumberOfRecords;
    Stream->NumberOfEntries = Found.NumberOfEntries;
    Stream->IsWithoutEntries = Found.NumberOfEntries == 0;
    Stream->NumberPassedBy = Found.NumberOfRecords;
    Stream->PassedTimestamp = Found.Timestamp;
    IsRestored = TRUE;

End:
    for (Index = 0; Index < Restore.NumberOfStacks; Index++) {
        Allocator->Free(Allocator->Context, Restore.Stacks[Index].Frames);
    }

    Allocator->Free(Allocator->Context, Restore.Stacks);
    Allocator->Free(Allocator->Context, Restore.Missing);
    Allocator->Free(Allocator->Context, Restore.Order);
    Allocator->Free(Allocator->Context, Stores);
    return IsRestored;
}

/*++

Module Name:

    ExportHtmlDetail.c

Abstract:

    What the timeline of the HTML export shows: every call, until there are
    more than can be shown.  From then on the tracks with the most are made
    coarser: calls shorter than the track's resolution become blocks.

    A track's items are in the order in which calls end, so that what is
    inside of a call comes just before it.  A call that is too short takes the
    blocks inside of it with it (they are shorter still), and joins the block
    before it if that is at the same depth and near: what is added costs the
    same whatever came before.  A coarser track is the finer one's items, added
    again.

--*/

#include "ExportHtml.h"

//
// A block ends where nothing is called for longer than the resolution, and
// after that many times the resolution, so that it says where its calls were.
//

#define READER_DETAIL_SPAN 64u

#define READER_DETAIL_FIRST_RESOLUTION 16u
#define READER_DETAIL_LAST_RESOLUTION (1ULL << 56)


_Use_decl_annotations_
VOID
ExportInitializeDetail(
    PREADER_DETAIL Detail,
    PCALLOCATOR Allocator,
    ULONG MaximumItems,
    ULONG MaximumRows
    )
{
    RtlZeroBytes(Detail, sizeof(*Detail));
    Detail->Allocator = Allocator;
    Detail->MaximumItems = MaximumItems;
    Detail->MaximumRows = MaximumRows;
}


//
// Frees a list of chunks.
// Allocator: where they came from.
// Chunk: the first one, or NULL.
//

static
VOID
ExportFreeChunks(
    _In_ PCALLOCATOR Allocator,
    _In_opt_ PREADER_DETAIL_CHUNK Chunk
    )
{
    PREADER_DETAIL_CHUNK Next;

    while (Chunk != NULL) {
        Next = Chunk->Next;
        Allocator->Free(Allocator->Context, Chunk);
        Chunk = Next;
    }
}


_Use_decl_annotations_
VOID
ExportRundownDetail(
    PREADER_DETAIL Detail
    )
{
    ULONG Index;

    if (Detail->Allocator == NULL) {
        return;
    }

    for (Index = 0; Index < Detail->NumberOfTracks; Index++) {
        ExportFreeChunks(Detail->Allocator, Detail->Tracks[Index].First);
    }

    ExportFreeChunks(Detail->Allocator, Detail->Free);
    Detail->Allocator->Free(Detail->Allocator->Context, Detail->Tracks);
    RtlZeroBytes(Detail, sizeof(*Detail));
}


_Use_decl_annotations_
NTSTATUS
ExportAddDetailTrack(
    PREADER_DETAIL Detail,
    ULONG Thread,
    ULONG Fiber,
    PULONG Track
    )
{
    PREADER_DETAIL_TRACK New;
    NTSTATUS Status;

    Status = BaseGrowArray(Detail->Allocator,
                           (PVOID *)&Detail->Tracks,
                           &Detail->CapacityOfTracks,
                           Detail->NumberOfTracks + 1,
                           sizeof(READER_DETAIL_TRACK));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Track = Detail->NumberOfTracks;
    Detail->NumberOfTracks += 1;
    New = &Detail->Tracks[*Track];
    RtlZeroBytes(New, sizeof(*New));
    New->Thread = Thread;
    New->Fiber = Fiber;
    return STATUS_SUCCESS;
}


//
// Finds the item that was added last.
// Returns the item, or NULL.
//

static
PREADER_DETAIL_ITEM
ExportLastDetail(
    _In_ PCREADER_DETAIL_TRACK Track
    )
{
    if (Track->Last == NULL) {
        return NULL;
    }

    return &Track->Last->Items[Track->Last->NumberOfItems - 1];
}


//
// Takes the last item away.
// Track: the track, which is not empty.
//

static
VOID
ExportRemoveLastDetail(
    _Inout_ PREADER_DETAIL Detail,
    _Inout_ PREADER_DETAIL_TRACK Track
    )
{
    PREADER_DETAIL_CHUNK Chunk = Track->Last;

    Track->NumberOfItems -= 1;
    Detail->NumberOfItems -= 1;
    Chunk->NumberOfItems -= 1;
    if (Chunk->NumberOfItems != 0) {
        return;
    }

    Track->Last = Chunk->Previous;
    if (Track->Last == NULL) {
        Track->First = NULL;
    } else {
        Track->Last->Next = NULL;
    }

    Chunk->Next = Detail->Free;
    Detail->Free = Chunk;
}


//
// Puts an item after the others.
//

_Must_inspect_result_
static
NTSTATUS
ExportAppendDetail(
    _Inout_ PREADER_DETAIL Detail,
    _Inout_ PREADER_DETAIL_TRACK Track,
    _In_ PCREADER_DETAIL_ITEM Item
    )
{
    PREADER_DETAIL_CHUNK Chunk = Track->Last;

    if (Chunk == NULL || Chunk->NumberOfItems == READER_DETAIL_CHUNK_ITEMS) {

        Chunk = Detail->Free;
        if (Chunk != NULL) {
            Detail->Free = Chunk->Next;
        } else {
            Chunk = (PREADER_DETAIL_CHUNK)
                Detail->Allocator->Allocate(Detail->Allocator->Context,
                                            sizeof(READER_DETAIL_CHUNK));
            if (Chunk == NULL) {
                return STATUS_NO_MEMORY;
            }
        }

        Chunk->NumberOfItems = 0;
        Chunk->Next = NULL;
        Chunk->Previous = Track->Last;
        if (Track->Last == NULL) {
            Track->First = Chunk;
        } else {
            Track->Last->Next = Chunk;
        }
        Track->Last = Chunk;
    }

    Chunk->Items[Chunk->NumberOfItems] = *Item;
    Chunk->NumberOfItems += 1;
    Track->NumberOfItems += 1;
    Detail->NumberOfItems += 1;
    return STATUS_SUCCESS;
}


//
// Adds a block to the one before it. What is kept of functions is one that has
// more of the time than all others together, if there is one: each tick of
// another one's is taken off against one of its own.
//
// Next: the block after it.
//

static
VOID
ExportJoinDetail(
    _Inout_ PREADER_DETAIL_ITEM Block,
    _In_ PCREADER_DETAIL_ITEM Next
    )
{
    if (Block->Function == Next->Function) {
        Block->Excess += Next->Excess;
    } else if (Block->Excess >= Next->Excess) {
        Block->Excess -= Next->Excess;
    } else {
        Block->Excess = Next->Excess - Block->Excess;
        Block->Function = Next->Function;
    }

    if (Next->End > Block->End) {
        Block->End = Next->End;
    }

    Block->Count += Next->Count;
    Block->Busy += Next->Busy;
    Block->Flags |= Next->Flags;
}


//
// Adds an item at the track's resolution.
// Item: the item, complete; is changed.
//

_Must_inspect_result_
static
NTSTATUS
ExportPutDetail(
    _Inout_ PREADER_DETAIL Detail,
    _Inout_ PREADER_DETAIL_TRACK Track,
    _Inout_ PREADER_DETAIL_ITEM Item
    )
{
    ULONGLONG Resolution = Track->Resolution;
    PREADER_DETAIL_ITEM Last;

    if ((Item->Flags & READER_DETAIL_BLOCK) == 0) {

        if (Item->End - Item->Start >= Resolution &&
            Item->Depth < Detail->MaximumRows) {
            return ExportAppendDetail(Detail, Track, Item);
        }

        Item->Flags |= READER_DETAIL_BLOCK;
    }

    //
    // What is inside of it: only blocks, unless it became one for its depth.
    // In the last row are all depths from there on.
    //

    Last = ExportLastDetail(Track);
    while (Last != NULL && Last->Start >= Item->Start &&
           (Last->Depth > Item->Depth ||
            (Last->Depth == Item->Depth &&
             Item->Depth >= Detail->MaximumRows))) {

        Item->Count += Last->Count;
        Item->Flags |= Last->Flags;
        ExportRemoveLastDetail(Detail, Track);
        Last = ExportLastDetail(Track);
    }

    if (Last != NULL && Last->Depth == Item->Depth &&
        (Last->Flags & READER_DETAIL_BLOCK) != 0 &&
        (Item->Start <= Last->End ||
         Item->Start - Last->End <= Resolution) &&
        Item->End - Last->Start <= Resolution * READER_DETAIL_SPAN) {

        ExportJoinDetail(Last, Item);
        return STATUS_SUCCESS;
    }

    return ExportAppendDetail(Detail, Track, Item);
}


_Use_decl_annotations_
NTSTATUS
ExportCoarsenDetail(
    PREADER_DETAIL Detail
    )
{
    PREADER_DETAIL_TRACK Track = NULL;
    PREADER_DETAIL_CHUNK Chunk;
    PREADER_DETAIL_CHUNK Next;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Detail->NumberOfTracks; Index++) {
        if (Detail->Tracks[Index].Resolution <
                READER_DETAIL_LAST_RESOLUTION &&
            (Track == NULL ||
             Detail->Tracks[Index].NumberOfItems > Track->NumberOfItems)) {
            Track = &Detail->Tracks[Index];
        }
    }

    if (Track == NULL) {
        return STATUS_NO_MORE_ENTRIES;
    }

    Track->Resolution += Track->Resolution / 4;
    Track->Resolution += READER_DETAIL_FIRST_RESOLUTION;

    Chunk = Track->First;
    Detail->NumberOfItems -= Track->NumberOfItems;
    Track->NumberOfItems = 0;
    Track->First = NULL;
    Track->Last = NULL;

    while (Chunk != NULL) {

        for (Index = 0; Index < Chunk->NumberOfItems; Index++) {

            Status = ExportPutDetail(Detail, Track, &Chunk->Items[Index]);
            if (!NT_SUCCESS(Status)) {
                ExportFreeChunks(Detail->Allocator, Chunk);
                return Status;
            }
        }

        Next = Chunk->Next;
        Chunk->Next = Detail->Free;
        Detail->Free = Chunk;
        Chunk = Next;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ExportAddDetail(
    PREADER_DETAIL Detail,
    ULONG Track,
    PCREADER_DETAIL_ITEM Call
    )
{
    PREADER_DETAIL_TRACK On = &Detail->Tracks[Track];
    READER_DETAIL_ITEM Item = *Call;
    NTSTATUS Status;

    if (Item.End < Item.Start) {
        Item.End = Item.Start;
    }

    Item.Count = 1;
    Item.Busy = Item.End - Item.Start;
    Item.Excess = Item.Busy;
    if (Item.Depth > Detail->MaximumRows) {
        Item.Depth = Detail->MaximumRows;
    }

    On->NumberOfCalls += 1;
    if (Item.Depth >= On->NumberOfRows) {
        On->NumberOfRows = Item.Depth + 1;
    }

    Status = ExportPutDetail(Detail, On, &Item);
    if (!NT_SUCCESS(Status) ||
        Detail->NumberOfItems <= Detail->MaximumItems) {
        return Status;
    }

    while (Detail->NumberOfItems > Detail->MaximumItems / 4 * 3) {
        Status = ExportCoarsenDetail(Detail);
        if (!NT_SUCCESS(Status)) {
            return Status == STATUS_NO_MORE_ENTRIES ? STATUS_SUCCESS : Status;
        }
    }

    return STATUS_SUCCESS;
}

/*++

Module Name:

    CallIndexWrite.c

Abstract:

    Adds marks to an index where a stream is.

--*/

#include "../Session/SessionProcess.h"
#include "CallIndexFile.h"

//
// The header is written anew after that many marks.
//

#define READER_INDEX_FLUSH 64u


//
// Makes a key that says which of the thread's stores instead of which of the
// session's modules.
// Key: (module << 32) | RVA; 0: none.
// Returns (store << 32) | RVA, or 0.
//

static
ULONGLONG
CallPackKey(
    _In_ const READER_STREAM *Stream,
    _In_ ULONGLONG Key
    )
{
    ULONG Index;

    for (Index = 0; Key != 0 && Index < Stream->NumberOfStores; Index++) {
        if (Stream->Stores[Index]->Module == (ULONG)(Key >> 32)) {
            return ((ULONGLONG)Index << 32) | (ULONG)Key;
        }
    }

    return 0;
}


_Use_decl_annotations_
BOOLEAN
CallWriteIndexHeader(
    PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;
    NTSTATUS Status;

    Index->Header.Checksum = CallHashHeader(&Index->Header);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          0,
                          &Index->Header,
                          sizeof(Index->Header));
    Index->NumberOfUnnamed = 0;
    Index->NearLength = 0;
    return NT_SUCCESS(Status);
}


//
// Opens an index for writing. Only one can have it so.
// Returns FALSE if it is not to be written: it is another's, the folder is not
// to be written in, or the file is not an index.
//

static
BOOLEAN
CallBeginWriting(
    _Inout_ PREADER_STREAM Stream
    )
{
    PCREADER_CONTEXT Context = Stream->Session->Context;
    PREADER_INDEX Index = Stream->Index;
    READER_SOURCE Source;
    READER_INDEX_HEADER Header;
    ULONGLONG Size;
    NTSTATUS Status;

    //
    // A pack has what it has.
    //

    if (Stream->Session->Pack != NULL) {
        return FALSE;
    }

    Status = RtlCreateFile(Context->Rtl,
                           &Index->Path,
                           RTL_OPEN_ALWAYS,
                           &Index->Writing);
    if (!NT_SUCCESS(Status)) {
        Index->Writing = NULL;
        return FALSE;
    }

    Status = RtlQueryFileSize(Context->Rtl, Index->Writing, &Size);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    RtlZeroBytes(&Header, sizeof(Header));
    RtlZeroBytes(&Source, sizeof(Source));
    Source.Context = Context;
    Source.File = Index->Writing;
    if (Size != 0 &&
        (!CallIndexFileReadExactly(&Source,
                                   0,
                                   &Header,
                                   sizeof(Header)) ||
         Header.Magic != READER_INDEX_MAGIC)) {
        return FALSE;
    }

    if (Index->Header.NumberOfMarks != 0) {
        return (BOOLEAN)RtlAreBytesEqual(&Header,
                                         &Index->Header,
                                         sizeof(Header));
    }

    //
    // A new one, or instead of one that was of no use.
    //

    Status = RtlSetFileSize(Context->Rtl, Index->Writing, 0);
    Index->Header.Magic = READER_INDEX_MAGIC;
    Index->Header.Version = READER_INDEX_VERSION;
    Index->Header.EndOfMarks = sizeof(Header);
    Index->Header.JumpTicks = Stream->Session->JumpTicks;
    Index->Header.PauseHash = Stream->PauseHash;
    return NT_SUCCESS(Status) && CallWriteIndexHeader(Stream);
}


//
// Decides whether what has been read is what everybody will have read who
// comes to this place.
// Returns FALSE if records of one of several stores may yet come that belong
// before what was read of the others.
//

static
BOOLEAN
CallCanMark(
    _In_ const READER_STREAM *Stream
    )
{
    const READER_SESSION *Session = Stream->Session;
    PREADER_STREAM_STORE Part;
    ULONG Index;

    if (Stream->NumberOfStores == 1) {
        return TRUE;
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        if (Part->Head != NULL) {
            if (Part->Head->Timestamp <= Stream->LastTimestamp) {
                return FALSE;
            }

        } else if (!Part->IsEnded ||
                   (!SessionIsWriterGone(Session,
                                         Session->Stores[Part->Store]) &&
                    Session->Stores[Part->Store]->Header->State ==
                        TRACE_STATE_OPEN)) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Decides whether a stack is not as it was at the mark before.
//
// A stack that did not run since is, but for what a pause changes.
//
// Stream: the stream, with an index.
// Place: the stack's index.
//

static
BOOLEAN
CallIsStackChanged(
    _In_ const READER_STREAM *Stream,
    _In_ ULONG Place
    )
{
    ULONGLONG Timestamp = Stream->Index->LastTimestamp;

    return Place == Stream->Pair.Current ||
           Stream->Pair.Stacks[Place].LeftTimestamp >= Timestamp ||
           Stream->Pair.StartTimestamp > Timestamp;
}


//
// Finds the first frame of a stack that is not as it was at the mark before.
//
// A frame that was entered before that has been open since. All below it are
// as they were, but what its own callees took has grown. A pause changes them
// all.
//
// Stream: the stream, with an index.
// Returns the frame's index; 0 if there is none.
//

static
ULONG
CallFindFirstChange(
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_STACK *Stack
    )
{
    ULONGLONG Timestamp = Stream->Index->LastTimestamp;
    SIZE_T First = Stack->NumberOfFrames;

    if (Stream->Pair.StartTimestamp > Timestamp) {
        return 0;
    }

    while (First != 0 &&
           Stack->Frames[First - 1].EnterTimestamp >= Timestamp) {
        First -= 1;
    }

    return First != 0 ? (ULONG)(First - 1) : 0;
}


//
// Puts the state of the stores, the stacks that ran since the mark before and
// their frames into a mark.
// Stream: the stream, with nothing left to take.
// Mark: the mark, with room for what its numbers say, and otherwise zeroes.
//

static
VOID
CallFillMark(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_INDEX_MARK Mark
    )
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX_STORE Known = READER_MARK_STORES(Mark);
    PREADER_INDEX_STACK Change = READER_MARK_STACKS(Mark);
    PREADER_INDEX_FRAME Packed = READER_MARK_FRAMES(Mark);
    PREADER_STREAM_STORE Part;
    PREADER_STORE Store;
    const CORE_STACK *Stack;
    const CORE_FRAME *Frame;
    TRACE_RECORD Record;
    SIZE_T Depth;
    ULONG Index;

    for (Index = 0; Index < Stream->NumberOfStores; Index++, Known++) {

        Part = Stream->Stores[Index];
        Store = Session->Stores[Part->Store];
        Known->Identity = CallIdentifyStore(Store->Header);
        Known->Position = SessionQueryPosition(&Part->Iterator) -
                          (Part->Head != NULL ? TRACE_RECORD_SIZE : 0);
        Known->PreviousTimestamp = Part->Iterator.Check.PreviousTimestamp;
        Known->NumberOfBadRecords = Part->Iterator.NumberOfBadRecords;
        Known->FirstBadOffset = Part->Iterator.FirstBadOffset;
        Known->FirstBadState = (ULONG)Part->Iterator.FirstBadState;
        if (Part->Iterator.NumberOfRecords >
            (ULONGLONG)(Part->Head != NULL)) {
            Known->Flags = READER_INDEX_SEEN |
                           CallDescribeImage(Session->Modules[Part->Module]) |
                           Part->Entered << READER_INDEX_ENTERED_SHIFT;
        }

        if (Known->Position != Store->StartOfRecords &&
            CallIndexFileReadRecord(Stream,
                                    Store,
                                    Known->Position - TRACE_RECORD_SIZE,
                                    &Record)) {
            RtlCopyBytes(Known->LastRecord,
                         &Record,
                         sizeof(Known->LastRecord));
        }
    }

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        Stack = &Stream->Pair.Stacks[Index];
        if (!CallIsStackChanged(Stream, Index)) {
            continue;
        }

        Change->Stack = Index;
        Change->Lowest = Stack->Lowest;
        Change->Highest = Stack->Highest;
        Change->JumpTarget = CallPackKey(Stream, Stack->JumpTarget);
        Change->LeftTimestamp = Stack->LeftTimestamp;
        Change->NumberOfFrames = (ULONG)Stack->NumberOfFrames;
        Change->FirstFrame = CallFindFirstChange(Stream, Stack);
        for (Depth = Change->FirstFrame;
             Depth < Stack->NumberOfFrames;
             Depth++, Packed++) {

            Frame = &Stack->Frames[Depth];
            Packed->EnterTimestamp = Frame->EnterTimestamp;
            Packed->ChildTicks = Frame->ChildTicks;
            Packed->Site = CallPackKey(Stream, Frame->Site);
            Packed->Physical = CallPackKey(Stream, Frame->Physical);
            Packed->Stack = Frame->Stack;
            Packed->Top = Frame->Top;
            Packed->BodySize = Frame->BodySize;
            Packed->Kind = Frame->Kind;
            Packed->Flags = Frame->Flags & ~(CORE_FRAME_LOOKED_AT |
                                             CORE_CALL_WAITS);
            Packed->NumberOfJumps = Frame->NumberOfJumps;
        }

        Change++;
    }
}


//
// Adds a mark to the index, unless that would make it too large.
// Stream: the stream, with an index that is being written, and nothing left to
// take.
// Returns FALSE if no more can be added.
//

static
BOOLEAN
CallWriteMark(
    _Inout_ PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    const CORE_STACK *Stack;
    ULONGLONG NumberOfFrames = 0;
    ULONGLONG NumberOfChanges = 0;
    ULONGLONG Offset = Index->Header.EndOfMarks;
    ULONGLONG Limit;
    ULONGLONG Size;
    ULONG Number = (ULONG)Index->Header.NumberOfMarks;
    ULONG Level = 0;
    ULONG Place;
    NTSTATUS Status;

    for (Place = 0; Place < Stream->Pair.NumberOfStacks; Place++) {
        Stack = &Stream->Pair.Stacks[Place];
        if (CallIsStackChanged(Stream, Place)) {
            NumberOfChanges += 1;
            NumberOfFrames += Stack->NumberOfFrames -
                              CallFindFirstChange(Stream, Stack);
        }
    }

    Size = sizeof(READER_INDEX_MARK) +
           (ULONGLONG)Stream->NumberOfStores * sizeof(READER_INDEX_STORE) +
           NumberOfChanges * sizeof(READER_INDEX_STACK) +
           NumberOfFrames * sizeof(READER_INDEX_FRAME);
    Limit = READER_INDEX_LIMIT(Stream->NumberOfRecords);
    if (Size > READER_INDEX_MAXIMUM_MARK || Offset + Size > Limit ||
        Number == READER_NONE) {

        //
        // The next one also has what this one would have had.
        //

        Index->Header.NumberLeftOut += 1;
        return TRUE;
    }

    Status = CallGrowMarkBuffer(Stream, (ULONG)Size);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Mark = (PREADER_INDEX_MARK)Index->Buffer;
    RtlZeroBytes(Mark, (SIZE_T)Size);
    Mark->SizeInBytes = (ULONG)Size;
    Mark->Number = Number;
    Mark->Timestamp = Stream->LastTimestamp;
    Mark->NumberOfRecords = Stream->NumberOfRecords;
    Mark->NumberOfJumps = Stream->NumberOfJumps;
    Mark->Flags = Stream->IsAfterJump ? READER_INDEX_AFTER_JUMP : 0;
    Mark->NumberOfStores = Stream->NumberOfStores;
    Mark->NumberOfStacks = Stream->Pair.NumberOfStacks;
    Mark->NumberOfChanges = (ULONG)NumberOfChanges;
    Mark->NumberOfFrames = (ULONG)NumberOfFrames;
    Mark->Current = Stream->Pair.Current;
    if (!Stream->IsWithoutEntries &&
        Stream->NumberOfRecords <= READER_INDEX_MAXIMUM_ENTRIES) {
        Mark->NumberOfEntries = (ULONG)Stream->NumberOfEntries;
    }

    CallFillMark(Stream, Mark);

    //
    // 2^Level is the lowest bit of the number.
    //

    if (Number != 0) {
        while ((Number & (1u << Level)) == 0) {
            Level += 1;
        }

        Mark->Previous = Index->Header.LastMark;
        Mark->Jump = Index->Offsets[Level + 1];
    } else {
        Level = RTL_NUMBER_OF(Index->Offsets) - 1;
    }

    for (Place = 0; Place <= Level; Place++) {
        Index->Offsets[Place] = Offset;
    }

    Mark->Checksum = CallHashMark(Mark, Offset);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          Offset,
                          Mark,
                          Mark->SizeInBytes);
    Index->NearLength = 0;
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Header.LastMark = Offset;
    Index->Header.NumberOfMarks += 1;
    Index->Header.EndOfMarks = Offset + Size;
    Index->NumberOfUnnamed += 1;
    return Index->NumberOfUnnamed < READER_INDEX_FLUSH ||
           CallWriteIndexHeader(Stream);
}


_Use_decl_annotations_
VOID
CallMarkStream(
    PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;

    if (Stream->Pair.IsPending || Stream->Pair.IsFinishing ||
        Stream->LastTimestamp == 0 || !CallCanMark(Stream)) {
        return;
    }

    if ((Index->Writing == NULL && !CallBeginWriting(Stream)) ||
        !CallWriteMark(Stream)) {

        //
        // What the header names is whole.  Its marks may still be read.
        //

        if (Index->Writing != NULL) {
            RtlClose(Stream->Session->Context->Rtl, Index->Writing);
            Index->Writing = NULL;
        }

        Index->Due = READER_MAXIMUM_TIMESTAMP;
        return;
    }

    Index->Due = Stream->NumberOfRecords + Index->Interval;
}


_Use_decl_annotations_
VOID
CallNameMarks(
    PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;

    if (Index != NULL && Index->Writing != NULL &&
        Index->NumberOfUnnamed != 0) {
        (VOID)CallWriteIndexHeader(Stream);
    }
}

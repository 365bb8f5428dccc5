/*++

Module Name:

    ReaderIndexWrite.c

Abstract:

    Adds marks to an index where a stream is.

--*/

#include "ReaderIndex.h"

//
// The header is written anew after that many marks.
//

#define READER_INDEX_FLUSH 64u


static
ULONGLONG
ReaderPackKey(
    _In_ const READER_STREAM *Stream,
    _In_ ULONGLONG Key
    )
/*++

Routine Description:

    Makes a key that says which of the thread's stores instead of which of the
    session's modules.

Arguments:

    Stream - The stream.

    Key - (module << 32) | RVA; 0: none.

Return Value:

    (store << 32) | RVA, or 0.

--*/
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
ReaderWriteIndexHeader(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Writes the header of an index: what it does not name is not there.

Arguments:

    Stream - The stream, with an index that is being written.

Return Value:

    FALSE if it cannot be written.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    NTSTATUS Status;

    Index->Header.Checksum = ReaderHashHeader(&Index->Header);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          0,
                          &Index->Header,
                          sizeof(Index->Header));
    Index->NumberOfUnnamed = 0;
    return NT_SUCCESS(Status);
}


static
BOOLEAN
ReaderBeginWriting(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Opens an index for writing.  Only one can have it so.

Arguments:

    Stream - The stream, with an index.

Return Value:

    FALSE if it is not to be written: it is another's, the folder is not to be
    written in, or the file is not an index.

--*/
{
    PCREADER_CONTEXT Context = Stream->Session->Context;
    PREADER_INDEX Index = Stream->Index;
    READER_INDEX_HEADER Header;
    ULONGLONG Size;
    NTSTATUS Status;

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
    if (Size != 0 &&
        (!ReaderReadExactly(Context,
                            Index->Writing,
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
    return NT_SUCCESS(Status) && ReaderWriteIndexHeader(Stream);
}


static
BOOLEAN
ReaderCanMark(
    _In_ const READER_STREAM *Stream
    )
/*++

Routine Description:

    Decides whether what has been read is what everybody will have read who
    comes to this place.

Arguments:

    Stream - The stream.

Return Value:

    FALSE if records of one of several stores may yet come that belong before
    what was read of the others.

--*/
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
                   (!ReaderIsWriterGone(Session,
                                        Session->Stores[Part->Store]) &&
                    Session->Stores[Part->Store]->Header->State ==
                        TRACE_STATE_OPEN)) {
            return FALSE;
        }
    }

    return TRUE;
}


static
BOOLEAN
ReaderIsStackChanged(
    _In_ const READER_STREAM *Stream,
    _In_ ULONG Place
    )
/*++

Routine Description:

    Decides whether a stack is not as it was at the mark before.

    A stack that did not run since is, but for what a pause changes.

Arguments:

    Stream - The stream, with an index.

    Place - The stack's index.

Return Value:

    TRUE if it is not.

--*/
{
    ULONGLONG Timestamp = Stream->Index->LastTimestamp;

    return Place == Stream->Pair.Current ||
           Stream->Pair.Stacks[Place].LeftTimestamp >= Timestamp ||
           Stream->Pair.StartTimestamp > Timestamp;
}


static
ULONG
ReaderFindFirstChange(
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Finds the first frame of a stack that is not as it was at the mark before.

    A frame that was entered before that has been open since.  All below it
    are as they were, but what its own callees took has grown.  A pause changes
    them all.

Arguments:

    Stream - The stream, with an index.

    Stack - The stack.

Return Value:

    The frame's index; 0 if there is none.

--*/
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


static
VOID
ReaderFillMark(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_INDEX_MARK Mark
    )
/*++

Routine Description:

    Puts the state of the stores, the stacks that ran since the mark before
    and their frames into a mark.

Arguments:

    Stream - The stream, with nothing left to take.

    Mark - The mark, with room for what its numbers say, and otherwise zeroes.

Return Value:

    None.

--*/
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
        Known->Identity = ReaderIdentifyStore(Store->Header);
        Known->Position = ReaderQueryPosition(&Part->Iterator) -
                          (Part->Head != NULL ? TRACE_RECORD_SIZE : 0);
        Known->PreviousTimestamp = Part->Iterator.Check.PreviousTimestamp;
        Known->NumberOfBadRecords = Part->Iterator.NumberOfBadRecords;
        Known->FirstBadOffset = Part->Iterator.FirstBadOffset;
        Known->FirstBadState = (ULONG)Part->Iterator.FirstBadState;
        if (Part->Iterator.NumberOfRecords >
            (ULONGLONG)(Part->Head != NULL)) {
            Known->Flags = READER_INDEX_SEEN |
                           ReaderDescribeImage(Session->Modules[Part->Module]) |
                           Part->Entered << READER_INDEX_ENTERED_SHIFT;
        }

        if (Known->Position != Store->StartOfRecords &&
            ReaderReadOneRecord(Stream,
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
        if (!ReaderIsStackChanged(Stream, Index)) {
            continue;
        }

        Change->Stack = Index;
        Change->Lowest = Stack->Lowest;
        Change->Highest = Stack->Highest;
        Change->JumpTarget = ReaderPackKey(Stream, Stack->JumpTarget);
        Change->LeftTimestamp = Stack->LeftTimestamp;
        Change->NumberOfFrames = (ULONG)Stack->NumberOfFrames;
        Change->FirstFrame = ReaderFindFirstChange(Stream, Stack);
        for (Depth = Change->FirstFrame;
             Depth < Stack->NumberOfFrames;
             Depth++, Packed++) {

            Frame = &Stack->Frames[Depth];
            Packed->EnterTimestamp = Frame->EnterTimestamp;
            Packed->ChildTicks = Frame->ChildTicks;
            Packed->Site = ReaderPackKey(Stream, Frame->Site);
            Packed->Physical = ReaderPackKey(Stream, Frame->Physical);
            Packed->Stack = Frame->Stack;
            Packed->Top = Frame->Top;
            Packed->BodySize = Frame->BodySize;
            Packed->Kind = Frame->Kind;
            Packed->Flags = Frame->Flags;
            Packed->NumberOfJumps = Frame->NumberOfJumps;
        }

        Change++;
    }
}


static
BOOLEAN
ReaderWriteMark(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Adds a mark to the index, unless that would make it too large.

Arguments:

    Stream - The stream, with an index that is being written, and nothing left
        to take.

Return Value:

    FALSE if no more can be added.

--*/
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
        if (ReaderIsStackChanged(Stream, Place)) {
            NumberOfChanges += 1;
            NumberOfFrames += Stack->NumberOfFrames -
                              ReaderFindFirstChange(Stream, Stack);
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

    Status = ReaderGrowMarkBuffer(Stream, (ULONG)Size);
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
    ReaderFillMark(Stream, Mark);

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

    Mark->Checksum = ReaderHashMark(Mark, Offset);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          Offset,
                          Mark,
                          Mark->SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Header.LastMark = Offset;
    Index->Header.NumberOfMarks += 1;
    Index->Header.EndOfMarks = Offset + Size;
    Index->NumberOfUnnamed += 1;
    return Index->NumberOfUnnamed < READER_INDEX_FLUSH ||
           ReaderWriteIndexHeader(Stream);
}


_Use_decl_annotations_
VOID
ReaderMarkStream(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Adds a mark where a stream is, if it can be added.

Arguments:

    Stream - The stream, with nothing left to take, and an index in which a
        mark is due.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;

    if (Stream->Pair.IsPending || Stream->Pair.IsFinishing ||
        Stream->LastTimestamp == 0 || !ReaderCanMark(Stream)) {
        return;
    }

    if ((Index->Writing == NULL && !ReaderBeginWriting(Stream)) ||
        !ReaderWriteMark(Stream)) {

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
ReaderNameMarks(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Names in the file what marks were added since that was done last.

Arguments:

    Stream - The stream, with an index or without.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;

    if (Index != NULL && Index->Writing != NULL &&
        Index->NumberOfUnnamed != 0) {
        (VOID)ReaderWriteIndexHeader(Stream);
    }
}

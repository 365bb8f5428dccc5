/*++

Module Name:

    ReaderIndexRead.c

Abstract:

    Finds a mark in the file of an index, and sees to it that it is whole and
    of the thread's stores as they are now.

--*/

#include "ReaderIndex.h"


_Use_decl_annotations_
PREADER_INDEX_MARK
ReaderReadMark(
    PREADER_STREAM Stream,
    ULONGLONG Offset,
    ULONGLONG End,
    ULONG Number
    )
/*++

Routine Description:

    Reads a mark into the buffer, and sees to it that its parts are in it.

Arguments:

    Stream - The stream, with an index whose file is open.

    Offset - Where the mark is in the file.

    End - Where it ends at the latest.

    Number - Its number.

Return Value:

    The mark, good until the next one is read; NULL: there is none.

--*/
{
    PCREADER_CONTEXT Context = Stream->Session->Context;
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    READER_INDEX_MARK First;
    ULONGLONG Size;

    if (Offset < sizeof(READER_INDEX_HEADER) ||
        Offset % sizeof(ULONGLONG) != 0 ||
        Offset >= End ||
        End - Offset < sizeof(First) ||
        !ReaderReadExactly(Context,
                           Index->Reading,
                           Offset,
                           &First,
                           sizeof(First))) {
        return NULL;
    }

    Size = sizeof(READER_INDEX_MARK) +
           (ULONGLONG)First.NumberOfStores * sizeof(READER_INDEX_STORE) +
           (ULONGLONG)First.NumberOfChanges * sizeof(READER_INDEX_STACK) +
           (ULONGLONG)First.NumberOfFrames * sizeof(READER_INDEX_FRAME);
    if (First.SizeInBytes != Size ||
        Size > READER_INDEX_MAXIMUM_MARK ||
        Size > End - Offset ||
        First.Number != Number ||
        First.NumberOfStores == 0 ||
        First.NumberOfStores > Stream->NumberOfStores ||
        First.NumberOfStacks == 0 ||
        First.NumberOfStacks > Index->Header.EndOfMarks /
                                   sizeof(READER_INDEX_STACK) ||
        First.NumberOfChanges > First.NumberOfStacks ||
        First.Current >= First.NumberOfStacks ||
        (Number != 0 && (First.Previous >= Offset || First.Jump >= Offset)) ||
        !NT_SUCCESS(ReaderGrowMarkBuffer(Stream, First.SizeInBytes)) ||
        !ReaderReadExactly(Context,
                           Index->Reading,
                           Offset,
                           Index->Buffer,
                           First.SizeInBytes)) {
        return NULL;
    }

    //
    // Somebody may have written it anew meanwhile.
    //

    Mark = (PREADER_INDEX_MARK)Index->Buffer;
    if (!RtlAreBytesEqual(Mark, &First, sizeof(First)) ||
        (READER_INDEX_IS_CHECKED &&
         Mark->Checksum != ReaderHashMark(Mark, Offset))) {
        return NULL;
    }

    return Mark;
}


_Use_decl_annotations_
BOOLEAN
ReaderIsMarkOfStream(
    PREADER_STREAM Stream,
    PCREADER_INDEX_MARK Mark
    )
/*++

Routine Description:

    Decides whether a mark is of the stream's stores as they are now.

Arguments:

    Stream - The stream.

    Mark - The mark.

Return Value:

    FALSE if not: then no mark is of use.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX_STORE Known;
    PREADER_STREAM_STORE Part;
    PREADER_STORE Store;
    PREADER_MODULE Module;
    TRACE_RECORD Record;
    ULONGLONG Last[2];
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        Store = Session->Stores[Part->Store];

        //
        // A store that is newer than the mark has nothing before it.
        //

        if (Index >= Mark->NumberOfStores) {
            if (Store->FirstTimestamp != 0 &&
                Store->FirstTimestamp <= Mark->Timestamp) {
                return FALSE;
            }

            continue;
        }

        Known = &READER_MARK_STORES(Mark)[Index];
        if (Known->Identity != ReaderIdentifyStore(Store->Header) ||
            Known->Position < Store->StartOfRecords ||
            Known->Position > Store->EndOfRecords ||
            (Known->Position - Store->StartOfRecords) % TRACE_RECORD_SIZE !=
                0 ||
            Known->FirstBadState > CoreRecordBadTime ||
            (Store->Header->Clock != TRACE_CLOCK_TSC &&
             Store->Header->Clock != TRACE_CLOCK_THREAD)) {
            return FALSE;
        }

        if (Known->Position != Store->StartOfRecords) {

            if (!ReaderReadOneRecord(Stream,
                                     Store,
                                     Known->Position - TRACE_RECORD_SIZE,
                                     &Record)) {
                return FALSE;
            }

            RtlCopyBytes(Last, &Record, sizeof(Last));
            if (Last[0] != Known->LastRecord[0] ||
                Last[1] != Known->LastRecord[1]) {
                return FALSE;
            }
        }

        //
        // With several stores the next record of each has to be later than
        // what was read of the others.
        //

        if (Stream->NumberOfStores > 1 &&
            Known->Position < Store->EndOfRecords &&
            (!ReaderReadOneRecord(Stream, Store, Known->Position, &Record) ||
             Record.Timestamp <= Mark->Timestamp)) {
            return FALSE;
        }

        if ((Known->Flags & READER_INDEX_SEEN) != 0) {
            Module = Session->Modules[Part->Module];
            Status = ReaderLoadModuleSymbols(Session, Module);
            if (!NT_SUCCESS(Status) ||
                (Known->Flags & READER_INDEX_UNWIND) !=
                    ReaderDescribeImage(Module)) {
                return FALSE;
            }
        }
    }

    return TRUE;
}


static
VOID
ReaderFindOffsets(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Finds the marks that later ones jump to.

    Offsets[n] is where the last mark is whose number is a multiple of 2^n.

Arguments:

    Stream - The stream, with a valid index; without it if a mark is missing.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Offset = Index->Header.LastMark;
    ULONGLONG End = Index->Header.EndOfMarks;
    ULONG Number = (ULONG)Index->Header.NumberOfMarks - 1;
    ULONG Level = 0;

    for (;;) {

        Mark = ReaderReadMark(Stream, Offset, End, Number);
        if (Mark == NULL) {
            RtlZeroBytes(&Index->Header, sizeof(Index->Header));
            return;
        }

        while (Level < RTL_NUMBER_OF(Index->Offsets) &&
               (Number & (((ULONGLONG)1 << Level) - 1)) == 0) {
            Index->Offsets[Level] = Offset;
            Level += 1;
        }

        if (Number == 0) {
            return;
        }

        End = Offset;
        Offset = Mark->Jump;
        Number &= Number - 1;
    }
}


_Use_decl_annotations_
VOID
ReaderLoadIndex(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Opens the file of an index and decides whether it is one of the stream.

Arguments:

    Stream - The stream, with an index; the number of marks in its header is
        set, to 0 if it is not.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX Index = Stream->Index;
    READER_INDEX_HEADER *Header = &Index->Header;
    PREADER_INDEX_MARK Mark;
    NTSTATUS Status;

    Status = RtlOpenFileForReading(Session->Context->Rtl,
                                   &Index->Path,
                                   &Index->Reading);
    if (!NT_SUCCESS(Status)) {
        Index->Reading = NULL;
        return;
    }

    if (!ReaderReadExactly(Session->Context,
                           Index->Reading,
                           0,
                           Header,
                           sizeof(*Header)) ||
        Header->Magic != READER_INDEX_MAGIC ||
        Header->Version != READER_INDEX_VERSION ||
        Header->JumpTicks != Session->JumpTicks ||
        Header->PauseHash != Stream->PauseHash ||
        Header->NumberOfMarks == 0 ||
        Header->NumberOfMarks > READER_NONE ||
        Header->EndOfMarks > Index->MaximumSize ||
        (READER_INDEX_IS_CHECKED &&
         Header->Checksum != ReaderHashHeader(Header))) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Mark = ReaderReadMark(Stream,
                          Header->LastMark,
                          Header->EndOfMarks,
                          (ULONG)Header->NumberOfMarks - 1);
    if (Mark == NULL || !ReaderIsMarkOfStream(Stream, Mark)) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Due = Mark->NumberOfRecords + Index->Interval;
    ReaderFindOffsets(Stream);
    if (Header->NumberOfMarks == 0) {
        Index->LastTimestamp = 0;
        Index->Due = Index->Interval;
    }
}


_Use_decl_annotations_
PREADER_INDEX_MARK
ReaderFindMark(
    PREADER_STREAM Stream,
    ULONGLONG Timestamp,
    PULONGLONG Offset
    )
/*++

Routine Description:

    Finds the last mark that is not after a time.

Arguments:

    Stream - The stream, with an index.

    Timestamp - The time.

    Offset - Receives where the mark is in the file.

Return Value:

    The mark, or NULL.

--*/
{
    const READER_INDEX_HEADER *Header = &Stream->Index->Header;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Previous;
    ULONGLONG Jump;
    ULONGLONG End;
    ULONG Number = (ULONG)Header->NumberOfMarks - 1;

    *Offset = Header->LastMark;
    Mark = ReaderReadMark(Stream, *Offset, Header->EndOfMarks, Number);

    while (Mark != NULL && Mark->Timestamp > Timestamp) {

        if (Number == 0) {
            return NULL;
        }

        //
        // As far back as the mark there is still too late, or else by one.
        //

        End = *Offset;
        Previous = Mark->Previous;
        Jump = Mark->Jump;
        Mark = ReaderReadMark(Stream, Jump, End, Number & (Number - 1));
        if (Mark == NULL) {
            return NULL;
        }

        if (Mark->Timestamp > Timestamp) {
            *Offset = Jump;
            Number &= Number - 1;
        } else {
            *Offset = Previous;
            Number -= 1;
            Mark = ReaderReadMark(Stream, *Offset, End, Number);
        }
    }

    return Mark;
}

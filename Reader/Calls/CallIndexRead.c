/*++

Module Name:

    CallIndexRead.c

Abstract:

    Finds a mark in the file of an index, and sees to it that it is whole and
    of the thread's stores as they are now.

--*/

#include "../Functions/Function.h"
#include "CallIndexFile.h"


_Use_decl_annotations_
PREADER_INDEX_MARK
CallIndexReadMark(
    PREADER_STREAM Stream,
    ULONGLONG Offset,
    ULONGLONG End,
    ULONG Number
    )
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    READER_INDEX_MARK First;
    ULONGLONG Size;

    if (Offset < sizeof(READER_INDEX_HEADER) ||
        Offset % sizeof(ULONGLONG) != 0 ||
        Offset >= End ||
        End - Offset < sizeof(First) ||
        !CallIndexFileReadNear(Stream, Offset, &First, sizeof(First))) {
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
        !NT_SUCCESS(CallGrowMarkBuffer(Stream, First.SizeInBytes)) ||
        !CallIndexFileReadNear(Stream,
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
         Mark->Checksum != CallHashMark(Mark, Offset))) {
        return NULL;
    }

    return Mark;
}


_Use_decl_annotations_
BOOLEAN
CallIsMarkOfStream(
    PREADER_STREAM Stream,
    PCREADER_INDEX_MARK Mark
    )
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
        if (Known->Identity != CallIdentifyStore(Store->Header) ||
            Known->Position < Store->StartOfRecords ||
            Known->Position > Store->EndOfRecords ||
            (Known->Position - Store->StartOfRecords) % TRACE_RECORD_SIZE !=
                0 ||
            Known->FirstBadState > CoreRecordBadBlock ||
            (Store->Header->Clock != TRACE_CLOCK_TSC &&
             Store->Header->Clock != TRACE_CLOCK_THREAD)) {
            return FALSE;
        }

        if (Known->Position != Store->StartOfRecords) {

            if (!CallIndexFileReadRecord(Stream,
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
            (!CallIndexFileReadRecord(Stream,
                                      Store,
                                      Known->Position,
                                      &Record) ||
             Record.Timestamp <= Mark->Timestamp)) {
            return FALSE;
        }

        if ((Known->Flags & READER_INDEX_SEEN) != 0) {
            Module = Session->Modules[Part->Module];
            Status = FunctionLoadModuleSymbols(Session, Module);
            if (!NT_SUCCESS(Status) ||
                (Known->Flags & READER_INDEX_UNWIND) !=
                    CallDescribeImage(Module)) {
                return FALSE;
            }
        }
    }

    return TRUE;
}


//
// Finds the marks that later ones jump to.
//
// Offsets[n] is where the last mark is whose number is a multiple of 2^n.
//
// Stream: the stream, with a valid index; without it if a mark is missing.
//

static
VOID
CallFindOffsets(
    _Inout_ PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Offset = Index->Header.LastMark;
    ULONGLONG End = Index->Header.EndOfMarks;
    ULONG Number = (ULONG)Index->Header.NumberOfMarks - 1;
    ULONG Level = 0;

    for (;;) {

        Mark = CallIndexReadMark(Stream, Offset, End, Number);
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
CallLoadIndex(
    PREADER_STREAM Stream
    )
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX Index = Stream->Index;
    READER_INDEX_HEADER *Header = &Index->Header;
    PREADER_INDEX_MARK Mark;
    NTSTATUS Status;

    Status = SessionOpenSource(Session->Context,
                               Session->Pack,
                               &Index->Path,
                               &Index->Source);
    if (!NT_SUCCESS(Status)) {
        return;
    }

    Index->IsReading = TRUE;
    if (!CallIndexFileReadExactly(&Index->Source,
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
         Header->Checksum != CallHashHeader(Header))) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Mark = CallIndexReadMark(Stream,
                             Header->LastMark,
                             Header->EndOfMarks,
                             (ULONG)Header->NumberOfMarks - 1);
    if (Mark == NULL || !CallIsMarkOfStream(Stream, Mark)) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Due = Mark->NumberOfRecords + Index->Interval;
    CallFindOffsets(Stream);
    if (Header->NumberOfMarks == 0) {
        Index->LastTimestamp = 0;
        Index->Due = Index->Interval;
    }
}


_Use_decl_annotations_
PREADER_INDEX_MARK
CallFindMark(
    PREADER_STREAM Stream,
    ULONGLONG Timestamp,
    PULONGLONG Offset
    )
{
    const READER_INDEX_HEADER *Header = &Stream->Index->Header;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Previous;
    ULONGLONG Jump;
    ULONGLONG End;
    ULONG Number = (ULONG)Header->NumberOfMarks - 1;

    *Offset = Header->LastMark;
    Mark = CallIndexReadMark(Stream, *Offset, Header->EndOfMarks, Number);

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
        Mark = CallIndexReadMark(Stream, Jump, End, Number & (Number - 1));
        if (Mark == NULL) {
            return NULL;
        }

        if (Mark->Timestamp > Timestamp) {
            *Offset = Jump;
            Number &= Number - 1;
        } else {
            *Offset = Previous;
            Number -= 1;
            Mark = CallIndexReadMark(Stream, *Offset, End, Number);
        }
    }

    return Mark;
}

/*++

Module Name:

    CoreLive.c

Abstract:

    Reading what a writer may be changing: the end of the records, and the
    records themselves.  The reader only loads; it can neither stop nor slow
    the writer.

--*/

#include "CoreLive.h"

//
// A change of view takes the writer some hundred nanoseconds between two
// states of rest, so this many tries only run out on a damaged header.
//

#define CORE_MAXIMUM_TRIES 10000


_Use_decl_annotations_
BOOLEAN
CoreReadEndOfRecords(
    PCTRACE_STORE_HEADER Header,
    PULONGLONG EndOfRecords
    )
{
    ULONG Try;

    for (Try = 0; Try < CORE_MAXIMUM_TRIES; Try++) {

        uint32_t Generation = RtlLoadAcquire32(&Header->Generation);
        ULONGLONG End;

        if ((Generation & 1) != 0) {
            End = RtlLoadAcquire64(&Header->ViewFileOffset);
        } else {
            End = RtlLoadAcquire64(&Header->Cursor);
            End += RtlLoadAcquire64(&Header->CursorToFileOffset);
        }

        if (RtlLoadAcquire32(&Header->Generation) == Generation) {
            *EndOfRecords = End;
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
ULONGLONG
CoreReadFirstRecord(
    PCTRACE_STORE_HEADER Header
    )
{
    ULONGLONG First = RtlLoadAcquire64(&Header->FirstPosition);

    if (Header->RingSizeInBytes == 0 || First < Header->HeaderSize) {
        return Header->HeaderSize;
    }

    return First - First % TRACE_RECORD_SIZE;
}


_Use_decl_annotations_
VOID
CoreReadBlocks(
    PCTRACE_STORE_HEADER Header,
    PCORE_BLOCKS Blocks
    )
{
    Blocks->First = CoreReadFirstRecord(Header);
    Blocks->End = RtlLoadAcquire64(&Header->BlocksEnd);
    Blocks->Oldest = RtlLoadAcquire64(&Header->BlocksFirst);
    Blocks->Tail = RtlLoadAcquire64(&Header->BlocksTail);
    Blocks->FileOffset = RtlLoadAcquire64(&Header->BlocksFileOffset);
}


_Use_decl_annotations_
BOOLEAN
CoreAreBlocksGood(
    PCTRACE_STORE_HEADER Header,
    PCCORE_BLOCKS Blocks
    )
{
    //
    // The oldest is read after the end: it may have passed it meanwhile.
    //

    return Blocks->End <= CORE_MAXIMUM_STREAM &&
           Blocks->Oldest <= CORE_MAXIMUM_STREAM &&
           Blocks->FileOffset <= CORE_MAXIMUM_STREAM &&
           Blocks->End % sizeof(ULONGLONG) == 0 &&
           Blocks->Oldest % sizeof(ULONGLONG) == 0 &&
           (Header->BlocksCapacity == 0
                ? Blocks->Oldest <= Blocks->End
                : Blocks->Oldest >= Blocks->End ||
                      Blocks->End - Blocks->Oldest <=
                          Header->BlocksCapacity);
}


_Use_decl_annotations_
ULONGLONG
CoreStreamToFileOffset(
    PCTRACE_STORE_HEADER Header,
    PCCORE_BLOCKS Blocks,
    ULONGLONG StreamOffset,
    PULONGLONG SizeInBytes
    )
{
    ULONGLONG Offset = StreamOffset;

    *SizeInBytes = CORE_MAXIMUM_STREAM;
    if (StreamOffset >= Blocks->Tail) {
        return Header->HeaderSize + (StreamOffset - Blocks->Tail);
    }

    if (Header->BlocksCapacity != 0) {
        Offset %= Header->BlocksCapacity;
        *SizeInBytes = Header->BlocksCapacity - Offset;
    }

    if (*SizeInBytes > Blocks->Tail - StreamOffset) {
        *SizeInBytes = Blocks->Tail - StreamOffset;
    }

    return Blocks->FileOffset + Offset;
}


_Use_decl_annotations_
ULONGLONG
CorePositionToFileOffset(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG Position,
    PULONGLONG SizeInBytes
    )
{
    ULONGLONG InRing;

    if (Header->RingSizeInBytes == 0) {
        *SizeInBytes = (~0ULL - Position) / TRACE_RECORD_SIZE *
                       TRACE_RECORD_SIZE;
        return Position;
    }

    if (Position < Header->RingFileOffset) {
        *SizeInBytes = Header->RingFileOffset - Position +
                       Header->RingSizeInBytes;
        return Position;
    }

    InRing = (Position - Header->RingFileOffset) % Header->RingSizeInBytes;
    *SizeInBytes = Header->RingSizeInBytes - InRing;
    return Header->RingFileOffset + InRing;
}


//
// The same as CoreFindRecords of what is raw in a compact store.
//

static
CORE_END_STATE
CoreFindRawRecords(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG EndOfRecords,
    _In_ ULONGLONG FirstRecord,
    _In_ ULONGLONG FileSize,
    _Out_ PCORE_RANGE Range
    )
{
    ULONGLONG RingEnd = Header->RingFileOffset + Header->RingSizeInBytes;
    ULONGLONG Offset;
    ULONGLONG Together;

    if (EndOfRecords < Header->FirstPosition ||
        EndOfRecords > CORE_MAXIMUM_STREAM ||
        (FirstRecord - Header->HeaderSize) % TRACE_RECORD_SIZE != 0 ||
        (FirstRecord == Header->HeaderSize
             ? EndOfRecords > RingEnd
             : EndOfRecords > FirstRecord &&
                   EndOfRecords - FirstRecord > Header->RingSizeInBytes)) {
        return CoreEndBad;
    }

    Range->Start = FirstRecord;
    Range->End = EndOfRecords;
    if (EndOfRecords <= FirstRecord) {
        return CoreEndValid;
    }

    //
    // There are two pieces at most.
    //

    Offset = CorePositionToFileOffset(Header, FirstRecord, &Together);
    if (Together > EndOfRecords - FirstRecord) {
        Together = EndOfRecords - FirstRecord;
    }

    if (FileSize >= Offset + Together) {
        return CoreEndValid;
    }

    Range->End = FirstRecord;
    if (FileSize > Offset) {
        Range->End += (FileSize - Offset) / TRACE_RECORD_SIZE *
                      TRACE_RECORD_SIZE;
    }

    return CoreEndBeyondFile;
}


_Use_decl_annotations_
CORE_END_STATE
CoreFindRecords(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG EndOfRecords,
    ULONGLONG FirstRecord,
    ULONGLONG FileSize,
    PCORE_RANGE Range
    )
{
    ULONGLONG RingEnd = Header->RingFileOffset + Header->RingSizeInBytes;
    ULONGLONG Offset;
    ULONGLONG Lap;
    ULONGLONG Together;

    Range->Start = Header->HeaderSize;
    Range->End = Header->HeaderSize;

    if (EndOfRecords < Header->HeaderSize ||
        (EndOfRecords - Header->HeaderSize) % TRACE_RECORD_SIZE != 0) {
        return CoreEndBad;
    }

    if (Header->Mode == TRACE_MODE_COMPACT) {
        return CoreFindRawRecords(Header,
                                  EndOfRecords,
                                  FirstRecord,
                                  FileSize,
                                  Range);
    }

    if (Header->RingSizeInBytes == 0) {
        RingEnd = ~0ULL;
    } else {

        //
        // The end is behind what was given up before it was read, and no
        // farther ahead of what had been when it was, than the ring is long.
        //

        if (EndOfRecords < Header->FirstPosition) {
            return CoreEndBad;
        }

        if (FirstRecord < Header->RingFileOffset ||
            EndOfRecords <= FirstRecord) {
            if (FirstRecord < Header->RingFileOffset &&
                EndOfRecords > RingEnd) {
                return CoreEndBad;
            }
        } else if (EndOfRecords - FirstRecord > Header->RingSizeInBytes) {
            return CoreEndBad;
        }

        Range->Start = FirstRecord;
    }

    Range->End = EndOfRecords;
    if (FileSize >= (EndOfRecords < RingEnd ? EndOfRecords : RingEnd)) {
        return CoreEndValid;
    }

    if (EndOfRecords <= RingEnd) {
        Range->End = Header->HeaderSize;
        if (FileSize > Range->End) {
            Range->End = FileSize -
                (FileSize - Range->End) % TRACE_RECORD_SIZE;
        }

        if (Range->Start > Range->End) {
            Range->Start = Range->End;
        }

        return CoreEndBeyondFile;
    }

    //
    // The last record's way around the ring began at Lap.
    //

    Offset = CorePositionToFileOffset(Header,
                                      EndOfRecords - TRACE_RECORD_SIZE,
                                      &Together);
    Lap = EndOfRecords - TRACE_RECORD_SIZE -
          (Offset - Header->RingFileOffset);
    if (Range->Start < Lap) {
        Range->Start = Lap;
    }

    if (FileSize < Offset + TRACE_RECORD_SIZE) {
        Range->End = Lap;
        if (FileSize > Header->RingFileOffset) {
            Offset = FileSize - Header->RingFileOffset;
            Range->End += Offset - Offset % TRACE_RECORD_SIZE;
        }

        if (Range->Start > Range->End) {
            Range->Start = Range->End;
        }
    }

    return CoreEndBeyondFile;
}


_Use_decl_annotations_
VOID
CoreInitializeTail(
    PCORE_TAIL Tail,
    PCTRACE_STORE_HEADER Header,
    ULONGLONG Now
    )
{
    Tail->MinimumDuration = Header->MinimumDuration;
    Tail->Newest = 0;

    //
    // A clock thread that does not run makes the counter useless for this:
    // the exit may find no time gone however long ago the entry was.
    //

    Tail->Now = Header->Clock == TRACE_CLOCK_TSC ? Now : 0;
}


_Use_decl_annotations_
SIZE_T
CoreCountFinalRecords(
    PCORE_TAIL Tail,
    PCTRACE_RECORD Records,
    SIZE_T NumberOfRecords
    )
{
    SIZE_T Index;

    for (Index = NumberOfRecords; Index != 0; Index--) {

        ULONGLONG Timestamp = Records[Index - 1].Timestamp;
        ULONG Kind = Records[Index - 1].StackKind & TRACE_KIND_MASK;

        if (Timestamp == 0) {
            continue;
        }

        if (Kind == TRACE_KIND_EXIT || Kind == TRACE_KIND_EXIT_FUNCTION) {
            return Index;
        }

        if (Tail->Newest > Timestamp &&
            Tail->Newest - Timestamp >= Tail->MinimumDuration) {
            return Index;
        }

        if (Tail->Now > Timestamp &&
            Tail->Now - Timestamp > CORE_TAIL_ALLOWANCE &&
            Tail->Now - Timestamp - CORE_TAIL_ALLOWANCE >=
                Tail->MinimumDuration) {
            return Index;
        }

        if (Timestamp > Tail->Newest) {
            Tail->Newest = Timestamp;
        }
    }

    return 0;
}


_Use_decl_annotations_
VOID
CoreCopyRecords(
    PTRACE_RECORD Destination,
    PCTRACE_RECORD Source,
    SIZE_T NumberOfRecords
    )
{
    SIZE_T Index;

    for (Index = 0; Index < NumberOfRecords; Index++) {

        uint64_t Rest;

        //
        // The order matters: the writer stores Timestamp after the rest.
        //

        Destination[Index].Timestamp =
            RtlLoadAcquire64(&Source[Index].Timestamp);
        Rest = RtlLoadAcquire64((const uint64_t *)(const VOID *)
                                &Source[Index].Site);
        Destination[Index].Site = (uint32_t)Rest;
        Destination[Index].StackKind = (uint32_t)(Rest >> 32);
    }
}


_Use_decl_annotations_
VOID
CoreCopyTail(
    PTRACE_RECORD Destination,
    PCTRACE_RECORD Source,
    SIZE_T NumberOfRecords
    )
{
    SIZE_T Index;

    for (Index = NumberOfRecords; Index != 0; Index--) {

        PTRACE_RECORD Record = &Destination[Index - 1];

        CoreCopyRecords(Record, &Source[Index - 1], 1);
        if (RtlLoadAcquire64(&Source[Index - 1].Timestamp) !=
            Record->Timestamp) {
            Record->Timestamp = 0;
        }
    }
}

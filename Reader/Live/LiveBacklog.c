/*++

Module Name:

    LiveBacklog.c

Abstract:

    How far live is behind a thread, and what it leaves out when that is too
    much.

--*/

#include "LiveBacklog.h"

//
// So many records, and fewer, are read without a mapping, which costs as much
// as reading some ten thousand.
//

#define READER_LIVE_MOST_READ 0x8000ULL

//
// A record that is so many ticks old was not being written when it was read.
//

#define READER_LIVE_SETTLED_TICKS 0x10000ULL

_Use_decl_annotations_
ULONGLONG
LiveQueryPartPosition(
    const READER_STREAM_STORE *Part
    )
{
    return SessionQueryPosition(&Part->Iterator) -
           (Part->Head != NULL ? TRACE_RECORD_SIZE : 0);
}

_Use_decl_annotations_
ULONGLONG
LiveCountBacklog(
    PCREADER_LIVE_THREAD Thread
    )
{
    ULONGLONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {

        const READER_STREAM_STORE *Part = Thread->Stream.Stores[Index];
        ULONGLONG Position = LiveQueryPartPosition(Part);

        if (Part->Iterator.Store->EndOfRecords > Position) {
            Count += (Part->Iterator.Store->EndOfRecords - Position) /
                     TRACE_RECORD_SIZE;
        }
    }

    return Count;
}

//
// Reads one record's time stamp.
// Part: the store in its stream.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE (it is not there any more) or
// what failed.
//

_Must_inspect_result_
static
NTSTATUS
LiveReadTimestamp(
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Position,
    _Out_ PULONGLONG Timestamp
    )
{
    TRACE_RECORD Record;
    ULONG Count;
    NTSTATUS Status;

    *Timestamp = 0;
    Status = SessionReadRecords(Part->Iterator.Context,
                                Part->Iterator.Store,
                                Position,
                                &Record,
                                1,
                                &Count);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Count == 0 || Record.Timestamp == 0) {
        return STATUS_END_OF_FILE;
    }

    *Timestamp = Record.Timestamp;
    return STATUS_SUCCESS;
}

//
// Finds the first record of a store that is not earlier than a time, of those
// that were not taken.
// Part: the store in its stream.
// Timestamp: the time stamp.
// Position: the record's position, or the end.
//

_Must_inspect_result_
static
NTSTATUS
LiveFindTimestamp(
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONGLONG Position
    )
{
    ULONGLONG Start = LiveQueryPartPosition(Part);
    ULONGLONG Low = 0;
    ULONGLONG High = 0;
    ULONGLONG Middle;
    ULONGLONG Found;
    NTSTATUS Status;

    if (Part->Iterator.Store->EndOfRecords > Start) {
        High = (Part->Iterator.Store->EndOfRecords - Start) /
               TRACE_RECORD_SIZE;
    }

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        Status = LiveReadTimestamp(Part,
                                   Start + Middle * TRACE_RECORD_SIZE,
                                   &Found);
        if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
            return Status;
        }

        //
        // What was overwritten meanwhile is earlier.
        //

        if (!NT_SUCCESS(Status) || Found < Timestamp) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    *Position = Start + Low * TRACE_RECORD_SIZE;
    return STATUS_SUCCESS;
}

//
// Finds the store of a thread with the most records that were not taken.
// Thread: the thread, refreshed.
// LongestCount: how many it has.
// Returns the store in its stream; NULL if none has any.
//

static
PREADER_STREAM_STORE
LiveFindLongest(
    _In_ PCREADER_LIVE_THREAD Thread,
    _Out_ PULONGLONG LongestCount
    )
{
    PREADER_STREAM_STORE Longest = NULL;
    PREADER_STREAM_STORE Part;
    ULONGLONG Position;
    ULONGLONG Count;
    ULONG Index;

    *LongestCount = 0;
    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {
        Part = Thread->Stream.Stores[Index];
        Position = LiveQueryPartPosition(Part);
        Count = 0;
        if (Part->Iterator.Store->EndOfRecords > Position) {
            Count = (Part->Iterator.Store->EndOfRecords - Position) /
                    TRACE_RECORD_SIZE;
        }

        if (Count > *LongestCount) {
            Longest = Part;
            *LongestCount = Count;
        }
    }

    return Longest;
}

//
// Moves a thread to a record; those before it are left out.
// Thread: the thread, refreshed, with no events left to take.
// Longest: the store that has the record.
// Start: the record's position.
// Timestamp: its time stamp.
//

_Must_inspect_result_
static
NTSTATUS
LiveMoveThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ const READER_STREAM_STORE *Longest,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG Timestamp
    )
{
    PREADER_STREAM Stream = &Thread->Stream;
    PREADER_STREAM_STORE Part;
    PCORE_FRAME Top;
    ULONGLONG Position;
    ULONGLONG From;
    ULONGLONG Old;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        Old = LiveQueryPartPosition(Part);
        if (Part == Longest) {
            Position = Start;
        } else {
            Status = LiveFindTimestamp(Part, Timestamp, &Position);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Position > Old) {
            Thread->PassRecords += (Position - Old) / TRACE_RECORD_SIZE;
            SessionSeekIterator(&Part->Iterator, Position, 0);
            Part->Iterator.IsGap = FALSE;
            Part->Iterator.IsAfterGap = FALSE;
            Part->Head = NULL;
        }
    }

    Timestamp += Live->Session.Threads[Stream->Thread].TimestampBase;
    Stream->NumberOfJumps += 1;
    Stream->LastTimestamp = 0;
    Stream->IsAfterJump = FALSE;
    Thread->GapJumps = Stream->NumberOfJumps;
    Thread->WindowStart = Timestamp;

    //
    // The time in between is nobody's.
    //

    From = Thread->TakenTo;

    if (Timestamp > From) {
        Thread->GapTicks = Timestamp - From;
        Top = CoreCurrentFrame(&Stream->Pair);
        if (Top != NULL) {
            Top->ChildTicks += Thread->GapTicks;
        }
    }

    if (Stream->Pair.LastTimestamp < Timestamp) {
        Stream->Pair.LastTimestamp = Timestamp;
    }

    //
    // Marks need all records.
    //

    if (Stream->Index != NULL) {
        Stream->Index->Due = READER_MAXIMUM_TIMESTAMP;
    }

    Live->IsSampling = TRUE;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
LiveLeaveOut(
    PREADER_LIVE Live,
    PREADER_LIVE_THREAD Thread,
    ULONGLONG Wanted
    )
{
    PREADER_STREAM Stream = &Thread->Stream;
    PREADER_STREAM_STORE Longest;
    PREADER_STREAM_STORE Part;
    ULONGLONG Position;
    ULONGLONG Start;
    ULONGLONG Old;
    ULONGLONG LongestCount;
    ULONGLONG Count;
    ULONGLONG All = LiveCountBacklog(Thread);
    ULONGLONG Timestamp;
    ULONG Index;
    NTSTATUS Status;

    Longest = LiveFindLongest(Thread, &LongestCount);
    if (Longest == NULL || Wanted >= All) {
        return STATUS_SUCCESS;
    }

    //
    // The store with the most records says from which time on.
    //

    Count = CoreMultiplyDivide(Wanted, LongestCount, All);
    if (Count == 0) {
        Count = 1;
    }

    //
    // The newest record of a store may be being written; unless it is old, it
    // is for the next pass.
    //

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        if (Wanted > READER_LIVE_MOST_READ ||
            Part->Iterator.Store->EndOfRecords <=
                LiveQueryPartPosition(Part)) {
            continue;
        }

        Part->Iterator.Store->IsRead = TRUE;
        Status = LiveReadTimestamp(Part,
                                   Part->Iterator.Store->EndOfRecords -
                                         TRACE_RECORD_SIZE,
                                   &Timestamp);
        if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
            return Status;
        }

        if (!NT_SUCCESS(Status) ||
            Timestamp > Live->Horizon - READER_LIVE_SETTLED_TICKS) {
            Part->Iterator.Store->EndOfRecords -= TRACE_RECORD_SIZE;
        }
    }

    Start = Longest->Iterator.Store->EndOfRecords - Count * TRACE_RECORD_SIZE;
    if (Start < Longest->Iterator.Store->StartOfRecords) {
        Start = Longest->Iterator.Store->StartOfRecords;
    }

    Status = LiveReadTimestamp(Longest, Start, &Timestamp);
    if (NT_SUCCESS(Status) && Timestamp > Live->Horizon) {

        //
        // So many have come since the horizon was set; they are for the next
        // pass.
        //

        Old = LiveQueryPartPosition(Longest);
        Status = LiveFindTimestamp(Longest, Live->Horizon, &Position);
        if (NT_SUCCESS(Status)) {
            Start = Old;
            if ((Position - Old) / TRACE_RECORD_SIZE > Count) {
                Start = Position - Count * TRACE_RECORD_SIZE;
            }

            Status = LiveReadTimestamp(Longest, Start, &Timestamp);
        }
    }

    if (!NT_SUCCESS(Status) || Timestamp > Live->Horizon) {
        return NT_SUCCESS(Status) || Status == STATUS_END_OF_FILE
                   ? STATUS_SUCCESS
                   : Status;
    }

    return LiveMoveThread(Live, Thread, Longest, Start, Timestamp);
}

/*++

Module Name:

    ReaderRange.c

Abstract:

    What --from and --to select: the time stamps between the two.

--*/

#include "Reader.h"


static
ULONGLONG
ReaderQueryTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG FirstTimestamp,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Says when a time stamp was, in the unit of --from and --to and as coarse as
    it is shown.

Arguments:

    Clock - The session's clock.

    FirstTimestamp - The session's first record's.

    Timestamp - The time stamp.

Return Value:

    Nanoseconds after the session's first record; ticks, if the rate is not
    known.

--*/
{
    ULONGLONG Ticks = 0;
    ULONGLONG Time;

    if (Timestamp > FirstTimestamp) {
        Ticks = Timestamp - FirstTimestamp;
    }

    CoreTicksToNanoseconds(Clock, Ticks, &Time);
    return Time - Time % CoreQueryGranularity(Clock);
}


static
ULONGLONG
ReaderFindTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG FirstTimestamp,
    _In_ ULONGLONG Time
    )
/*++

Routine Description:

    Finds the first time stamp that is not before a time.

Arguments:

    Clock - The session's clock.

    FirstTimestamp - The session's first record's.

    Time - The time, not 0.

Return Value:

    The time stamp; the largest one if there is none.

--*/
{
    ULONGLONG Low = FirstTimestamp;
    ULONGLONG High = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (ReaderQueryTime(Clock, FirstTimestamp, Middle) < Time) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return Low;
}


static
VOID
ReaderWarnOfRange(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _In_ PCREADER_RANGE Range
    )
/*++

Routine Description:

    Says so when a range begins after the last record, and where that is.

Arguments:

    Session - The session.

    Options - The command's options.

    Range - The range, with its start.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONGLONG Last = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].LastTimestamp > Last) {
            Last = Session->Threads[Index].LastTimestamp;
        }
    }

    if (Range->Start <= Last) {
        return;
    }

    RtlWriteText(Errors,
                 "TraceReader: %s: warning: --from is after the session's "
                 "last record, which is %llu %s after its first one\n",
                 Options->Command,
                 ReaderQueryTime(&Session->Clock, Range->FirstTimestamp, Last),
                 Session->Clock.Ticks != 0 ? "ns" : "ticks");
    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
BOOLEAN
ReaderQueryRange(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options,
    PREADER_RANGE Range
    )
/*++

Routine Description:

    Finds what --from and --to select.

Arguments:

    Session - The session.

    Options - The command's options.

    Range - Receives the range; all there is if neither was given.

Return Value:

    FALSE if there can be none; the error has been written.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONG Index;

    RtlZeroBytes(Range, sizeof(*Range));
    Range->FirstTimestamp = READER_MAXIMUM_TIMESTAMP;
    Range->End = READER_MAXIMUM_TIMESTAMP;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].FirstTimestamp < Range->FirstTimestamp) {
            Range->FirstTimestamp = Session->Threads[Index].FirstTimestamp;
        }
    }

    if ((Options->Given & (READER_OPTION_FROM | READER_OPTION_TO)) == 0) {
        return TRUE;
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Errors,
                     "TraceReader: %s: --from, --to: the session has no "
                     "times, its clock was off\n",
                     Options->Command);
        RtlFlushWriter(Errors);
        return FALSE;
    }

    if (Options->From > Options->To) {
        RtlWriteText(Errors,
                     "TraceReader: %s: --from is later than --to\n",
                     Options->Command);
        RtlFlushWriter(Errors);
        return FALSE;
    }

    Range->IsGiven = TRUE;
    if (Options->From != 0) {
        Range->Start = ReaderFindTime(&Session->Clock,
                                      Range->FirstTimestamp,
                                      Options->From);
        ReaderWarnOfRange(Session, Options, Range);
    }

    //
    // The last one that is not after --to: at least that of the first record.
    //

    if (Options->To != READER_MAXIMUM_TIMESTAMP) {
        Range->End = ReaderFindTime(&Session->Clock,
                                    Range->FirstTimestamp,
                                    Options->To + 1);
        if (Range->End != READER_MAXIMUM_TIMESTAMP) {
            Range->End -= 1;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
VOID
ReaderPutRangeNote(
    PREADER_OUTPUT Output,
    PCREADER_OPTIONS Options,
    ULONGLONG BegunBefore
    )
/*++

Routine Description:

    Says, in text output, which range a table is of, in full figures: what is
    said here can be given to --from and --to again.

Arguments:

    Output - The output, between tables.

    Options - The command's options.

    BegunBefore - How many calls were open when the range began.

Return Value:

    None.

--*/
{
    PCSZ Unit = Output->Clock->Ticks != 0 ? "ns" : "ticks";

    if (Output->Format != ReaderFormatText ||
        (Options->Given & (READER_OPTION_FROM | READER_OPTION_TO)) == 0) {
        return;
    }

    RtlWriteText(Output->Writer,
                 "Range: from %llu %s ",
                 Options->From,
                 Unit);
    if ((Options->Given & READER_OPTION_TO) != 0) {
        RtlWriteText(Output->Writer, "to %llu %s ", Options->To, Unit);
    } else {
        RtlWriteText(Output->Writer, "on, ");
    }

    RtlWriteText(Output->Writer,
                 "after the first record.  Times are of the part of a call "
                 "that lies inside.\n");
    if (BegunBefore != 0) {
        RtlWriteText(Output->Writer,
                     "Begun before: open when the range began.\n");
    }
}

/*++

Module Name:

    CallRange.c

Abstract:

    What --from and --to select: the time stamps between the two.  What was
    recorded before the last clear is left out, unless --all is given.

--*/

#include "../Base/BaseZone.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionTreeStore.h"
#include "CallRange.h"


_Use_decl_annotations_
ULONGLONG
CallQueryTime(
    PCCORE_CLOCK Clock,
    ULONGLONG FirstTimestamp,
    ULONGLONG Timestamp
    )
{
    ULONGLONG Ticks = 0;
    ULONGLONG Time;

    if (Timestamp > FirstTimestamp) {
        Ticks = Timestamp - FirstTimestamp;
    }

    CoreTicksToNanoseconds(Clock, Ticks, &Time);
    return Time - Time % CoreQueryGranularity(Clock);
}


_Use_decl_annotations_
ULONGLONG
CallFindTime(
    PCCORE_CLOCK Clock,
    ULONGLONG FirstTimestamp,
    ULONGLONG Time
    )
{
    ULONGLONG Low = FirstTimestamp;
    ULONGLONG High = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (CallQueryTime(Clock, FirstTimestamp, Middle) < Time) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return Low;
}


//
// Writes how long a session is, and its times as --from and --to take them:
// "the session is 1.234 ms long: from 0 to 1234000 ns".
// Last: its last record's time stamp.
//

static
VOID
CallWriteLength(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_RANGE Range,
    _In_ ULONGLONG Last
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONGLONG Ticks = Last > Range->FirstTimestamp
                          ? Last - Range->FirstTimestamp
                          : 0;
    RTL_WRITER Writer;
    CHAR Text[32];
    ULONG Blanks = 0;

    RtlWriteText(Errors, "the session is ");
    if (Session->Clock.Ticks != 0) {
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
        OutputWriteTime(&Writer, &Session->Clock, Ticks);
        while (Blanks < Writer.LengthInBytes && Text[Blanks] == ' ') {
            Blanks += 1;
        }

        RtlWriteCleanText(Errors,
                          Text + Blanks,
                          Writer.LengthInBytes - Blanks);
        RtlWriteText(Errors, " long: ");
    }

    RtlWriteText(Errors,
                 "from 0 to %llu %s\n",
                 CallQueryTime(&Session->Clock, Range->FirstTimestamp, Last),
                 Session->Clock.Ticks != 0 ? "ns" : "ticks");
}


//
// Says so when a range begins after the last record or ends before the first,
// and how long the session is.
// Last: the last record's time stamp.
// IsBeforeFirst: whether --to is before the first record.
//

static
VOID
CallWarnOfRange(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _In_ PCREADER_RANGE Range,
    _In_ ULONGLONG Last,
    _In_ BOOLEAN IsBeforeFirst
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    if (!IsBeforeFirst && Range->Start <= Last) {
        return;
    }

    RtlWriteText(Errors,
                 "TraceReader: %s: warning: %s; ",
                 Options->Command,
                 IsBeforeFirst
                     ? "--to is before the session's first record"
                     : "--from is after the session's last record");
    CallWriteLength(Session, Range, Last);
    RtlFlushWriter(Errors);
}


//
// Says that a range is none, and how long the session is.
// Last: the last record's time stamp.
//

static
VOID
CallFailRange(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _In_ PCREADER_RANGE Range,
    _In_ ULONGLONG Last
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: %s: --from is later than --to; ",
                 Options->Command);
    CallWriteLength(Session, Range, Last);
    RtlFlushWriter(Errors);
}


//
// Start: it is not before this time stamp.
// Returns the first such mark of any process; NULL if there is none.
//

static
PCTRACE_CONTROL_ACTION
CallFindMarkOfRange(
    _In_ const READER_SESSION *Session,
    _In_z_ PCSZ Name,
    _In_ ULONGLONG Start
    )
{
    ULONG Length = RtlLengthOfString(Name);
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfActions; Index++) {

        PCTRACE_CONTROL_ACTION Action = Session->Actions[Index].Action;
        ULONG Process = Session->Actions[Index].Process;

        if (Action->Kind == TRACE_ACTION_MARK &&
            Action->Timestamp >= Start &&
            (Session->NumberOfProcesses == 1 ||
             Action->Timestamp >= READER_CLEAR_OF(Session, Process)) &&
            BaseCompareText(Action->Text,
                            Action->TextLength,
                            Name,
                            Length) == 0) {
            return Action;
        }
    }

    return NULL;
}


//
// Limits a range to the marks that --from and --to name.
// Range: the range, limited to the times that were given.
// Clear: marks before that are left out.
// Returns FALSE if there is no such mark; the error has been written.
//

static
BOOLEAN
CallApplyMarks(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _Inout_ PREADER_RANGE Range,
    _In_ ULONGLONG Clear
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    PCTRACE_CONTROL_ACTION Mark;
    PCSZ Missing = NULL;

    if (Options->FromMark != NULL) {
        Mark = CallFindMarkOfRange(Session, Options->FromMark, Clear);
        if (Mark != NULL) {
            Range->Start = Mark->Timestamp;
        } else {
            Missing = Options->FromMark;
        }
    }

    if (Options->ToMark != NULL && Missing == NULL) {
        Mark = CallFindMarkOfRange(Session,
                                   Options->ToMark,
                                   Range->Start > Clear ? Range->Start
                                                        : Clear);
        if (Mark != NULL) {
            Range->End = Mark->Timestamp;
        } else {
            Missing = Options->ToMark;
        }
    }

    if (Missing == NULL) {
        return TRUE;
    }

    RtlWriteText(Errors,
                 "TraceReader: %s: there is no mark \"%T\"%s (TraceReader "
                 "info --raw lists them)\n",
                 Options->Command,
                 Missing,
                 Missing == Options->ToMark && Options->ToMark != NULL
                     ? " from there on"
                     : "");
    RtlFlushWriter(Errors);
    return FALSE;
}


//
// Finds when a process was cleared last, if something was recorded before.
// Process: the process's index.
// Returns the time stamp; 0 if nothing is left out.
//

static
ULONGLONG
CallFindClear(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    )
{
    ULONGLONG Clear = READER_CLEAR_OF(Session, Process);
    ULONG Index;

    for (Index = 0; Clear != 0 && Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].Process == Process &&
            Session->Threads[Index].FirstTimestamp < Clear) {
            return Clear;
        }
    }

    return 0;
}


//
// Leaves out of a range what processes recorded before they were cleared last,
// and says so. CallSkipStream and CallClipStream look after each thread;
// here the range of a session with one process begins later.
//
// Range: the range, otherwise complete.
// Returns FALSE if nothing is left; the error has been written.
//

static
BOOLEAN
CallApplyClears(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _Inout_ PREADER_RANGE Range
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    BOOLEAN IsAnythingLeft = FALSE;
    ULONGLONG Clear;
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

        Clear = CallFindClear(Session, Process);
        Range->IsGiven = Range->IsGiven || Clear != 0;
        if (Clear <= Range->Start) {
            IsAnythingLeft = TRUE;
            continue;
        }

        RtlWriteText(Errors, "TraceReader: %s: ", Options->Command);
        if (Session->NumberOfProcesses == 1) {
            Range->Start = Clear;
        } else {
            SessionWriteProcess(Errors, Session, Process);
            RtlWriteText(Errors, ": ");
        }

        if (Clear > Range->End) {
            RtlWriteText(Errors, "nothing to show: ");
        } else {
            IsAnythingLeft = TRUE;
        }

        RtlWriteText(Errors,
                     "what was recorded before the last clear, %llu %s after "
                     "the first record, is left out (--all shows it)\n",
                     CallQueryTime(&Session->Clock,
                                   Range->FirstTimestamp,
                                   Clear),
                     Session->Clock.Ticks != 0 ? "ns" : "ticks");
    }

    RtlFlushWriter(Errors);
    return IsAnythingLeft;
}


_Use_decl_annotations_
ULONGLONG
CallFindWallTime(
    const READER_SESSION *Session,
    ULONGLONG FirstTimestamp,
    BOOLEAN IsUtc,
    PLONG Zone
    )
{
    ULONGLONG First;

    First = CoreTimestampToSystemTime(&Session->Clock, FirstTimestamp);
    *Zone = IsUtc ? 0 : BaseQueryZone(Session->Context->Rtl, First);
    return First * 100 + (ULONGLONG)(*Zone * (LONGLONG)READER_SECOND);
}


//
// Finds what a time of --from or --to is after the first record.
// Length: of the session, in the same unit.
// IsBeforeFirst: set if it is before that, and 0 is returned.
//

static
ULONGLONG
CallResolveTime(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_RANGE Range,
    _In_ ULONGLONG Time,
    _In_ UCHAR Kind,
    _In_ ULONGLONG Length,
    _Inout_ PBOOLEAN IsBeforeFirst
    )
{
    ULONGLONG First;
    LONG Zone;

    if (Kind == READER_TIME_AFTER_FIRST) {
        return Time;
    }

    if (Kind == READER_TIME_BEFORE_LAST) {
        *IsBeforeFirst = Time > Length;
        return Time < Length ? Length - Time : 0;
    }

    First = CallFindWallTime(Session,
                             Range->FirstTimestamp,
                             (Kind & READER_TIME_UTC) != 0,
                             &Zone);

    //
    // Without a date it is of the day on which the session began, or of the
    // next, if it was recorded then.
    //

    if ((Kind & READER_TIME_DATE) == 0) {
        Time += First - First % READER_DAY;
        if (Time < First && Time + READER_DAY <= First + Length) {
            Time += READER_DAY;
        }
    }

    *IsBeforeFirst = Time < First;
    return Time < First ? 0 : Time - First;
}


_Use_decl_annotations_
BOOLEAN
CallQueryRange(
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options,
    PREADER_RANGE Range
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONGLONG Clear = 0;
    ULONGLONG Last = 0;
    ULONGLONG From;
    ULONGLONG To;
    ULONGLONG Length;
    BOOLEAN HasRecords;
    BOOLEAN IsBeforeFirst = FALSE;
    ULONG Index;

    RtlZeroBytes(Range, sizeof(*Range));
    Range->FirstTimestamp = READER_MAXIMUM_TIMESTAMP;
    Range->End = READER_MAXIMUM_TIMESTAMP;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].FirstTimestamp < Range->FirstTimestamp) {
            Range->FirstTimestamp = Session->Threads[Index].FirstTimestamp;
        }
        if (Session->Threads[Index].LastTimestamp > Last) {
            Last = Session->Threads[Index].LastTimestamp;
        }
    }

    //
    // A range is of single calls.
    //

    if ((Options->Given & (READER_OPTION_FROM | READER_OPTION_TO)) != 0 &&
        !SessionRequireCalls(Session, "--from, --to")) {
        return FALSE;
    }

    Range->HasTrees = TRUE;
    HasRecords = Session->NumberOfTrees == 0 ||
                 SessionHasRecords(Session, READER_NONE);
    if (Session->NumberOfProcesses == 1 && HasRecords) {
        Clear = READER_CLEAR_OF(Session, 0);
    }

    if ((Options->Given & (READER_OPTION_FROM | READER_OPTION_TO)) == 0) {
        return !HasRecords || CallApplyClears(Session, Options, Range);
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Errors,
                     "TraceReader: %s: --from, --to: the session has no times: "
                     "it was recorded with TRACER_CLOCK=none\n",
                     Options->Command);
        RtlFlushWriter(Errors);
        return FALSE;
    }

    if ((READER_IS_CLOCK_TIME(Options->FromKind) ||
         READER_IS_CLOCK_TIME(Options->ToKind)) &&
        Session->Clock.Ticks == 0) {
        RtlWriteText(Errors,
                     "TraceReader: %s: --from, --to: the session does not say "
                     "at what time of day it was recorded\n",
                     Options->Command);
        RtlFlushWriter(Errors);
        return FALSE;
    }

    Length = CallQueryTime(&Session->Clock, Range->FirstTimestamp, Last);
    From = CallResolveTime(Session,
                           Range,
                           Options->From,
                           Options->FromKind,
                           Length,
                           &IsBeforeFirst);
    IsBeforeFirst = FALSE;
    To = CallResolveTime(Session,
                         Range,
                         Options->To,
                         Options->ToKind,
                         Length,
                         &IsBeforeFirst);

    if (From > To) {
        CallFailRange(Session, Options, Range, Last);
        return FALSE;
    }

    Range->IsGiven = TRUE;
    Range->HasTrees = FALSE;
    if (From != 0) {
        Range->Start = CallFindTime(&Session->Clock,
                                    Range->FirstTimestamp,
                                    From);
    }

    //
    // The last one that is not after --to: at least that of the first record,
    // unless --to is before that.
    //

    if (IsBeforeFirst) {
        Range->End = Range->FirstTimestamp - 1;
    } else if (To != READER_MAXIMUM_TIMESTAMP) {
        Range->End = CallFindTime(&Session->Clock,
                                  Range->FirstTimestamp,
                                  To + 1);
        if (Range->End != READER_MAXIMUM_TIMESTAMP) {
            Range->End -= 1;
        }
    }

    if (!CallApplyMarks(Session, Options, Range, Clear)) {
        return FALSE;
    }

    if (Range->Start > Range->End &&
        (Options->FromMark != NULL || Options->ToMark != NULL)) {
        CallFailRange(Session, Options, Range, Last);
        return FALSE;
    }

    CallWarnOfRange(Session, Options, Range, Last, IsBeforeFirst);
    return CallApplyClears(Session, Options, Range);
}


_Use_decl_annotations_
VOID
CallPutRangeNote(
    PREADER_OUTPUT Output,
    PCREADER_OPTIONS Options,
    ULONGLONG BegunBefore
    )
{
    READER_NOTE Note;
    PCSZ Unit = Output->Clock->Ticks != 0 ? "ns" : "ticks";
    BOOLEAN IsFromBeforeEnd = Options->FromKind == READER_TIME_BEFORE_LAST;

    if (Output->Format != ReaderFormatText ||
        (Options->Given & (READER_OPTION_FROM | READER_OPTION_TO)) == 0) {
        return;
    }

    OutputBeginNote(&Note);
    RtlWriteText(&Note.Writer, "Range: from ");
    if (Options->FromMark != NULL) {
        RtlWriteText(&Note.Writer, "mark:%T ", Options->FromMark);
    } else if (READER_IS_CLOCK_TIME(Options->FromKind)) {
        RtlWriteText(&Note.Writer, "%T ", Options->FromText);
    } else {
        RtlWriteText(&Note.Writer,
                     "%llu %s %s",
                     Options->From,
                     Unit,
                     IsFromBeforeEnd ? "before the last record "
                     : Options->ToKind != READER_TIME_AFTER_FIRST
                         ? "after the first record "
                         : "");
    }

    if (Options->ToMark != NULL) {
        RtlWriteText(&Note.Writer, "to mark:%T", Options->ToMark);
    } else if (READER_IS_CLOCK_TIME(Options->ToKind)) {
        RtlWriteText(&Note.Writer, "to %T", Options->ToText);
    } else if ((Options->Given & READER_OPTION_TO) != 0) {
        RtlWriteText(&Note.Writer, "to %llu %s", Options->To, Unit);
    } else {
        RtlWriteText(&Note.Writer,
                     "on%s",
                     Options->FromKind != READER_TIME_AFTER_FIRST ? "" : ",");
    }

    RtlWriteText(&Note.Writer,
                 "%s.  Times are of the part of a call "
                 "that lies inside.",
                 Options->ToMark != NULL ||
                         READER_IS_CLOCK_TIME(Options->ToKind)
                     ? ""
                 : Options->ToKind == READER_TIME_BEFORE_LAST
                     ? " before the last record"
                 : Options->FromKind != READER_TIME_AFTER_FIRST &&
                         (Options->Given & READER_OPTION_TO) == 0
                     ? ""
                     : " after the first record");
    OutputEndNote(Output, &Note);
    if (BegunBefore != 0) {
        OutputPutNote(Output, "Begun before: open when the range began.");
    }
}

/*++

Module Name:

    CommandLive.c

Abstract:

    TraceReader live: what a running program spends its time in, refreshed
    until it ends, on a screen, as lines or as a page.

    What a refresh shows is read right before it is written.  When reading
    takes so long that what it read first is already old, it reads again what
    has come since; with a budget it reads a part.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionProcess.h"
#include "../Calls/CallIndex.h"
#include "../Sums/SumTally.h"
#include "../Live/LiveChains.h"
#include "../Live/LiveConsole.h"
#include "../Live/LiveHtml.h"
#include "../Live/LivePlain.h"
#include "../Live/LiveRead.h"
#include "Command.h"
#include "CommandCtl.h"

#define READER_LIVE_DEFAULT_LIMIT 20

//
// With a budget, a sample is taken from the middle of an interval, too.
//

#define READER_LIVE_SAMPLE_INTERVAL 250ULL      // milliseconds

//
// How often a long reading looks at the keys.
//

#define READER_LIVE_LOOK_INTERVAL 200ULL        // milliseconds

//
// What a screen may use of a processor.
//

#define READER_LIVE_SCREEN_BUDGET 1

#define READER_LIVE_ERRORS_SIZE 0x2000u
#define READER_LIVE_SAID_SIZE 512u

typedef struct _READER_LIVE_RUN {
    READER_LIVE Live;
    READER_CONTEXT Context;
    READER_LIVE_MODEL Model;        // that is shown
    READER_LIVE_MODEL Other;        // for the page, while a screen stands still
    READER_LIVE_PLAIN Plain;
    READER_CONSOLE Console;
    READER_SCREEN Screen;
    READER_VIEW View;
    RTL_WRITER Held;                // error output, while there is a screen
    CHAR Said[READER_LIVE_SAID_SIZE];   // by ctl, about a key
    CHAR Failed[READER_LIVE_SAID_SIZE];
    ULONGLONG LastLook;             // milliseconds
    BOOLEAN IsScreen;
    BOOLEAN IsReadingOn;            // a reading to the end has begun
} READER_LIVE_RUN;
typedef READER_LIVE_RUN *PREADER_LIVE_RUN;


//
// Reads a clock that does not jump.
// UnitsPerSecond: what it counts.
// Returns the time in these units.
//

static
ULONGLONG
CommandReadLiveClock(
    _In_ PCRTL Rtl,
    _In_ ULONG UnitsPerSecond
    )
{
    LARGE_INTEGER Counter;
    LARGE_INTEGER Frequency;

    Counter.QuadPart = 0;
    Frequency.QuadPart = 0;
    Rtl->NtQueryPerformanceCounter(&Counter, &Frequency);
    if (Frequency.QuadPart <= 0) {
        return 0;
    }

    return CoreMultiplyDivide((ULONGLONG)Counter.QuadPart,
                              UnitsPerSecond,
                              (ULONGLONG)Frequency.QuadPart);
}


//
// Waits for a time or until the process has ended.
//

static
VOID
CommandLiveWait(
    _In_ PCREADER_LIVE Live,
    _In_ ULONGLONG Milliseconds
    )
{
    PCRTL Rtl = Live->Session.Context->Rtl;
    HANDLE Process = SessionGetLastProcess(&Live->Session);
    LARGE_INTEGER Timeout;

    //
    // Relative times are negative, in units of 100 ns.
    //

    Timeout.QuadPart = -(LONGLONG)Milliseconds * 10000;
    if (Process == NULL ||
        Rtl->NtWaitForSingleObject(Process, FALSE, &Timeout) < 0) {
        Rtl->NtDelayExecution(FALSE, &Timeout);
    }
}


//
// Says from when on records are counted, if that is not all of them.
//

static
VOID
CommandLivePutSince(
    _In_ PCREADER_LIVE Live
    )
{
    const READER_SESSION *Session = &Live->Session;
    PRTL_WRITER Writer = Session->Context->Output;
    ULONGLONG First = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Time;
    ULONG Index;

    if (Live->IsBackUnread) {
        RtlWriteText(Writer,
                     "Earlier records are not read; frames that are open now "
                     "are unknown\n(--budget 100 reads them).\n");
    }

    if (Live->Since == 0) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].FirstTimestamp < First) {
            First = Session->Threads[Index].FirstTimestamp;
        }
    }

    if (!CoreTicksToNanoseconds(&Session->Clock,
                                Live->Since > First ? Live->Since - First : 0,
                                &Time)) {
        RtlWriteText(Writer, "Records since %llu ticks", Time);
    } else {
        RtlWriteText(Writer,
                     "Records since %llu.%09llu s",
                     Time / CORE_NANOSECONDS_PER_SECOND,
                     Time % CORE_NANOSECONDS_PER_SECOND);
    }

    RtlWriteText(Writer,
                 " after the first one are counted, because reading began at a "
                 "mark of the index (--from-start counts all).\n");
}


//
// Draws the screen and shows what has changed.
// A screen that cannot be shown ends the run.
//

static
VOID
CommandDrawRun(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    ULONGLONG Start = CommandReadLiveClock(Run->Context.Rtl, 1000000000);
    ULONG Width;
    ULONG Height;
    NTSTATUS Status;

    LiveQueryConsoleSize(&Run->Console, &Width, &Height);
    Status = LiveResizeScreen(&Run->Screen, Width, Height);
    if (NT_SUCCESS(Status)) {
        Status = LiveDrawView(&Run->View, &Run->Model, &Run->Screen);
    }

    if (NT_SUCCESS(Status)) {
        Status = LiveShowScreen(&Run->Console, &Run->Screen);
    }

    if (!NT_SUCCESS(Status)) {
        Run->Live.ExitCode = BaseFail(&Run->Context,
                                      "show the screen",
                                      Run->Live.Options->PathUtf8,
                                      Status);
        Run->View.IsQuitting = TRUE;
    }

    Run->Live.Busy +=
        CommandReadLiveClock(Run->Context.Rtl, 1000000000) - Start;
}


//
// Takes a line of a text for what is said: of what was done the last one, which
// has the sum; of what failed the first one, which has the reason.
//

static
VOID
CommandSayLine(
    _Inout_ PREADER_VIEW View,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length,
    _In_ BOOLEAN IsFirst
    )
{
    RTL_WRITER Writer;
    ULONG Start = 0;
    ULONG End;

    while (Length != 0 && Text[Length - 1] == '\n') {
        Length -= 1;
    }

    for (End = 0; End < Length; End++) {
        if (Text[End] == '\n') {
            if (IsFirst) {
                break;
            }
            Start = End + 1;
        }
    }

    RtlInitializeBufferWriter(&Writer, View->Said, sizeof(View->Said));
    RtlWriteBytes(&Writer, Text + Start, End - Start);
    View->SaidLength = Writer.LengthInBytes;
}


//
// Finds the end of what the screen says already: the program's, the command's
// and the session's name.
// Returns the number of bytes.
//

static
ULONG
CommandSkipSubject(
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length,
    _In_z_ PCSZ Path
    )
{
    const PCSZ Parts[] = { "TraceReader: ", "ctl: ", Path, ": " };
    ULONG At = 0;
    ULONG PartLength;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Parts); Index++) {
        PartLength = RtlLengthOfString(Parts[Index]);
        if (PartLength > Length - At ||
            BaseCompareText(Text + At, PartLength, Parts[Index], PartLength) !=
                0) {
            break;
        }
        At += PartLength;
    }

    return At;
}


//
// Does what a key asks of the program, as ctl does it, and says what came of
// it.
// Run: the run, with a screen and a request.
//

static
VOID
CommandFulfil(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    static const READER_CTL_VERB Verbs[] = {
        ReaderCtlUnknown, ReaderCtlStart, ReaderCtlStop, ReaderCtlClear,
        ReaderCtlMark, ReaderCtlSnapshot
    };
    PREADER_VIEW View = &Run->View;
    READER_CONTEXT Context = Run->Context;
    READER_OPTIONS Options = *Run->Live.Options;
    WCHAR Wide[READER_VIEW_FILTER_SIZE + 1];
    RTL_WRITER Output;
    RTL_WRITER Errors;
    ULONG Length;
    ULONG ExitCode;

    RtlInitializeBufferWriter(&Output, Run->Said, sizeof(Run->Said));
    RtlInitializeBufferWriter(&Errors, Run->Failed, sizeof(Run->Failed));
    Context.Output = &Output;
    Context.Errors = &Errors;
    View->Text[View->TextLength] = 0;
    RtlUtf8ToWide(View->Text,
                  View->TextLength,
                  Wide,
                  READER_VIEW_FILTER_SIZE,
                  &Length);
    Wide[Length] = 0;
    Options.Format = ReaderFormatText;
    Options.Second = Wide;
    Options.SecondUtf8 = View->Text;
    ExitCode = CommandCtlDo(&Context, &Options, Verbs[View->Request]);
    View->Request = ReaderRequestNone;
    View->TextLength = 0;
    if (ExitCode == READER_EXIT_SUCCESS) {
        CommandSayLine(View, Run->Said, Output.LengthInBytes, FALSE);
    } else {
        Length = CommandSkipSubject(Run->Failed,
                                    Errors.LengthInBytes,
                                    Options.PathUtf8);
        CommandSayLine(View,
                       Run->Failed + Length,
                       Errors.LengthInBytes - Length,
                       TRUE);
    }
}


//
// Goes back to the functions, because there can be no call tree.
//

static
VOID
CommandLeaveTree(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ NTSTATUS Status
    )
{
    PREADER_VIEW View = &Run->View;
    RTL_WRITER Writer;

    LiveEndChains(&Run->Live);
    Run->Model.NumberOfNodes = 0;
    View->Kind = ReaderViewFunctions;
    RtlInitializeBufferWriter(&Writer, View->Said, sizeof(View->Said));
    RtlWriteText(&Writer,
                 "There can be no call tree (status 0x%08X).",
                 (ULONG)Status);
    View->SaidLength = Writer.LengthInBytes;
}


//
// Keeps chains of calls while a view shows them, and makes its nodes when it
// comes up.  Of a program that has ended the whole run is shown, which is read
// for it once: see CommandReadChains.
//

static
VOID
CommandFollowView(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    PREADER_LIVE Live = &Run->Live;
    PREADER_VIEW View = &Run->View;
    BOOLEAN IsRenewing = View->IsRenewing;
    NTSTATUS Status = STATUS_SUCCESS;

    View->IsRenewing = FALSE;
    if (Run->IsReadingOn) {
        return;
    }

    if (!LiveNeedsNodes(View)) {
        if (Live->Chains.IsOn) {
            LiveEndChains(Live);
            Run->Model.NumberOfNodes = 0;
        }
        return;
    }

    if (!Live->Chains.IsOn || IsRenewing) {
        Status = LiveBeginChains(Live);
        if (NT_SUCCESS(Status)) {
            Status = LiveMakeNodes(Live, &Run->Model);
        }
    }

    if (!NT_SUCCESS(Status)) {
        CommandLeaveTree(Run, Status);
    }
}


//
// Does what the keys say that have been pressed.
// Run: the run, with a screen.
// Returns TRUE: the screen is to be drawn again.
//

static
BOOLEAN
CommandTakeKeys(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    ULONG Character;
    READER_KEY Key;
    BOOLEAN IsChanged = FALSE;
    NTSTATUS Status;

    while (!Run->View.IsQuitting) {

        Key = LiveConsoleReadKey(&Run->Console, &Character);
        if (Key == ReaderKeyNone) {
            break;
        }

        if (Key == ReaderKeyResize) {
            Run->Screen.IsAllChanged = TRUE;
        }

        //
        // The next key is for what this one has made of the list.
        //

        if (LivePressKey(&Run->View, &Run->Model, Key, Character)) {
            IsChanged = TRUE;
            if (Run->View.Request != ReaderRequestNone) {
                Run->View.IsRenewing = Run->View.Request ==
                                       ReaderRequestClear;
                CommandFulfil(Run);
            }

            CommandFollowView(Run);

            Status = LiveDrawView(&Run->View, &Run->Model, &Run->Screen);
            if (!NT_SUCCESS(Status)) {
                break;
            }
        }
    }

    return IsChanged;
}


//
// Called for each buffer of the whole reading.
//

static
VOID
CommandShowEndProgress(
    _In_ PVOID Context
    )
{
    PREADER_LIVE_RUN Run = (PREADER_LIVE_RUN)Context;
    ULONGLONG Now;

    if (!Run->IsScreen) {
        return;
    }

    Now = CommandReadLiveClock(Run->Context.Rtl, 1000);
    if (Now - Run->LastLook < READER_LIVE_LOOK_INTERVAL) {
        return;
    }

    Run->LastLook = Now;
    (VOID)CommandTakeKeys(Run);
    if (!Run->View.IsQuitting) {
        CommandDrawRun(Run);
    }
}


//
// Says that everything is read, on the screen.
//

static
VOID
CommandBeginNotice(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_z_ PCSZ Text
    )
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer,
                              Run->View.Notice,
                              sizeof(Run->View.Notice));
    RtlWriteText(&Writer, "%s", Text);
    Run->View.NoticeLength = Writer.LengthInBytes;
    if (Run->IsScreen) {
        CommandDrawRun(Run);
    }
}


//
// Makes the nodes of the whole run of a program that has ended, if a view shows
// them and they have not been made.
// Run: the run, with the model of the whole run.
//

static
VOID
CommandReadChains(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    PREADER_LIVE Live = &Run->Live;
    NTSTATUS Status;

    if (!LiveNeedsNodes(&Run->View) || Live->Chains.IsWhole) {
        return;
    }

    CommandBeginNotice(Run,
                       "The program has ended.  Reading everything once more, "
                       "for the call tree ...");
    Run->LastLook = CommandReadLiveClock(Run->Context.Rtl, 1000);
    Status = LiveChainsReadAll(Live,
                               CommandShowEndProgress,
                               Run,
                               &Run->View.IsQuitting);
    Run->View.NoticeLength = 0;
    if (NT_SUCCESS(Status)) {
        Status = LiveMakeNodes(Live, &Run->Model);
    }

    if (!NT_SUCCESS(Status)) {
        CommandLeaveTree(Run, Status);
    }
}


//
// Makes the model of the whole run of a program that has ended: everything is
// read once more, as report does.
// Returns STATUS_SUCCESS or what failed. Threads that could not be read have
// been said.
//

_Must_inspect_result_
static
NTSTATUS
CommandReadToTheEnd(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    PREADER_LIVE Live = &Run->Live;
    PREADER_SESSION Session = &Live->Session;
    READER_TALLY Tally;
    RTL_ERROR Error;
    ULONG Index;
    NTSTATUS Status;

    Run->IsReadingOn = TRUE;
    CommandBeginNotice(Run,
                       "The program has ended.  Reading everything once more, "
                       "for exact numbers ...");

    //
    // A thread's streams are closed first: each store is open once.
    //

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            CallCloseStream(&Live->Threads[Index]->Stream);
            Live->Threads[Index]->IsDone = TRUE;
        }
    }

    //
    // What was kept while it ran goes.
    //

    LiveEndChains(Live);
    CallInitializeTally(&Tally, &Live->Functions, NULL);
    Tally.Progress = CommandShowEndProgress;
    Tally.ProgressContext = Run;
    Run->LastLook = CommandReadLiveClock(Run->Context.Rtl, 1000);

    Status = SessionRefreshSession(Session, &Error);
    if (!NT_SUCCESS(Status)) {
        BaseWriteFailure(&Run->Context, &Error);
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < Session->NumberOfThreads;
         Index++) {

        NTSTATUS ThreadStatus;

        if (Run->IsScreen && Run->View.IsQuitting) {
            break;
        }

        ThreadStatus = SumTallyThread(&Tally, Index);
        if (!NT_SUCCESS(ThreadStatus)) {
            Live->ExitCode = SessionFailThread(Session, Index, ThreadStatus);
        }
    }

    Run->View.NoticeLength = 0;
    if (NT_SUCCESS(Status)) {
        Status = LiveMakeEndedModel(Live, &Run->Model, &Tally);
    }

    CallRundownTally(&Tally);
    return Status;
}


//
// Writes the page, if there is one.
// Model: what to show.
// Returns FALSE if it cannot be written.
//

static
BOOLEAN
CommandWritePageOfRun(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    ULONG Interval = Run->Live.Options->IntervalInMilliseconds;

    if ((Run->Live.Options->Given & READER_OPTION_HTML) == 0) {
        return TRUE;
    }

    if (Run->IsScreen) {
        Interval = Run->View.IntervalInMilliseconds;
    }

    if (LiveWriteLivePage(&Run->Live, Model, Interval) !=
        READER_EXIT_SUCCESS) {
        Run->Live.ExitCode = READER_EXIT_FAILURE;
        return FALSE;
    }

    return TRUE;
}


//
// Writes refreshes as lines until the program ends or enough has been shown.
// IsWhole: whether all that there will be has been read.
// ExitCode is set.
//

static
VOID
CommandRunPlain(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ BOOLEAN IsWhole
    )
{
    PREADER_LIVE Live = &Run->Live;
    ULONGLONG Count;
    ULONGLONG Left;
    ULONGLONG Slice;
    NTSTATUS Status;

    CommandLivePutSince(Live);
    for (Count = 0; Count < Live->Options->Count; Count++) {

        if (!IsWhole) {

            LiveBeginLiveInterval(Live);
            Left = Live->Options->IntervalInMilliseconds;
            while (Left != 0) {
                Slice = Left;
                if (Live->IsPassSampled &&
                    Slice > READER_LIVE_SAMPLE_INTERVAL) {
                    Slice = READER_LIVE_SAMPLE_INTERVAL;
                }

                CommandLiveWait(Live, Slice);
                Left -= Slice;
                if (Left != 0 &&
                    !NT_SUCCESS(LiveCatchUpLive(Live, FALSE))) {
                    Live->ExitCode = READER_EXIT_FAILURE;
                    return;
                }
            }

            if (!NT_SUCCESS(LiveCatchUpLive(Live, TRUE))) {
                Live->ExitCode = READER_EXIT_FAILURE;
                return;
            }
        }

        Status = LiveMakeLiveModel(Live, &Run->Model, IsWhole);
        if (!NT_SUCCESS(Status)) {
            Live->ExitCode = BaseFail(&Run->Context,
                                      "show the functions",
                                      Live->Options->PathUtf8,
                                      Status);
            return;
        }

        if (!NT_SUCCESS(LivePutLivePlain(&Run->Plain, Live, &Run->Model))) {
            Live->ExitCode = READER_EXIT_FAILURE;
            return;
        }

        if (Live->Session.ProcessState == ReaderProcessGone) {
            RtlWriteText(Run->Context.Output, "\n");
            LiveWriteLiveEnd(Run->Context.Output, &Live->Session);
            RtlWriteText(Run->Context.Output, "\n");
            RtlFlushWriter(Run->Context.Output);
            if ((Live->Options->Given & READER_OPTION_HTML) != 0) {
                Status = CommandReadToTheEnd(Run);
                if (!NT_SUCCESS(Status) ||
                    !CommandWritePageOfRun(Run, &Run->Model)) {
                    Live->ExitCode = READER_EXIT_FAILURE;
                }
            }
            return;
        }

        if (!CommandWritePageOfRun(Run, &Run->Model)) {
            return;
        }
    }
}


//
// Reads what is new, makes what is shown of it, and begins another interval.
// Run: the run, with a screen.
// Returns STATUS_SUCCESS or what failed; it has been said.
//

_Must_inspect_result_
static
NTSTATUS
CommandRefreshRun(
    _Inout_ PREADER_LIVE_RUN Run
    )
{
    PREADER_LIVE Live = &Run->Live;
    PREADER_LIVE_MODEL Model = &Run->Model;
    NTSTATUS Status;

    Status = LiveCatchUpLive(Live, TRUE);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Live->Session.ProcessState == ReaderProcessGone) {
        Status = CommandReadToTheEnd(Run);
        if (NT_SUCCESS(Status) && !Run->View.IsQuitting) {
            (VOID)CommandWritePageOfRun(Run, &Run->Model);
        }
        return Status;
    }

    //
    // The page does not stand still with the screen.
    //

    if (Run->View.IsPaused) {
        Model = &Run->Other;
    }

    if (!Run->View.IsPaused ||
        (Live->Options->Given & READER_OPTION_HTML) != 0) {
        Status = LiveMakeLiveModel(Live, Model, FALSE);
        if (!NT_SUCCESS(Status)) {
            BaseFail(&Run->Context,
                     "show the functions",
                     Live->Options->PathUtf8,
                     Status);
            return Status;
        }

        if (!CommandWritePageOfRun(Run, Model)) {
            return STATUS_UNSUCCESSFUL;
        }
    }

    LiveBeginLiveInterval(Live);
    return STATUS_SUCCESS;
}


//
// Shows refreshes on a screen until the user leaves.
// IsWhole: whether all that there will be has been read.
// ExitCode is set.
//

static
VOID
CommandRunScreen(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ BOOLEAN IsWhole
    )
{
    PREADER_LIVE Live = &Run->Live;
    ULONGLONG Began;
    ULONGLONG Looked;
    ULONGLONG Now;
    ULONGLONG Due;
    BOOLEAN IsDue;
    BOOLEAN IsEnded = FALSE;
    NTSTATUS Status;

    LiveBeginLiveInterval(Live);
    Status = LiveMakeLiveModel(Live, &Run->Model, FALSE);
    Began = CommandReadLiveClock(Run->Context.Rtl, 1000);
    Looked = Began;
    IsDue = IsWhole;
    if (NT_SUCCESS(Status)) {
        CommandDrawRun(Run);
    }

    while (NT_SUCCESS(Status) && !Run->View.IsQuitting) {

        //
        // The window may have changed its size without a word, so one that
        // stands still is looked at, too.
        //

        Now = CommandReadLiveClock(Run->Context.Rtl, 1000);
        Due = Began + Run->View.IntervalInMilliseconds;
        if (!IsEnded && Live->IsPassSampled &&
            Due > Looked + READER_LIVE_SAMPLE_INTERVAL) {
            Due = Looked + READER_LIVE_SAMPLE_INTERVAL;
        }

        if (!IsDue && Now < Due) {
            LiveWaitForKey(&Run->Console,
                           IsEnded ? NULL
                                   : SessionGetLastProcess(&Live->Session),
                           (ULONG)(Due - Now));
        }

        if (CommandTakeKeys(Run)) {
            if (IsEnded) {
                CommandReadChains(Run);
            }

            CommandDrawRun(Run);
        }

        if (Run->View.IsQuitting) {
            break;
        }

        Now = CommandReadLiveClock(Run->Context.Rtl, 1000);
        if (IsEnded) {
            if (Now >= Due) {
                Began = Now;
                CommandDrawRun(Run);
            }
            continue;
        }

        IsDue |= Now - Began >= Run->View.IntervalInMilliseconds ||
                 SessionQueryProcess(&Live->Session) == ReaderProcessGone;
        if (IsDue) {
            IsDue = FALSE;
            Began = Now;
            Looked = Now;
            Status = CommandRefreshRun(Run);
            IsEnded = Live->Session.ProcessState == ReaderProcessGone;
            if (NT_SUCCESS(Status) && IsEnded) {
                CommandReadChains(Run);
            }

            if (NT_SUCCESS(Status) && !Run->View.IsQuitting &&
                (IsEnded || !Run->View.IsPaused)) {
                Run->View.IsPaused &= !IsEnded;
                CommandDrawRun(Run);
            }
        } else if (Live->IsPassSampled &&
                   Now - Looked >= READER_LIVE_SAMPLE_INTERVAL) {
            Looked = Now;
            Status = LiveCatchUpLive(Live, FALSE);
        }
    }

    if (!NT_SUCCESS(Status)) {
        Live->ExitCode = READER_EXIT_FAILURE;
    }
}


//
// Takes the terminal over, and holds back what goes to the error output.
// HeldBuffer: READER_LIVE_ERRORS_SIZE bytes.
// Returns FALSE if it is no terminal that can show a screen.
//

static
BOOLEAN
CommandOpenRunScreen(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCHAR HeldBuffer
    )
{
    READER_CONSOLE_ROUTINES Routines;
    UNICODE_STRING Value;
    WCHAR Buffer[8];
    NTSTATUS Status;

    if (!LiveLoadConsoleRoutines(Run->Context.Rtl, &Routines) ||
        !LiveOpenConsole(&Run->Console,
                         Run->Context.Rtl,
                         Run->Context.Allocator,
                         &Routines)) {
        return FALSE;
    }

    //
    // A value that is too long for the buffer is a value, too.
    //

    Value.Length = 0;
    Status = RtlQueryEnvironment(Run->Context.Rtl,
                                 L"NO_COLOR",
                                 Buffer,
                                 RTL_NUMBER_OF(Buffer),
                                 &Value);
    Run->Screen.HasColor = Status != STATUS_BUFFER_TOO_SMALL &&
                           (!NT_SUCCESS(Status) || Value.Length == 0);
    Run->Screen.Allocator = Run->Context.Allocator;
    LiveInitializeView(&Run->View,
                       Run->Live.Options->IntervalInMilliseconds);
    RtlInitializeBufferWriter(&Run->Held,
                              HeldBuffer,
                              READER_LIVE_ERRORS_SIZE);
    Run->IsScreen = TRUE;
    return TRUE;
}


//
// Runs live: on a screen if there is one, as lines otherwise.
// Run: the run, with a session.
// ExitCode is set.
//

static
VOID
CommandRunLive(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCREADER_CONTEXT Context
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_LIVE Live = &Run->Live;
    PCHAR HeldBuffer = NULL;
    BOOLEAN IsScreen;
    BOOLEAN IsWhole;

    IsScreen = Context->Output->IsConsole &&
               (Live->Options->Given &
                (READER_OPTION_PLAIN | READER_OPTION_COUNT)) == 0;
    Live->BudgetInPercent = 100;
    if ((Live->Options->Given & READER_OPTION_BUDGET) != 0) {
        Live->BudgetInPercent = Live->Options->BudgetInPercent;
    } else if (IsScreen &&
               (Live->Options->Given & READER_OPTION_FROM_START) == 0) {
        Live->BudgetInPercent = READER_LIVE_SCREEN_BUDGET;
    }

    LiveInitializeLive(Live);
    if (!NT_SUCCESS(LiveBeginLive(Live))) {
        return;
    }

    //
    // What ran before the first interval is read, because the open frames are
    // in it, and not shown; unless it is all that there will be.
    //

    IsWhole = Live->Session.ProcessState == ReaderProcessGone &&
              !Live->IsPassedOver;
    if (IsScreen) {
        HeldBuffer = (PCHAR)Allocator->Allocate(Allocator->Context,
                                                READER_LIVE_ERRORS_SIZE);
        IsScreen = HeldBuffer != NULL && CommandOpenRunScreen(Run, HeldBuffer);

        //
        // Lines have no budget unless one was given.
        //

        if (!IsScreen && (Live->Options->Given & READER_OPTION_BUDGET) == 0) {
            Live->BudgetInPercent = 100;
        }
    }

    if (IsScreen) {
        Run->Context.Errors = &Run->Held;
        CommandRunScreen(Run, IsWhole);
        LiveCloseConsole(&Run->Console);
        Run->IsScreen = FALSE;
        Run->Context.Errors = Context->Errors;
        RtlWriteBytes(Context->Errors, HeldBuffer, Run->Held.LengthInBytes);
        RtlFlushWriter(Context->Errors);
        LiveRundownScreen(&Run->Screen);
        LiveRundownView(&Run->View, Allocator);
    } else {
        CommandRunPlain(Run, IsWhole);
        Live->ExitCode = FunctionEndFilter(Context,
                                           Live->Options->Filter,
                                           &Live->Functions,
                                           Run->Plain.NumberShown,
                                           &Run->Plain.NotShown,
                                           Live->ExitCode);
    }

    Allocator->Free(Allocator->Context, HeldBuffer);
}


static
ULONG
CommandLive(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_LIVE_RUN Run;
    ULONG ExitCode;

    Run = (PREADER_LIVE_RUN)Allocator->Allocate(Allocator->Context,
                                                sizeof(READER_LIVE_RUN));
    if (Run == NULL) {
        return BaseFail(Context,
                        "follow the threads",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    //
    // The session keeps the context, whose error output changes.
    //

    Run->Context = *Context;
    Run->Live.Options = Options;
    if (!CommandBeginCommand(&Run->Live.Session, &Run->Context, Options)) {
        Allocator->Free(Allocator->Context, Run);
        return READER_EXIT_FAILURE;
    }

    Run->Plain.Limit = READER_LIVE_DEFAULT_LIMIT;
    if ((Options->Given & READER_OPTION_LIMIT) != 0) {
        Run->Plain.Limit = Options->Limit;
    }

    OutputBeginDocument(&Run->Plain.Output,
                        Context->Output,
                        ReaderFormatText,
                        &Run->Live.Session.Clock,
                        "live",
                        FALSE);
    CommandRunLive(Run, Context);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        FunctionPutFilterCost(&Run->Live.Functions, Options->Filter);
        CallPutIndexCost(&Run->Live.Session);
    }

    LiveRundownModel(&Run->Model);
    LiveRundownModel(&Run->Other);
    Allocator->Free(Allocator->Context, Run->Plain.Order);
    LiveRundownLive(&Run->Live);
    CommandCloseCommandSession(&Run->Live.Session);
    ExitCode = Run->Live.ExitCode;
    Allocator->Free(Allocator->Context, Run);
    return ExitCode;
}


const READER_COMMAND ReaderLiveCommand = {
    "live",
    "[PATH]",
    "Shows where a running program spends its time, updated continuously",
    "On a terminal it is a screen with views of the functions, the threads,\n"
    "their open frames, the call tree and the callers of a function; h shows\n"
    "the keys, q quits.  Elsewhere, with --plain or with --count, it writes\n"
    "lines, and ends when the program does, or after --count refreshes.\n"
    "--limit is the number of functions, and of open frames of each thread,\n"
    "that a refresh shows (default: 20).\n"
    "Earlier records of a running program are read to find the frames that\n"
    "are open, from the last mark of each thread's index on; the records\n"
    "before that mark are then not in the number of records, and the first\n"
    "line says so.  For a program that has ended, everything is read and\n"
    "shown once.\n"
    "--budget limits what reading costs: what exceeds it is estimated from\n"
    "samples, and the output says so.  The default is 1 % for a screen and\n"
    "no limit for lines.  --html also writes a page at each refresh.\n"
    READER_FILTER_NOTE
    "They select open frames, too.\n",
    "  TraceReader live SESSION\n"
    "  TraceReader live --interval 500 --limit 10 SESSION\n"
    "  TraceReader live --count 1 SESSION\n"
    "  TraceReader live --plain --html live.html SESSION\n",
    READER_OPTION_INTERVAL | READER_OPTION_COUNT | READER_OPTION_LIMIT |
        READER_OPTION_FROM_START | READER_OPTION_VERBOSE |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_HTML | READER_OPTION_BUDGET |
        READER_OPTION_PLAIN,
    CommandLive,
    NULL,
    NULL
};

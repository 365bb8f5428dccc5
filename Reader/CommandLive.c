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

#include "ReaderLive.h"

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
    ULONGLONG LastLook;             // milliseconds
    BOOLEAN IsScreen;
} READER_LIVE_RUN;
typedef READER_LIVE_RUN *PREADER_LIVE_RUN;


static
ULONGLONG
ReaderReadLiveClock(
    _In_ PCRTL Rtl,
    _In_ ULONG UnitsPerSecond
    )
/*++

Routine Description:

    Reads a clock that does not jump.

Arguments:

    Rtl - The RTL.

    UnitsPerSecond - What it counts.

Return Value:

    The time in these units.

--*/
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


static
VOID
ReaderLiveWait(
    _In_ PCREADER_LIVE Live,
    _In_ ULONGLONG Milliseconds
    )
/*++

Routine Description:

    Waits for a time or until the process has ended.

Arguments:

    Live - The state.

    Milliseconds - The time.

Return Value:

    None.

--*/
{
    PCRTL Rtl = Live->Session.Context->Rtl;
    HANDLE Process = ReaderGetLastProcess(&Live->Session);
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


static
VOID
ReaderLivePutSince(
    _In_ PCREADER_LIVE Live
    )
/*++

Routine Description:

    Says from when on records are counted, if that is not all of them.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    PRTL_WRITER Writer = Session->Context->Output;
    ULONGLONG First = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Time;
    ULONG Index;

    if (Live->IsBackUnread) {
        RtlWriteText(Writer,
                     "What was recorded before is not read: frames that are "
                     "open now are not known\n(--budget 100 reads it).\n");
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
                 " after the first one are counted: where indexes let it "
                 "begin (--from-start counts all).\n");
}


static
VOID
ReaderDrawRun(
    _Inout_ PREADER_LIVE_RUN Run
    )
/*++

Routine Description:

    Draws the screen and shows what has changed.

Arguments:

    Run - The run, with a screen.

Return Value:

    None.  A screen that cannot be shown ends the run.

--*/
{
    ULONGLONG Start = ReaderReadLiveClock(Run->Context.Rtl, 1000000000);
    ULONG Width;
    ULONG Height;
    NTSTATUS Status;

    ReaderQueryConsoleSize(&Run->Console, &Width, &Height);
    Status = ReaderResizeScreen(&Run->Screen, Width, Height);
    if (NT_SUCCESS(Status)) {
        Status = ReaderDrawView(&Run->View, &Run->Model, &Run->Screen);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderShowScreen(&Run->Console, &Run->Screen);
    }

    if (!NT_SUCCESS(Status)) {
        Run->Live.ExitCode = ReaderFail(&Run->Context,
                                        "show the screen",
                                        Run->Live.Options->PathUtf8,
                                        Status);
        Run->View.IsQuitting = TRUE;
    }

    Run->Live.Busy +=
        ReaderReadLiveClock(Run->Context.Rtl, 1000000000) - Start;
}


static
BOOLEAN
ReaderTakeKeys(
    _Inout_ PREADER_LIVE_RUN Run
    )
/*++

Routine Description:

    Does what the keys say that have been pressed.

Arguments:

    Run - The run, with a screen.

Return Value:

    TRUE: the screen is to be drawn again.

--*/
{
    ULONG Character;
    READER_KEY Key;
    BOOLEAN IsChanged = FALSE;
    NTSTATUS Status;

    while (!Run->View.IsQuitting) {

        Key = ReaderReadKey(&Run->Console, &Character);
        if (Key == ReaderKeyNone) {
            break;
        }

        if (Key == ReaderKeyResize) {
            Run->Screen.IsAllChanged = TRUE;
        }

        //
        // The next key is for what this one has made of the list.
        //

        if (ReaderPressKey(&Run->View, &Run->Model, Key, Character)) {
            IsChanged = TRUE;
            Status = ReaderDrawView(&Run->View, &Run->Model, &Run->Screen);
            if (!NT_SUCCESS(Status)) {
                break;
            }
        }
    }

    return IsChanged;
}


static
VOID
ReaderShowEndProgress(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Called for each buffer of the whole reading.

Arguments:

    Context - The run.

Return Value:

    None.

--*/
{
    PREADER_LIVE_RUN Run = (PREADER_LIVE_RUN)Context;
    ULONGLONG Now;

    if (!Run->IsScreen) {
        return;
    }

    Now = ReaderReadLiveClock(Run->Context.Rtl, 1000);
    if (Now - Run->LastLook < READER_LIVE_LOOK_INTERVAL) {
        return;
    }

    Run->LastLook = Now;
    (VOID)ReaderTakeKeys(Run);
    if (!Run->View.IsQuitting) {
        ReaderDrawRun(Run);
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadToTheEnd(
    _Inout_ PREADER_LIVE_RUN Run
    )
/*++

Routine Description:

    Makes the model of the whole run of a program that has ended: everything is
    read once more, as report does.

Arguments:

    Run - The run.

Return Value:

    STATUS_SUCCESS or what failed.  Threads that could not be read have been
    said.

--*/
{
    PREADER_LIVE Live = &Run->Live;
    PREADER_SESSION Session = &Live->Session;
    READER_TALLY Tally;
    RTL_WRITER Writer;
    RTL_ERROR Error;
    ULONG Index;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Writer,
                              Run->View.Notice,
                              sizeof(Run->View.Notice));
    RtlWriteText(&Writer,
                 "The program has ended.  Reading everything once more, for "
                 "exact numbers ...");
    Run->View.NoticeLength = Writer.LengthInBytes;
    if (Run->IsScreen) {
        ReaderDrawRun(Run);
    }

    //
    // A thread's streams are closed first: each store is open once.
    //

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            ReaderCloseStream(&Live->Threads[Index]->Stream);
            Live->Threads[Index]->IsDone = TRUE;
        }
    }

    ReaderInitializeTally(&Tally, &Live->Functions, NULL);
    Tally.Progress = ReaderShowEndProgress;
    Tally.ProgressContext = Run;
    Run->LastLook = ReaderReadLiveClock(Run->Context.Rtl, 1000);

    Status = ReaderRefreshSession(Session, &Error);
    if (!NT_SUCCESS(Status)) {
        ReaderWriteFailure(&Run->Context, &Error);
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < Session->NumberOfThreads;
         Index++) {

        NTSTATUS ThreadStatus;

        if (Run->IsScreen && Run->View.IsQuitting) {
            break;
        }

        ThreadStatus = ReaderTallyThread(&Tally, Index);
        if (!NT_SUCCESS(ThreadStatus)) {
            Live->ExitCode = ReaderFailThread(Session, Index, ThreadStatus);
        }
    }

    Run->View.NoticeLength = 0;
    if (NT_SUCCESS(Status)) {
        Status = ReaderMakeEndedModel(Live, &Run->Model, &Tally);
    }

    ReaderRundownTally(&Tally);
    return Status;
}


static
BOOLEAN
ReaderWritePageOfRun(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCREADER_LIVE_MODEL Model
    )
/*++

Routine Description:

    Writes the page, if there is one.

Arguments:

    Run - The run.

    Model - What to show.

Return Value:

    FALSE if it cannot be written.

--*/
{
    ULONG Interval = Run->Live.Options->IntervalInMilliseconds;

    if ((Run->Live.Options->Given & READER_OPTION_HTML) == 0) {
        return TRUE;
    }

    if (Run->IsScreen) {
        Interval = Run->View.IntervalInMilliseconds;
    }

    if (ReaderWriteLivePage(&Run->Live, Model, Interval) !=
        READER_EXIT_SUCCESS) {
        Run->Live.ExitCode = READER_EXIT_FAILURE;
        return FALSE;
    }

    return TRUE;
}


static
VOID
ReaderRunPlain(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ BOOLEAN IsWhole
    )
/*++

Routine Description:

    Writes refreshes as lines until the program ends or enough has been shown.

Arguments:

    Run - The run.

    IsWhole - Whether all that there will be has been read.

Return Value:

    None.  ExitCode is set.

--*/
{
    PREADER_LIVE Live = &Run->Live;
    ULONGLONG Count;
    ULONGLONG Left;
    ULONGLONG Slice;
    NTSTATUS Status;

    ReaderLivePutSince(Live);
    for (Count = 0; Count < Live->Options->Count; Count++) {

        if (!IsWhole) {

            ReaderBeginLiveInterval(Live);
            Left = Live->Options->IntervalInMilliseconds;
            while (Left != 0) {
                Slice = Left;
                if (Live->IsPassSampled &&
                    Slice > READER_LIVE_SAMPLE_INTERVAL) {
                    Slice = READER_LIVE_SAMPLE_INTERVAL;
                }

                ReaderLiveWait(Live, Slice);
                Left -= Slice;
                if (Left != 0 &&
                    !NT_SUCCESS(ReaderCatchUpLive(Live, FALSE))) {
                    Live->ExitCode = READER_EXIT_FAILURE;
                    return;
                }
            }

            if (!NT_SUCCESS(ReaderCatchUpLive(Live, TRUE))) {
                Live->ExitCode = READER_EXIT_FAILURE;
                return;
            }
        }

        Status = ReaderMakeLiveModel(Live, &Run->Model, IsWhole);
        if (!NT_SUCCESS(Status)) {
            Live->ExitCode = ReaderFail(&Run->Context,
                                        "show the functions",
                                        Live->Options->PathUtf8,
                                        Status);
            return;
        }

        if (!NT_SUCCESS(ReaderPutLivePlain(&Run->Plain, Live, &Run->Model))) {
            Live->ExitCode = READER_EXIT_FAILURE;
            return;
        }

        if (Live->Session.ProcessState == ReaderProcessGone) {
            RtlWriteText(Run->Context.Output, "\n");
            ReaderWriteLiveEnd(Run->Context.Output, &Live->Session);
            RtlWriteText(Run->Context.Output, "\n");
            RtlFlushWriter(Run->Context.Output);
            if ((Live->Options->Given & READER_OPTION_HTML) != 0) {
                Status = ReaderReadToTheEnd(Run);
                if (!NT_SUCCESS(Status) ||
                    !ReaderWritePageOfRun(Run, &Run->Model)) {
                    Live->ExitCode = READER_EXIT_FAILURE;
                }
            }
            return;
        }

        if (!ReaderWritePageOfRun(Run, &Run->Model)) {
            return;
        }
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderRefreshRun(
    _Inout_ PREADER_LIVE_RUN Run
    )
/*++

Routine Description:

    Reads what is new, makes what is shown of it, and begins another interval.

Arguments:

    Run - The run, with a screen.

Return Value:

    STATUS_SUCCESS or what failed; it has been said.

--*/
{
    PREADER_LIVE Live = &Run->Live;
    PREADER_LIVE_MODEL Model = &Run->Model;
    NTSTATUS Status;

    Status = ReaderCatchUpLive(Live, TRUE);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Live->Session.ProcessState == ReaderProcessGone) {
        Status = ReaderReadToTheEnd(Run);
        if (NT_SUCCESS(Status) && !Run->View.IsQuitting) {
            (VOID)ReaderWritePageOfRun(Run, &Run->Model);
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
        Status = ReaderMakeLiveModel(Live, Model, FALSE);
        if (!NT_SUCCESS(Status)) {
            ReaderFail(&Run->Context,
                       "show the functions",
                       Live->Options->PathUtf8,
                       Status);
            return Status;
        }

        if (!ReaderWritePageOfRun(Run, Model)) {
            return STATUS_UNSUCCESSFUL;
        }
    }

    ReaderBeginLiveInterval(Live);
    return STATUS_SUCCESS;
}


static
VOID
ReaderRunScreen(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ BOOLEAN IsWhole
    )
/*++

Routine Description:

    Shows refreshes on a screen until the user leaves.

Arguments:

    Run - The run, with a screen.

    IsWhole - Whether all that there will be has been read.

Return Value:

    None.  ExitCode is set.

--*/
{
    PREADER_LIVE Live = &Run->Live;
    ULONGLONG Began;
    ULONGLONG Looked;
    ULONGLONG Now;
    ULONGLONG Due;
    BOOLEAN IsDue;
    BOOLEAN IsEnded = FALSE;
    NTSTATUS Status;

    ReaderBeginLiveInterval(Live);
    Status = ReaderMakeLiveModel(Live, &Run->Model, FALSE);
    Began = ReaderReadLiveClock(Run->Context.Rtl, 1000);
    Looked = Began;
    IsDue = IsWhole;
    if (NT_SUCCESS(Status)) {
        ReaderDrawRun(Run);
    }

    while (NT_SUCCESS(Status) && !Run->View.IsQuitting) {

        //
        // The window may have changed its size without a word, so one that
        // stands still is looked at, too.
        //

        Now = ReaderReadLiveClock(Run->Context.Rtl, 1000);
        Due = Began + Run->View.IntervalInMilliseconds;
        if (!IsEnded && Live->IsPassSampled &&
            Due > Looked + READER_LIVE_SAMPLE_INTERVAL) {
            Due = Looked + READER_LIVE_SAMPLE_INTERVAL;
        }

        if (!IsDue && Now < Due) {
            ReaderWaitForKey(&Run->Console,
                             IsEnded ? NULL
                                     : ReaderGetLastProcess(&Live->Session),
                             (ULONG)(Due - Now));
        }

        if (ReaderTakeKeys(Run)) {
            ReaderDrawRun(Run);
        }

        if (Run->View.IsQuitting) {
            break;
        }

        Now = ReaderReadLiveClock(Run->Context.Rtl, 1000);
        if (IsEnded) {
            if (Now >= Due) {
                Began = Now;
                ReaderDrawRun(Run);
            }
            continue;
        }

        IsDue |= Now - Began >= Run->View.IntervalInMilliseconds ||
                 ReaderQueryProcess(&Live->Session) == ReaderProcessGone;
        if (IsDue) {
            IsDue = FALSE;
            Began = Now;
            Looked = Now;
            Status = ReaderRefreshRun(Run);
            IsEnded = Live->Session.ProcessState == ReaderProcessGone;
            if (NT_SUCCESS(Status) && !Run->View.IsQuitting &&
                (IsEnded || !Run->View.IsPaused)) {
                Run->View.IsPaused &= !IsEnded;
                ReaderDrawRun(Run);
            }
        } else if (Live->IsPassSampled &&
                   Now - Looked >= READER_LIVE_SAMPLE_INTERVAL) {
            Looked = Now;
            Status = ReaderCatchUpLive(Live, FALSE);
        }
    }

    if (!NT_SUCCESS(Status)) {
        Live->ExitCode = READER_EXIT_FAILURE;
    }
}


static
BOOLEAN
ReaderOpenRunScreen(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCHAR HeldBuffer
    )
/*++

Routine Description:

    Takes the terminal over, and holds back what goes to the error output.

Arguments:

    Run - The run.

    HeldBuffer - READER_LIVE_ERRORS_SIZE bytes.

Return Value:

    FALSE if it is no terminal that can show a screen.

--*/
{
    READER_CONSOLE_ROUTINES Routines;
    UNICODE_STRING Value;
    WCHAR Buffer[8];
    NTSTATUS Status;

    if (!ReaderLoadConsoleRoutines(Run->Context.Rtl, &Routines) ||
        !ReaderOpenConsole(&Run->Console,
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
    ReaderInitializeView(&Run->View,
                         Run->Live.Options->IntervalInMilliseconds);
    RtlInitializeBufferWriter(&Run->Held,
                              HeldBuffer,
                              READER_LIVE_ERRORS_SIZE);
    Run->IsScreen = TRUE;
    return TRUE;
}


static
VOID
ReaderRunLive(
    _Inout_ PREADER_LIVE_RUN Run,
    _In_ PCREADER_CONTEXT Context
    )
/*++

Routine Description:

    Runs live: on a screen if there is one, as lines otherwise.

Arguments:

    Run - The run, with a session.

    Context - The program's.

Return Value:

    None.  ExitCode is set.

--*/
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

    ReaderInitializeLive(Live);
    if (!NT_SUCCESS(ReaderBeginLive(Live))) {
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
        IsScreen = HeldBuffer != NULL && ReaderOpenRunScreen(Run, HeldBuffer);

        //
        // Lines have no budget unless one was given.
        //

        if (!IsScreen && (Live->Options->Given & READER_OPTION_BUDGET) == 0) {
            Live->BudgetInPercent = 100;
        }
    }

    if (IsScreen) {
        Run->Context.Errors = &Run->Held;
        ReaderRunScreen(Run, IsWhole);
        ReaderCloseConsole(&Run->Console);
        Run->IsScreen = FALSE;
        Run->Context.Errors = Context->Errors;
        RtlWriteBytes(Context->Errors, HeldBuffer, Run->Held.LengthInBytes);
        RtlFlushWriter(Context->Errors);
        ReaderRundownScreen(&Run->Screen);
        Allocator->Free(Allocator->Context, Run->View.Order);
    } else {
        ReaderRunPlain(Run, IsWhole);
        Live->ExitCode = ReaderEndFilter(Context,
                                         Live->Options->Filter,
                                         Run->Plain.NumberShown,
                                         &Run->Plain.NotShown,
                                         Live->ExitCode);
    }

    Allocator->Free(Allocator->Context, HeldBuffer);
}


static
ULONG
ReaderCommandLive(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs live.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_LIVE_RUN Run;
    ULONG ExitCode;

    Run = (PREADER_LIVE_RUN)Allocator->Allocate(Allocator->Context,
                                                sizeof(READER_LIVE_RUN));
    if (Run == NULL) {
        return ReaderFail(Context,
                          "follow the threads",
                          Options->PathUtf8,
                          STATUS_NO_MEMORY);
    }

    //
    // The session keeps the context, whose error output changes.
    //

    Run->Context = *Context;
    Run->Live.Options = Options;
    if (!ReaderBeginCommand(&Run->Live.Session, &Run->Context, Options)) {
        Allocator->Free(Allocator->Context, Run);
        return READER_EXIT_FAILURE;
    }

    Run->Plain.Limit = READER_LIVE_DEFAULT_LIMIT;
    if ((Options->Given & READER_OPTION_LIMIT) != 0) {
        Run->Plain.Limit = Options->Limit;
    }

    ReaderBeginDocument(&Run->Plain.Output,
                        Context->Output,
                        ReaderFormatText,
                        &Run->Live.Session.Clock,
                        "live",
                        FALSE);
    ReaderRunLive(Run, Context);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutFilterCost(&Run->Live.Functions, Options->Filter);
        ReaderPutIndexCost(&Run->Live.Session);
    }

    ReaderRundownModel(&Run->Model);
    ReaderRundownModel(&Run->Other);
    Allocator->Free(Allocator->Context, Run->Plain.Order);
    ReaderRundownLive(&Run->Live);
    ReaderCloseSession(&Run->Live.Session);
    ExitCode = Run->Live.ExitCode;
    Allocator->Free(Allocator->Context, Run);
    return ExitCode;
}


const READER_COMMAND ReaderLiveCommand = {
    "live",
    "PATH",
    "Shows what a running program spends its time in, again and again",
    "On a terminal it is a screen with views of the functions, the threads\n"
    "and their open frames; h shows the keys, q leaves.  Elsewhere, with\n"
    "--plain or with --count, it writes lines, and ends when the program\n"
    "does, or after --count refreshes.  --limit is\n"
    "the number of functions, and of open frames of each thread, that a\n"
    "refresh shows (default: 20).\n"
    "What a running program did before is read for the frames that are\n"
    "open, from the last mark of each thread's index on; then the records\n"
    "before are not in the number of records: the first line says so.\n"
    "Of a program that has ended all is read and shown once.\n"
    "--budget limits what reading costs: what is more than can be read is\n"
    "estimated from samples, and what is shown says so.  A screen has 1 %,\n"
    "lines have none.  --html writes a page, too, at each refresh.\n"
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
    ReaderCommandLive
};

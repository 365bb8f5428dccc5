/*++

Module Name:

    LiveView.c

Abstract:

    What TraceReader live shows on a screen.  All that is shown comes from the
    model, so that tests can draw any program.

--*/

#include "LiveColumns.h"
#include "LiveView.h"

//
// A column of a list.  The last one of each list is a name and takes the rest
// of the line; of the others those with the largest Rank go first when there
// is no room.
//

typedef struct _READER_VIEW_COLUMN {
    PCSZ Title;
    ULONG Width;                    // with the two blanks after it
    ULONG Rank;
} READER_VIEW_COLUMN;
typedef const READER_VIEW_COLUMN *PCREADER_VIEW_COLUMN;

static const READER_VIEW_COLUMN ReaderFunctionColumns[] = {
    { "Self %", 8, 0 },
    { "Self/s", 12, 2 },
    { "Calls/s", 15, 1 },
    { "Calls", 17, 3 },
    { "Total", 12, 4 },
    { "Self", 12, 6 },
    { "Average", 12, 5 },
    { "Function", 0, 0 }
};

static const READER_VIEW_COLUMN ReaderThreadColumns[] = {
    { "Thread", 10, 0 },
    { "State", 9, 2 },
    { "Calls/s", 15, 1 },
    { "Records", 17, 4 },
    { "MiB", 12, 6 },
    { "Depth", 8, 3 },
    { "Name", 18, 5 },
    { "Runs", 0, 0 }
};

static const READER_VIEW_COLUMN ReaderFrameColumns[] = {
    { "Age", 13, 0 },
    { "Function", 0, 0 }
};

typedef struct _READER_VIEW_LIST {
    PCREADER_VIEW_COLUMN Columns;
    ULONG NumberOfColumns;
} READER_VIEW_LIST;

C_ASSERT(RTL_NUMBER_OF(ReaderFunctionColumns) ==
         ReaderNumberOfFunctionColumns);
C_ASSERT(RTL_NUMBER_OF(ReaderThreadColumns) == ReaderNumberOfThreadColumns);

static const READER_VIEW_LIST ReaderViewLists[READER_NUMBER_OF_VIEWS] = {
    { ReaderFunctionColumns, RTL_NUMBER_OF(ReaderFunctionColumns) },
    { ReaderThreadColumns, RTL_NUMBER_OF(ReaderThreadColumns) },
    { ReaderFrameColumns, RTL_NUMBER_OF(ReaderFrameColumns) }
};

//
// A name gets so many cells before another column goes.
//

#define READER_VIEW_LEAST_NAME 20u

//
// A screen that is lower has one line above the list and its titles, and none
// below.
//

#define READER_VIEW_LEAST_HEIGHT 10u

//
// What runs gets so many cells before a thread's name gets more than its
// column.
//

#define READER_VIEW_LEAST_RUNS 40u

//
// Frames are indented by their depth, up to so many cells.
//

#define READER_VIEW_LARGEST_INDENT 40u

#define READER_VIEW_LINE_SIZE 512u      // bytes

static const PCSZ ReaderViewHelpLines[] = {
    "1 2 3 Tab   functions, threads, open frames",
    "Up Down PgUp PgDn Home End   move in the list",
    "Left Right  sort by another column (open frames: another thread)",
    "s c t n     sort by self time, calls, total time, name",
    "r           reverse the order",
    "Enter       on a thread: its open frames",
    "/           show only names that contain a text; Esc: all again",
    "p Space     pause: the screen stands still, reading goes on",
    "+ -         refresh more often, less often",
    "S G         stop recording, go on recording (as ctl stop, ctl start)",
    "C           clear: what was recorded so far does not count (ctl clear)",
    "M W         set a mark; write a snapshot (ctl mark, ctl snapshot)",
    "h ?         this text",
    "q Ctrl+C    quit",
    "",
    "Self %      of the time of all functions since the last refresh",
    "Self/s      time in the function itself, per second, all threads",
    "Calls/s     since the last refresh",
    "Calls Total Self   since reading began; when the program has ended,",
    "            of the whole run, as report says",
    "Average     time of a call that has ended, with what it called",
    "Age         how long a frame has been open; ? after it: it was open",
    "            before the skipped records and may have been replaced;",
    "            * after it: on a fiber",
    "",
    "With a budget (--budget) only a part of the records is read when there",
    "are more than it allows.  Numbers of records are exact then; calls and",
    "times are estimates from that part.  --budget 100 reads everything."
};


_Use_decl_annotations_
VOID
LiveInitializeView(
    PREADER_VIEW View,
    ULONG IntervalInMilliseconds
    )
{
    RtlZeroBytes(View, sizeof(*View));
    View->SortColumn[ReaderViewFunctions] = ReaderFunctionSelfPercent;
    View->SortColumn[ReaderViewThreads] = ReaderThreadCallsPerSecond;
    View->IntervalInMilliseconds = IntervalInMilliseconds;
}


//
// Makes an ASCII letter small.
// Character: the byte.
// Returns the byte, made small if it is a letter.
//

static
UCHAR
LiveLowerCase(
    _In_ CHAR Character
    )
{
    UCHAR Byte = (UCHAR)Character;

    return Byte >= 'A' && Byte <= 'Z' ? (UCHAR)(Byte + ('a' - 'A')) : Byte;
}


//
// Decides whether a text has the view's filter in it, in any case.
// Returns TRUE if so, or if there is no filter.
//

static
BOOLEAN
LiveIsInView(
    _In_ PCREADER_VIEW View,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Start;
    ULONG Index;

    if (View->FilterLength == 0) {
        return TRUE;
    }

    for (Start = 0;
         View->FilterLength <= LengthInBytes &&
             Start <= LengthInBytes - View->FilterLength;
         Start++) {

        for (Index = 0; Index < View->FilterLength; Index++) {
            if (LiveLowerCase(Text[Start + Index]) !=
                LiveLowerCase(View->Filter[Index])) {
                break;
            }
        }

        if (Index == View->FilterLength) {
            return TRUE;
        }
    }

    return FALSE;
}


typedef struct _READER_VIEW_COMPARE {
    PCREADER_LIVE_MODEL Model;
    READER_VIEW_KIND Kind;
    ULONG Column;
    BOOLEAN IsReversed;
} READER_VIEW_COMPARE;
typedef const READER_VIEW_COMPARE *PCREADER_VIEW_COMPARE;


//
// Says what a row is sorted by, if that is a number.
// Row: the row's index in the model.
// Returns the number; 0 for a column of text.
//

static
ULONGLONG
LiveQueryCell(
    _In_ PCREADER_VIEW_COMPARE Compare,
    _In_ ULONG Row
    )
{
    if (Compare->Kind == ReaderViewFunctions) {

        PCREADER_LIVE_FUNCTION_ROW Function = &Compare->Model->Functions[Row];

        switch (Compare->Column) {
        case ReaderFunctionSelfPercent:
        case ReaderFunctionSelfPerSecond:
            return Function->SelfTicks;
        case ReaderFunctionCallsPerSecond:
            return Function->Calls;
        case ReaderFunctionCalls:
            return Function->AllCalls;
        case ReaderFunctionTotal:
            return Function->AllTotalTicks;
        case ReaderFunctionSelf:
            return Function->AllSelfTicks;
        case ReaderFunctionAverage:
            return Function->AverageTicks;
        default:
            return 0;
        }
    }

    switch (Compare->Column) {
    case ReaderThreadId:
        return Compare->Model->Threads[Row].ThreadId;
    case ReaderThreadState:
        return Compare->Model->Threads[Row].State[0];
    case ReaderThreadCallsPerSecond:
        return Compare->Model->Threads[Row].CallsPerSecond;
    case ReaderThreadRecords:
        return Compare->Model->Threads[Row].Records;
    case ReaderThreadSize:
        return Compare->Model->Threads[Row].SizeInBytes;
    case ReaderThreadDepth:
        return Compare->Model->Threads[Row].Depth;
    default:
        return 0;
    }
}


//
// Orders two rows by name.
// Compare: what is compared.
// First, Second: indexes in the model.
// Returns negative, zero or positive.
//

static
LONG
LiveCompareNames(
    _In_ PCREADER_VIEW_COMPARE Compare,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_LIVE_MODEL Model = Compare->Model;

    if (Compare->Kind == ReaderViewFunctions) {
        return BaseCompareText(Model->Functions[First].Name,
                               Model->Functions[First].NameLength,
                               Model->Functions[Second].Name,
                               Model->Functions[Second].NameLength);
    }

    if (Compare->Column == ReaderThreadInnermost) {
        return BaseCompareText(Model->Threads[First].Innermost,
                               Model->Threads[First].InnermostLength,
                               Model->Threads[Second].Innermost,
                               Model->Threads[Second].InnermostLength);
    }

    return BaseCompareText(Model->Threads[First].Name,
                           Model->Threads[First].NameLength,
                           Model->Threads[Second].Name,
                           Model->Threads[Second].NameLength);
}


//
// Orders two rows: numbers with the largest first, names from A to Z, and what
// is equal by name and by index.
// First, Second: indexes in the model.
// Returns negative or positive.
//

static
LONG
LiveCompareRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_VIEW_COMPARE Compare = (PCREADER_VIEW_COMPARE)CompareContext;
    ULONGLONG FirstValue = LiveQueryCell(Compare, First);
    ULONGLONG SecondValue = LiveQueryCell(Compare, Second);
    LONG Result;

    if (FirstValue != SecondValue) {
        Result = FirstValue > SecondValue ? -1 : 1;
    } else {
        Result = LiveCompareNames(Compare, First, Second);
        if (Result == 0) {
            Result = First < Second ? -1 : 1;
        }
    }

    return Compare->IsReversed ? -Result : Result;
}


//
// Chooses and sorts the rows of the list.
// View: the view, not the help.
//

_Must_inspect_result_
static
NTSTATUS
LiveOrderRows(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    READER_VIEW_COMPARE Compare;
    PCREADER_LIVE_THREAD_ROW Thread;
    ULONG Most = Model->NumberOfFunctions;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    if (View->Kind == ReaderViewThreads) {
        Most = Model->NumberOfThreads;
    } else if (View->Kind == ReaderViewFrames) {
        Most = Model->NumberOfFrames;
    }

    View->NumberOfRows = 0;
    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&View->Order,
                           &View->CapacityOfOrder,
                           Most,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (View->Kind == ReaderViewFunctions) {

        for (Index = 0; Index < Model->NumberOfFunctions; Index++) {

            PCREADER_LIVE_FUNCTION_ROW Row = &Model->Functions[Index];

            if (Row->IsShown && (Row->IsRunning || LIVE_WAS_SEEN(Row)) &&
                LiveIsInView(View, Row->Name, Row->NameLength)) {
                View->Order[Count] = Index;
                Count += 1;
            }
        }

    } else if (View->Kind == ReaderViewThreads) {

        for (Index = 0; Index < Model->NumberOfThreads; Index++) {
            Thread = &Model->Threads[Index];
            if (LiveIsInView(View, Thread->Name, Thread->NameLength) ||
                LiveIsInView(View,
                             Thread->Innermost,
                             Thread->InnermostLength)) {
                View->Order[Count] = Index;
                Count += 1;
            }
        }

    } else {

        //
        // Of the thread that was chosen; before that, of the first one with
        // open frames.
        //

        if (!View->IsThreadChosen || View->Thread >= Model->NumberOfThreads) {
            View->Thread = 0;
            for (Index = 0; Index < Model->NumberOfThreads; Index++) {
                if (Model->Threads[Index].Depth != 0) {
                    View->Thread = Index;
                    break;
                }
            }
        }

        if (View->Thread < Model->NumberOfThreads) {
            Thread = &Model->Threads[View->Thread];
            for (Index = Thread->FirstFrame;
                 Index < Thread->FirstFrame + Thread->Depth;
                 Index++) {
                if (Model->Frames[Index].IsShown &&
                    LiveIsInView(View,
                                 Model->Frames[Index].Name,
                                 Model->Frames[Index].NameLength)) {
                    View->Order[Count] = Index;
                    Count += 1;
                }
            }
        }
    }

    if (View->Kind != ReaderViewFrames) {
        Compare.Model = Model;
        Compare.Kind = View->Kind;
        Compare.Column = View->SortColumn[View->Kind];
        Compare.IsReversed = View->IsReversed[View->Kind];
        BaseSort(View->Order, Count, LiveCompareRows, &Compare);
    }

    View->NumberOfRows = Count;
    return STATUS_SUCCESS;
}


//
// Chooses the columns for which there is room.
// View: the view, not the help.
// Width: of the screen, in cells.
// Returns a mask of them; the last column is always there.
//

static
ULONG
LiveChooseColumns(
    _In_ PCREADER_VIEW View,
    _In_ ULONG Width
    )
{
    const READER_VIEW_LIST *List = &ReaderViewLists[View->Kind];
    ULONG Last = List->NumberOfColumns - 1;
    ULONG Mask = (1u << List->NumberOfColumns) - 1;
    ULONG Worst;
    ULONG Used;
    ULONG Index;

    for (;;) {

        Used = 0;
        Worst = Last;
        for (Index = 0; Index < Last; Index++) {
            if ((Mask & (1u << Index)) != 0) {
                Used += List->Columns[Index].Width;
                if (Worst == Last ||
                    List->Columns[Index].Rank > List->Columns[Worst].Rank) {
                    Worst = Index;
                }
            }
        }

        if (Worst == Last || Used + READER_VIEW_LEAST_NAME <= Width) {
            return Mask;
        }

        Mask &= ~(1u << Worst);
    }
}


//
// Says how many cells a text takes at most.
//

static
ULONG
LiveQueryTextWidth(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Width = 0;
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {

        UCHAR Byte = (UCHAR)Text[Index];

        //
        // Wide characters begin at U+1100, which three bytes say.
        //

        Width += (Byte & 0xC0) == 0x80 ? 0 : Byte >= 0xE1 ? 2 : 1;
    }

    return Width;
}


//
// Widens the column of the threads' names while there is room, up to the
// longest one.
// View: the view of the threads, with its rows.
// Width: of the screen, in cells.
// Mask: the columns that are shown.
// Returns the column's width.
//

static
ULONG
LiveWidenNames(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Width,
    _In_ ULONG Mask
    )
{
    ULONG Wanted = ReaderThreadColumns[ReaderThreadName].Width;
    ULONG Least = Wanted;
    ULONG Used = 1 + READER_VIEW_LEAST_RUNS;
    ULONG Own;
    ULONG Index;

    for (Index = 0; Index < View->NumberOfRows; Index++) {

        PCREADER_LIVE_THREAD_ROW Row = &Model->Threads[View->Order[Index]];

        Own = LiveQueryTextWidth(Row->Name, Row->NameLength) + 2;
        if (Own > Wanted) {
            Wanted = Own;
        }
    }

    for (Index = 0; Index < ReaderThreadInnermost; Index++) {
        if (Index != ReaderThreadName && (Mask & (1u << Index)) != 0) {
            Used += ReaderThreadColumns[Index].Width;
        }
    }

    if (Used + Least >= Width) {
        return Least;
    }

    return Wanted > Width - Used ? Width - Used : Wanted;
}


//
// Writes a number of a function.
//

static
VOID
LiveWriteFunctionCell(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ PCREADER_LIVE_FUNCTION_ROW Row,
    _In_ ULONG Column
    )
{
    switch (Column) {

    case ReaderFunctionSelfPercent:
        if (Model->Clock->Kind == TRACE_CLOCK_NONE) {
            RtlWriteText(Writer, "%6s", "-");
        } else {
            RtlWriteText(Writer,
                         "%4llu.%llu",
                         Row->SelfPerMille / 10,
                         Row->SelfPerMille % 10);
        }
        break;

    case ReaderFunctionSelfPerSecond:
        LiveWriteLiveTime(Writer,
                          Model->Clock,
                          Row->SelfPerSecond,
                          Model->SamplePerMille < 1000);
        break;

    case ReaderFunctionCallsPerSecond:
        LiveWriteLiveNumber(Writer,
                            Row->CallsPerSecond,
                            Model->SamplePerMille < 1000,
                            Model->CallsLimit,
                            13);
        break;

    case ReaderFunctionCalls:
        LiveWriteLiveNumber(Writer,
                            Row->AllCalls,
                            Model->IsEstimated,
                            Model->AllCallsLimit,
                            15);
        break;

    case ReaderFunctionTotal:
        LiveWriteLiveTime(Writer,
                          Model->Clock,
                          Row->AllTotalTicks,
                          Model->IsEstimated);
        break;

    case ReaderFunctionSelf:
        LiveWriteLiveTime(Writer,
                          Model->Clock,
                          Row->AllSelfTicks,
                          Model->IsEstimated);
        break;

    default:
        if (Row->HasAverage) {
            OutputWriteTime(Writer, Model->Clock, Row->AverageTicks);
        } else {
            RtlWriteText(Writer,
                         "%*s",
                         Model->Clock->IsRaw ? READER_RAW_TIME_WIDTH
                                             : READER_TIME_WIDTH,
                         "-");
        }
        break;
    }

    RtlWriteText(Writer, "  ");
}


//
// Writes a cell of a thread, but not its name.
//

static
VOID
LiveWriteThreadCell(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_THREAD_ROW Row,
    _In_ ULONG Column
    )
{
    ULONGLONG Tenths;

    switch (Column) {

    case ReaderThreadId:
        RtlWriteText(Writer, "%8u  ", Row->ThreadId);
        break;

    case ReaderThreadState:
        RtlWriteText(Writer, "%-7s  ", Row->State);
        break;

    case ReaderThreadCallsPerSecond:
        RtlWriteText(Writer, "%'13llu  ", Row->CallsPerSecond);
        break;

    case ReaderThreadRecords:
        RtlWriteText(Writer, "%'15llu  ", Row->Records);
        break;

    case ReaderThreadSize:
        Tenths = Row->SizeInBytes / 1024 * 10 / 1024;
        RtlWriteText(Writer, "%'8llu.%llu  ", Tenths / 10, Tenths % 10);
        break;

    case ReaderThreadDepth:
        RtlWriteText(Writer, "%6u  ", Row->Depth);
        break;

    default:
        break;
    }
}


//
// Draws a row of the list.
// View: the view, not the help.
// Y: the line.
// Row: the row's index in the model.
// Mask: the columns that are shown.
//

static
VOID
LiveDrawRow(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_ ULONG Row,
    _In_ ULONG Mask
    )
{
    const READER_VIEW_LIST *List = &ReaderViewLists[View->Kind];
    CHAR Line[READER_VIEW_LINE_SIZE];
    RTL_WRITER Writer;
    PCREADER_LIVE_FRAME_ROW Frame;
    const CHAR *Name;
    ULONG NameLength;
    const CHAR *Place = NULL;
    ULONG PlaceLength = 0;
    ULONG Indent = 0;
    ULONG NameAt = 0;
    ULONG Room;
    ULONG X;
    ULONG Index;

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    X = 0;
    for (Index = 0; Index + 1 < List->NumberOfColumns; Index++) {

        if ((Mask & (1u << Index)) == 0) {
            continue;
        }

        if (View->Kind == ReaderViewFunctions) {
            LiveWriteFunctionCell(&Writer,
                                  Model,
                                  &Model->Functions[Row],
                                  Index);
        } else if (View->Kind == ReaderViewThreads) {
            LiveWriteThreadCell(&Writer, &Model->Threads[Row], Index);
            if (Index == ReaderThreadName) {
                NameAt = X + 1;
                RtlWriteText(&Writer, "%*s", (int)View->WidthOfNames, "");
                X += View->WidthOfNames;
                continue;
            }
        } else {
            Frame = &Model->Frames[Row];
            OutputWriteTime(&Writer, Model->Clock, Frame->AgeInTicks);
            RtlWriteText(&Writer,
                         "%s%s ",
                         Frame->IsAssumed ? "?" : " ",
                         Frame->Track != 0 ? "*" : " ");
        }

        X += List->Columns[Index].Width;
    }

    LivePutOnScreen(Screen,
                    1,
                    Y,
                    Screen->Width,
                    ReaderStyleNormal,
                    Line,
                    Writer.LengthInBytes);

    if (View->Kind == ReaderViewFunctions) {
        Name = Model->Functions[Row].Name;
        NameLength = Model->Functions[Row].NameLength;
        Place = Model->Functions[Row].Place;
        PlaceLength = Model->Functions[Row].PlaceLength;
    } else if (View->Kind == ReaderViewThreads) {
        Name = Model->Threads[Row].Innermost;
        NameLength = Model->Threads[Row].InnermostLength;
        if (NameAt != 0) {
            LivePutOnScreen(Screen,
                            NameAt,
                            Y,
                            View->WidthOfNames - 2,
                            ReaderStyleNormal,
                            Model->Threads[Row].Name,
                            Model->Threads[Row].NameLength);
        }
    } else {
        Name = Model->Frames[Row].Name;
        NameLength = Model->Frames[Row].NameLength;
        Indent = Row - Model->Threads[View->Thread].FirstFrame;
        if (Indent > READER_VIEW_LARGEST_INDENT) {
            Indent = READER_VIEW_LARGEST_INDENT;
        }

        if (Indent > Screen->Width / 4) {
            Indent = Screen->Width / 4;
        }
    }

    //
    // A name leaves room for what tells it from others, if there is any.
    //

    X += 1 + Indent;
    Room = Screen->Width > X ? Screen->Width - X : 0;
    Index = LiveQueryTextWidth(Place, PlaceLength) + 3;
    if (PlaceLength == 0 || Room < Index + READER_VIEW_LEAST_NAME / 2) {
        PlaceLength = 0;
    } else {
        Room -= Index;
    }

    X += LivePutOnScreen(Screen,
                         X,
                         Y,
                         Room,
                         ReaderStyleNormal,
                         Name,
                         NameLength);
    if (PlaceLength != 0) {
        RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
        RtlWriteText(&Writer, " [");
        RtlWriteBytes(&Writer, Place, PlaceLength);
        RtlWriteText(&Writer, "]");
        LivePutOnScreen(Screen,
                        X,
                        Y,
                        Screen->Width,
                        ReaderStyleDim,
                        Line,
                        Writer.LengthInBytes);
    }
}


//
// Draws the titles of the columns; a sign is at the one that sorts.
// View: the view, not the help.
// Y: the line.
// Mask: the columns that are shown.
//

static
VOID
LiveDrawTitles(
    _In_ PCREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_ ULONG Mask
    )
{
    const READER_VIEW_LIST *List = &ReaderViewLists[View->Kind];
    CHAR Line[READER_VIEW_LINE_SIZE];
    RTL_WRITER Writer;
    ULONG Last = List->NumberOfColumns - 1;
    ULONG Index;

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    RtlWriteText(&Writer, " ");
    for (Index = 0; Index <= Last; Index++) {

        PCSZ Title = List->Columns[Index].Title;
        PCSZ Sign = "";
        ULONG Width = List->Columns[Index].Width;
        BOOLEAN IsText = Index == Last;

        if ((Mask & (1u << Index)) == 0) {
            continue;
        }

        if (View->Kind == ReaderViewThreads &&
            (Index == ReaderThreadState || Index == ReaderThreadName)) {
            IsText = TRUE;
            if (Index == ReaderThreadName) {
                Width = View->WidthOfNames;
            }
        }

        if (View->Kind != ReaderViewFrames &&
            View->SortColumn[View->Kind] == Index) {
            Sign = View->IsReversed[View->Kind] ? "^" : "v";
        }

        if (IsText) {
            RtlWriteText(&Writer, "%s%s", Sign, Title);
            Width -= Index == Last ? 0 : RtlLengthOfString(Title) +
                                             RtlLengthOfString(Sign);
            RtlWriteText(&Writer, "%*s", Index == Last ? 0 : (int)Width, "");
        } else {
            RtlWriteText(&Writer,
                         "%*s%s%s  ",
                         (int)(Width - 2 - RtlLengthOfString(Title) -
                               RtlLengthOfString(Sign)),
                         "",
                         Sign,
                         Title);
        }
    }

    LivePutOnScreen(Screen,
                    0,
                    Y,
                    Screen->Width,
                    ReaderStyleHeading,
                    Line,
                    Writer.LengthInBytes);
    LiveStyleLine(Screen, Y, ReaderStyleHeading);
}


//
// Writes the line that says how much there is.
//

static
VOID
LiveWriteSummary(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    READER_PUT_LIVE_PROCESS(Writer, Model, "P");
    RtlWriteText(Writer,
                 "  %u of %u threads running  %'llu %s  "
                 "%'llu calls/s",
                 Model->NumberOfRunning,
                 Model->NumberOfThreads,
                 Model->AllRecords,
                 READER_LIVE_UNIT(Model),
                 Model->CallsPerSecond);
    if (Model->IsEnded) {
        RtlWriteText(Writer,
                     "  in %llu.%03llu s",
                     Model->IntervalInNanoseconds /
                         CORE_NANOSECONDS_PER_SECOND,
                     Model->IntervalInNanoseconds / 1000000 % 1000);
    } else {
        RtlWriteText(Writer,
                     "  every %u.%u s",
                     View->IntervalInMilliseconds / 1000,
                     View->IntervalInMilliseconds / 100 % 10);
    }
}


//
// Writes the line that says which view this is.
//

static
VOID
LiveWriteTabs(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    static const PCSZ Names[READER_NUMBER_OF_VIEWS] = {
        "1 Functions", "2 Threads", "3 Open frames"
    };
    ULONG Index;

    if (View->IsPaused) {
        RtlWriteText(Writer, "PAUSED (p goes on)  ");
    }

    for (Index = 0; Index < READER_NUMBER_OF_VIEWS; Index++) {
        RtlWriteText(Writer,
                     (ULONG)View->Kind == Index ? "[%s] " : " %s  ",
                     Names[Index]);
    }

    if (View->Kind == ReaderViewFrames &&
        View->Thread < Model->NumberOfThreads) {
        PCREADER_LIVE_THREAD_ROW Thread = &Model->Threads[View->Thread];

        RtlWriteText(Writer, " thread %u", Thread->ThreadId);
        if (Thread->NameLength != 0) {
            RtlWriteText(Writer, " ");
            RtlWriteBytes(Writer, Thread->Name, Thread->NameLength);
        }

        RtlWriteText(Writer,
                     ", %u open%s",
                     Thread->Depth,
                     Model->IsBackUnread ? " that are known" : "");
    } else {
        RtlWriteText(Writer, " %u", View->NumberOfRows);
    }

    if (View->FilterLength != 0 ||
        (View->IsEditing && View->Asking == ReaderRequestNone)) {
        RtlWriteText(Writer, "  filter: ");
        RtlWriteBytes(Writer, View->Filter, View->FilterLength);
    }
}


//
// Draws the lines above the titles, and the last line.
//

static
VOID
LiveDrawHead(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Inout_ PREADER_SCREEN Screen
    )
{
    CHAR Line[READER_VIEW_LINE_SIZE];
    RTL_WRITER Writer;
    BOOLEAN IsWarning = FALSE;
    ULONG Used;

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    if (View->NoticeLength != 0) {
        RtlWriteBytes(&Writer, View->Notice, View->NoticeLength);
        IsWarning = TRUE;
    } else {
        if (Model->IsEnded) {
            RtlWriteText(&Writer, "ENDED  ");
            RtlWriteBytes(&Writer, Model->End, Model->EndLength);
            RtlWriteText(&Writer, "  ");
            IsWarning = TRUE;
        }

        LiveWriteLiveState(&Writer, Model);
        IsWarning |= Model->IsEstimated || Model->SamplePerMille < 1000 ||
                     Model->IsLate;
    }

    if (Screen->Height < READER_VIEW_LEAST_HEIGHT) {
        if (View->SaidLength != 0) {
            Writer.LengthInBytes = 0;
            RtlWriteBytes(&Writer, View->Said, View->SaidLength);
        } else if (!IsWarning) {
            Writer.LengthInBytes = 0;
            LiveWriteTabs(&Writer, View, Model);
        }

        LivePutOnScreen(Screen,
                        0,
                        0,
                        Screen->Width,
                        ReaderStyleBold,
                        Line,
                        Writer.LengthInBytes);
        return;
    }

    LivePutOnScreen(Screen,
                    0,
                    2,
                    Screen->Width,
                    IsWarning ? ReaderStyleWarning : ReaderStyleNormal,
                    Line,
                    Writer.LengthInBytes);

    Used = LivePutOnScreen(Screen,
                           0,
                           0,
                           Screen->Width,
                           ReaderStyleBold,
                           "TraceReader live  ",
                           18);
    LivePutOnScreen(Screen,
                    Used,
                    0,
                    Screen->Width,
                    ReaderStyleNormal,
                    Model->Path,
                    RtlLengthOfString(Model->Path));

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    LiveWriteSummary(&Writer, View, Model);
    LivePutOnScreen(Screen,
                    0,
                    1,
                    Screen->Width,
                    ReaderStyleNormal,
                    Line,
                    Writer.LengthInBytes);

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    LiveWriteTabs(&Writer, View, Model);
    LivePutOnScreen(Screen,
                    0,
                    3,
                    Screen->Width,
                    ReaderStyleBold,
                    Line,
                    Writer.LengthInBytes);

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    if (View->IsEditing && View->Asking != ReaderRequestNone) {
        RtlWriteText(&Writer,
                     View->Asking == ReaderRequestMark
                         ? "Set a mark with the text: "
                         : "Copy what there is to the new directory: ");
        RtlWriteBytes(&Writer, View->Text, View->TextLength);
        RtlWriteText(&Writer, "_   (Esc: no)");
    } else if (View->SaidLength != 0) {
        RtlWriteBytes(&Writer, View->Said, View->SaidLength);
    } else if (View->IsEditing) {
        RtlWriteText(&Writer, "Show only names with: ");
        RtlWriteBytes(&Writer, View->Filter, View->FilterLength);
        RtlWriteText(&Writer, "_   (Enter keeps it, Esc shows all)");
    } else {
        RtlWriteText(&Writer,
                     "q quit  h help  Tab view  s c t n sort  r reverse  "
                     "/ filter  p pause  + - interval");
    }

    LivePutOnScreen(Screen,
                    0,
                    Screen->Height - 1,
                    Screen->Width,
                    View->IsEditing || View->SaidLength != 0
                        ? ReaderStyleBold
                        : ReaderStyleDim,
                    Line,
                    Writer.LengthInBytes);
}


static
VOID
LiveDrawHelp(
    _In_ PCREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen
    )
{
    ULONG Index;

    UNREFERENCED_PARAMETER(View);
    LivePutOnScreen(Screen,
                    0,
                    0,
                    Screen->Width,
                    ReaderStyleBold,
                    "TraceReader live: keys (any key goes back)",
                    42);
    for (Index = 0; Index < RTL_NUMBER_OF(ReaderViewHelpLines); Index++) {
        LivePutOnScreen(Screen,
                        0,
                        Index + 1,
                        Screen->Width,
                        ReaderStyleNormal,
                        ReaderViewHelpLines[Index],
                        RtlLengthOfString(ReaderViewHelpLines[Index]));
    }
}


_Use_decl_annotations_
NTSTATUS
LiveDrawView(
    PREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    PREADER_SCREEN Screen
    )
{
    ULONG Kind = (ULONG)View->Kind;
    ULONG FirstLine = 5;
    ULONG Lines = 0;
    ULONG Mask;
    ULONG Index;
    NTSTATUS Status;

    LiveClearScreen(Screen);
    if (View->Kind == ReaderViewHelp) {
        LiveDrawHelp(View, Screen);
        return STATUS_SUCCESS;
    }

    Status = LiveOrderRows(View, Model);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Screen->Height < READER_VIEW_LEAST_HEIGHT) {
        FirstLine = 2;
        if (Screen->Height > FirstLine) {
            Lines = Screen->Height - FirstLine;
        }
    } else {
        Lines = Screen->Height - FirstLine - 1;
    }

    View->LinesOfList = Lines;
    if (View->Selected[Kind] >= View->NumberOfRows) {
        View->Selected[Kind] =
            View->NumberOfRows != 0 ? View->NumberOfRows - 1 : 0;
    }

    if (View->Top[Kind] > View->Selected[Kind]) {
        View->Top[Kind] = View->Selected[Kind];
    }

    if (Lines != 0 && View->Selected[Kind] - View->Top[Kind] >= Lines) {
        View->Top[Kind] = View->Selected[Kind] - Lines + 1;
    }

    if (View->NumberOfRows <= Lines) {
        View->Top[Kind] = 0;
    } else if (View->Top[Kind] > View->NumberOfRows - Lines) {
        View->Top[Kind] = View->NumberOfRows - Lines;
    }

    LiveDrawHead(View, Model, Screen);
    Mask = LiveChooseColumns(View, Screen->Width);
    if (View->Kind == ReaderViewThreads) {
        View->WidthOfNames = LiveWidenNames(View, Model, Screen->Width, Mask);
    }

    if (Screen->Height > 1) {
        LiveDrawTitles(View, Screen, FirstLine - 1, Mask);
    }

    for (Index = 0;
         Index < Lines && View->Top[Kind] + Index < View->NumberOfRows;
         Index++) {

        LiveDrawRow(View,
                    Model,
                    Screen,
                    FirstLine + Index,
                    View->Order[View->Top[Kind] + Index],
                    Mask);
        if (View->Top[Kind] + Index == View->Selected[Kind]) {
            LivePutOnScreen(Screen,
                            0,
                            FirstLine + Index,
                            1,
                            ReaderStyleNormal,
                            ">",
                            1);
            LiveStyleLine(Screen, FirstLine + Index, ReaderStyleSelected);
        }
    }

    return STATUS_SUCCESS;
}

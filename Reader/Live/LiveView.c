/*++

Module Name:

    LiveView.c

Abstract:

    What TraceReader live shows on a screen.  All that is shown comes from the
    model, so that tests can draw any program.

--*/

#include "../Functions/FunctionStub.h"
#include "LiveColumns.h"
#include "LiveFilter.h"
#include "LiveHelp.h"
#include "LiveTreeView.h"

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

static const READER_VIEW_COLUMN ReaderNodeColumns[] = {
    { "Total %", 9, 0 },
    { "Self %", 8, 1 },
    { "Calls", 17, 2 },
    { "Total", 12, 3 },
    { "Self", 12, 4 },
    { "Function", 0, 0 }
};

static const READER_VIEW_COLUMN ReaderEdgeColumns[] = {
    { "Share %", 9, 0 },
    { "Calls", 17, 1 },
    { "Total", 12, 2 },
    { "Self", 12, 3 },
    { "Caller", 0, 0 }
};

typedef struct _READER_VIEW_LIST {
    PCREADER_VIEW_COLUMN Columns;
    ULONG NumberOfColumns;
    ULONG LeastName;                // cells that a name gets before another
                                    // column goes
    PCSZ Nothing;                   // what stands in a list without rows
} READER_VIEW_LIST;

C_ASSERT(RTL_NUMBER_OF(ReaderFunctionColumns) ==
         ReaderNumberOfFunctionColumns);
C_ASSERT(RTL_NUMBER_OF(ReaderThreadColumns) == ReaderNumberOfThreadColumns);
C_ASSERT(RTL_NUMBER_OF(ReaderNodeColumns) == ReaderNumberOfNodeColumns);
C_ASSERT(RTL_NUMBER_OF(ReaderEdgeColumns) == ReaderNumberOfEdgeColumns);

//
// A name gets so many cells before another column goes; one with branches
// before it gets more.
//

#define READER_VIEW_LEAST_NAME 20u
#define READER_VIEW_LEAST_BRANCH 40u

static const READER_VIEW_LIST ReaderViewLists[READER_NUMBER_OF_VIEWS] = {
    { ReaderFunctionColumns, RTL_NUMBER_OF(ReaderFunctionColumns),
      READER_VIEW_LEAST_NAME, "" },
    { ReaderThreadColumns, RTL_NUMBER_OF(ReaderThreadColumns),
      READER_VIEW_LEAST_NAME, "" },
    { ReaderFrameColumns, RTL_NUMBER_OF(ReaderFrameColumns),
      READER_VIEW_LEAST_NAME, "" },
    { ReaderNodeColumns, RTL_NUMBER_OF(ReaderNodeColumns),
      READER_VIEW_LEAST_BRANCH, "No call has been read yet." },
    { ReaderEdgeColumns, RTL_NUMBER_OF(ReaderEdgeColumns),
      READER_VIEW_LEAST_NAME, "No call of it has been read yet." }
};

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

//
// Shares of the time from which on a number is red, and yellow, in thousands.
//

#define READER_VIEW_HOT 200u
#define READER_VIEW_WARM 50u

#define READER_VIEW_LINE_SIZE 512u      // bytes


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
    View->SelectedNode = READER_NONE;
    View->IntervalInMilliseconds = IntervalInMilliseconds;
}


_Use_decl_annotations_
VOID
LiveRundownView(
    PREADER_VIEW View,
    PCALLOCATOR Allocator
    )
{
    Allocator->Free(Allocator->Context, View->Order);
    Allocator->Free(Allocator->Context, View->Edges);
    Allocator->Free(Allocator->Context, View->Folds);
    View->Order = NULL;
    View->CapacityOfOrder = 0;
    View->Edges = NULL;
    View->NumberOfEdges = 0;
    View->CapacityOfEdges = 0;
    View->Folds = NULL;
    View->CapacityOfFolds = 0;
}


_Use_decl_annotations_
BOOLEAN
LiveNeedsNodes(
    PCREADER_VIEW View
    )
{
    READER_VIEW_KIND Kind = View->Kind == ReaderViewHelp ? View->KindBeforeHelp
                                                         : View->Kind;

    return Kind == ReaderViewTree || Kind == ReaderViewCallers;
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
    } else if (View->Kind != ReaderViewFunctions) {
        Most = Model->NumberOfNodes + 1;
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

    if (View->Kind == ReaderViewTree) {
        return LiveOrderNodes(View, Model, &View->NumberOfRows);
    }

    if (View->Kind == ReaderViewCallers) {
        return LiveOrderEdges(View, Model, &View->NumberOfRows);
    }

    if (View->Kind == ReaderViewFunctions) {

        for (Index = 0; Index < Model->NumberOfFunctions; Index++) {

            PCREADER_LIVE_FUNCTION_ROW Row = &Model->Functions[Index];

            if (Row->IsShown && (Row->IsRunning || READER_LIVE_WAS_SEEN(Row)) &&
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
    ULONG Least = List->LeastName;
    ULONG Worst;
    ULONG Used;
    ULONG Index;

    if (Least > READER_VIEW_LEAST_NAME && Least > Width / 2) {
        Least = READER_VIEW_LEAST_NAME;
    }

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

        if (Worst == Last || Used + Least <= Width) {
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
// Colors what is large, what runs and what has ended.
// Row: the row's index in the model.
// Mask: the columns that are shown.
//

static
VOID
LiveColorRow(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_ ULONG Row,
    _In_ ULONG Mask
    )
{
    const READER_VIEW_LIST *List = &ReaderViewLists[View->Kind];
    READER_STYLE Style = ReaderStyleNormal;
    ULONGLONG PerMille = 0;
    ULONG Column = 0;
    ULONG X = 1;
    ULONG Index;

    switch (View->Kind) {

    case ReaderViewFunctions:
        PerMille = Model->Functions[Row].SelfPerMille;
        break;

    case ReaderViewThreads:
        Column = ReaderThreadState;
        Style = Model->Threads[Row].State[0] == 'r' ? ReaderStyleGood
                                                    : ReaderStyleDim;
        break;

    case ReaderViewTree:
        PerMille = LiveQueryPerMille(Model->Nodes[Row].TotalTicks,
                                     Model->NodesTicks);
        break;

    case ReaderViewCallers:
        if (Row != 0) {
            PerMille = LiveQueryPerMille(View->Edges[Row].TotalTicks,
                                         View->Edges[0].TotalTicks);
        }
        break;

    default:
        break;
    }

    if (PerMille >= READER_VIEW_HOT) {
        Style = ReaderStyleHot;
    } else if (PerMille >= READER_VIEW_WARM) {
        Style = ReaderStyleWarm;
    }

    if (Style == ReaderStyleNormal || (Mask & (1u << Column)) == 0) {
        return;
    }

    for (Index = 0; Index < Column; Index++) {
        X += (Mask & (1u << Index)) != 0 ? List->Columns[Index].Width : 0;
    }

    LiveStyleCells(Screen, X, Y, List->Columns[Column].Width, Style);
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
    CHAR Module[300];
    RTL_WRITER Writer;
    PCREADER_LIVE_FRAME_ROW Frame;
    const CHAR *Name;
    ULONG NameLength;
    const CHAR *Place = NULL;
    ULONG PlaceLength = 0;
    ULONG Indent = 0;
    ULONG NameAt = 0;
    ULONG Folded = 0;
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
        } else if (View->Kind == ReaderViewTree) {
            LiveWriteNodeCell(&Writer, Model, &Model->Nodes[Row], Index);
        } else if (View->Kind == ReaderViewCallers) {
            LiveWriteEdgeCell(&Writer, View, Model, &View->Edges[Row], Index);
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

    LiveColorRow(View, Model, Screen, Y, Row, Mask);
    if (View->Kind == ReaderViewFunctions) {
        Name = Model->Functions[Row].Name;
        NameLength = Model->Functions[Row].NameLength;
        Place = Model->Functions[Row].Place;
        PlaceLength = Model->Functions[Row].PlaceLength;
    } else if (View->Kind == ReaderViewTree ||
               View->Kind == ReaderViewCallers) {

        PCREADER_LIVE_NODE Node =
            &Model->Nodes[View->Kind == ReaderViewTree
                              ? Row
                              : View->Edges[Row].Node];

        Name = Node->Name;
        NameLength = Node->NameLength;
        if (View->Kind == ReaderViewCallers &&
            READER_IS_CALLING_MODULE(View->Edges[Row].Function)) {
            RtlInitializeBufferWriter(&Writer, Module, sizeof(Module));
            RtlWriteText(&Writer, "[");
            RtlWriteBytes(&Writer, Node->CallerName, Node->CallerLength);
            RtlWriteText(&Writer, "]");
            Name = Module;
            NameLength = Writer.LengthInBytes;
        } else if (Node->Function == READER_NONE) {
            Name = "(outermost)";
            NameLength = 11;
        } else if (Node->Row < Model->NumberOfFunctions) {
            Place = Model->Functions[Node->Row].Place;
            PlaceLength = Model->Functions[Node->Row].PlaceLength;
        }

        //
        // Two calls of one import may differ by the module that called.
        //

        if (View->Kind == ReaderViewTree && PlaceLength == 0 &&
            READER_IS_CALLING_MODULE(Node->Caller)) {
            RtlInitializeBufferWriter(&Writer, Module, sizeof(Module));
            RtlWriteText(&Writer, "by ");
            RtlWriteBytes(&Writer, Node->CallerName, Node->CallerLength);
            Place = Module;
            PlaceLength = Writer.LengthInBytes;
        }

        if (View->Kind == ReaderViewTree) {
            Folded = LiveCountFolded(View, Model, Row);
            RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
            Indent = LiveWriteBranches(&Writer,
                                       View,
                                       Model,
                                       Row,
                                       Screen->Width / 8 < 20
                                           ? Screen->Width / 8
                                           : 20);
            LivePutOnScreen(Screen,
                            X + 1,
                            Y,
                            Indent,
                            ReaderStyleDim,
                            Line,
                            Writer.LengthInBytes);
        } else if (Row != 0) {
            Indent = 2;
        }
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
    // A name leaves room for what tells it from others, and for how many nodes
    // are folded away, if there is any.
    //

    RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
    if (PlaceLength != 0) {
        RtlWriteText(&Writer, " [");
        RtlWriteBytes(&Writer, Place, PlaceLength);
        RtlWriteText(&Writer, "]");
    }

    if (Folded != 0) {
        RtlWriteText(&Writer, " (+%u)", Folded);
    }

    X += 1 + Indent;
    Room = Screen->Width > X ? Screen->Width - X : 0;
    Index = LiveQueryTextWidth(Line, Writer.LengthInBytes);
    if (Index == 0 || Room < Index + READER_VIEW_LEAST_NAME / 2) {
        Writer.LengthInBytes = 0;
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
    LivePutOnScreen(Screen,
                    X,
                    Y,
                    Screen->Width,
                    ReaderStyleDim,
                    Line,
                    Writer.LengthInBytes);
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

        if (View->Kind < ReaderViewFrames &&
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
// IsShort: in fewer words.
//

static
VOID
LiveWriteSummary(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsShort
    )
{
    READER_PUT_LIVE_PROCESS(Writer, Model, "P");
    RtlWriteText(Writer,
                 IsShort ? "  %u/%u threads  %'llu %s  %'llu calls/s"
                         : "  %u of %u threads running  %'llu %s  "
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
    static const PCSZ Names[READER_NUMBER_OF_TABS] = {
        "1 Functions", "2 Threads", "3 Open frames", "4 Tree"
    };
    ULONG Callers = 0;
    ULONG Index;

    if (View->IsPaused) {
        RtlWriteText(Writer, "PAUSED (p goes on)  ");
    }

    for (Index = 0;
         View->Kind != ReaderViewCallers && Index < READER_NUMBER_OF_TABS;
         Index++) {
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
    } else if (View->Kind == ReaderViewCallers) {
        for (Index = 1; Index < View->NumberOfEdges; Index++) {
            Callers += View->Edges[Index].Function != READER_NONE;
        }

        RtlWriteText(Writer,
                     "%u caller%s of ",
                     Callers,
                     Callers == 1 ? "" : "s");
        if (View->NumberOfTargets != 0) {

            PCREADER_VIEW_TARGET Target =
                &View->Targets[View->NumberOfTargets - 1];

            RtlWriteBytes(Writer, Target->Name, Target->NameLength);
        }
    } else if (View->Kind == ReaderViewTree) {
        RtlWriteText(Writer,
                     " %u of %u nodes",
                     View->NumberOfRows,
                     Model->NumberOfNodes < READER_LIVE_FIRST_NODE
                         ? 0
                         : Model->NumberOfNodes - READER_LIVE_FIRST_NODE);
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

        if (LiveNeedsNodes(View)) {
            LiveWriteNodesState(&Writer, Model);
            IsWarning |= Model->AreNodesEstimated;
        } else {
            LiveWriteLiveState(&Writer, Model);
            IsWarning |= Model->IsEstimated || Model->SamplePerMille < 1000 ||
                         Model->IsLate;
        }
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
                    IsWarning ? ReaderStyleWarning : ReaderStyleGood,
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
    LiveWriteSummary(&Writer, View, Model, FALSE);
    if (Writer.LengthInBytes > Screen->Width) {
        Writer.LengthInBytes = 0;
        LiveWriteSummary(&Writer, View, Model, TRUE);
    }

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
        LiveWriteHints(&Writer, View->Kind, Screen->Width);
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

    if (Screen->Height < READER_VIEW_LEAST_HEIGHT) {
        FirstLine = 2;
        if (Screen->Height > FirstLine) {
            Lines = Screen->Height - FirstLine;
        }
    } else {
        Lines = Screen->Height - FirstLine - 1;
    }

    View->LinesOfList = Lines;
    Status = LiveOrderRows(View, Model);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

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

    if (View->NumberOfRows == 0 && View->FilterLength == 0 && Lines != 0) {
        LivePutOnScreen(Screen,
                        2,
                        FirstLine,
                        Screen->Width,
                        ReaderStyleDim,
                        ReaderViewLists[Kind].Nothing,
                        RtlLengthOfString(ReaderViewLists[Kind].Nothing));
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

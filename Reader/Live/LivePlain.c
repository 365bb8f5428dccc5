/*++

Module Name:

    LivePlain.c

Abstract:

    A refresh as lines: for a file, a pipe, or a terminal that cannot show a
    screen.

--*/

#include "../Base/BaseErrors.h"
#include "LivePlain.h"

static const READER_COLUMN ReaderLiveColumns[] = {
    { "Calls/s", "calls_per_second", ReaderColumnNumber, 12, 0,
      NULL },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH, 0,
      NULL },
    { "Function", "function", ReaderColumnText, 0, 0,
      NULL }
};

static const READER_COLUMN ReaderWholeColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 12, 0,
      NULL },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH, 0,
      NULL },
    { "Function", "function", ReaderColumnText, 0, 0,
      NULL }
};

static const READER_TABLE ReaderWholeTable = {
    "functions",
    ReaderWholeColumns,
    RTL_NUMBER_OF(ReaderWholeColumns),
    FALSE,
    FALSE,
    NULL
};

static const READER_TABLE ReaderLiveTable = {
    "functions",
    ReaderLiveColumns,
    RTL_NUMBER_OF(ReaderLiveColumns),
    FALSE,
    FALSE,
    NULL
};


//
// Orders functions by self time, then by calls, then by name.
// CompareContext: the rows.
// First, Second: their indexes.
// Returns negative, zero or positive.
//

static
LONG
LiveCompareLiveFunctions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_LIVE_FUNCTION_ROW Rows =
        (PCREADER_LIVE_FUNCTION_ROW)CompareContext;
    PCREADER_LIVE_FUNCTION_ROW FirstRow = &Rows[First];
    PCREADER_LIVE_FUNCTION_ROW SecondRow = &Rows[Second];

    if (FirstRow->SelfTicks != SecondRow->SelfTicks) {
        return FirstRow->SelfTicks > SecondRow->SelfTicks ? -1 : 1;
    }

    if (FirstRow->Calls != SecondRow->Calls) {
        return FirstRow->Calls > SecondRow->Calls ? -1 : 1;
    }

    return BaseCompareText(FirstRow->Name,
                           FirstRow->NameLength,
                           SecondRow->Name,
                           SecondRow->NameLength);
}


//
// Writes the functions that ran in the interval.
// Plain: the state of the lines.
//

_Must_inspect_result_
static
NTSTATUS
LivePutPlainFunctions(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    READER_NOT_SHOWN NotShown = { 0 };
    PREADER_OUTPUT Output = &Plain->Output;
    BOOLEAN IsPart = Model->SamplePerMille < 1000;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Plain->Order,
                           &Plain->CapacityOfOrder,
                           Model->NumberOfFunctions,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Model->NumberOfFunctions; Index++) {
        if (!Model->Functions[Index].IsRunning) {
            continue;
        }

        if (Model->Functions[Index].IsShown) {
            Plain->Order[Count] = Index;
            Count += 1;
        } else {
            NotShown.Rows += 1;
            NotShown.Calls += Model->Functions[Index].Calls;
        }
    }

    Plain->NumberShown += Count;
    Plain->NotShown.Rows += NotShown.Rows;

    BaseSort(Plain->Order,
             Count,
             LiveCompareLiveFunctions,
             Model->Functions);

    Output->NumberOfTables = 0;
    if (IsPart) {
        RtlWriteText(Output->Writer,
                     "%12s  %*s  Function\n",
                     "Calls/s",
                     READER_TIME_WIDTH,
                     "Self");
    } else {
        OutputBeginTable(Output,
                         Model->IsWhole ? &ReaderWholeTable : &ReaderLiveTable,
                         0);
    }

    for (Index = 0; Index < Count && Index < Plain->Limit; Index++) {

        PCREADER_LIVE_FUNCTION_ROW Row =
            &Model->Functions[Plain->Order[Index]];

        if (IsPart) {
            LiveWriteLiveNumber(Output->Writer,
                                Row->CallsPerSecond,
                                TRUE,
                                Model->CallsLimit,
                                12);
            RtlWriteText(Output->Writer, "  ");
            LiveWriteLiveTime(Output->Writer,
                              Model->Clock,
                              Row->SelfTicks,
                              TRUE);
            RtlWriteText(Output->Writer, "  ");
            RtlWriteCleanText(Output->Writer, Row->Name, Row->NameLength);
            RtlWriteText(Output->Writer, "\n");
            continue;
        }

        if (Model->IsWhole) {
            OutputPutNumber(Output, Row->Calls);
        } else if (Model->IntervalInNanoseconds != 0) {
            OutputPutNumber(Output, Row->CallsPerSecond);
        } else {
            OutputPutNothing(Output);
        }

        OutputPutNumber(Output, Row->SelfTicks);
        OutputPutText(Output, Row->Name, Row->NameLength);
    }

    if (!IsPart) {
        OutputEndTable(Output);
    }

    if (Count > Index) {
        RtlWriteText(Output->Writer,
                     "%*s(%u more)\n",
                     12 + 2 + READER_TIME_WIDTH + 2,
                     "",
                     Count - Index);
    }

    FunctionPutNotShown(Output, Live->Options->Filter, &NotShown);
    return STATUS_SUCCESS;
}


//
// Writes a thread's open frames with their ages, the outermost first.
// Plain: the state of the lines.
//

static
VOID
LivePutPlainFrames(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ PCREADER_LIVE_THREAD_ROW Thread
    )
{
    PRTL_WRITER Writer = Plain->Output.Writer;
    PCREADER_LIVE_FRAME_ROW Frames = &Model->Frames[Thread->FirstFrame];
    ULONGLONG Outside = 0;
    ULONG Shown = 0;
    ULONG Other;
    ULONG Index;

    for (Index = 0; Index < Thread->Depth; Index++) {
        Shown += Frames[Index].IsShown;
    }

    Plain->NumberShown += Shown;
    Plain->NotShown.Rows += Thread->Depth - Shown;
    if (Shown == 0) {
        return;
    }

    RtlWriteText(Writer,
                 "Thread %u%s",
                 Thread->ThreadId,
                 Thread->NameLength != 0 ? " " : "");
    RtlWriteCleanText(Writer, Thread->Name, Thread->NameLength);
    RtlWriteText(Writer, ":\n");

    for (Index = 0; Index < Thread->Depth; Index++) {

        //
        // Each of its stacks is cut by itself.
        //

        if (Index == 0 || Frames[Index].Track != Frames[Index - 1].Track) {

            Shown = 0;
            for (Other = Index;
                 Other < Thread->Depth &&
                     Frames[Other].Track == Frames[Index].Track;
                 Other++) {
                Shown += Frames[Other].IsShown;
            }

            Outside = 0;
            if (Shown > Plain->Limit) {
                Outside = Shown - Plain->Limit;
                RtlWriteText(Writer,
                             "%*s(%llu more outside)\n",
                             READER_TIME_WIDTH + 4,
                             "",
                             Outside);
            }
        }

        if (!Frames[Index].IsShown) {
            continue;
        }

        if (Outside != 0) {
            Outside -= 1;
            continue;
        }

        RtlWriteText(Writer, "  ");
        OutputWriteTime(Writer, Model->Clock, Frames[Index].AgeInTicks);
        RtlWriteText(Writer,
                     "%s%s  ",
                     Frames[Index].Track != 0 ? "*" : "",
                     Frames[Index].IsAssumed ? "?" : "");
        RtlWriteCleanText(Writer,
                          Frames[Index].Name,
                          Frames[Index].NameLength);
        RtlWriteText(Writer, "\n");
    }
}


_Use_decl_annotations_
NTSTATUS
LivePutLivePlain(
    PREADER_LIVE_PLAIN Plain,
    PCREADER_LIVE Live,
    PCREADER_LIVE_MODEL Model
    )
{
    PRTL_WRITER Writer = Plain->Output.Writer;
    RTL_CALENDAR_TIME Time;
    ULONG Index;
    NTSTATUS Status;

    RtlSystemTimeToCalendar(Model->SystemTime, &Time);
    RtlWriteText(Writer,
                 "\n%02u:%02u:%02u.%03uZ  ",
                 (ULONG)Time.Hour,
                 (ULONG)Time.Minute,
                 (ULONG)Time.Second,
                 (ULONG)Time.Milliseconds);
    READER_PUT_LIVE_PROCESS(Writer, Model, "p");
    RtlWriteText(Writer,
                 ", %u of %u threads running, %llu %s, %llu new in "
                 "%llu.%03llu s",
                 Model->NumberOfRunning,
                 Model->NumberOfThreads,
                 Model->AllRecords,
                 READER_LIVE_UNIT(Model),
                 Model->NewRecords,
                 Model->IntervalInNanoseconds / CORE_NANOSECONDS_PER_SECOND,
                 Model->IntervalInNanoseconds / 1000000 % 1000);
    if (Model->Overtaken != 0) {
        RtlWriteText(Writer, ", %llu overwritten unread", Model->Overtaken);
    }

    if (Model->ClockName != NULL) {
        RtlWriteText(Writer, ", clock: %s", Model->ClockName);
    }

    RtlWriteText(Writer, "\n");
    if (Model->IsEstimated || Model->SamplePerMille < 1000 ||
        Model->IsLate || Model->ThreadsOfTrees != 0) {
        LiveWriteLiveState(Writer, Model);
        RtlWriteText(Writer, "\n");
    }

    Status = LivePutPlainFunctions(Plain, Live, Model);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Live->Session.Context,
                 "show the functions",
                 Model->Path,
                 Status);
        return Status;
    }

    for (Index = 0; Index < Model->NumberOfThreads; Index++) {
        if (Model->Threads[Index].InnermostLength != 0) {
            LivePutPlainFrames(Plain, Model, &Model->Threads[Index]);
        }
    }

    return RtlFlushWriter(Writer);
}

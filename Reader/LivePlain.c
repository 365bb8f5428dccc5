/*++

Module Name:

    LivePlain.c

Abstract:

    A refresh as lines: for a file, a pipe, or a terminal that cannot show a
    screen.

--*/

#include "ReaderLive.h"

static const READER_COLUMN ReaderLiveColumns[] = {
    { "Calls/s", "calls_per_second", ReaderColumnNumber, 12 },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },
    { "Function", "function", ReaderColumnText, 0 }
};

static const READER_COLUMN ReaderWholeColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 12 },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },
    { "Function", "function", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderWholeTable = {
    "functions",
    ReaderWholeColumns,
    RTL_NUMBER_OF(ReaderWholeColumns),
    FALSE
};

static const READER_TABLE ReaderLiveTable = {
    "functions",
    ReaderLiveColumns,
    RTL_NUMBER_OF(ReaderLiveColumns),
    FALSE
};


static
LONG
ReaderCompareLiveFunctions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by self time, then by calls, then by name.

Arguments:

    CompareContext - The rows.

    First, Second - Their indexes.

Return Value:

    Negative, zero or positive.

--*/
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

    return ReaderCompareText(FirstRow->Name,
                             FirstRow->NameLength,
                             SecondRow->Name,
                             SecondRow->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutPlainFunctions(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model
    )
/*++

Routine Description:

    Writes the functions that ran in the interval.

Arguments:

    Plain - The state of the lines.

    Live - The state.

    Model - The model.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_NOT_SHOWN NotShown = { 0 };
    PREADER_OUTPUT Output = &Plain->Output;
    BOOLEAN IsPart = Model->SamplePerMille < 1000;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Model->Allocator,
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

    ReaderSort(Plain->Order,
               Count,
               ReaderCompareLiveFunctions,
               Model->Functions);

    Output->NumberOfTables = 0;
    if (IsPart) {
        RtlWriteText(Output->Writer,
                     "%12s  %*s  Function\n",
                     "Calls/s",
                     READER_TIME_WIDTH,
                     "Self");
    } else {
        ReaderBeginTable(Output,
                         Model->IsWhole ? &ReaderWholeTable : &ReaderLiveTable,
                         0);
    }

    for (Index = 0; Index < Count && Index < Plain->Limit; Index++) {

        PCREADER_LIVE_FUNCTION_ROW Row =
            &Model->Functions[Plain->Order[Index]];

        if (IsPart) {
            ReaderWriteLiveNumber(Output->Writer,
                                  Row->CallsPerSecond,
                                  TRUE,
                                  12);
            RtlWriteText(Output->Writer, "  ");
            ReaderWriteLiveTime(Output->Writer,
                                Model->Clock,
                                Row->SelfTicks,
                                TRUE);
            RtlWriteText(Output->Writer, "  ");
            ReaderWriteCleanText(Output->Writer, Row->Name, Row->NameLength);
            RtlWriteText(Output->Writer, "\n");
            continue;
        }

        if (Model->IsWhole) {
            ReaderPutNumber(Output, Row->Calls);
        } else if (Model->IntervalInNanoseconds != 0) {
            ReaderPutNumber(Output, Row->CallsPerSecond);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutNumber(Output, Row->SelfTicks);
        ReaderPutText(Output, Row->Name, Row->NameLength);
    }

    if (!IsPart) {
        ReaderEndTable(Output);
    }

    if (Count > Index) {
        RtlWriteText(Output->Writer,
                     "%*s(%u more)\n",
                     12 + 2 + READER_TIME_WIDTH + 2,
                     "",
                     Count - Index);
    }

    ReaderPutNotShown(Output, Live->Options->Filter, &NotShown);
    return STATUS_SUCCESS;
}


static
VOID
ReaderPutPlainFrames(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ PCREADER_LIVE_THREAD_ROW Thread
    )
/*++

Routine Description:

    Writes a thread's open frames with their ages, the outermost first.

Arguments:

    Plain - The state of the lines.

    Model - The model.

    Thread - The thread.

Return Value:

    None.

--*/
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
    ReaderWriteCleanText(Writer, Thread->Name, Thread->NameLength);
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
        ReaderWriteTime(Writer, Model->Clock, Frames[Index].AgeInTicks);
        RtlWriteText(Writer,
                     "%s%s  ",
                     Frames[Index].Track != 0 ? "*" : "",
                     Frames[Index].IsAssumed ? "?" : "");
        ReaderWriteCleanText(Writer,
                             Frames[Index].Name,
                             Frames[Index].NameLength);
        RtlWriteText(Writer, "\n");
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderPutLivePlain(
    PREADER_LIVE_PLAIN Plain,
    PCREADER_LIVE Live,
    PCREADER_LIVE_MODEL Model
    )
/*++

Routine Description:

    Writes a refresh.

Arguments:

    Plain - The state of the lines.

    Live - The state.

    Model - The model.

Return Value:

    STATUS_SUCCESS or what failed, which has been said.

--*/
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
        Model->IsLate) {
        ReaderWriteLiveState(Writer, Model);
        RtlWriteText(Writer, "\n");
    }

    Status = ReaderPutPlainFunctions(Plain, Live, Model);
    if (!NT_SUCCESS(Status)) {
        ReaderFail(Live->Session.Context,
                   "show the functions",
                   Model->Path,
                   Status);
        return Status;
    }

    for (Index = 0; Index < Model->NumberOfThreads; Index++) {
        if (Model->Threads[Index].InnermostLength != 0) {
            ReaderPutPlainFrames(Plain, Model, &Model->Threads[Index]);
        }
    }

    return RtlFlushWriter(Writer);
}

/*++

Module Name:

    ExportCsv.c

Abstract:

    Tables for spreadsheets and scripts, in the shapes of two other profilers:

        csv-osr     the columns of the penter extension's !modulestats:
                    Function,CallCount,CallTicks,TicksPerCall
        csv-cap     the columns of the NT Call Profiler, separated by tabs: a
                    section for each thread with its call tree

--*/

#include "ReaderExport.h"


static
ULONG
ReaderQueryModuleStem(
    _In_ const READER_MODULE *Module
    )
/*++

Routine Description:

    Measures a module's name without .exe, .dll or another extension.

Arguments:

    Module - The module.

Return Value:

    Bytes.

--*/
{
    ULONG Length = Module->NameLength;

    while (Length != 0 && Module->Name[Length - 1] != '.') {
        Length -= 1;
    }

    return Length > 1 ? Length - 1 : Module->NameLength;
}


static
VOID
ReaderWriteQualifiedName(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_MODULE *Module,
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Writes module!function, as the debuggers do.

Arguments:

    Writer - Where to write.

    Module, Function - The function.

Return Value:

    None.

--*/
{
    ReaderWriteCleanText(Writer, Module->Name, ReaderQueryModuleStem(Module));
    RtlWriteText(Writer, "!");
    ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
}


static
BOOLEAN
ReaderNeedsQuotes(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Tells whether a text needs quotes in a line of comma-separated values
    (RFC 4180).

Arguments:

    Text, LengthInBytes - The text.

Return Value:

    Whether it does.

--*/
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (Text[Index] == ',' || Text[Index] == '"') {
            return TRUE;
        }
    }

    return FALSE;
}


static
VOID
ReaderWriteQuotedPart(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a part of a text in quotes: a quote becomes two.

Arguments:

    Writer - Where to write.

    Text, LengthInBytes - The part.

Return Value:

    None.

--*/
{
    ULONG Start = 0;
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (Text[Index] == '"') {
            ReaderWriteCleanText(Writer, Text + Start, Index + 1 - Start);
            Start = Index;
        }
    }

    ReaderWriteCleanText(Writer, Text + Start, LengthInBytes - Start);
}


static
VOID
ReaderWriteOsrRow(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_MODULE *Module,
    _In_ PCREADER_FUNCTION Function,
    _In_ PCREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    Writes a line of csv-osr.  Calls that were abandoned are counted and have
    no ticks.

Arguments:

    Writer - Where to write.

    Module, Function, Statistics - The function.

Return Value:

    None.

--*/
{
    ULONG Stem = ReaderQueryModuleStem(Module);

    if (ReaderNeedsQuotes(Module->Name, Stem) ||
        ReaderNeedsQuotes(Function->Name, Function->NameLength)) {

        RtlWriteText(Writer, "\"");
        ReaderWriteQuotedPart(Writer, Module->Name, Stem);
        RtlWriteText(Writer, "!");
        ReaderWriteQuotedPart(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, "\"");

    } else {
        ReaderWriteQualifiedName(Writer, Module, Function);
    }

    RtlWriteText(Writer,
                 ",%llu,%llu,%llu\n",
                 Statistics->Calls,
                 Statistics->TotalTicks,
                 Statistics->TotalTicks / Statistics->Calls);
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteCsvOsr(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes csv-osr: a line for each function that was called and is shown.

Arguments:

    Export - The export.

    Tree - The tree.

    Writer - Where to write.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PREADER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    ULONG Index;
    NTSTATUS Status;

    Statistics = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Tree->Functions->NumberOfFunctions + 1) *
                                sizeof(READER_STATISTICS));
    if (Statistics == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlWriteText(Writer, "Function,CallCount,CallTicks,TicksPerCall\n");
    Status = ReaderSumTree(Tree, Statistics);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Tree->Functions->NumberOfFunctions;
         Index++) {

        Function = &Tree->Functions->Functions[Index];
        if (Statistics[Index].Calls == 0) {
            continue;
        }

        if (Function->IsShown) {
            Export->NumberShown += 1;
            ReaderWriteOsrRow(Writer,
                              Tree->Session->Modules[Function->Module],
                              Function,
                              &Statistics[Index]);
        } else {
            Export->NotShown.Rows += 1;
            Export->NotShown.Calls += Statistics[Index].Calls;
        }
    }

    Allocator->Free(Allocator->Context, Statistics);
    return Status;
}


static
VOID
ReaderWriteCapTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Calls
    )
/*++

Routine Description:

    Writes a tab and a time in microseconds with three decimals; in ticks if
    the rate is not known.

Arguments:

    Writer - Where to write.

    Clock - The session's clock.

    Ticks - The time.

    Calls - What it is divided by, not 0.

Return Value:

    None.

--*/
{
    ULONGLONG Time;

    if (CoreTicksToNanoseconds(Clock, Ticks, &Time)) {
        Time /= Calls;
        RtlWriteText(Writer, "\t%llu.%03llu", Time / 1000, Time % 1000);
    } else {
        RtlWriteText(Writer, "\t%llu", Ticks / Calls);
    }
}


static
VOID
ReaderWriteCapTrack(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_TREE *Tree,
    _In_ const READER_TRACK *Track
    )
/*++

Routine Description:

    Writes the beginning of a section.

Arguments:

    Writer - Where to write.

    Tree - The tree.

    Track - The thread, or the fiber of one.

Return Value:

    None.

--*/
{
    RtlWriteText(Writer, "Thread %u", Track->ThreadId);
    if (Tree->Session->NumberOfProcesses > 1) {
        RtlWriteText(Writer, ", ");
        ReaderWriteProcess(Writer, Tree->Session, Track->Process);
    }

    if (Track->Fiber != 0) {
        RtlWriteText(Writer, ", fiber %u", Track->Fiber);
    }

    RtlWriteText(Writer,
                 "\nDepth\tFunction\tCalls\tTotal %s\tTotal/Call\tSelf\t"
                 "Self/Call\tFirst\tMin\tMax\n",
                 Tree->Session->Clock.Ticks != 0 ? "us" : "ticks");
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteCsvCap(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes csv-cap.

Arguments:

    Export - The export.

    Tree - The tree, with tracks.

    Writer - Where to write.

Return Value:

    STATUS_SUCCESS.

--*/
{
    PCCORE_CLOCK Clock = &Export->Session.Clock;
    PCREADER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    ULONGLONG Timed;
    ULONG Node;

    for (Node = ReaderNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            RtlWriteText(Writer, Writer->FileOffset != 0 ||
                                 Writer->LengthInBytes != 0 ? "\n" : "");
            ReaderWriteCapTrack(Writer,
                                Tree,
                                &Tree->Tracks[Tree->Nodes[Node].Depth]);
            continue;
        }

        Function = &Tree->Functions->Functions[Tree->Nodes[Node].Function];
        Statistics = &Tree->Nodes[Node].Statistics;
        Timed = Statistics->Calls - Statistics->Abandoned +
                Statistics->AbandonedInTotal;
        if (Timed == 0) {
            Timed = 1;
        }

        RtlWriteText(Writer, "%u\t", Tree->Nodes[Node].Depth);
        ReaderWriteQualifiedName(
            Writer,
            Export->Session.Modules[Function->Module],
            Function);
        RtlWriteText(Writer, "\t%llu", Statistics->Calls);
        ReaderWriteCapTime(Writer, Clock, Statistics->TotalTicks, 1);
        ReaderWriteCapTime(Writer, Clock, Statistics->TotalTicks, Timed);
        ReaderWriteCapTime(Writer, Clock, Statistics->SelfTicks, 1);
        ReaderWriteCapTime(Writer, Clock, Statistics->SelfTicks, Timed);
        ReaderWriteCapTime(Writer, Clock, Tree->Nodes[Node].FirstTicks, 1);
        ReaderWriteCapTime(Writer, Clock, Statistics->MinimumTicks, 1);
        ReaderWriteCapTime(Writer, Clock, Statistics->MaximumTicks, 1);
        RtlWriteText(Writer, "\n");
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ReaderExportCsvOsr(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes the columns of !modulestats.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    return ReaderExportTree(Export,
                            READER_EXPORT_FUNCTIONS,
                            ReaderWriteCsvOsr);
}


_Use_decl_annotations_
ULONG
ReaderExportCsvCap(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes the columns of the NT Call Profiler.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    return ReaderExportTree(Export, READER_EXPORT_TRACKS, ReaderWriteCsvCap);
}

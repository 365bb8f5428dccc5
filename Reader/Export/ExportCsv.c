/*++

Module Name:

    ExportCsv.c

Abstract:

    Tables for spreadsheets and scripts, in the shapes of two other profilers:

        csv-osr     the columns of the penter extension's !modulestats:
                    Function,CallCount,CallTicks,TicksPerCall
        csv-cap     the columns of the NT Call Profiler, separated by tabs: a
                    section for each thread with its call tree

    Neither has a column for the module that called an import.  In csv-cap's
    tree it has a row around one whose caller is not recorded.

--*/

#include "../Functions/FunctionStub.h"
#include "../Session/SessionProcess.h"
#include "Export.h"


//
// A function as these formats have it: the module's name without .exe, .dll or
// another extension, and its own.
//

typedef struct _EXPORT_NAME {
    PCSZ Module;
    ULONG ModuleLength;             // bytes
    PCSZ Name;
    ULONG NameLength;               // bytes
} EXPORT_NAME;

static
EXPORT_NAME
ExportSplitName(
    _In_ PCREADER_FUNCTION Function
    )
{
    EXPORT_NAME Split = { Function->ModuleName,
                          Function->ModuleNameLength,
                          Function->Name,
                          Function->NameLength };
    ULONG Length = 0;

    //
    // An import's name has its module in front: kernel32!Sleep.
    //

    if (Function->IsStub) {
        while (Length < Function->NameLength && Function->Name[Length] != '!') {
            Length += 1;
        }

        if (Length < Function->NameLength) {
            Split.Module = Function->Name;
            Split.ModuleLength = Length;
            Split.Name += Length + 1;
            Split.NameLength -= Length + 1;
            return Split;
        }
    }

    Length = Function->ModuleNameLength;
    while (Length != 0 && Function->ModuleName[Length - 1] != '.') {
        Length -= 1;
    }

    if (Length > 1) {
        Split.ModuleLength = Length - 1;
    }

    return Split;
}


//
// Writes a line of csv-osr. Calls that were abandoned are counted and have no
// ticks.
//

static
VOID
ExportWriteOsrRow(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_FUNCTION Function,
    _In_ PCREADER_STATISTICS Statistics
    )
{
    EXPORT_NAME Split = ExportSplitName(Function);

    OutputWriteCsvText(Writer,
                       Split.Module,
                       Split.ModuleLength,
                       Split.Name,
                       Split.NameLength);
    RtlWriteText(Writer,
                 ",%llu,%llu,%llu\n",
                 Statistics->Calls,
                 Statistics->TotalTicks,
                 Statistics->TotalTicks / Statistics->Calls);
}


//
// Writes csv-osr: a line for each function that was called and is shown.
//

_Must_inspect_result_
static
NTSTATUS
ExportWriteCsvOsr(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
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
    Status = SumTree(Tree, Statistics);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Tree->Functions->NumberOfFunctions;
         Index++) {

        Function = &Tree->Functions->Functions[Index];
        if (Statistics[Index].Calls == 0) {
            continue;
        }

        if (Function->IsShown) {
            Export->NumberShown += 1;
            ExportWriteOsrRow(Writer,
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


//
// Writes a tab and a time in microseconds with three decimals; in ticks if the
// rate is not known.
// Clock: the session's clock.
// Calls: what it is divided by, not 0.
//

static
VOID
ExportWriteCapTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Calls
    )
{
    ULONGLONG Time;

    if (CoreTicksToNanoseconds(Clock, Ticks, &Time)) {
        Time /= Calls;
        RtlWriteText(Writer, "\t%llu.%03llu", Time / 1000, Time % 1000);
    } else {
        RtlWriteText(Writer, "\t%llu", Ticks / Calls);
    }
}


//
// Writes the beginning of a section.
// Track: the thread, or the fiber of one.
//

static
VOID
ExportWriteCapTrack(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_TREE *Tree,
    _In_ const READER_TRACK *Track
    )
{
    RtlWriteText(Writer, "Thread %u", Track->ThreadId);
    if (Tree->Session->NumberOfProcesses > 1) {
        RtlWriteText(Writer, ", ");
        SessionWriteProcess(Writer, Tree->Session, Track->Process);
    }

    if (Track->Fiber != 0) {
        RtlWriteText(Writer, ", fiber %u", Track->Fiber);
    }

    RtlWriteText(Writer,
                 "\nDepth\tFunction\tCalls\tTotal %s\tTotal/Call\tSelf\t"
                 "Self/Call\tFirst\tMin\tMax\n",
                 Tree->Session->Clock.Ticks != 0 ? "us" : "ticks");
}


//
// Writes what follows a row's name.
//

static
VOID
ExportWriteCapNumbers(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ const READER_NODE *Node,
    _In_ ULONGLONG SelfTicks
    )
{
    PCREADER_STATISTICS Statistics = &Node->Statistics;
    ULONGLONG Timed;

    Timed = Statistics->Calls - Statistics->Abandoned +
            Statistics->AbandonedInTotal;
    if (Timed == 0) {
        Timed = 1;
    }

    RtlWriteText(Writer, "\t%llu", Statistics->Calls);
    ExportWriteCapTime(Writer, Clock, Statistics->TotalTicks, 1);
    ExportWriteCapTime(Writer, Clock, Statistics->TotalTicks, Timed);
    ExportWriteCapTime(Writer, Clock, SelfTicks, 1);
    ExportWriteCapTime(Writer, Clock, SelfTicks, Timed);
    ExportWriteCapTime(Writer, Clock, Node->FirstTicks, 1);
    ExportWriteCapTime(Writer, Clock, Statistics->MinimumTicks, 1);
    ExportWriteCapTime(Writer, Clock, Statistics->MaximumTicks, 1);
    RtlWriteText(Writer, "\n");
}


//
// What is open at a depth of the tree.
//

typedef struct _EXPORT_CAP_LEVEL {
    ULONG Function;
    ULONG NumberOfModules;          // rows of modules around it, in all
} EXPORT_CAP_LEVEL;
typedef EXPORT_CAP_LEVEL *PEXPORT_CAP_LEVEL;


//
// Tree: the tree, with tracks.
//

_Must_inspect_result_
static
NTSTATUS
ExportWriteCsvCap(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCCORE_CLOCK Clock = &Export->Session.Clock;
    PEXPORT_CAP_LEVEL Levels = NULL;
    PEXPORT_CAP_LEVEL Level;
    ULONG Capacity = 0;
    PCREADER_IMPORTED Imported;
    EXPORT_NAME Split;
    ULONG Caller;
    ULONG Depth;
    ULONG Node;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            RtlWriteText(Writer, Writer->FileOffset != 0 ||
                                 Writer->LengthInBytes != 0 ? "\n" : "");
            ExportWriteCapTrack(Writer,
                                Tree,
                                &Tree->Tracks[Tree->Nodes[Node].Depth]);
            continue;
        }

        Depth = Tree->Nodes[Node].Depth;
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Levels,
                               &Capacity,
                               Depth + 1,
                               sizeof(EXPORT_CAP_LEVEL));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Level = &Levels[Depth];
        Level->Function = Tree->Nodes[Node].Function;
        Level->NumberOfModules = Depth != 0 ? Level[-1].NumberOfModules : 0;
        Caller = FunctionStubFindCaller(
            Tree->Functions,
            Level->Function,
            Depth != 0 ? Level[-1].Function : READER_NONE);
        if (Caller != 0) {
            RtlWriteText(Writer, "%u\t", Depth + Level->NumberOfModules);
            Imported = &Tree->Functions->Imported[Caller - 1];
            RtlWriteText(Writer, "[");
            RtlWriteCleanText(Writer, Imported->Name, Imported->NameLength);
            RtlWriteText(Writer, "]");
            ExportWriteCapNumbers(Writer, Clock, &Tree->Nodes[Node], 0);
            Level->NumberOfModules += 1;
        }

        RtlWriteText(Writer, "%u\t", Depth + Level->NumberOfModules);
        Split = ExportSplitName(&Tree->Functions->Functions[Level->Function]);
        OutputWriteTabText(Writer,
                           Split.Module,
                           Split.ModuleLength,
                           Split.Name,
                           Split.NameLength);
        ExportWriteCapNumbers(Writer,
                              Clock,
                              &Tree->Nodes[Node],
                              Tree->Nodes[Node].Statistics.SelfTicks);
    }

    Allocator->Free(Allocator->Context, Levels);
    return Status;
}


_Use_decl_annotations_
ULONG
ExportCsvOsr(
    PREADER_EXPORT Export
    )
{
    return ExportTree(Export,
                      READER_EXPORT_FUNCTIONS,
                      ExportWriteCsvOsr);
}


_Use_decl_annotations_
ULONG
ExportCsvCap(
    PREADER_EXPORT Export
    )
{
    return ExportTree(Export, READER_EXPORT_TRACKS, ExportWriteCsvCap);
}

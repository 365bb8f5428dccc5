/*++

Module Name:

    ExportHtmlAbout.c

Abstract:

    What the page of the HTML export says of the session: JSON, in a script
    element.

--*/

#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionProcess.h"
#include "ExportHtml.h"


static
VOID
ExportPutHtmlField(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    RtlWriteText(Writer, ",\n\"%s\":", Name);
    ExportPutHtmlText(Writer, Text, LengthInBytes);
}


//
// Writes a text that ends with a zero byte.
// Name: the field's name.
//

static
VOID
ExportPutHtmlString(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_z_ PCSZ String
    )
{
    ExportPutHtmlField(Writer, Name, String, RtlLengthOfString(String));
}


//
// Name: the field's name.
//

static
VOID
ExportPutHtmlCount(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_ ULONGLONG Number
    )
{
    RtlWriteText(Writer, ",\n\"%s\":%llu", Name, Number);
}


//
// Writes what is to be known about the times.
// Html: the export.
//

static
VOID
ExportPutHtmlClock(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCCORE_CLOCK Clock = &Session->Clock;
    READER_OUTPUT Output;
    RTL_WRITER Notes;
    CHAR Buffer[768];
    ULONGLONG Started;
    ULONG Begin = 0;
    ULONG Index;

    RtlInitializeBufferWriter(&Notes, Buffer, sizeof(Buffer));
    RtlZeroBytes(&Output, sizeof(Output));
    Output.Writer = &Notes;
    Output.Format = ReaderFormatText;
    Output.Clock = Clock;
    SessionPutClockNote(&Output, Session);

    ExportPutHtmlString(Writer, "clock", OutputDescribeClock(Clock));
    ExportPutHtmlString(Writer,
                        "unit",
                        Clock->Kind == TRACE_CLOCK_NONE
                            ? "none"
                            : Clock->Ticks != 0 ? "ns" : "ticks");

    //
    // A text has no line feeds: each line is one of its own.
    //

    RtlWriteText(Writer, ",\n\"clockNotes\":[");
    for (Index = 0; Index < Notes.LengthInBytes; Index++) {
        if (Buffer[Index] == '\n') {
            RtlWriteText(Writer, Begin != 0 ? "," : "");
            ExportPutHtmlText(Writer, Buffer + Begin, Index - Begin);
            Begin = Index + 1;
        }
    }

    RtlWriteText(Writer, "]");
    ExportPutHtmlCount(Writer, "granularity", CoreQueryGranularity(Clock));

    if (Clock->Kind != TRACE_CLOCK_NONE && Clock->Ticks != 0) {
        Started = CoreTimestampToSystemTime(
            Clock,
            Html->Export->Range.FirstTimestamp);
        ExportPutHtmlCount(Writer, "started", Started / 10000);
    }
}


//
// Writes the range of time that the page is of, and the options that choose a
// part of the session.
// Html: the export.
//

static
VOID
ExportPutHtmlRange(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCREADER_RANGE Range = &Html->Export->Range;
    PCREADER_OPTIONS Options = Html->Export->Options;
    ULONGLONG Start = 0;
    ULONGLONG End = Range->FirstTimestamp;
    ULONG IsCleared = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (READER_IS_THREAD_SELECTED(Options,
                                      Session->Threads[Index].ThreadId) &&
            Session->Threads[Index].LastTimestamp > End) {
            End = Session->Threads[Index].LastTimestamp;
        }
    }

    if (Range->IsGiven && Range->Start > Range->FirstTimestamp) {
        Start = Range->Start - Range->FirstTimestamp;
    }

    if (Range->IsGiven && Range->End < End) {
        End = Range->End;
    }

    End = End > Range->FirstTimestamp ? End - Range->FirstTimestamp : 0;
    if (End < Start) {
        End = Start;
    }

    ExportPutHtmlCount(Writer,
                       "from",
                       ExportConvertHtmlTime(&Session->Clock, Start));
    ExportPutHtmlCount(Writer,
                       "to",
                       ExportConvertHtmlTime(&Session->Clock, End));
    RtlWriteText(Writer,
                 ",\n\"hasFrom\":%u,\"hasTo\":%u,\"hasFilter\":%u",
                 (Options->Given & READER_OPTION_FROM) != 0,
                 (Options->Given & READER_OPTION_TO) != 0,
                 Options->Filter != NULL);
    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        if (READER_CLEAR_OF(Session, Index) > Range->FirstTimestamp) {
            IsCleared = 1;
        }
    }

    ExportPutHtmlCount(Writer, "cleared", IsCleared);
    if ((Options->Given & READER_OPTION_THREAD) != 0) {
        ExportPutHtmlCount(Writer, "thread", Options->ThreadId);
    }
}


//
// Counts the calls that are in no block.
// Returns the number of calls.
//

static
ULONG
ExportCountKeptCalls(
    _In_ PCREADER_DETAIL_TRACK Track
    )
{
    PREADER_DETAIL_CHUNK Chunk;
    ULONG Count = 0;
    ULONG Index;

    for (Chunk = Track->First; Chunk != NULL; Chunk = Chunk->Next) {
        for (Index = 0; Index < Chunk->NumberOfItems; Index++) {
            Count +=
                (Chunk->Items[Index].Flags & READER_DETAIL_BLOCK) == 0;
        }
    }

    return Count;
}


//
// The name of a track and its process, in bytes.
//

#define READER_HTML_OWNER_SIZE 512


//
// Writes the name of a track where there are several processes: the thread's,
// if it has one, and its process.
// ThreadName, LengthInBytes: the thread's name, which may be empty.
//

static
VOID
ExportPutHtmlOwner(
    _In_ const READER_SESSION *Session,
    _In_ const READER_THREAD *Thread,
    _In_reads_bytes_(LengthInBytes) const CHAR *ThreadName,
    _In_ ULONG LengthInBytes,
    _Inout_ PRTL_WRITER Writer
    )
{
    CHAR Name[READER_HTML_OWNER_SIZE];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    if (LengthInBytes != 0) {
        RtlWriteBytes(&Text, ThreadName, LengthInBytes);
        RtlWriteText(&Text, ", ");
    }

    SessionWriteProcess(&Text, Session, Thread->Process);
    ExportPutHtmlText(Writer, Name, Text.LengthInBytes);
}


//
// Writes the tracks of the timeline, and those that have a tree.
// Html: the export.
//

static
VOID
ExportPutHtmlTracks(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = &Html->Export->Session;
    const READER_TREE *Tree = &Html->Tree;
    PCREADER_DETAIL_TRACK Track;
    const READER_THREAD *Thread;
    const CHAR *Name;
    PCSZ Separator = "";
    ULONGLONG Room = READER_HTML_MAXIMUM_OTHERS / 2;
    ULONGLONG Size;
    ULONG Length;
    ULONG Index;
    ULONG Node;

    RtlWriteText(Writer, ",\n\"tracks\":[");
    for (Index = 0; Index < Html->Detail.NumberOfTracks; Index++) {

        Track = &Html->Detail.Tracks[Index];
        Thread = &Session->Threads[Track->Thread];
        RtlWriteText(
            Writer,
            "%s{\"thread\":%u,\"fiber\":%u,\"items\":%u,\"rows\":%u,"
            "\"calls\":%llu,\"kept\":%u,\"resolution\":%llu,"
            "\"first\":%llu,\"name\":",
            Index == 0 ? "\n" : ",\n",
            Thread->ThreadId,
            Track->Fiber,
            Track->NumberOfItems,
            Track->NumberOfRows,
            Track->NumberOfCalls,
            ExportCountKeptCalls(Track),
            ExportConvertHtmlTime(&Session->Clock, Track->Resolution),
            ExportConvertHtmlTime(
                &Session->Clock,
                Thread->FirstTimestamp -
                    Html->Export->Range.FirstTimestamp));

        SessionQueryThreadName(Session, Track->Thread, &Name, &Length);
        Size = ExportMeasureHtmlText(Name, Length);
        if (Session->NumberOfProcesses > 1 && Room >= READER_HTML_OWNER_SIZE) {
            Room -= READER_HTML_OWNER_SIZE;
            ExportPutHtmlOwner(Session, Thread, Name, Length, Writer);
        } else if (Size <= Room) {
            Room -= Size;
            ExportPutHtmlText(Writer, Name, Length);
        } else {
            RtlWriteText(Writer, "\"\"");
        }
        RtlWriteText(Writer, "}");
    }

    RtlWriteText(Writer, "],\n\"trees\":[");
    if (Html->Merged.HasTracks) {
        for (Node = Tree->Nodes[READER_ROOT_NODE].FirstChild;
             Node != READER_NONE;
             Node = Tree->Nodes[Node].NextSibling) {

            RtlWriteText(Writer,
                         "%s[%u,%u,%u]",
                         Separator,
                         Tree->Tracks[Tree->Nodes[Node].Depth].ThreadId,
                         Tree->Tracks[Tree->Nodes[Node].Depth].Fiber,
                         ExportCountHtmlNodes(Html, Node));
            Separator = ",";
        }
    }
    RtlWriteText(Writer, "]");
}


//
// Writes the session's modules, and then those of functions that stubs call.
//

static
VOID
ExportPutHtmlModules(
    _In_ const READER_FUNCTIONS *Functions,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = Functions->Session;
    const READER_MODULE *Module;
    PCSZ Source;
    ULONGLONG Room = READER_HTML_MAXIMUM_OTHERS / 2;
    ULONGLONG Size;
    ULONG Function;
    ULONG Index;

    RtlWriteText(Writer, ",\n\"modules\":[");
    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        Source = SessionDescribeSymbolSource(FunctionGetModuleSource(Module));

        RtlWriteText(Writer, Index == 0 ? "\n[" : ",\n[");
        Size = ExportMeasureHtmlText(Module->Header->ModulePath,
                                     Module->Header->ModulePathLength) * 2;
        if (Size > Room) {
            Room = 0;
            RtlWriteText(Writer, "\"\",\"\",\"\"]");
            continue;
        }

        Room -= Size;
        ExportPutHtmlText(Writer, Module->Name, Module->NameLength);
        RtlWriteText(Writer, ",");
        ExportPutHtmlText(Writer,
                          Module->Header->ModulePath,
                          Module->Header->ModulePathLength);
        RtlWriteText(Writer, ",");
        ExportPutHtmlText(Writer, Source, RtlLengthOfString(Source));
        RtlWriteText(Writer, "]");
    }

    for (Index = 0; Index < Functions->NumberOfImported; Index++) {

        RtlWriteText(Writer, ",\n[");
        Size = ExportMeasureHtmlText(Functions->Imported[Index].Name,
                                     Functions->Imported[Index].NameLength);
        if (Size > Room) {
            Room = 0;
            RtlWriteText(Writer, "\"\",\"\",\"\"]");
            continue;
        }

        Room -= Size;
        ExportPutHtmlText(Writer,
                          Functions->Imported[Index].Name,
                          Functions->Imported[Index].NameLength);

        //
        // Others only call imports.
        //

        for (Function = 0;
             Function < Functions->NumberOfFunctions &&
             Functions->Functions[Function].Imported != Index + 1;
             Function++) {
        }

        RtlWriteText(Writer,
                     Function < Functions->NumberOfFunctions
                         ? ",\"\",\"names of imports\"]"
                         : ",\"\",\"\"]");
    }

    RtlWriteText(Writer, "]");
}


//
// Writes the marks, starts, stops and clears of the range.
// Html: the export.
//

static
VOID
ExportPutHtmlInstants(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCREADER_RANGE Range = &Html->Export->Range;
    PCREADER_ACTION Instant;
    PCTRACE_CONTROL_ACTION Action;
    const CHAR *Name;
    ULONG Index = SessionFirstInstant(Session, Range->Start);
    ULONG Written = 0;
    ULONG LeftOut = 0;
    ULONG Length;

    RtlWriteText(Writer, ",\n\"marks\":[");
    for (;; Index++) {

        Instant = SessionControlFindInstant(Session,
                                            Html->Export->Options,
                                            &Index,
                                            Range->End);
        if (Instant == NULL) {
            break;
        }

        Action = Instant->Action;

        if (Written == READER_HTML_MAXIMUM_MARKS) {
            LeftOut += 1;
            continue;
        }

        Name = SessionControlNameInstant(Action, &Length);
        RtlWriteText(
            Writer,
            "%s[%llu,%u,%u,",
            Written == 0 ? "\n" : ",\n",
            ExportConvertHtmlTime(&Session->Clock,
                                  Action->Timestamp > Range->FirstTimestamp
                                      ? Action->Timestamp -
                                            Range->FirstTimestamp
                                      : 0),
            Action->ThreadId,
            Action->Kind == TRACE_ACTION_MARK);
        ExportPutHtmlText(Writer, Name, Length);
        RtlWriteText(Writer, "]");
        Written += 1;
    }

    RtlWriteText(Writer, "]");
    ExportPutHtmlCount(Writer, "marksLeftOut", LeftOut);
}


_Use_decl_annotations_
VOID
ExportWriteHtmlAbout(
    PCREADER_HTML Html,
    PRTL_WRITER Writer
    )
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCTRACE_STORE_HEADER Header = Session->Header;
    PREADER_STORE Because;

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"session\">"
                 "{\"version\":1");
    ExportPutHtmlString(Writer, "session", Html->Export->Options->PathUtf8);
    ExportPutHtmlField(Writer,
                       "program",
                       Header->ProcessPath,
                       Header->ProcessPathLength);
    ExportPutHtmlField(Writer,
                       "commandLine",
                       Header->CommandLine,
                       Header->CommandLineLength);
    ExportPutHtmlCount(Writer, "process", Header->ProcessId);
    ExportPutHtmlString(Writer,
                        "state",
                        SessionDescribeState(Session, &Because));
    ExportPutHtmlClock(Html, Writer);
    ExportPutHtmlRange(Html, Writer);
    ExportPutHtmlCount(Writer, "calls", Html->NumberOfCalls);
    ExportPutHtmlCount(Writer, "unmatched", Html->Unmatched);
    ExportPutHtmlCount(Writer, "functions", Html->NumberOfFunctions);
    ExportPutHtmlCount(Writer, "functionsLeftOut", Html->FunctionsLeftOut);
    ExportPutHtmlCount(Writer, "functionsNotShown", Html->FunctionsNotShown);
    ExportPutHtmlCount(Writer, "callsNotShown", Html->CallsNotShown);
    ExportPutHtmlCount(Writer, "threads", Session->NumberOfThreads);
    ExportPutHtmlCount(Writer, "tracksLeftOut", Html->TracksLeftOut);
    ExportPutHtmlCount(Writer, "maximumRows", READER_HTML_MAXIMUM_ROWS);
    ExportPutHtmlCount(Writer, "nodes", Html->Merged.NumberWritten);
    ExportPutHtmlCount(Writer,
                       "nodesLeftOut",
                       (ULONGLONG)Html->Merged.NumberOfNodes -
                           Html->Merged.NumberWritten);
    ExportPutHtmlTracks(Html, Writer);
    ExportPutHtmlModules(&Html->Export->Functions, Writer);
    ExportPutHtmlInstants(Html, Writer);
    RtlWriteText(Writer, "}</script>\n");
}

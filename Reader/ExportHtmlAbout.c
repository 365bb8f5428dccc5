/*++

Module Name:

    ExportHtmlAbout.c

Abstract:

    What the page of the HTML export says of the session: JSON, in a script
    element.

--*/

#include "ExportHtml.h"


static
VOID
ReaderPutHtmlField(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text.

Arguments:

    Writer - Where to write.

    Name - The field's name.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    RtlWriteText(Writer, ",\n\"%s\":", Name);
    ReaderPutHtmlText(Writer, Text, LengthInBytes);
}


static
VOID
ReaderPutHtmlString(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_z_ PCSZ String
    )
/*++

Routine Description:

    Writes a text that ends with a zero byte.

Arguments:

    Writer - Where to write.

    Name - The field's name.

    String - The text.

Return Value:

    None.

--*/
{
    ReaderPutHtmlField(Writer, Name, String, RtlLengthOfString(String));
}


static
VOID
ReaderPutHtmlCount(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_ ULONGLONG Number
    )
/*++

Routine Description:

    Writes a number.

Arguments:

    Writer - Where to write.

    Name - The field's name.

    Number - The number.

Return Value:

    None.

--*/
{
    RtlWriteText(Writer, ",\n\"%s\":%llu", Name, Number);
}


static
VOID
ReaderPutHtmlClock(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes what is to be known about the times.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCCORE_CLOCK Clock = &Session->Clock;
    READER_OUTPUT Output;
    RTL_WRITER Notes;
    CHAR Buffer[768];
    ULONGLONG Started;

    RtlInitializeBufferWriter(&Notes, Buffer, sizeof(Buffer));
    RtlZeroBytes(&Output, sizeof(Output));
    Output.Writer = &Notes;
    Output.Format = ReaderFormatText;
    Output.Clock = Clock;
    ReaderPutClockNote(&Output, Session);

    ReaderPutHtmlString(Writer, "clock", ReaderDescribeClock(Clock));
    ReaderPutHtmlString(Writer,
                        "unit",
                        Clock->Kind == TRACE_CLOCK_NONE
                            ? "none"
                            : Clock->Ticks != 0 ? "ns" : "ticks");
    ReaderPutHtmlField(Writer, "clockNote", Buffer, Notes.LengthInBytes);
    ReaderPutHtmlCount(Writer, "granularity", CoreQueryGranularity(Clock));

    if (Clock->Kind != TRACE_CLOCK_NONE && Clock->Ticks != 0) {
        Started = CoreTimestampToSystemTime(
            Clock,
            Html->Export->Range.FirstTimestamp);
        ReaderPutHtmlCount(Writer, "started", Started / 10000);
    }
}


static
VOID
ReaderPutHtmlRange(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the range of time that the page is of, and the options that choose
    a part of the session.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
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

    ReaderPutHtmlCount(Writer,
                       "from",
                       ReaderConvertHtmlTime(&Session->Clock, Start));
    ReaderPutHtmlCount(Writer,
                       "to",
                       ReaderConvertHtmlTime(&Session->Clock, End));
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

    ReaderPutHtmlCount(Writer, "cleared", IsCleared);
    if ((Options->Given & READER_OPTION_THREAD) != 0) {
        ReaderPutHtmlCount(Writer, "thread", Options->ThreadId);
    }
}


static
ULONG
ReaderCountKeptCalls(
    _In_ PCREADER_DETAIL_TRACK Track
    )
/*++

Routine Description:

    Counts the calls that are in no block.

Arguments:

    Track - The track.

Return Value:

    The number of calls.

--*/
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


static
VOID
ReaderPutHtmlOwner(
    _In_ const READER_SESSION *Session,
    _In_ const READER_THREAD *Thread,
    _In_reads_bytes_(LengthInBytes) const CHAR *ThreadName,
    _In_ ULONG LengthInBytes,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the name of a track where there are several processes: the thread's,
    if it has one, and its process.

Arguments:

    Session - The session.

    Thread - The thread.

    ThreadName, LengthInBytes - The thread's name, which may be empty.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    CHAR Name[READER_HTML_OWNER_SIZE];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    if (LengthInBytes != 0) {
        RtlWriteBytes(&Text, ThreadName, LengthInBytes);
        RtlWriteText(&Text, ", ");
    }

    ReaderWriteProcess(&Text, Session, Thread->Process);
    ReaderPutHtmlText(Writer, Name, Text.LengthInBytes);
}


static
VOID
ReaderPutHtmlTracks(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the tracks of the timeline, and those that have a tree.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
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
            ReaderCountKeptCalls(Track),
            ReaderConvertHtmlTime(&Session->Clock, Track->Resolution),
            ReaderConvertHtmlTime(
                &Session->Clock,
                Thread->FirstTimestamp -
                    Html->Export->Range.FirstTimestamp));

        ReaderQueryThreadName(Session, Track->Thread, &Name, &Length);
        Size = ReaderMeasureHtmlText(Name, Length);
        if (Session->NumberOfProcesses > 1 && Room >= READER_HTML_OWNER_SIZE) {
            Room -= READER_HTML_OWNER_SIZE;
            ReaderPutHtmlOwner(Session, Thread, Name, Length, Writer);
        } else if (Size <= Room) {
            Room -= Size;
            ReaderPutHtmlText(Writer, Name, Length);
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
                         ReaderCountHtmlNodes(Html, Node));
            Separator = ",";
        }
    }
    RtlWriteText(Writer, "]");
}


static
VOID
ReaderPutHtmlModules(
    _In_ const READER_SESSION *Session,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the modules.

Arguments:

    Session - The session.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    const READER_MODULE *Module;
    PCSZ Source;
    ULONGLONG Room = READER_HTML_MAXIMUM_OTHERS / 2;
    ULONGLONG Size;
    ULONG Index;

    RtlWriteText(Writer, ",\n\"modules\":[");
    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        Source = ReaderDescribeSymbolSource(ReaderGetModuleSource(Module));

        RtlWriteText(Writer, Index == 0 ? "\n[" : ",\n[");
        Size = ReaderMeasureHtmlText(Module->Header->ModulePath,
                                     Module->Header->ModulePathLength) * 2;
        if (Size > Room) {
            Room = 0;
            RtlWriteText(Writer, "\"\",\"\",\"\"]");
            continue;
        }

        Room -= Size;
        ReaderPutHtmlText(Writer, Module->Name, Module->NameLength);
        RtlWriteText(Writer, ",");
        ReaderPutHtmlText(Writer,
                          Module->Header->ModulePath,
                          Module->Header->ModulePathLength);
        RtlWriteText(Writer, ",");
        ReaderPutHtmlText(Writer, Source, RtlLengthOfString(Source));
        RtlWriteText(Writer, "]");
    }

    RtlWriteText(Writer, "]");
}


static
VOID
ReaderPutHtmlInstants(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the marks, starts, stops and clears of the range.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCREADER_RANGE Range = &Html->Export->Range;
    PCREADER_ACTION Instant;
    PCTRACE_CONTROL_ACTION Action;
    const CHAR *Name;
    ULONG Index = ReaderFirstInstant(Session, Range->Start);
    ULONG Written = 0;
    ULONG LeftOut = 0;
    ULONG Length;

    RtlWriteText(Writer, ",\n\"marks\":[");
    for (;; Index++) {

        Instant = ReaderFindInstant(Session,
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

        Name = ReaderNameInstant(Action, &Length);
        RtlWriteText(
            Writer,
            "%s[%llu,%u,%u,",
            Written == 0 ? "\n" : ",\n",
            ReaderConvertHtmlTime(&Session->Clock,
                                  Action->Timestamp > Range->FirstTimestamp
                                      ? Action->Timestamp -
                                            Range->FirstTimestamp
                                      : 0),
            Action->ThreadId,
            Action->Kind == TRACE_ACTION_MARK);
        ReaderPutHtmlText(Writer, Name, Length);
        RtlWriteText(Writer, "]");
        Written += 1;
    }

    RtlWriteText(Writer, "]");
    ReaderPutHtmlCount(Writer, "marksLeftOut", LeftOut);
}


_Use_decl_annotations_
VOID
ReaderWriteHtmlAbout(
    PCREADER_HTML Html,
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes what the page says of the session.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Html->Export->Session;
    PCTRACE_STORE_HEADER Header = Session->Header;
    PREADER_STORE Because;

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"session\">"
                 "{\"version\":1");
    ReaderPutHtmlString(Writer, "session", Html->Export->Options->PathUtf8);
    ReaderPutHtmlField(Writer,
                       "program",
                       Header->ProcessPath,
                       Header->ProcessPathLength);
    ReaderPutHtmlField(Writer,
                       "commandLine",
                       Header->CommandLine,
                       Header->CommandLineLength);
    ReaderPutHtmlCount(Writer, "process", Header->ProcessId);
    ReaderPutHtmlString(Writer,
                        "state",
                        ReaderDescribeSessionState(Session, &Because));
    ReaderPutHtmlClock(Html, Writer);
    ReaderPutHtmlRange(Html, Writer);
    ReaderPutHtmlCount(Writer, "calls", Html->NumberOfCalls);
    ReaderPutHtmlCount(Writer, "unmatched", Html->Unmatched);
    ReaderPutHtmlCount(Writer, "functions", Html->NumberOfFunctions);
    ReaderPutHtmlCount(Writer, "functionsLeftOut", Html->FunctionsLeftOut);
    ReaderPutHtmlCount(Writer, "functionsNotShown", Html->FunctionsNotShown);
    ReaderPutHtmlCount(Writer, "callsNotShown", Html->CallsNotShown);
    ReaderPutHtmlCount(Writer, "threads", Session->NumberOfThreads);
    ReaderPutHtmlCount(Writer, "tracksLeftOut", Html->TracksLeftOut);
    ReaderPutHtmlCount(Writer, "maximumRows", READER_HTML_MAXIMUM_ROWS);
    ReaderPutHtmlCount(Writer, "nodes", Html->Merged.NumberWritten);
    ReaderPutHtmlCount(Writer,
                       "nodesLeftOut",
                       (ULONGLONG)Html->Merged.NumberOfNodes -
                           Html->Merged.NumberWritten);
    ReaderPutHtmlTracks(Html, Writer);
    ReaderPutHtmlModules(Session, Writer);
    ReaderPutHtmlInstants(Html, Writer);
    RtlWriteText(Writer, "}</script>\n");
}

/*++

Module Name:

    WasmEntry.c

Abstract:

    What the page calls, over one session: numbers and addresses go in and out;
    what has a shape goes out as JSON.

    Times are doubles: ticks since the session's first record.

--*/

#include "../../Session/SessionControl.h"
#include "../../Session/SessionDescribe.h"
#include "../../Session/SessionProcess.h"
#include "../../Session/SessionStoreOpen.h"
#include "../../Functions/FunctionLine.h"
#include "../ViewKeep.h"
#include "../ViewPrivate.h"
#include "Wasm.h"

#define WASM_NOTES 0x2000u

typedef struct _WASM_TEXT {
    RTL_WRITER Writer;
    CHAR Buffer[1024];
    PCHAR Bytes;
    ULONG Length;
    ULONG Capacity;
} WASM_TEXT;
typedef WASM_TEXT *PWASM_TEXT;

static RTL WasmRtl;
static READER_CONTEXT WasmContext;
static WASM_TEXT WasmErrors;
static WASM_TEXT WasmNameErrors;
static WASM_TEXT WasmAnswer;
static READER_VIEW WasmView;

static
NTSTATUS
WasmFlushText(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    PWASM_TEXT Text = (PWASM_TEXT)Writer;
    PCHAR More;

    if (Text->Length + SizeInBytes > Text->Capacity) {
        Text->Capacity = (Text->Length + SizeInBytes) * 2 + 4096;
        More = (PCHAR)WasmAllocator.Allocate(NULL, Text->Capacity);
        if (More == NULL) {
            return STATUS_NO_MEMORY;
        }
        RtlCopyBytes(More, Text->Bytes, Text->Length);
        WasmAllocator.Free(NULL, Text->Bytes);
        Text->Bytes = More;
    }

    RtlCopyBytes(Text->Bytes + Text->Length, Bytes, SizeInBytes);
    Text->Length += SizeInBytes;
    return STATUS_SUCCESS;
}

static
PRTL_WRITER
WasmBeginText(
    PWASM_TEXT Text
    )
{
    Text->Length = 0;
    RtlInitializeBufferWriter(&Text->Writer,
                              Text->Buffer,
                              sizeof(Text->Buffer));
    Text->Writer.Rtl = &WasmRtl;
    Text->Writer.Flush = WasmFlushText;
    return &Text->Writer;
}

//
// Writes a string of JSON.
//

static
VOID
WasmPutString(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG Length
    )
{
    static const CHAR Digits[] = "0123456789abcdef";
    ULONG Start = 0;
    ULONG Index;

    RtlWriteText(Writer, "\"");
    for (Index = 0; Index < Length; Index++) {
        if ((UCHAR)Bytes[Index] >= 0x20 && Bytes[Index] != '"' &&
            Bytes[Index] != '\\') {
            continue;
        }
        RtlWriteText(Writer, "%.*s", Index - Start, Bytes + Start);
        RtlWriteText(Writer,
                     "\\u00%c%c",
                     Digits[(UCHAR)Bytes[Index] >> 4],
                     Digits[Bytes[Index] & 15]);
        Start = Index + 1;
    }

    RtlWriteText(Writer, "%.*s\"", Length - Start, Bytes + Start);
}

//
// A time stamp as the page has it.
//

static
VOID
WasmPutTime(
    PRTL_WRITER Writer,
    PCSZ Name,
    ULONGLONG Timestamp
    )
{
    ULONGLONG First = WasmView.Range.FirstTimestamp;

    RtlWriteText(Writer,
                 "\"%s\":%llu",
                 Name,
                 Timestamp > First ? Timestamp - First : 0);
}

static
ULONGLONG
WasmTakeTime(
    double Ticks
    )
{
    ULONGLONG First = WasmView.Range.FirstTimestamp;

    if (Ticks <= 0) {
        return First;
    }

    if (Ticks >= 9007199254740992.0) {
        return READER_MAXIMUM_TIMESTAMP - 1;
    }

    return First + (ULONGLONG)Ticks;
}

//
// Opens a session; Path, as the reader has it, ends with a NUL.
// Returns whether it could be; the reasons are in the notes.
//

WASM_EXPORT(open)
ULONG
WasmExportOpen(
    PCWSTR Path,
    PCSZ PathUtf8,
    ULONG IsLive,
    ULONG IsAllRuns
    );

ULONG
WasmExportOpen(
    PCWSTR Path,
    PCSZ PathUtf8,
    ULONG IsLive,
    ULONG IsAllRuns
    )
{
    PRTL_WRITER NameErrors;

    WasmInitializeRtl(&WasmRtl);
    WasmContext.Rtl = &WasmRtl;
    WasmContext.Allocator = &WasmAllocator;
    WasmContext.Decoder = NULL;
    WasmContext.Output = WasmBeginText(&WasmAnswer);
    WasmContext.Errors = WasmBeginText(&WasmErrors);
    WasmContext.NumberOfProcessors = 1;
    NameErrors = WasmBeginText(&WasmNameErrors);
    if (!ViewOpen(&WasmView,
                  &WasmContext,
                  IsLive != 0,
                  TRUE,
                  IsAllRuns != 0,
                  Path,
                  PathUtf8)) {
        return FALSE;
    }

    WasmView.Session.NameErrors = NameErrors;
    return TRUE;
}

WASM_EXPORT(refresh)
ULONG
WasmExportRefresh(
    VOID
    );

ULONG
WasmExportRefresh(
    VOID
    )
{
    return ViewRefresh(&WasmView);
}

WASM_EXPORT(close)
VOID
WasmExportClose(
    VOID
    );

VOID
WasmExportClose(
    VOID
    )
{
    ViewClose(&WasmView);
}

static
VOID
WasmTakeText(
    PWASM_TEXT Text,
    PULONG Fields
    )
{
    RtlFlushWriter(&Text->Writer);
    Fields[0] = (ULONG)(SIZE_T)Text->Bytes;
    Fields[1] = Text->Length;
    Text->Length = 0;
}

//
// What the reader has written on its errors since this was asked last, what of
// modules without names, by which nothing is lost, and the answer of what was
// called last: Fields receives the address and the size.
//

WASM_EXPORT(notes)
VOID
WasmExportNotes(
    PULONG Fields
    );

VOID
WasmExportNotes(
    PULONG Fields
    )
{
    WasmTakeText(&WasmErrors, Fields);
}

WASM_EXPORT(nameNotes)
VOID
WasmExportNameNotes(
    PULONG Fields
    );

VOID
WasmExportNameNotes(
    PULONG Fields
    )
{
    WasmTakeText(&WasmNameErrors, Fields);
}

WASM_EXPORT(answer)
VOID
WasmExportAnswer(
    PULONG Fields
    );

VOID
WasmExportAnswer(
    PULONG Fields
    )
{
    RtlFlushWriter(&WasmAnswer.Writer);
    Fields[0] = (ULONG)(SIZE_T)WasmAnswer.Bytes;
    Fields[1] = WasmAnswer.Length;
}

//
// What a thread's stores are, in a word.
//

static
PCSZ
WasmDescribeMode(
    const READER_SESSION *Session,
    ULONG Thread
    )
{
    PREADER_STORE Store =
        Session->Stores[Session->Threads[Thread].FirstStore];

    if (Store->IsTree) {
        return "tree";
    }

    if (READER_IS_STORE_COMPACT(Store)) {
        return Store->Header->BlocksCapacity != 0 ? "compact-ring"
                                                  : "compact";
    }

    return Store->Header->RingSizeInBytes != 0 ? "ring" : "file";
}

static
VOID
WasmPutThreads(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    const READER_THREAD *Thread;
    const CHAR *Name;
    ULONGLONG Lost;
    ULONG Length;
    ULONG Index;
    ULONG Store;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Thread = &Session->Threads[Index];
        SessionQueryThreadName(Session, Index, &Name, &Length);
        RtlWriteText(Writer,
                     "%s{\"id\":%u,\"same\":%u,\"process\":%u,\"tid\":%u,"
                     "\"name\":",
                     Index == 0 ? "" : ",",
                     Index,
                     Thread->Same,
                     Thread->Process,
                     Thread->ThreadId);
        WasmPutString(Writer, Name, Length);
        RtlWriteText(Writer, ",");
        WasmPutTime(Writer, "begin", Thread->FirstTimestamp);
        RtlWriteText(Writer, ",");
        WasmPutTime(Writer, "end", Thread->LastTimestamp);
        Lost = 0;
        for (Store = Thread->FirstStore;
             Store != READER_NONE;
             Store = Session->Stores[Store]->NextInThread) {
            Lost += READER_EVENTS_LOST(Session->Stores[Store]->Header);
        }
        RtlWriteText(Writer,
                     ",\"mode\":\"%s\",\"records\":%llu,\"isOpen\":%s,"
                     "\"eventsLost\":%llu,\"isOverwritten\":%s}",
                     WasmDescribeMode(Session, Index),
                     ViewCountRecords(&WasmView, Index),
                     Thread->IsLive ? "true" : "false",
                     Lost,
                     Session->Stores[Thread->FirstStore]->StartOfRecords >
                             TRACE_HEADER_SIZE
                         ? "true"
                         : "false");
    }
}

//
// The clock as TraceReader has it with --process: its rate is that of the
// anchors of the stores that it then reads.
//

static
VOID
WasmPutProcessClock(
    PRTL_WRITER Writer,
    const READER_SESSION *Session,
    ULONG ProcessId
    )
{
    PCTRACE_STORE_HEADER Header;
    CORE_CLOCK Clock;
    ULONG Index;

    CoreInitializeClock(&Clock);
    Clock.IsRaw = Session->Clock.IsRaw;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        Header = Session->Stores[Index]->Header;
        if (Session->Stores[Index]->Thread != READER_NONE &&
            Header->ProcessId == ProcessId) {
            CoreAddAnchor(&Clock, &Header->OpenAnchor, Header->QpcFrequency);
            CoreAddAnchor(&Clock, &Header->LastAnchor, Header->QpcFrequency);
        }
    }

    RtlWriteText(Writer,
                 ",\"clockTicks\":\"%llu\",\"clockNanoseconds\":\"%llu\"",
                 Clock.Ticks,
                 Clock.Nanoseconds);
}

static
VOID
WasmPutProcesses(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    PREADER_PROCESS Process;
    ULONG Index;
    ULONG Parent;

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        Process = &Session->Processes[Index];
        Parent = SessionProcessFindParent(Session, Index);
        RtlWriteText(Writer,
                     "%s{\"id\":%u,\"pid\":%u,\"program\":",
                     Index == 0 ? "" : ",",
                     Index,
                     Process->Header->ProcessId);
        WasmPutString(Writer, Process->Name, Process->NameLength);
        RtlWriteText(Writer,
                     ",\"created\":\"%llu\"",
                     Process->Header->ProcessCreationTime);
        WasmPutProcessClock(Writer, Session, Process->Header->ProcessId);
        RtlWriteText(Writer, ",\"commandLine\":");
        WasmPutString(Writer,
                      (const CHAR *)Process->Header->CommandLine,
                      Process->Header->CommandLineLength);
        if (Parent != READER_NONE) {
            RtlWriteText(Writer, ",\"parent\":%u", Parent);
        } else {
            RtlWriteText(Writer, ",\"parent\":null");
        }
        if (Process->IsExitKnown) {
            RtlWriteText(Writer, ",\"exitCode\":%u}", Process->ExitCode);
        } else {
            RtlWriteText(Writer, ",\"exitCode\":null}");
        }
    }
}

static
VOID
WasmPutModules(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    const READER_MODULE *Module;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        Module = Session->Modules[Index];
        RtlWriteText(Writer,
                     "%s{\"id\":%u,\"name\":",
                     Index == 0 ? "" : ",",
                     Index);
        WasmPutString(Writer, Module->Name, Module->NameLength);
        RtlWriteText(Writer, ",\"path\":");
        WasmPutString(Writer,
                      (const CHAR *)Module->Header->ModulePath,
                      Module->Header->ModulePathLength);
        RtlWriteText(Writer, "}");
    }
}

//
// Marks, and starts, stops and clears.
//

static
VOID
WasmPutMarks(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    const READER_ACTION *Action;
    const CHAR *Text;
    ULONG Length;
    ULONG Index = 0;
    BOOLEAN IsFirst = TRUE;

    for (;;) {

        Action = SessionControlFindInstant(Session,
                                           &WasmView.Options,
                                           &Index,
                                           READER_MAXIMUM_TIMESTAMP);
        if (Action == NULL) {
            return;
        }

        Text = SessionControlNameInstant(Action->Action, &Length);
        RtlWriteText(Writer, "%s{", IsFirst ? "" : ",");
        WasmPutTime(Writer, "time", Action->Action->Timestamp);
        RtlWriteText(Writer,
                     ",\"process\":%u,\"tid\":%u,\"kind\":\"%s\",\"text\":",
                     Action->Process,
                     Action->Action->ThreadId,
                     SessionControlDescribeAction(Action->Action->Kind));
        WasmPutString(Writer, Text, Length);
        RtlWriteText(Writer, "}");
        IsFirst = FALSE;
        Index += 1;
    }
}

//
// Which stores are not read, or only in part.
//

static
VOID
WasmPutProblems(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    PREADER_STORE Store;
    RTL_WRITER Problem;
    CHAR Text[512];
    CHAR Name[512];
    ULONG Length;
    ULONG Index;
    BOOLEAN IsFirst = TRUE;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        RtlInitializeBufferWriter(&Problem, Text, sizeof(Text));
        SessionDescribeStoreProblem(Store, &Problem);
        if (Problem.LengthInBytes == 0) {
            continue;
        }

        RtlWideToUtf8(Store->Name.Buffer,
                      Store->Name.Length / sizeof(WCHAR),
                      Name,
                      sizeof(Name),
                      &Length);
        RtlWriteText(Writer, "%s{\"path\":", IsFirst ? "" : ",");
        WasmPutString(Writer, Name, Length);
        RtlWriteText(Writer, ",\"text\":");
        WasmPutString(Writer, Text, Problem.LengthInBytes);
        RtlWriteText(Writer, "}");
        IsFirst = FALSE;
    }
}

//
// Describes the session.
//

WASM_EXPORT(describe)
VOID
WasmExportDescribe(
    VOID
    );

VOID
WasmExportDescribe(
    VOID
    )
{
    const READER_SESSION *Session = &WasmView.Session;
    PRTL_WRITER Writer = WasmBeginText(&WasmAnswer);
    ULONGLONG Last = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].LastTimestamp > Last) {
            Last = Session->Threads[Index].LastTimestamp;
        }
    }

    RtlWriteText(Writer,
                 "{\"clockTicks\":\"%llu\",\"clockNanoseconds\":\"%llu\","
                 "\"granularity\":%llu,"
                 "\"clockKind\":%u,\"tickRate\":%llu,\"startTime\":\"%llu\","
                 "\"first\":\"%llu\",\"begin\":0,",
                 Session->Clock.Ticks,
                 Session->Clock.Nanoseconds,
                 CoreQueryGranularity(&Session->Clock),
                 Session->Clock.Kind,
                 CoreQueryTickRate(&Session->Clock),
                 CoreTimestampToSystemTime(&Session->Clock,
                                           WasmView.Range.FirstTimestamp),
                 WasmView.Range.FirstTimestamp);
    WasmPutTime(Writer, "end", Last);
    RtlWriteText(Writer,
                 ",\"isLive\":%s,\"numberOfRuns\":%u,\"hasTrees\":%s,"
                 "\"processes\":[",
                 Session->ProcessState == ReaderProcessGone ? "false"
                                                            : "true",
                 Session->NumberOfRuns,
                 Session->NumberOfTrees != 0 ? "true" : "false");
    WasmPutProcesses(Writer, Session);
    RtlWriteText(Writer, "],\"threads\":[");
    WasmPutThreads(Writer, Session);
    RtlWriteText(Writer, "],\"modules\":[");
    WasmPutModules(Writer, Session);
    RtlWriteText(Writer, "],\"marks\":[");
    WasmPutMarks(Writer, Session);
    RtlWriteText(Writer, "],\"problems\":[");
    WasmPutProblems(Writer, Session);
    RtlWriteText(Writer, "]}");
}

//
// Describes the functions from a number on.
//

WASM_EXPORT(describeFunctions)
ULONG
WasmExportDescribeFunctions(
    ULONG First
    );

ULONG
WasmExportDescribeFunctions(
    ULONG First
    )
{
    PRTL_WRITER Writer = WasmBeginText(&WasmAnswer);
    PREADER_FUNCTIONS Functions = &WasmView.Functions;
    PCREADER_FUNCTION Function;
    READER_SOURCE_LINE Line;
    ULONG Index;

    RtlWriteText(Writer, "[");
    for (Index = First; Index < Functions->NumberOfFunctions; Index++) {

        Function = &Functions->Functions[Index];
        RtlWriteText(Writer,
                     "%s{\"module\":%u,\"rva\":%u,\"wait\":%u,\"name\":",
                     Index == First ? "" : ",",
                     Function->Module,
                     Function->Rva,
                     Function->Wait);
        WasmPutString(Writer, Function->FullName, Function->FullLength);
        RtlWriteText(Writer, ",\"moduleName\":");
        WasmPutString(Writer,
                      Function->ModuleName,
                      Function->ModuleNameLength);
        if (Function->Rva != READER_OTHER_RVA && !Function->IsStub &&
            FunctionFindLine(&WasmView.Session,
                             ((ULONGLONG)Function->Module << 32) |
                                 Function->Rva,
                             &Line)) {
            RtlWriteText(Writer, ",\"line\":%u,\"file\":", Line.LineNumber);
            WasmPutString(Writer, Line.FileName, Line.LengthInBytes);
        }
        RtlWriteText(Writer, "}");
    }

    RtlWriteText(Writer, "]");
    return Functions->NumberOfFunctions;
}

//
// The names of the modules that calls of imports name by their numbers, which
// begin with 1, from a number on.
//

WASM_EXPORT(describeCallers)
ULONG
WasmExportDescribeCallers(
    ULONG First
    );

ULONG
WasmExportDescribeCallers(
    ULONG First
    )
{
    PRTL_WRITER Writer = WasmBeginText(&WasmAnswer);
    const READER_FUNCTIONS *Functions = &WasmView.Functions;
    ULONG Index;

    RtlWriteText(Writer, "[");
    for (Index = First; Index < Functions->NumberOfImported; Index++) {
        RtlWriteText(Writer, Index == First ? "" : ",");
        WasmPutString(Writer,
                      Functions->Imported[Index].Name,
                      Functions->Imported[Index].NameLength);
    }

    RtlWriteText(Writer, "]");
    return Functions->NumberOfImported;
}

//
// Reads on in a thread.  Returns 0: there is more; 1: it is done; 2: it could
// not be read to its end.  Fields receives how many records were read of it.
//

WASM_EXPORT(pass)
ULONG
WasmExportPass(
    ULONG Thread,
    ULONG NumberOfRecords,
    double *Fields
    );

ULONG
WasmExportPass(
    ULONG Thread,
    ULONG NumberOfRecords,
    double *Fields
    )
{
    NTSTATUS Status;
    ULONGLONG Known;

    if (Thread >= WasmView.NumberOfThreads) {
        return 2;
    }

    Status = ViewPass(&WasmView, Thread, NumberOfRecords);
    Known = WasmView.Threads[Thread].Known;
    Fields[0] = (double)WasmView.Threads[Thread].NumberOfRecords;
    Fields[1] = Known > WasmView.Range.FirstTimestamp
                    ? (double)(Known - WasmView.Range.FirstTimestamp)
                    : 0;
    if (NT_SUCCESS(Status)) {
        return 0;
    }

    return NT_SUCCESS(WasmView.Threads[Thread].Status) ? 1 : 2;
}

//
// What a thread's levels are kept by: Fields receives the two halves of a
// number; 0: they are not kept.
//

WASM_EXPORT(identify)
VOID
WasmExportIdentify(
    ULONG Thread,
    PULONG Fields
    );

VOID
WasmExportIdentify(
    ULONG Thread,
    PULONG Fields
    )
{
    ULONGLONG Identity = 0;

    if (Thread < WasmView.NumberOfThreads) {
        Identity = ViewIdentifyThread(&WasmView, Thread);
    }

    Fields[0] = (ULONG)Identity;
    Fields[1] = (ULONG)(Identity >> 32);
}

//
// READER_KEEP_READ of a file of the page.
//

static
ULONG
WasmReadKept(
    PVOID Context,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    LONG Read = WasmHostRead(*(PULONG)Context,
                             (double)Offset,
                             Bytes,
                             SizeInBytes);

    return Read < 0 ? 0 : (ULONG)Read;
}

//
// Takes levels that were kept, from the page's file or, if that has no number,
// from the one beside the thread's store.  Returns whether that was possible;
// the thread is then done.
//

WASM_EXPORT(restore)
ULONG
WasmExportRestore(
    ULONG Thread,
    ULONG Host
    );

ULONG
WasmExportRestore(
    ULONG Thread,
    ULONG Host
    )
{
    NTSTATUS Status;

    if (Thread >= WasmView.NumberOfThreads ||
        WasmView.Passing == Thread) {
        return FALSE;
    }

    Status = Host != READER_NONE
                 ? ViewRestoreThread(&WasmView, Thread, WasmReadKept, &Host)
                 : ViewRestoreBeside(&WasmView, Thread);
    return NT_SUCCESS(Status);
}

static
NTSTATUS
WasmFlushKept(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    UNREFERENCED_PARAMETER(Writer);

    WasmHostKeep(Bytes, SizeInBytes);
    return STATUS_SUCCESS;
}

//
// Gives the page the levels of a thread that is done, in pieces.  Returns
// whether that is all of them.
//

WASM_EXPORT(save)
ULONG
WasmExportSave(
    ULONG Thread
    );

ULONG
WasmExportSave(
    ULONG Thread
    )
{
    static CHAR Buffer[READER_KEEP_BUFFER];
    RTL_WRITER Writer;

    if (Thread >= WasmView.NumberOfThreads) {
        return FALSE;
    }

    RtlInitializeBufferWriter(&Writer, Buffer, sizeof(Buffer));
    Writer.Rtl = &WasmRtl;
    Writer.Flush = WasmFlushKept;
    return NT_SUCCESS(ViewSaveThread(&WasmView, Thread, &Writer));
}

//
// Where records of a thread could not be read: JSON.
//

WASM_EXPORT(losses)
VOID
WasmExportLosses(
    ULONG Thread
    );

VOID
WasmExportLosses(
    ULONG Thread
    )
{
    PRTL_WRITER Writer = WasmBeginText(&WasmAnswer);
    PREADER_VIEW_THREAD Of = &WasmView.Threads[Thread];
    ULONG Index;

    RtlWriteText(Writer, "[");
    for (Index = 0; Index < Of->NumberOfLosses; Index++) {
        RtlWriteText(Writer, "%s{", Index == 0 ? "" : ",");
        WasmPutTime(Writer, "begin", Of->Losses[Index].Start);
        RtlWriteText(Writer, ",");
        WasmPutTime(Writer, "end", Of->Losses[Index].Stop);
        RtlWriteText(Writer, ",\"records\":%llu}", Of->Losses[Index].Number);
    }

    RtlWriteText(Writer, "]");
}

//
// The number of the file of a thread's first store; 2^32 - 1: the page has not
// given it.
//

WASM_EXPORT(firstFile)
ULONG
WasmExportFirstFile(
    ULONG Thread
    );

ULONG
WasmExportFirstFile(
    ULONG Thread
    )
{
    PREADER_SESSION Session = &WasmView.Session;
    UNICODE_STRING Path;
    ULONG Number;
    NTSTATUS Status;

    if (Thread >= Session->NumberOfThreads || Session->Pack != NULL) {
        return WASM_NO_HOST;
    }

    Status = SessionComposeNameBeside(
        Session,
        Session->Stores[Session->Threads[Thread].FirstStore],
        L"",
        &Path);
    if (!NT_SUCCESS(Status)) {
        return WASM_NO_HOST;
    }

    Number = WasmFindHost(&Path);
    WasmAllocator.Free(NULL, Path.Buffer);
    return Number;
}

//
// How many bytes there are in what selects threads.
//

WASM_EXPORT(countThreads)
ULONG
WasmExportCountThreads(
    VOID
    );

ULONG
WasmExportCountThreads(
    VOID
    )
{
    return WasmView.Session.NumberOfThreads;
}

//
// About how many bytes a query reads, one after the other: whoever reads them
// at once is faster.
//

WASM_EXPORT(estimate)
double
WasmExportEstimate(
    ULONG Thread,
    double Begin,
    double End,
    ULONG Pixels
    );

double
WasmExportEstimate(
    ULONG Thread,
    double Begin,
    double End,
    ULONG Pixels
    )
{
    if (Thread >= WasmView.NumberOfThreads || !(Begin <= End)) {
        return 0;
    }

    return (double)ViewEstimateReading(&WasmView,
                                       Thread,
                                       WasmTakeTime(Begin),
                                       WasmTakeTime(End),
                                       Pixels);
}

//
// Finds the boxes of a range of a thread; with MaximumRecords not 0 from the
// records alone, and not more of them.  Returns how many there are, or
// 2^32 - 1: it failed.  WasmExportBoxes then gives them.
//

WASM_EXPORT(query)
ULONG
WasmExportQuery(
    ULONG Thread,
    double Begin,
    double End,
    ULONG Pixels,
    ULONG MaximumDepth,
    double MaximumRecords
    );

ULONG
WasmExportQuery(
    ULONG Thread,
    double Begin,
    double End,
    ULONG Pixels,
    ULONG MaximumDepth,
    double MaximumRecords
    )
{
    PREADER_VIEW_THREAD Of;
    PREADER_LEVEL Level;
    ULONG Number = 0;
    ULONG Row;
    NTSTATUS Status;

    if (Thread >= WasmView.NumberOfThreads || !(Begin <= End)) {
        return READER_NONE;
    }

    if (MaximumRecords > 0) {
        Status = ViewQueryAtOnce(&WasmView,
                                 Thread,
                                 WasmTakeTime(Begin),
                                 WasmTakeTime(End),
                                 Pixels,
                                 MaximumDepth,
                                 (ULONGLONG)MaximumRecords);
    } else {
        Status = ViewQuery(&WasmView,
                           Thread,
                           WasmTakeTime(Begin),
                           WasmTakeTime(End),
                           Pixels,
                           MaximumDepth);
    }

    if (!NT_SUCCESS(Status) || Status == STATUS_BUFFER_OVERFLOW) {
        return READER_NONE;
    }

    Of = &WasmView.Threads[Thread];
    Level = &WasmView.Found.Levels[0];
    for (Row = 0; Row < Level->NumberOfRows; Row++) {
        if (Of->Rows[Row].Depth < MaximumDepth) {
            Number += Level->Rows[Row].NumberOfBoxes;
        }
    }

    return Number;
}

//
// Gives the boxes that were found: to arrays for as many, one behind the other:
// start and stop (double), covered (float), function, calls (4 bytes), depth,
// track, the module that called (2 bytes), flags (1 byte).
//

WASM_EXPORT(boxes)
VOID
WasmExportBoxes(
    PUCHAR Arrays,
    ULONG Number,
    ULONG MaximumDepth
    );

VOID
WasmExportBoxes(
    PUCHAR Arrays,
    ULONG Number,
    ULONG MaximumDepth
    )
{
    PREADER_VIEW_THREAD Of = &WasmView.Threads[WasmView.FoundThread];
    PREADER_LEVEL Level = &WasmView.Found.Levels[0];
    double *Starts = (double *)(PVOID)Arrays;
    double *Stops = Starts + Number;
    float *Covered = (float *)(PVOID)(Stops + Number);
    PULONG Functions = (PULONG)(PVOID)(Covered + Number);
    PULONG Calls = Functions + Number;
    PUSHORT Depths = (PUSHORT)(PVOID)(Calls + Number);
    PUSHORT Tracks = Depths + Number;
    PUSHORT Callers = Tracks + Number;
    PUCHAR Flags = (PUCHAR)(PVOID)(Callers + Number);
    ULONGLONG First = WasmView.Range.FirstTimestamp;
    PCREADER_BOX Box;
    ULONGLONG Length;
    ULONG Index;
    ULONG Next = 0;
    ULONG Row;

    for (Row = 0; Row < Level->NumberOfRows; Row++) {

        if (Of->Rows[Row].Depth >= MaximumDepth) {
            continue;
        }

        for (Index = 0; Index < Level->Rows[Row].NumberOfBoxes; Index++) {

            Box = &Level->Rows[Row].Boxes[Index];
            Length = Box->Stop - Box->Start;
            Starts[Next] = (double)(LONGLONG)(Box->Start - First);
            Stops[Next] = (double)(LONGLONG)(Box->Stop - First);
            Covered[Next] = Length == 0
                                ? 1.0f
                                : (float)((double)Box->Covered /
                                          (double)Length);
            Functions[Next] = Box->Function;
            Calls[Next] = Box->Calls;
            Depths[Next] = Of->Rows[Row].Depth > 0xFFFF
                               ? 0xFFFF
                               : (USHORT)Of->Rows[Row].Depth;
            Tracks[Next] = Of->Rows[Row].Track > 0xFFFF
                               ? 0xFFFF
                               : (USHORT)Of->Rows[Row].Track;
            Callers[Next] = Box->Caller;
            Flags[Next] = (UCHAR)Box->Flags;
            Next += 1;
        }
    }
}

//
// Adds up a range: `all` leaves the range away.  Returns how many functions
// have calls, or are there; 2^32 - 1: it failed altogether.  What could not be
// read is in the notes.
//
// Selected: by thread; NULL: all.
//

WASM_EXPORT(sum)
ULONG
WasmExportSum(
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    );

ULONG
WasmExportSum(
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    )
{
    NTSTATUS Status;

    Status = ViewSum(&WasmView,
                     IsAll ? READER_VIEW_ALL : WasmTakeTime(Begin),
                     WasmTakeTime(End),
                     Selected);
    if (WasmView.Sums == NULL) {
        return READER_NONE;
    }

    UNREFERENCED_PARAMETER(Status);
    return WasmView.NumberOfSums;
}

//
// The last six are for the page, which puts sums of several instances together.
//

#define WASM_SUM_FIELDS 18u

static
VOID
WasmPutSum(
    const READER_STATISTICS *Sum,
    double *Fields
    )
{
    Fields[0] = (double)Sum->Calls;
    Fields[1] = (double)Sum->TotalTicks;
    Fields[2] = (double)Sum->SelfTicks;
    Fields[3] = (double)Sum->MinimumTicks;
    Fields[4] = (double)Sum->MaximumTicks;
    Fields[5] = (double)Sum->Abandoned;
    Fields[6] = Sum->AbandonedInTotal != 0 && Sum->AbandonedTicks == 0
                    ? -1
                    : (double)Sum->AbandonedTicks;
    Fields[7] = (double)Sum->Unfinished;
    Fields[8] = (double)Sum->BegunBefore;
    Fields[9] = (double)(Sum->WaitedTicks < Sum->TotalTicks
                             ? Sum->WaitedTicks
                             : Sum->TotalTicks);
    Fields[10] = (double)CoreQueryAverage(Sum);
    Fields[11] = (double)Sum->Uncertain;
    Fields[12] = (double)(ULONG)Sum->SumLow;
    Fields[13] = (double)(ULONG)(Sum->SumLow >> 32);
    Fields[14] = (double)Sum->SumHigh;
    Fields[15] = (double)Sum->AbandonedInTotal;
    Fields[16] = (double)Sum->WaitedTicks;
    Fields[17] = (double)Sum->AbandonedTicks;
}

//
// Gives the sums, WASM_SUM_FIELDS numbers of each function.
//

WASM_EXPORT(sums)
VOID
WasmExportSums(
    double *Fields
    );

VOID
WasmExportSums(
    double *Fields
    )
{
    ULONG Index;

    for (Index = 0; Index < WasmView.NumberOfSums; Index++) {
        WasmPutSum(&WasmView.Sums[Index], Fields);
        Fields += WASM_SUM_FIELDS;
    }
}

//
// The same for chains of calls.  Node 0 is the root.
//

WASM_EXPORT(sumTree)
ULONG
WasmExportSumTree(
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    );

ULONG
WasmExportSumTree(
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    )
{
    NTSTATUS Status;

    Status = ViewSumTree(&WasmView,
                         IsAll ? READER_VIEW_ALL : WasmTakeTime(Begin),
                         WasmTakeTime(End),
                         Selected);
    UNREFERENCED_PARAMETER(Status);
    return WasmView.Tree.NumberOfNodes;
}

//
// Gives a node's function, parent, the module that called, and sums.
//

WASM_EXPORT(nodes)
VOID
WasmExportNodes(
    PULONG Functions,
    PULONG Parents,
    PUSHORT Callers,
    double *Fields
    );

VOID
WasmExportNodes(
    PULONG Functions,
    PULONG Parents,
    PUSHORT Callers,
    double *Fields
    )
{
    const READER_NODE *Node;
    ULONG Index;

    for (Index = 0; Index < WasmView.Tree.NumberOfNodes; Index++) {
        Node = &WasmView.Tree.Nodes[Index];
        if (Index == READER_ROOT_NODE ||
            !NT_SUCCESS(ViewFindNode(&WasmView,
                                     Index,
                                     &Functions[Index],
                                     &Callers[Index]))) {
            Functions[Index] = READER_NONE;
            Callers[Index] = 0;
        }

        Parents[Index] = Index == READER_ROOT_NODE ? READER_NONE
                                                   : Node->Parent;
        WasmPutSum(&Node->Statistics, Fields);
        Fields += WASM_SUM_FIELDS;
    }
}

//
// Looks at the calls of a function; the answer is JSON.  Kind is that of
// READER_VIEW_CALLS_KIND.  Returns whether it could be done.
//

WASM_EXPORT(findCalls)
ULONG
WasmExportFindCalls(
    ULONG Kind,
    ULONG Module,
    ULONG Rva,
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    );

ULONG
WasmExportFindCalls(
    ULONG Kind,
    ULONG Module,
    ULONG Rva,
    ULONG IsAll,
    double Begin,
    double End,
    const UCHAR *Selected
    )
{
    PREADER_VIEW_CALLS Calls = &WasmView.Calls;
    static const ULONG Shares[4] = { 500, 900, 990, 999 };
    PRTL_WRITER Writer;
    ULONG Bucket;
    ULONG Index;
    BOOLEAN IsFirst = TRUE;
    NTSTATUS Status;

    Calls->Kind = (READER_VIEW_CALLS_KIND)Kind;
    Calls->Module = Module;
    Calls->Rva = Rva;
    Status = ViewFindCalls(&WasmView,
                           IsAll ? READER_VIEW_ALL : WasmTakeTime(Begin),
                           WasmTakeTime(End),
                           Selected);
    Writer = WasmBeginText(&WasmAnswer);
    RtlWriteText(Writer,
                 "{\"calls\":%llu,\"abandoned\":%llu,\"maximum\":%llu,"
                 "\"percentiles\":[",
                 Calls->Number,
                 Calls->Abandoned,
                 Calls->MaximumTicks);
    for (Index = 0; Index < RTL_NUMBER_OF(Shares); Index++) {
        RtlWriteText(Writer,
                     "%s%llu",
                     Index == 0 ? "" : ",",
                     CoreQueryPercentile(&Calls->Histogram,
                                         Shares[Index],
                                         Calls->MaximumTicks));
    }

    RtlWriteText(Writer, "],\"buckets\":[");
    for (Index = 0; Index < Calls->Histogram.NumberOfBuckets; Index++) {

        if (Calls->Histogram.Counts[Index] == 0) {
            continue;
        }

        Bucket = Calls->Histogram.FirstBucket + Index;
        RtlWriteText(Writer,
                     "%s{\"from\":%llu,\"to\":%llu,\"calls\":%llu}",
                     IsFirst ? "" : ",",
                     Bucket == 0 ? 0 : CoreQueryBucketEnd(Bucket - 1) + 1,
                     CoreQueryBucketEnd(Bucket),
                     Calls->Histogram.Counts[Index]);
        IsFirst = FALSE;
    }

    RtlWriteText(Writer, "],\"found\":[");
    for (Index = 0; Index < Calls->NumberFound; Index++) {
        RtlWriteText(Writer,
                     "%s{\"thread\":%u,\"depth\":%u,",
                     Index == 0 ? "" : ",",
                     Calls->Found[Index].Thread,
                     Calls->Found[Index].Depth);
        WasmPutTime(Writer, "begin", Calls->Found[Index].Start);
        RtlWriteText(Writer, ",");
        WasmPutTime(Writer, "end", Calls->Found[Index].Stop);
        RtlWriteText(Writer, ",\"ticks\":%llu}", Calls->Found[Index].Ticks);
    }

    RtlWriteText(Writer, "]}");
    return NT_SUCCESS(Status);
}

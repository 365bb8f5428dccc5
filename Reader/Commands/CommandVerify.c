/*++

Module Name:

    CommandVerify.c

Abstract:

    TraceReader verify: checks every header and every record.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseProgress.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionIterator.h"
#include "../Session/SessionStoreOpen.h"
#include "../Session/SessionTreeStore.h"
#include "Command.h"

static const READER_COLUMN ReaderVerifyColumns[] = {
    { "Store", "store", ReaderColumnText, 36, 0,
      "The file's name." },
    { "State", "state", ReaderColumnText, 8, 0,
      "open, closed, stopped, ended, died, or what is wrong with it." },
    { "Records", "records", ReaderColumnNumber, 12, 0,
      "Records: two for a call that ended." },
    { "Bad", "bad", ReaderColumnNumber, 8, 0,
      "The number of invalid records, plus one for an invalid header and "
      "one for an end beyond the end of the file." },
    { "Lost", "lost", ReaderColumnNumber, 8, 0,
      "Events that were lost." },
    { "", "first_bad_offset", ReaderColumnNumber, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "File offset, bytes; null if nothing is bad." },
    { "Result", "result", ReaderColumnText, 0, 0,
      "ok, or what was found, in words." }
};

//
// In text the offset is part of the result.
//

static const READER_TABLE ReaderVerifyTable = {
    "stores",
    ReaderVerifyColumns,
    RTL_NUMBER_OF(ReaderVerifyColumns),
    FALSE,
    FALSE,
    "A row for each store file."
};

static const READER_COLUMN ReaderVerifySummaryColumns[] = {
    { "Stores", "stores", ReaderColumnNumber, 0, 0,
      "Store files." },
    { "Records", "records", ReaderColumnNumber, 0, 0,
      "Records: two for a call that ended." },
    { "Bad", "bad", ReaderColumnNumber, 0, 0,
      "The number of invalid records, plus one for an invalid header and "
      "one for an end beyond the end of the file." },
    { "Lost", "lost", ReaderColumnNumber, 0, 0,
      "Events that were lost." },
    { "Actions left out", "actions_left_out", ReaderColumnNumber, 0, 0,
      "Marks and requests that could not be written or were not read." }
};

static const READER_TABLE ReaderVerifySummaryTable = {
    "summary",
    ReaderVerifySummaryColumns,
    RTL_NUMBER_OF(ReaderVerifySummaryColumns),
    FALSE,
    FALSE,
    "One row: the sums."
};

typedef struct _READER_VERDICT {
    PCSZ State;
    ULONGLONG Records;
    ULONGLONG Bad;
    ULONGLONG Lost;
    ULONGLONG FirstBadOffset;
    RTL_WRITER Result;
    CHAR Text[600];
} READER_VERDICT;
typedef READER_VERDICT *PREADER_VERDICT;


//
// Separates one clause of a result from the one before it.
//

static
VOID
CommandBeginClause(
    _Inout_ PREADER_VERDICT Verdict
    )
{
    if (Verdict->Result.LengthInBytes != 0) {
        RtlWriteText(&Verdict->Result, "; ");
    }
}


//
// Counts what is bad.
// Count: how many.
// FileOffset: of the first.
//

static
VOID
CommandAddBad(
    _Inout_ PREADER_VERDICT Verdict,
    _In_ ULONGLONG Count,
    _In_ ULONGLONG FileOffset
    )
{
    if (Verdict->Bad == 0 || FileOffset < Verdict->FirstBadOffset) {
        Verdict->FirstBadOffset = FileOffset;
    }

    Verdict->Bad += Count;
}


//
// Checks a store's records.
// Store: the store, open, with a valid header and end.
// Verdict: is added to.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY; a failure to read is part of the
// verdict.
//

_Must_inspect_result_
static
NTSTATUS
CommandVerifyRecords(
    _In_ PCREADER_CONTEXT Context,
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_STORE Store,
    _Inout_ PREADER_VERDICT Verdict
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    READER_PROGRESS Progress;
    NTSTATUS Status;

    Status = SessionInitializeIterator(&Iterator, Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    BaseInitializeProgress(&Progress,
                           Context,
                           "",
                           (Store->EndOfRecords - Store->StartOfRecords) /
                                 TRACE_RECORD_SIZE);
    do {
        Status = SessionNextRecord(&Iterator, &Record);
        if (Iterator.NumberOfRecords % READER_PROGRESS_EVENTS == 0) {
            BaseShowProgress(&Progress, Iterator.NumberOfRecords);
        }
    } while (NT_SUCCESS(Status));

    BaseEraseProgress(&Progress);
    if (Status == STATUS_NO_MEMORY) {
        SessionRundownIterator(&Iterator);
        return Status;
    }

    Verdict->Records = Iterator.NumberOfRecords;

    if (Iterator.NumberOfBadRecords != 0) {
        CommandAddBad(Verdict,
                      Iterator.NumberOfBadRecords,
                      Iterator.FirstBadOffset);
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu bad records, the first at offset %llu: %s",
                     Iterator.NumberOfBadRecords,
                     Iterator.FirstBadOffset,
                     CoreDescribeRecordState(Iterator.FirstBadState));
    }

    if (Status != STATUS_END_OF_FILE) {
        CommandAddBad(Verdict,
                      1,
                      SessionLocateRecord(
                         Store,
                         Iterator.BufferPosition +
                             (ULONGLONG)Iterator.Index * TRACE_RECORD_SIZE));
        CommandBeginClause(Verdict);
        SessionDescribeStoreProblem(Store, &Verdict->Result);
    }

    if (Iterator.IsTailReserved) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "the last record was reserved but not written%s",
                     Store->Header->State == TRACE_STATE_OPEN &&
                             Session->ProcessState == ReaderProcessRunning
                         ? " yet"
                         : "");
    }

    if (Store->TailTimestamp != 0) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu more records may yet be taken back",
                     (Store->PublishedEnd - Store->EndOfRecords) /
                         TRACE_RECORD_SIZE);
    }

    if (Store->StartOfRecords > Store->Header->HeaderSize) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "ring: %llu older records overwritten",
                     (Store->StartOfRecords - Store->Header->HeaderSize) /
                         TRACE_RECORD_SIZE);
    }

    if (Iterator.NumberOvertaken != 0) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu of these while they were read",
                     Iterator.NumberOvertaken);
    }

    if (Iterator.NumberOnFibers != 0) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu records on other stacks (fibers)",
                     Iterator.NumberOnFibers);
    }

    SessionRundownIterator(&Iterator);
    return STATUS_SUCCESS;
}


//
// Checks a store's tree.
// Store: the store, open, with a valid header of a tree.
// Verdict: is added to.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY; a failure to read is part of the
// verdict.
//

_Must_inspect_result_
static
NTSTATUS
CommandVerifyTree(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Inout_ PREADER_VERDICT Verdict
    )
{
    CORE_TREE Tree;
    NTSTATUS Status;

    Status = SessionReadTreeStore(Session, Store, &Tree);
    if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {

        CommandAddBad(Verdict, 1, 0);
        CommandBeginClause(Verdict);
        SessionDescribeStoreProblem(Store, &Verdict->Result);
        Status = STATUS_SUCCESS;

    } else if (NT_SUCCESS(Status)) {

        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "tree: %llu nodes, %llu open call%s",
                     (ULONGLONG)Tree.NumberOfNodes,
                     Tree.NumberOfOpenCalls,
                     Tree.NumberOfOpenCalls == 1 ? "" : "s");
        if (Tree.NumberBad != 0) {
            CommandAddBad(Verdict,
                          Tree.NumberBad,
                          Tree.FirstProblem.FileOffset);
            CommandBeginClause(Verdict);
            SessionTreeStoreDescribeProblem(&Tree, &Verdict->Result);
        }

        if (!Tree.IsLive && (Store->Header->Generation & 1) != 0) {
            CommandBeginClause(Verdict);
            RtlWriteText(&Verdict->Result,
                         "it was being cleared when the process ended");
        }
    }

    CoreRundownTree(&Tree);
    return Status;
}


//
// Checks one store.
// Store: the store, closed.
// Verdict: what was found.
//

_Must_inspect_result_
static
NTSTATUS
CommandVerifyStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Out_ PREADER_VERDICT Verdict
    )
{
    NTSTATUS Status;

    RtlZeroBytes(Verdict, FIELD_OFFSET(READER_VERDICT, Text));
    RtlInitializeBufferWriter(&Verdict->Result,
                              Verdict->Text,
                              sizeof(Verdict->Text));
    Verdict->State = "-";

    Status = SessionOpenSessionStore(Session, Store);
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (!NT_SUCCESS(Status)) {
        Verdict->State = "bad";
        CommandAddBad(Verdict, 1, 0);
        SessionDescribeStoreProblem(Store, &Verdict->Result);
        return STATUS_SUCCESS;
    }

    Status = STATUS_SUCCESS;
    if (Store->HeaderResult.State == CoreHeaderBeingCreated) {
        Verdict->State = "new";
        SessionDescribeStoreProblem(Store, &Verdict->Result);
        goto End;
    }

    if (Store->HeaderResult.State != CoreHeaderValid) {
        Verdict->State = "bad";
        CommandAddBad(Verdict, 1, Store->HeaderResult.FileOffset);
        SessionDescribeStoreProblem(Store, &Verdict->Result);
        goto End;
    }

    Verdict->State = SessionDescribeStoreState(Session, Store);
    Verdict->Lost = READER_EVENTS_LOST(Store->Header) +
                    Store->Header->NumberOfEventsReentered;

    if (Store->IsForeign ||
        Store->EndState != CoreEndValid) {
        CommandAddBad(Verdict,
                      1,
                      Store->IsForeign
                         ? FIELD_OFFSET(TRACE_STORE_HEADER, ProcessId)
                         : Store->EndState == CoreEndBeyondFile
                               ? Store->FileSize
                               : FIELD_OFFSET(TRACE_STORE_HEADER, Cursor));
        SessionDescribeStoreProblem(Store, &Verdict->Result);
    }

    if (Store->EndState != CoreEndBad &&
        Store->Header->Mode == TRACE_MODE_TREE) {
        Status = CommandVerifyTree(Session, Store, Verdict);
    } else if (Store->EndState != CoreEndBad) {
        Status = CommandVerifyRecords(Context, Session, Store, Verdict);
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Store->Header->State == TRACE_STATE_STOPPED) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "stopped: %s (status 0x%08X)",
                     SessionDescribeReason(Store->Header),
                     Store->Header->Status);
    }

    if (READER_EVENTS_LOST(Store->Header) != 0) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu events lost after it stopped",
                     READER_EVENTS_LOST(Store->Header));
    }

    if (Store->Header->NumberOfEventsReentered != 0) {
        CommandBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu events lost inside the library",
                     Store->Header->NumberOfEventsReentered);
    }

End:
    if (Verdict->Result.LengthInBytes == 0) {
        RtlWriteText(&Verdict->Result, "ok");
    }

    SessionCloseStore(Context, Store);
    return Status;
}


//
// Writes a store's row.
// Verdict: what was found.
//

static
VOID
CommandPutVerdict(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STORE Store,
    _In_ const READER_VERDICT *Verdict
    )
{
    CHAR Name[600];
    ULONG Length;

    RtlWideToUtf8(Store->Name.Buffer,
                  Store->Name.Length / sizeof(WCHAR),
                  Name,
                  sizeof(Name),
                  &Length);
    OutputPutText(Output, Name, Length);
    OutputPutString(Output, Verdict->State);
    OutputPutNumber(Output, Verdict->Records);
    OutputPutNumber(Output, Verdict->Bad);
    OutputPutNumber(Output, Verdict->Lost);
    if (Verdict->Bad != 0) {
        OutputPutNumber(Output, Verdict->FirstBadOffset);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutText(Output, Verdict->Text, Verdict->Result.LengthInBytes);
}


static
ULONG
CommandVerify(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_SESSION Session;
    READER_VERDICT Verdict;
    READER_OUTPUT Output;
    ULONGLONG Records = 0;
    ULONGLONG Bad = 0;
    ULONGLONG Lost = 0;
    ULONGLONG LeftOut = 0;
    ULONG Index;
    NTSTATUS Status;

    if (!CommandOpenCommandSession(&Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    SessionWarnOfControl(&Session);
    OutputBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Session.Clock,
                        "verify",
                        FALSE);
    OutputBeginTable(&Output, &ReaderVerifyTable, 0);

    for (Index = 0; Index < Session.NumberOfStores; Index++) {

        PREADER_STORE Store = Session.Stores[Index];

        Status = CommandVerifyStore(Context, &Session, Store, &Verdict);
        if (!NT_SUCCESS(Status)) {
            BaseFail(Context, "verify", Options->PathUtf8, Status);
            CommandCloseCommandSession(&Session);
            return READER_EXIT_FAILURE;
        }

        CommandPutVerdict(&Output, Store, &Verdict);
        Records += Verdict.Records;
        Bad += Verdict.Bad;
        Lost += Verdict.Lost;
    }

    OutputEndTable(&Output);
    for (Index = 0; Index < Session.NumberOfProcesses; Index++) {
        LeftOut += READER_ACTIONS_LEFT_OUT(READER_CONTROL_OF(&Session, Index));
    }

    switch (Options->Format) {

    case ReaderFormatJson:
        OutputBeginTable(&Output, &ReaderVerifySummaryTable, 0);
        OutputPutNumber(&Output, Session.NumberOfStores);
        OutputPutNumber(&Output, Records);
        OutputPutNumber(&Output, Bad);
        OutputPutNumber(&Output, Lost);
        OutputPutNumber(&Output, LeftOut);
        OutputEndTable(&Output);
        break;

    case ReaderFormatText:
        RtlWriteText(Context->Output,
                     "%u store%s, %llu records, %llu bad, %llu lost",
                     Session.NumberOfStores,
                     Session.NumberOfStores == 1 ? "" : "s",
                     Records,
                     Bad,
                     Lost);
        if (LeftOut != 0) {
            RtlWriteText(Context->Output,
                         ", %llu marks or requests left out",
                         LeftOut);
        }
        RtlWriteText(Context->Output, "\n");
        break;

    default:
        break;
    }

    OutputEndDocument(&Output);
    CommandCloseCommandSession(&Session);
    return Bad != 0 || Lost != 0 || LeftOut != 0 ? READER_EXIT_BAD
                                                 : READER_EXIT_SUCCESS;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderVerifyTables[] = {
    &ReaderVerifyTable,
    &ReaderVerifySummaryTable,
    NULL
};

const READER_COMMAND ReaderVerifyCommand = {
    "verify",
    "[PATH]",
    "Checks every header and every record",
    "Exit code 2 if anything is bad, lost or left out.  CSV has the table\n"
    "stores.\n",
    "  TraceReader verify SESSION\n"
    "  TraceReader verify --csv SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_PROCESS | READER_OPTION_PAGER,
    CommandVerify,
    ReaderVerifyTables,
    NULL
};

/*++

Module Name:

    CommandVerify.c

Abstract:

    TraceReader verify: checks every header and every record.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderVerifyColumns[] = {
    { "Store", "store", ReaderColumnText, 36 },
    { "State", "state", ReaderColumnText, 8 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Bad", "bad", ReaderColumnNumber, 8 },
    { "Lost", "lost", ReaderColumnNumber, 8 },
    { "", "first_bad_offset", ReaderColumnNumber, 0 },
    { "Result", "result", ReaderColumnText, 0 }
};

//
// In text the offset is part of the result.
//

#define READER_VERIFY_HIDDEN_COLUMNS (1u << 5)

static const READER_TABLE ReaderVerifyTable = {
    "stores",
    ReaderVerifyColumns,
    RTL_NUMBER_OF(ReaderVerifyColumns),
    FALSE
};

static const READER_COLUMN ReaderVerifySummaryColumns[] = {
    { "Stores", "stores", ReaderColumnNumber, 0 },
    { "Records", "records", ReaderColumnNumber, 0 },
    { "Bad", "bad", ReaderColumnNumber, 0 },
    { "Lost", "lost", ReaderColumnNumber, 0 }
};

static const READER_TABLE ReaderVerifySummaryTable = {
    "summary",
    ReaderVerifySummaryColumns,
    RTL_NUMBER_OF(ReaderVerifySummaryColumns),
    FALSE
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


static
VOID
ReaderBeginClause(
    _Inout_ PREADER_VERDICT Verdict
    )
/*++

Routine Description:

    Separates one clause of a result from the one before it.

Arguments:

    Verdict - The verdict.

Return Value:

    None.

--*/
{
    if (Verdict->Result.LengthInBytes != 0) {
        RtlWriteText(&Verdict->Result, "; ");
    }
}


static
VOID
ReaderAddBad(
    _Inout_ PREADER_VERDICT Verdict,
    _In_ ULONGLONG Count,
    _In_ ULONGLONG FileOffset
    )
/*++

Routine Description:

    Counts what is bad.

Arguments:

    Verdict - The verdict.

    Count - How many.

    FileOffset - Of the first.

Return Value:

    None.

--*/
{
    if (Verdict->Bad == 0 || FileOffset < Verdict->FirstBadOffset) {
        Verdict->FirstBadOffset = FileOffset;
    }

    Verdict->Bad += Count;
}


_Must_inspect_result_
static
NTSTATUS
ReaderVerifyRecords(
    _In_ PCREADER_CONTEXT Context,
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_STORE Store,
    _Inout_ PREADER_VERDICT Verdict
    )
/*++

Routine Description:

    Checks a store's records.

Arguments:

    Context - The context.

    Session - The session.

    Store - The store, open, with a valid header and end.

    Verdict - Is added to.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY; a failure to read is part of the verdict.

--*/
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    READER_PROGRESS Progress;
    ULONGLONG Together;
    NTSTATUS Status;

    Status = ReaderInitializeIterator(&Iterator, Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderInitializeProgress(&Progress,
                             Context,
                             "",
                             (Store->EndOfRecords - Store->StartOfRecords) /
                                 TRACE_RECORD_SIZE);
    do {
        Status = ReaderNextRecord(&Iterator, &Record);
        if (Iterator.NumberOfRecords % READER_PROGRESS_EVENTS == 0) {
            ReaderShowProgress(&Progress, Iterator.NumberOfRecords);
        }
    } while (NT_SUCCESS(Status));

    ReaderEraseProgress(&Progress);

    Verdict->Records = Iterator.NumberOfRecords;

    if (Iterator.NumberOfBadRecords != 0) {
        ReaderAddBad(Verdict,
                     Iterator.NumberOfBadRecords,
                     Iterator.FirstBadOffset);
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu bad records, the first at offset %llu: %s",
                     Iterator.NumberOfBadRecords,
                     Iterator.FirstBadOffset,
                     CoreDescribeRecordState(Iterator.FirstBadState));
    }

    if (Status != STATUS_END_OF_FILE) {
        ReaderAddBad(Verdict,
                     1,
                     CorePositionToFileOffset(
                         Store->Header,
                         Iterator.BufferPosition +
                             (ULONGLONG)Iterator.Index * TRACE_RECORD_SIZE,
                         &Together));
        ReaderBeginClause(Verdict);
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
    }

    if (Iterator.IsTailReserved) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "the last record is reserved and not written%s",
                     Store->Header->State == TRACE_STATE_OPEN &&
                             Session->ProcessState == ReaderProcessRunning
                         ? " yet"
                         : "");
    }

    if (Store->TailTimestamp != 0) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu more records may yet be taken back",
                     (Store->PublishedEnd - Store->EndOfRecords) /
                         TRACE_RECORD_SIZE);
    }

    if (Store->StartOfRecords > Store->Header->HeaderSize) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "ring: %llu older records overwritten",
                     (Store->StartOfRecords - Store->Header->HeaderSize) /
                         TRACE_RECORD_SIZE);
    }

    if (Iterator.NumberOvertaken != 0) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu of these while they were read",
                     Iterator.NumberOvertaken);
    }

    if (Iterator.NumberOnFibers != 0) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu records on other stacks (fibers)",
                     Iterator.NumberOnFibers);
    }

    ReaderRundownIterator(&Iterator);
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderVerifyTree(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Inout_ PREADER_VERDICT Verdict
    )
/*++

Routine Description:

    Checks a store's tree.

Arguments:

    Session - The session.

    Store - The store, open, with a valid header of a tree.

    Verdict - Is added to.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY; a failure to read is part of the verdict.

--*/
{
    CORE_TREE Tree;
    NTSTATUS Status;

    Status = ReaderReadTreeStore(Session, Store, &Tree);
    if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {

        ReaderAddBad(Verdict, 1, 0);
        ReaderBeginClause(Verdict);
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
        Status = STATUS_SUCCESS;

    } else if (NT_SUCCESS(Status)) {

        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "tree: %llu nodes, %llu open call%s",
                     (ULONGLONG)Tree.NumberOfNodes,
                     Tree.NumberOfOpenCalls,
                     Tree.NumberOfOpenCalls == 1 ? "" : "s");
        if (Tree.NumberBad != 0) {
            ReaderAddBad(Verdict,
                         Tree.NumberBad,
                         Tree.FirstProblem.FileOffset);
            ReaderBeginClause(Verdict);
            ReaderDescribeTreeProblem(&Tree, &Verdict->Result);
        }

        if (!Tree.IsLive && (Store->Header->Generation & 1) != 0) {
            ReaderBeginClause(Verdict);
            RtlWriteText(&Verdict->Result,
                         "it was being cleared when the process ended");
        }
    }

    CoreRundownTree(&Tree);
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderVerifyStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Out_ PREADER_VERDICT Verdict
    )
/*++

Routine Description:

    Checks one store.

Arguments:

    Context - The context.

    Session - The session.

    Store - The store, closed.

    Verdict - Receives what was found.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status;

    RtlZeroBytes(Verdict, FIELD_OFFSET(READER_VERDICT, Text));
    RtlInitializeBufferWriter(&Verdict->Result,
                              Verdict->Text,
                              sizeof(Verdict->Text));
    Verdict->State = "-";

    Status = ReaderOpenSessionStore(Session, Store);
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (!NT_SUCCESS(Status)) {
        Verdict->State = "bad";
        ReaderAddBad(Verdict, 1, 0);
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
        return STATUS_SUCCESS;
    }

    Status = STATUS_SUCCESS;
    if (Store->HeaderResult.State == CoreHeaderBeingCreated) {
        Verdict->State = "new";
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
        goto End;
    }

    if (Store->HeaderResult.State != CoreHeaderValid) {
        Verdict->State = "bad";
        ReaderAddBad(Verdict, 1, Store->HeaderResult.FileOffset);
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
        goto End;
    }

    Verdict->State = ReaderDescribeStoreState(Session, Store);
    Verdict->Lost = READER_EVENTS_LOST(Store->Header) +
                    Store->Header->NumberOfEventsReentered;

    if (Store->IsForeign ||
        Store->EndState != CoreEndValid) {
        ReaderAddBad(Verdict,
                     1,
                     Store->IsForeign
                         ? FIELD_OFFSET(TRACE_STORE_HEADER, ProcessId)
                         : Store->EndState == CoreEndBeyondFile
                               ? Store->FileSize
                               : FIELD_OFFSET(TRACE_STORE_HEADER, Cursor));
        ReaderDescribeStoreProblem(Store, &Verdict->Result);
    }

    if (Store->EndState != CoreEndBad &&
        Store->Header->Mode == TRACE_MODE_TREE) {
        Status = ReaderVerifyTree(Session, Store, Verdict);
    } else if (Store->EndState != CoreEndBad) {
        Status = ReaderVerifyRecords(Context, Session, Store, Verdict);
    }

    if (Store->Header->State == TRACE_STATE_STOPPED) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "stopped: %s (status 0x%08X)",
                     ReaderDescribeReason(Store->Header->Reason),
                     Store->Header->Status);
    }

    if (READER_EVENTS_LOST(Store->Header) != 0) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu events lost after it stopped",
                     READER_EVENTS_LOST(Store->Header));
    }

    if (Store->Header->NumberOfEventsReentered != 0) {
        ReaderBeginClause(Verdict);
        RtlWriteText(&Verdict->Result,
                     "%llu events lost inside the library",
                     Store->Header->NumberOfEventsReentered);
    }

End:
    if (Verdict->Result.LengthInBytes == 0) {
        RtlWriteText(&Verdict->Result, "ok");
    }

    ReaderCloseStore(Context, Store);
    return Status;
}


static
VOID
ReaderPutVerdict(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STORE Store,
    _In_ const READER_VERDICT *Verdict
    )
/*++

Routine Description:

    Writes a store's row.

Arguments:

    Output - The output.

    Store - The store.

    Verdict - What was found.

Return Value:

    None.

--*/
{
    CHAR Name[600];
    ULONG Length;

    RtlWideToUtf8(Store->Name.Buffer,
                  Store->Name.Length / sizeof(WCHAR),
                  Name,
                  sizeof(Name),
                  &Length);
    ReaderPutText(Output, Name, Length);
    ReaderPutString(Output, Verdict->State);
    ReaderPutNumber(Output, Verdict->Records);
    ReaderPutNumber(Output, Verdict->Bad);
    ReaderPutNumber(Output, Verdict->Lost);
    if (Verdict->Bad != 0) {
        ReaderPutNumber(Output, Verdict->FirstBadOffset);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutText(Output, Verdict->Text, Verdict->Result.LengthInBytes);
}


static
ULONG
ReaderCommandVerify(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs verify.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_SESSION Session;
    READER_VERDICT Verdict;
    READER_OUTPUT Output;
    ULONGLONG Records = 0;
    ULONGLONG Bad = 0;
    ULONGLONG Lost = 0;
    ULONG Index;
    NTSTATUS Status;

    if (!ReaderOpenCommandSession(&Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Session.Clock,
                        "verify",
                        FALSE);
    ReaderBeginTable(&Output,
                     &ReaderVerifyTable,
                     READER_VERIFY_HIDDEN_COLUMNS);

    for (Index = 0; Index < Session.NumberOfStores; Index++) {

        PREADER_STORE Store = Session.Stores[Index];

        Status = ReaderVerifyStore(Context, &Session, Store, &Verdict);
        if (!NT_SUCCESS(Status)) {
            ReaderFail(Context, "verify", Options->PathUtf8, Status);
            ReaderCloseSession(&Session);
            return READER_EXIT_FAILURE;
        }

        ReaderPutVerdict(&Output, Store, &Verdict);
        Records += Verdict.Records;
        Bad += Verdict.Bad;
        Lost += Verdict.Lost;
    }

    ReaderEndTable(&Output);

    switch (Options->Format) {

    case ReaderFormatJson:
        ReaderBeginTable(&Output, &ReaderVerifySummaryTable, 0);
        ReaderPutNumber(&Output, Session.NumberOfStores);
        ReaderPutNumber(&Output, Records);
        ReaderPutNumber(&Output, Bad);
        ReaderPutNumber(&Output, Lost);
        ReaderEndTable(&Output);
        break;

    case ReaderFormatText:
        RtlWriteText(Context->Output,
                     "%u store%s, %llu records, %llu bad, %llu lost\n",
                     Session.NumberOfStores,
                     Session.NumberOfStores == 1 ? "" : "s",
                     Records,
                     Bad,
                     Lost);
        break;

    default:
        break;
    }

    ReaderEndDocument(&Output);
    ReaderCloseSession(&Session);
    return Bad != 0 || Lost != 0 ? READER_EXIT_BAD : READER_EXIT_SUCCESS;
}


const READER_COMMAND ReaderVerifyCommand = {
    "verify",
    "PATH",
    "Checks every header and every record",
    "CSV, and JSON in the array stores, hold store, state, records, bad,\n"
    "lost, first_bad_offset, result; JSON also has the array summary with\n"
    "stores, records, bad, lost.  bad counts records, a header, and an\n"
    "end that the file does not reach; lost counts events that were not\n"
    "recorded.  Exit code 2 if anything is bad or lost.\n",
    "  TraceReader verify SESSION\n"
    "  TraceReader verify --csv SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_PROCESS,
    ReaderCommandVerify
};

/*++

Module Name:

    CommandRecover.c

Abstract:

    TraceReader recover: makes a clean copy of a session that was damaged.  A
    store that is sound is copied as it is; of another one all records that are
    good, behind a header that says so.

--*/

#include "../Session/SessionRecover.h"
#include "Command.h"

static const READER_COLUMN ReaderRecoverColumns[] = {
    { "Store", "store", ReaderColumnText, 36, 0,
      "The file's name." },
    { "Header", "header", ReaderColumnText, 8, 0,
      "What its header was: whole, repaired, rebuilt, lost (the store is "
      "left out), or empty (there was nothing in it)." },
    { "Records", "records", ReaderColumnNumber, 12, 0,
      "Records that were kept." },
    { "Bad", "bad", ReaderColumnNumber, 8, 0,
      "Records that were left out because they are not valid." },
    { "Missing", "missing", ReaderColumnNumber, 8, 0,
      "Records that the file no longer has." },
    { "Result", "result", ReaderColumnText, 0, 0,
      "ok, or what was found, in words." }
};

static const READER_TABLE ReaderRecoverTable = {
    "stores",
    ReaderRecoverColumns,
    RTL_NUMBER_OF(ReaderRecoverColumns),
    FALSE,
    FALSE,
    "A row for each store file."
};

static const READER_COLUMN ReaderRecoverSummaryColumns[] = {
    { "Stores", "stores", ReaderColumnNumber, 0, 0,
      "Store files." },
    { "Records", "records", ReaderColumnNumber, 0, 0,
      "Records that were kept." },
    { "Bad", "bad", ReaderColumnNumber, 0, 0,
      "Records that were left out because they are not valid." },
    { "Missing", "missing", ReaderColumnNumber, 0, 0,
      "Records that the file no longer has." },
    { "Lost", "lost", ReaderColumnNumber, 0, 0,
      "Stores that were left out." }
};

static const READER_TABLE ReaderRecoverSummaryTable = {
    "summary",
    ReaderRecoverSummaryColumns,
    RTL_NUMBER_OF(ReaderRecoverSummaryColumns),
    FALSE,
    FALSE,
    "One row: the sums."
};

//
// Writes a store's row.
// Store: what came of it.
//

static
VOID
CommandPutRecovered(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_RECOVER_STORE *Store
    )
{
    CHAR Name[600];
    ULONG Length;

    RtlWideToUtf8(Store->Store->Name.Buffer,
                  Store->Store->Name.Length / sizeof(WCHAR),
                  Name,
                  sizeof(Name),
                  &Length);
    OutputPutText(Output, Name, Length);
    OutputPutString(Output, Store->Header);
    OutputPutNumber(Output, Store->Records);
    OutputPutNumber(Output, Store->Bad);
    OutputPutNumber(Output, Store->Missing);
    OutputPutText(Output, Store->Text, Store->Result.LengthInBytes);
}

//
// Recovers all stores, and says what came of each.
//

static
ULONG
CommandRecoverStores(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PCREADER_CONTEXT Context = Recover->Context;
    PREADER_SESSION Session = &Recover->Session;
    PREADER_RECOVER_STORE Store = &Recover->Store;
    READER_OUTPUT Output;
    ULONGLONG Records = 0;
    ULONGLONG Bad = 0;
    ULONGLONG Missing = 0;
    ULONG Lost = 0;
    ULONG Index;

    OutputBeginDocument(&Output,
                        Context->Output,
                        Recover->Options->Format,
                        &Session->Clock,
                        "recover",
                        FALSE);
    OutputBeginTable(&Output, &ReaderRecoverTable, 0);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        SessionRecoverStore(Recover, Session->Stores[Index]);
        if (!NT_SUCCESS(Store->WriteStatus)) {
            return BaseFail(Context,
                            READER_TARGET_STEP(Store->WriteStatus,
                                               "write a store"),
                            Recover->Options->OutputUtf8,
                            Store->WriteStatus);
        }

        CommandPutRecovered(&Output, Store);
        Records += Store->Records;
        Bad += Store->Bad;
        Missing += Store->Missing;
        Lost += Store->IsLost ? 1 : 0;
    }

    OutputEndTable(&Output);
    switch (Recover->Options->Format) {

    case ReaderFormatJson:
        OutputBeginTable(&Output, &ReaderRecoverSummaryTable, 0);
        OutputPutNumber(&Output, Session->NumberOfStores);
        OutputPutNumber(&Output, Records);
        OutputPutNumber(&Output, Bad);
        OutputPutNumber(&Output, Missing);
        OutputPutNumber(&Output, Lost);
        OutputEndTable(&Output);
        break;

    case ReaderFormatText:
        RtlWriteText(Context->Output,
                     "%u store%s, %llu records, %llu bad, %llu missing, %u "
                     "stores lost\n",
                     Session->NumberOfStores,
                     Session->NumberOfStores == 1 ? "" : "s",
                     Records,
                     Bad,
                     Missing,
                     Lost);
        break;

    default:
        break;
    }

    OutputEndDocument(&Output);
    return Bad != 0 || Missing != 0 || Lost != 0 ? READER_EXIT_BAD
                                                 : READER_EXIT_SUCCESS;
}

//
// Copies a directory's entry as it is if it is a log, the symbol cache or the
// control file.
// CallbackContext: the recovery.
// SizeInBytes: not used: it may be older than the file.
// IsDirectory: whether the entry is one.
//

static
NTSTATUS
CommandCopyOther(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_RECOVER Recover = (PREADER_RECOVER)CallbackContext;
    PCRTL Rtl = Recover->Context->Rtl;
    HANDLE Source;
    HANDLE Target;
    ULONGLONG Size;
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (IsDirectory ||
        SessionQueryFileKind(Rtl, Name) == ReaderFileOther ||
        !SessionAdmitName(&Recover->Session, Name)) {
        return STATUS_SUCCESS;
    }

    //
    // A file that cannot be read is left out: no record is in it.
    //

    Status = SessionOpenFile(&Recover->Session, Name, &Source, &Size);
    if (!NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    Status = SessionMakeTargetFile(&Recover->Target,
                                   READER_NONE,
                                   Name,
                                   &Target);
    if (NT_SUCCESS(Status)) {

        Status = SessionRecoverFile(Recover,
                                 Source,
                                 Target,
                                 0,
                                 Size,
                                 &WriteStatus);
        SessionCloseTargetFile(&Recover->Target,
                               Target,
                               NT_SUCCESS(Status) && NT_SUCCESS(WriteStatus));
        Status = WriteStatus;
    }

    RtlClose(Rtl, Source);
    return Status;
}

//
// Recovers a session to a new directory.
// Recover: the recovery, its session open.
//

static
ULONG
CommandRecoverTo(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PCREADER_CONTEXT Context = Recover->Context;
    PCREADER_OPTIONS Options = Recover->Options;
    PREADER_SESSION Session = &Recover->Session;
    NTSTATUS Status;

    if (Session->HasDirectories) {
        return BaseFail(Context,
                        "recover sessions of several processes (name one; "
                        "TraceReader sessions lists them)",
                        Options->PathUtf8,
                        STATUS_NOT_SUPPORTED);
    }

    if (Session->Header != NULL &&
        SessionQueryProcess(Session) == ReaderProcessRunning) {
        return BaseFail(Context,
                        "recover (the program still runs)",
                        Options->PathUtf8,
                        STATUS_SHARING_VIOLATION);
    }

    SessionRecoverProcess(Recover);
    Status = SessionOpenTarget(&Recover->Target, Context, Options->Output, 0);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        Status == STATUS_DIRECTORY_NOT_EMPTY
                              ? "make the new directory (it exists and is not "
                                "empty)"
                              : "make the new directory",
                        Options->OutputUtf8,
                        Status);
    }

    if (Session->IsDirectory) {
        Session->Path.Length = Session->DirectoryLength;
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &Session->Path,
                                       CommandCopyOther,
                                       Recover);
        if (!NT_SUCCESS(Status)) {
            return BaseFail(Context,
                            READER_TARGET_STEP(Status, "copy the logs"),
                            Options->OutputUtf8,
                            Status);
        }
    }

    return CommandRecoverStores(Recover);
}

static
ULONG
CommandRecover(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_RECOVER Recover;
    PUCHAR Memory;
    SIZE_T Size = 2 * READER_RECOVER_BUFFER_SIZE +
                  2 * sizeof(TRACE_STORE_HEADER);
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: recover: --output is required (see "
                     "TraceReader recover --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Recover = (PREADER_RECOVER)Allocator->Allocate(Allocator->Context,
                                                   sizeof(READER_RECOVER));
    Memory = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (Recover == NULL || Memory == NULL) {

        BaseFail(Context, "recover", Options->PathUtf8, STATUS_NO_MEMORY);

    } else {

        Recover->Context = Context;
        Recover->Options = Options;
        Recover->Input = Memory;
        Recover->Output = Memory + READER_RECOVER_BUFFER_SIZE;
        Recover->Own = (PTRACE_STORE_HEADER)
            (Memory + 2 * READER_RECOVER_BUFFER_SIZE);
        Recover->Header = Recover->Own + 1;
        Recover->Target.Context = NULL;
        if (CommandOpenCommandSession(&Recover->Session, Context, Options)) {
            ExitCode = CommandRecoverTo(Recover);
            SessionCloseTarget(&Recover->Target);
            CommandCloseCommandSession(&Recover->Session);
        }
    }

    Allocator->Free(Allocator->Context, Recover);
    Allocator->Free(Allocator->Context, Memory);
    return ExitCode;
}

//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderRecoverTables[] = {
    &ReaderRecoverTable,
    &ReaderRecoverSummaryTable,
    NULL
};

const READER_COMMAND ReaderRecoverCommand = {
    "recover",
    "[PATH]",
    "Makes a clean copy of a damaged session",
    "FILE of --output is a directory that is empty or does not exist; it gets\n"
    "the session's stores, logs and symbol cache.  The session is only read.\n"
    "A sound store is copied as it is, except for unused room.  Of other\n"
    "stores all good records are kept, in order: bad ones are left out, and\n"
    "a ring becomes a store that ends, and a compact store one of plain\n"
    "records.  If the process died, records after the published end of a\n"
    "store are kept if they are good.  A damaged\n"
    "header is repaired, or rebuilt from another store of the same\n"
    "module, the thread's identifier from the file's name; what the store\n"
    "had counted is then not known.\n"
    "CSV has the table stores.  Exit code 2 if anything is bad, missing or\n"
    "lost.\n",
    "  TraceReader recover -o C:\\traces\\clean SESSION\n",
    READER_OPTION_OUTPUT | READER_OPTION_FORMAT,
    CommandRecover,
    ReaderRecoverTables,
    NULL
};

/*++

Module Name:

    CommandSessions.c

Abstract:

    TraceReader sessions: the sessions in a directory, one line each.  Each is
    opened by itself, so that they need not be of one boot, and closed before
    the next one is.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderSessionColumns[] = {
    { "PID", "process_id", ReaderColumnNumber, 8 },
    { "Parent", "parent_id", ReaderColumnNumber, 8 },
    { "Boot", "boot", ReaderColumnNumber, 4 },
    { "Started", "start_time", ReaderColumnDate, 24 },
    { "State", "state", ReaderColumnText, 8 },
    { "Threads", "threads", ReaderColumnNumber, 7 },
    { "Stores", "stores", ReaderColumnNumber, 6 },
    { "Left out", "stores_left_out", ReaderColumnNumber, 8 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Bytes", "bytes", ReaderColumnBytes, 11 },
    { "Process", "process", ReaderColumnText, 24 },
    { "", "path", ReaderColumnText, 0 },
    { "", "command_line", ReaderColumnText, 0 },
    { "Directory", "directory", ReaderColumnText, 0 }
};

#define READER_SESSIONS_BOOT_COLUMN (1u << 2)
#define READER_SESSIONS_LEFT_OUT_COLUMN (1u << 7)
#define READER_SESSIONS_HIDDEN_COLUMNS (3u << 11)

static const READER_TABLE ReaderSessionTable = {
    "sessions",
    ReaderSessionColumns,
    RTL_NUMBER_OF(ReaderSessionColumns),
    FALSE
};

//
// A session.
//

typedef struct _READER_SESSION_ROW {
    PTRACE_STORE_HEADER Header;     // a copy; NULL: none of its stores is good
    UNICODE_STRING Directory;       // allocated; empty: the one that was given
    PCSZ State;                     // a literal
    ULONG Boot;                     // the first is 1; 0: not known
    ULONG NumberOfThreads;
    ULONG NumberOfStores;           // good ones
    ULONG NumberLeftOut;
    ULONG Parent;                   // index, or READER_NONE
    ULONG Depth;                    // of the process below its ancestors
    ULONGLONG Records;
    ULONGLONG Bytes;
} READER_SESSION_ROW;
typedef READER_SESSION_ROW *PREADER_SESSION_ROW;
typedef const READER_SESSION_ROW *PCREADER_SESSION_ROW;

typedef struct _READER_SESSIONS {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    PWCHAR PathBuffer;              // RTL_MAXIMUM_PATH_IN_CHARS
    UNICODE_STRING Path;            // as the user gave it, in the buffer
    USHORT PathLength;              // bytes of it
    PREADER_SESSION_ROW Rows;
    ULONG NumberOfRows;
    ULONG CapacityOfRows;
    ULONG NumberOfBoots;
    ULONG NumberOfOthers;           // directories without stores
} READER_SESSIONS;
typedef READER_SESSIONS *PREADER_SESSIONS;


static
NTSTATUS
ReaderVisitSession(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Adds a row for a directory.

Arguments:

    CallbackContext - The command's state.

    Name - The entry's name; empty for the directory that was given.

    SizeInBytes - Not used.

    IsDirectory - Whether the entry is a directory.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSIONS Sessions = (PREADER_SESSIONS)CallbackContext;
    PCALLOCATOR Allocator = Sessions->Context->Allocator;
    PREADER_SESSION_ROW Row;
    PWSTR Buffer = NULL;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (!IsDirectory) {
        return STATUS_SUCCESS;
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Sessions->Rows,
                             &Sessions->CapacityOfRows,
                             Sessions->NumberOfRows + 1,
                             sizeof(READER_SESSION_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Name->Length != 0) {

        Buffer = (PWSTR)Allocator->Allocate(Allocator->Context, Name->Length);
        if (Buffer == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(Buffer, Name->Buffer, Name->Length);
    }

    Row = &Sessions->Rows[Sessions->NumberOfRows];
    RtlPointUnicodeString(&Row->Directory,
                          Buffer,
                          Name->Length / sizeof(WCHAR));
    Row->Parent = READER_NONE;
    Sessions->NumberOfRows += 1;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderDescribeRow(
    _Inout_ PREADER_SESSIONS Sessions,
    _Inout_ PREADER_SESSION_ROW Row
    )
/*++

Routine Description:

    Fills a row from its session.

Arguments:

    Sessions - The command's state.

    Row - The row, with the directory's name.

Return Value:

    STATUS_SUCCESS.

    STATUS_NOT_FOUND - There is no session in the directory.

    STATUS_NO_MEMORY.

--*/
{
    PCREADER_CONTEXT Context = Sessions->Context;
    PREADER_STORE Because;
    READER_SESSION Session;
    RTL_ERROR Error;
    ULONG Index;
    NTSTATUS Status;

    Sessions->Path.Length = Sessions->PathLength;
    if (Row->Directory.Length != 0) {
        Status = RtlAppendPath(&Sessions->Path,
                               Row->Directory.Buffer,
                               Row->Directory.Length / sizeof(WCHAR),
                               TRUE);
        if (!NT_SUCCESS(Status)) {
            return STATUS_NOT_FOUND;
        }
    }

    Sessions->Path.Buffer[Sessions->Path.Length / sizeof(WCHAR)] = 0;
    Status = ReaderOpenSession(&Session,
                               Context,
                               Sessions->Path.Buffer,
                               &Error);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_NOT_FOUND;
    }

    if (Session.HasDirectories) {
        ReaderCloseSession(&Session);
        return STATUS_NOT_FOUND;
    }

    Row->State = "damaged";
    Row->NumberOfThreads = Session.NumberOfThreads;
    Row->NumberOfStores = Session.NumberOfValidStores;
    Row->NumberLeftOut = Session.NumberOfStores - Session.NumberOfValidStores;
    for (Index = 0; Index < Session.NumberOfStores; Index++) {

        PCREADER_STORE Store = Session.Stores[Index];

        Row->Bytes += Store->FileSize;
        if (Store->Thread != READER_NONE &&
            Store->EndOfRecords > Store->StartOfRecords) {
            Row->Records += (Store->EndOfRecords - Store->StartOfRecords) /
                            TRACE_RECORD_SIZE;
        }

        if (NT_SUCCESS(Store->Status) &&
            Store->HeaderResult.State == CoreHeaderBeingCreated) {
            Row->State = "created";
        }
    }

    if (Session.Header != NULL) {

        Row->State = ReaderDescribeSessionState(&Session, &Because);
        Row->Header = (PTRACE_STORE_HEADER)
            Context->Allocator->Allocate(Context->Allocator->Context,
                                         sizeof(TRACE_STORE_HEADER));
        if (Row->Header == NULL) {
            Status = STATUS_NO_MEMORY;
        } else {
            *Row->Header = *Session.Header;
        }
    }

    ReaderCloseSession(&Session);
    return Status;
}


static
LONG
ReaderCompareRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders sessions by when their processes were created; those without a good
    store come last.

Arguments:

    CompareContext - The command's state.

    First, Second - Row indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_SESSIONS Sessions = (PREADER_SESSIONS)CompareContext;
    PCTRACE_STORE_HEADER One = Sessions->Rows[First].Header;
    PCTRACE_STORE_HEADER Other = Sessions->Rows[Second].Header;

    if (One == NULL || Other == NULL) {

        if (One != Other) {
            return One != NULL ? -1 : 1;
        }

    } else if (One->ProcessCreationTime != Other->ProcessCreationTime) {
        return One->ProcessCreationTime < Other->ProcessCreationTime ? -1 : 1;
    } else if (One->ProcessId != Other->ProcessId) {
        return One->ProcessId < Other->ProcessId ? -1 : 1;
    }

    return First < Second ? -1 : First > Second ? 1 : 0;
}


static
VOID
ReaderRelateRows(
    _Inout_ PREADER_SESSIONS Sessions,
    _In_ const ULONG *Order
    )
/*++

Routine Description:

    Finds out which sessions are of one boot, and which process started which.

Arguments:

    Sessions - The command's state.

    Order - The rows, by when their processes were created.

Return Value:

    None.

--*/
{
    ULONG Index;
    ULONG Other;

    for (Index = 0; Index < Sessions->NumberOfRows; Index++) {

        PREADER_SESSION_ROW Row = &Sessions->Rows[Order[Index]];

        if (Row->Header == NULL) {
            break;
        }

        //
        // From the latest back: a parent's identifier may have been another
        // process's before, but not of one that came after the child.
        //

        for (Other = Index; Other != 0; Other--) {

            PCREADER_SESSION_ROW Known = &Sessions->Rows[Order[Other - 1]];

            if (Row->Boot == 0 &&
                ReaderIsOnSameBoot(Known->Header, Row->Header)) {
                Row->Boot = Known->Boot;
            }

            if (Row->Parent == READER_NONE &&
                Row->Header->ParentProcessId != 0 &&
                Known->Header->ProcessId == Row->Header->ParentProcessId &&
                ReaderIsOnSameBoot(Known->Header, Row->Header)) {
                Row->Parent = Order[Other - 1];
                Row->Depth = Known->Depth + 1;
            }
        }

        if (Row->Boot == 0) {
            Sessions->NumberOfBoots += 1;
            Row->Boot = Sessions->NumberOfBoots;
        }
    }
}


static
VOID
ReaderArrangeRows(
    _In_ const READER_SESSIONS *Sessions,
    _Inout_updates_(Sessions->NumberOfRows) PULONG Order
    )
/*++

Routine Description:

    Puts each process behind the one that started it, and what that had
    started before.

Arguments:

    Sessions - The command's state.

    Order - The rows, by when their processes were created.

Return Value:

    None.

--*/
{
    ULONG Index;
    ULONG Place;
    ULONG Move;

    //
    // What comes before Index is in place.  A process goes behind its parent
    // and all that is deeper than that right after it.
    //

    for (Index = 1; Index < Sessions->NumberOfRows; Index++) {

        ULONG Row = Order[Index];
        ULONG Parent = Sessions->Rows[Row].Parent;

        if (Parent == READER_NONE) {
            continue;
        }

        Place = 0;
        while (Order[Place] != Parent) {
            Place += 1;
        }

        Place += 1;
        while (Place < Index &&
               Sessions->Rows[Order[Place]].Depth >
                   Sessions->Rows[Parent].Depth) {
            Place += 1;
        }

        for (Move = Index; Move > Place; Move--) {
            Order[Move] = Order[Move - 1];
        }

        Order[Place] = Row;
    }
}


static
VOID
ReaderPutWide(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Writes a text cell.

Arguments:

    Output - The output.

    Context - The context.

    Text - The text.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Capacity = 3 * (Text->Length / sizeof(WCHAR)) + 1;
    RTL_WRITER Writer;
    PCHAR Utf8;

    Utf8 = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Utf8 == NULL) {
        ReaderPutNothing(Output);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Utf8, Capacity);
    RtlWriteText(&Writer, "%Z", Text);
    ReaderPutText(Output, Utf8, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Utf8);
}


static
VOID
ReaderPutSessionRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSIONS *Sessions,
    _In_ PCREADER_SESSION_ROW Row
    )
/*++

Routine Description:

    Writes a row.

Arguments:

    Output - The output.

    Sessions - The command's state.

    Row - The row.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Row->Header;
    ULONG Begin;

    if (Header != NULL) {
        ReaderPutNumber(Output, Header->ProcessId);
    } else {
        ReaderPutNothing(Output);
    }

    if (Header != NULL && Header->ParentProcessId != 0) {
        ReaderPutNumber(Output, Header->ParentProcessId);
    } else {
        ReaderPutNothing(Output);
    }

    if (Header != NULL) {
        ReaderPutNumber(Output, Row->Boot);
        ReaderPutNumber(Output, Header->ProcessCreationTime);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderPutString(Output, Row->State);
    ReaderPutNumber(Output, Row->NumberOfThreads);
    ReaderPutNumber(Output, Row->NumberOfStores);
    ReaderPutNumber(Output, Row->NumberLeftOut);
    ReaderPutNumber(Output, Row->Records);
    ReaderPutNumber(Output, Row->Bytes);
    if (Header != NULL) {

        Begin = Header->ProcessPathLength;
        while (Begin != 0 &&
               Header->ProcessPath[Begin - 1] != '\\' &&
               Header->ProcessPath[Begin - 1] != '/') {
            Begin -= 1;
        }

        ReaderPutIndentedText(Output,
                              Row->Depth,
                              Header->ProcessPath + Begin,
                              Header->ProcessPathLength - Begin);
        ReaderPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
        ReaderPutText(Output, Header->CommandLine, Header->CommandLineLength);

    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    if (Row->Directory.Length != 0) {
        ReaderPutWide(Output, Sessions->Context, &Row->Directory);
    } else {
        ReaderPutString(Output, ".");
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindSessions(
    _Inout_ PREADER_SESSIONS Sessions
    )
/*++

Routine Description:

    Finds the sessions: the directory itself, if it is one, or those in it.

Arguments:

    Sessions - The command's state.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCREADER_CONTEXT Context = Sessions->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Given;
    UNICODE_STRING NtPath;
    ULONG Length = RtlLengthOfWideString(Sessions->Options->Path);
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    if (Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    Sessions->PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    if (Sessions->PathBuffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlPointUnicodeString(&Given, Sessions->Options->Path, Length);
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                Sessions->PathBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlPointUnicodeString(&Given, NULL, 0);
    Status = ReaderVisitSession(Sessions, &Given, 0, TRUE);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &NtPath,
                                       ReaderVisitSession,
                                       Sessions);
    }

    //
    // An NT path is also good where a DOS path is expected.
    //

    Sessions->Path = NtPath;
    Sessions->Path.MaximumLength =
        (USHORT)(RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR) -
                 (ULONG)((PBYTE)NtPath.Buffer - (PBYTE)Sessions->PathBuffer));
    Sessions->PathLength = NtPath.Length;
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Sessions->NumberOfRows;
         Index++) {

        Status = ReaderDescribeRow(Sessions, &Sessions->Rows[Index]);
        if (NT_SUCCESS(Status)) {

            Sessions->Rows[Count] = Sessions->Rows[Index];
            Count += 1;

        } else if (Status == STATUS_NOT_FOUND) {

            if (Sessions->Rows[Index].Directory.Length != 0) {
                Sessions->NumberOfOthers += 1;
            }

            Allocator->Free(Allocator->Context,
                            Sessions->Rows[Index].Directory.Buffer);
            Status = STATUS_SUCCESS;
        }

        if (NT_SUCCESS(Status) && Count != Index + 1) {
            RtlZeroBytes(&Sessions->Rows[Index], sizeof(READER_SESSION_ROW));
        }
    }

    if (NT_SUCCESS(Status)) {
        Sessions->NumberOfRows = Count;
    }

    return Status;
}


static
ULONG
ReaderCommandSessions(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs sessions.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_SESSIONS Sessions;
    READER_OUTPUT Output;
    CORE_CLOCK Clock;
    PULONG Order = NULL;
    ULONGLONG LeftOut = 0;
    ULONG Hidden = READER_SESSIONS_HIDDEN_COLUMNS;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Sessions, sizeof(Sessions));
    Sessions.Context = Context;
    Sessions.Options = Options;
    Status = ReaderFindSessions(&Sessions);
    if (NT_SUCCESS(Status)) {
        Order = (PULONG)
            Allocator->Allocate(Allocator->Context,
                                ((SIZE_T)Sessions.NumberOfRows + 1) *
                                    sizeof(ULONG));
        if (Order == NULL) {
            Status = STATUS_NO_MEMORY;
        }
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context,
                              "list the sessions",
                              Options->PathUtf8,
                              Status);
        goto End;
    }

    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        Order[Index] = Index;
        LeftOut += Sessions.Rows[Index].NumberLeftOut;
    }

    ReaderSort(Order, Sessions.NumberOfRows, ReaderCompareRows, &Sessions);
    ReaderRelateRows(&Sessions, Order);
    ReaderArrangeRows(&Sessions, Order);
    if (Sessions.NumberOfBoots < 2) {
        Hidden |= READER_SESSIONS_BOOT_COLUMN;
    }

    if (LeftOut == 0) {
        Hidden |= READER_SESSIONS_LEFT_OUT_COLUMN;
    }

    CoreInitializeClock(&Clock);
    Clock.IsRaw = Options->IsRaw;
    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Clock,
                        "sessions",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderSessionTable, Hidden);
    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        ReaderPutSessionRow(&Output, &Sessions, &Sessions.Rows[Order[Index]]);
    }

    ReaderEndTable(&Output);
    if (Options->Format == ReaderFormatText) {

        if (Sessions.NumberOfBoots > 1) {
            ReaderPutNote(&Output,
                          "Sessions of several boots have no clock in common: "
                          "name one, or choose with --process.");
        }

        if (Sessions.NumberOfOthers != 0) {
            RtlWriteText(Context->Output,
                         "%u director%s no stores.\n",
                         Sessions.NumberOfOthers,
                         Sessions.NumberOfOthers == 1 ? "y has" : "ies have");
        }
    }

    ReaderEndDocument(&Output);

End:
    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        Allocator->Free(Allocator->Context,
                        Sessions.Rows[Index].Directory.Buffer);
        Allocator->Free(Allocator->Context, Sessions.Rows[Index].Header);
    }

    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, Sessions.Rows);
    Allocator->Free(Allocator->Context, Sessions.PathBuffer);
    return ExitCode;
}


const READER_COMMAND ReaderSessionsCommand = {
    "sessions",
    "PATH",
    "Lists the sessions in a directory, and which process started which",
    "State is open (the process runs), closed (it ended in good order), died\n"
    "(it was killed, or crashed), stopped (a store stopped early), created\n"
    "(its first store is being created) or damaged (no store can be read).\n"
    "CSV, and JSON in the array sessions, hold process_id, parent_id, boot,\n"
    "start_time, state, threads, stores, stores_left_out, records, bytes,\n"
    "process, path, command_line, directory.  Sessions with the same number\n"
    "in boot ran on the same boot of a machine.\n",
    "  TraceReader sessions traces\n"
    "  TraceReader sessions --json traces\n",
    READER_OPTION_FORMAT,
    ReaderCommandSessions
};

/*++

Module Name:

    CommandSessions.c

Abstract:

    TraceReader sessions: the sessions in a directory, one line each.  Each is
    opened by itself, so that they need not be of one boot, and closed before
    the next one is.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionFind.h"
#include "../Session/SessionName.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionRemove.h"
#include "Command.h"

//
// When text shows some of the columns.
//

#define READER_SESSIONS_BOOT READER_COLUMN_OWN(0)       // there are several
#define READER_SESSIONS_LEFT_OUT READER_COLUMN_OWN(1)   // some stores are
#define READER_SESSIONS_REMOVAL READER_COLUMN_OWN(2)    // some are chosen
#define READER_SESSIONS_AGE READER_COLUMN_OWN(3)        // @N is known

#define READER_OPTIONS_OF_CHOICE                                            \
    (READER_OPTION_OLDER | READER_OPTION_KEEP | READER_OPTION_LARGER)

//
// A directory's name has the program, the process and the start, so that these
// are lesser columns.
//

static const READER_COLUMN ReaderSessionColumns[] = {
    { "PID", "process_id", ReaderColumnNumber, 8, READER_COLUMN_NULLABLE,
      "The process's identifier; this and all other fields of the process "
      "are null while no store can be read." },
    { "Parent", "parent_id", ReaderColumnNumber, 8,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "That of the process that started it; null if that is not known." },
    { "Boot", "boot", ReaderColumnNumber, 4,
      READER_COLUMN_NULLABLE | READER_SESSIONS_BOOT,
      "Sessions with the same number ran on the same boot of a machine." },
    { "Started", "start_time", ReaderColumnDate, 24,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "When the process was created, ISO 8601, UTC." },
    { "State", "state", ReaderColumnText, 8, 0,
      "open, closed, stopped, ended, died, detached, created (its first store "
      "is being created) or damaged (no store can be read)." },
    { "Threads", "threads", ReaderColumnNumber, 7, READER_COLUMN_LESSER,
      "Its threads." },
    { "Stores", "stores", ReaderColumnNumber, 6, READER_COLUMN_LESSER,
      "Its stores that can be read." },
    { "Left out", "stores_left_out", ReaderColumnNumber, 8,
      READER_SESSIONS_LEFT_OUT,
      "Its stores that cannot be read." },
    { "Records", "records", ReaderColumnNumber, 12, 0,
      "The number of records in all its stores." },
    { "Bytes", "bytes", ReaderColumnBytes, 11, 0,
      "The sizes of the stores' files." },
    { "Process", "process", ReaderColumnText, 24,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "The process's image, without its path." },
    { "", "path", ReaderColumnText, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "The image's path." },
    { "", "command_line", ReaderColumnText, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "Its command line." },
    { "Removal", "removal", ReaderColumnText, 9,
      READER_COLUMN_NULLABLE | READER_SESSIONS_REMOVAL,
      "With --older, --keep or --larger: would go, removed or stays." },
    { "", "removal_bytes", ReaderColumnBytes, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "The sizes of all files of a session that would go or is removed." },
    { "", "reason", ReaderColumnText, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "Why a session stays." },
    { "@", "age", ReaderColumnNumber, 4,
      READER_COLUMN_NULLABLE | READER_SESSIONS_AGE,
      "N of the @N that names the session: 1 is the newest; null where @N "
      "is looked for in another directory." },
    { "Directory", "directory", ReaderColumnText, 0, 0,
      "The directory, relative to the one that was given; . for that "
      "directory itself." }
};

static const READER_TABLE ReaderSessionTable = {
    "sessions",
    ReaderSessionColumns,
    RTL_NUMBER_OF(ReaderSessionColumns),
    FALSE,
    FALSE,
    "The sessions in a directory, each process after the one that started "
    "it."
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
    ULONG Age;                      // N of @N; 0: none
    ULONG Parent;                   // index, or READER_NONE
    ULONG Depth;                    // of the process below its ancestors
    ULONGLONG Records;
    ULONGLONG Bytes;
    BOOLEAN IsEnded;                // its processes are known to be gone
    BOOLEAN HasForeign;             // it has another process's stores
    BOOLEAN IsChosen;               // to be removed
    READER_REMOVAL Removal;         // of one that is chosen
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
    ULONG NumberRefused;            // those whose names may lead elsewhere
    ULONG NumberChosen;
    ULONG NumberStaying;            // of the chosen ones
    ULONG NumberFailed;             // of these: because a step failed
    ULONGLONG RemovalBytes;         // of those that do not stay
} READER_SESSIONS;
typedef READER_SESSIONS *PREADER_SESSIONS;


//
// Adds a row for a directory.
// Name: the entry's name; empty for the directory that was given.
// IsDirectory: whether the entry is a directory.
//

static
NTSTATUS
CommandVisitSession(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_SESSIONS Sessions = (PREADER_SESSIONS)CallbackContext;
    PCALLOCATOR Allocator = Sessions->Context->Allocator;
    PREADER_SESSION_ROW Row;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (!IsDirectory) {
        return STATUS_SUCCESS;
    }

    //
    // A file system may be somebody else's, and give names that lead elsewhere.
    // SessionAdmitName has named the first when the directory itself was looked
    // at; here all are counted.
    //

    if (Name->Length != 0 && !RtlIsPlainName(Name, FALSE)) {
        Sessions->NumberRefused += 1;
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Sessions->Rows,
                           &Sessions->CapacityOfRows,
                           Sessions->NumberOfRows + 1,
                           sizeof(READER_SESSION_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Row = &Sessions->Rows[Sessions->NumberOfRows];
    Status = SessionNameCopy(Allocator, Name, &Row->Directory);
    if (NT_SUCCESS(Status)) {
        Row->Parent = READER_NONE;
        Sessions->NumberOfRows += 1;
    }

    return Status;
}


//
// Fills a row from its session.
// Row: the row, with the directory's name.
// STATUS_NOT_FOUND: there is no session in the directory.
//

_Must_inspect_result_
static
NTSTATUS
CommandDescribeRow(
    _Inout_ PREADER_SESSIONS Sessions,
    _Inout_ PREADER_SESSION_ROW Row
    )
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
    Status = SessionOpenSession(&Session,
                                Context,
                                Sessions->Path.Buffer,
                                &Error);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_NOT_FOUND;
    }

    if (Session.HasDirectories) {
        CommandCloseCommandSession(&Session);
        return STATUS_NOT_FOUND;
    }

    Row->State = "damaged";
    Row->IsEnded = Session.ProcessState == ReaderProcessGone;
    Row->NumberOfThreads = Session.NumberOfThreads - Session.NumberOfSame;
    Row->NumberOfStores = Session.NumberOfValidStores;
    Row->NumberLeftOut = Session.NumberOfStores - Session.NumberOfValidStores;
    for (Index = 0; Index < Session.NumberOfStores; Index++) {

        PCREADER_STORE Store = Session.Stores[Index];

        Row->Bytes += Store->FileSize;
        Row->HasForeign = Row->HasForeign || Store->IsForeign;
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

        Row->State = SessionDescribeState(&Session, &Because);
        Row->Header = (PTRACE_STORE_HEADER)
            Context->Allocator->Allocate(Context->Allocator->Context,
                                         sizeof(TRACE_STORE_HEADER));
        if (Row->Header == NULL) {
            Status = STATUS_NO_MEMORY;
        } else {
            *Row->Header = *Session.Header;
        }
    }

    CommandCloseCommandSession(&Session);
    return Status;
}


//
// Orders sessions by when their processes were created; those without a good
// store come last.
// First, Second: row indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
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


//
// Finds out which sessions are of one boot, and which process started which.
// Order: the rows, by when their processes were created.
//

static
VOID
CommandRelateRows(
    _Inout_ PREADER_SESSIONS Sessions,
    _In_ const ULONG *Order
    )
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
                SessionIsOnSameBoot(Known->Header, Row->Header)) {
                Row->Boot = Known->Boot;
            }

            if (Row->Parent == READER_NONE &&
                SessionIsParent(Known->Header, Row->Header)) {
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


//
// Puts each process behind the one that started it, and what that had started
// before.
// Order: the rows, by when their processes were created.
//

static
VOID
CommandArrangeRows(
    _In_ const READER_SESSIONS *Sessions,
    _Inout_updates_(Sessions->NumberOfRows) PULONG Order
    )
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


//
// Writes a text cell.
//

static
VOID
CommandPutWide(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING Text
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Capacity = 3 * (Text->Length / sizeof(WCHAR)) + 1;
    PCHAR Utf8;
    ULONG Length;

    Utf8 = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Utf8 == NULL) {
        OutputPutNothing(Output);
        return;
    }

    RtlWideToUtf8(Text->Buffer,
                  Text->Length / sizeof(WCHAR),
                  Utf8,
                  Capacity,
                  &Length);
    OutputPutText(Output, Utf8, Length);
    Allocator->Free(Allocator->Context, Utf8);
}


//
// Chooses the sessions that --older, --keep and --larger mean.  One whose start
// is not known is chosen, and stays: so it is named.
// Order: the rows, by when their processes were created, those last of which
// that is not known.
//

static
VOID
CommandChooseRows(
    _Inout_ PREADER_SESSIONS Sessions,
    _In_ const ULONG *Order
    )
{
    PCREADER_OPTIONS Options = Sessions->Options;
    RTL_CLOCK_READING Now;
    ULONG Known = 0;
    ULONG Index;

    RtlReadClocks(Sessions->Context->Rtl, &Now);
    while (Known < Sessions->NumberOfRows &&
           Sessions->Rows[Order[Known]].Header != NULL) {
        Known += 1;
    }

    for (Index = 0; Index < Sessions->NumberOfRows; Index++) {

        PREADER_SESSION_ROW Row = &Sessions->Rows[Order[Index]];
        ULONGLONG Start;

        Row->IsChosen = (Options->Given & READER_OPTION_LARGER) == 0 ||
                        Row->Bytes > Options->Larger;
        if (Row->Header == NULL) {
            continue;
        }

        Start = Row->Header->ProcessCreationTime;
        if ((Options->Given & READER_OPTION_KEEP) != 0 &&
            Known - Index <= Options->Keep) {
            Row->IsChosen = FALSE;
        }

        if ((Options->Given & READER_OPTION_OLDER) != 0 &&
            (Start > Now.SystemTime ||
             Now.SystemTime - Start < Options->Older)) {
            Row->IsChosen = FALSE;
        }
    }
}


//
// Says why a chosen session stays whatever its directory holds, or NULL.
//

static
PCSZ
CommandKeepRow(
    _In_ PCREADER_SESSION_ROW Row
    )
{
    if (Row->Directory.Length == 0) {
        return "it is the directory that was given (give the one above it)";
    }

    if (Row->Header == NULL) {
        return "no store of it can be read, so that nobody knows its age or "
               "whether it is being recorded";
    }

    if (!Row->IsEnded) {
        return "it is being recorded, or its process may not be asked";
    }

    return Row->HasForeign ? "it has stores of another process" : NULL;
}


//
// Removes the sessions that are chosen, or finds out whether that could be
// done.
//

_Must_inspect_result_
static
NTSTATUS
CommandRemoveRows(
    _Inout_ PREADER_SESSIONS Sessions
    )
{
    BOOLEAN IsRemoving = (Sessions->Options->Given & READER_OPTION_REMOVE) != 0;
    NTSTATUS Status = STATUS_SUCCESS;
    ULONG Index;

    Sessions->Path.Length = Sessions->PathLength;
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Sessions->NumberOfRows;
         Index++) {

        PREADER_SESSION_ROW Row = &Sessions->Rows[Index];

        if (!Row->IsChosen) {
            continue;
        }

        Sessions->NumberChosen += 1;
        Row->Removal.Reason = CommandKeepRow(Row);
        if (Row->Removal.Reason == NULL) {
            Status = SessionRemove(Sessions->Context,
                                   &Sessions->Path,
                                   &Row->Directory,
                                   IsRemoving,
                                   &Row->Removal);
        }

        if (Row->Removal.Reason == NULL) {
            Sessions->RemovalBytes += Row->Removal.Bytes;
        } else {
            Sessions->NumberStaying += 1;
            Sessions->NumberFailed += !NT_SUCCESS(Row->Removal.Status);
        }
    }

    return Status;
}


//
// Writes why a session stays.
//

static
VOID
CommandWriteReason(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_REMOVAL Removal
    )
{
    PCSZ Name = RtlStatusName(Removal->Status);

    if (Removal->Entry.Length != 0) {
        RtlWriteText(Writer, "%Z: ", &Removal->Entry);
    }

    RtlWriteText(Writer, "%s", Removal->Reason);
    if (!NT_SUCCESS(Removal->Status)) {
        RtlWriteText(Writer,
                     ": 0x%08X%s%s%s",
                     (ULONG)Removal->Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
    }
}


//
// Writes the cells of what becomes of a session.
//

static
VOID
CommandPutRemoval(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSIONS *Sessions,
    _In_ PCREADER_SESSION_ROW Row
    )
{
    CHAR Text[1024];
    RTL_WRITER Writer;

    if (!Row->IsChosen) {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        return;
    }

    if (Row->Removal.Reason == NULL) {
        OutputPutString(Output,
                        (Sessions->Options->Given & READER_OPTION_REMOVE) != 0
                            ? "removed"
                            : "would go");
        OutputPutNumber(Output, Row->Removal.Bytes);
        OutputPutNothing(Output);
        return;
    }

    OutputPutString(Output, "stays");
    OutputPutNothing(Output);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    CommandWriteReason(&Writer, &Row->Removal);
    OutputPutText(Output, Text, Writer.LengthInBytes);
}


//
// Says behind the table what became of the sessions that are chosen.
// Order: the rows, in the order of the table.
//

static
VOID
CommandPutRemovalNotes(
    _In_ const READER_SESSIONS *Sessions,
    _In_ const ULONG *Order
    )
{
    PRTL_WRITER Writer = Sessions->Context->Output;
    ULONG Going = Sessions->NumberChosen - Sessions->NumberStaying;
    BOOLEAN IsRemoving = (Sessions->Options->Given & READER_OPTION_REMOVE) != 0;
    ULONG Index;

    for (Index = 0; Index < Sessions->NumberOfRows; Index++) {

        PCREADER_SESSION_ROW Row = &Sessions->Rows[Order[Index]];

        if (Row->IsChosen && Row->Removal.Reason != NULL) {
            if (Row->Directory.Length != 0) {
                RtlWriteText(Writer, "%Z", &Row->Directory);
            } else {
                RtlWriteText(Writer, ".");
            }
            RtlWriteText(Writer, " stays: ");
            CommandWriteReason(Writer, &Row->Removal);
            RtlWriteText(Writer, "\n");
        }
    }

    RtlWriteText(Writer,
                 "%u session%s %s, %llu bytes",
                 Going,
                 Going == 1 ? "" : "s",
                 !IsRemoving  ? "would go"
                 : Going == 1 ? "is removed"
                              : "are removed",
                 Sessions->RemovalBytes);
    if (Sessions->NumberStaying != 0) {
        RtlWriteText(Writer,
                     "; %u stay%s",
                     Sessions->NumberStaying,
                     Sessions->NumberStaying == 1 ? "s" : "");
    }

    RtlWriteText(Writer,
                 ".%s\n",
                 !IsRemoving && Going != 0 ? " --remove removes them." : "");
}


static
VOID
CommandPutSessionRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSIONS *Sessions,
    _In_ PCREADER_SESSION_ROW Row
    )
{
    PCTRACE_STORE_HEADER Header = Row->Header;
    ULONG Begin;

    if (Header != NULL) {
        OutputPutNumber(Output, Header->ProcessId);
    } else {
        OutputPutNothing(Output);
    }

    if (Header != NULL && Header->ParentProcessId != 0) {
        OutputPutNumber(Output, Header->ParentProcessId);
    } else {
        OutputPutNothing(Output);
    }

    if (Header != NULL) {
        OutputPutNumber(Output, Row->Boot);
        OutputPutNumber(Output, Header->ProcessCreationTime);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    OutputPutString(Output, Row->State);
    OutputPutNumber(Output, Row->NumberOfThreads);
    OutputPutNumber(Output, Row->NumberOfStores);
    OutputPutNumber(Output, Row->NumberLeftOut);
    OutputPutNumber(Output, Row->Records);
    OutputPutNumber(Output, Row->Bytes);
    if (Header != NULL) {

        Begin = SessionSkipFolders(Header->ProcessPath,
                                   Header->ProcessPathLength);
        OutputPutIndentedText(Output,
                              Row->Depth,
                              Header->ProcessPath + Begin,
                              Header->ProcessPathLength - Begin);
        OutputPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
        OutputPutText(Output, Header->CommandLine, Header->CommandLineLength);

    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    CommandPutRemoval(Output, Sessions, Row);
    if (Row->Age != 0) {
        OutputPutNumber(Output, Row->Age);
    } else {
        OutputPutNothing(Output);
    }

    if (Row->Directory.Length != 0) {
        CommandPutWide(Output, Sessions->Context, &Row->Directory);
    } else {
        OutputPutString(Output, ".");
    }
}


//
// Finds the sessions: the directory itself, if it is one, or those in it.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindSessions(
    _Inout_ PREADER_SESSIONS Sessions
    )
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
    Status = CommandVisitSession(Sessions, &Given, 0, TRUE);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &NtPath,
                                       CommandVisitSession,
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

        Status = CommandDescribeRow(Sessions, &Sessions->Rows[Index]);
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


//
// Finds out by which @N each session would be found, where that is looked for
// in this directory: it is not, if a place before it has sessions.
//

static
VOID
CommandFindAges(
    _Inout_ PREADER_SESSIONS Sessions
    )
{
    PCREADER_CONTEXT Context = Sessions->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    READER_FOUND_LIST List;
    PWSTR Place;
    ULONG Index;
    ULONG Row;
    BOOLEAN IsThisPlace;

    if (!NT_SUCCESS(SessionFindPlace(Context, &Place, &List))) {
        return;
    }

    IsThisPlace = RtlLengthOfWideString(Place) ==
                      RtlLengthOfWideString(Sessions->Options->Path);
    for (Index = 0; IsThisPlace && Place[Index] != 0; Index++) {
        IsThisPlace = Place[Index] == Sessions->Options->Path[Index];
    }

    for (Row = 0; IsThisPlace && Row < Sessions->NumberOfRows; Row++) {

        PREADER_SESSION_ROW Session = &Sessions->Rows[Row];

        for (Index = 0; Index < List.Number; Index++) {

            PCUNICODE_STRING Name = &List.Found[Index].Name;

            if (Name->Length == Session->Directory.Length &&
                RtlAreBytesEqual(Name->Buffer,
                                 Session->Directory.Buffer,
                                 Name->Length)) {
                Session->Age = Index + 1;
            }
        }
    }

    SessionFreeFound(&List);
    Allocator->Free(Allocator->Context, Place);
}


static
ULONG
CommandSessions(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_SESSIONS Sessions;
    READER_OUTPUT Output;
    CORE_CLOCK Clock;
    PULONG Order = NULL;
    ULONGLONG LeftOut = 0;
    ULONG When = 0;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;
    BOOLEAN IsChoosing = (Options->Given & READER_OPTIONS_OF_CHOICE) != 0;

    RtlZeroBytes(&Sessions, sizeof(Sessions));
    if ((Options->Given & READER_OPTION_REMOVE) != 0 && !IsChoosing) {
        RtlWriteText(Context->Errors,
                     "TraceReader: sessions: --remove needs --older, --keep "
                     "or --larger\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Sessions.Context = Context;
    Sessions.Options = Options;
    Status = CommandFindSessions(&Sessions);
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
        ExitCode = BaseFail(Context,
                            "list the sessions",
                            Options->PathUtf8,
                            Status);
        goto End;
    }

    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        Order[Index] = Index;
        LeftOut += Sessions.Rows[Index].NumberLeftOut;
    }

    BaseSort(Order, Sessions.NumberOfRows, CommandCompareRows, &Sessions);
    if (IsChoosing) {

        CommandChooseRows(&Sessions, Order);
        Status = CommandRemoveRows(&Sessions);
        if (!NT_SUCCESS(Status)) {
            ExitCode = BaseFail(Context,
                                "remove the sessions",
                                Options->PathUtf8,
                                Status);
            goto End;
        }

        When |= READER_SESSIONS_REMOVAL;
        if (Sessions.NumberFailed != 0) {
            ExitCode = READER_EXIT_FAILURE;
        }
    }

    CommandFindAges(&Sessions);
    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        if (Sessions.Rows[Index].Age != 0) {
            When |= READER_SESSIONS_AGE;
        }
    }

    CommandRelateRows(&Sessions, Order);
    CommandArrangeRows(&Sessions, Order);
    if (Sessions.NumberOfBoots >= 2) {
        When |= READER_SESSIONS_BOOT;
    }

    if (LeftOut != 0) {
        When |= READER_SESSIONS_LEFT_OUT;
    }

    CoreInitializeClock(&Clock);
    Clock.IsRaw = Options->IsRaw;
    OutputBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Clock,
                        "sessions",
                        FALSE);
    OutputBeginTable(&Output, &ReaderSessionTable, When);
    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        if (!IsChoosing || Sessions.Rows[Order[Index]].IsChosen) {
            CommandPutSessionRow(&Output,
                                 &Sessions,
                                 &Sessions.Rows[Order[Index]]);
        }
    }

    OutputEndTable(&Output);
    if (Options->Format == ReaderFormatText) {

        if (IsChoosing) {
            CommandPutRemovalNotes(&Sessions, Order);
        } else if (Sessions.NumberOfBoots > 1) {
            OutputPutNote(&Output,
                          "Sessions of several boots have no common clock: "
                          "name one, or choose with --process.");
        }

        if (Sessions.NumberOfOthers != 0) {
            RtlWriteText(Context->Output,
                         "%u director%s no stores.\n",
                         Sessions.NumberOfOthers,
                         Sessions.NumberOfOthers == 1 ? "y has" : "ies have");
        }

        if (Sessions.NumberRefused != 0) {
            RtlWriteText(Context->Output,
                         "%u director%s left out: such names may lead "
                         "elsewhere.\n",
                         Sessions.NumberRefused,
                         Sessions.NumberRefused == 1 ? "y is" : "ies are");
        }
    }

    OutputEndDocument(&Output);

End:
    for (Index = 0; Index < Sessions.NumberOfRows; Index++) {
        Allocator->Free(Allocator->Context,
                        Sessions.Rows[Index].Directory.Buffer);
        Allocator->Free(Allocator->Context, Sessions.Rows[Index].Header);
        SessionFreeRemoval(Context, &Sessions.Rows[Index].Removal);
    }

    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, Sessions.Rows);
    Allocator->Free(Allocator->Context, Sessions.PathBuffer);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderSessionsTables[] = {
    &ReaderSessionTable,
    NULL
};

const READER_COMMAND ReaderSessionsCommand = {
    "sessions",
    "[PATH]",
    "Lists the sessions in a directory, and which process started which",
    "State is open (the process runs), closed (it ended in good order), died\n"
    "(it was killed, or crashed), ended (its exit code tells of no crash, but\n"
    "a store was not closed: it was killed with such a code, or a DLL was not\n"
    "told of the end), stopped (a store stopped early), created (its first\n"
    "store is being created) or damaged (no store can be read).\n"
    "Sessions with the same number in boot ran on the same boot of a\n"
    "machine.\n"
    "\n"
    "With --older, --keep and --larger it lists the sessions that each of\n"
    "those which are given means, and whether they could be removed; with\n"
    "--remove they are.  A session that is being recorded stays, and so does\n"
    "a directory that holds anything but a session's files.\n",
    "  TraceReader sessions traces\n"
    "  TraceReader sessions --json traces\n"
    "  TraceReader sessions --older 7d --keep 10\n"
    "  TraceReader sessions --older 7d --keep 10 --remove\n",
    READER_OPTION_COLOR | READER_OPTION_WIDTH | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_OLDER | READER_OPTION_KEEP |
        READER_OPTION_LARGER | READER_OPTION_REMOVE,
    CommandSessions,
    ReaderSessionsTables,
    NULL
};

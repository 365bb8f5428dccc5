/*++

Module Name:

    SqlWorld.c

Abstract:

    A connection, and what its cursors read from.

--*/

#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionWaits.h"
#include "../Calls/CallWaits.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionModule.h"
#include "SqlMoment.h"

//
// SQLite's memory is aligned on 8 bytes, ours on 16: before each block is how
// far it is from SQLite's.
//

#define SQL_ALIGNMENT 16u

//
// A call of a lock waited if it took as long: what TraceReader's commands have
// without --contention.
//

#define SQL_CONTENTION 1000u

//
// So many calls of SqlLookForInterrupt for each time that SQLite is asked.
//

#define SQL_LOOKS 64u

_Must_inspect_result_
_Ret_maybenull_
static
PVOID
SqlAllocate(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PSQL_CONNECTION Connection = (PSQL_CONNECTION)Context;
    PUCHAR Block;
    PUCHAR Place;

    Block = SizeInBytes < MAXLONG64 - 2 * SQL_ALIGNMENT
                ? (PUCHAR)Connection->Api.malloc64(SizeInBytes +
                                                   2 * SQL_ALIGNMENT)
                : NULL;
    if (Block == NULL) {
        Connection->IsOutOfMemory = TRUE;
        return NULL;
    }

    Place = (PUCHAR)(((ULONG_PTR)Block + 2 * SQL_ALIGNMENT - 1) &
                     ~(ULONG_PTR)(SQL_ALIGNMENT - 1));
    ((PULONGLONG)Place)[-1] = (ULONGLONG)(Place - Block);
    RtlZeroBytes(Place, SizeInBytes);
    return Place;
}

static
VOID
SqlFree(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    PSQL_CONNECTION Connection = (PSQL_CONNECTION)Context;

    if (Address != NULL) {
        Connection->Api.free((PUCHAR)Address - ((PULONGLONG)Address)[-1]);
    }
}

_Use_decl_annotations_
NTSTATUS
SqlInitializeConnection(
    PSQL_CONNECTION Connection,
    SQL_DATABASE *Database,
    PCSZ *Missing
    )
{
    NTSTATUS Status;

    Status = RtlBootstrap(&Connection->Rtl, Missing);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Connection->Database = Database;
    Connection->Allocator.Context = Connection;
    Connection->Allocator.Allocate = SqlAllocate;
    Connection->Allocator.Free = SqlFree;

    //
    // An index that a scan leaves is the user's alone, as those of commands.
    //

    if (NT_SUCCESS(RtlQueryUser(&Connection->Rtl,
                                (HANDLE)-1,
                                &Connection->User)) &&
        !Connection->User.IsRestricted) {

        RtlMakePrivateDescriptor(&Connection->User,
                                 TRUE,
                                 TRUE,
                                 &Connection->DirectoryDescriptor);
        RtlMakePrivateDescriptor(&Connection->User,
                                 FALSE,
                                 FALSE,
                                 &Connection->FileDescriptor);
        Connection->Rtl.DirectorySecurity = &Connection->DirectoryDescriptor;
        Connection->Rtl.FileSecurity = &Connection->FileDescriptor;
    }

    return STATUS_SUCCESS;
}

//
// Keeps the last line that the reader says, for the error that may follow, and
// hands it on.
//

static
NTSTATUS
SqlListen(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    static const CHAR Prefix[] = "TraceReader: ";
    PSQL_LISTENER Listener = (PSQL_LISTENER)Writer;
    PSQL_CONNECTION Connection = Listener->Connection;
    ULONG PrefixLength = sizeof(Prefix) - 1;

    if (Connection->Errors != NULL) {
        RtlWriteBytes(Connection->Errors, Bytes, SizeInBytes);
        RtlFlushWriter(Connection->Errors);
    }

    while (SizeInBytes != 0 && Bytes[SizeInBytes - 1] == '\n') {
        SizeInBytes -= 1;
    }

    if (SizeInBytes >= PrefixLength &&
        RtlAreBytesEqual(Bytes, Prefix, PrefixLength)) {
        Bytes += PrefixLength;
        SizeInBytes -= PrefixLength;
    }

    if (SizeInBytes > SQL_SAID_BYTES) {
        SizeInBytes = SQL_SAID_BYTES;
    }

    RtlCopyBytes(Listener->Said, Bytes, SizeInBytes);
    Listener->LengthInBytes = SizeInBytes;
    if (Connection->Errors == NULL) {
        Connection->Api.log(SQL_WARNING,
                            "%.*s",
                            (int)SizeInBytes,
                            Listener->Said);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
BOOLEAN
SqlHasProblem(
    const SQL_WORLD *World,
    PCREADER_STORE Store
    )
{
    const READER_DIRECTORY *Directory =
        &World->Session.Directories[Store->Directory];

    if (Directory->IsLeftOut ||
        (Directory->Process == READER_NONE && World->Boot != 0) ||
        (NT_SUCCESS(Store->Status) &&
         Store->HeaderResult.State == CoreHeaderBeingCreated)) {
        return FALSE;
    }

    return Store->Thread == READER_NONE || Store->EndState != CoreEndValid;
}

_Use_decl_annotations_
BOOLEAN
SqlDescribeDamage(
    const SQL_WORLD *World,
    PCSZ Name,
    PRTL_WRITER Error
    )
{
    const READER_SESSION *Session = &World->Session;
    CHAR Text[SQL_NAME_BYTES];
    PCREADER_STORE Store;
    ULONG Length;
    ULONG Index;

    if (Name == NULL && Session->NumberOfValidStores != 0) {
        return FALSE;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (!SqlHasProblem(World, Store)) {
            continue;
        }

        if (Name != NULL) {

            Length = SqlNameDirectory(World,
                                      Store->Directory,
                                      Text,
                                      sizeof(Text));
            if (Session->Directories[Store->Directory].Process !=
                    READER_NONE ||
                RtlLengthOfString(Name) != Length ||
                !RtlAreBytesEqual(Name, Text, Length)) {
                continue;
            }
        }

        RtlWriteText(Error, "read a store: %Z: ", &Store->Name);
        SessionDescribeStoreProblem(Store, Error);
        RtlWriteText(Error,
                     " (TraceReader recover may mend it; trace_problems lists "
                     "all such stores)");
        return TRUE;
    }

    return FALSE;
}

//
// Says what is wrong with stores, once for all scans of a moment.
//

static
VOID
SqlWarnOfStores(
    _Inout_ PSQL_WORLD World
    )
{
    PREADER_SESSION Session = &World->Session;
    ULONG Index;

    if (World->Moment->References != 1) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (!SqlHasProblem(World, Session->Stores[Index])) {
            Session->Stores[Index]->IsWarned = TRUE;
        }
    }

    SessionWarnOfStores(Session);
}

static
BOOLEAN
SqlIsWanted(
    _In_ PVOID Context
    )
{
    return NT_SUCCESS(SqlLookForInterrupt((PSQL_WORLD)Context));
}

//
// Opens the session, whose path is there.
//

_Must_inspect_result_
static
NTSTATUS
SqlOpenSession(
    _Inout_ PSQL_WORLD World,
    _In_z_ PCWSTR Path,
    _In_ BOOLEAN TakesDamaged,
    _Inout_ PRTL_WRITER Error
    )
{
    PREADER_SESSION Session = &World->Session;
    RTL_ERROR Failure;
    RTL_CLOCK_READING Now;
    NTSTATUS Status;

    //
    // The counter is read before the stores are looked at: see
    // CallRefreshStream.
    //

    RtlReadClocks(&World->Connection->Rtl, &Now);
    Status = SessionOpenSessionOf(Session,
                                  &World->Context,
                                  Path,
                                  NULL,
                                  TRUE,
                                  World->Boot,
                                  &Failure);
    if (!NT_SUCCESS(Status)) {
        RtlWriteError(Error, &Failure);
        return Status;
    }

    World->IsOpen = TRUE;
    Session->IsWanted = SqlIsWanted;
    Session->WantedContext = World;
    Session->IndexInterval = READER_INDEX_INTERVAL;
    if (Session->ProcessState != ReaderProcessRunning) {
        Now.Tsc = READER_MAXIMUM_TIMESTAMP;
    }

    Status = SqlBeginMoment(World, Now.Tsc);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!TakesDamaged && SqlDescribeDamage(World, NULL, Error)) {
        return STATUS_FILE_INVALID;
    }

    Status = SqlKeepMoment(World);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    SqlWarnOfStores(World);

    FunctionOpenCache(Session);
    SessionSelectModules(Session, NULL);
    FunctionInitializeFunctions(&World->Functions, Session);
    World->Options.Command = "sql";
    World->Options.Contention = SQL_CONTENTION;
    if (Session->NumberOfValidStores == 0) {
        return STATUS_SUCCESS;
    }

    if (!CallBeginWaits(Session, &World->Options) ||
        !CallQueryRange(Session, &World->Options, &World->Range)) {
        return STATUS_UNSUCCESSFUL;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SqlOpenWorld(
    PSQL_WORLD World,
    PSQL_CONNECTION Connection,
    const CHAR *Path,
    ULONG PathLength,
    ULONG Boot,
    BOOLEAN TakesDamaged,
    PRTL_WRITER Error
    )
{
    PWCHAR Wide;
    ULONG Written;
    NTSTATUS Status;

    RtlZeroBytes(World, sizeof(*World));
    World->Connection = Connection;
    World->Boot = Boot;
    RtlInitializeBufferWriter(&World->Listener.Writer,
                              World->Listener.Buffer,
                              sizeof(World->Listener.Buffer));
    World->Listener.Writer.Flush = SqlListen;
    World->Listener.Connection = Connection;
    World->Context.Rtl = &Connection->Rtl;
    World->Context.Allocator = &Connection->Allocator;
    World->Context.Output = &World->Listener.Writer;
    World->Context.Errors = &World->Listener.Writer;
    World->Context.NumberOfProcessors = 1;
    World->Context.Decoder = &World->Decoder;

    if (PathLength == 0 || PathLength >= RTL_MAXIMUM_PATH_IN_CHARS) {
        RtlWriteText(Error, "the path is empty, or too long");
        return STATUS_OBJECT_NAME_INVALID;
    }

    World->Path = (PCHAR)SqlAllocate(Connection, (SIZE_T)PathLength + 1);
    Wide = (PWCHAR)
        SqlAllocate(Connection, ((SIZE_T)PathLength + 1) * sizeof(WCHAR));
    if (World->Path == NULL || Wide == NULL) {
        SqlFree(Connection, Wide);
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(World->Path, Path, PathLength);
    World->PathLength = PathLength;
    RtlUtf8ToWide(Path, PathLength, Wide, PathLength, &Written);
    Wide[Written] = 0;
    Status = SqlOpenSession(World, Wide, TakesDamaged, Error);
    SqlFree(Connection, Wide);
    if (Status == STATUS_UNSUCCESSFUL) {
        RtlWriteCleanText(Error,
                          World->Listener.Said,
                          World->Listener.LengthInBytes);
    }

    return Status;
}

_Use_decl_annotations_
VOID
SqlCloseWorld(
    PSQL_WORLD World
    )
{
    PSQL_CONNECTION Connection = World->Connection;

    if (Connection == NULL) {
        return;
    }

    if (World->IsOpen) {
        if (World->Functions.Session != NULL) {
            FunctionRundownFunctions(&World->Functions);
        }

        FunctionEndWaits(&World->Session);
        FunctionCloseCache(&World->Session);
        SessionCloseSession(&World->Session);
        World->IsOpen = FALSE;
    }

    if (World->Decoder != NULL) {
        SqlFree(Connection, World->Decoder);
        World->Decoder = NULL;
    }

    SqlEndMoment(World);
    if (World->Probe != NULL) {
        Connection->Api.finalize(World->Probe);
        World->Probe = NULL;
    }

    SqlFree(Connection, World->Path);
    World->Path = NULL;
    World->PathLength = 0;
}

//
// A statement of the same connection that does nothing is interrupted with the
// others: sqlite3_is_interrupted came with 3.41.
//

_Use_decl_annotations_
NTSTATUS
SqlLookForInterrupt(
    PSQL_WORLD World
    )
{
    PCSQL_API Api = &World->Connection->Api;
    int Result;

    if (World->IsInterrupted) {
        return STATUS_CANCELLED;
    }

    World->NumberOfLooks += 1;
    if (World->NumberOfLooks % SQL_LOOKS != 0) {
        return STATUS_SUCCESS;
    }

    //
    // Preparing one is interrupted, too.
    //

    Result = SQL_OK;
    if (World->Probe == NULL) {
        Result = Api->prepare_v2(World->Connection->Database,
                                 "SELECT 1",
                                 -1,
                                 &World->Probe,
                                 NULL);
    }

    if (Result == SQL_OK && World->Probe != NULL) {
        Result = Api->step(World->Probe);
        Api->reset(World->Probe);
    }

    if (Result == SQL_NOMEM) {
        return STATUS_NO_MEMORY;
    }

    World->IsInterrupted = Result == SQL_INTERRUPT;
    return World->IsInterrupted ? STATUS_CANCELLED : STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
SqlNameDirectory(
    const SQL_WORLD *World,
    ULONG Directory,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
{
    const READER_SESSION *Session = &World->Session;
    UNICODE_STRING Path = Session->Path;
    UNICODE_STRING Name;
    ULONG Written = 0;

    Path.Length = Session->DirectoryLength;
    while (Path.Length != 0 &&
           Path.Buffer[Path.Length / sizeof(WCHAR) - 1] == L'\\') {
        Path.Length -= sizeof(WCHAR);
    }

    RtlBaseName(&Path, &Name);
    if (Directory < Session->NumberOfDirectories &&
        Session->Directories[Directory].Name.Length != 0) {
        RtlBaseName(&Session->Directories[Directory].Name, &Name);
    }

    RtlWideToUtf8(Name.Buffer,
                  Name.Length / sizeof(WCHAR),
                  Buffer,
                  CapacityInBytes,
                  &Written);
    return Written;
}

_Use_decl_annotations_
ULONG
SqlNameSession(
    const SQL_WORLD *World,
    ULONG Process,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
{
    const READER_SESSION *Session = &World->Session;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfDirectories; Index++) {
        if (Session->Directories[Index].Process == Process &&
            Session->Directories[Index].Name.Length != 0) {
            break;
        }
    }

    return SqlNameDirectory(World, Index, Buffer, CapacityInBytes);
}

_Use_decl_annotations_
LONGLONG
SqlQueryDuration(
    const SQL_WORLD *World,
    ULONGLONG Ticks
    )
{
    ULONGLONG Time;

    CoreTicksToNanoseconds(&World->Session.Clock, Ticks, &Time);
    return Time > MAXLONG64 ? MAXLONG64 : (LONGLONG)Time;
}

_Use_decl_annotations_
LONGLONG
SqlQueryTime(
    const SQL_WORLD *World,
    ULONGLONG Timestamp
    )
{
    return SqlQueryDuration(World,
                            Timestamp > World->Range.FirstTimestamp
                                ? Timestamp - World->Range.FirstTimestamp
                                : 0);
}

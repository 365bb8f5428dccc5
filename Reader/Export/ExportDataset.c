/*++

Module Name:

    ExportDataset.c

Abstract:

    Where a session's files are in a dataset: folders whose names say host, date
    and program, as Hive has them, so that engines read only what a question is
    about; and a file's name that is the same whenever the same process is
    added again, so that it takes the place of what was added before.  A process
    that was cleared is another one from then on: of the time before, what was
    added then may be all that is left.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseZone.h"
#include "../Session/SessionControl.h"
#include "ExportParquet.h"

const PCSZ ReaderParquetTableNames[] = {
    "functions",
    "calls",
    "marks"
};

C_ASSERT(RTL_NUMBER_OF(ReaderParquetTableNames) == ReaderParquetTables);

#define READER_UNKNOWN_HOST "unknown"
#define READER_PARQUET_SUFFIX L".parquet"
#define READER_PART_SIZE 0x20000000ULL      // without --split-size


//
// Finds when a process was cleared last: the time of day that the action has,
// not one that the clock makes of its time stamp, which changes a little while
// the program runs.  Returns 0 if it was not, or if that counts for nothing.
//

static
ULONGLONG
ExportDatasetFindClear(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    )
{
    PCREADER_CONTROL Control = READER_CONTROL_OF(Session, Process);
    ULONG Index = Control->NumberOfOrders;

    if (READER_CLEAR_OF(Session, Process) == 0) {
        return 0;
    }

    while (Index != 0) {

        PCTRACE_CONTROL_ACTION Action;

        Index -= 1;
        Action = &Control->Actions[Control->Orders[Index]];
        if (Action->Kind == TRACE_ACTION_CLEAR) {
            return Action->SystemTime;
        }
    }

    return 0;
}


_Use_decl_annotations_
VOID
ExportDatasetIdentify(
    const READER_SESSION *Session,
    ULONG Process,
    PREADER_IDENTITY Identity
    )
{
    const READER_STORE *Store;
    RTL_WRITER Writer;
    CHAR Text[READER_IDENTITY_SIZE];
    ULONGLONG Earliest = ~0ULL;
    ULONGLONG Clear;
    ULONG Index;
    ULONG Length;

    RtlZeroBytes(Identity, sizeof(*Identity));
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread != READER_NONE && Store->Header != NULL &&
            Session->Threads[Store->Thread].Process == Process &&
            CoreIsAnchorValid(&Store->Header->OpenAnchor) &&
            Store->Header->OpenAnchor.SystemTime < Earliest) {
            Earliest = Store->Header->OpenAnchor.SystemTime;
        }
    }

    Clear = ExportDatasetFindClear(Session, Process);
    if (Clear != 0) {
        Earliest = Clear;
    }

    //
    // Nanoseconds since 1601 are in 64 bits until 2184.
    //

    if (Earliest < ~0ULL / 100) {
        Identity->SystemTime = Earliest;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    BaseWriteDay(&Writer, Identity->SystemTime * 100);
    RtlWriteText(&Writer, "T");
    BaseWriteClock(&Writer, Identity->SystemTime * 100);
    Length = Writer.LengthInBytes;
    RtlInitializeBufferWriter(&Writer,
                              Identity->Name,
                              sizeof(Identity->Name));
    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] != '-' && Text[Index] != ':' && Text[Index] != '.') {
            RtlWriteBytes(&Writer, &Text[Index], 1);
        }
    }

    RtlWriteText(&Writer,
                 "Z-%u",
                 Session->Processes[Process].Header->ProcessId);
    Identity->NameLength = Writer.LengthInBytes;
}


_Use_decl_annotations_
ULONG
ExportDatasetNameHost(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    PCHAR Text
    )
{
    WCHAR Buffer[READER_HOST_SIZE];
    UNICODE_STRING Name;
    ULONG Length;
    NTSTATUS Status;

    if (Options->Host != NULL) {
        RtlPointUnicodeString(&Name,
                              Options->Host,
                              RtlLengthOfWideString(Options->Host));
    } else {

        Status = RtlQueryEnvironment(Context->Rtl,
                                     L"COMPUTERNAME",
                                     Buffer,
                                     RTL_NUMBER_OF(Buffer),
                                     &Name);
        if (!NT_SUCCESS(Status) || Name.Length == 0) {
            RtlPointUnicodeString(&Name,
                                  L"" READER_UNKNOWN_HOST,
                                  sizeof(READER_UNKNOWN_HOST) - 1);
        }
    }

    RtlWideToUtf8(Name.Buffer,
                  Name.Length / sizeof(WCHAR),
                  Text,
                  READER_HOST_SIZE,
                  &Length);
    return Length;
}


//
// Writes a part of a folder's name: what Hive or Windows gives a meaning is
// %XX, as Hive writes it, and so is a dot or a blank at the end.
//

static
VOID
ExportDatasetWriteValue(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    static const CHAR Digits[] = "0123456789ABCDEF";
    static const CHAR Special[] = "\"#%'*/:=?\\{}[]^<>|";
    CHAR Escaped[3];
    ULONG Index;
    ULONG Place;

    if (Length == 0) {
        RtlWriteText(Writer, "%s", READER_UNKNOWN_HOST);
        return;
    }

    for (Index = 0; Index < Length; Index++) {

        UCHAR Byte = (UCHAR)Text[Index];

        for (Place = 0; Special[Place] != 0; Place++) {
            if (Byte == (UCHAR)Special[Place]) {
                break;
            }
        }

        if (Special[Place] != 0 || Byte < 0x20 || Byte == 0x7F ||
            (Index + 1 == Length && (Byte == '.' || Byte == ' '))) {

            Escaped[0] = '%';
            Escaped[1] = Digits[Byte >> 4];
            Escaped[2] = Digits[Byte & 15];
            RtlWriteBytes(Writer, Escaped, sizeof(Escaped));
        } else {
            RtlWriteBytes(Writer, Text + Index, 1);
        }
    }
}


//
// Creates the folder that a file will be in.
// Path: of the file.
//

_Must_inspect_result_
static
NTSTATUS
ExportDatasetCreateFolder(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path
    )
{
    UNICODE_STRING NtPath;
    NTSTATUS Status;

    Status = BaseMakeNtPath(Context, Path, &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    while (NtPath.Length > sizeof(WCHAR) &&
           NtPath.Buffer[NtPath.Length / sizeof(WCHAR) - 1] != L'\\') {
        NtPath.Length -= sizeof(WCHAR);
    }

    NtPath.Length -= sizeof(WCHAR);
    Status = RtlCreateDirectory(Context->Rtl, &NtPath);
    Context->Allocator->Free(Context->Allocator->Context, NtPath.Buffer);
    return Status;
}


//
// Makes the path of a file of the dataset without its extension, and its
// folders.  FALSE: that failed, and has been written.
//

_Success_(return != FALSE)
static
BOOLEAN
ExportDatasetNameFile(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ ULONG Table
    )
{
    PREADER_EXPORT Export = Parquet->Export;
    PCREADER_CONTEXT Context = Export->Context;
    PCREADER_PROCESS Known = &Export->Session.Processes[Parquet->Process];
    PCREADER_IDENTITY Identity = &Parquet->Identities[Parquet->Process];
    PWSTR Path = Parquet->Path[Table];
    PCHAR PathUtf8 = Parquet->PathUtf8[Table];
    RTL_WRITER Writer;
    ULONG Length;
    ULONG Written;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Writer,
                              PathUtf8,
                              RTL_MAXIMUM_PATH_IN_CHARS - 1);
    RtlWriteText(&Writer,
                 "%s\\%s\\host=",
                 Export->Options->AppendUtf8,
                 ReaderParquetTableNames[Table]);
    ExportDatasetWriteValue(&Writer, Parquet->Host, Parquet->HostLength);
    RtlWriteText(&Writer, "\\date=");
    BaseWriteDay(&Writer, Identity->SystemTime * 100);
    RtlWriteText(&Writer, "\\program=");
    ExportDatasetWriteValue(&Writer, Known->Name, Known->NameLength);
    RtlWriteText(&Writer, "\\");
    RtlWriteBytes(&Writer, Identity->Name, Identity->NameLength);
    PathUtf8[Writer.LengthInBytes] = 0;

    //
    // The extension and .tmp are to follow.
    //

    Status = Writer.Status;
    if (NT_SUCCESS(Status)) {
        Length = RtlUtf8ToWide(PathUtf8,
                               Writer.LengthInBytes,
                               Path,
                               RTL_MAXIMUM_PATH_IN_CHARS - 32,
                               &Written);
        Path[Written] = 0;
        if (Length != Written) {
            Status = STATUS_NAME_TOO_LONG;
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = ExportDatasetCreateFolder(Context, Path);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Context, "create the folder of", PathUtf8, Status);
        return FALSE;
    }

    return TRUE;
}


//
// Removes a file, or looks whether it is there.  STATUS_OBJECT_NAME_NOT_FOUND:
// there is none.
//

_Must_inspect_result_
static
NTSTATUS
ExportDatasetRemoveFile(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_ BOOLEAN IsRemoved
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING NtPath;
    HANDLE File;
    NTSTATUS Status;

    Status = BaseMakeNtPath(Context, Path, &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    InitializeObjectAttributes(&Attributes,
                               &NtPath,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    Status = Context->Rtl->NtCreateFile(
        &File,
        (IsRemoved ? DELETE : FILE_READ_ATTRIBUTES) | SYNCHRONIZE,
        &Attributes,
        &IoStatus,
        NULL,
        FILE_ATTRIBUTE_NORMAL,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        FILE_OPEN,
        FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE,
        NULL,
        0);
    Context->Allocator->Free(Context->Allocator->Context, NtPath.Buffer);
    if (NT_SUCCESS(Status)) {
        if (IsRemoved) {
            Status = BaseMarkFile(Context, File, TRUE);
        }

        Context->Rtl->NtClose(File);
    }

    return Status;
}


//
// Writes what comes behind a table's path in the name of a part.
//

#define READER_NUMBER_SIZE 32u

static
VOID
ExportDatasetNumberPart(
    _Out_writes_z_(READER_NUMBER_SIZE) PWSTR Name,
    _In_ ULONG Part,
    _In_ BOOLEAN IsUnfinished
    )
{
    RTL_WRITER Writer;
    CHAR Text[READER_NUMBER_SIZE];
    ULONG Index;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Part > 1) {
        RtlWriteText(&Writer, "-%u", Part);
    }

    RtlWriteText(&Writer, ".parquet%s", IsUnfinished ? ".tmp" : "");
    for (Index = 0; Index < Writer.LengthInBytes; Index++) {
        Name[Index] = (WCHAR)Text[Index];
    }

    Name[Index] = 0;
}


//
// Removes all parts but the first that an earlier export of the same session
// has left, from the last one down: what is there at any time is a beginning of
// the old one, so that none is forgotten, and none is beside a part of the new
// one that has rows of it.  What a killed one has left behind the
// NumberOfParts files that are to get their names goes, too.
//

_Must_inspect_result_
static
NTSTATUS
ExportDatasetRemoveParts(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_ ULONG NumberOfParts
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Length = RtlLengthOfWideString(Path);
    PWSTR Name;
    ULONG Part = 2;
    BOOLEAN IsRemoved = FALSE;
    NTSTATUS Status = STATUS_SUCCESS;

    Name = (PWSTR)Allocator->Allocate(Allocator->Context,
                                      (Length + READER_NUMBER_SIZE) *
                                          sizeof(WCHAR));
    if (Name == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Name, Path, Length * sizeof(WCHAR));
    while (NT_SUCCESS(Status) && Part > 1) {

        ExportDatasetNumberPart(Name + Length, Part, FALSE);
        Status = ExportDatasetRemoveFile(Context, Name, IsRemoved);
        if (Status == STATUS_OBJECT_NAME_NOT_FOUND ||
            Status == STATUS_FILE_IS_A_DIRECTORY) {
            Status = STATUS_SUCCESS;
            IsRemoved = TRUE;
        }

        Part = IsRemoved ? Part - 1 : Part + 1;
    }

    if (NT_SUCCESS(Status)) {
        Part = NumberOfParts;
        do {
            Part += 1;
            ExportDatasetNumberPart(Name + Length, Part, TRUE);
        } while (NT_SUCCESS(ExportDatasetRemoveFile(Context, Name, TRUE)));
    }

    Allocator->Free(Allocator->Context, Name);
    return Status;
}


//
// Names a table's file.
//

_Success_(return != FALSE)
static
BOOLEAN
ExportDatasetNameTable(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ ULONG Table
    )
{
    static const WCHAR Suffix[] = READER_PARQUET_SUFFIX;
    PCREADER_OPTIONS Options = Parquet->Export->Options;
    PCSZ Name = ReaderParquetTableNames[Table];
    PWSTR Path = Parquet->Path[Table];
    PCHAR PathUtf8 = Parquet->PathUtf8[Table];
    ULONG Length;
    ULONG Index;
    ULONG Same = 0;

    if (Options->Append != NULL) {
        return ExportDatasetNameFile(Parquet, Table);
    }

    Length = RtlLengthOfWideString(Options->Output);
    if (Length + 32 >= RTL_MAXIMUM_PATH_IN_CHARS) {
        BaseFail(Parquet->Export->Context,
                 "create the file",
                 Options->OutputUtf8,
                 STATUS_NAME_TOO_LONG);
        return FALSE;
    }

    while (Same < RTL_NUMBER_OF(Suffix) - 1 && Same < Length &&
           (Options->Output[Length - 1 - Same] | 0x20) ==
               (Suffix[RTL_NUMBER_OF(Suffix) - 2 - Same] | 0x20)) {
        Same += 1;
    }

    if (Same == RTL_NUMBER_OF(Suffix) - 1 && Same < Length) {
        Length -= Same;
    }

    RtlCopyBytes(Path, Options->Output, Length * sizeof(WCHAR));
    Path[Length++] = L'.';
    for (Index = 0; Name[Index] != 0; Index++) {
        Path[Length++] = (WCHAR)Name[Index];
    }

    Path[Length] = 0;
    RtlWideToUtf8(Path,
                  Length,
                  PathUtf8,
                  RTL_MAXIMUM_PATH_IN_CHARS - 1,
                  &Length);
    PathUtf8[Length] = 0;
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
ExportDatasetOpenTables(
    PREADER_PARQUET Parquet
    )
{
    static const struct {
        PCREADER_CELL_COLUMN Columns;
        ULONG NumberOfColumns;
        PREADER_CELL_ROUTINE Cell;
    } Kinds[ReaderParquetTables] = {
        { ReaderFunctionsColumns,
          RTL_NUMBER_OF(ReaderFunctionsColumns),
          ExportCellsNameFunction },
        { ReaderCallsColumns,
          RTL_NUMBER_OF(ReaderCallsColumns),
          ExportCellsNameCall },
        { ReaderMarksColumns,
          RTL_NUMBER_OF(ReaderMarksColumns),
          ExportCellsNameMark }
    };
    PCREADER_OPTIONS Options = Parquet->Export->Options;
    PREADER_CELL_TABLE Table;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < ReaderParquetTables; Index++) {

        if ((Parquet->Selected & (1u << Index)) == 0) {
            continue;
        }

        Table = &Parquet->Tables[Index];
        RtlZeroBytes(Table, sizeof(*Table));
        if (!ExportDatasetNameTable(Parquet, Index)) {
            return FALSE;
        }

        Table->Context = Parquet->Export->Context;
        Table->Columns = Kinds[Index].Columns;
        Table->NumberOfColumns = Kinds[Index].NumberOfColumns;
        Table->Cell = Kinds[Index].Cell;
        Table->CellContext = Parquet;
        Table->IsPlain = Options->Encoding == READER_ENCODING_PLAIN;
        Table->HasVectors = Parquet->HasVectors;
        Table->Path = Parquet->Path[Index];
        Table->PathUtf8 = Parquet->PathUtf8[Index];
        Table->PartSize = Options->SplitSize != 0 ? Options->SplitSize
                                                  : READER_PART_SIZE;
        Parquet->IsOpen[Index] = TRUE;
        Status = ExportTableOpen(Table);
        if (!NT_SUCCESS(Status)) {
            BaseFail(Parquet->Export->Context,
                     "export",
                     Table->PathUtf8,
                     Status);
            return FALSE;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
ULONG
ExportDatasetCloseTables(
    PREADER_PARQUET Parquet,
    BOOLEAN IsComplete
    )
{
    PREADER_CELL_TABLE Table;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < ReaderParquetTables; Index++) {
        if (Parquet->IsOpen[Index] && IsComplete &&
            !ExportTableFinish(&Parquet->Tables[Index])) {
            IsComplete = FALSE;
            ExitCode = READER_EXIT_FAILURE;
        }
    }

    for (Index = 0; Index < ReaderParquetTables; Index++) {

        if (!Parquet->IsOpen[Index]) {
            continue;
        }

        Table = &Parquet->Tables[Index];
        if (IsComplete && Parquet->Export->Options->Append != NULL) {
            Status = ExportDatasetRemoveParts(Table->Context,
                                              Table->Path,
                                              Table->NumberOfParts);
            if (!NT_SUCCESS(Status)) {
                ExitCode = BaseFail(Table->Context,
                                    "remove an older part",
                                    Table->PathUtf8,
                                    Status);
                IsComplete = FALSE;
            }
        }

        Parquet->NumberOfRows[Index] += Table->NumberOfRows;
        Parquet->NumberOfBytes += Table->NumberOfBytes;
        Parquet->NumberOfFiles += Table->NumberOfParts;
        Parquet->IsOpen[Index] = FALSE;
        Code = ExportTableClose(Table, IsComplete);
        if (Code != READER_EXIT_SUCCESS) {
            ExitCode = Code;
        }
    }

    return ExitCode;
}


_Use_decl_annotations_
BOOLEAN
ExportDatasetSelectTables(
    PCREADER_EXPORT Export,
    PULONG Selected
    )
{
    PCREADER_OPTIONS Options = Export->Options;
    PCWSTR Text = Options->Tables;
    ULONG Length;
    ULONG Table;

    *Selected = 1u << ReaderParquetFunctions | 1u << ReaderParquetMarks;
    if (Text == NULL) {
        if (Options->Append == NULL) {
            *Selected |= 1u << ReaderParquetCalls;
        }

        return TRUE;
    }

    *Selected = 0;
    for (;;) {

        Length = 0;
        while (Text[Length] != 0 && Text[Length] != L',') {
            Length += 1;
        }

        for (Table = 0; Table < ReaderParquetTables; Table++) {

            PCSZ Name = ReaderParquetTableNames[Table];
            ULONG Index = 0;

            while (Index < Length && Text[Index] == (WCHAR)Name[Index]) {
                Index += 1;
            }

            if (Index == Length && Name[Index] == 0) {
                break;
            }
        }

        if (Table == ReaderParquetTables) {
            RtlWriteText(Export->Context->Errors,
                         "TraceReader: export: --tables: there are functions, "
                         "calls and marks, separated by commas (see "
                         "TraceReader export --help)\n");
            RtlFlushWriter(Export->Context->Errors);
            return FALSE;
        }

        *Selected |= 1u << Table;
        if (Text[Length] == 0) {
            return TRUE;
        }

        Text += Length + 1;
    }
}

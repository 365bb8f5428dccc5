/*++

Module Name:

    CommandPack.c

Abstract:

    TraceReader pack: puts all that a session is into one file, a tenth of its
    size or less, that is read as it is and elsewhere: its stores up to the end
    of their records, its logs, and the symbol cache with an answer for each
    site.  TraceReader unpack: makes the files again.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Base/BasePackWrite.h"
#include "../Session/SessionCopy.h"
#include "../Session/SessionName.h"
#include "../Session/SessionPack.h"
#include "../Session/SessionRebuild.h"
#include "../Session/SessionSource.h"
#include "../Session/SessionStoreOpen.h"
#include "../Session/SessionTarget.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionLine.h"
#include "../Sums/SumRead.h"
#include "../Sums/SumTally.h"
#include "Command.h"

#define READER_PACKING_BUFFER 0x100000u
#define READER_PACKING_NAME 0x10000u        // bytes
#define READER_UNPACKING_BUFFER 0x100000u

typedef struct _READER_PACKING {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;             // all
    READER_READING Reading;
    READER_TEAM Team;
    PREADER_PACK_WRITER Writer;
    HANDLE File;
    PUCHAR Buffer;
    PCHAR Name;                     // of an entry, UTF-8
    ULONG FolderLength;             // bytes of it that all names begin with
    ULONG NumberOfLogs;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;      // records of rings
    ULONGLONG NumberOfNames;        // functions with a name
    PCSZ FailedStep;
} READER_PACKING;
typedef READER_PACKING *PREADER_PACKING;


//
// Begins an entry, in the folder of the session.
// Name, LengthInChars: the file's name.
//

_Must_inspect_result_
static
NTSTATUS
CommandBeginPackEntry(
    _Inout_ PREADER_PACKING Pack,
    _In_reads_(LengthInChars) PCWSTR Name,
    _In_ ULONG LengthInChars,
    _In_ ULONGLONG SizeInBytes
    )
{
    PCHAR Text = Pack->Name + Pack->FolderLength;
    UNICODE_STRING Path;
    ULONG Length;
    ULONG Index;

    //
    // Who unpacks it makes a file of this name.
    //

    RtlPointUnicodeString(&Path, Name, LengthInChars);
    if (!RtlIsPlainName(&Path, TRUE)) {
        return CommandNoteStep(&Pack->FailedStep,
                               "write the pack (a store's name points outside "
                               "its directory or is that of a device)",
                               STATUS_OBJECT_NAME_INVALID);
    }

    RtlWideToUtf8(Name,
                  LengthInChars,
                  Text,
                  READER_PACKING_NAME - Pack->FolderLength,
                  &Length);
    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] == '\\') {
            Text[Index] = '/';
        }
    }

    return CommandNoteStep(&Pack->FailedStep,
                           "write the pack",
                           BaseBeginPackFile(Pack->Writer,
                                             Pack->Name,
                                             Pack->FolderLength + Length,
                                             SizeInBytes));
}


//
// Gives bytes to the entry: a READER_COPY_ROUTINE.
//

static
NTSTATUS
CommandPackBytes(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    return BaseWritePackFile(((PREADER_PACKING)Target)->Writer,
                             FileOffset,
                             Bytes,
                             SizeInBytes);
}


//
// Notes what failed of a copy.
//

static
NTSTATUS
CommandFailCopy(
    _Inout_ PREADER_PACKING Pack,
    _In_ NTSTATUS ReadStatus,
    _In_ NTSTATUS WriteStatus
    )
{
    return NT_SUCCESS(ReadStatus)
               ? CommandNoteStep(&Pack->FailedStep,
                                 "write the pack",
                                 WriteStatus)
               : CommandNoteStep(&Pack->FailedStep,
                                 "read the session",
                                 ReadStatus);
}


//
// Copies a part of a file to the same place of the entry.
// Start, End: the part, file offsets. What the file has lost of it since is
// zero.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackPart(
    _Inout_ PREADER_PACKING Pack,
    _In_ HANDLE File,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
{
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    Status = SessionCopyPart(Pack->Context,
                             File,
                             Start,
                             End,
                             Pack->Buffer,
                             READER_PACKING_BUFFER,
                             CommandPackBytes,
                             Pack,
                             &WriteStatus);
    return CommandFailCopy(Pack, Status, WriteStatus);
}


//
// Packs a file of the session's directory as it is.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackFile(
    _Inout_ PREADER_PACKING Pack,
    _In_ PCUNICODE_STRING Name
    )
{
    HANDLE File;
    ULONGLONG Size;
    NTSTATUS Status;

    Status = CommandNoteStep(&Pack->FailedStep,
                             "read the session",
                             SessionOpenFile(&Pack->Session,
                                             Name,
                                             &File,
                                             &Size));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = CommandBeginPackEntry(Pack,
                                   Name->Buffer,
                                   Name->Length / sizeof(WCHAR),
                                   Size);
    if (NT_SUCCESS(Status)) {
        Status = CommandPackPart(Pack, File, 0, Size);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandNoteStep(&Pack->FailedStep,
                                 "write the pack",
                                 BaseEndPackFile(Pack->Writer));
    }

    RtlClose(Pack->Context->Rtl, File);
    return Status;
}


//
// Packs a store that is open: its header and its records, as they are at this
// moment.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackStore(
    _Inout_ PREADER_PACKING Pack,
    _Inout_ PREADER_STORE Store
    )
{
    READER_PACKED_STORE Copy;
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    Status = CommandBeginPackEntry(Pack,
                                   Store->Name.Buffer,
                                   Store->Name.Length / sizeof(WCHAR),
                                   SessionBeginPackedStore(Pack->Context,
                                                           Pack->Writer,
                                                           Store,
                                                           &Copy));
    if (NT_SUCCESS(Status)) {
        Status = SessionPackStore(&Copy,
                                  Pack->Buffer,
                                  READER_PACKING_BUFFER,
                                  &WriteStatus);
        Status = CommandFailCopy(Pack, Status, WriteStatus);
    }

    if (NT_SUCCESS(Status)) {
        Pack->NumberOvertaken += Copy.NumberOvertaken;
        Pack->NumberOfRecords += Copy.NumberOfRecords;
    }

    return Status;
}


//
// Packs all stores. One that is not good, or holds a tree, is packed as it is.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackStores(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = &Pack->Session;
    PREADER_STORE Store;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        Status = STATUS_UNSUCCESSFUL;
        if (Store->Thread != READER_NONE) {
            Status = SessionOpenSessionStore(Session, Store);
        }

        if (NT_SUCCESS(Status) &&
            !Store->IsTree &&
            Store->HeaderResult.State == CoreHeaderValid &&
            (Store->EndState == CoreEndValid ||
             (Store->EndState == CoreEndBeyondFile &&
              READER_IS_STORE_COMPACT(Store)))) {
            Status = CommandPackStore(Pack, Store);
        } else {
            Status = CommandPackFile(Pack, &Store->Name);
        }

        SessionCloseStore(Pack->Context, Store);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}


//
// Packs a directory's entry if it is a log, the control file or what tells how
// the process ended.
// SizeInBytes: not used: it may be older than the file.
// IsDirectory: whether the entry is one.
//

static
NTSTATUS
CommandPackLog(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_PACKING Pack = (PREADER_PACKING)CallbackContext;
    WCHAR Buffer[READER_MAXIMUM_NAME_IN_CHARS];
    UNICODE_STRING Path;
    READER_FILE_KIND Kind;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    Kind = SessionQueryFileKind(Pack->Context->Rtl, Name);
    if (IsDirectory ||
        (Kind != ReaderFileLog && Kind != ReaderFileControl &&
         Kind != ReaderFileExit && Kind != ReaderFileImports)) {
        return STATUS_SUCCESS;
    }

    if (!SessionAdmitName(&Pack->Session, Name)) {
        return STATUS_SUCCESS;
    }

    Status = SessionComposeName(&Pack->Session, Name, Buffer, &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Kind == ReaderFileLog) {
        Pack->NumberOfLogs += 1;
    }

    return CommandPackFile(Pack, &Path);
}


//
// Packs the logs of the processes that are packed.
// Pack: the pack, of several processes.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackLogsBelow(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = &Pack->Session;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 1;
         NT_SUCCESS(Status) && Index < Session->NumberOfDirectories;
         Index++) {

        PREADER_DIRECTORY Directory = &Session->Directories[Index];

        if (Directory->Process == READER_NONE) {
            continue;
        }

        Session->Path.Length = Session->DirectoryLength;
        Status = RtlAppendPath(&Session->Path,
                               Directory->Name.Buffer,
                               Directory->Name.Length / sizeof(WCHAR),
                               TRUE);
        if (NT_SUCCESS(Status)) {
            Session->VisitedDirectory = Index;
            Status = RtlEnumerateDirectory(Pack->Context->Rtl,
                                           &Session->Path,
                                           CommandPackLog,
                                           Pack);
            Session->VisitedDirectory = 0;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    return Status;
}


//
// Reads a thread. One that cannot be read to its end is packed all the same,
// and says so when the pack is read.
//

_Use_decl_annotations_
static
NTSTATUS
CommandPackThread(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    PREADER_READING Reading = (PREADER_READING)Context;
    NTSTATUS Status = SumTallyThread(&Reading->Tallies[Worker], Thread);

    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}


//
// Asks the images for everything that a reader of the session may ask: reads
// all records, and then looks for the source line of each site and of each
// function.  The fast way asks what the general rules ask: of each site once,
// and of functions that may be inlined only where a call is not ordinary.
//
// Pack: the pack, its reading and functions empty.
//

_Must_inspect_result_
static
NTSTATUS
CommandAskForAll(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = &Pack->Session;
    PREADER_FUNCTIONS Functions = &Pack->Functions;
    READER_SOURCE_LINE Line;
    ULONG Index;
    NTSTATUS Status;

    Pack->Reading.Functions = Functions;
    Pack->Reading.Options = Pack->Options;
    Pack->Reading.Range = &Pack->Range;
    Pack->Reading.Team = &Pack->Team;
    Pack->Reading.Process = READER_NONE;
    Pack->Reading.Read = CommandPackThread;
    Pack->Reading.Context = &Pack->Reading;
    Status = SumInitializeReading(&Pack->Reading);
    if (NT_SUCCESS(Status) &&
        SumReadThreads(&Pack->Reading) != READER_EXIT_SUCCESS) {
        Status = STATUS_NO_MEMORY;
    }

    if (!NT_SUCCESS(Status)) {
        return CommandNoteStep(&Pack->FailedStep, "read the session", Status);
    }

    for (Index = 0; Index < Functions->Sites.Capacity; Index++) {
        if (Functions->Sites.Slots[Index].IsUsed) {
            (VOID)FunctionFindLine(Session,
                                   Functions->Sites.Slots[Index].Key,
                                   &Line);
        }
    }

    for (Index = 0; Index < Functions->NumberOfFunctions; Index++) {

        PCREADER_FUNCTION Function = &Functions->Functions[Index];

        if (Function->IsNamed || Function->FoldedLength != 0) {
            Pack->NumberOfNames += 1;
        }

        (VOID)FunctionFindLine(Session,
                               ((ULONGLONG)Function->Module << 32) |
                                 Function->Rva,
                               &Line);
    }

    return STATUS_SUCCESS;
}


//
// Completes the symbol cache and packs it.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackCache(
    _Inout_ PREADER_PACKING Pack
    )
{
    static const WCHAR Name[] = L"symbols.cache";
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PVOID Bytes;
    ULONG SizeInBytes;
    NTSTATUS Status;

    Status = CommandAskForAll(Pack);
    if (!NT_SUCCESS(Status) || Pack->Session.Cache == NULL) {
        return Status;
    }

    Status = FunctionMakeCache(&Pack->Session, &Bytes, &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return CommandNoteStep(&Pack->FailedStep,
                               "make the symbol cache",
                               Status);
    }

    Status = CommandBeginPackEntry(Pack,
                                   Name,
                                   RTL_NUMBER_OF(Name) - 1,
                                   SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Status = CommandNoteStep(&Pack->FailedStep,
                                 "write the pack",
                                 BaseWritePackFile(Pack->Writer,
                                                   0,
                                                   Bytes,
                                                   SizeInBytes));
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandNoteStep(&Pack->FailedStep,
                                 "write the pack",
                                 BaseEndPackFile(Pack->Writer));
    }

    Allocator->Free(Allocator->Context, Bytes);
    return Status;
}


//
// Packs the indexes, which are there now that all records have been read.  They
// say of what they are; a store without one is read from its beginning.
//

_Must_inspect_result_
static
NTSTATUS
CommandPackIndexes(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = &Pack->Session;
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    UNICODE_STRING Path;
    UNICODE_STRING Name;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfStores;
         Index++) {

        Status = SessionComposeIndexName(Session,
                                         Session->Stores[Index],
                                         &Path);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        RtlPointUnicodeString(&Name,
                              Path.Buffer + Session->DirectoryLength /
                                                sizeof(WCHAR) + 1,
                              (Path.Length - Session->DirectoryLength) /
                                      sizeof(WCHAR) - 1);
        Status = CommandPackFile(Pack, &Name);
        if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
            Status = STATUS_SUCCESS;
        }

        Allocator->Free(Allocator->Context, Path.Buffer);
    }

    return Status;
}


//
// Names the folder in the pack as the session's directory.
//

static
VOID
CommandNamePackFolder(
    _Inout_ PREADER_PACKING Pack
    )
{
    UNICODE_STRING Path = Pack->Session.Path;
    UNICODE_STRING Name;

    Path.Length = Pack->Session.DirectoryLength;
    if (!Pack->Session.IsDirectory) {
        RtlBaseName(&Path, &Name);
        Path.Length -= Name.Length;
    }

    while (Path.Length != 0 &&
           Path.Buffer[Path.Length / sizeof(WCHAR) - 1] == L'\\') {
        Path.Length -= sizeof(WCHAR);
    }

    RtlBaseName(&Path, &Name);
    if (Name.Length != 0 && !RtlIsPlainName(&Name, FALSE)) {
        RtlPointUnicodeString(&Name, L"session", 7);
    }

    RtlWideToUtf8(Name.Buffer,
                  Name.Length / sizeof(WCHAR),
                  Pack->Name,
                  READER_PACKING_NAME / 2,
                  &Pack->FolderLength);
    if (Pack->FolderLength != 0) {
        Pack->Name[Pack->FolderLength] = '/';
        Pack->FolderLength += 1;
    }
}


//
// Pack: the pack, its file open.
// Returns STATUS_SUCCESS or what failed, in FailedStep.
//

_Must_inspect_result_
static
NTSTATUS
CommandWritePack(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = &Pack->Session;
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    NTSTATUS Status;

    Pack->Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                               READER_PACKING_BUFFER);
    Pack->Name = (PCHAR)Allocator->Allocate(Allocator->Context,
                                            READER_PACKING_NAME);
    if (Pack->Buffer == NULL || Pack->Name == NULL) {
        return CommandNoteStep(&Pack->FailedStep,
                               "write the pack",
                               STATUS_NO_MEMORY);
    }

    Status = BaseCreatePackWriter(Pack->Context,
                                  Pack->File,
                                  TRUE,
                                  &Pack->Writer);
    if (!NT_SUCCESS(Status)) {
        return CommandNoteStep(&Pack->FailedStep, "write the pack", Status);
    }

    CommandNamePackFolder(Pack);
    Status = CommandPackStores(Pack);
    if (NT_SUCCESS(Status) && Session->IsDirectory) {

        Session->Path.Length = Session->DirectoryLength;
        Status = RtlEnumerateDirectory(Pack->Context->Rtl,
                                       &Session->Path,
                                       CommandPackLog,
                                       Pack);
        if (NT_SUCCESS(Status) && Session->HasDirectories) {
            Status = CommandPackLogsBelow(Pack);
        }

        if (!NT_SUCCESS(Status) && Pack->FailedStep == NULL) {
            CommandNoteStep(&Pack->FailedStep, "read the session", Status);
        }
    }

    //
    // The records are read after they are packed, so that what a running
    // program adds meanwhile has answers too many, not too few.
    //

    if (NT_SUCCESS(Status)) {
        Status = CommandPackCache(Pack);
    }

    if (NT_SUCCESS(Status) && Session->IsDirectory) {
        Status = CommandPackIndexes(Pack);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandNoteStep(&Pack->FailedStep,
                                 "write the pack",
                                 BaseEndPack(Pack->Writer));
    }

    return Status;
}


//
// Writes the pack under another name and then gives it its own.
// Pack: the pack, its session open.
// PathBuffer: room for two paths.
//

static
ULONG
CommandPackTo(
    _Inout_ PREADER_PACKING Pack,
    _Inout_ PWCHAR PathBuffer
    )
{
    static const WCHAR Suffix[] = L".tmp";
    PCREADER_CONTEXT Context = Pack->Context;
    PCREADER_OPTIONS Options = Pack->Options;
    UNICODE_STRING Given;
    UNICODE_STRING Path;
    UNICODE_STRING Temporary;
    HANDLE Existing;
    ULONGLONG Size = 0;
    NTSTATUS Status;

    RtlPointUnicodeString(&Given,
                          Options->Output,
                          RtlLengthOfWideString(Options->Output));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                PathBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Path);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "create the pack",
                        Options->OutputUtf8,
                        Status);
    }

    Status = RtlOpenFileForReading(Context->Rtl, &Path, &Existing);
    if (NT_SUCCESS(Status) ||
        (Status != STATUS_OBJECT_NAME_NOT_FOUND &&
         Status != STATUS_OBJECT_PATH_NOT_FOUND)) {

        if (NT_SUCCESS(Status)) {
            RtlClose(Context->Rtl, Existing);
        }

        return BaseFail(Context,
                        "create the pack (an existing file is not replaced)",
                        Options->OutputUtf8,
                        NT_SUCCESS(Status) ? STATUS_OBJECT_NAME_COLLISION
                                           : Status);
    }

    Temporary.Buffer = PathBuffer + RTL_MAXIMUM_PATH_IN_CHARS;
    Temporary.Length = Path.Length;
    Temporary.MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
    RtlCopyBytes(Temporary.Buffer, Path.Buffer, Path.Length);
    Status = RtlAppendPath(&Temporary,
                           Suffix,
                           RTL_NUMBER_OF(Suffix) - 1,
                           FALSE);
    if (NT_SUCCESS(Status)) {
        Status = BaseOpenTemporaryFile(Context,
                                       &Temporary,
                                       FALSE,
                                       &Pack->File);
    }

    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "create the pack",
                        Options->OutputUtf8,
                        Status);
    }

    Status = CommandWritePack(Pack);
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Context->Rtl, Pack->File, &Size);
        if (NT_SUCCESS(Status)) {
            Status = BaseRenameFile(Context, Pack->File, &Path, FALSE);
        }

        CommandNoteStep(&Pack->FailedStep, "give the pack its name", Status);
    }

    if (!NT_SUCCESS(Status)) {
        BaseRemoveFile(Context, Pack->File);
    }

    RtlClose(Context->Rtl, Pack->File);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        Pack->FailedStep,
                        Options->OutputUtf8,
                        Status);
    }

    RtlWriteText(Context->Output,
                 "%T: %u store%s with %llu records, %u log%s, %llu names of "
                 "%u functions; %llu bytes\n",
                 Options->OutputUtf8,
                 Pack->Session.NumberOfStores,
                 Pack->Session.NumberOfStores == 1 ? "" : "s",
                 Pack->NumberOfRecords,
                 Pack->NumberOfLogs,
                 Pack->NumberOfLogs == 1 ? "" : "s",
                 Pack->NumberOfNames,
                 Pack->Functions.NumberOfFunctions,
                 Size);
    if (Pack->NumberOvertaken != 0) {
        RtlWriteText(Context->Output,
                     "%llu records were overwritten in their rings before "
                     "they could be copied.\n",
                     Pack->NumberOvertaken);
    }

    return READER_EXIT_SUCCESS;
}


static
ULONG
CommandPack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_PACKING Pack;
    PWCHAR PathBuffer;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: pack: --output is required (see TraceReader "
                     "pack --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Pack = (PREADER_PACKING)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_PACKING));
    PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            2 * RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    if (Pack == NULL || PathBuffer == NULL) {
        BaseFail(Context, "pack", Options->PathUtf8, STATUS_NO_MEMORY);
        goto End;
    }

    Pack->Context = Context;
    Pack->Options = Options;
    BaseInitializeTeam(&Pack->Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Pack->Session, &Pack->Team.Context, Options)) {
        BaseRundownTeam(&Pack->Team);
        goto End;
    }

    FunctionInitializeFunctions(&Pack->Functions, &Pack->Session);
    ExitCode = CommandPackTo(Pack, PathBuffer);
    if (ExitCode == READER_EXIT_SUCCESS) {
        FunctionSaveCache(&Pack->Session,
                          (Options->Given & READER_OPTION_VERBOSE) != 0);
    }

    BaseDestroyPackWriter(Pack->Writer);
    SumRundownReading(&Pack->Reading);
    FunctionRundownFunctions(&Pack->Functions);
    CommandCloseCommandSession(&Pack->Session);
    BaseRundownTeam(&Pack->Team);

End:
    if (Pack != NULL) {
        Allocator->Free(Allocator->Context, Pack->Buffer);
        Allocator->Free(Allocator->Context, Pack->Name);
    }

    Allocator->Free(Allocator->Context, Pack);
    Allocator->Free(Allocator->Context, PathBuffer);
    return ExitCode;
}


const READER_COMMAND ReaderPackCommand = {
    "pack",
    "[PATH]",
    "Puts a session into one small file that can be read elsewhere",
    "FILE has the session's stores, its logs, session.control (what was\n"
    "requested while it was recorded), session.exit (how it ended) and\n"
    "symbols.cache, which holds what the images say about every site.  Every\n"
    "command reads it as it is, here or on another machine, and shows what\n"
    "it shows of the session, without the images; unpack makes the files\n"
    "again.  A call takes some 0.5 to 2 bytes in it (32 in a store).\n"
    "Stores are packed without their unused room; those of a running program\n"
    "have what is there at that moment.  FILE must not exist yet; until it is\n"
    "complete, it is called FILE.tmp.\n",
    "  TraceReader pack -o busy.tracepack SESSION\n"
    "  TraceReader report busy.tracepack\n",
    READER_OPTION_OUTPUT | READER_OPTION_WORKERS | READER_OPTION_VERBOSE |
        READER_OPTION_SYMBOLS | READER_OPTION_PROCESS |
        READER_OPTION_ALL_RUNS,
    CommandPack,
    NULL,
    NULL
};


//
// What unpack works with.
//

typedef struct _READER_UNPACKING {
    PCREADER_CONTEXT Context;
    PREADER_PACK Pack;
    PWCHAR PathBuffer;              // RTL_MAXIMUM_PATH_IN_CHARS
    UNICODE_STRING Path;            // of the pack or a folder in it
    READER_TARGET Target;
    ULONG NumberOfDirectories;      // made
    ULONG Directory;                // that is being filled, or READER_NONE
    PUCHAR Buffer;                  // READER_UNPACKING_BUFFER
    PCSZ FailedStep;
    UNICODE_STRING FailedName;      // of a file or folder; "": none
    ULONGLONG SizeInBytes;          // of the files that were made
} READER_UNPACKING;
typedef READER_UNPACKING *PREADER_UNPACKING;


//
// Copies a file out of the pack.  Compact stores have their blocks encoded.
// File: its index.
//

_Must_inspect_result_
static
NTSTATUS
CommandUnpackBytes(
    _Inout_ PREADER_UNPACKING Unpack,
    _In_ ULONG File,
    _In_ ULONGLONG SizeInBytes,
    _In_ HANDLE Handle
    )
{
    READER_PACK_VIEW View;
    ULONGLONG Offset = 0;
    ULONG ReadInBytes;
    PCSZ Step;
    NTSTATUS Status;

    Status = SessionRebuildStore(Unpack->Context,
                                 Unpack->Pack,
                                 File,
                                 Handle,
                                 &Offset,
                                 &Step);
    if (Status != STATUS_NOT_SUPPORTED) {
        Unpack->SizeInBytes += Offset;
        return CommandNoteStep(&Unpack->FailedStep, Step, Status);
    }

    Status = STATUS_SUCCESS;
    RtlZeroBytes(&View, sizeof(View));
    while (NT_SUCCESS(Status) && Offset < SizeInBytes) {

        Status = CommandNoteStep(&Unpack->FailedStep,
                                 "read the pack",
                                 BaseReadPack(Unpack->Pack,
                                              File,
                                              Offset,
                                              Unpack->Buffer,
                                              READER_UNPACKING_BUFFER,
                                              &View,
                                              &ReadInBytes));
        if (NT_SUCCESS(Status)) {
            Status = CommandNoteStep(&Unpack->FailedStep,
                                     "write the file",
                                     RtlWriteFile(Unpack->Context->Rtl,
                                                  Handle,
                                                  Offset,
                                                  Unpack->Buffer,
                                                  ReadInBytes));
            Offset += ReadInBytes;
        }
    }

    BaseFreePackView(Unpack->Pack, &View);
    Unpack->SizeInBytes += Offset;
    return Status;
}


//
// Makes a file of the pack, or a directory to be filled later.
//

static
NTSTATUS
CommandUnpackEntry(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_UNPACKING Unpack = (PREADER_UNPACKING)CallbackContext;
    UNICODE_STRING Path = Unpack->Path;
    HANDLE Handle;
    NTSTATUS Status;

    Unpack->FailedName = *Name;
    if (IsDirectory && Unpack->Directory != READER_NONE) {
        return CommandNoteStep(&Unpack->FailedStep,
                               "make the files (no session has folders in "
                               "its folders)",
                               STATUS_NOT_SUPPORTED);
    }

    if (IsDirectory) {
        Status = SessionMakeTargetDirectory(&Unpack->Target,
                                            Unpack->NumberOfDirectories,
                                            Name);
        Unpack->NumberOfDirectories += NT_SUCCESS(Status);
        return CommandNoteStep(
            &Unpack->FailedStep,
            READER_TARGET_STEP(Status, "make a directory"),
            Status);
    }

    Status = RtlAppendPath(&Path,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (NT_SUCCESS(Status)) {
        Status = SessionMakeTargetFile(&Unpack->Target,
                                       Unpack->Directory,
                                       Name,
                                       &Handle);
    }

    CommandNoteStep(&Unpack->FailedStep,
                    READER_TARGET_STEP(Status, "make a file"),
                    Status);
    if (NT_SUCCESS(Status)) {
        Status = CommandUnpackBytes(Unpack,
                                    BaseFindPackFile(Unpack->Pack, &Path),
                                    SizeInBytes,
                                    Handle);
        SessionCloseTargetFile(&Unpack->Target, Handle, NT_SUCCESS(Status));
    }

    return Status;
}


//
// Fills the directories that were made.  The pack lists them as it did when
// they were.
//

static
NTSTATUS
CommandFillDirectory(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_UNPACKING Unpack = (PREADER_UNPACKING)CallbackContext;
    USHORT Length = Unpack->Path.Length;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);
    if (!IsDirectory) {
        return STATUS_SUCCESS;
    }

    Unpack->Directory = Unpack->Directory == READER_NONE
                            ? 0
                            : Unpack->Directory + 1;
    Status = CommandNoteStep(&Unpack->FailedStep,
                             "read the pack",
                             RtlAppendPath(&Unpack->Path,
                                           Name->Buffer,
                                           Name->Length / sizeof(WCHAR),
                                           TRUE));
    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandUnpackEntry,
                              Unpack);
    }

    Unpack->Path.Length = Length;
    return Status;
}


//
// Makes the files below a directory, which is new or empty.
// Unpack: with the pack's path.
//

_Must_inspect_result_
static
NTSTATUS
CommandUnpackTo(
    _Inout_ PREADER_UNPACKING Unpack,
    _In_z_ PCWSTR Output
    )
{
    NTSTATUS Status;

    Status = BaseOpenPack(Unpack->Context, &Unpack->Path, &Unpack->Pack);
    if (NT_SUCCESS(Status)) {
        Status = SessionEnterPackFolder(Unpack->Pack, &Unpack->Path);
    }

    CommandNoteStep(&Unpack->FailedStep,
                    Status == STATUS_NOT_SUPPORTED
                        ? "open the pack (it is none)"
                        : "open the pack",
                    Status);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SessionOpenTarget(&Unpack->Target,
                               Unpack->Context,
                               Output,
                               BaseCountPackFiles(Unpack->Pack));
    CommandNoteStep(&Unpack->FailedStep,
                    Status == STATUS_DIRECTORY_NOT_EMPTY
                        ? "make the new directory (it exists and is not "
                          "empty)"
                        : "make the new directory",
                    Status);
    Unpack->Directory = READER_NONE;
    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandUnpackEntry,
                              Unpack);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandFillDirectory,
                              Unpack);
    }

    return Status;
}


static
ULONG
CommandUnpack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_UNPACKING Unpack;
    UNICODE_STRING Given;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: unpack: --output is required (see "
                     "TraceReader unpack --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Unpack, sizeof(Unpack));
    Unpack.Context = Context;
    Unpack.FailedStep = "open the pack";
    Unpack.PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    Unpack.Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                READER_UNPACKING_BUFFER);
    if (Unpack.PathBuffer != NULL && Unpack.Buffer != NULL) {
        RtlPointUnicodeString(&Given,
                              Options->Path,
                              RtlLengthOfWideString(Options->Path));
        Status = RtlDosPathToNtPath(Context->Rtl,
                                    &Given,
                                    Unpack.PathBuffer,
                                    RTL_MAXIMUM_PATH_IN_CHARS,
                                    &Unpack.Path);
    }

    if (NT_SUCCESS(Status)) {
        Unpack.Path.MaximumLength = (USHORT)
            ((RTL_MAXIMUM_PATH_IN_CHARS -
              (ULONG)(Unpack.Path.Buffer - Unpack.PathBuffer)) *
             sizeof(WCHAR));
        Status = CommandUnpackTo(&Unpack, Options->Output);
    }

    if (NT_SUCCESS(Status)) {

        RtlWriteText(Context->Output,
                     "%T: %u files, %llu bytes\n",
                     Options->OutputUtf8,
                     BaseCountPackFiles(Unpack.Pack),
                     Unpack.SizeInBytes);

    } else {

        BaseFail(Context,
                 Unpack.FailedStep,
                 Unpack.Pack != NULL && Unpack.FailedName.Length == 0
                     ? Options->OutputUtf8
                     : Options->PathUtf8,
                 Status);
        if (Unpack.FailedName.Length != 0) {
            RtlWriteText(Context->Errors,
                         "  at %Z\n",
                         &Unpack.FailedName);
            RtlFlushWriter(Context->Errors);
        }
    }

    SessionCloseTarget(&Unpack.Target);
    BaseClosePack(Unpack.Pack);
    Allocator->Free(Allocator->Context, Unpack.Buffer);
    Allocator->Free(Allocator->Context, Unpack.PathBuffer);
    return NT_SUCCESS(Status) ? READER_EXIT_SUCCESS : READER_EXIT_FAILURE;
}


const READER_COMMAND ReaderUnpackCommand = {
    "unpack",
    "PATH",
    "Makes the files of a pack again",
    "PATH is what pack wrote.  The directory of --output, new or empty,\n"
    "becomes the session's: its stores are byte for byte those that were\n"
    "packed, but for what a ring had no longer, which is zero.  Of compact\n"
    "stores the records are encoded again, to the same blocks.\n",
    "  TraceReader unpack -o busy busy.tracepack\n",
    READER_OPTION_OUTPUT,
    CommandUnpack,
    NULL,
    NULL
};

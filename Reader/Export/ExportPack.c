/*++

Module Name:

    ExportPack.c

Abstract:

    Puts all that a session is into a pack: its stores up to the end of their
    records, its logs, and the symbol cache with an answer for each site.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionCopy.h"
#include "../Session/SessionName.h"
#include "../Session/SessionPack.h"
#include "../Session/SessionSource.h"
#include "../Session/SessionStoreOpen.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionLine.h"
#include "../Sums/SumTally.h"
#include "ExportPack.h"

#define READER_PACKING_BUFFER 0x100000u
#define READER_PACKING_NAME 0x10000u        // bytes


//
// Begins an entry, in the folder of the session.
// Name, LengthInChars: the file's name.
//

_Must_inspect_result_
static
NTSTATUS
ExportPackBeginEntry(
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
        return BaseNoteStep(&Pack->FailedStep,
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

    return BaseNoteStep(&Pack->FailedStep,
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
ExportPackBytes(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_PACKING Pack = (PREADER_PACKING)Target;
    ULONGLONG Size;
    NTSTATUS Status;

    if (Pack->MaximumBytes != 0) {
        Status = RtlQueryFileSize(Pack->Context->Rtl, Pack->File, &Size);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Size > Pack->MaximumBytes) {
            return STATUS_FILE_TOO_LARGE;
        }
    }

    return BaseWritePackFile(Pack->Writer, FileOffset, Bytes, SizeInBytes);
}


//
// Notes what failed of a copy.
//

static
NTSTATUS
ExportPackFailCopy(
    _Inout_ PREADER_PACKING Pack,
    _In_ NTSTATUS ReadStatus,
    _In_ NTSTATUS WriteStatus
    )
{
    return NT_SUCCESS(ReadStatus)
               ? BaseNoteStep(&Pack->FailedStep,
                              "write the pack",
                              WriteStatus)
               : BaseNoteStep(&Pack->FailedStep,
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
ExportPackPart(
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
                             ExportPackBytes,
                             Pack,
                             &WriteStatus);
    return ExportPackFailCopy(Pack, Status, WriteStatus);
}


//
// Packs a file of the session's directory as it is.
//

_Must_inspect_result_
static
NTSTATUS
ExportPackFile(
    _Inout_ PREADER_PACKING Pack,
    _In_ PCUNICODE_STRING Name
    )
{
    HANDLE File;
    ULONGLONG Size;
    NTSTATUS Status;

    Status = BaseNoteStep(&Pack->FailedStep,
                          "read the session",
                          SessionOpenFile(Pack->Session,
                                          Name,
                                          &File,
                                          &Size));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ExportPackBeginEntry(Pack,
                                  Name->Buffer,
                                  Name->Length / sizeof(WCHAR),
                                  Size);
    if (NT_SUCCESS(Status)) {
        Status = ExportPackPart(Pack, File, 0, Size);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Pack->FailedStep,
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
ExportPackStore(
    _Inout_ PREADER_PACKING Pack,
    _Inout_ PREADER_STORE Store
    )
{
    READER_PACKED_STORE Copy;
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    Status = ExportPackBeginEntry(Pack,
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
        Status = ExportPackFailCopy(Pack, Status, WriteStatus);
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
ExportPackStores(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = Pack->Session;
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
            Status = ExportPackStore(Pack, Store);
        } else {
            Status = ExportPackFile(Pack, &Store->Name);
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
ExportPackLog(
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

    if (!SessionAdmitName(Pack->Session, Name)) {
        return STATUS_SUCCESS;
    }

    Status = SessionComposeName(Pack->Session, Name, Buffer, &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Kind == ReaderFileLog) {
        Pack->NumberOfLogs += 1;
    }

    return ExportPackFile(Pack, &Path);
}


//
// Packs the logs of the processes that are packed.
// Pack: the pack, of several processes.
//

_Must_inspect_result_
static
NTSTATUS
ExportPackLogsBelow(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = Pack->Session;
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
                                           ExportPackLog,
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
ExportPackThread(
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
// The fast way asks what the general rules ask: of each site once, and of
// functions that may be inlined only where a call is not ordinary.
//

_Use_decl_annotations_
NTSTATUS
ExportAskForAll(
    PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = Pack->Session;
    PREADER_FUNCTIONS Functions = Pack->Functions;
    READER_SOURCE_LINE Line;
    ULONG Index;
    NTSTATUS Status;

    Pack->Reading.Functions = Functions;
    Pack->Reading.Options = Pack->Options;
    Pack->Reading.Range = &Pack->Range;
    Pack->Reading.Team = Pack->Team;
    Pack->Reading.Process = READER_NONE;
    Pack->Reading.Read = ExportPackThread;
    Pack->Reading.Context = &Pack->Reading;
    Status = SumInitializeReading(&Pack->Reading);
    if (NT_SUCCESS(Status) &&
        SumReadThreads(&Pack->Reading) != READER_EXIT_SUCCESS) {
        Status = STATUS_NO_MEMORY;
    }

    if (!NT_SUCCESS(Status)) {
        return BaseNoteStep(&Pack->FailedStep, "read the session", Status);
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
ExportPackCache(
    _Inout_ PREADER_PACKING Pack
    )
{
    static const WCHAR Name[] = L"symbols.cache";
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PVOID Bytes;
    ULONG SizeInBytes;
    NTSTATUS Status;

    Status = ExportAskForAll(Pack);
    if (!NT_SUCCESS(Status) || Pack->Session->Cache == NULL) {
        return Status;
    }

    Status = FunctionMakeCache(Pack->Session, &Bytes, &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return BaseNoteStep(&Pack->FailedStep,
                            "make the symbol cache",
                            Status);
    }

    Status = ExportPackBeginEntry(Pack,
                                  Name,
                                  RTL_NUMBER_OF(Name) - 1,
                                  SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Pack->FailedStep,
                              "write the pack",
                              BaseWritePackFile(Pack->Writer,
                                                0,
                                                Bytes,
                                                SizeInBytes));
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Pack->FailedStep,
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
ExportPackIndexes(
    _Inout_ PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = Pack->Session;
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    UNICODE_STRING Path;
    UNICODE_STRING Name;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfStores;
         Index++) {

        Status = SessionComposeNameBeside(Session,
                                          Session->Stores[Index],
                                          L".index",
                                          &Path);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        RtlPointUnicodeString(&Name,
                              Path.Buffer + Session->DirectoryLength /
                                                sizeof(WCHAR) + 1,
                              (Path.Length - Session->DirectoryLength) /
                                      sizeof(WCHAR) - 1);
        Status = ExportPackFile(Pack, &Name);
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
ExportPackNameFolder(
    _Inout_ PREADER_PACKING Pack
    )
{
    UNICODE_STRING Path = Pack->Session->Path;
    UNICODE_STRING Name;

    Path.Length = Pack->Session->DirectoryLength;
    if (!Pack->Session->IsDirectory) {
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


_Use_decl_annotations_
NTSTATUS
ExportWritePack(
    PREADER_PACKING Pack
    )
{
    PREADER_SESSION Session = Pack->Session;
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    NTSTATUS Status;

    Pack->Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                               READER_PACKING_BUFFER);
    Pack->Name = (PCHAR)Allocator->Allocate(Allocator->Context,
                                            READER_PACKING_NAME);
    if (Pack->Buffer == NULL || Pack->Name == NULL) {
        return BaseNoteStep(&Pack->FailedStep,
                            "write the pack",
                            STATUS_NO_MEMORY);
    }

    Status = BaseCreatePackWriter(Pack->Context,
                                  Pack->File,
                                  TRUE,
                                  &Pack->Writer);
    if (!NT_SUCCESS(Status)) {
        return BaseNoteStep(&Pack->FailedStep, "write the pack", Status);
    }

    ExportPackNameFolder(Pack);
    Status = ExportPackStores(Pack);
    if (NT_SUCCESS(Status) && Session->IsDirectory) {

        Session->Path.Length = Session->DirectoryLength;
        Status = RtlEnumerateDirectory(Pack->Context->Rtl,
                                       &Session->Path,
                                       ExportPackLog,
                                       Pack);
        if (NT_SUCCESS(Status) && Session->HasDirectories) {
            Status = ExportPackLogsBelow(Pack);
        }

        if (!NT_SUCCESS(Status) && Pack->FailedStep == NULL) {
            BaseNoteStep(&Pack->FailedStep, "read the session", Status);
        }
    }

    //
    // The records are read after they are packed, so that what a running
    // program adds meanwhile has answers too many, not too few.
    //

    if (NT_SUCCESS(Status)) {
        Status = ExportPackCache(Pack);
    }

    if (NT_SUCCESS(Status) &&
        Session->IsDirectory &&
        !Pack->IsWithoutIndexes) {

        Status = ExportPackIndexes(Pack);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Pack->FailedStep,
                              "write the pack",
                              BaseEndPack(Pack->Writer));
    }

    return Status;
}


_Use_decl_annotations_
VOID
ExportRundownPack(
    PREADER_PACKING Pack
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;

    BaseDestroyPackWriter(Pack->Writer);
    SumRundownReading(&Pack->Reading);
    Allocator->Free(Allocator->Context, Pack->Buffer);
    Allocator->Free(Allocator->Context, Pack->Name);
}

/*++

Module Name:

    CommandPack.c

Abstract:

    TraceReader pack: puts all that a session is into one ZIP file, so that it
    can be read elsewhere: its stores up to the end of their records, its logs,
    and the symbol cache with an answer for each site.

--*/

#include "ReaderFile.h"
#include "ReaderZip.h"

#define READER_PACK_BUFFER_SIZE 0x100000u

typedef struct _READER_PACK {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    READER_ZIP Zip;
    HANDLE File;
    PUCHAR Buffer;
    PCHAR Name;                     // of an entry, UTF-8
    ULONG FolderLength;             // bytes of it that all names begin with
    ULONG NumberOfLogs;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;      // records of rings
    ULONGLONG NumberOfNames;        // functions with a name
    PCSZ FailedStep;
} READER_PACK;
typedef READER_PACK *PREADER_PACK;

static const WCHAR ReaderLogSuffix[] = L".log";
static const WCHAR ReaderControlName[] = L"" TRACE_CONTROL_FILE_NAME;


static
NTSTATUS
ReaderFailPack(
    _Inout_ PREADER_PACK Pack,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Notes what failed.

Arguments:

    Pack - The pack.

    Step - A literal.

    Status - The status.

Return Value:

    The status.

--*/
{
    if (!NT_SUCCESS(Status)) {
        Pack->FailedStep = Step;
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderBeginPackEntry(
    _Inout_ PREADER_PACK Pack,
    _In_reads_(LengthInChars) PCWSTR Name,
    _In_ ULONG LengthInChars,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Begins an entry, in the folder of the session.

Arguments:

    Pack - The pack.

    Name, LengthInChars - The file's name.

    SizeInBytes - Its size.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCHAR Text = Pack->Name + Pack->FolderLength;
    ULONG Length;
    ULONG Index;

    RtlWideToUtf8(Name,
                  LengthInChars,
                  Text,
                  READER_ZIP_MAXIMUM_NAME - Pack->FolderLength,
                  &Length);
    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] == '\\') {
            Text[Index] = '/';
        }
    }

    return ReaderFailPack(Pack,
                          "write the pack",
                          ReaderBeginZipEntry(&Pack->Zip,
                                              Pack->Name,
                                              Pack->FolderLength + Length,
                                              SizeInBytes));
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackBytes(
    _Inout_ PREADER_PACK Pack,
    _In_ HANDLE File,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
/*++

Routine Description:

    Copies a part of a file to the same place of the entry.

Arguments:

    Pack - The pack.

    File - The file.

    Start, End - The part, file offsets.  What the file has lost of it since
        is zero.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG Size;
    ULONG ReadInBytes;
    NTSTATUS Status;

    while (Start < End) {

        Size = End - Start;
        if (Size > READER_PACK_BUFFER_SIZE) {
            Size = READER_PACK_BUFFER_SIZE;
        }

        Status = RtlReadFile(Pack->Context->Rtl,
                             File,
                             Start,
                             Pack->Buffer,
                             (ULONG)Size,
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes == 0)) {
            return STATUS_SUCCESS;
        }

        if (!NT_SUCCESS(Status)) {
            return ReaderFailPack(Pack, "read the session", Status);
        }

        Status = ReaderWriteZipEntry(&Pack->Zip,
                                     Start,
                                     Pack->Buffer,
                                     ReadInBytes);
        if (!NT_SUCCESS(Status)) {
            return ReaderFailPack(Pack, "write the pack", Status);
        }

        Start += ReadInBytes;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackFile(
    _Inout_ PREADER_PACK Pack,
    _In_ PCUNICODE_STRING Name
    )
/*++

Routine Description:

    Packs a file of the session's directory as it is.

Arguments:

    Pack - The pack.

    Name - The file's.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Pack->Session;
    PCRTL Rtl = Pack->Context->Rtl;
    HANDLE File = NULL;
    ULONGLONG Size = 0;
    NTSTATUS Status;

    Status = STATUS_SUCCESS;
    Session->Path.Length = Session->DirectoryLength;
    if (Session->IsDirectory) {
        Status = RtlAppendPath(&Session->Path,
                               Name->Buffer,
                               Name->Length / sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &Session->Path, &File);
    }

    Session->Path.Length = Session->DirectoryLength;
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Rtl, File, &Size);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderFailPack(Pack, "read the session", Status);
        goto End;
    }

    Status = ReaderBeginPackEntry(Pack,
                                  Name->Buffer,
                                  Name->Length / sizeof(WCHAR),
                                  Size);
    if (NT_SUCCESS(Status)) {
        Status = ReaderPackBytes(Pack, File, 0, Size);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderEndZipEntry(&Pack->Zip));
    }

End:
    if (File != NULL) {
        RtlClose(Rtl, File);
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackRecords(
    _Inout_ PREADER_PACK Pack,
    _Inout_ PREADER_STORE Store,
    _Out_ PULONGLONG Overtaken
    )
/*++

Routine Description:

    Copies the records of a store, each to where it is in the store's file.

Arguments:

    Pack - The pack.

    Store - The store, open, its end valid.

    Overtaken - Receives how many of a ring's records were overwritten before
        they could be copied.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG End = Store->EndOfRecords;
    ULONGLONG Position = Store->StartOfRecords;
    ULONGLONG Available;
    ULONG NumberRead;
    NTSTATUS Status;

    *Overtaken = 0;
    while (Position < End) {

        Status = ReaderReadRecords(Pack->Context,
                                   Store,
                                   Position,
                                   (PTRACE_RECORD)Pack->Buffer,
                                   READER_PACK_BUFFER_SIZE /
                                       TRACE_RECORD_SIZE,
                                   &NumberRead);
        if (!NT_SUCCESS(Status)) {
            return ReaderFailPack(Pack, "read the session", Status);
        }

        if (NumberRead == 0) {
            if (Store->StartOfRecords <= Position) {
                return ReaderFailPack(Pack,
                                      "read the session",
                                      STATUS_END_OF_FILE);
            }

            *Overtaken += (Store->StartOfRecords - Position) /
                          TRACE_RECORD_SIZE;
            Position = Store->StartOfRecords;
            continue;
        }

        Status = ReaderWriteZipEntry(
            &Pack->Zip,
            CorePositionToFileOffset(Header, Position, &Available),
            Pack->Buffer,
            NumberRead * TRACE_RECORD_SIZE);
        if (!NT_SUCCESS(Status)) {
            return ReaderFailPack(Pack, "write the pack", Status);
        }

        Position += (ULONGLONG)NumberRead * TRACE_RECORD_SIZE;
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderSettleHeader(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG First,
    _In_ ULONGLONG End
    )
/*++

Routine Description:

    Makes a header publish the records that were copied.  One that does so
    already stays as it is.

Arguments:

    Header - A copy of the store's.

    First - Where a ring's records begin; 0: where they always did.

    End - Where they end.

Return Value:

    None.

--*/
{
    if ((Header->Generation & 1) != 0) {
        Header->ViewFileOffset = End;
    } else {
        Header->Cursor = End - Header->CursorToFileOffset;
    }

    if (Header->RingSizeInBytes != 0) {
        Header->FirstPosition = First;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackStore(
    _Inout_ PREADER_PACK Pack,
    _Inout_ PREADER_STORE Store
    )
/*++

Routine Description:

    Packs a store that is open: its header and its records, as they are at this
    moment.

Arguments:

    Pack - The pack.

    Store - The store, open, its end valid.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    TRACE_STORE_HEADER *Header;
    ULONGLONG End = Store->EndOfRecords;
    ULONGLONG First;
    ULONGLONG RingEnd = Store->Header->RingFileOffset +
                        Store->Header->RingSizeInBytes;
    ULONGLONG Size = End;
    ULONGLONG Overtaken = 0;
    NTSTATUS Status;

    if (Store->Header->RingSizeInBytes != 0 && RingEnd < End) {
        Size = RingEnd;
    }

    Header = (TRACE_STORE_HEADER *)
        Pack->Context->Allocator->Allocate(
            Pack->Context->Allocator->Context,
            sizeof(TRACE_STORE_HEADER));
    if (Header == NULL) {
        return ReaderFailPack(Pack, "write the pack", STATUS_NO_MEMORY);
    }

    RtlCopyBytes(Header, Store->Header, sizeof(*Header));
    Status = ReaderBeginPackEntry(Pack,
                                  Store->Name.Buffer,
                                  Store->Name.Length / sizeof(WCHAR),
                                  Size);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // What a ring has is known when all of it is copied: its header comes last.
    //

    if (Header->RingSizeInBytes == 0) {
        ReaderSettleHeader(Header, 0, End);
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderWriteZipEntry(&Pack->Zip,
                                                    0,
                                                    Header,
                                                    sizeof(*Header)));
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderPackBytes(Pack,
                                 Store->File,
                                 sizeof(*Header),
                                 Header->HeaderSize);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderPackRecords(Pack, Store, &Overtaken);
    }

    if (NT_SUCCESS(Status) && Header->RingSizeInBytes != 0) {

        //
        // If its writer has passed the end there was, nothing is left.
        //

        First = Store->StartOfRecords > Header->HeaderSize
                    ? Store->StartOfRecords
                    : 0;
        if (First > End) {
            First = 0;
            End = Header->HeaderSize;
        }

        ReaderSettleHeader(Header, First, End);
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderWriteZipEntry(&Pack->Zip,
                                                    0,
                                                    Header,
                                                    sizeof(*Header)));
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderEndZipEntry(&Pack->Zip));
    }

    if (NT_SUCCESS(Status)) {
        Pack->NumberOvertaken += Overtaken;
        if (Store->StartOfRecords < End) {
            Pack->NumberOfRecords += (End - Store->StartOfRecords) /
                                     TRACE_RECORD_SIZE;
        }
    }

End:
    Pack->Context->Allocator->Free(Pack->Context->Allocator->Context, Header);
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackStores(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Packs all stores.  One that is not good, or holds a tree, is packed as it
    is.

Arguments:

    Pack - The pack.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Pack->Session;
    PREADER_STORE Store;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        Status = STATUS_UNSUCCESSFUL;
        if (Store->Thread != READER_NONE) {
            Status = ReaderOpenSessionStore(Session, Store);
        }

        if (NT_SUCCESS(Status) &&
            !Store->IsTree &&
            Store->HeaderResult.State == CoreHeaderValid &&
            Store->EndState == CoreEndValid) {
            Status = ReaderPackStore(Pack, Store);
        } else {
            Status = ReaderPackFile(Pack, &Store->Name);
        }

        ReaderCloseStore(Pack->Context, Store);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}


static
NTSTATUS
ReaderPackLog(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Packs a directory's entry if it is a log or the control file.

Arguments:

    CallbackContext - The pack.

    Name - The entry's.

    SizeInBytes - Not used: it may be older than the file.

    IsDirectory - Whether the entry is one.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_PACK Pack = (PREADER_PACK)CallbackContext;
    ULONG SuffixLength = RTL_NUMBER_OF(ReaderLogSuffix) - 1;
    ULONG NameLength = Name->Length / sizeof(WCHAR);
    WCHAR Buffer[READER_MAXIMUM_NAME_IN_CHARS];
    UNICODE_STRING Path;
    WCHAR Char;
    ULONG Index;
    BOOLEAN IsControl;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (IsDirectory || NameLength < SuffixLength) {
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < NameLength; Index++) {
        if (NameLength != RTL_NUMBER_OF(ReaderControlName) - 1 ||
            Pack->Context->Rtl->RtlUpcaseUnicodeChar(Name->Buffer[Index]) !=
                Pack->Context->Rtl->RtlUpcaseUnicodeChar(
                    ReaderControlName[Index])) {
            break;
        }
    }

    IsControl = Index == NameLength;
    for (Index = 0; !IsControl && Index < SuffixLength; Index++) {
        Char = Name->Buffer[NameLength - SuffixLength + Index];
        if (Pack->Context->Rtl->RtlUpcaseUnicodeChar(Char) !=
            Pack->Context->Rtl->RtlUpcaseUnicodeChar(
                ReaderLogSuffix[Index])) {
            return STATUS_SUCCESS;
        }
    }

    Status = ReaderComposeName(&Pack->Session, Name, Buffer, &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!IsControl) {
        Pack->NumberOfLogs += 1;
    }

    return ReaderPackFile(Pack, &Path);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackLogsBelow(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Packs the logs of the processes that are packed.

Arguments:

    Pack - The pack, of several processes.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
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
                                           ReaderPackLog,
                                           Pack);
            Session->VisitedDirectory = 0;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAskForAll(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Asks the images for everything that a reader of the session may ask: reads
    all records by the general rules, and then looks for the source line of
    each site and of each function.

Arguments:

    Pack - The pack, its tally and functions empty.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Pack->Session;
    PREADER_FUNCTIONS Functions = &Pack->Functions;
    READER_SOURCE_LINE Line;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        Status = ReaderTallyThread(&Pack->Tally, Index);
        if (Status == STATUS_NO_MEMORY) {
            return ReaderFailPack(Pack, "read the session", Status);
        }
    }

    for (Index = 0; Index < Functions->Sites.Capacity; Index++) {
        if (Functions->Sites.Slots[Index].IsUsed) {
            (VOID)ReaderFindLine(Session,
                                 Functions->Sites.Slots[Index].Key,
                                 &Line);
        }
    }

    for (Index = 0; Index < Functions->NumberOfFunctions; Index++) {

        PCREADER_FUNCTION Function = &Functions->Functions[Index];

        if (!Function->IsNameOwned || Function->FoldedLength != 0) {
            Pack->NumberOfNames += 1;
        }

        (VOID)ReaderFindLine(Session,
                             ((ULONGLONG)Function->Module << 32) |
                                 Function->Rva,
                             &Line);
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPackCache(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Completes the symbol cache and packs it.

Arguments:

    Pack - The pack.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    static const WCHAR Name[] = L"symbols.cache";
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PVOID Bytes;
    ULONG SizeInBytes;
    NTSTATUS Status;

    Status = ReaderAskForAll(Pack);
    if (!NT_SUCCESS(Status) || Pack->Session.Cache == NULL) {
        return Status;
    }

    Status = ReaderMakeCache(&Pack->Session, &Bytes, &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return ReaderFailPack(Pack, "make the symbol cache", Status);
    }

    Status = ReaderBeginPackEntry(Pack,
                                  Name,
                                  RTL_NUMBER_OF(Name) - 1,
                                  SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderWriteZipEntry(&Pack->Zip,
                                                    0,
                                                    Bytes,
                                                    SizeInBytes));
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderEndZipEntry(&Pack->Zip));
    }

    Allocator->Free(Allocator->Context, Bytes);
    return Status;
}


static
VOID
ReaderNamePackFolder(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Names the folder in the pack as the session's directory.

Arguments:

    Pack - The pack.

Return Value:

    None.

--*/
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
    RtlWideToUtf8(Name.Buffer,
                  Name.Length / sizeof(WCHAR),
                  Pack->Name,
                  READER_ZIP_MAXIMUM_NAME / 2,
                  &Pack->FolderLength);
    if (Pack->FolderLength != 0) {
        Pack->Name[Pack->FolderLength] = '/';
        Pack->FolderLength += 1;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderWritePack(
    _Inout_ PREADER_PACK Pack
    )
/*++

Routine Description:

    Writes all of a pack.

Arguments:

    Pack - The pack, its file open.

Return Value:

    STATUS_SUCCESS or what failed, in FailedStep.

--*/
{
    PREADER_SESSION Session = &Pack->Session;
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    NTSTATUS Status;

    Pack->Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                               READER_PACK_BUFFER_SIZE);
    Pack->Name = (PCHAR)Allocator->Allocate(Allocator->Context,
                                            READER_ZIP_MAXIMUM_NAME);
    if (Pack->Buffer == NULL || Pack->Name == NULL) {
        return ReaderFailPack(Pack, "write the pack", STATUS_NO_MEMORY);
    }

    Status = ReaderInitializeZip(&Pack->Zip,
                                 Pack->Context,
                                 Pack->File,
                                 Session->Header->ProcessCreationTime);
    if (!NT_SUCCESS(Status)) {
        return ReaderFailPack(Pack, "write the pack", Status);
    }

    ReaderNamePackFolder(Pack);
    Status = ReaderPackStores(Pack);
    if (NT_SUCCESS(Status) && Session->IsDirectory) {

        Session->Path.Length = Session->DirectoryLength;
        Status = RtlEnumerateDirectory(Pack->Context->Rtl,
                                       &Session->Path,
                                       ReaderPackLog,
                                       Pack);
        if (NT_SUCCESS(Status) && Session->HasDirectories) {
            Status = ReaderPackLogsBelow(Pack);
        }

        if (!NT_SUCCESS(Status) && Pack->FailedStep == NULL) {
            ReaderFailPack(Pack, "read the session", Status);
        }
    }

    //
    // The records are read after they are packed, so that what a running
    // program adds meanwhile has answers too many, not too few.
    //

    if (NT_SUCCESS(Status)) {
        Status = ReaderPackCache(Pack);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderFailPack(Pack,
                                "write the pack",
                                ReaderEndZip(&Pack->Zip));
    }

    return Status;
}


static
ULONG
ReaderPackTo(
    _Inout_ PREADER_PACK Pack,
    _Inout_ PWCHAR PathBuffer
    )
/*++

Routine Description:

    Writes the pack under another name and then gives it its own.

Arguments:

    Pack - The pack, its session open.

    PathBuffer - Room for two paths.

Return Value:

    READER_EXIT_*.

--*/
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
        return ReaderFail(Context,
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

        return ReaderFail(Context,
                          "create the pack (a file that is there is not "
                          "replaced)",
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
        Status = ReaderOpenTemporaryFile(Context, &Temporary, &Pack->File);
    }

    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "create the pack",
                          Options->OutputUtf8,
                          Status);
    }

    Status = ReaderWritePack(Pack);
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Context->Rtl, Pack->File, &Size);
        if (NT_SUCCESS(Status)) {
            Status = ReaderRenameFile(Context, Pack->File, &Path, FALSE);
        }

        ReaderFailPack(Pack, "give the pack its name", Status);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderRemoveFile(Context, Pack->File);
    }

    RtlClose(Context->Rtl, Pack->File);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          Pack->FailedStep,
                          Options->OutputUtf8,
                          Status);
    }

    RtlWriteText(Context->Output,
                 "%s: %u store%s with %llu records, %u log%s, %llu names of "
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
ReaderCommandPack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs pack.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_PACK Pack;
    PWCHAR PathBuffer;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: pack: which file? --output is missing "
                     "(see TraceReader pack --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Pack = (PREADER_PACK)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_PACK));
    PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            2 * RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    if (Pack == NULL || PathBuffer == NULL) {
        ReaderFail(Context, "pack", Options->PathUtf8, STATUS_NO_MEMORY);
        goto End;
    }

    Pack->Context = Context;
    Pack->Options = Options;
    if (!ReaderBeginCommand(&Pack->Session, Context, Options)) {
        goto End;
    }

    ReaderInitializeFunctions(&Pack->Functions, &Pack->Session);
    ReaderInitializeTally(&Pack->Tally, &Pack->Functions, NULL);
    Pack->Tally.IsGeneral = TRUE;
    ExitCode = ReaderPackTo(Pack, PathBuffer);
    if (ExitCode == READER_EXIT_SUCCESS) {
        ReaderSaveCache(&Pack->Session,
                        (Options->Given & READER_OPTION_VERBOSE) != 0);
    }

    ReaderRundownZip(&Pack->Zip);
    ReaderRundownTally(&Pack->Tally);
    ReaderRundownFunctions(&Pack->Functions);
    ReaderCloseSession(&Pack->Session);

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
    "PATH",
    "Puts a session into one file that can be read elsewhere",
    "FILE is a ZIP file, which any unzip opens: a folder with the session's\n"
    "stores, its logs, session.control (what was asked of it while it was\n"
    "recorded) and symbols.cache, which has what the images say of\n"
    "every site.  Unpack it anywhere and give TraceReader the folder: report,\n"
    "tree and replay show what they show here, without the images.  Nothing\n"
    "is compressed.  Stores have their records and no room for more; those of\n"
    "a running program have what is there at that moment.  FILE must not be\n"
    "there yet; it is there when it is complete: it is FILE.tmp before.\n",
    "  TraceReader pack -o busy.tracepack SESSION\n"
    "  unzip busy.tracepack\n",
    READER_OPTION_OUTPUT | READER_OPTION_VERBOSE | READER_OPTION_SYMBOLS |
        READER_OPTION_PROCESS,
    ReaderCommandPack
};

/*++

Module Name:

    SymbolLoad.c

Abstract:

    The image of a traced module, its PDB and its DWARF are found and loaded.

--*/

#include "SymbolLoad.h"

//
// Texts are kept in chunks, so that those given out stay where they are.
//

#define READER_TEXT_CHUNK_SIZE 0x10000

//
// What reads a mapped file.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_PARSE_FILE)(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes
    );
typedef READER_PARSE_FILE *PREADER_PARSE_FILE;

_Use_decl_annotations_
PCHAR
SymbolReserveText(
    PREADER_SYMBOLS Symbols,
    ULONG LengthInBytes
    )
{
    PCALLOCATOR Allocator;
    ULONG Capacity;
    PREADER_TEXT_CHUNK Chunk;
    PCHAR Text;

    Allocator = Symbols->Allocator;
    Chunk = Symbols->Chunks;
    if (Chunk == NULL ||
        Chunk->CapacityInBytes - Chunk->UsedInBytes <= LengthInBytes) {

        Capacity = READER_TEXT_CHUNK_SIZE - sizeof(*Chunk);
        if (Capacity <= LengthInBytes) {
            Capacity = LengthInBytes + 1;
        }

        Chunk = Allocator->Allocate(Allocator->Context,
                                    sizeof(*Chunk) + Capacity);
        if (Chunk == NULL) {
            return NULL;
        }

        Chunk->CapacityInBytes = Capacity;
        Chunk->Next = Symbols->Chunks;
        Symbols->Chunks = Chunk;
    }

    Text = (PCHAR)(Chunk + 1) + Chunk->UsedInBytes;
    Chunk->UsedInBytes += LengthInBytes + 1;
    return Text;
}

_Use_decl_annotations_
PCSZ
SymbolKeepText(
    PREADER_SYMBOLS Symbols,
    PCSZ Text,
    ULONG LengthInBytes
    )
{
    PCHAR Copy;

    Copy = SymbolReserveText(Symbols, LengthInBytes);
    if (Copy != NULL) {
        RtlCopyBytes(Copy, Text, LengthInBytes);
    }

    return Copy;
}

//
// Makes the path of the module's image. The header's bytes may be anything,
// and may change: the length is read once.
// Rtl: the operating system's routines.
// Header: the store's header.
// Error: what failed.
// Returns STATUS_SUCCESS, or what is wrong with the path.
//

static
_Must_inspect_result_
NTSTATUS
SymbolMakeImagePath(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _Inout_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
{
    ULONG Index;
    ULONG Length;
    NTSTATUS Status;

    Length = RtlLoadAcquire32(&Header->ModulePathLength);
    if (Length == 0 || Length > sizeof(Header->ModulePath)) {
        return RtlSetError(Error,
                           "reading the module's path in the header",
                           NULL,
                           STATUS_FILE_CORRUPT_ERROR);
    }

    RtlUtf8ToWide(Header->ModulePath,
                  Length,
                  Path->DosBuffer,
                  RTL_NUMBER_OF(Path->DosBuffer) - 1,
                  &Length);
    Path->DosBuffer[Length] = 0;
    RtlPointUnicodeString(&Path->Dos, Path->DosBuffer, Length);

    for (Index = 0; Index < Length; Index++) {
        if (Path->DosBuffer[Index] == 0) {
            return RtlSetError(Error,
                               "reading the module's path in the header",
                               &Path->Dos,
                               STATUS_FILE_CORRUPT_ERROR);
        }
    }

    if (Header->ModulePathFullLength > Header->ModulePathLength) {
        return RtlSetError(Error,
                           "finding the image (its path in the header is cut)",
                           &Path->Dos,
                           STATUS_NAME_TOO_LONG);
    }

    Status = RtlDosPathToNtPath(Rtl,
                                &Path->Dos,
                                Path->NtBuffer,
                                RTL_NUMBER_OF(Path->NtBuffer),
                                &Path->Nt);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, "finding the image", &Path->Dos, Status);
    }

    return STATUS_SUCCESS;
}

//
// Reads the mapped image. A page of it that cannot be read (a network file
// whose server is gone, a file that was cut) raises an exception, which is
// caught here; everything that was allocated until then is in Symbols.
//
// Symbols: the image's names.
// Returns STATUS_SUCCESS, what is wrong with the image, or the exception's
// code.
//

static
DECLSPEC_NOINLINE
NTSTATUS
SymbolParseImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes
    )
{
    NTSTATUS Status;
    NTSTATUS ExceptionStatus;
    ULONG SectionInBytes;

    //
    // The code is taken in the filter: Wine 8 hands 0 to the handler.
    //

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = ImageInitializeCoff(Symbols->Allocator,
                                     View,
                                     SizeInBytes,
                                     &Symbols->Coff);
        if (NT_SUCCESS(Status)) {
            Status = ImageInitializeUnwind(Symbols->Allocator,
                                           &Symbols->Coff,
                                           View,
                                           SizeInBytes,
                                           &Symbols->Unwind);
        }
        if (NT_SUCCESS(Status)) {
            Status = ImageInitializeDwarf(Symbols->Allocator,
                                          &Symbols->Coff,
                                          View,
                                          SizeInBytes,
                                          &Symbols->Dwarf);
            Symbols->HasDwarf =
                ImageFindCoffSection(&Symbols->Coff,
                                     View,
                                     SizeInBytes,
                                     ".debug_info",
                                     &SectionInBytes) != NULL;
            ImageFindDebugLink(&Symbols->Coff,
                               View,
                               SizeInBytes,
                               &Symbols->DebugLink);
        }
    } __except (ExceptionStatus = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Status = ExceptionStatus;
    }

    return Status;
}

//
// Reads the mapped file that has the image's debugging information apart from
// it, if its checksum is the one that the image names.
// Returns STATUS_SUCCESS, STATUS_REVISION_MISMATCH if it does not belong to
// the image, what is wrong with the file, or the exception's code.
//

static
DECLSPEC_NOINLINE
NTSTATUS
SymbolParseDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes
    )
{
    NTSTATUS Status;
    NTSTATUS ExceptionStatus;

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = STATUS_REVISION_MISMATCH;
        if (ImageChecksumDebugFile(View, SizeInBytes) ==
            Symbols->DebugLink.Checksum) {
            Status = ImageInitializeCoff(Symbols->Allocator,
                                         View,
                                         SizeInBytes,
                                         &Symbols->DebugCoff);
        }
        if (NT_SUCCESS(Status) &&
            !ImageIsDebugFileOf(&Symbols->DebugCoff, &Symbols->Coff)) {
            Status = STATUS_REVISION_MISMATCH;
        }
        if (NT_SUCCESS(Status)) {
            ImageRundownDwarf(&Symbols->Dwarf);
            Status = ImageInitializeDwarf(Symbols->Allocator,
                                          &Symbols->DebugCoff,
                                          View,
                                          SizeInBytes,
                                          &Symbols->Dwarf);
        }
    } __except (ExceptionStatus = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Status = ExceptionStatus;
    }

    return Status;
}

//
// Reads the image itself. The file is not held open or mapped afterwards: it
// can be rebuilt while the reader runs.
// Symbols: the image's names.
// Parse: what reads it, SymbolParseImage; or SymbolParseDebugFile if it is not
// the image but that file.
// Error: what failed.
// Returns STATUS_SUCCESS, or the status of what failed.
//

static
_Must_inspect_result_
NTSTATUS
SymbolLoadImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PREADER_IMAGE_PATH Path,
    _In_ PREADER_PARSE_FILE Parse,
    _Inout_ PRTL_ERROR Error
    )
{
    PCRTL Rtl;
    HANDLE File;
    PCSZ Step;
    HANDLE Section;
    ULONGLONG SizeInBytes;
    NTSTATUS Status;
    PVOID View;

    Rtl = Symbols->Rtl;
    File = NULL;
    Section = NULL;
    View = NULL;

    Step = "opening the image";
    Status = RtlOpenFileForReading(Rtl, &Path->Nt, &File);
    if (!NT_SUCCESS(Status)) {
        File = NULL;
        goto End;
    }

    Status = RtlQueryFileSize(Rtl, File, &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Step = "reading the image";
    if (SizeInBytes == 0 || SizeInBytes > 0xffffffffu) {
        Status = STATUS_INVALID_IMAGE_FORMAT;
        goto End;
    }

    Status = RtlCreateFileSection(Rtl, File, 0, FALSE, &Section);
    if (!NT_SUCCESS(Status)) {
        Section = NULL;
        goto End;
    }

    Status = RtlMapFileSection(Rtl,
                               Section,
                               0,
                               (SIZE_T)SizeInBytes,
                               FALSE,
                               NULL,
                               &View);
    if (!NT_SUCCESS(Status)) {
        View = NULL;
        goto End;
    }

    Status = Parse(Symbols, View, SizeInBytes);

End:

    if (View != NULL) {
        RtlUnmapFileSection(Rtl, View);
    }
    if (Section != NULL) {
        RtlClose(Rtl, Section);
    }
    if (File != NULL) {
        RtlClose(Rtl, File);
    }

    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, Step, &Path->Dos, Status);
    }

    return Status;
}

//
// Says whether the image on disk is the one that was traced. A time stamp of
// zero (linkers write it on demand, for builds that can be repeated) tells
// nothing; the checksum then stands in for it.
//
// Coff: the identity of the image on disk.
// Header: that of the image that was traced.
//

static
BOOLEAN
SymbolIsTracedImage(
    _In_ PCREADER_COFF Coff,
    _In_ PCTRACE_STORE_HEADER Header
    )
{
    if (Coff->TimeDateStamp != Header->ModuleTimeDateStamp ||
        Coff->SizeOfImage != Header->ModuleSize) {
        return FALSE;
    }

    return (BOOLEAN)(Coff->TimeDateStamp != 0 ||
                     Coff->CheckSum == Header->ModuleCheckSum);
}

_Use_decl_annotations_
VOID
SymbolForgetImage(
    PREADER_SYMBOLS Symbols
    )
{
    ImageRundownDwarf(&Symbols->Dwarf);
    ImageRundownUnwind(&Symbols->Unwind);
    ImageRundownCoff(&Symbols->Coff);
    ImageRundownCoff(&Symbols->DebugCoff);
}

//
// Notes why a file of the image's name is not used; the first one counts.
// Symbols: the warning; has the file's identity if it is an image.
// Header: the identity of the image that was traced.
// Status: a success if the file is an image.
// Without memory there is no warning.
//

static
VOID
SymbolNoteOtherImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING DosPath,
    _In_ NTSTATUS Status
    )
{
    PCALLOCATOR Allocator = Symbols->Allocator;
    PCREADER_COFF Coff = &Symbols->Coff;
    RTL_WRITER Writer;
    PCHAR Text;

    if (Symbols->Warning != NULL) {
        return;
    }

    Text = (PCHAR)Allocator->Allocate(Allocator->Context,
                                      READER_PDB_WARNING_SIZE);
    if (Text == NULL) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, READER_PDB_WARNING_SIZE);
    RtlWriteText(&Writer, "image not used: %Z", DosPath);
    if (!NT_SUCCESS(Status)) {
        RtlWriteText(&Writer, " cannot be read as one (0x%08X)", Status);
    } else if (Coff->TimeDateStamp == Header->ModuleTimeDateStamp &&
               Coff->SizeOfImage == Header->ModuleSize) {
        RtlWriteText(&Writer,
                     " is another build (checksum 0x%08X, traced was 0x%08X)",
                     Coff->CheckSum,
                     Header->ModuleCheckSum);
    } else {
        RtlWriteText(&Writer,
                     " is another build (time stamp 0x%08X, size 0x%X; traced "
                     "was 0x%08X, 0x%X)",
                     Coff->TimeDateStamp,
                     Coff->SizeOfImage,
                     Header->ModuleTimeDateStamp,
                     Header->ModuleSize);
    }

    Symbols->Warning = SymbolKeepText(Symbols, Text, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Text);
}

//
// Looks for the image that was traced in a folder.
// Symbols: the image's names, or a warning if the folder has a file of that
// name which is not it.
// Header: the store's header.
// Path: the image's name; receives where the image is.
// Returns TRUE if it is there.
//

static
BOOLEAN
SymbolTryImageInFolder(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING Folder,
    _Inout_ PREADER_IMAGE_PATH Path
    )
{
    RTL_ERROR Error;
    ULONG Index;
    UNICODE_STRING Name;
    NTSTATUS Status;
    UNICODE_STRING Tried;

    Tried.Buffer = Path->OtherBuffer;
    Tried.Length = 0;
    Tried.MaximumLength = sizeof(Path->OtherBuffer) - sizeof(WCHAR);
    RtlBaseName(&Path->Dos, &Name);
    if (!NT_SUCCESS(RtlAppendPath(&Tried,
                                  Folder->Buffer,
                                  Folder->Length / sizeof(WCHAR),
                                  FALSE)) ||
        !NT_SUCCESS(RtlAppendPath(&Tried,
                                  Name.Buffer,
                                  Name.Length / sizeof(WCHAR),
                                  TRUE)) ||
        Tried.Length / sizeof(WCHAR) >= RTL_NUMBER_OF(Path->DosBuffer) ||
        !NT_SUCCESS(RtlDosPathToNtPath(Symbols->Rtl,
                                       &Tried,
                                       Path->NtBuffer,
                                       RTL_NUMBER_OF(Path->NtBuffer),
                                       &Path->Nt))) {
        return FALSE;
    }

    Status = SymbolLoadImage(Symbols, Path, SymbolParseImage, &Error);
    if (!NT_SUCCESS(Status) || !SymbolIsTracedImage(&Symbols->Coff, Header)) {

        //
        // Most folders have no such file.
        //

        if (NT_SUCCESS(Status) || Status == STATUS_INVALID_IMAGE_FORMAT) {
            SymbolNoteOtherImage(Symbols, Header, &Tried, Status);
        }

        SymbolForgetImage(Symbols);
        return FALSE;
    }

    for (Index = 0; Index < Tried.Length / sizeof(WCHAR); Index++) {
        Path->DosBuffer[Index] = Path->OtherBuffer[Index];
    }
    Path->DosBuffer[Index] = 0;
    RtlPointUnicodeString(&Path->Dos, Path->DosBuffer, Index);
    return TRUE;
}

//
// Finds the image that was traced: where the header says, or in a folder of
// the symbol path.
// Symbols: the image's names.
// Header: the store's header.
// Path: where the image is.
// Error: why it was not found where the header says.
// Returns STATUS_SUCCESS, or why it was not found there.
//

static
_Must_inspect_result_
NTSTATUS
SymbolFindImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
{
    UNICODE_STRING Folder;
    ULONG Offset;
    NTSTATUS Status;

    Status = SymbolMakeImagePath(Symbols->Rtl, Header, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (SymbolIsLocalPath(&Path->Dos)) {
        Status = SymbolLoadImage(Symbols, Path, SymbolParseImage, Error);
    } else {
        Status = RtlSetError(Error,
                             "opening the image (the path in the store is of "
                             "another machine or a device: --symbols with its "
                             "folder opens it)",
                             &Path->Dos,
                             STATUS_ACCESS_DENIED);
    }
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (NT_SUCCESS(Status) && !SymbolIsTracedImage(&Symbols->Coff, Header)) {
        Status = RtlSetError(Error,
                             "image was rebuilt since the trace",
                             &Path->Dos,
                             STATUS_REVISION_MISMATCH);
    }

    if (NT_SUCCESS(Status)) {
        return Status;
    }

    SymbolForgetImage(Symbols);
    Offset = 0;
    while (SymbolNextSymbolFolder(SymbolPath, &Offset, &Folder)) {
        if (SymbolTryImageInFolder(Symbols, Header, &Folder, Path)) {
            Symbols->Warning = NULL;
            Error->Status = STATUS_SUCCESS;
            return STATUS_SUCCESS;
        }
    }

    return Status;
}

//
// Keeps what DbgHelp needs to be told of the image and its PDB.
// ImagePath: where the image is.
// PdbFolder: where the PDB is.
//

static
_Must_inspect_result_
NTSTATUS
SymbolKeepPaths(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_z_ PCWSTR ImagePath,
    _In_z_ PCWSTR PdbFolder
    )
{
    ULONG FolderLength;
    ULONG ImageLength;

    ImageLength = RtlLengthOfWideString(ImagePath) + 1;
    FolderLength = RtlLengthOfWideString(PdbFolder) + 1;
    Symbols->ImagePath = Symbols->Allocator->Allocate(
        Symbols->Allocator->Context,
        ((SIZE_T)ImageLength + FolderLength) * sizeof(WCHAR));
    if (Symbols->ImagePath == NULL) {
        return STATUS_NO_MEMORY;
    }

    Symbols->PdbFolder = Symbols->ImagePath + ImageLength;
    RtlCopyBytes(Symbols->ImagePath, ImagePath, ImageLength * sizeof(WCHAR));
    RtlCopyBytes(Symbols->PdbFolder, PdbFolder, FolderLength * sizeof(WCHAR));
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
SymbolLoadLines(
    PREADER_SYMBOLS Symbols
    )
{
    PCALLOCATOR Allocator;
    READER_SYMBOL_PATH Path;
    PREADER_PDB_SEARCH Search;
    READER_SYMBOL_SOURCE Source;
    NTSTATUS Status;

    if (Symbols->ImagePath == NULL) {
        return;
    }

    Allocator = Symbols->Allocator;
    RtlZeroBytes(&Path, sizeof(Path));
    Path.Rtl = Symbols->Rtl;
    Path.Allocator = Allocator;
    Search = Allocator->Allocate(Allocator->Context, sizeof(*Search));
    if (Search != NULL) {
        Status = SymbolCreateDbgHelp(Symbols->Rtl,
                                     Allocator,
                                     Symbols->ImagePath,
                                     Symbols->PdbFolder,
                                     Symbols->ModuleBase,
                                     Symbols->Coff.SizeOfImage,
                                     &Symbols->DbgHelp,
                                     &Source);
        if (NT_SUCCESS(Status)) {

            //
            // Wine's says the PDB's name without the folder: then it is the
            // one that was found.
            //

            Status = SymbolCheckPdb(Search,
                                    &Path,
                                    &Symbols->Coff,
                                    SymbolGetDbgHelpPdb(Symbols->DbgHelp));
            if (Source != ReaderSymbolSourcePdb ||
                (!NT_SUCCESS(Status) && Status != STATUS_NOT_FOUND)) {
                SymbolDestroyDbgHelp(Symbols->DbgHelp);
                Symbols->DbgHelp = NULL;
            }
        }
        Allocator->Free(Allocator->Context, Search);
    }

    Allocator->Free(Allocator->Context, Symbols->ImagePath);
    Symbols->ImagePath = NULL;
}

//
// Finds the image's PDB and reads its names, or asks DbgHelp for what it
// knows.
//
// Where the PDB was found DbgHelp searches in its folder; where it was not,
// and the image names one, DbgHelp is asked only if the symbol path names
// servers, which are DbgHelp's alone. What DbgHelp loads has to belong to the
// image, too.
//
// An image that has DWARF, in itself or in a file of its own, and names no PDB
// is not for DbgHelp: it knows less of DWARF, or nothing, and Wine's can be
// kept busy for ever by damaged DWARF.
//
// ModuleBase: the address that the module had.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or why there is nothing.
//

static
_Must_inspect_result_
NTSTATUS
SymbolLoadPdb(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path,
    _In_ ULONGLONG ModuleBase
    )
{
    PWSTR Buffer;
    ULONG Index;
    NTSTATUS PdbStatus;
    PREADER_PDB_SEARCH Search;
    PCWSTR SearchPath;
    NTSTATUS Status;

    Search = &Path->Search;
    Status = SymbolFindPdb(Search, SymbolPath, &Symbols->Coff, &Path->Dos);
    Symbols->Pdb = Search->Table;
    RtlZeroBytes(&Search->Table, sizeof(Search->Table));
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    SearchPath = NULL;
    if (Search->IsFound) {

        //
        // The folder without the separator, unless it is a root.
        //

        Buffer = Search->Buffer;
        Index = Search->FolderLength;
        if (Index == 0) {
            Buffer[0] = L'.';
            Index = 1;
        } else if (Index > 1 && Buffer[Index - 2] != L':') {
            Index -= 1;
        }
        Buffer[Index] = 0;
        SearchPath = Buffer;

    } else if (Symbols->Coff.HasPdb) {

        if (!SymbolPath->HasServer) {
            Status = STATUS_NOT_FOUND;
            goto End;
        }
        SearchPath = SymbolPath->Buffer;

    } else if (Symbols->HasDwarf || Symbols->DebugLink.NameLength != 0) {
        Status = STATUS_NOT_FOUND;
        goto End;
    }

    if (Symbols->Pdb.Kind != ReaderCoffKindNone) {
        Symbols->Source = ReaderSymbolSourcePdb;
        Symbols->ModuleBase = ModuleBase;
        Status = STATUS_SUCCESS;
        if (!Search->IsDamagedSeen) {
            Status = SymbolKeepPaths(Symbols, Path->DosBuffer, SearchPath);
        }
        goto End;
    }

    Status = STATUS_FILE_CORRUPT_ERROR;
    if (!Search->IsDamagedSeen) {
        Status = SymbolCreateDbgHelp(Symbols->Rtl,
                                     Symbols->Allocator,
                                     Path->DosBuffer,
                                     SearchPath,
                                     ModuleBase,
                                     Symbols->Coff.SizeOfImage,
                                     &Symbols->DbgHelp,
                                     &Symbols->Source);
    }

    if (Symbols->DbgHelp != NULL &&
        Symbols->Source == ReaderSymbolSourcePdb &&
        Symbols->Coff.HasPdb) {

        //
        // Wine's says the PDB's name without the folder: then it is the one
        // that was found, or none that is known.
        //

        PdbStatus = SymbolCheckPdb(Search,
                                   SymbolPath,
                                   &Symbols->Coff,
                                   SymbolGetDbgHelpPdb(Symbols->DbgHelp));
        if (!NT_SUCCESS(PdbStatus) &&
            (PdbStatus != STATUS_NOT_FOUND || !Search->IsFound)) {
            SymbolDestroyDbgHelp(Symbols->DbgHelp);
            Symbols->DbgHelp = NULL;
            Symbols->Source = ReaderSymbolSourceNone;
            Status = PdbStatus;
        }
    }

End:

    if (Search->WarningLength != 0) {
        Symbols->Warning = SymbolKeepText(Symbols,
                                          Search->Warning,
                                          Search->WarningLength);
        if (Symbols->Warning == NULL) {
            Status = STATUS_NO_MEMORY;
        }
    }

    return Status;
}

//
// Looks in a folder for the file with the image's debugging information.
// Symbols: the names.
// SubFolder: the name of a folder in it, or nothing.
// Path: memory for a path; where the image is is left alone.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or why it is not there.
//

static
NTSTATUS
SymbolTryDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCUNICODE_STRING Folder,
    _In_z_ PCWSTR SubFolder,
    _Inout_ PREADER_IMAGE_PATH Path
    )
{
    WCHAR Name[READER_DEBUG_LINK_MAXIMUM_NAME + 1];
    RTL_ERROR Ignored;
    ULONG NameLength;
    NTSTATUS Status;
    UNICODE_STRING Tried;

    RtlUtf8ToWide(Symbols->DebugLink.Name,
                  Symbols->DebugLink.NameLength,
                  Name,
                  RTL_NUMBER_OF(Name),
                  &NameLength);

    Tried.Buffer = Path->OtherBuffer;
    Tried.Length = 0;
    Tried.MaximumLength = sizeof(Path->OtherBuffer) - sizeof(WCHAR);
    Status = RtlAppendPath(&Tried,
                           Folder->Buffer,
                           Folder->Length / sizeof(WCHAR),
                           FALSE);
    if (NT_SUCCESS(Status) && SubFolder[0] != 0) {
        Status = RtlAppendPath(&Tried,
                               SubFolder,
                               RtlLengthOfWideString(SubFolder),
                               TRUE);
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(&Tried, Name, NameLength, TRUE);
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlDosPathToNtPath(Symbols->Rtl,
                                    &Tried,
                                    Path->NtBuffer,
                                    RTL_NUMBER_OF(Path->NtBuffer),
                                    &Path->Nt);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SymbolLoadImage(Symbols, Path, SymbolParseDebugFile, &Ignored);
    if (!NT_SUCCESS(Status)) {
        ImageRundownDwarf(&Symbols->Dwarf);
        ImageRundownCoff(&Symbols->DebugCoff);
    }

    return Status;
}

//
// Finds the file with the image's debugging information, if the image has none
// itself and names one: beside the image, in the folder .debug there, and in
// the folders of the symbol path.
//
// Path: where the image is.
// Returns STATUS_SUCCESS, also when there is none, or STATUS_NO_MEMORY.
//

_Must_inspect_result_
static
NTSTATUS
SymbolLoadDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path
    )
{
    UNICODE_STRING Folder;
    UNICODE_STRING Name;
    ULONG Offset;
    NTSTATUS Status;

    if (Symbols->DebugLink.NameLength == 0 ||
        Symbols->Dwarf.Functions.Number != 0) {
        return STATUS_SUCCESS;
    }

    RtlBaseName(&Path->Dos, &Name);
    Folder = Path->Dos;
    Folder.Length -= Name.Length;

    Status = SymbolTryDebugFile(Symbols, &Folder, L"", Path);
    if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
        Status = SymbolTryDebugFile(Symbols, &Folder, L".debug", Path);
    }

    Offset = 0;
    while (!NT_SUCCESS(Status) &&
           Status != STATUS_NO_MEMORY &&
           SymbolNextSymbolFolder(SymbolPath, &Offset, &Folder)) {
        Status = SymbolTryDebugFile(Symbols, &Folder, L"", Path);
    }

    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}

_Use_decl_annotations_
PCREADER_COFF
SymbolGetTable(
    const READER_SYMBOLS *Symbols
    )
{
    if (Symbols->Coff.Kind != ReaderCoffKindSymbols &&
        Symbols->DebugCoff.Kind == ReaderCoffKindSymbols) {
        return &Symbols->DebugCoff;
    }

    return &Symbols->Coff;
}

_Use_decl_annotations_
NTSTATUS
SymbolLoadSymbols(
    PREADER_SYMBOLS Symbols,
    PCTRACE_STORE_HEADER Header,
    PCREADER_SYMBOL_PATH SymbolPath,
    PREADER_IMAGE_PATH Path,
    PRTL_ERROR Error
    )
{
    NTSTATUS PdbStatus;
    NTSTATUS Status;

    Status = SymbolFindImage(Symbols, Header, SymbolPath, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Symbols->IsTraced = TRUE;
    PdbStatus = SymbolLoadPdb(Symbols, SymbolPath, Path, Header->ModuleBase);
    if (PdbStatus == STATUS_NO_MEMORY) {
        return RtlSetError(Error,
                           "loading symbols",
                           &Path->Dos,
                           STATUS_NO_MEMORY);
    }

    if (Symbols->Source != ReaderSymbolSourcePdb) {
        Status = SymbolLoadDebugFile(Symbols, SymbolPath, Path);
        if (!NT_SUCCESS(Status)) {
            return RtlSetError(Error, "loading symbols", &Path->Dos, Status);
        }
    }

    if (Symbols->Dwarf.Functions.Number != 0 &&
        Symbols->Source != ReaderSymbolSourcePdb) {
        SymbolDestroyDbgHelp(Symbols->DbgHelp);
        Symbols->DbgHelp = NULL;
        Symbols->Source = ReaderSymbolSourceDwarf;
    }

    if (Symbols->Source != ReaderSymbolSourceNone) {
        return STATUS_SUCCESS;
    }

    switch (SymbolGetTable(Symbols)->Kind) {
    case ReaderCoffKindSymbols:
        Symbols->Source = ReaderSymbolSourceCoff;
        return STATUS_SUCCESS;
    case ReaderCoffKindExports:
        Symbols->Source = ReaderSymbolSourceExports;
        return STATUS_SUCCESS;
    default:
        break;
    }

    //
    // The image names nothing, so it is the PDB's reason that helps.
    //

    return RtlSetError(Error,
                       "loading symbols (no PDB, symbol table or exports)",
                       &Path->Dos,
                       PdbStatus);
}

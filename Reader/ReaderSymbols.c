/*++

Module Name:

    ReaderSymbols.c

Abstract:

    Function names for the addresses of one traced module: checks that the
    image on disk is the one that was traced, then joins what its PDB, DbgHelp,
    the image's debugging information and its tables know.

--*/

#include "ReaderSymbols.h"
#include "ReaderCoff.h"
#include "ReaderDbgHelp.h"
#include "ReaderDebugLink.h"
#include "ReaderDwarf.h"
#include "ReaderPdb.h"
#include "ReaderSymbolPath.h"
#include "ReaderUndecorate.h"

//
// Texts are kept in chunks, so that those given out stay where they are.
//

#define READER_TEXT_CHUNK_SIZE 0x10000

typedef struct _READER_TEXT_CHUNK {
    struct _READER_TEXT_CHUNK *Next;
    ULONG CapacityInBytes;          // of what follows the structure
    ULONG UsedInBytes;
} READER_TEXT_CHUNK;
typedef READER_TEXT_CHUNK *PREADER_TEXT_CHUNK;

struct _READER_SYMBOLS {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    READER_SYMBOL_SOURCE Source;
    BOOLEAN IsTraced;               // the image is the one that was traced
    PREADER_DBGHELP DbgHelp;        // NULL: not trusted, or not there
    READER_COFF Coff;
    READER_COFF Pdb;                // the PDB's functions, if it has any
    READER_UNWIND Unwind;
    READER_DWARF Dwarf;
    BOOLEAN HasDwarf;               // the image has some, damaged or not
    READER_DEBUG_LINK DebugLink;    // where else there may be DWARF
    READER_COFF DebugCoff;          // the tables of that file
    READER_UNDECORATOR Undecorator;
    PREADER_TEXT_CHUNK Chunks;      // the newest first
    PCSZ Warning;                   // NULL: there is none

    //
    // The names of a PDB are read here; DbgHelp is loaded for its lines when
    // the first one is asked for.
    //

    PWSTR ImagePath;                // NULL: no longer, or not at all
    PWSTR PdbFolder;                // in the same memory
    ULONGLONG ModuleBase;
};

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

//
// The image's path in the forms that are needed; too large for the stack.
//

typedef struct _READER_IMAGE_PATH {
    UNICODE_STRING Dos;             // terminated, for DbgHelp
    UNICODE_STRING Nt;
    WCHAR OtherBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    READER_PDB_SEARCH Search;
    WCHAR DosBuffer[sizeof(((PTRACE_STORE_HEADER)0)->ModulePath) + 1];
    WCHAR NtBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} READER_IMAGE_PATH;
typedef READER_IMAGE_PATH *PREADER_IMAGE_PATH;

static
_Must_inspect_result_
_Ret_maybenull_
PCHAR
ReaderReserveText(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Makes room for a text that lives as long as the symbols.

Arguments:

    Symbols - Supplies the symbols.

    LengthInBytes - Supplies its length; a terminator is added.

Return Value:

    The room, zeroed, or NULL without memory.

--*/
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

static
_Must_inspect_result_
_Ret_maybenull_
PCSZ
ReaderKeepText(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Copies a text into the symbols' memory.

Arguments:

    Symbols - Supplies the symbols.

    Text - Supplies the text.

    LengthInBytes - Supplies its length.

Return Value:

    The copy, terminated, or NULL without memory.

--*/
{
    PCHAR Copy;

    Copy = ReaderReserveText(Symbols, LengthInBytes);
    if (Copy != NULL) {
        RtlCopyBytes(Copy, Text, LengthInBytes);
    }

    return Copy;
}

static
_Must_inspect_result_
NTSTATUS
ReaderMakeImagePath(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _Inout_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Makes the path of the module's image.  The header's bytes may be anything,
    and may change: the length is read once.

Arguments:

    Rtl - Supplies the operating system's routines.

    Header - Supplies the store's header.

    Path - Receives the path.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS, or what is wrong with the path.

--*/
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

static
DECLSPEC_NOINLINE
NTSTATUS
ReaderParseImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Reads the mapped image.  A page of it that cannot be read (a network file
    whose server is gone, a file that was cut) raises an exception, which is
    caught here; everything that was allocated until then is in Symbols.

Arguments:

    Symbols - Receives the image's names.

    View - Supplies the mapped file.

    SizeInBytes - Supplies its size.

Return Value:

    STATUS_SUCCESS, what is wrong with the image, or the exception's code.

--*/
{
    NTSTATUS Status;
    NTSTATUS ExceptionStatus;
    ULONG SectionInBytes;

    //
    // The code is taken in the filter: Wine 8 hands 0 to the handler.
    //

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = ReaderInitializeCoff(Symbols->Allocator,
                                      View,
                                      SizeInBytes,
                                      &Symbols->Coff);
        if (NT_SUCCESS(Status)) {
            Status = ReaderInitializeUnwind(Symbols->Allocator,
                                            &Symbols->Coff,
                                            View,
                                            SizeInBytes,
                                            &Symbols->Unwind);
        }
        if (NT_SUCCESS(Status)) {
            Status = ReaderInitializeDwarf(Symbols->Allocator,
                                           &Symbols->Coff,
                                           View,
                                           SizeInBytes,
                                           &Symbols->Dwarf);
            Symbols->HasDwarf =
                ReaderFindCoffSection(&Symbols->Coff,
                                      View,
                                      SizeInBytes,
                                      ".debug_info",
                                      &SectionInBytes) != NULL;
            ReaderFindDebugLink(&Symbols->Coff,
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

static
DECLSPEC_NOINLINE
NTSTATUS
ReaderParseDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Reads the mapped file that has the image's debugging information apart from
    it, if its checksum is the one that the image names.

Arguments:

    Symbols - Receives the names.

    View - Supplies the mapped file.

    SizeInBytes - Supplies its size.

Return Value:

    STATUS_SUCCESS, STATUS_REVISION_MISMATCH if it does not belong to the
    image, what is wrong with the file, or the exception's code.

--*/
{
    NTSTATUS Status;
    NTSTATUS ExceptionStatus;

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = STATUS_REVISION_MISMATCH;
        if (ReaderChecksumDebugFile(View, SizeInBytes) ==
            Symbols->DebugLink.Checksum) {
            Status = ReaderInitializeCoff(Symbols->Allocator,
                                          View,
                                          SizeInBytes,
                                          &Symbols->DebugCoff);
        }
        if (NT_SUCCESS(Status) &&
            !ReaderIsDebugFileOf(&Symbols->DebugCoff, &Symbols->Coff)) {
            Status = STATUS_REVISION_MISMATCH;
        }
        if (NT_SUCCESS(Status)) {
            ReaderRundownDwarf(&Symbols->Dwarf);
            Status = ReaderInitializeDwarf(Symbols->Allocator,
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

static
_Must_inspect_result_
NTSTATUS
ReaderLoadImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PREADER_IMAGE_PATH Path,
    _In_ PREADER_PARSE_FILE Parse,
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Reads the image itself.  The file is not held open or mapped afterwards:
    it can be rebuilt while the reader runs.

Arguments:

    Symbols - Receives the image's names.

    Path - Supplies where the image is.

    Parse - Supplies what reads it, ReaderParseImage; or
        ReaderParseDebugFile if it is not the image but that file.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS, or the status of what failed.

--*/
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

static
BOOLEAN
ReaderIsTracedImage(
    _In_ PCREADER_COFF Coff,
    _In_ PCTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Says whether the image on disk is the one that was traced.  A time stamp of
    zero (linkers write it on demand, for builds that can be repeated) tells
    nothing; the checksum then stands in for it.

Arguments:

    Coff - Supplies the identity of the image on disk.

    Header - Supplies that of the image that was traced.

Return Value:

    TRUE if it is.

--*/
{
    if (Coff->TimeDateStamp != Header->ModuleTimeDateStamp ||
        Coff->SizeOfImage != Header->ModuleSize) {
        return FALSE;
    }

    return (BOOLEAN)(Coff->TimeDateStamp != 0 ||
                     Coff->CheckSum == Header->ModuleCheckSum);
}

static
VOID
ReaderForgetImage(
    _Inout_ PREADER_SYMBOLS Symbols
    )
/*++

Routine Description:

    Frees what an image's own tables hold.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    None.

--*/
{
    ReaderRundownDwarf(&Symbols->Dwarf);
    ReaderRundownUnwind(&Symbols->Unwind);
    ReaderRundownCoff(&Symbols->Coff);
    ReaderRundownCoff(&Symbols->DebugCoff);
}

static
BOOLEAN
ReaderTryImageInFolder(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING Folder,
    _Inout_ PREADER_IMAGE_PATH Path
    )
/*++

Routine Description:

    Looks for the image that was traced in a folder.

Arguments:

    Symbols - Receives the image's names.

    Header - Supplies the store's header.

    Folder - Supplies the folder.

    Path - Supplies the image's name; receives where the image is.

Return Value:

    TRUE if it is there.

--*/
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

    Status = ReaderLoadImage(Symbols, Path, ReaderParseImage, &Error);
    if (!NT_SUCCESS(Status) || !ReaderIsTracedImage(&Symbols->Coff, Header)) {
        ReaderForgetImage(Symbols);
        return FALSE;
    }

    for (Index = 0; Index < Tried.Length / sizeof(WCHAR); Index++) {
        Path->DosBuffer[Index] = Path->OtherBuffer[Index];
    }
    Path->DosBuffer[Index] = 0;
    RtlPointUnicodeString(&Path->Dos, Path->DosBuffer, Index);
    return TRUE;
}

static
_Must_inspect_result_
NTSTATUS
ReaderFindImage(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Finds the image that was traced: where the header says, or in a folder of
    the symbol path.

Arguments:

    Symbols - Receives the image's names.

    Header - Supplies the store's header.

    SymbolPath - Supplies the folders.

    Path - Receives where the image is.

    Error - Receives why it was not found where the header says.

Return Value:

    STATUS_SUCCESS, or why it was not found there.

--*/
{
    UNICODE_STRING Folder;
    ULONG Offset;
    NTSTATUS Status;

    Status = ReaderMakeImagePath(Symbols->Rtl, Header, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderLoadImage(Symbols, Path, ReaderParseImage, Error);
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (NT_SUCCESS(Status) && !ReaderIsTracedImage(&Symbols->Coff, Header)) {
        Status = RtlSetError(Error,
                             "image was rebuilt since the trace",
                             &Path->Dos,
                             STATUS_REVISION_MISMATCH);
    }

    if (NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderForgetImage(Symbols);
    Offset = 0;
    while (ReaderNextSymbolFolder(SymbolPath, &Offset, &Folder)) {
        if (ReaderTryImageInFolder(Symbols, Header, &Folder, Path)) {
            Error->Status = STATUS_SUCCESS;
            return STATUS_SUCCESS;
        }
    }

    return Status;
}

static
_Must_inspect_result_
NTSTATUS
ReaderKeepPaths(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_z_ PCWSTR ImagePath,
    _In_z_ PCWSTR PdbFolder
    )
/*++

Routine Description:

    Keeps what DbgHelp needs to be told of the image and its PDB.

Arguments:

    Symbols - Receives the paths.

    ImagePath - Supplies where the image is.

    PdbFolder - Supplies where the PDB is.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

static
VOID
ReaderLoadLines(
    _Inout_ PREADER_SYMBOLS Symbols
    )
/*++

Routine Description:

    Loads DbgHelp for the lines of the PDB that was found, if it has not been
    tried.  What it loads has to belong to the image.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    None.  Without DbgHelp there are no lines.

--*/
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
        Status = ReaderCreateDbgHelp(Symbols->Rtl,
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

            Status = ReaderCheckPdb(Search,
                                    &Path,
                                    &Symbols->Coff,
                                    ReaderGetDbgHelpPdb(Symbols->DbgHelp));
            if (Source != ReaderSymbolSourcePdb ||
                (!NT_SUCCESS(Status) && Status != STATUS_NOT_FOUND)) {
                ReaderDestroyDbgHelp(Symbols->DbgHelp);
                Symbols->DbgHelp = NULL;
            }
        }
        Allocator->Free(Allocator->Context, Search);
    }

    Allocator->Free(Allocator->Context, Symbols->ImagePath);
    Symbols->ImagePath = NULL;
}

static
_Must_inspect_result_
NTSTATUS
ReaderLoadPdb(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path,
    _In_ ULONGLONG ModuleBase
    )
/*++

Routine Description:

    Finds the image's PDB and reads its names, or asks DbgHelp for what it
    knows.

    Where the PDB was found DbgHelp searches in its folder; where it was not,
    and the image names one, DbgHelp is asked only if the symbol path names
    servers, which are DbgHelp's alone.  What DbgHelp loads has to belong to
    the image, too.

    An image that has DWARF, in itself or in a file of its own, and names no
    PDB is not for DbgHelp: it knows less of DWARF, or nothing, and Wine's can
    be kept busy for ever by damaged DWARF.

Arguments:

    Symbols - Receives the names.

    SymbolPath - Supplies the folders.

    Path - Supplies where the image is.

    ModuleBase - Supplies the address that the module had.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or why there is nothing.

--*/
{
    PWSTR Buffer;
    ULONG Index;
    NTSTATUS PdbStatus;
    PREADER_PDB_SEARCH Search;
    PCWSTR SearchPath;
    NTSTATUS Status;

    Search = &Path->Search;
    Status = ReaderFindPdb(Search, SymbolPath, &Symbols->Coff, &Path->Dos);
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
            Status = ReaderKeepPaths(Symbols, Path->DosBuffer, SearchPath);
        }
        goto End;
    }

    Status = STATUS_FILE_CORRUPT_ERROR;
    if (!Search->IsDamagedSeen) {
        Status = ReaderCreateDbgHelp(Symbols->Rtl,
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

        PdbStatus = ReaderCheckPdb(Search,
                                   SymbolPath,
                                   &Symbols->Coff,
                                   ReaderGetDbgHelpPdb(Symbols->DbgHelp));
        if (!NT_SUCCESS(PdbStatus) &&
            (PdbStatus != STATUS_NOT_FOUND || !Search->IsFound)) {
            ReaderDestroyDbgHelp(Symbols->DbgHelp);
            Symbols->DbgHelp = NULL;
            Symbols->Source = ReaderSymbolSourceNone;
            Status = PdbStatus;
        }
    }

End:

    if (Search->WarningLength != 0) {
        Symbols->Warning = ReaderKeepText(Symbols,
                                          Search->Warning,
                                          Search->WarningLength);
        if (Symbols->Warning == NULL) {
            Status = STATUS_NO_MEMORY;
        }
    }

    return Status;
}

static
NTSTATUS
ReaderTryDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCUNICODE_STRING Folder,
    _In_z_ PCWSTR SubFolder,
    _Inout_ PREADER_IMAGE_PATH Path
    )
/*++

Routine Description:

    Looks in a folder for the file with the image's debugging information.

Arguments:

    Symbols - Receives the names.

    Folder - Supplies the folder.

    SubFolder - Supplies the name of a folder in it, or nothing.

    Path - Supplies memory for a path; where the image is is left alone.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or why it is not there.

--*/
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

    Status = ReaderLoadImage(Symbols, Path, ReaderParseDebugFile, &Ignored);
    if (!NT_SUCCESS(Status)) {
        ReaderRundownDwarf(&Symbols->Dwarf);
        ReaderRundownCoff(&Symbols->DebugCoff);
    }

    return Status;
}

_Must_inspect_result_
static
NTSTATUS
ReaderLoadDebugFile(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _Inout_ PREADER_IMAGE_PATH Path
    )
/*++

Routine Description:

    Finds the file with the image's debugging information, if the image has
    none itself and names one: beside the image, in the folder .debug there,
    and in the folders of the symbol path.

Arguments:

    Symbols - Receives the names.

    SymbolPath - Supplies the folders.

    Path - Supplies where the image is.

Return Value:

    STATUS_SUCCESS, also when there is none, or STATUS_NO_MEMORY.

--*/
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

    Status = ReaderTryDebugFile(Symbols, &Folder, L"", Path);
    if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
        Status = ReaderTryDebugFile(Symbols, &Folder, L".debug", Path);
    }

    Offset = 0;
    while (!NT_SUCCESS(Status) &&
           Status != STATUS_NO_MEMORY &&
           ReaderNextSymbolFolder(SymbolPath, &Offset, &Folder)) {
        Status = ReaderTryDebugFile(Symbols, &Folder, L"", Path);
    }

    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}

static
PCREADER_COFF
ReaderGetTable(
    _In_ const READER_SYMBOLS *Symbols
    )
/*++

Routine Description:

    Says which symbol table names the image's functions: its own, unless only
    the file with its debugging information has one.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    The table.

--*/
{
    if (Symbols->Coff.Kind != ReaderCoffKindSymbols &&
        Symbols->DebugCoff.Kind == ReaderCoffKindSymbols) {
        return &Symbols->DebugCoff;
    }

    return &Symbols->Coff;
}

static
_Must_inspect_result_
NTSTATUS
ReaderLoadSymbols(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _In_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Finds the image and whatever names its functions.

Arguments:

    Symbols - Receives the names.

    Header - Supplies the store's header.

    SymbolPath - Supplies the folders of the symbol path.

    Path - Supplies memory for the image's path.

    Error - Receives why the source is None.

Return Value:

    STATUS_SUCCESS, or why the source is None.

--*/
{
    NTSTATUS PdbStatus;
    NTSTATUS Status;

    Status = ReaderFindImage(Symbols, Header, SymbolPath, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Symbols->IsTraced = TRUE;
    PdbStatus = ReaderLoadPdb(Symbols, SymbolPath, Path, Header->ModuleBase);
    if (PdbStatus == STATUS_NO_MEMORY) {
        return RtlSetError(Error,
                           "loading symbols",
                           &Path->Dos,
                           STATUS_NO_MEMORY);
    }

    if (Symbols->Source != ReaderSymbolSourcePdb) {
        Status = ReaderLoadDebugFile(Symbols, SymbolPath, Path);
        if (!NT_SUCCESS(Status)) {
            return RtlSetError(Error, "loading symbols", &Path->Dos, Status);
        }
    }

    if (Symbols->Dwarf.Functions.Number != 0 &&
        Symbols->Source != ReaderSymbolSourcePdb) {
        ReaderDestroyDbgHelp(Symbols->DbgHelp);
        Symbols->DbgHelp = NULL;
        Symbols->Source = ReaderSymbolSourceDwarf;
    }

    if (Symbols->Source != ReaderSymbolSourceNone) {
        return STATUS_SUCCESS;
    }

    switch (ReaderGetTable(Symbols)->Kind) {
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

_Use_decl_annotations_
NTSTATUS
ReaderCreateSymbolsFrom(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCTRACE_STORE_HEADER Header,
    PCWSTR SymbolPath,
    PREADER_SYMBOLS *SymbolsPointer,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Creates the symbols of a traced module.

Arguments:

    Rtl - Supplies the operating system's routines.

    Allocator - Supplies the memory.

    Header - Supplies the store's header, which names the module.

    SymbolPath - Supplies the folders of --symbols, or NULL.

    SymbolsPointer - Receives the symbols, or NULL.

    Error - Receives why the source is None; otherwise its Status is a success.

Return Value:

    STATUS_SUCCESS, also when nothing was found.

    STATUS_NO_MEMORY.

--*/
{
    READER_SYMBOL_PATH Folders;
    RTL_ERROR LocalError;
    PREADER_IMAGE_PATH Path;
    NTSTATUS Status;
    PREADER_SYMBOLS Symbols;

    if (Error == NULL) {
        Error = &LocalError;
    }

    Error->Step = "loading symbols";
    Error->Status = STATUS_SUCCESS;
    Error->ObjectLengthInChars = 0;

    *SymbolsPointer = NULL;

    Symbols = Allocator->Allocate(Allocator->Context, sizeof(*Symbols));
    Path = Allocator->Allocate(Allocator->Context, sizeof(*Path));
    if (Symbols == NULL || Path == NULL) {
        Allocator->Free(Allocator->Context, Symbols);
        Allocator->Free(Allocator->Context, Path);
        return RtlSetError(Error, "loading symbols", NULL, STATUS_NO_MEMORY);
    }

    Symbols->Rtl = Rtl;
    Symbols->Allocator = Allocator;
    ReaderInitializeUndecorator(&Symbols->Undecorator, Rtl, Allocator);

    Status = ReaderInitializeSymbolPath(&Folders, Rtl, Allocator, SymbolPath);
    if (NT_SUCCESS(Status)) {
        Status = ReaderLoadSymbols(Symbols, Header, &Folders, Path, Error);
        ReaderRundownSymbolPath(&Folders);
    } else {
        RtlSetError(Error, "loading symbols", NULL, Status);
    }
    Allocator->Free(Allocator->Context, Path);

    //
    // Without symbols the caller still has addresses; without memory it has
    // worse to worry about.
    //

    if (Status == STATUS_NO_MEMORY) {
        ReaderDestroySymbols(Symbols);
        return Status;
    }

    *SymbolsPointer = Symbols;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
ReaderCreateSymbols(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCTRACE_STORE_HEADER Header,
    PREADER_SYMBOLS *SymbolsPointer,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Creates the symbols of a traced module, without folders of --symbols.

Arguments:

    Rtl - Supplies the operating system's routines.

    Allocator - Supplies the memory.

    Header - Supplies the store's header, which names the module.

    SymbolsPointer - Receives the symbols, or NULL.

    Error - Receives why the source is None; otherwise its Status is a success.

Return Value:

    STATUS_SUCCESS, also when nothing was found.

    STATUS_NO_MEMORY.

--*/
{
    return ReaderCreateSymbolsFrom(Rtl,
                                   Allocator,
                                   Header,
                                   NULL,
                                   SymbolsPointer,
                                   Error);
}

_Use_decl_annotations_
PCSZ
ReaderGetSymbolWarning(
    const READER_SYMBOLS *Symbols
    )
/*++

Routine Description:

    Says what the user should know of the search for symbols.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    The text, or NULL.

--*/
{
    return Symbols->Warning;
}

_Use_decl_annotations_
READER_SYMBOL_SOURCE
ReaderGetSymbolSource(
    const READER_SYMBOLS *Symbols
    )
/*++

Routine Description:

    Says where the names come from.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    The best source; single names may come from a lesser one.

--*/
{
    return Symbols->Source;
}

static
BOOLEAN
ReaderIsTableNameBetter(
    _In_ const READER_DWARF_SYMBOL *Symbol,
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Says whether the symbol table's name of a function says more than that of
    the debugging information.  It does when it is the same with a suffix (a
    copy that the compiler made: Function.constprop.0), and when the debugging
    information has only the name in the source of a C++ function ("operator()",
    or a static function's without its parameters).

Arguments:

    Symbol - Supplies what the debugging information says.

    Name, LengthInBytes - Supply the symbol table's name.

Return Value:

    TRUE if it does.

--*/
{
    if (LengthInBytes > Symbol->LengthInBytes &&
        Name[Symbol->LengthInBytes] == '.' &&
        RtlAreBytesEqual(Name, Symbol->Name, Symbol->LengthInBytes)) {
        return TRUE;
    }

    return (BOOLEAN)(!Symbol->IsLinkageName &&
                     LengthInBytes > 2 &&
                     Name[0] == '_' &&
                     Name[1] == 'Z');
}

static
BOOLEAN
ReaderFindInDwarf(
    _In_ const READER_SYMBOLS *Symbols,
    _In_ ULONG Rva,
    _Out_ PREADER_SYMBOL Symbol
    )
/*++

Routine Description:

    Finds the function whose code is at an address in the image's debugging
    information.

Arguments:

    Symbols - Supplies the symbols.

    Rva - Supplies the address in the module.

    Symbol - Receives the function.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    READER_DWARF_SYMBOL Dwarf;
    PCSZ Name;
    ULONG LengthInBytes;
    ULONG StartRva;
    PCREADER_COFF Table;

    if (!ReaderFindDwarfFunction(&Symbols->Dwarf, Rva, &Dwarf)) {
        return FALSE;
    }

    Symbol->StartRva = Dwarf.StartRva;
    Symbol->LengthInBytes = Dwarf.LengthInBytes;
    Symbol->Name = Dwarf.Name;

    Table = ReaderGetTable(Symbols);
    if (Table->Kind == ReaderCoffKindSymbols &&
        ReaderFindCoffSymbol(Table,
                             Dwarf.StartRva,
                             &StartRva,
                             &Name,
                             &LengthInBytes) &&
        StartRva == Dwarf.StartRva &&
        ReaderIsTableNameBetter(&Dwarf, Name, LengthInBytes)) {

        Symbol->LengthInBytes = LengthInBytes;
        Symbol->Name = Name;
    }

    return TRUE;
}

static
BOOLEAN
ReaderFindNearestSymbol(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG Rva,
    _In_ PCREADER_COFF_SECTION Section,
    _Out_ PREADER_SYMBOL Symbol,
    _Outptr_ PCREADER_COFF *Table
    )
/*++

Routine Description:

    Finds the function that an address is in, as its source names it.

    The image's DWARF knows where functions end: a function whose code is at
    the address is the image's answer.  Otherwise it is the nearest one at or
    below the address in the COFF symbol table: objects without debugging
    information (the C runtime's) are in the table alone.  Exports never fill
    gaps: they are too few for the nearest to mean anything.

    When there is a PDB, the nearer of its answer and the image's wins; at one
    address the PDB's does.  It is DbgHelp that answers for a PDB that was not
    found here, unless it does not even know a function there (Wine invents
    "EntryPoint").

Arguments:

    Symbols - Supplies the symbols.

    Rva - Supplies the address in the module.

    Section - Supplies the section that it is in.

    Symbol - Receives the function's start and name.

    Table - Receives the table that has all names at that address.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    READER_SYMBOL Debug;
    BOOLEAN HasDebug;
    BOOLEAN HasImage;
    READER_SYMBOL Image;
    PCREADER_COFF ImageTable;
    BOOLEAN IsFunction;

    ImageTable = ReaderGetTable(Symbols);
    HasDebug = FALSE;
    IsFunction = FALSE;
    if (Symbols->Pdb.Kind != ReaderCoffKindNone) {
        IsFunction = TRUE;
        HasDebug = ReaderFindCoffSymbol(&Symbols->Pdb,
                                        Rva,
                                        &Debug.StartRva,
                                        &Debug.Name,
                                        &Debug.LengthInBytes);
    } else if (Symbols->DbgHelp != NULL) {
        HasDebug = ReaderFindDbgHelpSymbol(Symbols->DbgHelp,
                                           Rva,
                                           &Debug,
                                           &IsFunction);
    }
    if (HasDebug && Debug.StartRva < Section->StartRva) {
        HasDebug = FALSE;
    }

    HasImage = ReaderFindInDwarf(Symbols, Rva, &Image);
    if (!HasImage &&
        (Symbols->Source == ReaderSymbolSourceExports ||
         ImageTable->Kind == ReaderCoffKindSymbols)) {
        HasImage = ReaderFindCoffSymbol(ImageTable,
                                        Rva,
                                        &Image.StartRva,
                                        &Image.Name,
                                        &Image.LengthInBytes);
    }

    if (HasDebug &&
        (!HasImage ||
         Debug.StartRva > Image.StartRva ||
         (Debug.StartRva == Image.StartRva && IsFunction))) {
        Symbol->StartRva = Debug.StartRva;
        Symbol->Name = Debug.Name;
        Symbol->LengthInBytes = Debug.LengthInBytes;
        *Table = Symbols->Pdb.Kind != ReaderCoffKindNone ? &Symbols->Pdb :
                                                           ImageTable;
        return TRUE;
    }

    if (HasImage) {
        Symbol->StartRva = Image.StartRva;
        Symbol->Name = Image.Name;
        Symbol->LengthInBytes = Image.LengthInBytes;
        *Table = ImageTable;
        return TRUE;
    }

    return FALSE;
}

static
BOOLEAN
ReaderIsTextKnown(
    _In_reads_(NumberOfTexts) const PCSZ *Texts,
    _In_reads_(NumberOfTexts) const ULONG *Lengths,
    _In_ ULONG NumberOfTexts,
    _In_reads_bytes_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Says whether a text is one of several.

Arguments:

    Texts - Supplies them.

    Lengths - Supplies their lengths in bytes.

    NumberOfTexts - Supplies how many there are.

    Text - Supplies the text.

    LengthInBytes - Supplies its length.

Return Value:

    TRUE if it is.

--*/
{
    ULONG Index;

    for (Index = 0; Index < NumberOfTexts; Index++) {
        if (Lengths[Index] == LengthInBytes &&
            RtlAreBytesEqual(Texts[Index], Text, LengthInBytes)) {
            return TRUE;
        }
    }

    return FALSE;
}

static
VOID
ReaderFindFolded(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_COFF Table,
    _Inout_ PREADER_SYMBOL Symbol
    )
/*++

Routine Description:

    Finds the other functions that begin where one does.  Names that read the
    same (those of a complete and a base constructor, say) are one function's.
    The first name of the table is the one that is shown, or the same function
    by the name that DbgHelp has for it.

Arguments:

    Symbols - Supplies the memory for the names.

    Table - Supplies all names.

    Symbol - Supplies the function, with its name; receives the others.

Return Value:

    None.  Without memory there are none.

--*/
{
    ULONG Cookie;
    ULONG Count;
    ULONG Index;
    ULONG Length;
    ULONG Lengths[READER_MAXIMUM_FOLDED + 1];
    ULONG LinkageLength;
    PCSZ Linkage;
    PCHAR Position;
    PCSZ Text;
    PCSZ Texts[READER_MAXIMUM_FOLDED + 1];

    Cookie = 0;
    Count = 0;
    Length = 0;
    while (Count < RTL_NUMBER_OF(Texts) &&
           ReaderNextCoffFunction(Table,
                                  Symbol->StartRva,
                                  &Cookie,
                                  &Linkage,
                                  &LinkageLength)) {

        ReaderUndecorate(&Symbols->Undecorator,
                         Linkage,
                         LinkageLength,
                         &Text,
                         &LinkageLength);
        if (ReaderIsTextKnown(Texts, Lengths, Count, Text, LinkageLength)) {
            continue;
        }

        if (Count != 0) {
            Text = ReaderKeepText(Symbols, Text, LinkageLength);
            if (Text == NULL) {
                return;
            }
            Length += LinkageLength + 2;
        } else if (LinkageLength == Symbol->LengthInBytes &&
                   RtlAreBytesEqual(Text, Symbol->Name, LinkageLength)) {
            Text = Symbol->Name;
        } else {
            Text = ReaderKeepText(Symbols, Text, LinkageLength);
            if (Text == NULL) {
                return;
            }
        }

        Texts[Count] = Text;
        Lengths[Count] = LinkageLength;
        Count += 1;
    }

    if (Count < 2) {
        return;
    }

    LinkageLength = Symbol->LinkageLengthInBytes;
    Length += LinkageLength - 1;
    Position = ReaderReserveText(Symbols, Length);
    if (Position == NULL) {
        return;
    }

    RtlCopyBytes(Position, Symbol->RawText, LinkageLength);
    Position[LinkageLength] = '\n';
    Symbol->RawText = Position;
    Symbol->RawLengthInBytes = Length;
    Symbol->NumberFolded = Count - 1;
    Position += LinkageLength + 1;
    for (Index = 1; Index < Count; Index++) {
        if (Index != 1) {
            Position[0] = ';';
            Position[1] = ' ';
            Position += 2;
        }
        RtlCopyBytes(Position, Texts[Index], Lengths[Index]);
        Position += Lengths[Index];
    }
}

_Use_decl_annotations_
BOOLEAN
ReaderFindSymbol(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    PREADER_SYMBOL Symbol
    )
/*++

Routine Description:

    Finds the nearest function at or below an address.

Arguments:

    Symbols - Supplies the symbols.

    Rva - Supplies the address in the module.

    Symbol - Receives the function.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    READER_SYMBOL Found;
    ULONG Length;
    PCREADER_COFF_SECTION Section;
    PCREADER_COFF Table;
    PCSZ Text;

    if (!Symbols->IsTraced) {
        return FALSE;
    }

    Section = ReaderFindCodeSection(&Symbols->Coff, Rva);
    if (Section == NULL) {
        return FALSE;
    }

    RtlZeroBytes(&Found, sizeof(Found));
    if (!ReaderFindNearestSymbol(Symbols, Rva, Section, &Found, &Table)) {
        return FALSE;
    }

    Found.RawText = Found.Name;
    Found.LinkageLengthInBytes = Found.LengthInBytes;
    if (Table == &Symbols->Pdb) {
        ReaderFindPdbPublic(Table,
                            Found.StartRva,
                            &Found.RawText,
                            &Found.LinkageLengthInBytes);
    } else if (Table->Kind == ReaderCoffKindSymbols) {
        Length = 0;
        ReaderNextCoffFunction(Table,
                               Found.StartRva,
                               &Length,
                               &Found.RawText,
                               &Found.LinkageLengthInBytes);
    }
    Found.RawLengthInBytes = Found.LinkageLengthInBytes;

    ReaderUndecorate(&Symbols->Undecorator,
                     Found.Name,
                     Found.LengthInBytes,
                     &Text,
                     &Length);
    if (Text != Found.Name) {
        Text = ReaderKeepText(Symbols, Text, Length);
        if (Text != NULL) {
            Found.Name = Text;
            Found.LengthInBytes = Length;
        }
    }

    ReaderFindFolded(Symbols, Table, &Found);
    *Symbol = Found;
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
ReaderFindSourceLine(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    PREADER_SOURCE_LINE Line
    )
/*++

Routine Description:

    Finds the source line that the code at an address comes from.

Arguments:

    Symbols - Supplies the symbols.

    Rva - Supplies the address in the module.

    Line - Receives the line.

Return Value:

    TRUE if it is known; otherwise nothing is written.

--*/
{
    if (!Symbols->IsTraced) {
        return FALSE;
    }

    if (ReaderFindDwarfLine(&Symbols->Dwarf,
                            Rva,
                            &Line->LineNumber,
                            &Line->FileName,
                            &Line->LengthInBytes)) {
        return TRUE;
    }

    ReaderLoadLines(Symbols);
    if (Symbols->DbgHelp == NULL) {
        return FALSE;
    }

    return ReaderFindDbgHelpLine(Symbols->DbgHelp, Rva, Line);
}

_Use_decl_annotations_
PREADER_UNWIND
ReaderGetUnwind(
    PREADER_SYMBOLS Symbols
    )
/*++

Routine Description:

    Says what is known of the image's code and stack frames.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    The unwind data, or NULL.

--*/
{
    return Symbols->IsTraced ? &Symbols->Unwind : NULL;
}

_Use_decl_annotations_
PCREADER_COFF
ReaderGetCoff(
    const READER_SYMBOLS *Symbols
    )
/*++

Routine Description:

    Says what identifies the image.

Arguments:

    Symbols - Supplies the symbols.

Return Value:

    What its headers say, or NULL.

--*/
{
    return Symbols->IsTraced ? &Symbols->Coff : NULL;
}

_Use_decl_annotations_
VOID
ReaderDestroySymbols(
    PREADER_SYMBOLS Symbols
    )
/*++

Routine Description:

    Frees the symbols and every name that they gave out.

Arguments:

    Symbols - Supplies the symbols, or NULL.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator;
    PREADER_TEXT_CHUNK Chunk;

    if (Symbols == NULL) {
        return;
    }

    Allocator = Symbols->Allocator;

    ReaderDestroyDbgHelp(Symbols->DbgHelp);
    ReaderRundownUndecorator(&Symbols->Undecorator);
    ReaderRundownCoff(&Symbols->Pdb);
    Allocator->Free(Allocator->Context, Symbols->ImagePath);
    ReaderForgetImage(Symbols);
    while (Symbols->Chunks != NULL) {
        Chunk = Symbols->Chunks;
        Symbols->Chunks = Chunk->Next;
        Allocator->Free(Allocator->Context, Chunk);
    }
    Allocator->Free(Allocator->Context, Symbols);
}

/*++

Module Name:

    ReaderSymbolPath.c

Abstract:

    The folders in which images and their PDBs are looked for, and the search
    for an image's PDB.

--*/

#include "ReaderSymbolPath.h"

//
// The longest value of _NT_SYMBOL_PATH, in 16-bit units: Windows' own limit.
//

#define READER_ENVIRONMENT_IN_CHARS 32767

static const WCHAR ReaderSymbolPathVariable[] = L"_NT_SYMBOL_PATH";

_Use_decl_annotations_
NTSTATUS
ReaderInitializeSymbolPath(
    PREADER_SYMBOL_PATH Path,
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCWSTR Option
    )
/*++

Routine Description:

    Joins what --symbols and the environment say.

Arguments:

    Path - Receives the path.

    Rtl - Supplies the operating system's routines.

    Allocator - Supplies the memory.

    Option - Supplies the value of --symbols, or NULL.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    ULONG Index;
    ULONG Length;
    NTSTATUS Status;
    UNICODE_STRING Value;

    Length = Option == NULL ? 0 : RtlLengthOfWideString(Option);
    Path->Rtl = Rtl;
    Path->Allocator = Allocator;
    Path->LengthInChars = 0;
    Path->HasServer = FALSE;
    Path->Buffer = Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Length + READER_ENVIRONMENT_IN_CHARS + 3) * sizeof(WCHAR));
    if (Path->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Length; Index++) {
        Path->Buffer[Index] = Option[Index];
    }
    if (Length != 0) {
        Path->Buffer[Length] = L';';
        Length += 1;
    }

    Status = RtlQueryEnvironment(Rtl,
                                 ReaderSymbolPathVariable,
                                 Path->Buffer + Length,
                                 READER_ENVIRONMENT_IN_CHARS,
                                 &Value);
    if (NT_SUCCESS(Status)) {
        Length += Value.Length / sizeof(WCHAR);
    }

    Path->Buffer[Length] = 0;
    Path->LengthInChars = Length;
    for (Index = 0; Index < Length; Index++) {
        if (Path->Buffer[Index] == L'*') {
            Path->HasServer = TRUE;
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
BOOLEAN
ReaderNextSymbolFolder(
    PCREADER_SYMBOL_PATH Path,
    PULONG Offset,
    PUNICODE_STRING Folder
    )
/*++

Routine Description:

    Finds the next element that is a folder.

Arguments:

    Path - Supplies the path.

    Offset - Supplies where to go on, in 16-bit units; receives it.

    Folder - Receives the folder, in Path's memory.

Return Value:

    FALSE if there are no more.

--*/
{
    ULONG First;
    BOOLEAN IsServer;
    ULONG Last;

    while (*Offset < Path->LengthInChars) {

        First = *Offset;
        IsServer = FALSE;
        for (Last = First;
             Last < Path->LengthInChars && Path->Buffer[Last] != L';';
             Last++) {
            if (Path->Buffer[Last] == L'*') {
                IsServer = TRUE;
            }
        }

        *Offset = Last + 1;
        if (!IsServer && Last != First && Last - First < 0x7fff) {
            RtlPointUnicodeString(Folder,
                                  Path->Buffer + First,
                                  Last - First);
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
ReaderRundownSymbolPath(
    PREADER_SYMBOL_PATH Path
    )
/*++

Routine Description:

    Frees the path.

Arguments:

    Path - Supplies the path.

Return Value:

    None.

--*/
{
    if (Path->Allocator != NULL) {
        Path->Allocator->Free(Path->Allocator->Context, Path->Buffer);
        Path->Buffer = NULL;
        Path->LengthInChars = 0;
    }
}

static
VOID
ReaderWritePdbIdentity(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(16) const UCHAR *Guid,
    _In_ ULONG Age
    )
/*++

Routine Description:

    Writes a PDB's identity: {GUID} and the age.

Arguments:

    Writer - Supplies the writer.

    Guid - Supplies the GUID, whose first three fields are little-endian.

    Age - Supplies the age.

Return Value:

    None.

--*/
{
    static const UCHAR Order[16] = {
        3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
    };
    CHAR Digits[2];
    ULONG Index;

    RtlWriteText(Writer, "{");
    for (Index = 0; Index < 16; Index++) {
        if (Index == 4 || Index == 6 || Index == 8 || Index == 10) {
            RtlWriteText(Writer, "-");
        }
        Digits[0] = "0123456789ABCDEF"[Guid[Order[Index]] >> 4];
        Digits[1] = "0123456789ABCDEF"[Guid[Order[Index]] & 15];
        RtlWriteBytes(Writer, Digits, 2);
    }
    RtlWriteText(Writer, "} age %u", Age);
}

static
VOID
ReaderNotePdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_COFF Image,
    _In_opt_ PCREADER_PDB Pdb,
    _In_ PCUNICODE_STRING DosPath
    )
/*++

Routine Description:

    Notes why a PDB is not used; the first one counts.

Arguments:

    Search - Receives the warning.

    Image - Supplies the image.

    Pdb - Supplies the PDB, or NULL if it is damaged.

    DosPath - Supplies its path.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;

    if (Search->WarningLength != 0) {
        return;
    }

    RtlInitializeBufferWriter(&Writer,
                              Search->Warning,
                              sizeof(Search->Warning));
    RtlWriteText(&Writer, "PDB not used: ");
    RtlWriteText(&Writer, "%Z", DosPath);
    if (Pdb == NULL) {
        RtlWriteText(&Writer, " is damaged");
    } else {
        RtlWriteText(&Writer, " is ");
        ReaderWritePdbIdentity(&Writer, Pdb->Guid, Pdb->Age);
        RtlWriteText(&Writer, ", the image belongs to ");
        ReaderWritePdbIdentity(&Writer, Image->PdbGuid, Image->PdbAge);
    }
    Search->WarningLength = Writer.LengthInBytes;
}

static
DECLSPEC_NOINLINE
NTSTATUS
ReaderParsePdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_COFF Image,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsTableWanted,
    _Inout_ PREADER_PDB Pdb
    )
/*++

Routine Description:

    Reads a mapped PDB.  A page of it that cannot be read raises an exception,
    which is caught here; everything that was allocated until then is in Search
    and Pdb.

Arguments:

    Search - Receives the functions.

    Allocator - Supplies the memory.

    Image - Supplies the image.

    View - Supplies the mapped file.

    SizeInBytes - Supplies its size.

    IsTableWanted - Supplies whether the functions are wanted.

    Pdb - Receives the PDB.

Return Value:

    STATUS_SUCCESS - It belongs to the image.

    STATUS_REVISION_MISMATCH - It does not.

    STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY, or the exception's code.

--*/
{
    NTSTATUS ExceptionStatus;
    NTSTATUS Status;

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = ReaderInitializePdb(Allocator, View, SizeInBytes, Pdb);
        if (NT_SUCCESS(Status)) {
            if (!RtlAreBytesEqual(Pdb->Guid,
                                  Image->PdbGuid,
                                  sizeof(Pdb->Guid)) ||
                Pdb->Age != Image->PdbAge) {
                Status = STATUS_REVISION_MISMATCH;
            } else if (IsTableWanted) {
                Status = ReaderLoadPdbFunctions(Pdb, Image, &Search->Table);
            }
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
ReaderTryPdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING DosPath,
    _In_ BOOLEAN IsTableWanted
    )
/*++

Routine Description:

    Looks at one file that may be the image's PDB.

Arguments:

    Search - Receives what was found.

    Path - Supplies the operating system's routines and the memory.

    Image - Supplies the image.

    DosPath - Supplies the file's path.

    IsTableWanted - Supplies whether its functions are wanted.

Return Value:

    STATUS_SUCCESS - It is.

    STATUS_NO_MEMORY.

    STATUS_FILE_CORRUPT_ERROR - There is a file, but no whole PDB.

    STATUS_REVISION_MISMATCH - It belongs to another image.

    others - There is no such file.

--*/
{
    PCRTL Rtl;
    HANDLE File;
    UNICODE_STRING NtPath;
    READER_PDB Pdb;
    HANDLE Section;
    ULONGLONG SizeInBytes;
    NTSTATUS Status;
    PVOID View;

    Rtl = Path->Rtl;
    Status = RtlDosPathToNtPath(Rtl,
                                DosPath,
                                Search->NtBuffer,
                                RTL_NUMBER_OF(Search->NtBuffer),
                                &NtPath);
    if (!NT_SUCCESS(Status)) {
        return STATUS_NOT_FOUND;
    }

    Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
    if (!NT_SUCCESS(Status)) {
        return STATUS_NOT_FOUND;
    }

    Section = NULL;
    View = NULL;
    Pdb.Allocator = NULL;
    Status = RtlQueryFileSize(Rtl, File, &SizeInBytes);
    if (NT_SUCCESS(Status) && SizeInBytes == 0) {
        Status = STATUS_FILE_CORRUPT_ERROR;
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlCreateFileSection(Rtl, File, 0, FALSE, &Section);
        if (!NT_SUCCESS(Status)) {
            Section = NULL;
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   0,
                                   (SIZE_T)SizeInBytes,
                                   FALSE,
                                   NULL,
                                   &View);
        if (!NT_SUCCESS(Status)) {
            View = NULL;
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderParsePdb(Search,
                                Path->Allocator,
                                Image,
                                View,
                                SizeInBytes,
                                IsTableWanted,
                                &Pdb);
    }

    if (Status == STATUS_REVISION_MISMATCH) {
        ReaderNotePdb(Search, Image, &Pdb, DosPath);
    } else if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
        Status = STATUS_FILE_CORRUPT_ERROR;
        ReaderNotePdb(Search, Image, NULL, DosPath);
    }

    ReaderRundownPdb(&Pdb);
    if (!NT_SUCCESS(Status)) {
        ReaderRundownCoff(&Search->Table);
        Search->Table.Kind = ReaderCoffKindNone;
    }
    if (View != NULL) {
        RtlUnmapFileSection(Rtl, View);
    }
    if (Section != NULL) {
        RtlClose(Rtl, Section);
    }
    RtlClose(Rtl, File);
    return Status;
}

static
_Must_inspect_result_
NTSTATUS
ReaderTryPdbInFolder(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING Folder,
    _In_ PCUNICODE_STRING Name,
    _In_ BOOLEAN IsStore
    )
/*++

Routine Description:

    Looks for the PDB in one folder.

Arguments:

    Search - Receives what was found.

    Path - Supplies the operating system's routines and the memory.

    Image - Supplies the image.

    Folder - Supplies the folder; empty for the current one.

    Name - Supplies the PDB's name.

    IsStore - Supplies whether the folder is a symbol store.

Return Value:

    As ReaderTryPdb.

--*/
{
    static const UCHAR Order[16] = {
        3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
    };
    PUNICODE_STRING DosPath;
    WCHAR Identity[40];
    ULONG Index;
    ULONG Length;
    ULONG Shift;

    DosPath = &Search->Path;
    DosPath->Buffer = Search->Buffer;
    DosPath->Length = 0;
    DosPath->MaximumLength = sizeof(Search->Buffer) - sizeof(WCHAR);
    if (!NT_SUCCESS(RtlAppendPath(DosPath,
                                  Folder->Buffer,
                                  Folder->Length / sizeof(WCHAR),
                                  FALSE))) {
        return STATUS_NOT_FOUND;
    }

    if (IsStore) {

        Length = 0;
        for (Index = 0; Index < 32; Index++) {
            Identity[Length] = L"0123456789ABCDEF"[
                (Image->PdbGuid[Order[Index / 2]] >>
                 (Index % 2 == 0 ? 4 : 0)) & 15];
            Length += 1;
        }
        for (Shift = 28; Shift != 0 && (Image->PdbAge >> Shift) == 0;) {
            Shift -= 4;
        }
        for (;;) {
            Identity[Length] =
                L"0123456789abcdef"[(Image->PdbAge >> Shift) & 15];
            Length += 1;
            if (Shift == 0) {
                break;
            }
            Shift -= 4;
        }

        if (!NT_SUCCESS(RtlAppendPath(DosPath,
                                      Name->Buffer,
                                      Name->Length / sizeof(WCHAR),
                                      TRUE)) ||
            !NT_SUCCESS(RtlAppendPath(DosPath, Identity, Length, TRUE))) {
            return STATUS_NOT_FOUND;
        }
    }

    if (!NT_SUCCESS(RtlAppendPath(DosPath,
                                  Name->Buffer,
                                  Name->Length / sizeof(WCHAR),
                                  TRUE))) {
        return STATUS_NOT_FOUND;
    }

    DosPath->Buffer[DosPath->Length / sizeof(WCHAR)] = 0;
    return ReaderTryPdb(Search, Path, Image, DosPath, TRUE);
}

static
_Must_inspect_result_
NTSTATUS
ReaderTryPdbPlaces(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING ImagePath
    )
/*++

Routine Description:

    Looks for the PDB in all places.

Arguments:

    Search - Receives what was found.

    Path - Supplies the folders.

    Image - Supplies the image.

    ImagePath - Supplies where the image is.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or anything else if it is nowhere.

--*/
{
    UNICODE_STRING Empty;
    UNICODE_STRING Folder;
    UNICODE_STRING Name;
    UNICODE_STRING Named;
    ULONG Index;
    ULONG Length;
    ULONG Offset;
    NTSTATUS Status;

    RtlUtf8ToWide(Image->PdbPath,
                  Image->PdbPathLength,
                  Search->NameBuffer,
                  RTL_NUMBER_OF(Search->NameBuffer),
                  &Length);
    RtlPointUnicodeString(&Named, Search->NameBuffer, Length);
    for (Index = 0; Index < Length; Index++) {
        if (Search->NameBuffer[Index] == 0) {
            return STATUS_NOT_FOUND;
        }
    }

    RtlBaseName(&Named, &Name);
    if (Name.Length == 0) {
        return STATUS_NOT_FOUND;
    }

    //
    // Three places where DbgHelp looks, too: for what is damaged there it is
    // not called.
    //

    RtlPointUnicodeString(&Empty, Search->NameBuffer, 0);
    Status = ReaderTryPdbInFolder(Search, Path, Image, &Empty, &Named, FALSE);
    for (Index = 0; Index < 2; Index++) {

        if (Status == STATUS_FILE_CORRUPT_ERROR) {
            Search->IsDamagedSeen = TRUE;
        }
        if (NT_SUCCESS(Status) || Status == STATUS_NO_MEMORY) {
            return Status;
        }

        Folder = Empty;
        if (Index == 1) {
            RtlBaseName(ImagePath, &Folder);
            RtlPointUnicodeString(
                &Folder,
                ImagePath->Buffer,
                (ImagePath->Length - Folder.Length) / sizeof(WCHAR));
        }
        Status = ReaderTryPdbInFolder(Search,
                                      Path,
                                      Image,
                                      &Folder,
                                      &Name,
                                      FALSE);
    }

    if (Status == STATUS_FILE_CORRUPT_ERROR) {
        Search->IsDamagedSeen = TRUE;
    }

    Offset = 0;
    while (!NT_SUCCESS(Status) &&
           Status != STATUS_NO_MEMORY &&
           ReaderNextSymbolFolder(Path, &Offset, &Folder)) {

        Status = ReaderTryPdbInFolder(Search,
                                      Path,
                                      Image,
                                      &Folder,
                                      &Name,
                                      FALSE);
        if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
            Status = ReaderTryPdbInFolder(Search,
                                          Path,
                                          Image,
                                          &Folder,
                                          &Name,
                                          TRUE);
        }
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
ReaderFindPdb(
    PREADER_PDB_SEARCH Search,
    PCREADER_SYMBOL_PATH Path,
    PCREADER_COFF Image,
    PCUNICODE_STRING ImagePath
    )
/*++

Routine Description:

    Looks for the PDB that an image names.

Arguments:

    Search - Receives what was found.

    Path - Supplies the folders.

    Image - Supplies the image.

    ImagePath - Supplies where the image is.

Return Value:

    STATUS_SUCCESS, also when there is none, or STATUS_NO_MEMORY.

--*/
{
    UNICODE_STRING Name;
    NTSTATUS Status;

    if (!Image->HasPdb) {
        return STATUS_SUCCESS;
    }

    Status = ReaderTryPdbPlaces(Search, Path, Image, ImagePath);
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (NT_SUCCESS(Status)) {
        Search->IsFound = TRUE;
        Search->WarningLength = 0;
        RtlBaseName(&Search->Path, &Name);
        Search->FolderLength =
            (Search->Path.Length - Name.Length) / sizeof(WCHAR);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
ReaderCheckPdb(
    PREADER_PDB_SEARCH Search,
    PCREADER_SYMBOL_PATH Path,
    PCREADER_COFF Image,
    PCWSTR PdbPath
    )
/*++

Routine Description:

    Says whether a PDB belongs to an image.

Arguments:

    Search - Supplies memory; receives the warning.

    Path - Supplies the operating system's routines.

    Image - Supplies the image.

    PdbPath - Supplies the PDB's path.

Return Value:

    STATUS_SUCCESS if it does, or the failures that ReaderSymbolPath.h lists.

--*/
{
    UNICODE_STRING DosPath;
    ULONG Length;

    Length = RtlLengthOfWideString(PdbPath);
    if (Length == 0 || Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NOT_FOUND;
    }

    RtlPointUnicodeString(&DosPath, PdbPath, Length);
    return ReaderTryPdb(Search, Path, Image, &DosPath, FALSE);
}

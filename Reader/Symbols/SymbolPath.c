/*++

Module Name:

    SymbolPath.c

Abstract:

    The folders in which images and their PDBs are looked for, and the search
    for an image's PDB.

--*/

#include "../Image/ImagePdb.h"
#include "SymbolPath.h"

//
// The longest value of _NT_SYMBOL_PATH, in 16-bit units: Windows' own limit.
//

#define READER_ENVIRONMENT_IN_CHARS 32767

static const WCHAR ReaderSymbolPathVariable[] = L"_NT_SYMBOL_PATH";

_Use_decl_annotations_
NTSTATUS
SymbolInitializeSymbolPath(
    PREADER_SYMBOL_PATH Path,
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCWSTR Option
    )
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
SymbolNextSymbolFolder(
    PCREADER_SYMBOL_PATH Path,
    PULONG Offset,
    PUNICODE_STRING Folder
    )
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
SymbolRundownSymbolPath(
    PREADER_SYMBOL_PATH Path
    )
{
    if (Path->Allocator != NULL) {
        Path->Allocator->Free(Path->Allocator->Context, Path->Buffer);
        Path->Buffer = NULL;
        Path->LengthInChars = 0;
    }
}

//
// Guid: the GUID, whose first three fields are little-endian.
//

static
VOID
SymbolWritePdbIdentity(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(16) const UCHAR *Guid,
    _In_ ULONG Age
    )
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

#define READER_IS_SEPARATOR(Character) \
    ((Character) == L'\\' || (Character) == L'/')

_Use_decl_annotations_
BOOLEAN
SymbolIsLocalPath(
    PCUNICODE_STRING Path
    )
{
    static const WCHAR Verbatim[] = L"\\\\?\\";

    UNICODE_STRING Name;
    PCWSTR Text = Path->Buffer;
    ULONG Length = Path->Length / sizeof(WCHAR);
    ULONG Prefix = RTL_NUMBER_OF(Verbatim) - 1;

    //
    // \\?\C:\... is one of a drive.
    //

    if (Length > Prefix + 2 &&
        RtlAreBytesEqual(Text, Verbatim, Prefix * sizeof(WCHAR)) &&
        Text[Prefix + 1] == L':' &&
        READER_IS_SEPARATOR(Text[Prefix + 2])) {

        Text += Prefix;
        Length -= Prefix;
    }

    if (Length >= 2 &&
        READER_IS_SEPARATOR(Text[0]) &&
        (READER_IS_SEPARATOR(Text[1]) || Text[1] == L'?')) {

        return FALSE;
    }

    RtlBaseName(Path, &Name);
    return RtlIsPlainName(&Name, FALSE);
}

//
// Notes why a PDB is not used; the first one counts.
// Search: the warning.
// Pdb: the PDB, or NULL if it is damaged.
//

static
VOID
SymbolNotePdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_COFF Image,
    _In_opt_ PCREADER_PDB Pdb,
    _In_ PCUNICODE_STRING DosPath
    )
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
        SymbolWritePdbIdentity(&Writer, Pdb->Guid, Pdb->Age);
        RtlWriteText(&Writer, ", the image belongs to ");
        SymbolWritePdbIdentity(&Writer, Image->PdbGuid, Image->PdbAge);
    }
    Search->WarningLength = Writer.LengthInBytes;
}

//
// Notes that of the PDB that was found only the names are used, as far as they
// can be read.
// Search: the path; receives the warning.
//

static
VOID
SymbolNoteDamagedPdb(
    _Inout_ PREADER_PDB_SEARCH Search
    )
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer,
                              Search->Warning,
                              sizeof(Search->Warning));
    RtlWriteText(&Writer,
                 "PDB is damaged: %Z: its names are used as far as they can be "
                 "read, its lines are not",
                 &Search->Path);
    Search->WarningLength = Writer.LengthInBytes;
}

//
// Reads a mapped PDB. A page of it that cannot be read raises an exception,
// which is caught here; everything that was allocated until then is in Search
// and Pdb.
//
// Search: the functions.
// Allocator: the memory.
// View: the mapped file.
// IsTableWanted: whether the functions are wanted.
// STATUS_SUCCESS: it belongs to the image.
// STATUS_REVISION_MISMATCH: it does not.
// STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY, or the exception's code.
//

static
DECLSPEC_NOINLINE
NTSTATUS
SymbolParsePdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_COFF Image,
    _In_reads_bytes_(SizeInBytes) const UCHAR *View,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsTableWanted,
    _Inout_ PREADER_PDB Pdb
    )
{
    NTSTATUS ExceptionStatus;
    NTSTATUS Status;

    ExceptionStatus = STATUS_SUCCESS;

    __try {
        Status = ImageInitializePdb(Allocator, View, SizeInBytes, Pdb);
        if (NT_SUCCESS(Status)) {
            if (!RtlAreBytesEqual(Pdb->Guid,
                                  Image->PdbGuid,
                                  sizeof(Pdb->Guid)) ||
                Pdb->Age != Image->PdbAge) {
                Status = STATUS_REVISION_MISMATCH;
            } else if (IsTableWanted) {
                Status = ImageLoadPdbFunctions(Pdb, Image, &Search->Table);
            }
        }
    } __except (ExceptionStatus = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Status = ExceptionStatus;
    }

    return Status;
}

//
// Looks at one file that may be the image's PDB.
// Search: what was found.
// Path: the operating system's routines and the memory.
// IsTableWanted: whether its functions are wanted.
// STATUS_SUCCESS: it is.
// STATUS_FILE_CORRUPT_ERROR: there is a file, but no whole PDB.
// STATUS_REVISION_MISMATCH: it belongs to another image.
// others: there is no such file.
//

static
_Must_inspect_result_
NTSTATUS
SymbolTryPdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING DosPath,
    _In_ BOOLEAN IsTableWanted
    )
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
        Status = SymbolParsePdb(Search,
                                Path->Allocator,
                                Image,
                                View,
                                SizeInBytes,
                                IsTableWanted,
                                &Pdb);
    }

    if (NT_SUCCESS(Status) && IsTableWanted && Pdb.IsDamaged) {
        Search->IsTableDamaged = TRUE;
    } else if (Status == STATUS_REVISION_MISMATCH) {
        SymbolNotePdb(Search, Image, &Pdb, DosPath);
    } else if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
        Status = STATUS_FILE_CORRUPT_ERROR;
        SymbolNotePdb(Search, Image, NULL, DosPath);
    }

    ImageRundownPdb(&Pdb);
    if (!NT_SUCCESS(Status)) {
        ImageRundownCoff(&Search->Table);
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

//
// Looks for the PDB in one folder.
// Search: what was found.
// Path: the operating system's routines and the memory.
// Folder: the folder; empty for the current one.
// IsStore: whether the folder is a symbol store.
// Returns as SymbolTryPdb.
//

static
_Must_inspect_result_
NTSTATUS
SymbolTryPdbInFolder(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING Folder,
    _In_ PCUNICODE_STRING Name,
    _In_ BOOLEAN IsStore
    )
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
    return SymbolTryPdb(Search, Path, Image, DosPath, TRUE);
}

//
// Looks for the PDB in all places.
// Search: what was found.
// Path: the folders.
// ImagePath: where the image is.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or anything else if it is nowhere.
//

static
_Must_inspect_result_
NTSTATUS
SymbolTryPdbPlaces(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING ImagePath
    )
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
    Status = STATUS_NOT_FOUND;
    if (SymbolIsLocalPath(&Named)) {
        Status = SymbolTryPdbInFolder(Search,
                                      Path,
                                      Image,
                                      &Empty,
                                      &Named,
                                      FALSE);
    }
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
        Status = SymbolTryPdbInFolder(Search,
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
           SymbolNextSymbolFolder(Path, &Offset, &Folder)) {

        Status = SymbolTryPdbInFolder(Search,
                                      Path,
                                      Image,
                                      &Folder,
                                      &Name,
                                      FALSE);
        if (!NT_SUCCESS(Status) && Status != STATUS_NO_MEMORY) {
            Status = SymbolTryPdbInFolder(Search,
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
SymbolFindPdb(
    PREADER_PDB_SEARCH Search,
    PCREADER_SYMBOL_PATH Path,
    PCREADER_COFF Image,
    PCUNICODE_STRING ImagePath
    )
{
    UNICODE_STRING Name;
    NTSTATUS Status;

    if (!Image->HasPdb) {
        return STATUS_SUCCESS;
    }

    Status = SymbolTryPdbPlaces(Search, Path, Image, ImagePath);
    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (NT_SUCCESS(Status)) {
        Search->IsFound = TRUE;
        Search->WarningLength = 0;
        if (Search->IsTableDamaged) {
            Search->IsDamagedSeen = TRUE;
            SymbolNoteDamagedPdb(Search);
        }
        RtlBaseName(&Search->Path, &Name);
        Search->FolderLength =
            (Search->Path.Length - Name.Length) / sizeof(WCHAR);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SymbolCheckPdb(
    PREADER_PDB_SEARCH Search,
    PCREADER_SYMBOL_PATH Path,
    PCREADER_COFF Image,
    PCWSTR PdbPath
    )
{
    UNICODE_STRING DosPath;
    ULONG Length;

    Length = RtlLengthOfWideString(PdbPath);
    if (Length == 0 || Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NOT_FOUND;
    }

    RtlPointUnicodeString(&DosPath, PdbPath, Length);
    return SymbolTryPdb(Search, Path, Image, &DosPath, FALSE);
}

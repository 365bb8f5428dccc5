/*++

Module Name:

    ReaderSymbols.c

Abstract:

    Function names for the addresses of one traced module: checks that the
    image on disk is the one that was traced, then joins what DbgHelp, the
    image's debugging information and its tables know.

--*/

#include "ReaderSymbols.h"
#include "ReaderCoff.h"
#include "ReaderDbgHelp.h"
#include "ReaderDwarf.h"

struct _READER_SYMBOLS {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    READER_SYMBOL_SOURCE Source;
    BOOLEAN IsTraced;               // the image is the one that was traced
    PREADER_DBGHELP DbgHelp;        // NULL: not trusted, or not there
    READER_COFF Coff;
    READER_UNWIND Unwind;
    READER_DWARF Dwarf;
};

//
// The image's path in the forms that are needed; too large for the stack.
//

typedef struct _READER_IMAGE_PATH {
    UNICODE_STRING Dos;             // terminated, for DbgHelp
    UNICODE_STRING Nt;
    WCHAR DosBuffer[sizeof(((PTRACE_STORE_HEADER)0)->ModulePath) + 1];
    WCHAR NtBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} READER_IMAGE_PATH;
typedef READER_IMAGE_PATH *PREADER_IMAGE_PATH;

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
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Reads the image itself.  The file is not held open or mapped afterwards:
    it can be rebuilt while the reader runs.

Arguments:

    Symbols - Receives the image's names.

    Path - Supplies where the image is.

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

    Status = ReaderParseImage(Symbols, View, SizeInBytes);

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
_Must_inspect_result_
NTSTATUS
ReaderLoadSymbols(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Finds the image and whatever names its functions.

Arguments:

    Symbols - Receives the names.

    Header - Supplies the store's header.

    Path - Supplies memory for the image's path.

    Error - Receives why the source is None.

Return Value:

    STATUS_SUCCESS, or why the source is None.

--*/
{
    NTSTATUS DbgHelpStatus;
    ULONG PdbPathLength;
    NTSTATUS Status;

    Status = ReaderMakeImagePath(Symbols->Rtl, Header, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderLoadImage(Symbols, Path, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!ReaderIsTracedImage(&Symbols->Coff, Header)) {
        return RtlSetError(Error,
                           "image was rebuilt since the trace",
                           &Path->Dos,
                           STATUS_REVISION_MISMATCH);
    }

    Symbols->IsTraced = TRUE;

    PdbPathLength = RtlLoadAcquire32(&Header->PdbPathLength);
    if (PdbPathLength > sizeof(Header->PdbPath)) {
        PdbPathLength = 0;
    }

    //
    // An image that has DWARF and names no PDB is not for DbgHelp, which knows
    // less of DWARF, or nothing.
    //

    if (PdbPathLength == 0 && Symbols->Dwarf.Functions.Number != 0) {
        Symbols->Source = ReaderSymbolSourceDwarf;
        return STATUS_SUCCESS;
    }

    DbgHelpStatus = ReaderCreateDbgHelp(Symbols->Rtl,
                                        Symbols->Allocator,
                                        Path->DosBuffer,
                                        Header->PdbPath,
                                        PdbPathLength,
                                        Header->ModuleBase,
                                        Symbols->Coff.SizeOfImage,
                                        &Symbols->DbgHelp,
                                        &Symbols->Source);
    if (DbgHelpStatus == STATUS_NO_MEMORY) {
        return RtlSetError(Error,
                           "loading symbols",
                           &Path->Dos,
                           STATUS_NO_MEMORY);
    }

    if (Symbols->Dwarf.Functions.Number != 0 &&
        Symbols->Source != ReaderSymbolSourcePdb) {
        ReaderDestroyDbgHelp(Symbols->DbgHelp);
        Symbols->DbgHelp = NULL;
        Symbols->Source = ReaderSymbolSourceDwarf;
        return STATUS_SUCCESS;
    }

    if (Symbols->DbgHelp != NULL) {
        return STATUS_SUCCESS;
    }

    switch (Symbols->Coff.Kind) {
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
    // The image names nothing, so it is DbgHelp's reason that helps.
    //

    return RtlSetError(Error,
                       "loading symbols (no PDB, symbol table or exports)",
                       &Path->Dos,
                       DbgHelpStatus);
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

    Creates the symbols of a traced module.

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

    Status = ReaderLoadSymbols(Symbols, Header, Path, Error);
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

    if (!ReaderFindDwarfFunction(&Symbols->Dwarf, Rva, &Dwarf)) {
        return FALSE;
    }

    Symbol->StartRva = Dwarf.StartRva;
    Symbol->LengthInBytes = Dwarf.LengthInBytes;
    Symbol->Name = Dwarf.Name;

    if (Symbols->Coff.Kind == ReaderCoffKindSymbols &&
        ReaderFindCoffSymbol(&Symbols->Coff,
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

_Use_decl_annotations_
BOOLEAN
ReaderFindSymbol(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    PREADER_SYMBOL Symbol
    )
/*++

Routine Description:

    Finds the function that an address is in.

    The image's DWARF knows where functions end: a function whose code is at
    the address is the image's answer.  Otherwise it is the nearest one at or
    below the address in the COFF symbol table: objects without debugging
    information (the C runtime's) are in the table alone.  Exports never fill
    gaps: they are too few for the nearest to mean anything.

    When there is a PDB, the nearer of DbgHelp's answer and the image's wins;
    at one address DbgHelp's does, unless it does not even know a function
    there (Wine invents "EntryPoint").

Arguments:

    Symbols - Supplies the symbols.

    Rva - Supplies the address in the module.

    Symbol - Receives the function.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    PCREADER_COFF_SECTION Section;
    READER_SYMBOL DbgHelp;
    READER_SYMBOL Image;
    BOOLEAN HasDbgHelp;
    BOOLEAN HasImage;
    BOOLEAN IsFunction;

    if (!Symbols->IsTraced) {
        return FALSE;
    }

    Section = ReaderFindCodeSection(&Symbols->Coff, Rva);
    if (Section == NULL) {
        return FALSE;
    }

    HasDbgHelp = FALSE;
    IsFunction = FALSE;
    if (Symbols->DbgHelp != NULL) {
        HasDbgHelp = ReaderFindDbgHelpSymbol(Symbols->DbgHelp,
                                             Rva,
                                             &DbgHelp,
                                             &IsFunction);
        if (HasDbgHelp && DbgHelp.StartRva < Section->StartRva) {
            HasDbgHelp = FALSE;
        }
    }

    HasImage = ReaderFindInDwarf(Symbols, Rva, &Image);
    if (!HasImage &&
        (Symbols->Source == ReaderSymbolSourceExports ||
         Symbols->Coff.Kind == ReaderCoffKindSymbols)) {
        HasImage = ReaderFindCoffSymbol(&Symbols->Coff,
                                        Rva,
                                        &Image.StartRva,
                                        &Image.Name,
                                        &Image.LengthInBytes);
    }

    if (HasDbgHelp &&
        (!HasImage ||
         DbgHelp.StartRva > Image.StartRva ||
         (DbgHelp.StartRva == Image.StartRva && IsFunction))) {
        *Symbol = DbgHelp;
        return TRUE;
    }

    if (HasImage) {
        *Symbol = Image;
        return TRUE;
    }

    return FALSE;
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

    if (Symbols == NULL) {
        return;
    }

    Allocator = Symbols->Allocator;

    ReaderDestroyDbgHelp(Symbols->DbgHelp);
    ReaderRundownCoff(&Symbols->Coff);
    ReaderRundownUnwind(&Symbols->Unwind);
    ReaderRundownDwarf(&Symbols->Dwarf);
    Allocator->Free(Allocator->Context, Symbols);
}

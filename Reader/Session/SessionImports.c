/*++

Module Name:

    SessionImports.c

Abstract:

    A process's file of imports is read: at first as it is, and then what has
    been appended.  Whoever calls holds the session's lock, where there are
    several threads.

--*/

#include "../Base/BaseFile.h"
#include "../Core/CoreImports.h"
#include "../Symbols/SymbolUndecorate.h"
#include "../../Imports/ImportsTrivial.h"
#include "SessionImports.h"
#include "SessionModule.h"
#include "SessionProcess.h"
#include "SessionSource.h"

//
// Columns of the list of trivial functions.
//

#define READER_TRIVIAL_WIDTH 78u

//
// Pieces of text are allocated of this size at least.
//

#define READER_IMPORTS_TEXT 0x4000u

//
// Longer names of C++ are shown as they are, bytes.
//

#define READER_IMPORTS_LINKAGE 1024

//
// A stub is no larger, bytes.
//

#define READER_IMPORTS_STUB 4096u

typedef struct _READER_IMPORTS_BLOCK {
    struct _READER_IMPORTS_BLOCK *Next;
    ULONG CapacityInBytes;
    ULONG LengthInBytes;
    CHAR Text[1];
} READER_IMPORTS_BLOCK;
typedef READER_IMPORTS_BLOCK *PREADER_IMPORTS_BLOCK;

typedef struct _READER_IMPORTS {
    TRACE_IMPORTS_HEADER Header;    // Magic 0: there is no good one
    ULONG End;                      // what was read, file offset
    ULONG StubSize;                 // of all
    READER_UNDECORATOR Undecorator;
    READER_MAP Stubs;               // RVA to index of Imports
    READER_MAP Names;               // hash of a name, and of a name and its
                                    // importer, to index
    PREADER_IMPORT Imports;
    ULONG NumberOfImports;
    ULONG CapacityOfImports;
    PCSZ *Modules;                  // file names
    ULONG NumberOfModules;
    ULONG CapacityOfModules;
    PREADER_IMPORTS_BLOCK Blocks;
} READER_IMPORTS;


//
// Room for a text that stays until the session is closed, or NULL.
//

_Ret_maybenull_
static
PCHAR
SessionAllocateText(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_IMPORTS Imports,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_IMPORTS_BLOCK Block = Imports->Blocks;
    ULONG Capacity = READER_IMPORTS_TEXT;

    if (Block == NULL ||
        Block->CapacityInBytes - Block->LengthInBytes < SizeInBytes) {

        if (Capacity < SizeInBytes) {
            Capacity = SizeInBytes;
        }

        Block = (PREADER_IMPORTS_BLOCK)
            Allocator->Allocate(Allocator->Context,
                                sizeof(*Block) + Capacity);
        if (Block == NULL) {
            return NULL;
        }

        Block->CapacityInBytes = Capacity;
        Block->Next = Imports->Blocks;
        Imports->Blocks = Block;
    }

    Block->LengthInBytes += SizeInBytes;
    return Block->Text + Block->LengthInBytes - SizeInBytes;
}


//
// Adds a module of the file.
//

_Must_inspect_result_
static
NTSTATUS
SessionAddImportModule(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_IMPORTS Imports,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
{
    NTSTATUS Status;
    PCHAR Text;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Imports->Modules,
                           &Imports->CapacityOfModules,
                           Imports->NumberOfModules + 1,
                           sizeof(PCSZ));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Text = SessionAllocateText(Allocator, Imports, Length + 1);
    if (Text == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Text, Name, Length);
    Text[Length] = 0;
    Imports->Modules[Imports->NumberOfModules] = Text;
    Imports->NumberOfModules += 1;
    return STATUS_SUCCESS;
}


//
// Adds a stub.
//

_Must_inspect_result_
static
NTSTATUS
SessionAddImport(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_IMPORTS Imports,
    _In_ PCTRACE_IMPORTS_ENTRY Entry,
    _In_reads_bytes_(Entry->NameLength) const CHAR *Name
    )
{
    PREADER_IMPORT Import;
    RTL_WRITER Writer;
    ULONGLONG Hash = 0xCBF29CE484222325ULL;
    CHAR Linkage[READER_IMPORTS_LINKAGE];
    PCSZ Module = NULL;
    PCSZ Readable = Name;
    PCHAR Text;
    ULONG Length = Entry->NameLength;
    ULONG Stem = 0;
    ULONG Capacity;
    ULONG Index;
    NTSTATUS Status;

    if (Entry->StubSize == 0 || Entry->StubSize > READER_IMPORTS_STUB ||
        (Imports->StubSize != 0 && Entry->StubSize != Imports->StubSize) ||
        BaseFindInMap(&Imports->Stubs, Entry->Rva, &Index)) {
        return STATUS_SUCCESS;
    }

    if (Entry->Exporter < Imports->NumberOfModules) {
        Module = Imports->Modules[Entry->Exporter];
        Stem = RtlLengthOfString(Module);
        if (Stem > 4 && RtlAreBytesEqual(Module + Stem - 4, ".dll", 4)) {
            Stem -= 4;
        }
    }

    Imports->StubSize = Entry->StubSize;
    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Imports->Imports,
                           &Imports->CapacityOfImports,
                           Imports->NumberOfImports + 1,
                           sizeof(READER_IMPORT));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Names of C++ begin with ? or _Z, and are shown as all others are.
    //

    if (Length > 1 && Length < sizeof(Linkage) &&
        (Name[0] == '?' || (Name[0] == '_' && Name[1] == 'Z'))) {
        RtlCopyBytes(Linkage, Name, Length);
        Linkage[Length] = 0;
        SymbolUndecorate(&Imports->Undecorator,
                         Linkage,
                         Length,
                         &Readable,
                         &Length);
    }

    Capacity = Stem + Length + 16;
    Text = SessionAllocateText(Allocator, Imports, Capacity);
    if (Text == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlInitializeBufferWriter(&Writer, Text, Capacity);
    RtlWriteBytes(&Writer, Module != NULL ? Module : "", Stem);
    RtlWriteText(&Writer, "!");
    if (Entry->NameLength != 0) {
        RtlWriteBytes(&Writer, Readable, Length);
    } else {
        RtlWriteText(&Writer, "#%u", (ULONG)Entry->Ordinal);
    }

    //
    // Different functions may be shown alike.
    //

    for (Index = 0; Index < Entry->NameLength; Index++) {
        Hash = (Hash ^ (UCHAR)Name[Index]) * 0x100000001B3ULL;
    }

    for (Index = 0; Index < Writer.LengthInBytes; Index++) {
        Hash = (Hash ^ (UCHAR)Text[Index]) * 0x100000001B3ULL;
    }

    Import = &Imports->Imports[Imports->NumberOfImports];
    Import->Rva = Entry->Rva;
    Import->SizeInBytes = Entry->StubSize;
    Import->FirstRva = Entry->Rva;
    Import->OwnRva = Entry->Rva;
    Import->Module = Module;
    Import->Importer = Entry->Importer < Imports->NumberOfModules
                           ? Imports->Modules[Entry->Importer]
                           : NULL;
    Import->Name = Text;
    Import->NameLength = Writer.LengthInBytes;
    if (BaseFindInMap(&Imports->Names, Hash, &Index)) {
        Import->FirstRva = Imports->Imports[Index].Rva;
    } else {
        Status = BaseAddToMap(&Imports->Names,
                              Hash,
                              Imports->NumberOfImports);
    }

    //
    // A module that asks for a function again has another stub, also one of
    // that name that was loaded again.
    //

    for (Index = 0;
         Import->Importer != NULL && Import->Importer[Index] != 0;
         Index++) {
        Hash = (Hash ^ (UCHAR)Import->Importer[Index]) * 0x100000001B3ULL;
    }

    Hash *= 0x9E3779B97F4A7C15ULL;
    if (BaseFindInMap(&Imports->Names, Hash, &Index)) {
        Import->OwnRva = Imports->Imports[Index].Rva;
    } else if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Imports->Names,
                              Hash,
                              Imports->NumberOfImports);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Imports->Stubs,
                              Entry->Rva,
                              Imports->NumberOfImports);
        Imports->NumberOfImports += 1;
    }

    return Status;
}


//
// Reads what has been appended since the last time.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadImportEntries(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_IMPORTS Imports,
    _Inout_ PREADER_SOURCE File
    )
{
    TRACE_IMPORTS_ENTRY Entry;
    const CHAR *Name;
    PUCHAR Bytes;
    ULONG Size = (ULONG)Imports->Header.End - Imports->End;
    ULONG ReadInBytes = 0;
    ULONG Position = 0;
    NTSTATUS Status;

    if (Size == 0) {
        return STATUS_SUCCESS;
    }

    Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (Bytes == NULL) {
        return STATUS_NO_MEMORY;
    }

    while (Position < Size) {
        Status = SessionReadSource(File,
                                   (ULONGLONG)Imports->End + Position,
                                   Bytes + Position,
                                   Size - Position,
                                   &ReadInBytes);
        if (!NT_SUCCESS(Status) || ReadInBytes == 0) {
            break;
        }
        Position += ReadInBytes;
    }

    Size = Position;
    Position = 0;
    Status = STATUS_SUCCESS;
    while (NT_SUCCESS(Status) &&
           CoreNextImport(Bytes, Size, &Position, &Entry, &Name)) {

        if (Entry.Kind == TRACE_IMPORTS_MODULE) {
            Status = SessionAddImportModule(Allocator,
                                            Imports,
                                            Name,
                                            Entry.NameLength);
        } else if (Entry.Kind == TRACE_IMPORTS_STUB) {
            Status = SessionAddImport(Allocator, Imports, &Entry, Name);
        }
    }

    Imports->End += Position;
    Allocator->Free(Allocator->Context, Bytes);
    return Status;
}


//
// Which process a module of stubs is of, or READER_NONE.
//

static
ULONG
SessionFindImportsProcess(
    _In_ const READER_SESSION *Session,
    _In_ const READER_MODULE *Module
    )
{
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

        PCTRACE_STORE_HEADER Header = Session->Processes[Process].Header;

        if (Header->ProcessId == Module->Header->ProcessId &&
            Header->ProcessCreationTime ==
                Module->Header->ProcessCreationTime) {
            return Process;
        }
    }

    return READER_NONE;
}


//
// Reads the file, or what is new in it.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadImports(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_IMPORTS Imports = Module->Imports;
    TRACE_IMPORTS_HEADER Header;
    UNICODE_STRING NtPath;
    READER_SOURCE File;
    ULONGLONG Size = 0;
    ULONG ReadInBytes = 0;
    ULONG Process;
    PCSZ Problem;
    NTSTATUS Status;

    if (Imports == NULL) {
        Imports = (PREADER_IMPORTS)
            Allocator->Allocate(Allocator->Context, sizeof(*Imports));
        if (Imports == NULL) {
            return STATUS_NO_MEMORY;
        }
        SymbolInitializeUndecorator(&Imports->Undecorator,
                                    Session->Context->Rtl,
                                    Allocator);
        BaseInitializeMap(&Imports->Stubs, Allocator);
        BaseInitializeMap(&Imports->Names, Allocator);
        Module->Imports = Imports;
    }

    Process = SessionFindImportsProcess(Session, Module);
    if (Process == READER_NONE) {
        return STATUS_NOT_FOUND;
    }

    Status = SessionNameProcessFile(Session,
                                    Process,
                                    L"" TRACE_IMPORTS_FILE_NAME,
                                    RTL_NUMBER_OF(TRACE_IMPORTS_FILE_NAME) - 1,
                                    &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SessionOpenSource(Session->Context,
                               Session->Pack,
                               &NtPath,
                               &File);
    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlZeroBytes(&Header, sizeof(Header));
    Status = SessionQuerySource(&File, &Size);
    if (NT_SUCCESS(Status)) {
        Status = SessionReadSource(&File,
                                   0,
                                   &Header,
                                   sizeof(Header),
                                   &ReadInBytes);
    }

    if (NT_SUCCESS(Status) &&
        (ReadInBytes != sizeof(Header) ||
         !CoreValidateImports(&Header,
                              Size,
                              Module->Header->ProcessId,
                              Module->Header->ProcessCreationTime,
                              &Problem) ||
         Header.End < Imports->End)) {
        Status = STATUS_FILE_INVALID;
    }

    if (NT_SUCCESS(Status)) {
        Imports->Header = Header;
        if (Imports->End == 0) {
            Imports->End = Header.HeaderSize;
        }
        Status = SessionReadImportEntries(Allocator, Imports, &File);
    }

    SessionCloseSource(&File);
    return Status;
}


//
// Looks among what was read.
//

_Ret_maybenull_
static
PCREADER_IMPORT
SessionLookForImport(
    _In_opt_ const READER_IMPORTS *Imports,
    _In_ ULONG Rva
    )
{
    ULONG Offset;
    ULONG Index;

    //
    // A stub's site is behind the call of a hook.
    //

    for (Offset = 0;
         Imports != NULL && Offset < Imports->StubSize && Offset <= Rva;
         Offset++) {

        if (BaseFindInMap(&Imports->Stubs, Rva - Offset, &Index)) {
            return &Imports->Imports[Index];
        }
    }

    return NULL;
}


_Use_decl_annotations_
PCREADER_IMPORT
SessionImportsFind(
    PREADER_SESSION Session,
    PREADER_MODULE Module,
    ULONG Rva
    )
{
    PCREADER_IMPORT Import = SessionLookForImport(Module->Imports, Rva);

    if (Import == NULL && NT_SUCCESS(SessionReadImports(Session, Module))) {
        Import = SessionLookForImport(Module->Imports, Rva);
    }

    return Import;
}


_Use_decl_annotations_
BOOLEAN
SessionImportsAreSelected(
    PREADER_SESSION Session
    )
{
    PREADER_MODULE Module;
    PCSZ Name;
    ULONG Import;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (!SessionHasImports(Module) ||
            !NT_SUCCESS(SessionReadImports(Session, Module))) {
            continue;
        }

        for (Import = 0;
             Import < Module->Imports->NumberOfImports;
             Import++) {

            Name = Module->Imports->Imports[Import].Module;
            if (Name != NULL &&
                SessionIsNameSelected(Session, Name, RtlLengthOfString(Name))) {
                return TRUE;
            }
        }
    }

    return FALSE;
}


static const READER_COLUMN ReaderImportsColumns[] = {
    { "Imports asked for", "imports", ReaderColumnNumber, 0, 0,
      "Import slots of the modules that were loaded, of those that the lists "
      "have." },
    { "Patched", "patched", ReaderColumnNumber, 0, 0,
      "Of these, those whose calls are recorded." },
    { "Left out, data", "data", ReaderColumnNumber, 0, 0,
      "Slots that have no code of another module, or no name." },
    { "Left out, never", "never", ReaderColumnNumber, 0, 0,
      "Functions that must see the frame of their caller." },
    { "Left out, trivial", "trivial", ReaderColumnNumber, 0, 0,
      "Functions of the default list (Docs/Imports.md) that were not named." },
    { "Left out, no stub", "no_stub", ReaderColumnNumber, 0, 0,
      "What there was no stub left for." },
    { "Left out, no access", "no_access", ReaderColumnNumber, 0, 0,
      "Slots that could not be written." },
    { "Stubs", "stubs", ReaderColumnNumber, 0, 0,
      "Stubs that were given out, also for addresses that the program has "
      "asked for." }
};

const READER_TABLE ReaderImportsTable = {
    "imports",
    ReaderImportsColumns,
    RTL_NUMBER_OF(ReaderImportsColumns),
    TRUE,
    TRUE,
    "One row, only where imports were recorded; of all processes."
};

static const PCSZ ReaderTrivialImports[] = { IMPORTS_TRIVIAL };

//
// Lists the trivial functions, in lines of a fixed width.
//

static
VOID
SessionPutTrivial(
    _Inout_ PREADER_OUTPUT Output
    )
{
    ULONG Column = 0;
    ULONG Length;
    ULONG Index;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderTrivialImports); Index++) {
        Length = RtlLengthOfString(ReaderTrivialImports[Index]) + 1;
        if (Column == 0 || Column + Length > READER_TRIVIAL_WIDTH) {
            RtlWriteText(Output->Writer, Column == 0 ? " " : "\n ");
            Column = 1;
        }

        RtlWriteText(Output->Writer, " %s", ReaderTrivialImports[Index]);
        Column += Length;
    }

    RtlWriteText(Output->Writer, "\n");
}


_Use_decl_annotations_
VOID
SessionImportsPut(
    PREADER_OUTPUT Output,
    PREADER_SESSION Session
    )
{
    ULONGLONG Left[TRACE_IMPORTS_REASONS] = { 0 };
    ULONGLONG Imports = 0;
    ULONGLONG Patched = 0;
    ULONGLONG Stubs = 0;
    PREADER_MODULE Module;
    ULONG Index;
    ULONG Reason;
    BOOLEAN IsThere = FALSE;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (!SessionHasImports(Module) ||
            !NT_SUCCESS(SessionReadImports(Session, Module))) {
            continue;
        }

        IsThere = TRUE;
        Imports += Module->Imports->Header.NumberOfImports;
        Patched += Module->Imports->Header.NumberPatched;
        Stubs += Module->Imports->Header.NumberOfStubs;
        for (Reason = 0; Reason < TRACE_IMPORTS_REASONS; Reason++) {
            Left[Reason] += Module->Imports->Header.NumberLeftOut[Reason];
        }
    }

    if (!IsThere) {
        return;
    }

    OutputBeginTable(Output, &ReaderImportsTable, 0);
    OutputPutNumber(Output, Imports);
    OutputPutNumber(Output, Patched);
    for (Reason = TRACE_IMPORTS_DATA;
         Reason <= TRACE_IMPORTS_NO_ACCESS;
         Reason++) {
        OutputPutNumber(Output, Left[Reason]);
    }

    OutputPutNumber(Output, Stubs);
    OutputEndTable(Output);
    if (Left[TRACE_IMPORTS_TRIVIAL] != 0) {
        OutputPutNote(Output,
                      "These are the trivial ones; --imports "
                      "\"*;kernel32!HeapAlloc\" records one of them, too:");
        SessionPutTrivial(Output);
    }
}


_Use_decl_annotations_
ULONG
SessionImportsCount(
    PCREADER_CONTEXT Context,
    PCWSTR Directory
    )
{
    PCRTL Rtl = Context->Rtl;
    PCALLOCATOR Allocator = Context->Allocator;
    TRACE_IMPORTS_HEADER Header;
    UNICODE_STRING NtPath;
    HANDLE File;
    ULONG ReadInBytes = 0;
    NTSTATUS Status;

    Status = BaseMakeNtPath(Context, Directory, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(&NtPath,
                               L"" TRACE_IMPORTS_FILE_NAME,
                               RTL_NUMBER_OF(TRACE_IMPORTS_FILE_NAME) - 1,
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
        if (NT_SUCCESS(Status)) {
            Status = RtlReadFile(Rtl,
                                 File,
                                 0,
                                 &Header,
                                 sizeof(Header),
                                 &ReadInBytes);
            RtlClose(Rtl, File);
        }
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    return NT_SUCCESS(Status) && ReadInBytes == sizeof(Header) &&
                   Header.Magic == TRACE_IMPORTS_MAGIC
               ? Header.NumberOfImports | Header.NumberOfStubs
               : ~0u;
}


_Use_decl_annotations_
VOID
SessionCloseImports(
    PCALLOCATOR Allocator,
    PREADER_MODULE Module
    )
{
    PREADER_IMPORTS Imports = Module->Imports;
    PREADER_IMPORTS_BLOCK Block;

    if (Imports == NULL) {
        return;
    }

    while (Imports->Blocks != NULL) {
        Block = Imports->Blocks;
        Imports->Blocks = Block->Next;
        Allocator->Free(Allocator->Context, Block);
    }

    SymbolRundownUndecorator(&Imports->Undecorator);
    BaseRundownMap(&Imports->Stubs);
    BaseRundownMap(&Imports->Names);
    Allocator->Free(Allocator->Context, Imports->Imports);
    Allocator->Free(Allocator->Context, (PVOID)Imports->Modules);
    Allocator->Free(Allocator->Context, Imports);
    Module->Imports = NULL;
}

/*++

Module Name:

    ReaderFunction.c

Abstract:

    Sites to functions: each distinct site is looked up among the symbols
    once.

--*/

#include "Reader.h"

//
// Of symbols that nothing is better than.
//

#define READER_BEST_RANK 3u


static
BOOLEAN
ReaderIsWordAt(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index,
    _In_z_ PCSZ Word
    )
/*++

Routine Description:

    Tells whether a word stands at a place in a name.

Arguments:

    Name, LengthInBytes - The name.

    Index - The place.

    Word - The word.

Return Value:

    Whether it does.

--*/
{
    ULONG Length = RtlLengthOfString(Word);

    return LengthInBytes - Index >= Length &&
           RtlAreBytesEqual(Name + Index, Word, Length);
}


_Use_decl_annotations_
ULONG
ReaderSkipReturnType(
    const CHAR *Name,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Finds where a C++ function's qualified name begins: behind the return type,
    which readable names of templates' functions have ("int ns::f<int>(int)").

Arguments:

    Name, LengthInBytes - The name as it is shown.

Return Value:

    Bytes to skip; 0 if there is no return type.

--*/
{
    ULONG Start = 0;
    ULONG Depth = 0;
    ULONG Index = 0;

    while (Index < LengthInBytes) {

        switch (Name[Index]) {

        case '(':
            if (Depth == 0 &&
                !ReaderIsWordAt(Name, LengthInBytes, Index, "(anonymous ") &&
                (Index < 8 ||
                 !RtlAreBytesEqual(Name + Index - 8, "decltype", 8))) {
                return Start;           // the parameters
            }

            Depth += 1;
            break;

        case '<':
        case '[':
        case '{':
            Depth += 1;
            break;

        case '>':
            if (Index != 0 && Name[Index - 1] == '-') {
                break;
            }

            // Fall through.

        case ')':
        case ']':
        case '}':
            if (Depth != 0) {
                Depth -= 1;
            }
            break;

        case ' ':
            if (Depth == 0) {
                Start = Index + 1;
            }
            break;

        case 'o':

            //
            // What follows may be any sign, or a type.
            //

            if (Depth == 0 &&
                ReaderIsWordAt(Name, LengthInBytes, Index, "operator") &&
                (Index == 0 || Name[Index - 1] == ':' ||
                 Name[Index - 1] == ' ')) {
                return Start;
            }
            break;

        default:
            break;
        }

        Index += 1;
    }

    return 0;
}


_Use_decl_annotations_
VOID
ReaderInitializeFunctions(
    PREADER_FUNCTIONS Functions,
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Makes an empty table of functions.

Arguments:

    Functions - Receives it.

    Session - The session; must outlive the table.

Return Value:

    None.

--*/
{
    RtlZeroBytes(Functions, sizeof(*Functions));
    Functions->Session = Session;
    ReaderInitializeMap(&Functions->Sites, Session->Context->Allocator);
    ReaderInitializeMap(&Functions->Starts, Session->Context->Allocator);
}


_Use_decl_annotations_
VOID
ReaderRundownFunctions(
    PREADER_FUNCTIONS Functions
    )
/*++

Routine Description:

    Frees what the table holds.

Arguments:

    Functions - The table.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Functions->NumberOfFunctions; Index++) {
        if (Functions->Functions[Index].IsNameOwned) {
            Allocator->Free(Allocator->Context,
                            (PVOID)Functions->Functions[Index].Name);
        }
    }

    Allocator->Free(Allocator->Context, Functions->Functions);
    Functions->Functions = NULL;
    Functions->NumberOfFunctions = 0;
    Functions->CapacityOfFunctions = 0;
    ReaderRundownMap(&Functions->Sites);
    ReaderRundownMap(&Functions->Starts);
}


_Use_decl_annotations_
NTSTATUS
ReaderLoadModuleImage(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
/*++

Routine Description:

    Loads the symbols of a module's image.

Arguments:

    Session - The session.

    Module - One of its modules.

Return Value:

    STATUS_SUCCESS - There may be no symbols all the same.

    STATUS_NO_MEMORY

--*/
{
    NTSTATUS Status;

    if (Module->IsImageTried) {
        return STATUS_SUCCESS;
    }

    Module->IsImageTried = TRUE;
    Status = ReaderCreateSymbolsFrom(Session->Context->Rtl,
                                     Session->Context->Allocator,
                                     Module->Header,
                                     Session->SymbolPath,
                                     &Module->Symbols,
                                     &Module->SymbolError);
    if (!NT_SUCCESS(Status)) {
        Module->Symbols = NULL;
    }

    return Status;
}


static
ULONG
ReaderRankSource(
    _In_ READER_SYMBOL_SOURCE Source
    )
/*++

Routine Description:

    Says how good a source of names is.

Arguments:

    Source - The source.

Return Value:

    The more, the better.

--*/
{
    switch (Source) {

    case ReaderSymbolSourcePdb:
    case ReaderSymbolSourceDwarf:
        return READER_BEST_RANK;

    case ReaderSymbolSourceCoff:
        return 2;

    case ReaderSymbolSourceExports:
        return 1;

    default:
        return 0;
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderLoadModuleSymbols(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
/*++

Routine Description:

    Makes ready what is known of a module.  What the cache has is enough if
    nothing better is to be found; otherwise the image is looked for each time,
    and what is found there takes the cache's place if it is better.

Arguments:

    Session - The session.

    Module - One of its modules.

Return Value:

    STATUS_SUCCESS - There may be no symbols all the same.

    STATUS_NO_MEMORY

--*/
{
    ULONG Cached;
    ULONG Found;
    NTSTATUS Status;

    if (Module->IsSymbolsTried) {
        return STATUS_SUCCESS;
    }

    Module->IsSymbolsTried = TRUE;
    if (!ReaderFindModuleInCache(Session, Module)) {
        return ReaderLoadModuleImage(Session, Module);
    }

    Cached = ReaderRankSource(Module->CachedSource);
    if (Cached == READER_BEST_RANK && !Session->IsSearchedAnew) {
        return STATUS_SUCCESS;
    }

    Status = ReaderLoadModuleImage(Session, Module);
    if (NT_SUCCESS(Status) &&
        Module->Symbols != NULL &&
        ReaderGetUnwind(Module->Symbols) != NULL) {

        Found = ReaderRankSource(ReaderGetSymbolSource(Module->Symbols));
        if (Found > Cached ||
            (Found == Cached && Session->IsSearchedAnew)) {
            ReaderDropModuleFromCache(Session, Module);
        }
    }

    return Status;
}


_Use_decl_annotations_
READER_SYMBOL_SOURCE
ReaderGetModuleSource(
    const READER_MODULE *Module
    )
/*++

Routine Description:

    Says where a module's names come from.

Arguments:

    Module - The module, its symbols loaded.

Return Value:

    The best source; single names may come from a lesser one.

--*/
{
    if (Module->CachedModule != READER_NONE && !Module->IsImageMissed) {
        return Module->CachedSource;
    }

    return Module->Symbols != NULL ? ReaderGetSymbolSource(Module->Symbols)
                                   : ReaderSymbolSourceNone;
}


_Use_decl_annotations_
VOID
ReaderWarnOfSymbols(
    const READER_SESSION *Session,
    PREADER_MODULE Module
    )
/*++

Routine Description:

    Says why a module's functions have no names, or not those of a PDB that is
    there.

Arguments:

    Session - The session.

    Module - The module.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    PCSZ Warning;

    if (Module->IsSymbolsWarned || Module->Symbols == NULL) {
        return;
    }

    Module->IsSymbolsWarned = TRUE;
    Warning = ReaderGetSymbolWarning(Module->Symbols);
    if (Warning != NULL) {
        RtlWriteText(Errors, "TraceReader: warning: ");
        ReaderWriteCleanText(Errors, Module->Name, Module->NameLength);
        RtlWriteText(Errors, ": %s\n", Warning);
        RtlFlushWriter(Errors);
    }

    if (ReaderGetModuleSource(Module) != ReaderSymbolSourceNone) {
        return;
    }

    RtlWriteText(Errors, "TraceReader: warning: no function names for ");
    ReaderWriteCleanText(Errors, Module->Name, Module->NameLength);
    if (Module->SymbolError.Step != NULL) {
        RtlWriteText(Errors, ": ");
        RtlWriteError(Errors, &Module->SymbolError);
    }

    if (Session->SymbolPath == NULL) {
        RtlWriteText(Errors,
                     "; --symbols says in which folders the image and its "
                     "symbols are");
    }

    RtlWriteText(Errors, "\n");
    RtlFlushWriter(Errors);
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddFunction(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG ModuleIndex,
    _In_ ULONG Rva,
    _In_opt_ const READER_SYMBOL *Symbol,
    _Out_ PULONG Function
    )
/*++

Routine Description:

    Adds a function.

Arguments:

    Functions - The table.

    ModuleIndex - Its module.

    Rva - Its start, or the site that nothing is known of.

    Symbol - Its name, or NULL: module+0xRVA.

    Function - Receives its index.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    PREADER_MODULE Module = Functions->Session->Modules[ModuleIndex];
    READER_FUNCTION New;
    RTL_WRITER Writer;
    PCHAR Name;
    ULONG Capacity;
    NTSTATUS Status;

    RtlZeroBytes(&New, sizeof(New));
    New.Module = ModuleIndex;
    New.Rva = Rva;
    New.FoldedNames = "";

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Functions->Functions,
                             &Functions->CapacityOfFunctions,
                             Functions->NumberOfFunctions + 1,
                             sizeof(READER_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Symbol != NULL && Symbol->NumberFolded == 0) {

        New.Name = Symbol->Name;
        New.NameLength = Symbol->LengthInBytes;

    } else if (Symbol != NULL) {

        //
        // A linker has put several functions with the same code in one place;
        // which of them was called is not to be known.
        //

        Capacity = Symbol->LengthInBytes + 32;
        Name = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
        if (Name == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlInitializeBufferWriter(&Writer, Name, Capacity);
        RtlWriteBytes(&Writer, Symbol->Name, Symbol->LengthInBytes);
        RtlWriteText(&Writer, " [+%u folded]", Symbol->NumberFolded);
        New.Name = Name;
        New.NameLength = Writer.LengthInBytes;
        New.IsNameOwned = TRUE;

        if (Symbol->RawLengthInBytes > Symbol->LinkageLengthInBytes) {
            New.FoldedNames = Symbol->RawText +
                              Symbol->LinkageLengthInBytes + 1;
            New.FoldedLength = Symbol->RawLengthInBytes -
                               Symbol->LinkageLengthInBytes - 1;
        }

    } else {

        Capacity = Module->NameLength + 16;
        Name = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
        if (Name == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlInitializeBufferWriter(&Writer, Name, Capacity);
        RtlWriteBytes(&Writer, Module->Name, Module->NameLength);
        RtlWriteText(&Writer, "+0x%x", Rva);
        New.Name = Name;
        New.NameLength = Writer.LengthInBytes;
        New.IsNameOwned = TRUE;
    }

    Status = ReaderAddToMap(&Functions->Starts,
                            ((ULONGLONG)ModuleIndex << 32) | Rva,
                            Functions->NumberOfFunctions);
    if (!NT_SUCCESS(Status)) {
        if (New.IsNameOwned) {
            Allocator->Free(Allocator->Context, (PVOID)New.Name);
        }
        return Status;
    }

    *Function = Functions->NumberOfFunctions;
    Functions->Functions[Functions->NumberOfFunctions] = New;
    Functions->NumberOfFunctions += 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderFindFunction(
    PREADER_FUNCTIONS Functions,
    ULONGLONG Site,
    PULONG Function
    )
/*++

Routine Description:

    Finds the function that a site is in.

Arguments:

    Functions - The table.

    Site - (module index << 32) | RVA.

    Function - Receives its index.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = Functions->Session;
    PREADER_MODULE Module;
    READER_SYMBOL Symbol;
    ULONG ModuleIndex;
    ULONG Rva;
    BOOLEAN IsFound;
    NTSTATUS Status;

    if (ReaderFindInMap(&Functions->Sites, Site, Function)) {
        return STATUS_SUCCESS;
    }

    ModuleIndex = (ULONG)(Site >> 32);
    Rva = (ULONG)Site;
    Module = Session->Modules[ModuleIndex];
    if (Rva == READER_OTHER_RVA) {

        RtlZeroBytes(&Symbol, sizeof(Symbol));
        Symbol.Name = "(other)";
        Symbol.LengthInBytes = 7;
        Status = ReaderAddFunction(Functions,
                                   ModuleIndex,
                                   Rva,
                                   &Symbol,
                                   Function);
        return NT_SUCCESS(Status)
                   ? ReaderAddToMap(&Functions->Sites, Site, *Function)
                   : Status;
    }

    Status = ReaderLoadModuleSymbols(Session, Module);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!ReaderFindNameInCache(Session, Site, &Symbol, &IsFound)) {

        Status = ReaderLoadModuleImage(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        IsFound = Module->Symbols != NULL &&
                  ReaderFindSymbol(Module->Symbols, Rva, &Symbol);
        ReaderAddNameToCache(Session, Site, IsFound ? &Symbol : NULL);
    }

    if (!Functions->IsQuiet) {
        ReaderWarnOfSymbols(Session, Module);
    }

    if (IsFound) {
        Rva = Symbol.StartRva;
    }

    if (!ReaderFindInMap(&Functions->Starts,
                         ((ULONGLONG)ModuleIndex << 32) | Rva,
                         Function)) {
        Status = ReaderAddFunction(Functions,
                                   ModuleIndex,
                                   Rva,
                                   IsFound ? &Symbol : NULL,
                                   Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return ReaderAddToMap(&Functions->Sites, Site, *Function);
}

/*++

Module Name:

    Function.c

Abstract:

    Sites to functions: each distinct site is looked up among the symbols
    once.

--*/

#include "../Session/SessionTreeStore.h"
#include "FunctionCache.h"
#include "Function.h"

//
// Of symbols that nothing is better than.
//

#define READER_BEST_RANK 3u


_Use_decl_annotations_
VOID
FunctionInitializeFunctions(
    PREADER_FUNCTIONS Functions,
    PREADER_SESSION Session
    )
{
    RtlZeroBytes(Functions, sizeof(*Functions));
    Functions->Session = Session;
    BaseInitializeMap(&Functions->Sites, Session->Context->Allocator);
    BaseInitializeMap(&Functions->Starts, Session->Context->Allocator);
}


_Use_decl_annotations_
VOID
FunctionRundownFunctions(
    PREADER_FUNCTIONS Functions
    )
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
    BaseRundownMap(&Functions->Sites);
    BaseRundownMap(&Functions->Starts);
}


_Use_decl_annotations_
NTSTATUS
FunctionLoadModuleImage(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
{
    NTSTATUS Status;

    if (Module->IsImageTried) {
        return STATUS_SUCCESS;
    }

    Module->IsImageTried = TRUE;
    Status = SymbolCreateSymbolsFrom(Session->Context->Rtl,
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


//
// Says how good a source of names is.
// Returns the more, the better.
//

static
ULONG
FunctionRankSource(
    _In_ READER_SYMBOL_SOURCE Source
    )
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
FunctionLoadModuleSymbols(
    PREADER_SESSION Session,
    PREADER_MODULE Module
    )
{
    ULONG Cached;
    ULONG Found;
    NTSTATUS Status;

    if (Module->IsSymbolsTried) {
        return STATUS_SUCCESS;
    }

    Module->IsSymbolsTried = TRUE;
    if (!FunctionFindModuleInCache(Session, Module)) {
        return FunctionLoadModuleImage(Session, Module);
    }

    Cached = FunctionRankSource(Module->CachedSource);
    if (Cached == READER_BEST_RANK && !Session->IsSearchedAnew) {
        return STATUS_SUCCESS;
    }

    Status = FunctionLoadModuleImage(Session, Module);
    if (NT_SUCCESS(Status) &&
        Module->Symbols != NULL &&
        SymbolGetUnwind(Module->Symbols) != NULL) {

        Found = FunctionRankSource(SymbolGetSymbolSource(Module->Symbols));
        if (Found > Cached ||
            (Found == Cached && Session->IsSearchedAnew)) {
            FunctionDropModuleFromCache(Session, Module);
        }
    }

    return Status;
}


_Use_decl_annotations_
READER_SYMBOL_SOURCE
FunctionGetModuleSource(
    const READER_MODULE *Module
    )
{
    if (Module->CachedModule != READER_NONE && !Module->IsImageMissed) {
        return Module->CachedSource;
    }

    return Module->Symbols != NULL ? SymbolGetSymbolSource(Module->Symbols)
                                   : ReaderSymbolSourceNone;
}


_Use_decl_annotations_
VOID
FunctionWarnOfSymbols(
    const READER_SESSION *Session,
    PREADER_MODULE Module
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    PCSZ Warning;

    if (Module->IsSymbolsWarned || Module->Symbols == NULL) {
        return;
    }

    Module->IsSymbolsWarned = TRUE;
    Warning = SymbolGetSymbolWarning(Module->Symbols);
    if (Warning != NULL) {
        RtlWriteText(Errors, "TraceReader: warning: ");
        RtlWriteCleanText(Errors, Module->Name, Module->NameLength);
        RtlWriteText(Errors, ": %T\n", Warning);
        RtlFlushWriter(Errors);
    }

    if (FunctionGetModuleSource(Module) != ReaderSymbolSourceNone) {
        return;
    }

    RtlWriteText(Errors, "TraceReader: warning: no function names for ");
    RtlWriteCleanText(Errors, Module->Name, Module->NameLength);
    if (Module->SymbolError.Step != NULL) {
        RtlWriteText(Errors, ": ");
        RtlWriteError(Errors, &Module->SymbolError);
    }

    if (Session->SymbolPath == NULL) {
        RtlWriteText(Errors,
                     "; name the folders of the image and its symbols with "
                     "--symbols");
    }

    RtlWriteText(Errors, "\n");
    RtlFlushWriter(Errors);
}


//
// Functions: the table.
// Rva: its start, or the site whose function's start is not known.
// Symbol: its name, or NULL: module+0xRVA.
// Function: its index.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddFunction(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG ModuleIndex,
    _In_ ULONG Rva,
    _In_opt_ const READER_SYMBOL *Symbol,
    _Out_ PULONG Function
    )
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

    Status = BaseGrowArray(Allocator,
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
        New.IsNamed = TRUE;

    } else if (Symbol != NULL) {

        //
        // A linker has put several functions with the same code in one place;
        // which of them was called is not to be known.
        //

        Capacity = Symbol->LengthInBytes + 32 + sizeof(READER_APART_SUFFIX);
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

        Capacity = Module->NameLength + 16 + sizeof(READER_APART_SUFFIX);
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

    New.BareLength = New.NameLength;
    Status = BaseAddToMap(&Functions->Starts,
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
    return Module->IsRecordApart
               ? FunctionMarkApart(Functions, *Function)
               : STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
FunctionMarkApart(
    PREADER_FUNCTIONS Functions,
    ULONG Function
    )
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    PREADER_FUNCTION This = &Functions->Functions[Function];
    PCHAR Name = (PCHAR)This->Name;

    if (This->NameLength != This->BareLength) {
        return STATUS_SUCCESS;
    }

    //
    // A name that is its own has room for it.
    //

    if (!This->IsNameOwned) {
        Name = (PCHAR)Allocator->Allocate(
            Allocator->Context,
            (SIZE_T)This->NameLength + sizeof(READER_APART_SUFFIX));
        if (Name == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(Name, This->Name, This->NameLength);
        This->Name = Name;
        This->IsNameOwned = TRUE;
    }

    RtlCopyBytes(Name + This->NameLength,
                 READER_APART_SUFFIX,
                 sizeof(READER_APART_SUFFIX));
    This->NameLength += sizeof(READER_APART_SUFFIX) - 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
FunctionFindFunction(
    PREADER_FUNCTIONS Functions,
    ULONGLONG Site,
    PULONG Function
    )
{
    PREADER_SESSION Session = Functions->Session;
    PREADER_MODULE Module;
    READER_SYMBOL Symbol;
    ULONG ModuleIndex;
    ULONG Rva;
    BOOLEAN IsFound;
    NTSTATUS Status;

    if (BaseFindInMap(&Functions->Sites, Site, Function)) {
        return STATUS_SUCCESS;
    }

    ModuleIndex = (ULONG)(Site >> 32);
    Rva = (ULONG)Site;
    Module = Session->Modules[ModuleIndex];
    if (Rva == READER_OTHER_RVA) {

        RtlZeroBytes(&Symbol, sizeof(Symbol));
        Symbol.Name = "(other)";
        Symbol.LengthInBytes = 7;
        Status = FunctionAddFunction(Functions,
                                     ModuleIndex,
                                     Rva,
                                     &Symbol,
                                     Function);
        return NT_SUCCESS(Status)
                   ? BaseAddToMap(&Functions->Sites, Site, *Function)
                   : Status;
    }

    Status = FunctionLoadModuleSymbols(Session, Module);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!FunctionFindNameInCache(Session, Site, &Symbol, &IsFound)) {

        Status = FunctionLoadModuleImage(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        IsFound = Module->Symbols != NULL &&
                  SymbolFindSymbol(Module->Symbols, Rva, &Symbol);
        if (!IsFound) {
            RtlZeroBytes(&Symbol, sizeof(Symbol));
            Symbol.StartRva = Module->Symbols != NULL
                                  ? SymbolFindStart(Module->Symbols, Rva)
                                  : Rva;
        }
        FunctionAddNameToCache(Session, Site, IsFound, &Symbol);
    }

    if (!Functions->IsQuiet) {
        FunctionWarnOfSymbols(Session, Module);
    }

    Rva = Symbol.StartRva;
    if (!BaseFindInMap(&Functions->Starts,
                       ((ULONGLONG)ModuleIndex << 32) | Rva,
                       Function)) {
        Status = FunctionAddFunction(Functions,
                                     ModuleIndex,
                                     Rva,
                                     IsFound ? &Symbol : NULL,
                                     Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return BaseAddToMap(&Functions->Sites, Site, *Function);
}

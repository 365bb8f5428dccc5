/*++

Module Name:

    Function.c

Abstract:

    Sites to functions: each distinct site is looked up among the symbols
    once.

--*/

#include "../Session/SessionImports.h"
#include "../Session/SessionModule.h"
#include "../Session/SessionTreeStore.h"
#include "FunctionCache.h"
#include "Function.h"
#include "FunctionWaits.h"

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
    BaseInitializeMap(&Functions->ShortNames, Session->Context->Allocator);
    BaseInitializeMap(&Functions->LongerNames, Session->Context->Allocator);
    BaseInitializeMap(&Functions->Callers, Session->Context->Allocator);
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
                            (PVOID)Functions->Functions[Index].FullName);
        }

        Allocator->Free(Allocator->Context,
                        Functions->Functions[Index].ShortName);
        Allocator->Free(Allocator->Context,
                        Functions->Functions[Index].LongerName);
    }

    Allocator->Free(Allocator->Context, Functions->Functions);
    Allocator->Free(Allocator->Context, Functions->Imported);
    Functions->Imported = NULL;
    Functions->NumberOfImported = 0;
    Functions->CapacityOfImported = 0;
    Functions->Functions = NULL;
    Functions->NumberOfFunctions = 0;
    Functions->CapacityOfFunctions = 0;
    BaseRundownMap(&Functions->Sites);
    BaseRundownMap(&Functions->Starts);
    BaseRundownMap(&Functions->ShortNames);
    BaseRundownMap(&Functions->LongerNames);
    BaseRundownMap(&Functions->Callers);
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
    Status = SymbolCreateSymbols(Session->Context->Rtl,
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
    PRTL_WRITER Errors = Session->NameErrors != NULL
                             ? Session->NameErrors
                             : Session->Context->Errors;
    PCSZ Warning;

    if (Module->IsSymbolsWarned || Module->Symbols == NULL ||
        SessionHasImports(Module)) {
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
    New.FirstRva = Rva;
    New.FoldedNames = "";
    New.ModuleName = Module->Name;
    New.ModuleNameLength = Module->NameLength;
    New.IsSelected = Module->IsSelected;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Functions->Functions,
                           &Functions->CapacityOfFunctions,
                           Functions->NumberOfFunctions + 1,
                           sizeof(READER_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Symbol != NULL && Symbol->NumberFolded == 0) {

        New.FullName = Symbol->Name;
        New.FullLength = Symbol->LengthInBytes;
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
        New.FullName = Name;
        New.FullLength = Writer.LengthInBytes;
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
        New.FullName = Name;
        New.FullLength = Writer.LengthInBytes;
        New.IsNameOwned = TRUE;
    }

    New.Name = New.FullName;
    New.NameLength = New.FullLength;
    New.BareLength = New.FullLength;
    Status = BaseAddToMap(&Functions->Starts,
                          ((ULONGLONG)ModuleIndex << 32) | Rva,
                          Functions->NumberOfFunctions);
    if (!NT_SUCCESS(Status)) {
        if (New.IsNameOwned) {
            Allocator->Free(Allocator->Context, (PVOID)New.FullName);
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


static
VOID
FunctionAppendApart(
    _Inout_ PCHAR Name,
    _Inout_ PULONG LengthInBytes
    )
{
    RtlCopyBytes(Name + *LengthInBytes,
                 READER_APART_SUFFIX,
                 sizeof(READER_APART_SUFFIX));
    *LengthInBytes += sizeof(READER_APART_SUFFIX) - 1;
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
    PCHAR Name = (PCHAR)This->FullName;
    BOOLEAN IsFull = This->Name == This->FullName;

    if (This->FullLength != This->BareLength) {
        return STATUS_SUCCESS;
    }

    //
    // A name that is its own has room for it.
    //

    if (!This->IsNameOwned) {
        Name = (PCHAR)Allocator->Allocate(
            Allocator->Context,
            (SIZE_T)This->FullLength + sizeof(READER_APART_SUFFIX));
        if (Name == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(Name, This->FullName, This->FullLength);
        This->FullName = Name;
        This->IsNameOwned = TRUE;
    }

    FunctionAppendApart(Name, &This->FullLength);
    if (This->ShortName != NULL) {
        FunctionAppendApart(This->ShortName, &This->ShortLength);
        FunctionAppendApart(This->LongerName, &This->LongerLength);
    }

    if (IsFull) {
        This->Name = This->FullName;
        This->NameLength = This->FullLength;
    } else {
        This->NameLength = This->Name == This->ShortName ? This->ShortLength
                                                         : This->LongerLength;
    }

    return STATUS_SUCCESS;
}


//
// Makes one of a function's short names, with room for READER_APART_SUFFIX.
// Returns FALSE if it has none.
//

static
BOOLEAN
FunctionMakeShortName(
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_FUNCTION Function,
    _In_ BOOLEAN HasParameters,
    _Outptr_result_maybenull_ PCHAR *Name,
    _Out_ PULONG LengthInBytes
    )
{
    ULONG Capacity = READER_SHORT_NAME_SIZE(Function->FullLength);

    *LengthInBytes = 0;
    *Name = (PCHAR)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Capacity + sizeof(READER_APART_SUFFIX));
    if (*Name != NULL) {
        *LengthInBytes = FunctionShortenName(Function->FullName,
                                             Function->FullLength,
                                             HasParameters,
                                             *Name,
                                             Capacity);
    }

    return *LengthInBytes != 0;
}


//
// How much of a function's name is shown.
// Returns 0: without parameters; 1: with them; 2: the full name.
//

static
ULONG
FunctionQueryLevel(
    _In_ PCREADER_FUNCTION Function
    )
{
    return Function->Name == Function->FullName    ? 2
           : Function->Name == Function->ShortName ? 0
                                                   : 1;
}


//
// Shows so much of the name of a function, and of those behind it that have
// the same one.
//

static
VOID
FunctionSetLevel(
    _Inout_ PREADER_FUNCTIONS Functions,
    _Inout_ PREADER_FUNCTION Function,
    _In_ ULONG Level
    )
{
    for (;;) {

        switch (Level) {
        case 0:
            Function->Name = Function->ShortName;
            Function->NameLength = Function->ShortLength;
            break;
        case 1:
            Function->Name = Function->LongerName;
            Function->NameLength = Function->LongerLength;
            break;
        default:
            Function->Name = Function->FullName;
            Function->NameLength = Function->FullLength;
            break;
        }

        if (Function->NextNamesake == 0) {
            break;
        }

        Function = &Functions->Functions[Function->NextNamesake - 1];
    }
}


//
// Finds the function that has a short name already.
// Key: the hash of the name.
// Level: 0 or 1.
//

_Ret_maybenull_
static
PREADER_FUNCTION
FunctionFindNamesake(
    _In_opt_ PREADER_FUNCTIONS Functions,
    _In_ ULONGLONG Key,
    _In_ ULONG Level
    )
{
    ULONG Found;

    if (Functions == NULL ||
        !BaseFindInMap(Level == 0 ? &Functions->ShortNames
                                  : &Functions->LongerNames,
                       Key,
                       &Found)) {
        return NULL;
    }

    return &Functions->Functions[Found];
}


static
ULONGLONG
FunctionHashShortName(
    _In_ PCREADER_FUNCTION Function,
    _In_ ULONG Level
    )
{
    PCSZ Name = Level == 0 ? Function->ShortName : Function->LongerName;
    ULONG Length = Level == 0 ? Function->ShortLength : Function->LongerLength;
    ULONGLONG Hash = 0xCBF29CE484222325ULL;
    ULONG Index;

    for (Index = 0; Index < Length; Index++) {
        Hash = (Hash ^ (UCHAR)Name[Index]) * 0x100000001B3ULL;
    }

    return Hash;
}


static
BOOLEAN
FunctionAreNamesakes(
    _In_ PCREADER_FUNCTION First,
    _In_ PCREADER_FUNCTION Second
    )
{
    return BaseCompareText(First->FullName,
                           First->BareLength,
                           Second->FullName,
                           Second->BareLength) == 0;
}


//
// Shows as much of a function's name as tells it from others, and as much of
// all that have the same name in full.  Raises others, which are then at a
// higher level: calls itself twice at most.
// Index: the function, with its short names; the first of its full name, or
// one that is new.
// Level: how much is wanted at least.
//

static
VOID
FunctionRaiseLevel(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG Index,
    _In_ ULONG Level
    )
{
    PREADER_FUNCTION This = &Functions->Functions[Index];
    PREADER_FUNCTIONS Owner;
    PREADER_FUNCTION Other;
    ULONGLONG Key;
    BOOLEAN IsAlone;

    for (; Level < 2; Level++) {

        FunctionSetLevel(Functions, This, Level);
        IsAlone = TRUE;
        Key = FunctionHashShortName(This, Level);
        for (Owner = Functions;
             Owner != NULL;
             Owner = Owner == Functions ? Functions->Peer : NULL) {

            Other = FunctionFindNamesake(Owner, Key, Level);
            if (Other == NULL && Owner == Functions) {

                //
                // Without memory two may have the same short name.
                //

                (VOID)BaseAddToMap(Level == 0 ? &Functions->ShortNames
                                              : &Functions->LongerNames,
                                   Key,
                                   Index);
            }

            if (Other == NULL || Other == This) {
                continue;
            }

            if (!FunctionAreNamesakes(This, Other)) {

                IsAlone = FALSE;
                if (FunctionQueryLevel(Other) == Level) {
                    FunctionRaiseLevel(Owner,
                                       (ULONG)(Other - Owner->Functions),
                                       Level + 1);
                }

            } else if (Owner == Functions) {

                This->NextNamesake = Other->NextNamesake;
                Other->NextNamesake = Index + 1;
                FunctionSetLevel(Functions, Other, FunctionQueryLevel(Other));
                return;

            } else if (FunctionQueryLevel(Other) > Level) {
                IsAlone = FALSE;
            }
        }

        if (IsAlone) {
            return;
        }
    }

    FunctionSetLevel(Functions, This, 2);
}


_Use_decl_annotations_
VOID
FunctionGiveShortNames(
    PREADER_FUNCTIONS Functions
    )
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    PREADER_FUNCTION This;

    if (!Functions->Session->AreNamesShort) {
        return;
    }

    for (;
         Functions->NumberOfShortened < Functions->NumberOfFunctions;
         Functions->NumberOfShortened++) {

        This = &Functions->Functions[Functions->NumberOfShortened];
        if (FunctionMakeShortName(Allocator,
                                  This,
                                  FALSE,
                                  &This->ShortName,
                                  &This->ShortLength) &&
            FunctionMakeShortName(Allocator,
                                  This,
                                  TRUE,
                                  &This->LongerName,
                                  &This->LongerLength)) {
            FunctionRaiseLevel(Functions, Functions->NumberOfShortened, 0);
        } else {

            Allocator->Free(Allocator->Context, This->ShortName);
            Allocator->Free(Allocator->Context, This->LongerName);
            This->ShortName = NULL;
            This->LongerName = NULL;
        }
    }
}


_Use_decl_annotations_
ULONG
FunctionNumberModule(
    const READER_FUNCTIONS *Functions,
    PCREADER_FUNCTION Function
    )
{
    return Function->Imported != 0
               ? Functions->Session->NumberOfModules + Function->Imported - 1
               : Function->Module;
}


//
// Finds a module of Imported by its name, and adds it if it is not there.
// Number: its index + 1.
//

_Must_inspect_result_
static
NTSTATUS
FunctionFindImported(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_z_ PCSZ Module,
    _Out_ PULONG Number
    )
{
    ULONG Length = RtlLengthOfString(Module);
    PREADER_IMPORTED Imported;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Functions->NumberOfImported; Index++) {
        Imported = &Functions->Imported[Index];
        if (BaseCompareText(Imported->Name,
                            Imported->NameLength,
                            Module,
                            Length) == 0) {
            *Number = Index + 1;
            return STATUS_SUCCESS;
        }
    }

    Status = BaseGrowArray(Functions->Session->Context->Allocator,
                           (PVOID *)&Functions->Imported,
                           &Functions->CapacityOfImported,
                           Index + 1,
                           sizeof(READER_IMPORTED));
    if (NT_SUCCESS(Status)) {
        Functions->Imported[Index].Name = Module;
        Functions->Imported[Index].NameLength = Length;
        Functions->NumberOfImported += 1;
        *Number = Index + 1;
    }

    return Status;
}


//
// Says which module has the function that a stub calls, and which one calls the
// stub.
//

_Must_inspect_result_
static
NTSTATUS
FunctionSetImported(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG Function,
    _In_ PCREADER_IMPORT Import
    )
{
    PREADER_FUNCTION This = &Functions->Functions[Function];
    NTSTATUS Status = STATUS_SUCCESS;

    This->IsStub = TRUE;
    This->FirstRva = Import->FirstRva;
    if (Import->Module != NULL) {
        Status = FunctionFindImported(Functions,
                                      Import->Module,
                                      &This->Imported);
    }

    if (NT_SUCCESS(Status) && This->Imported != 0) {
        This->ModuleName = Import->Module;
        This->ModuleNameLength = RtlLengthOfString(Import->Module);
        This->IsSelected = SessionIsNameSelected(Functions->Session,
                                                 This->ModuleName,
                                                 This->ModuleNameLength);
    }

    if (NT_SUCCESS(Status) && Functions->AreStubsApart &&
        Import->Importer != NULL) {
        Status = FunctionFindImported(Functions,
                                      Import->Importer,
                                      &This->Importer);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
FunctionFindImporter(
    PREADER_FUNCTIONS Functions,
    ULONGLONG Site,
    PULONG Importer
    )
{
    PREADER_MODULE Module = Functions->Session->Modules[Site >> 32];
    PCREADER_IMPORT Import = NULL;

    *Importer = 0;
    if (SessionHasImports(Module)) {
        Import = SessionImportsFind(Functions->Session, Module, (ULONG)Site);
    }

    if (Import == NULL || Import->Importer == NULL) {
        return STATUS_SUCCESS;
    }

    return FunctionFindImported(Functions, Import->Importer, Importer);
}


_Use_decl_annotations_
NTSTATUS
FunctionNoteCaller(
    PREADER_FUNCTIONS Functions,
    ULONGLONG Site,
    ULONG Function
    )
{
    ULONGLONG Key;
    ULONG Number;
    ULONG Value;
    NTSTATUS Status;

    Status = FunctionFindImporter(Functions, Site, &Number);
    if (!NT_SUCCESS(Status) || Number == 0) {
        return Status;
    }

    Key = ((ULONGLONG)Function << 32) | Number;
    if (!BaseFindInMap(&Functions->Callers, Key, &Value)) {
        Status = BaseAddToMap(&Functions->Callers, Key, 1);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
FunctionFindAlike(
    const READER_FUNCTIONS *Functions,
    PULONG Alike
    )
{
    PCREADER_FUNCTION This;
    READER_MAP Firsts;
    ULONGLONG Key;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    BaseInitializeMap(&Firsts, Functions->Session->Context->Allocator);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Functions->NumberOfFunctions;
         Index++) {

        This = &Functions->Functions[Index];
        Alike[Index] = Index;
        if (This->IsStub) {
            Key = ((ULONGLONG)This->Module << 32) | This->FirstRva;
            if (!BaseFindInMap(&Firsts, Key, &Alike[Index])) {
                Status = BaseAddToMap(&Firsts, Key, Index);
            }
        }
    }

    BaseRundownMap(&Firsts);
    return Status;
}


_Use_decl_annotations_
BOOLEAN
FunctionIsImporter(
    const READER_FUNCTIONS *Functions,
    PCREADER_FUNCTION Function,
    const CHAR *Name,
    ULONG LengthInBytes
    )
{
    PCREADER_IMPORTED Importer;

    if (Function->Importer == 0) {
        return FALSE;
    }

    Importer = &Functions->Imported[Function->Importer - 1];
    return BaseIsTextAlike(Importer->Name,
                           Importer->NameLength,
                           Name,
                           LengthInBytes);
}


_Use_decl_annotations_
LONG
FunctionCompareNames(
    PCREADER_FUNCTION First,
    PCREADER_FUNCTION Second
    )
{
    return BaseCompareText(First->Name,
                           First->NameLength,
                           Second->Name,
                           Second->NameLength);
}


_Use_decl_annotations_
NTSTATUS
FunctionFindFunction(
    PREADER_FUNCTIONS Functions,
    ULONGLONG Site,
    BOOLEAN IsSilent,
    PULONG Function
    )
{
    PREADER_SESSION Session = Functions->Session;
    PREADER_MODULE Module;
    PCREADER_IMPORT Import;
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

    Import = SessionHasImports(Module)
                 ? SessionImportsFind(Session, Module, Rva)
                 : NULL;
    Status = Import != NULL                ? STATUS_SUCCESS
             : SessionHasImports(Module) ? FunctionLoadModuleImage(Session,
                                                                   Module)
                                         : FunctionLoadModuleSymbols(Session,
                                                                     Module);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Import != NULL) {

        //
        // Each module that calls a function has a stub of its own for it: one
        // function, unless the caller wants to know who called.
        //

        RtlZeroBytes(&Symbol, sizeof(Symbol));
        Symbol.Name = Import->Name;
        Symbol.LengthInBytes = Import->NameLength;
        Symbol.StartRva = Functions->AreStubsApart ? Import->OwnRva
                                                   : Import->FirstRva;
        IsFound = TRUE;

    } else if (SessionHasImports(Module)) {

        //
        // Its own symbols are no names of what it calls.
        //

        RtlZeroBytes(&Symbol, sizeof(Symbol));
        Symbol.StartRva = Module->Symbols != NULL
                              ? SymbolFindStart(Module->Symbols, Rva)
                              : Rva;
        IsFound = FALSE;

    } else if (!FunctionFindNameInCache(Session, Site, &Symbol, &IsFound)) {

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

    if (!IsSilent && !Functions->IsQuiet) {
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

        if (Import != NULL) {
            Status = FunctionSetImported(Functions, *Function, Import);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Session->Waits != NULL) {
            Functions->Functions[*Function].Wait = (UCHAR)
                FunctionFindWait(Session->Waits,
                                 &Functions->Functions[*Function]);
        }
    }

    return BaseAddToMap(&Functions->Sites, Site, *Function);
}

/*++

Module Name:

    FunctionExcludeList.c

Abstract:

    The list that TRACER_EXCLUDE takes: which places of a function are taken
    out together, and which functions cannot be excluded.

--*/

#include "FunctionExcludeList.h"

//
// What is known while the list is written.
//

typedef struct _READER_EXCLUDE_LIST {
    PREADER_EXCLUDE Exclude;
    PUCHAR IsMeant;                 // by function
    PULONG Root;                    // by function: the first of those that it
                                    // shares places with
    PULONG Order;                   // of functions
    PULONG SiteOrder;
    ULONG NumberOfFunctions;
    ULONG NumberOfSites;
} READER_EXCLUDE_LIST;
typedef READER_EXCLUDE_LIST *PREADER_EXCLUDE_LIST;


_Use_decl_annotations_
VOID
FunctionInitializeExclude(
    PREADER_EXCLUDE Exclude,
    PREADER_FUNCTIONS Functions
    )
{
    RtlZeroBytes(Exclude, sizeof(*Exclude));
    Exclude->Functions = Functions;
}


_Use_decl_annotations_
VOID
FunctionRundownExclude(
    PREADER_EXCLUDE Exclude
    )
{
    PCALLOCATOR Allocator = Exclude->Functions->Session->Context->Allocator;

    Allocator->Free(Allocator->Context, Exclude->Sites);
    Allocator->Free(Allocator->Context, Exclude->List);
    Exclude->Sites = NULL;
    Exclude->List = NULL;
}


_Use_decl_annotations_
VOID
FunctionMarkHookFunctions(
    const READER_EXCLUDE *Exclude,
    PUCHAR IsCalling
    )
{
    ULONG Index;

    for (Index = 0; Index < Exclude->NumberInList; Index++) {
        IsCalling[Exclude->List[Index]] = TRUE;
    }
}


//
// Says that a function cannot be excluded.
// Reason: why.
//

static
VOID
FunctionRefuseFunction(
    _Inout_ PREADER_EXCLUDE_LIST List,
    _In_ ULONG Function,
    _In_z_ PCSZ Reason
    )
{
    const READER_FUNCTIONS *Functions = List->Exclude->Functions;
    PCREADER_FUNCTION This = &Functions->Functions[Function];
    const READER_MODULE *Module = Functions->Session->Modules[This->Module];
    PRTL_WRITER Errors = Functions->Session->Context->Errors;

    List->IsMeant[Function] = FALSE;
    List->Exclude->NumberRefused += 1;
    RtlWriteText(Errors, "TraceReader: warning: not excluded: ");
    RtlWriteCleanText(Errors, Module->Name, Module->NameLength);
    RtlWriteText(Errors, "!");
    RtlWriteCleanText(Errors, This->FullName, This->FullLength);
    RtlWriteText(Errors, ": %s\n", Reason);
    RtlFlushWriter(Errors);
}


//
// Refuses the functions that cannot be excluded as a whole and alone, until
// all that remain can.
//

static
VOID
FunctionRefuseFunctions(
    _Inout_ PREADER_EXCLUDE_LIST List
    )
{
    PREADER_EXCLUDE Exclude = List->Exclude;
    PCREADER_HOOK_SITE Site;
    const ULONG *Functions;
    PCSZ Reason;
    BOOLEAN IsMore;
    ULONG Meant;
    ULONG Index;
    ULONG Number;

    //
    // Those without an entry.  Root is not yet in use.
    //

    for (Index = 0; Index < Exclude->NumberOfSites; Index++) {
        Site = &Exclude->Sites[Index];
        Functions = Exclude->List + Site->FirstFunction;
        for (Number = 0; Number < Site->NumberOfFunctions; Number++) {
            if (Site->IsEntry) {
                List->Root[Functions[Number]] = 1;
            }
        }
    }

    for (Index = 0; Index < List->NumberOfFunctions; Index++) {
        if (List->IsMeant[Index] && List->Root[Index] == 0) {
            FunctionRefuseFunction(List,
                                   Index,
                                   "no call of an entry hook is found in it");
        }
    }

    do {

        IsMore = FALSE;
        for (Index = 0; Index < Exclude->NumberOfSites; Index++) {

            Site = &Exclude->Sites[Index];
            Functions = Exclude->List + Site->FirstFunction;
            Meant = 0;
            for (Number = 0; Number < Site->NumberOfFunctions; Number++) {
                Meant += List->IsMeant[Functions[Number]];
            }

            if (Meant == 0 ||
                (Meant == Site->NumberOfFunctions &&
                 Site->Form != ReaderHookFormOther)) {
                continue;
            }

            Reason = Site->Form == ReaderHookFormOther
                         ? "it calls a hook in a way that cannot be removed"
                         : "a call of a hook may belong to it or to another "
                           "function, which is not listed";
            for (Number = 0; Number < Site->NumberOfFunctions; Number++) {
                if (List->IsMeant[Functions[Number]]) {
                    FunctionRefuseFunction(List, Functions[Number], Reason);
                }
            }
            IsMore = TRUE;
        }

    } while (IsMore);
}


//
// Finds the first of the functions that one belongs together with.
// Root: by function, one that it belongs together with.
// Returns that function.
//

static
ULONG
FunctionFindRoot(
    _Inout_ PULONG Root,
    _In_ ULONG Function
    )
{
    while (Root[Function] != Function) {
        Root[Function] = Root[Root[Function]];
        Function = Root[Function];
    }

    return Function;
}


//
// Orders functions by module, then those that belong together, by address.
// CompareContext: the list.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareExcluded(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_EXCLUDE_LIST List = (PREADER_EXCLUDE_LIST)CompareContext;
    const READER_FUNCTION *Functions = List->Exclude->Functions->Functions;

    if (Functions[First].Module != Functions[Second].Module) {
        return Functions[First].Module < Functions[Second].Module ? -1 : 1;
    }

    if (List->Root[First] != List->Root[Second]) {
        return List->Root[First] < List->Root[Second] ? -1 : 1;
    }

    if (Functions[First].Rva != Functions[Second].Rva) {
        return Functions[First].Rva < Functions[Second].Rva ? -1 : 1;
    }

    return 0;
}


//
// Orders places as their functions are ordered, then by address.
// CompareContext: the list.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareHookSites(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_EXCLUDE_LIST List = (PREADER_EXCLUDE_LIST)CompareContext;
    const READER_EXCLUDE *Exclude = List->Exclude;
    PCREADER_HOOK_SITE One = &Exclude->Sites[First];
    PCREADER_HOOK_SITE Other = &Exclude->Sites[Second];
    ULONG Root = List->Root[Exclude->List[One->FirstFunction]];
    ULONG OtherRoot = List->Root[Exclude->List[Other->FirstFunction]];

    if (One->Module != Other->Module) {
        return One->Module < Other->Module ? -1 : 1;
    }

    if (Root != OtherRoot) {
        return Root < OtherRoot ? -1 : 1;
    }

    if (One->Rva != Other->Rva) {
        return One->Rva < Other->Rva ? -1 : 1;
    }

    return 0;
}


//
// Orders the functions that are excluded, and their places.
//

static
VOID
FunctionOrderExcluded(
    _Inout_ PREADER_EXCLUDE_LIST List
    )
{
    PREADER_EXCLUDE Exclude = List->Exclude;
    PCREADER_HOOK_SITE Site;
    const ULONG *Functions;
    ULONG First;
    ULONG Other;
    ULONG Index;
    ULONG Number;
    ULONG Count = 0;

    for (Index = 0; Index < List->NumberOfFunctions; Index++) {
        List->Root[Index] = Index;
        if (List->IsMeant[Index]) {
            List->Order[Count] = Index;
            Count += 1;
        }
    }

    List->NumberOfFunctions = Count;
    for (Index = 0; Index < Exclude->NumberOfSites; Index++) {

        Site = &Exclude->Sites[Index];
        Functions = Exclude->List + Site->FirstFunction;
        if (Site->NumberOfFunctions == 0 || !List->IsMeant[Functions[0]]) {
            continue;
        }

        List->SiteOrder[List->NumberOfSites] = Index;
        List->NumberOfSites += 1;
        for (Number = 1; Number < Site->NumberOfFunctions; Number++) {
            First = FunctionFindRoot(List->Root, Functions[0]);
            Other = FunctionFindRoot(List->Root, Functions[Number]);
            if (First < Other) {
                List->Root[Other] = First;
            } else {
                List->Root[First] = Other;
            }
        }
    }

    for (Index = 0; Index < Count; Index++) {
        List->Root[List->Order[Index]] =
            FunctionFindRoot(List->Root, List->Order[Index]);
    }

    BaseSort(List->Order, Count, FunctionCompareExcluded, List);
    BaseSort(List->SiteOrder,
             List->NumberOfSites,
             FunctionCompareHookSites,
             List);
}


//
// Writes the line that a module's part begins with.
// Module: the module, whose image is there.
//

static
VOID
FunctionWriteListModule(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_MODULE *Module
    )
{
    PCREADER_COFF Coff = SymbolGetCoff(Module->Symbols);
    const UCHAR *Guid = Coff->PdbGuid;

    RtlWriteText(Writer,
                 "module %08x %08x %08x ",
                 Coff->TimeDateStamp,
                 Coff->SizeOfImage,
                 Coff->CheckSum);
    if (Coff->HasPdb && Coff->PdbAge != 0) {
        RtlWriteText(Writer,
                     "%02X%02X%02X%02X%02X%02X%02X%02X"
                     "%02X%02X%02X%02X%02X%02X%02X%02X%X ",
                     Guid[3], Guid[2], Guid[1], Guid[0],
                     Guid[5], Guid[4], Guid[7], Guid[6],
                     Guid[8], Guid[9], Guid[10], Guid[11],
                     Guid[12], Guid[13], Guid[14], Guid[15],
                     Coff->PdbAge);
    } else {
        RtlWriteText(Writer, "- ");
    }

    RtlWriteCleanText(Writer, Module->Name, Module->NameLength);
    RtlWriteText(Writer, "\n");
}


//
// Writes the functions and their places.
// List: the list, in order.
//

static
VOID
FunctionWriteExcluded(
    _In_ const READER_EXCLUDE_LIST *List,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_EXCLUDE *Exclude = List->Exclude;
    const READER_SESSION *Session = Exclude->Functions->Session;
    const READER_MODULE *Module = NULL;
    PCREADER_FUNCTION Function;
    PCREADER_HOOK_SITE Place;
    const UCHAR *Entry;
    ULONG Index;
    ULONG Site = 0;
    ULONG End;
    ULONG Root;

    for (Index = 0; Index < List->NumberOfFunctions; Index++) {

        Function = &Exclude->Functions->Functions[List->Order[Index]];
        if (Module != Session->Modules[Function->Module]) {
            Module = Session->Modules[Function->Module];
            FunctionWriteListModule(Writer, Module);
        }

        Entry = ImageFindUnwindEntry(SymbolGetUnwind(Module->Symbols),
                                     Function->Rva);
        End = Entry != NULL
                  ? (ULONG)Entry[PE_FUNCTION_END] |
                        ((ULONG)Entry[PE_FUNCTION_END + 1] << 8) |
                        ((ULONG)Entry[PE_FUNCTION_END + 2] << 16) |
                        ((ULONG)Entry[PE_FUNCTION_END + 3] << 24)
                  : Function->Rva + 1;
        RtlWriteText(Writer, "function %08x %08x ", Function->Rva, End);
        RtlWriteCleanText(Writer, Function->FullName, Function->FullLength);
        RtlWriteText(Writer, "\n");

        //
        // The places come behind the last of the functions that share them.
        //

        Root = List->Root[List->Order[Index]];
        if (Index + 1 < List->NumberOfFunctions &&
            List->Root[List->Order[Index + 1]] == Root) {
            continue;
        }

        while (Site < List->NumberOfSites) {

            Place = &Exclude->Sites[List->SiteOrder[Site]];
            if (List->Root[Exclude->List[Place->FirstFunction]] != Root) {
                break;
            }

            RtlWriteText(Writer,
                         "%s %08x\n",
                         Place->Form == ReaderHookFormJump ? "jump" : "call",
                         Place->Rva);
            Site += 1;
        }
    }
}


_Use_decl_annotations_
NTSTATUS
FunctionWriteExcludeList(
    PREADER_EXCLUDE Exclude,
    PUCHAR IsMeant,
    PCSZ Source,
    PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Exclude->Functions->Session->Context->Allocator;
    READER_EXCLUDE_LIST List;
    SIZE_T Size;
    NTSTATUS Status = STATUS_NO_MEMORY;

    RtlZeroBytes(&List, sizeof(List));
    List.Exclude = Exclude;
    List.IsMeant = IsMeant;
    List.NumberOfFunctions = Exclude->Functions->NumberOfFunctions;
    Size = ((SIZE_T)List.NumberOfFunctions + 1) * sizeof(ULONG);
    List.Root = (PULONG)Allocator->Allocate(Allocator->Context, Size);
    List.Order = (PULONG)Allocator->Allocate(Allocator->Context, Size);
    List.SiteOrder = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Exclude->NumberOfSites + 1) * sizeof(ULONG));
    if (List.Root == NULL || List.Order == NULL || List.SiteOrder == NULL) {
        goto End;
    }

    FunctionRefuseFunctions(&List);
    FunctionOrderExcluded(&List);
    Exclude->NumberExcluded = List.NumberOfFunctions;
    Exclude->NumberOfPlaces = List.NumberOfSites;

    RtlWriteText(Writer,
                 READER_EXCLUDE_VERSION
                 "\n# For TRACER_EXCLUDE: %u functions, whose hooks are called "
                 "at %u places.\n# Written by TraceReader from ",
                 Exclude->NumberExcluded,
                 Exclude->NumberOfPlaces);
    RtlWriteCleanText(Writer, Source, RtlLengthOfString(Source));
    RtlWriteText(Writer, "\n");
    FunctionWriteExcluded(&List, Writer);
    RtlWriteText(Writer, READER_EXCLUDE_END "\n");
    Status = STATUS_SUCCESS;

End:

    Allocator->Free(Allocator->Context, List.Root);
    Allocator->Free(Allocator->Context, List.Order);
    Allocator->Free(Allocator->Context, List.SiteOrder);
    return Status;
}

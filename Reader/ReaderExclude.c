/*++

Module Name:

    ReaderExclude.c

Abstract:

    The list that TRACER_EXCLUDE takes: which places of a function are taken
    out together, and which functions cannot be excluded.

--*/

#include "ReaderExclude.h"

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
ReaderInitializeExclude(
    PREADER_EXCLUDE Exclude,
    PREADER_FUNCTIONS Functions
    )
/*++

Routine Description:

    Makes an empty list.

Arguments:

    Exclude - Receives it.

    Functions - The functions.

Return Value:

    None.

--*/
{
    RtlZeroBytes(Exclude, sizeof(*Exclude));
    Exclude->Functions = Functions;
}


_Use_decl_annotations_
VOID
ReaderRundownExclude(
    PREADER_EXCLUDE Exclude
    )
/*++

Routine Description:

    Frees what the list holds.

Arguments:

    Exclude - The list.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Exclude->Functions->Session->Context->Allocator;

    Allocator->Free(Allocator->Context, Exclude->Sites);
    Allocator->Free(Allocator->Context, Exclude->List);
    Exclude->Sites = NULL;
    Exclude->List = NULL;
}


_Use_decl_annotations_
VOID
ReaderMarkHookFunctions(
    const READER_EXCLUDE *Exclude,
    PUCHAR IsCalling
    )
/*++

Routine Description:

    Marks the functions that call hooks.

Arguments:

    Exclude - The places.

    IsCalling - Receives a 1 for each of them.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Exclude->NumberInList; Index++) {
        IsCalling[Exclude->List[Index]] = TRUE;
    }
}


static
VOID
ReaderRefuseFunction(
    _Inout_ PREADER_EXCLUDE_LIST List,
    _In_ ULONG Function,
    _In_z_ PCSZ Reason
    )
/*++

Routine Description:

    Says that a function cannot be excluded.

Arguments:

    List - The list.

    Function - The function.

    Reason - Why.

Return Value:

    None.

--*/
{
    const READER_FUNCTIONS *Functions = List->Exclude->Functions;
    PCREADER_FUNCTION This = &Functions->Functions[Function];
    const READER_MODULE *Module = Functions->Session->Modules[This->Module];
    PRTL_WRITER Errors = Functions->Session->Context->Errors;

    List->IsMeant[Function] = FALSE;
    List->Exclude->NumberRefused += 1;
    RtlWriteText(Errors, "TraceReader: warning: not excluded: ");
    ReaderWriteCleanText(Errors, Module->Name, Module->NameLength);
    RtlWriteText(Errors, "!");
    ReaderWriteCleanText(Errors, This->Name, This->NameLength);
    RtlWriteText(Errors, ": %s\n", Reason);
    RtlFlushWriter(Errors);
}


static
VOID
ReaderRefuseFunctions(
    _Inout_ PREADER_EXCLUDE_LIST List
    )
/*++

Routine Description:

    Refuses the functions that cannot be excluded as a whole and alone, until
    all that remain can.

Arguments:

    List - The list.

Return Value:

    None.

--*/
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
            ReaderRefuseFunction(List,
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
                         ? "it calls a hook in a way that cannot be taken out"
                         : "a call of a hook may be its own or that of another "
                           "function, which is not listed";
            for (Number = 0; Number < Site->NumberOfFunctions; Number++) {
                if (List->IsMeant[Functions[Number]]) {
                    ReaderRefuseFunction(List, Functions[Number], Reason);
                }
            }
            IsMore = TRUE;
        }

    } while (IsMore);
}


static
ULONG
ReaderFindRoot(
    _Inout_ PULONG Root,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Finds the first of the functions that one belongs together with.

Arguments:

    Root - By function, one that it belongs together with.

    Function - The function.

Return Value:

    That function.

--*/
{
    while (Root[Function] != Function) {
        Root[Function] = Root[Root[Function]];
        Function = Root[Function];
    }

    return Function;
}


static
LONG
ReaderCompareExcluded(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by module, then those that belong together, by address.

Arguments:

    CompareContext - The list.

    First, Second - Functions.

Return Value:

    Negative, zero or positive.

--*/
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


static
LONG
ReaderCompareHookSites(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders places as their functions are ordered, then by address.

Arguments:

    CompareContext - The list.

    First, Second - Places.

Return Value:

    Negative, zero or positive.

--*/
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


static
VOID
ReaderOrderExcluded(
    _Inout_ PREADER_EXCLUDE_LIST List
    )
/*++

Routine Description:

    Orders the functions that are excluded, and their places.

Arguments:

    List - The list.

Return Value:

    None.

--*/
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
            First = ReaderFindRoot(List->Root, Functions[0]);
            Other = ReaderFindRoot(List->Root, Functions[Number]);
            if (First < Other) {
                List->Root[Other] = First;
            } else {
                List->Root[First] = Other;
            }
        }
    }

    for (Index = 0; Index < Count; Index++) {
        List->Root[List->Order[Index]] =
            ReaderFindRoot(List->Root, List->Order[Index]);
    }

    ReaderSort(List->Order, Count, ReaderCompareExcluded, List);
    ReaderSort(List->SiteOrder,
               List->NumberOfSites,
               ReaderCompareHookSites,
               List);
}


static
VOID
ReaderWriteListModule(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_MODULE *Module
    )
/*++

Routine Description:

    Writes the line that a module's part begins with.

Arguments:

    Writer - Where to write.

    Module - The module, whose image is there.

Return Value:

    None.

--*/
{
    PCREADER_COFF Coff = ReaderGetCoff(Module->Symbols);
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

    ReaderWriteCleanText(Writer, Module->Name, Module->NameLength);
    RtlWriteText(Writer, "\n");
}


static
VOID
ReaderWriteExcluded(
    _In_ const READER_EXCLUDE_LIST *List,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the functions and their places.

Arguments:

    List - The list, in order.

    Writer - Where to write.

Return Value:

    None.

--*/
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
            ReaderWriteListModule(Writer, Module);
        }

        Entry = ReaderFindUnwindEntry(ReaderGetUnwind(Module->Symbols),
                                      Function->Rva);
        End = Entry != NULL
                  ? (ULONG)Entry[PE_FUNCTION_END] |
                        ((ULONG)Entry[PE_FUNCTION_END + 1] << 8) |
                        ((ULONG)Entry[PE_FUNCTION_END + 2] << 16) |
                        ((ULONG)Entry[PE_FUNCTION_END + 3] << 24)
                  : Function->Rva + 1;
        RtlWriteText(Writer, "function %08x %08x ", Function->Rva, End);
        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
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
ReaderWriteExcludeList(
    PREADER_EXCLUDE Exclude,
    PUCHAR IsMeant,
    PCSZ Source,
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the list.

Arguments:

    Exclude - The places; receives what was written.

    IsMeant - By function, whether it is meant; receives whether it is
        excluded.

    Source - What the list is made of, for a comment.

    Writer - Where to write.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    ReaderRefuseFunctions(&List);
    ReaderOrderExcluded(&List);
    Exclude->NumberExcluded = List.NumberOfFunctions;
    Exclude->NumberOfPlaces = List.NumberOfSites;

    RtlWriteText(Writer,
                 READER_EXCLUDE_VERSION
                 "\n# For TRACER_EXCLUDE: %u functions, whose hooks are called "
                 "at %u places.\n# Written by TraceReader from ",
                 Exclude->NumberExcluded,
                 Exclude->NumberOfPlaces);
    ReaderWriteCleanText(Writer, Source, RtlLengthOfString(Source));
    RtlWriteText(Writer, "\n");
    ReaderWriteExcluded(&List, Writer);
    Status = STATUS_SUCCESS;

End:

    Allocator->Free(Allocator->Context, List.Root);
    Allocator->Free(Allocator->Context, List.Order);
    Allocator->Free(Allocator->Context, List.SiteOrder);
    return Status;
}

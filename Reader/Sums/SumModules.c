/*++

Module Name:

    SumModules.c

Abstract:

    What each module cost.  A node of the tree is a call into its function's
    module if the function that called is another module's.  Who called an
    import is known from its stub, also where that module's functions are not
    recorded: then the node above is of somebody else.

--*/

#include "SumModules.h"

typedef struct _READER_MODULE_SUMS {
    const READER_TREE *Tree;
    PREADER_MODULE_SUM Sums;
    ULONG NumberOfSums;
    ULONG CapacityOfSums;
    PULONG Sum;                     // by function: index of Sums
    PULONG Alike;                   // by function: FunctionFindAlike
    PULONGLONG Calls;               // by function, where it is the first alike
} READER_MODULE_SUMS;
typedef READER_MODULE_SUMS *PREADER_MODULE_SUMS;


//
// Finds a function's module, and adds it if it is not there.  What a module
// with hooks is called comes before what an import calls it.
//

_Must_inspect_result_
static
NTSTATUS
SumFindModule(
    _Inout_ PREADER_MODULE_SUMS This,
    _In_ PCREADER_FUNCTION Function,
    _Out_ PULONG Index
    )
{
    PREADER_MODULE_SUM Sum;
    NTSTATUS Status;

    for (*Index = 0; *Index < This->NumberOfSums; *Index += 1) {

        Sum = &This->Sums[*Index];
        if (BaseIsTextAlike(Sum->Name,
                            Sum->NameLength,
                            Function->ModuleName,
                            Function->ModuleNameLength)) {
            break;
        }
    }

    if (*Index == This->NumberOfSums) {

        Status = BaseGrowArray(This->Tree->Session->Context->Allocator,
                               (PVOID *)&This->Sums,
                               &This->CapacityOfSums,
                               *Index + 1,
                               sizeof(READER_MODULE_SUM));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        This->NumberOfSums += 1;
        Sum = &This->Sums[*Index];
        Sum->IsOfImports = TRUE;
        Sum->Name = Function->ModuleName;
        Sum->NameLength = Function->ModuleNameLength;
        Sum->IsSelected = Function->IsSelected;
    }

    //
    // Of several that differ by case the first in the order of bytes is taken,
    // whoever was met first.
    //

    Sum = &This->Sums[*Index];
    if ((Sum->IsOfImports && Function->Imported == 0) ||
        (Sum->IsOfImports == (Function->Imported != 0) &&
         BaseCompareText(Function->ModuleName,
                         Function->ModuleNameLength,
                         Sum->Name,
                         Sum->NameLength) < 0)) {
        Sum->Name = Function->ModuleName;
        Sum->NameLength = Function->ModuleNameLength;
        Sum->IsOfImports = Function->Imported != 0;
    }

    return STATUS_SUCCESS;
}


//
// Has a node's call been made by its own module?
//

static
BOOLEAN
SumIsCallInside(
    _In_ const READER_MODULE_SUMS *This,
    _In_ const READER_NODE *Node
    )
{
    const READER_TREE *Tree = This->Tree;
    PCREADER_FUNCTION Function = &Tree->Functions->Functions[Node->Function];
    ULONG Above = Tree->Nodes[Node->Parent].Function;

    if (Function->Importer != 0) {
        return FunctionIsImporter(Tree->Functions,
                                  Function,
                                  Function->ModuleName,
                                  Function->ModuleNameLength);
    }

    return Above != READER_NONE &&
           This->Sum[Above] == This->Sum[Node->Function];
}


//
// Adds a node, whose function is shown, to its module, and goes into it.
//

static
VOID
SumNodeOfModule(
    _Inout_ PREADER_MODULE_SUMS This,
    _In_ const READER_NODE *Node
    )
{
    PREADER_MODULE_SUM Sum = &This->Sums[This->Sum[Node->Function]];

    if (Sum->NumberOpen == 0 || !SumIsCallInside(This, Node)) {
        CoreAddStatistics(&Sum->Statistics,
                          &Node->Statistics,
                          Sum->NumberOpen == 0);
    } else {
        Sum->CallsInside += Node->Statistics.Calls;
        Sum->Statistics.SelfTicks += Node->Statistics.SelfTicks;
        Sum->Statistics.SelfProbe += Node->Statistics.SelfProbe;
    }

    Sum->NumberOpen += 1;
}


//
// Goes through the tree.
//

static
VOID
SumNodesOfModules(
    _Inout_ PREADER_MODULE_SUMS This
    )
{
    const READER_TREE *Tree = This->Tree;
    PCREADER_FUNCTION Functions = Tree->Functions->Functions;
    PREADER_NODE Nodes = Tree->Nodes;
    ULONG Above = READER_ROOT_NODE;
    ULONG Node;

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        while (Above != Nodes[Node].Parent) {
            if (Functions[Nodes[Above].Function].IsShown) {
                This->Sums[This->Sum[Nodes[Above].Function]].NumberOpen -= 1;
            }
            Above = Nodes[Above].Parent;
        }

        Above = Node;
        This->Calls[This->Alike[Nodes[Node].Function]] +=
            Nodes[Node].Statistics.Calls;
        if (Functions[Nodes[Node].Function].IsShown) {
            SumNodeOfModule(This, &Nodes[Node]);
        }
    }
}


_Use_decl_annotations_
NTSTATUS
SumModules(
    const READER_TREE *Tree,
    PREADER_MODULE_SUM *Sums,
    PULONG NumberOfSums,
    PREADER_NOT_SHOWN NotShown
    )
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    PCREADER_FUNCTION Function;
    READER_MODULE_SUMS This;
    SIZE_T Number = (SIZE_T)Tree->Functions->NumberOfFunctions + 1;
    ULONG Index;
    NTSTATUS Status = STATUS_NO_MEMORY;

    RtlZeroBytes(&This, sizeof(This));
    RtlZeroBytes(NotShown, sizeof(*NotShown));
    This.Tree = Tree;
    This.Sum = (PULONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONG));
    This.Alike = (PULONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONG));
    This.Calls = (PULONGLONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONGLONG));
    if (This.Sum != NULL && This.Alike != NULL && This.Calls != NULL) {
        Status = FunctionFindAlike(Tree->Functions, This.Alike);
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Tree->Functions->NumberOfFunctions;
         Index++) {
        Status = SumFindModule(&This,
                               &Tree->Functions->Functions[Index],
                               &This.Sum[Index]);
    }

    if (NT_SUCCESS(Status)) {

        SumNodesOfModules(&This);
        for (Index = 0; Index < Tree->Functions->NumberOfFunctions; Index++) {

            Function = &Tree->Functions->Functions[Index];
            if (This.Calls[Index] == 0 || !Function->IsSelected) {
                continue;
            }

            if (Function->IsShown) {
                This.Sums[This.Sum[Index]].NumberOfFunctions += 1;
            } else {
                NotShown->Rows += 1;
                NotShown->Calls += This.Calls[Index];
            }
        }

        //
        // Calls that have ended inside an abandoned one are in its time alone.
        //

        for (Index = 0; Index < This.NumberOfSums; Index++) {
            This.Sums[Index].Statistics.TotalTicks +=
                This.Sums[Index].Statistics.AbandonedTicks;
        }
    }

    Allocator->Free(Allocator->Context, This.Sum);
    Allocator->Free(Allocator->Context, This.Alike);
    Allocator->Free(Allocator->Context, This.Calls);
    *Sums = This.Sums;
    *NumberOfSums = This.NumberOfSums;
    return Status;
}

/*++

Module Name:

    TraceTreeModule.c

Abstract:

    The modules of a tree: the table of them that a reader needs, and how the
    hooks, which compare the low 32 bits of an address, are kept from taking one
    module's functions for another's.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceSession.h"
#include "TraceTree.h"
#include "TraceTreeModule.h"

#define TREE_PAGE_SIZE 0x1000

C_ASSERT(sizeof(((PTRACE_TREE_MODULE)0)->ModulePath) ==
         sizeof(((PTRACE_STORE_HEADER)0)->ModulePath));
C_ASSERT(sizeof(((PTRACE_TREE_MODULE)0)->PdbPath) >=
         sizeof(((PTRACE_STORE_HEADER)0)->PdbPath));
C_ASSERT(FIELD_OFFSET(TRACE_TREE_MODULE, ModulePathLength) ==
         FIELD_OFFSET(TRACE_STORE_HEADER, ModulePathLength) -
         FIELD_OFFSET(TRACE_STORE_HEADER, ModuleBase));

_Use_decl_annotations_
BOOLEAN
TraceTreeIsGone(
    const TRACE_STORE *Store,
    ULONG Module
    )
{
    return (((const TRACE_SHARED *)Store)->GoneModules >> Module & 1) != 0;
}

_Use_decl_annotations_
BOOLEAN
TraceTreeIsLoaded(
    const TRACE_STORE *Store,
    ULONG Module
    )
{
    const TRACE_SHARED *Shared;
    const BYTE *Peb;
    ULONG Index;

    Shared = (const TRACE_SHARED *)Store;
    for (Index = 0; Index < TRACE_SHARED_MEMBERS; Index += 1) {
        if (Shared->Members[Index].Session != NULL &&
            Shared->Members[Index].Module == Module) {

            return TRUE;
        }
    }

    Peb = (const BYTE *)__readgsqword(TEB_PEB);
    return Shared->ModuleBase[Module] ==
           *(const ULONGLONG *)(Peb + PEB_IMAGE_BASE);
}

_Use_decl_annotations_
BOOLEAN
TraceTreeIsAmbiguous(
    const TRACE_STORE *Store,
    ULONG Site,
    ULONG Module
    )
{
    const TRACE_SHARED *Shared;
    ULONG Index;

    Shared = (const TRACE_SHARED *)Store;
    for (Index = 0;
         Shared->IsAmbiguous && Index < Shared->NumberOfModules;
         Index += 1) {

        if (Index != Module &&
            !TraceTreeIsGone(Store, Index) &&
            Site - (ULONG)Shared->ModuleBase[Index] <
                Shared->ModuleSize[Index]) {

            return TRUE;
        }
    }

    return FALSE;
}

static
BOOLEAN
TraceTreeMakeChronoBuckets(
    _Inout_ PTRACE_STORE Store
    )
//
// Makes the buckets of nodes that the hook must not find, unless they are
// there.  TraceTreeRelink fills them.
//
{
    PVOID Buckets;

    if (Store->Tree.ChronoBuckets == NULL) {
        if (!NT_SUCCESS(RtlAllocatePages(&Store->Session->Rtl,
                                         TRACE_CHRONO_BUCKETS *
                                         sizeof(PTRACE_NODE),
                                         &Buckets))) {
            return FALSE;
        }
        Store->Tree.ChronoBuckets = (PTRACE_NODE *)Buckets;
    }

    return TRUE;
}

static
VOID
TraceTreeRelink(
    _Inout_ PTRACE_STORE Store
    )
//
// Puts every node where it is looked for now: those of a module that is gone
// nowhere, those whose sites are ambiguous where only this file looks.
//
{
    PTRACE_TREE Tree;
    PTRACE_NODE Node;
    PTRACE_NODE Parent;
    PTRACE_NODE *Bucket;
    ULONGLONG Index;

    Tree = &Store->Tree;
    RtlZeroBytes(Tree->Buckets,
                 ((SIZE_T)Tree->Mask + 1) * sizeof(PTRACE_NODE));
    if (Tree->ChronoBuckets != NULL) {
        RtlZeroBytes(Tree->ChronoBuckets,
                     TRACE_CHRONO_BUCKETS * sizeof(PTRACE_NODE));
    }

    Tree->Nodes->LastChild = (ULONG_PTR)Tree->Nodes;
    for (Index = 1; Index < Store->Header->NumberOfNodes; Index += 1) {
        Node = &Tree->Nodes[Index];
        Parent = &Tree->Nodes[Node->Parent];
        Node->HashNext = 0;
        if ((Node->Flags & TRACE_NODE_OTHER) != 0) {
            if (Tree->ChronoBuckets == NULL) {
                continue;
            }
            Parent->OtherChild = 0;
            Bucket = TraceTreeChronoBucket(Tree, Parent, 0);
        } else {
            Node->LastChild = (ULONG_PTR)Tree->Nodes;
            if (TraceTreeIsGone(Store, Node->Module)) {
                continue;
            }
            if (TraceTreeIsAmbiguous(Store, Node->Site, Node->Module)) {
                Node->Flags |= TRACE_NODE_HIDDEN;
            }
            Bucket = (Node->Flags & TRACE_TREE_UNSEEN) != 0 ?
                     TraceTreeChronoBucket(Tree, Parent, Node->Site) :
                     &Tree->Buckets[TraceTreeHash(Tree, Parent, Node->Site)];
        }
        Node->HashNext = (ULONG_PTR)*Bucket;
        *Bucket = Node;
    }
}

static
VOID
TraceTreeDescribeModule(
    _In_ PCTRACE_STORE_HEADER Template,
    _Out_ PTRACE_TREE_MODULE Module
    )
{
    RtlZeroBytes(Module, sizeof(*Module));
    RtlCopyBytes(Module,
                 &Template->ModuleBase,
                 FIELD_OFFSET(TRACE_TREE_MODULE, ModulePathLength));
    Module->ModulePathLength = Template->ModulePathLength;
    Module->ModulePathFullLength = Template->ModulePathFullLength;
    Module->PdbPathLength = Template->PdbPathLength;
    Module->PdbPathFullLength = Template->PdbPathFullLength;
    Module->Flags = Template->Flags &
                    (TRACE_FLAG_EXCLUDED | TRACE_FLAG_IMPORTS);
    RtlCopyBytes(Module->ModulePath,
                 Template->ModulePath,
                 sizeof(Module->ModulePath));
    RtlCopyBytes(Module->PdbPath,
                 Template->PdbPath,
                 sizeof(Template->PdbPath));
}

static
BOOLEAN
TraceTreeIsModule(
    _In_ PTRACE_STORE Store,
    _In_ ULONG Number,
    _In_ PCTRACE_STORE_HEADER Template
    )
//
// Says whether a module that the tree knows is this one, at the same place.
//
{
    PCTRACE_STORE_HEADER Header;
    PCTRACE_TREE_MODULE Module;

    Header = Store->Header;
    if (Number == 0) {
        return RtlAreBytesEqual(&Header->ModuleBase,
                                &Template->ModuleBase,
                                FIELD_OFFSET(TRACE_TREE_MODULE,
                                             ModulePathLength)) &&
               RtlAreBytesEqual(Header->ModulePath,
                                Template->ModulePath,
                                sizeof(Header->ModulePath));
    }

    Module = (PCTRACE_TREE_MODULE)Store->Tree.Nodes - Number;
    return RtlAreBytesEqual(&Module->ModuleBase,
                            &Template->ModuleBase,
                            FIELD_OFFSET(TRACE_TREE_MODULE,
                                         ModulePathLength)) &&
           RtlAreBytesEqual(Module->ModulePath,
                            Template->ModulePath,
                            sizeof(Module->ModulePath));
}

static
BOOLEAN
TraceTreeEnterModule(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_STORE_HEADER Template
    )
//
// Enters one more module in the table.
//
{
    PTRACE_TREE Tree;
    PTRACE_SHARED Shared;
    PTRACE_TREE_MODULE Module;
    ULONG Number;

    Tree = &Store->Tree;
    Shared = (PTRACE_SHARED)Store;
    Number = Shared->NumberOfModules;
    if (Number > TRACE_TREE_MODULES) {
        return FALSE;
    }

    Module = (PTRACE_TREE_MODULE)Tree->Nodes - Number;
    while ((ULONG_PTR)Module < Tree->ModulesPrepared) {
        if (!NT_SUCCESS(TraceTreePrepare(Store,
                                         Tree->ModulesPrepared -
                                         TREE_PAGE_SIZE,
                                         TREE_PAGE_SIZE))) {
            return FALSE;
        }
        Tree->ModulesPrepared -= TREE_PAGE_SIZE;
    }

    TraceTreeDescribeModule(Template, Module);
    Module->JoinTimestamp = __rdtsc();
    Shared->ModuleBase[Number] = Template->ModuleBase;
    Shared->ModuleSize[Number] = Template->ModuleSize;
    Shared->NumberOfModules += 1;
    RtlStoreRelease32(&Store->Header->NumberOfModules, Number);
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
TraceTreeAddModule(
    PTRACE_STORE Store,
    PTRACE_SESSION Session,
    PTRACE_MEMBER Member
    )
{
    PTRACE_SHARED Shared;
    PCTRACE_STORE_HEADER Template;
    ULONG Number;
    ULONG Index;
    BOOLEAN IsChanged;

    Shared = (PTRACE_SHARED)Store;
    Template = Session->Template;
    for (Number = 0; Number < Shared->NumberOfModules; Number += 1) {
        if (TraceTreeIsModule(Store, Number, Template)) {
            break;
        }
    }
    if (Number == Shared->NumberOfModules &&
        !TraceTreeEnterModule(Store, Template)) {

        return FALSE;
    }

    IsChanged = FALSE;
    if (TraceTreeIsGone(Store, Number)) {
        Shared->GoneModules &= ~(1ULL << Number);
        IsChanged = TRUE;
    }

    for (Index = 0; Index < Shared->NumberOfModules; Index += 1) {
        if (Index == Number || TraceTreeIsGone(Store, Index)) {
            continue;
        }

        if (Shared->ModuleBase[Index] <
                Template->ModuleBase + Template->ModuleSize &&
            Template->ModuleBase <
                Shared->ModuleBase[Index] + Shared->ModuleSize[Index]) {

            Shared->GoneModules |= 1ULL << Index;
            IsChanged = TRUE;
            continue;
        }

        if ((ULONG)(Shared->ModuleBase[Index] - Template->ModuleBase) <
                Template->ModuleSize ||
            (ULONG)(Template->ModuleBase - Shared->ModuleBase[Index]) <
                Shared->ModuleSize[Index]) {

            Shared->IsAmbiguous = TRUE;
            IsChanged = TRUE;
        }
    }

    if ((Shared->IsAmbiguous || Session->NumberOfChrono != 0) &&
        Store->Tree.ChronoBuckets == NULL) {

        if (!TraceTreeMakeChronoBuckets(Store)) {
            return FALSE;
        }
        IsChanged = TRUE;
    }

    Member->Module = Number;
    if (IsChanged) {
        TraceTreeRelink(Store);
    }
    Store->Header->Flags |= Template->Flags & TRACE_FLAG_EXCLUDED;
    return TRUE;
}

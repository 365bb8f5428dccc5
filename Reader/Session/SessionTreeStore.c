/*++

Module Name:

    SessionTreeStore.c

Abstract:

    Stores that hold a thread's calling-context tree in place of records: the
    tree is copied out of the file, a live one as its writer leaves it between
    two of its steps.

--*/

#include "../Core/CoreTreeStack.h"
#include "SessionControl.h"
#include "SessionModule.h"
#include "SessionProcess.h"
#include "SessionStoreOpen.h"
#include "SessionTreeStore.h"

//
// Nodes or frames that are copied at a time.
//

#define READER_TREE_BUFFER_SIZE CORE_TREE_BUFFER_SIZE
#define READER_TREE_NODES (READER_TREE_BUFFER_SIZE / TRACE_NODE_SIZE)

//
// A clearing takes a thread some milliseconds at most, so that these tries,
// with a millisecond between two of them, run out only on one that is held up
// in its midst; what is read then is what there is.
//

#define READER_TREE_TRIES 50
#define READER_TREE_PAUSE 10000         // 100 ns


//
// Reads the table of further modules of an open store.
// Store: the store; receives those that it did not know.
// Tree: where they are.
// Returns STATUS_SUCCESS or what failed; what is bad is noted in the tree.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadTreeModules(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Inout_ PCORE_TREE Tree
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG Words[TRACE_TREE_MODULE_SIZE / sizeof(ULONGLONG)];
    PCTRACE_TREE_MODULE Module = (PCTRACE_TREE_MODULE)Words;
    ULONG Count = Header->NumberOfModules;
    ULONG Number;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Count > TRACE_TREE_MODULES ||
        Header->NodesFileOffset < TRACE_HEADER_SIZE +
                                      (ULONGLONG)Count *
                                          TRACE_TREE_MODULE_SIZE) {
        CoreNoteTreeProblem(Tree,
                            FIELD_OFFSET(TRACE_STORE_HEADER, NumberOfModules),
                            "header",
                            "NumberOfModules",
                            "is more than there is room for",
                            Count);
        return STATUS_SUCCESS;
    }

    for (Number = 1; Number <= Count && NT_SUCCESS(Status); Number++) {

        Status = SessionReadTree(Session->Context,
                                 Store,
                                 Header->NodesFileOffset -
                                    (ULONGLONG)Number * TRACE_TREE_MODULE_SIZE,
                                 Words,
                                 TRACE_NODE_SIZE,
                                 TRACE_TREE_MODULE_SIZE / TRACE_NODE_SIZE);
        if (!NT_SUCCESS(Status) || !CoreAddTreeModule(Tree, Module)) {
            break;
        }

        if (Number >= Store->NumberOfModules) {
            Status = SessionAssignTreeModule(Session, Store, Module);
        }
    }

    return Status;
}


//
// Reads the nodes of an open store.
// Buffer: READER_TREE_BUFFER_SIZE bytes.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadNodes(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ PVOID Buffer,
    _Inout_ PCORE_TREE Tree
    )
{
    ULONGLONG Offset = Store->Header->NodesFileOffset;
    ULONGLONG Left = Store->NumberOfNodes;
    ULONG Count;
    NTSTATUS Status;

    while (Left != 0) {

        Count = Left < READER_TREE_NODES ? (ULONG)Left : READER_TREE_NODES;
        Status = SessionReadTree(Context,
                                 Store,
                                 Offset,
                                 Buffer,
                                 TRACE_NODE_SIZE,
                                 Count);
        if (NT_SUCCESS(Status)) {
            Status = CoreAddNodes(Tree, (PCTRACE_NODE)Buffer, Count);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Offset += (ULONGLONG)Count * TRACE_NODE_SIZE;
        Left -= Count;
    }

    return STATUS_SUCCESS;
}


//
// A CORE_READ_TREE: of an open store.
//

typedef struct _READER_TREE_SOURCE {
    PCREADER_CONTEXT Context;
    PREADER_STORE Store;
} READER_TREE_SOURCE;
typedef READER_TREE_SOURCE *PREADER_TREE_SOURCE;

static
NTSTATUS
SessionReadTreeItems(
    _In_opt_ PVOID ReadContext,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_(NumberOfItems * SizeOfItem) PVOID Destination,
    _In_ ULONG SizeOfItem,
    _In_ ULONG NumberOfItems,
    _Out_ PULONG NumberRead
    )
{
    PREADER_TREE_SOURCE Source = (PREADER_TREE_SOURCE)ReadContext;

    *NumberRead = NumberOfItems;
    return SessionReadTree(Source->Context,
                           Source->Store,
                           FileOffset,
                           Destination,
                           SizeOfItem,
                           NumberOfItems);
}


//
// Reads the header of an open store again.
// STATUS_SUCCESS: it is still a valid one of a tree.
//

_Must_inspect_result_
static
NTSTATUS
SessionRefreshTreeStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    NTSTATUS Status;

    Status = SessionRefreshStore(Context, Store);
    if (NT_SUCCESS(Status) &&
        (Store->HeaderResult.State != CoreHeaderValid ||
         Store->Header->Mode != TRACE_MODE_TREE ||
         Store->EndState == CoreEndBad)) {
        Store->Status = STATUS_FILE_INVALID;
        Store->FailedStep = "read the header again";
        Status = STATUS_FILE_INVALID;
    }

    return Status;
}


//
// Carries out what was asked of the session and the thread has not come by to
// do: it stands still, or had ended.
// Header: the store's, as it was read with the tree.
// Tree: the tree, not finished.
//

static
VOID
SessionApplyActions(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store,
    _In_ PCTRACE_STORE_HEADER Header,
    _Inout_ PCORE_TREE Tree
    )
{
    ULONG Process = READER_PROCESS_OF_STORE(Session, Store);
    PCREADER_CONTROL Control;

    if (Process == READER_NONE) {
        return;
    }

    Control = READER_CONTROL_OF(Session, Process);
    CoreApplyActionsToTree(Tree,
                           Control->Actions,
                           Control->NumberOfActions,
                           Header->NumberOfActions);
}


_Use_decl_annotations_
NTSTATUS
SessionReadTreeStore(
    PREADER_SESSION Session,
    PREADER_STORE Store,
    PCORE_TREE Tree
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    READER_TREE_SOURCE Source = { Context, Store };
    RTL_CLOCK_READING Now;
    LARGE_INTEGER Pause;
    PVOID Buffer;
    ULONG Generation;
    ULONG Try;
    BOOLEAN IsLive;
    BOOLEAN WasOpen = READER_IS_STORE_OPEN(Store);
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Tree, sizeof(*Tree));
    Buffer = Context->Allocator->Allocate(Context->Allocator->Context,
                                          READER_TREE_BUFFER_SIZE);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (!WasOpen) {
        Status = SessionOpenSessionStore(Session, Store);
    }

    for (Try = 1; NT_SUCCESS(Status); Try++) {

        RtlReadClocks(Context->Rtl, &Now);
        Status = SessionRefreshTreeStore(Context, Store);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Generation = Store->Header->Generation;
        IsLive = !SessionIsWriterGone(Session, Store) &&
                 Store->Header->State == TRACE_STATE_OPEN;
        if (IsLive && (Generation & 1) != 0 && Try < READER_TREE_TRIES) {
            goto Again;
        }

        CoreRundownTree(Tree);
        CoreInitializeTree(Tree, Context->Allocator, Store->Header, IsLive);
        Status = SessionReadTreeModules(Session, Store, Tree);
        if (NT_SUCCESS(Status)) {
            Status = SessionReadNodes(Context, Store, Buffer, Tree);
        }

        if (NT_SUCCESS(Status) && IsLive) {
            Status = SessionRefreshTreeStore(Context, Store);
        }

        if (NT_SUCCESS(Status) && Tree->NumberOfNodes != 0) {
            Status = CoreReadTreeStacks(Tree,
                                        Store->Header,
                                        Store->FileSize,
                                        IsLive ? Now.Tsc
                                               : READER_MAXIMUM_TIMESTAMP,
                                        Buffer,
                                        SessionReadTreeItems,
                                        &Source);
        }

        if (NT_SUCCESS(Status) && IsLive) {
            Status = SessionRefreshTreeStore(Context, Store);
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        if (!IsLive || Try == READER_TREE_TRIES ||
            Store->Header->Generation == Generation) {
            CoreNoteTreeEnd(Tree, Store->Header);
            SessionApplyActions(Session, Store, Store->Header, Tree);
            CoreFinishTree(Tree, IsLive ? Now.Tsc : 0);
            break;
        }

Again:
        Pause.QuadPart = -READER_TREE_PAUSE;
        Context->Rtl->NtDelayExecution(FALSE, &Pause);
    }

    if (!WasOpen) {
        SessionCloseStore(Context, Store);
    }

    Context->Allocator->Free(Context->Allocator->Context, Buffer);
    return Status;
}


_Use_decl_annotations_
VOID
SessionTreeStoreDescribeProblem(
    PCCORE_TREE Tree,
    PRTL_WRITER Writer
    )
{
    RtlWriteText(Writer,
                 "%llu bad nodes or open calls left out, the first at offset "
                 "%llu: %s: %s %s (0x%llx)",
                 Tree->NumberBad,
                 Tree->FirstProblem.FileOffset,
                 Tree->FirstProblem.Object,
                 Tree->FirstProblem.Field,
                 Tree->FirstProblem.Problem,
                 Tree->FirstProblem.Value);
}


_Use_decl_annotations_
BOOLEAN
SessionIsAside(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
{
    ULONG Index;

    if (Session->ShowsAside || Store->IsTree || Store->Thread == READER_NONE ||
        (Store->Header->Flags & TRACE_FLAG_CHRONOLOGICAL) == 0) {
        return FALSE;
    }

    for (Index = Session->Threads[Store->Thread].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
SessionHasRecords(
    const READER_SESSION *Session,
    ULONG Thread
    )
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE && !Store->IsTree &&
            (Thread == READER_NONE || Store->Thread == Thread) &&
            !SessionIsAside(Session, Store)) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Decides whether a store was closed before another one was made.
// Returns TRUE if it is known to be so.
//

static
BOOLEAN
SessionIsBefore(
    _In_ PCREADER_STORE First,
    _In_ PCREADER_STORE Second
    )
{
    return First->Header->State == TRACE_STATE_CLOSED &&
           CoreIsAnchorValid(&First->Header->LastAnchor) &&
           CoreIsAnchorValid(&Second->Header->OpenAnchor) &&
           First->Header->LastAnchor.Tsc <= Second->Header->OpenAnchor.Tsc;
}


_Use_decl_annotations_
VOID
SessionTreeStoreFindApart(
    PREADER_SESSION Session
    )
{
    PREADER_STORE One;
    PREADER_STORE Other;
    ULONG Thread;
    ULONG First;
    ULONG Second;
    ULONG Index;

    for (Thread = 0;
         Thread < Session->NumberOfThreads && Session->NumberOfTrees != 0;
         Thread++) {

        for (First = Session->Threads[Thread].FirstStore;
             First != READER_NONE;
             First = One->NextInThread) {

            One = Session->Stores[First];
            for (Second = Session->Threads[Thread].FirstStore;
                 Second != READER_NONE && !One->IsApart;
                 Second = Other->NextInThread) {

                Other = Session->Stores[Second];
                One->IsApart =
                    Other != One && (One->IsTree || Other->IsTree) &&
                    ((One->Header->Flags | Other->Header->Flags) &
                     TRACE_FLAG_CHRONOLOGICAL) == 0 &&
                    !SessionIsBefore(One, Other) &&
                    !SessionIsBefore(Other, One);
            }

            for (Index = 0;
                 One->IsApart && Index < One->NumberOfModules;
                 Index++) {
                Session->Modules[One->Modules[Index]]->IsApart = TRUE;
                Session->Modules[One->Modules[Index]]->IsRecordApart |=
                    !One->IsTree;
            }
        }
    }
}


_Use_decl_annotations_
ULONG
SessionCountThreadsOfTrees(
    const READER_SESSION *Session
    )
{
    ULONG Count = 0;
    ULONG Store;
    ULONG Thread;

    if (Session->NumberOfTrees == 0) {
        return 0;
    }

    for (Thread = 0; Thread < Session->NumberOfThreads; Thread++) {

        for (Store = Session->Threads[Thread].FirstStore;
             Store != READER_NONE && !Session->Stores[Store]->IsApart;
             Store = Session->Stores[Store]->NextInThread) {
        }

        Count += Store != READER_NONE;
    }

    return Count;
}

_Use_decl_annotations_
BOOLEAN
SessionRequireCalls(
    PREADER_SESSION Session,
    PCSZ What
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    BOOLEAN HasOthers;
    BOOLEAN HasRecords;

    if (Session->NumberOfTrees == 0 || Session->ShowsAside) {
        return TRUE;
    }

    HasOthers = SessionHasRecords(Session, READER_NONE);
    Session->ShowsAside = TRUE;
    HasRecords = SessionHasRecords(Session, READER_NONE);
    if (HasRecords && !HasOthers) {
        RtlWriteText(Errors,
                     "TraceReader: %s: warning: %u of the session's stores "
                     "hold trees, which have no single calls: only those in "
                     "chronological ranges are here\n",
                     What,
                     Session->NumberOfTrees);
    } else if (HasRecords) {
        RtlWriteText(Errors,
                     "TraceReader: %s: warning: %u of the session's stores "
                     "hold trees, which have no single calls: left out\n",
                     What,
                     Session->NumberOfTrees);
    } else {
        RtlWriteText(Errors,
                     "TraceReader: %s: the session's stores hold trees, which "
                     "have no single calls (report, tree, callers, callees, "
                     "waits, threads, modules, diff, hot, live and export "
                     "--format folded, callgrind, csv, csv-osr, csv-cap or "
                     "html show them; "
                     "to record calls, run the program with "
                     "TRACER_MODE=file, or name functions with "
                     "TRACER_CHRONO)\n",
                     What);
    }

    RtlFlushWriter(Errors);
    return HasRecords;
}

/*++

Module Name:

    TraceShare.c

Abstract:

    One tree for a thread, whatever module its code is in.

    Every module of a process that is traced has its own copy of this library,
    with a TLS slot, a session and a worker of its own; none knows of the
    others.  The copy that a thread calls first makes the thread's tree.  When
    the thread calls another one for the first time, that looks through the
    thread's own TLS slots: in one of them is the header of the tree, if there
    is any.  It puts the same address into its own slot, and from then on the
    hooks of both modules push and pop frames on one stack, and pay nothing for
    it.

    All that the hooks and the slow path of one copy touch of such a tree is in
    memory that no copy owns: the file's view, TRACE_SHARED, the buckets.  Each
    copy has a part in it, an entry among its session's stores.  A part ends
    when the thread does, as its copy is told, or when its module is unloaded;
    the last one to go closes the tree and frees it.  Which of the parts the
    creator's was makes no difference.

    TRACE_STORE.Session is that of the copy whose slow path the thread was in
    last, so that whatever is done there is done with the means of a module that
    is loaded.  Only the owner follows it: another thread goes by what it has
    itself.

    The worker of each copy looks at the control file, and each says so to all
    the trees that it has a part in.  NumberOfActions in the header is one, and
    so an action is carried out once.

    Another thread finds a tree through its session's entry, whose lock it
    holds while it looks: a part does not end as long, and nor does the tree.
    Whether a part is the last is decided under the tree's own lock.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceClose.h"
#include "TraceControl.h"
#include "TraceControlOpen.h"
#include "TraceLock.h"
#include "TraceName.h"
#include "TraceStop.h"
#include "TraceTreeModule.h"

//
// Views and allocations begin at multiples of that.
//

#define SHARE_GRANULARITY           0x10000

//
// What tells copies of the library that understand each other's trees.  It has
// a name, so that a test can make a copy that is of another version.
//

typedef struct _SHARE_STAMP {
    CHAR Name[24];
    ULONG Version;
} SHARE_STAMP;

static const volatile SHARE_STAMP ShareStamp = {
    "Tracer: shared trees, ", TRACE_SHARED_VERSION
};

_Use_decl_annotations_
VOID
TraceShareInitialize(
    PTRACE_SHARED Shared,
    PTRACE_SESSION Session,
    PTRACE_STORE Entry
    )
{
    Shared->Version = ShareStamp.Version;
    Shared->SizeInBytes = sizeof(*Shared);
    Shared->NumberOfModules = 1;
    Shared->ModuleBase[0] = Session->Template->ModuleBase;
    Shared->ModuleSize[0] = Session->Template->ModuleSize;
    Shared->Members[0].Entry = Entry;
    Shared->Members[0].Session = Session;
    Shared->Store.Use = TRACE_STORE_CLOSING;
    Shared->Store.Tree.Member = &Shared->Members[0];
}

static
BOOLEAN
TraceShareIsMemory(
    _In_ PCRTL Rtl,
    _In_ ULONGLONG Address,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Type
    )
//
// Says whether there is an allocation of a type at an address, which can be
// read.  Nothing that might be a guard page is touched to find out.
//
{
    MEMORY_BASIC_INFORMATION Information;

    if (Address == 0 ||
        Address % SHARE_GRANULARITY != 0 ||
        Rtl->NtQueryVirtualMemory == NULL ||
        !NT_SUCCESS(Rtl->NtQueryVirtualMemory((HANDLE)-1,
                                              (PVOID)(ULONG_PTR)Address,
                                              0,
                                              &Information,
                                              sizeof(Information),
                                              NULL))) {
        return FALSE;
    }

    return (ULONG_PTR)Information.AllocationBase == Address &&
           Information.RegionSize >= SizeInBytes &&
           Information.State == MEM_COMMIT &&
           Information.Type == Type &&
           Information.Protect == PAGE_READWRITE;
}

static
BOOLEAN
TraceShareIsTree(
    _In_ PTRACE_SESSION Session,
    _In_ PTRACE_STORE_HEADER Header,
    _Outptr_result_maybenull_ PTRACE_SHARED *Shared
    )
//
// Says whether there is the header of a tree of the calling thread at an
// address, made by a copy of the library that this one understands.
//
{
    PCTRACE_STORE_HEADER Template;
    PTRACE_SHARED Found;

    *Shared = NULL;
    Template = Session->Template;
    if (!TraceShareIsMemory(&Session->Rtl,
                            (ULONG_PTR)Header,
                            TRACE_HEADER_SIZE,
                            MEM_MAPPED) ||
        Header->Magic != TRACE_STORE_MAGIC ||
        Header->MajorVersion != TRACE_FORMAT_MAJOR ||
        Header->Mode != TRACE_MODE_TREE ||
        Header->ProcessId != Template->ProcessId ||
        Header->ProcessCreationTime != Template->ProcessCreationTime ||
        Header->ThreadId != __readgsdword(TEB_THREAD_ID) ||
        Header->BaseAddress != (ULONG_PTR)Header ||
        Header->State != TRACE_STATE_OPEN ||
        Header->Clock != Template->Clock) {

        return FALSE;
    }

    Found = (PTRACE_SHARED)(ULONG_PTR)Header->WriterContext;
    if (!TraceShareIsMemory(&Session->Rtl,
                            (ULONG_PTR)Found,
                            sizeof(*Found),
                            MEM_PRIVATE) ||
        Found->Version != ShareStamp.Version ||
        Found->SizeInBytes != sizeof(*Found) ||
        Found->Store.Header != Header ||
        Found->Store.ThreadId != Header->ThreadId) {

        return FALSE;
    }

    *Shared = Found;
    return TRUE;
}

static
VOID
TraceShareAcquire(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_STORE Tree
    )
//
// Acquires a tree's lock, for a thread that need not be its owner.  It is held
// for moments; one that was terminated with it, or is gone with all others at
// process exit, is not waited for.
//
{
    PCRTL Rtl;
    ULONG Count;

    Rtl = &Session->Rtl;
    for (Count = 0; Count < TRACE_PATIENCE; Count += 1) {
        if (InterlockedCompareExchange(&Tree->WorkLock, 1, 0) == 0) {
            return;
        }
        if (Rtl->RtlDllShutdownInProgress != NULL &&
            Rtl->RtlDllShutdownInProgress()) {

            break;
        }
        Rtl->NtYieldExecution();
    }

    InterlockedExchange(&Tree->WorkLock, 1);
}

static
PTRACE_SHARED
TraceShareEnter(
    _In_ PTRACE_SESSION Session,
    _In_ PTRACE_STORE_HEADER Header,
    _In_ PTRACE_STORE Entry,
    _Out_ PTRACE_MEMBER *Member,
    _Inout_ PNTSTATUS Status
    )
//
// Takes part in the tree at an address, if there is one.  What another thread,
// which unloads the module of the only copy that has a part in it, takes away
// at this moment is met here.
//
{
    PTRACE_SHARED Shared;
    ULONG Index;

    Shared = NULL;
    *Member = NULL;
    __try {

        if (!TraceShareIsTree(Session, Header, &Shared)) {
            return NULL;
        }

        if (Shared->Store.InSlowPath) {
            *Status = STATUS_RETRY;
            return NULL;
        }

        if (InterlockedCompareExchange(&Shared->Store.WorkLock, 1, 0) != 0) {
            *Status = STATUS_RETRY;
            return NULL;
        }
        for (Index = 0;
             Index < TRACE_SHARED_MEMBERS &&
             Shared->Store.Use == TRACE_STORE_USED;
             Index += 1) {

            if (Shared->Members[Index].Session == NULL) {
                Shared->Members[Index].Entry = Entry;
                Shared->Members[Index].Session = Session;
                *Member = &Shared->Members[Index];
                break;
            }
        }
        InterlockedExchange(&Shared->Store.WorkLock, 0);

    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return NULL;
    }

    return *Member != NULL ? Shared : NULL;
}

_Use_decl_annotations_
NTSTATUS
TraceShareJoin(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store
    )
{
    NTSTATUS Status;
    PTRACE_STORE Entry;
    PTRACE_SHARED Shared;
    PTRACE_MEMBER Member;
    PTRACE_STORE_HEADER *Expansion;
    PTRACE_STORE_HEADER Header;
    ULONG Index;

    Status = TraceCloseClaimPlace(Session, &Entry);
    if (!NT_SUCCESS(Status)) {
        return STATUS_NOT_FOUND;
    }
    Entry->Session = Session;
    Entry->ThreadId = __readgsdword(TEB_THREAD_ID);

    Status = STATUS_NOT_FOUND;
    Shared = NULL;
    Expansion = (PTRACE_STORE_HEADER *)__readgsqword(TEB_TLS_EXPANSION_SLOTS);
    for (Index = 0;
         Index < TEB_TLS_NUMBER_OF_SLOTS + TEB_TLS_NUMBER_OF_EXPANSION_SLOTS;
         Index += 1) {

        if (Index < TEB_TLS_NUMBER_OF_SLOTS) {
            Header = (PTRACE_STORE_HEADER)
                __readgsqword(TEB_TLS_SLOTS + Index * sizeof(PVOID));
        } else if (Expansion != NULL) {
            Header = Expansion[Index - TEB_TLS_NUMBER_OF_SLOTS];
        } else {
            break;
        }

        Shared = TraceShareEnter(Session, Header, Entry, &Member, &Status);
        if (Shared != NULL) {
            break;
        }
    }

    if (Shared == NULL) {
        TraceCloseFreePlace(Entry);
        return Status;
    }

    //
    // From here on the tree is there until this session leaves it.
    //

    Shared->Store.InSlowPath = TRUE;
    Shared->Store.Tree.Member = Member;
    Shared->Store.Session = Session;
    Entry->Tree.Shared = &Shared->Store;
    InterlockedExchange(&Entry->Use, TRACE_STORE_MEMBER);
    if (!TraceTreeAddModule(&Shared->Store, Session, Member)) {
        Shared->Store.InSlowPath = FALSE;
        TraceShareLeave(Entry, TRACE_REASON_MODULE_UNLOAD);
        return STATUS_NOT_FOUND;
    }

    TraceControlOpen(Session);
    if (Session->Control != NULL) {
        InterlockedExchange(&Shared->Store.Attention, 1);
        (VOID)TraceControlServe(&Shared->Store);
    }
    Shared->Store.InSlowPath = FALSE;

    *Store = &Shared->Store;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceShareServe(
    PTRACE_SESSION Session,
    PTRACE_STORE Store
    )
{
    PTRACE_SHARED Shared;
    ULONG Index;

    if (Store->Tree.Member == NULL ||
        (Store->Tree.Member->Session == Session &&
         Store->Session == Session)) {

        return;
    }

    Shared = (PTRACE_SHARED)Store;
    for (Index = 0; Index < TRACE_SHARED_MEMBERS; Index += 1) {
        if (Shared->Members[Index].Session == Session) {
            Store->Tree.Member = &Shared->Members[Index];
            InterlockedExchangePointer((PVOID volatile *)&Store->Session,
                                       Session);
            break;
        }
    }
}

_Use_decl_annotations_
PTRACE_STORE
TraceShareFindEntry(
    PTRACE_SESSION Session,
    PTRACE_STORE Store
    )
{
    PTRACE_SHARED Shared;
    ULONG Index;

    if (Store->Tree.Member == NULL) {
        return Store;
    }

    Shared = (PTRACE_SHARED)Store;
    for (Index = 0; Index < TRACE_SHARED_MEMBERS; Index += 1) {
        if (Shared->Members[Index].Session == Session) {
            return Shared->Members[Index].Entry;
        }
    }

    return NULL;
}

static
VOID
TraceShareWake(
    _Inout_ PTRACE_STORE Tree
    )
//
// Makes the owner come by in the code of another module: it may be paused, and
// count on a worker that there will not be.  The tree's lock is held.
//
{
    PTRACE_STORE_HEADER Header;

    Header = Tree->Header;
    InterlockedExchange(&Tree->Attention, 1);
    if (Header->State != TRACE_STATE_STOPPED) {
        RtlStoreRelease64(&Header->Limit, 0);
        if ((Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {
            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags & ~TRACE_HOOK_STOPPED);
        }
    }
}

_Use_decl_annotations_
VOID
TraceShareLeave(
    PTRACE_STORE Entry,
    ULONG Reason
    )
{
    PTRACE_SESSION Session;
    PTRACE_SESSION Other;
    PTRACE_STORE Tree;
    PTRACE_SHARED Shared;
    LONG Use;
    ULONG Index;

    Session = Entry->Session;
    Use = InterlockedCompareExchange(&Entry->Use,
                                     TRACE_STORE_CLOSING,
                                     TRACE_STORE_MEMBER);
    if (Use != TRACE_STORE_MEMBER &&
        (Use != TRACE_STORE_CLOSING ||
         Entry->Tree.Shared == NULL ||
         !Session->IsAlone)) {

        return;
    }

    if (Entry->Tree.Chrono != NULL) {
        TraceStoreCloseOwn(Entry->Tree.Chrono, Reason);
        Entry->Tree.Chrono = NULL;
    }

    Tree = Entry->Tree.Shared;
    if (Reason == TRACE_REASON_THREAD_EXIT &&
        Tree->Session == Session &&
        Tree->ThreadId == __readgsdword(TEB_THREAD_ID)) {

        TraceNameRefresh(Tree);
    }

    //
    // Whoever looks at the tree on behalf of the session holds the entry's
    // lock, and finds from now on that there is nothing to look at.
    //

    TraceLockAcquire(Entry);
    Shared = (PTRACE_SHARED)Tree;
    TraceShareAcquire(Session, Tree);

    Other = NULL;
    for (Index = 0; Index < TRACE_SHARED_MEMBERS; Index += 1) {
        if (Shared->Members[Index].Session != NULL &&
            Shared->Members[Index].Session != Session) {

            Other = Shared->Members[Index].Session;
            break;
        }
    }

    if (Other != NULL) {

        //
        // A thread that ends has said so; its other modules may yet be told.
        //

        if (Reason != TRACE_REASON_MODULE_UNLOAD) {
            TraceStopFinish(Tree, Reason);
        }

        //
        // Should this thread be terminated in here, nobody follows the entry
        // into a tree that others have closed.
        //

        Entry->Tree.Shared = NULL;
        InterlockedCompareExchangePointer((PVOID volatile *)&Tree->Session,
                                          Other,
                                          Session);
    }

    for (Index = 0; Index < TRACE_SHARED_MEMBERS; Index += 1) {
        if (Shared->Members[Index].Session == Session) {
            InterlockedExchangePointer(
                (PVOID volatile *)&Shared->Members[Index].Session,
                NULL);
        }
    }

    if (Other != NULL) {
        if (Reason == TRACE_REASON_MODULE_UNLOAD) {
            TraceShareWake(Tree);
        }
        InterlockedExchange(&Tree->WorkLock, 0);
    } else {
        InterlockedExchangePointer((PVOID volatile *)&Tree->Session, Session);
        Use = InterlockedExchange(&Tree->Use, TRACE_STORE_CLOSING);
        InterlockedExchange(&Tree->WorkLock, 0);
        if (Tree->Header != NULL) {
            TraceStoreCloseClaimed(Tree, Use, Reason);
        }
        Entry->Tree.Shared = NULL;
        RtlFreePages(&Session->Rtl, Shared);
    }

    TraceLockRelease(Entry);
    TraceCloseFreePlace(Entry);
}

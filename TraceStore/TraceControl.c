/*++

Module Name:

    TraceControl.c

Abstract:

    The control file of a session: how recording is stopped, started and cleared
    while the program runs, from outside and by the program itself.

    The file is a log of actions (TraceFormat.h, TraceControlFile.c).  Every
    module instance maps it and looks for new ones: its worker every
    TRACE_CONTROL_INTERVAL, a traced thread whenever it is on the slow path, and
    a thread of the program that has just appended one.  Looking takes no lock;
    whoever finds something that threads have to do says so to every store of
    the instance.  Marks are none of their business: no thread is made to come
    by for one, nor does a store that begins go through those from before it.

    A store is changed by its owner alone.  So that the owner comes by, Limit in
    its header becomes 0: the next hook finds no room and takes the slow path.
    The hook of a store that is paused does not take it, as TRACE_HOOK_STOPPED
    tells it; that bit is taken away until the owner has been there.

    No request is lost.  Attention is set first, then Limit, under the store's
    work lock.  The owner takes Attention back under the same lock, before it
    reads how many actions there are; and it sets Limit under that lock too, and
    looks at Attention again before it leaves the slow path.  Whoever finds the
    lock taken leaves Limit to the owner, if that is who has it, and in any case
    to the worker's next look.

    An action carries the time at which it was asked for.  A thread that comes
    by later carries out all that it has missed, in order, with those times.

    What an action says may be anything: times are taken to lie between the last
    one and now, a text is cut, a kind that is not known does nothing.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceControl.h"
#include "TraceControlFile.h"
#include "TraceDepth.h"
#include "TraceLock.h"
#include "TraceLog.h"
#include "TraceThread.h"
#include "TraceTree.h"
#include "TraceWatch.h"

//
// A store that begins goes through no more actions than these: whether it
// begins paused is known anyway, and its thread's name is among the last ones.
//

#define CONTROL_LOOK_BACK   8192

//
// How many places the worker gives up at once.
//

#define CONTROL_GIVE_UP     512

C_ASSERT(sizeof(((PTRACE_CONTROL_ACTION)0)->Text) <=
         sizeof(((PTRACE_STORE_HEADER)0)->ThreadName));

typedef struct _TRACE_THREAD_TIMES {
    LARGE_INTEGER CreateTime;
    LARGE_INTEGER ExitTime;
    LARGE_INTEGER KernelTime;
    LARGE_INTEGER UserTime;
} TRACE_THREAD_TIMES;
typedef TRACE_THREAD_TIMES *PTRACE_THREAD_TIMES;

static
VOID
TraceControlCallOwner(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Seen
    )
//
// Makes the hook of a store take the slow path.  The store's lock is held.
//
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->State != TRACE_STATE_STOPPED &&
        Header->NumberOfActions < Seen) {

        RtlStoreRelease64(&Header->Limit, 0);
        RtlStoreRelease64(&Store->ArmedLimit, 0);
        if ((Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {
            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags & ~TRACE_HOOK_STOPPED);
        }
        if (Store->NoticedTimestamp == 0) {
            Store->NoticedTimestamp = __rdtsc();
        }
    }
}

static
VOID
TraceControlNotifyTree(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_STORE Entry,
    _In_ ULONG Seen
    )
//
// Makes the owner of a tree come by.  The tree is there while the lock of the
// session's part in it is held (TraceShare.c); whose slow path its thread is in
// is of no account here.
//
{
    PTRACE_STORE Tree;

    if (!TraceLockTryAcquire(Entry)) {
        Session->ControlAgain = 1;
        return;
    }

    Tree = Entry->Tree.Shared;
    if (Entry->Use == TRACE_STORE_MEMBER && Tree != NULL) {
        InterlockedExchange(&Tree->Attention, 1);
        if (InterlockedCompareExchange(&Tree->WorkLock, 1, 0) == 0) {
            TraceControlCallOwner(Tree, Seen);
            InterlockedExchange(&Tree->WorkLock, 0);
        } else {
            Session->ControlAgain = 1;
        }
    }
    TraceLockRelease(Entry);
}

//
// Makes the owner of every store come by.
// Seen: how many actions there are.
//

static
VOID
TraceControlNotify(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Seen
    )
{
    PTRACE_STORE Store;
    PTRACE_STORE_BLOCK Block;
    ULONG Index;

    for (Block = Session->Blocks; Block != NULL; Block = Block->Next) {
        for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {

            Store = &Block->Stores[Index];
            if (Store->Use == TRACE_STORE_MEMBER) {
                TraceControlNotifyTree(Session, Store, Seen);
                continue;
            }
            if (Store->Use != TRACE_STORE_USED) {
                continue;
            }

            InterlockedExchange(&Store->Attention, 1);
            if (!TraceLockTryAcquire(Store)) {
                Session->ControlAgain = 1;
                continue;
            }

            //
            // While the lock is held and the store is used, it is mapped.
            //

            if (Store->Use == TRACE_STORE_USED) {
                TraceControlCallOwner(Store, Seen);
            }
            TraceLockRelease(Store);
        }
    }
}

//
// Makes the owner of every store come by when there will be no worker: one
// that is paused may count on it.
// Session: the session, whose worker is refused.
//

static
VOID
TraceControlDoWithoutWorker(
    _Inout_ PTRACE_SESSION Session
    )
{
    if (Session->Control != NULL) {
        TraceControlNotify(Session, 0xFFFFFFFF);
    }
}

_Use_decl_annotations_
VOID
TraceControlRequestWorker(
    PTRACE_SESSION Session
    )
{
    if (!TraceThreadRequest(Session)) {
        TraceControlDoWithoutWorker(Session);
    }
}

//
// Starts the worker, unless it runs already.
//

_Use_decl_annotations_
VOID
TraceControlStartWorker(
    PTRACE_SESSION Session
    )
{
    //
    // A worker that cannot tell when the program's last thread ends would keep
    // the process, and is not started for this.
    //

    if (Session->Worker.State != TRACE_WORKER_NONE ||
        TraceWatchIsPossible(&Session->Rtl)) {

        TraceControlRequestWorker(Session);
    }
}

//
// Says once that nobody looks at the control file but the traced threads.
//

static
VOID
TraceControlReportNoWorker(
    _Inout_ PTRACE_SESSION Session
    )
{
    RTL_ERROR Error;

    if (Session->Worker.State == TRACE_WORKER_STARTING ||
        Session->Worker.State == TRACE_WORKER_RUNNING ||
        Session->IsAlone ||
        InterlockedExchange(&Session->ControlReported, 1) != 0) {

        return;
    }

    RtlSetError(&Error,
                "controlling a module without a worker",
                &Session->ModuleName,
                STATUS_NOT_SUPPORTED);
    TraceLogError(Session,
                  &Error,
                  "its threads follow when they need new pages");
}

//
// Looks how many actions there are, and keeps what that means.
// Seen: how many there are without one missing.
// Claimed: how many places have been claimed.
// Returns FALSE if the file cannot be read.
//

static
BOOLEAN
TraceControlLook(
    _Inout_ PTRACE_SESSION Session,
    _Out_ PULONG Seen,
    _Out_ PULONG Claimed
    )
{
    LONGLONG Look;
    ULONG Index;
    ULONG Kind;
    ULONG Orders;
    BOOLEAN IsStopped;

    Look = Session->ControlLook;
    Index = (ULONG)((ULONGLONG)Look >> 1);
    IsStopped = (BOOLEAN)(Look & 1);
    Orders = 0;
    *Seen = Index;
    if (!TraceControlCount(Session, Index, Claimed)) {
        return FALSE;
    }

    while (Index < *Claimed) {
        if (!TraceControlReadKind(Session, Index, &Kind)) {
            return FALSE;
        }
        if (Kind == TRACE_ACTION_NONE) {
            break;
        }

        Index += 1;
        switch (Kind) {

        case TRACE_ACTION_START:
        case TRACE_ACTION_STOP:
            IsStopped = Kind == TRACE_ACTION_STOP;
            Orders = Index;
            break;

        case TRACE_ACTION_CLEAR:
        case TRACE_ACTION_NAME:
            Orders = Index;
            break;

        default:
            break;
        }
    }

    //
    // Another thread may have come as far, or farther.
    //

    TraceControlRaise(&Session->ControlOrders, Orders);
    while ((ULONG)((ULONGLONG)Look >> 1) < Index) {
        LONGLONG New = (LONGLONG)((ULONGLONG)Index << 1 | IsStopped);
        LONGLONG Found = InterlockedCompareExchange64(&Session->ControlLook,
                                                      New,
                                                      Look);

        if (Found == Look) {
            break;
        }
        Look = Found;
    }

    *Seen = TRACE_CONTROL_SEEN(Session);
    return TRUE;
}

//
// Tells what this instance says of itself in the control file.
// Returns TRACE_CONTROL_INSTANCE.State.
//

static
ULONG
TraceControlState(
    _In_ PTRACE_SESSION Session
    )
{
    return (TRACE_CONTROL_IS_STOPPED(Session) ? TRACE_ACTION_STOP :
                                                TRACE_ACTION_START) |
           (Session->ControlFollows ? TRACE_CONTROL_FOLLOWS : 0);
}

//
// Looks for new actions, and makes the owner of every store come by if there
// are any for it.
//

_Use_decl_annotations_
VOID
TraceControlPoll(
    PTRACE_SESSION Session
    )
{
    ULONG Claimed;
    ULONG Seen;

    if (Session->Control == NULL || Session->ControlFailed) {
        return;
    }

    if (!TraceControlLook(Session, &Seen, &Claimed)) {
        TraceControlFail(Session,
                         "reading the control file",
                         STATUS_IN_PAGE_ERROR);
        return;
    }

    if (Session->ControlAgain ||
        (ULONG)Session->ControlOrders > (ULONG)Session->ControlNotified) {

        //
        // Who asks for something once may do so again, and a thread that is
        // paused has nobody else to tell it.
        //

        Session->ControlAgain = 0;
        if (!Session->IsAlone) {
            TraceControlStartWorker(Session);
        }
        TraceControlReportNoWorker(Session);
        TraceControlNotify(Session, Seen);
        TraceControlRaise(&Session->ControlNotified, Seen);
    }

    if (Seen > (ULONG)Session->ControlAnswered) {
        TraceControlRaise(&Session->ControlAnswered, Seen);
        TraceControlAnswer(Session, Seen, TraceControlState(Session));
    }
}

//
// The worker's look: as any other, and gives up places that somebody has
// claimed and not filled, so that what comes after them counts.
//

_Use_decl_annotations_
VOID
TraceControlWatch(
    PTRACE_SESSION Session
    )
{
    RTL_CLOCK_READING Reading;
    ULONG Claimed;
    ULONG End;
    ULONG Seen;

    TraceControlPoll(Session);
    if (Session->Control == NULL || Session->ControlFailed) {
        return;
    }

    if (!Session->ControlFollows) {
        Session->ControlFollows = 1;
        TraceControlAnswer(Session,
                           TRACE_CONTROL_SEEN(Session),
                           TraceControlState(Session));
    }

    if (!TraceControlLook(Session, &Seen, &Claimed) || Seen >= Claimed) {
        Session->ControlHoleTime = 0;
        return;
    }

    RtlReadClocks(&Session->Rtl, &Reading);
    if (Session->ControlHoleTime == 0 || Session->ControlHole != Seen) {
        Session->ControlHole = Seen;
        Session->ControlHoleTime = Reading.Qpc;
        return;
    }
    if (Reading.Qpc - Session->ControlHoleTime <
        Reading.QpcFrequency * TRACE_CONTROL_PATIENCE) {

        return;
    }

    //
    // Whoever claimed those right behind it may still be writing them.
    //

    Session->ControlHoleTime = 0;
    End = Seen + 1;
    if (Claimed - Seen > CONTROL_GIVE_UP) {
        End = Seen + CONTROL_GIVE_UP;
    }
    for (; Seen < End && !Session->ControlFailed; Seen += 1) {
        TraceControlGiveUp(Session, Seen);
    }
}

//
// Writes the name of its thread into a store.
// Store: the store of the calling thread.
//

static
VOID
TraceControlName(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
{
    PTRACE_STORE_HEADER Header;
    TRACE_THREAD_TIMES Times;

    //
    // The identifier may have been another thread's before.
    //

    if (Action->ThreadId != Store->ThreadId ||
        Store->ThreadId != __readgsdword(TEB_THREAD_ID) ||
        !NT_SUCCESS(Store->Session->Rtl.NtQueryInformationThread(
            (HANDLE)-2,
            RTL_THREAD_TIMES,
            &Times,
            sizeof(Times),
            NULL)) ||
        (LONGLONG)Action->SystemTime < Times.CreateTime.QuadPart) {

        return;
    }

    Header = Store->Header;
    RtlStoreRelease32(&Header->ThreadNameLength, 0);
    RtlCopyBytes(Header->ThreadName, Action->Text, Action->TextLength);
    Header->ThreadNameFullLength = Action->TextLength;
    RtlStoreRelease32(&Header->ThreadNameLength, Action->TextLength);
}

//
// Pauses a store: from now on the hook counts.
// Store: the store, whose work lock is held.
// Timestamp: when that was asked for.
//

static
VOID
TraceControlStop(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeStop(Store, Timestamp);
        return;
    }

    if ((Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        Store->LostBefore = Header->NumberOfEventsLost;
        RtlStoreRelease32(&Header->HookFlags,
                          Header->HookFlags | TRACE_HOOK_PAUSED);
    }
}

//
// Ends the pause of a store. What the hook counted meanwhile was not lost but
// left out.
// Store: the store, whose work lock is held.
// Timestamp: when that was asked for.
//

static
VOID
TraceControlStart(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
{
    PTRACE_DEPTH Depth;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Missed;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        Store->IsPausedSlowly = FALSE;
        TraceTreeStart(Store, Timestamp);
        return;
    }

    if ((Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        return;
    }

    Missed = Header->NumberOfEventsLost - Store->LostBefore;
    RtlStoreRelease64(&Header->NumberOfEventsLost, Store->LostBefore);
    RtlStoreRelease64(&Header->NumberOfEventsPaused,
                      Header->NumberOfEventsPaused + Missed);

    //
    // The hook follows the depth while it pauses (PenterHooks.asm), unless it
    // came to the slow path each time.
    //

    if (Store->IsPausedSlowly) {
        Store->IsPausedSlowly = FALSE;
        for (Depth = Store->Depth; Depth != NULL; Depth = Depth->Next) {
            Depth->Count = 0;
            Depth->Skipped = 0;
        }
    }

    //
    // An entry from before is not taken back: it need not be the one that the
    // next exit belongs to.
    //

    Store->Floor = (PBYTE)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease32(&Header->HookFlags,
                      Header->HookFlags & ~(ULONG)(TRACE_HOOK_PAUSED |
                                                   TRACE_HOOK_STOPPED));
}

//
// Carries out what a store has missed.
// Store: the store, whose work lock is held.
//

static
VOID
TraceControlCarryOut(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    TRACE_CONTROL_ACTION Action;
    ULONG Seen;
    ULONGLONG Noticed;
    ULONGLONG Now;

    Session = Store->Session;
    Header = Store->Header;

    InterlockedExchange(&Store->Attention, 0);
    Seen = TRACE_CONTROL_SEEN(Session);
    Now = __rdtsc();
    if (Header->State == TRACE_STATE_STOPPED) {
        return;
    }

    //
    // A tree has the calls that ended between the time of what was asked for
    // and the moment at which the hook was told to come by, and their callers
    // must have that time, too: for it, nothing was asked for before that
    // moment.  From then on up to this call there was none.
    //

    if (Header->Mode == TRACE_MODE_TREE && Header->NumberOfActions < Seen) {
        Noticed = Store->NoticedTimestamp;
        if (Noticed == 0 || Noticed > Now) {
            Noticed = Now;
        }
        if (Store->ActionTimestamp < Noticed) {
            Store->ActionTimestamp = Noticed;
        }
    }
    Store->NoticedTimestamp = 0;

    while (Header->NumberOfActions < Seen &&
           TraceControlRead(Session, Header->NumberOfActions, &Action)) {

        //
        // Time goes on, whatever the file says.
        //

        if (Store->ActionTimestamp < Header->OpenAnchor.Tsc) {
            Store->ActionTimestamp = Header->OpenAnchor.Tsc;
        }
        if (Action.Timestamp < Store->ActionTimestamp) {
            Action.Timestamp = Store->ActionTimestamp;
        } else if (Action.Timestamp > Now) {
            Action.Timestamp = Now;
        }
        Store->ActionTimestamp = Action.Timestamp;

        switch (Action.Kind) {

        case TRACE_ACTION_STOP:
            TraceControlStop(Store, Action.Timestamp);
            break;

        case TRACE_ACTION_START:
            TraceControlStart(Store, Action.Timestamp);
            break;

        case TRACE_ACTION_CLEAR:
            if (Header->Mode == TRACE_MODE_TREE) {
                TraceTreeClear(Store, Action.Timestamp);
            } else {
                RtlStoreRelease64(&Header->ClearTimestamp, Action.Timestamp);
            }
            break;

        case TRACE_ACTION_NAME:
            TraceControlName(Store, &Action);
            break;

        default:
            break;
        }

        RtlStoreRelease32(&Header->NumberOfActions,
                          Header->NumberOfActions + 1);
    }
}

//
// Carries out, for a store that has just been made, what was asked for before:
// it begins paused if recording is stopped, and its thread may have a name.
// Store: the store, in which nothing has been recorded.
//

_Use_decl_annotations_
BOOLEAN
TraceControlBegin(
    PTRACE_STORE Store
    )
{
    LONGLONG Look;
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    ULONG Seen;

    Session = Store->Session;
    Header = Store->Header;

    Look = Session->ControlLook;
    Seen = (ULONG)((ULONGLONG)Look >> 1);
    if (Seen > CONTROL_LOOK_BACK) {
        TraceLockAcquire(Store);
        RtlStoreRelease32(&Header->NumberOfActions, Seen - CONTROL_LOOK_BACK);
        if ((Look & 1) != 0) {
            TraceControlStop(Store, Header->OpenAnchor.Tsc);
        }
        TraceLockRelease(Store);
    }

    InterlockedExchange(&Store->Attention, 1);
    return TraceControlServe(Store);
}

_Use_decl_annotations_
BOOLEAN
TraceControlServe(
    PTRACE_STORE Store
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Ticks;

    Session = Store->Session;
    Header = Store->Header;

    TraceControlPoll(Session);
    if (!Store->Attention && (Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        return FALSE;
    }


    Ticks = __rdtsc();
    TraceLockAcquire(Store);
    TraceControlCarryOut(Store);
    if ((Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {
        RtlStoreRelease64(&Header->Limit, 0);
        RtlStoreRelease64(&Store->ArmedLimit, 0);
        if (Session->Worker.State == TRACE_WORKER_RUNNING ||
            Session->Worker.State == TRACE_WORKER_STARTING) {

            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags | TRACE_HOOK_STOPPED);
        } else {
            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags & ~(ULONG)TRACE_HOOK_STOPPED);
            Store->IsPausedSlowly = TRUE;
        }
    } else if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeSetLimit(Store);
    }
    TraceLockRelease(Store);

    Ticks = __rdtsc() - Ticks;
    Header->InlineTicks += Ticks;
    if (Header->MaximumInlineTicks < Ticks) {
        Header->MaximumInlineTicks = Ticks;
    }

    return (Header->HookFlags & TRACE_HOOK_PAUSED) != 0;
}

_Use_decl_annotations_
VOID
TraceControlSettle(
    PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    TraceControlCarryOut(Store);
    if (Header->State != TRACE_STATE_STOPPED &&
        (Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {

        TraceControlStart(Store, __rdtsc());
    }
}

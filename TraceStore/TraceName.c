/*++

Module Name:

    TraceName.c

Abstract:

    A thread's name in its store.  Most programs give a thread its name in the
    thread's own function (SetThreadDescription), after its first traced calls.
    So it is read when the store is made, at each view change, when the thread
    ends, and, where there is a worker, at the thread's first call after each
    second.  The last name stays; each change from one name to another is a
    mark.

    The system is asked by the thread itself: a handle of another thread would
    be lost if the worker was terminated.

--*/

#include "TraceControlAppend.h"
#include "TraceLock.h"
#include "TraceName.h"
#include "TraceSession.h"

//
// What a mark of a change begins with, and how long it may be.
//

#define TRACE_NAME_MARK             "thread name: "
#define TRACE_NAME_MARK_LENGTH      (sizeof(TRACE_NAME_MARK) - 1)
#define TRACE_NAME_MARK_SIZE        96

//
// How long a name is taken for right on the slow path: a second or less.
//

#define TRACE_NAME_TICKS            0x80000000ULL

//
// FNV-1a, 64 bits.
//

#define TRACE_NAME_HASH             0xCBF29CE484222325ULL
#define TRACE_NAME_HASH_PRIME       0x100000001B3ULL

//
// Writes the calling thread's name into its store, if it has one that was not
// read before and the system knows of thread names.
// Mark: the mark of a change.
// MarkLength: its length in bytes; 0: there is none.
// Returns TRUE if the name is another one.
//

static
BOOLEAN
TraceNameQuery(
    _Inout_ PTRACE_STORE Store,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_writes_(TRACE_NAME_MARK_SIZE) PCHAR Mark,
    _Out_ PULONG MarkLength
    )
{
    struct {
        UNICODE_STRING Name;
        WCHAR Buffer[256];
    } Information;
    PCRTL Rtl;
    ULONGLONG Hash;
    ULONG Length;
    ULONG FullLength;
    ULONG Written;

    *MarkLength = 0;
    Rtl = &Store->Session->Rtl;
    Information.Name.Length = 0;
    if (!NT_SUCCESS(Rtl->NtQueryInformationThread(
            (HANDLE)-2,
            RTL_THREAD_NAME_INFORMATION,
            &Information,
            sizeof(Information),
            NULL))) {

        return FALSE;
    }

    if (Information.Name.Length == 0 ||
        Information.Name.Length > sizeof(Information.Buffer)) {

        return FALSE;
    }

    Hash = TRACE_NAME_HASH;
    for (Length = 0;
         Length < Information.Name.Length / sizeof(WCHAR);
         Length += 1) {

        Hash = (Hash ^ Information.Name.Buffer[Length]) *
               TRACE_NAME_HASH_PRIME;
    }

    Hash |= 1;
    if (Hash == Store->NameHash) {
        return FALSE;
    }

    if (Store->NameHash != 0) {
        RtlCopyBytes(Mark, TRACE_NAME_MARK, TRACE_NAME_MARK_LENGTH);
        RtlWideToUtf8(Information.Name.Buffer,
                      Information.Name.Length / sizeof(WCHAR),
                      Mark + TRACE_NAME_MARK_LENGTH,
                      TRACE_NAME_MARK_SIZE - TRACE_NAME_MARK_LENGTH,
                      &Written);
        *MarkLength = TRACE_NAME_MARK_LENGTH + Written;
    }

    //
    // A reader may look at any time.
    //

    RtlStoreRelease32(&Header->ThreadNameLength, 0);
    FullLength = RtlWideToUtf8(Information.Name.Buffer,
                               Information.Name.Length / sizeof(WCHAR),
                               Header->ThreadName,
                               sizeof(Header->ThreadName),
                               &Written);
    Header->ThreadNameFullLength = FullLength;
    RtlStoreRelease32(&Header->ThreadNameLength, Written);
    Store->NameHash = Hash;
    return TRUE;
}

_Use_decl_annotations_
VOID
TraceNameBegin(
    PTRACE_STORE Store,
    PTRACE_STORE_HEADER Header
    )
{
    CHAR Mark[TRACE_NAME_MARK_SIZE];
    ULONG MarkLength;

    Store->NameDue = FALSE;
    Store->NameTicks = __rdtsc();
    Store->NameHash = 0;
    (VOID)TraceNameQuery(Store, Header, Mark, &MarkLength);
}

_Use_decl_annotations_
VOID
TraceNameRefresh(
    PTRACE_STORE Store
    )
{
    CHAR Mark[TRACE_NAME_MARK_SIZE];
    ULONG MarkLength;

    Store->NameDue = FALSE;
    Store->NameTicks = __rdtsc();
    if (!TraceNameQuery(Store, Store->Header, Mark, &MarkLength) ||
        MarkLength == 0 ||
        (Store->Header->Flags & TRACE_FLAG_CHRONOLOGICAL) != 0) {

        return;
    }

    //
    // Where there is no control file there are no marks.
    //

    (VOID)TraceControlAppend(Store->Session,
                             TRACE_ACTION_MARK,
                             Mark,
                             MarkLength);
}

_Use_decl_annotations_
VOID
TraceNameServe(
    PTRACE_STORE Store
    )
{
    if (Store->NameDue ||
        __rdtsc() - Store->NameTicks > TRACE_NAME_TICKS) {

        TraceNameRefresh(Store);
    }
}

//
// Makes the owner of a store read its name at its next call.  The store's lock
// is held.  One that is paused stays as it is.
//

static
VOID
TraceNameCallOwner(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->State == TRACE_STATE_OPEN &&
        (Header->HookFlags &
         (TRACE_HOOK_PAUSED | TRACE_HOOK_STOPPED)) == 0) {

        Store->NameDue = TRUE;
        InterlockedExchange(&Store->Attention, 1);
        RtlStoreRelease64(&Header->Limit, 0);
    }
}

_Use_decl_annotations_
VOID
TraceNameWatch(
    PTRACE_SESSION Session
    )
{
    PTRACE_STORE Store;
    PTRACE_STORE_BLOCK Block;
    RTL_CLOCK_READING Reading;
    LONG Use;
    ULONG Index;

    RtlReadClocks(&Session->Rtl, &Reading);
    if ((ULONGLONG)Reading.Qpc - (ULONGLONG)Session->NameTime <
        (ULONGLONG)Reading.QpcFrequency) {

        return;
    }

    Session->NameTime = (LONGLONG)Reading.Qpc;
    for (Block = Session->Blocks; Block != NULL; Block = Block->Next) {
        for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {

            Store = &Block->Stores[Index];
            Use = Store->Use;
            if ((Use != TRACE_STORE_USED && Use != TRACE_STORE_MEMBER) ||
                !TraceLockTryAcquire(Store)) {

                continue;
            }

            //
            // While the lock is held and the store is used, it is mapped; and
            // so is the tree that it is a part in, whose own lock keeps other
            // modules' workers away.
            //

            if (Store->Use == TRACE_STORE_USED) {
                TraceNameCallOwner(Store);
            } else if (Store->Use == TRACE_STORE_MEMBER &&
                       Store->Tree.Shared != NULL &&
                       InterlockedCompareExchange(
                           &Store->Tree.Shared->WorkLock,
                           1,
                           0) == 0) {

                TraceNameCallOwner(Store->Tree.Shared);
                InterlockedExchange(&Store->Tree.Shared->WorkLock, 0);
            }
            TraceLockRelease(Store);
        }
    }
}

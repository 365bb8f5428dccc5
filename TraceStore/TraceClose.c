/*++

Module Name:

    TraceClose.c

Abstract:

    A store's place in its session, which it is given and gives back; and its
    end: the file is cut after what it holds, unmapped and closed.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceClose.h"
#include "TraceCompact.h"
#include "TraceControl.h"
#include "TraceDepth.h"
#include "TraceLock.h"
#include "TraceName.h"
#include "TraceStop.h"
#include "TraceTree.h"
#include "TraceView.h"

_Use_decl_annotations_
NTSTATUS
TraceCloseClaimPlace(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store
    )
{
    NTSTATUS Status;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE_BLOCK First;
    PVOID Base;
    ULONG Index;

    for (;;) {
        First = Session->Blocks;
        for (Block = First; Block != NULL; Block = Block->Next) {
            for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {
                if (Block->Stores[Index].Use == TRACE_STORE_FREE &&
                    InterlockedCompareExchange(&Block->Stores[Index].Use,
                                               TRACE_STORE_CLOSING,
                                               TRACE_STORE_FREE) ==
                    TRACE_STORE_FREE) {

                    *Store = &Block->Stores[Index];
                    return STATUS_SUCCESS;
                }
            }
        }

        Status = RtlAllocatePages(&Session->Rtl,
                                  TRACE_STORE_BLOCK_SIZE,
                                  &Base);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Block = (PTRACE_STORE_BLOCK)Base;
        Block->Next = First;
        if (InterlockedCompareExchangePointer((PVOID volatile *)
                                              &Session->Blocks,
                                              Block,
                                              First) != First) {

            //
            // Another thread added one in the meantime: use that.
            //

            RtlFreePages(&Session->Rtl, Base);
        }
    }
}

_Use_decl_annotations_
VOID
TraceCloseFreePlace(
    PTRACE_STORE Store
    )
{
    RtlZeroBytes(&Store->Header,
                 sizeof(*Store) - FIELD_OFFSET(TRACE_STORE, Header));
    Store->ThreadId = 0;
    Store->InSlowPath = 0;
    InterlockedExchange(&Store->WorkLock, 0);
    InterlockedExchange(&Store->Use, TRACE_STORE_FREE);
}

_Use_decl_annotations_
VOID
TraceStoreCloseClaimed(
    PTRACE_STORE Store,
    LONG Use,
    ULONG Reason
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    PVOID Base;
    ULONGLONG End;
    ULONG Index;

    Session = Store->Session;
    Header = Store->Header;
    if (Use == TRACE_STORE_USED &&
        Store->ThreadId == __readgsdword(TEB_THREAD_ID)) {

        TraceNameRefresh(Store);
    }

    //
    // From here on the worker finds the store closing and leaves it alone; if
    // it is mapping or unmapping a view of it at this moment, that takes a few
    // milliseconds on a healthy disk.  It must be waited for: it uses the file,
    // and a view that is still mapped would keep the file from being cut.
    //

    TraceLockAcquire(Store);
    TraceLockWaitForWorker(Store, TRACE_WORKER_ANY);

    //
    // A thread that was killed may have left the next view half mapped, or may
    // have begun to make it the current one.  Each view is forgotten before it
    // is unmapped: should this thread be killed, too, whoever comes after it
    // unmaps nothing that has become somebody else's.
    //

    if (Store->Compact.Ring.Base != NULL) {
        Store->Next.Base = NULL;
    } else if (Store->Next.Section == NULL &&
               Store->Next.Base != Store->Current.Base) {

        Base = InterlockedExchangePointer((PVOID volatile *)&Store->Next.Base,
                                          NULL);
        RtlUnmapFileSection(&Session->Rtl, Base);
    }
    for (Index = 0; Index < TRACE_RETIRED_VIEWS; Index += 1) {
        Base = InterlockedExchangePointer(&Store->Retired[Index], NULL);
        TraceViewRetire(Session, Base);
    }

    End = Header->Cursor + Header->CursorToFileOffset;
    if ((Header->Generation & 1) != 0) {
        End = Header->ViewFileOffset;
    }

    if (Use == TRACE_STORE_CLOSING && Header->Mode == TRACE_MODE_TREE &&
        (Header->Generation & 1) != 0) {

        //
        // A tree that was being cut stays as it is.
        //

        TraceStopFinish(Store, Reason);
        End = Store->FileSizeInBytes;

    } else {

        TraceControlSettle(Store);
        if (Header->Mode == TRACE_MODE_COMPACT) {
            End = TraceCompactClose(Store, End);
        }
        TraceStopFinish(Store, Reason);
        if (Header->Mode == TRACE_MODE_TREE) {
            End = TraceTreeClose(Store);
        }
    }

    if (!TraceCompactUnmap(Store) && Store->Current.Base != (PBYTE)Header) {
        Base = InterlockedExchangePointer(
            (PVOID volatile *)&Store->Current.Base,
            Header);
        RtlUnmapFileSection(&Session->Rtl, Base);
    }
    TraceViewReclaim(Store);
    InterlockedExchangePointer((PVOID volatile *)&Store->Header, NULL);
    RtlUnmapFileSection(&Session->Rtl, Header);

    //
    // Cut what was extended and not used.  Windows refuses this while any
    // process has the file mapped (STATUS_USER_MAPPED_FILE): the file then
    // keeps a tail of zeroes, which readers never look at.
    //

    if (End >= TRACE_HEADER_SIZE && End <= Store->FileSizeInBytes) {
        (VOID)RtlSetFileSize(&Session->Rtl, Store->File, End);
    }
    RtlProtectHandle(&Session->Rtl, Store->File, FALSE);
    RtlClose(&Session->Rtl, Store->File);

    TraceDepthClose(Store);
}

_Use_decl_annotations_
VOID
TraceStoreCloseOwn(
    PTRACE_STORE Store,
    ULONG Reason
    )
{
    LONG Use;

    Use = InterlockedCompareExchange(&Store->Use,
                                     TRACE_STORE_CLOSING,
                                     TRACE_STORE_USED);
    if (Use != TRACE_STORE_USED) {

        //
        // Once its header is unmapped it has all that readers need.
        //

        if (Use != TRACE_STORE_CLOSING ||
            Store->Header == NULL ||
            !Store->Session->IsAlone) {

            return;
        }
    }

    TraceStoreCloseClaimed(Store, Use, Reason);
    TraceCloseFreePlace(Store);
}

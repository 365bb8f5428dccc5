/*++

Module Name:

    KdRecords.c

Abstract:

    A thread's records that are in memory, of all its stores, in the order of
    time.

--*/

#include "../Reader/Core/CoreLive.h"
#include "KdRecords.h"

//
// After so many pages in a row that are not there the rest of a run is not
// asked for.
//

#define KD_MISSING_PAGES            256u

//
// Reads more records.  FALSE: there are no more, or the user wants no more.
//

static
BOOLEAN
KdRecordsFill(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_CURSOR Cursor
    )
{
    PKD_STORE Store = Cursor->Store;
    PKD_RUN Run;
    ULONGLONG Left;
    ULONG Size;
    ULONG Read;

    Cursor->Count = 0;
    Cursor->Next = 0;
    while (Cursor->Run < Store->NumberOfRuns && !Context->IsStopped) {

        Run = &Store->Runs[Cursor->Run];
        Left = Run->SizeInBytes - Cursor->Offset;
        if (Left <= Cursor->Skip) {
            Cursor->Skip -= Left;
            Left = 0;
        } else {
            Cursor->Offset += Cursor->Skip;
            Left -= Cursor->Skip;
            Cursor->Skip = 0;
        }

        if (Left == 0) {

            if (Run->Position + Run->SizeInBytes !=
                (Cursor->Run + 1 < Store->NumberOfRuns
                     ? Store->Runs[Cursor->Run + 1].Position
                     : Store->End)) {
                Cursor->IsAfterGap = TRUE;
            }

            Cursor->Run += 1;
            Cursor->Offset = 0;
            continue;
        }

        Size = Left < sizeof(Cursor->Records) ? (ULONG)Left
                                              : sizeof(Cursor->Records);
        Read = KdContextReadSome(Context,
                                 Run->Address + Cursor->Offset,
                                 Cursor->Records,
                                 Size);
        Read -= Read % TRACE_RECORD_SIZE;
        if (Read != 0) {
            Cursor->Offset += Read;
            Cursor->Count = Read / TRACE_RECORD_SIZE;
            Cursor->Misses = 0;
            return TRUE;
        }

        //
        // To the next page.
        //

        Cursor->Misses += 1;
        Cursor->IsAfterGap = TRUE;
        Size = KD_PAGE_SIZE -
               (ULONG)((Run->Address + Cursor->Offset) % KD_PAGE_SIZE);
        Size += TRACE_RECORD_SIZE - 1;
        Size -= Size % TRACE_RECORD_SIZE;
        if (Size > Left || Cursor->Misses == KD_MISSING_PAGES) {
            Store->UnreadInBytes += Left;
            Cursor->Offset += Left;
        } else {
            Store->UnreadInBytes += Size;
            Cursor->Offset += Size;
        }
    }

    return FALSE;
}

//
// The next good record of a store, or NULL.
//

static
_Ret_maybenull_
PTRACE_RECORD
KdRecordsPeek(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_CURSOR Cursor
    )
{
    PKD_STORE Store = Cursor->Store;
    PTRACE_RECORD Record;
    CORE_RECORD_CHECK Check;
    CORE_RECORD_STATE State;

    for (;;) {

        if (Cursor->Next == Cursor->Count &&
            !KdRecordsFill(Context, Cursor)) {
            return NULL;
        }

        Record = &Cursor->Records[Cursor->Next];
        Check = Cursor->Check;
        State = CoreValidateRecord(&Check,
                                   Record,
                                   Cursor->Next + 1 == Cursor->Count &&
                                       Cursor->Run + 1 >=
                                           Store->NumberOfRuns);
        if (State == CoreRecordValid &&
            Record->Timestamp >= Store->Header->ClearTimestamp) {
            return Record;
        }

        if (State == CoreRecordValid) {
            Cursor->Check = Check;
        } else if (State != CoreRecordReserved) {
            Store->NumberBad += 1;
        }

        Cursor->Next += 1;
        if (KdContextIsStopped(Context)) {
            return NULL;
        }
    }
}

static
NTSTATUS
KdRecordsNext(
    _Inout_ PKD_FEED Feed,
    _Out_ PCORE_CALL Call
    )
{
    PKD_RECORDS_FEED This = (PKD_RECORDS_FEED)Feed;
    PKD_CONTEXT Context = Feed->Names->Context;
    PKD_CURSOR Best = NULL;
    PTRACE_RECORD Record;
    PTRACE_RECORD Earliest = NULL;
    BOOLEAN IsGap = FALSE;
    ULONG Index;

    for (Index = 0; Index < This->NumberOfCursors; Index++) {
        Record = KdRecordsPeek(Context, This->Cursors[Index]);
        if (Record != NULL &&
            (Best == NULL || Record->Timestamp < Earliest->Timestamp)) {
            Best = This->Cursors[Index];
            Earliest = Record;
        }
    }

    if (Context->IsStopped) {
        return STATUS_CANCELLED;
    }

    if (Best == NULL) {

        //
        // What is missing at the end is a gap, too.
        //

        for (Index = 0; Index < This->NumberOfCursors; Index++) {
            IsGap = IsGap || This->Cursors[Index]->IsAfterGap;
            This->Cursors[Index]->IsAfterGap = FALSE;
        }

        return IsGap ? STATUS_RETRY : STATUS_END_OF_FILE;
    }

    if (Best->IsAfterGap) {
        Best->IsAfterGap = FALSE;
        return STATUS_RETRY;
    }

    Best->Check.PreviousTimestamp = Earliest->Timestamp;
    Best->Next += 1;
    Call->Timestamp = Earliest->Timestamp;
    Call->Site = ((ULONGLONG)Best->Store->Module << 32) |
                 (ULONG)(Earliest->Site - Best->Check.ModuleBase);
    Call->Stack = Earliest->StackKind & ~TRACE_KIND_MASK;
    Call->Kind = Earliest->StackKind & TRACE_KIND_MASK;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
KdRecordsOpen(
    PKD_STORES Stores,
    ULONG Store,
    ULONGLONG MaximumInBytes,
    BOOLEAN WithoutTrees,
    PKD_RECORDS_FEED Feed
    )
{
    PCTRACE_STORE_HEADER First = Stores->Stores[Store]->Header;
    PKD_STORE This;
    PKD_CURSOR Cursor;
    ULONG End = Store;
    ULONG Index;
    BOOLEAN HasTree = FALSE;

    RtlZeroBytes(Feed, sizeof(*Feed));
    Feed->Stores = Stores;
    Feed->Feed.Next = KdRecordsNext;
    Feed->Feed.Names = &Stores->Names;
    Feed->Feed.StackBase = First->StackBase;
    Feed->Feed.StackLimit = First->StackLimit;
    while (End < Stores->NumberOfStores &&
           KD_IS_STORE_GOOD(Stores->Stores[End]) &&
           Stores->Stores[End]->Header->ThreadId == First->ThreadId) {
        HasTree = HasTree || KD_IS_TREE(Stores->Stores[End]);
        End += 1;
    }

    Feed->Cursors = (PKD_CURSOR *)
        KdContextAllocate(Stores->Context,
                          (End - Store) * sizeof(PKD_CURSOR));
    if (Feed->Cursors == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = Store; Index < End; Index++) {

        This = Stores->Stores[Index];
        if (KD_IS_TREE(This) ||
            (WithoutTrees && HasTree &&
             (This->Header->Flags & TRACE_FLAG_CHRONOLOGICAL) != 0)) {
            continue;
        }

        Cursor = (PKD_CURSOR)KdContextAllocate(Stores->Context,
                                               sizeof(*Cursor));
        if (Cursor == NULL) {
            return STATUS_NO_MEMORY;
        }

        Cursor->Store = This;
        This->UnreadInBytes = 0;
        This->NumberBad = 0;
        if (This->MappedInBytes > MaximumInBytes) {
            Cursor->Skip = This->MappedInBytes - MaximumInBytes;
        }

        CoreInitializeRecordCheck(&Cursor->Check, This->Header);
        Feed->Cursors[Feed->NumberOfCursors] = Cursor;
        Feed->NumberOfCursors += 1;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
KdRecordsClose(
    PKD_RECORDS_FEED Feed
    )
{
    ULONG Index;

    for (Index = 0; Index < Feed->NumberOfCursors; Index++) {
        KdContextFree(Feed->Stores->Context, Feed->Cursors[Index]);
    }

    KdContextFree(Feed->Stores->Context, Feed->Cursors);
    RtlZeroBytes(Feed, sizeof(*Feed));
}

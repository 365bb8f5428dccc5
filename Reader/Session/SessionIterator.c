/*++

Module Name:

    SessionIterator.c

Abstract:

    The validated iterator: a store's valid records, one after another, with
    the bad ones counted.  Everything reads records through it.

--*/

#include "SessionIterator.h"

//
// Records copied out of the window at a time: 16 KiB for each open store.
//

#define READER_RECORDS_IN_BUFFER 1024


_Use_decl_annotations_
NTSTATUS
SessionInitializeIterator(
    PREADER_ITERATOR Iterator,
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    RtlZeroBytes(Iterator, sizeof(*Iterator));

    Iterator->Buffer = (PTRACE_RECORD)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     READER_RECORDS_IN_BUFFER *
                                         TRACE_RECORD_SIZE);
    if (Iterator->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    Iterator->Context = Context;
    Iterator->Store = Store;
    Iterator->Records = Iterator->Buffer;
    Iterator->BufferPosition = Store->StartOfRecords;
    CoreInitializeRecordCheck(&Iterator->Check, Store->Header);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionRundownIterator(
    PREADER_ITERATOR Iterator
    )
{
    if (Iterator->Buffer != NULL) {
        SessionGiveRecordsBack(Iterator->Store, Iterator);
        Iterator->Context->Allocator->Free(
            Iterator->Context->Allocator->Context,
            Iterator->Buffer);
        Iterator->Buffer = NULL;
    }
}


_Use_decl_annotations_
ULONGLONG
SessionQueryPosition(
    const READER_ITERATOR *Iterator
    )
{
    return Iterator->BufferPosition +
           (ULONGLONG)Iterator->Index * TRACE_RECORD_SIZE;
}


_Use_decl_annotations_
VOID
SessionSeekIterator(
    PREADER_ITERATOR Iterator,
    ULONGLONG Position,
    ULONGLONG PreviousTimestamp
    )
{
    Iterator->BufferPosition = Position;
    Iterator->Index = 0;
    Iterator->Count = 0;
    Iterator->Check.PreviousTimestamp = PreviousTimestamp;
}


//
// Passes over records that are in a bad block.
//

static
VOID
SessionPassLost(
    _Inout_ PREADER_ITERATOR Iterator
    )
{
    PREADER_STORE Store = Iterator->Store;
    ULONGLONG End = Store->LostEnd;

    if (End > Store->EndOfRecords) {
        End = Store->EndOfRecords;
    }

    if (Iterator->NumberOfBadRecords == 0) {
        Iterator->FirstBadOffset =
            SessionLocateRecord(Store, Iterator->BufferPosition);
        Iterator->FirstBadState = CoreRecordBadBlock;
    }

    Iterator->NumberOfBadRecords += (End - Iterator->BufferPosition) /
                                    TRACE_RECORD_SIZE;
    Iterator->BufferPosition = End;
}


//
// Takes the next records out of the store. What its writer has overwritten
// before it was read is counted and passed over.
// Iterator: the iterator, its buffer used up.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.
//

_Must_inspect_result_
static
NTSTATUS
SessionFillBuffer(
    _Inout_ PREADER_ITERATOR Iterator
    )
{
    PREADER_STORE Store = Iterator->Store;
    ULONGLONG Next;
    NTSTATUS Status;

    Iterator->BufferPosition += (ULONGLONG)Iterator->Count * TRACE_RECORD_SIZE;
    Iterator->Index = 0;
    Iterator->Count = 0;
    Iterator->EndAtFill = Store->EndOfRecords;

    for (;;) {

        Status = SessionBorrowRecords(Iterator->Context,
                                      Store,
                                      Iterator->BufferPosition,
                                      Iterator,
                                      &Iterator->Records,
                                      &Iterator->Count);
        if (NT_SUCCESS(Status) && Iterator->Count == 0 &&
            Store->LostEnd == 0) {
            Iterator->Records = Iterator->Buffer;
            Status = SessionReadRecords(Iterator->Context,
                                        Store,
                                        Iterator->BufferPosition,
                                        Iterator->Buffer,
                                        READER_RECORDS_IN_BUFFER,
                                        &Iterator->Count);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Iterator->Count != 0) {
            return STATUS_SUCCESS;
        }

        if (Store->LostEnd > Iterator->BufferPosition) {
            SessionPassLost(Iterator);
            continue;
        }

        //
        // What was appended after the end that is known here is looked at
        // when there is a new end.
        //

        Next = Store->StartOfRecords;
        if (Next > Store->EndOfRecords) {
            Next = Store->EndOfRecords;
        }

        if (Next <= Iterator->BufferPosition) {
            return STATUS_END_OF_FILE;
        }

        Iterator->NumberOvertaken += (Next - Iterator->BufferPosition) /
                                     TRACE_RECORD_SIZE;
        Iterator->BufferPosition = Next;
        Iterator->IsGap = TRUE;
    }
}


_Use_decl_annotations_
NTSTATUS
SessionNextRecord(
    PREADER_ITERATOR Iterator,
    PCTRACE_RECORD *Record
    )
{
    PCTRACE_RECORD Candidate;
    CORE_RECORD_STATE State;
    ULONGLONG Position;
    NTSTATUS Status;

    Iterator->IsTailReserved = FALSE;

    for (;;) {

        if (Iterator->Index == Iterator->Count) {
            Status = SessionFillBuffer(Iterator);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        Candidate = &Iterator->Records[Iterator->Index];
        Position = Iterator->BufferPosition +
                   (ULONGLONG)Iterator->Index * TRACE_RECORD_SIZE;
        State = CoreValidateRecord(&Iterator->Check,
                                   Candidate,
                                   Position + TRACE_RECORD_SIZE ==
                                       Iterator->EndAtFill);
        if (State == CoreRecordValid) {
            Iterator->Index += 1;
            Iterator->NumberOfRecords += 1;
            if (!CoreIsOnThreadStack(&Iterator->Check, Candidate)) {
                Iterator->NumberOnFibers += 1;
            }
            Iterator->IsAfterGap = Iterator->IsGap;
            Iterator->IsGap = FALSE;
            *Record = Candidate;
            return STATUS_SUCCESS;
        }

        if (State == CoreRecordReserved) {

            //
            // Its thread is writing it now, or never will.  The buffer ends
            // before it, so the next call reads it again.
            //

            Iterator->Count = Iterator->Index;
            Iterator->IsTailReserved = TRUE;
            return STATUS_END_OF_FILE;
        }

        if (Iterator->NumberOfBadRecords == 0) {
            Iterator->FirstBadOffset =
                SessionLocateRecord(Iterator->Store, Position);
            Iterator->FirstBadState = State;
        }

        Iterator->NumberOfBadRecords += 1;
        Iterator->Index += 1;
    }
}


_Use_decl_annotations_
PCTRACE_RECORD
SessionPeekRecords(
    const READER_ITERATOR *Iterator,
    PULONG NumberOfRecords
    )
{
    *NumberOfRecords = Iterator->Count - Iterator->Index;
    return &Iterator->Records[Iterator->Index];
}


_Use_decl_annotations_
VOID
SessionSkipRecords(
    PREADER_ITERATOR Iterator,
    ULONG NumberOfRecords
    )
{
    Iterator->Index += NumberOfRecords;
    Iterator->NumberOfRecords += NumberOfRecords;
}


_Use_decl_annotations_
VOID
SessionReturnRecord(
    PREADER_ITERATOR Iterator
    )
{
    Iterator->Index -= 1;
    Iterator->NumberOfRecords -= 1;
}

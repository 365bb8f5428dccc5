/*++

Module Name:

    SessionIterator.h

Abstract:

    A store's valid records: everything reads through it.

--*/

#ifndef TRACER_SESSION_ITERATOR_H
#define TRACER_SESSION_ITERATOR_H

#include "SessionStore.h"

typedef struct _READER_ITERATOR {
    PCREADER_CONTEXT Context;
    PREADER_STORE Store;
    CORE_RECORD_CHECK Check;
    PTRACE_RECORD Buffer;
    PCTRACE_RECORD Records;         // at hand: the buffer's, or the store's
    ULONG Index;                    // of the next one at hand
    ULONG Count;                    // of those at hand
    ULONGLONG BufferPosition;       // of the first
    ULONGLONG EndAtFill;            // the end of records when they came
    ULONGLONG NumberOvertaken;      // records overwritten before they were
                                    // read
    ULONGLONG NumberOfRecords;      // valid
    ULONGLONG NumberOfBadRecords;
    ULONGLONG FirstBadOffset;       // file offset
    CORE_RECORD_STATE FirstBadState;
    ULONGLONG NumberOnFibers;       // valid, outside the thread's own stack
    BOOLEAN IsTailReserved;         // the last one is not written
    BOOLEAN IsGap;                  // before the next valid record
    BOOLEAN IsAfterGap;             // the last one that was given: records
                                    // before it were overtaken
} READER_ITERATOR;
typedef READER_ITERATOR *PREADER_ITERATOR;

//
// Makes an iterator that stands before a store's first record. The store is
// open, with a valid header, and stays the caller's.
//

_Must_inspect_result_
NTSTATUS
SessionInitializeIterator(
    _Out_ PREADER_ITERATOR Iterator,
    _In_ PCREADER_CONTEXT Context,
    _In_ PREADER_STORE Store
    );

//
// Frees an iterator's buffer.
// Iterator: the iterator, or all zeroes.
//

VOID
SessionRundownIterator(
    _Inout_ PREADER_ITERATOR Iterator
    );

//
// The next valid record, good until the next call; bad ones are counted and
// passed over.  STATUS_END_OF_FILE when there is none: after the store has
// been refreshed there may be more.
//
// Otherwise what failed; the store has the step.
//

_Must_inspect_result_
NTSTATUS
SessionNextRecord(
    _Inout_ PREADER_ITERATOR Iterator,
    _Outptr_ PCTRACE_RECORD *Record
    );

//
// Shows the records that are in the buffer. The records that SessionNextRecord
// would look at next and that are at hand, in memory that does not change. The
// caller validates them with Check, and says how many of them it took.
//
// NumberOfRecords: how many there are; 0: SessionNextRecord is to fill the
// buffer.
//

PCTRACE_RECORD
SessionPeekRecords(
    _In_ const READER_ITERATOR *Iterator,
    _Out_ PULONG NumberOfRecords
    );

//
// Takes records that were shown and have been found valid.
// Iterator: the iterator, whose Check knows them.
// NumberOfRecords: how many.
//

VOID
SessionSkipRecords(
    _Inout_ PREADER_ITERATOR Iterator,
    _In_ ULONG NumberOfRecords
    );

//
// Where the iterator is, and moving it to where another one was.
// Returns the position behind the last record that it gave or passed over.
//

ULONGLONG
SessionQueryPosition(
    _In_ const READER_ITERATOR *Iterator
    );

//
// Moves an iterator.
// Position: of the next record to look at, in the store's range.
// PreviousTimestamp: of the valid record before it; 0: there is none.
//

VOID
SessionSeekIterator(
    _Inout_ PREADER_ITERATOR Iterator,
    _In_ ULONGLONG Position,
    _In_ ULONGLONG PreviousTimestamp
    );

//
// Undoes the last success of SessionNextRecord. Gives back the record that
// SessionNextRecord gave last: it comes again.
//

VOID
SessionReturnRecord(
    _Inout_ PREADER_ITERATOR Iterator
    );

#endif // TRACER_SESSION_ITERATOR_H

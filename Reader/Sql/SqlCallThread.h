/*++

Module Name:

    SqlCallThread.h

Abstract:

    The calls of a thread, as they end, or in the order of their beginnings.

    As they end, and where nothing is asked for that only the events of a call
    tell, they are taken from the list that the fast way of pairing makes.

    For that order a call waits until its end is known, behind those that began
    before it: in a window of SQL_WINDOW calls.  Where the first one in it is
    still open, the ends of all such long calls are looked for, once for each
    thread, by a further reading: what is kept of them is as much as the
    deepest stack for every SQL_WINDOW calls at most.

--*/

#ifndef TRACER_SQL_CALL_THREAD_H
#define TRACER_SQL_CALL_THREAD_H

#include "../Calls/CallMerge.h"
#include "../Calls/CallSiteTable.h"
#include "SqlCursor.h"

#ifndef SQL_WINDOW
#define SQL_WINDOW 0x10000u         // a power of two
#endif

#define SQL_CALL_TAIL           0x1u
#define SQL_CALL_BEGUN_BEFORE   0x2u
#define SQL_CALL_ABANDONED      0x4u
#define SQL_CALL_UNFINISHED     0x8u
#define SQL_CALL_UNCERTAIN      0x10u
#define SQL_CALL_ENDED          0x20u

typedef struct _SQL_CALL {
    ULONGLONG Sequence;             // among the thread's rows
    ULONGLONG Start;                // time stamp
    ULONGLONG Duration;             // ticks, these three
    ULONGLONG Self;
    ULONGLONG Waited;
    ULONG Function;                 // in the table; and the one around it, or
    ULONG Parent;                   // READER_NONE
    ULONG Depth;
    ULONG Track;
    ULONG Flags;                    // SQL_CALL_*
} SQL_CALL;
typedef SQL_CALL *PSQL_CALL;

//
// The end of a long one.
//

typedef struct _SQL_LONG_CALL {
    ULONGLONG Sequence;
    ULONGLONG Start;                // time stamp: is it the same call?
    ULONGLONG Duration;
    ULONGLONG Self;
    ULONGLONG Waited;
    ULONG Flags;
} SQL_LONG_CALL;
typedef SQL_LONG_CALL *PSQL_LONG_CALL;

typedef struct _SQL_CALL_THREAD {
    READER_MERGE_THREAD Merge;      // the first member
    SQL_CALL Row;
    PSQL_CALL Ring;                 // by sequence, modulo the capacity
    ULONG Capacity;
    ULONGLONG First;                // sequences: of those in the ring
    ULONGLONG End;                  // of the next one
    ULONGLONG NumberOpen;           // rows that wait for their end, without a
                                    // window
    BOOLEAN IsRead;                 // to its end
    BOOLEAN IsPast;                 // behind the range: no more rows begin
    BOOLEAN AreLongKnown;
    PSQL_LONG_CALL Long;            // in the order of sequences
    ULONG NumberOfLong;
    ULONG CapacityOfLong;
    ULONG NextLong;
    ULONG NextOpen;                 // of the frames that were open when the
    ULONG NextOpenTrack;            // range began: what was not taken yet
    BOOLEAN IsAtOnce;               // ordinary calls come as many at a time as
    CORE_ENDED_LIST Ended;          // the fast way pairs
    ULONG NextEnded;                // of these
    ULONGLONG NumberPassed;         // rows of which only the index was read,
                                    // and which are still to be counted
} SQL_CALL_THREAD;
typedef SQL_CALL_THREAD *PSQL_CALL_THREAD;

typedef struct _SQL_CALLS {
    PSQL_CURSOR Cursor;             // whose query it is
    PSQL_WORLD World;               // the cursor's, or its own
    READER_MERGE Merge;
    READER_TALLY Tally;             // the sites
    READER_TALLY Before;            // for what is passed over
    ULONGLONG First;                // time stamps: where rows may begin
    ULONGLONG Last;
    BOOLEAN NeedsEnds;
    BOOLEAN NeedsEvents;            // what only the events of a call tell
    BOOLEAN IsWatching;             // a test of names: others go the fast way
    BOOLEAN IsForLong;              // a reading that looks for long calls
    BOOLEAN IsCancelled;
    PUCHAR Asked;                   // by function: 0 not decided, 1 yes, 2 no
    ULONG CapacityOfAsked;
    PSQL_CALL_THREAD Thread;        // whose row is the current one, or NULL
} SQL_CALLS;
typedef SQL_CALLS *PSQL_CALLS;

//
// State: all zeroes.  The world is open, and has single calls.
//

VOID
SqlInitializeCalls(
    _Out_ PSQL_CALLS State,
    _In_ PSQL_CURSOR Cursor,
    _In_ PSQL_WORLD World,
    _In_ BOOLEAN NeedsEnds,
    _In_ BOOLEAN NeedsEvents
    );

VOID
SqlRundownCalls(
    _Inout_ PSQL_CALLS State
    );

//
// Takes a thread's next ordinary call that has ended as its row.  FALSE: there
// is none at hand.
//

BOOLEAN
SqlTakeEnded(
    _In_ const SQL_CALLS *State,
    _Inout_ PSQL_CALL_THREAD Thread
    );

//
// Finds a thread's next row.  STATUS_END_OF_FILE: it has none.
//

_Must_inspect_result_
NTSTATUS
SqlAdvanceThread(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread
    );

#endif // TRACER_SQL_CALL_THREAD_H

/*++

Module Name:

    ReaderWalk.h

Abstract:

    What the commands that look at single calls share: the events of all
    threads one after another, and the functions that a name means.

--*/

#ifndef TRACER_READER_WALK_H
#define TRACER_READER_WALK_H

#include "Reader.h"

//
// ReaderWalk.c
//

typedef struct _READER_WALK READER_WALK;
typedef READER_WALK *PREADER_WALK;

//
// Takes an event.  Its frame's Function is the index in the table of
// functions, also for frames that were open when the range began: for them
// there are events of the kind enter before all others, with IsBegunBefore
// set and the range's start as Timestamp.  The frame's Node is the routine's
// own.  What it fails with ends the thread.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_WALK_EVENT)(
    _Inout_ PREADER_WALK Walk,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsBegunBefore
    );
typedef READER_WALK_EVENT *PREADER_WALK_EVENT;

typedef struct _READER_WALK {
    PREADER_FUNCTIONS Functions;    // these up to Context are the caller's
    PCREADER_RANGE Range;
    PCREADER_OPTIONS Options;       // for --thread
    PREADER_WALK_EVENT Event;
    PREADER_VISIT_NODE Node;        // is given the walk as context
    PVOID Context;
    ULONG Thread;                   // index, that is being read
    BOOLEAN IsInCall;               // after the last event: the stack that ran
                                    // last has an open frame
    READER_TALLY Before;            // for what comes before the range
    READER_PROGRESS Progress;
    ULONGLONG NumberOfRecords;      // of the threads that have been read
} READER_WALK;

//
// Reads the threads that --thread selects, each to its end or to that of the
// range.  Returns READER_EXIT_*; failures have been written.
//

typedef
ULONG
(READER_WALK_THREADS)(
    _Inout_ PREADER_WALK Walk
    );
READER_WALK_THREADS ReaderWalkThreads;

//
// How many bytes a store's file has, header and records, and how many events
// it lacks.
//

typedef
VOID
(READER_QUERY_STORED_BYTES)(
    _In_ PCREADER_STORE Store,
    _Out_ PULONGLONG Bytes,
    _Out_ PULONGLONG Lost
    );
READER_QUERY_STORED_BYTES ReaderQueryStoredBytes;

//
// FALSE if --sort names a key that threads and modules have not; that has been
// written.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_CHECK_SORT_KEY)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_z_ PCSZ Command
    );
READER_CHECK_SORT_KEY ReaderCheckSortKey;

//
// ReaderFindByName.c
//

//
// What the commands' help says of FUNCTION.
//

#define READER_NAME_NOTE                                                    \
    "FUNCTION is a function's name as report shows it, with or without its\n" \
    "parameters and return type, or the beginning of one name alone.  Where\n" \
    "several modules have a function of that name, all are meant;\n"         \
    "MODULE!NAME means that of one, the module with or without its\n"        \
    "extension.  Exit code 3: there is no such function.\n"

typedef enum _READER_MATCH {
    ReaderMatchNone = 0,
    ReaderMatchPrefix,              // the function's name begins with it
    ReaderMatchBare,                // it is the name without its parameters
    ReaderMatchExact
} READER_MATCH;

#define READER_NUMBER_OF_MATCHES 3  // but none

typedef struct _READER_NAME {
    PREADER_FUNCTIONS Functions;
    PCSZ Command;                   // for messages
    PCSZ Text;                      // as it was given
    const CHAR *Module;             // its first ModuleLength bytes name the
    ULONG ModuleLength;             // module; 0: any module
    const CHAR *Name;
    ULONG NameLength;
} READER_NAME;
typedef READER_NAME *PREADER_NAME;
typedef const READER_NAME *PCREADER_NAME;

//
// Text is "name" or "module!name", the module with or without its extension
// and in any case.  It must stay.
//

typedef
VOID
(READER_INITIALIZE_NAME)(
    _Out_ PREADER_NAME Name,
    _In_ PREADER_FUNCTIONS Functions,
    _In_z_ PCSZ Command,
    _In_z_ PCSZ Text
    );
READER_INITIALIZE_NAME ReaderInitializeName;

typedef
READER_MATCH
(READER_MATCH_NAME)(
    _In_ PCREADER_NAME Name,
    _In_ ULONG Function
    );
READER_MATCH_NAME ReaderMatchName;

//
// Decides which functions a name means when all are known: those of that name;
// if there is none, those of the only one with parameters after it; else those
// of the only name that begins with it.  Only functions
// with IsSeen are looked at: which others there are depends on where an index
// made reading begin.  IsMeant is allocated, a byte for each function, and the
// caller's to free; the function is the first of them.  FALSE: ExitCode says
// how the command ends, and what is wrong has been written.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_RESOLVE_NAME)(
    _In_ PCREADER_NAME Name,
    _In_reads_(NumberSeen) const UCHAR *IsSeen,
    _In_ ULONG NumberSeen,
    _Outptr_ PUCHAR *IsMeant,
    _Out_ PULONG Function,
    _Out_ PULONG ExitCode
    );
READER_RESOLVE_NAME ReaderResolveName;

//
// Have two functions the same name?
//

typedef
BOOLEAN
(READER_ARE_NAMES_EQUAL)(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG First,
    _In_ ULONG Second
    );
READER_ARE_NAMES_EQUAL ReaderAreNamesEqual;

#endif // TRACER_READER_WALK_H

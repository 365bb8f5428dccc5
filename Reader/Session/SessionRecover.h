/*++

Module Name:

    SessionRecover.h

Abstract:

    One store is recovered.

--*/

#ifndef TRACER_SESSION_RECOVER_H
#define TRACER_SESSION_RECOVER_H

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Output/OutputTable.h"
#include "SessionCopy.h"
#include "SessionName.h"
#include "SessionTarget.h"

#define READER_RECOVER_BUFFER_SIZE 0x100000u

//
// A ring's records are in three parts of its file at most.
//

#define READER_RECOVER_MAXIMUM_PARTS 3u

//
// A part of a store's file, in which records lie one behind the other.
//

typedef struct _READER_RECOVER_PART {
    ULONGLONG Start;                // file offset
    ULONGLONG End;
} READER_RECOVER_PART;

//
// The store that is being recovered.
//

typedef struct _READER_RECOVER_STORE {
    PREADER_STORE Store;
    HANDLE Source;
    HANDLE Target;                  // NULL: records are only counted
    ULONGLONG FileSize;
    PCSZ Header;                    // what became of it, a literal
    READER_RECOVER_PART Parts[READER_RECOVER_MAXIMUM_PARTS];
    ULONG NumberOfParts;
    BOOLEAN IsEndKnown;             // the last part ends where records end
    BOOLEAN IsSound;                // the header and the end are good
    BOOLEAN IsLost;                 // nothing can be made of it
    BOOLEAN IsForeign;              // it is of another process
    BOOLEAN IsStart;                // of a compact store: the first position
                                    // whose record is raw is known
    READER_BLOCKS Blocks;           // of a compact store
    CORE_RECORD_CHECK Check;
    TRACE_RECORD Waiting[2];        // good by themselves, the time undecided
    ULONG NumberWaiting;
    ULONGLONG NumberOfHoles;        // unwritten, since the last good one
    ULONGLONG Records;              // good
    ULONGLONG Bad;
    ULONGLONG Missing;              // that the file does not have
    ULONGLONG Beyond;               // good, behind the end that was published
    ULONGLONG TargetSize;           // bytes, with those in the buffer
    ULONG Filled;                   // bytes of the buffer
    NTSTATUS WriteStatus;
    RTL_WRITER Result;
    CHAR Text[600];
} READER_RECOVER_STORE;
typedef READER_RECOVER_STORE *PREADER_RECOVER_STORE;

typedef struct _READER_RECOVER {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_TARGET Target;           // the new directory
    PUCHAR Input;
    PUCHAR Output;
    PCTRACE_STORE_HEADER Known;     // of the session's process, or NULL
    PTRACE_STORE_HEADER Own;        // as the file has it
    PTRACE_STORE_HEADER Header;     // as the copy gets it
    READER_RECOVER_STORE Store;
} READER_RECOVER;
typedef READER_RECOVER *PREADER_RECOVER;

//
// Copies a part of a file as it is, to the same place.
// Start, End: the part, file offsets.
// WriteStatus: what writing gave.
// Returns what reading gave; a file that ends sooner is no failure.
//

_Must_inspect_result_
NTSTATUS
SessionRecoverFile(
    _Inout_ PREADER_RECOVER Recover,
    _In_ HANDLE Source,
    _In_ HANDLE Target,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_ NTSTATUS *WriteStatus
    );

//
// Finds the process that most of the stores are of; in doubt, that of the
// first one.
// Recover: the recovery, whose Known is set.
//

VOID
SessionRecoverProcess(
    _Inout_ PREADER_RECOVER Recover
    );

//
// Recover: the recovery; its Store receives what came of it.
//

VOID
SessionRecoverStore(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PREADER_STORE Source
    );

#endif // TRACER_SESSION_RECOVER_H

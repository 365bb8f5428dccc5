/*++

Module Name:

    BaseRefusal.h

Abstract:

    Which processes no DLL can be loaded into from outside, and why.

--*/

#ifndef TRACER_BASE_REFUSAL_H
#define TRACER_BASE_REFUSAL_H

#include "../../Rtl/RtlTypes.h"

//
// What is known of who runs a process; of a token that cannot be read, nothing.
//

typedef struct _READER_PROCESS_USER {
    BOOLEAN IsKnown;
    BOOLEAN IsElevated;
    BOOLEAN IsContainer;            // in an AppContainer
    ULONG Integrity;                // the last part of its label's SID
    ULONG SidSize;                  // bytes
    UCHAR Sid[68];
} READER_PROCESS_USER;
typedef READER_PROCESS_USER *PREADER_PROCESS_USER;
typedef const READER_PROCESS_USER *PCREADER_PROCESS_USER;

//
// What is known of a process.
//

typedef struct _READER_PROCESS_FACTS {
    ULONG ProcessId;
    ULONG OwnProcessId;             // this program's
    NTSTATUS LookStatus;            // of opening it to look at it
    NTSTATUS OpenStatus;            // of opening it to load a DLL into it
    BOOLEAN IsEnding;               // or it has ended
    BOOLEAN Is32Bit;
    BOOLEAN IsSignedOnly;           // it loads what Microsoft has signed
    BOOLEAN IsStoreSignedOnly;      // or the Store
    BOOLEAN AreSessionsKnown;
    ULONG SessionId;                // of logons
    ULONG OwnSessionId;
    UCHAR Protection;               // PS_PROTECTION; 0: none, or not known
    READER_PROCESS_USER User;
    READER_PROCESS_USER OwnUser;
} READER_PROCESS_FACTS;
typedef READER_PROCESS_FACTS *PREADER_PROCESS_FACTS;
typedef const READER_PROCESS_FACTS *PCREADER_PROCESS_FACTS;

typedef struct _READER_REFUSAL {
    NTSTATUS Status;
    CHAR Text[160];                 // "it is ...", terminated
} READER_REFUSAL;
typedef READER_REFUSAL *PREADER_REFUSAL;

//
// Decides whether a DLL can be loaded into a process: TRUE if not, and why.
//

_Success_(return != FALSE)
BOOLEAN
BaseRefuseProcess(
    _In_ PCREADER_PROCESS_FACTS Facts,
    _Out_ PREADER_REFUSAL Refusal
    );

#endif // TRACER_BASE_REFUSAL_H

/*++

Module Name:

    CoreHeader.h

Abstract:

    Is a store's header valid, and what does it say? The core works on bytes
    that the caller has, calls nothing but the allocator that it is given, and
    builds on any platform with a C11 compiler.

--*/

#ifndef TRACER_CORE_HEADER_H
#define TRACER_CORE_HEADER_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

typedef enum _CORE_HEADER_STATE {
    CoreHeaderValid = 0,
    CoreHeaderBeingCreated,     // empty, or the magic is not there yet
    CoreHeaderTooShort,         // the file ends inside its header
    CoreHeaderForeign,          // the magic is another one: not a store
    CoreHeaderNewerVersion,     // of a major version that is not known here
    CoreHeaderBad               // a field cannot be what it is
} CORE_HEADER_STATE;

typedef struct _CORE_HEADER_RESULT {
    CORE_HEADER_STATE State;
    ULONG FileOffset;           // of the field that is bad
    PCSZ Field;                 // its name, a literal; "" when none
    PCSZ Problem;               // what is wrong with it, a literal; "" likewise
    ULONGLONG Value;            // what it holds
} CORE_HEADER_RESULT;
typedef CORE_HEADER_RESULT *PCORE_HEADER_RESULT;
typedef const CORE_HEADER_RESULT *PCCORE_HEADER_RESULT;

//
// The longest header that a minor version may have.
//

#define CORE_MAXIMUM_HEADER_SIZE 65536u

//
// Validates the first SizeInBytes bytes of a file (all of it if it is shorter
// than a header). Bytes is aligned on 8. TRUE if the state is valid. Decides
// whether bytes are the header of a store that this reader can read.
//
// Result: what they are, and which field is bad.
//

BOOLEAN
CoreValidateHeader(
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_ PCORE_HEADER_RESULT Result
    );

//
// The processor time that the system had counted for a thread when a store was
// made, and when the thread ended it, 100 ns.  FALSE if that is not known: the
// thread was killed or still runs, the store is of an older version, or the
// times are none.
// Header: a valid one.
//

BOOLEAN
CoreGetThreadTimes(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG Begin,
    _Out_ PULONGLONG End
    );

//
// When the thread of a store was created, 100 ns; 0: that is not known.
// Header: a valid one.
//

ULONGLONG
CoreGetThreadCreation(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// That which the process had used when a store ended, likewise.
//

BOOLEAN
CoreGetProcessTime(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG Time
    );

#endif // TRACER_CORE_HEADER_H

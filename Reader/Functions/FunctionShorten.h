/*++

Module Name:

    FunctionShorten.h

Abstract:

    The parts of a function's readable name.

--*/

#ifndef TRACER_FUNCTION_SHORTEN_H
#define TRACER_FUNCTION_SHORTEN_H

#include "../../Rtl/Rtl.h"

//
// Where a name has what.  In "int ns::f<int>(int) const" the qualified name is
// "ns::f<int>", and " const" is the tail.
//

typedef struct _READER_NAME_PARTS {
    ULONG Start;                    // of the qualified name
    ULONG End;                      // of it, where the parameters begin
    ULONG Tail;                     // where they end
} READER_NAME_PARTS;
typedef READER_NAME_PARTS *PREADER_NAME_PARTS;
typedef const READER_NAME_PARTS *PCREADER_NAME_PARTS;

//
// Finds where a C++ function's qualified name begins: how many bytes are a
// return type and the blank behind it, which readable names of templates'
// functions have ("int ns::f<int>(int)") and others have not.
//
// Name, LengthInBytes: the name as it is shown.
// Returns bytes to skip; 0 if there is no return type.
//

ULONG
FunctionSkipReturnType(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );

//
// Finds the parts of a name.  Without parameters, and in a name whose brackets
// are not in pairs, the qualified name goes on to the end, or to the remark in
// square brackets there (" [+2 folded]").  The time is in proportion to the
// length.
//

VOID
FunctionFindParts(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _Out_ PREADER_NAME_PARTS Parts
    );

#endif // TRACER_FUNCTION_SHORTEN_H

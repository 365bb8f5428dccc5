/*++

Module Name:

    FunctionShorten.h

Abstract:

    The parts of a function's readable name, and names that are short.

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

//
// Writes a name as people say it: without its return type, with std::string
// for std::basic_string<char, ...>, and <...> for the arguments of templates;
// and its parameters, with their qualifiers, if they are wanted.  A remark in
// square brackets at its end stays.  What is no C++ name, or has brackets that
// are not in pairs, is written as it is.  The time is in proportion to the
// length.
//
// Returns the number of bytes; 0: there is no room.
//

ULONG
FunctionShortenName(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ BOOLEAN HasParameters,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );

//
// Finds where the remark in square brackets at a name's end begins ("f [+2
// folded]"), with the blank before it.  Returns LengthInBytes if there is none.
//

ULONG
FunctionCutRemark(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );

//
// Says whether a function's name has its parameters at the end, as a C++
// function's has: behind them there are at most qualifiers of this and the
// compiler's suffixes. What is behind the last parenthesis of Map<void ()>, of
// (anonymous namespace)::Draw and of {lambda(int)#1} is part of the name, and
// the parentheses of operator() are.
//

BOOLEAN
FunctionHasParameters(
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes
    );

//
// Room for a short name, in either form: no sign becomes longer than "<a>".
//

#define READER_SHORT_NAME_SIZE(LengthInBytes) (2 * (LengthInBytes))

#endif // TRACER_FUNCTION_SHORTEN_H

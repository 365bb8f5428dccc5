/*++

Module Name:

    FunctionQualified.h

Abstract:

    What --function and --exclude say with a module: kernel32!Read, game.exe!.
    The module is meant with or without its extension, and case does not matter
    in either part, as in the lists of TRACER_IMPORTS.

--*/

#ifndef TRACER_FUNCTION_QUALIFIED_H
#define TRACER_FUNCTION_QUALIFIED_H

#include "Function.h"
#include "FunctionPattern.h"

typedef struct _READER_QUALIFIED *PREADER_QUALIFIED;

//
// Is a prefix or pattern one with a module?  The ! of an operator is none, and
// nor is one behind what no file's name has.
//

BOOLEAN
FunctionQualifiedIsItem(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Adds a prefix, or a pattern with asterisks; a list that is NULL is made.
// Problem, Position: as FunctionCreatePattern has them.
//

_Must_inspect_result_
NTSTATUS
FunctionQualifiedAdd(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_QUALIFIED *List,
    _In_ BOOLEAN IsExclude,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ READER_PATTERN_KIND Kind,
    _Out_ PCSZ *Problem,
    _Out_ PULONG Position
    );

//
// Makes a list ready that has everything.
//

_Must_inspect_result_
NTSTATUS
FunctionQualifiedBuild(
    _Inout_opt_ PREADER_QUALIFIED List
    );

VOID
FunctionQualifiedDestroy(
    _Inout_opt_ PREADER_QUALIFIED List
    );

//
// Does the list say anything of a function?  The longest prefix decides, but a
// pattern that excludes comes before it, and one that does not behind it.
// Without memory it says nothing.
// IsExcluded: what it says.
//

BOOLEAN
FunctionQualifiedAsk(
    _In_opt_ PREADER_QUALIFIED List,
    _In_ PCREADER_FUNCTION Function,
    _Out_ PBOOLEAN IsExcluded
    );

//
// Takes a name apart that may have a module before it, for a function: what is
// behind the !, if the module before it is the function's.  NULL: it is not, or
// there is none.
//

_Ret_maybenull_
const CHAR *
FunctionQualifiedSplit(
    _In_ PCREADER_FUNCTION Function,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// A function's name without its module, which an import's has.
// LengthInBytes: of all of the name; becomes that of the rest.
//

const CHAR *
FunctionQualifiedSkipModule(
    _In_ PCREADER_FUNCTION Function,
    _Inout_ PULONG LengthInBytes
    );

#endif // TRACER_FUNCTION_QUALIFIED_H

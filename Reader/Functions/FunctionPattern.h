/*++

Module Name:

    FunctionPattern.h

Abstract:

    Patterns of functions' names: *, ~text and /regular expressions/.

--*/

#ifndef TRACER_FUNCTION_PATTERN_H
#define TRACER_FUNCTION_PATTERN_H

#include "../../Rtl/Allocator.h"
#include "FunctionShorten.h"

//
// What the commands' help says of a pattern, once in each.
//

#define READER_PATTERN_NOTE                                                 \
    "A pattern is ~TEXT, names that contain TEXT; a name with *, for any\n"  \
    "characters; or /REGEX/, a regular expression that finds something\n"   \
    "in the name: . [a-z] [^a-z] \\d \\w \\s * + ? | ( ) ^ $, and \\ before\n" \
    "a sign that means itself.  * and REGEX take a name with and without\n"    \
    "its return type, and with and without its parameters.  A * that is the\n" \
    "name's own is no pattern's: behind operator, and in brackets behind a\n" \
    "type (Draw(int*)).  A shell needs quotes around patterns.\n"

#define READER_PATTERN_MAXIMUM 1024u    // bytes

typedef struct _READER_PATTERN *PREADER_PATTERN;
typedef const struct _READER_PATTERN *PCREADER_PATTERN;

//
// What a text is that chooses functions.
//

typedef enum _READER_PATTERN_KIND {
    ReaderPatternNone = 0,          // a name, or the beginning of names
    ReaderPatternPrefix,            // a name and *: the beginning of names
    ReaderPatternGlob,
    ReaderPatternText,
    ReaderPatternExpression
} READER_PATTERN_KIND;

//
// Of ReaderPatternPrefix, LengthInBytes becomes that of the name; it is 0 for
// all names.
//

READER_PATTERN_KIND
FunctionFindPatternKind(
    _In_reads_bytes_(*LengthInBytes) const CHAR *Text,
    _Inout_ PULONG LengthInBytes
    );

//
// Where an expression in a list ends, whose items commas separate: the index
// behind the / that a comma or the list's end follows, with or without blanks.
// Index: of the / that it begins with.
// Returns 0 if there is none.
//

ULONG
FunctionFindExpressionEnd(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index
    );

//
// Makes a pattern of one of the last three kinds.
//
//     STATUS_INVALID_PARAMETER: Problem, a literal, says what is wrong, and
//         Position where: the number of the character in Text, from 1
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
FunctionCreatePattern(
    _In_ PCALLOCATOR Allocator,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ READER_PATTERN_KIND Kind,
    _Outptr_ PREADER_PATTERN *Pattern,
    _Out_ PCSZ *Problem,
    _Out_ PULONG Position
    );

VOID
FunctionDestroyPattern(
    _Inout_opt_ PREADER_PATTERN Pattern
    );

//
// Is a name one of those that a pattern means?  The time is in proportion to
// the product of both lengths.  One thread at a time may use a pattern.
//

BOOLEAN
FunctionMatchPattern(
    _Inout_ PREADER_PATTERN Pattern,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_FUNCTION_PATTERN_H

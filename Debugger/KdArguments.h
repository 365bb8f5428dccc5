/*++

Module Name:

    KdArguments.h

Abstract:

    What was typed behind a command's name.

--*/

#ifndef TRACER_KD_ARGUMENTS_H
#define TRACER_KD_ARGUMENTS_H

#include "KdContext.h"

#define KD_MAXIMUM_ARGUMENTS        8u

typedef struct _KD_ARGUMENT {
    PCSZ Text;
    ULONG Length;                   // bytes
} KD_ARGUMENT;
typedef KD_ARGUMENT *PKD_ARGUMENT;
typedef const KD_ARGUMENT *PCKD_ARGUMENT;

typedef struct _KD_ARGUMENTS {
    ULONG Count;
    KD_ARGUMENT Items[KD_MAXIMUM_ARGUMENTS];    // that are no options
    ULONG Options;                  // bit 0: -a, bit 1: -b, ...
    KD_ARGUMENT Values[26];         // of those that take one
} KD_ARGUMENTS;
typedef KD_ARGUMENTS *PKD_ARGUMENTS;
typedef const KD_ARGUMENTS *PCKD_ARGUMENTS;

#define KD_OPTION(Letter) (1u << ((Letter) - 'a'))
#define KD_HAS_OPTION(Arguments, Letter) \
    (((Arguments)->Options & KD_OPTION(Letter)) != 0)

//
// Takes a text apart.  Known: the letters of options that the command has, and
// WithValue of those that take a value.  FALSE: the text is wrong, which was
// said.
//

_Success_(return != FALSE)
BOOLEAN
KdArgumentsParse(
    _Inout_ PKD_CONTEXT Context,
    _In_opt_z_ PCSTR Text,
    _In_ ULONG Known,
    _In_ ULONG WithValue,
    _In_ ULONG Most,
    _Out_ PKD_ARGUMENTS Arguments
    );

//
// Reads a number: as the debugger writes it, hexadecimal unless it begins with
// 0n, or, with IsDecimal, decimal unless it begins with 0x.
//

_Success_(return != FALSE)
BOOLEAN
KdArgumentsReadNumber(
    _In_ PCKD_ARGUMENT Argument,
    _In_ BOOLEAN IsDecimal,
    _Out_ PULONGLONG Number
    );

//
// Whether a name matches a pattern of letters, * and ?, whatever their case.
//

BOOLEAN
KdArgumentsMatch(
    _In_reads_bytes_(PatternLength) const CHAR *Pattern,
    _In_ ULONG PatternLength,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength
    );

#endif // TRACER_KD_ARGUMENTS_H

/*++

Module Name:

    FunctionFindByName.h

Abstract:

    The functions that a command's argument FUNCTION means.

--*/

#ifndef TRACER_FUNCTION_FIND_BY_NAME_H
#define TRACER_FUNCTION_FIND_BY_NAME_H

#include "Function.h"
#include "FunctionPattern.h"

//
// What the commands' help says of FUNCTION.
//

#define READER_NAME_NOTE                                                    \
    "FUNCTION is a function's name as report shows it, with or without its\n" \
    "parameters and return type, or the beginning of one name alone, or a\n" \
    "pattern that means one name alone; a name itself comes first.  It may\n" \
    "be as a terminal shows it: short, with <...>, or with an ellipsis in\n" \
    "its middle.  Where several modules have a function of that name, all\n" \
    "are meant; MODULE!NAME means that of one, the module with or without\n" \
    "its extension.  Imports always have their module, and may be in any\n"  \
    "case: kernel32!readfile.  Exit code 3: there is no such function.\n"    \
    READER_PATTERN_NOTE

typedef enum _READER_MATCH {
    ReaderMatchNone = 0,
    ReaderMatchPattern,             // the name is a pattern that means it
    ReaderMatchShort,               // it is the name as a terminal shows it
    ReaderMatchPrefix,              // the function's name begins with it
    ReaderMatchBare,                // it is the name without its parameters
    ReaderMatchExact,
    ReaderMatchImport               // an import's, with its module
} READER_MATCH;

#define READER_NUMBER_OF_MATCHES 6  // but none

typedef struct _READER_NAME {
    PREADER_FUNCTIONS Functions;
    PCSZ Command;                   // for messages
    PCSZ Text;                      // as it was given
    const CHAR *Module;             // its first ModuleLength bytes name the
    ULONG ModuleLength;             // module; 0: any module
    const CHAR *Name;
    ULONG NameLength;
    READER_PATTERN_KIND Kind;
    ULONG PrefixLength;             // of ReaderPatternPrefix
    PREADER_PATTERN Pattern;        // of those kinds that have one
} READER_NAME;
typedef READER_NAME *PREADER_NAME;
typedef const READER_NAME *PCREADER_NAME;

//
// Takes a name apart. What comes before an exclamation mark is a module only
// if there is such a module. Text is "name" or "module!name", the module with
// or without its extension and in any case. It must stay.
//
// Functions: the table of functions, with the session.
// Returns FALSE if it is no pattern although it should be one, or without
// memory, which has been written; the name may be run down all the same.
//

_Success_(return != FALSE)
BOOLEAN
FunctionInitializeName(
    _Out_ PREADER_NAME Name,
    _In_ PREADER_FUNCTIONS Functions,
    _In_z_ PCSZ Command,
    _In_z_ PCSZ Text
    );

VOID
FunctionRundownName(
    _Inout_ PREADER_NAME Name
    );

//
// Compares a function with a name.
// Function: the function's index.
// Returns how they match.
//

READER_MATCH
FunctionMatchName(
    _In_ PCREADER_NAME Name,
    _In_ ULONG Function
    );

//
// Decides which functions a name means when all are known: those of that name;
// if there is none, those of the only one with parameters after it; else those
// of the only name that begins with it, or that it is a pattern of.  Only
// functions with IsSeen are looked at: which others there are depends on where
// an index made reading begin.  IsMeant is allocated, a byte for each function,
// and the caller's to free; the function is the first of them.  FALSE: ExitCode
// says how the command ends, and what is wrong has been written.
//

_Success_(return != FALSE)
BOOLEAN
FunctionResolveName(
    _In_ PCREADER_NAME Name,
    _In_reads_(NumberSeen) const UCHAR *IsSeen,
    _In_ ULONG NumberSeen,
    _Outptr_ PUCHAR *IsMeant,
    _Out_ PULONG Function,
    _Out_ PULONG ExitCode
    );

//
// Says so if no function's name begins with a text, and one is near it.  The
// functions of the peer are looked at as well.
//

VOID
FunctionNoteNear(
    _In_ const READER_FUNCTIONS *Functions,
    _In_z_ PCSZ Text
    );

//
// Have two functions the same name?
//

BOOLEAN
FunctionAreNamesEqual(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG First,
    _In_ ULONG Second
    );

#endif // TRACER_FUNCTION_FIND_BY_NAME_H

/*++

Module Name:

    PenterWord.h

Abstract:

    Words and patterns of the settings, and what is noted of them.

--*/

#ifndef TRACER_PENTER_WORD_H
#define TRACER_PENTER_WORD_H

#include "PenterConfig.h"

//
// Whether this is TracerImports.dll, which sets it before the hooks are
// prepared: TRACER_MODULES, which is about the program's modules, has no say
// about it, and the lists of imports are its.
//

extern BOOLEAN PenterIsModuleOurs;

//
// The variables that TracerImports.dll reads in place of the process's own, as
// Rtl->Environment; NULL: it reads those.
//

extern PVOID PenterEnvironment;

//
// Whether the user has named this process, which ran already: TRACER_ENABLED
// and TRACER_EXECUTABLES have no say then.
//

extern BOOLEAN PenterIsProcessNamed;

//
// Where threads begin whose calls are none of the program's: those that
// TraceReader makes in the process; NULL: there are none.
//

extern PVOID PenterOwnRoutine;

//
// Notes something that happens to the settings.  Step and Consequence are
// literals; Consequence NULL: the default is used.  Those for which there is
// no room are counted.
//
// Config: the configuration.
// Step: a literal that says what was done.
// Object: what it was done to.
//

VOID
PenterAddError(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status,
    _In_opt_z_ PCSZ Consequence
    );

//
// Tells whether a text is a word, in either case.  Word is in capitals.
//

BOOLEAN
PenterIsWord(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Text,
    _In_z_ PCWSTR Word
    );

//
// Finds the next of the patterns that semicolons separate, without the blanks
// around it; empty ones are passed over.  FALSE when there are no more.
// Position: where to go on, in characters; is advanced.
//

BOOLEAN
PenterNextPattern(
    _In_ PCUNICODE_STRING Patterns,
    _Inout_ PULONG Position,
    _Out_ PUNICODE_STRING Pattern
    );

//
// Tells whether a pattern, with or without a '-' in front, is one that a file
// name can begin with.
//

BOOLEAN
PenterIsPattern(
    _In_ PCUNICODE_STRING Pattern
    );

//
// Makes a text's letters capitals, in place. Upcases a string in place, as
// file systems do to compare names.
//

VOID
PenterUpcase(
    _In_ PCRTL Rtl,
    _Inout_ PUNICODE_STRING String
    );

#endif // TRACER_PENTER_WORD_H

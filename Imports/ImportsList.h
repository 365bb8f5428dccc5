/*++

Module Name:

    ImportsList.h

Abstract:

    What is recorded, and what is not.

--*/

#ifndef TRACER_IMPORTS_LIST_H
#define TRACER_IMPORTS_LIST_H

#include "Imports.h"

//
// Reads TRACER_IMPORTS and TRACER_CALLERS.  FALSE if there is neither.
//

BOOLEAN
ImportsReadLists(
    VOID
    );

//
// Whether a module's imports are asked for; never this DLL's.
//

BOOLEAN
ImportsIsCaller(
    _In_ const IMPORTS_MODULE *Module
    );

//
// Whether an import is asked for.
//

IMPORTS_CHOICE
ImportsChoose(
    _In_ const IMPORTS_MODULE *Importer,
    _In_ const IMPORTS_MODULE *Exporter,
    _In_ PCIMPORTS_NAME Name
    );

//
// What is known of a function by its name alone: must it see its caller's
// frame, is it one of the trivial ones, may it have more arguments on the stack
// than a small stub has room for?
//

typedef struct _IMPORTS_TRAITS {
    BOOLEAN IsNever;
    BOOLEAN IsTrivial;
    BOOLEAN IsLarge;
} IMPORTS_TRAITS;
typedef IMPORTS_TRAITS *PIMPORTS_TRAITS;

VOID
ImportsQueryTraits(
    _In_ PCIMPORTS_NAME Name,
    _Out_ PIMPORTS_TRAITS Traits
    );

#endif // TRACER_IMPORTS_LIST_H

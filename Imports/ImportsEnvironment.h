/*++

Module Name:

    ImportsEnvironment.h

Abstract:

    The settings of this DLL, where they are not those of the process's
    environment alone.

--*/

#ifndef TRACER_IMPORTS_ENVIRONMENT_H
#define TRACER_IMPORTS_ENVIRONMENT_H

#include "Imports.h"

//
// Variables, "NAME=VALUE" with a null behind each: the first take the place of
// the process's own, the second are for those that it has not.
//

typedef struct _IMPORTS_SETTINGS {
    PCWSTR Text;
    ULONG FirstLength;              // 16-bit units
    ULONG SecondLength;
} IMPORTS_SETTINGS;
typedef IMPORTS_SETTINGS *PIMPORTS_SETTINGS;
typedef const IMPORTS_SETTINGS *PCIMPORTS_SETTINGS;

//
// Makes the environment that is read in place of the process's, as
// PenterEnvironment.
//

_Must_inspect_result_
NTSTATUS
ImportsMakeEnvironment(
    _In_ PCIMPORTS_SETTINGS Settings
    );

//
// The process's own is read again.
//

VOID
ImportsForgetEnvironment(
    VOID
    );

//
// Keeps settings for processes that this one starts: a copy of these, or, with
// NULL, of what this DLL reads now whose name begins with TRACER_, as second
// ones.  Without memory there are none.
//

VOID
ImportsKeepSettings(
    _In_opt_ PCIMPORTS_SETTINGS Settings
    );

//
// What was kept.
//

PCIMPORTS_SETTINGS
ImportsGetSettings(
    VOID
    );

#endif // TRACER_IMPORTS_ENVIRONMENT_H

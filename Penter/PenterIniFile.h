/*++

Module Name:

    PenterIniFile.h

Abstract:

    Which ini file there is, and what it says for a variable.

--*/

#ifndef TRACER_PENTER_INI_FILE_H
#define TRACER_PENTER_INI_FILE_H

#include "PenterConfig.h"

//
// The ini file's line for a variable, and the text; 0 if it says nothing.  The
// first call looks for the file and reads it, and uses Config->Scratch and
// Config->ModuleName.
//
// Text: the value, which lies in the configuration.
//

ULONG
PenterQueryIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Variable,
    _Out_ PUNICODE_STRING Text
    );

//
// Looks for the ini file and reads it.  Overwrites Config->Scratch and
// Config->ModuleName.
//

VOID
PenterFindIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    );

#endif // TRACER_PENTER_INI_FILE_H

/*++

Module Name:

    PenterIni.h

Abstract:

    What an ini file says.

--*/

#ifndef TRACER_PENTER_INI_H
#define TRACER_PENTER_INI_H

#include "PenterConfig.h"

//
// Takes what SizeInBytes of an ini file say.  Config->Ini.Path is its path.
// IsCap: whether it is a CAP.INI.
//

VOID
PenterParseIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_reads_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes,
    _In_ BOOLEAN IsCap
    );

//
// Notes something about the ini file, with its path and the line.
// PenterAddError for a line of the ini file (0: all of it) and, unless it is
// NULL, what is there.
//
// Config: the configuration.
// Step: a literal that says what was done.
// Consequence: a literal that says what happens now, or NULL for the default
// that is used.
//

VOID
PenterIniError(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ ULONG Line,
    _In_opt_ PCUNICODE_STRING Text,
    _In_ NTSTATUS Status,
    _In_opt_z_ PCSZ Consequence
    );

//
// The line for a variable, and the text, of the ini file that has been read; 0
// if it says nothing.
//

ULONG
PenterGetIniValue(
    _In_ const PENTER_CONFIG *Config,
    _In_z_ PCWSTR Variable,
    _Out_ PUNICODE_STRING Text
    );

#endif // TRACER_PENTER_INI_H

/*++

Module Name:

    ImportsBegin.h

Abstract:

    Recording begins: when the DLL is loaded, or when it is asked to.

--*/

#ifndef TRACER_IMPORTS_BEGIN_H
#define TRACER_IMPORTS_BEGIN_H

#include "Imports.h"

//
// Patches what is there, and follows what comes; the session and the lists are
// there.  IsStarting: no other thread can call a stub meanwhile.
// If it fails nothing of the program was changed.
//

_Must_inspect_result_
NTSTATUS
ImportsBegin(
    _In_ BOOLEAN IsStarting,
    _Out_ PRTL_ERROR Error
    );

//
// ImportsRequest.c: the routine of the thread that TraceReader makes in this
// process; Parameter: an IMPORTS_REQUEST.
//

__declspec(dllexport)
DWORD
WINAPI
ImportsRequest(
    _Inout_ PVOID Parameter
    );

#endif // TRACER_IMPORTS_BEGIN_H

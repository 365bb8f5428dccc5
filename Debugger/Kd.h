/*++

Module Name:

    Kd.h

Abstract:

    What TracerKd.dll exports: the three routines by which the debugger engine
    knows an extension, and a routine for each command.

--*/

#ifndef TRACER_KD_H
#define TRACER_KD_H

#include "KdApi.h"

__declspec(dllexport)
HRESULT
CALLBACK
DebugExtensionInitialize(
    _Out_ PULONG Version,
    _Out_ PULONG Flags
    );

__declspec(dllexport)
VOID
CALLBACK
DebugExtensionUninitialize(
    VOID
    );

__declspec(dllexport)
VOID
CALLBACK
DebugExtensionNotify(
    _In_ ULONG Notify,
    _In_ ULONGLONG Argument
    );

//
// A command: Client is an IDebugClient, Arguments what was typed behind the
// command's name.  S_OK, or what the engine is to say; the text is written
// already.
//

typedef
HRESULT
(CALLBACK KD_EXPORT)(
    _In_opt_ PKD_UNKNOWN Client,
    _In_opt_z_ PCSTR Arguments
    );

__declspec(dllexport) KD_EXPORT modulestats;
__declspec(dllexport) KD_EXPORT lastcalls;
__declspec(dllexport) KD_EXPORT calltree;
__declspec(dllexport) KD_EXPORT stack_usage;
__declspec(dllexport) KD_EXPORT tracer;
__declspec(dllexport) KD_EXPORT help;

#endif // TRACER_KD_H

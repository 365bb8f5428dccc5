/*++

Module Name:

    BaseInject.h

Abstract:

    A DLL is loaded by a program before it begins: TracerImports.dll.

--*/

#ifndef TRACER_BASE_INJECT_H
#define TRACER_BASE_INJECT_H

#include "BaseContainer.h"
#include "../../Rtl/Rtl.h"

#define READER_IMPORTS_DLL L"TracerImports.dll"

typedef struct _READER_LOAD {
    PCSZ Step;                      // what failed, a literal; NULL: nothing
    NTSTATUS Status;
    BOOLEAN IsRefused;              // such a program cannot have it at all
    HANDLE Event;                   // set when the DLL has done its work, or
                                    // NULL
} READER_LOAD;
typedef READER_LOAD *PREADER_LOAD;

//
// Finds the DLL beside this program.
// Path: RTL_MAXIMUM_PATH_IN_CHARS + 1; receives its path, terminated.
//

_Must_inspect_result_
NTSTATUS
BaseFindImportsDll(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _Out_writes_(RTL_MAXIMUM_PATH_IN_CHARS + 1) PWCHAR Path
    );

//
// Makes the first thread of a process, which has not run yet, load a DLL before
// it comes to the program.  Whatever fails, the process is as it was, and may
// run.
//

VOID
BaseInjectDll(
    _In_ PCRTL Rtl,
    _In_ HANDLE Process,
    _In_ ULONG ProcessId,
    _In_ HANDLE Thread,
    _In_z_ PCWSTR Path,
    _Out_ PREADER_LOAD Load
    );

#endif // TRACER_BASE_INJECT_H

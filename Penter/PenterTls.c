/*++

Module Name:

    PenterTls.c

Abstract:

    How the hooks learn that a thread ends or that their DLL is being unloaded:
    a callback in the image's TLS directory.

    The directory itself belongs to the C runtime.  MinGW's always has one;
    Microsoft's has one when _tls_used is referenced, which Penter.props sees
    to.  An image without one links and runs all the same: PenterHasTlsCallback
    then says no, and the hooks do without a worker in a DLL (it could not be
    told to leave) and without notice of thread ends.

--*/

#include "PenterPrivate.h"

static
VOID
NTAPI
PenterTlsCallback(
    PVOID ModuleBase,
    DWORD Reason,
    PVOID Reserved
    )
/*++

Routine Description:

    Called by the loader, under its lock, as a DllMain would be.

Arguments:

    ModuleBase - Supplies the image base.

    Reason - Supplies what happens.

    Reserved - Unlike DllMain's, NULL even when the process ends.

Return Value:

    None.

--*/
{
    UNREFERENCED_PARAMETER(ModuleBase);
    UNREFERENCED_PARAMETER(Reserved);

    if (Reason == DLL_PROCESS_ATTACH) {
        PenterModuleLoad();
    } else if (Reason == DLL_THREAD_ATTACH) {
        PenterThreadStart();
    } else if (Reason == DLL_THREAD_DETACH) {
        PenterThreadExit();
    } else if (Reason == DLL_PROCESS_DETACH) {
        if (PenterIsProcessEnding()) {
            PenterProcessExit();
        } else {
            PenterModuleUnload();
        }
    }
}

//
// The C runtimes gather the callbacks between .CRT$XLA and .CRT$XLZ.  Ours
// comes last, so that the program's own, which may be instrumented, come
// before a thread's store is closed.
//

#pragma section(".CRT$XLYZ", long, read)

extern const PIMAGE_TLS_CALLBACK PenterTlsCallbackEntry;
__declspec(allocate(".CRT$XLYZ"))
const PIMAGE_TLS_CALLBACK PenterTlsCallbackEntry = PenterTlsCallback;

_Use_decl_annotations_
BOOLEAN
PenterHasTlsCallback(
    PVOID ModuleBase
    )
/*++

Routine Description:

    Looks for our callback in the image's TLS directory.

Arguments:

    ModuleBase - Supplies the image base.

Return Value:

    TRUE if the loader will call it.

--*/
{
    PBYTE Base;
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_DATA_DIRECTORY Directory;
    PIMAGE_TLS_DIRECTORY64 Tls;
    PIMAGE_TLS_CALLBACK *Callback;

    Base = (PBYTE)ModuleBase;
    NtHeaders = (PIMAGE_NT_HEADERS64)
        (Base + ((PIMAGE_DOS_HEADER)Base)->e_lfanew);
    Directory = &NtHeaders->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_TLS];
    if (Directory->VirtualAddress == 0 || Directory->Size < sizeof(*Tls)) {
        return FALSE;
    }

    Tls = (PIMAGE_TLS_DIRECTORY64)(Base + Directory->VirtualAddress);
    Callback = (PIMAGE_TLS_CALLBACK *)(ULONG_PTR)Tls->AddressOfCallBacks;
    if (Callback == NULL) {
        return FALSE;
    }

    while (*Callback != NULL) {
        if (*Callback ==
            *(const PIMAGE_TLS_CALLBACK volatile *)&PenterTlsCallbackEntry) {

            return TRUE;
        }
        Callback += 1;
    }

    return FALSE;
}

/*++

Module Name:

    ImportsMain.c

Abstract:

    TracerImports.dll begins: when it is loaded the imports of all modules that
    are there are patched, and whoever waits for that is told.  Nothing of the
    program is changed before all that is needed is there.

    There is no C runtime, so the TLS directory, which the hooks have to have
    (PenterStart.c), is here.

--*/

#include "../Penter/PenterStart.h"
#include "../Penter/PenterWord.h"
#include "../TraceStore/TraceLog.h"
#include "../Rtl/RtlTeb.h"
#include "ImportsList.h"

#define IMPORTS_PIN 1               // LDR_ADDREF_DLL_PIN

//
// The hooks are prepared by their own callback, which comes after this one.
//

static
VOID
NTAPI
ImportsTlsCallback(
    PVOID ModuleBase,
    DWORD Reason,
    PVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(ModuleBase);
    UNREFERENCED_PARAMETER(Reserved);

    if (Reason == DLL_PROCESS_ATTACH) {
        PenterIsModuleOurs = TRUE;
    }
}

#pragma section(".CRT$XLA", long, read)
#pragma section(".CRT$XLB", long, read)
#pragma section(".CRT$XLZ", long, read)
#pragma section(".tls", long, read, write)

__declspec(allocate(".CRT$XLA"))
const PIMAGE_TLS_CALLBACK ImportsTlsFirst = NULL;
__declspec(allocate(".CRT$XLB"))
const PIMAGE_TLS_CALLBACK ImportsTlsOwn = ImportsTlsCallback;
__declspec(allocate(".CRT$XLZ"))
const PIMAGE_TLS_CALLBACK ImportsTlsLast = NULL;

__declspec(allocate(".tls"))
ULONGLONG ImportsTlsData = 0;

ULONG _tls_index;

extern const IMAGE_TLS_DIRECTORY64 _tls_used;
const IMAGE_TLS_DIRECTORY64 _tls_used = {
    (ULONG_PTR)&ImportsTlsData,
    (ULONG_PTR)(&ImportsTlsData + 1),
    (ULONG_PTR)&_tls_index,
    (ULONG_PTR)(&ImportsTlsFirst + 1),
    0,
    .Characteristics = 0
};

//
// Finds the routines that only this DLL needs.  GetProcAddress is the first of
// GetAddress that is there.
//

static
NTSTATUS
ImportsFindRoutines(
    VOID
    )
{
    static const PCSZ NtNames[] = {
        "LdrRegisterDllNotification", "LdrAddRefDll", "LdrResolveDelayLoadedAPI"
    };
    static const PCSZ BaseNames[] = {
        "GetProcAddress", "ResolveDelayLoadedAPI", "OpenEventW"
    };
    PVOID Found[RTL_NUMBER_OF(BaseNames)];
    PIMPORTS State = &ImportsState;
    HMODULE Module;

    RtlLoadSymbols(GetModuleHandleW(L"ntdll.dll"),
                   NtNames,
                   Found,
                   RTL_NUMBER_OF(NtNames),
                   NULL);
    State->Register = (IMPORTS_REGISTER *)(ULONG_PTR)Found[0];
    State->AddReference = (IMPORTS_ADD_REFERENCE *)(ULONG_PTR)Found[1];
    State->Resolve[2] = (IMPORTS_RESOLVE_DELAYED *)(ULONG_PTR)Found[2];

    RtlLoadSymbols(GetModuleHandleW(L"kernel32.dll"),
                   BaseNames,
                   Found,
                   RTL_NUMBER_OF(BaseNames),
                   NULL);
    State->GetAddress[0] = (IMPORTS_GET_ADDRESS *)(ULONG_PTR)Found[0];
    State->Resolve[0] = (IMPORTS_RESOLVE_DELAYED *)(ULONG_PTR)Found[1];
    State->OpenEvent = (IMPORTS_OPEN_EVENT *)(ULONG_PTR)Found[2];

    Module = GetModuleHandleW(L"kernelbase.dll");
    if (Module != NULL) {
        RtlLoadSymbols(Module, BaseNames, Found, 2, NULL);
        State->GetAddress[1] = (IMPORTS_GET_ADDRESS *)(ULONG_PTR)Found[0];
        State->Resolve[1] = (IMPORTS_RESOLVE_DELAYED *)(ULONG_PTR)Found[1];
    }

    State->OwnGetAddress = (PVOID)(ULONG_PTR)ImportsGetProcAddress;
    State->OwnResolve = (PVOID)(ULONG_PTR)ImportsResolveDelayed;
    return State->Register == NULL || State->AddReference == NULL ||
                   State->GetAddress[0] == NULL || State->OpenEvent == NULL
               ? STATUS_ENTRYPOINT_NOT_FOUND
               : STATUS_SUCCESS;
}

//
// Opens the event that TraceReader run has made, to tell it that the imports
// are patched.  NULL if it is not there.
//

_Ret_maybenull_
static
HANDLE
ImportsOpenEvent(
    VOID
    )
{
    RTL_WRITER Writer;
    ULONG Length;
    CHAR Text[64];
    WCHAR Name[64];

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "Local\\TracerImports-%u",
                 __readgsdword(TEB_PROCESS_ID));
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Name,
                  RTL_NUMBER_OF(Name) - 1,
                  &Length);
    Name[Length] = 0;
    return ImportsState.OpenEvent(EVENT_MODIFY_STATE, FALSE, Name);
}

//
// FALSE if nothing of the program was changed.
//

static
BOOLEAN
ImportsStart(
    VOID
    )
{
    PIMPORTS State = &ImportsState;
    RTL_ERROR Error;
    UNICODE_STRING Object;
    HANDLE Event;
    NTSTATUS Status;

    if (!NT_SUCCESS(RtlBootstrap(&State->Rtl, NULL)) ||
        !NT_SUCCESS(ImportsFindRoutines())) {

        return FALSE;
    }

    State->Session = PenterGetSession();
    if (State->Session == NULL || !ImportsReadLists()) {
        return FALSE;
    }

    State->Session->Template->Flags |= TRACE_FLAG_IMPORTS;
    Status = ImportsCreateFile(&Error);
    if (!NT_SUCCESS(Status)) {
        TraceLogError(State->Session, &Error, "no import is recorded");
        return FALSE;
    }

    //
    // From now on stubs may be called until the process ends.
    //

    Status = State->Register(0, ImportsNotify, NULL, &State->Cookie);
    if (!NT_SUCCESS(Status)) {
        RtlPointUnicodeString(&Object, NULL, 0);
        RtlSetError(&Error,
                    "following the modules that come and go",
                    &Object,
                    Status);
        TraceLogError(State->Session, &Error, "no import is recorded");
        return FALSE;
    }

    Event = ImportsOpenEvent();
    (VOID)State->AddReference(IMPORTS_PIN, &__ImageBase);
    if (ImportsAcquireLock()) {
        State->IsStarting = TRUE;
        ImportsRefreshModules();
        ImportsPatchModules();
        State->IsStarting = FALSE;
        ImportsReleaseLock();
    }

    if (Event != NULL) {
        State->Rtl.NtSetEvent(Event, NULL);
        RtlClose(&State->Rtl, Event);
    }

    return TRUE;
}

BOOL
WINAPI
ImportsMain(
    _In_ HINSTANCE Instance,
    _In_ DWORD Reason,
    _In_opt_ PVOID Reserved
    );

BOOL
WINAPI
ImportsMain(
    HINSTANCE Instance,
    DWORD Reason,
    PVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(Instance);
    UNREFERENCED_PARAMETER(Reserved);

    return Reason != DLL_PROCESS_ATTACH || ImportsStart();
}

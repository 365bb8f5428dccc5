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
#include "../Penter/PenterSwitch.h"
#include "../Penter/PenterWord.h"
#include "../TraceStore/TraceLog.h"
#include "../Rtl/RtlTeb.h"
#include "ImportsBegin.h"
#include "ImportsChild.h"
#include "ImportsList.h"

#define IMPORTS_THREAD_START 9      // ThreadQuerySetWin32StartAddress

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
        "LdrRegisterDllNotification", "LdrAddRefDll",
        "LdrResolveDelayLoadedAPI", "LdrUnregisterDllNotification",
        "LdrLockLoaderLock", "LdrUnlockLoaderLock", "NtSuspendThread",
        "NtGetContextThread"
    };
    static const PCSZ BaseNames[] = {
        "GetProcAddress", "ResolveDelayLoadedAPI", "OpenEventW",
        "LoadLibraryW", "GetEnvironmentStringsW", "FreeEnvironmentStringsW"
    };
    PVOID Found[RTL_NUMBER_OF(NtNames)];
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
    State->Unregister = (IMPORTS_UNREGISTER *)(ULONG_PTR)Found[3];
    State->LockLoader = (IMPORTS_LOCK_LOADER *)(ULONG_PTR)Found[4];
    State->UnlockLoader = (IMPORTS_UNLOCK_LOADER *)(ULONG_PTR)Found[5];
    State->Suspend = (IMPORTS_SUSPEND_THREAD *)(ULONG_PTR)Found[6];
    State->GetContext = (IMPORTS_GET_CONTEXT *)(ULONG_PTR)Found[7];

    RtlLoadSymbols(GetModuleHandleW(L"kernel32.dll"),
                   BaseNames,
                   Found,
                   RTL_NUMBER_OF(BaseNames),
                   NULL);
    State->GetAddress[0] = (IMPORTS_GET_ADDRESS *)(ULONG_PTR)Found[0];
    State->Resolve[0] = (IMPORTS_RESOLVE_DELAYED *)(ULONG_PTR)Found[1];
    State->OpenEvent = (IMPORTS_OPEN_EVENT *)(ULONG_PTR)Found[2];
    State->LoadRoutine = Found[3];
    State->GetEnvironment = (IMPORTS_GET_ENVIRONMENT *)(ULONG_PTR)Found[4];
    State->FreeEnvironment = (IMPORTS_FREE_ENVIRONMENT *)(ULONG_PTR)Found[5];

    Module = GetModuleHandleW(L"kernelbase.dll");
    if (Module != NULL) {
        RtlLoadSymbols(Module, BaseNames, Found, 2, NULL);
        State->GetAddress[1] = (IMPORTS_GET_ADDRESS *)(ULONG_PTR)Found[0];
        State->Resolve[1] = (IMPORTS_RESOLVE_DELAYED *)(ULONG_PTR)Found[1];
    }

    State->OwnGetAddress = (PVOID)(ULONG_PTR)ImportsGetProcAddress;
    State->OwnResolve = (PVOID)(ULONG_PTR)ImportsResolveDelayed;
    if (State->Register == NULL || State->AddReference == NULL ||
        State->GetAddress[0] == NULL || State->OpenEvent == NULL) {

        State->GetAddress[0] = NULL;
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    return STATUS_SUCCESS;
}

//
// Has a thread loaded this DLL that was made for that, from outside?  Then it
// begins when it gets a request (ImportsRequest.c), and until then nothing in
// the process is changed.
//

static
BOOLEAN
ImportsIsRequested(
    VOID
    )
{
    PVOID Start = NULL;

    return NT_SUCCESS(ImportsState.Rtl.NtQueryInformationThread(
               (HANDLE)-2,
               IMPORTS_THREAD_START,
               &Start,
               sizeof(Start),
               NULL)) &&
           Start != NULL && Start == ImportsState.LoadRoutine;
}

//
// What the process that has started this one wants of it.
//

static IMPORTS_SETTINGS ImportsInherited;
static BOOLEAN ImportsIsChild;

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
        PenterOwnRoutine = (PVOID)(ULONG_PTR)ImportsRequest;
        if (NT_SUCCESS(RtlBootstrap(&ImportsState.Rtl, NULL)) &&
            NT_SUCCESS(ImportsFindRoutines()) && ImportsIsRequested()) {

            PenterTurnOff();
        } else if (ImportsState.GetAddress[0] != NULL &&
                   ImportsState.GetEnvironment != NULL &&
                   ImportsState.FreeEnvironment != NULL &&
                   ImportsFindInherited(&ImportsInherited)) {
            ImportsIsChild = NT_SUCCESS(
                ImportsMakeEnvironment(&ImportsInherited));
        }
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
    HANDLE Event;

    if (State->GetAddress[0] == NULL) {
        return FALSE;
    }

    if (ImportsIsRequested()) {
        return TRUE;
    }

    State->Session = PenterGetSession();
    if (State->Session == NULL || !ImportsReadLists()) {
        return FALSE;
    }

    ImportsKeepSettings(ImportsIsChild ? &ImportsInherited : NULL);
    Event = ImportsOpenEvent();
    if (!NT_SUCCESS(ImportsBegin(TRUE, &Error))) {
        TraceLogError(State->Session, &Error, "no import is recorded");
        RtlClose(&State->Rtl, Event);
        return FALSE;
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

/*++

Module Name:

    ImportsOs.h

Abstract:

    ntdll.dll and kernel32.dll: what only this DLL needs.

--*/

#ifndef TRACER_IMPORTS_OS_H
#define TRACER_IMPORTS_OS_H

#include "../Rtl/RtlTypes.h"

typedef VOID (CALLBACK IMPORTS_NOTIFICATION)(
    _In_ ULONG Reason,
    _In_ PVOID Data,
    _In_opt_ PVOID Context
    );

typedef NTSTATUS (NTAPI IMPORTS_REGISTER)(
    _In_ ULONG Flags,
    _In_ IMPORTS_NOTIFICATION *Routine,
    _In_opt_ PVOID Context,
    _Out_ PVOID *Cookie
    );

typedef NTSTATUS (NTAPI IMPORTS_UNREGISTER)(
    _In_ PVOID Cookie
    );

typedef NTSTATUS (NTAPI IMPORTS_LOCK_LOADER)(
    _In_ ULONG Flags,
    _Out_opt_ PULONG Disposition,
    _Out_ PULONG_PTR Cookie
    );

typedef NTSTATUS (NTAPI IMPORTS_UNLOCK_LOADER)(
    _In_ ULONG Flags,
    _In_ ULONG_PTR Cookie
    );

typedef NTSTATUS (NTAPI IMPORTS_SUSPEND_THREAD)(
    _In_ HANDLE Thread,
    _Out_opt_ PULONG PreviousCount
    );

typedef NTSTATUS (NTAPI IMPORTS_GET_CONTEXT)(
    _In_ HANDLE Thread,
    _Inout_ PCONTEXT Context
    );

typedef PWSTR (WINAPI IMPORTS_GET_ENVIRONMENT)(
    VOID
    );

typedef BOOL (WINAPI IMPORTS_FREE_ENVIRONMENT)(
    _In_ PWSTR Strings
    );

typedef NTSTATUS (NTAPI IMPORTS_ADD_REFERENCE)(
    _In_ ULONG Flags,
    _In_ PVOID Base
    );

typedef PVOID (WINAPI IMPORTS_RESOLVE_DELAYED)(
    _In_ PVOID ParentBase,
    _In_ const VOID *Descriptor,
    _In_opt_ PVOID FailureDllHook,
    _In_opt_ PVOID FailureSystemHook,
    _Inout_ PVOID *Slot,
    _In_ ULONG Flags
    );

typedef FARPROC (WINAPI IMPORTS_GET_ADDRESS)(
    _In_ HMODULE Module,
    _In_ PCSZ Name
    );

typedef HANDLE (WINAPI IMPORTS_OPEN_EVENT)(
    _In_ DWORD Access,
    _In_ BOOL IsInherited,
    _In_z_ PCWSTR Name
    );

#endif // TRACER_IMPORTS_OS_H

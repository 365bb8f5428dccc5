/*++

Module Name:

    PenterPatch.c

Abstract:

    Makes the hooks of a module that is left out return at once: a return takes
    the place of the jump that each of them begins with.  This saves about a
    tenth of what a call with empty hooks costs.  Where code may not be changed,
    the jump stays and leads to a return.

    One byte is changed, by one store, so that a thread that runs through the
    hook at this moment executes either instruction.  The page keeps the right
    to be executed meanwhile; it becomes the process's own copy.

--*/

#include "PenterPatch.h"

#define PENTER_RETURN   0xC3            // ret
#define PENTER_PAGE     4096

//
// The list that PenterHook.inc makes is between these.
//

#pragma section(".rdata$PenterA", long, read)
#pragma section(".rdata$PenterZ", long, read)

extern const PBYTE PenterHooksBegin;
extern const PBYTE PenterHooksEnd;
__declspec(allocate(".rdata$PenterA")) const PBYTE PenterHooksBegin = NULL;
__declspec(allocate(".rdata$PenterZ")) const PBYTE PenterHooksEnd = NULL;

//
// Set by the thread that patches.  Another that came at the same time must not:
// it would find the page protected again in the middle of it.
//

static LONG volatile PenterPatched;

//
// Writes a return over the first byte of a hook.
// Returns STATUS_SUCCESS or NtProtectVirtualMemory's status:
// STATUS_DYNAMIC_CODE_BLOCKED where the process has forbidden it.
//

static
NTSTATUS
PenterPatchHook(
    _In_ PCRTL Rtl,
    _Inout_ BYTE volatile *Hook
    )
{
    NTSTATUS Status;
    PVOID Page;
    SIZE_T Size;
    ULONG Protection;
    ULONG Ignored;

    Page = (PVOID)((ULONG_PTR)Hook & ~(ULONG_PTR)(PENTER_PAGE - 1));
    Size = PENTER_PAGE;
    Status = Rtl->NtProtectVirtualMemory((HANDLE)-1,
                                         &Page,
                                         &Size,
                                         PAGE_EXECUTE_READWRITE,
                                         &Protection);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Hook = PENTER_RETURN;

    return Rtl->NtProtectVirtualMemory((HANDLE)-1,
                                       &Page,
                                       &Size,
                                       Protection,
                                       &Ignored);
}

_Use_decl_annotations_
NTSTATUS
PenterPatchHooks(
    PCRTL Rtl
    )
{
    NTSTATUS Status;
    PBYTE const volatile *Hook;

    if (InterlockedExchange(&PenterPatched, 1) != 0) {
        return STATUS_SUCCESS;
    }

    Status = STATUS_SUCCESS;
    for (Hook = &PenterHooksBegin; Hook < &PenterHooksEnd; Hook += 1) {
        if (*Hook != NULL) {
            Status = PenterPatchHook(Rtl, *Hook);
            if (!NT_SUCCESS(Status)) {
                break;
            }
        }
    }

    return Status;
}

_Use_decl_annotations_
BOOLEAN
PenterIsHook(
    const BYTE *Address
    )
{
    PBYTE const volatile *Hook;

    for (Hook = &PenterHooksBegin; Hook < &PenterHooksEnd; Hook += 1) {
        if (*Hook != NULL && *Hook == Address) {
            return TRUE;
        }
    }

    return FALSE;
}

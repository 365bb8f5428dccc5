/*++

Module Name:

    RtlBootstrap.c

Abstract:

    Fills the RTL structure.  This file holds the only two imports that Tracer
    links to: GetModuleHandleW and GetProcAddress of kernel32.dll.

--*/

#include "Rtl.h"
#include "RtlTeb.h"

//
// GetProcAddress, which does not look at what it does not take.
//

typedef FARPROC (WINAPI RTLP_GET_OWN_ADDRESS)(
    _In_ HMODULE Module,
    _In_ PCSZ Name,
    _In_ ULONGLONG Request,
    _In_ ULONGLONG NotRequest
    );

//
// The names to resolve, from the same lists as the structure's fields.
//

#define RTL_DECLARE_NAME(Type, Name) #Name,

static const PCSZ RtlpNtdllRequiredNames[] = {
    RTL_NTDLL_REQUIRED(RTL_DECLARE_NAME)
};

static const PCSZ RtlpNtdllOptionalNames[] = {
    RTL_NTDLL_OPTIONAL(RTL_DECLARE_NAME)
};

static const PCSZ RtlpKernel32RequiredNames[] = {
    RTL_KERNEL32_REQUIRED(RTL_DECLARE_NAME)
};

//
// The pointers of each list lie one after the other in the structure, so that
// a list is resolved into the structure as into an array.
//

C_ASSERT(FIELD_OFFSET(RTL, NtCreateFile) +
         sizeof(RtlpNtdllRequiredNames) ==
         FIELD_OFFSET(RTL, RtlDllShutdownInProgress));
C_ASSERT(FIELD_OFFSET(RTL, RtlDllShutdownInProgress) +
         sizeof(RtlpNtdllOptionalNames) ==
         FIELD_OFFSET(RTL, TlsAlloc));
C_ASSERT(FIELD_OFFSET(RTL, TlsAlloc) +
         sizeof(RtlpKernel32RequiredNames) ==
         sizeof(RTL));

_Use_decl_annotations_
ULONG
RtlLoadSymbols(
    HMODULE Module,
    const PCSZ *Names,
    PVOID *Pointers,
    ULONG NumberOfNames,
    PULONG FirstMissing
    )
/*++

Routine Description:

    Resolves exports of a module by name.

Arguments:

    Module - Supplies the module.

    Names - Supplies the names, in order.

    Pointers - Receives the addresses, in the same order; NULL for an export
        that is missing.

    NumberOfNames - Supplies the number of names.

    FirstMissing - Optionally receives the index of the first missing name.
        It is not written when none is missing.

Return Value:

    The number of names that are missing.

--*/
{
    ULONG Index;
    ULONG NumberOfMissing = 0;

    for (Index = 0; Index < NumberOfNames; Index++) {

        Pointers[Index] = (PVOID)(ULONG_PTR)
            ((RTLP_GET_OWN_ADDRESS *)(PVOID)(ULONG_PTR)GetProcAddress)(
                Module,
                Names[Index],
                RTL_OWN_REQUEST,
                ~RTL_OWN_REQUEST);

        if (Pointers[Index] == NULL) {
            if (NumberOfMissing == 0 && FirstMissing != NULL) {
                *FirstMissing = Index;
            }
            NumberOfMissing++;
        }
    }

    return NumberOfMissing;
}

_Use_decl_annotations_
NTSTATUS
RtlBootstrap(
    PRTL Rtl,
    PCSZ *MissingName
    )
/*++

Routine Description:

    Fills an RTL: the operating system's routines, the process heap and the
    processor's features.  Both DLLs are in every Win32 process already; none
    is loaded, so this is safe under the loader lock.

Arguments:

    Rtl - Receives the routines.  After a failure those that are missing are
        NULL.

    MissingName - Optionally receives, on failure, the name of the first DLL or
        export that is missing; otherwise NULL.

Return Value:

    STATUS_SUCCESS - All is there that has to be.

    STATUS_DLL_NOT_FOUND - ntdll.dll or kernel32.dll is not loaded.

    STATUS_ENTRYPOINT_NOT_FOUND - A required export is missing.

--*/
{
    HMODULE Module;
    PCSZ Missing = NULL;
    PBYTE Peb;
    ULONG FirstMissing = 0;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Rtl, sizeof(*Rtl));

    Rtl->SizeOfStruct = sizeof(*Rtl);

    //
    // What comes after something that is missing is resolved all the same: the
    // caller may have use for it to say so.
    //

    Module = GetModuleHandleW(L"ntdll.dll");
    if (Module == NULL) {
        Missing = "ntdll.dll";
        Status = STATUS_DLL_NOT_FOUND;
    } else {

        if (RtlLoadSymbols(Module,
                           RtlpNtdllRequiredNames,
                           (PVOID *)&Rtl->NtCreateFile,
                           RTL_NUMBER_OF(RtlpNtdllRequiredNames),
                           &FirstMissing) != 0) {
            Missing = RtlpNtdllRequiredNames[FirstMissing];
            Status = STATUS_ENTRYPOINT_NOT_FOUND;
        }

        //
        // An optional export that is missing leaves NULL, and that is all.
        //

        RtlLoadSymbols(Module,
                       RtlpNtdllOptionalNames,
                       (PVOID *)&Rtl->RtlDllShutdownInProgress,
                       RTL_NUMBER_OF(RtlpNtdllOptionalNames),
                       NULL);
    }

    Module = GetModuleHandleW(L"kernel32.dll");
    if (Module == NULL) {
        if (Missing == NULL) {
            Missing = "kernel32.dll";
            Status = STATUS_DLL_NOT_FOUND;
        }
    } else if (RtlLoadSymbols(Module,
                              RtlpKernel32RequiredNames,
                              (PVOID *)&Rtl->TlsAlloc,
                              RTL_NUMBER_OF(RtlpKernel32RequiredNames),
                              &FirstMissing) != 0) {
        if (Missing == NULL) {
            Missing = RtlpKernel32RequiredNames[FirstMissing];
            Status = STATUS_ENTRYPOINT_NOT_FOUND;
        }
    }

    Peb = (PBYTE)__readgsqword(TEB_PEB);
    Rtl->ProcessHeap = *(PVOID *)(Peb + PEB_PROCESS_HEAP);
    Rtl->CpuFeatures = RtlQueryCpuFeatures();

    if (MissingName != NULL) {
        *MissingName = Missing;
    }

    return Status;
}

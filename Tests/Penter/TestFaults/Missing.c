/*++

Module Name:

    Missing.c

Abstract:

    Exports, and whole DLLs, that are not there.

--*/

#include "TestFaults.h"

NTSTATUS
NTAPI
LdrGetProcedureAddress(
    PVOID Module,
    PVOID Name,
    ULONG Ordinal,
    PVOID *Address
    );

NTSTATUS
NTAPI
LdrGetDllHandle(
    PCWSTR Path,
    PVOID Unused,
    PUNICODE_STRING Name,
    PVOID *Module
    );

PCWSTR FaultMissingDll;
BOOLEAN FaultIsReady;

static
FARPROC
WINAPI
FaultGetProcAddress(
    HMODULE Module,
    LPCSTR Name
    )
{
    struct {
        USHORT Length;
        USHORT MaximumLength;
        PCSZ Buffer;
    } String;
    PVOID Address;

    String.Buffer = Name;
    String.Length = (USHORT)RtlLengthOfString(Name);
    String.MaximumLength = (USHORT)(String.Length + 1);
    Address = NULL;
    if (!NT_SUCCESS(LdrGetProcedureAddress(Module, &String, 0, &Address))) {
        Address = NULL;
    }
    if (FaultIsReady) {
        Address = FaultResolve(Name, Address);
    }
    return (FARPROC)(ULONG_PTR)Address;
}

static
HMODULE
WINAPI
FaultGetModuleHandleW(
    LPCWSTR Name
    )
{
    UNICODE_STRING String;
    PVOID Module;
    ULONG Length;

    Length = RtlLengthOfWideString(Name);
    if (FaultMissingDll != NULL &&
        RtlAreBytesEqual(Name, FaultMissingDll, (Length + 1) * sizeof(WCHAR))) {

        return NULL;
    }
    RtlPointUnicodeString(&String, Name, Length);
    if (!NT_SUCCESS(LdrGetDllHandle(NULL, NULL, &String, &Module))) {
        return NULL;
    }
    return (HMODULE)Module;
}

//
// The two imports of RtlBootstrap.c.  The linker finds these before those of
// the import library.
//

typedef FARPROC (WINAPI FAULT_GET_PROC_ADDRESS)(HMODULE Module, LPCSTR Name);
typedef HMODULE (WINAPI FAULT_GET_MODULE_HANDLE_W)(LPCWSTR Name);

extern FAULT_GET_PROC_ADDRESS *__imp_GetProcAddress;
extern FAULT_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW;
FAULT_GET_PROC_ADDRESS *__imp_GetProcAddress = FaultGetProcAddress;
FAULT_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW = FaultGetModuleHandleW;

//
// Exports, and whole DLLs, that are not there.
//

VOID
FaultTestMissing(
    VOID
    )
{
    FAULT Fault;
    ULONG Routine;
    BOOLEAN IsOptional;
    ULONG Index;

    static const PCWSTR Dlls[] = { L"ntdll.dll", L"kernel32.dll" };
    static const ULONG Optional[] = { RTL_NTDLL_OPTIONAL(FAULT_NUMBER) };

    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_MISSING;
        Fault.Error.Routine = Routine;
        FaultRunWell(&Fault, 0);

        IsOptional = FALSE;
        for (Index = 0; Index < RTL_NUMBER_OF(Optional); Index += 1) {
            IsOptional = IsOptional || Optional[Index] == Routine;
        }
        TEST(FaultFired != 0);
        TEST_EQUAL(FaultOutcome.IsOff, !IsOptional);
        if (IsOptional) {
            TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);
            TEST_EQUAL(FaultNumberOfReports,
                       Routine == FaultRtlAddVectoredExceptionHandler ? 2 : 1);
            TEST_EQUAL(FaultCalls[Routine], 0);
        } else {
            TEST_EQUAL(FaultOutcome.NumberOfStores, 0);
            if (Routine != FaultOutputDebugStringW &&
                (!TEST(FaultContains(FaultText,
                                     FaultTextLength,
                                     FaultNames[Routine])) ||
                 !TEST(FaultContains(FaultText,
                                     FaultTextLength,
                                     "resolving a system routine")))) {

                FaultPrintRun();
            }
        }
    }

    //
    // Without kernel32.dll there is nobody to tell; the program goes on.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Dlls); Index += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_MISSING;
        Fault.Error.Routine = FaultOutputDebugStringW;
        FaultMissingDll = Dlls[Index];
        Fault.Call = 0;
        FaultRunWell(&Fault, 0);
        FaultMissingDll = NULL;
        TEST(FaultOutcome.IsOff);
    }
}

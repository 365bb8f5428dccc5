/*++

Module Name:

    Bootstrap.c

Abstract:

    The exports that an RTL is made of, and those that are missing.

--*/

#include "TestRtl.h"

typedef struct _TEST_ANSI_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PCSZ Buffer;
} TEST_ANSI_STRING;

NTSTATUS
NTAPI
LdrGetProcedureAddress(
    PVOID Module,
    TEST_ANSI_STRING *Name,
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

//
// What is made to be missing; NULL for nothing.
//

static PCSZ TestMissingExport;
static PCWSTR TestMissingDll;

//
// Stands in for GetProcAddress.
// Returns the export, or NULL.
//

static
FARPROC
WINAPI
TestGetProcAddress(
    HMODULE Module,
    LPCSTR Name
    )
{
    TEST_ANSI_STRING String;
    PVOID Address = NULL;

    if (TestMissingExport != NULL &&
        RtlAreStringsEqual(Name, TestMissingExport)) {
        return NULL;
    }

    String.Buffer = Name;
    String.Length = (USHORT)RtlLengthOfString(Name);
    String.MaximumLength = (USHORT)(String.Length + 1);

    if (!NT_SUCCESS(LdrGetProcedureAddress(Module, &String, 0, &Address))) {
        return NULL;
    }

    return (FARPROC)(ULONG_PTR)Address;
}

//
// Stands in for GetModuleHandleW.
// Name: the module's name, not NULL.
// Returns the module, or NULL.
//

static
HMODULE
WINAPI
TestGetModuleHandleW(
    LPCWSTR Name
    )
{
    UNICODE_STRING String;
    PVOID Module = NULL;
    ULONG Length = RtlLengthOfWideString(Name);

    if (TestMissingDll != NULL &&
        RtlAreBytesEqual(Name,
                         TestMissingDll,
                         (Length + 1) * sizeof(WCHAR))) {
        return NULL;
    }

    RtlPointUnicodeString(&String, Name, Length);

    if (!NT_SUCCESS(LdrGetDllHandle(NULL, NULL, &String, &Module))) {
        return NULL;
    }

    return (HMODULE)Module;
}

//
// The linker finds these before those of the import library.
//

typedef FARPROC (WINAPI TEST_GET_PROC_ADDRESS)(HMODULE Module, LPCSTR Name);
typedef HMODULE (WINAPI TEST_GET_MODULE_HANDLE_W)(LPCWSTR Name);

extern TEST_GET_PROC_ADDRESS *__imp_GetProcAddress;
extern TEST_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW;
TEST_GET_PROC_ADDRESS *__imp_GetProcAddress = TestGetProcAddress;
TEST_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW = TestGetModuleHandleW;

_Use_decl_annotations_
PVOID
TestExport(
    PCWSTR Dll,
    PCSZ Name
    )
{
    HMODULE Module = TestGetModuleHandleW(Dll);

    if (Module == NULL) {
        return NULL;
    }

    return (PVOID)(ULONG_PTR)TestGetProcAddress(Module, Name);
}

//
// RtlBootstrap.c
//

#define TEST_NTDLL_FIELD(Type, Name)                                        \
    TEST(Rtl->Name != NULL);                                                \
    TEST_EQUAL(Rtl->Name, TestExport(L"ntdll.dll", #Name));

//
// Wine has not all of the optional ones.
//

#define TEST_NTDLL_OPTIONAL_FIELD(Type, Name)                               \
    TEST(Rtl->Name != NULL || TEST_IS_ABSENT(#Name));                       \
    TEST_EQUAL(Rtl->Name, TestExport(L"ntdll.dll", #Name));

#define TEST_IS_ABSENT(Name)                                                \
    RtlAreStringsEqual((Name), "RtlQueryElevationFlags")

#define TEST_KERNEL32_FIELD(Type, Name)                                     \
    TEST(Rtl->Name != NULL);                                                \
    TEST_EQUAL(Rtl->Name, TestExport(L"kernel32.dll", #Name));

//
// Bootstraps with something missing.
// Export: optionally supplies the export that is missing.
// Dll: optionally supplies the DLL that is missing.
// ExpectedStatus: the status that the bootstrap should give.
// ExpectedName: the name that it should give, or NULL.
//

static
VOID
TestMissing(
    _In_opt_ PCSZ Export,
    _In_opt_ PCWSTR Dll,
    _In_ NTSTATUS ExpectedStatus,
    _In_opt_ PCSZ ExpectedName
    )
{
    RTL Rtl;
    PCSZ Name = "untouched";
    NTSTATUS Status;
    NTSTATUS StatusWithoutName;

    TestMissingExport = Export;
    TestMissingDll = Dll;

    Status = RtlBootstrap(&Rtl, &Name);
    StatusWithoutName = RtlBootstrap(&Rtl, NULL);

    TestMissingExport = NULL;
    TestMissingDll = NULL;

    TEST_STATUS(Status, ExpectedStatus);
    TEST_STATUS(StatusWithoutName, ExpectedStatus);

    if (ExpectedName == NULL) {
        TEST(Name == NULL);
    } else {
        TEST_EQUAL_STRING(Name, ExpectedName);
    }
}

//
// Tests the bootstrap and the loading of symbols.
//

_Use_decl_annotations_
VOID
TestBootstrap(
    PCRTL Rtl
    )
{
    static const PCSZ Names[] = {
        "NtClose", "TracerHasNoSuchExport", "NtCreateFile", "NorThis"
    };

    PVOID Pointers[4];
    RTL Other;
    ULONG First;
    HMODULE Ntdll = TestGetModuleHandleW(L"ntdll.dll");

    TEST_EQUAL(Rtl->SizeOfStruct, sizeof(RTL));
    TEST_EQUAL(Rtl->ProcessHeap, GetProcessHeap());

    RTL_NTDLL_REQUIRED(TEST_NTDLL_FIELD)
    RTL_NTDLL_OPTIONAL(TEST_NTDLL_OPTIONAL_FIELD)
    RTL_KERNEL32_REQUIRED(TEST_KERNEL32_FIELD)

    //
    // The first and the last of each list, and whole DLLs.
    //

    TestMissing(NULL, NULL, STATUS_SUCCESS, NULL);
    TestMissing("NtCreateFile",
                NULL,
                STATUS_ENTRYPOINT_NOT_FOUND,
                "NtCreateFile");
    TestMissing("RtlQueryEnvironmentVariable_U",
                NULL,
                STATUS_ENTRYPOINT_NOT_FOUND,
                "RtlQueryEnvironmentVariable_U");
    TestMissing("TlsAlloc", NULL, STATUS_ENTRYPOINT_NOT_FOUND, "TlsAlloc");
    TestMissing("WriteFile", NULL, STATUS_ENTRYPOINT_NOT_FOUND, "WriteFile");
    TestMissing(NULL, L"ntdll.dll", STATUS_DLL_NOT_FOUND, "ntdll.dll");
    TestMissing(NULL, L"kernel32.dll", STATUS_DLL_NOT_FOUND, "kernel32.dll");

    //
    // A missing optional export is no failure.
    //

    TestMissingExport = "RtlDllShutdownInProgress";
    TEST_STATUS(RtlBootstrap(&Other, NULL), STATUS_SUCCESS);
    TestMissingExport = NULL;
    TEST(Other.RtlDllShutdownInProgress == NULL);
    TEST(Other.TlsAlloc != NULL);

    //
    // RtlLoadSymbols.
    //

    First = 99;
    RtlFillBytes(Pointers, sizeof(Pointers), 0xCC);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 4, &First), 2);
    TEST_EQUAL(First, 1);
    TEST_EQUAL(Pointers[0], Rtl->NtClose);
    TEST(Pointers[1] == NULL);
    TEST_EQUAL(Pointers[2], Rtl->NtCreateFile);
    TEST(Pointers[3] == NULL);

    First = 99;
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 1, &First), 0);
    TEST_EQUAL(First, 99);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 0, NULL), 0);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 4, NULL), 2);
}

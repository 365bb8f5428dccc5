/*++

Module Name:

    FakeDbgHelp.c

Abstract:

    DbgHelp, as there is none, one that lacks everything, and one that this
    program exports, which fails on demand.

--*/

#include "TestSymbols.h"
#include <dbghelp.h>

RTL TestRtlWithout;
RTL TestRtlEmpty;
RTL TestRtlFake;

_Use_decl_annotations_
HMODULE
WINAPI
TestLoadNothing(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    )
{
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Flags);
    return NULL;
}

_Use_decl_annotations_
HMODULE
WINAPI
TestLoadNtdll(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    )
{
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Flags);
    return GetModuleHandleW(L"ntdll.dll");
}

_Use_decl_annotations_
HMODULE
WINAPI
TestLoadItself(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    )
{
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Flags);
    return GetModuleHandleW(NULL);
}

_Use_decl_annotations_
BOOL
WINAPI
TestFreeNothing(
    HMODULE Module
    )
{
    UNREFERENCED_PARAMETER(Module);
    return TRUE;
}

#define TEST_FAKE_NONE          0
#define TEST_FAKE_INITIALIZE    1
#define TEST_FAKE_LOAD          2
#define TEST_FAKE_MODULE_INFO   3
#define TEST_FAKE_FROM_ADDRESS  4
#define TEST_FAKE_LINE          5
#define TEST_FAKE_ENUMERATE     6
#define TEST_FAKE_CLEANUP       7
#define TEST_FAKES              8

static ULONG TestFaultAt;
static ULONG TestFakeType;
static ULONG TestFakeTag;
static ULONG TestFakeStart;
static ULONGLONG TestFakeBase;
static ULONG TestFakeCalls[TEST_FAKES];

//
// Counts a call of a DbgHelp routine of ours, and faults in the chosen one.
// Call: which one it is, TEST_FAKE_*.
//

static
DECLSPEC_NOINLINE
VOID
TestFakeCall(
    ULONG Call
    )
{
    TestFakeCalls[Call] += 1;
    if (TestFaultAt == Call) {
        *(volatile ULONG *)(ULONG_PTR)8 = Call;
    }
}

#define TEST_EXPORT_FAKE(Name) \
    __pragma(comment(linker, "/export:" #Name "=TestFake" #Name))

TEST_EXPORT_FAKE(SymInitializeW)
TEST_EXPORT_FAKE(SymSetOptions)
TEST_EXPORT_FAKE(SymLoadModuleExW)
TEST_EXPORT_FAKE(SymFromAddrW)
TEST_EXPORT_FAKE(SymGetModuleInfoW64)
TEST_EXPORT_FAKE(SymUnloadModule64)
TEST_EXPORT_FAKE(SymCleanup)
TEST_EXPORT_FAKE(SymGetLineFromAddrW64)
TEST_EXPORT_FAKE(SymEnumSymbolsW)

BOOL WINAPI TestFakeSymInitializeW(HANDLE Process, PCWSTR Path, BOOL Invade);
BOOL WINAPI TestFakeSymInitializeW(HANDLE Process, PCWSTR Path, BOOL Invade)
{
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Path);
    TestFakeCall(TEST_FAKE_INITIALIZE);
    return !Invade;
}

DWORD WINAPI TestFakeSymSetOptions(DWORD Options);
DWORD WINAPI TestFakeSymSetOptions(DWORD Options)
{
    return Options;
}

DWORD64 WINAPI TestFakeSymLoadModuleExW(HANDLE Process, HANDLE File,
    PCWSTR Image, PCWSTR Module, DWORD64 Base, DWORD Size, PVOID Data,
    DWORD Flags);
DWORD64 WINAPI TestFakeSymLoadModuleExW(HANDLE Process, HANDLE File,
    PCWSTR Image, PCWSTR Module, DWORD64 Base, DWORD Size, PVOID Data,
    DWORD Flags)
{
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Image);
    UNREFERENCED_PARAMETER(Module);
    UNREFERENCED_PARAMETER(Size);
    UNREFERENCED_PARAMETER(Data);
    UNREFERENCED_PARAMETER(Flags);
    TestFakeBase = Base;
    TestFakeCall(TEST_FAKE_LOAD);
    return Base;
}

BOOL WINAPI TestFakeSymGetModuleInfoW64(HANDLE Process, DWORD64 Address,
    PIMAGEHLP_MODULEW64 Module);
BOOL WINAPI TestFakeSymGetModuleInfoW64(HANDLE Process, DWORD64 Address,
    PIMAGEHLP_MODULEW64 Module)
{
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Address);
    TestFakeCall(TEST_FAKE_MODULE_INFO);
    Module->SymType = (SYM_TYPE)TestFakeType;
    return TRUE;
}

BOOL WINAPI TestFakeSymFromAddrW(HANDLE Process, DWORD64 Address,
    PDWORD64 Displacement, PSYMBOL_INFOW Symbol);
BOOL WINAPI TestFakeSymFromAddrW(HANDLE Process, DWORD64 Address,
    PDWORD64 Displacement, PSYMBOL_INFOW Symbol)
{
    static const WCHAR Name[] = L"Fake\x1b\x9b\x20ac";
    ULONG Index;

    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Displacement);
    TestFakeCall(TEST_FAKE_FROM_ADDRESS);
    if (TestFakeStart == 0 || Address < TestFakeBase + TestFakeStart) {
        return FALSE;
    }
    for (Index = 0; Index < RTL_NUMBER_OF(Name); Index++) {
        Symbol->Name[Index] = Name[Index];
    }
    Symbol->Address = TestFakeBase + TestFakeStart;
    Symbol->Tag = TestFakeTag;
    return TRUE;
}

BOOL WINAPI TestFakeSymUnloadModule64(HANDLE Process, DWORD64 Base);
BOOL WINAPI TestFakeSymUnloadModule64(HANDLE Process, DWORD64 Base)
{
    UNREFERENCED_PARAMETER(Process);
    return Base == TestFakeBase;
}

BOOL WINAPI TestFakeSymCleanup(HANDLE Process);
BOOL WINAPI TestFakeSymCleanup(HANDLE Process)
{
    UNREFERENCED_PARAMETER(Process);
    TestFakeCall(TEST_FAKE_CLEANUP);
    return TRUE;
}

BOOL WINAPI TestFakeSymGetLineFromAddrW64(HANDLE Process, DWORD64 Address,
    PDWORD Displacement, PIMAGEHLP_LINEW64 Line);
BOOL WINAPI TestFakeSymGetLineFromAddrW64(HANDLE Process, DWORD64 Address,
    PDWORD Displacement, PIMAGEHLP_LINEW64 Line)
{
    static WCHAR Name[] = L"fake.c";

    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Address);
    UNREFERENCED_PARAMETER(Displacement);
    TestFakeCall(TEST_FAKE_LINE);
    Line->FileName = Name;
    Line->LineNumber = 77;
    return TRUE;
}

typedef BOOL (CALLBACK TEST_ENUMERATE)(PSYMBOL_INFOW, ULONG, PVOID);

BOOL WINAPI TestFakeSymEnumSymbolsW(HANDLE Process, ULONG64 Base, PCWSTR Mask,
    TEST_ENUMERATE *Callback, PVOID Context);
BOOL WINAPI TestFakeSymEnumSymbolsW(HANDLE Process, ULONG64 Base, PCWSTR Mask,
    TEST_ENUMERATE *Callback, PVOID Context)
{
    SYMBOL_INFOW Symbol;

    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Base);
    UNREFERENCED_PARAMETER(Mask);
    TestFakeCall(TEST_FAKE_ENUMERATE);
    RtlZeroBytes(&Symbol, sizeof(Symbol));
    Symbol.Tag = TestFakeTag;
    Callback(&Symbol, 0, Context);
    return TRUE;
}

//
// Lets the reader use a DbgHelp that answers and faults as it is told.
//

VOID
TestFakeDbgHelp(
    VOID
    )
{
    READER_SOURCE_LINE Line;
    PREADER_SYMBOLS Symbols;
    READER_SYMBOL Symbol;
    ULONG Calls;
    PCWSTR Path;
    ULONG Size;

    Path = TestPathInFolder(TestImageName);
    Size = TestMakeImage(TRUE);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestFillHeader(&TestHeader,
                   Path,
                   0x40000000,
                   TEST_IMAGE_SIZE,
                   TEST_TIME_DATE_STAMP,
                   TEST_CHECK_SUM);

    TestFaultAt = TEST_FAKE_NONE;
    TestFakeTag = 5;

    //
    // What is trusted: PDBs, and DWARF if a function is known.
    //

    TestFakeType = SymPdb;
    TEST(TestSourceIs(&TestRtlFake,
                      &TestHeader,
                      ReaderSymbolSourcePdb,
                      STATUS_SUCCESS));
    TEST(TestFakeBase == 0x40000000);
    TestFakeType = SymDia;
    TEST(TestSourceIs(&TestRtlFake,
                      &TestHeader,
                      ReaderSymbolSourceDwarf,
                      STATUS_SUCCESS));
    TestFakeTag = 10;
    TEST(TestSourceIs(&TestRtlFake,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));
    for (TestFakeType = 0; TestFakeType < 10; TestFakeType++) {
        if (TestFakeType != SymPdb && TestFakeType != SymDia) {
            TEST(TestSourceIs(&TestRtlFake,
                              &TestHeader,
                              ReaderSymbolSourceCoff,
                              STATUS_SUCCESS));
        }
    }

    //
    // Who wins: the nearer one; at one address DbgHelp, if it knows a function
    // there; DbgHelp never from another section.
    //

    TestFakeType = SymPdb;
    TestFakeTag = 5;
    TEST(NT_SUCCESS(SymbolCreateSymbols(&TestRtlFake,
                                        TestAllocator,
                                        &TestHeader,
                                        NULL,
                                        &Symbols,
                                        NULL)));
    TestFakeStart = 0x1018;
    TEST(TestFindsName(Symbols, 0x1017, 0x1010, "short"));
    TEST(TestFindsName(Symbols, 0x1018, 0x1018, "Fake???\xe2\x82\xac"));
    TEST(TestFindsName(Symbols, 0x101f, 0x1018, "Fake???\xe2\x82\xac"));
    TEST(TestFindsName(Symbols, 0x1020, 0x1020, "exactly8"));
    TestFakeStart = 0x1020;
    TEST(TestFindsName(Symbols, 0x1021, 0x1020, "Fake???\xe2\x82\xac"));
    TestFakeTag = 10;
    TEST(TestFindsName(Symbols, 0x1021, 0x1020, "exactly8"));
    TestFakeStart = 0x1004;
    TEST(TestFindsName(Symbols, 0x100f, 0x1004, "Fake???\xe2\x82\xac"));
    TEST(!SymbolFindSymbol(Symbols, 0x3002, &Symbol));
    TestFakeStart = 0;
    TEST(TestFindsName(Symbols, 0x1020, 0x1020, "exactly8"));
    TEST(SymbolFindSourceLine(Symbols, 0x1020, &Line));
    TEST(Line.LineNumber == 77 && RtlAreStringsEqual(Line.FileName, "fake.c"));

    //
    // An exception breaks the session: it is not called again, and the
    // image's own names remain.
    //

    TestFaultAt = TEST_FAKE_FROM_ADDRESS;
    TEST(TestFindsName(Symbols, 0x1020, 0x1020, "exactly8"));
    TestFaultAt = TEST_FAKE_NONE;
    Calls = TestFakeCalls[TEST_FAKE_FROM_ADDRESS];
    TEST(TestFindsName(Symbols, 0x1010, 0x1010, "short"));
    TEST(TestFakeCalls[TEST_FAKE_FROM_ADDRESS] == Calls);
    TEST(!SymbolFindSourceLine(Symbols, 0x1020, &Line));
    Calls = TestFakeCalls[TEST_FAKE_CLEANUP];
    SymbolDestroySymbols(Symbols);
    TEST(TestFakeCalls[TEST_FAKE_CLEANUP] == Calls);

    TEST(NT_SUCCESS(SymbolCreateSymbols(&TestRtlFake,
                                        TestAllocator,
                                        &TestHeader,
                                        NULL,
                                        &Symbols,
                                        NULL)));
    TestFaultAt = TEST_FAKE_LINE;
    TEST(!SymbolFindSourceLine(Symbols, 0x1020, &Line));
    TestFaultAt = TEST_FAKE_CLEANUP;
    SymbolDestroySymbols(Symbols);

    //
    // Exceptions while loading.
    //

    TestFakeType = SymDia;
    TestFakeTag = 5;
    for (TestFaultAt = TEST_FAKE_INITIALIZE;
         TestFaultAt <= TEST_FAKE_ENUMERATE;
         TestFaultAt++) {

        if (TestFaultAt == TEST_FAKE_FROM_ADDRESS ||
            TestFaultAt == TEST_FAKE_LINE) {
            continue;
        }
        TEST(NT_SUCCESS(SymbolCreateSymbols(&TestRtlFake,
                                            TestAllocator,
                                            &TestHeader,
                                            NULL,
                                            &Symbols,
                                            NULL)));
        TEST(SymbolGetSymbolSource(Symbols) == ReaderSymbolSourceCoff);
        TEST(TestFindsName(Symbols, 0x1021, 0x1020, "exactly8"));
        SymbolDestroySymbols(Symbols);
    }
    TestFaultAt = TEST_FAKE_NONE;
}

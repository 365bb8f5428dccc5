/*++

Module Name:

    TestSymbols.c

Abstract:

    Tests the reader's symbols: on this program's own image (whose function
    addresses the program knows), on the exports of kernel32 and ntdll
    (compared with GetProcAddress), on an image that is made here byte by byte,
    and on thousands of damaged versions of that image, each one placed against
    a page that faults.

    DbgHelp's faults are made on demand: this program exports routines with
    DbgHelp's names, and an RTL whose LoadLibraryExW gives out the program
    itself makes the reader call them.

    With arguments the program is a tool for TestSymbolsMingw.sh:

        TestSymbols --names IMAGE LIST [--no-dbghelp] [--symbols PATH]
            [--recorded PATH] [--raw]

    prints, for each hexadecimal RVA in the file LIST, "= RVA START NAME", and
    with --raw two lines more: "raw NAME", "folded NUMBER NAMES".  --recorded is
    where the image was when it was traced, if that is not where it is read.

        TestSymbols --readable LIST [--no-dbghelp]

    prints the readable text of each line of the file LIST.

--*/

#include "../../Rtl/Rtl.h"
#include "../../Reader/Symbols/Symbols.h"
#include "../../Reader/Symbols/SymbolUndecorate.h"
#include "Test.h"
#include <dbghelp.h>

#define TEST_IMAGE_CAPACITY 4096
#define TEST_PATH_IN_CHARS 1024
#define TEST_MAXIMUM_IMAGE_IN_BYTES (32 * 1024 * 1024)
#define TEST_LOOKUPS 10000
#define TEST_THIS_PROCESS ((HANDLE)(LONG_PTR)-1)

extern IMAGE_DOS_HEADER __ImageBase;

static PCRTL TestRtl;
static PCALLOCATOR TestAllocator;
static TRACE_STORE_HEADER TestHeader;
static UCHAR TestImage[TEST_IMAGE_CAPACITY];
static UCHAR TestScratch[TEST_IMAGE_CAPACITY];
static WCHAR TestPath[TEST_PATH_IN_CHARS];
static TEST_PATH TestFolder;
static TEST_PATH TestFilePath;
static WCHAR TestNtPathBuffer[TEST_PATH_IN_CHARS + 16];
static RTL_ERROR TestError;
static volatile ULONG TestSink;

//
// Functions with known addresses.  Their bodies differ, so that no linker
// folds them into one.
//

static DECLSPEC_NOINLINE ULONG TestStaticAlpha(ULONG Value)
{
    TestSink += Value * 3;
    return TestSink ^ 0x1111;
}

enum { TestAlphaLine = __LINE__ - 5 };

DECLSPEC_NOINLINE ULONG TestExternalBeta(ULONG Value);
DECLSPEC_NOINLINE ULONG TestExternalBeta(ULONG Value)
{
    TestSink -= Value * 5;
    return TestSink ^ 0x2222;
}

static DECLSPEC_NOINLINE ULONG TestStaticGamma(ULONG Value)
{
    TestSink ^= Value * 7;
    return TestStaticAlpha(TestSink) + 9;
}

typedef ULONG (TEST_FUNCTION)(ULONG Value);
typedef TEST_FUNCTION *PTEST_FUNCTION;

typedef struct _TEST_KNOWN_FUNCTION {
    PTEST_FUNCTION Function;
    PCSZ Name;
} TEST_KNOWN_FUNCTION;

static const TEST_KNOWN_FUNCTION TestKnownFunctions[] = {
    { TestStaticAlpha, "TestStaticAlpha" },
    { TestExternalBeta, "TestExternalBeta" },
    { TestStaticGamma, "TestStaticGamma" }
};

//
// An allocator that counts, and that fails from the given call on.
//

typedef struct _TEST_COUNTER {
    LONG Outstanding;
    ULONG Calls;
    ULONG FailAt;                   // number of the call; 0: never
} TEST_COUNTER;
typedef TEST_COUNTER *PTEST_COUNTER;

//
// Allocates, counts, and fails when it is told to.
// Returns the memory, zeroed, or NULL.
//

static
PVOID
TestCountAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    PTEST_COUNTER Counter;
    PVOID Address;

    Counter = Context;
    Counter->Calls += 1;
    if (Counter->FailAt != 0 && Counter->Calls >= Counter->FailAt) {
        return NULL;
    }

    Address = TestAllocator->Allocate(TestAllocator->Context, SizeInBytes);
    if (Address != NULL) {
        Counter->Outstanding += 1;
    }
    return Address;
}

//
// Address: the memory, or NULL.
//

static
VOID
TestCountFree(
    PVOID Context,
    PVOID Address
    )
{
    PTEST_COUNTER Counter;

    Counter = Context;
    if (Address != NULL) {
        Counter->Outstanding -= 1;
    }
    TestAllocator->Free(TestAllocator->Context, Address);
}

static TEST_COUNTER TestCounter;
static const ALLOCATOR TestCountingAllocator = {
    &TestCounter,
    TestCountAllocate,
    TestCountFree
};

//
// RTLs without DbgHelp, with a DbgHelp that lacks everything, and with the
// DbgHelp below.
//

static RTL TestRtlWithout;
static RTL TestRtlEmpty;
static RTL TestRtlFake;

//
// Stands in for LoadLibraryExW: there is no DbgHelp.
// Returns NULL.
//

static
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

//
// Stands in for LoadLibraryExW: gives a DLL that has none of DbgHelp's
// routines.
// FileName, File, Flags: what is not used.
// Returns ntdll's handle.
//

static
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

//
// Stands in for LoadLibraryExW: gives this program, which exports routines
// with DbgHelp's names.
// FileName, File, Flags: what is not used.
// Returns this program's handle.
//

static
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

//
// Stands in for FreeLibrary, for handles that were not counted.
// Module: what is not used.
// Returns TRUE.
//

static
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
// Little-endian fields.
//

//
// Writes a little-endian 16-bit number.
// Bytes: where it goes.
//

static
VOID
TestPutUshort(
    PUCHAR Bytes,
    ULONG Value
    )
{
    Bytes[0] = (UCHAR)Value;
    Bytes[1] = (UCHAR)(Value >> 8);
}

//
// Writes a little-endian 32-bit number.
// Bytes: where it goes.
//

static
VOID
TestPutUlong(
    PUCHAR Bytes,
    ULONG Value
    )
{
    TestPutUshort(Bytes, Value);
    TestPutUshort(Bytes + 2, Value >> 16);
}

//
// Reads a little-endian 32-bit number.
// Bytes: its first byte.
//

static
ULONG
TestGetUlong(
    const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}

//
// Makes a store's header that names a module.
// Path: the image's path, terminated.
// Base, Size: where the module was, and its size in bytes.
// TimeDateStamp, CheckSum: its identity.
//

static
VOID
TestFillHeader(
    PTRACE_STORE_HEADER Header,
    PCWSTR Path,
    ULONGLONG Base,
    ULONG Size,
    ULONG TimeDateStamp,
    ULONG CheckSum
    )
{
    ULONG Length;

    RtlZeroBytes(Header, sizeof(*Header));
    Header->Magic = TRACE_STORE_MAGIC;
    Header->ModuleBase = Base;
    Header->ModuleSize = Size;
    Header->ModuleTimeDateStamp = TimeDateStamp;
    Header->ModuleCheckSum = CheckSum;
    Header->ModulePathFullLength = RtlWideToUtf8(Path,
                                                 RtlLengthOfWideString(Path),
                                                 Header->ModulePath,
                                                 sizeof(Header->ModulePath),
                                                 &Length);
    Header->ModulePathLength = Length;
}

//
// Makes a store's header that names a loaded module; its path is in TestPath
// afterwards.
// Returns FALSE if its path cannot be had.
//

static
BOOLEAN
TestFillHeaderOfModule(
    PTRACE_STORE_HEADER Header,
    HMODULE Module
    )
{
    const UCHAR *Base;
    const UCHAR *Nt;

    if (TestRtl->GetModuleFileNameW(Module,
                                    TestPath,
                                    TEST_PATH_IN_CHARS) == 0) {
        return FALSE;
    }

    Base = (const UCHAR *)Module;
    Nt = Base + TestGetUlong(Base + 60);
    TestFillHeader(Header,
                   TestPath,
                   (ULONGLONG)(ULONG_PTR)Base,
                   TestGetUlong(Nt + 24 + 56),
                   TestGetUlong(Nt + 8),
                   TestGetUlong(Nt + 24 + 64));
    return TRUE;
}

//
// Finds the characteristics of the section of a loaded module that holds an
// RVA. This uses the Windows headers' structures, not the code under test.
// Rva: the address.
// Returns the flags, or 0 if it is in no section.
//

static
ULONG
TestSectionFlags(
    HMODULE Module,
    ULONG Rva
    )
{
    PIMAGE_NT_HEADERS64 Nt;
    PIMAGE_SECTION_HEADER Section;
    ULONG Index;

    Nt = (PVOID)((PUCHAR)Module + ((PIMAGE_DOS_HEADER)Module)->e_lfanew);
    Section = IMAGE_FIRST_SECTION(Nt);
    for (Index = 0; Index < Nt->FileHeader.NumberOfSections; Index++) {
        if (Rva >= Section[Index].VirtualAddress &&
            Rva - Section[Index].VirtualAddress <
                Section[Index].Misc.VirtualSize) {
            return Section[Index].Characteristics;
        }
    }
    return 0;
}

//
// Opens a file for reading, or creates it anew.
// Path: its DOS path, terminated.
// Create: whether to create it.
// File: where the handle goes.
// Returns the status of what failed, or STATUS_SUCCESS.
//

static
NTSTATUS
TestOpen(
    PCWSTR Path,
    BOOLEAN Create,
    PHANDLE File
    )
{
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    NTSTATUS Status;

    RtlPointUnicodeString(&Dos, Path, RtlLengthOfWideString(Path));
    Status = RtlDosPathToNtPath(TestRtl,
                                &Dos,
                                TestNtPathBuffer,
                                RTL_NUMBER_OF(TestNtPathBuffer),
                                &Nt);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Create) {
        return RtlCreateFile(TestRtl, &Nt, RTL_CREATE_ALWAYS, File);
    }
    return RtlOpenFileForReading(TestRtl, &Nt, File);
}

//
// Makes the absolute DOS path of a file in this run's folder.
// Returns the path, terminated; good until the next call.
//

static
PCWSTR
TestPathInFolder(
    PCWSTR Name
    )
{
    TEST(TestMakePathIn(&TestFilePath, &TestFolder, Name));
    return TestDosPath(&TestFilePath);
}

//
// Path: its DOS path, terminated.
// Bytes, SizeInBytes: what is in it.
// Returns the status of what failed, or STATUS_SUCCESS.
//

static
NTSTATUS
TestWriteWholeFile(
    PCWSTR Path,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    HANDLE File;
    NTSTATUS Status;

    Status = TestOpen(Path, TRUE, &File);
    if (NT_SUCCESS(Status)) {
        if (SizeInBytes != 0) {
            Status = RtlWriteFile(TestRtl, File, 0, Bytes, SizeInBytes);
        }
        RtlClose(TestRtl, File);
    }
    return Status;
}

//
// Path: its DOS path, terminated.
// SizeInBytes: where its size goes.
// Returns the bytes, to be freed, or NULL.
//

static
PUCHAR
TestReadWholeFile(
    PCWSTR Path,
    PULONG SizeInBytes
    )
{
    PUCHAR Bytes;
    HANDLE File;
    ULONG Read;
    ULONGLONG Size;
    NTSTATUS Status;

    *SizeInBytes = 0;
    Bytes = NULL;

    if (!NT_SUCCESS(TestOpen(Path, FALSE, &File))) {
        return NULL;
    }

    Status = RtlQueryFileSize(TestRtl, File, &Size);
    if (NT_SUCCESS(Status) && Size <= TEST_MAXIMUM_IMAGE_IN_BYTES) {
        Bytes = TestAllocator->Allocate(TestAllocator->Context,
                                        (SIZE_T)Size + 1);
        while (Bytes != NULL && *SizeInBytes < Size) {
            Status = RtlReadFile(TestRtl,
                                 File,
                                 *SizeInBytes,
                                 Bytes + *SizeInBytes,
                                 (ULONG)Size - *SizeInBytes,
                                 &Read);
            if (!NT_SUCCESS(Status) || Read == 0) {
                TestAllocator->Free(TestAllocator->Context, Bytes);
                Bytes = NULL;
            } else {
                *SizeInBytes += Read;
            }
        }
    }

    RtlClose(TestRtl, File);
    return Bytes;
}

//
// Says whether the reader finds a certain function.
// Rva: the address to ask for.
// StartRva, Name: what should be found.
// Returns TRUE if that is found.
//

static
BOOLEAN
TestFindsName(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    ULONG StartRva,
    PCSZ Name
    )
{
    READER_SYMBOL Symbol;

    return (BOOLEAN)(SymbolFindSymbol(Symbols, Rva, &Symbol) &&
                     Symbol.StartRva == StartRva &&
                     Symbol.LengthInBytes == RtlLengthOfString(Name) &&
                     RtlAreStringsEqual(Symbol.Name, Name));
}

//
// Says whether an image's tables have a certain function.
// Rva: the address to ask for.
// StartRva, Name: what should be found.
// Returns TRUE if that is found.
//

static
BOOLEAN
TestCoffFinds(
    PCREADER_COFF Coff,
    ULONG Rva,
    ULONG StartRva,
    PCSZ Name
    )
{
    ULONG FoundStart;
    ULONG Length;
    PCSZ Found;

    return (BOOLEAN)(ImageFindCoffSymbol(Coff,
                                         Rva,
                                         &FoundStart,
                                         &Found,
                                         &Length) &&
                     FoundStart == StartRva &&
                     Length == RtlLengthOfString(Name) &&
                     RtlAreStringsEqual(Found, Name));
}

//
// Says whether an image's tables have no function at an address.
// Rva: the address to ask for.
// Returns TRUE if nothing is found.
//

static
BOOLEAN
TestCoffFindsNothing(
    PCREADER_COFF Coff,
    ULONG Rva
    )
{
    ULONG Start;
    ULONG Length;
    PCSZ Name;

    return (BOOLEAN)!ImageFindCoffSymbol(Coff, Rva, &Start, &Name, &Length);
}

//
// Gives the RVA of a function of this program.
//

static
ULONG
TestRvaOf(
    PTEST_FUNCTION Function
    )
{
    return (ULONG)((ULONG_PTR)Function - (ULONG_PTR)&__ImageBase);
}

//
// Says whether this program's PDB is where its image is.
// Returns TRUE if it is; its path is then in TestPath.
//

static
BOOLEAN
TestHasOwnPdb(
    VOID
    )
{
    ULONG Length;
    HANDLE File;

    Length = TestRtl->GetModuleFileNameW(NULL, TestPath, TEST_PATH_IN_CHARS);
    if (Length < 4) {
        return FALSE;
    }
    TestPath[Length - 3] = L'p';
    TestPath[Length - 2] = L'd';
    TestPath[Length - 1] = L'b';
    if (!NT_SUCCESS(TestOpen(TestPath, FALSE, &File))) {
        return FALSE;
    }
    RtlClose(TestRtl, File);
    return TRUE;
}

//
// Looks for functions of this program in its PDB.
//

static
VOID
TestOwnImage(
    VOID
    )
{
    READER_SOURCE_LINE Line;
    PREADER_SYMBOLS Other;
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;
    ULONG Index;
    ULONG Rva;
    ULONG Value;

    if (!TestHasOwnPdb()) {
        TEST_SKIP("this program's PDB is not beside it");
        return;
    }

    TEST(TestFillHeaderOfModule(&TestHeader, GetModuleHandleW(NULL)));
    TEST(NT_SUCCESS(SymbolCreateSymbols(TestRtl,
                                        TestAllocator,
                                        &TestHeader,
                                        &Symbols,
                                        &TestError)));
    TEST(SymbolGetSymbolSource(Symbols) == ReaderSymbolSourcePdb);
    TEST(NT_SUCCESS(TestError.Status));

    Value = 0;
    for (Index = 0; Index < RTL_NUMBER_OF(TestKnownFunctions); Index++) {
        Rva = TestRvaOf(TestKnownFunctions[Index].Function);
        Value += TestKnownFunctions[Index].Function(Index);
        TEST(TestFindsName(Symbols,
                           Rva,
                           Rva,
                           TestKnownFunctions[Index].Name));
        TEST(TestFindsName(Symbols,
                           Rva + 7,
                           Rva,
                           TestKnownFunctions[Index].Name));
    }
    TestSink = Value;

    //
    // A name that was given out stays while others are asked for.
    //

    Rva = TestRvaOf(TestStaticAlpha);
    TEST(SymbolFindSymbol(Symbols, Rva, &Symbol));
    for (Index = 0; Index < 5000; Index++) {
        READER_SYMBOL Ignored;
        SymbolFindSymbol(Symbols, Rva + Index, &Ignored);
    }
    TEST(RtlAreStringsEqual(Symbol.Name, "TestStaticAlpha"));

    TEST(SymbolFindSourceLine(Symbols, Rva, &Line));
    TEST(Line.LineNumber >= TestAlphaLine - 1 &&
         Line.LineNumber <= TestAlphaLine + 3);
    TEST(Line.LengthInBytes == RtlLengthOfString(Line.FileName));
    TEST(Line.LengthInBytes > 13 &&
         RtlAreStringsEqual(Line.FileName + Line.LengthInBytes - 13,
                            "TestSymbols.c"));

    //
    // What is no code has no function, however near one is.
    //

    TEST(!SymbolFindSymbol(Symbols, 0, &Symbol));
    TEST(!SymbolFindSymbol(
        Symbols,
        (ULONG)((ULONG_PTR)TestKnownFunctions - (ULONG_PTR)&__ImageBase),
        &Symbol));
    TEST(!SymbolFindSymbol(
        Symbols,
        (ULONG)((ULONG_PTR)&TestSink - (ULONG_PTR)&__ImageBase),
        &Symbol));
    TEST(!SymbolFindSymbol(Symbols, TestHeader.ModuleSize, &Symbol));
    TEST(!SymbolFindSymbol(Symbols, 0xffffffff, &Symbol));
    TEST(!SymbolFindSourceLine(Symbols, 0xffffffff, &Line));

    //
    // Two at once, the same image and base.
    //

    TEST(NT_SUCCESS(SymbolCreateSymbols(TestRtl,
                                        TestAllocator,
                                        &TestHeader,
                                        &Other,
                                        NULL)));
    TEST(TestFindsName(Other, Rva, Rva, "TestStaticAlpha"));
    SymbolDestroySymbols(Symbols);
    Rva = TestRvaOf(TestExternalBeta);
    TEST(TestFindsName(Other, Rva, Rva, "TestExternalBeta"));
    SymbolDestroySymbols(Other);
    SymbolDestroySymbols(NULL);

    //
    // A base that no module can have.
    //

    TestHeader.ModuleBase = 0xffffffffffff1234ULL;
    TEST(NT_SUCCESS(SymbolCreateSymbols(TestRtl,
                                        TestAllocator,
                                        &TestHeader,
                                        &Symbols,
                                        NULL)));
    TEST(TestFindsName(Symbols, Rva, Rva, "TestExternalBeta"));
    SymbolDestroySymbols(Symbols);
}

//
// Puts an image and a PDB into a folder of their own and asks for symbols. The
// folder is a new one each time, since DbgHelp may hold a file open.
// Number: the folder's number, below 1,000.
// Image, ImageSize: the image, whose identity is in TestHeader.
// NumberWrong: is incremented for each answer that is not well formed.
// Returns 1 if the PDB was believed, 0 if not.
//

static
ULONG
TestUseDamagedPdb(
    ULONG Number,
    const UCHAR *Image,
    ULONG ImageSize,
    const UCHAR *Pdb,
    ULONG PdbSize,
    PULONG NumberWrong
    )
{
    static WCHAR Name[] = L"000\\TestSymbols.exe";
    PCWSTR Path;
    ULONG Result;
    ULONG Rva;
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;

    Name[0] = (WCHAR)(L'0' + Number / 100);
    Name[1] = (WCHAR)(L'0' + Number / 10 % 10);
    Name[2] = (WCHAR)(L'0' + Number % 10);

    Name[3] = 0;
    TestPathInFolder(Name);
    TEST(NT_SUCCESS(RtlCreateDirectory(TestRtl, &TestFilePath.Nt)));
    Name[3] = L'\\';

    RtlCopyBytes(Name + RTL_NUMBER_OF(Name) - 4, L"pdb", 6);
    TEST(NT_SUCCESS(TestWriteWholeFile(TestPathInFolder(Name),
                                       Pdb,
                                       PdbSize)));
    RtlCopyBytes(Name + RTL_NUMBER_OF(Name) - 4, L"exe", 6);
    Path = TestPathInFolder(Name);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, Image, ImageSize)));

    TestFillHeader(&TestHeader,
                   Path,
                   TestHeader.ModuleBase,
                   TestHeader.ModuleSize,
                   TestHeader.ModuleTimeDateStamp,
                   TestHeader.ModuleCheckSum);

    RtlCopyBytes(TestHeader.PdbPath, "TestSymbols.pdb", 15);
    TestHeader.PdbPathLength = 15;
    TestHeader.PdbPathFullLength = 15;

    if (!TEST(NT_SUCCESS(SymbolCreateSymbols(TestRtl,
                                             TestAllocator,
                                             &TestHeader,
                                             &Symbols,
                                             &TestError)))) {
        return 0;
    }

    Result = SymbolGetSymbolSource(Symbols) == ReaderSymbolSourcePdb;
    for (Rva = 0x1000; Rva < 0x4000; Rva += 61) {
        if (SymbolFindSymbol(Symbols, Rva, &Symbol) &&
            (Symbol.StartRva > Rva ||
             Symbol.Name[Symbol.LengthInBytes] != 0)) {
            *NumberWrong += 1;
        }
    }

    SymbolDestroySymbols(Symbols);
    return Result;
}

//
// Puts copies of this program beside copies of its PDB that were cut or that
// have a damaged head.
//

static
VOID
TestDamagedPdb(
    VOID
    )
{
    static const ULONG Sizes[] = { 0, 1, 56, 4095, 4096, 20000, 100000 };
    static const struct {
        ULONG Offset;
        ULONG Value;
    } Fields[] = {
        { 0, 0 },                   // the magic's first and last bytes
        { 28, 0xff },
        { 32, 0 },                  // the size of a block
        { 32, 4095 },
        { 32, 0x80000000 },
        { 40, 0xffffffff },         // the number of blocks
        { 44, 0 },                  // the size of the directory
        { 44, 0xffffffff },
        { 52, 0x7fffffff }          // the block that says where it is
    };
    ULONG Index;
    PUCHAR Image;
    ULONG ImageSize;
    ULONG NumberTrusted;
    ULONG NumberWrong;
    PUCHAR Pdb;
    ULONG PdbSize;
    ULONG Saved;
    ULONG Size;

    if (!TestHasOwnPdb()) {
        TEST_SKIP("this program's PDB is not beside it");
        return;
    }

    Pdb = TestReadWholeFile(TestPath, &PdbSize);
    TestFillHeaderOfModule(&TestHeader, GetModuleHandleW(NULL));
    Image = TestReadWholeFile(TestPath, &ImageSize);
    if (!TEST(Pdb != NULL && Image != NULL)) {
        return;
    }

    NumberTrusted = 0;
    NumberWrong = 0;

    //
    // Whole, as a control; cut; with wrong fields in the head.
    //

    TEST(TestUseDamagedPdb(0,
                           Image,
                           ImageSize,
                           Pdb,
                           PdbSize,
                           &NumberWrong) == 1);

    for (Index = 0; Index < RTL_NUMBER_OF(Sizes); Index++) {
        Size = Sizes[Index] < PdbSize ? Sizes[Index] : PdbSize;
        NumberTrusted += TestUseDamagedPdb(Index + 1,
                                           Image,
                                           ImageSize,
                                           Pdb,
                                           Size,
                                           &NumberWrong);
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Fields); Index++) {
        Saved = TestGetUlong(Pdb + Fields[Index].Offset);
        TestPutUlong(Pdb + Fields[Index].Offset, Fields[Index].Value);
        NumberTrusted += TestUseDamagedPdb(100 + Index,
                                           Image,
                                           ImageSize,
                                           Pdb,
                                           PdbSize,
                                           &NumberWrong);
        TestPutUlong(Pdb + Fields[Index].Offset, Saved);
    }

    //
    // What is no whole PDB is not shown to DbgHelp, and not believed.
    //

    TEST(NumberTrusted == 0);
    TEST(NumberWrong == 0);
    TestAllocator->Free(TestAllocator->Context, Image);
    TestAllocator->Free(TestAllocator->Context, Pdb);
}

//
// Measures how long many different addresses take.
// Rtl: the RTL, with DbgHelp or without.
// Module: a module whose code is that large.
// StepInBytes: the distance of the addresses.
//

static
VOID
TestSpeedOf(
    PCRTL Rtl,
    HMODULE Module,
    ULONG StepInBytes
    )
{
    RTL_CLOCK_READING End;
    RTL_CLOCK_READING Loaded;
    RTL_CLOCK_READING Start;
    PREADER_SYMBOLS Symbols;
    READER_SYMBOL Symbol;
    ULONG Found;
    ULONG Index;
    ULONG Milliseconds;

    TEST(TestFillHeaderOfModule(&TestHeader, Module));

    RtlReadClocks(TestRtl, &Start);
    TEST(NT_SUCCESS(SymbolCreateSymbols(Rtl,
                                        TestAllocator,
                                        &TestHeader,
                                        &Symbols,
                                        NULL)));
    RtlReadClocks(TestRtl, &Loaded);

    Found = 0;
    for (Index = 0; Index < TEST_LOOKUPS; Index++) {
        Found += SymbolFindSymbol(Symbols,
                                  0x1000 + Index * StepInBytes,
                                  &Symbol);
    }

    RtlReadClocks(TestRtl, &End);
    Milliseconds = (ULONG)((End.Qpc - Loaded.Qpc) * 1000 / End.QpcFrequency);
    RtlWriteText(TestOutput,
                 "source %u: loaded in %llu ms, %u lookups (%u found) in "
                 "%u ms\n",
                 (ULONG)SymbolGetSymbolSource(Symbols),
                 (Loaded.Qpc - Start.Qpc) * 1000 / End.QpcFrequency,
                 TEST_LOOKUPS,
                 Found,
                 Milliseconds);
    TEST(Found > TEST_LOOKUPS / 2);
    TEST(Milliseconds < 2000);
    SymbolDestroySymbols(Symbols);
}

//
// Compares the exports of a system DLL's file with what the loader says about
// the loaded one.
//

static
VOID
TestExportsOf(
    PCWSTR ModuleName
    )
{
    PIMAGE_EXPORT_DIRECTORY Directory;
    PIMAGE_NT_HEADERS64 Nt;
    PULONG Names;
    PUCHAR Base;
    PUCHAR Bytes;
    READER_COFF Coff;
    HMODULE Module;
    PCSZ Found;
    PCSZ Name;
    ULONG Address;
    ULONG Index;
    ULONG Length;
    ULONG NumberCompared;
    ULONG NumberWrong;
    ULONG NumberOfCode;
    ULONG Size;
    ULONG Start;

    Module = GetModuleHandleW(ModuleName);
    TEST(Module != NULL && TestFillHeaderOfModule(&TestHeader, Module));

    Bytes = TestReadWholeFile(TestPath, &Size);
    TEST(Bytes != NULL);
    if (Bytes == NULL) {
        return;
    }

    //
    // Without its COFF symbol table, if it has one.
    //

    TestPutUlong(Bytes + TestGetUlong(Bytes + 60) + 12, 0);
    TestPutUlong(Bytes + TestGetUlong(Bytes + 60) + 16, 0);

    TEST(NT_SUCCESS(ImageInitializeCoff(TestAllocator, Bytes, Size, &Coff)));
    TEST(Coff.Kind == ReaderCoffKindExports);
    TEST(Coff.TimeDateStamp == TestHeader.ModuleTimeDateStamp);
    TEST(Coff.SizeOfImage == TestHeader.ModuleSize);
    TEST(Coff.CheckSum == TestHeader.ModuleCheckSum);
    TestAllocator->Free(TestAllocator->Context, Bytes);

    Base = (PUCHAR)Module;
    Nt = (PVOID)(Base + ((PIMAGE_DOS_HEADER)Base)->e_lfanew);
    Directory = (PVOID)(Base +
                        Nt->OptionalHeader.DataDirectory[0].VirtualAddress);
    Names = (PULONG)(Base + Directory->AddressOfNames);
    NumberCompared = 0;
    NumberWrong = 0;
    NumberOfCode = 0;

    for (Index = 0; Index < Directory->NumberOfNames; Index++) {

        Name = (PCSZ)(Base + Names[Index]);
        Address = (ULONG)((ULONG_PTR)GetProcAddress(Module, Name) -
                          (ULONG_PTR)Base);
        NumberCompared += 1;

        //
        // A forwarder's address is in another module; data is no function.
        //

        if ((ULONG_PTR)GetProcAddress(Module, Name) < (ULONG_PTR)Base ||
            (ULONG_PTR)GetProcAddress(Module, Name) - (ULONG_PTR)Base >=
                TestHeader.ModuleSize ||
            (TestSectionFlags(Module, Address) & IMAGE_SCN_MEM_EXECUTE) == 0) {
            continue;
        }

        NumberOfCode += 1;
        if (!ImageFindCoffSymbol(&Coff, Address, &Start, &Found, &Length) ||
            Start != Address ||
            Length != RtlLengthOfString(Found) ||
            (ULONG_PTR)GetProcAddress(Module, Found) !=
                (ULONG_PTR)Base + Address) {
            NumberWrong += 1;
        }
    }

    RtlWriteText(TestOutput,
                 "%S: %u names, %u of code, %u wrong\n",
                 ModuleName,
                 NumberCompared,
                 NumberOfCode,
                 NumberWrong);
    TEST(NumberOfCode > 500);
    TEST(NumberWrong == 0);
    ImageRundownCoff(&Coff);
    ImageRundownCoff(&Coff);
}

//
// The image that is made here.
//
//     RVA     file    size
//     0x1000  0x400   0x100   .text   code
//     0x2000  0x500   0x180   .data   data, with the export directory
//     0x3000  0x700   0x080   .more   code
//             0x780           symbols, then strings
//

#define TEST_TEXT               0x1000
#define TEST_DATA               0x2000
#define TEST_MORE               0x3000
#define TEST_TEXT_FILE          0x400
#define TEST_DATA_FILE          0x500
#define TEST_MORE_FILE          0x700
#define TEST_SYMBOLS_FILE       0x780
#define TEST_NT                 0x40
#define TEST_OPTIONAL           (TEST_NT + 24)
#define TEST_SECTIONS           (TEST_OPTIONAL + 240)
#define TEST_IMAGE_SIZE         0x4000
#define TEST_TIME_DATE_STAMP    0x12345678
#define TEST_CHECK_SUM          0x0badf00d

typedef struct _TEST_COFF_SYMBOL {
    PCSZ Name;
    ULONG Value;
    LONG Section;
    ULONG Type;
    ULONG Class;
    ULONG Auxiliary;
} TEST_COFF_SYMBOL;

static const TEST_COFF_SYMBOL TestCoffSymbols[] = {
    { ".file", 0, -2, 0, 103, 1 },
    { ".text", 0x00, 1, 0, 3, 1 },
    { "LastInTextButFirstInTable", 0xf0, 1, 0x20, 2, 0 },
    { "short", 0x10, 1, 0x20, 2, 1 },
    { "exactly8", 0x20, 1, 0x20, 2, 0 },
    { "a_name_that_is_longer_than_eight", 0x30, 1, 0x20, 2, 0 },
    { "static_twin", 0x40, 1, 0x20, 3, 0 },
    { "extern_twin", 0x40, 1, 0x20, 2, 0 },
    { "first_of_two", 0x48, 1, 0x20, 2, 0 },
    { "second_of_two", 0x48, 1, 0x20, 2, 0 },
    { "plain_at_typed", 0x4c, 1, 0, 2, 0 },
    { "typed_at_plain", 0x4c, 1, 0x20, 2, 0 },
    { "_ZN2ns1S1fEi", 0x50, 1, 0x20, 3, 0 },
    { ".L5", 0x54, 1, 0, 3, 0 },
    { "$LN3", 0x55, 1, 0, 3, 0 },
    { "Asm.loop", 0x56, 1, 0, 3, 0 },
    { ".text$_ZN2ns1S1fEi", 0x57, 1, 0, 3, 1 },
    { "label", 0x58, 1, 0, 6, 0 },
    { "part.0", 0x60, 1, 0x20, 3, 0 },
    { "plain", 0x64, 1, 0, 3, 0 },
    { "weak", 0x68, 1, 0x20, 105, 0 },
    { ".weak.gnu_weak.other", 0x6c, 1, 0, 2, 0 },
    { ".weak.", 0x6d, 1, 0, 2, 0 },
    { ".weak.x", 0x6e, 1, 0, 3, 0 },
    { "bad\x1b[2J\xc3\xa4\xff\xc2\x9b", 0x70, 1, 0x20, 2, 0 },
    { "in_data", 0x10, 2, 0, 2, 0 },
    { "undefined", 0x78, 0, 0x20, 2, 0 },
    { "absolute", 0x1079, -1, 0x20, 2, 0 },
    { "beyond_section", 0x100, 1, 0x20, 2, 0 },
    { "no_such_section", 0x7a, 4, 0x20, 2, 0 },
    { "more", 0x08, 3, 0x20, 2, 0 }
};

typedef struct _TEST_EXPECTATION {
    ULONG Rva;
    ULONG StartRva;                 // 0: nothing is found
    PCSZ Name;
} TEST_EXPECTATION;

static const TEST_EXPECTATION TestCoffExpectations[] = {
    { 0x0000, 0, NULL },
    { 0x0fff, 0, NULL },
    { 0x1000, 0, NULL },
    { 0x100f, 0, NULL },
    { 0x1010, 0x1010, "short" },
    { 0x101f, 0x1010, "short" },
    { 0x1020, 0x1020, "exactly8" },
    { 0x1030, 0x1030, "a_name_that_is_longer_than_eight" },
    { 0x1041, 0x1040, "extern_twin" },
    { 0x1048, 0x1048, "first_of_two" },
    { 0x104c, 0x104c, "typed_at_plain" },
    { 0x105f, 0x1050, "_ZN2ns1S1fEi" },
    { 0x1060, 0x1060, "part.0" },
    { 0x1064, 0x1064, "plain" },
    { 0x1068, 0x1068, "weak" },
    { 0x106c, 0x106c, "gnu_weak" },
    { 0x106f, 0x106c, "gnu_weak" },
    { 0x10ef, 0x1070, "bad?[2J\xc3\xa4???" },
    { 0x10f0, 0x10f0, "LastInTextButFirstInTable" },
    { 0x10ff, 0x10f0, "LastInTextButFirstInTable" },
    { 0x1100, 0, NULL },
    { 0x2010, 0, NULL },
    { 0x3000, 0, NULL },
    { 0x3007, 0, NULL },
    { 0x3008, 0x3008, "more" },
    { 0x307f, 0x3008, "more" },
    { 0x3080, 0, NULL },
    { 0xffffffff, 0, NULL }
};

static const TEST_EXPECTATION TestExportExpectations[] = {
    { 0x100f, 0, NULL },
    { 0x1010, 0x1010, "alpha" },
    { 0x101f, 0x1010, "alpha" },
    { 0x1020, 0x1020, "Ordinal12" },
    { 0x10ff, 0x1020, "Ordinal12" },
    { 0x2010, 0, NULL },
    { 0x3003, 0, NULL },
    { 0x3004, 0x3004, "beta" },
    { 0x307f, 0x3004, "beta" }
};

//
// Writes a section header into TestImage.
// Rva, VirtualSize: where the section is, and its size in bytes.
// Offset: where its bytes are in the file.
// Characteristics: its flags.
//

static
VOID
TestPutSection(
    ULONG Index,
    ULONG Rva,
    ULONG VirtualSize,
    ULONG Offset,
    ULONG Characteristics
    )
{
    PUCHAR Bytes;

    Bytes = TestImage + TEST_SECTIONS + Index * 40;
    Bytes[0] = '.';
    Bytes[1] = (UCHAR)('a' + Index);
    TestPutUlong(Bytes + 8, VirtualSize);
    TestPutUlong(Bytes + 12, Rva);
    TestPutUlong(Bytes + 16, VirtualSize);
    TestPutUlong(Bytes + 20, Offset);
    TestPutUlong(Bytes + 36, Characteristics);
}

//
// The export directory at RVA 0x2000. Ordinal base 10; functions alpha
// (0x1010), data (0x2010), one without a name (0x1020), beta (0x3004) and a
// forwarder; the names alpha, alphatwin (of the same function), beta, data and
// forward.
//

static
VOID
TestPutExports(
    VOID
    )
{
    static const ULONG Functions[] = {
        0x1010, 0x2010, 0x1020, 0x3004, TEST_DATA + 0xf0
    };
    static const PCSZ Names[] = {
        "alpha", "alphatwin", "beta", "data", "forward"
    };
    static const ULONG Ordinals[] = { 0, 0, 3, 1, 4 };
    PUCHAR Bytes;
    ULONG Index;
    ULONG Text;

    Bytes = TestImage + TEST_DATA_FILE;
    TestPutUlong(Bytes + 16, 10);
    TestPutUlong(Bytes + 20, RTL_NUMBER_OF(Functions));
    TestPutUlong(Bytes + 24, RTL_NUMBER_OF(Names));
    TestPutUlong(Bytes + 28, TEST_DATA + 0x40);
    TestPutUlong(Bytes + 32, TEST_DATA + 0x60);
    TestPutUlong(Bytes + 36, TEST_DATA + 0x80);

    Text = 0xa0;
    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index++) {
        TestPutUlong(Bytes + 0x40 + Index * 4, Functions[Index]);
        TestPutUlong(Bytes + 0x60 + Index * 4, TEST_DATA + Text);
        TestPutUshort(Bytes + 0x80 + Index * 2, Ordinals[Index]);
        RtlCopyBytes(Bytes + Text,
                     Names[Index],
                     RtlLengthOfString(Names[Index]) + 1);
        Text += RtlLengthOfString(Names[Index]) + 1;
    }
    RtlCopyBytes(Bytes + 0xf0, "ntdll.forward", 14);
}

//
// WithSymbols: whether it gets a COFF symbol table.
// Returns its size in bytes.
//

static
ULONG
TestMakeImage(
    BOOLEAN WithSymbols
    )
{
    PUCHAR Symbol;
    ULONG Index;
    ULONG Length;
    ULONG NumberOfSymbols;
    ULONG StringsInBytes;
    ULONG StringsOffset;

    RtlZeroBytes(TestImage, sizeof(TestImage));
    TestImage[0] = 'M';
    TestImage[1] = 'Z';
    TestPutUlong(TestImage + 60, TEST_NT);
    TestPutUlong(TestImage + TEST_NT, 0x4550);
    TestPutUshort(TestImage + TEST_NT + 4, 0x8664);
    TestPutUshort(TestImage + TEST_NT + 6, 3);
    TestPutUlong(TestImage + TEST_NT + 8, TEST_TIME_DATE_STAMP);
    TestPutUshort(TestImage + TEST_NT + 20, 240);
    TestPutUshort(TestImage + TEST_NT + 22, 0x22);
    TestPutUshort(TestImage + TEST_OPTIONAL, 0x20b);
    TestPutUlong(TestImage + TEST_OPTIONAL + 24, 0x40000000);
    TestPutUlong(TestImage + TEST_OPTIONAL + 32, 0x1000);
    TestPutUlong(TestImage + TEST_OPTIONAL + 36, 0x80);
    TestPutUlong(TestImage + TEST_OPTIONAL + 56, TEST_IMAGE_SIZE);
    TestPutUlong(TestImage + TEST_OPTIONAL + 60, TEST_TEXT_FILE);
    TestPutUlong(TestImage + TEST_OPTIONAL + 64, TEST_CHECK_SUM);
    TestPutUshort(TestImage + TEST_OPTIONAL + 68, 3);
    TestPutUlong(TestImage + TEST_OPTIONAL + 108, 16);
    TestPutUlong(TestImage + TEST_OPTIONAL + 112, TEST_DATA);
    TestPutUlong(TestImage + TEST_OPTIONAL + 116, 0x100);
    TestPutSection(0, TEST_TEXT, 0x100, TEST_TEXT_FILE, 0x60000020);
    TestPutSection(1, TEST_DATA, 0x180, TEST_DATA_FILE, 0xc0000040);
    TestPutSection(2, TEST_MORE, 0x080, TEST_MORE_FILE, 0x20000000);
    TestPutExports();

    if (!WithSymbols) {
        return TEST_SYMBOLS_FILE;
    }

    NumberOfSymbols = 0;
    for (Index = 0; Index < RTL_NUMBER_OF(TestCoffSymbols); Index++) {
        NumberOfSymbols += 1 + TestCoffSymbols[Index].Auxiliary;
    }
    TestPutUlong(TestImage + TEST_NT + 12, TEST_SYMBOLS_FILE);
    TestPutUlong(TestImage + TEST_NT + 16, NumberOfSymbols);

    StringsOffset = TEST_SYMBOLS_FILE + NumberOfSymbols * 18;
    StringsInBytes = 4;
    Symbol = TestImage + TEST_SYMBOLS_FILE;

    for (Index = 0; Index < RTL_NUMBER_OF(TestCoffSymbols); Index++) {
        Length = RtlLengthOfString(TestCoffSymbols[Index].Name);
        if (Length <= 8) {
            RtlCopyBytes(Symbol, TestCoffSymbols[Index].Name, Length);
        } else {
            TestPutUlong(Symbol + 4, StringsInBytes);
            RtlCopyBytes(TestImage + StringsOffset + StringsInBytes,
                         TestCoffSymbols[Index].Name,
                         Length + 1);
            StringsInBytes += Length + 1;
        }
        TestPutUlong(Symbol + 8, TestCoffSymbols[Index].Value);
        TestPutUshort(Symbol + 12, (ULONG)TestCoffSymbols[Index].Section);
        TestPutUshort(Symbol + 14, TestCoffSymbols[Index].Type);
        Symbol[16] = (UCHAR)TestCoffSymbols[Index].Class;
        Symbol[17] = (UCHAR)TestCoffSymbols[Index].Auxiliary;
        Symbol += 18;
        if (TestCoffSymbols[Index].Auxiliary != 0) {

            //
            // Read as a symbol, this would be a function.
            //

            RtlCopyBytes(Symbol, "AUXILIAR\x11\0\0\0\1\0\x20\0\2\0", 18);
            Symbol += 18;
        }
    }

    TestPutUlong(TestImage + StringsOffset, StringsInBytes);
    return StringsOffset + StringsInBytes;
}

//
// Compares an image's tables with expectations.
// Expectations, NumberOfExpectations: what should be found.
// IsControl: whether to be silent, since differences are wanted.
// Returns how many are not met.
//

static
ULONG
TestCountWrong(
    PCREADER_COFF Coff,
    const TEST_EXPECTATION *Expectations,
    ULONG NumberOfExpectations,
    BOOLEAN IsControl
    )
{
    ULONG Index;
    ULONG NumberWrong;
    BOOLEAN IsRight;

    NumberWrong = 0;
    for (Index = 0; Index < NumberOfExpectations; Index++) {
        if (Expectations[Index].StartRva == 0) {
            IsRight = TestCoffFindsNothing(Coff, Expectations[Index].Rva);
        } else {
            IsRight = TestCoffFinds(Coff,
                                    Expectations[Index].Rva,
                                    Expectations[Index].StartRva,
                                    Expectations[Index].Name);
        }
        if (!IsRight) {
            NumberWrong += 1;
            if (!IsControl) {
                RtlWriteText(TestOutput,
                             "wrong at RVA 0x%x\n",
                             Expectations[Index].Rva);
            }
        }
    }
    return NumberWrong;
}

//
// Reads the image that is made here, whole.
//

static
VOID
TestMadeImage(
    VOID
    )
{
    READER_COFF Coff;
    ULONG Index;
    ULONG Size;
    ULONG Stamp;
    NTSTATUS Status;

    TestCounter.Outstanding = 0;
    TestCounter.FailAt = 0;

    Size = TestMakeImage(TRUE);
    TEST(Size < TEST_IMAGE_CAPACITY);
    TEST(NT_SUCCESS(ImageInitializeCoff(&TestCountingAllocator,
                                        TestImage,
                                        Size,
                                        &Coff)));
    TEST(Coff.Kind == ReaderCoffKindSymbols);
    TEST(Coff.TimeDateStamp == TEST_TIME_DATE_STAMP);
    TEST(Coff.SizeOfImage == TEST_IMAGE_SIZE);
    TEST(Coff.CheckSum == TEST_CHECK_SUM);
    TEST(TestCountWrong(&Coff,
                        TestCoffExpectations,
                        RTL_NUMBER_OF(TestCoffExpectations),
                        FALSE) == 0);

    //
    // The negative control: the exports' names are not what is found here.
    //

    TEST(TestCountWrong(&Coff,
                        TestExportExpectations,
                        RTL_NUMBER_OF(TestExportExpectations),
                        TRUE) != 0);
    ImageRundownCoff(&Coff);

    //
    // A symbol table that cannot be is none: the exports serve.
    //

    for (Index = 0; Index < 3; Index++) {
        Size = TestMakeImage(Index != 0);
        if (Index == 1) {
            TestPutUlong(TestImage + TEST_NT + 16, 0x10000000);
        } else if (Index == 2) {
            TestPutUlong(TestImage + TEST_NT + 12, 0xfffffff0);
        }
        TEST(NT_SUCCESS(ImageInitializeCoff(&TestCountingAllocator,
                                            TestImage,
                                            Size,
                                            &Coff)));
        TEST(Coff.Kind == ReaderCoffKindExports);
        TEST(TestCountWrong(&Coff,
                            TestExportExpectations,
                            RTL_NUMBER_OF(TestExportExpectations),
                            FALSE) == 0);
        ImageRundownCoff(&Coff);
    }

    //
    // Not an x64 image.
    //

    Size = TestMakeImage(TRUE);
    Stamp = TestGetUlong(TestImage + TEST_NT + 4);
    TestPutUshort(TestImage + TEST_NT + 4, 0x14c);
    TEST(ImageInitializeCoff(&TestCountingAllocator,
                             TestImage,
                             Size,
                             &Coff) == STATUS_INVALID_IMAGE_FORMAT);
    ImageRundownCoff(&Coff);
    TestPutUlong(TestImage + TEST_NT + 4, Stamp);

    //
    // Every allocation fails once.
    //

    for (Index = 1; Index < 10; Index++) {
        TestCounter.Calls = 0;
        TestCounter.FailAt = Index;
        Status = ImageInitializeCoff(&TestCountingAllocator,
                                     TestImage,
                                     Size,
                                     &Coff);
        ImageRundownCoff(&Coff);
        TEST(TestCounter.Outstanding == 0);
        if (NT_SUCCESS(Status)) {
            break;
        }
        TEST(Status == STATUS_NO_MEMORY);
    }
    TEST(Index > 2 && Index < 10);
    TestCounter.FailAt = 0;
}

//
// Reads an image of any bytes and asks for every kind of address.
// Returns FALSE if an answer is not well formed or memory was lost. A read
// outside of the bytes ends the program.
//

static
BOOLEAN
TestSurvives(
    const UCHAR *Bytes,
    ULONG SizeInBytes
    )
{
    READER_COFF Coff;
    BOOLEAN IsFine;
    ULONG Length;
    PCSZ Name;
    ULONG Rva;
    ULONG Start;
    NTSTATUS Status;

    IsFine = TRUE;
    Status = ImageInitializeCoff(&TestCountingAllocator,
                                 Bytes,
                                 SizeInBytes,
                                 &Coff);
    if (!NT_SUCCESS(Status) && Status != STATUS_INVALID_IMAGE_FORMAT) {
        IsFine = FALSE;
    }

    if (NT_SUCCESS(Status)) {
        for (Rva = 0xff0; Rva < TEST_IMAGE_SIZE; Rva += 5) {
            if (ImageFindCoffSymbol(&Coff, Rva, &Start, &Name, &Length) &&
                (Start > Rva || Name[Length] != 0)) {
                IsFine = FALSE;
            }
        }
        if (ImageFindCoffSymbol(&Coff,
                                0xffffffff,
                                &Start,
                                &Name,
                                &Length) &&
            Name[Length] != 0) {
            IsFine = FALSE;
        }
    }

    ImageRundownCoff(&Coff);
    return (BOOLEAN)(IsFine && TestCounter.Outstanding == 0);
}

//
// Reads damaged versions of the image, each against a page that faults.
//

static
VOID
TestHostileImages(
    VOID
    )
{
    static const ULONG Values[] = {
        0, 1, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 0x00001000,
        0x0000ffff
    };
    PVOID Base;
    PUCHAR Fence;
    PUCHAR Image;
    ULONG Index;
    ULONG NumberOfImages;
    ULONG NumberWrong;
    ULONG Offset;
    ULONG Size;
    ULONG Step;
    SIZE_T RegionSize;
    ULONG WithSymbols;

    //
    // Images end where the memory ends: the last page is not committed.
    //

    Base = NULL;
    RegionSize = TEST_IMAGE_CAPACITY + 0x10000;
    TEST(NT_SUCCESS(TestRtl->NtAllocateVirtualMemory(TEST_THIS_PROCESS,
                                                     &Base,
                                                     0,
                                                     &RegionSize,
                                                     MEM_RESERVE,
                                                     PAGE_NOACCESS)));
    RegionSize = TEST_IMAGE_CAPACITY;
    TEST(NT_SUCCESS(TestRtl->NtAllocateVirtualMemory(TEST_THIS_PROCESS,
                                                     &Base,
                                                     0,
                                                     &RegionSize,
                                                     MEM_COMMIT,
                                                     PAGE_READWRITE)));
    Fence = (PUCHAR)Base + TEST_IMAGE_CAPACITY;

    NumberWrong = 0;
    NumberOfImages = 0;
    TestCounter.Outstanding = 0;
    TestCounter.FailAt = 0;

    for (WithSymbols = 0; WithSymbols < 2; WithSymbols++) {

        Size = TestMakeImage((BOOLEAN)WithSymbols);

        //
        // Cut at every byte.
        //

        for (Index = 0; Index <= Size; Index++) {
            RtlCopyBytes(Fence - Index, TestImage, Index);
            NumberWrong += !TestSurvives(Fence - Index, Index);
            NumberOfImages += 1;
        }

        //
        // Every byte but those of the empty code the start of a wild value.
        //

        Image = Fence - Size;
        RtlCopyBytes(TestScratch, TestImage, Size);
        for (Offset = 0; Offset + 4 <= Size; Offset++) {
            if (Offset >= TEST_SECTIONS + 120 && Offset < TEST_DATA_FILE) {
                continue;
            }
            for (Index = 0; Index < RTL_NUMBER_OF(Values); Index++) {
                RtlCopyBytes(Image, TestScratch, Size);
                TestPutUlong(Image + Offset, Values[Index]);
                NumberWrong += !TestSurvives(Image, Size);
                RtlCopyBytes(Image, TestScratch, Size);
                Image[Offset] = (UCHAR)(Values[Index] >> 8);
                NumberWrong += !TestSurvives(Image, Size);
                NumberOfImages += 2;
            }
        }

        //
        // Pairs of wild header fields.
        //

        for (Offset = TEST_NT; Offset + 4 <= TEST_SECTIONS + 120; Offset += 4) {
            for (Step = 4; Step < 128; Step += 4) {
                RtlCopyBytes(Image, TestScratch, Size);
                TestPutUlong(Image + Offset, 0xffffffff);
                TestPutUlong(Image + Offset + Step, 0x7ffffff0);
                NumberWrong += !TestSurvives(Image, Size);
                NumberOfImages += 1;
            }
        }
    }

    RtlWriteText(TestOutput,
                 "%u hostile images\n", NumberOfImages);
    TEST(NumberWrong == 0);

    RegionSize = 0;
    TestRtl->NtFreeVirtualMemory(TEST_THIS_PROCESS,
                                 &Base,
                                 &RegionSize,
                                 MEM_RELEASE);
}

//
// A hostile image whose symbols all share one long name: neither time nor
// memory may grow with their product.
//

static
VOID
TestSharedName(
    VOID
    )
{
    ULONG Attempt;
    ULONG Index;
    const ULONG NumberOfSymbols = 50000;
    PUCHAR Bytes;
    READER_COFF Coff;
    RTL_CLOCK_READING End;
    RTL_CLOCK_READING Start;
    ULONG Size;
    PUCHAR Symbol;

    TestMakeImage(FALSE);
    TestPutUlong(TestImage + TEST_NT + 12, TEST_SYMBOLS_FILE);
    TestPutUlong(TestImage + TEST_NT + 16, NumberOfSymbols);

    Size = TEST_SYMBOLS_FILE + NumberOfSymbols * 18 + 4 + 0x100000;
    Bytes = TestAllocator->Allocate(TestAllocator->Context, Size);
    TEST(Bytes != NULL);
    if (Bytes == NULL) {
        return;
    }

    RtlCopyBytes(Bytes, TestImage, TEST_SYMBOLS_FILE);
    Symbol = Bytes + TEST_SYMBOLS_FILE;
    for (Index = 0; Index < NumberOfSymbols; Index++) {
        TestPutUlong(Symbol + 4, 4);
        TestPutUlong(Symbol + 8, Index & 0xff);
        TestPutUshort(Symbol + 12, 1);
        TestPutUshort(Symbol + 14, 0x20);
        Symbol[16] = 2;
        Symbol += 18;
    }
    TestPutUlong(Symbol, 4 + 0x100000);
    for (Index = 0; Index < 0x100000; Index++) {
        Symbol[4 + Index] = 'x';
    }

    //
    // It may have to wait for a processor, but not each time.
    //

    for (Attempt = 0; Attempt < 20; Attempt++) {
        RtlReadClocks(TestRtl, &Start);
        TEST(NT_SUCCESS(ImageInitializeCoff(TestAllocator,
                                            Bytes,
                                            Size,
                                            &Coff)));
        RtlReadClocks(TestRtl, &End);
        TEST(Coff.Kind == ReaderCoffKindExports);
        ImageRundownCoff(&Coff);
        if ((End.Qpc - Start.Qpc) * 1000 / End.QpcFrequency < 500) {
            break;
        }
    }
    TEST(Attempt < 20);

    //
    // The same with short names is an ordinary table.
    //

    Symbol = Bytes + TEST_SYMBOLS_FILE;
    for (Index = 0; Index < NumberOfSymbols; Index++) {
        RtlCopyBytes(Symbol, "shortish", 8);
        Symbol += 18;
    }
    TEST(NT_SUCCESS(ImageInitializeCoff(TestAllocator,
                                        Bytes,
                                        Size,
                                        &Coff)));
    TEST(Coff.Kind == ReaderCoffKindSymbols);
    TEST(Coff.NumberOfEntries == NumberOfSymbols);
    TEST(TestCoffFinds(&Coff, TEST_TEXT + 0x80, TEST_TEXT + 0x80, "shortish"));
    ImageRundownCoff(&Coff);
    TestAllocator->Free(TestAllocator->Context, Bytes);
}

//
// Creates and destroys the symbols of a header.
// Header: the store's header.
// Source, ExpectedStatus: what should come of it.
// Returns TRUE if the source and the error are as expected and no memory was
// lost.
//

static
BOOLEAN
TestSourceIs(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    READER_SYMBOL_SOURCE Source,
    NTSTATUS ExpectedStatus
    )
{
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;
    BOOLEAN IsFine;
    LONG Outstanding;

    Outstanding = TestCounter.Outstanding;
    if (!NT_SUCCESS(SymbolCreateSymbols(Rtl,
                                        &TestCountingAllocator,
                                        Header,
                                        &Symbols,
                                        &TestError))) {
        return FALSE;
    }

    IsFine = (BOOLEAN)(SymbolGetSymbolSource(Symbols) == Source &&
                       TestError.Status == ExpectedStatus);
    if (Source == ReaderSymbolSourceNone) {
        if (SymbolFindSymbol(Symbols, TEST_TEXT + 0x10, &Symbol)) {
            IsFine = FALSE;
        }
    }

    if (!IsFine) {
        RtlWriteText(TestOutput,
                     "source %u, error %s: 0x%08x\n",
                     SymbolGetSymbolSource(Symbols),
                     TestError.Step,
                     TestError.Status);
    }

    SymbolDestroySymbols(Symbols);
    return (BOOLEAN)(IsFine && TestCounter.Outstanding == Outstanding);
}

static const WCHAR TestImageName[] = L"T\x00e4st S\x00fdmbols \x4e2d.exe";

//
// Takes images from files: whether they are the ones that were traced, what is
// reported when they are not, and that nothing is lost on the way.
//

static
VOID
TestFiles(
    VOID
    )
{
    ULONG Index;
    ULONG Length;
    PCWSTR Path;
    ULONG Size;
    NTSTATUS Status;
    PREADER_SYMBOLS Symbols;

    TestCounter.Outstanding = 0;
    TestCounter.FailAt = 0;

    Path = TestPathInFolder(TestImageName);
    Length = RtlLengthOfWideString(Path);
    Size = TestMakeImage(TRUE);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));

    TestFillHeader(&TestHeader,
                   Path,
                   0x40000000,
                   TEST_IMAGE_SIZE,
                   TEST_TIME_DATE_STAMP,
                   TEST_CHECK_SUM);

    //
    // DbgHelp is there and not trusted, absent, or without its routines.
    //

    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));
    TEST(TestSourceIs(&TestRtlWithout,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));
    TEST(TestSourceIs(&TestRtlEmpty,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    TEST(NT_SUCCESS(SymbolCreateSymbols(&TestRtlWithout,
                                        TestAllocator,
                                        &TestHeader,
                                        &Symbols,
                                        NULL)));
    TEST(TestFindsName(Symbols, 0x1013, 0x1010, "short"));
    TEST(!TestFindsName(Symbols, 0x3007, 0x10f0, "LastInTextButFirstInTable"));

    //
    // Names stay good when the file is written anew: it is not held open.
    //

    TEST(NT_SUCCESS(TestWriteWholeFile(Path, "gone", 4)));
    TEST(TestFindsName(Symbols, 0x1020, 0x1020, "exactly8"));
    SymbolDestroySymbols(Symbols);

    //
    // Another file is there now, then an empty one, then none.
    //

    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_INVALID_IMAGE_FORMAT));
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, "", 0)));
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_INVALID_IMAGE_FORMAT));

    TestHeader.ModulePath[TestHeader.ModulePathLength - 1] = 'X';
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_OBJECT_NAME_NOT_FOUND));
    TEST(TestError.ObjectLengthInChars == Length);
    TestHeader.ModulePath[TestHeader.ModulePathLength - 1] = 'e';

    //
    // Another build: each part of the identity alone.
    //

    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleTimeDateStamp -= 1;
    TestHeader.ModuleSize += 0x1000;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleSize -= 0x1000;
    TestHeader.ModuleCheckSum += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    //
    // Without a time stamp the checksum decides.
    //

    TestPutUlong(TestImage + TEST_NT + 8, 0);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleCheckSum -= 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    //
    // Every allocation fails once.
    //

    for (Index = 1; Index < 40; Index++) {
        TestCounter.Calls = 0;
        TestCounter.FailAt = Index;
        Status = SymbolCreateSymbols(&TestRtlWithout,
                                     &TestCountingAllocator,
                                     &TestHeader,
                                     &Symbols,
                                     &TestError);
        if (NT_SUCCESS(Status)) {
            SymbolDestroySymbols(Symbols);
        }
        TEST(TestCounter.Outstanding == 0);
        if (NT_SUCCESS(Status)) {
            break;
        }
        TEST(Status == STATUS_NO_MEMORY && Symbols == NULL);
    }
    TEST(Index > 4 && Index < 40);
    TestCounter.FailAt = 0;

    //
    // Neither symbols nor exports.
    //

    Size = TestMakeImage(FALSE);
    TestPutUlong(TestImage + TEST_OPTIONAL + 112, 0);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp = TEST_TIME_DATE_STAMP;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_NOT_FOUND));
    TEST(TestSourceIs(&TestRtlWithout,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_DLL_NOT_FOUND));

    //
    // Paths in the header that cannot be.
    //

    TestHeader.ModulePathFullLength += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_NAME_TOO_LONG));
    TestHeader.ModulePathFullLength -= 1;
    Length = TestHeader.ModulePathLength;
    TestHeader.ModulePathLength = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
    TestHeader.ModulePathLength = sizeof(TestHeader.ModulePath) + 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
    TestHeader.ModulePathLength = Length;
    TestHeader.ModulePath[4] = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
}

//
// Lets the reader use a DbgHelp that answers and faults as it is told.
//

static
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
                                            &Symbols,
                                            NULL)));
        TEST(SymbolGetSymbolSource(Symbols) == ReaderSymbolSourceCoff);
        TEST(TestFindsName(Symbols, 0x1021, 0x1020, "exactly8"));
        SymbolDestroySymbols(Symbols);
    }
    TestFaultAt = TEST_FAKE_NONE;
}

//
// Finds the value of an option.
// Returns what is behind it, NULL if it is not given or is the last.
//

static
PCWSTR
TestGetOption(
    PCSZ Name
    )
{
    ULONG Index;

    for (Index = 4; Index + 1 < TestNumberOfArguments; Index++) {
        if (RtlAreStringsEqual(TestArguments[Index].Utf8, Name)) {
            return TestArguments[Index + 1].Wide;
        }
    }

    return NULL;
}

//
// Says whether an option is given.
//

static
BOOLEAN
TestHasOption(
    PCSZ Name
    )
{
    ULONG Index;

    for (Index = 4; Index < TestNumberOfArguments; Index++) {
        if (RtlAreStringsEqual(TestArguments[Index].Utf8, Name)) {
            return TRUE;
        }
    }

    return FALSE;
}

static
VOID
TestPrintRaw(
    PREADER_SYMBOL Symbol
    )
{
    RtlWriteText(TestOutput, "raw ");
    RtlWriteBytes(TestOutput, Symbol->RawText, Symbol->LinkageLengthInBytes);
    RtlWriteText(TestOutput, "\nfolded %u ", Symbol->NumberFolded);
    if (Symbol->RawLengthInBytes != Symbol->LinkageLengthInBytes) {
        RtlWriteText(TestOutput,
                     "%s",
                     Symbol->RawText + Symbol->LinkageLengthInBytes + 1);
    }
    RtlWriteText(TestOutput, "\n");
}

//
// Is the other tool that the abstract describes.
//

static
VOID
TestPrintReadable(
    VOID
    )
{
    PUCHAR Bytes;
    READER_UNDECORATOR Undecorator;
    PCSZ Text;
    ULONG First;
    ULONG Index;
    ULONG Length;
    ULONG Size;

    Bytes = TestReadWholeFile(TestArguments[2].Wide, &Size);
    if (Bytes == NULL) {
        RtlWriteText(TestOutput,
                     "%s: cannot be read\n",
                     TestArguments[2].Utf8);
        return;
    }

    SymbolInitializeUndecorator(&Undecorator,
                                TestNumberOfArguments > 3 ? &TestRtlWithout
                                                          : TestRtl,
                                TestAllocator);
    First = 0;
    for (Index = 0; Index < Size; Index++) {
        if (Bytes[Index] == '\n') {
            SymbolUndecorate(&Undecorator,
                             (PCSZ)Bytes + First,
                             Index - First,
                             &Text,
                             &Length);
            RtlWriteBytes(TestOutput, Text, Length);
            RtlWriteText(TestOutput, "\n");
            First = Index + 1;
        }
    }

    SymbolRundownUndecorator(&Undecorator);
    TestAllocator->Free(TestAllocator->Context, Bytes);
}

//
// Is the tool that the abstract describes.
//

static
VOID
TestPrintNames(
    VOID
    )
{
    PUCHAR Bytes;
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;
    ULONG Digit;
    ULONG Index;
    ULONG NumberOfDigits;
    ULONG Rva;
    ULONG Size;

    Bytes = TestReadWholeFile(TestArguments[2].Wide, &Size);
    if (Bytes == NULL || Size < 512) {
        RtlWriteText(TestOutput,
                     "%s: cannot be read\n",
                     TestArguments[2].Utf8);
        return;
    }

    Index = TestGetUlong(Bytes + 60);
    TestFillHeader(&TestHeader,
                   TestHasOption("--recorded") ? TestGetOption("--recorded")
                                               : TestArguments[2].Wide,
                   0x140000000ULL,
                   TestGetUlong(Bytes + Index + 24 + 56),
                   TestGetUlong(Bytes + Index + 8),
                   TestGetUlong(Bytes + Index + 24 + 64));
    TestAllocator->Free(TestAllocator->Context, Bytes);

    if (!NT_SUCCESS(SymbolCreateSymbolsFrom(
            TestHasOption("--no-dbghelp") ? &TestRtlWithout : TestRtl,
            TestAllocator,
            &TestHeader,
            TestGetOption("--symbols"),
            &Symbols,
            &TestError))) {
        return;
    }

    RtlWriteText(TestOutput,
                 "source %u\n",
                 (ULONG)SymbolGetSymbolSource(Symbols));
    if (SymbolGetSymbolWarning(Symbols) != NULL) {
        RtlWriteText(TestOutput,
                     "warning %s\n",
                     SymbolGetSymbolWarning(Symbols));
    }

    Bytes = TestReadWholeFile(TestArguments[3].Wide, &Size);
    Rva = 0;
    NumberOfDigits = 0;
    for (Index = 0; Bytes != NULL && Index < Size; Index++) {

        if (Bytes[Index] >= '0' && Bytes[Index] <= '9') {
            Digit = Bytes[Index] - '0';
        } else if (Bytes[Index] >= 'a' && Bytes[Index] <= 'f') {
            Digit = Bytes[Index] - 'a' + 10;
        } else {
            if (NumberOfDigits != 0) {
                if (SymbolFindSymbol(Symbols, Rva, &Symbol)) {
                    RtlWriteText(TestOutput,
                                 "= %x %x %s\n",
                                 Rva,
                                 Symbol.StartRva,
                                 Symbol.Name);
                    if (TestHasOption("--raw")) {
                        TestPrintRaw(&Symbol);
                    }
                } else {
                    RtlWriteText(TestOutput, "= %x - -\n", Rva);
                }
            }
            Rva = 0;
            NumberOfDigits = 0;
            continue;
        }
        Rva = Rva * 16 + Digit;
        NumberOfDigits += 1;
    }

    SymbolDestroySymbols(Symbols);
}

//
// Runs the tests, or the tool.
// Rtl: the operating system's routines.
// Allocator: memory.
//

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    TestRtl = Rtl;
    TestAllocator = Allocator;

    TestRtlWithout = *Rtl;
    TestRtlWithout.LoadLibraryExW = TestLoadNothing;
    TestRtlEmpty = *Rtl;
    TestRtlEmpty.LoadLibraryExW = TestLoadNtdll;
    TestRtlEmpty.FreeLibrary = TestFreeNothing;
    TestRtlFake = *Rtl;
    TestRtlFake.LoadLibraryExW = TestLoadItself;
    TestRtlFake.FreeLibrary = TestFreeNothing;

    if (TestNumberOfArguments > 2 &&
        RtlAreStringsEqual(TestArguments[1].Utf8, "--readable")) {
        TestPrintReadable();
        TestExit(0);
    }

    if (TestNumberOfArguments > 3) {
        TestPrintNames();
        TestExit(0);
    }

    if (!TEST(TestCreateDirectory(&TestFolder))) {
        return;
    }

    TestMadeImage();
    TestHostileImages();
    TestSharedName();
    TestFiles();
    TestFakeDbgHelp();
    TestExportsOf(L"kernel32.dll");
    TestExportsOf(L"ntdll.dll");
    TestOwnImage();
    TestDamagedPdb();

    TestSpeedOf(TestRtl, GetModuleHandleW(L"ntdll.dll"), 11);
    TestSpeedOf(&TestRtlWithout, GetModuleHandleW(L"ntdll.dll"), 11);
    TestSpeedOf(TestRtl, GetModuleHandleW(NULL), 3);

    TEST(NT_SUCCESS(TestDeleteTree(&TestFolder)));
}

/*++

Module Name:

    OwnImage.c

Abstract:

    This program's own image, whose function addresses it knows; its PDB, whole
    and damaged; and the exports of the system's DLLs.

--*/

#include "TestSymbols.h"

extern IMAGE_DOS_HEADER __ImageBase;

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

_Use_decl_annotations_
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

_Use_decl_annotations_
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

_Use_decl_annotations_
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
                                        NULL,
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
    TEST(Line.LengthInBytes > 10 &&
         RtlAreStringsEqual(Line.FileName + Line.LengthInBytes - 10,
                            "OwnImage.c"));

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
                                        NULL,
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
                                        NULL,
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
                                             NULL,
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

_Use_decl_annotations_
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
                                        NULL,
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
    SymbolDestroySymbols(Symbols);
}

//
// Compares the exports of a system DLL's file with what the loader says about
// the loaded one.
//

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

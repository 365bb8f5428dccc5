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

#include "TestSymbols/TestSymbols.h"

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

    if (!NT_SUCCESS(SymbolCreateSymbols(
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

/*++

Module Name:

    MadeImages.c

Abstract:

    An image that is made here byte by byte, and thousands of damaged versions
    of it, each one placed against a page that faults.

--*/

#include "TestSymbols.h"

static UCHAR TestScratch[TEST_IMAGE_CAPACITY];

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

_Use_decl_annotations_
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

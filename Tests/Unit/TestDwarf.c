/*++

Module Name:

    TestDwarf.c

Abstract:

    Tests the parts that the reader of DWARF is made of: numbers of variable
    length, forms, strings, the order of ranges.  Whole images are the business
    of TestSymbolsLua.py, for which this program is a tool:

        TestDwarf --look-up IMAGE LIST [PDB]

    prints, for each hexadecimal RVA in the file LIST, a line of fields between
    tabs: "=", RVA, the function's start, its name as a linker knows it, the
    line and the file of the RVA; and a last line that begins with "#": what it
    took.  PDB is the path that the image has of its PDB.

        TestDwarf --damage IMAGE LIST COUNT SEED

    does the same lookups in COUNT damaged versions of the image, each at the
    end of memory, and prints how often what was found.

--*/

#include "../../Rtl/Rtl.h"
#include "../../Reader/Image/ImageDwarfForm.h"
#include "../../Reader/Symbols/Symbols.h"
#include "Test.h"

#define TEST_THIS_PROCESS ((HANDLE)(LONG_PTR)-1)
#define TEST_PAGE 0x1000
#define TEST_BASE 0x140000000ULL
#define TEST_MAXIMUM_LOOKUPS 0x400000

//
// A damaged image may take so many times its size of memory, and this.
//

#define TEST_MEMORY_FACTOR 20
#define TEST_MEMORY_MORE 0x200000

static PCRTL TestRtl;
static PCALLOCATOR TestAllocator;
static TRACE_STORE_HEADER TestHeader;
static RTL_ERROR TestError;
static PULONG TestRvas;
static ULONG TestNumberOfRvas;

//
// An allocator that measures, and that fails from a given call on.  Each
// allocation begins with its size.
//

#define TEST_PREFIX 16

static ULONGLONG TestInUse;
static ULONGLONG TestPeak;
static ULONG TestCalls;
static ULONG TestFailAt;                // 0: never

//
// Returns the memory, zeroed, or NULL.
//

static
PVOID
TestMeasureAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    PUCHAR Bytes;

    UNREFERENCED_PARAMETER(Context);

    TestCalls += 1;
    if (TestFailAt != 0 && TestCalls >= TestFailAt) {
        return NULL;
    }

    Bytes = TestAllocator->Allocate(TestAllocator->Context,
                                    SizeInBytes + TEST_PREFIX);
    if (Bytes == NULL) {
        return NULL;
    }

    *(PSIZE_T)Bytes = SizeInBytes;
    TestInUse += SizeInBytes;
    if (TestInUse > TestPeak) {
        TestPeak = TestInUse;
    }

    return Bytes + TEST_PREFIX;
}

//
// Address: the memory, or NULL.
//

static
VOID
TestMeasureFree(
    PVOID Context,
    PVOID Address
    )
{
    PUCHAR Bytes;

    UNREFERENCED_PARAMETER(Context);

    if (Address != NULL) {
        Bytes = (PUCHAR)Address - TEST_PREFIX;
        TestInUse -= *(PSIZE_T)Bytes;
        TestAllocator->Free(TestAllocator->Context, Bytes);
    }
}

static const ALLOCATOR TestMeasuringAllocator = {
    NULL,
    TestMeasureAllocate,
    TestMeasureFree
};

//
// Reads the clock.
// Returns milliseconds since some time.
//

static
ULONGLONG
TestMilliseconds(
    VOID
    )
{
    RTL_CLOCK_READING Reading;

    RtlReadClocks(TestRtl, &Reading);
    return Reading.Qpc * 1000 / Reading.QpcFrequency;
}

//
// DosPath: its path, terminated.
// RoomInBytes: how much more memory there is to be behind it.
// Returns the bytes, to be freed, or NULL.
//

static
PUCHAR
TestReadFile(
    PCWSTR DosPath,
    ULONG RoomInBytes,
    PULONG SizeInBytes
    )
{
    static TEST_PATH Path;
    PUCHAR Bytes = NULL;
    HANDLE File;
    ULONG Read;
    ULONGLONG Size;

    *SizeInBytes = 0;
    if (!TestMakePath(&Path, DosPath) ||
        !NT_SUCCESS(RtlOpenFileForReading(TestRtl, &Path.Nt, &File))) {
        return NULL;
    }

    if (NT_SUCCESS(RtlQueryFileSize(TestRtl, File, &Size)) &&
        Size < 0x40000000) {

        Bytes = TestAllocator->Allocate(TestAllocator->Context,
                                        (SIZE_T)Size + RoomInBytes + 1);
        while (Bytes != NULL && *SizeInBytes < Size) {
            if (!NT_SUCCESS(RtlReadFile(TestRtl,
                                        File,
                                        *SizeInBytes,
                                        Bytes + *SizeInBytes,
                                        (ULONG)Size - *SizeInBytes,
                                        &Read)) ||
                Read == 0) {
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
// Reads the list of addresses.
// Returns FALSE if it cannot be read.
//

static
BOOLEAN
TestReadList(
    PCWSTR DosPath
    )
{
    PUCHAR Bytes;
    ULONG Digits = 0;
    ULONG Index;
    ULONG Rva = 0;
    ULONG Size;
    UCHAR Byte;

    Bytes = TestReadFile(DosPath, 1, &Size);
    TestRvas = TestAllocator->Allocate(TestAllocator->Context,
                                       TEST_MAXIMUM_LOOKUPS * sizeof(ULONG));
    if (Bytes == NULL || TestRvas == NULL) {
        return FALSE;
    }

    Bytes[Size] = '\n';
    for (Index = 0; Index <= Size; Index++) {

        Byte = Bytes[Index];
        if (Byte >= '0' && Byte <= '9') {
            Rva = Rva * 16 + Byte - '0';
            Digits += 1;
        } else if (Byte >= 'a' && Byte <= 'f') {
            Rva = Rva * 16 + Byte - 'a' + 10;
            Digits += 1;
        } else {
            if (Digits != 0 && TestNumberOfRvas < TEST_MAXIMUM_LOOKUPS) {
                TestRvas[TestNumberOfRvas] = Rva;
                TestNumberOfRvas += 1;
            }
            Digits = 0;
            Rva = 0;
        }
    }

    TestAllocator->Free(TestAllocator->Context, Bytes);
    return TRUE;
}

//
// Is the first tool that the abstract describes.
//

static
VOID
TestLookUp(
    VOID
    )
{
    READER_SOURCE_LINE Line;
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;
    PUCHAR Bytes;
    PCSZ PathText = TestArguments[2].Utf8;
    ULONGLONG Loaded;
    ULONGLONG Started;
    ULONG Index;
    ULONG Size;

    Bytes = TestReadFile(TestArguments[2].Wide, 0, &Size);
    if (Bytes == NULL || Size < 4096 || !TestReadList(TestArguments[3].Wide)) {
        RtlWriteText(TestOutput, "%s: cannot be read\n", PathText);
        return;
    }

    Index = TestGetUlong(Bytes + 60);
    TestHeader.ModuleBase = TEST_BASE;
    TestHeader.ModuleSize = TestGetUlong(Bytes + Index + 24 + 56);
    TestHeader.ModuleTimeDateStamp = TestGetUlong(Bytes + Index + 8);
    TestHeader.ModuleCheckSum = TestGetUlong(Bytes + Index + 24 + 64);
    TestHeader.ModulePathLength = (ULONG)RtlLengthOfString(PathText);
    TestHeader.ModulePathFullLength = TestHeader.ModulePathLength;
    RtlCopyBytes(TestHeader.ModulePath,
                 PathText,
                 TestHeader.ModulePathLength);
    if (TestNumberOfArguments > 4) {
        PathText = TestArguments[4].Utf8;
        TestHeader.PdbPathLength = (ULONG)RtlLengthOfString(PathText);
        RtlCopyBytes(TestHeader.PdbPath, PathText, TestHeader.PdbPathLength);
    }
    TestAllocator->Free(TestAllocator->Context, Bytes);

    Started = TestMilliseconds();
    if (!NT_SUCCESS(SymbolCreateSymbols(TestRtl,
                                        &TestMeasuringAllocator,
                                        &TestHeader,
                                        NULL,
                                        &Symbols,
                                        &TestError))) {
        return;
    }

    Loaded = TestMilliseconds();
    for (Index = 0; Index < TestNumberOfRvas; Index++) {

        if (SymbolFindSymbol(Symbols, TestRvas[Index], &Symbol)) {
            RtlWriteText(TestOutput,
                         "=\t%x\t%x\t",
                         TestRvas[Index],
                         Symbol.StartRva);
            RtlWriteBytes(TestOutput,
                          Symbol.RawText,
                          Symbol.LinkageLengthInBytes);
            RtlWriteText(TestOutput, "\t");
        } else {
            RtlWriteText(TestOutput, "=\t%x\t-\t\t", TestRvas[Index]);
        }

        if (SymbolFindSourceLine(Symbols, TestRvas[Index], &Line)) {
            RtlWriteText(TestOutput,
                         "%u\t%s\n",
                         Line.LineNumber,
                         Line.FileName);
        } else {
            RtlWriteText(TestOutput, "0\t\n");
        }
    }

    RtlWriteText(TestOutput,
                 "#\tsource %u\tload %llu ms\tlookups %llu ms\tpeak %llu\n",
                 (ULONG)SymbolGetSymbolSource(Symbols),
                 Loaded - Started,
                 TestMilliseconds() - Loaded,
                 TestPeak);
    SymbolDestroySymbols(Symbols);
    if (TestInUse != 0) {
        RtlWriteText(TestOutput, "#\tlost %llu bytes\n", TestInUse);
    }
}

//
// What a damaged image gives.
//

typedef struct _TEST_DAMAGE {
    ULONG Names;
    ULONG Lines;
    ULONG BadUnits;
    ULONG Wrong;                    // lost or too much memory, bad answers
    ULONGLONG Milliseconds;         // the slowest
} TEST_DAMAGE;
typedef TEST_DAMAGE *PTEST_DAMAGE;

//
// Reads an image and looks up all addresses of the list in it.
// Damage: receives, additionally, what came of it.
//

static
VOID
TestUseImage(
    const UCHAR *Image,
    ULONG SizeInBytes,
    PTEST_DAMAGE Damage
    )
{
    static READER_COFF Coff;
    static READER_DWARF Dwarf;
    READER_DWARF_SYMBOL Symbol;
    PCSZ FileName;
    ULONGLONG Started = TestMilliseconds();
    ULONG Index;
    ULONG Length;
    ULONG LineNumber;
    NTSTATUS Status;

    TestPeak = TestInUse;
    RtlZeroBytes(&Dwarf, sizeof(Dwarf));

    Status = ImageInitializeCoff(&TestMeasuringAllocator,
                                 Image,
                                 SizeInBytes,
                                 &Coff);
    if (NT_SUCCESS(Status)) {
        Status = ImageInitializeDwarf(&TestMeasuringAllocator,
                                      &Coff,
                                      Image,
                                      SizeInBytes,
                                      &Dwarf);
    }

    if (NT_SUCCESS(Status)) {
        Damage->BadUnits += Dwarf.NumberOfBadUnits;
        for (Index = 0; Index < TestNumberOfRvas; Index++) {
            if (ImageFindDwarfFunction(&Dwarf, TestRvas[Index], &Symbol)) {
                Damage->Names += 1;
                Damage->Wrong += RtlLengthOfString(Symbol.Name) !=
                                 Symbol.LengthInBytes;
            }
            if (ImageFindDwarfLine(&Dwarf,
                                   TestRvas[Index],
                                   &LineNumber,
                                   &FileName,
                                   &Length)) {
                Damage->Lines += 1;
                Damage->Wrong += RtlLengthOfString(FileName) != Length ||
                                 LineNumber == 0;
            }
        }
    } else {
        Damage->Wrong += Status == STATUS_NO_MEMORY && TestFailAt == 0;
    }

    ImageRundownDwarf(&Dwarf);
    ImageRundownDwarf(&Dwarf);
    ImageRundownCoff(&Coff);
    Damage->Wrong += TestInUse != 0;
    Damage->Wrong += TestPeak > (ULONGLONG)TEST_MEMORY_FACTOR * SizeInBytes +
                                TEST_MEMORY_MORE;
    Started = TestMilliseconds() - Started;
    if (Started > Damage->Milliseconds) {
        Damage->Milliseconds = Started;
    }
}

//
// Makes a pseudorandom number.
//

static
ULONG
TestRandom(
    PULONGLONG Seed
    )
{
    *Seed = *Seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (ULONG)(*Seed >> 33);
}

//
// Reads a decimal number.
// Text: its digits, terminated.
//

static
ULONG
TestParseNumber(
    PCSZ Text
    )
{
    ULONG Number = 0;

    for (; *Text >= '0' && *Text <= '9'; Text++) {
        Number = Number * 10 + *Text - '0';
    }

    return Number;
}

//
// Damages the debugging information of an image: some bytes, a run of bytes,
// or its end (the file ends in the section).
// Sections, NumberOfSections: where the information is.
// Seed: the state of the pseudorandom numbers.
//

static
VOID
TestDamageImage(
    PUCHAR Image,
    PULONG SizeInBytes,
    const READER_DWARF_BYTES *Sections,
    ULONG NumberOfSections,
    PULONGLONG Seed
    )
{
    static const UCHAR Values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    const READER_DWARF_BYTES *Section;
    ULONG Count;
    ULONG Kind;
    ULONG Place;

    Kind = TestRandom(Seed) % 16;
    Section = &Sections[TestRandom(Seed) % NumberOfSections];
    Place = TestRandom(Seed) % Section->SizeInBytes;

    if (Kind == 0) {
        *SizeInBytes = (ULONG)(Section->Bytes - Image) + Place;
        return;
    }

    if (Kind < 4) {
        Count = TestRandom(Seed) % 64;
        for (; Count > 0 && Place < Section->SizeInBytes; Count--) {
            ((PUCHAR)Section->Bytes)[Place] = (UCHAR)TestRandom(Seed);
            Place += 1;
        }
        return;
    }

    for (Count = 1 + TestRandom(Seed) % 8; Count > 0; Count--) {

        //
        // Half of them where the headers and the first tables are.
        //

        if (Kind < 10) {
            Place %= 128;
        }
        if (Place < Section->SizeInBytes) {
            ((PUCHAR)Section->Bytes)[Place] =
                Values[TestRandom(Seed) % RTL_NUMBER_OF(Values)];
        }
        Place = TestRandom(Seed) % Section->SizeInBytes;
    }
}

//
// Is the second tool that the abstract describes. The undamaged image is the
// first; the last ones are undamaged, too, and memory gets scarce.
//

static
VOID
TestDamage(
    VOID
    )
{
    static const PCSZ Names[] = {
        ".debug_info", ".debug_abbrev", ".debug_str", ".debug_line",
        ".debug_line_str", ".debug_ranges", ".debug_rnglists",
        ".debug_str_offsets", ".debug_addr"
    };
    READER_DWARF_BYTES Sections[RTL_NUMBER_OF(Names)];
    TEST_DAMAGE Damage = { 0 };
    TEST_DAMAGE Scarce = { 0 };
    TEST_DAMAGE Whole = { 0 };
    READER_COFF Coff;
    PVOID Base = NULL;
    PUCHAR Bytes;
    PUCHAR Image;
    SIZE_T RegionSize;
    SIZE_T Room;
    ULONGLONG Seed;
    ULONG Count;
    ULONG Index;
    ULONG Number = 0;
    ULONG Size;
    ULONG WholeSize;

    Bytes = TestReadFile(TestArguments[2].Wide, 0, &WholeSize);
    if (Bytes == NULL || !TestReadList(TestArguments[3].Wide)) {
        RtlWriteText(TestOutput, "cannot be read\n");
        return;
    }

    //
    // The last page is not committed.
    //

    Room = ((SIZE_T)WholeSize + TEST_PAGE - 1) & ~(SIZE_T)(TEST_PAGE - 1);
    RegionSize = Room + TEST_PAGE;
    if (!NT_SUCCESS(TestRtl->NtAllocateVirtualMemory(TEST_THIS_PROCESS,
                                                     &Base,
                                                     0,
                                                     &RegionSize,
                                                     MEM_RESERVE,
                                                     PAGE_NOACCESS))) {
        return;
    }

    RegionSize = Room;
    if (!NT_SUCCESS(TestRtl->NtAllocateVirtualMemory(TEST_THIS_PROCESS,
                                                     &Base,
                                                     0,
                                                     &RegionSize,
                                                     MEM_COMMIT,
                                                     PAGE_READWRITE))) {
        return;
    }

    Image = (PUCHAR)Base + Room - WholeSize;
    RtlCopyBytes(Image, Bytes, WholeSize);
    if (!NT_SUCCESS(ImageInitializeCoff(TestAllocator,
                                        Image,
                                        WholeSize,
                                        &Coff))) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index++) {
        Sections[Number].Bytes = ImageFindCoffSection(
            &Coff,
            Image,
            WholeSize,
            Names[Index],
            &Sections[Number].SizeInBytes);
        Number += Sections[Number].Bytes != NULL;
    }
    ImageRundownCoff(&Coff);
    if (Number == 0) {
        return;
    }

    TestUseImage(Image, WholeSize, &Whole);

    Seed = TestParseNumber(TestArguments[5].Utf8);
    Count = TestParseNumber(TestArguments[4].Utf8);
    for (Index = 0; Index < Count; Index++) {

        RtlCopyBytes(Image, Bytes, WholeSize);
        Size = WholeSize;
        TestDamageImage(Image, &Size, Sections, Number, &Seed);

        //
        // A file that was cut ends at the end of memory.
        //

        if (Size != WholeSize) {
            RtlZeroBytes(Image, WholeSize);
            RtlCopyBytes(Image + WholeSize - Size, Bytes, Size);
        }

        TestUseImage(Image + WholeSize - Size, Size, &Damage);
    }

    RtlCopyBytes(Image, Bytes, WholeSize);
    for (TestFailAt = 1; TestFailAt < 60; TestFailAt++) {
        TestCalls = 0;
        TestUseImage(Image, WholeSize, &Scarce);
    }

    RtlWriteText(TestOutput,
                 "#\twhole %u names %u lines %u bad\t"
                 "%u damaged: %u names %u lines %u bad\t"
                 "wrong %u\tslowest %llu ms\n",
                 Whole.Names,
                 Whole.Lines,
                 Whole.BadUnits,
                 Count,
                 Damage.Names,
                 Damage.Lines,
                 Damage.BadUnits,
                 Whole.Wrong + Damage.Wrong + Scarce.Wrong,
                 Damage.Milliseconds);
}

//
// Numbers, with the examples of DWARF 5, section 7.6, and the ends of bytes.
//

static
VOID
TestNumbers(
    VOID
    )
{
    static const struct {
        UCHAR Bytes[12];
        ULONG Size;
        ULONGLONG Unsigned;
        LONGLONG Signed;
    } Numbers[] = {
        { { 2 }, 1, 2, 2 },
        { { 127 }, 1, 127, -1 },
        { { 0x80, 1 }, 2, 128, 128 },
        { { 0x81, 1 }, 2, 129, 129 },
        { { 57 + 0x80, 100 }, 2, 12857, 12857 - 16384 },
        { { 0x7e }, 1, 0x7e, -2 },
        { { 0xff, 0 }, 2, 127, 127 },
        { { 0x81, 0x7f }, 2, 0x3f81, -127 },
        { { 0x80, 0x7f }, 2, 0x3f80, -128 },
        { { 0xff, 0x7e }, 2, 0x3f7f, -129 },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
          10, ~0ULL, -1 },
        { { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
            0x80, 0x00 }, 12, 0, 0 }
    };
    READER_DWARF_BYTES Section;
    READER_CURSOR Cursor;
    ULONG Index;
    ULONG Size;

    for (Index = 0; Index < RTL_NUMBER_OF(Numbers); Index++) {
        Section.Bytes = Numbers[Index].Bytes;
        Section.SizeInBytes = Numbers[Index].Size;
        ImageSetCursor(&Cursor, &Section, 0, ~0ULL);
        TEST_EQUAL(ImageReadUleb(&Cursor), Numbers[Index].Unsigned);
        TEST(!Cursor.IsBad && Cursor.Next == Cursor.End);
        ImageSetCursor(&Cursor, &Section, 0, ~0ULL);
        TEST_EQUAL(ImageReadSleb(&Cursor), Numbers[Index].Signed);
        TEST(!Cursor.IsBad && Cursor.Next == Cursor.End);

        //
        // Cut.
        //

        for (Size = 0; Size < Numbers[Index].Size; Size++) {
            ImageSetCursor(&Cursor, &Section, 0, Size);
            TEST(ImageReadUleb(&Cursor) == 0 && Cursor.IsBad);
            ImageSetCursor(&Cursor, &Section, 0, Size);
            TEST(ImageReadSleb(&Cursor) == 0 && Cursor.IsBad);
        }
    }

    Section.Bytes = Numbers[10].Bytes;
    Section.SizeInBytes = 10;
    ImageSetCursor(&Cursor, &Section, 8, ~0ULL);
    TEST_EQUAL(ImageReadUnsigned(&Cursor, 2), 0x1ff);
    TEST(!Cursor.IsBad);
    TEST_EQUAL(ImageReadUnsigned(&Cursor, 1), 0);
    TEST(Cursor.IsBad);
    ImageSetCursor(&Cursor, &Section, 3, ~0ULL);
    TEST_EQUAL(ImageReadUnsigned(&Cursor, 8), 0);
    TEST(Cursor.IsBad && Cursor.Next == Cursor.End);
    ImageSetCursor(&Cursor, &Section, 11, ~0ULL);
    TEST(Cursor.IsBad && Cursor.Next == Cursor.End);
    ImageSetCursor(&Cursor, &Section, ~0ULL, ~0ULL);
    TEST(Cursor.IsBad && Cursor.Next == Cursor.End);
    ImageSetCursor(&Cursor, &Section, 0, ~0ULL);
    ImageSkipBytes(&Cursor, 10);
    TEST(!Cursor.IsBad);
    ImageSkipBytes(&Cursor, ~0ULL);
    TEST(Cursor.IsBad);
}

//
// Every form: reading a value passes over as many bytes as its size says, and
// not one if it is cut.
//

static
VOID
TestForms(
    VOID
    )
{
    static const UCHAR Bytes[32] = {
        3, 0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
    };
    static const READER_DWARF_ENCODING Encodings[] = {
        { 2, 4 }, { 3, 4 }, { 4, 8 }, { 5, 4 }, { 5, 8 }
    };
    READER_DWARF_BYTES Section = { Bytes, sizeof(Bytes) };
    READER_DWARF_VALUE Value;
    READER_CURSOR Cursor;
    ULONG Form;
    ULONG Index;
    ULONG Known;
    ULONG Length;
    ULONG Size;

    for (Index = 0; Index < RTL_NUMBER_OF(Encodings); Index++) {

        Known = 0;
        for (Form = 0; Form < 0x2100; Form++) {

            Size = ImageGetFormSize(&Encodings[Index], Form);
            ImageSetCursor(&Cursor, &Section, 0, ~0ULL);
            Value.Value = 77;
            ImageReadForm(&Cursor, &Encodings[Index], Form, &Value);
            if (Size == READER_FORM_UNKNOWN) {
                TEST(Cursor.IsBad);
                continue;
            }

            Known += 1;
            TEST(!Cursor.IsBad);
            if (Size != READER_FORM_VARIABLE) {
                TEST_EQUAL(Cursor.Next - Bytes, Size);
            } else {
                TEST(Cursor.Next - Bytes >= 1 && Cursor.Next - Bytes <= 7);
            }

            if (Form == DW_FORM_implicit_const) {
                TEST_EQUAL(Value.Value, 77);
            }

            if (Size != 0) {
                ImageSetCursor(&Cursor,
                               &Section,
                               0,
                               (ULONGLONG)(Cursor.Next - Bytes - 1));
                ImageReadForm(&Cursor, &Encodings[Index], Form, &Value);
                TEST(Cursor.IsBad);
            }
        }
        TEST_EQUAL(Known, 46);
    }

    TEST_EQUAL(ImageGetFormSize(&Encodings[0], DW_FORM_ref_addr), 8);
    TEST_EQUAL(ImageGetFormSize(&Encodings[1], DW_FORM_ref_addr), 4);
    TEST_EQUAL(ImageGetFormSize(&Encodings[4], DW_FORM_strp), 8);

    TEST(ImageFindString(&Section, 0, 100, &Length) == Bytes && Length == 1);
    TEST(ImageFindString(&Section, 4, 3, &Length) == Bytes + 4 &&
         Length == 3);
    TEST(ImageFindString(&Section, 31, 100, &Length) == Bytes + 31 &&
         Length == 0);
    TEST(ImageFindString(&Section, 32, 100, &Length) == NULL);
    Section.SizeInBytes = 20;
    TEST(ImageFindString(&Section, 4, 100, &Length) == NULL && Length == 0);
}

//
// The order of ranges, and the search in them against a plain one.
//

static
VOID
TestPairs(
    VOID
    )
{
    static READER_DWARF_PAIR Pairs[300];
    PCREADER_DWARF_PAIR Best;
    PCREADER_DWARF_PAIR Found;
    ULONGLONG Seed = 1;
    ULONG Count;
    ULONG Index;
    ULONG Number;
    ULONG Rva;
    ULONG Wrong = 0;

    for (Count = 0; Count < 200; Count++) {

        Number = TestRandom(&Seed) % RTL_NUMBER_OF(Pairs);
        for (Index = 0; Index < Number; Index++) {
            Rva = TestRandom(&Seed) % 4000;
            Pairs[Index].Key = ((ULONGLONG)Rva << 32) |
                               (Rva + 1 + TestRandom(&Seed) % 30);
            Pairs[Index].Value = Index;
        }

        ImageSortDwarfPairs(Pairs, Number);

        for (Index = 1; Index < Number; Index++) {
            Wrong += READER_DWARF_START(&Pairs[Index - 1]) >
                     READER_DWARF_START(&Pairs[Index]);
        }

        for (Rva = 0; Rva < 4040; Rva += 1 + Count % 7) {

            //
            // The nearest start; of equal ones the shortest range; of equal
            // ranges the lowest value.
            //

            Best = NULL;
            for (Index = 0; Index < Number; Index++) {
                Found = &Pairs[Index];
                if (Rva < READER_DWARF_START(Found) ||
                    Rva >= READER_DWARF_END(Found)) {
                    continue;
                }
                if (Best == NULL ||
                    READER_DWARF_START(Found) > READER_DWARF_START(Best) ||
                    (READER_DWARF_START(Found) == READER_DWARF_START(Best) &&
                     (Found->Key < Best->Key ||
                      (Found->Key == Best->Key &&
                       Found->Value < Best->Value)))) {
                    Best = Found;
                }
            }

            Wrong += ImageFindDwarfPair(Pairs, Number, Rva) != Best;
        }
    }

    TEST_EQUAL(Wrong, 0);
    ImageSortDwarfPairs(NULL, 0);
    TEST(ImageFindDwarfPair(NULL, 0, 5) == NULL);
}

//
// Runs the tests, or a tool.
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

    if (TestNumberOfArguments == 4 || TestNumberOfArguments == 5) {
        TestLookUp();
        TestExit(0);
    }

    if (TestNumberOfArguments == 6) {
        TestDamage();
        TestExit(0);
    }

    TestNumbers();
    TestForms();
    TestPairs();
}

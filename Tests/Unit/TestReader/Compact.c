/*++

Module Name:

    Compact.c

Abstract:

    TestReader: compact stores.  Where things are in their files is stated by
    hand, from Docs/Format.md; that commands read what is in blocks is for
    Tests/Product/TestCompactReader.py.

--*/

#include "TestReader.h"
#include "../../../Codec/Codec.h"

#define TEST_RING 0x30000u
#define TEST_BLOCKS 0x40000u            // where the stream begins
#define TEST_COMPACT_FILE 0x42000u
#define TEST_IN_BLOCK 100u              // records, of each of two blocks
#define TEST_RAW 20u                    // records behind those

static union {
    TRACE_STORE_HEADER Header;
    UCHAR Bytes[TEST_COMPACT_FILE];
    ULONGLONG Words[TEST_COMPACT_FILE / 8];
} TestCompact;

static ULONGLONG TestEncoder[CODEC_ENCODER_SIZE / sizeof(ULONGLONG)];


//
// Makes the header of a store with nothing in it.
//

static
VOID
TestMakeCompact(
    VOID
    )
{
    TestMakeStore(&TestStore, NULL, 0);
    TestStore.Header.MajorVersion = 2;
    TestStore.Header.Mode = 2;
    TestStore.Header.RingFileOffset = 0x10000;
    TestStore.Header.RingSizeInBytes = TEST_RING;
    TestStore.Header.BlocksFileOffset = TEST_BLOCKS;
    TestStore.Header.BlocksTail = ~0ULL;
}


static
VOID
TestCompactHeaders(
    VOID
    )
{
    static const struct {
        USHORT Major;
        ULONG Mode;
        ULONGLONG RingSize;
        ULONGLONG First;
        ULONGLONG FileOffset;
        ULONGLONG Capacity;
        PCSZ Field;
    } Cases[] = {
        { 2, 2, 0x30000, 0, 0x40000, 0, "" },
        { 2, 2, 0x30000, 5008, 0x40000, 0, "" },
        { 2, 2, 0x400000, 0x10000, 0x410000, 0x10000, "" },
        { 2, 2, 0x30000, 0, 0x10000, 0, "" },
        { 1, 2, 0x30000, 0, 0x40000, 0, "Mode" },
        { 2, 0, 0x30000, 0, 0x40000, 0, "MajorVersion" },
        { 2, 1, 0x30000, 0, 0x40000, 0, "MajorVersion" },
        { 3, 2, 0x30000, 0, 0x40000, 0, "MajorVersion" },
        { 2, 3, 0x30000, 0, 0x40000, 0, "MajorVersion" },
        { 2, 2, 0, 0, 0x40000, 0, "RingSizeInBytes" },
        { 2, 2, 0x20000, 0, 0x40000, 0, "RingSizeInBytes" },
        { 2, 2, 0x30000, 0, 0, 0, "BlocksFileOffset" },
        { 2, 2, 0x30000, 0, 0x40008, 0, "BlocksFileOffset" },
        { 2, 2, 0x30000, 0, 0x4000000000010000ULL, 0, "BlocksFileOffset" },
        { 2, 2, 0x30000, 0, 0x40000, 0x8000, "BlocksCapacity" },
        { 2, 2, 0x30000, 0, 0x40000, 0x8000000000000000ULL,
          "BlocksCapacity" },
    };
    CORE_HEADER_RESULT Result;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
        TestMakeCompact();
        TestStore.Header.MajorVersion = Cases[Index].Major;
        TestStore.Header.Mode = Cases[Index].Mode;
        TestStore.Header.RingSizeInBytes = Cases[Index].RingSize;
        TestStore.Header.FirstPosition = Cases[Index].First;
        TestStore.Header.BlocksFileOffset = Cases[Index].FileOffset;
        TestStore.Header.BlocksCapacity = Cases[Index].Capacity;
        TEST_EQUAL(CoreValidateHeader(&TestStore, 4096, &Result),
                   Cases[Index].Field[0] == 0);
        TEST_EQUAL_STRING(Result.Field, Cases[Index].Field);
    }
}


static
VOID
TestCompactPlaces(
    VOID
    )
{
    static const struct {
        ULONGLONG Capacity;
        ULONGLONG Tail;
        ULONGLONG StreamOffset;
        ULONGLONG FileOffset;
        ULONGLONG Together;
    } Streams[] = {
        { 0, ~0ULL, 0, 0x40000, 0x4000000000000000ULL },
        { 0, ~0ULL, 0x123458, 0x163458, 0x4000000000000000ULL },
        { 0, 0, 0x100, 0x1100, 0x4000000000000000ULL },
        { 0, 0x200, 0x1F8, 0x401F8, 8 },
        { 0, 0x200, 0x200, 0x1000, 0x4000000000000000ULL },
        { 0x10000, ~0ULL, 0x2FFF8, 0x4FFF8, 8 },
        { 0x10000, ~0ULL, 0x30000, 0x40000, 0x10000 },
        { 0x10000, 0x30008, 0x30000, 0x40000, 8 },
        { 0x10000, 0x30008, 0x30008, 0x1000, 0x4000000000000000ULL },
    };

    //
    // The end of the records, where raw ones begin, the file's size; what is
    // found.
    //

    static const struct {
        ULONGLONG End;
        ULONGLONG First;
        ULONGLONG FileSize;
        CORE_END_STATE State;
        ULONGLONG FoundEnd;
    } Ranges[] = {
        { 0x1000, 0x1000, 0x1000, CoreEndValid, 0x1000 },
        { 0x40000, 0x1000, 0x40000, CoreEndValid, 0x40000 },
        { 0x40010, 0x1000, 0x40000, CoreEndBad, 0x1000 },
        { 0x40010, 0x10000, 0x40000, CoreEndBad, 0x1000 },
        { 0x40010, 0x10010, 0x40000, CoreEndValid, 0x40010 },
        { 0x770000, 0x770000, 0x2000, CoreEndValid, 0x770000 },
        { 0x760000, 0x770000, 0x2000, CoreEndValid, 0x760000 },
        { 0x50100, 0x30000, 0x40000, CoreEndValid, 0x50100 },
        { 0x50100, 0x30000, 0x38018, CoreEndBeyondFile, 0x38010 },
        { 0x50100, 0x30000, 0x20000, CoreEndBeyondFile, 0x30000 },
        { 0x50108, 0x30000, 0x40000, CoreEndBad, 0x1000 },
    };
    CORE_BLOCKS Blocks;
    CORE_RANGE Range;
    ULONGLONG Together;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Streams); Index++) {
        TestMakeCompact();
        TestStore.Header.BlocksCapacity = Streams[Index].Capacity;
        TestStore.Header.BlocksTail = Streams[Index].Tail;
        CoreReadBlocks(&TestStore.Header, &Blocks);
        TEST_EQUAL(CoreStreamToFileOffset(&TestStore.Header,
                                          &Blocks,
                                          Streams[Index].StreamOffset,
                                          &Together),
                   Streams[Index].FileOffset);
        TEST_EQUAL(Together, Streams[Index].Together);
    }

    TestMakeCompact();
    for (Index = 0; Index < RTL_NUMBER_OF(Ranges); Index++) {
        TEST_EQUAL(CoreFindRecords(&TestStore.Header,
                                   Ranges[Index].End,
                                   Ranges[Index].First,
                                   Ranges[Index].FileSize,
                                   &Range),
                   Ranges[Index].State);
        TEST_EQUAL(Range.End, Ranges[Index].FoundEnd);
    }

    //
    // The oldest block is read after the end of all.
    //

    TestStore.Header.BlocksEnd = 0x20000;
    TestStore.Header.BlocksFirst = 0x20008;
    CoreReadBlocks(&TestStore.Header, &Blocks);
    TEST(!CoreAreBlocksGood(&TestStore.Header, &Blocks));
    TestStore.Header.BlocksCapacity = 0x10000;
    TEST(CoreAreBlocksGood(&TestStore.Header, &Blocks));
    Blocks.Oldest = 0x10000;
    TEST(CoreAreBlocksGood(&TestStore.Header, &Blocks));
    Blocks.Oldest = 0xFFF8;
    TEST(!CoreAreBlocksGood(&TestStore.Header, &Blocks));
    Blocks.Oldest = 0x10004;
    TEST(!CoreAreBlocksGood(&TestStore.Header, &Blocks));
}


//
// Writes a store of two blocks and some raw records: calls of one function,
// each 3 ticks long.
//

static
BOOLEAN
TestWriteCompact(
    VOID
    )
{
    TRACE_RECORD Records[TEST_IN_BLOCK];
    ULONGLONG Position = 4096;
    ULONGLONG Offset = 0;
    ULONG Block;
    ULONG Index;
    ULONG Size;

    TestMakeCompact();
    RtlZeroBytes(&TestCompact, sizeof(TestCompact));
    for (Block = 0; Block < 3; Block++) {

        Size = Block < 2 ? TEST_IN_BLOCK : TEST_RAW;
        for (Index = 0; Index < Size; Index++) {
            Records[Index].Timestamp = Position / 16 * 10 + Index * 10 -
                                       (Index % 2) * 7;
            Records[Index].Site = (ULONG)TestStore.Header.ModuleBase + 0x1000;
            Records[Index].StackKind =
                ((ULONG)TestStore.Header.StackBase - 64) |
                (Index % 2 == 0 ? TRACE_KIND_ENTER : TRACE_KIND_EXIT);
        }

        if (Block == 2) {
            RtlCopyBytes(TestCompact.Bytes + Position,
                         Records,
                         TEST_RAW * 16);
        } else {
            Offset += CodecEncode((PCODEC_ENCODER)TestEncoder,
                                  Records,
                                  Size * 16,
                                  Position,
                                  TestCompact.Bytes + TEST_BLOCKS + Offset);
            Offset = (Offset + 7) & ~7ULL;
        }

        Position += (ULONGLONG)Size * 16;
    }

    TestStore.Header.BlocksEnd = Offset;
    TestStore.Header.FirstPosition = Position - TEST_RAW * 16;
    TestSetEnd(&TestStore.Header, Position);
    TestCompact.Header = TestStore.Header;
    return TestBeginSession() &&
           TestWriteStore(L"compact.trace",
                          (const TEST_STORE *)(const VOID *)&TestCompact,
                          TEST_COMPACT_FILE);
}


//
// Makes every allocation of commands fail in turn.
//

static
VOID
TestCompactFailures(
    VOID
    )
{
    static const PCSZ CommandLines[] = {
        "report @", "replay @", "verify @", "info --internals @"
    };
    ULONGLONG Fail;
    ULONG Index;
    ULONG Code = 0;

    for (Index = 0; Index < RTL_NUMBER_OF(CommandLines); Index++) {

        for (Fail = 0; Fail < 1000; Fail++) {

            TestFailFrom = TestNumberOfAllocations + Fail;
            Code = TestRun(CommandLines[Index]);
            TestFailFrom = ~0ULL;
            if (TestNumberOfAllocations != TestNumberOfFrees ||
                Code != 1 || TestErr.LengthInBytes == 0) {
                break;
            }
        }

        TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
        TEST_EQUAL(Code, 0);
        TEST(Fail > 5 && Fail < 1000);
    }
}


_Use_decl_annotations_
VOID
TestCompactStores(
    VOID
    )
{
    TestCompactHeaders();
    TestCompactPlaces();
    if (!TEST(TestWriteCompact())) {
        return;
    }

    TEST_EQUAL(TestRun("verify @"), 0);
    TEST(TestContains(&TestOut, "1 store, 220 records, 0 bad, 0 lost"));
    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST(TestContains(&TestOut, "\r\n110,"));
    TestCompactFailures();

    //
    // One bit of a block.
    //

    TestCompact.Bytes[TEST_BLOCKS + 80] ^= 1;
    TEST(TestWriteStore(L"compact.trace",
                        (const TEST_STORE *)(const VOID *)&TestCompact,
                        TEST_COMPACT_FILE));
    TEST_EQUAL(TestRun("verify @"), 2);
    TEST(TestContains(&TestOut, "100 bad records, the first at offset 262144: "
                                "in a damaged block"));
    TEST(TestContains(&TestOut, "1 store, 120 records, 100 bad, 0 lost"));
}

/*++

Module Name:

    TestCodec.c

Abstract:

    Tests the codec (Codec/): what is decoded is what was encoded, whatever it
    was; blocks are no larger than is promised; whatever is not a good block is
    refused, and nothing outside of the buffers is read or written, which the
    page before and the page behind each of them tell.

    Tests/Product/TestCodec.py decodes blocks with a second decoder, and
    Tests/Fuzz/FuzzCodec*.c go on where these inputs end.

--*/

#include "../../Codec/Codec.h"
#include "../../TraceStore/TraceFormat.h"
#include "Test.h"

#define TEST_PAGE_SIZE 4096u
#define TEST_SITES 700u
#define TEST_MODULE 0x40001000u

//
// Memory with a page before and behind it that nobody may touch.  What is
// asked for ends at the page behind, as far as alignment lets it.
//

typedef struct _TEST_GUARDED {
    PUCHAR Memory;
    SIZE_T CapacityInBytes;
} TEST_GUARDED;
typedef TEST_GUARDED *PTEST_GUARDED;

static TEST_GUARDED TestRaw;
static TEST_GUARDED TestBlock;
static TEST_GUARDED TestResult;
static TEST_GUARDED TestWork[3];
static PCODEC_ENCODER TestEncoder;
static PCODEC_PACKER TestPacker;
static PCODEC_DECODER TestDecoder;
static ULONGLONG TestState;

static
ULONG
TestRandom(
    VOID
    )
{
    TestState = TestState * 6364136223846793005ULL + 1442695040888963407ULL;
    return (ULONG)(TestState >> 33);
}

static
BOOLEAN
TestAllocateGuarded(
    _Out_ PTEST_GUARDED Guarded,
    _In_ SIZE_T SizeInBytes
    )
{
    SIZE_T Size = (SizeInBytes + TEST_PAGE_SIZE - 1) &
                  ~(SIZE_T)(TEST_PAGE_SIZE - 1);
    PUCHAR Memory = VirtualAlloc(NULL,
                                 Size + 2 * TEST_PAGE_SIZE,
                                 MEM_RESERVE,
                                 PAGE_NOACCESS);

    Guarded->CapacityInBytes = Size;
    Guarded->Memory = NULL;
    if (Memory != NULL) {
        Guarded->Memory = VirtualAlloc(Memory + TEST_PAGE_SIZE,
                                       Size,
                                       MEM_COMMIT,
                                       PAGE_READWRITE);
    }

    return TEST(Guarded->Memory != NULL);
}

//
// So many bytes right before the page behind; Alignment is a power of two.
//

static
PVOID
TestAtEnd(
    _In_ const TEST_GUARDED *Guarded,
    _In_ SIZE_T SizeInBytes,
    _In_ SIZE_T Alignment
    )
{
    return Guarded->Memory +
           ((Guarded->CapacityInBytes - SizeInBytes) & ~(Alignment - 1));
}

static
VOID
TestFill(
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ UCHAR Value,
    _In_ SIZE_T SizeInBytes
    )
{
    RtlFillBytes(Bytes, SizeInBytes, Value);
}

//
// The inputs.  A thread's calls are made by a program of its own: a function
// calls others by a table, so that what follows is mostly the same.
//

typedef enum _TEST_INPUT {
    TestZeroes = 0,
    TestNoise,
    TestCalls,
    TestSlowCalls,              // often longer than a token says
    TestDamagedCalls,           // bad kinds, holes, times that go backwards
    TestShiftedCalls,           // by 8 bytes in places
    TestManySites,              // more than have numbers
    TestEqual,                  // one record many times
    TestRandomSites,            // ordinary times, no site twice
    TestAlmost,                 // just about smaller than stored
    TestExtremes,               // all ones and zeroes by turns
    TestInputs
} TEST_INPUT;

static
VOID
TestMakeCalls(
    _Out_writes_(NumberOfRecords) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _In_ ULONG Sites,
    _In_ ULONG LongestGap
    )
{
    ULONG Stack[64];
    ULONG Depth = 0;
    ULONG Index;
    ULONG Rsp = 0x12FF00;
    ULONG Site = 1;
    ULONGLONG Time = 0x123456789ABCULL;

    for (Index = 0; Index < NumberOfRecords; Index++) {

        Time += 18 + TestRandom() % LongestGap;
        if (Depth == 0 || (Depth < 64 && (TestRandom() & 15) < 7)) {

            Site = (Site * 5 + 3 + (TestRandom() & 31) / 31) % Sites;
            Stack[Depth] = Site;
            Depth += 1;
            Rsp -= 0x40 + 8 * (Site % 9);
            Records[Index].Site = TEST_MODULE + Site * 32;
            Records[Index].StackKind = Rsp | TRACE_KIND_ENTER;

        } else {

            Depth -= 1;
            Site = Stack[Depth];
            Records[Index].Site = TEST_MODULE + Site * 32 + 21;
            Records[Index].StackKind = Rsp | TRACE_KIND_EXIT;
            Rsp += 0x40 + 8 * (Site % 9);
        }

        Records[Index].Timestamp = Time;
    }
}

static
VOID
TestMakeInput(
    _In_ TEST_INPUT Input,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PTRACE_RECORD Records = (PTRACE_RECORD)Bytes;
    ULONG NumberOfRecords = SizeInBytes / sizeof(TRACE_RECORD);
    ULONG Index;

    for (Index = NumberOfRecords * sizeof(TRACE_RECORD); Index < SizeInBytes;
         Index++) {
        Bytes[Index] = (UCHAR)TestRandom();
    }

    switch (Input) {

    case TestZeroes:
        TestFill(Bytes, 0, SizeInBytes);
        break;

    case TestNoise:
        for (Index = 0; Index < SizeInBytes; Index++) {
            Bytes[Index] = (UCHAR)TestRandom();
        }
        break;

    case TestCalls:
        TestMakeCalls(Records, NumberOfRecords, TEST_SITES, 20);
        break;

    case TestSlowCalls:
        TestMakeCalls(Records, NumberOfRecords, TEST_SITES, 3000);
        break;

    case TestManySites:
        TestMakeCalls(Records, NumberOfRecords, 30000, 60);
        break;

    case TestDamagedCalls:
        TestMakeCalls(Records, NumberOfRecords, TEST_SITES, 60);
        for (Index = 0; Index < NumberOfRecords; Index++) {
            switch (TestRandom() % 40) {

            case 0:
                Records[Index].StackKind ^= TestRandom() & 7;
                break;

            case 1:
                Records[Index].Timestamp -= TestRandom();
                break;

            case 2:
                Records[Index].Timestamp = 0;
                break;

            case 3:
                Records[Index].Site ^= TestRandom();
                break;

            case 4:
                Records[Index].Timestamp <<= 24;
                break;
            }
        }
        break;

    case TestShiftedCalls:
        TestMakeCalls(Records, NumberOfRecords, TEST_SITES, 60);
        for (Index = SizeInBytes / 3; Index + 8 < SizeInBytes / 2; Index++) {
            Bytes[Index] = Bytes[Index + 8];
        }
        break;

    case TestEqual:
        for (Index = 0; Index < NumberOfRecords; Index++) {
            Records[Index].Timestamp = ~0ULL;
            Records[Index].Site = 0xFFFFFFFF;
            Records[Index].StackKind = 0xFFFFFFFF;
        }
        break;

    case TestRandomSites:
        for (Index = 0; Index < NumberOfRecords; Index++) {
            Records[Index].Timestamp = 1000 + Index;
            Records[Index].Site = TestRandom() * 2;
            Records[Index].StackKind = 8;
        }
        break;

    case TestAlmost:
        for (Index = 0; Index < NumberOfRecords; Index++) {
            Records[Index].Timestamp =
                (ULONGLONG)TestRandom() * TestRandom() * 3;
            Records[Index].Site = TestRandom() * 2;
            Records[Index].StackKind =
                (TestRandom() & 63) < 20 ? TestRandom() : 8;
        }
        break;

    default:
        for (Index = 0; Index < NumberOfRecords; Index++) {
            Records[Index].Timestamp = (Index & 1) != 0 ? ~0ULL : 0;
            Records[Index].Site = (Index & 2) != 0 ? 0xFFFFFFFF : 0;
            Records[Index].StackKind = (Index & 4) != 0 ? 0xFFFFFFFF : 0;
        }
        break;
    }
}

//
// The sizes: none, parts of records, few records, all that there may be.
//

static const ULONG TestSizes[] = {
    0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 64, 65, 80, 95, 96, 112, 127,
    128, 144, 255, 256, 1000, 4096, 4100, 16 * 1021, 16 * 4099 + 3, 65536,
    16 * 16384 + 8, CODEC_MAXIMUM_BYTES - 16, CODEC_MAXIMUM_BYTES - 1,
    CODEC_MAXIMUM_BYTES
};

static
ULONG
TestEncodeInput(
    _In_ ULONG Level,
    _In_ const VOID *Raw,
    _In_ ULONG SizeInBytes,
    _Out_ PUCHAR *Block
    )
{
    ULONG Bound = CODEC_BOUND(SizeInBytes);
    ULONG Size;
    ULONG Index;

    *Block = TestAtEnd(&TestBlock, Bound, 8);
    TestFill(*Block, 0xA5, TestBlock.Memory + TestBlock.CapacityInBytes -
                               *Block);
    Size = Level == 1
               ? CodecEncode(TestEncoder, Raw, SizeInBytes, 77, *Block)
               : CodecPack(TestPacker, Raw, SizeInBytes, 77, *Block);
    TEST(Size >= CODEC_HEADER_SIZE && Size <= Bound);

    //
    // Alignment leaves some bytes behind the bound.
    //

    for (Index = Bound; *Block + Index <
                        TestBlock.Memory + TestBlock.CapacityInBytes;
         Index++) {
        if (!TEST_EQUAL((*Block)[Index], 0xA5)) {
            break;
        }
    }

    return Size;
}

//
// Is what was decoded what was encoded?  Byte by byte, by this program's own
// loop.
//

static
BOOLEAN
TestIsSame(
    _In_reads_bytes_(SizeInBytes) const UCHAR *First,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Second,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        if (First[Index] != Second[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Decodes a block into a buffer that is as large as it must be, from memory
// that ends where the block does.
//

static
NTSTATUS
TestDecodeBlock(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Block,
    _In_ ULONG SizeInBytes,
    _In_ ULONG CapacityInBytes,
    _Out_ PUCHAR *Result,
    _Out_ PCODEC_BLOCK Header
    )
{
    PUCHAR Copy = TestAtEnd(&TestWork[0], SizeInBytes, 1);
    NTSTATUS Status;
    PUCHAR End;

    *Result = TestAtEnd(&TestResult, CapacityInBytes, 8);
    End = TestResult.Memory + TestResult.CapacityInBytes;
    TestFill(*Result, 0x5A, End - *Result);
    RtlCopyBytes(Copy, Block, SizeInBytes);
    Status = CodecDecode(TestDecoder,
                         Copy,
                         SizeInBytes,
                         *Result,
                         CapacityInBytes,
                         Header);
    for (; End != *Result + CapacityInBytes; End--) {
        if (!TEST_EQUAL(End[-1], 0x5A)) {
            break;
        }
    }

    return Status;
}

static
VOID
TestRoundTrip(
    _In_ TEST_INPUT Input,
    _In_ ULONG SizeInBytes
    )
{
    PUCHAR Raw = TestAtEnd(&TestRaw, SizeInBytes, 8);
    CODEC_BLOCK Header;
    ULONG Level;
    PUCHAR Block;
    PUCHAR Result;
    ULONG First = 0;
    ULONG Size;

    TestMakeInput(Input, Raw, SizeInBytes);
    for (Level = 1; Level <= 2; Level++) {

        Size = TestEncodeInput(Level, Raw, SizeInBytes, &Block);
        if (Level == 1) {
            First = Size;
        }

        TEST(Size <= First);
        TEST_SUCCESS(TestDecodeBlock(Block, Size, SizeInBytes, &Result,
                                     &Header));
        TEST_EQUAL(Header.RawBytes, SizeInBytes);
        TEST_EQUAL(Header.EncodedBytes, Size - CODEC_HEADER_SIZE);
        TEST_EQUAL(Header.Position, 77);
        if (!TEST(TestIsSame(Raw, Result, SizeInBytes))) {
            RtlWriteText(TestOutput,
                         "input %u, %u bytes, level %u\n",
                         Input, SizeInBytes, Level);
        }
    }
}

//
// What the header says beside the bytes, worked out here.
//

static
VOID
TestHeaderFields(
    VOID
    )
{
    ULONG NumberOfRecords = 3001;
    PTRACE_RECORD Records =
        TestAtEnd(&TestRaw, NumberOfRecords * sizeof(TRACE_RECORD), 8);
    ULONG Round;
    ULONG Index;
    PUCHAR Block;
    PCODEC_BLOCK Header;

    for (Round = 0; Round < 6; Round++) {

        TestMakeCalls(Records, NumberOfRecords, 50, 20 + Round);
        for (Index = 0; Round != 0 && Index < NumberOfRecords; Index++) {
            if (TestRandom() % 3 == 0) {
                Records[Index].StackKind =
                    (Records[Index].StackKind & ~7u) | (TestRandom() & 7);
            }

            if (Round > 3) {
                Records[Index].Timestamp = (ULONGLONG)TestRandom() << 33 |
                                           TestRandom();
                Records[Index].Site = TestRandom() * 2;
                Records[Index].StackKind = TestRandom() * 2 + (Index & 1);
            }
        }

        (VOID)TestEncodeInput(1 + (Round & 1),
                              Records,
                              NumberOfRecords * sizeof(TRACE_RECORD),
                              &Block);
        Header = (PCODEC_BLOCK)Block;
        TEST_EQUAL(Header->Method,
                   Round > 3 ? CODEC_METHOD_STORED
                             : (Round & 1) == 0 ? CODEC_METHOD_TOKENS
                                                : CODEC_METHOD_DENSE);
        TEST_EQUAL(Header->FirstTimestamp, Records[0].Timestamp);
        TEST_EQUAL(Header->LastTimestamp,
                   Records[NumberOfRecords - 1].Timestamp);
        TEST_EQUAL(Header->Unused3, 0);
    }
}

//
// What is ordinary is small, what is noise is stored.
//

static
VOID
TestMethods(
    VOID
    )
{
    PUCHAR Raw = TestRaw.Memory;
    PUCHAR Block;
    ULONG Size;

    TestMakeInput(TestCalls, Raw, CODEC_MAXIMUM_BYTES);
    Size = TestEncodeInput(1, Raw, CODEC_MAXIMUM_BYTES, &Block);
    TEST_EQUAL(((PCODEC_BLOCK)Block)->Method, CODEC_METHOD_TOKENS);
    TEST(Size < CODEC_MAXIMUM_BYTES / 3);
    TEST(TestEncodeInput(2, Raw, CODEC_MAXIMUM_BYTES, &Block) < Size);
    TEST_EQUAL(((PCODEC_BLOCK)Block)->Method, CODEC_METHOD_DENSE);

    TestMakeInput(TestZeroes, Raw, CODEC_MAXIMUM_BYTES);
    TEST_EQUAL(TestEncodeInput(1, Raw, CODEC_MAXIMUM_BYTES, &Block),
               CODEC_HEADER_SIZE + CODEC_MAXIMUM_RECORDS);
    TEST(TestEncodeInput(2, Raw, CODEC_MAXIMUM_BYTES, &Block) < 10000);

    TestMakeInput(TestNoise, Raw, CODEC_MAXIMUM_BYTES);
    TEST_EQUAL(TestEncodeInput(1, Raw, CODEC_MAXIMUM_BYTES, &Block),
               CODEC_BOUND(CODEC_MAXIMUM_BYTES));
    TEST_EQUAL(TestEncodeInput(2, Raw, CODEC_MAXIMUM_BYTES, &Block),
               CODEC_BOUND(CODEC_MAXIMUM_BYTES));
    TEST_EQUAL(((PCODEC_BLOCK)Block)->Method, CODEC_METHOD_STORED);

    TEST_EQUAL(CodecEncode(TestEncoder, Raw, CODEC_MAXIMUM_BYTES + 1, 0,
                           TestBlock.Memory),
               0);
    TEST_EQUAL(CodecPack(TestPacker, Raw, 0xFFFFFFFF, 0, TestBlock.Memory),
               0);
}

//
// The same bytes always give the same block, whatever the memory held.
//

static
VOID
TestReuse(
    VOID
    )
{
    PUCHAR Raw = TestRaw.Memory;
    PUCHAR Block;
    PUCHAR Other = TestWork[0].Memory;
    ULONG Level;
    ULONG Size = 160000;
    ULONG First;

    for (Level = 1; Level <= 2; Level++) {

        TestFill(TestEncoder, 0, CODEC_ENCODER_SIZE);
        TestFill(TestPacker, 0, CODEC_PACKER_SIZE);
        TestState = 5;
        TestMakeInput(TestDamagedCalls, Raw, Size);
        First = TestEncodeInput(Level, Raw, Size, &Block);
        RtlCopyBytes(Other, Block, First);

        TestMakeInput(TestManySites, Raw, Size);
        (VOID)TestEncodeInput(Level, Raw, Size, &Block);
        TestState = 5;
        TestMakeInput(TestDamagedCalls, Raw, Size);
        TEST_EQUAL(TestEncodeInput(Level, Raw, Size, &Block), First);
        TEST(TestIsSame(Block, Other, First));

        TestFill(TestEncoder, 0xFF, CODEC_ENCODER_SIZE);
        TestFill(TestPacker, 0xFF, CODEC_PACKER_SIZE);
        TEST_EQUAL(TestEncodeInput(Level, Raw, Size, &Block), First);
        TEST(TestIsSame(Block, Other, First));
    }
}

//
// What is no block, or not a good one, has its status.
//

static
VOID
TestRefusals(
    VOID
    )
{
    ULONG Size = 16 * 500 + 5;
    PUCHAR Raw = TestRaw.Memory;
    CODEC_BLOCK Header;
    PCODEC_BLOCK Changed;
    PUCHAR Block;
    PUCHAR Result;
    ULONG Length;
    ULONG Encoded;

    TestMakeInput(TestCalls, Raw, Size);
    Encoded = TestEncodeInput(1, Raw, Size, &Block);
    Changed = (PCODEC_BLOCK)Block;
    TEST_STATUS(TestDecodeBlock(Block, Encoded, Size - 1, &Result, &Header),
                STATUS_BUFFER_TOO_SMALL);
    TEST_EQUAL(Header.RawBytes, Size);
    for (Length = 0; Length < Encoded; Length++) {
        TEST_STATUS(TestDecodeBlock(Block, Length, Size, &Result, &Header),
                    STATUS_END_OF_FILE);
    }

    TEST_EQUAL(Header.RawBytes, 0);

#define TEST_CHANGED(Field, Value, Expected)                                \
    do {                                                                    \
        CODEC_BLOCK Kept = *Changed;                                        \
                                                                            \
        Changed->Field = (Value);                                           \
        TEST_STATUS(CodecReadHeader(Block, Encoded, &Header), Expected);    \
        TEST_STATUS(TestDecodeBlock(Block, Encoded, Size, &Result, &Header), \
                    Expected);                                              \
        *Changed = Kept;                                                    \
    } while (0)

    TEST_CHANGED(Magic, 0x4B425255, STATUS_FILE_INVALID);
    TEST_CHANGED(Version, 2, STATUS_REVISION_MISMATCH);
    TEST_CHANGED(Method, 3, STATUS_REVISION_MISMATCH);
    TEST_CHANGED(Unused, 1, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(Unused2, 1, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(RawBytes, CODEC_MAXIMUM_BYTES + 1, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(RawBytes, 0xFFFFFFFF, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(EncodedBytes, Size + 1, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(EncodedBytes, Changed->EncodedBytes - 1,
                 STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(OperandBytes, 0xFFFFFFFF, STATUS_FILE_CORRUPT_ERROR);
    TEST_CHANGED(Method, CODEC_METHOD_STORED, STATUS_FILE_CORRUPT_ERROR);
    TEST_SUCCESS(CodecReadHeader(Block, Encoded, &Header));

    //
    // A good header with a wrong sum.
    //

    Changed->Sum ^= 1;
    TEST_SUCCESS(CodecReadHeader(Block, Encoded, &Header));
    TEST_STATUS(TestDecodeBlock(Block, Encoded, Size, &Result, &Header),
                STATUS_FILE_CORRUPT_ERROR);
    Changed->Sum ^= 1;
}

//
// Every bit of a block counts: with any of them changed it is refused.  With
// the sum made right again it is refused, or it is another block, and nothing
// outside is touched.
//

static
VOID
TestFlippedBits(
    _In_ TEST_INPUT Input,
    _In_ ULONG SizeInBytes,
    _In_ ULONG Level
    )
{
    PUCHAR Raw = TestAtEnd(&TestRaw, SizeInBytes, 8);
    ULONG NumberDecoded = 0;
    ULONG NumberOther = 0;
    ULONG NumberRefused = 0;
    ULONG NumberUnseen = 0;
    CODEC_BLOCK Header;
    PCODEC_BLOCK Changed;
    PUCHAR Block;
    PUCHAR Result;
    ULONG Encoded;
    ULONG Bit;
    NTSTATUS Status;

    TestMakeInput(Input, Raw, SizeInBytes);
    Encoded = TestEncodeInput(Level, Raw, SizeInBytes, &Block);
    Changed = (PCODEC_BLOCK)Block;
    for (Bit = 0; Bit < Encoded * 8; Bit++) {

        ULONGLONG Sum = Changed->Sum;

        Block[Bit / 8] ^= (UCHAR)(1 << Bit % 8);
        Status = TestDecodeBlock(Block, Encoded, SizeInBytes, &Result,
                                 &Header);
        if (NT_SUCCESS(Status)) {
            NumberUnseen += 1;
        }

        if (Changed->EncodedBytes == Encoded - CODEC_HEADER_SIZE) {

            Changed->Sum = CodecSumBlock(Changed, Block + CODEC_HEADER_SIZE);
            Status = TestDecodeBlock(Block, Encoded, SizeInBytes, &Result,
                                     &Header);
            if (!NT_SUCCESS(Status)) {
                NumberRefused += 1;
            } else if (TestIsSame(Raw, Result, SizeInBytes)) {
                NumberDecoded += 1;
            } else {
                NumberOther += 1;
            }
        }

        Block[Bit / 8] ^= (UCHAR)(1 << Bit % 8);
        Changed->Sum = Sum;
    }

    TEST_EQUAL(NumberUnseen, 0);

    //
    // The same is decoded if what changed is not about the bytes: Position,
    // what is not used, the sum itself (which was made right again), and of a
    // stored block the times.  A change of the bytes is seen here: that is the
    // control of the round trips.
    //

    TEST(NumberDecoded >= 64 + 64 + 64);
    TEST(NumberDecoded <= 64 + 64 + 64 + 128 + 8);
    TEST(NumberOther != 0);
    TEST(NumberRefused != 0);
    TEST_SUCCESS(TestDecodeBlock(Block, Encoded, SizeInBytes, &Result,
                                 &Header));
}

//
// Bytes that nobody encoded, below a good header and a good sum.
//

static
VOID
TestMadeUpBlocks(
    _In_ ULONG Rounds
    )
{
    CODEC_BLOCK Header;
    PCODEC_BLOCK Made = (PCODEC_BLOCK)TestBlock.Memory;
    PUCHAR Encoded = TestBlock.Memory + CODEC_HEADER_SIZE;
    ULONG NumberDecoded = 0;
    ULONG NumberRefused = 0;
    PUCHAR Result;
    ULONG Index;
    ULONG Round;
    NTSTATUS Status;

    for (Round = 0; Round < Rounds; Round++) {

        ULONG NumberOfRecords = TestRandom() % 300;
        ULONG Tail = TestRandom() % 3 == 0 ? TestRandom() % 16 : 0;
        ULONG Mask = TestRandom() % 4;

        TestFill(Made, 0, sizeof(*Made));
        Made->Magic = CODEC_MAGIC;
        Made->Version = CODEC_VERSION;
        Made->Method = CODEC_METHOD_TOKENS + TestRandom() % 2;
        Made->RawBytes = NumberOfRecords * 16 + Tail;
        Made->OperandBytes = TestRandom() % (NumberOfRecords * 15 + 1) %
                             (TestRandom() % 4000 + 1);
        Made->EncodedBytes = NumberOfRecords + Made->OperandBytes + Tail;
        for (Index = 0; Index < Made->EncodedBytes; Index++) {
            Encoded[Index] = (UCHAR)TestRandom();
            if (Index < NumberOfRecords && (TestRandom() & 3) != Mask) {
                Encoded[Index] &= 0x0F;
            }
        }

        //
        // Of dense ones, a good code half of the time: two symbols of one bit,
        // or 256 of eight.
        //

        if (Made->Method == CODEC_METHOD_DENSE && (TestRandom() & 1) != 0 &&
            Made->EncodedBytes > 60) {

            Encoded[0] = 1;
            if ((TestRandom() & 1) != 0) {
                Encoded[1] = 0x11;
                for (Index = 2; Index < 17; Index++) {
                    Encoded[Index] = 0xF0;
                }
                Encoded[17] = 0xD0;
                Index = 18;
            } else {
                for (Index = 1; Index < 17; Index++) {
                    Encoded[Index] = 0xF8;
                }
            }

            for (Mask = 0; Mask < 4; Mask++, Index += 4) {
                Encoded[Index] = (UCHAR)(TestRandom() % 30);
                Encoded[Index + 1] = 0;
                Encoded[Index + 2] = 0;
                Encoded[Index + 3] = 0;
            }
        }

        Made->Sum = CodecSumBlock(Made, Encoded);
        Status = TestDecodeBlock(TestBlock.Memory,
                                 CODEC_HEADER_SIZE + Made->EncodedBytes,
                                 Made->RawBytes,
                                 &Result,
                                 &Header);
        if (NT_SUCCESS(Status)) {
            NumberDecoded += 1;
        } else {
            TEST_STATUS(Status, STATUS_FILE_CORRUPT_ERROR);
            NumberRefused += 1;
        }
    }

    TEST(NumberDecoded != 0 || Rounds < 1000);
    TEST(NumberRefused != 0);
}

//
// The control of the guards: the page behind is one that faults.
//

static
VOID
TestGuards(
    VOID
    )
{
    MEMORY_BASIC_INFORMATION Information;
    const PTEST_GUARDED Guarded[] = { &TestRaw, &TestBlock, &TestResult,
                                      &TestWork[0] };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Guarded); Index++) {

        PUCHAR Memory = Guarded[Index]->Memory;

        TEST(VirtualQuery(Memory - 1, &Information, sizeof(Information)) != 0);
        TEST_EQUAL(Information.State, MEM_RESERVE);
        TEST(VirtualQuery(Memory + Guarded[Index]->CapacityInBytes,
                          &Information,
                          sizeof(Information)) != 0);
        TEST_EQUAL(Information.State, MEM_RESERVE);
    }
}

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    BOOLEAN IsLong;
    WCHAR Value[2];
    ULONG Index;
    ULONG Input;

    (VOID)Rtl;
    (VOID)Allocator;
    IsLong = GetEnvironmentVariableW(L"TRACER_LONG", Value, 2) == 1 &&
             Value[0] == L'1';
    if (!TestAllocateGuarded(&TestRaw, CODEC_MAXIMUM_BYTES) ||
        !TestAllocateGuarded(&TestBlock, CODEC_BOUND(CODEC_MAXIMUM_BYTES)) ||
        !TestAllocateGuarded(&TestResult, CODEC_MAXIMUM_BYTES) ||
        !TestAllocateGuarded(&TestWork[0],
                             CODEC_BOUND(CODEC_MAXIMUM_BYTES)) ||
        !TestAllocateGuarded(&TestWork[1], CODEC_ENCODER_SIZE +
                                               CODEC_PACKER_SIZE) ||
        !TestAllocateGuarded(&TestWork[2], CODEC_DECODER_SIZE)) {
        return;
    }

    TestEncoder = TestAtEnd(&TestWork[1], CODEC_ENCODER_SIZE, 8);
    TestPacker = (PCODEC_PACKER)TestWork[1].Memory;
    TestDecoder = TestAtEnd(&TestWork[2], CODEC_DECODER_SIZE, 8);
    TestFill(TestEncoder, 0xCC, CODEC_ENCODER_SIZE);
    TestFill(TestPacker, 0xCC, CODEC_PACKER_SIZE);
    TestFill(TestDecoder, 0xCC, CODEC_DECODER_SIZE);
    TestState = 1;

    TestGuards();
    for (Input = 0; Input < TestInputs; Input++) {
        for (Index = 0; Index < RTL_NUMBER_OF(TestSizes); Index++) {
            TestRoundTrip((TEST_INPUT)Input, TestSizes[Index]);
        }
    }

    for (Index = 0; Index < (IsLong ? 20000u : 500u); Index++) {
        TestRoundTrip((TEST_INPUT)(TestRandom() % TestInputs),
                      TestRandom() % (1u << (4 + TestRandom() % 13)));
    }

    TestHeaderFields();
    TestMethods();
    TestReuse();
    TestRefusals();
    TestFlippedBits(TestCalls, 16 * 160 + 3, 1);
    TestFlippedBits(TestCalls, 16 * 160 + 3, 2);
    TestFlippedBits(TestSlowCalls, 16 * 61, 1);
    TestFlippedBits(TestDamagedCalls, 16 * (IsLong ? 900 : 300), 2);
    TestFlippedBits(TestNoise, 16 * 20 + 9, 1);
    TestMadeUpBlocks(IsLong ? 200000 : 5000);
}

/*++

Module Name:

    Columns.c

Abstract:

    What ExportVectors.c makes of columns is what is made of them number by
    number.

--*/

#include "../../../Reader/Export/ExportEncode.h"
#include "../../../Reader/Export/ExportParquet.h"
#include "../../../Reader/Export/ExportVectors.h"
#include "TestReader.h"

#define TEST_NUMBERS (3 * READER_DELTA_BLOCK + 40)
#define TEST_CALLS 64u

static ULONGLONG TestNumbers[TEST_NUMBERS];
static CORE_ENDED TestCalls[TEST_CALLS];

//
// A number of up to so many bits.
//

static
ULONGLONG
TestRandomBits(
    _In_ ULONG Bits
    )
{
    ULONGLONG Number = (ULONGLONG)TestRandom(0x40000000) << 34 ^
                       (ULONGLONG)TestRandom(0x40000000) << 17 ^
                       TestRandom(0x40000000);

    return Bits == 0 ? 0 : Number >> (64 - Bits);
}

static
BOOLEAN
TestAreEncodedEqual(
    _In_ PREADER_BYTES One,
    _In_ PREADER_BYTES Other
    )
{
    One->Length = 0;
    Other->Length = 0;
    ExportEncodeDelta(One, TestNumbers, TEST_NUMBERS, FALSE);
    ExportEncodeDelta(Other, TestNumbers, TEST_NUMBERS, TRUE);
    return NT_SUCCESS(One->Status) && One->Length == Other->Length &&
           RtlAreBytesEqual(One->Bytes, Other->Bytes, One->Length);
}

//
// Compares differences of each width, some of them less than 0, and bounds.
//

static
VOID
TestDifferences(
    VOID
    )
{
    READER_BYTES One;
    READER_BYTES Other;
    LONGLONG Minimum[2];
    LONGLONG Maximum[2];
    ULONGLONG Last;
    ULONG Round;
    ULONG Index;
    ULONG Wrong = 0;

    RtlZeroBytes(&One, sizeof(One));
    RtlZeroBytes(&Other, sizeof(Other));
    One.Allocator = &TestCountingAllocator;
    Other.Allocator = &TestCountingAllocator;
    for (Round = 0; Round < 65 * 20; Round++) {

        ULONG Count = 1 + TestRandom(TEST_NUMBERS);

        Last = TestRandomBits(TestRandom(65));
        for (Index = 0; Index < TEST_NUMBERS; Index++) {
            Last += TestRandomBits(Round % 65);
            if (Round % 3 == 0) {
                Last -= TestRandomBits(TestRandom(1 + Round % 65));
            }

            TestNumbers[Index] = Last;
        }

        if (!TestAreEncodedEqual(&One, &Other)) {
            Wrong += 1;
        }

        Minimum[0] = Minimum[1] = (LONGLONG)TestRandomBits(64);
        Maximum[0] = Maximum[1] = (LONGLONG)TestRandomBits(64);
        for (Index = 0; Index < Count; Index++) {

            LONGLONG Number = (LONGLONG)TestNumbers[Index];

            Minimum[0] = Number < Minimum[0] ? Number : Minimum[0];
            Maximum[0] = Number > Maximum[0] ? Number : Maximum[0];
        }

        ExportVectorBounds(TestNumbers, Count, &Minimum[1], &Maximum[1]);
        if (Minimum[0] != Minimum[1] || Maximum[0] != Maximum[1]) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);

    //
    // Another number is other bytes.
    //

    (VOID)TestAreEncodedEqual(&One, &Other);
    TestNumbers[READER_DELTA_BLOCK] ^= 1;
    Other.Length = 0;
    ExportEncodeDelta(&Other, TestNumbers, TEST_NUMBERS, TRUE);
    TEST(One.Length != Other.Length ||
         !RtlAreBytesEqual(One.Bytes, Other.Bytes, One.Length));
    ExportThriftRundown(&One);
    ExportThriftRundown(&Other);
}

//
// Compares times with what the clock itself makes of them, over clocks of many
// rates.
//

static
VOID
TestConversions(
    VOID
    )
{
    ULONGLONG Starts[TEST_CALLS];
    ULONGLONG Durations[TEST_CALLS];
    ULONGLONG Depths[TEST_CALLS];
    READER_RATIO Ratio;
    CORE_CLOCK Clock;
    ULONGLONG First;
    ULONGLONG Start;
    ULONGLONG Duration;
    ULONGLONG Converted = 0;
    ULONGLONG HandedBack = 0;
    ULONG Round;
    ULONG Index;
    ULONG Count;
    ULONG Number;
    ULONG Wrong = 0;

    RtlZeroBytes(&Clock, sizeof(Clock));
    Clock.Kind = TRACE_CLOCK_TSC;
    for (Round = 0; Round < 4000; Round++) {

        Clock.Ticks = 1 + TestRandomBits(1 + TestRandom(40));
        Clock.Nanoseconds = 1 + TestRandomBits(1 + TestRandom(40));
        if (Round % 4 == 0) {
            Clock.Nanoseconds = Clock.Ticks * (1 + TestRandom(8));
        }

        ExportCellsBeginRatio(&Ratio, &Clock);
        if (Ratio.Shift > 6) {
            continue;
        }

        First = TestRandomBits(TestRandom(65));
        Count = TestRandom(TEST_CALLS + 1);
        for (Index = 0; Index < Count; Index++) {
            TestCalls[Index].EnterTimestamp =
                TestRandom(8) == 0 ? TestRandomBits(TestRandom(65))
                                   : First + TestRandomBits(TestRandom(48));
            TestCalls[Index].ExitTimestamp = TestCalls[Index].EnterTimestamp +
                                             TestRandomBits(TestRandom(48));
            TestCalls[Index].Depth = (ULONG)TestRandomBits(32);
            TestCalls[Index].Function = (ULONG)TestRandomBits(32);
            TestCalls[Index].Self = TestRandomBits(64);
        }

        Number = ExportVectorCalls(Ratio.Factor,
                                   Ratio.Shift,
                                   First,
                                   TestCalls,
                                   Count,
                                   Starts,
                                   Durations,
                                   Depths);
        TEST(Number <= Count && Number % 4 == 0);
        Converted += Number;
        HandedBack += Count / 4 * 4 - Number;
        for (Index = 0; Index < Number; Index++) {

            Start = TestCalls[Index].EnterTimestamp;
            Duration = TestCalls[Index].ExitTimestamp - Start;
            Start = Start > First ? Start - First : 0;
            CoreTicksToNanoseconds(&Clock, Start, &Start);
            CoreTicksToNanoseconds(&Clock, Duration, &Duration);
            if (Starts[Index] != Start || Durations[Index] != Duration ||
                Depths[Index] != TestCalls[Index].Depth) {
                Wrong += 1;
            }
        }
    }

    TEST_EQUAL(Wrong, 0);
    TEST(Converted > 10000);
    TEST(HandedBack > 1000);
}

VOID
TestColumns(
    VOID
    )
{
    if (!TestRtl->CpuFeatures.Avx2 || !TestRtl->CpuFeatures.Bmi2) {
        TEST_SKIP("columns: this processor has no AVX2");
        return;
    }

    TestDifferences();
    TestConversions();
}

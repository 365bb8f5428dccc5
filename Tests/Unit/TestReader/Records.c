/*++

Module Name:

    Records.c

Abstract:

    A store's header and records, its clock, and its end while it is written.

--*/

#include "TestReader.h"

//
// Tests the validation of headers: a good one, each field made bad, every
// length that a file can be cut to.
//

VOID
TestHeaders(
    VOID
    )
{
    static const struct {
        ULONG Offset;
        ULONG SizeInBytes;
        ULONGLONG Value;
        CORE_HEADER_STATE State;
        PCSZ Field;
    } Cases[] = {
        { 0x000, 8, 0, CoreHeaderBeingCreated, "" },
        { 0x000, 1, 'X', CoreHeaderForeign, "Magic" },
        { 0x008, 2, 2, CoreHeaderNewerVersion, "MajorVersion" },
        { 0x008, 2, 0xFFFF, CoreHeaderNewerVersion, "MajorVersion" },
        { 0x008, 2, 0, CoreHeaderBad, "MajorVersion" },
        { 0x00C, 4, 4080, CoreHeaderBad, "HeaderSize" },
        { 0x00C, 4, 4104, CoreHeaderBad, "HeaderSize" },
        { 0x00C, 4, 0xFFFFFFF0, CoreHeaderBad, "HeaderSize" },
        { 0x010, 4, 8, CoreHeaderBad, "RecordSize" },
        { 0x028, 8, TEST_STACK_LIMIT, CoreHeaderBad, "StackBase" },
        { 0x028, 8, 0x300000000ULL, CoreHeaderBad, "StackBase" },
        { 0x080, 4, 0, CoreHeaderBad, "State" },
        { 0x080, 4, 4, CoreHeaderBad, "State" },
        { 0x120, 8, 0, CoreHeaderBad, "ModuleBase" },
        { 0x120, 8, 0x140000010ULL, CoreHeaderBad, "ModuleBase" },
        { 0x128, 4, 0, CoreHeaderBad, "ModuleSize" },
        { 0x128, 4, 0x80000001u, CoreHeaderBad, "ModuleSize" },
        { 0x148, 4, 1057, CoreHeaderBad, "ModulePathLength" },
        { 0x14C, 4, 0, CoreHeaderBad, "ModulePathLength" },
        { 0x150, 4, 0xFFFFFFFF, CoreHeaderBad, "ProcessPathLength" },
        { 0x158, 4, 769, CoreHeaderBad, "CommandLineLength" },
        { 0x160, 4, 481, CoreHeaderBad, "PdbPathLength" },
        { 0x168, 4, 161, CoreHeaderBad, "ThreadNameLength" },

        //
        // What a reader must accept: a newer minor version, a reason that it
        // does not know, a longer header, texts that were cut.
        //

        { 0x00A, 2, 9, CoreHeaderValid, "" },
        { 0x084, 4, 99, CoreHeaderValid, "" },
        { 0x00C, 4, 8192, CoreHeaderValid, "" },
        { 0x14C, 4, 30000, CoreHeaderValid, "" },
    };
    CORE_HEADER_RESULT Result;
    ULONG Index;
    ULONG Wrong;

    TestMakeStore(&TestStore, NULL, 0);
    TEST(CoreValidateHeader(&TestStore, 4096, &Result));
    TEST_EQUAL(Result.State, CoreHeaderValid);

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {

        TestDamaged = TestStore;
        RtlCopyBytes((PUCHAR)&TestDamaged + Cases[Index].Offset,
                     &Cases[Index].Value,
                     Cases[Index].SizeInBytes);
        TEST_EQUAL(CoreValidateHeader(&TestDamaged, 4096, &Result),
                   Cases[Index].State == CoreHeaderValid);
        TEST_EQUAL(Result.State, Cases[Index].State);
        TEST_EQUAL_STRING(Result.Field, Cases[Index].Field);
        if (Result.State == CoreHeaderBad && Cases[Index].Offset != 0x14C) {
            TEST_EQUAL(Result.FileOffset, Cases[Index].Offset);
        }
    }

    //
    // An unknown stack is allowed.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.StackBase = 0;
    TestDamaged.Header.StackLimit = 0;
    TEST(CoreValidateHeader(&TestDamaged, 4096, &Result));

    //
    // Before minor version 5 the path of a PDB had more room.
    //

    for (Index = 480; Index <= 545; Index += Index == 480 ? 64 : 1) {
        TestDamaged = TestStore;
        TestDamaged.Header.PdbPathLength = Index;
        TestDamaged.Header.PdbPathFullLength = Index;
        TestDamaged.Header.MinorVersion = 5;
        TEST_EQUAL(CoreValidateHeader(&TestDamaged, 4096, &Result),
                   Index <= 480);
        TestDamaged.Header.MinorVersion = 4;
        TEST_EQUAL(CoreValidateHeader(&TestDamaged, 4096, &Result),
                   Index <= 544);
    }

    Wrong = 0;
    for (Index = 0; Index < 4096; Index++) {

        CORE_HEADER_STATE Expected =
            Index == 0 ? CoreHeaderBeingCreated : CoreHeaderTooShort;

        if (CoreValidateHeader(&TestStore, Index, &Result) ||
            Result.State != Expected) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);

    RtlZeroBytes(&TestDamaged, sizeof(TestDamaged));
    for (Index = 0; Index <= 4096; Index++) {
        if (CoreValidateHeader(&TestDamaged, Index, &Result) ||
            Result.State != CoreHeaderBeingCreated) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
}


//
// Tests the validation of records.
//

VOID
TestRecords(
    VOID
    )
{
    CORE_RECORD_CHECK Check;
    TRACE_RECORD Record;
    ULONG Kind;

    TestMakeStore(&TestStore, NULL, 0);
    CoreInitializeRecordCheck(&Check, &TestStore.Header);

    Record.Timestamp = 50;
    Record.Site = 0x40000000;
    for (Kind = 0; Kind < 8; Kind++) {
        Record.StackKind = 0x1FF000 | Kind;
        TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE),
                   Kind >= 1 && Kind <= 5 ? CoreRecordValid
                                          : CoreRecordBadKind);
    }

    Record.StackKind = 0x1FF001;
    Record.Site = 0x4000FFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    Record.Site = 0x40010000;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);
    Record.Site = 0x3FFFFFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);

    Record.Site = 0x40000000;
    Record.Timestamp = 49;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadTime);
    Record.Timestamp = 50;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    TEST_EQUAL(Check.PreviousTimestamp, 50);

    Record.Timestamp = 0;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, TRUE), CoreRecordReserved);
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordMissing);

    //
    // A module that crosses a multiple of 4 GiB.
    //

    Check.ModuleBase = 0xFFFFF000;
    Check.ModuleSize = 0x2000;
    Check.PreviousTimestamp = 0;
    Record.Timestamp = 1;
    Record.Site = 0xFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    Record.Site = 0x1000;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);

    Record.StackKind = 0x100001;
    TEST(CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x200001;
    TEST(CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x200009;
    TEST(!CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x0FFFF9;
    TEST(!CoreIsOnThreadStack(&Check, &Record));
    Check.StackSize = 0;
    TEST(CoreIsOnThreadStack(&Check, &Record));
}


//
// Tests the clock, with numbers worked out by hand (2^64 is
// 18446744073709551616).
//

VOID
TestClocks(
    VOID
    )
{
    TRACE_CLOCK_ANCHOR Anchor;
    CORE_CLOCK Clock;
    ULONGLONG High;
    ULONGLONG Low;
    ULONGLONG Value;

    CoreMultiply(~0ULL, ~0ULL, &High, &Low);
    TEST_EQUAL(High, 0xFFFFFFFFFFFFFFFEULL);
    TEST_EQUAL(Low, 1);
    CoreMultiply(0x123456789ABCDEF0ULL, 0x0FEDCBA987654321ULL, &High, &Low);
    TEST_EQUAL(High, 0x0121FA00AD77D742ULL);
    TEST_EQUAL(Low, 0x2236D88FE5618CF0ULL);

    TEST_EQUAL(CoreDivide(0, 100, 7), 14);
    TEST_EQUAL(CoreDivide(1, 0, 2), 0x8000000000000000ULL);
    TEST_EQUAL(CoreDivide(1, 0, 3), 0x5555555555555555ULL);
    TEST_EQUAL(CoreDivide(~0ULL - 1, ~0ULL, ~0ULL), ~0ULL);
    TEST_EQUAL(CoreDivide(5, 0, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, ~0ULL, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, ~0ULL - 1, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, 0, 5), 0xCCCCCCCCCCCCCCCCULL);
    TEST_EQUAL(CoreMultiplyDivide(~0ULL, ~0ULL, ~0ULL), ~0ULL);
    TEST_EQUAL(CoreMultiplyDivide(~0ULL, 10, 9), ~0ULL);
    TEST_EQUAL(CoreMultiplyDivide(1000000007ULL * 1000000000ULL, 9, 10),
               900000006300000000ULL);

    //
    // No anchor, one anchor, a torn one, one of another counter.
    //

    CoreInitializeClock(&Clock);
    TEST(!CoreTicksToNanoseconds(&Clock, 55, &Value));
    TEST_EQUAL(Value, 55);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, 5), 0);

    TestSetAnchor(&Anchor, 5000);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST(!CoreTicksToNanoseconds(&Clock, 55, &Value));
    TestSetAnchor(&Anchor, 1000000000);
    Anchor.Qpc ^= 1;
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.Qpc ^= 1;
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY + 1));
    TEST(!CoreAddAnchor(&Clock, &Anchor, 0));
    RtlZeroBytes(&Anchor, sizeof(Anchor));
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));

    //
    // The two farthest apart count, in whatever order they come.
    //

    TestSetAnchor(&Anchor, 2000000000);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TestSetAnchor(&Anchor, 0);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST_EQUAL(Clock.Nanoseconds, 2000000000);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 1000000000);
    TEST(CoreTicksToNanoseconds(&Clock, ~0ULL, &Value));
    TEST_EQUAL(Value, ~0ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 123456789, &Value));
    TEST_EQUAL(Value, 123456789);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, TEST_FIRST_TICK + 1000),
               TEST_SYSTEM_TIME + 10);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, TEST_FIRST_TICK - 1000),
               TEST_SYSTEM_TIME - 10);

    //
    // 2.5 GHz for thirty years: ticks * nanoseconds is far beyond 64 bits.
    // 30 years of 365 days are 946,080,000 s.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.Tsc += 2365200000000000000ULL;
    Anchor.Qpc += 9460800000000000ULL;
    Anchor.SystemTime += 9460800000000000ULL;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST_EQUAL(CoreQueryTickRate(&Clock), 2500000000ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 2365200000000000000ULL, &Value));
    TEST_EQUAL(Value, 946080000000000000ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 5, &Value));
    TEST_EQUAL(Value, 2);

    //
    // A rate that no processor has is none; time that stands still neither.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    Anchor.Tsc += 1000;
    Anchor.Qpc += 100000000;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);
    Anchor.Tsc += 1000000;
    Anchor.Qpc = Clock.Earliest.Qpc;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);

    //
    // The same boot: QPC and system time went on alike.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TestSetAnchor(&Anchor, 3600000000000ULL);
    TEST(CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY * 2));
    Anchor.SystemTime += 4 * 10000000ULL;
    TEST(CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.SystemTime += 600 * 10000000ULL;
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TestSetAnchor(&Anchor, 3600000000000ULL);
    Anchor.Tsc = 1;
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
}

//
// The live end under a writer that changes its view all the time.  Ends are
// multiples of 0x1000; a cursor of one view with the delta of another is none,
// because the views' deltas differ in their low bits.
//

static TRACE_STORE_HEADER TestLiveHeader;
static ULONG TestLiveStop;


//
// Changes views until it is told to stop, as the writer's slow path does.
// Returns 0.
//

static
ULONG
WINAPI
TestLiveWriter(
    _In_ PVOID Parameter
    )
{
    PTRACE_STORE_HEADER Header = &TestLiveHeader;
    uint32_t Generation = 0;
    uint64_t View = 0;

    UNREFERENCED_PARAMETER(Parameter);

    while (RtlLoadAcquire32(&TestLiveStop) == 0) {

        View += 1;
        RtlStoreRelease64(&Header->ViewFileOffset, View * 0x1000);
        RtlStoreRelease32(&Header->Generation, Generation + 1);
        RtlStoreRelease64(&Header->Cursor, View * 0x10001);

        //
        // Now and then it is interrupted where the two do not fit together.
        //

        if (View % 64 == 0) {
            TestRtl->NtYieldExecution();
        }

        RtlStoreRelease64(&Header->CursorToFileOffset,
                          View * 0x1000 - View * 0x10001);
        Generation += 2;
        RtlStoreRelease32(&Header->Generation, Generation);
    }

    return 0;
}


//
// Decides what an end of records is in a store without a ring.
// Returns what it is.
//

static
CORE_END_STATE
TestFindEnd(
    _In_ ULONGLONG EndOfRecords,
    _In_ ULONGLONG FileSize
    )
{
    CORE_RANGE Range;

    TestMakeStore(&TestOther, NULL, 0);
    return CoreFindRecords(&TestOther.Header,
                           EndOfRecords,
                           4096,
                           FileSize,
                           &Range);
}


//
// Tests the live end of the records.
//

VOID
TestLiveEnds(
    VOID
    )
{
    PTRACE_STORE_HEADER Header = &TestLiveHeader;
    LARGE_INTEGER Second;
    TRACE_RECORD Records[3];
    TRACE_RECORD Copies[3];
    HANDLE Thread;
    ULONGLONG End;
    ULONGLONG Last = 0;
    ULONG Index;
    ULONG Torn = 0;
    ULONG Wrong = 0;
    NTSTATUS Status;

    TestSetEnd(Header, 0x5010);
    Header->ViewFileOffset = 0x4000;
    TEST(CoreReadEndOfRecords(Header, &End));
    TEST_EQUAL(End, 0x5010);
    Header->Generation = 7;
    TEST(CoreReadEndOfRecords(Header, &End));
    TEST_EQUAL(End, 0x4000);
    Header->Generation = 0;

    TEST_EQUAL(TestFindEnd(4096, 4096), CoreEndValid);
    TEST_EQUAL(TestFindEnd(4112, 65536), CoreEndValid);
    TEST_EQUAL(TestFindEnd(4080, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(4104, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(0, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(~0ULL - 15, 65536),
               CoreEndBeyondFile);
    TEST_EQUAL(TestFindEnd(4112, 4111),
               CoreEndBeyondFile);

    for (Index = 0; Index < 3; Index++) {
        Records[Index].Timestamp = Index + 10;
        Records[Index].Site = Index + 20;
        Records[Index].StackKind = Index + 30;
    }

    CoreCopyRecords(Copies, Records, 3);
    TEST_EQUAL_BYTES(Copies, Records, sizeof(Records));

    RtlZeroBytes(Header, sizeof(*Header));
    Thread = CreateThread(NULL,
                          0,
                          TestLiveWriter,
                          NULL,
                          0,
                          NULL);
    Status = Thread == NULL ? STATUS_NO_MEMORY : STATUS_SUCCESS;
    if (!TEST_SUCCESS(Status)) {
        return;
    }

    for (Index = 0; Index < 20000000; Index++) {

        if (CoreReadEndOfRecords(Header, &End)) {
            if (End % 0x1000 != 0 || End < Last) {
                Wrong += 1;
            }
            Last = End;
        }

        //
        // The control: without the generation, torn ends are seen.
        //

        End = RtlLoadAcquire64(&Header->Cursor);
        End += RtlLoadAcquire64(&Header->CursorToFileOffset);
        if (End % 0x1000 != 0) {
            Torn += 1;
        }

        if (Torn > 100 && Index > 200000) {
            break;
        }
    }

    RtlStoreRelease32(&TestLiveStop, 1);
    Second.QuadPart = -10000000LL * 600;
    TEST_STATUS(TestRtl->NtWaitForSingleObject(Thread, FALSE, &Second),
                STATUS_SUCCESS);
    RtlClose(TestRtl, Thread);
    TEST_EQUAL(Wrong, 0);
    if (Torn == 0) {
        TEST_SKIP("no torn end was seen without the generation");
    } else {
        TEST(Torn != 0);
    }
}

/*++

Module Name:

    Damage.c

Abstract:

    Damaged stores, of which each kind has the good store as its control;
    allocations that fail; and bytes that change at random.

--*/

#include "TestReader.h"

//
// Verifies TestDamaged, alone in a session, and reports it.
// SizeInBytes: the file's.
// ExitCode: what verify must return.
// Result: what its output must contain.
//

static
VOID
TestDamageOne(
    _In_ ULONG SizeInBytes,
    _In_ ULONG ExitCode,
    _In_z_ PCSZ Result
    )
{
    ULONG Code;

    if (!TestBeginSession() ||
        !TestWriteStore(L"a.trace", &TestDamaged, SizeInBytes)) {
        return;
    }

    TEST_EQUAL(TestRun("verify @"), ExitCode);
    if (!TEST(TestContains(&TestOut, Result))) {
        RtlWriteText(TestOutput,
                     "    %.*s    not: %s\n",
                     (int)TestOut.LengthInBytes,
                     TestOut.Buffer,
                     Result);
    }

    Code = TestRun("report --csv @");
    TEST(Code == 0 || Code == 1);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Tests damaged stores as files.
//

VOID
TestDamage(
    VOID
    )
{
    enum { Count = RTL_NUMBER_OF(TestMainRecords) };
    TRACE_RECORD Record;
    ULONG Size = TEST_STORE_SIZE(Count);
    ULONG Offset;
    ULONG Try;

    TestMakeStore(&TestStore, TestMainRecords, Count);

    //
    // The control.
    //

    TestDamaged = TestStore;
    TestDamageOne(Size, 0, "1 store, 10 records, 0 bad, 0 lost\n");
    TestDamageOne(Size + 160, 0, "1 store, 10 records, 0 bad, 0 lost\n");

    //
    // Files that are being created, and files that were cut.
    //

    TestDamageOne(0, 0, "being created\n1 store, 0 records, 0 bad, 0 lost");
    TestDamageOne(100, 2, "the file ends inside it, at offset 100\n");
    TestDamageOne(4095, 2, "the file ends inside it, at offset 4095\n");
    TestDamageOne(4096,
                  2,
                  "the file ends at offset 4096, 160 bytes before the end");
    TestDamageOne(Size - 1, 2, "1 store, 9 records, 1 bad, 0 lost\n");

    for (Try = 0; Try < 20; Try++) {
        Offset = 4096 + TestRandom(Size - 4096);
        TestDamageOne(Offset, 2, ", 1 bad, 0 lost\n");
        TEST_EQUAL(TestRun("verify --csv @"), 2);
    }

    TestDamaged.Header.Magic = 0;
    TestDamageOne(Size, 0, "being created\n");
    RtlZeroBytes(&TestDamaged, sizeof(TestDamaged));
    TestDamageOne(4096, 0, "being created\n");

    //
    // Headers.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.MajorVersion = 2;
    TestDamageOne(Size,
                  2,
                  "MajorVersion at offset 0x8 is newer than this reader");
    TEST_EQUAL(TestRun("report @"), 1);
    TEST(TestContains(&TestErr, "MajorVersion"));

    TestDamaged = TestStore;
    TestDamaged.Header.CommandLineLength = 0x7FFFFFFF;
    TestDamageOne(Size, 2, "CommandLineLength at offset 0x158");

    TestDamaged = TestStore;
    TestDamaged.Header.CursorToFileOffset += 1;
    TestDamageOne(Size, 2, "is not the end of a record");
    TestDamaged = TestStore;
    TestSetEnd(&TestDamaged.Header, 16);
    TestDamageOne(Size, 2, "is not the end of a record");
    TestDamaged = TestStore;
    TestSetEnd(&TestDamaged.Header, ~0ULL - 15);
    TestDamageOne(Size, 2, "10 records, 1 bad");

    //
    // Records.
    //

    TestDamaged = TestStore;
    TestDamaged.Records[4].StackKind |= 7;
    TestDamageOne(Size,
                  2,
                  "1 bad records, the first at offset 4160: of no known kind");
    TestDamaged = TestStore;
    TestDamaged.Records[9].Site = 5;
    TestDamageOne(Size, 2, "at offset 4240: from outside the module");
    TestDamaged = TestStore;
    TestDamaged.Records[1].Timestamp = 1;
    TestDamaged.Records[2].Timestamp = 2;
    TestDamageOne(Size,
                  2,
                  "2 bad records, the first at offset 4112: earlier than");
    TestDamaged = TestStore;
    RtlZeroBytes(&TestDamaged.Records[3], 5 * sizeof(Record));
    TestDamageOne(Size, 2, "5 bad records, the first at offset 4144: not wr");
    TEST(TestContains(&TestErr, "5 bad records skipped"));

    //
    // The last one may be reserved and not written, whatever is in the rest.
    //

    TestDamaged = TestStore;
    TestDamaged.Records[9].Timestamp = 0;
    TestDamageOne(Size, 0, "the last record was reserved but not written\n");
    TestDamaged.Records[8].Timestamp = 0;
    TestDamageOne(Size, 2, "1 bad records, the first at offset 4224: not wr");

    //
    // What was lost, and why.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.State = TRACE_STATE_STOPPED;
    TestDamaged.Header.Reason = TRACE_REASON_PAGE_FAILED;
    TestDamaged.Header.Status = 0xC000007F;
    TestDamaged.Header.NumberOfEventsLost = 77;
    TestDamageOne(Size,
                  2,
                  "stopped: a page of the file is not available (status "
                  "0xC000007F); 77 events lost after it stopped\n"
                  "1 store, 10 records, 0 bad, 77 lost\n");
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "State               stopped\n"));
    TEST(TestContains(&TestOut, "Status              0xc000007f\n"));
    TestDamaged.Header.NumberOfEventsLost = 0;
    TestDamageOne(Size, 0, "0 bad, 0 lost\n");
    TestDamaged.Header.NumberOfEventsReentered = 3;
    TestDamageOne(Size, 2, "3 events lost inside the library\n");

    //
    // A writer that was killed while its view changed.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.State = TRACE_STATE_OPEN;
    TestDamaged.Header.Generation = 3;
    TestDamaged.Header.ViewFileOffset = 4096 + 16 * 7;
    TestDamageOne(Size, 0, "died                 7         0         0  ok\n");

    //
    // Ill-formed texts come out as valid UTF-8.
    //

    TestDamaged = TestStore;
    TEST_SET_TEXT(&TestDamaged.Header, CommandLine, "x\xFF\xC3\x28\x01\t|");
    TestDamageOne(Size, 0, "ok");
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut,
                      "\"command_line\": \"x\xEF\xBF\xBD\xEF\xBF\xBD("
                      "\\u0001\\u0009|\""));
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "x\xEF\xBF\xBD\xEF\xBF\xBD(??|\n"));

    //
    // One clock reading of a boot that is over: ticks, and it says so.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.LastAnchor.Check ^= 1;
    TestDamageOne(Size, 0, "ok");
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "Times are ticks of the time stamp counter"));
    TEST(TestContains(&TestOut, " 8999 "));
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"total_ticks\": 8999"));
}


//
// Makes every allocation of every command fail in turn.
//

VOID
TestFailures(
    VOID
    )
{
    static const PCSZ CommandLines[] = {
        "info @",
        "report @",
        "tree @",
        "replay @",
        "live @",
        "verify @",
        "report --function app --exclude @@ @",
        "tree --exclude app.exe+0x2 --function @@ @",
        "report --percentiles @",
        "outliers app.exe+0x2000 @",
        "outliers --json --limit 2 app.exe+0x2 @",
        "callers app.exe+0x2000 --depth 3 @",
        "callees app.exe+0x1000 @",
        "threads @",
        "modules @",
        "diff @ @",
    };
    ULONGLONG Fail;
    ULONG Index;
    ULONG Code;

    if (!TestWriteSession() || !TestWritePrefixes("app.exe+0x4\n")) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(CommandLines); Index++) {

        for (Fail = 0; Fail < 1000; Fail++) {

            TestFailFrom = TestNumberOfAllocations + Fail;
            Code = TestRun(CommandLines[Index]);
            TestFailFrom = ~0ULL;
            if (TestNumberOfAllocations != TestNumberOfFrees) {
                break;
            }

            if (Code == 0) {
                break;
            }

            if (Code != 1 || TestErr.LengthInBytes == 0) {
                break;
            }
        }

        //
        // It ends with a success: every failure before was reported with exit
        // code 1, and nothing leaked.
        //

        TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
        TEST_EQUAL(Code, 0);
        TEST(Fail > 5 && Fail < 1000);
    }
}


//
// Reads stores with random bytes changed. Whatever they hold, the commands
// end, with one of their exit codes, and give all memory back.
//

VOID
TestRandomDamage(
    VOID
    )
{
    static const PCSZ CommandLines[] = {
        "verify @",
        "report --csv @",
        "tree --json @",
        "replay @",
        "info --json @",
        "outliers --csv app.exe+0x2000 @",
        "callers app.exe+0x2000 --json --depth 3 @",
        "callees app.exe+0x1000 @",
        "threads --json @",
        "modules @",
        "diff @ @"
    };
    PUCHAR Bytes = (PUCHAR)&TestDamaged;
    ULONG Size = TEST_STORE_SIZE(RTL_NUMBER_OF(TestMainRecords));
    ULONG Wrong = 0;
    ULONG Changes;
    ULONG Index;
    ULONG Try;
    ULONG Code;

    TestMakeStore(&TestStore,
                  TestMainRecords,
                  RTL_NUMBER_OF(TestMainRecords));
    if (!TestBeginSession()) {
        return;
    }

    for (Try = 0; Try < 150; Try++) {

        TestDamaged = TestStore;
        for (Changes = 1 + TestRandom(4); Changes != 0; Changes--) {

            //
            // Mostly where there is something: the fields and the records.
            //

            Index = TestRandom(4) == 0 ? TestRandom(Size)
                    : TestRandom(2) == 0
                        ? TestRandom(0x180)
                        : 4096 + TestRandom(Size - 4096);
            Bytes[Index] = (UCHAR)TestRandom(256);
        }

        TestWriteStore(L"a.trace", &TestDamaged, Size);
        Code = TestRun(CommandLines[Try % RTL_NUMBER_OF(CommandLines)]);
        if (Code > 3 || TestNumberOfAllocations != TestNumberOfFrees) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
}

/*++

Module Name:

    ClockKinds.c

Abstract:

    What the commands print of sessions whose clocks are of different kinds.

--*/

#include "TestReader.h"

//
// Tests how times of a clock thread are shown, and that there are none without
// a clock; and what info says of the recording.
//

VOID
TestClockKinds(
    VOID
    )
{
    static const struct {
        ULONG Kind;
        ULONGLONG Resolution;
        ULONGLONG Ticks;
        PCSZ Text;
    } Times[] = {
        { TRACE_CLOCK_TSC, 7777, 1234567, "  1.234 ms" },
        { TRACE_CLOCK_THREAD, 0, 1234567, "  1.234 ms" },
        { TRACE_CLOCK_THREAD, 1, 999, "    999 ns" },
        { TRACE_CLOCK_THREAD, 2, 987, "   0.98 us" },
        { TRACE_CLOCK_THREAD, 100, 9876, "    9.8 us" },
        { TRACE_CLOCK_THREAD, 100, 40, "    0.0 us" },
        { TRACE_CLOCK_THREAD, 101, 9876, "      9 us" },
        { TRACE_CLOCK_THREAD, 101, 9876543, "  9.876 ms" },
        { TRACE_CLOCK_THREAD, 1001, 9876543, "   9.87 ms" },
        { TRACE_CLOCK_THREAD, 1001, 987, "   0.00 ms" },
        { TRACE_CLOCK_THREAD, 123456, 9876543, "      9 ms" },
        { TRACE_CLOCK_THREAD, 123456, 3000000000ULL, "  3.000  s" },
        { TRACE_CLOCK_THREAD, 2000000000, 3456000000ULL, "      3  s" },
        { TRACE_CLOCK_NONE, 0, 1234567, "         -" },
    };

    //
    // Three calls of B in one of A; the clock froze during the second.
    //

    static const TRACE_RECORD Frozen[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 1000, 0x2000, 0x1FE000 | TEST_N },
        { 1120, 0x2000, 0x1FE000 | TEST_X },
        { 1240, 0x2000, 0x1FE000 | TEST_N },
        { 9640, 0x2000, 0x1FE000 | TEST_X },
        { 9640, 0x2000, 0x1FE000 | TEST_N },
        { 9640, 0x2000, 0x1FE000 | TEST_X },
        { 9640, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Positions[] = {
        { 4096, 0x1000, 0x1FF000 | TEST_N },
        { 4112, 0x2000, 0x1FE000 | TEST_N },
        { 4128, 0x2000, 0x1FE000 | TEST_X },
        { 4144, 0x2000, 0x1FE000 | TEST_N },
        { 4160, 0x2000, 0x1FE000 | TEST_X },
        { 4176, 0x1000, 0x1FF000 | TEST_X },
    };

    //
    // A of one module calls B of another, which calls A again, all within one
    // step of the clock.
    //

    static const TRACE_RECORD Outside[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 1000, 0x1000, 0x1FD000 | TEST_N },
        { 1000, 0x1000, 0x1FD000 | TEST_X },
        { 1000, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Inside[] = {
        { 1000, 0x2000, 0x1FE000 | TEST_N },
        { 1000, 0x2000, 0x1FE000 | TEST_X },
    };
    CHAR Text[32];
    RTL_WRITER Writer;
    CORE_CLOCK Clock;
    TRACE_CLOCK_ANCHOR Anchor;
    ULONG Index;
    ULONG First;

    for (Index = 0; Index < RTL_NUMBER_OF(Times); Index++) {
        CoreInitializeClock(&Clock);
        TestSetAnchor(&Anchor, 0);
        CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
        TestSetAnchor(&Anchor, 1000000000);
        CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
        Clock.Kind = Times[Index].Kind;
        Clock.Resolution = Times[Index].Resolution;
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
        OutputWriteTime(&Writer, &Clock, Times[Index].Ticks);
        TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, Times[Index].Text);
    }

    if (!TestBeginSession()) {
        return;
    }

    TestMakeStore(&TestOther, Frozen, RTL_NUMBER_OF(Frozen));
    TestOther.Header.Clock = TRACE_CLOCK_THREAD;
    TestOther.Header.ClockResolution = 120;
    TestOther.Header.NumberOfClockFreezes = 1;
    TestOther.Header.MaximumClockStep = 8401;
    TestOther.Header.MinimumDuration = 55;
    TestOther.Header.NumberOfCallsTakenBack = 66;
    TestOther.Header.NumberOfCallsDoubtful = 44;
    TestOther.Header.MaximumDepth = 5;
    TestOther.Header.NumberOfEventsTooDeep = 77;
    TestOther.Header.NumberOfEventsDoubtful = 33;
    TestOther.Header.MaximumBytes = 123456;
    TestOther.Header.NumberOfWaits = 3;
    TestOther.Header.WaitTicks = 4444;
    TestOther.Header.MaximumInlineTicks = 2345;
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(8));

    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,waited_ns,"
        "ran_ns,p50_ns,p90_ns,p99_ns,caller_modules,module,rva,folded,"
        "function,file,line,clock\r\n"
        "1,8000,0,8000,8000,8000,0,0,0,1,0,0,8000,8000,8000,8000,"
        ",app.exe,0x1000,,app.exe+0x1000,,,thread\r\n"
        "3,8000,8000,2000,0,8000,0,0,0,1,0,0,8000,0,8000,8000,"
        ",app.exe,0x2000,,app.exe+0x2000,,,thread\r\n");
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "Uncertain: the clock jumped during"));
    TEST(TestContains(&TestOut,
                      "Times are those of a clock thread, in steps of "
                      "120 ns.  It stood still 1 times, the longest for "
                      "8.401 us.\n"));
    TEST_EQUAL(TestRun("tree @"), 0);
    TEST(TestContains(&TestOut, "  Uncertain  Function\n"));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST(TestContains(&TestOut,
                      "           [   100] | app.exe+0x1000() {\n"
                      "      0 us [   100] |   app.exe+0x2000();\n"
                      "      8 us~[   100] |   app.exe+0x2000();\n"
                      "      0 us [   100] |   app.exe+0x2000();\n"
                      "      8 us [   100] | } /* app.exe+0x1000 */\n"));
    TEST_EQUAL(TestRun("replay --csv @"), 0);
    TEST(TestContains(&TestOut,
                      "8000,100,exit,1,8000,,app.exe,app.exe+0x2000,0,,1,"
                      ",thread\r\n"
                      "8000,100,enter,1,,,app.exe,app.exe+0x2000,0,0,0,"
                      ",thread\r\n"
                      "8000,100,exit,1,0,,app.exe,app.exe+0x2000,0,,0,"
                      ",thread\r\n"
                      "8000,100,exit,0,8000,,app.exe,app.exe+0x1000,0,,0,"
                      ",thread\r\n"));
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"clock\": \"thread\""));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut,
                      "recording,0,mode,file\r\n"
                      "recording,0,ring_bytes,0\r\n"
                      "recording,0,overwritten,0\r\n"
                      "recording,0,clock,thread\r\n"
                      "recording,0,clock_resolution_ns,120\r\n"
                      "recording,0,clock_freezes,1\r\n"
                      "recording,0,longest_clock_step_ns,8401\r\n"
                      "recording,0,minimum_duration_ns,55\r\n"
                      "recording,0,taken_back,66\r\n"
                      "recording,0,taken_back_doubtful,44\r\n"
                      "recording,0,maximum_depth,5\r\n"
                      "recording,0,too_deep,77\r\n"
                      "recording,0,too_deep_doubtful,33\r\n"
                      "recording,0,maximum_bytes,123456\r\n"
                      "recording,0,waits,3\r\n"
                      "recording,0,wait_ns,4444\r\n"
                      "recording,0,longest_wait_ns,2345\r\n"));
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "Taken back          66\n"));
    TEST(TestContains(&TestOut, "Too deep            77\n"));
    TEST(!TestContains(&TestOut, "Minimum duration"));
    TEST_EQUAL(TestRun("info --internals @"), 0);
    TEST(TestContains(&TestOut, "Minimum duration    55 ns\n"));
    TEST(!TestContains(&TestOut, "Ring, bytes"));
    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut, ", clock: thread\n"));

    //
    // The control: a clock that never froze jumps nowhere.
    //

    TestOther.Header.NumberOfClockFreezes = 0;
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(8));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST(!TestContains(&TestOut, "~"));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(!TestContains(&TestOut, "Uncertain"));

    //
    // Without a clock.  Records are in order, calls are counted.
    //

    TestMakeStore(&TestOther, Positions, RTL_NUMBER_OF(Positions));
    TestOther.Header.Clock = TRACE_CLOCK_NONE;
    TestOther.Header.State = TRACE_STATE_STOPPED;
    TestOther.Header.Reason = TRACE_REASON_MAXIMUM_BYTES;
    for (Index = 0; Index < RTL_NUMBER_OF(Positions); Index++) {
        TestOther.Records[Index].Timestamp = Positions[Index].Timestamp;
    }

    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(6));
    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,waited_ns,"
        "ran_ns,p50_ns,p90_ns,p99_ns,caller_modules,module,rva,folded,"
        "function,file,line,clock\r\n"
        "2,,,,,,0,,0,0,0,,,,,,,app.exe,0x2000,,app.exe+0x2000,,,none\r\n"
        "1,,,,,,0,,0,0,0,,,,,,,app.exe,0x1000,,app.exe+0x1000,,,none\r\n");
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"total_ns\": null"));
    TEST(TestContains(&TestOut, "\"clock\": \"none\""));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut,
                      "         2           -           -           -"
                      "           -           -  app.exe+0x2000\n"));
    TEST(TestContains(&TestOut, "was recorded with TRACER_CLOCK=none."));

    //
    // The same thread in another module, whose positions are the same: its
    // calls are not put among those.
    //

    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestSetAnchor(&TestOther.Header.OpenAnchor, 500);
    TestWriteStore(L"0.trace", &TestOther, TEST_STORE_SIZE(6));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "         - [   100] |   app.exe+0x2000();\n"
        "         - [   100] |   app.exe+0x2000();\n"
        "         - [   100] | } /* app.exe+0x1000 */\n"
        "           [   100] | plug.dll+0x1000() {\n"
        "         - [   100] |   plug.dll+0x2000();\n"
        "         - [   100] |   plug.dll+0x2000();\n"
        "         - [   100] | } /* plug.dll+0x1000 */\n"
        "There are no times: the session was recorded with "
        "TRACER_CLOCK=none.  Calls and their order are right.\n");
    TEST_EQUAL(TestRun("tree --csv @"), 0);
    TEST(TestContains(&TestOut, "2,,,,,,0,,0,0,0,,,2,1,1,,,,,app.exe,"));
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut, "\"first_time\": null"));
    TEST(TestContains(&TestOut, "\"start_ns\": null"));
    TEST(TestContains(&TestOut, "the maximum size was reached"));
    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut, ", clock: none\n"));

    for (First = 0; First < 2; First++) {

        if (!TestBeginSession()) {
            return;
        }

        TestMakeStore(&TestOther, Outside, RTL_NUMBER_OF(Outside));
        TestOther.Header.Clock = TRACE_CLOCK_THREAD;
        TestOther.Header.ClockResolution = 100;
        TestWriteStore(First == 0 ? L"a.trace" : L"b.trace",
                       &TestOther,
                       TEST_STORE_SIZE(4));
        TestMakeStore(&TestOther, Inside, RTL_NUMBER_OF(Inside));
        TestOther.Header.Clock = TRACE_CLOCK_THREAD;
        TestOther.Header.ClockResolution = 100;
        TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
        TestWriteStore(First == 0 ? L"b.trace" : L"a.trace",
                       &TestOther,
                       TEST_STORE_SIZE(2));
        TEST_EQUAL(TestRun("replay @"), 0);
        TEST(TestContains(&TestOut,
                          "           [   100] | app.exe+0x1000() {\n"
                          "           [   100] |   plug.dll+0x2000() {\n"
                          "    0.0 us [   100] |     app.exe+0x1000();\n"
                          "    0.0 us [   100] |   } /* plug.dll+0x2000 */\n"
                          "    0.0 us [   100] | } /* app.exe+0x1000 */\n"));
    }

    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

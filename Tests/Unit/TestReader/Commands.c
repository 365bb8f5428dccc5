/*++

Module Name:

    Commands.c

Abstract:

    What the commands print of a session of two threads, their filters, and what
    they say about options that they do not understand.

--*/

#include "TestReader.h"

const TRACE_RECORD TestMainRecords[] = {
    { 1000, 0x1000, 0x1FF000 | TEST_N },
    { 2000, 0x2000, 0x1FE000 | TEST_N },
    { 3000, 0x2000, 0x1FD000 | TEST_N },
    { 4500, 0x2000, 0x1FD000 | TEST_X },
    { 5000, 0x2000, 0x1FE000 | TEST_X },
    { 6000, 0x2000, 0x1FE000 | TEST_N },
    { 6300, 0x2000, 0x1FE000 | TEST_X },
    { 7000, 0x2000, 0x1FE000 | TEST_N },
    { 9000, 0x3000, 0x1FE800 | TEST_N },
    { 9999, 0x3000, 0x1FE800 | TEST_X },
};

//
// Thread 104: one call, in the middle of those.
//

static const TRACE_RECORD TestWorkerRecords[] = {
    { 2500, 0x4000, 0x5FF000 | TEST_N },
    { 1002500, 0x4000, 0x5FF000 | TEST_X },
};

_Use_decl_annotations_
BOOLEAN
TestWriteSession(
    VOID
    )
{
    static const CHAR Log[] = "2026-11-26 08:40:17.123Z Tracer: app.exe "
                              "(process 100, thread 100): a; b\r\n";

    if (!TestBeginSession()) {
        return FALSE;
    }

    TestMakeStore(&TestStore,
                  TestMainRecords,
                  RTL_NUMBER_OF(TestMainRecords));
    TestStore.Header.State = TRACE_STATE_OPEN;
    TestStore.Header.Reason = TRACE_REASON_NONE;
    TestMakeStore(&TestOther,
                  TestWorkerRecords,
                  RTL_NUMBER_OF(TestWorkerRecords));
    TestOther.Header.ThreadId = 104;
    TestOther.Header.StackBase = 0x600000;
    TestOther.Header.StackLimit = 0x500000;

    return TestWriteStore(
               L"app.exe-100-1.trace",
               &TestStore,
               TEST_STORE_SIZE(RTL_NUMBER_OF(TestMainRecords))) &&
           TestWriteStore(
               L"app.exe-104-2.TRACE",
               &TestOther,
               TEST_STORE_SIZE(RTL_NUMBER_OF(TestWorkerRecords))) &&
           TestWriteStore(L"app.exe.log",
                          (const TEST_STORE *)Log,
                          sizeof(Log) - 1);
}


VOID
TestCommands(
    VOID
    )
{
    if (!TestWriteSession()) {
        return;
    }

    //
    // main: 1000 to 9999, less 3000, 300, 2000 and 999 of its calls.
    // work, total: 3000 + 300; self: 1500 + 1500 + 300; three of its calls
    // last 3000, 1500, 300: 1600 on average; one was left after 2000.
    //

    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,waited_ns,"
        "ran_ns,p50_ns,p90_ns,p99_ns,caller_modules,module,rva,folded,"
        "function,file,line\r\n"
        "1,1000000,1000000,1000000,1000000,1000000,0,0,0,0,0,0,1000000,"
        "1000000,1000000,1000000,,app.exe,0x4000,,app.exe+0x4000,,\r\n"
        "1,8999,2700,8999,8999,8999,0,0,1,0,0,0,8999,8999,8999,8999,"
        ",app.exe,0x1000,,app.exe+0x1000,,\r\n"
        "4,3300,3300,1600,300,3000,1,2000,0,0,0,0,3300,1503,3000,3000,"
        ",app.exe,0x2000,,app.exe+0x2000,,\r\n"
        "1,999,999,999,999,999,0,0,0,0,0,0,999,999,999,999,"
        ",app.exe,0x3000,,app.exe+0x3000,,\r\n");
    TEST(TestContains(&TestErr, "no function names for app.exe"));

    TEST_EQUAL(TestRun("report --thread 100 --sort calls --limit 2 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min"
        "         Max  Abandoned  Abandoned time  Unfinished  Function\n"
        "         4    3.300 us    3.300 us    1.600 us      300 ns"
        "    3.000 us          1        2.000 us           0  "
        "app.exe+0x2000\n"
        "         1    8.999 us    2.700 us    8.999 us    8.999 us"
        "    8.999 us          0            0 ns           1  "
        "app.exe+0x1000\n"
        "(1 function more: --limit)\n"
        "Abandoned: left without an exit (exception, longjmp, no return).  "
        "Their time, up to the record that showed it, is in no other column; "
        "that of calls inside others of the same function is in theirs.  "
        "What was called until then (by handlers, destructors) may be shown "
        "inside them.\n"
        "Unfinished: open at the end of the data; counted up to the thread's "
        "last record.\n"
        "Log: 1 line: TraceReader info shows what the library reported.\n");

    TEST_EQUAL(TestRun("report --csv --sort=name --module=APP --limit 1 @"),
               0);
    TEST(TestContains(&TestOut, "app.exe+0x1000,,\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x2000,,\r\n"));
    TEST_EQUAL(TestRun("report --csv --module other @"), 0);
    TEST(!TestContains(&TestOut, "app.exe+"));
    TEST(TestContains(&TestErr, "no module's name begins with other\n"));
    TEST_EQUAL(TestRun("report --csv --thread 5 @"), 0);
    TEST(!TestContains(&TestOut, "app.exe+"));
    TEST(TestContains(&TestErr, "there is no thread 5 (TraceReader threads "
                                "lists them)\n"));

    TEST_EQUAL(TestRun("tree --csv --thread 100 @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,waited_ns,"
        "ran_ns,node,parent,depth,track,thread,fiber,caller_module,module,"
        "function\r\n"
        "1,8999,2700,8999,8999,8999,0,0,1,0,0,0,8999,1,0,0,,,,"
        ",app.exe,app.exe+0x1000\r\n"
        "3,3300,1800,1650,300,3000,1,2000,0,0,0,0,3300,2,1,1,,,,"
        ",app.exe,app.exe+0x2000\r\n"
        "1,1500,1500,1500,1500,1500,0,0,0,0,0,0,1500,3,2,2,,,,"
        ",app.exe,app.exe+0x2000\r\n"
        "1,999,999,999,999,999,0,0,0,0,0,0,999,4,1,1,,,,"
        ",app.exe,app.exe+0x3000\r\n");
    TEST_EQUAL(TestRun("tree --per-thread --depth 1 --csv @"), 0);
    TEST(TestContains(&TestOut,
                      ",1,0,0,0,8999,2,0,0,0,100,0,,app.exe,"
                      "app.exe+0x1000\r\n"));
    TEST(TestContains(&TestOut, ",0,0,1,104,0,,app.exe,app.exe+0x4000\r\n"));
    TEST_EQUAL(TestRun("tree --per-thread --depth 1 @"), 0);
    TEST(TestContains(&TestOut, "  [thread 100]\n"));
    TEST(TestContains(&TestOut, "  [thread 104]\n"));
    TEST_EQUAL(TestRun("tree --depth 1 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min"
        "         Max  Unfinished  Function\n"
        "         1    1.000 ms    1.000 ms    1.000 ms    1.000 ms"
        "    1.000 ms           0  app.exe+0x4000\n"
        "         1    8.999 us    2.700 us    8.999 us    8.999 us"
        "    8.999 us           1  app.exe+0x1000\n"
        "Unfinished: open at the end of the data; counted up to the thread's "
        "last record.\n");

    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "           [   100] |   app.exe+0x2000() {\n"
        "  1.000 ms [   104] | app.exe+0x4000();\n"
        "  1.500 us [   100] |     app.exe+0x2000();\n"
        "  3.000 us [   100] |   } /* app.exe+0x2000 */\n"
        "    300 ns [   100] |   app.exe+0x2000();\n"
        "  2.000 us [   100] |   app.exe+0x2000(); /* abandoned */\n"
        "    999 ns [   100] |   app.exe+0x3000();\n"
        "  8.999 us [   100] | } /* app.exe+0x1000, open */\n");
    TEST_EQUAL(TestRun("replay --times --limit 3 @"), 0);
    TEST_OUTPUT(
        "             Time   Duration   Thread   Function\n"
        "      0.000000000            [   100] | app.exe+0x1000() {\n"
        "      0.000001000            [   100] |   app.exe+0x2000() {\n"
        "      0.000001500   1.000 ms [   104] | app.exe+0x4000();\n");
    TEST_EQUAL(TestRun("replay --json --thread 104 @"), 0);
    TEST_OUTPUT(
        "{\n\"command\": \"replay\",\n\"time_unit\": \"ns\",\n"
        "\"clock\": \"tsc\",\n"
        "\"events\": [\n"
        "{\"time_ns\": 1500, \"thread_id\": 104, \"event\": \"enter\", "
        "\"depth\": 0, \"duration_ns\": null, \"caller_module\": null, "
        "\"module\": \"app.exe\", \"function\": \"app.exe+0x4000\", "
        "\"fiber\": 0, "
        "\"tail_call\": 0, \"clock_jump\": 0, \"text\": null},\n"
        "{\"time_ns\": 1001500, \"thread_id\": 104, \"event\": \"exit\", "
        "\"depth\": 0, \"duration_ns\": 1000000, \"caller_module\": null, "
        "\"module\": \"app.exe\", \"function\": \"app.exe+0x4000\", "
        "\"fiber\": 0, "
        "\"tail_call\": null, \"clock_jump\": 0, "
        "\"text\": null}\n"
        "]\n}\n");

    TEST_EQUAL(TestRun("verify @"), 0);
    TEST_OUTPUT(
        "Store                                 State          Records       "
        "Bad      Lost  Result\n"
        "app.exe-100-1.trace                   died                10       "
        "  0         0  ok\n"
        "app.exe-104-2.TRACE                   closed               2       "
        "  0         0  ok\n"
        "2 stores, 12 records, 0 bad, 0 lost\n");

    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "table,row,field,value\r\n"));
    TEST(TestContains(&TestOut, "session,0,state,died\r\n"));
    TEST(TestContains(&TestOut,
                      "session,0,command_line,"
                      "\"app.exe \"\"a, b\"\" \\c\"\r\n"));
    TEST(TestContains(&TestOut, "session,0,clock_rate_hz,1000000000\r\n"));
    TEST(TestContains(&TestOut, "session,0,records,12\r\n"));
    TEST(TestContains(&TestOut, "session,0,bytes,8384\r\n"));
    TEST(TestContains(&TestOut,
                      "session,0,start_time,2022-06-18T04:26:40.000Z\r\n"));
    TEST(TestContains(&TestOut, "modules,0,base,0x140000000\r\n"));
    TEST(TestContains(&TestOut, "threads,0,thread_id,100\r\n"));
    TEST(TestContains(&TestOut, "threads,0,duration_ns,8999\r\n"));
    TEST(TestContains(&TestOut, "threads,1,state,closed\r\n"));
    TEST(TestContains(&TestOut, "threads,1,reason,thread exit\r\n"));
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut,
                      "\"command_line\": \"app.exe \\\"a, b\\\" \\\\c\""));
    TEST(TestContains(&TestOut, "\"reason\": null"));

    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut,
                      "The program died: it ended without closing "
                      "app.exe-100-1.trace."));

    //
    // One store alone.
    //

    TestMakePathIn(&TestPath, &TestSubfolder, L"app.exe-104-2.TRACE");
    TEST_EQUAL(TestRunWithPath("report --csv @", TestDosPath(&TestPath)), 0);
    TEST(TestContains(&TestOut, "1,1000000,"));
    TEST(!TestContains(&TestOut, "0x1000"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

_Use_decl_annotations_
BOOLEAN
TestWritePrefixes(
    PCSZ Text
    )
{
    return TestMakePathIn(&TestPrefixes, &TestSubfolder, L"prefixes.txt") &&
           TestWriteStore(L"prefixes.txt",
                          (const TEST_STORE *)(PVOID)Text,
                          RtlLengthOfString(Text));
}


//
// Tests --function and --exclude on the session. Its functions are shown as
// app.exe+0x1000, which calls 0x2000, which calls itself, and 0x3000; and
// 0x4000 on another thread.
//

VOID
TestFilters(
    VOID
    )
{
    if (!TestWriteSession() ||
        !TestWritePrefixes("\xEF\xBB\xBF# nothing\r\n\r\n"
                           "  app.exe+0x30\t\r\n-app.exe+0x3000\n"
                           "app.exe+0x4")) {
        return;
    }

    TEST_EQUAL(TestRun("report --function app.exe+0x2,app.exe+0x4 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min         Max"
        "  Abandoned  Abandoned time  Function\n"
        "         1    1.000 ms    1.000 ms    1.000 ms    1.000 ms    1.000 ms"
        "          0            0 ns  app.exe+0x4000\n"
        "         4    3.300 us    3.300 us    1.600 us      300 ns    3.000 us"
        "          1        2.000 us  app.exe+0x2000\n"
        "Abandoned: left without an exit (exception, longjmp, no return).  "
        "Their time, up to the record that showed it, is in no other column; "
        "that of calls inside others of the same function is in theirs.  "
        "What was called until then (by handlers, destructors) may be shown "
        "inside them.\n"
        "Not shown (--function, --exclude): 2 functions, 2 calls.\n"
        "Log: 1 line: TraceReader info shows what the library reported.\n");

    TEST_EQUAL(TestRun("replay --exclude app.exe+0x1,app.exe+0x4 "
                       "--exclude app.exe+0x3000 @"),
               0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] |   app.exe+0x2000() {\n"
        "  1.500 us [   100] |     app.exe+0x2000();\n"
        "  3.000 us [   100] |   } /* app.exe+0x2000 */\n"
        "    300 ns [   100] |   app.exe+0x2000();\n"
        "  2.000 us [   100] |   app.exe+0x2000(); /* abandoned */\n"
        "Not shown (--function, --exclude): 3 functions, 3 calls.\n");

    //
    // A tree has the way to a function; what is excluded is out with its
    // calls.
    //

    TEST_EQUAL(TestRun("tree --json --function app.exe+0x3 @"), 0);
    TEST(TestContains(&TestOut, "\"function\": \"app.exe+0x1000\"}"));
    TEST(TestContains(&TestOut, "\"function\": \"app.exe+0x3000\"}"));
    TEST(!TestContains(&TestOut, "app.exe+0x2000"));
    TEST(TestContains(&TestOut,
                      "\"not_shown\": [\n{\"nodes\": 3, \"calls\": 5}"));
    TEST_EQUAL(TestRun("tree @"), 0);
    TEST(TestContains(&TestOut, "Abandoned"));
    TEST_EQUAL(TestRun("tree --exclude app.exe+0x2 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x3000\n"));
    TEST(!TestContains(&TestOut, "Abandoned"));
    TEST_EQUAL(TestRun("tree --csv --exclude app.exe+0x1 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x4000\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x1000"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));

    //
    // A file.  It has 0x30.. but not 0x3000, and 0x4...
    //

    TEST_EQUAL(TestRun("report --csv --function @@ @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x4000,,\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x1000"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));
    TEST_EQUAL(TestRun("live --function app.exe+0x1 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x1000\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));
    TEST(TestContains(&TestOut, ": 3 functions, 6 calls.\n"));

    TEST_EQUAL(TestRun("report --exclude @@ @"), 1);
    TEST(TestContains(&TestErr, "prefixes.txt: line 4 begins with -, which "));
    TEST_EQUAL(TestOut.LengthInBytes, 0);
    TEST(TestWritePrefixes("# a\n\xC3("));
    TEST_EQUAL(TestRun("report --exclude @@ @"), 1);
    TEST(TestContains(&TestErr, "TraceReader: read the file of prefixes: "));
    TEST(TestContains(&TestErr, "prefixes.txt: line 2 is not text in UTF-8"));

    //
    // Nothing is left; and nothing was there.
    //

    TEST_EQUAL(TestRun("report --function APP @"), 3);
    TEST(TestContains(&TestErr, "--exclude leave no function"));
    TEST_EQUAL(TestRun("tree --exclude app @"), 3);
    TEST(TestContains(&TestErr, "--exclude leaves no function"));
    TEST_EQUAL(TestRun("replay --csv --exclude app @"), 3);
    TEST_EQUAL(TestRun("live --exclude app @"), 3);
    TEST_EQUAL(TestRun("report --thread 5 --function APP @"), 0);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Tests usage errors and help.
//

VOID
TestUsage(
    VOID
    )
{
    static const struct {
        PCSZ CommandLine;
        PCSZ Error;
    } Errors[] = {
        { "", "usage: TraceReader COMMAND" },
        { "reprot @", "unknown command reprot" },
        { "--csv @", "unknown option --csv" },
        { "report", "a session directory or store is missing" },
        { "report --foo @", "unknown option --foo" },
        { "report -x @", "unknown option -x" },
        { "info --sort total @", "unknown option --sort" },
        { "live --csv @", "unknown option --csv" },
        { "report --sortx total @", "unknown option --sortx" },
        { "report --sort speed @", "bad value \"speed\" for --sort" },
        { "report --sort", "the option needs a value: --sort" },
        { "report --limit 0 @", "bad value \"0\" for --limit" },
        { "report --limit 1x @", "bad value \"1x\" for --limit" },
        { "report --limit -1 @", "bad value \"-1\" for --limit" },
        { "report --thread 4294967296 @", "bad value" },
        { "report --csv=1 @", "the option takes no value" },
        { "report --module= @", "bad value" },
        { "live --interval 0 @", "bad value \"0\" for --interval" },
        { "report @ @", "too many arguments: " },
        { "report @ --function", "the option needs a value: --function" },
        { "report --function= @", "bad value \"\" for --function: it takes" },
        { "tree --function ,, @", "bad value \",,\" for --function" },
        { "replay --function a,- @", "bad value \"a,-\" for --function" },
        { "live --exclude=-a @", "bad value \"-a\" for --exclude" },
        { "report --exclude a --exclude @", "is missing" },
        { "report --function a --sort speed @", "bad value \"speed\"" },
        { "report --function=@ @", "bad value \"@\" for --function" },
        { "verify --exclude a @", "unknown option --exclude" },
        { "info --function a @", "unknown option --function" },
    };
    static const PCSZ Commands[] = {
        "info", "report", "tree", "replay", "live", "verify"
    };
    CHAR CommandLine[64];
    RTL_WRITER Writer;
    ULONG Index;

    if (!TestWriteSession()) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Errors); Index++) {
        TEST_EQUAL(TestRun(Errors[Index].CommandLine), 1);
        if (!TEST(TestContains(&TestErr, Errors[Index].Error))) {
            RtlWriteText(TestOutput,
                         "    %s: %.*s\n",
                         Errors[Index].CommandLine,
                         (int)TestErr.LengthInBytes,
                         TestErr.Buffer);
        }

        TEST_EQUAL(TestOut.LengthInBytes, 0);
    }

    TEST_EQUAL(TestRun("--help"), 0);
    TEST(TestContains(&TestOut, "Exit codes: 0 success;"));
    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {

        TEST(TestContains(&TestOut, Commands[Index]));
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {
        RtlInitializeBufferWriter(&Writer, CommandLine, sizeof(CommandLine));
        RtlWriteText(&Writer, "%s --help", Commands[Index]);
        CommandLine[Writer.LengthInBytes] = 0;
        TEST_EQUAL(TestRun(CommandLine), 0);
        TEST(TestContains(&TestOut, "--help"));
        TEST_EQUAL(TestErr.LengthInBytes, 0);
    }

    //
    // Paths that are not there, and a directory that is no session.
    //

    TestMakePathIn(&TestPath, &TestFolder, L"missing");
    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {
        RtlInitializeBufferWriter(&Writer, CommandLine, sizeof(CommandLine));
        RtlWriteText(&Writer, "%s @", Commands[Index]);
        CommandLine[Writer.LengthInBytes] = 0;
        TEST_EQUAL(TestRunWithPath(CommandLine, TestDosPath(&TestPath)), 1);
        TEST(TestContains(&TestErr, "open the session: "));
        TEST(TestContains(&TestErr, "0xC0000034"));
        TEST_EQUAL(TestOut.LengthInBytes, 0);
    }

    TEST(TestBeginSession());
    TEST_EQUAL(TestRun("report @"), 1);
    TEST(TestContains(&TestErr,
                      "find a store (*.trace) in the directory or in one "));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

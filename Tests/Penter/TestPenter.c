/*++

Module Name:

    TestPenter.c

Abstract:

    Tests the hooks: that they change nothing, that what they record is what
    was called, that the system can unwind through them at any instruction,
    that threads may end and be killed, and what the environment asks for.

    The library reads its configuration once in a process, so nearly all of
    this runs in children: this program itself, started with the name of a test
    and with TRACER_ variables of its own.  This process never calls a hook.

    Takes long in Debug.

--*/

#include "PenterStoreSupport.h"

#define TEST_CHILD_LIMIT_IN_MILLISECONDS    600000
#define TEST_LONG_PATH_IN_CHARS             32750
#define TEST_TEXT_CAPACITY                  0x10000

typedef struct _TEST_CHILD {
    PCSZ Name;
    PENTER_TEST_CHILD *Routine;
} TEST_CHILD;

static PENTER_TEST_CHILD PenterTestRun;

static const TEST_CHILD TestChildren[] = {
    { "run", PenterTestRun },
    { "first", PenterTestFirst },
    { "states", PenterTestStates },
    { "unrecorded", PenterTestUnrecorded },
    { "broken", PenterTestBroken },
    { "choices", PenterTestChoices },
    { "last", PenterTestLastThread },
    { "records", PenterTestRecords },
    { "threads", PenterTestThreads },
    { "reattach", PenterTestReattach },
    { "terminate", PenterTestTerminate },
    { "fibers", PenterTestFibers },
    { "unwind", PenterTestUnwind },
    { "trees", PenterTestTrees },
    { "inside", PenterTestInside },
    { "pages", PenterTestPages }
};

static PCWSTR const TestVariables[] = {
    L"TRACER_DIRECTORY",
    L"TRACER_MODULES",
    L"TRACER_ENABLED",
    L"TRACER_VIEW_SIZE",
    L"TRACER_MODE",
    L"TRACER_MAX_BYTES",
    L"TRACER_CLOCK",
    L"TRACER_MIN_DURATION",
    L"TRACER_MAX_DEPTH",
    L"TRACER_FLUSH",
    L"TRACER_EXCLUDE"
};

static TEST_PATH TestScratch;
static TEST_PATH TestDirectory;
static CHAR TestText[TEST_TEXT_CAPACITY];
static ULONG TestTextLength;
static ULONG TestNumberOfChildren;

//
// PenterMatchModule.
//

typedef struct _TEST_PATTERN {
    PCWSTR Patterns;
    PCWSTR Name;
    NTSTATUS Status;
    BOOLEAN Included;
} TEST_PATTERN;

#define TEST_INVALID STATUS_OBJECT_NAME_INVALID

static const TEST_PATTERN TestPatterns[] = {

    //
    // Nothing asked for: every module.
    //

    { L"", L"app.exe", STATUS_SUCCESS, TRUE },
    { L" ", L"app.exe", STATUS_SUCCESS, TRUE },
    { L";", L"app.exe", STATUS_SUCCESS, TRUE },
    { L" ; ;; ", L"app.exe", STATUS_SUCCESS, TRUE },

    //
    // One prefix.
    //

    { L"app", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"app.exe", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"app.exe.", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"a", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"pp", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"lib", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"application-with-a-long-name", L"app", STATUS_SUCCESS, FALSE },

    //
    // Blanks and empty entries.
    //

    { L"  app  ", L"app.exe", STATUS_SUCCESS, TRUE },
    { L";;app;;", L"app.exe", STATUS_SUCCESS, TRUE },
    { L" lib ; app ", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"my app", L"My App.exe", STATUS_SUCCESS, TRUE },
    { L"my app", L"myapp.exe", STATUS_SUCCESS, FALSE },

    //
    // Case, also beyond ASCII: A with diaeresis, e with acute, Greek, Cyrillic.
    //

    { L"APP", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"app", L"APP.EXE", STATUS_SUCCESS, TRUE },
    { L"\x00C4pfel", L"\x00E4PFEL.dll", STATUS_SUCCESS, TRUE },
    { L"\x00E4pfel", L"\x00C4pfel.dll", STATUS_SUCCESS, TRUE },
    { L"-\x00E4", L"\x00C4pfel.dll", STATUS_SUCCESS, FALSE },
    { L"\x00E9t\x00E9", L"\x00C9T\x00C9.exe", STATUS_SUCCESS, TRUE },
    { L"\x03C9mega", L"\x03A9MEGA.exe", STATUS_SUCCESS, TRUE },
    { L"\x0436", L"\x0416.exe", STATUS_SUCCESS, TRUE },
    { L"\x00C4", L"Apfel.dll", STATUS_SUCCESS, FALSE },

    //
    // Only '-' prefixes: everything but those.
    //

    { L"-app", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"-app", L"lib.dll", STATUS_SUCCESS, TRUE },
    { L"-lib;-app", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"-lib;-app", L"other.exe", STATUS_SUCCESS, TRUE },

    //
    // The longest match decides, whatever the order.
    //

    { L"app;-app.exe", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"-app.exe;app", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"app;-app.exe", L"app.dll", STATUS_SUCCESS, TRUE },
    { L"-app;app.exe", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"app.exe;-app", L"app.exe", STATUS_SUCCESS, TRUE },
    { L"-app;app.exe", L"app.dll", STATUS_SUCCESS, FALSE },
    { L"-app;app.exe", L"other", STATUS_SUCCESS, FALSE },
    { L"a;-ap;app;-app.", L"app.exe", STATUS_SUCCESS, FALSE },
    { L"a;-ap;app;-app.", L"appx.exe", STATUS_SUCCESS, TRUE },
    { L"a;-ap;app;-app.", L"apx.exe", STATUS_SUCCESS, FALSE },
    { L"a;-ap;app;-app.", L"ax.exe", STATUS_SUCCESS, TRUE },
    { L"a;-ap;app;-app.", L"x.exe", STATUS_SUCCESS, FALSE },

    //
    // A minus sign is special in front only.
    //

    { L"my-app", L"my-app.exe", STATUS_SUCCESS, TRUE },
    { L"-my-app", L"my-app.exe", STATUS_SUCCESS, FALSE },
    { L"--app", L"-app.exe", STATUS_SUCCESS, FALSE },
    { L"x;-my-", L"my-app.exe", STATUS_SUCCESS, FALSE },
    { L"y-app", L"app", STATUS_SUCCESS, FALSE },

    //
    // More than one word of the machine, and more than sixteen bytes.
    //

    { L"a-very-long-module-name-that-goes-on", L"a-very-long-module-name-that-"
      L"goes-on-and-on.dll", STATUS_SUCCESS, TRUE },
    { L"a-very-long-module-name-that-goes-on", L"a-very-long-module-name-that-"
      L"goes-of.dll", STATUS_SUCCESS, FALSE },

    //
    // More than sixteen prefixes, and several with the same beginning.
    //

    { L"a1;b2;c3;d4;e5;f6;g7;h8;i9;j10;k11;l12;m13;n14;o15;p16;q17;r18;s19;t20",
      L"t20.dll", STATUS_SUCCESS, TRUE },
    { L"a1;b2;c3;d4;e5;f6;g7;h8;i9;j10;k11;l12;m13;n14;o15;p16;q17;r18;s19;t20",
      L"j10", STATUS_SUCCESS, TRUE },
    { L"a1;b2;c3;d4;e5;f6;g7;h8;i9;j10;k11;l12;m13;n14;o15;p16;q17;r18;s19;t20",
      L"u21.dll", STATUS_SUCCESS, FALSE },
    { L"-x;-x1;x2;-x3;x4;-x5;x6;-x7;x8;-x9;x10;-x11;x12;-x13;x14;-x15;x16;"
      L"-x17;x18;-x19;x20",
      L"x18.dll", STATUS_SUCCESS, TRUE },
    { L"-x;-x1;x2;-x3;x4;-x5;x6;-x7;x8;-x9;x10;-x11;x12;-x13;x14;-x15;x16;"
      L"-x17;x18;-x19;x20",
      L"x19.dll", STATUS_SUCCESS, FALSE },
    { L"-x;-x1;x2;-x3;x4;-x5;x6;-x7;x8;-x9;x10;-x11;x12;-x13;x14;-x15;x16;"
      L"-x17;x18;-x19;x20",
      L"x1.dll", STATUS_SUCCESS, FALSE },

    //
    // What no file name can have.
    //

    { L"-", L"app.exe", TEST_INVALID, TRUE },
    { L"app;-", L"app.exe", TEST_INVALID, TRUE },
    { L"- ;app", L"app.exe", TEST_INVALID, TRUE },
    { L"*", L"app.exe", TEST_INVALID, TRUE },
    { L"app*", L"app.exe", TEST_INVALID, TRUE },
    { L"ap?", L"app.exe", TEST_INVALID, TRUE },
    { L"C:\\app", L"app.exe", TEST_INVALID, TRUE },
    { L"dir/app", L"app.exe", TEST_INVALID, TRUE },
    { L"\"app\"", L"app.exe", TEST_INVALID, TRUE },
    { L"lib;<app>", L"app.exe", TEST_INVALID, TRUE },
    { L"a|b", L"app.exe", TEST_INVALID, TRUE },
    { L"lib;ap\tp", L"app.exe", TEST_INVALID, TRUE },
    { L"-lib:", L"app.exe", TEST_INVALID, TRUE }
};

//
// Tests which modules TRACER_MODULES asks for.
//

static
VOID
PenterTestMatchModules(
    VOID
    )
{
    static WCHAR NameBuffer[256];
    static WCHAR PatternBuffer[256];
    UNICODE_STRING Name;
    UNICODE_STRING Patterns;
    NTSTATUS Status;
    BOOLEAN Included;
    ULONG Index;
    ULONG Length;

    for (Index = 0; Index < RTL_NUMBER_OF(TestPatterns); Index += 1) {
        Length = RtlLengthOfWideString(TestPatterns[Index].Name);
        RtlCopyBytes(NameBuffer,
                     TestPatterns[Index].Name,
                     Length * sizeof(WCHAR));
        RtlPointUnicodeString(&Name, NameBuffer, Length);
        Length = RtlLengthOfWideString(TestPatterns[Index].Patterns);
        RtlCopyBytes(PatternBuffer,
                     TestPatterns[Index].Patterns,
                     Length * sizeof(WCHAR));
        RtlPointUnicodeString(&Patterns, PatternBuffer, Length);

        Included = !TestPatterns[Index].Included;
        Status = PenterMatchModule(PenterTestRtl,
                                   &Name,
                                   &Patterns,
                                   &Included);
        if (!TEST_STATUS(Status, TestPatterns[Index].Status) ||
            !TEST_EQUAL(Included, TestPatterns[Index].Included)) {

            RtlWriteText(TestOutput,
                         "patterns \"%S\", name \"%S\"\n",
                         TestPatterns[Index].Patterns,
                         TestPatterns[Index].Name);
        }
    }
}

//
// Children.
//

//
// Makes 1,000 pairs of calls.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestRunThread(
    _In_ PVOID Argument
    )
{
    UNREFERENCED_PARAMETER(Argument);
    HookRepeatPair(_penter, _pexit, 1000, 0);
    return 0;
}

//
// The child "run": 2,000 calls by this thread and 2,000 by another one.
//

static
VOID
PenterTestRun(
    VOID
    )
{
    HANDLE Thread;

    PenterTestRunThread(NULL);
    Thread = CreateThread(NULL, 0, PenterTestRunThread, NULL, 0, NULL);
    TEST(Thread != NULL);
    TEST_EQUAL(WaitForSingleObject(Thread, INFINITE), WAIT_OBJECT_0);
    CloseHandle(Thread);
}

//
// Reads a text file into TestText.
// Returns TRUE if there is such a file.
//

static
BOOLEAN
PenterTestReadText(
    _In_ const TEST_PATH *Path
    )
{
    HANDLE File;
    NTSTATUS Status;

    TestTextLength = 0;
    Status = RtlOpenFileForReading(PenterTestRtl, &Path->Nt, &File);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    (VOID)RtlReadFile(PenterTestRtl,
                      File,
                      0,
                      TestText,
                      sizeof(TestText),
                      &TestTextLength);
    RtlClose(PenterTestRtl, File);
    return TRUE;
}

//
// Counts how often a text occurs in TestText.
// Returns the number.
//

static
ULONG
PenterTestCountText(
    _In_z_ PCSZ Text
    )
{
    ULONG Length;
    ULONG Index;
    ULONG Count;

    Length = RtlLengthOfString(Text);
    Count = 0;
    for (Index = 0; Index + Length <= TestTextLength; Index += 1) {
        if (RtlAreBytesEqual(TestText + Index, Text, Length)) {
            Count += 1;
        }
    }

    return Count;
}

//
// Prints what a child has printed, each line with the child's name in front.
//

static
VOID
PenterTestShowText(
    _In_z_ PCWSTR Child
    )
{
    ULONG Start;
    ULONG End;

    for (Start = 0; Start < TestTextLength; Start = End + 1) {
        End = Start;
        while (End < TestTextLength && TestText[End] != '\n') {
            End += 1;
        }
        RtlWriteText(TestOutput,
                     "%S: %.*s\n",
                     Child,
                     (int)(End - Start),
                     TestText + Start);
    }
    RtlFlushWriter(TestOutput);
}

//
// Points TRACER_DIRECTORY, for the next child, at a directory of its own that
// does not exist yet.
//

static
VOID
PenterTestSetDirectory(
    _In_z_ PCWSTR Name
    )
{
    TEST(TestMakePathIn(&TestDirectory, &TestScratch, Name));
    SetEnvironmentVariableW(L"TRACER_DIRECTORY", TestDosPath(&TestDirectory));
}

//
// Runs a child with the environment as it is, and takes all TRACER_ variables
// out of it afterwards.
// Arguments: the child's command line.
// Show: whether what it prints is shown even if all is well.
// Returns the child's process id, for the names of its files.
//

static
ULONG
PenterTestChild(
    _In_z_ PCWSTR Arguments,
    _In_ BOOLEAN Show
    )
{
    static TEST_PATH Output;
    SECURITY_ATTRIBUTES Security;
    HANDLE File;
    HANDLE Process;
    ULONG ProcessId;
    ULONG ExitCode;
    ULONG Index;
    WCHAR Name[] = L"output-00.txt";

    ProcessId = 0;
    TestNumberOfChildren += 1;
    Name[7] = (WCHAR)(L'0' + TestNumberOfChildren / 10);
    Name[8] = (WCHAR)(L'0' + TestNumberOfChildren % 10);
    TEST(TestMakePathIn(&Output, &TestScratch, Name));

    Security.nLength = sizeof(Security);
    Security.lpSecurityDescriptor = NULL;
    Security.bInheritHandle = TRUE;
    File = CreateFileW(TestDosPath(&Output),
                       GENERIC_WRITE,
                       FILE_SHARE_READ,
                       &Security,
                       CREATE_ALWAYS,
                       FILE_ATTRIBUTE_NORMAL,
                       NULL);
    if (!TEST(File != INVALID_HANDLE_VALUE)) {
        return 0;
    }

    ExitCode = ~0UL;
    if (TEST(TestStartChild(Arguments, File, &Process))) {
        ProcessId = GetProcessId(Process);
        TEST(TestWaitForChild(Process,
                              TEST_CHILD_LIMIT_IN_MILLISECONDS,
                              &ExitCode));
    }
    CloseHandle(File);

    for (Index = 0; Index < RTL_NUMBER_OF(TestVariables); Index += 1) {
        SetEnvironmentVariableW(TestVariables[Index], NULL);
    }

    //
    // A child that crashes may have exit code 0 where a debugger attends to
    // it, so its closing line is looked for as well.
    //

    TEST(PenterTestReadText(&Output));
    if (!TEST_EQUAL(ExitCode, 0) ||
        !TEST_EQUAL(PenterTestCountText(" passed, 0 failed"), 1) ||
        Show) {

        PenterTestShowText(Arguments);
    }

    return ProcessId;
}

typedef struct _TEST_SUM {
    ULONG NumberNotClosed;
    ULONG NumberOfStores;
    ULONGLONG NumberOfRecords;
} TEST_SUM;
typedef TEST_SUM *PTEST_SUM;

//
// Checks a store after its process has ended.
//

static
VOID
PenterTestCheckClosed(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    PTEST_SUM Sum;

    UNREFERENCED_PARAMETER(File);

    Sum = (PTEST_SUM)Context;
    Sum->NumberOfStores += 1;
    Sum->NumberOfRecords += PenterTestNumberOfRecords(Header);
    if (Header->Magic != TRACE_STORE_MAGIC ||
        Header->State != TRACE_STATE_CLOSED ||
        SizeInBytes != TRACE_HEADER_SIZE +
                       PenterTestNumberOfRecords(Header) * TRACE_RECORD_SIZE) {

        Sum->NumberNotClosed += 1;
        RtlWriteText(TestOutput,
                     "store %u of %u, thread %u: state %u, reason %u, "
                     "%llu records, %llu bytes\n",
                     Header->SequenceNumber,
                     Header->ProcessId,
                     Header->ThreadId,
                     Header->State,
                     Header->Reason,
                     PenterTestNumberOfRecords(Header),
                     SizeInBytes);
    }
}

//
// Checks what a child has left behind: every store is closed. Then the
// directory is deleted.
// Directory: its TRACER_DIRECTORY.
// NumberOfStores, NumberOfRecords: what has to be there; 0 if only the child
// knows.
//

static
VOID
PenterTestCheckStores(
    _In_ const TEST_PATH *Directory,
    _In_ ULONG NumberOfStores,
    _In_ ULONGLONG NumberOfRecords
    )
{
    TEST_SUM Sum;

    RtlZeroBytes(&Sum, sizeof(Sum));
    TEST(PenterTestEnumerateStores(Directory,
                                   PenterTestCheckClosed,
                                   &Sum) > 0);
    TEST_EQUAL(Sum.NumberNotClosed, 0);
    if (NumberOfStores != 0) {
        TEST_EQUAL(Sum.NumberOfStores, NumberOfStores);
        TEST_EQUAL(Sum.NumberOfRecords, NumberOfRecords);
    }
    TEST_SUCCESS(TestDeleteTree(Directory));
}

//
// Tells whether there is a file or a directory.
//

static
BOOLEAN
PenterTestExists(
    _Inout_ PTEST_PATH Path
    )
{
    return GetFileAttributesW(TestDosPath(Path)) != INVALID_FILE_ATTRIBUTES;
}

typedef struct _TEST_LOG {
    ULONG NumberOfLogs;
    TEST_PATH Path;
} TEST_LOG;

//
// Goes into the one session directory and makes the path of its log.
// Context: the log; Path is the directory above the session.
// Name: the entry's name.
// IsDirectory: TRUE for a directory.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
PenterTestFindLog(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    static const WCHAR LogName[] = L"TestPenter.exe.log";
    TEST_LOG *Log;

    UNREFERENCED_PARAMETER(SizeInBytes);

    Log = (TEST_LOG *)Context;
    if (IsDirectory) {
        Log->NumberOfLogs += 1;
        (VOID)RtlAppendPath(&Log->Path.Nt,
                            Name->Buffer,
                            Name->Length / sizeof(WCHAR),
                            TRUE);
        (VOID)RtlAppendPath(&Log->Path.Nt,
                            LogName,
                            RTL_NUMBER_OF(LogName) - 1,
                            TRUE);
    }

    return STATUS_SUCCESS;
}

//
// Reads the log of the one session below a directory into TestText.
//

static
BOOLEAN
PenterTestReadSessionLog(
    _In_ const TEST_PATH *Directory
    )
{
    static TEST_LOG Log;

    Log.NumberOfLogs = 0;
    RtlCopyBytes(Log.Path.Buffer, Directory->Nt.Buffer, Directory->Nt.Length);
    Log.Path.Nt.Buffer = Log.Path.Buffer;
    Log.Path.Nt.Length = Directory->Nt.Length;
    Log.Path.Nt.MaximumLength = sizeof(Log.Path.Buffer);
    TEST_SUCCESS(RtlEnumerateDirectory(PenterTestRtl,
                                       &Directory->Nt,
                                       PenterTestFindLog,
                                       &Log));
    return TEST_EQUAL(Log.NumberOfLogs, 1) && PenterTestReadText(&Log.Path);
}

//
// Runs the children that test the hooks.
//

static
VOID
PenterTestHooks(
    VOID
    )
{
    static const PCWSTR Children[] = {
        L"states",
        L"states expansion",
        L"records",
        L"records expansion",
        L"threads",
        L"threads expansion",
        L"reattach",
        L"terminate",
        L"fibers",
        L"unwind",
        L"unwind expansion",
        L"inside",
        L"inside expansion"
    };
    static const PCWSTR Trees[] = {
        L"trees",
        L"trees expansion",
        L"unwind expansion",
        L"unwind"
    };
    WCHAR First[] = L"first 0 0";
    ULONG Index;

    PenterTestSetDirectory(L"broken");
    PenterTestChild(L"broken", TRUE);
    TEST(!PenterTestExists(&TestDirectory));

    for (Index = 0; Index < 2 * TEST_NUMBER_OF_HOOKS; Index += 1) {
        if (PenterTestQuick && (Index & 1) != 0) {
            continue;
        }
        First[6] = (WCHAR)(L'0' + Index / 2);
        First[8] = (Index & 1) == ((Index / 2) & 1) ? L'0' : L'8';
        PenterTestSetDirectory(L"first");
        PenterTestChild(First, FALSE);
        PenterTestCheckStores(&TestDirectory, 1, 2);
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Children); Index += 1) {
        PenterTestSetDirectory(L"hooks");
        SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"64K");
        PenterTestChild(Children[Index], TRUE);
        PenterTestCheckStores(&TestDirectory, 0, 0);
    }

    //
    // And with views as they usually are.
    //

    PenterTestSetDirectory(L"hooks");
    PenterTestChild(L"threads", FALSE);
    PenterTestCheckStores(&TestDirectory, 0, 0);

    //
    // The hooks that keep a tree, with both clocks.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Trees); Index += 1) {
        PenterTestSetDirectory(L"hooks");
        SetEnvironmentVariableW(L"TRACER_MODE", L"tree");
        if (Index % 4 >= 2) {
            SetEnvironmentVariableW(L"TRACER_CLOCK", L"thread");
        }
        PenterTestChild(Trees[Index], TRUE);
        TEST_SUCCESS(TestDeleteTree(&TestDirectory));
    }

    //
    // A store whose pages fail is reported in the session's log.
    //

    PenterTestSetDirectory(L"hooks");
    PenterTestChild(L"pages", TRUE);
    if (TEST(PenterTestReadSessionLog(&TestDirectory))) {
        TEST_EQUAL(PenterTestCountText("writing a thread's store: "
                                       "TestPenter.exe: 0xC0"), 1);
        TEST_EQUAL(PenterTestCountText("\n"), 1);
    }
    TEST_SUCCESS(TestDeleteTree(&TestDirectory));
}

//
// Runs the children that test the hooks once more, with each clock, and with
// the routines that leave calls out.
//

static
VOID
PenterTestOptions(
    VOID
    )
{
    static const PCWSTR Clocks[] = { L"tsc", L"thread", L"none" };
    static const PCWSTR Children[] = {
        L"states", L"states expansion",
        L"unwind", L"unwind expansion",
        L"threads", L"threads expansion",
        L"fibers", L"fibers expansion",
        L"records", L"records expansion"
    };
    ULONG Clock;
    ULONG Chooses;
    ULONG Child;
    ULONG Index;

    for (Index = 0; Index < 6; Index += 1) {
        Clock = Index / 2;
        Chooses = Index & 1;
        for (Child = 0; Child < RTL_NUMBER_OF(Children); Child += 1) {

            //
            // Which slot the thread's context is in takes turns.  What the
            // plain hooks do with the usual clock is tested above; what is
            // recorded when calls are left out, below.
            //

            if (((Child ^ Clock ^ Chooses) & 1) != 0 || Index == 0 ||
                (Chooses != 0 && Child >= 8) ||
                (PenterTestQuick && Index % 3 != 0)) {

                continue;
            }

            PenterTestSetDirectory(L"options");
            SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"64K");
            SetEnvironmentVariableW(L"TRACER_CLOCK", Clocks[Clock]);
            if (Chooses != 0) {
                SetEnvironmentVariableW(L"TRACER_MAX_DEPTH", L"3");
                if (Clock != TRACE_CLOCK_NONE) {
                    SetEnvironmentVariableW(L"TRACER_MIN_DURATION", L"1us");
                }
            }
            SetEnvironmentVariableW(L"TRACER_QUICK", L"1");
            PenterTestChild(Children[Child], TRUE);
            SetEnvironmentVariableW(L"TRACER_QUICK",
                                    PenterTestQuick ? L"1" : NULL);
            PenterTestCheckStores(&TestDirectory, 0, 0);
        }
    }

    for (Clock = 0; Clock < RTL_NUMBER_OF(Clocks); Clock += 1) {
        PenterTestSetDirectory(L"options");
        SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"64K");
        SetEnvironmentVariableW(L"TRACER_CLOCK", Clocks[Clock]);
        SetEnvironmentVariableW(L"TRACER_MAX_DEPTH", L"5");
        PenterTestChild(Clock == 1 ? L"choices expansion" : L"choices", TRUE);
        PenterTestCheckStores(&TestDirectory, 0, 0);
    }

    //
    // The process ends with its last thread.
    //

    for (Index = 0; Index < (PenterTestQuick ? 3 : 9); Index += 1) {
        PenterTestSetDirectory(L"options");
        SetEnvironmentVariableW(L"TRACER_CLOCK", Clocks[Index % 3 != 2]);
        PenterTestChild(L"last", FALSE);
        PenterTestCheckStores(&TestDirectory, 2, 40040);
    }
}

//
// Reads the log that a child without a session directory has left.  FALSE if
// there is none.
// Directory: the temporary one.
//

static
BOOLEAN
PenterTestReadTemporaryLog(
    _In_ PTEST_PATH Directory,
    _In_ ULONG ProcessId
    )
{
    static TEST_PATH Path;
    RTL_WRITER Writer;
    CHAR Name[64];
    WCHAR WideName[64];
    ULONG Written;

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer, "Tracer-TestPenter.exe-%u.log", ProcessId);
    RtlUtf8ToWide(Name,
                  Writer.LengthInBytes,
                  WideName,
                  RTL_NUMBER_OF(WideName) - 1,
                  &Written);
    WideName[Written] = L'\0';
    TEST(TestMakePathIn(&Path, Directory, WideName));
    return PenterTestExists(&Path) && PenterTestReadText(&Path);
}

//
// Tests what leaves this program out: there is no session directory, nor the
// one that would hold it.
//

static
VOID
PenterTestLeftOut(
    VOID
    )
{
    static const PCWSTR Modules[] = {
        L"-testpenter",
        L"other;library",
        L"test;-TestPenter.exe"
    };
    static const PCWSTR Included[] = {
        L"testpenter",
        L"-other",
        L"-test;TESTPENTER.EXE"
    };
    static WCHAR Temporary[TEST_PATH_CAPACITY_IN_CHARS];
    static TEST_PATH Path;
    ULONG ProcessId;
    ULONG Index;

    PenterTestRtl->GetTempPathW(RTL_NUMBER_OF(Temporary), Temporary);
    TEST(TestMakePathIn(&Path, &TestScratch, L"temporary"));
    TEST_SUCCESS(RtlCreateDirectory(PenterTestRtl, &Path.Nt));
    SetEnvironmentVariableW(L"TMP", TestDosPath(&Path));
    SetEnvironmentVariableW(L"TEMP", TestDosPath(&Path));

    PenterTestSetDirectory(L"disabled");
    SetEnvironmentVariableW(L"TRACER_ENABLED", L"0");
    PenterTestChild(L"unrecorded", FALSE);
    TEST(!PenterTestExists(&TestDirectory));

    for (Index = 0; Index < RTL_NUMBER_OF(Modules); Index += 1) {
        PenterTestSetDirectory(L"out");
        SetEnvironmentVariableW(L"TRACER_MODULES", Modules[Index]);
        ProcessId = PenterTestChild(L"unrecorded", FALSE);
        TEST(!PenterTestExists(&TestDirectory));

        //
        // The list has none of the process's modules, and does not leave this
        // one out on purpose: that is said.
        //

        TEST_EQUAL(PenterTestReadTemporaryLog(&Path, ProcessId), Index == 1);
        if (Index == 1 &&
            !TEST_EQUAL(PenterTestCountText(
                            "reading TRACER_MODULES: other;library: 0xC0000225 "
                            "(STATUS_NOT_FOUND); none of these is how the name "
                            "of this module begins, and nothing of the process "
                            "is recorded; TRACER_MODULES=TestPenter.exe "
                            "records this module\r\n"), 1)) {

            PenterTestShowText(L"log");
        }
    }
    SetEnvironmentVariableW(L"TMP", Temporary);
    SetEnvironmentVariableW(L"TEMP", Temporary);
    TEST_SUCCESS(TestDeleteTree(&Path));

    for (Index = 0; Index < RTL_NUMBER_OF(Included); Index += 1) {
        PenterTestSetDirectory(L"in");
        SetEnvironmentVariableW(L"TRACER_MODULES", Included[Index]);
        SetEnvironmentVariableW(L"TRACER_ENABLED", L"1");
        PenterTestChild(L"run", FALSE);
        PenterTestCheckStores(&TestDirectory, 2, 4000);
    }
}

//
// Tests values that make no sense: the program runs and is recorded as if they
// were not there, and the log names the variable, once.
//

static
VOID
PenterTestGarbage(
    VOID
    )
{
    static const struct {
        PCWSTR Name;
        PCWSTR Value;
        PCSZ Text;
    } Values[] = {
        { L"TRACER_ENABLED", L"maybe", "TRACER_ENABLED (0 or 1): maybe: 0xC0" },
        { L"TRACER_ENABLED", L"2", "TRACER_ENABLED (0 or 1): 2: 0xC0" },
        { L"TRACER_ENABLED", L"-1", "TRACER_ENABLED (0 or 1): -1: 0xC0" },
        { L"TRACER_VIEW_SIZE", L"banana",
          "TRACER_VIEW_SIZE (64K to 1G): banana: 0xC0" },
        { L"TRACER_VIEW_SIZE", L"100000",
          "TRACER_VIEW_SIZE (64K to 1G): 100000: 0xC0" },
        { L"TRACER_VIEW_SIZE", L"32K",
          "TRACER_VIEW_SIZE (64K to 1G): 32K: 0xC0" },
        { L"TRACER_VIEW_SIZE", L"2G",
          "TRACER_VIEW_SIZE (64K to 1G): 2G: 0xC0" },
        { L"TRACER_VIEW_SIZE", L"99999999999999999999G",
          "TRACER_VIEW_SIZE (64K to 1G): 99999999999999999999G: 0xC0" },
        { L"TRACER_MODULES", L"a*b", "TRACER_MODULES: a*b: 0xC0" },
        { L"TRACER_MODULES", L"other;-", "TRACER_MODULES: other;-: 0xC0" },
        { L"TRACER_MODULES", L"\x00C4?", "TRACER_MODULES: \xC3\x84?: 0xC0" },
        { L"TRACER_CLOCK", L"fast",
          "TRACER_CLOCK (tsc, thread or none): fast: 0xC0" },
        { L"TRACER_CLOCK", L"threads",
          "TRACER_CLOCK (tsc, thread or none): threads: 0xC0" },
        { L"TRACER_MODE", L"rin",
          "TRACER_MODE (file, ring, tree, compact or compact-ring): rin: "
          "0xC0" },
        { L"TRACER_MAX_BYTES", L"1000K",
          "TRACER_MAX_BYTES (1M or more): 1000K: 0xC0" },
        { L"TRACER_MIN_DURATION", L"5m",
          "TRACER_MIN_DURATION (10us, 1ms): 5m: 0xC0" },
        { L"TRACER_MIN_DURATION", L"us",
          "TRACER_MIN_DURATION (10us, 1ms): us: 0xC0" },
        { L"TRACER_MIN_DURATION", L"3601s",
          "TRACER_MIN_DURATION (10us, 1ms): 3601s: 0xC0" },
        { L"TRACER_MAX_DEPTH", L"0", "TRACER_MAX_DEPTH (1 to 16000): 0: 0xC0" },
        { L"TRACER_MAX_DEPTH", L"16001",
          "TRACER_MAX_DEPTH (1 to 16000): 16001: 0xC0" },
        { L"TRACER_FLUSH", L"2", "TRACER_FLUSH (0 or 1): 2: 0xC0" }
    };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Values); Index += 1) {
        if (PenterTestQuick && Index % 4 != 0) {
            continue;
        }
        PenterTestSetDirectory(L"garbage");
        SetEnvironmentVariableW(Values[Index].Name, Values[Index].Value);
        PenterTestChild(L"run", FALSE);
        if (TEST(PenterTestReadSessionLog(&TestDirectory))) {
            if (!TEST_EQUAL(PenterTestCountText(Values[Index].Text), 1) ||
                !TEST_EQUAL(PenterTestCountText("\n"), 1)) {

                PenterTestShowText(L"log");
            }
        }
        PenterTestCheckStores(&TestDirectory, 2, 4000);
    }

    //
    // All at once.
    //

    PenterTestSetDirectory(L"garbage");
    SetEnvironmentVariableW(L"TRACER_ENABLED", L"on");
    SetEnvironmentVariableW(L"TRACER_MODULES", L"<>");
    SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"1");
    PenterTestChild(L"run", FALSE);
    if (TEST(PenterTestReadSessionLog(&TestDirectory))) {
        TEST_EQUAL(PenterTestCountText("TRACER_ENABLED (0 or 1): on: 0xC0"), 1);
        TEST_EQUAL(PenterTestCountText("TRACER_MODULES: <>: 0xC0"), 1);
        TEST_EQUAL(PenterTestCountText("TRACER_VIEW_SIZE (64K to 1G): 1: 0xC0"),
                   1);
        TEST_EQUAL(PenterTestCountText("\n"), 3);
    }
    PenterTestCheckStores(&TestDirectory, 2, 4000);

    //
    // Values that are fine leave no log; empty ones are as if they were not
    // there.
    //

    PenterTestSetDirectory(L"garbage");
    SetEnvironmentVariableW(L"TRACER_ENABLED", L"");
    SetEnvironmentVariableW(L"TRACER_MODULES", L"");
    SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"0x20000");
    PenterTestChild(L"run", FALSE);
    TEST(!PenterTestReadSessionLog(&TestDirectory));
    PenterTestCheckStores(&TestDirectory, 2, 4000);
}

//
// Tests directories that cannot be: what no path can be is replaced with the
// user's directory for sessions, and if that cannot be with the current one,
// which the log says; what cannot be made is reported in the temporary
// directory and nothing is recorded. The program runs in any case.
//

static
VOID
PenterTestBadDirectories(
    VOID
    )
{
    static WCHAR Long[TEST_LONG_PATH_IN_CHARS + 1];
    static WCHAR Current[TEST_PATH_CAPACITY_IN_CHARS];
    static WCHAR Temporary[TEST_PATH_CAPACITY_IN_CHARS];
    static TEST_PATH Path;
    static TEST_PATH Users;
    static TEST_PATH Below;
    static const PCSZ Fallbacks[] = {
        "(LOCALAPPDATA): 0xC0000100 (STATUS_VARIABLE_NOT_FOUND); the session "
        "is in the current directory",
        "(LOCALAPPDATA): 0xC0000100 (STATUS_VARIABLE_NOT_FOUND); the session "
        "is in the current directory",
        "(LOCALAPPDATA): users: 0xC0000033 (STATUS_OBJECT_NAME_INVALID); the "
        "session is in the current directory",
        "; the session is in the current directory"
    };
    HANDLE File;
    ULONG ProcessId;
    ULONG Index;

    GetCurrentDirectoryW(RTL_NUMBER_OF(Current), Current);
    PenterTestRtl->GetTempPathW(RTL_NUMBER_OF(Temporary), Temporary);

    //
    // Too long for a path: the default is the user's directory, which is
    // created.
    //

    TEST(TestMakePathIn(&Path, &TestScratch, L"current"));
    TEST_SUCCESS(RtlCreateDirectory(PenterTestRtl, &Path.Nt));
    TEST(SetCurrentDirectoryW(TestDosPath(&Path)));
    TEST(TestMakePathIn(&Below, &TestScratch, L"user"));
    TEST(TestMakePathIn(&Users, &Below, L"Tracer"));
    SetEnvironmentVariableW(L"LOCALAPPDATA", TestDosPath(&Below));
    for (Index = 0; Index < TEST_LONG_PATH_IN_CHARS; Index += 1) {
        Long[Index] = L'x';
    }
    if (SetEnvironmentVariableW(L"TRACER_DIRECTORY", Long)) {
        PenterTestChild(L"run", FALSE);
        TEST(SetCurrentDirectoryW(Current));
        if (TEST(PenterTestReadSessionLog(&Users))) {
            TEST_EQUAL(PenterTestCountText("TRACER_DIRECTORY: xxxx"), 1);
            TEST_EQUAL(PenterTestCountText("\n"), 1);
        }
        PenterTestCheckStores(&Users, 2, 4000);
    } else {
        TEST_SKIP("no room for a long variable");
        TEST(SetCurrentDirectoryW(Current));
    }

    //
    // No variable at all, and an empty one.
    //

    for (Index = 0; Index < 2; Index += 1) {
        SetEnvironmentVariableW(L"TRACER_DIRECTORY", Index == 0 ? NULL : L"");
        TEST(SetCurrentDirectoryW(TestDosPath(&Path)));
        PenterTestChild(L"run", FALSE);
        TEST(!PenterTestReadSessionLog(&Users));
        TEST(SetCurrentDirectoryW(Current));
        PenterTestCheckStores(&Users, 2, 4000);
    }

    //
    // No user's directory: no variable, an empty one, one that does not say
    // where, and one below a regular file.
    //

    TEST(TestMakePathIn(&Below, &TestScratch, L"file"));
    TEST_SUCCESS(RtlCreateFile(PenterTestRtl,
                               &Below.Nt,
                               RTL_CREATE_NEW,
                               &File));
    RtlClose(PenterTestRtl, File);
    SetEnvironmentVariableW(L"TRACER_DIRECTORY", NULL);
    for (Index = 0; Index < RTL_NUMBER_OF(Fallbacks); Index += 1) {
        SetEnvironmentVariableW(L"LOCALAPPDATA",
                                Index == 0 ? NULL :
                                Index == 1 ? L"" :
                                Index == 2 ? L"users" : TestDosPath(&Below));
        TEST(SetCurrentDirectoryW(TestDosPath(&Path)));
        PenterTestChild(L"run", FALSE);
        TEST(SetCurrentDirectoryW(Current));
        if (TEST(PenterTestReadSessionLog(&Path))) {
            if (!TEST_EQUAL(PenterTestCountText(Fallbacks[Index]), 1) ||
                !TEST_EQUAL(PenterTestCountText(
                                "creating the session directory: "),
                            Index == 3) ||
                !TEST_EQUAL(PenterTestCountText("\n"), 1)) {

                PenterTestShowText(L"log");
            }
        }
        PenterTestCheckStores(&Path, 2, 4000);
        TEST_SUCCESS(RtlCreateDirectory(PenterTestRtl, &Path.Nt));
    }
    SetEnvironmentVariableW(L"LOCALAPPDATA", TestDosPath(&TestScratch));

    //
    // Below a regular file; and with characters that no name has.
    //

    SetEnvironmentVariableW(L"TMP", TestDosPath(&Path));
    SetEnvironmentVariableW(L"TEMP", TestDosPath(&Path));

    for (Index = 0; Index < 4; Index += 1) {
        TEST(TestMakePathIn(&Below,
                            &TestScratch,
                            (Index & 1) == 0 ? L"file" : L"a<b|c"));
        TEST(TestMakePathIn(&Below, &Below, L"below"));
        SetEnvironmentVariableW(L"TRACER_DIRECTORY", TestDosPath(&Below));
        if (Index >= 2) {
            SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", L"banana");
        }
        if (Index == 2) {
            SetEnvironmentVariableW(L"TRACER_CLOCK", L"thread");
            SetEnvironmentVariableW(L"TRACER_MAX_DEPTH", L"3");
            SetEnvironmentVariableW(L"TRACER_MIN_DURATION", L"1us");
        }
        ProcessId = PenterTestChild((Index & 1) == 0 ? L"unrecorded" : L"run",
                                    FALSE);

        if (TEST(PenterTestReadTemporaryLog(&Path, ProcessId))) {
            if (!TEST(PenterTestCountText("creating the session directory: ") >
                      0) ||
                !TEST_EQUAL(PenterTestCountText((Index & 1) == 0 ?
                                                "\\file\\below\\TestPenter" :
                                                "\\a<b|c\\below\\TestPenter"),
                            PenterTestCountText("creating the session")) ||
                !TEST(PenterTestCountText(": 0xC00") > 0) ||
                !TEST_EQUAL(PenterTestCountText("(64K to 1G): banana"),
                            Index / 2)) {

                PenterTestShowText(L"log");
            }

            //
            // One line for each thread that has no store, one that counts their
            // events, and no more.
            //

            TEST_EQUAL(PenterTestCountText("\n"),
                       ((Index & 1) == 0 ? 1 : 2) + 1 + Index / 2);
        }
    }

    SetEnvironmentVariableW(L"TMP", Temporary);
    SetEnvironmentVariableW(L"TEMP", Temporary);
    TEST_SUCCESS(TestDeleteTree(&Path));
}

//
// Tests a directory that is longer than MAX_PATH and has characters that are
// in no code page together.
//

static
VOID
PenterTestLongDirectory(
    VOID
    )
{
    static const WCHAR Part[] =
        L"directory \x00C4\x00DF \x03A9 \x0416 \x6F22\x5B57 \xD83D\xDE00 "
        L"with a long name in which little is ASCII";
    static TEST_PATH Top;
    ULONG Index;

    TEST(TestMakePathIn(&Top, &TestScratch, L"long"));
    TEST(TestMakePathIn(&TestDirectory, &TestScratch, L"long"));
    for (Index = 0; Index < 6; Index += 1) {
        TEST(TestMakePathIn(&TestDirectory, &TestDirectory, Part));
    }
    TEST(TestDirectory.Nt.Length > 2 * MAX_PATH);
    SetEnvironmentVariableW(L"TRACER_DIRECTORY", TestDosPath(&TestDirectory));
    PenterTestChild(L"run", FALSE);
    TEST(!PenterTestReadSessionLog(&TestDirectory));
    PenterTestCheckStores(&TestDirectory, 2, 4000);
    TEST_SUCCESS(TestDeleteTree(&Top));
}

//
// Runs the tests, or the one that the command line names.
//

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    WCHAR Value[TEST_PATH_CAPACITY_IN_CHARS];
    UNICODE_STRING String;
    ULONG Index;

    UNREFERENCED_PARAMETER(Allocator);

    PenterTestRtl = Rtl;
    PenterTestQuick =
        NT_SUCCESS(RtlQueryEnvironment(Rtl,
                                       L"TRACER_QUICK",
                                       Value,
                                       RTL_NUMBER_OF(Value),
                                       &String)) &&
        String.Length > 0;

    if (TestNumberOfArguments > 1) {
        for (Index = 0; Index < RTL_NUMBER_OF(TestChildren); Index += 1) {
            if (RtlAreStringsEqual(TestArguments[1].Utf8,
                                   TestChildren[Index].Name)) {

                TestChildren[Index].Routine();
                return;
            }
        }
        TEST(Index < RTL_NUMBER_OF(TestChildren));
        return;
    }

    //
    // TRACER_SCRATCH, if it is there, instead of the temporary directory.
    //

    if (NT_SUCCESS(RtlQueryEnvironment(Rtl,
                                       L"TRACER_SCRATCH",
                                       Value,
                                       RTL_NUMBER_OF(Value) - 1,
                                       &String)) &&
        String.Length > 0) {

        Value[String.Length / sizeof(WCHAR)] = L'\0';
        SetEnvironmentVariableW(L"TMP", Value);
        SetEnvironmentVariableW(L"TEMP", Value);
    }

    for (Index = 0; Index < RTL_NUMBER_OF(TestVariables); Index += 1) {
        SetEnvironmentVariableW(TestVariables[Index], NULL);
    }
    if (!TEST(TestCreateDirectory(&TestScratch))) {
        return;
    }
    SetEnvironmentVariableW(L"LOCALAPPDATA", TestDosPath(&TestScratch));

    PenterTestMatchModules();
    PenterTestHooks();
    PenterTestOptions();
    PenterTestLeftOut();
    PenterTestGarbage();
    PenterTestBadDirectories();
    PenterTestLongDirectory();

    TEST_SUCCESS(TestDeleteTree(&TestScratch));
}

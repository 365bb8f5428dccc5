/*++

Module Name:

    TestRtl.c

Abstract:

    Tests of the Rtl.  Expected values are worked out by hand, come from tables
    of the Unicode standard and of Microsoft's documentation, or from other
    code: kernel32's conversions and calendar, ntdll's _snprintf, Linux's
    /proc/cpuinfo under Wine.

    The two imports of RtlBootstrap.c are replaced here, so that exports and
    DLLs can be made to be missing.

--*/

#include "TestRtl/TestRtl.h"

#define TEST_CHILD_EXIT_CODE 77

//
// Starts this program with arguments: once with its output to a file, once
// with arguments that the child finds wrong.
//

static
VOID
TestChild(
    _In_ PCRTL Rtl
    )
{
    TEST_PATH Directory;
    TEST_PATH Path;
    HANDLE File;
    HANDLE Process;
    CHAR Text[256];
    ULONG Read = 0;
    ULONG ExitCode = 0;

    if (!TEST(TestCreateDirectory(&Directory)) ||
        !TEST(TestMakePathIn(&Path, &Directory, L"out.txt")) ||
        !TEST_SUCCESS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File))) {
        return;
    }

    if (TEST(TestStartChild(L"--child \"\x00E4 b\" \\\"\xD83D\xDE00\\\"",
                            File,
                            &Process))) {
        TEST(TestWaitForChild(Process, 600000, &ExitCode));
        TEST_EQUAL(ExitCode, TEST_CHILD_EXIT_CODE);
    }

    TEST_SUCCESS(RtlReadFile(Rtl, File, 0, Text, sizeof(Text), &Read));
    TEST_EQUAL_TEXT(Text,
                    Read,
                    "<\xC3\xA4 b><\"\xF0\x9F\x98\x80\">\n");
    RtlClose(Rtl, File);

    if (TEST(TestStartChild(L"--child", NULL, &Process))) {
        TEST(TestWaitForChild(Process, 600000, &ExitCode));
        TEST_EQUAL(ExitCode, 1);
    }

    TEST_STATUS(TestDeleteTree(&Directory), STATUS_SUCCESS);
}

//
// Runs the tests of the Rtl.
// Allocator: the process heap.
//

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    if (TestNumberOfArguments >= 2 &&
        RtlAreStringsEqual(TestArguments[1].Utf8, "--child")) {

        if (TestNumberOfArguments != 4) {
            TestExit(1);
        }

        RtlWriteText(TestOutput,
                     "<%s><%S>\n",
                     TestArguments[2].Utf8,
                     TestArguments[3].Wide);
        TestExit(TEST_CHILD_EXIT_CODE);
    }

    TestBootstrap(Rtl);
    TestAllocator(Allocator);
    TestMemory();
    TestCrt();
    TestConversions();
    TestAllCharacters();
    TestStrings();
    TestFormats();
    TestFormatsByReference();
    TestTruncation();
    TestFlush();
    TestStandardHandles(Rtl);
    TestErrors();
    TestPaths(Rtl);
    TestEnvironment(Rtl);
    TestFiles(Rtl);
    TestClocks(Rtl);
    TestClockWaits(Rtl);
    TestCalendar();
    TestCpu(Rtl);
    TestStackProbe();
    TestCommandLines(Allocator);
    TestChild(Rtl);
}

/*++

Module Name:

    Test.h

Abstract:

    The harness of the test programs.  A program defines TestMain and links
    TestMain.c, whose entry point fills an RTL, calls TestMain, prints
    "N passed, N failed" (and ", N skipped" if something was) and exits with 1
    if a check failed or none was made.

    A check that fails prints its file, its line and what it saw; the program
    goes on.  Every check macro is an expression that is TRUE if the check
    passed, so that a test can stop where going on makes no sense:

        if (!TEST_SUCCESS(Status)) {
            return;
        }

    Checks may be made by any thread.

--*/

#ifndef TRACER_TEST_H
#define TRACER_TEST_H

#include "../../Rtl/Rtl.h"

#ifdef __cplusplus
extern "C" {
#endif

//
// What the test program defines.
//

VOID
TestMain(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator
    );

//
// The program's own command line, split; [0] is the program.  A test that
// starts itself as a child looks here first and leaves with TestExit.
//

extern PCRTL_ARGUMENT TestArguments;
extern ULONG TestNumberOfArguments;

//
// Standard output, for what a test has to say besides its checks.  It is
// flushed when the program ends.
//

extern PRTL_WRITER TestOutput;

//
// The checks.  TEST_EQUAL compares numbers and pointers as 64-bit values.
//

#define TEST(Condition) \
    TestCheck((Condition) ? TRUE : FALSE, #Condition, __FILE__, __LINE__)

#define TEST_EQUAL(Actual, Expected)                                        \
    TestCheckEqual((ULONGLONG)(Actual), (ULONGLONG)(Expected),              \
                   #Actual, __FILE__, __LINE__)

#define TEST_STATUS(Actual, Expected)                                       \
    TestCheckStatus((Actual), (Expected), #Actual, __FILE__, __LINE__)

#define TEST_SUCCESS(Actual)                                                \
    TestCheckSuccess((Actual), #Actual, __FILE__, __LINE__)

//
// Bytes, printed as text: a counted one with a terminated one.
//

#define TEST_EQUAL_TEXT(Actual, LengthInBytes, Expected)                    \
    TestCheckText((Actual), (LengthInBytes), (Expected),                    \
                  RtlLengthOfString(Expected), #Actual, __FILE__, __LINE__)

#define TEST_EQUAL_STRING(Actual, Expected)                                 \
    TestCheckString((Actual), (Expected), #Actual, __FILE__, __LINE__)

//
// A counted wide string with a terminated one.
//

#define TEST_EQUAL_WIDE(Actual, LengthInChars, Expected)                    \
    TestCheckWide((Actual), (LengthInChars), (Expected),                    \
                  #Actual, __FILE__, __LINE__)

#define TEST_EQUAL_BYTES(Actual, Expected, SizeInBytes)                     \
    TestCheckBytes((Actual), (Expected), (SizeInBytes),                     \
                   #Actual, __FILE__, __LINE__)

//
// Something that cannot be tested here; the reason is printed and counted.
//

#define TEST_SKIP(Reason) TestSkip((Reason), __FILE__, __LINE__)

//
// Makes a check.
// Passed: the result.
// Text: the text of the condition.
// File: the source file.
//

BOOLEAN
TestCheck(
    _In_ BOOLEAN Passed,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that two numbers are equal.
// Actual: the number that was found.
// Expected: the number that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckEqual(
    _In_ ULONGLONG Actual,
    _In_ ULONGLONG Expected,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Actual: the status that was found.
// Expected: the status that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckStatus(
    _In_ NTSTATUS Actual,
    _In_ NTSTATUS Expected,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that a status is a success.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckSuccess(
    _In_ NTSTATUS Actual,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that two texts are equal.
// Actual: the text that was found.
// Expected: the text that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckText(
    _In_reads_bytes_(ActualLengthInBytes) const CHAR *Actual,
    _In_ ULONG ActualLengthInBytes,
    _In_reads_bytes_(ExpectedLengthInBytes) const CHAR *Expected,
    _In_ ULONG ExpectedLengthInBytes,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that two terminated strings are equal.
// Actual: the string that was found; NULL fails.
// Expected: the string that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckString(
    _In_opt_ PCSZ Actual,
    _In_z_ PCSZ Expected,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that two wide strings are equal.
// Actual: the string that was found.
// ActualLengthInChars: its length in 16-bit units.
// Expected: the terminated string that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckWide(
    _In_reads_(ActualLengthInChars) PCWSTR Actual,
    _In_ ULONG ActualLengthInChars,
    _In_z_ PCWSTR Expected,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Checks that two buffers are equal.
// Actual: the bytes that were found.
// Expected: the bytes that should be.
// Text: the text of the expression.
// File: the source file.
// Returns TRUE if the check passed.
//

BOOLEAN
TestCheckBytes(
    _In_reads_bytes_(SizeInBytes) const VOID *Actual,
    _In_reads_bytes_(SizeInBytes) const VOID *Expected,
    _In_ SIZE_T SizeInBytes,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Counts something that cannot be tested here.
// Reason: why.
// File: the source file.
//

VOID
TestSkip(
    _In_z_ PCSZ Reason,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    );

//
// Ends the process at once, without the closing line: for a child.
// Returns none; the routine does not return.
//

VOID
TestExit(
    _In_ ULONG ExitCode
    );

//
// A path with room to append to.
//

#define TEST_PATH_CAPACITY_IN_CHARS 4096

typedef struct _TEST_PATH {
    UNICODE_STRING Nt;              // lies in Buffer
    WCHAR Buffer[TEST_PATH_CAPACITY_IN_CHARS];
} TEST_PATH;
typedef TEST_PATH *PTEST_PATH;

//
// The NT path of a terminated DOS path.
//

BOOLEAN
TestMakePath(
    _Out_ PTEST_PATH Path,
    _In_z_ PCWSTR DosPath
    );

//
// Directory, a backslash and a terminated name.
//

BOOLEAN
TestMakePathIn(
    _Out_ PTEST_PATH Path,
    _In_ const TEST_PATH *Directory,
    _In_z_ PCWSTR Name
    );

//
// The DOS form of an NT path below a drive: what is behind \??\ , terminated
// in Path's buffer.
//

PCWSTR
TestDosPath(
    _Inout_ PTEST_PATH Path
    );

//
// Makes a new directory in the directory for temporary files.  Delete it with
// TestDeleteTree.
//

BOOLEAN
TestCreateDirectory(
    _Out_ PTEST_PATH Path
    );

//
// Deletes a file, or a directory and all in it.
// Returns the status of the first step that failed, or STATUS_SUCCESS.
//

NTSTATUS
TestDeleteTree(
    _In_ const TEST_PATH *Path
    );

//
// Starts this very program with other arguments (the text behind the program
// on its command line). Output, if not NULL, is a handle that becomes the
// child's standard output.
//

BOOLEAN
TestStartChild(
    _In_z_ PCWSTR ArgumentText,
    _In_opt_ HANDLE Output,
    _Out_ PHANDLE Process
    );

//
// Waits for a process and closes its handle.  FALSE if it has not ended within
// the time; it is then terminated.
//

BOOLEAN
TestWaitForChild(
    _In_ HANDLE Process,
    _In_ ULONG Milliseconds,
    _Out_ PULONG ExitCode
    );

#ifdef __cplusplus
}
#endif

#endif // TRACER_TEST_H

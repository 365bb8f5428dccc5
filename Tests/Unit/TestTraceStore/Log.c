/*++

Module Name:

    Log.c

Abstract:

    The log of a session.

--*/

#include "TestTraceStore.h"

//
// The log: step, object and status on one line, in the session directory once
// there is one; a bounded number of lines.
//

static
BOOLEAN
TestContains(
    const CHAR *Text,
    ULONG LengthInBytes,
    PCSZ Wanted
    )
{
    ULONG Index;
    ULONG Length;

    Length = RtlLengthOfString(Wanted);
    for (Index = 0; Index + Length <= LengthInBytes; Index += 1) {
        if (RtlAreBytesEqual(Text + Index, Wanted, Length)) {
            return TRUE;
        }
    }
    return FALSE;
}

VOID
TestLog(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    UNICODE_STRING Object;
    HANDLE File;
    DWORD Read;
    ULONG Index;
    ULONG Lines;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));

    RtlPointUnicodeString(&Object, L"the object", 10);
    for (Index = 0; Index < TRACE_LOG_MAXIMUM_ERRORS + 50; Index += 1) {
        RtlSetError(&Error, "testing the log", &Object, STATUS_DISK_FULL);
        TraceLogError(Session, &Error, "nothing happens");
    }

    File = CreateFileW(TestSessionPath(Session, L"TestTraceStore.exe.log"),
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (TEST(File != INVALID_HANDLE_VALUE)) {
        Read = 0;
        ReadFile(File, TestUtf8, sizeof(TestUtf8), &Read, NULL);
        CloseHandle(File);
        TEST(TestContains(TestUtf8, Read, "testing the log"));
        TEST(TestContains(TestUtf8, Read, "the object"));
        TEST(TestContains(TestUtf8, Read, "0xC000007F"));
        TEST(TestContains(TestUtf8, Read, "STATUS_DISK_FULL"));
        TEST(TestContains(TestUtf8, Read, "nothing happens"));
        Lines = 0;
        for (Index = 0; Index < Read; Index += 1) {
            Lines += (TestUtf8[Index] == '\n');
        }
        TEST_EQUAL(Lines, TRACE_LOG_MAXIMUM_ERRORS);
    }

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

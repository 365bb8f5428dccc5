/*++

Module Name:

    Writers.c

Abstract:

    Writers: what they flush to, consoles and files, and how errors are told.

--*/

#include "TestRtl.h"

//
// A flush routine that gathers, and fails when told to.
//

typedef struct _TEST_SINK {
    RTL_WRITER Writer;
    ULONG NumberOfCalls;
    ULONG FailingCall;              // from 1; 0 for none
    ULONG Length;
    CHAR Text[512];
} TEST_SINK;
typedef TEST_SINK *PTEST_SINK;

//
// Gathers what a writer flushes.
// Writer: the writer, the first field of a TEST_SINK.
// SizeInBytes: their number.
// Returns STATUS_SUCCESS, or STATUS_DISK_FULL in the failing call.
//

static
NTSTATUS
TestSinkFlush(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PTEST_SINK Sink = (PTEST_SINK)Writer;

    Sink->NumberOfCalls++;
    if (Sink->NumberOfCalls == Sink->FailingCall) {
        return STATUS_DISK_FULL;
    }

    if (SizeInBytes <= sizeof(Sink->Text) - Sink->Length) {
        RtlCopyBytes(Sink->Text + Sink->Length, Bytes, SizeInBytes);
        Sink->Length += SizeInBytes;
    }

    return STATUS_SUCCESS;
}

//
// Tests flushing through buffers of every small size, and its failure.
//

VOID
TestFlush(
    VOID
    )
{
    static const CHAR Expected[] =
        "one \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 000000000000000000017 end";

    TEST_SINK Sink;
    CHAR Buffer[64];
    ULONG Capacity;

    for (Capacity = 1; Capacity <= sizeof(Buffer); Capacity++) {

        RtlZeroBytes(&Sink, sizeof(Sink));
        RtlInitializeBufferWriter(&Sink.Writer, Buffer, Capacity);
        Sink.Writer.Flush = TestSinkFlush;

        RtlWriteText(&Sink.Writer,
                     "one %s%S %021d end",
                     "\xC3\xA4",
                     L"\x20AC\xD83D\xDE00",
                     17);
        TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Sink.Text, Sink.Length, Expected);
        TEST_EQUAL(Sink.Writer.LengthInBytes, 0);
    }

    //
    // Flushing nothing calls nothing.
    //

    Sink.NumberOfCalls = 0;
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_SUCCESS);
    TEST_EQUAL(Sink.NumberOfCalls, 0);

    //
    // The second call fails: what came before is there, what comes after is
    // not, and the status stays.
    //

    RtlZeroBytes(&Sink, sizeof(Sink));
    RtlInitializeBufferWriter(&Sink.Writer, Buffer, 4);
    Sink.Writer.Flush = TestSinkFlush;
    Sink.FailingCall = 2;

    RtlWriteText(&Sink.Writer, "abcdefghijklmnopq");
    TEST_STATUS(Sink.Writer.Status, STATUS_DISK_FULL);
    RtlWriteText(&Sink.Writer, "more %d", 1);
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_DISK_FULL);
    TEST_EQUAL(Sink.NumberOfCalls, 2);
    TEST_EQUAL_TEXT(Sink.Text, Sink.Length, "abcd");

    //
    // A writer that has a flush routine and no buffer.
    //

    RtlZeroBytes(&Sink, sizeof(Sink));
    RtlInitializeBufferWriter(&Sink.Writer, NULL, 0);
    Sink.Writer.Flush = TestSinkFlush;
    RtlWriteText(&Sink.Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_BUFFER_TOO_SMALL);
}

//
// The console and the standard handle, acted by these routines.
//

static struct {
    HANDLE Handle;
    BOOLEAN IsConsole;
    ULONG Fail;                     // Win32 error, or 0
    ULONG Most;                     // units or bytes taken by one call
    ULONG Length;
    ULONG NumberOfPieces;
    WCHAR Wide[1024];
    CHAR Bytes[1024];
} TestStandard;

//
// Acts as GetStdHandle.
//

static
HANDLE
WINAPI
TestGetStdHandle(
    DWORD StandardHandle
    )
{
    TEST_EQUAL(StandardHandle, STD_ERROR_HANDLE);
    return TestStandard.Handle;
}

//
// Acts as GetConsoleMode.
// Returns TRUE if the handle is a console.
//

static
BOOL
WINAPI
TestGetConsoleMode(
    HANDLE Handle,
    LPDWORD Mode
    )
{
    UNREFERENCED_PARAMETER(Handle);

    *Mode = 0;
    return TestStandard.IsConsole;
}

//
// Acts as WriteConsoleW.
// Length: its length in 16-bit units.
// Written: how much was taken.
// Returns FALSE if it is to fail.
//

static
BOOL
WINAPI
TestWriteConsoleW(
    HANDLE Handle,
    const VOID *Buffer,
    DWORD Length,
    LPDWORD Written,
    LPVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(Reserved);

    if (TestStandard.Fail != 0) {
        SetLastError(TestStandard.Fail);
        return FALSE;
    }

    if (Length > TestStandard.Most) {
        Length = TestStandard.Most;
    }

    RtlCopyBytes(TestStandard.Wide + TestStandard.Length,
                 Buffer,
                 Length * sizeof(WCHAR));
    TestStandard.Length += Length;
    TestStandard.NumberOfPieces++;
    *Written = Length;
    return TRUE;
}

//
// Acts as WriteFile.
// Buffer: the bytes.
// Length: their number.
// Written: how many were taken.
// Returns FALSE if it is to fail.
//

static
BOOL
WINAPI
TestWriteFile(
    HANDLE Handle,
    LPCVOID Buffer,
    DWORD Length,
    LPDWORD Written,
    LPOVERLAPPED Overlapped
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(Overlapped);

    if (TestStandard.Fail != 0) {
        SetLastError(TestStandard.Fail);
        return FALSE;
    }

    if (Length > TestStandard.Most) {
        Length = TestStandard.Most;
    }

    RtlCopyBytes(TestStandard.Bytes + TestStandard.Length, Buffer, Length);
    TestStandard.Length += Length;
    TestStandard.NumberOfPieces++;
    *Written = Length;
    return TRUE;
}

_Use_decl_annotations_
VOID
TestStandardHandles(
    PCRTL Rtl
    )
{
    static const CHAR Text[] =
        "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\x80z";
    static const WCHAR Expected[] = L"a\x00E4\x20AC\xD83D\xDE00\xFFFDz";

    RTL Mock;
    RTL_WRITER Writer;
    CHAR Buffer[600];
    ULONG Capacity;
    ULONG Index;

    Mock = *Rtl;
    Mock.GetStdHandle = TestGetStdHandle;
    Mock.GetConsoleMode = TestGetConsoleMode;
    Mock.WriteConsoleW = TestWriteConsoleW;
    Mock.WriteFile = TestWriteFile;

    RtlZeroBytes(&TestStandard, sizeof(TestStandard));
    TestStandard.Handle = (HANDLE)(ULONG_PTR)0x40;
    TestStandard.IsConsole = TRUE;

    //
    // A console, through buffers in which every character is split somewhere,
    // written whole and byte by byte, and taken in parts.
    //

    for (Capacity = 4; Capacity <= 16; Capacity++) {

        TestStandard.Most = Capacity % 3 + 1;
        TestStandard.Length = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    Capacity);
        TEST(Writer.IsConsole);
        RtlWriteText(&Writer, "%s", Text);
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL_WIDE(TestStandard.Wide, TestStandard.Length, Expected);

        TestStandard.Length = 0;
        for (Index = 0; Index < sizeof(Text) - 1; Index++) {
            RtlWriteBytes(&Writer, Text + Index, 1);
            TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        }
        TEST_EQUAL_WIDE(TestStandard.Wide, TestStandard.Length, Expected);
    }

    //
    // More than one piece, with a character across every boundary of them.
    //

    for (Index = 0; Index < 4; Index++) {

        TestStandard.Most = 1000;
        TestStandard.Length = 0;
        TestStandard.NumberOfPieces = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    sizeof(Buffer));
        RtlWriteText(&Writer, "%*s", (int)(252 + Index), "");
        for (Capacity = 0; Capacity < 50; Capacity++) {
            RtlWriteText(&Writer, "%c", 0x1F600);
        }
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL(TestStandard.NumberOfPieces, 2);
        TEST_EQUAL(TestStandard.Length, 252 + Index + 100);
        for (Capacity = 252 + Index;
             Capacity < TestStandard.Length;
             Capacity += 2) {
            if (TestStandard.Wide[Capacity] != 0xD83D ||
                TestStandard.Wide[Capacity + 1] != 0xDE00) {
                break;
            }
        }
        TEST_EQUAL(Capacity, TestStandard.Length);
    }

    //
    // Failures: an error, and a console that takes nothing.
    //

    TestStandard.Fail = ERROR_NOT_READY;
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), (NTSTATUS)0xC0070015);

    TestStandard.Fail = 0;
    TestStandard.Most = 0;
    RtlInitializeStandardWriter(&Mock,
                                STD_ERROR_HANDLE,
                                &Writer,
                                Buffer,
                                sizeof(Buffer));
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_UNSUCCESSFUL);

    //
    // Not a console: the bytes as they are.
    //

    TestStandard.IsConsole = FALSE;

    for (Capacity = 1; Capacity <= 16; Capacity++) {

        TestStandard.Most = Capacity % 3 + 1;
        TestStandard.Length = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    Capacity);
        TEST(!Writer.IsConsole);
        RtlWriteText(&Writer, "%s", Text);
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL_TEXT(TestStandard.Bytes, TestStandard.Length, Text);
    }

    TestStandard.Fail = ERROR_DISK_FULL;
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), (NTSTATUS)0xC0070070);

    TestStandard.Fail = 0;
    TestStandard.Most = 0;
    RtlInitializeStandardWriter(&Mock,
                                STD_ERROR_HANDLE,
                                &Writer,
                                Buffer,
                                sizeof(Buffer));
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_UNSUCCESSFUL);

    //
    // No handle: nothing is called, nothing fails.
    //

    TestStandard.Fail = ERROR_INVALID_HANDLE;

    for (Index = 0; Index < 2; Index++) {

        TestStandard.Handle = (Index == 0) ? NULL : INVALID_HANDLE_VALUE;
        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    4);
        RtlWriteText(&Writer, "a longer text");
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
    }
}

//
// RtlStatus.c
//

//
// Tests errors and their messages.
//

VOID
TestErrors(
    VOID
    )
{
    RTL_ERROR Error;
    RTL_WRITER Writer;
    UNICODE_STRING Object;
    WCHAR Long[400];
    CHAR Text[1024];
    ULONG Index;

    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000022),
                      "STATUS_ACCESS_DENIED");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC000007F),
                      "STATUS_DISK_FULL");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000034),
                      "STATUS_OBJECT_NAME_NOT_FOUND");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000043),
                      "STATUS_SHARING_VIOLATION");
    TEST_EQUAL_STRING(RtlStatusName(0), "STATUS_SUCCESS");
    TEST(RtlStatusName((NTSTATUS)0xC1234567) == NULL);

    RtlPointUnicodeString(&Object, L"C:\\\x00E4.trace", 10);
    TEST_STATUS(RtlSetError(&Error, "open", &Object, STATUS_ACCESS_DENIED),
                STATUS_ACCESS_DENIED);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteError(&Writer, &Error);
    TEST_EQUAL_TEXT(Text,
                    Writer.LengthInBytes,
                    "open: C:\\\xC3\xA4.trace: "
                    "0xC0000022 (STATUS_ACCESS_DENIED)");

    RtlSetError(&Error, "read", NULL, (NTSTATUS)0xC1234567);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteError(&Writer, &Error);
    TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, "read: 0xC1234567");

    TEST_STATUS(RtlSetError(NULL, "x", &Object, STATUS_NO_MEMORY),
                STATUS_NO_MEMORY);

    //
    // An object that does not fit is cut, but not within a pair.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Long); Index++) {
        Long[Index] = L'x';
    }

    RtlPointUnicodeString(&Object, Long, 300);
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 300);

    RtlPointUnicodeString(&Object, Long, 400);
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 300);

    Long[299] = 0xD83D;
    Long[300] = 0xDE00;
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 299);
}

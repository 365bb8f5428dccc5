/*++

Module Name:

    Paths.c

Abstract:

    Paths, the environment, and command lines.

--*/

#include "TestRtl.h"

//
// RtlPath.c
//

//
// Makes an NT path with every capacity from none to one that must do.
// Expected: the expected NT path.
//

static
VOID
TestOnePath(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR DosPath,
    _In_z_ PCWSTR Expected
    )
{
    WCHAR Buffer[1024];
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    ULONG ExpectedLength = RtlLengthOfWideString(Expected);
    ULONG Capacity;
    BOOLEAN Succeeded = FALSE;
    NTSTATUS Status;

    RtlPointUnicodeString(&Dos, DosPath, RtlLengthOfWideString(DosPath));

    for (Capacity = 0; Capacity <= ExpectedLength + 8; Capacity++) {

        Buffer[Capacity] = 0x5555;
        Nt.Length = 0x77;

        Status = RtlDosPathToNtPath(Rtl, &Dos, Buffer, Capacity, &Nt);

        //
        // Once it fits, it goes on to fit; until then the result is untouched.
        //

        if (!NT_SUCCESS(Status)) {
            TEST(!Succeeded);
            TEST_STATUS(Status, STATUS_NAME_TOO_LONG);
            TEST_EQUAL(Nt.Length, 0x77);
        } else {
            Succeeded = TRUE;
            TEST_EQUAL_WIDE(Nt.Buffer, Nt.Length / sizeof(WCHAR), Expected);
            TEST(Nt.Buffer == Buffer);
            TEST_EQUAL(Nt.MaximumLength, Capacity * sizeof(WCHAR));
        }

        TEST_EQUAL(Buffer[Capacity], 0x5555);
    }

    TEST(Succeeded);
}

static PCWSTR TestFullPath;
static ULONG TestFullPathError;

//
// Acts as GetFullPathNameW: gives TestFullPath, or fails if that is NULL.
// Capacity: the size of Buffer in 16-bit units.
// Buffer: the absolute path.
// Returns as of GetFullPathNameW.
//

static
DWORD
WINAPI
TestGetFullPathNameW(
    LPCWSTR FileName,
    DWORD Capacity,
    LPWSTR Buffer,
    LPWSTR *FilePart
    )
{
    ULONG Length;

    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(FilePart);

    if (TestFullPath == NULL) {
        SetLastError(TestFullPathError);
        return 0;
    }

    Length = RtlLengthOfWideString(TestFullPath);
    if (Length >= Capacity) {
        return Length + 1;
    }

    RtlCopyBytes(Buffer, TestFullPath, (Length + 1) * sizeof(WCHAR));
    return Length;
}

//
// Acts as NtAllocateVirtualMemory without memory.
// As of NtAllocateVirtualMemory.
// Returns STATUS_NO_MEMORY.
//

static
NTSTATUS
NTAPI
TestFailToAllocate(
    HANDLE Process,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(BaseAddress);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(RegionSize);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Protect);

    return STATUS_NO_MEMORY;
}

//
// Finds a base name.
//

static
VOID
TestOneBaseName(
    _In_z_ PCWSTR Path,
    _In_z_ PCWSTR Expected
    )
{
    UNICODE_STRING String;

    RtlPointUnicodeString(&String, Path, RtlLengthOfWideString(Path));
    RtlBaseName(&String, &String);
    TEST_EQUAL_WIDE(String.Buffer, String.Length / sizeof(WCHAR), Expected);
}

//
// Tests appending to paths.
//

static
VOID
TestAppend(
    VOID
    )
{
    WCHAR Buffer[16];
    UNICODE_STRING Path;

    Path.Buffer = Buffer;
    Path.Length = 0;
    Path.MaximumLength = 8 * sizeof(WCHAR);
    Buffer[8] = 0x5555;

    TEST_STATUS(RtlAppendPath(&Path, L"ab", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab");
    TEST_STATUS(RtlAppendPath(&Path, L"cd", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd");

    TEST_STATUS(RtlAppendPath(&Path, L"efg", 3, TRUE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"efgh", 4, FALSE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"e", 0xFFFFFFFF, FALSE),
                STATUS_NAME_TOO_LONG);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd");

    TEST_STATUS(RtlAppendPath(&Path, L"\\", 1, FALSE), STATUS_SUCCESS);
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd\\");
    TEST_STATUS(RtlAppendPath(&Path, L"ef", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd\\ef");
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, TRUE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, FALSE), STATUS_SUCCESS);
    TEST_EQUAL(Buffer[8], 0x5555);
}

_Use_decl_annotations_
VOID
TestPaths(
    PCRTL Rtl
    )
{
    static WCHAR Long[33000];
    static WCHAR Result[33000];

    RTL Mock;
    WCHAR Expected[600];
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    ULONG Length;
    ULONG Index;

    TestOnePath(Rtl, L"C:\\a\\b.txt", L"\\??\\C:\\a\\b.txt");
    TestOnePath(Rtl, L"C:/a/./b/../c.txt", L"\\??\\C:\\a\\c.txt");
    TestOnePath(Rtl, L"C:\\a\\", L"\\??\\C:\\a\\");
    TestOnePath(Rtl, L"C:\\", L"\\??\\C:\\");
    TestOnePath(Rtl,
                L"C:\\\x00E4\\\xD83D\xDE00",
                L"\\??\\C:\\\x00E4\\\xD83D\xDE00");
    TestOnePath(Rtl, L"\\\\server\\share\\f", L"\\??\\UNC\\server\\share\\f");
    TestOnePath(Rtl, L"//server/share/f", L"\\??\\UNC\\server\\share\\f");
    TestOnePath(Rtl, L"\\\\?\\C:\\a\\.\\b ", L"\\??\\C:\\a\\.\\b ");
    TestOnePath(Rtl, L"\\\\?\\UNC\\s\\t", L"\\??\\UNC\\s\\t");
    TestOnePath(Rtl, L"\\\\.\\PIPE\\x", L"\\??\\PIPE\\x");
    TestOnePath(Rtl, L"\\??\\C:\\a", L"\\??\\C:\\a");

    //
    // Relative to the current directory, which kernel32 names.
    //

    Length = GetCurrentDirectoryW(300, Expected + 4);
    if (TEST(Length != 0 && Length < 300)) {
        RtlCopyBytes(Expected, L"\\??\\", 4 * sizeof(WCHAR));
        Length += 4;
        if (Expected[Length - 1] != L'\\') {
            Expected[Length] = L'\\';
            Length++;
        }
        RtlCopyBytes(Expected + Length, L"x.trace", 8 * sizeof(WCHAR));
        TestOnePath(Rtl, L"x.trace", Expected);
        TestOnePath(Rtl, L".\\y\\..\\x.trace", Expected);
    }

    //
    // What the current directory or an old system may make of a path.
    //

    Mock = *Rtl;
    Mock.GetFullPathNameW = TestGetFullPathNameW;

    TestFullPath = L"\\\\server\\share\\dir\\x";
    TestOnePath(&Mock, L"x", L"\\??\\UNC\\server\\share\\dir\\x");
    TestFullPath = L"\\\\.\\NUL";
    TestOnePath(&Mock, L"NUL", L"\\??\\NUL");
    TestFullPath = L"\\\\?\\C:\\x";
    TestOnePath(&Mock, L"//?/C:/x", L"\\??\\C:\\x");

    RtlPointUnicodeString(&Dos, L"x", 1);
    TestFullPath = NULL;
    TestFullPathError = ERROR_FILENAME_EXCED_RANGE;
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 100, &Nt),
                STATUS_NAME_TOO_LONG);
    TestFullPathError = ERROR_INVALID_NAME;
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);

    //
    // Not paths.
    //

    RtlPointUnicodeString(&Dos, L"", 0);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);
    RtlPointUnicodeString(&Dos, L"C:\\a\0b", 6);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);

    //
    // Counted: what is behind the path does not matter.
    //

    RtlPointUnicodeString(&Dos, L"C:\\abcdef", 5);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Nt.Buffer, Nt.Length / sizeof(WCHAR), L"\\??\\C:\\ab");

    //
    // Lengths around MAX_PATH, then the longest that a string holds.
    //

    Long[0] = L'C';
    Long[1] = L':';
    for (Index = 2; Index < RTL_NUMBER_OF(Long); Index++) {
        Long[Index] = (WCHAR)((Index % 100 == 2) ? L'\\' : L'n');
    }

    for (Length = 255; Length <= 265; Length++) {
        RtlPointUnicodeString(&Dos, Long, Length);
        TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 400, &Nt),
                    STATUS_SUCCESS);
        TEST_EQUAL(Nt.Length, (Length + 4) * sizeof(WCHAR));
        TEST_EQUAL_BYTES(Nt.Buffer + 4, Long, Length * sizeof(WCHAR));
    }

    RtlPointUnicodeString(&Dos, Long, 32000);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 33000, &Nt),
                STATUS_SUCCESS);
    TEST_EQUAL(Nt.Length, 32004 * sizeof(WCHAR));
    TEST_EQUAL_BYTES(Nt.Buffer + 4, Long, 32000 * sizeof(WCHAR));
    TEST_EQUAL(Nt.MaximumLength, 65534);

    RtlPointUnicodeString(&Dos, Long, 32766);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 33000, &Nt),
                STATUS_NAME_TOO_LONG);

    Mock = *Rtl;
    Mock.NtAllocateVirtualMemory = TestFailToAllocate;
    RtlPointUnicodeString(&Dos, Long, 300);
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 400, &Nt),
                STATUS_NO_MEMORY);

    TestOneBaseName(L"C:\\a\\b.exe", L"b.exe");
    TestOneBaseName(L"C:/a/b.exe", L"b.exe");
    TestOneBaseName(L"C:\\a/b.exe", L"b.exe");
    TestOneBaseName(L"C:b.exe", L"b.exe");
    TestOneBaseName(L"b.exe", L"b.exe");
    TestOneBaseName(L"b.exe:stream", L"b.exe:stream");
    TestOneBaseName(L"C:\\a\\", L"");
    TestOneBaseName(L"C:", L"");
    TestOneBaseName(L"", L"");
    TestOneBaseName(L"\\??\\UNC\\s\\t\\\x00E4", L"\x00E4");

    TestAppend();
}

//
// RtlEnvironment.c
//

//
// Tests environment variables, which kernel32 sets.
//

_Use_decl_annotations_
VOID
TestEnvironment(
    PCRTL Rtl
    )
{
    WCHAR Buffer[32];
    UNICODE_STRING Value;

    SetEnvironmentVariableW(L"TRACER_TEST_NONE", NULL);
    SetEnvironmentVariableW(L"TRACER_TEST_EMPTY", L"");
    SetEnvironmentVariableW(L"TRACER_TEST_TEXT", L"\x00E4\xD83D\xDE00=;x");

    Value.Length = 0x77;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"TRACER_TEST_NONE",
                                    Buffer,
                                    RTL_NUMBER_OF(Buffer),
                                    &Value),
                STATUS_VARIABLE_NOT_FOUND);
    TEST_EQUAL(Value.Length, 0x77);

    if (TEST_STATUS(RtlQueryEnvironment(Rtl,
                                        L"TRACER_TEST_TEXT",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer),
                                        &Value),
                    STATUS_SUCCESS)) {
        TEST(Value.Buffer == Buffer);
        TEST_EQUAL_WIDE(Value.Buffer,
                        Value.Length / sizeof(WCHAR),
                        L"\x00E4\xD83D\xDE00=;x");
    }

    //
    // Case does not matter; the value as long as the buffer; one too long.
    //

    Buffer[7] = 0x5555;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"tracer_test_TEXT",
                                    Buffer,
                                    7,
                                    &Value),
                STATUS_SUCCESS);
    TEST_EQUAL(Buffer[7], 0x5555);

    Buffer[5] = 0x5555;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"TRACER_TEST_TEXT",
                                    Buffer,
                                    5,
                                    &Value),
                STATUS_BUFFER_TOO_SMALL);
    TEST_EQUAL(Buffer[5], 0x5555);

    if (TEST_STATUS(RtlQueryEnvironment(Rtl,
                                        L"TRACER_TEST_EMPTY",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer),
                                        &Value),
                    STATUS_SUCCESS)) {
        TEST_EQUAL(Value.Length, 0);
    }

    SetEnvironmentVariableW(L"TRACER_TEST_EMPTY", NULL);
    SetEnvironmentVariableW(L"TRACER_TEST_TEXT", NULL);
}

//
// RtlStart.c
//

//
// Expected: the expected arguments, each with | behind it.
//

static
VOID
TestSplit(
    _In_ PCALLOCATOR Allocator,
    _In_z_ PCWSTR CommandLine,
    _In_z_ PCWSTR Expected
    )
{
    PRTL_ARGUMENT Arguments;
    WCHAR Joined[512];
    WCHAR Again[512];
    UNICODE_STRING Wide;
    UNICODE_STRING FromUtf8;
    ULONG NumberOfArguments;
    ULONG Length;
    ULONG Index;

    if (!TEST_STATUS(RtlSplitCommandLine(CommandLine,
                                         Allocator,
                                         &Arguments,
                                         &NumberOfArguments),
                     STATUS_SUCCESS)) {
        return;
    }

    Wide.Buffer = Joined;
    Wide.Length = 0;
    Wide.MaximumLength = sizeof(Joined);
    FromUtf8.Buffer = Again;
    FromUtf8.Length = 0;
    FromUtf8.MaximumLength = sizeof(Again);

    for (Index = 0; Index < NumberOfArguments; Index++) {

        TEST_SUCCESS(RtlAppendPath(&Wide,
                                   Arguments[Index].Wide,
                                   RtlLengthOfWideString(
                                       Arguments[Index].Wide),
                                   FALSE));
        TEST_SUCCESS(RtlAppendPath(&Wide, L"|", 1, FALSE));

        RtlUtf8ToWide(Arguments[Index].Utf8,
                      RtlLengthOfString(Arguments[Index].Utf8),
                      Again + FromUtf8.Length / sizeof(WCHAR),
                      RTL_NUMBER_OF(Again) -
                      FromUtf8.Length / sizeof(WCHAR),
                      &Length);
        FromUtf8.Length = (USHORT)(FromUtf8.Length + Length * sizeof(WCHAR));
        TEST_SUCCESS(RtlAppendPath(&FromUtf8, L"|", 1, FALSE));
    }

    TEST(Arguments[NumberOfArguments].Wide == NULL);
    TEST(Arguments[NumberOfArguments].Utf8 == NULL);
    TEST_EQUAL_WIDE(Joined, Wide.Length / sizeof(WCHAR), Expected);
    TEST_EQUAL_WIDE(Again, FromUtf8.Length / sizeof(WCHAR), Expected);

    Allocator->Free(Allocator->Context, Arguments);
}

//
// Acts as an allocator without memory.
// Returns NULL.
//

static
PVOID
TestAllocateNothing(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(SizeInBytes);

    return NULL;
}

//
// Tests splitting command lines: the examples of Microsoft's documentation
// ("Parsing C command-line arguments") and the corners.
//

_Use_decl_annotations_
VOID
TestCommandLines(
    PCALLOCATOR Allocator
    )
{
    static WCHAR Long[30001];

    ALLOCATOR Empty;
    PRTL_ARGUMENT Arguments;
    ULONG NumberOfArguments;
    ULONG Index;

    //
    // The documented table.
    //

    TestSplit(Allocator, L"p \"abc\" d e", L"p|abc|d|e|");
    TestSplit(Allocator, L"p a\\\\b d\"e f\"g h", L"p|a\\\\b|de fg|h|");
    TestSplit(Allocator, L"p a\\\\\\\"b c d", L"p|a\\\"b|c|d|");
    TestSplit(Allocator, L"p a\\\\\\\\\"b c\" d e", L"p|a\\\\b c|d|e|");
    TestSplit(Allocator, L"p a\"b\"\" c d", L"p|ab\" c d|");

    //
    // Its rules, one by one: white space, empty arguments, quotes.
    //

    TestSplit(Allocator, L"p", L"p|");
    TestSplit(Allocator, L"p ", L"p|");
    TestSplit(Allocator, L"p \t a\tb  c\t", L"p|a|b|c|");
    TestSplit(Allocator, L"p \"\"", L"p||");
    TestSplit(Allocator, L"p \"\" \"\" x", L"p|||x|");
    TestSplit(Allocator, L"p \" \"", L"p| |");
    TestSplit(Allocator, L"p a\"\"b", L"p|ab|");
    TestSplit(Allocator, L"p \"a\"\"b\"", L"p|a\"b|");
    TestSplit(Allocator, L"p \"a\"\"\"", L"p|a\"|");
    TestSplit(Allocator, L"p \"\"\"a b\"\"\" c", L"p|\"a b\"|c|");
    TestSplit(Allocator, L"p \"a b", L"p|a b|");
    TestSplit(Allocator, L"p \"", L"p||");
    TestSplit(Allocator, L"p \\", L"p|\\|");
    TestSplit(Allocator, L"p a\\", L"p|a\\|");
    TestSplit(Allocator, L"p \"a\\\\\"", L"p|a\\|");
    TestSplit(Allocator, L"p \"a\\\" b\"", L"p|a\" b|");
    TestSplit(Allocator, L"p \\\"a", L"p|\"a|");
    TestSplit(Allocator, L"p \"C:\\a b\\\\\" d", L"p|C:\\a b\\|d|");
    TestSplit(Allocator, L"p a\nb", L"p|a\nb|");

    //
    // In the program's own path a backslash is a backslash.
    //

    TestSplit(Allocator, L"\"C:\\a b\\\" c", L"C:\\a b\\|c|");
    TestSplit(Allocator, L"C:\\\"a b\"\\p.exe c", L"C:\\a b\\p.exe|c|");
    TestSplit(Allocator, L"\"C:\\a b", L"C:\\a b|");
    TestSplit(Allocator, L"", L"|");
    TestSplit(Allocator, L" a", L"|a|");

    TestSplit(Allocator,
              L"p \x00E4\x4E8C \xD83D\xDE00",
              L"p|\x00E4\x4E8C|\xD83D\xDE00|");

    //
    // Many arguments, and no memory.
    //

    for (Index = 0; Index < 30000; Index++) {
        Long[Index] = (WCHAR)((Index % 2 != 0) ? L' ' : 0x4E8C);
    }

    if (TEST_STATUS(RtlSplitCommandLine(Long,
                                        Allocator,
                                        &Arguments,
                                        &NumberOfArguments),
                    STATUS_SUCCESS)) {
        TEST_EQUAL(NumberOfArguments, 15000);
        TEST_EQUAL_STRING(Arguments[14999].Utf8, "\xE4\xBA\x8C");
        Allocator->Free(Allocator->Context, Arguments);
    }

    Empty = *Allocator;
    Empty.Allocate = TestAllocateNothing;
    TEST_STATUS(RtlSplitCommandLine(L"p a",
                                    &Empty,
                                    &Arguments,
                                    &NumberOfArguments),
                STATUS_NO_MEMORY);
}

/*++

Module Name:

    TestMain.c

Abstract:

    The entry point of the test programs and what their checks call.

--*/

#include "Test.h"

#define TEST_OUTPUT_CAPACITY    4096
#define TEST_MAXIMUM_DIFFERENCE 200     // bytes of a text that are printed

//
// FileDispositionInformation of the WDK.
//

#define TEST_FILE_DISPOSITION_INFORMATION 13

typedef struct _TEST_CONTEXT {
    RTL Rtl;
    ALLOCATOR Allocator;
    RTL_WRITER Output;
    volatile LONG Lock;
    ULONG NumberPassed;
    ULONG NumberFailed;
    ULONG NumberSkipped;
    ULONG NumberOfDirectories;
    CHAR OutputBuffer[TEST_OUTPUT_CAPACITY];
} TEST_CONTEXT;

static TEST_CONTEXT TestContext;

PCRTL_ARGUMENT TestArguments;
ULONG TestNumberOfArguments;
PRTL_WRITER TestOutput = &TestContext.Output;

//
// The linker's default entry point for console programs.
//

int
mainCRTStartup(
    VOID
    );

//
// Enters the harness: its counters and its output belong to one thread at a
// time.
//

static
VOID
TestpAcquire(
    VOID
    )
{
    while (InterlockedExchange(&TestContext.Lock, 1) != 0) {
        TestContext.Rtl.NtYieldExecution();
    }
}

//
// Leaves the harness.
//

static
VOID
TestpRelease(
    VOID
    )
{
    InterlockedExchange(&TestContext.Lock, 0);
}

//
// Counts a check. If it failed, prints the beginning of its message and keeps
// the harness for the rest, which ends with TestpEnd.
// Passed: the result.
// File: the source file.
// Returns Passed.
//

static
BOOLEAN
TestpBegin(
    _In_ BOOLEAN Passed,
    _In_z_ PCSZ Text,
    _In_z_ PCSZ File,
    _In_ ULONG Line
    )
{
    TestpAcquire();

    if (Passed) {
        TestContext.NumberPassed++;
        TestpRelease();
        return TRUE;
    }

    TestContext.NumberFailed++;
    RtlWriteText(TestOutput, "%s:%u: failed: %s", File, Line, Text);
    return FALSE;
}

//
// Ends the message of a check that failed. It is flushed, for the program may
// not live to its end.
//

static
VOID
TestpEnd(
    VOID
    )
{
    RtlWriteText(TestOutput, "\n");
    RtlFlushWriter(TestOutput);
    TestpRelease();
}

BOOLEAN
TestCheck(
    BOOLEAN Passed,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    if (!TestpBegin(Passed, Text, File, Line)) {
        TestpEnd();
    }

    return Passed;
}

BOOLEAN
TestCheckEqual(
    ULONGLONG Actual,
    ULONGLONG Expected,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    if (TestpBegin(Actual == Expected, Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput,
                 " is %lld (0x%llx), expected %lld (0x%llx)",
                 (LONGLONG)Actual,
                 Actual,
                 (LONGLONG)Expected,
                 Expected);
    TestpEnd();

    return FALSE;
}

//
// Prints a status.
//

static
VOID
TestpWriteStatus(
    _In_ NTSTATUS Status
    )
{
    PCSZ Name = RtlStatusName(Status);

    RtlWriteText(TestOutput, "0x%08X", (ULONG)Status);
    if (Name != NULL) {
        RtlWriteText(TestOutput, " (%s)", Name);
    }
}

BOOLEAN
TestCheckStatus(
    NTSTATUS Actual,
    NTSTATUS Expected,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    if (TestpBegin(Actual == Expected, Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput, " is ");
    TestpWriteStatus(Actual);
    RtlWriteText(TestOutput, ", expected ");
    TestpWriteStatus(Expected);
    TestpEnd();

    return FALSE;
}

BOOLEAN
TestCheckSuccess(
    NTSTATUS Actual,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    if (TestpBegin(NT_SUCCESS(Actual), Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput, " is ");
    TestpWriteStatus(Actual);
    TestpEnd();

    return FALSE;
}

//
// Prints a text in quotes; what is not printable ASCII as \xNN.
// LengthInBytes: its length; of a long text the beginning is printed.
//

static
VOID
TestpWriteQuoted(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    RtlWriteText(TestOutput, "\"");

    for (Index = 0;
         Index < LengthInBytes && Index < TEST_MAXIMUM_DIFFERENCE;
         Index++) {

        if (Text[Index] >= ' ' && Text[Index] <= '~') {
            RtlWriteBytes(TestOutput, Text + Index, 1);
        } else {
            RtlWriteText(TestOutput, "\\x%02x", (ULONG)(BYTE)Text[Index]);
        }
    }

    RtlWriteText(TestOutput, "\" (%u bytes)", LengthInBytes);
}

BOOLEAN
TestCheckText(
    const CHAR *Actual,
    ULONG ActualLengthInBytes,
    const CHAR *Expected,
    ULONG ExpectedLengthInBytes,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    BOOLEAN Passed;

    Passed = (ActualLengthInBytes == ExpectedLengthInBytes &&
              RtlAreBytesEqual(Actual, Expected, ActualLengthInBytes));

    if (TestpBegin(Passed, Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput, " is ");
    TestpWriteQuoted(Actual, ActualLengthInBytes);
    RtlWriteText(TestOutput, ", expected ");
    TestpWriteQuoted(Expected, ExpectedLengthInBytes);
    TestpEnd();

    return FALSE;
}

BOOLEAN
TestCheckString(
    PCSZ Actual,
    PCSZ Expected,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    if (Actual == NULL) {
        return TestCheck(FALSE, Text, File, Line);
    }

    return TestCheckText(Actual,
                         RtlLengthOfString(Actual),
                         Expected,
                         RtlLengthOfString(Expected),
                         Text,
                         File,
                         Line);
}

BOOLEAN
TestCheckWide(
    PCWSTR Actual,
    ULONG ActualLengthInChars,
    PCWSTR Expected,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    ULONG ExpectedLength = RtlLengthOfWideString(Expected);
    BOOLEAN Passed;

    Passed = (ActualLengthInChars == ExpectedLength &&
              RtlAreBytesEqual(Actual,
                               Expected,
                               ExpectedLength * sizeof(WCHAR)));

    if (TestpBegin(Passed, Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput,
                 " is \"%.*S\" (%u units), expected \"%.*S\" (%u units)",
                 (int)ActualLengthInChars,
                 Actual,
                 ActualLengthInChars,
                 (int)ExpectedLength,
                 Expected,
                 ExpectedLength);
    TestpEnd();

    return FALSE;
}

BOOLEAN
TestCheckBytes(
    const VOID *Actual,
    const VOID *Expected,
    SIZE_T SizeInBytes,
    PCSZ Text,
    PCSZ File,
    ULONG Line
    )
{
    const BYTE *One = (const BYTE *)Actual;
    const BYTE *Other = (const BYTE *)Expected;
    SIZE_T Index = 0;

    while (Index < SizeInBytes && One[Index] == Other[Index]) {
        Index++;
    }

    if (TestpBegin(Index == SizeInBytes, Text, File, Line)) {
        return TRUE;
    }

    RtlWriteText(TestOutput,
                 " at byte %llu of %llu is 0x%02x, expected 0x%02x",
                 (ULONGLONG)Index,
                 (ULONGLONG)SizeInBytes,
                 (ULONG)One[Index],
                 (ULONG)Other[Index]);
    TestpEnd();

    return FALSE;
}

VOID
TestSkip(
    PCSZ Reason,
    PCSZ File,
    ULONG Line
    )
{
    TestpAcquire();
    TestContext.NumberSkipped++;
    RtlWriteText(TestOutput, "%s:%u: skipped: %s", File, Line, Reason);
    TestpEnd();
}

VOID
TestExit(
    ULONG ExitCode
    )
{
    RtlFlushWriter(TestOutput);
    ExitProcess(ExitCode);
}

BOOLEAN
TestMakePath(
    PTEST_PATH Path,
    PCWSTR DosPath
    )
{
    UNICODE_STRING Dos;

    RtlPointUnicodeString(&Dos, DosPath, RtlLengthOfWideString(DosPath));

    return NT_SUCCESS(RtlDosPathToNtPath(&TestContext.Rtl,
                                         &Dos,
                                         Path->Buffer,
                                         RTL_NUMBER_OF(Path->Buffer),
                                         &Path->Nt));
}

BOOLEAN
TestMakePathIn(
    PTEST_PATH Path,
    const TEST_PATH *Directory,
    PCWSTR Name
    )
{
    if (Path != Directory) {
        RtlCopyBytes(Path->Buffer, Directory->Buffer, Directory->Nt.Length);
        Path->Nt.Length = Directory->Nt.Length;
    }

    Path->Nt.Buffer = Path->Buffer;
    Path->Nt.MaximumLength = sizeof(Path->Buffer);

    return NT_SUCCESS(RtlAppendPath(&Path->Nt,
                                    Name,
                                    RtlLengthOfWideString(Name),
                                    TRUE));
}

PCWSTR
TestDosPath(
    PTEST_PATH Path
    )
{
    ULONG Length = Path->Nt.Length / sizeof(WCHAR);

    if (Length >= RTL_NUMBER_OF(Path->Buffer)) {
        Length = RTL_NUMBER_OF(Path->Buffer) - 1;
    }

    Path->Buffer[Length] = L'\0';
    return Path->Buffer + 4;
}

BOOLEAN
TestCreateDirectory(
    PTEST_PATH Path
    )
{
    WCHAR Temporary[MAX_PATH + 2];
    CHAR Name[80];
    WCHAR WideName[80];
    RTL_WRITER Writer;
    LARGE_INTEGER Time;
    ULONG Length;
    PCRTL Rtl = &TestContext.Rtl;

    Length = Rtl->GetTempPathW(RTL_NUMBER_OF(Temporary), Temporary);
    if (Length == 0 || Length >= RTL_NUMBER_OF(Temporary)) {
        return FALSE;
    }

    if (!TestMakePath(Path, Temporary)) {
        return FALSE;
    }

    //
    // The process, the time and a number make the name a new one.
    //

    Rtl->NtQuerySystemTime(&Time);

    TestpAcquire();
    TestContext.NumberOfDirectories++;
    Length = TestContext.NumberOfDirectories;
    TestpRelease();

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer,
                 "TracerTest-%u-%llx-%u",
                 GetCurrentProcessId(),
                 (ULONGLONG)Time.QuadPart,
                 Length);
    RtlUtf8ToWide(Name,
                  Writer.LengthInBytes,
                  WideName,
                  RTL_NUMBER_OF(WideName) - 1,
                  &Length);
    WideName[Length] = L'\0';

    if (!TestMakePathIn(Path, Path, WideName)) {
        return FALSE;
    }

    return NT_SUCCESS(RtlCreateDirectory(Rtl, &Path->Nt));
}

static
NTSTATUS
TestpDeleteEntry(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    );

//
// Deletes a file, or a directory and all in it.
// NtPath: the path, with room to append to.
// IsDirectory: TRUE for a directory.
// Returns the status of the first step that failed, or STATUS_SUCCESS.
//

static
NTSTATUS
TestpDelete(
    _Inout_ PUNICODE_STRING NtPath,
    _In_ BOOLEAN IsDirectory
    )
{
    PCRTL Rtl = &TestContext.Rtl;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    HANDLE Handle;
    BOOLEAN Delete = TRUE;
    NTSTATUS Status;

    if (IsDirectory) {
        Status = RtlEnumerateDirectory(Rtl, NtPath, TestpDeleteEntry, NtPath);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    InitializeObjectAttributes(&Attributes,
                               NtPath,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);

    Status = Rtl->NtCreateFile(&Handle,
                               DELETE | SYNCHRONIZE,
                               &Attributes,
                               &IoStatus,
                               NULL,
                               0,
                               FILE_SHARE_READ |
                               FILE_SHARE_WRITE |
                               FILE_SHARE_DELETE,
                               FILE_OPEN,
                               FILE_SYNCHRONOUS_IO_NONALERT,
                               NULL,
                               0);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = Rtl->NtSetInformationFile(Handle,
                                       &IoStatus,
                                       &Delete,
                                       sizeof(Delete),
                                       TEST_FILE_DISPOSITION_INFORMATION);
    RtlClose(Rtl, Handle);

    return Status;
}

//
// Deletes an entry of a directory that is being deleted.
// Context: the directory's path, with room to append to.
// IsDirectory: TRUE for a directory.
//

static
NTSTATUS
TestpDeleteEntry(
    PVOID Context,
    PCUNICODE_STRING Name,
    ULONGLONG SizeInBytes,
    BOOLEAN IsDirectory
    )
{
    PUNICODE_STRING NtPath = (PUNICODE_STRING)Context;
    USHORT Length = NtPath->Length;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    Status = RtlAppendPath(NtPath,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (NT_SUCCESS(Status)) {
        Status = TestpDelete(NtPath, IsDirectory);
    }

    NtPath->Length = Length;

    return Status;
}

NTSTATUS
TestDeleteTree(
    const TEST_PATH *Path
    )
{
    TEST_PATH Copy;
    HANDLE File;
    NTSTATUS Status;

    RtlCopyBytes(Copy.Buffer, Path->Nt.Buffer, Path->Nt.Length);
    Copy.Nt.Buffer = Copy.Buffer;
    Copy.Nt.Length = Path->Nt.Length;
    Copy.Nt.MaximumLength = sizeof(Copy.Buffer);

    Status = RtlOpenFileForReading(&TestContext.Rtl, &Copy.Nt, &File);
    if (NT_SUCCESS(Status)) {
        RtlClose(&TestContext.Rtl, File);
        return TestpDelete(&Copy.Nt, FALSE);
    }

    return TestpDelete(&Copy.Nt, TRUE);
}

BOOLEAN
TestStartChild(
    PCWSTR ArgumentText,
    HANDLE Output,
    PHANDLE Process
    )
{
    static WCHAR CommandLine[TEST_PATH_CAPACITY_IN_CHARS];

    WCHAR Image[1024];
    UNICODE_STRING Line;
    STARTUPINFOW Startup;
    PROCESS_INFORMATION Information;
    ULONG Length;
    BOOLEAN Started = FALSE;

    Length = TestContext.Rtl.GetModuleFileNameW(NULL,
                                                Image,
                                                RTL_NUMBER_OF(Image));
    if (Length == 0 || Length >= RTL_NUMBER_OF(Image)) {
        return FALSE;
    }

    TestpAcquire();

    Line.Buffer = CommandLine;
    Line.Length = 0;
    Line.MaximumLength = sizeof(CommandLine) - sizeof(WCHAR);

    if (!NT_SUCCESS(RtlAppendPath(&Line, L"\"", 1, FALSE)) ||
        !NT_SUCCESS(RtlAppendPath(&Line, Image, Length, FALSE)) ||
        !NT_SUCCESS(RtlAppendPath(&Line, L"\" ", 2, FALSE)) ||
        !NT_SUCCESS(RtlAppendPath(&Line,
                                  ArgumentText,
                                  RtlLengthOfWideString(ArgumentText),
                                  FALSE))) {
        goto End;
    }

    CommandLine[Line.Length / sizeof(WCHAR)] = L'\0';

    RtlZeroBytes(&Startup, sizeof(Startup));
    Startup.cb = sizeof(Startup);

    if (Output != NULL) {
        SetHandleInformation(Output, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
        Startup.dwFlags = STARTF_USESTDHANDLES;
        Startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
        Startup.hStdOutput = Output;
        Startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    }

    RtlFlushWriter(TestOutput);

    if (CreateProcessW(Image,
                       CommandLine,
                       NULL,
                       NULL,
                       Output != NULL,
                       0,
                       NULL,
                       NULL,
                       &Startup,
                       &Information)) {
        CloseHandle(Information.hThread);
        *Process = Information.hProcess;
        Started = TRUE;
    }

End:

    TestpRelease();

    return Started;
}

BOOLEAN
TestWaitForChild(
    HANDLE Process,
    ULONG Milliseconds,
    PULONG ExitCode
    )
{
    DWORD Code = 0;
    BOOLEAN Ended;

    Ended = (WaitForSingleObject(Process, Milliseconds) == WAIT_OBJECT_0);
    if (!Ended) {
        TerminateProcess(Process, 1);
        WaitForSingleObject(Process, Milliseconds);
    }

    GetExitCodeProcess(Process, &Code);
    CloseHandle(Process);

    *ExitCode = Code;
    return Ended;
}

//
// Runs the tests.
// Returns the exit code of the process: 0 if checks were made and all passed.
//

int
mainCRTStartup(
    VOID
    )
{
    PRTL_ARGUMENT Arguments;
    PCSZ Missing;
    BOOLEAN Passed;
    NTSTATUS Status;

    //
    // Without an RTL there is nothing to print with.
    //

    Status = RtlBootstrap(&TestContext.Rtl, &Missing);
    if (!NT_SUCCESS(Status)) {
        ExitProcess((UINT)Status);
    }

    RtlInitializeHeapAllocator(&TestContext.Rtl, &TestContext.Allocator);

    RtlInitializeStandardWriter(&TestContext.Rtl,
                                STD_OUTPUT_HANDLE,
                                &TestContext.Output,
                                TestContext.OutputBuffer,
                                sizeof(TestContext.OutputBuffer));

    Status = RtlSplitCommandLine(TestContext.Rtl.GetCommandLineW(),
                                 &TestContext.Allocator,
                                 &Arguments,
                                 &TestNumberOfArguments);
    if (!NT_SUCCESS(Status)) {
        ExitProcess((UINT)Status);
    }

    TestArguments = Arguments;

    TestMain(&TestContext.Rtl, &TestContext.Allocator);

    RtlWriteText(TestOutput,
                 "%u passed, %u failed",
                 TestContext.NumberPassed,
                 TestContext.NumberFailed);

    if (TestContext.NumberSkipped != 0) {
        RtlWriteText(TestOutput, ", %u skipped", TestContext.NumberSkipped);
    }

    RtlWriteText(TestOutput, "\n");
    Passed = (TestContext.NumberFailed == 0 &&
              TestContext.NumberPassed + TestContext.NumberSkipped != 0);
    if (!NT_SUCCESS(RtlFlushWriter(TestOutput))) {
        Passed = FALSE;
    }

    //
    // Other threads may still run; returning would end only this one.
    //

    ExitProcess(Passed ? 0 : 1);
}

/*++

Module Name:

    TestIni.c

Abstract:

    Tests what is made of an ini file (PenterIni.c, PenterConfig.c): files that
    are fine, hostile ones, and what the system may say to its reading.

    A file lies at the end of a page with nothing behind it, so that a byte too
    many is an access violation.

--*/

#include "Test.h"
#include "../../Penter/PenterIni.h"
#include "../../Penter/PenterIniFile.h"
#include "../../TraceStore/TraceFormat.h"
#include <windows.h>

#define TEST_FILE_CAPACITY  (PENTER_INI_MAXIMUM_SIZE + 0x10000)
#define TEST_RANDOM_FILES   4000
#define TEST_QUICK_FILES    400
#define TEST_MAXIMUM_RANDOM 600

static PCRTL TestRtl;
static PPENTER_CONFIG TestConfig;
static PUCHAR TestFileEnd;              // behind it nothing may be read
static ULONG TestSeed = 1;

//
// Files that are parsed as they stand, and what is kept of them: for a
// setting, the text and the line.  Notes are how many messages there are.
//

typedef struct _TEST_VALUE {
    PENTER_SETTING Setting;
    ULONG Line;
    PCWSTR Text;
} TEST_VALUE;

typedef struct _TEST_FILE {
    PCSZ Text;
    BOOLEAN IsCap;
    ULONG Notes;
    TEST_VALUE Values[4];
} TEST_FILE;

#define TEST_NO_VALUES { { PenterSettingNone, 0, NULL } }

static const TEST_FILE TestFiles[] = {
    { "", FALSE, 0, TEST_NO_VALUES },
    { "\n\r\n \t \n;\n#\n ; [flags]\n", FALSE, 0, TEST_NO_VALUES },
    { "\r", FALSE, 0, TEST_NO_VALUES },
    { "[flags]\nclock=none", FALSE, 0,
      { { PenterSettingClock, 2, L"none" },
        { PenterSettingNone, 0, NULL } } },
    { "\n\n[FLAGS]\r\n\tClOcK \t=  x = y \t\r\n", FALSE, 0,
      { { PenterSettingClock, 4, L"x = y" },
        { PenterSettingNone, 0, NULL } } },
    { "[ flags ]\nclock=\nmax_depth=\"\"\n", FALSE, 0,
      { { PenterSettingClock, 2, L"" },
        { PenterSettingMaximumDepth, 3, L"" },
        { PenterSettingNone, 0, NULL } } },
    { "[flags]\nclock=\" a \"\nmax_depth=\"\nmin_duration=\"a", FALSE, 0,
      { { PenterSettingClock, 2, L" a " },
        { PenterSettingMaximumDepth, 3, L"\"" },
        { PenterSettingMinimumDuration, 4, L"\"a" },
        { PenterSettingNone, 0, NULL } } },
    { "[flags]\nclock=1 ; 2 # 3\n", FALSE, 0,
      { { PenterSettingClock, 2, L"1 ; 2 # 3" },
        { PenterSettingNone, 0, NULL } } },
    { "[flags]\nclock=1\nclock=2\nCLOCK=", FALSE, 2,
      { { PenterSettingClock, 4, L"" },
        { PenterSettingNone, 0, NULL } } },
    { "[output]\ndirectory=a\n", FALSE, 0,
      { { PenterSettingDirectory, 2, L"X:\\ini\\a" },
        { PenterSettingNone, 0, NULL } } },
    { "[output]\ndirectory=\\a\n", FALSE, 0,
      { { PenterSettingDirectory, 2, L"\\a" },
        { PenterSettingNone, 0, NULL } } },
    { "[output]\ndirectory=/a\n", FALSE, 0,
      { { PenterSettingDirectory, 2, L"/a" },
        { PenterSettingNone, 0, NULL } } },
    { "[output]\ndirectory=d:a\ncontrol=0\n", FALSE, 0,
      { { PenterSettingDirectory, 2, L"d:a" },
        { PenterSettingControl, 3, L"0" },
        { PenterSettingNone, 0, NULL } } },
    { "[output]\ndirectory=\xC3\xA4\xF0\x9F\x98\x80\n", FALSE, 0,
      { { PenterSettingDirectory, 2, L"X:\\ini\\\x00E4\xD83D\xDE00" },
        { PenterSettingNone, 0, NULL } } },
    { "[exclude]\nlist = a\n[chronological]\nLIST=\\b", FALSE, 0,
      { { PenterSettingExclude, 2, L"X:\\ini\\a" },
        { PenterSettingChrono, 4, L"\\b" },
        { PenterSettingNone, 0, NULL } } },
    { "[exclude]\na!b\nc!d=e\nlist=f!g\nf\n", FALSE, 1,
      { { PenterSettingExclude, 4, L"X:\\ini\\f!g" },
        { PenterSettingNone, 0, NULL } } },
    { "[modules]\na\n -b ; c\n;d\n[flags]\n[modules]\ne\n", FALSE, 0,
      { { PenterSettingModules, 2, L"a;-b;c;e" },
        { PenterSettingNone, 0, NULL } } },
    { "[modules]\na\n[executables]\nx\n[modules]\nb\n[executables]\ny", FALSE,
      0,
      { { PenterSettingModules, 2, L"a;b" },
        { PenterSettingExecutables, 4, L"x;y" },
        { PenterSettingNone, 0, NULL } } },
    { "[modules]\n-\na\\b\nc;;-;d\n", FALSE, 3,
      { { PenterSettingModules, 4, L"c;d" },
        { PenterSettingNone, 0, NULL } } },
    { "a\n[]\n[x]\ny\n[\n[flags]x\n]\nz", FALSE, 5, TEST_NO_VALUES },
    { "[flags]\n=\n = 1\nclock\nmode=ring\n[output]\nmode=ring", FALSE, 4,
      { { PenterSettingMode, 7, L"ring" },
        { PenterSettingNone, 0, NULL } } },
    { "[flags]\nclock=\x01\nclock=\xFF\nmax_depth=\xEF\xBF\xBD\nclo\xC3", FALSE,
      3,
      { { PenterSettingMaximumDepth, 4, L"\xFFFD" },
        { PenterSettingNone, 0, NULL } } },
    { "[EXES]\na\n", FALSE, 1, TEST_NO_VALUES },
    { "[flags]\nenabled=0\n", TRUE, 1, TEST_NO_VALUES },
    { "[exes]\na.exe\nb.exe\n", TRUE, 0,
      { { PenterSettingExecutables, 2, L"a.exe;b.exe" },
        { PenterSettingNone, 0, NULL } } },
    { "[PATCH IMPORTS]\n\n[PATCH CALLERS]\n[NAME LENGTH]\n", TRUE, 0,
      TEST_NO_VALUES },
    { "[PATCH IMPORTS]\na\nb\n[PATCH CALLERS]\nc\n[NAME LENGTH]\n60", TRUE, 3,
      { { PenterSettingModules, 2, L"a;b;c" },
        { PenterSettingNone, 0, NULL } } },
    { "[CAP FLAGS]\nPROFILE = OFF\nregular dump=on", TRUE, 1,
      { { PenterSettingStopped, 2, L"1" },
        { PenterSettingNone, 0, NULL } } },
    { "[CAP FLAGS]\nprofile=on\n", TRUE, 0,
      { { PenterSettingStopped, 2, L"0" },
        { PenterSettingNone, 0, NULL } } },
    { "[CAP FLAGS]\nprofile\nprofile=1\nprofile=\nx=off", TRUE, 3,
      TEST_NO_VALUES },
    { "[OUTPUT FILE]\nfilename=c:\\r\\e.cap\n", TRUE, 1,
      { { PenterSettingDirectory, 2, L"c:\\r\\" },
        { PenterSettingNone, 0, NULL } } },
    { "[OUTPUT FILE]\nFileName=r/e.cap\n", TRUE, 1,
      { { PenterSettingDirectory, 2, L"X:\\ini\\r/" },
        { PenterSettingNone, 0, NULL } } },
    { "[OUTPUT FILE]\nfilename=e.cap\nfilename=\nx=1\n", TRUE, 2,
      TEST_NO_VALUES },
    { "[CHRONO FUNCS]\na=b\nc=d\n[EXCLUDE FUNCS]\ne=f\n", TRUE, 2,
      TEST_NO_VALUES }
};

//
// Makes a number, the same ones in every run.
// Bound: what it is below.
//

static
ULONG
TestRandom(
    _In_ ULONG Bound
    )
{
    TestSeed = TestSeed * 1664525 + 1013904223;
    return (TestSeed >> 8) % Bound;
}

//
// Makes the configuration one that has read nothing and whose ini file would
// be X:\ini\tracer.ini.
//

static
VOID
TestResetConfig(
    VOID
    )
{
    static const WCHAR Path[] = L"X:\\ini\\tracer.ini";

    RtlZeroBytes(TestConfig, sizeof(*TestConfig));
    RtlCopyBytes(TestConfig->Ini.PathBuffer, Path, sizeof(Path));
    RtlPointUnicodeString(&TestConfig->Ini.Path,
                          TestConfig->Ini.PathBuffer,
                          RTL_NUMBER_OF(Path) - 1);
    TestConfig->Ini.IsRead = TRUE;
}

//
// Parses a file that ends where a page does.
// IsCap: whether it is a CAP.INI.
//

static
VOID
TestParse(
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes,
    _In_ BOOLEAN IsCap
    )
{
    TestResetConfig();
    RtlCopyBytes(TestFileEnd - SizeInBytes, Bytes, SizeInBytes);
    PenterParseIni(TestRtl,
                   TestConfig,
                   TestFileEnd - SizeInBytes,
                   SizeInBytes,
                   IsCap);
}

//
// Checks what was kept of a file.
// File: the file, and what there must be.
// Returns TRUE if that is all there is.
//

static
BOOLEAN
TestCheckValues(
    _In_ const TEST_FILE *File
    )
{
    const TEST_VALUE *Expected;
    PPENTER_INI_VALUE Value;
    ULONG Setting;
    BOOLEAN IsGood;

    IsGood = TEST_EQUAL(TestConfig->NumberOfErrors, File->Notes) &&
             TEST_EQUAL(TestConfig->NumberOfErrorsLeftOut, 0);

    for (Setting = 0; Setting < PENTER_NUMBER_OF_SETTINGS; Setting += 1) {
        Expected = File->Values;
        while ((ULONG)Expected->Setting != Setting &&
               Expected->Setting != PenterSettingNone) {
            Expected += 1;
        }
        Value = &TestConfig->Ini.Values[Setting];
        if (Expected->Setting == PenterSettingNone) {
            IsGood &= TEST_EQUAL(Value->Line, 0);
        } else {
            IsGood &= TEST_EQUAL(Value->Line, Expected->Line) &&
                      TEST_EQUAL_WIDE(Value->Text.Buffer,
                                      Value->Text.Length / sizeof(WCHAR),
                                      Expected->Text);
        }
    }

    return IsGood;
}

//
// Tests the files above: as UTF-8 with and without a mark, and as UTF-16 if
// they are text.
//

static
VOID
TestGoodFiles(
    VOID
    )
{
    static CHAR Bytes[4096];
    static WCHAR Wide[2048];
    ULONG Index;
    ULONG Length;
    ULONG Written;
    BOOLEAN IsGood;

    for (Index = 0; Index < RTL_NUMBER_OF(TestFiles); Index += 1) {
        Length = RtlLengthOfString(TestFiles[Index].Text);
        TestParse(TestFiles[Index].Text, Length, TestFiles[Index].IsCap);
        IsGood = TestCheckValues(&TestFiles[Index]);

        RtlCopyBytes(Bytes, "\xEF\xBB\xBF", 3);
        RtlCopyBytes(Bytes + 3, TestFiles[Index].Text, Length);
        TestParse(Bytes, Length + 3, TestFiles[Index].IsCap);
        IsGood &= TestCheckValues(&TestFiles[Index]);

        Wide[0] = 0xFEFF;
        if (RtlUtf8ToWide(TestFiles[Index].Text,
                          Length,
                          Wide + 1,
                          RTL_NUMBER_OF(Wide) - 1,
                          &Written) == Written &&
            Written <= Length && TestFiles[Index].Text[0] != 0 &&
            RtlWideToUtf8(Wide + 1, Written, Bytes, sizeof(Bytes), NULL) ==
            Length) {

            TestParse(Wide,
                      (Written + 1) * sizeof(WCHAR),
                      TestFiles[Index].IsCap);
            IsGood &= TestCheckValues(&TestFiles[Index]);
            TestParse(Wide + 1,
                      Written * sizeof(WCHAR),
                      TestFiles[Index].IsCap);
            IsGood &= TestCheckValues(&TestFiles[Index]);
        }
        if (!IsGood) {
            RtlWriteText(TestOutput, "file %u\n", Index);
        }
    }
}

//
// Tests what a note says: the end of the file's path, the line, the text, cut
// where it must be.
//

static
VOID
TestNotes(
    VOID
    )
{
    static CHAR Bytes[2048];
    UNICODE_STRING Text;
    ULONG Index;

    TestParse("\n[flags]\ncolor = red\n", 21, FALSE);
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_EQUAL_WIDE(TestConfig->Errors[0].Object,
                    TestConfig->Errors[0].ObjectLengthInChars,
                    L"X:\\ini\\tracer.ini, line 3: color = red");
    TEST_EQUAL_STRING(TestConfig->Errors[0].Step, "reading the ini file");
    TEST_STATUS(TestConfig->Errors[0].Status, STATUS_NOT_FOUND);

    TestParse("[exclude]\na!b\na!c\na!d", 21, FALSE);
    TEST_EQUAL_WIDE(TestConfig->Errors[0].Object,
                    TestConfig->Errors[0].ObjectLengthInChars,
                    L"X:\\ini\\tracer.ini, line 2: a!b (and 2 more)");

    //
    // A long line, and a long path of which only the end is shown.
    //

    RtlFillBytes(Bytes, sizeof(Bytes), 'x');
    TestParse(Bytes, sizeof(Bytes), FALSE);
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_EQUAL(TestConfig->Errors[0].ObjectLengthInChars, 300);

    TestResetConfig();
    for (Index = 0; Index < 1000; Index += 1) {
        TestConfig->Ini.PathBuffer[Index] = (WCHAR)(L'a' + Index % 26);
    }
    RtlPointUnicodeString(&TestConfig->Ini.Path,
                          TestConfig->Ini.PathBuffer,
                          1000);
    RtlPointUnicodeString(&Text, L"text", 4);
    PenterIniError(TestConfig, "", 0xFFFFFFFF, &Text, STATUS_SUCCESS, "");
    TEST_EQUAL(TestConfig->Errors[0].ObjectLengthInChars, 3 + 160 + 17 + 2 + 4);
    TEST_EQUAL_WIDE(TestConfig->Errors[0].Object, 3, L"...");
    TEST_EQUAL_WIDE(TestConfig->Errors[0].Object + 3 + 160,
                    17 + 2 + 4,
                    L", line 4294967295: text");
    TEST_EQUAL(TestConfig->Errors[0].Object[3],
               TestConfig->Ini.PathBuffer[1000 - 160]);

    //
    // More than there is room for.
    //

    TestResetConfig();
    for (Index = 0; Index < 3 * PENTER_MAXIMUM_CONFIG_ERRORS; Index += 1) {
        PenterIniError(TestConfig, "", Index, NULL, STATUS_SUCCESS, NULL);
    }
    TEST_EQUAL(TestConfig->NumberOfErrors, PENTER_MAXIMUM_CONFIG_ERRORS);
    TEST_EQUAL(TestConfig->NumberOfErrorsLeftOut,
               2 * PENTER_MAXIMUM_CONFIG_ERRORS);
}

//
// Copies a text.
// Returns behind the copy.
//

static
PUCHAR
TestAppendText(
    _In_ PUCHAR Place,
    _In_z_ PCSZ Text
    )
{
    RtlCopyBytes(Place, Text, RtlLengthOfString(Text));
    return Place + RtlLengthOfString(Text);
}

//
// Tests values that there is no room for: longer than a path, longer together
// than all may be, said again and again, lists that grow in turn.
//

static
VOID
TestRoom(
    VOID
    )
{
    static UCHAR File[TEST_FILE_CAPACITY];
    PPENTER_INI Ini;
    PUCHAR Next;
    ULONG Length;
    ULONG Index;

    Ini = &TestConfig->Ini;

    //
    // "clock=" and that many characters: the line is at most as long as a path,
    // and so is the value.
    //

    for (Length = RTL_MAXIMUM_PATH_IN_CHARS - 8;
         Length <= RTL_MAXIMUM_PATH_IN_CHARS - 4;
         Length += 1) {

        Next = TestAppendText(File, "[flags]\nclock=");
        RtlFillBytes(Next, Length, 'x');
        TestParse(File, (ULONG)(Next - File) + Length, FALSE);
        if (Length + 6 <= RTL_MAXIMUM_PATH_IN_CHARS) {
            TEST_EQUAL(TestConfig->NumberOfErrors, 0);
            TEST_EQUAL(Ini->Values[PenterSettingClock].Text.Length,
                       Length * sizeof(WCHAR));
        } else {
            TEST_EQUAL(TestConfig->NumberOfErrors, 1);
            TEST_STATUS(TestConfig->Errors[0].Status, STATUS_NAME_TOO_LONG);
            TEST_EQUAL(Ini->Values[PenterSettingClock].Line, 0);
        }

        //
        // A relative path gets longer.
        //

        Next = TestAppendText(File, "[exclude]\nlist=");
        RtlFillBytes(Next, Length - 2, 'x');
        TestParse(File, (ULONG)(Next - File) + Length - 2, FALSE);
        if (Length - 2 + 7 < RTL_MAXIMUM_PATH_IN_CHARS) {
            TEST_EQUAL(TestConfig->NumberOfErrors, 0);
            TEST_EQUAL(Ini->Values[PenterSettingExclude].Text.Length,
                       (Length - 2 + 7) * sizeof(WCHAR));
        } else {
            TEST_EQUAL(TestConfig->NumberOfErrors, 1);
            TEST_EQUAL(Ini->Values[PenterSettingExclude].Text.Length, 0);
        }
    }

    //
    // All of them together: two fit, the third one does not, short ones do.
    //

    Next = TestAppendText(File, "[flags]\n");
    for (Index = 0; Index < 3; Index += 1) {
        Next = TestAppendText(Next, Index == 0 ? "clock=" :
                                    Index == 1 ? "enabled=" : "max_depth=");
        RtlFillBytes(Next, 32750, 'x');
        Next = TestAppendText(Next + 32750, "\n");
    }
    Next = TestAppendText(Next, "min_duration=36\n");
    TestParse(File, (ULONG)(Next - File), FALSE);
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_EQUAL(Ini->Values[PenterSettingMaximumDepth].Text.Length, 0);
    TEST_EQUAL_WIDE(Ini->Values[PenterSettingMinimumDuration].Text.Buffer,
                    2,
                    L"36");
    TEST_EQUAL(Ini->LengthInChars, 2 * 32750 + 2);

    //
    // The same key, until there is no room.
    //

    Next = TestAppendText(File, "[flags]\n");
    for (Index = 0; Index < 70000; Index += 1) {
        Next = TestAppendText(Next, "clock=xy\n");
    }
    TestParse(File, (ULONG)(Next - File), FALSE);
    TEST_EQUAL(Ini->LengthInChars, PENTER_INI_TEXT_IN_CHARS);
    TEST_EQUAL(TestConfig->NumberOfErrors + TestConfig->NumberOfErrorsLeftOut,
               69999 + 70000 - PENTER_INI_TEXT_IN_CHARS / 2);

    //
    // One list may be as long as a variable of the environment; two that grow
    // in turn are copied each time.
    //

    Next = TestAppendText(File, "[modules]\n");
    for (Index = 0; Index < 20000; Index += 1) {
        Next = TestAppendText(Next, "a\n");
    }
    TestParse(File, (ULONG)(Next - File), FALSE);
    TEST_EQUAL(Ini->Values[PenterSettingModules].Text.Length,
               (RTL_MAXIMUM_PATH_IN_CHARS - 2) * sizeof(WCHAR));
    TEST_EQUAL(Ini->LengthInChars, RTL_MAXIMUM_PATH_IN_CHARS - 2);
    TEST_EQUAL(TestConfig->NumberOfErrors + TestConfig->NumberOfErrorsLeftOut,
               20000 - 16383);

    Next = File;
    for (Index = 0; Index < 20000; Index += 1) {
        Next = TestAppendText(Next, "[modules]\na\n[executables]\nb\n");
    }
    TestParse(File, (ULONG)(Next - File), FALSE);
    TEST(Ini->LengthInChars <= PENTER_INI_TEXT_IN_CHARS);
    TEST(Ini->Values[PenterSettingModules].Text.Length > 400);
    TEST(Ini->Values[PenterSettingExecutables].Text.Length > 400);
}

//
// Tests files made of pieces of good ones and of any bytes: whatever they are,
// what is kept lies where it may.
// NumberOfFiles: how many.
//

static
VOID
TestHostileFiles(
    _In_ ULONG NumberOfFiles
    )
{
    static const PCSZ Pieces[] = {
        "\n[flags]\n", "\n[output]\n", "\n[modules]\n", "\n[executables]\n",
        "\n[exclude]\n", "\n[chronological]\n", "\n[CAP FLAGS]\n", "\n[EXES]\n",
        "\n[OUTPUT FILE]\n", "\n[PATCH IMPORTS]\n", "\n[EXCLUDE FUNCS]\n",
        "[", "]", "=", "\n", "\r\n", "\n", " ", "\"", ";", "#", "!",
        "\nclock=", "profile=off\n", "filename=a/b\n", "\ndirectory=", "list=",
        "-", "\xC3\xA4", "\xF0\x9F\x98\x80", "\xEF\xBB\xBF", "\xFF\xFE"
    };
    static UCHAR File[TEST_MAXIMUM_RANDOM + 64];
    PPENTER_INI_VALUE Value;
    PUCHAR Next;
    ULONG Count;
    ULONG Index;
    ULONG Kind;
    ULONG Bad;
    ULONG Kept;
    ULONG Noted;

    Bad = 0;
    Kept = 0;
    Noted = 0;
    for (Count = 0; Count < NumberOfFiles; Count += 1) {
        Kind = TestRandom(4);
        Next = File;
        while (Next < File + TEST_MAXIMUM_RANDOM) {
            if (TestRandom(8) < Kind) {
                *Next = (UCHAR)TestRandom(256);
                Next += 1;
            } else {
                Next = TestAppendText(
                    Next,
                    Pieces[TestRandom(RTL_NUMBER_OF(Pieces))]);
            }
            if (TestRandom(100) == 0) {
                break;
            }
        }
        TestParse(File, (ULONG)(Next - File), (BOOLEAN)(Count & 1));

        if (TestConfig->NumberOfErrors > PENTER_MAXIMUM_CONFIG_ERRORS ||
            TestConfig->Ini.LengthInChars > PENTER_INI_TEXT_IN_CHARS) {
            Bad += 1;
        }
        Noted += TestConfig->NumberOfErrors;
        for (Index = 0; Index < TestConfig->NumberOfErrors; Index += 1) {
            if (NT_SUCCESS(TestConfig->Errors[Index].Status) ||
                TestConfig->Consequences[Index] == NULL ||
                TestConfig->Errors[Index].ObjectLengthInChars >
                RTL_NUMBER_OF(TestConfig->Errors[Index].Object)) {
                Bad += 1;
            }
        }
        for (Index = 0; Index < PENTER_NUMBER_OF_SETTINGS; Index += 1) {
            Value = &TestConfig->Ini.Values[Index];
            Kept += Value->Line != 0;
            if (Value->Text.Length != 0 &&
                (Value->Line == 0 ||
                 Value->Text.Buffer < TestConfig->Ini.Text ||
                 Value->Text.Buffer + Value->Text.Length / sizeof(WCHAR) >
                 TestConfig->Ini.Text + TestConfig->Ini.LengthInChars)) {
                Bad += 1;
            }
        }
    }

    TEST_EQUAL(Bad, 0);
    TEST(Kept > NumberOfFiles / 4);
    TEST(Noted > NumberOfFiles);
}

//
// The whole configuration, with an environment and a file of our own.
//

typedef struct _TEST_SYSTEM {
    PCSZ File;                          // NULL: there is none
    ULONG SizeInBytes;
    PCWSTR Names[16];                   // of variables that are set
    PCWSTR Values[16];
    NTSTATUS OpenStatus;
    NTSTATUS QueryStatus;
    NTSTATUS ReadStatus;
    NTSTATUS AllocateStatus;
    ULONG MaximumRead;                  // bytes that one call reads; 0: all
    ULONG NumberOfOpens;
    LONG NumberOfHandles;
    LONG NumberOfBlocks;
    BOOLEAN HasNoUser;                  // LOCALAPPDATA is not set either
} TEST_SYSTEM;

static TEST_SYSTEM TestSystem;

//
// RtlQueryEnvironmentVariable_U.
// As RtlQueryEnvironmentVariable_U.
//

static
NTSTATUS
NTAPI
TestQueryVariable(
    PVOID Environment,
    PUNICODE_STRING Name,
    PUNICODE_STRING Value
    )
{
    static const WCHAR User[] = L"LOCALAPPDATA";
    static const WCHAR Directory[] = L"Q:\\user";
    ULONG Index;
    ULONG Length;

    UNREFERENCED_PARAMETER(Environment);

    if (!TestSystem.HasNoUser &&
        Name->Length == sizeof(User) - sizeof(WCHAR) &&
        RtlAreBytesEqual(User, Name->Buffer, Name->Length)) {

        RtlCopyBytes(Value->Buffer, Directory, sizeof(Directory));
        Value->Length = sizeof(Directory) - sizeof(WCHAR);
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(TestSystem.Names); Index += 1) {
        if (TestSystem.Names[Index] == NULL) {
            break;
        }
        Length = RtlLengthOfWideString(TestSystem.Names[Index]) * sizeof(WCHAR);
        if (Length == Name->Length &&
            RtlAreBytesEqual(TestSystem.Names[Index], Name->Buffer, Length)) {

            Length = RtlLengthOfWideString(TestSystem.Values[Index]);
            RtlCopyBytes(Value->Buffer,
                         TestSystem.Values[Index],
                         Length * sizeof(WCHAR));
            Value->Length = (USHORT)(Length * sizeof(WCHAR));
            return STATUS_SUCCESS;
        }
    }

    return STATUS_VARIABLE_NOT_FOUND;
}

//
// NtCreateFile.
// As NtCreateFile.
//

static
NTSTATUS
NTAPI
TestCreateFile(
    PHANDLE Handle,
    ACCESS_MASK Access,
    POBJECT_ATTRIBUTES Attributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG Disposition,
    ULONG Options,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    UNREFERENCED_PARAMETER(Access);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    TEST_EQUAL(Disposition, FILE_OPEN);
    TEST((Options & FILE_NON_DIRECTORY_FILE) != 0);

    TestSystem.NumberOfOpens += 1;
    if (!NT_SUCCESS(TestSystem.OpenStatus)) {
        return TestSystem.OpenStatus;
    }
    if (TestSystem.File == NULL) {
        return STATUS_OBJECT_NAME_NOT_FOUND;
    }
    TestSystem.NumberOfHandles += 1;
    *Handle = (HANDLE)0x1234;
    return STATUS_SUCCESS;
}

//
// NtClose.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
NTAPI
TestClose(
    HANDLE Handle
    )
{
    TEST_EQUAL((ULONG_PTR)Handle, 0x1234);
    TestSystem.NumberOfHandles -= 1;
    return STATUS_SUCCESS;
}

//
// NtQueryInformationFile, for sizes.
// As NtQueryInformationFile.
//

static
NTSTATUS
NTAPI
TestQueryFile(
    HANDLE Handle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Information,
    ULONG Length,
    ULONG InformationClass
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(IoStatus);

    TEST_EQUAL(InformationClass, RTL_FILE_STANDARD_INFORMATION);
    if (!NT_SUCCESS(TestSystem.QueryStatus)) {
        return TestSystem.QueryStatus;
    }
    RtlZeroBytes(Information, Length);
    ((PLARGE_INTEGER)Information)[1].QuadPart = TestSystem.SizeInBytes;
    return STATUS_SUCCESS;
}

//
// NtReadFile. The file may end before its size.
// As NtReadFile.
//

static
NTSTATUS
NTAPI
TestReadFile(
    HANDLE File,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    ULONG Size;

    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    if (!NT_SUCCESS(TestSystem.ReadStatus)) {
        return TestSystem.ReadStatus;
    }
    Size = RtlLengthOfString(TestSystem.File);
    if (ByteOffset->QuadPart >= Size) {
        return STATUS_END_OF_FILE;
    }
    Size -= (ULONG)ByteOffset->QuadPart;
    if (Size > Length) {
        Size = Length;
    }
    if (TestSystem.MaximumRead != 0 && Size > TestSystem.MaximumRead) {
        Size = TestSystem.MaximumRead;
    }
    RtlCopyBytes(Buffer, TestSystem.File + ByteOffset->QuadPart, Size);
    IoStatus->Information = Size;
    return STATUS_SUCCESS;
}

//
// NtAllocateVirtualMemory.
// As NtAllocateVirtualMemory.
//

static
NTSTATUS
NTAPI
TestAllocate(
    HANDLE Process,
    PVOID *Base,
    ULONG_PTR ZeroBits,
    PSIZE_T Size,
    ULONG Type,
    ULONG Protect
    )
{
    if (!NT_SUCCESS(TestSystem.AllocateStatus)) {
        return TestSystem.AllocateStatus;
    }
    TestSystem.NumberOfBlocks += 1;
    return TestRtl->NtAllocateVirtualMemory(Process,
                                            Base,
                                            ZeroBits,
                                            Size,
                                            Type,
                                            Protect);
}

//
// NtFreeVirtualMemory.
// As NtFreeVirtualMemory.
//

static
NTSTATUS
NTAPI
TestFree(
    HANDLE Process,
    PVOID *Base,
    PSIZE_T Size,
    ULONG Type
    )
{
    TestSystem.NumberOfBlocks -= 1;
    return TestRtl->NtFreeVirtualMemory(Process, Base, Size, Type);
}

//
// Reads the configuration that TestSystem has, and checks that nothing is left
// behind.
//

static
VOID
TestRead(
    VOID
    )
{
    RTL Rtl;

    RtlCopyBytes(&Rtl, TestRtl, sizeof(Rtl));
    Rtl.RtlQueryEnvironmentVariable_U = TestQueryVariable;
    Rtl.NtCreateFile = TestCreateFile;
    Rtl.NtClose = TestClose;
    Rtl.NtQueryInformationFile = TestQueryFile;
    Rtl.NtReadFile = TestReadFile;
    Rtl.NtAllocateVirtualMemory = TestAllocate;
    Rtl.NtFreeVirtualMemory = TestFree;

    if (TestSystem.File != NULL && TestSystem.SizeInBytes == 0) {
        TestSystem.SizeInBytes = RtlLengthOfString(TestSystem.File);
    }
    RtlZeroBytes(TestConfig, sizeof(*TestConfig));
    PenterReadConfig(&Rtl, GetModuleHandleW(NULL), TestConfig);
    TEST_EQUAL(TestSystem.NumberOfHandles, 0);
    TEST_EQUAL(TestSystem.NumberOfBlocks, 0);
}

//
// Tests that each key sets what it says, that the environment comes before it,
// and that nothing is looked for where nobody asks.
//

static
VOID
TestSettings(
    VOID
    )
{
    static const CHAR File[] =
        "[output]\nmode=ring\nmax_bytes=0x200000\nview_size=128k\nflush=1\n"
        "directory=d:\\x\n[flags]\nclock=thread\nmin_duration=3us\n"
        "max_depth=12\n[exclude]\nlist=c:\\e\n[chronological]\nlist=c:\\c\n";
    static const PCWSTR Variables[][2] = {
        { L"TRACER_MODE", L"file" },
        { L"TRACER_MAX_BYTES", L"3M" },
        { L"TRACER_VIEW_SIZE", L"64K" },
        { L"TRACER_FLUSH", L"0" },
        { L"TRACER_DIRECTORY", L"y" },
        { L"TRACER_CLOCK", L"TSC" },
        { L"TRACER_MIN_DURATION", L"2" },
        { L"TRACER_MAX_DEPTH", L"7" }
    };
    UNICODE_STRING Text;
    ULONG Index;

    for (Index = 0; Index <= RTL_NUMBER_OF(Variables); Index += 1) {
        RtlZeroBytes(&TestSystem, sizeof(TestSystem));
        TestSystem.File = File;
        if (Index < RTL_NUMBER_OF(Variables)) {
            TestSystem.Names[0] = Variables[Index][0];
            TestSystem.Values[0] = Variables[Index][1];
        }
        TestRead();
        TEST_EQUAL(TestSystem.NumberOfOpens, 1);
        TEST(TestConfig->Enabled && TestConfig->ModuleIncluded);

        //
        // Only that TRACER_CHRONO has no effect is said.
        //

        TEST_EQUAL(TestConfig->NumberOfErrors, 1);
        TEST_EQUAL_STRING(TestConfig->Consequences[0],
                          PENTER_CHRONO_CONSEQUENCE);
        TEST_EQUAL(TestConfig->IsRing, Index != 0);
        TEST_EQUAL(TestConfig->MaximumBytes, Index == 1 ? 0x300000 : 0x200000);
        TEST_EQUAL(TestConfig->MaximumViewSize,
                   Index == 2 ? 0x10000 : 0x20000);
        TEST_EQUAL(TestConfig->Flush, Index != 3);
        TEST_EQUAL_WIDE(TestConfig->RootDirectory.Buffer,
                        TestConfig->RootDirectory.Length / sizeof(WCHAR),
                        Index == 4 ? L"y" : L"d:\\x");
        TEST_EQUAL(TestConfig->Clock,
                   Index == 5 ? TRACE_CLOCK_TSC : TRACE_CLOCK_THREAD);
        TEST_EQUAL(TestConfig->MinimumDuration, Index == 6 ? 2 : 3000);
        TEST_EQUAL(TestConfig->MaximumDepth, Index == 7 ? 7 : 12);
        TEST(PenterQueryIni(TestRtl,
                            TestConfig,
                            L"TRACER_EXCLUDE",
                            &Text) == 12);
        TEST_EQUAL_WIDE(Text.Buffer, Text.Length / sizeof(WCHAR), L"c:\\e");
        TEST(PenterQueryIni(TestRtl, TestConfig, L"TRACER_CHRONO", &Text) ==
             14);
        TEST(PenterQueryIni(TestRtl, TestConfig, L"TRACER_CONTROL", &Text) ==
             0);
        TEST(PenterQueryIni(TestRtl, TestConfig, L"TRACER_CHRON", &Text) == 0);
    }

    //
    // Turned off by the environment, it is not even looked for.  Otherwise it
    // is, in four places.
    //

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.File = File;
    TestSystem.Names[0] = L"TRACER_ENABLED";
    TestSystem.Values[0] = L"0";
    TestRead();
    TEST(!TestConfig->Enabled);
    TEST_EQUAL(TestSystem.NumberOfOpens, 0);

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestRead();
    TEST(TestConfig->Enabled && TestConfig->ModuleIncluded);
    TEST_EQUAL(TestSystem.NumberOfOpens, 4);
    TEST_EQUAL(TestConfig->NumberOfErrors, 0);

    //
    // Control: without a user's directory that is said.
    //

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.HasNoUser = TRUE;
    TestRead();
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_STATUS(TestConfig->Errors[0].Status, STATUS_VARIABLE_NOT_FOUND);

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.File = "[flags]\nenabled = 0\n";
    TestRead();
    TEST(!TestConfig->Enabled);

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.File = "[executables]\nno such program\n";
    TestRead();
    TEST(!TestConfig->Enabled);

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.File = "[executables]\ntestini.\n[modules]\n-TESTINI.EXE\n";
    TestRead();
    TEST(TestConfig->Enabled && !TestConfig->ModuleIncluded);

    //
    // A bad value: the default, and where it is from.
    //

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.File = "[flags]\n\nclock = sun\n";
    TestSystem.Names[0] = L"TRACER_CONFIG";
    TestSystem.Values[0] = L"Q:\\some.ini";
    TestRead();
    TEST_EQUAL(TestConfig->Clock, TRACE_CLOCK_TSC);
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_EQUAL_WIDE(TestConfig->Errors[0].Object,
                    TestConfig->Errors[0].ObjectLengthInChars,
                    L"Q:\\some.ini, line 3: sun");
    TEST_EQUAL_STRING(TestConfig->Errors[0].Step,
                      "reading TRACER_CLOCK (tsc, thread or none)");
    TEST(TestConfig->Consequences[0] == NULL);

    //
    // A CAP.INI is told by its name.
    //

    TestSystem.File = "[CAP FLAGS]\nprofile=off\n";
    TestSystem.SizeInBytes = 0;
    TestSystem.Values[0] = L"Q:\\Cap.Ini";
    TestRead();
    TEST(TestConfig->Enabled && TestConfig->IsStopped);
    TestSystem.Names[1] = L"TRACER_STOPPED";
    TestSystem.Values[1] = L"0";
    TestRead();
    TEST(TestConfig->Enabled && !TestConfig->IsStopped);
}

//
// Tests what the system may say: the program is recorded with the defaults,
// and one note says what failed.
//

static
VOID
TestSystemFailures(
    VOID
    )
{
    static const CHAR File[] = "[flags]\nmax_depth = 5\n";
    ULONG Index;

    for (Index = 0; Index < 9; Index += 1) {
        RtlZeroBytes(&TestSystem, sizeof(TestSystem));
        TestSystem.File = File;
        switch (Index) {
        case 0:
            TestSystem.OpenStatus = STATUS_ACCESS_DENIED;
            break;
        case 1:
            TestSystem.OpenStatus = STATUS_FILE_IS_A_DIRECTORY;
            break;
        case 2:
            TestSystem.QueryStatus = STATUS_INVALID_DEVICE_REQUEST;
            break;
        case 3:
            TestSystem.ReadStatus = STATUS_SHARING_VIOLATION;
            break;
        case 4:
            TestSystem.AllocateStatus = STATUS_NO_MEMORY;
            break;
        case 5:
            TestSystem.SizeInBytes = PENTER_INI_MAXIMUM_SIZE + 1;
            break;
        case 6:
            TestSystem.MaximumRead = 1;
            break;
        case 7:

            //
            // It has become shorter since it was opened.
            //

            TestSystem.SizeInBytes = PENTER_INI_MAXIMUM_SIZE;
            break;
        default:
            TestSystem.ReadStatus = STATUS_END_OF_FILE;
            break;
        }
        TestRead();
        TEST_EQUAL(TestSystem.NumberOfOpens, 1);
        TEST(TestConfig->Enabled && TestConfig->ModuleIncluded);
        TEST_EQUAL(TestConfig->NumberOfErrors, Index < 6 ? 1 : 0);
        TEST_EQUAL(TestConfig->MaximumDepth, Index == 6 || Index == 7 ? 5 : 0);
    }

    //
    // One that TRACER_CONFIG names must be there, and no other is looked for.
    //

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.Names[0] = L"TRACER_CONFIG";
    TestSystem.Values[0] = L"nowhere.ini";
    TestRead();
    TEST_EQUAL(TestSystem.NumberOfOpens, 1);
    TEST_EQUAL(TestConfig->NumberOfErrors, 1);
    TEST_STATUS(TestConfig->Errors[0].Status, STATUS_OBJECT_NAME_NOT_FOUND);

    RtlZeroBytes(&TestSystem, sizeof(TestSystem));
    TestSystem.Names[0] = L"TRACER_CONFIG";
    TestSystem.Values[0] = L"";
    TestRead();
    TEST_EQUAL(TestSystem.NumberOfOpens, 4);
    TEST_EQUAL(TestConfig->NumberOfErrors, 0);
}

//
// Runs the tests.
//

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    WCHAR Value[16];
    UNICODE_STRING String;
    PUCHAR Base;
    PVOID Pages;
    DWORD Ignored;
    BOOLEAN IsQuick;

    UNREFERENCED_PARAMETER(Allocator);

    TestRtl = Rtl;
    IsQuick = NT_SUCCESS(RtlQueryEnvironment(Rtl,
                                             L"TRACER_QUICK",
                                             Value,
                                             RTL_NUMBER_OF(Value),
                                             &String));

    Base = (PUCHAR)VirtualAlloc(NULL,
                                TEST_FILE_CAPACITY + 4096,
                                MEM_RESERVE | MEM_COMMIT,
                                PAGE_READWRITE);
    if (!TEST(Base != NULL) ||
        !TEST_SUCCESS(RtlAllocatePages(Rtl, sizeof(PENTER_CONFIG), &Pages))) {
        return;
    }
    TestConfig = (PPENTER_CONFIG)Pages;
    TestFileEnd = Base + TEST_FILE_CAPACITY;
    TEST(VirtualProtect(TestFileEnd, 4096, PAGE_NOACCESS, &Ignored));

    TestGoodFiles();
    TestNotes();
    TestRoom();
    TestHostileFiles(IsQuick ? TEST_QUICK_FILES : TEST_RANDOM_FILES);
    TestSettings();
    TestSystemFailures();

    RtlFreePages(Rtl, TestConfig);
    VirtualFree(Base, 0, MEM_RELEASE);
}

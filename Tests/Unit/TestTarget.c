/*++

Module Name:

    TestTarget.c

Abstract:

    Tests what recover and ctl snapshot write while somebody else does things to
    the new directory (Reader/Session/SessionTarget.c): before each file that
    they make something of its name is put there, or another directory takes the
    place of the new one. The session is the real writer's, the commands are the
    program's.

    A link cannot be put there in a program of Wine, and Wine follows those of
    Unix whatever it is asked for; so it is looked at whether each file is asked
    for in a way in which Windows follows none: by a plain name in a directory's
    handle, as itself (FILE_OPEN_REPARSE_POINT), and new (FILE_CREATE).

    And that a file that is read in odd pieces is copied in whole records
    (Reader/Session/SessionCopy.c).

--*/

#include "../../TraceStore/TraceControl.h"
#include "../../TraceStore/TraceLog.h"
#include "../../TraceStore/TraceStore.h"
#include "../../Reader/Commands/Command.h"
#include "../../Reader/Session/SessionCopy.h"
#include "../../Reader/Session/SessionTarget.h"
#include "Test.h"

#define TEST_CREATE         2           // FILE_CREATE
#define TEST_MOST_FILES     32
#define TEST_COPIED         1003        // bytes: 62 records and 11

static PCRTL TestReal;
static RTL TestRtl;
static READER_CONTEXT TestContext;
static RTL_WRITER TestOut;
static RTL_WRITER TestErr;
static CHAR TestOutText[0x10000];
static CHAR TestErrText[0x10000];
static WCHAR TestSessionPath[MAX_PATH];
static CHAR TestSessionUtf8[MAX_PATH];
static WCHAR TestFolder[MAX_PATH];

//
// What the stand-in does, and what it has seen: files that were made below the
// new directory.
//

static LONG TestMade;
static LONG TestWrong;                  // in a way that may lead elsewhere
static LONG TestPlantBefore;            // which of them; 0: none
static LONG TestMoveBefore;
static CHAR TestPlanted[MAX_PATH];
static ULONG TestMostRead;              // bytes at a time; 0: as many as there

static
BOOLEAN
TestWriteFile(
    PCSTR Name,
    PCSTR Text
    )
{
    HANDLE File;
    DWORD Written;

    File = CreateFileA(Name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    if (File == INVALID_HANDLE_VALUE) {
        return FALSE;
    }
    WriteFile(File, Text, RtlLengthOfString(Text), &Written, NULL);
    CloseHandle(File);
    return TRUE;
}

static
BOOLEAN
TestHasText(
    PCSTR Name,
    PCSTR Text
    )
{
    HANDLE File;
    DWORD Read = 0;
    CHAR Buffer[16];

    File = CreateFileA(Name, GENERIC_READ, 7, NULL, OPEN_EXISTING, 0, NULL);
    if (File == INVALID_HANDLE_VALUE) {
        return FALSE;
    }
    ReadFile(File, Buffer, sizeof(Buffer), &Read, NULL);
    CloseHandle(File);
    return Read == RtlLengthOfString(Text) &&
           RtlAreBytesEqual(Buffer, Text, Read);
}

//
// How many files a directory of the test's has.
//

static
ULONG
TestCountFiles(
    PCSTR Pattern
    )
{
    WIN32_FIND_DATAA Data;
    HANDLE Find;
    ULONG Count = 0;

    Find = FindFirstFileA(Pattern, &Data);
    if (Find == INVALID_HANDLE_VALUE) {
        return 0;
    }
    do {
        Count += Data.cFileName[0] != '.';
    } while (FindNextFileA(Find, &Data));
    FindClose(Find);
    return Count;
}

//
// Where the last part of a name begins, if it is below the new directory, which
// is the test folder's "new"; 0 if it is not.
//

static
ULONG
TestFindName(
    const OBJECT_ATTRIBUTES *Attributes
    )
{
    static const WCHAR Directory[] = L"\\new\\";
    PCUNICODE_STRING Name = Attributes->ObjectName;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Start;
    ULONG Index;

    for (Start = 0; Start + 5 < Length; Start += 1) {
        for (Index = 0;
             Index < 5 && Name->Buffer[Start + Index] == Directory[Index];
             Index += 1) {
        }
        if (Index == 5) {
            return Start + 5;
        }
    }

    return 0;
}

static
NTSTATUS
NTAPI
TestNtCreateFile(
    PHANDLE Handle,
    ACCESS_MASK DesiredAccess,
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
    PCUNICODE_STRING Name = Attributes->ObjectName;
    ULONG Start = TestFindName(Attributes);
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Index;
    RTL_WRITER Writer;

    if (Disposition != FILE_OPEN &&
        (Attributes->RootDirectory != NULL || Start != 0)) {

        TestMade += 1;
        if (Attributes->RootDirectory == NULL || Disposition != TEST_CREATE ||
            (Options & FILE_OPEN_REPARSE_POINT) == 0 ||
            !RtlIsPlainName(Name, FALSE)) {

            TestWrong += 1;
        }
        if (TestMade == TestPlantBefore) {
            RtlInitializeBufferWriter(&Writer,
                                      TestPlanted,
                                      sizeof(TestPlanted) - 1);
            RtlWriteText(&Writer, "new\\");
            for (Index = Start; Index < Length; Index += 1) {
                RtlWriteText(&Writer, "%c", Name->Buffer[Index]);
            }
            TestPlanted[Writer.LengthInBytes] = '\0';
            TEST(TestWriteFile(TestPlanted, "mine"));
        }
        if (TestMade == TestMoveBefore) {
            TEST(MoveFileA("new", "moved"));
            TEST(CreateDirectoryA("new", NULL));
        }
    }

    return TestReal->NtCreateFile(Handle, DesiredAccess, Attributes, IoStatus,
                                  AllocationSize, FileAttributes, ShareAccess,
                                  Disposition, Options, EaBuffer, EaLength);
}

//
// A file that gives fewer bytes than there are.
//

static
NTSTATUS
NTAPI
TestNtReadFile(
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
    if (TestMostRead != 0 && Length > TestMostRead) {
        Length = TestMostRead;
    }
    return TestReal->NtReadFile(File, Event, ApcRoutine, ApcContext, IoStatus,
                                Buffer, Length, ByteOffset, Key);
}

//
// The process that wrote the session is this one, and has ended.
//

static
NTSTATUS
NTAPI
TestNtOpenProcess(
    PHANDLE Handle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PVOID ClientId
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(ClientId);

    return STATUS_INVALID_CID;
}

static
VOID
TestRemove(
    PCWSTR Name
    )
{
    static TEST_PATH Folder;
    static TEST_PATH Path;

    if (TEST(TestMakePath(&Folder, TestFolder)) &&
        TEST(TestMakePathIn(&Path, &Folder, Name)) &&
        GetFileAttributesW(Name) != INVALID_FILE_ATTRIBUTES) {

        TEST_SUCCESS(TestDeleteTree(&Path));
    }
}

//
// Runs a command, whose words are the program's own but for the session and
// the new directory.
//

static
ULONG
TestCommand(
    BOOLEAN IsRecover
    )
{
    static const RTL_ARGUMENT Program = { L"TraceReader", "TraceReader", NULL };
    static const RTL_ARGUMENT Recover = { L"recover", "recover", NULL };
    static const RTL_ARGUMENT Output = { L"-o", "-o", NULL };
    static const RTL_ARGUMENT Ctl = { L"ctl", "ctl", NULL };
    static const RTL_ARGUMENT Snapshot = { L"snapshot", "snapshot", NULL };
    static const RTL_ARGUMENT Target = { L"new", "new", NULL };
    RTL_ARGUMENT Arguments[5];
    RTL_ARGUMENT Session;

    Session.Wide = TestSessionPath;
    Session.Utf8 = TestSessionUtf8;
    Arguments[0] = Program;
    Arguments[1] = IsRecover ? Recover : Ctl;
    Arguments[2] = IsRecover ? Output : Session;
    Arguments[3] = IsRecover ? Target : Snapshot;
    Arguments[4] = IsRecover ? Session : Target;
    RtlInitializeBufferWriter(&TestOut, TestOutText, sizeof(TestOutText) - 1);
    RtlInitializeBufferWriter(&TestErr, TestErrText, sizeof(TestErrText) - 1);
    TestMade = 0;
    TestWrong = 0;
    return CommandMain(&TestContext, Arguments, RTL_NUMBER_OF(Arguments));
}

static
BOOLEAN
TestErrorHas(
    PCSZ Text
    )
{
    SIZE_T Start;
    ULONG Length = RtlLengthOfString(Text);

    for (Start = 0; Start + Length <= TestErr.LengthInBytes; Start += 1) {
        if (RtlAreBytesEqual(TestErrText + Start, Text, Length)) {
            return TRUE;
        }
    }

    RtlWriteText(TestOutput, "    the error is: %s\n", TestErrText);
    return FALSE;
}

static
VOID
TestCommands(
    BOOLEAN IsRecover
    )
{
    LONG Files;
    LONG Index;

    //
    // Nobody does anything: the control of what follows.
    //

    TestRemove(L"new");
    RtlZeroBytes(TestErrText, sizeof(TestErrText));
    if (!TEST_EQUAL(TestCommand(IsRecover), 0)) {
        RtlWriteText(TestOutput, "    %s\n", TestErrText);
    }
    Files = TestMade;
    TEST(Files >= 2 && Files < TEST_MOST_FILES);
    TEST_EQUAL(TestWrong, 0);
    TEST_EQUAL(TestCountFiles("new\\*"), Files);

    //
    // Something of each file's name is there: it stays as it is.
    //

    for (Index = 1; Index <= Files; Index += 1) {
        TestRemove(L"new");
        TestPlantBefore = Index;
        RtlZeroBytes(TestErrText, sizeof(TestErrText));
        TEST(TestCommand(IsRecover) != 0);
        TestPlantBefore = 0;
        TEST(TestHasText(TestPlanted, "mine"));
        TEST(TestErrorHas("somebody else has put something meanwhile"));
        TEST(TestErrorHas("STATUS_OBJECT_NAME_COLLISION"));
    }

    //
    // Another directory is in the place of the new one, from each file on: all
    // goes to the new one, wherever it is.
    //

    for (Index = 1; Index <= Files; Index += 1) {
        TestRemove(L"new");
        TestRemove(L"moved");
        TestMoveBefore = Index;
        TEST_EQUAL(TestCommand(IsRecover), 0);
        TestMoveBefore = 0;
        TEST_EQUAL(TestMade, Files);
        TEST_EQUAL(TestCountFiles("new\\*"), 0);
        TEST_EQUAL(TestCountFiles("moved\\*"), Files);
    }

    TestRemove(L"new");
    TestRemove(L"moved");
}

//
// Directories below the new one, as those of several processes.
//

static
VOID
TestDirectories(
    VOID
    )
{
    static const PCWSTR Bad[] = {
        L"", L".", L"..", L"a\\b", L"..\\a", L"\\a", L"a:b", L"C:a", L"a/b"
    };
    READER_TARGET Target;
    UNICODE_STRING Name;
    HANDLE File;
    ULONG Index;

    if (!TEST_SUCCESS(SessionOpenTarget(&Target, &TestContext, L"new", 2))) {
        SessionCloseTarget(&Target);
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Bad); Index += 1) {
        RtlPointUnicodeString(&Name,
                              Bad[Index],
                              RtlLengthOfWideString(Bad[Index]));
        TEST_STATUS(SessionMakeTargetDirectory(&Target, 0, &Name),
                    STATUS_OBJECT_NAME_INVALID);
        TEST_STATUS(SessionMakeTargetFile(&Target, READER_NONE, &Name, &File),
                    STATUS_OBJECT_NAME_INVALID);
        TEST_EQUAL(File, NULL);
    }

    //
    // What is not complete does not stay.
    //

    RtlPointUnicodeString(&Name, L"part", 4);
    if (TEST_SUCCESS(SessionMakeTargetFile(&Target, READER_NONE, &Name,
                                           &File))) {
        TEST_EQUAL(TestCountFiles("new\\*"), 1);
        SessionCloseTargetFile(&Target, File, FALSE);
    }
    TEST_EQUAL(TestCountFiles("new\\*"), 0);

    RtlPointUnicodeString(&Name, L"one", 3);
    TEST_STATUS(SessionMakeTargetFile(&Target, 0, &Name, &File),
                STATUS_OBJECT_NAME_INVALID);
    TEST_SUCCESS(SessionMakeTargetDirectory(&Target, 0, &Name));
    TEST_STATUS(SessionMakeTargetDirectory(&Target, 1, &Name),
                STATUS_OBJECT_NAME_COLLISION);
    TEST_STATUS(SessionMakeTargetFile(&Target, READER_NONE, &Name, &File),
                STATUS_OBJECT_NAME_COLLISION);
    TEST(MoveFileA("new\\one", "moved"));
    TEST(CreateDirectoryA("new\\one", NULL));
    RtlPointUnicodeString(&Name, L"file", 4);
    if (TEST_SUCCESS(SessionMakeTargetFile(&Target, 0, &Name, &File))) {
        SessionCloseTargetFile(&Target, File, TRUE);
    }
    TEST_EQUAL(TestCountFiles("moved\\*"), 1);
    TEST_EQUAL(TestCountFiles("new\\one\\*"), 0);
    SessionCloseTarget(&Target);
    SessionCloseTarget(&Target);

    //
    // It must be empty.
    //

    TEST_STATUS(SessionOpenTarget(&Target, &TestContext, L"new", 0),
                STATUS_DIRECTORY_NOT_EMPTY);
    SessionCloseTarget(&Target);
    TestRemove(L"new");
    TestRemove(L"moved");
}

//
// What a copy was given.
//

typedef struct _TEST_PIECES {
    CHAR Bytes[TEST_COPIED];
    ULONG Size;
    ULONG Number;
    ULONG NumberOdd;                    // not of whole records
    BOOLEAN IsInOrder;
} TEST_PIECES;

static
NTSTATUS
TestTakePiece(
    PVOID Target,
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    TEST_PIECES *Pieces = Target;

    if (FileOffset != Pieces->Size ||
        SizeInBytes > sizeof(Pieces->Bytes) - Pieces->Size) {
        Pieces->IsInOrder = FALSE;
        return STATUS_INVALID_PARAMETER;
    }
    RtlCopyBytes(Pieces->Bytes + Pieces->Size, Bytes, SizeInBytes);
    Pieces->Size += SizeInBytes;
    Pieces->Number += 1;
    Pieces->NumberOdd += SizeInBytes % TRACE_RECORD_SIZE != 0;
    return STATUS_SUCCESS;
}

//
// Pieces are of whole records, however few bytes there are at a time, but for
// what is left at the end.
//

static
VOID
TestCopies(
    VOID
    )
{
    static const struct {
        ULONG MostRead;
        ULONG Number;
        ULONG NumberOdd;
    } Cases[] = {
        { 0, 5, 1 },                    // of 256 bytes, and the last
        { 100, 12, 1 },                 // of 96
        { 33, 32, 1 },                  // of 32
        { 7, 144, 144 }                 // control: of no record
    };
    static CHAR Text[TEST_COPIED + 1];
    static TEST_PIECES Pieces;
    CHAR Buffer[256];
    HANDLE File;
    NTSTATUS WriteStatus;
    ULONG Index;

    for (Index = 0; Index < TEST_COPIED; Index += 1) {
        Text[Index] = (CHAR)('A' + Index * Index % 57);
    }
    if (!TEST(TestWriteFile("copied", Text))) {
        return;
    }

    File = CreateFileA("copied", GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    if (!TEST(File != INVALID_HANDLE_VALUE)) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        RtlZeroBytes(&Pieces, sizeof(Pieces));
        Pieces.IsInOrder = TRUE;
        TestMostRead = Cases[Index].MostRead;
        TEST_SUCCESS(SessionCopyPart(&TestContext, File, 0, 2 * TEST_COPIED,
                                     Buffer, sizeof(Buffer), TestTakePiece,
                                     &Pieces, &WriteStatus));
        TestMostRead = 0;
        TEST_SUCCESS(WriteStatus);
        TEST(Pieces.IsInOrder);
        TEST_EQUAL(Pieces.Size, TEST_COPIED);
        TEST(RtlAreBytesEqual(Pieces.Bytes, Text, TEST_COPIED));
        TEST_EQUAL(Pieces.Number, Cases[Index].Number);
        TEST_EQUAL(Pieces.NumberOdd, Cases[Index].NumberOdd);
    }
    CloseHandle(File);
    DeleteFileA("copied");
}

static
BOOLEAN
TestMakeSession(
    VOID
    )
{
    TRACE_SESSION_PARAMETERS Parameters;
    WIN32_FIND_DATAW Data;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE Find;
    RTL_WRITER Writer;
    ULONG Index;

    RtlZeroBytes(&Parameters, sizeof(Parameters));
    Parameters.ModuleBase = GetModuleHandleW(NULL);
    RtlPointUnicodeString(&Parameters.RootDirectory, L"sessions", 8);
    Parameters.ControlSize = TRACE_CONTROL_LEAST;
    if (!TEST_SUCCESS(TraceSessionCreate(TestReal,
                                         &Parameters,
                                         &Session,
                                         &Error))) {
        return FALSE;
    }
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
    RtlSetError(&Error, "a step", NULL, STATUS_UNSUCCESSFUL);
    TraceLogError(Session, &Error, "nothing happens");
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);

    Find = FindFirstFileW(L"sessions\\*", &Data);
    if (!TEST(Find != INVALID_HANDLE_VALUE)) {
        return FALSE;
    }
    while (Data.cFileName[0] == L'.' && FindNextFileW(Find, &Data)) {
    }
    FindClose(Find);
    RtlInitializeBufferWriter(&Writer,
                              TestSessionUtf8,
                              sizeof(TestSessionUtf8) - 1);
    RtlWriteText(&Writer, "sessions\\");
    for (Index = 0; Data.cFileName[Index] != 0; Index += 1) {
        RtlWriteText(&Writer, "%c", Data.cFileName[Index]);
    }
    TestSessionUtf8[Writer.LengthInBytes] = '\0';
    for (Index = 0; TestSessionUtf8[Index] != '\0'; Index += 1) {
        TestSessionPath[Index] = (WCHAR)TestSessionUtf8[Index];
    }
    return TRUE;
}

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    static TEST_PATH Folder;
    WCHAR Before[MAX_PATH];
    PCWSTR Path;
    ULONG Index;

    TestReal = Rtl;
    RtlCopyBytes(&TestRtl, Rtl, sizeof(TestRtl));
    TestRtl.NtCreateFile = TestNtCreateFile;
    TestRtl.NtOpenProcess = (PVOID)TestNtOpenProcess;
    TestRtl.NtReadFile = (PVOID)TestNtReadFile;
    TestContext.Rtl = &TestRtl;
    TestContext.Allocator = Allocator;
    TestContext.Output = &TestOut;
    TestContext.Errors = &TestErr;
    TestContext.NumberOfProcessors = 1;
    if (!TEST(TestCreateDirectory(&Folder))) {
        return;
    }

    Path = TestDosPath(&Folder);
    for (Index = 0; Path[Index] != 0; Index += 1) {
        TestFolder[Index] = Path[Index];
    }
    GetCurrentDirectoryW(RTL_NUMBER_OF(Before), Before);
    if (TEST(SetCurrentDirectoryW(TestFolder)) && TestMakeSession()) {
        TestCommands(TRUE);
        TestCommands(FALSE);
        TestDirectories();
        TestCopies();
    }

    SetCurrentDirectoryW(Before);
    if (TEST(TestMakePath(&Folder, TestFolder))) {
        TEST_SUCCESS(TestDeleteTree(&Folder));
    }
}

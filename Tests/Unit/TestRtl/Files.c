/*++

Module Name:

    Files.c

Abstract:

    Files: contents, names, sections, directories and what is in them.

--*/

#include "TestRtl.h"

//
// RtlFile.c
//

static ULONG TestWritesLeft;

static NT_READ_WRITE_FILE *TestRealWriteFile;

//
// Acts as an NtWriteFile that takes at most three bytes, and none once
// TestWritesLeft is used up.
// Returns as of NtWriteFile.
//

static
NTSTATUS
NTAPI
TestShortWriteFile(
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
    if (TestWritesLeft == 0) {
        IoStatus->Information = 0;
        return STATUS_SUCCESS;
    }

    TestWritesLeft--;

    return TestRealWriteFile(File,
                             Event,
                             ApcRoutine,
                             ApcContext,
                             IoStatus,
                             Buffer,
                             (Length > 3) ? 3 : Length,
                             ByteOffset,
                             Key);
}

//
// Tests reading, writing and sizes.
// Directory: a directory to work in.
//

static
VOID
TestFileContents(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    RTL Mock;
    TEST_PATH Path;
    HANDLE File;
    HANDLE Reader;
    CHAR Buffer[64];
    ULONGLONG Size;
    ULONG Read;
    RTL_WRITER Writer;

    TestMakePathIn(&Path, Directory, L"contents.bin");

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 0);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 10, &Read),
                STATUS_END_OF_FILE);
    TEST_EQUAL(Read, 0);

    TEST_STATUS(RtlWriteFile(Rtl, File, 0, "0123456789", 10), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 4, "abc", 3), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 12, "xy", 2), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 20, "zz", 0), STATUS_SUCCESS);
    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 14);

    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 14, &Read), STATUS_SUCCESS);
    TEST_EQUAL(Read, 14);
    TEST_EQUAL_BYTES(Buffer, "0123abc789\0\0xy", 14);
    TEST_STATUS(RtlReadFile(Rtl, File, 10, Buffer, 60, &Read), STATUS_SUCCESS);
    TEST_EQUAL(Read, 4);
    TEST_STATUS(RtlReadFile(Rtl, File, 14, Buffer, 1, &Read),
                STATUS_END_OF_FILE);
    TEST_STATUS(RtlReadFile(Rtl, File, 1ULL << 40, Buffer, 1, &Read),
                STATUS_END_OF_FILE);

    //
    // Offsets that would be negative, of which -1 and -2 mean something.
    //

    TEST_STATUS(RtlReadFile(Rtl, File, UINT64_MAX, Buffer, 1, &Read),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, UINT64_MAX, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, UINT64_MAX - 1, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, INT64_MAX, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlSetFileSize(Rtl, File, UINT64_MAX),
                STATUS_INVALID_PARAMETER);

    //
    // Longer and shorter.
    //

    TEST_STATUS(RtlSetFileSize(Rtl, File, 5000000000ULL), STATUS_SUCCESS);
    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 5000000000ULL);
    TEST_STATUS(RtlReadFile(Rtl, File, 4999999999ULL, Buffer, 2, &Read),
                STATUS_SUCCESS);
    TEST_EQUAL(Read, 1);
    TEST_EQUAL(Buffer[0], 0);
    TEST_STATUS(RtlSetFileSize(Rtl, File, 3), STATUS_SUCCESS);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer, Read, "012");

    //
    // A file that takes a few bytes at a time, then none.
    //

    Mock = *Rtl;
    Mock.NtWriteFile = TestShortWriteFile;
    TestRealWriteFile = Rtl->NtWriteFile;
    TestWritesLeft = 4;
    TEST_STATUS(RtlWriteFile(&Mock, File, 3, "abcdefghij", 10),
                STATUS_SUCCESS);
    TEST_EQUAL(TestWritesLeft, 0);
    TEST_STATUS(RtlWriteFile(&Mock, File, 3, "x", 1), STATUS_DISK_FULL);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer, Read, "012abcdefghij");

    //
    // Text through a writer whose buffer is smaller, behind what is there.
    //

    RtlInitializeFileWriter(Rtl, File, 13, &Writer, Buffer, 5);
    RtlWriteText(&Writer, "<%s %d>", "a line that is longer", 12345);
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
    TEST_EQUAL(Writer.FileOffset, 13 + 29);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer,
                    Read,
                    "012abcdefghij<a line that is longer 12345>");

    //
    // A handle for reading does not write.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Reader),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlReadFile(Rtl, Reader, 3, Buffer, 3, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "abc");
        TEST_STATUS(RtlWriteFile(Rtl, Reader, 0, "x", 1),
                    STATUS_ACCESS_DENIED);
        RtlInitializeFileWriter(Rtl, Reader, 0, &Writer, Buffer, 5);
        RtlWriteText(&Writer, "x");
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_ACCESS_DENIED);
        TEST_EQUAL(Writer.FileOffset, 0);
        RtlClose(Rtl, Reader);
    }

    RtlClose(Rtl, File);
    RtlClose(Rtl, NULL);

    TEST(!NT_SUCCESS(RtlQueryFileSize(Rtl, (HANDLE)(ULONG_PTR)0xABCC, &Size)));
}

//
// Tests creating, opening and sharing.
// Directory: a directory to work in.
//

static
VOID
TestFileNames(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    TEST_PATH Other;
    HANDLE File;
    HANDLE Second;
    ULONGLONG Size = 99;
    CHAR Buffer[8];
    ULONG Read;

    TestMakePathIn(&Path, Directory, L"names.bin");

    Second = (HANDLE)(ULONG_PTR)0x77;
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                STATUS_OBJECT_NAME_NOT_FOUND);
    TEST_EQUAL(Second, 0x77);

    TestMakePathIn(&Other, Directory, L"none\\names.bin");
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Other.Nt, &Second),
                STATUS_OBJECT_PATH_NOT_FOUND);
    TEST_STATUS(RtlCreateFile(Rtl, &Other.Nt, RTL_CREATE_NEW, &Second),
                STATUS_OBJECT_PATH_NOT_FOUND);
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Directory->Nt, &Second),
                STATUS_FILE_IS_A_DIRECTORY);

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlWriteFile(Rtl, File, 0, "12345", 5), STATUS_SUCCESS);

    //
    // One writer, readers as many as like.
    //

    TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &Second),
                STATUS_OBJECT_NAME_COLLISION);
    TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &Second),
                STATUS_SHARING_VIOLATION);
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, Second);
    }
    RtlClose(Rtl, File);

    //
    // A reader keeps no writer out.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                    STATUS_SUCCESS)) {
        if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &File),
                        STATUS_SUCCESS)) {
            TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
            TEST_EQUAL(Size, 5);
            RtlClose(Rtl, File);
        }
        RtlClose(Rtl, Second);
    }

    //
    // The name's case does not matter.
    //

    TestMakePathIn(&Other, Directory, L"NAMES.Bin");
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Other.Nt, &Second),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, Second);
    }

    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_ALWAYS, &File),
                    STATUS_SUCCESS)) {

        TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
        TEST_EQUAL(Size, 0);

        //
        // Deleted while it is open: the handle goes on to work.
        //

        TEST(DeleteFileW(TestDosPath(&Path)));
        TEST_STATUS(RtlWriteFile(Rtl, File, 0, "abc", 3), STATUS_SUCCESS);
        TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 8, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL(Read, 3);
        RtlClose(Rtl, File);
    }

    TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                STATUS_OBJECT_NAME_NOT_FOUND);

    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &File),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
    }
}

//
// Tests sections and views.
// Directory: a directory to work in.
//

static
VOID
TestSections(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    HANDLE File;
    HANDLE Reader;
    HANDLE Section;
    HANDLE ReadSection;
    PBYTE View;
    PBYTE Fixed;
    PVOID Other;
    CHAR Buffer[8];
    ULONGLONG Size;
    ULONG Read;

    TestMakePathIn(&Path, Directory, L"section.bin");

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlCreateFileSection(Rtl, File, 0, FALSE, &Section),
                STATUS_MAPPED_FILE_SIZE_ZERO);
    TEST_STATUS(RtlCreateFileSection(Rtl, File, UINT64_MAX, TRUE, &Section),
                STATUS_INVALID_PARAMETER);

    //
    // A section extends the file; a view shows in it, and the other way.
    //

    if (!TEST_STATUS(RtlCreateFileSection(Rtl, File, 0x30000, TRUE, &Section),
                     STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
        return;
    }

    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 0x30000);

    if (TEST_STATUS(RtlMapFileSection(Rtl,
                                      Section,
                                      0x10000,
                                      0x10000,
                                      TRUE,
                                      NULL,
                                      (PVOID *)&View),
                    STATUS_SUCCESS)) {

        TEST_EQUAL((ULONG_PTR)View % 0x10000, 0);
        TEST_EQUAL(View[0xFFFF], 0);
        RtlCopyBytes(View + 0x20, "view", 4);
        TEST_STATUS(RtlReadFile(Rtl, File, 0x10020, Buffer, 4, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "view");
        TEST_STATUS(RtlWriteFile(Rtl, File, 0x10030, "file", 4),
                    STATUS_SUCCESS);
        TEST_EQUAL_BYTES(View + 0x30, "file", 4);

        //
        // Where something is, there is no room; where it was, there is.
        //

        Fixed = NULL;
        TEST_STATUS(RtlMapFileSection(Rtl,
                                      Section,
                                      0,
                                      0x10000,
                                      TRUE,
                                      View,
                                      (PVOID *)&Fixed),
                    STATUS_CONFLICTING_ADDRESSES);
        TEST(Fixed == NULL);

        RtlUnmapFileSection(Rtl, View);

        if (TEST_STATUS(RtlMapFileSection(Rtl,
                                          Section,
                                          0x20000,
                                          0,
                                          TRUE,
                                          View,
                                          (PVOID *)&Fixed),
                        STATUS_SUCCESS)) {
            TEST(Fixed == View);
            Fixed[0xFFFF] = 1;
            RtlUnmapFileSection(Rtl, Fixed);
        }
    }

    TEST_STATUS(RtlMapFileSection(Rtl,
                                  Section,
                                  0x1000,
                                  0x1000,
                                  TRUE,
                                  NULL,
                                  &Other),
                STATUS_MAPPED_ALIGNMENT);
    TEST_STATUS(RtlMapFileSection(Rtl,
                                  Section,
                                  0,
                                  0x1000,
                                  TRUE,
                                  (PVOID)(ULONG_PTR)0x12341000,
                                  &Other),
                STATUS_MAPPED_ALIGNMENT);
    TEST(!NT_SUCCESS(RtlMapFileSection(Rtl,
                                       Section,
                                       0x40000,
                                       0x10000,
                                       TRUE,
                                       NULL,
                                       &Other)));

    //
    // A reader of its own, as TraceReader is one.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Reader),
                    STATUS_SUCCESS)) {

        TEST(!NT_SUCCESS(RtlCreateFileSection(Rtl,
                                              Reader,
                                              0,
                                              TRUE,
                                              &ReadSection)));

        if (TEST_STATUS(RtlCreateFileSection(Rtl,
                                             Reader,
                                             0,
                                             FALSE,
                                             &ReadSection),
                        STATUS_SUCCESS)) {

            TEST(!NT_SUCCESS(RtlMapFileSection(Rtl,
                                               ReadSection,
                                               0,
                                               0,
                                               TRUE,
                                               NULL,
                                               &Other)));

            if (TEST_STATUS(RtlMapFileSection(Rtl,
                                              ReadSection,
                                              0,
                                              0,
                                              FALSE,
                                              NULL,
                                              (PVOID *)&View),
                            STATUS_SUCCESS)) {
                TEST_EQUAL_BYTES(View + 0x10020, "view", 4);
                TEST_EQUAL_BYTES(View + 0x10030, "file", 4);
                TEST_EQUAL(View[0x2FFFF], 1);
                RtlUnmapFileSection(Rtl, View);
            }
            RtlClose(Rtl, ReadSection);
        }
        RtlClose(Rtl, Reader);
    }

    RtlUnmapFileSection(Rtl, NULL);
    RtlClose(Rtl, Section);
    RtlClose(Rtl, File);
}

#define TEST_MANY_FILES 300

typedef struct _TEST_ENUMERATION {
    ULONG NumberOfFiles;
    ULONG NumberOfDirectories;
    ULONG NumberOfOthers;
    ULONG StopAfter;
    ULONGLONG TotalSize;
    BYTE Seen[TEST_MANY_FILES];
} TEST_ENUMERATION;
typedef TEST_ENUMERATION *PTEST_ENUMERATION;

//
// Notes an entry of a directory. The files are named nnn and a long tail.
// IsDirectory: TRUE for a directory.
// Returns STATUS_SUCCESS, or STATUS_CANCELLED when it is time to stop.
//

static
NTSTATUS
TestEntry(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PTEST_ENUMERATION Enumeration = (PTEST_ENUMERATION)Context;
    ULONGLONG Number;

    if (IsDirectory) {
        Enumeration->NumberOfDirectories++;
    } else if (Name->Length >= 6 &&
               RtlParseNumber(Name->Buffer, 3, &Number) &&
               Number < TEST_MANY_FILES) {
        Enumeration->NumberOfFiles++;
        Enumeration->Seen[Number]++;
        Enumeration->TotalSize += SizeInBytes;
    } else {
        Enumeration->NumberOfOthers++;
    }

    if (Enumeration->StopAfter != 0) {
        Enumeration->StopAfter--;
        if (Enumeration->StopAfter == 0) {
            return STATUS_CANCELLED;
        }
    }

    return STATUS_SUCCESS;
}

//
// Acts as an NtQueryDirectoryFile whose entry does not fit.
// As of NtQueryDirectoryFile.
// Returns STATUS_BUFFER_OVERFLOW.
//

static
NTSTATUS
NTAPI
TestOverflowDirectory(
    HANDLE File,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Information,
    ULONG Length,
    ULONG InformationClass,
    BOOLEAN ReturnSingleEntry,
    PUNICODE_STRING FileName,
    BOOLEAN RestartScan
    )
{
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(Information);
    UNREFERENCED_PARAMETER(Length);
    UNREFERENCED_PARAMETER(InformationClass);
    UNREFERENCED_PARAMETER(ReturnSingleEntry);
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(RestartScan);

    return STATUS_BUFFER_OVERFLOW;
}

//
// Tests enumerating a directory of many files with long names.
// Directory: a directory to work in.
//

static
VOID
TestEnumerations(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    RTL Mock;
    TEST_PATH Many;
    TEST_PATH Path;
    TEST_ENUMERATION Enumeration;
    HANDLE File;
    WCHAR Name[200];
    ULONG Index;
    ULONG Length;
    ULONG NumberSeenOnce = 0;

    TestMakePathIn(&Many, Directory, L"many");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Many.Nt), STATUS_SUCCESS);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfFiles, 0);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 0);
    TEST_EQUAL(Enumeration.NumberOfOthers, 0);

    for (Index = 0; Index < TEST_MANY_FILES; Index++) {

        Name[0] = (WCHAR)(L'0' + Index / 100);
        Name[1] = (WCHAR)(L'0' + Index / 10 % 10);
        Name[2] = (WCHAR)(L'0' + Index % 10);
        for (Length = 3; Length < 3 + Index % 100; Length++) {
            Name[Length] = 0x00E4;
        }
        Name[Length] = L'\0';

        TestMakePathIn(&Path, &Many, Name);
        if (!NT_SUCCESS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File))) {
            TEST_EQUAL(Index, TEST_MANY_FILES);
            break;
        }
        if (!NT_SUCCESS(RtlSetFileSize(Rtl, File, Index))) {
            TEST_EQUAL(Index, TEST_MANY_FILES);
        }
        RtlClose(Rtl, File);
    }

    TestMakePathIn(&Path, &Many, L"inner");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfFiles, TEST_MANY_FILES);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 1);
    TEST_EQUAL(Enumeration.NumberOfOthers, 0);
    TEST_EQUAL(Enumeration.TotalSize, 299 * 300 / 2);
    for (Index = 0; Index < TEST_MANY_FILES; Index++) {
        if (Enumeration.Seen[Index] == 1) {
            NumberSeenOnce++;
        }
    }
    TEST_EQUAL(NumberSeenOnce, TEST_MANY_FILES);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    Enumeration.StopAfter = 3;
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_CANCELLED);
    TEST_EQUAL(Enumeration.NumberOfFiles + Enumeration.NumberOfDirectories, 3);

    TestMakePathIn(&Path, &Many, L"000");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_NOT_A_DIRECTORY);
    TestMakePathIn(&Path, &Many, L"none");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_OBJECT_NAME_NOT_FOUND);

    Mock = *Rtl;
    Mock.NtQueryDirectoryFile = TestOverflowDirectory;
    TEST_STATUS(RtlEnumerateDirectory(&Mock,
                                      &Many.Nt,
                                      TestEntry,
                                      &Enumeration),
                STATUS_BUFFER_OVERFLOW);
}

//
// Tests creating directories: missing parents, long and foreign names, and
// what stands in the way.
// Directory: a directory to work in.
//

static
VOID
TestDirectories(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    TEST_PATH Deep;
    TEST_ENUMERATION Enumeration;
    HANDLE File;
    CHAR Buffer[8];
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    //
    // Ten levels of 48 units each, none of which is there.  The volume in the
    // middle of the tests is the one of temporary files.
    //

    TestMakePathIn(&Deep, Directory, L"deep");
    for (Index = 0; Index < 10; Index++) {
        TestMakePathIn(&Deep,
                       &Deep,
                       L"\x00E4\x4E8C\xD83D\xDE00-a-name-of-fortyeight-units-"
                       L"which-is-long-on-its");
    }
    TEST(Deep.Nt.Length > 2 * MAX_PATH);

    TEST_STATUS(RtlCreateDirectory(Rtl, &Deep.Nt), STATUS_SUCCESS);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Deep.Nt), STATUS_SUCCESS);

    TestMakePathIn(&Path, &Deep, L"\x0444.trace");
    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlWriteFile(Rtl, File, 0, "deep", 4), STATUS_SUCCESS);
        RtlClose(Rtl, File);
    }

    //
    // The same file by its DOS path, which is longer than MAX_PATH.
    //

    RtlCopyBytes(Deep.Buffer,
                 TestDosPath(&Path),
                 Path.Nt.Length + sizeof(WCHAR) - 4 * sizeof(WCHAR));
    RtlZeroBytes(Path.Buffer, 64);
    TestMakePath(&Path, Deep.Buffer);
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &File),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 8, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "deep");
        RtlClose(Rtl, File);
    }

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TestMakePathIn(&Path, Directory, L"deep");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 1);
    TEST_EQUAL(Enumeration.NumberOfFiles + Enumeration.NumberOfOthers, 0);

    //
    // Backslashes at the end; one level; a volume's root.
    //

    TestMakePathIn(&Path, Directory, L"ends\\with\\");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    Path = *Directory;
    Path.Nt.Buffer = Path.Buffer;
    Path.Nt.Length = 7 * sizeof(WCHAR);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    //
    // A file where a directory should be, at the end and in the middle.
    //

    TestMakePathIn(&Path, Directory, L"file");
    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
    }
    Status = RtlCreateDirectory(Rtl, &Path.Nt);
    TEST(Status == STATUS_NOT_A_DIRECTORY ||
         Status == STATUS_OBJECT_NAME_COLLISION);
    TestMakePathIn(&Path, Directory, L"file\\below\\it");
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));

    //
    // A volume that is not there.
    //

    TestMakePath(&Path, L"Q:\\a\\b\\c");
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
    RtlPointUnicodeString(&Path.Nt, L"not a path", 10);
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
    RtlPointUnicodeString(&Path.Nt, L"", 0);
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
}

//
// What RtlCreateDirectory asks NtCreateFile for, in order, where nothing but
// the first TestRootLength units of a path is there.
//

static WCHAR TestAsked[2048];
static ULONG TestAskedLength;
static ULONG TestThereLength;

//
// Acts as NtCreateFile on a volume of its own: a directory can be created
// below one that is there.
// As of NtCreateFile.
// Returns STATUS_SUCCESS or STATUS_OBJECT_PATH_NOT_FOUND.
//

static
NTSTATUS
NTAPI
TestCreateFileThere(
    PHANDLE FileHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    PUNICODE_STRING Name = ObjectAttributes->ObjectName;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Index;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(CreateDisposition);
    UNREFERENCED_PARAMETER(CreateOptions);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    RtlCopyBytes(TestAsked + TestAskedLength, Name->Buffer, Name->Length);
    TestAskedLength += Length;
    TestAsked[TestAskedLength] = L'|';
    TestAskedLength++;

    for (Index = TestThereLength + 1; Index < Length; Index++) {
        if (Name->Buffer[Index] == L'\\') {
            return STATUS_OBJECT_PATH_NOT_FOUND;
        }
    }

    if (TestThereLength == 0) {
        return STATUS_OBJECT_PATH_NOT_FOUND;
    }

    if (Length > TestThereLength) {
        TestThereLength = Length;
    }

    *FileHandle = NULL;
    return STATUS_SUCCESS;
}

//
// Creates a directory on the volume of TestCreateFileThere.
// ThereLength: how many units of it are there.
// ExpectedCalls: the expected names, each with | behind it.
//

static
VOID
TestDirectoryWalk(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR NtPath,
    _In_ ULONG ThereLength,
    _In_ NTSTATUS ExpectedStatus,
    _In_z_ PCWSTR ExpectedCalls
    )
{
    RTL Mock;
    UNICODE_STRING Path;

    Mock = *Rtl;
    Mock.NtCreateFile = TestCreateFileThere;
    TestAskedLength = 0;
    TestThereLength = ThereLength;

    RtlPointUnicodeString(&Path, NtPath, RtlLengthOfWideString(NtPath));
    TEST_STATUS(RtlCreateDirectory(&Mock, &Path), ExpectedStatus);
    TEST_EQUAL_WIDE(TestAsked, TestAskedLength, ExpectedCalls);
}

//
// Tests which directories are tried, and that no root of a volume is.
//

static
VOID
TestDirectoryWalks(
    _In_ PCRTL Rtl
    )
{
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c",
                      8,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|\\??\\C:\\a\\b|\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c",
                      10,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c\\\\",
                      6,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|\\??\\C:\\a\\b|\\??\\C:\\a|"
                      L"\\??\\C:\\a\\b|\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\C:\\a\\b|\\??\\C:\\a|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\C:\\|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\UNC\\s\\t\\a\\b",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\UNC\\s\\t\\a\\b|\\??\\UNC\\s\\t\\a|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\unc\\s\\t\\a\\b",
                      11,
                      STATUS_SUCCESS,
                      L"\\??\\unc\\s\\t\\a\\b|\\??\\unc\\s\\t\\a|"
                      L"\\??\\unc\\s\\t\\a\\b|");
}

//
// Tests files, sections and directories.
//

_Use_decl_annotations_
VOID
TestFiles(
    PCRTL Rtl
    )
{
    static TEST_PATH Directory;

    HANDLE File;

    TestDirectoryWalks(Rtl);

    if (!TEST(TestCreateDirectory(&Directory))) {
        return;
    }

    TestFileContents(Rtl, &Directory);
    TestFileNames(Rtl, &Directory);
    TestSections(Rtl, &Directory);
    TestEnumerations(Rtl, &Directory);
    TestDirectories(Rtl, &Directory);

    TEST_STATUS(TestDeleteTree(&Directory), STATUS_SUCCESS);
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Directory.Nt, &File),
                STATUS_OBJECT_NAME_NOT_FOUND);
}

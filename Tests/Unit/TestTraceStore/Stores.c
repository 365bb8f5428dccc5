/*++

Module Name:

    Stores.c

Abstract:

    A store from its beginning to its end: the fields of its header, its clock
    anchors, the names of the files, and the sizes of its views.

--*/

#include "TestTraceStore.h"

//
// A session and its first store: names, states, files.
//

VOID
TestLifeOfAStore(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE File;
    ULONG Sequence;
    PCWSTR Path;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }

    //
    // Nothing is touched before there is something to record.
    //

    TEST_EQUAL(GetFileAttributesW(TestDosPath(&TestRoot)),
               INVALID_FILE_ATTRIBUTES);
    TEST_EQUAL(TestOpenHandles, 0);

    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }
    TEST_EQUAL(TestListFiles(Session, L"*"), 3);        // . .. and the store
    TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1);
    TEST_EQUAL(Store->Header->State, TRACE_STATE_OPEN);
    TEST_EQUAL(Store->Header->Reason, TRACE_REASON_NONE);
    TEST_EQUAL(TestAppendMany(Store, 0, 10), 10);
    Sequence = Store->Header->SequenceNumber;

    //
    // While it is open: a reader that shares writing gets in and sees all; one
    // that does not share it, and one that wants to write, do not.
    //

    TestListFiles(Session, L"*.trace");
    Path = TestSessionPath(Session, TestFileNames[0]);
    TEST(TestReadStore(Path, &TestContent));
    TestCheckContent(10, TRACE_STATE_OPEN, TRACE_REASON_NONE);
    TEST_EQUAL(TestContent.FileSize, 0x10000);

    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    TEST(File == INVALID_HANDLE_VALUE);
    File = CreateFileW(Path,
                       GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    TEST(File == INVALID_HANDLE_VALUE);

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(10, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + 160);
    TEST_EQUAL(TestContent.Header.NumberOfEventsLost, 0);
    TEST_EQUAL(TestContent.Header.NumberOfViewChanges, 0);
    TEST(TestIsAnchorValid(&TestContent.Header.LastAnchor));

    //
    // Closing once more does nothing; the memory is used again.
    //

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestOpenHandles, 1);                     // the directory
    TEST_EQUAL(TestCountLiveViews(), 0);

    //
    // A store without a record.
    //

    if (TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TEST_EQUAL(Store->Header->SequenceNumber, Sequence + 1);
        TraceStoreClose(Store, TRACE_REASON_MODULE_UNLOAD);
        TEST(TestReadSessionStore(Session, Sequence + 1, &TestContent));
        TestCheckContent(0, TRACE_STATE_CLOSED, TRACE_REASON_MODULE_UNLOAD);
        TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE);
    }

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// Finds this program's CodeView entry in the bytes of its file.
//

static
const UCHAR *
TestFindCodeView(
    const UCHAR *Bytes,
    ULONG SizeInBytes
    )
{
    ULONG Index;
    ULONG End;

    for (Index = 0; Index + 32 < SizeInBytes; Index += 1) {
        if (Bytes[Index] == 'R' && Bytes[Index + 1] == 'S' &&
            Bytes[Index + 2] == 'D' && Bytes[Index + 3] == 'S') {

            End = Index + 24;
            while (End < SizeInBytes && Bytes[End] >= ' ') {
                End += 1;
            }
            if (End > Index + 28 && Bytes[End] == 0 &&
                RtlAreBytesEqual(Bytes + End - 4, ".pdb", 4)) {

                return Bytes + Index;
            }
        }
    }
    return NULL;
}

VOID
TestHeaderFields(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    RTL_CLOCK_READING Times[4];
    FILETIME Created, Exited, Kernel, User;
    ULONGLONG CreationTime;
    MEMORY_BASIC_INFORMATION Memory;
    ULONG_PTR Address;
    ULONG_PTR Low;
    ULONG_PTR High;
    HANDLE File;
    HANDLE Mapping;
    const UCHAR *Bytes;
    const UCHAR *Entry;
    ULONG Size;
    ULONG NtHeaders;
    HRESULT (WINAPI *SetName)(HANDLE, PCWSTR);
    PTRACE_STORE_HEADER Header;

    SetName = (PVOID)GetProcAddress(GetModuleHandleW(L"kernel32.dll"),
                                    "SetThreadDescription");
    if (SetName != NULL) {
        SetName(GetCurrentThread(), L"M\x00fchle \xd83d\xde00");
    } else {
        TEST_SKIP("this system has no SetThreadDescription");
    }

    TestNextRoot();
    TestReadClocks(&Times[0]);
    if (!TEST_SUCCESS(TestCreateSession(TestReal,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }
    TestReadClocks(&Times[1]);
    TestAppendMany(Store, 0, 3);
    Size = Store->Header->SequenceNumber;
    TestReadClocks(&Times[2]);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestReadClocks(&Times[3]);
    TEST(TestReadSessionStore(Session, Size, &TestContent));
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);

    Header = &TestContent.Header;
    TEST_EQUAL(Header->MajorVersion, 1);
    TEST_EQUAL(Header->MinorVersion, 6);
    TEST_EQUAL(Header->HeaderSize, 4096);
    TEST_EQUAL(Header->RecordSize, 16);
    TEST_EQUAL(Header->Flags & TRACE_FLAG_TSC_INVARIANT,
               TestReal->CpuFeatures.InvariantTsc);

    //
    // The process and the thread.
    //

    TEST_EQUAL(Header->ProcessId, GetCurrentProcessId());
    TEST_EQUAL(Header->ThreadId, GetCurrentThreadId());
    TEST(GetProcessTimes(GetCurrentProcess(),
                         &Created,
                         &Exited,
                         &Kernel,
                         &User));
    CreationTime = ((ULONGLONG)Created.dwHighDateTime << 32) |
                   Created.dwLowDateTime;
    TEST_EQUAL(Header->ProcessCreationTime, CreationTime);

    Address = (ULONG_PTR)&Session;
    TEST(Header->StackLimit < Address && Address < Header->StackBase);
    VirtualQuery((PVOID)Address, &Memory, sizeof(Memory));
    TEST_EQUAL(Header->StackLimit, (ULONG_PTR)Memory.AllocationBase);
    TEST_EQUAL(Header->StackBase,
               (ULONG_PTR)Memory.BaseAddress + Memory.RegionSize);

    TestCheckHeaderText(GetCommandLineW(),
                        Header->CommandLine,
                        Header->CommandLineLength,
                        Header->CommandLineFullLength,
                        sizeof(Header->CommandLine));
    GetModuleFileNameW(NULL, TestText, RTL_NUMBER_OF(TestText));
    TestCheckHeaderText(TestText,
                        Header->ModulePath,
                        Header->ModulePathLength,
                        Header->ModulePathFullLength,
                        sizeof(Header->ModulePath));
    TestCheckHeaderText(TestText,
                        Header->ProcessPath,
                        Header->ProcessPathLength,
                        Header->ProcessPathFullLength,
                        sizeof(Header->ProcessPath));
    if (SetName != NULL) {
        if (Header->ThreadNameLength == 0) {
            TEST_SKIP("this system keeps no thread names");
        } else {
            TEST_EQUAL_TEXT(Header->ThreadName,
                            Header->ThreadNameLength,
                            "M\xc3\xbchle \xf0\x9f\x98\x80");
            TEST_EQUAL(Header->ThreadNameFullLength, 11);
        }
    }

    //
    // The module: its size is what the system mapped, the rest is in the
    // bytes of the file.
    //

    Low = (ULONG_PTR)GetModuleHandleW(NULL);
    TEST_EQUAL(Header->ModuleBase, Low);
    High = Low;
    while (VirtualQuery((PVOID)High, &Memory, sizeof(Memory)) != 0 &&
           (ULONG_PTR)Memory.AllocationBase == Low) {

        High = (ULONG_PTR)Memory.BaseAddress + Memory.RegionSize;
    }
    TEST_EQUAL(Header->ModuleSize, High - Low);

    File = CreateFileW(TestText,
                       GENERIC_READ,
                       FILE_SHARE_READ,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    Size = GetFileSize(File, NULL);
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    Bytes = (const UCHAR *)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
    if (TEST(Bytes != NULL)) {
        NtHeaders = *(const ULONG *)(Bytes + 0x3c);
        TEST_EQUAL(Header->ModuleTimeDateStamp,
                   *(const ULONG *)(Bytes + NtHeaders + 8));
        TEST_EQUAL(Header->ModuleCheckSum,
                   *(const ULONG *)(Bytes + NtHeaders + 24 + 64));
        Entry = TestFindCodeView(Bytes, Size);
        if (TEST(Entry != NULL)) {
            TEST_EQUAL_BYTES(Header->CodeViewGuid, Entry + 4, 16);
            TEST_EQUAL(Header->CodeViewAge, *(const ULONG *)(Entry + 20));
            TEST_EQUAL_TEXT(Header->PdbPath,
                            Header->PdbPathLength,
                            (PCSZ)(Entry + 24));
            TEST_EQUAL(Header->PdbPathFullLength, Header->PdbPathLength);
        }
        UnmapViewOfFile(Bytes);
    }
    CloseHandle(Mapping);
    CloseHandle(File);

    //
    // The clocks.
    //

    TEST_EQUAL(Header->QpcFrequency, Times[0].QpcFrequency);
    TestCheckAnchor(&Header->OpenAnchor, &Times[0], &Times[1]);
    TestCheckAnchor(&Header->LastAnchor, &Times[2], &Times[3]);
    TEST(Header->OpenAnchor.Tsc < Header->LastAnchor.Tsc);

    if (SetName != NULL) {
        SetName(GetCurrentThread(), L"");
    }
}

//
// An anchor that is half written must not look valid, whatever it held before.
//

VOID
TestAnchors(
    VOID
    )
{
    TRACE_CLOCK_ANCHOR Anchor;
    RTL_CLOCK_READING Reading;

    RtlZeroBytes(&Anchor, sizeof(Anchor));
    Reading.Tsc = 0x1111222233334444;
    Reading.Qpc = 0x5555;
    Reading.SystemTime = 0x01d9000000000000;
    TraceStopSetAnchor(&Anchor, &Reading);
    TEST(TestIsAnchorValid(&Anchor));
    TEST_EQUAL(Anchor.Tsc, 0x1111222233334444);
    TEST_EQUAL(Anchor.Qpc, 0x5555);
    TEST_EQUAL(Anchor.SystemTime, 0x01d9000000000000);

    Anchor.Qpc += 1;
    TEST(!TestIsAnchorValid(&Anchor));
    TraceStopSetAnchor(&Anchor, &Reading);
    TEST(TestIsAnchorValid(&Anchor));
}

//
// The session directory is <exe>-<pid>-<creation time, UTC>, the file
// <module>-<tid>-<sequence>.trace.
//

VOID
TestNames(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_SESSION Second;
    PTRACE_STORE Stores[3];
    RTL_ERROR Error;
    RTL_WRITER Writer;
    FILETIME Created, Exited, Kernel, User;
    SYSTEMTIME Time;
    UNICODE_STRING Base;
    HANDLE File;
    ULONG Sequence;
    ULONG Index;
    ULONG Length;
    CHAR Expected[300];
    WCHAR Wide[300];

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Session,
                                        &Error)) ||
        !TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        FALSE,
                                        &Second,
                                        &Error))) {
        return;
    }

    GetProcessTimes(GetCurrentProcess(), &Created, &Exited, &Kernel, &User);
    FileTimeToSystemTime(&Created, &Time);
    RtlInitializeBufferWriter(&Writer, Expected, sizeof(Expected));
    RtlWriteText(&Writer,
                 "TestTraceStore.exe-%u-%04u%02u%02u-%02u%02u%02u-%03u",
                 GetCurrentProcessId(),
                 Time.wYear,
                 Time.wMonth,
                 Time.wDay,
                 Time.wHour,
                 Time.wMinute,
                 Time.wSecond,
                 Time.wMilliseconds);
    RtlUtf8ToWide(Expected, Writer.LengthInBytes, Wide, 299, &Length);
    Wide[Length] = L'\0';
    RtlBaseName(&Session->Directory, &Base);
    TEST_EQUAL_WIDE(Base.Buffer, Base.Length / sizeof(WCHAR), Wide);

    //
    // Two module instances arrive at the same directory and keep out of each
    // other's files, even with the same numbers to begin with.
    //

    TEST_EQUAL(Session->Directory.Length, Second->Directory.Length);
    TEST_EQUAL_BYTES(Session->Directory.Buffer,
                     Second->Directory.Buffer,
                     Session->Directory.Length);

    Session->NextSequenceNumber = 500;
    Second->NextSequenceNumber = 500;
    Stores[0] = NULL;
    Stores[1] = NULL;
    Stores[2] = NULL;
    TEST_SUCCESS(TraceStoreOpen(Session, &Stores[0], &Error));
    TEST_SUCCESS(TraceStoreOpen(Second, &Stores[1], &Error));
    if (Stores[0] == NULL || Stores[1] == NULL) {
        goto End;
    }
    TEST_EQUAL(Stores[0]->Header->SequenceNumber, 500);
    TEST_EQUAL(Stores[1]->Header->SequenceNumber, 501);

    //
    // Files with the next three names are there already and stay as they are.
    //

    for (Sequence = 501; Sequence < 505; Sequence += 1) {
        RtlInitializeBufferWriter(&Writer, Expected, sizeof(Expected));
        RtlWriteText(&Writer,
                     "TestTraceStore.exe-%u-%u.trace",
                     GetCurrentThreadId(),
                     Sequence);
        RtlUtf8ToWide(Expected, Writer.LengthInBytes, Wide, 299, &Length);
        Wide[Length] = L'\0';
        File = CreateFileW(TestSessionPath(Session, Wide),
                           GENERIC_WRITE,
                           0,
                           NULL,
                           CREATE_NEW,
                           0,
                           NULL);

        //
        // 501 is the second session's.
        //

        TEST_EQUAL(File == INVALID_HANDLE_VALUE, Sequence == 501);
        if (File != INVALID_HANDLE_VALUE) {
            CloseHandle(File);
        }
    }
    TEST_SUCCESS(TraceStoreOpen(Session, &Stores[2], &Error));
    if (Stores[2] != NULL) {
        TEST_EQUAL(Stores[2]->Header->SequenceNumber, 505);
    }
    TEST_EQUAL(TestListFiles(Session, L"*.trace"), 6);

    for (Index = 0; Index < 3; Index += 1) {
        TestAppendMany(Stores[Index], 0, 100 + Index);
    }

End:

    TraceSessionDestroy(Second, TRACE_REASON_MODULE_UNLOAD);
    TEST(TestReadSessionStore(Session, 501, &TestContent));
    TestCheckContent(101, TRACE_STATE_CLOSED, TRACE_REASON_MODULE_UNLOAD);
    TEST(TestReadSessionStore(Session, 500, &TestContent));
    TestCheckContent(100, TRACE_STATE_OPEN, TRACE_REASON_NONE);

    //
    // The directory's name is in memory that the session frees.
    //

    TestSessionPath(Session, L"*.trace");
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();

    //
    // When every name is taken, the search ends.
    //

    TestNextRoot();
    TestResetCounters();
    if (TEST_SUCCESS(TestCreateSession(&TestCounting,
                                       0,
                                       FALSE,
                                       &Session,
                                       &Error))) {

        TEST_SUCCESS(TraceDirectoryOpenSession(Session, &File, &Error));
        TestFault.Routine = TestRoutineNtCreateFile;
        TestFault.Status = STATUS_OBJECT_NAME_COLLISION;
        TestFault.Call = TestCalls[TestRoutineNtCreateFile] + 1;
        TestFault.Sticky = TRUE;
        TEST_STATUS(TraceStoreOpen(Session, &Stores[0], &Error),
                    STATUS_OBJECT_NAME_COLLISION);
        TEST(TestFault.Fired >= 100 && TestFault.Fired <= 10000);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// Views: sizes, offsets and addresses, without a worker.
//

VOID
TestViewSizes(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Records;
    ULONG Sequence;
    LONG Index;
    ULONGLONG Expected;
    ULONGLONG Offset;

    static const ULONGLONG Sizes[] = {
        0x10000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000,
        0x400000, 0x400000, 0x400000
    };

    TEST_EQUAL(TraceAdvanceNextSize(0x10000, 0x10000, 0), 0x10000);
    TEST_EQUAL(TraceAdvanceNextSize(0x20000, 0x10000, UINT64_MAX), 0x10000);
    TEST_EQUAL(TraceAdvanceNextSize(0x80000, 0x2000000, UINT64_MAX), 0x80000);
    TEST_EQUAL(TraceAdvanceNextSize(0x4000000, 0x2000000, UINT64_MAX),
               0x2000000);

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0x400000,
                                        FALSE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }

    //
    // To the last record of the ninth view, and one into the tenth.
    //

    Expected = 0;
    for (Index = 0; Index < 9; Index += 1) {
        Expected += Sizes[Index];
    }
    Records = (ULONG)TEST_RECORDS_IN(Expected);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 8);
    TEST_EQUAL(TestNumberOfViews, 9);
    TEST_EQUAL(Store->Header->Generation, 16);
    TEST_EQUAL(TestCountLiveViews(), 2);
    TEST(TestAppend(Store, Records));
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 9);
    TEST_EQUAL(Store->Header->ViewFileOffset, Expected);
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 9);
    TEST_EQUAL(TestCountLiveViews(), 2);
    TEST(TestIsAnchorValid(&Store->Header->LastAnchor));
    TEST(Store->Header->InlineTicks >= Store->Header->MaximumInlineTicks);
    TEST(Store->Header->MaximumInlineTicks > 0);

    Offset = 0;
    for (Index = 0;
         Index < TestNumberOfViews && Index < (LONG)RTL_NUMBER_OF(Sizes);
         Index += 1) {

        TEST_EQUAL(TestViews[Index].FileOffset, Offset);
        TEST_EQUAL(TestViews[Index].SizeInBytes, Sizes[Index]);
        if (Sizes[Index] >= 0x200000) {
            TEST_EQUAL(Offset % Sizes[Index], 0);
            TEST_EQUAL((ULONG_PTR)TestViews[Index].Base % 0x200000,
                       Offset % 0x200000);
        }
        Offset += Sizes[Index];
    }

    //
    // The limit never passes what has been prepared.
    //

    TEST(Store->Header->Limit <=
         (ULONG_PTR)Store->Current.Base + Store->Current.PreparedInBytes);
    TEST(Store->Current.PreparedInBytes < Store->Current.SizeInBytes);

    Sequence = Store->Header->SequenceNumber;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records + 1,
                     TRACE_STATE_CLOSED,
                     TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize,
               TRACE_HEADER_SIZE + (Records + 1) * 16ull);

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

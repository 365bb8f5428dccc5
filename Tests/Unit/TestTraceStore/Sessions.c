/*++

Module Name:

    Sessions.c

Abstract:

    What TestTraceStore's topics share: sessions, records that are appended to
    their stores, and files that are read back through kernel32.

--*/

#include "TestTraceStore.h"

static ULONG TestNumberOfRoots;

_Use_decl_annotations_
LONG
TestCountLiveViews(
    VOID
    )
{
    LONG Index;
    LONG Count;

    Count = 0;
    for (Index = 0;
         Index < TestNumberOfViews && Index < TEST_MAXIMUM_VIEWS;
         Index += 1) {

        Count += TestViews[Index].Live;
    }
    return Count;
}

_Use_decl_annotations_
BOOLEAN
TestCheckBalance(
    VOID
    )
{
    BOOLEAN Passed;

    Passed = TEST_EQUAL(TestOpenHandles, 0);
    Passed = TEST_EQUAL(TestCountLiveViews(), 0) && Passed;
    Passed = TEST_EQUAL(TestLiveAllocations, 0) && Passed;
    return TEST_EQUAL(TestBadCalls, 0) && Passed;
}

_Use_decl_annotations_
VOID
TestNextRoot(
    VOID
    )
{
    WCHAR Name[16];
    ULONG Number;
    ULONG Length;

    if (TestNumberOfRoots != 0) {
        TestDeleteTree(&TestRoot);
    }
    TestNumberOfRoots += 1;

    Length = RTL_NUMBER_OF(Name) - 1;
    Name[Length] = L'\0';
    for (Number = TestNumberOfRoots; Number != 0; Number /= 10) {
        Length -= 1;
        Name[Length] = (WCHAR)(L'0' + Number % 10);
    }
    TestMakePathIn(&TestRoot, &TestFolder, Name + Length);
}

_Use_decl_annotations_
NTSTATUS
TestCreateSession(
    PCRTL Rtl,
    ULONGLONG MaximumViewSize,
    BOOLEAN WorkerAllowed,
    PTRACE_SESSION *Session,
    PRTL_ERROR Error
    )
{
    TRACE_SESSION_PARAMETERS Parameters;
    PCWSTR Root;

    Root = TestDosPath(&TestRoot);
    Parameters = TestOptions;
    Parameters.ModuleBase = &__ImageBase;
    RtlPointUnicodeString(&Parameters.RootDirectory,
                          Root,
                          RtlLengthOfWideString(Root));
    Parameters.MaximumViewSize = MaximumViewSize;
    Parameters.WorkerAllowed = WorkerAllowed;
    return TraceSessionCreate(Rtl, &Parameters, Session, Error);
}

BOOLEAN TestNoise;

//
// A number with nothing of its neighbours (the finalizer of MurmurHash3).
//

_Use_decl_annotations_
ULONGLONG
TestNoiseTime(
    ULONG Index
    )
{
    ULONGLONG Value;

    Value = Index + 1;
    Value = (Value ^ (Value << 33)) * 0xFF51AFD7ED558CCDull;
    Value = (Value ^ (Value >> 33)) * 0xC4CEB9FE1A85EC53ull;
    return (Value ^ (Value >> 33)) | 1;
}

_Use_decl_annotations_
uint32_t
TestSite(
    ULONG Index
    )
{
    if (TestNoise) {
        return (uint32_t)TestNoiseTime(Index + 0x40000000);
    }
    return (uint32_t)(ULONG_PTR)&__ImageBase + 0x1000 + Index % 0x1000;
}

_Use_decl_annotations_
uint32_t
TestStackKind(
    ULONG Index
    )
{
    if (TestNoise) {
        Index = (ULONG)TestNoiseTime(Index + 0x20000000);
    }
    return (Index << 3) | TRACE_KIND_ENTER;
}

_Use_decl_annotations_
BOOLEAN
TestAppend(
    PTRACE_STORE Store,
    ULONG Index
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;

    Header = Store->Header;
    while (Header->Cursor >= Header->Limit) {
        if ((Header->HookFlags & TRACE_HOOK_STOPPED) != 0) {
            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
        TestAdvances += 1;
        if (Header->Cursor <
            (ULONG_PTR)Store->Current.Base + Store->Current.PreparedInBytes) {

            TestCalled += 1;
        }
        TraceStoreAdvance(Store);
        TestEndSteps();
    }

    Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease64(&Header->Cursor, Header->Cursor + TRACE_RECORD_SIZE);
    RtlStoreRelease32(&Record->Site, TestSite(Index));
    RtlStoreRelease32(&Record->StackKind, TestStackKind(Index));
    RtlStoreRelease64(&Record->Timestamp,
                      TestNoise ? TestNoiseTime(Index) : __rdtsc());
    return TRUE;
}

_Use_decl_annotations_
ULONG
TestAppendMany(
    PTRACE_STORE Store,
    ULONG First,
    ULONG Limit
    )
{
    ULONG Index;
    ULONG Recorded;

    Recorded = 0;
    for (Index = First; Index < Limit; Index += 1) {
        if (TestAppend(Store, Index)) {
            Recorded += 1;
        }
    }
    return Recorded;
}

TEST_CONTENT TestContent;

_Use_decl_annotations_
BOOLEAN
TestReadStore(
    PCWSTR Path,
    PTEST_CONTENT Content
    )
{
    HANDLE File;
    HANDLE Mapping;
    PBYTE View;
    LARGE_INTEGER Size;
    PCTRACE_RECORD Records;
    ULONGLONG Index;
    ULONGLONG Last;

    RtlZeroBytes(Content, sizeof(*Content));
    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (File == INVALID_HANDLE_VALUE) {
        return FALSE;
    }

    View = NULL;
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    if (Mapping != NULL) {
        View = (PBYTE)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(Mapping);
    }
    if (View == NULL || !GetFileSizeEx(File, &Size) ||
        Size.QuadPart < TRACE_HEADER_SIZE) {

        CloseHandle(File);
        return FALSE;
    }

    Content->FileSize = (ULONGLONG)Size.QuadPart;
    RtlCopyBytes(&Content->Header, View, sizeof(Content->Header));
    Content->End = Content->Header.Cursor + Content->Header.CursorToFileOffset;
    if ((Content->Header.Generation & 1) != 0) {
        Content->End = Content->Header.ViewFileOffset;
    }

    if (Content->End >= TRACE_HEADER_SIZE &&
        Content->End <= Content->FileSize) {

        Content->NumberOfRecords =
            (Content->End - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE;
        Records = (PCTRACE_RECORD)(View + TRACE_HEADER_SIZE);
        Last = 1;
        for (Index = 0; Index < Content->NumberOfRecords; Index += 1) {
            if (Records[Index].Site != TestSite((ULONG)Index) ||
                Records[Index].StackKind != TestStackKind((ULONG)Index) ||
                Records[Index].Timestamp < Last) {

                break;
            }
            Last = Records[Index].Timestamp;
        }
        Content->NumberOfGoodRecords = Index;

        Content->TailIsZero = TRUE;
        for (Last = Content->End; Last < Content->FileSize; Last += 1) {
            if (View[Last] != 0) {
                Content->TailIsZero = FALSE;
            }
        }
    }

    UnmapViewOfFile(View);
    CloseHandle(File);
    return TRUE;
}

WCHAR TestFileNames[TEST_MAXIMUM_FILES][128];

_Use_decl_annotations_
PCWSTR
TestSessionPath(
    PTRACE_SESSION Session,
    PCWSTR Name
    )
{
    ULONG Length;
    ULONG Index;

    //
    // The NT path without \??\ is the DOS path.
    //

    Length = Session->Directory.Length / sizeof(WCHAR) - 4;
    RtlCopyBytes(TestText,
                 Session->Directory.Buffer + 4,
                 Length * sizeof(WCHAR));
    TestText[Length] = L'\\';
    Length += 1;
    for (Index = 0; Name[Index] != L'\0'; Index += 1) {
        TestText[Length + Index] = Name[Index];
    }
    TestText[Length + Index] = L'\0';
    return TestText;
}

_Use_decl_annotations_
ULONG
TestListFiles(
    PTRACE_SESSION Session,
    PCWSTR Pattern
    )
{
    WIN32_FIND_DATAW Data;
    HANDLE Find;
    ULONG Count;
    ULONG Length;

    Count = 0;
    Find = FindFirstFileW(TestSessionPath(Session, Pattern), &Data);
    if (Find == INVALID_HANDLE_VALUE) {
        return 0;
    }
    do {
        Length = RtlLengthOfWideString(Data.cFileName);
        if (Count < TEST_MAXIMUM_FILES &&
            Length < RTL_NUMBER_OF(TestFileNames[0])) {

            RtlCopyBytes(TestFileNames[Count],
                         Data.cFileName,
                         (Length + 1) * sizeof(WCHAR));
            Count += 1;
        }
    } while (FindNextFileW(Find, &Data));
    FindClose(Find);
    return Count;
}

_Use_decl_annotations_
BOOLEAN
TestReadSessionStore(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    PTEST_CONTENT Content
    )
{
    ULONG Count;
    ULONG Index;

    Count = TestListFiles(Session, L"*.trace");
    for (Index = 0; Index < Count; Index += 1) {
        if (TestReadStore(TestSessionPath(Session, TestFileNames[Index]),
                          Content) &&
            Content->Header.SequenceNumber == SequenceNumber) {

            return TRUE;
        }
    }
    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
TestCheckContent(
    ULONGLONG NumberOfRecords,
    ULONG State,
    ULONG Reason
    )
{
    BOOLEAN Passed;

    Passed = TEST_EQUAL(TestContent.Header.Magic, TRACE_STORE_MAGIC);
    Passed = TEST_EQUAL(TestContent.NumberOfRecords, NumberOfRecords) &&
             Passed;
    Passed = TEST_EQUAL(TestContent.NumberOfGoodRecords, NumberOfRecords) &&
             Passed;
    Passed = TEST_EQUAL(TestContent.Header.State, State) && Passed;
    Passed = TEST_EQUAL(TestContent.Header.Reason, Reason) && Passed;
    return TEST(TestContent.TailIsZero) && Passed;
}

_Use_decl_annotations_
BOOLEAN
TestIsAnchorValid(
    PCTRACE_CLOCK_ANCHOR Anchor
    )
{
    return Anchor->Check ==
           (Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime) &&
           Anchor->Tsc != 0;
}

_Use_decl_annotations_
VOID
TestReadClocks(
    PRTL_CLOCK_READING Reading
    )
{
    LARGE_INTEGER Value;
    FILETIME Time;

    QueryPerformanceFrequency(&Value);
    Reading->QpcFrequency = (ULONGLONG)Value.QuadPart;
    QueryPerformanceCounter(&Value);
    Reading->Qpc = (ULONGLONG)Value.QuadPart;
    GetSystemTimeAsFileTime(&Time);
    Reading->SystemTime =
        ((ULONGLONG)Time.dwHighDateTime << 32) | Time.dwLowDateTime;
    Reading->Tsc = __rdtsc();
}

_Use_decl_annotations_
VOID
TestCheckAnchor(
    PCTRACE_CLOCK_ANCHOR Anchor,
    const RTL_CLOCK_READING *Before,
    const RTL_CLOCK_READING *After
    )
{
    TEST(TestIsAnchorValid(Anchor));
    TEST(Before->Tsc <= Anchor->Tsc && Anchor->Tsc <= After->Tsc);
    TEST(Before->Qpc <= Anchor->Qpc && Anchor->Qpc <= After->Qpc);

    //
    // The system's time may be as coarse as a clock interrupt, and differently
    // so in different routines: 20 ms.
    //

    TEST(Before->SystemTime <= Anchor->SystemTime + 200000 &&
         Anchor->SystemTime <= After->SystemTime + 200000);
}

_Use_decl_annotations_
VOID
TestCheckHeaderText(
    PCWSTR Expected,
    const CHAR *Actual,
    ULONG Length,
    ULONG FullLength,
    ULONG Capacity
    )
{
    int Size;

    Size = WideCharToMultiByte(CP_UTF8,
                               0,
                               Expected,
                               -1,
                               TestUtf8,
                               sizeof(TestUtf8),
                               NULL,
                               NULL);
    TEST(Size > 1);
    TEST_EQUAL(FullLength, Size - 1);
    TEST_EQUAL(Length, FullLength < Capacity ? FullLength : Capacity);
    TEST_EQUAL_BYTES(Actual, TestUtf8, Length);
}

/*++

Module Name:

    Rings.c

Abstract:

    Stores that keep only the last of their records.

--*/

#include "TestTraceStore.h"

//
// Rings: what the file holds at any moment, also when nobody closes it, by the
// rule in TraceFormat.h.  Returns the number of records, or 0 if one is wrong.
//

static
ULONG
TestCheckRing(
    PTRACE_SESSION Session,
    ULONG NumberOfRecords
    )
{
    HANDLE File;
    HANDLE Mapping;
    PBYTE View;
    LARGE_INTEGER Size;
    PCTRACE_STORE_HEADER Header;
    PCTRACE_RECORD Record;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONGLONG End;
    ULONG Index;
    ULONG Count;

    if (!TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1)) {
        return 0;
    }
    File = CreateFileW(TestSessionPath(Session, TestFileNames[0]),
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    View = NULL;
    Size.QuadPart = 0;
    Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
    if (Mapping != NULL) {
        View = (PBYTE)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(Mapping);
    }
    GetFileSizeEx(File, &Size);
    CloseHandle(File);
    if (!TEST(View != NULL)) {
        return 0;
    }

    Header = (PCTRACE_STORE_HEADER)View;
    TEST((ULONGLONG)Size.QuadPart <= Header->MaximumBytes);
    End = Header->Cursor + Header->CursorToFileOffset;
    TEST_EQUAL(End, TRACE_HEADER_SIZE + NumberOfRecords * 16ull);
    Position = Header->FirstPosition;
    if (Position == 0) {
        Position = TRACE_HEADER_SIZE;
    }

    Count = 0;
    for (; Position < End; Position += TRACE_RECORD_SIZE) {
        Offset = Position;
        if (Offset >= Header->RingFileOffset) {
            Offset = Header->RingFileOffset +
                     (Position - Header->RingFileOffset) %
                     Header->RingSizeInBytes;
        }
        Index = (ULONG)((Position - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE);
        Record = (PCTRACE_RECORD)(View + Offset);
        if (Offset + TRACE_RECORD_SIZE > (ULONGLONG)Size.QuadPart ||
            Record->Site != TestSite(Index) ||
            Record->StackKind != TestStackKind(Index) ||
            Record->Timestamp == 0) {

            break;
        }
        Count += 1;
    }

    if (!TEST_EQUAL(Position, End)) {
        Count = 0;
    }
    UnmapViewOfFile(View);
    return Count;
}

VOID
TestRings(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Position;
    ULONGLONG FileSize;
    ULONG Case;
    ULONG Records;
    ULONG Step;
    ULONG Count;
    ULONG Laps;

    static const struct {
        ULONGLONG MaximumBytes;
        ULONGLONG ViewSize;
        ULONGLONG SegmentSize;
        ULONGLONG RingSize;
    } Cases[] = {
        { 0x100000, 0, 0x10000, 0xF0000 },
        { 0x123456, 0x40000, 0x10000, 0x110000 },
        { 0x1FFFFF, 0x400000, 0x10000, 0x1E0000 },
        { 0x400000, 0x20000, 0x20000, 0x3E0000 },
        { 0x800000, 0x400000, 0x40000, 0x7C0000 }
    };

    for (Case = 0; Case < 2 * RTL_NUMBER_OF(Cases); Case += 1) {
        TestOptions.IsRing = TRUE;
        TestOptions.MaximumBytes = Cases[Case / 2].MaximumBytes;
        if (!TestOpenSession(Cases[Case / 2].ViewSize,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Header = Store->Header;
        TestRing = Header;
        TEST_EQUAL(Session->SegmentSize, Cases[Case / 2].SegmentSize);
        TEST_EQUAL(Header->RingFileOffset, TRACE_VIEW_MINIMUM_SIZE);
        TEST_EQUAL(Header->RingSizeInBytes, Cases[Case / 2].RingSize);
        FileSize = Header->RingFileOffset + Header->RingSizeInBytes;

        //
        // Three laps and a half, looked at where nothing agrees with anything.
        //

        Records = 0;
        Laps = 0;
        Step = (ULONG)(Cases[Case / 2].SegmentSize / 16 + 1237);
        while (Laps < 3 || Records % 5 != 0) {
            TEST_EQUAL(TestAppendMany(Store, Records, Records + Step), Step);
            Records += Step;
            Position = Header->Cursor + Header->CursorToFileOffset;
            Laps = (ULONG)((Position - Header->RingFileOffset) /
                           Header->RingSizeInBytes);
            Count = TestCheckRing(Session, Records);
            if (Laps == 0 && Header->FirstPosition == 0) {
                TEST_EQUAL(Count, Records);
            } else {
                TEST(Count * 16ull >= Header->RingSizeInBytes -
                                      2 * Session->SegmentSize);
                TEST(Header->FirstPosition + Header->RingSizeInBytes <=
                     Position + 2 * Session->SegmentSize);
            }
        }
        TEST_EQUAL(TestBadRingWrites, 0);
        TEST_EQUAL(TestLargestFile, FileSize);
        TEST_EQUAL(Header->State, TRACE_STATE_OPEN);

        //
        // A cursor that has been written over is found again.
        //

        TestRing = NULL;
        Header->Cursor += 0x10000000;
        TEST(!TestAppend(Store, Records));
        TEST_EQUAL(Header->Reason, TRACE_REASON_INVARIANT);
        TEST_EQUAL(Header->Cursor + Header->CursorToFileOffset, Position);

        //
        // The file is not cut any more, whatever lies where the cursor is.
        //

        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestCheckRing(Session, Records) > 0);
        TEST_EQUAL(TestLargestFile, FileSize);
        TestEndSession(Session);
    }

    //
    // It is in the first lap, which holds everything.
    //

    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = 0x100000;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        Records = 50000;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Count = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, Count, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + Records * 16ull);
        TestEndSession(Session);
    }

    //
    // The control of what is checked at each write.
    //

    TestOptions.IsRing = TRUE;
    TestOptions.MaximumBytes = 0x100000;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TestRing = Store->Header;
        TestForgetsFirstPosition = TRUE;
        TestAppendMany(Store, 0, 100000);
        TestForgetsFirstPosition = FALSE;
        TEST(TestBadRingWrites > 0);
        TestEndSession(Session);
    }
}

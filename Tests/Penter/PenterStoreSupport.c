/*++

Module Name:

    PenterStoreSupport.c

Abstract:

    Reads stores back from their files, as a third party would with
    TraceFormat.h alone, and compares them with what was called.

--*/

#include "PenterStoreSupport.h"

#define TEST_REPEAT_CALLS       5000
#define TEST_PAIR_CALLS         100000
#define TEST_PAIR_CALLS_QUICK   20000
#define TEST_MAXIMUM_SEGMENTS   16

static TRACE_RECORD TestRecords[4096];

VOID
PenterTestSetRepeatSegment(
    PTEST_SEGMENT Segment,
    PCTEST_HOOK Hook,
    ULONGLONG Count,
    ULONG_PTR Argument,
    ULONG_PTR Rsp
    )
{
    Segment->Site[0] = (ULONG)(ULONG_PTR)HookRepeatSite;
    if (Hook->SiteIsArgument) {
        Segment->Site[0] = (ULONG)Argument;
    }
    Segment->StackKind[0] = (ULONG)Rsp + Hook->Kind;
    Segment->Site[1] = Segment->Site[0];
    Segment->StackKind[1] = Segment->StackKind[0];
    Segment->NumberOfRecords = Count;
}

VOID
PenterTestSetPairSegment(
    PTEST_SEGMENT Segment,
    PCTEST_HOOK Enter,
    PCTEST_HOOK Exit,
    ULONGLONG Count,
    ULONG_PTR Argument,
    ULONG_PTR Rsp
    )
{
    PenterTestSetRepeatSegment(Segment, Enter, Count * 2, Argument, Rsp);
    if (!Enter->SiteIsArgument) {
        Segment->Site[0] = (ULONG)(ULONG_PTR)HookPairEnterSite;
        Segment->Site[1] = (ULONG)(ULONG_PTR)HookPairExitSite;
    }
    Segment->StackKind[1] = (ULONG)Rsp + Exit->Kind;
}

ULONGLONG
PenterTestNumberOfRecords(
    PCTRACE_STORE_HEADER Header
    )
{
    ULONGLONG End;

    End = Header->Cursor + Header->CursorToFileOffset;
    if ((Header->Generation & 1) != 0) {
        End = Header->ViewFileOffset;
    }

    return (End - Header->HeaderSize) / sizeof(TRACE_RECORD);
}

BOOLEAN
PenterTestMatchRecords(
    HANDLE File,
    PCTRACE_STORE_HEADER Header,
    PCTEST_SEGMENT Segments,
    ULONG NumberOfSegments,
    ULONGLONG FirstTime,
    ULONGLONG LastTime,
    PTEST_MATCH Match
    )
{
    ULONGLONG Index;
    ULONGLONG InSegment;
    ULONGLONG Remaining;
    PCTRACE_RECORD Record;
    ULONG Segment;
    ULONG Chunk;
    ULONG Read;
    ULONG Position;

    Match->NumberOfRecords = PenterTestNumberOfRecords(Header);
    Match->NumberExpected = 0;
    Match->FirstDifference = ~0ULL;
    Match->NumberOutOfTime = 0;
    for (Segment = 0; Segment < NumberOfSegments; Segment += 1) {
        Match->NumberExpected += Segments[Segment].NumberOfRecords;
    }

    Segment = 0;
    InSegment = 0;
    Index = 0;
    while (Index < Match->NumberOfRecords) {
        Remaining = Match->NumberOfRecords - Index;
        Chunk = RTL_NUMBER_OF(TestRecords);
        if (Chunk > Remaining) {
            Chunk = (ULONG)Remaining;
        }
        if (!NT_SUCCESS(RtlReadFile(PenterTestRtl,
                                    File,
                                    Header->HeaderSize +
                                    Index * sizeof(TRACE_RECORD),
                                    TestRecords,
                                    Chunk * sizeof(TRACE_RECORD),
                                    &Read)) ||
            Read != Chunk * sizeof(TRACE_RECORD)) {

            Match->FirstDifference = Index;
            return FALSE;
        }

        for (Position = 0; Position < Chunk; Position += 1) {
            while (Segment < NumberOfSegments &&
                   InSegment == Segments[Segment].NumberOfRecords) {
                Segment += 1;
                InSegment = 0;
            }

            Record = &TestRecords[Position];
            if (Segment == NumberOfSegments ||
                Record->Timestamp == 0 ||
                Record->Site != Segments[Segment].Site[InSegment & 1] ||
                Record->StackKind !=
                Segments[Segment].StackKind[InSegment & 1]) {

                Match->FirstDifference = Index + Position;
                return FALSE;
            }
            if (Record->Timestamp < FirstTime ||
                Record->Timestamp > LastTime) {

                Match->NumberOutOfTime += 1;
            }
            InSegment += 1;
        }
        Index += Chunk;
    }

    return Match->NumberOfRecords == Match->NumberExpected;
}

typedef struct _TEST_ENUMERATION {
    TEST_PATH Path;
    PPENTER_TEST_STORE Callback;
    PVOID Context;
    ULONG NumberOfStores;
} TEST_ENUMERATION;
typedef TEST_ENUMERATION *PTEST_ENUMERATION;

//
// Descends into a directory, or reads the header of a store.
// SizeInBytes: not used: the directory may be behind the file.
// IsDirectory: TRUE for a directory.
// Returns STATUS_SUCCESS, or why the store cannot be read.
//

static
NTSTATUS
PenterTestEnumerateEntry(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    static const WCHAR Suffix[] = { L'.', L't', L'r', L'a', L'c', L'e' };
    PTEST_ENUMERATION Enumeration;
    TRACE_STORE_HEADER Header;
    USHORT Length;
    NTSTATUS Status;
    HANDLE File;
    ULONG Read;

    Enumeration = (PTEST_ENUMERATION)Context;
    if (!IsDirectory &&
        (Name->Length < sizeof(Suffix) ||
         !RtlAreBytesEqual((PBYTE)Name->Buffer + Name->Length - sizeof(Suffix),
                           Suffix,
                           sizeof(Suffix)))) {

        return STATUS_SUCCESS;
    }

    Length = Enumeration->Path.Nt.Length;
    Status = RtlAppendPath(&Enumeration->Path.Nt,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (IsDirectory) {
        Status = RtlEnumerateDirectory(PenterTestRtl,
                                       &Enumeration->Path.Nt,
                                       PenterTestEnumerateEntry,
                                       Enumeration);
        Enumeration->Path.Nt.Length = Length;
        return Status;
    }

    Status = RtlOpenFileForReading(PenterTestRtl,
                                   &Enumeration->Path.Nt,
                                   &File);
    Enumeration->Path.Nt.Length = Length;
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlReadFile(PenterTestRtl,
                         File,
                         0,
                         &Header,
                         sizeof(Header),
                         &Read);
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(PenterTestRtl, File, &SizeInBytes);
    }
    if (NT_SUCCESS(Status) && Read == sizeof(Header)) {
        Enumeration->NumberOfStores += 1;
        Enumeration->Callback(Enumeration->Context,
                              File,
                              &Header,
                              SizeInBytes);
    } else {
        TEST_SUCCESS(Status);
        TEST_EQUAL(Read, sizeof(Header));
    }
    RtlClose(PenterTestRtl, File);

    return STATUS_SUCCESS;
}

ULONG
PenterTestEnumerateStores(
    const TEST_PATH *Root,
    PPENTER_TEST_STORE Callback,
    PVOID Context
    )
{
    static TEST_ENUMERATION Enumeration;

    RtlCopyBytes(Enumeration.Path.Buffer, Root->Nt.Buffer, Root->Nt.Length);
    Enumeration.Path.Nt.Buffer = Enumeration.Path.Buffer;
    Enumeration.Path.Nt.Length = Root->Nt.Length;
    Enumeration.Path.Nt.MaximumLength = sizeof(Enumeration.Path.Buffer);
    Enumeration.Callback = Callback;
    Enumeration.Context = Context;
    Enumeration.NumberOfStores = 0;

    TEST_SUCCESS(RtlEnumerateDirectory(PenterTestRtl,
                                       &Enumeration.Path.Nt,
                                       PenterTestEnumerateEntry,
                                       &Enumeration));

    return Enumeration.NumberOfStores;
}

//
// Adds up the records of the stores.
//

static
VOID
PenterTestCountRecords(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(SizeInBytes);

    *(PULONGLONG)Context += PenterTestNumberOfRecords(Header);
}

//
// Adds up the calls of hooks that the stores know of: recorded, left out, and
// taken back together with their entry.
//

static
VOID
PenterTestCountEvents(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    PenterTestCountRecords(Context, File, Header, SizeInBytes);
    *(PULONGLONG)Context += 2 * Header->NumberOfCallsTakenBack +
                            Header->NumberOfEventsTooDeep;
}

ULONGLONG
PenterTestSumEvents(
    const TEST_PATH *Root
    )
{
    ULONGLONG Sum;

    Sum = 0;
    PenterTestEnumerateStores(Root, PenterTestCountEvents, &Sum);
    return Sum;
}

ULONGLONG
PenterTestSumRecords(
    const TEST_PATH *Root
    )
{
    ULONGLONG Sum;

    Sum = 0;
    PenterTestEnumerateStores(Root, PenterTestCountRecords, &Sum);
    return Sum;
}

BOOLEAN
PenterTestSessionRoot(
    PTEST_PATH Root
    )
{
    static WCHAR Buffer[TEST_PATH_CAPACITY_IN_CHARS];
    UNICODE_STRING Value;

    if (!NT_SUCCESS(RtlQueryEnvironment(PenterTestRtl,
                                        L"TRACER_DIRECTORY",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer) - 1,
                                        &Value))) {
        return FALSE;
    }

    Buffer[Value.Length / sizeof(WCHAR)] = L'\0';
    return TestMakePath(Root, Buffer);
}

//
// The child "records".
//

typedef struct _TEST_RUN {
    ULONG ThreadId;
    ULONG NumberOfSegments;
    TEST_SEGMENT Segments[TEST_MAXIMUM_SEGMENTS];
    ULONGLONG FirstTime;
    ULONGLONG LastTime;
    ULONG NumberOfStores;
    ULONG_PTR StackPointer;
} TEST_RUN;
typedef TEST_RUN *PTEST_RUN;

//
// Calls every hook many times and notes what was called.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestRecordThread(
    _In_ PVOID Argument
    )
{
    PTEST_RUN Run;
    PTEST_SEGMENT Segment;
    ULONG_PTR Rsp;
    ULONG_PTR Value;
    ULONGLONG Count;
    ULONG Index;

    Run = (PTEST_RUN)Argument;
    Run->ThreadId = GetCurrentThreadId();
    Run->StackPointer = (ULONG_PTR)&Run;
    Segment = Run->Segments;
    _mm_lfence();
    Run->FirstTime = __rdtsc();
    _mm_lfence();

    for (Index = 0; Index < TEST_NUMBER_OF_HOOKS; Index += 1) {
        Count = TEST_REPEAT_CALLS + Index;
        Value = 0x1234567800000000 + 0x11111111ULL * (Index + 1);
        Rsp = HookRepeat(TestHooks[Index].Routine, Count, Value);
        PenterTestSetRepeatSegment(Segment,
                                   &TestHooks[Index],
                                   Count,
                                   Value,
                                   Rsp);
        Segment += 1;
    }

    Count = PenterTestQuick ? TEST_PAIR_CALLS_QUICK : TEST_PAIR_CALLS;
    for (Index = 0; Index < TEST_NUMBER_OF_HOOKS; Index += 4) {
        Value = 0xFEDCBA9800000000 + Index;
        Rsp = HookRepeatPair(TestHooks[Index].Routine,
                             TestHooks[Index + 1].Routine,
                             Count,
                             Value);
        PenterTestSetPairSegment(Segment,
                                 &TestHooks[Index],
                                 &TestHooks[Index + 1],
                                 Count,
                                 Value,
                                 Rsp);
        Segment += 1;
    }

    _mm_lfence();
    Run->LastTime = __rdtsc();
    Run->NumberOfSegments = (ULONG)(Segment - Run->Segments);
    return 0;
}

//
// Compares the thread's store with what the thread called; and then with
// things that it did not call, which must not match.
//

static
VOID
PenterTestCheckRun(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    extern IMAGE_DOS_HEADER __ImageBase;
    PTEST_RUN Run;
    TEST_MATCH Match;
    TEST_SEGMENT Changed[TEST_MAXIMUM_SEGMENTS];
    ULONG Control;
    PTEST_SEGMENT Last;

    Run = (PTEST_RUN)Context;
    if (Header->ThreadId != Run->ThreadId) {
        return;
    }

    Run->NumberOfStores += 1;
    TEST_EQUAL(Header->Magic, TRACE_STORE_MAGIC);
    TEST_EQUAL(Header->MajorVersion, TRACE_FORMAT_MAJOR);
    TEST_EQUAL(Header->HeaderSize, TRACE_HEADER_SIZE);
    TEST_EQUAL(Header->RecordSize, TRACE_RECORD_SIZE);
    TEST_EQUAL(Header->ProcessId, GetCurrentProcessId());
    TEST_EQUAL(Header->ModuleBase, (ULONG_PTR)&__ImageBase);
    TEST_EQUAL(Header->State, TRACE_STATE_CLOSED);
    TEST_EQUAL(Header->Reason, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(Header->NumberOfEventsLost, 0);
    TEST_EQUAL(Header->NumberOfEventsReentered, 0);
    TEST_EQUAL(Header->Generation & 1, 0);
    TEST(Header->StackLimit < Run->StackPointer);
    TEST(Header->StackBase > Run->StackPointer);

    //
    // Views of 64 KiB: one for every 4,096 records.
    //

    TEST(Header->NumberOfViewChanges >=
         PenterTestNumberOfRecords(Header) / 4096 - 1);

    if (!TEST(PenterTestMatchRecords(File,
                                     Header,
                                     Run->Segments,
                                     Run->NumberOfSegments,
                                     Run->FirstTime,
                                     Run->LastTime,
                                     &Match))) {

        RtlWriteText(TestOutput,
                     "%llu records, %llu calls, the first that differs: "
                     "%lld\n",
                     Match.NumberOfRecords,
                     Match.NumberExpected,
                     Match.FirstDifference);
    }
    TEST_EQUAL(Match.NumberOfRecords, Match.NumberExpected);
    TEST_EQUAL(SizeInBytes,
               TRACE_HEADER_SIZE + Match.NumberOfRecords * TRACE_RECORD_SIZE);
    if (PenterTestRtl->CpuFeatures.InvariantTsc &&
        Header->Clock == TRACE_CLOCK_TSC) {

        TEST_EQUAL(Match.NumberOutOfTime, 0);
    }

    //
    // The negative controls: one call more or less, another site, another
    // stack pointer, another kind, a later start.
    //

    for (Control = 0; Control < 6; Control += 1) {
        RtlCopyBytes(Changed, Run->Segments, sizeof(Changed));
        Last = &Changed[Run->NumberOfSegments - 1];
        switch (Control) {
        case 0:
            Last->NumberOfRecords += 1;
            break;
        case 1:
            Last->NumberOfRecords -= 1;
            break;
        case 2:
            Last->Site[1] += 1;
            break;
        case 3:
            Changed[0].StackKind[0] += 8;
            break;
        case 4:
            Last->StackKind[0] ^= TRACE_KIND_ENTER ^ TRACE_KIND_EXIT;
            break;
        default:
            Changed[2].NumberOfRecords -= 1;
            Changed[3].NumberOfRecords += 1;
            break;
        }
        TEST(!PenterTestMatchRecords(File,
                                     Header,
                                     Changed,
                                     Run->NumberOfSegments,
                                     Run->FirstTime,
                                     Run->LastTime,
                                     &Match));
    }

    PenterTestMatchRecords(File,
                           Header,
                           Run->Segments,
                           Run->NumberOfSegments,
                           Run->LastTime,
                           Run->LastTime,
                           &Match);
    TEST(Match.NumberOutOfTime > 0);

    RtlWriteText(TestOutput,
                 "%llu records, %u view changes, %u views mapped inline\n",
                 Match.NumberOfRecords,
                 Header->NumberOfViewChanges,
                 Header->NumberOfViewsMappedInline);
}

//
// The child "records": what is in the file is what was called.
//

VOID
PenterTestRecords(
    VOID
    )
{
    static TEST_PATH Root;
    static TEST_RUN Run;
    HANDLE Thread;

    PenterTestTakeSlots();
    if (!TEST(PenterTestSessionRoot(&Root))) {
        return;
    }

    Thread = CreateThread(NULL, 0, PenterTestRecordThread, &Run, 0, NULL);
    TEST(Thread != NULL);
    WaitForSingleObject(Thread, INFINITE);
    CloseHandle(Thread);

    TEST_EQUAL(PenterTestEnumerateStores(&Root, PenterTestCheckRun, &Run), 1);
    TEST_EQUAL(Run.NumberOfStores, 1);
}

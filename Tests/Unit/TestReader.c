/*++

Module Name:

    TestReader.c

Abstract:

    Tests the reader on stores that are made here, byte by byte, with what
    must come out stated by hand: validation, pairing, the live end, the
    clock, sessions, and the commands' output to the letter.

    Damage is done in every place that a reader looks at; each kind has a
    control that the same store without it is good.  Commands run inside this
    program, so that every allocation of theirs can be counted and made to
    fail.

--*/

#include "../../Reader/Core/CoreTree.h"
#include "../../Reader/Session/SessionStoreOpen.h"
#include "../../Reader/Sums/SumTally.h"
#include "../../Reader/Commands/Command.h"
#include "Test.h"

#define TEST_MODULE_BASE 0x140000000ULL
#define TEST_MODULE_SIZE 0x10000u
#define TEST_STACK_BASE 0x200000ULL
#define TEST_STACK_LIMIT 0x100000ULL
#define TEST_SYSTEM_TIME 133000000000000000ULL
#define TEST_FIRST_TICK 1000ULL

//
// A thousand million ticks a second: a tick is a nanosecond.
//

#define TEST_QPC_FREQUENCY 10000000ULL

//
// A process identifier that no process has (they are multiples of 4).
//

#define TEST_NO_PROCESS 0x7FFFFFFDu

#define TEST_MAXIMUM_RECORDS 512
#define TEST_OUTPUT_CAPACITY 65536
#define TEST_MAXIMUM_ARGUMENTS 12

#define TEST_N TRACE_KIND_ENTER
#define TEST_X TRACE_KIND_EXIT
#define TEST_NF TRACE_KIND_ENTER_FUNCTION
#define TEST_XF TRACE_KIND_EXIT_FUNCTION
#define TEST_K CORE_CALL_FRAME_KNOWN
#define TEST_D CORE_CALL_DYNAMIC
#define TEST_NO_IMAGE 0, 0, 0, 0, 0

typedef struct _TEST_STORE {
    TRACE_STORE_HEADER Header;
    TRACE_RECORD Records[TEST_MAXIMUM_RECORDS];
} TEST_STORE;
C_ASSERT(FIELD_OFFSET(TEST_STORE, Records) == TRACE_HEADER_SIZE);

static PCRTL TestRtl;
static PCALLOCATOR TestHeap;
static TEST_STORE TestStore;
static TEST_STORE TestOther;
static TEST_STORE TestDamaged;
static TEST_PATH TestFolder;
static TEST_PATH TestPath;
static TEST_PATH TestSubfolder;
static TEST_PATH TestPrefixes;
static CHAR TestOutputBuffer[TEST_OUTPUT_CAPACITY];
static CHAR TestErrorBuffer[TEST_OUTPUT_CAPACITY];
static CHAR TestEventText[TEST_OUTPUT_CAPACITY];
static RTL_WRITER TestOut;
static RTL_WRITER TestErr;
static READER_CONTEXT TestContext;
static READER_SESSION TestSession;
static READER_STREAM TestStream;
static ULONGLONG TestRandomState;

//
// An allocator that counts, and fails from one allocation on.
//

static ULONGLONG TestNumberOfAllocations;
static ULONGLONG TestNumberOfFrees;
static ULONGLONG TestFailFrom;


//
// Allocates, unless it is to fail.
// Returns the memory or NULL.
//

static
PVOID
TestAllocate(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PVOID Memory;

    UNREFERENCED_PARAMETER(Context);

    if (TestNumberOfAllocations >= TestFailFrom) {
        return NULL;
    }

    Memory = TestHeap->Allocate(TestHeap->Context, SizeInBytes);
    if (Memory != NULL) {
        TestNumberOfAllocations += 1;
    }

    return Memory;
}


//
// Address: the memory or NULL.
//

static
VOID
TestFree(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    UNREFERENCED_PARAMETER(Context);

    if (Address != NULL) {
        TestNumberOfFrees += 1;
        TestHeap->Free(TestHeap->Context, Address);
    }
}

static const ALLOCATOR TestCountingAllocator = {
    NULL,
    TestAllocate,
    TestFree
};


//
// A number that looks random and is the same in every run.
// Bound: not zero.
// Returns a number below it.
//

static
ULONG
TestRandom(
    _In_ ULONG Bound
    )
{
    TestRandomState = TestRandomState * 6364136223846793005ULL +
                      1442695040888963407ULL;
    return (ULONG)(TestRandomState >> 33) % Bound;
}


//
// Makes an anchor on the test's clock.
// Nanoseconds: since the clock's beginning.
//

static
VOID
TestSetAnchor(
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _In_ ULONGLONG Nanoseconds
    )
{
    Anchor->Tsc = TEST_FIRST_TICK + Nanoseconds;
    Anchor->Qpc = 777 + Nanoseconds / 100;
    Anchor->SystemTime = TEST_SYSTEM_TIME + Nanoseconds / 100;
    Anchor->Check = Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime;
}


//
// Fills a text of a header.
// Text, Capacity: the field.
// Value: what it is to hold.
//

static
VOID
TestSetText(
    _Out_writes_(Capacity) char *Text,
    _Out_ uint32_t *Length,
    _Out_ uint32_t *FullLength,
    _In_ ULONG Capacity,
    _In_z_ PCSZ Value
    )
{
    ULONG Index;

    for (Index = 0; Index < Capacity && Value[Index] != 0; Index++) {
        Text[Index] = Value[Index];
    }

    *Length = Index;
    *FullLength = Index;
}

#define TEST_SET_TEXT(Header, Name, Value)                                  \
    TestSetText((Header)->Name,                                             \
                &(Header)->Name##Length,                                    \
                &(Header)->Name##FullLength,                                \
                sizeof((Header)->Name),                                     \
                Value)


//
// Publishes an end of records as a writer does.
// EndOfRecords: a file offset.
//

static
VOID
TestSetEnd(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG EndOfRecords
    )
{
    Header->Cursor = 0x7FF600001230ULL;
    Header->CursorToFileOffset = EndOfRecords - Header->Cursor;
}


//
// Makes a good store that was closed: thread 100 of "app.exe".
// Records: the records; their Site is an RVA, their Timestamp nanoseconds.
// NumberOfRecords: how many.
//

static
VOID
TestMakeStore(
    _Out_ TEST_STORE *Store,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    PTRACE_STORE_HEADER Header = &Store->Header;
    ULONG Index;

    RtlZeroBytes(Store, sizeof(*Store));
    Header->Magic = TRACE_STORE_MAGIC;
    Header->MajorVersion = 1;
    Header->HeaderSize = 4096;
    Header->RecordSize = 16;
    Header->Flags = TRACE_FLAG_TSC_INVARIANT;
    Header->ProcessId = TEST_NO_PROCESS;
    Header->ThreadId = 100;
    Header->ProcessCreationTime = TEST_SYSTEM_TIME;
    Header->StackBase = TEST_STACK_BASE;
    Header->StackLimit = TEST_STACK_LIMIT;
    Header->State = TRACE_STATE_CLOSED;
    Header->Reason = TRACE_REASON_THREAD_EXIT;
    Header->ViewFileOffset = 4096;
    Header->QpcFrequency = TEST_QPC_FREQUENCY;
    Header->ModuleBase = TEST_MODULE_BASE;
    Header->ModuleSize = TEST_MODULE_SIZE;
    Header->ModuleTimeDateStamp = 0x12345678;
    TestSetAnchor(&Header->OpenAnchor, 0);
    TestSetAnchor(&Header->LastAnchor, 1000000000);
    TEST_SET_TEXT(Header, ModulePath, "Q:\\nowhere\\app.exe");
    TEST_SET_TEXT(Header, ProcessPath, "Q:\\nowhere\\app.exe");
    TEST_SET_TEXT(Header, CommandLine, "app.exe \"a, b\" \\c");
    TestSetEnd(Header, 4096 + 16ULL * NumberOfRecords);

    for (Index = 0; Index < NumberOfRecords; Index++) {
        Store->Records[Index] = Records[Index];
        if (Records[Index].Timestamp != 0) {
            Store->Records[Index].Timestamp += TEST_FIRST_TICK;
            Store->Records[Index].Site += (uint32_t)TEST_MODULE_BASE;
        }
    }
}


//
// Writes a store into the session's directory.
// Name: the file's.
// Store: its bytes.
// SizeInBytes: how many of them.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestWriteStore(
    _In_z_ PCWSTR Name,
    _In_ const TEST_STORE *Store,
    _In_ ULONG SizeInBytes
    )
{
    HANDLE File;
    NTSTATUS Status;

    if (!TestMakePathIn(&TestPath, &TestSubfolder, Name)) {
        return FALSE;
    }

    Status = RtlCreateFile(TestRtl,
                           &TestPath.Nt,
                           RTL_CREATE_ALWAYS,
                           &File);
    if (!TEST_SUCCESS(Status)) {
        return FALSE;
    }

    if (SizeInBytes != 0) {
        Status = RtlWriteFile(TestRtl, File, 0, Store, SizeInBytes);
    }

    RtlClose(TestRtl, File);
    return TEST_SUCCESS(Status);
}

#define TEST_STORE_SIZE(NumberOfRecords) (4096 + 16 * (ULONG)(NumberOfRecords))


//
// Makes an empty session directory.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestBeginSession(
    VOID
    )
{
    if (TestMakePathIn(&TestSubfolder, &TestFolder, L"session")) {
        TestDeleteTree(&TestSubfolder);
        return TEST_SUCCESS(RtlCreateDirectory(TestRtl, &TestSubfolder.Nt));
    }

    return FALSE;
}


//
// CommandLine: its arguments, with one blank between two; "@" stands for Path,
// and "@@" for that of the file of prefixes, after an @.
// Returns the exit code. TestOut and TestErr have what it wrote.
//

static
ULONG
TestRunWithPath(
    _In_z_ PCSZ CommandLine,
    _In_opt_z_ PCWSTR Path
    )
{
    static WCHAR Wide[TEST_MAXIMUM_ARGUMENTS][TEST_PATH_CAPACITY_IN_CHARS];
    static CHAR Utf8[TEST_MAXIMUM_ARGUMENTS][TEST_PATH_CAPACITY_IN_CHARS];
    RTL_ARGUMENT Arguments[TEST_MAXIMUM_ARGUMENTS];
    PCWSTR Prefixes;
    ULONG Count = 1;
    ULONG Length;

    Arguments[0].Wide = L"TraceReader";
    Arguments[0].Utf8 = "TraceReader";

    while (*CommandLine != 0 && Count < TEST_MAXIMUM_ARGUMENTS) {

        Length = 0;
        while (*CommandLine != 0 && *CommandLine != ' ') {
            Wide[Count][Length] = (WCHAR)*CommandLine;
            Utf8[Count][Length] = *CommandLine;
            Length += 1;
            CommandLine += 1;
        }

        if (Length == 1 && Wide[Count][0] == '@' && Path != NULL) {
            for (Length = 0; Path[Length] != 0; Length++) {
                Wide[Count][Length] = Path[Length];
                Utf8[Count][Length] = (CHAR)Path[Length];
            }
        }

        if (Length == 2 && Wide[Count][0] == '@' && Wide[Count][1] == '@') {
            Prefixes = TestDosPath(&TestPrefixes);
            for (Length = 1; Prefixes[Length - 1] != 0; Length++) {
                Wide[Count][Length] = Prefixes[Length - 1];
                Utf8[Count][Length] = (CHAR)Prefixes[Length - 1];
            }
        }

        Wide[Count][Length] = 0;
        Utf8[Count][Length] = 0;
        Arguments[Count].Wide = Wide[Count];
        Arguments[Count].Utf8 = Utf8[Count];
        Count += 1;
        if (*CommandLine == ' ') {
            CommandLine += 1;
        }
    }

    RtlInitializeBufferWriter(&TestOut,
                              TestOutputBuffer,
                              sizeof(TestOutputBuffer));
    RtlInitializeBufferWriter(&TestErr,
                              TestErrorBuffer,
                              sizeof(TestErrorBuffer));
    return CommandMain(&TestContext, Arguments, Count);
}


//
// Runs the program on the session directory.
// CommandLine: its arguments; "@" stands for the directory.
//

static
ULONG
TestRun(
    _In_z_ PCSZ CommandLine
    )
{
    return TestRunWithPath(CommandLine, TestDosPath(&TestSubfolder));
}


//
// Looks for a text in what was written.
// Returns TRUE if it is there.
//

static
BOOLEAN
TestContains(
    _In_ const RTL_WRITER *Writer,
    _In_z_ PCSZ Text
    )
{
    ULONG Length = RtlLengthOfString(Text);
    ULONG Index;

    for (Index = 0; Index + Length <= Writer->LengthInBytes; Index++) {
        if (RtlAreBytesEqual(Writer->Buffer + Index, Text, Length)) {
            return TRUE;
        }
    }

    return FALSE;
}

#define TEST_OUTPUT(Expected) \
    TEST_EQUAL_TEXT(TestOut.Buffer, TestOut.LengthInBytes, Expected)


//
// Tests the validation of headers: a good one, each field made bad, every
// length that a file can be cut to.
//

static
VOID
TestHeaders(
    VOID
    )
{
    static const struct {
        ULONG Offset;
        ULONG SizeInBytes;
        ULONGLONG Value;
        CORE_HEADER_STATE State;
        PCSZ Field;
    } Cases[] = {
        { 0x000, 8, 0, CoreHeaderBeingCreated, "" },
        { 0x000, 1, 'X', CoreHeaderForeign, "Magic" },
        { 0x008, 2, 2, CoreHeaderNewerVersion, "MajorVersion" },
        { 0x008, 2, 0xFFFF, CoreHeaderNewerVersion, "MajorVersion" },
        { 0x008, 2, 0, CoreHeaderBad, "MajorVersion" },
        { 0x00C, 4, 4080, CoreHeaderBad, "HeaderSize" },
        { 0x00C, 4, 4104, CoreHeaderBad, "HeaderSize" },
        { 0x00C, 4, 0xFFFFFFF0, CoreHeaderBad, "HeaderSize" },
        { 0x010, 4, 8, CoreHeaderBad, "RecordSize" },
        { 0x028, 8, TEST_STACK_LIMIT, CoreHeaderBad, "StackBase" },
        { 0x028, 8, 0x300000000ULL, CoreHeaderBad, "StackBase" },
        { 0x080, 4, 0, CoreHeaderBad, "State" },
        { 0x080, 4, 4, CoreHeaderBad, "State" },
        { 0x120, 8, 0, CoreHeaderBad, "ModuleBase" },
        { 0x120, 8, 0x140000010ULL, CoreHeaderBad, "ModuleBase" },
        { 0x128, 4, 0, CoreHeaderBad, "ModuleSize" },
        { 0x128, 4, 0x80000001u, CoreHeaderBad, "ModuleSize" },
        { 0x148, 4, 1057, CoreHeaderBad, "ModulePathLength" },
        { 0x14C, 4, 0, CoreHeaderBad, "ModulePathLength" },
        { 0x150, 4, 0xFFFFFFFF, CoreHeaderBad, "ProcessPathLength" },
        { 0x158, 4, 769, CoreHeaderBad, "CommandLineLength" },
        { 0x160, 4, 545, CoreHeaderBad, "PdbPathLength" },
        { 0x168, 4, 161, CoreHeaderBad, "ThreadNameLength" },

        //
        // What a reader must accept: a newer minor version, a reason that it
        // does not know, a longer header, texts that were cut.
        //

        { 0x00A, 2, 9, CoreHeaderValid, "" },
        { 0x084, 4, 99, CoreHeaderValid, "" },
        { 0x00C, 4, 8192, CoreHeaderValid, "" },
        { 0x14C, 4, 30000, CoreHeaderValid, "" },
    };
    CORE_HEADER_RESULT Result;
    ULONG Index;
    ULONG Wrong;

    TestMakeStore(&TestStore, NULL, 0);
    TEST(CoreValidateHeader(&TestStore, 4096, &Result));
    TEST_EQUAL(Result.State, CoreHeaderValid);

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {

        TestDamaged = TestStore;
        RtlCopyBytes((PUCHAR)&TestDamaged + Cases[Index].Offset,
                     &Cases[Index].Value,
                     Cases[Index].SizeInBytes);
        TEST_EQUAL(CoreValidateHeader(&TestDamaged, 4096, &Result),
                   Cases[Index].State == CoreHeaderValid);
        TEST_EQUAL(Result.State, Cases[Index].State);
        TEST_EQUAL_STRING(Result.Field, Cases[Index].Field);
        if (Result.State == CoreHeaderBad && Cases[Index].Offset != 0x14C) {
            TEST_EQUAL(Result.FileOffset, Cases[Index].Offset);
        }
    }

    //
    // An unknown stack is allowed.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.StackBase = 0;
    TestDamaged.Header.StackLimit = 0;
    TEST(CoreValidateHeader(&TestDamaged, 4096, &Result));

    Wrong = 0;
    for (Index = 0; Index < 4096; Index++) {

        CORE_HEADER_STATE Expected =
            Index == 0 ? CoreHeaderBeingCreated : CoreHeaderTooShort;

        if (CoreValidateHeader(&TestStore, Index, &Result) ||
            Result.State != Expected) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);

    RtlZeroBytes(&TestDamaged, sizeof(TestDamaged));
    for (Index = 0; Index <= 4096; Index++) {
        if (CoreValidateHeader(&TestDamaged, Index, &Result) ||
            Result.State != CoreHeaderBeingCreated) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
}


//
// Tests the validation of records.
//

static
VOID
TestRecords(
    VOID
    )
{
    CORE_RECORD_CHECK Check;
    TRACE_RECORD Record;
    ULONG Kind;

    TestMakeStore(&TestStore, NULL, 0);
    CoreInitializeRecordCheck(&Check, &TestStore.Header);

    Record.Timestamp = 50;
    Record.Site = 0x40000000;
    for (Kind = 0; Kind < 8; Kind++) {
        Record.StackKind = 0x1FF000 | Kind;
        TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE),
                   Kind >= 1 && Kind <= 5 ? CoreRecordValid
                                          : CoreRecordBadKind);
    }

    Record.StackKind = 0x1FF001;
    Record.Site = 0x4000FFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    Record.Site = 0x40010000;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);
    Record.Site = 0x3FFFFFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);

    Record.Site = 0x40000000;
    Record.Timestamp = 49;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadTime);
    Record.Timestamp = 50;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    TEST_EQUAL(Check.PreviousTimestamp, 50);

    Record.Timestamp = 0;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, TRUE), CoreRecordReserved);
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordMissing);

    //
    // A module that crosses a multiple of 4 GiB.
    //

    Check.ModuleBase = 0xFFFFF000;
    Check.ModuleSize = 0x2000;
    Check.PreviousTimestamp = 0;
    Record.Timestamp = 1;
    Record.Site = 0xFFF;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordValid);
    Record.Site = 0x1000;
    TEST_EQUAL(CoreValidateRecord(&Check, &Record, FALSE), CoreRecordBadSite);

    Record.StackKind = 0x100001;
    TEST(CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x200001;
    TEST(CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x200009;
    TEST(!CoreIsOnThreadStack(&Check, &Record));
    Record.StackKind = 0x0FFFF9;
    TEST(!CoreIsOnThreadStack(&Check, &Record));
    Check.StackSize = 0;
    TEST(CoreIsOnThreadStack(&Check, &Record));
}


//
// Writes an event: + enter (= by a tail call), - exit, ! abandoned, ?
// unmatched, ~ open; the site; and for the ends @depth, inclusive and self
// ticks.
//

static
VOID
TestWriteEvent(
    _Inout_ PRTL_WRITER Writer,
    _In_ const CORE_EVENT *Event
    )
{
    static const CHAR Marks[] = { '+', '-', '!', '?', '~', '=' };

    RtlWriteText(Writer,
                 "%s%c%llx",
                 Writer->LengthInBytes != 0 ? " " : "",
                 Marks[Event->Kind == CoreEventEnter && Event->IsTailCall
                           ? 5
                           : Event->Kind],
                 Event->Site);
    if (Event->Kind == CoreEventEnter || Event->Kind == CoreEventUnmatched) {
        return;
    }

    RtlWriteText(Writer,
                 "@%u:%llu/%llu",
                 Event->Depth,
                 Event->InclusiveTicks,
                 Event->SelfTicks);
}

typedef struct _TEST_CALL {
    ULONGLONG Timestamp;
    ULONG Site;
    ULONG Stack;
    ULONG Kind;
    ULONG Function;             // what the image would say, if it is there
    ULONG FrameSize;
    ULONG Flags;
    ULONG BodySize;
    ULONG JumpTarget;
} TEST_CALL;

typedef struct _TEST_PAIRING {
    PCSZ What;
    TEST_CALL Calls[16];        // Kind 0 ends them
    PCSZ Events;
} TEST_PAIRING;

//
// The stack of these is 0x10000 to 0x20000.
//

static const TEST_PAIRING TestPairings[] = {

    //
    // What only the image can tell.  A function's frame of 0x100 bytes is
    // given as N: RSP at its entry hook is that far below its return address.
    //

    { "MSVC: after an exception a function with a larger frame",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1E000, TEST_N, 0xC, 0xFF8, TEST_K, 0, 0 },
        { 40, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b !b@1:10/10 +c -c@1:10/10 -a@0:40/20" },

    { "the same without the image: it is taken for a call from there",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1EFB8, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 50, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:10/10 !b@1:30/20 -a@0:40/10" },

    { "MSVC: a call of a function with a larger frame",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1DFB8, TEST_N, 0xC, 0xFF8, TEST_K, 0, 0 },
        { 40, 0xC, 0x1DFB8, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 45, 0xB, 0x1EFB8, TEST_X, 0xB, 0, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b +c -c@2:10/10 -b@1:25/15 -a@0:40/15" },

    { "MSVC: alloca after a call that was left; the exit is below it",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 50, 0xA, 0x1D000, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 } },
      "+a +b !b@1:30/30 -a@0:40/10" },

    { "MSVC: alloca, recursion: the innermost is the one",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xA, 0x1E000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 30, 0xB, 0x1DF00, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1D000, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 },
        { 50, 0xA, 0x1E800, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 } },
      "+a +a +b !b@2:10/10 -a@1:20/10 -a@0:40/20" },

    { "an exit of a function that moves RSP and is not open",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1E000, TEST_X, 0xB, 0, TEST_K | TEST_D, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a ?b -a@0:40/40" },

    { "function hooks: left by longjmp and called again in a loop",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 40, 0xC, 0x1EFB8, TEST_XF, 0xC, 0x40, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +c !c@1:10/10 +c -c@1:10/10 -a@0:40/20" },

    { "function hooks: inlined, at its caller's RSP",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +b -b@1:20/20 -a@0:40/20" },

    { "function hooks: inlined once, left, and entered again",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 25, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 30, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +b +c !c@2:5/5 !b@1:10/5 +b -b@1:10/10 -a@0:40/20" },

    { "function hooks: inlined into what was inlined, and a call from there",
      { { 10, 0xE, 0x1F000, TEST_NF, 0xE, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 25, 0xC, 0x1F000, TEST_NF, 0xC, 0x20, TEST_K, 0, 0 },
        { 30, 0xD, 0x1EFB8, TEST_NF, 0xD, 0x40, TEST_K, 0, 0 },
        { 35, 0xC, 0x1F000, TEST_XF, 0xC, 0x20, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xE, 0x1F000, TEST_XF, 0xE, 0x40, TEST_K, 0, 0 } },
      "+e +b +c +d !d@3:5/5 -c@2:10/5 -b@1:20/10 -e@0:40/20" },

    { "function hooks: RSP moved down, past calls that were left",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1D000, TEST_XF, 0xA, 0x40, TEST_K | TEST_D, 0, 0 } },
      "+a +c !c@1:20/20 -a@0:30/10" },

    { "function hooks: above a return address nothing exits",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xA, 0x1E000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +a !a@1:20/20 -a@0:30/10" },

    { "gcc: a jump in tail position to a known function",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0, TEST_K, 0, 0 },
        { 20, 0xB, 0x1E000, TEST_N, 0xB, 0, TEST_K, 0, 0 },
        { 25, 0xB, 0x1E000, TEST_X, 0xB, 0, TEST_K, 0, 0xC },
        { 30, 0xC, 0x1E000, TEST_N, 0xC, 0, TEST_K, 0, 0 },
        { 35, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 37, 0xC, 0x1E000, TEST_N, 0xC, 0, TEST_K, 0, 0 },
        { 38, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 40, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b -b@1:5/5 =c -c@1:5/5 +c -c@1:1/1 -a@0:30/19" },

    { "a fiber's function with a frame of 1 MiB is on the same fiber",
      { { 10, 0xA, 0x900000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x800000, TEST_N, 0xB, 0xFFFF8, TEST_K, 0, 0 },
        { 30, 0xB, 0x800000, TEST_X, 0xB, 0, TEST_K, 0, 0 },
        { 40, 0xA, 0x900000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b -b@1:10/10 -a@0:30/20" },

    { "nesting",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 27, 0xC, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 53, 0xD, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:2/2 -b@1:10/8 +d -d@1:3/3 -a@0:50/37" },

    { "recursion",
      { { 0x10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 0x11, 0xA, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 0x13, 0xA, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 0x16, 0xA, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 0x1A, 0xA, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 0x1F, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +a +a -a@2:3/3 -a@1:9/6 -a@0:15/6" },

    { "leaf above a framed caller, one word apart",
      { { 1, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 2, 0xB, 0x1EFF8, TEST_N, TEST_NO_IMAGE },
        { 3, 0xB, 0x1EFF8, TEST_X, TEST_NO_IMAGE },
        { 4, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b -b@1:1/1 -a@0:3/2" },

    { "an exception past two frames, caught, then the next call",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xD, 0x1E800, TEST_N, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E800, TEST_X, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c !c@2:10/10 !b@1:20/10 +d -d@1:10/10 -a@0:50/20" },

    { "longjmp to the catcher, which then returns",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c !c@2:30/30 !b@1:40/10 -a@0:50/10" },

    { "a call in tail position: the same RSP is entered again",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 35, 0xC, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b !b@1:5/5 +c -c@1:10/10 -a@0:30/15" },

    { "alloca: the exit's RSP is below the entry's",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1C000, TEST_N, TEST_NO_IMAGE },
        { 27, 0xC, 0x1C000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:2/2 -b@1:10/8 -a@0:30/20" },

    { "exits without entries at the start",
      { { 10, 0xB, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 20, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xC, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "?b ?a +c -c@0:10/10" },

    { "an exit above every frame",
      { { 10, 0xA, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b !b@1:10/10 !a@0:20/10 ?c" },

    { "frames open at the end",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 35, 0xC, 0x1D000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:5/5 ~b@1:15/10 ~a@0:25/10" },

    { "function hooks",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b -b@1:10/10 -a@0:30/20" },

    { "function hooks: gcc jumps to the exit hook after the epilogue",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xB, 0x1EFF8, TEST_XF, TEST_NO_IMAGE },
        { 35, 0xC, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 37, 0xC, 0x1F000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F040, TEST_XF, TEST_NO_IMAGE } },
      "+a +b -b@1:10/10 +c -c@1:2/2 -a@0:30/18" },

    { "function hooks: a recursive function jumps to the exit hook",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F040, TEST_XF, TEST_NO_IMAGE } },
      "+a +a -a@1:10/10 -a@0:30/20" },

    { "function hooks: longjmp past a frame, the catcher returns",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_NF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b +c !c@2:10/10 !b@1:20/10 -a@0:30/10" },

    { "function hooks: an exit of a function that is not open",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xD, 0x1E000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b ?d -b@1:20/20 ~a@0:30/10" },

    { "function hooks: RSP moved down since the entry",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1D000, TEST_XF, TEST_NO_IMAGE } },
      "+a -a@0:10/10" },

    { "function hooks: a frame farther out is not taken",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xA, 0x1D000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b ?a ~b@1:10/10 ~a@0:20/10" },

    { "both kinds: each inside the other",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xC, 0x1DFF8, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1DFF8, TEST_X, TEST_NO_IMAGE },
        { 50, 0xB, 0x1EFF8, TEST_XF, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:10/10 -b@1:30/20 -a@0:50/20" },

    { "both kinds: an exit does not close the other kind's frame",
      { { 10, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE } },
      "+b ?a -b@0:20/20" },

    { "a fiber leaves the thread's frames open",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x900000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x8FF000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xD, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 60, 0xC, 0x8FF000, TEST_X, TEST_NO_IMAGE },
        { 70, 0xB, 0x900000, TEST_X, TEST_NO_IMAGE },
        { 80, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c +d -d@1:10/10 -c@1:30/10 -b@0:50/20 -a@0:70/20" },

    { "two fibers, one below the other",
      { { 10, 0xA, 0x900000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x800000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xA, 0x900000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xB, 0x800000, TEST_X, TEST_NO_IMAGE } },
      "+a +b -a@0:20/10 -b@0:20/10" },
};


//
// Says what may have been inlined: 0xB into 0xA once, and any function into
// 0xE.
// Outer: the function around.
// Inner: the function inside.
// Returns how often.
//

static
ULONG
TestCountInlined(
    _In_opt_ PVOID Context,
    _In_ ULONGLONG Outer,
    _In_ ULONGLONG Inner
    )
{
    (VOID)Context;
    if (Outer == 0xE) {
        return 0xFFFFFFFF;
    }

    return Outer == 0xA && Inner == 0xB;
}


//
// Pairs one list of calls.
// Pairing: the list and its events.
// Shift: added to every RSP and to the stack's range: pairing is modulo 2^32.
//

static
VOID
TestPairOne(
    _In_ const TEST_PAIRING *Pairing,
    _In_ ULONG Shift
    )
{
    CORE_PAIR Pair;
    CORE_EVENT Event;
    CORE_CALL Call;
    RTL_WRITER Writer;
    ULONG Index;

    RtlZeroBytes(&Call, sizeof(Call));
    RtlInitializeBufferWriter(&Writer, TestEventText, sizeof(TestEventText));
    if (!TEST_SUCCESS(CoreInitializePair(&Pair,
                                         &TestCountingAllocator,
                                         0x20000ULL + Shift,
                                         0x10000ULL + Shift))) {
        return;
    }

    Pair.CountInlined = TestCountInlined;

    for (Index = 0;
         Index < RTL_NUMBER_OF(Pairing->Calls) &&
             Pairing->Calls[Index].Kind != 0;
         Index++) {

        Call.Timestamp = Pairing->Calls[Index].Timestamp;
        Call.Site = Pairing->Calls[Index].Site;
        Call.Stack = Pairing->Calls[Index].Stack + Shift;
        Call.Kind = Pairing->Calls[Index].Kind;
        Call.Function = Pairing->Calls[Index].Function;
        Call.JumpTarget = Pairing->Calls[Index].JumpTarget;
        Call.FrameSize = Pairing->Calls[Index].FrameSize;
        Call.BodySize = Pairing->Calls[Index].BodySize;
        Call.Flags = Pairing->Calls[Index].Flags;
        TEST_SUCCESS(CoreAddCall(&Pair, &Call));
        while (CoreNextEvent(&Pair, &Event)) {
            TestWriteEvent(&Writer, &Event);
        }
    }

    CoreFinishPair(&Pair);
    while (CoreNextEvent(&Pair, &Event)) {
        TestWriteEvent(&Writer, &Event);
    }

    if (!TEST_EQUAL_TEXT(Writer.Buffer,
                         Writer.LengthInBytes,
                         Pairing->Events)) {
        RtlWriteText(TestOutput, "    in: %s\n", Pairing->What);
    }

    CoreRundownPair(&Pair);
}


static
VOID
TestPairing(
    VOID
    )
{
    static const ULONG Shifts[] = { 0, 0x7FFE0000, 0xFFFE2000, 0xFFFE0000 };
    CORE_PAIR Pair;
    CORE_EVENT Event;
    CORE_CALL Call;
    ULONG Index;
    ULONG Shift;
    ULONG Wrong;

    //
    // The shifts put the stack across 2 GiB and across 4 GiB.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(TestPairings); Index++) {
        for (Shift = 0; Shift < RTL_NUMBER_OF(Shifts); Shift++) {
            TestPairOne(&TestPairings[Index], Shifts[Shift]);
        }
    }

    //
    // 200,000 calls deep and back, in memory that is bounded by the depth.
    //

    RtlZeroBytes(&Call, sizeof(Call));
    Call.Kind = TEST_N;
    TEST_SUCCESS(CoreInitializePair(&Pair,
                                    &TestCountingAllocator,
                                    0x40000000,
                                    0x10000000));
    Wrong = 0;
    for (Index = 0; Index < 200000; Index++) {
        Call.Timestamp = Index;
        Call.Site = Index;
        Call.Stack = 0x3FFFFFF0 - Index * 16;
        if (!NT_SUCCESS(CoreAddCall(&Pair, &Call)) ||
            !CoreNextEvent(&Pair, &Event) ||
            Event.Depth != Index) {
            Wrong += 1;
        }
    }

    Call.Kind = TEST_X;
    for (Index = 200000; Index != 0; Index--) {
        Call.Timestamp = 400000 - Index;
        Call.Stack = 0x3FFFFFF0 - (Index - 1) * 16;
        if (!NT_SUCCESS(CoreAddCall(&Pair, &Call)) ||
            !CoreNextEvent(&Pair, &Event) ||
            Event.Kind != CoreEventExit ||
            Event.Site != Index - 1 ||
            Event.InclusiveTicks != 2 * (200000ULL - Index) + 1) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
    TEST(CoreCurrentFrame(&Pair) == NULL);

    //
    // Bad use is refused: an unknown kind, a call while events are left.
    //

    Call.Kind = 6;
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_INVALID_PARAMETER);
    Call.Kind = TEST_N;
    TEST_SUCCESS(CoreAddCall(&Pair, &Call));
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_INVALID_PARAMETER);
    CoreRundownPair(&Pair);

    //
    // Without memory nothing changes.
    //

    TEST_SUCCESS(CoreInitializePair(&Pair,
                                    &TestCountingAllocator,
                                    0x20000,
                                    0x10000));
    TestFailFrom = TestNumberOfAllocations;
    Call.Stack = 0x1F000;
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_NO_MEMORY);
    TEST(!CoreNextEvent(&Pair, &Event));
    TestFailFrom = ~0ULL;
    TEST_SUCCESS(CoreAddCall(&Pair, &Call));
    TEST(CoreNextEvent(&Pair, &Event));
    CoreRundownPair(&Pair);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Tests the clock, with numbers worked out by hand (2^64 is
// 18446744073709551616).
//

static
VOID
TestClocks(
    VOID
    )
{
    TRACE_CLOCK_ANCHOR Anchor;
    CORE_CLOCK Clock;
    ULONGLONG High;
    ULONGLONG Low;
    ULONGLONG Value;

    CoreMultiply(~0ULL, ~0ULL, &High, &Low);
    TEST_EQUAL(High, 0xFFFFFFFFFFFFFFFEULL);
    TEST_EQUAL(Low, 1);
    CoreMultiply(0x123456789ABCDEF0ULL, 0x0FEDCBA987654321ULL, &High, &Low);
    TEST_EQUAL(High, 0x0121FA00AD77D742ULL);
    TEST_EQUAL(Low, 0x2236D88FE5618CF0ULL);

    TEST_EQUAL(CoreDivide(0, 100, 7), 14);
    TEST_EQUAL(CoreDivide(1, 0, 2), 0x8000000000000000ULL);
    TEST_EQUAL(CoreDivide(1, 0, 3), 0x5555555555555555ULL);
    TEST_EQUAL(CoreDivide(~0ULL - 1, ~0ULL, ~0ULL), ~0ULL);
    TEST_EQUAL(CoreDivide(5, 0, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, ~0ULL, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, ~0ULL - 1, 5), ~0ULL);
    TEST_EQUAL(CoreDivide(4, 0, 5), 0xCCCCCCCCCCCCCCCCULL);
    TEST_EQUAL(CoreMultiplyDivide(~0ULL, ~0ULL, ~0ULL), ~0ULL);
    TEST_EQUAL(CoreMultiplyDivide(~0ULL, 10, 9), ~0ULL);
    TEST_EQUAL(CoreMultiplyDivide(1000000007ULL * 1000000000ULL, 9, 10),
               900000006300000000ULL);

    //
    // No anchor, one anchor, a torn one, one of another counter.
    //

    CoreInitializeClock(&Clock);
    TEST(!CoreTicksToNanoseconds(&Clock, 55, &Value));
    TEST_EQUAL(Value, 55);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, 5), 0);

    TestSetAnchor(&Anchor, 5000);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST(!CoreTicksToNanoseconds(&Clock, 55, &Value));
    TestSetAnchor(&Anchor, 1000000000);
    Anchor.Qpc ^= 1;
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.Qpc ^= 1;
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY + 1));
    TEST(!CoreAddAnchor(&Clock, &Anchor, 0));
    RtlZeroBytes(&Anchor, sizeof(Anchor));
    TEST(!CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));

    //
    // The two farthest apart count, in whatever order they come.
    //

    TestSetAnchor(&Anchor, 2000000000);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TestSetAnchor(&Anchor, 0);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST_EQUAL(Clock.Nanoseconds, 2000000000);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 1000000000);
    TEST(CoreTicksToNanoseconds(&Clock, ~0ULL, &Value));
    TEST_EQUAL(Value, ~0ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 123456789, &Value));
    TEST_EQUAL(Value, 123456789);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, TEST_FIRST_TICK + 1000),
               TEST_SYSTEM_TIME + 10);
    TEST_EQUAL(CoreTimestampToSystemTime(&Clock, TEST_FIRST_TICK - 1000),
               TEST_SYSTEM_TIME - 10);

    //
    // 2.5 GHz for thirty years: ticks * nanoseconds is far beyond 64 bits.
    // 30 years of 365 days are 946,080,000 s.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.Tsc += 2365200000000000000ULL;
    Anchor.Qpc += 9460800000000000ULL;
    Anchor.SystemTime += 9460800000000000ULL;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    TEST(CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST_EQUAL(CoreQueryTickRate(&Clock), 2500000000ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 2365200000000000000ULL, &Value));
    TEST_EQUAL(Value, 946080000000000000ULL);
    TEST(CoreTicksToNanoseconds(&Clock, 5, &Value));
    TEST_EQUAL(Value, 2);

    //
    // A rate that no processor has is none; time that stands still neither.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    Anchor.Tsc += 1000;
    Anchor.Qpc += 100000000;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);
    Anchor.Tsc += 1000000;
    Anchor.Qpc = Clock.Earliest.Qpc;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TEST_EQUAL(CoreQueryTickRate(&Clock), 0);

    //
    // The same boot: QPC and system time went on alike.
    //

    CoreInitializeClock(&Clock);
    TestSetAnchor(&Anchor, 0);
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
    TestSetAnchor(&Anchor, 3600000000000ULL);
    TEST(CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY * 2));
    Anchor.SystemTime += 4 * 10000000ULL;
    TEST(CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    Anchor.SystemTime += 600 * 10000000ULL;
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
    TestSetAnchor(&Anchor, 3600000000000ULL);
    Anchor.Tsc = 1;
    TEST(!CoreIsSameBoot(&Clock, &Anchor, TEST_QPC_FREQUENCY));
}

//
// The live end under a writer that changes its view all the time.  Ends are
// multiples of 0x1000; a cursor of one view with the delta of another is none,
// because the views' deltas differ in their low bits.
//

static TRACE_STORE_HEADER TestLiveHeader;
static ULONG TestLiveStop;


//
// Changes views until it is told to stop, as the writer's slow path does.
// Returns 0.
//

static
ULONG
WINAPI
TestLiveWriter(
    _In_ PVOID Parameter
    )
{
    PTRACE_STORE_HEADER Header = &TestLiveHeader;
    uint32_t Generation = 0;
    uint64_t View = 0;

    UNREFERENCED_PARAMETER(Parameter);

    while (RtlLoadAcquire32(&TestLiveStop) == 0) {

        View += 1;
        RtlStoreRelease64(&Header->ViewFileOffset, View * 0x1000);
        RtlStoreRelease32(&Header->Generation, Generation + 1);
        RtlStoreRelease64(&Header->Cursor, View * 0x10001);

        //
        // Now and then it is interrupted where the two do not fit together.
        //

        if (View % 64 == 0) {
            TestRtl->NtYieldExecution();
        }

        RtlStoreRelease64(&Header->CursorToFileOffset,
                          View * 0x1000 - View * 0x10001);
        Generation += 2;
        RtlStoreRelease32(&Header->Generation, Generation);
    }

    return 0;
}


//
// Decides what an end of records is in a store without a ring.
// Returns what it is.
//

static
CORE_END_STATE
TestFindEnd(
    _In_ ULONGLONG EndOfRecords,
    _In_ ULONGLONG FileSize
    )
{
    CORE_RANGE Range;

    TestMakeStore(&TestOther, NULL, 0);
    return CoreFindRecords(&TestOther.Header,
                           EndOfRecords,
                           4096,
                           FileSize,
                           &Range);
}


//
// Tests the live end of the records.
//

static
VOID
TestLiveEnds(
    VOID
    )
{
    PTRACE_STORE_HEADER Header = &TestLiveHeader;
    LARGE_INTEGER Second;
    TRACE_RECORD Records[3];
    TRACE_RECORD Copies[3];
    HANDLE Thread;
    ULONGLONG End;
    ULONGLONG Last = 0;
    ULONG Index;
    ULONG Torn = 0;
    ULONG Wrong = 0;
    NTSTATUS Status;

    TestSetEnd(Header, 0x5010);
    Header->ViewFileOffset = 0x4000;
    TEST(CoreReadEndOfRecords(Header, &End));
    TEST_EQUAL(End, 0x5010);
    Header->Generation = 7;
    TEST(CoreReadEndOfRecords(Header, &End));
    TEST_EQUAL(End, 0x4000);
    Header->Generation = 0;

    TEST_EQUAL(TestFindEnd(4096, 4096), CoreEndValid);
    TEST_EQUAL(TestFindEnd(4112, 65536), CoreEndValid);
    TEST_EQUAL(TestFindEnd(4080, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(4104, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(0, 65536), CoreEndBad);
    TEST_EQUAL(TestFindEnd(~0ULL - 15, 65536),
               CoreEndBeyondFile);
    TEST_EQUAL(TestFindEnd(4112, 4111),
               CoreEndBeyondFile);

    for (Index = 0; Index < 3; Index++) {
        Records[Index].Timestamp = Index + 10;
        Records[Index].Site = Index + 20;
        Records[Index].StackKind = Index + 30;
    }

    CoreCopyRecords(Copies, Records, 3);
    TEST_EQUAL_BYTES(Copies, Records, sizeof(Records));

    RtlZeroBytes(Header, sizeof(*Header));
    Thread = CreateThread(NULL,
                          0,
                          TestLiveWriter,
                          NULL,
                          0,
                          NULL);
    Status = Thread == NULL ? STATUS_NO_MEMORY : STATUS_SUCCESS;
    if (!TEST_SUCCESS(Status)) {
        return;
    }

    for (Index = 0; Index < 20000000; Index++) {

        if (CoreReadEndOfRecords(Header, &End)) {
            if (End % 0x1000 != 0 || End < Last) {
                Wrong += 1;
            }
            Last = End;
        }

        //
        // The control: without the generation, torn ends are seen.
        //

        End = RtlLoadAcquire64(&Header->Cursor);
        End += RtlLoadAcquire64(&Header->CursorToFileOffset);
        if (End % 0x1000 != 0) {
            Torn += 1;
        }

        if (Torn > 100 && Index > 200000) {
            break;
        }
    }

    RtlStoreRelease32(&TestLiveStop, 1);
    Second.QuadPart = -10000000LL * 600;
    TEST_STATUS(TestRtl->NtWaitForSingleObject(Thread, FALSE, &Second),
                STATUS_SUCCESS);
    RtlClose(TestRtl, Thread);
    TEST_EQUAL(Wrong, 0);
    if (Torn == 0) {
        TEST_SKIP("no torn end was seen without the generation");
    } else {
        TEST(Torn != 0);
    }
}

//
// The session that the commands are tested on.
//
// Thread 100, in app.exe: main (0x1000) calls work (0x2000) three times, the
// first of which calls itself once; the third is left by a longjmp; main is
// still open at the end.  In nanoseconds.
//

static const TRACE_RECORD TestMainRecords[] = {
    { 1000, 0x1000, 0x1FF000 | TEST_N },
    { 2000, 0x2000, 0x1FE000 | TEST_N },
    { 3000, 0x2000, 0x1FD000 | TEST_N },
    { 4500, 0x2000, 0x1FD000 | TEST_X },
    { 5000, 0x2000, 0x1FE000 | TEST_X },
    { 6000, 0x2000, 0x1FE000 | TEST_N },
    { 6300, 0x2000, 0x1FE000 | TEST_X },
    { 7000, 0x2000, 0x1FE000 | TEST_N },
    { 9000, 0x3000, 0x1FE800 | TEST_N },
    { 9999, 0x3000, 0x1FE800 | TEST_X },
};

//
// Thread 104: one call, in the middle of those.
//

static const TRACE_RECORD TestWorkerRecords[] = {
    { 2500, 0x4000, 0x5FF000 | TEST_N },
    { 1002500, 0x4000, 0x5FF000 | TEST_X },
};


//
// Returns TRUE if that worked.
//

static
BOOLEAN
TestWriteSession(
    VOID
    )
{
    if (!TestBeginSession()) {
        return FALSE;
    }

    TestMakeStore(&TestStore,
                  TestMainRecords,
                  RTL_NUMBER_OF(TestMainRecords));
    TestStore.Header.State = TRACE_STATE_OPEN;
    TestStore.Header.Reason = TRACE_REASON_NONE;
    TestMakeStore(&TestOther,
                  TestWorkerRecords,
                  RTL_NUMBER_OF(TestWorkerRecords));
    TestOther.Header.ThreadId = 104;
    TestOther.Header.StackBase = 0x600000;
    TestOther.Header.StackLimit = 0x500000;

    return TestWriteStore(
               L"app.exe-100-1.trace",
               &TestStore,
               TEST_STORE_SIZE(RTL_NUMBER_OF(TestMainRecords))) &&
           TestWriteStore(
               L"app.exe-104-2.TRACE",
               &TestOther,
               TEST_STORE_SIZE(RTL_NUMBER_OF(TestWorkerRecords))) &&
           TestWriteStore(L"app.exe.log", &TestStore, 20);
}


static
VOID
TestCommands(
    VOID
    )
{
    if (!TestWriteSession()) {
        return;
    }

    //
    // main: 1000 to 9999, less 3000, 300, 2000 and 999 of its calls.
    // work, total: 3000 + 300; self: 1500 + 1500 + 300; three of its calls
    // last 3000, 1500, 300: 1600 on average; one was left after 2000.
    //

    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,p50_ns,p90_ns,"
        "p99_ns,module,rva,folded,function,file,line\r\n"
        "1,1000000,1000000,1000000,1000000,1000000,0,0,0,0,0,"
        "1000000,1000000,1000000,app.exe,0x4000,,app.exe+0x4000,,\r\n"
        "1,8999,2700,8999,8999,8999,0,0,1,0,0,8999,8999,8999,"
        "app.exe,0x1000,,app.exe+0x1000,,\r\n"
        "4,3300,3300,1600,300,3000,1,2000,0,0,0,1503,3000,3000,"
        "app.exe,0x2000,,app.exe+0x2000,,\r\n"
        "1,999,999,999,999,999,0,0,0,0,0,999,999,999,"
        "app.exe,0x3000,,app.exe+0x3000,,\r\n");
    TEST(TestContains(&TestErr, "no function names for app.exe"));

    TEST_EQUAL(TestRun("report --thread 100 --sort calls --limit 2 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min"
        "         Max  Abandoned  Abandoned time  Unfinished  Function\n"
        "         4    3.300 us    3.300 us    1.600 us      300 ns"
        "    3.000 us          1        2.000 us           0  "
        "app.exe+0x2000\n"
        "         1    8.999 us    2.700 us    8.999 us    8.999 us"
        "    8.999 us          0            0 ns           1  "
        "app.exe+0x1000\n"
        "(1 function more: --limit)\n"
        "Abandoned: left without an exit (exception, longjmp, no return).  "
        "Their time, up to the record that showed it, is in no other column; "
        "that of calls inside others of the same function is in theirs.  "
        "What was called until then (by handlers, destructors) may be shown "
        "inside them.\n"
        "Unfinished: open at the end of the data; counted up to the thread's "
        "last record.\n");

    TEST_EQUAL(TestRun("report --csv --sort=name --module=APP --limit 1 @"),
               0);
    TEST(TestContains(&TestOut, "app.exe+0x1000,,\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x2000,,\r\n"));
    TEST_EQUAL(TestRun("report --csv --module other @"), 0);
    TEST(!TestContains(&TestOut, "app.exe+"));
    TEST(TestContains(&TestErr, "no module's name begins with other\n"));
    TEST_EQUAL(TestRun("report --csv --thread 5 @"), 0);
    TEST(!TestContains(&TestOut, "app.exe+"));
    TEST(TestContains(&TestErr, "there is no thread 5 (TraceReader threads "
                                "lists them)\n"));

    TEST_EQUAL(TestRun("tree --csv --thread 100 @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,node,parent,"
        "depth,track,thread,fiber,module,function\r\n"
        "1,8999,2700,8999,8999,8999,0,0,1,0,0,1,0,0,,,,"
        "app.exe,app.exe+0x1000\r\n"
        "3,3300,1800,1650,300,3000,1,2000,0,0,0,2,1,1,,,,"
        "app.exe,app.exe+0x2000\r\n"
        "1,1500,1500,1500,1500,1500,0,0,0,0,0,3,2,2,,,,"
        "app.exe,app.exe+0x2000\r\n"
        "1,999,999,999,999,999,0,0,0,0,0,4,1,1,,,,"
        "app.exe,app.exe+0x3000\r\n");
    TEST_EQUAL(TestRun("tree --per-thread --depth 1 --csv @"), 0);
    TEST(TestContains(&TestOut,
                      ",1,0,0,2,0,0,0,100,0,app.exe,app.exe+0x1000\r\n"));
    TEST(TestContains(&TestOut, ",0,0,1,104,0,app.exe,app.exe+0x4000\r\n"));
    TEST_EQUAL(TestRun("tree --per-thread --depth 1 @"), 0);
    TEST(TestContains(&TestOut, "  [thread 100]\n"));
    TEST(TestContains(&TestOut, "  [thread 104]\n"));
    TEST_EQUAL(TestRun("tree --depth 1 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min"
        "         Max  Unfinished  Function\n"
        "         1    1.000 ms    1.000 ms    1.000 ms    1.000 ms"
        "    1.000 ms           0  app.exe+0x4000\n"
        "         1    8.999 us    2.700 us    8.999 us    8.999 us"
        "    8.999 us           1  app.exe+0x1000\n"
        "Unfinished: open at the end of the data; counted up to the thread's "
        "last record.\n");

    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "           [   100] |   app.exe+0x2000() {\n"
        "  1.000 ms [   104] | app.exe+0x4000();\n"
        "  1.500 us [   100] |     app.exe+0x2000();\n"
        "  3.000 us [   100] |   } /* app.exe+0x2000 */\n"
        "    300 ns [   100] |   app.exe+0x2000();\n"
        "  2.000 us [   100] |   app.exe+0x2000(); /* abandoned */\n"
        "    999 ns [   100] |   app.exe+0x3000();\n"
        "  8.999 us [   100] | } /* app.exe+0x1000, open */\n");
    TEST_EQUAL(TestRun("replay --times --limit 3 @"), 0);
    TEST_OUTPUT(
        "             Time   Duration   Thread   Function\n"
        "      0.000000000            [   100] | app.exe+0x1000() {\n"
        "      0.000001000            [   100] |   app.exe+0x2000() {\n"
        "      0.000001500   1.000 ms [   104] | app.exe+0x4000();\n");
    TEST_EQUAL(TestRun("replay --json --thread 104 @"), 0);
    TEST_OUTPUT(
        "{\n\"command\": \"replay\",\n\"time_unit\": \"ns\",\n"
        "\"clock\": \"tsc\",\n"
        "\"events\": [\n"
        "{\"time_ns\": 1500, \"thread_id\": 104, \"event\": \"enter\", "
        "\"depth\": 0, \"duration_ns\": null, \"module\": \"app.exe\", "
        "\"function\": \"app.exe+0x4000\", \"fiber\": 0, "
        "\"tail_call\": 0, \"clock_jump\": 0, \"text\": null},\n"
        "{\"time_ns\": 1001500, \"thread_id\": 104, \"event\": \"exit\", "
        "\"depth\": 0, \"duration_ns\": 1000000, \"module\": \"app.exe\", "
        "\"function\": \"app.exe+0x4000\", \"fiber\": 0, "
        "\"tail_call\": null, \"clock_jump\": 0, "
        "\"text\": null}\n"
        "]\n}\n");

    TEST_EQUAL(TestRun("verify @"), 0);
    TEST_OUTPUT(
        "Store                                 State          Records       "
        "Bad      Lost  Result\n"
        "app.exe-100-1.trace                   died                10       "
        "  0         0  ok\n"
        "app.exe-104-2.TRACE                   closed               2       "
        "  0         0  ok\n"
        "2 stores, 12 records, 0 bad, 0 lost\n");

    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "table,row,field,value\r\n"));
    TEST(TestContains(&TestOut, "session,0,state,died\r\n"));
    TEST(TestContains(&TestOut,
                      "session,0,command_line,"
                      "\"app.exe \"\"a, b\"\" \\c\"\r\n"));
    TEST(TestContains(&TestOut, "session,0,clock_rate_hz,1000000000\r\n"));
    TEST(TestContains(&TestOut, "session,0,records,12\r\n"));
    TEST(TestContains(&TestOut, "session,0,bytes,8384\r\n"));
    TEST(TestContains(&TestOut,
                      "session,0,start_time,2022-06-18T04:26:40.000Z\r\n"));
    TEST(TestContains(&TestOut, "modules,0,base,0x140000000\r\n"));
    TEST(TestContains(&TestOut, "threads,0,thread_id,100\r\n"));
    TEST(TestContains(&TestOut, "threads,0,duration_ns,8999\r\n"));
    TEST(TestContains(&TestOut, "threads,1,state,closed\r\n"));
    TEST(TestContains(&TestOut, "threads,1,reason,thread exit\r\n"));
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut,
                      "\"command_line\": \"app.exe \\\"a, b\\\" \\\\c\""));
    TEST(TestContains(&TestOut, "\"reason\": null"));

    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut,
                      "The program died: it ended without closing "
                      "app.exe-100-1.trace."));

    //
    // One store alone.
    //

    TestMakePathIn(&TestPath, &TestSubfolder, L"app.exe-104-2.TRACE");
    TEST_EQUAL(TestRunWithPath("report --csv @", TestDosPath(&TestPath)), 0);
    TEST(TestContains(&TestOut, "1,1000000,"));
    TEST(!TestContains(&TestOut, "0x1000"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Writes a file of prefixes, beside the stores.
// Text: what is in it.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestWritePrefixes(
    _In_z_ PCSZ Text
    )
{
    return TestMakePathIn(&TestPrefixes, &TestSubfolder, L"prefixes.txt") &&
           TestWriteStore(L"prefixes.txt",
                          (const TEST_STORE *)(PVOID)Text,
                          RtlLengthOfString(Text));
}


//
// Tests --function and --exclude on the session. Its functions are shown as
// app.exe+0x1000, which calls 0x2000, which calls itself, and 0x3000; and
// 0x4000 on another thread.
//

static
VOID
TestFilters(
    VOID
    )
{
    if (!TestWriteSession() ||
        !TestWritePrefixes("\xEF\xBB\xBF# nothing\r\n\r\n"
                           "  app.exe+0x30\t\r\n-app.exe+0x3000\n"
                           "app.exe+0x4")) {
        return;
    }

    TEST_EQUAL(TestRun("report --function app.exe+0x2,app.exe+0x4 @"), 0);
    TEST_OUTPUT(
        "     Calls       Total        Self     Average         Min         Max"
        "  Abandoned  Abandoned time  Function\n"
        "         1    1.000 ms    1.000 ms    1.000 ms    1.000 ms    1.000 ms"
        "          0            0 ns  app.exe+0x4000\n"
        "         4    3.300 us    3.300 us    1.600 us      300 ns    3.000 us"
        "          1        2.000 us  app.exe+0x2000\n"
        "Abandoned: left without an exit (exception, longjmp, no return).  "
        "Their time, up to the record that showed it, is in no other column; "
        "that of calls inside others of the same function is in theirs.  "
        "What was called until then (by handlers, destructors) may be shown "
        "inside them.\n"
        "Not shown (--function, --exclude): 2 functions, 2 calls.\n");

    TEST_EQUAL(TestRun("replay --exclude app.exe+0x1,app.exe+0x4 "
                       "--exclude app.exe+0x3000 @"),
               0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] |   app.exe+0x2000() {\n"
        "  1.500 us [   100] |     app.exe+0x2000();\n"
        "  3.000 us [   100] |   } /* app.exe+0x2000 */\n"
        "    300 ns [   100] |   app.exe+0x2000();\n"
        "  2.000 us [   100] |   app.exe+0x2000(); /* abandoned */\n"
        "Not shown (--function, --exclude): 3 functions, 3 calls.\n");

    //
    // A tree has the way to a function; what is excluded is out with its
    // calls.
    //

    TEST_EQUAL(TestRun("tree --json --function app.exe+0x3 @"), 0);
    TEST(TestContains(&TestOut, "\"function\": \"app.exe+0x1000\"}"));
    TEST(TestContains(&TestOut, "\"function\": \"app.exe+0x3000\"}"));
    TEST(!TestContains(&TestOut, "app.exe+0x2000"));
    TEST(TestContains(&TestOut,
                      "\"not_shown\": [\n{\"nodes\": 3, \"calls\": 5}"));
    TEST_EQUAL(TestRun("tree @"), 0);
    TEST(TestContains(&TestOut, "Abandoned"));
    TEST_EQUAL(TestRun("tree --exclude app.exe+0x2 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x3000\n"));
    TEST(!TestContains(&TestOut, "Abandoned"));
    TEST_EQUAL(TestRun("tree --csv --exclude app.exe+0x1 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x4000\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x1000"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));

    //
    // A file.  It has 0x30.. but not 0x3000, and 0x4...
    //

    TEST_EQUAL(TestRun("report --csv --function @@ @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x4000,,\r\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x1000"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));
    TEST_EQUAL(TestRun("live --function app.exe+0x1 @"), 0);
    TEST(TestContains(&TestOut, "app.exe+0x1000\n"));
    TEST(!TestContains(&TestOut, "app.exe+0x3000"));
    TEST(TestContains(&TestOut, ": 3 functions, 6 calls.\n"));

    TEST_EQUAL(TestRun("report --exclude @@ @"), 1);
    TEST(TestContains(&TestErr, "prefixes.txt: line 4 begins with -, which "));
    TEST_EQUAL(TestOut.LengthInBytes, 0);
    TEST(TestWritePrefixes("# a\n\xC3("));
    TEST_EQUAL(TestRun("report --exclude @@ @"), 1);
    TEST(TestContains(&TestErr, "TraceReader: read the file of prefixes: "));
    TEST(TestContains(&TestErr, "prefixes.txt: line 2 is not text in UTF-8"));

    //
    // Nothing is left; and nothing was there.
    //

    TEST_EQUAL(TestRun("report --function APP @"), 3);
    TEST(TestContains(&TestErr, "--exclude leave no function"));
    TEST_EQUAL(TestRun("tree --exclude app @"), 3);
    TEST(TestContains(&TestErr, "--exclude leaves no function"));
    TEST_EQUAL(TestRun("replay --csv --exclude app @"), 3);
    TEST_EQUAL(TestRun("live --exclude app @"), 3);
    TEST_EQUAL(TestRun("report --thread 5 --function APP @"), 0);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Tests usage errors and help.
//

static
VOID
TestUsage(
    VOID
    )
{
    static const struct {
        PCSZ CommandLine;
        PCSZ Error;
    } Errors[] = {
        { "", "usage: TraceReader COMMAND" },
        { "reprot @", "unknown command reprot" },
        { "--csv @", "unknown option --csv" },
        { "report", "a session directory or store is missing" },
        { "report --foo @", "unknown option --foo" },
        { "report -x @", "unknown option -x" },
        { "info --sort total @", "unknown option --sort" },
        { "live --csv @", "unknown option --csv" },
        { "report --sortx total @", "unknown option --sortx" },
        { "report --sort speed @", "bad value \"speed\" for --sort" },
        { "report --sort", "the option needs a value: --sort" },
        { "report --limit 0 @", "bad value \"0\" for --limit" },
        { "report --limit 1x @", "bad value \"1x\" for --limit" },
        { "report --limit -1 @", "bad value \"-1\" for --limit" },
        { "report --thread 4294967296 @", "bad value" },
        { "report --csv=1 @", "the option takes no value" },
        { "report --module= @", "bad value" },
        { "live --interval 0 @", "bad value \"0\" for --interval" },
        { "report @ @", "too many arguments: " },
        { "report @ --function", "the option needs a value: --function" },
        { "report --function= @", "bad value \"\" for --function: it takes" },
        { "tree --function ,, @", "bad value \",,\" for --function" },
        { "replay --function a,- @", "bad value \"a,-\" for --function" },
        { "live --exclude=-a @", "bad value \"-a\" for --exclude" },
        { "report --exclude a --exclude @", "is missing" },
        { "report --function a --sort speed @", "bad value \"speed\"" },
        { "report --function=@ @", "bad value \"@\" for --function" },
        { "verify --exclude a @", "unknown option --exclude" },
        { "info --function a @", "unknown option --function" },
    };
    static const PCSZ Commands[] = {
        "info", "report", "tree", "replay", "live", "verify"
    };
    CHAR CommandLine[64];
    RTL_WRITER Writer;
    ULONG Index;

    if (!TestWriteSession()) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Errors); Index++) {
        TEST_EQUAL(TestRun(Errors[Index].CommandLine), 1);
        if (!TEST(TestContains(&TestErr, Errors[Index].Error))) {
            RtlWriteText(TestOutput,
                         "    %s: %.*s\n",
                         Errors[Index].CommandLine,
                         (int)TestErr.LengthInBytes,
                         TestErr.Buffer);
        }

        TEST_EQUAL(TestOut.LengthInBytes, 0);
    }

    TEST_EQUAL(TestRun("--help"), 0);
    TEST(TestContains(&TestOut, "Exit codes: 0 success;"));
    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {

        TEST(TestContains(&TestOut, Commands[Index]));
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {
        RtlInitializeBufferWriter(&Writer, CommandLine, sizeof(CommandLine));
        RtlWriteText(&Writer, "%s --help", Commands[Index]);
        CommandLine[Writer.LengthInBytes] = 0;
        TEST_EQUAL(TestRun(CommandLine), 0);
        TEST(TestContains(&TestOut, "--help"));
        TEST_EQUAL(TestErr.LengthInBytes, 0);
    }

    //
    // Paths that are not there, and a directory that is no session.
    //

    TestMakePathIn(&TestPath, &TestFolder, L"missing");
    for (Index = 0; Index < RTL_NUMBER_OF(Commands); Index++) {
        RtlInitializeBufferWriter(&Writer, CommandLine, sizeof(CommandLine));
        RtlWriteText(&Writer, "%s @", Commands[Index]);
        CommandLine[Writer.LengthInBytes] = 0;
        TEST_EQUAL(TestRunWithPath(CommandLine, TestDosPath(&TestPath)), 1);
        TEST(TestContains(&TestErr, "open the session: "));
        TEST(TestContains(&TestErr, "0xC0000034"));
        TEST_EQUAL(TestOut.LengthInBytes, 0);
    }

    TEST(TestBeginSession());
    TEST_EQUAL(TestRun("report @"), 1);
    TEST(TestContains(&TestErr,
                      "find a store (*.trace) in the directory or in one "));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Verifies TestDamaged, alone in a session, and reports it.
// SizeInBytes: the file's.
// ExitCode: what verify must return.
// Result: what its output must contain.
//

static
VOID
TestDamageOne(
    _In_ ULONG SizeInBytes,
    _In_ ULONG ExitCode,
    _In_z_ PCSZ Result
    )
{
    ULONG Code;

    if (!TestBeginSession() ||
        !TestWriteStore(L"a.trace", &TestDamaged, SizeInBytes)) {
        return;
    }

    TEST_EQUAL(TestRun("verify @"), ExitCode);
    if (!TEST(TestContains(&TestOut, Result))) {
        RtlWriteText(TestOutput,
                     "    %.*s    not: %s\n",
                     (int)TestOut.LengthInBytes,
                     TestOut.Buffer,
                     Result);
    }

    Code = TestRun("report --csv @");
    TEST(Code == 0 || Code == 1);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Tests damaged stores as files.
//

static
VOID
TestDamage(
    VOID
    )
{
    enum { Count = RTL_NUMBER_OF(TestMainRecords) };
    TRACE_RECORD Record;
    ULONG Size = TEST_STORE_SIZE(Count);
    ULONG Offset;
    ULONG Try;

    TestMakeStore(&TestStore, TestMainRecords, Count);

    //
    // The control.
    //

    TestDamaged = TestStore;
    TestDamageOne(Size, 0, "1 store, 10 records, 0 bad, 0 lost\n");
    TestDamageOne(Size + 160, 0, "1 store, 10 records, 0 bad, 0 lost\n");

    //
    // Files that are being created, and files that were cut.
    //

    TestDamageOne(0, 0, "being created\n1 store, 0 records, 0 bad, 0 lost");
    TestDamageOne(100, 2, "the file ends inside it, at offset 100\n");
    TestDamageOne(4095, 2, "the file ends inside it, at offset 4095\n");
    TestDamageOne(4096,
                  2,
                  "the file ends at offset 4096, 160 bytes before the end");
    TestDamageOne(Size - 1, 2, "1 store, 9 records, 1 bad, 0 lost\n");

    for (Try = 0; Try < 20; Try++) {
        Offset = 4096 + TestRandom(Size - 4096);
        TestDamageOne(Offset, 2, ", 1 bad, 0 lost\n");
        TEST_EQUAL(TestRun("verify --csv @"), 2);
    }

    TestDamaged.Header.Magic = 0;
    TestDamageOne(Size, 0, "being created\n");
    RtlZeroBytes(&TestDamaged, sizeof(TestDamaged));
    TestDamageOne(4096, 0, "being created\n");

    //
    // Headers.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.MajorVersion = 2;
    TestDamageOne(Size,
                  2,
                  "MajorVersion at offset 0x8 is newer than this reader");
    TEST_EQUAL(TestRun("report @"), 1);
    TEST(TestContains(&TestErr, "MajorVersion"));

    TestDamaged = TestStore;
    TestDamaged.Header.CommandLineLength = 0x7FFFFFFF;
    TestDamageOne(Size, 2, "CommandLineLength at offset 0x158");

    TestDamaged = TestStore;
    TestDamaged.Header.CursorToFileOffset += 1;
    TestDamageOne(Size, 2, "is not the end of a record");
    TestDamaged = TestStore;
    TestSetEnd(&TestDamaged.Header, 16);
    TestDamageOne(Size, 2, "is not the end of a record");
    TestDamaged = TestStore;
    TestSetEnd(&TestDamaged.Header, ~0ULL - 15);
    TestDamageOne(Size, 2, "10 records, 1 bad");

    //
    // Records.
    //

    TestDamaged = TestStore;
    TestDamaged.Records[4].StackKind |= 7;
    TestDamageOne(Size,
                  2,
                  "1 bad records, the first at offset 4160: of no known kind");
    TestDamaged = TestStore;
    TestDamaged.Records[9].Site = 5;
    TestDamageOne(Size, 2, "at offset 4240: from outside the module");
    TestDamaged = TestStore;
    TestDamaged.Records[1].Timestamp = 1;
    TestDamaged.Records[2].Timestamp = 2;
    TestDamageOne(Size,
                  2,
                  "2 bad records, the first at offset 4112: earlier than");
    TestDamaged = TestStore;
    RtlZeroBytes(&TestDamaged.Records[3], 5 * sizeof(Record));
    TestDamageOne(Size, 2, "5 bad records, the first at offset 4144: not wr");
    TEST(TestContains(&TestErr, "5 bad records skipped"));

    //
    // The last one may be reserved and not written, whatever is in the rest.
    //

    TestDamaged = TestStore;
    TestDamaged.Records[9].Timestamp = 0;
    TestDamageOne(Size, 0, "the last record was reserved but not written\n");
    TestDamaged.Records[8].Timestamp = 0;
    TestDamageOne(Size, 2, "1 bad records, the first at offset 4224: not wr");

    //
    // What was lost, and why.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.State = TRACE_STATE_STOPPED;
    TestDamaged.Header.Reason = TRACE_REASON_PAGE_FAILED;
    TestDamaged.Header.Status = 0xC000007F;
    TestDamaged.Header.NumberOfEventsLost = 77;
    TestDamageOne(Size,
                  2,
                  "stopped: a page of the file is not available (status "
                  "0xC000007F); 77 events lost after it stopped\n"
                  "1 store, 10 records, 0 bad, 77 lost\n");
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "State               stopped\n"));
    TEST(TestContains(&TestOut, "Status              0xc000007f\n"));
    TestDamaged.Header.NumberOfEventsLost = 0;
    TestDamageOne(Size, 0, "0 bad, 0 lost\n");
    TestDamaged.Header.NumberOfEventsReentered = 3;
    TestDamageOne(Size, 2, "3 events lost inside the library\n");

    //
    // A writer that was killed while its view changed.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.State = TRACE_STATE_OPEN;
    TestDamaged.Header.Generation = 3;
    TestDamaged.Header.ViewFileOffset = 4096 + 16 * 7;
    TestDamageOne(Size, 0, "died                 7         0         0  ok\n");

    //
    // Ill-formed texts come out as valid UTF-8.
    //

    TestDamaged = TestStore;
    TEST_SET_TEXT(&TestDamaged.Header, CommandLine, "x\xFF\xC3\x28\x01\t|");
    TestDamageOne(Size, 0, "ok");
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut,
                      "\"command_line\": \"x\xEF\xBF\xBD\xEF\xBF\xBD("
                      "\\u0001\\u0009|\""));
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "x\xEF\xBF\xBD\xEF\xBF\xBD(??|\n"));

    //
    // One clock reading of a boot that is over: ticks, and it says so.
    //

    TestDamaged = TestStore;
    TestDamaged.Header.LastAnchor.Check ^= 1;
    TestDamageOne(Size, 0, "ok");
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "Times are ticks of the time stamp counter"));
    TEST(TestContains(&TestOut, " 8999 "));
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"total_ticks\": 8999"));
}


//
// Tests sessions whose stores are not all alike: several modules on one
// thread, an identifier that was used again, a store of another process, one
// store that is bad among others.
//

static
VOID
TestMixedSessions(
    VOID
    )
{
    static const TRACE_RECORD Outer[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 4000, 0x1100, 0x1FD000 | TEST_N },
        { 5000, 0x1100, 0x1FD000 | TEST_X },
        { 9000, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Inner[] = {
        { 2000, 0x2000, 0x1FE000 | TEST_N },
        { 8000, 0x2000, 0x1FE000 | TEST_X },
    };
    static const TRACE_RECORD Later[] = {
        { 1000020000, 0x2000, 0x1FE000 | TEST_N },
        { 1000020010, 0x2000, 0x1FE000 | TEST_X },
    };

    if (!TestBeginSession()) {
        return;
    }

    TestMakeStore(&TestStore, Outer, RTL_NUMBER_OF(Outer));
    TestWriteStore(L"b.trace", &TestStore, TEST_STORE_SIZE(4));

    //
    // A DLL, loaded elsewhere; called from the EXE, and calling back.
    //

    TestMakeStore(&TestOther, Inner, RTL_NUMBER_OF(Inner));
    TestOther.Header.ModuleBase = 0x7FF800000000ULL;
    TestOther.Records[0].Site -= (uint32_t)TEST_MODULE_BASE;
    TestOther.Records[1].Site -= (uint32_t)TEST_MODULE_BASE;
    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(2));

    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "           [   100] |   plug.dll+0x2000() {\n"
        "  1.000 us [   100] |     app.exe+0x1100();\n"
        "  6.000 us [   100] |   } /* plug.dll+0x2000 */\n"
        "  8.000 us [   100] | } /* app.exe+0x1000 */\n");
    TEST_EQUAL(TestRun("report --csv --module plug @"), 0);
    TEST(TestContains(&TestOut,
                      "\n1,6000,5000,6000,6000,6000,0,0,0,0,0,6000,6000,"
                      "6000,plug.dll,"));
    TEST(!TestContains(&TestOut, "app.exe"));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "  Module            Function\n"));
    TEST(TestContains(&TestOut, "  plug.dll          plug.dll+0x2000\n"));

    //
    // The same identifier after the close is another thread; its store comes
    // first by name.
    //

    TestMakeStore(&TestOther, Later, RTL_NUMBER_OF(Later));
    TestWriteStore(L"0.trace", &TestOther, TEST_STORE_SIZE(2));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "threads,0,stores,2\r\n"));
    TEST(TestContains(&TestOut, "threads,1,stores,1\r\n"));
    TEST(TestContains(&TestOut, "threads,1,start_ns,1000019000\r\n"));

    //
    // Another process's store is no part of this session.
    //

    TestOther.Header.ProcessId += 4;
    TestWriteStore(L"c.trace", &TestOther, TEST_STORE_SIZE(2));
    TEST_EQUAL(TestRun("verify @"), 2);
    TEST(TestContains(&TestOut, "it is of another process ("));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,stores_left_out,1\r\n"));
    TEST(TestContains(&TestErr, "another process"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Appends records to a store as its writer would, and publishes them.
// Store: its header.
// NumberOfRecords: how many it has; updated.
// Records: the records, as for TestMakeStore, with time stamps as they are.
// Count: how many.
//

static
VOID
TestAppend(
    _In_ HANDLE File,
    _Inout_ TEST_STORE *Store,
    _Inout_ PULONG NumberOfRecords,
    _In_ PCTRACE_RECORD Records,
    _In_ ULONG Count
    )
{
    TRACE_RECORD Record;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {
        Record = Records[Index];
        Record.Site += (uint32_t)TEST_MODULE_BASE;
        TEST_SUCCESS(RtlWriteFile(TestRtl,
                                  File,
                                  TEST_STORE_SIZE(*NumberOfRecords),
                                  &Record,
                                  sizeof(Record)));
        *NumberOfRecords += 1;
    }

    TestSetEnd(&Store->Header, TEST_STORE_SIZE(*NumberOfRecords));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &Store->Header,
                              sizeof(Store->Header)));
}


//
// Refreshes TestStream and compares the events that come.
// Horizon: the time stamp to read up to.
//

static
VOID
TestReadEvents(
    _In_ ULONGLONG Horizon,
    _In_z_ PCSZ Expected
    )
{
    CORE_EVENT Event;
    RTL_WRITER Writer;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Writer, TestEventText, sizeof(TestEventText));
    Status = CallRefreshStream(&TestStream, Horizon);
    TEST_SUCCESS(Status);
    while (NT_SUCCESS(Status)) {
        Status = CallNextEvent(&TestStream, &Event);
        if (NT_SUCCESS(Status)) {
            TestWriteEvent(&Writer, &Event);
        }
    }

    TEST_STATUS(Status, STATUS_END_OF_FILE);
    TEST_EQUAL_TEXT(Writer.Buffer, Writer.LengthInBytes, Expected);
}


//
// Tests a store that grows while it is read, that this very process is said to
// write; then one more that its thread begins.
//

static
VOID
TestGrowing(
    VOID
    )
{
    static const TRACE_RECORD First[] = {
        { 100, 0x1000, 0x1FF000 | TEST_N },
        { 200, 0x2000, 0x1FE000 | TEST_N },
    };
    static const TRACE_RECORD Second[] = {
        { 260, 0x2000, 0x1FE000 | TEST_X },
        { 300, 0x3000, 0x1FE000 | TEST_N },
        { 0, 0, 0 },
    };
    static const TRACE_RECORD Third[] = {
        { 400, 0x3000, 0x1FE000 | TEST_X },
        { 900, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Plugin[] = {
        { 320, 0x4000, 0x1FD000 | TEST_N },
        { 380, 0x4000, 0x1FD000 | TEST_X },
    };
    static RTL_ERROR Error;
    RTL_CLOCK_READING Reading;
    LARGE_INTEGER Times[4];
    HANDLE File;
    ULONG Count = 0;
    ULONG OtherCount = 0;

    if (!TestBeginSession()) {
        return;
    }

    TEST_SUCCESS(TestRtl->NtQueryInformationProcess((HANDLE)(LONG_PTR)-1,
                                                    RTL_PROCESS_TIMES,
                                                    Times,
                                                    sizeof(Times),
                                                    NULL));
    TestMakeStore(&TestStore, NULL, 0);
    TestStore.Header.ProcessId =
        (ULONG)(ULONG_PTR)NtCurrentTeb()->Reserved1[8];
    TestStore.Header.ProcessCreationTime = (ULONGLONG)Times[0].QuadPart;
    TestStore.Header.State = TRACE_STATE_OPEN;
    TestStore.Header.Reason = TRACE_REASON_NONE;
    RtlZeroBytes(&TestStore.Header.LastAnchor, sizeof(TRACE_CLOCK_ANCHOR));
    RtlReadClocks(TestRtl, &Reading);
    TestStore.Header.QpcFrequency = Reading.QpcFrequency;
    TestStore.Header.OpenAnchor.Tsc = Reading.Tsc;
    TestStore.Header.OpenAnchor.Qpc = Reading.Qpc;
    TestStore.Header.OpenAnchor.SystemTime = Reading.SystemTime;
    TestStore.Header.OpenAnchor.Check =
        Reading.Tsc ^ Reading.Qpc ^ Reading.SystemTime;
    TestOther = TestStore;

    //
    // The file begins empty, then has a header without a magic.
    //

    TestMakePathIn(&TestPath, &TestSubfolder, L"a.trace");
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_CREATE_NEW,
                               &File));
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error))) {
        RtlClose(TestRtl, File);
        return;
    }

    TEST_EQUAL(TestSession.NumberOfStores, 1);
    TEST_EQUAL(TestSession.NumberOfValidStores, 0);
    TEST_SUCCESS(RtlSetFileSize(TestRtl, File, 65536));
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfValidStores, 0);

    TestAppend(File, &TestStore, &Count, First, RTL_NUMBER_OF(First));
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfValidStores, 1);
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TEST_EQUAL(SessionQueryProcess(&TestSession), ReaderProcessRunning);
    TEST(TestSession.IsClockRead);
    TEST(CoreQueryTickRate(&TestSession.Clock) != 0);

    TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE));
    TestReadEvents(~0ULL, "+1000 +2000");
    TestReadEvents(~0ULL, "");

    //
    // The horizon holds back what is later; a record that is not written yet
    // waits, and comes when it is.
    //

    TestAppend(File, &TestStore, &Count, Second, RTL_NUMBER_OF(Second));
    TestReadEvents(299, "-2000@1:60/60");
    TestReadEvents(300, "+3000");
    TEST(!CallHasWaitingRecords(&TestStream));

    //
    // The thread's store in another module appears; its records come in
    // between, by time.
    //

    Count -= 1;
    TestAppend(File, &TestStore, &Count, Third, RTL_NUMBER_OF(Third));
    RtlClose(TestRtl, File);

    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestMakePathIn(&TestPath, &TestSubfolder, L"b.trace");
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_CREATE_NEW,
                               &File));
    TestAppend(File, &TestOther, &OtherCount, Plugin, RTL_NUMBER_OF(Plugin));
    RtlClose(TestRtl, File);
    TEST_SUCCESS(SessionRefreshSession(&TestSession, &Error));
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TestReadEvents(500,
                   "+100004000 -100004000@2:60/60 -3000@1:100/40");
    TEST(CallHasWaitingRecords(&TestStream));
    TestReadEvents(~0ULL, "-1000@0:800/640");

    CallCloseStream(&TestStream);
    SessionCloseSession(&TestSession);

    //
    // The commands see the process run, and live ends when it is told to.
    //

    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,state,open\r\n"));
    TEST(TestContains(&TestOut, "session,0,process_running,yes\r\n"));
    TEST_EQUAL(TestRun("live --count 2 --interval 10 @"), 0);
    TEST(TestContains(&TestOut, "1 of 1 threads running, 8 records, 0 new"));
    TEST(!TestContains(&TestOut, "The program"));

    //
    // The control: the same stores of a process that was created at another
    // time.
    //

    TestStore.Header.ProcessCreationTime += 1;
    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(0));
    TestMakePathIn(&TestPath, &TestSubfolder, L"b.trace");
    TEST_SUCCESS(TestDeleteTree(&TestPath));
    TestSetEnd(&TestStore.Header, 4096);
    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(0));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "session,0,state,died\r\n"));
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Cuts a file off under the reader: an error of the store, not of this
// program.
//

static
VOID
TestCutOff(
    VOID
    )
{
    static RTL_ERROR Error;
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    PREADER_STORE Store;
    HANDLE File;
    ULONG Index;
    NTSTATUS Status;

    if (!TestBeginSession()) {
        return;
    }

    //
    // 8,192 records, in a file that has them.
    //

    TestMakeStore(&TestStore, NULL, 0);
    TestSetEnd(&TestStore.Header, TEST_STORE_SIZE(8192));
    for (Index = 0; Index < TEST_MAXIMUM_RECORDS; Index++) {
        TestStore.Records[Index].Timestamp = Index + 1;
        TestStore.Records[Index].Site = (uint32_t)TEST_MODULE_BASE;
        TestStore.Records[Index].StackKind = 0x1FF000 | TEST_N;
    }

    TestWriteStore(L"a.trace", &TestStore, sizeof(TestStore));
    if (!TEST_SUCCESS(RtlCreateFile(TestRtl,
                                    &TestPath.Nt,
                                    RTL_OPEN_ALWAYS,
                                    &File))) {
        return;
    }

    TEST_SUCCESS(RtlSetFileSize(TestRtl, File, TEST_STORE_SIZE(8192)));
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error))) {
        RtlClose(TestRtl, File);
        return;
    }

    Store = TestSession.Stores[0];
    TEST_SUCCESS(SessionOpenSessionStore(&TestSession, Store));
    TEST_SUCCESS(SessionInitializeIterator(&Iterator, &TestContext, Store));
    TEST_SUCCESS(SessionNextRecord(&Iterator, &Record));

    Status = RtlSetFileSize(TestRtl, File, 4096);
    if (!NT_SUCCESS(Status)) {
        TEST_SKIP("the system does not cut off a file that is mapped");
    } else {

        do {
            Status = SessionNextRecord(&Iterator, &Record);
        } while (NT_SUCCESS(Status));

        TEST_STATUS(Status, STATUS_IN_PAGE_ERROR);
        TEST_STATUS(Store->Status, STATUS_IN_PAGE_ERROR);
        TEST_EQUAL_STRING(Store->FailedStep, "read the records");
        TEST_EQUAL(Iterator.NumberOfRecords, TEST_MAXIMUM_RECORDS);
    }

    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    RtlClose(TestRtl, File);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Makes every allocation of every command fail in turn.
//

static
VOID
TestFailures(
    VOID
    )
{
    static const PCSZ CommandLines[] = {
        "info @",
        "report @",
        "tree @",
        "replay @",
        "live @",
        "verify @",
        "report --function app --exclude @@ @",
        "tree --exclude app.exe+0x2 --function @@ @",
        "report --percentiles @",
        "outliers app.exe+0x2000 @",
        "outliers --json --limit 2 app.exe+0x2 @",
        "callers app.exe+0x2000 --depth 3 @",
        "callees app.exe+0x1000 @",
        "threads @",
        "modules @",
        "diff @ @",
    };
    ULONGLONG Fail;
    ULONG Index;
    ULONG Code;

    if (!TestWriteSession() || !TestWritePrefixes("app.exe+0x4\n")) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(CommandLines); Index++) {

        for (Fail = 0; Fail < 1000; Fail++) {

            TestFailFrom = TestNumberOfAllocations + Fail;
            Code = TestRun(CommandLines[Index]);
            TestFailFrom = ~0ULL;
            if (TestNumberOfAllocations != TestNumberOfFrees) {
                break;
            }

            if (Code == 0) {
                break;
            }

            if (Code != 1 || TestErr.LengthInBytes == 0) {
                break;
            }
        }

        //
        // It ends with a success: every failure before was reported with exit
        // code 1, and nothing leaked.
        //

        TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
        TEST_EQUAL(Code, 0);
        TEST(Fail > 5 && Fail < 1000);
    }
}


//
// Reads stores with random bytes changed. Whatever they hold, the commands
// end, with one of their exit codes, and give all memory back.
//

static
VOID
TestRandomDamage(
    VOID
    )
{
    static const PCSZ CommandLines[] = {
        "verify @",
        "report --csv @",
        "tree --json @",
        "replay @",
        "info --json @",
        "outliers --csv app.exe+0x2000 @",
        "callers app.exe+0x2000 --json --depth 3 @",
        "callees app.exe+0x1000 @",
        "threads --json @",
        "modules @",
        "diff @ @"
    };
    PUCHAR Bytes = (PUCHAR)&TestDamaged;
    ULONG Size = TEST_STORE_SIZE(RTL_NUMBER_OF(TestMainRecords));
    ULONG Wrong = 0;
    ULONG Changes;
    ULONG Index;
    ULONG Try;
    ULONG Code;

    TestMakeStore(&TestStore,
                  TestMainRecords,
                  RTL_NUMBER_OF(TestMainRecords));
    if (!TestBeginSession()) {
        return;
    }

    for (Try = 0; Try < 150; Try++) {

        TestDamaged = TestStore;
        for (Changes = 1 + TestRandom(4); Changes != 0; Changes--) {

            //
            // Mostly where there is something: the fields and the records.
            //

            Index = TestRandom(4) == 0 ? TestRandom(Size)
                    : TestRandom(2) == 0
                        ? TestRandom(0x180)
                        : 4096 + TestRandom(Size - 4096);
            Bytes[Index] = (UCHAR)TestRandom(256);
        }

        TestWriteStore(L"a.trace", &TestDamaged, Size);
        Code = TestRun(CommandLines[Try % RTL_NUMBER_OF(CommandLines)]);
        if (Code > 3 || TestNumberOfAllocations != TestNumberOfFrees) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
}


//
// Rings.  Record number N, counted from the first that was ever written, is
// what TestMakeRingRecord makes of N, at position 4096 + 16 * N.
//

#define TEST_SEGMENT 0x10000u
#define TEST_SEGMENTS 3u
#define TEST_RING_FILE (TEST_SEGMENT * (TEST_SEGMENTS + 1))
#define TEST_IN_SEGMENT (TEST_SEGMENT / 16)

//
// Records before the ring.
//

#define TEST_BEFORE_RING (TEST_IN_SEGMENT - 256)

static union {
    TRACE_STORE_HEADER Header;
    UCHAR Bytes[TEST_RING_FILE];
} TestRing;


//
// Makes a record of a ring: calls, one after the other.
//

static
VOID
TestMakeRingRecord(
    _In_ ULONGLONG Number,
    _Out_ PTRACE_RECORD Record
    )
{
    Record->Timestamp = TEST_FIRST_TICK + 1 + Number;
    Record->Site = (uint32_t)TEST_MODULE_BASE +
                   (uint32_t)(Number % 4093) * 16;
    Record->StackKind = 0x1FF000 - 8 * (uint32_t)(Number / 2 % 101);
    Record->StackKind |= (Number & 1) != 0 ? TEST_X : TEST_N;
}


//
// Finds a record's place in the file, by counting.
// Returns the file offset.
//

static
ULONG
TestPlaceInRing(
    _In_ ULONGLONG Number
    )
{
    if (Number < TEST_BEFORE_RING) {
        return 4096 + 16 * (ULONG)Number;
    }

    Number -= TEST_BEFORE_RING;
    while (Number >= TEST_IN_SEGMENT * TEST_SEGMENTS) {
        Number -= TEST_IN_SEGMENT * TEST_SEGMENTS;
    }

    return TEST_SEGMENT + 16 * (ULONG)Number;
}


//
// Writes a ring as its writer leaves it: a segment is emptied when its first
// record is due.
// NumberOfRecords: how many were written.
// SizeInBytes: of the file; 0: none is written.
// Returns the number of the first record that is there.
//

static
ULONGLONG
TestWriteRing(
    _In_ ULONGLONG NumberOfRecords,
    _In_ ULONG SizeInBytes
    )
{
    TRACE_RECORD Record;
    ULONGLONG First = 0;
    ULONGLONG Number;
    ULONG Place;

    TestMakeStore(&TestOther, NULL, 0);
    RtlZeroBytes(&TestRing, sizeof(TestRing));
    for (Number = 0; Number < NumberOfRecords; Number++) {

        Place = TestPlaceInRing(Number);
        if (Number >= TEST_BEFORE_RING && Place % TEST_SEGMENT == 0) {

            if (Number >= TEST_BEFORE_RING +
                              TEST_IN_SEGMENT * TEST_SEGMENTS) {
                First = Number - TEST_IN_SEGMENT * (TEST_SEGMENTS - 1);
            }

            RtlZeroBytes(TestRing.Bytes + Place, TEST_SEGMENT);
        }

        TestMakeRingRecord(Number, &Record);
        RtlCopyBytes(TestRing.Bytes + Place, &Record, sizeof(Record));
    }

    TestRing.Header = TestOther.Header;
    TestRing.Header.MinorVersion = 1;
    TestRing.Header.RingFileOffset = TEST_SEGMENT;
    TestRing.Header.RingSizeInBytes = TEST_SEGMENT * TEST_SEGMENTS;
    TestRing.Header.FirstPosition = First == 0 ? 0 : 4096 + 16 * First;
    TestSetEnd(&TestRing.Header, 4096 + 16 * NumberOfRecords);
    if (SizeInBytes != 0) {
        TestWriteStore(L"ring.trace",
                       (const TEST_STORE *)(const VOID *)&TestRing,
                       SizeInBytes);
    }

    return First;
}


//
// Tests that pairing begins anew where records were overtaken: a call that was
// open ends there, and an exit without its entry is unmatched.
//

static
VOID
TestBrokenPairs(
    VOID
    )
{
    RTL_ERROR Error;
    CORE_EVENT Event;
    ULONGLONG First;
    ULONGLONG Count = 0;
    HANDLE File;

    TestWriteRing(3, TEST_RING_FILE);
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error)) ||
        !TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE))) {
        return;
    }

    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventEnter);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventExit);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventEnter);
    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);

    //
    // The writer goes around, and the first record that is left is an exit.
    //

    First = TestWriteRing(TEST_BEFORE_RING + 5 * TEST_IN_SEGMENT + 2, 0);
    TestRing.Bytes[TestPlaceInRing(First) + 12] ^= TEST_N ^ TEST_X;
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_OPEN_ALWAYS,
                               &File));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &TestRing,
                              TEST_RING_FILE));
    RtlClose(TestRtl, File);

    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventOpen);
    TEST_EQUAL(Event.Timestamp, TEST_FIRST_TICK + 3);
    TEST_EQUAL(Event.InclusiveTicks, 0);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventUnmatched);
    TEST_EQUAL(Event.Timestamp, TEST_FIRST_TICK + 1 + First);
    TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
    TEST_EQUAL(Event.Kind, CoreEventUnmatched);
    while (NT_SUCCESS(CallNextEvent(&TestStream, &Event))) {
        Count += 1;
    }

    TEST_EQUAL(Count, 2 * TEST_IN_SEGMENT);
    TEST_EQUAL(TestStream.Stores[0]->Iterator.NumberOvertaken, First - 3);
    RtlInitializeBufferWriter(&TestErr,
                              TestErrorBuffer,
                              sizeof(TestErrorBuffer));
    CallCloseStream(&TestStream);
    TEST(TestContains(&TestErr, " records were overwritten before they could "
                                "be read\n"));
    SessionCloseSession(&TestSession);
}


//
// Opens the session, which has one store, and an iterator over it.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestOpenOne(
    _Out_ PREADER_ITERATOR Iterator
    )
{
    RTL_ERROR Error;

    RtlInitializeBufferWriter(&TestErr,
                              TestErrorBuffer,
                              sizeof(TestErrorBuffer));
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error))) {
        return FALSE;
    }

    if (TEST_SUCCESS(SessionOpenSessionStore(&TestSession,
                                             TestSession.Stores[0])) &&
        TEST_EQUAL(TestSession.Stores[0]->HeaderResult.State,
                   CoreHeaderValid) &&
        TEST_SUCCESS(SessionInitializeIterator(Iterator,
                                               &TestContext,
                                               TestSession.Stores[0]))) {
        return TRUE;
    }

    SessionCloseSession(&TestSession);
    return FALSE;
}


//
// Reads the ring and expects the records of some numbers, and no others.
// End: the number after the last.
//

static
VOID
TestReadRing(
    _In_ ULONGLONG First,
    _In_ ULONGLONG End
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    TRACE_RECORD Expected;
    ULONG Wrong = 0;
    NTSTATUS Status;

    if (!TestOpenOne(&Iterator)) {
        return;
    }

    while (NT_SUCCESS(Status = SessionNextRecord(&Iterator, &Record))) {
        TestMakeRingRecord(First, &Expected);
        if (!RtlAreBytesEqual(Record, &Expected, sizeof(Expected))) {
            Wrong += 1;
        }

        First += 1;
    }

    TEST_STATUS(Status, STATUS_END_OF_FILE);
    TEST_EQUAL(First, End);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
    TEST_EQUAL(Iterator.NumberOvertaken, 0);
    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
}


//
// Tests rings that went around not at all, once and many times; each cut at
// the borders of its segments; and headers of rings that cannot be.
//

static
VOID
TestRings(
    VOID
    )
{
    static const struct {
        ULONGLONG RingFileOffset;
        ULONGLONG RingSizeInBytes;
        ULONGLONG FirstPosition;
        PCSZ Field;
    } Cases[] = {
        { 0x10000, 0x30000, 0, "" },
        { 0x10000, 0x30000, 0x20000, "" },
        { 0x10000, 0x50000, 0x7770000, "" },
        { 0x80000, 0x400000, 0x100000, "" },
        { 0xFFFF, 0, 7, "" },
        { 0, 0x30000, 0, "RingFileOffset" },
        { 0x8000, 0x30000, 0, "RingFileOffset" },
        { 0x18000, 0x60000, 0, "RingFileOffset" },
        { 0x8000000000000000ULL, 0x30000, 0, "RingFileOffset" },
        { 0x10000, 0x10000, 0, "RingSizeInBytes" },
        { 0x10000, 0x20000, 0, "RingSizeInBytes" },
        { 0x10000, 0x38000, 0, "RingSizeInBytes" },
        { 0x10000, 0x8000000000000000ULL, 0, "RingSizeInBytes" },
        { 0x10000, 0x30000, 0x10000, "FirstPosition" },
        { 0x10000, 0x30000, 0x20010, "FirstPosition" },
        { 0x10000, 0x30000, 4096, "FirstPosition" },
    };
    CORE_HEADER_RESULT Result;
    CORE_RANGE Range;
    ULONGLONG Number;
    ULONGLONG First;
    ULONG Index;
    ULONG Segment;
    LONG Offset;

    TestMakeStore(&TestStore, NULL, 0);
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
        TestStore.Header.RingFileOffset = Cases[Index].RingFileOffset;
        TestStore.Header.RingSizeInBytes = Cases[Index].RingSizeInBytes;
        TestStore.Header.FirstPosition = Cases[Index].FirstPosition;
        TEST_EQUAL(CoreValidateHeader(&TestStore, 4096, &Result),
                   Cases[Index].Field[0] == 0);
        TEST_EQUAL_STRING(Result.Field, Cases[Index].Field);
    }

    TestMakeStore(&TestStore, NULL, 0);
    TestStore.Header.Clock = 3;
    TEST(!CoreValidateHeader(&TestStore, 4096, &Result));
    TEST_EQUAL_STRING(Result.Field, "Clock");

    if (!TestBeginSession()) {
        return;
    }

    //
    // Around every border of a segment, three times around the ring.
    //

    for (Segment = 0; Segment <= 3 * TEST_SEGMENTS + 1; Segment++) {
        for (Offset = -1; Offset <= 1; Offset++) {

            Number = TEST_BEFORE_RING +
                     (ULONGLONG)Segment * TEST_IN_SEGMENT +
                     (ULONGLONG)(LONGLONG)Offset;
            First = TestWriteRing(Number, TEST_RING_FILE);
            TEST_EQUAL(First != 0,
                       Segment + (Offset > 0) > TEST_SEGMENTS);
            TestReadRing(First, Number);
        }
    }

    TestReadRing(First, Number);
    TestWriteRing(0, TEST_RING_FILE);
    TestReadRing(0, 0);
    TestWriteRing(1, TEST_RING_FILE);
    TestReadRing(0, 1);

    //
    // A file that was cut: of a ring that has gone around, the newest records
    // that lie together are left.
    //

    Number = TEST_BEFORE_RING + 4 * TEST_IN_SEGMENT + 100;
    TestWriteRing(Number, 0x10000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT,
                 Number - 100 - TEST_IN_SEGMENT);
    TestWriteRing(Number, 0x20000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT, Number - 100);
    TestWriteRing(Number, 0x30000);
    TestReadRing(Number - 100 - TEST_IN_SEGMENT, Number);
    TEST_EQUAL(TestRun("verify @"), 2);
    TEST(TestContains(&TestOut, "the file ends at offset 196608, 65536 bytes "
                                "before the end of its records"));
    TestWriteRing(TEST_BEFORE_RING + 10, 0x10000);
    TestReadRing(0, TEST_BEFORE_RING);

    //
    // A whole one, as the commands show it; and with exits whose entries are
    // gone, which is not damage.
    //

    First = TestWriteRing(Number, TEST_RING_FILE);
    TestReadRing(First, Number);
    TEST_EQUAL(TestRun("verify @"), 0);
    TEST(TestContains(&TestOut, "ring: 12032 older records overwritten\n"));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut, "recording,0,mode,ring\r\n"));
    TEST(TestContains(&TestOut, "recording,0,ring_bytes,196608\r\n"));
    TEST(TestContains(&TestOut, "recording,0,overwritten,12032\r\n"));
    TEST(TestContains(&TestOut, "session,0,records,8292\r\n"));
    TEST(TestContains(&TestOut, "session,0,bytes,262144\r\n"));
    TEST_EQUAL(First, 12032);

    TestRing.Bytes[TestPlaceInRing(First) + 12] ^= TEST_N ^ TEST_X;
    TestWriteStore(L"ring.trace",
                   (const TEST_STORE *)(const VOID *)&TestRing,
                   TEST_RING_FILE);
    TEST_EQUAL(TestRun("report --limit 1 @"), 0);
    TEST(TestContains(&TestOut, "2 exits had no entry: a ring keeps the "
                                "newest records.\n"));
    TEST_EQUAL(TestErr.LengthInBytes,
               TestContains(&TestErr, "no function names")
                   ? TestErr.LengthInBytes
                   : 0);
    TEST_EQUAL(TestRun("verify @"), 0);

    TestBrokenPairs();
    First = TestWriteRing(Number, 0);

    //
    // Ends that cannot be: before the first record, and farther from it than
    // the ring is long.  The control: the farthest that can be.
    //

    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First - 16,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First + 0x30010,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 4096 + 16 * First + 0x30000,
                               4096 + 16 * First, TEST_RING_FILE, &Range),
               CoreEndValid);
    TestRing.Header.FirstPosition = 0;
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 0x40010, 4096,
                               TEST_RING_FILE, &Range),
               CoreEndBad);
    TEST_EQUAL(CoreFindRecords(&TestRing.Header, 0x40000, 4096,
                               TEST_RING_FILE, &Range),
               CoreEndValid);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// What report adds up of the first thread of a session, with the fast path
// and by the general rules alone.
//

#define TEST_TALLY_FUNCTIONS 16u

typedef struct _TEST_TALLIED {
    READER_STATISTICS Statistics[TEST_TALLY_FUNCTIONS];
    ULONG NumberOfFunctions;
    ULONGLONG Unmatched;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;
    ULONGLONG NumberOfOrdinary;
} TEST_TALLIED;
typedef TEST_TALLIED *PTEST_TALLIED;

static TEST_TALLIED TestTallied[2];
static BOOLEAN TestIsToOvertake;

//
// The records of the ring, from its first on, from whose time on its writer
// overtakes, and at which that is noticed; each is of a site of its own.
//

#define TEST_OVERTAKE_AT 1400u
#define TEST_NOTICE_AT 1500u
#define TEST_OVERTAKEN_RING (TEST_BEFORE_RING + 4 * TEST_IN_SEGMENT + 100)


//
// Writes the ring into its file, which may be open.
//

static
VOID
TestWriteRingAgain(
    VOID
    )
{
    HANDLE File;

    TEST(TestMakePathIn(&TestPath, &TestSubfolder, L"ring.trace"));
    if (TEST_SUCCESS(RtlCreateFile(TestRtl,
                                   &TestPath.Nt,
                                   RTL_OPEN_ALWAYS,
                                   &File))) {
        TEST_SUCCESS(RtlWriteFile(TestRtl,
                                  File,
                                  0,
                                  &TestRing,
                                  TEST_RING_FILE));
        RtlClose(TestRtl, File);
    }
}


//
// Called while a thread is read: overtakes the reader, once, when it is in its
// second buffer.
//

static
VOID
TestOvertakeTally(
    _In_ PVOID Context
    )
{
    ULONGLONG First = TestRing.Header.FirstPosition;
    PREADER_TALLY Tally = (PREADER_TALLY)Context;

    if (!TestIsToOvertake || Tally->NumberOfRecords < TEST_OVERTAKE_AT) {
        return;
    }

    TEST(Tally->NumberOfRecords < 2048);
    TestIsToOvertake = FALSE;
    TestRing.Header.FirstPosition = First + TEST_SEGMENT;
    RtlZeroBytes(TestRing.Bytes + TestPlaceInRing((First - 4096) / 16),
                 TEST_SEGMENT);
    TestWriteRingAgain();
}


//
// Adds up the first thread of the session.
// IsGeneral: whether the fast path is left out.
// Tallied: what came of it.
//

static
VOID
TestTally(
    _In_ BOOLEAN IsGeneral,
    _Out_ PTEST_TALLIED Tallied
    )
{
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    RTL_ERROR Error;
    ULONG Index;

    RtlZeroBytes(Tallied, sizeof(*Tallied));
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error))) {
        return;
    }

    FunctionInitializeFunctions(&Functions, &TestSession);
    Functions.IsQuiet = TRUE;
    CallInitializeTally(&Tally, &Functions, NULL);
    Tally.IsGeneral = IsGeneral;
    Tally.Progress = TestOvertakeTally;
    Tally.ProgressContext = &Tally;
    TEST_EQUAL(TestSession.NumberOfThreads, 1);
    TEST_SUCCESS(SumTallyThread(&Tally, 0));

    for (Index = 0; Index < TestSession.NumberOfStores; Index++) {
        Tallied->NumberOvertaken += TestSession.Stores[Index]->NumberOvertaken;
    }

    Tallied->Unmatched = Tally.Unmatched;
    Tallied->NumberOfRecords = Tally.NumberOfRecords;
    Tallied->NumberOfOrdinary = Tally.NumberOfOrdinary;
    Tallied->NumberOfFunctions = Tally.NumberOfFunctions;
    TEST(Tally.NumberOfFunctions <= TEST_TALLY_FUNCTIONS);
    for (Index = 0;
         Index < Tally.NumberOfFunctions && Index < TEST_TALLY_FUNCTIONS;
         Index++) {
        SumMergeStatistics(&Tallied->Statistics[Index], &Tally, Index);
    }

    CallRundownTally(&Tally);
    FunctionRundownFunctions(&Functions);
    SessionCloseSession(&TestSession);
}


//
// Compares what the two ways made of the same session, and takes the count of
// ordinary records off, of which the general rules have none.
//

static
VOID
TestCompareTallies(
    VOID
    )
{
    TEST_EQUAL(TestTallied[1].NumberOfOrdinary, 0);
    TestTallied[0].NumberOfOrdinary = 0;
    TEST(RtlAreBytesEqual(&TestTallied[0],
                          &TestTallied[1],
                          sizeof(TestTallied[0])));
    TestTallied[0].Statistics[0].SelfTicks += 1;
    TEST(!RtlAreBytesEqual(&TestTallied[0],
                           &TestTallied[1],
                           sizeof(TestTallied[0])));
}


//
// Tests that report breaks its pairs where a ring overtakes it, whatever way
// it reads.
// IsOfTwo: whether the thread has another module, whose call is around all of
// the ring's.
//

static
VOID
TestOvertakenTallies(
    _In_ BOOLEAN IsOfTwo
    )
{
    static const ULONG EntryStack = 0x1FFF00;
    PTRACE_RECORD Record;
    ULONGLONG First;
    ULONGLONG Number;
    ULONGLONG Unfinished = 0;
    ULONG Way;
    ULONG Index;

    for (Way = 0; Way < 2; Way++) {

        if (!TestBeginSession()) {
            return;
        }

        First = TestWriteRing(TEST_OVERTAKEN_RING, 0);
        for (Number = First; Number < TEST_OVERTAKEN_RING; Number++) {

            Record = (PTRACE_RECORD)(PVOID)(TestRing.Bytes +
                                            TestPlaceInRing(Number));
            Record->Site = (uint32_t)TEST_MODULE_BASE +
                           (uint32_t)(Number / 2 % 7) * 16;
            if ((Number - First) / 2 == TEST_OVERTAKE_AT / 2) {
                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x1000;
            } else if ((Number - First) / 2 == TEST_NOTICE_AT / 2) {
                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x2000;
            } else if (Number == First) {

                //
                // A call that is open for as long as there are records.
                //

                Record->Site = (uint32_t)TEST_MODULE_BASE + 0x3000;
                Record->StackKind = EntryStack | TEST_N;
            } else if (Number == First + 1) {
                Record->StackKind ^= TEST_N ^ TEST_X;
            }
        }

        TestWriteStore(L"ring.trace",
                       (const TEST_STORE *)(const VOID *)&TestRing,
                       TEST_RING_FILE);

        if (IsOfTwo) {
            TestMakeStore(&TestOther, NULL, 0);
            TEST_SET_TEXT(&TestOther.Header,
                          ModulePath,
                          "Q:\\nowhere\\plug.dll");
            TestSetEnd(&TestOther.Header, 4096 + 32);
            for (Index = 0; Index < 2; Index++) {
                TestOther.Records[Index].Site = (uint32_t)TEST_MODULE_BASE;
                TestOther.Records[Index].StackKind =
                    (EntryStack + 0x40) | (Index == 0 ? TEST_N : TEST_X);
            }

            TestOther.Records[0].Timestamp = TEST_FIRST_TICK + First;
            TestOther.Records[1].Timestamp = TEST_FIRST_TICK + 100 +
                                             TEST_OVERTAKEN_RING;
            TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(2));
        }

        TestIsToOvertake = TRUE;
        TestTally(Way == 1, &TestTallied[Way]);
        TEST(!TestIsToOvertake);
    }

    for (Index = 0; Index < TEST_TALLY_FUNCTIONS; Index++) {
        Unfinished += TestTallied[0].Statistics[Index].Unfinished;
    }

    TEST(TestTallied[0].NumberOfOrdinary > 4000);
    TEST_EQUAL(TestTallied[0].NumberOvertaken, TEST_IN_SEGMENT - 2048);
    TEST_EQUAL(TestTallied[0].NumberOfRecords,
               2048 + TEST_IN_SEGMENT + 100 + (IsOfTwo ? 2 : 0));
    TEST_EQUAL(TestTallied[0].NumberOfFunctions, IsOfTwo ? 11 : 10);
    TEST(Unfinished != 0);
    TestCompareTallies();
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// A store that a thread of this program writes while it is read.
//

typedef struct _TEST_WRITER {
    HANDLE File;
    HANDLE Section;
    PUCHAR View;
    HANDLE Thread;
    ULONG Go;
    ULONG Stop;
    ULONGLONG NumberOfRecords;      // of the file, at the end
    ULONGLONG MinimumDuration;      // ticks
    ULONG Clock;
} TEST_WRITER;
typedef TEST_WRITER *PTEST_WRITER;

static TEST_WRITER TestWriter;

#define TEST_WRITER_FILE 0x400000u


//
// Writes a record as the hook does, after the cursor was advanced.
// Place: in the view; its Timestamp is 0.
//

static
VOID
TestPutRecord(
    _Inout_ PTRACE_RECORD Place,
    _In_ PCTRACE_RECORD Record
    )
{
    RtlStoreRelease32(&Place->Site, Record->Site);
    RtlStoreRelease32(&Place->StackKind, Record->StackKind);
    RtlStoreRelease64(&Place->Timestamp, Record->Timestamp);
}


//
// Goes around a ring until it is told to stop.
// Returns 0.
//

static
ULONG
WINAPI
TestWriteRingLive(
    _In_ PVOID Parameter
    )
{
    PTEST_WRITER Writer = (PTEST_WRITER)Parameter;
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)Writer->View;
    TRACE_RECORD Record;
    ULONGLONG Number = 0;
    ULONG Place = 4096;
    ULONG Index;

    while (RtlLoadAcquire32(&Writer->Stop) == 0) {

        if (Place == TEST_RING_FILE) {
            Place = TEST_SEGMENT;
        }

        if (Place % TEST_SEGMENT == 0) {

            if (Number >= TEST_BEFORE_RING +
                              TEST_IN_SEGMENT * TEST_SEGMENTS) {
                RtlStoreRelease64(
                    &Header->FirstPosition,
                    4096 + 16 * (Number - TEST_IN_SEGMENT *
                                              (TEST_SEGMENTS - 1)));
                for (Index = 0; Index < TEST_SEGMENT; Index += 8) {
                    RtlStoreRelease64((uint64_t *)(PVOID)
                                      (Writer->View + Place + Index), 0);
                }
            }
        }

        TestMakeRingRecord(Number, &Record);
        Number += 1;
        RtlStoreRelease64(&Header->Cursor, 4096 + 16 * Number);
        TestPutRecord((PTRACE_RECORD)(PVOID)(Writer->View + Place), &Record);
        Place += 16;
    }

    Writer->NumberOfRecords = Number;
    return 0;
}


//
// The writer's clock: the counter, or one that a thread would have read now
// and then.
// Returns ticks.
//

static
ULONGLONG
TestWriterNow(
    _In_ const TEST_WRITER *Writer
    )
{
    ULONGLONG Tsc = __rdtsc();

    return Writer->Clock == TRACE_CLOCK_TSC ? Tsc : Tsc & ~0x3FFULL;
}


//
// Makes calls, and takes those back that were short and made none.
// Returns 0.
//

static
ULONG
WINAPI
TestWriteShortCalls(
    _In_ PVOID Parameter
    )
{
    static ULONGLONG Entered[64];
    PTEST_WRITER Writer = (PTEST_WRITER)Parameter;
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)Writer->View;
    PTRACE_RECORD Records = (PTRACE_RECORD)(PVOID)(Header + 1);
    ULONGLONG Count = 0;
    ULONGLONG TakenBack = 0;
    ULONGLONG Start;
    ULONG Random = 1;
    ULONG Depth = 0;
    TRACE_RECORD Record;

    //
    // It begins when its reader does.
    //

    while (RtlLoadAcquire32(&Writer->Go) == 0) {
        TestRtl->NtYieldExecution();
    }

    while (RtlLoadAcquire32(&Writer->Stop) == 0 &&
           Count < (TEST_WRITER_FILE - 4096) / 16 - 2) {

        Random = Random * 1103515245 + 12345;
        Record.Site = (uint32_t)TEST_MODULE_BASE + (Random >> 17) * 2;

        if (Depth == 0 || (Depth < 60 && (Random & 0x10000) != 0)) {

            Record.Timestamp = TestWriterNow(Writer);
            Record.StackKind = (0x1FF000 - Depth * 64) | TEST_N;
            Entered[Depth] = Record.Timestamp;
            Depth += 1;
            RtlStoreRelease64(&Header->Cursor, 4096 + 16 * (Count + 1));
            TestPutRecord(&Records[Count], &Record);
            Count += 1;
            continue;
        }

        Depth -= 1;
        if ((Random & 0xE0000) == 0) {
            Start = __rdtsc();
            while (__rdtsc() - Start < 2 * Writer->MinimumDuration) {
            }
        }

        Record.Timestamp = TestWriterNow(Writer);
        Record.StackKind = (0x1FF000 - Depth * 64) | TEST_X;
        if (Records[Count - 1].StackKind == Record.StackKind - 1 &&
            Record.Timestamp - Entered[Depth] < Writer->MinimumDuration) {
            RtlStoreRelease64(&Records[Count - 1].Timestamp, 0);
            Count -= 1;
            RtlStoreRelease64(&Header->Cursor, 4096 + 16 * Count);
            TakenBack += 1;
            continue;
        }

        RtlStoreRelease64(&Header->Cursor, 4096 + 16 * (Count + 1));
        TestPutRecord(&Records[Count], &Record);
        Count += 1;
    }

    Header->NumberOfCallsTakenBack = TakenBack;
    Writer->NumberOfRecords = Count;
    return 0;
}


//
// Makes a store of this process, maps it and starts its writer.
// SizeInBytes: of the file; TEST_RING_FILE makes a ring of it.
// Clock: TRACE_CLOCK_*.
// MinimumDuration: in ticks.
// Returns TRUE if that worked.
//

static
BOOLEAN
TestBeginWriter(
    _In_ PTHREAD_START_ROUTINE Routine,
    _In_ ULONG SizeInBytes,
    _In_ ULONG Clock,
    _In_ ULONGLONG MinimumDuration
    )
{
    struct {
        LARGE_INTEGER Times[4];
    } Process;
    PTRACE_STORE_HEADER Header;
    NTSTATUS Status;

    RtlZeroBytes(&TestWriter, sizeof(TestWriter));
    if (!TestBeginSession() ||
        !TestMakePathIn(&TestPath, &TestSubfolder, L"live.trace") ||
        !TEST_SUCCESS(TestRtl->NtQueryInformationProcess(
            GetCurrentProcess(),
            RTL_PROCESS_TIMES,
            &Process,
            sizeof(Process),
            NULL)) ||
        !TEST_SUCCESS(RtlCreateFile(TestRtl,
                                    &TestPath.Nt,
                                    RTL_CREATE_ALWAYS,
                                    &TestWriter.File))) {
        return FALSE;
    }

    Status = RtlSetFileSize(TestRtl, TestWriter.File, SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Status = RtlCreateFileSection(TestRtl,
                                      TestWriter.File,
                                      SizeInBytes,
                                      TRUE,
                                      &TestWriter.Section);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(TestRtl,
                                   TestWriter.Section,
                                   0,
                                   SizeInBytes,
                                   TRUE,
                                   NULL,
                                   (PVOID *)&TestWriter.View);
    }

    if (!TEST_SUCCESS(Status)) {
        return FALSE;
    }

    TestMakeStore(&TestOther, NULL, 0);
    Header = &TestOther.Header;
    Header->MinorVersion = 1;
    Header->State = TRACE_STATE_OPEN;
    Header->Reason = TRACE_REASON_NONE;
    Header->ProcessId = GetCurrentProcessId();
    Header->ProcessCreationTime = (ULONGLONG)Process.Times[0].QuadPart;
    Header->Clock = Clock;
    Header->MinimumDuration = MinimumDuration;
    Header->Cursor = 4096;
    Header->CursorToFileOffset = 0;
    if (SizeInBytes == TEST_RING_FILE) {
        Header->RingFileOffset = TEST_SEGMENT;
        Header->RingSizeInBytes = TEST_SEGMENT * TEST_SEGMENTS;
    }

    RtlCopyBytes(TestWriter.View, Header, sizeof(*Header));
    TestWriter.MinimumDuration = MinimumDuration;
    TestWriter.Clock = Clock;
    TestWriter.Thread = CreateThread(NULL, 0, Routine, &TestWriter, 0, NULL);
    return TEST(TestWriter.Thread != NULL);
}


//
// Stops the writer; its view stays.
//

static
VOID
TestStopWriter(
    VOID
    )
{
    LARGE_INTEGER Timeout;

    RtlStoreRelease32(&TestWriter.Go, 1);
    RtlStoreRelease32(&TestWriter.Stop, 1);
    Timeout.QuadPart = -10000000LL * 600;
    TEST_STATUS(TestRtl->NtWaitForSingleObject(TestWriter.Thread,
                                               FALSE,
                                               &Timeout),
                STATUS_SUCCESS);
    RtlClose(TestRtl, TestWriter.Thread);
}


//
// Lets the writer's file go.
//

static
VOID
TestEndWriter(
    VOID
    )
{
    RtlUnmapFileSection(TestRtl, TestWriter.View);
    RtlClose(TestRtl, TestWriter.Section);
    RtlClose(TestRtl, TestWriter.File);
}


//
// Reads a ring whose writer is faster. Every record that is shown is one that
// was written, in order, and those between two that are not next to each other
// are counted.
//

static
VOID
TestOvertaking(
    VOID
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    TRACE_RECORD Expected;
    LARGE_INTEGER Pause;
    PREADER_STORE Store;
    ULONGLONG Next;
    ULONGLONG Number;
    ULONGLONG Shown = 0;
    ULONGLONG Missing = 0;
    ULONG Gaps = 0;
    ULONG Wrong = 0;
    ULONG Unprotected = 0;
    ULONG Round;
    ULONG Index;
    BOOLEAN IsStopped;

    if (!TestBeginWriter(TestWriteRingLive,
                         TEST_RING_FILE,
                         TRACE_CLOCK_TSC,
                         0) ||
        !TestOpenOne(&Iterator)) {
        return;
    }

    //
    // The last round is after the writer has stopped.
    //

    Store = TestSession.Stores[0];
    Next = (Iterator.BufferPosition - 4096) / 16;
    IsStopped = FALSE;
    for (Round = 0;; Round++) {

        if (Round == 3000 || (Gaps >= 100 && Unprotected != 0)) {
            TestStopWriter();
            IsStopped = TRUE;
        }

        if (!NT_SUCCESS(SessionRefreshStore(&TestContext, Store))) {
            Wrong += 1;
        }

        while (NT_SUCCESS(SessionNextRecord(&Iterator, &Record))) {

            Number = Record->Timestamp - TEST_FIRST_TICK - 1;
            TestMakeRingRecord(Number, &Expected);
            if (!RtlAreBytesEqual(Record, &Expected, sizeof(Expected))) {
                Wrong += 1;
            }

            if (Number != Next) {
                Gaps += 1;
                if (Number < Next || !Iterator.IsAfterGap) {
                    Wrong += 1;
                } else {
                    Missing += Number - Next;
                }
            } else if (Iterator.IsAfterGap) {
                Wrong += 1;
            }

            Next = Number + 1;
            Shown += 1;
        }

        if (IsStopped) {
            break;
        }

        //
        // The control: a copy that is not looked at again has records of
        // another time among it.
        //

        if (Round % 4 == 0) {

            static TRACE_RECORD Copies[TEST_IN_SEGMENT];

            Index = TEST_SEGMENT * (1 + Round / 4 % TEST_SEGMENTS);
            CoreCopyRecords(Copies,
                            (PCTRACE_RECORD)(PVOID)(TestWriter.View + Index),
                            TEST_IN_SEGMENT);
            for (Index = 1; Index < TEST_IN_SEGMENT; Index++) {
                if (Copies[Index].Timestamp != Copies[0].Timestamp + Index) {
                    Unprotected += 1;
                }
            }
        }

        if (Round % 16 == 0) {
            Pause.QuadPart = -10000;
            TestRtl->NtDelayExecution(FALSE, &Pause);
        }
    }

    TEST(Shown != 0);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
    TEST_EQUAL(Missing, Iterator.NumberOvertaken);
    if (Gaps == 0 || Unprotected == 0) {
        TEST_SKIP("the writer never overtook its reader");
    }

    TEST_EQUAL(Next, TestWriter.NumberOfRecords);
    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    TestEndWriter();
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Reads a store whose writer takes calls back. What is shown must be there in
// the end.
// Clock: TRACE_CLOCK_*.
// IsControl: whether the reader takes every record for one that stays: then it
// is expected to be wrong.
// Returns whether a record was shown that is not there in the end.
//

static
BOOLEAN
TestTakenBackLive(
    _In_ ULONG Clock,
    _In_ BOOLEAN IsControl
    )
{
    READER_ITERATOR Iterator;
    PCTRACE_RECORD Record;
    PTRACE_RECORD Shown;
    PCTRACE_RECORD Final;
    PREADER_STORE Store;
    ULONG Capacity = (TEST_WRITER_FILE - 4096) / 16;
    ULONG Count = 0;
    ULONG Wrong = 0;
    ULONG Index;
    ULONG Passes = 0;

    Shown = (PTRACE_RECORD)
        TestHeap->Allocate(TestHeap->Context, Capacity * 16);
    if (!TEST(Shown != NULL) ||
        !TestBeginWriter(TestWriteShortCalls,
                         TEST_WRITER_FILE,
                         Clock,
                         Clock == TRACE_CLOCK_TSC ? 500 : 2000) ||
        !TestOpenOne(&Iterator)) {
        return FALSE;
    }

    TEST_EQUAL(TestSession.ProcessState, ReaderProcessRunning);
    Store = TestSession.Stores[0];
    Store->IsWriterGone = IsControl;

    //
    // Until the file is full, and once more.
    //

    RtlStoreRelease32(&TestWriter.Go, 1);
    for (;;) {

        BOOLEAN IsEnd = RtlLoadAcquire64(&TestWriter.NumberOfRecords) != 0;

        if (!NT_SUCCESS(SessionRefreshStore(&TestContext, Store))) {
            Wrong += 1;
        }

        while (Count < Capacity &&
               NT_SUCCESS(SessionNextRecord(&Iterator, &Record))) {
            Shown[Count] = *Record;
            Count += 1;
        }

        Passes += 1;
        if (IsEnd) {
            break;
        }
    }

    TestStopWriter();
    Final = (PCTRACE_RECORD)(PVOID)(TestWriter.View + 4096);
    for (Index = 0; Index < Count; Index++) {
        if (Index >= TestWriter.NumberOfRecords ||
            !RtlAreBytesEqual(&Shown[Index], &Final[Index], 16)) {
            Wrong += 1;
        }
    }

    TEST(((PCTRACE_STORE_HEADER)(PVOID)TestWriter.View)
             ->NumberOfCallsTakenBack > 1000);
    if (!IsControl) {
        TEST_EQUAL(Iterator.NumberOfBadRecords, 0);
        TEST(Count > TestWriter.NumberOfRecords - 100);
        if (Passes < 100) {
            TEST_SKIP("the writer was faster than its reader");
        }
    }

    Wrong += (ULONG)Iterator.NumberOfBadRecords;

    //
    // The process has gone: everything is there.
    //

    Store->IsWriterGone = TRUE;
    TEST_SUCCESS(SessionRefreshStore(&TestContext, Store));
    TEST_EQUAL(Store->EndOfRecords, 4096 + 16 * TestWriter.NumberOfRecords);

    SessionRundownIterator(&Iterator);
    SessionCloseSession(&TestSession);
    TestEndWriter();
    TestHeap->Free(TestHeap->Context, Shown);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
    return Wrong != 0;
}


//
// Tests that the calls of one module wait for the caller in another module
// that may yet be taken back.
//

static
VOID
TestTailsOfTwo(
    VOID
    )
{
    static const TRACE_RECORD Inner[] = {
        { 5010, 0x2000, 0x1FE000 | TEST_N },
        { 5020, 0x2000, 0x1FE000 | TEST_X },
    };
    static const TRACE_RECORD Outer[] = {
        { 5000, 0x1000, 0x1FF000 | TEST_N },
        { 5200, 0x1000, 0x1FF000 | TEST_X },
    };
    static const ULONGLONG Order[] = { 5000, 5010, 5020, 5200 };
    RTL_ERROR Error;
    CORE_EVENT Event;
    HANDLE File;
    ULONG Index;
    ULONG End;

    //
    // The writer's header is that of a store of this process.
    //

    if (!TestBeginWriter(TestWriteShortCalls,
                         TEST_WRITER_FILE,
                         TRACE_CLOCK_THREAD,
                         100)) {
        return;
    }

    TestStopWriter();
    TestEndWriter();
    TestBeginSession();
    TestStore.Header = TestOther.Header;
    TEST_SET_TEXT(&TestStore.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestSetEnd(&TestStore.Header, 4096 + 32);
    TestSetEnd(&TestOther.Header, 4096 + 16);
    for (Index = 0; Index < 2; Index++) {
        TestStore.Records[Index] = Inner[Index];
        TestStore.Records[Index].Site += (uint32_t)TEST_MODULE_BASE;
        TestOther.Records[Index] = Outer[Index];
        TestOther.Records[Index].Site += (uint32_t)TEST_MODULE_BASE;
    }

    TestWriteStore(L"a.trace", &TestStore, TEST_STORE_SIZE(2));
    TestWriteStore(L"b.trace", &TestOther, TEST_STORE_SIZE(2));
    if (!TEST_SUCCESS(ReaderOpenSession(&TestSession,
                                        &TestContext,
                                        TestDosPath(&TestSubfolder),
                                        &Error)) ||
        !TEST_SUCCESS(CallOpenStream(&TestStream, &TestSession, 0, TRUE))) {
        return;
    }

    TEST_EQUAL(TestRun("verify @"), 0);
    TEST(TestContains(&TestOut, "  1 more records may yet be taken back\n"));
    TEST_EQUAL(TestStream.NumberOfStores, 2);
    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);

    TestSetEnd(&TestOther.Header, 4096 + 32);
    TEST_SUCCESS(RtlCreateFile(TestRtl,
                               &TestPath.Nt,
                               RTL_OPEN_ALWAYS,
                               &File));
    TEST_SUCCESS(RtlWriteFile(TestRtl,
                              File,
                              0,
                              &TestOther.Header,
                              sizeof(TestOther.Header)));
    RtlClose(TestRtl, File);
    TEST_SUCCESS(CallRefreshStream(&TestStream, READER_MAXIMUM_TIMESTAMP));
    for (Index = 0; Index < RTL_NUMBER_OF(Order); Index++) {
        TEST_SUCCESS(CallNextEvent(&TestStream, &Event));
        TEST_EQUAL(Event.Timestamp, Order[Index]);
        TEST_EQUAL(Event.Kind, Index < 2 ? CoreEventEnter : CoreEventExit);
    }

    TEST_STATUS(CallNextEvent(&TestStream, &Event), STATUS_END_OF_FILE);
    CallCloseStream(&TestStream);
    SessionCloseSession(&TestSession);

    //
    // report leaves out what may yet be taken back, whatever way it reads.
    //

    for (End = 1; End <= 2; End++) {
        TestSetEnd(&TestOther.Header, 4096 + 16 * End);
        TestWriteStore(L"b.trace", &TestOther, TEST_STORE_SIZE(2));
        TestTally(FALSE, &TestTallied[0]);
        TestTally(TRUE, &TestTallied[1]);
        TEST_EQUAL(TestTallied[0].NumberOfRecords, End * 2);
        TestCompareTallies();
    }

    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Writes one record after another in the same place until it is told to stop.
// Returns 0.
//

static
ULONG
WINAPI
TestReusePlace(
    _In_ PVOID Parameter
    )
{
    PTRACE_RECORD Place = (PTRACE_RECORD)Parameter;
    TRACE_RECORD Record;
    ULONG Number = 0;

    while (RtlLoadAcquire32(&TestWriter.Stop) == 0) {
        Number += 1;
        Record.Timestamp = Number;
        Record.Site = Number;
        Record.StackKind = Number;
        RtlStoreRelease64(&Place->Timestamp, 0);
        RtlStoreRelease64((uint64_t *)(PVOID)&Place->Site,
                          Record.Site | ((uint64_t)Record.StackKind << 32));
        RtlStoreRelease64(&Place->Timestamp, Record.Timestamp);
    }

    return 0;
}


//
// Tests that no record is made of two that were in one place.
//

static
VOID
TestTornPlaces(
    VOID
    )
{
    static TRACE_RECORD Place;
    TRACE_RECORD Copy;
    ULONG Whole = 0;
    ULONG Torn = 0;
    ULONG Wrong = 0;
    ULONG Try;

    RtlZeroBytes(&TestWriter, sizeof(TestWriter));
    TestWriter.Thread = CreateThread(NULL,
                                     0,
                                     TestReusePlace,
                                     &Place,
                                     0,
                                     NULL);
    if (!TEST(TestWriter.Thread != NULL)) {
        return;
    }

    while (RtlLoadAcquire64(&Place.Timestamp) == 0) {
        TestRtl->NtYieldExecution();
    }

    for (Try = 0; Try < 50000000; Try++) {

        CoreCopyTail(&Copy, &Place, 1);
        if (Copy.Timestamp != 0) {
            Whole += 1;
            if (Copy.Site != (uint32_t)Copy.Timestamp ||
                Copy.StackKind != Copy.Site) {
                Wrong += 1;
            }
        }

        //
        // The control: a copy that takes its time and is not looked at again.
        //

        if (Try % 1024 == 0) {
            Copy.Timestamp = RtlLoadAcquire64(&Place.Timestamp);
            TestRtl->NtYieldExecution();
            Copy.Site = RtlLoadAcquire32(&Place.Site);
            if (Copy.Timestamp != 0 &&
                Copy.Site != (uint32_t)Copy.Timestamp) {
                Torn += 1;
            }
        }

        if (Torn > 100 && Whole > 1000000) {
            break;
        }
    }

    TestStopWriter();
    TEST_EQUAL(Wrong, 0);
    if (Torn == 0 || Whole == 0) {
        TEST_SKIP("no record was seen torn");
    }
}


//
// Tests which of the newest records stay, case by case.
//

static
VOID
TestTails(
    VOID
    )
{
    //
    // Kinds and time stamps, the oldest first; how many stay where a call of
    // less than 100 ticks is taken back.
    //

    static const struct {
        ULONG Count;
        ULONG Stay;
        ULONG Kinds[5];
        ULONGLONG Timestamps[5];
    } Cases[] = {
        { 0, 0, { 0 }, { 0 } },
        { 1, 0, { TEST_N }, { 5000 } },
        { 1, 1, { TEST_X }, { 5000 } },
        { 3, 2, { TEST_N, TEST_X, TEST_N }, { 5000, 5001, 5002 } },
        { 4, 2, { TEST_NF, TEST_XF, TEST_NF, TEST_NF },
          { 5000, 5000, 5000, 5000 } },
        { 4, 0, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5099 } },
        { 4, 1, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5100 } },
        { 4, 3, { TEST_N, TEST_N, TEST_N, TEST_N },
          { 5000, 5001, 5002, 5102 } },
        { 4, 1, { TEST_X, TEST_N, TEST_N, TEST_N }, { 5000, 5001, 0, 5003 } },
        { 3, 1, { TEST_X, TEST_N, TEST_X }, { 5000, 5001, 0 } },
        { 4, 4, { TEST_N, TEST_N, 0, TEST_X }, { 5000, 0, 0, 5001 } },
    };
    TRACE_RECORD Records[5];
    CORE_TAIL Tail;
    ULONG Index;
    ULONG Record;

    TestMakeStore(&TestOther, NULL, 0);
    TestOther.Header.MinimumDuration = 100;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
        for (Record = 0; Record < 5; Record++) {
            Records[Record].Timestamp = Cases[Index].Timestamps[Record];
            Records[Record].StackKind = 0x1000 | Cases[Index].Kinds[Record];
        }

        CoreInitializeTail(&Tail, &TestOther.Header, 6000);
        TEST_EQUAL(CoreCountFinalRecords(&Tail,
                                         Records,
                                         Cases[Index].Count),
                   Cases[Index].Stay);
    }

    //
    // An entry of long ago stays, by the counter; not by a clock thread's,
    // which may have stood still.
    //

    Records[0].Timestamp = 5000;
    Records[0].StackKind = 0x1000 | TEST_N;
    CoreInitializeTail(&Tail,
                       &TestOther.Header,
                       5100 + CORE_TAIL_ALLOWANCE - 1);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);
    CoreInitializeTail(&Tail, &TestOther.Header, 5100 + CORE_TAIL_ALLOWANCE);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 1);
    TestOther.Header.Clock = TRACE_CLOCK_THREAD;
    CoreInitializeTail(&Tail, &TestOther.Header, ~0ULL);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);
    TestOther.Header.Clock = TRACE_CLOCK_NONE;
    CoreInitializeTail(&Tail, &TestOther.Header, ~0ULL);
    TEST_EQUAL(CoreCountFinalRecords(&Tail, Records, 1), 0);

    TestTornPlaces();
    TestTailsOfTwo();
    TEST(!TestTakenBackLive(TRACE_CLOCK_TSC, FALSE));
    TEST(!TestTakenBackLive(TRACE_CLOCK_THREAD, FALSE));
    for (Index = 0;
         Index < 8 && !TestTakenBackLive(TRACE_CLOCK_TSC, TRUE);
         Index++) {
    }

    if (Index == 8) {
        TEST_SKIP("no record that vanished was seen without the rule");
    }
}


//
// Tests how times of a clock thread are shown, and that there are none without
// a clock; and what info says of the recording.
//

static
VOID
TestClockKinds(
    VOID
    )
{
    static const struct {
        ULONG Kind;
        ULONGLONG Resolution;
        ULONGLONG Ticks;
        PCSZ Text;
    } Times[] = {
        { TRACE_CLOCK_TSC, 7777, 1234567, "  1.234 ms" },
        { TRACE_CLOCK_THREAD, 0, 1234567, "  1.234 ms" },
        { TRACE_CLOCK_THREAD, 1, 999, "    999 ns" },
        { TRACE_CLOCK_THREAD, 2, 987, "   0.98 us" },
        { TRACE_CLOCK_THREAD, 100, 9876, "    9.8 us" },
        { TRACE_CLOCK_THREAD, 100, 40, "    0.0 us" },
        { TRACE_CLOCK_THREAD, 101, 9876, "      9 us" },
        { TRACE_CLOCK_THREAD, 101, 9876543, "  9.876 ms" },
        { TRACE_CLOCK_THREAD, 1001, 9876543, "   9.87 ms" },
        { TRACE_CLOCK_THREAD, 1001, 987, "   0.00 ms" },
        { TRACE_CLOCK_THREAD, 123456, 9876543, "      9 ms" },
        { TRACE_CLOCK_THREAD, 123456, 3000000000ULL, "  3.000  s" },
        { TRACE_CLOCK_THREAD, 2000000000, 3456000000ULL, "      3  s" },
        { TRACE_CLOCK_NONE, 0, 1234567, "         -" },
    };

    //
    // Three calls of B in one of A; the clock froze during the second.
    //

    static const TRACE_RECORD Frozen[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 1000, 0x2000, 0x1FE000 | TEST_N },
        { 1120, 0x2000, 0x1FE000 | TEST_X },
        { 1240, 0x2000, 0x1FE000 | TEST_N },
        { 9640, 0x2000, 0x1FE000 | TEST_X },
        { 9640, 0x2000, 0x1FE000 | TEST_N },
        { 9640, 0x2000, 0x1FE000 | TEST_X },
        { 9640, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Positions[] = {
        { 4096, 0x1000, 0x1FF000 | TEST_N },
        { 4112, 0x2000, 0x1FE000 | TEST_N },
        { 4128, 0x2000, 0x1FE000 | TEST_X },
        { 4144, 0x2000, 0x1FE000 | TEST_N },
        { 4160, 0x2000, 0x1FE000 | TEST_X },
        { 4176, 0x1000, 0x1FF000 | TEST_X },
    };

    //
    // A of one module calls B of another, which calls A again, all within one
    // step of the clock.
    //

    static const TRACE_RECORD Outside[] = {
        { 1000, 0x1000, 0x1FF000 | TEST_N },
        { 1000, 0x1000, 0x1FD000 | TEST_N },
        { 1000, 0x1000, 0x1FD000 | TEST_X },
        { 1000, 0x1000, 0x1FF000 | TEST_X },
    };
    static const TRACE_RECORD Inside[] = {
        { 1000, 0x2000, 0x1FE000 | TEST_N },
        { 1000, 0x2000, 0x1FE000 | TEST_X },
    };
    CHAR Text[32];
    RTL_WRITER Writer;
    CORE_CLOCK Clock;
    TRACE_CLOCK_ANCHOR Anchor;
    ULONG Index;
    ULONG First;

    for (Index = 0; Index < RTL_NUMBER_OF(Times); Index++) {
        CoreInitializeClock(&Clock);
        TestSetAnchor(&Anchor, 0);
        CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
        TestSetAnchor(&Anchor, 1000000000);
        CoreAddAnchor(&Clock, &Anchor, TEST_QPC_FREQUENCY);
        Clock.Kind = Times[Index].Kind;
        Clock.Resolution = Times[Index].Resolution;
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
        OutputWriteTime(&Writer, &Clock, Times[Index].Ticks);
        TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, Times[Index].Text);
    }

    if (!TestBeginSession()) {
        return;
    }

    TestMakeStore(&TestOther, Frozen, RTL_NUMBER_OF(Frozen));
    TestOther.Header.Clock = TRACE_CLOCK_THREAD;
    TestOther.Header.ClockResolution = 120;
    TestOther.Header.NumberOfClockFreezes = 1;
    TestOther.Header.MaximumClockStep = 8401;
    TestOther.Header.MinimumDuration = 55;
    TestOther.Header.NumberOfCallsTakenBack = 66;
    TestOther.Header.NumberOfCallsDoubtful = 44;
    TestOther.Header.MaximumDepth = 5;
    TestOther.Header.NumberOfEventsTooDeep = 77;
    TestOther.Header.NumberOfEventsDoubtful = 33;
    TestOther.Header.MaximumBytes = 123456;
    TestOther.Header.NumberOfWaits = 3;
    TestOther.Header.WaitTicks = 4444;
    TestOther.Header.MaximumInlineTicks = 2345;
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(8));

    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,p50_ns,p90_ns,"
        "p99_ns,module,rva,folded,function,file,line,clock\r\n"
        "1,8000,0,8000,8000,8000,0,0,0,1,0,8000,8000,8000,"
        "app.exe,0x1000,,app.exe+0x1000,,,thread\r\n"
        "3,8000,8000,2000,0,8000,0,0,0,1,0,0,8000,8000,"
        "app.exe,0x2000,,app.exe+0x2000,,,thread\r\n");
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut, "Uncertain: the clock jumped during"));
    TEST(TestContains(&TestOut,
                      "Times are those of a clock thread, in steps of "
                      "120 ns.  It stood still 1 times, the longest for "
                      "8.401 us.\n"));
    TEST_EQUAL(TestRun("tree @"), 0);
    TEST(TestContains(&TestOut, "  Uncertain  Function\n"));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST(TestContains(&TestOut,
                      "           [   100] | app.exe+0x1000() {\n"
                      "      0 us [   100] |   app.exe+0x2000();\n"
                      "      8 us~[   100] |   app.exe+0x2000();\n"
                      "      0 us [   100] |   app.exe+0x2000();\n"
                      "      8 us [   100] | } /* app.exe+0x1000 */\n"));
    TEST_EQUAL(TestRun("replay --csv @"), 0);
    TEST(TestContains(&TestOut,
                      "8000,100,exit,1,8000,app.exe,app.exe+0x2000,0,,1,"
                      ",thread\r\n"
                      "8000,100,enter,1,,app.exe,app.exe+0x2000,0,0,0,"
                      ",thread\r\n"
                      "8000,100,exit,1,0,app.exe,app.exe+0x2000,0,,0,"
                      ",thread\r\n"
                      "8000,100,exit,0,8000,app.exe,app.exe+0x1000,0,,0,"
                      ",thread\r\n"));
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"clock\": \"thread\""));
    TEST_EQUAL(TestRun("info --csv @"), 0);
    TEST(TestContains(&TestOut,
                      "recording,0,mode,file\r\n"
                      "recording,0,ring_bytes,0\r\n"
                      "recording,0,overwritten,0\r\n"
                      "recording,0,clock,thread\r\n"
                      "recording,0,clock_resolution_ns,120\r\n"
                      "recording,0,clock_freezes,1\r\n"
                      "recording,0,longest_clock_step_ns,8401\r\n"
                      "recording,0,minimum_duration_ns,55\r\n"
                      "recording,0,taken_back,66\r\n"
                      "recording,0,taken_back_doubtful,44\r\n"
                      "recording,0,maximum_depth,5\r\n"
                      "recording,0,too_deep,77\r\n"
                      "recording,0,too_deep_doubtful,33\r\n"
                      "recording,0,maximum_bytes,123456\r\n"
                      "recording,0,waits,3\r\n"
                      "recording,0,wait_ns,4444\r\n"
                      "recording,0,longest_wait_ns,2345\r\n"));
    TEST_EQUAL(TestRun("info @"), 0);
    TEST(TestContains(&TestOut, "Minimum duration    55 ns\n"));
    TEST(!TestContains(&TestOut, "Ring, bytes"));
    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut, ", clock: thread\n"));

    //
    // The control: a clock that never froze jumps nowhere.
    //

    TestOther.Header.NumberOfClockFreezes = 0;
    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(8));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST(!TestContains(&TestOut, "~"));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(!TestContains(&TestOut, "Uncertain"));

    //
    // Without a clock.  Records are in order, calls are counted.
    //

    TestMakeStore(&TestOther, Positions, RTL_NUMBER_OF(Positions));
    TestOther.Header.Clock = TRACE_CLOCK_NONE;
    TestOther.Header.State = TRACE_STATE_STOPPED;
    TestOther.Header.Reason = TRACE_REASON_MAXIMUM_BYTES;
    for (Index = 0; Index < RTL_NUMBER_OF(Positions); Index++) {
        TestOther.Records[Index].Timestamp = Positions[Index].Timestamp;
    }

    TestWriteStore(L"a.trace", &TestOther, TEST_STORE_SIZE(6));
    TEST_EQUAL(TestRun("report --csv @"), 0);
    TEST_OUTPUT(
        "calls,total_ns,self_ns,average_ns,min_ns,max_ns,abandoned,"
        "abandoned_time_ns,unfinished,uncertain,begun_before,p50_ns,p90_ns,"
        "p99_ns,module,rva,folded,function,file,line,clock\r\n"
        "2,,,,,,0,,0,0,0,,,,app.exe,0x2000,,app.exe+0x2000,,,none\r\n"
        "1,,,,,,0,,0,0,0,,,,app.exe,0x1000,,app.exe+0x1000,,,none\r\n");
    TEST_EQUAL(TestRun("report --json @"), 0);
    TEST(TestContains(&TestOut, "\"total_ns\": null"));
    TEST(TestContains(&TestOut, "\"clock\": \"none\""));
    TEST_EQUAL(TestRun("report @"), 0);
    TEST(TestContains(&TestOut,
                      "         2           -           -           -"
                      "           -           -  app.exe+0x2000\n"));
    TEST(TestContains(&TestOut, "was recorded with TRACER_CLOCK=none."));

    //
    // The same thread in another module, whose positions are the same: its
    // calls are not put among those.
    //

    TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
    TestSetAnchor(&TestOther.Header.OpenAnchor, 500);
    TestWriteStore(L"0.trace", &TestOther, TEST_STORE_SIZE(6));
    TEST_EQUAL(TestRun("replay @"), 0);
    TEST_OUTPUT(
        "  Duration   Thread   Function\n"
        "           [   100] | app.exe+0x1000() {\n"
        "         - [   100] |   app.exe+0x2000();\n"
        "         - [   100] |   app.exe+0x2000();\n"
        "         - [   100] | } /* app.exe+0x1000 */\n"
        "           [   100] | plug.dll+0x1000() {\n"
        "         - [   100] |   plug.dll+0x2000();\n"
        "         - [   100] |   plug.dll+0x2000();\n"
        "         - [   100] | } /* plug.dll+0x1000 */\n"
        "There are no times: the session was recorded with "
        "TRACER_CLOCK=none.  Calls and their order are right.\n");
    TEST_EQUAL(TestRun("tree --csv @"), 0);
    TEST(TestContains(&TestOut, "2,,,,,,0,,0,0,0,2,1,1,,,,app.exe,"));
    TEST_EQUAL(TestRun("info --json @"), 0);
    TEST(TestContains(&TestOut, "\"first_time\": null"));
    TEST(TestContains(&TestOut, "\"start_ns\": null"));
    TEST(TestContains(&TestOut, "the maximum size was reached"));
    TEST_EQUAL(TestRun("live @"), 0);
    TEST(TestContains(&TestOut, ", clock: none\n"));

    for (First = 0; First < 2; First++) {

        if (!TestBeginSession()) {
            return;
        }

        TestMakeStore(&TestOther, Outside, RTL_NUMBER_OF(Outside));
        TestOther.Header.Clock = TRACE_CLOCK_THREAD;
        TestOther.Header.ClockResolution = 100;
        TestWriteStore(First == 0 ? L"a.trace" : L"b.trace",
                       &TestOther,
                       TEST_STORE_SIZE(4));
        TestMakeStore(&TestOther, Inside, RTL_NUMBER_OF(Inside));
        TestOther.Header.Clock = TRACE_CLOCK_THREAD;
        TestOther.Header.ClockResolution = 100;
        TEST_SET_TEXT(&TestOther.Header, ModulePath, "Q:\\nowhere\\plug.dll");
        TestWriteStore(First == 0 ? L"b.trace" : L"a.trace",
                       &TestOther,
                       TEST_STORE_SIZE(2));
        TEST_EQUAL(TestRun("replay @"), 0);
        TEST(TestContains(&TestOut,
                          "           [   100] | app.exe+0x1000() {\n"
                          "           [   100] |   plug.dll+0x2000() {\n"
                          "    0.0 us [   100] |     app.exe+0x1000();\n"
                          "    0.0 us [   100] |   } /* plug.dll+0x2000 */\n"
                          "    0.0 us [   100] | } /* app.exe+0x1000 */\n"));
    }

    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}


//
// Runs the tests.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    TestRtl = Rtl;
    TestHeap = Allocator;
    TestFailFrom = ~0ULL;
    TestRandomState = 20240229;
    TestContext.Rtl = Rtl;
    TestContext.Allocator = &TestCountingAllocator;
    TestContext.Output = &TestOut;
    TestContext.Errors = &TestErr;

    TestHeaders();
    TestRecords();
    TestPairing();
    TestClocks();
    TestLiveEnds();

    if (!TEST(TestCreateDirectory(&TestFolder))) {
        return;
    }

    TestCommands();
    TestClockKinds();
    TestRings();
    TestOvertakenTallies(FALSE);
    TestOvertakenTallies(TRUE);
    TestOvertaking();
    TestTails();
    TestFilters();
    TestUsage();
    TestDamage();
    TestMixedSessions();
    TestGrowing();
    TestCutOff();
    TestFailures();
    TestRandomDamage();

    TEST_SUCCESS(TestDeleteTree(&TestFolder));
}

/*++

Module Name:

    Stores.c

Abstract:

    What TestReader's topics share: stores that are made byte by byte, a session
    of one store, and commands that run inside this program.

--*/

#include "TestReader.h"

//
// A process identifier that no process has (they are multiples of 4).
//

#define TEST_NO_PROCESS 0x7FFFFFFDu

PCRTL TestRtl;
PCALLOCATOR TestHeap;
TEST_STORE TestStore;
TEST_STORE TestOther;
TEST_STORE TestDamaged;
TEST_PATH TestFolder;
TEST_PATH TestPath;
TEST_PATH TestSubfolder;
TEST_PATH TestPrefixes;
static CHAR TestOutputBuffer[TEST_OUTPUT_CAPACITY];
CHAR TestErrorBuffer[TEST_OUTPUT_CAPACITY];
CHAR TestEventText[TEST_OUTPUT_CAPACITY];
RTL_WRITER TestOut;
RTL_WRITER TestErr;
READER_CONTEXT TestContext;
READER_SESSION TestSession;
READER_STREAM TestStream;
ULONGLONG TestRandomState;

ULONGLONG TestNumberOfAllocations;
ULONGLONG TestNumberOfFrees;
ULONGLONG TestFailFrom;


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

const ALLOCATOR TestCountingAllocator = {
    NULL,
    TestAllocate,
    TestFree
};

_Use_decl_annotations_
ULONG
TestRandom(
    ULONG Bound
    )
{
    TestRandomState = TestRandomState * 6364136223846793005ULL +
                      1442695040888963407ULL;
    return (ULONG)(TestRandomState >> 33) % Bound;
}

_Use_decl_annotations_
VOID
TestSetAnchor(
    PTRACE_CLOCK_ANCHOR Anchor,
    ULONGLONG Nanoseconds
    )
{
    Anchor->Tsc = TEST_FIRST_TICK + Nanoseconds;
    Anchor->Qpc = 777 + Nanoseconds / 100;
    Anchor->SystemTime = TEST_SYSTEM_TIME + Nanoseconds / 100;
    Anchor->Check = Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime;
}

_Use_decl_annotations_
VOID
TestSetText(
    char *Text,
    uint32_t *Length,
    uint32_t *FullLength,
    ULONG Capacity,
    PCSZ Value
    )
{
    ULONG Index;

    for (Index = 0; Index < Capacity && Value[Index] != 0; Index++) {
        Text[Index] = Value[Index];
    }

    *Length = Index;
    *FullLength = Index;
}

_Use_decl_annotations_
VOID
TestSetEnd(
    PTRACE_STORE_HEADER Header,
    ULONGLONG EndOfRecords
    )
{
    Header->Cursor = 0x7FF600001230ULL;
    Header->CursorToFileOffset = EndOfRecords - Header->Cursor;
}

_Use_decl_annotations_
VOID
TestMakeStore(
    TEST_STORE *Store,
    PCTRACE_RECORD Records,
    ULONG NumberOfRecords
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

_Use_decl_annotations_
BOOLEAN
TestWriteStore(
    PCWSTR Name,
    const TEST_STORE *Store,
    ULONG SizeInBytes
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

_Use_decl_annotations_
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

_Use_decl_annotations_
ULONG
TestRunWithPath(
    PCSZ CommandLine,
    PCWSTR Path
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

_Use_decl_annotations_
ULONG
TestRun(
    PCSZ CommandLine
    )
{
    return TestRunWithPath(CommandLine, TestDosPath(&TestSubfolder));
}

_Use_decl_annotations_
BOOLEAN
TestContains(
    const RTL_WRITER *Writer,
    PCSZ Text
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

_Use_decl_annotations_
VOID
TestWriteEvent(
    PRTL_WRITER Writer,
    const CORE_EVENT *Event
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

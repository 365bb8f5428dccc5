/*++

Module Name:

    Run.c

Abstract:

    One run: the program that is traced, with at most one fault, and what must
    be true of it afterwards.

--*/

#include "TestFaults.h"

static const ULONG FaultChunks[FAULT_THREADS][FAULT_MAXIMUM_CHUNKS] = {
    { 100, 3741, 4096, 8192, 16384, 32768, 65536, 4999 },
    { 50, 2000, 3000, 2900 },
    { 77 }
};

FAULT_THREAD FaultThreads[FAULT_THREADS];
ULONGLONG FaultExpectedSums[2][FAULT_THREADS];
BOOLEAN FaultIsConcurrent;
BOOLEAN FaultHasOptions;
volatile LONG FaultUnsettled;

FAULT_OUTCOME FaultOutcome;
FAULT FaultRunning;
volatile LONG FaultRunNumber;

TEST_PATH FaultFolder;
WCHAR FaultRoot[TEST_PATH_CAPACITY_IN_CHARS];
static CHAR FaultLog[FAULT_TEXT_CAPACITY];
static ULONG FaultLogLength;
BOOLEAN FaultDeleteAStore;

PPENTER_ROUTINE FaultInitial[4];
static ULONG FaultNumberOfMessages;

//
// Makes the events of chunks First to Limit - 1.
//

static
VOID
FaultMakeEvents(
    PFAULT_THREAD Thread,
    ULONG First,
    ULONG Limit
    )
{
    PTRACE_STORE_HEADER Context;
    ULONG_PTR Rsp;
    ULONG Index;

    for (Index = First; Index < Limit; Index += 1) {
        SetLastError(1000 + Index);
        Rsp = HookRepeat(__cyg_profile_func_enter,
                         Thread->Chunks[Index],
                         ((ULONG_PTR)Thread->Number + 1) * 0x10000 + Index);
        Thread->Sum = Thread->Sum * 31 + GetLastError() + Thread->Chunks[Index];
        Thread->Sum = Thread->Sum * 31 + (Rsp & 15);
        Thread->Made += Thread->Chunks[Index];
        if (!FaultIsConcurrent && !FaultSettle(0)) {
            InterlockedIncrement(&FaultUnsettled);
        }
    }

    Context = PenterTestContext();
    if (Context != NULL && Context->Magic != TRACE_STORE_MAGIC) {
        Thread->StandIn = Context;
    }
}

static
DWORD
WINAPI
FaultThreadMain(
    PVOID Parameter
    )
{
    PFAULT_THREAD Thread;
    ULONG Half;

    Thread = (PFAULT_THREAD)Parameter;
    Thread->ThreadId = GetCurrentThreadId();
    Half = Thread->NumberOfChunks / 2;
    FaultMakeEvents(Thread, 0, Half);
    SetEvent(Thread->Done);
    WaitForSingleObject(Thread->Go, INFINITE);
    FaultMakeEvents(Thread, Half, Thread->NumberOfChunks);
    return 0;
}

//
// Runs the program once, all of its life.
//

VOID
FaultRunProgram(
    VOID
    )
{
    HANDLE Handles[FAULT_THREADS];
    PFAULT_THREAD Thread;
    ULONG Index;

    RtlZeroBytes(FaultThreads, sizeof(FaultThreads));
    RtlZeroBytes(Handles, sizeof(Handles));
    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        Thread = &FaultThreads[Index];
        Thread->Number = Index;
        RtlCopyBytes(Thread->Chunks,
                     FaultChunks[Index],
                     sizeof(Thread->Chunks));
        while (Thread->NumberOfChunks < FAULT_MAXIMUM_CHUNKS &&
               Thread->Chunks[Thread->NumberOfChunks] != 0) {

            Thread->NumberOfChunks += 1;
        }
        if (Index == 0 && FaultRunning.Mode != FAULT_BOTH) {
            Thread->Chunks[FAULT_LONG_CHUNK] = 1000;
        }
        Thread->Go = CreateEventW(NULL, FALSE, FaultIsConcurrent, NULL);
        Thread->Done = CreateEventW(NULL, FALSE, FALSE, NULL);
    }

    Thread = &FaultThreads[0];
    Thread->ThreadId = GetCurrentThreadId();
    if (!FaultIsConcurrent) {
        FaultMakeEvents(Thread, 0, 1);
    }

    for (Index = 1; Index < FAULT_THREADS; Index += 1) {
        Handles[Index] = CreateThread(NULL,
                                      0,
                                      FaultThreadMain,
                                      &FaultThreads[Index],
                                      0,
                                      NULL);
        if (!FaultIsConcurrent) {
            WaitForSingleObject(FaultThreads[Index].Done, INFINITE);
        }
    }

    if (FaultIsConcurrent) {
        FaultMakeEvents(Thread, 0, Thread->NumberOfChunks);
    } else {
        FaultMakeEvents(Thread, 1, 4);
    }
    for (Index = 1; Index < FAULT_THREADS; Index += 1) {
        SetEvent(FaultThreads[Index].Go);
        WaitForSingleObject(Handles[Index], INFINITE);
        CloseHandle(Handles[Index]);
        if (!FaultIsConcurrent && !FaultSettle(FaultHasOptions ? 0 : Index)) {
            InterlockedIncrement(&FaultUnsettled);
        }
    }
    if (!FaultIsConcurrent) {
        FaultMakeEvents(Thread, 4, Thread->NumberOfChunks);
    }

    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        CloseHandle(FaultThreads[Index].Go);
        CloseHandle(FaultThreads[Index].Done);
    }
}

//
// Checks that a store that has not been closed says why.
//

static
VOID
FaultCheckState(
    PCTRACE_STORE_HEADER Header
    );

//
// Looks at the bytes of one store of a tree: counts the calls.
//

static
VOID
FaultReadTree(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG SizeInBytes
    )
{
    PCTRACE_NODE Nodes;
    ULONGLONG Index;

    if (Header->NodesFileOffset > SizeInBytes ||
        Header->NumberOfNodes >
        (SizeInBytes - Header->NodesFileOffset) / TRACE_NODE_SIZE) {

        FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
        return;
    }

    Nodes = (PCTRACE_NODE)((const BYTE *)Header + Header->NodesFileOffset);
    for (Index = 0; Index < Header->NumberOfNodes; Index += 1) {
        FaultOutcome.Recorded += Nodes[Index].Calls;
    }
    FaultCheckState(Header);
}

//
// Looks at one store's bytes.
//

static
VOID
FaultReadStore(
    const BYTE *Bytes,
    ULONGLONG SizeInBytes
    )
{
    PCTRACE_STORE_HEADER Header;
    PCTRACE_RECORD Record;
    PFAULT_THREAD Thread;
    ULONGLONG Count;
    ULONGLONG Last;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONG Seen[FAULT_MAXIMUM_CHUNKS];
    ULONG Chunk;
    ULONG Newest;
    ULONG Index;

    Header = (PCTRACE_STORE_HEADER)Bytes;
    if (SizeInBytes < TRACE_HEADER_SIZE || Header->Magic == 0) {
        FaultOutcome.NumberOfStubs += 1;
        return;
    }

    FaultOutcome.NumberOfStores += 1;
    FaultOutcome.LostInStores += Header->NumberOfEventsLost;
    if (Header->Magic == TRACE_STORE_MAGIC &&
        Header->Mode == TRACE_MODE_TREE) {

        FaultReadTree(Header, SizeInBytes);
        return;
    }
    Count = PenterTestNumberOfRecords(Header);
    if (Header->Magic != TRACE_STORE_MAGIC ||
        (Header->FirstPosition == 0 &&
         Count > (SizeInBytes - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE) ||
        Header->FirstPosition > TRACE_HEADER_SIZE + Count * TRACE_RECORD_SIZE) {

        FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
        return;
    }
    FaultOutcome.Recorded += Count + Header->NumberOfEventsTooDeep;

    Thread = NULL;
    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        if (FaultThreads[Index].ThreadId == Header->ThreadId) {
            Thread = &FaultThreads[Index];
        }
    }
    if (Thread == NULL) {
        FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
        return;
    }

    //
    // The events of a thread, in their order, each chunk with no more than
    // were made.  A ring has lost the first of them.
    //

    RtlZeroBytes(Seen, sizeof(Seen));
    Position = TRACE_HEADER_SIZE;
    if (Header->FirstPosition != 0) {
        Position = Header->FirstPosition;
    }
    Count -= (Position - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE;
    Last = 1;
    Newest = 0;
    for (; Count != 0; Count -= 1) {
        Offset = Position;
        if (Header->FirstPosition != 0) {
            Offset = Header->RingFileOffset +
                     (Position - Header->RingFileOffset) %
                     Header->RingSizeInBytes;
        }
        if (Offset > SizeInBytes - TRACE_RECORD_SIZE) {
            FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
            return;
        }
        Record = (PCTRACE_RECORD)(Bytes + Offset);
        Chunk = Record->Site - (Thread->Number + 1) * 0x10000;
        if (Chunk >= Thread->NumberOfChunks || Chunk < Newest ||
            Record->Timestamp < Last ||
            (Record->StackKind & 7) != TRACE_KIND_ENTER_FUNCTION) {

            FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
            return;
        }
        Newest = Chunk;
        Last = Record->Timestamp;
        Seen[Chunk] += 1;
        Position += TRACE_RECORD_SIZE;
    }
    for (Index = 0; Index < Thread->NumberOfChunks; Index += 1) {
        if (Seen[Index] > Thread->Chunks[Index]) {
            FaultOutcome.Problems |= FAULT_PROBLEM_CONTENT;
        }
    }

    FaultCheckState(Header);
}

//
// Whether a compact store has made all of its pages.  What it writes then is
// blocks.
//

static
BOOLEAN
FaultHasUsedRawRing(
    PCTRACE_STORE_HEADER Header
    )
{
    return Header->Mode == TRACE_MODE_COMPACT &&
           Header->Cursor + Header->CursorToFileOffset >=
               Header->RingFileOffset + Header->RingSizeInBytes;
}

static
VOID
FaultCheckState(
    PCTRACE_STORE_HEADER Header
    )
{
    ULONG Index;
    NTSTATUS Status;

    //
    // All stores have ended, and those that stopped say why.
    //

    if (Header->State == TRACE_STATE_CLOSED) {
        return;
    }

    FaultOutcome.NumberStopped += 1;
    Status = FaultRunning.Error.Reported;
    if (FaultRunning.Mode == FAULT_READ_ONLY) {
        if (Header->Reason != TRACE_REASON_PAGE_FAILED) {
            FaultOutcome.Problems |= FAULT_PROBLEM_HEADER;
        }
        return;
    }

    switch (FaultRunning.Error.Routine) {
    case FaultNtSetInformationFile:
        Index = TRACE_REASON_EXTEND_FAILED;
        break;
    case FaultNtCreateSection:
    case FaultNtMapViewOfSection:
        Index = TRACE_REASON_MAP_FAILED;
        break;
    case FaultNtWriteFile:
        Index = TRACE_REASON_PAGE_FAILED;
        if (FaultHasUsedRawRing(Header)) {
            Index = TRACE_REASON_EXTEND_FAILED;
        }
        break;
    case FaultTlsSetValue:
        Index = TRACE_REASON_INVARIANT;
        break;
    default:
        Index = TRACE_REASON_NONE;
        break;
    }
    if (Header->State != TRACE_STATE_STOPPED || Header->Reason != Index ||
        Header->Status != (ULONG)Status) {

        FaultOutcome.Problems |= FAULT_PROBLEM_HEADER;
    }
}

//
// Reads the stores and the logs of a run.
//

static
VOID
FaultReadFile(
    PCWSTR Path,
    BOOLEAN IsStore
    )
{
    HANDLE File;
    HANDLE Mapping;
    PBYTE View;
    LARGE_INTEGER Size;
    DWORD Read;

    if (IsStore && FaultDeleteAStore) {
        FaultDeleteAStore = FALSE;
        return;
    }

    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (!TEST(File != INVALID_HANDLE_VALUE) ||
        !TEST(GetFileSizeEx(File, &Size))) {

        return;
    }

    if (!IsStore) {
        Read = 0;
        ReadFile(File,
                 FaultLog + FaultLogLength,
                 FAULT_TEXT_CAPACITY - FaultLogLength,
                 &Read,
                 NULL);
        FaultLogLength += Read;
    } else if (Size.QuadPart == 0) {
        FaultOutcome.NumberOfStubs += 1;
    } else {
        Mapping = CreateFileMappingW(File, NULL, PAGE_READONLY, 0, 0, NULL);
        View = (PBYTE)MapViewOfFile(Mapping, FILE_MAP_READ, 0, 0, 0);
        if (TEST(View != NULL)) {
            FaultReadStore(View, (ULONGLONG)Size.QuadPart);
            UnmapViewOfFile(View);
        }
        CloseHandle(Mapping);
    }
    CloseHandle(File);
}

static
VOID
FaultReadFolder(
    PWCHAR Path,
    ULONG Length
    )
{
    WIN32_FIND_DATAW Data;
    HANDLE Find;
    ULONG Name;

    Path[Length] = L'\\';
    Path[Length + 1] = L'*';
    Path[Length + 2] = L'\0';
    Find = FindFirstFileW(Path, &Data);
    if (Find == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        if (Data.cFileName[0] == L'.' &&
            (Data.cFileName[1] == L'\0' || Data.cFileName[1] == L'.')) {

            continue;
        }
        Name = RtlLengthOfWideString(Data.cFileName);
        RtlCopyBytes(Path + Length + 1,
                     Data.cFileName,
                     (Name + 1) * sizeof(WCHAR));
        if ((Data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
            FaultReadFolder(Path, Length + 1 + Name);
        } else if (Data.cFileName[Name - 1] != L'l') {  // session.control
            FaultReadFile(Path, Data.cFileName[Name - 1] == L'e');
        }
    } while (FindNextFileW(Find, &Data));
    FindClose(Find);
}

_Use_decl_annotations_
BOOLEAN
FaultContains(
    const CHAR *Text,
    ULONG LengthInBytes,
    PCSZ Wanted
    )
{
    ULONG Length;
    ULONG Index;

    Length = RtlLengthOfString(Wanted);
    for (Index = 0; Index + Length <= LengthInBytes; Index += 1) {
        if (RtlAreBytesEqual(Text + Index, Wanted, Length)) {
            return TRUE;
        }
    }
    return FALSE;
}

//
// Whether a text has a line with the status: "step: object: 0xC000007F".
//

static
BOOLEAN
FaultSays(
    const CHAR *Text,
    ULONG LengthInBytes,
    NTSTATUS Status
    )
{
    RTL_WRITER Writer;
    CHAR Wanted[32];

    RtlInitializeBufferWriter(&Writer, Wanted, sizeof(Wanted) - 1);
    RtlWriteText(&Writer, ": 0x%08X", (ULONG)Status);
    Wanted[Writer.LengthInBytes] = '\0';
    return FaultContains(Text, LengthInBytes, Wanted);
}

//
// Whether the library has said how many events are counted in no store.
//

static
BOOLEAN
FaultSaysCount(
    VOID
    )
{
    RTL_WRITER Writer;
    CHAR Wanted[64];

    RtlInitializeBufferWriter(&Writer, Wanted, sizeof(Wanted) - 1);
    RtlWriteText(&Writer,
                 "; %llu events are not recorded",
                 FaultOutcome.LostElsewhere);
    Wanted[Writer.LengthInBytes] = '\0';
    return FaultContains(FaultText, FaultTextLength, Wanted);
}

//
// Whether a fault that cost no event has to be reported all the same.  Of
// threads that prepare the hooks at the same time only one has something to
// report about the environment.
//

static
BOOLEAN
FaultMustBeSaid(
    VOID
    )
{
    if (FaultFired == 0) {
        return FALSE;
    }
    switch (FaultRunning.Error.Routine) {
    case FaultNtCreateEvent:
    case FaultNtCreateThreadEx:
    case FaultNtResumeThread:
    case FaultRtlAddVectoredExceptionHandler:
        return TRUE;
    case FaultRtlQueryEnvironmentVariable_U:
        return FaultRunning.Error.Reported != STATUS_VARIABLE_NOT_FOUND &&
               !FaultIsConcurrent;
    case FaultGetModuleFileNameW:
        return FaultRunning.Call == 1 && !FaultIsConcurrent;
    default:
        return FALSE;
    }
}

static
VOID
FaultCheckReports(
    VOID
    )
{
    NTSTATUS Status;
    BOOLEAN IsLogHit;
    ULONG Routine;

    Status = FaultRunning.Error.Reported;
    if (FaultRunning.Mode == FAULT_READ_ONLY) {
        Status = STATUS_ACCESS_VIOLATION;
    } else if (FaultRunning.Mode == FAULT_MISSING) {
        Status = STATUS_ENTRYPOINT_NOT_FOUND;
        if (FaultRunning.Error.Routine == FaultOutputDebugStringW) {
            return;
        }
    }

    if (FaultOutcome.Made != FaultOutcome.Recorded || FaultMustBeSaid()) {
        if (!FaultSays(FaultText, FaultTextLength, Status)) {
            FaultOutcome.Problems |= FAULT_PROBLEM_REPORT;
        }

        //
        // The log, unless the fault is in its way too, or the hooks have no
        // session that it could be of.
        //

        Routine = FaultRunning.Error.Routine;
        IsLogHit = FaultRunning.Sticky &&
                   (Routine == FaultNtCreateFile ||
                    Routine == FaultNtWriteFile ||
                    Routine == FaultGetFullPathNameW);
        if (FaultIsConcurrent &&
            FaultContains(FaultText,
                          FaultTextLength,
                          "left to another thread")) {

            IsLogHit = TRUE;
        }
        if (!FaultOutcome.IsOff && !IsLogHit &&
            !FaultSays(FaultLog, FaultLogLength, Status)) {

            FaultOutcome.Problems |= FAULT_PROBLEM_REPORT;
        }
    } else if (FaultRunning.Call == 0 && FaultRunning.Mode == FAULT_FAIL &&
               (FaultNumberOfReports != 1 || FaultLogLength == 0)) {

        //
        // Undisturbed there is the one report that the environment asks for.
        //

        FaultOutcome.Problems |= FAULT_PROBLEM_REPORT;
    }
}

_Use_decl_annotations_
VOID
FaultPrintRun(
    VOID
    )
{
    FaultNumberOfMessages += 1;
    if (FaultNumberOfMessages > 40) {
        return;
    }
    RtlWriteText(TestOutput,
                 "%s, mode %u, call %d%s, value %x: problems %x: made %llu, "
                 "recorded %llu, lost %llu + %llu, stores %u, stopped %u, "
                 "stubs %u, %s, leaks %u, bad calls %d, fired %d\n",
                 FaultNames[FaultRunning.Error.Routine],
                 FaultRunning.Mode,
                 FaultRunning.Call,
                 FaultRunning.Sticky ? " and after" : "",
                 FaultRunning.Error.Value,
                 FaultOutcome.Problems,
                 FaultOutcome.Made,
                 FaultOutcome.Recorded,
                 FaultOutcome.LostInStores,
                 FaultOutcome.LostElsewhere,
                 FaultOutcome.NumberOfStores,
                 FaultOutcome.NumberStopped,
                 FaultOutcome.NumberOfStubs,
                 FaultOutcome.IsOff ? "off" : "on",
                 FaultOutcome.Leaks,
                 FaultBadCalls,
                 FaultFired);
    RtlWriteText(TestOutput,
                 "    said: %.*s\n    log: %.*s\n",
                 FaultTextLength,
                 FaultText,
                 FaultLogLength,
                 FaultLog);
    RtlFlushWriter(TestOutput);
}

_Use_decl_annotations_
ULONG
FaultRun(
    PCFAULT Fault
    )
{
    static WCHAR Path[TEST_PATH_CAPACITY_IN_CHARS];
    static TEST_PATH Root;
    PTRACE_STORE_HEADER StandIn;
    ULONG Length;
    ULONG Index;
    ULONG Other;

    RtlZeroBytes(&FaultOutcome, sizeof(FaultOutcome));
    RtlZeroBytes(&FaultRunning, sizeof(FaultRunning));
    if (Fault != NULL) {
        FaultRunning = *Fault;
    }
    FaultLogLength = 0;
    InterlockedIncrement(&FaultRunNumber);

    CreateDirectoryW(FaultRoot, NULL);
    SetCurrentDirectoryW(FaultRoot);

    PenterSlotOffset = 0;
    PenterExitRoutine = FaultInitial[1];
    PenterEnterFunctionRoutine = FaultInitial[2];
    PenterExitFunctionRoutine = FaultInitial[3];
    PenterEnterRoutine = FaultInitial[0];

    FaultBegin(Fault);
    FaultIsReady = TRUE;
    FaultRunProgram();

    FaultOutcome.IsOff = PenterEnterRoutine == PenterReturn;
    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        FaultOutcome.Made += FaultThreads[Index].Made;
        if (FaultThreads[Index].Sum !=
            FaultExpectedSums[FaultRunning.Mode == FAULT_BOTH][Index]) {

            FaultOutcome.Problems |= FAULT_PROBLEM_PROGRAM;
        }
    }

    //
    // Threads without a store have a stand-in, mostly the same one.
    //

    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        StandIn = FaultThreads[Index].StandIn;
        for (Other = 0; Other < Index; Other += 1) {
            if (FaultThreads[Other].StandIn == StandIn) {
                StandIn = NULL;
            }
        }
        if (StandIn != NULL) {
            FaultOutcome.LostElsewhere += StandIn->NumberOfEventsLost;
        }
    }

    //
    // Without a worker the process's end comes first.
    //

    FaultOutcome.LostElsewhere += (ULONGLONG)PenterEventsLeftOut;
    if (FaultRunning.Mode == FAULT_BOTH) {
        PenterProcessExit();
    }
    PenterModuleUnload();
    FaultIsReady = FALSE;
    FaultOutcome.Leaks = FaultCleanUp();
    if (FaultOutcome.Leaks != 0 || FaultBadCalls != 0) {
        FaultOutcome.Problems |= FAULT_PROBLEM_LEAK;
    }

    Length = RtlLengthOfWideString(FaultRoot);
    RtlCopyBytes(Path, FaultRoot, Length * sizeof(WCHAR));
    FaultReadFolder(Path, Length);

    //
    // Hooks that are off count nothing: they have said that nothing is
    // recorded.
    //

    if (FaultOutcome.IsOff) {
        FaultOutcome.LostElsewhere = FaultOutcome.Made;
    }
    if (FaultOutcome.Recorded + FaultOutcome.LostInStores +
        FaultOutcome.LostElsewhere != FaultOutcome.Made) {

        FaultOutcome.Problems |= FAULT_PROBLEM_ACCOUNT;
    }
    if (!FaultOutcome.IsOff && FaultOutcome.LostElsewhere != 0 &&
        !FaultSaysCount()) {

        FaultOutcome.Problems |= FAULT_PROBLEM_REPORT;
    }
    FaultCheckReports();
    if (FaultRunning.Call != 0 && FaultFired == 0) {
        FaultOutcome.Problems |= FAULT_PROBLEM_NOT_FIRED;
    }

    SetCurrentDirectoryW(TestDosPath(&FaultFolder));
    if (TestMakePath(&Root, FaultRoot)) {
        TEST_SUCCESS(TestDeleteTree(&Root));
    }

    return FaultOutcome.Problems;
}

_Use_decl_annotations_
BOOLEAN
FaultRunWell(
    PCFAULT Fault,
    ULONG Allowed
    )
{
    if ((FaultRun(Fault) & ~Allowed) == 0) {
        TEST(TRUE);
        return TRUE;
    }
    FaultPrintRun();
    return TEST((FaultOutcome.Problems & ~Allowed) == 0);
}

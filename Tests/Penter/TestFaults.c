/*++

Module Name:

    TestFaults.c

Abstract:

    Makes every call of the operating system that the writer makes fail: each
    routine, at its first, second, ... last call, once and from then on, with
    each failure that is documented for it; and takes each export away that the
    bootstrap looks for.

    The program that is traced is three threads of this process which call the
    real hooks.  It runs once undisturbed, to count the calls, and then once
    with each fault.  The hooks are taken apart after each run as when a DLL is
    unloaded, and begin anew.  Whatever failed:

    - the threads go on and compute the same, with the same last errors;
    - what their files hold and what is counted as lost is what they called;
    - if anything is lost, the debugger and the log are told the step, the
      object and the status, and the header of a store that has stopped says
      why;
    - handles, views, memory and slots have been given back.

    A run without the worker (its thread is always refused) makes the same
    demands of the code that does its work on the traced threads; there the
    hooks learn of the end of the process before they are taken apart.

    With TRACER_FAULTS=all in the environment: all errors at all calls; with
    TRACER_LONG: one error at each call, and all of them at the first and the
    last; else a part of that.

    Takes long in Debug.

--*/

#include "FaultSupport.h"
#include "PenterStoreSupport.h"

NTSTATUS
NTAPI
LdrGetProcedureAddress(
    PVOID Module,
    PVOID Name,
    ULONG Ordinal,
    PVOID *Address
    );

NTSTATUS
NTAPI
LdrGetDllHandle(
    PCWSTR Path,
    PVOID Unused,
    PUNICODE_STRING Name,
    PVOID *Module
    );

//
// The two imports of RtlBootstrap.c.  The linker finds these before those of
// the import library.
//

static PCWSTR FaultMissingDll;
static BOOLEAN FaultIsReady;

static
FARPROC
WINAPI
FaultGetProcAddress(
    HMODULE Module,
    LPCSTR Name
    )
{
    struct {
        USHORT Length;
        USHORT MaximumLength;
        PCSZ Buffer;
    } String;
    PVOID Address;

    String.Buffer = Name;
    String.Length = (USHORT)RtlLengthOfString(Name);
    String.MaximumLength = (USHORT)(String.Length + 1);
    Address = NULL;
    if (!NT_SUCCESS(LdrGetProcedureAddress(Module, &String, 0, &Address))) {
        Address = NULL;
    }
    if (FaultIsReady) {
        Address = FaultResolve(Name, Address);
    }
    return (FARPROC)(ULONG_PTR)Address;
}

static
HMODULE
WINAPI
FaultGetModuleHandleW(
    LPCWSTR Name
    )
{
    UNICODE_STRING String;
    PVOID Module;
    ULONG Length;

    Length = RtlLengthOfWideString(Name);
    if (FaultMissingDll != NULL &&
        RtlAreBytesEqual(Name, FaultMissingDll, (Length + 1) * sizeof(WCHAR))) {

        return NULL;
    }
    RtlPointUnicodeString(&String, Name, Length);
    if (!NT_SUCCESS(LdrGetDllHandle(NULL, NULL, &String, &Module))) {
        return NULL;
    }
    return (HMODULE)Module;
}

typedef FARPROC (WINAPI FAULT_GET_PROC_ADDRESS)(HMODULE Module, LPCSTR Name);
typedef HMODULE (WINAPI FAULT_GET_MODULE_HANDLE_W)(LPCWSTR Name);

extern FAULT_GET_PROC_ADDRESS *__imp_GetProcAddress;
extern FAULT_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW;
FAULT_GET_PROC_ADDRESS *__imp_GetProcAddress = FaultGetProcAddress;
FAULT_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW = FaultGetModuleHandleW;

//
// The program.  Each thread makes its events in chunks; the site of an event is
// the number of its thread and of its chunk.  The first thread goes through
// views of 64 KiB (less the header) to 1 MiB, each chunk ending one event into
// a new view, so that the worker prepares each view, up to the first of 2 MiB,
// and none is a race; without a worker it goes on into that one.  The second
// thread goes through two views, the first while the worker is not there yet.
//

#define FAULT_VIEW_SIZE     L"2M"
#define FAULT_THREADS       3
#define FAULT_MAXIMUM_CHUNKS 10
#define FAULT_LONG_CHUNK    6           // of the first thread

typedef struct _FAULT_THREAD {
    ULONG Chunks[FAULT_MAXIMUM_CHUNKS];
    ULONG NumberOfChunks;
    ULONG Number;
    ULONG ThreadId;
    ULONGLONG Sum;
    ULONGLONG Made;
    PTRACE_STORE_HEADER StandIn;
    HANDLE Go;
    HANDLE Done;
} FAULT_THREAD;
typedef FAULT_THREAD *PFAULT_THREAD;

static const ULONG FaultChunks[FAULT_THREADS][FAULT_MAXIMUM_CHUNKS] = {
    { 100, 3741, 4096, 8192, 16384, 32768, 65536, 4999 },
    { 50, 2000, 3000, 2900 },
    { 77 }
};

static FAULT_THREAD FaultThreads[FAULT_THREADS];
static ULONGLONG FaultExpectedSums[2][FAULT_THREADS];   // [1]: no worker
static BOOLEAN FaultIsConcurrent;
static BOOLEAN FaultHasOptions;         // a worker from the start
static volatile LONG FaultUnsettled;

//
// What is wrong with a run.
//

#define FAULT_PROBLEM_PROGRAM   0x01    // the program computed something else
#define FAULT_PROBLEM_ACCOUNT   0x02    // recorded + lost are not all
#define FAULT_PROBLEM_CONTENT   0x04    // a store holds what was not called
#define FAULT_PROBLEM_REPORT    0x08    // nobody was told, or something else
#define FAULT_PROBLEM_HEADER    0x10    // a store's header does not say why
#define FAULT_PROBLEM_LEAK      0x20    // not given back, or twice
#define FAULT_PROBLEM_NOT_FIRED 0x40    // there was no such call

typedef struct _FAULT_OUTCOME {
    ULONG Problems;
    BOOLEAN IsOff;                      // the hooks could not be prepared
    ULONGLONG Made;
    ULONGLONG Recorded;
    ULONGLONG LostInStores;
    ULONGLONG LostElsewhere;
    ULONG NumberOfStores;
    ULONG NumberStopped;
    ULONG NumberOfStubs;                // files without a header
    ULONG Leaks;
} FAULT_OUTCOME;
typedef FAULT_OUTCOME *PFAULT_OUTCOME;

static FAULT_OUTCOME FaultOutcome;
static FAULT FaultRunning;
static volatile LONG FaultRunNumber;

static TEST_PATH FaultFolder;
static WCHAR FaultRoot[TEST_PATH_CAPACITY_IN_CHARS];
static CHAR FaultLog[FAULT_TEXT_CAPACITY];
static ULONG FaultLogLength;
static BOOLEAN FaultDeleteAStore;       // a control: one file disappears

static PPENTER_ROUTINE FaultInitial[4];
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

static
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

static
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

//
// Prints what went wrong in a run.
//

static
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

//
// One run with a fault (NULL: none); returns its problems.
//

static
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

//
// A run that must come out well.
//

static
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

//
// A crash or a standstill ends the program, and says in which run.  A run takes
// a fraction of a second; on a machine that has no memory left for it one took
// more than a minute.
//

#define FAULT_STANDSTILL 900        // seconds

static volatile LONG FaultIsOver;

static
DWORD
WINAPI
FaultWatch(
    PVOID Parameter
    )
{
    LONG Last;
    ULONG Seconds;

    UNREFERENCED_PARAMETER(Parameter);

    Last = -1;
    Seconds = 0;
    while (!FaultIsOver) {
        Sleep(1000);
        Seconds = (Last == FaultRunNumber) ? Seconds + 1 : 0;
        Last = FaultRunNumber;
        if (Seconds >= FAULT_STANDSTILL) {
            RtlWriteText(TestOutput, "a standstill:\n");
            FaultPrintRun();
            ExitProcess(1);
        }
    }
    return 0;
}

static
LONG
WINAPI
FaultCrashed(
    EXCEPTION_POINTERS *Pointers
    )
{
    RtlWriteText(TestOutput,
                 "exception %x at %p:\n",
                 Pointers->ExceptionRecord->ExceptionCode,
                 Pointers->ExceptionRecord->ExceptionAddress);
    FaultPrintRun();
    ExitProcess(1);
    return EXCEPTION_CONTINUE_SEARCH;
}

//
// Routines whose calls are not the same in number in each run, because threads
// wait for each other.
//

static
BOOLEAN
FaultIsRace(
    ULONG Routine
    )
{
    return Routine == FaultNtSetEvent ||
           Routine == FaultNtWaitForSingleObject ||
           Routine == FaultNtWaitForMultipleObjects ||
           Routine == FaultNtSignalAndWaitForSingleObject ||
           Routine == FaultNtYieldExecution ||
           Routine == FaultNtDelayExecution ||
           Routine == FaultRtlDllShutdownInProgress;
}

//
// Routines that are called for each view, or for each piece of one: views of a
// thread that is slower are smaller (TraceAdvance.c), so the later calls of
// these may not come where the machine has other things to do.
//

static
BOOLEAN
FaultIsOfSpeed(
    ULONG Routine
    )
{
    return Routine == FaultNtAllocateVirtualMemory ||
           Routine == FaultNtFreeVirtualMemory ||
           Routine == FaultNtWriteFile;
}

//
// Whether there are failures in the table for a routine.
//

static
ULONG
FaultCountErrors(
    ULONG Routine,
    PULONG First
    )
{
    ULONG Index;
    ULONG Count;

    Count = 0;
    for (Index = 0; Index < FaultNumberOfErrors; Index += 1) {
        if (FaultErrors[Index].Routine == Routine) {
            if (Count == 0) {
                *First = Index;
            }
            Count += 1;
        }
    }
    return Count;
}

//
// All the calls of a program, with the worker or without.
//

static
VOID
FaultTestAllCalls(
    ULONG Mode,
    BOOLEAN Everything,
    BOOLEAN Quick
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONG Routine;
    ULONG First;
    ULONG Number;
    ULONG Error;
    ULONG Sticky;
    LONG Call;
    ULONG Runs;
    ULONG NotFired;
    ULONGLONG Start;
    BOOLEAN Wanted;

    //
    // Undisturbed, twice: where no thread waits for another the numbers are
    // the same.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = Mode;
    Fault.Error.Routine = FaultNtCreateThreadEx;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    FaultRunWell(&Fault, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));
    TEST_EQUAL(FaultOutcome.NumberOfStores, FAULT_THREADS);
    TEST_EQUAL(FaultOutcome.NumberOfStubs, 0);
    TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);
    FaultRunWell(&Fault, 0);
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        if (FaultIsRace(Routine) || FaultIsOfSpeed(Routine)) {
            continue;
        }
        if (!TEST_EQUAL(FaultCalls[Routine], Counts[Routine])) {
            RtlWriteText(TestOutput, "    %s\n", FaultNames[Routine]);
        }
    }

    Runs = 0;
    NotFired = 0;
    Start = GetTickCount64();
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        First = 0;
        Number = FaultCountErrors(Routine, &First);

        //
        // What the writer calls has failures in the table, or cannot fail.
        //

        if (Counts[Routine] != 0 && Number == 0) {
            TEST(Routine == FaultRtlUpcaseUnicodeChar ||
                 Routine == FaultGetCommandLineW ||
                 Routine == FaultOutputDebugStringW ||
                 Routine == FaultRtlDllShutdownInProgress ||
                 Routine == FaultRtlLookupFunctionEntry);
            continue;
        }
        if (Mode == FAULT_BOTH && Routine == FaultNtCreateThreadEx) {
            continue;
        }

        for (Call = 1; Call <= Counts[Routine]; Call += 1) {
            for (Error = 0; Error < Number; Error += 1) {
                for (Sticky = 0; Sticky < 2; Sticky += 1) {
                    Wanted = Everything;
                    if (Error == (ULONG)Call % Number) {
                        Wanted = Wanted || Sticky == 0 || Call == 1;
                    }
                    if (Call == 1 || Call == Counts[Routine]) {
                        Wanted = Wanted || Sticky == 0;
                    }
                    if (Quick && !Everything) {
                        Wanted = Wanted && Error == 0 &&
                                 (Call == 1 || Call % 8 == 0 ||
                                  Call == Counts[Routine]);
                    }
                    if (!Wanted) {
                        continue;
                    }

                    Fault.Mode = Mode;
                    Fault.Call = Call;
                    Fault.Sticky = (BOOLEAN)Sticky;
                    Fault.Error = FaultErrors[First + Error];
                    FaultRunWell(&Fault,
                                 FaultIsRace(Routine) ||
                                 (FaultIsOfSpeed(Routine) && Call > 1) ?
                                 FAULT_PROBLEM_NOT_FIRED : 0);
                    Runs += 1;
                    NotFired += FaultFired == 0;
                }
            }
        }
    }

    RtlWriteText(TestOutput,
                 "%s: %u faults, %u of them not met, %llu ms\n",
                 Mode == FAULT_BOTH ? "without a worker" : "with a worker",
                 Runs,
                 NotFired,
                 GetTickCount64() - Start);
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        if (Counts[Routine] != 0) {
            RtlWriteText(TestOutput,
                         "    %5d  %s\n",
                         Counts[Routine],
                         FaultNames[Routine]);
        }
    }
}

//
// Some of the calls of a program that has options: the first two, the last and
// every sixteenth of each routine, once; and the first for good.  Those that
// take seconds are made fail once.
//

typedef struct _FAULT_OPTION {
    PCWSTR Name;
    PCWSTR Value;
} FAULT_OPTION;

static
VOID
FaultTestOptions(
    ULONG Mode,
    const FAULT_OPTION *Options,
    ULONG NumberOfOptions,
    BOOLEAN Quick
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONG Routine;
    ULONG First;
    ULONG Number;
    ULONG Index;
    ULONG Runs;
    LONG Call;
    ULONGLONG Start;

    for (Index = 0; Index < NumberOfOptions; Index += 1) {
        SetEnvironmentVariableW(Options[Index].Name, Options[Index].Value);
    }
    FaultHasOptions = TRUE;

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = Mode;
    Fault.Error.Routine = FaultNtCreateThreadEx;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    FaultRunWell(&Fault, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));
    TEST_EQUAL(FaultOutcome.NumberOfStores, FAULT_THREADS);
    TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);

    Runs = 0;
    Start = GetTickCount64();
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        First = 0;
        Number = FaultCountErrors(Routine, &First);
        if (Number == 0 ||
            (Mode == FAULT_BOTH && Routine == FaultNtCreateThreadEx)) {

            continue;
        }
        for (Call = 0; Call <= Counts[Routine]; Call += 1) {
            if ((Call > 2 && Call != Counts[Routine] &&
                 (Quick || Call % 16 != 0)) ||
                (FaultIsRace(Routine) && Call != 1)) {

                continue;
            }
            Fault.Mode = Mode;
            Fault.Call = Call == 0 ? 1 : Call;
            Fault.Sticky = Call == 0;
            Fault.Error = FaultErrors[First + (ULONG)Call % Number];
            if (Counts[Routine] != 0) {
                FaultRunWell(&Fault, FAULT_PROBLEM_NOT_FIRED);
                Runs += 1;
            }
        }
    }

    RtlWriteText(TestOutput, "options:");
    for (Index = 0; Index < NumberOfOptions; Index += 1) {
        RtlWriteText(TestOutput,
                     " %S=%S",
                     Options[Index].Name,
                     Options[Index].Value);
        SetEnvironmentVariableW(Options[Index].Name, NULL);
    }
    FaultHasOptions = FALSE;
    RtlWriteText(TestOutput,
                 ": %u faults, %d calls of NtFlushVirtualMemory, %llu ms\n",
                 Runs,
                 Counts[FaultNtFlushVirtualMemory],
                 GetTickCount64() - Start);
}

//
// A module that is left out, and whose code may not be changed: the jump stays
// and leads to a return.  There is one try in a process.
//

static
VOID
FaultTestLeftOut(
    VOID
    )
{
    static const PPENTER_ROUTINE Hooks[] = {
        _penter, _pexit, __cyg_profile_func_enter, __cyg_profile_func_exit
    };
    FAULT Fault;
    ULONG Index;
    BYTE Before[RTL_NUMBER_OF(Hooks)];

    for (Index = 0; Index < RTL_NUMBER_OF(Hooks); Index += 1) {
        Before[Index] = *(PBYTE)(ULONG_PTR)Hooks[Index];
    }

    SetEnvironmentVariableW(L"TRACER_MODULES", L"-testfaults");
    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Call = 1;
    Fault.Error.Routine = FaultNtProtectVirtualMemory;
    Fault.Error.Value = (ULONG)FAULT_DYNAMIC_CODE_BLOCKED;
    Fault.Error.Reported = FAULT_DYNAMIC_CODE_BLOCKED;

    //
    // Nobody is told: nothing was asked for that is not done.
    //

    TEST_EQUAL(FaultRun(&Fault), FAULT_PROBLEM_REPORT);
    TEST_EQUAL(FaultFired, 1);
    TEST_EQUAL(FaultCalls[FaultNtProtectVirtualMemory], 1);
    TEST_EQUAL(FaultNumberOfReports, 0);
    TEST(FaultOutcome.IsOff);
    TEST_EQUAL(FaultOutcome.NumberOfStores, 0);
    TEST(PenterEnterRoutine == PenterReturn);
    TEST(PenterExitFunctionRoutine == PenterReturn);
    for (Index = 0; Index < RTL_NUMBER_OF(Hooks); Index += 1) {
        TEST_EQUAL(*(PBYTE)(ULONG_PTR)Hooks[Index], Before[Index]);
        Hooks[Index]();
    }
    SetEnvironmentVariableW(L"TRACER_MODULES", L"testfaults;-other");
}

//
// Views whose pages cannot be had.
//

static
VOID
FaultTestPages(
    VOID
    )
{
    FAULT Fault;
    LONG Count;
    ULONG Sticky;

    FaultRun(NULL);
    Count = FaultCalls[FaultNtMapViewOfSection];
    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = FAULT_READ_ONLY;
    Fault.Error.Routine = FaultNtMapViewOfSection;
    for (Fault.Call = 1; Fault.Call <= Count; Fault.Call += 1) {
        for (Sticky = 0; Sticky < 2; Sticky += 1) {
            Fault.Sticky = (BOOLEAN)Sticky;
            FaultRunWell(&Fault, 0);
        }
    }
}

//
// Exports, and whole DLLs, that are not there.
//

static
VOID
FaultTestMissing(
    VOID
    )
{
    FAULT Fault;
    ULONG Routine;
    BOOLEAN IsOptional;
    ULONG Index;

    static const PCWSTR Dlls[] = { L"ntdll.dll", L"kernel32.dll" };
    static const ULONG Optional[] = { RTL_NTDLL_OPTIONAL(FAULT_NUMBER) };

    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_MISSING;
        Fault.Error.Routine = Routine;
        FaultRunWell(&Fault, 0);

        IsOptional = FALSE;
        for (Index = 0; Index < RTL_NUMBER_OF(Optional); Index += 1) {
            IsOptional = IsOptional || Optional[Index] == Routine;
        }
        TEST(FaultFired != 0);
        TEST_EQUAL(FaultOutcome.IsOff, !IsOptional);
        if (IsOptional) {
            TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);
            TEST_EQUAL(FaultNumberOfReports,
                       Routine == FaultRtlAddVectoredExceptionHandler ? 2 : 1);
            TEST_EQUAL(FaultCalls[Routine], 0);
        } else {
            TEST_EQUAL(FaultOutcome.NumberOfStores, 0);
            if (Routine != FaultOutputDebugStringW &&
                (!TEST(FaultContains(FaultText,
                                     FaultTextLength,
                                     FaultNames[Routine])) ||
                 !TEST(FaultContains(FaultText,
                                     FaultTextLength,
                                     "resolving a system routine")))) {

                FaultPrintRun();
            }
        }
    }

    //
    // Without kernel32.dll there is nobody to tell; the program goes on.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Dlls); Index += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_MISSING;
        Fault.Error.Routine = FaultOutputDebugStringW;
        FaultMissingDll = Dlls[Index];
        Fault.Call = 0;
        FaultRunWell(&Fault, 0);
        FaultMissingDll = NULL;
        TEST(FaultOutcome.IsOff);
    }
}

//
// All the threads at once, and a worker that is never waited for: the calls of
// all of them are numbered together, so that a fault may meet any of them.
//

static
VOID
FaultTestConcurrent(
    ULONG Runs
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONGLONG Random;
    ULONG Met;
    ULONG Index;
    ULONG Routine;

    FaultIsConcurrent = TRUE;
    FaultRunWell(NULL, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));

    Random = 0x9E3779B97F4A7C15;
    Met = 0;
    for (Index = 0; Index < Runs; Index += 1) {
        do {
            Random ^= Random << 13;
            Random ^= Random >> 7;
            Random ^= Random << 17;
            RtlZeroBytes(&Fault, sizeof(Fault));
            Fault.Error = FaultErrors[Random % FaultNumberOfErrors];
            Routine = Fault.Error.Routine;
        } while (Counts[Routine] == 0);
        Fault.Call = 1 + (LONG)((Random >> 20) % (ULONG)Counts[Routine]);
        Fault.Sticky = (Random >> 60) % 4 == 0;

        FaultRunWell(&Fault, FAULT_PROBLEM_NOT_FIRED);
        Met += FaultFired != 0;
    }
    FaultIsConcurrent = FALSE;
    TEST(Met > Runs / 3);
    RtlWriteText(TestOutput, "all at once: %u faults, %u met\n", Runs, Met);
}

//
// The checks are not blind.
//

static
VOID
FaultTestControls(
    VOID
    )
{
    static const ULONG Hidden[] = {
        FaultNtUnmapViewOfSection,
        FaultNtClose,
        FaultNtFreeVirtualMemory,
        FaultTlsFree
    };
    FAULT Fault;
    ULONG Index;

    //
    // A routine that says that it has given something back, and has not.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Hidden); Index += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_HIDE;
        Fault.Call = 1;
        Fault.Error.Routine = Hidden[Index];
        TEST((FaultRun(&Fault) & FAULT_PROBLEM_LEAK) != 0);
    }

    //
    // A view that is not of the file: what is written there is lost, and the
    // library cannot know.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = FAULT_PRIVATE;
    Fault.Call = 5;
    Fault.Error.Routine = FaultNtMapViewOfSection;
    TEST((FaultRun(&Fault) & FAULT_PROBLEM_CONTENT) != 0);

    //
    // A store that disappears.
    //

    FaultDeleteAStore = TRUE;
    TEST((FaultRun(NULL) & FAULT_PROBLEM_ACCOUNT) != 0);
    TEST(!FaultDeleteAStore);

    //
    // Another status than the one that was given.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Call = 3;
    Fault.Error.Routine = FaultNtSetInformationFile;
    Fault.Error.Value = (ULONG)STATUS_DISK_FULL;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    TEST((FaultRun(&Fault) &
          (FAULT_PROBLEM_REPORT | FAULT_PROBLEM_HEADER)) ==
         (FAULT_PROBLEM_REPORT | FAULT_PROBLEM_HEADER));

    //
    // A call that there is not.
    //

    Fault.Call = 100000;
    Fault.Error.Reported = STATUS_DISK_FULL;
    TEST_EQUAL(FaultRun(&Fault), FAULT_PROBLEM_NOT_FIRED);

    //
    // A program that computes something else.
    //

    FaultExpectedSums[0][1] += 1;
    TEST((FaultRun(NULL) & FAULT_PROBLEM_PROGRAM) != 0);
    FaultExpectedSums[0][1] -= 1;
    FaultRunWell(NULL, 0);
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
    WCHAR Value[64];
    HANDLE Watch;
    PCWSTR Folder;
    ULONG Length;
    ULONG Index;
    BOOLEAN Everything;
    BOOLEAN Quick;

    static const FAULT_OPTION Rings[] = {
        { L"TRACER_MODE", L"ring" },
        { L"TRACER_MAX_BYTES", L"1M" },
        { L"TRACER_CLOCK", L"thread" },
        { L"TRACER_FLUSH", L"1" }
    };
    static const FAULT_OPTION Trees[] = {
        { L"TRACER_MODE", L"tree" }
    };
    static const FAULT_OPTION Controlled[] = {
        { L"TRACER_CONTROL", L"64K" }
    };
    static const FAULT_OPTION Depths[] = {
        { L"TRACER_MAX_BYTES", L"8M" },
        { L"TRACER_CLOCK", L"none" },
        { L"TRACER_MAX_DEPTH", L"3000" }
    };

    UNREFERENCED_PARAMETER(Allocator);

    PenterTestRtl = Rtl;
    Quick = GetEnvironmentVariableW(L"TRACER_LONG", Value, 64) == 0;
    Everything = GetEnvironmentVariableW(L"TRACER_FAULTS", Value, 64) != 0;

    FaultInitial[0] = PenterEnterRoutine;
    FaultInitial[1] = PenterExitRoutine;
    FaultInitial[2] = PenterEnterFunctionRoutine;
    FaultInitial[3] = PenterExitFunctionRoutine;

    if (!TEST(TestCreateDirectory(&FaultFolder))) {
        return;
    }
    Folder = TestDosPath(&FaultFolder);
    Length = RtlLengthOfWideString(Folder);
    RtlCopyBytes(FaultRoot, Folder, Length * sizeof(WCHAR));
    RtlCopyBytes(FaultRoot + Length, L"\\run", 5 * sizeof(WCHAR));

    //
    // The traces, the current directory and the temporary directory are one, so
    // that what is written is found wherever it went.  One value makes no
    // sense, so that the log is written in every run.
    //

    SetEnvironmentVariableW(L"TRACER_DIRECTORY", FaultRoot);
    SetEnvironmentVariableW(L"TMP", FaultRoot);
    SetEnvironmentVariableW(L"TEMP", FaultRoot);
    SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", FAULT_VIEW_SIZE);
    SetEnvironmentVariableW(L"TRACER_MODULES", L"testfaults;-other");
    SetEnvironmentVariableW(L"TRACER_ENABLED", L"perhaps");

    //
    // A worker that looks at a control file makes calls whose number depends on
    // the time.
    //

    SetEnvironmentVariableW(L"TRACER_CONTROL", L"0");

    SetUnhandledExceptionFilter(FaultCrashed);
    Watch = CreateThread(NULL, 0, FaultWatch, NULL, 0, NULL);

    //
    // What the program computes when nothing is recorded.
    //

    PenterEnterFunctionRoutine = PenterReturn;
    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        FaultRunning.Mode = FAULT_BOTH;
        FaultRunProgram();
        FaultExpectedSums[1][Index] = FaultThreads[Index].Sum;
        FaultRunning.Mode = FAULT_FAIL;
        FaultRunProgram();
        FaultExpectedSums[0][Index] = FaultThreads[Index].Sum;
    }
    TEST(FaultExpectedSums[0][0] != FaultExpectedSums[1][0]);
    TEST_EQUAL(FaultExpectedSums[0][1], FaultExpectedSums[1][1]);

    FaultTestControls();
    FaultTestMissing();
    FaultTestPages();
    FaultTestAllCalls(FAULT_FAIL, Everything, Quick);
    FaultTestAllCalls(FAULT_BOTH, Everything, Quick);
    FaultTestOptions(FAULT_FAIL, Rings, RTL_NUMBER_OF(Rings), Quick);
    FaultTestOptions(FAULT_BOTH, Depths, RTL_NUMBER_OF(Depths), Quick);
    FaultTestOptions(FAULT_BOTH, Trees, RTL_NUMBER_OF(Trees), Quick);
    FaultTestConcurrent(Everything ? 1500 : (Quick ? 20 : 100));
    FaultTestOptions(FAULT_BOTH, Controlled, RTL_NUMBER_OF(Controlled), Quick);
    SetEnvironmentVariableW(L"TRACER_CONTROL", L"64K");
    FaultTestConcurrent(Everything ? 1500 : (Quick ? 20 : 100));

    FaultTestLeftOut();

    RtlWriteText(TestOutput,
                 "%d runs, %d times the worker did not come to rest\n",
                 FaultRunNumber,
                 FaultUnsettled);
    InterlockedExchange(&FaultIsOver, 1);
    WaitForSingleObject(Watch, INFINITE);
    CloseHandle(Watch);
    TestDeleteTree(&FaultFolder);
}

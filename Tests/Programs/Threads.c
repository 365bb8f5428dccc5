/*++

Module Name:

    Threads.c

Abstract:

    Programs with many threads, and with threads that end or are stopped in
    unusual ways.

        Threads short COUNT      COUNT threads, 64 at a time
        Threads pool COUNT       COUNT callbacks of the thread pool, and timers
        Threads terminate COUNT  COUNT threads that TerminateThread ends in the
                                 middle of traced code
        Threads outlive COUNT    the main thread ends first; the last of the
                                 others ends the process
        Threads suspend COUNT    a thread stops the others COUNT times
        Threads sample COUNT     a thread stops two others COUNT times, and
                                 walks their stacks
        Threads sampleWrong COUNT
                                 the same with a wrong idea of what the
                                 outermost function is

    The last two write what the walks found to standard error, and end with
    exit code 1 if one was wrong.

--*/

#include "Traced.h"

#define AT_A_TIME       64
#define WORKERS         4

extern IMAGE_DOS_HEADER __ImageBase;

static volatile LONG Sum;
static volatile LONG Done;
static volatile LONG IsStopping;

TRACED unsigned
Rest(
    unsigned Value
    )
{
    ENTER();
    Value = Value * 5 + 1;
    LEAVE();
    return Value;
}

TRACED unsigned
Odd(
    unsigned Depth
    );

TRACED unsigned
Even(
    unsigned Depth
    )
{
    unsigned Value;

    ENTER();
    Value = Rest(Depth);
    if (Depth != 0) {
        Value += Odd(Depth - 1);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
Odd(
    unsigned Depth
    )
{
    unsigned Value = 3;

    ENTER();
    if (Depth != 0) {
        Value += Even(Depth - 1) ^ Even(Depth / 2);
    }
    LEAVE();
    return Value;
}

//
// short: many threads, each of which makes a few calls.
//

TRACED DWORD WINAPI
ShortThread(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;

    ENTER();
    if (Index % 3 == 0) {
        ADD(&Sum, (LONG)Even(Index % 7));
    } else {
        ADD(&Sum, (LONG)Odd(Index % 5));
    }
    LEAVE();
    return 0;
}

PLAIN static void
RunShort(
    unsigned Count
    )
{
    HANDLE Threads[AT_A_TIME];
    unsigned Index;
    DWORD Which;

    for (Index = 0; Index < Count; Index += 1) {
        if (Index < AT_A_TIME) {
            Which = Index;
        } else {
            Which = WaitForMultipleObjects(AT_A_TIME,
                                           Threads,
                                           FALSE,
                                           INFINITE) - WAIT_OBJECT_0;
            CloseHandle(Threads[Which]);
        }
        Threads[Which] = CreateThread(NULL,
                                      0x10000,
                                      ShortThread,
                                      (void *)(ULONG_PTR)Index,
                                      0,
                                      NULL);
        if (Threads[Which] == NULL) {
            Say("no thread %u\n", Index);
            exit(3);
        }
    }
    WaitForMultipleObjects(Count < AT_A_TIME ? Count : AT_A_TIME,
                           Threads,
                           TRUE,
                           INFINITE);
    Say("short: %u\n", (unsigned)Sum);
}

//
// pool: the thread pool's two interfaces, and both kinds of timers.
//

TRACED void CALLBACK
PoolCallback(
    PTP_CALLBACK_INSTANCE Instance,
    void *Context
    )
{
    ENTER();
    (void)Instance;
    ADD(&Sum, (LONG)Odd((unsigned)(ULONG_PTR)Context % 6));
    LEAVE();
    ADD(&Done, 1);
}

TRACED DWORD WINAPI
QueueCallback(
    void *Context
    )
{
    ENTER();
    ADD(&Sum, (LONG)Even((unsigned)(ULONG_PTR)Context % 8));
    LEAVE();
    ADD(&Done, 1);
    return 0;
}

static volatile LONG Ticks;

TRACED void CALLBACK
QueueTimer(
    void *Context,
    BOOLEAN IsTimeout
    )
{
    ENTER();
    (void)Context;
    (void)IsTimeout;
    Rest((unsigned)Ticks);
    LEAVE();
    ADD(&Ticks, 1);
}

TRACED void CALLBACK
PoolTimer(
    PTP_CALLBACK_INSTANCE Instance,
    void *Context,
    PTP_TIMER Timer
    )
{
    ENTER();
    (void)Instance;
    (void)Context;
    (void)Timer;
    Even(3);
    LEAVE();
    ADD(&Ticks, 1);
}

PLAIN static void
RunPool(
    unsigned Count
    )
{
    HANDLE Queue = CreateTimerQueue();
    HANDLE Timer;
    PTP_TIMER Pool = CreateThreadpoolTimer(PoolTimer, NULL, NULL);
    FILETIME Due = { 0 };
    unsigned Index;

    CreateTimerQueueTimer(&Timer, Queue, QueueTimer, NULL, 1, 2, 0);
    SetThreadpoolTimer(Pool, &Due, 2, 0);
    for (Index = 0; Index < Count; Index += 1) {
        if (Index % 2 == 0) {
            TrySubmitThreadpoolCallback(PoolCallback,
                                        (void *)(ULONG_PTR)Index,
                                        NULL);
        } else {
            QueueUserWorkItem(QueueCallback,
                              (void *)(ULONG_PTR)Index,
                              WT_EXECUTEDEFAULT);
        }
    }
    while (Done != (LONG)Count || Ticks < 50) {
        Sleep(1);
    }
    DeleteTimerQueueEx(Queue, INVALID_HANDLE_VALUE);
    SetThreadpoolTimer(Pool, NULL, 0, 0);
    WaitForThreadpoolTimerCallbacks(Pool, TRUE);
    CloseThreadpoolTimer(Pool);
    Say("pool: %u\n", (unsigned)Sum);
    Note("ticks %ld\n", Ticks);
}

//
// terminate: threads that would run for ever.
//

static volatile LONG IsRunning;

TRACED unsigned
Forever(
    unsigned Seed
    )
{
    ENTER();
    IsRunning = 1;
    while (!IsStopping) {
        Odd(NextRandom(&Seed) % 6);
        Even(NextRandom(&Seed) % 9);
    }
    LEAVE();
    return Seed;
}

PLAIN static DWORD WINAPI
ForeverThread(
    void *Parameter
    )
{
    return Forever((unsigned)(ULONG_PTR)Parameter);
}

PLAIN static void
Spin(
    unsigned Microseconds
    )
{
    LARGE_INTEGER Frequency;
    LARGE_INTEGER Start;
    LARGE_INTEGER Now;

    QueryPerformanceFrequency(&Frequency);
    QueryPerformanceCounter(&Start);
    do {
        YieldProcessor();
        QueryPerformanceCounter(&Now);
    } while ((Now.QuadPart - Start.QuadPart) * 1000000 <
             Frequency.QuadPart * Microseconds);
}

PLAIN static BOOL
IsInProgram(
    DWORD64 Rip
    )
{
    ULONG_PTR Base = (ULONG_PTR)&__ImageBase;
    IMAGE_NT_HEADERS64 *Headers =
        (IMAGE_NT_HEADERS64 *)(Base + (DWORD)__ImageBase.e_lfanew);

    return Rip - Base < Headers->OptionalHeader.SizeOfImage;
}

//
// A thread is ended only where it is in the program's own image, and not before
// it runs what it was made for: inside of one of the system's calls it may hold
// a lock of the system's, and while it starts it holds the loader's.
//

PLAIN static void
RunTerminate(
    unsigned Count
    )
{
    CONTEXT *Context = _aligned_malloc(sizeof(*Context), 64);
    unsigned Random = 21;
    unsigned Index;
    unsigned Tries = 0;
    HANDLE Thread;

    for (Index = 0; Index < Count; Index += 1) {
        IsRunning = 0;
        Thread = CreateThread(NULL,
                              0,
                              ForeverThread,
                              (void *)(ULONG_PTR)Index,
                              0,
                              NULL);
        while (!IsRunning) {
            SwitchToThread();
        }
        Sleep(NextRandom(&Random) % 3);
        for (;;) {
            Spin(NextRandom(&Random) % 300);
            Tries += 1;
            SuspendThread(Thread);
            Context->ContextFlags = CONTEXT_CONTROL;
            if (GetThreadContext(Thread, Context) &&
                IsInProgram(Context->Rip)) {

                break;
            }
            ResumeThread(Thread);
        }
        TerminateThread(Thread, 7);
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
        Rest(Index);
    }
    Say("terminate: %u\n", Count);
    Note("tries %u\n", Tries);
}

//
// outlive: each thread ends after the one before it, which ended after main.
//

static HANDLE Chain[WORKERS + 1];

PLAIN static DWORD WINAPI
OutliveThread(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;
    unsigned Value = 0;
    unsigned Round;

    for (Round = 0; Round < 300; Round += 1) {
        Value += Odd(7);
    }
    WaitForSingleObject(Chain[Index], INFINITE);
    for (Round = 0; Round < 300; Round += 1) {
        Value += Even(8);
    }
    Say("outlive %u: %u\n", Index, Value);
    return 30 + Index;
}

PLAIN static void
RunOutlive(
    void
    )
{
    unsigned Index;

    DuplicateHandle(GetCurrentProcess(),
                    GetCurrentThread(),
                    GetCurrentProcess(),
                    &Chain[0],
                    SYNCHRONIZE,
                    FALSE,
                    0);
    for (Index = 0; Index < WORKERS; Index += 1) {
        Chain[Index + 1] = CreateThread(NULL,
                                        0,
                                        OutliveThread,
                                        (void *)(ULONG_PTR)Index,
                                        CREATE_SUSPENDED,
                                        NULL);
    }
    for (Index = 0; Index < WORKERS; Index += 1) {
        ResumeThread(Chain[Index + 1]);
    }
    Say("main: %u\n", Odd(9));
    ExitThread(5);
}

//
// suspend: random threads are stopped at random moments.
//

TRACED unsigned
Rounds(
    unsigned Count
    )
{
    unsigned Value = 0;

    ENTER();
    while (Count != 0) {
        Value += Odd(Count % 8);
        Count -= 1;
    }
    LEAVE();
    return Value;
}

//
// The threads do only as much as there are moments to stop them at: traced
// code that runs for minutes fills disks.
//

typedef struct PACE {
    volatile LONG Allowed;
    volatile LONG Begun;
} PACE;

static PACE Paces[WORKERS];
static unsigned Values[WORKERS];

//
// Waits for leave to do some more; 0 if there is no more to do.
//

PLAIN static int
MayGoOn(
    PACE *Pace
    )
{
    unsigned Turns = 0;

    while (Pace->Begun >= Pace->Allowed) {
        if (IsStopping) {
            return 0;
        }
        Turns += 1;
        if (Turns % 1000 == 0) {
            SwitchToThread();
        }
        YieldProcessor();
    }
    Pace->Begun += 1;
    return 1;
}

//
// Gives leave, and waits until the thread uses it.
//

PLAIN static void
LetGoOn(
    PACE *Pace
    )
{
    LONG Before = Pace->Begun;

    Pace->Allowed = Before + 2;
    while (Pace->Begun == Before) {
        SwitchToThread();
    }
}

PLAIN static DWORD WINAPI
SuspendedThread(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;

    while (MayGoOn(&Paces[Index])) {
        if (Rounds(60) != Values[Index]) {
            Say("thread %u: another value\n", Index);
            exit(1);
        }
    }
    return 0;
}

PLAIN static void
RunSuspend(
    unsigned Count
    )
{
    CONTEXT *Context = _aligned_malloc(sizeof(*Context), 64);
    HANDLE Threads[WORKERS];
    unsigned Random = 22;
    unsigned Index;
    unsigned Failed = 0;
    unsigned Inside = 0;

    for (Index = 0; Index < WORKERS; Index += 1) {
        Values[Index] = Rounds(60);
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      SuspendedThread,
                                      (void *)(ULONG_PTR)Index,
                                      0,
                                      NULL);
    }
    while (Count != 0) {
        Index = NextRandom(&Random) % WORKERS;
        LetGoOn(&Paces[Index]);
        Spin(NextRandom(&Random) % 30);
        SuspendThread(Threads[Index]);
        Context->ContextFlags = CONTEXT_FULL;
        Failed += !GetThreadContext(Threads[Index], Context);
        Inside += Paces[Index].Begun < Paces[Index].Allowed;
        ResumeThread(Threads[Index]);
        Count -= 1;
    }
    IsStopping = 1;
    WaitForMultipleObjects(WORKERS, Threads, TRUE, INFINITE);
    Say("suspend: %u contexts failed\n", Failed);
    Note("inside %u\n", Inside);
}

//
// sample: the threads keep a list of the traced functions that they are in.
// Between a hook and the list there are some instructions, so that a walk may
// show one function more than the list, and no fewer.
//

#define MAXIMUM_LIST    64
#define MAXIMUM_WALK    128

typedef struct LIST {
    volatile unsigned Count;
    volatile unsigned char Functions[MAXIMUM_LIST];
} LIST;

static LIST Lists[2];

typedef unsigned SAMPLED(LIST *List, unsigned Depth, unsigned Seed);

static SAMPLED SampledRed;
static SAMPLED SampledGreen;
static SAMPLED SampledBlue;

static SAMPLED *const Sampled[] = { SampledRed, SampledGreen, SampledBlue };

//
// The list changes by one store each way: the function, then the count.
//

#define PUSH(List, Index)                                                   \
    ((List)->Functions[(List)->Count] = (Index),                            \
     (List)->Count = (List)->Count + 1)
#define POP(List) ((List)->Count = (List)->Count - 1)

#define SAMPLED_FUNCTION(Name, Index, Frame)                                \
    TRACED static unsigned                                                  \
    Name(                                                                   \
        LIST *List,                                                         \
        unsigned Depth,                                                     \
        unsigned Seed                                                       \
        )                                                                   \
    {                                                                       \
        volatile unsigned Room[Frame];                                      \
        unsigned Round;                                                     \
                                                                            \
        PUSH(List, Index);                                                  \
        ENTER();                                                            \
        Room[Seed % Frame] = Seed;                                          \
        for (Round = 0; Depth != 0 && Round < 2; Round += 1) {              \
            Room[Round] = Sampled[NextRandom(&Seed) % 3](List,              \
                                                         Depth - 1,         \
                                                         Seed);             \
        }                                                                   \
        Seed += Room[Round % Frame] + Room[Seed % Frame];                   \
        LEAVE();                                                            \
        POP(List);                                                          \
        return Seed;                                                        \
    }

SAMPLED_FUNCTION(SampledRed, 0, 3)
SAMPLED_FUNCTION(SampledGreen, 1, 20)
SAMPLED_FUNCTION(SampledBlue, 2, 100)

PLAIN static DWORD WINAPI
SampledThread(
    void *Parameter
    )
{
    unsigned Seed = 5;

    while (MayGoOn(&Paces[(LIST *)Parameter - Lists])) {
        Seed += SampledRed(Parameter, 3 + Seed % 6, Seed);
    }
    return Seed;
}

PLAIN static DWORD WINAPI
OtherThread(
    void *Parameter
    )
{
    return Parameter != NULL;
}

typedef struct COUNTS {
    unsigned Walks;
    unsigned InHooks;
    unsigned Jumps;
    unsigned Calls;
    unsigned Foreign;
    unsigned Elsewhere;
    unsigned Wrong;
} COUNTS;

//
// Code behind the release of a frame and pops, at the end of a function.
//

PLAIN static const BYTE *
SkipPops(
    const BYTE *Code
    )
{
    if (Code[0] == 0x48 && Code[1] == 0x83 && Code[2] == 0xC4) {
        Code += 4;
    } else if (Code[0] == 0x48 && Code[1] == 0x81 && Code[2] == 0xC4) {
        Code += 7;
    } else if (Code[0] == 0x48 && Code[1] == 0x8D && Code[2] == 0x64) {
        Code += 5;
    }
    while ((Code[0] & 0xF8) == 0x58 ||
           (Code[0] == 0x41 && (Code[1] & 0xF8) == 0x58)) {

        Code += Code[0] == 0x41 ? 2 : 1;
    }
    return Code;
}

//
// Wine's unwinder does not take a jmp for the end of a function.
//

PLAIN static BOOL
IsJumpEpilogue(
    const BYTE *Code
    )
{
    Code = SkipPops(Code);
    if (Code[0] >= 0x48 && Code[0] <= 0x4F) {
        Code += 1;
    }
    return Code[0] == 0xE9 || Code[0] == 0xEB ||
           (Code[0] == 0xFF && Code[1] == 0x25) ||
           (Code[0] == 0xFF && (Code[1] & 0xF8) == 0xE0);
}

//
// With -minstrument-return=call gcc makes epilogues that end in a call and a
// ret, which no unwinder knows.
//

PLAIN static BOOL
IsCallEpilogue(
    const BYTE *Code
    )
{
    Code = SkipPops(Code);
    return Code[0] == 0xE8 && Code[5] == 0xC3;
}

static DWORD64 WalkRips[MAXIMUM_WALK];
static DWORD64 WalkFunctions[MAXIMUM_WALK];

//
// Walks a suspended thread's stack; returns the number of frames.  A function
// is known by where it begins.
//

PLAIN static unsigned
Walk(
    CONTEXT *Context,
    DWORD64 Low,
    DWORD64 High
    )
{
    unsigned Count = 0;
    RUNTIME_FUNCTION *Function;
    DWORD64 Base;
    DWORD64 Frame;
    void *Data;

    while (Count < MAXIMUM_WALK && Context->Rip != 0 &&
           Context->Rsp >= Low && Context->Rsp < High) {

        Function = RtlLookupFunctionEntry(Context->Rip, &Base, NULL);
        WalkRips[Count] = Context->Rip;
        WalkFunctions[Count] = 0;
        if (Function == NULL) {
            if (Count != 0) {
                return Count + 1;
            }
            Context->Rip = *(DWORD64 *)Context->Rsp;
            Context->Rsp += 8;
        } else {
            while (Function->UnwindData & 1) {
                Function = (RUNTIME_FUNCTION *)
                    (Base + (Function->UnwindData & ~1u));
            }
            WalkFunctions[Count] = Base + Function->BeginAddress;
            RtlVirtualUnwind(UNW_FLAG_NHANDLER,
                             Base,
                             Context->Rip,
                             Function,
                             Context,
                             &Data,
                             &Frame,
                             NULL);
        }
        Count += 1;
    }
    return Count;
}

PLAIN static DWORD64
BeginOf(
    void *Routine
    )
{
    DWORD64 Base;
    RUNTIME_FUNCTION *Function =
        RtlLookupFunctionEntry((DWORD64)(ULONG_PTR)Routine, &Base, NULL);

    return Function == NULL ? 0 : Base + Function->BeginAddress;
}

//
// Compares a walk with the thread's list; returns what is wrong, or NULL.
//

PLAIN static const char *
CheckWalk(
    unsigned Count,
    DWORD64 Outermost,
    const DWORD64 *Known,
    const LIST *List
    )
{
    unsigned char Seen[MAXIMUM_WALK];
    unsigned NumberSeen = 0;
    unsigned Index;
    unsigned Which;
    unsigned Last;

    for (Last = 0; Last < Count; Last += 1) {
        if (WalkFunctions[Last] == Outermost) {
            break;
        }
    }
    if (Last == Count) {
        return "does not arrive at the outermost function";
    }
    for (Index = Last; Index-- != 0;) {
        for (Which = 0; Which < 3; Which += 1) {
            if (WalkFunctions[Index] == Known[Which]) {
                Seen[NumberSeen] = (unsigned char)Which;
                NumberSeen += 1;
            }
        }
    }
    if (NumberSeen != List->Count && NumberSeen != List->Count + 1) {
        return "shows another number of functions";
    }
    for (Index = 0; Index < List->Count; Index += 1) {
        if (Seen[Index] != List->Functions[Index]) {
            return "shows other functions";
        }
    }
    return NULL;
}

PLAIN static void
NoteWalk(
    const char *What,
    unsigned Count,
    const LIST *List
    )
{
    unsigned Index;

    Note("a walk %s; the list has %u\n", What, List->Count);
    for (Index = 0; Index < Count; Index += 1) {
        Note("    %016llx in %016llx (image %016llx)\n",
             WalkRips[Index],
             WalkFunctions[Index],
             (unsigned long long)(ULONG_PTR)&__ImageBase);
    }
}

PLAIN static int
RunSample(
    unsigned Count,
    LPTHREAD_START_ROUTINE Start
    )
{
    CONTEXT *Context = _aligned_malloc(sizeof(*Context), 64);
    COUNTS Counts = { 0 };
    HANDLE Threads[2];
    DWORD64 Known[3];
    DWORD64 Outermost = BeginOf((void *)Start);
    DWORD64 Stack;
    MEMORY_BASIC_INFORMATION Memory;
    unsigned Random = 23;
    unsigned Index;
    unsigned Frames;
    const char *Wrong;
    void *Image;
    BYTE Code[32];

    for (Index = 0; Index < 3; Index += 1) {
        Known[Index] = BeginOf((void *)Sampled[Index]);
    }
    for (Index = 0; Index < 2; Index += 1) {
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      SampledThread,
                                      &Lists[Index],
                                      0,
                                      NULL);
    }
    while (Counts.Walks < Count) {
        Index = NextRandom(&Random) % 2;
        LetGoOn(&Paces[Index]);
        Spin(NextRandom(&Random) % 30);
        SuspendThread(Threads[Index]);
        Context->ContextFlags = CONTEXT_FULL;
        if (!GetThreadContext(Threads[Index], Context)) {
            ResumeThread(Threads[Index]);
            continue;
        }
        Stack = Context->Rsp;
        VirtualQuery((void *)(ULONG_PTR)Stack, &Memory, sizeof(Memory));
        memcpy(Code, (void *)(ULONG_PTR)Context->Rip, sizeof(Code));
        Frames = Walk(Context,
                      Stack,
                      (DWORD64)(ULONG_PTR)Memory.BaseAddress +
                      Memory.RegionSize);
        Wrong = CheckWalk(Frames, Outermost, Known, &Lists[Index]);
        Counts.Walks += 1;
        Counts.Elsewhere += !IsInProgram(WalkRips[0]);
        Counts.InHooks += Frames > 1 && IsInProgram(WalkRips[0]) &&
                          WalkFunctions[0] != Known[0] &&
                          WalkFunctions[0] != Known[1] &&
                          WalkFunctions[0] != Known[2];
        if (Wrong != NULL && IsJumpEpilogue(Code)) {
            Counts.Jumps += 1;
            Wrong = NULL;
        } else if (Wrong != NULL && IsInProgram(WalkRips[0]) &&
                   IsCallEpilogue(Code)) {

            Counts.Calls += 1;
            Wrong = NULL;
        }
        ResumeThread(Threads[Index]);
        if (Wrong != NULL &&
            RtlPcToFileHeader((void *)(ULONG_PTR)WalkRips[0],
                              &Image) == NULL) {

            //
            // Wine gave a place in its part that is not Windows code.
            //

            Counts.Foreign += 1;
            Wrong = NULL;
        }
        if (Wrong != NULL) {
            Counts.Wrong += 1;
            if (Counts.Wrong <= 5) {
                NoteWalk(Wrong, Frames, &Lists[Index]);
            }
        }
    }
    IsStopping = 1;
    WaitForMultipleObjects(2, Threads, TRUE, INFINITE);
    Note("walks %u, in hooks %u, outside %u, "
         "jmp epilogues %u, call epilogues %u, foreign %u, wrong %u\n",
         Counts.Walks,
         Counts.InHooks,
         Counts.Elsewhere,
         Counts.Jumps,
         Counts.Calls,
         Counts.Foreign,
         Counts.Wrong);
    Say("sample: %u walks\n", Counts.Walks);
    return Counts.Wrong != 0;
}

PLAIN int
main(
    int Count,
    char **Arguments
    )
{
    unsigned Number = Count == 3 ? (unsigned)atoi(Arguments[2]) : 0;

    if (Number == 0) {
        return 2;
    }
    if (strcmp(Arguments[1], "short") == 0) {
        RunShort(Number);
    } else if (strcmp(Arguments[1], "pool") == 0) {
        RunPool(Number);
    } else if (strcmp(Arguments[1], "terminate") == 0) {
        RunTerminate(Number);
    } else if (strcmp(Arguments[1], "outlive") == 0) {
        RunOutlive();
    } else if (strcmp(Arguments[1], "suspend") == 0) {
        RunSuspend(Number);
    } else if (strcmp(Arguments[1], "sample") == 0) {
        return RunSample(Number, SampledThread);
    } else if (strcmp(Arguments[1], "sampleWrong") == 0) {
        return RunSample(Number, OtherThread);
    } else {
        return 2;
    }
    return 0;
}

/*++

Module Name:

    TreeModules.cpp

Abstract:

    A program and its DLLs, all traced, from one source: what one thread does in
    several modules.  MODULE is the number of the module, 0 for the program; A
    and B are the names of its two functions, which call those of all modules
    back and forth, T that of one that does nothing.

    The program keeps its own account of it: every chain of calls, counted; and
    for each function four times that it reads itself, of the counter that the
    hooks read.  What a tree says of a function must lie between them:

        inner            between its first and its last instruction
        outer            between the instructions around the calls of it
        children inner   of all that it has called
        children outer

    usage: TreeModules.exe CASE ROUNDS DLL...

--*/

#include <windows.h>
#include <intrin.h>

#define PLAIN __attribute__((no_instrument_function))
#define INLINE static inline __attribute__((always_inline, \
                                            no_instrument_function))
#define TRACED extern "C" __attribute__((noinline, dllexport))

#define MODULES     6
#define FUNCTIONS   (2 * MODULES + 3)
#define HOLD        (2 * MODULES)           // of the program alone
#define CATCH       (2 * MODULES + 1)
#define THROW       (2 * MODULES + 2)       // of one DLL alone
#define NODES       20000
#define NONE        0xFFFF

struct World;
struct Flow;

typedef void Function(struct Flow *Flow, unsigned Depth);

struct Node {
    unsigned short Id;
    unsigned Parent;
    unsigned Calls;
    unsigned Child;
    unsigned Next;
};

struct Times {
    unsigned long long Inner;
    unsigned long long Outer;
    unsigned long long ChildrenInner;
    unsigned long long ChildrenOuter;
};

//
// What one thread or fiber does.
//

struct Flow {
    Function **Table;
    unsigned Value;
    unsigned Node;
    unsigned NumberOfNodes;
    unsigned long long LastInner;
    struct Flow *Account;               // of the thread, where this is a fiber
    unsigned long ThreadId;
    struct Times Times[FUNCTIONS];
    struct Node Nodes[NODES];
};

INLINE unsigned
Random(struct Flow *Flow)
{
    Flow->Value = Flow->Value * 1664525u + 1013904223u;
    return Flow->Value >> 8;
}

INLINE unsigned
Descend(struct Flow *Flow, unsigned Id)
{
    struct Flow *Account = Flow->Account;
    unsigned Index;

    for (Index = Account->Nodes[Flow->Node].Child;
         Index != 0;
         Index = Account->Nodes[Index].Next) {

        if (Account->Nodes[Index].Id == Id) {
            break;
        }
    }
    if (Index == 0) {
        Account->NumberOfNodes += 1;
        Index = Account->NumberOfNodes;
        Account->Nodes[Index].Id = (unsigned short)Id;
        Account->Nodes[Index].Parent = Flow->Node;
        Account->Nodes[Index].Next = Account->Nodes[Flow->Node].Child;
        Account->Nodes[Flow->Node].Child = Index;
    }
    Account->Nodes[Index].Calls += 1;
    return Index;
}

//
// Calls a function of any module.
//

INLINE void
Call(struct Flow *Flow, unsigned Id, unsigned Caller, unsigned Depth)
{
    struct Times *Times = Flow->Account->Times;
    unsigned Node = Flow->Node;
    unsigned long long Start;
    unsigned long long Ticks;

    if (Flow->Table[Id] == NULL) {
        return;
    }
    Flow->Node = Descend(Flow, Id);
    Start = __rdtsc();
    Flow->Table[Id](Flow, Depth);
    Ticks = __rdtsc() - Start;
    Flow->Node = Node;
    Times[Id].Outer += Ticks;
    if (Caller != NONE) {
        Times[Caller].ChildrenOuter += Ticks;
        Times[Caller].ChildrenInner += Flow->LastInner;
    }
}

INLINE void
End(struct Flow *Flow, unsigned Id, unsigned long long Start)
{
    Flow->LastInner = __rdtsc() - Start;
    Flow->Account->Times[Id].Inner += Flow->LastInner;
}

INLINE void
Work(struct Flow *Flow, unsigned Id, unsigned Depth)
{
    unsigned long long Until = __rdtsc() + 200 + 300 * (Id + 1);

    while (__rdtsc() < Until) {
    }
    if (Depth != 0) {
        Call(Flow, Random(Flow) % (2 * MODULES), Id, Depth - 1);
        if (Random(Flow) % 4 != 0) {
            Call(Flow, Random(Flow) % (2 * MODULES), Id, Depth - 1);
        }
    }
}

TRACED void
A(struct Flow *Flow, unsigned Depth)
{
    unsigned long long Start = __rdtsc();

    Work(Flow, 2 * MODULE, Depth);
    End(Flow, 2 * MODULE, Start);
}

TRACED void
B(struct Flow *Flow, unsigned Depth)
{
    unsigned long long Start = __rdtsc();

    if (Depth > 1) {
        Call(Flow, 2 * MODULE, 2 * MODULE + 1, 0);
        Depth -= 1;
    }
    Work(Flow, 2 * MODULE + 1, Depth);
    End(Flow, 2 * MODULE + 1, Start);
}

//
// Costs more to trace than it takes.
//

TRACED void
T(void)
{
}

#ifdef THROWS

TRACED void
Throw(struct Flow *Flow, unsigned Depth)
{
    if (Depth != 0) {
        Flow->Node = Descend(Flow, THROW);
        Throw(Flow, Depth - 1);
        __asm__ volatile("");
    }
    throw (int)Depth;
}

#endif

#if MODULE == 0

#include <stdlib.h>
#include <string.h>
#include "Penter.h"

//
// As <stdio.h> has it for C: for C++ it is an inline function there.
//

extern "C" int __cdecl printf(const char *Format, ...);
extern "C" int __cdecl fflush(void *File);
extern "C" int __cdecl getchar(void);

static const char *Names[FUNCTIONS] = {
    "HostA", "HostB", "AlphaA", "AlphaB", "BetaA", "BetaB", "GammaA", "GammaB",
    "DeltaA", "DeltaB", "OmegaA", "OmegaB", "Hold", "Catch", "Throw"
};

static const char *TinyNames[MODULES] = {
    "HostT", "AlphaT", "BetaT", "GammaT", "DeltaT", "OmegaT"
};

static Function *Table[FUNCTIONS];
static void (*Tiny[MODULES])(void);
static const char *Paths[MODULES];
static HMODULE Loaded[MODULES];
static unsigned Rounds;
static HANDLE Reached;
static HANDLE GoOn;
static struct Flow *Flows[8];
static struct Flow *Spare;              // what is called while recording is
                                        // stopped; NULL: it is not stopped

PLAIN static void
Load(unsigned Module)
{
    Loaded[Module] = LoadLibraryA(Paths[Module]);
    if (Loaded[Module] == NULL) {
        printf("%s: error %lu\n", Paths[Module], GetLastError());
        exit(1);
    }
    printf("base %u %p\n", Module, (void *)Loaded[Module]);
    Table[2 * Module] = (Function *)(void *)
        GetProcAddress(Loaded[Module], Names[2 * Module]);
    Table[2 * Module + 1] = (Function *)(void *)
        GetProcAddress(Loaded[Module], Names[2 * Module + 1]);
    Tiny[Module] = (void (*)(void))(void *)
        GetProcAddress(Loaded[Module], TinyNames[Module]);
    if (Table[THROW] == NULL) {
        Table[THROW] = (Function *)(void *)
            GetProcAddress(Loaded[Module], "Throw");
    }
}

PLAIN static void
Unload(unsigned Module)
{
    Table[2 * Module] = NULL;
    Table[2 * Module + 1] = NULL;
    FreeLibrary(Loaded[Module]);
    Loaded[Module] = NULL;
}

PLAIN static struct Flow *
NewFlow(unsigned Seed)
{
    struct Flow *Flow = (struct Flow *)calloc(1, sizeof(*Flow));

    Flow->Table = Table;
    Flow->Value = Seed;
    Flow->Account = Flow;
    Flow->ThreadId = GetCurrentThreadId();
    return Flow;
}

PLAIN static void
Run(struct Flow *Flow)
{
    unsigned Index;

    for (Index = 0; Index < Rounds; Index += 1) {
        Call(Flow, Random(Flow) % (2 * MODULES), NONE, 5);
    }
}

PLAIN static void
Report(struct Flow *Flow, unsigned Number)
{
    unsigned Index;
    unsigned Node;
    unsigned Count;
    unsigned Ids[64];

    for (Index = 1; Index <= Flow->NumberOfNodes; Index += 1) {
        Count = 0;
        for (Node = Index; Node != 0; Node = Flow->Nodes[Node].Parent) {
            Ids[Count++] = Flow->Nodes[Node].Id;
        }
        printf("chain %u %u ", Number, Flow->Nodes[Index].Calls);
        while (Count != 0) {
            Count -= 1;
            printf("%s%c", Names[Ids[Count]], Count != 0 ? '/' : '\n');
        }
    }
    for (Index = 0; Index < FUNCTIONS; Index += 1) {
        printf("times %u %s %I64u %I64u %I64u %I64u\n",
               Number,
               Names[Index],
               Flow->Times[Index].Inner,
               Flow->Times[Index].Outer,
               Flow->Times[Index].ChildrenInner,
               Flow->Times[Index].ChildrenOuter);
    }
    printf("thread %u %lu\n", Number, Flow->ThreadId);
}

//
// Waits until the main thread has loaded or unloaded what is to be.
//

PLAIN static void
Meet(void)
{
    SetEvent(Reached);
    WaitForSingleObject(GoOn, INFINITE);
}

PLAIN static void
Wait(void)
{
    WaitForSingleObject(Reached, INFINITE);
}

PLAIN static void
Continue(void)
{
    SetEvent(GoOn);
}

//
// What has been recorded does not count any more, but what is open.
//

PLAIN static void
Forget(struct Flow *Flow)
{
    unsigned Index;

    for (Index = 0; Index <= Flow->NumberOfNodes; Index += 1) {
        Flow->Nodes[Index].Calls = 0;
    }
    for (Index = Flow->Node; Index != 0; Index = Flow->Nodes[Index].Parent) {
        Flow->Nodes[Index].Calls = 1;
    }
}

//
// Modules come and go while recording is stopped, and before it goes on all is
// cleared, sometimes.
//

PLAIN static void
Steer(struct Flow *Flow, unsigned Round)
{
    struct Flow *Account = Flow->Account;
    unsigned Node = Flow->Node;

    PenterStop();
    Flow->Account = Spare;
    Flow->Node = 0;
    Call(Flow, 0, HOLD, 3);
    Call(Flow, 2, HOLD, 3);
    Meet();
    Call(Flow, 2, HOLD, 3);
    Call(Flow, 4, HOLD, 3);
    Flow->Account = Account;
    Flow->Node = Node;
    if (Round % 3 == 1) {
        PenterClear();
        Forget(Flow);
    }
    PenterStart();
}

//
// Stays open while modules come and go.
//

TRACED void
Hold(struct Flow *Flow, unsigned Depth)
{
    unsigned long long Start = __rdtsc();
    unsigned Index;

    for (Index = 0; Index < Depth; Index += 1) {
        Call(Flow, 0, HOLD, 3);
        Call(Flow, 2, HOLD, 3);
        Call(Flow, 8, HOLD, 3);
        Call(Flow, 9, HOLD, 3);
        Call(Flow, 4, HOLD, 3);
        if (Spare != NULL) {
            Steer(Flow, Index);
        } else {
            Meet();
        }
        Call(Flow, 1, HOLD, 3);
        Call(Flow, 5, HOLD, 3);
    }
    End(Flow, HOLD, Start);
}

TRACED void
Catch(struct Flow *Flow, unsigned Depth)
{
    unsigned Node = Flow->Node;
    unsigned Index;

    for (Index = 0; Index < Depth; Index += 1) {
        Call(Flow, 2, CATCH, 1);
        try {
            Flow->Node = Descend(Flow, THROW);
            Flow->Table[THROW](Flow, Index % 5);
        } catch (int Value) {
            Flow->Value += (unsigned)Value;
        }
        Flow->Node = Node;
        Call(Flow, 4, CATCH, 2);
        Call(Flow, 0, CATCH, 1);
    }
    Flow->LastInner = 0;
}

PLAIN static DWORD WINAPI
Thread(void *Parameter)
{
    unsigned Number = (unsigned)(size_t)Parameter;

    Flows[Number] = NewFlow(Number);
    Run(Flows[Number]);
    return 0;
}

//
// A thread whose first traced call is in the first DLL.
//

PLAIN static DWORD WINAPI
Owned(void *Parameter)
{
    unsigned Number = (unsigned)(size_t)Parameter;
    struct Flow *Flow = NewFlow(Number);

    Flows[Number] = Flow;
    Call(Flow, 2, NONE, 4);
    Call(Flow, HOLD, NONE, 6);
    Run(Flow);
    return 0;
}

static void *MainFiber;
static unsigned FibersLeft;

PLAIN static void WINAPI
Fiber(void *Parameter)
{
    struct Flow *Flow = (struct Flow *)Parameter;
    unsigned Index;

    for (Index = 0; Index < Rounds; Index += 1) {
        Call(Flow, Random(Flow) % (2 * MODULES), NONE, 4);
        if (Index % 3 == 0) {
            SwitchToFiber(MainFiber);
        }
    }
    FibersLeft -= 1;
    for (;;) {
        SwitchToFiber(MainFiber);
    }
}

PLAIN static void
RunFibers(void)
{
    struct Flow *Main = NewFlow(1);
    struct Flow *Flow;
    void *Fibers[3];
    unsigned Index;

    MainFiber = ConvertThreadToFiber(NULL);
    for (Index = 0; Index < 3; Index += 1) {
        Flow = NewFlow(Index + 2);
        Flow->Account = Main;
        Fibers[Index] = CreateFiber(0, Fiber, Flow);
    }
    FibersLeft = 3;
    while (FibersLeft != 0) {
        for (Index = 0; Index < 3; Index += 1) {
            SwitchToFiber(Fibers[Index]);
        }
        Call(Main, Random(Main) % (2 * MODULES), NONE, 3);
    }
    Report(Main, 1);
}

PLAIN static void
RunOwned(int Swaps)
{
    HANDLE Handle;
    unsigned Index;

    Handle = CreateThread(NULL, 0, Owned, (void *)2, 0, NULL);
    for (Index = 0; Index < 6; Index += 1) {
        Wait();
        if (Index % 2 == 0) {
            Unload(1);
            if (Swaps) {
                Load(4);
            }
        } else {
            if (Swaps) {
                Unload(4);
            }
            Load(1);
        }
        Continue();
    }
    WaitForSingleObject(Handle, INFINITE);
    Report(Flows[2], 2);
}

PLAIN int
main(int Count, char **Words)
{
    const char *Case = Words[1];
    struct Flow *Flow = NewFlow(1);
    HANDLE Threads[3];
    unsigned Index;
    int IsSwap = strcmp(Case, "swap") == 0;

    Rounds = (unsigned)atoi(Words[2]);
    Tiny[0] = HostT;
    Table[0] = HostA;
    Table[1] = HostB;
    Table[HOLD] = Hold;
    Table[CATCH] = Catch;
    Reached = CreateEventA(NULL, FALSE, FALSE, NULL);
    GoOn = CreateEventA(NULL, FALSE, FALSE, NULL);
    if (strcmp(Case, "late") == 0) {
        Run(Flow);
    }
    for (Index = 1; Index < MODULES && (int)Index + 2 < Count; Index += 1) {
        Paths[Index] = Words[Index + 2];
        if (Paths[Index][0] != '-' && !(IsSwap && Index == 4)) {
            Load(Index);
        }
    }

    if (strcmp(Case, "live") == 0) {

        //
        // The test looks at it before the first DLL is there, and then; stops
        // recording before the third round, and starts it before the last.
        //

        Unload(1);
        for (Index = 0; Index < 4; Index += 1) {
            Run(Flow);
            printf("look\n");
            fflush(NULL);
            getchar();
            if (Index == 0) {
                Load(1);
            }
        }
        return 0;
    }

    if (strcmp(Case, "tiny") == 0) {
        for (Index = 0; Index < Rounds * MODULES; Index += 1) {
            if (Tiny[Index % MODULES] != NULL) {
                Tiny[Index % MODULES]();
            }
        }
        return 0;
    }
    if (strcmp(Case, "fibers") == 0) {
        RunFibers();
        return 0;
    }
    if (strcmp(Case, "steer") == 0) {
        Spare = NewFlow(1);
    }
    if (strcmp(Case, "owner") == 0 || Spare != NULL || IsSwap) {
        RunOwned(IsSwap);
        return 0;
    }
    if (strcmp(Case, "throw") == 0) {
        Call(Flow, CATCH, NONE, Rounds);
    } else {
        for (Index = 0; Index < 3; Index += 1) {
            Threads[Index] = CreateThread(NULL, 0, Thread,
                                          (void *)(size_t)(Index + 2), 0,
                                          NULL);
        }
        Run(Flow);
        WaitForMultipleObjects(3, Threads, TRUE, INFINITE);
    }
    if (strcmp(Case, "late") == 0) {
        Unload(2);
        Run(Flow);
        Unload(1);
        Run(Flow);
        Load(1);
        Load(2);
        Run(Flow);
    }

    //
    // The clock's rate is that of the stores only if there is some time between
    // their anchors: with less, each reader takes the time of its own look.
    //

    Sleep(20);
    Report(Flow, 1);
    for (Index = 2; Index < 8; Index += 1) {
        if (Flows[Index] != NULL) {
            Report(Flows[Index], Index);
        }
    }
    return 0;
}

#endif

/*++

Module Name:

    Modules.c

Abstract:

    A program and three DLLs from one source, each linked with its own copy of
    the library, calling each other.  With MODULE defined (One, Two, Three) it
    is that DLL, and without the program.

        Modules nested DEPTH      five threads call from module to module
        Modules exit DEPTH        the same, and one of the threads calls exit
        Modules reload COUNT      One.dll is loaded, used and unloaded
        Modules busy COUNT        the same, with three other threads that call
                                  it and have left it before it is unloaded
        Modules slots DEPTH       as nested, with 200 TLS slots in use before
                                  the library comes
        Modules allSlots DEPTH    as nested, with every TLS slot in use
        Modules children COUNT    COUNT processes of this program, which run
                                  Modules nested 5
        Modules fibers DEPTH      the DLLs are first called on fibers
        Modules kill DEPTH        calls from module to module for ever

    Every module has a constructor, a destructor and a TLS callback, and every
    DLL a DllMain, all of them traced.  What Docs/Limits.md says is not
    recorded does not tell the witness of itself: a DLL's DllMain and
    destructors when FreeLibrary unloads it, and what is called in the program
    after the end of its own.

--*/

#include "Traced.h"

typedef unsigned WORK(unsigned Depth, unsigned Seed);

typedef struct TABLE {
    WORK *Work[4];                  // the program's, One's, Two's, Three's
    unsigned NumberOfModules;
    void (*Unloading)(void);        // traced
    void (*Exiting)(void);          // not traced: comes too late
    volatile LONG Starts;
    volatile LONG Ends;
} TABLE;

typedef void SET_TABLE(TABLE *NewTable);

#ifdef MODULE
#define JOIN_NAMES(First, Second) First##Second
#define JOIN_VALUES(First, Second) JOIN_NAMES(First, Second)
#define NAME(Name) JOIN_VALUES(MODULE, Name)
#define EXPORT __declspec(dllexport)
#else
#define NAME(Name) Main##Name
#define EXPORT
#endif

static TABLE *Table;

//
// Counts what was called before there was a table.
//

static volatile LONG Constructed;
static volatile LONG TlsCalls;

TRACED unsigned
NAME(Step)(
    unsigned Value
    )
{
    ENTER_KEPT();
    Value = Value * 7 + 3;
    LEAVE();
    return Value;
}

//
// Called where nothing is recorded.
//

TRACED unsigned
NAME(Late)(
    unsigned Value
    )
{
    return Value * 7 + 3;
}

TRACED EXPORT unsigned
NAME(Work)(
    unsigned Depth,
    unsigned Seed
    )
{
    unsigned Value;
    unsigned Round;

    ENTER_KEPT();
    Value = NAME(Step)(Seed);
    for (Round = 0; Depth != 0 && Round < 2; Round += 1) {
        Value += Table->Work[NextRandom(&Seed) % Table->NumberOfModules](
            Depth - 1,
            Seed);
        Value = NAME(Step)(Value);
    }
    LEAVE();
    return Value;
}

TRACED __attribute__((constructor)) void
NAME(Construct)(
    void
    )
{
    ENTER_KEPT();
    Constructed += (LONG)NAME(Step)(1);
    LEAVE();
}

//
// The destructor runs after DllMain.
//

static int IsUnloading;

TRACED __attribute__((destructor)) void
NAME(Destroy)(
    void
    )
{
    if (IsUnloading) {
        Constructed -= (LONG)NAME(Late)(1);
        return;
    }
    ENTER_KEPT();
    Constructed -= (LONG)NAME(Step)(1);
    LEAVE();
}

#ifndef MODULE

static void *Slots[1088];

//
// Takes TLS slots before the library can: this callback is the first.
//

PLAIN static void NTAPI
TakeSlots(
    void *Instance,
    DWORD Reason,
    void *Reserved
    )
{
    const char *Line = GetCommandLineA();
    unsigned Limit = 0;
    unsigned Index;

    (void)Instance;
    (void)Reserved;
    if (Reason != DLL_PROCESS_ATTACH) {
        return;
    }
    if (strstr(Line, " allSlots ") != NULL) {
        Limit = 1088;
    } else if (strstr(Line, " slots ") != NULL) {
        Limit = 200;
    }
    for (Index = 0; Index < Limit; Index += 1) {
        DWORD Slot = TlsAlloc();

        if (Slot == TLS_OUT_OF_INDEXES) {
            break;
        }
        Slots[Index] = (void *)(ULONG_PTR)(Slot + 1);
        TlsSetValue(Slot, &Slots[Index]);
    }
}

__attribute__((section(".CRT$XLAB"), used))
PIMAGE_TLS_CALLBACK TakeSlotsEntry = TakeSlots;

#endif

TRACED void NTAPI
NAME(TlsCallback)(
    void *Instance,
    DWORD Reason,
    void *Reserved
    )
{
    (void)Instance;
    (void)Reserved;
#ifndef MODULE
    if (Reason == DLL_PROCESS_DETACH) {
        return;
    }
#endif
    ENTER_KEPT();
    ADD(&TlsCalls, (LONG)NAME(Step)(Reason));
    LEAVE();
}

__attribute__((section(".CRT$XLB"), used))
PIMAGE_TLS_CALLBACK NAME(TlsEntry) = NAME(TlsCallback);

#ifdef MODULE

EXPORT PLAIN void
SetTable(
    TABLE *NewTable
    )
{
    Table = NewTable;
}

TRACED void
NAME(Attach)(
    void
    )
{
    ENTER_KEPT();
    NAME(Step)(2);
    LEAVE();
}

TRACED void
NAME(Detach)(
    void
    )
{
    ENTER_KEPT();

    //
    // The modules that are loaded later have ended already; the program's
    // calls are not recorded any more.
    //

    Table->Exiting();
    Table->Work[3](0, 1);
    Table->Work[1](0, 2);
    LEAVE();
}

TRACED BOOL WINAPI
DllMain(
    HINSTANCE Instance,
    DWORD Reason,
    void *Reserved
    )
{
    (void)Instance;
    if (Reason == DLL_PROCESS_DETACH && Reserved == NULL) {
        IsUnloading = 1;
        Constructed += (LONG)NAME(Late)(4);
        Table->Unloading();
        return TRUE;
    }
    ENTER_KEPT();
    if (Reason == DLL_PROCESS_DETACH) {
        if (Table != NULL && Table->NumberOfModules == 4) {
            NAME(Detach)();
        }
    } else {
        NAME(Attach)();
    }
    LEAVE();
    return TRUE;
}

#else

static TABLE TheTable;
static HMODULE Modules[4];

TRACED void
MainUnloading(
    void
    )
{
    ENTER();
    ADD(&TheTable.Ends, 1);
    LEAVE();
}

TRACED void
MainExiting(
    void
    )
{
    ADD(&TheTable.Ends, 1);
}

PLAIN static void
Load(
    unsigned Index
    )
{
    static const char *const Files[] = { "", "One.dll", "Two.dll",
                                         "Three.dll" };
    static const char *const Names[] = { "", "OneWork", "TwoWork",
                                         "ThreeWork" };
    SET_TABLE *SetTable;

    Modules[Index] = LoadLibraryA(Files[Index]);
    if (Modules[Index] == NULL) {
        Say("%s: error %lu\n", Files[Index], GetLastError());
        exit(3);
    }
    SetTable = (SET_TABLE *)(void *)GetProcAddress(Modules[Index],
                                                   "SetTable");
    SetTable(&TheTable);
    TheTable.Work[Index] =
        (WORK *)(void *)GetProcAddress(Modules[Index], Names[Index]);
    TheTable.NumberOfModules = Index + 1;
}

static unsigned Depth;
static unsigned Results[8];
static int IsExitingInThread;

TRACED DWORD WINAPI
MainThread(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 4; Round += 1) {
        Results[Index] += MainWork(Depth, Index * 4 + Round);
    }
    if (Index == 3 && IsExitingInThread) {
        Say("exit: %u\n", Results[3]);
        exit(9);
    }
    LEAVE();
    return 0;
}

TRACED void
MainNested(
    void
    )
{
    HANDLE Threads[4];
    unsigned Index;

    ENTER();
    for (Index = 1; Index < 4; Index += 1) {
        Load(Index);
    }
    for (Index = 0; Index < 4; Index += 1) {
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      MainThread,
                                      (void *)(ULONG_PTR)Index,
                                      IsExitingInThread ? CREATE_SUSPENDED : 0,
                                      NULL);
    }

    //
    // With an exit in the middle the threads run one after the other, so that
    // all is known.
    //

    for (Index = 0; Index < 4 && IsExitingInThread; Index += 1) {
        ResumeThread(Threads[Index]);
        WaitForSingleObject(Threads[Index], INFINITE);
    }
    MainThread((void *)4);
    WaitForMultipleObjects(4, Threads, TRUE, INFINITE);
    for (Index = 1; Index < 5; Index += 1) {
        Results[0] ^= Results[Index];
    }
    LEAVE();
    Say("nested: %u\n", Results[0]);
}

TRACED unsigned
MainReload(
    unsigned Count
    )
{
    unsigned Value = 0;

    ENTER();
    while (Count != 0) {
        Load(1);
        Value += TheTable.Work[1](3, Count);
        FreeLibrary(Modules[1]);
        Count -= 1;
    }
    LEAVE();
    return Value;
}

//
// Other threads that call a DLL for as long as it is there.
//

static HANDLE Go[3];
static HANDLE Left[3];
static volatile LONG IsOver;

TRACED DWORD WINAPI
MainBusyThread(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;
    unsigned Round;

    ENTER();
    for (;;) {
        WaitForSingleObject(Go[Index], INFINITE);
        if (IsOver) {
            break;
        }
        for (Round = 0; Round < 20; Round += 1) {
            Results[Index] += TheTable.Work[1](2, Round);
        }
        SetEvent(Left[Index]);
    }
    LEAVE();
    return 0;
}

TRACED unsigned
MainBusy(
    unsigned Count
    )
{
    HANDLE Threads[3];
    unsigned Index;

    ENTER();
    for (Index = 0; Index < 3; Index += 1) {
        Go[Index] = CreateEventA(NULL, FALSE, FALSE, NULL);
        Left[Index] = CreateEventA(NULL, FALSE, FALSE, NULL);
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      MainBusyThread,
                                      (void *)(ULONG_PTR)Index,
                                      0,
                                      NULL);
    }
    while (Count != 0) {
        Load(1);
        for (Index = 0; Index < 3; Index += 1) {
            SetEvent(Go[Index]);
        }
        Results[3] += TheTable.Work[1](4, Count);
        WaitForMultipleObjects(3, Left, TRUE, INFINITE);
        FreeLibrary(Modules[1]);
        Count -= 1;
    }
    IsOver = 1;
    for (Index = 0; Index < 3; Index += 1) {
        SetEvent(Go[Index]);
    }
    WaitForMultipleObjects(3, Threads, TRUE, INFINITE);
    LEAVE();
    return Results[0] + Results[1] + Results[2] + Results[3];
}

//
// Fibers of one thread that call from module to module, and switch between.
//

static void *Fibers[5];

TRACED unsigned
MainFiberWork(
    unsigned Index
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 3; Round += 1) {
        Value += MainWork(Depth, Index + Round);
        SwitchToFiber(Fibers[(Index + 1) % 5]);
    }
    LEAVE();
    return Value;
}

PLAIN static void CALLBACK
MainFiber(
    void *Parameter
    )
{
    unsigned Index = (unsigned)(ULONG_PTR)Parameter;

    WitnessBeginFiber();
    Results[Index] = MainFiberWork(Index);
    SwitchToFiber(Fibers[(Index + 1) % 5]);
}

TRACED DWORD WINAPI
MainFiberThread(
    void *Parameter
    )
{
    unsigned Index;

    ENTER();
    WaitForSingleObject(Parameter, INFINITE);
    Fibers[0] = ConvertThreadToFiber(NULL);
    for (Index = 1; Index < 5; Index += 1) {
        Fibers[Index] = CreateFiber(0, MainFiber, (void *)(ULONG_PTR)Index);
    }
    for (Index = 0; Index < 4; Index += 1) {
        SwitchToFiber(Fibers[1]);
        MainStep(Index);
    }
    LEAVE();
    return 0;
}

//
// The thread begins before there are DLLs, so that its first call of each comes
// on a fiber.
//

TRACED unsigned
MainFibers(
    void
    )
{
    HANDLE Event = CreateEventA(NULL, TRUE, FALSE, NULL);
    HANDLE Thread = CreateThread(NULL, 0, MainFiberThread, Event, 0, NULL);
    unsigned Index;

    ENTER();
    Sleep(20);
    for (Index = 1; Index < 4; Index += 1) {
        Load(Index);
    }
    SetEvent(Event);
    WaitForSingleObject(Thread, INFINITE);
    LEAVE();
    return Results[1] ^ Results[2] ^ Results[3] ^ Results[4];
}

TRACED unsigned
MainChildren(
    unsigned Count
    )
{
    char Program[MAX_PATH];
    char Line[MAX_PATH + 40];
    char File[MAX_PATH];
    char ChildFile[MAX_PATH + 20];
    STARTUPINFOA Startup;
    PROCESS_INFORMATION Process;
    DWORD Code;
    unsigned Value = 0;

    ENTER();
    GetModuleFileNameA(NULL, Program, sizeof(Program));
    _snprintf(Line, sizeof(Line), "\"%s\" nested 5", Program);
    if (GetEnvironmentVariableA("WITNESS_FILE", File, sizeof(File)) == 0) {
        File[0] = '\0';
    }
    while (Count != 0) {
        _snprintf(ChildFile, sizeof(ChildFile), "%s.%u", File, Count);
        SetEnvironmentVariableA("WITNESS_FILE", File[0] != 0 ? ChildFile
                                                             : NULL);
        memset(&Startup, 0, sizeof(Startup));
        Startup.cb = sizeof(Startup);
        if (!CreateProcessA(NULL, Line, NULL, NULL, TRUE, 0, NULL, NULL,
                            &Startup, &Process)) {
            Say("no process: error %lu\n", GetLastError());
            break;
        }
        Value += MainStep(Count);
        WaitForSingleObject(Process.hProcess, INFINITE);
        GetExitCodeProcess(Process.hProcess, &Code);
        Value += Code;
        Count -= 1;
    }
    SetEnvironmentVariableA("WITNESS_FILE", File[0] != 0 ? File : NULL);
    LEAVE();
    return Value;
}

TRACED int
main(
    int Count,
    char **Arguments
    )
{
    unsigned Number = Count == 3 ? (unsigned)atoi(Arguments[2]) : 0;
    unsigned Value;

    ENTER();
    Table = &TheTable;
    TheTable.Work[0] = MainWork;
    TheTable.Unloading = MainUnloading;
    TheTable.Exiting = MainExiting;
    Depth = Number;
    if (Number == 0) {
        LEAVE();
        return 2;
    }
    if (strcmp(Arguments[1], "reload") == 0) {
        Value = MainReload(Number);
        Say("reload: %u, %ld\n", Value, TheTable.Ends);
    } else if (strcmp(Arguments[1], "busy") == 0) {
        Value = MainBusy(Number);
        Say("busy: %u, %ld\n", Value, TheTable.Ends);
    } else if (strcmp(Arguments[1], "children") == 0) {
        Say("children: %u\n", MainChildren(Number));
    } else if (strcmp(Arguments[1], "fibers") == 0) {
        Value = MainFibers();
        Say("fibers: %u\n", Value);
    } else if (strcmp(Arguments[1], "kill") == 0) {
        for (;;) {
            MainNested();
        }
    } else {
        IsExitingInThread = strcmp(Arguments[1], "exit") == 0;
        MainNested();
    }
    LEAVE();
    return 0;
}

#endif

/*++

Module Name:

    Fibers.c

Abstract:

    Programs that run on many stacks.

        Fibers switch COUNT     a thread with seven fibers and one with three
                                switch COUNT times, at random, with traced
                                functions open
        Fibers end COUNT        COUNT fibers, six at a time: some return, some
                                are deleted with functions open; new ones get
                                the addresses of those that are gone
        Fibers near COUNT       sixteen fibers with stacks of 64 KiB, next to
                                each other
        Fibers deep COUNT       traced functions far down a fiber's stack,
                                24 KiB below each other
        Fibers first COUNT      the same, and the thread's own stack has no
                                traced function

--*/

#include "Traced.h"

#define MAXIMUM_FIBERS  16

typedef struct GROUP {
    void *Main;
    void *Fibers[MAXIMUM_FIBERS];
    unsigned NumberOfFibers;
    unsigned NumberAlive;
    unsigned char IsDone[MAXIMUM_FIBERS];
    unsigned Current;
    unsigned Random;
    unsigned SwitchesLeft;
    unsigned MaximumDepth;
    unsigned Value;
    unsigned IsAbandoning;
    char *Stacks;                   // of 64 KiB each; NULL: the system's
} GROUP;

//
// Switches to another fiber of the group that is alive, if there is one.
//

PLAIN static void
Relay(
    GROUP *Group
    )
{
    unsigned Next;

    if (Group->SwitchesLeft == 0) {
        return;
    }
    Group->SwitchesLeft -= 1;
    do {
        Next = NextRandom(&Group->Random) % Group->NumberOfFibers;
    } while (Group->IsDone[Next]);
    if (Next != Group->Current) {
        Group->Current = Next;
        SwitchToFiber(Group->Fibers[Next]);
    }
}

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
Step(
    GROUP *Group,
    unsigned Value
    )
{
    ENTER();
    Relay(Group);
    Value ^= Rest(Value);
    LEAVE();
    return Value;
}

TRACED unsigned
Climb(
    GROUP *Group,
    unsigned Depth
    )
{
    unsigned Value = Depth;

    ENTER();
    if (NextRandom(&Group->Random) % 2 == 0) {
        Relay(Group);
    }
    Value += Step(Group, Value);
    if (Depth < Group->MaximumDepth && NextRandom(&Group->Random) % 4 != 0) {
        Value += Climb(Group, Depth + 1);
    }
    Relay(Group);
    LEAVE();
    return Value;
}

TRACED void
Body(
    GROUP *Group
    )
{
    ENTER();
    do {
        Group->Value += Climb(Group, 0);
    } while (Group->SwitchesLeft != 0);
    LEAVE();
}

//
// Wine keeps the stacks of fibers a megabyte apart, so these bring their own.
//

#define NEAR_STACK      0x10000

PLAIN static void
CallBody(
    GROUP *Group
    )
{
    Body(Group);
    SwitchToFiber(Group->Main);
}

PLAIN static void
CallOnStack(
    GROUP *Group,
    char *Stack
    )
{
    //
    // What the thread environment block says of the stack: its base, its limit,
    // and where its memory begins.
    //

    __asm__ volatile ("movq %0, %%gs:0x08\n\t"
                      "movq %1, %%gs:0x10\n\t"
                      "movq %1, %%gs:0x1478\n\t"
                      "leaq -64(%0), %%rsp\n\t"
                      "call *%2\n\t"
                      "ud2"
                      :
                      : "r"(Stack + NEAR_STACK),
                        "r"(Stack),
                        "r"(CallBody),
                        "c"(Group)
                      : "memory");
    __builtin_unreachable();
}

PLAIN static void CALLBACK
FiberMain(
    void *Parameter
    )
{
    GROUP *Group = Parameter;

    WitnessBeginFiber();
    if (Group->Stacks != NULL) {
        CallOnStack(Group, Group->Stacks + Group->Current * NEAR_STACK);
    }
    Body(Group);
    SwitchToFiber(Group->Main);
}

//
// Lets every fiber run to its end.  When no switches are left each ends as soon
// as it is let run; the one that comes back here is the current one.
//

PLAIN static void
RunAll(
    GROUP *Group
    )
{
    unsigned Index;

    for (Index = 0; Index < Group->NumberOfFibers; Index += 1) {
        while (!Group->IsDone[Index]) {
            Group->Current = Index;
            SwitchToFiber(Group->Fibers[Index]);
            Group->IsDone[Group->Current] = 1;
        }
    }
}

TRACED unsigned
Switch(
    GROUP *Group,
    SIZE_T Reserve
    )
{
    unsigned Index;

    ENTER();
    for (Index = 0; Index < Group->NumberOfFibers; Index += 1) {
        Group->Fibers[Index] = CreateFiberEx(0x1000,
                                             Reserve,
                                             0,
                                             FiberMain,
                                             Group);
    }

    RunAll(Group);
    for (Index = 0; Index < Group->NumberOfFibers; Index += 1) {
        DeleteFiber(Group->Fibers[Index]);
    }
    Rest(0);
    LEAVE();
    return Group->Value;
}

PLAIN static DWORD WINAPI
SwitchThread(
    void *Parameter
    )
{
    GROUP *Group = Parameter;

    Group->Main = ConvertThreadToFiber(NULL);
    Switch(Group, 0x40000);
    ConvertFiberToThread();
    return Group->Value;
}

PLAIN static unsigned
RunSwitch(
    unsigned Count
    )
{
    static GROUP First = { .NumberOfFibers = 7, .Random = 11,
                           .MaximumDepth = 12 };
    static GROUP Second = { .NumberOfFibers = 3, .Random = 12,
                            .MaximumDepth = 5 };
    HANDLE Thread;

    Second.SwitchesLeft = Count / 5;
    First.SwitchesLeft = Count - Count / 5;
    Thread = CreateThread(NULL, 0, SwitchThread, &Second, 0, NULL);
    SwitchThread(&First);
    WaitForSingleObject(Thread, INFINITE);
    CloseHandle(Thread);
    return First.Value ^ Second.Value;
}

PLAIN static unsigned
RunNear(
    unsigned Count
    )
{
    static GROUP Group = { .NumberOfFibers = 16, .Random = 13,
                           .MaximumDepth = 40 };

    Group.SwitchesLeft = Count;
    Group.Main = ConvertThreadToFiber(NULL);
    Group.Stacks = VirtualAlloc(NULL,
                                MAXIMUM_FIBERS * NEAR_STACK,
                                MEM_COMMIT | MEM_RESERVE,
                                PAGE_READWRITE);
    Switch(&Group, 0x10000);
    return Group.Value;
}

//
// Fibers that end, by a return or by being deleted in the middle.
//

TRACED unsigned
Sink(
    GROUP *Group,
    unsigned Depth
    )
{
    unsigned Value;

    ENTER();
    Value = Rest(Depth);
    if (Depth != 0) {
        Value += Sink(Group, Depth - 1);
    } else {
        SwitchToFiber(Group->Main);
        if (Group->IsAbandoning) {

            //
            // All of this fiber is about to be gone, says the witness.
            //

            WitnessLeaveTo(0, 1);
            SwitchToFiber(Group->Main);
        }
    }
    Group->Value += Value;
    LEAVE();
    return Value;
}

PLAIN static void CALLBACK
EndingFiber(
    void *Parameter
    )
{
    GROUP *Group = Parameter;

    WitnessBeginFiber();
    Sink(Group, NextRandom(&Group->Random) % 20);
    SwitchToFiber(Group->Main);
}

TRACED unsigned
End(
    GROUP *Group,
    unsigned Count
    )
{
    static ULONG_PTR Seen[64];
    unsigned Reused = 0;
    unsigned Index;
    unsigned Known;

    ENTER();
    while (Count != 0) {
        for (Index = 0; Index < 6; Index += 1) {
            Group->Fibers[Index] = CreateFiberEx(0x1000,
                                                 0x20000,
                                                 0,
                                                 EndingFiber,
                                                 Group);
        }
        for (Index = 0; Index < 6; Index += 1) {
            SwitchToFiber(Group->Fibers[Index]);
            Rest(Index);
        }
        for (Index = 0; Index < 6; Index += 1) {
            Group->IsAbandoning = NextRandom(&Group->Random) % 2;
            SwitchToFiber(Group->Fibers[Index]);
            for (Known = 0; Known < 64; Known += 1) {
                if (Seen[Known] == (ULONG_PTR)Group->Fibers[Index]) {
                    Reused += 1;
                    break;
                }
                if (Seen[Known] == 0) {
                    Seen[Known] = (ULONG_PTR)Group->Fibers[Index];
                    break;
                }
            }
            DeleteFiber(Group->Fibers[Index]);
        }
        Count -= Count < 6 ? Count : 6;
    }
    LEAVE();
    Note("reused %u\n", Reused);
    return Group->Value;
}

PLAIN static unsigned
RunEnd(
    unsigned Count
    )
{
    static GROUP Group = { .Random = 14 };

    Group.Main = ConvertThreadToFiber(NULL);
    return End(&Group, Count);
}

//
// Traced functions with much of the stack between them.
//

#define DEEP_STEP   0x6000

TRACED unsigned
Far(
    GROUP *Group,
    unsigned Steps
    );

PLAIN static unsigned
Skip(
    GROUP *Group,
    unsigned Steps
    )
{
    volatile char Room[DEEP_STEP - 0x200];

    Room[0] = (char)Steps;
    Room[sizeof(Room) / 2] = Room[0];
    return Far(Group, Steps) + (unsigned)Room[sizeof(Room) / 2];
}

TRACED unsigned
Far(
    GROUP *Group,
    unsigned Steps
    )
{
    unsigned Value;

    ENTER();
    Value = Step(Group, Steps);
    if (Steps != 0) {
        Value += Skip(Group, Steps - 1);
    }
    Value += Rest(Value);
    LEAVE();
    return Value;
}

TRACED void
DeepBody(
    GROUP *Group
    )
{
    ENTER();
    do {
        Group->Value += Far(Group, 30);
        Relay(Group);
    } while (Group->SwitchesLeft != 0);
    LEAVE();
}

PLAIN static void CALLBACK
DeepFiber(
    void *Parameter
    )
{
    GROUP *Group = Parameter;

    WitnessBeginFiber();
    DeepBody(Group);
    SwitchToFiber(Group->Main);
}

PLAIN static void
RunDeepFibers(
    GROUP *Group
    )
{
    unsigned Index;

    for (Index = 0; Index < Group->NumberOfFibers; Index += 1) {
        Group->Fibers[Index] = CreateFiberEx(0x1000,
                                             0x100000,
                                             0,
                                             DeepFiber,
                                             Group);
    }
    RunAll(Group);
}

TRACED void
Deep(
    GROUP *Group
    )
{
    ENTER();
    RunDeepFibers(Group);
    LEAVE();
}

PLAIN static unsigned
RunDeep(
    unsigned Count,
    int IsFirstOnFiber
    )
{
    static GROUP Group = { .NumberOfFibers = 4, .Random = 15 };

    Group.SwitchesLeft = Count;
    Group.Main = ConvertThreadToFiber(NULL);
    if (IsFirstOnFiber) {
        RunDeepFibers(&Group);
    } else {
        Deep(&Group);
    }
    return Group.Value;
}

PLAIN int
main(
    int Count,
    char **Arguments
    )
{
    unsigned Number = Count == 3 ? (unsigned)atoi(Arguments[2]) : 0;
    unsigned Value;

    if (Number == 0) {
        return 2;
    }
    if (strcmp(Arguments[1], "switch") == 0) {
        Value = RunSwitch(Number);
    } else if (strcmp(Arguments[1], "end") == 0) {
        Value = RunEnd(Number);
    } else if (strcmp(Arguments[1], "near") == 0) {
        Value = RunNear(Number);
    } else if (strcmp(Arguments[1], "deep") == 0) {
        Value = RunDeep(Number, 0);
    } else if (strcmp(Arguments[1], "first") == 0) {
        Value = RunDeep(Number, 1);
    } else {
        return 2;
    }
    Say("%s: %u\n", Arguments[1], Value);
    return 0;
}

/*++

Module Name:

    FlowStart.cpp

Abstract:

    What runs before main, after it, and around threads; and the ways in which
    a program ends: see Flow.h.  The only argument is the way:

        return, exit, quick, abort, terminate, thread, throw

    Each gives another exit code.

--*/

#include <windows.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <exception>
#include "Flow.h"

volatile unsigned FlowZero;

static volatile unsigned Seen;

extern "C" {

TRACED unsigned
Leaf(
    unsigned Value
    )
{
    ENTER();
    Value = Value * 3 + FlowZero;
    LEAVE();
    return Value;
}

//
// Called by the loader, before the C runtime is there and as threads come and
// go.
//

TRACED void WINAPI
ThreadCallback(
    void *Instance,
    DWORD Reason,
    void *Reserved
    )
{
    (void)Instance;
    (void)Reserved;
    if (Reason != DLL_PROCESS_DETACH) {
        ENTER();
        Seen += Leaf(Reason);
        LEAVE();
    }
}

__attribute__((section(".CRT$XLE"), used))
PIMAGE_TLS_CALLBACK FlowThreadCallback = (PIMAGE_TLS_CALLBACK)ThreadCallback;

__attribute__((constructor)) TRACED void
Constructor(
    void
    )
{
    ENTER();
    Seen += Leaf(1);
    LEAVE();
}

__attribute__((destructor)) TRACED void
Destructor(
    void
    )
{
    ENTER();
    Seen += Leaf(2);
    LEAVE();
}

TRACED void
AtExit(
    void
    )
{
    ENTER();
    Seen += Leaf(3);
    LEAVE();
}

//
// Registered while the registered routines run.
//

TRACED void
AtExitAgain(
    void
    )
{
    ENTER();
    atexit(AtExit);
    LEAVE();
}

}

struct Object {
    unsigned Number;

    TRACED Object(unsigned Value);
    TRACED ~Object();
};

Object::Object(
    unsigned Value
    ) : Number(Value)
{
    WitnessEnter("_ZN6ObjectC1Ej");
    Seen += Leaf(Number);
    WitnessLeave();
}

Object::~Object()
{
    WitnessEnter("_ZN6ObjectD1Ev");
    Seen += Leaf(Number);
    WitnessLeave();
}

static Object First(1);
static Object Second(2);

extern "C" {

TRACED void
AbortHandler(
    int Number
    )
{
    ENTER();
    Seen += Leaf((unsigned)Number);
    LEAVE();
}

TRACED void
TerminateHandler(
    void
    )
{
    ENTER();
    Seen += Leaf(4);
    exit(9);
    LEAVE();
}

TRACED void
WorkInThread(
    unsigned Depth
    )
{
    ENTER();
    if (Depth == FlowZero) {
        ExitThread(0);
    }
    WorkInThread(Depth - 1);
    LEAVE();
}

TRACED DWORD WINAPI
Thread(
    void *Parameter
    )
{
    unsigned Number = (unsigned)(ULONG_PTR)Parameter;

    ENTER();
    Seen += Leaf(Number);
    if (Number % 2 != 0) {
        WorkInThread(Number);
    }
    LEAVE();
    return 0;
}

TRACED DWORD WINAPI
LastThread(
    void *Main
    )
{
    ENTER();
    WaitForSingleObject((HANDLE)Main, INFINITE);
    Seen += Leaf(1);
    exit(8);
    LEAVE();
    return 0;
}

TRACED void
EndNow(
    const char *Way,
    unsigned Depth
    )
{
    HANDLE Self;

    ENTER();
    if (Depth != FlowZero) {
        EndNow(Way, Depth - 1);
    } else if (strcmp(Way, "exit") == 0) {
        exit(5);
    } else if (strcmp(Way, "quick") == 0) {
        _exit(6);
    } else if (strcmp(Way, "abort") == 0) {
        signal(SIGABRT, AbortHandler);
        abort();
    } else if (strcmp(Way, "terminate") == 0) {
        WitnessWrite();
        TerminateProcess(GetCurrentProcess(), 7);
    } else if (strcmp(Way, "thread") == 0) {
        DuplicateHandle(GetCurrentProcess(),
                        GetCurrentThread(),
                        GetCurrentProcess(),
                        &Self,
                        0,
                        FALSE,
                        DUPLICATE_SAME_ACCESS);
        CloseHandle(CreateThread(NULL, 0, LastThread, Self, 0, NULL));
        ExitThread(0);
    } else if (strcmp(Way, "throw") == 0) {
        std::set_terminate(TerminateHandler);
        throw 1;
    }
    LEAVE();
}

}

TRACED int
main(
    int Count,
    char **Arguments
    )
{
    HANDLE Handle;
    unsigned Number;

    WitnessEnter("main");
    atexit(AtExit);
    atexit(AtExitAgain);
    for (Number = 0; Number < 6; Number += 1) {
        Handle = CreateThread(NULL,
                              0,
                              Thread,
                              (void *)(ULONG_PTR)Number,
                              0,
                              NULL);
        WaitForSingleObject(Handle, INFINITE);
        CloseHandle(Handle);
    }
    EndNow(Count > 1 ? Arguments[1] : "return", 5);
    WitnessLeave();
    return 4;
}

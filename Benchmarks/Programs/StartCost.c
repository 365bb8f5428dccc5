/*++

Module Name:

    StartCost.c

Abstract:

    What tracing costs a program to start and to end, and a thread.  Built bare,
    with empty hooks and traced, from this one source:

        StartCost               calls a function, and ends
        StartCost threads N     N threads one after the other, each of which
                                calls a function; a line for each: thread, and
                                microseconds from its start to its end
        StartCost launch N PROGRAM...
                                runs each PROGRAM in turn, N times over; a line
                                for each run: its number and microseconds.  "-"
                                in front of PROGRAM runs it with
                                TRACER_ENABLED=0

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define TRACED __attribute__((noinline))

TRACED
unsigned
Leaf(
    unsigned Value
    )
{
    __asm__ volatile ("" : "+r" (Value));
    return Value + 1;
}

PLAIN
static
double
Now(
    void
    )
{
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart * 1e6 / (double)Frequency.QuadPart;
}

PLAIN
static
DWORD WINAPI
Thread(
    void *Parameter
    )
{
    return Leaf((unsigned)(ULONG_PTR)Parameter);
}

PLAIN
static
int
RunThreads(
    unsigned Count
    )
{
    HANDLE Handle;
    double Start;
    unsigned Index;

    for (Index = 0; Index < Count; Index += 1) {
        Start = Now();
        Handle = CreateThread(NULL, 0, Thread, NULL, 0, NULL);
        if (Handle == NULL) {
            return 1;
        }
        WaitForSingleObject(Handle, INFINITE);
        printf("thread %.2f\n", Now() - Start);
        CloseHandle(Handle);
    }
    return 0;
}

PLAIN
static
int
Launch(
    unsigned Rounds,
    char **Programs,
    int Count
    )
{
    STARTUPINFOA Startup;
    PROCESS_INFORMATION Process;
    DWORD ExitCode;
    double Start;
    double End;
    unsigned Round;
    int Index;
    char *Program;
    char CommandLine[MAX_PATH];

    for (Round = 0; Round < Rounds; Round += 1) {
        for (Index = 0; Index < Count; Index += 1) {
            Program = Programs[Index];
            SetEnvironmentVariableA("TRACER_ENABLED", "1");
            if (*Program == '-') {
                SetEnvironmentVariableA("TRACER_ENABLED", "0");
                Program += 1;
            }
            memset(&Startup, 0, sizeof(Startup));
            Startup.cb = sizeof(Startup);
            snprintf(CommandLine, sizeof(CommandLine), "%s", Program);

            Start = Now();
            if (!CreateProcessA(Program,
                                CommandLine,
                                NULL,
                                NULL,
                                FALSE,
                                0,
                                NULL,
                                NULL,
                                &Startup,
                                &Process)) {

                return 1;
            }
            WaitForSingleObject(Process.hProcess, INFINITE);
            End = Now();

            ExitCode = 1;
            GetExitCodeProcess(Process.hProcess, &ExitCode);
            CloseHandle(Process.hProcess);
            CloseHandle(Process.hThread);
            if (ExitCode != 0) {
                return 1;
            }
            printf("%d %.2f\n", Index, End - Start);
        }
    }
    return 0;
}

PLAIN
int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    unsigned Count;

    if (ArgumentCount < 3) {
        return Leaf(0) == 1 ? 0 : 1;
    }
    Count = (unsigned)atoi(Arguments[2]);
    if (strcmp(Arguments[1], "threads") == 0) {
        return RunThreads(Count);
    }
    return Launch(Count, Arguments + 3, ArgumentCount - 3);
}

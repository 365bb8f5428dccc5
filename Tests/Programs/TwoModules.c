/*++

Module Name:

    TwoModules.c

Abstract:

    A program and a DLL from one source, to trace a process in which two
    modules are linked with the library.  With PLUGIN defined it is the DLL,
    which exports PluginWork; without, the program that loads it, calls it from
    two threads, and unloads it.

    usage: TwoModules DLL

--*/

#include <windows.h>

#define CALLS 1000

#ifdef PLUGIN

static int
PluginStep(
    int Value
    )
{
    return Value * 3 + 1;
}

__declspec(dllexport) int
PluginWork(
    int Value
    )
{
    return PluginStep(Value) ^ PluginStep(Value + 1);
}

#else

#include <stdio.h>

static int (*Work)(int);

static int
ProgramStep(
    int Value
    )
{
    return Work(Value) + 1;
}

static DWORD WINAPI
ProgramThread(
    void *Parameter
    )
{
    int *Value = Parameter;
    int Index;

    for (Index = 0; Index < CALLS; Index += 1) {
        *Value = ProgramStep(*Value);
    }
    return 0;
}

int
main(
    int Count,
    char **Arguments
    )
{
    HMODULE Plugin;
    HANDLE Thread;
    int First = 1;
    int Second = 2;

    Plugin = LoadLibraryA(Count == 2 ? Arguments[1] : "Plugin.dll");
    if (Plugin == NULL) {
        printf("no DLL: error %lu\n", GetLastError());
        return 1;
    }
    Work = (int (*)(int))(void *)GetProcAddress(Plugin, "PluginWork");
    Thread = CreateThread(NULL, 0, ProgramThread, &First, 0, NULL);
    ProgramThread(&Second);
    WaitForSingleObject(Thread, INFINITE);
    FreeLibrary(Plugin);

    //
    // A session shorter than 10 ms gets its clock's rate from when it is read,
    // and two readings may be a nanosecond apart.
    //

    Sleep(20);
    printf("%d %d\n", First, Second);
    return 0;
}

#endif

/*++

Module Name:

    Processes.c

Abstract:

    A program that starts itself, to trace several processes.

        Processes LEVEL COUNT PARENT

    LEVEL is 0 for the first one, which starts two children, in the folders
    one and two of its current directory; those start one each, in deep, which
    start none.  Each calls Work COUNT times, which calls Leaf as often as it
    was called, and appends to the file PROCESSES_FILE a line

        PID PARENT LEVEL WORK LEAF CHILDREN BASE

    where the next three are numbers of calls, and BASE is what the variable
    TRACER_BASE_DIRECTORY says, or "-".

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACED __attribute__((noinline))

static unsigned NumberOfWorks;
static unsigned NumberOfLeaves;
static unsigned NumberOfChildren;
static volatile unsigned Sum;

TRACED void
Leaf(
    unsigned Value
    )
{
    NumberOfLeaves += 1;
    Sum += Value;
}

TRACED void
Work(
    void
    )
{
    unsigned Index;

    NumberOfWorks += 1;
    for (Index = 0; Index < NumberOfWorks; Index += 1) {
        Leaf(Index);
    }
}

TRACED int
RunChild(
    const char *Folder,
    int Level,
    int Count
    )
{
    char Program[MAX_PATH];
    char Line[MAX_PATH + 80];
    char Directory[MAX_PATH];
    STARTUPINFOA Startup;
    PROCESS_INFORMATION Process;

    NumberOfChildren += 1;
    GetModuleFileNameA(NULL, Program, sizeof(Program));
    GetFullPathNameA(Folder, sizeof(Directory), Directory, NULL);
    _snprintf(Line,
              sizeof(Line),
              "\"%s\" %d %d %lu",
              Program,
              Level,
              Count,
              GetCurrentProcessId());
    memset(&Startup, 0, sizeof(Startup));
    Startup.cb = sizeof(Startup);
    if (!CreateProcessA(NULL, Line, NULL, NULL, FALSE, 0, NULL, Directory,
                        &Startup, &Process)) {
        return 0;
    }

    WaitForSingleObject(Process.hProcess, INFINITE);
    CloseHandle(Process.hProcess);
    CloseHandle(Process.hThread);
    return 1;
}

TRACED void
Tell(
    const char *Parent,
    int Level
    )
{
    char File[MAX_PATH];
    char Base[MAX_PATH];
    char Text[2 * MAX_PATH];
    HANDLE Handle;
    DWORD Length;

    GetEnvironmentVariableA("PROCESSES_FILE", File, sizeof(File));
    if (GetEnvironmentVariableA("TRACER_BASE_DIRECTORY", Base, sizeof(Base)) ==
        0) {
        strcpy(Base, "-");
    }

    Handle = CreateFileA(File, FILE_APPEND_DATA,
                         FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS,
                         0, NULL);
    _snprintf(Text,
              sizeof(Text),
              "%lu %s %d %u %u %u %s\n",
              GetCurrentProcessId(),
              Parent,
              Level,
              NumberOfWorks,
              NumberOfLeaves,
              NumberOfChildren,
              Base);
    WriteFile(Handle, Text, (DWORD)strlen(Text), &Length, NULL);
    CloseHandle(Handle);
}

TRACED int
main(
    int NumberOfArguments,
    char **Arguments
    )
{
    int Level = atoi(Arguments[1]);
    int Count = atoi(Arguments[2]);
    int Index;

    if (NumberOfArguments != 4) {
        return 2;
    }

    for (Index = 0; Index < Count; Index += 1) {
        Work();
    }

    if (Level == 0) {
        RunChild("one", 1, Count + 3);
        RunChild("two", 1, Count + 5);
    } else if (Level == 1) {
        RunChild("deep", 2, Count + 7);
    }

    Tell(Arguments[3], Level);
    return 0;
}

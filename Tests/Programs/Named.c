//
// Threads that give themselves names after their first traced call, as most do.
// For TestThreadNames.py.  Names are set where the system has them
// (SetThreadDescription of kernelbase.dll).
//
//     Named end       a thread with one name, one with two, one without any;
//                     all end
//     Named kill      a thread has its name when the process is terminated
//     Named live      a thread sets its name and makes calls until the file
//                     "stop" is in the current directory
//

#include <string.h>
#include <windows.h>

#define APART __attribute__((noinline, noclone))
#define PLAIN APART __attribute__((no_instrument_function))

//
// Records of more than a view.
//

#define MANY 20000

static volatile int Sink;
static volatile LONG Named;

PLAIN
static
void
SetName(
    PCWSTR Name
    )
{
    typedef HRESULT (WINAPI *SET_NAME)(HANDLE, PCWSTR);
    SET_NAME Set;

    Set = (SET_NAME)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"),
                                           "SetThreadDescription");
    if (Set != NULL) {
        Set(GetCurrentThread(), Name);
    }
}

APART
static
int
Call(
    int Value
    )
{
    Sink += Value;
    return Value;
}

PLAIN
static
void
CallMany(
    void
    )
{
    int Index;

    for (Index = 0; Index < MANY; Index += 1) {
        Sink += Call(Index);
    }
}

APART
static
DWORD
WINAPI
Once(
    void *Argument
    )
{
    Sink += Call(1);
    SetName(L"gr\x00fcn \x2014 one");
    Sink += Call(2);
    return Argument != NULL;
}

APART
static
DWORD
WINAPI
Twice(
    void *Argument
    )
{
    Sink += Call(1);
    SetName(L"first");
    CallMany();
    SetName(L"second");
    CallMany();
    SetName(L"second");
    CallMany();
    return Argument != NULL;
}

APART
static
DWORD
WINAPI
Never(
    void *Argument
    )
{
    CallMany();
    return Argument != NULL;
}

APART
static
DWORD
WINAPI
Waits(
    void *Argument
    )
{
    Sink += Call(1);
    SetName(L"waiting");
    CallMany();
    InterlockedExchange(&Named, 1);
    Sleep(INFINITE);
    return Argument != NULL;
}

APART
static
DWORD
WINAPI
Lives(
    void *Argument
    )
{
    int Index;

    for (Index = 0; Index < 20; Index += 1) {
        CallMany();
    }
    SetName(L"alive");
    while (GetFileAttributesW(L"stop") == INVALID_FILE_ATTRIBUTES) {
        Sink += Call(1);
        Sleep(5);
    }
    return Argument != NULL;
}

PLAIN
static
void
Run(
    LPTHREAD_START_ROUTINE Routine
    )
{
    HANDLE Thread = CreateThread(NULL, 0, Routine, NULL, 0, NULL);

    WaitForSingleObject(Thread, INFINITE);
    CloseHandle(Thread);
}

int
main(
    int Count,
    char **Arguments
    )
{
    if (Count > 1 && strcmp(Arguments[1], "kill") == 0) {
        CreateThread(NULL, 0, Waits, NULL, 0, NULL);
        while (Named == 0) {
            Sleep(1);
        }
        TerminateProcess(GetCurrentProcess(), 0);
    }

    if (Count > 1 && strcmp(Arguments[1], "live") == 0) {
        Run(Lives);
        return 0;
    }

    Run(Once);
    Run(Twice);
    Run(Never);
    return 0;
}

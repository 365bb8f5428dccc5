//
// A program that ends inside its calls, and its DLL, whose DllMain is called
// then.  Built with ENDS_DLL it is the DLL.
//
//     Ends.exe exit       ExitProcess, inside of Leave, inside of the entry
//     Ends.exe thread     a thread's ExitThread, inside of LeaveThread, inside
//                         of Run; then the program goes on and returns
//     Ends.exe return     (control) it returns, and calls ExitProcess where no
//                         function with hooks is open
//
// A function waits so long that it must be seen in its own time, whatever
// the machine does meanwhile: Spend waits for WAIT milliseconds at least.
//

#include <windows.h>

#define WAIT 20
#define QUIET __attribute__((no_instrument_function, noinline))
#define SEEN __attribute__((noinline))

#ifdef ENDS_DLL

QUIET void Spend(void)
{
    LARGE_INTEGER Frequency;
    LARGE_INTEGER Begin;
    LARGE_INTEGER Now;

    QueryPerformanceFrequency(&Frequency);
    QueryPerformanceCounter(&Begin);
    do {
        QueryPerformanceCounter(&Now);
    } while ((Now.QuadPart - Begin.QuadPart) * 1000 <
             Frequency.QuadPart * (WAIT + 1));
}

SEEN void Inner(void)
{
    Spend();
}

SEEN void Work(void)
{
    Inner();
    Inner();
}

SEEN void Detached(void)
{
    Spend();
}

SEEN void ThreadDetached(void)
{
    Spend();
}

BOOL WINAPI DllMain(HINSTANCE Instance, DWORD Reason, LPVOID Reserved)
{
    (void)Instance;
    (void)Reserved;

    if (Reason == DLL_PROCESS_DETACH) {
        Spend();
        Detached();
    } else if (Reason == DLL_THREAD_DETACH) {
        ThreadDetached();
    }
    return TRUE;
}

#else

__declspec(dllimport) void Work(void);
__declspec(dllimport) void Spend(void);

SEEN void Leave(void)
{
    Spend();
    ExitProcess(7);
}

SEEN void LeaveThread(void)
{
    Spend();
    ExitThread(0);
}

SEEN DWORD WINAPI Run(LPVOID Parameter)
{
    (void)Parameter;
    Work();
    LeaveThread();
    return 1;
}

SEEN void Return(void)
{
    Work();
}

SEEN void Exit(void)
{
    Work();
    Leave();
}

SEEN void Thread(void)
{
    HANDLE Handle;

    Handle = CreateThread(NULL, 0, Run, NULL, 0, NULL);
    WaitForSingleObject(Handle, INFINITE);
    CloseHandle(Handle);
}

QUIET void Begin(void)
{
    char *Command = GetCommandLineA();
    char Last = 0;

    for (; *Command != 0; Command++) {
        if (Command[1] == 0) {
            Last = *Command;
        }
    }
    if (Last == 't') {                  // exit
        Exit();
    } else if (Last == 'd') {           // thread
        Thread();
    } else {                            // return
        Return();
    }
    ExitProcess(7);
}

#endif

/*++

Module Name:

    Waits.c

Abstract:

    A program that knows how long it waits.  Around each call of the system it
    reads the performance counter, and prints what it has measured: a line for
    each, with the function that waited.

    usage: Waits ROUNDS

--*/

#include <winsock2.h>
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACED __attribute__((noinline))
#define PLAIN __attribute__((noinline, no_instrument_function))
#define MAXIMUM_LINES 4096
#define PAUSE 20                            // ms

enum { AskEvent, AskPipe, AskSocket, AskSection, AskShared, AskCondition,
       AskAddress, AskEnd };

static struct { const char *Name; long long Ticks; } Lines[MAXIMUM_LINES];
static int NumberOfLines;
static volatile int Asked;
static HANDLE Asking, Ready, Event, Idle, PipeIn, PipeOut;
static SOCKET Here, There;
static CRITICAL_SECTION Section, Guard, Free;
static CONDITION_VARIABLE Condition = CONDITION_VARIABLE_INIT;
static SRWLOCK Shared = SRWLOCK_INIT;
static volatile LONG Signalled, Address;
static volatile unsigned Sink;
static char Bytes[1 << 20];

PLAIN static void Die(const char *What)
{
    printf("%s: %lu\n", What, GetLastError());
    fflush(stdout);
    ExitProcess(99);
}

//
// Measures what is between the two, of one thread.
//

static LARGE_INTEGER Began;

#define MEASURE(Call)                                                       \
    do {                                                                    \
        LARGE_INTEGER Ended_;                                               \
        QueryPerformanceCounter(&Began);                                    \
        Call;                                                               \
        QueryPerformanceCounter(&Ended_);                                   \
        Lines[NumberOfLines].Name = __func__;                               \
        Lines[NumberOfLines].Ticks = Ended_.QuadPart - Began.QuadPart;      \
        NumberOfLines += 1;                                                 \
    } while (0)

//
// The other thread lets the first one wait, and then not any longer.
//

TRACED static DWORD WINAPI Other(void *Context)
{
    for (;;) {

        WaitForSingleObject(Asking, INFINITE);
        switch (Asked) {
        case AskEvent:
            Sleep(PAUSE);
            SetEvent(Event);
            break;
        case AskPipe: {
            DWORD Written;
            Sleep(PAUSE);
            WriteFile(PipeIn, "x", 1, &Written, NULL);
            break;
        }
        case AskSocket:
            Sleep(PAUSE);
            send(There, "x", 1, 0);
            break;
        case AskSection:
            EnterCriticalSection(&Section);
            SetEvent(Ready);
            Sleep(PAUSE);
            LeaveCriticalSection(&Section);
            break;
        case AskShared:
            AcquireSRWLockExclusive(&Shared);
            SetEvent(Ready);
            Sleep(PAUSE);
            ReleaseSRWLockExclusive(&Shared);
            break;
        case AskCondition:
            Sleep(PAUSE);
            EnterCriticalSection(&Guard);
            Signalled = 1;
            LeaveCriticalSection(&Guard);
            WakeConditionVariable(&Condition);
            break;
        case AskAddress:
            Sleep(PAUSE);
            Address = 1;
            WakeByAddressAll((void *)&Address);
            break;
        default:
            return 0;
        }
    }
}

TRACED static DWORD WINAPI Brief(void *Context)
{
    Sleep(PAUSE);
    return 0;
}

PLAIN static void Ask(int What, BOOL Waits)
{
    Asked = What;
    SetEvent(Asking);
    if (Waits) {
        WaitForSingleObject(Ready, INFINITE);
    }
}

TRACED static void WaitEvent(void)
{
    MEASURE(WaitForSingleObject(Event, INFINITE));
}

TRACED static void WaitSleep(void)
{
    MEASURE(Sleep(PAUSE));
}

TRACED static void WaitPipe(void)
{
    DWORD Read;
    char Byte;

    MEASURE(ReadFile(PipeOut, &Byte, 1, &Read, NULL));
}

TRACED static void WaitSocket(void)
{
    char Byte;

    MEASURE(recv(Here, &Byte, 1, 0));
}

TRACED static void WaitSection(void)
{
    MEASURE(EnterCriticalSection(&Section));
    LeaveCriticalSection(&Section);
}

TRACED static void WaitShared(void)
{
    MEASURE(AcquireSRWLockExclusive(&Shared));
    ReleaseSRWLockExclusive(&Shared);
}

TRACED static void WaitCondition(void)
{
    EnterCriticalSection(&Guard);
    MEASURE(while (!Signalled) SleepConditionVariableCS(&Condition, &Guard,
                                                        INFINITE));
    Signalled = 0;
    LeaveCriticalSection(&Guard);
}

TRACED static void WaitAddress(void)
{
    LONG Zero = 0;

    MEASURE(while (!Address) WaitOnAddress(&Address, &Zero, sizeof(Zero),
                                           INFINITE));
    Address = 0;
}

TRACED static void WaitThread(void)
{
    HANDLE Thread = CreateThread(NULL, 0, Brief, NULL, 0, NULL);

    MEASURE(WaitForSingleObject(Thread, INFINITE));
    CloseHandle(Thread);
}

TRACED static void WaitFile(HANDLE File)
{
    DWORD Written;

    SetFilePointer(File, 0, NULL, FILE_BEGIN);
    MEASURE(for (int Count = 0; Count < 8; Count++)
                WriteFile(File, Bytes, sizeof(Bytes), &Written, NULL));
}

//
// What does not wait: a loop, and locks that nobody else has.
//

TRACED static void Busy(void)
{
    MEASURE(for (int Count = 0; Count < 20000000; Count++) Sink += Count);
}

TRACED static void FreeLocks(void)
{
    MEASURE(for (int Count = 0; Count < 200; Count++) {
        EnterCriticalSection(&Free);
        LeaveCriticalSection(&Free);
    });
}

//
// Asks again and again, and never waits for an answer.
//

TRACED static void Poll(void)
{
    MEASURE(for (int Count = 0; Count < 50; Count++)
                WaitForSingleObject(Idle, 0));
}

//
// A wait of its own, which only --waits can know.
//

TRACED static void OwnWait(void)
{
    MEASURE(for (int Count = 0; Count < 1000000; Count++) Sink += Count);
}

TRACED static void Recursive(int Depth)
{
    if (Depth != 0) {
        Recursive(Depth - 1);
    }

    WaitSleep();
}

TRACED static void Round(HANDLE File)
{
    Ask(AskEvent, FALSE);
    WaitEvent();
    WaitSleep();
    Ask(AskPipe, FALSE);
    WaitPipe();
    Ask(AskSocket, FALSE);
    WaitSocket();
    Ask(AskSection, TRUE);
    WaitSection();
    Ask(AskShared, TRUE);
    WaitShared();
    Ask(AskCondition, FALSE);
    WaitCondition();
    Ask(AskAddress, FALSE);
    WaitAddress();
    WaitThread();
    WaitFile(File);
    Busy();
    FreeLocks();
    Poll();
    OwnWait();
    Recursive(1);
}

PLAIN static void MakeSockets(void)
{
    struct sockaddr_in Name;
    int Length = sizeof(Name);
    WSADATA Data;
    SOCKET Listening;

    if (WSAStartup(MAKEWORD(2, 2), &Data) != 0) {
        Die("WSAStartup");
    }

    memset(&Name, 0, sizeof(Name));
    Name.sin_family = AF_INET;
    Name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Listening = socket(AF_INET, SOCK_STREAM, 0);
    Here = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(Listening, (void *)&Name, sizeof(Name)) != 0 ||
        listen(Listening, 1) != 0 ||
        getsockname(Listening, (void *)&Name, &Length) != 0 ||
        connect(Here, (void *)&Name, sizeof(Name)) != 0) {
        Die("sockets");
    }

    There = accept(Listening, NULL, NULL);
    closesocket(Listening);
}

int main(int NumberOfArguments, char **Arguments)
{
    int Rounds = NumberOfArguments > 1 ? atoi(Arguments[1]) : 3;
    LARGE_INTEGER Frequency;
    HANDLE File;
    HANDLE Thread;

    InitializeCriticalSection(&Section);
    InitializeCriticalSection(&Guard);
    InitializeCriticalSection(&Free);
    Asking = CreateEventA(NULL, FALSE, FALSE, NULL);
    Ready = CreateEventA(NULL, FALSE, FALSE, NULL);
    Event = CreateEventA(NULL, FALSE, FALSE, NULL);
    Idle = CreateEventA(NULL, FALSE, FALSE, NULL);
    if (!CreatePipe(&PipeOut, &PipeIn, NULL, 0)) {
        Die("CreatePipe");
    }

    MakeSockets();
    File = CreateFileA("Waits.tmp", GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                       FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (File == INVALID_HANDLE_VALUE) {
        Die("CreateFile");
    }

    Thread = CreateThread(NULL, 0, Other, NULL, 0, NULL);
    for (int Count = 0; Count < Rounds; Count++) {
        Round(File);
    }

    Ask(AskEnd, FALSE);
    WaitForSingleObject(Thread, INFINITE);
    CloseHandle(File);
    QueryPerformanceFrequency(&Frequency);
    printf("frequency %lld\n", Frequency.QuadPart);
    for (int Line = 0; Line < NumberOfLines; Line++) {
        printf("%s %lld\n", Lines[Line].Name, Lines[Line].Ticks);
    }

    return 0;
}

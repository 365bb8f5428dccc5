/*++

Module Name:

    Held.c

Abstract:

    A program that is attached to and detached from while its threads run
    (TestAttach.py).  Its threads call a DLL that counts its calls itself, and
    check what they get: results, last errors.  What it is told to do comes line
    by line; the answer to each is one line.

    It looks at all import slots of all its modules by itself, which it has
    copied when it began.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define THREADS 4
#define MAXIMUM_SLOTS 65536

__declspec(dllimport) int Twice(int X);
__declspec(dllimport) double Half(double X, int A, int B, int C, int D, int E);
__declspec(dllimport) long long CallsOf(int Function);

typedef struct _SLOT {
    char *Module;
    void **Place;
    void *Value;
    DWORD Protection;
} SLOT;

static SLOT Slots[MAXIMUM_SLOTS];
static int NumberOfSlots;
static volatile LONG Limit;         // rounds of each thread; -1: no limit
static volatile LONG Stop;
static volatile LONG Bad;
static volatile LONG Parked;
static volatile LONG64 Rounds;
static HANDLE Held;
static HANDLE Holders[64];
static int NumberOfHolders;
static volatile LONG Holding;       // of them, those that are about to wait
static HMODULE Late;
static FARPROC RealSleep;
static void *Stolen;
static void **StolenPlace;

int main(int Count, char **Arguments);

//
// In functions of their own, so that no register keeps what their slots had
// when the loop began (Docs/Imports.md).
//

static
__attribute__((noinline))
int
Own(int X)
{
    return Twice(X) + 1;
}

static
__attribute__((noinline))
double
Other(int X)
{
    return Half(X, 1, 2, 3, 4, 5) + 1;
}

static
DWORD
WINAPI
Work(void *Parameter)
{
    LONG Done = 0;
    LONG Of = 0;

    //
    // The limit is read once for each round.  One that changed in between would
    // make a thread that has parked do one round more, or park once more if the
    // new one is one more: then nobody would see all of them parked.
    //

    while (!Stop) {
        LONG Wanted = Limit;

        if (Wanted >= 0 && Of != Wanted) {
            Of = Wanted;
            Done = 0;
        }
        if (Wanted >= 0 && Done >= Wanted) {
            if (Done == Wanted) {
                Done += 1;
                InterlockedIncrement(&Parked);
            }

            //
            // By no slot: it is nobody's call that is recorded, or that keeps
            // a library in the program.
            //

            ((void (WINAPI *)(DWORD))RealSleep)(1);
            continue;
        }

        Done += 1;
        SetLastError(Done + 1000);
        if (Own(Done) != 2 * Done + 1) InterlockedIncrement(&Bad);
        if (GetLastError() != (DWORD)Done + 1000) InterlockedIncrement(&Bad);
        if (Other(Done) != Done * 0.5 + 16) InterlockedIncrement(&Bad);
        if (CloseHandle(NULL) || GetLastError() != ERROR_INVALID_HANDLE) {
            InterlockedIncrement(&Bad);
        }
        InterlockedIncrement64(&Rounds);
    }

    return (DWORD)(size_t)Parameter;
}

static
DWORD
WINAPI
Hold(void *Parameter)
{
    DWORD Result;

    InterlockedIncrement(&Holding);
    Result = WaitForSingleObject(Held, INFINITE);
    return Result == WAIT_OBJECT_0 ? 77 : 1;
}

//
// Calls an address that GetProcAddress has given, without end.
//

static
DWORD
WINAPI
Spin(void *Parameter)
{
    int (*Routine)(int) = (int (*)(int))(void *)GetProcAddress(
        GetModuleHandleA("Counted.dll"), "Twice");
    int X = 0;

    while (!Stop) {
        X = (X + 1) & 0xFFFF;
        if (Routine(X) != 2 * X) InterlockedIncrement(&Bad);
    }

    return 0;
}

static
DWORD
Normal(DWORD Protection)
{
    return Protection == PAGE_WRITECOPY           ? PAGE_READWRITE
           : Protection == PAGE_EXECUTE_WRITECOPY ? PAGE_EXECUTE_READWRITE
                                                  : Protection;
}

static
void
Add(char *Module, void **Place)
{
    MEMORY_BASIC_INFORMATION Information;

    if (NumberOfSlots == MAXIMUM_SLOTS) exit(3);
    VirtualQuery(Place, &Information, sizeof(Information));
    Slots[NumberOfSlots].Module = Module;
    Slots[NumberOfSlots].Place = Place;
    Slots[NumberOfSlots].Value = *Place;
    Slots[NumberOfSlots].Protection = Normal(Information.Protect);
    NumberOfSlots += 1;
}

//
// Every slot of a module's imports and delayed imports.
//

static
void
Walk(char *Base, void (*Routine)(char *, void **))
{
    IMAGE_NT_HEADERS64 *Headers =
        (IMAGE_NT_HEADERS64 *)(Base + ((IMAGE_DOS_HEADER *)Base)->e_lfanew);
    IMAGE_DATA_DIRECTORY *Directories = Headers->OptionalHeader.DataDirectory;
    IMAGE_IMPORT_DESCRIPTOR *Import;
    DWORD *Delayed;
    void **Slot;

    if (Directories[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress != 0) {
        for (Import = (IMAGE_IMPORT_DESCRIPTOR *)
                 (Base +
                  Directories[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress);
             Import->Name != 0;
             Import += 1) {
            for (Slot = (void **)(Base + Import->FirstThunk);
                 *Slot != NULL;
                 Slot += 1) {
                Routine(Base, Slot);
            }
        }
    }

    if (Directories[IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT].VirtualAddress != 0) {
        for (Delayed = (DWORD *)
                 (Base + Directories[IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT]
                             .VirtualAddress);
             Delayed[1] != 0;
             Delayed += 8) {
            for (Slot = (void **)(Base + Delayed[3]);
                 *Slot != NULL;
                 Slot += 1) {
                Routine(Base, Slot);
            }
        }
    }
}

static
int
IsLoaded(char *Base)
{
    HMODULE Module;

    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              Base,
                              &Module);
}

static char *DllBegin;
static char *DllEnd;
static int Within;

static
void
CountWithin(char *Base, void **Slot)
{
    Within += (char *)*Slot >= DllBegin && (char *)*Slot < DllEnd;
}

static
void
WalkAll(void (*Routine)(char *, void **))
{
    HMODULE Modules[512];
    DWORD Needed;
    DWORD Index;

    K32EnumProcessModules(GetCurrentProcess(), Modules, sizeof(Modules),
                          &Needed);
    for (Index = 0; Index < Needed / sizeof(HMODULE); Index += 1) {
        if ((char *)Modules[Index] != DllBegin) {
            Walk((char *)Modules[Index], Routine);
        }
    }
}

//
// How many of the slots that there were differ, in value or protection, and how
// many of those that there are lead into TracerImports.dll.
//

static
void
Compare(void)
{
    MEMORY_BASIC_INFORMATION Information;
    int Values = 0;
    int Protections = 0;
    int Index;

    DllBegin = (char *)GetModuleHandleA("TracerImports.dll");
    DllEnd = DllBegin;
    if (DllBegin != NULL) {
        DllEnd += ((IMAGE_NT_HEADERS64 *)
                   (DllBegin + ((IMAGE_DOS_HEADER *)DllBegin)->e_lfanew))
                      ->OptionalHeader.SizeOfImage;
    }
    for (Index = 0; Index < NumberOfSlots; Index += 1) {
        if (!IsLoaded(Slots[Index].Module)) {
            continue;
        }
        VirtualQuery(Slots[Index].Place, &Information, sizeof(Information));
        Values += *Slots[Index].Place != Slots[Index].Value;
        Protections += Normal(Information.Protect) != Slots[Index].Protection;
    }
    Within = 0;
    if (DllBegin != NULL) WalkAll(CountWithin);
    printf("%d %d %d %d\n", NumberOfSlots, Values, Protections, Within);
}

static
void
Steal(char *Base, void **Slot)
{
    DWORD Old;

    if (Base == (char *)GetModuleHandleA(NULL) && Stolen != NULL &&
        *Slot == Stolen) {
        VirtualProtect(Slot, sizeof(*Slot), PAGE_READWRITE, &Old);
        *Slot = (void *)RealSleep;
        VirtualProtect(Slot, sizeof(*Slot), Old, &Old);
        StolenPlace = Slot;
        Stolen = NULL;
    }
}

static
int
CountVariables(void)
{
    char *Strings = GetEnvironmentStringsA();
    int Number = 0;

    for (; *Strings != 0; Strings += strlen(Strings) + 1) {
        Number += strncmp(Strings, "TRACER_", 7) == 0;
    }
    return Number;
}

int
main(int Count, char **Arguments)
{
    HANDLE Threads[THREADS];
    char Line[256];
    DWORD Code;
    int Index;

    setvbuf(stdin, NULL, _IONBF, 0);
    RealSleep = GetProcAddress(GetModuleHandleA("kernel32"), "Sleep");
    Held = CreateEventA(NULL, TRUE, FALSE, NULL);
    WalkAll(Add);
    for (Index = 0; Index < THREADS; Index += 1) {
        Threads[Index] = CreateThread(NULL, 0, Work, (void *)(size_t)Index, 0,
                                      NULL);
    }
    printf("%lu\n", GetCurrentProcessId());
    for (;;) {
        fflush(stdout);
        if (fgets(Line, sizeof(Line), stdin) == NULL) return 9;
        Line[strcspn(Line, "\r\n")] = 0;
        if (strcmp(Line, "slots") == 0) {
            Compare();
        } else if (strncmp(Line, "go ", 3) == 0) {
            Parked = 0;
            Limit = atoi(Line + 3);
            while (Limit >= 0 && Parked != THREADS) Sleep(1);
            printf("%ld\n", Limit);
        } else if (strcmp(Line, "counts") == 0) {
            printf("%lld %lld %ld %lld\n", CallsOf(0), CallsOf(1), Bad,
                   (long long)Rounds);
        } else if (strcmp(Line, "hold") == 0) {
            Holders[NumberOfHolders] = CreateThread(NULL, 0, Hold, NULL, 0,
                                                    NULL);
            NumberOfHolders += 1;
            while (Holding != NumberOfHolders) Sleep(1);
            Sleep(50);
            printf("%d\n", NumberOfHolders);
        } else if (strcmp(Line, "release") == 0) {
            int Right = 0;
            SetEvent(Held);
            for (Index = 0; Index < NumberOfHolders; Index += 1) {
                WaitForSingleObject(Holders[Index], INFINITE);
                GetExitCodeThread(Holders[Index], &Code);
                CloseHandle(Holders[Index]);
                Right += Code == 77;
            }
            NumberOfHolders = 0;
            Holding = 0;
            ResetEvent(Held);
            printf("%d\n", Right);
        } else if (strcmp(Line, "spin") == 0) {
            CloseHandle(CreateThread(NULL, 0, Spin, NULL, 0, NULL));
            Sleep(50);
            printf("0\n");
        } else if (strcmp(Line, "ask") == 0) {
            printf("%d\n", GetProcAddress(GetModuleHandleA("kernel32"),
                                          "Sleep") == RealSleep);
        } else if (strcmp(Line, "load") == 0) {
            Late = LoadLibraryA("Late.dll");
            printf("%d\n", Late == NULL
                               ? 0
                               : ((int (*)(int))(void *)GetProcAddress(
                                     Late, "LateTwice"))(21));
        } else if (strcmp(Line, "free") == 0) {
            printf("%d\n", FreeLibrary(Late) != FALSE);
        } else if (strncmp(Line, "steal ", 6) == 0) {
            HMODULE Self = GetModuleHandleA(NULL);
            IMAGE_NT_HEADERS64 *Headers = (IMAGE_NT_HEADERS64 *)
                ((char *)Self + ((IMAGE_DOS_HEADER *)Self)->e_lfanew);
            IMAGE_IMPORT_DESCRIPTOR *Import = (IMAGE_IMPORT_DESCRIPTOR *)
                ((char *)Self +
                 Headers->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT]
                     .VirtualAddress);
            StolenPlace = NULL;
            for (; Import->Name != 0; Import += 1) {
                unsigned long long *Names = (unsigned long long *)
                    ((char *)Self + Import->OriginalFirstThunk);
                void **Slot = (void **)((char *)Self + Import->FirstThunk);
                for (; *Names != 0; Names += 1, Slot += 1) {
                    if ((long long)*Names > 0 &&
                        strcmp((char *)Self + *Names + 2, Line + 6) == 0) {
                        Stolen = *Slot;
                    }
                }
            }
            Walk((char *)Self, Steal);
            printf("%d\n", StolenPlace != NULL);
        } else if (strcmp(Line, "kept") == 0) {
            printf("%d\n", *StolenPlace == (void *)RealSleep);
        } else if (strcmp(Line, "variables") == 0) {
            printf("%d\n", CountVariables());
        } else if (strcmp(Line, "quit") == 0) {
            break;
        } else {
            printf("what?\n");
        }
    }

    Stop = 1;
    WaitForMultipleObjects(THREADS, Threads, TRUE, INFINITE);
    for (Index = 0; Index < THREADS; Index += 1) {
        GetExitCodeThread(Threads[Index], &Code);
        if (Code != (DWORD)Index) Bad += 1;
    }
    printf("end %ld\n", Bad);
    return Bad == 0 ? 43 : 1;
}

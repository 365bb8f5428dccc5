/*++

Module Name:

    KernelRings.c

Abstract:

    Plays a traced driver in user mode: makes the section that such a driver
    leaves its records in, and writes into it what it is told to, line by line.
    Each line is answered by one.  Sites are in this program's own functions.

        KernelRings NAME RINGS RECORDS OPEN-CALLS

        record RING THREAD IRQL KIND FUNCTION STACK    answers the time stamp
        hole RING                                      answers the number
        fill RING NUMBER THREAD IRQL KIND FUNCTION STACK
        open SLOT STACK FUNCTION TIME
        poke OFFSET SIZE VALUE                         of the section
        burst RING THREAD COUNT                        as fast as it can
        play THREADS CALLS SEED                        real threads, which move
                                                       from ring to ring

    All numbers but RING, THREAD ... are decimal, or hexadecimal with 0x.  An
    empty line ends it.

--*/

#include <windows.h>
#include <winternl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <intrin.h>
#include "../../../Kernel/KernelFormat.h"

NTSTATUS NTAPI NtCreateSection(PHANDLE, ACCESS_MASK, POBJECT_ATTRIBUTES,
                               PLARGE_INTEGER, ULONG, ULONG, HANDLE);
NTSTATUS NTAPI NtMapViewOfSection(HANDLE, HANDLE, PVOID *, ULONG_PTR, SIZE_T,
                                  PLARGE_INTEGER, PSIZE_T, ULONG, ULONG, ULONG);

#define FUNCTIONS 8
#define PLAYED_FUNCTIONS 5

//
// What the sites are in.  Each is its own, and leaves the stack alone.
//

static volatile int Sink;

#define FUNCTION(N)                                                         \
    __declspec(dllexport) __attribute__((noinline)) void                    \
    Function##N(void)                                                       \
    {                                                                       \
        Sink = Sink * 3 + N;                                                \
        Sink = Sink * 5 + N;                                                \
    }

FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3)
FUNCTION(4) FUNCTION(5) FUNCTION(6) FUNCTION(7)

static void (*const Functions[FUNCTIONS])(void) = {
    Function0, Function1, Function2, Function3,
    Function4, Function5, Function6, Function7
};

static BYTE *Section;
static TRACE_KERNEL_HEADER *Header;
static TRACE_KERNEL_RING *Rings;
static TRACE_KERNEL_RECORD *Records;
static TRACE_KERNEL_OPEN_CALL *OpenCalls;

static TRACE_KERNEL_RECORD *
Place(unsigned Ring, ULONG64 Number)
{
    return Records + Ring * Header->RecordsPerRing +
           (Number & (Header->RecordsPerRing - 1));
}

static ULONG64
Reserve(unsigned Ring)
{
    ULONG64 Number = (ULONG64)_InterlockedExchangeAdd64(
        (volatile LONG64 *)&Rings[Ring].Reserved, 1);

    *(volatile uint32_t *)&Place(Ring, Number)->Number =
        TRACE_KERNEL_NUMBER(Number) | 1;
    return Number;
}

static void
Fill(unsigned Ring, ULONG64 Number, ULONG64 Time, ULONG Thread, unsigned Irql,
     unsigned Kind, ULONG64 Site, ULONG64 Stack)
{
    TRACE_KERNEL_RECORD *Record = Place(Ring, Number);

    *(volatile uint64_t *)&Record->Timestamp = Time;
    *(volatile uint64_t *)&Record->Site = Site;
    *(volatile uint64_t *)&Record->Stack = Stack | Kind;
    *(volatile uint32_t *)&Record->ThreadIrql = Thread / 4 | Irql << 28;
    *(volatile uint32_t *)&Record->Number = TRACE_KERNEL_NUMBER(Number);
}

static ULONG64
Write(unsigned Ring, ULONG Thread, unsigned Irql, unsigned Kind,
      unsigned Function, ULONG64 Stack)
{
    ULONG64 Time = __rdtsc();

    Fill(Ring, Reserve(Ring), Time, Thread, Irql, Kind,
         (ULONG64)Functions[Function] + 1, Stack);
    return Time;
}

//
// Threads that call each other's functions at random, each on a stack of its
// own, on whichever processor they are told to be.
//

typedef struct _PLAYER {
    ULONG Thread;
    ULONG Calls;
    ULONG64 Seed;
    ULONG64 Stack;
    ULONG64 Counts[FUNCTIONS];
} PLAYER;

static unsigned
Random(PLAYER *Player)
{
    Player->Seed = Player->Seed * 6364136223846793005ULL +
                   1442695040888963407ULL;
    return (unsigned)(Player->Seed >> 33);
}

static void
PlayCall(PLAYER *Player, unsigned Depth, ULONG64 Stack)
{
    unsigned Function = Random(Player) % PLAYED_FUNCTIONS;
    unsigned Number = Header->NumberOfRings;

    Player->Counts[Function] += 1;
    Write(Random(Player) % Number, Player->Thread, 0, TRACE_KIND_ENTER,
          Function, Stack);
    while (Player->Calls != 0 && Depth < 12 && Random(Player) % 3 != 0) {
        Player->Calls -= 1;
        PlayCall(Player, Depth + 1, Stack - 64 - Random(Player) % 32 * 8);
    }
    Write(Random(Player) % Number, Player->Thread, 0, TRACE_KIND_EXIT,
          Function, Stack);
}

static DWORD WINAPI
Play(LPVOID Context)
{
    PLAYER *Player = (PLAYER *)Context;

    while (Player->Calls != 0) {
        Player->Calls -= 1;
        PlayCall(Player, 0, Player->Stack);
    }
    return 0;
}

static void
PlayAll(unsigned Threads, ULONG Calls, ULONG64 Seed)
{
    PLAYER Players[32];
    HANDLE Handles[32];
    ULONG64 Sums[FUNCTIONS] = { 0 };
    unsigned Index, Function;

    if (Threads > 32) {
        Threads = 32;
    }
    memset(Players, 0, sizeof(Players));
    for (Index = 0; Index < Threads; Index++) {
        Players[Index].Thread = 4000 + 4 * Index;
        Players[Index].Calls = Calls;
        Players[Index].Seed = Seed + Index * 977;
        Players[Index].Stack = 0xFFFFF80012340000ULL + Index * 0x100000ULL;
        Handles[Index] = CreateThread(NULL, 0, Play, &Players[Index], 0, NULL);
    }
    for (Index = 0; Index < Threads; Index++) {
        WaitForSingleObject(Handles[Index], INFINITE);
        for (Function = 0; Function < FUNCTIONS; Function++) {
            Sums[Function] += Players[Index].Counts[Function];
        }
    }
    for (Function = 0; Function < FUNCTIONS; Function++) {
        printf("%llu ", Sums[Function]);
    }
}

static void
Burst(unsigned Ring, ULONG Thread, ULONG64 Count)
{
    ULONG64 Stack = 0xFFFFF88000100000ULL;
    ULONG64 Begin = __rdtsc();
    ULONG64 Index;

    for (Index = 0; Index < Count; Index++) {
        Write(Ring, Thread, 0, TRACE_KIND_ENTER, 0, Stack);
        Write(Ring, Thread, 0, TRACE_KIND_ENTER, 1, Stack - 64);
        Write(Ring, Thread, 0, TRACE_KIND_EXIT, 1, Stack - 64);
        Write(Ring, Thread, 0, TRACE_KIND_EXIT, 0, Stack);
    }
    printf("%llu", __rdtsc() - Begin);
}

static int
Make(const char *Name, ULONG Number, ULONG64 RecordsPerRing, ULONG Open)
{
    HMODULE Module = GetModuleHandleW(NULL);
    IMAGE_NT_HEADERS64 *Nt = (IMAGE_NT_HEADERS64 *)
        ((BYTE *)Module + ((IMAGE_DOS_HEADER *)Module)->e_lfanew);
    OBJECT_ATTRIBUTES Attributes;
    UNICODE_STRING Unicode;
    LARGE_INTEGER Size, Frequency, Now;
    HANDLE Handle;
    SIZE_T View = 0;
    PVOID Base = NULL;
    FILETIME Time;
    WCHAR Wide[300], Path[600];
    NTSTATUS Status;

    swprintf(Wide, 300, L"\\BaseNamedObjects\\TracerKernel.%hs", Name);
    RtlInitUnicodeString(&Unicode, Wide);
    InitializeObjectAttributes(&Attributes, &Unicode, 0, NULL, NULL);
    Size.QuadPart = TRACE_HEADER_SIZE +
                    Number * (LONGLONG)sizeof(TRACE_KERNEL_RING) +
                    Number * RecordsPerRing * sizeof(TRACE_KERNEL_RECORD) +
                    Open * (LONGLONG)sizeof(TRACE_KERNEL_OPEN_CALL);
    Status = NtCreateSection(&Handle, SECTION_ALL_ACCESS, &Attributes, &Size,
                             PAGE_READWRITE, SEC_COMMIT, NULL);
    if (Status >= 0) {
        Status = NtMapViewOfSection(Handle, GetCurrentProcess(), &Base, 0, 0,
                                    NULL, &View, 2, 0, PAGE_READWRITE);
    }
    if (Status < 0) {
        printf("failed 0x%08x\n", (unsigned)Status);
        return 0;
    }

    Section = (BYTE *)Base;
    Header = (TRACE_KERNEL_HEADER *)Section;
    Header->MajorVersion = TRACE_KERNEL_MAJOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->SectionSize = (ULONG64)Size.QuadPart;
    Header->RecordSize = sizeof(TRACE_KERNEL_RECORD);
    Header->Flags = TRACE_FLAG_TSC_INVARIANT;
    Header->State = TRACE_KERNEL_STATE_RUNNING;
    Header->NumberOfRings = Number;
    Header->RingsOffset = TRACE_HEADER_SIZE;
    Header->RecordsOffset = Header->RingsOffset +
                            Number * sizeof(TRACE_KERNEL_RING);
    Header->RecordsPerRing = RecordsPerRing;
    Header->OpenCallsOffset = Header->RecordsOffset +
                              Number * RecordsPerRing *
                                  sizeof(TRACE_KERNEL_RECORD);
    Header->OpenCallSlots = Open;
    QueryPerformanceFrequency(&Frequency);
    QueryPerformanceCounter(&Now);
    GetSystemTimeAsFileTime(&Time);
    Header->QpcFrequency = (ULONG64)Frequency.QuadPart;
    Header->OpenAnchor.Tsc = __rdtsc();
    Header->OpenAnchor.Qpc = (ULONG64)Now.QuadPart;
    Header->OpenAnchor.SystemTime = (ULONG64)Time.dwHighDateTime << 32 |
                                    Time.dwLowDateTime;
    Header->OpenAnchor.Check = Header->OpenAnchor.Tsc ^
                               Header->OpenAnchor.Qpc ^
                               Header->OpenAnchor.SystemTime;
    Header->ModuleBase = (ULONG64)Module;
    Header->ModuleSize = Nt->OptionalHeader.SizeOfImage;
    Header->ModuleTimeDateStamp = Nt->FileHeader.TimeDateStamp;
    Header->ModuleCheckSum = Nt->OptionalHeader.CheckSum;
    Header->ProcessId = GetCurrentProcessId();
    memcpy(Header->ModulePath, "\\??\\", 4);
    GetModuleFileNameW(NULL, Path, 600);
    Header->ModulePathLength = 3 + (ULONG)WideCharToMultiByte(
        CP_UTF8, 0, Path, -1, (char *)Header->ModulePath + 4,
        sizeof(Header->ModulePath) - 4, NULL, NULL);
    Header->DriverNameLength = (ULONG)strlen(Name);
    memcpy(Header->DriverName, Name, strlen(Name));
    Rings = (TRACE_KERNEL_RING *)(Section + Header->RingsOffset);
    Records = (TRACE_KERNEL_RECORD *)(Section + Header->RecordsOffset);
    OpenCalls = (TRACE_KERNEL_OPEN_CALL *)(Section + Header->OpenCallsOffset);
    *(volatile uint64_t *)&Header->Magic = TRACE_KERNEL_MAGIC;
    return 1;
}

int
main(int Count, char **Arguments)
{
    char Line[400];
    char *Words[10];
    ULONG64 N[10];
    int Number;

    if (Count != 5 ||
        !Make(Arguments[1], (ULONG)atoi(Arguments[2]),
              strtoull(Arguments[3], NULL, 0), (ULONG)atoi(Arguments[4]))) {
        return 1;
    }

    printf("ready 0x%llx\n", (ULONG64)Section);
    fflush(stdout);
    while (fgets(Line, sizeof(Line), stdin) != NULL) {

        char *Word = strtok(Line, " \r\n");

        for (Number = 0; Word != NULL && Number < 10; Number++) {
            Words[Number] = Word;
            N[Number] = strtoull(Word, NULL, 0);
            Word = strtok(NULL, " \r\n");
        }
        if (Number == 0) {
            break;
        }

        if (strcmp(Words[0], "record") == 0 && Number == 7) {
            printf("%llu", Write((unsigned)N[1], (ULONG)N[2], (unsigned)N[3],
                                 (unsigned)N[4], (unsigned)N[5], N[6]));
        } else if (strcmp(Words[0], "hole") == 0 && Number == 2) {
            printf("%llu", Reserve((unsigned)N[1]));
        } else if (strcmp(Words[0], "fill") == 0 && Number == 8) {
            Fill((unsigned)N[1], N[2], __rdtsc(), (ULONG)N[3],
                 (unsigned)N[4], (unsigned)N[5],
                 (ULONG64)Functions[N[6]] + 1, N[7]);
            printf("0");
        } else if (strcmp(Words[0], "open") == 0 && Number == 5) {
            OpenCalls[N[1]].Stack = N[2];
            OpenCalls[N[1]].Site = (ULONG64)Functions[N[3]] + 1;
            OpenCalls[N[1]].Timestamp = N[4];
            printf("0");
        } else if (strcmp(Words[0], "poke") == 0 && Number == 4) {
            memcpy(Section + N[1], &N[3], N[2]);
            printf("0");
        } else if (strcmp(Words[0], "burst") == 0 && Number == 4) {
            Burst((unsigned)N[1], (ULONG)N[2], N[3]);
        } else if (strcmp(Words[0], "play") == 0 && Number == 4) {
            PlayAll((unsigned)N[1], (ULONG)N[2], N[3]);
        } else {
            printf("what?");
        }
        printf("\n");
        fflush(stdout);
    }

    return 0;
}

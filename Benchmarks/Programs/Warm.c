/*++

Module Name:

    Warm.c

Abstract:

    Keeps memory that the host of this virtual machine has really given, and
    hands it to a program that is being measured.  A plain native program:

        Warm MEBIBYTES

    A host may give a guest's page its memory only when the guest first writes
    to it, and take the memory of free pages back.  Such a first write takes
    microseconds instead of a fraction of one, and falls to whichever program
    happens to be given the page.

    It does what it reads from its standard input, a line each:

        take    touches all of its memory that it has given away (at first all)
                and says how many MiB that were and how many nanoseconds each
                4 KiB took: the mean, the least and the most, of 32 MiB
        give    says "giving"; from then on, until the next line comes,
                whenever others have taken so much that the machine's free
                memory is less than now and RESERVE more, gives 32 MiB back

    so that there is never much memory that is both touched and free, which
    the host would take.  At the end of the input it ends.

    Large pages are what the kernel hands on to the next program as they are:
    memory that was given back in pages of 4 KiB was seen to lie unused while
    the program was given pages without memory behind them.

--*/

#define _GNU_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE       (32ULL << 20)
#define LARGE_PAGE  (2ULL << 20)
#define PAGE        4096
#define RESERVE     (256LL << 20)
#define INTERVAL    4           // milliseconds

static char *Memory;
static unsigned long long Size;
static unsigned long long Held; // bytes from the start that are touched
static int MemoryInformation;

static
double
Now(
    void
    )
{
    struct timespec Time;

    clock_gettime(CLOCK_MONOTONIC, &Time);
    return (double)Time.tv_sec * 1e9 + (double)Time.tv_nsec;
}

static
long long
QueryFreeMemory(
    void
    )
{
    static const char Name[] = "MemFree:";
    char Text[256];
    const char *Found;
    ssize_t Length;

    Length = pread(MemoryInformation, Text, sizeof(Text) - 1, 0);
    Text[Length > 0 ? Length : 0] = '\0';
    Found = strstr(Text, Name);
    return Found != NULL ? atoll(Found + sizeof(Name) - 1) * 1024 : 0;
}

static
void
Take(
    void
    )
{
    unsigned long long First;
    double Start;
    double Time;
    double Total;
    double Least;
    double Most;
    double Pages;

    First = Held;
    Total = 0;
    Least = 0;
    Most = 0;
    for (; Held < Size; Held += PIECE) {
        Start = Now();
        memset(Memory + Held, 1, PIECE);
        Time = Now() - Start;
        Total += Time;
        if (Held == First || Time < Least) {
            Least = Time;
        }
        if (Time > Most) {
            Most = Time;
        }
    }

    Pages = Held != First ? (double)((Held - First) / PAGE) : 1;
    printf("%llu %.0f %.0f %.0f\n",
           (Held - First) >> 20,
           Total / Pages,
           Least / (double)(PIECE / PAGE),
           Most / (double)(PIECE / PAGE));
}

static
void
Give(
    void
    )
{
    struct pollfd Input = { STDIN_FILENO, POLLIN, 0 };
    long long Floor;

    Floor = QueryFreeMemory() + RESERVE;
    while (Held != 0 && QueryFreeMemory() < Floor) {
        Held -= PIECE;
        madvise(Memory + Held, PIECE, MADV_DONTNEED);
    }
    printf("giving\n");
    fflush(stdout);

    while (poll(&Input, 1, INTERVAL) == 0) {
        while (Held != 0 && QueryFreeMemory() < Floor) {
            Held -= PIECE;
            madvise(Memory + Held, PIECE, MADV_DONTNEED);
        }
    }
}

int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    char Line[16];

    Size = ArgumentCount == 2 ? strtoull(Arguments[1], NULL, 10) << 20 : 0;
    Size = Size / PIECE * PIECE;
    if (Size == 0) {
        return 2;
    }

    MemoryInformation = open("/proc/meminfo", O_RDONLY);
    Memory = mmap(NULL,
                  Size + LARGE_PAGE,
                  PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS,
                  -1,
                  0);

    if (MemoryInformation < 0 || Memory == MAP_FAILED) {
        return 1;
    }
    Memory += LARGE_PAGE - (size_t)Memory % LARGE_PAGE;
    madvise(Memory, Size, MADV_HUGEPAGE);

    //
    // Lines are read without a buffer, which poll would know nothing of.
    //

    setvbuf(stdin, NULL, _IONBF, 0);
    while (fgets(Line, sizeof(Line), stdin) != NULL) {
        if (strcmp(Line, "take\n") == 0) {
            Take();
        } else if (strcmp(Line, "give\n") == 0) {
            Give();
        }
        fflush(stdout);
    }
    return 0;
}

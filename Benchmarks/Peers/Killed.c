/*++

Module Name:

    Killed.c

Abstract:

    Makes calls until it is killed, and says how many it has made: the number
    of those that have returned is in the file COUNT-FILE, as eight bytes, at
    any moment, because the file is mapped.  After FIRST calls the program
    prints "ready" and its process id.  After LIMIT calls it gives up and ends
    with exit code 3, so that a killer that does not come fills no disk.

    usage: Killed FIRST LIMIT COUNT-FILE

--*/

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#endif

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
volatile unsigned long long *
MapCount(
    const char *Path
    )
{
    static const unsigned long long Zero;
    void *Map;
    FILE *File;

    File = fopen(Path, "wb");
    if (File == NULL || fwrite(&Zero, sizeof(Zero), 1, File) != 1 ||
        fclose(File) != 0) {
        return NULL;
    }

#ifdef _WIN32
    Map = CreateFileMappingA(CreateFileA(Path,
                                         GENERIC_READ | GENERIC_WRITE,
                                         FILE_SHARE_READ,
                                         NULL,
                                         OPEN_EXISTING,
                                         0,
                                         NULL),
                             NULL,
                             PAGE_READWRITE,
                             0,
                             sizeof(Zero),
                             NULL);

    return MapViewOfFile(Map, FILE_MAP_WRITE, 0, 0, sizeof(Zero));
#else
    Map = mmap(NULL,
               sizeof(Zero),
               PROT_READ | PROT_WRITE,
               MAP_SHARED,
               open(Path, O_RDWR),
               0);

    return Map != MAP_FAILED ? Map : NULL;
#endif
}

PLAIN
int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    volatile unsigned long long *Count;
    unsigned long long Calls;
    unsigned long long First;
    unsigned long long Limit;
    unsigned Value;

    if (ArgumentCount != 4) {
        return 1;
    }

    First = strtoull(Arguments[1], NULL, 10);
    Limit = strtoull(Arguments[2], NULL, 10);
    Count = MapCount(Arguments[3]);
    if (Count == NULL) {
        return 2;
    }

    Value = 0;
    for (Calls = 1; Calls <= Limit; Calls += 1) {
        Value = Leaf(Value);
        *Count = Calls;
        if (Calls == First) {
            printf("ready %ld\n", (long)getpid());
            fflush(stdout);
        }
    }

    return Value == 0 ? 4 : 3;
}

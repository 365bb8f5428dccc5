//
// SumRecords STORE: adds up the records of a store and does nothing else with
// them, which is as fast as any reader can get at them.  It maps the file as
// TraceReader does, in windows of 8 MiB.
//
// Prints: records, microseconds, the sum.
//

#include <stdint.h>
#include <stdio.h>
#include <windows.h>

#define HEADER_SIZE 4096
#define WINDOW_SIZE 0x800000ULL

typedef struct _RECORD {
    uint64_t Timestamp;
    uint64_t Rest;
} RECORD;

int
main(
    int argc,
    char **argv
    )
{
    HANDLE File;
    HANDLE Section;
    LARGE_INTEGER Size;
    LARGE_INTEGER Start;
    LARGE_INTEGER End;
    LARGE_INTEGER Frequency;
    uint64_t Sum = 0;
    uint64_t Other = 0;
    uint64_t Records = 0;
    uint64_t Offset;

    if (argc != 2) {
        fprintf(stderr, "usage: SumRecords STORE\n");
        return 1;
    }

    QueryPerformanceFrequency(&Frequency);
    QueryPerformanceCounter(&Start);
    File = CreateFileA(argv[1], GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL, OPEN_EXISTING, 0, NULL);
    if (File == INVALID_HANDLE_VALUE || !GetFileSizeEx(File, &Size)) {
        fprintf(stderr, "SumRecords: open %s: %lu\n", argv[1], GetLastError());
        return 1;
    }

    Section = CreateFileMappingA(File, NULL, PAGE_READONLY, 0, 0, NULL);
    if (Section == NULL) {
        fprintf(stderr, "SumRecords: section: %lu\n", GetLastError());
        return 1;
    }

    for (Offset = 0; Offset < (uint64_t)Size.QuadPart; Offset += WINDOW_SIZE) {

        uint64_t Length = (uint64_t)Size.QuadPart - Offset;
        const char *View;
        const RECORD *Record;
        const RECORD *Last;

        if (Length > WINDOW_SIZE) {
            Length = WINDOW_SIZE;
        }

        View = MapViewOfFile(Section, FILE_MAP_READ, (DWORD)(Offset >> 32),
                             (DWORD)Offset, (SIZE_T)Length);
        if (View == NULL) {
            fprintf(stderr, "SumRecords: map: %lu\n", GetLastError());
            return 1;
        }

        Record = (const RECORD *)(View + (Offset == 0 ? HEADER_SIZE : 0));
        Last = (const RECORD *)(View + Length / sizeof(RECORD) *
                                           sizeof(RECORD));
        Records += (uint64_t)(Last - Record);
        for (; Record != Last; Record++) {
            Sum += Record->Timestamp;
            Other += Record->Rest;
        }

        UnmapViewOfFile(View);
    }

    QueryPerformanceCounter(&End);
    printf("%llu %llu %llu\n", (unsigned long long)Records,
           (unsigned long long)((End.QuadPart - Start.QuadPart) * 1000000 /
                                Frequency.QuadPart),
           (unsigned long long)(Sum ^ Other));
    return 0;
}

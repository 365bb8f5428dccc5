/*++

Module Name:

    PageCost.c

Abstract:

    Measures what it costs to fill and to copy whole pages: with Asm/'s
    routines, with the string instructions and with the C library.

        PageCost memory MEGABYTES [again]
        PageCost file FILE MEGABYTES

    memory: for each size, every routine in turn, through MEGABYTES of memory
    in pieces of that size, one after the other (so that what is written next
    is not in the caches), or with "again" the same piece over and over.  The
    memory has been touched before.

    file (Windows): the pages of a view of FILE, which is made and deleted.
    Each way is first met by a new file ("new") and then by a second view of the
    same file, whose pages are in memory but not in the page tables ("old").
    The pages are made ready in pieces of 512 KiB, and each piece is then filled
    with records of 16 bytes.

    Prints one line for each measurement: what, which routine, the size in
    bytes, and nanoseconds for each 4,096 bytes; for files two figures, to make
    the pages ready and to write the records.

    The routines are Asm/'s in assembly and in C; the assembly with ordinary
    stores at all sizes (cached), and with non-temporal ones (stream); rep stosb
    and rep movsb; memset and memcpy of two C libraries.  Built natively, the
    program has the string instructions and that system's C library.

--*/

#ifdef _WIN32
#include <windows.h>
#else
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE            4096
#define PIECE           0x80000         // bytes of a view in one go
#define SMALLEST        0x1000
#define LARGEST         0x4000000
#define ENOUGH          0x2000000       // bytes written for one measurement

typedef void FILL(void *Destination, size_t Size, int Value);
typedef void COPY(void *Destination, const void *Source, size_t Size);

#ifdef _WIN32

unsigned char AsmFillPages(void *, size_t, unsigned char);
unsigned char AsmFillPagesInC(void *, size_t, unsigned char);
unsigned char CachedFillPages(void *, size_t, unsigned char);
unsigned char StreamFillPages(void *, size_t, unsigned char);
unsigned char AsmCopyPages(void *, const void *, size_t);
unsigned char AsmCopyPagesInC(void *, const void *, size_t);
unsigned char CachedCopyPages(void *, const void *, size_t);
unsigned char StreamCopyPages(void *, const void *, size_t);
void AsmTouchPages(void *, size_t);

#endif

static
void
Fail(
    const char *Step
    )
{
    fprintf(stderr, "PageCost: %s: failed\n", Step);
    exit(1);
}

static
double
Now(
    void
    )
{
#ifdef _WIN32
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart * 1e9 / (double)Frequency.QuadPart;
#else
    struct timespec Time;

    clock_gettime(CLOCK_MONOTONIC, &Time);
    return (double)Time.tv_sec * 1e9 + (double)Time.tv_nsec;
#endif
}

//
// The C libraries' routines are called through pointers that the compiler does
// not know, so that it puts nothing of its own in their place.
//

typedef void *SET(void *Destination, int Value, size_t Size);
typedef void *MOVE(void *Destination, const void *Source, size_t Size);

#ifdef _WIN32

static SET *volatile MsvcrtSet;
static MOVE *volatile MsvcrtMove;
static SET *volatile UcrtSet;
static MOVE *volatile UcrtMove;

static void FillMsvcrt(void *To, size_t Size, int Value)
{
    MsvcrtSet(To, Value, Size);
}

static void CopyMsvcrt(void *To, const void *From, size_t Size)
{
    MsvcrtMove(To, From, Size);
}

static void FillUcrt(void *To, size_t Size, int Value)
{
    UcrtSet(To, Value, Size);
}

static void CopyUcrt(void *To, const void *From, size_t Size)
{
    UcrtMove(To, From, Size);
}

static
void *
Find(
    const char *Library,
    const char *Name
    )
{
    HMODULE Module = LoadLibraryA(Library);
    void *Routine = NULL;

    if (Module != NULL) {
        Routine = (void *)(uintptr_t)GetProcAddress(Module, Name);
    }
    if (Routine == NULL) {
        Fail(Library);
    }
    return Routine;
}

static
void
FindLibraries(
    void
    )
{
    MsvcrtSet = (SET *)Find("msvcrt.dll", "memset");
    MsvcrtMove = (MOVE *)Find("msvcrt.dll", "memcpy");
    UcrtSet = (SET *)Find("ucrtbase.dll", "memset");
    UcrtMove = (MOVE *)Find("ucrtbase.dll", "memcpy");
}

#else

static SET *volatile NativeSet = memset;
static MOVE *volatile NativeMove = memcpy;

static void FillNative(void *To, size_t Size, int Value)
{
    NativeSet(To, Value, Size);
}

static void CopyNative(void *To, const void *From, size_t Size)
{
    NativeMove(To, From, Size);
}

#endif

static void FillString(void *To, size_t Size, int Value)
{
    __asm__ volatile ("rep stosb"
                      : "+D" (To), "+c" (Size)
                      : "a" (Value)
                      : "memory");
}

static void CopyString(void *To, const void *From, size_t Size)
{
    __asm__ volatile ("rep movsb"
                      : "+D" (To), "+S" (From), "+c" (Size)
                      :
                      : "memory");
}

#ifdef _WIN32

#define FILL_WITH(Name, Routine)                                            \
static void Name(void *To, size_t Size, int Value)                          \
{                                                                           \
    if (!Routine(To, Size, (unsigned char)Value)) {                         \
        Fail(#Routine);                                                     \
    }                                                                       \
}

#define COPY_WITH(Name, Routine)                                            \
static void Name(void *To, const void *From, size_t Size)                   \
{                                                                           \
    if (!Routine(To, From, Size)) {                                         \
        Fail(#Routine);                                                     \
    }                                                                       \
}

FILL_WITH(FillAsm, AsmFillPages)
FILL_WITH(FillInC, AsmFillPagesInC)
FILL_WITH(FillCached, CachedFillPages)
FILL_WITH(FillStream, StreamFillPages)
COPY_WITH(CopyAsm, AsmCopyPages)
COPY_WITH(CopyInC, AsmCopyPagesInC)
COPY_WITH(CopyCached, CachedCopyPages)
COPY_WITH(CopyStream, StreamCopyPages)

#endif

typedef struct _WAY {
    const char *Name;
    FILL *Fill;
    COPY *Copy;
} WAY;

static const WAY Ways[] = {
#ifdef _WIN32
    { "asm", FillAsm, CopyAsm },
    { "c", FillInC, CopyInC },
    { "cached", FillCached, CopyCached },
    { "stream", FillStream, CopyStream },
    { "rep", FillString, CopyString },
    { "msvcrt", FillMsvcrt, CopyMsvcrt },
    { "ucrt", FillUcrt, CopyUcrt },
#else
    { "native-rep", FillString, CopyString },
    { "native", FillNative, CopyNative },
#endif
};
#define NUMBER_OF_WAYS (sizeof(Ways) / sizeof(Ways[0]))

static
unsigned char *
GetPages(
    size_t Size
    )
{
    unsigned char *Base = malloc(Size + PAGE);

    if (Base == NULL) {
        Fail("memory");
    }
    Base = (unsigned char *)(((uintptr_t)Base + PAGE - 1) & ~(uintptr_t)4095);
    memset(Base, 1, Size);
    return Base;
}

//
// One measurement: the better of two runs, so that an interrupt in a short one
// does not count.  A run before them, whose time is not taken, leaves of the
// caches what this way leaves of them, and none of the lines that another way
// has written and that are still to go to memory.
//

static
double
Measure(
    const WAY *Way,
    int IsCopy,
    unsigned char *To,
    const unsigned char *From,
    size_t Arena,
    size_t Size,
    int Again,
    size_t *Position
    )
{
    double Best = 0;
    double Time;
    size_t Written;
    unsigned Run;

    for (Run = 0; Run < 3; Run += 1) {
        Time = Now();
        for (Written = 0; Written < ENOUGH || Written == 0; Written += Size) {
            if (Again || *Position + Size > Arena) {
                *Position = 0;
            }
            if (IsCopy) {
                Way->Copy(To + *Position, From + *Position, Size);
            } else {
                Way->Fill(To + *Position, Size, (int)Run);
            }
            *Position += Size;
        }
        Time = (Now() - Time) * PAGE / (double)Written;
        if (Run == 1 || Time < Best) {
            Best = Time;
        }
    }
    return Best;
}

static
void
MeasureMemory(
    size_t Arena,
    int Again
    )
{
    unsigned char *To = GetPages(Arena);
    unsigned char *From = GetPages(Arena);
    size_t Position = 0;
    size_t Size;
    unsigned Index;
    int IsCopy;

    for (IsCopy = 0; IsCopy <= 1; IsCopy += 1) {
        for (Size = SMALLEST; Size <= LARGEST; Size *= 2) {
            for (Index = 0; Index < NUMBER_OF_WAYS; Index += 1) {
                printf("%s-%s %s %llu %.2f\n",
                       IsCopy ? "copy" : "fill",
                       Again ? "again" : "next",
                       Ways[Index].Name,
                       (unsigned long long)Size,
                       Measure(&Ways[Index],
                               IsCopy,
                               To,
                               From,
                               Arena,
                               Size,
                               Again,
                               &Position));
            }
        }
    }
}

#ifdef _WIN32

static unsigned char Zeros[PIECE];

typedef enum _READY {
    ReadyNot,           // the records meet the pages
    ReadyTouch,         // AsmTouchPages
    ReadyWrite,         // NtWriteFile of zeros, then AsmTouchPages
    ReadyString,        // rep stosb, as RtlZeroBytes
    ReadyFill,          // AsmFillPages: ordinary stores at this size
    ReadyStream,        // the same with non-temporal stores
    ReadyCount
} READY;

static const char *const ReadyNames[ReadyCount] = {
    "nothing", "touch", "write+touch", "rep", "fill", "fill-stream"
};

//
// Maps the file where the view's address is a multiple of 2 MiB, as the store
// does.
//

static
unsigned char *
MapFile(
    HANDLE File,
    size_t Size
    )
{
    HANDLE Section;
    unsigned char *Place;
    unsigned char *Base = NULL;

    Section = CreateFileMappingW(File, NULL, PAGE_READWRITE, 0, 0, NULL);
    if (Section == NULL) {
        Fail("CreateFileMapping");
    }
    Place = VirtualAlloc(NULL, Size + 0x200000, MEM_RESERVE, PAGE_NOACCESS);
    if (Place != NULL) {
        VirtualFree(Place, 0, MEM_RELEASE);
        Place = (unsigned char *)(((uintptr_t)Place + 0x1FFFFF) &
                                  ~(uintptr_t)0x1FFFFF);
        Base = MapViewOfFileEx(Section, FILE_MAP_WRITE, 0, 0, Size, Place);
    }
    if (Base == NULL) {
        Fail("MapViewOfFileEx");
    }
    CloseHandle(Section);
    return Base;
}

static
void
MakeReady(
    READY Way,
    HANDLE File,
    unsigned char *Base,
    size_t Offset
    )
{
    OVERLAPPED Where = { 0 };
    DWORD Written;

    switch (Way) {
    case ReadyWrite:
        Where.Offset = (DWORD)Offset;
        if (!WriteFile(File, Zeros, PIECE, &Written, &Where)) {
            Fail("WriteFile");
        }
        AsmTouchPages(Base + Offset, PIECE);
        break;
    case ReadyTouch:
        AsmTouchPages(Base + Offset, PIECE);
        break;
    case ReadyString:
        FillString(Base + Offset, PIECE, 0);
        break;
    case ReadyFill:
        FillCached(Base + Offset, PIECE, 0);
        break;
    case ReadyStream:
        FillStream(Base + Offset, PIECE, 0);
        break;
    default:
        break;
    }
}

static
void
WriteRecords(
    unsigned char *Base
    )
{
    volatile unsigned long long *Next = (volatile void *)Base;
    size_t Index;

    for (Index = 0; Index < PIECE / 8; Index += 2) {
        Next[Index] = Index;
        Next[Index + 1] = Index;
    }
}

static
void
MeasureFile(
    const char *Name,
    size_t Size
    )
{
    HANDLE File;
    LARGE_INTEGER End;
    unsigned char *Base;
    double Ready;
    double Records;
    double Start;
    double Middle;
    size_t Offset;
    READY Way;
    int Old;

    for (Way = ReadyNot; Way < ReadyCount; Way += 1) {
        File = CreateFileA(Name,
                           GENERIC_READ | GENERIC_WRITE,
                           0,
                           NULL,
                           CREATE_ALWAYS,
                           FILE_FLAG_DELETE_ON_CLOSE,
                           NULL);
        End.QuadPart = (LONGLONG)Size;
        if (File == INVALID_HANDLE_VALUE ||
            !SetFilePointerEx(File, End, NULL, FILE_BEGIN) ||
            !SetEndOfFile(File)) {

            Fail("CreateFile");
        }
        for (Old = 0; Old <= 1; Old += 1) {
            Base = MapFile(File, Size);
            Ready = 0;
            Records = 0;
            for (Offset = 0; Offset < Size; Offset += PIECE) {
                Start = Now();
                MakeReady(Way, File, Base, Offset);
                Middle = Now();
                WriteRecords(Base + Offset);
                Ready += Middle - Start;
                Records += Now() - Middle;
            }
            printf("view-%s %s %llu %.2f %.2f\n",
                   Old ? "old" : "new",
                   ReadyNames[Way],
                   (unsigned long long)Size,
                   Ready * PAGE / (double)Size,
                   Records * PAGE / (double)Size);
            UnmapViewOfFile(Base);
        }
        CloseHandle(File);
    }
}

#endif

int
main(
    int ArgumentCount,
    char **Arguments
    )
{
#ifdef _WIN32
    FindLibraries();
#endif

    if (ArgumentCount >= 3 && strcmp(Arguments[1], "memory") == 0) {
        MeasureMemory((size_t)atoi(Arguments[2]) << 20, ArgumentCount > 3);
        return 0;
    }

#ifdef _WIN32
    if (ArgumentCount == 4 && strcmp(Arguments[1], "file") == 0) {
        MeasureFile(Arguments[2], (size_t)atoi(Arguments[3]) << 20);
        return 0;
    }
#endif

    fprintf(stderr, "usage: PageCost memory MEGABYTES [again]\n"
                    "       PageCost file FILE MEGABYTES\n");
    return 2;
}

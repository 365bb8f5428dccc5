/*
 * BenchStringTable.c: what a search of a string table costs, beside other
 * ways to find the longest prefix of a string.  BenchStringTable.sh builds it
 * for this machine, with the same sources and the same assembly as the
 * Windows library, so that the C library beside it is the system's.
 *
 *     BenchStringTable cost PREFIXES HITS MISSES ROUNDS
 *         the files have one name a line; prints a line for each way:
 *         name, and cycles a search: hits, misses and both mixed with warm
 *         caches; the mix with cold ones; memory in bytes; time to build in us
 *
 *     BenchStringTable random CASES
 *         compares every variant with a plain loop over up to 512 prefixes,
 *         and with a hash of 100,000 in a hundredth of the cases
 */

#define _GNU_SOURCE
#include "../StringTable/StringTable.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#define BATCH 1000
#define COLD_BATCH 50
#define NOT_FOUND STRING_TABLE_NOT_FOUND
#define ARENA_SIZE (1024u * 1024 * 1024)

typedef struct NAME {
    const char *Bytes;
    uint32_t Length;
} NAME;

typedef struct LIST {
    NAME *Names;
    uint32_t Count;
} LIST;

/*
 * An arena for each structure, so that it can be driven out of the caches.
 */

typedef struct ARENA {
    char *Base;
    size_t Used;
    size_t Freed;
} ARENA;

static void *ArenaAllocate(void *Context, size_t Size)
{
    ARENA *Arena = Context;
    char *Result = Arena->Base + Arena->Used;

    Arena->Used += (Size + 63) & ~(size_t)63;
    if (Arena->Used > ARENA_SIZE) {
        fprintf(stderr, "BenchStringTable: out of memory\n");
        exit(1);
    }
    return Result;
}

static void ArenaFree(void *Context, void *Address)
{
    (void)Context;
    (void)Address;
}

static void ArenaOpen(ARENA *Arena)
{
    Arena->Used = 0;
    Arena->Base = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (Arena->Base == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
}

static void ArenaClose(ARENA *Arena)
{
    munmap(Arena->Base, ARENA_SIZE);
}

static void Flush(const char *Base, size_t Size)
{
    size_t Offset;

    for (Offset = 0; Offset < Size; Offset += 64) {
        _mm_clflush(Base + Offset);
    }
}

static uint64_t Random = 88172645463325252ull;

static uint32_t Pick(uint32_t Limit)
{
    Random ^= Random << 13;
    Random ^= Random >> 7;
    Random ^= Random << 17;
    return (uint32_t)(((Random >> 32) * Limit) >> 32);
}

static LIST ReadNames(const char *Path, ARENA *Arena)
{
    LIST List = { NULL, 0 };
    FILE *File = fopen(Path, "r");
    char *Line = NULL;
    size_t Capacity = 0;
    ssize_t Length;

    if (File == NULL) {
        perror(Path);
        exit(1);
    }
    while ((Length = getline(&Line, &Capacity, File)) > 0) {
        char *Copy;
        if (Line[Length - 1] == '\n') {
            Length -= 1;
        }
        Copy = Arena->Base + Arena->Used;
        Arena->Used += Length + 1;
        memcpy(Copy, Line, Length);
        List.Names = realloc(List.Names, (List.Count + 1) * sizeof(NAME));
        List.Names[List.Count].Bytes = Copy;
        List.Names[List.Count].Length = Length;
        List.Count += 1;
    }
    free(Line);
    fclose(File);
    return List;
}

/*
 * The other ways.  Prefixes are sorted, so that one that begins with another
 * comes after it; Parent is the longest other prefix that a prefix begins
 * with.
 */

typedef struct PREFIX {
    const char *Bytes;
    uint32_t Length;
    uint32_t Index;
    uint32_t Parent;
} PREFIX;

typedef struct OTHERS {
    PREFIX *Sorted;
    PREFIX *ByLength;
    uint32_t Count;
    uint32_t Classes;
    uint8_t Class[256];
    uint32_t *Trie;                 /* per node: the index + 1, the children */
    uint32_t NumberOfNodes;
} OTHERS;

static int Compare(const char *A, uint32_t LengthA,
                   const char *B, uint32_t LengthB)
{
    int Result = memcmp(A, B, LengthA < LengthB ? LengthA : LengthB);
    return Result != 0 ? Result : (LengthA > LengthB) - (LengthA < LengthB);
}

static int CompareBytes(const void *A, const void *B)
{
    const PREFIX *First = A, *Second = B;
    int Result = Compare(First->Bytes, First->Length,
                         Second->Bytes, Second->Length);
    return Result != 0 ? Result :
        (First->Index > Second->Index) - (First->Index < Second->Index);
}

static int CompareLengths(const void *A, const void *B)
{
    const PREFIX *First = A, *Second = B;
    return (First->Length < Second->Length) - (First->Length > Second->Length);
}

static void BuildOthers(OTHERS *Others, const LIST *List, ARENA *Arena)
{
    uint32_t Index, Offset, Size = List->Count * sizeof(PREFIX);

    memset(Others, 0, sizeof(*Others));
    Others->Sorted = ArenaAllocate(Arena, Size);
    Others->ByLength = ArenaAllocate(Arena, Size);
    for (Index = 0; Index < List->Count; Index += 1) {
        PREFIX *Prefix = &Others->Sorted[Index];
        Prefix->Length = List->Names[Index].Length;
        Prefix->Bytes = memcpy(ArenaAllocate(Arena, Prefix->Length + 1),
                               List->Names[Index].Bytes, Prefix->Length);
        Prefix->Index = Index;
    }
    Others->Count = List->Count;
    memcpy(Others->ByLength, Others->Sorted, Size);
    qsort(Others->Sorted, Others->Count, sizeof(PREFIX), CompareBytes);
    qsort(Others->ByLength, Others->Count, sizeof(PREFIX), CompareLengths);

    for (Index = 0; Index < Others->Count; Index += 1) {
        PREFIX *Prefix = &Others->Sorted[Index];
        uint32_t Parent = Index == 0 ? NOT_FOUND : Index - 1;
        while (Parent != NOT_FOUND &&
               (Others->Sorted[Parent].Length >= Prefix->Length ||
                memcmp(Others->Sorted[Parent].Bytes, Prefix->Bytes,
                       Others->Sorted[Parent].Length) != 0)) {
            Parent = Others->Sorted[Parent].Parent;
        }
        Prefix->Parent = Parent;
        for (Offset = 0; Offset < Prefix->Length; Offset += 1) {
            uint8_t *Class = &Others->Class[(uint8_t)Prefix->Bytes[Offset]];
            if (*Class == 0) {
                Others->Classes += 1;
                *Class = Others->Classes;
            }
        }
    }
    Others->Classes += 1;
}

static void BuildTrie(OTHERS *Others, ARENA *Arena)
{
    uint32_t Index, Offset, Node;

    Others->Trie = (uint32_t *)(Arena->Base + Arena->Used);
    Others->NumberOfNodes = 1;
    for (Index = 0; Index < Others->Count; Index += 1) {
        const PREFIX *Prefix = &Others->Sorted[Index];
        Node = 0;
        for (Offset = 0; Offset < Prefix->Length; Offset += 1) {
            uint32_t Class = Others->Class[(uint8_t)Prefix->Bytes[Offset]];
            uint32_t *Next = &Others->Trie[Node * Others->Classes + Class];
            if (*Next == 0) {
                *Next = Others->NumberOfNodes;
                Others->NumberOfNodes += 1;
            }
            Node = *Next;
        }
        Others->Trie[Node * Others->Classes] = Prefix->Index + 1;
    }
    ArenaAllocate(Arena, 4ull * Others->NumberOfNodes * Others->Classes);
}

static __attribute__((noinline))
uint32_t LoopStrncmp(const void *Context, const char *Name, uint32_t Length)
{
    const OTHERS *Others = Context;
    uint32_t Index;

    (void)Length;
    for (Index = 0; Index < Others->Count; Index += 1) {
        const PREFIX *Prefix = &Others->ByLength[Index];
        if (strncmp(Name, Prefix->Bytes, Prefix->Length) == 0) {
            return Prefix->Index;
        }
    }
    return NOT_FOUND;
}

static __attribute__((noinline))
uint32_t LoopMemcmp(const void *Context, const char *Name, uint32_t Length)
{
    const OTHERS *Others = Context;
    uint32_t Index;

    for (Index = 0; Index < Others->Count; Index += 1) {
        const PREFIX *Prefix = &Others->ByLength[Index];
        if (Prefix->Length <= Length &&
            memcmp(Name, Prefix->Bytes, Prefix->Length) == 0) {
            return Prefix->Index;
        }
    }
    return NOT_FOUND;
}

static uint32_t FromPlace(const OTHERS *Others, uint32_t Place,
                          const char *Name, uint32_t Length)
{
    while (Place != NOT_FOUND) {
        const PREFIX *Prefix = &Others->Sorted[Place];
        if (Prefix->Length <= Length &&
            memcmp(Name, Prefix->Bytes, Prefix->Length) == 0) {
            return Prefix->Index;
        }
        Place = Prefix->Parent;
    }
    return NOT_FOUND;
}

static __attribute__((noinline))
uint32_t BinarySearch(const void *Context, const char *Name, uint32_t Length)
{
    const OTHERS *Others = Context;
    uint32_t Begin = 0, End = Others->Count;

    while (Begin < End) {
        uint32_t Middle = (Begin + End) / 2;
        const PREFIX *Prefix = &Others->Sorted[Middle];
        if (Compare(Prefix->Bytes, Prefix->Length, Name, Length) <= 0) {
            Begin = Middle + 1;
        } else {
            End = Middle;
        }
    }
    return FromPlace(Others, Begin - 1, Name, Length);
}

/*
 * The last prefix that is not after the name: it is equal to nothing, so the
 * comparison says "equal" if the name is between a prefix and the next.
 */

typedef struct KEY {
    const OTHERS *Others;
    const char *Name;
    uint32_t Length;
} KEY;

static int ComparePlace(const void *A, const void *B)
{
    const KEY *Key = A;
    const PREFIX *Prefix = B;

    if (Compare(Key->Name, Key->Length, Prefix->Bytes, Prefix->Length) < 0) {
        return -1;
    }
    Prefix += 1;
    if (Prefix != Key->Others->Sorted + Key->Others->Count &&
        Compare(Key->Name, Key->Length, Prefix->Bytes, Prefix->Length) >= 0) {
        return 1;
    }
    return 0;
}

static __attribute__((noinline))
uint32_t LibraryBsearch(const void *Context, const char *Name, uint32_t Length)
{
    const OTHERS *Others = Context;
    KEY Key = { Others, Name, Length };
    const PREFIX *Prefix = bsearch(&Key, Others->Sorted, Others->Count,
                                   sizeof(PREFIX), ComparePlace);
    return FromPlace(Others,
                     Prefix == NULL ? NOT_FOUND : Prefix - Others->Sorted,
                     Name, Length);
}

static __attribute__((noinline))
uint32_t ByteTrie(const void *Context, const char *Name, uint32_t Length)
{
    const OTHERS *Others = Context;
    const uint32_t *Trie = Others->Trie;
    uint32_t Classes = Others->Classes;
    uint32_t Node = 0, Best = 0, Offset;

    for (Offset = 0; Offset < Length; Offset += 1) {
        uint32_t Class = Others->Class[(uint8_t)Name[Offset]];
        if (Class == 0) {
            break;
        }
        Node = Trie[Node * Classes + Class];
        if (Node == 0) {
            break;
        }
        if (Trie[Node * Classes] != 0) {
            Best = Trie[Node * Classes];
        }
    }
    return Best - 1;
}

/*
 * The clock, around a batch.
 */

static inline uint64_t Begin(void)
{
    uint32_t Processor;
    uint64_t Time;

    _mm_lfence();
    Time = __rdtscp(&Processor);
    _mm_lfence();
    return Time;
}

static inline uint64_t End(void)
{
    uint32_t Processor;
    uint64_t Time = __rdtscp(&Processor);

    _mm_lfence();
    return Time;
}

typedef uint32_t (*WAY)(const void *, const char *, uint32_t);

typedef struct METHOD {
    const char *Name;
    WAY Way;                        /* NULL: a string table */
    const void *Context;
    ARENA *Arena;
    double Build;
    size_t Memory;
} METHOD;

static uint64_t Sink;

static __attribute__((noinline))
double TimeTable(const STRING_TABLE *Table, const NAME *Names, uint32_t Count)
{
    uint64_t Start, Sum = 0;
    uint32_t Index;

    Start = Begin();
    for (Index = 0; Index < Count; Index += 1) {
        Sum += StringTableSearch(Table, Names[Index].Bytes,
                                 Names[Index].Length);
    }
    Start = End() - Start;
    Sink += Sum;
    return (double)Start / Count;
}

static __attribute__((noinline))
double TimeWay(WAY Way, const void *Context, const NAME *Names, uint32_t Count)
{
    uint64_t Start, Sum = 0;
    uint32_t Index;

    Start = Begin();
    for (Index = 0; Index < Count; Index += 1) {
        Sum += Way(Context, Names[Index].Bytes, Names[Index].Length);
    }
    Start = End() - Start;
    Sink += Sum;
    return (double)Start / Count;
}

static double Time(const METHOD *Method, const NAME *Names, uint32_t Count)
{
    if (Method->Way == NULL) {
        return TimeTable(Method->Context, Names, Count);
    }
    return TimeWay(Method->Way, Method->Context, Names, Count);
}

static int CompareDoubles(const void *A, const void *B)
{
    double First = *(const double *)A, Second = *(const double *)B;
    return (First > Second) - (First < Second);
}

static double Median(double *Values, uint32_t Count)
{
    qsort(Values, Count, sizeof(*Values), CompareDoubles);
    return Values[Count / 2];
}

static double Microseconds(void)
{
    struct timespec Time;
    clock_gettime(CLOCK_MONOTONIC, &Time);
    return Time.tv_sec * 1e6 + Time.tv_nsec / 1e3;
}

static uint32_t Instructions(void)
{
    uint32_t Result = 0;

    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) {
        Result |= STRING_TABLE_SSE42;
    }
    if (__builtin_cpu_supports("avx2")) {
        Result |= STRING_TABLE_AVX2;
    }
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        Result |= STRING_TABLE_AVX512;
    }
    return Result;
}

/*
 * Variants: what is asked for, and what it is called if it is there.
 */

static const struct {
    const char *Name;
    uint32_t Instructions;
    uint32_t Flags;
} Variants[] = {
    { "scalar", STRING_TABLE_SCALAR, 0 },
    { "SSE4.2", STRING_TABLE_SSE42, 0 },
    { "AVX2 (C)", STRING_TABLE_AVX2, STRING_TABLE_NO_ASSEMBLY },
    { "AVX2 (assembly)", STRING_TABLE_AVX2, 0 },
    { "AVX-512", STRING_TABLE_AVX512, 0 },
};

#define VARIANTS (sizeof(Variants) / sizeof(Variants[0]))

#define MAXIMUM_METHODS 16

static void Draw(NAME *Order, const LIST *Source, uint32_t Count)
{
    uint32_t Index;

    for (Index = 0; Index < Count; Index += 1) {
        Order[Index] = Source->Names[Pick(Source->Count)];
        Sink += *(volatile const char *)Order[Index].Bytes;
    }
}

static int Cost(char **Arguments)
{
    static double Times[4][MAXIMUM_METHODS][1001];
    METHOD Methods[MAXIMUM_METHODS];
    ARENA Arenas[MAXIMUM_METHODS], Names;
    STRING_TABLE_PREFIX *Prefixes;
    OTHERS Others[MAXIMUM_METHODS];
    LIST List, Sets[3];
    NAME *Order;
    uint32_t Rounds = atoi(Arguments[3]), Round, Set, Index, Count = 0, Best;

    ArenaOpen(&Names);
    List = ReadNames(Arguments[0], &Names);
    Sets[0] = ReadNames(Arguments[1], &Names);
    Sets[1] = ReadNames(Arguments[2], &Names);
    Sets[2].Count = Sets[0].Count + Sets[1].Count;
    Sets[2].Names = malloc(Sets[2].Count * sizeof(NAME));
    memcpy(Sets[2].Names, Sets[0].Names, Sets[0].Count * sizeof(NAME));
    memcpy(Sets[2].Names + Sets[0].Count, Sets[1].Names,
           Sets[1].Count * sizeof(NAME));
    if (Rounds > 1001) {
        Rounds = 1001;
    }

    Prefixes = malloc(List.Count * sizeof(*Prefixes));
    for (Index = 0; Index < List.Count; Index += 1) {
        Prefixes[Index].Buffer = List.Names[Index].Bytes;
        Prefixes[Index].LengthInBytes = List.Names[Index].Length;
    }

    for (Index = 0; Index < VARIANTS; Index += 1) {
        STRING_TABLE_ALLOCATOR Allocator;
        STRING_TABLE *Table;
        ARENA Scratch;
        double Start;
        uint32_t Allowed = Variants[Index].Instructions & Instructions();

        if (Variants[Index].Instructions != 0 && Allowed == 0) {
            continue;
        }
        ArenaOpen(&Scratch);
        ArenaOpen(&Arenas[Count]);
        Allocator.Context = &Scratch;
        Allocator.Allocate = ArenaAllocate;
        Allocator.Free = ArenaFree;

        /* Once for the clock; the last allocation is the table. */

        Start = Microseconds();
        if (StringTableCreate(&Allocator, Allowed, Variants[Index].Flags,
                              Prefixes, List.Count, &Table, NULL) != 0) {
            return 1;
        }
        Methods[Count].Build = Microseconds() - Start;
        Methods[Count].Memory =
            Scratch.Base + Scratch.Used - (const char *)Table;
        Methods[Count].Name = Variants[Index].Name;
        if (strcmp(Methods[Count].Name, StringTableVariant(Table)) != 0) {
            ArenaClose(&Arenas[Count]);
            continue;
        }
        Methods[Count].Way = NULL;
        Methods[Count].Context = Table;
        Arenas[Count].Base = (char *)Table;
        Arenas[Count].Used = Methods[Count].Memory;
        Methods[Count].Arena = &Arenas[Count];
        Count += 1;
    }

    for (Index = 0; Index < 5; Index += 1) {
        static const struct {
            const char *Name;
            WAY Way;
        } Ways[] = {
            { "loop of strncmp", LoopStrncmp },
            { "loop of memcmp", LoopMemcmp },
            { "binary search", BinarySearch },
            { "bsearch", LibraryBsearch },
            { "byte trie", ByteTrie },
        };
        double Start = Microseconds();

        ArenaOpen(&Arenas[Count]);
        BuildOthers(&Others[Count], &List, &Arenas[Count]);
        if (Ways[Index].Way == ByteTrie) {
            BuildTrie(&Others[Count], &Arenas[Count]);
        }
        Methods[Count].Build = Microseconds() - Start;
        Methods[Count].Memory = Arenas[Count].Used;
        Methods[Count].Name = Ways[Index].Name;
        Methods[Count].Way = Ways[Index].Way;
        Methods[Count].Context = &Others[Count];
        Methods[Count].Arena = &Arenas[Count];
        Count += 1;
    }

    /* They agree, with each other and with what the files are called. */

    for (Index = 0; Index < Sets[2].Count; Index += 1) {
        const NAME *Name = &Sets[2].Names[Index];
        uint32_t Found = LoopMemcmp(&Others[Count - 1], Name->Bytes,
                                    Name->Length);
        if ((Found != NOT_FOUND) != (Index < Sets[0].Count)) {
            fprintf(stderr, "%s: neither hit nor miss\n", Name->Bytes);
            return 1;
        }
        for (Best = 0; Best < Count; Best += 1) {
            uint32_t Result = Methods[Best].Way == NULL ?
                StringTableSearch(Methods[Best].Context, Name->Bytes,
                                  Name->Length) :
                Methods[Best].Way(Methods[Best].Context, Name->Bytes,
                                  Name->Length);
            if (Result != Found) {
                fprintf(stderr, "%s: %s: found %u, not %u\n",
                        Methods[Best].Name, Name->Bytes, Result, Found);
                return 1;
            }
        }
    }

    /*
     * Every batch has an order of its own, so that no branch is predicted
     * because an earlier batch went the same way.  What warms up has every
     * name that may be drawn, and then a batch: the way before has driven
     * them out of the caches.
     */

    Order = malloc(BATCH * sizeof(NAME));
    for (Round = 0; Round < Rounds; Round += 1) {
        for (Set = 0; Set < 4; Set += 1) {
            const LIST *Source = &Sets[Set < 3 ? Set : 2];
            uint32_t Size = Set < 3 ? BATCH : COLD_BATCH;
            if (Set == 3 && Round >= 25) {
                continue;
            }
            for (Index = 0; Index < Count; Index += 1) {
                Draw(Order, Source, Size);
                if (Set < 3) {
                    Time(&Methods[Index], Source->Names, Source->Count);
                    Time(&Methods[Index], Order, Size);
                    Draw(Order, Source, Size);
                } else {
                    uint32_t Each;
                    Flush(Methods[Index].Arena->Base,
                          Methods[Index].Arena->Used);
                    for (Each = 0; Each < Size; Each += 1) {
                        Flush(Order[Each].Bytes, Order[Each].Length + 64);
                    }
                    _mm_mfence();
                }
                Times[Set][Index][Round] = Time(&Methods[Index], Order, Size);
            }
        }
    }

    for (Index = 0; Index < Count; Index += 1) {
        printf("%s;%.1f;%.1f;%.1f;%.1f;%zu;%.0f\n", Methods[Index].Name,
               Median(Times[0][Index], Rounds), Median(Times[1][Index], Rounds),
               Median(Times[2][Index], Rounds),
               Median(Times[3][Index], Rounds < 25 ? Rounds : 25),
               Methods[Index].Memory, Methods[Index].Build);
    }
    return Sink == 0x123456789;
}

/*
 * Random cases: every variant against a plain loop.
 */

static uint8_t FoldAt(const uint8_t *Bytes, uint32_t Length, uint32_t Offset,
                      uint32_t Flags)
{
    uint8_t Byte = Bytes[Offset];

    if ((Flags & STRING_TABLE_IGNORE_CASE) == 0 || Byte < 'A' || Byte > 'Z') {
        return Byte;
    }
    if ((Flags & STRING_TABLE_UTF16) != 0 &&
        ((Offset & 1) != 0 || (Offset + 1 < Length && Bytes[Offset + 1]))) {
        return Byte;
    }
    return Byte | 0x20;
}

static void *HeapAllocate(void *Context, size_t Size)
{
    (void)Context;
    return calloc(1, Size);
}

static void HeapFree(void *Context, void *Address)
{
    (void)Context;
    free(Address);
}

static int RandomCases(uint64_t Cases)
{
    static uint8_t Pool[1 << 17], Folded[1 << 17];
    STRING_TABLE_ALLOCATOR Allocator = { NULL, HeapAllocate, HeapFree };
    STRING_TABLE_PREFIX Prefixes[512];
    STRING_TABLE *Tables[VARIANTS];
    uint64_t Done = 0, Found = 0;
    uint8_t *String;
    uint8_t *Pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(Pages, 4096, PROT_NONE);
    mprotect(Pages + 8192, 4096, PROT_NONE);

    while (Done < Cases) {
        static const uint32_t Most[] = { 16, 16, 64, 512 };
        uint32_t Flags = Pick(4), Count = 1 + Pick(Most[Pick(4)]);
        uint32_t Letters = 1 + Pick(6), Used = 0, Index, Variant, Offset;
        uint32_t Size = (Flags & STRING_TABLE_UTF16) != 0 ? 2 : 1, Search;
        static const uint8_t Alphabet[] = "aAbZ@[\0z\xC1""A";

        for (Index = 0; Index < Count; Index += 1) {
            uint32_t Length = Size * (1 + Pick(Pick(4) ? 12 : 80)), Same = 0;
            if (Index != 0 && Pick(3) != 0) {
                const STRING_TABLE_PREFIX *Other = &Prefixes[Pick(Index)];
                Same = Other->LengthInBytes < Length ?
                       Other->LengthInBytes : Length;
                Same = Pick(Same + 1);
                memcpy(Pool + Used, Other->Buffer, Same);
            }
            for (Offset = Same; Offset < Length; Offset += 1) {
                Pool[Used + Offset] = Size == 2 && (Offset & 1) != 0 ?
                    Pick(8) == 0 : Alphabet[Pick(Letters + 4)];
            }
            Prefixes[Index].Buffer = Pool + Used;
            Prefixes[Index].LengthInBytes = Length;
            for (Offset = 0; Offset < Length; Offset += 1) {
                Folded[Used + Offset] = FoldAt(Pool + Used, Length, Offset,
                                               Flags);
            }
            Used += Length;
        }

        for (Variant = 0; Variant < VARIANTS; Variant += 1) {
            uint32_t Wanted = Variants[Variant].Instructions & Instructions();
            if (StringTableCreate(&Allocator, Wanted,
                                  Flags | Variants[Variant].Flags,
                                  Prefixes, Count, &Tables[Variant], NULL)) {
                return 1;
            }
        }

        for (Search = 0; Search < 2000; Search += 1) {
            const STRING_TABLE_PREFIX *Prefix = &Prefixes[Pick(Count)];
            uint32_t Length = Pick(Prefix->LengthInBytes + 12);
            uint32_t Best = NOT_FOUND, BestLength = 0, Same;
            uint8_t Bytes[256];

            Same = Length < Prefix->LengthInBytes ? Length :
                   Prefix->LengthInBytes;
            String = Pages + 8192 - Length - (Pick(2) ? Pick(65) : 0);
            memcpy(String, Prefix->Buffer, Same);
            for (Offset = Same; Offset < Length; Offset += 1) {
                String[Offset] = Size == 2 && (Offset & 1) != 0 ?
                    Pick(8) == 0 : Alphabet[Pick(Letters + 4)];
            }
            if (Length != 0 && Pick(3) == 0) {
                String[Pick(Length)] ^= Pick(2) ? 0x20 : 1;
            }
            for (Offset = 0; Offset < Length; Offset += 1) {
                Bytes[Offset] = FoldAt(String, Length, Offset, Flags);
            }
            for (Index = 0; Index < Count; Index += 1) {
                const uint8_t *Plain = Folded +
                    ((const uint8_t *)Prefixes[Index].Buffer - Pool);
                if (Prefixes[Index].LengthInBytes > BestLength &&
                    Prefixes[Index].LengthInBytes <= Length &&
                    memcmp(Plain, Bytes, Prefixes[Index].LengthInBytes) == 0) {
                    Best = Index;
                    BestLength = Prefixes[Index].LengthInBytes;
                }
            }
            Found += (Best != NOT_FOUND);
            for (Variant = 0; Variant < VARIANTS; Variant += 1) {
                uint32_t Result = StringTableSearch(Tables[Variant], String,
                                                    Length);
                if (Result != Best) {
                    fprintf(stderr, "%s, flags %u, %u prefixes: %u, not %u\n",
                            StringTableVariant(Tables[Variant]), Flags, Count,
                            Result, Best);
                    return 1;
                }
            }
        }
        Done += Search;

        for (Variant = 0; Variant < VARIANTS; Variant += 1) {
            StringTableDestroy(Tables[Variant]);
        }
    }

    printf("%llu random cases, %llu with a prefix: every variant agrees with "
           "a plain loop\n", (unsigned long long)Done,
           (unsigned long long)Found);
    return 0;
}

/*
 * Random cases of 100,000 prefixes, among them long chains of those that begin
 * with one another: against a hash of all prefixes, which is asked for each
 * length.
 */

#define LARGE 100000
#define LARGE_SLOTS (1u << 19)

static uint32_t LargeHash(const uint8_t *Bytes, uint32_t Length)
{
    uint32_t Hash = 2166136261u ^ Length, Offset;

    for (Offset = 0; Offset < Length; Offset += 1) {
        Hash = (Hash ^ Bytes[Offset]) * 16777619u;
    }
    return (Hash ^ Hash >> 15) % LARGE_SLOTS;
}

static uint32_t LargeFind(const STRING_TABLE_PREFIX *Prefixes,
                          const uint32_t *Slots, const uint8_t *Bytes,
                          uint32_t Length, uint32_t *Slot)
{
    for (*Slot = LargeHash(Bytes, Length); Slots[*Slot] != NOT_FOUND;
         *Slot = (*Slot + 1) % LARGE_SLOTS) {
        const STRING_TABLE_PREFIX *Prefix = &Prefixes[Slots[*Slot]];
        if (Prefix->LengthInBytes == Length &&
            memcmp(Prefix->Buffer, Bytes, Length) == 0) {
            return Slots[*Slot];
        }
    }
    return NOT_FOUND;
}

static int LargeCases(uint64_t Cases)
{
    STRING_TABLE_ALLOCATOR Allocator = { NULL, HeapAllocate, HeapFree };
    STRING_TABLE_PREFIX *Prefixes = malloc(LARGE * sizeof(*Prefixes));
    uint32_t *Slots = malloc(LARGE_SLOTS * sizeof(*Slots));
    uint8_t *Pool = malloc(LARGE * 256);
    STRING_TABLE *Tables[VARIANTS];
    uint32_t Index, Variant, Slot, Used = 0, Offset;
    uint64_t Done, Found = 0;

    memset(Slots, 0xFF, LARGE_SLOTS * sizeof(*Slots));
    for (Index = 0; Index < LARGE; Index += 1) {
        uint32_t Length = 1 + Pick(Pick(8) ? 40 : 250), Same = 0;
        if (Index != 0 && Pick(4) != 0) {
            const STRING_TABLE_PREFIX *Other = &Prefixes[Pick(Index)];
            Same = Pick((Other->LengthInBytes < Length ?
                         Other->LengthInBytes : Length) + 1);
            memcpy(Pool + Used, Other->Buffer, Same);
        }
        for (Offset = Same; Offset < Length; Offset += 1) {
            Pool[Used + Offset] =
                (uint8_t)(Pick(16) ? 'a' + Pick(4) : Pick(256));
        }
        Prefixes[Index].Buffer = Pool + Used;
        Prefixes[Index].LengthInBytes = Length;
        if (LargeFind(Prefixes, Slots, Pool + Used, Length, &Slot) ==
            NOT_FOUND) {
            Slots[Slot] = Index;
        }
        Used += Length;
    }

    for (Variant = 0; Variant < VARIANTS; Variant += 1) {
        if (StringTableCreate(&Allocator,
                              Variants[Variant].Instructions & Instructions(),
                              Variants[Variant].Flags, Prefixes, LARGE,
                              &Tables[Variant], NULL)) {
            return 1;
        }
    }

    for (Done = 0; Done < Cases; Done += 1) {
        const STRING_TABLE_PREFIX *Prefix = &Prefixes[Pick(LARGE)];
        uint32_t Length = Pick(Prefix->LengthInBytes + 20), Same, Best;
        uint8_t Bytes[512];

        Same = Length < Prefix->LengthInBytes ? Length : Prefix->LengthInBytes;
        memcpy(Bytes, Prefix->Buffer, Same);
        for (Offset = Same; Offset < sizeof(Bytes); Offset += 1) {
            Bytes[Offset] = (uint8_t)('a' + Pick(4));
        }
        if (Length != 0 && Pick(3) == 0) {
            Bytes[Pick(Length)] ^= 1 + Pick(3);
        }
        Best = NOT_FOUND;
        for (Same = Length; Same != 0 && Best == NOT_FOUND; Same -= 1) {
            Best = LargeFind(Prefixes, Slots, Bytes, Same, &Slot);
        }
        Found += (Best != NOT_FOUND);
        for (Variant = 0; Variant < VARIANTS; Variant += 1) {
            uint32_t Result = StringTableSearch(Tables[Variant], Bytes, Length);
            if (Result != Best) {
                fprintf(stderr, "%s, %u prefixes: %u, not %u\n",
                        StringTableVariant(Tables[Variant]), LARGE, Result,
                        Best);
                return 1;
            }
        }
    }

    printf("%llu random cases of 100,000 prefixes, %llu with a prefix: every "
           "variant agrees with a hash of them\n", (unsigned long long)Done,
           (unsigned long long)Found);
    return 0;
}

int main(int Count, char **Arguments)
{
    if (Count == 6 && strcmp(Arguments[1], "cost") == 0) {
        return Cost(Arguments + 2);
    }
    if (Count == 3 && strcmp(Arguments[1], "random") == 0) {
        uint64_t Cases = strtoull(Arguments[2], NULL, 10);
        return RandomCases(Cases) || LargeCases(Cases / 100);
    }
    fprintf(stderr, "usage: BenchStringTable cost PREFIXES HITS MISSES ROUNDS"
                    "\n       BenchStringTable random CASES\n");
    return 2;
}

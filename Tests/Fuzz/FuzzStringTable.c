/*++

Module Name:

    FuzzStringTable.c

Abstract:

    Fuzz target: string tables of every variant that the processor has, against
    a plain loop over the prefixes.

    The input is

        1 byte      bit 1: UTF-16; bit 2: without regard to case
        1 byte      which allocation fails; 0: none
        1 byte      the number of prefixes
        2 bytes     each prefix: a place and a length in the bytes below
        bytes       the strings to be searched are all parts of them too

    Strings are put where readable memory ends, and where it begins: what is
    read beyond a string is none of the sanitizers' business, but what is read
    beyond its pages ends the program.

--*/

#include "FuzzSupport.h"
#include "../../Rtl/Rtl.h"
#include "../../StringTable/StringTablePrivate.h"
#include <stdlib.h>
#include <sys/mman.h>

#define FUZZ_IS_UTF16 2
#define FUZZ_IS_CASE_IGNORED 4

#define FUZZ_MAXIMUM_PREFIXES 200
#define FUZZ_MAXIMUM_SEARCHES 48
#define FUZZ_PAGE_SIZE 4096
#define FUZZ_VARIANTS 5

typedef struct _FUZZ_VARIANT {
    uint32_t Instructions;
    uint32_t Flags;
} FUZZ_VARIANT;

static const FUZZ_VARIANT FuzzVariants[FUZZ_VARIANTS] = {
    { STRING_TABLE_SCALAR, 0 },
    { STRING_TABLE_SSE42, 0 },
    { STRING_TABLE_AVX2, STRING_TABLE_NO_ASSEMBLY },
    { STRING_TABLE_AVX2, 0 },
    { STRING_TABLE_AVX512, 0 }
};

//
// For one input.
//

typedef struct _FUZZ_TABLE {
    STRING_TABLE_PREFIX Prefixes[FUZZ_MAXIMUM_PREFIXES];
    UCHAR Places[FUZZ_MAXIMUM_PREFIXES][2];
    ULONG NumberOfPrefixes;
    uint32_t Flags;
    PSTRING_TABLE Tables[FUZZ_VARIANTS];
} FUZZ_TABLE;
typedef FUZZ_TABLE *PFUZZ_TABLE;

//
// Folds a byte, as the documentation has it.
// Bytes, LengthInBytes: a prefix or a string.
// Flags: the table's properties.
//

static
UCHAR
FuzzFold(
    const UCHAR *Bytes,
    ULONG LengthInBytes,
    ULONG Offset,
    uint32_t Flags
    )
{
    UCHAR Byte = Bytes[Offset];

    if ((Flags & STRING_TABLE_IGNORE_CASE) == 0 || Byte < 'A' || Byte > 'Z') {
        return Byte;
    }

    if ((Flags & STRING_TABLE_UTF16) != 0 &&
        (Offset % 2 != 0 ||
         (Offset + 1 < LengthInBytes && Bytes[Offset + 1] != 0))) {
        return Byte;
    }

    return (UCHAR)(Byte - 'A' + 'a');
}

//
// Finds the first of the longest prefixes, one after the other.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
FuzzSearch(
    PFUZZ_TABLE Table,
    const UCHAR *String,
    ULONG LengthInBytes
    )
{
    ULONG Found = STRING_TABLE_NOT_FOUND;
    ULONG FoundLength = 0;
    const UCHAR *Bytes;
    ULONG Length;
    ULONG Offset;
    ULONG Index;

    for (Index = 0; Index < Table->NumberOfPrefixes; Index++) {
        Bytes = (const UCHAR *)Table->Prefixes[Index].Buffer;
        Length = Table->Prefixes[Index].LengthInBytes;
        if (Length <= FoundLength || Length > LengthInBytes) {
            continue;
        }
        for (Offset = 0; Offset < Length; Offset++) {
            if (FuzzFold(Bytes, Length, Offset, Table->Flags) !=
                FuzzFold(String, LengthInBytes, Offset, Table->Flags)) {
                break;
            }
        }
        if (Offset == Length) {
            Found = Index;
            FoundLength = Length;
        }
    }

    return Found;
}

//
// Gets three pages between two that cannot be read.
// Result: where they end.
//

static
PUCHAR
FuzzGetPages(
    VOID
    )
{
    static PUCHAR End;
    PVOID Pages;

    if (End == NULL) {
        Pages = mmap(NULL,
                     5 * FUZZ_PAGE_SIZE,
                     PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS,
                     -1,
                     0);
        if (Pages == MAP_FAILED ||
            mprotect((PUCHAR)Pages + FUZZ_PAGE_SIZE,
                     3 * FUZZ_PAGE_SIZE,
                     PROT_READ | PROT_WRITE) != 0) {
            abort();
        }
        End = (PUCHAR)Pages + 4 * FUZZ_PAGE_SIZE;
    }

    return End;
}

//
// Searches for a string with every variant, in two places.
//

static
VOID
FuzzCheckSearch(
    PFUZZ_TABLE Table,
    const UCHAR *String,
    ULONG LengthInBytes
    )
{
    ULONG Expected;
    LONGLONG Left;
    PUCHAR Place;
    ULONG Index;
    ULONG Part;

    if (LengthInBytes > 2 * FUZZ_PAGE_SIZE) {
        LengthInBytes = 2 * FUZZ_PAGE_SIZE;
    }

    //
    // What the plain search costs, prefixes times their lengths, is not the
    // library's.
    //

    Left = FuzzWorkLeft;
    FuzzWorkLeft = FUZZ_NO_LIMIT;
    Expected = FuzzSearch(Table, String, LengthInBytes);
    FuzzWorkLeft = Left;

    for (Part = 0; Part < 2; Part++) {

        Place = FuzzGetPages() -
                (Part == 0 ? LengthInBytes : 3 * FUZZ_PAGE_SIZE);
        RtlCopyBytes(Place, String, LengthInBytes);

        for (Index = 0; Index < FUZZ_VARIANTS; Index++) {
            if (Table->Tables[Index] != NULL) {
                FUZZ_CHECK(StringTableSearch(Table->Tables[Index],
                                             Place,
                                             LengthInBytes) == Expected);
            }
        }
    }
}

//
// Asks the compiler's library what the processor has.
// Returns the instruction sets.
//

static
uint32_t
FuzzGetInstructions(
    VOID
    )
{
    uint32_t Instructions = STRING_TABLE_SCALAR;

#if STRING_TABLE_HAS_VECTORS

    if (__builtin_cpu_supports("sse4.2")) {
        Instructions |= STRING_TABLE_SSE42;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        Instructions |= STRING_TABLE_AVX2;
    }
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        Instructions |= STRING_TABLE_AVX512;
    }

#endif

    return Instructions;
}

//
// Makes tables and searches in them.
//

static
VOID
FuzzUseTable(
    PFUZZ_INPUT Input
    )
{
    static FUZZ_TABLE Table;
    STRING_TABLE_ALLOCATOR TableAllocator;
    FUZZ_ALLOCATOR Allocator;
    ULONG CharacterSize;
    const UCHAR *Bytes;
    uint32_t BadIndex;
    uint32_t Wanted;
    ULONG Failing;
    ULONG Length;
    ULONG Count;
    ULONG Index;
    ULONG Step;
    ULONG Mode;
    int32_t Status;

    Mode = (ULONG)FuzzTake(Input, 1);
    Table.Flags = ((Mode & FUZZ_IS_UTF16) != 0 ? STRING_TABLE_UTF16 : 0) |
                  ((Mode & FUZZ_IS_CASE_IGNORED) != 0 ?
                       STRING_TABLE_IGNORE_CASE : 0);
    CharacterSize = (Mode & FUZZ_IS_UTF16) != 0 ? 2 : 1;

    Failing = (ULONG)FuzzTake(Input, 1);
    Table.NumberOfPrefixes = (ULONG)FuzzTake(Input, 1) % FUZZ_MAXIMUM_PREFIXES;
    for (Index = 0; Index < Table.NumberOfPrefixes; Index++) {
        Table.Places[Index][0] = (UCHAR)FuzzTake(Input, 1);
        Table.Places[Index][1] = (UCHAR)FuzzTake(Input, 1);
    }

    //
    // Lengths beyond 240 stand for long prefixes.
    //

    Bytes = Input->Bytes;
    Length = (ULONG)Input->Left;
    for (Index = 0; Index < Table.NumberOfPrefixes; Index++) {
        Step = Table.Places[Index][0];
        Step = Step > Length ? Length : Step;
        Count = Table.Places[Index][1];
        Count = Count > 240 ? (Count - 240) * 256 : Count;
        Count = Count > Length - Step ? Length - Step : Count;
        Table.Prefixes[Index].Buffer = Bytes + Step;
        Table.Prefixes[Index].LengthInBytes = Count;
    }

    FuzzInitializeAllocator(&Allocator, Failing);
    TableAllocator.Context = Allocator.Allocator.Context;
    TableAllocator.Allocate = Allocator.Allocator.Allocate;
    TableAllocator.Free = Allocator.Allocator.Free;

    for (Index = 0; Index < FUZZ_VARIANTS; Index++) {

        Table.Tables[Index] = NULL;
        Wanted = FuzzVariants[Index].Instructions;
        if ((Wanted & FuzzGetInstructions()) != Wanted) {
            continue;
        }

        BadIndex = 0;
        Status = StringTableCreate(&TableAllocator,
                                   Wanted,
                                   Table.Flags | FuzzVariants[Index].Flags,
                                   Table.Prefixes,
                                   Table.NumberOfPrefixes,
                                   &Table.Tables[Index],
                                   &BadIndex);

        if (Status == STRING_TABLE_INVALID_PREFIX) {
            FUZZ_CHECK(BadIndex < Table.NumberOfPrefixes);
            Count = Table.Prefixes[BadIndex].LengthInBytes;
            FUZZ_CHECK(Count % CharacterSize != 0 || Count == 0);
        } else if (Status != STRING_TABLE_SUCCESS) {
            FUZZ_CHECK(BadIndex == STRING_TABLE_NOT_FOUND);
            FUZZ_CHECK(Status == STRING_TABLE_NO_MEMORY ||
                       Table.NumberOfPrefixes == 0);
        } else {
            for (Count = 0; Count < Table.NumberOfPrefixes; Count++) {
                FUZZ_CHECK(Table.Prefixes[Count].LengthInBytes != 0);
            }
        }

        FUZZ_CHECK((Status == STRING_TABLE_SUCCESS) ==
                   (Table.Tables[Index] != NULL));
    }

    Step = Length / FUZZ_MAXIMUM_SEARCHES + 1;
    for (Index = 0; Index <= Length; Index += Step) {
        Count = Length - Index;
        FuzzCheckSearch(&Table, Bytes + Index, Count);
        FuzzCheckSearch(&Table,
                        Bytes + Index,
                        Count > 40 ? Index % 40 : Count / 2);
    }

    for (Index = 0; Index < FUZZ_VARIANTS; Index++) {
        StringTableDestroy(Table.Tables[Index]);
    }

    FUZZ_CHECK(Allocator.Count == 0);
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_INPUT Input = { Data, Size };
    uint32_t Instructions = FuzzGetInstructions();
    ULONG NumberOfTables = 0;
    ULONG Index;

    //
    // A table is made for each set of instructions that this machine has.
    //

    for (Index = 0; Index < FUZZ_VARIANTS; Index++) {
        if ((FuzzVariants[Index].Instructions & Instructions) ==
            FuzzVariants[Index].Instructions) {
            NumberOfTables += 1;
        }
    }

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size) / 3 * NumberOfTables);
    FuzzUseTable(&Input);
    (VOID)FuzzEndWork();
    return 0;
}

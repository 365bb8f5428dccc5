/*++

Module Name:

    WasmMemory.c

Abstract:

    Memory for the reader in a browser: blocks of some sizes, those that are
    free in a list for each size.  The module's memory only grows.

--*/

#include "Wasm.h"

#define WASM_PAGE 0x10000u
#define WASM_UNIT 32u                   // the smallest block, header and all
#define WASM_HEADER 16u
#define WASM_STEPS 4u                   // sizes from one power of two to the
                                        // next
#define WASM_SIZES 112u
#define WASM_AT_ONCE 0x100000u          // bytes that the memory grows by

typedef struct _WASM_BLOCK {
    ULONG Size;                         // number of it
    ULONG Unused;
    struct _WASM_BLOCK *Next;           // that is free
    ULONG Unused2;
} WASM_BLOCK;
typedef WASM_BLOCK *PWASM_BLOCK;
C_ASSERT(sizeof(WASM_BLOCK) == WASM_HEADER);

extern UCHAR __heap_base;

static PWASM_BLOCK WasmFree[WASM_SIZES];
static SIZE_T WasmNext;                 // address of what was never used
static SIZE_T WasmEnd;                  // of the memory

//
// The C library's, which the compiler calls by these names.
//

void *
memcpy(
    void *Destination,
    const void *Source,
    size_t Size
    );

void *
memcpy(
    void *Destination,
    const void *Source,
    size_t Size
    )
{
    __asm__ __volatile__("local.get %0\n"
                         "local.get %1\n"
                         "local.get %2\n"
                         "memory.copy 0, 0\n"
                         :
                         : "r"(Destination), "r"(Source), "r"(Size)
                         : "memory");
    return Destination;
}

void *
memmove(
    void *Destination,
    const void *Source,
    size_t Size
    );

void *
memmove(
    void *Destination,
    const void *Source,
    size_t Size
    )
{
    return memcpy(Destination, Source, Size);
}

void *
memset(
    void *Destination,
    int Value,
    size_t Size
    );

void *
memset(
    void *Destination,
    int Value,
    size_t Size
    )
{
    __asm__ __volatile__("local.get %0\n"
                         "local.get %1\n"
                         "local.get %2\n"
                         "memory.fill 0\n"
                         :
                         : "r"(Destination), "r"(Value), "r"(Size)
                         : "memory");
    return Destination;
}

//
// RtlMemory.c's.
//

_Use_decl_annotations_
VOID
RtlCopyBytes(
    PVOID Destination,
    const VOID *Source,
    SIZE_T SizeInBytes
    )
{
    memcpy(Destination, Source, SizeInBytes);
}

_Use_decl_annotations_
VOID
RtlZeroBytes(
    PVOID Destination,
    SIZE_T SizeInBytes
    )
{
    memset(Destination, 0, SizeInBytes);
}

_Use_decl_annotations_
VOID
RtlFillBytes(
    PVOID Destination,
    SIZE_T SizeInBytes,
    BYTE Value
    )
{
    memset(Destination, Value, SizeInBytes);
}

_Use_decl_annotations_
BOOLEAN
RtlAreBytesEqual(
    const VOID *First,
    const VOID *Second,
    SIZE_T SizeInBytes
    )
{
    const UCHAR *One = (const UCHAR *)First;
    const UCHAR *Other = (const UCHAR *)Second;
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        if (One[Index] != Other[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// The size of a block that has room for so many bytes, and its number.
//

static
SIZE_T
WasmChooseSize(
    SIZE_T SizeInBytes,
    PULONG Number
    )
{
    SIZE_T Needed = SizeInBytes + WASM_HEADER;
    SIZE_T Base = WASM_UNIT;
    SIZE_T Size;
    ULONG Step;
    ULONG Octave;

    for (Octave = 0; Octave < WASM_SIZES / WASM_STEPS; Octave++) {
        for (Step = 0; Step < WASM_STEPS; Step++) {
            Size = (Base + Base / WASM_STEPS * Step + 15) & ~(SIZE_T)15;
            if (Size >= Needed) {
                *Number = Octave * WASM_STEPS + Step;
                return Size;
            }
        }
        Base *= 2;
        if (Base > 0x60000000) {
            break;
        }
    }

    return 0;
}

static
PVOID
WasmAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    PWASM_BLOCK Block;
    SIZE_T Size;
    SIZE_T More;
    ULONG Number;

    UNREFERENCED_PARAMETER(Context);

    if (SizeInBytes > 0x60000000) {
        return NULL;
    }

    Size = WasmChooseSize(SizeInBytes, &Number);
    if (Size == 0) {
        return NULL;
    }

    Block = WasmFree[Number];
    if (Block != NULL) {
        WasmFree[Number] = Block->Next;
        memset(Block + 1, 0, SizeInBytes);
        return Block + 1;
    }

    if (WasmNext == 0) {
        WasmNext = ((SIZE_T)&__heap_base + 15) & ~(SIZE_T)15;
        WasmEnd = __builtin_wasm_memory_size(0) * WASM_PAGE;
    }

    if (WasmEnd - WasmNext < Size) {
        More = Size - (WasmEnd - WasmNext);
        if (More < WASM_AT_ONCE) {
            More = WASM_AT_ONCE;
        }

        More = (More + WASM_PAGE - 1) / WASM_PAGE;
        if (__builtin_wasm_memory_grow(0, More) == (SIZE_T)-1) {
            return NULL;
        }

        WasmEnd += More * WASM_PAGE;
    }

    Block = (PWASM_BLOCK)WasmNext;
    WasmNext += Size;
    Block->Size = Number;
    return Block + 1;
}

static
VOID
WasmRelease(
    PVOID Context,
    PVOID Address
    )
{
    PWASM_BLOCK Block = (PWASM_BLOCK)Address;

    UNREFERENCED_PARAMETER(Context);

    if (Address != NULL) {
        Block -= 1;
        Block->Next = WasmFree[Block->Size];
        WasmFree[Block->Size] = Block;
    }
}

const ALLOCATOR WasmAllocator = { NULL, WasmAllocate, WasmRelease };

//
// For the page: where it may put what it gives.
//

WASM_EXPORT(allocate)
PVOID
WasmExportAllocate(
    ULONG SizeInBytes
    );

PVOID
WasmExportAllocate(
    ULONG SizeInBytes
    )
{
    return WasmAllocate(NULL, SizeInBytes);
}

WASM_EXPORT(release)
VOID
WasmExportRelease(
    PVOID Address
    );

VOID
WasmExportRelease(
    PVOID Address
    )
{
    WasmRelease(NULL, Address);
}

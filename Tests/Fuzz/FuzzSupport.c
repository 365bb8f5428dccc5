/*++

Module Name:

    FuzzSupport.c

Abstract:

    What the fuzz targets share.

--*/

#include "FuzzSupport.h"
#include "../../Rtl/Rtl.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//
// Stores made here have no more records than this.
//

#define FUZZ_MAXIMUM_RECORDS 10000

//
// Rings made here, and what lies before them, are no larger than this.
//

#define FUZZ_MAXIMUM_RING_SIZE 0x10000ULL

#define FUZZ_STACK_BASE 0x0000000140100000ULL
#define FUZZ_STACK_SIZE 0x100000ULL
#define FUZZ_MODULE_BASE 0x0000000140000000ULL
#define FUZZ_MODULE_SIZE 0x8000u
#define FUZZ_SITE_DISTANCE 13
#define FUZZ_FIRST_TIMESTAMP 1000000ULL

ULONGLONG RtlPortableTimestamp;

VOID
FuzzFail(
    PCSZ Condition,
    PCSZ File,
    int Line
    )
{
    fprintf(stderr, "FUZZ_CHECK failed: %s:%d: %s\n", File, Line, Condition);
    abort();
}

ULONGLONG
FuzzTake(
    PFUZZ_INPUT Input,
    ULONG SizeInBytes
    )
{
    ULONGLONG Value = 0;
    ULONG Index;

    for (Index = 0; Index < SizeInBytes && Input->Left != 0; Index++) {
        Value |= (ULONGLONG)*Input->Bytes << (8 * Index);
        Input->Bytes += 1;
        Input->Left -= 1;
    }

    return Value;
}

const UCHAR *
FuzzTakeBytes(
    PFUZZ_INPUT Input,
    PSIZE_T SizeInBytes
    )
{
    const UCHAR *Bytes = Input->Bytes;

    if (*SizeInBytes > Input->Left) {
        *SizeInBytes = Input->Left;
    }

    Input->Bytes += *SizeInBytes;
    Input->Left -= *SizeInBytes;
    return Bytes;
}

//
// Rtl's own routines of memory move eight bytes at a time; these are the C
// library's, which the sanitizers know.
//

//
// Copies bytes.
//

VOID
RtlCopyBytes(
    PVOID Destination,
    const VOID *Source,
    SIZE_T SizeInBytes
    )
{
    FuzzSpendWork(SizeInBytes);
    if (SizeInBytes != 0) {
        memcpy(Destination, Source, SizeInBytes);
    }
}

VOID
RtlZeroBytes(
    PVOID Destination,
    SIZE_T SizeInBytes
    )
{
    FuzzSpendWork(SizeInBytes);
    if (SizeInBytes != 0) {
        memset(Destination, 0, SizeInBytes);
    }
}

//
// Compares bytes.
// Returns TRUE if they are equal.
//

BOOLEAN
RtlAreBytesEqual(
    const VOID *First,
    const VOID *Second,
    SIZE_T SizeInBytes
    )
{
    FuzzSpendWork(SizeInBytes);
    return SizeInBytes == 0 || memcmp(First, Second, SizeInBytes) == 0;
}

//
// Allocates zeroed memory.
// SizeInBytes: how much.
// Returns the memory, or NULL.
//

static
PVOID
FuzzAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    PFUZZ_ALLOCATOR Allocator = (PFUZZ_ALLOCATOR)Context;
    PVOID Address;

    if (Allocator->FailAfter != 0) {
        Allocator->FailAfter -= 1;
        if (Allocator->FailAfter == 0) {
            return NULL;
        }
    }

    //
    // No more memory than the input is worth, in blocks or at all.
    //

    FUZZ_CHECK(Allocator->MaximumSize == 0 ||
               SizeInBytes <= Allocator->MaximumSize);
    FuzzSpendWork(SizeInBytes);
    Address = calloc(1, SizeInBytes == 0 ? 1 : SizeInBytes);
    if (Address != NULL) {
        Allocator->Count += 1;
        Allocator->SizeInBytes += malloc_usable_size(Address);
        if (Allocator->SizeInBytes > Allocator->LargestSize) {
            Allocator->LargestSize = Allocator->SizeInBytes;
        }
        FUZZ_CHECK(Allocator->MaximumSize == 0 ||
                   Allocator->SizeInBytes <= Allocator->MaximumSize);
    }

    return Address;
}

//
// Frees memory.
// Address: what it allocated, or NULL.
//

static
VOID
FuzzFree(
    PVOID Context,
    PVOID Address
    )
{
    PFUZZ_ALLOCATOR Allocator = (PFUZZ_ALLOCATOR)Context;

    if (Address != NULL) {
        Allocator->Count -= 1;
        Allocator->SizeInBytes -= malloc_usable_size(Address);
        free(Address);
    }
}

VOID
FuzzInitializeAllocator(
    PFUZZ_ALLOCATOR Allocator,
    ULONG FailAfter
    )
{
    Allocator->Allocator.Context = Allocator;
    Allocator->Allocator.Allocate = FuzzAllocate;
    Allocator->Allocator.Free = FuzzFree;
    Allocator->FailAfter = FailAfter;
    Allocator->Count = 0;
    Allocator->SizeInBytes = 0;
    Allocator->LargestSize = 0;
    Allocator->MaximumSize = 0;
}

//
// Makes a good header but for the end of the records.
// Header: it; zeroed.
//

static
VOID
FuzzFillHeader(
    PTRACE_STORE_HEADER Header
    )
{
    static const char Path[] = "C:\\P\\Program.exe";

    Header->Magic = TRACE_STORE_MAGIC;
    Header->MajorVersion = TRACE_FORMAT_MAJOR;
    Header->MinorVersion = TRACE_FORMAT_MINOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->RecordSize = TRACE_RECORD_SIZE;
    Header->Flags = TRACE_FLAG_TSC_INVARIANT;
    Header->ProcessId = 1234;
    Header->ThreadId = 5678;
    Header->ProcessCreationTime = 0x01DC000000000000ULL;
    Header->StackBase = FUZZ_STACK_BASE;
    Header->StackLimit = FUZZ_STACK_BASE - FUZZ_STACK_SIZE;
    Header->SequenceNumber = 7;
    Header->Generation = 2;
    Header->State = TRACE_STATE_CLOSED;
    Header->Reason = TRACE_REASON_THREAD_EXIT;
    Header->QpcFrequency = 10000000;
    Header->OpenAnchor.Tsc = FUZZ_FIRST_TIMESTAMP;
    Header->OpenAnchor.Qpc = 100000;
    Header->OpenAnchor.SystemTime = 0x01DC000000000000ULL;
    Header->OpenAnchor.Check = Header->OpenAnchor.Tsc ^
                               Header->OpenAnchor.Qpc ^
                               Header->OpenAnchor.SystemTime;
    Header->LastAnchor.Tsc = FUZZ_FIRST_TIMESTAMP + 60000000;
    Header->LastAnchor.Qpc = 300000;
    Header->LastAnchor.SystemTime = 0x01DC000000000000ULL + 200000;
    Header->LastAnchor.Check = Header->LastAnchor.Tsc ^
                               Header->LastAnchor.Qpc ^
                               Header->LastAnchor.SystemTime;
    Header->ModuleBase = FUZZ_MODULE_BASE;
    Header->ModuleSize = FUZZ_MODULE_SIZE;
    Header->ModuleTimeDateStamp = 0x66000000;
    Header->ModulePathLength = sizeof(Path) - 1;
    Header->ModulePathFullLength = sizeof(Path) - 1;
    Header->ProcessPathLength = sizeof(Path) - 1;
    Header->ProcessPathFullLength = sizeof(Path) - 1;
    Header->CommandLineLength = 7;
    Header->CommandLineFullLength = 7;
    memcpy(Header->ModulePath, Path, sizeof(Path) - 1);
    memcpy(Header->ProcessPath, Path, sizeof(Path) - 1);
    memcpy(Header->CommandLine, "Program", 7);
}

//
// Makes a record out of 32 bits: the kind (3 bits), the place of the stack (2
// bits: the thread's own, two fibers far from it and from each other, one near
// the second), how deep in it (8 bits, of 8 or 512 bytes each: 1 bit), the
// site (6 bits), and the time since the record before (the rest).
//
// Timestamp: of the record before; receives this one's.
//

static
VOID
FuzzMakeRecord(
    ULONG Code,
    PULONGLONG Timestamp,
    PTRACE_RECORD Record
    )
{
    static const ULONG Bases[4] = {
        (ULONG)FUZZ_STACK_BASE,
        0x20000000,
        0xFFFFF000,
        0x20009000
    };
    static const UCHAR Kinds[8] = {
        TRACE_KIND_ENTER, TRACE_KIND_EXIT,
        TRACE_KIND_ENTER_FUNCTION, TRACE_KIND_EXIT_FUNCTION,
        TRACE_KIND_ENTER, TRACE_KIND_EXIT, TRACE_KIND_MASK, 0
    };
    ULONG Depth = (Code >> 5) & 0xFF;
    ULONG Step = Code >> 20;

    Depth *= (Code & 0x2000) != 0 ? 512 : 8;

    //
    // Once in a while time stands still, leaps, or goes back.
    //

    if (Step == 0xFFF) {
        *Timestamp += 0x100000000ULL;
    } else if (Step == 0xFFE) {
        *Timestamp -= 1000;
    } else if (Step != 0xFFD) {
        *Timestamp += Step;
    }

    Record->Timestamp = Step == 0xFFC ? 0 : *Timestamp;
    Record->Site = (ULONG)FUZZ_MODULE_BASE + 0x1000 +
                   ((Code >> 14) & 0x3F) * FUZZ_SITE_DISTANCE;
    Record->StackKind = (Bases[(Code >> 3) & 3] - 16 - Depth) | Kinds[Code & 7];
}

//
// Makes a ring of a store: its records lie from FirstPosition on, all but the
// last in any case, and the file is as large as the ring.
// Store: the store, the records behind the header; receives the ring.
// NumberOfRecords: how many there are.
// Returns its size in bytes.
//

static
SIZE_T
FuzzMakeRing(
    PUCHAR *Store,
    ULONG NumberOfRecords
    )
{
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)*Store;
    PTRACE_RECORD Records = (PTRACE_RECORD)(PVOID)(Header + 1);
    SIZE_T SizeInBytes = (SIZE_T)(Header->RingFileOffset +
                                  Header->RingSizeInBytes);
    ULONGLONG Position = Header->FirstPosition;
    ULONGLONG Offset;
    PUCHAR Ring;
    ULONG Index;

    Ring = (PUCHAR)calloc(1, SizeInBytes);
    if (Ring == NULL) {
        abort();
    }

    if (Position < TRACE_HEADER_SIZE) {
        Position = TRACE_HEADER_SIZE;
    }

    for (Index = 0; Index < NumberOfRecords; Index++) {

        Offset = Position;
        if (Offset >= Header->RingFileOffset) {
            Offset = Header->RingFileOffset +
                     (Offset - Header->RingFileOffset) %
                         Header->RingSizeInBytes;
        }

        if (Offset <= SizeInBytes - sizeof(TRACE_RECORD)) {
            memcpy(Ring + Offset, &Records[Index], sizeof(TRACE_RECORD));
        }

        Position += sizeof(TRACE_RECORD);
    }

    Header->Cursor = Position - Header->CursorToFileOffset;
    memcpy(Ring, Header, sizeof(*Header));
    free(*Store);
    *Store = Ring;
    return SizeInBytes;
}

SIZE_T
FuzzMakeStore(
    PFUZZ_INPUT Input,
    PUCHAR *Store
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Records;
    ULONGLONG Timestamp;
    ULONGLONG Value;
    SIZE_T SizeInBytes;
    ULONG Index;
    ULONG NumberOfChanges;
    ULONG NumberOfRecords;
    ULONG Offset;
    ULONG Size;
    UCHAR Changes[16][11];

    NumberOfChanges = (ULONG)FuzzTake(Input, 1) % 17;
    for (Index = 0; Index < NumberOfChanges; Index++) {
        Offset = (ULONG)FuzzTake(Input, 2);
        Size = 1u << ((Offset >> 12) & 3);
        Value = FuzzTake(Input, Size);
        Offset &= 0xFFF;
        if (Offset + Size > TRACE_HEADER_SIZE) {
            Offset = TRACE_HEADER_SIZE - Size;
        }

        Changes[Index][0] = (UCHAR)Size;
        memcpy(&Changes[Index][1], &Offset, 2);
        memcpy(&Changes[Index][3], &Value, 8);
    }

    NumberOfRecords = (ULONG)FuzzTake(Input, 2) % (FUZZ_MAXIMUM_RECORDS + 1);
    if (NumberOfRecords > Input->Left / 4) {
        NumberOfRecords = (ULONG)(Input->Left / 4);
    }

    SizeInBytes = sizeof(TRACE_STORE_HEADER) +
                  NumberOfRecords * sizeof(TRACE_RECORD);
    *Store = (PUCHAR)calloc(1, SizeInBytes);
    if (*Store == NULL) {
        abort();
    }

    Header = (PTRACE_STORE_HEADER)(PVOID)*Store;
    FuzzFillHeader(Header);
    Header->Cursor = FUZZ_STACK_BASE + SizeInBytes;
    Header->CursorToFileOffset = 0 - FUZZ_STACK_BASE;

    Timestamp = FUZZ_FIRST_TIMESTAMP;
    Records = (PTRACE_RECORD)(PVOID)(Header + 1);
    for (Index = 0; Index < NumberOfRecords; Index++) {
        FuzzMakeRecord((ULONG)FuzzTake(Input, 4), &Timestamp, &Records[Index]);
    }

    for (Index = 0; Index < NumberOfChanges; Index++) {
        Offset = Changes[Index][1] | ((ULONG)Changes[Index][2] << 8);
        memcpy(*Store + Offset, &Changes[Index][3], Changes[Index][0]);
    }

    Header = (PTRACE_STORE_HEADER)(PVOID)*Store;
    if (Header->Mode != TRACE_MODE_COMPACT &&
        Header->RingSizeInBytes != 0 &&
        Header->RingSizeInBytes <= FUZZ_MAXIMUM_RING_SIZE &&
        Header->RingFileOffset <= FUZZ_MAXIMUM_RING_SIZE &&
        Header->RingFileOffset >= TRACE_HEADER_SIZE) {
        return FuzzMakeRing(Store, NumberOfRecords);
    }

    return SizeInBytes;
}

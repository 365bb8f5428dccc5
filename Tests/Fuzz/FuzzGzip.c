/*++

Module Name:

    FuzzGzip.c

Abstract:

    Fuzz target: bytes are compressed by Reader/Base/BaseDeflate.c, and what
    zlib inflates must be the same bytes.

    The input: one byte that says which call of the sink fails, if it is below
    FUZZ_SINK_FAILURES; two bytes for the size of what is written at once; then
    what the bytes are made of, each a byte whose lowest two bits say what
    follows, see FuzzExpand.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Base/BaseDeflate.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FUZZ_SINK_FAILURES 16
#define FUZZ_MAXIMUM_BYTES 600000u

//
// What deflate may add to bytes that do not compress.
//

#define FUZZ_ROOM_FOR(SizeInBytes) ((SizeInBytes) + (SizeInBytes) / 64 + 4096)

typedef struct _FUZZ_SINK {
    PUCHAR Bytes;
    ULONG SizeInBytes;
    ULONG CapacityInBytes;
    ULONG NumberOfCalls;
    ULONG FailingCall;
} FUZZ_SINK;

static
NTSTATUS
FuzzSink(
    PVOID Target,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    FUZZ_SINK *Sink = Target;

    FUZZ_CHECK(Sink->NumberOfCalls <= Sink->FailingCall);
    Sink->NumberOfCalls += 1;
    if (Sink->NumberOfCalls > Sink->FailingCall) {
        return STATUS_DISK_FULL;
    }

    FUZZ_CHECK(SizeInBytes <= Sink->CapacityInBytes - Sink->SizeInBytes);
    memcpy(Sink->Bytes + Sink->SizeInBytes, Bytes, SizeInBytes);
    Sink->SizeInBytes += SizeInBytes;
    return STATUS_SUCCESS;
}

//
// Makes the bytes: bytes of the input, one byte many times, bytes from earlier
// on, or noise, of which a mask leaves some bits.
// Returns how many there are.
//

static
ULONG
FuzzExpand(
    FUZZ_INPUT *Input,
    PUCHAR Bytes
    )
{
    ULONG Distance;
    ULONG Kind;
    ULONG Length;
    ULONG Size = 0;
    ULONG State;
    ULONG Value;

    while (Input->Left != 0 && Size < FUZZ_MAXIMUM_BYTES) {

        Kind = (ULONG)FuzzTake(Input, 1);
        Length = (ULONG)FuzzTake(Input, (Kind & 3) == 0 ? 1 : 2) + 1;
        if (Length > FUZZ_MAXIMUM_BYTES - Size) {
            Length = FUZZ_MAXIMUM_BYTES - Size;
        }

        switch (Kind & 3) {

        case 0:
            for (; Length != 0 && Input->Left != 0; Length--) {
                Bytes[Size] = (UCHAR)FuzzTake(Input, 1);
                Size += 1;
            }
            break;

        case 1:
            memset(Bytes + Size, (int)FuzzTake(Input, 1), Length);
            Size += Length;
            break;

        case 2:
            Distance = (ULONG)FuzzTake(Input, 2) + 1;
            for (; Length != 0 && Distance <= Size; Length--) {
                Bytes[Size] = Bytes[Size - Distance];
                Size += 1;
            }
            break;

        default:
            Value = (ULONG)FuzzTake(Input, 1);
            State = Kind * 0x9E3779B9u + Value;
            for (; Length != 0; Length--) {
                State = State * 1664525u + 1013904223u;
                Bytes[Size] = (UCHAR)((State >> 24) & Value);
                Size += 1;
            }
            break;
        }
    }

    return Size;
}

//
// Checks that zlib makes the bytes of what was compressed, and needs all of it.
//

static
VOID
FuzzCheckInflated(
    const FUZZ_SINK *Sink,
    const UCHAR *Bytes,
    ULONG Size
    )
{
    PUCHAR Inflated = malloc((SIZE_T)Size + 1);
    z_stream Stream;

    memset(&Stream, 0, sizeof(Stream));
    if (Inflated == NULL || inflateInit2(&Stream, -15) != Z_OK) {
        abort();
    }

    Stream.next_in = Sink->Bytes;
    Stream.avail_in = Sink->SizeInBytes;
    Stream.next_out = Inflated;
    Stream.avail_out = Size + 1;
    FUZZ_CHECK(inflate(&Stream, Z_FINISH) == Z_STREAM_END);
    FUZZ_CHECK(Stream.avail_in == 0);
    FUZZ_CHECK(Stream.total_out == Size);
    FUZZ_CHECK(memcmp(Inflated, Bytes, Size) == 0);
    inflateEnd(&Stream);
    free(Inflated);
}

//
// Runs one input: a stream that is left, and another one to its end.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_ALLOCATOR Allocator;
    PUCHAR Bytes = malloc(FUZZ_MAXIMUM_BYTES);
    ULONG Count;
    PREADER_DEFLATE Deflate;
    FUZZ_INPUT Input = { Data, Size };
    ULONG Length;
    ULONG Offset;
    ULONG Piece;
    FUZZ_SINK Sink;
    NTSTATUS Status = STATUS_SUCCESS;

    memset(&Sink, 0, sizeof(Sink));
    Sink.FailingCall = (ULONG)FuzzTake(&Input, 1);
    if (Sink.FailingCall >= FUZZ_SINK_FAILURES) {
        Sink.FailingCall = 0xFFFFFFFF;
    }

    Piece = (ULONG)FuzzTake(&Input, 2) + 1;
    if (Bytes == NULL) {
        abort();
    }

    Count = FuzzExpand(&Input, Bytes);
    Sink.CapacityInBytes = FUZZ_ROOM_FOR(Count);
    Sink.Bytes = malloc(Sink.CapacityInBytes);
    if (Sink.Bytes == NULL) {
        abort();
    }

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Count));
    FuzzInitializeAllocator(&Allocator, 0);
    Deflate = BaseCreateDeflate(&Allocator.Allocator);
    FUZZ_CHECK(Deflate != NULL);

    BaseBeginDeflate(Deflate, FuzzSink, &Sink);
    Status = BaseWriteDeflate(Deflate, Bytes, Count / 2);
    FUZZ_CHECK(Status == STATUS_SUCCESS ||
               (Status == STATUS_DISK_FULL &&
                Sink.NumberOfCalls == Sink.FailingCall + 1));

    Sink.SizeInBytes = 0;
    Sink.NumberOfCalls = 0;
    Status = STATUS_SUCCESS;
    BaseBeginDeflate(Deflate, FuzzSink, &Sink);
    for (Offset = 0; Offset < Count; Offset += Length) {
        Length = Piece < Count - Offset ? Piece : Count - Offset;
        Status = BaseWriteDeflate(Deflate, Bytes + Offset, Length);
        FUZZ_CHECK((Status == STATUS_DISK_FULL) ==
                   (Sink.NumberOfCalls > Sink.FailingCall));
        FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_DISK_FULL);
    }

    Status = BaseEndDeflate(Deflate);
    FUZZ_CHECK((Status == STATUS_DISK_FULL) ==
               (Sink.NumberOfCalls > Sink.FailingCall));
    if (Status == STATUS_SUCCESS) {
        FuzzCheckInflated(&Sink, Bytes, Count);
    } else {
        FUZZ_CHECK(Status == STATUS_DISK_FULL);
    }

    BaseDestroyDeflate(Deflate);
    BaseDestroyDeflate(NULL);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    free(Sink.Bytes);
    free(Bytes);
    return 0;
}

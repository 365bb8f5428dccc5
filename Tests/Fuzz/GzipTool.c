/*++

Module Name:

    GzipTool.c

Abstract:

    Compresses a file with Reader/Base/BaseDeflate.c, natively, for scripts.

    usage: GzipTool FROM TO [PIECE]

    TO receives what RFC 1951 describes, without a header.  PIECE is how many
    bytes are given to the compressor at once, all of them by default.

--*/

#include "../../Reader/Base/BaseDeflate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//
// What the RTL has in assembly.
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

static
PVOID
ToolAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    (VOID)Context;
    return calloc(1, SizeInBytes);
}

static
VOID
ToolFree(
    PVOID Context,
    PVOID Address
    )
{
    (VOID)Context;
    free(Address);
}

static
NTSTATUS
ToolWrite(
    PVOID Target,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    return fwrite(Bytes, 1, SizeInBytes, (FILE *)Target) == SizeInBytes
               ? STATUS_SUCCESS
               : STATUS_DISK_FULL;
}

int
main(
    int Count,
    char **Arguments
    )
{
    ALLOCATOR Allocator = { 0 };
    PREADER_DEFLATE Deflate;
    FILE *From;
    FILE *To;
    PUCHAR Bytes;
    ULONG Offset;
    ULONG Piece;
    ULONG Size;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Count < 3) {
        fprintf(stderr, "usage: GzipTool FROM TO [PIECE]\n");
        return 2;
    }

    From = fopen(Arguments[1], "rb");
    To = fopen(Arguments[2], "wb");
    if (From == NULL || To == NULL) {
        perror(Arguments[From == NULL ? 1 : 2]);
        return 2;
    }

    fseek(From, 0, SEEK_END);
    Size = (ULONG)ftell(From);
    rewind(From);
    Bytes = malloc((SIZE_T)Size + 1);
    Allocator.Allocate = ToolAllocate;
    Allocator.Free = ToolFree;
    Deflate = BaseCreateDeflate(&Allocator);
    if (Bytes == NULL || Deflate == NULL ||
        fread(Bytes, 1, Size, From) != Size) {
        fprintf(stderr, "GzipTool: there is no memory, or %s cannot be read\n",
                Arguments[1]);
        return 2;
    }

    Piece = Count > 3 ? (ULONG)strtoul(Arguments[3], NULL, 0) : Size;
    BaseBeginDeflate(Deflate, ToolWrite, To);
    for (Offset = 0; NT_SUCCESS(Status) && Offset < Size; Offset += Piece) {
        Status = BaseWriteDeflate(Deflate,
                                  Bytes + Offset,
                                  Piece < Size - Offset ? Piece
                                                        : Size - Offset);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseEndDeflate(Deflate);
    }

    BaseDestroyDeflate(Deflate);
    free(Bytes);
    fclose(From);
    return fclose(To) != 0 || !NT_SUCCESS(Status);
}

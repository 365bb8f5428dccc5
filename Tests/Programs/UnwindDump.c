/*++

Module Name:

    UnwindDump.c

Abstract:

    Prints what Reader/Image/ImageUnwind.c reads in an image.  Built natively
    and with sanitizers by Tests/Product/TestUnwind.py, together with that
    source and ImageCoff.c.

        UnwindDump IMAGE <PLACES
        UnwindDump IMAGE inlined <PAIRS

    PLACES are image-relative addresses, hexadecimal, one a line.  For each
    there is a line: the place, then "frame" with the function, the frame's
    size there and in the body and whether RSP moves, or "none"; then "jump"
    with the target, or "none".  The function must be that of
    ImageFindUnwindStart, too; otherwise the exit code is 4.

    PAIRS are two functions a line, the one around and the one inside: for each
    there is a line with how often the one may have been inlined, or -1.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../Reader/Image/ImageUnwind.h"

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
DumpAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    (VOID)Context;
    return calloc(1, SizeInBytes);
}

static
VOID
DumpFree(
    PVOID Context,
    PVOID Address
    )
{
    (VOID)Context;
    free(Address);
}

int
main(
    int Count,
    char **Arguments
    )
{
    static const ALLOCATOR Allocator = { NULL, DumpAllocate, DumpFree };
    READER_COFF Coff;
    READER_UNWIND Unwind;
    READER_UNWIND_FRAME Frame;
    FILE *File;
    UCHAR *Bytes;
    ULONG Inner;
    ULONG Start;
    ULONG Target;
    ULONG Rva;
    long Size;

    File = Count == 2 || Count == 3 ? fopen(Arguments[1], "rb") : NULL;
    if (File == NULL || fseek(File, 0, SEEK_END) != 0) {
        return 2;
    }
    Size = ftell(File);
    rewind(File);
    Bytes = malloc((size_t)Size);
    if (Bytes == NULL || fread(Bytes, (size_t)Size, 1, File) != 1) {
        return 2;
    }
    fclose(File);
    if (ImageInitializeCoff(&Allocator, Bytes, (ULONGLONG)Size, &Coff) < 0 ||
        ImageInitializeUnwind(&Allocator,
                              &Coff,
                              Bytes,
                              (ULONGLONG)Size,
                              &Unwind) < 0) {
        return 3;
    }

    //
    // Nothing may be read from the file's bytes any more.
    //

    free(Bytes);
    while (Count == 3 && scanf("%x %x", &Rva, &Inner) == 2) {
        printf("%d\n", (int)ImageCountInlined(&Unwind, Rva, Inner));
    }
    while (Count == 2 && scanf("%x", &Rva) == 1) {
        printf("%x ", Rva);
        if (ImageFindUnwindFrame(&Unwind, Rva, &Frame)) {
            printf("frame %x %u %u %u ",
                   Frame.FunctionRva,
                   Frame.SizeInBytes,
                   Frame.BodySizeInBytes,
                   Frame.IsDynamic);
            if (!ImageFindUnwindStart(&Unwind, Rva - 1, &Start) ||
                Start != Frame.FunctionRva) {
                return 4;
            }
        } else {
            printf("none ");
        }
        if (ImageFindJumpTarget(&Unwind, Rva, &Target)) {
            printf("jump %x\n", Target);
        } else {
            printf("none\n");
        }
    }
    ImageRundownUnwind(&Unwind);
    ImageRundownCoff(&Coff);
    return 0;
}

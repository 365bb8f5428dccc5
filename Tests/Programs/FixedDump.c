/*++

Module Name:

    FixedDump.c

Abstract:

    Prints what TraceStore/TraceFixed.c says of functions of an image.  Built
    natively and with sanitizers by Tests/Product/TestUnwind.py, together with
    that source and RtlDecode.c.  What it uses of TraceFrame.c, which needs the
    headers of Windows, is here once more.

        FixedDump IMAGE <PLACES

    PLACES are image-relative addresses of functions, hexadecimal, one a line.
    For each there is a line: the place, and 1 if RSP stays where the prolog has
    left it, or 0.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../TraceStore/TraceFixed.h"
#include "../../TraceStore/TraceFrame.h"

VOID
RtlZeroBytes(
    PVOID Destination,
    SIZE_T SizeInBytes
    )
{
    memset(Destination, 0, SizeInBytes);
}

static
ULONG
LoadUlong(
    const UCHAR *Bytes
    )
{
    ULONG Value;

    memcpy(&Value, Bytes, sizeof(Value));
    return Value;
}

//
// Layout of the headers, behind the offset at 0x3C.
//

#define PE_SECTIONS             6
#define PE_OPTIONAL_SIZE        20
#define PE_OPTIONAL             24
#define PE_SIZE_OF_IMAGE        (PE_OPTIONAL + 56)
#define PE_EXCEPTIONS           (PE_OPTIONAL + 112 + 3 * 8)
#define PE_SECTION_SIZE         40

PCTRACE_FUNCTION
TraceFrameFindEntry(
    PVOID ModuleBase,
    ULONG ModuleSize,
    ULONG Address
    )
{
    PUCHAR Base = ModuleBase;
    PUCHAR Directory = Base + LoadUlong(Base + 0x3C) + PE_EXCEPTIONS;
    PCTRACE_FUNCTION Function;
    ULONG Count = LoadUlong(Directory + 4) / sizeof(*Function);

    (VOID)ModuleSize;
    for (Function = (PCTRACE_FUNCTION)(Base + LoadUlong(Directory));
         Count != 0;
         Function++, Count--) {
        if (Address >= Function->Begin && Address < Function->End) {
            return Function;
        }
    }
    return NULL;
}

BOOLEAN
TraceFrameIsWithin(
    PVOID ModuleBase,
    ULONG ModuleSize,
    PCTRACE_FUNCTION Function
    )
{
    (VOID)ModuleBase;
    return Function->Unwind < ModuleSize - 4;
}

//
// Puts the headers and sections where the loader would.
//

static
PUCHAR
MapImage(
    const UCHAR *File,
    ULONG SizeOfFile,
    PULONG SizeOfImage
    )
{
    const UCHAR *Nt = File + LoadUlong(File + 0x3C);
    const UCHAR *Section = Nt + PE_OPTIONAL + Nt[PE_OPTIONAL_SIZE];
    ULONG Count = Nt[PE_SECTIONS];
    ULONG Address;
    ULONG Offset;
    ULONG Size;
    PUCHAR Image;

    *SizeOfImage = LoadUlong(Nt + PE_SIZE_OF_IMAGE);
    Image = calloc(1, *SizeOfImage);
    if (Image == NULL) {
        return NULL;
    }
    memcpy(Image, File, 0x400);
    for (; Count != 0; Section += PE_SECTION_SIZE, Count--) {
        Address = LoadUlong(Section + 12);
        Size = LoadUlong(Section + 16);
        Offset = LoadUlong(Section + 20);
        if (Size <= SizeOfFile && Offset <= SizeOfFile - Size &&
            Size <= *SizeOfImage - Address) {
            memcpy(Image + Address, File + Offset, Size);
        }
    }
    return Image;
}

int
main(
    int Count,
    char **Arguments
    )
{
    FILE *File;
    PUCHAR Bytes;
    PUCHAR Image;
    ULONG SizeOfImage;
    ULONG Rva;
    long Size;

    File = Count == 2 ? fopen(Arguments[1], "rb") : NULL;
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
    Image = MapImage(Bytes, (ULONG)Size, &SizeOfImage);
    free(Bytes);
    if (Image == NULL) {
        return 3;
    }
    while (scanf("%x", &Rva) == 1) {
        printf("%x %d\n", Rva, TraceFixedFind(Image, SizeOfImage, Rva));
    }
    free(Image);
    return 0;
}

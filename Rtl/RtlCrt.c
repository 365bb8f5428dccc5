/*++

Module Name:

    RtlCrt.c

Abstract:

    What a compiler may refer to on its own account: memcpy, memmove, memset,
    memcmp and _fltused.  This file is linked into Tracer's own programs, which
    have no C runtime, and never into TracerPenter.lib: there the user's
    program has its own.

--*/

#include "Rtl.h"

void *memcpy(void *Destination, const void *Source, size_t SizeInBytes);
void *memmove(void *Destination, const void *Source, size_t SizeInBytes);
void *memset(void *Destination, int Value, size_t SizeInBytes);
int memcmp(const void *First, const void *Second, size_t SizeInBytes);

//
// MSVC otherwise has these built in and refuses definitions.
//

#if defined(_MSC_VER) && !defined(__clang__)
#pragma function(memcpy, memset, memcmp)
#endif

//
// Referred to by objects that use floating point; the value is never read.
//

extern int _fltused;
int _fltused = 0;

void *
memcpy(
    void *Destination,
    const void *Source,
    size_t SizeInBytes
    )
/*++

Routine Description:

    Copies bytes between buffers that do not overlap.

Arguments:

    Destination - Receives the bytes.

    Source - Supplies the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    Destination.

--*/
{
    __movsb((PBYTE)Destination, (const BYTE *)Source, SizeInBytes);
    return Destination;
}

void *
memmove(
    void *Destination,
    const void *Source,
    size_t SizeInBytes
    )
/*++

Routine Description:

    Copies bytes between buffers that may overlap.

Arguments:

    Destination - Receives the bytes.

    Source - Supplies the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    Destination.

--*/
{
    volatile BYTE *To = (volatile BYTE *)Destination;
    const BYTE *From = (const BYTE *)Source;

    //
    // Ascending order is right unless the destination begins inside the
    // source: the unsigned difference is then less than the size.
    //

    if ((ULONG_PTR)To - (ULONG_PTR)From >= SizeInBytes) {
        __movsb((PBYTE)Destination, From, SizeInBytes);
        return Destination;
    }

    while (SizeInBytes != 0) {
        SizeInBytes--;
        To[SizeInBytes] = From[SizeInBytes];
    }

    return Destination;
}

void *
memset(
    void *Destination,
    int Value,
    size_t SizeInBytes
    )
/*++

Routine Description:

    Fills a buffer.

Arguments:

    Destination - Receives the bytes.

    Value - Supplies the byte in its low 8 bits.

    SizeInBytes - Supplies their number.

Return Value:

    Destination.

--*/
{
    RtlFillBytes(Destination, SizeInBytes, (BYTE)Value);
    return Destination;
}

int
memcmp(
    const void *First,
    const void *Second,
    size_t SizeInBytes
    )
/*++

Routine Description:

    Compares two buffers as unsigned bytes.

Arguments:

    First - Supplies a buffer.

    Second - Supplies the other.

    SizeInBytes - Supplies the number of bytes of each.

Return Value:

    Less than, equal to or greater than 0, as First is to Second.

--*/
{
    const volatile BYTE *One = (const volatile BYTE *)First;
    const volatile BYTE *Other = (const volatile BYTE *)Second;
    size_t Index;
    int Difference;

    for (Index = 0; Index < SizeInBytes; Index++) {
        Difference = (int)One[Index] - (int)Other[Index];
        if (Difference != 0) {
            return Difference;
        }
    }

    return 0;
}

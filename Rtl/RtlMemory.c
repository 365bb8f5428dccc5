/*++

Module Name:

    RtlMemory.c

Abstract:

    Copying, zeroing and comparing bytes.  The string instructions are asked
    for by intrinsic, so that no compiler turns a loop here into a call of the
    C library's routine of the same purpose.

--*/

#include "Rtl.h"

//
// Below this the start-up cost of the string instructions shows; the bytes are
// then moved with two overlapping moves.
//

#define RTLP_SMALL_COPY 17

_Use_decl_annotations_
VOID
RtlCopyBytes(
    PVOID Destination,
    const VOID *Source,
    SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Copies bytes between buffers that do not overlap.

Arguments:

    Destination - Receives the bytes.

    Source - Supplies the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    None.

--*/
{
    PBYTE To = (PBYTE)Destination;
    const BYTE *From = (const BYTE *)Source;
    ULONGLONG First64;
    ULONGLONG Last64;
    ULONG First32;
    ULONG Last32;

    if (SizeInBytes >= RTLP_SMALL_COPY) {
        __movsb(To, From, SizeInBytes);
        return;
    }

    if (SizeInBytes >= sizeof(ULONGLONG)) {

        //
        // The two moves cover 8 to 16 bytes; both are loaded before either is
        // stored.
        //

        First64 = *(UNALIGNED const ULONGLONG *)From;
        Last64 = *(UNALIGNED const ULONGLONG *)(From + SizeInBytes - 8);
        *(UNALIGNED ULONGLONG *)To = First64;
        *(UNALIGNED ULONGLONG *)(To + SizeInBytes - 8) = Last64;
        return;
    }

    if (SizeInBytes >= sizeof(ULONG)) {
        First32 = *(UNALIGNED const ULONG *)From;
        Last32 = *(UNALIGNED const ULONG *)(From + SizeInBytes - 4);
        *(UNALIGNED ULONG *)To = First32;
        *(UNALIGNED ULONG *)(To + SizeInBytes - 4) = Last32;
        return;
    }

    if (SizeInBytes >= 1) {
        To[0] = From[0];
    }

    if (SizeInBytes >= 2) {
        To[1] = From[1];
    }

    if (SizeInBytes >= 3) {
        To[2] = From[2];
    }
}

_Use_decl_annotations_
VOID
RtlFillBytes(
    PVOID Destination,
    SIZE_T SizeInBytes,
    BYTE Value
    )
/*++

Routine Description:

    Fills a buffer with a byte.

Arguments:

    Destination - Receives the bytes.

    SizeInBytes - Supplies their number.

    Value - Supplies the byte.

Return Value:

    None.

--*/
{
#if defined(_MSC_VER) && !defined(__clang__)

    __stosb((PBYTE)Destination, Value, SizeInBytes);

#else

    //
    // clang makes a call of memset out of __stosb.
    //

    __asm__ __volatile__("rep stosb"
                         : "+D"(Destination), "+c"(SizeInBytes)
                         : "a"(Value)
                         : "memory");

#endif
}

_Use_decl_annotations_
VOID
RtlZeroBytes(
    PVOID Destination,
    SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Fills a buffer with zero bytes.

Arguments:

    Destination - Receives the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    None.

--*/
{
    RtlFillBytes(Destination, SizeInBytes, 0);
}

_Use_decl_annotations_
BOOLEAN
RtlAreBytesEqual(
    const VOID *First,
    const VOID *Second,
    SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Compares two buffers.

Arguments:

    First - Supplies a buffer.

    Second - Supplies the other.

    SizeInBytes - Supplies the number of bytes of each.

Return Value:

    TRUE if all bytes are equal.

--*/
{
    const BYTE *One = (const BYTE *)First;
    const BYTE *Other = (const BYTE *)Second;

    while (SizeInBytes >= sizeof(ULONGLONG)) {
        if (*(UNALIGNED const ULONGLONG *)One !=
            *(UNALIGNED const ULONGLONG *)Other) {
            return FALSE;
        }
        One += sizeof(ULONGLONG);
        Other += sizeof(ULONGLONG);
        SizeInBytes -= sizeof(ULONGLONG);
    }

    while (SizeInBytes != 0) {
        if (*One != *Other) {
            return FALSE;
        }
        One++;
        Other++;
        SizeInBytes--;
    }

    return TRUE;
}

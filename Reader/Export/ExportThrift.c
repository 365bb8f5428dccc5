/*++

Module Name:

    ExportThrift.c

Abstract:

    Bytes that grow, and Thrift's compact protocol: a field is a byte with the
    distance from the field before it and its type, numbers are zigzag varints,
    and a structure ends with a zero.

--*/

#include "ExportThrift.h"

#define READER_FIRST_BYTES 0x1000u
#define READER_VARINT_SIZE 10u


_Use_decl_annotations_
VOID
ExportThriftRundown(
    PREADER_BYTES Bytes
    )
{
    if (Bytes->Allocator != NULL) {
        Bytes->Allocator->Free(Bytes->Allocator->Context, Bytes->Bytes);
        Bytes->Bytes = NULL;
        Bytes->Length = 0;
        Bytes->Capacity = 0;
    }
}


_Use_decl_annotations_
PUCHAR
ExportThriftReserve(
    PREADER_BYTES Bytes,
    SIZE_T Size
    )
{
    SIZE_T Capacity = Bytes->Capacity;
    PUCHAR New;

    if (!NT_SUCCESS(Bytes->Status)) {
        return NULL;
    }

    if (Size <= Capacity - Bytes->Length) {
        return Bytes->Bytes + Bytes->Length;
    }

    Capacity = Capacity < READER_FIRST_BYTES ? READER_FIRST_BYTES
                                             : Capacity * 2;
    if (Capacity - Bytes->Length < Size) {
        Capacity = Bytes->Length + Size;
    }

    New = (PUCHAR)Bytes->Allocator->Allocate(Bytes->Allocator->Context,
                                             Capacity);
    if (New == NULL) {
        Bytes->Status = STATUS_NO_MEMORY;
        return NULL;
    }

    if (Bytes->Length != 0) {
        RtlCopyBytes(New, Bytes->Bytes, Bytes->Length);
    }

    Bytes->Allocator->Free(Bytes->Allocator->Context, Bytes->Bytes);
    Bytes->Bytes = New;
    Bytes->Capacity = Capacity;
    return New + Bytes->Length;
}


_Use_decl_annotations_
VOID
ExportThriftAppend(
    PREADER_BYTES Bytes,
    const VOID *Source,
    SIZE_T Size
    )
{
    PUCHAR Target = ExportThriftReserve(Bytes, Size);

    if (Target != NULL && Size != 0) {
        RtlCopyBytes(Target, Source, Size);
        Bytes->Length += Size;
    }
}


_Use_decl_annotations_
VOID
ExportThriftPutVarint(
    PREADER_BYTES Bytes,
    ULONGLONG Value
    )
{
    PUCHAR Target = ExportThriftReserve(Bytes, READER_VARINT_SIZE);

    if (Target == NULL) {
        return;
    }

    while (Value >= 0x80) {
        *Target++ = (UCHAR)(Value | 0x80);
        Value >>= 7;
    }

    *Target++ = (UCHAR)Value;
    Bytes->Length = (SIZE_T)(Target - Bytes->Bytes);
}


static
VOID
ExportThriftPutByte(
    _Inout_ PREADER_BYTES Bytes,
    _In_ ULONG Value
    )
{
    UCHAR Byte = (UCHAR)Value;

    ExportThriftAppend(Bytes, &Byte, 1);
}


_Use_decl_annotations_
VOID
ExportThriftPutField(
    PREADER_THRIFT Thrift,
    USHORT Field,
    ULONG Type
    )
{
    ULONG Distance = (ULONG)Field - Thrift->Last[Thrift->Depth];

    //
    // No structure of Parquet's has fields that are 16 apart.
    //

    ExportThriftPutByte(Thrift->Bytes, Distance << 4 | Type);
    Thrift->Last[Thrift->Depth] = Field;
}


_Use_decl_annotations_
VOID
ExportThriftPutNumber(
    PREADER_THRIFT Thrift,
    USHORT Field,
    ULONG Type,
    LONGLONG Value
    )
{
    ExportThriftPutField(Thrift, Field, Type);
    ExportThriftPutVarint(Thrift->Bytes, READER_ZIGZAG(Value));
}


_Use_decl_annotations_
VOID
ExportThriftPutBinary(
    PREADER_THRIFT Thrift,
    USHORT Field,
    const VOID *Value,
    SIZE_T Length
    )
{
    ExportThriftPutField(Thrift, Field, READER_THRIFT_BINARY);
    ExportThriftPutVarint(Thrift->Bytes, Length);
    ExportThriftAppend(Thrift->Bytes, Value, Length);
}


static
SIZE_T
ExportThriftQueryLength(
    _In_z_ PCSZ Text
    )
{
    SIZE_T Length = 0;

    while (Text[Length] != 0) {
        Length += 1;
    }

    return Length;
}


_Use_decl_annotations_
VOID
ExportThriftPutText(
    PREADER_THRIFT Thrift,
    USHORT Field,
    PCSZ Value
    )
{
    ExportThriftPutBinary(Thrift,
                          Field,
                          Value,
                          ExportThriftQueryLength(Value));
}


_Use_decl_annotations_
VOID
ExportThriftPutList(
    PREADER_THRIFT Thrift,
    USHORT Field,
    ULONG Type,
    SIZE_T NumberOfElements
    )
{
    ExportThriftPutField(Thrift, Field, READER_THRIFT_LIST);
    if (NumberOfElements < 15) {
        ExportThriftPutByte(Thrift->Bytes,
                            (ULONG)NumberOfElements << 4 | Type);
    } else {
        ExportThriftPutByte(Thrift->Bytes, 0xF0 | Type);
        ExportThriftPutVarint(Thrift->Bytes, NumberOfElements);
    }
}


_Use_decl_annotations_
VOID
ExportThriftPutElementText(
    PREADER_THRIFT Thrift,
    PCSZ Value
    )
{
    SIZE_T Length = ExportThriftQueryLength(Value);

    ExportThriftPutVarint(Thrift->Bytes, Length);
    ExportThriftAppend(Thrift->Bytes, Value, Length);
}


_Use_decl_annotations_
VOID
ExportThriftBegin(
    PREADER_THRIFT Thrift,
    USHORT Field
    )
{
    if (Field != 0) {
        ExportThriftPutField(Thrift, Field, READER_THRIFT_STRUCT);
    }

    Thrift->Depth += 1;
    Thrift->Last[Thrift->Depth] = 0;
}


_Use_decl_annotations_
VOID
ExportThriftEnd(
    PREADER_THRIFT Thrift
    )
{
    ExportThriftPutByte(Thrift->Bytes, 0);
    if (Thrift->Depth != 0) {
        Thrift->Depth -= 1;
    }
}

/*++

Module Name:

    ExportThrift.h

Abstract:

    Bytes that grow, and the compact protocol of Apache Thrift, in which
    Parquet's headers and its footer are written.

--*/

#ifndef TRACER_EXPORT_THRIFT_H
#define TRACER_EXPORT_THRIFT_H

#include "../../Rtl/Rtl.h"

//
// Zeroes but for the allocator are no bytes.
//

typedef struct _READER_BYTES {
    PCALLOCATOR Allocator;
    PUCHAR Bytes;
    SIZE_T Length;
    SIZE_T Capacity;
    NTSTATUS Status;                // the first failure; nothing is added then
} READER_BYTES;
typedef READER_BYTES *PREADER_BYTES;
typedef const READER_BYTES *PCREADER_BYTES;

VOID
ExportThriftRundown(
    _Inout_ PREADER_BYTES Bytes
    );

//
// Makes room for Size more bytes, which the caller writes and adds to Length.
// Returns where they go; NULL: there is no memory.
//

_Must_inspect_result_
_Ret_maybenull_
PUCHAR
ExportThriftReserve(
    _Inout_ PREADER_BYTES Bytes,
    _In_ SIZE_T Size
    );

VOID
ExportThriftAppend(
    _Inout_ PREADER_BYTES Bytes,
    _In_reads_bytes_(Size) const VOID *Source,
    _In_ SIZE_T Size
    );

//
// Seven bits a byte, the lowest first.
//

VOID
ExportThriftPutVarint(
    _Inout_ PREADER_BYTES Bytes,
    _In_ ULONGLONG Value
    );

//
// Small numbers of either sign become small numbers.
//

#define READER_ZIGZAG(Value) \
    (((ULONGLONG)(Value) << 1) ^ (ULONGLONG)((LONGLONG)(Value) >> 63))

//
// Types of fields and of a list's elements.
//

#define READER_THRIFT_TRUE   1u
#define READER_THRIFT_FALSE  2u
#define READER_THRIFT_INT16  4u
#define READER_THRIFT_INT32  5u
#define READER_THRIFT_INT64  6u
#define READER_THRIFT_BINARY 8u
#define READER_THRIFT_LIST   9u
#define READER_THRIFT_STRUCT 12u

#define READER_THRIFT_DEPTH  8u     // of structures in structures

//
// A structure that is being written.  Zeroes but for Bytes begin one.
//

typedef struct _READER_THRIFT {
    PREADER_BYTES Bytes;
    ULONG Depth;
    USHORT Last[READER_THRIFT_DEPTH];   // field, by depth
} READER_THRIFT;
typedef READER_THRIFT *PREADER_THRIFT;

//
// Begins a field; its value is to follow.  The fields of a structure come in
// ascending order.
//

VOID
ExportThriftPutField(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field,
    _In_ ULONG Type
    );

//
// Fields with their values.
//

VOID
ExportThriftPutNumber(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field,
    _In_ ULONG Type,
    _In_ LONGLONG Value
    );

VOID
ExportThriftPutBinary(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field,
    _In_reads_bytes_(Length) const VOID *Value,
    _In_ SIZE_T Length
    );

VOID
ExportThriftPutText(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field,
    _In_z_ PCSZ Value
    );

//
// Begins a list; its elements are to follow: ExportThriftPutElement* for those
// that are no structures.
//

VOID
ExportThriftPutList(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field,
    _In_ ULONG Type,
    _In_ SIZE_T NumberOfElements
    );

VOID
ExportThriftPutElementText(
    _Inout_ PREADER_THRIFT Thrift,
    _In_z_ PCSZ Value
    );

//
// Begins a structure that is a field (Field 0: an element of a list), and ends
// it, or the outermost one.
//

VOID
ExportThriftBegin(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ USHORT Field
    );

VOID
ExportThriftEnd(
    _Inout_ PREADER_THRIFT Thrift
    );

#endif // TRACER_EXPORT_THRIFT_H

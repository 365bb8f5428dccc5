/*++

Module Name:

    ExportText.h

Abstract:

    Numbers and JSON strings, written fast.

--*/

#ifndef TRACER_EXPORT_TEXT_H
#define TRACER_EXPORT_TEXT_H

#include "../../Rtl/Rtl.h"

//
// Room in a writer's buffer; what is put there counts once the writer's
// LengthInBytes says so.  Size is at most READER_MAXIMUM_ROOM.
//

#define READER_MAXIMUM_ROOM 256u

//
// Sees to it that there is room in a writer's buffer.
// Writer: the writer. After a failure what is put there is lost.
// Size: bytes, no more than the buffer has.
// Result: where the next byte goes.
//

PCHAR
ExportMakeRoom(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Size
    );

//
// Puts a number's decimal digits, at most 20; returns where they end.
//

PCHAR
ExportPutDecimal(
    _Out_ PCHAR Place,
    _In_ ULONGLONG Number
    );

//
// Counts the decimal digits of a number. How many digits that is.
// Returns 1 to 20.
//

ULONG
ExportCountDigits(
    _In_ ULONGLONG Number
    );

//
// Puts a number with three digits, zeros in front.
// Number: less than 1,000.
// Result: where they end.
//

PCHAR
ExportPutThreeDigits(
    _Out_writes_(3) PCHAR Place,
    _In_ ULONG Number
    );

//
// Puts a number of nanoseconds as microseconds with three decimals, at most
// READER_MICROSECONDS_SIZE bytes; returns where they end.
//

#define READER_MICROSECONDS_SIZE 24u

//
// Puts a time in microseconds with three decimals.
// Result: where it ends.
//

PCHAR
ExportPutMicroseconds(
    _Out_ PCHAR Place,
    _In_ ULONGLONG Nanoseconds
    );

//
// Writes a text as a JSON string, in quotes; what is not UTF-8, and control
// characters, become others.
//

VOID
ExportWriteJsonText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_EXPORT_TEXT_H

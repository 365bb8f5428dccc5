/*++

Module Name:

    ExportText.c

Abstract:

    Numbers and JSON strings for exports.  RtlWriteText would take longer for a
    number than all the rest of an event does.

--*/

#include "ExportText.h"

static const CHAR ReaderPairsOfDigits[] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";


_Use_decl_annotations_
PCHAR
ExportMakeRoom(
    PRTL_WRITER Writer,
    ULONG Size
    )
{
    if (Writer->CapacityInBytes - Writer->LengthInBytes < Size) {
        if (!NT_SUCCESS(RtlFlushWriter(Writer))) {
            Writer->LengthInBytes = 0;
        }
    }

    return Writer->Buffer + Writer->LengthInBytes;
}


_Use_decl_annotations_
ULONG
ExportCountDigits(
    ULONGLONG Number
    )
{
    ULONG Count = 1;

    while (Number >= 10000) {
        Number /= 10000;
        Count += 4;
    }

    if (Number >= 100) {
        return Count + (Number >= 1000 ? 3 : 2);
    }

    return Count + (Number >= 10 ? 1 : 0);
}


_Use_decl_annotations_
PCHAR
ExportPutDecimal(
    PCHAR Place,
    ULONGLONG Number
    )
{
    PCHAR End = Place + ExportCountDigits(Number);
    PCHAR At = End;
    ULONG Pair;

    while (Number >= 100) {
        Pair = (ULONG)(Number % 100) * 2;
        Number /= 100;
        At -= 2;
        At[0] = ReaderPairsOfDigits[Pair];
        At[1] = ReaderPairsOfDigits[Pair + 1];
    }

    if (Number >= 10) {
        At[-2] = ReaderPairsOfDigits[Number * 2];
        At[-1] = ReaderPairsOfDigits[Number * 2 + 1];
    } else {
        At[-1] = (CHAR)('0' + Number);
    }

    return End;
}


_Use_decl_annotations_
PCHAR
ExportPutThreeDigits(
    PCHAR Place,
    ULONG Number
    )
{
    Place[0] = (CHAR)('0' + Number / 100);
    Place[1] = ReaderPairsOfDigits[(Number % 100) * 2];
    Place[2] = ReaderPairsOfDigits[(Number % 100) * 2 + 1];
    return Place + 3;
}


_Use_decl_annotations_
PCHAR
ExportPutMicroseconds(
    PCHAR Place,
    ULONGLONG Nanoseconds
    )
{
    PCHAR End = ExportPutDecimal(Place, Nanoseconds / 1000);

    *End = '.';
    return ExportPutThreeDigits(End + 1, (ULONG)(Nanoseconds % 1000));
}


_Use_decl_annotations_
VOID
ExportWriteJsonText(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONG Begin = 0;
    ULONG Index;

    //
    // Quotes and backslashes are the only ones that stay and need another in
    // front.
    //

    RtlWriteBytes(Writer, "\"", 1);
    for (Index = 0; Index < LengthInBytes; Index++) {

        if (Text[Index] == '"' || Text[Index] == '\\') {
            RtlWriteCleanText(Writer, Text + Begin, Index - Begin);
            RtlWriteBytes(Writer, "\\", 1);
            RtlWriteBytes(Writer, Text + Index, 1);
            Begin = Index + 1;
        }
    }

    RtlWriteCleanText(Writer, Text + Begin, LengthInBytes - Begin);
    RtlWriteBytes(Writer, "\"", 1);
}

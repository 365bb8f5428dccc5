/*++

Module Name:

    RtlString.c

Abstract:

    Strings: lengths, comparison, conversion between UTF-8 and UTF-16, and
    numbers.

--*/

#include "Rtl.h"

#define RTLP_REPLACEMENT_CHARACTER  0xFFFD
#define RTLP_MAXIMUM_UTF8_BYTES     4

//
// The largest count of 16-bit units that a UNICODE_STRING holds.
//

#define RTLP_MAXIMUM_UNICODE_STRING_IN_CHARS 32767

typedef struct _RTLP_CODE_POINTS {
    ULONG First;
    ULONG Last;
} RTLP_CODE_POINTS;

//
// What RtlIsPrintable refuses beyond U+00A0, in ascending order: Unicode's
// Default_Ignorable_Code_Point (DerivedCoreProperties.txt), which has all
// that sets the direction of text; separators of lines and paragraphs;
// surrogates; noncharacters; interlinear annotation.
//

static const RTLP_CODE_POINTS RtlpUnprintable[] = {
    { 0x00AD, 0x00AD }, { 0x034F, 0x034F }, { 0x061C, 0x061C },
    { 0x115F, 0x1160 }, { 0x17B4, 0x17B5 }, { 0x180B, 0x180F },
    { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F },
    { 0x3164, 0x3164 }, { 0xD800, 0xDFFF }, { 0xFDD0, 0xFDEF },
    { 0xFE00, 0xFE0F }, { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 },
    { 0xFFF0, 0xFFFB }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
    { 0xE0000, 0xE0FFF }
};

_Use_decl_annotations_
ULONG
RtlLengthOfString(
    PCSZ String
    )
/*++

Routine Description:

    Counts the bytes of a terminated string.

Arguments:

    String - Supplies the string.

Return Value:

    The number of bytes before the terminator.

--*/
{
    PCSZ End = String;

    while (*End != '\0') {
        End++;
    }

    return (ULONG)(End - String);
}

_Use_decl_annotations_
ULONG
RtlLengthOfWideString(
    PCWSTR String
    )
/*++

Routine Description:

    Counts the 16-bit units of a terminated wide string.

Arguments:

    String - Supplies the string.

Return Value:

    The number of units before the terminator.

--*/
{
    PCWSTR End = String;

    while (*End != L'\0') {
        End++;
    }

    return (ULONG)(End - String);
}

_Use_decl_annotations_
BOOLEAN
RtlAreStringsEqual(
    PCSZ First,
    PCSZ Second
    )
/*++

Routine Description:

    Compares two terminated strings byte by byte.

Arguments:

    First - Supplies a string.

    Second - Supplies the other.

Return Value:

    TRUE if they are equal.

--*/
{
    while (*First == *Second) {
        if (*First == '\0') {
            return TRUE;
        }
        First++;
        Second++;
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
RtlPointUnicodeString(
    PUNICODE_STRING String,
    PCWSTR Buffer,
    ULONG LengthInChars
    )
/*++

Routine Description:

    Points a counted string at a buffer.

Arguments:

    String - Receives the counted string.  Its MaximumLength is its Length.

    Buffer - Supplies the 16-bit units.

    LengthInChars - Supplies their number; what is beyond 32,767 is left out.

Return Value:

    None.

--*/
{
    if (LengthInChars > RTLP_MAXIMUM_UNICODE_STRING_IN_CHARS) {
        LengthInChars = RTLP_MAXIMUM_UNICODE_STRING_IN_CHARS;
    }

    String->Length = (USHORT)(LengthInChars * sizeof(WCHAR));
    String->MaximumLength = String->Length;
    String->Buffer = (PWSTR)Buffer;
}

_Use_decl_annotations_
BOOLEAN
RtlIsPrintable(
    ULONG CodePoint
    )
/*++

Routine Description:

    Says whether a character may stand in what people read.

Arguments:

    CodePoint - Supplies the character.

Return Value:

    TRUE if it shows itself and changes nothing around it.

--*/
{
    ULONG Index;

    if (CodePoint < 0x7F) {
        return CodePoint >= ' ';
    }

    if (CodePoint < 0xA0) {
        return FALSE;
    }

    //
    // The last two of each plane are no characters.
    //

    if (CodePoint > 0x10FFFF || (CodePoint & 0xFFFE) == 0xFFFE) {
        return FALSE;
    }

    for (Index = 0;
         Index < RTL_NUMBER_OF(RtlpUnprintable) &&
         CodePoint >= RtlpUnprintable[Index].First;
         Index++) {

        if (CodePoint <= RtlpUnprintable[Index].Last) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Says what may follow the first byte of a UTF-8 sequence: table 3-7 of the
// Unicode standard. Only the second byte has a range that depends on the
// first; those after it are always 80 to BF.
//
// SecondLow: the lowest second byte that is well-formed.
// SecondHigh: the highest.
// Returns the size of the sequence in bytes, or 0 if none begins with Lead.
//

static
ULONG
RtlpSizeOfUtf8Sequence(
    _In_ BYTE Lead,
    _Out_ PBYTE SecondLow,
    _Out_ PBYTE SecondHigh
    )
{
    *SecondLow = 0x80;
    *SecondHigh = 0xBF;

    if (Lead < 0x80) {
        return 1;
    }

    if (Lead < 0xC2 || Lead > 0xF4) {
        return 0;
    }

    if (Lead < 0xE0) {
        return 2;
    }

    if (Lead < 0xF0) {
        if (Lead == 0xE0) {
            *SecondLow = 0xA0;
        } else if (Lead == 0xED) {
            *SecondHigh = 0x9F;
        }
        return 3;
    }

    if (Lead == 0xF0) {
        *SecondLow = 0x90;
    } else if (Lead == 0xF4) {
        *SecondHigh = 0x8F;
    }

    return 4;
}

//
// Measures how much of a text begins a well-formed UTF-8 sequence.
// LengthInBytes: its length, at least 1.
// SequenceSizeInBytes: the size that the whole sequence has, or 0 if the first
// byte begins none.
// Returns the number of bytes that belong to the sequence; less than its size
// if the text ends or goes on with something else. 0 if the first byte begins
// none.
//

static
ULONG
RtlpMatchUtf8Sequence(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes,
    _Out_ PULONG SequenceSizeInBytes
    )
{
    const BYTE *Bytes = (const BYTE *)Source;
    BYTE Low;
    BYTE High;
    ULONG Size;
    ULONG Index;

    Size = RtlpSizeOfUtf8Sequence(Bytes[0], &Low, &High);
    *SequenceSizeInBytes = Size;

    if (Size == 0) {
        return 0;
    }

    for (Index = 1; Index < Size && Index < LengthInBytes; Index++) {

        if (Bytes[Index] < Low || Bytes[Index] > High) {
            break;
        }

        Low = 0x80;
        High = 0xBF;
    }

    return Index;
}

_Use_decl_annotations_
ULONG
RtlDecodeUtf8(
    const CHAR *Source,
    ULONG LengthInBytes,
    PULONG CodePoint
    )
/*++

Routine Description:

    Decodes the character that a text begins with.

Arguments:

    Source - Supplies the text.

    LengthInBytes - Supplies its length, at least 1.

    CodePoint - Receives the character; U+FFFD for what is ill-formed.

Return Value:

    The number of bytes that it takes; for what is ill-formed, the size of the
    maximal subpart.

--*/
{
    const BYTE *Bytes = (const BYTE *)Source;
    ULONG Size;
    ULONG Matched;
    ULONG Index;
    ULONG Value;

    if (Bytes[0] < 0x80) {
        *CodePoint = Bytes[0];
        return 1;
    }

    Matched = RtlpMatchUtf8Sequence(Source, LengthInBytes, &Size);

    if (Size == 0 || Matched < Size) {
        *CodePoint = RTLP_REPLACEMENT_CHARACTER;
        return (Matched == 0) ? 1 : Matched;
    }

    //
    // The first byte carries 5, 4 or 3 bits; each other byte 6.
    //

    Value = Bytes[0] & (0x7FU >> Size);
    for (Index = 1; Index < Size; Index++) {
        Value = (Value << 6) | (Bytes[Index] & 0x3FU);
    }

    *CodePoint = Value;
    return Size;
}

_Use_decl_annotations_
ULONG
RtlIncompleteUtf8Tail(
    const CHAR *Source,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Finds the incomplete character that a text ends with.

Arguments:

    Source - Supplies the text.

    LengthInBytes - Supplies its length.

Return Value:

    The size in bytes of that beginning of a character, or 0 if the text ends
    with a whole character or with something that no byte could complete.

--*/
{
    ULONG Back;
    ULONG Size;
    ULONG Matched;

    for (Back = 1;
         Back < RTLP_MAXIMUM_UTF8_BYTES && Back <= LengthInBytes;
         Back++) {

        //
        // Go back over continuation bytes to the byte that leads them.
        //

        if (((BYTE)Source[LengthInBytes - Back] & 0xC0) == 0x80) {
            continue;
        }

        Matched = RtlpMatchUtf8Sequence(Source + LengthInBytes - Back,
                                        Back,
                                        &Size);

        return (Matched == Back && Matched < Size) ? Back : 0;
    }

    return 0;
}

//
// Encodes a character.
// CodePoint: the character, a Unicode scalar value.
// Destination: its bytes.
// Returns the number of bytes.
//

static
ULONG
RtlpEncodeUtf8(
    _In_ ULONG CodePoint,
    _Out_writes_bytes_(RTLP_MAXIMUM_UTF8_BYTES) PCHAR Destination
    )
{
    if (CodePoint < 0x80) {
        Destination[0] = (CHAR)CodePoint;
        return 1;
    }

    if (CodePoint < 0x800) {
        Destination[0] = (CHAR)(0xC0 | (CodePoint >> 6));
        Destination[1] = (CHAR)(0x80 | (CodePoint & 0x3F));
        return 2;
    }

    if (CodePoint < 0x10000) {
        Destination[0] = (CHAR)(0xE0 | (CodePoint >> 12));
        Destination[1] = (CHAR)(0x80 | ((CodePoint >> 6) & 0x3F));
        Destination[2] = (CHAR)(0x80 | (CodePoint & 0x3F));
        return 3;
    }

    Destination[0] = (CHAR)(0xF0 | (CodePoint >> 18));
    Destination[1] = (CHAR)(0x80 | ((CodePoint >> 12) & 0x3F));
    Destination[2] = (CHAR)(0x80 | ((CodePoint >> 6) & 0x3F));
    Destination[3] = (CHAR)(0x80 | (CodePoint & 0x3F));
    return 4;
}

_Use_decl_annotations_
ULONG
RtlWideToUtf8(
    PCWSTR Source,
    ULONG LengthInChars,
    PCHAR Destination,
    ULONG CapacityInBytes,
    PULONG WrittenInBytes
    )
/*++

Routine Description:

    Converts UTF-16 to UTF-8.  A surrogate without its other half becomes
    U+FFFD.

Arguments:

    Source - Supplies the 16-bit units.

    LengthInChars - Supplies their number.

    Destination - Receives the bytes; not terminated.

    CapacityInBytes - Supplies the size of Destination.

    WrittenInBytes - Optionally receives the number of bytes written.

Return Value:

    The size in bytes of the whole result; UINT32_MAX if it is larger than that.

--*/
{
    CHAR Bytes[RTLP_MAXIMUM_UTF8_BYTES];
    ULONG CodePoint;
    ULONG Size;
    ULONG Index = 0;
    ULONG Written = 0;
    ULONGLONG Total = 0;
    BOOLEAN IsFull = FALSE;

    while (Index < LengthInChars) {

        CodePoint = (USHORT)Source[Index];
        Index++;

        if (CodePoint >= 0xD800 && CodePoint <= 0xDFFF) {

            if (CodePoint <= 0xDBFF &&
                Index < LengthInChars &&
                (USHORT)Source[Index] >= 0xDC00 &&
                (USHORT)Source[Index] <= 0xDFFF) {

                CodePoint = 0x10000 +
                            ((CodePoint - 0xD800) << 10) +
                            ((USHORT)Source[Index] - 0xDC00);
                Index++;

            } else {
                CodePoint = RTLP_REPLACEMENT_CHARACTER;
            }
        }

        Size = RtlpEncodeUtf8(CodePoint, Bytes);
        Total += Size;

        //
        // Once a character did not fit, a shorter one after it is not written
        // either: what is written is a beginning of the result.
        //

        if (IsFull || Size > CapacityInBytes - Written) {
            IsFull = TRUE;
            continue;
        }

        RtlCopyBytes(Destination + Written, Bytes, Size);
        Written += Size;
    }

    if (WrittenInBytes != NULL) {
        *WrittenInBytes = Written;
    }

    return (Total > UINT32_MAX) ? UINT32_MAX : (ULONG)Total;
}

_Use_decl_annotations_
ULONG
RtlUtf8ToWide(
    const CHAR *Source,
    ULONG LengthInBytes,
    PWCHAR Destination,
    ULONG CapacityInChars,
    PULONG WrittenInChars
    )
/*++

Routine Description:

    Converts UTF-8 to UTF-16.  Each maximal subpart of what is ill-formed
    becomes one U+FFFD.

Arguments:

    Source - Supplies the bytes.

    LengthInBytes - Supplies their number.

    Destination - Receives the 16-bit units; not terminated.

    CapacityInChars - Supplies the size of Destination, in units.

    WrittenInChars - Optionally receives the number of units written.

Return Value:

    The number of units of the whole result.

--*/
{
    ULONG CodePoint;
    ULONG Size;
    ULONG Index = 0;
    ULONG Written = 0;
    ULONG Total = 0;
    BOOLEAN IsFull = FALSE;

    while (Index < LengthInBytes) {

        Index += RtlDecodeUtf8(Source + Index,
                               LengthInBytes - Index,
                               &CodePoint);

        Size = (CodePoint >= 0x10000) ? 2 : 1;
        Total += Size;

        if (IsFull || Size > CapacityInChars - Written) {
            IsFull = TRUE;
            continue;
        }

        if (Size == 2) {
            CodePoint -= 0x10000;
            Destination[Written] = (WCHAR)(0xD800 + (CodePoint >> 10));
            Destination[Written + 1] = (WCHAR)(0xDC00 + (CodePoint & 0x3FF));
        } else {
            Destination[Written] = (WCHAR)CodePoint;
        }

        Written += Size;
    }

    if (WrittenInChars != NULL) {
        *WrittenInChars = Written;
    }

    return Total;
}

//
// Gives the value of a hexadecimal digit.
// Returns 0 to 15; UINT32_MAX for anything else.
//

static
ULONG
RtlpDigitValue(
    _In_ WCHAR Character
    )
{
    if (Character >= L'0' && Character <= L'9') {
        return (ULONG)(Character - L'0');
    }

    if (Character >= L'a' && Character <= L'f') {
        return (ULONG)(Character - L'a') + 10;
    }

    if (Character >= L'A' && Character <= L'F') {
        return (ULONG)(Character - L'A') + 10;
    }

    return UINT32_MAX;
}

_Use_decl_annotations_
BOOLEAN
RtlParseNumber(
    PCWSTR Text,
    ULONG LengthInChars,
    PULONGLONG Number
    )
/*++

Routine Description:

    Parses a number: decimal, or hexadecimal after 0x, with an optional suffix
    K, M or G.

Arguments:

    Text - Supplies the text.

    LengthInChars - Supplies its length in 16-bit units.

    Number - Receives the number; not written on failure.

Return Value:

    TRUE if all of the text is a number below 2^64, FALSE otherwise.

--*/
{
    ULONGLONG Value = 0;
    ULONG Base = 10;
    ULONG Index = 0;
    ULONG Digit;
    ULONG Shift = 0;

    if (LengthInChars >= 2 &&
        Text[0] == L'0' &&
        (Text[1] == L'x' || Text[1] == L'X')) {
        Base = 16;
        Index = 2;
    }

    if (LengthInChars > Index) {
        switch (Text[LengthInChars - 1]) {
            case L'K':
            case L'k':
                Shift = 10;
                break;
            case L'M':
            case L'm':
                Shift = 20;
                break;
            case L'G':
            case L'g':
                Shift = 30;
                break;
            default:
                break;
        }
    }

    if (Shift != 0) {
        LengthInChars--;
    }

    //
    // There has to be a digit.
    //

    if (Index >= LengthInChars) {
        return FALSE;
    }

    for (; Index < LengthInChars; Index++) {

        Digit = RtlpDigitValue(Text[Index]);
        if (Digit >= Base) {
            return FALSE;
        }

        if (Value > (UINT64_MAX - Digit) / Base) {
            return FALSE;
        }

        Value = Value * Base + Digit;
    }

    if (Value > (UINT64_MAX >> Shift)) {
        return FALSE;
    }

    *Number = Value << Shift;
    return TRUE;
}

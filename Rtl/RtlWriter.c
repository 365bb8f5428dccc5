/*++

Module Name:

    RtlWriter.c

Abstract:

    Formatted UTF-8 text into a buffer that is flushed to a file, to a standard
    handle or nowhere.  Rtl.h describes the format.

--*/

#include "Rtl.h"
#include "RtlTeb.h"

//
// The status that carries a Win32 error (facility NTWIN32).
//

#define RTLP_STATUS_FACILITY_WIN32  0xC0070000

//
// Sizes of the pieces in which text is converted, on the stack.
//

#define RTLP_CONSOLE_PIECE          256     // bytes, and 16-bit units
#define RTLP_WIDE_PIECE             64      // 16-bit units
#define RTLP_UTF8_BYTES_PER_UNIT    3

//
// 20 digits, 6 commas and room.
//

#define RTLP_NUMBER_CAPACITY        32

//
// Widths and precisions stop here.
//

#define RTLP_MAXIMUM_FIELD          0x7FFFFFFF

#define RTLP_REPLACEMENT_CHARACTER  0xFFFD

typedef struct _RTLP_FIELD {
    BOOLEAN LeftJustify;            // -
    BOOLEAN PadWithZeros;           // 0
    BOOLEAN GroupDigits;            // '
    BOOLEAN HasPrecision;
    ULONG Width;                    // in code points
    ULONG Precision;
} RTLP_FIELD;
typedef RTLP_FIELD *PRTLP_FIELD;
typedef const RTLP_FIELD *PCRTLP_FIELD;

//
// Makes a status of the thread's last Win32 error, after a routine of
// kernel32.dll failed.
// Returns 0xC007nnnn, where nnnn is the Win32 error.
//

static
NTSTATUS
RtlpLastWin32Status(
    VOID
    )
{
    ULONG Error = __readgsdword(TEB_LAST_ERROR);

    return (NTSTATUS)(RTLP_STATUS_FACILITY_WIN32 | (Error & 0xFFFF));
}

//
// Discards text: the process has no such standard handle.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
RtlpFlushToNowhere(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    UNREFERENCED_PARAMETER(Writer);
    UNREFERENCED_PARAMETER(Bytes);
    UNREFERENCED_PARAMETER(SizeInBytes);

    return STATUS_SUCCESS;
}

//
// Writes text to a file, behind what the writer wrote there before.
// Returns the status of writing.
//

static
NTSTATUS
RtlpFlushToFile(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    NTSTATUS Status;

    Status = RtlWriteFile(Writer->Rtl,
                          Writer->Handle,
                          Writer->FileOffset,
                          Bytes,
                          SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Writer->FileOffset += SizeInBytes;
    }

    return Status;
}

//
// Writes text to a standard handle that is a file, a pipe or a device.
// Returns STATUS_SUCCESS, the Win32 error as a status, or STATUS_UNSUCCESSFUL
// if the handle takes nothing.
//

static
NTSTATUS
RtlpFlushToHandle(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    DWORD Written;

    while (SizeInBytes != 0) {

        Written = 0;

        if (!Writer->Rtl->WriteFile(Writer->Handle,
                                    Bytes,
                                    SizeInBytes,
                                    &Written,
                                    NULL)) {
            return RtlpLastWin32Status();
        }

        if (Written == 0 || Written > SizeInBytes) {
            return STATUS_UNSUCCESSFUL;
        }

        Bytes += Written;
        SizeInBytes -= Written;
    }

    return STATUS_SUCCESS;
}

//
// Writes text to a console, in UTF-16.
// Returns STATUS_SUCCESS, the Win32 error as a status, or STATUS_UNSUCCESSFUL
// if the console takes nothing.
//

static
NTSTATUS
RtlpFlushToConsole(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    WCHAR Wide[RTLP_CONSOLE_PIECE];
    PCWSTR Rest;
    ULONG Piece;
    ULONG Length;
    DWORD Written;

    while (SizeInBytes != 0) {

        //
        // A byte gives at most one unit.  The last piece may end within a
        // character that will never be completed; the others may not.
        //

        Piece = SizeInBytes;
        if (Piece > RTLP_CONSOLE_PIECE) {
            Piece = RTLP_CONSOLE_PIECE;
            Piece -= RtlIncompleteUtf8Tail(Bytes, Piece);
        }

        RtlUtf8ToWide(Bytes, Piece, Wide, RTLP_CONSOLE_PIECE, &Length);

        Bytes += Piece;
        SizeInBytes -= Piece;

        Rest = Wide;
        while (Length != 0) {

            Written = 0;

            if (!Writer->Rtl->WriteConsoleW(Writer->Handle,
                                            Rest,
                                            Length,
                                            &Written,
                                            NULL)) {
                return RtlpLastWin32Status();
            }

            if (Written == 0 || Written > Length) {
                return STATUS_UNSUCCESSFUL;
            }

            Rest += Written;
            Length -= Written;
        }
    }

    return STATUS_SUCCESS;
}

//
// Hands the gathered bytes to the writer's flush routine. For a console the
// beginning of a character that the buffer ends with stays in the buffer,
// until its other bytes are there.
//
// Writer: the writer, whose Flush is not NULL.
// A failure goes to the writer's Status.
//

static
VOID
RtlpFlushBuffer(
    _Inout_ PRTL_WRITER Writer
    )
{
    ULONG Kept = 0;
    ULONG Size;
    NTSTATUS Status;

    if (Writer->IsConsole) {

        Kept = RtlIncompleteUtf8Tail(Writer->Buffer, Writer->LengthInBytes);

        //
        // A buffer that cannot hold one character has to give it away in
        // parts.
        //

        if (Kept == Writer->CapacityInBytes) {
            Kept = 0;
        }
    }

    Size = Writer->LengthInBytes - Kept;
    if (Size == 0) {
        return;
    }

    Status = Writer->Flush(Writer, Writer->Buffer, Size);
    if (!NT_SUCCESS(Status)) {
        Writer->Status = Status;
        Writer->LengthInBytes = 0;
        return;
    }

    //
    // What stays moves to the front, in ascending order: the two places may
    // overlap.
    //

    __movsb((PBYTE)Writer->Buffer, (const BYTE *)Writer->Buffer + Size, Kept);
    Writer->LengthInBytes = Kept;
}

//
// Sets what all writers have in common.
// Rtl: the RTL, which a writer over a buffer alone does not need.
// CapacityInBytes: its size.
//

static
VOID
RtlpInitializeWriter(
    _In_opt_ PCRTL Rtl,
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    )
{
    RtlZeroBytes(Writer, sizeof(*Writer));

    Writer->Rtl = Rtl;
    Writer->Status = STATUS_SUCCESS;
    Writer->Buffer = Buffer;
    Writer->CapacityInBytes = CapacityInBytes;
}

_Use_decl_annotations_
VOID
RtlInitializeBufferWriter(
    PRTL_WRITER Writer,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
/*++

Routine Description:

    Makes a writer whose buffer is all there is.  Its text is the buffer's
    first LengthInBytes bytes, not terminated.

Arguments:

    Writer - Receives the writer.

    Buffer - Supplies the buffer.

    CapacityInBytes - Supplies its size.

Return Value:

    None.

--*/
{
    RtlpInitializeWriter(NULL, Writer, Buffer, CapacityInBytes);
}

_Use_decl_annotations_
VOID
RtlInitializeStandardWriter(
    PCRTL Rtl,
    ULONG StandardHandle,
    PRTL_WRITER Writer,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
/*++

Routine Description:

    Makes a writer to a standard handle.  If the process has none, what is
    written is discarded.

Arguments:

    Rtl - Supplies the RTL.

    StandardHandle - Supplies STD_OUTPUT_HANDLE or STD_ERROR_HANDLE.

    Writer - Receives the writer.

    Buffer - Supplies the buffer, of 4 bytes at least.

    CapacityInBytes - Supplies its size.

Return Value:

    None.

--*/
{
    DWORD Mode;

    RtlpInitializeWriter(Rtl, Writer, Buffer, CapacityInBytes);

    Writer->Handle = Rtl->GetStdHandle(StandardHandle);

    if (Writer->Handle == NULL || Writer->Handle == INVALID_HANDLE_VALUE) {
        Writer->Flush = RtlpFlushToNowhere;
    } else if (Rtl->GetConsoleMode(Writer->Handle, &Mode)) {
        Writer->Flush = RtlpFlushToConsole;
        Writer->IsConsole = TRUE;
    } else {
        Writer->Flush = RtlpFlushToHandle;
    }
}

_Use_decl_annotations_
VOID
RtlInitializeFileWriter(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG FileOffset,
    PRTL_WRITER Writer,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
/*++

Routine Description:

    Makes a writer to a file.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file, opened for writing.

    FileOffset - Supplies where the text begins, in bytes.

    Writer - Receives the writer.

    Buffer - Supplies the buffer.

    CapacityInBytes - Supplies its size.

Return Value:

    None.

--*/
{
    RtlpInitializeWriter(Rtl, Writer, Buffer, CapacityInBytes);

    Writer->Flush = RtlpFlushToFile;
    Writer->Handle = File;
    Writer->FileOffset = FileOffset;
}

_Use_decl_annotations_
NTSTATUS
RtlFlushWriter(
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Sends what has been gathered.

Arguments:

    Writer - Supplies the writer.

Return Value:

    The writer's Status: the first failure, STATUS_BUFFER_OVERFLOW if a buffer
    was too small for the text, or STATUS_SUCCESS.

--*/
{
    if (NT_SUCCESS(Writer->Status) && Writer->Flush != NULL) {
        RtlpFlushBuffer(Writer);
    }

    return Writer->Status;
}

_Use_decl_annotations_
VOID
RtlWriteBytes(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
/*++

Routine Description:

    Writes bytes as they are.

Arguments:

    Writer - Supplies the writer.

    Bytes - Supplies the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    None.  A failure goes to the writer's Status.

--*/
{
    ULONG Piece;

    while (SizeInBytes != 0 && NT_SUCCESS(Writer->Status)) {

        Piece = Writer->CapacityInBytes - Writer->LengthInBytes;
        if (Piece > SizeInBytes) {
            Piece = SizeInBytes;
        }

        RtlCopyBytes(Writer->Buffer + Writer->LengthInBytes, Bytes, Piece);

        Writer->LengthInBytes += Piece;
        Bytes += Piece;
        SizeInBytes -= Piece;

        if (SizeInBytes == 0) {
            return;
        }

        if (Writer->Flush == NULL) {

            //
            // The buffer is full.  A character of which only the beginning
            // fits is left out; Status keeps everything else out.
            //

            Writer->LengthInBytes -= RtlIncompleteUtf8Tail(
                Writer->Buffer,
                Writer->LengthInBytes);
            Writer->Status = STATUS_BUFFER_OVERFLOW;

        } else if (Writer->CapacityInBytes == 0) {
            Writer->Status = STATUS_BUFFER_TOO_SMALL;
        } else {
            RtlpFlushBuffer(Writer);
        }
    }
}

//
// Writes spaces or zeros.
// Zeros: TRUE for zeros.
// Count: how many.
//

static
VOID
RtlpWritePadding(
    _Inout_ PRTL_WRITER Writer,
    _In_ BOOLEAN Zeros,
    _In_ ULONG Count
    )
{
    static const CHAR Spaces[] = "                                ";
    static const CHAR Digits[] = "00000000000000000000000000000000";

    ULONG Piece;

    while (Count != 0 && NT_SUCCESS(Writer->Status)) {

        Piece = Count;
        if (Piece > sizeof(Spaces) - 1) {
            Piece = sizeof(Spaces) - 1;
        }

        RtlWriteBytes(Writer, Zeros ? Digits : Spaces, Piece);
        Count -= Piece;
    }
}

//
// Computes how much padding a field needs.
// LengthInCodePoints: the length of what is to be in it.
// Returns the number of code points that are missing.
//

static
ULONG
RtlpMissingWidth(
    _In_ PCRTLP_FIELD Field,
    _In_ ULONGLONG LengthInCodePoints
    )
{
    if (LengthInCodePoints >= Field->Width) {
        return 0;
    }

    return Field->Width - (ULONG)LengthInCodePoints;
}

_Use_decl_annotations_
VOID
RtlWriteCleanText(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes text that was not written in this source.

Arguments:

    Writer - Supplies the writer.

    Text - Supplies the text, UTF-8 or what claims to be.

    LengthInBytes - Supplies its length.

Return Value:

    None.

--*/
{
    static const CHAR Replacement[] = "\xEF\xBF\xBD";

    ULONG Begin = 0;
    ULONG Index = 0;
    ULONG CodePoint;
    ULONG Size;

    //
    // What stays is written in runs.
    //

    while (Index < LengthInBytes) {

        Size = RtlDecodeUtf8(Text + Index, LengthInBytes - Index, &CodePoint);

        if (CodePoint != RTLP_REPLACEMENT_CHARACTER &&
            RtlIsPrintable(CodePoint)) {
            Index += Size;
            continue;
        }

        RtlWriteBytes(Writer, Text + Begin, Index - Begin);
        Index += Size;
        Begin = Index;

        if (CodePoint == RTLP_REPLACEMENT_CHARACTER) {
            RtlWriteBytes(Writer, Replacement, sizeof(Replacement) - 1);
        } else {
            RtlWriteBytes(Writer, "?", 1);
        }
    }

    RtlWriteBytes(Writer, Text + Begin, Index - Begin);
}

//
// Writes UTF-8 text with its padding.
// Field: the field; its precision has been applied.
// IsClean: TRUE for text that is written as it is.
//

static
VOID
RtlpWriteUtf8Field(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_opt_ const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ BOOLEAN IsClean
    )
{
    ULONG CodePoint;
    ULONG Count = 0;
    ULONG Index = 0;
    ULONG Missing = 0;

    if (Field->Width != 0) {

        while (Index < LengthInBytes) {
            Index += RtlDecodeUtf8(Text + Index,
                                   LengthInBytes - Index,
                                   &CodePoint);
            Count++;
        }

        Missing = RtlpMissingWidth(Field, Count);
    }

    if (!Field->LeftJustify) {
        RtlpWritePadding(Writer, FALSE, Missing);
    }

    if (IsClean) {
        RtlWriteBytes(Writer, Text, LengthInBytes);
    } else {
        RtlWriteCleanText(Writer, Text, LengthInBytes);
    }

    if (Field->LeftJustify) {
        RtlpWritePadding(Writer, FALSE, Missing);
    }
}

//
// Writes a terminated UTF-8 string; with a precision, a string that need not
// be terminated within that many bytes.
// IsClean: TRUE for a string that is written as it is.
//

static
VOID
RtlpWriteString(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_opt_ PCSZ Text,
    _In_ BOOLEAN IsClean
    )
{
    ULONG Length = 0;
    ULONG Limit = UINT32_MAX;

    if (Text == NULL) {
        Text = "(null)";
    }

    if (Field->HasPrecision) {
        Limit = Field->Precision;
    }

    while (Length < Limit && Text[Length] != '\0') {
        Length++;
    }

    //
    // The precision may end within a character, which is then left out.
    //

    if (Field->HasPrecision && Length == Limit) {
        Length -= RtlIncompleteUtf8Tail(Text, Length);
    }

    RtlpWriteUtf8Field(Writer, Field, Text, Length, IsClean);
}

//
// CodePoint: the character; what is not one becomes U+FFFD.
//

static
VOID
RtlpWriteCharacter(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_ ULONG CodePoint
    )
{
    WCHAR Wide[2];
    CHAR Bytes[2 * RTLP_UTF8_BYTES_PER_UNIT];
    ULONG Length = 1;

    //
    // A surrogate or a number beyond U+10FFFF is not a character.  The first
    // half of a pair alone converts to U+FFFD.
    //

    Wide[1] = 0;

    if (CodePoint < 0x10000) {
        Wide[0] = (WCHAR)CodePoint;
    } else if (CodePoint <= 0x10FFFF) {
        Wide[0] = (WCHAR)(0xD800 + ((CodePoint - 0x10000) >> 10));
        Wide[1] = (WCHAR)(0xDC00 + (CodePoint & 0x3FF));
        Length = 2;
    } else {
        Wide[0] = 0xFFFD;
    }

    RtlWideToUtf8(Wide, Length, Bytes, sizeof(Bytes), &Length);
    RtlpWriteUtf8Field(Writer, Field, Bytes, Length, TRUE);
}

//
// Says whether a text begins with both halves of a surrogate pair.
// LengthInChars: its length in 16-bit units.
//

static
BOOLEAN
RtlpIsSurrogatePair(
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars
    )
{
    return (LengthInChars >= 2 &&
            (Text[0] & 0xFC00) == 0xD800 &&
            (Text[1] & 0xFC00) == 0xDC00);
}

//
// Writes UTF-16 text with its padding.
// Field: the field; its precision has been applied.
// Text: the text. Names and paths can hold what must not reach terminals and
// logs: what RtlIsPrintable refuses becomes a question mark.
// LengthInChars: its length in 16-bit units.
//

static
VOID
RtlpWriteWide(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars
    )
{
    CHAR Bytes[RTLP_WIDE_PIECE * RTLP_UTF8_BYTES_PER_UNIT];
    WCHAR Clean[RTLP_WIDE_PIECE];
    ULONG CleanLength;
    ULONG CodePoint;
    ULONG Count = 0;
    ULONG Index = 0;
    ULONG Missing = 0;
    ULONG Piece;
    ULONG Written;

    if (Field->Width != 0) {

        while (Index < LengthInChars) {
            if (RtlpIsSurrogatePair(Text + Index, LengthInChars - Index)) {
                Index++;
            }
            Index++;
            Count++;
        }

        Missing = RtlpMissingWidth(Field, Count);
    }

    if (!Field->LeftJustify) {
        RtlpWritePadding(Writer, FALSE, Missing);
    }

    while (LengthInChars != 0 && NT_SUCCESS(Writer->Status)) {

        Piece = LengthInChars;
        if (Piece > RTLP_WIDE_PIECE) {

            Piece = RTLP_WIDE_PIECE;

            //
            // Both halves of a pair go into the same piece.
            //

            if (RtlpIsSurrogatePair(Text + Piece - 1, 2)) {
                Piece--;
            }
        }

        //
        // Half of a pair stays, and becomes U+FFFD.
        //

        CleanLength = 0;
        for (Index = 0; Index < Piece; Index++) {

            CodePoint = Text[Index];
            Clean[CleanLength] = Text[Index];
            if (RtlpIsSurrogatePair(Text + Index, Piece - Index)) {

                Index++;
                CodePoint = 0x10000 + ((CodePoint & 0x3FF) << 10) +
                            (Text[Index] & 0x3FFu);
                if (RtlIsPrintable(CodePoint)) {
                    CleanLength++;
                    Clean[CleanLength] = Text[Index];
                } else {
                    Clean[CleanLength] = L'?';
                }

            } else if ((CodePoint & 0xF800) != 0xD800 &&
                       !RtlIsPrintable(CodePoint)) {
                Clean[CleanLength] = L'?';
            }

            CleanLength++;
        }

        RtlWideToUtf8(Clean, CleanLength, Bytes, sizeof(Bytes), &Written);
        RtlWriteBytes(Writer, Bytes, Written);

        Text += Piece;
        LengthInChars -= Piece;
    }

    if (Field->LeftJustify) {
        RtlpWritePadding(Writer, FALSE, Missing);
    }
}

//
// Writes a UTF-16 string, terminated or counted, as far as the precision
// allows.
// LimitInChars: the length of a counted string; of a terminated one, the most
// that is looked at.
// IsTerminated: TRUE if a zero ends the string.
//

static
VOID
RtlpWriteWideString(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_opt_ PCWSTR Text,
    _In_ ULONG LimitInChars,
    _In_ BOOLEAN IsTerminated
    )
{
    ULONG Length = 0;

    if (Field->HasPrecision && LimitInChars > Field->Precision) {

        LimitInChars = Field->Precision;

    } else if (!IsTerminated) {

        RtlpWriteWide(Writer, Field, Text, LimitInChars);
        return;
    }

    if (IsTerminated) {
        while (Length < LimitInChars && Text[Length] != L'\0') {
            Length++;
        }
    } else {
        Length = LimitInChars;
    }

    //
    // The precision may end within a surrogate pair, which is then left out.
    //

    if (Length == LimitInChars &&
        Length != 0 &&
        (Text[Length - 1] & 0xFC00) == 0xD800) {
        Length--;
    }

    RtlpWriteWide(Writer, Field, Text, Length);
}

//
// Writes a number: padding, sign, zeros, digits.
// Field: the field. As in C, a precision is the least number of digits, it
// turns zero padding off, and 0 with precision 0 is empty.
// Magnitude: the number without its sign.
// IsNegative: TRUE to write a minus sign.
// Base: 10 or 16.
// UpperCase: TRUE for the digits A to F in upper case.
//

static
VOID
RtlpWriteNumber(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTLP_FIELD Field,
    _In_ ULONGLONG Magnitude,
    _In_ BOOLEAN IsNegative,
    _In_ ULONG Base,
    _In_ BOOLEAN UpperCase
    )
{
    CHAR Digits[RTLP_NUMBER_CAPACITY];
    PCSZ Symbols = UpperCase ? "0123456789ABCDEF" : "0123456789abcdef";
    ULONG First = RTLP_NUMBER_CAPACITY;
    ULONG NumberOfDigits = 0;
    ULONG Length;
    ULONG Zeros = 0;
    ULONG Missing;
    ULONGLONG Total;

    while (Magnitude != 0 ||
           (NumberOfDigits == 0 &&
            !(Field->HasPrecision && Field->Precision == 0))) {

        if (Field->GroupDigits &&
            NumberOfDigits != 0 &&
            NumberOfDigits % 3 == 0) {
            First--;
            Digits[First] = ',';
        }

        First--;
        Digits[First] = Symbols[Magnitude % Base];
        Magnitude /= Base;
        NumberOfDigits++;
    }

    Length = RTLP_NUMBER_CAPACITY - First;

    if (Field->HasPrecision && Field->Precision > NumberOfDigits) {
        Zeros = Field->Precision - NumberOfDigits;
    }

    Total = (ULONGLONG)Length + Zeros + (IsNegative ? 1 : 0);
    Missing = RtlpMissingWidth(Field, Total);

    if (!Field->LeftJustify) {
        if (Field->PadWithZeros && !Field->HasPrecision) {
            Zeros = Missing;
        } else {
            RtlpWritePadding(Writer, FALSE, Missing);
        }
    }

    if (IsNegative) {
        RtlWriteBytes(Writer, "-", 1);
    }

    RtlpWritePadding(Writer, TRUE, Zeros);
    RtlWriteBytes(Writer, Digits + First, Length);

    if (Field->LeftJustify) {
        RtlpWritePadding(Writer, FALSE, Missing);
    }
}

//
// Reads a width or a precision from a format.
// Format: the rest of the format.
// Number: the number, 0 if there are no digits.
// Returns the rest of the format behind the digits.
//

static
PCSZ
RtlpParseDigits(
    _In_z_ PCSZ Format,
    _Out_ PULONG Number
    )
{
    ULONG Value = 0;

    while (*Format >= '0' && *Format <= '9') {

        if (Value > (RTLP_MAXIMUM_FIELD - 9) / 10) {
            Value = RTLP_MAXIMUM_FIELD;
        } else {
            Value = Value * 10 + (ULONG)(*Format - '0');
        }

        Format++;
    }

    *Number = Value;
    return Format;
}

//
// Reads the flags of a conversion, in any order.
// Format: the format behind the percent sign.
// Field: the flags; all the rest of it is cleared.
// Returns the rest of the format behind the flags.
//

static
PCSZ
RtlpParseFlags(
    _In_z_ PCSZ Format,
    _Out_ PRTLP_FIELD Field
    )
{
    RtlZeroBytes(Field, sizeof(*Field));

    for (;;) {

        if (*Format == '-') {
            Field->LeftJustify = TRUE;
        } else if (*Format == '0') {
            Field->PadWithZeros = TRUE;
        } else if (*Format == '\'') {
            Field->GroupDigits = TRUE;
        } else {
            return Format;
        }

        Format++;
    }
}

_Use_decl_annotations_
VOID
RtlWriteTextArguments(
    PRTL_WRITER Writer,
    PCSZ Format,
    va_list Arguments
    )
/*++

Routine Description:

    Writes formatted text.  A conversion that is not known is written as it
    stands in the format.

Arguments:

    Writer - Supplies the writer.

    Format - Supplies the format, as Rtl.h describes it.

    Arguments - Supplies what the format converts.

Return Value:

    None.  A failure goes to the writer's Status.

--*/
{
    RTLP_FIELD Field;
    PCSZ Start;
    PCUNICODE_STRING String;
    PCWSTR Wide;
    ULONGLONG Value;
    LONG Number;
    ULONG NumberOfLongs;
    BOOLEAN IsNegative;

    while (*Format != '\0' && NT_SUCCESS(Writer->Status)) {

        Start = Format;

        if (*Format != '%') {

            do {
                Format++;
            } while (*Format != '\0' && *Format != '%');

            RtlWriteBytes(Writer, Start, (ULONG)(Format - Start));
            continue;
        }

        Format = RtlpParseFlags(Format + 1, &Field);

        if (*Format == '*') {

            Format++;
            Number = va_arg(Arguments, int);

            //
            // A negative width is a flag and a width.
            //

            if (Number < 0) {
                Field.LeftJustify = TRUE;
                Field.Width = 0 - (ULONG)Number;
            } else {
                Field.Width = (ULONG)Number;
            }

        } else {
            Format = RtlpParseDigits(Format, &Field.Width);
        }

        if (*Format == '.') {

            Format++;

            if (*Format == '*') {

                Format++;
                Number = va_arg(Arguments, int);

                //
                // A negative precision is none.
                //

                if (Number >= 0) {
                    Field.HasPrecision = TRUE;
                    Field.Precision = (ULONG)Number;
                }

            } else {
                Field.HasPrecision = TRUE;
                Format = RtlpParseDigits(Format, &Field.Precision);
            }
        }

        //
        // long is int in Windows: one l changes nothing.
        //

        NumberOfLongs = 0;
        while (*Format == 'l' && NumberOfLongs < 2) {
            NumberOfLongs++;
            Format++;
        }

        IsNegative = FALSE;

        switch (*Format) {

            case 'd':
                if (NumberOfLongs == 2) {
                    Value = (ULONGLONG)va_arg(Arguments, LONGLONG);
                } else {
                    Value = (ULONGLONG)(LONGLONG)va_arg(Arguments, int);
                }

                if ((LONGLONG)Value < 0) {
                    IsNegative = TRUE;
                    Value = 0 - Value;
                }

                RtlpWriteNumber(Writer, &Field, Value, IsNegative, 10, FALSE);
                break;

            case 'u':
            case 'x':
            case 'X':
                if (NumberOfLongs == 2) {
                    Value = va_arg(Arguments, ULONGLONG);
                } else {
                    Value = va_arg(Arguments, ULONG);
                }

                RtlpWriteNumber(Writer,
                                &Field,
                                Value,
                                FALSE,
                                (*Format == 'u') ? 10U : 16U,
                                *Format == 'X');
                break;

            case 'p':
                Value = (ULONGLONG)(ULONG_PTR)va_arg(Arguments, PVOID);
                Field.HasPrecision = TRUE;
                Field.Precision = 2 * sizeof(PVOID);
                Field.GroupDigits = FALSE;
                RtlpWriteNumber(Writer, &Field, Value, FALSE, 16, TRUE);
                break;

            case 's':
            case 'T':
                RtlpWriteString(Writer,
                                &Field,
                                va_arg(Arguments, PCSZ),
                                *Format == 's');
                break;

            case 'S':
                Wide = va_arg(Arguments, PCWSTR);
                if (Wide == NULL) {
                    Wide = L"(null)";
                }
                RtlpWriteWideString(Writer, &Field, Wide, UINT32_MAX, TRUE);
                break;

            case 'Z':
                String = va_arg(Arguments, PCUNICODE_STRING);
                if (String == NULL) {
                    RtlpWriteString(Writer, &Field, NULL, TRUE);
                } else {
                    RtlpWriteWideString(Writer,
                                        &Field,
                                        String->Buffer,
                                        String->Length / sizeof(WCHAR),
                                        FALSE);
                }
                break;

            case 'c':
                RtlpWriteCharacter(Writer,
                                   &Field,
                                   (ULONG)va_arg(Arguments, int));
                break;

            case '%':
                RtlWriteBytes(Writer, "%", 1);
                break;

            case '\0':
                RtlWriteBytes(Writer, Start, (ULONG)(Format - Start));
                return;

            default:
                RtlWriteBytes(Writer, Start, (ULONG)(Format - Start) + 1);
                break;
        }

        Format++;
    }
}

_Use_decl_annotations_
VOID
RtlWriteText(
    PRTL_WRITER Writer,
    PCSZ Format,
    ...
    )
/*++

Routine Description:

    Writes formatted text.

Arguments:

    Writer - Supplies the writer.

    Format - Supplies the format, as Rtl.h describes it.

    ... - Supplies what the format converts.

Return Value:

    None.  A failure goes to the writer's Status.

--*/
{
    va_list Arguments;

    va_start(Arguments, Format);
    RtlWriteTextArguments(Writer, Format, Arguments);
    va_end(Arguments);
}

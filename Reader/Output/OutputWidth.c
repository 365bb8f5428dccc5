/*++

Module Name:

    OutputWidth.c

Abstract:

    How many cells of a terminal a character takes, and a text.

--*/

#include "OutputWidth.h"

#define READER_ELLIPSIS_TEXT "\xE2\x80\xA6"

typedef struct _READER_RANGE_OF_CHARACTERS {
    ULONG First;
    ULONG Last;
} READER_RANGE_OF_CHARACTERS;

//
// Unicode: characters that East_Asian_Width calls wide or fullwidth, and
// marks and format characters that take no cell, in whole blocks where most of
// a block is such.
//

static const READER_RANGE_OF_CHARACTERS ReaderWideCharacters[] = {
    { 0x1100, 0x115F }, { 0x231A, 0x231B }, { 0x2329, 0x232A },
    { 0x23E9, 0x23EC }, { 0x23F0, 0x23F0 }, { 0x23F3, 0x23F3 },
    { 0x25FD, 0x25FE }, { 0x2614, 0x2615 }, { 0x2648, 0x2653 },
    { 0x2E80, 0x3029 }, { 0x302E, 0x303E }, { 0x3041, 0x3098 },
    { 0x309B, 0x3247 }, { 0x3250, 0x4DBF }, { 0x4E00, 0xA4CF },
    { 0xA960, 0xA97F }, { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF },
    { 0xFE10, 0xFE19 }, { 0xFE30, 0xFE6F }, { 0xFF01, 0xFF60 },
    { 0xFFE0, 0xFFE6 }, { 0x16FE0, 0x18DFF }, { 0x1AFF0, 0x1B2FF },
    { 0x1F200, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C },
    { 0x1F37E, 0x1F393 }, { 0x1F3A0, 0x1F3CA }, { 0x1F3E0, 0x1F3F0 },
    { 0x1F3F8, 0x1F43E }, { 0x1F442, 0x1F4FC }, { 0x1F4FF, 0x1F53D },
    { 0x1F5FB, 0x1F64F }, { 0x1F680, 0x1F6C5 }, { 0x1F900, 0x1F9FF },
    { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD }
};

static const READER_RANGE_OF_CHARACTERS ReaderNarrowCharacters[] = {
    { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD },
    { 0x0610, 0x061A }, { 0x064B, 0x065F }, { 0x0670, 0x0670 },
    { 0x06D6, 0x06DC }, { 0x06DF, 0x06E4 }, { 0x1AB0, 0x1AFF },
    { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x202A, 0x202E },
    { 0x2060, 0x206F }, { 0x20D0, 0x20F0 }, { 0x302A, 0x302D },
    { 0x3099, 0x309A }, { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F },
    { 0xFEFF, 0xFEFF }, { 0xE0000, 0xE0FFF }
};


//
// Looks a character up in ascending ranges.
// Character: the code point.
//

static
BOOLEAN
OutputIsInRanges(
    _In_reads_(NumberOfRanges) const READER_RANGE_OF_CHARACTERS *Ranges,
    _In_ ULONG NumberOfRanges,
    _In_ ULONG Character
    )
{
    ULONG Low = 0;
    ULONG High = NumberOfRanges;
    ULONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Character > Ranges[Middle].Last) {
            Low = Middle + 1;
        } else if (Character < Ranges[Middle].First) {
            High = Middle;
        } else {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
ULONG
OutputQueryCharacterWidth(
    ULONG Character
    )
{
    if (Character < 0x300) {
        return 1;
    }

    if (OutputIsInRanges(ReaderNarrowCharacters,
                       RTL_NUMBER_OF(ReaderNarrowCharacters),
                       Character)) {
        return 0;
    }

    return OutputIsInRanges(ReaderWideCharacters,
                          RTL_NUMBER_OF(ReaderWideCharacters),
                          Character)
               ? 2u
               : 1u;
}


_Use_decl_annotations_
ULONG
OutputMeasureCells(
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONG Character;
    ULONG Cells = 0;
    ULONG Index = 0;

    while (Index < LengthInBytes) {
        Index += RtlDecodeUtf8(Text + Index, LengthInBytes - Index, &Character);
        Cells += OutputQueryCharacterWidth(Character);
    }

    return Cells;
}


//
// Finds how many bytes take at most so many cells.
// Cells: what they take.
//

static
ULONG
OutputFindCells(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Width,
    _Out_ PULONG Cells
    )
{
    ULONG Character;
    ULONG Index = 0;
    ULONG Length;
    ULONG Size;

    *Cells = 0;
    while (Index < LengthInBytes) {
        Length = RtlDecodeUtf8(Text + Index,
                               LengthInBytes - Index,
                               &Character);
        Size = OutputQueryCharacterWidth(Character);
        if (*Cells + Size > Width) {
            break;
        }

        *Cells += Size;
        Index += Length;
    }

    return Index;
}


//
// Finds where the end of a text begins that takes at most so many cells; marks
// that stand on a character that has no room go with it.
// Cells: what the text takes; receives what its end does.
//

static
ULONG
OutputFindEnd(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Width,
    _Inout_ PULONG Cells
    )
{
    ULONG Character;
    ULONG Index = 0;
    ULONG Length;
    ULONG Size;

    while (Index < LengthInBytes) {
        Length = RtlDecodeUtf8(Text + Index,
                               LengthInBytes - Index,
                               &Character);
        Size = OutputQueryCharacterWidth(Character);
        if (*Cells <= Width && Size != 0) {
            break;
        }

        *Cells -= Size;
        Index += Length;
    }

    return Index;
}


_Use_decl_annotations_
BOOLEAN
OutputFindCut(
    const CHAR *Text,
    ULONG LengthInBytes,
    ULONG Width,
    PULONG Head,
    PULONG Tail
    )
{
    ULONG Cells = OutputMeasureCells(Text, LengthInBytes);
    ULONG HeadCells;

    *Head = LengthInBytes;
    *Tail = LengthInBytes;
    if (Cells <= Width) {
        return FALSE;
    }

    //
    // One cell is the ellipsis; of an even rest the end has as much as the
    // beginning.
    //

    *Head = OutputFindCells(Text, LengthInBytes, Width / 2, &HeadCells);
    Cells -= HeadCells;
    *Tail = *Head + OutputFindEnd(Text + *Head,
                                  LengthInBytes - *Head,
                                  Width - HeadCells - 1,
                                  &Cells);
    return TRUE;
}


_Use_decl_annotations_
ULONG
OutputWriteShortened(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes,
    ULONG Width,
    ULONG Place
    )
{
    ULONG Head;
    ULONG Tail;
    ULONG Cells;
    ULONG Used;
    ULONG Rest;

    if (!OutputFindCut(Text, LengthInBytes, Width, &Head, &Tail)) {
        RtlWriteBytes(Writer, Text, LengthInBytes);
        return OutputMeasureCells(Text, LengthInBytes);
    }

    if (Place < Head || Place >= Tail || Width < READER_CUT_MINIMUM) {

        RtlWriteBytes(Writer, Text, Head);
        RtlWriteText(Writer, READER_ELLIPSIS_TEXT);
        RtlWriteBytes(Writer, Text + Tail, LengthInBytes - Tail);
        return OutputMeasureCells(Text, Head) + 1 +
               OutputMeasureCells(Text + Tail, LengthInBytes - Tail);
    }

    //
    // A shorter beginning, and what stands around the place: up to the end, or
    // with a second ellipsis.
    //

    Head = OutputFindCells(Text, Head, Width / 4, &Used);
    RtlWriteBytes(Writer, Text, Head);
    RtlWriteText(Writer, READER_ELLIPSIS_TEXT);
    Used += 1;
    Cells = OutputMeasureCells(Text + Head, LengthInBytes - Head);
    Tail = Head + OutputFindEnd(Text + Head,
                                LengthInBytes - Head,
                                Width - Used,
                                &Cells);
    if (Tail <= Place) {
        RtlWriteBytes(Writer, Text + Tail, LengthInBytes - Tail);
        return Used + Cells;
    }

    Rest = OutputMeasureCells(Text + Head, Place - Head);
    Tail = Head + OutputFindEnd(Text + Head,
                                Place - Head,
                                READER_CUT_BEFORE,
                                &Rest);
    Head = OutputFindCells(Text + Tail,
                           LengthInBytes - Tail,
                           Width - Used - 1,
                           &Cells);
    RtlWriteBytes(Writer, Text + Tail, Head);
    RtlWriteText(Writer, READER_ELLIPSIS_TEXT);
    return Used + Cells + 1;
}

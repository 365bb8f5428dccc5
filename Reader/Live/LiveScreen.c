/*++

Module Name:

    LiveScreen.c

Abstract:

    A screen of cells, and the control sequences that bring a terminal up to
    date with it: only lines that have changed are written.

    The sequences are those that Microsoft documents as console virtual
    terminal sequences (CUP, EL, SGR), which terminals elsewhere know, too.

--*/

#include "../../Rtl/Rtl.h"
#include "../../StringTable/StringTable.h"
#include "../Output/OutputWidth.h"
#include "LiveScreen.h"

//
// The most bytes that a cell takes: a change of style and a character; and
// what a line takes besides.
//

#define READER_BYTES_OF_CELL 16u
#define READER_BYTES_OF_LINE 32u

#define READER_ELLIPSIS 0x2026u
#define READER_REPLACEMENT 0xFFFDu

_Use_decl_annotations_
NTSTATUS
LiveResizeScreen(
    PREADER_SCREEN Screen,
    ULONG Width,
    ULONG Height
    )
{
    PCALLOCATOR Allocator = Screen->Allocator;
    PREADER_CELL Cells;
    PCHAR Bytes;
    SIZE_T Count;
    ULONG Capacity;

    if (Width == 0) {
        Width = 1;
    }

    if (Width > READER_SCREEN_MAXIMUM_WIDTH) {
        Width = READER_SCREEN_MAXIMUM_WIDTH;
    }

    if (Height == 0) {
        Height = 1;
    }

    if (Height > READER_SCREEN_MAXIMUM_HEIGHT) {
        Height = READER_SCREEN_MAXIMUM_HEIGHT;
    }

    if (Screen->Cells != NULL && Screen->Width == Width &&
        Screen->Height == Height) {
        return STATUS_SUCCESS;
    }

    Count = (SIZE_T)Width * Height;
    Capacity = Height * (Width * READER_BYTES_OF_CELL + READER_BYTES_OF_LINE) +
               READER_BYTES_OF_LINE;
    Cells = (PREADER_CELL)
        Allocator->Allocate(Allocator->Context,
                            2 * Count * sizeof(READER_CELL));
    Bytes = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Cells == NULL || Bytes == NULL) {
        Allocator->Free(Allocator->Context, Cells);
        Allocator->Free(Allocator->Context, Bytes);
        return STATUS_NO_MEMORY;
    }

    LiveRundownScreen(Screen);
    Screen->Width = Width;
    Screen->Height = Height;
    Screen->Cells = Cells;
    Screen->Shown = Cells + Count;
    Screen->Bytes = Bytes;
    Screen->CapacityInBytes = Capacity;
    Screen->IsAllChanged = TRUE;
    LiveClearScreen(Screen);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
LiveRundownScreen(
    PREADER_SCREEN Screen
    )
{
    PCALLOCATOR Allocator = Screen->Allocator;

    Allocator->Free(Allocator->Context, Screen->Cells);
    Allocator->Free(Allocator->Context, Screen->Bytes);
    Screen->Cells = NULL;
    Screen->Shown = NULL;
    Screen->Bytes = NULL;
    Screen->Width = 0;
    Screen->Height = 0;
}


_Use_decl_annotations_
VOID
LiveClearScreen(
    PREADER_SCREEN Screen
    )
{
    SIZE_T Index;

    for (Index = 0;
         Index < (SIZE_T)Screen->Width * Screen->Height;
         Index++) {
        Screen->Cells[Index].Character = ' ';
        Screen->Cells[Index].Style = ReaderStyleNormal;
    }
}


_Use_decl_annotations_
ULONG
LivePutOnScreen(
    PREADER_SCREEN Screen,
    ULONG X,
    ULONG Y,
    ULONG Width,
    READER_STYLE Style,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    PREADER_CELL Cells;
    ULONG Character;
    ULONG Size;
    ULONG Used = 0;
    ULONG LastUsed = 0;             // before the character that was put last
    ULONG Index = 0;

    if (Y >= Screen->Height || X >= Screen->Width) {
        return 0;
    }

    if (Width > Screen->Width - X) {
        Width = Screen->Width - X;
    }

    Cells = Screen->Cells + (SIZE_T)Y * Screen->Width + X;
    while (Index < LengthInBytes) {

        Index += RtlDecodeUtf8(Text + Index, LengthInBytes - Index, &Character);
        if (!RtlIsPrintable(Character)) {
            Character = READER_REPLACEMENT;
        }

        Size = OutputQueryCharacterWidth(Character);
        if (Size == 0) {
            continue;
        }

        if (Used + Size > Width) {

            //
            // The ellipsis takes the place of the last character if there is
            // no other.
            //

            if (Width == 0) {
                return 0;
            }

            if (Used == Width) {
                Used = LastUsed;
            }

            Cells[Used].Character = READER_ELLIPSIS;
            Cells[Used].Style = Style;
            for (Used += 1; Used < Width; Used++) {
                Cells[Used].Character = ' ';
                Cells[Used].Style = Style;
            }

            return Width;
        }

        LastUsed = Used;
        Cells[Used].Character = Character;
        Cells[Used].Style = Style;
        Used += 1;
        if (Size == 2) {
            Cells[Used].Character = 0;
            Cells[Used].Style = Style;
            Used += 1;
        }
    }

    return Used;
}


_Use_decl_annotations_
VOID
LiveStyleCells(
    PREADER_SCREEN Screen,
    ULONG X,
    ULONG Y,
    ULONG Width,
    READER_STYLE Style
    )
{
    PREADER_CELL Cells = Screen->Cells + (SIZE_T)Y * Screen->Width;
    ULONG Index;

    if (Y >= Screen->Height) {
        return;
    }

    for (Index = X; Index < Screen->Width && Index - X < Width; Index++) {
        Cells[Index].Style = Style;
    }
}


_Use_decl_annotations_
VOID
LiveStyleLine(
    PREADER_SCREEN Screen,
    ULONG Y,
    READER_STYLE Style
    )
{
    LiveStyleCells(Screen, 0, Y, Screen->Width, Style);
}


//
// Decides whether a line differs from what the terminal shows.
//

static
BOOLEAN
LiveIsLineChanged(
    _In_ PCREADER_SCREEN Screen,
    _In_ ULONG Y
    )
{
    SIZE_T Start = (SIZE_T)Y * Screen->Width;
    SIZE_T Index;

    if (Screen->IsAllChanged) {
        return TRUE;
    }

    for (Index = Start; Index < Start + Screen->Width; Index++) {
        if (Screen->Cells[Index].Character != Screen->Shown[Index].Character ||
            Screen->Cells[Index].Style != Screen->Shown[Index].Style) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
LiveFindChanges(
    PCREADER_SCREEN Screen,
    PULONG First,
    PULONG Last
    )
{
    BOOLEAN IsAny = FALSE;
    ULONG Y;

    *First = 0;
    *Last = 0;
    for (Y = 0; Y < Screen->Height; Y++) {
        if (LiveIsLineChanged(Screen, Y)) {
            if (!IsAny) {
                *First = Y;
            }

            *Last = Y;
            IsAny = TRUE;
        }
    }

    return IsAny;
}


//
// Writes the sequence for a style, which begins anew.
//

static
VOID
LiveRenderStyle(
    _In_ PCREADER_SCREEN Screen,
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Style
    )
{
    PCSZ Sequence;

    switch (Style) {

    case ReaderStyleBold:
        Sequence = "\x1b[0;1m";
        break;

    case ReaderStyleHeading:
        Sequence = "\x1b[0;7m";
        break;

    case ReaderStyleSelected:
        Sequence = "\x1b[0;1;7m";
        break;

    case ReaderStyleDim:
        Sequence = Screen->HasColor ? "\x1b[0;90m" : "\x1b[0m";
        break;

    case ReaderStyleWarning:
        Sequence = Screen->HasColor ? "\x1b[0;1;33m" : "\x1b[0;1m";
        break;

    case ReaderStyleGood:
        Sequence = Screen->HasColor ? "\x1b[0;32m" : "\x1b[0m";
        break;

    case ReaderStyleWarm:
        Sequence = Screen->HasColor ? "\x1b[0;33m" : "\x1b[0m";
        break;

    case ReaderStyleHot:
        Sequence = Screen->HasColor ? "\x1b[0;31m" : "\x1b[0m";
        break;

    default:
        Sequence = "\x1b[0m";
        break;
    }

    RtlWriteBytes(Writer, Sequence, RtlLengthOfString(Sequence));
}


//
// Writes a character as UTF-8.
// Character: the code point, not a surrogate.
//

static
VOID
LiveRenderCharacter(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Character
    )
{
    CHAR Bytes[4];
    ULONG Length;

    if (Character < 0x80) {
        Bytes[0] = (CHAR)Character;
        Length = 1;
    } else if (Character < 0x800) {
        Bytes[0] = (CHAR)(0xC0 | (Character >> 6));
        Bytes[1] = (CHAR)(0x80 | (Character & 0x3F));
        Length = 2;
    } else if (Character < 0x10000) {
        Bytes[0] = (CHAR)(0xE0 | (Character >> 12));
        Bytes[1] = (CHAR)(0x80 | ((Character >> 6) & 0x3F));
        Bytes[2] = (CHAR)(0x80 | (Character & 0x3F));
        Length = 3;
    } else {
        Bytes[0] = (CHAR)(0xF0 | (Character >> 18));
        Bytes[1] = (CHAR)(0x80 | ((Character >> 12) & 0x3F));
        Bytes[2] = (CHAR)(0x80 | ((Character >> 6) & 0x3F));
        Bytes[3] = (CHAR)(0x80 | (Character & 0x3F));
        Length = 4;
    }

    RtlWriteBytes(Writer, Bytes, Length);
}


_Use_decl_annotations_
ULONG
LiveRenderScreen(
    PREADER_SCREEN Screen
    )
{
    RTL_WRITER Writer;
    PREADER_CELL Cells;
    ULONG Style = ReaderStyleNormal;
    ULONG Used;
    ULONG X;
    ULONG Y;

    RtlInitializeBufferWriter(&Writer,
                              Screen->Bytes,
                              Screen->CapacityInBytes);
    for (Y = 0; Y < Screen->Height; Y++) {

        if (!LiveIsLineChanged(Screen, Y)) {
            continue;
        }

        Cells = Screen->Cells + (SIZE_T)Y * Screen->Width;
        RtlWriteText(&Writer, "\x1b[%u;1H", Y + 1);
        Used = Screen->Width;
        while (Used != 0 && Cells[Used - 1].Character == ' ' &&
               Cells[Used - 1].Style == ReaderStyleNormal) {
            Used -= 1;
        }

        for (X = 0; X < Used; X++) {
            if (Cells[X].Character == 0) {
                continue;
            }

            if (Cells[X].Style != Style) {
                Style = Cells[X].Style;
                LiveRenderStyle(Screen, &Writer, Style);
            }

            LiveRenderCharacter(&Writer, Cells[X].Character);
        }

        if (Used < Screen->Width) {
            if (Style != ReaderStyleNormal) {
                Style = ReaderStyleNormal;
                LiveRenderStyle(Screen, &Writer, Style);
            }

            RtlWriteText(&Writer, "\x1b[K");
        }

        RtlCopyBytes(Screen->Shown + (SIZE_T)Y * Screen->Width,
                     Cells,
                     Screen->Width * sizeof(READER_CELL));
    }

    if (Style != ReaderStyleNormal) {
        LiveRenderStyle(Screen, &Writer, ReaderStyleNormal);
    }

    Screen->IsAllChanged = FALSE;
    return Writer.LengthInBytes;
}

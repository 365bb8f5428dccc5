/*++

Module Name:

    LiveScreen.h

Abstract:

    A screen of cells, and how it gets to a terminal.

--*/

#ifndef TRACER_LIVE_SCREEN_H
#define TRACER_LIVE_SCREEN_H

#include "../../Rtl/Allocator.h"

#define READER_SCREEN_MAXIMUM_WIDTH 1000u
#define READER_SCREEN_MAXIMUM_HEIGHT 500u

typedef enum _READER_STYLE {
    ReaderStyleNormal = 0,
    ReaderStyleBold,
    ReaderStyleHeading,             // inverse
    ReaderStyleSelected,            // inverse and bold
    ReaderStyleDim,
    ReaderStyleWarning,             // bold, in a color if there are any
    ReaderStyleGood,                // these three like normal, unless there
    ReaderStyleWarm,                // are colors
    ReaderStyleHot
} READER_STYLE;

typedef struct _READER_CELL {
    ULONG Character;                // code point; 0: the right half of the
                                    // character before it
    ULONG Style;                    // READER_STYLE
} READER_CELL;
typedef READER_CELL *PREADER_CELL;
typedef const READER_CELL *PCREADER_CELL;

typedef struct _READER_SCREEN {
    PCALLOCATOR Allocator;
    ULONG Width;                    // cells
    ULONG Height;
    PREADER_CELL Cells;             // what is to be shown
    PREADER_CELL Shown;             // what the terminal shows
    PCHAR Bytes;                    // for a refresh, large enough for all
    ULONG CapacityInBytes;
    BOOLEAN IsAllChanged;           // nobody knows what the terminal shows
    BOOLEAN HasColor;
} READER_SCREEN;
typedef READER_SCREEN *PREADER_SCREEN;
typedef const READER_SCREEN *PCREADER_SCREEN;

//
// Gives a screen a size (from 1 x 1 to the largest); it is then blank.
// Screen: the screen; Allocator is set, and the rest zero at first.
// Width, Height: in cells.
// Returns STATUS_SUCCESS, or STATUS_NO_MEMORY and the screen is as it was.
//

_Must_inspect_result_
NTSTATUS
LiveResizeScreen(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Width,
    _In_ ULONG Height
    );

//
// Frees what a screen holds.
// Screen: the screen; it has no size then.
//

VOID
LiveRundownScreen(
    _Inout_ PREADER_SCREEN Screen
    );

//
// Makes all cells blank.
//

VOID
LiveClearScreen(
    _Inout_ PREADER_SCREEN Screen
    );

//
// Puts UTF-8 on a line, from column X on and over at most Width cells; what
// does not fit is cut, and an ellipsis says so.  Control characters and
// ill-formed bytes are replaced, characters without a width left out.  Returns
// the number of cells.
//
// X, Y: where; nothing happens outside of the screen.
// Width: how many cells it may take.
//

ULONG
LivePutOnScreen(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG X,
    _In_ ULONG Y,
    _In_ ULONG Width,
    _In_ READER_STYLE Style,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Gives a whole line a style.
// Y: the line; nothing happens outside of the screen.
//

VOID
LiveStyleLine(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_ READER_STYLE Style
    );

//
// Gives cells of a line a style; outside of the screen nothing happens.
//

VOID
LiveStyleCells(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG X,
    _In_ ULONG Y,
    _In_ ULONG Width,
    _In_ READER_STYLE Style
    );

//
// The lines that differ from what the terminal shows.  FALSE: none does.
//

BOOLEAN
LiveFindChanges(
    _In_ PCREADER_SCREEN Screen,
    _Out_ PULONG First,
    _Out_ PULONG Last
    );

//
// Makes the control sequences that bring a terminal up to date, in Bytes, and
// takes the lines for shown.
// Returns the number of bytes; 0: nothing has changed.
//

ULONG
LiveRenderScreen(
    _Inout_ PREADER_SCREEN Screen
    );

#endif // TRACER_LIVE_SCREEN_H

/*++

Module Name:

    OutputGrid.c

Abstract:

    Tables of text that fit a width.  The first rows are kept until they fill
    the room that there is, or until the table ends.  Then the layout is made:
    columns get the width that their cells need; those without a value in the
    whole table are left out; and as long as the function's name has too little
    room, so are those that matter least.  What is too long is shortened in its
    middle.  Rows that come later are laid out in the same way.

--*/

#include "../Base/BaseContainer.h"
#include "OutputGrid.h"
#include "OutputTable.h"
#include "OutputWidth.h"

#define READER_GRID_CELLS       0x8000u
#define READER_GRID_TEXT        0x200000u   // bytes
#define READER_GRID_ROW         0x40000u    // that must be free for a row
#define READER_GRID_COLUMNS     64u
#define READER_GRID_GAP         2u
#define READER_GRID_NAME        24u         // cells that a name should have
#define READER_GRID_OTHER_TEXT  32u         // and that another text may have
#define READER_GRID_SHARE       7u          // "Total %"
#define READER_GRID_BAR         10u
#define READER_GRID_NONE        0xFFFFFFFFu

//
// What is drawn: the parts of a bar, and the lines of a tree.
//

#define READER_BAR_FULL     "\xE2\x96\x88"
#define READER_BAR_HALF     "\xE2\x96\x8C"
#define READER_TREE_PASSED  "\xE2\x94\x82 "
#define READER_TREE_MIDDLE  "\xE2\x94\x9C\xE2\x94\x80"
#define READER_TREE_LAST    "\xE2\x94\x94\xE2\x94\x80"

typedef struct _READER_GRID_CELL {
    ULONG Start;                    // in the text
    ULONG Length;                   // bytes
    ULONG Depth;
    ULONG Cells;                    // without the depth
    ULONG Head;                     // of a name that is cut: the bytes before
    ULONG Tail;                     // the cut, and where it ends
    ULONG Place;                    // what is not to be cut out; 0: anything
    ULONGLONG Value;
    ULONGLONG Levels;               // bit N: there is a later row of level N
                                    // below the same one
} READER_GRID_CELL;
typedef READER_GRID_CELL *PREADER_GRID_CELL;

typedef struct _READER_GRID_COLUMN {
    PCREADER_COLUMN Column;
    ULONG Index;                    // in the table
    ULONG Width;                    // cells
    BOOLEAN IsText;
    BOOLEAN IsShown;
    BOOLEAN IsLeftOut;              // for the width
} READER_GRID_COLUMN;
typedef READER_GRID_COLUMN *PREADER_GRID_COLUMN;

struct _READER_GRID {
    ULONG Width;
    PCSZ Kept;
    PRTL_WRITER Writer;             // the document's
    RTL_WRITER Cell;                // over Text
    ULONG Start;                    // the cell's, in Text
    ULONG NumberOfCells;
    ULONG NumberOfColumns;
    ULONG Share;                    // these two indexes of Columns, or none
    ULONG Name;
    ULONGLONG Whole;
    BOOLEAN IsLaidOut;
    BOOLEAN IsWhole;                // all rows were there for the layout
    BOOLEAN HasShare;
    BOOLEAN HasBar;
    READER_GRID_COLUMN Columns[READER_GRID_COLUMNS];
    READER_GRID_CELL Cells[READER_GRID_CELLS];
    ULONG Order[READER_GRID_CELLS]; // cells, while names are told apart
    CHAR Text[READER_GRID_TEXT];
};

_Use_decl_annotations_
PREADER_GRID
OutputCreateGrid(
    PCALLOCATOR Allocator,
    ULONG Width,
    PCSZ Kept
    )
{
    PREADER_GRID Grid = (PREADER_GRID)
        Allocator->Allocate(Allocator->Context, sizeof(READER_GRID));

    if (Grid != NULL) {
        Grid->Width = Width;
        Grid->Kept = Kept;
    }

    return Grid;
}


//
// Makes room for rows.
//

static
VOID
OutputEmptyGrid(
    _Inout_ PREADER_GRID Grid
    )
{
    RtlInitializeBufferWriter(&Grid->Cell, Grid->Text, sizeof(Grid->Text));
    Grid->Start = 0;
    Grid->NumberOfCells = 0;
}


_Use_decl_annotations_
VOID
OutputBeginGrid(
    PREADER_GRID Grid,
    PREADER_GRID_OUTPUT Output
    )
{
    PCREADER_TABLE Table = Output->Table;
    PREADER_GRID_COLUMN Column;
    ULONG Index;

    Grid->Writer = Output->Writer;
    Grid->NumberOfColumns = 0;
    Grid->Share = READER_GRID_NONE;
    Grid->Name = READER_GRID_NONE;
    Grid->Whole = Output->Whole;
    Grid->IsLaidOut = FALSE;
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        if ((Output->HiddenColumns & (1ULL << Index)) != 0) {
            continue;
        }

        Column = &Grid->Columns[Grid->NumberOfColumns];
        Column->Column = &Table->Columns[Index];
        Column->Index = Index;
        Column->IsText = READER_IS_TEXT_COLUMN(Column->Column);
        Column->IsShown = TRUE;
        Column->IsLeftOut = FALSE;
        if (Column->IsText &&
            (Grid->Name == READER_GRID_NONE ||
             !RtlAreStringsEqual(Grid->Columns[Grid->Name].Column->Title,
                                 "Function"))) {
            Grid->Name = Grid->NumberOfColumns;
        }

        if (Output->WholeField != NULL &&
            RtlAreStringsEqual(Column->Column->Field, Output->WholeField)) {
            Grid->Share = Grid->NumberOfColumns;
        }

        Grid->NumberOfColumns += 1;
    }

    OutputEmptyGrid(Grid);
    Output->Grid = Grid;
    Output->Writer = &Grid->Cell;
}


_Use_decl_annotations_
VOID
OutputEndGridCell(
    PREADER_GRID_OUTPUT Output,
    ULONGLONG Value,
    ULONG Depth
    )
{
    PREADER_GRID Grid = Output->Grid;
    PREADER_GRID_CELL Cell = &Grid->Cells[Grid->NumberOfCells];
    ULONG End = Grid->Cell.LengthInBytes;

    while (Grid->Start < End && Grid->Text[Grid->Start] == ' ') {
        Grid->Start += 1;
    }

    while (Grid->Start < End && Grid->Text[End - 1] == ' ') {
        End -= 1;
    }

    Cell->Start = Grid->Start;
    Cell->Length = End - Grid->Start;
    Cell->Cells = OutputMeasureCells(Grid->Text + Cell->Start, Cell->Length);
    Cell->Depth = Depth;
    Cell->Value = Value;
    Cell->Levels = 0;
    Cell->Place = 0;
    Grid->NumberOfCells += 1;
    Grid->Start = Grid->Cell.LengthInBytes;
}


//
// Says how many cells what is before a name takes at the least.
//

static
ULONG
OutputQueryIndentation(
    _In_ ULONG Depth
    )
{
    return Depth <= 60 ? 2 * Depth : 13;
}


//
// Decides for a column what its cells need, and whether any has a value.
// Returns TRUE if one has.
//

static
BOOLEAN
OutputMeasureColumn(
    _Inout_ PREADER_GRID Grid,
    _In_ ULONG Index
    )
{
    PREADER_GRID_COLUMN Column = &Grid->Columns[Index];
    PREADER_GRID_CELL Cell;
    BOOLEAN HasValue = Column->IsText;
    ULONG Width;
    ULONG Number;

    Column->Width = OutputMeasureCells(Column->Column->Title,
                                       RtlLengthOfString(
                                           Column->Column->Title));
    for (Number = Index;
         Number < Grid->NumberOfCells;
         Number += Grid->NumberOfColumns) {

        Cell = &Grid->Cells[Number];
        Width = Cell->Cells + OutputQueryIndentation(Cell->Depth);
        if (Width > Column->Width) {
            Column->Width = Width;
        }

        if (Cell->Value != 0) {
            HasValue = TRUE;
        }
    }

    if (Column->IsText && Index != Grid->Name &&
        Column->Width > READER_GRID_OTHER_TEXT) {
        Column->Width = READER_GRID_OTHER_TEXT;
    }

    return HasValue;
}


//
// Adds up what the columns take but the name.
//

static
ULONG
OutputAddWidths(
    _In_ const READER_GRID *Grid
    )
{
    ULONG Width = 0;
    ULONG Index;

    for (Index = 0; Index < Grid->NumberOfColumns; Index++) {
        if (Grid->Columns[Index].IsShown && Index != Grid->Name) {
            Width += Grid->Columns[Index].Width + READER_GRID_GAP;
        }
    }

    return Width +
           (Grid->HasShare ? READER_GRID_SHARE + READER_GRID_GAP : 0) +
           (Grid->HasBar ? READER_GRID_BAR + READER_GRID_GAP : 0);
}


//
// Says how soon a column is left out: 0: never; the largest first.
//

static
ULONG
OutputRankColumn(
    _In_ const READER_GRID *Grid,
    _In_ ULONG Index
    )
{
    const READER_GRID_COLUMN *Column = &Grid->Columns[Index];
    ULONG Rank;

    if (!Column->IsShown || Index == Grid->Name || Index == 0) {
        return 0;
    }

    if ((Column->Column->Flags & READER_COLUMN_LESSER) != 0) {
        Rank = 5;
    } else if (Column->IsText ||
               (Column->Column->Flags & READER_COLUMN_ASKED) != 0) {
        Rank = 2;
    } else if ((Column->Column->Flags & READER_COLUMN_WHEN) != 0) {
        Rank = 3;
    } else {
        Rank = 4;
    }

    if (Index == Grid->Share ||
        RtlAreStringsEqual(Column->Column->Field, Grid->Kept)) {
        Rank = 1;
    }

    return Rank * READER_GRID_COLUMNS + Index;
}


//
// Leaves out what has to be, until the name has its room.
//

static
VOID
OutputFitColumns(
    _Inout_ PREADER_GRID Grid
    )
{
    ULONG Least = 0;
    ULONG Worst;
    ULONG Rank;
    ULONG Found;
    ULONG Index;

    if (Grid->Name != READER_GRID_NONE) {
        Least = Grid->Width / 3 > READER_GRID_NAME ? Grid->Width / 3
                                                   : READER_GRID_NAME;
        if (Least > Grid->Columns[Grid->Name].Width) {
            Least = Grid->Columns[Grid->Name].Width;
        }
    }

    for (;;) {

        Worst = 0;
        Found = 0;
        if (OutputAddWidths(Grid) + Least <= Grid->Width) {
            return;
        }

        for (Index = 0; Index < Grid->NumberOfColumns; Index++) {
            Rank = OutputRankColumn(Grid, Index);
            if (Rank > Worst) {
                Worst = Rank;
                Found = Index;
            }
        }

        //
        // A bar says nothing that the share does not.
        //

        if (Grid->HasBar && Worst < 5 * READER_GRID_COLUMNS) {
            Grid->HasBar = FALSE;
        } else if (Worst != 0) {
            Grid->Columns[Found].IsShown = FALSE;
            Grid->Columns[Found].IsLeftOut = TRUE;
        } else if (Grid->HasShare) {
            Grid->HasShare = FALSE;
        } else {
            return;
        }
    }
}


//
// Finds, for lines of a tree, below which levels more rows follow.
//

static
VOID
OutputFindLevels(
    _Inout_ PREADER_GRID Grid
    )
{
    PREADER_GRID_CELL Cell;
    ULONGLONG Levels = 0;
    ULONG Row = Grid->NumberOfCells / Grid->NumberOfColumns;
    ULONG Depth;

    while (Row != 0) {
        Row -= 1;
        Cell = &Grid->Cells[Row * Grid->NumberOfColumns + Grid->Name];
        Depth = Cell->Depth < 63 ? Cell->Depth : 63;
        Cell->Levels = Levels;
        Levels = (Levels & ((1ULL << Depth) - 1)) | 1ULL << Depth;
    }
}


//
// Writes blanks.
//

static
VOID
OutputWriteBlanks(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Count
    )
{
    RtlWriteText(Writer, "%*s", (int)Count, "");
}


//
// Writes a share as a number, and as a bar that is never longer than it.
//

static
VOID
OutputWriteShare(
    _In_ const READER_GRID *Grid,
    _In_ ULONGLONG Value
    )
{
    PRTL_WRITER Writer = Grid->Writer;
    ULONGLONG Thousandths;
    ULONG Halves;
    ULONG Index;

    Thousandths = Value >= Grid->Whole
                      ? 1000
                      : CoreMultiplyDivide(Value, 1000, Grid->Whole);
    Halves = (ULONG)(Thousandths * 2 * READER_GRID_BAR / 1000);
    RtlWriteText(Writer,
                 "%4llu.%llu%%  ",
                 Thousandths / 10,
                 Thousandths % 10);
    if (!Grid->HasBar) {
        return;
    }

    if (Halves != 0) {
        OutputSetColor(Writer, ReaderColorBar);
        for (Index = 0; Index < Halves / 2; Index++) {
            RtlWriteText(Writer, READER_BAR_FULL);
        }

        RtlWriteText(Writer, Halves % 2 != 0 ? READER_BAR_HALF : "");
        OutputSetColor(Writer, ReaderColorNone);
    }

    OutputWriteBlanks(Writer,
                      READER_GRID_BAR - Halves / 2 - Halves % 2 +
                          READER_GRID_GAP);
}


//
// Writes what stands before a name: the lines of a tree, or its level where
// they would leave the name no room.  Returns the cells.
//

static
ULONG
OutputWriteBranch(
    _In_ const READER_GRID *Grid,
    _In_ const READER_GRID_CELL *Cell,
    _In_ ULONG Width
    )
{
    PRTL_WRITER Writer = Grid->Writer;
    RTL_WRITER Level;
    CHAR Text[16];
    ULONG Index;

    if (Cell->Depth == 0) {
        return 0;
    }

    if (Cell->Depth > 60 ||
        (4 * Cell->Depth > Width && 2 * Cell->Depth + Cell->Cells > Width)) {
        RtlInitializeBufferWriter(&Level, Text, sizeof(Text));
        RtlWriteText(&Level, "[%u] ", Cell->Depth);
        if (Level.LengthInBytes >= Width) {
            return 0;
        }

        Index = Width / 2 > Level.LengthInBytes
                    ? Width / 2 - Level.LengthInBytes
                    : 0;
        OutputWriteBlanks(Writer, Index);
        RtlWriteBytes(Writer, Text, Level.LengthInBytes);
        return Index + Level.LengthInBytes;
    }

    OutputSetColor(Writer, ReaderColorFaint);
    for (Index = 1; Index <= Cell->Depth; Index++) {
        if (!Grid->IsWhole) {
            RtlWriteText(Writer, "  ");
        } else if ((Cell->Levels & (1ULL << Index)) != 0) {
            RtlWriteText(Writer,
                         Index == Cell->Depth ? READER_TREE_MIDDLE
                                              : READER_TREE_PASSED);
        } else {
            RtlWriteText(Writer, Index == Cell->Depth ? READER_TREE_LAST
                                                      : "  ");
        }
    }

    OutputSetColor(Writer, ReaderColorNone);
    return 2 * Cell->Depth;
}


//
// The colour of a difference.
//

static
READER_COLOR
OutputColorOfCell(
    _In_ const READER_GRID_COLUMN *Column,
    _In_ const READER_GRID_CELL *Cell
    )
{
    if ((Column->Column->Type != ReaderColumnSigned &&
         Column->Column->Type != ReaderColumnSignedTime) ||
        Cell->Value == 0) {
        return ReaderColorNone;
    }

    return (LONGLONG)Cell->Value > 0 ? ReaderColorMore : ReaderColorLess;
}


//
// Writes a row, or the titles.
// Cells: the row's; NULL: the titles.
//

static
VOID
OutputWriteGridRow(
    _In_ const READER_GRID *Grid,
    _In_opt_ const READER_GRID_CELL *Cells
    )
{
    PRTL_WRITER Writer = Grid->Writer;
    const READER_GRID_COLUMN *Column;
    PCSZ Text;
    ULONG Length;
    ULONG Width;
    ULONG Used;
    ULONG Size;
    ULONG Position = 0;
    ULONG Last = 0;
    ULONG Index;
    BOOLEAN HasShare = Grid->HasShare;
    READER_COLOR Color;

    if (Cells == NULL) {
        OutputSetColor(Writer, ReaderColorTitle);
    }

    for (Index = 0; Index < Grid->NumberOfColumns; Index++) {
        if (Grid->Columns[Index].IsShown) {
            Last = Index;
        }
    }

    for (Index = 0; Index <= Last; Index++) {

        Column = &Grid->Columns[Index];
        if (!Column->IsShown) {
            continue;
        }

        //
        // The share stands before the first text.
        //

        if (HasShare && Column->IsText) {
            HasShare = FALSE;
            if (Cells != NULL) {
                OutputWriteShare(Grid, Cells[Grid->Share].Value);
            } else {
                Text = Grid->Columns[Grid->Share].Column->Title;
                OutputWriteBlanks(Writer,
                                  READER_GRID_SHARE - 2 -
                                      RtlLengthOfString(Text));
                RtlWriteText(Writer, "%s %%", Text);
                OutputWriteBlanks(Writer,
                                  READER_GRID_GAP +
                                      (Grid->HasBar ? READER_GRID_BAR +
                                                          READER_GRID_GAP
                                                    : 0));
            }

            Position += READER_GRID_SHARE + READER_GRID_GAP +
                        (Grid->HasBar ? READER_GRID_BAR + READER_GRID_GAP
                                      : 0);
        }

        if (Cells != NULL) {
            Text = Grid->Text + Cells[Index].Start;
            Length = Cells[Index].Length;
        } else {
            Text = Column->Column->Title;
            Length = RtlLengthOfString(Text);
        }

        Width = Column->Width;
        if (Index == Last && Position < Grid->Width &&
            Width > Grid->Width - Position) {
            Width = Grid->Width - Position;
        }

        if (!Column->IsText) {
            Size = OutputMeasureCells(Text, Length);
            Used = Size < Width ? Width - Size : 0;
            OutputWriteBlanks(Writer, Used);
            Color = Cells != NULL ? OutputColorOfCell(Column, &Cells[Index])
                                  : ReaderColorNone;
            if (Color != ReaderColorNone) {
                OutputSetColor(Writer, Color);
            }

            RtlWriteBytes(Writer, Text, Length);
            if (Color != ReaderColorNone) {
                OutputSetColor(Writer, ReaderColorNone);
            }

            Used += Size;
        } else {
            Used = Cells != NULL && Index == Grid->Name
                       ? OutputWriteBranch(Grid, &Cells[Index], Width)
                       : 0;
            Used += OutputWriteShortened(Writer,
                                         Text,
                                         Length,
                                         Width - Used,
                                         Cells != NULL ? Cells[Index].Place
                                                       : 0);
        }

        Position += Used;
        if (Index != Last) {
            Size = (Used < Width ? Width - Used : 0) + READER_GRID_GAP;
            OutputWriteBlanks(Writer, Size);
            Position += Size;
        }
    }

    if (Cells == NULL) {
        OutputSetColor(Writer, ReaderColorNone);
    }

    RtlWriteText(Writer, "\n");
}


//
// Orders two names that are cut: those that look the same stand together, by
// the whole names.
//

static
LONG
OutputCompareCut(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    const READER_GRID *Grid = (const READER_GRID *)Context;
    const READER_GRID_CELL *One = &Grid->Cells[First];
    const READER_GRID_CELL *Other = &Grid->Cells[Second];
    LONG Order;

    Order = BaseCompareText(Grid->Text + One->Start,
                            One->Head,
                            Grid->Text + Other->Start,
                            Other->Head);
    if (Order == 0) {
        Order = BaseCompareText(Grid->Text + One->Start + One->Tail,
                                One->Length - One->Tail,
                                Grid->Text + Other->Start + Other->Tail,
                                Other->Length - Other->Tail);
    }

    return Order != 0 ? Order
                      : BaseCompareText(Grid->Text + One->Start,
                                        One->Length,
                                        Grid->Text + Other->Start,
                                        Other->Length);
}


//
// Finds where two names differ that would look the same.
// Returns 0 if they look different, or are the same.
//

static
ULONG
OutputFindDifference(
    _In_ const READER_GRID *Grid,
    _In_ const READER_GRID_CELL *One,
    _In_ const READER_GRID_CELL *Other
    )
{
    const CHAR *Text = Grid->Text;
    ULONG Index = 0;

    if (One->Head != Other->Head ||
        One->Length - One->Tail != Other->Length - Other->Tail ||
        !RtlAreBytesEqual(Text + One->Start + One->Tail,
                          Text + Other->Start + Other->Tail,
                          One->Length - One->Tail)) {
        return 0;
    }

    while (Index < One->Length && Index < Other->Length &&
           Text[One->Start + Index] == Text[Other->Start + Index]) {
        Index += 1;
    }

    if (Index < One->Head || (Index == One->Length && Index == Other->Length)) {
        return 0;
    }

    while (Index != 0 && (Text[One->Start + Index] & 0xC0) == 0x80) {
        Index -= 1;
    }

    return Index;
}


//
// Of names that would look the same when they are cut in the middle, what tells
// them apart stays.
//

static
VOID
OutputTellApart(
    _Inout_ PREADER_GRID Grid
    )
{
    PREADER_GRID_CELL Cell;
    PREADER_GRID_CELL Before;
    ULONG Width = Grid->Columns[Grid->Name].Width;
    ULONG Count = 0;
    ULONG Index;
    ULONG Place;

    for (Index = Grid->Name;
         Index < Grid->NumberOfCells;
         Index += Grid->NumberOfColumns) {

        Cell = &Grid->Cells[Index];
        Cell->Place = 0;
        if (2 * Cell->Depth + 1 < Width &&
            OutputFindCut(Grid->Text + Cell->Start,
                          Cell->Length,
                          Width - 2 * Cell->Depth,
                          &Cell->Head,
                          &Cell->Tail)) {
            Grid->Order[Count] = Index;
            Count += 1;
        }
    }

    //
    // Of three, the one in the middle is told apart from the one that it has
    // more in common with.
    //

    BaseSort(Grid->Order, Count, OutputCompareCut, Grid);
    for (Index = 1; Index < Count; Index++) {

        Before = &Grid->Cells[Grid->Order[Index - 1]];
        Cell = &Grid->Cells[Grid->Order[Index]];
        Place = OutputFindDifference(Grid, Before, Cell);
        if (Place == 0) {
            continue;
        }

        Cell->Place = Place;
        if (Place > Before->Place) {
            Before->Place = Place;
        }
    }

    //
    // What is the same name is cut in the same way.
    //

    for (Index = 1; Index < Count; Index++) {
        Before = &Grid->Cells[Grid->Order[Index - 1]];
        Cell = &Grid->Cells[Grid->Order[Index]];
        if (Cell->Place < Before->Place &&
            OutputCompareCut(Grid,
                             Grid->Order[Index - 1],
                             Grid->Order[Index]) == 0) {
            Cell->Place = Before->Place;
        }
    }

    for (Index = Count; Index > 1; Index--) {
        Before = &Grid->Cells[Grid->Order[Index - 2]];
        Cell = &Grid->Cells[Grid->Order[Index - 1]];
        if (Before->Place < Cell->Place &&
            OutputCompareCut(Grid,
                             Grid->Order[Index - 2],
                             Grid->Order[Index - 1]) == 0) {
            Before->Place = Cell->Place;
        }
    }
}


//
// Makes the layout, once, and writes the rows that there are.
// IsWhole: there are no more.
//

static
VOID
OutputWriteGrid(
    _Inout_ PREADER_GRID Grid,
    _In_ BOOLEAN IsWhole
    )
{
    PREADER_GRID_COLUMN Column;
    ULONG Fixed;
    ULONG Index;

    if (Grid->NumberOfColumns == 0) {
        return;
    }

    if (!Grid->IsLaidOut) {

        Grid->IsLaidOut = TRUE;
        Grid->IsWhole = IsWhole;
        Grid->HasShare = Grid->Share != READER_GRID_NONE && Grid->Whole != 0 &&
                         Grid->Name != READER_GRID_NONE;
        Grid->HasBar = Grid->HasShare;
        for (Index = 0; Index < Grid->NumberOfColumns; Index++) {
            Column = &Grid->Columns[Index];
            if (!OutputMeasureColumn(Grid, Index) && IsWhole && Index != 0 &&
                (Column->Column->Flags & READER_COLUMN_WHEN) == 0 &&
                !RtlAreStringsEqual(Column->Column->Field, Grid->Kept)) {
                Column->IsShown = FALSE;
            }
        }

        OutputFitColumns(Grid);
        if (Grid->Name != READER_GRID_NONE) {
            Column = &Grid->Columns[Grid->Name];
            Fixed = OutputAddWidths(Grid);
            if (Fixed >= Grid->Width) {
                Column->Width = 1;
            } else if (Column->Width > Grid->Width - Fixed) {
                Column->Width = Grid->Width - Fixed;
            }
        }

        OutputWriteGridRow(Grid, NULL);
    }

    if (Grid->IsWhole && Grid->Name != READER_GRID_NONE) {
        OutputFindLevels(Grid);
        OutputTellApart(Grid);
    }

    for (Index = 0;
         Index + Grid->NumberOfColumns <= Grid->NumberOfCells;
         Index += Grid->NumberOfColumns) {
        OutputWriteGridRow(Grid, &Grid->Cells[Index]);
    }

    OutputEmptyGrid(Grid);
}


_Use_decl_annotations_
VOID
OutputEndGridRow(
    PREADER_GRID_OUTPUT Output
    )
{
    PREADER_GRID Grid = Output->Grid;

    if (Grid->NumberOfCells + Grid->NumberOfColumns > READER_GRID_CELLS ||
        Grid->Cell.LengthInBytes > READER_GRID_TEXT - READER_GRID_ROW) {
        OutputWriteGrid(Grid, FALSE);
    }
}


_Use_decl_annotations_
VOID
OutputEndGrid(
    PREADER_GRID_OUTPUT Output
    )
{
    PREADER_GRID Grid = Output->Grid;
    RTL_WRITER Line;
    CHAR Text[512];
    BOOLEAN IsAny = FALSE;
    ULONG Index;

    OutputWriteGrid(Grid, TRUE);
    RtlInitializeBufferWriter(&Line, Text, sizeof(Text) - 1);
    RtlWriteText(&Line, "Not shown, for the width (--width): ");
    for (Index = 0; Index < Grid->NumberOfColumns; Index++) {
        if (Grid->Columns[Index].IsLeftOut) {
            RtlWriteText(&Line,
                         "%s%s",
                         IsAny ? ", " : "",
                         Grid->Columns[Index].Column->Title);
            IsAny = TRUE;
        }
    }

    if (IsAny) {
        Text[Line.LengthInBytes] = 0;
        OutputWriteWrapped(Grid, Grid->Writer, Text);
    }

    Output->Writer = Grid->Writer;
    Output->Grid = NULL;
}


//
// Writes a line of a note, in which the note's own ends of lines are blanks.
//

static
VOID
OutputWriteJoined(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) PCSZ Line,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        RtlWriteBytes(Writer, Line[Index] == '\n' ? " " : Line + Index, 1);
    }

    RtlWriteText(Writer, "\n");
}


_Use_decl_annotations_
VOID
OutputWriteWrapped(
    const READER_GRID *Grid,
    PRTL_WRITER Writer,
    PCSZ Line
    )
{
    ULONG Length = RtlLengthOfString(Line);
    ULONG Start = 0;
    ULONG End;

    while (OutputMeasureCells(Line + Start, Length - Start) > Grid->Width) {

        //
        // Notes are ASCII; a word that is wider than the screen stays whole.
        //

        End = Start + Grid->Width;
        while (End > Start && Line[End] != ' ' && Line[End] != '\n') {
            End -= 1;
        }

        if (End == Start) {
            break;
        }

        OutputWriteJoined(Writer, Line + Start, End - Start);
        while (Line[End] == ' ' || Line[End] == '\n') {
            End += 1;
        }

        Start = End;
    }

    OutputWriteJoined(Writer, Line + Start, Length - Start);
}

/*++

Module Name:

    OutputGrid.h

Abstract:

    Tables of text that fit a width: which columns are shown, and how wide.

--*/

#ifndef TRACER_OUTPUT_GRID_H
#define TRACER_OUTPUT_GRID_H

#include "../../Rtl/Rtl.h"
#include "../../Rtl/Allocator.h"

#define READER_GRID_MINIMUM_WIDTH 40u
#define READER_GRID_MAXIMUM_WIDTH 1000u

typedef struct _READER_GRID READER_GRID;
typedef READER_GRID *PREADER_GRID;
typedef struct _READER_OUTPUT *PREADER_GRID_OUTPUT;

//
// Makes a grid, to be the Layout of the writer of documents; the caller frees
// it with the allocator.  NULL: no memory.
// Width: cells, between the two bounds.
// Kept: the field of the column that is shown even if it is all zero, or "".
//

PREADER_GRID
OutputCreateGrid(
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG Width,
    _In_z_ PCSZ Kept
    );

//
// Begins a table of text whose HiddenColumns are known: until OutputEndGrid
// the output's writer takes cells alone.
//

VOID
OutputBeginGrid(
    _Inout_ PREADER_GRID Grid,
    _Inout_ PREADER_GRID_OUTPUT Output
    );

//
// Ends a cell that was written to the output's writer.  The cell is the
// output's Column, which must be one that is shown.
// Value: its number; 0 for one without.
// Depth: levels that a text stands below.
//

VOID
OutputEndGridCell(
    _Inout_ PREADER_GRID_OUTPUT Output,
    _In_ ULONGLONG Value,
    _In_ ULONG Depth
    );

//
// Ends a row.
//

VOID
OutputEndGridRow(
    _Inout_ PREADER_GRID_OUTPUT Output
    );

//
// Writes what is left of the table, and gives the output its writer back.
//

VOID
OutputEndGrid(
    _Inout_ PREADER_GRID_OUTPUT Output
    );

//
// Writes a line in as many as the width needs, broken at blanks.
//

VOID
OutputWriteWrapped(
    _In_ const READER_GRID *Grid,
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Line
    );

#endif // TRACER_OUTPUT_GRID_H

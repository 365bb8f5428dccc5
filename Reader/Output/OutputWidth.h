/*++

Module Name:

    OutputWidth.h

Abstract:

    How many cells of a terminal a character takes, and a text.

--*/

#ifndef TRACER_OUTPUT_WIDTH_H
#define TRACER_OUTPUT_WIDTH_H

#include "../../Rtl/Rtl.h"

//
// How many cells a character takes on a terminal: 0, 1 or 2.
//

ULONG
OutputQueryCharacterWidth(
    _In_ ULONG Character
    );

//
// How many cells a text takes.
//

ULONG
OutputMeasureCells(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Writes a text in at most Width cells (1 or more): what is too long has an
// ellipsis in place of its middle.  Returns the cells that were written.
// Text: printable.
//

ULONG
OutputWriteShortened(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Width
    );

#endif // TRACER_OUTPUT_WIDTH_H

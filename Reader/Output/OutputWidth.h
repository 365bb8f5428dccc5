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
// Finds what is left of a text in Width cells (1 or more): the bytes up to
// Head, and those from Tail on.
// Returns FALSE if all of it has room.
//

BOOLEAN
OutputFindCut(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Width,
    _Out_ PULONG Head,
    _Out_ PULONG Tail
    );

//
// In narrower texts no place is kept; and how many cells stand before it.
//

#define READER_CUT_MINIMUM 16u
#define READER_CUT_BEFORE 3u

//
// Writes a text in at most Width cells (1 or more): what is too long has an
// ellipsis in place of its middle.  Returns the cells that were written.
// Text: printable.
// Place: a byte that is to be among what is left; 0: any.
//

ULONG
OutputWriteShortened(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Width,
    _In_ ULONG Place
    );

#endif // TRACER_OUTPUT_WIDTH_H

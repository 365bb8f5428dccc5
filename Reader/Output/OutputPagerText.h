/*++

Module Name:

    OutputPagerText.h

Abstract:

    The text that the pager keeps, and the rows that it makes on a terminal.

--*/

#ifndef TRACER_OUTPUT_PAGER_TEXT_H
#define TRACER_OUTPUT_PAGER_TEXT_H

#include "../../Rtl/Rtl.h"

//
// What is kept at most: of longer text, the end.
//

#define READER_PAGER_MAXIMUM_BYTES 0x1000000u
#define READER_PAGER_MAXIMUM_ROWS 0x100000u

//
// Row N begins at Starts[N] and ends where the next begins; Starts has one
// element more than there are rows, where the row begins that is not complete.
//

typedef struct _READER_PAGER_TEXT {
    PCALLOCATOR Allocator;
    PCHAR Bytes;                    // UTF-8, with the sequences of colours
    ULONG Length;
    ULONG Capacity;
    PULONG Starts;
    ULONG NumberOfRows;             // that are complete
    ULONG CapacityOfStarts;
    ULONG Width;                    // of a row, in cells
    ULONG Place;                    // up to where rows were made
    ULONG Cells;                    // of the row that is not complete
    ULONG MaximumBytes;             // READER_PAGER_MAXIMUM_*
    ULONG MaximumRows;
    ULONGLONG NumberDropped;        // rows that were kept once
} READER_PAGER_TEXT;
typedef READER_PAGER_TEXT *PREADER_PAGER_TEXT;
typedef const READER_PAGER_TEXT *PCREADER_PAGER_TEXT;

//
// Width: 1 or more.
//

VOID
OutputInitializeText(
    _Out_ PREADER_PAGER_TEXT Text,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG Width
    );

VOID
OutputRundownText(
    _Inout_ PREADER_PAGER_TEXT Text
    );

//
// Adds bytes that end with a whole character.  Rows are dropped at the
// beginning when there are too many.
//

_Must_inspect_result_
NTSTATUS
OutputAppendText(
    _Inout_ PREADER_PAGER_TEXT Text,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Nothing follows: what there is of a row is one.
//

_Must_inspect_result_
NTSTATUS
OutputEndText(
    _Inout_ PREADER_PAGER_TEXT Text
    );

//
// Makes the rows anew, for another width.
//

_Must_inspect_result_
NTSTATUS
OutputSplitText(
    _Inout_ PREADER_PAGER_TEXT Text,
    _In_ ULONG Width
    );

//
// The length of a colour's sequence (ESC[...m) at the beginning of some bytes;
// 0: there is none.
//

ULONG
OutputMeasureSequence(
    _In_reads_bytes_(LengthInBytes) const CHAR *Bytes,
    _In_ ULONG LengthInBytes
    );

//
// The number of bytes at a place that are a pattern: without regard to case, in
// ASCII, if the pattern has no capitals; sequences in between belong to them.
// 0: it is not there.
//

ULONG
OutputMatchText(
    _In_ PCREADER_PAGER_TEXT Text,
    _In_ ULONG Place,
    _In_reads_bytes_(LengthInBytes) const CHAR *Pattern,
    _In_ ULONG LengthInBytes
    );

//
// Does a pattern begin in a row?
//

BOOLEAN
OutputIsInRow(
    _In_ PCREADER_PAGER_TEXT Text,
    _In_ ULONG Row,
    _In_reads_bytes_(LengthInBytes) const CHAR *Pattern,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_OUTPUT_PAGER_TEXT_H

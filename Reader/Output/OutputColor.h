/*++

Module Name:

    OutputColor.h

Abstract:

    Colours of text: a console's attributes, or control sequences where --color
    asks for them and there is no console.

--*/

#ifndef TRACER_OUTPUT_COLOR_H
#define TRACER_OUTPUT_COLOR_H

#include "../Base/BaseContext.h"
#include "../Base/BaseOptions.h"

typedef enum _READER_COLOR {
    ReaderColorNone = 0,            // what there was before
    ReaderColorTitle,
    ReaderColorFaint,               // lines of a tree, comments
    ReaderColorBar,
    ReaderColorMore,                // a number that grew
    ReaderColorLess
} READER_COLOR;

typedef BOOL (WINAPI READER_SET_TEXT_ATTRIBUTE)(
    _In_ HANDLE Console,
    _In_ WORD Attributes
    );
typedef READER_SET_TEXT_ATTRIBUTE *PREADER_SET_TEXT_ATTRIBUTE;

typedef struct _READER_COLORS {
    PREADER_SET_TEXT_ATTRIBUTE SetTextAttribute;    // NULL: sequences
    WORD Attributes;                // the console's, as they were found
} READER_COLORS;
typedef READER_COLORS *PREADER_COLORS;

//
// The width of the terminal that a writer writes to, less the last column, so
// that no terminal begins a line of its own.  0: it writes to none, or the
// width is not known.
//

ULONG
OutputQueryTerminalWidth(
    _In_ const RTL_WRITER *Writer
    );

//
// Decides whether the output has colours, and gives its writer what they need:
// with --color auto on a console, unless NO_COLOR is set; always; never.
// IsPlain: auto means none.
// Colors: must outlive the output.
//

VOID
OutputBeginColors(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ BOOLEAN IsPlain,
    _Out_ PREADER_COLORS Colors
    );

//
// Reads a colour's sequence at the beginning of some bytes, as OutputSetColor
// writes it.
// Base: a console's attributes without one.
// Attributes: those with it; untouched if there is none.
// Returns the sequence's length; 0: there is none.
//

ULONG
OutputReadSequence(
    _In_reads_bytes_(LengthInBytes) const CHAR *Bytes,
    _In_ ULONG LengthInBytes,
    _In_ WORD Base,
    _Inout_ PUSHORT Attributes
    );

//
// Text that is written from here on has a colour, if the writer has any.
//

VOID
OutputSetColor(
    _Inout_ PRTL_WRITER Writer,
    _In_ READER_COLOR Color
    );

#endif // TRACER_OUTPUT_COLOR_H

/*++

Module Name:

    OutputPager.h

Abstract:

    Text that is longer than the terminal is shown page by page.

--*/

#ifndef TRACER_OUTPUT_PAGER_H
#define TRACER_OUTPUT_PAGER_H

#include "../Base/BaseContext.h"
#include "../Base/BaseOptions.h"

typedef struct _READER_PAGER *PREADER_PAGER;

//
// From here on the output's text goes through a pager, if it is text on a
// terminal and keys come from one; and that of the error output, once the
// pager shows something.  Nothing is shown before there is more than the
// terminal has room for, or the end.
// Options: NULL: help, of which only the environment decides.
// Returns the pager; NULL: there is none.
//

PREADER_PAGER
OutputBeginPager(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PCREADER_OPTIONS Options
    );

//
// Shows the rest, until the user has seen enough, and frees the pager; the
// writers are as they were.
// Pager: NULL: nothing happens.
//

VOID
OutputEndPager(
    _In_opt_ PREADER_PAGER Pager
    );

//
// Does a program show the pages that is not known to understand the sequences
// of colours?
//

BOOLEAN
OutputIsPagerPlain(
    _In_ const RTL_WRITER *Writer
    );

#endif // TRACER_OUTPUT_PAGER_H

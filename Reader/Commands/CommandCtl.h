/*++

Module Name:

    CommandCtl.h

Abstract:

    What ctl does, for live.

--*/

#ifndef TRACER_COMMAND_CTL_H
#define TRACER_COMMAND_CTL_H

#include "CommandCtlFile.h"

//
// Does what ctl does with a session, or with all in a directory.
// Context: what it says goes to its output and to its errors.
// Options: Path; of a mark SecondUtf8, of a snapshot Second and SecondUtf8.
// Returns READER_EXIT_*.
//

ULONG
CommandCtlDo(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ READER_CTL_VERB Verb
    );

#endif // TRACER_COMMAND_CTL_H

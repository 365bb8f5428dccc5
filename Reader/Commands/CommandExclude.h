/*++

Module Name:

    CommandExclude.h

Abstract:

    What the commands that write a list for TRACER_EXCLUDE share.

--*/

#ifndef TRACER_COMMAND_EXCLUDE_H
#define TRACER_COMMAND_EXCLUDE_H

#include "../Functions/FunctionExcludeList.h"

//
// Finds the places of hooks in the selected modules of a session; Path is for
// messages.  Returns READER_EXIT_*; failures have been written.
//

ULONG
CommandFindSessionHookSites(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_z_ PCSZ Path
    );

//
// Is an earlier module of the session of the same image? Only that one's
// places are found. One that was unloaded, and loaded again elsewhere.
// First: that module's index.
//

_Success_(return != FALSE)
BOOLEAN
CommandIsModuleRepeated(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Module,
    _Out_ PULONG First
    );

//
// Writes the list to a file, and says on the output what is in it. Returns
// READER_EXIT_*: a failure, too, if some functions cannot be excluded.
//
// IsMeant: by function, whether it is meant.
// Source: what the list is made of.
//

ULONG
CommandSaveExcludeList(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8
    );

#endif // TRACER_COMMAND_EXCLUDE_H

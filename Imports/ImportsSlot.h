/*++

Module Name:

    ImportsSlot.h

Abstract:

    The slots that were changed, and what they had.

--*/

#ifndef TRACER_IMPORTS_SLOT_H
#define TRACER_IMPORTS_SLOT_H

#include "Imports.h"

//
// Puts a value into a slot that has another, and remembers what it had.  FALSE
// if its page cannot be made writable, or it has something else.
// Module: the slot's.  The page stays writable, for the slots that follow,
// until ImportsCloseSlots, which whoever holds the lock calls before giving it
// up.
//

BOOLEAN
ImportsChangeSlot(
    _In_ ULONG Module,
    _Inout_ PVOID *Slot,
    _In_ PVOID Found,
    _In_ PVOID Given
    );

VOID
ImportsCloseSlots(
    VOID
    );

//
// Gives all slots that were changed what they had.
//

typedef struct _IMPORTS_RESTORED {
    ULONG NumberRestored;           // of those that were recorded
    ULONG NumberLater;              // of these, changed after the first ones
    ULONG NumberGone;               // recorded, of modules that are gone
    ULONG NumberForeign;            // somebody else has changed them since
    ULONG NumberFailed;             // cannot be written
} IMPORTS_RESTORED;
typedef IMPORTS_RESTORED *PIMPORTS_RESTORED;

VOID
ImportsRestoreSlots(
    _Out_ PIMPORTS_RESTORED Restored
    );

#endif // TRACER_IMPORTS_SLOT_H

/*++

Module Name:

    SessionRebuild.h

Abstract:

    A compact store that a pack has becomes a file again.

--*/

#ifndef TRACER_SESSION_REBUILD_H
#define TRACER_SESSION_REBUILD_H

#include "../Base/BasePack.h"

//
// Writes a compact store: each block of the pack that is before the raw records
// is encoded again, and lies where the header says.  If blocks had other sizes
// than they get now, the header says where they are.
//
// File: its index in the pack.
// Target: the new file, empty.
// SizeInBytes: receives how many bytes were written.
// FailedStep: receives what failed, a literal.
//
//     STATUS_NOT_SUPPORTED (it is no compact store, or none that is good:
//     nothing was written), what reading and writing give
//

_Must_inspect_result_
NTSTATUS
SessionRebuildStore(
    _In_ PCREADER_CONTEXT Context,
    _In_ PREADER_PACK Pack,
    _In_ ULONG File,
    _In_ HANDLE Target,
    _Out_ PULONGLONG SizeInBytes,
    _Out_ PCSZ *FailedStep
    );

#endif // TRACER_SESSION_REBUILD_H

/*++

Module Name:

    SessionPack.h

Abstract:

    A store goes into a pack: its header and its records, as they are at one
    moment.

--*/

#ifndef TRACER_SESSION_PACK_H
#define TRACER_SESSION_PACK_H

#include "../Base/BasePackWrite.h"
#include "SessionStore.h"

typedef struct _READER_PACKED_STORE {
    PCREADER_CONTEXT Context;
    PREADER_PACK_WRITER Writer;
    PREADER_STORE Store;
    ULONGLONG Position;             // of the next records
    ULONGLONG End;                  // position: of all of them
    ULONGLONG Shift;                // of a compact store: a position less
                                    // where the entry has it
    ULONGLONG Blocks;               // of a compact store: the position where
                                    // its blocks end
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;      // of a ring, overwritten before they could
                                    // be copied
} READER_PACKED_STORE;
typedef READER_PACKED_STORE *PREADER_PACKED_STORE;

//
// Looks at a store that is to be packed.
// Store: the store, open, its end valid; that of a compact store may also be
// beyond its file.
// Returns the size of its entry in the pack, which is to be begun then.
//

ULONGLONG
SessionBeginPackedStore(
    _In_ PCREADER_CONTEXT Context,
    _In_ PREADER_PACK_WRITER Writer,
    _In_ PREADER_STORE Store,
    _Out_ PREADER_PACKED_STORE Packed
    );

//
// Packs it, and ends the entry.
//
//     Buffer         room for SizeInBytes, CODEC_MAXIMUM_BYTES at least
//     WriteStatus    what writing gave
//
// Returns what reading gave.
//

_Must_inspect_result_
NTSTATUS
SessionPackStore(
    _Inout_ PREADER_PACKED_STORE Packed,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _Out_ NTSTATUS *WriteStatus
    );

#endif // TRACER_SESSION_PACK_H

/*++

Module Name:

    SessionRemove.h

Abstract:

    A session's directory is removed, if it holds nothing but a session's files.

--*/

#ifndef TRACER_SESSION_REMOVE_H
#define TRACER_SESSION_REMOVE_H

#include "../Base/BaseContext.h"

//
// What became of a directory.
//

typedef struct _READER_REMOVAL {
    ULONGLONG Bytes;                // of all its files
    PCSZ Reason;                    // why it stays, a literal; NULL: it
                                    // is gone, or may go
    UNICODE_STRING Entry;           // allocated: the entry that is the reason;
                                    // empty: the directory itself is
    NTSTATUS Status;                // of the step that failed, if one did
} READER_REMOVAL;
typedef READER_REMOVAL *PREADER_REMOVAL;
typedef const READER_REMOVAL *PCREADER_REMOVAL;

//
// Looks at a session's directory, and removes it if IsRemoving.  All of it goes
// or nothing: files are looked at and opened before the first one is marked,
// and if one cannot be, none is.  Nothing is followed that leads elsewhere.
// Whether the session is being recorded is for the caller to know.
//
//     Above          the NT path of the directory that has it
//     Name           its plain name in that
//     Removal        filled in every case; SessionFreeRemoval frees it
//
// Returns STATUS_NO_MEMORY, or STATUS_SUCCESS: Removal has what failed.
//

_Must_inspect_result_
NTSTATUS
SessionRemove(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING Above,
    _In_ PCUNICODE_STRING Name,
    _In_ BOOLEAN IsRemoving,
    _Out_ PREADER_REMOVAL Removal
    );

VOID
SessionFreeRemoval(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_REMOVAL Removal
    );

#endif // TRACER_SESSION_REMOVE_H

/*++

Module Name:

    SessionTarget.h

Abstract:

    The directory that recover and ctl snapshot fill.  It is new or empty, and
    whatever somebody else puts into it meanwhile, nothing is written outside of
    it.

--*/

#ifndef TRACER_SESSION_TARGET_H
#define TRACER_SESSION_TARGET_H

#include "../Base/BaseContext.h"

typedef struct _READER_TARGET {
    PCREADER_CONTEXT Context;
    HANDLE Handle;                  // of the directory; NULL: none
    ULONG NumberOfDirectories;      // below it
    PHANDLE Directories;            // NULL where there is none
} READER_TARGET;
typedef READER_TARGET *PREADER_TARGET;

//
// Makes the directory, unless it is there and empty, and room for handles of
// directories below it.  Close it, whatever is returned.
//
//     STATUS_DIRECTORY_NOT_EMPTY, STATUS_NO_MEMORY, or what failed
//

_Must_inspect_result_
NTSTATUS
SessionOpenTarget(
    _Out_ PREADER_TARGET Target,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Name,
    _In_ ULONG NumberOfDirectories
    );

VOID
SessionCloseTarget(
    _Inout_ PREADER_TARGET Target
    );

//
// Makes a directory in the target, which is not there yet.
//
//     STATUS_OBJECT_NAME_INVALID     the name is none of a file alone
//     STATUS_OBJECT_NAME_COLLISION   there is something of that name
//

_Must_inspect_result_
NTSTATUS
SessionMakeTargetDirectory(
    _Inout_ PREADER_TARGET Target,
    _In_ ULONG Directory,
    _In_ PCUNICODE_STRING Name
    );

//
// Makes a file in the target, or in a directory that was made there
// (READER_NONE: in none), which is not there yet; statuses likewise.  File
// receives its handle, NULL on failure.
//

_Must_inspect_result_
NTSTATUS
SessionMakeTargetFile(
    _In_ const READER_TARGET *Target,
    _In_ ULONG Directory,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File
    );

//
// What failed, for BaseFail: a collision is not the user's doing.
//

#define READER_TARGET_STEP(Status, Step)                                    \
    ((Status) == STATUS_OBJECT_NAME_COLLISION                               \
         ? "write below the new directory, where somebody else has put "    \
           "something meanwhile,"                                           \
         : (Step))

//
// Closes a file that SessionMakeTargetFile made; one whose content is not
// complete is removed.
//

VOID
SessionCloseTargetFile(
    _In_ const READER_TARGET *Target,
    _In_ HANDLE File,
    _In_ BOOLEAN IsComplete
    );

#endif // TRACER_SESSION_TARGET_H

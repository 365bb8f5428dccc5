/*++

Module Name:

    SessionFind.h

Abstract:

    Sessions by age and by the name of their program, for those who do not want
    to write a path.  What is known is in a directory's name:
    EXE-PID-YYYYMMDD-HHMMSS-mmm.

--*/

#ifndef TRACER_SESSION_FIND_H
#define TRACER_SESSION_FIND_H

#include "../Base/BaseContext.h"
#include "../Base/BaseNearest.h"
#include "../../Rtl/Rtl.h"

typedef struct _READER_FOUND {
    ULONGLONG Start;                // YYYYMMDDHHMMSSmmm, UTC
    ULONG ProcessId;
    ULONG ProgramLength;            // 16-bit units of the program's name
    UNICODE_STRING Name;            // allocated
} READER_FOUND;
typedef READER_FOUND *PREADER_FOUND;
typedef const READER_FOUND *PCREADER_FOUND;

typedef struct _READER_FOUND_LIST {
    PCREADER_CONTEXT Context;
    PREADER_FOUND Found;            // the newest first
    ULONG Number;
    ULONG Capacity;
} READER_FOUND_LIST;
typedef READER_FOUND_LIST *PREADER_FOUND_LIST;

//
// Lists the sessions in a directory.  The caller frees the list in every case.
// Status: of the directory's opening and reading, or STATUS_NO_MEMORY.
//

_Must_inspect_result_
NTSTATUS
SessionListFound(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Directory,
    _Out_ PREADER_FOUND_LIST List
    );

VOID
SessionFreeFound(
    _Inout_ PREADER_FOUND_LIST List
    );

//
// The places where sessions are looked for, in this order: what
// TRACER_DIRECTORY names, the user's Tracer directory (below %LOCALAPPDATA%),
// the current directory.  FALSE: there is no such place.
// Place: 0, 1 or 2.
// Path: receives it, terminated.
//

#define READER_NUMBER_OF_PLACES 3

_Success_(return != FALSE)
BOOLEAN
SessionQueryPlace(
    _In_ PCREADER_CONTEXT Context,
    _In_ ULONG Place,
    _Out_writes_(CapacityInChars) PWCHAR Path,
    _In_ ULONG CapacityInChars
    );

//
// Finds the session that a text means: "" the newest, "@N" the Nth by age
// (@1: the newest), NAME the newest of the programs whose names begin so, in
// either case, NAME@N the Nth of these.  Looks in the first place that has one
// that fits but for the age.  Without an age, one that has no store is passed
// over, unless none has.
//
//     STATUS_NOT_FOUND               there is none
//     STATUS_OBJECT_NAME_INVALID     @ without a number, or with 0
//
// Path: receives its path, terminated, which the caller frees.
// NumberOfOthers: how many others fit there; with STATUS_NOT_FOUND how many
// fit but for the age.
// HasAge: is it one of @N and NAME@N?
// NumberEmpty: how many that were passed over are newer.
//

_Must_inspect_result_
NTSTATUS
SessionFind(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Text,
    _Outptr_ PWSTR *Path,
    _Out_ PULONG NumberOfOthers,
    _Out_ PBOOLEAN HasAge,
    _Out_ PULONG NumberEmpty
    );

//
// Finds, of the programs that have sessions where SessionFind looks, the one
// with the name that is nearest to a text; without its extension, unless the
// text has a point.
// Name: receives it, in UTF-8, terminated; "" if none is near.
//

VOID
SessionFindNearest(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Text,
    _Out_writes_z_(READER_NEAREST_MAXIMUM + 1) PCHAR Name
    );

//
// Is a path that of an executable file, by what it begins with?
//

BOOLEAN
SessionIsImage(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path
    );

//
// Is a path that of a pack, by what it begins with?
//

BOOLEAN
SessionIsPack(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path
    );

//
// Finds the directory that SessionFind takes the newest session of, terminated,
// and lists its sessions; the caller frees both.  STATUS_NOT_FOUND: no place
// has a session, and there is nothing to free.
//

_Must_inspect_result_
NTSTATUS
SessionFindPlace(
    _In_ PCREADER_CONTEXT Context,
    _Outptr_ PWSTR *Path,
    _Out_ PREADER_FOUND_LIST List
    );

//
// Is a text a path of something that exists, or one that has a separator or a
// drive in it, which cannot be the name of a program?
//

BOOLEAN
SessionIsPath(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Text
    );

#endif // TRACER_SESSION_FIND_H

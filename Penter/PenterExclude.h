/*++

Module Name:

    PenterExclude.h

Abstract:

    Takes the calls of the hooks out of the functions of a list
    (Docs/Exclude.md).

--*/

#ifndef TRACER_PENTER_EXCLUDE_H
#define TRACER_PENTER_EXCLUDE_H

#include "../Rtl/Rtl.h"
#include "../TraceStore/TraceFormat.h"

//
// A place in the code where a hook is called that a function of TRACER_EXCLUDE
// has, and what was done of such a list.
//

typedef struct _PENTER_SITE {
    ULONG Rva;                          // bit 31: a jump, not a call
    union {
        ULONG Displacement;             // of the call
        ULONG Group;                    // while the list is read
    };
} PENTER_SITE;
typedef PENTER_SITE *PPENTER_SITE;

typedef struct _PENTER_EXCLUSION {
    PBYTE Base;                         // of the module
    PPENTER_SITE Sites;                 // by Rva; NULL: none
    ULONG NumberOfSites;
    ULONG NumberOfFunctions;
    ULONG NumberRefused;                // functions, one of whose places is no
                                        // call of a hook
    ULONG RefusedRva;                   // the first of these places
} PENTER_EXCLUSION;
typedef PENTER_EXCLUSION *PPENTER_EXCLUSION;

//
// Excludes what the list has for the module that Header describes.  A function
// of which a place is no call of a hook is refused and counted; after any
// failure nothing is excluded.
//
//     STATUS_FILE_INVALID            a line makes no sense
//     STATUS_END_OF_FILE             the list is cut
//     STATUS_UNKNOWN_REVISION        the list is of another version
//     STATUS_REVISION_MISMATCH       the list is of another build
//     STATUS_CONFLICTING_ADDRESSES   a place is listed twice
//     STATUS_NO_MEMORY
//     NtProtectVirtualMemory's       code may not be changed
//
// Header: the module's base and what identifies it.
// ModuleName: its file name.
// ListName: the list's name, for the error.
// Exclusion: what was done; it is zeroed before.
// Error: what failed.
// Returns STATUS_SUCCESS, also if some functions were refused; or what failed,
// and then nothing is excluded: see the header.
//

_Must_inspect_result_
NTSTATUS
PenterExcludeByText(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING ListName,
    _In_reads_bytes_(SizeInBytes) const CHAR *Text,
    _In_ ULONG SizeInBytes,
    _Out_ PPENTER_EXCLUSION Exclusion,
    _Out_ PRTL_ERROR Error
    );

//
// Excludes the functions of a file's list. Likewise; also
// STATUS_FILE_TOO_LARGE and what the file's routines return.
// Header: the module's base and what identifies it.
// Exclusion: what was done; it is zeroed before.
// Error: what failed.
// Returns what PenterExcludeByText returns, or why the file cannot be read.
//

_Must_inspect_result_
NTSTATUS
PenterExcludeByFile(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PPENTER_EXCLUSION Exclusion,
    _Out_ PRTL_ERROR Error
    );

//
// Puts back the code of excluded functions.
// Exclusion: what was done, or all zeroes; is zeroed.
//

VOID
PenterIncludeAgain(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_EXCLUSION Exclusion
    );

#endif // TRACER_PENTER_EXCLUDE_H

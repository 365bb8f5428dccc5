/*++

Module Name:

    PenterList.h

Abstract:

    The lists that TRACER_EXCLUDE and TRACER_CHRONO name (Docs/Exclude.md): what
    is read of them, before any of it is believed.

--*/

#ifndef TRACER_PENTER_LIST_H
#define TRACER_PENTER_LIST_H

#include "../TraceStore/TraceSession.h"
#include "PenterExclude.h"

//
// A list is bounded, and so are the names in it.
//

#define PENTER_LIST_NAME            "tracer-exclude"
#define PENTER_LIST_VERSION         PENTER_LIST_NAME " 2"
#define PENTER_MAXIMUM_LIST         0x400000    // 4 MiB
#define PENTER_MAXIMUM_NAME         1024        // bytes of a module's
#define PENTER_MAXIMUM_MODULE_NAME  260         // the same in 16-bit units

//
// In a site's Rva: it is a jump, not a call.
//

#define PENTER_SITE_JUMP            0x80000000u
#define PENTER_SITE_RVA(Site)       ((Site)->Rva & ~PENTER_SITE_JUMP)

//
// What is said of a list that cannot be used.
//

typedef struct _PENTER_LIST_STEPS {
    PCSZ Open;
    PCSZ Read;
    PCSZ Version;
    PCSZ Cut;
    PCSZ Compare;
    PCSZ Allocate;
} PENTER_LIST_STEPS;
typedef const PENTER_LIST_STEPS *PCPENTER_LIST_STEPS;

extern const PENTER_LIST_STEPS PenterExcludeSteps;

typedef struct _PENTER_LIST {
    PCRTL Rtl;
    PCTRACE_STORE_HEADER Header;    // identifies the module
    PCUNICODE_STRING ModuleName;
    PBYTE Base;                     // of the module
    const CHAR *Next;               // what is still to be read
    const CHAR *End;
    ULONG Line;                     // from 1
    BOOLEAN HasModule;              // a part has begun
    BOOLEAN HasFunction;            // and a function in it
    BOOLEAN HasSite;                // and a place in that
    BOOLEAN HasEnd;                 // the last line
    BOOLEAN IsOurs;                 // the part is this module's
    BOOLEAN IsNamed;                // a part has its file name
    BOOLEAN IsFound;                // and one of them its identity
    PPENTER_SITE Sites;             // in the list's order, with Group; NULL:
                                    // they are only counted
    ULONG NumberOfSites;
    PULONG Groups;                  // how many functions share their sites, by
                                    // group; NULL: they are only counted
    ULONG NumberOfGroups;
    PTRACE_CHRONO_RANGE Ranges;     // NULL: they are only counted
    ULONG NumberOfRanges;           // functions of this module
} PENTER_LIST;
typedef PENTER_LIST *PPENTER_LIST;

//
// Reads the file of a list.  Text receives pages that the caller frees, NULL
// if there are none.
//
//     STATUS_FILE_TOO_LARGE, STATUS_NO_MEMORY, what the file's routines return
//

_Must_inspect_result_
NTSTATUS
PenterReadListFile(
    _In_ PCRTL Rtl,
    _In_ PCPENTER_LIST_STEPS Steps,
    _In_ PCUNICODE_STRING NtPath,
    _Outptr_result_maybenull_ PVOID *Text,
    _Out_ PULONG SizeInBytes,
    _Out_ PRTL_ERROR Error
    );

//
// Reads a list: its lines are checked and counted, and what List has room for
// is kept.  The first time it has none; what was counted is enough for the
// second time.  ListName is for the error.
//
//     STATUS_FILE_INVALID            a line makes no sense
//     STATUS_END_OF_FILE             the last line is not there
//     STATUS_UNKNOWN_REVISION        another version
//     STATUS_REVISION_MISMATCH       the list is of another build
//

_Must_inspect_result_
NTSTATUS
PenterReadList(
    _Inout_ PPENTER_LIST List,
    _In_ PCPENTER_LIST_STEPS Steps,
    _In_ PCUNICODE_STRING ListName,
    _In_reads_bytes_(SizeInBytes) const CHAR *Text,
    _In_ ULONG SizeInBytes,
    _Out_ PRTL_ERROR Error
    );

//
// Reads the functions of TRACER_CHRONO, which has such a list, too.  Statuses
// as above.
//

_Must_inspect_result_
NTSTATUS
PenterReadChronoList(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING NtPath,
    _Outptr_result_maybenull_ PTRACE_CHRONO_RANGE *Ranges,
    _Out_ PULONG NumberOfRanges,
    _Out_ PRTL_ERROR Error
    );

#endif // TRACER_PENTER_LIST_H

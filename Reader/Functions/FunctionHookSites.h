/*++

Module Name:

    FunctionHookSites.h

Abstract:

    Where the functions of an image call the hooks.

--*/

#ifndef TRACER_FUNCTION_HOOK_SITES_H
#define TRACER_FUNCTION_HOOK_SITES_H

#include "Function.h"

typedef enum _READER_HOOK_FORM {
    ReaderHookFormCall = 0,
    ReaderHookFormJump,
    ReaderHookFormOther             // it cannot be taken out
} READER_HOOK_FORM;

typedef struct _READER_HOOK_SITE {
    ULONG Module;                   // index
    ULONG Rva;
    ULONG Form;                     // READER_HOOK_FORM
    ULONG FirstFunction;            // in the list of functions
    ULONG NumberOfFunctions;        // whose call it may be
    BOOLEAN IsEntry;
} READER_HOOK_SITE;
typedef READER_HOOK_SITE *PREADER_HOOK_SITE;
typedef const READER_HOOK_SITE *PCREADER_HOOK_SITE;

typedef struct _READER_EXCLUDE {
    PREADER_FUNCTIONS Functions;
    PREADER_HOOK_SITE Sites;
    ULONG NumberOfSites;
    ULONG CapacityOfSites;
    PULONG List;                    // indexes of functions
    ULONG NumberInList;
    ULONG CapacityOfList;
    ULONG NumberUnknown;            // places of functions that cannot be told
    ULONG NumberExcluded;           // these three by FunctionWriteExcludeList:
    ULONG NumberOfPlaces;           // functions, and their places
    ULONG NumberRefused;            // functions that were meant
} READER_EXCLUDE;
typedef READER_EXCLUDE *PREADER_EXCLUDE;

//
// Finds the places where a module calls hooks, in its image.
//
//     STATUS_NOT_FOUND               the image, or its unwind data, is not
//                                    there
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
FunctionFindHookSites(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_ ULONG Module
    );

#endif // TRACER_FUNCTION_HOOK_SITES_H

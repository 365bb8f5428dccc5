/*++

Module Name:

    FunctionExcludeList.h

Abstract:

    The list of places of hooks that TRACER_EXCLUDE takes (Docs/Exclude.md).

--*/

#ifndef TRACER_FUNCTION_EXCLUDE_LIST_H
#define TRACER_FUNCTION_EXCLUDE_LIST_H

#include "FunctionHookSites.h"

//
// The first line of a list, and the last, without which it has been cut.
//

#define READER_EXCLUDE_VERSION "tracer-exclude 2"
#define READER_EXCLUDE_END "end"

//
// Functions must outlive Exclude, and gets the functions that are found. Makes
// an empty list.
//

VOID
FunctionInitializeExclude(
    _Out_ PREADER_EXCLUDE Exclude,
    _In_ PREADER_FUNCTIONS Functions
    );

//
// Frees what the list holds.
//

VOID
FunctionRundownExclude(
    _Inout_ PREADER_EXCLUDE Exclude
    );

//
// Marks the functions that call hooks; IsCalling has a byte for each function.
// Exclude: the places.
//

VOID
FunctionMarkHookFunctions(
    _In_ const READER_EXCLUDE *Exclude,
    _Inout_ PUCHAR IsCalling
    );

//
// Writes the list of the functions that are meant: IsMeant has a byte for each
// function of Functions.  Those that cannot be excluded are named on the error
// output, and their bytes set to 0.
//
//     STATUS_NO_MEMORY
//
// Exclude: the places; receives what was written.
// Source: what the list is made of, for a comment.
//

_Must_inspect_result_
NTSTATUS
FunctionWriteExcludeList(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _Inout_ PRTL_WRITER Writer
    );

#endif // TRACER_FUNCTION_EXCLUDE_LIST_H

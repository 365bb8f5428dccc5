/*++

Module Name:

    FunctionFilter.h

Abstract:

    Which functions --function and --exclude show.

--*/

#ifndef TRACER_FUNCTION_FILTER_H
#define TRACER_FUNCTION_FILTER_H

#include "../Output/OutputTable.h"
#include "Function.h"

typedef struct _READER_FILTER *PREADER_FILTER;
typedef const struct _READER_FILTER *PCREADER_FILTER;

//
// Adds the prefixes and patterns that the value of --function or --exclude
// names, which has to stay until FunctionBuildFilter; a filter that is NULL is
// made.  A failure that is not a bad value has been written.
//
// Context: the context; its allocator must outlive the filter.
// Value, ValueUtf8: the value. It must stay until there is a table.
// IsBadValue: whether the value is what such an option takes.
//

_Must_inspect_result_
NTSTATUS
FunctionAddPrefixes(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_FILTER *Filter,
    _In_ BOOLEAN IsExclude,
    _In_z_ PCWSTR Value,
    _In_z_ PCSZ ValueUtf8,
    _Out_ PBOOLEAN IsBadValue
    );

//
// Makes a filter ready when it has all its prefixes.
// Returns FALSE if there was no memory, which has been written.
//

_Must_inspect_result_
BOOLEAN
FunctionBuildFilter(
    _In_ PCREADER_CONTEXT Context,
    _Inout_opt_ PREADER_FILTER Filter
    );

//
// Frees a filter.
// Filter: the filter, at any stage, or NULL.
//

VOID
FunctionDestroyFilter(
    _Inout_opt_ PREADER_FILTER Filter
    );

//
// Decides which functions are shown, each once; NULL shows all. To be called
// before IsShown is looked at: functions may have been added. Decides about
// the functions that were found since the last time, which also get their short
// names.
//
// Filter: the filter; always the same one.
//

VOID
FunctionFilterFunctions(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_opt_ PCREADER_FILTER Filter
    );

//
// What a filter left out of what there would be without it.
//

typedef struct _READER_NOT_SHOWN {
    ULONGLONG Rows;                 // functions, or nodes
    ULONGLONG Calls;
    BOOLEAN AreNodes;
    BOOLEAN HasLimits;              // --min-duration or --depth was given
    ULONGLONG ShortNodes;           // these are theirs; of a tree
    ULONGLONG ShortCalls;
    ULONGLONG DeepCalls;
} READER_NOT_SHOWN;
typedef READER_NOT_SHOWN *PREADER_NOT_SHOWN;
typedef const READER_NOT_SHOWN *PCREADER_NOT_SHOWN;

//
// What JSON says of what was left out: of functions, and of nodes.
//

extern const READER_TABLE ReaderNotShownTable;
extern const READER_TABLE ReaderNodesNotShownTable;
extern const READER_TABLE ReaderLimitsTable;

//
// Says how much the filter has left out: a line of text, a table in JSON; and
// likewise --min-duration and --depth.
// Output: the output, between two tables.
// Filter: the filter; NULL: nothing is said.
//

VOID
FunctionPutNotShown(
    _Inout_ PREADER_OUTPUT Output,
    _In_opt_ PCREADER_FILTER Filter,
    _In_ PCREADER_NOT_SHOWN NotShown
    );

//
// Says so if the filter left nothing to show, or if something of --function is
// the beginning of no function's name and nearly that of one; returns the exit
// code.
// Functions: those that were met; NULL: not known.
// NumberShown: rows that were shown.
//

ULONG
FunctionEndFilter(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PCREADER_FILTER Filter,
    _In_opt_ const READER_FUNCTIONS *Functions,
    _In_ ULONGLONG NumberShown,
    _In_ PCREADER_NOT_SHOWN NotShown,
    _In_ ULONG ExitCode
    );

//
// Says, for --verbose, what filtering took.
// Filter: the filter; NULL: nothing is said.
//

VOID
FunctionPutFilterCost(
    _In_ const READER_FUNCTIONS *Functions,
    _In_opt_ PCREADER_FILTER Filter
    );

#endif // TRACER_FUNCTION_FILTER_H

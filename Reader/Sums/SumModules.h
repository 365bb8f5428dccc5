/*++

Module Name:

    SumModules.h

Abstract:

    What each module cost: a call tree is added up by module.

--*/

#ifndef TRACER_SUM_MODULES_H
#define TRACER_SUM_MODULES_H

#include "SumTree.h"

//
// Modules of one name, in any case, are one.  The statistics are of the calls
// into it: of those that no function of its own made, and, with a filter, of
// those around which none of its functions that are shown is open.  The time of
// one inside another one is not in their total, but that of abandoned ones is;
// their self time is that of all calls in it.
//

typedef struct _READER_MODULE_SUM {
    READER_STATISTICS Statistics;
    const CHAR *Name;               // the functions table's
    ULONG NameLength;               // bytes
    ULONGLONG CallsInside;          // that its own functions made
    ULONG NumberOfFunctions;        // that were called
    ULONG NumberOpen;               // around the node that is looked at
    BOOLEAN IsOfImports;            // the name is an import's
    BOOLEAN IsSelected;             // by --module
} READER_MODULE_SUM;
typedef READER_MODULE_SUM *PREADER_MODULE_SUM;
typedef const READER_MODULE_SUM *PCREADER_MODULE_SUM;

//
// Adds the functions that are shown up by module.  Sums is allocated, and the
// caller's to free, even after a failure.
//
// Tree: the tree, whose functions have AreStubsApart and were filtered.
// NotShown: what the filter left out.
//

_Must_inspect_result_
NTSTATUS
SumModules(
    _In_ const READER_TREE *Tree,
    _Outptr_result_maybenull_ PREADER_MODULE_SUM *Sums,
    _Out_ PULONG NumberOfSums,
    _Out_ PREADER_NOT_SHOWN NotShown
    );

#endif // TRACER_SUM_MODULES_H

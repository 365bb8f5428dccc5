/*++

Module Name:

    SumPaths.h

Abstract:

    A call tree is built, by the fast way if it can be: each worker adds calls
    up by chain, and what the workers have becomes one tree.

--*/

#ifndef TRACER_SUM_PATHS_H
#define TRACER_SUM_PATHS_H

#include "SumTree.h"

//
// Reads the threads that --thread selects.  Without a watch, and without
// --general, that is by the fast way, with as many workers as the team has;
// what comes of it is what SumBuildTreeOfEvents makes.  Returns READER_EXIT_*;
// failures have been written.  One that cannot be read to its end does not
// hide the others.
//
// Tree: the tree, which is empty.
//

ULONG
SumBuildTree(
    _Inout_ PREADER_TREE Tree,
    _In_ PCREADER_OPTIONS Options
    );

#endif // TRACER_SUM_PATHS_H

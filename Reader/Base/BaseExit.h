/*++

Module Name:

    BaseExit.h

Abstract:

    What the exit code of a process tells.

--*/

#ifndef TRACER_BASE_EXIT_H
#define TRACER_BASE_EXIT_H

#include "../../Rtl/Rtl.h"

//
// What an exit code is called that tells of a crash; a literal.  NULL: it has
// no name.
//

PCSZ
BaseNameExit(
    _In_ ULONG ExitCode
    );

//
// Does an exit code tell of a crash?
//

BOOLEAN
BaseIsCrash(
    _In_ ULONG ExitCode
    );

//
// Writes an exit code as people know it: 3, -1, or 0xC0000005, with its name if
// IsNamed.
//

VOID
BaseDescribeExit(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG ExitCode,
    _In_ BOOLEAN IsNamed
    );

#endif // TRACER_BASE_EXIT_H

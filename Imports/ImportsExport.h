/*++

Module Name:

    ImportsExport.h

Abstract:

    What modules export: the names of ordinals and addresses.

--*/

#ifndef TRACER_IMPORTS_EXPORT_H
#define TRACER_IMPORTS_EXPORT_H

#include "Imports.h"

//
// The name under which a module exports an ordinal, if there is one.
//

VOID
ImportsNameOrdinal(
    _In_ const IMPORTS_MODULE *Module,
    _Inout_ PIMPORTS_NAME Name
    );

//
// The name under which a module exports an address, the first one if there are
// several, or its ordinal.  FALSE if it does not: then there is no name.
//

BOOLEAN
ImportsNameAddress(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const VOID *Address,
    _Out_ PIMPORTS_NAME Name
    );

//
// The name under which a module exports an address that is in another one,
// Owner.  FALSE if it does not, or the names differ on the way; then Name is
// untouched.
//

BOOLEAN
ImportsNameForwarded(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const IMPORTS_MODULE *Owner,
    _In_ const VOID *Address,
    _Out_ PIMPORTS_NAME Name
    );

#endif // TRACER_IMPORTS_EXPORT_H

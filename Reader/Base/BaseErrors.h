/*++

Module Name:

    BaseErrors.h

Abstract:

    How a command says that it failed.

--*/

#ifndef TRACER_BASE_ERRORS_H
#define TRACER_BASE_ERRORS_H

#include "../../StringTable/StringTable.h"
#include "BaseContext.h"

//
// Writes "TraceReader: step: object: status" to the error output.
//

VOID
BaseWriteFailure(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCRTL_ERROR Error
    );

//
// The same from a step and a UTF-8 object; returns READER_EXIT_FAILURE.
//

ULONG
BaseFail(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Step,
    _In_z_ PCSZ Object,
    _In_ NTSTATUS Status
    );

//
// Notes which step failed, if one did.
// Step: a literal.
// Returns the status.
//

NTSTATUS
BaseNoteStep(
    _Inout_ PCSZ *FailedStep,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    );

#endif // TRACER_BASE_ERRORS_H

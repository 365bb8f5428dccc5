/*++

Module Name:

    CoreImports.h

Abstract:

    The file that names the stubs of TracerImports.dll (TraceFormat.h), as bytes
    that anybody may have written.

--*/

#ifndef TRACER_CORE_IMPORTS_H
#define TRACER_CORE_IMPORTS_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

//
// Is it the header of such a file, of this process?  End is then at least
// HeaderSize, and neither is above FileSize or TRACE_IMPORTS_MAXIMUM.
// Problem: a literal that says what is wrong.
//

BOOLEAN
CoreValidateImports(
    _In_ PCTRACE_IMPORTS_HEADER Header,
    _In_ ULONGLONG FileSize,
    _In_ ULONG ProcessId,
    _In_ ULONGLONG ProcessCreationTime,
    _Out_ PCSZ *Problem
    );

//
// Copies the entry at Position of some bytes, which begin at a multiple of 8,
// and advances.  Name lies in the
// bytes, with NameLength of them.  FALSE at the end, and at what is no entry.
// Those of a kind that is not known are passed over by the caller.
//

BOOLEAN
CoreNextImport(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Inout_ PULONG Position,
    _Out_ PTRACE_IMPORTS_ENTRY Entry,
    _Outptr_ const CHAR **Name
    );

#endif // TRACER_CORE_IMPORTS_H

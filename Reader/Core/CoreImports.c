/*++

Module Name:

    CoreImports.c

Abstract:

    The file of the imports' names, validated.

--*/

#include "CoreImports.h"


_Use_decl_annotations_
BOOLEAN
CoreValidateImports(
    PCTRACE_IMPORTS_HEADER Header,
    ULONGLONG FileSize,
    ULONG ProcessId,
    ULONGLONG ProcessCreationTime,
    PCSZ *Problem
    )
{
    *Problem = "";
    if (Header->Magic != TRACE_IMPORTS_MAGIC) {
        *Problem = "is not a file of imports";
    } else if (Header->Version != TRACE_IMPORTS_VERSION) {
        *Problem = "has an unknown version";
    } else if (Header->ProcessId != ProcessId ||
               Header->ProcessCreationTime != ProcessCreationTime) {
        *Problem = "belongs to another process than the stores";
    } else if (Header->HeaderSize < sizeof(*Header) ||
               Header->HeaderSize % 8 != 0 ||
               Header->HeaderSize > Header->End ||
               Header->End > FileSize ||
               Header->End > TRACE_IMPORTS_MAXIMUM) {
        *Problem = "is shorter than it says";
    } else {
        return TRUE;
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
CoreNextImport(
    const UCHAR *Bytes,
    ULONG SizeInBytes,
    PULONG Position,
    PTRACE_IMPORTS_ENTRY Entry,
    const CHAR **Name
    )
{
    ULONG Left = SizeInBytes - *Position;

    if (*Position > SizeInBytes || Left < sizeof(*Entry)) {
        return FALSE;
    }

    *Entry = *(PCTRACE_IMPORTS_ENTRY)(const VOID *)(Bytes + *Position);
    if (Entry->SizeInBytes < sizeof(*Entry) ||
        Entry->SizeInBytes % 8 != 0 ||
        Entry->SizeInBytes > Left ||
        Entry->NameLength > Entry->SizeInBytes - sizeof(*Entry)) {
        return FALSE;
    }

    *Name = (const CHAR *)Bytes + *Position + sizeof(*Entry);
    *Position += Entry->SizeInBytes;
    return TRUE;
}

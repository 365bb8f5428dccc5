/*++

Module Name:

    SessionExit.h

Abstract:

    How a process ended: a file beside its stores, which TraceReader run leaves
    there.  Docs/Format.md, section 19, has its format.

--*/

#ifndef TRACER_SESSION_EXIT_H
#define TRACER_SESSION_EXIT_H

#include "Session.h"

#define READER_EXIT_FILE_NAME "session.exit"

#define READER_EXIT_MAGIC 0x5449584543415254ULL     // "TRACEXIT"
#define READER_EXIT_VERSION 1u

typedef struct _READER_EXIT {
    ULONGLONG Magic;
    ULONG Version;
    ULONG SizeInBytes;
    ULONG ProcessId;
    ULONG ExitCode;
    ULONGLONG CreationTime;         // FILETIME, these two
    ULONGLONG ExitTime;
    ULONGLONG KernelTime;           // 100 ns, these two
    ULONGLONG UserTime;
} READER_EXIT;
typedef READER_EXIT *PREADER_EXIT;
C_ASSERT(sizeof(READER_EXIT) == 56);

//
// Writes the file.  Magic, Version and SizeInBytes are set here.
// Directory: the session's, a DOS path.
//

_Must_inspect_result_
NTSTATUS
SessionWriteExit(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Directory,
    _Inout_ PREADER_EXIT Exit
    );

//
// Reads the file of a process into the process's fields, if there is one that
// is good and the process's.
//

VOID
SessionReadExit(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Process
    );

#endif // TRACER_SESSION_EXIT_H

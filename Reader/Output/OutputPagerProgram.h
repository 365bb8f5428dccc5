/*++

Module Name:

    OutputPagerProgram.h

Abstract:

    A program that shows the output page by page.

--*/

#ifndef TRACER_OUTPUT_PAGER_PROGRAM_H
#define TRACER_OUTPUT_PAGER_PROGRAM_H

#include "../Base/BaseProgram.h"

typedef struct _READER_PAGER_PROGRAM {
    READER_PROGRAM Program;
    HANDLE Pipe;                    // to its standard input; NULL: none runs
} READER_PAGER_PROGRAM;
typedef READER_PAGER_PROGRAM *PREADER_PAGER_PROGRAM;

//
// Is it a command whose program is less, which shows colours?
//

BOOLEAN
OutputIsLess(
    _In_z_ PCWSTR Command
    );

//
// Starts a program, whose standard input is a pipe.  Ctrl+C is its own while it
// runs.
// Command: the program's command line.
//

_Must_inspect_result_
NTSTATUS
OutputStartProgram(
    _Out_ PREADER_PAGER_PROGRAM Program,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Command
    );

//
// STATUS_PIPE_BROKEN: it reads no more.
//

_Must_inspect_result_
NTSTATUS
OutputWriteToProgram(
    _In_ const READER_PAGER_PROGRAM *Program,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Waits for its end.
//

VOID
OutputWaitForProgram(
    _Inout_ PREADER_PAGER_PROGRAM Program
    );

#endif // TRACER_OUTPUT_PAGER_PROGRAM_H

/*++

Module Name:

    BaseAttach.h

Abstract:

    TracerImports.dll in a process that runs: it is loaded there, and told what
    to do.

--*/

#ifndef TRACER_BASE_ATTACH_H
#define TRACER_BASE_ATTACH_H

#include "../../Imports/ImportsRequest.h"
#include "BaseContext.h"
#include "BaseRefusal.h"

//
// What became of it.
//

typedef enum _READER_ATTACH_END {
    ReaderAttachAnswered = 0,       // the DLL has: Request.Outcome
    ReaderAttachRefused,            // Refusal
    ReaderAttachFailed,             // Step and Status
    ReaderAttachNotLoaded,          // detach: the DLL is not there
    ReaderAttachOther,              // a DLL of that name is of another build
    ReaderAttachSilent              // no answer came in time: Step
} READER_ATTACH_END;

typedef struct _READER_ATTACH {
    PCREADER_CONTEXT Context;
    ULONG ProcessId;
    HANDLE Process;                 // NULL: it could not be opened
    READER_REFUSAL Refusal;
    PCSZ Step;                      // what failed, a literal
    NTSTATUS Status;
    ULONG NameLength;               // bytes
    CHAR Name[384];                 // of the program's file, UTF-8; ""
    PIMPORTS_REQUEST Request;       // the answer, too, which is anybody's:
                                    // lengths are within it
    PVOID Private;
} READER_ATTACH;
typedef READER_ATTACH *PREADER_ATTACH;

//
// Opens a process, if a DLL can be loaded into it.  The caller closes it in
// every case.
//

READER_ATTACH_END
BaseAttachOpen(
    _Out_ PREADER_ATTACH Attach,
    _In_ PCREADER_CONTEXT Context,
    _In_ ULONG ProcessId
    );

//
// Loads the DLL, unless it is there.
// Path: its, terminated.
// IsLoaded: FALSE: it is only looked for.
//

_Must_inspect_result_
READER_ATTACH_END
BaseAttachLoad(
    _Inout_ PREADER_ATTACH Attach,
    _In_z_ PCWSTR Path,
    _In_ BOOLEAN IsLoaded
    );

//
// Makes a request, and waits for the answer.
// Settings: with FirstLength + SecondLength 16-bit units.
//

_Must_inspect_result_
READER_ATTACH_END
BaseAttachAsk(
    _Inout_ PREADER_ATTACH Attach,
    _In_ ULONG Kind,
    _In_reads_(FirstLength + SecondLength) PCWSTR Settings,
    _In_ ULONG FirstLength,
    _In_ ULONG SecondLength
    );

VOID
BaseAttachClose(
    _Inout_ PREADER_ATTACH Attach
    );

#endif // TRACER_BASE_ATTACH_H

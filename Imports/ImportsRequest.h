/*++

Module Name:

    ImportsRequest.h

Abstract:

    What TraceReader tells TracerImports.dll in a program that runs: to attach,
    and to detach.

    A request is written into the program's memory by whoever may write there,
    who then starts a thread at ImportsRequest, whose parameter it is.  When the
    thread has ended the answer is in it.  Both sides are of one build, which
    TraceReader makes sure of; the version says so once more.

    It includes nothing of ours: TraceReader has nothing else of this DLL.

--*/

#ifndef TRACER_IMPORTS_REQUEST_H
#define TRACER_IMPORTS_REQUEST_H

#include <stdint.h>

#define IMPORTS_REQUEST_NAME        "ImportsRequest"
#define IMPORTS_REQUEST_MAGIC       0x51455249u     // "IREQ"
#define IMPORTS_REQUEST_VERSION     2u
#define IMPORTS_REQUEST_MAXIMUM     0x400000u       // bytes
#define IMPORTS_REQUEST_TEXT_SIZE   800u            // bytes
#define IMPORTS_REQUEST_PATH_LENGTH 32768u          // 16-bit units

//
// Kind.
//

#define IMPORTS_REQUEST_ATTACH      1u
#define IMPORTS_REQUEST_DETACH      2u

//
// Outcome.  With all but _DONE the program is as it was before.
//

#define IMPORTS_OUTCOME_NONE        0u  // the thread has not come that far
#define IMPORTS_OUTCOME_DONE        1u
#define IMPORTS_OUTCOME_ATTACHED    2u  // attach: it is attached
#define IMPORTS_OUTCOME_DETACHED    3u  // detach: it is not
#define IMPORTS_OUTCOME_BUSY        4u  // another request is being carried out
#define IMPORTS_OUTCOME_INSIDE      5u  // attach: threads do not leave the
                                        // hooks of the last time
#define IMPORTS_OUTCOME_NOTHING     6u  // attach: no list says what to record
#define IMPORTS_OUTCOME_FAILED      7u  // Text and Status say why
#define IMPORTS_OUTCOME_ENDING      8u  // the process ends

typedef struct _IMPORTS_REQUEST {
    uint32_t Magic;
    uint32_t Version;
    uint32_t SizeInBytes;           // of all of it
    uint32_t Kind;

    //
    // attach: variables, "NAME=VALUE" with a null behind each, in 16-bit units
    // from Settings on.  The first take the place of the process's own, the
    // others are for those that it has not.
    //

    uint32_t FirstLength;           // 16-bit units
    uint32_t SecondLength;

    //
    // The answer.
    //

    uint32_t Outcome;
    uint32_t Status;                // NTSTATUS
    uint32_t NumberOfSlots;         // attach: that record
    uint32_t NumberRestored;        // detach: of these, that have what they had
    uint32_t NumberLater;           // of NumberRestored, that record since then
    uint32_t NumberGone;            // whose module was unloaded
    uint32_t NumberForeign;         // that somebody else has changed since
    uint32_t NumberFailed;          // that could not be written
    uint32_t NumberInside;          // threads that did not leave the hooks: the
                                    // stores stay open until the process ends
    uint32_t TextLength;            // bytes
    uint32_t PathLength;            // 16-bit units
    char Text[IMPORTS_REQUEST_TEXT_SIZE];           // UTF-8: what failed
    uint16_t Path[IMPORTS_REQUEST_PATH_LENGTH];     // the session's, an NT path
    uint16_t Settings[4];
} IMPORTS_REQUEST;
typedef IMPORTS_REQUEST *PIMPORTS_REQUEST;
typedef const IMPORTS_REQUEST *PCIMPORTS_REQUEST;

#endif // TRACER_IMPORTS_REQUEST_H

/*++

Module Name:

    ReaderExclude.h

Abstract:

    Where the functions of an image call the hooks, and the list of those
    places that TRACER_EXCLUDE takes (Docs/Exclude.md).

--*/

#ifndef TRACER_READER_EXCLUDE_H
#define TRACER_READER_EXCLUDE_H

#include "Reader.h"

//
// The first line of a list.
//

#define READER_EXCLUDE_VERSION "tracer-exclude 1"

typedef enum _READER_HOOK_FORM {
    ReaderHookFormCall = 0,
    ReaderHookFormJump,
    ReaderHookFormOther             // it cannot be taken out
} READER_HOOK_FORM;

typedef struct _READER_HOOK_SITE {
    ULONG Module;                   // index
    ULONG Rva;
    ULONG Form;                     // READER_HOOK_FORM
    ULONG FirstFunction;            // in the list of functions
    ULONG NumberOfFunctions;        // whose call it may be
    BOOLEAN IsEntry;
} READER_HOOK_SITE;
typedef READER_HOOK_SITE *PREADER_HOOK_SITE;
typedef const READER_HOOK_SITE *PCREADER_HOOK_SITE;

typedef struct _READER_EXCLUDE {
    PREADER_FUNCTIONS Functions;
    PREADER_HOOK_SITE Sites;
    ULONG NumberOfSites;
    ULONG CapacityOfSites;
    PULONG List;                    // indexes of functions
    ULONG NumberInList;
    ULONG CapacityOfList;
    ULONG NumberUnknown;            // places of functions that cannot be told
    ULONG NumberExcluded;           // these three by ReaderWriteExcludeList:
    ULONG NumberOfPlaces;           // functions, and their places
    ULONG NumberRefused;            // functions that were meant
} READER_EXCLUDE;
typedef READER_EXCLUDE *PREADER_EXCLUDE;

//
// Functions must outlive Exclude, and gets the functions that are found.
//

typedef
VOID
(READER_INITIALIZE_EXCLUDE)(
    _Out_ PREADER_EXCLUDE Exclude,
    _In_ PREADER_FUNCTIONS Functions
    );
READER_INITIALIZE_EXCLUDE ReaderInitializeExclude;

typedef VOID (READER_RUNDOWN_EXCLUDE)(_Inout_ PREADER_EXCLUDE Exclude);
READER_RUNDOWN_EXCLUDE ReaderRundownExclude;

//
// Finds the places where a module calls hooks, in its image.
//
//     STATUS_NOT_FOUND               the image, or its unwind data, is not
//                                    there
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_FIND_HOOK_SITES)(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_ ULONG Module
    );
READER_FIND_HOOK_SITES ReaderFindHookSites;

//
// Marks the functions that call hooks; IsCalling has a byte for each function.
//

typedef
VOID
(READER_MARK_HOOK_FUNCTIONS)(
    _In_ const READER_EXCLUDE *Exclude,
    _Inout_ PUCHAR IsCalling
    );
READER_MARK_HOOK_FUNCTIONS ReaderMarkHookFunctions;

//
// Writes the list of the functions that are meant: IsMeant has a byte for each
// function of Functions.  Those that cannot be excluded are named on the error
// output, and their bytes set to 0.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_WRITE_EXCLUDE_LIST)(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _Inout_ PRTL_WRITER Writer
    );
READER_WRITE_EXCLUDE_LIST ReaderWriteExcludeList;

//
// CommandExclude.c.  Finds the places in the selected modules of a session;
// Path is for messages.  Returns READER_EXIT_*; failures have been written.
//

typedef
ULONG
(READER_FIND_SESSION_HOOK_SITES)(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_z_ PCSZ Path
    );
READER_FIND_SESSION_HOOK_SITES ReaderFindSessionHookSites;

//
// Is an earlier module of the session of the same image?  Only that one's
// places are found.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_IS_MODULE_REPEATED)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Module,
    _Out_ PULONG First
    );
READER_IS_MODULE_REPEATED ReaderIsModuleRepeated;

//
// Writes the list to a file.  Returns READER_EXIT_*: a failure, too, if some
// functions cannot be excluded.
//

typedef
ULONG
(READER_SAVE_EXCLUDE_LIST)(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8
    );
READER_SAVE_EXCLUDE_LIST ReaderSaveExcludeList;

#endif // TRACER_READER_EXCLUDE_H

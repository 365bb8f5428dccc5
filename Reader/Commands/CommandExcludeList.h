/*++

Module Name:

    CommandExcludeList.h

Abstract:

    Where the functions of an image call the hooks, and the list of those
    places that TRACER_EXCLUDE takes (Docs/Exclude.md).

--*/

#ifndef TRACER_COMMAND_EXCLUDE_LIST_H
#define TRACER_COMMAND_EXCLUDE_LIST_H

#include "../Functions/Function.h"

//
// The first line of a list, and the last, without which it has been cut.
//

#define READER_EXCLUDE_VERSION "tracer-exclude 2"
#define READER_EXCLUDE_END "end"

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
    ULONG NumberExcluded;           // these three by CommandWriteExcludeList:
    ULONG NumberOfPlaces;           // functions, and their places
    ULONG NumberRefused;            // functions that were meant
} READER_EXCLUDE;
typedef READER_EXCLUDE *PREADER_EXCLUDE;

//
// Functions must outlive Exclude, and gets the functions that are found. Makes
// an empty list.
//

VOID
CommandInitializeExclude(
    _Out_ PREADER_EXCLUDE Exclude,
    _In_ PREADER_FUNCTIONS Functions
    );

//
// Frees what the list holds.
//

VOID
CommandRundownExclude(
    _Inout_ PREADER_EXCLUDE Exclude
    );

//
// Finds the places where a module calls hooks, in its image.
//
//     STATUS_NOT_FOUND               the image, or its unwind data, is not
//                                    there
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
CommandFindHookSites(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_ ULONG Module
    );

//
// Marks the functions that call hooks; IsCalling has a byte for each function.
// Exclude: the places.
//

VOID
CommandMarkHookFunctions(
    _In_ const READER_EXCLUDE *Exclude,
    _Inout_ PUCHAR IsCalling
    );

//
// Writes the list of the functions that are meant: IsMeant has a byte for each
// function of Functions.  Those that cannot be excluded are named on the error
// output, and their bytes set to 0.
//
//     STATUS_NO_MEMORY
//
// Exclude: the places; receives what was written.
// Source: what the list is made of, for a comment.
//

_Must_inspect_result_
NTSTATUS
CommandWriteExcludeList(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _Inout_ PRTL_WRITER Writer
    );

//
// CommandExclude.c.  Finds the places in the selected modules of a session;
// Path is for messages.  Returns READER_EXIT_*; failures have been written.
//

ULONG
CommandFindSessionHookSites(
    _Inout_ PREADER_EXCLUDE Exclude,
    _In_z_ PCSZ Path
    );

//
// Is an earlier module of the session of the same image? Only that one's
// places are found. One that was unloaded, and loaded again elsewhere.
// First: that module's index.
//

_Success_(return != FALSE)
BOOLEAN
CommandIsModuleRepeated(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Module,
    _Out_ PULONG First
    );

//
// Writes the list to a file, and says on the output what is in it. Returns
// READER_EXIT_*: a failure, too, if some functions cannot be excluded.
//
// IsMeant: by function, whether it is meant.
// Source: what the list is made of.
//

ULONG
CommandSaveExcludeList(
    _Inout_ PREADER_EXCLUDE Exclude,
    _Inout_ PUCHAR IsMeant,
    _In_z_ PCSZ Source,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8
    );

#endif // TRACER_COMMAND_EXCLUDE_LIST_H

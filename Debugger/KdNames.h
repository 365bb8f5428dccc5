/*++

Module Name:

    KdNames.h

Abstract:

    Addresses become functions: the debugger's symbols say what they are called,
    the images' unwind data where they begin.

--*/

#ifndef TRACER_KD_NAMES_H
#define TRACER_KD_NAMES_H

#include "../Reader/Core/CorePair.h"
#include "KdImage.h"

#define KD_NONE                     0xFFFFFFFFu

//
// The longest name that is shown, bytes.
//

#define KD_NAME_SIZE                1024u

typedef struct _KD_FUNCTION {
    ULONGLONG Start;                // its first address
    PCHAR Name;                     // module!function, without control
    ULONG NameLength;               // characters; bytes
    ULONG Module;                   // index, or KD_NONE
} KD_FUNCTION;
typedef KD_FUNCTION *PKD_FUNCTION;
typedef const KD_FUNCTION *PCKD_FUNCTION;

//
// A module of which something was recorded.
//

typedef struct _KD_MODULE {
    ULONGLONG Base;
    ULONG Size;                     // bytes, as it was recorded
    ULONG TimeDateStamp;            // likewise
    BOOLEAN IsImports;              // its sites are stubs
    BOOLEAN IsExcluded;             // calls of hooks are taken out of it
    BOOLEAN IsOpened;               // Image was asked for
    BOOLEAN IsThere;                // it is in memory, and the same build
    ULONG NameLength;
    CHAR Name[64];                  // without its extension
    KD_IMAGE Image;
} KD_MODULE;
typedef KD_MODULE *PKD_MODULE;

//
// What the image says of a place that a hook is called from.
//

typedef struct _KD_SITE {
    ULONG Function;                 // index of its function
    ULONG FrameSize;                // these as in CORE_CALL
    ULONG BodySize;
    ULONG Flags;
    ULONGLONG Key;
    ULONGLONG JumpTarget;
} KD_SITE;
typedef KD_SITE *PKD_SITE;

typedef struct _KD_NAMES {
    PKD_CONTEXT Context;
    PKD_MODULE *Modules;
    PKD_FUNCTION Functions;
    PKD_SITE Sites;
    READER_MAP SiteIndexes;
    READER_MAP Starts;
    ULONG NumberOfModules;
    ULONG ModuleCapacity;
    ULONG NumberOfFunctions;
    ULONG FunctionCapacity;
    ULONG NumberOfSites;
    ULONG SiteCapacity;
} KD_NAMES;
typedef KD_NAMES *PKD_NAMES;

VOID
KdNamesInitialize(
    _In_ PKD_CONTEXT Context,
    _Out_ PKD_NAMES Names
    );

VOID
KdNamesRundown(
    _Inout_ PKD_NAMES Names
    );

//
// Finds or adds a module.  Path, UTF-8, ends with its file's name.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdNamesAddModule(
    _Inout_ PKD_NAMES Names,
    _In_ ULONGLONG Base,
    _In_ ULONG Size,
    _In_ ULONG TimeDateStamp,
    _In_ ULONG Flags,
    _In_reads_bytes_(PathLength) const CHAR *Path,
    _In_ ULONG PathLength,
    _Out_ PULONG Index
    );

//
// The function that an address is in; one for each name and beginning.
//     STATUS_NO_MEMORY, STATUS_CANCELLED
//

_Must_inspect_result_
NTSTATUS
KdNamesFindFunction(
    _Inout_ PKD_NAMES Names,
    _In_ ULONG Module,
    _In_ ULONGLONG Address,
    _Out_ PULONG Function
    );

//
// A function that is none: what several functions of a tree share.
//

_Must_inspect_result_
NTSTATUS
KdNamesFindOther(
    _Inout_ PKD_NAMES Names,
    _Out_ PULONG Function
    );

//
// Fills what the image says of a call, whose Site (module << 32 | RVA) and Kind
// are there.
//     STATUS_NO_MEMORY, STATUS_CANCELLED
//

_Must_inspect_result_
NTSTATUS
KdNamesDescribe(
    _Inout_ PKD_NAMES Names,
    _Inout_ PCORE_CALL Call,
    _Out_ PULONG Function
    );

//
// Whether a function is one of a module that the user names: "app" is app.exe
// and app!main.
//

BOOLEAN
KdNamesIsOfModule(
    _In_ PCKD_FUNCTION Function,
    _In_reads_bytes_(Length) const CHAR *Module,
    _In_ ULONG Length
    );

//
// CORE_COUNT_INLINED, of KD_NAMES.
//

CORE_COUNT_INLINED KdNamesCountInlined;

//
// Writes a function's name.
//

VOID
KdNamesWrite(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_FUNCTION Function
    );

//
// Text of the target: what is no ASCII for reading becomes a question mark.
//

VOID
KdNamesWriteText(
    _Inout_ PKD_CONTEXT Context,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    );

//
// The engine's name of an address: module!function, and what it is beyond its
// beginning.  Returns its length; 0: there is none.
//

ULONG
KdNamesAsk(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Address,
    _Out_writes_bytes_(KD_NAME_SIZE) PCHAR Name,
    _Out_ PULONGLONG Displacement
    );

#endif // TRACER_KD_NAMES_H

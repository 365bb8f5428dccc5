/*++

Module Name:

    ViewKeep.h

Abstract:

    What the pass over a thread has added up, as a file: whoever has it needs
    no pass.  Docs/Format.md, section 25, has the format.

--*/

#ifndef TRACER_VIEW_KEEP_H
#define TRACER_VIEW_KEEP_H

#include "View.h"

#define READER_KEEP_MAGIC 0x534C4556454C5254ULL     // "TRLEVELS"

//
// Counts the formats, and the rules by which levels are made.
//

#define READER_KEEP_VERSION 3u
#define READER_KEEP_BUFFER 0x10000u

typedef struct _READER_KEEP_HEADER {
    ULONGLONG Magic;
    ULONG Version;
    ULONG NumberOfStores;           // of the thread
    ULONGLONG Identity;             // ViewIdentifyThread
} READER_KEEP_HEADER;
typedef READER_KEEP_HEADER *PREADER_KEEP_HEADER;

C_ASSERT(sizeof(READER_KEEP_HEADER) == 24);

//
// Where kept levels are read from.  Returns how many bytes were read, 0 at the
// end or after a failure.
//

typedef
ULONG
(READER_KEEP_READ)(
    _In_ PVOID Context,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    );
typedef READER_KEEP_READ *PREADER_KEEP_READ;

//
// A hash of what a thread's levels depend on: its stores' headers and ends,
// pauses, the clock, the range that is read, and whether its modules' images
// or the cache of symbols are known.  0: levels of it cannot be kept.
//

ULONGLONG
ViewIdentifyThread(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread
    );

//
// Writes what the pass over a thread has left, which is done and has not
// failed.
//
//     STATUS_NOT_SUPPORTED: it cannot be kept
//     STATUS_NO_MEMORY, or why it could not be written
//

_Must_inspect_result_
NTSTATUS
ViewSaveThread(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _Inout_ PRTL_WRITER Writer
    );

//
// Takes what was kept of a thread that has not begun its pass, which is done
// afterwards.
//
//     STATUS_FILE_INVALID: it is damaged, of something else, or of another
//         version; the thread is as it was
//     STATUS_NO_MEMORY: likewise
//

_Must_inspect_result_
NTSTATUS
ViewRestoreThread(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _In_ PREADER_KEEP_READ Read,
    _In_ PVOID Context
    );

//
// The same from the file beside the thread's first store.
//

_Must_inspect_result_
NTSTATUS
ViewRestoreBeside(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread
    );

//
// Writes that file, in the place of one that there is.  Where it cannot be
// written nothing changes.
//

_Must_inspect_result_
NTSTATUS
ViewSaveBeside(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread
    );

#endif // TRACER_VIEW_KEEP_H

/*++

Module Name:

    SessionSource.h

Abstract:

    A session's directories and files, whether they are the file system's or
    in a pack.  Paths are NT paths; a pack's own is where its files begin.

--*/

#ifndef TRACER_SESSION_SOURCE_H
#define TRACER_SESSION_SOURCE_H

#include "../Base/BasePack.h"

typedef struct _READER_SOURCE {
    PCREADER_CONTEXT Context;
    HANDLE File;                    // NULL of one in a pack
    PREADER_PACK Pack;
    ULONG PackFile;                 // index
    READER_PACK_VIEW View;
} READER_SOURCE;
typedef READER_SOURCE *PREADER_SOURCE;

//
// Lists a directory, as RtlEnumerateDirectory does.
// Pack: that the path leads into, or NULL.
//

_Must_inspect_result_
NTSTATUS
SessionListDirectory(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PCREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _In_ PRTL_DIRECTORY_CALLBACK Callback,
    _In_opt_ PVOID CallbackContext
    );

//
// Appends to a pack's path the folder that all of its files are in: what the
// session's directory was called.  Without one the path stays.
//

_Must_inspect_result_
NTSTATUS
SessionEnterPackFolder(
    _In_ PCREADER_PACK Pack,
    _Inout_ PUNICODE_STRING NtPath
    );

//
// Opens a file, which one thread reads.
// Pack: that the path leads into, or NULL.
//

_Must_inspect_result_
NTSTATUS
SessionOpenSource(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PREADER_SOURCE Source
    );

_Must_inspect_result_
NTSTATUS
SessionQuerySource(
    _In_ const READER_SOURCE *Source,
    _Out_ PULONGLONG SizeInBytes
    );

//
// Reads a part of it, as RtlReadFile does.
//

_Must_inspect_result_
NTSTATUS
SessionReadSource(
    _Inout_ PREADER_SOURCE Source,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_to_(SizeInBytes, *ReadInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes,
    _Out_ PULONG ReadInBytes
    );

VOID
SessionCloseSource(
    _Inout_ PREADER_SOURCE Source
    );

#endif // TRACER_SESSION_SOURCE_H

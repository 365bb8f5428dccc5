/*++

Module Name:

    BasePackWrite.h

Abstract:

    Makes a pack (BasePack.h): each file's bytes go into blocks as they come,
    and what the pack has is written at its end.

--*/

#ifndef TRACER_BASE_PACK_WRITE_H
#define TRACER_BASE_PACK_WRITE_H

#include "BasePack.h"

typedef struct _READER_PACK_WRITER READER_PACK_WRITER;
typedef READER_PACK_WRITER *PREADER_PACK_WRITER;

//
// Begins a pack in a file, which is open for writing, empty, and the caller's.
// IsDense: blocks are as small as they can be; FALSE: they are made fast.
//

_Must_inspect_result_
NTSTATUS
BaseCreatePackWriter(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ BOOLEAN IsDense,
    _Outptr_result_maybenull_ PREADER_PACK_WRITER *Writer
    );

VOID
BaseDestroyPackWriter(
    _In_opt_ PREADER_PACK_WRITER Writer
    );

//
// Begins a file of a size that is known.
// Name: in UTF-8, with slashes between folders.
//

_Must_inspect_result_
NTSTATUS
BaseBeginPackFile(
    _Inout_ PREADER_PACK_WRITER Writer,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG SizeInBytes
    );

//
// Writes a part of the file.  Parts may come in any order, and must not have
// bytes in common; what is never written is zero.
// FileOffset: of the part, which ends inside the file.
//

_Must_inspect_result_
NTSTATUS
BaseWritePackFile(
    _Inout_ PREADER_PACK_WRITER Writer,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Ends a block: records do not go into one with what is before them.
//

_Must_inspect_result_
NTSTATUS
BaseEndPackBlock(
    _Inout_ PREADER_PACK_WRITER Writer
    );

//
// Ends the file.  STATUS_INVALID_PARAMETER: parts had bytes in common.
//

_Must_inspect_result_
NTSTATUS
BaseEndPackFile(
    _Inout_ PREADER_PACK_WRITER Writer
    );

//
// Ends the pack, with no file begun.
//

_Must_inspect_result_
NTSTATUS
BaseEndPack(
    _Inout_ PREADER_PACK_WRITER Writer
    );

#endif // TRACER_BASE_PACK_WRITE_H

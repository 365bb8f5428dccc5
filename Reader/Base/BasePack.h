/*++

Module Name:

    BasePack.h

Abstract:

    A pack: the files of sessions in one file, in blocks of Codec.h.  This is
    what reads one; BasePackWrite.h makes one.  Docs/Format.md, section 15, has
    the layout.

--*/

#ifndef TRACER_BASE_PACK_H
#define TRACER_BASE_PACK_H

#include "../../StringTable/StringTable.h"
#include "../../Codec/Codec.h"
#include "BaseContext.h"

#define READER_PACK_MAGIC       0x4B43415043415254ULL   // "TRACPACK"
#define READER_PACK_END_MAGIC   0x444E455043415254ULL   // "TRACPEND"
#define READER_PACK_VERSION     1

//
// The file begins with this.
//

typedef struct _READER_PACK_HEADER {
    ULONGLONG Magic;
    ULONG Version;
    ULONG HeaderSize;               // bytes: where blocks may begin
    ULONGLONG Unused[6];            // 0
} READER_PACK_HEADER;
typedef READER_PACK_HEADER *PREADER_PACK_HEADER;

C_ASSERT(sizeof(READER_PACK_HEADER) == 64);

//
// What follows the blocks: these of all files, then the blocks of each file,
// in the order of their bytes, then the names.
//

typedef struct _READER_PACK_FILE {
    ULONGLONG SizeInBytes;
    ULONGLONG FirstBlock;           // index
    ULONG NumberOfBlocks;
    ULONG Name;                     // offset among the names
    ULONG NameLength;               // bytes; UTF-8, folders before slashes
    ULONG Unused;                   // 0
} READER_PACK_FILE;
typedef READER_PACK_FILE *PREADER_PACK_FILE;
typedef const READER_PACK_FILE *PCREADER_PACK_FILE;

C_ASSERT(sizeof(READER_PACK_FILE) == 32);

typedef struct _READER_PACK_BLOCK {
    ULONGLONG PackOffset;           // of the block, a multiple of 8
    ULONGLONG FileOffset;           // of its bytes
    ULONG BlockSize;                // bytes, with its header
    ULONG RawBytes;
    ULONGLONG FirstTimestamp;       // as the block's header has it
} READER_PACK_BLOCK;
typedef READER_PACK_BLOCK *PREADER_PACK_BLOCK;
typedef const READER_PACK_BLOCK *PCREADER_PACK_BLOCK;

C_ASSERT(sizeof(READER_PACK_BLOCK) == 32);

//
// The file ends with this.
//

typedef struct _READER_PACK_END {
    ULONGLONG Magic;
    ULONG Version;
    ULONG NumberOfFiles;
    ULONGLONG NumberOfBlocks;
    ULONGLONG FilesOffset;
    ULONGLONG SizeOfNames;          // bytes
    ULONGLONG Unused[2];            // 0
    ULONG Crc;                      // CRC-32 of files, blocks and names, and
                                    // of this up to here
    ULONG Unused2;                  // 0
} READER_PACK_END;
typedef READER_PACK_END *PREADER_PACK_END;

C_ASSERT(sizeof(READER_PACK_END) == 64);

//
// The most that a pack is believed to have.
//

#define READER_PACK_MAXIMUM_FILES   0x40000u
#define READER_PACK_MAXIMUM_SIZE    0x20000000ULL   // of files, blocks, names
#define READER_PACK_MAXIMUM_GAPS    0x1000000000ULL // bytes of all files that
                                                    // no block has

typedef struct _READER_PACK READER_PACK;
typedef READER_PACK *PREADER_PACK;
typedef const READER_PACK *PCREADER_PACK;

//
// Opens a pack, and reads what it has.  It may be read by several threads, if
// the context's allocator may.
//
//     STATUS_NOT_SUPPORTED (it does not begin as a pack),
//     STATUS_REVISION_MISMATCH, STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY,
//     what opening and reading give
//

_Must_inspect_result_
NTSTATUS
BaseOpenPack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _Outptr_result_maybenull_ PREADER_PACK *Pack
    );

VOID
BaseClosePack(
    _In_opt_ PREADER_PACK Pack
    );

//
// The files.  All names are plain paths, no two are the same in either case,
// and none is a folder of another.
// Name: as Windows has it, with backslashes; lives as long as the pack.
//

ULONG
BaseCountPackFiles(
    _In_ PCREADER_PACK Pack
    );

ULONGLONG
BaseQueryPackFile(
    _In_ PCREADER_PACK Pack,
    _In_ ULONG File,
    _Out_ PUNICODE_STRING Name
    );

//
// Finds the file of an NT path: the pack's with a backslash and a name, in the
// same case.  READER_NONE: there is none.
//

ULONG
BaseFindPackFile(
    _In_ PCREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath
    );

//
// Where the bytes of a file begin that lie behind the last gap between its
// blocks.
// FileOffset: the least that this can be.
//

ULONGLONG
BaseFindPackRun(
    _In_ PCREADER_PACK Pack,
    _In_ ULONG File,
    _In_ ULONGLONG FileOffset
    );

//
// Whether a byte of a file is in none of its blocks.
// Start, End: where they begin and end that are not, around it.
//

_Success_(return != FALSE)
BOOLEAN
BaseIsPackGap(
    _In_ PCREADER_PACK Pack,
    _In_ ULONG File,
    _In_ ULONGLONG FileOffset,
    _Out_ PULONGLONG Start,
    _Out_ PULONGLONG End
    );

//
// Lists what a directory has, which is the pack itself or a folder in it, as
// RtlEnumerateDirectory does: files, and folders once each.
// STATUS_OBJECT_PATH_NOT_FOUND: there is no such folder.
//

_Must_inspect_result_
NTSTATUS
BaseListPack(
    _In_ PCREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _In_ PRTL_DIRECTORY_CALLBACK Callback,
    _In_opt_ PVOID CallbackContext
    );

//
// The bytes of a file around one of them, as one thread sees them.
//

typedef struct _READER_PACK_VIEW {
    PUCHAR Bytes;                   // CODEC_MAXIMUM_BYTES; NULL: none yet
    ULONGLONG FileOffset;           // of the first
    ULONG SizeInBytes;              // 0: none is seen
} READER_PACK_VIEW;
typedef READER_PACK_VIEW *PREADER_PACK_VIEW;

//
// Moves a view to a byte, unless it has it.
// View: all zeroes at first; BaseFreePackView frees it.
//
//     STATUS_END_OF_FILE, STATUS_FILE_CORRUPT_ERROR and what reading gives:
//     then nothing is seen
//

_Must_inspect_result_
NTSTATUS
BaseMovePackView(
    _In_ PREADER_PACK Pack,
    _In_ ULONG File,
    _In_ ULONGLONG FileOffset,
    _Inout_ PREADER_PACK_VIEW View
    );

VOID
BaseFreePackView(
    _In_ PCREADER_PACK Pack,
    _Inout_ PREADER_PACK_VIEW View
    );

//
// Reads bytes of a file through a view of it: fewer than asked for at its end.
//

_Must_inspect_result_
NTSTATUS
BaseReadPack(
    _In_ PREADER_PACK Pack,
    _In_ ULONG File,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_to_(SizeInBytes, *ReadInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes,
    _Inout_ PREADER_PACK_VIEW View,
    _Out_ PULONG ReadInBytes
    );

#endif // TRACER_BASE_PACK_H

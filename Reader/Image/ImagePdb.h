/*++

Module Name:

    ImagePdb.h

Abstract:

    What a PDB says of itself and of its functions: the identity by which an
    image knows it, and the names at each address, of which there are several
    where a linker has folded identical functions.

    A PDB is a container of streams (MSF 7.00).  Its bytes may be anything;
    nothing in them is believed before it is checked against their size.  The
    code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_IMAGE_PDB_H
#define TRACER_IMAGE_PDB_H

#include "ImageCoff.h"

typedef struct _READER_PDB {
    PCALLOCATOR Allocator;
    const UCHAR *Bytes;
    ULONGLONG SizeInBytes;
    ULONG BlockSize;                // bytes
    ULONG NumberOfStreams;
    PULONG StreamSizes;             // bytes, by stream
    PULONG StreamBlocks;            // by stream: where its blocks are in Blocks
    PULONG Blocks;                  // block numbers
    PUCHAR Record;                  // one symbol, when functions are loaded
    BOOLEAN IsDamaged;              // what ImageLoadPdbFunctions has found:
                                    // records that do not follow each other

    //
    // The identity.  Age is the one that images name: that of the stream of
    // debugging information (DBI), which a linker writes.  The PDB's own age
    // also grows when a tool adds to the PDB; it stands in where there is no
    // such stream.
    //

    UCHAR Guid[16];
    ULONG Age;
} READER_PDB;
typedef READER_PDB *PREADER_PDB;
typedef const READER_PDB *PCREADER_PDB;

//
// Reads a PDB's directory and identity.  The bytes are used until
// ImageRundownPdb, which may be called after a failure, too.
//
//     STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY
//
// Allocator: the memory; it must outlive Pdb.
// Pdb: what was found.
//

_Must_inspect_result_
NTSTATUS
ImageInitializePdb(
    _In_ PCALLOCATOR Allocator,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_PDB Pdb
    );

//
// Makes a table of the PDB's functions, and of its public names.  Image
// supplies the sections.  Table is good for ImageRundownCoff, after a failure,
// too.  A damaged PDB gives what can be read of it, or an empty table.
//
// All that DbgHelp walks is walked: the types and the symbols of every module,
// and their lines.  IsDamaged says that a record has no length, or one that
// leads beyond what it is part of: Wine's DbgHelp goes round for ever on such
// a PDB, and takes all memory that there is.
//
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
ImageLoadPdbFunctions(
    _Inout_ PREADER_PDB Pdb,
    _In_ PCREADER_COFF Image,
    _Out_ PREADER_COFF Table
    );

//
// A public name at an address, as a linker knows it.
// Table: the functions.
// Number: which of them, from 0.
// NameLengthInBytes: its length without the terminator.
// Returns TRUE if there is one; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindPdbPublic(
    _In_ PCREADER_COFF Table,
    _In_ ULONG Rva,
    _In_ ULONG Number,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );

//
// Frees what ImageInitializePdb and ImageLoadPdbFunctions allocated, but not
// the tables. It may be called after a failure, and twice.
//

VOID
ImageRundownPdb(
    _Inout_ PREADER_PDB Pdb
    );

#endif // TRACER_IMAGE_PDB_H

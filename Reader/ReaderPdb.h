/*++

Module Name:

    ReaderPdb.h

Abstract:

    What a PDB says of itself and of its functions: the identity by which an
    image knows it, and the names at each address, of which there are several
    where a linker has folded identical functions.

    A PDB is a container of streams (MSF 7.00).  Its bytes may be anything;
    nothing in them is believed before it is checked against their size.  The
    code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_READER_PDB_H
#define TRACER_READER_PDB_H

#include "ReaderCoff.h"

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
// ReaderRundownPdb, which may be called after a failure, too.
//
//     STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_PDB)(
    _In_ PCALLOCATOR Allocator,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_PDB Pdb
    );
READER_INITIALIZE_PDB ReaderInitializePdb;

//
// Makes a table of the PDB's functions, and of its public names.  Image
// supplies the sections.  Table is good for ReaderRundownCoff, after a failure,
// too.  A damaged PDB gives an empty table.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_LOAD_PDB_FUNCTIONS)(
    _Inout_ PREADER_PDB Pdb,
    _In_ PCREADER_COFF Image,
    _Out_ PREADER_COFF Table
    );
READER_LOAD_PDB_FUNCTIONS ReaderLoadPdbFunctions;

//
// The public name at an address, as a linker knows it.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_PDB_PUBLIC)(
    _In_ PCREADER_COFF Table,
    _In_ ULONG Rva,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );
READER_FIND_PDB_PUBLIC ReaderFindPdbPublic;

typedef VOID (READER_RUNDOWN_PDB)(_Inout_ PREADER_PDB Pdb);
READER_RUNDOWN_PDB ReaderRundownPdb;

#endif // TRACER_READER_PDB_H

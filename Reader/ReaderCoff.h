/*++

Module Name:

    ReaderCoff.h

Abstract:

    Function names out of the bytes of a PE32+ x64 image: from its COFF symbol
    table, else from its export directory.

    The bytes may be anything; nothing in them is believed before it is
    checked against their size.  Everything that is kept is copied, so the
    bytes may go away when ReaderInitializeCoff returns.  The code is pure C
    over bytes and also builds natively.

--*/

#ifndef TRACER_READER_COFF_H
#define TRACER_READER_COFF_H

#include "../Rtl/RtlTypes.h"
#include "../Rtl/Allocator.h"

#ifndef STATUS_INVALID_IMAGE_FORMAT
#define STATUS_INVALID_IMAGE_FORMAT ((NTSTATUS)0xC000007B)
#endif

//
// The longest name that is kept, in bytes; a longer one is cut.
//

#define READER_COFF_MAXIMUM_NAME 16383

//
// The longest path of a PDB that is kept, in bytes.
//

#define READER_COFF_MAXIMUM_PDB_PATH 1024

//
// Of several names for one address the first choice is a global symbol (not a
// static one, or an export that only has an ordinal), then a function's (not a
// label's, or a PDB's public name), then the one that the table has first: the
// order is total and does not depend on how the entries are sorted.
//

#define READER_RANK_NOT_FIRST_CHOICE    0x80000000u
#define READER_RANK_NOT_FUNCTION        0x40000000u
#define READER_RANK_INDEX_MASK          0x3fffffffu

typedef enum _READER_COFF_KIND {
    ReaderCoffKindNone = 0,
    ReaderCoffKindSymbols,          // the COFF symbol table
    ReaderCoffKindExports,
    ReaderCoffKindPdb               // a PDB's functions: see ReaderPdb.h
} READER_COFF_KIND;

typedef struct _READER_COFF_SECTION {
    ULONG StartRva;
    ULONG EndRva;                   // first RVA after it
    ULONG RawOffset;                // in the file, bytes
    ULONG RawSizeInBytes;
    ULONG IsExecutable;
} READER_COFF_SECTION;
typedef READER_COFF_SECTION *PREADER_COFF_SECTION;
typedef const READER_COFF_SECTION *PCREADER_COFF_SECTION;

typedef struct _READER_COFF_ENTRY {
    ULONG Rva;
    ULONG Rank;                     // READER_RANK_*, and the place in the table
    ULONG NameOffset;               // in Names, bytes
    ULONG NameLength;               // bytes, without the terminator
} READER_COFF_ENTRY;
typedef READER_COFF_ENTRY *PREADER_COFF_ENTRY;
typedef const READER_COFF_ENTRY *PCREADER_COFF_ENTRY;

typedef struct _READER_COFF {
    PCALLOCATOR Allocator;

    //
    // What identifies the build.
    //

    ULONG TimeDateStamp;
    ULONG SizeOfImage;              // bytes
    ULONG CheckSum;

    //
    // Where the image wants to be loaded, and where in the file the section
    // headers and the string table are, in bytes; 0 if there is no such table.
    //

    ULONGLONG ImageBase;
    ULONGLONG HeadersOffset;
    ULONGLONG StringsOffset;

    //
    // Where the unwind data is: the exception directory, 0 if there is none.
    //

    ULONG ExceptionRva;
    ULONG ExceptionSizeInBytes;

    //
    // The PDB that the image names, if it names one.
    //

    BOOLEAN HasPdb;
    UCHAR PdbGuid[16];
    ULONG PdbAge;
    ULONG PdbPathLength;            // bytes
    CHAR PdbPath[READER_COFF_MAXIMUM_PDB_PATH];

    READER_COFF_KIND Kind;

    //
    // Sections ascend and do not overlap.  Entries ascend by RVA, those of one
    // RVA by rank; all of them lie in executable sections.
    //

    ULONG NumberOfSections;
    ULONG NumberOfEntries;
    PREADER_COFF_SECTION Sections;
    PREADER_COFF_ENTRY Entries;
    PCHAR Names;

    //
    // While Entries and Names are being gathered.
    //

    ULONG EntryCapacity;
    ULONG Unused;
    ULONGLONG NameLimitInBytes;
    ULONGLONG NamesInBytes;
    ULONGLONG NameCapacityInBytes;
} READER_COFF;
typedef READER_COFF *PREADER_COFF;
typedef const READER_COFF *PCREADER_COFF;

//
// Reads the image whose file is at Image.  An image with damaged headers is
// refused; a damaged symbol table or export directory counts as none.  After
// a failure, too, the structure is good for ReaderRundownCoff.
//
//     STATUS_INVALID_IMAGE_FORMAT, STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_COFF)(
    _In_ PCALLOCATOR Allocator,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_COFF Coff
    );
READER_INITIALIZE_COFF ReaderInitializeCoff;

//
// Finds the nearest function at or below Rva in Rva's own section.  Name is
// UTF-8, terminated, without control characters, and lives as long as Coff.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_COFF_SYMBOL)(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Out_ PULONG StartRva,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );
READER_FIND_COFF_SYMBOL ReaderFindCoffSymbol;

//
// The next of several functions that begin at Rva, which a linker that folds
// identical functions makes; labels and ordinals do not count.  *Cookie is 0
// for the first, and is kept for the next call.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_NEXT_COFF_FUNCTION)(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Inout_ PULONG Cookie,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );
READER_NEXT_COFF_FUNCTION ReaderNextCoffFunction;

//
// Fills the tables with what WalkTable finds: it is called twice, and calls
// ReaderAddCoffEntry the same way each time.  The names' bytes altogether are
// bounded by LimitInBytes.  A table that WalkTable does not believe, or that is
// empty, counts as none.
//

typedef
BOOLEAN
(READER_WALK_TABLE)(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Coff
    );
typedef READER_WALK_TABLE *PREADER_WALK_TABLE;

typedef
_Must_inspect_result_
NTSTATUS
(READER_LOAD_COFF_TABLE)(
    _In_ PREADER_WALK_TABLE WalkTable,
    _In_ PVOID Context,
    _In_ ULONGLONG LimitInBytes,
    _In_ READER_COFF_KIND Kind,
    _Inout_ PREADER_COFF Coff
    );
READER_LOAD_COFF_TABLE ReaderLoadCoffTable;

typedef
BOOLEAN
(READER_ADD_COFF_ENTRY)(
    _Inout_ PREADER_COFF Coff,
    _In_ ULONG Rva,
    _In_ ULONG Rank,
    _In_reads_bytes_(NameLimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG NameLimitInBytes
    );
READER_ADD_COFF_ENTRY ReaderAddCoffEntry;

//
// The executable section that holds Rva, or NULL.
//

typedef
_Ret_maybenull_
PCREADER_COFF_SECTION
(READER_FIND_CODE_SECTION)(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    );
READER_FIND_CODE_SECTION ReaderFindCodeSection;

//
// Finds the bytes of the first section with a name, which may be longer than
// the eight bytes of the header: then it is in the string table.  Image and
// SizeInBytes are what ReaderInitializeCoff got.  NULL if there is none or if
// it is empty.
//

typedef
_Ret_maybenull_
const UCHAR *
(READER_FIND_COFF_SECTION)(
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _In_z_ PCSZ Name,
    _Out_ PULONG SectionInBytes
    );
READER_FIND_COFF_SECTION ReaderFindCoffSection;

//
// Copies a name that came out of a file.  What is not a printable character of
// UTF-8 becomes question marks, one for each byte.  Target is terminated.
//

typedef
VOID
(READER_COPY_PRINTABLE)(
    _Out_writes_(LengthInBytes + 1) PCHAR Target,
    _In_reads_bytes_(LengthInBytes) const UCHAR *Name,
    _In_ ULONG LengthInBytes
    );
READER_COPY_PRINTABLE ReaderCopyPrintable;

typedef VOID (READER_RUNDOWN_COFF)(_Inout_ PREADER_COFF Coff);
READER_RUNDOWN_COFF ReaderRundownCoff;

#endif // TRACER_READER_COFF_H

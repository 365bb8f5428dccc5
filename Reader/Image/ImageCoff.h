/*++

Module Name:

    ImageCoff.h

Abstract:

    Function names out of the bytes of a PE32+ x64 image: from its COFF symbol
    table, else from its export directory.

    The bytes may be anything; nothing in them is believed before it is
    checked against their size.  Everything that is kept is copied, so the
    bytes may go away when ImageInitializeCoff returns.  The code is pure C
    over bytes and also builds natively.

--*/

#ifndef TRACER_IMAGE_COFF_H
#define TRACER_IMAGE_COFF_H

#include "../../Rtl/Allocator.h"
#include "../../StringTable/StringTable.h"

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
    ReaderCoffKindPdb               // a PDB's functions: see ImagePdb.h
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
// a failure, too, the structure is good for ImageRundownCoff.
//
//     STATUS_INVALID_IMAGE_FORMAT, STATUS_NO_MEMORY
//
// Reads the names of an image's functions.
//
// Allocator: the memory; it must outlive Coff.
// Coff: what was found.
// STATUS_SUCCESS, also when the image names no function.
//

_Must_inspect_result_
NTSTATUS
ImageInitializeCoff(
    _In_ PCALLOCATOR Allocator,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_COFF Coff
    );

//
// Finds the nearest function at or below Rva in Rva's own section.  Name is
// UTF-8, terminated, without control characters, and lives as long as Coff.
// Returns TRUE if there is one; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindCoffSymbol(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Out_ PULONG StartRva,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );

//
// Finds the next of the functions that begin at one address. The next of
// several functions that begin at Rva, which a linker that folds identical
// functions makes; labels and ordinals do not count. *Cookie is 0 for the
// first, and is kept for the next call.
//
// Cookie: how many entries were looked at, and receives it.
// NameLengthInBytes: the name's length without the terminator.
// Returns TRUE if there is one; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageNextCoffFunction(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Inout_ PULONG Cookie,
    _Outptr_ PCSZ *Name,
    _Out_ PULONG NameLengthInBytes
    );

//
// Fills the tables with what WalkTable finds: it is called twice, and calls
// ImageAddCoffEntry the same way each time.  The names' bytes altogether are
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

//
// Counts, allocates, keeps and sorts the entries of one table.
// Context: what the walk is given.
// LimitInBytes: how much the names may be altogether.
// Kind: what Coff->Kind becomes if there are any entries.
// Coff: where the entries go.
// STATUS_SUCCESS, also when the table is damaged or empty.
//

_Must_inspect_result_
NTSTATUS
ImageLoadCoffTable(
    _In_ PREADER_WALK_TABLE WalkTable,
    _In_ PVOID Context,
    _In_ ULONGLONG LimitInBytes,
    _In_ READER_COFF_KIND Kind,
    _Inout_ PREADER_COFF Coff
    );

//
// Counts one entry, or keeps it when memory for the entries is there.
//
// Many entries of a hostile file can share one long name. The sum of the
// names' sizes is therefore limited by the size of the file, which bounds both
// the memory and the time that they take.
//
// Coff: where the entry goes.
// Rva: the function's start.
// Name: its name; it ends at a zero byte or at the limit.
// NameLimitInBytes: how many bytes of it can be read.
// Returns FALSE if the table is not to be believed or does not fit.
//

BOOLEAN
ImageAddCoffEntry(
    _Inout_ PREADER_COFF Coff,
    _In_ ULONG Rva,
    _In_ ULONG Rank,
    _In_reads_bytes_(NameLimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG NameLimitInBytes
    );

//
// The executable section that holds Rva, or NULL.
// Returns the section, or NULL if the address is in none or is not code.
//

_Ret_maybenull_
PCREADER_COFF_SECTION
ImageFindCodeSection(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    );

//
// Finds the bytes of the first section with a name, which may be longer than
// the eight bytes of the header: then it is in the string table.  Image and
// SizeInBytes are what ImageInitializeCoff got.  NULL if there is none or if
// it is empty.
//

_Ret_maybenull_
const UCHAR *
ImageFindCoffSection(
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _In_z_ PCSZ Name,
    _Out_ PULONG SectionInBytes
    );

//
// Copies a name that came out of a file. What is not a printable character of
// UTF-8 becomes question marks, one for each byte. Target is terminated. The
// length stays.
//

VOID
ImageCopyPrintable(
    _Out_writes_(LengthInBytes + 1) PCHAR Target,
    _In_reads_bytes_(LengthInBytes) const UCHAR *Name,
    _In_ ULONG LengthInBytes
    );

//
// Frees what ImageInitializeCoff allocated. It may be called after a failure,
// and twice, but not on memory that was never initialized unless that is all
// zero.
//
// Coff: the structure.
//

VOID
ImageRundownCoff(
    _Inout_ PREADER_COFF Coff
    );

#endif // TRACER_IMAGE_COFF_H

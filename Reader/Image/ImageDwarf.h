/*++

Module Name:

    ImageDwarf.h

Abstract:

    Function names and source lines out of the DWARF debugging information
    (versions 2 to 5, 64-bit addresses) in the bytes of a PE32+ x64 image.

    The bytes may be anything; nothing in them is believed before it is
    checked against their size, nothing recurs, and what is read more than
    once is read against a budget that ordinary information does not come
    near.  All that is kept is copied, so the bytes may go away when
    ImageInitializeDwarf returns.  The functions are known then; the lines of
    a compilation unit are decoded when the first of them is asked for.  The
    code is pure C over bytes and also builds natively.

    Not read: units in other files (.dwo, supplementary files).  A unit with a
    form or a version that is not known is passed over and counted.

--*/

#ifndef TRACER_IMAGE_DWARF_H
#define TRACER_IMAGE_DWARF_H

#include "ImageCoff.h"

//
// The longest path of a source file that is given, in bytes, and how many
// bytes all paths of one image may take.
//

#define READER_DWARF_MAXIMUM_PATH 4095
#define READER_DWARF_MAXIMUM_PATHS 0x4000000

//
// Ranges of code, sorted: Key is Start << 32 | End, in RVAs; End is the first
// RVA behind the range.
//

typedef struct _READER_DWARF_PAIR {
    ULONGLONG Key;
    ULONGLONG Value;
} READER_DWARF_PAIR;
typedef READER_DWARF_PAIR *PREADER_DWARF_PAIR;
typedef const READER_DWARF_PAIR *PCREADER_DWARF_PAIR;

typedef struct _READER_DWARF_FUNCTION {
    ULONG StartRva;                 // where it is entered
    ULONG NameOffset;               // in Names, bytes
    ULONG NameLength:31;            // bytes, without the terminator
    ULONG IsLinkageName:1;          // rather than the name in the source
} READER_DWARF_FUNCTION;
typedef READER_DWARF_FUNCTION *PREADER_DWARF_FUNCTION;

typedef struct _READER_DWARF_LINES READER_DWARF_LINES;
typedef READER_DWARF_LINES *PREADER_DWARF_LINES;

typedef struct _READER_DWARF_UNIT {
    ULONG LinesOffset;              // of its line table
    ULONG FolderOffset;             // where it was compiled, in Names
    ULONG FolderLength;             // bytes
    BOOLEAN HasLines;
    BOOLEAN IsTried;                // to decode the lines
    PREADER_DWARF_LINES Lines;      // NULL: not decoded, or damaged
} READER_DWARF_UNIT;
typedef READER_DWARF_UNIT *PREADER_DWARF_UNIT;

typedef struct _READER_DWARF_LOADER READER_DWARF_LOADER;
typedef READER_DWARF_LOADER *PREADER_DWARF_LOADER;

typedef struct _READER_DWARF_CHUNK READER_DWARF_CHUNK;
typedef READER_DWARF_CHUNK *PREADER_DWARF_CHUNK;

//
// Arrays that grow.
//

typedef struct _READER_DWARF_ARRAY {
    PVOID Elements;
    ULONG Number;
    ULONG Capacity;
} READER_DWARF_ARRAY;
typedef READER_DWARF_ARRAY *PREADER_DWARF_ARRAY;

typedef struct _READER_DWARF {
    PCALLOCATOR Allocator;
    ULONGLONG ImageBase;            // what addresses in the file are above

    READER_DWARF_ARRAY Units;           // READER_DWARF_UNIT
    READER_DWARF_ARRAY Functions;       // READER_DWARF_FUNCTION
    READER_DWARF_ARRAY Ranges;          // READER_DWARF_PAIR; Value is
                                        // Unit << 32 | Function
    READER_DWARF_ARRAY UnitRanges;      // READER_DWARF_PAIR; Value is the unit
    READER_DWARF_ARRAY Names;           // CHAR

    //
    // What could not be read: units (wholly or from some point on), functions
    // without a name, line tables.
    //

    ULONG NumberOfBadUnits;
    ULONG NumberOfNameless;
    ULONG NumberOfBadLines;

    //
    // Copies of .debug_line and .debug_line_str, and how many more bytes of
    // the former will be decoded.
    //

    ULONG LineInBytes;
    ULONG LineStringsInBytes;
    PUCHAR Line;
    PUCHAR LineStrings;
    ULONGLONG LineBudget;

    READER_DWARF_ARRAY Rows;            // while a line table is decoded
    READER_DWARF_ARRAY Sequences;

    PREADER_DWARF_CHUNK Chunks;         // the paths that were given out
    ULONG PathsInBytes;
    UCHAR Path[READER_DWARF_MAXIMUM_PATH + 1];  // while one is made

    PREADER_DWARF_LOADER Loader;        // NULL when everything is read
} READER_DWARF;
typedef READER_DWARF *PREADER_DWARF;
typedef const READER_DWARF *PCREADER_DWARF;

//
// Reads the functions of the image whose file is at Image and whose tables
// are Coff.  An image without debugging information, or with damaged
// information, has no functions, or fewer of them.  After a failure or an
// exception, too, the structure is good for ImageRundownDwarf.
//
//     STATUS_NO_MEMORY
//
// Allocator: the memory; it must outlive Dwarf.
// Dwarf: what was found.
// STATUS_SUCCESS, also when there is nothing.
//

_Must_inspect_result_
NTSTATUS
ImageInitializeDwarf(
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_DWARF Dwarf
    );

//
// Finds the function whose code is at Rva.  A function may be in several
// ranges; StartRva is where it is entered and may be above Rva.  Name is
// UTF-8, terminated, without control characters, and lives as long as Dwarf.
//

typedef struct _READER_DWARF_SYMBOL {
    ULONG StartRva;
    ULONG LengthInBytes;            // of Name
    PCSZ Name;
    BOOLEAN IsLinkageName;          // rather than the name in the source
} READER_DWARF_SYMBOL;
typedef READER_DWARF_SYMBOL *PREADER_DWARF_SYMBOL;

//
// Finds the function whose code is at an address.
// Dwarf: the information.
// Returns TRUE if there is one; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindDwarfFunction(
    _In_ PCREADER_DWARF Dwarf,
    _In_ ULONG Rva,
    _Out_ PREADER_DWARF_SYMBOL Symbol
    );

//
// Finds the source line of the code at Rva.  FileName is as the compiler wrote
// it, below the folder of the compilation if it is relative; UTF-8, terminated,
// without control characters, and lives as long as Dwarf.
//
// LineNumber: the line, from 1.
// Returns TRUE if it is known; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindDwarfLine(
    _Inout_ PREADER_DWARF Dwarf,
    _In_ ULONG Rva,
    _Out_ PULONG LineNumber,
    _Outptr_ PCSZ *FileName,
    _Out_ PULONG FileNameInBytes
    );

//
// Frees what ImageInitializeDwarf and the lookups allocated. It may be called
// after a failure, and twice, but not on memory that was never initialized
// unless that is all zero.
//
// Dwarf: the structure.
//

VOID
ImageRundownDwarf(
    _Inout_ PREADER_DWARF Dwarf
    );

#endif // TRACER_IMAGE_DWARF_H

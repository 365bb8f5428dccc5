/*++

Module Name:

    SymbolLoad.h

Abstract:

    What the symbols of a module are read from.

--*/

#ifndef TRACER_SYMBOL_LOAD_H
#define TRACER_SYMBOL_LOAD_H

#include "../Image/ImageDebugLink.h"
#include "../Image/ImageDwarf.h"
#include "../Image/ImagePdb.h"
#include "SymbolDbgHelp.h"
#include "SymbolPath.h"
#include "SymbolUndecorate.h"

typedef struct _READER_TEXT_CHUNK {
    struct _READER_TEXT_CHUNK *Next;
    ULONG CapacityInBytes;          // of what follows the structure
    ULONG UsedInBytes;
} READER_TEXT_CHUNK;
typedef READER_TEXT_CHUNK *PREADER_TEXT_CHUNK;

struct _READER_SYMBOLS {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    READER_SYMBOL_SOURCE Source;
    BOOLEAN IsTraced;               // the image is the one that was traced
    PREADER_DBGHELP DbgHelp;        // NULL: not trusted, or not there
    READER_COFF Coff;
    READER_COFF Pdb;                // the PDB's functions, if it has any
    READER_UNWIND Unwind;
    READER_DWARF Dwarf;
    BOOLEAN HasDwarf;               // the image has some, damaged or not
    READER_DEBUG_LINK DebugLink;    // where else there may be DWARF
    READER_COFF DebugCoff;          // the tables of that file
    READER_UNDECORATOR Undecorator;
    PREADER_TEXT_CHUNK Chunks;      // the newest first
    PCSZ Warning;                   // NULL: there is none

    //
    // The names of a PDB are read here; DbgHelp is loaded for its lines when
    // the first one is asked for.
    //

    PWSTR ImagePath;                // NULL: no longer, or not at all
    PWSTR PdbFolder;                // in the same memory
    ULONGLONG ModuleBase;
};

//
// The image's path in the forms that are needed; too large for the stack.
//

typedef struct _READER_IMAGE_PATH {
    UNICODE_STRING Dos;             // terminated, for DbgHelp
    UNICODE_STRING Nt;
    WCHAR OtherBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    READER_PDB_SEARCH Search;
    WCHAR DosBuffer[sizeof(((PTRACE_STORE_HEADER)0)->ModulePath) + 1];
    WCHAR NtBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} READER_IMAGE_PATH;
typedef READER_IMAGE_PATH *PREADER_IMAGE_PATH;

//
// Makes room for a text that lives as long as the symbols.
// LengthInBytes: its length; a terminator is added.
// Returns the room, zeroed, or NULL without memory.
//

_Must_inspect_result_
_Ret_maybenull_
PCHAR
SymbolReserveText(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG LengthInBytes
    );

//
// Copies a text into the symbols' memory.
// Returns the copy, terminated, or NULL without memory.
//

_Must_inspect_result_
_Ret_maybenull_
PCSZ
SymbolKeepText(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_reads_bytes_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    );

//
// Frees what an image's own tables hold.
//

VOID
SymbolForgetImage(
    _Inout_ PREADER_SYMBOLS Symbols
    );

//
// Loads DbgHelp for the lines of the PDB that was found, if it has not been
// tried. What it loads has to belong to the image.
// Without DbgHelp there are no lines.
//

VOID
SymbolLoadLines(
    _Inout_ PREADER_SYMBOLS Symbols
    );

//
// Says which symbol table names the image's functions: its own, unless only
// the file with its debugging information has one.
//

PCREADER_COFF
SymbolGetTable(
    _In_ const READER_SYMBOLS *Symbols
    );

//
// Finds the image and whatever names its functions.
// Header: the store's header.
// SymbolPath: the folders of the symbol path.
// Path: memory for the image's path.
// Error: why the source is None.
// Returns STATUS_SUCCESS, or why the source is None.
//

_Must_inspect_result_
NTSTATUS
SymbolLoadSymbols(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCREADER_SYMBOL_PATH SymbolPath,
    _In_ PREADER_IMAGE_PATH Path,
    _Inout_ PRTL_ERROR Error
    );

#endif // TRACER_SYMBOL_LOAD_H

/*++

Module Name:

    Symbols.h

Abstract:

    Function names for the addresses of one traced module: from its PDB,
    through DbgHelp, loaded at run time; from the DWARF in the image, and from
    its COFF symbol table, which also name what those before them do not know;
    else from its exports.  Where nothing is known the caller prints
    module+0xRVA, with the function's start as the unwind data has it.

    The image on disk is used only if it is the one that was traced: its
    TimeDateStamp and SizeOfImage must equal those in the store's header.

--*/

#ifndef TRACER_SYMBOLS_H
#define TRACER_SYMBOLS_H

#include "../../Rtl/Rtl.h"
#include "../../TraceStore/TraceFormat.h"
#include "../Image/ImageUnwindData.h"

typedef enum _READER_SYMBOL_SOURCE {
    ReaderSymbolSourceNone = 0,     // module+0xRVA is all there is
    ReaderSymbolSourcePdb,          // DbgHelp, PDB
    ReaderSymbolSourceDwarf,        // the image's DWARF
    ReaderSymbolSourceCoff,         // the image's COFF symbol table
    ReaderSymbolSourceExports
} READER_SYMBOL_SOURCE;

typedef struct _READER_SYMBOLS READER_SYMBOLS;
typedef READER_SYMBOLS *PREADER_SYMBOLS;

//
// Texts are UTF-8, terminated, and live as long as the READER_SYMBOLS.
//

typedef struct _READER_SYMBOL {
    ULONG StartRva;                 // of the function
    ULONG LengthInBytes;            // of Name
    PCSZ Name;                      // readable: ns::f(int)
    ULONG NumberFolded;             // other functions that begin here, too
    ULONG LinkageLengthInBytes;     // of RawText's first part: the name as a
                                    // linker knows it (_ZN2ns1fEi), or Name
    ULONG RawLengthInBytes;         // of RawText
    ULONG Unused;
    PCSZ RawText;                   // that name; if there are other functions,
                                    // a line feed and their names, joined by
                                    // "; "
} READER_SYMBOL;
typedef READER_SYMBOL *PREADER_SYMBOL;

//
// Not more than so many of them are named and counted.
//

#define READER_MAXIMUM_FOLDED 64

//
// Creates the symbols of the module that Header names. This succeeds even when
// nothing can be found (the source is then None and Error, if not NULL, says
// why: image missing, image of another build, damaged...); it fails only for
// lack of memory.
//
// SymbolPath: folders, separated by semicolons, in which the image (if it is
// not where the header says) and its PDB are looked for as well, before those
// of _NT_SYMBOL_PATH. NULL: none.
// Error: why the source is None; otherwise its Status is a success.
//

_Must_inspect_result_
NTSTATUS
SymbolCreateSymbols(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_opt_z_ PCWSTR SymbolPath,
    _Outptr_ PREADER_SYMBOLS *Symbols,
    _Out_opt_ PRTL_ERROR Error
    );

//
// What the user should know though there may be names: that a PDB was there
// but does not belong to the image, or is damaged.  NULL if there is nothing.
//

_Ret_maybenull_
PCSZ
SymbolGetSymbolWarning(
    _In_ const READER_SYMBOLS *Symbols
    );

//
// Says where the names come from.
// Returns the best source; single names may come from a lesser one.
//

READER_SYMBOL_SOURCE
SymbolGetSymbolSource(
    _In_ const READER_SYMBOLS *Symbols
    );

//
// Finds the function that Rva is in, or else the nearest one below, if the
// unwind data does not say that Rva is in another one.  StartRva is where the
// function is entered; it is above Rva when a compiler has moved the part at
// Rva out of the function.  FALSE when there is none.
// The same Rva is not looked up twice by callers (they keep the answer), so
// this need not cache by Rva, only own the names.
//
// Rva: the address in the module.
// Returns TRUE if there is one; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
SymbolFindSymbol(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG Rva,
    _Out_ PREADER_SYMBOL Symbol
    );

//
// Finds where the function begins that an address is in, which has no symbol.
// Returns its first address by the unwind data; Rva if that does not say.
//

ULONG
SymbolFindStart(
    _In_ const READER_SYMBOLS *Symbols,
    _In_ ULONG Rva
    );

typedef struct _READER_SOURCE_LINE {
    ULONG LineNumber;               // from 1
    ULONG LengthInBytes;            // of FileName
    PCSZ FileName;                  // UTF-8, terminated; lives as long as the
                                    // READER_SYMBOLS
} READER_SOURCE_LINE;
typedef READER_SOURCE_LINE *PREADER_SOURCE_LINE;

//
// Finds the source line that the code at an address comes from: only PDB and
// DWARF know lines.
// Returns TRUE if it is known; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
SymbolFindSourceLine(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG Rva,
    _Out_ PREADER_SOURCE_LINE Line
    );

//
// The image's code and unwind data; NULL when the image is not there or not the
// one that was traced.
//

_Ret_maybenull_
PREADER_UNWIND
SymbolGetUnwind(
    _Inout_ PREADER_SYMBOLS Symbols
    );

//
// What the image's headers say of it, and where its sections are; NULL as
// above.
//

_Ret_maybenull_
PCREADER_COFF
SymbolGetCoff(
    _In_ const READER_SYMBOLS *Symbols
    );

//
// Frees the symbols and every name that they gave out.
// Symbols: the symbols, or NULL.
//

VOID
SymbolDestroySymbols(
    _In_opt_ PREADER_SYMBOLS Symbols
    );

#endif // TRACER_SYMBOLS_H

/*++

Module Name:

    SymbolDbgHelp.h

Abstract:

    Function names and source lines of one image through dbghelp.dll, which is
    loaded at run time and may be missing.

    Each READER_DBGHELP is a session of its own in DbgHelp, with the address of
    the structure in place of a process handle: DbgHelp wants a number that is
    unique, not a process.  DbgHelp is not made for several threads, so all
    calls come from one thread.

--*/

#ifndef TRACER_READER_DBGHELP_H
#define TRACER_READER_DBGHELP_H

#include "Symbols.h"

typedef struct _READER_DBGHELP READER_DBGHELP;
typedef READER_DBGHELP *PREADER_DBGHELP;

//
// Loads the symbols of the image at ImagePath.  On success Source says whether
// they come from a PDB or from DWARF.
//
// SearchPath has the folders where DbgHelp looks for a PDB, with semicolons;
// NULL is DbgHelp's own choice.  It may load one that does not belong to the
// image: SymbolGetDbgHelpPdb says which.
//
//     STATUS_DLL_NOT_FOUND           there is no dbghelp.dll
//     STATUS_ENTRYPOINT_NOT_FOUND    it lacks a routine
//     STATUS_NOT_FOUND               it has nothing for this image but what
//                                    the image itself exports
//     STATUS_NO_MEMORY
//     others                         the exception that a routine of DbgHelp
//                                    raised
//
// Rtl: the operating system's routines.
// ModuleBase: the address that the module had.
// ModuleSizeInBytes: the size of the loaded image.
// DbgHelpPointer: the session, or NULL.
//

_Must_inspect_result_
NTSTATUS
SymbolCreateDbgHelp(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_z_ PCWSTR ImagePath,
    _In_opt_z_ PCWSTR SearchPath,
    _In_ ULONGLONG ModuleBase,
    _In_ ULONG ModuleSizeInBytes,
    _Outptr_ PREADER_DBGHELP *DbgHelp,
    _Out_ READER_SYMBOL_SOURCE *Source
    );

//
// The path of the PDB that DbgHelp has loaded, terminated; it may be empty.
//

PCWSTR
SymbolGetDbgHelpPdb(
    _In_ const READER_DBGHELP *DbgHelp
    );

//
// Finds the symbol at or below Rva that DbgHelp chooses.  *IsFunction says
// whether DbgHelp knows it for a function, rather than as a public name.
// Rva: the address in the module.
//

_Success_(return != FALSE)
BOOLEAN
SymbolFindDbgHelpSymbol(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONG Rva,
    _Out_ PREADER_SYMBOL Symbol,
    _Out_ PBOOLEAN IsFunction
    );

//
// Finds the source line of an address.
// DbgHelp: the session.
// Rva: the address in the module.
// Returns TRUE if it is known.
//

_Success_(return != FALSE)
BOOLEAN
SymbolFindDbgHelpLine(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONG Rva,
    _Out_ PREADER_SOURCE_LINE Line
    );

//
// Ends a session, finished or half built, and frees it. After an exception
// inside DbgHelp the library stays loaded and the structure stays allocated:
// DbgHelp still knows the session by its address.
//
// DbgHelp: the session, or NULL.
//

VOID
SymbolDestroyDbgHelp(
    _In_opt_ PREADER_DBGHELP DbgHelp
    );

#endif // TRACER_READER_DBGHELP_H

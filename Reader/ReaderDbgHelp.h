/*++

Module Name:

    ReaderDbgHelp.h

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

#include "ReaderSymbols.h"

typedef struct _READER_DBGHELP READER_DBGHELP;
typedef READER_DBGHELP *PREADER_DBGHELP;

//
// Loads the symbols of the image at ImagePath.  On success Source says whether
// they come from a PDB or from DWARF.
//
// SearchPath has the folders where DbgHelp looks for a PDB, with semicolons;
// NULL is DbgHelp's own choice.  It may load one that does not belong to the
// image: ReaderGetDbgHelpPdb says which.
//
//     STATUS_DLL_NOT_FOUND           there is no dbghelp.dll
//     STATUS_ENTRYPOINT_NOT_FOUND    it lacks a routine
//     STATUS_NOT_FOUND               it has nothing for this image but what
//                                    the image itself exports
//     STATUS_NO_MEMORY
//     others                         the exception that a routine of DbgHelp
//                                    raised
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_CREATE_DBGHELP)(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_z_ PCWSTR ImagePath,
    _In_opt_z_ PCWSTR SearchPath,
    _In_ ULONGLONG ModuleBase,
    _In_ ULONG ModuleSizeInBytes,
    _Outptr_ PREADER_DBGHELP *DbgHelp,
    _Out_ READER_SYMBOL_SOURCE *Source
    );
READER_CREATE_DBGHELP ReaderCreateDbgHelp;

//
// The path of the PDB that DbgHelp has loaded, terminated; it may be empty.
//

typedef
PCWSTR
(READER_GET_DBGHELP_PDB)(
    _In_ const READER_DBGHELP *DbgHelp
    );
READER_GET_DBGHELP_PDB ReaderGetDbgHelpPdb;

//
// Finds the symbol at or below Rva that DbgHelp chooses.  *IsFunction says
// whether DbgHelp knows it for a function, rather than as a public name.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_DBGHELP_SYMBOL)(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONG Rva,
    _Out_ PREADER_SYMBOL Symbol,
    _Out_ PBOOLEAN IsFunction
    );
READER_FIND_DBGHELP_SYMBOL ReaderFindDbgHelpSymbol;

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_DBGHELP_LINE)(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONG Rva,
    _Out_ PREADER_SOURCE_LINE Line
    );
READER_FIND_DBGHELP_LINE ReaderFindDbgHelpLine;

typedef VOID (READER_DESTROY_DBGHELP)(_In_opt_ PREADER_DBGHELP DbgHelp);
READER_DESTROY_DBGHELP ReaderDestroyDbgHelp;

#endif // TRACER_READER_DBGHELP_H

/*++

Module Name:

    WasmStandIns.c

Abstract:

    What stands in for the sources of the reader that are left out in a
    browser: DbgHelp, the environment, libraries, the processor.

--*/

#include "../../Symbols/SymbolDbgHelp.h"
#include "../../../StringTable/StringTablePrivate.h"
#include "Wasm.h"

//
// There is no DbgHelp.
//

_Use_decl_annotations_
NTSTATUS
SymbolCreateDbgHelp(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCWSTR ImagePath,
    PCWSTR SearchPath,
    ULONGLONG ModuleBase,
    ULONG ModuleSizeInBytes,
    PREADER_DBGHELP *DbgHelp,
    READER_SYMBOL_SOURCE *Source
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);
    UNREFERENCED_PARAMETER(ImagePath);
    UNREFERENCED_PARAMETER(SearchPath);
    UNREFERENCED_PARAMETER(ModuleBase);
    UNREFERENCED_PARAMETER(ModuleSizeInBytes);

    *DbgHelp = NULL;
    *Source = ReaderSymbolSourceNone;
    return STATUS_DLL_NOT_FOUND;
}

//
// The following are not called, without one.
//

_Use_decl_annotations_
PCWSTR
SymbolGetDbgHelpPdb(
    const READER_DBGHELP *DbgHelp
    )
{
    static const WCHAR Empty[1] = { 0 };

    UNREFERENCED_PARAMETER(DbgHelp);
    return Empty;
}

_Use_decl_annotations_
BOOLEAN
SymbolFindDbgHelpSymbol(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SYMBOL Symbol,
    PBOOLEAN IsFunction
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
    UNREFERENCED_PARAMETER(Rva);
    UNREFERENCED_PARAMETER(Symbol);
    UNREFERENCED_PARAMETER(IsFunction);
    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
SymbolFindDbgHelpLine(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SOURCE_LINE Line
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
    UNREFERENCED_PARAMETER(Rva);
    UNREFERENCED_PARAMETER(Line);
    return FALSE;
}

_Use_decl_annotations_
VOID
SymbolDestroyDbgHelp(
    PREADER_DBGHELP DbgHelp
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
}

//
// A library has nothing.
//

_Use_decl_annotations_
ULONG
RtlLoadSymbols(
    HMODULE Module,
    const PCSZ *Names,
    PVOID *Pointers,
    ULONG NumberOfNames,
    PULONG FirstMissing
    )
{
    UNREFERENCED_PARAMETER(Module);
    UNREFERENCED_PARAMETER(Names);

    RtlZeroBytes(Pointers, NumberOfNames * sizeof(PVOID));
    if (FirstMissing != NULL) {
        *FirstMissing = 0;
    }

    return NumberOfNames;
}

//
// The environment is empty.
//

_Use_decl_annotations_
NTSTATUS
RtlQueryEnvironment(
    PCRTL Rtl,
    PCWSTR Name,
    PWCHAR Buffer,
    ULONG CapacityInChars,
    PUNICODE_STRING Value
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(Buffer);
    UNREFERENCED_PARAMETER(CapacityInChars);
    UNREFERENCED_PARAMETER(Value);
    return STATUS_NOT_FOUND;
}

//
// Strings are searched for without vectors.
//

uint32_t
STRING_TABLE_CALL
StringTableQueryInstructions(
    void
    )
{
    return STRING_TABLE_SCALAR;
}

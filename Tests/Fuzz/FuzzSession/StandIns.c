/*++

Module Name:

    StandIns.c

Abstract:

    What stands in for the sources of TraceReader that are left out: consoles,
    DbgHelp, other processes, the environment and the page of the HTML export.

--*/

#include "FuzzSession.h"
#include "../../../Reader/Base/BaseAttach.h"
#include "../../../Reader/Commands/Command.h"

//
// Stands in for the command that loads SQLite: it is not run.
//

const READER_COMMAND ReaderSqlCommand = {
    "sql", "[PATH] [STATEMENT...]", "", "", "", 0, NULL, NULL, NULL
};

//
// Likewise the one that follows a driver.
//

const READER_COMMAND ReaderCollectCommand = {
    "collect", "DRIVER", "", "", "", 0, NULL, NULL, NULL
};

//
// Stands in for consoles: there is none, so that the others are not called.
// Returns FALSE.
//

BOOLEAN
LiveLoadConsoleRoutines(
    PCRTL Rtl,
    PREADER_CONSOLE_ROUTINES Routines
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Routines);
    return FALSE;
}

//
// Is not called.
// Returns FALSE.
//

BOOLEAN
LiveOpenConsole(
    PREADER_CONSOLE Console,
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCREADER_CONSOLE_ROUTINES Routines
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);
    UNREFERENCED_PARAMETER(Routines);
    return FALSE;
}

//
// Is not called.
//

VOID
LiveCloseConsole(
    PREADER_CONSOLE Console
    )
{
    UNREFERENCED_PARAMETER(Console);
}

//
// Is not called.
//

VOID
LiveQueryConsoleSize(
    const READER_CONSOLE *Console,
    PULONG Width,
    PULONG Height
    )
{
    UNREFERENCED_PARAMETER(Console);
    *Width = 0;
    *Height = 0;
}

//
// Is not called.
// Returns STATUS_NOT_SUPPORTED.
//

NTSTATUS
LiveShowScreen(
    PREADER_CONSOLE Console,
    PREADER_SCREEN Screen
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Screen);
    return STATUS_NOT_SUPPORTED;
}

//
// Is not called.
// Returns ReaderKeyNone.
//

READER_KEY
LiveConsoleReadKey(
    PREADER_CONSOLE Console,
    PULONG Character
    )
{
    UNREFERENCED_PARAMETER(Console);
    *Character = 0;
    return ReaderKeyNone;
}

//
// Is not called.
//

VOID
LiveWaitForKey(
    PREADER_CONSOLE Console,
    HANDLE Process,
    ULONG Milliseconds
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Milliseconds);
}

//
// Stands in for pagers: there is none.
// Returns NULL.
//

PREADER_PAGER
OutputBeginPager(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Options);
    return NULL;
}

//
// Does nothing.
//

VOID
OutputEndPager(
    PREADER_PAGER Pager
    )
{
    UNREFERENCED_PARAMETER(Pager);
}

//
// Is not called.
// Returns FALSE.
//

BOOLEAN
OutputIsPagerPlain(
    const RTL_WRITER *Writer
    )
{
    UNREFERENCED_PARAMETER(Writer);
    return FALSE;
}

//
// Stand in for other processes: none can be opened.
//

READER_ATTACH_END
BaseAttachOpen(
    PREADER_ATTACH Attach,
    PCREADER_CONTEXT Context,
    ULONG ProcessId
    )
{
    RtlZeroBytes(Attach, sizeof(*Attach));
    Attach->Context = Context;
    Attach->ProcessId = ProcessId;
    Attach->Step = "open the process";
    Attach->Status = STATUS_ACCESS_DENIED;
    return ReaderAttachFailed;
}

READER_ATTACH_END
BaseAttachLoad(
    PREADER_ATTACH Attach,
    PCWSTR Path,
    BOOLEAN IsLoaded
    )
{
    UNREFERENCED_PARAMETER(Attach);
    UNREFERENCED_PARAMETER(Path);
    UNREFERENCED_PARAMETER(IsLoaded);
    return ReaderAttachFailed;
}

READER_ATTACH_END
BaseAttachAsk(
    PREADER_ATTACH Attach,
    ULONG Kind,
    PCWSTR Settings,
    ULONG FirstLength,
    ULONG SecondLength
    )
{
    UNREFERENCED_PARAMETER(Attach);
    UNREFERENCED_PARAMETER(Kind);
    UNREFERENCED_PARAMETER(Settings);
    UNREFERENCED_PARAMETER(FirstLength);
    UNREFERENCED_PARAMETER(SecondLength);
    return ReaderAttachFailed;
}

VOID
BaseAttachClose(
    PREADER_ATTACH Attach
    )
{
    UNREFERENCED_PARAMETER(Attach);
}

//
// Stands in for DbgHelp: there is none.
// Returns STATUS_DLL_NOT_FOUND.
//

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
// Is not called: there is no session.
// Returns an empty path.
//

PCWSTR
SymbolGetDbgHelpPdb(
    const READER_DBGHELP *DbgHelp
    )
{
    static const WCHAR Empty[1] = { 0 };

    UNREFERENCED_PARAMETER(DbgHelp);
    return Empty;
}

//
// Is not called: there is no library.
// Returns the number of names that are missing: all.
//

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
    UNREFERENCED_PARAMETER(Pointers);
    UNREFERENCED_PARAMETER(FirstMissing);
    return NumberOfNames;
}

//
// Stands in for the environment: it is empty.
// Returns STATUS_NOT_FOUND.
//

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
// Sets nothing: no input runs a program.
//

NTSTATUS
RtlSetEnvironment(
    PCRTL Rtl,
    PCWSTR Name,
    PCUNICODE_STRING Value
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(Value);
    return STATUS_NOT_SUPPORTED;
}

//
// Is not called: there is no session.
// Returns FALSE.
//

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

//
// Is not called: there is no session.
// Returns FALSE.
//

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

//
// Has nothing to do.
// DbgHelp: NULL.
//

VOID
SymbolDestroyDbgHelp(
    PREADER_DBGHELP DbgHelp
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
}

STRING_TABLE_SEARCH __real_StringTableSearch;
STRING_TABLE_SEARCH __wrap_StringTableSearch;

//
// Searches with a copy of the string that has something around it: a table
// reads beyond a string, though not beyond its pages, which the sanitizer
// takes for an error.
//
// Returns as StringTableSearch.
//

uint32_t
STRING_TABLE_CALL
__wrap_StringTableSearch(
    PCSTRING_TABLE Table,
    const void *String,
    uint32_t LengthInBytes
    )
{
    PUCHAR Copy;
    uint32_t Found;

    Copy = (PUCHAR)malloc((SIZE_T)LengthInBytes + 2 * FUZZ_AROUND_STRING);
    if (Copy == NULL) {
        abort();
    }

    memset(Copy, 'P', (SIZE_T)LengthInBytes + 2 * FUZZ_AROUND_STRING);
    memcpy(Copy + FUZZ_AROUND_STRING, String, LengthInBytes);
    Found = __real_StringTableSearch(Table,
                                     Copy + FUZZ_AROUND_STRING,
                                     LengthInBytes);
    free(Copy);
    return Found;
}

//
// The page of the HTML export, which an assembly source has, is a short one
// here.
//

const CHAR ReaderHtmlHead[] = "<html>";
const ULONG ReaderHtmlHeadSize = 6;
const CHAR ReaderHtmlTail[] = "</html>";
const ULONG ReaderHtmlTailSize = 7;

//
// And the viewer's.
//

const CHAR ReaderViewBefore[] = "<html>";
const ULONG ReaderViewBeforeSize = 6;
const CHAR ReaderViewAfter[] = "</html>";
const ULONG ReaderViewAfterSize = 7;

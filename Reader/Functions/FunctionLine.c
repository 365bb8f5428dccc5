/*++

Module Name:

    FunctionLine.c

Abstract:

    The source line of a site, from the cache or from the module's symbols.

--*/

#include "FunctionCacheFile.h"
#include "Function.h"
#include "../Session/SessionImports.h"
#include "FunctionLine.h"

_Use_decl_annotations_
BOOLEAN
FunctionFindLine(
    PREADER_SESSION Session,
    ULONGLONG Site,
    PREADER_SOURCE_LINE Line
    )
{
    PREADER_MODULE Module = Session->Modules[(ULONG)(Site >> 32)];
    PCREADER_CACHE_ENTRY Entry;
    PREADER_CACHE_NEW New;
    BOOLEAN IsFound;

    if ((ULONG)Site == READER_OTHER_RVA || SessionHasImports(Module) ||
        !NT_SUCCESS(FunctionLoadModuleSymbols(Session, Module))) {
        return FALSE;
    }

    Entry = FunctionFindInCache(Session,
                                (ULONG)(Site >> 32),
                                ReaderCacheLine,
                                (ULONG)Site);
    if (Entry != NULL) {

        if (Entry->Values[0] == 0) {
            return FALSE;
        }

        RtlZeroBytes(Line, sizeof(*Line));
        Line->LineNumber = Entry->Values[0];
        Line->FileName = Session->Cache->Texts +
                         Entry->Values[READER_CACHE_FILE_TEXT];
        Line->LengthInBytes = Entry->Values[READER_CACHE_FILE_TEXT + 1];
        return TRUE;
    }

    if (!NT_SUCCESS(FunctionLoadModuleImage(Session, Module)) ||
        Module->Symbols == NULL) {
        return FALSE;
    }

    IsFound = SymbolFindSourceLine(Module->Symbols, (ULONG)Site, Line);
    if (IsFound && (Line->LineNumber == 0 ||
                    Line->LengthInBytes > READER_CACHE_MAXIMUM_TEXT)) {
        return TRUE;
    }

    New = FunctionAddToCache(Session,
                             (ULONG)(Site >> 32),
                             ReaderCacheLine,
                             (ULONG)Site);
    if (New != NULL && IsFound) {
        New->Entry.Values[0] = Line->LineNumber;
        New->Entry.Values[READER_CACHE_FILE_TEXT + 1] = Line->LengthInBytes;
        New->Text = Line->FileName;
    }

    return IsFound;
}

/*++

Module Name:

    SessionImports.h

Abstract:

    What the stubs of TracerImports.dll stand for, by the file of their process.

--*/

#ifndef TRACER_SESSION_IMPORTS_H
#define TRACER_SESSION_IMPORTS_H

#include "../Output/OutputTable.h"
#include "Session.h"

typedef struct _READER_IMPORT {
    ULONG Rva;                      // of the stub
    ULONG SizeInBytes;
    ULONG FirstRva;                 // of the first stub of the same name
    ULONG OwnRva;                   // likewise, of the same importer
    PCSZ Module;                    // "kernel32.dll", or NULL
    PCSZ Importer;                  // which module calls the stub, or NULL
    ULONG NameLength;
    PCSZ Name;                      // "kernel32!Sleep"; until the session is
                                    // closed
} READER_IMPORT;
typedef READER_IMPORT *PREADER_IMPORT;
typedef const READER_IMPORT *PCREADER_IMPORT;

//
// Has a module stubs?
//

#define SessionHasImports(Module) \
    (((Module)->Header->Flags & TRACE_FLAG_IMPORTS) != 0)

//
// Finds the stub that an address is in: NULL if the file does not say, or it
// cannot be read.  A process that runs may have written more of it: what is not
// found is looked for there again.
//

_Ret_maybenull_
PCREADER_IMPORT
SessionImportsFind(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module,
    _In_ ULONG Rva
    );

//
// Does --module select a module of which a file of imports has functions?
//

BOOLEAN
SessionImportsAreSelected(
    _Inout_ PREADER_SESSION Session
    );

extern const READER_TABLE ReaderImportsTable;

//
// Writes the table of what the files count, if imports were recorded.
//

VOID
SessionImportsPut(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_SESSION Session
    );

//
// 0 if no import was asked for in the process of a session's directory, and no
// function's address, by its file's header; not 0 if there is no file.
//

ULONG
SessionImportsCount(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Directory
    );

VOID
SessionCloseImports(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_MODULE Module
    );

#endif // TRACER_SESSION_IMPORTS_H

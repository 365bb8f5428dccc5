/*++

Module Name:

    ReaderExport.h

Abstract:

    What export and the formats that it writes (Export*.c) share.

--*/

#ifndef TRACER_READER_EXPORT_H
#define TRACER_READER_EXPORT_H

#include "ReaderTree.h"

typedef struct _READER_EXPORT {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    ULONGLONG NumberShown;          // of functions or nodes, by a filter
    READER_NOT_SHOWN NotShown;
} READER_EXPORT;
typedef READER_EXPORT *PREADER_EXPORT;
typedef const READER_EXPORT *PCREADER_EXPORT;

//
// Writes the whole export, to the file that --output names.  Returns
// READER_EXIT_*; failures have been written.
//

typedef
ULONG
(READER_EXPORT_ROUTINE)(
    _Inout_ PREADER_EXPORT Export
    );
typedef READER_EXPORT_ROUTINE *PREADER_EXPORT_ROUTINE;

#define READER_EXPORT_TIMES 0x1u    // needs a clock
#define READER_EXPORT_SPLIT 0x2u    // takes --split-size
#define READER_EXPORT_CALLS 0x4u    // is of single calls

typedef struct _READER_EXPORT_FORMAT {
    PCSZ Name;
    ULONG Flags;                    // READER_EXPORT_*
    PREADER_EXPORT_ROUTINE Routine; // NULL: what report --csv writes
} READER_EXPORT_FORMAT;
typedef const READER_EXPORT_FORMAT *PCREADER_EXPORT_FORMAT;

//
// Is it the name of a format?
//

typedef BOOLEAN (READER_IS_EXPORT_FORMAT)(_In_z_ PCSZ Name);
READER_IS_EXPORT_FORMAT ReaderIsExportFormat;

//
// ExportTree.c: exports of the call tree, sorted and without what a filter
// leaves out.
//

#define READER_EXPORT_TRACKS    0x1u    // with a tree for each thread and each
                                        // fiber it ran
#define READER_EXPORT_FUNCTIONS 0x2u    // of functions: the tree is whole, the
                                        // filter is the routine's, which counts
                                        // what is shown



typedef
_Must_inspect_result_
NTSTATUS
(READER_WRITE_TREE)(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    );
typedef READER_WRITE_TREE *PREADER_WRITE_TREE;

typedef
ULONG
(READER_EXPORT_TREE)(
    _Inout_ PREADER_EXPORT Export,
    _In_ ULONG Flags,
    _In_ PREADER_WRITE_TREE WriteRoutine
    );
READER_EXPORT_TREE ReaderExportTree;

//
// The formats: Export<Format>.c.
//

READER_EXPORT_ROUTINE ReaderExportCallgrind;
READER_EXPORT_ROUTINE ReaderExportChrome;
READER_EXPORT_ROUTINE ReaderExportCsvCap;
READER_EXPORT_ROUTINE ReaderExportCsvOsr;
READER_EXPORT_ROUTINE ReaderExportFolded;
READER_EXPORT_ROUTINE ReaderExportFxt;
READER_EXPORT_ROUTINE ReaderExportHtml;
READER_EXPORT_ROUTINE ReaderExportPerfetto;
READER_EXPORT_ROUTINE ReaderExportSpeedscope;

#endif // TRACER_READER_EXPORT_H

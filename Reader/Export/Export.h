/*++

Module Name:

    Export.h

Abstract:

    What export and the formats that it writes (Export*.c) share.

--*/

#ifndef TRACER_EXPORT_H
#define TRACER_EXPORT_H

#include "../Sums/SumEtl.h"
#include "../Sums/SumTree.h"

typedef struct _READER_EXPORT {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    PREADER_TEAM Team;              // whose context it is
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    ULONGLONG MinimumTicks;         // --min-duration; 0: not given
    PREADER_ETL Etl;                // NULL, or IsThere is FALSE: no --etl
    ULONGLONG NumberShown;          // of functions or nodes, by a filter
    READER_NOT_SHOWN NotShown;
    ULONGLONG NumberOfRecords;      // these four of a tree: as in READER_TREE
    ULONGLONG NumberOfOrdinary;
    ULONG NumberOfThreads;
    ULONG NumberOfWorkers;
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
#define READER_EXPORT_PLAIN 0x8u    // is never compressed
#define READER_EXPORT_PAGE  0x20u   // may have the session in it
#define READER_EXPORT_CALLERS 0x10u // has which module called an import
#define READER_EXPORT_ETL 0x80u     // takes --etl
#define READER_EXPORT_DATASET 0x40u // is of tables: takes --append, --tables,
                                    // --encoding and --host, and limits of
                                    // calls, and trees, too

typedef struct _READER_EXPORT_FORMAT {
    PCSZ Name;
    ULONG Flags;                    // READER_EXPORT_*
    PREADER_EXPORT_ROUTINE Routine; // NULL: what report --csv writes
} READER_EXPORT_FORMAT;
typedef const READER_EXPORT_FORMAT *PCREADER_EXPORT_FORMAT;

//
// The formats, in the order of the help, which lists them in words
// (CommandExport.c).
//

#define READER_EXPORT_FORMATS 11

extern const READER_EXPORT_FORMAT ReaderExportFormats[READER_EXPORT_FORMATS];

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

//
// Reads the session into a call tree and has it written to the file.
// Flags: READER_EXPORT_TRACKS, READER_EXPORT_FUNCTIONS or nothing.
//

ULONG
ExportTree(
    _Inout_ PREADER_EXPORT Export,
    _In_ ULONG Flags,
    _In_ PREADER_WRITE_TREE WriteRoutine
    );

//
// The formats: Export<Format>.c.
//

READER_EXPORT_ROUTINE ExportCallgrind;

//
// Writes the Trace Event Format.
//

READER_EXPORT_ROUTINE ExportChrome;

//
// Writes the columns of the NT Call Profiler.
//

READER_EXPORT_ROUTINE ExportCsvCap;

//
// Writes the columns of !modulestats.
//

READER_EXPORT_ROUTINE ExportCsvOsr;

//
// Writes folded stacks.
//

READER_EXPORT_ROUTINE ExportFolded;

//
// Writes the Fuchsia trace format.
//

READER_EXPORT_ROUTINE ExportFxt;

//
// Writes the page.
//

READER_EXPORT_ROUTINE ExportHtml;

//
// Writes tables in Parquet files.
//

READER_EXPORT_ROUTINE ExportParquet;

//
// Writes Perfetto's format.
//

READER_EXPORT_ROUTINE ExportPerfetto;

//
// Writes speedscope's format.
//

READER_EXPORT_ROUTINE ExportSpeedscope;

#endif // TRACER_EXPORT_H

/*++

Module Name:

    CommandExport.c

Abstract:

    TraceReader export: writes a session as a file that other tools open.

--*/

#include "../Base/BaseFile.h"
#include "../Session/SessionTreeStore.h"
#include "../Calls/CallHold.h"
#include "../Calls/CallWaits.h"
#include "../Export/Export.h"
#include "Command.h"

const READER_EXPORT_FORMAT ReaderExportFormats[] = {
    { "folded", READER_EXPORT_CALLERS, ExportFolded },
    { "chrome",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS |
          READER_EXPORT_CALLERS | READER_EXPORT_ETL,
      ExportChrome },
    { "perfetto",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS |
          READER_EXPORT_CALLERS | READER_EXPORT_ETL,
      ExportPerfetto },
    { "fxt",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS |
          READER_EXPORT_CALLERS,
      ExportFxt },
    { "speedscope",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS |
          READER_EXPORT_CALLERS,
      ExportSpeedscope },
    { "callgrind", READER_EXPORT_TIMES | READER_EXPORT_CALLERS,
      ExportCallgrind },
    { "csv", READER_EXPORT_ETL, NULL },
    { "csv-osr", READER_EXPORT_TIMES, ExportCsvOsr },
    { "csv-cap", READER_EXPORT_TIMES | READER_EXPORT_CALLERS, ExportCsvCap },
    { "html", READER_EXPORT_PLAIN | READER_EXPORT_PAGE | READER_EXPORT_CALLERS,
      ExportHtml },
    { "parquet",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_PLAIN |
          READER_EXPORT_DATASET,
      ExportParquet },
};


//
// Writes what report --csv writes.
//

static
ULONG
CommandExportReport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_CONTEXT ReportContext = *Context;
    READER_OPTIONS ReportOptions = *Options;
    READER_FILE File;
    ULONG ExitCode;
    ULONG Code;

    if (!BaseCreateFile(&File,
                        Context,
                        Options->Output,
                        Options->OutputUtf8,
                        (Options->Given & READER_OPTION_GZIP) != 0)) {
        return READER_EXIT_FAILURE;
    }

    ReportContext.Output = &File.Writer;
    ReportOptions.Format = ReaderFormatCsv;
    ExitCode = ReaderReportCommand.Routine(&ReportContext, &ReportOptions);

    //
    // Nothing was written if there is no such session.
    //

    Code = BaseCloseFile(&File, READER_FILE_SIZE(&File) != 0);
    return Code != READER_EXIT_SUCCESS ? Code : ExitCode;
}


static
ULONG
CommandExport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_EXPORT Export;
    READER_TEAM Team;
    READER_COST Cost;
    READER_ETL Etl;
    PCREADER_EXPORT_FORMAT Format;
    PCSZ Problem = NULL;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if ((Options->Given & READER_OPTION_EXPORT) == 0) {
        Problem = "--format is required";
    } else if (Options->Append != NULL && Options->Output != NULL) {
        Problem = "--append and --output exclude each other";
    } else if (Options->Append != NULL &&
               (Options->Given & READER_OPTION_ALL) != 0) {
        Problem = "--append and --all exclude each other";
    } else if (Options->Output == NULL && Options->Append == NULL) {
        Problem = "--output is required";
    }

    if (Problem != NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: %s (see TraceReader export "
                     "--help)\n",
                     Problem);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Format = &ReaderExportFormats[Options->ExportFormat];
    if (Options->SplitSize != 0 &&
        (Format->Flags & READER_EXPORT_SPLIT) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --split-size: files of the format "
                     "%s cannot be split\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if ((Options->Given & READER_OPTION_EMBED) != 0 &&
        (Format->Flags & READER_EXPORT_PAGE) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --embed: the format %s is no "
                     "page\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if ((Options->Given & READER_OPTION_GZIP) != 0 &&
        (Format->Flags & READER_EXPORT_PLAIN) != 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --gzip: files of the format %s are "
                     "opened only as they are\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if ((Options->Given & READER_OPTION_DATASET) != 0 &&
        (Format->Flags & READER_EXPORT_DATASET) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --append, --tables, --encoding, "
                     "--host: are of the format parquet\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if ((Options->Given &
         (READER_OPTION_MIN_DURATION | READER_OPTION_DEPTH)) != 0 &&
        (Format->Flags &
         (READER_EXPORT_CALLS | READER_EXPORT_DATASET)) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --min-duration, --depth: the "
                     "format %s is of sums, which they would make wrong\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if ((Options->Given & READER_OPTION_ETL) != 0 &&
        (Format->Flags & READER_EXPORT_ETL) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --etl: the format %s has no place "
                     "for what threads did: chrome, perfetto and csv have\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (Format->Routine == NULL) {
        return CommandExportReport(Context, Options);
    }

    CommandBeginReading(Context, &Cost);
    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    RtlZeroBytes(&Export, sizeof(Export));
    RtlZeroBytes(&Etl, sizeof(Etl));
    Export.Context = &Team.Context;
    Export.Options = Options;
    Export.Team = &Team;
    if (!CommandBeginCommand(&Export.Session, Export.Context, Options)) {
        BaseRundownTeam(&Team);
        return READER_EXIT_FAILURE;
    }

    if ((Format->Flags & READER_EXPORT_TIMES) != 0 &&
        Export.Session.Clock.Kind == TRACE_CLOCK_NONE) {

        RtlWriteText(Context->Errors,
                     "TraceReader: export: %s: the session has no times: it "
                     "was recorded with TRACER_CLOCK=none\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);

    } else if (((Format->Flags & READER_EXPORT_CALLS) == 0 ||
                SessionRequireCalls(&Export.Session, Format->Name)) &&
               CallBeginWaits(&Export.Session, Options) &&
               CallQueryRange(&Export.Session, Options, &Export.Range) &&
               CallQueryMinimumTicks(&Export.Session,
                                     Options,
                                     &Export.MinimumTicks) &&
               SumEtlOpen(&Etl, &Export.Session, Options)) {

        Export.Etl = &Etl;
        FunctionInitializeFunctions(&Export.Functions, &Export.Session);
        Export.Functions.AreStubsApart =
            (Format->Flags & READER_EXPORT_CALLERS) != 0;
        ExitCode = Format->Routine(&Export);
        if ((Options->Given & READER_OPTION_VERBOSE) != 0 &&
            Export.NumberOfWorkers != 0) {
            Cost.NumberOfRecords = Export.NumberOfRecords;
            Cost.NumberOfOrdinary = Export.NumberOfOrdinary;
            Cost.NumberOfThreads = Export.NumberOfThreads;
            Cost.NumberOfWorkers = Export.NumberOfWorkers;
            CommandPutReading(&Export.Session, &Cost);
        }

        FunctionRundownFunctions(&Export.Functions);
    }

    if (Etl.Session != NULL) {
        SumEtlClose(&Etl);
    }

    CommandCloseCommandSession(&Export.Session);
    BaseRundownTeam(&Team);
    return ExitCode;
}


const READER_COMMAND ReaderExportCommand = {
    "export",
    "[PATH]",
    "Writes a file that other tools open",
    "Formats:\n"
    "  folded       call chains with their self time in nanoseconds, for\n"
    "               flame graphs (above 1,000 levels without the middle)\n"
    "  chrome       every call: Chrome's Trace Event Format (JSON), for\n"
    "               Perfetto, chrome://tracing and speedscope\n"
    "  perfetto     every call: protocol buffers, for Perfetto\n"
    "  fxt          every call: Fuchsia's trace format, for Perfetto\n"
    "  speedscope   every call: JSON, for speedscope\n"
    "  callgrind    for KCachegrind and callgrind_annotate\n"
    "  csv          what report --csv writes\n"
    "  csv-osr      Function,CallCount,CallTicks,TicksPerCall, as OSR's\n"
    "               !modulestats prints them (ticks of the session's clock,\n"
    "               functions called inside included)\n"
    "  csv-cap      the NT Call Profiler's columns, separated by tabs: each\n"
    "               thread's call tree (microseconds)\n"
    "  html         a page for a browser, with all it needs: the viewer with\n"
    "               the session (Docs/Viewer.md), or a picture: timeline,\n"
    "               flame graph, table of functions, search\n"
    "  parquet      tables of functions, calls and marks, for DuckDB,\n"
    "               ClickHouse, Spark (Docs/Fleet.md)\n"
    "chrome, perfetto, fxt and speedscope need recorded calls: a session of\n"
    "trees (TRACER_MODE=tree) has none, and html is without a timeline.\n"
    "--function and --exclude leave out what tree does in folded, callgrind,\n"
    "csv-cap and the flame graph of html, and what report does elsewhere.\n"
    "FILE appears when it is complete: until then it is called FILE.tmp.\n"
    "In chrome, perfetto, fxt and speedscope every call has a beginning and\n"
    "an end, on a track for its thread or fiber; times are those after the\n"
    "session's first record.  Calls that were open at --from, left without\n"
    "an exit, or open at the end of their thread or at --to are marked\n"
    "begun_before, abandoned or unfinished (not in speedscope).  With\n"
    "--split-size a file is ended when it has SIZE bytes, and the next ones\n"
    "are named with -2, -3 and so on before the extension.  Each is a slice\n"
    "of time, complete in itself: calls that are open end there and begin\n"
    "again in the next, and both are marked continued.\n"
    "chrome, perfetto and html tell calls of functions that wait\n"
    "(Docs/Waits.md): by a category besides the module's (wait:sleep, lock),\n"
    "in chrome and html by a colour, too.\n"
    "chrome and perfetto take --etl: each thread has another track, with when\n"
    "it ran, was ready to, or waited, and for what reason (Docs/Etw.md).\n"
    "In these four --min-duration leaves out calls that are shorter than TIME\n"
    "(their part in the range is), and --depth what is called from the Nth\n"
    "level.\n"
    "html is the viewer if the session takes at most SIZE of --embed as a\n"
    "pack, has times and no trees, and all of it is wanted; else the picture,\n"
    "in which short calls are one block (TraceReader view shows all of them).\n"
    "With --gzip the file is compressed: Perfetto and speedscope open it as\n"
    "it is.  SIZE of --split-size counts bytes before that.\n"
    "parquet writes a file for each table: calls.functions.parquet and so on\n"
    "for -o calls.parquet.  --append DIR adds the session's processes to the\n"
    "dataset in DIR, each once: what was added of the same process before is\n"
    "replaced, but what was added before the last clear stays beside it.  A\n"
    "table goes on in files with -2, -3 and so on when one has SIZE bytes\n"
    "(512M).  --min-duration and --depth are for the calls' table.\n"
    "--workers, --general and --verbose are for the formats of sums: folded,\n"
    "callgrind, csv, csv-osr and csv-cap, the latter two for parquet as well.\n"
    READER_RANGE_NOTE
    READER_FILTER_NOTE,
    "  TraceReader export --format folded -o calls.folded SESSION\n"
    "  TraceReader export --format perfetto -o game.pftrace SESSION\n"
    "  TraceReader export --format chrome --split-size 200M -o game.json "
    "SESSION\n"
    "  TraceReader export --format chrome --gzip -o game.json.gz SESSION\n"
    "  TraceReader export --format callgrind -o callgrind.out.game SESSION\n"
    "  TraceReader export --format csv-cap --thread 4712 -o game.cap SESSION\n"
    "  TraceReader export --format html -o game.html SESSION\n"
    "  TraceReader export --format parquet --append D:\\Fleet SESSION\n",
    READER_OPTION_EXPORT | READER_OPTION_OUTPUT | READER_OPTION_SPLIT |
        READER_OPTION_GZIP | READER_OPTION_DATASET | READER_OPTION_EMBED |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTION_WORKERS | READER_OPTION_GENERAL | READER_OPTION_VERBOSE |
        READER_OPTION_FILTER | READER_OPTIONS_OF_READING |
        READER_OPTION_MIN_DURATION | READER_OPTION_DEPTH |
        READER_OPTION_WAITS | READER_OPTION_ETL,
    CommandExport,
    NULL,
    NULL
};

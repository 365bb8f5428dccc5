/*++

Module Name:

    CommandExport.c

Abstract:

    TraceReader export: writes a session as a file that other tools open.

--*/

#include "ReaderExport.h"
#include "ReaderFile.h"

//
// The formats, in the order of the help, which lists them in words.
//

static const READER_EXPORT_FORMAT ReaderExportFormats[] = {
    { "folded", 0, ReaderExportFolded },
    { "chrome",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS,
      ReaderExportChrome },
    { "perfetto",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS,
      ReaderExportPerfetto },
    { "fxt",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS,
      ReaderExportFxt },
    { "speedscope",
      READER_EXPORT_TIMES | READER_EXPORT_SPLIT | READER_EXPORT_CALLS,
      ReaderExportSpeedscope },
    { "callgrind", READER_EXPORT_TIMES, ReaderExportCallgrind },
    { "csv", 0, NULL },
    { "csv-osr", READER_EXPORT_TIMES, ReaderExportCsvOsr },
    { "csv-cap", READER_EXPORT_TIMES, ReaderExportCsvCap },
    { "html", 0, ReaderExportHtml },
};


static
PCREADER_EXPORT_FORMAT
ReaderFindExportFormat(
    _In_z_ PCSZ Name
    )
/*++

Routine Description:

    Finds a format.

Arguments:

    Name - Its name.

Return Value:

    The format, or NULL.

--*/
{
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderExportFormats); Index++) {
        if (RtlAreStringsEqual(ReaderExportFormats[Index].Name, Name)) {
            return &ReaderExportFormats[Index];
        }
    }

    return NULL;
}


_Use_decl_annotations_
BOOLEAN
ReaderIsExportFormat(
    PCSZ Name
    )
/*++

Routine Description:

    Tells whether there is a format.

Arguments:

    Name - Its name.

Return Value:

    Whether there is.

--*/
{
    return ReaderFindExportFormat(Name) != NULL;
}


static
ULONG
ReaderExportReport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Writes what report --csv writes.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_CONTEXT ReportContext = *Context;
    READER_OPTIONS ReportOptions = *Options;
    READER_FILE File;
    ULONG ExitCode;
    ULONG Code;

    if (!ReaderCreateFile(&File,
                          Context,
                          Options->Output,
                          Options->OutputUtf8)) {
        return READER_EXIT_FAILURE;
    }

    ReportContext.Output = &File.Writer;
    ReportOptions.Format = ReaderFormatCsv;
    ExitCode = ReaderReportCommand.Routine(&ReportContext, &ReportOptions);

    //
    // Nothing was written if there is no such session.
    //

    Code = ReaderCloseFile(&File, READER_FILE_SIZE(&File) != 0);
    return Code != READER_EXIT_SUCCESS ? Code : ExitCode;
}


static
ULONG
ReaderCommandExport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs export.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_EXPORT Export;
    PCREADER_EXPORT_FORMAT Format;
    PCSZ Problem = NULL;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->ExportFormat == NULL) {
        Problem = "which format? --format is missing";
    } else if (Options->Output == NULL) {
        Problem = "which file? --output is missing";
    }

    if (Problem != NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: %s (see TraceReader export "
                     "--help)\n",
                     Problem);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Format = ReaderFindExportFormat(Options->ExportFormat);
    if (Options->SplitSize != 0 &&
        (Format->Flags & READER_EXPORT_SPLIT) == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: --split-size: a file of the "
                     "format %s is always whole\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (Format->Routine == NULL) {
        return ReaderExportReport(Context, Options);
    }

    RtlZeroBytes(&Export, sizeof(Export));
    Export.Context = Context;
    Export.Options = Options;
    if (!ReaderBeginCommand(&Export.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if ((Format->Flags & READER_EXPORT_TIMES) != 0 &&
        Export.Session.Clock.Kind == TRACE_CLOCK_NONE) {

        RtlWriteText(Context->Errors,
                     "TraceReader: export: %s: the session has no times, its "
                     "clock was off (TRACER_CLOCK=none)\n",
                     Format->Name);
        RtlFlushWriter(Context->Errors);

    } else if (((Format->Flags & READER_EXPORT_CALLS) == 0 ||
                ReaderRequireCalls(&Export.Session, Format->Name)) &&
               ReaderQueryRange(&Export.Session,
                                Options,
                                &Export.Range)) {

        ReaderInitializeFunctions(&Export.Functions, &Export.Session);
        ExitCode = Format->Routine(&Export);
        ReaderRundownFunctions(&Export.Functions);
    }

    ReaderCloseSession(&Export.Session);
    return ExitCode;
}


const READER_COMMAND ReaderExportCommand = {
    "export",
    "PATH",
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
    "  html         a page for a browser, with all it needs: timeline, flame\n"
    "               graph, table of functions, search\n"
    "chrome, perfetto, fxt and speedscope need recorded calls: a session of\n"
    "trees (TRACER_MODE=tree) has none, and html is without a timeline.\n"
    "--function and --exclude leave out what tree does in folded, callgrind,\n"
    "csv-cap and the flame graph of html, and what report does elsewhere.\n"
    "FILE is complete or not there: it is written as FILE.tmp first.\n"
    "In chrome, perfetto, fxt and speedscope every call has a beginning and\n"
    "an end, on a track for its thread or fiber; times are those after the\n"
    "session's first record.  Calls that were open at --from, left without\n"
    "an exit, or open at the end of their thread or at --to are marked\n"
    "begun_before, abandoned or unfinished (not in speedscope).  With\n"
    "--split-size a file is ended when it has SIZE bytes, and the next ones\n"
    "are named with -2, -3 and so on before the extension.  Each is a slice\n"
    "of time, complete in itself: calls that are open end there and begin\n"
    "again in the next, and both are marked continued.\n"
    READER_RANGE_NOTE
    READER_FILTER_NOTE,
    "  TraceReader export --format folded -o calls.folded SESSION\n"
    "  TraceReader export --format perfetto -o game.pftrace SESSION\n"
    "  TraceReader export --format chrome --split-size 200M -o game.json "
    "SESSION\n"
    "  TraceReader export --format callgrind -o callgrind.out.game SESSION\n"
    "  TraceReader export --format csv-cap --thread 4712 -o game.cap SESSION\n"
    "  TraceReader export --format html -o game.html SESSION\n",
    READER_OPTION_EXPORT | READER_OPTION_OUTPUT | READER_OPTION_SPLIT |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTION_FILTER | READER_OPTIONS_OF_READING,
    ReaderCommandExport
};

/*++

Module Name:

    CommandMain.c

Abstract:

    The program: finds the command, parses its options, runs it.

--*/

#include "../../Rtl/RtlVersion.h"
#include "../Base/BaseErrors.h"
#include "../Base/BaseNearest.h"
#include "../Output/OutputPager.h"
#include "CommandOptions.h"

//
// A Win32 error as RtlFlushWriter gives it: facility 7.
//

#define READER_STATUS_WIN32(Error) ((NTSTATUS)(0xC0070000 | (Error)))


//
// Returns the command or NULL.
//

static
PCREADER_COMMAND
CommandFindCommand(
    _In_z_ PCSZ Name
    )
{
    ULONG Index;

    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        if (RtlAreStringsEqual(ReaderCommands[Index]->Name, Name)) {
            return ReaderCommands[Index];
        }
    }

    return NULL;
}


//
// Names a command that there is not, and the one that is near.
//

static
VOID
CommandWriteUnknown(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Name
    )
{
    READER_NEAREST Nearest;
    ULONG Index;

    BaseBeginNearest(&Nearest, Name);
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        BaseOfferNearest(&Nearest, ReaderCommands[Index]->Name);
    }

    RtlWriteText(Context->Errors,
                 "TraceReader: unknown %s %T",
                 Name[0] == '-' ? "option" : "command",
                 Name);
    if (Nearest.Best != NULL && Name[0] != '-') {
        RtlWriteText(Context->Errors, ": did you mean %s?", Nearest.Best);
    }

    RtlWriteText(Context->Errors, " (see TraceReader --help)\n");
    RtlFlushWriter(Context->Errors);
}


//
// Makes what lays out a command's tables, if they are to fit a width.  Without
// memory they do not.
//

static
VOID
CommandBeginLayout(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_ PCREADER_OPTIONS Options
    )
{
    static const PCSZ Fields[] = {
        "total", "self", "calls", "average", "min", "max", "waited",
        "function"
    };
    ULONG Width = Options->Width;

    if ((Command->Options & READER_OPTION_WIDTH) == 0 ||
        Options->Format != ReaderFormatText) {
        return;
    }

    if (Width == READER_WIDTH_AUTO) {
        Width = OutputQueryTerminalWidth(Context->Output);
        if (Width == 0) {
            return;
        }
    }

    if (Width != READER_WIDTH_NONE) {
        Context->Output->Layout = OutputCreateGrid(
            Context->Allocator,
            Width,
            (Options->Given & READER_OPTION_SORT) != 0 ||
                    Command == &ReaderReportCommand
                ? Fields[Options->SortKey]
                : "");
    }
}


_Use_decl_annotations_
ULONG
CommandMain(
    PCREADER_CONTEXT Context,
    PCRTL_ARGUMENT Arguments,
    ULONG NumberOfArguments
    )
{
    PCREADER_COMMAND Command = NULL;
    READER_OPTIONS Options;
    READER_COLORS Colors;
    PREADER_PAGER Pager = NULL;
    BOOLEAN IsHelp;
    BOOLEAN IsRun;
    ULONG ExitCode;
    NTSTATUS Status;
    PCSZ Name;

    if (NumberOfArguments < 2) {
        CommandWriteHelp(Context->Errors, NULL);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Name = Arguments[1].Utf8;
    ExitCode = READER_EXIT_SUCCESS;
    if (RtlAreStringsEqual(Name, "--version")) {

        RtlWriteText(Context->Output,
                     "TraceReader " TRACER_VERSION
                     ", for stores of format %u.%u\n",
                     TRACE_FORMAT_MAJOR,
                     TRACE_FORMAT_MINOR);

    } else if (RtlAreStringsEqual(Name, "--schema")) {

        CommandWriteSchema(Context->Output);

    } else if (RtlAreStringsEqual(Name, "--completions")) {

        if (!CommandWriteCompletions(Context->Output,
                                     NumberOfArguments > 2
                                         ? Arguments[2].Utf8
                                         : "")) {
            RtlWriteText(Context->Errors,
                         "TraceReader: --completions takes bash or "
                         "powershell\n");
            ExitCode = READER_EXIT_FAILURE;
        }

    } else if (RtlAreStringsEqual(Name, "--help") ||
               RtlAreStringsEqual(Name, "-h") ||
               RtlAreStringsEqual(Name, "/?") ||
               RtlAreStringsEqual(Name, "-?") ||
               RtlAreStringsEqual(Name, "help")) {

        if (NumberOfArguments > 2) {
            Command = CommandFindCommand(Arguments[2].Utf8);
        }

        Pager = OutputBeginPager(Context, NULL);
        CommandWriteHelp(Context->Output, Command);

    } else {

        Command = CommandFindCommand(Name);
        if (Command == NULL) {
            CommandWriteUnknown(Context, Name);
            return READER_EXIT_FAILURE;
        }

        IsRun = CommandParseOptions(Context,
                                    Command,
                                    Arguments + 2,
                                    NumberOfArguments - 2,
                                    &Options,
                                    &IsHelp);
        if (IsRun) {
            if ((Command->Options & READER_OPTION_PAGER) != 0) {
                Pager = OutputBeginPager(Context, &Options);
            }

            CommandBeginLayout(Context, Command, &Options);
            if ((Command->Options & READER_OPTION_COLOR) != 0) {
                OutputBeginColors(Context,
                                  &Options,
                                  OutputIsPagerPlain(Context->Output),
                                  &Colors);
            }

            ExitCode = Command->Routine(Context, &Options);
            Context->Allocator->Free(Context->Allocator->Context,
                                     Context->Output->Layout);
            Context->Output->Layout = NULL;
            Context->Output->Colors = NULL;
        }

        if (!IsRun && !IsHelp && Options.Unknown != NULL) {
            CommandWriteUnknownOption(Context, Command, Options.Unknown);
        }

        CommandFreeOptions(Context, &Options);
        if (!IsRun && !IsHelp) {
            return READER_EXIT_FAILURE;
        }

        if (!IsRun) {
            Pager = OutputBeginPager(Context, NULL);
            CommandWriteHelp(Context->Output, Command);
        }
    }

    OutputEndPager(Pager);
    RtlFlushWriter(Context->Errors);
    Status = RtlFlushWriter(Context->Output);

    //
    // Whoever reads the output may stop when it has seen enough.
    //

    if (Status == READER_STATUS_WIN32(ERROR_BROKEN_PIPE) ||
        Status == READER_STATUS_WIN32(ERROR_NO_DATA) ||
        Status == READER_STATUS_WIN32(ERROR_PIPE_NOT_CONNECTED)) {

        return ExitCode;
    }
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "write the output",
                        "standard output",
                        Status);
    }

    return ExitCode;
}

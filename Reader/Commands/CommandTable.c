/*++

Module Name:

    CommandTable.c

Abstract:

    All commands, in the order of the help.

--*/

#include "Command.h"

const PCREADER_COMMAND ReaderCommands[] = {
    &ReaderRunCommand,
    &ReaderInfoCommand,
    &ReaderSessionsCommand,
    &ReaderReportCommand,
    &ReaderTreeCommand,
    &ReaderCallersCommand,
    &ReaderCalleesCommand,
    &ReaderOutliersCommand,
    &ReaderWaitsCommand,
    &ReaderHotCommand,
    &ReaderExcludeCommand,
    &ReaderStackCommand,
    &ReaderThreadsCommand,
    &ReaderModulesCommand,
    &ReaderDiffCommand,
    &ReaderReplayCommand,
    &ReaderLiveCommand,
    &ReaderCtlCommand,
    &ReaderExportCommand,
    &ReaderVerifyCommand,
    &ReaderPackCommand,
    &ReaderUnpackCommand,
    &ReaderRecoverCommand,
};

const ULONG ReaderNumberOfCommands = RTL_NUMBER_OF(ReaderCommands);

/*++

Module Name:

    KdCommands.h

Abstract:

    The commands.  Each is called with a target, and writes what it says, and
    what went wrong, through its context.

--*/

#ifndef TRACER_KD_COMMANDS_H
#define TRACER_KD_COMMANDS_H

#include "KdContext.h"

typedef
VOID
(KD_COMMAND)(
    _Inout_ PKD_CONTEXT Context,
    _In_opt_z_ PCSTR Arguments
    );
typedef KD_COMMAND *PKD_COMMAND;

KD_COMMAND KdModuleStats;           // !modulestats
KD_COMMAND KdLastCalls;             // !lastcalls
KD_COMMAND KdCallTree;              // !calltree
KD_COMMAND KdStackUsage;            // !stack_usage
KD_COMMAND KdTracer;                // !tracer
KD_COMMAND KdHelp;                  // !help; needs no target

#endif // TRACER_KD_COMMANDS_H

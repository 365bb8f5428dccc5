/*++

Module Name:

    CommandStack.h

Abstract:

    What stack and stack --static share.

--*/

#ifndef TRACER_COMMAND_STACK_H
#define TRACER_COMMAND_STACK_H

#include "../../StringTable/StringTable.h"
#include "../Base/BaseContext.h"
#include "../Base/BaseOptions.h"
#include "../Output/OutputTable.h"
#include "Command.h"

//
// Of CSV and JSON with --static, then NULL (CommandStackStatic.c).
//

extern const READER_OTHER_TABLES ReaderStackStatic;

//
// CommandStackStatic.c: stack --static.  Returns READER_EXIT_*.
//

ULONG
CommandShowStaticStack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );

#endif // TRACER_COMMAND_STACK_H

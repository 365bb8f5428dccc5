/*++

Module Name:

    FunctionStub.h

Abstract:

    Who called an import: the module that its stub belongs to, in a table of
    functions with AreStubsApart.  Where none of that module's functions is the
    caller that was recorded, the module stands for the caller: [game.exe].

--*/

#ifndef TRACER_FUNCTION_STUB_H
#define TRACER_FUNCTION_STUB_H

#include "../Output/OutputTable.h"
#include "Function.h"

//
// The column of FunctionStubPutCaller, which text shows with
// READER_COLUMN_CALLER.
//

#define READER_COLUMN_CALLER 0x8000     // there are imports

#define READER_CALLER_COLUMN(Flags)                                         \
    { "Called by", "caller_module", ReaderColumnText, 16,                   \
      READER_COLUMN_NULLABLE | (Flags),                                     \
      "Of an imported function, the module that called it; null for others." }

#define READER_UNSEEN_CALLER_NOTE                                           \
    "An import was called by the module that has it among its imports.  If\n" \
    "that module's functions are not recorded, it stands for the caller:\n"  \
    "[game.exe].\n"

//
// READER_COLUMN_CALLER if one of the functions is a stub, or 0.
//

ULONG
FunctionStubSelectColumn(
    _In_ const READER_FUNCTIONS *Functions
    );

VOID
FunctionStubPutCaller(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_FUNCTIONS *Functions,
    _In_ PCREADER_FUNCTION Function
    );

//
// Writes the modules that FunctionNoteCaller has noted, in the order of their
// names.
//

VOID
FunctionStubPutCallers(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Function
    );

//
// The module that called a function, if that is known and the function above is
// not of that module: index + 1 in Imported.  0: the function above called.
// Above: READER_NONE: it is an outermost call.
//

ULONG
FunctionStubFindCaller(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Function,
    _In_ ULONG Above
    );

//
// The same where stubs are not apart, of a call that is known to be by a
// module's stub.
// Caller: that module, as FunctionFindImporter says; 0: by none.
//

ULONG
FunctionStubFindOtherCaller(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Caller,
    _In_ ULONG Above
    );

//
// In place of a function's index: such a module.
//

#define READER_CALLING_MODULE 0x80000000u
#define READER_MAKE_CALLING_MODULE(Caller) (READER_CALLING_MODULE | (Caller))
#define READER_QUERY_CALLING_MODULE(Function) \
    ((Function) & ~READER_CALLING_MODULE)
#define READER_IS_CALLING_MODULE(Function) \
    ((Function) >= READER_CALLING_MODULE && (Function) != READER_NONE)

//
// Writes what such a module is called as a caller.
//

VOID
FunctionStubWriteCaller(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Caller
    );

//
// Writes the cells of such a caller: its module, and its name, indented.
//

VOID
FunctionStubPutCallingModule(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG CallingModule,
    _In_ ULONG Depth
    );

//
// Are two functions the same but for the module that calls their stubs?
//

BOOLEAN
FunctionStubAreAlike(
    _In_ PCREADER_FUNCTION First,
    _In_ PCREADER_FUNCTION Second
    );

#endif // TRACER_FUNCTION_STUB_H

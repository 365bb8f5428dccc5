/*++

Module Name:

    CommandStackStatic.c

Abstract:

    TraceReader stack --static: the bytes of stack that each function of the
    traced modules, or of an image, reserves, from the image's unwind data.
    Nothing has to have run.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionImage.h"
#include "../Functions/FunctionFilter.h"
#include "Command.h"
#include "CommandStack.h"

static const READER_COLUMN ReaderStaticColumns[] = {
    { "Frame", "frame", ReaderColumnNumber, 10, 0,
      "Bytes of stack that the function uses: return address, saved "
      "registers, locals and space for callees." },
    { "Locals", "locals", ReaderColumnNumber, 10, 0,
      "Bytes that its prologue subtracts from the stack pointer." },
    { "Saved", "saved", ReaderColumnNumber, 6, 0,
      "Bytes of registers that it saves by pushing." },
    { "Dynamic", "dynamic", ReaderColumnText, 7, 0,
      "yes: the function has a frame pointer and may use more stack "
      "(alloca)." },
    { "Module", "module", ReaderColumnText, 16, READER_COLUMN_MODULE,
      "The module's file name." },
    { "", "rva", ReaderColumnHexadecimal, 0, READER_COLUMN_DATA,
      "Where the function begins, from the image base; hexadecimal." },
    { "Function", "function", ReaderColumnText, 0, 0,
      "The function's name, or module+0xRVA." }
};

static const READER_TABLE ReaderStaticTable = {
    "functions",
    ReaderStaticColumns,
    RTL_NUMBER_OF(ReaderStaticColumns),
    FALSE,
    FALSE,
    "A row for each function of the image, whether it was called or not."
};

static const PCREADER_TABLE ReaderStackStaticTables[] = {
    &ReaderStaticTable,
    &ReaderNotShownTable,
    NULL
};

const READER_OTHER_TABLES ReaderStackStatic = {
    "--static",
    ReaderStackStaticTables
};

typedef struct _READER_STATIC_ROW {
    ULONG Rva;                      // of the function
    ULONG Function;                 // its name's index
    ULONG Frame;                    // bytes, with the return address
    ULONG Saved;                    // bytes
    BOOLEAN IsDynamic;
} READER_STATIC_ROW;
typedef READER_STATIC_ROW *PREADER_STATIC_ROW;

typedef struct _READER_STATIC {
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_MAP Starts;              // (module << 32) | RVA to row
    PREADER_STATIC_ROW Rows;
    ULONG NumberOfRows;
    ULONG CapacityOfRows;
    PREADER_IMAGE Image;            // NULL: there is a session
    READER_NOT_SHOWN NotShown;
    ULONGLONG NumberShown;
} READER_STATIC;
typedef READER_STATIC *PREADER_STATIC;


//
// Adds a range of code to its function, which takes what the one of its ranges
// does that takes the most.
// Module: the module's index.
// Frame: what the range reserves.
//

_Must_inspect_result_
static
NTSTATUS
CommandAddStaticRow(
    _Inout_ PREADER_STATIC Static,
    _In_ ULONG Module,
    _In_ const READER_UNWIND_FRAME *Frame
    )
{
    PREADER_STATIC_ROW Row;
    ULONGLONG Start = ((ULONGLONG)Module << 32) | Frame->FunctionRva;
    ULONG Size = Frame->BodySizeInBytes + sizeof(ULONGLONG);
    ULONG Index;
    NTSTATUS Status;

    if (BaseFindInMap(&Static->Starts, Start, &Index)) {

        Row = &Static->Rows[Index];
        Row->IsDynamic = Row->IsDynamic || Frame->IsDynamic;
        if (Size > Row->Frame) {
            Row->Frame = Size;
            Row->Saved = Frame->SavedInBytes;
        }

        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Static->Session.Context->Allocator,
                           (PVOID *)&Static->Rows,
                           &Static->CapacityOfRows,
                           Static->NumberOfRows + 1,
                           sizeof(READER_STATIC_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Row = &Static->Rows[Static->NumberOfRows];
    Row->Rva = Frame->FunctionRva;
    Row->Frame = Size;
    Row->Saved = Frame->SavedInBytes;
    Row->IsDynamic = Frame->IsDynamic;
    Status = FunctionFindFunction(&Static->Functions,
                                  Start,
                                  FALSE,
                                  &Row->Function);
    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Static->Starts, Start, Static->NumberOfRows);
    }

    if (NT_SUCCESS(Status)) {
        Static->NumberOfRows += 1;
    }

    return Status;
}


//
// Adds the functions of a module.
// Static: the rows.
// Returns STATUS_SUCCESS, what is wrong with the image, or STATUS_NO_MEMORY.
//

_Must_inspect_result_
static
NTSTATUS
CommandAddStaticModule(
    _Inout_ PREADER_STATIC Static,
    _In_ ULONG Index
    )
{
    PREADER_MODULE Module = Static->Session.Modules[Index];
    PCREADER_UNWIND Unwind;
    READER_UNWIND_FRAME Frame;
    ULONG Range;
    NTSTATUS Status;

    Status = FunctionLoadModuleSymbols(&Static->Session, Module);
    if (NT_SUCCESS(Status)) {
        Status = FunctionLoadModuleImage(&Static->Session, Module);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Unwind = Module->Symbols != NULL ? SymbolGetUnwind(Module->Symbols) : NULL;
    if (Unwind == NULL) {
        FunctionWarnOfSymbols(&Static->Session, Module);
        return STATUS_NOT_FOUND;
    }

    for (Range = 0; Range < Unwind->NumberOfFunctions; Range++) {
        if (ImageFindUnwindFrame(Unwind,
                                 ImageQueryUnwindRange(Unwind, Range) + 1,
                                 &Frame)) {
            Status = CommandAddStaticRow(Static, Index, &Frame);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


//
// Orders rows by their size, the largest first.
// First, Second: two of them.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareStaticRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_STATIC Static = (PREADER_STATIC)CompareContext;
    PREADER_STATIC_ROW FirstRow = &Static->Rows[First];
    PREADER_STATIC_ROW SecondRow = &Static->Rows[Second];
    PCREADER_FUNCTION FirstFunction =
        &Static->Functions.Functions[FirstRow->Function];
    PCREADER_FUNCTION SecondFunction =
        &Static->Functions.Functions[SecondRow->Function];
    LONG Order;

    if (FirstRow->Frame != SecondRow->Frame) {
        return FirstRow->Frame > SecondRow->Frame ? -1 : 1;
    }

    Order = FunctionCompareNames(FirstFunction, SecondFunction);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


static
VOID
CommandPutStaticRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STATIC *Static,
    _In_ const READER_STATIC_ROW *Row
    )
{
    PCREADER_FUNCTION Function = &Static->Functions.Functions[Row->Function];
    const READER_MODULE *Module = Static->Session.Modules[Function->Module];
    RTL_WRITER Writer;
    CHAR Name[512];

    OutputPutNumber(Output, Row->Frame);
    OutputPutNumber(Output, Row->Frame - Row->Saved - sizeof(ULONGLONG));
    OutputPutNumber(Output, Row->Saved);
    OutputPutString(Output, Row->IsDynamic ? "yes" : "no");
    OutputPutText(Output, Module->Name, Module->NameLength);
    OutputPutNumber(Output, Row->Rva);

    //
    // A function without a name is some way behind one that has.
    //

    if (Row->Rva == Function->Rva ||
        Function->NameLength > sizeof(Name) - 16) {
        OutputPutText(Output, Function->Name, Function->NameLength);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteBytes(&Writer, Function->Name, Function->NameLength);
    RtlWriteText(&Writer, "+0x%x", Row->Rva - Function->Rva);
    OutputPutText(Output, Name, Writer.LengthInBytes);
}


//
// Writes the table.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutStaticRows(
    _Inout_ PREADER_STATIC Static,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCREADER_CONTEXT Context = Static->Session.Context;
    PCALLOCATOR Allocator = Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG Dynamic = 0;
    PULONG Order;
    ULONG Count = 0;
    ULONG Index;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Static->NumberOfRows + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    FunctionFilterFunctions(&Static->Functions, Options->Filter);
    for (Index = 0; Index < Static->NumberOfRows; Index++) {

        const READER_STATIC_ROW *Row = &Static->Rows[Index];

        if (Row->Frame < Options->Minimum) {
            continue;
        }

        if (!Static->Functions.Functions[Row->Function].IsShown) {
            Static->NotShown.Rows += 1;
            continue;
        }

        Dynamic += Row->IsDynamic;
        Order[Count] = Index;
        Count += 1;
    }

    Static->NumberShown = Count;
    BaseSort(Order, Count, CommandCompareStaticRows, Static);
    OutputBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Static->Session.Clock,
                        "stack",
                        FALSE);
    OutputBeginTable(&Output,
                     &ReaderStaticTable,
                     Static->Session.NumberOfModules != 1 ? READER_COLUMN_MODULE
                                                          : 0);
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {
        CommandPutStaticRow(&Output, Static, &Static->Rows[Order[Index]]);
    }

    OutputEndTable(&Output);
    if (Dynamic != 0) {
        OutputPutNote(&Output,
                      "Dynamic: a frame register is set up, so the function "
                      "may use more stack while it runs.");
    }

    FunctionPutNotShown(&Output, Options->Filter, &Static->NotShown);
    OutputEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Frees everything.
// Static: the rows, with a session or an image.
//

static
VOID
CommandRundownStatic(
    _Inout_ PREADER_STATIC Static
    )
{
    PCALLOCATOR Allocator = Static->Session.Context->Allocator;

    Allocator->Free(Allocator->Context, Static->Rows);
    BaseRundownMap(&Static->Starts);
    FunctionRundownFunctions(&Static->Functions);
    if (Static->Image != NULL) {
        SessionCloseImage(&Static->Session, Static->Image);
    } else {
        CommandCloseCommandSession(&Static->Session);
    }
}


_Use_decl_annotations_
ULONG
CommandShowStaticStack(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    READER_STATIC Static;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Static, sizeof(Static));
    Status = SessionOpenImage(Context,
                              Options,
                              &Static.Session,
                              &Static.Image);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "open the image",
                        Options->PathUtf8,
                        Status);
    }

    if (Static.Image == NULL &&
        !CommandBeginCommand(&Static.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    Static.Session.AreNamesShort = CommandAreNamesShort(Context, Options);
    FunctionInitializeFunctions(&Static.Functions, &Static.Session);
    BaseInitializeMap(&Static.Starts, Context->Allocator);
    for (Index = 0; Index < Static.Session.NumberOfModules; Index++) {

        if (!Static.Session.Modules[Index]->IsSelected) {
            continue;
        }

        Status = CommandAddStaticModule(&Static, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = BaseFail(Context,
                                "read the image's unwind data",
                                Options->PathUtf8,
                                Status);
            if (Status == STATUS_NO_MEMORY) {
                goto End;
            }
        }
    }

    Status = CommandPutStaticRows(&Static, Options);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "stack", Options->PathUtf8, Status);
        goto End;
    }

    ExitCode = FunctionEndFilter(Context,
                                 Options->Filter,
                                 &Static.Functions,
                                 Static.NumberShown,
                                 &Static.NotShown,
                                 ExitCode);

End:
    CommandRundownStatic(&Static);
    return ExitCode;
}

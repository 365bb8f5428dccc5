/*++

Module Name:

    CommandStackStatic.c

Abstract:

    TraceReader stack --static: the bytes of stack that each function of the
    traced modules, or of an image, reserves, from the image's unwind data.
    Nothing has to have run.

--*/

#include "ReaderStack.h"
#include "ReaderImage.h"

static const READER_COLUMN ReaderStaticColumns[] = {
    { "Frame", "frame", ReaderColumnNumber, 10 },
    { "Locals", "locals", ReaderColumnNumber, 10 },
    { "Saved", "saved", ReaderColumnNumber, 6 },
    { "Dynamic", "dynamic", ReaderColumnText, 7 },
    { "Module", "module", ReaderColumnText, 16 },
    { "", "rva", ReaderColumnHexadecimal, 0 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_STATIC_MODULE_COLUMN 4
#define READER_STATIC_RVA_COLUMN 5

static const READER_TABLE ReaderStaticTable = {
    "functions",
    ReaderStaticColumns,
    RTL_NUMBER_OF(ReaderStaticColumns),
    FALSE
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


_Must_inspect_result_
static
NTSTATUS
ReaderAddStaticRow(
    _Inout_ PREADER_STATIC Static,
    _In_ ULONG Module,
    _In_ const READER_UNWIND_FRAME *Frame
    )
/*++

Routine Description:

    Adds a range of code to its function, which takes what the one of its
    ranges does that takes the most.

Arguments:

    Static - The rows.

    Module - The module's index.

    Frame - What the range reserves.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_STATIC_ROW Row;
    ULONGLONG Start = ((ULONGLONG)Module << 32) | Frame->FunctionRva;
    ULONG Size = Frame->BodySizeInBytes + sizeof(ULONGLONG);
    ULONG Index;
    NTSTATUS Status;

    if (ReaderFindInMap(&Static->Starts, Start, &Index)) {

        Row = &Static->Rows[Index];
        Row->IsDynamic = Row->IsDynamic || Frame->IsDynamic;
        if (Size > Row->Frame) {
            Row->Frame = Size;
            Row->Saved = Frame->SavedInBytes;
        }

        return STATUS_SUCCESS;
    }

    Status = ReaderGrowArray(Static->Session.Context->Allocator,
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
    Status = ReaderFindFunction(&Static->Functions, Start, &Row->Function);
    if (NT_SUCCESS(Status)) {
        Status = ReaderAddToMap(&Static->Starts, Start, Static->NumberOfRows);
    }

    if (NT_SUCCESS(Status)) {
        Static->NumberOfRows += 1;
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddStaticModule(
    _Inout_ PREADER_STATIC Static,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Adds the functions of a module.

Arguments:

    Static - The rows.

    Index - The module's.

Return Value:

    STATUS_SUCCESS, what is wrong with the image, or STATUS_NO_MEMORY.

--*/
{
    PREADER_MODULE Module = Static->Session.Modules[Index];
    PCREADER_UNWIND Unwind;
    READER_UNWIND_FRAME Frame;
    ULONG Range;
    NTSTATUS Status;

    Status = ReaderLoadModuleSymbols(&Static->Session, Module);
    if (NT_SUCCESS(Status)) {
        Status = ReaderLoadModuleImage(&Static->Session, Module);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Unwind = Module->Symbols != NULL ? ReaderGetUnwind(Module->Symbols) : NULL;
    if (Unwind == NULL) {
        ReaderWarnOfSymbols(&Static->Session, Module);
        return STATUS_NOT_FOUND;
    }

    for (Range = 0; Range < Unwind->NumberOfFunctions; Range++) {
        if (ReaderFindUnwindFrame(Unwind,
                                  ReaderQueryUnwindRange(Unwind, Range) + 1,
                                  &Frame)) {
            Status = ReaderAddStaticRow(Static, Index, &Frame);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


static
LONG
ReaderCompareStaticRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders rows by their size, the largest first.

Arguments:

    CompareContext - The rows.

    First, Second - Two of them.

Return Value:

    Negative, zero or positive.

--*/
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

    Order = ReaderCompareText(FirstFunction->Name,
                              FirstFunction->NameLength,
                              SecondFunction->Name,
                              SecondFunction->NameLength);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


static
VOID
ReaderPutStaticRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STATIC *Static,
    _In_ const READER_STATIC_ROW *Row
    )
/*++

Routine Description:

    Writes a row.

Arguments:

    Output - The output.

    Static - The rows.

    Row - The row.

Return Value:

    None.

--*/
{
    PCREADER_FUNCTION Function = &Static->Functions.Functions[Row->Function];
    const READER_MODULE *Module = Static->Session.Modules[Function->Module];
    RTL_WRITER Writer;
    CHAR Name[512];

    ReaderPutNumber(Output, Row->Frame);
    ReaderPutNumber(Output, Row->Frame - Row->Saved - sizeof(ULONGLONG));
    ReaderPutNumber(Output, Row->Saved);
    ReaderPutString(Output, Row->IsDynamic ? "yes" : "no");
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutNumber(Output, Row->Rva);

    //
    // A function without a name is some way behind one that has.
    //

    if (Row->Rva == Function->Rva ||
        Function->NameLength > sizeof(Name) - 16) {
        ReaderPutText(Output, Function->Name, Function->NameLength);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteBytes(&Writer, Function->Name, Function->NameLength);
    RtlWriteText(&Writer, "+0x%x", Row->Rva - Function->Rva);
    ReaderPutText(Output, Name, Writer.LengthInBytes);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutStaticRows(
    _Inout_ PREADER_STATIC Static,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Writes the table.

Arguments:

    Static - The rows.

    Options - The options.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCREADER_CONTEXT Context = Static->Session.Context;
    PCALLOCATOR Allocator = Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG HiddenColumns = 1ULL << READER_STATIC_RVA_COLUMN;
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

    ReaderFilterFunctions(&Static->Functions, Options->Filter);
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
    if (Static->Session.NumberOfModules == 1) {
        HiddenColumns |= 1ULL << READER_STATIC_MODULE_COLUMN;
    }

    ReaderSort(Order, Count, ReaderCompareStaticRows, Static);
    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Static->Session.Clock,
                        "stack",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderStaticTable, HiddenColumns);
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {
        ReaderPutStaticRow(&Output, Static, &Static->Rows[Order[Index]]);
    }

    ReaderEndTable(&Output);
    if (Dynamic != 0) {
        ReaderPutNote(&Output,
                      "Dynamic: a frame register is set up, so that the "
                      "function may take more while it runs.");
    }

    ReaderPutNotShown(&Output, Options->Filter, &Static->NotShown);
    ReaderEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


static
VOID
ReaderRundownStatic(
    _Inout_ PREADER_STATIC Static
    )
/*++

Routine Description:

    Frees everything.

Arguments:

    Static - The rows, with a session or an image.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Static->Session.Context->Allocator;

    Allocator->Free(Allocator->Context, Static->Rows);
    ReaderRundownMap(&Static->Starts);
    ReaderRundownFunctions(&Static->Functions);
    if (Static->Image != NULL) {
        ReaderCloseImage(&Static->Session, Static->Image);
    } else {
        ReaderCloseSession(&Static->Session);
    }
}


_Use_decl_annotations_
ULONG
ReaderShowStaticStack(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs stack --static.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_STATIC Static;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Static, sizeof(Static));
    Status = ReaderOpenImage(Context,
                             Options,
                             &Static.Session,
                             &Static.Image);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "open the image",
                          Options->PathUtf8,
                          Status);
    }

    if (Static.Image == NULL &&
        !ReaderBeginCommand(&Static.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Static.Functions, &Static.Session);
    ReaderInitializeMap(&Static.Starts, Context->Allocator);
    for (Index = 0; Index < Static.Session.NumberOfModules; Index++) {

        if (!Static.Session.Modules[Index]->IsSelected) {
            continue;
        }

        Status = ReaderAddStaticModule(&Static, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = ReaderFail(Context,
                                  "read the image's unwind data",
                                  Options->PathUtf8,
                                  Status);
            if (Status == STATUS_NO_MEMORY) {
                goto End;
            }
        }
    }

    Status = ReaderPutStaticRows(&Static, Options);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "stack", Options->PathUtf8, Status);
        goto End;
    }

    ExitCode = ReaderEndFilter(Context,
                               Options->Filter,
                               Static.NumberShown,
                               &Static.NotShown,
                               ExitCode);

End:
    ReaderRundownStatic(&Static);
    return ExitCode;
}

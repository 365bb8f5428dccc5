/*++

Module Name:

    ExportCells.c

Abstract:

    The columns of the tables in Parquet files, and what the cells of those are
    that have keys.

--*/

#include "../Session/SessionControl.h"
#include "ExportParquet.h"

//
// The columns that all tables begin with.
//

#define READER_PARQUET_FIRST_COLUMNS                                        \
    { "session", ReaderCellText },                                          \
    { "host", ReaderCellText },                                             \
    { "program", ReaderCellText },                                          \
    { "pid", ReaderCellNumberKey },                                         \
    { "begun", ReaderCellTimeKey },                                         \
    { "thread", ReaderCellNumberKey }

const READER_CELL_COLUMN ReaderCallsColumns[] = {
    READER_PARQUET_FIRST_COLUMNS,
    { "function", ReaderCellText },
    { "module", ReaderCellText },
    { "build", ReaderCellText },
    { "ended", ReaderCellText },
    { "start", ReaderCellNumber64 },
    { "duration", ReaderCellNumber64 },
    { "depth", ReaderCellNumber32 }
};

const READER_CELL_COLUMN ReaderFunctionsColumns[] = {
    READER_PARQUET_FIRST_COLUMNS,
    { "function", ReaderCellText },
    { "module", ReaderCellText },
    { "build", ReaderCellText },
    { "thread_name", ReaderCellText },
    { "calls", ReaderCellNumber64 },
    { "total", ReaderCellNumber64 },
    { "self", ReaderCellNumber64 },
    { "sum", ReaderCellNumber64 },
    { "minimum", ReaderCellNumber64 },
    { "maximum", ReaderCellNumber64 },
    { "abandoned", ReaderCellNumber64 },
    { "abandoned_time", ReaderCellNumber64 },
    { "unfinished", ReaderCellNumber64 },
    { "uncertain", ReaderCellNumber64 },
    { "in_trees", ReaderCellNumber64 },
    { "waited", ReaderCellNumber64 },
    { "bucket", ReaderCellList },
    { "bucket_calls", ReaderCellList }
};

const READER_CELL_COLUMN ReaderMarksColumns[] = {
    READER_PARQUET_FIRST_COLUMNS,
    { "name", ReaderCellText },
    { "time", ReaderCellNumber64 }
};

static const PCSZ ReaderEndedNames[] = {
    "returned",
    "abandoned",
    "unfinished"
};


_Use_decl_annotations_
VOID
ExportCellsBeginRatio(
    PREADER_RATIO Ratio,
    PCCORE_CLOCK Clock
    )
{
    ULONGLONG Ticks = Clock->Ticks;
    ULONGLONG Nanoseconds = Clock->Nanoseconds;

    //
    // The remainders below are exact for divisors of less than 63 bits; a clock
    // whose anchors are that far apart there is not.
    //

    while (((Ticks | Nanoseconds) >> 62) != 0) {
        Ticks >>= 1;
        Nanoseconds >>= 1;
    }

    Ratio->Ticks = Ticks;
    Ratio->Nanoseconds = Nanoseconds;
    Ratio->Shift = 0;
    while (Ratio->Shift < 63 && Nanoseconds >= Ticks) {
        Nanoseconds = (Nanoseconds + 1) >> 1;
        Ratio->Shift += 1;
    }

    Ratio->Factor = 0;
    if (Nanoseconds < Ticks) {
        Ratio->Factor = CoreDivide(Ratio->Nanoseconds >> Ratio->Shift,
                                   Ratio->Shift == 0
                                       ? 0
                                       : Ratio->Nanoseconds
                                             << (64 - Ratio->Shift),
                                   Ticks);
    }
}


_Use_decl_annotations_
ULONG
ExportCellsKeyModule(
    PCREADER_FUNCTION Function
    )
{
    return Function->Imported != 0 ? Function->Imported * 2 - 1
                                   : Function->Module * 2;
}


_Use_decl_annotations_
PCREADER_FUNCTION
ExportCellsFindFunction(
    const READER_PARQUET *Parquet,
    ULONG Key
    )
{
    return &Parquet->Export->Functions.Functions[
        Parquet->Tally->List[Key].Function];
}


static
VOID
ExportCellsSetText(
    _Out_ PREADER_CELL Cell,
    _In_z_ PCSZ Text
    )
{
    Cell->Text = Text;
    while (Text[Cell->Length] != 0) {
        Cell->Length += 1;
    }
}


//
// The cells of the columns that all tables have.
//

static
VOID
ExportCellsNameFirst(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONG Column,
    _In_ ULONG Key,
    _Inout_ PREADER_CELL Cell
    )
{
    const READER_SESSION *Session = &Parquet->Export->Session;

    switch (Column) {

    case ReaderCellSession:
        Cell->Text = Parquet->Identities[Key].Name;
        Cell->Length = Parquet->Identities[Key].NameLength;
        break;

    case ReaderCellHost:
        Cell->Text = Parquet->Host;
        Cell->Length = Parquet->HostLength;
        break;

    case ReaderCellProgram:
        Cell->Text = Session->Processes[Key].Name;
        Cell->Length = Session->Processes[Key].NameLength;
        break;

    case ReaderCellProcess:
        Cell->Number = Session->Processes[Key].Header->ProcessId;
        break;

    case ReaderCellBegun:
        Cell->Number = Parquet->Begun;
        break;

    default:
        Cell->Number = Session->Threads[Key].ThreadId;
        break;
    }
}


//
// A build is known by what the linker has put into the image, as symbol servers
// know it.
//

static
VOID
ExportCellsNameBuild(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ ULONG Key,
    _Inout_ PREADER_CELL Cell
    )
{
    const READER_SESSION *Session = &Parquet->Export->Session;
    PCTRACE_STORE_HEADER Header;
    RTL_WRITER Writer;

    if ((Key & 1) == 0) {
        Header = Session->Modules[Key / 2]->Header;
        RtlInitializeBufferWriter(&Writer,
                                  Parquet->Build,
                                  sizeof(Parquet->Build));
        RtlWriteText(&Writer,
                     "%08X%x",
                     Header->ModuleTimeDateStamp,
                     Header->ModuleSize);
        Cell->Text = Parquet->Build;
        Cell->Length = Writer.LengthInBytes;
    }
}


static
VOID
ExportCellsNameModule(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONG Key,
    _Inout_ PREADER_CELL Cell
    )
{
    PREADER_FUNCTIONS Functions = &Parquet->Export->Functions;

    if ((Key & 1) != 0) {
        Cell->Text = Functions->Imported[Key / 2].Name;
        Cell->Length = Functions->Imported[Key / 2].NameLength;
    } else {
        Cell->Text = Functions->Session->Modules[Key / 2]->Name;
        Cell->Length = Functions->Session->Modules[Key / 2]->NameLength;
    }
}


_Use_decl_annotations_
VOID
ExportCellsNameCall(
    PVOID Context,
    ULONG Column,
    ULONG Key,
    PREADER_CELL Cell
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;
    PCREADER_FUNCTION Function;

    switch (Column) {

    case ReaderCallsFunction:
        Function = ExportCellsFindFunction(Parquet, Key);
        Cell->Text = Function->Name;
        Cell->Length = Function->NameLength;
        break;

    case ReaderCallsModule:
        ExportCellsNameModule(Parquet, Key, Cell);
        break;

    case ReaderCallsBuild:
        ExportCellsNameBuild(Parquet, Key, Cell);
        break;

    case ReaderCallsEnded:
        ExportCellsSetText(Cell, ReaderEndedNames[Key]);
        break;

    default:
        ExportCellsNameFirst(Parquet, Column, Key, Cell);
        break;
    }
}


_Use_decl_annotations_
VOID
ExportCellsNameFunction(
    PVOID Context,
    ULONG Column,
    ULONG Key,
    PREADER_CELL Cell
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;

    if (Column == ReaderFunctionsThreadName) {
        SessionQueryThreadName(&Parquet->Export->Session,
                               Key,
                               &Cell->Text,
                               &Cell->Length);
    } else {
        ExportCellsNameCall(Context, Column, Key, Cell);
    }
}


_Use_decl_annotations_
VOID
ExportCellsNameMark(
    PVOID Context,
    ULONG Column,
    ULONG Key,
    PREADER_CELL Cell
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;
    PREADER_SESSION Session = &Parquet->Export->Session;

    //
    // The keys of names and threads are indexes of the session's actions.
    //

    if (Column == ReaderMarksName) {
        Cell->Text = SessionControlNameInstant(Session->Actions[Key].Action,
                                               &Cell->Length);
    } else if (Column == ReaderCellThread) {
        Cell->Number = Session->Actions[Key].Action->ThreadId;
    } else {
        ExportCellsNameFirst(Parquet, Column, Key, Cell);
    }
}

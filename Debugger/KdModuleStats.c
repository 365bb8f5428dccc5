/*++

Module Name:

    KdModuleStats.c

Abstract:

    !modulestats: what the functions of a module came to, in the columns that a
    spreadsheet knows from other tools.

--*/

#include "KdCommands.h"
#include "KdKernel.h"
#include "KdThreads.h"
#include "KdTime.h"
#include "KdTreeStore.h"

typedef struct _KD_ROWS {
    PREADER_STATISTICS Statistics;
    PULONG Order;
    ULONG Count;
} KD_ROWS;
typedef KD_ROWS *PKD_ROWS;

static
LONG
KdModuleStatsCompare(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_STATISTICS Statistics = (PREADER_STATISTICS)Context;

    if (Statistics[First].TotalTicks != Statistics[Second].TotalTicks) {
        return Statistics[First].TotalTicks > Statistics[Second].TotalTicks
                   ? -1
                   : 1;
    }

    return First < Second ? -1 : First > Second;
}

//
// Calls whose time is in the total.
//

static
ULONGLONG
KdModuleStatsTimed(
    _In_ PCREADER_STATISTICS Statistics
    )
{
    return Statistics->Calls - Statistics->Abandoned +
           Statistics->AbandonedInTotal;
}

//
// Writes a function's name as a cell of CSV: in quotes if it has what parts
// cells (templates' names do), or could be taken for a formula.
//

static
VOID
KdModuleStatsWriteCell(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_FUNCTION Function
    )
{
    BOOLEAN IsFormula = FALSE;
    BOOLEAN IsQuoted = FALSE;
    CHAR Character;
    ULONG Index;

    for (Index = 0; Index < Function->NameLength; Index++) {
        Character = Function->Name[Index];
        IsQuoted = IsQuoted || Character == ',' || Character == ';' ||
                   Character == '"';
        if (Index == 0) {
            IsFormula = Character == '=' || Character == '+' ||
                        Character == '-' || Character == '@' ||
                        Character == '\'' || Character == '"';
        }
    }

    if (!IsQuoted && !IsFormula) {
        KdNamesWrite(Context, Function);
        return;
    }

    RtlWriteText(&Context->Writer, IsFormula ? "\"'" : "\"");
    for (Index = 0; Index < Function->NameLength; Index++) {
        RtlWriteBytes(&Context->Writer, &Function->Name[Index], 1);
        if (Function->Name[Index] == '"') {
            RtlWriteBytes(&Context->Writer, &Function->Name[Index], 1);
        }
    }

    RtlWriteText(&Context->Writer, "\"");
}

static
VOID
KdModuleStatsWrite(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_NAMES *Names,
    _In_ PCCORE_CLOCK Clock,
    _In_ PKD_ROWS Rows,
    _In_ BOOLEAN IsTable
    )
{
    PCREADER_STATISTICS Statistics;
    ULONG Index;
    BOOLEAN IsWanted;
    PCSZ Unit = KdTimeUnit(Context, Clock);

    if (IsTable) {
        RtlWriteText(&Context->Writer,
                     "%12s %13s %2s%13s %2s%13s %2s%13s %2s   function",
                     "calls",
                     "total",
                     Unit,
                     "average",
                     Unit,
                     "min",
                     Unit,
                     "max",
                     Unit);
    } else {
        RtlWriteText(&Context->Writer,
                     "Function,CallCount,CallTicks,TicksPerCall");
    }

    IsWanted = KdContextEndLine(Context);
    for (Index = 0; IsWanted && Index < Rows->Count; Index++) {

        Statistics = &Rows->Statistics[Rows->Order[Index]];
        if (!IsTable) {
            KdModuleStatsWriteCell(Context,
                                   &Names->Functions[Rows->Order[Index]]);
            RtlWriteText(&Context->Writer,
                         ",%llu,%llu,%llu",
                         Statistics->Calls,
                         Statistics->TotalTicks,
                         Statistics->Calls != 0
                             ? Statistics->TotalTicks / Statistics->Calls
                             : 0);
            IsWanted = KdContextEndLine(Context);
            continue;
        }

        RtlWriteText(&Context->Writer, "%12llu ", Statistics->Calls);
        KdTimeWrite(Context, Clock, Statistics->TotalTicks, 16);
        KdTimeWrite(Context,
                    Clock,
                    KdModuleStatsTimed(Statistics) != 0
                        ? CoreQueryAverage(Statistics)
                        : 0,
                    16);
        KdTimeWrite(Context, Clock, Statistics->MinimumTicks, 16);
        KdTimeWrite(Context, Clock, Statistics->MaximumTicks, 16);
        RtlWriteText(&Context->Writer, "   ");
        KdNamesWrite(Context, &Names->Functions[Rows->Order[Index]]);
        IsWanted = KdContextEndLine(Context);
    }
}

//
// Chooses the rows of a module and puts them in order.
//

_Must_inspect_result_
static
NTSTATUS
KdModuleStatsChoose(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_NAMES *Names,
    _In_ PCKD_ARGUMENT Module,
    _Inout_ PKD_ROWS Rows
    )
{
    PCKD_FUNCTION Function;
    PKD_MODULE Of;
    ULONG Index;

    Rows->Order = (PULONG)KdContextAllocate(
        Context,
        ((ULONGLONG)Names->NumberOfFunctions + 1) * sizeof(ULONG));
    if (Rows->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Names->NumberOfFunctions; Index++) {

        Function = &Names->Functions[Index];
        Of = Function->Module != KD_NONE ? Names->Modules[Function->Module]
                                         : NULL;
        if (Rows->Statistics[Index].Calls != 0 &&
            ((Module->Length == 1 && Module->Text[0] == '*') ||
             KdNamesIsOfModule(Function, Module->Text, Module->Length) ||
             (Of != NULL &&
              BaseIsTextAlike(Of->Name,
                              Of->NameLength,
                              Module->Text,
                              Module->Length)))) {
            Rows->Order[Rows->Count] = Index;
            Rows->Count += 1;
        }
    }

    if (Rows->Count > 1) {
        BaseSort(Rows->Order,
                 Rows->Count,
                 KdModuleStatsCompare,
                 Rows->Statistics);
    }

    return STATUS_SUCCESS;
}

//
// Makes room for the functions that came since.
//

_Must_inspect_result_
static
NTSTATUS
KdModuleStatsGrow(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_NAMES *Names,
    _Inout_ PKD_ROWS Rows,
    _Inout_ PULONG Room
    )
{
    return BaseGrowArray(&Context->Allocator,
                         (PVOID *)&Rows->Statistics,
                         Room,
                         Names->NumberOfFunctions + 1,
                         sizeof(READER_STATISTICS));
}

_Must_inspect_result_
static
NTSTATUS
KdModuleStatsAddStores(
    _Inout_ PKD_STORES Stores,
    _Inout_ PKD_ROWS Rows
    )
{
    KD_TREE Tree;
    ULONG Room = 0;
    ULONG Store;
    NTSTATUS Status;

    Status = KdModuleStatsGrow(Stores->Context, &Stores->Names, Rows, &Room);
    for (Store = KdStoresNextThread(Stores, KD_NONE);
         Store != KD_NONE && NT_SUCCESS(Status);
         Store = KdStoresNextThread(Stores, Store)) {

        Status = KdTreeInitialize(Stores->Context, &Tree);
        if (NT_SUCCESS(Status)) {
            Status = KdTreeStoreAddThread(&Tree, Stores, Store);
        }

        if (NT_SUCCESS(Status)) {
            Status = KdModuleStatsGrow(Stores->Context,
                                       &Stores->Names,
                                       Rows,
                                       &Room);
        }

        if (NT_SUCCESS(Status)) {
            Status = KdTreeSum(&Tree, &Stores->Names, Rows->Statistics);
        }

        KdTreeRundown(&Tree);
    }

    return Status;
}

static
VOID
KdModuleStatsOfProcess(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENT Module,
    _In_ BOOLEAN IsTable
    )
{
    KD_STORES Stores;
    KD_ROWS Rows;
    ULONG Store;
    NTSTATUS Status;

    RtlZeroBytes(&Rows, sizeof(Rows));
    Status = KdStoresOpen(Context, &Stores);
    if (NT_SUCCESS(Status) &&
        KdStoresNextThread(&Stores, KD_NONE) == KD_NONE) {
        KdStoresWriteNone(&Stores);
        goto End;
    }

    if (NT_SUCCESS(Status)) {
        Status = KdModuleStatsAddStores(&Stores, &Rows);
    }

    if (NT_SUCCESS(Status)) {
        Status = KdModuleStatsChoose(Context, &Stores.Names, Module, &Rows);
    }

    if (NT_SUCCESS(Status)) {
        KdModuleStatsWrite(Context,
                           &Stores.Names,
                           &Stores.Clock,
                           &Rows,
                           IsTable);
        for (Store = KdStoresNextThread(&Stores, KD_NONE);
             Store != KD_NONE && !KdContextIsStopped(Context);
             Store = KdStoresNextThread(&Stores, Store)) {
            KdThreadsWriteMissing(&Stores, Store);
        }
    }

    KdContextWriteStatus(Context, Status);

End:

    KdContextFree(Context, Rows.Statistics);
    KdContextFree(Context, Rows.Order);
    KdStoresRundown(&Stores);
}

//
// Adds one slot of a processor's table.
//

static
VOID
KdModuleStatsAddSlot(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ const TRACE_KERNEL_FUNCTION *Slot
    )
{
    if (Slot->Calls != 0 && Slot->Minimum <= Slot->Maximum) {

        if (Statistics->Calls == 0 ||
            Slot->Minimum < Statistics->MinimumTicks) {
            Statistics->MinimumTicks = Slot->Minimum;
        }

        if (Slot->Maximum > Statistics->MaximumTicks) {
            Statistics->MaximumTicks = Slot->Maximum;
        }
    }

    Statistics->Calls += Slot->Calls;
    Statistics->TotalTicks += Slot->Ticks;
    Statistics->SumLow += Slot->Ticks;
    if (Statistics->SumLow < Slot->Ticks) {
        Statistics->SumHigh += 1;
    }
}

_Must_inspect_result_
static
NTSTATUS
KdModuleStatsAddRings(
    _Inout_ PKD_DRIVER Driver,
    _Inout_ PKD_ROWS Rows
    )
{
    PKD_CONTEXT Context = Driver->Context;
    PTRACE_KERNEL_FUNCTION Functions;
    ULONGLONG Rva;
    ULONG Room = 0;
    ULONG Ring;
    ULONG Slot;
    ULONG Function;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Ring = 0;
         NT_SUCCESS(Status) && Ring < Driver->Header->NumberOfRings;
         Ring++) {

        Status = KdKernelReadFunctions(Driver, Ring, &Functions);
        if (Status == STATUS_PARTIAL_COPY) {
            Status = STATUS_SUCCESS;
            continue;
        }

        for (Slot = 0;
             NT_SUCCESS(Status) && Slot < Driver->Header->FunctionSlots;
             Slot++) {

            if (Functions[Slot].Site == 0) {
                continue;
            }

            Rva = Functions[Slot].Site - Driver->Header->ModuleBase;
            if (Rva >= Driver->Header->ModuleSize) {
                Driver->NumberBad += 1;
                continue;
            }

            Status = KdNamesFindFunction(&Driver->Names,
                                         0,
                                         Functions[Slot].Site,
                                         &Function);
            if (NT_SUCCESS(Status)) {
                Status = KdModuleStatsGrow(Context,
                                           &Driver->Names,
                                           Rows,
                                           &Room);
            }

            if (NT_SUCCESS(Status)) {
                KdModuleStatsAddSlot(&Rows->Statistics[Function],
                                     &Functions[Slot]);
            }
        }

        KdContextFree(Context, Functions);
    }

    return Status;
}

static
VOID
KdModuleStatsOfDriver(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENT Module,
    _In_ BOOLEAN IsTable
    )
{
    static const KD_ARGUMENT All = { "*", 1 };
    KD_DRIVER Driver;
    KD_ROWS Rows;
    ULONGLONG Lost = 0;
    ULONGLONG Untimed = 0;
    ULONG Ring;
    NTSTATUS Status;

    RtlZeroBytes(&Rows, sizeof(Rows));
    if (!KdKernelOpenNamed(Context, Module->Text, Module->Length, &Driver)) {
        goto End;
    }

    Status = KdModuleStatsAddRings(&Driver, &Rows);
    if (NT_SUCCESS(Status)) {
        Status = KdModuleStatsChoose(Context, &Driver.Names, &All, &Rows);
    }

    if (NT_SUCCESS(Status)) {

        KdModuleStatsWrite(Context,
                           &Driver.Names,
                           &Driver.Clock,
                           &Rows,
                           IsTable);
        for (Ring = 0; Ring < Driver.Header->NumberOfRings; Ring++) {
            Lost += Driver.Rings[Ring].StatisticsLost;
            Untimed += Driver.Rings[Ring].OpenLost;
        }

        if (Lost != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu entries and returns found no room in the "
                         "driver's tables of functions",
                         Lost);
            KdContextEndLine(Context);
        }

        if (Untimed != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu calls found no room among the open calls, and "
                         "are not in the sums",
                         Untimed);
            KdContextEndLine(Context);
        }

        if (Driver.UnreadInBytes != 0) {
            RtlWriteText(&Context->Writer,
                         "# the tables of some processors are not in memory "
                         "that can be read (%llu bytes)",
                         Driver.UnreadInBytes);
            KdContextEndLine(Context);
        }

        if (Driver.NumberBad != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu functions are not in the driver, and were "
                         "left out",
                         Driver.NumberBad);
            KdContextEndLine(Context);
        }
    }

    KdContextWriteStatus(Context, Status);

End:

    KdContextFree(Context, Rows.Statistics);
    KdContextFree(Context, Rows.Order);
    KdKernelClose(&Driver);
}

_Use_decl_annotations_
VOID
KdModuleStats(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    KD_ARGUMENTS Parsed;

    if (!KdArgumentsParse(Context,
                          Arguments,
                          KD_OPTION('t') | KD_OPTION('k'),
                          0,
                          1,
                          &Parsed)) {
        return;
    }

    if (Parsed.Count == 0) {
        RtlWriteText(&Context->Writer,
                     "Which module? !modulestats [-t [-k]] MODULE%s",
                     Context->IsKernel ? "" : " (* for all)");
        KdContextEndLine(Context);
        return;
    }

    Context->IsTicks = KD_HAS_OPTION(&Parsed, 'k');
    if (Context->IsKernel) {
        KdModuleStatsOfDriver(Context,
                              &Parsed.Items[0],
                              KD_HAS_OPTION(&Parsed, 't'));
    } else {
        KdModuleStatsOfProcess(Context,
                               &Parsed.Items[0],
                               KD_HAS_OPTION(&Parsed, 't'));
    }
}

/*++

Module Name:

    KdTracer.c

Abstract:

    !tracer: the stores and drivers that are found, their settings, and what was
    lost; !help.

--*/

#include "../Rtl/RtlVersion.h"
#include "KdArguments.h"
#include "KdCommands.h"
#include "KdKernel.h"
#include "KdThreads.h"

static
PCSZ
KdTracerDescribeState(
    _In_ PCTRACE_STORE_HEADER Header
    )
{
    switch (Header->State) {
    case TRACE_STATE_OPEN:
        return (Header->HookFlags & TRACE_HOOK_PAUSED) != 0 ? "paused"
                                                            : "recording";
    case TRACE_STATE_CLOSED:
        return "closed";
    case TRACE_STATE_STOPPED:
        return "stopped";
    default:
        return "?";
    }
}

static
PCSZ
KdTracerDescribeReason(
    _In_ ULONG Reason
    )
{
    static const PCSZ Reasons[] = {
        "",
        "the thread ended",
        "the module was unloaded",
        "the process ended",
        "the file cannot grow",
        "no view of the file",
        "a page cannot be had",
        "the library found itself inconsistent",
        "it has the most bytes that it may have",
        "the disk has too little room",
    };

    return Reason < RTL_NUMBER_OF(Reasons) ? Reasons[Reason] : "?";
}

static
PCSZ
KdTracerDescribeClock(
    _In_ ULONG Clock
    )
{
    return Clock == TRACE_CLOCK_TSC      ? "time stamp counter"
           : Clock == TRACE_CLOCK_THREAD ? "clock thread"
                                         : "none";
}

//
// A line with a number, unless it is 0.
//

static
VOID
KdTracerWriteCount(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Count,
    _In_z_ PCSZ What
    )
{
    if (Count != 0) {
        RtlWriteText(&Context->Writer, "    %llu %s", Count, What);
        KdContextEndLine(Context);
    }
}

static
VOID
KdTracerWriteText(
    _Inout_ PKD_CONTEXT Context,
    _In_z_ PCSZ What,
    _In_reads_bytes_(Room) const CHAR *Text,
    _In_ ULONG Length,
    _In_ ULONG Room
    )
{
    if (Length == 0 || Length > Room) {
        return;
    }

    RtlWriteText(&Context->Writer, "    %-12s", What);
    KdNamesWriteText(Context, Text, Length);
    KdContextEndLine(Context);
}

static
VOID
KdTracerWriteStore(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_STORES *Stores,
    _In_ ULONG Index
    )
{
    PKD_STORE Store = Stores->Stores[Index];
    PCTRACE_STORE_HEADER Header = Store->Header;

    RtlWriteText(&Context->Writer,
                 "Store at %08x`%08x: ",
                 (ULONG)(Store->Address >> 32),
                 (ULONG)Store->Address);
    if (!KD_IS_STORE_GOOD(Store)) {
        RtlWriteText(&Context->Writer,
                     Store->Result.Field[0] == 0
                         ? "its header is not in memory as a whole, or of a "
                           "version that is not known here"
                         : "no good: %s %s (0x%llx)",
                     Store->Result.Field,
                     Store->Result.Problem,
                     Store->Result.Value);
        KdContextEndLine(Context);
        return;
    }

    RtlWriteText(&Context->Writer,
                 "thread %x (%u) of process %x, mode %s, %s",
                 Header->ThreadId,
                 Header->ThreadId,
                 Header->ProcessId,
                 KdStoresDescribeMode(Header),
                 KdTracerDescribeState(Header));
    if (Header->Reason != TRACE_REASON_NONE) {
        RtlWriteText(&Context->Writer,
                     " (%s, 0x%08X)",
                     KdTracerDescribeReason(Header->Reason),
                     Header->Status);
    }

    KdContextEndLine(Context);
    KdTracerWriteText(Context,
                      "module",
                      Header->ModulePath,
                      Header->ModulePathLength,
                      sizeof(Header->ModulePath));
    KdTracerWriteText(Context,
                      "thread",
                      Header->ThreadName,
                      Header->ThreadNameLength,
                      sizeof(Header->ThreadName));
    RtlWriteText(&Context->Writer,
                 "    clock       %s",
                 KdTracerDescribeClock(Header->Clock));
    if (Header->RingSizeInBytes != 0) {
        RtlWriteText(&Context->Writer,
                     ", ring of %llu KiB",
                     Header->RingSizeInBytes >> 10);
    }

    if (Header->MaximumBytes != 0) {
        RtlWriteText(&Context->Writer,
                     ", at most %llu KiB",
                     Header->MaximumBytes >> 10);
    }

    if (Header->MaximumDepth != 0) {
        RtlWriteText(&Context->Writer,
                     ", depth at most %u",
                     Header->MaximumDepth);
    }

    if (Header->MinimumDuration != 0) {
        RtlWriteText(&Context->Writer,
                     ", calls of %llu ticks at least",
                     Header->MinimumDuration);
    }

    KdContextEndLine(Context);
    if (KD_IS_TREE(Store)) {
        RtlWriteText(&Context->Writer,
                     "    has         %llu nodes, all of them mapped",
                     Header->NumberOfNodes);
    } else {
        RtlWriteText(&Context->Writer,
                     "    has         %llu records since it began; %llu of "
                     "them are mapped",
                     Store->End <= Header->HeaderSize
                         ? 0
                         : (Store->End - Header->HeaderSize) /
                               TRACE_RECORD_SIZE,
                     Store->MappedInBytes / TRACE_RECORD_SIZE);
    }

    KdContextEndLine(Context);
    KdTracerWriteCount(Context,
                       Header->NumberOfEventsLost,
                       "hook calls lost since it stopped");
    KdTracerWriteCount(Context,
                       Header->NumberOfEventsReentered,
                       "hook calls from inside the library");
    KdTracerWriteCount(Context,
                       Header->NumberOfCallsTakenBack,
                       "calls were too short, and taken back");
    KdTracerWriteCount(Context,
                       Header->NumberOfEventsTooDeep,
                       "hook calls were too deep");
    KdTracerWriteCount(Context,
                       Header->NumberOfEventsPaused,
                       "hook calls while recording was paused");
    KdTracerWriteCount(Context,
                       Header->NumberOfWaits,
                       "times the thread waited for pages");
}

static
VOID
KdTracerOfProcess(
    _Inout_ PKD_CONTEXT Context
    )
{
    KD_STORES Stores;
    ULONG Index;
    ULONG Process = 0;
    NTSTATUS Status;

    Status = KdStoresOpen(Context, &Stores);
    if (NT_SUCCESS(Status) && Stores.NumberOfStores == 0) {
        KdStoresWriteNone(&Stores);
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Stores.NumberOfStores &&
         !KdContextIsStopped(Context) && !Context->IsCut;
         Index++) {
        KdTracerWriteStore(Context, &Stores, Index);
    }

    if (NT_SUCCESS(Status) && Stores.NumberOfStores != 0) {

        RtlWriteText(&Context->Writer,
                     "# %u stores, %u of them no good",
                     Stores.NumberOfStores,
                     Stores.NumberBad);
        KdContextEndLine(Context);
        if (Context->System != NULL &&
            SUCCEEDED(Context->System->Methods->GetCurrentProcessSystemId(
                Context->System,
                &Process)) &&
            KD_IS_STORE_GOOD(Stores.Stores[0]) &&
            Stores.Stores[0]->Header->ProcessId != Process) {
            RtlWriteText(&Context->Writer,
                         "# the debugger says process %x: this one may only "
                         "read another's stores",
                         Process);
            KdContextEndLine(Context);
        }
    }

    KdContextWriteStatus(Context, Status);
    KdStoresRundown(&Stores);
}

static
VOID
KdTracerWriteDriver(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_DRIVER *Driver
    )
{
    PTRACE_KERNEL_HEADER Header = Driver->Header;
    TRACE_KERNEL_RING Sum;
    ULONGLONG Gone = 0;
    ULONG Ring;

    RtlWriteText(&Context->Writer,
                 "Section at %08x`%08x: ",
                 (ULONG)(Driver->Address >> 32),
                 (ULONG)Driver->Address);
    if (Driver->Problem != NULL) {
        RtlWriteText(&Context->Writer, "%s", Driver->Problem);
        KdContextEndLine(Context);
        return;
    }

    KdNamesWriteText(Context,
                     Driver->Names.Modules[0]->Name,
                     Driver->Names.Modules[0]->NameLength);
    RtlWriteText(&Context->Writer,
                 " at %08x`%08x, %s",
                 (ULONG)(Header->ModuleBase >> 32),
                 (ULONG)Header->ModuleBase,
                 Header->State == TRACE_KERNEL_STATE_RUNNING    ? "recording"
                 : Header->State == TRACE_KERNEL_STATE_PAUSED   ? "paused"
                 : Header->State == TRACE_KERNEL_STATE_UNLOADED ? "unloaded"
                                                                : "?");
    KdContextEndLine(Context);
    KdTracerWriteText(Context,
                      "module",
                      (const CHAR *)Header->ModulePath,
                      Header->ModulePathLength,
                      sizeof(Header->ModulePath));
    RtlWriteText(&Context->Writer,
                 "    has         %u rings of %llu records, %u functions each",
                 Header->NumberOfRings,
                 Header->RecordsPerRing,
                 Header->FunctionSlots);
    KdContextEndLine(Context);
    RtlZeroBytes(&Sum, sizeof(Sum));
    for (Ring = 0; Ring < Header->NumberOfRings; Ring++) {
        Sum.Reserved += Driver->Rings[Ring].Reserved;
        Sum.StatisticsLost += Driver->Rings[Ring].StatisticsLost;
        Sum.OpenLost += Driver->Rings[Ring].OpenLost;
        Sum.Unpaired += Driver->Rings[Ring].Unpaired;
        Sum.Abandoned += Driver->Rings[Ring].Abandoned;
        Sum.Paused += Driver->Rings[Ring].Paused;
        Sum.Collided += Driver->Rings[Ring].Collided;
        if (Driver->Rings[Ring].Reserved > Header->RecordsPerRing) {
            Gone += Driver->Rings[Ring].Reserved - Header->RecordsPerRing;
        }
    }

    KdTracerWriteCount(Context, Sum.Reserved, "records since it began");
    KdTracerWriteCount(Context, Gone, "records overwritten");
    KdTracerWriteCount(Context, Sum.Collided, "records never written");
    KdTracerWriteCount(Context,
                       Sum.StatisticsLost,
                       "entries and returns without room in the functions' "
                       "table");
    KdTracerWriteCount(Context,
                       Sum.OpenLost,
                       "entries without room among the open calls");
    KdTracerWriteCount(Context, Sum.Unpaired, "exits without an entry");
    KdTracerWriteCount(Context,
                       Sum.Abandoned,
                       "open calls whose place another one took");
    KdTracerWriteCount(Context, Sum.Paused, "hook calls while it was paused");
}

static
VOID
KdTracerOfKernel(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENTS Arguments
    )
{
    KD_DRIVER Driver;
    ULONG Index = 0;
    ULONG Count = 0;
    NTSTATUS Status;

    if (Arguments->Count != 0) {
        if (KdKernelOpenNamed(Context,
                              Arguments->Items[0].Text,
                              Arguments->Items[0].Length,
                              &Driver)) {
            KdTracerWriteDriver(Context, &Driver);
        }

        KdKernelClose(&Driver);
        return;
    }

    for (;;) {

        Status = KdKernelNext(Context, &Index, &Driver);
        if (!NT_SUCCESS(Status) || Status == STATUS_NO_MORE_ENTRIES) {
            KdKernelClose(&Driver);
            break;
        }

        Count += 1;
        KdTracerWriteDriver(Context, &Driver);
        KdKernelClose(&Driver);
    }

    if (Status == STATUS_NO_MORE_ENTRIES) {
        RtlWriteText(&Context->Writer,
                     "# %u of %u modules have a section (!tracer MODULE asks "
                     "symbols, too)",
                     Count,
                     Index);
        KdContextEndLine(Context);
    } else {
        KdContextWriteStatus(Context, Status);
    }
}

_Use_decl_annotations_
VOID
KdTracer(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    KD_ARGUMENTS Parsed;

    if (!KdArgumentsParse(Context,
                          Arguments,
                          0,
                          0,
                          Context->IsKernel ? 1 : 0,
                          &Parsed)) {
        return;
    }

    if (Context->IsKernel) {
        KdTracerOfKernel(Context, &Parsed);
    } else {
        KdTracerOfProcess(Context);
    }
}

_Use_decl_annotations_
VOID
KdHelp(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    static const PCSZ Lines[] = {
        "!tracer [MODULE]                       what is traced: stores or "
        "drivers, settings, losses",
        "!modulestats [-t [-k]] MODULE          calls and ticks of a module's "
        "functions, as CSV",
        "                                       (-t: a table with averages, "
        "minima, maxima)",
        "!lastcalls [-k] [THREAD|* [N]]         a thread's last N calls (32), "
        "and those that are open",
        "  in a kernel: -m MODULE               of that driver; -p PROCESSOR: "
        "its last N records",
        "!calltree [-k] [THREAD|*]              a thread's calls as a tree, "
        "with total and own time",
        "!stack_usage MODULE!PATTERN [N]        the N functions with the "
        "largest stack frames",
        "",
        "THREAD is a system ID, hexadecimal as ~ shows it (0n for decimal); "
        "without it the current one.",
        "-k shows times in ticks.  Ctrl+Break ends a command.",
    };
    ULONG Index;

    UNREFERENCED_PARAMETER(Arguments);

    RtlWriteText(&Context->Writer,
                 "TracerKd " TRACER_VERSION
                 ": function calls that Tracer recorded");
    KdContextEndLine(Context);
    for (Index = 0; Index < RTL_NUMBER_OF(Lines); Index++) {
        RtlWriteText(&Context->Writer, "%s", Lines[Index]);
        KdContextEndLine(Context);
    }
}

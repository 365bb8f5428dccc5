/*++

Module Name:

    KdLastCalls.c

Abstract:

    !lastcalls: what a thread called last, and what it had not returned from.

--*/

#include "KdCommands.h"
#include "KdKernelOwner.h"
#include "KdRecords.h"
#include "KdThreads.h"
#include "KdTime.h"

#define KD_CALLS                    32u
#define KD_MAXIMUM_CALLS            100000u

//
// What is read of each store, or ring: enough for the calls that are wanted and
// for the entries of those that are open, as a rule.
//

#define KD_LAST_BYTES               0x01000000ULL
#define KD_LAST_RECORDS             0x00080000u

//
// Open calls that are shown beside the last ones.
//

#define KD_MAXIMUM_OPEN             1024u

//
// How far a line is indented at most.
//

#define KD_MAXIMUM_INDENT           40u

typedef struct _KD_CALL {
    ULONGLONG Number;               // of the entry
    ULONGLONG Start;
    ULONGLONG Ticks;
    ULONG Function;
    ULONG Depth;
    ULONG Track;
    CORE_EVENT_KIND End;            // CoreEventUnmatched: nobody knows how
} KD_CALL;
typedef KD_CALL *PKD_CALL;

typedef struct _KD_CALL_LIST {
    PKD_FEED Feed;
    PKD_CALL Calls;                 // the last ones, by Number % Capacity
    PKD_CALL Open;                  // older ones that are open
    ULONG Capacity;
    ULONG NumberOpen;
    ULONG NumberNotShown;           // open ones beyond KD_MAXIMUM_OPEN
    ULONGLONG Count;                // of entries
} KD_CALL_LIST;
typedef KD_CALL_LIST *PKD_CALL_LIST;

_Must_inspect_result_
static
NTSTATUS
KdLastCallsVisit(
    _Inout_ PVOID VisitContext,
    _In_ const CORE_EVENT *Event
    )
{
    PKD_CALL_LIST List = (PKD_CALL_LIST)VisitContext;
    PCORE_FRAME Frame = Event->Frame;
    PKD_CALL Call;
    ULONGLONG Number;

    if (Event->Kind == CoreEventEnter) {

        Call = &List->Calls[List->Count % List->Capacity];
        Call->Number = List->Count;
        Call->Start = Event->Timestamp;
        Call->Ticks = 0;
        Call->Function = Frame->Function;
        Call->Depth = Event->Depth;
        Call->Track = Event->Track;
        Call->End = CoreEventOpen;
        Frame->Node = (ULONG)List->Count;
        List->Count += 1;
        return STATUS_SUCCESS;
    }

    //
    // A frame keeps the low half of its number.
    //

    Number = List->Count - (ULONG)((ULONG)List->Count - Frame->Node);
    Call = &List->Calls[Number % List->Capacity];
    if (Call->Number != Number || List->Count - Number > List->Capacity) {

        if (Event->Kind != CoreEventOpen || List->Feed->IsAtGap) {
            return STATUS_SUCCESS;
        }

        if (List->NumberOpen == KD_MAXIMUM_OPEN) {
            List->NumberNotShown += 1;
            return STATUS_SUCCESS;
        }

        Call = &List->Open[List->NumberOpen];
        List->NumberOpen += 1;
        Call->Number = Number;
        Call->Start = Frame->EnterTimestamp;
        Call->Function = Frame->Function;
        Call->Depth = Event->Depth;
        Call->Track = Event->Track;
    }

    Call->Ticks = Event->InclusiveTicks;
    Call->End = List->Feed->IsAtGap ? CoreEventUnmatched : Event->Kind;
    return STATUS_SUCCESS;
}

static
BOOLEAN
KdLastCallsWriteOne(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_CALL *Call,
    _In_ const KD_NAMES *Names,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG End
    )
{
    ULONG Indent = Call->Depth < KD_MAXIMUM_INDENT ? Call->Depth
                                                   : KD_MAXIMUM_INDENT;

    KdTimeWrite(Context, Clock, End - Call->Start, 16);
    KdTimeWrite(Context, Clock, Call->Ticks, 16);
    RtlWriteText(&Context->Writer,
                 " %c %5u %*s",
                 Call->End == CoreEventExit        ? ' '
                 : Call->End == CoreEventAbandoned ? '!'
                 : Call->End == CoreEventOpen      ? '>'
                                                   : '?',
                 Call->Depth,
                 (int)Indent * 2,
                 "");
    KdNamesWrite(Context, &Names->Functions[Call->Function]);
    if (Call->Track != 0) {
        RtlWriteText(&Context->Writer,
                     Context->IsKernel ? " (stack %u)" : " (fiber %u)",
                     Call->Track);
    }

    return KdContextEndLine(Context);
}

//
// Walks a feed and writes the last calls.
//

static
NTSTATUS
KdLastCallsWrite(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_FEED Feed,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONG Wanted
    )
{
    KD_CALL_LIST List;
    ULONGLONG Number;
    ULONG Index;
    BOOLEAN IsWanted = TRUE;
    NTSTATUS Status = STATUS_NO_MEMORY;

    RtlZeroBytes(&List, sizeof(List));
    List.Feed = Feed;
    List.Capacity = Wanted;
    List.Calls = (PKD_CALL)KdContextAllocate(
        Context,
        (ULONGLONG)Wanted * sizeof(KD_CALL));
    List.Open = (PKD_CALL)KdContextAllocate(Context,
                                            KD_MAXIMUM_OPEN * sizeof(KD_CALL));
    if (List.Calls == NULL || List.Open == NULL) {
        goto End;
    }

    //
    // No call has a number as large: an empty place is nobody's.
    //

    for (Index = 0; Index < Wanted; Index++) {
        List.Calls[Index].Number = ~0ULL;
    }

    Status = KdFeedWalk(Feed, KdLastCallsVisit, &List);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (List.Count == 0) {
        RtlWriteText(&Context->Writer,
                     "    no entry of a call is among %llu records",
                     Feed->NumberOfRecords);
        KdContextEndLine(Context);
        goto End;
    }

    RtlWriteText(&Context->Writer,
                 "%13s %2s%13s %2s   depth call",
                 "before end",
                 KdTimeUnit(Context, Clock),
                 "took",
                 KdTimeUnit(Context, Clock));
    IsWanted = KdContextEndLine(Context);

    //
    // The innermost open call came last.
    //

    for (Index = List.NumberOpen; IsWanted && Index-- > 0;) {
        IsWanted = KdLastCallsWriteOne(Context,
                                       &List.Open[Index],
                                       Feed->Names,
                                       Clock,
                                       Feed->LastTimestamp);
    }

    if (IsWanted && List.NumberOpen != 0 &&
        List.Count - List.Capacity >
            List.Open[0].Number + 1) {
        RtlWriteText(&Context->Writer, "%36s...", "");
        IsWanted = KdContextEndLine(Context);
    }

    Number = List.Count > List.Capacity ? List.Count - List.Capacity : 0;
    for (; IsWanted && Number < List.Count; Number++) {
        IsWanted = KdLastCallsWriteOne(Context,
                                       &List.Calls[Number % List.Capacity],
                                       Feed->Names,
                                       Clock,
                                       Feed->LastTimestamp);
    }

    RtlWriteText(&Context->Writer,
                 "# %llu calls among %llu records; > has not returned, ! left "
                 "without its exit (exception, longjmp)%s",
                 List.Count,
                 Feed->NumberOfRecords,
                 Feed->NumberOfGaps != 0
                     ? ", ? the records of its end are missing"
                     : "");
    KdContextEndLine(Context);
    if (List.NumberNotShown != 0) {
        RtlWriteText(&Context->Writer,
                     "# %u more open calls are not shown",
                     List.NumberNotShown);
        KdContextEndLine(Context);
    }

End:

    KdContextFree(Context, List.Calls);
    KdContextFree(Context, List.Open);
    return Status;
}

//
// Says what a thread's tree has: no single calls.
//

static
VOID
KdLastCallsWriteTree(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Store
    )
{
    PKD_CONTEXT Context = Stores->Context;

    RtlWriteText(&Context->Writer,
                 "    this thread keeps a tree, without single calls: "
                 "!calltree %x shows it, and which calls are open",
                 Stores->Stores[Store]->Header->ThreadId);
    KdContextEndLine(Context);
}

static
NTSTATUS
KdLastCallsOfThread(
    _Inout_ PKD_STORES Stores,
    _In_ ULONG Store,
    _In_ ULONG Wanted
    )
{
    KD_RECORDS_FEED Feed;
    ULONGLONG Bytes = (ULONGLONG)Wanted * 64 * TRACE_RECORD_SIZE;
    NTSTATUS Status;

    KdThreadsWrite(Stores, Store);
    Status = KdRecordsOpen(Stores,
                           Store,
                           Bytes > KD_LAST_BYTES ? Bytes : KD_LAST_BYTES,
                           FALSE,
                           &Feed);
    if (NT_SUCCESS(Status) && Feed.NumberOfCursors == 0) {
        KdLastCallsWriteTree(Stores, Store);
    } else if (NT_SUCCESS(Status)) {
        Status = KdLastCallsWrite(Stores->Context,
                                  &Feed.Feed,
                                  &Stores->Clock,
                                  Wanted);
        if (NT_SUCCESS(Status)) {
            KdThreadsWriteMissing(Stores, Store);
        }
    }

    KdRecordsClose(&Feed);
    return Status;
}

//
// Records of a processor one by one, with their threads: calls of several
// threads are no nesting.
//

static
VOID
KdLastCallsWriteRing(
    _Inout_ PKD_DRIVER Driver,
    _Inout_ PKD_KERNEL_FEED Feed
    )
{
    PKD_CONTEXT Context = Driver->Context;
    const TRACE_KERNEL_RECORD *Record;
    CORE_CALL Call;
    ULONGLONG End = 0;
    ULONG Index;
    ULONG Function;
    BOOLEAN IsWanted;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Feed->Count != 0) {
        End = Feed->Records[Feed->Order[Feed->Count - 1]].Record.Timestamp;
    }

    RtlWriteText(&Context->Writer,
                 "%13s %2s   thread IRQL what  function",
                 "before end",
                 KdTimeUnit(Context, &Driver->Clock));
    IsWanted = KdContextEndLine(Context);
    for (Index = 0; IsWanted && Index < Feed->Count; Index++) {

        Record = &Feed->Records[Feed->Order[Index]].Record;
        RtlZeroBytes(&Call, sizeof(Call));
        Call.Site = (ULONG)(Record->Site - Driver->Header->ModuleBase);
        Call.Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
        Status = KdNamesDescribe(&Driver->Names, &Call, &Function);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        KdTimeWrite(Context, &Driver->Clock, End - Record->Timestamp, 16);
        RtlWriteText(&Context->Writer,
                     " %8x %4u %s ",
                     TRACE_KERNEL_THREAD(Record->ThreadIrql),
                     TRACE_KERNEL_IRQL(Record->ThreadIrql),
                     Call.Kind == TRACE_KIND_ENTER ||
                             Call.Kind == TRACE_KIND_ENTER_FUNCTION
                         ? "enter"
                         : "leave");
        KdNamesWrite(Context, &Driver->Names.Functions[Function]);
        IsWanted = KdContextEndLine(Context);
    }

    KdContextWriteStatus(Context, Status);
}

//
// A KD_SHOW_OWNER.
//

_Must_inspect_result_
static
NTSTATUS
KdLastCallsOfOwner(
    _Inout_ PKD_KERNEL_OWNERS Owners,
    _In_ ULONG Wanted
    )
{
    return KdLastCallsWrite(Owners->Driver->Context,
                            &Owners->Feed,
                            &Owners->Driver->Clock,
                            Wanted);
}

//
// The last records of a processor, of a thread or of all.
//

static
VOID
KdLastCallsOfProcessor(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENTS Arguments,
    _In_ ULONG Thread,
    _In_ ULONG Wanted
    )
{
    PCKD_ARGUMENT Module = &Arguments->Values['m' - 'a'];
    KD_DRIVER Driver;
    KD_KERNEL_FEED Feed;
    ULONGLONG Ring;
    NTSTATUS Status;

    if (!KdKernelOpenNamed(Context, Module->Text, Module->Length, &Driver)) {
        goto End;
    }

    if (!KdArgumentsReadNumber(&Arguments->Values['p' - 'a'], TRUE, &Ring) ||
        Ring >= Driver.Header->NumberOfRings) {
        RtlWriteText(&Context->Writer,
                     "-p: there are processors 0 to %u",
                     Driver.Header->NumberOfRings - 1);
        KdContextEndLine(Context);
        goto End;
    }

    Status = KdKernelOpenFeed(&Driver, Thread, (ULONG)Ring, Wanted, &Feed);
    if (NT_SUCCESS(Status)) {
        KdLastCallsWriteRing(&Driver, &Feed);
    }

    KdContextWriteStatus(Context, Status);
    KdKernelCloseFeed(&Feed);

End:

    KdKernelClose(&Driver);
}

_Use_decl_annotations_
VOID
KdLastCalls(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    KD_ARGUMENTS Parsed;
    ULONGLONG Wanted = KD_CALLS;
    ULONG Thread;
    ULONG Kernel = Context->IsKernel ? KD_OPTION('m') | KD_OPTION('p') : 0;

    if (!KdArgumentsParse(Context,
                          Arguments,
                          KD_OPTION('k') | Kernel,
                          Kernel,
                          2,
                          &Parsed) ||
        !KdThreadsFind(Context,
                       Parsed.Count != 0 ? &Parsed.Items[0] : NULL,
                       &Thread)) {
        return;
    }

    if (Parsed.Count == 2 &&
        (!KdArgumentsReadNumber(&Parsed.Items[1], TRUE, &Wanted) ||
         Wanted == 0 || Wanted > KD_MAXIMUM_CALLS)) {
        RtlWriteText(&Context->Writer,
                     "%.*T: is no number of calls from 1 to %u",
                     (int)Parsed.Items[1].Length,
                     Parsed.Items[1].Text,
                     KD_MAXIMUM_CALLS);
        KdContextEndLine(Context);
        return;
    }

    Context->IsTicks = KD_HAS_OPTION(&Parsed, 'k');
    if (KD_HAS_OPTION(&Parsed, 'p')) {
        KdLastCallsOfProcessor(Context, &Parsed, Thread, (ULONG)Wanted);
    } else if (Context->IsKernel) {
        KdKernelShow(Context,
                     &Parsed.Values['m' - 'a'],
                     Thread,
                     Parsed.Count != 0 && Thread == KD_NONE,
                     KD_LAST_RECORDS,
                     KdLastCallsOfOwner,
                     (ULONG)Wanted);
    } else {
        KdThreadsShow(Context, Thread, KdLastCallsOfThread, (ULONG)Wanted);
    }
}

/*++

Module Name:

    TraceClock.c

Abstract:

    The clock of TRACER_CLOCK=thread: a thread that does nothing but read the
    time stamp counter and publish it on a cache line of its own, where the
    hooks find it for the price of a load.  It needs a core to itself.  When it
    does not run, the clock stands still: that is detected here when it goes on,
    counted, and written into the stores.

    Between two readings the thread pauses, for as long as makes the hooks
    cheapest: each value that is published takes the line away from the cores
    that read it.

    The thread is one of the library's (TraceThread.c): it does not keep
    the process alive, it is created and ended in the same way, and the worker
    is started with it, so that there is one to watch the program's threads.

--*/

#include "TraceClock.h"
#include "TraceControl.h"
#include "TraceThread.h"
#include "TraceWatch.h"

//
// The time from one value to the next, nanoseconds.  A hook that is the first
// to read a value waits for it: at 180 ns from one to the next that took 4 ns
// of a call, at 400 ns it does not show beside a hook without a clock.
//

#define TRACE_CLOCK_PERIOD      400

//
// The same, in pauses, where the counter's frequency cannot be measured.
//

#define TRACE_CLOCK_PAUSES      16

//
// How many values the clock's resolution is found from.
//

#define TRACE_CLOCK_SAMPLES     4096

//
// How long the counter is measured, as a part of a second.
//

#define TRACE_CLOCK_MEASURES    500             // 2 ms

_Use_decl_annotations_
ULONGLONG
TraceClockMeasure(
    PCRTL Rtl,
    ULONGLONG volatile *Place
    )
{
    RTL_CLOCK_READING First;
    RTL_CLOCK_READING Last;
    ULONGLONG Elapsed;
    ULONG Count;

    //
    // A counter that does not go on is given up.
    //

    RtlReadClocks(Rtl, &First);
    Elapsed = 0;
    for (Count = 0; Count < 1000000; Count += 1) {
        RtlReadClocks(Rtl, &Last);
        Elapsed = Last.Qpc - First.Qpc;
        if (Elapsed >= First.QpcFrequency / TRACE_CLOCK_MEASURES) {
            break;
        }
        if (Place != NULL && *Place < Last.Tsc) {
            RtlStoreRelease64(Place, Last.Tsc);
        }
        YieldProcessor();
    }

    if (Elapsed == 0) {
        return 0;
    }

    return (Last.Tsc - First.Tsc) * First.QpcFrequency / Elapsed;
}

//
// Publishes the time, when it is due.
// Previous: what was published before.
// Period: how many ticks later this is to be; 0 if that is not known.
// Returns what has been published.
//

static
ULONGLONG
TraceClockStep(
    _In_ ULONGLONG volatile *Place,
    _In_ ULONGLONG Previous,
    _In_ ULONGLONG Period
    )
{
    ULONGLONG Now;
    ULONG Pauses;

    //
    // Counters of two processors may differ by a little when the thread is
    // moved.
    //

    Pauses = 0;
    do {
        YieldProcessor();
        Pauses += 1;
        Now = __rdtsc();
        if (Now < Previous) {
            Now = Previous;
            break;
        }
    } while (Period != 0 ? Now - Previous < Period :
                           Pauses < TRACE_CLOCK_PAUSES);

    RtlStoreRelease64(Place, Now);
    return Now;
}

//
// Measures how fine the clock is, while it goes.
// Place: where it is published.
// Previous: what was published last, and receives it.
// Period: the time from one value to the next, ticks, or 0.
// Returns the length in ticks that 99 of 100 steps do not exceed.
//

static
ULONGLONG
TraceClockFindResolution(
    _In_ ULONGLONG volatile *Place,
    _Inout_ PULONGLONG Previous,
    _In_ ULONGLONG Period
    )
{
    ULONG Index;
    ULONG Bucket;
    ULONGLONG Now;
    ULONGLONG Step;
    USHORT Counts[1024];            // of steps of Index * 16 ticks

    RtlZeroBytes(Counts, sizeof(Counts));

    for (Index = 0; Index < TRACE_CLOCK_SAMPLES; Index += 1) {
        Now = TraceClockStep(Place, *Previous, Period);
        Step = (Now - *Previous) / 16;
        *Previous = Now;
        Counts[Step < RTL_NUMBER_OF(Counts) ?
               Step : RTL_NUMBER_OF(Counts) - 1] += 1;
    }

    Index = 0;
    for (Bucket = 0; Bucket < RTL_NUMBER_OF(Counts) - 1; Bucket += 1) {
        Index += Counts[Bucket];
        if (Index >= TRACE_CLOCK_SAMPLES / 100 * 99) {
            break;
        }
    }

    return (Bucket + 1) * 16;
}

//
// The clock thread.
// Returns does not return.
//

static
ULONG
WINAPI
TraceClockMain(
    _In_ PVOID Parameter
    )
{
    PTRACE_SESSION Session;
    PTRACE_WORKER Worker;
    PTRACE_CLOCK Clock;
    ULONGLONG Previous;
    ULONGLONG Freeze;
    ULONGLONG Period;
    ULONGLONG Now;

    Session = (PTRACE_SESSION)Parameter;
    Worker = &Session->ClockWorker;
    Clock = &Session->Clock;

    if (InterlockedExchange(&Worker->Claimed, 1) == 0) {

        TraceWatchMark();

        Period = TraceClockMeasure(&Session->Rtl, Clock->Place) *
                 TRACE_CLOCK_PERIOD / 1000000000;
        Previous = *Clock->Place;
        Clock->Resolution = TraceClockFindResolution(Clock->Place,
                                                     &Previous,
                                                     Period);
        Freeze = Clock->Resolution * TRACE_CLOCK_FREEZE;

        while (!Worker->Stop) {
            Now = TraceClockStep(Clock->Place, Previous, Period);
            if (Now - Previous > Freeze) {
                Clock->NumberOfFreezes += 1;
                if (Clock->MaximumStep < Now - Previous) {
                    Clock->MaximumStep = Now - Previous;
                }
            }
            Previous = Now;
        }
    }

    TraceThreadGone(Session, Worker);
    return 0;
}

//
// Says whether the process has a processor for the worker beside those of the
// clock and of a thread of the program.
// Returns FALSE if it has two or one; TRUE if it has more, or if that is not
// known.
//

static
BOOLEAN
TraceClockLeavesProcessor(
    _In_ PCRTL Rtl
    )
{
    NTSTATUS Status;
    ULONG_PTR Mask;
    RTL_PROCESS_BASIC Basic;

    Status = Rtl->NtQueryInformationProcess((HANDLE)-1,
                                            RTL_PROCESS_BASIC_INFORMATION,
                                            &Basic,
                                            sizeof(Basic),
                                            NULL);
    if (!NT_SUCCESS(Status) || Basic.AffinityMask == 0) {
        return TRUE;
    }

    Mask = Basic.AffinityMask;
    Mask &= Mask - 1;
    Mask &= Mask - 1;
    return Mask != 0;
}

_Use_decl_annotations_
NTSTATUS
TraceClockStart(
    PTRACE_SESSION Session,
    ULONGLONG volatile *Place
    )
{
    NTSTATUS Status;

    if (!Session->WorkerAllowed) {
        return STATUS_NOT_SUPPORTED;
    }

    TraceControlRequestWorker(Session);
    if (Session->Worker.State != TRACE_WORKER_RUNNING) {
        return STATUS_NOT_SUPPORTED;
    }

    *Place = __rdtsc();
    Session->Clock.Place = Place;
    Status = TraceThreadStart(Session,
                              &Session->ClockWorker,
                              (PVOID)TraceClockMain);
    if (!NT_SUCCESS(Status)) {
        Session->Clock.Place = NULL;
        return Status;
    }

    Session->ClockWorker.State = TRACE_WORKER_RUNNING;
    Session->Template->Clock = TRACE_CLOCK_THREAD;
    Session->WorkerPrepares = TraceClockLeavesProcessor(&Session->Rtl);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceClockDescribe(
    PTRACE_SESSION Session,
    PTRACE_STORE_HEADER Header
    )
{
    PTRACE_CLOCK Clock;
    ULONGLONG Freezes;
    ULONGLONG Step;
    ULONGLONG Age;

    Clock = &Session->Clock;
    if (Clock->Place == NULL) {
        return;
    }

    Age = *Clock->Place;
    Age = __rdtsc() - Age;
    Freezes = Clock->NumberOfFreezes;
    Step = Clock->MaximumStep;
    if ((LONGLONG)Age > 0 && Age > Clock->Resolution * TRACE_CLOCK_FREEZE) {
        Freezes += 1;
        if (Step < Age) {
            Step = Age;
        }
    }

    Header->ClockResolution = Clock->Resolution;
    if (Header->NumberOfClockFreezes < Freezes) {
        Header->NumberOfClockFreezes = Freezes;
    }
    if (Header->MaximumClockStep < Step) {
        Header->MaximumClockStep = Step;
    }
}

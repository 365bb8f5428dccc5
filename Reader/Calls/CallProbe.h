/*++

Module Name:

    CallProbe.h

Abstract:

    What the hooks themselves cost, and how it is taken out of the times.
    Docs/Performance.md has the model.

--*/

#ifndef TRACER_CALL_PROBE_H
#define TRACER_CALL_PROBE_H

#include "../Core/CoreFast.h"
#include "../Core/CoreStatistics.h"
#include "../Output/OutputTable.h"
#include "CallStream.h"

//
// A time that is smaller than this part of what was taken out of it says
// nothing.
//

#define READER_PROBE_NOISE 8

//
// What was taken out: columns and cells that follow those of
// READER_STATISTICS_COLUMNS where --subtract-probe is given.
//

#define READER_PROBE_COLUMNS                                                \
    { "Probe total", "probe_total", ReaderColumnTime, 11,                   \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The cost of the hooks that has been subtracted from total_ns." },    \
    { "Probe self", "probe_self", ReaderColumnTime, 10,                     \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The cost of the hooks that has been subtracted from self_ns." }

#define READER_PROBE_HELP                                                   \
    "With --subtract-probe, the cost of the hooks, as measured in the\n"    \
    "stores, is subtracted from all times except those of abandoned calls,\n" \
    "and rows also have, after ran, probe_total_ns and\n"          \
    "probe_self_ns: what was subtracted from total and self.  In text, a\n" \
    "time of less than an eighth of what was subtracted is shown as less\n" \
    "than that.\n"

//
// Takes the costs from the stores' headers.  With --subtract-probe the
// session's streams then say what to subtract.  FALSE: it was given and nothing
// is known; the failure has been written.
//

_Success_(return != FALSE)
BOOLEAN
CallBeginProbe(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );

//
// Takes from a store's header what a pair of hooks costs, in 256ths of a tick:
// between its time stamps (Inner), and in all (Total).  0: not known.
//

VOID
CallQueryProbe(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONG Inner,
    _Out_ PULONG Total
    );

//
// A stream's account of what its open calls contain.  Opening one for a session
// that subtracts nothing gives NULL.
//

_Must_inspect_result_
NTSTATUS
CallOpenProbe(
    _In_ const READER_SESSION *Session,
    _Out_ PREADER_PROBE *Probe
    );

//
// Frees an account.
// Probe: the account, or NULL.
//

VOID
CallCloseProbe(
    _In_ const READER_SESSION *Session,
    _In_opt_ PREADER_PROBE Probe
    );

//
// Forgets what was entered: the calls that are open begin here.
//

VOID
CallResetProbe(
    _Inout_opt_ PREADER_PROBE Probe
    );

//
// Fills in an event's InclusiveProbe and SelfProbe.
//
//     STATUS_NO_MEMORY
//
// Counts a call that is entered, and says of one that ends what it contains.
//

_Must_inspect_result_
NTSTATUS
CallAddToProbe(
    _Inout_ PREADER_PROBE Probe,
    _Inout_ PCORE_EVENT Event
    );

//
// Gives what CoreRunRecords needs of an account, and takes back the sum.
// Module: index: the records'.
// Track: the stack that ran last.
//

VOID
CallBeginProbeRun(
    _In_ PREADER_PROBE Probe,
    _In_ ULONG Module,
    _In_ ULONG Track,
    _Out_ PCORE_PROBE Run
    );

//
// Run: as CoreRunRecords has left it.
//

VOID
CallEndProbeRun(
    _Inout_ PREADER_PROBE Probe,
    _In_ const CORE_PROBE *Run
    );

//
// Takes out of statistics that are complete what they contain; the fields for
// that then are in ticks. Takes the costs out of sums. The least and the
// longest time of a call were freed from theirs when the call was added.
//

VOID
CallSubtractProbe(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_STATISTICS Statistics
    );

//
// In text, one that is lost in the noise of what was taken out is written as
// less than that. A cell of a time that Probe ticks were taken out of.
//

VOID
CallPutSubtracted(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Probe
    );

//
// Writes what was taken out, if anything was. The cells of
// READER_PROBE_COLUMNS, where they are there.
//

VOID
CallPutProbe(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STATISTICS Statistics
    );

//
// Says, in text output, what was taken out, module by module where there are
// several.
//

VOID
CallPutProbeNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );

//
// Writes a cost in nanoseconds with one decimal, or in ticks where the clock's
// rate is not known.
//

VOID
CallWriteProbe(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONG Cost
    );

#endif // TRACER_CALL_PROBE_H

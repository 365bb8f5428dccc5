/*++

Module Name:

    ReaderProbe.h

Abstract:

    What the hooks themselves cost, and how it is taken out of the times.
    Docs/Performance.md has the model.

--*/

#ifndef TRACER_READER_PROBE_H
#define TRACER_READER_PROBE_H

#include "Reader.h"

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
    { "Probe total", "probe_total", ReaderColumnTime, 11 },                 \
    { "Probe self", "probe_self", ReaderColumnTime, 10 }

#define READER_PROBE_NUMBER_OF_COLUMNS 2
#define READER_STATISTICS_ALL_COLUMNS                                       \
    ((1ULL << READER_STATISTICS_NUMBER_OF_COLUMNS) - 1)
#define READER_PROBE_HIDDEN_COLUMNS                                         \
    (3ULL << READER_STATISTICS_NUMBER_OF_COLUMNS)

#define READER_PROBE_HELP                                                   \
    "With --subtract-probe, what the hooks cost as the stores have it is\n" \
    "taken out of all times but the abandoned, and rows also have, after\n" \
    "begun_before, probe_total_ns and probe_self_ns: what was taken out of\n" \
    "total and self.  In text, a time of less than an eighth of what was\n" \
    "taken out is shown as less than that.\n"

//
// Takes the costs from the stores' headers.  With --subtract-probe the
// session's streams then say what to subtract.  FALSE: it was given and nothing
// is known; the failure has been written.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_BEGIN_PROBE)(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );
READER_BEGIN_PROBE ReaderBeginProbe;

//
// Of a pair of hooks in a module, 256ths of a tick: between its time stamps,
// and in all.  0: not known.
//

typedef
VOID
(READER_QUERY_PROBE)(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONG Inner,
    _Out_ PULONG Total
    );
READER_QUERY_PROBE ReaderQueryProbe;

//
// A stream's account of what its open calls contain.  Opening one for a session
// that subtracts nothing gives NULL.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_PROBE)(
    _In_ const READER_SESSION *Session,
    _Out_ PREADER_PROBE *Probe
    );
READER_OPEN_PROBE ReaderOpenProbe;

typedef
VOID
(READER_CLOSE_PROBE)(
    _In_ const READER_SESSION *Session,
    _In_opt_ PREADER_PROBE Probe
    );
READER_CLOSE_PROBE ReaderCloseProbe;

//
// Forgets what was entered: the calls that are open begin here.
//

typedef VOID (READER_RESET_PROBE)(_Inout_opt_ PREADER_PROBE Probe);
READER_RESET_PROBE ReaderResetProbe;

//
// Fills in an event's InclusiveProbe and SelfProbe.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_TO_PROBE)(
    _Inout_ PREADER_PROBE Probe,
    _Inout_ PCORE_EVENT Event
    );
READER_ADD_TO_PROBE ReaderAddToProbe;

//
// Takes out of statistics that are complete what they contain; the fields for
// that then are in ticks.
//

typedef
VOID
(READER_SUBTRACT_PROBE)(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_STATISTICS Statistics
    );
READER_SUBTRACT_PROBE ReaderSubtractProbe;

//
// A cell of a time that Probe ticks were taken out of.
//

typedef
VOID
(READER_PUT_SUBTRACTED)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Probe
    );
READER_PUT_SUBTRACTED ReaderPutSubtracted;

//
// The cells of READER_PROBE_COLUMNS, where they are there.
//

typedef
VOID
(READER_PUT_PROBE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STATISTICS Statistics
    );
READER_PUT_PROBE ReaderPutProbe;

//
// Says, in text output, what was taken out.
//

typedef
VOID
(READER_PUT_PROBE_NOTE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );
READER_PUT_PROBE_NOTE ReaderPutProbeNote;

//
// Writes a cost in nanoseconds with one decimal, or in ticks where the clock's
// rate is not known.
//

typedef
VOID
(READER_WRITE_PROBE)(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONG Cost
    );
READER_WRITE_PROBE ReaderWriteProbe;

#endif // TRACER_READER_PROBE_H

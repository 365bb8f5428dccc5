/*++

Module Name:

    CoreClock.h

Abstract:

    The clock of a session: time stamps as times.

--*/

#ifndef TRACER_CORE_CLOCK_H
#define TRACER_CORE_CLOCK_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

typedef struct _CORE_CLOCK {
    TRACE_CLOCK_ANCHOR Earliest;
    TRACE_CLOCK_ANCHOR Latest;
    ULONGLONG QpcFrequency;         // counts per second
    ULONGLONG Ticks;                // between the two; 0: rate not known
    ULONGLONG Nanoseconds;          // between the two
    ULONGLONG Resolution;           // ticks; 0 or 1: that of the counter
    ULONG NumberOfAnchors;
    ULONG Kind;                     // TRACE_CLOCK_*: what time stamps are
    BOOLEAN IsRaw;                  // the reader's: times are shown as whole
                                    // nanoseconds
} CORE_CLOCK;
typedef CORE_CLOCK *PCORE_CLOCK;
typedef const CORE_CLOCK *PCCORE_CLOCK;

#define CORE_NANOSECONDS_PER_SECOND 1000000000ULL

//
// Makes a clock without anchors: its rate is not known.
//

VOID
CoreInitializeClock(
    _Out_ PCORE_CLOCK Clock
    );

//
// Decides whether an anchor is there and whole.
//

BOOLEAN
CoreIsAnchorValid(
    _In_ PCTRACE_CLOCK_ANCHOR Anchor
    );

//
// Adds an anchor to the pool; the two farthest apart give the rate.  FALSE if
// it is not valid or belongs to another counter.
// QpcFrequency: of the machine that took it, in counts per second.
// Returns TRUE if the anchor was good.
//

BOOLEAN
CoreAddAnchor(
    _Inout_ PCORE_CLOCK Clock,
    _In_ PCTRACE_CLOCK_ANCHOR Anchor,
    _In_ ULONGLONG QpcFrequency
    );

//
// Decides whether a reading taken now may be pooled with a store's anchors.
// Can Later have been read after the clock's latest anchor on the same boot of
// the same machine? QPC and system time must have advanced alike.
//
// QpcFrequency: of the machine that took it, in counts per second.
//

BOOLEAN
CoreIsSameBoot(
    _In_ PCCORE_CLOCK Clock,
    _In_ PCTRACE_CLOCK_ANCHOR Later,
    _In_ ULONGLONG QpcFrequency
    );

//
// Ticks in nanoseconds, rounded down; FALSE (and the ticks themselves) when
// the rate is not known.  A result too large is the largest there is.
//

BOOLEAN
CoreTicksToNanoseconds(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _Out_ PULONGLONG Nanoseconds
    );

//
// Tells how fine times may be shown. The step of the times that are shown: the
// smallest power of ten of nanoseconds, or of ticks where the rate is not
// known, that is no finer than the clock's resolution.
//

ULONGLONG
CoreQueryGranularity(
    _In_ PCCORE_CLOCK Clock
    );

//
// Tells the rate of the time stamp counter: ticks per second; 0 when it is not
// known.
//

ULONGLONG
CoreQueryTickRate(
    _In_ PCCORE_CLOCK Clock
    );

//
// Converts a time stamp to a system time (FILETIME); 0 when the rate is not
// known.
//

ULONGLONG
CoreTimestampToSystemTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Timestamp
    );

//
// Multiplies two 64-bit numbers.
// High, Low: the halves of the product.
//

VOID
CoreMultiply(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second,
    _Out_ PULONGLONG High,
    _Out_ PULONGLONG Low
    );

//
// Divides a 128-bit number by a 64-bit one, a bit at a time.
// High, Low: the dividend's halves.
// Divisor: not zero.
// Returns the quotient, rounded down; the largest number if it does not fit.
//

ULONGLONG
CoreDivide(
    _In_ ULONGLONG High,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG Divisor
    );

//
// Computes Value * Multiplier / Divisor without overflow in between.
// Value, Multiplier: the factors.
// Divisor: not zero.
// Returns the quotient, rounded down; the largest number if it does not fit.
//

ULONGLONG
CoreMultiplyDivide(
    _In_ ULONGLONG Value,
    _In_ ULONGLONG Multiplier,
    _In_ ULONGLONG Divisor
    );

#endif // TRACER_CORE_CLOCK_H

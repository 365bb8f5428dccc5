/*++

Module Name:

    CoreClock.c

Abstract:

    The rate of the time stamp counter, from anchors, and conversion of ticks,
    in integers.

--*/

#include "CoreClock.h"

#define CORE_SYSTEM_TIME_PER_SECOND 10000000ULL
#define CORE_MAXIMUM_ULONGLONG 0xFFFFFFFFFFFFFFFFULL

//
// How far QPC and system time may drift apart on one boot: two seconds (a
// clock that was set) and a thousandth (one that is being slewed).
//

#define CORE_BOOT_TOLERANCE (2 * CORE_SYSTEM_TIME_PER_SECOND)
#define CORE_BOOT_TOLERANCE_DIVISOR 1000

//
// A counter slower or faster than this is none.
//

#define CORE_MINIMUM_TICK_RATE 1000000ULL
#define CORE_MAXIMUM_TICK_RATE 100000000000ULL

//
// Times are shown to a second at least.
//

#define CORE_COARSEST 1000000000ULL


_Use_decl_annotations_
VOID
CoreMultiply(
    ULONGLONG First,
    ULONGLONG Second,
    PULONGLONG High,
    PULONGLONG Low
    )
{
    ULONGLONG FirstLow = First & 0xFFFFFFFF;
    ULONGLONG FirstHigh = First >> 32;
    ULONGLONG SecondLow = Second & 0xFFFFFFFF;
    ULONGLONG SecondHigh = Second >> 32;
    ULONGLONG Lowest = FirstLow * SecondLow;
    ULONGLONG Middle = FirstHigh * SecondLow + (Lowest >> 32);
    ULONGLONG Other = FirstLow * SecondHigh + (Middle & 0xFFFFFFFF);

    *Low = (Other << 32) | (Lowest & 0xFFFFFFFF);
    *High = FirstHigh * SecondHigh + (Middle >> 32) + (Other >> 32);
}


_Use_decl_annotations_
ULONGLONG
CoreDivide(
    ULONGLONG High,
    ULONGLONG Low,
    ULONGLONG Divisor
    )
{
    ULONGLONG Remainder;
    ULONGLONG Quotient;
    ULONG Bit;

    if (High == 0) {
        return Low / Divisor;
    }

    if (High >= Divisor) {
        return CORE_MAXIMUM_ULONGLONG;
    }

    //
    // The remainder is always less than the divisor, so twice the remainder
    // overflows by at most the one bit that Carry keeps.
    //

    Remainder = High;
    Quotient = 0;
    for (Bit = 0; Bit < 64; Bit++) {

        ULONGLONG Carry = Remainder >> 63;

        Remainder = (Remainder << 1) | (Low >> 63);
        Low <<= 1;
        Quotient <<= 1;
        if (Carry != 0 || Remainder >= Divisor) {
            Remainder -= Divisor;
            Quotient |= 1;
        }
    }

    return Quotient;
}


_Use_decl_annotations_
ULONGLONG
CoreMultiplyDivide(
    ULONGLONG Value,
    ULONGLONG Multiplier,
    ULONGLONG Divisor
    )
{
    ULONGLONG High;
    ULONGLONG Low;

    CoreMultiply(Value, Multiplier, &High, &Low);
    return CoreDivide(High, Low, Divisor);
}


_Use_decl_annotations_
VOID
CoreInitializeClock(
    PCORE_CLOCK Clock
    )
{
    TRACE_CLOCK_ANCHOR None = { 0, 0, 0, 0 };

    Clock->Earliest = None;
    Clock->Latest = None;
    Clock->QpcFrequency = 0;
    Clock->Ticks = 0;
    Clock->Nanoseconds = 0;
    Clock->Resolution = 0;
    Clock->NumberOfAnchors = 0;
    Clock->Kind = TRACE_CLOCK_TSC;
    Clock->IsRaw = FALSE;
}


_Use_decl_annotations_
BOOLEAN
CoreIsAnchorValid(
    PCTRACE_CLOCK_ANCHOR Anchor
    )
{
    return Anchor->Tsc != 0 &&
           (Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime) == Anchor->Check;
}


_Use_decl_annotations_
BOOLEAN
CoreAddAnchor(
    PCORE_CLOCK Clock,
    PCTRACE_CLOCK_ANCHOR Anchor,
    ULONGLONG QpcFrequency
    )
{
    ULONGLONG Ticks;
    ULONGLONG Nanoseconds;
    ULONGLONG Rate;

    if (!CoreIsAnchorValid(Anchor) || QpcFrequency == 0) {
        return FALSE;
    }

    if (Clock->NumberOfAnchors == 0) {
        Clock->Earliest = *Anchor;
        Clock->Latest = *Anchor;
        Clock->QpcFrequency = QpcFrequency;
        Clock->NumberOfAnchors = 1;
        return TRUE;
    }

    if (QpcFrequency != Clock->QpcFrequency) {
        return FALSE;
    }

    if (Anchor->Tsc < Clock->Earliest.Tsc) {
        Clock->Earliest = *Anchor;
    }

    if (Anchor->Tsc > Clock->Latest.Tsc) {
        Clock->Latest = *Anchor;
    }

    Clock->NumberOfAnchors += 1;
    Clock->Ticks = 0;
    Clock->Nanoseconds = 0;
    if (Clock->Latest.Tsc == Clock->Earliest.Tsc ||
        Clock->Latest.Qpc <= Clock->Earliest.Qpc) {
        return TRUE;
    }

    Ticks = Clock->Latest.Tsc - Clock->Earliest.Tsc;
    Nanoseconds = CoreMultiplyDivide(Clock->Latest.Qpc - Clock->Earliest.Qpc,
                                     CORE_NANOSECONDS_PER_SECOND,
                                     QpcFrequency);
    if (Nanoseconds == 0) {
        return TRUE;
    }

    Rate = CoreMultiplyDivide(Ticks, CORE_NANOSECONDS_PER_SECOND, Nanoseconds);
    if (Rate < CORE_MINIMUM_TICK_RATE || Rate > CORE_MAXIMUM_TICK_RATE) {
        return TRUE;
    }

    Clock->Ticks = Ticks;
    Clock->Nanoseconds = Nanoseconds;
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
CoreIsSameBoot(
    PCCORE_CLOCK Clock,
    PCTRACE_CLOCK_ANCHOR Later,
    ULONGLONG QpcFrequency
    )
{
    PCTRACE_CLOCK_ANCHOR Anchor = &Clock->Latest;
    ULONGLONG Counted;
    ULONGLONG Passed;
    ULONGLONG Difference;

    if (Clock->NumberOfAnchors == 0 ||
        QpcFrequency != Clock->QpcFrequency ||
        Later->Tsc <= Anchor->Tsc ||
        Later->Qpc <= Anchor->Qpc ||
        Later->SystemTime < Anchor->SystemTime) {
        return FALSE;
    }

    Counted = CoreMultiplyDivide(Later->Qpc - Anchor->Qpc,
                                 CORE_SYSTEM_TIME_PER_SECOND,
                                 QpcFrequency);
    Passed = Later->SystemTime - Anchor->SystemTime;
    Difference = Counted > Passed ? Counted - Passed : Passed - Counted;

    return Difference <= CORE_BOOT_TOLERANCE +
                             Passed / CORE_BOOT_TOLERANCE_DIVISOR;
}


_Use_decl_annotations_
BOOLEAN
CoreTicksToNanoseconds(
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks,
    PULONGLONG Nanoseconds
    )
{
    if (Clock->Ticks == 0) {
        *Nanoseconds = Ticks;
        return FALSE;
    }

    *Nanoseconds = CoreMultiplyDivide(Ticks, Clock->Nanoseconds, Clock->Ticks);
    return TRUE;
}


_Use_decl_annotations_
ULONGLONG
CoreQueryGranularity(
    PCCORE_CLOCK Clock
    )
{
    ULONGLONG Granularity = 1;
    ULONGLONG Ticks;

    if (Clock->Kind != TRACE_CLOCK_THREAD || Clock->Resolution <= 1) {
        return 1;
    }

    while (Granularity < CORE_COARSEST) {

        Ticks = Granularity;
        if (Clock->Ticks != 0) {
            Ticks = CoreMultiplyDivide(Granularity,
                                       Clock->Ticks,
                                       Clock->Nanoseconds);
        }

        if (Ticks >= Clock->Resolution) {
            break;
        }

        Granularity *= 10;
    }

    return Granularity;
}


_Use_decl_annotations_
ULONGLONG
CoreQueryTickRate(
    PCCORE_CLOCK Clock
    )
{
    if (Clock->Ticks == 0) {
        return 0;
    }

    return CoreMultiplyDivide(Clock->Ticks,
                              CORE_NANOSECONDS_PER_SECOND,
                              Clock->Nanoseconds);
}


_Use_decl_annotations_
ULONGLONG
CoreTimestampToSystemTime(
    PCCORE_CLOCK Clock,
    ULONGLONG Timestamp
    )
{
    ULONGLONG Nanoseconds;

    if (Clock->Ticks == 0) {
        return 0;
    }

    if (Timestamp >= Clock->Earliest.Tsc) {
        CoreTicksToNanoseconds(Clock,
                               Timestamp - Clock->Earliest.Tsc,
                               &Nanoseconds);
        return Clock->Earliest.SystemTime + Nanoseconds / 100;
    }

    CoreTicksToNanoseconds(Clock,
                           Clock->Earliest.Tsc - Timestamp,
                           &Nanoseconds);
    return Clock->Earliest.SystemTime - Nanoseconds / 100;
}

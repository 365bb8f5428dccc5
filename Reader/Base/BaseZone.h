/*++

Module Name:

    BaseZone.h

Abstract:

    Dates and times of day as people write them, and what local time is.

--*/

#ifndef TRACER_BASE_ZONE_H
#define TRACER_BASE_ZONE_H

#include "../../Rtl/Rtl.h"

//
// Times here are nanoseconds since 1601; an ULONGLONG holds them until 2184.
//

#define READER_SECOND   1000000000ULL
#define READER_DAY      (86400 * READER_SECOND)

//
// Parses [YYYY-MM-DDT]HH:MM[:SS[.FRACTION]][Z]; T may be a blank.
// FALSE: it is no such text.
// Nanoseconds: the time; without a date, since midnight.
//

_Success_(return != FALSE)
BOOLEAN
BaseParseClock(
    _In_z_ PCWSTR Text,
    _Out_ PULONGLONG Nanoseconds,
    _Out_ PBOOLEAN HasDate,
    _Out_ PBOOLEAN IsUtc
    );

//
// Finds how many seconds local time is ahead of UTC at a time, which says
// whether it is summer; 0 if the system does not tell.
// SystemTime: a FILETIME.
//

LONG
BaseQueryZone(
    _In_ PCRTL Rtl,
    _In_ ULONGLONG SystemTime
    );

//
// Writes a zone: "UTC", "+01:00".
// Seconds: ahead of UTC.
//

VOID
BaseWriteZone(
    _Inout_ PRTL_WRITER Writer,
    _In_ BOOLEAN IsUtc,
    _In_ LONG Seconds
    );

//
// Writes "2026-11-26", and "14:03:22.123456789".
//

VOID
BaseWriteDay(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Nanoseconds
    );

VOID
BaseWriteClock(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Nanoseconds
    );

#endif // TRACER_BASE_ZONE_H

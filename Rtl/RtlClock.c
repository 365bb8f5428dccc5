/*++

Module Name:

    RtlClock.c

Abstract:

    Reads the three clocks together, and turns system time into a calendar.

--*/

#include "Rtl.h"

#define RTLP_CLOCK_TRIES 3

//
// System time counts 100 ns units.
//

#define RTLP_UNITS_PER_MILLISECOND  10000ULL
#define RTLP_MILLISECONDS_PER_DAY   86400000ULL

//
// The Gregorian calendar repeats after 400 years.  System time begins in the
// year after a year divisible by 400, so that in every period of 400, 100 and
// 4 years the year that may be a leap year is the last one.
//

#define RTLP_DAYS_PER_400_YEARS     146097
#define RTLP_DAYS_PER_100_YEARS     36524
#define RTLP_DAYS_PER_4_YEARS       1461
#define RTLP_DAYS_PER_YEAR          365

_Use_decl_annotations_
VOID
RtlReadClocks(
    PCRTL Rtl,
    PRTL_CLOCK_READING Reading
    )
/*++

Routine Description:

    Reads the time stamp counter, the performance counter and the system time
    as close together as it can.

Arguments:

    Rtl - Supplies the RTL.

    Reading - Receives the clocks; all zero if they cannot be read.

Return Value:

    None.

--*/
{
    LARGE_INTEGER Counter;
    LARGE_INTEGER Frequency;
    LARGE_INTEGER SystemTime;
    ULONGLONG Before;
    ULONGLONG Middle;
    ULONGLONG After;
    ULONGLONG Distance;
    ULONGLONG BestDistance = UINT64_MAX;
    NTSTATUS Status;
    ULONG Try;

    Counter.QuadPart = 0;
    Frequency.QuadPart = 0;
    SystemTime.QuadPart = 0;

    RtlZeroBytes(Reading, sizeof(*Reading));

    //
    // The frequency is asked for beforehand: this also brings the routine into
    // the caches.  A try in which a clock cannot be read does not count.  Of
    // the others that counts between whose first and last reading the thread
    // had to wait least.
    //

    Rtl->NtQueryPerformanceCounter(&Counter, &Frequency);

    for (Try = 0; Try < RTLP_CLOCK_TRIES; Try++) {

        Before = __rdtsc();
        Status = Rtl->NtQueryPerformanceCounter(&Counter, &Frequency);
        Middle = __rdtsc();
        if (!NT_SUCCESS(Status) ||
            !NT_SUCCESS(Rtl->NtQuerySystemTime(&SystemTime))) {
            continue;
        }

        After = __rdtsc();
        Distance = After - Before;
        if (Distance < BestDistance) {
            BestDistance = Distance;
            Reading->Tsc = Before + (Middle - Before) / 2;
            Reading->Qpc = (ULONGLONG)Counter.QuadPart;
            Reading->SystemTime = (ULONGLONG)SystemTime.QuadPart;
        }
    }

    Reading->QpcFrequency = (ULONGLONG)Frequency.QuadPart;
}

_Use_decl_annotations_
VOID
RtlSystemTimeToCalendar(
    ULONGLONG SystemTime,
    PRTL_CALENDAR_TIME Calendar
    )
/*++

Routine Description:

    Splits a system time into the fields of the Gregorian calendar, in UTC.

Arguments:

    SystemTime - Supplies the time, in 100 ns units since 1601-01-01.

    Calendar - Receives the fields.  Fractions of a millisecond are cut off.

Return Value:

    None.

--*/
{
    static const BYTE DaysOfMonths[12] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
    };

    ULONGLONG Milliseconds = SystemTime / RTLP_UNITS_PER_MILLISECOND;
    ULONG Days = (ULONG)(Milliseconds / RTLP_MILLISECONDS_PER_DAY);
    ULONG Rest = (ULONG)(Milliseconds % RTLP_MILLISECONDS_PER_DAY);
    ULONG Year;
    ULONG Periods;
    ULONG Month;
    ULONG DaysOfMonth;
    BOOLEAN IsLeap;

    Calendar->Milliseconds = (USHORT)(Rest % 1000);
    Rest /= 1000;
    Calendar->Second = (USHORT)(Rest % 60);
    Rest /= 60;
    Calendar->Minute = (USHORT)(Rest % 60);
    Calendar->Hour = (USHORT)(Rest / 60);

    Year = 1601 + 400 * (Days / RTLP_DAYS_PER_400_YEARS);
    Days %= RTLP_DAYS_PER_400_YEARS;

    //
    // The last day of 400 years, and of 4 years, would otherwise count as the
    // first of a period more.
    //

    Periods = Days / RTLP_DAYS_PER_100_YEARS;
    if (Periods == 4) {
        Periods = 3;
    }
    Year += 100 * Periods;
    Days -= RTLP_DAYS_PER_100_YEARS * Periods;

    Year += 4 * (Days / RTLP_DAYS_PER_4_YEARS);
    Days %= RTLP_DAYS_PER_4_YEARS;

    Periods = Days / RTLP_DAYS_PER_YEAR;
    if (Periods == 4) {
        Periods = 3;
    }
    Year += Periods;
    Days -= RTLP_DAYS_PER_YEAR * Periods;

    IsLeap = (Year % 4 == 0 && (Year % 100 != 0 || Year % 400 == 0));

    for (Month = 0; Month < 11; Month++) {

        DaysOfMonth = DaysOfMonths[Month];
        if (Month == 1 && IsLeap) {
            DaysOfMonth++;
        }

        if (Days < DaysOfMonth) {
            break;
        }

        Days -= DaysOfMonth;
    }

    Calendar->Year = (USHORT)Year;
    Calendar->Month = (USHORT)(Month + 1);
    Calendar->Day = (USHORT)(Days + 1);
}

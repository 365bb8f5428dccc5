/*++

Module Name:

    BaseZone.c

Abstract:

    Dates and times of day as people write them, and what local time is.

--*/

#include "BaseZone.h"

//
// kernel32's SYSTEMTIME, and what makes a local one of it.
//

typedef struct _READER_SYSTEM_TIME {
    USHORT Year, Month, DayOfWeek, Day;
    USHORT Hour, Minute, Second, Milliseconds;
} READER_SYSTEM_TIME;
typedef READER_SYSTEM_TIME *PREADER_SYSTEM_TIME;

typedef
LONG
(WINAPI READER_TO_LOCAL_TIME)(
    _In_opt_ const VOID *Zone,
    _In_ const READER_SYSTEM_TIME *Time,
    _Out_ PREADER_SYSTEM_TIME LocalTime
    );
typedef READER_TO_LOCAL_TIME *PREADER_TO_LOCAL_TIME;


//
// Takes a number of so many digits; FALSE: there is none.
//

_Success_(return != FALSE)
static
BOOLEAN
BaseTakeDigits(
    _Inout_ PCWSTR *Text,
    _In_ ULONG Digits,
    _In_ ULONG Maximum,
    _Out_ PULONG Number
    )
{
    *Number = 0;
    for (; Digits != 0; Digits -= 1) {
        if (**Text < L'0' || **Text > L'9') {
            return FALSE;
        }

        *Number = *Number * 10 + (ULONG)(**Text - L'0');
        *Text += 1;
    }

    return *Number <= Maximum;
}


//
// Takes a date and what stands behind it.
// Days: since 1601.
//

_Success_(return != FALSE)
static
BOOLEAN
BaseTakeDay(
    _Inout_ PCWSTR *Text,
    _Out_ PULONGLONG Days
    )
{
    static const USHORT Before[] = { 0,   31,  59,  90,  120, 151,
                                     181, 212, 243, 273, 304, 334 };
    static const UCHAR Lengths[] = { 31, 28, 31, 30, 31, 30,
                                     31, 31, 30, 31, 30, 31 };
    ULONG Year;
    ULONG Month;
    ULONG Day;
    ULONG Past;
    BOOLEAN IsLeap;

    if (!BaseTakeDigits(Text, 4, 2183, &Year) || Year < 1601 ||
        *(*Text)++ != L'-' ||
        !BaseTakeDigits(Text, 2, 12, &Month) || Month == 0 ||
        *(*Text)++ != L'-' ||
        !BaseTakeDigits(Text, 2, 31, &Day) || Day == 0 ||
        (**Text != L'T' && **Text != L't' && **Text != L' ')) {
        return FALSE;
    }

    *Text += 1;
    IsLeap = Year % 4 == 0 && (Year % 100 != 0 || Year % 400 == 0);
    if (Day > Lengths[Month - 1] + (ULONG)(IsLeap && Month == 2)) {
        return FALSE;
    }

    Past = Year - 1601;
    *Days = (ULONGLONG)Past * 365 + Past / 4 - Past / 100 + Past / 400 +
            Before[Month - 1] + (ULONG)(IsLeap && Month > 2) + Day - 1;
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
BaseParseClock(
    PCWSTR Text,
    PULONGLONG Nanoseconds,
    PBOOLEAN HasDate,
    PBOOLEAN IsUtc
    )
{
    ULONGLONG Days = 0;
    ULONG Hour;
    ULONG Minute;
    ULONG Second = 0;
    ULONG Fraction = 0;
    ULONG Unit = (ULONG)READER_SECOND;
    ULONG Length = 0;

    while (Text[Length] >= L'0' && Text[Length] <= L'9') {
        Length += 1;
    }

    *HasDate = Text[Length] == L'-';
    if ((*HasDate && !BaseTakeDay(&Text, &Days)) ||
        !BaseTakeDigits(&Text, 2, 23, &Hour) ||
        *Text++ != L':' ||
        !BaseTakeDigits(&Text, 2, 59, &Minute)) {
        return FALSE;
    }

    if (*Text == L':') {
        Text += 1;
        if (!BaseTakeDigits(&Text, 2, 59, &Second)) {
            return FALSE;
        }

        if (*Text == L'.') {
            Text += 1;
            do {
                Unit /= 10;
                if (Unit == 0 || *Text < L'0' || *Text > L'9') {
                    return FALSE;
                }

                Fraction += (ULONG)(*Text - L'0') * Unit;
                Text += 1;
            } while (*Text >= L'0' && *Text <= L'9');
        }
    }

    *IsUtc = *Text == L'Z' || *Text == L'z';
    Text += *IsUtc;
    *Nanoseconds = Days * READER_DAY +
                   ((Hour * 60ULL + Minute) * 60 + Second) * READER_SECOND +
                   Fraction;
    return *Text == 0;
}


_Use_decl_annotations_
LONG
BaseQueryZone(
    PCRTL Rtl,
    ULONGLONG SystemTime
    )
{
    static const PCSZ Name = "SystemTimeToTzSpecificLocalTime";
    READER_SYSTEM_TIME Local;
    READER_SYSTEM_TIME Time;
    RTL_CALENDAR_TIME Calendar;
    PVOID Routine = NULL;
    HMODULE Module;
    LONG Days;

    Module = Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    if (Module == NULL ||
        RtlLoadSymbols(Module, &Name, &Routine, 1, NULL) != 0) {
        return 0;
    }

    RtlSystemTimeToCalendar(SystemTime, &Calendar);
    Time.Year = Calendar.Year;
    Time.Month = Calendar.Month;
    Time.DayOfWeek = 0;
    Time.Day = Calendar.Day;
    Time.Hour = Calendar.Hour;
    Time.Minute = Calendar.Minute;
    Time.Second = 0;
    Time.Milliseconds = 0;
    if (!((PREADER_TO_LOCAL_TIME)Routine)(NULL, &Time, &Local)) {
        return 0;
    }

    //
    // It is the same day, the next one or the one before.
    //

    Days = 0;
    if (Local.Day != Time.Day) {
        Days = (Local.Year << 9 | Local.Month << 5 | Local.Day) >
                       (Time.Year << 9 | Time.Month << 5 | Time.Day)
                   ? 1
                   : -1;
    }

    return ((Days * 24 + Local.Hour - Time.Hour) * 60 + Local.Minute -
            Time.Minute) * 60;
}


_Use_decl_annotations_
VOID
BaseWriteZone(
    PRTL_WRITER Writer,
    BOOLEAN IsUtc,
    LONG Seconds
    )
{
    ULONG Minutes = (ULONG)(Seconds < 0 ? -Seconds : Seconds) / 60;

    if (IsUtc) {
        RtlWriteText(Writer, "UTC");
    } else {
        RtlWriteText(Writer,
                     "%s%02u:%02u",
                     Seconds < 0 ? "-" : "+",
                     Minutes / 60,
                     Minutes % 60);
    }
}


_Use_decl_annotations_
VOID
BaseWriteDay(
    PRTL_WRITER Writer,
    ULONGLONG Nanoseconds
    )
{
    RTL_CALENDAR_TIME Calendar;

    RtlSystemTimeToCalendar(Nanoseconds / 100, &Calendar);
    RtlWriteText(Writer,
                 "%04u-%02u-%02u",
                 (ULONG)Calendar.Year,
                 (ULONG)Calendar.Month,
                 (ULONG)Calendar.Day);
}


_Use_decl_annotations_
VOID
BaseWriteClock(
    PRTL_WRITER Writer,
    ULONGLONG Nanoseconds
    )
{
    ULONG Seconds = (ULONG)(Nanoseconds % READER_DAY / READER_SECOND);

    RtlWriteText(Writer,
                 "%02u:%02u:%02u.%09u",
                 Seconds / 3600,
                 Seconds / 60 % 60,
                 Seconds % 60,
                 (ULONG)(Nanoseconds % READER_SECOND));
}

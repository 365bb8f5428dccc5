/*++

Module Name:

    Clock.c

Abstract:

    The clock that times are taken from, and the calendar that they are shown
    in.

--*/

#include "TestRtl.h"

//
// RtlClock.c
//

//
// Clocks of which the system time keeps its reader waiting in all tries but
// one, as it does where the thread gets no processor; the performance counter
// takes longer in that one.
//

static PCRTL TestClockReal;
static LONG TestClockGood;              // the try without a wait
static LONG TestClockTry;
static ULONGLONG TestClockTime;         // the time in that try

static
NTSTATUS
NTAPI
TestClockCounter(
    PLARGE_INTEGER Counter,
    PLARGE_INTEGER Frequency
    )
{
    ULONGLONG Start;
    NTSTATUS Status;

    Status = TestClockReal->NtQueryPerformanceCounter(Counter, Frequency);
    Start = __rdtsc();
    while (TestClockTry == TestClockGood && __rdtsc() - Start < 1000000) {
        YieldProcessor();
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestClockSystemTime(
    PLARGE_INTEGER Time
    )
{
    NTSTATUS Status;
    LONG Try;

    Try = TestClockTry++;
    if (Try != TestClockGood) {
        Sleep(100);
    }
    Status = TestClockReal->NtQuerySystemTime(Time);
    if (Try == TestClockGood) {
        TestClockTime = (ULONGLONG)Time->QuadPart;
    }
    return Status;
}

_Use_decl_annotations_
VOID
TestClockWaits(
    PCRTL Rtl
    )
{
    static RTL Slow;
    RTL_CLOCK_READING Reading;
    ULONG Attempt;

    TestClockReal = Rtl;
    RtlCopyBytes(&Slow, Rtl, sizeof(Slow));
    Slow.NtQueryPerformanceCounter = TestClockCounter;
    Slow.NtQuerySystemTime = TestClockSystemTime;
    for (TestClockGood = 0; TestClockGood < 3; TestClockGood++) {

        //
        // The good try may have to wait, too, but not each time.
        //

        for (Attempt = 0; Attempt < 20; Attempt++) {
            TestClockTry = 0;
            TestClockTime = 0;
            RtlReadClocks(&Slow, &Reading);
            if (Reading.SystemTime == TestClockTime) {
                break;
            }
        }
        TEST(Attempt < 20);
        TEST(TestClockTry > TestClockGood);
        TEST(TestClockTime != 0);
    }
}

//
// Tests that the clocks agree with each other and run forwards.
//

_Use_decl_annotations_
VOID
TestClocks(
    PCRTL Rtl
    )
{
    RTL_CLOCK_READING First;
    RTL_CLOCK_READING Reading;
    RTL_CLOCK_READING Last;
    LARGE_INTEGER Frequency;
    FILETIME Before;
    FILETIME After;
    ULONGLONG TscBefore;
    ULONGLONG TscAfter;
    ULONGLONG QpcNanoseconds;
    ULONGLONG SystemNanoseconds;
    ULONG Index;
    BOOLEAN Forwards = TRUE;

    GetSystemTimeAsFileTime(&Before);
    TscBefore = __rdtsc();
    RtlReadClocks(Rtl, &First);
    TscAfter = __rdtsc();
    GetSystemTimeAsFileTime(&After);

    TEST(First.Tsc > TscBefore);
    TEST(First.Tsc < TscAfter);
    TEST(First.SystemTime >= (((ULONGLONG)Before.dwHighDateTime << 32) |
                              Before.dwLowDateTime));
    TEST(First.SystemTime <= (((ULONGLONG)After.dwHighDateTime << 32) |
                              After.dwLowDateTime));
    QueryPerformanceFrequency(&Frequency);
    TEST_EQUAL(First.QpcFrequency, Frequency.QuadPart);

    Last = First;
    for (Index = 0; Index < 1000; Index++) {
        RtlReadClocks(Rtl, &Reading);
        if (Reading.Tsc <= Last.Tsc || Reading.Qpc < Last.Qpc) {
            Forwards = FALSE;
        }
        Last = Reading;
    }
    TEST(Forwards);

    Sleep(100);
    RtlReadClocks(Rtl, &Last);

    //
    // 100 ms and what else has passed, by two clocks; the system's tick is at
    // most 16 ms.
    //

    QpcNanoseconds = (Last.Qpc - First.Qpc) * 1000 / First.QpcFrequency *
                     1000000;
    SystemNanoseconds = (Last.SystemTime - First.SystemTime) * 100;
    TEST(QpcNanoseconds >= 90000000);
    TEST(QpcNanoseconds + 40000000 > SystemNanoseconds);
    TEST(SystemNanoseconds + 40000000 > QpcNanoseconds);
}

//
// Splits a time and compares its text.
//

static
VOID
TestCalendarTime(
    _In_ ULONGLONG SystemTime,
    _In_z_ PCSZ Expected
    )
{
    RTL_CALENDAR_TIME Calendar;
    RTL_WRITER Writer;
    CHAR Text[64];

    RtlSystemTimeToCalendar(SystemTime, &Calendar);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "%u-%02u-%02u %02u:%02u:%02u.%03u",
                 Calendar.Year,
                 Calendar.Month,
                 Calendar.Day,
                 Calendar.Hour,
                 Calendar.Minute,
                 Calendar.Second,
                 Calendar.Milliseconds);
    TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, Expected);
}

//
// Tests the calendar: known dates, and every day of 1,200 years against
// kernel32.
//

VOID
TestCalendar(
    VOID
    )
{
    RTL_CALENDAR_TIME Calendar;
    SYSTEMTIME Reference;
    FILETIME FileTime;
    ULONGLONG Time;
    ULONG Day;
    ULONG NumberWrong = 0;

    //
    // 116444736000000000 is 1970-01-01; seconds since then are well known.
    //

    TestCalendarTime(0, "1601-01-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL, "1970-01-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 2147483647ULL * 10000000,
                     "2038-01-19 03:14:07.000");
    TestCalendarTime(116444736000000000ULL + 951782400ULL * 10000000,
                     "2000-02-29 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 951868799ULL * 10000000 + 9999999,
                     "2000-02-29 23:59:59.999");
    TestCalendarTime(116444736000000000ULL + 951868800ULL * 10000000,
                     "2000-03-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 978307199ULL * 10000000,
                     "2000-12-31 23:59:59.000");
    TestCalendarTime(116444736000000000ULL + 1234567890ULL * 10000000 + 1230000,
                     "2009-02-13 23:31:30.123");
    TestCalendarTime(116444736000000000ULL - 2203891200ULL * 10000000,
                     "1900-03-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL - 2203891201ULL * 10000000,
                     "1900-02-28 23:59:59.000");

    //
    // The largest FILETIME that is positive, and the largest of all.
    //

    TestCalendarTime(INT64_MAX, "30828-09-14 02:48:05.477");
    TestCalendarTime(UINT64_MAX, "60056-05-28 05:36:10.955");

    for (Day = 0; Day < 3 * 146097; Day++) {

        Time = Day * 864000000000ULL + (Day % 86400) * 10000000ULL;
        FileTime.dwLowDateTime = (DWORD)Time;
        FileTime.dwHighDateTime = (DWORD)(Time >> 32);
        RtlSystemTimeToCalendar(Time, &Calendar);

        if (!FileTimeToSystemTime(&FileTime, &Reference) ||
            Calendar.Year != Reference.wYear ||
            Calendar.Month != Reference.wMonth ||
            Calendar.Day != Reference.wDay ||
            Calendar.Hour != Reference.wHour ||
            Calendar.Minute != Reference.wMinute ||
            Calendar.Second != Reference.wSecond) {
            NumberWrong++;
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

/*++

Module Name:

    Formats.c

Abstract:

    Formatted text, with ntdll's own formatting as a reference.

--*/

#include "TestRtl.h"

//
// RtlWriter.c
//

//
// Formats and compares.
// ...: what it converts.
//

static
VOID
TestFormat(
    _In_z_ PCSZ Expected,
    _In_z_ PCSZ Format,
    ...
    )
{
    CHAR Buffer[512];
    RTL_WRITER Writer;
    va_list Arguments;

    RtlInitializeBufferWriter(&Writer, Buffer, sizeof(Buffer));

    va_start(Arguments, Format);
    RtlWriteTextArguments(&Writer, Format, Arguments);
    va_end(Arguments);

    if (!TEST_EQUAL_TEXT(Buffer, Writer.LengthInBytes, Expected)) {
        RtlWriteText(TestOutput, "    format: %s\n", Format);
    }

    TEST_STATUS(Writer.Status, STATUS_SUCCESS);
}

//
// Tests the conversions of the writer with results worked out by hand.
//

VOID
TestFormats(
    VOID
    )
{
    UNICODE_STRING String;
    CHAR Wide200[201];
    WCHAR Pairs[200];
    CHAR PairsInUtf8[401];
    ULONG Index;

    TestFormat("", "");
    TestFormat("plain", "plain");
    TestFormat("100%", "%d%%", 100);
    TestFormat("0", "%d", 0);
    TestFormat("-1", "%d", -1);
    TestFormat("-2147483648", "%d", (int)0x80000000);
    TestFormat("2147483647", "%d", 0x7FFFFFFF);
    TestFormat("4294967295", "%u", 0xFFFFFFFF);
    TestFormat("4294967295", "%lu", 0xFFFFFFFFUL);
    TestFormat("-5", "%ld", -5L);
    TestFormat("deadbeef DEADBEEF", "%x %X", 0xDEADBEEF, 0xDEADBEEF);
    TestFormat("-9223372036854775808", "%lld", INT64_MIN);
    TestFormat("9223372036854775807", "%lld", INT64_MAX);
    TestFormat("18446744073709551615", "%llu", UINT64_MAX);
    TestFormat("ffffffffffffffff", "%llx", UINT64_MAX);
    TestFormat("123456789ABCDEF", "%llX", 0x123456789ABCDEFULL);

    TestFormat("    42|", "%6d|", 42);
    TestFormat("42    |", "%-6d|", 42);
    TestFormat("000042|", "%06d|", 42);
    TestFormat("-00042|", "%06d|", -42);
    TestFormat("   -42|", "%6d|", -42);
    TestFormat("-42   |", "%-06d|", -42);
    TestFormat("-42   |", "%0-6d|", -42);
    TestFormat("42    |", "%*d|", -6, 42);
    TestFormat("  42|", "%*d|", 4, 42);
    TestFormat("1234567|", "%3d|", 1234567);
    TestFormat("  0042|", "%6.4d|", 42);
    TestFormat("  0042|", "%06.4d|", 42);
    TestFormat("0042  |", "%-6.4d|", 42);
    TestFormat("|", "%.0d|", 0);
    TestFormat("7|", "%.0d|", 7);
    TestFormat("|", "%.d|", 0);
    TestFormat("00000|", "%.*d|", 5, 0);
    TestFormat("0|", "%.*d|", -5, 0);
    TestFormat("-00042|", "%.5d|", -42);
    TestFormat("0000000000000000000000000000000000000001|", "%.40d|", 1);
    TestFormat("                                       1|", "%40d|", 1);

    TestFormat("0", "%'d", 0);
    TestFormat("999", "%'d", 999);
    TestFormat("1,000", "%'d", 1000);
    TestFormat("-1,000", "%'d", -1000);
    TestFormat("999,999", "%'u", 999999);
    TestFormat("1,000,000", "%'u", 1000000);
    TestFormat("18,446,744,073,709,551,615", "%'llu", UINT64_MAX);
    TestFormat("-9,223,372,036,854,775,808", "%'lld", INT64_MIN);
    TestFormat("   12,345|", "%'9u|", 12345);
    TestFormat("12,345   |", "%-'9u|", 12345);
    TestFormat("12,345   |", "%'-9u|", 12345);
    TestFormat("000012,345|", "%'010u|", 12345);

    TestFormat("0000000000001234", "%p", (PVOID)(ULONG_PTR)0x1234);
    TestFormat("00007FF6ABCDEF01", "%p", (PVOID)(ULONG_PTR)0x7FF6ABCDEF01);
    TestFormat("0000000000000000", "%p", NULL);
    TestFormat("  0000000000000001|", "%18p|", (PVOID)(ULONG_PTR)1);

    //
    // Text: a-umlaut and o-umlaut are two bytes, the euro sign is three, the
    // face is four.
    //

    TestFormat("abc", "%s", "abc");
    TestFormat("  abc|", "%5s|", "abc");
    TestFormat("abc  |", "%-5s|", "abc");
    TestFormat("abc  |", "%*s|", -5, "abc");
    TestFormat("  abc|", "%05s|", "abc");
    TestFormat("(null)", "%s", NULL);
    TestFormat("(null)", "%S", NULL);
    TestFormat("(null)", "%Z", NULL);
    TestFormat("(nu|", "%.3s|", NULL);
    TestFormat("   \xC3\xA4\xC3\xB6|", "%5s|", "\xC3\xA4\xC3\xB6");
    TestFormat("\xC3\xA4\xC3\xB6   |", "%-5s|", "\xC3\xA4\xC3\xB6");
    TestFormat("  \xF0\x9F\x98\x80|", "%3s|", "\xF0\x9F\x98\x80");
    TestFormat("  \x80|", "%3s|", "\x80");
    TestFormat("ab|", "%.2s|", "abc");
    TestFormat("|", "%.0s|", "abc");
    TestFormat("|", "%.s|", "abc");
    TestFormat("abc|", "%.9s|", "abc");
    TestFormat("abc|", "%.*s|", -1, "abc");
    TestFormat("   ab|", "%5.2s|", "abc");
    TestFormat("\xC3\xA4|", "%.3s|", "\xC3\xA4\xC3\xB6");
    TestFormat("\xC3\xA4\xC3\xB6|", "%.4s|", "\xC3\xA4\xC3\xB6");
    TestFormat("|", "%.3s|", "\xF0\x9F\x98\x80");
    TestFormat("  \xC3\xA4|", "%3.3s|", "\xC3\xA4\xC3\xB6");

    TestFormat("M\xD0\xB0|", "%S|", L"M\x0430");
    TestFormat("    \xF0\x9F\x98\x80|", "%5S|", L"\xD83D\xDE00");
    TestFormat("\xF0\x9F\x98\x80    |", "%-5S|", L"\xD83D\xDE00");
    TestFormat("|", "%.1S|", L"\xD83D\xDE00");
    TestFormat("\xF0\x9F\x98\x80|", "%.2S|", L"\xD83D\xDE00");
    TestFormat("ab|", "%.*S|", 2, L"abc");
    TestFormat("\xEF\xBF\xBD|", "%S|", L"\xD83D");

    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 3);
    TestFormat("abc|", "%Z|", &String);
    TestFormat("    ab|", "%6.2Z|", &String);
    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 5);
    TestFormat("abc\xF0\x9F\x98\x80  |", "%-6Z|", &String);
    TestFormat("abc|", "%.4Z|", &String);
    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 4);
    TestFormat("abc\xEF\xBF\xBD|", "%Z|", &String);
    RtlPointUnicodeString(&String, NULL, 0);
    TestFormat("|", "%Z|", &String);

    TestFormat("A", "%c", 'A');
    TestFormat("  A|", "%3c|", 'A');
    TestFormat("A  |", "%-3c|", 'A');
    TestFormat("\xC3\xA4  |", "%-3c|", 0xE4);
    TestFormat("\xF0\x9F\x98\x80", "%c", 0x1F600);
    TestFormat("\xEF\xBF\xBF", "%c", 0xFFFF);
    TestFormat("\xF4\x8F\xBF\xBF", "%c", 0x10FFFF);
    TestFormat("\xEF\xBF\xBD", "%c", 0x110000);
    TestFormat("\xEF\xBF\xBD", "%c", 0xD800);
    TestFormat("\xEF\xBF\xBD", "%c", 0xDC00);
    TestFormat("\xEF\xBF\xBD", "%c", -1);

    //
    // What is no conversion stands as it is.
    //

    TestFormat("%q", "%q");
    TestFormat("a%-5.2qb7", "a%-5.2qb%d", 7);
    TestFormat("%", "%");
    TestFormat("a%05", "a%05");
    TestFormat("%ll", "%ll");

    //
    // Text longer than the pieces that it is converted in, with pairs at all
    // positions.
    //

    for (Index = 0; Index < 200; Index++) {
        Wide200[Index] = ' ';
        Pairs[Index] = (WCHAR)((Index % 2 != 0) ? 0xD83D : 0xDE00);
    }
    Wide200[199] = 'x';
    Wide200[200] = '\0';
    TestFormat(Wide200, "%200s", "x");

    Pairs[0] = L'-';
    Pairs[199] = L'\0';
    PairsInUtf8[0] = '-';
    for (Index = 0; Index < 99; Index++) {
        RtlCopyBytes(PairsInUtf8 + 1 + Index * 4, "\xF0\x9F\x98\x80", 4);
    }
    PairsInUtf8[397] = '\0';
    TestFormat(PairsInUtf8, "%S", Pairs);
    TestFormat(PairsInUtf8 + 1, "%S", Pairs + 1);
}

typedef int (__cdecl TEST_SNPRINTF)(
    PCHAR Buffer,
    SIZE_T Capacity,
    PCSZ Format,
    ...
    );
typedef TEST_SNPRINTF *PTEST_SNPRINTF;

//
// Compares the numbers of the writer with those of ntdll's _snprintf.
//

VOID
TestFormatsByReference(
    VOID
    )
{
    static const PCSZ Flags[] = { "", "-", "0", "-0" };
    static const PCSZ Widths[] = { "", "1", "4", "12", "25" };
    static const PCSZ Precisions[] = { "", ".0", ".1", ".7", ".22" };
    static const CHAR Conversions[] = "duxX";
    static const ULONGLONG Values[] = {
        0, 1, 9, 10, 99, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
        0x100000000ULL, 0x7FFFFFFFFFFFFFFFULL, 0x8000000000000000ULL,
        0xFFFFFFFFFFFFFFFFULL
    };

    PTEST_SNPRINTF Snprintf;
    RTL_WRITER Writer;
    CHAR Format[32];
    CHAR FormatOfReference[32];
    CHAR Text[64];
    CHAR Reference[64];
    ULONG Case;
    ULONG Rest;
    ULONG Value;
    ULONG NumberOfCases;
    ULONG NumberWrong = 0;
    int Length;
    PCSZ Flag;
    PCSZ Width;
    PCSZ Precision;
    CHAR Conversion;
    BOOLEAN IsLong;

    Snprintf = (PTEST_SNPRINTF)(ULONG_PTR)TestExport(L"ntdll.dll",
                                                     "_snprintf");
    if (Snprintf == NULL) {
        TEST_SKIP("ntdll.dll has no _snprintf");
        return;
    }

    NumberOfCases = 4 * 5 * 5 * 4 * 2;

    for (Case = 0; Case < NumberOfCases; Case++) {

        Rest = Case;
        Flag = Flags[Rest % 4];
        Rest /= 4;
        Width = Widths[Rest % 5];
        Rest /= 5;
        Precision = Precisions[Rest % 5];
        Rest /= 5;
        Conversion = Conversions[Rest % 4];
        IsLong = (Rest / 4 != 0);

        //
        // C has a precision turn zero padding off; not every ntdll.dll knows.
        //

        if (Precision[0] != '\0' && (Flag[0] == '0' || Flag[0] == '-')) {
            if (Flag[0] == '0' || Flag[1] == '0') {
                continue;
            }
        }

        RtlInitializeBufferWriter(&Writer, Format, sizeof(Format));
        RtlWriteText(&Writer,
                     "%%%s%s%s%s%c",
                     Flag,
                     Width,
                     Precision,
                     IsLong ? "ll" : "",
                     Conversion);
        Format[Writer.LengthInBytes] = '\0';

        RtlInitializeBufferWriter(&Writer,
                                  FormatOfReference,
                                  sizeof(FormatOfReference));
        RtlWriteText(&Writer,
                     "%%%s%s%s%s%c",
                     Flag,
                     Width,
                     Precision,
                     IsLong ? "I64" : "",
                     Conversion);
        FormatOfReference[Writer.LengthInBytes] = '\0';

        for (Value = 0; Value < RTL_NUMBER_OF(Values); Value++) {

            RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
            RtlWriteText(&Writer, Format, Values[Value]);

            Length = Snprintf(Reference,
                              sizeof(Reference),
                              FormatOfReference,
                              Values[Value]);

            if (Length != (int)Writer.LengthInBytes ||
                !RtlAreBytesEqual(Text, Reference, Writer.LengthInBytes)) {

                NumberWrong++;
                if (NumberWrong <= 5) {
                    RtlWriteText(TestOutput,
                                 "    %s of 0x%llx: \"%.*s\", not \"%.*s\"\n",
                                 Format,
                                 Values[Value],
                                 (int)Writer.LengthInBytes,
                                 Text,
                                 Length,
                                 Reference);
                }
            }
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

//
// Tests buffers that are too small, of every size.
//

VOID
TestTruncation(
    VOID
    )
{
    //
    // One, two, three and four bytes, and the end of each.
    //

    static const CHAR Text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
    static const ULONG Ends[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };

    CHAR Buffer[16];
    RTL_WRITER Writer;
    ULONG Capacity;
    ULONG Index;

    for (Capacity = 0; Capacity <= 10; Capacity++) {

        RtlFillBytes(Buffer, sizeof(Buffer), 0x55);
        RtlInitializeBufferWriter(&Writer, Buffer, Capacity);
        RtlWriteText(&Writer, "%s", Text);

        TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
        TEST_EQUAL_BYTES(Buffer, Text, Ends[Capacity]);
        TEST_EQUAL((BYTE)Buffer[Capacity], 0x55);
        TEST_STATUS(RtlFlushWriter(&Writer),
                    (Capacity == 10) ? STATUS_SUCCESS :
                                       STATUS_BUFFER_OVERFLOW);

        //
        // Nothing comes behind what was cut.
        //

        if (Capacity < 10) {
            RtlWriteText(&Writer, "b");
            TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
        }

        //
        // The same byte by byte.
        //

        RtlInitializeBufferWriter(&Writer, Buffer, Capacity);
        for (Index = 0; Index < 10; Index++) {
            RtlWriteBytes(&Writer, Text + Index, 1);
        }
        TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
    }

    RtlInitializeBufferWriter(&Writer, Buffer, 8);
    RtlWriteText(&Writer, "%1000000000d", 1);
    TEST_STATUS(Writer.Status, STATUS_BUFFER_OVERFLOW);
    TEST_EQUAL_TEXT(Buffer, Writer.LengthInBytes, "        ");
}

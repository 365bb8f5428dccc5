/*++

Module Name:

    Strings.c

Abstract:

    Text: conversions between UTF-8 and UTF-16, with every character that there
    is, and what is done with strings.

--*/

#include "TestRtl.h"

//
// RtlString.c
//

//
// Converts UTF-8 and compares, with every capacity up to the whole result.
// Expected: the expected UTF-16.
//

static
VOID
TestUtf8ToWide(
    _In_z_ PCSZ Utf8,
    _In_z_ PCWSTR Expected
    )
{
    WCHAR Wide[64];
    ULONG Length = RtlLengthOfString(Utf8);
    ULONG ExpectedLength = RtlLengthOfWideString(Expected);
    ULONG Capacity;
    ULONG Written;
    ULONG Cut;

    for (Capacity = 0; Capacity <= ExpectedLength; Capacity++) {

        Wide[Capacity] = 0x5555;
        TEST_EQUAL(RtlUtf8ToWide(Utf8, Length, Wide, Capacity, &Written),
                   ExpectedLength);

        //
        // What is written ends before the unit that would not fit; a pair goes
        // as a whole.
        //

        Cut = Capacity;
        if (Cut < ExpectedLength &&
            Cut != 0 &&
            Expected[Cut - 1] >= 0xD800 &&
            Expected[Cut - 1] <= 0xDBFF) {
            Cut--;
        }

        TEST_EQUAL(Written, Cut);
        TEST_EQUAL_BYTES(Wide, Expected, Cut * sizeof(WCHAR));
        TEST_EQUAL(Wide[Capacity], 0x5555);
    }

    TEST_EQUAL(RtlUtf8ToWide(Utf8, Length, NULL, 0, NULL), ExpectedLength);
}

//
// Converts UTF-16 and compares, with every capacity up to the whole result.
// LengthInChars: its length in units.
// Expected: the expected UTF-8.
//

static
VOID
TestWideToUtf8(
    _In_reads_(LengthInChars) PCWSTR Wide,
    _In_ ULONG LengthInChars,
    _In_z_ PCSZ Expected
    )
{
    CHAR Utf8[64];
    ULONG ExpectedLength = RtlLengthOfString(Expected);
    ULONG Capacity;
    ULONG Written;
    ULONG Cut;

    for (Capacity = 0; Capacity <= ExpectedLength; Capacity++) {

        Utf8[Capacity] = 0x55;
        TEST_EQUAL(RtlWideToUtf8(Wide,
                                 LengthInChars,
                                 Utf8,
                                 Capacity,
                                 &Written),
                   ExpectedLength);

        Cut = Capacity;
        while (Cut < ExpectedLength && ((BYTE)Expected[Cut] & 0xC0) == 0x80) {
            Cut--;
        }

        TEST_EQUAL(Written, Cut);
        TEST_EQUAL_BYTES(Utf8, Expected, Cut);
        TEST_EQUAL(Utf8[Capacity], 0x55);
    }

    TEST_EQUAL(RtlWideToUtf8(Wide, LengthInChars, NULL, 0, NULL),
               ExpectedLength);
}

//
// Tests the conversions with the tables of the Unicode standard, chapter 3.
//

VOID
TestConversions(
    VOID
    )
{
    static const WCHAR LoneSurrogates[] = {
        0xD800, 'A', 0xDC00, 0xDBFF, 0xD83D, 0xDE00, 0xD83D
    };

    //
    // Tables 3-3 and 3-6: U+004D, U+0430, U+4E8C, U+10302.
    //

    TestUtf8ToWide("M\xD0\xB0\xE4\xBA\x8C\xF0\x90\x8C\x82",
                   L"M\x0430\x4E8C\xD800\xDF02");
    TestWideToUtf8(L"M\x0430\x4E8C\xD800\xDF02",
                   5,
                   "M\xD0\xB0\xE4\xBA\x8C\xF0\x90\x8C\x82");

    //
    // Table 3-8, non-shortest forms; 3-9, surrogates; 3-10, other ill-formed
    // sequences; 3-11, truncated sequences.
    //

    TestUtf8ToWide("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041");
    TestUtf8ToWide("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041");
    TestUtf8ToWide("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041\xFFFD\xFFFD\x0042");
    TestUtf8ToWide("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\x0041");

    //
    // The first and the last character of each length, and what is cut off at
    // the end.
    //

    TestUtf8ToWide("\x01\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80",
                   L"\x0001\x007F\x0080\x07FF\x0800");
    TestUtf8ToWide("\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
                   L"\xD7FF\xE000\xFFFF");
    TestUtf8ToWide("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
                   L"\xD800\xDC00\xDBFF\xDFFF");
    TestUtf8ToWide("A\xC3", L"A\xFFFD");
    TestUtf8ToWide("A\xE4\xBA", L"A\xFFFD");
    TestUtf8ToWide("A\xF0\x90\x8C", L"A\xFFFD");
    TestUtf8ToWide("\xF5\xF8\xFC\xFE\xC1", L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD");
    TestUtf8ToWide("", L"");

    TestWideToUtf8(LoneSurrogates,
                   RTL_NUMBER_OF(LoneSurrogates),
                   "\xEF\xBF\xBD" "A" "\xEF\xBF\xBD" "\xEF\xBF\xBD"
                   "\xF0\x9F\x98\x80" "\xEF\xBF\xBD");
    TestWideToUtf8(L"\x007F\x0080\x07FF\x0800\xFFFF",
                   5,
                   "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
    TestWideToUtf8(L"", 0, "");
}

//
// Converts every character there is, 256 at a time, there and back, and
// compares with kernel32's conversion.
//

VOID
TestAllCharacters(
    VOID
    )
{
    WCHAR Wide[512];
    WCHAR Back[512];
    CHAR Utf8[1024];
    CHAR Reference[1024];
    ULONG First;
    ULONG CodePoint;
    ULONG Length;
    ULONG Size;
    ULONG Written;
    ULONG BackLength;
    ULONG Decoded;
    ULONG Offset;
    ULONG NumberWrong = 0;

    for (First = 0; First < 0x110000; First += 256) {

        if (First >= 0xD800 && First < 0xE000) {
            continue;
        }

        Length = 0;
        for (CodePoint = First; CodePoint < First + 256; CodePoint++) {
            if (CodePoint >= 0x10000) {
                Wide[Length++] = (WCHAR)(0xD7C0 + (CodePoint >> 10));
                Wide[Length++] = (WCHAR)(0xDC00 | (CodePoint & 0x3FF));
            } else {
                Wide[Length++] = (WCHAR)CodePoint;
            }
        }

        Size = RtlWideToUtf8(Wide, Length, Utf8, sizeof(Utf8), &Written);

        if (Size != Written ||
            (int)Size != WideCharToMultiByte(CP_UTF8,
                                             0,
                                             Wide,
                                             (int)Length,
                                             Reference,
                                             sizeof(Reference),
                                             NULL,
                                             NULL) ||
            !RtlAreBytesEqual(Utf8, Reference, Size)) {
            NumberWrong++;
            continue;
        }

        BackLength = RtlUtf8ToWide(Utf8, Size, Back, 512, &Written);
        if (BackLength != Length ||
            Written != Length ||
            !RtlAreBytesEqual(Wide, Back, Length * sizeof(WCHAR))) {
            NumberWrong++;
            continue;
        }

        Offset = 0;
        for (CodePoint = First; CodePoint < First + 256; CodePoint++) {
            Offset += RtlDecodeUtf8(Utf8 + Offset, Size - Offset, &Decoded);
            if (Decoded != CodePoint) {
                NumberWrong++;
            }
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

//
// Parses a number.
// IsNumber: whether it is a number.
//

static
VOID
TestNumber(
    _In_z_ PCWSTR Text,
    _In_ BOOLEAN IsNumber,
    _In_ ULONGLONG Expected
    )
{
    ULONGLONG Number = 0x1234567;

    TEST_EQUAL(RtlParseNumber(Text, RtlLengthOfWideString(Text), &Number),
               IsNumber);
    TEST_EQUAL(Number, IsNumber ? Expected : 0x1234567);
}

//
// Tests lengths, comparison, tails and numbers.
//

VOID
TestStrings(
    VOID
    )
{
    static const WCHAR Long[1] = { L'x' };

    UNICODE_STRING String;

    TEST_EQUAL(RtlLengthOfString(""), 0);
    TEST_EQUAL(RtlLengthOfString("a\xC3\xA4"), 3);
    TEST_EQUAL(RtlLengthOfWideString(L""), 0);
    TEST_EQUAL(RtlLengthOfWideString(L"a\xD83D\xDE00"), 3);

    TEST(RtlAreStringsEqual("", ""));
    TEST(RtlAreStringsEqual("abc", "abc"));
    TEST(!RtlAreStringsEqual("abc", "abd"));
    TEST(!RtlAreStringsEqual("abc", "ab"));
    TEST(!RtlAreStringsEqual("ab", "abc"));
    TEST(!RtlAreStringsEqual("", "a"));
    TEST(!RtlAreStringsEqual("abc", "ABC"));

    RtlPointUnicodeString(&String, Long, 32767);
    TEST_EQUAL(String.Length, 65534);
    TEST_EQUAL(String.MaximumLength, 65534);
    TEST(String.Buffer == Long);
    RtlPointUnicodeString(&String, Long, 32768);
    TEST_EQUAL(String.Length, 65534);

    TEST_EQUAL(RtlIncompleteUtf8Tail("", 0), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("abc", 3), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\xC3", 2), 1);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xC3\xA4", 2), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\xE4\xBA", 3), 2);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF0\x9F\x98", 3), 3);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF0\x9F\x98\x80", 4), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\x80\x80\x80", 4), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xE0\x80", 2), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xC0", 1), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF5", 1), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xBF", 1), 0);

    TestNumber(L"0", TRUE, 0);
    TestNumber(L"007", TRUE, 7);
    TestNumber(L"18446744073709551615", TRUE, 18446744073709551615ULL);
    TestNumber(L"18446744073709551616", FALSE, 0);
    TestNumber(L"99999999999999999999", FALSE, 0);
    TestNumber(L"0xFFFFFFFFFFFFFFFF", TRUE, 18446744073709551615ULL);
    TestNumber(L"0x10000000000000000", FALSE, 0);
    TestNumber(L"0XaBc", TRUE, 2748);
    TestNumber(L"64K", TRUE, 65536);
    TestNumber(L"64k", TRUE, 65536);
    TestNumber(L"3m", TRUE, 3145728);
    TestNumber(L"2G", TRUE, 2147483648ULL);
    TestNumber(L"0x10K", TRUE, 16384);
    TestNumber(L"17179869183G", TRUE, 18446744072635809792ULL);
    TestNumber(L"17179869184G", FALSE, 0);
    TestNumber(L"", FALSE, 0);
    TestNumber(L"K", FALSE, 0);
    TestNumber(L"0x", FALSE, 0);
    TestNumber(L"0xK", FALSE, 0);
    TestNumber(L"x10", FALSE, 0);
    TestNumber(L"10KB", FALSE, 0);
    TestNumber(L"10KK", FALSE, 0);
    TestNumber(L"1 ", FALSE, 0);
    TestNumber(L" 1", FALSE, 0);
    TestNumber(L"-1", FALSE, 0);
    TestNumber(L"+1", FALSE, 0);
    TestNumber(L"1.5", FALSE, 0);
    TestNumber(L"a", FALSE, 0);
    TestNumber(L"\x0661", FALSE, 0);
}

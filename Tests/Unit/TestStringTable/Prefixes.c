/*++

Module Name:

    Prefixes.c

Abstract:

    Prefixes that lie in each other, single and long ones, examples that are
    worked out by hand, and every value of a byte.

--*/

#include "TestStringTable.h"

//
// Prefixes of one another at the lengths where a vector, a page or a byte
// ends; inputs of every length from 0 to 300, at every distance up to 64 from
// the end of readable memory, and with each one byte changed.
//

_Use_decl_annotations_
VOID
TestNestedPrefixes(
    PTEST_CONTEXT Context
    )
{
    static const USHORT Lengths[] = {
        257, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 34, 47, 48, 49,
        63, 64, 65, 95, 96, 97, 127, 128, 129, 159, 160, 161, 223, 224, 225,
        254, 255, 256, 258, 287, 288, 289, 299, 300
    };
    UCHAR Changed;
    PUCHAR Pattern = Context->Pattern;
    ULONG CharacterSize;
    ULONG Distance;
    ULONG Length;
    ULONG Offset;
    ULONG Step;
    ULONG Index;
    ULONG Size;
    ULONG Kind;

    Step = Context->IsQuick ? 7 : 3;

    //
    // Up to 16 prefixes, up to 64, and more: each has searches of its own.
    //

    for (Kind = 0; Kind < 6; Kind += 1) {

        CharacterSize = 1 + Kind % 2;
        Size = Kind < 2 ? 16 : Kind < 4 ? 64 : 100;

        TestBeginList(Context);
        for (Index = 0; Index < RTL_NUMBER_OF(Lengths); Index += 1) {
            if (Lengths[Index] % CharacterSize == 0 &&
                Context->NumberOfPrefixes < Size) {
                TestAddPrefix(Context, Pattern, Lengths[Index]);
            }
        }

        while (Size == 100 && Context->NumberOfPrefixes < Size) {
            TestAddPrefix(Context,
                          Pattern + 1000 + 6 * Context->NumberOfPrefixes,
                          4);
        }

        if (!TestOpenTables(Context,
                            CharacterSize == 2 ? STRING_TABLE_UTF16 : 0)) {
            return;
        }

        for (Length = 0; Length <= 300; Length += 1) {
            for (Distance = 0; Distance <= 64; Distance += 1) {
                TestAtEnd(Context, Pattern, Length, Distance);
                TestAtBegin(Context, Pattern, Length, Distance);
            }
        }

        for (Length = 1; Length <= 300; Length += Step) {
            for (Offset = 0; Offset < Length; Offset += 1) {
                Changed = Pattern[Offset];
                Pattern[Offset] ^= (UCHAR)(1 << (Offset & 7));
                TestAtEnd(Context, Pattern, Length, (Length ^ Offset) & 31);
                TestAtEnd(Context, Pattern, Length, 0);
                Pattern[Offset] = Changed;
            }
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "nested prefixes");
}

//
// Tables of one prefix, of every length from 1 to 300, with inputs that are
// shorter, equal, longer, and different in one byte.
//

_Use_decl_annotations_
VOID
TestSinglePrefixes(
    PTEST_CONTEXT Context
    )
{
    static const UCHAR Distances[] = { 0, 1, 15, 16, 17, 31, 32, 33, 63 };
    static const UCHAR More[] = { 0, 1, 2, 16, 31, 32, 33, 40, 70 };
    PUCHAR Pattern = Context->Pattern;
    ULONG Length;
    ULONG Offset;
    ULONG Place;
    ULONG Index;
    UCHAR Changed;

    for (Length = 1; Length <= 300; Length += 1) {

        TestBeginList(Context);
        TestAddPrefix(Context, Pattern, Length);
        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Place = 0; Place < RTL_NUMBER_OF(Distances); Place += 1) {

            TestAtEnd(Context, Pattern, Length - 1, Distances[Place]);
            for (Index = 0; Index < RTL_NUMBER_OF(More); Index += 1) {
                TestAtEnd(Context,
                          Pattern,
                          Length + More[Index],
                          Distances[Place]);
                TestAtBegin(Context,
                            Pattern,
                            Length + More[Index],
                            Distances[Place]);
            }

            for (Offset = 0; Offset <= Length; Offset += 1) {
                if (Offset > 2 && Offset + 34 < Length && Offset % 32 > 1) {
                    continue;
                }
                Changed = Pattern[Offset];
                Pattern[Offset] ^= 0x80;
                TestAtEnd(Context, Pattern, Length, Distances[Place]);
                TestAtEnd(Context, Pattern, Length + 40, Distances[Place]);
                Pattern[Offset] = Changed;
            }
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "single prefixes");
}

//
// Prefixes of 32,767 characters of either size, and nearly as long.
//

_Use_decl_annotations_
VOID
TestLongPrefixes(
    PTEST_CONTEXT Context
    )
{
    PUCHAR Pattern = Context->Pattern;
    ULONG CharacterSize;
    ULONG Longest;
    ULONG Offset;
    ULONG More;
    UCHAR Changed;

    for (CharacterSize = 1; CharacterSize <= 2; CharacterSize += 1) {

        Longest = 32767 * CharacterSize;

        TestBeginList(Context);
        TestAddPrefix(Context, Pattern, 256);
        TestAddPrefix(Context, Pattern, Longest);
        TestAddPrefix(Context, Pattern, Longest - CharacterSize);
        TestAddPrefix(Context, Pattern, Longest - 32 * CharacterSize);
        TestAddPrefix(Context, Pattern, 4096);
        if (!TestOpenTables(Context,
                            CharacterSize == 2 ? STRING_TABLE_UTF16 : 0)) {
            return;
        }

        for (More = 0; More <= 40; More += 1) {
            TestAtEnd(Context, Pattern, Longest - More, More);
            TestAtEnd(Context, Pattern, Longest - More, 0);
            TestAtEnd(Context, Pattern, Longest + More, More & 7);
        }

        TestExpect(Context, Pattern, Longest, 1);
        TestExpect(Context, Pattern, Longest + 1, 1);
        TestExpect(Context, Pattern, Longest - CharacterSize, 2);
        TestExpect(Context, Pattern, 4096, 4);
        TestExpect(Context, Pattern, 4095, 0);
        TestExpect(Context, Pattern, 255, STRING_TABLE_NOT_FOUND);

        for (Offset = 0; Offset < Longest; Offset += 509) {
            Changed = Pattern[Offset];
            Pattern[Offset] ^= 1;
            TestAtEnd(Context, Pattern, Longest, Offset & 31);
            Pattern[Offset] = Changed;
        }

        for (Offset = Longest - 70; Offset < Longest; Offset += 1) {
            Changed = Pattern[Offset];
            Pattern[Offset] ^= 1;
            TestAtEnd(Context, Pattern, Longest, Offset & 31);
            Pattern[Offset] = Changed;
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "long prefixes");
}

_Use_decl_annotations_
VOID
TestAddText(
    PTEST_CONTEXT Context,
    PCSZ Text
    )
{
    TestAddPrefix(Context, (const UCHAR *)Text, RtlLengthOfString(Text));
}

//
// Checks the result for a terminated string.
// Text: the string, at most 160 bytes.
// Expected: the index.
//

static
VOID
TestExpectText(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Text,
    _In_ ULONG Expected
    )
{
    UCHAR Buffer[192];
    ULONG Length = RtlLengthOfString(Text);

    RtlZeroBytes(Buffer, sizeof(Buffer));
    TEST(Length <= sizeof(Buffer) - 32);
    RtlCopyBytes(Buffer, Text, Length);
    TestExpect(Context, Buffer, Length, Expected);
}

//
// Lists and inputs with the results written beside them.
//

_Use_decl_annotations_
VOID
TestExamples(
    PTEST_CONTEXT Context
    )
{
    static const UCHAR Nul[40] = { 'a', 0, 'b', 0, 0 };
    static const WCHAR Wide[] = L"KERNELBASE.DLL and thirty-two bytes beyond";
    ULONG Index;

    TestBeginList(Context);
    TestAddText(Context, "numpy");
    TestAddText(Context, "sixteen bytes ..and more");
    TestAddText(Context, "num");
    TestAddText(Context, "thirty-two bytes ................and more");
    TestAddText(Context, "numpy");
    TestAddText(Context, "numpy.core.multiarray");
    TestAddText(Context, "numpy.co");
    TestAddText(Context, "z");
    if (!TestOpenTables(Context, 0)) {
        return;
    }

    TestExpectText(Context, "numpy.core", 6);
    TestExpectText(Context, "numpy", 0);
    TestExpectText(Context, "numpy.", 0);
    TestExpectText(Context, "numpx.core", 2);
    TestExpectText(Context, "nump", 2);
    TestExpectText(Context, "nu", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "Numpy", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "numpy.core.multiarray", 5);
    TestExpectText(Context, "numpy.core.multiarray_tests", 5);
    TestExpectText(Context, "numpy.core.multiarra", 6);
    TestExpectText(Context, "zz", 7);
    TestExpectText(Context, "yz", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "sixteen bytes ..and more", 1);
    TestExpectText(Context, "sixteen bytes ..and less", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context,
                   "thirty-two bytes ................and more, too",
                   3);
    TestExpectText(Context,
                   "thirty-two bytes ................and less, too",
                   STRING_TABLE_NOT_FOUND);
    TestExpectText(Context,
                   "thirty-two bytes ................",
                   STRING_TABLE_NOT_FOUND);
    TestCloseTables(Context);

    //
    // Zero bytes within, at the beginning and at the end.
    //

    TestBeginList(Context);
    TestAddPrefix(Context, Nul, 1);
    TestAddPrefix(Context, Nul, 3);
    TestAddPrefix(Context, Nul, 5);
    TestAddPrefix(Context, Nul + 1, 1);
    TestAddPrefix(Context, Nul + 5, 20);
    TestAddPrefix(Context, (const UCHAR *)"a\0c", 3);
    if (!TestOpenTables(Context, 0)) {
        return;
    }

    for (Index = 0; Index < 8; Index += 1) {
        static const ULONG Expected[] = {
            STRING_TABLE_NOT_FOUND, 0, 0, 1, 1, 2, 2, 2
        };
        TestExpect(Context, Nul, Index, Expected[Index]);
    }

    TestExpect(Context, Nul + 5, 0, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Nul + 5, 1, 3);
    TestCloseTables(Context);

    //
    // Two-byte characters; a half character at the end belongs to nothing.
    //

    TestBeginList(Context);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 6);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 14);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 1);
    if (!TestOpenTables(Context, STRING_TABLE_UTF16)) {
        return;
    }

    TestExpect(Context, Wide, 1, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Wide, 2, 2);
    TestExpect(Context, Wide, 11, 2);
    TestExpect(Context, Wide, 12, 0);
    TestExpect(Context, Wide, 27, 0);
    TestExpect(Context, Wide, 28, 1);
    TestExpect(Context, Wide, 40, 1);
    TestCloseTables(Context);

    TestExpectAgreement(Context, "examples");
}

//
// All byte values, as whole prefixes and as the second of two bytes.
//

_Use_decl_annotations_
VOID
TestByteValues(
    PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[3];
    ULONG Value;

    TestBeginList(Context);
    for (Value = 0; Value < 256; Value += 1) {
        Bytes[0] = (UCHAR)Value;
        Bytes[1] = (UCHAR)~Value;
        TestAddPrefix(Context, Bytes, 1 + (Value & 1));
    }

    if (!TestOpenTables(Context, 0)) {
        return;
    }

    Bytes[2] = 0;
    for (Value = 0; Value < 65536; Value += 1) {
        Bytes[0] = (UCHAR)Value;
        Bytes[1] = (UCHAR)(Value >> 8);
        TestAtEnd(Context, Bytes, 1 + (Value % 3), 0);
    }

    TestCloseTables(Context);
    TestExpectAgreement(Context, "byte values");
}

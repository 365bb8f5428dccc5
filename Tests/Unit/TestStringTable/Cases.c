/*++

Module Name:

    Cases.c

Abstract:

    Lists and inputs by chance: many prefixes, upper and lower case, prefixes
    that are hard to tell apart, and a hundred thousand at once.

--*/

#include "TestStringTable.h"

//
// Lists of many sizes, up to more than 1,000 prefixes; each prefix as the
// input, with a byte more, a byte less, and its last byte changed.
//

_Use_decl_annotations_
VOID
TestManyPrefixes(
    PTEST_CONTEXT Context
    )
{
    static const USHORT Counts[] = {
        1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100, 255, 256, 257, 1025,
        2000
    };
    UCHAR Bytes[128];
    const UCHAR *Prefix;
    ULONG Length;
    ULONG Offset;
    ULONG Count;
    ULONG Index;

    for (Count = 0; Count < RTL_NUMBER_OF(Counts); Count += 1) {

        TestBeginList(Context);
        for (Index = 0; Index < Counts[Count]; Index += 1) {

            //
            // Every fourth prefix is of one family.
            //

            Offset = 0;
            Length = 4 + TestPick(Context, 50);
            if ((Index & 3) == 0) {
                RtlCopyBytes(Bytes, "C:\\Program Files\\", 17);
                Offset = 17;
                Length += 17;
            }

            for (; Offset < Length; Offset += 1) {
                Bytes[Offset] = (UCHAR)('a' + TestPick(Context, 3));
            }
            TestAddPrefix(Context, Bytes, Length);
        }

        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Index = 0; Index < Counts[Count]; Index += 1) {
            Prefix = (const UCHAR *)Context->Prefixes[Index].Buffer;
            Length = Context->Prefixes[Index].LengthInBytes;
            RtlZeroBytes(Bytes, sizeof(Bytes));
            RtlCopyBytes(Bytes, Prefix, Length);
            TestAtEnd(Context, Bytes, Length, 0);
            TestAtEnd(Context, Bytes, Length - 1, Index & 31);
            TestAtEnd(Context, Bytes, Length + 1, 1);
            Bytes[Length - 1] ^= 1;
            TestAtEnd(Context, Bytes, Length, Index & 7);
            TestAtEnd(Context, Bytes, Length + 9, Index & 15);
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "many prefixes");
}

//
// Gives one of few bytes: those that folding could get wrong are among them,
// and 0, so that there are UTF-16 code units below 256.
//

static
UCHAR
TestLetter(
    _In_ ULONG Number
    )
{
    static const UCHAR Letters[] = { 'a', 0, 'A', 'Z', '[', '@', 'z', 0xC1 };

    return Letters[Number % sizeof(Letters)];
}

//
// Without regard to case: each byte against each, and code units whose low or
// high byte could be taken for a letter.
//

_Use_decl_annotations_
VOID
TestCase(
    PTEST_CONTEXT Context
    )
{
    static const USHORT Units[] = {
        'a', 'M', 'Z', '@', '[', '`', '{', 0x0141, 0x4100, 0x5A5A, 0xFF41,
        0x212A, 0x00C0
    };
    static const UCHAR Upper[] = "KERNEL32.DLL_AND_MORE_THAN_32_BYTES_OF_IT";
    static const UCHAR Lower[] = "kernel32.dll_and_more_than_32_bytes_of_it";
    UCHAR Bytes[128];
    ULONG Value;
    ULONG Index;
    ULONG Size;

    //
    // 7, then 256 different prefixes: few slots, and a trie.
    //

    for (Size = 7; Size <= 256; Size += 249) {

        TestBeginList(Context);
        for (Value = 0; Value < Size; Value += 1) {
            Bytes[0] = (UCHAR)(Size == 7 ? "azAm[@`"[Value] : Value);
            TestAddPrefix(Context, Bytes, 1);
        }

        if (!TestOpenTables(Context, STRING_TABLE_IGNORE_CASE)) {
            return;
        }

        for (Value = 0; Value < 256; Value += 1) {
            Bytes[0] = (UCHAR)Value;
            Bytes[1] = (UCHAR)Value;
            TestAtEnd(Context, Bytes, 1, 0);
            TestAtEnd(Context, Bytes, 1, 1);
        }

        TestCloseTables(Context);
    }

    for (Size = 1; Size <= 200; Size += 199) {

        TestBeginList(Context);
        for (Index = 0; Index < RTL_NUMBER_OF(Units); Index += 1) {
            TestAddPrefix(Context, (const UCHAR *)&Units[Index], 2);
        }
        for (Index = 1; Index < Size; Index += 1) {
            Value = 0x3000 + Index;
            TestAddPrefix(Context, (const UCHAR *)&Value, 2);
        }

        if (!TestOpenTables(Context,
                            STRING_TABLE_UTF16 | STRING_TABLE_IGNORE_CASE)) {
            return;
        }

        RtlZeroBytes(Bytes, sizeof(Bytes));
        for (Value = 0; Value < 65536; Value += 1) {
            Bytes[0] = (UCHAR)Value;
            Bytes[1] = (UCHAR)(Value >> 8);
            TestAtEnd(Context, Bytes, 2, Value & 32);
        }

        TestCloseTables(Context);
    }

    //
    // Written out: prefixes of either case, and strings of the other.
    //

    RtlZeroBytes(Bytes, sizeof(Bytes));
    RtlCopyBytes(Bytes, Lower, sizeof(Lower));
    TestBeginList(Context);
    TestAddPrefix(Context, Upper, 8);
    TestAddPrefix(Context, Lower, 12);
    TestAddPrefix(Context, Upper, 40);
    TestAddPrefix(Context, Upper, 12);
    if (!TestOpenTables(Context, STRING_TABLE_IGNORE_CASE)) {
        return;
    }

    TestExpect(Context, Bytes, 7, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Bytes, 11, 0);
    TestExpect(Context, Bytes, 39, 1);
    TestExpect(Context, Bytes, 41, 2);
    TestCloseTables(Context);

    if (!TestOpenTables(Context, 0)) {
        return;
    }

    TestExpect(Context, Bytes, 11, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Bytes, 41, 1);
    TestCloseTables(Context);

    TestExpectAgreement(Context, "case");
}

//
// What a trie is worst at: a, aa, aaa and so on; b, ab, aab and so on; both;
// and these behind a long part that all have in common.
//

_Use_decl_annotations_
VOID
TestHardPrefixes(
    PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[700];
    ULONG Length;
    ULONG Common;
    ULONG Kind;

    for (Kind = 0; Kind < 6; Kind += 1) {

        Common = Kind >= 3 ? 100 : 0;
        RtlFillBytes(Bytes, sizeof(Bytes), 'a');
        RtlFillBytes(Bytes, Common, 'x');

        TestBeginList(Context);
        for (Length = Common + 1; Length <= Common + 250; Length += 1) {
            if (Kind % 3 != 1) {
                TestAddPrefix(Context, Bytes, Length);
            }
            if (Kind % 3 != 0) {
                Bytes[Length - 1] = 'b';
                TestAddPrefix(Context, Bytes, Length);
                Bytes[Length - 1] = 'a';
            }
        }

        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Length = 1; Length <= Common + 260; Length += 1) {
            TestAtEnd(Context, Bytes, Length, Length & 63);
            Bytes[Length - 1] = 'b';
            TestAtEnd(Context, Bytes, Length, 0);
            TestAtEnd(Context, Bytes, Length + 20, Length & 63);
            Bytes[Length - 1] = 'c';
            TestAtEnd(Context, Bytes, Length + 20, 0);
            Bytes[Length - 1] = Length <= Common ? 'x' : 'a';
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "hard prefixes");
}

//
// A table of 100,000 prefixes, none of which begins with another, so that what
// is found for each is known.
//

_Use_decl_annotations_
VOID
TestHundredThousand(
    PTEST_CONTEXT Context
    )
{
    PCALLOCATOR Heap = Context->Allocator;
    STRING_TABLE_ALLOCATOR Allocator;
    PSTRING_TABLE_PREFIX Prefixes;
    PSTRING_TABLE Table;
    PUCHAR Bytes;
    PUCHAR Text;
    ULONG Wrong;
    ULONG Index;
    ULONG Value;
    ULONG Digit;
    ULONG Kind;

    Allocator.Context = Heap->Context;
    Allocator.Allocate = Heap->Allocate;
    Allocator.Free = Heap->Free;
    Prefixes = (PSTRING_TABLE_PREFIX)
        Heap->Allocate(Heap->Context, 100000 * sizeof(*Prefixes));
    Bytes = (PUCHAR)Heap->Allocate(Heap->Context, 100000 * 32);
    if (!TEST(Prefixes != NULL && Bytes != NULL)) {
        goto End;
    }

    for (Index = 0; Index < 100000; Index += 1) {
        Text = Bytes + 32 * Index;
        RtlCopyBytes(Text, "?name@space@@", 13);
        Value = Index;
        for (Digit = 0; Digit < 5; Digit += 1) {
            Text[13 + Digit] = (UCHAR)('0' + Value % 10);
            Value /= 10;
        }
        RtlFillBytes(Text + 18, 14, 'z');
        Prefixes[Index].Buffer = Text;
        Prefixes[Index].LengthInBytes = 18 + Index % 7;
    }

    for (Kind = 0; Kind < TEST_VARIANTS; Kind += 1) {

        if (!Context->IsAvailable[Kind] ||
            !TEST(StringTableCreate(&Allocator,
                                    TestVariants[Kind].Instructions,
                                    TestVariants[Kind].Flags,
                                    Prefixes,
                                    100000,
                                    &Table,
                                    NULL) == STRING_TABLE_SUCCESS)) {
            continue;
        }

        Wrong = 0;
        for (Index = 0; Index < 100000; Index += 1) {
            Text = Bytes + 32 * Index;
            Value = Prefixes[Index].LengthInBytes;
            Wrong += (StringTableSearch(Table, Text, Value) != Index);
            Wrong += (StringTableSearch(Table, Text, 32) != Index);
            Wrong += (StringTableSearch(Table, Text, Value - 1) !=
                      STRING_TABLE_NOT_FOUND);
            Text[2 + Index % 10] ^= 1;
            Wrong += (StringTableSearch(Table, Text, 32) !=
                      STRING_TABLE_NOT_FOUND);
            Text[2 + Index % 10] ^= 1;
        }

        TEST_EQUAL(Wrong, 0);
        StringTableDestroy(Table);
    }

End:

    Heap->Free(Heap->Context, Prefixes);
    Heap->Free(Heap->Context, Bytes);
}

//
// Random lists and inputs, of few different bytes, so that many agree for
// long.
//

_Use_decl_annotations_
VOID
TestRandomCases(
    PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[512];
    const UCHAR *Prefix;
    ULONG CharacterSize;
    ULONG NumberOfTables;
    ULONG NumberOfBytes;
    uint32_t Flags;
    ULONG Length;
    ULONG Offset;
    ULONG Table;
    ULONG Index;

    NumberOfTables = Context->IsQuick ? 100 : 1000;

    for (Table = 0; Table < NumberOfTables; Table += 1) {

        Flags = TestPick(Context, 4);
        CharacterSize = (Flags & STRING_TABLE_UTF16) != 0 ? 2 : 1;
        NumberOfBytes = 1 + TestPick(Context, 6);

        TestBeginList(Context);
        Index = 1 + TestPick(Context, TestPick(Context, 2) ? 20 : 90);
        for (; Index > 0; Index -= 1) {

            Length = 1 + TestPick(Context, TestPick(Context, 8) ? 45 : 150);
            Length *= CharacterSize;

            //
            // Half of them share a part with an earlier one.
            //

            Offset = 0;
            if (Context->NumberOfPrefixes > 0 && TestPick(Context, 2) != 0) {
                Offset = TestPick(Context, Context->NumberOfPrefixes);
                Prefix = (const UCHAR *)Context->Prefixes[Offset].Buffer;
                Offset = Context->Prefixes[Offset].LengthInBytes;
                if (Offset > Length) {
                    Offset = Length;
                }
                RtlCopyBytes(Bytes, Prefix, Offset);
            }

            for (; Offset < Length; Offset += 1) {
                Bytes[Offset] = TestLetter(
                    TestPick(Context, NumberOfBytes));
            }
            TestAddPrefix(Context, Bytes, Length);
        }

        if (!TestOpenTables(Context, Flags)) {
            return;
        }

        for (Index = 0; Index < 1000; Index += 1) {

            for (Offset = 0; Offset < sizeof(Bytes); Offset += 1) {
                Bytes[Offset] = TestLetter(
                    (ULONG)((TestNextRandom(Context) >> 11) % NumberOfBytes));
            }

            Length = TestPick(Context, TestPick(Context, 4) ? 60 : 310);
            if (TestPick(Context, 8) != 0) {
                Offset = TestPick(Context, Context->NumberOfPrefixes);
                Prefix = (const UCHAR *)Context->Prefixes[Offset].Buffer;
                Offset = Context->Prefixes[Offset].LengthInBytes;
                RtlCopyBytes(Bytes, Prefix, Offset);
                if (TestPick(Context, 3) != 0) {
                    Length = Offset + TestPick(Context, 3) * (Length & 31);
                }
                if (TestPick(Context, 4) == 0) {
                    Bytes[TestPick(Context, Offset)] ^=
                        TestPick(Context, 2) ? 1 : 0x20;
                }
            }

            TestAtEnd(Context, Bytes, Length, TestPick(Context, 65));
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "random cases");
}

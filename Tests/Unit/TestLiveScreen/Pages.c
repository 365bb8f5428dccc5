/*++

Module Name:

    Pages.c

Abstract:

    The rows that the pager makes of text, against rows that are stated by hand;
    and that it keeps no more than it may, however the text comes.

--*/

#include "../../../Reader/Output/OutputPagerText.h"
#include "TestLiveScreen.h"

#define TEST_ROWS 1000u
#define TEST_KEPT_ROWS 100u
#define TEST_KEPT_BYTES 700u

//
// Checks the bytes of a row.
//

static
VOID
TestRow(
    _In_ PCREADER_PAGER_TEXT Text,
    _In_ ULONG Row,
    _In_z_ PCSZ Expected
    )
{
    if (TEST(Row < Text->NumberOfRows)) {
        TEST_EQUAL_TEXT(Text->Bytes + Text->Starts[Row],
                        Text->Starts[Row + 1] - Text->Starts[Row],
                        Expected);
    }
}

//
// A text in pieces of any size gives the same rows; a wide character does not
// begin in the last column, and sequences of colours take no room.
//

static
VOID
TestSplitting(
    VOID
    )
{
    static const CHAR Lines[] =
        "abc\n\n1234567890x\n\x1b[36m12345\x1b[0m67890\n"
        "123456789\xE4\xB8\xAD+\nlast";
    static const PCSZ Rows[] = {
        "abc\n",
        "\n",
        "1234567890",
        "x\n",
        "\x1b[36m12345\x1b[0m67890\n",
        "123456789",
        "\xE4\xB8\xAD+\n",
        "last"
    };
    READER_PAGER_TEXT Text;
    ULONG Piece;
    ULONG Place;
    ULONG Index;

    for (Piece = 1; Piece <= sizeof(Lines) - 1; Piece += 1) {

        OutputInitializeText(&Text, TestAllocator, 10);
        for (Place = 0; Place < sizeof(Lines) - 1;) {

            ULONG Size = sizeof(Lines) - 1 - Place;

            Size = Size < Piece ? Size : Piece;
            while (((UCHAR)Lines[Place + Size] & 0xC0) == 0x80) {
                Size += 1;
            }

            TEST_SUCCESS(OutputAppendText(&Text, Lines + Place, Size));
            Place += Size;
        }

        TEST_EQUAL(Text.NumberOfRows, RTL_NUMBER_OF(Rows) - 1);
        TEST_SUCCESS(OutputEndText(&Text));
        TEST_SUCCESS(OutputEndText(&Text));
        TEST_EQUAL(Text.NumberOfRows, RTL_NUMBER_OF(Rows));
        for (Index = 0; Index < RTL_NUMBER_OF(Rows); Index++) {
            TestRow(&Text, Index, Rows[Index]);
        }

        if (Piece == 1) {
            TEST_SUCCESS(OutputSplitText(&Text, 80));
            TEST_SUCCESS(OutputEndText(&Text));
            TEST_EQUAL(Text.NumberOfRows, RTL_NUMBER_OF(Rows) - 2);
            TestRow(&Text, 2, "1234567890x\n");
        }

        OutputRundownText(&Text);
        TEST_EQUAL(Text.Length, 0);
    }
}

//
// What is sought is found through colours, in its case if it has capitals.
//

static
VOID
TestSeeking(
    VOID
    )
{
    static const CHAR Lines[] = "one\nGame\x1b[0m::Draw\n";
    READER_PAGER_TEXT Text;

    OutputInitializeText(&Text, TestAllocator, 10);
    TEST_SUCCESS(OutputAppendText(&Text, Lines, sizeof(Lines) - 1));
    TEST_EQUAL(Text.NumberOfRows, 2);
    TEST(OutputIsInRow(&Text, 0, "ne", 2));
    TEST(!OutputIsInRow(&Text, 0, "Ne", 2));
    TEST(OutputIsInRow(&Text, 1, "me::dr", 6));
    TEST(OutputIsInRow(&Text, 1, "me::Dr", 6));
    TEST(!OutputIsInRow(&Text, 1, "mE::dr", 6));
    TEST(!OutputIsInRow(&Text, 0, "game", 4));
    TEST_EQUAL(OutputMatchText(&Text, 4, "game::", 6), 10);
    TEST_EQUAL(OutputMeasureSequence("\x1b[0m", 4), 4);
    TEST_EQUAL(OutputMeasureSequence("\x1b[0", 3), 0);
    TEST_EQUAL(OutputMeasureSequence("\x1b[0A", 4), 0);
    OutputRundownText(&Text);
}

//
// Rows, or bytes, are dropped at the beginning when there are more than may be.
//

static
VOID
TestKeeping(
    _In_ ULONG MaximumRows,
    _In_ ULONG MaximumBytes
    )
{
    READER_PAGER_TEXT Text;
    RTL_WRITER Writer;
    CHAR Line[16];
    CHAR Terminated[17];
    ULONG Index;
    ULONG Row;

    OutputInitializeText(&Text, TestAllocator, 80);
    Text.MaximumRows = MaximumRows;
    Text.MaximumBytes = MaximumBytes;
    for (Index = 0; Index < TEST_ROWS; Index++) {

        RtlInitializeBufferWriter(&Writer, Line, sizeof(Line));
        RtlWriteText(&Writer, "row %u\n", Index);
        TEST_SUCCESS(OutputAppendText(&Text, Line, Writer.LengthInBytes));
        TEST(Text.NumberOfRows <= MaximumRows);
        TEST(Text.Length <= MaximumBytes);
        TEST_EQUAL(Text.NumberDropped + Text.NumberOfRows, Index + 1);
    }

    TEST(Text.NumberOfRows >= 25);
    for (Row = 0; Row < Text.NumberOfRows; Row++) {
        RtlInitializeBufferWriter(&Writer, Terminated, sizeof(Terminated) - 1);
        RtlWriteText(&Writer,
                     "row %u\n",
                     (ULONG)Text.NumberDropped + Row);
        Terminated[Writer.LengthInBytes] = 0;
        TestRow(&Text, Row, Terminated);
    }

    OutputRundownText(&Text);
}

_Use_decl_annotations_
VOID
TestPages(
    VOID
    )
{
    TestSplitting();
    TestSeeking();
    TestKeeping(TEST_KEPT_ROWS, READER_PAGER_MAXIMUM_BYTES);
    TestKeeping(READER_PAGER_MAXIMUM_ROWS, TEST_KEPT_BYTES);
}

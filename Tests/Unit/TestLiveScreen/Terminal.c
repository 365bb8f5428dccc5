/*++

Module Name:

    Terminal.c

Abstract:

    A terminal that follows the text and the sequences that are written to it,
    and what comes to stand on its screen.

--*/

#include "TestLiveScreen.h"
#include "../../../Reader/Output/OutputWidth.h"

PCRTL TestRtl;
PCALLOCATOR TestAllocator;
static ULONGLONG TestRandomState = 20260704;

TEST_TERMINAL TestTerminal;


//
// Makes a random number.
// Bound: one more than the largest.
//

static
ULONG
TestRandom(
    _In_ ULONG Bound
    )
{
    TestRandomState ^= TestRandomState << 13;
    TestRandomState ^= TestRandomState >> 7;
    TestRandomState ^= TestRandomState << 17;
    return (ULONG)((TestRandomState >> 11) % Bound);
}

_Use_decl_annotations_
VOID
TestResetTerminal(
    ULONG Width,
    ULONG Height
    )
{
    ULONG X;
    ULONG Y;

    RtlZeroBytes(&TestTerminal, sizeof(TestTerminal));
    TestTerminal.Width = Width;
    TestTerminal.Height = Height;
    for (Y = 0; Y < TEST_HEIGHT; Y++) {
        for (X = 0; X < TEST_WIDTH; X++) {
            TestTerminal.Cells[Y][X] = '?';
        }
    }
}


//
// Erases the rest of a line.
// From: the first column.
//

static
VOID
TestErase(
    _In_ ULONG From,
    _In_ ULONG Y
    )
{
    ULONG X;

    for (X = From; X < TestTerminal.Width; X++) {
        TestTerminal.Cells[Y][X] = ' ';
        TestTerminal.Inverse[Y][X] = TestTerminal.IsInverse;
        TestTerminal.Bold[Y][X] = FALSE;
    }
}


//
// Follows one control sequence.
// Bytes, Length: what follows ESC.
// Returns how many bytes it had.
//

static
ULONG
TestFollowSequence(
    _In_reads_bytes_(Length) const CHAR *Bytes,
    _In_ ULONG Length
    )
{
    ULONG Numbers[4] = { 0 };
    ULONG Count = 0;
    ULONG Index = 1;
    ULONG Place;
    BOOLEAN IsPrivate = FALSE;

    if (Length < 2 || Bytes[0] != '[') {
        TestTerminal.NumberOfErrors += 1;
        return 1;
    }

    if (Bytes[Index] == '?') {
        IsPrivate = TRUE;
        Index += 1;
    }

    while (Index < Length && (Bytes[Index] == ';' ||
                              (Bytes[Index] >= '0' && Bytes[Index] <= '9'))) {
        if (Bytes[Index] == ';') {
            Count += 1;
        } else if (Count < 4) {
            Numbers[Count] = Numbers[Count] * 10 + (ULONG)(Bytes[Index] - '0');
        }
        Index += 1;
    }

    Count += 1;
    if (Index == Length || Count > 4) {
        TestTerminal.NumberOfErrors += 1;
        return Length;
    }

    if (IsPrivate) {
        if (Numbers[0] == 1049) {
            TestTerminal.IsAlternate = Bytes[Index] == 'h';
        } else if (Numbers[0] == 25) {
            TestTerminal.IsCursorHidden = Bytes[Index] == 'l';
        } else {
            TestTerminal.NumberOfErrors += 1;
        }
        return Index + 1;
    }

    switch (Bytes[Index]) {

    case 'H':
        TestTerminal.Y = Numbers[0] != 0 ? Numbers[0] - 1 : 0;
        TestTerminal.X = Numbers[1] != 0 ? Numbers[1] - 1 : 0;
        TestTerminal.NumberOfMoves += 1;
        if (TestTerminal.Y >= TestTerminal.Height) {
            TestTerminal.NumberOfErrors += 1;
            TestTerminal.Y = 0;
        }
        break;

    case 'K':
        TestErase(TestTerminal.X, TestTerminal.Y);
        break;

    case 'J':
        for (Place = 0; Place < TestTerminal.Height; Place++) {
            TestErase(0, Place);
        }
        break;

    case 'm':
        for (Place = 0; Place < Count; Place++) {
            if (Numbers[Place] == 0) {
                TestTerminal.IsBold = FALSE;
                TestTerminal.IsInverse = FALSE;
                TestTerminal.Color = 0;
            } else if (Numbers[Place] == 1) {
                TestTerminal.IsBold = TRUE;
            } else if (Numbers[Place] == 7) {
                TestTerminal.IsInverse = TRUE;
            } else {
                TestTerminal.Color = Numbers[Place];
                TestTerminal.NumberOfColors += 1;
            }
        }
        break;

    default:
        TestTerminal.NumberOfErrors += 1;
        break;
    }

    return Index + 1;
}

_Use_decl_annotations_
VOID
TestFollow(
    const CHAR *Bytes,
    ULONG Length
    )
{
    ULONG Character;
    ULONG Index = 0;
    ULONG Size;

    while (Index < Length) {

        if (Bytes[Index] == 0x1B) {
            Index += 1 + TestFollowSequence(Bytes + Index + 1,
                                            Length - Index - 1);
            continue;
        }

        Index += RtlDecodeUtf8(Bytes + Index, Length - Index, &Character);

        //
        // Wide: what the tests have of that.
        //

        Size = Character >= 0x4E00 && Character <= 0x9FFF ? 2 : 1;
        if (Character < ' ' || TestTerminal.X + Size > TestTerminal.Width) {
            TestTerminal.NumberOfErrors += 1;
            continue;
        }

        TestTerminal.Cells[TestTerminal.Y][TestTerminal.X] = Character;
        TestTerminal.Inverse[TestTerminal.Y][TestTerminal.X] =
            TestTerminal.IsInverse;
        TestTerminal.Bold[TestTerminal.Y][TestTerminal.X] =
            TestTerminal.IsBold;
        TestTerminal.Colors[TestTerminal.Y][TestTerminal.X] =
            TestTerminal.Color;
        if (Size == 2) {
            TestTerminal.Cells[TestTerminal.Y][TestTerminal.X + 1] = 0;
        }

        TestTerminal.X += Size;
    }
}

_Use_decl_annotations_
ULONG
TestCountDifferences(
    PCREADER_SCREEN Screen
    )
{
    ULONG Count = 0;
    ULONG X;
    ULONG Y;

    for (Y = 0; Y < Screen->Height; Y++) {
        for (X = 0; X < Screen->Width; X++) {

            PCREADER_CELL Cell = &Screen->Cells[Y * Screen->Width + X];

            Count += TestTerminal.Cells[Y][X] != Cell->Character ||
                     (Cell->Character != 0 &&
                      TestTerminal.Inverse[Y][X] !=
                          (Cell->Style == ReaderStyleHeading ||
                           Cell->Style == ReaderStyleSelected));
        }
    }

    return Count;
}

_Use_decl_annotations_
VOID
TestLine(
    PCREADER_SCREEN Screen,
    ULONG Y,
    PCSZ Expected
    )
{
    CHAR Line[TEST_WIDTH * 2];
    ULONG Length = 0;
    ULONG Used = 0;
    ULONG X;

    for (X = 0; X < Screen->Width && Y < Screen->Height; X++) {

        ULONG Character = Screen->Cells[Y * Screen->Width + X].Character;

        if (Character == 0) {
            continue;
        }

        Line[Length] = (CHAR)Character;
        if (Character == 0x2026) {
            Line[Length] = '~';
        } else if (Character >= 0x80) {
            Line[Length] = '#';
        }

        Length += 1;
        if (Character != ' ') {
            Used = Length;
        }
    }

    TEST_EQUAL_TEXT(Line, Used, Expected);
}


//
// Checks how a text gets onto a line.
//

VOID
TestPutting(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };

    TEST_EQUAL(OutputQueryCharacterWidth('a'), 1);
    TEST_EQUAL(OutputQueryCharacterWidth(0xE9), 1);
    TEST_EQUAL(OutputQueryCharacterWidth(0x301), 0);
    TEST_EQUAL(OutputQueryCharacterWidth(0x200B), 0);
    TEST_EQUAL(OutputQueryCharacterWidth(0x202E), 0);
    TEST_EQUAL(OutputQueryCharacterWidth(0x4E2D), 2);
    TEST_EQUAL(OutputQueryCharacterWidth(0xAC00), 2);
    TEST_EQUAL(OutputQueryCharacterWidth(0xFF21), 2);
    TEST_EQUAL(OutputQueryCharacterWidth(0x1F600), 2);
    TEST_EQUAL(OutputQueryCharacterWidth(0x2026), 1);
    TEST_EQUAL(OutputQueryCharacterWidth(0x3FFFE), 1);

    Screen.Allocator = TestAllocator;
    if (!TEST_SUCCESS(LiveResizeScreen(&Screen, 10, 3))) {
        return;
    }

    TEST_EQUAL(LivePutOnScreen(&Screen, 2, 0, 20, 0, "abc", 3), 3);
    TestLine(&Screen, 0, "  abc");
    TEST_EQUAL(LivePutOnScreen(&Screen, 0, 1, 5, 0, "abcde", 5), 5);
    TestLine(&Screen, 1, "abcde");
    TEST_EQUAL(LivePutOnScreen(&Screen, 0, 1, 5, 0, "abcdef", 6), 5);
    TestLine(&Screen, 1, "abcd~");
    TEST_EQUAL(LivePutOnScreen(&Screen, 8, 2, 99, 0, "xyz", 3), 2);
    TestLine(&Screen, 2, "        x~");
    TEST_EQUAL(LivePutOnScreen(&Screen, 10, 2, 9, 0, "xyz", 3), 0);
    TEST_EQUAL(LivePutOnScreen(&Screen, 0, 3, 9, 0, "xyz", 3), 0);
    TEST_EQUAL(LivePutOnScreen(&Screen, 0, 0, 0, 0, "xyz", 3), 0);

    //
    // Wide characters are whole or not there; what has no width is left out,
    // and what controls a terminal is replaced.
    //

    LiveClearScreen(&Screen);
    TEST_EQUAL(LivePutOnScreen(&Screen,
                               0,
                               0,
                               5,
                               0,
                               "\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97",
                               9),
               5);
    TestLine(&Screen, 0, "##~");
    TEST_EQUAL(Screen.Cells[1].Character, 0);
    TEST_EQUAL(Screen.Cells[3].Character, 0);
    LiveClearScreen(&Screen);
    TEST_EQUAL(LivePutOnScreen(&Screen,
                               0,
                               0,
                               4,
                               0,
                               "\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97",
                               9),
               4);
    TestLine(&Screen, 0, "#~");
    TEST_EQUAL(LivePutOnScreen(&Screen,
                               0,
                               1,
                               10,
                               0,
                               "e\xCC\x81\x1b[31m\r\n\xC2\x9B",
                               11),
               9);
    TestLine(&Screen, 1, "e#[31m###");
    TEST_EQUAL(LivePutOnScreen(&Screen, 0, 2, 10, 0, "\xFF\xE4\xB8", 3), 2);
    TestLine(&Screen, 2, "##");
    LiveRundownScreen(&Screen);
}


//
// Checks that the terminal follows random changes, and that only lines that
// changed are written.
//

VOID
TestRendering(
    VOID
    )
{
    static const PCSZ Texts[] = {
        "", "a", "Function", "\xE4\xB8\xAD\xE6\x96\x87", "caf\xC3\xA9 12,345",
        "                    ", "a very long name that is cut somewhere"
    };
    READER_SCREEN Screen = { 0 };
    ULONG Changed[TEST_HEIGHT];
    ULONG Different = 0;
    ULONG Moves;
    ULONG Wrong = 0;
    ULONG Round;
    ULONG Index;
    ULONG Y;
    ULONG Length;

    Screen.Allocator = TestAllocator;
    Screen.HasColor = TRUE;
    for (Round = 0; Round < 400; Round++) {

        if (Round % 100 == 0) {
            if (!TEST_SUCCESS(LiveResizeScreen(
                    &Screen,
                    Round == 0 ? 1 : 20 + TestRandom(TEST_WIDTH - 20),
                    Round == 0 ? 1 : 2 + TestRandom(TEST_HEIGHT - 2)))) {
                return;
            }

            TestResetTerminal(Screen.Width, Screen.Height);
        }

        RtlZeroBytes(Changed, sizeof(Changed));
        for (Index = TestRandom(4); Index != 0; Index--) {
            PCSZ Text = Texts[TestRandom(RTL_NUMBER_OF(Texts))];

            Y = TestRandom(Screen.Height);
            LivePutOnScreen(&Screen,
                            TestRandom(Screen.Width),
                            Y,
                            TestRandom(40),
                            (READER_STYLE)TestRandom(6),
                            Text,
                            RtlLengthOfString(Text));
            if (TestRandom(8) == 0) {
                LiveStyleLine(&Screen, Y, (READER_STYLE)TestRandom(6));
            }
            Changed[Y] = 1;
        }

        //
        // A wide character that was half overwritten is mended by nobody: the
        // views clear the screen first.
        //

        for (Y = 0; Y < Screen.Height; Y++) {
            for (Index = 0; Index < Screen.Width; Index++) {
                PREADER_CELL Cell = &Screen.Cells[Y * Screen.Width + Index];
                BOOLEAN IsWide = Cell->Character >= 0x4E00 &&
                                 Cell->Character <= 0x9FFF;

                if (IsWide && (Index + 1 == Screen.Width ||
                               Cell[1].Character != 0)) {
                    Cell->Character = 'x';
                } else if (Cell->Character == 0 &&
                           (Index == 0 || Cell[-1].Character < 0x4E00 ||
                            Cell[-1].Character > 0x9FFF)) {
                    Cell->Character = 'y';
                } else if (Cell->Character == 0) {
                    Cell->Style = Cell[-1].Style;
                }
            }
        }

        Moves = 0;
        for (Y = 0; Y < Screen.Height; Y++) {
            Moves += Changed[Y];
        }

        if (Round % 100 == 0) {
            Moves = Screen.Height;
        }

        TestTerminal.NumberOfMoves = 0;
        Length = LiveRenderScreen(&Screen);
        TestFollow(Screen.Bytes, Length);
        Different += TestCountDifferences(&Screen);
        Wrong += TestTerminal.NumberOfMoves > Moves;
        Wrong += (Length == 0) != (TestTerminal.NumberOfMoves == 0);
        Wrong += LiveRenderScreen(&Screen) != 0;
        Wrong += TestTerminal.IsInverse || TestTerminal.IsBold ||
                 TestTerminal.Color != 0;
    }

    TEST_EQUAL(Different, 0);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(TestTerminal.NumberOfErrors, 0);
    TEST(TestTerminal.NumberOfColors != 0);

    //
    // The control: a cell that is not rendered differs.
    //

    LivePutOnScreen(&Screen, 0, 0, 9, ReaderStyleNormal, "\x01", 1);
    TEST_EQUAL(TestCountDifferences(&Screen), 1);

    //
    // No colors: none in all that is written.
    //

    Screen.HasColor = FALSE;
    TestResetTerminal(Screen.Width, Screen.Height);
    Screen.IsAllChanged = TRUE;
    LiveClearScreen(&Screen);
    for (Index = 0; Index < 6 && Index < Screen.Height; Index++) {
        LivePutOnScreen(&Screen,
                        0,
                        Index,
                        9,
                        (READER_STYLE)Index,
                        "text",
                        4);
    }

    TestFollow(Screen.Bytes, LiveRenderScreen(&Screen));
    TEST_EQUAL(TestTerminal.NumberOfColors, 0);
    TEST_EQUAL(TestCountDifferences(&Screen), 0);

    //
    // The bounds of a screen's size.
    //

    TEST_SUCCESS(LiveResizeScreen(&Screen, 0, 0));
    TEST_EQUAL(Screen.Width, 1);
    TEST_EQUAL(Screen.Height, 1);
    TEST_SUCCESS(LiveResizeScreen(&Screen, 100000, 100000));
    TEST_EQUAL(Screen.Width, READER_SCREEN_MAXIMUM_WIDTH);
    TEST_EQUAL(Screen.Height, READER_SCREEN_MAXIMUM_HEIGHT);
    Length = LiveRenderScreen(&Screen);
    TEST(Length != 0 && Length < Screen.CapacityInBytes);
    for (Index = 0; Index < Screen.Width; Index++) {
        for (Y = 0; Y < Screen.Height; Y++) {
            Screen.Cells[Y * Screen.Width + Index].Character = 0x1F600;
            Screen.Cells[Y * Screen.Width + Index].Style =
                Index % 2 ? ReaderStyleWarning : ReaderStyleSelected;
        }
    }

    Screen.HasColor = TRUE;
    Length = LiveRenderScreen(&Screen);
    TEST(Length != 0 && Length < Screen.CapacityInBytes);
    LiveRundownScreen(&Screen);
}

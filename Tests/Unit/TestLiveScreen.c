/*++

Module Name:

    TestLiveScreen.c

Abstract:

    The screen of TraceReader live: what it draws for a given program, at any
    size; that the control sequences bring a terminal to just that; what keys
    do; and that a terminal is left as it was found.

    A small terminal here follows the sequences by their definition and knows
    nothing of the screen that made them.  A console here has kernel32.dll's
    routines, with control sequences, with cells, or with neither.

--*/

#include "Test.h"
#include "../../Reader/Live/LiveConsole.h"

#define TEST_WIDTH 120
#define TEST_HEIGHT 40

static PCRTL TestRtl;
static PCALLOCATOR TestAllocator;
static ULONGLONG TestRandomState = 20260704;

//
// The terminal.
//

typedef struct _TEST_TERMINAL {
    ULONG Width;
    ULONG Height;
    ULONG X;
    ULONG Y;
    BOOLEAN IsBold;
    BOOLEAN IsInverse;
    ULONG Color;                    // 0: the default
    BOOLEAN IsAlternate;
    BOOLEAN IsCursorHidden;
    ULONG NumberOfMoves;
    ULONG NumberOfColors;
    ULONG NumberOfErrors;
    ULONG Cells[TEST_HEIGHT][TEST_WIDTH];
    BOOLEAN Inverse[TEST_HEIGHT][TEST_WIDTH];
    BOOLEAN Bold[TEST_HEIGHT][TEST_WIDTH];
} TEST_TERMINAL;
typedef TEST_TERMINAL *PTEST_TERMINAL;

static TEST_TERMINAL TestTerminal;


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


//
// Makes a terminal that shows a question mark everywhere.
// Width, Height: its size.
//

static
VOID
TestResetTerminal(
    _In_ ULONG Width,
    _In_ ULONG Height
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


//
// Shows bytes on the terminal.
// Bytes, Length: UTF-8 and control sequences.
//

static
VOID
TestFollow(
    _In_reads_bytes_(Length) const CHAR *Bytes,
    _In_ ULONG Length
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
        if (Size == 2) {
            TestTerminal.Cells[TestTerminal.Y][TestTerminal.X + 1] = 0;
        }

        TestTerminal.X += Size;
    }
}


//
// Compares the terminal with the screen.
// Returns the number of cells that differ.
//

static
ULONG
TestCountDifferences(
    _In_ PCREADER_SCREEN Screen
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


//
// Checks a line, but for blanks at its end.
// Expected: ASCII, with ~ for an ellipsis and # for any other character.
//

static
VOID
TestLine(
    _In_ PCREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_z_ PCSZ Expected
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

static
VOID
TestPutting(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };

    TEST_EQUAL(LiveQueryCharacterWidth('a'), 1);
    TEST_EQUAL(LiveQueryCharacterWidth(0xE9), 1);
    TEST_EQUAL(LiveQueryCharacterWidth(0x301), 0);
    TEST_EQUAL(LiveQueryCharacterWidth(0x200B), 0);
    TEST_EQUAL(LiveQueryCharacterWidth(0x202E), 0);
    TEST_EQUAL(LiveQueryCharacterWidth(0x4E2D), 2);
    TEST_EQUAL(LiveQueryCharacterWidth(0xAC00), 2);
    TEST_EQUAL(LiveQueryCharacterWidth(0xFF21), 2);
    TEST_EQUAL(LiveQueryCharacterWidth(0x1F600), 2);
    TEST_EQUAL(LiveQueryCharacterWidth(0x2026), 1);
    TEST_EQUAL(LiveQueryCharacterWidth(0x3FFFE), 1);

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

static
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


//
// The program that the views show.
//

static CHAR TestLongName[3000];
static CORE_CLOCK TestClock;
static READER_LIVE_FUNCTION_ROW TestFunctions[50];
static READER_LIVE_THREAD_ROW TestThreads[3];
static READER_LIVE_FRAME_ROW TestFrames[60];
static CHAR TestNames[50][16];
static READER_LIVE_MODEL TestModel;


static
VOID
TestMakeModel(
    VOID
    )
{
    RTL_WRITER Writer;
    ULONG Index;

    RtlFillBytes(TestLongName, sizeof(TestLongName), 'L');
    RtlZeroBytes(&TestModel, sizeof(TestModel));
    TestModel.Allocator = TestAllocator;
    TestModel.Path = "C:\\traces\\program";
    CoreInitializeClock(&TestClock);

    //
    // A tick is a nanosecond.
    //

    TestClock.Kind = TRACE_CLOCK_TSC;
    TestClock.Ticks = 1000000000;
    TestClock.Nanoseconds = 1000000000;
    TestModel.Clock = &TestClock;
    TestModel.ProcessId = 4711;
    TestModel.NumberOfRunning = 2;
    TestModel.AllRecords = 1234567;
    TestModel.CallsPerSecond = 617283;
    TestModel.IntervalInNanoseconds = 1000000000;
    TestModel.SamplePerMille = 1000;

    for (Index = 0; Index < 50; Index++) {

        PREADER_LIVE_FUNCTION_ROW Row = &TestFunctions[Index];

        RtlZeroBytes(Row, sizeof(*Row));
        RtlInitializeBufferWriter(&Writer, TestNames[Index], 16);
        RtlWriteText(&Writer, "function%02u", Index);
        Row->Name = TestNames[Index];
        Row->NameLength = 10;
        Row->IsShown = TRUE;
        Row->IsRunning = TRUE;
        Row->Calls = 50 - Index;
        Row->CallsPerSecond = 50 - Index;
        Row->SelfTicks = 1000000 + Index;
        Row->SelfPerSecond = 1000000 + Index;
        Row->SelfPerMille = 20;
        Row->AllCalls = 1000 + (Index * 7) % 50;
        Row->AllTotalTicks = 5000000;
        Row->AllSelfTicks = 3000000;
        Row->AverageTicks = 1500;
        Row->HasAverage = TRUE;
    }

    TestFunctions[3].Name = TestLongName;
    TestFunctions[3].NameLength = sizeof(TestLongName);
    TestFunctions[4].Name = "\xE4\xB8\xAD\xE6\x96\x87::\x1b[2J";
    TestFunctions[4].NameLength = 12;
    TestFunctions[5].IsShown = FALSE;
    TestModel.Functions = TestFunctions;
    TestModel.NumberOfFunctions = 50;

    RtlZeroBytes(TestThreads, sizeof(TestThreads));
    for (Index = 0; Index < 3; Index++) {
        TestThreads[Index].ThreadId = 100 + Index;
        TestThreads[Index].State = Index == 2 ? "ended" : "running";
        TestThreads[Index].CallsPerSecond = 1000 * (Index + 1);
        TestThreads[Index].Records = 2000;
        TestThreads[Index].SizeInBytes = 32000;
        TestThreads[Index].FirstFrame = Index == 0 ? 0 : 20;
    }

    TestThreads[0].Name = "main";
    TestThreads[0].NameLength = 4;
    TestThreads[0].Depth = 20;
    TestThreads[0].Innermost = "leaf";
    TestThreads[0].InnermostLength = 4;
    TestThreads[1].Depth = 40;
    TestThreads[1].Innermost = "function05";
    TestThreads[1].InnermostLength = 10;
    TestThreads[2].FirstFrame = 60;
    TestModel.Threads = TestThreads;
    TestModel.NumberOfThreads = 3;
    for (Index = 0; Index < 60; Index++) {
        RtlZeroBytes(&TestFrames[Index], sizeof(TestFrames[Index]));
        TestFrames[Index].Name = TestNames[Index % 50];
        TestFrames[Index].NameLength = 10;
        TestFrames[Index].AgeInTicks = 60000 - Index * 1000;
        TestFrames[Index].IsShown = TRUE;
    }

    TestFrames[20].IsAssumed = TRUE;
    TestFrames[21].Track = 1;
    TestModel.Frames = TestFrames;
    TestModel.NumberOfFrames = 60;
}


//
// Width, Height: its size.
//

static
VOID
TestDraw(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Width,
    _In_ ULONG Height
    )
{
    TEST_SUCCESS(LiveResizeScreen(Screen, Width, Height));
    TEST_SUCCESS(LiveDrawView(View, &TestModel, Screen));
}


//
// Presses keys, and draws after each.
// Screen: the screen, with a size.
//

static
VOID
TestType(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_z_ PCSZ Characters
    )
{
    while (*Characters != 0) {
        LivePressKey(View,
                     &TestModel,
                     ReaderKeyCharacter,
                     (UCHAR)*Characters);
        TEST_SUCCESS(LiveDrawView(View, &TestModel, Screen));
        Characters += 1;
    }
}


//
// Presses a key, and draws.
// Screen: the screen, with a size.
//

static
VOID
TestPress(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_ READER_KEY Key
    )
{
    LivePressKey(View, &TestModel, Key, 0);
    TEST_SUCCESS(LiveDrawView(View, &TestModel, Screen));
}


//
// Checks the list of functions, and what keys do to it.
//

static
VOID
TestFunctionView(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Index;

    Screen.Allocator = TestAllocator;
    LiveInitializeView(&View, 1000);
    TestDraw(&View, &Screen, 100, 16);
    TestLine(&Screen, 0, "TraceReader live  C:\\traces\\program");
    TestLine(&Screen,
             1,
             "Process 4711  2 of 3 threads running  1,234,567 records  "
             "617,283 calls/s  every 1.0 s");
    TestLine(&Screen, 2, "Up to date: all records have been read.");
    TestLine(&Screen, 3, "[1 Functions]  2 Threads   3 Open frames   49");
    TestLine(&Screen,
             4,
             "  vSelf %      Self/s        Calls/s            Calls       "
             "Total     Average  Function");
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms              1            1,043    5.000 "
             "ms    1.500 us  function49");
    TestLine(&Screen,
             14,
             "    2.0    1.000 ms             10            1,030    5.000 "
             "ms    1.500 us  function40");
    TestLine(&Screen,
             15,
             "q quit  h help  Tab view  s c t n sort  r reverse  / filter  "
             "p pause  + - interval");
    for (Index = 0; Index < Screen.Width; Index++) {
        if (Screen.Cells[4 * 100 + Index].Style != ReaderStyleHeading ||
            Screen.Cells[5 * 100 + Index].Style != ReaderStyleSelected) {
            break;
        }
    }
    TEST_EQUAL(Index, Screen.Width);

    //
    // Other orders.
    //

    TestType(&View, &Screen, "c");
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms             50            1,000    5.000 "
             "ms    1.500 us  function00");
    TestLine(&Screen,
             8,
             "    2.0    1.000 ms             47            1,021    5.000 "
             "ms    1.500 us  LLLLLLLLLLLLLLLLLLLLLL~");
    TestLine(&Screen,
             9,
             "    2.0    1.000 ms             46            1,028    5.000 "
             "ms    1.500 us  ##::#[2J");
    TestType(&View, &Screen, "r");
    TestLine(&Screen,
             4,
             " Self %      Self/s       ^Calls/s            Calls       "
             "Total     Average  Function");
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms              1            1,043    5.000 "
             "ms    1.500 us  function49");
    TestType(&View, &Screen, "n");
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms             47            1,021    5.000 "
             "ms    1.500 us  LLLLLLLLLLLLLLLLLLLLLL~");
    TestPress(&View, &Screen, ReaderKeyLeft);
    TestPress(&View, &Screen, ReaderKeyLeft);
    TestPress(&View, &Screen, ReaderKeyLeft);
    TestPress(&View, &Screen, ReaderKeyLeft);
    TEST_EQUAL(View.SortColumn[ReaderViewFunctions], 3);
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms             43            1,049    5.000 "
             "ms    1.500 us  function07");

    //
    // Moving.
    //

    TestType(&View, &Screen, "s");
    TestPress(&View, &Screen, ReaderKeyDown);
    TEST_EQUAL(View.Selected[0], 1);
    TestPress(&View, &Screen, ReaderKeyPageDown);
    TEST_EQUAL(View.Selected[0], 10);
    TEST_EQUAL(View.Top[0], 1);
    TestPress(&View, &Screen, ReaderKeyEnd);
    TEST_EQUAL(View.Selected[0], 48);
    TEST_EQUAL(View.Top[0], 39);
    TestPress(&View, &Screen, ReaderKeyDown);
    TEST_EQUAL(View.Selected[0], 48);
    TestLine(&Screen,
             14,
             ">   2.0    1.000 ms             50            1,000    5.000 "
             "ms    1.500 us  function00");
    TestPress(&View, &Screen, ReaderKeyPageUp);
    TEST_EQUAL(View.Selected[0], 39);
    TestPress(&View, &Screen, ReaderKeyHome);
    TestPress(&View, &Screen, ReaderKeyUp);
    TEST_EQUAL(View.Selected[0], 0);
    TEST_EQUAL(View.Top[0], 0);

    //
    // The filter, in any case; what it has hidden is back after Esc.
    //

    TestType(&View, &Screen, "/TION1");
    TEST_EQUAL(View.NumberOfRows, 10);
    TestLine(&Screen,
             15,
             "Show only names with: TION1_   (Enter keeps it, Esc shows all)");
    TestPress(&View, &Screen, ReaderKeyBackspace);
    TEST_EQUAL(View.NumberOfRows, 47);
    TestType(&View, &Screen, "1q");
    TEST_EQUAL(View.NumberOfRows, 0);
    TEST(!View.IsQuitting);
    TestPress(&View, &Screen, ReaderKeyBackspace);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TestLine(&Screen,
             3,
             "[1 Functions]  2 Threads   3 Open frames   10  filter: TION1");
    TestPress(&View, &Screen, ReaderKeyEscape);
    TEST_EQUAL(View.NumberOfRows, 49);
    TestType(&View, &Screen, "/");
    LivePressKey(&View, &TestModel, ReaderKeyCharacter, 0x4E2D);
    TEST_EQUAL(View.FilterLength, 3);
    TestDraw(&View, &Screen, 100, 16);
    TEST_EQUAL(View.NumberOfRows, 1);
    TestPress(&View, &Screen, ReaderKeyBackspace);
    TEST_EQUAL(View.FilterLength, 0);
    for (Index = 0; Index < 200; Index++) {
        LivePressKey(&View, &TestModel, ReaderKeyCharacter, 0x4E2D);
    }
    TEST_EQUAL(View.FilterLength, READER_VIEW_FILTER_SIZE);
    TestPress(&View, &Screen, ReaderKeyEscape);

    //
    // Pause, interval, help, leaving.
    //

    TestType(&View, &Screen, "p");
    TEST(View.IsPaused);
    TestLine(&Screen,
             3,
             "PAUSED (p goes on)  [1 Functions]  2 Threads   3 Open frames   "
             "49");
    TestType(&View, &Screen, " ");
    TEST(!View.IsPaused);
    TestType(&View, &Screen, "+");
    TEST_EQUAL(View.IntervalInMilliseconds, 500);
    TestType(&View, &Screen, "++++");
    TEST_EQUAL(View.IntervalInMilliseconds, 100);
    TestType(&View, &Screen, "------------");
    TEST_EQUAL(View.IntervalInMilliseconds, 60000);
    TestType(&View, &Screen, "h");
    TestLine(&Screen, 0, "TraceReader live: keys (any key goes back)");
    TestType(&View, &Screen, "x");
    TEST_EQUAL(View.Kind, ReaderViewFunctions);
    TEST(!View.IsQuitting);
    TestType(&View, &Screen, "q");
    TEST(View.IsQuitting);
    View.IsQuitting = FALSE;
    LivePressKey(&View, &TestModel, ReaderKeyStop, 0);
    TEST(View.IsQuitting);

    TestAllocator->Free(TestAllocator->Context, View.Order);
    LiveRundownScreen(&Screen);
}


//
// Checks the threads, the open frames, what is said of the numbers, and
// screens of other sizes.
//

static
VOID
TestOtherViews(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Width;
    ULONG Height;
    ULONG Kind;

    Screen.Allocator = TestAllocator;
    LiveInitializeView(&View, 1000);
    TestDraw(&View, &Screen, 116, 16);
    TestType(&View, &Screen, "2");
    TestLine(&Screen,
             4,
             "   Thread  State         vCalls/s          Records         MiB"
             "   Depth  Name              Runs");
    TestLine(&Screen,
             5,
             ">     102  ended            3,000            2,000         0.0"
             "       0");
    TestLine(&Screen,
             7,
             "      100  running          1,000            2,000         0.0"
             "      20  main              leaf");
    TestType(&View, &Screen, "n");
    TestPress(&View, &Screen, ReaderKeyDown);
    TestLine(&Screen,
             6,
             ">     102  ended            3,000            2,000         0.0"
             "       0");
    TestPress(&View, &Screen, ReaderKeyUp);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.Kind, ReaderViewFrames);
    TEST_EQUAL(View.Thread, 1);
    TestLine(&Screen,
             3,
             " 1 Functions   2 Threads  [3 Open frames]  thread 101, 40 open");
    TEST_EQUAL(View.Selected[ReaderViewFrames], 39);
    TestLine(&Screen,
             14,
             ">  1.000 us                                function09");
    TestPress(&View, &Screen, ReaderKeyHome);
    TestLine(&Screen, 5, "> 40.000 us?  function20");
    TestLine(&Screen, 6, "  39.000 us *  function21");
    TestPress(&View, &Screen, ReaderKeyRight);
    TEST_EQUAL(View.Thread, 2);
    TEST_EQUAL(View.NumberOfRows, 0);
    TestPress(&View, &Screen, ReaderKeyRight);
    TEST_EQUAL(View.Thread, 0);
    TEST_EQUAL(View.NumberOfRows, 20);
    TestPress(&View, &Screen, ReaderKeyTab);
    TEST_EQUAL(View.Kind, ReaderViewFunctions);

    //
    // What is said of the numbers.
    //

    TestModel.SamplePerMille = 73;
    TestModel.SincePerMille = 53;
    TestModel.IsEstimated = TRUE;
    TestDraw(&View, &Screen, 120, 16);
    TestLine(&Screen,
             2,
             "Estimated from 5.3 % of all records since reading began; "
             "functions may be missing.  --budget 100 reads all.");
    TEST_EQUAL(Screen.Cells[2 * 120].Style, ReaderStyleWarning);

    //
    // That stays so when all of the newest ones were read.
    //

    TestModel.SamplePerMille = 1000;
    TestDraw(&View, &Screen, 120, 16);
    TestLine(&Screen,
             2,
             "Estimated from 5.3 % of all records since reading began; "
             "functions may be missing.  --budget 100 reads all.");
    TestModel.IsEstimated = FALSE;
    TestModel.SincePerMille = 1000;
    TestModel.IsLate = TRUE;
    TestModel.AgeInMilliseconds = 1234;
    TestDraw(&View, &Screen, 100, 16);
    TestLine(&Screen,
             2,
             "Late: this shows what was 1234 ms ago, because the program "
             "writes faster than it can be read.");
    TestModel.IsLate = FALSE;
    TestModel.IsEnded = TRUE;
    RtlCopyBytes(TestModel.End, "The end.", 8);
    TestModel.EndLength = 8;
    TestDraw(&View, &Screen, 100, 16);
    TestLine(&Screen,
             2,
             "ENDED  The end.  The numbers are those of the whole run, "
             "exactly.");
    TestModel.IsEnded = FALSE;

    //
    // Narrow: the numbers that matter least go first.
    //

    TestDraw(&View, &Screen, 60, 12);
    TestLine(&Screen,
             4,
             "  vSelf %      Self/s        Calls/s  Function");
    TestDraw(&View, &Screen, 30, 12);
    TestLine(&Screen, 4, "  vSelf %  Function");
    TestLine(&Screen, 5, ">   2.0  function49");
    TestDraw(&View, &Screen, 20, 5);
    TestLine(&Screen, 0, "[1 Functions]  2 Th~");
    TestLine(&Screen, 1, " Function");
    TestLine(&Screen, 2, ">function49");
    TestLine(&Screen, 4, " function47");
    TestDraw(&View, &Screen, 1, 1);
    TestLine(&Screen, 0, "~");

    //
    // Any size, in any view: nothing is written outside.
    //

    for (Width = 1; Width < 110; Width += 1 + Width / 6) {
        for (Height = 1; Height < 38; Height += 1 + Height / 8) {
            for (Kind = 0; Kind < 4; Kind++) {

                View.Kind = (READER_VIEW_KIND)Kind;
                View.IsEditing = Kind == 1;
                TestDraw(&View, &Screen, Width, Height);
                TestResetTerminal(Width, Height);
                Screen.IsAllChanged = TRUE;
                TestFollow(Screen.Bytes, LiveRenderScreen(&Screen));
                if (TestTerminal.NumberOfErrors != 0 ||
                    TestCountDifferences(&Screen) != 0) {
                    TEST_EQUAL(Width * 1000 + Height, 0);
                }
            }
        }
    }

    //
    // A program of which nothing is known.
    //

    TestModel.NumberOfFunctions = 0;
    TestModel.NumberOfThreads = 0;
    TestModel.NumberOfFrames = 0;
    for (Kind = 0; Kind < 3; Kind++) {
        View.Kind = (READER_VIEW_KIND)Kind;
        TestDraw(&View, &Screen, 80, 24);
        TEST_EQUAL(View.NumberOfRows, 0);
        TestPress(&View, &Screen, ReaderKeyEnd);
        TestPress(&View, &Screen, ReaderKeyRight);
        TestPress(&View, &Screen, ReaderKeyEnter);
        TEST_EQUAL(View.Selected[Kind], 0);
    }

    TestMakeModel();
    TestAllocator->Free(TestAllocator->Context, View.Order);
    LiveRundownScreen(&Screen);
}


//
// The console.
//

typedef enum _TEST_CONSOLE_KIND {
    TestConsoleSequences = 0,
    TestConsoleCells,               // says that it takes sequences
    TestConsoleOld,                 // says that it does not
    TestConsoleNone                 // standard output is a file
} TEST_CONSOLE_KIND;

static struct {
    TEST_CONSOLE_KIND Kind;
    DWORD InputMode;
    DWORD OutputMode;
    CONSOLE_CURSOR_INFO Cursor;
    COORD Position;
    COORD Size;
    CHAR_INFO Cells[TEST_HEIGHT][TEST_WIDTH];
    ULONG NumberOfWrites;
    INPUT_RECORD Input[16];
    ULONG NumberOfInputs;
    ULONG NumberOfHandlers;
} TestConsole;

#define TEST_INPUT_HANDLE ((HANDLE)(ULONG_PTR)0x10)
#define TEST_OUTPUT_HANDLE ((HANDLE)(ULONG_PTR)0x20)


static
HANDLE
WINAPI
TestGetStdHandle(
    _In_ DWORD StandardHandle
    )
{
    return StandardHandle == STD_INPUT_HANDLE ? TEST_INPUT_HANDLE
                                              : TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestGetConsoleMode(
    _In_ HANDLE Console,
    _Out_ LPDWORD Mode
    )
{
    if (Console == TEST_OUTPUT_HANDLE && TestConsole.Kind == TestConsoleNone) {
        return FALSE;
    }

    *Mode = Console == TEST_INPUT_HANDLE ? TestConsole.InputMode
                                         : TestConsole.OutputMode;
    return TRUE;
}


static
BOOL
WINAPI
TestSetConsoleMode(
    _In_ HANDLE Console,
    _In_ DWORD Mode
    )
{
    if (Console == TEST_INPUT_HANDLE) {
        TestConsole.InputMode = Mode;
        return TRUE;
    }

    if ((Mode & 4) != 0 && TestConsole.Kind == TestConsoleOld) {
        return FALSE;
    }

    TestConsole.OutputMode = Mode;
    return TRUE;
}


static
BOOL
WINAPI
TestGetConsoleScreenBufferInfo(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    )
{
    RtlZeroBytes(Information, sizeof(*Information));
    if (Console != TEST_OUTPUT_HANDLE) {
        return FALSE;
    }

    Information->dwSize = TestConsole.Size;
    Information->wAttributes = 0x07;
    Information->dwCursorPosition = TestConsole.Position;
    Information->srWindow.Right = TestConsole.Size.X - 1;
    Information->srWindow.Bottom = TestConsole.Size.Y - 1;
    return TRUE;
}


static
BOOL
WINAPI
TestGetConsoleCursorInfo(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_CURSOR_INFO Information
    )
{
    *Information = TestConsole.Cursor;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCursorInfo(
    _In_ HANDLE Console,
    _In_ const CONSOLE_CURSOR_INFO *Information
    )
{
    TestConsole.Cursor = *Information;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCursorPosition(
    _In_ HANDLE Console,
    _In_ COORD Position
    )
{
    TestConsole.Position = Position;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestWriteConsoleW(
    _In_ HANDLE Console,
    _In_reads_(Count) const VOID *Buffer,
    _In_ DWORD Count,
    _Out_ LPDWORD Written,
    _In_opt_ LPVOID Reserved
    )
{
    CHAR Bytes[3 * 4096];
    ULONG Length;
    DWORD Index;

    UNREFERENCED_PARAMETER(Reserved);
    *Written = Count;
    TestConsole.NumberOfWrites += 1;
    if (TestConsole.Kind == TestConsoleSequences &&
        (TestConsole.OutputMode & 4) != 0) {
        if (Count > 4096) {
            return FALSE;
        }

        RtlWideToUtf8((PCWSTR)Buffer, Count, Bytes, sizeof(Bytes), &Length);
        TestFollow(Bytes, Length);
        return Console == TEST_OUTPUT_HANDLE;
    }

    for (Index = 0; Index < Count; Index++) {
        TestConsole.Cells[TestConsole.Position.Y][TestConsole.Position.X]
            .Char.UnicodeChar = ((PCWSTR)Buffer)[Index];
        TestConsole.Position.X += 1;
    }

    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
TestCopyCells(
    _Inout_ PCHAR_INFO Cells,
    _In_ COORD Size,
    _In_ PSMALL_RECT Region,
    _In_ BOOLEAN IsWrite
    )
{
    SHORT X;
    SHORT Y;

    if (Region->Left < 0 || Region->Right >= TestConsole.Size.X ||
        Region->Top < 0 || Region->Bottom >= TestConsole.Size.Y ||
        Size.X != Region->Right - Region->Left + 1 ||
        Size.Y != Region->Bottom - Region->Top + 1) {
        TestTerminal.NumberOfErrors += 1;
        return FALSE;
    }

    for (Y = 0; Y < Size.Y; Y++) {
        for (X = 0; X < Size.X; X++) {
            PCHAR_INFO To =
                &TestConsole.Cells[Region->Top + Y][Region->Left + X];

            if (IsWrite) {
                *To = Cells[Y * Size.X + X];
            } else {
                Cells[Y * Size.X + X] = *To;
            }
        }
    }

    return TRUE;
}


static
BOOL
WINAPI
TestWriteConsoleOutputW(
    _In_ HANDLE Console,
    _In_ const CHAR_INFO *Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    )
{
    UNREFERENCED_PARAMETER(Origin);
    TestConsole.NumberOfWrites += 1;
    return Console == TEST_OUTPUT_HANDLE &&
           TestCopyCells((PCHAR_INFO)Cells, Size, Region, TRUE);
}


static
BOOL
WINAPI
TestReadConsoleOutputW(
    _In_ HANDLE Console,
    _Out_ PCHAR_INFO Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    )
{
    UNREFERENCED_PARAMETER(Origin);
    return Console == TEST_OUTPUT_HANDLE &&
           TestCopyCells(Cells, Size, Region, FALSE);
}


static
BOOL
WINAPI
TestReadConsoleInputW(
    _In_ HANDLE Console,
    _Out_ PINPUT_RECORD Records,
    _In_ DWORD Length,
    _Out_ LPDWORD NumberRead
    )
{
    *NumberRead = TestConsole.NumberOfInputs;
    if (Console != TEST_INPUT_HANDLE || Length < TestConsole.NumberOfInputs) {
        return FALSE;
    }

    RtlCopyBytes(Records,
                 TestConsole.Input,
                 TestConsole.NumberOfInputs * sizeof(INPUT_RECORD));
    TestConsole.NumberOfInputs = 0;
    return TRUE;
}


static
BOOL
WINAPI
TestGetNumberOfConsoleInputEvents(
    _In_ HANDLE Console,
    _Out_ LPDWORD Number
    )
{
    *Number = TestConsole.NumberOfInputs;
    return Console == TEST_INPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCtrlHandler(
    _In_opt_ PHANDLER_ROUTINE Handler,
    _In_ BOOL IsAdded
    )
{
    TestConsole.NumberOfHandlers += IsAdded ? 1u : 0xFFFFFFFFu;

    //
    // Ctrl+Break, at once.
    //

    if (IsAdded && Handler != NULL) {
        TEST(Handler(CTRL_BREAK_EVENT));
        TEST(!Handler(CTRL_CLOSE_EVENT));
    }

    return TRUE;
}


static
DWORD
WINAPI
TestWaitForMultipleObjects(
    _In_ DWORD Count,
    _In_reads_(Count) const HANDLE *Handles,
    _In_ BOOL IsAll,
    _In_ DWORD Milliseconds
    )
{
    UNREFERENCED_PARAMETER(Count);
    UNREFERENCED_PARAMETER(Handles);
    UNREFERENCED_PARAMETER(IsAll);
    UNREFERENCED_PARAMETER(Milliseconds);
    return WAIT_TIMEOUT;
}


static const READER_CONSOLE_ROUTINES TestRoutines = {
    TestSetConsoleMode,
    TestGetConsoleScreenBufferInfo,
    TestReadConsoleInputW,
    TestGetNumberOfConsoleInputEvents,
    TestSetConsoleCursorPosition,
    TestSetConsoleCursorInfo,
    TestGetConsoleCursorInfo,
    TestReadConsoleOutputW,
    TestWriteConsoleOutputW,
    TestSetConsoleCtrlHandler,
    TestWaitForMultipleObjects
};


//
// Adds a key to what the console has read.
// Code: the virtual key.
// IsDown: whether it was pressed or let go.
// Count: how often it repeats.
//

static
VOID
TestPutInput(
    _In_ WORD Code,
    _In_ WCHAR Character,
    _In_ BOOL IsDown,
    _In_ WORD Count
    )
{
    PINPUT_RECORD Record = &TestConsole.Input[TestConsole.NumberOfInputs];

    RtlZeroBytes(Record, sizeof(*Record));
    Record->EventType = KEY_EVENT;
    Record->Event.KeyEvent.bKeyDown = IsDown;
    Record->Event.KeyEvent.wRepeatCount = Count;
    Record->Event.KeyEvent.wVirtualKeyCode = Code;
    Record->Event.KeyEvent.uChar.UnicodeChar = Character;
    TestConsole.NumberOfInputs += 1;
}


//
// Checks which keys come out of what a console reads.
//

static
VOID
TestKeys(
    _Inout_ PREADER_CONSOLE Console
    )
{
    ULONG Character;

    TestConsole.NumberOfInputs = 0;
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyNone);
    TestPutInput('S', 's', TRUE, 1);
    TestPutInput('S', 's', FALSE, 1);
    TestPutInput(VK_SHIFT, 0, TRUE, 1);
    TestPutInput(VK_DOWN, 0, TRUE, 3);
    TestPutInput(VK_RETURN, '\r', TRUE, 1);
    TestPutInput('C', 3, TRUE, 1);
    TestConsole.Input[TestConsole.NumberOfInputs].EventType =
        WINDOW_BUFFER_SIZE_EVENT;
    TestConsole.NumberOfInputs += 1;
    TestConsole.Input[TestConsole.NumberOfInputs].EventType = FOCUS_EVENT;
    TestConsole.NumberOfInputs += 1;
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyCharacter);
    TEST_EQUAL(Character, 's');
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyEnter);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyStop);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyResize);
    TEST_EQUAL(LiveReadKey(Console, &Character), ReaderKeyNone);
}


//
// Checks that each kind of console shows the screen, gives its keys, and is
// left as it was found.
//

static
VOID
TestConsoles(
    VOID
    )
{
    static CHAR_INFO Before[TEST_HEIGHT][TEST_WIDTH];
    RTL Rtl = *TestRtl;
    READER_CONSOLE Console;
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Character;
    ULONG Different;
    ULONG Width;
    ULONG Height;
    ULONG Kind;
    ULONG X;
    ULONG Y;

    Rtl.GetStdHandle = TestGetStdHandle;
    Rtl.GetConsoleMode = TestGetConsoleMode;
    Rtl.WriteConsoleW = TestWriteConsoleW;
    for (Kind = 0; Kind < 4; Kind++) {

        BOOLEAN IsSequences = Kind == TestConsoleSequences;

        RtlZeroBytes(&TestConsole, sizeof(TestConsole));
        TestConsole.Kind = (TEST_CONSOLE_KIND)Kind;
        TestConsole.InputMode = 0x1F7;
        TestConsole.OutputMode = 3;
        TestConsole.Cursor.bVisible = TRUE;
        TestConsole.Cursor.dwSize = 25;
        TestConsole.Size.X = 90;
        TestConsole.Size.Y = 20;
        TestConsole.Position.X = 5;
        TestConsole.Position.Y = 7;
        for (Y = 0; Y < TEST_HEIGHT; Y++) {
            for (X = 0; X < TEST_WIDTH; X++) {
                TestConsole.Cells[Y][X].Char.UnicodeChar =
                    (WCHAR)('a' + (X + Y) % 26);
            }
        }

        //
        // What the first sequence showed as text is blanked out.
        //

        if (Kind == TestConsoleCells) {
            for (X = 5; X < 9; X++) {
                TestConsole.Cells[7][X].Char.UnicodeChar = ' ';
            }
        }

        RtlCopyBytes(Before, TestConsole.Cells, sizeof(Before));
        TestResetTerminal(90, 20);
        if (!TEST_EQUAL(LiveOpenConsole(&Console,
                                        &Rtl,
                                        TestAllocator,
                                        &TestRoutines),
                        Kind != TestConsoleNone)) {
            continue;
        }

        if (Kind == TestConsoleNone) {
            TEST_EQUAL(TestConsole.InputMode, 0x1F7);
            TEST_EQUAL(TestConsole.OutputMode, 3);
            TEST_EQUAL(TestConsole.NumberOfWrites, 0);
            LiveCloseConsole(&Console);
            continue;
        }

        TEST_EQUAL(Console.IsSequences, IsSequences);
        TEST_EQUAL(TestTerminal.IsAlternate, IsSequences);
        TEST_EQUAL(IsSequences ? TestTerminal.IsCursorHidden
                               : !TestConsole.Cursor.bVisible,
                   TRUE);
        TEST_EQUAL(TestConsole.InputMode & 0x1F, 8);

        //
        // Ctrl+Break came when the handler was set; it stays.
        //

        TEST_EQUAL(LiveReadKey(&Console, &Character), ReaderKeyStop);
        TestRtl->NtClose(Console.StopEvent);
        Console.StopEvent = NULL;
        TestKeys(&Console);

        LiveQueryConsoleSize(&Console, &Width, &Height);
        TEST_EQUAL(Width, 90);
        TEST_EQUAL(Height, 20);
        Screen.Allocator = TestAllocator;
        Screen.HasColor = TRUE;
        LiveInitializeView(&View, 1000);
        TestDraw(&View, &Screen, Width, Height);
        TestConsole.NumberOfWrites = 0;
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 1);
        TestType(&View, &Screen, "c");
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 2);
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 2);

        if (IsSequences) {
            Different = TestCountDifferences(&Screen);
        } else {
            Different = 0;
            for (Y = 0; Y < Height; Y++) {
                for (X = 0; X < Width; X++) {

                    PCREADER_CELL Cell = &Screen.Cells[Y * Width + X];
                    WORD Attributes = TestConsole.Cells[Y][X].Attributes;
                    ULONG Expected = Cell->Character != 0
                                         ? Cell->Character
                                         : Cell[-1].Character;

                    Different +=
                        TestConsole.Cells[Y][X].Char.UnicodeChar !=
                            Expected ||
                        ((Attributes & 0xF0) == 0x70) !=
                            (Cell->Style == ReaderStyleHeading ||
                             Cell->Style == ReaderStyleSelected) ||
                        ((Attributes & 0x200) != 0) !=
                            (Cell->Character == 0);
                }
            }
        }

        TEST_EQUAL(Different, 0);
        TEST_EQUAL(TestTerminal.NumberOfErrors, 0);

        LiveCloseConsole(&Console);
        LiveCloseConsole(&Console);
        TEST_EQUAL(TestConsole.InputMode, 0x1F7);
        TEST_EQUAL(TestConsole.OutputMode, 3);
        TEST(!TestTerminal.IsAlternate);
        TEST(!TestTerminal.IsCursorHidden);
        TEST(TestConsole.Cursor.bVisible);
        TEST_EQUAL(TestConsole.Position.X, 5);
        TEST_EQUAL(TestConsole.Position.Y, 7);
        TEST_EQUAL_BYTES(TestConsole.Cells, Before, sizeof(Before));
        LiveRundownScreen(&Screen);
        TestAllocator->Free(TestAllocator->Context, View.Order);
    }
}


//
// Runs the tests.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    READER_CONSOLE_ROUTINES Routines;

    TestRtl = Rtl;
    TestAllocator = Allocator;
    TEST(LiveLoadConsoleRoutines(Rtl, &Routines));
    TestPutting();
    TestRendering();
    TestMakeModel();
    TestFunctionView();
    TestOtherViews();
    TestConsoles();
}

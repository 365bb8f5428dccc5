/*++

Module Name:

    Views.c

Abstract:

    The views of a model that is made here, and the keys that are typed in them.

--*/

#include "TestLiveScreen.h"

//
// The program that the views show.
//

static CHAR TestLongName[3000];
static CORE_CLOCK TestClock;
static READER_LIVE_FUNCTION_ROW TestFunctions[50];
static READER_LIVE_THREAD_ROW TestThreads[3];
static READER_LIVE_FRAME_ROW TestFrames[60];
static CHAR TestNames[50][16];
READER_LIVE_MODEL TestModel;


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

_Use_decl_annotations_
VOID
TestDraw(
    PREADER_VIEW View,
    PREADER_SCREEN Screen,
    ULONG Width,
    ULONG Height
    )
{
    TEST_SUCCESS(LiveResizeScreen(Screen, Width, Height));
    TEST_SUCCESS(LiveDrawView(View, &TestModel, Screen));
}

_Use_decl_annotations_
VOID
TestType(
    PREADER_VIEW View,
    PREADER_SCREEN Screen,
    PCSZ Characters
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


_Use_decl_annotations_
VOID
TestPress(
    PREADER_VIEW View,
    PREADER_SCREEN Screen,
    READER_KEY Key
    )
{
    LivePressKey(View, &TestModel, Key, 0);
    TEST_SUCCESS(LiveDrawView(View, &TestModel, Screen));
}


//
// Checks the list of functions, and what keys do to it.
//

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
    TestLine(&Screen,
             3,
             "[1 Functions]  2 Threads   3 Open frames   4 Tree   49");
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
             "q quit  h help  Tab view  Enter callers  T tree  s c t n sort  "
             "/ filter  p pause  r reverse");
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
             "[1 Functions]  2 Threads   3 Open frames   4 Tree   10  "
             "filter: TION1");
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
             "4 Tree   49");
    TestType(&View, &Screen, " ");
    TEST(!View.IsPaused);
    TestType(&View, &Screen, "+");
    TEST_EQUAL(View.IntervalInMilliseconds, 500);
    TestType(&View, &Screen, "++++");
    TEST_EQUAL(View.IntervalInMilliseconds, 100);
    TestType(&View, &Screen, "------------");
    TEST_EQUAL(View.IntervalInMilliseconds, 60000);
    TestType(&View, &Screen, "h");
    TestLine(&Screen,
             0,
             "TraceReader live: keys (Up Down: more; any other key goes back)");
    TestType(&View, &Screen, "x");
    TEST_EQUAL(View.Kind, ReaderViewFunctions);
    TEST(!View.IsQuitting);
    TestType(&View, &Screen, "q");
    TEST(View.IsQuitting);
    View.IsQuitting = FALSE;
    LivePressKey(&View, &TestModel, ReaderKeyStop, 0);
    TEST(View.IsQuitting);

    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}


//
// Checks the threads, the open frames, what is said of the numbers, and
// screens of other sizes.
//

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
             " 1 Functions   2 Threads  [3 Open frames]  4 Tree   thread 101, "
             "40 open");
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
    TEST_EQUAL(View.Kind, ReaderViewTree);
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
    // Of a function that was not seen it says what its calls stay below, which
    // is not rounded down; of its time, nothing.  0 is 0 where all was read.
    //

    TestModel.CallsLimit = 7321;
    TestModel.AllCallsLimit = 999001;
    TestFunctions[49].CallsPerSecond = 0;
    TestFunctions[49].SelfPerSecond = 0;
    TestFunctions[49].AllCalls = 0;
    TestFunctions[49].AllTotalTicks = 0;
    TestDraw(&View, &Screen, 120, 16);
    TestLine(&Screen,
             5,
             ">   2.0           -        <7.33 k          <1.00 M           -"
             "    ~3.00 ms    1.500 us  function49");
    TestLine(&Screen,
             6,
             "    2.0    ~1.00 ms             ~2          ~1.04 k    ~5.00 ms"
             "    ~3.00 ms    1.500 us  function48");
    TestModel.CallsLimit = 0;
    TestModel.AllCallsLimit = 7320;
    TestDraw(&View, &Screen, 120, 16);
    TestLine(&Screen,
             5,
             ">   2.0           -             <1          <7.32 k           -"
             "    ~3.00 ms    1.500 us  function49");
    TestModel.SamplePerMille = 1000;
    TestModel.IsEstimated = FALSE;
    TestDraw(&View, &Screen, 120, 16);
    TestLine(&Screen,
             5,
             ">   2.0        0 ns              0                0        0 ns"
             "    3.000 ms    1.500 us  function49");
    TestModel.IsEstimated = TRUE;

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
            for (Kind = 0; Kind <= ReaderViewHelp; Kind++) {

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
    for (Kind = 0; Kind < READER_NUMBER_OF_TABS; Kind++) {
        View.Kind = (READER_VIEW_KIND)Kind;
        TestDraw(&View, &Screen, 80, 24);
        TEST_EQUAL(View.NumberOfRows, 0);
        TestPress(&View, &Screen, ReaderKeyEnd);
        TestPress(&View, &Screen, ReaderKeyRight);
        TestPress(&View, &Screen, ReaderKeyEnter);
        TEST_EQUAL(View.Selected[Kind], 0);
    }

    TestMakeModel();
    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}


//
// Checks that a name that meets twice says where it is, and that threads'
// names are whole where there is room.
//

VOID
TestNamesOfViews(
    VOID
    )
{
    static const CHAR ThreadName[] = "a worker with a rather long name";
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Column;

    Screen.Allocator = TestAllocator;
    LiveInitializeView(&View, 1000);
    RtlCopyBytes(TestFunctions[49].Place, "Engine.dll", 10);
    TestFunctions[49].PlaceLength = 10;
    RtlCopyBytes(TestFunctions[3].Place, "Other.dll", 9);
    TestFunctions[3].PlaceLength = 9;

    TestDraw(&View, &Screen, 100, 16);
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms              1            1,043    5.000 "
             "ms    1.500 us  function49 [Engine.dll]");
    TestDraw(&View, &Screen, 130, 16);
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms              1            1,043    5.000 "
             "ms    3.000 ms    1.500 us  function49 [Engine.dll]");

    //
    // A long name is cut so that the place is seen, unless that would leave
    // next to nothing of it.  Of others nothing is said.
    //

    TestType(&View, &Screen, "c");
    TestLine(&Screen,
             8,
             "    2.0    1.000 ms             47            1,021    5.000 "
             "ms    3.000 ms    1.500 us  LLLLLLLLLLLLLLLLLLLLLLLLLLLL~ "
             "[Other.dll]");
    TestLine(&Screen,
             5,
             ">   2.0    1.000 ms             50            1,000    5.000 "
             "ms    3.000 ms    1.500 us  function00");
    TestDraw(&View, &Screen, 29, 16);
    TestLine(&Screen, 8, "    2.0  LLLLLLLLLLLLLLLLLLL~");

    //
    // Threads.
    //

    TestThreads[0].Name = ThreadName;
    TestThreads[0].NameLength = sizeof(ThreadName) - 1;
    TestType(&View, &Screen, "2n");
    for (Column = 116; Column <= 164; Column += 16) {
        TestDraw(&View, &Screen, Column, 16);
        if (Column == 116) {
            TestLine(&Screen,
                     7,
                     "      100  running          1,000            2,000      "
                     "   0.0      20  a worker with a~  leaf");
        } else if (Column == 164) {
            TestLine(&Screen,
                     7,
                     "      100  running          1,000            2,000      "
                     "   0.0      20  a worker with a rather long name  leaf");
        }
    }

    TestType(&View, &Screen, "3");
    TestLine(&Screen,
             3,
             " 1 Functions   2 Threads  [3 Open frames]  4 Tree   thread 100 "
             "a worker with a rather long name, 20 open");

    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
    TestMakeModel();
}


//
// Checks what keys ask of the program: each asks once, a text is asked for
// where there is one, and no text is no request.
//

VOID
TestRequestsOfViews(
    VOID
    )
{
    static const struct {
        PCSZ Keys;
        READER_KEY Last;
        READER_VIEW_REQUEST Request;
    } Cases[] = {
        { "S", ReaderKeyNone, ReaderRequestStop },
        { "G", ReaderKeyNone, ReaderRequestStart },
        { "C", ReaderKeyNone, ReaderRequestClear },
        { "Mtext", ReaderKeyEnter, ReaderRequestMark },
        { "Wtext", ReaderKeyEnter, ReaderRequestSnapshot },
        { "Mtext", ReaderKeyEscape, ReaderRequestNone },
        { "Mtext", ReaderKeyNone, ReaderRequestNone },
        { "W", ReaderKeyEnter, ReaderRequestNone },
        { "/SGC", ReaderKeyEnter, ReaderRequestNone },
        { "sc", ReaderKeyEnter, ReaderRequestNone }
    };
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Index;

    Screen.Allocator = TestAllocator;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {

        LiveInitializeView(&View, 1000);
        TestDraw(&View, &Screen, 100, 16);
        TestType(&View, &Screen, Cases[Index].Keys);
        TestPress(&View, &Screen, Cases[Index].Last);
        TEST_EQUAL(View.Request, Cases[Index].Request);
        if (View.TextLength != 0) {
            TEST_EQUAL(View.TextLength, 4);
            TEST(View.Text[0] == 't' && View.FilterLength == 0);
        }

        //
        // What came of it stands in the last line up to the next key.
        //

        LivePressKey(&View, &TestModel, ReaderKeyEscape, 0);
        RtlCopyBytes(View.Said, "done", 4);
        View.SaidLength = 4;
        TestDraw(&View, &Screen, 100, 16);
        TestLine(&Screen, 15, "done");
        TestDraw(&View, &Screen, 100, 5);
        TestLine(&Screen, 0, "done");
        TestDraw(&View, &Screen, 100, 16);
        TestPress(&View, &Screen, ReaderKeyDown);
        TEST(View.SaidLength == 0);
        TestLine(&Screen,
                 15,
                 "q quit  h help  Tab view  Enter callers  T tree  "
                 "s c t n sort  / filter  p pause  r reverse");
        LiveRundownView(&View, TestAllocator);
    }

    LiveRundownScreen(&Screen);
}

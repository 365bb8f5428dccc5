/*++

Module Name:

    TreeViews.c

Abstract:

    The call tree and the callers of a model that is made here, the colors, and
    what the screen says of its keys.

--*/

#include "TestLiveScreen.h"

//
// The tree: main calls work and log, work calls leaf and itself, and log calls
// thirty that take next to no time.
//
//     main 1000 (97 its own), work 900 (300), leaf 500, work 100 (50), leaf 50,
//     log 3, tiny00 ... tiny29 0.1 each; microseconds
//

enum {
    TestMainNode = READER_LIVE_FIRST_NODE,
    TestWork,
    TestLeaf,
    TestInnerWork,
    TestInnerLeaf,
    TestLog,
    TestTiny,
    TestNumberOfNodes = TestTiny + 30
};

static READER_LIVE_NODE TestNodes[TestNumberOfNodes];
static CHAR TestTinyNames[30][8];


//
// Makes a node the first child of another one.
//

static
VOID
TestPutNode(
    _In_ ULONG Index,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _In_z_ PCSZ Name,
    _In_ ULONG Calls,
    _In_ ULONG Total,
    _In_ ULONG Self
    )
{
    PREADER_LIVE_NODE Node = &TestNodes[Index];

    Node->Name = Name;
    Node->NameLength = RtlLengthOfString(Name);
    Node->Function = Function;
    Node->Row = READER_NONE;
    Node->Parent = Parent;
    Node->Caller = TestNodes[Parent].Function;
    Node->FirstChild = READER_NONE;
    Node->NextSibling = TestNodes[Parent].FirstChild;
    TestNodes[Parent].FirstChild = Index;
    Node->Depth = Parent == 0 ? 0 : TestNodes[Parent].Depth + 1;
    Node->IsShown = TRUE;
    Node->Calls = Calls;
    Node->TotalTicks = Total;
    Node->SelfTicks = Self;
}


//
// Gives the model its nodes.
//

static
VOID
TestMakeNodes(
    VOID
    )
{
    RTL_WRITER Writer;
    ULONG Index;

    RtlZeroBytes(TestNodes, sizeof(TestNodes));
    for (Index = 0; Index < READER_LIVE_FIRST_NODE; Index++) {
        TestNodes[Index].Function = READER_NONE;
        TestNodes[Index].Row = READER_NONE;
        TestNodes[Index].FirstChild = READER_NONE;
        TestNodes[Index].NextSibling = READER_NONE;
    }

    //
    // The last one put is the first child.
    //

    TestPutNode(TestMainNode, 0, 100, "main", 1, 1000000, 97000);
    TestPutNode(TestLog, TestMainNode, 103, "log", 60, 3000, 0);
    TestPutNode(TestWork, TestMainNode, 101, "work", 2000, 900000, 300000);
    TestPutNode(TestInnerWork, TestWork, 101, "work", 500, 100000, 50000);
    TestPutNode(TestLeaf, TestWork, 102, "leaf", 40000, 500000, 500000);
    TestPutNode(TestInnerLeaf, TestInnerWork, 102, "leaf", 5000, 50000, 50000);
    for (Index = 0; Index < 30; Index++) {
        RtlInitializeBufferWriter(&Writer, TestTinyNames[Index], 8);
        RtlWriteText(&Writer, "tiny%02u", Index);
        TestTinyNames[Index][6] = 0;
        TestPutNode(TestTiny + Index,
                    TestLog,
                    200 + Index,
                    TestTinyNames[Index],
                    2,
                    100,
                    100);
    }

    TestModel.Nodes = TestNodes;
    TestModel.NumberOfNodes = TestNumberOfNodes;
    TestModel.Generation += 1;
    TestModel.NodesTicks = 1000000;
    TestModel.NodesNanoseconds = 12300000000ULL;
    TestModel.NodesPerMille = 1000;
    TestModel.AreNodesEstimated = FALSE;
}


//
// Checks the call tree at three widths, what is folded away, and that the
// selected row stays with its node.
//

VOID
TestTreeView(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Index;

    Screen.Allocator = TestAllocator;
    LiveInitializeView(&View, 1000);
    TestDraw(&View, &Screen, 80, 24);
    TEST(!LiveNeedsNodes(&View));
    TestType(&View, &Screen, "T");
    TEST(LiveNeedsNodes(&View));
    TEST(!View.IsRenewing);
    TEST_EQUAL(View.NumberOfRows, 0);
    TestLine(&Screen, 2, "Calls are added up by chain from now on.");
    TestLine(&Screen, 5, "  No call has been read yet.");

    TestMakeNodes();
    TestDraw(&View, &Screen, 80, 24);
    TestLine(&Screen, 2, "All calls of the last 12.3 s.");
    TestLine(&Screen,
             3,
             " 1 Functions   2 Threads   3 Open frames  [4 Tree]  5 of 36 "
             "nodes");
    TestLine(&Screen, 4, " Total %  Self %            Calls  Function");
    TestLine(&Screen, 5, ">  100.0     9.7                1  main (+1)");
    TestLine(&Screen, 6, "    90.0    30.0            2,000  ##work");
    TestLine(&Screen, 7, "    50.0    50.0           40,000    ##leaf");
    TestLine(&Screen, 8, "    10.0     5.0              500    ##work");
    TestLine(&Screen, 9, "     5.0     5.0            5,000      ##leaf");
    TestLine(&Screen, 10, "");
    TestLine(&Screen,
             23,
             "q quit  h help  Tab view  Left Right fold  Enter callers  "
             "T anew  / filter");
    TestDraw(&View, &Screen, 120, 24);
    TestLine(&Screen,
             4,
             " Total %  Self %            Calls       Total        Self  "
             "Function");
    TestLine(&Screen,
             7,
             "    50.0    50.0           40,000  500.000 us  500.000 us    "
             "##leaf");
    TestDraw(&View, &Screen, 200, 24);
    TestLine(&Screen,
             7,
             "    50.0    50.0           40,000  500.000 us  500.000 us    "
             "##leaf");
    TestLine(&Screen,
             23,
             "q quit  h help  Tab view  Left Right fold  Enter callers  "
             "T anew  / filter  p pause  + - interval  S stop  G go on  "
             "C clear  M mark  W snapshot");
    TestDraw(&View, &Screen, 40, 12);
    TestLine(&Screen, 4, " Total %  Self %  Function");
    TestLine(&Screen, 8, "    10.0     5.0    ##work");
    TestDraw(&View, &Screen, 30, 12);
    TestLine(&Screen, 8, "    10.0    ##work");

    //
    // Right shows all children, Left none; where there is nothing to fold it
    // goes up.  With room for all of them nothing is folded away.
    //

    TestDraw(&View, &Screen, 80, 24);
    TestPress(&View, &Screen, ReaderKeyRight);
    TEST_EQUAL(View.NumberOfRows, 6);
    TestLine(&Screen, 5, ">  100.0     9.7                1  main");
    TestLine(&Screen, 6, "    90.0    30.0            2,000  ##work");
    TestLine(&Screen, 7, "    50.0    50.0           40,000  # ##leaf");
    TestLine(&Screen, 10, "     0.3     0.0               60  ##log (+30)");
    TestPress(&View, &Screen, ReaderKeyRight);
    TEST_EQUAL(View.Selected[ReaderViewTree], 1);
    TestPress(&View, &Screen, ReaderKeyLeft);
    TEST_EQUAL(View.NumberOfRows, 3);
    TestLine(&Screen, 6, ">   90.0    30.0            2,000  ##work (+2)");
    TestLine(&Screen, 7, "     0.3     0.0               60  ##log (+30)");
    TestPress(&View, &Screen, ReaderKeyLeft);
    TEST_EQUAL(View.Selected[ReaderViewTree], 0);
    TestPress(&View, &Screen, ReaderKeyLeft);
    TEST_EQUAL(View.NumberOfRows, 1);
    TestLine(&Screen, 5, ">  100.0     9.7                1  main (+2)");
    TestPress(&View, &Screen, ReaderKeyLeft);
    TEST_EQUAL(View.Selected[ReaderViewTree], 0);
    TestPress(&View, &Screen, ReaderKeyRight);
    TEST_EQUAL(View.NumberOfRows, 3);

    //
    // What others do to the order does not change what is selected.
    //

    TestPress(&View, &Screen, ReaderKeyEnd);
    TestLine(&Screen, 7, ">    0.3     0.0               60  ##log (+30)");
    TestNodes[TestMainNode].FirstChild = TestLog;
    TestNodes[TestLog].NextSibling = TestWork;
    TestNodes[TestWork].NextSibling = READER_NONE;
    TestDraw(&View, &Screen, 80, 24);
    TestLine(&Screen, 6, ">    0.3     0.0               60  ##log (+30)");
    TEST_EQUAL(View.Selected[ReaderViewTree], 1);
    TestPress(&View, &Screen, ReaderKeyDown);
    TestLine(&Screen, 7, ">   90.0    30.0            2,000  ##work (+2)");

    //
    // A filter shows what it leaves and what leads there, folded or not.
    //

    TestType(&View, &Screen, "/TINY0");
    TEST_EQUAL(View.NumberOfRows, 12);
    TestLine(&Screen, 6, "     0.3     0.0               60  ##log");
    TestType(&View, &Screen, "x");
    TEST_EQUAL(View.NumberOfRows, 0);
    TestLine(&Screen, 5, "");
    TestPress(&View, &Screen, ReaderKeyEscape);
    TEST_EQUAL(View.NumberOfRows, 3);

    //
    // --function and --exclude.
    //

    TestNodes[TestWork].IsShown = FALSE;
    TestNodes[TestLeaf].IsShown = FALSE;
    TestNodes[TestInnerWork].IsShown = FALSE;
    TestNodes[TestInnerLeaf].IsShown = FALSE;
    TestDraw(&View, &Screen, 80, 24);
    TEST_EQUAL(View.NumberOfRows, 2);

    //
    // A tree that was begun anew is folded anew; T asks for that in the tree.
    //

    TestMakeNodes();
    TestDraw(&View, &Screen, 80, 24);
    TEST_EQUAL(View.NumberOfRows, 5);
    TestType(&View, &Screen, "T");
    TEST(View.IsRenewing);
    TestDraw(&View, &Screen, 80, 40);
    TEST_EQUAL(View.NumberOfRows, 5);
    TestModel.NumberOfNodes = TestTiny + 3;
    TestNodes[TestLog].FirstChild = TestTiny + 2;
    TestDraw(&View, &Screen, 80, 40);
    TEST_EQUAL(View.NumberOfRows, 9);

    //
    // What is said of the numbers; of a chain of which no call was read the
    // calls have a limit.
    //

    TestMakeNodes();
    TestModel.AreNodesEstimated = TRUE;
    TestModel.NodesPerMille = 42;
    TestModel.NodesLimit = 7321;
    TestNodes[TestMainNode].Calls = 0;
    TestDraw(&View, &Screen, 80, 24);
    TestLine(&Screen,
             2,
             "Estimated from 4.2 % of the records of the last 12.3 s; others "
             "may differ.");
    TEST_EQUAL(Screen.Cells[2 * 80].Style, ReaderStyleWarning);
    TestLine(&Screen, 5, ">  100.0     9.7          <7.33 k  main (+1)");
    TestLine(&Screen, 6, "    90.0    30.0          ~2.00 k  ##work");
    TestModel.AreNodesEstimated = FALSE;
    TestNodes[1].Calls = 4321;
    TestNodes[1].SelfTicks = 25000;
    TestDraw(&View, &Screen, 120, 24);
    TestLine(&Screen,
             2,
             "All calls of the last 12.3 s.  Too deep to be shown: 2.5 % of "
             "the time.");
    TestModel.AreNodesWhole = TRUE;
    TestModel.IsEnded = TRUE;
    TestModel.EndLength = 0;
    TestDraw(&View, &Screen, 120, 24);
    TestLine(&Screen,
             2,
             "ENDED    The numbers are those of the whole run, exactly.  Too "
             "deep to be shown: 4,321 calls.");
    TestModel.AreNodesWhole = FALSE;
    TestModel.IsEnded = FALSE;
    TestNodes[1].Calls = 0;
    TestNodes[1].SelfTicks = 0;
    TestModel.IsOfTrees = TRUE;
    TestDraw(&View, &Screen, 80, 24);
    TestLine(&Screen, 2, "All calls since recording began, exactly.");
    TestModel.IsOfTrees = FALSE;

    //
    // Without a clock there are no shares, and nothing is too small.
    //

    for (Index = 0; Index < TestNumberOfNodes; Index++) {
        TestNodes[Index].TotalTicks = 0;
        TestNodes[Index].SelfTicks = 0;
    }

    TestModel.NodesTicks = 0;
    TestDraw(&View, &Screen, 80, 24);
    TEST_EQUAL(View.NumberOfRows, 36);
    TestLine(&Screen, 5, ">      -       -                0  main");

    TestModel.NumberOfNodes = 0;
    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}


//
// Checks who called a function, and the way there and back.
//

VOID
TestCallersView(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Index;

    Screen.Allocator = TestAllocator;
    TestMakeNodes();
    LiveInitializeView(&View, 1000);
    TestDraw(&View, &Screen, 80, 24);
    TestType(&View, &Screen, "4");

    //
    // leaf: both chains end in a call by work.
    //

    TestPress(&View, &Screen, ReaderKeyDown);
    TestPress(&View, &Screen, ReaderKeyDown);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.Kind, ReaderViewCallers);
    TEST(LiveNeedsNodes(&View));
    TestLine(&Screen, 3, "1 caller of leaf");
    TestLine(&Screen,
             4,
             " Share %            Calls       Total        Self  Caller");
    TestLine(&Screen,
             5,
             ">  100.0           45,000  550.000 us  550.000 us  leaf");
    TestLine(&Screen,
             6,
             "   100.0           45,000  550.000 us  550.000 us    work");
    TestLine(&Screen,
             23,
             "q quit  h help  Esc back  Enter callers  T tree  / filter  "
             "p pause  + - interval");

    //
    // work: the time of its inner calls is in that of the outer ones, and
    // counts once in the total, but the share by work is that of the inner
    // ones.
    //

    TestPress(&View, &Screen, ReaderKeyDown);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TestLine(&Screen, 3, "2 callers of work");
    TestLine(&Screen,
             5,
             ">  100.0            2,500  900.000 us  350.000 us  work");
    TestLine(&Screen,
             6,
             "   100.0            2,000  900.000 us  300.000 us    main");
    TestLine(&Screen,
             7,
             "    11.1              500  100.000 us   50.000 us    work");

    //
    // The function itself is entered already; nothing called main.
    //

    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.NumberOfTargets, 2);
    TestPress(&View, &Screen, ReaderKeyDown);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.NumberOfTargets, 3);
    TestLine(&Screen, 3, "0 callers of main");
    TestLine(&Screen,
             6,
             "   100.0                1    1.000 ms   97.000 us    "
             "(outermost)");
    TestPress(&View, &Screen, ReaderKeyDown);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.NumberOfTargets, 3);
    TestPress(&View, &Screen, ReaderKeyBackspace);
    TestLine(&Screen, 3, "2 callers of work");
    TestPress(&View, &Screen, ReaderKeyEscape);
    TestLine(&Screen, 3, "1 caller of leaf");

    //
    // A filter of the callers; Esc takes that away first.
    //

    TestType(&View, &Screen, "/xyz");
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.NumberOfRows, 1);
    TestPress(&View, &Screen, ReaderKeyEscape);
    TEST_EQUAL(View.Kind, ReaderViewCallers);
    TEST_EQUAL(View.NumberOfRows, 2);
    TestPress(&View, &Screen, ReaderKeyEscape);
    TEST_EQUAL(View.Kind, ReaderViewTree);

    //
    // A long way forgets its beginning, and leads back all the same.
    //

    TestPress(&View, &Screen, ReaderKeyEnter);
    for (Index = 0; Index < 3 * READER_VIEW_MOST_TARGETS; Index++) {
        TestPress(&View, &Screen, ReaderKeyEnd);
        TestPress(&View, &Screen, ReaderKeyEnter);
        TEST(View.NumberOfTargets <= READER_VIEW_MOST_TARGETS);
        if (Index == 0) {
            TestLine(&Screen, 3, "2 callers of work");
        }
    }

    TEST_EQUAL(View.NumberOfTargets, READER_VIEW_MOST_TARGETS);
    for (Index = 0; Index < READER_VIEW_MOST_TARGETS; Index++) {
        TestPress(&View, &Screen, ReaderKeyBackspace);
    }

    TEST_EQUAL(View.Kind, ReaderViewTree);

    //
    // From the functions, and of one of which nothing is known.
    //

    TestType(&View, &Screen, "1");
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.Kind, ReaderViewCallers);
    TestLine(&Screen, 3, "0 callers of function49");
    TestLine(&Screen, 5, "  No call of it has been read yet.");
    TestPress(&View, &Screen, ReaderKeyEnter);
    TestPress(&View, &Screen, ReaderKeyTab);
    TEST_EQUAL(View.Kind, ReaderViewFunctions);
    TEST(!LiveNeedsNodes(&View));

    TestModel.NumberOfNodes = 0;
    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}


//
// Checks the colors of numbers, that without them the same text is there, and
// that a screen without them has none.
//

VOID
TestColors(
    VOID
    )
{
    static const struct {
        ULONG Row;
        ULONG Color;
    } Cases[] = {
        { 5, 0 },                   // selected: inverse
        { 6, 31 },                  // 90 %
        { 8, 33 },                  // 10 %
        { 10, 0 }                   // 0.3 %
    };
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    BOOLEAN HasColor;
    ULONG Index;

    Screen.Allocator = TestAllocator;
    TestMakeNodes();
    LiveInitializeView(&View, 1000);
    View.Kind = ReaderViewTree;
    TestDraw(&View, &Screen, 80, 24);
    TestPress(&View, &Screen, ReaderKeyRight);
    for (HasColor = FALSE; HasColor <= TRUE; HasColor++) {

        Screen.HasColor = HasColor;
        Screen.IsAllChanged = TRUE;
        TestResetTerminal(80, 24);
        TestFollow(Screen.Bytes, LiveRenderScreen(&Screen));
        TEST_EQUAL(TestTerminal.NumberOfErrors, 0);
        TEST_EQUAL(TestCountDifferences(&Screen), 0);
        TEST_EQUAL(TestTerminal.NumberOfColors != 0, HasColor);
        for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index++) {
            TEST_EQUAL(TestTerminal.Colors[Cases[Index].Row][5],
                       HasColor ? Cases[Index].Color : 0);
            TEST_EQUAL(TestTerminal.Colors[Cases[Index].Row][14], 0);
        }

        TEST_EQUAL(TestTerminal.Colors[2][0], HasColor ? 32u : 0u);
    }

    //
    // Threads that run and that have ended.
    //

    TestType(&View, &Screen, "2n");
    TestPress(&View, &Screen, ReaderKeyHome);
    Screen.IsAllChanged = TRUE;
    TestResetTerminal(80, 24);
    TestFollow(Screen.Bytes, LiveRenderScreen(&Screen));
    TEST_EQUAL(TestTerminal.Colors[6][12], 90);
    TEST_EQUAL(TestTerminal.Colors[7][12], 32);

    TestModel.NumberOfNodes = 0;
    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}


//
// Finds an ellipsis on a line.
//

static
BOOLEAN
TestIsCut(
    _In_ PCREADER_SCREEN Screen,
    _In_ ULONG Y
    )
{
    ULONG X;

    for (X = 0; X < Screen->Width; X++) {
        if (Screen->Cells[Y * Screen->Width + X].Character == 0x2026) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Checks that 80 columns and 24 lines have room for what each screen says of
// its keys and of itself, and that the help goes on.
//

VOID
TestHelp(
    VOID
    )
{
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Cut = 0;
    ULONG Kind;
    ULONG Y;

    Screen.Allocator = TestAllocator;
    TestMakeNodes();
    LiveInitializeView(&View, 1000);
    for (Kind = 0; Kind < READER_NUMBER_OF_VIEWS; Kind++) {
        View.Kind = (READER_VIEW_KIND)Kind;
        TestDraw(&View, &Screen, 80, 24);
        for (Y = 1; Y < 5; Y++) {
            Cut += TestIsCut(&Screen, Y);
        }

        Cut += TestIsCut(&Screen, 23);
        TEST_EQUAL(Screen.Cells[23 * 80].Character, 'q');
    }

    TEST_EQUAL(Cut, 0);
    TestModel.AllRecords = 123456789012ULL;
    View.Kind = ReaderViewFunctions;
    TestDraw(&View, &Screen, 80, 24);
    TestLine(&Screen,
             1,
             "Process 4711  2/3 threads  123,456,789,012 records  617,283 "
             "calls/s  every 1.0 s");
    TestModel.AllRecords = 1234567;

    TestType(&View, &Screen, "h");
    for (Y = 0; Y < 24; Y++) {
        Cut += TestIsCut(&Screen, Y);
    }

    TestLine(&Screen, 17, "q Ctrl+C    quit");
    TestPress(&View, &Screen, ReaderKeyDown);
    TestLine(&Screen, 16, "q Ctrl+C    quit");
    TestPress(&View, &Screen, ReaderKeyUp);
    TestPress(&View, &Screen, ReaderKeyUp);
    TestLine(&Screen, 17, "q Ctrl+C    quit");
    for (Y = 0; Y < 40; Y++) {
        TestPress(&View, &Screen, ReaderKeyDown);
    }

    TestLine(&Screen,
             23,
             "times are estimates from that part.  --budget 100 reads "
             "everything.");
    for (Y = 0; Y < 24; Y++) {
        Cut += TestIsCut(&Screen, Y);
    }

    TEST_EQUAL(Cut, 0);
    TestPress(&View, &Screen, ReaderKeyEnter);
    TEST_EQUAL(View.Kind, ReaderViewFunctions);

    //
    // Control: where there is less room something is cut.
    //

    TestDraw(&View, &Screen, 40, 24);
    TEST(TestIsCut(&Screen, 1));

    TestModel.NumberOfNodes = 0;
    LiveRundownView(&View, TestAllocator);
    LiveRundownScreen(&Screen);
}

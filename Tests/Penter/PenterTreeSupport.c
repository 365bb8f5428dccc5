/*++

Module Name:

    PenterTreeSupport.c

Abstract:

    The child "trees" of TestPenter.c, which runs with TRACER_MODE=tree: that
    the hooks change nothing on any of their paths, and that known sequences of
    calls, at stack pointers of our choosing, come to known trees.

--*/

#include "PenterSupport.h"

#define TREE_ROUNDS         40
#define TREE_ROOM_SIZE      0x20000
#define TREE_FUNCTION(N)    ((ULONG_PTR)0x51000000 + (N) * 0x100)

#define TREE_ENTER          (&TestHooks[4])
#define TREE_EXIT           (&TestHooks[5])

//
// A step of a known sequence: the first letter is '+' for an entry and '-' for
// an exit, the second the function, the third how deep its stack pointer is.
//

typedef struct _TREE_EXPECTED {
    PCSZ Path;                      // functions from the outermost one on; '*':
                                    // TRACE_NODE_OTHER
    ULONG Calls;
    ULONG Abandoned;
} TREE_EXPECTED;

#define TREE_MAXIMUM_NODES  8

typedef struct _TREE_CASE {
    PCSZ Steps;
    ULONG Unmatched;
    ULONG Open;
    TREE_EXPECTED Nodes[TREE_MAXIMUM_NODES];
} TREE_CASE;
typedef const TREE_CASE *PCTREE_CASE;

static const TREE_CASE TreeCases[] = {

    //
    // Calls one after the other, inside each other, and recursion.
    //

    { "+a1-a1", 0, 0, { { "a", 1, 0 } } },
    { "+a1+b2-b2+b2-b2-a1", 0, 0, { { "a", 1, 0 }, { "ab", 2, 0 } } },
    { "+a1+a2+a3-a3-a2-a1", 0, 0,
      { { "a", 1, 0 }, { "aa", 1, 0 }, { "aaa", 1, 0 } } },
    { "+a1+b2-b2-a1+b1+a2-a2-b1", 0, 0,
      { { "a", 1, 0 }, { "ab", 1, 0 }, { "b", 1, 0 }, { "ba", 1, 0 } } },

    //
    // More children than one, in turn: all but the last are looked up.
    //

    { "+a1+b2-b2+c2-c2+d2-d2+b2-b2+c2-c2+d2-d2-a1", 0, 0,
      { { "a", 1, 0 }, { "ab", 2, 0 }, { "ac", 2, 0 }, { "ad", 2, 0 } } },

    //
    // Left by an exception or a jump: seen by an entry or an exit above.
    //

    { "+a1+b2+c3+d2-d2-a1", 0, 0,
      { { "a", 1, 0 }, { "ab", 1, 1 }, { "abc", 1, 1 }, { "ad", 1, 0 } } },
    { "+a1+b2+c3-a1", 0, 0,
      { { "a", 1, 0 }, { "ab", 1, 1 }, { "abc", 1, 1 } } },
    { "+a1+b2+c3+d1-d1", 0, 0,
      { { "a", 1, 1 }, { "ab", 1, 1 }, { "abc", 1, 1 }, { "d", 1, 0 } } },

    //
    // Exits without an entry, and calls that stay open.
    //

    { "-a1", 1, 0, { { NULL, 0, 0 } } },
    { "+a1-b2-a1", 1, 0, { { "a", 1, 0 } } },
    { "+a1-b1-a1", 1, 0, { { "a", 1, 0 } } },
    { "+a1+b2", 0, 2, { { "a", 1, 0 }, { "ab", 1, 0 } } }
};

//
// Where the made-up calls take place: in the frame of PenterTestTrees, so that
// the system finds the thread on its stack.
//

static PBYTE TreeRoom;

//
// Gives the calling thread's store.
// Returns the store, or NULL.
//

static
PTRACE_STORE
PenterTestTreeStore(
    VOID
    )
{
    PTRACE_STORE_HEADER Header;

    Header = PenterTestContext();
    return Header == NULL ? NULL :
           (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
}

//
// Makes a call of a hook on the stack that the tests have made up.
// Function: the function's number.
// Depth: how deep the stack pointer is.
//

static
VOID
PenterTestTreeCall(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG Function,
    _In_ ULONG Depth
    )
{
    HookCallAt(Hook->Routine,
               (ULONG_PTR)TreeRoom + TREE_ROOM_SIZE - 0x100 - Depth * 0x10,
               TREE_FUNCTION(Function));
}

//
// Counts the open frames of the stack in use.
// Returns their number.
//

static
ULONG
PenterTestTreeOpen(
    _In_ PTRACE_STORE Store
    )
{
    return (ULONG)((Store->Header->Cursor - (ULONG_PTR)Store->Tree.Stack -
                    sizeof(TRACE_TREE_STACK)) / TRACE_FRAME_SIZE);
}

//
// Finds a node.
// Path: the functions that lead to it.
// Returns the node, or NULL.
//

static
PTRACE_NODE
PenterTestTreeNode(
    _In_ PTRACE_STORE Store,
    _In_z_ PCSZ Path
    )
{
    PTRACE_NODE Nodes;
    ULONGLONG Parent;
    ULONGLONG Index;

    Nodes = Store->Tree.Nodes;
    Parent = 0;
    while (*Path != '\0') {
        for (Index = 1; Index < Store->Header->NumberOfNodes; Index += 1) {
            if (Nodes[Index].Parent == Parent &&
                (*Path == '*' ?
                 (Nodes[Index].Flags & TRACE_NODE_OTHER) != 0 :
                 Nodes[Index].Site ==
                 (ULONG)TREE_FUNCTION((ULONG)(*Path - 'a')))) {

                break;
            }
        }
        if (Index == Store->Header->NumberOfNodes) {
            return NULL;
        }
        Parent = Index;
        Path += 1;
    }

    return &Nodes[Parent];
}

//
// Makes a known sequence of calls, in a new store, and checks the tree.
// Rounds: how often it is made.
//

static
VOID
PenterTestTreeSequence(
    _In_ PCTREE_CASE Case,
    _In_ ULONG Rounds
    )
{
    PTRACE_STORE Store;
    PTRACE_NODE Node;
    PCSZ Step;
    ULONG Round;
    ULONG Index;
    ULONG NumberOfNodes;
    ULONGLONG Start;
    ULONGLONG Ticks;

    PenterThreadExit();
    Start = __rdtsc();
    for (Round = 0; Round < Rounds; Round += 1) {
        for (Step = Case->Steps; *Step != '\0'; Step += 3) {
            PenterTestTreeCall(Step[0] == '+' ? TREE_ENTER : TREE_EXIT,
                               (ULONG)(Step[1] - 'a'),
                               (ULONG)(Step[2] - '0'));
        }
    }
    Ticks = __rdtsc() - Start;

    Store = PenterTestTreeStore();
    if (!TEST(Store != NULL)) {
        return;
    }

    NumberOfNodes = 1;
    for (Index = 0; Index < TREE_MAXIMUM_NODES; Index += 1) {
        if (Case->Nodes[Index].Path == NULL) {
            continue;
        }
        NumberOfNodes += 1;
        Node = PenterTestTreeNode(Store, Case->Nodes[Index].Path);
        if (!TEST(Node != NULL)) {
            RtlWriteText(TestOutput, "%s\n", Case->Steps);
            continue;
        }
        if (!TEST_EQUAL(Node->Calls,
                        (ULONGLONG)Rounds * Case->Nodes[Index].Calls) ||
            !TEST_EQUAL(Node->Abandoned,
                        (ULONGLONG)Rounds * Case->Nodes[Index].Abandoned)) {

            RtlWriteText(TestOutput,
                         "%s, %s\n",
                         Case->Steps,
                         Case->Nodes[Index].Path);
        }
        if (Store->Header->Clock == TRACE_CLOCK_TSC) {
            TEST(Node->Total <= Ticks);
        }
        if (Case->Open == 0 && Node->Calls > Node->Abandoned) {
            TEST(Node->Minimum <= Node->First);
            TEST(Node->First <= Node->Maximum);
            TEST(Node->Maximum <= Node->Total);
        }
    }
    TEST_EQUAL(Store->Header->NumberOfNodes, NumberOfNodes);
    TEST_EQUAL(Store->Header->NumberOfUnmatchedExits,
               (ULONGLONG)Rounds * Case->Unmatched);
    TEST_EQUAL(PenterTestTreeOpen(Store), Case->Open);
    TEST_EQUAL(Store->Header->NumberOfEventsLost, 0);
}

//
// Stops, starts and clears a tree.
//

static
VOID
PenterTestTreeActions(
    VOID
    )
{
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    PTRACE_NODE A;
    PTRACE_NODE B;
    PTRACE_FRAME Frames;
    ULONGLONG Total;
    ULONGLONG Cursor;
    ULONGLONG Time;

    PenterThreadExit();
    PenterTestTreeCall(TREE_ENTER, 0, 1);
    PenterTestTreeCall(TREE_ENTER, 1, 2);
    Store = PenterTestTreeStore();
    if (!TEST(Store != NULL)) {
        return;
    }
    Header = Store->Header;
    A = PenterTestTreeNode(Store, "a");
    B = PenterTestTreeNode(Store, "ab");
    Frames = (PTRACE_FRAME)(Store->Tree.Stack + 1);
    Cursor = Header->Cursor;

    //
    // Stopped: what is open is charged up to then, and nothing else happens.
    //

    Time = __rdtsc();
    TraceTreeStop(Store, Time);
    TEST_EQUAL(A->Total, Time - Frames[1].Start);
    TEST_EQUAL(B->Total, Time - Frames[2].Start);
    TEST_EQUAL(Header->Cursor, (ULONG_PTR)Frames);
    Total = A->Total;
    TraceTreeStop(Store, Time + 1);
    PenterTestTreeCall(TREE_EXIT, 1, 2);
    PenterTestTreeCall(TREE_ENTER, 2, 2);
    PenterTestTreeCall(TREE_EXIT, 2, 2);
    TEST_EQUAL(Header->NumberOfEventsLost, 3);
    TEST_EQUAL(Header->NumberOfNodes, 3);
    TEST_EQUAL(A->Total, Total);

    //
    // Started: "b" has gone meanwhile, which the next entry shows; that is not
    // abandoned, and takes no more time.
    //

    Time = __rdtsc();
    TraceTreeStart(Store, Time);
    TEST_EQUAL(Header->Cursor, Cursor);
    TEST_EQUAL(Header->NumberOfEventsLost, 0);
    TEST_EQUAL(Header->NumberOfEventsPaused, 3);
    TEST_EQUAL(Frames[1].Start, Time);
    TEST_EQUAL(Frames[2].Flags & TRACE_FRAME_STALE, TRACE_FRAME_STALE);
    Total = B->Total;
    PenterTestTreeCall(TREE_ENTER, 2, 2);
    TEST_EQUAL(B->Total, Total);
    TEST_EQUAL(B->Calls, 1);
    TEST_EQUAL(B->Abandoned, 0);
    TEST(PenterTestTreeNode(Store, "ac") != NULL);

    //
    // Cleared: what is open counts once, from then on.
    //

    Time = __rdtsc();
    TraceTreeClear(Store, Time);
    TEST_EQUAL(Header->ClearTimestamp, Time);
    TEST_EQUAL(Header->Generation & 1, 0);
    TEST_EQUAL(A->Calls, 1);
    TEST_EQUAL(A->Total, 0);
    TEST_EQUAL(B->Calls, 0);
    TEST_EQUAL(B->Minimum, MAXULONG64);
    TEST_EQUAL(Frames[1].Start, Time);
    PenterTestTreeCall(TREE_EXIT, 2, 2);
    PenterTestTreeCall(TREE_EXIT, 0, 1);
    TEST_EQUAL(A->Calls, 1);
    TEST_EQUAL(PenterTestTreeNode(Store, "ac")->Calls, 1);
    if (Header->Clock == TRACE_CLOCK_TSC) {
        TEST(A->Total != 0 && A->Total <= __rdtsc() - Time);
    }
    TEST_EQUAL(PenterTestTreeOpen(Store), 0);
    TEST_EQUAL(Header->NumberOfUnmatchedExits, 0);
}

//
// Runs out of nodes, and of frames.
//

static
VOID
PenterTestTreeRoom(
    VOID
    )
{
    PTRACE_STORE Store;
    PTRACE_NODE Other;
    ULONGLONG Nodes;
    ULONGLONG Calls;
    ULONGLONG Index;
    ULONG Depth;
    ULONG Most;

    PenterThreadExit();
    PenterTestTreeCall(TREE_ENTER, 0, 1);
    Store = PenterTestTreeStore();
    if (!TEST(Store != NULL)) {
        return;
    }

    //
    // No room for other nodes: "b" and "c" become one, and what "b" calls too.
    //

    Nodes = Store->Tree.NodesEnd;
    Store->Tree.NodesEnd = (ULONG_PTR)(Store->Tree.Nodes + 4);
    PenterTestTreeCall(TREE_ENTER, 1, 2);
    PenterTestTreeCall(TREE_ENTER, 2, 3);
    PenterTestTreeCall(TREE_EXIT, 2, 3);
    PenterTestTreeCall(TREE_EXIT, 1, 2);
    PenterTestTreeCall(TREE_ENTER, 2, 2);
    PenterTestTreeCall(TREE_EXIT, 2, 2);
    Other = PenterTestTreeNode(Store, "a*");
    if (TEST(Other != NULL)) {
        TEST_EQUAL(Other->Calls, 3);
        TEST_EQUAL(Other->Abandoned, 0);
        TEST(Other->Total >= Other->Maximum);
    }
    TEST_EQUAL(Store->Header->NumberOfNodes, 3);
    PenterTestTreeCall(TREE_EXIT, 0, 1);
    TEST_EQUAL(PenterTestTreeOpen(Store), 0);
    Store->Tree.NodesEnd = Nodes;

    //
    // No room for more frames than there are now: the calls are counted.
    //

    PenterThreadExit();
    Most = 400;
    PenterTestTreeCall(TREE_ENTER, 0, 1);
    Store = PenterTestTreeStore();
    Store->Tree.Stack->End = Store->Tree.Stack->Reserved[0];
    for (Depth = 2; Depth <= Most; Depth += 1) {
        PenterTestTreeCall(TREE_ENTER, Depth & 1, Depth);
    }
    TEST(Store->Header->NumberOfEventsTooDeep > 0);
    TEST_EQUAL(PenterTestTreeOpen(Store) +
               Store->Header->NumberOfEventsTooDeep, Most);
    for (Depth = Most; Depth >= 1; Depth -= 1) {
        PenterTestTreeCall(TREE_EXIT, Depth == 1 ? 0 : Depth & 1, Depth);
    }
    TEST_EQUAL(PenterTestTreeOpen(Store), 0);
    TEST_EQUAL(Store->Header->NumberOfUnmatchedExits, 0);

    Calls = 0;
    for (Index = 0; Index < Store->Header->NumberOfNodes; Index += 1) {
        Calls += Store->Tree.Nodes[Index].Calls;
    }
    TEST_EQUAL(Calls, Most);
}

//
// A page of nodes cannot be had: the store stops, and what it has is charged
// up to then.
//

static
VOID
PenterTestTreePages(
    VOID
    )
{
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    HANDLE File;

    PenterThreadExit();
    PenterTestTreeCall(TREE_ENTER, 0, 1);
    Store = PenterTestTreeStore();
    if (!TEST(Store != NULL)) {
        return;
    }
    Header = Store->Header;
    File = Store->File;
    Store->File = NULL;
    Store->Tree.NodesPrepared = (ULONG_PTR)(Store->Tree.Nodes + 2);
    PenterTestTreeCall(TREE_ENTER, 1, 2);
    PenterTestTreeCall(TREE_EXIT, 1, 2);
    PenterTestTreeCall(TREE_EXIT, 0, 1);
    PenterTestTreeCall(TREE_ENTER, 0, 1);
    Store->File = File;

    TEST_EQUAL(Header->State, TRACE_STATE_STOPPED);
    TEST_EQUAL(Header->Reason, TRACE_REASON_PAGE_FAILED);
    TEST(Header->Status != 0);
    TEST_EQUAL(Header->NumberOfEventsLost, 4);
    TEST_EQUAL(Header->NumberOfNodes, 2);
    TEST_EQUAL(Store->Tree.Nodes[1].Calls, 1);
    TEST(Header->Clock != TRACE_CLOCK_TSC ||
         Store->Tree.Nodes[1].Total != 0);
    TEST_EQUAL(PenterTestTreeOpen(Store), 0);
}

//
// Makes one call with a random state, of one of four functions.
// Returns FALSE if something has changed.
//

static
BOOLEAN
PenterTestTreeState(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
{
    PenterTestFillState(Hook->Routine, StackOffset, Flags);
    if (Hook->SiteIsArgument) {
        HookCall.Expected.General[HOOK_RCX] =
            TREE_FUNCTION(PenterTestRandom() % 4);
    }
    HookCallOnce();
    return PenterTestCompareCall(Hook, StackOffset, Flags, TRUE);
}

//
// Makes many calls of a pair of hooks, with random states.
// StackOffset: RSP modulo 16.
//

static
VOID
PenterTestTreeStates(
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONG StackOffset
    )
{
    PTRACE_STORE Store;
    ULONGLONG Calls;
    ULONGLONG Entries;
    ULONGLONG Lost;
    ULONGLONG Index;
    ULONG Failed;
    ULONG Round;
    ULONG Flag;

    PenterThreadExit();
    Failed = 0;
    Entries = 0;
    for (Round = 0; Round < TREE_ROUNDS; Round += 1) {
        for (Flag = 0; Flag < TEST_NUMBER_OF_FLAGS; Flag += 1) {

            //
            // Pairs, exits without an entry, and entries without an exit.
            //

            if (PenterTestRandom() % 8 != 0) {
                Entries += 1;
                Failed += !PenterTestTreeState(Enter,
                                               StackOffset,
                                               TestFlags[Flag]);
            }
            if (PenterTestRandom() % 8 != 0) {
                Failed += !PenterTestTreeState(Exit,
                                               StackOffset,
                                               TestFlags[Flag]);
            }
        }
    }
    TEST_EQUAL(Failed, 0);

    Store = PenterTestTreeStore();
    if (!TEST(Store != NULL)) {
        return;
    }
    Calls = 0;
    for (Index = 0; Index < Store->Header->NumberOfNodes; Index += 1) {
        Calls += Store->Tree.Nodes[Index].Calls;
    }
    TEST_EQUAL(Calls, Entries);

    //
    // Stopped.
    //

    TraceTreeStop(Store, __rdtsc());
    Lost = Store->Header->NumberOfEventsLost;
    for (Flag = 0; Flag < TEST_NUMBER_OF_FLAGS; Flag += 1) {
        Failed += !PenterTestTreeState(Enter, StackOffset, TestFlags[Flag]);
        Failed += !PenterTestTreeState(Exit, StackOffset, TestFlags[Flag]);
    }
    TEST_EQUAL(Failed, 0);
    TEST_EQUAL(Store->Header->NumberOfEventsLost,
               Lost + 2 * TEST_NUMBER_OF_FLAGS);
    TraceTreeStart(Store, __rdtsc());
}

//
// The child "trees".
//

VOID
PenterTestTrees(
    VOID
    )
{
    static const ULONG Enters[] = { 0, 3, 4 };
    static const ULONG Exits[] = { 1, 2, 5 };
    BYTE Room[TREE_ROOM_SIZE];
    ULONG Index;

    TreeRoom = Room;
    PenterTestTakeSlots();

    for (Index = 0; Index < RTL_NUMBER_OF(Enters); Index += 1) {
        PenterTestTreeStates(&TestHooks[Enters[Index]],
                             &TestHooks[Exits[Index]],
                             0);
        PenterTestTreeStates(&TestHooks[Enters[Index]],
                             &TestHooks[Exits[Index]],
                             8);
    }

    for (Index = 0; Index < RTL_NUMBER_OF(TreeCases); Index += 1) {
        PenterTestTreeSequence(&TreeCases[Index], 1);
        if (TreeCases[Index].Open == 0) {
            PenterTestTreeSequence(&TreeCases[Index], TREE_ROUNDS);
        }
    }

    PenterTestTreeActions();
    PenterTestTreeRoom();
    PenterTestTreePages();
    PenterThreadExit();
}

/*++

Module Name:

    TestCoreFast.c

Abstract:

    The fast path of pairing against the general rules: the same random
    records, of sites of every shape, go through CoreAddCall alone and through
    CoreRunRecords with CoreAddCall where that stops.  Totals, chains, what is
    watched, frames, stacks and the kinds of events must come out the same.

--*/

#include "Test.h"
#include "../../Reader/Core/CoreFast.h"
#include "../../Reader/Core/CoreTree.h"

#define TEST_ROUNDS 3000
#define TEST_RECORDS 600
#define TEST_FUNCTIONS 6
#define TEST_SITES (TEST_FUNCTIONS * 4)
#define TEST_BASE 0xFFFFF000u
#define TEST_MODULE_SIZE 0x10000u
#define TEST_STACK_BASE 0x0000001200400000ULL
#define TEST_STACK_SIZE 0x100000u

typedef struct _TEST_WAY {
    CORE_PAIR Pair;
    CORE_RECORD_CHECK Check;
    CORE_SITES Sites;
    CORE_TOTALS_TABLE Totals;
    CORE_HISTOGRAM Histograms[TEST_SITES];
    PCORE_ARENA Arena;
    ULONGLONG NumberOfEvents[CoreEventOpen + 1];    // but of the fast path
    ULONGLONG TailCalls;            // likewise
    ULONGLONG Uncertain[TEST_SITES];    // ends of calls with a jump in them
    ULONG NumberOfJumps;
    ULONGLONG BadRecords;
    ULONGLONG Ordinary;
    CORE_PATHS Paths;
    ULONG NumberWatched;            // entries
    ULONGLONG Waited[TEST_RECORDS + CORE_FIRST_PATH];   // as in CORE_RUN
    ULONGLONG Watched;              // of the ends of watched calls, and of
                                    // those made from them
    ULONGLONG Ended;                // of the calls that ended with their exit
} TEST_WAY;
typedef TEST_WAY *PTEST_WAY;

static PCALLOCATOR TestAllocator;
static ULONGLONG TestRandomState;
static ULONGLONG TestJumpTicks;         // 0: none is looked for
static BOOLEAN TestHasHistograms;
static BOOLEAN TestHasPaths;
static BOOLEAN TestHasBoth;             // with paths: the totals, too
static BOOLEAN TestIsWatching;
static BOOLEAN TestHasEnded;            // each end is kept; with totals, they
                                        // are added up apart
static CORE_ENDED TestEnded[TEST_RECORDS];
static ULONG TestCapacityOfEnded;
static BOOLEAN TestHasWaits;            // some entries' functions wait
static ULONGLONG TestContentionTicks;
static ULONG TestWatchedSites;          // a bit for each
static ULONG TestMaximumDepth;
static TRACE_RECORD TestRecords[TEST_RECORDS];
static CORE_CALL TestSites[TEST_SITES];
static TEST_WAY TestGeneral;
static TEST_WAY TestFast;


//
// A number that looks random and is the same in every run.
// Bound: not zero.
// Returns a number below it.
//

static
ULONG
TestRandom(
    _In_ ULONG Bound
    )
{
    TestRandomState = TestRandomState * 6364136223846793005ULL +
                      1442695040888963407ULL;
    return (ULONG)(TestRandomState >> 33) % Bound;
}


//
// Makes up what the image says of the sites: four of each function, one of
// each kind.
//

static
VOID
TestMakeSites(
    VOID
    )
{
    static const ULONG FrameSizes[] = {
        0, 0, 8, 40, 0x1000, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8
    };
    BOOLEAN IsPlain = TestRandom(2) == 0;
    ULONG Index;

    for (Index = 0; Index < TEST_SITES; Index++) {

        PCORE_CALL Site = &TestSites[Index];
        ULONG Function = Index / 4;

        RtlZeroBytes(Site, sizeof(*Site));
        Site->Kind = Index % 4 + TRACE_KIND_ENTER;
        Site->Site = 0x100 + Function * 0x40;
        if (Site->Kind == TRACE_KIND_ENTER || Site->Kind == TRACE_KIND_EXIT) {
            Site->Site += Site->Kind * 8;
        }

        if (TestRandom(4) != 0) {

            Site->Flags = CORE_CALL_FRAME_KNOWN;
            Site->Function = 0x100 + Function * 0x40;
            Site->FrameSize = FrameSizes[TestRandom(IsPlain ? 4 : 9)];
            Site->BodySize = TestRandom(3) * 16;
            if (TestRandom(6) == 0) {
                Site->Flags |= CORE_CALL_DYNAMIC;
            }

            if (TestRandom(6) == 0) {
                Site->Flags |= CORE_CALL_JUMPS;
            }

            if (Site->Kind == TRACE_KIND_EXIT && TestRandom(3) == 0) {
                Site->JumpTarget = 0x100 + TestRandom(TEST_FUNCTIONS) * 0x40;
            }
        }

        if (TestHasWaits && (Site->Kind == TRACE_KIND_ENTER ||
                             Site->Kind == TRACE_KIND_ENTER_FUNCTION)) {
            Site->Flags |= TestRandom(4) == 0   ? CORE_CALL_WAIT
                           : TestRandom(4) == 0 ? CORE_CALL_LOCK
                                                : 0;
        }
    }
}


//
// Makes up records: mostly calls that nest, with all kinds of disorder.
//

static
VOID
TestMakeRecords(
    VOID
    )
{
    static const ULONG Odds[] = { 0, 10, 60, 400 };
    ULONG Functions[64];
    ULONG Rsps[64];
    ULONG Depth = 0;
    ULONG Rsp = (ULONG)TEST_STACK_BASE - 0x1000;
    ULONG Odd = Odds[TestRandom(RTL_NUMBER_OF(Odds))];
    ULONG Kinds = TestRandom(3);
    ULONGLONG Timestamp = 1000;
    ULONG Index;

    for (Index = 0; Index < TEST_RECORDS; Index++) {

        PTRACE_RECORD Record = &TestRecords[Index];
        ULONG Function = TestRandom(TEST_FUNCTIONS);
        ULONG Pair = Kinds == 2 ? TestRandom(2) : Kinds;
        ULONG Kind;
        ULONG Stack;

        Timestamp += TestRandom(4) * TestRandom(50);
        if (Depth != 0 && (Depth == 64 || TestRandom(100) < 48)) {

            Depth -= 1;
            Function = Functions[Depth];
            Stack = Rsps[Depth];
            Rsp = Stack;
            Kind = 1;

        } else {

            Rsp -= 16 * (TestRandom(20) + (TestRandom(9) != 0));
            Functions[Depth] = Function;
            Rsps[Depth] = Rsp;
            Depth += 1;
            Stack = Rsp;
            Kind = 0;
        }

        if (TestRandom(1000) < Odd) {

            switch (TestRandom(9)) {

            case 0:                     // calls are left
                Depth -= TestRandom(Depth + 1);
                break;

            case 1:                     // another function
                Function = TestRandom(TEST_FUNCTIONS);
                break;

            case 2:                     // another kind
                Kind = TestRandom(2);
                Pair = TestRandom(2);
                break;

            case 3:                     // RSP near by
                Stack += 8 * TestRandom(16) - 64;
                break;

            case 4:                     // a fiber
                Rsp = 0x30000000 + TestRandom(3) * 0x100000 +
                      TestRandom(4) * 0x800;
                Depth = 0;
                break;

            case 5:                     // the thread's own stack again
                Rsp = (ULONG)TEST_STACK_BASE - TestRandom(0x2000) * 8;
                Depth = 0;
                break;

            case 6:                     // beyond one of its ends
                Rsp = (ULONG)TEST_STACK_BASE - TEST_STACK_SIZE - 0x40 +
                      TestRandom(16) * 8;
                Depth = 0;
                break;

            case 7:                     // earlier, or not there
                Timestamp -= TestRandom(900);
                break;

            default:
                Rsp = TestRandom(0x7FFFFFFF) * 2;
                break;
            }
        }

        Record->Timestamp = TestRandom(5000) < Odd ? 0 : Timestamp;
        Kind += Pair * 2;
        Record->Site = TEST_BASE + (ULONG)TestSites[Function * 4 + Kind].Site;
        Record->StackKind = (Stack & ~TRACE_KIND_MASK) |
                            (Kind + TRACE_KIND_ENTER);
        if (TestRandom(5000) < Odd) {
            Record->StackKind ^= TestRandom(8);
        }

        if (TestRandom(5000) < Odd) {
            Record->Site += TEST_MODULE_SIZE;
        }
    }
}


//
// Makes a way with nothing read.
//

static
VOID
TestBegin(
    _Out_ PTEST_WAY Way
    )
{
    RtlZeroBytes(Way, sizeof(*Way));
    TEST_SUCCESS(CoreInitializePair(&Way->Pair,
                                    TestAllocator,
                                    TEST_STACK_BASE,
                                    TEST_STACK_BASE - TEST_STACK_SIZE));
    Way->Pair.ContentionTicks = TestContentionTicks;
    Way->Check.ModuleBase = TEST_BASE;
    Way->Check.ModuleSize = TEST_MODULE_SIZE;
    Way->Sites.Allocator = TestAllocator;
    Way->Totals.Allocator = TestAllocator;
    Way->Arena = CoreCreateArena(TestAllocator);
    TEST(Way->Arena != NULL);
    TEST_SUCCESS(CoreGrowTotals(&Way->Totals, TEST_SITES));
    TEST_SUCCESS(CoreInitializePaths(&Way->Paths,
                                     TestAllocator,
                                     TestMaximumDepth));
    Way->Paths.Thread = 7;
}


//
// Frees what a way holds.
//

static
VOID
TestEnd(
    _Inout_ PTEST_WAY Way
    )
{
    ULONG Index;

    CoreRundownPair(&Way->Pair);
    CoreRundownSites(&Way->Sites);
    CoreRundownTotals(&Way->Totals);
    CoreRundownPaths(&Way->Paths);
    for (Index = 0; Index < TEST_SITES; Index += 2) {
        CoreRundownHistogram(&Way->Histograms[Index], Way->Arena);
    }

    CoreDestroyArena(Way->Arena);
}


//
// Finds the chain of a call that is entered.
//

static
ULONG
TestEnterPath(
    _Inout_ PTEST_WAY Way,
    _In_ const CORE_EVENT *Event,
    _In_ ULONG Function
    )
{
    ULONG Above = Event->Parent != NULL ? Event->Parent->Node
                                        : CORE_PATH_ROOT;
    ULONG Path;

    if (Event->Depth >= TestMaximumDepth) {
        return CORE_PATH_OUTSIDE;
    }

    for (Path = CORE_FIRST_PATH; Path < Way->Paths.NumberOfPaths; Path++) {
        if (Way->Paths.Paths[Path].Parent == Above &&
            Way->Paths.Paths[Path].Function == Function) {
            return Path;
        }
    }

    TEST_SUCCESS(CoreAddPath(&Way->Paths, Above, Function, &Path));
    return Path;
}


//
// Adds a call that ended with its exit to its chain.
//

static
VOID
TestAddToPath(
    _Inout_ PTEST_WAY Way,
    _In_ const CORE_EVENT *Event
    )
{
    PCORE_PATH Path = &Way->Paths.Paths[Event->Frame->Node];
    ULONGLONG Ticks = Event->InclusiveTicks;

    if (Path->Calls == 0) {
        Path->FirstTicks = Ticks;
        Path->FirstThread = 7;
    }

    Path->Calls += 1;
    Path->SelfTicks += Event->SelfTicks;
    Path->SumLow += Ticks;
    Path->SumHigh += Path->SumLow < Ticks;
    Path->MinimumTicks = Ticks < Path->MinimumTicks ? Ticks
                                                    : Path->MinimumTicks;
    Path->MaximumTicks = Ticks > Path->MaximumTicks ? Ticks
                                                    : Path->MaximumTicks;
}


//
// Adds the end of a call to what all of them come to, in whatever order.
//

static
VOID
TestAddEnd(
    _Inout_ PTEST_WAY Way,
    _In_ ULONGLONG Enter,
    _In_ ULONGLONG Ticks,
    _In_ ULONG Depth,
    _In_ ULONG Function
    )
{
    Way->Ended += (Enter * 31 + Ticks * 7 + Depth) * (Function + 3);
}


//
// Gives a record to the general rules.
//

static
VOID
TestTakeGeneral(
    _Inout_ PTEST_WAY Way,
    _In_ PCTRACE_RECORD Record
    )
{
    ULONG Rva = Record->Site - Way->Check.ModuleBase;
    CORE_EVENT Event;
    CORE_CALL Call;
    PCORE_TOTALS Totals;
    ULONG Index;

    if (CoreValidateRecord(&Way->Check, Record, FALSE) != CoreRecordValid) {
        Way->BadRecords += 1;
        return;
    }

    for (Index = 0; Index < TEST_SITES; Index++) {
        if (TestSites[Index].Site == Rva &&
            TestSites[Index].Kind == (Record->StackKind & TRACE_KIND_MASK)) {
            break;
        }
    }

    //
    // A kind that was changed may make a site that there is none of.
    //

    if (Index == TEST_SITES) {
        RtlZeroBytes(&Call, sizeof(Call));
        Call.Site = Rva;
        Call.Kind = Record->StackKind & TRACE_KIND_MASK;
        Index = 0;
    } else {
        Call = TestSites[Index];
    }

    if (TestJumpTicks != 0 &&
        Way->Pair.LastTimestamp != 0 &&
        Record->Timestamp > Way->Pair.LastTimestamp &&
        Record->Timestamp - Way->Pair.LastTimestamp > TestJumpTicks) {
        Way->NumberOfJumps += 1;
    }

    Call.Timestamp = Record->Timestamp;
    Call.Stack = Record->StackKind & ~TRACE_KIND_MASK;
    if (Call.Kind != TRACE_KIND_GONE &&
        CoreFindSite(&Way->Sites, Rva, Call.Kind) == NULL) {
        TEST_SUCCESS(CoreAddSite(&Way->Sites, &Call, Index));
        if ((TestWatchedSites & (1u << Index)) != 0) {
            CoreWatchSite(&Way->Sites, Rva, Call.Kind);
        }
    }

    TEST_SUCCESS(CoreAddCall(&Way->Pair, &Call));
    while (CoreNextEvent(&Way->Pair, &Event)) {

        Way->NumberOfEvents[Event.Kind] += 1;
        Way->TailCalls += Event.IsTailCall;
        if (Event.Kind == CoreEventUnmatched) {
            continue;
        }

        if (Event.Kind == CoreEventEnter) {
            Event.Frame->Function = Index;
            Event.Frame->NumberOfJumps = Way->NumberOfJumps;
            if (TestHasPaths) {
                Event.Frame->Node = TestEnterPath(Way, &Event, Index);
            } else if (TestIsWatching) {
                if ((TestWatchedSites & (1u << Index)) != 0) {
                    Way->NumberWatched += 1;
                    Event.Frame->Node = Way->NumberWatched;
                }
            }

            if (TestHasBoth || (!TestHasPaths && !TestIsWatching)) {
                Way->Totals.Active[Index] += 1;
            }
            continue;
        }

        if (Event.Kind == CoreEventExit) {
            TestAddEnd(Way,
                       Event.Frame->EnterTimestamp,
                       Event.InclusiveTicks,
                       Event.Depth,
                       Event.Frame->Function);
        }

        if (TestIsWatching &&
            (Event.Frame->Node != 0 ||
             (Event.Parent != NULL && Event.Parent->Node != 0))) {
            Way->Watched = Way->Watched * 31 + Event.InclusiveTicks * 7 +
                           Event.SelfTicks * 5 + Event.WaitedTicks * 3 +
                           Event.Frame->Function;
        }

        //
        // What a frame that is gone leaves behind must not come back.
        //

        Totals = &Way->Totals.Totals[Event.Frame->Function];
        if (Event.Frame->NumberOfJumps != Way->NumberOfJumps) {
            Way->Uncertain[Event.Frame->Function] += 1;
        }

        Event.Frame->NumberOfJumps = 0x77777777;
        if (TestHasPaths) {
            if (Event.Kind == CoreEventExit) {
                TestAddToPath(Way, &Event);
                Way->Waited[Event.Frame->Node] += Event.WaitedTicks;
            }
        }

        if (TestIsWatching || (TestHasPaths && !TestHasBoth)) {
            continue;
        }

        Way->Totals.Active[Event.Frame->Function] -= 1;
        if (Event.Kind != CoreEventExit) {
            continue;
        }

        if (TestHasHistograms) {
            TEST_SUCCESS(CoreAddToHistogram(
                &Way->Histograms[Event.Frame->Function],
                Way->Arena,
                Event.InclusiveTicks));
        }

        Totals->Calls += 1;
        Totals->SelfTicks += Event.SelfTicks;
        Totals->SumLow += Event.InclusiveTicks;
        if (Way->Totals.Active[Event.Frame->Function] == 0) {
            Totals->TotalTicks += Event.InclusiveTicks;
            if (!TestHasPaths) {
                Way->Waited[Event.Frame->Function] += Event.WaitedTicks;
            }
        }

        if (Event.InclusiveTicks < Totals->MinimumTicks) {
            Totals->MinimumTicks = Event.InclusiveTicks;
        }

        if (Event.InclusiveTicks > Totals->MaximumTicks) {
            Totals->MaximumTicks = Event.InclusiveTicks;
        }
    }
}


//
// Gives all records to the fast path, and to the general rules where it stops.
// Limit: up to which time stamp the fast path may go.
//

static
VOID
TestTakeFast(
    _Inout_ PTEST_WAY Way,
    _In_ ULONGLONG Limit
    )
{
    CORE_ENDED_LIST Ended;
    CORE_RUN Run;
    ULONG Index = 0;
    ULONG Count;
    ULONG Taken;
    ULONG End;

    RtlZeroBytes(&Run, sizeof(Run));
    Ended.Calls = TestEnded;
    Ended.Capacity = TestCapacityOfEnded;
    while (Index < TEST_RECORDS) {

        Count = 1 + TestRandom(TEST_RECORDS);
        if (Count > TEST_RECORDS - Index) {
            Count = TEST_RECORDS - Index;
        }

        Run.Totals = Way->Totals.Totals;
        Run.Active = Way->Totals.Active;
        Run.Histograms = TestHasHistograms ? Way->Histograms : NULL;
        Run.Limit = Limit;
        Run.JumpTicks = TestJumpTicks;
        Run.NumberOfJumps = Way->NumberOfJumps;
        Run.Paths = TestHasPaths ? &Way->Paths : NULL;
        Run.HasTotals = TestHasBoth;
        Run.IsWatching = TestIsWatching;
        Run.WaitedTotals = TestHasWaits ? Way->Waited : NULL;
        Run.Ended = TestHasEnded ? &Ended : NULL;
        Run.IsAddedApart = TestHasEnded && !TestIsWatching;
        Ended.NumberOfCalls = 0;
        Taken = CoreRunRecords(&Way->Pair,
                               &Way->Check,
                               &Way->Sites,
                               &Run,
                               &TestRecords[Index],
                               Count);
        TEST(Taken <= Count);
        TEST(Ended.NumberOfCalls <= Ended.Capacity);
        for (End = 0; End < Ended.NumberOfCalls; End++) {
            TestAddEnd(Way,
                       TestEnded[End].EnterTimestamp,
                       TestEnded[End].ExitTimestamp -
                           TestEnded[End].EnterTimestamp,
                       TestEnded[End].Depth,
                       TestEnded[End].Function);
        }

        if (Run.IsAddedApart) {
            TEST_SUCCESS(CoreAddEnded(Way->Totals.Totals,
                                      Run.Histograms,
                                      Way->Arena,
                                      TestEnded,
                                      Ended.NumberOfCalls));
        }

        TEST(Taken == 0 ||
             TestRecords[Index + Taken - 1].Timestamp < Limit);
        Way->Ordinary += Taken;
        Index += Taken;
        if (Taken < Count) {
            TestTakeGeneral(Way, &TestRecords[Index]);
            Index += 1;
        }
    }
}


//
// Compares two stacks, frame by frame.
// Returns TRUE if they are the same.
//

static
BOOLEAN
TestAreStacksEqual(
    _In_ const CORE_STACK *First,
    _In_ const CORE_STACK *Second
    )
{
    SIZE_T Index;

    if (First->NumberOfFrames != Second->NumberOfFrames ||
        First->JumpTarget != Second->JumpTarget ||
        First->LeftTimestamp != Second->LeftTimestamp ||
        First->Lowest != Second->Lowest ||
        First->Highest != Second->Highest) {
        return FALSE;
    }

    for (Index = 0; Index < First->NumberOfFrames; Index++) {
        if (!RtlAreBytesEqual(&First->Frames[Index],
                              &Second->Frames[Index],
                              sizeof(CORE_FRAME)) ||
            (TestHasWaits && CORE_STACK_WAITED(First)[Index] !=
                                 CORE_STACK_WAITED(Second)[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Compares two histograms.
// Returns TRUE if they are the same.
//

static
BOOLEAN
TestAreHistogramsEqual(
    _In_ const CORE_HISTOGRAM *First,
    _In_ const CORE_HISTOGRAM *Second
    )
{
    return First->FirstBucket == Second->FirstBucket &&
           First->NumberOfBuckets == Second->NumberOfBuckets &&
           RtlAreBytesEqual(First->Counts,
                            Second->Counts,
                            First->NumberOfBuckets * sizeof(ULONGLONG));
}


//
// Compares what came of two ways.
// General: without the fast path.
// Returns TRUE if nothing differs.
//

static
BOOLEAN
TestAreEqual(
    _In_ const TEST_WAY *General,
    _In_ const TEST_WAY *Fast
    )
{
    ULONG Index;

    if (General->BadRecords != Fast->BadRecords ||
        General->Check.PreviousTimestamp != Fast->Check.PreviousTimestamp ||
        General->Pair.LastTimestamp != Fast->Pair.LastTimestamp ||
        General->Pair.Current != Fast->Pair.Current ||
        General->NumberOfJumps != Fast->NumberOfJumps ||
        !RtlAreBytesEqual(General->Uncertain,
                          Fast->Uncertain,
                          sizeof(General->Uncertain)) ||
        General->Pair.NumberOfStacks != Fast->Pair.NumberOfStacks ||
        General->NumberOfEvents[CoreEventAbandoned] !=
            Fast->NumberOfEvents[CoreEventAbandoned] ||
        General->NumberOfEvents[CoreEventUnmatched] !=
            Fast->NumberOfEvents[CoreEventUnmatched]) {
        return FALSE;
    }

    //
    // The first stack's range is fixed; what was never set is not compared.
    //

    for (Index = 0; Index < General->Pair.NumberOfStacks; Index++) {
        if (!TestAreStacksEqual(&General->Pair.Stacks[Index],
                                &Fast->Pair.Stacks[Index])) {
            return FALSE;
        }
    }

    //
    // What is outside is nobody's.
    //

    if (General->NumberWatched != Fast->NumberWatched ||
        General->Watched != Fast->Watched ||
        (TestHasEnded && General->Ended != Fast->Ended) ||
        (TestHasWaits && !RtlAreBytesEqual(General->Waited,
                                           Fast->Waited,
                                           sizeof(General->Waited))) ||
        General->Paths.NumberOfPaths != Fast->Paths.NumberOfPaths ||
        !RtlAreBytesEqual(General->Paths.Paths + CORE_FIRST_PATH,
                          Fast->Paths.Paths + CORE_FIRST_PATH,
                          (General->Paths.NumberOfPaths - CORE_FIRST_PATH) *
                              sizeof(CORE_PATH))) {
        return FALSE;
    }

    for (Index = 0; Index < TEST_SITES; Index++) {
        if (!TestAreHistogramsEqual(&General->Histograms[Index],
                                    &Fast->Histograms[Index])) {
            return FALSE;
        }
    }

    return RtlAreBytesEqual(General->Totals.Active,
                            Fast->Totals.Active,
                            TEST_SITES * sizeof(ULONG)) &&
           RtlAreBytesEqual(General->Totals.Totals,
                            Fast->Totals.Totals,
                            TEST_SITES * sizeof(CORE_TOTALS));
}


//
// Compares the two ways on random records.
//

static
VOID
TestRandomRecords(
    VOID
    )
{
    ULONGLONG Ordinary = 0;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unmatched = 0;
    ULONGLONG Exits = 0;
    ULONGLONG Bad = 0;
    ULONGLONG Fibers = 0;
    ULONGLONG Jumps = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG OrdinaryWithJumps = 0;
    ULONGLONG Buckets = 0;
    ULONGLONG Chains = 0;
    ULONGLONG OrdinaryInChains = 0;
    ULONGLONG CallsInBoth = 0;
    ULONGLONG Watched = 0;
    ULONGLONG OrdinaryBesides = 0;
    ULONGLONG OrdinaryWithWaits = 0;
    ULONGLONG OrdinaryWithEnded = 0;
    ULONGLONG Waited = 0;
    ULONG Round;
    ULONG Number;
    ULONG Index;
    ULONG Wrong = 0;
    ULONG Unseen = 0;

    for (Round = 0; Round < TEST_ROUNDS; Round++) {

        TestHasPaths = TestRandom(3) == 0;
        TestHasBoth = TestHasPaths && TestRandom(2) == 0;
        TestHasWaits = !TestHasBoth && TestRandom(2) == 0;
        TestContentionTicks = TestRandom(150);
        TestMakeSites();
        TestMakeRecords();
        TestJumpTicks = TestRandom(2) == 0 ? 0 : 1 + TestRandom(150);
        TestIsWatching = !TestHasPaths && TestRandom(2) == 0;
        TestHasHistograms = !TestHasPaths && !TestIsWatching &&
                            TestRandom(2) == 0;
        TestHasEnded = !TestHasPaths && TestRandom(2) == 0;
        TestCapacityOfEnded = 1 + TestRandom(TEST_RECORDS);
        TestMaximumDepth = TestRandom(2) == 0 ? ~0u : 1 + TestRandom(12);
        TestWatchedSites = 1u << TestRandom(TEST_SITES) |
                           1u << TestRandom(TEST_SITES);
        TestBegin(&TestGeneral);
        for (Index = 0; Index < TEST_RECORDS; Index++) {
            TestTakeGeneral(&TestGeneral, &TestRecords[Index]);
        }

        TestBegin(&TestFast);
        TestTakeFast(&TestFast,
                     TestRandom(3) == 0 ? TestRecords[300].Timestamp : ~0ULL);
        if (!TestAreEqual(&TestGeneral, &TestFast)) {
            Wrong += 1;
        }

        Ordinary += TestFast.Ordinary;
        Abandoned += TestGeneral.NumberOfEvents[CoreEventAbandoned];
        Unmatched += TestGeneral.NumberOfEvents[CoreEventUnmatched];
        Exits += TestGeneral.NumberOfEvents[CoreEventExit];
        Bad += TestGeneral.BadRecords;
        Jumps += TestGeneral.NumberOfJumps;
        if (TestJumpTicks > 100) {
            OrdinaryWithJumps += TestFast.Ordinary;
        }

        for (Index = 0; Index < TEST_SITES; Index++) {
            Uncertain += TestGeneral.Uncertain[Index];
        }

        Fibers += TestGeneral.Pair.NumberOfStacks - 1;

        //
        // That a difference is seen: the same calls, one of them later.
        //

        Index = Round % TEST_SITES;
        if (TestFast.Histograms[Index].NumberOfBuckets != 0) {
            Number = TestRandom(TestFast.Histograms[Index].NumberOfBuckets);
            TestFast.Histograms[Index].Counts[Number] += 1;
            if (TestAreEqual(&TestGeneral, &TestFast)) {
                Unseen += 1;
            }

            TestFast.Histograms[Index].Counts[Number] -= 1;
            Buckets += TestFast.Histograms[Index].NumberOfBuckets;
        }

        if (TestHasPaths) {
            Chains += TestGeneral.Paths.NumberOfPaths - CORE_FIRST_PATH;
            for (Index = 0; TestHasBoth && Index < TEST_SITES; Index++) {
                CallsInBoth += TestFast.Totals.Totals[Index].Calls;
            }

            OrdinaryInChains += TestFast.Ordinary;
            if (TestGeneral.Paths.NumberOfPaths > CORE_FIRST_PATH) {
                TestFast.Paths.Paths[CORE_FIRST_PATH].SelfTicks += 1;
                if (TestAreEqual(&TestGeneral, &TestFast)) {
                    Unseen += 1;
                }
            }
        }

        if (TestHasWaits) {

            OrdinaryWithWaits += TestFast.Ordinary;
            for (Index = 0; Index < RTL_NUMBER_OF(TestFast.Waited); Index++) {
                if (Index != CORE_PATH_OUTSIDE) {
                    Waited += TestFast.Waited[Index];
                }
            }

            TestFast.Waited[Round % TEST_SITES] += 1;
            if (TestAreEqual(&TestGeneral, &TestFast)) {
                Unseen += 1;
            }

            TestFast.Waited[Round % TEST_SITES] -= 1;
        }

        if (TestHasEnded) {

            OrdinaryWithEnded += TestFast.Ordinary;
            TestFast.Ended += 1;
            if (TestAreEqual(&TestGeneral, &TestFast)) {
                Unseen += 1;
            }

            TestFast.Ended -= 1;
        }

        if (TestIsWatching) {
            Watched += TestGeneral.NumberWatched;
            OrdinaryBesides += TestFast.Ordinary;
        }

        if (TestGeneral.NumberOfEvents[CoreEventExit] != 0) {
            TestFast.Totals.Totals[Round % TEST_SITES].SelfTicks += 1;
            if (TestAreEqual(&TestGeneral, &TestFast)) {
                Unseen += 1;
            }
        }

        TestEnd(&TestGeneral);
        TestEnd(&TestFast);
    }

    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Unseen, 0);

    //
    // That there was something of everything.
    //

    TEST(Ordinary > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 4);
    TEST(Exits > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 10);
    TEST(Abandoned > TEST_ROUNDS);
    TEST(Unmatched > TEST_ROUNDS);
    TEST(Bad > TEST_ROUNDS / 2);
    TEST(Fibers > TEST_ROUNDS / 2);
    TEST(Jumps > TEST_ROUNDS);
    TEST(Uncertain > TEST_ROUNDS);
    TEST(OrdinaryWithJumps > TEST_ROUNDS);
    TEST(Buckets > TEST_ROUNDS);
    TEST(Chains > TEST_ROUNDS * 4);
    TEST(OrdinaryInChains > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 30);
    TEST(CallsInBoth > TEST_ROUNDS);
    TEST(Watched > TEST_ROUNDS);
    TEST(Waited > TEST_ROUNDS);
    TEST(OrdinaryWithWaits > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 20);
    TEST(OrdinaryWithEnded > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 20);
    TEST(OrdinaryBesides > (ULONGLONG)TEST_ROUNDS * TEST_RECORDS / 20);
    RtlWriteText(TestOutput,
                 "ordinary %llu, exits %llu, abandoned %llu, unmatched %llu, "
                 "bad %llu, fibers %llu, jumps %llu, uncertain %llu, ordinary "
                 "between jumps %llu\n",
                 Ordinary,
                 Exits,
                 Abandoned,
                 Unmatched,
                 Bad,
                 Fibers,
                 Jumps,
                 Uncertain,
                 OrdinaryWithJumps);
}


//
// Puts values into buckets and compares what comes out with the sorted values.
//

static
VOID
TestHistograms(
    VOID
    )
{
    static const ULONG Shares[] = { 1, 250, 500, 900, 990, 999, 1000 };
    CORE_HISTOGRAM Histograms[2];
    CORE_HISTOGRAM Empty;
    PCORE_ARENA Arena = CoreCreateArena(TestAllocator);
    ULONGLONG Values[64];
    ULONGLONG Value;
    ULONGLONG Exact;
    ULONGLONG Found;
    ULONG Bucket;
    ULONG Count;
    ULONG Round;
    ULONG Index;
    ULONG Place;
    ULONG Wrong = 0;
    ULONG Below = 0;

    //
    // Every bucket begins where the one before it ends, and none is too wide.
    //

    TEST_EQUAL(CoreQueryBucket(0), 0);
    TEST_EQUAL(CoreQueryBucket(~0ULL), CORE_NUMBER_OF_BUCKETS - 1);
    TEST_EQUAL(CoreQueryBucketEnd(CORE_NUMBER_OF_BUCKETS - 1), ~0ULL);
    for (Bucket = 0; Bucket + 1 < CORE_NUMBER_OF_BUCKETS; Bucket++) {

        Value = CoreQueryBucketEnd(Bucket);
        if (CoreQueryBucket(Value) != Bucket ||
            CoreQueryBucket(Value + 1) != Bucket + 1 ||
            (CoreQueryBucketEnd(Bucket + 1) - Value - 1) >
                (Value + 1) / 32) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);

    //
    // In two histograms, put together; the values are kept in order.
    //

    RtlZeroBytes(&Empty, sizeof(Empty));
    TEST_EQUAL(CoreQueryPercentile(&Empty, 500, 7), 0);
    for (Round = 0; Round < 2000; Round++) {

        RtlZeroBytes(Histograms, sizeof(Histograms));
        Count = 1 + TestRandom(RTL_NUMBER_OF(Values));
        for (Index = 0; Index < Count; Index++) {

            Value = ((ULONGLONG)TestRandom(0x7FFFFFFF) << 33 |
                     (ULONGLONG)TestRandom(0x7FFFFFFF) << 3) >>
                    TestRandom(64);
            if (Round % 2 != 0) {
                Value = 1000 + Value % 500;
            }

            TEST_SUCCESS(CoreAddToHistogram(&Histograms[TestRandom(2)],
                                            Arena,
                                            Value));
            for (Place = Index;
                 Place != 0 && Values[Place - 1] > Value;
                 Place--) {
                Values[Place] = Values[Place - 1];
            }

            Values[Place] = Value;
        }

        TEST_SUCCESS(CoreMergeHistogram(&Histograms[0],
                                        Arena,
                                        &Histograms[1]));
        for (Index = 0; Index < RTL_NUMBER_OF(Shares); Index++) {

            Exact = Values[(Count * Shares[Index] + 999) / 1000 - 1];
            Found = CoreQueryPercentile(&Histograms[0],
                                        Shares[Index],
                                        Values[Count - 1]);
            if (Found < Exact || Found - Exact > Exact / 32 ||
                (Exact < 64 && Found != Exact) ||
                (Shares[Index] == 1000 && Found != Values[Count - 1])) {
                Wrong += 1;
            }

            //
            // That the precision is not there by accident.
            //

            if (Found != Exact) {
                Below += 1;
            }
        }

        CoreRundownHistogram(&Histograms[0], Arena);
        CoreRundownHistogram(&Histograms[1], Arena);
    }

    TEST_EQUAL(Wrong, 0);
    TEST(Below > 2000);
    CoreDestroyArena(Arena);
}


//
// Fills a table of sites far beyond its first size.
//

static
VOID
TestSiteTable(
    VOID
    )
{
    CORE_SITES Sites;
    CORE_CALL Call;
    PCCORE_SITE Site;
    ULONG Index;
    ULONG Wrong = 0;

    RtlZeroBytes(&Sites, sizeof(Sites));
    Sites.Allocator = TestAllocator;
    RtlZeroBytes(&Call, sizeof(Call));
    TEST(CoreFindSite(&Sites, 0, TRACE_KIND_ENTER) == NULL);

    for (Index = 0; Index < 20000; Index++) {
        Call.Site = 0x500000000ULL | (Index * 3);
        Call.Kind = Index % 4 + TRACE_KIND_ENTER;
        Call.Function = Index;
        if (!NT_SUCCESS(CoreAddSite(&Sites, &Call, Index))) {
            Wrong += 1;
        }
    }

    for (Index = 0; Index < 20000; Index++) {

        Site = CoreFindSite(&Sites,
                            Index * 3,
                            Index % 4 + TRACE_KIND_ENTER);
        if (Site == NULL || Site->Index != Index || Site->Function != Index ||
            Site->Site != (0x500000000ULL | (Index * 3)) ||
            ((ULONG_PTR)Site & 63) != 0) {
            Wrong += 1;
        }

        if (CoreFindSite(&Sites, Index * 3 + 1, TRACE_KIND_ENTER) != NULL ||
            CoreFindSite(&Sites,
                         Index * 3,
                         (Index + 1) % 4 + TRACE_KIND_ENTER) != NULL) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Sites.Count, 20000);
    CoreRundownSites(&Sites);
    CoreRundownSites(&Sites);
}


#define TEST_NODES 6
#define TEST_FRAMES 5
#define TEST_ACTIONS 12

typedef struct _TEST_TREE {
    CORE_TREE Tree;
    CORE_TREE_NODE Nodes[TEST_NODES];
    CORE_TREE_FRAME Frames[TEST_FRAMES];
} TEST_TREE;

static TEST_TREE TestTrees[2];


//
// A tree of random numbers: what it says need not fit together here.
//

static
VOID
TestMakeTree(
    _Out_ TEST_TREE *This
    )
{
    PCORE_TREE_FRAME Frame;
    ULONG Index;

    RtlZeroBytes(This, sizeof(*This));
    This->Tree.NumberOfNodes = TEST_NODES;
    This->Tree.NumberOfFrames = TestRandom(TEST_FRAMES + 1);
    This->Tree.IsStopped = TestRandom(3) == 0;
    This->Tree.LatestTimestamp = TestRandom(150);
    for (Index = 0; Index < TEST_NODES; Index++) {
        This->Nodes[Index].Calls = TestRandom(9);
        This->Nodes[Index].Open = TestRandom(2);
        This->Nodes[Index].Total = TestRandom(1000);
        This->Nodes[Index].Away = TestRandom(1000);
        This->Nodes[Index].Minimum = TestRandom(1000);
        This->Nodes[Index].Abandoned = TestRandom(3);
    }

    for (Index = 0; Index < This->Tree.NumberOfFrames; Index++) {
        Frame = &This->Frames[Index];
        Frame->Node = TestRandom(TEST_NODES);
        Frame->Start = TestRandom(150);
        Frame->IsInner = TestRandom(4) == 0;
        if (TestRandom(3) == 0) {
            Frame->LeftTimestamp = 1 + TestRandom(150);
        }
    }
}


//
// Many actions at a time do to a tree what they do one after the other.
//

static
VOID
TestTreeActions(
    VOID
    )
{
    static TRACE_CONTROL_ACTION Actions[TEST_ACTIONS];
    ULONGLONG Timestamp;
    ULONG Changes = 0;
    ULONG Count;
    ULONG Done;
    ULONG Index;
    ULONG Round;
    ULONG Way;
    ULONG Wrong = 0;

    for (Round = 0; Round < 20000; Round++) {

        Count = TestRandom(TEST_ACTIONS + 1);
        Done = TestRandom(3);
        Timestamp = TestRandom(60);
        for (Index = 0; Index < Count; Index++) {
            Timestamp += TestRandom(20);
            Actions[Index].Kind = TRACE_ACTION_START + TestRandom(4);
            if (Actions[Index].Kind == TRACE_ACTION_CLEAR &&
                TestRandom(3) != 0) {
                Actions[Index].Kind = TRACE_ACTION_STOP;
            }
            Actions[Index].Timestamp = Timestamp;
            Actions[Index].Reserved = Index;
        }

        if (Count != 0 && TestRandom(10) == 0) {
            Actions[Count - 1].Timestamp = ~0ULL >> 2;
        }

        TestMakeTree(&TestTrees[0]);
        TestTrees[1] = TestTrees[0];
        for (Way = 0; Way < 2; Way++) {
            TestTrees[Way].Tree.Nodes = TestTrees[Way].Nodes;
            TestTrees[Way].Tree.Frames = TestTrees[Way].Frames;
        }

        for (Index = Done; Index < Count; Index++) {
            CoreApplyToTree(&TestTrees[0].Tree,
                            Actions[Index].Kind,
                            Actions[Index].Timestamp);
        }

        CoreApplyActionsToTree(&TestTrees[1].Tree, Actions, Count, Done);
        Changes += TestTrees[0].Tree.IsStopped;
        if (TestTrees[0].Tree.IsStopped != TestTrees[1].Tree.IsStopped ||
            TestTrees[0].Tree.LatestTimestamp !=
                TestTrees[1].Tree.LatestTimestamp ||
            !RtlAreBytesEqual(TestTrees[0].Nodes,
                              TestTrees[1].Nodes,
                              sizeof(TestTrees[0].Nodes)) ||
            !RtlAreBytesEqual(TestTrees[0].Frames,
                              TestTrees[1].Frames,
                              sizeof(TestTrees[0].Frames))) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
    TEST(Changes > 1000 && Changes < 19000);
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
    UNREFERENCED_PARAMETER(Rtl);

    TestAllocator = Allocator;
    TestRandomState = 20260311;
    TestSiteTable();
    TestHistograms();
    TestRandomRecords();
    TestTreeActions();
}

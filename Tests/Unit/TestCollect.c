/*++

Module Name:

    TestCollect.c

Abstract:

    Tests what TraceReader collect does with a driver's section: that nothing
    outside of it is read, whatever its header says and its rings hold; that
    every record of a ring is taken, lost or unfinished; and that each call of
    made-up processors, which run threads, DPCs and interrupts on stacks of
    their own, is whose it was, below its caller and nothing else.

--*/

#include "../../Reader/Collect/CollectRing.h"
#include "../../Reader/Collect/CollectStack.h"
#include "Test.h"

#define TEST_PAGE 0x1000u
#define TEST_VIEW (64 * TEST_PAGE)

static PCRTL TestRtl;
static PCALLOCATOR TestAllocator;
static ULONGLONG TestSeed = 20261126;

static
ULONG
TestRandom(
    ULONG Limit
    )
{
    TestSeed = TestSeed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (ULONG)(TestSeed >> 33) % Limit;
}

//
// A view that ends where memory ends.
//

static
PUCHAR
TestMakeView(
    VOID
    )
{
    PVOID Base = NULL;
    PVOID Last;
    SIZE_T Size = TEST_PAGE;
    ULONG Old;

    if (!TEST_SUCCESS(RtlAllocatePages(TestRtl,
                                       TEST_VIEW + 16 * TEST_PAGE,
                                       &Base))) {
        return NULL;
    }

    Last = (PUCHAR)Base + TEST_VIEW;
    TEST_SUCCESS(TestRtl->NtProtectVirtualMemory((HANDLE)(LONG_PTR)-1,
                                                 &Last,
                                                 &Size,
                                                 PAGE_NOACCESS,
                                                 &Old));
    return (PUCHAR)Base;
}

static
VOID
TestFillHeader(
    PTRACE_KERNEL_HEADER Header,
    ULONG Rings,
    ULONG Records
    )
{
    RtlZeroBytes(Header, sizeof(*Header));
    Header->Magic = TRACE_KERNEL_MAGIC;
    Header->MajorVersion = TRACE_KERNEL_MAJOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->SectionSize = TEST_VIEW;
    Header->RecordSize = sizeof(TRACE_KERNEL_RECORD);
    Header->State = TRACE_KERNEL_STATE_RUNNING;
    Header->NumberOfRings = Rings;
    Header->RingsOffset = TRACE_HEADER_SIZE;
    Header->RecordsOffset = TRACE_HEADER_SIZE +
                            Rings * sizeof(TRACE_KERNEL_RING);
    Header->RecordsPerRing = Records;
    Header->OpenCallSlots = 16;
    Header->OpenCallsOffset = TEST_VIEW - 16 * sizeof(TRACE_KERNEL_OPEN_CALL);
    Header->FunctionSlots = 16;
    Header->FunctionsOffset = Header->OpenCallsOffset -
                              Rings * 16 * sizeof(TRACE_KERNEL_FUNCTION);
    Header->ModuleBase = 0xFFFFF80100000000ULL;
    Header->ModuleSize = 0x10000;
}

//
// A number that is likely to be a wrong one.
//

static
ULONGLONG
TestMakeNumber(
    VOID
    )
{
    ULONGLONG Number = 1ULL << TestRandom(64);

    switch (TestRandom(5)) {
    case 0:
        return Number;
    case 1:
        return Number - 1 - TestRandom(64);
    case 2:
        return ~0ULL - TestRandom(0x2000);
    case 3:
        return TestRandom(TEST_VIEW + 0x1000);
    default:
        return TestRandom(64) * 8;
    }
}

//
// Is an array inside of the view?  Counted in elements, so that nothing can
// overflow.
//

static
BOOLEAN
TestIsInside(
    ULONGLONG Offset,
    ULONGLONG Rings,
    ULONGLONG Each,
    ULONG Size
    )
{
    ULONGLONG Fit = Offset <= TEST_VIEW ? (TEST_VIEW - Offset) / Size : 0;

    return Offset <= TEST_VIEW && Each <= Fit && Rings <= Fit &&
           Rings * Each <= Fit && Offset % 8 == 0;
}

static
VOID
TestHeaders(
    PUCHAR View
    )
{
    static const struct {
        USHORT Offset;
        USHORT Size;
    } Fields[] = {
        { 0x000, 8 }, { 0x008, 2 }, { 0x00c, 4 }, { 0x010, 8 }, { 0x018, 4 },
        { 0x020, 4 }, { 0x024, 4 }, { 0x028, 8 }, { 0x030, 8 }, { 0x038, 8 },
        { 0x040, 8 }, { 0x048, 4 }, { 0x04c, 4 }, { 0x050, 8 }, { 0x0b0, 8 },
        { 0x0b8, 4 }, { 0x0e8, 4 }, { 0x0ec, 4 }, { 0x0f0, 4 }
    };
    PTRACE_KERNEL_HEADER Header = (PTRACE_KERNEL_HEADER)View;
    PTRACE_KERNEL_RECORD Record;
    COLLECT_SECTION Section;
    COLLECT_RINGS Rings;
    ULONGLONG Value;
    ULONG Accepted = 0;
    ULONG Refused = 0;
    ULONG Handed = 0;
    ULONG Round;
    ULONG Index;
    ULONG Ring;
    PCSZ Problem;
    NTSTATUS Status;

    for (Round = 0; Round < 60000; Round++) {

        for (Index = 0; Index < TEST_VIEW; Index += 8) {
            if (TestRandom(40) == 0) {
                Value = TestMakeNumber();
                RtlCopyBytes(View + Index, &Value, 8);
            }
        }

        TestFillHeader(Header, 1 + TestRandom(3), 64);
        for (Index = TestRandom(4); Index != 0; Index--) {
            ULONG Field = TestRandom(RTL_NUMBER_OF(Fields));

            Value = TestMakeNumber();
            RtlCopyBytes(View + Fields[Field].Offset,
                         &Value,
                         Fields[Field].Size);
        }

        Status = CollectSectionUse(&Section, View, TEST_VIEW, &Problem);
        if (!NT_SUCCESS(Status)) {
            Refused += 1;
            if (Problem == NULL) {
                TEST(Problem != NULL);
            }
            continue;
        }

        Accepted += 1;
        if (!TestIsInside(Header->RingsOffset, Header->NumberOfRings, 1,
                          sizeof(TRACE_KERNEL_RING)) ||
            !TestIsInside(Header->RecordsOffset, Header->NumberOfRings,
                          Header->RecordsPerRing,
                          sizeof(TRACE_KERNEL_RECORD)) ||
            (Header->OpenCallSlots != 0 &&
             !TestIsInside(Header->OpenCallsOffset, 1, Header->OpenCallSlots,
                           sizeof(TRACE_KERNEL_OPEN_CALL))) ||
            Problem != NULL) {
            TEST(FALSE);
            break;
        }

        //
        // Each ring is read, with other numbers of records in between; whoever
        // reads outside meets the page that cannot be read.
        //

        for (Ring = 0; Ring < Section.Header.NumberOfRings; Ring++) {
            if (TestRandom(4) != 0) {
                COLLECT_RINGS(&Section)[Ring].Reserved = TestRandom(100);
                for (Index = 0;
                     Index < Section.Header.RecordsPerRing;
                     Index++) {
                    COLLECT_RECORDS(&Section, Ring)[Index].Number =
                        TRACE_KERNEL_NUMBER(Index + TestRandom(5) / 4);
                }
            }
        }

        if (!TEST_SUCCESS(CollectRingsBegin(&Rings, &Section,
                                            TestAllocator))) {
            break;
        }

        for (Index = 0; Index < 3; Index++) {

            (VOID)CollectRingsRead(&Rings, ~0ULL, Index == 2);
            do {
                Record = CollectRingsNext(&Rings, &Ring);
                Handed += Record != NULL;
            } while (Record != NULL);

            for (Ring = 0; Ring < Section.Header.NumberOfRings; Ring++) {
                COLLECT_RINGS(&Section)[Ring].Reserved +=
                    TestRandom(2) * TestMakeNumber();
            }
        }

        CollectRingsEnd(&Rings);
    }

    RtlWriteText(TestOutput,
                 "headers: %u accepted, %u refused, %u records\n",
                 Accepted,
                 Refused,
                 Handed);
    TEST(Accepted > 1000 && Refused > 1000);
}

//
// Plays a writer: reserves, and finishes unless Skip.
//

static
VOID
TestWrite(
    PCCOLLECT_SECTION Section,
    ULONG Ring,
    ULONGLONG Timestamp,
    BOOLEAN Skip
    )
{
    volatile TRACE_KERNEL_RING *Target = &COLLECT_RINGS(Section)[Ring];
    ULONGLONG Number = Target->Reserved;
    volatile TRACE_KERNEL_RECORD *Record =
        COLLECT_RECORDS(Section, Ring) +
        (Number & (Section->Header.RecordsPerRing - 1));

    Target->Reserved = Number + 1;
    Record->Number = TRACE_KERNEL_NUMBER(Number) | 1;
    Record->Timestamp = Timestamp;
    Record->Site = Number;
    if (!Skip) {
        Record->Number = TRACE_KERNEL_NUMBER(Number);
    }
}

static
BOOLEAN
TestIsLeft(
    PCCOLLECT_RINGS Rings
    )
{
    ULONG Ring;

    for (Ring = 0; Ring < Rings->NumberOfRings; Ring++) {
        if (!Rings->Rings[Ring].IsDrained) {
            return TRUE;
        }
    }

    return CollectRingsHold(Rings);
}

//
// Rings that are written between reads, more or less than they hold, some
// records late: everything is counted once, and in the order of time.
//

static
VOID
TestCounts(
    PUCHAR View
    )
{
    COLLECT_SECTION Section;
    COLLECT_RINGS Rings;
    PTRACE_KERNEL_RECORD Record;
    ULONGLONG Time = 1000;
    ULONGLONG Previous;
    ULONGLONG Written[3];
    ULONGLONG Gaps = 0;
    ULONGLONG Unordered = 0;
    ULONG Round;
    ULONG Trial;
    ULONG Index;
    ULONG Ring;
    PCSZ Problem;

    for (Trial = 0; Trial < 60; Trial++) {

        BOOLEAN HasHoles = TestRandom(2) != 0;

        RtlZeroBytes(View, TEST_VIEW);
        RtlZeroBytes(Written, sizeof(Written));
        TestFillHeader((PTRACE_KERNEL_HEADER)View, 3, 128);
        TEST_SUCCESS(CollectSectionUse(&Section, View, TEST_VIEW, &Problem));
        for (Index = TestRandom(300); Index != 0; Index--) {
            Ring = TestRandom(3);
            Time += 1;
            TestWrite(&Section, Ring, Time, FALSE);
            Written[Ring] += 1;
        }

        TEST_SUCCESS(CollectRingsBegin(&Rings, &Section, TestAllocator));
        Previous = 0;
        for (Round = 0; Round < 60; Round++) {

            BOOLEAN IsLast = Round == 59;

            for (Index = TestRandom(TestRandom(8) == 0 ? 600 : 60);
                 Index != 0;
                 Index--) {
                Ring = TestRandom(3);
                Time += 1;
                TestWrite(&Section,
                          Ring,
                          Time,
                          HasHoles && TestRandom(20) == 0);
                Written[Ring] += 1;
            }

            //
            // A batch may be smaller than what there is at the end.
            //

            Index = 0;
            do {

                (VOID)CollectRingsRead(&Rings, Time, IsLast);
                for (;;) {

                    Record = CollectRingsNext(&Rings, &Ring);
                    if (Record == NULL) {
                        break;
                    }

                    Gaps += Record->Number & COLLECT_GAP;
                    Unordered += Record->Timestamp < Previous;
                    Previous = Record->Timestamp;
                }

                Index += 1;
            } while (IsLast && Index < 10 && TestIsLeft(&Rings));
        }

        TEST(!CollectRingsHold(&Rings) && Index < 10);
        for (Ring = 0; Ring < 3; Ring++) {

            PCCOLLECT_RING Is = &Rings.Rings[Ring];

            TEST_EQUAL(Is->Before + Is->Taken + Is->Lost + Is->Unfinished,
                       Written[Ring]);
            TEST(HasHoles || Is->Unfinished == 0);
            TEST(Is->IsDrained && !Is->IsDamaged);
        }

        CollectRingsEnd(&Rings);
    }

    TEST(Gaps != 0);
    TEST_EQUAL(Unordered, 0);
}

//
// What the made-up processors run.
//

#define TEST_PROCESSORS 3u
#define TEST_THREADS 7u
#define TEST_DEPTH 12u
#define TEST_CONTEXTS 4u

typedef struct _TEST_CONTEXT {
    ULONGLONG Stack;                // where its next call's frame is
    ULONG Owner;                    // expected: an identifier
    ULONG Thread;
    ULONG Irql;
    ULONG Depth;
    ULONG Switches;                 // of a thread: how many of its calls went
                                    // on on another stack
    ULONGLONG Stacks[TEST_DEPTH];   // RSP of each open call
    ULONG Calls[TEST_DEPTH];        // their numbers
    BOOLEAN IsNested;               // on the stack of what it interrupted
} TEST_CONTEXT;

typedef struct _TEST_PROCESSOR {
    ULONG Running;                  // a thread's index, or TEST_THREADS: idle
    ULONG Number;                   // of contexts on top of it
    TEST_CONTEXT Contexts[TEST_CONTEXTS];
} TEST_PROCESSOR;

//
// What came of it: the calls of each owner, on each of its stacks, as a reader
// sees them.
//

typedef struct _TEST_SEEN {
    ULONG Id;
    ULONG Depth;
    ULONG Places[64];
    ULONG Calls[64];
} TEST_SEEN;

typedef struct _TEST_WORLD {
    TEST_CONTEXT Threads[TEST_THREADS];
    TEST_PROCESSOR Processors[TEST_PROCESSORS];
    TEST_SEEN Seen[64];
    ULONG NumberSeen;
    ULONG ExpectedOwner;
    ULONG ExpectedParent;           // a call's number; 0: none
    ULONG Call;                     // of the record
    ULONG Puts;
    ULONG Wrong;
    ULONG IrqlMask;                 // of what a record says of its IRQL
} TEST_WORLD;

static
VOID
TestPut(
    PVOID Context,
    PCOLLECT_OWNER Owner,
    ULONGLONG Timestamp,
    ULONG Site,
    ULONG StackKind
    )
{
    TEST_WORLD *World = (TEST_WORLD *)Context;
    ULONG Place = StackKind & ~TRACE_KIND_MASK;
    ULONG Kind = StackKind & TRACE_KIND_MASK;
    ULONG Region;
    ULONG Id;
    ULONG Index;
    TEST_SEEN *Seen;

    (VOID)Timestamp;
    (VOID)Site;
    World->Puts += 1;
    World->Wrong += Owner->Id != World->ExpectedOwner;

    //
    // What is 64 MiB away is another stack to a reader.
    //

    Region = (COLLECT_PLACE + COLLECT_APART / 2 - Place) / COLLECT_APART;
    World->Wrong += !Owner->IsProcessor && Region != 0;
    Id = Owner->Id * 32 + Region;
    for (Index = 0; Index < World->NumberSeen &&
                    World->Seen[Index].Id != Id; Index++) {
    }

    Seen = &World->Seen[Index];
    if (Index == World->NumberSeen) {
        World->NumberSeen += 1;
        Seen->Id = Id;
        Seen->Depth = 0;
    }

    switch (Kind) {

    case TRACE_KIND_ENTER:
        World->Wrong += Seen->Depth != 0 &&
                        Seen->Places[Seen->Depth - 1] <= Place;
        World->Wrong += (Seen->Depth == 0 ? 0
                                          : Seen->Calls[Seen->Depth - 1]) !=
                        World->ExpectedParent;
        Seen->Places[Seen->Depth] = Place;
        Seen->Calls[Seen->Depth] = World->Call;
        Seen->Depth += 1;
        break;

    case TRACE_KIND_EXIT:
        World->Wrong += Seen->Depth == 0 ||
                        Seen->Places[Seen->Depth - 1] != Place ||
                        Seen->Calls[Seen->Depth - 1] != World->Call;
        Seen->Depth -= Seen->Depth != 0;
        break;

    default:
        World->Wrong += 1;
        break;
    }
}

//
// The context that runs on a processor, or NULL: it is idle.
//

static
TEST_CONTEXT *
TestCurrent(
    TEST_WORLD *World,
    ULONG Processor
    )
{
    TEST_PROCESSOR *Is = &World->Processors[Processor];

    return Is->Number != 0                ? &Is->Contexts[Is->Number - 1]
           : Is->Running != TEST_THREADS ? &World->Threads[Is->Running]
                                          : NULL;
}

static
VOID
TestInterrupt(
    TEST_WORLD *World,
    ULONG Processor
    )
{
    TEST_PROCESSOR *Is = &World->Processors[Processor];
    TEST_CONTEXT *Below = TestCurrent(World, Processor);
    TEST_CONTEXT *Context = &Is->Contexts[Is->Number];
    ULONG Irql = Below == NULL ? 0 : Below->Irql;

    if (Is->Number == TEST_CONTEXTS || Irql >= 9) {
        return;
    }

    RtlZeroBytes(Context, sizeof(*Context));
    Context->Thread = Is->Running == TEST_THREADS
                          ? 0
                          : World->Threads[Is->Running].Thread;
    Context->Irql = Irql < 2 && TestRandom(2) ? 2 : (Irql < 3 ? 3 : Irql + 1);
    Context->Owner = COLLECT_PROCESSOR_ID(Processor);

    //
    // On the stack of what it interrupts, or on one of the processor's own.
    //

    if (Below != NULL && Below->Depth != 0 && TestRandom(4) == 0) {
        Context->IsNested = TRUE;
        Context->Owner = Below->Owner;
        Context->Stack = Below->Stacks[Below->Depth - 1] - 0x200;
    } else {
        Context->Stack = 0xFFFFF90000000000ULL +
                         (Processor * 64ULL + Context->Irql) * 0x200000 +
                         TestRandom(64) * 8;
    }

    Is->Number += 1;
}

//
// Calls, or returns.
//

static
VOID
TestStep(
    TEST_WORLD *World,
    PCOLLECT_STACKS Stacks,
    ULONG Processor,
    BOOLEAN IsCall,
    ULONGLONG Time
    )
{
    TEST_PROCESSOR *Is = &World->Processors[Processor];
    TEST_CONTEXT *Context = TestCurrent(World, Processor);
    TRACE_KERNEL_RECORD Record;
    ULONG Kind = IsCall ? TRACE_KIND_ENTER : TRACE_KIND_EXIT;

    World->ExpectedOwner = Context->Owner;
    if (IsCall) {

        ULONGLONG Rsp = Context->Depth == 0
                            ? Context->Stack
                            : Context->Stacks[Context->Depth - 1];

        Rsp -= 8 + TestRandom(60) * 8;
        World->ExpectedParent = 0;
        if (Context->Depth != 0) {
            World->ExpectedParent = Context->Calls[Context->Depth - 1];
        } else if (Context->IsNested) {
            TEST_CONTEXT *Below = Is->Number == 1
                                      ? &World->Threads[Is->Running]
                                      : &Is->Contexts[Is->Number - 2];

            World->ExpectedParent = Below->Calls[Below->Depth - 1];
        }

        //
        // A thread's call may go on on another stack, above or below.
        //

        if (Is->Number == 0 && Context->Irql < 2 && Context->Depth != 0 &&
            Context->Switches < 3 && TestRandom(30) == 0) {
            Context->Switches += 1;
            Rsp = 0xFFFFF80000000000ULL +
                  (Context->Thread * 16ULL + TestRandom(16)) * 0x400000 +
                  0x200000 + Context->Depth * 0x40000;
        }

        World->Call += 1;
        Context->Stacks[Context->Depth] = Rsp;
        Context->Calls[Context->Depth] = World->Call;
        Context->Depth += 1;
        Record.Stack = Rsp | Kind;
        Record.Site = World->Call;

    } else {

        ULONG Call = World->Call;

        Context->Depth -= 1;
        World->Call = Context->Calls[Context->Depth];
        Record.Stack = Context->Stacks[Context->Depth] | Kind;
        Record.Site = World->Call;
        Record.Timestamp = Time;
        Record.Number = 0;
        Record.ThreadIrql = Context->Thread / 4 |
                            (Context->Irql & World->IrqlMask) << 28;
        TEST_SUCCESS(CollectStacksTake(Stacks, &Record, Processor));
        World->Call = Call;
        if (Context->Depth == 0) {
            Context->Switches = 0;
        }
        return;
    }

    Record.Timestamp = Time;
    Record.Number = 0;
    Record.ThreadIrql = Context->Thread / 4 |
                            (Context->Irql & World->IrqlMask) << 28;
    TEST_SUCCESS(CollectStacksTake(Stacks, &Record, Processor));
}

//
// Plays the processors.
// IsNaive: each record is given out as one of the thread's that was current: a
// control, of which something must be wrong.
//

static
VOID
TestContexts(
    ULONG Trials,
    BOOLEAN IsNaive
    )
{
    static TEST_WORLD World;
    COLLECT_STACKS Stacks;
    ULONGLONG Time = 1000;
    ULONG Interrupts = 0;
    ULONG Raised = 0;
    ULONG Moves = 0;
    ULONG Trial;
    ULONG Index;
    ULONG Step;

    for (Trial = 0; Trial < Trials; Trial++) {

        RtlZeroBytes(&World, sizeof(World));
        World.IrqlMask = IsNaive ? 0 : 0xF;
        for (Index = 0; Index < TEST_THREADS; Index++) {
            World.Threads[Index].Thread = 100 + 4 * Index;
            World.Threads[Index].Owner = 100 + 4 * Index;
            World.Threads[Index].Stack = 0xFFFFF88000000000ULL +
                                         Index * 0x100000 + 0x6000;
        }

        for (Index = 0; Index < TEST_PROCESSORS; Index++) {
            World.Processors[Index].Running = TEST_THREADS;
        }

        TEST_SUCCESS(CollectStacksBegin(&Stacks,
                                        TestAllocator,
                                        TEST_PROCESSORS,
                                        TestPut,
                                        &World));
        for (Step = 0; Step < 3000 && World.Wrong == 0; Step++) {

            ULONG Processor = TestRandom(TEST_PROCESSORS);
            TEST_PROCESSOR *Is = &World.Processors[Processor];
            TEST_CONTEXT *Context = TestCurrent(&World, Processor);
            ULONG Choice = TestRandom(20);

            Time += 1 + TestRandom(100);
            if (Choice == 0) {

                TestInterrupt(&World, Processor);
                Interrupts += 1;

            } else if (Is->Number != 0 && Context->Depth == 0 && Choice < 6) {

                Is->Number -= 1;

            } else if (Is->Number == 0 &&
                       (Context == NULL || Context->Irql < 2) && Choice < 3) {

                //
                // Another thread, which may come from another processor.
                //

                ULONG Next = TestRandom(TEST_THREADS + 1);

                for (Index = 0; Index < TEST_PROCESSORS; Index++) {
                    if (World.Processors[Index].Running == Next) {
                        break;
                    }
                }

                if (Next == TEST_THREADS || Index == TEST_PROCESSORS) {
                    Is->Running = Next;
                    Moves += 1;
                }

            } else if (Is->Number == 0 && Context != NULL &&
                       Context->Depth != 0 && Choice == 3) {

                //
                // A spin lock is taken or released in the middle of a call.
                //

                Context->Irql = Context->Irql == 0 ? 2 : 0;
                Raised += 1;

            } else if (Context != NULL) {

                BOOLEAN IsCall = Context->Depth == 0 ||
                                 (Context->Depth < TEST_DEPTH &&
                                  TestRandom(2) != 0);

                if (Context->Depth == 0 && Is->Number == 0) {
                    Context->Irql = TestRandom(2);
                }

                TestStep(&World, &Stacks, Processor, IsCall, Time);
            }
        }

        CollectStacksEnd(&Stacks);
        if (IsNaive) {
            TEST(World.Wrong != 0);
            continue;
        }

        TEST_EQUAL(World.Wrong, 0);
        TEST(World.Puts > 1000);
    }

    if (IsNaive) {
        return;
    }

    RtlWriteText(TestOutput,
                 "contexts: %u interrupts, %u changes of the IRQL, %u of the "
                 "thread\n",
                 Interrupts,
                 Raised,
                 Moves);
    TEST(Interrupts > 1000 && Raised > 1000 && Moves > 1000);
}

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    PUCHAR View;

    TestRtl = Rtl;
    TestAllocator = Allocator;
    View = TestMakeView();
    if (View != NULL) {
        TestHeaders(View);
        TestCounts(View);
    }

    TestContexts(200, FALSE);
    TestContexts(5, TRUE);
}

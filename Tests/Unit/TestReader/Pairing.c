/*++

Module Name:

    Pairing.c

Abstract:

    How records become calls: each list of records with the calls that must come
    out of it.

--*/

#include "TestReader.h"

typedef struct _TEST_CALL {
    ULONGLONG Timestamp;
    ULONG Site;
    ULONG Stack;
    ULONG Kind;
    ULONG Function;             // what the image would say, if it is there
    ULONG FrameSize;
    ULONG Flags;
    ULONG BodySize;
    ULONG JumpTarget;
} TEST_CALL;

typedef struct _TEST_PAIRING {
    PCSZ What;
    TEST_CALL Calls[16];        // Kind 0 ends them
    PCSZ Events;
} TEST_PAIRING;

//
// The stack of these is 0x10000 to 0x20000.
//

static const TEST_PAIRING TestPairings[] = {

    //
    // What only the image can tell.  A function's frame of 0x100 bytes is
    // given as N: RSP at its entry hook is that far below its return address.
    //

    { "MSVC: after an exception a function with a larger frame",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1E000, TEST_N, 0xC, 0xFF8, TEST_K, 0, 0 },
        { 40, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b !b@1:10/10 +c -c@1:10/10 -a@0:40/20" },

    { "the same without the image: it is taken for a call from there",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1EFB8, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 50, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:10/10 !b@1:30/20 -a@0:40/10" },

    { "MSVC: a call of a function with a larger frame",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1DFB8, TEST_N, 0xC, 0xFF8, TEST_K, 0, 0 },
        { 40, 0xC, 0x1DFB8, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 45, 0xB, 0x1EFB8, TEST_X, 0xB, 0, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b +c -c@2:10/10 -b@1:25/15 -a@0:40/15" },

    { "MSVC: alloca after a call that was left; the exit is below it",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xB, 0x1EFB8, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 50, 0xA, 0x1D000, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 } },
      "+a +b !b@1:30/30 -a@0:40/10" },

    { "MSVC: alloca, recursion: the innermost is the one",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xA, 0x1E000, TEST_N, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 30, 0xB, 0x1DF00, TEST_N, 0xB, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1D000, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 },
        { 50, 0xA, 0x1E800, TEST_X, 0xA, 0, TEST_K | TEST_D, 0, 0 } },
      "+a +a +b !b@2:10/10 -a@1:20/10 -a@0:40/20" },

    { "an exit of a function that moves RSP and is not open",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1E000, TEST_X, 0xB, 0, TEST_K | TEST_D, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a ?b -a@0:40/40" },

    { "function hooks: left by longjmp and called again in a loop",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 30, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 40, 0xC, 0x1EFB8, TEST_XF, 0xC, 0x40, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +c !c@1:10/10 +c -c@1:10/10 -a@0:40/20" },

    { "function hooks: inlined, at its caller's RSP",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +b -b@1:20/20 -a@0:40/20" },

    { "function hooks: inlined once, left, and entered again",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 25, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 30, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +b +c !c@2:5/5 !b@1:10/5 +b -b@1:10/10 -a@0:40/20" },

    { "function hooks: inlined into what was inlined, and a call from there",
      { { 10, 0xE, 0x1F000, TEST_NF, 0xE, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x1F000, TEST_NF, 0xB, 0x80, TEST_K, 0, 0 },
        { 25, 0xC, 0x1F000, TEST_NF, 0xC, 0x20, TEST_K, 0, 0 },
        { 30, 0xD, 0x1EFB8, TEST_NF, 0xD, 0x40, TEST_K, 0, 0 },
        { 35, 0xC, 0x1F000, TEST_XF, 0xC, 0x20, TEST_K, 0, 0 },
        { 40, 0xB, 0x1F000, TEST_XF, 0xB, 0x80, TEST_K, 0, 0 },
        { 50, 0xE, 0x1F000, TEST_XF, 0xE, 0x40, TEST_K, 0, 0 } },
      "+e +b +c +d !d@3:5/5 -c@2:10/5 -b@1:20/10 -e@0:40/20" },

    { "function hooks: RSP moved down, past calls that were left",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K | TEST_D, 0, 0 },
        { 20, 0xC, 0x1EFB8, TEST_NF, 0xC, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1D000, TEST_XF, 0xA, 0x40, TEST_K | TEST_D, 0, 0 } },
      "+a +c !c@1:20/20 -a@0:30/10" },

    { "function hooks: above a return address nothing exits",
      { { 10, 0xA, 0x1F000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xA, 0x1E000, TEST_NF, 0xA, 0x40, TEST_K, 0, 0 },
        { 40, 0xA, 0x1F000, TEST_XF, 0xA, 0x40, TEST_K, 0, 0 } },
      "+a +a !a@1:20/20 -a@0:30/10" },

    { "gcc: a jump in tail position to a known function",
      { { 10, 0xA, 0x1F000, TEST_N, 0xA, 0, TEST_K, 0, 0 },
        { 20, 0xB, 0x1E000, TEST_N, 0xB, 0, TEST_K, 0, 0 },
        { 25, 0xB, 0x1E000, TEST_X, 0xB, 0, TEST_K, 0, 0xC },
        { 30, 0xC, 0x1E000, TEST_N, 0xC, 0, TEST_K, 0, 0 },
        { 35, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 37, 0xC, 0x1E000, TEST_N, 0xC, 0, TEST_K, 0, 0 },
        { 38, 0xC, 0x1E000, TEST_X, 0xC, 0, TEST_K, 0, 0 },
        { 40, 0xA, 0x1F000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b -b@1:5/5 =c -c@1:5/5 +c -c@1:1/1 -a@0:30/19" },

    { "a fiber's function with a frame of 1 MiB is on the same fiber",
      { { 10, 0xA, 0x900000, TEST_N, 0xA, 0x40, TEST_K, 0, 0 },
        { 20, 0xB, 0x800000, TEST_N, 0xB, 0xFFFF8, TEST_K, 0, 0 },
        { 30, 0xB, 0x800000, TEST_X, 0xB, 0, TEST_K, 0, 0 },
        { 40, 0xA, 0x900000, TEST_X, 0xA, 0, TEST_K, 0, 0 } },
      "+a +b -b@1:10/10 -a@0:30/20" },

    { "nesting",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 27, 0xC, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 53, 0xD, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:2/2 -b@1:10/8 +d -d@1:3/3 -a@0:50/37" },

    { "recursion",
      { { 0x10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 0x11, 0xA, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 0x13, 0xA, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 0x16, 0xA, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 0x1A, 0xA, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 0x1F, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +a +a -a@2:3/3 -a@1:9/6 -a@0:15/6" },

    { "leaf above a framed caller, one word apart",
      { { 1, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 2, 0xB, 0x1EFF8, TEST_N, TEST_NO_IMAGE },
        { 3, 0xB, 0x1EFF8, TEST_X, TEST_NO_IMAGE },
        { 4, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b -b@1:1/1 -a@0:3/2" },

    { "an exception past two frames, caught, then the next call",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xD, 0x1E800, TEST_N, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E800, TEST_X, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c !c@2:10/10 !b@1:20/10 +d -d@1:10/10 -a@0:50/20" },

    { "longjmp to the catcher, which then returns",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c !c@2:30/30 !b@1:40/10 -a@0:50/10" },

    { "a call in tail position: the same RSP is entered again",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 35, 0xC, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b !b@1:5/5 +c -c@1:10/10 -a@0:30/15" },

    { "alloca: the exit's RSP is below the entry's",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 25, 0xC, 0x1C000, TEST_N, TEST_NO_IMAGE },
        { 27, 0xC, 0x1C000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:2/2 -b@1:10/8 -a@0:30/20" },

    { "exits without entries at the start",
      { { 10, 0xB, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 20, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xC, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "?b ?a +c -c@0:10/10" },

    { "an exit above every frame",
      { { 10, 0xA, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b !b@1:10/10 !a@0:20/10 ?c" },

    { "frames open at the end",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_N, TEST_NO_IMAGE },
        { 35, 0xC, 0x1D000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:5/5 ~b@1:15/10 ~a@0:25/10" },

    { "function hooks",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b -b@1:10/10 -a@0:30/20" },

    { "function hooks: gcc jumps to the exit hook after the epilogue",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xB, 0x1EFF8, TEST_XF, TEST_NO_IMAGE },
        { 35, 0xC, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 37, 0xC, 0x1F000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F040, TEST_XF, TEST_NO_IMAGE } },
      "+a +b -b@1:10/10 +c -c@1:2/2 -a@0:30/18" },

    { "function hooks: a recursive function jumps to the exit hook",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F040, TEST_XF, TEST_NO_IMAGE } },
      "+a +a -a@1:10/10 -a@0:30/20" },

    { "function hooks: longjmp past a frame, the catcher returns",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xC, 0x1D000, TEST_NF, TEST_NO_IMAGE },
        { 40, 0xA, 0x1F000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b +c !c@2:10/10 !b@1:20/10 -a@0:30/10" },

    { "function hooks: an exit of a function that is not open",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xD, 0x1E000, TEST_XF, TEST_NO_IMAGE },
        { 40, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b ?d -b@1:20/20 ~a@0:30/10" },

    { "function hooks: RSP moved down since the entry",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1D000, TEST_XF, TEST_NO_IMAGE } },
      "+a -a@0:10/10" },

    { "function hooks: a frame farther out is not taken",
      { { 10, 0xA, 0x1F000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xA, 0x1D000, TEST_XF, TEST_NO_IMAGE } },
      "+a +b ?a ~b@1:10/10 ~a@0:20/10" },

    { "both kinds: each inside the other",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 30, 0xC, 0x1DFF8, TEST_N, TEST_NO_IMAGE },
        { 40, 0xC, 0x1DFF8, TEST_X, TEST_NO_IMAGE },
        { 50, 0xB, 0x1EFF8, TEST_XF, TEST_NO_IMAGE },
        { 60, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c -c@2:10/10 -b@1:30/20 -a@0:50/20" },

    { "both kinds: an exit does not close the other kind's frame",
      { { 10, 0xB, 0x1E000, TEST_NF, TEST_NO_IMAGE },
        { 20, 0xA, 0x1D000, TEST_X, TEST_NO_IMAGE },
        { 30, 0xB, 0x1E000, TEST_XF, TEST_NO_IMAGE } },
      "+b ?a -b@0:20/20" },

    { "a fiber leaves the thread's frames open",
      { { 10, 0xA, 0x1F000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x900000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xC, 0x8FF000, TEST_N, TEST_NO_IMAGE },
        { 40, 0xD, 0x1E000, TEST_N, TEST_NO_IMAGE },
        { 50, 0xD, 0x1E000, TEST_X, TEST_NO_IMAGE },
        { 60, 0xC, 0x8FF000, TEST_X, TEST_NO_IMAGE },
        { 70, 0xB, 0x900000, TEST_X, TEST_NO_IMAGE },
        { 80, 0xA, 0x1F000, TEST_X, TEST_NO_IMAGE } },
      "+a +b +c +d -d@1:10/10 -c@1:30/10 -b@0:50/20 -a@0:70/20" },

    { "two fibers, one below the other",
      { { 10, 0xA, 0x900000, TEST_N, TEST_NO_IMAGE },
        { 20, 0xB, 0x800000, TEST_N, TEST_NO_IMAGE },
        { 30, 0xA, 0x900000, TEST_X, TEST_NO_IMAGE },
        { 40, 0xB, 0x800000, TEST_X, TEST_NO_IMAGE } },
      "+a +b -a@0:20/10 -b@0:20/10" },
};


//
// Says what may have been inlined: 0xB into 0xA once, and any function into
// 0xE.
// Outer: the function around.
// Inner: the function inside.
// Returns how often.
//

static
ULONG
TestCountInlined(
    _In_opt_ PVOID Context,
    _In_ ULONGLONG Outer,
    _In_ ULONGLONG Inner
    )
{
    (VOID)Context;
    if (Outer == 0xE) {
        return 0xFFFFFFFF;
    }

    return Outer == 0xA && Inner == 0xB;
}


//
// Pairs one list of calls.
// Pairing: the list and its events.
// Shift: added to every RSP and to the stack's range: pairing is modulo 2^32.
//

static
VOID
TestPairOne(
    _In_ const TEST_PAIRING *Pairing,
    _In_ ULONG Shift
    )
{
    CORE_PAIR Pair;
    CORE_EVENT Event;
    CORE_CALL Call;
    RTL_WRITER Writer;
    ULONG Index;

    RtlZeroBytes(&Call, sizeof(Call));
    RtlInitializeBufferWriter(&Writer, TestEventText, sizeof(TestEventText));
    if (!TEST_SUCCESS(CoreInitializePair(&Pair,
                                         &TestCountingAllocator,
                                         0x20000ULL + Shift,
                                         0x10000ULL + Shift))) {
        return;
    }

    Pair.CountInlined = TestCountInlined;

    for (Index = 0;
         Index < RTL_NUMBER_OF(Pairing->Calls) &&
             Pairing->Calls[Index].Kind != 0;
         Index++) {

        Call.Timestamp = Pairing->Calls[Index].Timestamp;
        Call.Site = Pairing->Calls[Index].Site;
        Call.Stack = Pairing->Calls[Index].Stack + Shift;
        Call.Kind = Pairing->Calls[Index].Kind;
        Call.Function = Pairing->Calls[Index].Function;
        Call.JumpTarget = Pairing->Calls[Index].JumpTarget;
        Call.FrameSize = Pairing->Calls[Index].FrameSize;
        Call.BodySize = Pairing->Calls[Index].BodySize;
        Call.Flags = Pairing->Calls[Index].Flags;
        TEST_SUCCESS(CoreAddCall(&Pair, &Call));
        while (CoreNextEvent(&Pair, &Event)) {
            TestWriteEvent(&Writer, &Event);
        }
    }

    CoreFinishPair(&Pair);
    while (CoreNextEvent(&Pair, &Event)) {
        TestWriteEvent(&Writer, &Event);
    }

    if (!TEST_EQUAL_TEXT(Writer.Buffer,
                         Writer.LengthInBytes,
                         Pairing->Events)) {
        RtlWriteText(TestOutput, "    in: %s\n", Pairing->What);
    }

    CoreRundownPair(&Pair);
}


VOID
TestPairing(
    VOID
    )
{
    static const ULONG Shifts[] = { 0, 0x7FFE0000, 0xFFFE2000, 0xFFFE0000 };
    CORE_PAIR Pair;
    CORE_EVENT Event;
    CORE_CALL Call;
    ULONG Index;
    ULONG Shift;
    ULONG Wrong;

    //
    // The shifts put the stack across 2 GiB and across 4 GiB.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(TestPairings); Index++) {
        for (Shift = 0; Shift < RTL_NUMBER_OF(Shifts); Shift++) {
            TestPairOne(&TestPairings[Index], Shifts[Shift]);
        }
    }

    //
    // 200,000 calls deep and back, in memory that is bounded by the depth.
    //

    RtlZeroBytes(&Call, sizeof(Call));
    Call.Kind = TEST_N;
    TEST_SUCCESS(CoreInitializePair(&Pair,
                                    &TestCountingAllocator,
                                    0x40000000,
                                    0x10000000));
    Wrong = 0;
    for (Index = 0; Index < 200000; Index++) {
        Call.Timestamp = Index;
        Call.Site = Index;
        Call.Stack = 0x3FFFFFF0 - Index * 16;
        if (!NT_SUCCESS(CoreAddCall(&Pair, &Call)) ||
            !CoreNextEvent(&Pair, &Event) ||
            Event.Depth != Index) {
            Wrong += 1;
        }
    }

    Call.Kind = TEST_X;
    for (Index = 200000; Index != 0; Index--) {
        Call.Timestamp = 400000 - Index;
        Call.Stack = 0x3FFFFFF0 - (Index - 1) * 16;
        if (!NT_SUCCESS(CoreAddCall(&Pair, &Call)) ||
            !CoreNextEvent(&Pair, &Event) ||
            Event.Kind != CoreEventExit ||
            Event.Site != Index - 1 ||
            Event.InclusiveTicks != 2 * (200000ULL - Index) + 1) {
            Wrong += 1;
        }
    }

    TEST_EQUAL(Wrong, 0);
    TEST(CoreCurrentFrame(&Pair) == NULL);

    //
    // Bad use is refused: an unknown kind, a call while events are left.
    //

    Call.Kind = 6;
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_INVALID_PARAMETER);
    Call.Kind = TEST_N;
    TEST_SUCCESS(CoreAddCall(&Pair, &Call));
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_INVALID_PARAMETER);
    CoreRundownPair(&Pair);

    //
    // Without memory nothing changes.
    //

    TEST_SUCCESS(CoreInitializePair(&Pair,
                                    &TestCountingAllocator,
                                    0x20000,
                                    0x10000));
    TestFailFrom = TestNumberOfAllocations;
    Call.Stack = 0x1F000;
    TEST_STATUS(CoreAddCall(&Pair, &Call), STATUS_NO_MEMORY);
    TEST(!CoreNextEvent(&Pair, &Event));
    TestFailFrom = ~0ULL;
    TEST_SUCCESS(CoreAddCall(&Pair, &Call));
    TEST(CoreNextEvent(&Pair, &Event));
    CoreRundownPair(&Pair);
    TEST_EQUAL(TestNumberOfAllocations, TestNumberOfFrees);
}

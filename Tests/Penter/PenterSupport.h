/*++

Module Name:

    PenterSupport.h

Abstract:

    What the parts of TestPenter share: the structures of HookCallers.asm, the
    table of the hooks, and the routines that run in its child processes.

--*/

#ifndef TRACER_PENTER_SUPPORT_H
#define TRACER_PENTER_SUPPORT_H

#include "../../Penter/PenterConfig.h"
#include "../../Penter/PenterEnd.h"
#include "../../Penter/PenterStart.h"
#include "../../TraceStore/TraceDepth.h"
#include "../../TraceStore/TraceTree.h"
#include "Test.h"

//
// The machine's state, as HookCallOnce loads and stores it.
//

#define HOOK_RCX 1
#define HOOK_RSP 4

typedef struct _HOOK_STATE {
    ULONGLONG General[16];          // in the order of their numbers
    ULONGLONG Flags;
    ULONG Mxcsr;
    ULONG LastError;
    ULONG LastStatus;
    ULONG Reserved0[3];
    BYTE X87[108];                  // as FNSAVE writes it
    BYTE Reserved1[52];
    ULONGLONG Stack[16];            // from RSP at the call upwards
    ULONGLONG Masks[8];
    BYTE Vectors[32][64];
} HOOK_STATE;
typedef HOOK_STATE *PHOOK_STATE;

C_ASSERT(FIELD_OFFSET(HOOK_STATE, General) == 0);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, Flags) == 128);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, Mxcsr) == 136);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, LastError) == 140);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, LastStatus) == 144);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, X87) == 160);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, Stack) == 320);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, Masks) == 448);
C_ASSERT(FIELD_OFFSET(HOOK_STATE, Vectors) == 512);
C_ASSERT(sizeof(HOOK_STATE) == 2560);

typedef struct _HOOK_CALL {
    PPENTER_ROUTINE Hook;
    ULONGLONG StackOffset;          // RSP modulo 16 at the call: 0 or 8
    ULONGLONG VectorLevel;          // 0: xmm, 1: ymm, 2: zmm and k
    ULONGLONG TscBefore;
    ULONGLONG TscAfter;
    ULONGLONG X87Control;
    ULONGLONG X87Values[3];         // doubles
    ULONGLONG Reserved[7];
    HOOK_STATE Expected;
    HOOK_STATE Actual;
} HOOK_CALL;
typedef HOOK_CALL *PHOOK_CALL;

C_ASSERT(FIELD_OFFSET(HOOK_CALL, StackOffset) == 8);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, VectorLevel) == 16);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, TscBefore) == 24);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, TscAfter) == 32);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, X87Control) == 40);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, X87Values) == 48);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, Expected) == 128);
C_ASSERT(FIELD_OFFSET(HOOK_CALL, Actual) == 2688);

extern HOOK_CALL HookCall;

VOID
HookCallOnce(
    VOID
    );

ULONG_PTR
HookRepeat(
    _In_ PPENTER_ROUTINE Hook,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument
    );

ULONG_PTR
HookRepeatPair(
    _In_ PPENTER_ROUTINE Enter,
    _In_ PPENTER_ROUTINE Exit,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument
    );

VOID
HookCallAt(
    _In_ PPENTER_ROUTINE Hook,
    _In_ ULONG_PTR Rsp,
    _In_ ULONG_PTR Argument
    );

extern const BYTE HookCallAtSite[];

//
// The same from places without unwind data; CallSite is the hook's second
// argument: where the function returns to, which is where a hook returns to
// that the function has jumped to.
//

typedef
VOID
(HOOK_CALL_BARE)(
    _In_ PPENTER_ROUTINE Hook,
    _In_ ULONG_PTR Rsp,
    _In_ ULONG_PTR Argument,
    _In_ ULONG_PTR CallSite
    );

typedef struct _HOOK_BARE {
    HOOK_CALL_BARE *Routine;
    const BYTE *Site;
} HOOK_BARE;

#define HOOK_NUMBER_OF_BARE 3
extern const HOOK_BARE HookBare[HOOK_NUMBER_OF_BARE];

extern const BYTE HookCallOnceSite[];
extern const BYTE HookRepeatSite[];
extern const BYTE HookPairEnterSite[];
extern const BYTE HookPairExitSite[];

//
// The properties of the state.  0 to 15 are the general registers.
//

#define HOOK_PROPERTY_FLAGS         16
#define HOOK_PROPERTY_MXCSR         17
#define HOOK_PROPERTY_X87           18
#define HOOK_PROPERTY_LAST_ERROR    19
#define HOOK_PROPERTY_LAST_STATUS   20
#define HOOK_PROPERTY_LOW           21  // bytes 0 to 15 of vector registers
#define HOOK_PROPERTY_MIDDLE        22  // bytes 16 to 31
#define HOOK_PROPERTY_HIGH          23  // bytes 32 to 63
#define HOOK_PROPERTY_MASKS         24
#define HOOK_PROPERTY_STACK         25
#define HOOK_NUMBER_OF_PROPERTIES   26

typedef struct _HOOK_BROKEN {
    PPENTER_ROUTINE Routine;
    ULONG VectorLevel;
    ULONG Property;
    ULONGLONG Details;              // 0: any
    ULONG AlsoChanged;              // mask of properties
    ULONG Reserved;
    CHAR Name[32];
} HOOK_BROKEN;
typedef const HOOK_BROKEN *PCHOOK_BROKEN;
C_ASSERT(sizeof(HOOK_BROKEN) == 64);

extern const HOOK_BROKEN HookBrokenTable[];
extern const ULONG HookNumberOfBroken;

//
// _pexit, with something changed afterwards.
//

PENTER_ROUTINE HookBrokenExitCarry;
PENTER_ROUTINE HookBrokenExitR8;
PENTER_ROUTINE HookBrokenExitR9;

PENTER_ROUTINE HookUnwindMissing;
PENTER_ROUTINE HookUnwindRegister;
PENTER_ROUTINE HookUnwindSize;
PENTER_ROUTINE HookUnwindRight;

//
// The hooks.
//

PENTER_ROUTINE _penter;
PENTER_ROUTINE _pexit;
PENTER_ROUTINE __return__;
PENTER_ROUTINE __fentry__;
PENTER_ROUTINE __cyg_profile_func_enter;
PENTER_ROUTINE __cyg_profile_func_exit;

typedef BOOLEAN (PENTER_SLOW_PATH)(VOID);
PENTER_SLOW_PATH PenterSlowPath;
PENTER_SLOW_PATH PenterCheck;

typedef struct _TEST_HOOK {
    PCSZ Name;
    PPENTER_ROUTINE Routine;
    ULONG Kind;                     // TRACE_KIND_*
    BOOLEAN SiteIsArgument;         // rcx instead of the return address
} TEST_HOOK;
typedef const TEST_HOOK *PCTEST_HOOK;

#define TEST_NUMBER_OF_HOOKS 6
extern const TEST_HOOK TestHooks[TEST_NUMBER_OF_HOOKS];

extern PCRTL PenterTestRtl;
extern BOOLEAN PenterTestQuick;     // TRACER_QUICK: less of everything

//
// PenterSupport.c: one call with its state compared.
//

typedef struct _HOOK_DIFFERENCE {
    ULONG Properties;               // mask
    ULONGLONG Details[HOOK_NUMBER_OF_PROPERTIES];
} HOOK_DIFFERENCE;
typedef HOOK_DIFFERENCE *PHOOK_DIFFERENCE;

//
// Tells which vector registers there are.
// Returns 0: xmm, 1: ymm, 2: zmm and k.
//

ULONG
PenterTestVectorLevel(
    VOID
    );

//
// Fills HookCall with a new random state.
// StackOffset: RSP modulo 16 at the call, 0 or 8.
// Flags: the flags to set.
//

VOID
PenterTestFillState(
    _In_ PPENTER_ROUTINE Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    );

//
// Compares the state after the call with the one before.
// Difference: the properties that differ.
//

VOID
PenterTestCompareStates(
    _Out_ PHOOK_DIFFERENCE Difference
    );

//
// The arithmetic flags one by one, in combinations, and with DF.
//

#define TEST_NUMBER_OF_FLAGS 18
extern const ULONG TestFlags[TEST_NUMBER_OF_FLAGS];

//
// The calling thread's header (or stand-in), read as the hooks read it; NULL
// when it has none.
//

PTRACE_STORE_HEADER
PenterTestContext(
    VOID
    );

//
// The set of routines that the hooks use, and which clock and which kind that
// is; NULL if they do not record.  Those that keep a tree count as plain ones.
// Chooses: whether they can leave calls out.
// Expansion: whether the TLS slot is in the expansion array.
//

PCPENTER_ROUTINES
PenterTestRoutines(
    _Out_ PULONG Clock,
    _Out_ PBOOLEAN Chooses,
    _Out_ PBOOLEAN Expansion
    );

//
// Makes the calling thread's depth, if it counts one, that of a thread that is
// inside no call.
//

VOID
PenterTestResetDepth(
    VOID
    );

//
// Makes one call of a hook with a new random state and compares the state
// after it with the one before. TRUE if nothing was changed and, if Recorded,
// the record is right; what is wrong is printed.
//
// StackOffset: RSP modulo 16 at the call, 0 or 8.
//

BOOLEAN
PenterTestCall(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ BOOLEAN Recorded
    );

//
// Compares the state after a call with the one before, and prints what
// differs. The parts of that: the comparison of a call that has been made, and
// the next of a sequence of numbers that look random.
//
// RecordIsRight: whether the call came to what it should.
// Returns TRUE if everything is right.
//

BOOLEAN
PenterTestCompareCall(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ BOOLEAN RecordIsRight
    );

//
// Gives the next of a sequence of numbers that look random (xorshift).
//

ULONGLONG
PenterTestRandom(
    VOID
    );

//
// What can come of a call in the routines that leave calls out.
//

typedef enum _TEST_CHOICE {
    TestChoiceTakenBack,
    TestChoiceTooDeep,
    TestChoiceInside,
    TestChoiceSwitch,
    TestChoiceStopped,
    TestNumberOfChoices
} TEST_CHOICE;

//
// Prepares the calling thread's store, which has at least one record, for such
// a call, whose state HookCall has; and checks afterwards that it came to that.
// FALSE from the first one if that cannot come of this hook.  Both know
// RSP at the call from StackPointer.
//

typedef struct _TEST_CHOSEN {
    TEST_CHOICE Choice;
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    ULONGLONG Cursor;
    ULONGLONG Limit;
    ULONGLONG MinimumDuration;
    ULONGLONG TakenBack;
    ULONGLONG TooDeep;
    ULONGLONG Lost;
} TEST_CHOSEN;
typedef TEST_CHOSEN *PTEST_CHOSEN;

//
// Prepares the calling thread's store for a call that comes to a choice.
// StackPointer: RSP at the call.
// Argument: the low half of rcx at the call.
// Chosen: what PenterTestCheckChoice needs.
// Returns FALSE if this hook, with these settings, never comes to that.
//

BOOLEAN
PenterTestPrepareChoice(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG_PTR StackPointer,
    _In_ ULONG Argument,
    _In_ TEST_CHOICE Choice,
    _Out_ PTEST_CHOSEN Chosen
    );

//
// Checks that a call has come to the choice that it was prepared for, and
// undoes the preparation.
// Chosen: what PenterTestPrepareChoice has filled.
//

BOOLEAN
PenterTestCheckChoice(
    _In_ PCTEST_HOOK Hook,
    _Inout_ PTEST_CHOSEN Chosen
    );

//
// PenterStoreSupport.c: reading stores back.
//

typedef struct _TEST_SEGMENT {
    ULONG Site[2];                  // of even and odd records
    ULONG StackKind[2];
    ULONGLONG NumberOfRecords;
} TEST_SEGMENT;
typedef TEST_SEGMENT *PTEST_SEGMENT;
typedef const TEST_SEGMENT *PCTEST_SEGMENT;

typedef struct _TEST_MATCH {
    ULONGLONG NumberOfRecords;      // that the store has
    ULONGLONG NumberExpected;
    ULONGLONG FirstDifference;      // index of a record; ~0: none
    ULONGLONG NumberOutOfTime;      // outside of the given times
} TEST_MATCH;
typedef TEST_MATCH *PTEST_MATCH;

//
// Describes the records that HookRepeat leaves behind.
// Hook, Count, Argument: what HookRepeat was given.
// Rsp: what it returned.
//

VOID
PenterTestSetRepeatSegment(
    _Out_ PTEST_SEGMENT Segment,
    _In_ PCTEST_HOOK Hook,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument,
    _In_ ULONG_PTR Rsp
    );

//
// Describes the records that HookRepeatPair leaves behind.
// Enter, Exit, Count, Argument: what HookRepeatPair was given.
// Rsp: what it returned.
//

VOID
PenterTestSetPairSegment(
    _Out_ PTEST_SEGMENT Segment,
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONGLONG Count,
    _In_ ULONG_PTR Argument,
    _In_ ULONG_PTR Rsp
    );

//
// Computes the number of records that a header publishes.
//

ULONGLONG
PenterTestNumberOfRecords(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// Compares a store's records with what was called.
// Segments, NumberOfSegments: what was called, in order.
// FirstTime, LastTime: readings of the time stamp counter between which all
// the calls were made.
// Returns TRUE if the number of records and every site, stack pointer and kind
// agree.
//

BOOLEAN
PenterTestMatchRecords(
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_reads_(NumberOfSegments) PCTEST_SEGMENT Segments,
    _In_ ULONG NumberOfSegments,
    _In_ ULONGLONG FirstTime,
    _In_ ULONGLONG LastTime,
    _Out_ PTEST_MATCH Match
    );

//
// Calls Callback for every store below a directory; returns their number.
//

typedef
VOID
(PENTER_TEST_STORE)(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    );
typedef PENTER_TEST_STORE *PPENTER_TEST_STORE;

//
// Calls a routine for every store below a directory.
// Returns the number of stores.
//

ULONG
PenterTestEnumerateStores(
    _In_ const TEST_PATH *Root,
    _In_ PPENTER_TEST_STORE Callback,
    _In_opt_ PVOID Context
    );

//
// The number of records in all the stores below a directory.
//

ULONGLONG
PenterTestSumRecords(
    _In_ const TEST_PATH *Root
    );

//
// Adds up the calls of hooks that all the stores below a directory know of.
// The number of calls that they know of: also those that were taken back or
// left out.
//

ULONGLONG
PenterTestSumEvents(
    _In_ const TEST_PATH *Root
    );

//
// TRACER_DIRECTORY as a path.
//

BOOLEAN
PenterTestSessionRoot(
    _Out_ PTEST_PATH Root
    );

//
// What runs in the child processes.
//

typedef VOID (PENTER_TEST_CHILD)(VOID);

PENTER_TEST_CHILD PenterTestFirst;          // PenterStateSupport.c

//
// The child "states". With the word "expansion" the hooks get a TLS slot in
// the expansion array.
//

PENTER_TEST_CHILD PenterTestStates;

//
// The child "unrecorded": whatever the reason, nothing is recorded and nothing
// is changed.
//

PENTER_TEST_CHILD PenterTestUnrecorded;

//
// The child "broken": the negative control. Every broken hook has to be
// caught, with the property that it changes and no other.
//

PENTER_TEST_CHILD PenterTestBroken;
PENTER_TEST_CHILD PenterTestChoices;        // PenterChoiceSupport.c

//
// The child "last": the process ends with its last thread, whatever threads
// the library has.
//

PENTER_TEST_CHILD PenterTestLastThread;
PENTER_TEST_CHILD PenterTestRecords;        // PenterStoreSupport.c
PENTER_TEST_CHILD PenterTestThreads;        // PenterThreadSupport.c

//
// The child "reattach": calls that come after the thread's store was closed
// get another store, and nothing is lost.
//

PENTER_TEST_CHILD PenterTestReattach;

//
// The child "terminate": threads are killed at any point of a hook. What they
// have recorded stays, and the others go on.
//

PENTER_TEST_CHILD PenterTestTerminate;

//
// The child "fibers": calls from fibers are recorded in their thread's store
// and nothing is lost.
//

PENTER_TEST_CHILD PenterTestFibers;
PENTER_TEST_CHILD PenterTestUnwind;         // PenterUnwindSupport.c
PENTER_TEST_CHILD PenterTestTrees;          // PenterTreeSupport.c
PENTER_TEST_CHILD PenterTestInside;         // PenterInsideSupport.c

//
// The child "pages": the rest of a store's view cannot be written, as on a
// full disk. The store stops with what it has, later calls are counted, and
// the program goes on with its state unchanged.
//

PENTER_TEST_CHILD PenterTestPages;

//
// Takes every TLS slot of the first 64, if the command line has the word
// "expansion", so that the hooks get one in the expansion array.
//

VOID
PenterTestTakeSlots(
    VOID
    );

#endif // TRACER_PENTER_SUPPORT_H

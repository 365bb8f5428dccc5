/*++

Module Name:

    PenterSupport.h

Abstract:

    What the parts of TestPenter share: the table of the hooks, one call with
    its state compared, and the routines that run in its child processes.

--*/

#ifndef TRACER_PENTER_SUPPORT_H
#define TRACER_PENTER_SUPPORT_H

#include "../../Penter/PenterConfig.h"
#include "../../Penter/PenterEnd.h"
#include "../../Penter/PenterStart.h"
#include "../../TraceStore/TraceDepth.h"
#include "../../TraceStore/TraceTree.h"
#include "HookCallers.h"
#include "Test.h"

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

/*++

Module Name:

    HookCallers.h

Abstract:

    What HookCallers.asm has: calls of a hook with the whole state of the
    machine before and after them, calls in a row, hooks that are broken, and
    places without unwind data.

--*/

#ifndef TRACER_HOOK_CALLERS_H
#define TRACER_HOOK_CALLERS_H

#include "../../Penter/PenterHooks.h"

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

#endif // TRACER_HOOK_CALLERS_H

/*++

Module Name:

    TraceWalk.c

Abstract:

    Walks a thread's own stack from a hook's call outwards, as the unwind data
    of the functions says: who called whom, and where the return addresses are.
    The layout is that of the x64 exception handling documentation of the Visual
    C++ ABI.

    The walk begins behind a call, and from then on it is at return addresses:
    it is never within an epilog, and within a prolog only at a hook's call.

    Nothing is called but RtlLookupFunctionEntry, and that only outside of the
    module.  What the stack and the unwind data say is believed as far as each
    return address lies above the one before it, on the stack.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceFrame.h"
#include "TraceSession.h"
#include "TraceWalk.h"

//
// Unwind operations and flags.
//

#define WALK_PUSH_REGISTER      0
#define WALK_ALLOCATE_LARGE     1
#define WALK_ALLOCATE_SMALL     2
#define WALK_SET_REGISTER       3
#define WALK_SAVE               4
#define WALK_SAVE_FAR           5
#define WALK_EPILOG             6
#define WALK_SPARE              7
#define WALK_SAVE_XMM           8
#define WALK_SAVE_XMM_FAR       9
#define WALK_PUSH_MACHINE       10

#define WALK_FLAG_CHAINED       0x4
#define WALK_MAXIMUM_CHAIN      32

#define WALK_RSP                4

typedef struct _WALK_UNWIND {
    UCHAR VersionAndFlags;
    UCHAR SizeOfProlog;
    UCHAR NumberOfCodes;
    UCHAR FrameRegister;                // and the offset's upper four bits
    UCHAR Codes[1][2];                  // offset in the prolog; operation
} WALK_UNWIND;
typedef const WALK_UNWIND *PCWALK_UNWIND;

_Use_decl_annotations_
BOOLEAN
TraceWalkBegin(
    PTRACE_SESSION Session,
    PCTRACE_TREE_CALL Call,
    PTRACE_WALK Walk
    )
{
    ULONG Index;
    TRACE_FRAME_LAYOUT Layout;

    Walk->Session = Session;
    Walk->Place = Call->Place;
    Walk->Registers[WALK_RSP] = Call->Stack;
    Walk->StackBase = __readgsqword(TEB_STACK_BASE);
    Walk->IsExact = FALSE;
    Walk->Count = 0;

    //
    // Of a stack that the system does not know nobody knows where it ends.
    //

    if (Call->Registers == NULL ||
        Call->Stack >= Walk->StackBase ||
        Call->Stack < __readgsqword(TEB_DEALLOCATION_STACK)) {

        return FALSE;
    }

    for (Index = 0; Index < TRACE_WALK_REGISTERS; Index += 1) {
        if (Index != WALK_RSP) {
            Walk->Registers[Index] = 0;
        }
    }

    Walk->Registers[3] = Call->Registers->Rbx;
    Walk->Registers[5] = Call->Registers->Rbp;
    Walk->Registers[6] = Call->Registers->Rsi;
    Walk->Registers[7] = Call->Registers->Rdi;
    Walk->Registers[12] = Call->Registers->R12;
    Walk->Registers[13] = Call->Registers->R13;
    Walk->Registers[14] = Call->Registers->R14;
    Walk->Registers[15] = Call->Registers->R15;

    (VOID)TraceFrameFind(Session->ModuleBase,
                         Session->Template->ModuleSize,
                         Call->Place,
                         &Layout);
    if (Layout.HasChain) {
        Walk->Registers[WALK_RSP] += sizeof(ULONGLONG);
    }
    return TRUE;
}

//
// A value on the stack; FALSE if it is not above all that has been read.
//

static
BOOLEAN
TraceWalkRead(
    _In_ const TRACE_WALK *Walk,
    _In_ ULONGLONG Address,
    _Out_ PULONGLONG Value
    )
{
    if (Address < Walk->Lowest ||
        Address > Walk->StackBase - sizeof(*Value) ||
        (Address & 7) != 0) {

        return FALSE;
    }

    *Value = *(const ULONGLONG *)(ULONG_PTR)Address;
    return TRUE;
}

//
// What one unwind operation undoes.  *Slots receives how many codes it has;
// Offset is how far the place is behind the beginning of the function.
//

static
BOOLEAN
TraceWalkUndo(
    _Inout_ PTRACE_WALK Walk,
    _In_ PCWALK_UNWIND Unwind,
    _In_ ULONG Index,
    _In_ ULONG Offset,
    _Out_ PULONG Slots
    )
{
    PULONGLONG Rsp;
    ULONG Operation;
    ULONG Information;
    ULONG Size;
    BOOLEAN IsDone;

    Rsp = &Walk->Registers[WALK_RSP];
    Operation = Unwind->Codes[Index][1] & 0xF;
    Information = Unwind->Codes[Index][1] >> 4;
    IsDone = Unwind->Codes[Index][0] <= Offset;
    *Slots = 1;

    if (Operation == WALK_SAVE || Operation == WALK_SAVE_XMM ||
        (Operation == WALK_ALLOCATE_LARGE && Information == 0)) {

        *Slots = 2;
    } else if (Operation == WALK_SAVE_FAR || Operation == WALK_SAVE_XMM_FAR ||
               Operation == WALK_ALLOCATE_LARGE) {

        *Slots = 3;
    } else if (Operation == WALK_EPILOG || Operation == WALK_SPARE) {
        *Slots = (Unwind->VersionAndFlags & 7) == 1 ?
                 Operation - WALK_EPILOG + 2 : 1;
    }

    if (*Slots > Unwind->NumberOfCodes - Index) {
        return FALSE;
    }
    Size = 0;
    if (*Slots >= 2) {
        Size = Unwind->Codes[Index + 1][0] |
               (ULONG)Unwind->Codes[Index + 1][1] << 8;
    }
    if (*Slots == 3) {
        Size |= (ULONG)Unwind->Codes[Index + 2][0] << 16 |
                (ULONG)Unwind->Codes[Index + 2][1] << 24;
    }
    if (!IsDone) {
        return TRUE;
    }

    switch (Operation) {
    case WALK_PUSH_REGISTER:
        if (Information == WALK_RSP ||
            !TraceWalkRead(Walk, *Rsp, &Walk->Registers[Information])) {

            return FALSE;
        }
        *Rsp += 8;
        return TRUE;
    case WALK_ALLOCATE_LARGE:
        *Rsp += Information == 0 ? (ULONGLONG)Size * 8 : Size;
        return TRUE;
    case WALK_ALLOCATE_SMALL:
        *Rsp += Information * 8 + 8;
        return TRUE;
    case WALK_SET_REGISTER:
        *Rsp = Walk->Registers[Unwind->FrameRegister & 0xF] -
               (ULONGLONG)(Unwind->FrameRegister >> 4) * 16;
        Walk->IsDynamic = TRUE;
        return TRUE;
    case WALK_SAVE:
        return Information != WALK_RSP &&
               TraceWalkRead(Walk,
                             Walk->FrameBase + (ULONGLONG)Size * 8,
                             &Walk->Registers[Information]);
    case WALK_SAVE_FAR:
        return Information != WALK_RSP &&
               TraceWalkRead(Walk,
                             Walk->FrameBase + Size,
                             &Walk->Registers[Information]);
    case WALK_EPILOG:
    case WALK_SPARE:
    case WALK_SAVE_XMM:
    case WALK_SAVE_XMM_FAR:
        return TRUE;
    case WALK_PUSH_MACHINE:
        *Rsp += Information == 0 ? 0 : 8;
        Walk->IsMachine = TRUE;
        return TRUE;
    default:
        return FALSE;
    }
}

//
// Finds the function at the walk's place.
//

static
BOOLEAN
TraceWalkFind(
    _Inout_ PTRACE_WALK Walk,
    _Outptr_ PCTRACE_FUNCTION *Found
    )
{
    PTRACE_SESSION Session;
    PBYTE Base;
    ULONGLONG Address;
    DWORD64 ImageBase;

    Session = Walk->Session;
    Base = (PBYTE)Session->ModuleBase;
    Address = Walk->Place - (Walk->IsExact ? 0 : 1);

    if (Address - (ULONG_PTR)Base < Session->Template->ModuleSize) {
        Walk->Base = Base;
        Walk->IsOurs = TRUE;
        *Found = TraceFrameFindEntry(Base,
                                     Session->Template->ModuleSize,
                                     (ULONG)(Address - (ULONG_PTR)Base));
        return *Found != NULL;
    }

    Walk->IsOurs = FALSE;
    if (Session->Rtl.RtlLookupFunctionEntry == NULL) {
        return FALSE;
    }

    *Found = (PCTRACE_FUNCTION)Session->Rtl.RtlLookupFunctionEntry(Address,
                                                                  &ImageBase,
                                                                  NULL);
    Walk->Base = (PBYTE)(ULONG_PTR)ImageBase;
    return *Found != NULL && ((*Found)->Unwind & 1) == 0;
}

_Use_decl_annotations_
BOOLEAN
TraceWalkNext(
    PTRACE_WALK Walk
    )
{
    PCTRACE_FUNCTION Function;
    PCWALK_UNWIND Unwind;
    ULONGLONG Next;
    ULONG Offset;
    ULONG Index;
    ULONG Slots;
    ULONG Chain;
    BOOLEAN IsFirst;

    IsFirst = Walk->Count == 0;
    Walk->Count += 1;
    Walk->IsDynamic = FALSE;
    Walk->IsMachine = FALSE;
    Walk->IsPart = FALSE;
    Walk->Lowest = Walk->Registers[WALK_RSP];
    Walk->Begin = 0;
    Walk->End = 0;

    if (!TraceWalkFind(Walk, &Function)) {

        //
        // A function that calls has unwind data; one that only calls a hook
        // first of all need not, and nor does one that was interrupted.
        //

        if (!IsFirst && !Walk->IsExact) {
            return FALSE;
        }
        goto Leaf;
    }

    Walk->Begin = (ULONG_PTR)Walk->Base + Function->Begin;
    Walk->End = (ULONG_PTR)Walk->Base + Function->End;
    Offset = (ULONG)(Walk->Place - Walk->Begin);

    for (Chain = 0; Chain < WALK_MAXIMUM_CHAIN; Chain += 1) {
        if (Walk->IsOurs &&
            !TraceFrameIsWithin(Walk->Base,
                                Walk->Session->Template->ModuleSize,
                                Function)) {

            return FALSE;
        }

        Unwind = (PCWALK_UNWIND)(Walk->Base + Function->Unwind);

        //
        // A part of a function that the compiler has moved away begins where
        // all of its prolog has run.
        //

        if (Chain == 0 &&
            Unwind->SizeOfProlog == 0 &&
            Unwind->NumberOfCodes != 0) {

            Walk->IsPart = TRUE;
        }

        //
        // Saved registers lie above where RSP was when the prolog had run.
        //

        Walk->FrameBase = Walk->Registers[WALK_RSP];
        if ((Unwind->FrameRegister & 0xF) != 0 &&
            Offset >= Unwind->SizeOfProlog) {

            Walk->FrameBase =
                Walk->Registers[Unwind->FrameRegister & 0xF] -
                (ULONGLONG)(Unwind->FrameRegister >> 4) * 16;
        }

        for (Index = 0; Index < Unwind->NumberOfCodes; Index += Slots) {
            if (!TraceWalkUndo(Walk, Unwind, Index, Offset, &Slots)) {
                return FALSE;
            }
        }

        if ((Unwind->VersionAndFlags >> 3 & WALK_FLAG_CHAINED) == 0) {
            break;
        }

        Walk->IsPart = TRUE;
        Function = (PCTRACE_FUNCTION)
                   &Unwind->Codes[(Unwind->NumberOfCodes + 1) & ~1];
        Offset = 0xFFFFFFFF;
    }

    if (Chain == WALK_MAXIMUM_CHAIN) {
        return FALSE;
    }

Leaf:

    //
    // What an interrupt has pushed: the place, and RSP as it was there.
    //

    Walk->Slot = Walk->Registers[WALK_RSP];
    if (Walk->IsMachine) {
        if (!TraceWalkRead(Walk, Walk->Slot, &Walk->Place) ||
            !TraceWalkRead(Walk, Walk->Slot + 24, &Next) ||
            Next <= Walk->Slot || Next >= Walk->StackBase) {

            return FALSE;
        }
        Walk->Registers[WALK_RSP] = Next;
    } else {
        if (!TraceWalkRead(Walk, Walk->Slot, &Walk->Place)) {
            return FALSE;
        }
        Walk->Registers[WALK_RSP] = Walk->Slot + 8;
    }

    Walk->IsExact = Walk->IsMachine;
    return TRUE;
}

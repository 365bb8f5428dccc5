/*++

Module Name:

    TraceFrame.c

Abstract:

    How far a function has moved the stack pointer at a place in its code: from
    the module's own unwind data, as the loader has mapped it.  The layout is
    that of the x64 exception handling documentation of the Visual C++ ABI.

    The data belongs to the program and is believed only as far as it stays
    within the module.

--*/

#include "../Rtl/Rtl.h"
#include "TraceFrame.h"

//
// Unwind operations and flags.
//

#define FRAME_PUSH_REGISTER     0
#define FRAME_ALLOCATE_LARGE    1
#define FRAME_ALLOCATE_SMALL    2
#define FRAME_SET_REGISTER      3
#define FRAME_SAVE              4
#define FRAME_SAVE_FAR          5
#define FRAME_EPILOG            6
#define FRAME_SPARE             7
#define FRAME_SAVE_XMM          8
#define FRAME_SAVE_XMM_FAR      9
#define FRAME_PUSH_MACHINE      10

#define FRAME_FLAG_CHAINED      0x4

//
// How many entries may be chained, and the largest frame that is believed.
//

#define FRAME_MAXIMUM_CHAIN     32
#define FRAME_MAXIMUM_SIZE      0x40000000

typedef struct _FRAME_UNWIND {
    UCHAR VersionAndFlags;
    UCHAR SizeOfProlog;
    UCHAR NumberOfCodes;
    UCHAR FrameRegister;
    UCHAR Codes[1][2];              // offset in the prolog; operation
} FRAME_UNWIND;
typedef const FRAME_UNWIND *PCFRAME_UNWIND;

_Use_decl_annotations_
PCTRACE_FUNCTION
TraceFrameFindEntry(
    PVOID ModuleBase,
    ULONG ModuleSize,
    ULONG Address
    )
{
    PBYTE Base;
    PIMAGE_DOS_HEADER Dos;
    PIMAGE_NT_HEADERS64 Nt;
    PIMAGE_DATA_DIRECTORY Directory;
    PCTRACE_FUNCTION Functions;
    ULONG Low;
    ULONG High;
    ULONG Middle;

    Base = (PBYTE)ModuleBase;
    Dos = (PIMAGE_DOS_HEADER)Base;
    if (Dos->e_lfanew < 0 ||
        (ULONG)Dos->e_lfanew > ModuleSize - sizeof(IMAGE_NT_HEADERS64)) {

        return NULL;
    }

    Nt = (PIMAGE_NT_HEADERS64)(Base + Dos->e_lfanew);
    if (Nt->OptionalHeader.NumberOfRvaAndSizes <=
        IMAGE_DIRECTORY_ENTRY_EXCEPTION) {

        return NULL;
    }

    Directory =
        &Nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    if (Directory->VirtualAddress > ModuleSize ||
        Directory->Size > ModuleSize - Directory->VirtualAddress ||
        (Directory->VirtualAddress & 3) != 0) {

        return NULL;
    }

    Functions = (PCTRACE_FUNCTION)(Base + Directory->VirtualAddress);
    Low = 0;
    High = Directory->Size / sizeof(*Functions);
    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Address < Functions[Middle].Begin) {
            High = Middle;
        } else if (Address >= Functions[Middle].End) {
            Low = Middle + 1;
        } else {
            return &Functions[Middle];
        }
    }

    return NULL;
}

_Use_decl_annotations_
BOOLEAN
TraceFrameIsWithin(
    PVOID ModuleBase,
    ULONG ModuleSize,
    PCTRACE_FUNCTION Function
    )
{
    PCFRAME_UNWIND Unwind;
    ULONG End;

    if (Function->Unwind > ModuleSize - 4 || (Function->Unwind & 3) != 0) {
        return FALSE;
    }

    Unwind = (PCFRAME_UNWIND)((PBYTE)ModuleBase + Function->Unwind);
    End = 4 + (Unwind->NumberOfCodes + 1u) / 2 * 4;
    if ((Unwind->VersionAndFlags >> 3 & FRAME_FLAG_CHAINED) != 0) {
        End += sizeof(*Function);
    }
    return End <= ModuleSize - Function->Unwind;
}

//
// Adds up what the codes of a prolog take from RSP.
// Unwind: the codes, all of them within the module.
// Offset: the place's distance from the beginning of the function.
// Returns FALSE if the codes make no sense.
//

static
BOOLEAN
TraceFrameSum(
    _In_ PCFRAME_UNWIND Unwind,
    _In_ ULONG Offset,
    _Inout_ PTRACE_FRAME_LAYOUT Layout
    )
{
    ULONG Index;
    ULONG Slots;
    ULONG Size;
    ULONG Operation;
    ULONG Information;

    Index = 0;
    while (Index < Unwind->NumberOfCodes) {
        Operation = Unwind->Codes[Index][1] & 0xF;
        Information = Unwind->Codes[Index][1] >> 4;
        Slots = 1;
        Size = 0;

        switch (Operation) {
        case FRAME_PUSH_REGISTER:
            Size = 8;
            break;
        case FRAME_ALLOCATE_LARGE:
            Slots = Information == 0 ? 2 : 3;
            if (Index + Slots > Unwind->NumberOfCodes) {
                return FALSE;
            }
            Size = Unwind->Codes[Index + 1][0] |
                   (ULONG)Unwind->Codes[Index + 1][1] << 8;
            if (Information == 0) {
                Size *= 8;
            } else {
                Size |= (ULONG)Unwind->Codes[Index + 2][0] << 16 |
                        (ULONG)Unwind->Codes[Index + 2][1] << 24;
            }
            break;
        case FRAME_ALLOCATE_SMALL:
            Size = Information * 8 + 8;
            break;
        case FRAME_SET_REGISTER:
            Layout->IsDynamic = TRUE;
            break;
        case FRAME_SAVE:
        case FRAME_SAVE_XMM:
            Slots = 2;
            break;
        case FRAME_SAVE_FAR:
        case FRAME_SAVE_XMM_FAR:
            Slots = 3;
            break;
        case FRAME_EPILOG:
            Slots = (Unwind->VersionAndFlags & 7) == 1 ? 2 : 1;
            break;
        case FRAME_SPARE:
            Slots = (Unwind->VersionAndFlags & 7) == 1 ? 3 : 1;
            break;
        case FRAME_PUSH_MACHINE:
            Size = Information == 0 ? 40 : 48;
            break;
        default:
            return FALSE;
        }

        if (Size > FRAME_MAXIMUM_SIZE - Layout->FullSizeInBytes) {
            return FALSE;
        }

        Layout->FullSizeInBytes += Size;
        if (Unwind->Codes[Index][0] <= Offset) {
            Layout->SizeInBytes += Size;
        }
        Index += Slots;
    }

    return TRUE;
}

//
// Says whether a hook was called as gcc does where a function has a static
// chain (nested functions of C, Ada and Fortran): push r10, call, pop r10. The
// unwind data has nothing of that.
//
// Base: the module.
// ModuleSize: its size in bytes.
// Address: the RVA of the place behind the call.
// Offset: the place's distance from the beginning of the function.
//

static
BOOLEAN
TraceFrameHasChain(
    _In_ PBYTE Base,
    _In_ ULONG ModuleSize,
    _In_ ULONG Address,
    _In_ ULONG Offset
    )
{
    const BYTE *Place = Base + Address;

    if (Address > ModuleSize - 2 || Place[0] != 0x41 || Place[1] != 0x5A) {
        return FALSE;
    }

    return (BOOLEAN)((Offset >= 7 && Place[-7] == 0x41 && Place[-6] == 0x52 &&
                      Place[-5] == 0xE8) ||
                     (Offset >= 8 && Place[-8] == 0x41 && Place[-7] == 0x52 &&
                      Place[-6] == 0xFF && Place[-5] == 0x15));
}

_Use_decl_annotations_
BOOLEAN
TraceFrameFind(
    PVOID ModuleBase,
    ULONG ModuleSize,
    ULONGLONG Place,
    PTRACE_FRAME_LAYOUT Layout
    )
{
    PBYTE Base;
    ULONGLONG Address;
    PCTRACE_FUNCTION Function;
    PCFRAME_UNWIND Unwind;
    ULONG Begin;
    ULONG Offset;
    ULONG Chain;
    ULONG End;

    RtlZeroBytes(Layout, sizeof(*Layout));

    Base = (PBYTE)ModuleBase;
    Address = Place - (ULONG_PTR)Base;
    if (ModuleSize < sizeof(IMAGE_NT_HEADERS64) ||
        Address == 0 || Address > ModuleSize) {

        return FALSE;
    }

    Function = TraceFrameFindEntry(Base, ModuleSize, (ULONG)Address - 1);
    if (Function == NULL) {
        return FALSE;
    }

    Begin = Function->Begin;
    Offset = (ULONG)Address - Begin;

    for (Chain = 0; Chain < FRAME_MAXIMUM_CHAIN; Chain += 1) {
        if (!TraceFrameIsWithin(Base, ModuleSize, Function)) {
            goto Error;
        }

        Unwind = (PCFRAME_UNWIND)(Base + Function->Unwind);
        End = 4 + (Unwind->NumberOfCodes + 1u) / 2 * 4;
        if (!TraceFrameSum(Unwind, Offset, Layout)) {
            goto Error;
        }

        if ((Unwind->VersionAndFlags >> 3 & FRAME_FLAG_CHAINED) == 0) {
            Layout->HasChain = TraceFrameHasChain(Base,
                                                  ModuleSize,
                                                  (ULONG)Address,
                                                  Offset);
            Layout->Function = (ULONG)(ULONG_PTR)Base + Begin;
            return TRUE;
        }

        //
        // The code of a chained entry runs when all of its parent's prolog has
        // run.
        //

        Function = (PCTRACE_FUNCTION)((PBYTE)Unwind + End);
        Begin = Function->Begin;
        Offset = 0xFFFFFFFF;
    }

Error:

    RtlZeroBytes(Layout, sizeof(*Layout));
    return FALSE;
}

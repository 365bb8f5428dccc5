/*++

Module Name:

    Demangle.h

Abstract:

    Readable text for the names that C++ compilers give to functions by the
    rules of the Itanium C++ ABI: _ZN2ns1fEi is ns::f(int).

    The names may be anything; what is not understood is refused as a whole.
    Work, memory and depth are bounded.  The code is pure C over bytes and also
    builds natively.

--*/

#ifndef TRACER_DEMANGLE_H
#define TRACER_DEMANGLE_H

#include "../../Rtl/Allocator.h"

//
// The longest name that is looked at, and the longest text that one becomes,
// in bytes.
//

#define READER_DEMANGLE_MAXIMUM_NAME 16383
#define READER_DEMANGLE_MAXIMUM_TEXT 0x10000

typedef struct _DEMANGLE_NODE DEMANGLE_NODE;
typedef DEMANGLE_NODE *PDEMANGLE_NODE;

//
// A list of template parameters that T_ and its kin refer to.
//

#define READER_DEMANGLE_LEVELS 16

typedef struct _DEMANGLE_LEVEL {
    ULONG First;                    // in Parameters; 0: none
    ULONG Last;
    ULONG Count;
} DEMANGLE_LEVEL;
typedef DEMANGLE_LEVEL *PDEMANGLE_LEVEL;

typedef struct _DEMANGLE_SCOPE {
    DEMANGLE_LEVEL Levels[READER_DEMANGLE_LEVELS];
    ULONG NumberOfLevels;
} DEMANGLE_SCOPE;
typedef DEMANGLE_SCOPE *PDEMANGLE_SCOPE;

typedef struct _DEMANGLE_BOUND {
    ULONG Node;
    ULONG Next;                     // in Parameters; 0: the last
} DEMANGLE_BOUND;
typedef DEMANGLE_BOUND *PDEMANGLE_BOUND;

typedef struct _READER_DEMANGLER {

    PCALLOCATOR Allocator;
    PCHAR Text;                     // READER_DEMANGLE_MAXIMUM_TEXT bytes
    PVOID Memory;                   // for the arrays below
    ULONG CapacityOfName;           // that they are made for, bytes

    //
    // The name, and what has been made of it.
    //

    PCSZ Next;
    PCSZ End;
    PDEMANGLE_NODE Nodes;           // the first one is never used
    PULONG Lists;                   // nodes of lists
    PULONG Stack;                   // nodes of lists that are being made
    PULONG Substitutions;
    PULONG Forwards;
    PDEMANGLE_BOUND Parameters; // the first one is never used
    ULONG CapacityOfNodes;
    ULONG CapacityOfLists;          // also of Stack
    ULONG CapacityOfOthers;
    ULONG NumberOfNodes;
    ULONG NumberInLists;
    ULONG NumberInStack;
    ULONG NumberOfSubstitutions;
    ULONG NumberOfForwards;
    ULONG NumberOfParameters;
    ULONG Depth;
    ULONG Steps;
    ULONG LambdaLevel;              // whose parameters may be auto
    ULONG SyntheticTypes;           // parameters of lambdas so far
    ULONG SyntheticValues;
    ULONG SyntheticTemplates;
    BOOLEAN IsArgumentsExpected;    // "I" after a type begins its arguments
    BOOLEAN IsForwardAllowed;       // T_ may be known later
    BOOLEAN IsConstraint;           // T_ stands for itself
    BOOLEAN IsTooMuch;
    DEMANGLE_SCOPE Scope;

    //
    // The text.
    //

    ULONG Length;                   // bytes
    ULONG PackIndex;                // of what is shown of packs
    ULONG PackCount;
    ULONG NestingOfGreater;         // 0: ">" would end a list of arguments

} READER_DEMANGLER;
typedef READER_DEMANGLER *PREADER_DEMANGLER;

//
// Makes a demangler that has no memory yet.
// Allocator: the memory, when there is a name to look at.
//

VOID
DemangleInitializeDemangler(
    _Out_ PREADER_DEMANGLER Demangler,
    _In_ PCALLOCATOR Allocator
    );

//
// Makes a name readable.  Text is not terminated, and good until the next
// call.
//
//     STATUS_NOT_FOUND               it is no such name, is not understood, or
//                                    would be too long
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
DemangleSymbol(
    _Inout_ PREADER_DEMANGLER Demangler,
    _In_reads_bytes_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes,
    _Outptr_ PCSZ *Text,
    _Out_ PULONG TextLengthInBytes
    );

//
// Frees the demangler's memory. It may be called twice, and used again.
//

VOID
DemangleRundownDemangler(
    _Inout_ PREADER_DEMANGLER Demangler
    );

#endif // TRACER_DEMANGLE_H

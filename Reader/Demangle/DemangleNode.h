/*++

Module Name:

    DemangleNode.h

Abstract:

    What the files of the demangler share: the nodes that a name is parsed
    into, and the routines that make and show them.

    Nodes are referred to by their index; 0 is no node, and what a routine
    returns when a name is not understood.  A name's parts refer to each other
    freely (a substitution is the node that it stands for), so nodes are never
    freed one by one.

--*/

#ifndef TRACER_DEMANGLE_NODE_H
#define TRACER_DEMANGLE_NODE_H

#include "Demangle.h"

//
// How deep calls of the parser and of the printer may go, how much either may
// do for one name, and how many lists of template parameters may be in force
// at once.
//

#define DEMANGLE_MAXIMUM_PARSE_DEPTH 192
#define DEMANGLE_MAXIMUM_PRINT_DEPTH 768
#define DEMANGLE_MAXIMUM_STEPS 1000000
#define DEMANGLE_NONE 0xFFFFFFFFu

typedef enum _DEMANGLE_KIND {
    DemangleNone = 0,
    DemangleList,                   // First: where in Lists; Second: how many

    //
    // Names.
    //

    DemangleText,                   // Text
    DemangleNested,                 // First::Second
    DemangleFriend,                 // First::friend Second
    DemangleGlobal,                 // ::First
    DemangleLocal,                  // First::Second; First is an encoding
    DemangleWithArguments,          // First, arguments Second
    DemangleArgumentList,           // <First>, a list
    DemangleArgumentPack,           // First, a list
    DemangleParameterPack,          // First, a list, one at a time
    DemangleForward,                // First, once it is known; number Second
    DemangleAbiTag,                 // First[abi:Text]
    DemangleStructor,               // base name of First; Second: destructor
    DemangleSpecial,                // Text of std
    DemangleExpanded,               // Text of std, in full; Second: instance
    DemangleClosure,                // parameters First, Second; number Text
    DemangleUnnamed,                // number Text
    DemangleBinding,                // [First], a list
    DemangleConversion,             // operator First
    DemangleLiteralOperator,        // operator"" First
    DemangleDestructor,             // ~First
    DemangleTypeParameter,          // typename Text
    DemangleValueParameter,         // First Text
    DemangleTemplateParameter,      // template<First> typename Text
    DemanglePackParameter,          // First... Text
    DemangleQualifiedArgument,      // First; Second is its declaration

    //
    // Types.
    //

    DemanglePointer,                // First*
    DemangleReference,              // First&; Second: &&
    DemangleMemberPointer,          // Second First::*
    DemangleArray,                  // First [Second]
    DemangleFunction,               // First (Second), exceptions Third
    DemangleQualified,              // First, qualifiers
    DemangleVendorQualified,        // First Text, arguments Second
    DemanglePostfix,                // First Text
    DemangleVector,                 // First vector[Second]
    DemanglePixelVector,            // pixel vector[Second]
    DemangleBitInteger,             // Text _BitInt(First)
    DemangleElaborated,             // Text First
    DemangleTransformed,            // First(Second)
    DemangleNoexcept,               // noexcept(First)
    DemangleThrows,                 // throw(First), a list
    DemangleExpansion,              // First...

    //
    // Encodings.
    //

    DemangleEncoded,                // First Second(Third)
    DemanglePrefixed,               // Text First
    DemangleConstruction,           // construction vtable for First-in-Second
    DemangleEnableIf,               // First [enable_if:Second]
    DemangleRequires,               // First requires Second

    //
    // Expressions.
    //

    DemangleBinary,                 // First Text Second
    DemanglePrefix,                 // Text First
    DemanglePostfixed,              // First Text
    DemangleConditional,            // First ? Second : Third
    DemangleMember,                 // First Text Second
    DemangleSubscript,              // First[Second]
    DemangleEnclosed,               // Text(First)
    DemangleCast,                   // Text<First>(Second)
    DemangleCall,                   // First(Second)
    DemangleConvert,                // (First)(Second)
    DemangleNew,                    // new(First) Second(Third)
    DemangleDelete,                 // delete First
    DemangleSizeOfPack,             // sizeof...(First)
    DemangleFold,                   // First Text ... Text Second
    DemangleThrow,                  // throw First
    DemangleInitializers,           // First{Second}
    DemangleBraced,                 // .First = Second
    DemangleBracedRange,            // [First ... Second] = Third
    DemangleInteger,                // a value, Text; Second: suffix
    DemangleIntegerCast,            // (First)Text
    DemangleFloat,                  // Text; Second: the letter of its type
    DemangleString,                 // "<First>"
    DemangleLambda,                 // []First{...}
    DemangleSubobject               // First.<Second at offset Text>
} DEMANGLE_KIND;

//
// What Flags say.
//

#define DEMANGLE_CONST 1            // qualifiers
#define DEMANGLE_VOLATILE 2
#define DEMANGLE_RESTRICT 4
#define DEMANGLE_LVALUE 8           // reference qualifiers
#define DEMANGLE_RVALUE 16
#define DEMANGLE_GLOBAL 1           // new and delete
#define DEMANGLE_BRACKETS 2         // new[], delete[], [First] in braces
#define DEMANGLE_PARENTHESES 4      // new with initializers
#define DEMANGLE_LEFT 1             // folds

//
// How tightly an expression binds, tightest first.
//

typedef enum _DEMANGLE_PRECEDENCE {
    DemanglePrimary = 0,
    DemanglePostfixLevel,
    DemangleUnaryLevel,
    DemangleCastLevel,
    DemangleMemberLevel,
    DemangleProductLevel,
    DemangleSumLevel,
    DemangleShiftLevel,
    DemangleSpaceshipLevel,
    DemangleRelationLevel,
    DemangleEqualityLevel,
    DemangleAndLevel,
    DemangleXorLevel,
    DemangleOrLevel,
    DemangleAndIfLevel,
    DemangleOrIfLevel,
    DemangleConditionalLevel,
    DemangleAssignLevel,
    DemangleCommaLevel,
    DemangleAnyLevel
} DEMANGLE_PRECEDENCE;

struct _DEMANGLE_NODE {
    PCSZ Text;                      // a literal, or in the name
    ULONG TextLength;               // bytes
    ULONG First;                    // nodes, unless Kind says otherwise
    ULONG Second;
    ULONG Third;
    UCHAR Kind;                     // DEMANGLE_KIND
    UCHAR Flags;
    UCHAR Precedence;               // DEMANGLE_PRECEDENCE
    UCHAR Unused;
    ULONG AlsoUnused;
};

C_ASSERT(sizeof(DEMANGLE_NODE) == 32 || sizeof(PVOID) != 8);

//
// What is learned of an encoding while its name is parsed.
//

typedef struct _DEMANGLE_NOTES {
    BOOLEAN HasNoReturnType;        // constructor, destructor, conversion
    BOOLEAN EndsWithArguments;
    UCHAR Qualifiers;
    UCHAR Unused;
    ULONG FirstForward;
} DEMANGLE_NOTES;
typedef DEMANGLE_NOTES *PDEMANGLE_NOTES;

//
// Operators.
//

typedef enum _DEMANGLE_OPERATOR_KIND {
    DemangleIsPrefix = 0,
    DemangleIsPostfix,
    DemangleIsBinary,
    DemangleIsSubscript,
    DemangleIsMember,
    DemangleIsNew,
    DemangleIsDelete,
    DemangleIsCall,
    DemangleIsConversion,
    DemangleIsConditional,
    DemangleIsNameOnly,
    DemangleIsNamedCast,            // from here on they are no names
    DemangleIsOfType,
    DemangleIsOfExpression
} DEMANGLE_OPERATOR_KIND;

typedef struct _DEMANGLE_OPERATOR {
    CHAR Code[2];
    UCHAR Kind;                     // DEMANGLE_OPERATOR_KIND
    UCHAR Precedence;
    PCSZ Name;                      // without "operator"
} DEMANGLE_OPERATOR;
typedef const DEMANGLE_OPERATOR *PCDEMANGLE_OPERATOR;

#endif // TRACER_DEMANGLE_NODE_H

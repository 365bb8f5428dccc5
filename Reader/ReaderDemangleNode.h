/*++

Module Name:

    ReaderDemangleNode.h

Abstract:

    What the files of the demangler share: the nodes that a name is parsed
    into, and the routines that make and show them.

    Nodes are referred to by their index; 0 is no node, and what a routine
    returns when a name is not understood.  A name's parts refer to each other
    freely (a substitution is the node that it stands for), so nodes are never
    freed one by one.

--*/

#ifndef TRACER_READER_DEMANGLE_NODE_H
#define TRACER_READER_DEMANGLE_NODE_H

#include "ReaderDemangle.h"

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

typedef
BOOLEAN
(DEMANGLE_COUNT)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_COUNT DemangleCount;

typedef
BOOLEAN
(DEMANGLE_ENTER)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_ENTER DemangleEnter;

typedef
ULONG
(DEMANGLE_LEAVE)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_LEAVE DemangleLeave;

typedef
CHAR
(DEMANGLE_LOOK)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Offset
    );
DEMANGLE_LOOK DemangleLook;

typedef
BOOLEAN
(DEMANGLE_TAKE)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ CHAR Character
    );
DEMANGLE_TAKE DemangleTake;

typedef
BOOLEAN
(DEMANGLE_TAKE_TWO)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_reads_(2) PCSZ Characters
    );
DEMANGLE_TAKE_TWO DemangleTakeTwo;

typedef
BOOLEAN
(DEMANGLE_IS_DIGIT)(
    _In_ CHAR Character
    );
DEMANGLE_IS_DIGIT DemangleIsDigit;

typedef
ULONG
(DEMANGLE_TAKE_DIGITS)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsSigned,
    _Outptr_ PCSZ *Digits
    );
DEMANGLE_TAKE_DIGITS DemangleTakeDigits;

typedef
BOOLEAN
(DEMANGLE_TAKE_NUMBER)(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PULONG Number
    );
DEMANGLE_TAKE_NUMBER DemangleTakeNumber;

typedef
ULONG
(DEMANGLE_TEXT_LENGTH)(
    _In_z_ PCSZ Text
    );
DEMANGLE_TEXT_LENGTH DemangleTextLength;

typedef
ULONG
(DEMANGLE_MAKE)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_ ULONG Second,
    _In_ ULONG Third
    );
DEMANGLE_MAKE DemangleMake;

typedef
ULONG
(DEMANGLE_MAKE_ONE)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First
    );
DEMANGLE_MAKE_ONE DemangleMakeOne;

typedef
ULONG
(DEMANGLE_MAKE_TWO)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_ ULONG Second
    );
DEMANGLE_MAKE_TWO DemangleMakeTwo;

typedef
ULONG
(DEMANGLE_MAKE_TEXT)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_reads_(Length) PCSZ Text,
    _In_ ULONG Length
    );
DEMANGLE_MAKE_TEXT DemangleMakeText;

typedef
ULONG
(DEMANGLE_MAKE_LITERAL)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text
    );
DEMANGLE_MAKE_LITERAL DemangleMakeLiteral;

typedef
ULONG
(DEMANGLE_MAKE_PREFIXED)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text,
    _In_ ULONG First
    );
DEMANGLE_MAKE_PREFIXED DemangleMakePrefixed;

typedef
BOOLEAN
(DEMANGLE_PUSH)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_PUSH DemanglePush;

typedef
ULONG
(DEMANGLE_MAKE_LIST)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG FirstInStack
    );
DEMANGLE_MAKE_LIST DemangleMakeList;

typedef
ULONG
(DEMANGLE_ADD_SUBSTITUTION)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_ADD_SUBSTITUTION DemangleAddSubstitution;

typedef
BOOLEAN
(DEMANGLE_ADD_PARAMETER)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level,
    _In_ ULONG Node
    );
DEMANGLE_ADD_PARAMETER DemangleAddParameter;

typedef
ULONG
(DEMANGLE_FIND_PARAMETER)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level,
    _In_ ULONG Index
    );
DEMANGLE_FIND_PARAMETER DemangleFindParameter;

typedef
ULONG
(DEMANGLE_ENCODING)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_ENCODING DemangleEncoding;

typedef
ULONG
(DEMANGLE_SOURCE_NAME)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_SOURCE_NAME DemangleSourceName;

typedef
UCHAR
(DEMANGLE_QUALIFIERS)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_QUALIFIERS DemangleQualifiers;

typedef
ULONG
(DEMANGLE_SUBSTITUTION)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_SUBSTITUTION DemangleSubstitution;

typedef
ULONG
(DEMANGLE_PARAMETER)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_PARAMETER DemangleParameter;

typedef
BOOLEAN
(DEMANGLE_IS_DECLARATION)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_IS_DECLARATION DemangleIsDeclaration;

typedef
ULONG
(DEMANGLE_DECLARATION)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level
    );
DEMANGLE_DECLARATION DemangleDeclaration;

typedef
ULONG
(DEMANGLE_ARGUMENT)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_ARGUMENT DemangleArgument;

typedef
ULONG
(DEMANGLE_ARGUMENTS)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsOuter
    );
DEMANGLE_ARGUMENTS DemangleArguments;

typedef
ULONG
(DEMANGLE_UNNAMED_TYPE)(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );
DEMANGLE_UNNAMED_TYPE DemangleUnnamedType;

typedef
ULONG
(DEMANGLE_OPERATOR_NAME)(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );
DEMANGLE_OPERATOR_NAME DemangleOperatorName;

typedef
ULONG
(DEMANGLE_UNSCOPED_NAME)(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding,
    _Out_ PBOOLEAN IsSubstitution
    );
DEMANGLE_UNSCOPED_NAME DemangleUnscopedName;

typedef
ULONG
(DEMANGLE_NAME)(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );
DEMANGLE_NAME DemangleName;

typedef
ULONG
(DEMANGLE_DECLTYPE)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_DECLTYPE DemangleDecltype;

typedef
ULONG
(DEMANGLE_TYPE)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_TYPE DemangleType;

typedef
PCDEMANGLE_OPERATOR
(DEMANGLE_FIND_OPERATOR)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_FIND_OPERATOR DemangleFindOperator;

typedef
ULONG
(DEMANGLE_LITERAL_EXPRESSION)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_LITERAL_EXPRESSION DemangleLiteralExpression;

typedef
ULONG
(DEMANGLE_BRACED_EXPRESSION)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_BRACED_EXPRESSION DemangleBracedExpression;

typedef
ULONG
(DEMANGLE_EXPRESSION)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_EXPRESSION DemangleExpression;

typedef
ULONG
(DEMANGLE_CONSTRAINT)(
    _Inout_ PREADER_DEMANGLER Parser
    );
DEMANGLE_CONSTRAINT DemangleConstraint;

typedef
VOID
(DEMANGLE_SHOW_TEXT)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_reads_(Length) PCSZ Text,
    _In_ ULONG Length
    );
DEMANGLE_SHOW_TEXT DemangleShowText;

typedef
VOID
(DEMANGLE_SHOW)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text
    );
DEMANGLE_SHOW DemangleShow;

typedef
VOID
(DEMANGLE_PRINT_RIGHT)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_PRINT_RIGHT DemanglePrintRight;

typedef
VOID
(DEMANGLE_PRINT_LEFT)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_PRINT_LEFT DemanglePrintLeft;

typedef
VOID
(DEMANGLE_PRINT)(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );
DEMANGLE_PRINT DemanglePrint;

#endif // TRACER_READER_DEMANGLE_NODE_H

/*++

Module Name:

    Demangle.c

Abstract:

    The demangler's memory, nodes and lists, and the outermost of its parser:
    encodings and special names, as the Itanium C++ ABI's chapter on external
    names describes them.

--*/

#include "../../StringTable/StringTable.h"
#include "DemangleGrammar.h"
#include "DemangleParse.h"
#include "DemanglePrint.h"

//
// Room beyond what the name's length asks for.
//

#define DEMANGLE_MINIMUM_CAPACITY 1024

_Use_decl_annotations_
BOOLEAN
DemangleCount(
    PREADER_DEMANGLER Parser
    )
{
    if (Parser->Steps >= DEMANGLE_MAXIMUM_STEPS) {
        Parser->IsTooMuch = TRUE;
        return FALSE;
    }

    Parser->Steps += 1;
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
DemangleEnter(
    PREADER_DEMANGLER Parser
    )
{
    Parser->Depth += 1;
    if (Parser->Depth > DEMANGLE_MAXIMUM_PARSE_DEPTH) {
        Parser->IsTooMuch = TRUE;
    }

    return (BOOLEAN)(!Parser->IsTooMuch && DemangleCount(Parser));
}

_Use_decl_annotations_
ULONG
DemangleLeave(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    Parser->Depth -= 1;
    return Parser->IsTooMuch ? 0 : Node;
}

_Use_decl_annotations_
CHAR
DemangleLook(
    PREADER_DEMANGLER Parser,
    ULONG Offset
    )
{
    return (SIZE_T)(Parser->End - Parser->Next) > Offset ?
               Parser->Next[Offset] : 0;
}

_Use_decl_annotations_
BOOLEAN
DemangleTake(
    PREADER_DEMANGLER Parser,
    CHAR Character
    )
{
    if (Parser->Next < Parser->End && *Parser->Next == Character) {
        Parser->Next += 1;
        return TRUE;
    }

    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
DemangleTakeTwo(
    PREADER_DEMANGLER Parser,
    PCSZ Characters
    )
{
    if (Parser->End - Parser->Next >= 2 &&
        Parser->Next[0] == Characters[0] &&
        Parser->Next[1] == Characters[1]) {
        Parser->Next += 2;
        return TRUE;
    }

    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
DemangleIsDigit(
    CHAR Character
    )
{
    return (BOOLEAN)(Character >= '0' && Character <= '9');
}

_Use_decl_annotations_
ULONG
DemangleTakeDigits(
    PREADER_DEMANGLER Parser,
    BOOLEAN IsSigned,
    PCSZ *Digits
    )
{
    PCSZ First = Parser->Next;

    *Digits = First;
    if (IsSigned) {
        DemangleTake(Parser, 'n');
    }

    if (!DemangleIsDigit(DemangleLook(Parser, 0))) {
        Parser->Next = First;
        return 0;
    }

    while (DemangleIsDigit(DemangleLook(Parser, 0))) {
        Parser->Next += 1;
    }

    return (ULONG)(Parser->Next - First);
}

_Use_decl_annotations_
BOOLEAN
DemangleTakeNumber(
    PREADER_DEMANGLER Parser,
    PULONG Number
    )
{
    ULONG Value = 0;

    *Number = 0;
    if (!DemangleIsDigit(DemangleLook(Parser, 0))) {
        return FALSE;
    }

    while (DemangleIsDigit(DemangleLook(Parser, 0))) {
        if (Value > 0x1000000) {
            return FALSE;
        }
        Value = Value * 10 + (ULONG)(*Parser->Next - '0');
        Parser->Next += 1;
    }

    *Number = Value;
    return TRUE;
}

_Use_decl_annotations_
ULONG
DemangleTextLength(
    PCSZ Text
    )
{
    ULONG Length = 0;

    while (Text[Length] != 0) {
        Length += 1;
    }

    return Length;
}

_Use_decl_annotations_
ULONG
DemangleMake(
    PREADER_DEMANGLER Parser,
    DEMANGLE_KIND Kind,
    ULONG First,
    ULONG Second,
    ULONG Third
    )
{
    PDEMANGLE_NODE Node;

    if (Parser->NumberOfNodes >= Parser->CapacityOfNodes) {
        Parser->IsTooMuch = TRUE;
        return 0;
    }

    Node = &Parser->Nodes[Parser->NumberOfNodes];
    Node->Text = "";
    Node->TextLength = 0;
    Node->First = First;
    Node->Second = Second;
    Node->Third = Third;
    Node->Kind = (UCHAR)Kind;
    Node->Flags = 0;
    Node->Precedence = DemanglePrimary;
    Parser->NumberOfNodes += 1;
    return Parser->NumberOfNodes - 1;
}

_Use_decl_annotations_
ULONG
DemangleMakeOne(
    PREADER_DEMANGLER Parser,
    DEMANGLE_KIND Kind,
    ULONG First
    )
{
    return First == 0 ? 0 : DemangleMake(Parser, Kind, First, 0, 0);
}

_Use_decl_annotations_
ULONG
DemangleMakeTwo(
    PREADER_DEMANGLER Parser,
    DEMANGLE_KIND Kind,
    ULONG First,
    ULONG Second
    )
{
    return First == 0 || Second == 0 ?
               0 : DemangleMake(Parser, Kind, First, Second, 0);
}

_Use_decl_annotations_
ULONG
DemangleMakeText(
    PREADER_DEMANGLER Parser,
    DEMANGLE_KIND Kind,
    ULONG First,
    PCSZ Text,
    ULONG Length
    )
{
    ULONG Node = DemangleMake(Parser, Kind, First, 0, 0);

    if (Node != 0) {
        Parser->Nodes[Node].Text = Text;
        Parser->Nodes[Node].TextLength = Length;
    }

    return Node;
}

_Use_decl_annotations_
ULONG
DemangleMakeLiteral(
    PREADER_DEMANGLER Parser,
    PCSZ Text
    )
{
    return DemangleMakeText(Parser,
                            DemangleText,
                            0,
                            Text,
                            DemangleTextLength(Text));
}

_Use_decl_annotations_
ULONG
DemangleMakePrefixed(
    PREADER_DEMANGLER Parser,
    PCSZ Text,
    ULONG First
    )
{
    return First == 0 ? 0 : DemangleMakeText(Parser,
                                             DemanglePrefixed,
                                             First,
                                             Text,
                                             DemangleTextLength(Text));
}

_Use_decl_annotations_
BOOLEAN
DemanglePush(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    if (Node == 0) {
        return FALSE;
    }

    if (Parser->NumberInStack >= Parser->CapacityOfLists) {
        Parser->IsTooMuch = TRUE;
        return FALSE;
    }

    Parser->Stack[Parser->NumberInStack] = Node;
    Parser->NumberInStack += 1;
    return TRUE;
}

_Use_decl_annotations_
ULONG
DemangleMakeList(
    PREADER_DEMANGLER Parser,
    ULONG FirstInStack
    )
{
    ULONG Count = Parser->NumberInStack - FirstInStack;
    ULONG Index;
    ULONG List;

    if (Parser->CapacityOfLists - Parser->NumberInLists < Count) {
        Parser->IsTooMuch = TRUE;
        return 0;
    }

    List = DemangleMake(Parser,
                        DemangleList,
                        Parser->NumberInLists,
                        Count,
                        0);
    for (Index = 0; Index < Count; Index++) {
        Parser->Lists[Parser->NumberInLists + Index] =
            Parser->Stack[FirstInStack + Index];
    }

    Parser->NumberInLists += Count;
    Parser->NumberInStack = FirstInStack;
    return List;
}

_Use_decl_annotations_
ULONG
DemangleAddSubstitution(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    if (Node == 0) {
        return 0;
    }

    if (Parser->NumberOfSubstitutions >= Parser->CapacityOfOthers) {
        Parser->IsTooMuch = TRUE;
        return 0;
    }

    Parser->Substitutions[Parser->NumberOfSubstitutions] = Node;
    Parser->NumberOfSubstitutions += 1;
    return Node;
}

_Use_decl_annotations_
BOOLEAN
DemangleAddParameter(
    PREADER_DEMANGLER Parser,
    ULONG Level,
    ULONG Node
    )
{
    PDEMANGLE_LEVEL List = &Parser->Scope.Levels[Level];
    ULONG Index = Parser->NumberOfParameters;

    if (Index >= Parser->CapacityOfOthers) {
        Parser->IsTooMuch = TRUE;
        return FALSE;
    }

    Parser->Parameters[Index].Node = Node;
    Parser->Parameters[Index].Next = 0;
    Parser->NumberOfParameters += 1;

    if (List->Count == 0) {
        List->First = Index;
    } else {
        Parser->Parameters[List->Last].Next = Index;
    }

    List->Last = Index;
    List->Count += 1;
    return TRUE;
}

_Use_decl_annotations_
ULONG
DemangleFindParameter(
    PREADER_DEMANGLER Parser,
    ULONG Level,
    ULONG Index
    )
{
    ULONG Entry;

    if (Level >= Parser->Scope.NumberOfLevels ||
        Index >= Parser->Scope.Levels[Level].Count) {
        return 0;
    }

    Entry = Parser->Scope.Levels[Level].First;
    while (Index != 0 && DemangleCount(Parser)) {
        Entry = Parser->Parameters[Entry].Next;
        Index -= 1;
    }

    return Index == 0 ? Parser->Parameters[Entry].Node : 0;
}

//
// Fills in the template parameters that were used before the arguments that
// they stand for.
// Returns FALSE if there is none for one of them.
//

static
BOOLEAN
DemangleResolveForwards(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG FirstForward
    )
{
    ULONG Index;
    ULONG Node;
    ULONG Target;

    for (Index = FirstForward; Index < Parser->NumberOfForwards; Index++) {
        Node = Parser->Forwards[Index];
        Target = DemangleFindParameter(Parser, 0, Parser->Nodes[Node].Second);
        if (Target == 0) {
            return FALSE;
        }
        Parser->Nodes[Node].First = Target;
    }

    Parser->NumberOfForwards = FirstForward;
    return TRUE;
}

//
// Takes the offset of a thunk off the name.
// Returns FALSE if there is none.
//

static
BOOLEAN
DemangleTakeOffset(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;

    if (DemangleTake(Parser, 'h')) {
        return (BOOLEAN)(DemangleTakeDigits(Parser, TRUE, &Digits) != 0 &&
                         DemangleTake(Parser, '_'));
    }

    return (BOOLEAN)(DemangleTake(Parser, 'v') &&
                     DemangleTakeDigits(Parser, TRUE, &Digits) != 0 &&
                     DemangleTake(Parser, '_') &&
                     DemangleTakeDigits(Parser, TRUE, &Digits) != 0 &&
                     DemangleTake(Parser, '_'));
}

//
// Parses the rest of a construction vtable's name.
// Returns the node, or 0.
//

static
ULONG
DemangleConstructionTable(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG First;
    ULONG Second;

    First = DemangleType(Parser);
    if (First == 0 ||
        DemangleTakeDigits(Parser, TRUE, &Digits) == 0 ||
        !DemangleTake(Parser, '_')) {
        return 0;
    }

    Second = DemangleType(Parser);
    return DemangleMakeTwo(Parser, DemangleConstruction, Second, First);
}

//
// Parses the rest of a reference temporary's name.
// Returns the node, or 0.
//

static
ULONG
DemangleTemporary(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Node = DemangleName(Parser, NULL);

    while (DemangleIsDigit(DemangleLook(Parser, 0)) ||
           (DemangleLook(Parser, 0) >= 'A' &&
            DemangleLook(Parser, 0) <= 'Z')) {
        Parser->Next += 1;
    }

    if (!DemangleTake(Parser, '_') && Parser->Next != Parser->End) {
        return 0;
    }

    return DemangleMakePrefixed(Parser, "reference temporary for ", Node);
}

//
// Parses what a compiler makes by itself: tables, thunks, guards.
// Returns the node, or 0.
//

static
ULONG
DemangleSpecialName(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    static const struct {
        CHAR Code[2];
        CHAR What;                  // type, name, encoding
        PCSZ Text;
    } Specials[] = {
        { { 'T', 'V' }, 't', "vtable for " },
        { { 'T', 'T' }, 't', "VTT for " },
        { { 'T', 'I' }, 't', "typeinfo for " },
        { { 'T', 'S' }, 't', "typeinfo name for " },
        { { 'T', 'A' }, 'a', "template parameter object for " },
        { { 'T', 'W' }, 'n', "thread-local wrapper routine for " },
        { { 'T', 'H' }, 'n', "thread-local initialization routine for " },
        { { 'G', 'V' }, 'n', "guard variable for " }
    };
    ULONG Index;
    BOOLEAN IsVirtual;

    for (Index = 0; Index < RTL_NUMBER_OF(Specials); Index++) {
        if (!DemangleTakeTwo(Parser, Specials[Index].Code)) {
            continue;
        }
        return DemangleMakePrefixed(
            Parser,
            Specials[Index].Text,
            Specials[Index].What == 't' ? DemangleType(Parser) :
            Specials[Index].What == 'a' ? DemangleArgument(Parser) :
                                          DemangleName(Parser, NULL));
    }

    if (DemangleTakeTwo(Parser, "TC")) {
        return DemangleConstructionTable(Parser);
    }

    if (DemangleTakeTwo(Parser, "GR")) {
        return DemangleTemporary(Parser);
    }

    if (DemangleTakeTwo(Parser, "Tc")) {
        if (!DemangleTakeOffset(Parser) || !DemangleTakeOffset(Parser)) {
            return 0;
        }
        return DemangleMakePrefixed(Parser,
                                    "covariant return thunk to ",
                                    DemangleEncoding(Parser));
    }

    if (DemangleLook(Parser, 0) != 'T') {
        return 0;
    }

    IsVirtual = (BOOLEAN)(DemangleLook(Parser, 1) == 'v');
    Parser->Next += 1;
    if (!DemangleTakeOffset(Parser)) {
        return 0;
    }

    return DemangleMakePrefixed(Parser,
                                IsVirtual ? "virtual thunk to " :
                                            "non-virtual thunk to ",
                                DemangleEncoding(Parser));
}

//
// Says whether an encoding ends here.
//

static
BOOLEAN
DemangleIsEncodingOver(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    CHAR Character = DemangleLook(Parser, 0);

    return (BOOLEAN)(Parser->Next == Parser->End || Character == 'E' ||
                     Character == '.' || Character == '_');
}

//
// Parses the attribute enable_if, if it is there.
// Node: the encoding.
// Returns the node, or 0.
//

static
ULONG
DemangleEnableIfAttribute(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    static const CHAR Code[] = "Ua9enable_ifI";
    ULONG First;
    ULONG Index;

    for (Index = 0; Index < sizeof(Code) - 1; Index++) {
        if (DemangleLook(Parser, Index) != Code[Index]) {
            return DemangleMakeOne(Parser, DemangleText, Node);
        }
    }

    Parser->Next += sizeof(Code) - 1;
    First = Parser->NumberInStack;
    while (!DemangleTake(Parser, 'E')) {
        if (!DemanglePush(Parser, DemangleArgument(Parser))) {
            return 0;
        }
    }

    return DemangleMakeTwo(Parser,
                           DemangleEnableIf,
                           Node,
                           DemangleMakeList(Parser, First));
}

//
// Parses a function's or a variable's name and type.
// Returns the node, or 0.
//

static
ULONG
DemangleSignature(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    DEMANGLE_NOTES Encoding = { FALSE, FALSE, 0, 0, 0 };
    ULONG Attribute;
    ULONG First;
    ULONG List;
    ULONG Name;
    ULONG Node;
    ULONG Return;

    Encoding.FirstForward = Parser->NumberOfForwards;
    Name = DemangleName(Parser, &Encoding);
    if (Name == 0 ||
        !DemangleResolveForwards(Parser, Encoding.FirstForward)) {
        return 0;
    }

    if (DemangleIsEncodingOver(Parser)) {
        return Name;
    }

    Attribute = DemangleEnableIfAttribute(Parser, Name);
    if (Attribute == 0) {
        return 0;
    }

    Return = 0;
    if (!Encoding.HasNoReturnType && Encoding.EndsWithArguments) {
        Return = DemangleType(Parser);
        if (Return == 0) {
            return 0;
        }
    }

    First = Parser->NumberInStack;
    if (!DemangleTake(Parser, 'v')) {
        do {
            if (!DemanglePush(Parser, DemangleType(Parser))) {
                return 0;
            }
        } while (!DemangleIsEncodingOver(Parser) &&
                 DemangleLook(Parser, 0) != 'Q');
    }

    List = DemangleMakeList(Parser, First);
    if (List == 0) {
        return 0;
    }

    Node = DemangleMake(Parser, DemangleEncoded, Return, Name, List);
    if (Node == 0) {
        return 0;
    }

    Parser->Nodes[Node].Flags = Encoding.Qualifiers;
    if (Parser->Nodes[Attribute].Kind == DemangleEnableIf) {
        Parser->Nodes[Attribute].First = Node;
        Node = Attribute;
    }

    if (DemangleTake(Parser, 'Q')) {
        return DemangleMakeTwo(Parser,
                               DemangleRequires,
                               Node,
                               DemangleConstraint(Parser));
    }

    return Node;
}

_Use_decl_annotations_
ULONG
DemangleEncoding(
    PREADER_DEMANGLER Parser
    )
{
    DEMANGLE_SCOPE Scope;
    ULONG Node;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    //
    // Its template parameters are its own.
    //

    Scope = Parser->Scope;
    Parser->Scope.NumberOfLevels = 0;

    if (DemangleLook(Parser, 0) == 'G' || DemangleLook(Parser, 0) == 'T') {
        Node = DemangleSpecialName(Parser);
    } else {
        Node = DemangleSignature(Parser);
    }

    Parser->Scope = Scope;
    return DemangleLeave(Parser, Node);
}

//
// Makes room for a name. Every character makes at most a few nodes, so what a
// name can need grows with its length.
// Length: the name's length in bytes.
// Returns FALSE without memory.
//

static
BOOLEAN
DemangleReserve(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Length
    )
{
    PCALLOCATOR Allocator = Parser->Allocator;
    ULONG Capacity = DEMANGLE_MINIMUM_CAPACITY;
    PUCHAR Memory;

    if (Parser->Text == NULL) {
        Parser->Text = (PCHAR)Allocator->Allocate(
            Allocator->Context,
            READER_DEMANGLE_MAXIMUM_TEXT);
        if (Parser->Text == NULL) {
            return FALSE;
        }
    }

    if (Parser->Memory != NULL && Length <= Parser->CapacityOfName) {
        return TRUE;
    }

    while (Capacity < Length) {
        Capacity *= 2;
    }

    Allocator->Free(Allocator->Context, Parser->Memory);
    Parser->CapacityOfName = Capacity;
    Parser->CapacityOfNodes = 3 * Capacity;
    Parser->CapacityOfLists = 2 * Capacity;
    Parser->CapacityOfOthers = Capacity + 16;
    Parser->Memory = Allocator->Allocate(
        Allocator->Context,
        Parser->CapacityOfNodes * sizeof(DEMANGLE_NODE) +
            (2 * (SIZE_T)Parser->CapacityOfLists +
             2 * (SIZE_T)Parser->CapacityOfOthers) * sizeof(ULONG) +
            Parser->CapacityOfOthers * sizeof(DEMANGLE_BOUND));
    if (Parser->Memory == NULL) {
        return FALSE;
    }

    Memory = (PUCHAR)Parser->Memory;
    Parser->Nodes = (PDEMANGLE_NODE)Memory;
    Memory += Parser->CapacityOfNodes * sizeof(DEMANGLE_NODE);
    Parser->Parameters = (PDEMANGLE_BOUND)Memory;
    Memory += Parser->CapacityOfOthers * sizeof(DEMANGLE_BOUND);
    Parser->Lists = (PULONG)Memory;
    Parser->Stack = Parser->Lists + Parser->CapacityOfLists;
    Parser->Substitutions = Parser->Stack + Parser->CapacityOfLists;
    Parser->Forwards = Parser->Substitutions + Parser->CapacityOfOthers;
    return TRUE;
}

//
// Forgets what was made of another name.
// Length: its length in bytes.
//

static
VOID
DemangleBegin(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_reads_(Length) PCSZ Name,
    _In_ ULONG Length
    )
{
    Parser->Next = Name;
    Parser->End = Name + Length;
    Parser->NumberOfNodes = 1;
    Parser->NumberInLists = 0;
    Parser->NumberInStack = 0;
    Parser->NumberOfSubstitutions = 0;
    Parser->NumberOfForwards = 0;
    Parser->NumberOfParameters = 1;
    Parser->Depth = 0;
    Parser->Steps = 0;
    Parser->LambdaLevel = DEMANGLE_NONE;
    Parser->SyntheticTypes = 0;
    Parser->SyntheticValues = 0;
    Parser->SyntheticTemplates = 0;
    Parser->IsArgumentsExpected = TRUE;
    Parser->IsForwardAllowed = FALSE;
    Parser->IsConstraint = FALSE;
    Parser->IsTooMuch = FALSE;
    Parser->Scope.NumberOfLevels = 0;
    Parser->Length = 0;
    Parser->PackIndex = DEMANGLE_NONE;
    Parser->PackCount = DEMANGLE_NONE;
    Parser->NestingOfGreater = 1;
}

//
// Says whether a character is in the word that begins a suffix.
//

static
BOOLEAN
DemangleIsSuffixCharacter(
    _In_ CHAR Character
    )
{
    return (BOOLEAN)((Character >= 'a' && Character <= 'z') ||
                     Character == '_');
}

//
// Shows what a compiler appends to the name of a function that it makes out of
// another one: ".constprop.0", ".cold". A word and the numbers behind it are
// one suffix.
//

static
VOID
DemangleShowSuffixes(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Next = Parser->Next;
    PCSZ First;

    while (Next < Parser->End) {

        First = Next;
        Next += 1;
        while (Next < Parser->End && DemangleIsSuffixCharacter(*Next)) {
            Next += 1;
        }

        if (Next == First + 1 && Next < Parser->End &&
            DemangleIsDigit(*Next)) {
            while (Next < Parser->End && DemangleIsDigit(*Next)) {
                Next += 1;
            }
        }

        while (Parser->End - Next >= 2 && Next[0] == '.' &&
               DemangleIsDigit(Next[1])) {
            Next += 1;
            while (Next < Parser->End && DemangleIsDigit(*Next)) {
                Next += 1;
            }
        }

        if (Next < Parser->End && *Next != '.') {
            Next = Parser->End;
        }

        DemangleShow(Parser, " [clone ");
        DemangleShowText(Parser, First, (ULONG)(Next - First));
        DemangleShow(Parser, "]");
    }

    Parser->Next = Parser->End;
}

_Use_decl_annotations_
VOID
DemangleInitializeDemangler(
    PREADER_DEMANGLER Demangler,
    PCALLOCATOR Allocator
    )
{
    static const READER_DEMANGLER Empty = { 0 };

    *Demangler = Empty;
    Demangler->Allocator = Allocator;
}

_Use_decl_annotations_
NTSTATUS
DemangleSymbol(
    PREADER_DEMANGLER Demangler,
    PCSZ Name,
    ULONG LengthInBytes,
    PCSZ *Text,
    PULONG TextLengthInBytes
    )
{
    ULONG Node;
    ULONG Prefix;

    *Text = NULL;
    *TextLengthInBytes = 0;

    //
    // One more underscore in front is another system's custom.
    //

    Prefix = 0;
    while (Prefix < LengthInBytes && Prefix < 2 && Name[Prefix] == '_') {
        Prefix += 1;
    }

    if (Prefix == 0 || Prefix == LengthInBytes || Name[Prefix] != 'Z' ||
        LengthInBytes > READER_DEMANGLE_MAXIMUM_NAME) {
        return STATUS_NOT_FOUND;
    }

    Prefix += 1;
    if (!DemangleReserve(Demangler, LengthInBytes)) {
        return STATUS_NO_MEMORY;
    }

    DemangleBegin(Demangler, Name + Prefix, LengthInBytes - Prefix);
    Node = DemangleEncoding(Demangler);
    if (Node == 0 || Demangler->IsTooMuch ||
        (Demangler->Next != Demangler->End && *Demangler->Next != '.')) {
        return STATUS_NOT_FOUND;
    }

    Demangler->Depth = 0;
    Demangler->Steps = 0;
    DemanglePrint(Demangler, Node);
    DemangleShowSuffixes(Demangler);
    if (Demangler->IsTooMuch || Demangler->Length == 0) {
        return STATUS_NOT_FOUND;
    }

    *Text = Demangler->Text;
    *TextLengthInBytes = Demangler->Length;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
DemangleRundownDemangler(
    PREADER_DEMANGLER Demangler
    )
{
    PCALLOCATOR Allocator = Demangler->Allocator;

    if (Allocator != NULL) {
        Allocator->Free(Allocator->Context, Demangler->Memory);
        Allocator->Free(Allocator->Context, Demangler->Text);
        Demangler->Memory = NULL;
        Demangler->Text = NULL;
    }
}

/*++

Module Name:

    FunctionShorten.c

Abstract:

    The parts of a function's readable name, and names that are short.

    A name may be anything: brackets are counted, not parsed, and what does not
    come out even is left as it is.

--*/

#include "FunctionShorten.h"

//
// The state of a walk over a name.
//

typedef struct _READER_NAME_WALK {
    const CHAR *Name;
    ULONG LengthInBytes;
    ULONG Index;
    ULONG Depth;                    // brackets that are open, of any kind,
    ULONG Quotes;                   // and Microsoft's `quotes'
} READER_NAME_WALK;
typedef READER_NAME_WALK *PREADER_NAME_WALK;


//
// Tells whether a word stands at a place in a name.
// Returns whether it does.
//

static
BOOLEAN
FunctionIsWordAt(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index,
    _In_z_ PCSZ Word
    )
{
    ULONG Length = RtlLengthOfString(Word);

    return Index <= LengthInBytes && LengthInBytes - Index >= Length &&
           RtlAreBytesEqual(Name + Index, Word, Length);
}


_Use_decl_annotations_
ULONG
FunctionSkipReturnType(
    const CHAR *Name,
    ULONG LengthInBytes
    )
{
    ULONG Start = 0;
    ULONG Depth = 0;
    ULONG Quotes = 0;
    ULONG Index = 0;

    while (Index < LengthInBytes) {

        switch (Name[Index]) {

        case '(':
            if (Depth == 0 &&
                !FunctionIsWordAt(Name, LengthInBytes, Index, "(anonymous ") &&
                (Index < 8 ||
                 !RtlAreBytesEqual(Name + Index - 8, "decltype", 8))) {
                return Start;           // the parameters
            }

            Depth += 1;
            break;

        case '`':
            Quotes += 1;
            Depth += 1;
            break;

        case '\'':
            if (Quotes != 0) {
                Quotes -= 1;
                Depth -= Depth != 0;
            }
            break;

        case '<':
        case '[':
        case '{':
            Depth += 1;
            break;

        case '>':
            if (Index != 0 && Name[Index - 1] == '-') {
                break;
            }

            // Fall through.

        case ')':
        case ']':
        case '}':
            if (Depth != 0) {
                Depth -= 1;
            }
            break;

        case ' ':
            if (Depth == 0) {
                Start = Index + 1;
            }
            break;

        case 'o':

            //
            // What follows may be any sign, or a type.
            //

            if (Depth == 0 &&
                FunctionIsWordAt(Name, LengthInBytes, Index, "operator") &&
                (Index == 0 || Name[Index - 1] == ':' ||
                 Name[Index - 1] == ' ')) {
                return Start;
            }
            break;

        default:
            break;
        }

        Index += 1;
    }

    return 0;
}


static
BOOLEAN
FunctionIsIdentifier(
    _In_ CHAR Letter
    )
{
    return (Letter >= 'a' && Letter <= 'z') ||
           (Letter >= 'A' && Letter <= 'Z') ||
           (Letter >= '0' && Letter <= '9') || Letter == '_' ||
           Letter == '$' || (UCHAR)Letter >= 0x80;
}


//
// Finds the end of an operator's sign.
// Index: where "operator" may begin.
// Returns the index behind the sign, or Index: there is no operator.
//

static
ULONG
FunctionSkipOperator(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index
    )
{
    static const PCSZ Signs[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=",
        "<", ">"
    };
    ULONG End = Index + 8;
    ULONG Sign;

    if (!FunctionIsWordAt(Name, LengthInBytes, Index, "operator") ||
        (Index != 0 && FunctionIsIdentifier(Name[Index - 1])) ||
        (End < LengthInBytes && FunctionIsIdentifier(Name[End]))) {
        return Index;
    }

    for (Sign = 0; Sign < RTL_NUMBER_OF(Signs); Sign++) {
        if (FunctionIsWordAt(Name, LengthInBytes, End, Signs[Sign])) {
            return End + RtlLengthOfString(Signs[Sign]);
        }
    }

    return End;
}


//
// Goes one character on, or over an operator's sign.
//

static
VOID
FunctionStep(
    _Inout_ PREADER_NAME_WALK Walk
    )
{
    const CHAR *Name = Walk->Name;
    ULONG Index = Walk->Index;

    switch (Name[Index]) {

    case '`':
        Walk->Quotes += 1;
        Walk->Depth += 1;
        break;

    case '\'':
        if (Walk->Quotes != 0) {
            Walk->Quotes -= 1;
            Walk->Depth -= Walk->Depth != 0;
        }
        break;

    case '(':
    case '<':
    case '[':
    case '{':
        Walk->Depth += 1;
        break;

    case '>':
        if (Index != 0 && Name[Index - 1] == '-') {
            break;
        }

        // Fall through.

    case ')':
    case ']':
    case '}':
        Walk->Depth -= Walk->Depth != 0;
        break;

    case 'o':
        Walk->Index = FunctionSkipOperator(Name, Walk->LengthInBytes, Index);
        if (Walk->Index != Index) {
            return;
        }
        break;

    default:
        break;
    }

    Walk->Index += 1;
}


//
// Finds the end of what a bracket opens.
// Index: the bracket.
// Returns the index behind the one that closes it, or 0: there is none, or one
// of another kind.
//

static
ULONG
FunctionSkipBrackets(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index
    )
{
    READER_NAME_WALK Walk;

    RtlZeroBytes(&Walk, sizeof(Walk));
    Walk.Name = Name;
    Walk.LengthInBytes = LengthInBytes;
    Walk.Index = Index;
    do {

        if (Walk.Index >= LengthInBytes) {
            return 0;
        }

        FunctionStep(&Walk);

    } while (Walk.Depth != 0);

    return Name[Walk.Index - 1] == (Name[Index] == '(' ? ')' : '>')
               ? Walk.Index
               : 0;
}


//
// Finds the end of the qualifiers behind parameters.
//

static
ULONG
FunctionSkipQualifiers(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Index
    )
{
    static const PCSZ Words[] = {
        " const", " volatile", " noexcept", " &&", " &", "const", "volatile"
    };
    ULONG Word;

    for (Word = 0; Word < RTL_NUMBER_OF(Words); Word++) {
        if (FunctionIsWordAt(Name, LengthInBytes, Index, Words[Word])) {
            Index += RtlLengthOfString(Words[Word]);
            Word = (ULONG)-1;
        }
    }

    return Index;
}


_Use_decl_annotations_
VOID
FunctionFindParts(
    const CHAR *Name,
    ULONG LengthInBytes,
    PREADER_NAME_PARTS Parts
    )
{
    READER_NAME_WALK Walk;
    ULONG Behind;

    Parts->Start = FunctionSkipReturnType(Name, LengthInBytes);
    Parts->End = LengthInBytes;
    Parts->Tail = LengthInBytes;
    RtlZeroBytes(&Walk, sizeof(Walk));
    Walk.Name = Name;
    Walk.LengthInBytes = LengthInBytes;
    Walk.Index = Parts->Start;
    while (Walk.Index < LengthInBytes) {

        if (Walk.Depth == 0 && Name[Walk.Index] == ' ' &&
            FunctionIsWordAt(Name, LengthInBytes, Walk.Index, " [") &&
            Walk.Index != Parts->Start) {
            Parts->End = Walk.Index;
            Parts->Tail = Walk.Index;
            return;
        }

        if (Walk.Depth != 0 || Name[Walk.Index] != '(' ||
            FunctionIsWordAt(Name,
                             LengthInBytes,
                             Walk.Index,
                             "(anonymous ") ||
            (Walk.Index >= 8 &&
             RtlAreBytesEqual(Name + Walk.Index - 8, "decltype", 8))) {
            FunctionStep(&Walk);
            continue;
        }

        Behind = FunctionSkipBrackets(Name, LengthInBytes, Walk.Index);
        if (Behind == 0 || Walk.Index == Parts->Start) {
            Parts->Start = 0;
            return;
        }

        //
        // What is in a function has the function's parameters in its name.
        //

        Parts->End = Walk.Index;
        Parts->Tail = Behind;
        Behind = FunctionSkipQualifiers(Name, LengthInBytes, Behind);
        if (!FunctionIsWordAt(Name, LengthInBytes, Behind, "::")) {
            return;
        }

        Parts->End = LengthInBytes;
        Parts->Tail = LengthInBytes;
        Walk.Index = Behind;
    }
}


//
// A short name that is being written.
//

typedef struct _READER_SHORT_NAME {
    const CHAR *Name;               // the full one
    PCHAR Buffer;
    ULONG CapacityInBytes;
    ULONG LengthInBytes;
    BOOLEAN IsFull;                 // there was no room
} READER_SHORT_NAME;
typedef READER_SHORT_NAME *PREADER_SHORT_NAME;


static
VOID
FunctionPutShort(
    _Inout_ PREADER_SHORT_NAME Short,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    if (LengthInBytes > Short->CapacityInBytes - Short->LengthInBytes) {
        Short->IsFull = TRUE;
        return;
    }

    RtlCopyBytes(Short->Buffer + Short->LengthInBytes, Text, LengthInBytes);
    Short->LengthInBytes += LengthInBytes;
}


//
// Goes over a word, if it stands at a place.
//

static
BOOLEAN
FunctionSkipWord(
    _In_reads_bytes_(End) const CHAR *Name,
    _In_ ULONG End,
    _Inout_ PULONG Index,
    _In_z_ PCSZ Word
    )
{
    if (!FunctionIsWordAt(Name, End, *Index, Word)) {
        return FALSE;
    }

    *Index += RtlLengthOfString(Word);
    return TRUE;
}


//
// Recognises std::basic_string with what belongs to it.
// Index: where "std::" may stand; moved behind it all.
// Returns the name that it has instead, or NULL.
//

_Ret_maybenull_
static
PCSZ
FunctionTakeString(
    _In_reads_bytes_(End) const CHAR *Name,
    _In_ ULONG End,
    _Inout_ PULONG Index
    )
{
    static const struct {
        PCSZ Character;
        PCSZ Name;
    } Strings[] = {
        { "char8_t", "std::u8string" },
        { "char16_t", "std::u16string" },
        { "char32_t", "std::u32string" },
        { "wchar_t", "std::wstring" },
        { "char", "std::string" }
    };
    ULONG Place = *Index;
    ULONG Bracket;
    ULONG Kind;

    if (!FunctionSkipWord(Name, End, &Place, "std::")) {
        return NULL;
    }

    if (!FunctionSkipWord(Name, End, &Place, "__cxx11::")) {
        FunctionSkipWord(Name, End, &Place, "__1::");
    }

    if (!FunctionSkipWord(Name, End, &Place, "basic_string<")) {
        return NULL;
    }

    Bracket = Place - 1;
    for (Kind = 0; Kind < RTL_NUMBER_OF(Strings); Kind++) {

        if (!FunctionSkipWord(Name, End, &Place, Strings[Kind].Character)) {
            continue;
        }

        if (Place >= End || (Name[Place] != ',' && Name[Place] != '>')) {
            return NULL;
        }

        Place = FunctionSkipBrackets(Name, End, Bracket);
        if (Place == 0) {
            return NULL;
        }

        *Index = Place;
        return Strings[Kind].Name;
    }

    return NULL;
}


//
// Goes over what a name is read better without: an inline namespace of the
// library, or the word by which Microsoft's names say what a type is.
//

static
BOOLEAN
FunctionSkipNoise(
    _In_reads_bytes_(End) const CHAR *Name,
    _In_ ULONG End,
    _Inout_ PULONG Index
    )
{
    if (*Index >= 5 && FunctionIsWordAt(Name, End, *Index - 5, "std::") &&
        (FunctionSkipWord(Name, End, Index, "__cxx11::") ||
         FunctionSkipWord(Name, End, Index, "__1::"))) {
        return TRUE;
    }

    return FunctionSkipWord(Name, End, Index, "class ") ||
           FunctionSkipWord(Name, End, Index, "struct ") ||
           FunctionSkipWord(Name, End, Index, "union ") ||
           FunctionSkipWord(Name, End, Index, "enum ");
}


//
// Writes a part of a name.
// Index, End: the part.
//

static
VOID
FunctionPutPart(
    _Inout_ PREADER_SHORT_NAME Short,
    _In_ ULONG Index,
    _In_ ULONG End
    )
{
    const CHAR *Name = Short->Name;
    BOOLEAN IsEven = TRUE;              // so far, a bracket has its partner
    ULONG OperatorEnd = 0;              // behind the last operator's sign
    ULONG Next;
    PCSZ String;

    while (Index < End) {

        //
        // Words begin where no identifier goes on.
        //

        if (IsEven && (Index == 0 || !FunctionIsIdentifier(Name[Index - 1]))) {

            Next = FunctionSkipOperator(Name, End, Index);
            if (Next != Index) {
                FunctionPutShort(Short, Name + Index, Next - Index);
                Index = Next;
                OperatorEnd = Next;
                continue;
            }

            if (FunctionIsWordAt(Name, End, Index, "std::")) {
                String = FunctionTakeString(Name, End, &Index);
                if (String != NULL) {
                    FunctionPutShort(Short,
                                     String,
                                     RtlLengthOfString(String));
                    continue;
                }
            }

            if (FunctionSkipNoise(Name, End, &Index)) {
                continue;
            }
        }

        //
        // <lambda_1> is a name; what follows a name are arguments.
        //

        if (IsEven && Name[Index] == '<' && Index != 0 &&
            (FunctionIsIdentifier(Name[Index - 1]) ||
             Index == OperatorEnd ||
             (Index == OperatorEnd + 1 && Name[Index - 1] == ' '))) {

            Next = FunctionSkipBrackets(Name, End, Index);
            if (Next != 0) {
                FunctionPutShort(Short, "<...>", 5);
                Index = Next;
                continue;
            }

            IsEven = FALSE;
        }

        FunctionPutShort(Short, Name + Index, 1);
        Index += 1;
    }
}


_Use_decl_annotations_
ULONG
FunctionShortenName(
    const CHAR *Name,
    ULONG LengthInBytes,
    BOOLEAN HasParameters,
    PCHAR Buffer,
    ULONG CapacityInBytes
    )
{
    READER_NAME_PARTS Parts;
    READER_SHORT_NAME Short;

    RtlZeroBytes(&Short, sizeof(Short));
    Short.Name = Name;
    Short.Buffer = Buffer;
    Short.CapacityInBytes = CapacityInBytes;
    FunctionFindParts(Name, LengthInBytes, &Parts);
    FunctionPutPart(&Short, Parts.Start, Parts.End);
    if (HasParameters) {
        FunctionPutPart(&Short, Parts.End, Parts.Tail);
    } else if (Parts.Tail > Parts.End) {
        Parts.Tail = FunctionSkipQualifiers(Name, LengthInBytes, Parts.Tail);
    }

    FunctionPutShort(&Short, Name + Parts.Tail, LengthInBytes - Parts.Tail);
    return Short.IsFull ? 0 : Short.LengthInBytes;
}


_Use_decl_annotations_
ULONG
FunctionCutRemark(
    const CHAR *Name,
    ULONG LengthInBytes
    )
{
    ULONG Index = LengthInBytes;

    if (LengthInBytes == 0 || Name[LengthInBytes - 1] != ']') {
        return LengthInBytes;
    }

    while (Index > 1 && Name[Index - 1] != '[') {
        Index -= 1;
    }

    return Index > 2 && Name[Index - 2] == ' ' ? Index - 2 : LengthInBytes;
}


_Use_decl_annotations_
BOOLEAN
FunctionHasParameters(
    PCSZ Name,
    ULONG LengthInBytes
    )
{
    static const CHAR Operator[] = "operator";
    ULONG Depth = 0;
    ULONG End = LengthInBytes;
    ULONG Index;

    //
    // Suffixes: [clone .part.0], [abi:cxx11].
    //

    while (End > 0 && Name[End - 1] == ']') {
        while (End > 0 && Name[End - 1] != '[') {
            End -= 1;
        }
        End -= End > 0;
        while (End > 0 && Name[End - 1] == ' ') {
            End -= 1;
        }
    }

    //
    // const, volatile, noexcept, & and &&.
    //

    while (End > 0 &&
           ((Name[End - 1] >= 'a' && Name[End - 1] <= 'z') ||
            Name[End - 1] == '&' ||
            Name[End - 1] == ' ')) {
        End -= 1;
    }

    if (End == 0 || Name[End - 1] != ')') {
        return FALSE;
    }

    for (Index = End; Index > 0; Index -= 1) {
        if (Name[Index - 1] == ')') {
            Depth += 1;
        } else if (Name[Index - 1] == '(') {
            Depth -= 1;
            if (Depth == 0) {
                break;
            }
        }
    }

    if (Index < 2) {
        return FALSE;
    }

    Index -= 1;
    return (BOOLEAN)(End - Index != 2 ||
                     Index < sizeof(Operator) - 1 ||
                     !RtlAreBytesEqual(Name + Index - (sizeof(Operator) - 1),
                                       Operator,
                                       sizeof(Operator) - 1));
}

/*++

Module Name:

    FunctionShorten.c

Abstract:

    The parts of a function's readable name.

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
// Returns the index behind the one that closes it, or 0: there is none.
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

    return Walk.Index;
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

/*++

Module Name:

    FunctionPattern.c

Abstract:

    Patterns of functions' names.  Each of them becomes a program of steps, of
    which all that can be reached are gone through side by side, character by
    character: no pattern makes a name take longer than the product of their
    lengths.

--*/

#include "FunctionPattern.h"

#define READER_MAXIMUM_GROUPS 32u       // in each other
#define READER_LAST_CODE_POINT 0x10FFFFu

#define READER_ELLIPSIS 0x2026u

typedef enum _READER_STEP_KIND {
    ReaderStepCharacter = 0,        // First is the code point
    ReaderStepAny,
    ReaderStepSet,                  // Second ranges from First on
    ReaderStepOther,                // none of these
    ReaderStepSplit,                // First and Second are distances
    ReaderStepJump,                 // First is the distance
    ReaderStepBegin,
    ReaderStepEnd,
    ReaderStepMatch
} READER_STEP_KIND;

typedef struct _READER_STEP {
    LONG First;
    LONG Second;
    READER_STEP_KIND Kind;
} READER_STEP;
typedef READER_STEP *PREADER_STEP;
typedef const READER_STEP *PCREADER_STEP;

typedef struct _READER_RANGE_OF_CHARACTERS {
    ULONG First;
    ULONG Last;
} READER_RANGE_OF_CHARACTERS;
typedef READER_RANGE_OF_CHARACTERS *PREADER_RANGE_OF_CHARACTERS;

//
// A pattern of N bytes has at most two steps for each of them and some more,
// and three ranges for two.  Marks, Current, Next and Stack have an element a
// step.
//

typedef struct _READER_PATTERN {
    PCALLOCATOR Allocator;
    PREADER_STEP Steps;
    PREADER_RANGE_OF_CHARACTERS Ranges;
    PULONG Marks;                   // the round in which a step was reached
    PUSHORT Current;
    PUSHORT Next;
    PUSHORT Stack;
    ULONG NumberOfSteps;
    ULONG NumberOfRanges;
    ULONG Round;
    BOOLEAN IsText;                 // found in the whole name or nowhere
    BOOLEAN IsShown;                // compared with short names, too
} READER_PATTERN;

//
// While an expression is parsed.
//

typedef struct _READER_PATTERN_PARSER {
    PREADER_PATTERN Pattern;
    const CHAR *Text;
    ULONG LengthInBytes;
    ULONG Index;
    ULONG ProblemIndex;
    PCSZ Problem;                   // NULL: none
} READER_PATTERN_PARSER;
typedef READER_PATTERN_PARSER *PREADER_PATTERN_PARSER;

//
// A group that is open while its parts are parsed.
//

typedef struct _READER_PATTERN_GROUP {
    ULONG Start;                    // its first step
    ULONG Branch;                   // the first of the alternative
    ULONG Atom;                     // the first of what may be repeated
    LONG Jumps;                     // the last of those to the group's end, of
                                    // which each has the one before; -1: none
    ULONG Index;                    // of its bracket
    BOOLEAN HasAtom;
} READER_PATTERN_GROUP;
typedef READER_PATTERN_GROUP *PREADER_PATTERN_GROUP;


static
BOOLEAN
FunctionIsWordCharacter(
    _In_ CHAR Letter
    )
{
    return (Letter >= 'a' && Letter <= 'z') ||
           (Letter >= 'A' && Letter <= 'Z') ||
           (Letter >= '0' && Letter <= '9') || Letter == '_' ||
           (UCHAR)Letter >= 0x80;
}


//
// Does the text before a place end so?
//

static
BOOLEAN
FunctionIsBehind(
    _In_reads_bytes_(Index) const CHAR *Text,
    _In_ ULONG Index,
    _In_z_ PCSZ Word
    )
{
    ULONG Length = RtlLengthOfString(Word);

    return Index >= Length &&
           RtlAreBytesEqual(Text + Index - Length, Word, Length) &&
           (Index == Length ||
            !FunctionIsWordCharacter(Text[Index - Length - 1]));
}


//
// Is the asterisk at a place one of the name's own?
// Depth: the brackets that are open there.
//

static
BOOLEAN
FunctionIsOwnAsterisk(
    _In_reads_bytes_(Index + 1) const CHAR *Text,
    _In_ ULONG Index,
    _In_ ULONG Depth
    )
{
    if (FunctionIsBehind(Text, Index, "operator") ||
        FunctionIsBehind(Text, Index, "operator->")) {
        return TRUE;
    }

    if (Depth == 0) {
        return FALSE;
    }

    while (Index != 0 && (Text[Index - 1] == ' ' || Text[Index - 1] == '*' ||
                          Text[Index - 1] == '&')) {
        Index -= 1;
    }

    return Index != 0 && (FunctionIsWordCharacter(Text[Index - 1]) ||
                          Text[Index - 1] == '>' || Text[Index - 1] == ']');
}


//
// Follows the brackets of a name.
//

static
VOID
FunctionFollowBracket(
    _In_ CHAR Letter,
    _Inout_ PULONG Depth
    )
{
    if (Letter == '(' || Letter == '<') {
        *Depth += 1;
    } else if ((Letter == ')' || Letter == '>') && *Depth != 0) {
        *Depth -= 1;
    }
}


//
// Is a text a name as a terminal shows it: with <...> for arguments, or an
// ellipsis in place of its middle?
//

static
BOOLEAN
FunctionIsAsShown(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if ((LengthInBytes - Index >= 5 &&
             RtlAreBytesEqual(Text + Index, "<...>", 5)) ||
            (LengthInBytes - Index >= 3 &&
             RtlAreBytesEqual(Text + Index, "\xE2\x80\xA6", 3))) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
READER_PATTERN_KIND
FunctionFindPatternKind(
    const CHAR *Text,
    PULONG LengthInBytes
    )
{
    ULONG Length = *LengthInBytes;
    ULONG FirstWild = Length;
    ULONG Depth = 0;
    ULONG Index;
    BOOLEAN IsShown;

    if (Length != 0 && Text[0] == '~') {
        return ReaderPatternText;
    }

    if (Length != 0 && Text[0] == '/') {
        return ReaderPatternExpression;
    }

    //
    // A run of blanks and asterisks is looked back over from each of them:
    // what is too long for a pattern is none.
    //

    for (Index = 0; Index < Length && Length <= READER_PATTERN_MAXIMUM;
         Index++) {

        if (Text[Index] == '*' && !FunctionIsOwnAsterisk(Text, Index, Depth)) {
            FirstWild = Index;
            break;
        }

        FunctionFollowBracket(Text[Index], &Depth);
    }

    IsShown = Length <= READER_PATTERN_MAXIMUM &&
              FunctionIsAsShown(Text, Length);
    if (FirstWild == Length && !IsShown) {
        return ReaderPatternNone;
    }

    for (Index = FirstWild; Index < Length; Index++) {
        if (Text[Index] != '*') {
            break;
        }
    }

    if (Index < Length || IsShown) {
        return ReaderPatternGlob;
    }

    *LengthInBytes = FirstWild;
    return ReaderPatternPrefix;
}


_Use_decl_annotations_
ULONG
FunctionFindExpressionEnd(
    const CHAR *Text,
    ULONG LengthInBytes,
    ULONG Index
    )
{
    ULONG End;

    for (Index += 1; Index < LengthInBytes; Index++) {

        if (Text[Index] == '\\') {
            Index += 1;
            continue;
        }

        if (Text[Index] != '/') {
            continue;
        }

        End = Index + 1;
        while (End < LengthInBytes && (Text[End] == ' ' || Text[End] == '\t')) {
            End += 1;
        }

        if (End >= LengthInBytes || Text[End] == ',') {
            return Index + 1;
        }

        Index = End - 1;
    }

    return 0;
}


//
// Adds a step at the end.
//

static
PREADER_STEP
FunctionAddStep(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ READER_STEP_KIND Kind,
    _In_ LONG First,
    _In_ LONG Second
    )
{
    PREADER_STEP Step = &Pattern->Steps[Pattern->NumberOfSteps];

    Step->Kind = Kind;
    Step->First = First;
    Step->Second = Second;
    Pattern->NumberOfSteps += 1;
    return Step;
}


//
// Puts a split before the last steps; distances within these stay right.
// Place: the first of them.
//

static
VOID
FunctionInsertSplit(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ ULONG Place,
    _In_ LONG First,
    _In_ LONG Second
    )
{
    ULONG Index;

    for (Index = Pattern->NumberOfSteps; Index > Place; Index--) {
        Pattern->Steps[Index] = Pattern->Steps[Index - 1];
    }

    Pattern->NumberOfSteps += 1;
    Pattern->Steps[Place].Kind = ReaderStepSplit;
    Pattern->Steps[Place].First = First;
    Pattern->Steps[Place].Second = Second;
}


//
// Adds a loop of any characters.
//

static
VOID
FunctionAddAnything(
    _Inout_ PREADER_PATTERN Pattern
    )
{
    FunctionAddStep(Pattern, ReaderStepSplit, 1, 3);
    FunctionAddStep(Pattern, ReaderStepAny, 0, 0);
    FunctionAddStep(Pattern, ReaderStepJump, -2, 0);
}


static
VOID
FunctionAddRange(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ ULONG First,
    _In_ ULONG Last
    )
{
    Pattern->Ranges[Pattern->NumberOfRanges].First = First;
    Pattern->Ranges[Pattern->NumberOfRanges].Last = Last;
    Pattern->NumberOfRanges += 1;
}


//
// Adds the characters of \d, \w or \s, or with a capital letter all others.
// FALSE: the letter is none of these.
//

static
BOOLEAN
FunctionAddClass(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ CHAR Letter
    )
{
    static const UCHAR Digits[] = { '0', '9' };
    static const UCHAR Words[] = { '0', '9', 'A', 'Z', '_', '_', 'a', 'z' };
    static const UCHAR Spaces[] = { '\t', '\r', ' ', ' ' };
    const UCHAR *Bounds;
    ULONG Count;
    ULONG Index;
    ULONG Next = 0;

    switch (Letter | 0x20) {
    case 'd':
        Bounds = Digits;
        Count = sizeof(Digits);
        break;
    case 'w':
        Bounds = Words;
        Count = sizeof(Words);
        break;
    case 's':
        Bounds = Spaces;
        Count = sizeof(Spaces);
        break;
    default:
        return FALSE;
    }

    for (Index = 0; Index < Count; Index += 2) {
        if (Letter >= 'a') {
            FunctionAddRange(Pattern, Bounds[Index], Bounds[Index + 1]);
        } else {
            FunctionAddRange(Pattern, Next, Bounds[Index] - 1u);
            Next = Bounds[Index + 1] + 1u;
        }
    }

    if (Letter < 'a') {
        FunctionAddRange(Pattern, Next, READER_LAST_CODE_POINT);
    }

    return TRUE;
}


static
VOID
FunctionSetProblem(
    _Inout_ PREADER_PATTERN_PARSER Parser,
    _In_ ULONG Index,
    _In_z_ PCSZ Problem
    )
{
    if (Parser->Problem == NULL) {
        Parser->Problem = Problem;
        Parser->ProblemIndex = Index;
    }
}


//
// Takes one character.
//

static
ULONG
FunctionTakeCharacter(
    _Inout_ PREADER_PATTERN_PARSER Parser
    )
{
    ULONG CodePoint;

    Parser->Index += RtlDecodeUtf8(Parser->Text + Parser->Index,
                                   Parser->LengthInBytes - Parser->Index,
                                   &CodePoint);
    return CodePoint;
}


//
// Takes what follows a backslash, in or outside of a set.
// IsClass: it is \d or its like, whose ranges have been added.
// Returns the character that is meant otherwise.
//

static
ULONG
FunctionTakeEscape(
    _Inout_ PREADER_PATTERN_PARSER Parser,
    _Out_ PBOOLEAN IsClass
    )
{
    ULONG Start = Parser->Index;
    CHAR Letter;

    *IsClass = FALSE;
    Parser->Index += 1;
    if (Parser->Index == Parser->LengthInBytes) {
        FunctionSetProblem(Parser, Start, "\\ stands before nothing");
        return 0;
    }

    Letter = Parser->Text[Parser->Index];
    if (FunctionAddClass(Parser->Pattern, Letter)) {
        *IsClass = TRUE;
        Parser->Index += 1;
        return 0;
    }

    if (FunctionIsWordCharacter(Letter) && Letter != '_') {
        FunctionSetProblem(Parser,
                           Start,
                           "\\ stands before what is no sign, d, w or s");
        return 0;
    }

    return FunctionTakeCharacter(Parser);
}


//
// Takes a set: [abc], [^a-z].
//

static
VOID
FunctionTakeSet(
    _Inout_ PREADER_PATTERN_PARSER Parser
    )
{
    PREADER_PATTERN Pattern = Parser->Pattern;
    const CHAR *Text = Parser->Text;
    READER_STEP_KIND Kind = ReaderStepSet;
    ULONG FirstRange = Pattern->NumberOfRanges;
    ULONG Start = Parser->Index;
    ULONG Item;
    ULONG First;
    ULONG Last;
    BOOLEAN IsFirst = TRUE;
    BOOLEAN IsClass;
    BOOLEAN IsLastClass;

    Parser->Index += 1;
    if (Parser->Index < Parser->LengthInBytes &&
        Text[Parser->Index] == '^') {
        Kind = ReaderStepOther;
        Parser->Index += 1;
    }

    for (; Parser->Problem == NULL; IsFirst = FALSE) {

        if (Parser->Index >= Parser->LengthInBytes) {
            FunctionSetProblem(Parser, Start, "[ has no ] behind it");
            return;
        }

        if (Text[Parser->Index] == ']' && !IsFirst) {
            Parser->Index += 1;
            break;
        }

        Item = Parser->Index;
        IsClass = FALSE;
        First = Text[Item] == '\\' ? FunctionTakeEscape(Parser, &IsClass)
                                   : FunctionTakeCharacter(Parser);
        if (Parser->Index + 1 >= Parser->LengthInBytes ||
            Text[Parser->Index] != '-' || Text[Parser->Index + 1] == ']') {
            if (!IsClass) {
                FunctionAddRange(Pattern, First, First);
            }
            continue;
        }

        Parser->Index += 1;
        IsLastClass = FALSE;
        Last = Text[Parser->Index] == '\\'
                   ? FunctionTakeEscape(Parser, &IsLastClass)
                   : FunctionTakeCharacter(Parser);
        if (IsClass || IsLastClass || Last < First) {
            FunctionSetProblem(Parser, Item, "a range goes from a character "
                                             "to one that is not behind it");
            return;
        }

        FunctionAddRange(Pattern, First, Last);
    }

    FunctionAddStep(Pattern,
                    Kind,
                    (LONG)FirstRange,
                    (LONG)(Pattern->NumberOfRanges - FirstRange));
}


//
// Repeats what was parsed last.
//

static
VOID
FunctionRepeatAtom(
    _Inout_ PREADER_PATTERN_PARSER Parser,
    _Inout_ PREADER_PATTERN_GROUP Group
    )
{
    PREADER_PATTERN Pattern = Parser->Pattern;
    LONG Length = (LONG)(Pattern->NumberOfSteps - Group->Atom);

    if (!Group->HasAtom) {
        FunctionSetProblem(Parser,
                           Parser->Index,
                           "there is nothing that could be repeated");
        return;
    }

    switch (Parser->Text[Parser->Index]) {

    case '*':
        FunctionInsertSplit(Pattern, Group->Atom, 1, Length + 2);
        FunctionAddStep(Pattern, ReaderStepJump, -(Length + 1), 0);
        break;

    case '+':
        FunctionAddStep(Pattern, ReaderStepSplit, -Length, 1);
        break;

    default:
        FunctionInsertSplit(Pattern, Group->Atom, 1, Length + 1);
        break;
    }

    Group->HasAtom = FALSE;
    Parser->Index += 1;
}


static
VOID
FunctionBeginGroup(
    _In_ PREADER_PATTERN_PARSER Parser,
    _Out_ PREADER_PATTERN_GROUP Group
    )
{
    Group->Start = Parser->Pattern->NumberOfSteps;
    Group->Branch = Group->Start;
    Group->Atom = Group->Start;
    Group->Jumps = -1;
    Group->Index = Parser->Index;
    Group->HasAtom = FALSE;
}


//
// Ends an alternative, with another one behind it.
//

static
VOID
FunctionAddBranch(
    _Inout_ PREADER_PATTERN_PARSER Parser,
    _Inout_ PREADER_PATTERN_GROUP Group
    )
{
    PREADER_PATTERN Pattern = Parser->Pattern;
    LONG Length = (LONG)(Pattern->NumberOfSteps - Group->Branch);

    FunctionInsertSplit(Pattern, Group->Branch, 1, Length + 2);
    FunctionAddStep(Pattern, ReaderStepJump, Group->Jumps, 0);
    Group->Jumps = (LONG)Pattern->NumberOfSteps - 1;
    Group->Branch = Pattern->NumberOfSteps;
    Group->HasAtom = FALSE;
    Parser->Index += 1;
}


//
// Leads the jumps behind a group's alternatives to its end.
//

static
VOID
FunctionEndGroup(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ const READER_PATTERN_GROUP *Group
    )
{
    LONG Jump = Group->Jumps;
    LONG Before;

    while (Jump >= 0) {
        Before = Pattern->Steps[Jump].First;
        Pattern->Steps[Jump].First = (LONG)Pattern->NumberOfSteps - Jump;
        Jump = Before;
    }
}


//
// Takes what is no repetition, alternative or group.
//

static
VOID
FunctionTakeAtom(
    _Inout_ PREADER_PATTERN_PARSER Parser,
    _Inout_ PREADER_PATTERN_GROUP Group
    )
{
    PREADER_PATTERN Pattern = Parser->Pattern;
    ULONG FirstRange = Pattern->NumberOfRanges;
    ULONG CodePoint;
    BOOLEAN IsClass = FALSE;

    Group->Atom = Pattern->NumberOfSteps;
    Group->HasAtom = TRUE;
    switch (Parser->Text[Parser->Index]) {

    case '.':
        FunctionAddStep(Pattern, ReaderStepAny, 0, 0);
        Parser->Index += 1;
        return;

    case '^':
    case '$':
        FunctionAddStep(Pattern,
                        Parser->Text[Parser->Index] == '^' ? ReaderStepBegin
                                                           : ReaderStepEnd,
                        0,
                        0);
        Group->HasAtom = FALSE;
        Parser->Index += 1;
        return;

    case '[':
        FunctionTakeSet(Parser);
        return;

    case '{':
        FunctionSetProblem(Parser,
                           Parser->Index,
                           "{ needs a \\ before it: there are no counts");
        return;

    case '\\':
        CodePoint = FunctionTakeEscape(Parser, &IsClass);
        break;

    default:
        CodePoint = FunctionTakeCharacter(Parser);
        break;
    }

    if (IsClass) {
        FunctionAddStep(Pattern,
                        ReaderStepSet,
                        (LONG)FirstRange,
                        (LONG)(Pattern->NumberOfRanges - FirstRange));
    } else {
        FunctionAddStep(Pattern, ReaderStepCharacter, (LONG)CodePoint, 0);
    }
}


//
// Takes an expression.
// Parser: the text between the slashes; receives what is wrong.
//

static
VOID
FunctionTakeExpression(
    _Inout_ PREADER_PATTERN_PARSER Parser
    )
{
    READER_PATTERN_GROUP Groups[READER_MAXIMUM_GROUPS + 1];
    PREADER_PATTERN_GROUP Group = &Groups[0];
    ULONG Depth = 0;

    FunctionBeginGroup(Parser, Group);
    while (Parser->Problem == NULL && Parser->Index < Parser->LengthInBytes) {

        switch (Parser->Text[Parser->Index]) {

        case '*':
        case '+':
        case '?':
            FunctionRepeatAtom(Parser, Group);
            break;

        case '|':
            FunctionAddBranch(Parser, Group);
            break;

        case '(':
            if (Depth == READER_MAXIMUM_GROUPS) {
                FunctionSetProblem(Parser,
                                   Parser->Index,
                                   "more than 32 ( are open");
                break;
            }

            Group->Atom = Parser->Pattern->NumberOfSteps;
            Depth += 1;
            Group = &Groups[Depth];
            FunctionBeginGroup(Parser, Group);
            Parser->Index += 1;
            break;

        case ')':
            if (Depth == 0) {
                FunctionSetProblem(Parser,
                                   Parser->Index,
                                   ") has no ( before it");
                break;
            }

            FunctionEndGroup(Parser->Pattern, Group);
            Depth -= 1;
            Group = &Groups[Depth];
            Group->HasAtom = TRUE;
            Parser->Index += 1;
            break;

        default:
            FunctionTakeAtom(Parser, Group);
            break;
        }
    }

    if (Parser->Problem == NULL && Depth != 0) {
        FunctionSetProblem(Parser, Group->Index, "( has no ) behind it");
    }

    FunctionEndGroup(Parser->Pattern, Group);
}


//
// Takes a name with asterisks.
//

static
VOID
FunctionTakeGlob(
    _Inout_ PREADER_PATTERN_PARSER Parser
    )
{
    ULONG Depth = 0;
    ULONG Character;
    ULONG Index;

    FunctionAddStep(Parser->Pattern, ReaderStepBegin, 0, 0);
    while (Parser->Index < Parser->LengthInBytes) {

        Index = Parser->Index;
        if (Parser->Text[Index] == '*' &&
            !FunctionIsOwnAsterisk(Parser->Text, Index, Depth)) {

            //
            // Several in a row are one.
            //

            while (Parser->Index < Parser->LengthInBytes &&
                   Parser->Text[Parser->Index] == '*') {
                Parser->Index += 1;
            }

            FunctionAddAnything(Parser->Pattern);
            continue;
        }

        //
        // What was cut out of a name to fit a terminal.
        //

        FunctionFollowBracket(Parser->Text[Index], &Depth);
        Character = FunctionTakeCharacter(Parser);
        if (Character == READER_ELLIPSIS) {
            FunctionAddAnything(Parser->Pattern);
        } else {
            FunctionAddStep(Parser->Pattern,
                            ReaderStepCharacter,
                            (LONG)Character,
                            0);
        }
    }

    FunctionAddStep(Parser->Pattern, ReaderStepEnd, 0, 0);
}


_Use_decl_annotations_
NTSTATUS
FunctionCreatePattern(
    PCALLOCATOR Allocator,
    const CHAR *Text,
    ULONG LengthInBytes,
    READER_PATTERN_KIND Kind,
    PREADER_PATTERN *Pattern,
    PCSZ *Problem,
    PULONG Position
    )
{
    READER_PATTERN_PARSER Parser;
    PREADER_PATTERN New;
    ULONG Steps = 2 * LengthInBytes + 8;
    ULONG Ranges = 4 * LengthInBytes;
    ULONG Index;

    *Pattern = NULL;
    *Problem = "";
    *Position = 1;
    if (LengthInBytes > READER_PATTERN_MAXIMUM) {
        *Problem = "is longer than 1024 bytes";
        return STATUS_INVALID_PARAMETER;
    }

    if (LengthInBytes < 2 && Kind == ReaderPatternText) {
        *Problem = "has a ~ without a text";
        return STATUS_INVALID_PARAMETER;
    }

    if (Kind == ReaderPatternExpression) {

        if (FunctionFindExpressionEnd(Text, LengthInBytes, 0) !=
            LengthInBytes) {
            *Problem = "has no / at its end";
            *Position = LengthInBytes;
            return STATUS_INVALID_PARAMETER;
        }

        if (LengthInBytes == 2) {
            *Problem = "has nothing between its slashes";
            return STATUS_INVALID_PARAMETER;
        }
    }

    New = (PREADER_PATTERN)Allocator->Allocate(
        Allocator->Context,
        sizeof(READER_PATTERN) + Steps * sizeof(READER_STEP) +
            Ranges * sizeof(READER_RANGE_OF_CHARACTERS) +
            Steps * (sizeof(ULONG) + 3 * sizeof(USHORT)));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(New, sizeof(*New));
    New->Allocator = Allocator;
    New->Steps = (PREADER_STEP)(New + 1);
    New->Ranges = (PREADER_RANGE_OF_CHARACTERS)(New->Steps + Steps);
    New->Marks = (PULONG)(New->Ranges + Ranges);
    New->Current = (PUSHORT)(New->Marks + Steps);
    New->Next = New->Current + Steps;
    New->Stack = New->Next + Steps;
    RtlZeroBytes(New->Marks, Steps * sizeof(ULONG));

    RtlZeroBytes(&Parser, sizeof(Parser));
    Parser.Pattern = New;
    Parser.Text = Text;
    Parser.LengthInBytes = LengthInBytes;
    if (Kind == ReaderPatternExpression) {
        Parser.Index = 1;
        Parser.LengthInBytes -= 1;
        FunctionTakeExpression(&Parser);
    } else if (Kind == ReaderPatternText) {
        New->IsText = TRUE;
        Parser.Index = 1;
        while (Parser.Index < LengthInBytes) {
            FunctionAddStep(New,
                            ReaderStepCharacter,
                            (LONG)FunctionTakeCharacter(&Parser),
                            0);
        }
    } else {
        New->IsShown = FunctionIsAsShown(Text, LengthInBytes);
        FunctionTakeGlob(&Parser);
    }

    FunctionAddStep(New, ReaderStepMatch, 0, 0);
    if (Parser.Problem != NULL) {

        *Problem = Parser.Problem;
        for (Index = 0; Index < Parser.ProblemIndex; Index++) {
            *Position += ((UCHAR)Text[Index] & 0xC0) != 0x80;
        }

        FunctionDestroyPattern(New);
        return STATUS_INVALID_PARAMETER;
    }

    *Pattern = New;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
FunctionDestroyPattern(
    PREADER_PATTERN Pattern
    )
{
    if (Pattern != NULL) {
        Pattern->Allocator->Free(Pattern->Allocator->Context, Pattern);
    }
}


//
// Adds a step, and all that can be reached from it without a character, to
// those of the next round.
// Count: their number; those that take a character are listed.
// IsBegin, IsEnd: whether the name begins, or ends, here.
// Returns TRUE if the pattern's end is among them.
//

static
BOOLEAN
FunctionReachStep(
    _Inout_ PREADER_PATTERN Pattern,
    _In_ ULONG Place,
    _Inout_ PUSHORT List,
    _Inout_ PULONG Count,
    _In_ BOOLEAN IsBegin,
    _In_ BOOLEAN IsEnd
    )
{
    PCREADER_STEP Step;
    ULONG Depth = 0;

    if (Pattern->Marks[Place] == Pattern->Round) {
        return FALSE;
    }

    Pattern->Marks[Place] = Pattern->Round;
    Pattern->Stack[0] = (USHORT)Place;
    Depth = 1;
    while (Depth != 0) {

        ULONG Targets[2];
        ULONG NumberOfTargets = 0;
        ULONG Index;

        Depth -= 1;
        Place = Pattern->Stack[Depth];
        Step = &Pattern->Steps[Place];
        switch (Step->Kind) {

        case ReaderStepMatch:
            return TRUE;

        case ReaderStepSplit:
            Targets[0] = Place + (ULONG)Step->First;
            Targets[1] = Place + (ULONG)Step->Second;
            NumberOfTargets = 2;
            break;

        case ReaderStepJump:
            Targets[0] = Place + (ULONG)Step->First;
            NumberOfTargets = 1;
            break;

        case ReaderStepBegin:
        case ReaderStepEnd:
            Targets[0] = Place + 1;
            NumberOfTargets = Step->Kind == ReaderStepBegin ? IsBegin : IsEnd;
            break;

        default:
            List[*Count] = (USHORT)Place;
            *Count += 1;
            break;
        }

        for (Index = 0; Index < NumberOfTargets; Index++) {
            if (Pattern->Marks[Targets[Index]] != Pattern->Round) {
                Pattern->Marks[Targets[Index]] = Pattern->Round;
                Pattern->Stack[Depth] = (USHORT)Targets[Index];
                Depth += 1;
            }
        }
    }

    return FALSE;
}


//
// Does a step take a character?
//

static
BOOLEAN
FunctionIsTaken(
    _In_ PCREADER_PATTERN Pattern,
    _In_ PCREADER_STEP Step,
    _In_ ULONG CodePoint
    )
{
    LONG Index;

    switch (Step->Kind) {

    case ReaderStepCharacter:
        return (ULONG)Step->First == CodePoint;

    case ReaderStepAny:
        return TRUE;

    default:
        break;
    }

    for (Index = Step->First; Index < Step->First + Step->Second; Index++) {
        if (CodePoint >= Pattern->Ranges[Index].First &&
            CodePoint <= Pattern->Ranges[Index].Last) {
            return Step->Kind == ReaderStepSet;
        }
    }

    return Step->Kind == ReaderStepOther;
}


//
// Looks for a pattern in a text.
//

static
BOOLEAN
FunctionRunPattern(
    _Inout_ PREADER_PATTERN Pattern,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    PUSHORT Swap;
    ULONG Index = 0;
    ULONG Count = 0;
    ULONG NextCount;
    ULONG CodePoint;
    ULONG Number;
    BOOLEAN IsFound;

    if (Pattern->Round > 0xFFFFFFFFu - 2 - LengthInBytes) {
        Pattern->Round = 0;
        RtlZeroBytes(Pattern->Marks, Pattern->NumberOfSteps * sizeof(ULONG));
    }

    Pattern->Round += 1;
    IsFound = FunctionReachStep(Pattern,
                                0,
                                Pattern->Current,
                                &Count,
                                TRUE,
                                LengthInBytes == 0);
    while (!IsFound && Index < LengthInBytes) {

        Index += RtlDecodeUtf8(Text + Index, LengthInBytes - Index, &CodePoint);
        Pattern->Round += 1;
        NextCount = 0;
        for (Number = 0; Number < Count && !IsFound; Number++) {
            if (FunctionIsTaken(Pattern,
                                &Pattern->Steps[Pattern->Current[Number]],
                                CodePoint)) {
                IsFound = FunctionReachStep(Pattern,
                                            Pattern->Current[Number] + 1u,
                                            Pattern->Next,
                                            &NextCount,
                                            FALSE,
                                            Index >= LengthInBytes);
            }
        }

        //
        // It may begin anywhere.
        //

        if (!IsFound) {
            IsFound = FunctionReachStep(Pattern,
                                        0,
                                        Pattern->Next,
                                        &NextCount,
                                        FALSE,
                                        Index >= LengthInBytes);
        }

        Swap = Pattern->Current;
        Pattern->Current = Pattern->Next;
        Pattern->Next = Swap;
        Count = NextCount;
    }

    return IsFound;
}


//
// Looks for a pattern in a short name, with the remark at its end and without.
//

static
BOOLEAN
FunctionMatchShort(
    _Inout_ PREADER_PATTERN Pattern,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes,
    _In_ BOOLEAN HasParameters
    )
{
    CHAR Short[READER_PATTERN_MAXIMUM];
    ULONG Length;
    ULONG Bare;

    Length = FunctionShortenName(Name,
                                 LengthInBytes,
                                 HasParameters,
                                 Short,
                                 sizeof(Short));
    if (Length == 0) {
        return FALSE;
    }

    Bare = FunctionCutRemark(Short, Length);
    return FunctionRunPattern(Pattern, Short, Length) ||
           (Bare != Length && FunctionRunPattern(Pattern, Short, Bare));
}


_Use_decl_annotations_
BOOLEAN
FunctionMatchPattern(
    PREADER_PATTERN Pattern,
    const CHAR *Name,
    ULONG LengthInBytes
    )
{
    READER_NAME_PARTS Parts;
    ULONG Ends[3];
    ULONG Start;
    ULONG Index;

    if (FunctionRunPattern(Pattern, Name, LengthInBytes)) {
        return TRUE;
    }

    if (Pattern->IsText) {
        return FALSE;
    }

    FunctionFindParts(Name, LengthInBytes, &Parts);
    Ends[0] = LengthInBytes;
    Ends[1] = Parts.Tail;
    Ends[2] = Parts.End;
    for (Index = 0; Index < RTL_NUMBER_OF(Ends); Index++) {

        if (Index != 0 && Ends[Index] == Ends[Index - 1]) {
            continue;
        }

        for (Start = 0;; Start = Parts.Start) {

            if ((Index != 0 || Start != 0) &&
                FunctionRunPattern(Pattern,
                                   Name + Start,
                                   Ends[Index] - Start)) {
                return TRUE;
            }

            if (Start == Parts.Start) {
                break;
            }
        }
    }

    return Pattern->IsShown &&
           (FunctionMatchShort(Pattern, Name, LengthInBytes, FALSE) ||
            FunctionMatchShort(Pattern, Name, LengthInBytes, TRUE));
}

/*++

Module Name:

    FunctionFindByName.c

Abstract:

    The functions that a command's argument FUNCTION means.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseNearest.h"
#include "FunctionFindByName.h"
#include "FunctionQualified.h"
#include "FunctionStub.h"

#define READER_MAXIMUM_LISTED 10u


//
// Makes an ASCII letter small.
// Letter: the character.
// Returns the character.
//

static
CHAR
FunctionFoldLetter(
    _In_ CHAR Letter
    )
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter | 0x20) : Letter;
}


//
// Compares two texts without regard to the case of ASCII letters.
// Returns TRUE if they are the same.
//

static
BOOLEAN
FunctionIsTextFolded(
    _In_reads_bytes_(LengthInBytes) const CHAR *First,
    _In_reads_bytes_(LengthInBytes) const CHAR *Second,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (FunctionFoldLetter(First[Index]) !=
            FunctionFoldLetter(Second[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Looks for a text in another one, in any case.
//

static
BOOLEAN
FunctionIsTextInside(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_reads_bytes_(PartLength) const CHAR *Part,
    _In_ ULONG PartLength
    )
{
    ULONG Index;

    for (Index = 0; Index + PartLength <= LengthInBytes; Index++) {
        if (FunctionIsTextFolded(Text + Index, Part, PartLength)) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Tells whether a module has a name, with or without its extension.
//

static
BOOLEAN
FunctionIsModuleNamed(
    _In_ const READER_MODULE *Module,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    )
{
    ULONG End = Module->NameLength;

    while (End != 0 && Module->Name[End - 1] != '.') {
        End -= 1;
    }

    return (LengthInBytes == Module->NameLength ||
            (End != 0 && LengthInBytes == End - 1)) &&
           FunctionIsTextFolded(Module->Name, Name, LengthInBytes);
}


//
// Makes the pattern that a name is, if it is one.
//

static
BOOLEAN
FunctionInitializePattern(
    _Inout_ PREADER_NAME Name
    )
{
    PCREADER_CONTEXT Context = Name->Functions->Session->Context;
    PCSZ Problem;
    ULONG Position;
    NTSTATUS Status;

    Name->PrefixLength = Name->NameLength;
    Name->Kind = FunctionFindPatternKind(Name->Name, &Name->PrefixLength);
    if (Name->Kind < ReaderPatternGlob) {
        return TRUE;
    }

    Status = FunctionCreatePattern(Context->Allocator,
                                   Name->Name,
                                   Name->NameLength,
                                   Name->Kind,
                                   &Name->Pattern,
                                   &Problem,
                                   &Position);
    if (Status == STATUS_INVALID_PARAMETER) {
        RtlWriteText(Context->Errors,
                     "TraceReader: %s: the pattern %T, character %u: %s\n",
                     Name->Command,
                     Name->Name,
                     Position,
                     Problem);
        RtlFlushWriter(Context->Errors);
    } else if (!NT_SUCCESS(Status)) {
        BaseFail(Context, Name->Command, Name->Text, Status);
    }

    return NT_SUCCESS(Status);
}


_Use_decl_annotations_
VOID
FunctionRundownName(
    PREADER_NAME Name
    )
{
    FunctionDestroyPattern(Name->Pattern);
    Name->Pattern = NULL;
}


_Use_decl_annotations_
BOOLEAN
FunctionInitializeName(
    PREADER_NAME Name,
    PREADER_FUNCTIONS Functions,
    PCSZ Command,
    PCSZ Text
    )
{
    const READER_SESSION *Session = Functions->Session;
    ULONG Length = 0;
    ULONG Index;

    Name->Functions = Functions;
    Name->Command = Command;
    Name->Text = Text;
    Name->Module = Text;
    Name->ModuleLength = 0;
    Name->Name = Text;
    Name->NameLength = RtlLengthOfString(Text);
    Name->Pattern = NULL;

    while (Text[Length] != 0 && Text[Length] != '!') {
        Length += 1;
    }

    for (Index = 0;
         Length != 0 && Text[Length] != 0 && Index < Session->NumberOfModules;
         Index++) {

        if (FunctionIsModuleNamed(Session->Modules[Index], Text, Length)) {
            Name->ModuleLength = Length;
            Name->Name = Text + Length + 1;
            Name->NameLength -= Length + 1;
            break;
        }
    }

    return FunctionInitializePattern(Name);
}


//
// Tells whether a function is in the module that a name is of.
//

static
BOOLEAN
FunctionIsModuleMeant(
    _In_ PCREADER_NAME Name,
    _In_ PCREADER_FUNCTION Function
    )
{
    return Name->ModuleLength == 0 ||
           FunctionIsModuleNamed(
               Name->Functions->Session->Modules[Function->Module],
               Name->Module,
               Name->ModuleLength);
}


//
// Does a function's name begin with some text, with its return type or
// without?
//

static
BOOLEAN
FunctionIsBeginning(
    _In_ PCREADER_FUNCTION Function,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Length = Function->FullLength;
    ULONG Skip = FunctionSkipReturnType(Function->FullName, Length);

    return (Length >= LengthInBytes &&
            RtlAreBytesEqual(Function->FullName, Text, LengthInBytes)) ||
           (Length - Skip >= LengthInBytes &&
            RtlAreBytesEqual(Function->FullName + Skip, Text, LengthInBytes));
}


//
// Compares a function with a name that is not a pattern.
//

static
READER_MATCH
FunctionMatchPlainName(
    _In_ PCREADER_NAME Name,
    _In_ ULONG Function
    )
{
    PCREADER_FUNCTION This = &Name->Functions->Functions[Function];
    const CHAR *Text = This->FullName;
    ULONG Length = Name->NameLength == This->FullLength ? This->FullLength
                                                        : This->BareLength;
    ULONG Skip;

    if (!FunctionIsModuleMeant(Name, This)) {
        return ReaderMatchNone;
    }

    if (Length == Name->NameLength &&
        RtlAreBytesEqual(Text, Name->Name, Length)) {
        return ReaderMatchExact;
    }

    //
    // With the return type, if it has one, or without.
    //

    if (Length < Name->NameLength ||
        !RtlAreBytesEqual(Text, Name->Name, Name->NameLength)) {

        Skip = FunctionSkipReturnType(Text, Length);
        Text += Skip;
        Length -= Skip;
        if (Skip == 0 || Length < Name->NameLength ||
            !RtlAreBytesEqual(Text, Name->Name, Name->NameLength)) {
            return ReaderMatchNone;
        }

        if (Length == Name->NameLength) {
            return ReaderMatchBare;
        }
    }

    return Name->NameLength != 0 && Text[Name->NameLength] == '('
               ? ReaderMatchBare
               : ReaderMatchPrefix;
}


//
// Compares an import with a name that is not a pattern: its module with or
// without the extension, and both in any case.  A module with hooks may have
// the same function; that is then the one without a module.
//

static
READER_MATCH
FunctionMatchImport(
    _In_ PCREADER_NAME Name,
    _In_ PCREADER_FUNCTION This
    )
{
    ULONG TextLength = RtlLengthOfString(Name->Text);
    const CHAR *Text = FunctionQualifiedSplit(This, Name->Text, TextLength);
    ULONG Length = This->BareLength;
    const CHAR *Own = FunctionQualifiedSkipModule(This, &Length);
    ULONG FullLength = This->FullLength - (This->BareLength - Length);

    if (Text == NULL) {
        return ReaderMatchNone;
    }

    TextLength -= (ULONG)(Text - Name->Text);
    if (BaseIsTextAlike(Own, Length, Text, TextLength) ||
        BaseIsTextAlike(Own, FullLength, Text, TextLength)) {
        return ReaderMatchImport;
    }

    if (Length < TextLength || !FunctionIsTextFolded(Own, Text, TextLength)) {
        return ReaderMatchNone;
    }

    return TextLength != 0 && Own[TextLength] == '(' ? ReaderMatchBare
                                                     : ReaderMatchPrefix;
}


//
// Is a text the short name of a function, as a terminal shows it?
//

static
BOOLEAN
FunctionIsShortName(
    _In_ PCREADER_FUNCTION Function,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    CHAR Short[READER_PATTERN_MAXIMUM];
    ULONG Length;
    ULONG Index;

    for (Index = 0; Index < 2; Index++) {

        Length = FunctionShortenName(Function->FullName,
                                     Function->FullLength,
                                     Index != 0,
                                     Short,
                                     sizeof(Short));
        if (LengthInBytes != 0 &&
            (LengthInBytes == Length ||
             LengthInBytes == FunctionCutRemark(Short, Length)) &&
            RtlAreBytesEqual(Short, Text, LengthInBytes)) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
READER_MATCH
FunctionMatchName(
    PCREADER_NAME Name,
    ULONG Function
    )
{
    PCREADER_FUNCTION This = &Name->Functions->Functions[Function];
    READER_MATCH Match = This->IsStub
                             ? FunctionMatchImport(Name, This)
                             : FunctionMatchPlainName(Name, Function);
    BOOLEAN IsMeant = FALSE;

    if (Match != ReaderMatchNone ||
        (!This->IsStub && !FunctionIsModuleMeant(Name, This))) {
        return Match;
    }

    if (Name->Kind == ReaderPatternNone) {
        return FunctionIsShortName(This, Name->Name, Name->NameLength)
                   ? ReaderMatchShort
                   : ReaderMatchNone;
    }

    if (Name->Pattern != NULL) {
        IsMeant = FunctionMatchPattern(Name->Pattern,
                                       This->FullName,
                                       This->FullLength);
    } else {
        IsMeant = FunctionIsBeginning(This, Name->Name, Name->PrefixLength);
    }

    return IsMeant ? ReaderMatchPattern : ReaderMatchNone;
}


//
// Orders functions by name, then by module, then as they appeared.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareFullNames(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_FUNCTIONS Functions = (PREADER_FUNCTIONS)Context;
    PCREADER_FUNCTION One = &Functions->Functions[First];
    PCREADER_FUNCTION Other = &Functions->Functions[Second];
    LONG Order;

    Order = BaseCompareText(One->FullName,
                            One->FullLength,
                            Other->FullName,
                            Other->FullLength);
    if (Order == 0 && One->Module != Other->Module) {
        Order = One->Module < Other->Module ? -1 : 1;
    }

    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Use_decl_annotations_
BOOLEAN
FunctionAreNamesEqual(
    const READER_FUNCTIONS *Functions,
    ULONG First,
    ULONG Second
    )
{
    PCREADER_FUNCTION One = &Functions->Functions[First];
    PCREADER_FUNCTION Other = &Functions->Functions[Second];

    return BaseCompareText(One->FullName,
                           One->FullLength,
                           Other->FullName,
                           Other->FullLength) == 0;
}


//
// Lists functions on the error output, a name once for each module.
//

static
VOID
FunctionListFunctions(
    _In_ PCREADER_NAME Name,
    _In_reads_(Count) const ULONG *Found,
    _In_ ULONG Count
    )
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    const READER_MODULE *Module;
    PCREADER_FUNCTION Function;
    ULONG Listed = 0;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {

        Function = &Functions->Functions[Found[Index]];
        if (Index != 0 &&
            Functions->Functions[Found[Index - 1]].Module ==
                Function->Module &&
            FunctionAreNamesEqual(Functions, Found[Index - 1], Found[Index])) {
            continue;
        }

        Listed += 1;
        if (Listed > READER_MAXIMUM_LISTED) {
            continue;
        }

        Module = Functions->Session->Modules[Function->Module];
        RtlWriteText(Errors, "  ");
        if (!Function->IsStub) {
            RtlWriteCleanText(Errors, Module->Name, Module->NameLength);
            RtlWriteText(Errors, "!");
        }

        RtlWriteCleanText(Errors, Function->FullName, Function->FullLength);
        RtlWriteText(Errors, "\n");
    }

    if (Listed > READER_MAXIMUM_LISTED) {
        RtlWriteText(Errors,
                     "  and %u more\n",
                     Listed - READER_MAXIMUM_LISTED);
    }
}


//
// Finds the function whose name, without parameters, is nearest to a name.
// Returns how many there are: 0 or 1.
//

static
ULONG
FunctionFindNearest(
    _In_ PCREADER_NAME Name,
    _In_reads_(NumberSeen) const UCHAR *IsSeen,
    _In_ ULONG NumberSeen,
    _Out_ PULONG Found
    )
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PCREADER_FUNCTION Function;
    READER_NEAREST Nearest;
    CHAR Bare[READER_NEAREST_MAXIMUM + 2];
    ULONG Distance;
    ULONG Length;
    ULONG Index;

    BaseBeginNearest(&Nearest, Name->Name);
    for (Index = 0; Index < NumberSeen; Index++) {

        Function = &Functions->Functions[Index];
        Length = 0;
        while (Length < Function->FullLength && Length < sizeof(Bare) - 1 &&
               Function->FullName[Length] != '(') {
            Bare[Length] = Function->FullName[Length];
            Length += 1;
        }

        Bare[Length] = 0;
        Distance = Nearest.Distance;
        if (IsSeen[Index]) {
            BaseOfferNearest(&Nearest, Bare);
        }
        if (Nearest.Distance != Distance) {
            *Found = Index;
        }
    }

    return Nearest.Best != NULL ? 1 : 0;
}


//
// Says that there is no function of a name, and which are near: those that
// contain it in another case, or the one that it takes the fewest letters to
// make it of.
// IsSeen, NumberSeen: by function, whether it was called.
// Found: room for all functions.
//

static
VOID
FunctionSuggestNames(
    _In_ PCREADER_NAME Name,
    _In_reads_(NumberSeen) const UCHAR *IsSeen,
    _In_ ULONG NumberSeen,
    _Out_writes_(NumberSeen) PULONG Found
    )
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    PCREADER_FUNCTION Function;
    ULONG Count = 0;
    ULONG Index;

    if (Name->Kind != ReaderPatternNone) {

        RtlWriteText(Errors,
                     "TraceReader: %s: no function that was called has the "
                     "name %T, or one that it is a pattern of (TraceReader "
                     "report --names full lists the functions)\n",
                     Name->Command,
                     Name->Text);
        RtlFlushWriter(Errors);
        return;
    }

    for (Index = 0;
         Name->NameLength != 0 && Index < NumberSeen;
         Index++) {

        Function = &Functions->Functions[Index];
        if (IsSeen[Index] &&
            FunctionIsTextInside(Function->FullName,
                                 Function->FullLength,
                                 Name->Name,
                                 Name->NameLength)) {
            Found[Count] = Index;
            Count += 1;
        }
    }

    if (Count == 0 && NumberSeen != 0) {
        Count = FunctionFindNearest(Name, IsSeen, NumberSeen, Found);
    }

    BaseSort(Found, Count, FunctionCompareFullNames, (PVOID)Functions);
    RtlWriteText(Errors,
                 "TraceReader: %s: no function that was called has the name "
                 "%T, or one that begins with it%s\n",
                 Name->Command,
                 Name->Text,
                 Count != 0 ? "; near are:"
                            : " (TraceReader report --names full "
                              "lists the functions)");
    FunctionListFunctions(Name, Found, Count);
    RtlFlushWriter(Errors);
}


//
// Says so when a name means several functions.
// Found, Count: the functions, by name and module.
//

static
VOID
FunctionNoteSeveral(
    _In_ PCREADER_NAME Name,
    _In_reads_(Count) const ULONG *Found,
    _In_ ULONG Count
    )
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    ULONG Modules = 1;
    ULONG Number = Count;
    ULONG Index;

    for (Index = 1; Index < Count; Index++) {
        Number -= FunctionStubAreAlike(
            &Functions->Functions[Found[Index]],
            &Functions->Functions[Found[Index - 1]]);
        if (Functions->Functions[Found[Index]].Module !=
            Functions->Functions[Found[Index - 1]].Module) {
            Modules += 1;
        }
    }

    if (Number < 2) {
        return;
    }

    RtlWriteText(Errors,
                 "TraceReader: %s: this name matches %u functions%s; all are "
                 "counted%s\n",
                 Name->Command,
                 Number,
                 Modules > 1 ? " in several modules" : "",
                 Modules > 1 ? "; MODULE!NAME selects those of one:" : "");
    if (Modules > 1) {
        FunctionListFunctions(Name, Found, Count);
    }

    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
BOOLEAN
FunctionResolveName(
    PCREADER_NAME Name,
    const UCHAR *IsSeen,
    ULONG NumberSeen,
    PUCHAR *IsMeant,
    PULONG Function,
    PULONG ExitCode
    )
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PCREADER_CONTEXT Context = Functions->Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    READER_MATCH Best = ReaderMatchNone;
    READER_MATCH Match;
    PULONG Found;
    ULONG Count = 0;
    ULONG Index;
    BOOLEAN IsResolved = FALSE;

    *ExitCode = READER_EXIT_FAILURE;
    *Function = READER_NONE;
    *IsMeant = (PUCHAR)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Functions->NumberOfFunctions + 1);
    Found = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Functions->NumberOfFunctions + 1) * sizeof(ULONG));
    if (*IsMeant == NULL || Found == NULL) {
        BaseFail(Context, "find the function", Name->Text, STATUS_NO_MEMORY);
        goto End;
    }

    if (NumberSeen > Functions->NumberOfFunctions) {
        NumberSeen = Functions->NumberOfFunctions;
    }

    for (Index = 0; Index < NumberSeen; Index++) {

        Match = IsSeen[Index] ? FunctionMatchName(Name, Index)
                              : ReaderMatchNone;
        if (Match > Best) {
            Best = Match;
            Count = 0;
        }

        if (Match == Best && Match != ReaderMatchNone) {
            Found[Count] = Index;
            Count += 1;
        }
    }

    if (Count == 0) {
        FunctionSuggestNames(Name, IsSeen, NumberSeen, Found);
        *ExitCode = READER_EXIT_NOTHING;
        goto End;
    }

    BaseSort(Found, Count, FunctionCompareFullNames, (PVOID)Functions);
    if (!FunctionAreNamesEqual(Functions, Found[0], Found[Count - 1])) {

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: several %s %T; give one in full:\n",
                     Name->Command,
                     Best == ReaderMatchBare      ? "functions are called"
                     : Best == ReaderMatchPattern ||
                             Best == ReaderMatchShort
                         ? "names are meant by"
                                                  : "names begin with",
                     Name->Text);
        FunctionListFunctions(Name, Found, Count);
        RtlFlushWriter(Context->Errors);
        goto End;
    }

    for (Index = 0; Index < Count; Index++) {
        (*IsMeant)[Found[Index]] = TRUE;
    }

    *Function = Found[0];
    *ExitCode = READER_EXIT_SUCCESS;
    FunctionNoteSeveral(Name, Found, Count);
    IsResolved = TRUE;

End:

    Allocator->Free(Allocator->Context, Found);
    if (!IsResolved) {
        Allocator->Free(Allocator->Context, *IsMeant);
        *IsMeant = NULL;
    }

    return IsResolved;
}


//
// A function that may be meant by a text that is the beginning of none.
//

typedef struct _READER_NEAR {
    READER_NEAREST Nearest;
    PCREADER_FUNCTION Best;
} READER_NEAR;
typedef READER_NEAR *PREADER_NEAR;

//
// Does a function's name begin with some text that has its module before it?
//

static
BOOLEAN
FunctionIsQualifiedBeginning(
    _In_ PCREADER_FUNCTION Function,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    const CHAR *Rest = FunctionQualifiedSplit(Function, Text, LengthInBytes);
    ULONG Length = Function->FullLength;
    const CHAR *Own = FunctionQualifiedSkipModule(Function, &Length);

    if (Rest == NULL) {
        return FALSE;
    }

    LengthInBytes -= (ULONG)(Rest - Text);
    return Length >= LengthInBytes &&
           FunctionIsTextFolded(Own, Rest, LengthInBytes);
}


//
// Looks for the nearest of some functions.
// Near: what was found among others, or the beginning.
// Returns FALSE if a name begins with the text.
//

static
BOOLEAN
FunctionOfferNear(
    _In_ const READER_FUNCTIONS *Functions,
    _In_z_ PCSZ Text,
    _Inout_ PREADER_NEAR Near
    )
{
    ULONG TextLength = RtlLengthOfString(Text);
    PCREADER_FUNCTION Function;
    CHAR Bare[READER_NEAREST_MAXIMUM + 2];
    ULONG Distance;
    ULONG Length;
    ULONG Index;
    ULONG Skip;

    for (Index = 0; Index < Functions->NumberOfFunctions; Index++) {

        Function = &Functions->Functions[Index];
        if (FunctionIsBeginning(Function, Text, TextLength) ||
            FunctionIsQualifiedBeginning(Function, Text, TextLength)) {
            return FALSE;
        }

        Skip = FunctionSkipReturnType(Function->FullName,
                                      Function->FullLength);
        Length = 0;
        while (Skip + Length < Function->FullLength &&
               Length < sizeof(Bare) - 1 &&
               Function->FullName[Skip + Length] != '(') {
            Bare[Length] = Function->FullName[Skip + Length];
            Length += 1;
        }

        Bare[Length] = 0;
        Distance = Near->Nearest.Distance;
        BaseOfferNearest(&Near->Nearest, Bare);
        if (Near->Nearest.Best != NULL && Near->Nearest.Distance != Distance) {
            Near->Best = Function;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
VOID
FunctionNoteNear(
    const READER_FUNCTIONS *Functions,
    PCSZ Text
    )
{
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    ULONG TextLength = RtlLengthOfString(Text);
    const READER_FUNCTIONS *Owner;
    READER_NEAR Near;
    ULONG Index;

    BaseBeginNearest(&Near.Nearest, Text);
    Near.Best = NULL;
    for (Owner = Functions; Owner != NULL; Owner = Owner->Peer) {
        if (!FunctionOfferNear(Owner, Text, &Near)) {
            return;
        }
    }

    //
    // Otherwise one that contains it, in any case.
    //

    for (Owner = Functions; Owner != NULL; Owner = Owner->Peer) {
        for (Index = 0;
             Near.Best == NULL && TextLength > 2 &&
             Index < Owner->NumberOfFunctions;
             Index++) {
            if (FunctionIsTextInside(Owner->Functions[Index].FullName,
                                     Owner->Functions[Index].FullLength,
                                     Text,
                                     TextLength)) {
                Near.Best = &Owner->Functions[Index];
            }
        }
    }

    if (Near.Best != NULL) {
        RtlWriteText(Errors,
                     "TraceReader: --function: no function's name begins with "
                     "%T; did you mean ",
                     Text);
        RtlWriteCleanText(Errors,
                          Near.Best->FullName,
                          Near.Best->FullLength);
        RtlWriteText(Errors, "?\n");
        RtlFlushWriter(Errors);
    }
}

/*++

Module Name:

    ReaderFindByName.c

Abstract:

    The functions that a command's argument FUNCTION means.

--*/

#include "ReaderWalk.h"

#define READER_MAXIMUM_LISTED 10u


static
CHAR
ReaderFoldLetter(
    _In_ CHAR Letter
    )
/*++

Routine Description:

    Makes an ASCII letter small.

Arguments:

    Letter - The character.

Return Value:

    The character.

--*/
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter | 0x20) : Letter;
}


static
BOOLEAN
ReaderIsTextFolded(
    _In_reads_bytes_(LengthInBytes) const CHAR *First,
    _In_reads_bytes_(LengthInBytes) const CHAR *Second,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Compares two texts without regard to the case of ASCII letters.

Arguments:

    First, Second, LengthInBytes - The texts.

Return Value:

    TRUE if they are the same.

--*/
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (ReaderFoldLetter(First[Index]) != ReaderFoldLetter(Second[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


static
BOOLEAN
ReaderIsTextInside(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_reads_bytes_(PartLength) const CHAR *Part,
    _In_ ULONG PartLength
    )
/*++

Routine Description:

    Looks for a text in another one, in any case.

Arguments:

    Text, LengthInBytes - The text.

    Part, PartLength - What to look for.

Return Value:

    TRUE if it is there.

--*/
{
    ULONG Index;

    for (Index = 0; Index + PartLength <= LengthInBytes; Index++) {
        if (ReaderIsTextFolded(Text + Index, Part, PartLength)) {
            return TRUE;
        }
    }

    return FALSE;
}


static
BOOLEAN
ReaderIsModuleNamed(
    _In_ const READER_MODULE *Module,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Tells whether a module has a name, with or without its extension.

Arguments:

    Module - The module.

    Name, LengthInBytes - The name.

Return Value:

    TRUE if it has.

--*/
{
    ULONG End = Module->NameLength;

    while (End != 0 && Module->Name[End - 1] != '.') {
        End -= 1;
    }

    return (LengthInBytes == Module->NameLength ||
            (End != 0 && LengthInBytes == End - 1)) &&
           ReaderIsTextFolded(Module->Name, Name, LengthInBytes);
}


_Use_decl_annotations_
VOID
ReaderInitializeName(
    PREADER_NAME Name,
    PREADER_FUNCTIONS Functions,
    PCSZ Command,
    PCSZ Text
    )
/*++

Routine Description:

    Takes a name apart.  What comes before an exclamation mark is a module only
    if there is such a module: operator!= is a name.

Arguments:

    Name - Receives it.

    Functions - The table of functions, with the session.

    Command - The command's name.

    Text - The argument.

Return Value:

    None.

--*/
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

    while (Text[Length] != 0 && Text[Length] != '!') {
        Length += 1;
    }

    if (Length == 0 || Text[Length] == 0) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        if (ReaderIsModuleNamed(Session->Modules[Index], Text, Length)) {
            Name->ModuleLength = Length;
            Name->Name = Text + Length + 1;
            Name->NameLength -= Length + 1;
            return;
        }
    }
}


static
BOOLEAN
ReaderIsModuleMeant(
    _In_ PCREADER_NAME Name,
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Tells whether a function is in the module that a name is of.

Arguments:

    Name - The name.

    Function - The function.

Return Value:

    TRUE if so.

--*/
{
    return Name->ModuleLength == 0 ||
           ReaderIsModuleNamed(
               Name->Functions->Session->Modules[Function->Module],
               Name->Module,
               Name->ModuleLength);
}


_Use_decl_annotations_
READER_MATCH
ReaderMatchName(
    PCREADER_NAME Name,
    ULONG Function
    )
/*++

Routine Description:

    Compares a function with a name.

Arguments:

    Name - The name.

    Function - The function's index.

Return Value:

    How they match.

--*/
{
    PCREADER_FUNCTION This = &Name->Functions->Functions[Function];
    const CHAR *Text = This->Name;
    ULONG Length = This->NameLength;
    ULONG Skip;

    if (!ReaderIsModuleMeant(Name, This)) {
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

        Skip = ReaderSkipReturnType(Text, Length);
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


static
LONG
ReaderCompareNames(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by name, then by module, then as they appeared.

Arguments:

    Context - The table of functions.

    First, Second - Functions.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_FUNCTIONS Functions = (PREADER_FUNCTIONS)Context;
    PCREADER_FUNCTION One = &Functions->Functions[First];
    PCREADER_FUNCTION Other = &Functions->Functions[Second];
    LONG Order;

    Order = ReaderCompareText(One->Name,
                              One->NameLength,
                              Other->Name,
                              Other->NameLength);
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
ReaderAreNamesEqual(
    const READER_FUNCTIONS *Functions,
    ULONG First,
    ULONG Second
    )
/*++

Routine Description:

    Compares the names of two functions.

Arguments:

    Functions - The table of functions.

    First, Second - The functions.

Return Value:

    TRUE if they are the same.

--*/
{
    PCREADER_FUNCTION One = &Functions->Functions[First];
    PCREADER_FUNCTION Other = &Functions->Functions[Second];

    return ReaderCompareText(One->Name,
                             One->NameLength,
                             Other->Name,
                             Other->NameLength) == 0;
}


static
VOID
ReaderListFunctions(
    _In_ PCREADER_NAME Name,
    _In_reads_(Count) const ULONG *Found,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Lists functions on the error output, a name once for each module.

Arguments:

    Name - The name.

    Found, Count - The functions, by name.

Return Value:

    None.

--*/
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
            ReaderAreNamesEqual(Functions, Found[Index - 1], Found[Index])) {
            continue;
        }

        Listed += 1;
        if (Listed > READER_MAXIMUM_LISTED) {
            continue;
        }

        Module = Functions->Session->Modules[Function->Module];
        RtlWriteText(Errors, "  ");
        ReaderWriteCleanText(Errors, Module->Name, Module->NameLength);
        RtlWriteText(Errors, "!");
        ReaderWriteCleanText(Errors, Function->Name, Function->NameLength);
        RtlWriteText(Errors, "\n");
    }

    if (Listed > READER_MAXIMUM_LISTED) {
        RtlWriteText(Errors,
                     "  and %u more\n",
                     Listed - READER_MAXIMUM_LISTED);
    }
}


static
VOID
ReaderSuggestNames(
    _In_ PCREADER_NAME Name,
    _In_reads_(NumberSeen) const UCHAR *IsSeen,
    _In_ ULONG NumberSeen,
    _Out_writes_(NumberSeen) PULONG Found
    )
/*++

Routine Description:

    Says that there is no function of a name, and which are near: those that
    contain it in another case.

Arguments:

    Name - The name.

    IsSeen, NumberSeen - By function, whether it was called.

    Found - Room for all functions.

Return Value:

    None.

--*/
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    PCREADER_FUNCTION Function;
    ULONG Count = 0;
    ULONG Index;

    for (Index = 0;
         Name->NameLength != 0 && Index < NumberSeen;
         Index++) {

        Function = &Functions->Functions[Index];
        if (IsSeen[Index] &&
            ReaderIsTextInside(Function->Name,
                               Function->NameLength,
                               Name->Name,
                               Name->NameLength)) {
            Found[Count] = Index;
            Count += 1;
        }
    }

    ReaderSort(Found, Count, ReaderCompareNames, (PVOID)Functions);
    RtlWriteText(Errors,
                 "TraceReader: %s: no function that was called has the name "
                 "%s, or one that begins with it%s\n",
                 Name->Command,
                 Name->Text,
                 Count != 0 ? "; near are:"
                            : " (TraceReader report lists the functions)");
    ReaderListFunctions(Name, Found, Count);
    RtlFlushWriter(Errors);
}


static
VOID
ReaderNoteSeveral(
    _In_ PCREADER_NAME Name,
    _In_reads_(Count) const ULONG *Found,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Says so when a name means several functions.

Arguments:

    Name - The name.

    Found, Count - The functions, by name and module.

Return Value:

    None.

--*/
{
    const READER_FUNCTIONS *Functions = Name->Functions;
    PRTL_WRITER Errors = Functions->Session->Context->Errors;
    ULONG Modules = 1;
    ULONG Index;

    if (Count < 2) {
        return;
    }

    for (Index = 1; Index < Count; Index++) {
        if (Functions->Functions[Found[Index]].Module !=
            Functions->Functions[Found[Index - 1]].Module) {
            Modules += 1;
        }
    }

    RtlWriteText(Errors,
                 "TraceReader: %s: %u functions%s have this name, and all are "
                 "counted%s\n",
                 Name->Command,
                 Count,
                 Modules > 1 ? " of several modules" : "",
                 Modules > 1 ? "; MODULE!NAME selects those of one:" : "");
    if (Modules > 1) {
        ReaderListFunctions(Name, Found, Count);
    }

    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
BOOLEAN
ReaderResolveName(
    PCREADER_NAME Name,
    const UCHAR *IsSeen,
    ULONG NumberSeen,
    PUCHAR *IsMeant,
    PULONG Function,
    PULONG ExitCode
    )
/*++

Routine Description:

    Decides which functions a name means.

Arguments:

    Name - The name.

    IsSeen, NumberSeen - By function, whether it was called; those beyond were
        not.

    IsMeant - Receives a byte for each function: whether it is meant.

    Function - Receives the first that is.

    ExitCode - Receives READER_EXIT_*.

Return Value:

    FALSE if none is, or it is not clear which; that has been written.

--*/
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
        ReaderFail(Context, "find the function", Name->Text, STATUS_NO_MEMORY);
        goto End;
    }

    if (NumberSeen > Functions->NumberOfFunctions) {
        NumberSeen = Functions->NumberOfFunctions;
    }

    for (Index = 0; Index < NumberSeen; Index++) {

        Match = IsSeen[Index] ? ReaderMatchName(Name, Index)
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
        ReaderSuggestNames(Name, IsSeen, NumberSeen, Found);
        *ExitCode = READER_EXIT_NOTHING;
        goto End;
    }

    ReaderSort(Found, Count, ReaderCompareNames, (PVOID)Functions);
    if (!ReaderAreNamesEqual(Functions, Found[0], Found[Count - 1])) {

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: several %s %s; give one in full:\n",
                     Name->Command,
                     Best == ReaderMatchBare ? "functions are called"
                                             : "names begin with",
                     Name->Text);
        ReaderListFunctions(Name, Found, Count);
        RtlFlushWriter(Context->Errors);
        goto End;
    }

    for (Index = 0; Index < Count; Index++) {
        (*IsMeant)[Found[Index]] = TRUE;
    }

    *Function = Found[0];
    *ExitCode = READER_EXIT_SUCCESS;
    ReaderNoteSeveral(Name, Found, Count);
    IsResolved = TRUE;

End:

    Allocator->Free(Allocator->Context, Found);
    if (!IsResolved) {
        Allocator->Free(Allocator->Context, *IsMeant);
        *IsMeant = NULL;
    }

    return IsResolved;
}

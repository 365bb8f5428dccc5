/*++

Module Name:

    PenterWord.c

Abstract:

    Words and patterns of the settings, wherever they come from, and what is
    noted of those that make no sense.

--*/

#include "PenterWord.h"

BOOLEAN PenterIsModuleOurs;
PVOID PenterEnvironment;
BOOLEAN PenterIsProcessNamed;
PVOID PenterOwnRoutine;

_Use_decl_annotations_
VOID
PenterAddError(
    PPENTER_CONFIG Config,
    PCSZ Step,
    PCUNICODE_STRING Object,
    NTSTATUS Status,
    PCSZ Consequence
    )
{
    if (Config->NumberOfErrors < PENTER_MAXIMUM_CONFIG_ERRORS) {
        RtlSetError(&Config->Errors[Config->NumberOfErrors],
                    Step,
                    Object,
                    Status);
        Config->Consequences[Config->NumberOfErrors] = Consequence;
        Config->NumberOfErrors += 1;
    } else {
        Config->NumberOfErrorsLeftOut += 1;
    }
}

_Use_decl_annotations_
BOOLEAN
PenterIsWord(
    PCRTL Rtl,
    PCUNICODE_STRING Text,
    PCWSTR Word
    )
{
    ULONG Length;
    ULONG Position;

    Length = Text->Length / sizeof(WCHAR);
    if (RtlLengthOfWideString(Word) != Length) {
        return FALSE;
    }

    Position = 0;
    while (Position < Length &&
           Rtl->RtlUpcaseUnicodeChar(Text->Buffer[Position]) ==
           Word[Position]) {

        Position += 1;
    }

    return Position == Length;
}

//
// Tells whether a file name may have a character in it.
//

static
BOOLEAN
PenterIsNameCharacter(
    _In_ WCHAR Character
    )
{
    switch (Character) {
    case L'"':
    case L'*':
    case L'/':
    case L':':
    case L'<':
    case L'>':
    case L'?':
    case L'\\':
    case L'|':
        return FALSE;
    default:
        return Character >= L' ';
    }
}

_Use_decl_annotations_
BOOLEAN
PenterIsPattern(
    PCUNICODE_STRING Pattern
    )
{
    ULONG Length;
    ULONG Index;

    Length = Pattern->Length / sizeof(WCHAR);
    Index = Length != 0 && Pattern->Buffer[0] == L'-';
    if (Index == Length) {
        return FALSE;
    }

    while (Index < Length && PenterIsNameCharacter(Pattern->Buffer[Index])) {
        Index += 1;
    }

    return Index == Length;
}

_Use_decl_annotations_
VOID
PenterUpcase(
    PCRTL Rtl,
    PUNICODE_STRING String
    )
{
    ULONG Index;

    for (Index = 0; Index < String->Length / sizeof(WCHAR); Index += 1) {
        String->Buffer[Index] =
            Rtl->RtlUpcaseUnicodeChar(String->Buffer[Index]);
    }
}

_Use_decl_annotations_
BOOLEAN
PenterNextPattern(
    PCUNICODE_STRING Patterns,
    PULONG Position,
    PUNICODE_STRING Pattern
    )
{
    ULONG Length;
    ULONG Start;
    ULONG End;

    Length = Patterns->Length / sizeof(WCHAR);

    while (*Position < Length) {
        Start = *Position;
        End = Start;
        while (End < Length && Patterns->Buffer[End] != L';') {
            End += 1;
        }
        *Position = End + 1;

        while (Start < End && Patterns->Buffer[Start] == L' ') {
            Start += 1;
        }
        while (Start < End && Patterns->Buffer[End - 1] == L' ') {
            End -= 1;
        }
        if (Start < End) {
            RtlPointUnicodeString(Pattern,
                                  Patterns->Buffer + Start,
                                  End - Start);
            return TRUE;
        }
    }

    return FALSE;
}

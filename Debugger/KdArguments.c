/*++

Module Name:

    KdArguments.c

Abstract:

    What was typed behind a command's name.

--*/

#include "KdArguments.h"

//
// The longest text that is looked at, bytes.
//

#define KD_MAXIMUM_TEXT             4096u

static
BOOLEAN
KdArgumentsNext(
    _Inout_ PCSZ *Text,
    _Inout_ PULONG Left,
    _Out_ PKD_ARGUMENT Argument
    )
{
    Argument->Text = NULL;
    Argument->Length = 0;
    while (*Left != 0 && **Text != 0 && (UCHAR)**Text <= ' ') {
        *Text += 1;
        *Left -= 1;
    }

    Argument->Text = *Text;
    while (*Left != 0 && (UCHAR)**Text > ' ') {
        *Text += 1;
        *Left -= 1;
        Argument->Length += 1;
    }

    return Argument->Length != 0;
}

static
BOOLEAN
KdArgumentsFail(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENT Argument,
    _In_z_ PCSZ Problem
    )
{
    RtlWriteText(&Context->Writer,
                 "%.*T: %s (!help says what there is)",
                 (int)Argument->Length,
                 Argument->Text,
                 Problem);
    KdContextEndLine(Context);
    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
KdArgumentsParse(
    PKD_CONTEXT Context,
    PCSTR Text,
    ULONG Known,
    ULONG WithValue,
    ULONG Most,
    PKD_ARGUMENTS Arguments
    )
{
    KD_ARGUMENT Argument;
    ULONG Left = KD_MAXIMUM_TEXT;
    ULONG Letter;

    RtlZeroBytes(Arguments, sizeof(*Arguments));
    if (Text == NULL) {
        return TRUE;
    }

    while (KdArgumentsNext(&Text, &Left, &Argument)) {

        if (Argument.Text[0] != '-') {

            if (Arguments->Count == Most ||
                Arguments->Count == KD_MAXIMUM_ARGUMENTS) {
                return KdArgumentsFail(Context,
                                       &Argument,
                                       "is one word too many");
            }

            Arguments->Items[Arguments->Count] = Argument;
            Arguments->Count += 1;
            continue;
        }

        Letter = Argument.Length == 2 ? (ULONG)(UCHAR)Argument.Text[1] - 'a'
                                      : 26;
        if (Letter >= 26 || ((Known >> Letter) & 1) == 0) {
            return KdArgumentsFail(Context,
                                   &Argument,
                                   "is no option of this command");
        }

        Arguments->Options |= 1u << Letter;
        if (((WithValue >> Letter) & 1) != 0 &&
            !KdArgumentsNext(&Text, &Left, &Arguments->Values[Letter])) {
            return KdArgumentsFail(Context, &Argument, "needs a value");
        }
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
KdArgumentsReadNumber(
    PCKD_ARGUMENT Argument,
    BOOLEAN IsDecimal,
    PULONGLONG Number
    )
{
    ULONG Base = IsDecimal ? 10 : 16;
    ULONG Index = 0;
    ULONG Digit;
    CHAR Character;

    *Number = 0;
    if (Argument->Length > 2 && Argument->Text[0] == '0') {
        Character = (CHAR)(Argument->Text[1] | 0x20);
        if (Character == 'n' || Character == 'x') {
            Base = Character == 'n' ? 10 : 16;
            Index = 2;
        }
    }

    for (; Index < Argument->Length; Index++) {

        Character = Argument->Text[Index];
        if (Character == '`' && Base == 16) {
            continue;
        }

        if (Character >= '0' && Character <= '9') {
            Digit = (ULONG)(Character - '0');
        } else {
            Character |= 0x20;
            Digit = Character >= 'a' && Character <= 'f'
                        ? (ULONG)(Character - 'a') + 10
                        : 16;
        }

        if (Digit >= Base || *Number > (~0ULL - Digit) / Base) {
            return FALSE;
        }

        *Number = *Number * Base + Digit;
    }

    return Argument->Length != 0;
}

static
CHAR
KdArgumentsUpcase(
    _In_ CHAR Character
    )
{
    return Character >= 'a' && Character <= 'z' ? (CHAR)(Character - 0x20)
                                                : Character;
}

_Use_decl_annotations_
BOOLEAN
KdArgumentsMatch(
    const CHAR *Pattern,
    ULONG PatternLength,
    const CHAR *Name,
    ULONG NameLength
    )
{
    ULONG AtPattern = 0;
    ULONG AtName = 0;
    ULONG Star = PatternLength;
    ULONG StarName = 0;

    //
    // Where it goes wrong, the last star takes one character more.
    //

    while (AtName < NameLength) {

        if (AtPattern < PatternLength && Pattern[AtPattern] == '*') {
            Star = AtPattern;
            StarName = AtName;
            AtPattern += 1;
        } else if (AtPattern < PatternLength &&
                   (Pattern[AtPattern] == '?' ||
                    KdArgumentsUpcase(Pattern[AtPattern]) ==
                        KdArgumentsUpcase(Name[AtName]))) {
            AtPattern += 1;
            AtName += 1;
        } else if (Star < PatternLength) {
            AtPattern = Star + 1;
            StarName += 1;
            AtName = StarName;
        } else {
            return FALSE;
        }
    }

    while (AtPattern < PatternLength && Pattern[AtPattern] == '*') {
        AtPattern += 1;
    }

    return AtPattern == PatternLength;
}

/*++

Module Name:

    ImportsEnvironment.c

Abstract:

    The settings of this DLL, where they are not those of the process's
    environment alone: a request's, or those that a process was started with.

--*/

#include "../Penter/PenterWord.h"
#include "ImportsEnvironment.h"

#define IMPORTS_PREFIX          L"TRACER_"
#define IMPORTS_PREFIX_LENGTH   7

static IMPORTS_SETTINGS ImportsKept;

//
// The length of what a name and its value have, with the null behind them.
//

static
ULONG
ImportsMeasureVariable(
    _In_z_ PCWSTR Text
    )
{
    return RtlLengthOfWideString(Text) + 1;
}

//
// Have two variables the same name?  Ours have letters of ASCII.
//

static
BOOLEAN
ImportsIsSameVariable(
    _In_z_ PCWSTR Left,
    _In_z_ PCWSTR Right
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    ULONG Index;

    for (Index = 0; ; Index += 1) {
        if (Rtl->RtlUpcaseUnicodeChar(Left[Index]) !=
            Rtl->RtlUpcaseUnicodeChar(Right[Index])) {

            return FALSE;
        }
        if (Left[Index] == 0 || Left[Index] == L'=') {
            return Left[Index] != 0;
        }
    }
}

static
BOOLEAN
ImportsHasVariable(
    _In_reads_(Length) PCWSTR Block,
    _In_ ULONG Length,
    _In_z_ PCWSTR Variable
    )
{
    ULONG Index;

    for (Index = 0;
         Index < Length;
         Index += ImportsMeasureVariable(Block + Index)) {

        if (ImportsIsSameVariable(Block + Index, Variable)) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
NTSTATUS
ImportsMakeEnvironment(
    PCIMPORTS_SETTINGS Settings
    )
{
    PIMPORTS State = &ImportsState;
    PCWSTR Pieces[3];
    ULONG Lengths[3];
    PWSTR Own;
    PWSTR Block;
    PCWSTR Text;
    PVOID Base;
    ULONG Length;
    ULONG Piece;
    ULONG Size;
    NTSTATUS Status;

    Own = State->GetEnvironment();
    if (Own == NULL) {
        return STATUS_NO_MEMORY;
    }

    Pieces[0] = Settings->Text;
    Lengths[0] = Settings->FirstLength;
    Pieces[1] = Own;
    for (Lengths[1] = 0; Own[Lengths[1]] != 0; ) {
        Lengths[1] += ImportsMeasureVariable(Own + Lengths[1]);
    }
    Pieces[2] = Pieces[0] + Lengths[0];
    Lengths[2] = Settings->SecondLength;

    Status = RtlAllocatePages(&State->Rtl,
                              ((SIZE_T)Lengths[0] + Lengths[1] + Lengths[2] +
                               2) * sizeof(WCHAR),
                              &Base);
    if (NT_SUCCESS(Status)) {
        Block = (PWSTR)Base;
        Length = 0;
        for (Piece = 0; Piece < RTL_NUMBER_OF(Pieces); Piece += 1) {
            for (Text = Pieces[Piece];
                 Text < Pieces[Piece] + Lengths[Piece];
                 Text += Size) {

                Size = ImportsMeasureVariable(Text);
                if (!ImportsHasVariable(Block, Length, Text)) {
                    RtlCopyBytes(Block + Length, Text, Size * sizeof(WCHAR));
                    Length += Size;
                }
            }
        }
        PenterEnvironment = Base;
    }

    (VOID)State->FreeEnvironment(Own);
    return Status;
}

_Use_decl_annotations_
VOID
ImportsForgetEnvironment(
    VOID
    )
{
    RtlFreePages(&ImportsState.Rtl, PenterEnvironment);
    PenterEnvironment = NULL;
}

static
BOOLEAN
ImportsIsSetting(
    _In_z_ PCWSTR Text
    )
{
    static const WCHAR Prefix[] = IMPORTS_PREFIX;
    ULONG Index;

    for (Index = 0; Index < IMPORTS_PREFIX_LENGTH; Index += 1) {
        if (ImportsState.Rtl.RtlUpcaseUnicodeChar(Text[Index]) !=
            Prefix[Index]) {

            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
ImportsKeepSettings(
    PCIMPORTS_SETTINGS Settings
    )
{
    PIMPORTS State = &ImportsState;
    PWSTR Own = NULL;
    PWSTR Text;
    PVOID Base;
    ULONG Length = 0;
    ULONG Index;
    ULONG Size;

    RtlFreePages(&State->Rtl, (PVOID)(ULONG_PTR)ImportsKept.Text);
    RtlZeroBytes(&ImportsKept, sizeof(ImportsKept));
    if (!State->AreChildren) {
        return;
    }

    if (Settings != NULL) {
        Length = Settings->FirstLength + Settings->SecondLength;
    } else {
        if (State->GetEnvironment == NULL || State->FreeEnvironment == NULL) {
            return;
        }
        Own = State->GetEnvironment();
        for (Index = 0; Own != NULL && Own[Index] != 0; ) {
            Index += ImportsMeasureVariable(Own + Index);
            Length = Index;
        }
    }

    if (Length != 0 &&
        NT_SUCCESS(RtlAllocatePages(&State->Rtl,
                                    (SIZE_T)Length * sizeof(WCHAR),
                                    &Base))) {
        Text = (PWSTR)Base;
        ImportsKept.Text = Text;
        if (Settings != NULL) {
            RtlCopyBytes(Text, Settings->Text, Length * sizeof(WCHAR));
            ImportsKept.FirstLength = Settings->FirstLength;
            ImportsKept.SecondLength = Settings->SecondLength;
        } else {
            for (Index = 0; Index < Length; Index += Size) {
                Size = ImportsMeasureVariable(Own + Index);
                if (ImportsIsSetting(Own + Index)) {
                    RtlCopyBytes(Text + ImportsKept.SecondLength,
                                 Own + Index,
                                 Size * sizeof(WCHAR));
                    ImportsKept.SecondLength += Size;
                }
            }
        }
    }

    if (Own != NULL) {
        (VOID)State->FreeEnvironment(Own);
    }
}

_Use_decl_annotations_
PCIMPORTS_SETTINGS
ImportsGetSettings(
    VOID
    )
{
    return &ImportsKept;
}

/*++

Module Name:

    KernelText.c

Abstract:

    Text and memory without a C runtime.

--*/

#include "Kernel.h"

//
// Takes the character at Index; a surrogate without its other half is the
// replacement character.
//

static
ULONG
KernelTextNext(
    _In_reads_(LengthInChars) const WCHAR *Text,
    _In_ ULONG LengthInChars,
    _Inout_ PULONG Index
    )
{
    ULONG First;
    ULONG Second;

    First = Text[*Index];
    *Index += 1;
    if (First < 0xD800 || First > 0xDFFF) {
        return First;
    }
    if (First < 0xDC00 && *Index < LengthInChars) {
        Second = Text[*Index];
        if (Second >= 0xDC00 && Second <= 0xDFFF) {
            *Index += 1;
            return 0x10000 + ((First - 0xD800) << 10) + (Second - 0xDC00);
        }
    }
    return 0xFFFD;
}

_Use_decl_annotations_
ULONG
KernelTextToUtf8(
    const WCHAR *Text,
    ULONG LengthInChars,
    PBYTE Buffer,
    ULONG Size
    )
{
    ULONG Index;
    ULONG Length;
    ULONG Character;
    ULONG Bytes;
    ULONG Byte;

    Index = 0;
    Length = 0;
    while (Index < LengthInChars) {
        Character = KernelTextNext(Text, LengthInChars, &Index);
        Bytes = Character < 0x80 ? 1 :
                Character < 0x800 ? 2 :
                Character < 0x10000 ? 3 : 4;
        if (Bytes > Size - Length) {
            break;
        }
        if (Bytes == 1) {
            Buffer[Length] = (BYTE)Character;
        } else {
            for (Byte = Bytes - 1; Byte > 0; Byte -= 1) {
                Buffer[Length + Byte] = (BYTE)(0x80 | (Character & 0x3F));
                Character >>= 6;
            }
            Buffer[Length] = (BYTE)((0xF00 >> Bytes) | Character);
        }
        Length += Bytes;
    }
    return Length;
}

static
WCHAR
KernelTextLower(
    _In_ WCHAR Character
    )
{
    if (Character >= L'A' && Character <= L'Z') {
        return (WCHAR)(Character + (L'a' - L'A'));
    }
    return Character;
}

_Use_decl_annotations_
BOOLEAN
KernelTextBeginsWith(
    const WCHAR *Text,
    ULONG LengthInChars,
    const WCHAR *Prefix,
    ULONG PrefixLengthInChars
    )
{
    ULONG Index;

    if (PrefixLengthInChars > LengthInChars) {
        return FALSE;
    }
    for (Index = 0; Index < PrefixLengthInChars; Index += 1) {
        if (KernelTextLower(Text[Index]) != KernelTextLower(Prefix[Index])) {
            return FALSE;
        }
    }
    return TRUE;
}

_Use_decl_annotations_
UNICODE_STRING
KernelTextString(
    PCWSTR Text
    )
{
    UNICODE_STRING String;
    ULONG Length;

    Length = 0;
    while (Text[Length] != 0) {
        Length += 1;
    }
    String.Buffer = (PWSTR)Text;
    String.Length = (USHORT)(Length * sizeof(WCHAR));
    String.MaximumLength = String.Length;
    return String;
}

_Use_decl_annotations_
UNICODE_STRING
KernelTextLastName(
    PCUNICODE_STRING Path
    )
{
    UNICODE_STRING Name;
    ULONG Length;
    ULONG Index;

    Length = Path->Length / sizeof(WCHAR);
    for (Index = Length; Index > 0; Index -= 1) {
        if (Path->Buffer[Index - 1] == L'\\') {
            break;
        }
    }
    Name.Buffer = Path->Buffer + Index;
    Name.Length = (USHORT)((Length - Index) * sizeof(WCHAR));
    Name.MaximumLength = Name.Length;
    return Name;
}

_Use_decl_annotations_
VOID
KernelTextCopy(
    PVOID Memory,
    const VOID *Source,
    SIZE_T Size
    )
{
    volatile BYTE *Bytes;
    SIZE_T Index;

    Bytes = (volatile BYTE *)Memory;
    for (Index = 0; Index < Size; Index += 1) {
        Bytes[Index] = ((const BYTE *)Source)[Index];
    }
}

_Use_decl_annotations_
VOID
KernelTextFill(
    PVOID Memory,
    SIZE_T Size
    )
{
    volatile BYTE *Bytes;
    SIZE_T Index;

    Bytes = (volatile BYTE *)Memory;
    for (Index = 0; Index < Size; Index += 1) {
        Bytes[Index] = 0;
    }
}

/*++

Module Name:

    ImageDwarfForm.c

Abstract:

    Reads the numbers and strings that DWARF is made of.  ImageDwarfForm.h
    says what the routines promise.

--*/

#include "ImageDwarfForm.h"

//
// Of ranges that overlap, how many below the nearest are looked at.
//

#define READER_DWARF_OVERLAPS 16

//
// The first capacity of an array, in elements.
//

#define READER_DWARF_FIRST_CAPACITY 256

#define READER_LEB128_MORE 0x80
#define READER_LEB128_SIGN 0x40
#define READER_LENGTH_64 0xffffffffu
#define READER_LENGTH_RESERVED 0xfffffff0u

_Use_decl_annotations_
VOID
ImageSetCursor(
    PREADER_CURSOR Cursor,
    PCREADER_DWARF_BYTES Section,
    ULONGLONG Offset,
    ULONGLONG End
    )
{
    if (Section->Bytes == NULL) {
        Cursor->Next = NULL;
        Cursor->End = NULL;
        Cursor->IsBad = TRUE;
        return;
    }

    if (End > Section->SizeInBytes) {
        End = Section->SizeInBytes;
    }

    Cursor->IsBad = (BOOLEAN)(Offset > End);
    if (Cursor->IsBad) {
        Offset = End;
    }

    Cursor->Next = Section->Bytes + Offset;
    Cursor->End = Section->Bytes + End;
}

_Use_decl_annotations_
ULONGLONG
ImageReadUnsigned(
    PREADER_CURSOR Cursor,
    ULONG SizeInBytes
    )
{
    ULONGLONG Value = 0;
    ULONG Index;

    if ((SIZE_T)(Cursor->End - Cursor->Next) < SizeInBytes) {
        Cursor->Next = Cursor->End;
        Cursor->IsBad = TRUE;
        return 0;
    }

    for (Index = 0; Index < SizeInBytes; Index++) {
        Value |= (ULONGLONG)Cursor->Next[Index] << (8 * Index);
    }

    Cursor->Next += SizeInBytes;
    return Value;
}

//
// Reads a number in LEB128 without its sign; 0 if the data end in it.
// Last: its last byte, which has the sign.
// Shift: how many bits of the value were given.
//

static
ULONGLONG
ImageReadLeb(
    _Inout_ PREADER_CURSOR Cursor,
    _Out_ PUCHAR Last,
    _Out_ PULONG Shift
    )
{
    ULONGLONG Value = 0;

    *Shift = 0;
    do {

        if (Cursor->Next == Cursor->End) {
            Cursor->IsBad = TRUE;
            *Last = 0;
            return 0;
        }

        *Last = *Cursor->Next;
        Cursor->Next += 1;
        if (*Shift < 64) {
            Value |= (ULONGLONG)(*Last & 0x7f) << *Shift;
            *Shift += 7;
        }
    } while ((*Last & READER_LEB128_MORE) != 0);

    return Value;
}

_Use_decl_annotations_
ULONGLONG
ImageReadUleb(
    PREADER_CURSOR Cursor
    )
{
    UCHAR Last;
    ULONG Shift;

    return ImageReadLeb(Cursor, &Last, &Shift);
}

_Use_decl_annotations_
ULONGLONG
ImageReadSleb(
    PREADER_CURSOR Cursor
    )
{
    UCHAR Last;
    ULONG Shift;
    ULONGLONG Value = ImageReadLeb(Cursor, &Last, &Shift);

    if ((Last & READER_LEB128_SIGN) != 0 && Shift < 64) {
        Value |= ~0ULL << Shift;
    }

    return Value;
}

_Use_decl_annotations_
VOID
ImageSkipBytes(
    PREADER_CURSOR Cursor,
    ULONGLONG SizeInBytes
    )
{
    if ((ULONGLONG)(Cursor->End - Cursor->Next) < SizeInBytes) {
        Cursor->Next = Cursor->End;
        Cursor->IsBad = TRUE;
        return;
    }

    Cursor->Next += SizeInBytes;
}

_Use_decl_annotations_
const UCHAR *
ImageReadString(
    PREADER_CURSOR Cursor,
    PULONGLONG LengthInBytes
    )
{
    const UCHAR *Start = Cursor->Next;
    const UCHAR *Next;

    for (Next = Start; Next != Cursor->End && *Next != 0; Next++) {
        ;
    }

    if (Next == Cursor->End) {
        Cursor->Next = Cursor->End;
        Cursor->IsBad = TRUE;
        *LengthInBytes = 0;
        return NULL;
    }

    *LengthInBytes = (ULONGLONG)(Next - Start);
    Cursor->Next = Next + 1;
    return Start;
}

_Use_decl_annotations_
ULONGLONG
ImageReadLength(
    PREADER_CURSOR Cursor,
    UCHAR *OffsetSize
    )
{
    ULONGLONG Length;

    *OffsetSize = 4;
    Length = ImageReadUnsigned(Cursor, 4);
    if (Length == READER_LENGTH_64) {
        *OffsetSize = 8;
        Length = ImageReadUnsigned(Cursor, 8);
    } else if (Length >= READER_LENGTH_RESERVED) {
        Cursor->IsBad = TRUE;
    }

    if (Cursor->IsBad ||
        Length > (ULONGLONG)(Cursor->End - Cursor->Next)) {
        Cursor->IsBad = TRUE;
        return 0;
    }

    return Length;
}

_Use_decl_annotations_
ULONG
ImageGetFormSize(
    PCREADER_DWARF_ENCODING Encoding,
    ULONGLONG Form
    )
{
    switch (Form) {

    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;

    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;

    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;

    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;

    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;

    case DW_FORM_addr:
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;

    case DW_FORM_data16:
        return 16;

    case DW_FORM_ref_addr:
        if (Encoding->Version <= 2) {
            return READER_DWARF_ADDRESS_SIZE;
        }
        return Encoding->OffsetSize;

    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return Encoding->OffsetSize;

    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_block:
    case DW_FORM_exprloc:
    case DW_FORM_string:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return READER_FORM_VARIABLE;

    default:
        return READER_FORM_UNKNOWN;
    }
}

_Use_decl_annotations_
VOID
ImageReadForm(
    PREADER_CURSOR Cursor,
    PCREADER_DWARF_ENCODING Encoding,
    ULONG Form,
    PREADER_DWARF_VALUE Value
    )
{
    ULONG Size;

    Value->Form = Form;
    Value->Bytes = Cursor->Next;

    switch (Form) {

    case DW_FORM_implicit_const:
        return;

    case DW_FORM_block1:
        Value->Value = ImageReadUnsigned(Cursor, 1);
        break;

    case DW_FORM_block2:
        Value->Value = ImageReadUnsigned(Cursor, 2);
        break;

    case DW_FORM_block4:
        Value->Value = ImageReadUnsigned(Cursor, 4);
        break;

    case DW_FORM_block:
    case DW_FORM_exprloc:
        Value->Value = ImageReadUleb(Cursor);
        break;

    case DW_FORM_data16:
        Value->Value = 16;
        break;

    case DW_FORM_string:
        Value->Bytes = ImageReadString(Cursor, &Value->Value);
        return;

    case DW_FORM_sdata:
        Value->Value = ImageReadSleb(Cursor);
        return;

    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        Value->Value = ImageReadUleb(Cursor);
        return;

    default:
        Size = ImageGetFormSize(Encoding, Form);
        if (Size > 8) {
            Cursor->IsBad = TRUE;
            return;
        }
        Value->Value = ImageReadUnsigned(Cursor, Size);
        return;
    }

    Value->Bytes = Cursor->Next;
    ImageSkipBytes(Cursor, Value->Value);
}

_Use_decl_annotations_
const UCHAR *
ImageFindString(
    PCREADER_DWARF_BYTES Section,
    ULONGLONG Offset,
    ULONG LimitInBytes,
    PULONG LengthInBytes
    )
{
    const UCHAR *Bytes;
    ULONG Length = 0;
    ULONG Limit;

    *LengthInBytes = 0;
    if (Offset >= Section->SizeInBytes) {
        return NULL;
    }

    Bytes = Section->Bytes + Offset;
    Limit = Section->SizeInBytes - (ULONG)Offset;
    if (Limit > LimitInBytes) {
        Limit = LimitInBytes;
    }

    while (Length < Limit && Bytes[Length] != 0) {
        Length += 1;
    }

    if (Length == Limit && Limit != LimitInBytes) {
        return NULL;
    }

    *LengthInBytes = Length;
    return Bytes;
}

_Use_decl_annotations_
BOOLEAN
ImageGrowDwarfArray(
    PCALLOCATOR Allocator,
    PREADER_DWARF_ARRAY Array,
    ULONG ElementInBytes,
    ULONG Number
    )
{
    const UCHAR *Old = (const UCHAR *)Array->Elements;
    PUCHAR New;
    ULONGLONG Capacity;
    SIZE_T Index;
    SIZE_T Used;

    if (Number <= Array->Capacity - Array->Number) {
        return TRUE;
    }

    Capacity = 2 * (ULONGLONG)Array->Capacity;
    if (Capacity < (ULONGLONG)Array->Number + Number) {
        Capacity = (ULONGLONG)Array->Number + Number;
    }
    if (Capacity < READER_DWARF_FIRST_CAPACITY) {
        Capacity = READER_DWARF_FIRST_CAPACITY;
    }
    if (Capacity > 0xffffffffu) {
        return FALSE;
    }

    New = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                      (SIZE_T)Capacity * ElementInBytes);
    if (New == NULL) {
        return FALSE;
    }

    Used = (SIZE_T)Array->Number * ElementInBytes;
    for (Index = 0; Index < Used; Index++) {
        New[Index] = Old[Index];
    }

    Array->Elements = New;
    Array->Capacity = (ULONG)Capacity;
    Allocator->Free(Allocator->Context, (PVOID)Old);
    return TRUE;
}

_Use_decl_annotations_
VOID
ImageFreeDwarfArray(
    PCALLOCATOR Allocator,
    PREADER_DWARF_ARRAY Array
    )
{
    Allocator->Free(Allocator->Context, Array->Elements);
    Array->Elements = NULL;
    Array->Number = 0;
    Array->Capacity = 0;
}

//
// Says which of two pairs comes first. Of ranges that begin at one place the
// longer one does, so that the shorter one is found first from behind; of
// equal ranges the one that was read first is found first.
//
// Second: the other.
//

static
BOOLEAN
ImageIsPairBefore(
    _In_ PCREADER_DWARF_PAIR First,
    _In_ PCREADER_DWARF_PAIR Second
    )
{
    if (First->Key != Second->Key) {
        if (READER_DWARF_START(First) != READER_DWARF_START(Second)) {
            return (BOOLEAN)(READER_DWARF_START(First) <
                             READER_DWARF_START(Second));
        }
        return (BOOLEAN)(READER_DWARF_END(First) > READER_DWARF_END(Second));
    }

    return (BOOLEAN)(First->Value > Second->Value);
}

//
// Makes a heap (the last pair on top) of a parent and its two heaps.
// Parent: the parent's index.
// Number: how many pairs there are.
//

static
VOID
ImageSiftPair(
    _Inout_updates_(Number) PREADER_DWARF_PAIR Pairs,
    _In_ ULONG Parent,
    _In_ ULONG Number
    )
{
    READER_DWARF_PAIR Moving = Pairs[Parent];
    ULONGLONG Child;

    for (;;) {
        Child = 2 * (ULONGLONG)Parent + 1;
        if (Child >= Number) {
            break;
        }
        if (Child + 1 < Number &&
            ImageIsPairBefore(&Pairs[Child], &Pairs[Child + 1])) {
            Child += 1;
        }
        if (!ImageIsPairBefore(&Moving, &Pairs[Child])) {
            break;
        }
        Pairs[Parent] = Pairs[Child];
        Parent = (ULONG)Child;
    }

    Pairs[Parent] = Moving;
}

_Use_decl_annotations_
VOID
ImageSortDwarfPairs(
    PREADER_DWARF_PAIR Pairs,
    ULONG Number
    )
{
    READER_DWARF_PAIR Last;
    ULONG Index;

    //
    // Compilers write most tables in order.
    //

    for (Index = 1; Index < Number; Index++) {
        if (!ImageIsPairBefore(&Pairs[Index - 1], &Pairs[Index])) {
            break;
        }
    }

    if (Index >= Number) {
        return;
    }

    for (Index = Number / 2; Index > 0; Index--) {
        ImageSiftPair(Pairs, Index - 1, Number);
    }

    for (Index = Number; Index > 1; Index--) {
        Last = Pairs[Index - 1];
        Pairs[Index - 1] = Pairs[0];
        Pairs[0] = Last;
        ImageSiftPair(Pairs, 0, Index - 1);
    }
}

_Use_decl_annotations_
PCREADER_DWARF_PAIR
ImageFindDwarfPair(
    PCREADER_DWARF_PAIR Pairs,
    ULONG Number,
    ULONG Rva
    )
{
    ULONG First = 0;
    ULONG Last = Number;
    ULONG Middle;
    ULONG Count;

    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (READER_DWARF_START(&Pairs[Middle]) <= Rva) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    for (Count = 0; First > 0 && Count < READER_DWARF_OVERLAPS; Count++) {
        First -= 1;
        if (Rva < READER_DWARF_END(&Pairs[First])) {
            return &Pairs[First];
        }
    }

    return NULL;
}

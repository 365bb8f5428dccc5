/*++

Module Name:

    StringTableBuild.c

Abstract:

    Sorts the prefixes of a string table, and fills a flat table.

--*/

#include "StringTablePrivate.h"

_Use_decl_annotations_
VOID
StringTableCopyFolded(
    PUCHAR Destination,
    const UCHAR *Source,
    ULONG LengthInBytes,
    ULONG Fold
    )
/*++

Routine Description:

    Copies and folds bytes.

Arguments:

    Destination - Receives them.

    Source - The bytes.

    LengthInBytes - Their number.

    Fold - How they are folded.

Return Value:

    None.

--*/
{
    volatile UCHAR *Target;
    ULONGLONG Value;
    ULONG Offset;
    ULONG Index;
    ULONG Part;

    //
    // Volatile, so that the loop does not become a call to memcpy, which
    // there is none of.
    //

    Target = Destination;
    for (Offset = 0; Offset < LengthInBytes; Offset += Part) {
        Part = LengthInBytes - Offset > 8 ? 8 : LengthInBytes - Offset;
        Value = StringTableLoadPart(Source + Offset, Part);
        Value = StringTableFold64(Value, Fold);
        for (Index = 0; Index < Part; Index += 1) {
            Target[Offset + Index] = (UCHAR)(Value >> (8 * Index));
        }
    }
}

//
// Compares two items.
// Second: another.
// Common: the number of bytes that they are known to have in common.
// Fold: how they are folded.
// IsSecondLess: whether the second one comes before the first.
// Returns the number of bytes that they have in common.
//

static
ULONG
StringTableCompareItems(
    _In_ PCSTRING_TABLE_ITEM First,
    _In_ PCSTRING_TABLE_ITEM Second,
    _In_ ULONG Common,
    _In_ ULONG Fold,
    _Out_ PBOOLEAN IsSecondLess
    )
{
    ULONGLONG FirstValue;
    ULONGLONG SecondValue;
    ULONG Limit;
    ULONG Shift;
    ULONG Part;

    Limit = First->LengthInBytes < Second->LengthInBytes ?
                First->LengthInBytes : Second->LengthInBytes;

    for (Common &= ~1u; Common < Limit; Common += Part) {

        Part = Limit - Common > 8 ? 8 : Limit - Common;
        FirstValue = StringTableLoadPart(First->Bytes + Common, Part);
        SecondValue = StringTableLoadPart(Second->Bytes + Common, Part);
        FirstValue = StringTableFold64(FirstValue, Fold);
        SecondValue = StringTableFold64(SecondValue, Fold);

        if (FirstValue != SecondValue) {
            Shift = StringTableLowestBit(FirstValue ^ SecondValue) & ~7u;
            *IsSecondLess = (BOOLEAN)((UCHAR)(SecondValue >> Shift) <
                                      (UCHAR)(FirstValue >> Shift));
            return Common + Shift / 8;
        }
    }

    *IsSecondLess =
        (BOOLEAN)(Second->LengthInBytes < First->LengthInBytes);
    return Limit;
}

//
// Merges two sorted runs. Of two items that are both not before the last one
// that was written, the one that has more in common with it comes first; only
// if both have as much are bytes looked at, and only those behind.
//
// First: the first run; of equal items its own come first.
// Fold: how they are folded.
//

static
VOID
StringTableMerge(
    _In_ PCSTRING_TABLE_ITEM First,
    _In_ PCSTRING_TABLE_ITEM FirstEnd,
    _In_ PCSTRING_TABLE_ITEM Second,
    _In_ PCSTRING_TABLE_ITEM SecondEnd,
    _Out_ PSTRING_TABLE_ITEM Target,
    _In_ ULONG Fold
    )
{
    ULONG FirstCommon;
    ULONG SecondCommon;
    ULONG Common;
    BOOLEAN IsSecond;

    FirstCommon = 0;
    SecondCommon = 0;

    while (First != FirstEnd && Second != SecondEnd) {

        if (FirstCommon != SecondCommon) {
            IsSecond = (BOOLEAN)(SecondCommon > FirstCommon);
            Common = IsSecond ? FirstCommon : SecondCommon;
        } else {
            Common = StringTableCompareItems(First,
                                             Second,
                                             FirstCommon,
                                             Fold,
                                             &IsSecond);
        }

        if (IsSecond) {
            *Target = *Second;
            Target->CommonInBytes = SecondCommon;
            FirstCommon = Common;
            Second += 1;
            SecondCommon = Second != SecondEnd ? Second->CommonInBytes : 0;
        } else {
            *Target = *First;
            Target->CommonInBytes = FirstCommon;
            SecondCommon = Common;
            First += 1;
            FirstCommon = First != FirstEnd ? First->CommonInBytes : 0;
        }

        Target += 1;
    }

    for (; First != FirstEnd; First += 1, Target += 1) {
        *Target = *First;
        Target->CommonInBytes = FirstCommon;
        FirstCommon = First + 1 != FirstEnd ? First[1].CommonInBytes : 0;
    }

    for (; Second != SecondEnd; Second += 1, Target += 1) {
        *Target = *Second;
        Target->CommonInBytes = SecondCommon;
        SecondCommon = Second + 1 != SecondEnd ? Second[1].CommonInBytes : 0;
    }
}

_Use_decl_annotations_
PSTRING_TABLE_ITEM
StringTableSort(
    PSTRING_TABLE_ITEM Items,
    PSTRING_TABLE_ITEM Others,
    ULONG NumberOfItems,
    ULONG Fold,
    PULONG NumberOfDifferentItems
    )
/*++

Routine Description:

    Sorts items, and leaves out those that equal an earlier one: a merge sort
    that looks at no byte of an item more often than it has to, and has no bad
    case.

Arguments:

    Items - The items, by index; nothing in common yet.

    Others - Room for as many.

    NumberOfItems - Their number, at least 1.

    Fold - How they are folded.

    NumberOfDifferentItems - Receives the number of those that are left.

Return Value:

    The sorted items: Items or Others.

--*/
{
    PSTRING_TABLE_ITEM Swap;
    ULONGLONG Width;
    ULONGLONG Begin;
    ULONGLONG Middle;
    ULONGLONG End;
    ULONG Count;
    ULONG Index;

    for (Width = 1; Width < NumberOfItems; Width *= 2) {

        for (Begin = 0; Begin < NumberOfItems; Begin = End) {
            Middle = Begin + Width < NumberOfItems ?
                         Begin + Width : NumberOfItems;
            End = Middle + Width < NumberOfItems ?
                      Middle + Width : NumberOfItems;
            StringTableMerge(Items + Begin,
                             Items + Middle,
                             Items + Middle,
                             Items + End,
                             Others + Begin,
                             Fold);
        }

        Swap = Items;
        Items = Others;
        Others = Swap;
    }

    Items[0].CommonInBytes = 0;
    Count = 1;
    for (Index = 1; Index < NumberOfItems; Index += 1) {
        if (Items[Index].CommonInBytes == Items[Index].LengthInBytes &&
            Items[Index].CommonInBytes == Items[Count - 1].LengthInBytes) {
            continue;
        }
        Items[Count] = Items[Index];
        Count += 1;
    }

    *NumberOfDifferentItems = Count;
    return Items;
}

//
// Chooses the places of a slot's key, one after the other: each time the one
// that leaves the fewest other slots with the same bytes, and of those that
// leave as few the last, since prefixes tend to begin alike.
//
// Flat: the table, with the slots' bytes and lengths.
// NumberOfSlots: the number of slots in use.
// CharacterSize: 2 if only every other byte tells much.
//

static
VOID
StringTableChoosePlaces(
    _In_ PCSTRING_TABLE_FLAT Flat,
    _In_ ULONG NumberOfSlots,
    _In_ ULONG Slot,
    _In_ ULONG NumberOfPlaces,
    _In_ ULONG CharacterSize,
    _Out_writes_(NumberOfPlaces) PUCHAR Places,
    _Out_writes_(NumberOfPlaces) PUCHAR Keys
    )
{
    ULONGLONG Remaining;
    ULONG Fewest;
    ULONG Window;
    ULONG Chosen;
    ULONG Count;
    ULONG Place;
    ULONG Other;
    ULONG Alike;
    ULONG Best;

    Window = Flat->LengthsInBytes[Slot];
    if (Window > STRING_TABLE_KEY_WINDOW_IN_BYTES) {
        Window = STRING_TABLE_KEY_WINDOW_IN_BYTES;
    }

    Remaining = ~0ULL >> (STRING_TABLE_SLOTS - NumberOfSlots);
    Chosen = 0;

    for (Count = 0; Count < NumberOfPlaces; Count += 1) {

        Best = 0;
        Fewest = 0xFFFFFFFF;
        for (Place = 0; Place < Window; Place += CharacterSize) {

            Alike = 0;
            for (Other = 0; Other < NumberOfSlots; Other += 1) {
                if ((Remaining & (1ULL << Other)) != 0 &&
                    Flat->Bytes[Other][Place] == Flat->Bytes[Slot][Place]) {
                    Alike += 1;
                }
            }

            if ((Chosen & (1u << Place)) != 0) {
                Alike += NumberOfSlots;
            }

            if (Alike <= Fewest) {
                Fewest = Alike;
                Best = Place;
            }
        }

        Chosen |= 1u << Best;
        Places[Count] = (UCHAR)Best;
        Keys[Count] = Flat->Bytes[Slot][Best];

        for (Other = 0; Other < NumberOfSlots; Other += 1) {
            if (Flat->Bytes[Other][Best] != Flat->Bytes[Slot][Best]) {
                Remaining &= ~(1ULL << Other);
            }
        }
    }
}

_Use_decl_annotations_
VOID
StringTableFillFlat(
    PSTRING_TABLE Table,
    PSTRING_TABLE_ITEM Items,
    ULONG NumberOfItems,
    ULONG CharacterSize,
    PUCHAR Pool
    )
/*++

Routine Description:

    Fills a flat table.

Arguments:

    Table - The table; zeroed but for what is not flat.

    Items - The items, all different.  Their order is lost.

    NumberOfItems - Their number, at most STRING_TABLE_SLOTS.

    CharacterSize - The size of a character, 1 or 2.

    Pool - Zeroed memory for the prefixes.

Return Value:

    None.

--*/
{
    PSTRING_TABLE_FLAT Flat;
    PSTRING_TABLE_ITEM Item;
    ULONG Index;
    ULONG Place;
    ULONG Part;
    ULONG Slot;
    ULONG At;

    Flat = &Table->Flat;

    for (Slot = 0; Slot < NumberOfItems; Slot += 1) {

        Item = NULL;
        for (Index = 0; Index < NumberOfItems; Index += 1) {
            if (Items[Index].LengthInBytes != 0 &&
                (Item == NULL ||
                 Items[Index].LengthInBytes > Item->LengthInBytes)) {
                Item = &Items[Index];
            }
        }

        StringTableCopyFolded(Pool,
                              Item->Bytes,
                              Item->LengthInBytes,
                              Table->Fold);
        Part = Item->LengthInBytes < STRING_TABLE_SLOT_IN_BYTES ?
                   Item->LengthInBytes : STRING_TABLE_SLOT_IN_BYTES;
        StringTableCopyFolded(Flat->Bytes[Slot],
                              Item->Bytes,
                              Part,
                              Table->Fold);

        Flat->Prefixes[Slot] = Pool;
        Flat->Indexes[Slot] = Item->Index;
        Flat->LengthsInBytes[Slot] = Item->LengthInBytes;
        Flat->AreLong32[Slot] = (Item->LengthInBytes > 32);
        Flat->AreLong64[Slot] = (Item->LengthInBytes > 64);
        Flat->Masks[Slot] = Part == 64 ? ~0ULL : (1ULL << Part) - 1;

        Pool += (Item->LengthInBytes + STRING_TABLE_ALIGNMENT - 1) &
                ~(ULONG)(STRING_TABLE_ALIGNMENT - 1);
        Item->LengthInBytes = 0;
    }

    for (Slot = 0; Slot < STRING_TABLE_SLOTS; Slot += 1) {

        At = Slot;
        if (NumberOfItems > STRING_TABLE_FEW_SLOTS) {
            At = (Slot & ~24u) | (Slot & 8) << 1 | (Slot & 16) >> 1;
        }

        if (Slot < NumberOfItems) {
            StringTableChoosePlaces(Flat,
                                    NumberOfItems,
                                    Slot,
                                    2,
                                    CharacterSize,
                                    Flat->Places2[At],
                                    Flat->Keys2[At]);
            StringTableChoosePlaces(Flat,
                                    NumberOfItems,
                                    Slot,
                                    4,
                                    CharacterSize,
                                    Flat->Places4[Slot],
                                    Flat->Keys4[Slot]);
            continue;
        }

        for (Place = 0; Place < 4; Place += 1) {
            Flat->Places2[At][Place & 1] = STRING_TABLE_NO_PLACE;
            Flat->Keys2[At][Place & 1] = 0xFF;
            Flat->Places4[Slot][Place] = STRING_TABLE_NO_PLACE;
            Flat->Keys4[Slot][Place] = 0xFF;
        }
    }

    Flat->SlotMask = ~0ULL >> (STRING_TABLE_SLOTS - NumberOfItems);
    Flat->Indexes[STRING_TABLE_SLOTS] = STRING_TABLE_NOT_FOUND;
    if (NumberOfItems <= STRING_TABLE_FEW_SLOTS) {
        Flat->Indexes[STRING_TABLE_FEW_SLOTS] = STRING_TABLE_NOT_FOUND;
    }
}

/*++

Module Name:

    StringTableTrie.c

Abstract:

    Makes the trie of a string table from its sorted prefixes.

--*/

#include "StringTablePrivate.h"

//
// How often a node's hash is tried with another seed, and a bucket with
// another displacement.
//

#define STRING_TABLE_SEEDS 8
#define STRING_TABLE_DISPLACEMENTS 65536

STRING_TABLE_INLINE
BOOLEAN
StringTableIsLeaf(
    _In_ PCSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Tells whether no other item begins with an item: if one did, so would the
    next.

Arguments:

    Items - The items, in order.

    NumberOfItems - Their number.

    Index - The item.

Return Value:

    TRUE if it is a leaf.

--*/
{
    return Index + 1 == NumberOfItems ||
           Items[Index + 1].CommonInBytes < Items[Index].LengthInBytes;
}

STRING_TABLE_INLINE
BOOLEAN
StringTableHasBytes(
    _In_ PCSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Tells whether a search may compare its string with an item's own bytes: with
    those of a leaf, and of what is short.

Arguments:

    Items - The items, in order.

    NumberOfItems - Their number.

    Index - The item.

Return Value:

    TRUE if its bytes are in the table.

--*/
{
    return Items[Index].LengthInBytes <= STRING_TABLE_SHORT_IN_BYTES ||
           StringTableIsLeaf(Items, NumberOfItems, Index);
}

_Use_decl_annotations_
ULONGLONG
StringTableLayOutRecords(
    PSTRING_TABLE_ITEM Items,
    ULONG NumberOfItems
    )
/*++

Routine Description:

    Finds what each item begins with, and gives each a place.

    Jumps are those of Myers' skew-binary lists: an item jumps as far as its
    parent's jump does twice, if both are as far, and to its parent otherwise.
    So a way up by jumps, and parents where a jump is too far, takes no more
    steps than twice the logarithm of its length.

Arguments:

    Items - The items, in order.

    NumberOfItems - Their number.

Return Value:

    The size of the records in bytes.

--*/
{
    PSTRING_TABLE_ITEM Item;
    PSTRING_TABLE_ITEM Above;
    PSTRING_TABLE_ITEM Far;
    ULONGLONG Units;
    ULONG Parent;
    ULONG Index;

    Units = 2;
    for (Index = 0; Index < NumberOfItems; Index += 1) {

        Item = &Items[Index];

        Parent = Index == 0 ? STRING_TABLE_NO_ITEM : Index - 1;
        while (Parent != STRING_TABLE_NO_ITEM &&
               Items[Parent].LengthInBytes > Item->CommonInBytes) {
            Parent = Items[Parent].Parent;
        }

        Item->Parent = Parent;
        Item->Jump = Parent;
        Item->Depth = 1;
        Item->TopInBytes = Item->LengthInBytes;
        if (Parent != STRING_TABLE_NO_ITEM) {

            Above = &Items[Parent];
            Item->Depth = Above->Depth + 1;
            Item->TopInBytes = Above->TopInBytes;
            if (Above->Jump != STRING_TABLE_NO_ITEM) {
                Far = &Items[Above->Jump];
                if (Above->Depth - Far->Depth ==
                    Far->Depth - (Far->Jump == STRING_TABLE_NO_ITEM ?
                                      0 : Items[Far->Jump].Depth)) {
                    Item->Jump = Far->Jump;
                }
            }
        }

        if (!StringTableHasBytes(Items, NumberOfItems, Index)) {
            if (Units < STRING_TABLE_MAXIMUM_UNITS) {
                Item->Record = (ULONG)Units;
            }
            Units += 1;
        }
    }

    //
    // What has bytes begins on a cache line.
    //

    Units = (Units + 3) & ~3ULL;
    for (Index = 0; Index < NumberOfItems; Index += 1) {
        Item = &Items[Index];
        if (StringTableHasBytes(Items, NumberOfItems, Index)) {
            if (Units < STRING_TABLE_MAXIMUM_UNITS) {
                Item->Record = (ULONG)Units;
            }
            Units += (sizeof(STRING_TABLE_LEAF) + Item->LengthInBytes +
                      STRING_TABLE_ALIGNMENT - 1) /
                     STRING_TABLE_ALIGNMENT * 4;
        }
    }

    return (Units << STRING_TABLE_UNIT_SHIFT) + STRING_TABLE_PAD_IN_BYTES;
}

_Use_decl_annotations_
VOID
StringTableFillRecords(
    PCSTRING_TABLE_ITEM Items,
    ULONG NumberOfItems,
    ULONG Fold,
    PUCHAR Records
    )
/*++

Routine Description:

    Writes the records, and the bytes of the leaves.

Arguments:

    Items - The items, in order.

    NumberOfItems - Their number.

    Fold - How they are folded.

    Records - Receives the records; zeroed.

Return Value:

    None.

--*/
{
    PSTRING_TABLE_RECORD Record;
    PCSTRING_TABLE_ITEM Item;
    PSTRING_TABLE_LEAF Leaf;
    ULONG Index;

    Leaf = (PSTRING_TABLE_LEAF)Records;
    Leaf->Record.Index = STRING_TABLE_NOT_FOUND;
    Leaf->Answers[0].Index = STRING_TABLE_NOT_FOUND;
    Leaf->Answers[1].Index = STRING_TABLE_NOT_FOUND;

    for (Index = 0; Index < NumberOfItems; Index += 1) {

        Item = &Items[Index];
        Record = (PSTRING_TABLE_RECORD)
            (Records + ((SIZE_T)Item->Record << STRING_TABLE_UNIT_SHIFT));
        Record->LengthInBytes = Item->LengthInBytes;
        Record->Index = Item->Index;
        if (Item->Parent != STRING_TABLE_NO_ITEM) {
            Record->Parent = Items[Item->Parent].Record;
        }
        if (Item->Jump != STRING_TABLE_NO_ITEM) {
            Record->Jump = Items[Item->Jump].Record;
        }

        if (StringTableHasBytes(Items, NumberOfItems, Index)) {

            Leaf = (PSTRING_TABLE_LEAF)Record;
            Leaf->Answers[0].LengthInBytes = Item->LengthInBytes;
            Leaf->Answers[0].Index = Item->Index;
            Leaf->Answers[1].Index = STRING_TABLE_NOT_FOUND;
            if (Item->Parent != STRING_TABLE_NO_ITEM) {
                Leaf->Answers[1].LengthInBytes =
                    Items[Item->Parent].LengthInBytes;
                Leaf->Answers[1].Index = Items[Item->Parent].Index;
            }

            StringTableCopyFolded((PUCHAR)(Leaf + 1),
                                  Item->Bytes,
                                  Item->LengthInBytes,
                                  Fold);
        }
    }
}

//
// Gives the groups of a bucket their entries, if all of these are free.
// Group: the bucket's first group.
// Entries: the node's entries; a reference of STRING_TABLE_NO_ITEM is a free
// one's.
// Returns FALSE, with nothing changed, if an entry was not free.
//

static
BOOLEAN
StringTablePlaceBucket(
    _In_ PSTRING_TABLE_BUILDER Builder,
    _In_ PCSTRING_TABLE_NODE Node,
    _In_ ULONG Group,
    _Inout_ PSTRING_TABLE_ENTRY Entries,
    _In_ ULONG Displacement
    )
{
    PSTRING_TABLE_ENTRY Entry;
    ULONG First;
    ULONG Undo;
    ULONG Tag;

    First = Group;
    for (; Group != STRING_TABLE_NO_ITEM; Group = Builder->Groups[Group].Next) {

        Tag = (ULONG)(Builder->Groups[Group].Hash >> 32);
        Entry = &Entries[(Tag * Displacement) >> Node->EntryShift];
        if (Entry->Reference != STRING_TABLE_NO_ITEM) {
            break;
        }

        Entry->Tag = Tag;
        Entry->Reference = Group;
    }

    if (Group == STRING_TABLE_NO_ITEM) {
        return TRUE;
    }

    for (Undo = First; Undo != Group; Undo = Builder->Groups[Undo].Next) {
        Tag = (ULONG)(Builder->Groups[Undo].Hash >> 32);
        Entry = &Entries[(Tag * Displacement) >> Node->EntryShift];
        Entry->Tag = 0;
        Entry->Reference = STRING_TABLE_NO_ITEM;
    }

    return FALSE;
}

//
// Makes the perfect hash of a node: hash and displace. The groups are put into
// buckets, and the buckets, largest first, are each given a displacement that
// leads all of its groups to free entries.
//
// Node: the node, with its seed and sizes. The entries' references become the
// numbers of groups.
// Returns FALSE if this seed will not do.
//

static
BOOLEAN
StringTableFillHash(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _Inout_ PSTRING_TABLE_NODE Node,
    _In_ ULONG NumberOfGroups
    )
{
    PSTRING_TABLE_ITEM Item;
    PSTRING_TABLE_GROUP Group;
    PSTRING_TABLE_ENTRY Entries;
    PULONG Displacements;
    const ULONGLONG *Masks;
    ULONGLONG First;
    ULONGLONG Second;
    ULONG NumberOfEntries;
    ULONG Displacement;
    ULONG Largest;
    ULONG Bucket;
    ULONG Index;
    ULONG Next;
    ULONG Size;
    ULONG Left;
    ULONG Try;

    Displacements = (PULONG)(Node + 1);
    Entries = (PSTRING_TABLE_ENTRY)
        ((PUCHAR)Node + Node->EntriesOffsetInBytes);
    NumberOfEntries = (0x80000000u >> Node->EntryShift) * 2;

    for (Index = 0; Index < NumberOfEntries; Index += 1) {
        Entries[Index].Tag = 0;
        Entries[Index].Reference = STRING_TABLE_NO_ITEM;
    }

    for (Bucket = 0; Bucket <= Node->DisplacementMask; Bucket += 1) {
        Builder->Buckets[Bucket] = STRING_TABLE_NO_ITEM;
    }

    //
    // Largest is the size of the largest bucket.
    //

    Largest = 0;
    for (Index = 0; Index < NumberOfGroups; Index += 1) {

        Group = &Builder->Groups[Index];
        Item = &Builder->Parts[Group->First];
        Masks = Node->Masks[Group->Level];
        Left = Item->LengthInBytes - Node->OffsetInBytes;
        First = StringTableLoadPart(Item->Bytes + Node->OffsetInBytes, Left);
        Second = Left <= 8 ? 0 : StringTableLoadPart(
            Item->Bytes + Node->OffsetInBytes + 8,
            Left - 8);
        Group->Hash = StringTableHash(
            StringTableFold64(First, Builder->Fold) & Masks[0],
            StringTableFold64(Second, Builder->Fold) & Masks[1],
            Node->Seeds[Group->Level]);

        Bucket = (ULONG)Group->Hash & Node->DisplacementMask;
        Size = 1;
        for (Next = Builder->Buckets[Bucket];
             Next != STRING_TABLE_NO_ITEM;
             Next = Builder->Groups[Next].Next) {
            if ((Builder->Groups[Next].Hash ^ Group->Hash) >> 32 == 0) {
                return FALSE;
            }
            Size += 1;
        }

        Group->Next = Builder->Buckets[Bucket];
        Builder->Buckets[Bucket] = Index;
        if (Size > Largest) {
            Largest = Size;
        }
        if (Size > 64) {
            return FALSE;
        }
    }

    for (; Largest > 0; Largest -= 1) {
        for (Bucket = 0; Bucket <= Node->DisplacementMask; Bucket += 1) {

            Size = 0;
            for (Next = Builder->Buckets[Bucket];
                 Next != STRING_TABLE_NO_ITEM;
                 Next = Builder->Groups[Next].Next) {
                Size += 1;
            }

            if (Size != Largest) {
                continue;
            }

            //
            // Odd numbers in an order without a pattern.
            //

            Displacement = 0x9E3779B1u;
            for (Try = 0; Try < STRING_TABLE_DISPLACEMENTS; Try += 1) {
                if (StringTablePlaceBucket(Builder,
                                           Node,
                                           Builder->Buckets[Bucket],
                                           Entries,
                                           Displacement)) {
                    break;
                }
                Displacement = Displacement * 0x85EBCA6Bu + 0xC2B2AE36u;
            }

            if (Try == STRING_TABLE_DISPLACEMENTS) {
                return FALSE;
            }

            Displacements[Bucket] = Displacement;
        }
    }

    return TRUE;
}

//
// Builder: the groups and the memory for nodes.
// OffsetInBytes: the node's place.
// Widths: the widths of its levels in bytes.
// Returns the node; the entries' references are the numbers of groups, or
// STRING_TABLE_NO_ITEM. NULL if there is not enough room, or no hash was
// found.
//

static
PSTRING_TABLE_NODE
StringTableMakeNode(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ ULONG OffsetInBytes,
    _In_reads_(STRING_TABLE_LEVELS) const ULONG *Widths,
    _In_ ULONG NumberOfGroups
    )
{
    PSTRING_TABLE_NODE Node;
    SIZE_T Begin;
    SIZE_T Size;
    ULONG DisplacementWords;
    ULONG NumberOfBuckets;
    ULONG NumberOfEntries;
    ULONG EntryShift;
    ULONG Level;
    ULONG Seed;

    NumberOfBuckets = 1;
    while (NumberOfBuckets * 4ULL < NumberOfGroups) {
        NumberOfBuckets *= 2;
    }

    EntryShift = 31;
    NumberOfEntries = 2;
    while (NumberOfEntries * 3ULL < NumberOfGroups * 4ULL) {
        NumberOfEntries *= 2;
        EntryShift -= 1;
    }

    DisplacementWords = NumberOfBuckets < 2 ? 2 : NumberOfBuckets;
    Begin = (Builder->UsedInBytes + STRING_TABLE_ALIGNMENT - 1) &
            ~(SIZE_T)(STRING_TABLE_ALIGNMENT - 1);
    Size = sizeof(*Node) + DisplacementWords * sizeof(ULONG) +
           (SIZE_T)NumberOfEntries * sizeof(STRING_TABLE_ENTRY);
    if (Begin + Size > Builder->CapacityInBytes) {
        return NULL;
    }

    Node = (PSTRING_TABLE_NODE)(Builder->Nodes + Begin);
    Node->OffsetInBytes = OffsetInBytes;
    Node->DisplacementMask = NumberOfBuckets - 1;
    Node->EntryShift = EntryShift;
    Node->EntriesOffsetInBytes =
        (ULONG)(sizeof(*Node) + DisplacementWords * sizeof(ULONG));
    for (Level = 0; Level < STRING_TABLE_LEVELS; Level += 1) {
        Node->Masks[Level][0] = Widths[Level] >= 8 ?
            ~0ULL : (1ULL << (8 * Widths[Level])) - 1;
        Node->Masks[Level][1] = Widths[Level] <= 8 ? 0 : Widths[Level] >= 16 ?
            ~0ULL : (1ULL << (8 * (Widths[Level] - 8))) - 1;
        Node->Zones[Level] = OffsetInBytes >= 64 ?
            1ULL << 63 : ((1ULL << Widths[Level]) - 1) << OffsetInBytes;
        if (OffsetInBytes + Widths[Level] > 64) {
            Node->Zones[Level] |= 1ULL << 63;
        }
    }

    for (Seed = 1; Seed <= STRING_TABLE_SEEDS; Seed += 1) {

        //
        // Each level has its own: bytes that are cut off may be zeros.
        //

        for (Level = 0; Level < STRING_TABLE_LEVELS; Level += 1) {
            Node->Seeds[Level] = (Seed * 16 + Widths[Level]) *
                                 0xD6E8FEB86659FD93ULL;
        }
        if (StringTableFillHash(Builder, Node, NumberOfGroups)) {
            Builder->UsedInBytes = Begin + Size;
            return Node;
        }
    }

    return NULL;
}

//
// Makes the list of all leaves.
// Builder: the items and the memory for nodes, which is empty.
//

static
VOID
StringTableMakeList(
    _Inout_ PSTRING_TABLE_BUILDER Builder
    )
{
    PSTRING_TABLE_LIST List;
    ULONG Count;
    ULONG Index;

    List = (PSTRING_TABLE_LIST)Builder->Nodes;
    Count = 0;
    for (Index = 0; Index < Builder->NumberOfItems; Index += 1) {
        if (StringTableIsLeaf(Builder->Items, Builder->NumberOfItems, Index)) {
            List->References[Count] = Builder->Items[Index].Record;
            Count += 1;
        }
    }

    List->NumberOfRecords = Count;
    Builder->ListOffset = 0;
    Builder->UsedInBytes = (Count + 1) * sizeof(ULONG);
}

//
// Chooses the widths of a node's levels: all lengths that there are, if they
// are few; else the shortest, and those of the prefixes at a quarter, at half
// and at three quarters of the way from the shortest to the longest.
//
// Parts: the items.
// First: the first item; all are longer than OffsetInBytes.
// End: the item after the last.
// OffsetInBytes: the node's place.
// Widths: the widths, in ascending order.
//

static
VOID
StringTableChooseWidths(
    _In_reads_(End - First) PCSTRING_TABLE_ITEM Parts,
    _In_ ULONG First,
    _In_ ULONG End,
    _In_ ULONG OffsetInBytes,
    _Out_writes_(STRING_TABLE_LEVELS) PULONG Widths
    )
{
    ULONG Counts[STRING_TABLE_WINDOW_IN_BYTES + 1];
    ULONG Distinct;
    ULONG Before;
    ULONG Level;
    ULONG Width;
    ULONG Index;

    for (Width = 0; Width <= STRING_TABLE_WINDOW_IN_BYTES; Width += 1) {
        ((volatile ULONG *)Counts)[Width] = 0;
    }

    for (Index = First; Index < End; Index += 1) {
        Width = Parts[Index].LengthInBytes - OffsetInBytes;
        Counts[Width < STRING_TABLE_WINDOW_IN_BYTES ?
                   Width : STRING_TABLE_WINDOW_IN_BYTES] += 1;
    }

    Distinct = 0;
    for (Width = 1; Width <= STRING_TABLE_WINDOW_IN_BYTES; Width += 1) {
        Distinct += Counts[Width] != 0;
    }

    Level = 0;
    Before = 0;
    for (Width = 1; Width <= STRING_TABLE_WINDOW_IN_BYTES; Width += 1) {

        if (Counts[Width] != 0 && Level < STRING_TABLE_LEVELS &&
            (Distinct <= STRING_TABLE_LEVELS ||
             (ULONGLONG)(Before + Counts[Width]) * STRING_TABLE_LEVELS >
                 (ULONGLONG)(End - First) * Level)) {
            Widths[Level] = Width;
            Level += 1;
        }
        Before += Counts[Width];
    }

    for (; Level < STRING_TABLE_LEVELS; Level += 1) {
        Widths[Level] = Widths[Level - 1];
    }
}

//
// Orders the items of a node by level, and finds the groups: the items of a
// level that have as many bytes in common as it is wide.
// Builder: the items; receives the groups.
// End: the item after the last.
// OffsetInBytes: the node's place.
// Returns the number of groups.
//

static
ULONG
StringTableDivide(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ ULONG First,
    _In_ ULONG End,
    _In_ ULONG OffsetInBytes,
    _In_reads_(STRING_TABLE_LEVELS) const ULONG *Widths
    )
{
    PSTRING_TABLE_GROUP Group;
    PSTRING_TABLE_ITEM Parts;
    ULONG NumberOfGroups;
    ULONG Common;
    ULONG Target;
    ULONG Width;
    ULONG Level;
    ULONG Other;
    ULONG Index;

    Parts = Builder->Parts;
    NumberOfGroups = 0;
    Target = First;
    Group = NULL;

    //
    // What two items have in common is the least that any two neighbors on
    // the way from one to the other have.
    //

    for (Level = 0; Level < STRING_TABLE_LEVELS; Level += 1) {

        if (Level != 0 && Widths[Level] == Widths[Level - 1]) {
            break;
        }

        Common = 0;
        for (Index = First; Index < End; Index += 1) {

            if (Common > Parts[Index].CommonInBytes) {
                Common = Parts[Index].CommonInBytes;
            }

            Width = Parts[Index].LengthInBytes - OffsetInBytes;
            Other = STRING_TABLE_LEVELS - 1;
            while (Width < Widths[Other]) {
                Other -= 1;
            }
            while (Other != 0 && Widths[Other] == Widths[Other - 1]) {
                Other -= 1;
            }
            if (Other != Level) {
                continue;
            }

            if (Group == NULL || Group->Level != Level ||
                Common < OffsetInBytes + Widths[Level]) {
                Group = &Builder->Groups[NumberOfGroups];
                NumberOfGroups += 1;
                Group->First = Target;
                Group->Level = Level;
            }

            Builder->Spare[Target] = Parts[Index];
            Builder->Spare[Target].CommonInBytes = Common;
            Target += 1;
            Group->End = Target;
            Common = 0xFFFFFFFF;
        }
    }

    for (Index = First; Index < End; Index += 1) {
        Parts[Index] = Builder->Spare[Index];
    }

    return NumberOfGroups;
}

//
// Makes what leads to a range of items, and leaves a task for each child.
//
// A string that agrees with a child of the deepest level that it can begins
// with no longer prefix than those below that child: one in a higher level is
// shorter than that child is wide, so that child's begin with it, too. A
// string that agrees with none can only begin with one of the prefixes that
// all have in common, and any leaf leads to these.
//
// Builder: the items and the memory for nodes.
// Task: the range; not empty, in order.
// Returns a reference.
//

static
ULONG
StringTableDoTask(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ STRING_TABLE_TASK Task
    )
{
    ULONG Widths[STRING_TABLE_LEVELS];
    PSTRING_TABLE_ENTRY Entries;
    PSTRING_TABLE_GROUP Group;
    PSTRING_TABLE_ITEM Parts;
    PSTRING_TABLE_NODE Node;
    PSTRING_TABLE_TASK Child;
    ULONG NumberOfEntries;
    ULONG NumberOfGroups;
    ULONG Common;
    ULONG Index;

    Parts = Builder->Parts;

    //
    // Where two items part for the first time.  If each begins with the one
    // before, the last one leads to all.
    //

    Common = 0xFFFFFFFF;
    for (Index = Task.First + 1; Index < Task.End; Index += 1) {
        if (Parts[Index].CommonInBytes < Parts[Index - 1].LengthInBytes &&
            Parts[Index].CommonInBytes < Common) {
            Common = Parts[Index].CommonInBytes;
        }
    }

    if (Common == 0xFFFFFFFF) {
        return Parts[Task.End - 1].Record | STRING_TABLE_REFERENCE_RECORD;
    }

    if (Builder->IsWide) {
        Common &= ~1u;
    }

    while (Parts[Task.First].LengthInBytes <= Common) {
        Task.First += 1;
    }

    if (Task.Depth == STRING_TABLE_MAXIMUM_DEPTH) {
        return STRING_TABLE_REFERENCE_LIST;
    }

    StringTableChooseWidths(Parts, Task.First, Task.End, Common, Widths);
    NumberOfGroups = StringTableDivide(Builder,
                                       Task.First,
                                       Task.End,
                                       Common,
                                       Widths);
    Node = StringTableMakeNode(Builder, Common, Widths, NumberOfGroups);
    if (Node == NULL) {
        return STRING_TABLE_REFERENCE_LIST;
    }

    //
    // Where hashes have led to, a record is compared with the string in any
    // case, which shows whether they were those of other bytes.
    //

    Node->Otherwise = STRING_TABLE_REFERENCE_RECORD;
    if (Task.Depth != 0 || Parts[Task.First].TopInBytes <= Common) {
        Node->Otherwise |= Parts[Task.First].Record;
    }

    Entries = (PSTRING_TABLE_ENTRY)
        ((PUCHAR)Node + Node->EntriesOffsetInBytes);
    NumberOfEntries = (0x80000000u >> Node->EntryShift) * 2;

    for (Index = 0; Index < NumberOfEntries; Index += 1) {

        if (Entries[Index].Reference == STRING_TABLE_NO_ITEM) {
            Entries[Index].Reference = STRING_TABLE_REFERENCE_LIST;
            continue;
        }

        Group = &Builder->Groups[Entries[Index].Reference];
        Child = &Builder->Tasks[Builder->NumberOfTasks];
        Builder->NumberOfTasks += 1;
        Child->First = Group->First;
        Child->End = Group->End;
        Child->ReferenceOffset =
            (ULONGLONG)((PUCHAR)&Entries[Index].Reference - Builder->Nodes);
        Child->Depth = Task.Depth + 1;
    }

    return (ULONG)(((PUCHAR)Node - Builder->Nodes) >> STRING_TABLE_UNIT_SHIFT);
}

_Use_decl_annotations_
VOID
StringTableBuildNodes(
    PSTRING_TABLE_BUILDER Builder
    )
/*++

Routine Description:

    Makes the nodes of a trie, and its list.

Arguments:

    Builder - The items, whose records have been laid out, and zeroed memory.
        Root, ListOffset, UsedInBytes and the nodes are written.

Return Value:

    None.

--*/
{
    STRING_TABLE_TASK Task;
    ULONG Reference;
    ULONG Index;

    StringTableMakeList(Builder);

    //
    // What has no bytes of its own is led to by what begins with it: the next.
    //

    for (Index = Builder->NumberOfItems; Index != 0; Index -= 1) {
        Builder->Parts[Index - 1] = Builder->Items[Index - 1];
        if (!StringTableHasBytes(Builder->Items,
                                 Builder->NumberOfItems,
                                 Index - 1)) {
            Builder->Parts[Index - 1].Record = Builder->Parts[Index].Record;
        }
    }

    Builder->NumberOfTasks = 1;
    Builder->Tasks[0].First = 0;
    Builder->Tasks[0].End = Builder->NumberOfItems;
    Builder->Tasks[0].ReferenceOffset = ~0ULL;
    Builder->Tasks[0].Depth = 0;

    while (Builder->NumberOfTasks != 0) {

        Builder->NumberOfTasks -= 1;
        Task = Builder->Tasks[Builder->NumberOfTasks];
        Reference = StringTableDoTask(Builder, Task);

        if (Task.ReferenceOffset == ~0ULL) {
            Builder->Root = Reference;
        } else {
            *(PULONG)(Builder->Nodes + Task.ReferenceOffset) = Reference;
        }
    }
}

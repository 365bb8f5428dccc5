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
        if (Parent != STRING_TABLE_NO_ITEM) {

            Above = &Items[Parent];
            Item->Depth = Above->Depth + 1;
            if (Above->Jump != STRING_TABLE_NO_ITEM) {
                Far = &Items[Above->Jump];
                if (Above->Depth - Far->Depth ==
                    Far->Depth - (Far->Jump == STRING_TABLE_NO_ITEM ?
                                      0 : Items[Far->Jump].Depth)) {
                    Item->Jump = Far->Jump;
                }
            }
        }

        if (!StringTableIsLeaf(Items, NumberOfItems, Index)) {
            if (Units < STRING_TABLE_MAXIMUM_UNITS) {
                Item->Record = (ULONG)Units;
            }
            Units += 1;
        }
    }

    //
    // Leaves begin on cache lines.
    //

    Units = (Units + 3) & ~3ULL;
    for (Index = 0; Index < NumberOfItems; Index += 1) {
        Item = &Items[Index];
        if (StringTableIsLeaf(Items, NumberOfItems, Index)) {
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

        if (StringTableIsLeaf(Items, NumberOfItems, Index)) {

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

static
BOOLEAN
StringTablePlaceBucket(
    _In_ PSTRING_TABLE_BUILDER Builder,
    _In_ PCSTRING_TABLE_NODE Node,
    _In_ ULONG Group,
    _Inout_ PSTRING_TABLE_ENTRY Entries,
    _In_ ULONG Displacement
    )
/*++

Routine Description:

    Gives the groups of a bucket their entries, if all of these are free.

Arguments:

    Builder - The groups.

    Node - The node.

    Group - The bucket's first group.

    Entries - The node's entries; a reference of STRING_TABLE_NO_ITEM is a
        free one's.

    Displacement - The displacement.

Return Value:

    FALSE, with nothing changed, if an entry was not free.

--*/
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

static
BOOLEAN
StringTableFillHash(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _Inout_ PSTRING_TABLE_NODE Node,
    _In_ ULONG NumberOfGroups
    )
/*++

Routine Description:

    Makes the perfect hash of a node: hash and displace.  The groups are put
    into buckets, and the buckets, largest first, are each given a displacement
    that leads all of its groups to free entries.

Arguments:

    Builder - The groups.

    Node - The node, with its seed and sizes.  The entries' references become
        the numbers of groups.

    NumberOfGroups - The number of groups.

Return Value:

    FALSE if this seed will not do.

--*/
{
    PSTRING_TABLE_ITEM Item;
    PSTRING_TABLE_GROUP Group;
    PSTRING_TABLE_ENTRY Entries;
    PULONG Displacements;
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
        Item = &Builder->Items[Group->First];
        Left = Item->LengthInBytes - Node->OffsetInBytes;
        First = StringTableLoadPart(Item->Bytes + Node->OffsetInBytes, Left);
        Second = Left <= 8 ? 0 : StringTableLoadPart(
            Item->Bytes + Node->OffsetInBytes + 8,
            Left - 8);
        Group->Hash = StringTableHash(
            StringTableFold64(First, Builder->Fold) & Node->Masks[0],
            StringTableFold64(Second, Builder->Fold) & Node->Masks[1],
            Node->Seed);

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

static
PSTRING_TABLE_NODE
StringTableMakeNode(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ ULONG OffsetInBytes,
    _In_ ULONG WindowInBytes,
    _In_ ULONG NumberOfGroups
    )
/*++

Routine Description:

    Makes a node.

Arguments:

    Builder - The groups and the memory for nodes.

    OffsetInBytes - Where the node's window begins.

    WindowInBytes - How many of its bytes count.

    NumberOfGroups - The number of groups.

Return Value:

    The node; the entries' references are the numbers of groups, or
    STRING_TABLE_NO_ITEM.  NULL if there is not enough room, or no hash was
    found.

--*/
{
    PSTRING_TABLE_NODE Node;
    SIZE_T Reserve;
    SIZE_T Begin;
    SIZE_T Size;
    ULONG DisplacementWords;
    ULONG NumberOfBuckets;
    ULONG NumberOfEntries;
    ULONG EntryShift;
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

    //
    // There is always room for lists.
    //

    Reserve = 12 * (SIZE_T)Builder->NumberOfItems + STRING_TABLE_ALIGNMENT;
    if (Begin + Size + Reserve > Builder->CapacityInBytes) {
        return NULL;
    }

    Node = (PSTRING_TABLE_NODE)(Builder->Nodes + Begin);
    Node->OffsetInBytes = OffsetInBytes;
    Node->DisplacementMask = NumberOfBuckets - 1;
    Node->EntryShift = EntryShift;
    Node->EntriesOffsetInBytes =
        (ULONG)(sizeof(*Node) + DisplacementWords * sizeof(ULONG));
    Node->Masks[0] = WindowInBytes >= 8 ?
        ~0ULL : (1ULL << (8 * WindowInBytes)) - 1;
    Node->Masks[1] = WindowInBytes <= 8 ? 0 : WindowInBytes >= 16 ?
        ~0ULL : (1ULL << (8 * (WindowInBytes - 8))) - 1;

    for (Seed = 1; Seed <= STRING_TABLE_SEEDS; Seed += 1) {
        Node->Seed = Seed * 0xD6E8FEB86659FD93ULL;
        if (StringTableFillHash(Builder, Node, NumberOfGroups)) {
            Builder->UsedInBytes = Begin + Size;
            return Node;
        }
    }

    return NULL;
}

static
ULONG
StringTableMakeList(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ ULONG First,
    _In_ ULONG End
    )
/*++

Routine Description:

    Makes a list of the leaves in a range of items.

Arguments:

    Builder - The items and the memory for nodes.

    First - The first item.

    End - The item after the last.

Return Value:

    A reference to the list.

--*/
{
    PSTRING_TABLE_LIST List;
    SIZE_T Begin;
    ULONG Count;
    ULONG Index;

    Begin = (Builder->UsedInBytes + 15) & ~(SIZE_T)15;
    List = (PSTRING_TABLE_LIST)(Builder->Nodes + Begin);

    Count = 0;
    for (Index = First; Index < End; Index += 1) {
        if (StringTableIsLeaf(Builder->Items, Builder->NumberOfItems, Index)) {
            (&List->NumberOfRecords)[Count + 1] =
                Builder->Items[Index].Record | STRING_TABLE_REFERENCE_RECORD;
            Count += 1;
        }
    }

    List->NumberOfRecords = Count;
    Builder->UsedInBytes = Begin + (Count + 1) * sizeof(ULONG);

    return (ULONG)(Begin >> STRING_TABLE_UNIT_SHIFT) |
           STRING_TABLE_REFERENCE_LIST;
}

static
ULONG
StringTableDoTask(
    _Inout_ PSTRING_TABLE_BUILDER Builder,
    _In_ STRING_TABLE_TASK Task
    )
/*++

Routine Description:

    Makes what leads to a range of items, and leaves a task for each child.

    The window of a node begins where the leaves differ first, and ends before
    the end of the shortest prefix that reaches beyond that place.  So a string
    that agrees with no child can only begin with one of the prefixes that all
    leaves have in common, and any leaf leads to these.

Arguments:

    Builder - The items and the memory for nodes.

    Task - The range; not empty, and the last item is a leaf.

Return Value:

    A reference to a record, a list or a node.

--*/
{
    PSTRING_TABLE_ENTRY Entries;
    PSTRING_TABLE_GROUP Group;
    PSTRING_TABLE_ITEM Items;
    PSTRING_TABLE_NODE Node;
    PSTRING_TABLE_TASK Child;
    ULONG NumberOfEntries;
    ULONG NumberOfGroups;
    ULONG FirstLeaf;
    ULONG Shortest;
    ULONG Common;
    ULONG Window;
    ULONG Index;

    Items = Builder->Items;

    FirstLeaf = Task.First;
    while (!StringTableIsLeaf(Items, Builder->NumberOfItems, FirstLeaf)) {
        FirstLeaf += 1;
    }

    if (FirstLeaf + 1 == Task.End) {
        return Items[FirstLeaf].Record | STRING_TABLE_REFERENCE_RECORD;
    }

    Common = Items[FirstLeaf + 1].CommonInBytes;
    for (Index = FirstLeaf + 2; Index < Task.End; Index += 1) {
        if (Items[Index].CommonInBytes < Common) {
            Common = Items[Index].CommonInBytes;
        }
    }

    if (Builder->IsWide) {
        Common &= ~1u;
    }

    while (Items[Task.First].LengthInBytes <= Common) {
        Task.First += 1;
        Task.HasBase = TRUE;
    }

    if (Task.Depth == STRING_TABLE_MAXIMUM_DEPTH) {
        return StringTableMakeList(Builder, Task.First, Task.End);
    }

    Shortest = Items[Task.First].LengthInBytes;
    for (Index = Task.First + 1; Index < Task.End; Index += 1) {
        if (Items[Index].LengthInBytes < Shortest) {
            Shortest = Items[Index].LengthInBytes;
        }
    }

    Window = Shortest - Common;
    if (Window > STRING_TABLE_WINDOW_IN_BYTES) {
        Window = STRING_TABLE_WINDOW_IN_BYTES;
    }

    Builder->Groups[0].First = Task.First;
    NumberOfGroups = 1;
    for (Index = Task.First + 1; Index < Task.End; Index += 1) {
        if (Items[Index].CommonInBytes < Common + Window) {
            Builder->Groups[NumberOfGroups].First = Index;
            NumberOfGroups += 1;
        }
    }

    Node = StringTableMakeNode(Builder, Common, Window, NumberOfGroups);
    if (Node == NULL) {
        return StringTableMakeList(Builder, Task.First, Task.End);
    }

    Node->Otherwise = STRING_TABLE_REFERENCE_RECORD;
    if (Task.HasBase) {
        Node->Otherwise |= Items[FirstLeaf].Record;
    }

    Entries = (PSTRING_TABLE_ENTRY)
        ((PUCHAR)Node + Node->EntriesOffsetInBytes);
    NumberOfEntries = (0x80000000u >> Node->EntryShift) * 2;

    for (Index = 0; Index < NumberOfEntries; Index += 1) {

        if (Entries[Index].Reference == STRING_TABLE_NO_ITEM) {
            Entries[Index].Reference = Node->Otherwise;
            continue;
        }

        Group = &Builder->Groups[Entries[Index].Reference];
        Child = &Builder->Tasks[Builder->NumberOfTasks];
        Builder->NumberOfTasks += 1;
        Child->First = Group->First;
        Child->End = Group + 1 == &Builder->Groups[NumberOfGroups] ?
                         Task.End : Group[1].First;
        Child->ReferenceOffset =
            (ULONGLONG)((PUCHAR)&Entries[Index].Reference - Builder->Nodes);
        Child->Depth = Task.Depth + 1;
        Child->HasBase = Task.HasBase;
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

    Makes the nodes of a trie.

Arguments:

    Builder - The items, whose records have been laid out, and zeroed memory.
        Root, UsedInBytes and the nodes are written.

Return Value:

    None.

--*/
{
    STRING_TABLE_TASK Task;
    ULONG Reference;

    Builder->UsedInBytes = 0;
    Builder->NumberOfTasks = 1;
    Builder->Tasks[0].First = 0;
    Builder->Tasks[0].End = Builder->NumberOfItems;
    Builder->Tasks[0].ReferenceOffset = ~0ULL;
    Builder->Tasks[0].Depth = 0;
    Builder->Tasks[0].HasBase = FALSE;

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

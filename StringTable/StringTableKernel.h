/*++

Module Name:

    StringTableKernel.h

Abstract:

    The searches, written once for all instruction sets.  Each of the sources
    that has a variant defines the following and includes this; the header is
    empty for anybody else.

        KERNEL_NAME(Name)   the variant's names
        KERNEL_TARGET       what lets the compiler use the instructions
        KERNEL_WIDTH        how many bytes are compared at a time

        KernelEqual(String, Prefix, Fold)
            how many bytes of KERNEL_WIDTH are equal, from the first on

    and, unless KERNEL_IS_SCALAR is defined,

        KERNEL_STRING       a string's first KERNEL_SLOT_WIDTH bytes
        KERNEL_IS_MASKED    defined if KernelLoad reads nothing but the string
        KERNEL_ARE_LONG     the flat table's array that says which prefixes
                            are longer than KERNEL_SLOT_WIDTH

        KernelLoad(String, Length, Fold)
        KernelCandidates(Flat, KernelString)
        KernelWideCandidates(Flat, KernelString)
            of 64 slots, one bit each
        KernelLowestBit(Set)
            the position of the lowest bit, or 64
        KernelDifference(KernelString, Bytes)
            one bit for each byte that differs
        KernelDifference64(String, Length, Prefix, Fold)
            the same for a string's first 64 bytes

    All of them are always inlined, and Fold is always a constant.

--*/

#if !defined(TRACER_STRING_TABLE_KERNEL_H) && defined(KERNEL_NAME)
#define TRACER_STRING_TABLE_KERNEL_H

STRING_TABLE_INLINE
KERNEL_TARGET
BOOLEAN
KernelIsNearPageEnd(
    _In_ const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Tells whether a number of bytes goes beyond the first one's page.

Arguments:

    Bytes - The first byte.

    SizeInBytes - The number.

Return Value:

    TRUE if it does.

--*/
{
    return ((ULONG_PTR)Bytes & (STRING_TABLE_PAGE_IN_BYTES - 1)) >
           STRING_TABLE_PAGE_IN_BYTES - SizeInBytes;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONG
KernelCompare(
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ const UCHAR *Prefix,
    _In_ ULONG Length,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Counts the bytes that a string and a prefix have in common.

Arguments:

    String - The string.

    Prefix - The prefix, folded and padded.

    Length - The most that is counted; the string has so many.

    Fold - How the string is folded.

Return Value:

    The number of bytes, at most Length.

--*/
{
    ULONGLONG Difference;
    ULONG Offset;
    ULONG Equal;
    ULONG Part;

    for (Offset = 0; Length - Offset >= KERNEL_WIDTH; Offset += KERNEL_WIDTH) {
        Equal = KernelEqual(String + Offset, Prefix + Offset, Fold);
        if (Equal != KERNEL_WIDTH) {
            return Offset + Equal;
        }
    }

    if (Offset == Length) {
        return Length;
    }

    if (STRING_TABLE_LIKELY(!KernelIsNearPageEnd(String + Offset,
                                                 KERNEL_WIDTH))) {

        Offset += KernelEqual(String + Offset, Prefix + Offset, Fold);

    } else {

        for (; Offset < Length; Offset += Part) {
            Part = Length - Offset > 8 ? 8 : Length - Offset;
            Difference = StringTableLoadPart(String + Offset, Part);
            Difference = StringTableFold64(Difference, Fold);
            Difference ^= StringTableLoad64(Prefix + Offset);
            if (Difference != 0) {
                Offset += StringTableLowestBit(Difference) / 8;
                break;
            }
        }
    }

    return Offset < Length ? Offset : Length;
}

STRING_TABLE_NOINLINE
KERNEL_TARGET
ULONG
KernelSearchList(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Finds, in the list of all leaves, one that has as much in common with a
    string as any of them: it is next to where the string would be, and a
    binary search comes by both places.

Arguments:

    Table - The table.

    String - The string.

    Length - Its length in bytes.

    Fold - How the string is folded.

Return Value:

    The leaf's record, in units.

--*/
{
    PCSTRING_TABLE_LIST List;
    PCSTRING_TABLE_RECORD Record;
    const UCHAR *Bytes;
    ULONGLONG Character;
    ULONG BestCommon;
    ULONG Reference;
    ULONG Common;
    ULONG Limit;
    ULONG Begin;
    ULONG Best;
    ULONG End;
    ULONG Middle;

    List = Table->List;
    Begin = 0;
    End = List->NumberOfRecords;
    Best = List->References[0];
    BestCommon = 0;

    while (Begin < End) {

        Middle = Begin + (End - Begin) / 2;
        Reference = List->References[Middle];
        Record = (PCSTRING_TABLE_RECORD)
            (Table->Records + ((SIZE_T)Reference << STRING_TABLE_UNIT_SHIFT));
        Bytes = (const UCHAR *)((PCSTRING_TABLE_LEAF)Record + 1);

        Limit = Record->LengthInBytes < Length ? Record->LengthInBytes : Length;
        Common = KernelCompare(String, Bytes, Limit, Fold);
        if (Common >= BestCommon) {
            BestCommon = Common;
            Best = Reference;
        }

        //
        // A string that ends first is less; a prefix that ends first is the
        // answer.  Folding a single byte of a code unit is done with the
        // whole unit.
        //

        if (Common == Limit) {
            if (Limit == Record->LengthInBytes) {
                break;
            }
            End = Middle;
            continue;
        }

        if (Fold == STRING_TABLE_FOLD_UTF16) {
            Character = StringTableLoadPart(
                String + (Common & ~1u),
                Length - (Common & ~1u) < 2 ? 1 : 2);
            Character = StringTableFold64(Character, Fold);
            Character >>= 8 * (Common & 1);
        } else {
            Character = StringTableFold64(String[Common], Fold);
        }

        if ((UCHAR)Character < Bytes[Common]) {
            End = Middle;
        } else {
            Begin = Middle + 1;
        }
    }

    return Best;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONG
KernelStep(
    _In_ PCSTRING_TABLE Table,
    _In_ ULONG Reference,
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _Inout_ PULONGLONG Zone,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Goes from a node to its child: all levels are looked up, and the deepest one
    that agrees is taken, without a branch.

    Where the string ends within the window, what is read beyond it does not
    change the result: a prefix that the string begins with is shorter than the
    part that is the string's, so whatever agrees with more begins with it, too.

Arguments:

    Table - The table.

    Reference - The node.

    String - The string.

    Length - Its length in bytes, not 0.

    Zone - The places that have been compared by their hash only: the leaf
        that is reached must agree with the string there.

    Fold - How the string is folded.

Return Value:

    The reference to the child; STRING_TABLE_REFERENCE_LIST if the window goes
    beyond its page.

--*/
{
    PCSTRING_TABLE_ENTRY Entry;
    PCSTRING_TABLE_NODE Node;
    const ULONG *Displacements;
    const UCHAR *Entries;
    const UCHAR *Window;
    ULONGLONG ChildZone;
    ULONGLONG NodeZone;
    ULONGLONG IsChild;
    ULONGLONG Second;
    ULONGLONG First;
    ULONGLONG Hash;
    ULONG DisplacementMask;
    ULONG EntryShift;
    ULONG Child;
    ULONG Level;
    ULONG Tag;

    Node = (PCSTRING_TABLE_NODE)
        (Table->Nodes + ((SIZE_T)Reference << STRING_TABLE_UNIT_SHIFT));

    //
    // All ones, or zero.
    //

    IsChild = (ULONGLONG)(((LONGLONG)Node->OffsetInBytes - Length) >> 63);
    Window = String + (Node->OffsetInBytes & IsChild);
    if (STRING_TABLE_UNLIKELY(KernelIsNearPageEnd(
            Window,
            STRING_TABLE_WINDOW_IN_BYTES))) {
        return STRING_TABLE_REFERENCE_LIST;
    }

    First = StringTableFold64(StringTableLoad64(Window), Fold);
    Second = StringTableFold64(StringTableLoad64(Window + 8), Fold);
    Entries = (const UCHAR *)Node + Node->EntriesOffsetInBytes;
    Displacements = (const ULONG *)(Node + 1);
    DisplacementMask = Node->DisplacementMask;
    EntryShift = Node->EntryShift;
    Reference = Node->Otherwise;
    NodeZone = 0;

    for (Level = 0; Level < STRING_TABLE_LEVELS; Level += 1) {

        Hash = StringTableHash(First & Node->Masks[Level][0],
                               Second & Node->Masks[Level][1],
                               Node->Seeds[Level]);
        Tag = (ULONG)(Hash >> 32);
        Entry = (PCSTRING_TABLE_ENTRY)Entries +
            ((Tag * Displacements[(ULONG)Hash & DisplacementMask]) >>
             EntryShift);

        Tag = (Entry->Tag ^ Tag) & STRING_TABLE_TAG_MASK;
        Child = Entry->Reference;
        ChildZone = Node->Zones[Level];
        STRING_TABLE_CHOOSE(Tag == 0, Reference, Child);
        STRING_TABLE_CHOOSE(Tag == 0, NodeZone, ChildZone);
    }

    Child = Node->Otherwise;
    STRING_TABLE_CHOOSE(IsChild == 0, Reference, Child);
    NodeZone &= IsChild;

    *Zone |= NodeZone;
    return Reference;
}

STRING_TABLE_NOINLINE
KERNEL_TARGET
uint32_t
STRING_TABLE_CALL
KernelSearchTrieSlowly(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Reference,
    _In_ ULONGLONG Zone,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Finds the longest prefix that a string begins with, in a trie, given the
    leaf that the fast search has reached: what that leaves to this.

Arguments:

    Table - The table.

    String - The string.

    Length - Its length in bytes, not 0.

    Reference - The reference to the leaf's record, or
        STRING_TABLE_REFERENCE_LIST.

    Zone - Where the string has been compared by hashes only.

    Fold - How the string is folded.

Return Value:

    The prefix's index, or STRING_TABLE_NOT_FOUND.

--*/
{
    PCSTRING_TABLE_RECORD Record;
    PCSTRING_TABLE_RECORD Jump;
    ULONG Common;

    for (;;) {

        if (Reference == STRING_TABLE_REFERENCE_LIST) {
            Reference = KernelSearchList(Table, String, Length, Fold);
            Zone = 0;
        }

        Reference &= ~STRING_TABLE_REFERENCE_RECORD;
        Record = (PCSTRING_TABLE_RECORD)
            (Table->Records + ((SIZE_T)Reference << STRING_TABLE_UNIT_SHIFT));
        Common = Record->LengthInBytes;
        if (Common > Length) {
            Common = Length;
        }
        Common = KernelCompare(String,
                               (const UCHAR *)((PCSTRING_TABLE_LEAF)Record + 1),
                               Common,
                               Fold);

        if (((Zone >> (Common < 64 ? Common : 63)) & 1) == 0) {
            break;
        }
        Reference = STRING_TABLE_REFERENCE_LIST;
    }

    while (Record->LengthInBytes > Common) {
        Jump = (PCSTRING_TABLE_RECORD)
            (Table->Records + ((SIZE_T)Record->Jump <<
                               STRING_TABLE_UNIT_SHIFT));
        if (Jump->LengthInBytes <= Common) {
            Jump = (PCSTRING_TABLE_RECORD)
                (Table->Records + ((SIZE_T)Record->Parent <<
                                   STRING_TABLE_UNIT_SHIFT));
        }
        Record = Jump;
    }

    return Record->Index;
}

STRING_TABLE_INLINE
KERNEL_TARGET
uint32_t
KernelSearchTrie(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_opt_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Finds the longest prefix that a string begins with, in a trie.

Arguments:

    Table - The table.

    String - The string.

    Length - Its length in bytes.

    Fold - How the string is folded.

Return Value:

    The prefix's index, or STRING_TABLE_NOT_FOUND.

--*/
{
    PCSTRING_TABLE_LEAF Leaf;
    ULONGLONG Zone;
    ULONG Reference;
    ULONG Common;
    ULONG Length1;
    ULONG Length2;
    ULONG Limit;

    if (STRING_TABLE_UNLIKELY(Length == 0)) {
        return STRING_TABLE_NOT_FOUND;
    }

    Zone = 0;
    Reference = Table->Root;
    while (Reference < STRING_TABLE_REFERENCE_RECORD) {
        Reference = KernelStep(Table, Reference, String, Length, &Zone, Fold);
    }

    //
    // No leaf has more in common with the string than this one, unless the
    // string differs from it where only a hash was compared.  So the answer is
    // it, or the longest one that it begins with and that is not longer than
    // what they have in common.  Beyond its parent, or beyond 64 bytes, another
    // routine looks for that.
    //
    // The record that stands for none is compared like any other: where hits
    // and misses are mixed, a branch costs more than that.
    //

    if (STRING_TABLE_UNLIKELY(Reference == STRING_TABLE_REFERENCE_LIST)) {
        goto Slowly;
    }

    Leaf = (PCSTRING_TABLE_LEAF)
        (Table->Records +
         ((SIZE_T)(Reference & ~STRING_TABLE_REFERENCE_RECORD) <<
          STRING_TABLE_UNIT_SHIFT));
    Length1 = Leaf->Answers[0].LengthInBytes;
    Length2 = Leaf->Answers[1].LengthInBytes;
    Limit = Length1 < Length ? Length1 : Length;

#ifdef KERNEL_IS_SCALAR

    Common = KernelCompare(String, (const UCHAR *)(Leaf + 1), Limit, Fold);
    if (STRING_TABLE_UNLIKELY(Common >= 64)) {
        goto Slowly;
    }

#else

    {
        ULONGLONG Difference;

#ifndef KERNEL_IS_MASKED

        if (STRING_TABLE_UNLIKELY(KernelIsNearPageEnd(String, 64)) &&
            Length < 64) {
            goto Slowly;
        }

#endif

        Difference = KernelDifference64(String,
                                        Length,
                                        (const UCHAR *)(Leaf + 1),
                                        Fold);
        Difference |= (ULONGLONG)(Limit < 64) << (Limit & 63);
        if (STRING_TABLE_UNLIKELY(Difference == 0)) {
            goto Slowly;
        }

        Common = StringTableLowestBit(Difference);
    }

#endif

    if (STRING_TABLE_UNLIKELY((Zone >> Common) & 1)) {
        goto Slowly;
    }

    //
    // The record, or what it has of its parent's, eight bytes each: a length
    // and an index.  Both lengths are below 2^17.
    //

    Limit = (ULONG)StringTableHide((LONG)((Common - Length1) >> 31));
    if (STRING_TABLE_UNLIKELY((Length2 & (0 - Limit)) > Common)) {
        goto Slowly;
    }

    return Leaf->Answers[Limit].Index;

Slowly:

    return KernelSearchTrieSlowly(Table,
                                  String,
                                  Length,
                                  Reference,
                                  Zone,
                                  Fold);
}

STRING_TABLE_NOINLINE
KERNEL_TARGET
uint32_t
STRING_TABLE_CALL
KernelSearchSlots(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONGLONG Slots,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Finds the first of some slots of a flat table whose prefix a string begins
    with.

Arguments:

    Table - The table.

    String - The string.

    Length - Its length in bytes.

    Slots - One bit for each slot, at its number.

    Fold - How the string is folded.

Return Value:

    The prefix's index, or STRING_TABLE_NOT_FOUND.

--*/
{
    ULONG PrefixLength;
    ULONG Slot;

    while (Slots != 0) {

        Slot = StringTableLowestBit(Slots);
        Slots &= Slots - 1;

        PrefixLength = Table->Flat.LengthsInBytes[Slot];
        if (PrefixLength <= Length &&
            KernelCompare(String,
                          Table->Flat.Prefixes[Slot],
                          PrefixLength,
                          Fold) == PrefixLength) {
            return Table->Flat.Indexes[Slot];
        }
    }

    return STRING_TABLE_NOT_FOUND;
}

STRING_TABLE_INLINE
KERNEL_TARGET
uint32_t
KernelSearchFlat(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_opt_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ BOOLEAN IsWide,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Finds the longest prefix that a string begins with, in a flat table.

    What is nearly always the case takes no branch that could be predicted
    wrong: the first candidate, or the slot that stands for none, is compared,
    and the result chosen without one.

Arguments:

    Table - The table.

    String - The string.

    Length - Its length in bytes.

    IsWide - Whether the table has more than 16 slots; a constant.

    Fold - How the string is folded.

Return Value:

    The prefix's index, or STRING_TABLE_NOT_FOUND.

--*/
{
#ifdef KERNEL_IS_SCALAR

    UNREFERENCED_PARAMETER(IsWide);

    if (Length == 0) {
        return STRING_TABLE_NOT_FOUND;
    }

    return KernelSearchSlots(Table,
                             String,
                             Length,
                             Table->Flat.SlotMask,
                             Fold);

#else

    PCSTRING_TABLE_FLAT Flat;
    KERNEL_STRING Bytes;
    ULONGLONG Difference;
    ULONGLONG Candidates;
    ULONGLONG Others;
    ULONG Index;
    ULONG Slot;

    if (STRING_TABLE_UNLIKELY(Length == 0)) {
        return STRING_TABLE_NOT_FOUND;
    }

#ifndef KERNEL_IS_MASKED

    if (STRING_TABLE_UNLIKELY(KernelIsNearPageEnd(String,
                                                  KERNEL_SLOT_WIDTH)) &&
        Length < KERNEL_SLOT_WIDTH) {
        return KernelSearchSlots(Table,
                                 String,
                                 Length,
                                 Table->Flat.SlotMask,
                                 Fold);
    }

#endif

    Flat = &Table->Flat;
    Bytes = KernelLoad(String, Length, Fold);

    if (IsWide) {
        Candidates = KernelWideCandidates(Flat, Bytes);
        Slot = KernelLowestBit(Candidates);
    } else {
        Candidates = KernelCandidates(Flat, Bytes);
        Slot = StringTableLowestBit(Candidates |
                                    1ULL << STRING_TABLE_FEW_SLOTS);
    }

    Others = Candidates & (Candidates - 1);

    Difference = KernelDifference(Bytes, Flat->Bytes[Slot]);
    Difference &= Flat->Masks[Slot];
    Difference |= (Flat->LengthsInBytes[Slot] > Length);

    Index = Difference != 0 ? STRING_TABLE_NOT_FOUND : Flat->Indexes[Slot];
    Others = Difference != 0 ? Others : Flat->KERNEL_ARE_LONG[Slot];

    if (STRING_TABLE_UNLIKELY(Others != 0)) {
        return KernelSearchSlots(Table,
                                 String,
                                 Length,
                                 Candidates,
                                 Fold);
    }

    return Index;

#endif
}

//
// The routines that a table points to.
//

#define KERNEL_DEFINE(Routine, Search, Fold)                                \
    KERNEL_TARGET                                                           \
    uint32_t                                                                \
    STRING_TABLE_CALL                                                       \
    KERNEL_NAME(Routine)(                                                   \
        PCSTRING_TABLE Table,                                               \
        const void *String,                                                 \
        uint32_t LengthInBytes                                              \
        )                                                                   \
    {                                                                       \
        return Search(Table, (const UCHAR *)String, LengthInBytes, Fold);   \
    }

#define KERNEL_SEARCH_FEW(Table, String, Length, Fold) \
    KernelSearchFlat(Table, String, Length, FALSE, Fold)
#define KERNEL_SEARCH_MANY(Table, String, Length, Fold) \
    KernelSearchFlat(Table, String, Length, TRUE, Fold)

KERNEL_DEFINE(Flat, KERNEL_SEARCH_FEW, STRING_TABLE_FOLD_NONE)
KERNEL_DEFINE(FlatBytes, KERNEL_SEARCH_FEW, STRING_TABLE_FOLD_BYTES)
KERNEL_DEFINE(FlatUtf16, KERNEL_SEARCH_FEW, STRING_TABLE_FOLD_UTF16)
KERNEL_DEFINE(Trie, KernelSearchTrie, STRING_TABLE_FOLD_NONE)
KERNEL_DEFINE(TrieBytes, KernelSearchTrie, STRING_TABLE_FOLD_BYTES)
KERNEL_DEFINE(TrieUtf16, KernelSearchTrie, STRING_TABLE_FOLD_UTF16)

#ifndef KERNEL_IS_SCALAR

KERNEL_DEFINE(Wide, KERNEL_SEARCH_MANY, STRING_TABLE_FOLD_NONE)
KERNEL_DEFINE(WideBytes, KERNEL_SEARCH_MANY, STRING_TABLE_FOLD_BYTES)
KERNEL_DEFINE(WideUtf16, KERNEL_SEARCH_MANY, STRING_TABLE_FOLD_UTF16)

#endif

#endif // TRACER_STRING_TABLE_KERNEL_H

/*++

Module Name:

    ImageDwarf.c

Abstract:

    Functions out of .debug_info.  ImageDwarf.h says what the routines
    promise; the layouts are those of "DWARF Debugging Information Format" in
    its versions 2 to 5.

    The entries of a unit are read one after the other, without regard to how
    they nest: a function is a function wherever it stands.  An abbreviation is
    turned into steps first: what is of no interest is passed over, fixed sizes
    together, and what takes no bytes in the data is no step, so that the time
    for an entry is bounded by its size.

--*/

#include "ImageDwarfEntry.h"

#define DW_UT_type                  0x02
#define DW_UT_skeleton              0x04
#define DW_UT_split_compile         0x05
#define DW_UT_split_type            0x06

#define DW_RLE_end_of_list          0x00
#define DW_RLE_base_addressx        0x01
#define DW_RLE_startx_endx          0x02
#define DW_RLE_startx_length        0x03
#define DW_RLE_offset_pair          0x04
#define DW_RLE_base_address         0x05
#define DW_RLE_start_end            0x06
#define DW_RLE_start_length         0x07

//
// What may be read more than once (the entries that functions refer to, their
// names, lists of ranges) is paid for, with this much for each visit, from a
// budget of so many times the size of the file.
//

#define READER_VISIT_COST 64
#define READER_BUDGET_FACTOR 16
#define READER_MINIMUM_BUDGET 0x100000

#define READER_HAS(Entry, Attribute) \
    (((Entry)->Present & (1u << (Attribute))) != 0)

//
// Adds a range of code. What the linker left out has addresses that are not in
// the image: it is not added.
// Start, End: the addresses of its first byte and of the first one behind it.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddRange(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    PCREADER_COFF_SECTION Section;
    PREADER_DWARF_PAIR Pair;
    ULONGLONG Rva;

    if (Start < Dwarf->ImageBase || End <= Start) {
        return STATUS_SUCCESS;
    }

    Rva = Start - Dwarf->ImageBase;
    if (Rva > 0xffffffffu) {
        return STATUS_SUCCESS;
    }

    Section = ImageFindCodeSection(Loader->Coff, (ULONG)Rva);
    if (Section == NULL) {
        return STATUS_SUCCESS;
    }

    End -= Dwarf->ImageBase;
    if (End > Section->EndRva) {
        End = Section->EndRva;
    }

    if (!ImageGrowDwarfArray(Dwarf->Allocator,
                             Pairs,
                             sizeof(READER_DWARF_PAIR),
                             1)) {
        return STATUS_NO_MEMORY;
    }

    Pair = (PREADER_DWARF_PAIR)Pairs->Elements + Pairs->Number;
    Pair->Key = (Rva << 32) | End;
    Pair->Value = Value;
    Pairs->Number += 1;
    return STATUS_SUCCESS;
}

//
// Adds the ranges of a list in .debug_ranges (versions 3 and 4).
// Source: the unit.
// Offset: where the list is.
// Value: what has them.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddOldRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Offset,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
{
    READER_CURSOR Cursor;
    ULONGLONG Base = Source->LowAddress;
    ULONGLONG End;
    ULONGLONG Start;
    NTSTATUS Status;

    ImageSetCursor(&Cursor,
                   &Loader->Ranges,
                   Offset,
                   Loader->Ranges.SizeInBytes);

    for (;;) {

        Start = ImageReadUnsigned(&Cursor, READER_DWARF_ADDRESS_SIZE);
        End = ImageReadUnsigned(&Cursor, READER_DWARF_ADDRESS_SIZE);
        if (Cursor.IsBad ||
            (Start == 0 && End == 0) ||
            !ImagePay(Loader, READER_VISIT_COST)) {
            return STATUS_SUCCESS;
        }

        if (Start == ~0ULL) {
            Base = End;
            continue;
        }

        Status = ImageAddRange(Loader,
                               Base + Start,
                               Base + End,
                               Pairs,
                               Value);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}

//
// Reads one entry of a list in .debug_rnglists.
// Source: the unit.
// Cursor: the place in the section.
// Base: the address that offsets are from.
// Start, End: the range's addresses; both 0 if the entry is none.
// Returns FALSE at the end of the list.
//

static
BOOLEAN
ImageReadRange(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_CURSOR Cursor,
    _Inout_ PULONGLONG Base,
    _Out_ PULONGLONG Start,
    _Out_ PULONGLONG End
    )
{
    BOOLEAN IsThere = TRUE;
    ULONGLONG First = 0;
    ULONGLONG Second = 0;
    ULONG Kind;

    *Start = 0;
    *End = 0;

    Kind = (ULONG)ImageReadUnsigned(Cursor, 1);

    switch (Kind) {

    case DW_RLE_base_addressx:
    case DW_RLE_startx_endx:
    case DW_RLE_startx_length:
        First = ImageReadAt(&Loader->Addresses,
                            Source->AddressBase,
                            ImageReadUleb(Cursor),
                            READER_DWARF_ADDRESS_SIZE,
                            &IsThere);
        break;

    case DW_RLE_offset_pair:
        First = *Base + ImageReadUleb(Cursor);
        break;

    case DW_RLE_base_address:
    case DW_RLE_start_end:
    case DW_RLE_start_length:
        First = ImageReadUnsigned(Cursor, READER_DWARF_ADDRESS_SIZE);
        break;

    default:
        return FALSE;
    }

    switch (Kind) {

    case DW_RLE_base_addressx:
    case DW_RLE_base_address:
        *Base = First;
        return (BOOLEAN)!Cursor->IsBad;

    case DW_RLE_startx_endx:
        if (IsThere) {
            Second = ImageReadAt(&Loader->Addresses,
                                 Source->AddressBase,
                                 ImageReadUleb(Cursor),
                                 READER_DWARF_ADDRESS_SIZE,
                                 &IsThere);
        }
        break;

    case DW_RLE_offset_pair:
        Second = *Base + ImageReadUleb(Cursor);
        break;

    case DW_RLE_start_end:
        Second = ImageReadUnsigned(Cursor, READER_DWARF_ADDRESS_SIZE);
        break;

    default:
        Second = First + ImageReadUleb(Cursor);
        break;
    }

    if (Cursor->IsBad || !IsThere) {
        return FALSE;
    }

    *Start = First;
    *End = Second;
    return TRUE;
}

//
// Adds the ranges of a list in .debug_rnglists (version 5).
// Source: the unit.
// Offset: where the list is.
// Value: what has them.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddNewRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Offset,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
{
    READER_CURSOR Cursor;
    ULONGLONG Base = Source->LowAddress;
    ULONGLONG End;
    ULONGLONG Start;
    NTSTATUS Status;

    ImageSetCursor(&Cursor,
                   &Loader->RangeLists,
                   Offset,
                   Loader->RangeLists.SizeInBytes);

    while (ImageReadRange(Loader, Source, &Cursor, &Base, &Start, &End) &&
           ImagePay(Loader, READER_VISIT_COST)) {

        Status = ImageAddRange(Loader, Start, End, Pairs, Value);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}

//
// Source: the unit.
// Value: what has them.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_ENTRY Entry,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
{
    PCREADER_DWARF_VALUE High = &Entry->Values[ReaderAttributeHigh];
    PCREADER_DWARF_VALUE List = &Entry->Values[ReaderAttributeRanges];
    ULONGLONG Address;
    ULONGLONG End;
    ULONGLONG Offset;
    BOOLEAN IsThere;

    if (READER_HAS(Entry, ReaderAttributeRanges)) {

        Offset = List->Value;
        if (List->Form == DW_FORM_rnglistx) {
            Offset = ImageReadAt(&Loader->RangeLists,
                                 Source->RangeListsBase,
                                 List->Value,
                                 Source->Encoding.OffsetSize,
                                 &IsThere);
            if (!IsThere) {
                return STATUS_SUCCESS;
            }
            Offset += Source->RangeListsBase;
        }

        if (Source->Encoding.Version >= 5) {
            return ImageAddNewRanges(Loader, Source, Offset, Pairs, Value);
        }

        return ImageAddOldRanges(Loader, Source, Offset, Pairs, Value);
    }

    if (!READER_HAS(Entry, ReaderAttributeLow) ||
        !READER_HAS(Entry, ReaderAttributeHigh) ||
        !ImageGetAddress(Loader,
                         Source,
                         &Entry->Values[ReaderAttributeLow],
                         &Address)) {
        return STATUS_SUCCESS;
    }

    //
    // The end is an address, or a constant: the size.
    //

    if (!ImageGetAddress(Loader, Source, High, &End)) {
        End = Address + High->Value;
    }

    return ImageAddRange(Loader, Address, End, Pairs, Value);
}

//
// Finds the unit that a place in .debug_info is in.
// Returns the unit, or NULL if there is none or its entries cannot be read.
//

static
_Ret_maybenull_
PCREADER_DWARF_SOURCE
ImageFindSource(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ ULONGLONG Offset
    )
{
    PCREADER_DWARF_SOURCE Sources;
    ULONG First = 0;
    ULONG Last = Loader->Sources.Number;
    ULONG Middle;

    Sources = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements;

    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (Offset < Sources[Middle].FirstEntry) {
            Last = Middle;
        } else if (Offset >= Sources[Middle].End) {
            First = Middle + 1;
        } else if (Sources[Middle].NumberOfAbbreviations == 0) {
            return NULL;
        } else {
            return &Sources[Middle];
        }
    }

    return NULL;
}

//
// Goes from an entry to the one that it refers to: the declaration, or what it
// is an instance of.
// Source: the entry's unit; receives that of the other one.
// Entry: the entry; receives the other one.
// Returns FALSE if there is none.
//

static
BOOLEAN
ImageFollowEntry(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PCREADER_DWARF_SOURCE *Source,
    _Inout_ PREADER_DWARF_ENTRY Entry
    )
{
    READER_CURSOR Cursor;
    PCREADER_DWARF_VALUE Value;
    const UCHAR *Start;
    ULONGLONG Offset;
    BOOLEAN IsRead;

    if (READER_HAS(Entry, ReaderAttributeSpecification)) {
        Value = &Entry->Values[ReaderAttributeSpecification];
    } else if (READER_HAS(Entry, ReaderAttributeOrigin)) {
        Value = &Entry->Values[ReaderAttributeOrigin];
    } else {
        return FALSE;
    }

    Offset = Value->Value;

    switch (Value->Form) {

    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (Offset >= (*Source)->End - (*Source)->Offset) {
            return FALSE;
        }
        Offset += (*Source)->Offset;
        break;

    case DW_FORM_ref_addr:
        *Source = ImageFindSource(Loader, Offset);
        if (*Source == NULL) {
            return FALSE;
        }
        break;

    default:
        return FALSE;
    }

    if (Offset < (*Source)->FirstEntry) {
        return FALSE;
    }

    ImageSetCursor(&Cursor, &Loader->Info, Offset, (*Source)->End);
    Start = Cursor.Next;
    IsRead = ImageReadEntry(Loader, *Source, &Cursor, Entry);
    return (BOOLEAN)(ImagePay(Loader,
                              READER_VISIT_COST +
                                   (ULONGLONG)(Cursor.Next - Start)) &&
                     IsRead);
}

//
// Finds a function's name: the linkage name of the entry or of one that it
// refers to, else the first name in the source.
// Source: the entry's unit.
// Entry: the entry; destroyed.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_NOT_FOUND if it has
// none.
//

_Must_inspect_result_
static
NTSTATUS
ImageNameFunction(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_DWARF_ENTRY Entry,
    _Inout_ PREADER_DWARF_FUNCTION Function
    )
{
    const UCHAR *Name = NULL;
    const UCHAR *String;
    ULONG Count;
    ULONG Length;
    ULONG NameLength = 0;
    NTSTATUS Status;

    //
    // Where nothing is left to pay with, no string is measured either.
    //

    Function->IsLinkageName = FALSE;
    if (!ImagePay(Loader, READER_VISIT_COST)) {
        return STATUS_NOT_FOUND;
    }

    for (Count = 0; Count < READER_MAXIMUM_CHAIN; Count++) {

        if (READER_HAS(Entry, ReaderAttributeLinkageName)) {
            String = ImageGetString(
                Loader,
                Source,
                &Entry->Values[ReaderAttributeLinkageName],
                &Length);
            if (String != NULL && Length != 0) {
                Name = String;
                NameLength = Length;
                Function->IsLinkageName = TRUE;
                break;
            }
        }

        if (Name == NULL && READER_HAS(Entry, ReaderAttributeName)) {
            String = ImageGetString(Loader,
                                    Source,
                                    &Entry->Values[ReaderAttributeName],
                                    &Length);
            if (String != NULL && Length != 0) {
                Name = String;
                NameLength = Length;
            }
        }

        if (!ImageFollowEntry(Loader, &Source, Entry)) {
            break;
        }
    }

    if (Name == NULL || !ImagePay(Loader, NameLength)) {
        return STATUS_NOT_FOUND;
    }

    Status = ImageKeepString(Loader,
                             Name,
                             NameLength,
                             &Length);
    if (Status == STATUS_FILE_INVALID) {
        Loader->Budget = 0;
        return STATUS_NOT_FOUND;
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Function->NameOffset = Length;
    Function->NameLength = NameLength;
    return STATUS_SUCCESS;
}

//
// Adds a function if its code is in the image.
// Unit: the unit's index.
// Entry: the function's entry; destroyed.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddDwarfFunction(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Unit,
    _Inout_ PREADER_DWARF_ENTRY Entry
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    PCREADER_DWARF_SOURCE Source;
    PREADER_DWARF_FUNCTION Function;
    PREADER_DWARF_PAIR Pairs;
    ULONGLONG Address;
    ULONG First = Dwarf->Ranges.Number;
    ULONG Index;
    NTSTATUS Status;

    if (!READER_HAS(Entry, ReaderAttributeLow) &&
        !READER_HAS(Entry, ReaderAttributeRanges)) {
        return STATUS_SUCCESS;
    }

    if (!ImageGrowDwarfArray(Dwarf->Allocator,
                             &Dwarf->Functions,
                             sizeof(READER_DWARF_FUNCTION),
                             1)) {
        return STATUS_NO_MEMORY;
    }

    Source = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements + Unit;
    Status = ImageAddRanges(Loader,
                            Source,
                            Entry,
                            &Dwarf->Ranges,
                            ((ULONGLONG)Unit << 32) |
                                 Dwarf->Functions.Number);
    if (!NT_SUCCESS(Status) || Dwarf->Ranges.Number == First) {
        return Status;
    }

    //
    // The entry is said, or it is the start of the first range.
    //

    Pairs = (PREADER_DWARF_PAIR)Dwarf->Ranges.Elements;
    Function = (PREADER_DWARF_FUNCTION)Dwarf->Functions.Elements +
               Dwarf->Functions.Number;
    Function->StartRva = READER_DWARF_START(&Pairs[First]);

    if (READER_HAS(Entry, ReaderAttributeEntry) &&
        ImageGetAddress(Loader,
                        Source,
                        &Entry->Values[ReaderAttributeEntry],
                        &Address)) {

        Address -= Dwarf->ImageBase;
        for (Index = First; Index < Dwarf->Ranges.Number; Index++) {
            if (Address == READER_DWARF_START(&Pairs[Index])) {
                Function->StartRva = (ULONG)Address;
                break;
            }
        }
    }

    Status = ImageNameFunction(Loader, Source, Entry, Function);
    if (!NT_SUCCESS(Status)) {
        Dwarf->Ranges.Number = First;
        Dwarf->NumberOfNameless += 1;
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Dwarf->Functions.Number += 1;
    return STATUS_SUCCESS;
}

//
// Reads the header of a unit behind its length.
// Cursor: the place in .debug_info, which ends with the unit.
// Returns FALSE if a unit of this kind cannot be read.
//

static
BOOLEAN
ImageReadUnitHeader(
    _Inout_ PREADER_CURSOR Cursor,
    _Inout_ PREADER_DWARF_SOURCE Source
    )
{
    PCREADER_DWARF_ENCODING Encoding = &Source->Encoding;
    ULONG AddressSize;
    ULONG Kind = 0;
    ULONGLONG Version;

    Version = ImageReadUnsigned(Cursor, 2);
    if (Version < 2 || Version > 5) {
        return FALSE;
    }

    Source->Encoding.Version = (UCHAR)Version;
    if (Version >= 5) {
        Kind = (ULONG)ImageReadUnsigned(Cursor, 1);
        AddressSize = (ULONG)ImageReadUnsigned(Cursor, 1);
        Source->AbbreviationOffset =
            ImageReadUnsigned(Cursor, Encoding->OffsetSize);
    } else {
        Source->AbbreviationOffset =
            ImageReadUnsigned(Cursor, Encoding->OffsetSize);
        AddressSize = (ULONG)ImageReadUnsigned(Cursor, 1);
    }

    if (Kind == DW_UT_skeleton || Kind == DW_UT_split_compile) {
        ImageSkipBytes(Cursor, 8);
    } else if (Kind == DW_UT_type || Kind == DW_UT_split_type) {
        ImageSkipBytes(Cursor, 8 + (ULONGLONG)Encoding->OffsetSize);
    }

    //
    // Where tables begin when the unit does not say: behind their header.
    //

    Source->StringOffsetsBase = Encoding->OffsetSize == 4 ? 8 : 16;
    Source->AddressBase = Source->StringOffsetsBase;
    Source->RangeListsBase = Encoding->OffsetSize == 4 ? 12 : 20;

    return (BOOLEAN)(!Cursor->IsBad &&
                     AddressSize == READER_DWARF_ADDRESS_SIZE);
}

//
// Finds the units and reads their headers.
//

_Must_inspect_result_
static
NTSTATUS
ImageListUnits(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
{
    static const READER_DWARF_SOURCE EmptySource = { 0 };
    PREADER_DWARF Dwarf = Loader->Dwarf;
    PCALLOCATOR Allocator = Dwarf->Allocator;
    READER_CURSOR Cursor;
    READER_CURSOR Header;
    PREADER_DWARF_PAIR Pair;
    PREADER_DWARF_SOURCE Source;
    ULONGLONG Length;
    ULONG Offset;
    UCHAR OffsetSize;

    ImageSetCursor(&Cursor, &Loader->Info, 0, Loader->Info.SizeInBytes);

    while (Cursor.Next != Cursor.End) {

        Offset = (ULONG)(Cursor.Next - Loader->Info.Bytes);
        Length = ImageReadLength(&Cursor, &OffsetSize);
        if (Cursor.IsBad) {
            Dwarf->NumberOfBadUnits += 1;
            break;
        }

        Header = Cursor;
        Header.End = Cursor.Next + Length;
        Cursor.Next = Header.End;

        if (!ImageGrowDwarfArray(Allocator,
                                 &Loader->Sources,
                                 sizeof(READER_DWARF_SOURCE),
                                 1) ||
            !ImageGrowDwarfArray(Allocator,
                                 &Loader->Order,
                                 sizeof(READER_DWARF_PAIR),
                                 1) ||
            !ImageGrowDwarfArray(Allocator,
                                 &Dwarf->Units,
                                 sizeof(READER_DWARF_UNIT),
                                 1)) {
            return STATUS_NO_MEMORY;
        }

        Source = (PREADER_DWARF_SOURCE)Loader->Sources.Elements +
                 Loader->Sources.Number;
        *Source = EmptySource;
        Source->Encoding.OffsetSize = OffsetSize;
        if (!ImageReadUnitHeader(&Header, Source)) {
            Dwarf->NumberOfBadUnits += 1;
            continue;
        }

        Source->Offset = Offset;
        Source->FirstEntry = (ULONG)(Header.Next - Loader->Info.Bytes);
        Source->End = (ULONG)(Header.End - Loader->Info.Bytes);

        //
        // Units with one table of abbreviations follow each other in the
        // order.
        //

        Pair = (PREADER_DWARF_PAIR)Loader->Order.Elements +
               Loader->Order.Number;
        Pair->Key = (Source->AbbreviationOffset << 2) |
                    (OffsetSize == 8 ? 2 : 0) |
                    (Source->Encoding.Version == 2 ? 1 : 0);
        Pair->Value = Loader->Sources.Number;

        Loader->Sources.Number += 1;
        Loader->Order.Number += 1;
        Dwarf->Units.Number += 1;
    }

    return STATUS_SUCCESS;
}

//
// Reads the units' tables of abbreviations, each one once.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadTables(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
{
    PREADER_DWARF_PAIR Order = (PREADER_DWARF_PAIR)Loader->Order.Elements;
    PREADER_DWARF_SOURCE Sources;
    PREADER_DWARF_SOURCE Previous;
    PREADER_DWARF_SOURCE Source;
    ULONG Index;
    NTSTATUS Status;

    Sources = (PREADER_DWARF_SOURCE)Loader->Sources.Elements;
    ImageSortDwarfPairs(Order, Loader->Order.Number);

    for (Index = 0; Index < Loader->Order.Number; Index++) {

        Source = &Sources[Order[Index].Value];

        if (Index > 0 && Order[Index].Key == Order[Index - 1].Key) {
            Previous = &Sources[Order[Index - 1].Value];
            Source->FirstAbbreviation = Previous->FirstAbbreviation;
            Source->NumberOfAbbreviations = Previous->NumberOfAbbreviations;
        } else {
            Status = ImageReadAbbreviations(Loader, Source);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Source->NumberOfAbbreviations == 0) {
            Loader->Dwarf->NumberOfBadUnits += 1;
        }
    }

    return STATUS_SUCCESS;
}

//
// Keeps the name of the folder that a unit was compiled in. Most units of an
// image share one.
// Entry: the unit's own entry.
//

_Must_inspect_result_
static
NTSTATUS
ImageKeepFolder(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ PCREADER_DWARF_ENTRY Entry
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    PCREADER_DWARF_SOURCE Source;
    PREADER_DWARF_UNIT Unit;
    const UCHAR *Folder;
    PCHAR Kept;
    ULONG Equal;
    ULONG Length;
    NTSTATUS Status;

    Source = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements + Index;
    Unit = (PREADER_DWARF_UNIT)Dwarf->Units.Elements + Index;
    Folder = ImageGetString(Loader,
                            Source,
                            &Entry->Values[ReaderAttributeFolder],
                            &Length);
    if (Folder == NULL ||
        Length == 0 ||
        Length > READER_DWARF_MAXIMUM_PATH) {
        return STATUS_SUCCESS;
    }

    if (Index > 0 && Unit[-1].FolderLength == Length) {
        Kept = (PCHAR)Dwarf->Names.Elements + Unit[-1].FolderOffset;
        for (Equal = 0; Equal < Length; Equal++) {
            if ((UCHAR)Kept[Equal] != Folder[Equal]) {
                break;
            }
        }
        if (Equal == Length) {
            Unit->FolderOffset = Unit[-1].FolderOffset;
            Unit->FolderLength = Length;
            return STATUS_SUCCESS;
        }
    }

    Status = ImageKeepString(Loader, Folder, Length, &Unit->FolderOffset);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Unit->FolderLength = Length;
    return STATUS_SUCCESS;
}

//
// Takes what a unit's own entry says of it.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadUnitEntry(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ PCREADER_DWARF_ENTRY Entry
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    PCREADER_DWARF_VALUE Values = Entry->Values;
    PREADER_DWARF_SOURCE Source;
    PREADER_DWARF_UNIT Unit;
    NTSTATUS Status;

    Source = (PREADER_DWARF_SOURCE)Loader->Sources.Elements + Index;
    Unit = (PREADER_DWARF_UNIT)Dwarf->Units.Elements + Index;

    if (READER_HAS(Entry, ReaderAttributeStringOffsets)) {
        Source->StringOffsetsBase = Values[ReaderAttributeStringOffsets].Value;
    }

    if (READER_HAS(Entry, ReaderAttributeAddresses)) {
        Source->AddressBase = Values[ReaderAttributeAddresses].Value;
    }

    if (READER_HAS(Entry, ReaderAttributeRangeLists)) {
        Source->RangeListsBase = Values[ReaderAttributeRangeLists].Value;
    }

    if (READER_HAS(Entry, ReaderAttributeLow)) {
        (VOID)ImageGetAddress(Loader,
                              Source,
                              &Values[ReaderAttributeLow],
                              &Source->LowAddress);
    }

    if (READER_HAS(Entry, ReaderAttributeLines) &&
        Values[ReaderAttributeLines].Value < READER_DWARF_NONE) {
        Unit->LinesOffset = (ULONG)Values[ReaderAttributeLines].Value;
        Unit->HasLines = TRUE;
    }

    if (READER_HAS(Entry, ReaderAttributeFolder)) {
        Status = ImageKeepFolder(Loader, Index, Entry);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (!Unit->HasLines) {
        return STATUS_SUCCESS;
    }

    return ImageAddRanges(Loader, Source, Entry, &Dwarf->UnitRanges, Index);
}

//
// Reads a unit: first its own entry, and when all units have got so far
// (functions may refer to other units) its functions.
// IsFirstPass: which of the two.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadUnit(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ BOOLEAN IsFirstPass
    )
{
    READER_CURSOR Cursor;
    READER_DWARF_ENTRY Entry;
    PCREADER_DWARF_SOURCE Source;
    NTSTATUS Status;

    Source = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements + Index;
    if (Source->NumberOfAbbreviations == 0) {
        return STATUS_SUCCESS;
    }

    ImageSetCursor(&Cursor, &Loader->Info, Source->FirstEntry, Source->End);

    while (Cursor.Next != Cursor.End) {

        if (!ImageReadEntry(Loader, Source, &Cursor, &Entry)) {
            if (!IsFirstPass) {
                Loader->Dwarf->NumberOfBadUnits += 1;
            }
            break;
        }

        if (IsFirstPass) {
            return ImageReadUnitEntry(Loader, Index, &Entry);
        }

        if (Entry.Tag == DW_TAG_subprogram) {
            Status = ImageAddDwarfFunction(Loader, Index, &Entry);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}

//
// Frees what is needed only while the information is read.
//

static
VOID
ImageFreeLoader(
    _Inout_ PREADER_DWARF Dwarf
    )
{
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PREADER_DWARF_LOADER Loader = Dwarf->Loader;

    if (Loader == NULL) {
        return;
    }

    ImageFreeDwarfArray(Allocator, &Loader->Sources);
    ImageFreeDwarfArray(Allocator, &Loader->Order);
    ImageFreeDwarfArray(Allocator, &Loader->Abbreviations);
    ImageFreeDwarfArray(Allocator, &Loader->Steps);
    Allocator->Free(Allocator->Context, Loader);
    Dwarf->Loader = NULL;
}

//
// Copies a section that is needed later.
// Coff: the image's tables.
// Dwarf: the allocator.
// Copy, CopyInBytes: the copy; left alone if there is no such section.
//

_Must_inspect_result_
static
NTSTATUS
ImageKeepSection(
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _In_z_ PCSZ Name,
    _Inout_ PREADER_DWARF Dwarf,
    _Inout_ PUCHAR *Copy,
    _Inout_ PULONG CopyInBytes
    )
{
    const UCHAR *Bytes;
    ULONG Index;
    ULONG Size;

    Bytes = ImageFindCoffSection(Coff, Image, SizeInBytes, Name, &Size);
    if (Bytes == NULL) {
        return STATUS_SUCCESS;
    }

    *Copy = (PUCHAR)Dwarf->Allocator->Allocate(Dwarf->Allocator->Context,
                                               Size);
    if (*Copy == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Size; Index++) {
        (*Copy)[Index] = Bytes[Index];
    }

    *CopyInBytes = Size;
    return STATUS_SUCCESS;
}

//
// Reads all units.
//

_Must_inspect_result_
static
NTSTATUS
ImageLoadInformation(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    ULONG Index;
    ULONG Pass;
    NTSTATUS Status;

    Status = ImageListUnits(Loader);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ImageReadTables(Loader);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Pass = 0; Pass < 2; Pass++) {
        for (Index = 0; Index < Loader->Sources.Number; Index++) {
            Status = ImageReadUnit(Loader, Index, (BOOLEAN)(Pass == 0));
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    ImageSortDwarfPairs((PREADER_DWARF_PAIR)Dwarf->Ranges.Elements,
                        Dwarf->Ranges.Number);
    ImageSortDwarfPairs((PREADER_DWARF_PAIR)Dwarf->UnitRanges.Elements,
                        Dwarf->UnitRanges.Number);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
ImageInitializeDwarf(
    PCALLOCATOR Allocator,
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_DWARF Dwarf
    )
{
    static const READER_DWARF EmptyDwarf = { 0 };
    static const struct {
        PCSZ Name;
        ULONG Offset;               // of the READER_DWARF_BYTES
    } Sections[] = {
        { ".debug_info", FIELD_OFFSET(READER_DWARF_LOADER, Info) },
        { ".debug_abbrev", FIELD_OFFSET(READER_DWARF_LOADER, Abbreviation) },
        { ".debug_str", FIELD_OFFSET(READER_DWARF_LOADER, Strings) },
        { ".debug_line_str", FIELD_OFFSET(READER_DWARF_LOADER, LineStrings) },
        { ".debug_str_offsets",
          FIELD_OFFSET(READER_DWARF_LOADER, StringOffsets) },
        { ".debug_addr", FIELD_OFFSET(READER_DWARF_LOADER, Addresses) },
        { ".debug_ranges", FIELD_OFFSET(READER_DWARF_LOADER, Ranges) },
        { ".debug_rnglists", FIELD_OFFSET(READER_DWARF_LOADER, RangeLists) }
    };
    PREADER_DWARF_LOADER Loader;
    PREADER_DWARF_BYTES Section;
    ULONG Index;
    NTSTATUS Status;

    *Dwarf = EmptyDwarf;
    Dwarf->Allocator = Allocator;
    Dwarf->ImageBase = Coff->ImageBase;

    Loader = (PREADER_DWARF_LOADER)Allocator->Allocate(Allocator->Context,
                                                       sizeof(*Loader));
    if (Loader == NULL) {
        return STATUS_NO_MEMORY;
    }

    Dwarf->Loader = Loader;
    Loader->Dwarf = Dwarf;
    Loader->Coff = Coff;

    for (Index = 0; Index < RTL_NUMBER_OF(Sections); Index++) {
        Section = (PREADER_DWARF_BYTES)((PUCHAR)Loader +
                                        Sections[Index].Offset);
        Section->Bytes = ImageFindCoffSection(Coff,
                                              Image,
                                              SizeInBytes,
                                              Sections[Index].Name,
                                              &Section->SizeInBytes);
    }

    Status = STATUS_SUCCESS;
    if (Loader->Info.Bytes == NULL || Loader->Abbreviation.Bytes == NULL) {
        goto End;
    }

    Loader->Budget = READER_BUDGET_FACTOR * SizeInBytes +
                     READER_MINIMUM_BUDGET;
    Loader->AbbreviationBudget = Loader->Abbreviation.SizeInBytes;
    Loader->NamesLimit = 2 * SizeInBytes + 0x10000;
    if (Loader->NamesLimit > 0x7fffffff) {
        Loader->NamesLimit = 0x7fffffff;
    }

    Status = ImageLoadInformation(Loader);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Status = ImageKeepSection(Coff,
                              Image,
                              SizeInBytes,
                              ".debug_line",
                              Dwarf,
                              &Dwarf->Line,
                              &Dwarf->LineInBytes);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Status = ImageKeepSection(Coff,
                              Image,
                              SizeInBytes,
                              ".debug_line_str",
                              Dwarf,
                              &Dwarf->LineStrings,
                              &Dwarf->LineStringsInBytes);

    //
    // A line table is read once, unless units share it.
    //

    Dwarf->LineBudget = 2 * (ULONGLONG)Dwarf->LineInBytes;

End:

    ImageFreeLoader(Dwarf);
    return Status;
}

_Use_decl_annotations_
BOOLEAN
ImageFindDwarfFunction(
    PCREADER_DWARF Dwarf,
    ULONG Rva,
    PREADER_DWARF_SYMBOL Symbol
    )
{
    const READER_DWARF_FUNCTION *Function;
    PCREADER_DWARF_PAIR Pair;

    Pair = ImageFindDwarfPair((PCREADER_DWARF_PAIR)Dwarf->Ranges.Elements,
                              Dwarf->Ranges.Number,
                              Rva);
    if (Pair == NULL) {
        return FALSE;
    }

    Function = (const READER_DWARF_FUNCTION *)Dwarf->Functions.Elements +
               (ULONG)Pair->Value;
    Symbol->StartRva = Function->StartRva;
    Symbol->LengthInBytes = Function->NameLength;
    Symbol->Name = (PCSZ)Dwarf->Names.Elements + Function->NameOffset;
    Symbol->IsLinkageName = (BOOLEAN)Function->IsLinkageName;
    return TRUE;
}

_Use_decl_annotations_
VOID
ImageRundownDwarf(
    PREADER_DWARF Dwarf
    )
{
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PREADER_DWARF_CHUNK Chunk;
    PREADER_DWARF_CHUNK Next;
    PREADER_DWARF_UNIT Units = (PREADER_DWARF_UNIT)Dwarf->Units.Elements;
    ULONG Index;

    if (Allocator == NULL) {
        return;
    }

    ImageFreeLoader(Dwarf);

    for (Index = 0; Index < Dwarf->Units.Number; Index++) {
        ImageFreeDwarfLines(Allocator, Units[Index].Lines);
    }

    for (Chunk = Dwarf->Chunks; Chunk != NULL; Chunk = Next) {
        Next = Chunk->Next;
        Allocator->Free(Allocator->Context, Chunk);
    }

    ImageFreeDwarfArray(Allocator, &Dwarf->Units);
    ImageFreeDwarfArray(Allocator, &Dwarf->Functions);
    ImageFreeDwarfArray(Allocator, &Dwarf->Ranges);
    ImageFreeDwarfArray(Allocator, &Dwarf->UnitRanges);
    ImageFreeDwarfArray(Allocator, &Dwarf->Names);
    ImageFreeDwarfArray(Allocator, &Dwarf->Rows);
    ImageFreeDwarfArray(Allocator, &Dwarf->Sequences);
    Allocator->Free(Allocator->Context, Dwarf->Line);
    Allocator->Free(Allocator->Context, Dwarf->LineStrings);
    Dwarf->Line = NULL;
    Dwarf->LineStrings = NULL;
    Dwarf->Chunks = NULL;
    Dwarf->Allocator = NULL;
}

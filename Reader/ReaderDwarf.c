/*++

Module Name:

    ReaderDwarf.c

Abstract:

    Functions out of .debug_info.  ReaderDwarf.h says what the routines
    promise; the layouts are those of "DWARF Debugging Information Format" in
    its versions 2 to 5.

    The entries of a unit are read one after the other, without regard to how
    they nest: a function is a function wherever it stands.  An abbreviation is
    turned into steps first: what is of no interest is passed over, fixed sizes
    together, and what takes no bytes in the data is no step, so that the time
    for an entry is bounded by its size.

--*/

#include "ReaderDwarfForm.h"

#define DW_TAG_compile_unit         0x11
#define DW_TAG_subprogram           0x2e
#define DW_TAG_partial_unit         0x3c
#define DW_TAG_type_unit            0x41
#define DW_TAG_skeleton_unit        0x4a

#define DW_AT_name                  0x03
#define DW_AT_stmt_list             0x10
#define DW_AT_low_pc                0x11
#define DW_AT_high_pc               0x12
#define DW_AT_comp_dir              0x1b
#define DW_AT_abstract_origin       0x31
#define DW_AT_specification         0x47
#define DW_AT_entry_pc              0x52
#define DW_AT_ranges                0x55
#define DW_AT_linkage_name          0x6e
#define DW_AT_str_offsets_base      0x72
#define DW_AT_addr_base             0x73
#define DW_AT_rnglists_base         0x74
#define DW_AT_MIPS_linkage_name     0x2007

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
// The attributes that are of interest.  The places of values in a
// READER_DWARF_ENTRY.
//

typedef enum _READER_ATTRIBUTE {
    ReaderAttributeName = 0,
    ReaderAttributeLines,
    ReaderAttributeLow,
    ReaderAttributeHigh,
    ReaderAttributeFolder,
    ReaderAttributeOrigin,
    ReaderAttributeSpecification,
    ReaderAttributeEntry,
    ReaderAttributeRanges,
    ReaderAttributeLinkageName,
    ReaderAttributeStringOffsets,
    ReaderAttributeAddresses,
    ReaderAttributeRangeLists,
    ReaderNumberOfAttributes
} READER_ATTRIBUTE;

//
// How many attributes an abbreviation of interest may have, how many entries
// are followed for a name, and the longest name.
//

#define READER_MAXIMUM_STEPS 256
#define READER_MAXIMUM_CHAIN 8

//
// What may be read more than once (the entries that functions refer to, their
// names, lists of ranges) is paid for, with this much for each visit, from a
// budget of so many times the size of the file.
//

#define READER_VISIT_COST 64
#define READER_BUDGET_FACTOR 16
#define READER_MINIMUM_BUDGET 0x100000

//
// A step passes over a fixed number of bytes (the form is READER_STEP_SKIP),
// passes over a value, or reads one.
//

#define READER_STEP_SKIP 0xffffu
#define READER_STEP_UNWANTED 0xffffu

typedef struct _READER_DWARF_STEP {
    USHORT Attribute;               // READER_ATTRIBUTE or unwanted
    USHORT Form;
    ULONG Unused;
    ULONGLONG Value;                // bytes to skip; implicit constant
} READER_DWARF_STEP;
typedef READER_DWARF_STEP *PREADER_DWARF_STEP;

typedef struct _READER_DWARF_ABBREVIATION {
    ULONG Code;
    USHORT Tag;
    USHORT IsWanted;
    ULONG FirstStep;
    ULONG NumberOfSteps;
} READER_DWARF_ABBREVIATION;
typedef READER_DWARF_ABBREVIATION *PREADER_DWARF_ABBREVIATION;
typedef const READER_DWARF_ABBREVIATION *PCREADER_DWARF_ABBREVIATION;

//
// A unit while the information is read.
//

typedef struct _READER_DWARF_SOURCE {
    ULONG Offset;                   // in .debug_info, bytes
    ULONG FirstEntry;
    ULONG End;
    ULONG FirstAbbreviation;
    ULONG NumberOfAbbreviations;    // 0: the unit cannot be read
    READER_DWARF_ENCODING Encoding;
    ULONGLONG AbbreviationOffset;
    ULONGLONG StringOffsetsBase;
    ULONGLONG AddressBase;
    ULONGLONG RangeListsBase;
    ULONGLONG LowAddress;
} READER_DWARF_SOURCE;
typedef READER_DWARF_SOURCE *PREADER_DWARF_SOURCE;
typedef const READER_DWARF_SOURCE *PCREADER_DWARF_SOURCE;

//
// An entry's attributes.
//

typedef struct _READER_DWARF_ENTRY {
    ULONG Tag;                      // 0: the end of a list of siblings
    ULONG Present;                  // bits by READER_ATTRIBUTE
    READER_DWARF_VALUE Values[ReaderNumberOfAttributes];
} READER_DWARF_ENTRY;
typedef READER_DWARF_ENTRY *PREADER_DWARF_ENTRY;
typedef const READER_DWARF_ENTRY *PCREADER_DWARF_ENTRY;

#define READER_HAS(Entry, Attribute) \
    (((Entry)->Present & (1u << (Attribute))) != 0)

struct _READER_DWARF_LOADER {
    PREADER_DWARF Dwarf;
    PCREADER_COFF Coff;
    READER_DWARF_BYTES Info;
    READER_DWARF_BYTES Abbreviation;
    READER_DWARF_BYTES Strings;
    READER_DWARF_BYTES LineStrings;
    READER_DWARF_BYTES StringOffsets;
    READER_DWARF_BYTES Addresses;
    READER_DWARF_BYTES Ranges;
    READER_DWARF_BYTES RangeLists;
    ULONGLONG Budget;
    ULONGLONG AbbreviationBudget;   // bytes
    ULONGLONG NamesLimit;           // bytes
    READER_DWARF_ARRAY Sources;         // READER_DWARF_SOURCE, by unit
    READER_DWARF_ARRAY Order;           // READER_DWARF_PAIR
    READER_DWARF_ARRAY Abbreviations;   // READER_DWARF_ABBREVIATION
    READER_DWARF_ARRAY Steps;           // READER_DWARF_STEP
};

static
BOOLEAN
ReaderPay(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONGLONG Cost
    )
/*++

Routine Description:

    Takes from the budget for what is read more than once.

Arguments:

    Loader - The loader.

    Cost - Supplies how much.

Return Value:

    FALSE if there is not so much left; then nothing is.

--*/
{
    if (Loader->Budget < Cost) {
        Loader->Budget = 0;
        return FALSE;
    }

    Loader->Budget -= Cost;
    return TRUE;
}

static
ULONG
ReaderMapAttribute(
    _In_ ULONGLONG Name
    )
/*++

Routine Description:

    Says where an attribute's value goes.

Arguments:

    Name - Supplies the attribute, DW_AT_*.

Return Value:

    The READER_ATTRIBUTE, or READER_STEP_UNWANTED.

--*/
{
    switch (Name) {
    case DW_AT_name:
        return ReaderAttributeName;
    case DW_AT_stmt_list:
        return ReaderAttributeLines;
    case DW_AT_low_pc:
        return ReaderAttributeLow;
    case DW_AT_high_pc:
        return ReaderAttributeHigh;
    case DW_AT_comp_dir:
        return ReaderAttributeFolder;
    case DW_AT_abstract_origin:
        return ReaderAttributeOrigin;
    case DW_AT_specification:
        return ReaderAttributeSpecification;
    case DW_AT_entry_pc:
        return ReaderAttributeEntry;
    case DW_AT_ranges:
        return ReaderAttributeRanges;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return ReaderAttributeLinkageName;
    case DW_AT_str_offsets_base:
        return ReaderAttributeStringOffsets;
    case DW_AT_addr_base:
        return ReaderAttributeAddresses;
    case DW_AT_rnglists_base:
        return ReaderAttributeRangeLists;
    default:
        return READER_STEP_UNWANTED;
    }
}

_Must_inspect_result_
static
NTSTATUS
ReaderAddStep(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_DWARF_ABBREVIATION Abbreviation,
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _In_ ULONGLONG Name,
    _In_ ULONGLONG Form,
    _In_ ULONGLONG Constant,
    _Inout_ PULONG Present
    )
/*++

Routine Description:

    Adds the step for an attribute to the newest abbreviation.

Arguments:

    Loader - The loader.

    Abbreviation - The abbreviation.

    Encoding - Supplies how the unit writes its values.

    Name, Form, Constant - Supply the attribute: DW_AT_*, DW_FORM_* and the
        value of an implicit constant.

    Present - The attributes that the abbreviation has, as bits.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID if the form is not
    known or there are too many attributes.

--*/
{
    PREADER_DWARF_STEP Step;
    ULONG Attribute = READER_STEP_UNWANTED;
    ULONG Size;

    Size = ReaderGetFormSize(Encoding, Form);
    if (Size == READER_FORM_UNKNOWN) {
        return STATUS_FILE_INVALID;
    }

    //
    // Each attribute is wanted once.
    //

    if (Abbreviation->IsWanted) {
        Attribute = ReaderMapAttribute(Name);
        if (Attribute != READER_STEP_UNWANTED) {
            if ((*Present & (1u << Attribute)) != 0) {
                Attribute = READER_STEP_UNWANTED;
            } else {
                *Present |= 1u << Attribute;
            }
        }
    }

    if (Attribute == READER_STEP_UNWANTED) {

        if (Size == 0) {
            return STATUS_SUCCESS;
        }

        if (Size != READER_FORM_VARIABLE && Abbreviation->NumberOfSteps > 0) {
            Step = (PREADER_DWARF_STEP)Loader->Steps.Elements +
                   Loader->Steps.Number - 1;
            if (Step->Form == READER_STEP_SKIP) {
                Step->Value += Size;
                return STATUS_SUCCESS;
            }
        }
    }

    if (Abbreviation->IsWanted &&
        Abbreviation->NumberOfSteps >= READER_MAXIMUM_STEPS) {
        return STATUS_FILE_INVALID;
    }

    if (!ReaderGrowDwarfArray(Loader->Dwarf->Allocator,
                              &Loader->Steps,
                              sizeof(READER_DWARF_STEP),
                              1)) {
        return STATUS_NO_MEMORY;
    }

    Step = (PREADER_DWARF_STEP)Loader->Steps.Elements + Loader->Steps.Number;
    Step->Attribute = (USHORT)Attribute;
    Step->Form = (USHORT)Form;
    Step->Value = Constant;
    if (Attribute == READER_STEP_UNWANTED && Size != READER_FORM_VARIABLE) {
        Step->Form = READER_STEP_SKIP;
        Step->Value = Size;
    }

    Loader->Steps.Number += 1;
    Abbreviation->NumberOfSteps += 1;
    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
ReaderReadAbbreviation(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_CURSOR Cursor,
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _Inout_ PULONGLONG Code
    )
/*++

Routine Description:

    Reads one abbreviation.

Arguments:

    Loader - The loader.

    Cursor - The place in .debug_abbrev.

    Encoding - Supplies how the unit writes its values.

    Code - Supplies the code of the abbreviation before this one; receives this
        one's, 0 at the table's end.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID.

--*/
{
    READER_DWARF_ABBREVIATION Abbreviation;
    ULONGLONG Constant;
    ULONGLONG Form;
    ULONGLONG Name;
    ULONGLONG Previous = *Code;
    ULONGLONG Tag;
    ULONG Present = 0;
    NTSTATUS Status;

    *Code = ReaderReadUleb(Cursor);
    if (*Code == 0) {
        return Cursor->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
    }

    //
    // Compilers number abbreviations upward from 1.
    //

    Tag = ReaderReadUleb(Cursor);
    (VOID)ReaderReadUnsigned(Cursor, 1);
    if (*Code <= Previous || *Code >= READER_DWARF_NONE || Cursor->IsBad) {
        return STATUS_FILE_INVALID;
    }

    Abbreviation.Code = (ULONG)*Code;
    Abbreviation.Tag = Tag <= 0xffff && Tag != 0 ? (USHORT)Tag : 0xffff;
    Abbreviation.IsWanted = (USHORT)(Tag == DW_TAG_compile_unit ||
                                     Tag == DW_TAG_subprogram ||
                                     Tag == DW_TAG_partial_unit ||
                                     Tag == DW_TAG_type_unit ||
                                     Tag == DW_TAG_skeleton_unit);
    Abbreviation.FirstStep = Loader->Steps.Number;
    Abbreviation.NumberOfSteps = 0;

    for (;;) {

        Name = ReaderReadUleb(Cursor);
        Form = ReaderReadUleb(Cursor);
        Constant = 0;
        if (Form == DW_FORM_implicit_const) {
            Constant = ReaderReadSleb(Cursor);
        }

        if (Cursor->IsBad) {
            return STATUS_FILE_INVALID;
        }

        if (Name == 0 && Form == 0) {
            break;
        }

        Status = ReaderAddStep(Loader,
                               &Abbreviation,
                               Encoding,
                               Name,
                               Form,
                               Constant,
                               &Present);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (!ReaderGrowDwarfArray(Loader->Dwarf->Allocator,
                              &Loader->Abbreviations,
                              sizeof(READER_DWARF_ABBREVIATION),
                              1)) {
        return STATUS_NO_MEMORY;
    }

    ((PREADER_DWARF_ABBREVIATION)Loader->Abbreviations.Elements)
        [Loader->Abbreviations.Number] = Abbreviation;
    Loader->Abbreviations.Number += 1;
    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
ReaderReadAbbreviations(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_DWARF_SOURCE Source
    )
/*++

Routine Description:

    Reads a unit's table of abbreviations.  Tables do not overlap, so all of
    them together are no larger than their section.

Arguments:

    Loader - The loader.

    Source - The unit; receives where its abbreviations are, or that it cannot
        be read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_CURSOR Cursor;
    const UCHAR *Start;
    ULONGLONG Code = 0;
    ULONGLONG Size;
    ULONG First = Loader->Abbreviations.Number;
    NTSTATUS Status;

    Source->FirstAbbreviation = First;
    Source->NumberOfAbbreviations = 0;

    if (Source->AbbreviationOffset >= Loader->Abbreviation.SizeInBytes) {
        return STATUS_SUCCESS;
    }

    ReaderSetCursor(&Cursor,
                    &Loader->Abbreviation,
                    Source->AbbreviationOffset,
                    Source->AbbreviationOffset + Loader->AbbreviationBudget);
    Start = Cursor.Next;

    do {
        Status = ReaderReadAbbreviation(Loader,
                                        &Cursor,
                                        &Source->Encoding,
                                        &Code);
    } while (NT_SUCCESS(Status) && Code != 0);

    Size = (ULONGLONG)(Cursor.Next - Start);
    Loader->AbbreviationBudget -= Size;

    if (Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (NT_SUCCESS(Status)) {
        Source->NumberOfAbbreviations = Loader->Abbreviations.Number - First;
    }

    return STATUS_SUCCESS;
}

static
_Ret_maybenull_
PCREADER_DWARF_ABBREVIATION
ReaderFindAbbreviation(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Code
    )
/*++

Routine Description:

    Finds an abbreviation.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Code - Supplies the code, not 0.

Return Value:

    The abbreviation, or NULL.

--*/
{
    PCREADER_DWARF_ABBREVIATION Table;
    ULONG First = 0;
    ULONG Last = Source->NumberOfAbbreviations;
    ULONG Middle;

    Table = (PCREADER_DWARF_ABBREVIATION)Loader->Abbreviations.Elements +
            Source->FirstAbbreviation;

    if (Code <= Last && Table[Code - 1].Code == Code) {
        return &Table[Code - 1];
    }

    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (Table[Middle].Code < Code) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    if (First < Source->NumberOfAbbreviations && Table[First].Code == Code) {
        return &Table[First];
    }

    return NULL;
}

static
BOOLEAN
ReaderReadEntry(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_CURSOR Cursor,
    _Out_ PREADER_DWARF_ENTRY Entry
    )
/*++

Routine Description:

    Reads one entry of .debug_info.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Cursor - The place in .debug_info.

    Entry - Receives the entry.

Return Value:

    FALSE if there is none.

--*/
{
    PCREADER_DWARF_ABBREVIATION Abbreviation;
    const READER_DWARF_STEP *Step;
    READER_DWARF_VALUE Unwanted;
    ULONGLONG Code;
    ULONG Index;

    Entry->Tag = 0;
    Entry->Present = 0;

    Code = ReaderReadUleb(Cursor);
    if (Cursor->IsBad) {
        return FALSE;
    }

    if (Code == 0) {
        return TRUE;
    }

    Abbreviation = ReaderFindAbbreviation(Loader, Source, Code);
    if (Abbreviation == NULL) {
        return FALSE;
    }

    Entry->Tag = Abbreviation->Tag;
    if (Abbreviation->NumberOfSteps == 0) {
        return TRUE;
    }

    Step = (const READER_DWARF_STEP *)Loader->Steps.Elements +
           Abbreviation->FirstStep;

    for (Index = 0; Index < Abbreviation->NumberOfSteps; Index++, Step++) {

        if (Step->Form == READER_STEP_SKIP) {
            ReaderSkipBytes(Cursor, Step->Value);
        } else if (Step->Attribute == READER_STEP_UNWANTED) {
            ReaderReadForm(Cursor, &Source->Encoding, Step->Form, &Unwanted);
        } else {
            Entry->Present |= 1u << Step->Attribute;
            Entry->Values[Step->Attribute].Value = Step->Value;
            ReaderReadForm(Cursor,
                           &Source->Encoding,
                           Step->Form,
                           &Entry->Values[Step->Attribute]);
        }

        if (Cursor->IsBad) {
            return FALSE;
        }
    }

    return TRUE;
}

static
ULONGLONG
ReaderReadAt(
    _In_ PCREADER_DWARF_BYTES Section,
    _In_ ULONGLONG Base,
    _In_ ULONGLONG Index,
    _In_ ULONG ElementInBytes,
    _Out_ PBOOLEAN IsThere
    )
/*++

Routine Description:

    Reads an element of a table.

Arguments:

    Section - Supplies the section that the table is in.

    Base - Supplies where in it the table begins, in bytes.

    Index - Supplies which element.

    ElementInBytes - Supplies an element's size, 4 or 8.

    IsThere - Receives whether the section has it.

Return Value:

    The element, or 0.

--*/
{
    READER_CURSOR Cursor;
    ULONGLONG Value;

    *IsThere = FALSE;
    if (Base > Section->SizeInBytes || Index > Section->SizeInBytes) {
        return 0;
    }

    ReaderSetCursor(&Cursor,
                    Section,
                    Base + Index * ElementInBytes,
                    Section->SizeInBytes);
    Value = ReaderReadUnsigned(&Cursor, ElementInBytes);
    *IsThere = (BOOLEAN)!Cursor.IsBad;
    return Value;
}

static
BOOLEAN
ReaderGetAddress(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_VALUE Value,
    _Out_ PULONGLONG Address
    )
/*++

Routine Description:

    Says which address a value is.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Value - Supplies the value.

    Address - Receives the address, or 0.

Return Value:

    FALSE if the value is no address.

--*/
{
    BOOLEAN IsThere;

    *Address = 0;

    switch (Value->Form) {

    case DW_FORM_addr:
        *Address = Value->Value;
        return TRUE;

    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
        *Address = ReaderReadAt(&Loader->Addresses,
                                Source->AddressBase,
                                Value->Value,
                                READER_DWARF_ADDRESS_SIZE,
                                &IsThere);
        return IsThere;

    default:
        return FALSE;
    }
}

static
_Ret_maybenull_
const UCHAR *
ReaderGetString(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_VALUE Value,
    _Out_ PULONG LengthInBytes
    )
/*++

Routine Description:

    Says which string a value is.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Value - Supplies the value.

    LengthInBytes - Receives the string's length, 0 on failure.

Return Value:

    Its first byte, or NULL if it is none.

--*/
{
    ULONGLONG Offset;
    BOOLEAN IsThere;

    *LengthInBytes = 0;

    switch (Value->Form) {

    case DW_FORM_string:
        *LengthInBytes = READER_COFF_MAXIMUM_NAME;
        if (Value->Value < READER_COFF_MAXIMUM_NAME) {
            *LengthInBytes = (ULONG)Value->Value;
        }
        return Value->Bytes;

    case DW_FORM_strp:
        return ReaderFindString(&Loader->Strings,
                                Value->Value,
                                READER_COFF_MAXIMUM_NAME,
                                LengthInBytes);

    case DW_FORM_line_strp:
        return ReaderFindString(&Loader->LineStrings,
                                Value->Value,
                                READER_COFF_MAXIMUM_NAME,
                                LengthInBytes);

    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        Offset = ReaderReadAt(&Loader->StringOffsets,
                              Source->StringOffsetsBase,
                              Value->Value,
                              Source->Encoding.OffsetSize,
                              &IsThere);
        if (!IsThere) {
            return NULL;
        }
        return ReaderFindString(&Loader->Strings,
                                Offset,
                                READER_COFF_MAXIMUM_NAME,
                                LengthInBytes);

    default:
        return NULL;
    }
}

_Must_inspect_result_
static
NTSTATUS
ReaderKeepString(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_reads_bytes_(LengthInBytes) const UCHAR *String,
    _In_ ULONG LengthInBytes,
    _Out_ PULONG Offset
    )
/*++

Routine Description:

    Copies a string to the names.  Many functions of a hostile image can share
    one long name: the names together are limited by the size of the file.

Arguments:

    Loader - The loader.

    String - Supplies the string.

    LengthInBytes - Supplies its length.

    Offset - Receives where it is in the names.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID if the names are
    more than can be.

--*/
{
    PREADER_DWARF Dwarf = Loader->Dwarf;

    *Offset = 0;
    if ((ULONGLONG)Dwarf->Names.Number + LengthInBytes + 1 >
        Loader->NamesLimit) {
        return STATUS_FILE_INVALID;
    }

    if (!ReaderGrowDwarfArray(Dwarf->Allocator,
                              &Dwarf->Names,
                              sizeof(CHAR),
                              LengthInBytes + 1)) {
        return STATUS_NO_MEMORY;
    }

    *Offset = Dwarf->Names.Number;
    ReaderCopyPrintable((PCHAR)Dwarf->Names.Elements + *Offset,
                        String,
                        LengthInBytes);
    Dwarf->Names.Number += LengthInBytes + 1;
    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
ReaderAddRange(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
/*++

Routine Description:

    Adds a range of code.  What the linker left out has addresses that are not
    in the image: it is not added.

Arguments:

    Loader - The loader.

    Start, End - Supply the addresses of its first byte and of the first one
        behind it.

    Pairs - The ranges.

    Value - Supplies what has the range.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    Section = ReaderFindCodeSection(Loader->Coff, (ULONG)Rva);
    if (Section == NULL) {
        return STATUS_SUCCESS;
    }

    End -= Dwarf->ImageBase;
    if (End > Section->EndRva) {
        End = Section->EndRva;
    }

    if (!ReaderGrowDwarfArray(Dwarf->Allocator,
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

_Must_inspect_result_
static
NTSTATUS
ReaderAddOldRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Offset,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
/*++

Routine Description:

    Adds the ranges of a list in .debug_ranges (versions 3 and 4).

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Offset - Supplies where the list is.

    Pairs - The ranges.

    Value - Supplies what has them.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_CURSOR Cursor;
    ULONGLONG Base = Source->LowAddress;
    ULONGLONG End;
    ULONGLONG Start;
    NTSTATUS Status;

    ReaderSetCursor(&Cursor,
                    &Loader->Ranges,
                    Offset,
                    Loader->Ranges.SizeInBytes);

    for (;;) {

        Start = ReaderReadUnsigned(&Cursor, READER_DWARF_ADDRESS_SIZE);
        End = ReaderReadUnsigned(&Cursor, READER_DWARF_ADDRESS_SIZE);
        if (Cursor.IsBad ||
            (Start == 0 && End == 0) ||
            !ReaderPay(Loader, READER_VISIT_COST)) {
            return STATUS_SUCCESS;
        }

        if (Start == ~0ULL) {
            Base = End;
            continue;
        }

        Status = ReaderAddRange(Loader,
                                Base + Start,
                                Base + End,
                                Pairs,
                                Value);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}

static
BOOLEAN
ReaderReadRange(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_CURSOR Cursor,
    _Inout_ PULONGLONG Base,
    _Out_ PULONGLONG Start,
    _Out_ PULONGLONG End
    )
/*++

Routine Description:

    Reads one entry of a list in .debug_rnglists.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Cursor - The place in the section.

    Base - The address that offsets are from.

    Start, End - Receive the range's addresses; both 0 if the entry is none.

Return Value:

    FALSE at the end of the list.

--*/
{
    BOOLEAN IsThere = TRUE;
    ULONGLONG First = 0;
    ULONGLONG Second = 0;
    ULONG Kind;

    *Start = 0;
    *End = 0;

    Kind = (ULONG)ReaderReadUnsigned(Cursor, 1);

    switch (Kind) {

    case DW_RLE_base_addressx:
    case DW_RLE_startx_endx:
    case DW_RLE_startx_length:
        First = ReaderReadAt(&Loader->Addresses,
                             Source->AddressBase,
                             ReaderReadUleb(Cursor),
                             READER_DWARF_ADDRESS_SIZE,
                             &IsThere);
        break;

    case DW_RLE_offset_pair:
        First = *Base + ReaderReadUleb(Cursor);
        break;

    case DW_RLE_base_address:
    case DW_RLE_start_end:
    case DW_RLE_start_length:
        First = ReaderReadUnsigned(Cursor, READER_DWARF_ADDRESS_SIZE);
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
            Second = ReaderReadAt(&Loader->Addresses,
                                  Source->AddressBase,
                                  ReaderReadUleb(Cursor),
                                  READER_DWARF_ADDRESS_SIZE,
                                  &IsThere);
        }
        break;

    case DW_RLE_offset_pair:
        Second = *Base + ReaderReadUleb(Cursor);
        break;

    case DW_RLE_start_end:
        Second = ReaderReadUnsigned(Cursor, READER_DWARF_ADDRESS_SIZE);
        break;

    default:
        Second = First + ReaderReadUleb(Cursor);
        break;
    }

    if (Cursor->IsBad || !IsThere) {
        return FALSE;
    }

    *Start = First;
    *End = Second;
    return TRUE;
}

_Must_inspect_result_
static
NTSTATUS
ReaderAddNewRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Offset,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
/*++

Routine Description:

    Adds the ranges of a list in .debug_rnglists (version 5).

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Offset - Supplies where the list is.

    Pairs - The ranges.

    Value - Supplies what has them.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_CURSOR Cursor;
    ULONGLONG Base = Source->LowAddress;
    ULONGLONG End;
    ULONGLONG Start;
    NTSTATUS Status;

    ReaderSetCursor(&Cursor,
                    &Loader->RangeLists,
                    Offset,
                    Loader->RangeLists.SizeInBytes);

    while (ReaderReadRange(Loader, Source, &Cursor, &Base, &Start, &End) &&
           ReaderPay(Loader, READER_VISIT_COST)) {

        Status = ReaderAddRange(Loader, Start, End, Pairs, Value);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
ReaderAddRanges(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_ENTRY Entry,
    _Inout_ PREADER_DWARF_ARRAY Pairs,
    _In_ ULONGLONG Value
    )
/*++

Routine Description:

    Adds the ranges of an entry.

Arguments:

    Loader - The loader.

    Source - Supplies the unit.

    Entry - Supplies the entry.

    Pairs - The ranges.

    Value - Supplies what has them.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
            Offset = ReaderReadAt(&Loader->RangeLists,
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
            return ReaderAddNewRanges(Loader, Source, Offset, Pairs, Value);
        }

        return ReaderAddOldRanges(Loader, Source, Offset, Pairs, Value);
    }

    if (!READER_HAS(Entry, ReaderAttributeLow) ||
        !READER_HAS(Entry, ReaderAttributeHigh) ||
        !ReaderGetAddress(Loader,
                          Source,
                          &Entry->Values[ReaderAttributeLow],
                          &Address)) {
        return STATUS_SUCCESS;
    }

    //
    // The end is an address, or a constant: the size.
    //

    if (!ReaderGetAddress(Loader, Source, High, &End)) {
        End = Address + High->Value;
    }

    return ReaderAddRange(Loader, Address, End, Pairs, Value);
}

static
_Ret_maybenull_
PCREADER_DWARF_SOURCE
ReaderFindSource(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ ULONGLONG Offset
    )
/*++

Routine Description:

    Finds the unit that a place in .debug_info is in.

Arguments:

    Loader - The loader.

    Offset - Supplies the place.

Return Value:

    The unit, or NULL if there is none or its entries cannot be read.

--*/
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

static
BOOLEAN
ReaderFollowEntry(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PCREADER_DWARF_SOURCE *Source,
    _Inout_ PREADER_DWARF_ENTRY Entry
    )
/*++

Routine Description:

    Goes from an entry to the one that it refers to: the declaration, or what
    it is an instance of.

Arguments:

    Loader - The loader.

    Source - The entry's unit; receives that of the other one.

    Entry - The entry; receives the other one.

Return Value:

    FALSE if there is none.

--*/
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
        *Source = ReaderFindSource(Loader, Offset);
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

    ReaderSetCursor(&Cursor, &Loader->Info, Offset, (*Source)->End);
    Start = Cursor.Next;
    IsRead = ReaderReadEntry(Loader, *Source, &Cursor, Entry);
    return (BOOLEAN)(ReaderPay(Loader,
                               READER_VISIT_COST +
                                   (ULONGLONG)(Cursor.Next - Start)) &&
                     IsRead);
}

_Must_inspect_result_
static
NTSTATUS
ReaderNameFunction(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_DWARF_ENTRY Entry,
    _Inout_ PREADER_DWARF_FUNCTION Function
    )
/*++

Routine Description:

    Finds a function's name: the linkage name of the entry or of one that it
    refers to, else the first name in the source.

Arguments:

    Loader - The loader.

    Source - Supplies the entry's unit.

    Entry - The entry; destroyed.

    Function - Receives the name.

Return Value:

    STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_NOT_FOUND if it has none.

--*/
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
    if (!ReaderPay(Loader, READER_VISIT_COST)) {
        return STATUS_NOT_FOUND;
    }

    for (Count = 0; Count < READER_MAXIMUM_CHAIN; Count++) {

        if (READER_HAS(Entry, ReaderAttributeLinkageName)) {
            String = ReaderGetString(
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
            String = ReaderGetString(Loader,
                                     Source,
                                     &Entry->Values[ReaderAttributeName],
                                     &Length);
            if (String != NULL && Length != 0) {
                Name = String;
                NameLength = Length;
            }
        }

        if (!ReaderFollowEntry(Loader, &Source, Entry)) {
            break;
        }
    }

    if (Name == NULL || !ReaderPay(Loader, NameLength)) {
        return STATUS_NOT_FOUND;
    }

    Status = ReaderKeepString(Loader,
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

_Must_inspect_result_
static
NTSTATUS
ReaderAddDwarfFunction(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Unit,
    _Inout_ PREADER_DWARF_ENTRY Entry
    )
/*++

Routine Description:

    Adds a function if its code is in the image.

Arguments:

    Loader - The loader.

    Unit - Supplies the unit's index.

    Entry - The function's entry; destroyed.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    if (!ReaderGrowDwarfArray(Dwarf->Allocator,
                              &Dwarf->Functions,
                              sizeof(READER_DWARF_FUNCTION),
                              1)) {
        return STATUS_NO_MEMORY;
    }

    Source = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements + Unit;
    Status = ReaderAddRanges(Loader,
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
        ReaderGetAddress(Loader,
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

    Status = ReaderNameFunction(Loader, Source, Entry, Function);
    if (!NT_SUCCESS(Status)) {
        Dwarf->Ranges.Number = First;
        Dwarf->NumberOfNameless += 1;
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Dwarf->Functions.Number += 1;
    return STATUS_SUCCESS;
}

static
BOOLEAN
ReaderReadUnitHeader(
    _Inout_ PREADER_CURSOR Cursor,
    _Inout_ PREADER_DWARF_SOURCE Source
    )
/*++

Routine Description:

    Reads the header of a unit behind its length.

Arguments:

    Cursor - The place in .debug_info, which ends with the unit.

    Source - The unit.

Return Value:

    FALSE if a unit of this kind cannot be read.

--*/
{
    PCREADER_DWARF_ENCODING Encoding = &Source->Encoding;
    ULONG AddressSize;
    ULONG Kind = 0;
    ULONGLONG Version;

    Version = ReaderReadUnsigned(Cursor, 2);
    if (Version < 2 || Version > 5) {
        return FALSE;
    }

    Source->Encoding.Version = (UCHAR)Version;
    if (Version >= 5) {
        Kind = (ULONG)ReaderReadUnsigned(Cursor, 1);
        AddressSize = (ULONG)ReaderReadUnsigned(Cursor, 1);
        Source->AbbreviationOffset =
            ReaderReadUnsigned(Cursor, Encoding->OffsetSize);
    } else {
        Source->AbbreviationOffset =
            ReaderReadUnsigned(Cursor, Encoding->OffsetSize);
        AddressSize = (ULONG)ReaderReadUnsigned(Cursor, 1);
    }

    if (Kind == DW_UT_skeleton || Kind == DW_UT_split_compile) {
        ReaderSkipBytes(Cursor, 8);
    } else if (Kind == DW_UT_type || Kind == DW_UT_split_type) {
        ReaderSkipBytes(Cursor, 8 + (ULONGLONG)Encoding->OffsetSize);
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

_Must_inspect_result_
static
NTSTATUS
ReaderListUnits(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
/*++

Routine Description:

    Finds the units and reads their headers.

Arguments:

    Loader - The loader.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    ReaderSetCursor(&Cursor, &Loader->Info, 0, Loader->Info.SizeInBytes);

    while (Cursor.Next != Cursor.End) {

        Offset = (ULONG)(Cursor.Next - Loader->Info.Bytes);
        Length = ReaderReadLength(&Cursor, &OffsetSize);
        if (Cursor.IsBad) {
            Dwarf->NumberOfBadUnits += 1;
            break;
        }

        Header = Cursor;
        Header.End = Cursor.Next + Length;
        Cursor.Next = Header.End;

        if (!ReaderGrowDwarfArray(Allocator,
                                  &Loader->Sources,
                                  sizeof(READER_DWARF_SOURCE),
                                  1) ||
            !ReaderGrowDwarfArray(Allocator,
                                  &Loader->Order,
                                  sizeof(READER_DWARF_PAIR),
                                  1) ||
            !ReaderGrowDwarfArray(Allocator,
                                  &Dwarf->Units,
                                  sizeof(READER_DWARF_UNIT),
                                  1)) {
            return STATUS_NO_MEMORY;
        }

        Source = (PREADER_DWARF_SOURCE)Loader->Sources.Elements +
                 Loader->Sources.Number;
        *Source = EmptySource;
        Source->Encoding.OffsetSize = OffsetSize;
        if (!ReaderReadUnitHeader(&Header, Source)) {
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

_Must_inspect_result_
static
NTSTATUS
ReaderReadTables(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
/*++

Routine Description:

    Reads the units' tables of abbreviations, each one once.

Arguments:

    Loader - The loader.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_DWARF_PAIR Order = (PREADER_DWARF_PAIR)Loader->Order.Elements;
    PREADER_DWARF_SOURCE Sources;
    PREADER_DWARF_SOURCE Previous;
    PREADER_DWARF_SOURCE Source;
    ULONG Index;
    NTSTATUS Status;

    Sources = (PREADER_DWARF_SOURCE)Loader->Sources.Elements;
    ReaderSortDwarfPairs(Order, Loader->Order.Number);

    for (Index = 0; Index < Loader->Order.Number; Index++) {

        Source = &Sources[Order[Index].Value];

        if (Index > 0 && Order[Index].Key == Order[Index - 1].Key) {
            Previous = &Sources[Order[Index - 1].Value];
            Source->FirstAbbreviation = Previous->FirstAbbreviation;
            Source->NumberOfAbbreviations = Previous->NumberOfAbbreviations;
        } else {
            Status = ReaderReadAbbreviations(Loader, Source);
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

_Must_inspect_result_
static
NTSTATUS
ReaderKeepFolder(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ PCREADER_DWARF_ENTRY Entry
    )
/*++

Routine Description:

    Keeps the name of the folder that a unit was compiled in.  Most units of an
    image share one.

Arguments:

    Loader - The loader.

    Index - Supplies the unit's index.

    Entry - Supplies the unit's own entry.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
    Folder = ReaderGetString(Loader,
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

    Status = ReaderKeepString(Loader, Folder, Length, &Unit->FolderOffset);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Unit->FolderLength = Length;
    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
ReaderReadUnitEntry(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ PCREADER_DWARF_ENTRY Entry
    )
/*++

Routine Description:

    Takes what a unit's own entry says of it.

Arguments:

    Loader - The loader.

    Index - Supplies the unit's index.

    Entry - Supplies the entry.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
        (VOID)ReaderGetAddress(Loader,
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
        Status = ReaderKeepFolder(Loader, Index, Entry);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (!Unit->HasLines) {
        return STATUS_SUCCESS;
    }

    return ReaderAddRanges(Loader, Source, Entry, &Dwarf->UnitRanges, Index);
}

_Must_inspect_result_
static
NTSTATUS
ReaderReadUnit(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONG Index,
    _In_ BOOLEAN IsFirstPass
    )
/*++

Routine Description:

    Reads a unit: first its own entry, and when all units have got so far
    (functions may refer to other units) its functions.

Arguments:

    Loader - The loader.

    Index - Supplies the unit's index.

    IsFirstPass - Supplies which of the two.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_CURSOR Cursor;
    READER_DWARF_ENTRY Entry;
    PCREADER_DWARF_SOURCE Source;
    NTSTATUS Status;

    Source = (PCREADER_DWARF_SOURCE)Loader->Sources.Elements + Index;
    if (Source->NumberOfAbbreviations == 0) {
        return STATUS_SUCCESS;
    }

    ReaderSetCursor(&Cursor, &Loader->Info, Source->FirstEntry, Source->End);

    while (Cursor.Next != Cursor.End) {

        if (!ReaderReadEntry(Loader, Source, &Cursor, &Entry)) {
            if (!IsFirstPass) {
                Loader->Dwarf->NumberOfBadUnits += 1;
            }
            break;
        }

        if (IsFirstPass) {
            return ReaderReadUnitEntry(Loader, Index, &Entry);
        }

        if (Entry.Tag == DW_TAG_subprogram) {
            Status = ReaderAddDwarfFunction(Loader, Index, &Entry);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}

static
VOID
ReaderFreeLoader(
    _Inout_ PREADER_DWARF Dwarf
    )
/*++

Routine Description:

    Frees what is needed only while the information is read.

Arguments:

    Dwarf - The information.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PREADER_DWARF_LOADER Loader = Dwarf->Loader;

    if (Loader == NULL) {
        return;
    }

    ReaderFreeDwarfArray(Allocator, &Loader->Sources);
    ReaderFreeDwarfArray(Allocator, &Loader->Order);
    ReaderFreeDwarfArray(Allocator, &Loader->Abbreviations);
    ReaderFreeDwarfArray(Allocator, &Loader->Steps);
    Allocator->Free(Allocator->Context, Loader);
    Dwarf->Loader = NULL;
}

_Must_inspect_result_
static
NTSTATUS
ReaderKeepSection(
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _In_z_ PCSZ Name,
    _Inout_ PREADER_DWARF Dwarf,
    _Inout_ PUCHAR *Copy,
    _Inout_ PULONG CopyInBytes
    )
/*++

Routine Description:

    Copies a section that is needed later.

Arguments:

    Coff - Supplies the image's tables.

    Image, SizeInBytes - Supply the image.

    Name - Supplies the section's name.

    Dwarf - Supplies the allocator.

    Copy, CopyInBytes - Receive the copy; left alone if there is no such
        section.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    const UCHAR *Bytes;
    ULONG Index;
    ULONG Size;

    Bytes = ReaderFindCoffSection(Coff, Image, SizeInBytes, Name, &Size);
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

_Must_inspect_result_
static
NTSTATUS
ReaderLoadInformation(
    _Inout_ PREADER_DWARF_LOADER Loader
    )
/*++

Routine Description:

    Reads all units.

Arguments:

    Loader - The loader.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_DWARF Dwarf = Loader->Dwarf;
    ULONG Index;
    ULONG Pass;
    NTSTATUS Status;

    Status = ReaderListUnits(Loader);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderReadTables(Loader);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Pass = 0; Pass < 2; Pass++) {
        for (Index = 0; Index < Loader->Sources.Number; Index++) {
            Status = ReaderReadUnit(Loader, Index, (BOOLEAN)(Pass == 0));
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    ReaderSortDwarfPairs((PREADER_DWARF_PAIR)Dwarf->Ranges.Elements,
                         Dwarf->Ranges.Number);
    ReaderSortDwarfPairs((PREADER_DWARF_PAIR)Dwarf->UnitRanges.Elements,
                         Dwarf->UnitRanges.Number);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
ReaderInitializeDwarf(
    PCALLOCATOR Allocator,
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_DWARF Dwarf
    )
/*++

Routine Description:

    Reads the functions of an image.

Arguments:

    Allocator - Supplies the memory; it must outlive Dwarf.

    Coff - Supplies the image's tables.

    Image - Supplies the image's file.

    SizeInBytes - Supplies its size.

    Dwarf - Receives what was found.

Return Value:

    STATUS_SUCCESS, also when there is nothing.

    STATUS_NO_MEMORY.

--*/
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
        Section->Bytes = ReaderFindCoffSection(Coff,
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

    Status = ReaderLoadInformation(Loader);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Status = ReaderKeepSection(Coff,
                               Image,
                               SizeInBytes,
                               ".debug_line",
                               Dwarf,
                               &Dwarf->Line,
                               &Dwarf->LineInBytes);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Status = ReaderKeepSection(Coff,
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

    ReaderFreeLoader(Dwarf);
    return Status;
}

_Use_decl_annotations_
BOOLEAN
ReaderFindDwarfFunction(
    PCREADER_DWARF Dwarf,
    ULONG Rva,
    PREADER_DWARF_SYMBOL Symbol
    )
/*++

Routine Description:

    Finds the function whose code is at an address.

Arguments:

    Dwarf - Supplies the information.

    Rva - Supplies the address.

    Symbol - Receives the function.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    const READER_DWARF_FUNCTION *Function;
    PCREADER_DWARF_PAIR Pair;

    Pair = ReaderFindDwarfPair((PCREADER_DWARF_PAIR)Dwarf->Ranges.Elements,
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
ReaderRundownDwarf(
    PREADER_DWARF Dwarf
    )
/*++

Routine Description:

    Frees what ReaderInitializeDwarf and the lookups allocated.  It may be
    called after a failure, and twice, but not on memory that was never
    initialized unless that is all zero.

Arguments:

    Dwarf - Supplies the structure.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PREADER_DWARF_CHUNK Chunk;
    PREADER_DWARF_CHUNK Next;
    PREADER_DWARF_UNIT Units = (PREADER_DWARF_UNIT)Dwarf->Units.Elements;
    ULONG Index;

    if (Allocator == NULL) {
        return;
    }

    ReaderFreeLoader(Dwarf);

    for (Index = 0; Index < Dwarf->Units.Number; Index++) {
        ReaderFreeDwarfLines(Allocator, Units[Index].Lines);
    }

    for (Chunk = Dwarf->Chunks; Chunk != NULL; Chunk = Next) {
        Next = Chunk->Next;
        Allocator->Free(Allocator->Context, Chunk);
    }

    ReaderFreeDwarfArray(Allocator, &Dwarf->Units);
    ReaderFreeDwarfArray(Allocator, &Dwarf->Functions);
    ReaderFreeDwarfArray(Allocator, &Dwarf->Ranges);
    ReaderFreeDwarfArray(Allocator, &Dwarf->UnitRanges);
    ReaderFreeDwarfArray(Allocator, &Dwarf->Names);
    ReaderFreeDwarfArray(Allocator, &Dwarf->Rows);
    ReaderFreeDwarfArray(Allocator, &Dwarf->Sequences);
    Allocator->Free(Allocator->Context, Dwarf->Line);
    Allocator->Free(Allocator->Context, Dwarf->LineStrings);
    Dwarf->Line = NULL;
    Dwarf->LineStrings = NULL;
    Dwarf->Chunks = NULL;
    Dwarf->Allocator = NULL;
}

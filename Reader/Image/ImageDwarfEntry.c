/*++

Module Name:

    ImageDwarfEntry.c

Abstract:

    Entries of DWARF: abbreviations are compiled, and attributes are read.

--*/

#include "ImageDwarfEntry.h"

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

_Use_decl_annotations_
BOOLEAN
ImagePay(
    PREADER_DWARF_LOADER Loader,
    ULONGLONG Cost
    )
{
    if (Loader->Budget < Cost) {
        Loader->Budget = 0;
        return FALSE;
    }

    Loader->Budget -= Cost;
    return TRUE;
}

//
// Says where an attribute's value goes.
// Name: the attribute, DW_AT_*.
// Returns the READER_ATTRIBUTE, or READER_STEP_UNWANTED.
//

static
ULONG
ImageMapAttribute(
    _In_ ULONGLONG Name
    )
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

//
// Adds the step for an attribute to the newest abbreviation.
// Encoding: how the unit writes its values.
// Name, Form, Constant: the attribute: DW_AT_*, DW_FORM_* and the value of an
// implicit constant.
// Present: the attributes that the abbreviation has, as bits.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID if the form
// is not known or there are too many attributes.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddStep(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_DWARF_ABBREVIATION Abbreviation,
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _In_ ULONGLONG Name,
    _In_ ULONGLONG Form,
    _In_ ULONGLONG Constant,
    _Inout_ PULONG Present
    )
{
    PREADER_DWARF_STEP Step;
    ULONG Attribute = READER_STEP_UNWANTED;
    ULONG Size;

    Size = ImageGetFormSize(Encoding, Form);
    if (Size == READER_FORM_UNKNOWN) {
        return STATUS_FILE_INVALID;
    }

    //
    // Each attribute is wanted once.
    //

    if (Abbreviation->IsWanted) {
        Attribute = ImageMapAttribute(Name);
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

    if (!ImageGrowDwarfArray(Loader->Dwarf->Allocator,
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

//
// Cursor: the place in .debug_abbrev.
// Encoding: how the unit writes its values.
// Code: the code of the abbreviation before this one; receives this one's, 0
// at the table's end.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadAbbreviation(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_CURSOR Cursor,
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _Inout_ PULONGLONG Code
    )
{
    READER_DWARF_ABBREVIATION Abbreviation;
    ULONGLONG Constant;
    ULONGLONG Form;
    ULONGLONG Name;
    ULONGLONG Previous = *Code;
    ULONGLONG Tag;
    ULONG Present = 0;
    NTSTATUS Status;

    *Code = ImageReadUleb(Cursor);
    if (*Code == 0) {
        return Cursor->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
    }

    //
    // Compilers number abbreviations upward from 1.
    //

    Tag = ImageReadUleb(Cursor);
    (VOID)ImageReadUnsigned(Cursor, 1);
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

        Name = ImageReadUleb(Cursor);
        Form = ImageReadUleb(Cursor);
        Constant = 0;
        if (Form == DW_FORM_implicit_const) {
            Constant = ImageReadSleb(Cursor);
        }

        if (Cursor->IsBad) {
            return STATUS_FILE_INVALID;
        }

        if (Name == 0 && Form == 0) {
            break;
        }

        Status = ImageAddStep(Loader,
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

    if (!ImageGrowDwarfArray(Loader->Dwarf->Allocator,
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

_Use_decl_annotations_
NTSTATUS
ImageReadAbbreviations(
    PREADER_DWARF_LOADER Loader,
    PREADER_DWARF_SOURCE Source
    )
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

    ImageSetCursor(&Cursor,
                   &Loader->Abbreviation,
                   Source->AbbreviationOffset,
                   Source->AbbreviationOffset + Loader->AbbreviationBudget);
    Start = Cursor.Next;

    do {
        Status = ImageReadAbbreviation(Loader,
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

//
// Source: the unit.
// Code: the code, not 0.
// Returns the abbreviation, or NULL.
//

static
_Ret_maybenull_
PCREADER_DWARF_ABBREVIATION
ImageFindAbbreviation(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ ULONGLONG Code
    )
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

_Use_decl_annotations_
BOOLEAN
ImageReadEntry(
    const READER_DWARF_LOADER *Loader,
    PCREADER_DWARF_SOURCE Source,
    PREADER_CURSOR Cursor,
    PREADER_DWARF_ENTRY Entry
    )
{
    PCREADER_DWARF_ABBREVIATION Abbreviation;
    const READER_DWARF_STEP *Step;
    READER_DWARF_VALUE Unwanted;
    ULONGLONG Code;
    ULONG Index;

    Entry->Tag = 0;
    Entry->Present = 0;

    Code = ImageReadUleb(Cursor);
    if (Cursor->IsBad) {
        return FALSE;
    }

    if (Code == 0) {
        return TRUE;
    }

    Abbreviation = ImageFindAbbreviation(Loader, Source, Code);
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
            ImageSkipBytes(Cursor, Step->Value);
        } else if (Step->Attribute == READER_STEP_UNWANTED) {
            ImageReadForm(Cursor, &Source->Encoding, Step->Form, &Unwanted);
        } else {
            Entry->Present |= 1u << Step->Attribute;
            Entry->Values[Step->Attribute].Value = Step->Value;
            ImageReadForm(Cursor,
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

_Use_decl_annotations_
ULONGLONG
ImageReadAt(
    PCREADER_DWARF_BYTES Section,
    ULONGLONG Base,
    ULONGLONG Index,
    ULONG ElementInBytes,
    PBOOLEAN IsThere
    )
{
    READER_CURSOR Cursor;
    ULONGLONG Value;

    *IsThere = FALSE;
    if (Base > Section->SizeInBytes || Index > Section->SizeInBytes) {
        return 0;
    }

    ImageSetCursor(&Cursor,
                   Section,
                   Base + Index * ElementInBytes,
                   Section->SizeInBytes);
    Value = ImageReadUnsigned(&Cursor, ElementInBytes);
    *IsThere = (BOOLEAN)!Cursor.IsBad;
    return Value;
}

_Use_decl_annotations_
BOOLEAN
ImageGetAddress(
    const READER_DWARF_LOADER *Loader,
    PCREADER_DWARF_SOURCE Source,
    PCREADER_DWARF_VALUE Value,
    PULONGLONG Address
    )
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
        *Address = ImageReadAt(&Loader->Addresses,
                               Source->AddressBase,
                               Value->Value,
                               READER_DWARF_ADDRESS_SIZE,
                               &IsThere);
        return IsThere;

    default:
        return FALSE;
    }
}

_Use_decl_annotations_
const UCHAR *
ImageGetString(
    const READER_DWARF_LOADER *Loader,
    PCREADER_DWARF_SOURCE Source,
    PCREADER_DWARF_VALUE Value,
    PULONG LengthInBytes
    )
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
        return ImageFindString(&Loader->Strings,
                               Value->Value,
                               READER_COFF_MAXIMUM_NAME,
                               LengthInBytes);

    case DW_FORM_line_strp:
        return ImageFindString(&Loader->LineStrings,
                               Value->Value,
                               READER_COFF_MAXIMUM_NAME,
                               LengthInBytes);

    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        Offset = ImageReadAt(&Loader->StringOffsets,
                             Source->StringOffsetsBase,
                             Value->Value,
                             Source->Encoding.OffsetSize,
                             &IsThere);
        if (!IsThere) {
            return NULL;
        }
        return ImageFindString(&Loader->Strings,
                               Offset,
                               READER_COFF_MAXIMUM_NAME,
                               LengthInBytes);

    default:
        return NULL;
    }
}

_Use_decl_annotations_
NTSTATUS
ImageKeepString(
    PREADER_DWARF_LOADER Loader,
    const UCHAR *String,
    ULONG LengthInBytes,
    PULONG Offset
    )
{
    PREADER_DWARF Dwarf = Loader->Dwarf;

    *Offset = 0;
    if ((ULONGLONG)Dwarf->Names.Number + LengthInBytes + 1 >
        Loader->NamesLimit) {
        return STATUS_FILE_INVALID;
    }

    if (!ImageGrowDwarfArray(Dwarf->Allocator,
                             &Dwarf->Names,
                             sizeof(CHAR),
                             LengthInBytes + 1)) {
        return STATUS_NO_MEMORY;
    }

    *Offset = Dwarf->Names.Number;
    ImageCopyPrintable((PCHAR)Dwarf->Names.Elements + *Offset,
                       String,
                       LengthInBytes);
    Dwarf->Names.Number += LengthInBytes + 1;
    return STATUS_SUCCESS;
}

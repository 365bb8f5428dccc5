/*++

Module Name:

    ImageDwarfEntry.h

Abstract:

    Entries of DWARF, as ImageDwarf.c reads them.

--*/

#ifndef TRACER_IMAGE_DWARF_ENTRY_H
#define TRACER_IMAGE_DWARF_ENTRY_H

#include "ImageDwarfForm.h"

#define DW_TAG_compile_unit         0x11
#define DW_TAG_subprogram           0x2e
#define DW_TAG_partial_unit         0x3c
#define DW_TAG_type_unit            0x41
#define DW_TAG_skeleton_unit        0x4a

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

//
// Takes from the budget for what is read more than once.
// Cost: how much.
// Returns FALSE if there is not so much left; then nothing is.
//

BOOLEAN
ImagePay(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_ ULONGLONG Cost
    );

//
// Reads a unit's table of abbreviations. Tables do not overlap, so all of them
// together are no larger than their section.
// Source: the unit; receives where its abbreviations are, or that it cannot be
// read.
//

_Must_inspect_result_
NTSTATUS
ImageReadAbbreviations(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _Inout_ PREADER_DWARF_SOURCE Source
    );

//
// Reads one entry of .debug_info.
// Source: the unit.
// Cursor: the place in .debug_info.
// Returns FALSE if there is none.
//

BOOLEAN
ImageReadEntry(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _Inout_ PREADER_CURSOR Cursor,
    _Out_ PREADER_DWARF_ENTRY Entry
    );

//
// Reads an element of a table.
// Section: the section that the table is in.
// Base: where in it the table begins, in bytes.
// ElementInBytes: an element's size, 4 or 8.
// IsThere: whether the section has it.
// Returns the element, or 0.
//

ULONGLONG
ImageReadAt(
    _In_ PCREADER_DWARF_BYTES Section,
    _In_ ULONGLONG Base,
    _In_ ULONGLONG Index,
    _In_ ULONG ElementInBytes,
    _Out_ PBOOLEAN IsThere
    );

//
// Says which address a value is.
// Source: the unit.
// Address: the address, or 0.
// Returns FALSE if the value is no address.
//

BOOLEAN
ImageGetAddress(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_VALUE Value,
    _Out_ PULONGLONG Address
    );

//
// Says which string a value is.
// Source: the unit.
// LengthInBytes: the string's length, 0 on failure.
// Returns its first byte, or NULL if it is none.
//

_Ret_maybenull_
const UCHAR *
ImageGetString(
    _In_ const READER_DWARF_LOADER *Loader,
    _In_ PCREADER_DWARF_SOURCE Source,
    _In_ PCREADER_DWARF_VALUE Value,
    _Out_ PULONG LengthInBytes
    );

//
// Copies a string to the names. Many functions of a hostile image can share
// one long name: the names together are limited by the size of the file.
// Offset: where it is in the names.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_FILE_INVALID if the
// names are more than can be.
//

_Must_inspect_result_
NTSTATUS
ImageKeepString(
    _Inout_ PREADER_DWARF_LOADER Loader,
    _In_reads_bytes_(LengthInBytes) const UCHAR *String,
    _In_ ULONG LengthInBytes,
    _Out_ PULONG Offset
    );

#endif // TRACER_IMAGE_DWARF_ENTRY_H

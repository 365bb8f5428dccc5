/*++

Module Name:

    ReaderCoff.c

Abstract:

    Function names out of the bytes of a PE32+ x64 image.  ReaderCoff.h says
    what the routines promise; the layouts are those of Microsoft's "PE
    Format" specification.

    Both tables are walked twice with the same code: once to count what will
    be kept, once to keep it.  The second walk stays within what the first one
    counted, so bytes that change in between do no harm either.

--*/

#include "ReaderCoff.h"

//
// Offsets and sizes of the PE format, in bytes.
//

#define PE_DOS_HEADER_SIZE              64
#define PE_DOS_SIGNATURE                0x5a4d      // "MZ"
#define PE_DOS_NEW_HEADER               60

#define PE_SIGNATURE                    0x00004550  // "PE", two zero bytes
#define PE_FILE_HEADER                  4           // from the signature
#define PE_FILE_MACHINE                 0
#define PE_FILE_NUMBER_OF_SECTIONS      2
#define PE_FILE_TIME_DATE_STAMP         4
#define PE_FILE_SYMBOL_TABLE            8
#define PE_FILE_NUMBER_OF_SYMBOLS       12
#define PE_FILE_SIZE_OF_OPTIONAL        16
#define PE_FILE_HEADER_SIZE             20

#define PE_MACHINE_AMD64                0x8664
#define PE_OPTIONAL_MAGIC_64            0x20b
#define PE_OPTIONAL_IMAGE_BASE          24
#define PE_OPTIONAL_SIZE_OF_IMAGE       56
#define PE_OPTIONAL_CHECK_SUM           64
#define PE_OPTIONAL_NUMBER_OF_ENTRIES   108
#define PE_OPTIONAL_EXPORT_ENTRY        112
#define PE_OPTIONAL_EXCEPTION_ENTRY     136
#define PE_OPTIONAL_DEBUG_ENTRY         160
#define PE_OPTIONAL_FIXED_SIZE          112
#define PE_DATA_ENTRY_SIZE              8

#define PE_SECTION_NAME_SIZE            8
#define PE_SECTION_VIRTUAL_SIZE         8
#define PE_SECTION_VIRTUAL_ADDRESS      12
#define PE_SECTION_RAW_SIZE             16
#define PE_SECTION_RAW_OFFSET           20
#define PE_SECTION_CHARACTERISTICS      36
#define PE_SECTION_SIZE                 40
#define PE_SECTION_HAS_CODE             0x00000020
#define PE_SECTION_CAN_EXECUTE          0x20000000

#define PE_DEBUG_TYPE                   12
#define PE_DEBUG_SIZE_OF_DATA           16
#define PE_DEBUG_RAW_OFFSET             24
#define PE_DEBUG_SIZE                   28
#define PE_DEBUG_TYPE_CODEVIEW          2
#define PE_DEBUG_MAXIMUM_ENTRIES        64
#define PE_CODEVIEW_SIGNATURE           0x53445352  // "RSDS"
#define PE_CODEVIEW_GUID                4
#define PE_CODEVIEW_AGE                 20
#define PE_CODEVIEW_PATH                24

#define PE_SYMBOL_NAME                  0
#define PE_SYMBOL_NAME_OFFSET           4
#define PE_SYMBOL_SHORT_NAME_SIZE       8
#define PE_SYMBOL_VALUE                 8
#define PE_SYMBOL_SECTION_NUMBER        12
#define PE_SYMBOL_TYPE                  14
#define PE_SYMBOL_STORAGE_CLASS         16
#define PE_SYMBOL_NUMBER_OF_AUXILIARY   17
#define PE_SYMBOL_SIZE                  18
#define PE_SYMBOL_TYPE_FUNCTION         0x20
#define PE_SYMBOL_CLASS_EXTERNAL        2
#define PE_SYMBOL_CLASS_STATIC          3
#define PE_SYMBOL_CLASS_WEAK_EXTERNAL   105

#define PE_EXPORT_BASE                  16
#define PE_EXPORT_NUMBER_OF_FUNCTIONS   20
#define PE_EXPORT_NUMBER_OF_NAMES       24
#define PE_EXPORT_FUNCTIONS             28
#define PE_EXPORT_NAMES                 32
#define PE_EXPORT_ORDINALS              36
#define PE_EXPORT_DIRECTORY_SIZE        40

//
// ".weak."
//

#define READER_WEAK_PREFIX_SIZE         6

//
// "Ordinal" and ten digits.
//

#define READER_ORDINAL_NAME_SIZE        17

//
// The image while it is read.
//

typedef struct _READER_IMAGE {
    const UCHAR *Bytes;
    ULONGLONG SizeInBytes;
    ULONG SymbolTableOffset;
    ULONG NumberOfSymbols;
    ULONG ExportRva;
    ULONG ExportSizeInBytes;
    ULONG DebugRva;
    ULONG DebugSizeInBytes;
} READER_IMAGE;
typedef READER_IMAGE *PREADER_IMAGE;
typedef const READER_IMAGE *PCREADER_IMAGE;

static
ULONG
ReaderGetUshort(
    _In_reads_bytes_(2) const UCHAR *Bytes
    )
/*++

Routine Description:

    Reads a little-endian 16-bit number, whatever its alignment.

Arguments:

    Bytes - Supplies its first byte.

Return Value:

    The number.

--*/
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8);
}

static
ULONG
ReaderGetUlong(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
/*++

Routine Description:

    Reads a little-endian 32-bit number, whatever its alignment.

Arguments:

    Bytes - Supplies its first byte.

Return Value:

    The number.

--*/
{
    return ReaderGetUshort(Bytes) | (ReaderGetUshort(Bytes + 2) << 16);
}

static
BOOLEAN
ReaderIsInImage(
    _In_ PCREADER_IMAGE Image,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Says whether a range lies in the file.

Arguments:

    Image - Supplies the image.

    Offset - Supplies the range's first byte, from the start of the file.

    SizeInBytes - Supplies its size.

Return Value:

    TRUE if all of it is there.

--*/
{
    return (BOOLEAN)(Offset <= Image->SizeInBytes &&
                     SizeInBytes <= Image->SizeInBytes - Offset);
}

static
_Ret_maybenull_
PCREADER_COFF_SECTION
ReaderFindSection(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Finds the section that holds an RVA.

Arguments:

    Coff - Supplies the sections.

    Rva - Supplies the address.

Return Value:

    The section, or NULL if the address is in none.

--*/
{
    PCREADER_COFF_SECTION Section;
    ULONG First;
    ULONG Last;
    ULONG Middle;

    First = 0;
    Last = Coff->NumberOfSections;

    while (First < Last) {
        Middle = First + (Last - First) / 2;
        Section = &Coff->Sections[Middle];
        if (Rva < Section->StartRva) {
            Last = Middle;
        } else if (Rva >= Section->EndRva) {
            First = Middle + 1;
        } else {
            return Section;
        }
    }

    return NULL;
}

static
_Ret_maybenull_
const UCHAR *
ReaderGetBytesAtRva(
    _In_ PCREADER_IMAGE Image,
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Out_ PULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Finds the bytes in the file that are loaded at an RVA.

Arguments:

    Image - Supplies the image.

    Coff - Supplies its sections.

    Rva - Supplies the address.

    SizeInBytes - Receives how many bytes there are from it to the end of its
        section's data; at least 1 on success, 0 on failure.

Return Value:

    The first byte, or NULL if the file has none for this address.

--*/
{
    PCREADER_COFF_SECTION Section;
    ULONGLONG Delta;
    ULONGLONG Offset;
    ULONGLONG Size;

    *SizeInBytes = 0;

    Section = ReaderFindSection(Coff, Rva);
    if (Section == NULL) {
        return NULL;
    }

    Delta = Rva - Section->StartRva;
    Offset = (ULONGLONG)Section->RawOffset + Delta;
    if (Delta >= Section->RawSizeInBytes || Offset >= Image->SizeInBytes) {
        return NULL;
    }

    Size = Section->RawSizeInBytes - Delta;
    if (Size > Image->SizeInBytes - Offset) {
        Size = Image->SizeInBytes - Offset;
    }

    *SizeInBytes = Size;
    return Image->Bytes + Offset;
}

static
ULONG
ReaderMeasureCharacter(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Measures the printable UTF-8 character at the start of some bytes.  Names
    end up on terminals, so control characters do not count as printable.

Arguments:

    Bytes - Supplies the bytes.

    SizeInBytes - Supplies how many there are, at least 1.

Return Value:

    The size of the character in bytes, or 0 if it is ill-formed or a control
    character.

--*/
{
    ULONG CodePoint;
    ULONG Index;
    ULONG Lead;
    ULONG Length;
    ULONG Minimum;

    Lead = Bytes[0];

    if (Lead < 0x80) {
        return Lead >= 0x20 && Lead != 0x7f ? 1 : 0;
    }

    if (Lead >= 0xc2 && Lead <= 0xdf) {
        Length = 2;
        Minimum = 0xa0;             // below are the C1 control characters
        CodePoint = Lead & 0x1f;
    } else if (Lead >= 0xe0 && Lead <= 0xef) {
        Length = 3;
        Minimum = 0x800;
        CodePoint = Lead & 0x0f;
    } else if (Lead >= 0xf0 && Lead <= 0xf4) {
        Length = 4;
        Minimum = 0x10000;
        CodePoint = Lead & 0x07;
    } else {
        return 0;
    }

    if (Length > SizeInBytes) {
        return 0;
    }

    for (Index = 1; Index < Length; Index++) {
        if ((Bytes[Index] & 0xc0) != 0x80) {
            return 0;
        }
        CodePoint = (CodePoint << 6) | (Bytes[Index] & 0x3f);
    }

    if (CodePoint < Minimum ||
        CodePoint > 0x10ffff ||
        (CodePoint >= 0xd800 && CodePoint <= 0xdfff)) {
        return 0;
    }

    return Length;
}

_Use_decl_annotations_
VOID
ReaderCopyPrintable(
    PCHAR Target,
    const UCHAR *Name,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Copies a name that came out of a file.

    A name that was cut may end within a character: its bytes then become
    question marks like every other byte that is not part of one.

Arguments:

    Target - Receives the name, terminated.

    Name - Supplies it.

    LengthInBytes - Supplies its length.

Return Value:

    None.

--*/
{
    ULONG Character;
    ULONG Index;

    Index = 0;
    while (Index < LengthInBytes) {
        Character = ReaderMeasureCharacter(Name + Index,
                                           LengthInBytes - Index);
        if (Character == 0) {
            Target[Index] = '?';
            Index += 1;
        }
        while (Character > 0) {
            Target[Index] = (CHAR)Name[Index];
            Index += 1;
            Character -= 1;
        }
    }

    Target[LengthInBytes] = 0;
}

_Use_decl_annotations_
BOOLEAN
ReaderAddCoffEntry(
    PREADER_COFF Coff,
    ULONG Rva,
    ULONG Rank,
    const UCHAR *Name,
    ULONGLONG NameLimitInBytes
    )
/*++

Routine Description:

    Counts one entry, or keeps it when memory for the entries is there.

    Many entries of a hostile file can share one long name.  The sum of the
    names' sizes is therefore limited by the size of the file, which bounds
    both the memory and the time that they take.

Arguments:

    Coff - Supplies where the entry goes.

    Rva - Supplies the function's start.

    Rank - Supplies its rank.

    Name - Supplies its name; it ends at a zero byte or at the limit.

    NameLimitInBytes - Supplies how many bytes of it can be read.

Return Value:

    FALSE if the table is not to be believed or does not fit.

--*/
{
    PREADER_COFF_ENTRY Entry;
    ULONG Length;
    ULONG Limit;
    PCHAR Target;

    Limit = READER_COFF_MAXIMUM_NAME;
    if (NameLimitInBytes < Limit) {
        Limit = (ULONG)NameLimitInBytes;
    }

    Length = 0;
    while (Length < Limit && Name[Length] != 0) {
        Length += 1;
    }

    if (Coff->Entries == NULL) {
        Coff->NumberOfEntries += 1;
        Coff->NamesInBytes += (ULONGLONG)Length + 1;
        return (BOOLEAN)(Coff->NumberOfEntries < READER_RANK_INDEX_MASK &&
                         Coff->NamesInBytes <= Coff->NameLimitInBytes);
    }

    if (Coff->NumberOfEntries >= Coff->EntryCapacity ||
        (ULONGLONG)Length + 1 >
            Coff->NameCapacityInBytes - Coff->NamesInBytes) {
        return FALSE;
    }

    Target = Coff->Names + Coff->NamesInBytes;
    ReaderCopyPrintable(Target, Name, Length);

    Entry = &Coff->Entries[Coff->NumberOfEntries];
    Entry->Rva = Rva;
    Entry->Rank = Rank;
    Entry->NameOffset = (ULONG)Coff->NamesInBytes;
    Entry->NameLength = Length;

    Coff->NumberOfEntries += 1;
    Coff->NamesInBytes += (ULONGLONG)Length + 1;
    return TRUE;
}

static
ULONGLONG
ReaderMeasureWeakName(
    _In_reads_bytes_(LimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG LimitInBytes
    )
/*++

Routine Description:

    Finds the function's name in that of a weak definition.  GNU tools write
    ".weak.Function.Other": the function itself stays undefined in the table,
    and Other is some symbol that makes the name unique.

Arguments:

    Name - Supplies the symbol's name; it ends at a zero byte or at the limit.

    LimitInBytes - Supplies how many bytes of it can be read.

Return Value:

    The length of the function's name, which follows READER_WEAK_PREFIX; 0 if
    the symbol is no weak definition.

--*/
{
    static const UCHAR Prefix[READER_WEAK_PREFIX_SIZE] = {
        '.', 'w', 'e', 'a', 'k', '.'
    };
    ULONG Index;

    for (Index = 0; Index < READER_WEAK_PREFIX_SIZE; Index++) {
        if (Index >= LimitInBytes || Name[Index] != Prefix[Index]) {
            return 0;
        }
    }

    while (Index < LimitInBytes &&
           Index < READER_COFF_MAXIMUM_NAME &&
           Name[Index] != 0 &&
           Name[Index] != '.') {
        Index += 1;
    }

    return Index - READER_WEAK_PREFIX_SIZE;
}

static
BOOLEAN
ReaderIsFunctionName(
    _In_reads_bytes_(LimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG LimitInBytes,
    _In_ BOOLEAN IsPlainStatic
    )
/*++

Routine Description:

    Says whether a symbol's name can be a function's.  Names of sections
    (.text$x) and compilers' labels (.L1, $LN3) begin with a dot or a dollar.
    An assembler's local labels
    (Function.Loop) are static, without a function's type, and have the dot
    further on.

Arguments:

    Name - Supplies the name; it ends at a zero byte or at the limit.

    LimitInBytes - Supplies how many bytes of it can be read.

    IsPlainStatic - Supplies whether the symbol is static and has no type.

Return Value:

    TRUE if it can.

--*/
{
    ULONG Index;

    if (LimitInBytes == 0 ||
        Name[0] == 0 ||
        Name[0] == '.' ||
        Name[0] == '$') {
        return FALSE;
    }

    if (IsPlainStatic) {
        for (Index = 1;
             Index < LimitInBytes && Index < 256 && Name[Index] != 0;
             Index++) {
            if (Name[Index] == '.') {
                return FALSE;
            }
        }
    }

    return TRUE;
}

static
BOOLEAN
ReaderWalkSymbol(
    _Inout_ PREADER_COFF Coff,
    _In_ ULONG SymbolIndex,
    _In_reads_bytes_(PE_SYMBOL_SIZE) const UCHAR *Symbol,
    _In_reads_bytes_(StringsInBytes) const UCHAR *Strings,
    _In_ ULONGLONG StringsInBytes
    )
/*++

Routine Description:

    Adds one symbol of the COFF symbol table if it is a function's.

Arguments:

    Coff - Supplies where the entry goes.

    SymbolIndex - Supplies the symbol's place in the table.

    Symbol - Supplies its record.

    Strings - Supplies the string table, with the size that it begins with.

    StringsInBytes - Supplies the size of what there is of it.

Return Value:

    FALSE if the table is not to be believed or does not fit.

--*/
{
    BOOLEAN IsFunction;
    BOOLEAN IsStatic;
    PCREADER_COFF_SECTION Section;
    ULONG NameOffset;
    ULONG Rank;
    ULONG SectionNumber;
    ULONG StorageClass;
    ULONG Value;
    const UCHAR *Name;
    ULONGLONG NameLimit;
    ULONGLONG WeakLength;

    //
    // Section numbers of undefined, absolute and debugging symbols (0, -1, -2)
    // are no section's.
    //

    SectionNumber = ReaderGetUshort(Symbol + PE_SYMBOL_SECTION_NUMBER);
    if (SectionNumber == 0 || SectionNumber > Coff->NumberOfSections) {
        return TRUE;
    }

    Section = &Coff->Sections[SectionNumber - 1];
    Value = ReaderGetUlong(Symbol + PE_SYMBOL_VALUE);
    if (!Section->IsExecutable ||
        Value >= Section->EndRva - Section->StartRva) {
        return TRUE;
    }

    StorageClass = Symbol[PE_SYMBOL_STORAGE_CLASS];
    IsStatic = (BOOLEAN)(StorageClass == PE_SYMBOL_CLASS_STATIC);
    if (!IsStatic &&
        StorageClass != PE_SYMBOL_CLASS_EXTERNAL &&
        StorageClass != PE_SYMBOL_CLASS_WEAK_EXTERNAL) {
        return TRUE;
    }

    Name = Symbol + PE_SYMBOL_NAME;
    NameLimit = PE_SYMBOL_SHORT_NAME_SIZE;
    if (ReaderGetUlong(Name) == 0) {
        NameOffset = ReaderGetUlong(Symbol + PE_SYMBOL_NAME_OFFSET);
        if (NameOffset < sizeof(ULONG) || NameOffset >= StringsInBytes) {
            return TRUE;
        }
        Name = Strings + NameOffset;
        NameLimit = StringsInBytes - NameOffset;
    }

    IsFunction = (BOOLEAN)(ReaderGetUshort(Symbol + PE_SYMBOL_TYPE) ==
                           PE_SYMBOL_TYPE_FUNCTION);

    if (StorageClass == PE_SYMBOL_CLASS_EXTERNAL) {
        WeakLength = ReaderMeasureWeakName(Name, NameLimit);
        if (WeakLength != 0) {
            Name += READER_WEAK_PREFIX_SIZE;
            NameLimit = WeakLength;
            IsFunction = TRUE;
        }
    }

    if (!ReaderIsFunctionName(Name,
                              NameLimit,
                              (BOOLEAN)(IsStatic && !IsFunction))) {
        return TRUE;
    }

    Rank = SymbolIndex & READER_RANK_INDEX_MASK;
    if (IsStatic) {
        Rank |= READER_RANK_NOT_FIRST_CHOICE;
    }
    if (!IsFunction) {
        Rank |= READER_RANK_NOT_FUNCTION;
    }

    return ReaderAddCoffEntry(Coff,
                              Section->StartRva + Value,
                              Rank,
                              Name,
                              NameLimit);
}

static
BOOLEAN
ReaderWalkSymbols(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Walks the COFF symbol table.

Arguments:

    Context - Supplies the image.

    Coff - Supplies where the entries go.

Return Value:

    FALSE if the table is not to be believed or does not fit.

--*/
{
    PCREADER_IMAGE Image = (PCREADER_IMAGE)Context;
    ULONG Index;
    ULONGLONG StringsInBytes;
    ULONGLONG StringsOffset;
    const UCHAR *Strings;
    const UCHAR *Symbol;

    if (Image->SymbolTableOffset == 0 || Image->NumberOfSymbols == 0) {
        return TRUE;
    }

    StringsOffset = (ULONGLONG)Image->SymbolTableOffset +
                    (ULONGLONG)Image->NumberOfSymbols * PE_SYMBOL_SIZE;
    if (StringsOffset > Image->SizeInBytes) {
        return FALSE;
    }

    //
    // The strings follow the symbols at once and begin with their own size,
    // which counts these four bytes.  A size that goes past the end of the
    // file (it was cut, or lies) is held to the end.
    //

    Strings = Image->Bytes + StringsOffset;
    StringsInBytes = 0;
    if (ReaderIsInImage(Image, StringsOffset, sizeof(ULONG))) {
        StringsInBytes = ReaderGetUlong(Strings);
        if (StringsInBytes > Image->SizeInBytes - StringsOffset) {
            StringsInBytes = Image->SizeInBytes - StringsOffset;
        }
    }

    for (Index = 0; Index < Image->NumberOfSymbols; Index++) {

        Symbol = Image->Bytes + Image->SymbolTableOffset +
                 (ULONGLONG)Index * PE_SYMBOL_SIZE;

        if (!ReaderWalkSymbol(Coff,
                              Index,
                              Symbol,
                              Strings,
                              StringsInBytes)) {
            return FALSE;
        }

        //
        // At most 255 more, and the count is below 2^28: no overflow.
        //

        Index += Symbol[PE_SYMBOL_NUMBER_OF_AUXILIARY];
    }

    return TRUE;
}

static
BOOLEAN
ReaderIsExportedCode(
    _In_ PCREADER_IMAGE Image,
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Says whether an entry of the export address table is a function of this
    image.  One that points into the export directory is the text of a
    forwarder; one outside of code is data.

Arguments:

    Image - Supplies the image.

    Coff - Supplies its sections.

    Rva - Supplies the entry.

Return Value:

    TRUE if it is a function.

--*/
{
    return (BOOLEAN)(Rva != 0 &&
                     !(Rva >= Image->ExportRva &&
                       Rva - Image->ExportRva < Image->ExportSizeInBytes) &&
                     ReaderFindCodeSection(Coff, Rva) != NULL);
}

static
ULONG
ReaderFormatOrdinal(
    _In_ ULONG Ordinal,
    _Out_writes_bytes_(READER_ORDINAL_NAME_SIZE) UCHAR *Name
    )
/*++

Routine Description:

    Makes the name of an export that has none: "Ordinal12".

Arguments:

    Ordinal - Supplies the ordinal.

    Name - Receives the name, not terminated.

Return Value:

    Its length in bytes.

--*/
{
    static const UCHAR Prefix[] = { 'O', 'r', 'd', 'i', 'n', 'a', 'l' };
    UCHAR Digits[10];
    ULONG Length;
    ULONG NumberOfDigits;

    for (Length = 0; Length < sizeof(Prefix); Length++) {
        Name[Length] = Prefix[Length];
    }

    NumberOfDigits = 0;
    do {
        Digits[NumberOfDigits] = (UCHAR)('0' + Ordinal % 10);
        NumberOfDigits += 1;
        Ordinal /= 10;
    } while (Ordinal != 0);

    while (NumberOfDigits > 0) {
        NumberOfDigits -= 1;
        Name[Length] = Digits[NumberOfDigits];
        Length += 1;
    }

    return Length;
}

static
BOOLEAN
ReaderWalkExports(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Walks the export directory: first the names, then every function by its
    ordinal.  Where a function has a name, the name's rank wins over the
    ordinal's.

Arguments:

    Context - Supplies the image.

    Coff - Supplies where the entries go.

Return Value:

    FALSE if the directory is not to be believed or does not fit.

--*/
{
    PCREADER_IMAGE Image = (PCREADER_IMAGE)Context;
    UCHAR OrdinalName[READER_ORDINAL_NAME_SIZE];
    const UCHAR *Directory;
    const UCHAR *Functions;
    const UCHAR *Name;
    const UCHAR *Names;
    const UCHAR *Ordinals;
    ULONG Base;
    ULONG Index;
    ULONG NumberOfFunctions;
    ULONG NumberOfNames;
    ULONG Ordinal;
    ULONG Rva;
    ULONGLONG Size;

    Directory = ReaderGetBytesAtRva(Image, Coff, Image->ExportRva, &Size);
    if (Directory == NULL || Size < PE_EXPORT_DIRECTORY_SIZE) {
        return FALSE;
    }

    Base = ReaderGetUlong(Directory + PE_EXPORT_BASE);
    NumberOfFunctions = ReaderGetUlong(Directory +
                                       PE_EXPORT_NUMBER_OF_FUNCTIONS);
    NumberOfNames = ReaderGetUlong(Directory + PE_EXPORT_NUMBER_OF_NAMES);
    if (NumberOfFunctions == 0) {
        return TRUE;
    }

    Rva = ReaderGetUlong(Directory + PE_EXPORT_FUNCTIONS);
    Functions = ReaderGetBytesAtRva(Image, Coff, Rva, &Size);
    if (Functions == NULL || Size / 4 < NumberOfFunctions) {
        return FALSE;
    }

    if (NumberOfNames != 0) {

        Rva = ReaderGetUlong(Directory + PE_EXPORT_ORDINALS);
        Ordinals = ReaderGetBytesAtRva(Image, Coff, Rva, &Size);
        if (Ordinals == NULL || Size / 2 < NumberOfNames) {
            return FALSE;
        }

        Rva = ReaderGetUlong(Directory + PE_EXPORT_NAMES);
        Names = ReaderGetBytesAtRva(Image, Coff, Rva, &Size);
        if (Names == NULL || Size / 4 < NumberOfNames) {
            return FALSE;
        }

        for (Index = 0; Index < NumberOfNames; Index++) {

            Ordinal = ReaderGetUshort(Ordinals + (SIZE_T)Index * 2);
            if (Ordinal >= NumberOfFunctions) {
                continue;
            }

            Rva = ReaderGetUlong(Functions + (SIZE_T)Ordinal * 4);
            if (!ReaderIsExportedCode(Image, Coff, Rva)) {
                continue;
            }

            Name = ReaderGetBytesAtRva(
                Image,
                Coff,
                ReaderGetUlong(Names + (SIZE_T)Index * 4),
                &Size);
            if (Name == NULL || Name[0] == 0) {
                continue;
            }

            if (!ReaderAddCoffEntry(Coff,
                                    Rva,
                                    Index & READER_RANK_INDEX_MASK,
                                    Name,
                                    Size)) {
                return FALSE;
            }
        }
    }

    for (Index = 0; Index < NumberOfFunctions; Index++) {

        Rva = ReaderGetUlong(Functions + (SIZE_T)Index * 4);
        if (!ReaderIsExportedCode(Image, Coff, Rva)) {
            continue;
        }

        if (!ReaderAddCoffEntry(
                Coff,
                Rva,
                READER_RANK_NOT_FIRST_CHOICE |
                    (Index & READER_RANK_INDEX_MASK),
                OrdinalName,
                ReaderFormatOrdinal(Base + Index, OrdinalName))) {
            return FALSE;
        }
    }

    return TRUE;
}

static
BOOLEAN
ReaderIsEntryBefore(
    _In_ PCREADER_COFF_ENTRY First,
    _In_ PCREADER_COFF_ENTRY Second
    )
/*++

Routine Description:

    Says which of two entries comes first.

Arguments:

    First - Supplies one.

    Second - Supplies the other.

Return Value:

    TRUE if the first one does.

--*/
{
    if (First->Rva != Second->Rva) {
        return (BOOLEAN)(First->Rva < Second->Rva);
    }

    return (BOOLEAN)(First->Rank < Second->Rank);
}

static
VOID
ReaderSiftDown(
    _Inout_updates_(NumberOfEntries) PREADER_COFF_ENTRY Entries,
    _In_ ULONG Parent,
    _In_ ULONG NumberOfEntries
    )
/*++

Routine Description:

    Makes a heap (the last entry on top) of a parent and its two heaps.

Arguments:

    Entries - Supplies the entries.

    Parent - Supplies the parent's index.

    NumberOfEntries - Supplies how many entries there are, at most 2^30.

Return Value:

    None.

--*/
{
    READER_COFF_ENTRY Moving;
    ULONG Child;

    Moving = Entries[Parent];

    for (;;) {
        Child = 2 * Parent + 1;
        if (Child >= NumberOfEntries) {
            break;
        }
        if (Child + 1 < NumberOfEntries &&
            ReaderIsEntryBefore(&Entries[Child], &Entries[Child + 1])) {
            Child += 1;
        }
        if (!ReaderIsEntryBefore(&Moving, &Entries[Child])) {
            break;
        }
        Entries[Parent] = Entries[Child];
        Parent = Child;
    }

    Entries[Parent] = Moving;
}

static
VOID
ReaderSortEntries(
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Sorts the entries (heapsort: in place, without recursion, and no order of
    the input is slow).

Arguments:

    Coff - Supplies the entries.

Return Value:

    None.

--*/
{
    READER_COFF_ENTRY Last;
    PREADER_COFF_ENTRY Entries;
    ULONG Index;

    Entries = Coff->Entries;

    for (Index = Coff->NumberOfEntries / 2; Index > 0; Index--) {
        ReaderSiftDown(Entries, Index - 1, Coff->NumberOfEntries);
    }

    for (Index = Coff->NumberOfEntries; Index > 1; Index--) {
        Last = Entries[Index - 1];
        Entries[Index - 1] = Entries[0];
        Entries[0] = Last;
        ReaderSiftDown(Entries, 0, Index - 1);
    }
}

static
VOID
ReaderForgetEntries(
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Frees the entries and their names.

Arguments:

    Coff - Supplies them.

Return Value:

    None.

--*/
{
    Coff->Allocator->Free(Coff->Allocator->Context, Coff->Entries);
    Coff->Allocator->Free(Coff->Allocator->Context, Coff->Names);
    Coff->Entries = NULL;
    Coff->Names = NULL;
    Coff->NumberOfEntries = 0;
    Coff->EntryCapacity = 0;
    Coff->NamesInBytes = 0;
    Coff->NameCapacityInBytes = 0;
    Coff->Kind = ReaderCoffKindNone;
}

_Use_decl_annotations_
NTSTATUS
ReaderLoadCoffTable(
    PREADER_WALK_TABLE WalkTable,
    PVOID Context,
    ULONGLONG LimitInBytes,
    READER_COFF_KIND Kind,
    PREADER_COFF Coff
    )
/*++

Routine Description:

    Counts, allocates, keeps and sorts the entries of one table.

Arguments:

    WalkTable - Supplies the table's walk.

    Context - Supplies what the walk is given.

    LimitInBytes - Supplies how much the names may be altogether.

    Kind - Supplies what Coff->Kind becomes if there are any entries.

    Coff - Supplies where the entries go.

Return Value:

    STATUS_SUCCESS, also when the table is damaged or empty.

    STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator;

    Allocator = Coff->Allocator;
    Coff->NameLimitInBytes = LimitInBytes;

    if (!WalkTable(Context, Coff) ||
        Coff->NumberOfEntries == 0 ||
        Coff->NamesInBytes > 0xffffffffu) {
        ReaderForgetEntries(Coff);
        return STATUS_SUCCESS;
    }

    Coff->EntryCapacity = Coff->NumberOfEntries;
    Coff->NameCapacityInBytes = Coff->NamesInBytes;
    Coff->NumberOfEntries = 0;
    Coff->NamesInBytes = 0;

    Coff->Names = Allocator->Allocate(Allocator->Context,
                                      (SIZE_T)Coff->NameCapacityInBytes);
    Coff->Entries = Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Coff->EntryCapacity * sizeof(READER_COFF_ENTRY));
    if (Coff->Names == NULL || Coff->Entries == NULL) {
        ReaderForgetEntries(Coff);
        return STATUS_NO_MEMORY;
    }

    if (!WalkTable(Context, Coff) || Coff->NumberOfEntries == 0) {
        ReaderForgetEntries(Coff);
        return STATUS_SUCCESS;
    }

    ReaderSortEntries(Coff);
    Coff->Kind = Kind;
    return STATUS_SUCCESS;
}

static
_Must_inspect_result_
NTSTATUS
ReaderLoadSections(
    _In_ PCREADER_IMAGE Image,
    _In_ ULONGLONG Offset,
    _In_ ULONG NumberOfSections,
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Reads the section headers.  The loader wants sections to ascend and not to
    overlap, so an image where they do not was never loaded.

Arguments:

    Image - Supplies the image.

    Offset - Supplies where the section headers are in the file, in bytes.

    NumberOfSections - Supplies how many there are.

    Coff - Supplies where the sections go.

Return Value:

    STATUS_SUCCESS, STATUS_INVALID_IMAGE_FORMAT or STATUS_NO_MEMORY.

--*/
{
    PREADER_COFF_SECTION Section;
    ULONG Characteristics;
    ULONG EndOfPrevious;
    ULONG Index;
    ULONG Size;
    const UCHAR *Bytes;

    if (NumberOfSections == 0 ||
        !ReaderIsInImage(Image,
                         Offset,
                         (ULONGLONG)NumberOfSections * PE_SECTION_SIZE)) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Coff->Sections = Coff->Allocator->Allocate(
        Coff->Allocator->Context,
        (SIZE_T)NumberOfSections * sizeof(READER_COFF_SECTION));
    if (Coff->Sections == NULL) {
        return STATUS_NO_MEMORY;
    }

    EndOfPrevious = 0;

    for (Index = 0; Index < NumberOfSections; Index++) {

        Bytes = Image->Bytes + Offset + (ULONGLONG)Index * PE_SECTION_SIZE;
        Section = &Coff->Sections[Index];

        Section->StartRva = ReaderGetUlong(Bytes + PE_SECTION_VIRTUAL_ADDRESS);
        Section->RawOffset = ReaderGetUlong(Bytes + PE_SECTION_RAW_OFFSET);
        Section->RawSizeInBytes = ReaderGetUlong(Bytes + PE_SECTION_RAW_SIZE);
        Characteristics = ReaderGetUlong(Bytes + PE_SECTION_CHARACTERISTICS);
        Section->IsExecutable =
            (Characteristics &
             (PE_SECTION_HAS_CODE | PE_SECTION_CAN_EXECUTE)) != 0;

        Size = ReaderGetUlong(Bytes + PE_SECTION_VIRTUAL_SIZE);
        if (Size == 0) {
            Size = Section->RawSizeInBytes;
        }

        if (Section->StartRva < EndOfPrevious ||
            Size > 0xffffffffu - Section->StartRva) {
            return STATUS_INVALID_IMAGE_FORMAT;
        }

        Section->EndRva = Section->StartRva + Size;
        EndOfPrevious = Section->EndRva;
    }

    Coff->NumberOfSections = NumberOfSections;
    return STATUS_SUCCESS;
}

static
_Must_inspect_result_
NTSTATUS
ReaderLoadHeaders(
    _Inout_ PREADER_IMAGE Image,
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Reads the headers.

Arguments:

    Image - Supplies the bytes; receives where the two tables are.

    Coff - Receives the identity and the sections.

Return Value:

    STATUS_SUCCESS, STATUS_INVALID_IMAGE_FORMAT or STATUS_NO_MEMORY.

--*/
{
    ULONG SizeOfOptional;
    ULONGLONG Offset;
    const UCHAR *File;
    const UCHAR *Optional;

    if (Image->SizeInBytes > 0xffffffffu ||
        Image->SizeInBytes < PE_DOS_HEADER_SIZE ||
        ReaderGetUshort(Image->Bytes) != PE_DOS_SIGNATURE) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Offset = ReaderGetUlong(Image->Bytes + PE_DOS_NEW_HEADER);
    if (!ReaderIsInImage(Image,
                         Offset,
                         PE_FILE_HEADER + PE_FILE_HEADER_SIZE) ||
        ReaderGetUlong(Image->Bytes + Offset) != PE_SIGNATURE) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    File = Image->Bytes + Offset + PE_FILE_HEADER;
    Offset += PE_FILE_HEADER + PE_FILE_HEADER_SIZE;
    SizeOfOptional = ReaderGetUshort(File + PE_FILE_SIZE_OF_OPTIONAL);

    if (ReaderGetUshort(File + PE_FILE_MACHINE) != PE_MACHINE_AMD64 ||
        SizeOfOptional < PE_OPTIONAL_FIXED_SIZE ||
        !ReaderIsInImage(Image, Offset, SizeOfOptional)) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Optional = Image->Bytes + Offset;
    if (ReaderGetUshort(Optional) != PE_OPTIONAL_MAGIC_64) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Coff->TimeDateStamp = ReaderGetUlong(File + PE_FILE_TIME_DATE_STAMP);
    Coff->SizeOfImage = ReaderGetUlong(Optional + PE_OPTIONAL_SIZE_OF_IMAGE);
    Coff->CheckSum = ReaderGetUlong(Optional + PE_OPTIONAL_CHECK_SUM);

    Image->SymbolTableOffset = ReaderGetUlong(File + PE_FILE_SYMBOL_TABLE);
    Image->NumberOfSymbols = ReaderGetUlong(File + PE_FILE_NUMBER_OF_SYMBOLS);

    Coff->ImageBase =
        ReaderGetUlong(Optional + PE_OPTIONAL_IMAGE_BASE) |
        ((ULONGLONG)ReaderGetUlong(Optional + PE_OPTIONAL_IMAGE_BASE + 4) <<
         32);
    Coff->HeadersOffset = Offset + SizeOfOptional;
    if (Image->SymbolTableOffset != 0) {
        Coff->StringsOffset =
            Image->SymbolTableOffset +
            (ULONGLONG)Image->NumberOfSymbols * PE_SYMBOL_SIZE;
    }

    if (ReaderGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 0 &&
        SizeOfOptional >= PE_OPTIONAL_FIXED_SIZE + PE_DATA_ENTRY_SIZE) {
        Image->ExportRva = ReaderGetUlong(Optional +
                                          PE_OPTIONAL_EXPORT_ENTRY);
        Image->ExportSizeInBytes = ReaderGetUlong(Optional +
                                                  PE_OPTIONAL_EXPORT_ENTRY +
                                                  4);
    }

    if (ReaderGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 3 &&
        SizeOfOptional >= PE_OPTIONAL_EXCEPTION_ENTRY + PE_DATA_ENTRY_SIZE) {
        Coff->ExceptionRva = ReaderGetUlong(Optional +
                                            PE_OPTIONAL_EXCEPTION_ENTRY);
        Coff->ExceptionSizeInBytes =
            ReaderGetUlong(Optional + PE_OPTIONAL_EXCEPTION_ENTRY + 4);
    }

    if (ReaderGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 6 &&
        SizeOfOptional >= PE_OPTIONAL_DEBUG_ENTRY + PE_DATA_ENTRY_SIZE) {
        Image->DebugRva = ReaderGetUlong(Optional + PE_OPTIONAL_DEBUG_ENTRY);
        Image->DebugSizeInBytes =
            ReaderGetUlong(Optional + PE_OPTIONAL_DEBUG_ENTRY + 4);
    }

    return ReaderLoadSections(
        Image,
        Offset + SizeOfOptional,
        ReaderGetUshort(File + PE_FILE_NUMBER_OF_SECTIONS),
        Coff);
}

static
VOID
ReaderLoadPdbReference(
    _In_ PCREADER_IMAGE Image,
    _Inout_ PREADER_COFF Coff
    )
/*++

Routine Description:

    Finds which PDB belongs to the image: the CodeView entry of its debug
    directory.  One that is damaged counts as none.

Arguments:

    Image - Supplies the image.

    Coff - Receives the PDB's identity and path.

Return Value:

    None.

--*/
{
    const UCHAR *Entry;
    ULONG Index;
    ULONG Length;
    ULONG NumberOfEntries;
    ULONG Offset;
    const UCHAR *Record;
    ULONG Size;
    ULONGLONG SizeInFile;

    Entry = ReaderGetBytesAtRva(Image, Coff, Image->DebugRva, &SizeInFile);
    if (Image->DebugRva == 0 || Entry == NULL) {
        return;
    }

    if (SizeInFile > Image->DebugSizeInBytes) {
        SizeInFile = Image->DebugSizeInBytes;
    }

    NumberOfEntries = (ULONG)(SizeInFile / PE_DEBUG_SIZE);
    if (NumberOfEntries > PE_DEBUG_MAXIMUM_ENTRIES) {
        NumberOfEntries = PE_DEBUG_MAXIMUM_ENTRIES;
    }

    for (Index = 0; Index < NumberOfEntries; Index++) {

        Offset = ReaderGetUlong(Entry + PE_DEBUG_RAW_OFFSET);
        Size = ReaderGetUlong(Entry + PE_DEBUG_SIZE_OF_DATA);
        if (ReaderGetUlong(Entry + PE_DEBUG_TYPE) == PE_DEBUG_TYPE_CODEVIEW &&
            Size >= PE_CODEVIEW_PATH &&
            ReaderIsInImage(Image, Offset, Size) &&
            ReaderGetUlong(Image->Bytes + Offset) == PE_CODEVIEW_SIGNATURE) {
            break;
        }
        Entry += PE_DEBUG_SIZE;
    }

    if (Index == NumberOfEntries) {
        return;
    }

    Record = Image->Bytes + Offset;
    for (Index = 0; Index < sizeof(Coff->PdbGuid); Index++) {
        Coff->PdbGuid[Index] = Record[PE_CODEVIEW_GUID + Index];
    }

    Length = 0;
    while (Length < Size - PE_CODEVIEW_PATH &&
           Length < sizeof(Coff->PdbPath) &&
           Record[PE_CODEVIEW_PATH + Length] != 0) {
        Coff->PdbPath[Length] = (CHAR)Record[PE_CODEVIEW_PATH + Length];
        Length += 1;
    }

    Coff->PdbAge = ReaderGetUlong(Record + PE_CODEVIEW_AGE);
    Coff->PdbPathLength = Length;
    Coff->HasPdb = TRUE;
}

_Use_decl_annotations_
NTSTATUS
ReaderInitializeCoff(
    PCALLOCATOR Allocator,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PREADER_COFF Coff
    )
/*++

Routine Description:

    Reads the names of an image's functions.

Arguments:

    Allocator - Supplies the memory; it must outlive Coff.

    Bytes - Supplies the image's file.

    SizeInBytes - Supplies its size.

    Coff - Receives what was found.

Return Value:

    STATUS_SUCCESS, also when the image names no function.

    STATUS_INVALID_IMAGE_FORMAT - Not an x64 image, or its headers are damaged.

    STATUS_NO_MEMORY.

--*/
{
    static const READER_COFF EmptyCoff = { 0 };
    READER_IMAGE Image;
    NTSTATUS Status;

    *Coff = EmptyCoff;
    Coff->Allocator = Allocator;

    Image.Bytes = Bytes;
    Image.SizeInBytes = SizeInBytes;
    Image.SymbolTableOffset = 0;
    Image.NumberOfSymbols = 0;
    Image.ExportRva = 0;
    Image.ExportSizeInBytes = 0;
    Image.DebugRva = 0;
    Image.DebugSizeInBytes = 0;

    Status = ReaderLoadHeaders(&Image, Coff);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderLoadPdbReference(&Image, Coff);
    Status = ReaderLoadCoffTable(ReaderWalkSymbols,
                                 &Image,
                                 2 * SizeInBytes + 0x10000,
                                 ReaderCoffKindSymbols,
                                 Coff);
    if (!NT_SUCCESS(Status) || Coff->Kind != ReaderCoffKindNone) {
        return Status;
    }

    if (Image.ExportRva == 0) {
        return STATUS_SUCCESS;
    }

    return ReaderLoadCoffTable(ReaderWalkExports,
                               &Image,
                               2 * SizeInBytes + 0x10000,
                               ReaderCoffKindExports,
                               Coff);
}

static
ULONG
ReaderParseNameOffset(
    _In_reads_bytes_(PE_SECTION_NAME_SIZE) const UCHAR *Name
    )
/*++

Routine Description:

    Reads where in the string table a section's name is: "/" and decimal
    digits, or "//" and six digits of base 64.

Arguments:

    Name - Supplies the name in the section's header, which begins with "/".

Return Value:

    The offset in bytes, or 0 if it is none.

--*/
{
    ULONG Digit;
    ULONG Index;
    ULONGLONG Offset;

    Offset = 0;

    if (Name[1] == '/') {
        for (Index = 2; Index < PE_SECTION_NAME_SIZE; Index++) {
            Digit = Name[Index];
            if (Digit >= 'A' && Digit <= 'Z') {
                Digit -= 'A';
            } else if (Digit >= 'a' && Digit <= 'z') {
                Digit -= 'a' - 26;
            } else if (Digit >= '0' && Digit <= '9') {
                Digit += 52 - '0';
            } else if (Digit == '+') {
                Digit = 62;
            } else if (Digit == '/') {
                Digit = 63;
            } else {
                return 0;
            }
            Offset = Offset * 64 + Digit;
        }
    } else {
        for (Index = 1;
             Index < PE_SECTION_NAME_SIZE && Name[Index] != 0;
             Index++) {
            if (Name[Index] < '0' || Name[Index] > '9') {
                return 0;
            }
            Offset = Offset * 10 + Name[Index] - '0';
        }
    }

    return Offset <= 0xffffffffu ? (ULONG)Offset : 0;
}

_Use_decl_annotations_
const UCHAR *
ReaderFindCoffSection(
    PCREADER_COFF Coff,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PCSZ Name,
    PULONG SectionInBytes
    )
/*++

Routine Description:

    Finds the bytes of the first section with a name.

Arguments:

    Coff - Supplies the image's tables.

    Bytes - Supplies the image's file.

    SizeInBytes - Supplies its size.

    Name - Supplies the name.

    SectionInBytes - Receives the size of the section's bytes, 0 on failure.

Return Value:

    The section's first byte, or NULL.

--*/
{
    READER_IMAGE Image;
    ULONG Index;
    ULONG Length;
    ULONGLONG Offset;
    ULONG RawOffset;
    ULONG Size;
    ULONG VirtualSize;
    const UCHAR *Candidate;
    const UCHAR *Header;

    *SectionInBytes = 0;
    Image.Bytes = Bytes;
    Image.SizeInBytes = SizeInBytes;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {

        Offset = Coff->HeadersOffset + (ULONGLONG)Index * PE_SECTION_SIZE;
        if (!ReaderIsInImage(&Image, Offset, PE_SECTION_SIZE)) {
            return NULL;
        }

        Header = Bytes + Offset;
        Candidate = Header;
        Size = PE_SECTION_NAME_SIZE;

        if (Header[0] == '/') {
            Offset = ReaderParseNameOffset(Header);
            if (Offset < sizeof(ULONG) || Coff->StringsOffset == 0) {
                continue;
            }
            Offset += Coff->StringsOffset;
            if (!ReaderIsInImage(&Image, Offset, 1)) {
                continue;
            }
            Candidate = Bytes + Offset;
            Size = 0xffffffffu;
            if (SizeInBytes - Offset < Size) {
                Size = (ULONG)(SizeInBytes - Offset);
            }
        }

        Length = 0;
        while (Name[Length] != 0 &&
               Length < Size &&
               Candidate[Length] == (UCHAR)Name[Length]) {
            Length += 1;
        }
        if (Name[Length] != 0 || (Length < Size && Candidate[Length] != 0)) {
            continue;
        }

        //
        // The data in the file is padded; the virtual size is the true one.
        //

        RawOffset = ReaderGetUlong(Header + PE_SECTION_RAW_OFFSET);
        Size = ReaderGetUlong(Header + PE_SECTION_RAW_SIZE);
        VirtualSize = ReaderGetUlong(Header + PE_SECTION_VIRTUAL_SIZE);
        if (VirtualSize != 0 && VirtualSize < Size) {
            Size = VirtualSize;
        }
        if (RawOffset == 0 || RawOffset >= SizeInBytes) {
            return NULL;
        }
        if (Size > SizeInBytes - RawOffset) {
            Size = (ULONG)(SizeInBytes - RawOffset);
        }

        *SectionInBytes = Size;
        return Size == 0 ? NULL : Bytes + RawOffset;
    }

    return NULL;
}

_Use_decl_annotations_
PCREADER_COFF_SECTION
ReaderFindCodeSection(
    PCREADER_COFF Coff,
    ULONG Rva
    )
/*++

Routine Description:

    Finds the executable section that holds an RVA.

Arguments:

    Coff - Supplies the sections.

    Rva - Supplies the address.

Return Value:

    The section, or NULL if the address is in none or is not code.

--*/
{
    PCREADER_COFF_SECTION Section;

    Section = ReaderFindSection(Coff, Rva);
    if (Section != NULL && !Section->IsExecutable) {
        Section = NULL;
    }

    return Section;
}

static
ULONG
ReaderCountEntriesBelow(
    _In_ PCREADER_COFF Coff,
    _In_ ULONGLONG Rva
    )
/*++

Routine Description:

    Counts the entries below an RVA.

Arguments:

    Coff - Supplies the entries.

    Rva - Supplies the RVA, or one more than the last.

Return Value:

    The number: the index of the first entry that is not below.

--*/
{
    ULONG First;
    ULONG Last;
    ULONG Middle;

    First = 0;
    Last = Coff->NumberOfEntries;
    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (Coff->Entries[Middle].Rva < Rva) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    return First;
}

_Use_decl_annotations_
BOOLEAN
ReaderFindCoffSymbol(
    PCREADER_COFF Coff,
    ULONG Rva,
    PULONG StartRva,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
/*++

Routine Description:

    Finds the nearest function at or below an RVA in the RVA's own section.

Arguments:

    Coff - Supplies the entries.

    Rva - Supplies the address.

    StartRva - Receives the function's start.

    Name - Receives its name.

    NameLengthInBytes - Receives the name's length without the terminator.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    PCREADER_COFF_ENTRY Entry;
    PCREADER_COFF_SECTION Section;
    ULONG Index;

    Section = ReaderFindCodeSection(Coff, Rva);
    if (Section == NULL) {
        return FALSE;
    }

    Index = ReaderCountEntriesBelow(Coff, (ULONGLONG)Rva + 1);
    if (Index == 0) {
        return FALSE;
    }

    //
    // Of those at one address the first is the best.
    //

    Entry = &Coff->Entries[Index - 1];
    Entry = &Coff->Entries[ReaderCountEntriesBelow(Coff, Entry->Rva)];
    if (Entry->Rva < Section->StartRva) {
        return FALSE;
    }

    *StartRva = Entry->Rva;
    *Name = Coff->Names + Entry->NameOffset;
    *NameLengthInBytes = Entry->NameLength;
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
ReaderNextCoffFunction(
    PCREADER_COFF Coff,
    ULONG Rva,
    PULONG Cookie,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
/*++

Routine Description:

    Finds the next of the functions that begin at one address.

Arguments:

    Coff - Supplies the entries.

    Rva - Supplies the address.

    Cookie - Supplies how many entries were looked at, and receives it.

    Name - Receives the function's name.

    NameLengthInBytes - Receives the name's length without the terminator.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
{
    PCREADER_COFF_ENTRY Entry;
    ULONG Index;
    ULONG Unwanted;

    Unwanted = Coff->Kind == ReaderCoffKindExports ?
                   READER_RANK_NOT_FIRST_CHOICE : READER_RANK_NOT_FUNCTION;

    for (Index = ReaderCountEntriesBelow(Coff, Rva) + *Cookie;
         Index < Coff->NumberOfEntries && Coff->Entries[Index].Rva == Rva;
         Index++) {

        *Cookie += 1;
        Entry = &Coff->Entries[Index];
        if ((Entry->Rank & Unwanted) == 0) {
            *Name = Coff->Names + Entry->NameOffset;
            *NameLengthInBytes = Entry->NameLength;
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
ReaderRundownCoff(
    PREADER_COFF Coff
    )
/*++

Routine Description:

    Frees what ReaderInitializeCoff allocated.  It may be called after a
    failure, and twice, but not on memory that was never initialized unless
    that is all zero.

Arguments:

    Coff - Supplies the structure.

Return Value:

    None.

--*/
{
    if (Coff->Allocator == NULL) {
        return;
    }

    ReaderForgetEntries(Coff);
    Coff->Allocator->Free(Coff->Allocator->Context, Coff->Sections);
    Coff->Sections = NULL;
    Coff->NumberOfSections = 0;
    Coff->Allocator = NULL;
}

/*++

Module Name:

    ImageCoff.c

Abstract:

    Function names out of the bytes of a PE32+ x64 image.  ImageCoff.h says
    what the routines promise; the layouts are those of Microsoft's "PE
    Format" specification.

    Both tables are walked twice with the same code: once to count what will
    be kept, once to keep it.  The second walk stays within what the first one
    counted, so bytes that change in between do no harm either.

--*/

#include "../../Rtl/Rtl.h"
#include "ImageCoff.h"

#define READER_REPLACEMENT 0xFFFDu

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

//
// Reads a little-endian 16-bit number, whatever its alignment.
// Bytes: its first byte.
//

static
ULONG
ImageGetUshort(
    _In_reads_bytes_(2) const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8);
}

//
// Reads a little-endian 32-bit number, whatever its alignment.
// Bytes: its first byte.
//

static
ULONG
ImageGetUlong(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
{
    return ImageGetUshort(Bytes) | (ImageGetUshort(Bytes + 2) << 16);
}

//
// Says whether a range lies in the file.
// Offset: the range's first byte, from the start of the file.
//

static
BOOLEAN
ImageIsInImage(
    _In_ PCREADER_IMAGE Image,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG SizeInBytes
    )
{
    return (BOOLEAN)(Offset <= Image->SizeInBytes &&
                     SizeInBytes <= Image->SizeInBytes - Offset);
}

//
// Finds the section that holds an RVA.
// Rva: the address.
// Returns the section, or NULL if the address is in none.
//

static
_Ret_maybenull_
PCREADER_COFF_SECTION
ImageFindSection(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
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

//
// Finds the bytes in the file that are loaded at an RVA.
// Coff: its sections.
// Rva: the address.
// SizeInBytes: how many bytes there are from it to the end of its section's
// data; at least 1 on success, 0 on failure.
// Returns the first byte, or NULL if the file has none for this address.
//

static
_Ret_maybenull_
const UCHAR *
ImageGetBytesAtRva(
    _In_ PCREADER_IMAGE Image,
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva,
    _Out_ PULONGLONG SizeInBytes
    )
{
    PCREADER_COFF_SECTION Section;
    ULONGLONG Delta;
    ULONGLONG Offset;
    ULONGLONG Size;

    *SizeInBytes = 0;

    Section = ImageFindSection(Coff, Rva);
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

_Use_decl_annotations_
VOID
ImageCopyPrintable(
    PCHAR Target,
    const UCHAR *Name,
    ULONG LengthInBytes
    )
{
    ULONG CodePoint;
    ULONG Index = 0;
    ULONG Size;
    BOOLEAN IsKept;

    while (Index < LengthInBytes) {

        Size = RtlDecodeUtf8((const CHAR *)Name + Index,
                             LengthInBytes - Index,
                             &CodePoint);
        IsKept = CodePoint != READER_REPLACEMENT && RtlIsPrintable(CodePoint);
        while (Size != 0) {
            Target[Index] = IsKept ? (CHAR)Name[Index] : '?';
            Index += 1;
            Size -= 1;
        }
    }

    Target[LengthInBytes] = 0;
}

_Use_decl_annotations_
BOOLEAN
ImageAddCoffEntry(
    PREADER_COFF Coff,
    ULONG Rva,
    ULONG Rank,
    const UCHAR *Name,
    ULONGLONG NameLimitInBytes
    )
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
    ImageCopyPrintable(Target, Name, Length);

    Entry = &Coff->Entries[Coff->NumberOfEntries];
    Entry->Rva = Rva;
    Entry->Rank = Rank;
    Entry->NameOffset = (ULONG)Coff->NamesInBytes;
    Entry->NameLength = Length;

    Coff->NumberOfEntries += 1;
    Coff->NamesInBytes += (ULONGLONG)Length + 1;
    return TRUE;
}

//
// Finds the function's name in that of a weak definition. GNU tools write
// ".weak.Function.Other": the function itself stays undefined in the table,
// and Other is some symbol that makes the name unique.
//
// Name: the symbol's name; it ends at a zero byte or at the limit.
// LimitInBytes: how many bytes of it can be read.
// Returns the length of the function's name, which follows READER_WEAK_PREFIX;
// 0 if the symbol is no weak definition.
//

static
ULONGLONG
ImageMeasureWeakName(
    _In_reads_bytes_(LimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG LimitInBytes
    )
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

//
// Says whether a symbol's name can be a function's. Names of sections
// (.text$x) and compilers' labels (.L1, $LN3) begin with a dot or a dollar. An
// assembler's local labels (Function.Loop) are static, without a function's
// type, and have the dot further on.
//
// Name: the name; it ends at a zero byte or at the limit.
// LimitInBytes: how many bytes of it can be read.
// IsPlainStatic: whether the symbol is static and has no type.
//

static
BOOLEAN
ImageIsFunctionName(
    _In_reads_bytes_(LimitInBytes) const UCHAR *Name,
    _In_ ULONGLONG LimitInBytes,
    _In_ BOOLEAN IsPlainStatic
    )
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

//
// Adds one symbol of the COFF symbol table if it is a function's.
// Coff: where the entry goes.
// SymbolIndex: the symbol's place in the table.
// Symbol: its record.
// Strings: the string table, with the size that it begins with.
// StringsInBytes: the size of what there is of it.
// Returns FALSE if the table is not to be believed or does not fit.
//

static
BOOLEAN
ImageWalkSymbol(
    _Inout_ PREADER_COFF Coff,
    _In_ ULONG SymbolIndex,
    _In_reads_bytes_(PE_SYMBOL_SIZE) const UCHAR *Symbol,
    _In_reads_bytes_(StringsInBytes) const UCHAR *Strings,
    _In_ ULONGLONG StringsInBytes
    )
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

    SectionNumber = ImageGetUshort(Symbol + PE_SYMBOL_SECTION_NUMBER);
    if (SectionNumber == 0 || SectionNumber > Coff->NumberOfSections) {
        return TRUE;
    }

    Section = &Coff->Sections[SectionNumber - 1];
    Value = ImageGetUlong(Symbol + PE_SYMBOL_VALUE);
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
    if (ImageGetUlong(Name) == 0) {
        NameOffset = ImageGetUlong(Symbol + PE_SYMBOL_NAME_OFFSET);
        if (NameOffset < sizeof(ULONG) || NameOffset >= StringsInBytes) {
            return TRUE;
        }
        Name = Strings + NameOffset;
        NameLimit = StringsInBytes - NameOffset;
    }

    IsFunction = (BOOLEAN)(ImageGetUshort(Symbol + PE_SYMBOL_TYPE) ==
                           PE_SYMBOL_TYPE_FUNCTION);

    if (StorageClass == PE_SYMBOL_CLASS_EXTERNAL) {
        WeakLength = ImageMeasureWeakName(Name, NameLimit);
        if (WeakLength != 0) {
            Name += READER_WEAK_PREFIX_SIZE;
            NameLimit = WeakLength;
            IsFunction = TRUE;
        }
    }

    if (!ImageIsFunctionName(Name,
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

    return ImageAddCoffEntry(Coff,
                             Section->StartRva + Value,
                             Rank,
                             Name,
                             NameLimit);
}

//
// Walks the COFF symbol table.
// Coff: where the entries go.
// Returns FALSE if the table is not to be believed or does not fit.
//

static
BOOLEAN
ImageWalkSymbols(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Coff
    )
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
    if (ImageIsInImage(Image, StringsOffset, sizeof(ULONG))) {
        StringsInBytes = ImageGetUlong(Strings);
        if (StringsInBytes > Image->SizeInBytes - StringsOffset) {
            StringsInBytes = Image->SizeInBytes - StringsOffset;
        }
    }

    for (Index = 0; Index < Image->NumberOfSymbols; Index++) {

        Symbol = Image->Bytes + Image->SymbolTableOffset +
                 (ULONGLONG)Index * PE_SYMBOL_SIZE;

        if (!ImageWalkSymbol(Coff,
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

//
// Says whether an entry of the export address table is a function of this
// image. One that points into the export directory is the text of a forwarder;
// one outside of code is data.
//
// Coff: its sections.
//

static
BOOLEAN
ImageIsExportedCode(
    _In_ PCREADER_IMAGE Image,
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
{
    return (BOOLEAN)(Rva != 0 &&
                     !(Rva >= Image->ExportRva &&
                       Rva - Image->ExportRva < Image->ExportSizeInBytes) &&
                     ImageFindCodeSection(Coff, Rva) != NULL);
}

//
// Makes the name of an export that has none: "Ordinal12".
// Name: the name, not terminated.
// Returns its length in bytes.
//

static
ULONG
ImageFormatOrdinal(
    _In_ ULONG Ordinal,
    _Out_writes_bytes_(READER_ORDINAL_NAME_SIZE) UCHAR *Name
    )
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

//
// Walks the export directory: first the names, then every function by its
// ordinal. Where a function has a name, the name's rank wins over the
// ordinal's.
//
// Coff: where the entries go.
// Returns FALSE if the directory is not to be believed or does not fit.
//

static
BOOLEAN
ImageWalkExports(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Coff
    )
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

    Directory = ImageGetBytesAtRva(Image, Coff, Image->ExportRva, &Size);
    if (Directory == NULL || Size < PE_EXPORT_DIRECTORY_SIZE) {
        return FALSE;
    }

    Base = ImageGetUlong(Directory + PE_EXPORT_BASE);
    NumberOfFunctions = ImageGetUlong(Directory +
                                      PE_EXPORT_NUMBER_OF_FUNCTIONS);
    NumberOfNames = ImageGetUlong(Directory + PE_EXPORT_NUMBER_OF_NAMES);
    if (NumberOfFunctions == 0) {
        return TRUE;
    }

    Rva = ImageGetUlong(Directory + PE_EXPORT_FUNCTIONS);
    Functions = ImageGetBytesAtRva(Image, Coff, Rva, &Size);
    if (Functions == NULL || Size / 4 < NumberOfFunctions) {
        return FALSE;
    }

    if (NumberOfNames != 0) {

        Rva = ImageGetUlong(Directory + PE_EXPORT_ORDINALS);
        Ordinals = ImageGetBytesAtRva(Image, Coff, Rva, &Size);
        if (Ordinals == NULL || Size / 2 < NumberOfNames) {
            return FALSE;
        }

        Rva = ImageGetUlong(Directory + PE_EXPORT_NAMES);
        Names = ImageGetBytesAtRva(Image, Coff, Rva, &Size);
        if (Names == NULL || Size / 4 < NumberOfNames) {
            return FALSE;
        }

        for (Index = 0; Index < NumberOfNames; Index++) {

            Ordinal = ImageGetUshort(Ordinals + (SIZE_T)Index * 2);
            if (Ordinal >= NumberOfFunctions) {
                continue;
            }

            Rva = ImageGetUlong(Functions + (SIZE_T)Ordinal * 4);
            if (!ImageIsExportedCode(Image, Coff, Rva)) {
                continue;
            }

            Name = ImageGetBytesAtRva(
                Image,
                Coff,
                ImageGetUlong(Names + (SIZE_T)Index * 4),
                &Size);
            if (Name == NULL || Name[0] == 0) {
                continue;
            }

            if (!ImageAddCoffEntry(Coff,
                                   Rva,
                                   Index & READER_RANK_INDEX_MASK,
                                   Name,
                                   Size)) {
                return FALSE;
            }
        }
    }

    for (Index = 0; Index < NumberOfFunctions; Index++) {

        Rva = ImageGetUlong(Functions + (SIZE_T)Index * 4);
        if (!ImageIsExportedCode(Image, Coff, Rva)) {
            continue;
        }

        if (!ImageAddCoffEntry(
                Coff,
                Rva,
                READER_RANK_NOT_FIRST_CHOICE |
                    (Index & READER_RANK_INDEX_MASK),
                OrdinalName,
                ImageFormatOrdinal(Base + Index, OrdinalName))) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Says which of two entries comes first.
// Second: the other.
// Returns TRUE if the first one does.
//

static
BOOLEAN
ImageIsEntryBefore(
    _In_ PCREADER_COFF_ENTRY First,
    _In_ PCREADER_COFF_ENTRY Second
    )
{
    if (First->Rva != Second->Rva) {
        return (BOOLEAN)(First->Rva < Second->Rva);
    }

    return (BOOLEAN)(First->Rank < Second->Rank);
}

//
// Makes a heap (the last entry on top) of a parent and its two heaps.
// Parent: the parent's index.
// NumberOfEntries: how many entries there are, at most 2^30.
//

static
VOID
ImageSiftDown(
    _Inout_updates_(NumberOfEntries) PREADER_COFF_ENTRY Entries,
    _In_ ULONG Parent,
    _In_ ULONG NumberOfEntries
    )
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
            ImageIsEntryBefore(&Entries[Child], &Entries[Child + 1])) {
            Child += 1;
        }
        if (!ImageIsEntryBefore(&Moving, &Entries[Child])) {
            break;
        }
        Entries[Parent] = Entries[Child];
        Parent = Child;
    }

    Entries[Parent] = Moving;
}

//
// Sorts the entries (heapsort: in place, without recursion, and no order of
// the input is slow).
//

static
VOID
ImageSortEntries(
    _Inout_ PREADER_COFF Coff
    )
{
    READER_COFF_ENTRY Last;
    PREADER_COFF_ENTRY Entries;
    ULONG Index;

    Entries = Coff->Entries;

    for (Index = Coff->NumberOfEntries / 2; Index > 0; Index--) {
        ImageSiftDown(Entries, Index - 1, Coff->NumberOfEntries);
    }

    for (Index = Coff->NumberOfEntries; Index > 1; Index--) {
        Last = Entries[Index - 1];
        Entries[Index - 1] = Entries[0];
        Entries[0] = Last;
        ImageSiftDown(Entries, 0, Index - 1);
    }
}

//
// Frees the entries and their names.
//

static
VOID
ImageForgetEntries(
    _Inout_ PREADER_COFF Coff
    )
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
ImageLoadCoffTable(
    PREADER_WALK_TABLE WalkTable,
    PVOID Context,
    ULONGLONG LimitInBytes,
    READER_COFF_KIND Kind,
    PREADER_COFF Coff
    )
{
    PCALLOCATOR Allocator;

    Allocator = Coff->Allocator;
    Coff->NameLimitInBytes = LimitInBytes;

    if (!WalkTable(Context, Coff) ||
        Coff->NumberOfEntries == 0 ||
        Coff->NamesInBytes > 0xffffffffu) {
        ImageForgetEntries(Coff);
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
        ImageForgetEntries(Coff);
        return STATUS_NO_MEMORY;
    }

    if (!WalkTable(Context, Coff) || Coff->NumberOfEntries == 0) {
        ImageForgetEntries(Coff);
        return STATUS_SUCCESS;
    }

    ImageSortEntries(Coff);
    Coff->Kind = Kind;
    return STATUS_SUCCESS;
}

//
// Reads the section headers. The loader wants sections to ascend and not to
// overlap, so an image where they do not was never loaded.
// Offset: where the section headers are in the file, in bytes.
// NumberOfSections: how many there are.
// Coff: where the sections go.
// Returns STATUS_SUCCESS, STATUS_INVALID_IMAGE_FORMAT or STATUS_NO_MEMORY.
//

static
_Must_inspect_result_
NTSTATUS
ImageLoadSections(
    _In_ PCREADER_IMAGE Image,
    _In_ ULONGLONG Offset,
    _In_ ULONG NumberOfSections,
    _Inout_ PREADER_COFF Coff
    )
{
    PREADER_COFF_SECTION Section;
    ULONG Characteristics;
    ULONG EndOfPrevious;
    ULONG Index;
    ULONG Size;
    const UCHAR *Bytes;

    if (NumberOfSections == 0 ||
        !ImageIsInImage(Image,
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

        Section->StartRva = ImageGetUlong(Bytes + PE_SECTION_VIRTUAL_ADDRESS);
        Section->RawOffset = ImageGetUlong(Bytes + PE_SECTION_RAW_OFFSET);
        Section->RawSizeInBytes = ImageGetUlong(Bytes + PE_SECTION_RAW_SIZE);
        Characteristics = ImageGetUlong(Bytes + PE_SECTION_CHARACTERISTICS);
        Section->IsExecutable =
            (Characteristics &
             (PE_SECTION_HAS_CODE | PE_SECTION_CAN_EXECUTE)) != 0;

        Size = ImageGetUlong(Bytes + PE_SECTION_VIRTUAL_SIZE);
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

//
// Image: the bytes; receives where the two tables are.
// Coff: the identity and the sections.
// Returns STATUS_SUCCESS, STATUS_INVALID_IMAGE_FORMAT or STATUS_NO_MEMORY.
//

static
_Must_inspect_result_
NTSTATUS
ImageLoadHeaders(
    _Inout_ PREADER_IMAGE Image,
    _Inout_ PREADER_COFF Coff
    )
{
    ULONG SizeOfOptional;
    ULONGLONG Offset;
    const UCHAR *File;
    const UCHAR *Optional;

    if (Image->SizeInBytes > 0xffffffffu ||
        Image->SizeInBytes < PE_DOS_HEADER_SIZE ||
        ImageGetUshort(Image->Bytes) != PE_DOS_SIGNATURE) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Offset = ImageGetUlong(Image->Bytes + PE_DOS_NEW_HEADER);
    if (!ImageIsInImage(Image,
                        Offset,
                        PE_FILE_HEADER + PE_FILE_HEADER_SIZE) ||
        ImageGetUlong(Image->Bytes + Offset) != PE_SIGNATURE) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    File = Image->Bytes + Offset + PE_FILE_HEADER;
    Offset += PE_FILE_HEADER + PE_FILE_HEADER_SIZE;
    SizeOfOptional = ImageGetUshort(File + PE_FILE_SIZE_OF_OPTIONAL);

    if (ImageGetUshort(File + PE_FILE_MACHINE) != PE_MACHINE_AMD64 ||
        SizeOfOptional < PE_OPTIONAL_FIXED_SIZE ||
        !ImageIsInImage(Image, Offset, SizeOfOptional)) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Optional = Image->Bytes + Offset;
    if (ImageGetUshort(Optional) != PE_OPTIONAL_MAGIC_64) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Coff->TimeDateStamp = ImageGetUlong(File + PE_FILE_TIME_DATE_STAMP);
    Coff->SizeOfImage = ImageGetUlong(Optional + PE_OPTIONAL_SIZE_OF_IMAGE);
    Coff->CheckSum = ImageGetUlong(Optional + PE_OPTIONAL_CHECK_SUM);

    Image->SymbolTableOffset = ImageGetUlong(File + PE_FILE_SYMBOL_TABLE);
    Image->NumberOfSymbols = ImageGetUlong(File + PE_FILE_NUMBER_OF_SYMBOLS);

    Coff->ImageBase =
        ImageGetUlong(Optional + PE_OPTIONAL_IMAGE_BASE) |
        ((ULONGLONG)ImageGetUlong(Optional + PE_OPTIONAL_IMAGE_BASE + 4) <<
         32);
    Coff->HeadersOffset = Offset + SizeOfOptional;
    if (Image->SymbolTableOffset != 0) {
        Coff->StringsOffset =
            Image->SymbolTableOffset +
            (ULONGLONG)Image->NumberOfSymbols * PE_SYMBOL_SIZE;
    }

    if (ImageGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 0 &&
        SizeOfOptional >= PE_OPTIONAL_FIXED_SIZE + PE_DATA_ENTRY_SIZE) {
        Image->ExportRva = ImageGetUlong(Optional +
                                         PE_OPTIONAL_EXPORT_ENTRY);
        Image->ExportSizeInBytes = ImageGetUlong(Optional +
                                                 PE_OPTIONAL_EXPORT_ENTRY +
                                                 4);
    }

    if (ImageGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 3 &&
        SizeOfOptional >= PE_OPTIONAL_EXCEPTION_ENTRY + PE_DATA_ENTRY_SIZE) {
        Coff->ExceptionRva = ImageGetUlong(Optional +
                                           PE_OPTIONAL_EXCEPTION_ENTRY);
        Coff->ExceptionSizeInBytes =
            ImageGetUlong(Optional + PE_OPTIONAL_EXCEPTION_ENTRY + 4);
    }

    if (ImageGetUlong(Optional + PE_OPTIONAL_NUMBER_OF_ENTRIES) > 6 &&
        SizeOfOptional >= PE_OPTIONAL_DEBUG_ENTRY + PE_DATA_ENTRY_SIZE) {
        Image->DebugRva = ImageGetUlong(Optional + PE_OPTIONAL_DEBUG_ENTRY);
        Image->DebugSizeInBytes =
            ImageGetUlong(Optional + PE_OPTIONAL_DEBUG_ENTRY + 4);
    }

    return ImageLoadSections(
        Image,
        Offset + SizeOfOptional,
        ImageGetUshort(File + PE_FILE_NUMBER_OF_SECTIONS),
        Coff);
}

//
// Finds which PDB belongs to the image: the CodeView entry of its debug
// directory. One that is damaged counts as none.
// Coff: the PDB's identity and path.
//

static
VOID
ImageLoadPdbReference(
    _In_ PCREADER_IMAGE Image,
    _Inout_ PREADER_COFF Coff
    )
{
    const UCHAR *Entry;
    ULONG Index;
    ULONG Length;
    ULONG NumberOfEntries;
    ULONG Offset;
    const UCHAR *Record;
    ULONG Size;
    ULONGLONG SizeInFile;

    Entry = ImageGetBytesAtRva(Image, Coff, Image->DebugRva, &SizeInFile);
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

        Offset = ImageGetUlong(Entry + PE_DEBUG_RAW_OFFSET);
        Size = ImageGetUlong(Entry + PE_DEBUG_SIZE_OF_DATA);
        if (ImageGetUlong(Entry + PE_DEBUG_TYPE) == PE_DEBUG_TYPE_CODEVIEW &&
            Size >= PE_CODEVIEW_PATH &&
            ImageIsInImage(Image, Offset, Size) &&
            ImageGetUlong(Image->Bytes + Offset) == PE_CODEVIEW_SIGNATURE) {
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

    Coff->PdbAge = ImageGetUlong(Record + PE_CODEVIEW_AGE);
    Coff->PdbPathLength = Length;
    Coff->HasPdb = TRUE;
}

_Use_decl_annotations_
NTSTATUS
ImageInitializeCoff(
    PCALLOCATOR Allocator,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PREADER_COFF Coff
    )
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

    Status = ImageLoadHeaders(&Image, Coff);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ImageLoadPdbReference(&Image, Coff);
    Status = ImageLoadCoffTable(ImageWalkSymbols,
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

    return ImageLoadCoffTable(ImageWalkExports,
                              &Image,
                              2 * SizeInBytes + 0x10000,
                              ReaderCoffKindExports,
                              Coff);
}

//
// Reads where in the string table a section's name is: "/" and decimal digits,
// or "//" and six digits of base 64.
// Name: the name in the section's header, which begins with "/".
// Returns the offset in bytes, or 0 if it is none.
//

static
ULONG
ImageParseNameOffset(
    _In_reads_bytes_(PE_SECTION_NAME_SIZE) const UCHAR *Name
    )
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
ImageFindCoffSection(
    PCREADER_COFF Coff,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PCSZ Name,
    PULONG SectionInBytes
    )
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
        if (!ImageIsInImage(&Image, Offset, PE_SECTION_SIZE)) {
            return NULL;
        }

        Header = Bytes + Offset;
        Candidate = Header;
        Size = PE_SECTION_NAME_SIZE;

        if (Header[0] == '/') {
            Offset = ImageParseNameOffset(Header);
            if (Offset < sizeof(ULONG) || Coff->StringsOffset == 0) {
                continue;
            }
            Offset += Coff->StringsOffset;
            if (!ImageIsInImage(&Image, Offset, 1)) {
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

        RawOffset = ImageGetUlong(Header + PE_SECTION_RAW_OFFSET);
        Size = ImageGetUlong(Header + PE_SECTION_RAW_SIZE);
        VirtualSize = ImageGetUlong(Header + PE_SECTION_VIRTUAL_SIZE);
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
ImageFindCodeSection(
    PCREADER_COFF Coff,
    ULONG Rva
    )
{
    PCREADER_COFF_SECTION Section;

    Section = ImageFindSection(Coff, Rva);
    if (Section != NULL && !Section->IsExecutable) {
        Section = NULL;
    }

    return Section;
}

//
// Rva: the RVA, or one more than the last.
// Returns the number: the index of the first entry that is not below.
//

static
ULONG
ImageCountEntriesBelow(
    _In_ PCREADER_COFF Coff,
    _In_ ULONGLONG Rva
    )
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
ImageFindCoffSymbol(
    PCREADER_COFF Coff,
    ULONG Rva,
    PULONG StartRva,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
{
    PCREADER_COFF_ENTRY Entry;
    PCREADER_COFF_SECTION Section;
    ULONG Index;

    Section = ImageFindCodeSection(Coff, Rva);
    if (Section == NULL) {
        return FALSE;
    }

    Index = ImageCountEntriesBelow(Coff, (ULONGLONG)Rva + 1);
    if (Index == 0) {
        return FALSE;
    }

    //
    // Of those at one address the first is the best.
    //

    Entry = &Coff->Entries[Index - 1];
    Entry = &Coff->Entries[ImageCountEntriesBelow(Coff, Entry->Rva)];
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
ImageNextCoffFunction(
    PCREADER_COFF Coff,
    ULONG Rva,
    PULONG Cookie,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
{
    PCREADER_COFF_ENTRY Entry;
    ULONG Index;
    ULONG Unwanted;

    Unwanted = Coff->Kind == ReaderCoffKindExports ?
                   READER_RANK_NOT_FIRST_CHOICE : READER_RANK_NOT_FUNCTION;

    for (Index = ImageCountEntriesBelow(Coff, Rva) + *Cookie;
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
ImageRundownCoff(
    PREADER_COFF Coff
    )
{
    if (Coff->Allocator == NULL) {
        return;
    }

    ImageForgetEntries(Coff);
    Coff->Allocator->Free(Coff->Allocator->Context, Coff->Sections);
    Coff->Sections = NULL;
    Coff->NumberOfSections = 0;
    Coff->Allocator = NULL;
}

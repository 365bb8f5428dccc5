/*++

Module Name:

    ImageDwarfLine.c

Abstract:

    Source lines out of .debug_line.  A unit's line table is a program for a
    machine that makes rows of addresses, files and lines; it runs when the
    first line of the unit is asked for, and what is kept are the rows where
    the file or the line changes.

--*/

#include "ImageDwarfForm.h"

#define DW_LNS_copy                 0x01
#define DW_LNS_advance_pc           0x02
#define DW_LNS_advance_line         0x03
#define DW_LNS_set_file             0x04
#define DW_LNS_set_column           0x05
#define DW_LNS_negate_stmt          0x06
#define DW_LNS_set_basic_block      0x07
#define DW_LNS_const_add_pc         0x08
#define DW_LNS_fixed_advance_pc     0x09
#define DW_LNS_set_prologue_end     0x0a
#define DW_LNS_set_epilogue_begin   0x0b
#define DW_LNS_set_isa              0x0c

#define DW_LNE_end_sequence         0x01
#define DW_LNE_set_address          0x02
#define DW_LNE_define_file          0x03

#define DW_LNCT_path                0x01
#define DW_LNCT_directory_index     0x02

//
// How many properties a file or folder of version 5 may have (the standard
// defines five).
//

#define READER_MAXIMUM_CONTENTS 16

//
// The size of the pieces that paths are kept in, in bytes.
//

#define READER_PATH_CHUNK_SIZE 0x4000

typedef struct _READER_DWARF_ROW {
    ULONG Rva;
    ULONG Line;
    ULONG File;
} READER_DWARF_ROW;
typedef READER_DWARF_ROW *PREADER_DWARF_ROW;
typedef const READER_DWARF_ROW *PCREADER_DWARF_ROW;

//
// A folder or a file.  Name points into the copies of the sections; NULL if it
// cannot be read.
//

typedef struct _READER_DWARF_FILE {
    const UCHAR *Name;
    PCSZ Path;                      // NULL until it is asked for
    ULONG NameLength;
    ULONG Folder;
    ULONG PathLength;
    ULONG Unused;
} READER_DWARF_FILE;
typedef READER_DWARF_FILE *PREADER_DWARF_FILE;
typedef const READER_DWARF_FILE *PCREADER_DWARF_FILE;

struct _READER_DWARF_LINES {
    ULONG Version;
    ULONG NumberOfSequences;
    PREADER_DWARF_PAIR Sequences;   // Value is first row << 32 | rows
    PREADER_DWARF_ROW Rows;
    READER_DWARF_ARRAY Folders;     // READER_DWARF_FILE
    READER_DWARF_ARRAY Files;       // READER_DWARF_FILE
};

//
// The machine.
//

typedef struct _READER_LINE_MACHINE {
    PREADER_DWARF Dwarf;
    PREADER_DWARF_LINES Lines;
    READER_CURSOR Cursor;           // in the program
    READER_DWARF_ENCODING Encoding;
    ULONG InstructionSize;          // the smallest, bytes
    ULONG LineRange;
    LONG LineBase;
    ULONG OpcodeBase;
    const UCHAR *OpcodeLengths;     // of opcode 1 and the following

    ULONGLONG Address;
    ULONG File;
    ULONG Line;

    ULONG FirstRow;                 // of the sequence
    ULONG StartRva;                 // of the sequence, if it has a row
    ULONG LastRva;
    BOOLEAN HasRow;
    BOOLEAN IsOutside;              // the sequence is not in the image, or its
                                    // addresses do not ascend
} READER_LINE_MACHINE;
typedef READER_LINE_MACHINE *PREADER_LINE_MACHINE;

typedef struct _READER_LINE_CONTENT {
    ULONG Content;                  // DW_LNCT_*
    ULONG Form;
} READER_LINE_CONTENT;
typedef READER_LINE_CONTENT *PREADER_LINE_CONTENT;
typedef const READER_LINE_CONTENT *PCREADER_LINE_CONTENT;

_Use_decl_annotations_
VOID
ImageFreeDwarfLines(
    PCALLOCATOR Allocator,
    PREADER_DWARF_LINES Lines
    )
{
    if (Lines == NULL) {
        return;
    }

    ImageFreeDwarfArray(Allocator, &Lines->Folders);
    ImageFreeDwarfArray(Allocator, &Lines->Files);
    Allocator->Free(Allocator->Context, Lines->Sequences);
    Allocator->Free(Allocator->Context, Lines->Rows);
    Allocator->Free(Allocator->Context, Lines);
}

//
// Name, NameLength: its name, or NULL.
// Folder: the index of the folder that it is in.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddFile(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _Inout_ PREADER_DWARF_ARRAY Files,
    _In_reads_bytes_opt_(NameLength) const UCHAR *Name,
    _In_ ULONGLONG NameLength,
    _In_ ULONGLONG Folder
    )
{
    PREADER_DWARF_FILE File;

    if (!ImageGrowDwarfArray(Machine->Dwarf->Allocator,
                             Files,
                             sizeof(READER_DWARF_FILE),
                             1)) {
        return STATUS_NO_MEMORY;
    }

    File = (PREADER_DWARF_FILE)Files->Elements + Files->Number;
    if (NameLength <= READER_DWARF_MAXIMUM_PATH) {
        File->Name = Name;
        File->NameLength = (ULONG)NameLength;
    }
    File->Folder = Folder < READER_DWARF_NONE ? (ULONG)Folder :
                                                READER_DWARF_NONE;
    Files->Number += 1;
    return STATUS_SUCCESS;
}

//
// Reads a file or a folder as versions 2 to 4 have it.
// Cursor: the place.
// IsLast: whether this was the end of the list.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadOldFile(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _Inout_ PREADER_CURSOR Cursor,
    _In_ BOOLEAN IsFolder,
    _Out_ PBOOLEAN IsLast
    )
{
    PREADER_DWARF_LINES Lines = Machine->Lines;
    const UCHAR *Name;
    ULONGLONG Folder = 0;
    ULONGLONG Length;

    Name = ImageReadString(Cursor, &Length);
    *IsLast = (BOOLEAN)(Length == 0);
    if (Cursor->IsBad) {
        return STATUS_FILE_INVALID;
    }

    if (*IsLast) {
        return STATUS_SUCCESS;
    }

    if (!IsFolder) {
        Folder = ImageReadUleb(Cursor);
        (VOID)ImageReadUleb(Cursor);           // time
        (VOID)ImageReadUleb(Cursor);           // size
        if (Cursor->IsBad) {
            return STATUS_FILE_INVALID;
        }
    }

    return ImageAddFile(Machine,
                        IsFolder ? &Lines->Folders : &Lines->Files,
                        Name,
                        Length,
                        Folder);
}

//
// Reads a file or a folder as version 5 has it.
// Cursor: the place.
// Contents, NumberOfContents: what is said of each.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadNewFile(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _Inout_ PREADER_CURSOR Cursor,
    _In_reads_(NumberOfContents) PCREADER_LINE_CONTENT Contents,
    _In_ ULONG NumberOfContents,
    _Inout_ PREADER_DWARF_ARRAY Files
    )
{
    READER_DWARF_BYTES Strings;
    READER_DWARF_VALUE Value;
    const UCHAR *Name = NULL;
    const UCHAR *Start = Cursor->Next;
    ULONGLONG Folder = 0;
    ULONGLONG NameLength = 0;
    ULONG Index;
    ULONG Length;

    Strings.Bytes = Machine->Dwarf->LineStrings;
    Strings.SizeInBytes = Machine->Dwarf->LineStringsInBytes;

    for (Index = 0; Index < NumberOfContents; Index++) {

        Value.Value = 0;
        ImageReadForm(Cursor,
                      &Machine->Encoding,
                      Contents[Index].Form,
                      &Value);

        if (Contents[Index].Content == DW_LNCT_directory_index) {
            Folder = Value.Value;
        } else if (Contents[Index].Content != DW_LNCT_path) {
            continue;
        } else if (Value.Form == DW_FORM_string) {
            Name = Value.Bytes;
            NameLength = Value.Value;
        } else if (Value.Form == DW_FORM_line_strp) {
            Name = ImageFindString(&Strings,
                                   Value.Value,
                                   READER_DWARF_MAXIMUM_PATH + 1,
                                   &Length);
            NameLength = Length;
        }
    }

    //
    // Files that take no bytes could be without number.
    //

    if (Cursor->IsBad || Cursor->Next == Start) {
        return STATUS_FILE_INVALID;
    }

    return ImageAddFile(Machine, Files, Name, NameLength, Folder);
}

//
// Reads the files or the folders as version 5 has them.
// Cursor: the place.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadNewFiles(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _Inout_ PREADER_CURSOR Cursor,
    _Inout_ PREADER_DWARF_ARRAY Files
    )
{
    READER_LINE_CONTENT Contents[READER_MAXIMUM_CONTENTS];
    ULONGLONG Content;
    ULONGLONG Form;
    ULONGLONG Count;
    ULONG Index;
    ULONG NumberOfContents;
    NTSTATUS Status;

    NumberOfContents = (ULONG)ImageReadUnsigned(Cursor, 1);
    if (NumberOfContents > READER_MAXIMUM_CONTENTS) {
        return STATUS_FILE_INVALID;
    }

    for (Index = 0; Index < NumberOfContents; Index++) {
        Content = ImageReadUleb(Cursor);
        Form = ImageReadUleb(Cursor);
        if (ImageGetFormSize(&Machine->Encoding, Form) ==
            READER_FORM_UNKNOWN) {
            return STATUS_FILE_INVALID;
        }
        Contents[Index].Content = Content <= 0xffff ? (ULONG)Content : 0;
        Contents[Index].Form = (ULONG)Form;
    }

    Count = ImageReadUleb(Cursor);
    if (NumberOfContents == 0) {
        Count = 0;
    }

    for (; Count > 0 && !Cursor->IsBad; Count--) {
        Status = ImageReadNewFile(Machine,
                                  Cursor,
                                  Contents,
                                  NumberOfContents,
                                  Files);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return Cursor->IsBad ? STATUS_FILE_INVALID : STATUS_SUCCESS;
}

//
// Reads a line table's folders and files.
// Cursor: the place, which ends with the header.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadLineFiles(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _Inout_ PREADER_CURSOR Cursor
    )
{
    PREADER_DWARF_LINES Lines = Machine->Lines;
    BOOLEAN IsLast;
    NTSTATUS Status;
    ULONG Pass;

    if (Lines->Version >= 5) {
        Status = ImageReadNewFiles(Machine, Cursor, &Lines->Folders);
        if (NT_SUCCESS(Status)) {
            Status = ImageReadNewFiles(Machine, Cursor, &Lines->Files);
        }
        return Status;
    }

    for (Pass = 0; Pass < 2; Pass++) {
        do {
            Status = ImageReadOldFile(Machine,
                                      Cursor,
                                      (BOOLEAN)(Pass == 0),
                                      &IsLast);
        } while (NT_SUCCESS(Status) && !IsLast);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}

//
// Reads a line table's header.
// Machine: the machine; receives where the program is.
// Offset: where in .debug_line the table is, in bytes.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageReadLineHeader(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _In_ ULONG Offset
    )
{
    PREADER_DWARF Dwarf = Machine->Dwarf;
    PREADER_CURSOR Cursor = &Machine->Cursor;
    READER_CURSOR Header;
    READER_DWARF_BYTES Section;
    ULONGLONG Length;
    ULONG Operations = 1;
    ULONG Version;

    Section.Bytes = Dwarf->Line;
    Section.SizeInBytes = Dwarf->LineInBytes;
    ImageSetCursor(Cursor, &Section, Offset, Section.SizeInBytes);

    Length = ImageReadLength(Cursor, &Machine->Encoding.OffsetSize);
    if (Cursor->IsBad || Length > Dwarf->LineBudget) {
        return STATUS_FILE_INVALID;
    }

    Dwarf->LineBudget -= Length;
    Cursor->End = Cursor->Next + Length;

    Version = (ULONG)ImageReadUnsigned(Cursor, 2);
    if (Version < 2 || Version > 5) {
        return STATUS_FILE_INVALID;
    }

    Machine->Lines->Version = Version;
    Machine->Encoding.Version = (UCHAR)Version;

    if (Version >= 5 &&
        (ImageReadUnsigned(Cursor, 1) != READER_DWARF_ADDRESS_SIZE ||
         ImageReadUnsigned(Cursor, 1) != 0)) {
        return STATUS_FILE_INVALID;
    }

    Length = ImageReadUnsigned(Cursor, Machine->Encoding.OffsetSize);
    Header = *Cursor;
    ImageSkipBytes(Cursor, Length);
    if (Cursor->IsBad) {
        return STATUS_FILE_INVALID;
    }

    Header.End = Cursor->Next;
    Machine->InstructionSize = (ULONG)ImageReadUnsigned(&Header, 1);
    if (Version >= 4) {
        Operations = (ULONG)ImageReadUnsigned(&Header, 1);
    }
    (VOID)ImageReadUnsigned(&Header, 1);       // rows begin statements
    Machine->LineBase = (signed char)ImageReadUnsigned(&Header, 1);
    Machine->LineRange = (ULONG)ImageReadUnsigned(&Header, 1);
    Machine->OpcodeBase = (ULONG)ImageReadUnsigned(&Header, 1);
    Machine->OpcodeLengths = Header.Next;
    if (Machine->OpcodeBase > 0) {
        ImageSkipBytes(&Header, Machine->OpcodeBase - 1);
    }

    //
    // x64 has one operation an instruction.
    //

    if (Header.IsBad ||
        Operations > 1 ||
        Machine->LineRange == 0 ||
        Machine->OpcodeBase == 0) {
        return STATUS_FILE_INVALID;
    }

    return ImageReadLineFiles(Machine, &Header);
}

//
// Begins a sequence.
//

static
VOID
ImageResetMachine(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    Machine->Address = 0;
    Machine->File = 1;
    Machine->Line = 1;
    Machine->FirstRow = Machine->Dwarf->Rows.Number;
    Machine->StartRva = 0;
    Machine->LastRva = 0;
    Machine->HasRow = FALSE;
    Machine->IsOutside = FALSE;
}

//
// Makes a row. Of several rows at one address the last one is meant.
//

_Must_inspect_result_
static
NTSTATUS
ImageAddRow(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    PREADER_DWARF Dwarf = Machine->Dwarf;
    PREADER_DWARF_ROW Row;
    ULONGLONG Rva;

    if (Machine->IsOutside) {
        return STATUS_SUCCESS;
    }

    Rva = Machine->Address - Dwarf->ImageBase;
    if (Machine->Address < Dwarf->ImageBase ||
        Rva >= READER_DWARF_NONE ||
        (Machine->HasRow && Rva < Machine->LastRva)) {

        Machine->IsOutside = TRUE;
        Dwarf->Rows.Number = Machine->FirstRow;
        return STATUS_SUCCESS;
    }

    if (!Machine->HasRow) {
        Machine->HasRow = TRUE;
        Machine->StartRva = (ULONG)Rva;
    }

    Machine->LastRva = (ULONG)Rva;

    if (Dwarf->Rows.Number > Machine->FirstRow) {

        Row = (PREADER_DWARF_ROW)Dwarf->Rows.Elements + Dwarf->Rows.Number - 1;
        if (Row->Rva == (ULONG)Rva) {
            Row->Line = Machine->Line;
            Row->File = Machine->File;
            return STATUS_SUCCESS;
        }

        if (Row->Line == Machine->Line && Row->File == Machine->File) {
            return STATUS_SUCCESS;
        }
    }

    if (!ImageGrowDwarfArray(Dwarf->Allocator,
                             &Dwarf->Rows,
                             sizeof(READER_DWARF_ROW),
                             1)) {
        return STATUS_NO_MEMORY;
    }

    Row = (PREADER_DWARF_ROW)Dwarf->Rows.Elements + Dwarf->Rows.Number;
    Row->Rva = (ULONG)Rva;
    Row->Line = Machine->Line;
    Row->File = Machine->File;
    Dwarf->Rows.Number += 1;
    return STATUS_SUCCESS;
}

//
// Ends a sequence of rows.
// Machine: the machine, at the first address behind the sequence.
//

_Must_inspect_result_
static
NTSTATUS
ImageEndSequence(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    PREADER_DWARF Dwarf = Machine->Dwarf;
    PREADER_DWARF_PAIR Pair;
    ULONGLONG End = Machine->Address - Dwarf->ImageBase;

    //
    // A row at the very end has no code; that does not harm the others.
    //

    if (!Machine->HasRow ||
        Machine->IsOutside ||
        Machine->Address < Dwarf->ImageBase ||
        End >= READER_DWARF_NONE ||
        End < Machine->LastRva ||
        End == Machine->StartRva) {

        Dwarf->Rows.Number = Machine->FirstRow;
        ImageResetMachine(Machine);
        return STATUS_SUCCESS;
    }

    if (!ImageGrowDwarfArray(Dwarf->Allocator,
                             &Dwarf->Sequences,
                             sizeof(READER_DWARF_PAIR),
                             1)) {
        return STATUS_NO_MEMORY;
    }

    Pair = (PREADER_DWARF_PAIR)Dwarf->Sequences.Elements +
           Dwarf->Sequences.Number;
    Pair->Key = ((ULONGLONG)Machine->StartRva << 32) | End;
    Pair->Value = ((ULONGLONG)Machine->FirstRow << 32) |
                  (Dwarf->Rows.Number - Machine->FirstRow);
    Dwarf->Sequences.Number += 1;
    ImageResetMachine(Machine);
    return STATUS_SUCCESS;
}

//
// Runs an extended instruction: a size, an opcode, and operands.
// Machine: the machine, behind the zero that such instructions begin with.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageRunExtended(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    PREADER_CURSOR Cursor = &Machine->Cursor;
    READER_CURSOR Operands;
    ULONGLONG Length;
    BOOLEAN IsLast;

    Length = ImageReadUleb(Cursor);
    Operands = *Cursor;
    ImageSkipBytes(Cursor, Length);
    if (Cursor->IsBad) {
        return STATUS_FILE_INVALID;
    }

    if (Length == 0) {
        return STATUS_SUCCESS;
    }

    Operands.End = Cursor->Next;

    switch (ImageReadUnsigned(&Operands, 1)) {

    case DW_LNE_end_sequence:
        return ImageEndSequence(Machine);

    case DW_LNE_set_address:
        if (Length - 1 != READER_DWARF_ADDRESS_SIZE) {
            return STATUS_FILE_INVALID;
        }
        Machine->Address = ImageReadUnsigned(&Operands,
                                             READER_DWARF_ADDRESS_SIZE);
        return STATUS_SUCCESS;

    case DW_LNE_define_file:
        return ImageReadOldFile(Machine, &Operands, FALSE, &IsLast);

    default:
        return STATUS_SUCCESS;
    }
}

//
// Runs a standard instruction.
// Opcode: the instruction, below the base of the special ones.
//

_Must_inspect_result_
static
NTSTATUS
ImageRunStandard(
    _Inout_ PREADER_LINE_MACHINE Machine,
    _In_ ULONG Opcode
    )
{
    PREADER_CURSOR Cursor = &Machine->Cursor;
    ULONGLONG File;
    ULONG Count;

    switch (Opcode) {

    case DW_LNS_copy:
        return ImageAddRow(Machine);

    case DW_LNS_advance_pc:
        Machine->Address += ImageReadUleb(Cursor) * Machine->InstructionSize;
        break;

    case DW_LNS_advance_line:
        Machine->Line += (ULONG)ImageReadSleb(Cursor);
        break;

    case DW_LNS_set_file:
        File = ImageReadUleb(Cursor);
        Machine->File = File < READER_DWARF_NONE ? (ULONG)File :
                                                   READER_DWARF_NONE;
        break;

    case DW_LNS_set_column:
    case DW_LNS_set_isa:
        (VOID)ImageReadUleb(Cursor);
        break;

    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;

    case DW_LNS_const_add_pc:
        Machine->Address += (ULONGLONG)((255 - Machine->OpcodeBase) /
                                        Machine->LineRange) *
                            Machine->InstructionSize;
        break;

    case DW_LNS_fixed_advance_pc:
        Machine->Address += ImageReadUnsigned(Cursor, 2);
        break;

    default:
        for (Count = Machine->OpcodeLengths[Opcode - 1];
             Count > 0 && !Cursor->IsBad;
             Count--) {
            (VOID)ImageReadUleb(Cursor);
        }
        break;
    }

    return STATUS_SUCCESS;
}

//
// Runs a line table's program. Every turn reads at least one byte.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_FILE_INVALID.
//

_Must_inspect_result_
static
NTSTATUS
ImageRunMachine(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    PREADER_CURSOR Cursor = &Machine->Cursor;
    ULONG Opcode;
    NTSTATUS Status;

    ImageResetMachine(Machine);

    while (Cursor->Next != Cursor->End) {

        Opcode = (ULONG)ImageReadUnsigned(Cursor, 1);

        if (Opcode >= Machine->OpcodeBase) {
            Opcode -= Machine->OpcodeBase;
            Machine->Address += (ULONGLONG)(Opcode / Machine->LineRange) *
                                Machine->InstructionSize;
            Machine->Line += (ULONG)(Machine->LineBase +
                                     (LONG)(Opcode % Machine->LineRange));
            Status = ImageAddRow(Machine);
        } else if (Opcode == 0) {
            Status = ImageRunExtended(Machine);
        } else {
            Status = ImageRunStandard(Machine, Opcode);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Cursor->IsBad) {
            return STATUS_FILE_INVALID;
        }
    }

    //
    // A sequence that does not end has no rows.
    //

    Machine->Dwarf->Rows.Number = Machine->FirstRow;
    return STATUS_SUCCESS;
}

//
// Keeps the rows and the sequences that the machine has made.
//

_Must_inspect_result_
static
NTSTATUS
ImageKeepRows(
    _Inout_ PREADER_LINE_MACHINE Machine
    )
{
    PREADER_DWARF Dwarf = Machine->Dwarf;
    PREADER_DWARF_LINES Lines = Machine->Lines;
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PCREADER_DWARF_PAIR Pairs;
    PCREADER_DWARF_ROW Rows;
    ULONG Index;

    if (Dwarf->Sequences.Number == 0) {
        return STATUS_SUCCESS;
    }

    Lines->Rows = (PREADER_DWARF_ROW)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Dwarf->Rows.Number * sizeof(READER_DWARF_ROW));
    Lines->Sequences = (PREADER_DWARF_PAIR)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Dwarf->Sequences.Number * sizeof(READER_DWARF_PAIR));
    if (Lines->Rows == NULL || Lines->Sequences == NULL) {
        return STATUS_NO_MEMORY;
    }

    Rows = (PCREADER_DWARF_ROW)Dwarf->Rows.Elements;
    for (Index = 0; Index < Dwarf->Rows.Number; Index++) {
        Lines->Rows[Index] = Rows[Index];
    }

    Pairs = (PCREADER_DWARF_PAIR)Dwarf->Sequences.Elements;
    for (Index = 0; Index < Dwarf->Sequences.Number; Index++) {
        Lines->Sequences[Index] = Pairs[Index];
    }

    Lines->NumberOfSequences = Dwarf->Sequences.Number;
    ImageSortDwarfPairs(Lines->Sequences, Lines->NumberOfSequences);
    return STATUS_SUCCESS;
}

//
// Decodes a unit's line table, once.
// Dwarf: the information.
// Unit: the unit; receives the table, if it can be read.
//

static
VOID
ImageDecodeLines(
    _Inout_ PREADER_DWARF Dwarf,
    _Inout_ PREADER_DWARF_UNIT Unit
    )
{
    static const READER_LINE_MACHINE EmptyMachine = { 0 };
    PCALLOCATOR Allocator = Dwarf->Allocator;
    READER_LINE_MACHINE Machine;
    NTSTATUS Status;

    Unit->IsTried = TRUE;
    if (!Unit->HasLines || Dwarf->Line == NULL) {
        return;
    }

    Machine = EmptyMachine;
    Machine.Dwarf = Dwarf;
    Machine.Lines = (PREADER_DWARF_LINES)Allocator->Allocate(
        Allocator->Context,
        sizeof(READER_DWARF_LINES));
    if (Machine.Lines == NULL) {
        Dwarf->NumberOfBadLines += 1;
        return;
    }

    Dwarf->Rows.Number = 0;
    Dwarf->Sequences.Number = 0;

    Status = ImageReadLineHeader(&Machine, Unit->LinesOffset);
    if (NT_SUCCESS(Status)) {
        Status = ImageRunMachine(&Machine);
    }
    if (NT_SUCCESS(Status)) {
        Status = ImageKeepRows(&Machine);
    }

    if (!NT_SUCCESS(Status)) {
        Dwarf->NumberOfBadLines += 1;
        ImageFreeDwarfLines(Allocator, Machine.Lines);
        return;
    }

    Unit->Lines = Machine.Lines;
}

//
// Says whether a path is absolute, on Windows or elsewhere: images are
// compiled on both.
//

static
BOOLEAN
ImageIsAbsolutePath(
    _In_reads_bytes_(LengthInBytes) const UCHAR *Path,
    _In_ ULONG LengthInBytes
    )
{
    if (LengthInBytes >= 1 && Path[0] == '/') {
        return TRUE;
    }

    if (LengthInBytes >= 3 &&
        ((Path[0] | 0x20) >= 'a' && (Path[0] | 0x20) <= 'z') &&
        Path[1] == ':' &&
        (Path[2] == '/' || Path[2] == '\\')) {
        return TRUE;
    }

    return (BOOLEAN)(LengthInBytes >= 3 &&
                     Path[0] == '\\' &&
                     Path[1] == '\\');
}

//
// Appends a folder or a file to a path, with one separator between: the
// backslash if the path has nothing else.
// Name, LengthInBytes: what to append; nothing may be.
// Returns FALSE if it does not fit.
//

static
BOOLEAN
ImageAppendName(
    _Inout_updates_(READER_DWARF_MAXIMUM_PATH + 1) PUCHAR Path,
    _Inout_ PULONG PathLength,
    _In_reads_bytes_opt_(LengthInBytes) const UCHAR *Name,
    _In_ ULONG LengthInBytes
    )
{
    UCHAR Separator = 0;
    ULONG Index;

    if (LengthInBytes == 0 || Name == NULL) {
        return TRUE;
    }

    if (LengthInBytes > READER_DWARF_MAXIMUM_PATH - 1 - *PathLength) {
        return FALSE;
    }

    if (*PathLength > 0) {

        for (Index = 0; Index < *PathLength && Separator != '/'; Index++) {
            if (Path[Index] == '/' || Path[Index] == '\\') {
                Separator = Path[Index];
            }
        }
        if (Separator == 0) {
            Separator = '/';
        }

        if (Path[*PathLength - 1] == '/' || Path[*PathLength - 1] == '\\') {
            while (LengthInBytes > 0 && *Name == '/') {
                Name += 1;
                LengthInBytes -= 1;
            }
        } else if (*Name != '/') {
            Path[*PathLength] = Separator;
            *PathLength += 1;
        }
    }

    for (Index = 0; Index < LengthInBytes; Index++) {
        Path[*PathLength + Index] = Name[Index];
    }

    *PathLength += LengthInBytes;
    return TRUE;
}

//
// Keeps a path for as long as the information.
// Returns the copy, terminated, or NULL if there is no memory or too much is
// kept.
//

static
_Ret_maybenull_
PCHAR
ImageKeepPath(
    _Inout_ PREADER_DWARF Dwarf,
    _In_reads_bytes_(LengthInBytes) const UCHAR *Path,
    _In_ ULONG LengthInBytes
    )
{
    PCALLOCATOR Allocator = Dwarf->Allocator;
    PREADER_DWARF_CHUNK Chunk = Dwarf->Chunks;
    PCHAR Kept;

    if (Dwarf->PathsInBytes + LengthInBytes + 1 > READER_DWARF_MAXIMUM_PATHS) {
        return NULL;
    }

    if (Chunk == NULL ||
        Chunk->CapacityInBytes - Chunk->UsedInBytes < LengthInBytes + 1) {

        Chunk = (PREADER_DWARF_CHUNK)Allocator->Allocate(
            Allocator->Context,
            sizeof(*Chunk) + READER_PATH_CHUNK_SIZE);
        if (Chunk == NULL) {
            return NULL;
        }
        Chunk->CapacityInBytes = READER_PATH_CHUNK_SIZE;
        Chunk->Next = Dwarf->Chunks;
        Dwarf->Chunks = Chunk;
    }

    Kept = (PCHAR)(Chunk + 1) + Chunk->UsedInBytes;
    ImageCopyPrintable(Kept, Path, LengthInBytes);
    Chunk->UsedInBytes += LengthInBytes + 1;
    Dwarf->PathsInBytes += LengthInBytes + 1;
    return Kept;
}

//
// Makes the path of a source file: below its folder, below the folder of the
// compilation.
// Dwarf: the information.
// Returns FALSE if it has none.
//

static
DECLSPEC_NOINLINE
BOOLEAN
ImageMakePath(
    _Inout_ PREADER_DWARF Dwarf,
    _In_ const READER_DWARF_UNIT *Unit,
    _Inout_ PREADER_DWARF_FILE File
    )
{
    PREADER_DWARF_LINES Lines = Unit->Lines;
    PCREADER_DWARF_FILE Folder = NULL;
    PUCHAR Path = Dwarf->Path;
    ULONG Index = File->Folder;
    ULONG Length = 0;

    if (File->Name == NULL || File->NameLength == 0) {
        return FALSE;
    }

    //
    // Before version 5 folders are numbered from 1, and 0 is that of the
    // compilation, which 5 has in the list.
    //

    if (!ImageIsAbsolutePath(File->Name, File->NameLength)) {

        if (Lines->Version < 5) {
            Index -= 1;
        }
        if (Index < Lines->Folders.Number) {
            Folder = (PCREADER_DWARF_FILE)Lines->Folders.Elements + Index;
        }

        if ((Lines->Version < 5 || Index != 0) &&
            Unit->FolderLength != 0 &&
            (Folder == NULL ||
             Folder->Name == NULL ||
             !ImageIsAbsolutePath(Folder->Name, Folder->NameLength)) &&
            !ImageAppendName(Path,
                             &Length,
                             (PUCHAR)Dwarf->Names.Elements +
                                  Unit->FolderOffset,
                             Unit->FolderLength)) {
            return FALSE;
        }

        if (Folder != NULL &&
            !ImageAppendName(Path,
                             &Length,
                             Folder->Name,
                             Folder->NameLength)) {
            return FALSE;
        }
    }

    if (!ImageAppendName(Path, &Length, File->Name, File->NameLength)) {
        return FALSE;
    }

    File->Path = ImageKeepPath(Dwarf, Path, Length);
    File->PathLength = Length;
    return (BOOLEAN)(File->Path != NULL);
}

_Use_decl_annotations_
BOOLEAN
ImageFindDwarfLine(
    PREADER_DWARF Dwarf,
    ULONG Rva,
    PULONG LineNumber,
    PCSZ *FileName,
    PULONG FileNameInBytes
    )
{
    PREADER_DWARF_FILE File;
    PREADER_DWARF_LINES Lines;
    PCREADER_DWARF_PAIR Pair;
    PCREADER_DWARF_ROW Rows;
    PREADER_DWARF_UNIT Unit;
    ULONG First = 0;
    ULONG Index;
    ULONG Last;
    ULONG Middle;

    //
    // The unit is that of the function, or, where there is none (assembly),
    // that which has the code.
    //

    Pair = ImageFindDwarfPair((PCREADER_DWARF_PAIR)Dwarf->Ranges.Elements,
                              Dwarf->Ranges.Number,
                              Rva);
    if (Pair != NULL) {
        Index = (ULONG)(Pair->Value >> 32);
    } else {
        Pair = ImageFindDwarfPair(
            (PCREADER_DWARF_PAIR)Dwarf->UnitRanges.Elements,
            Dwarf->UnitRanges.Number,
            Rva);
        if (Pair == NULL) {
            return FALSE;
        }
        Index = (ULONG)Pair->Value;
    }

    Unit = (PREADER_DWARF_UNIT)Dwarf->Units.Elements + Index;
    if (!Unit->IsTried) {
        ImageDecodeLines(Dwarf, Unit);
    }

    Lines = Unit->Lines;
    if (Lines == NULL) {
        return FALSE;
    }

    Pair = ImageFindDwarfPair(Lines->Sequences,
                              Lines->NumberOfSequences,
                              Rva);
    if (Pair == NULL) {
        return FALSE;
    }

    //
    // The last row at or below the address: a sequence begins with one.
    //

    Rows = Lines->Rows + (ULONG)(Pair->Value >> 32);
    Last = (ULONG)Pair->Value;
    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (Rows[Middle].Rva <= Rva) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    if (First == 0 || Rows[First - 1].Line == 0) {
        return FALSE;
    }

    Index = Rows[First - 1].File;
    if (Lines->Version < 5) {
        Index -= 1;
    }
    if (Index >= Lines->Files.Number) {
        return FALSE;
    }

    File = (PREADER_DWARF_FILE)Lines->Files.Elements + Index;
    if (File->Path == NULL && !ImageMakePath(Dwarf, Unit, File)) {
        return FALSE;
    }

    *LineNumber = Rows[First - 1].Line;
    *FileName = File->Path;
    *FileNameInBytes = File->PathLength;
    return TRUE;
}

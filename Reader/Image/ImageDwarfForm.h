/*++

Module Name:

    ImageDwarfForm.h

Abstract:

    What the readers of DWARF's sections share: a cursor that never leaves its
    bytes, the forms that values are written in, arrays that grow and the
    order of ranges.  Section and form numbers are those of "DWARF Debugging
    Information Format Version 5", sections 7.5.6 and 7.22.

--*/

#ifndef TRACER_IMAGE_DWARF_FORM_H
#define TRACER_IMAGE_DWARF_FORM_H

#include "ImageDwarf.h"

#define DW_FORM_addr            0x01
#define DW_FORM_block2          0x03
#define DW_FORM_block4          0x04
#define DW_FORM_data2           0x05
#define DW_FORM_data4           0x06
#define DW_FORM_data8           0x07
#define DW_FORM_string          0x08
#define DW_FORM_block           0x09
#define DW_FORM_block1          0x0a
#define DW_FORM_data1           0x0b
#define DW_FORM_flag            0x0c
#define DW_FORM_sdata           0x0d
#define DW_FORM_strp            0x0e
#define DW_FORM_udata           0x0f
#define DW_FORM_ref_addr        0x10
#define DW_FORM_ref1            0x11
#define DW_FORM_ref2            0x12
#define DW_FORM_ref4            0x13
#define DW_FORM_ref8            0x14
#define DW_FORM_ref_udata       0x15
#define DW_FORM_sec_offset      0x17
#define DW_FORM_exprloc         0x18
#define DW_FORM_flag_present    0x19
#define DW_FORM_strx            0x1a
#define DW_FORM_addrx           0x1b
#define DW_FORM_ref_sup4        0x1c
#define DW_FORM_strp_sup        0x1d
#define DW_FORM_data16          0x1e
#define DW_FORM_line_strp       0x1f
#define DW_FORM_ref_sig8        0x20
#define DW_FORM_implicit_const  0x21
#define DW_FORM_loclistx        0x22
#define DW_FORM_rnglistx        0x23
#define DW_FORM_ref_sup8        0x24
#define DW_FORM_strx1           0x25
#define DW_FORM_strx2           0x26
#define DW_FORM_strx3           0x27
#define DW_FORM_strx4           0x28
#define DW_FORM_addrx1          0x29
#define DW_FORM_addrx2          0x2a
#define DW_FORM_addrx3          0x2b
#define DW_FORM_addrx4          0x2c
#define DW_FORM_GNU_addr_index  0x1f01
#define DW_FORM_GNU_str_index   0x1f02
#define DW_FORM_GNU_ref_alt     0x1f20
#define DW_FORM_GNU_strp_alt    0x1f21

#define READER_DWARF_ADDRESS_SIZE 8
#define READER_DWARF_NONE 0xffffffffu

//
// Where reading is.  A read that would go beyond End gives 0, makes IsBad TRUE
// and leaves Next at End, so that loops that read end.
//

typedef struct _READER_CURSOR {
    const UCHAR *Next;
    const UCHAR *End;
    BOOLEAN IsBad;
} READER_CURSOR;
typedef READER_CURSOR *PREADER_CURSOR;

//
// A section's bytes.
//

typedef struct _READER_DWARF_BYTES {
    const UCHAR *Bytes;
    ULONG SizeInBytes;
} READER_DWARF_BYTES;
typedef READER_DWARF_BYTES *PREADER_DWARF_BYTES;
typedef const READER_DWARF_BYTES *PCREADER_DWARF_BYTES;

//
// How a unit writes its values.
//

typedef struct _READER_DWARF_ENCODING {
    UCHAR Version;
    UCHAR OffsetSize;               // 4 or 8 bytes
} READER_DWARF_ENCODING;
typedef const READER_DWARF_ENCODING *PCREADER_DWARF_ENCODING;

//
// A value.  For DW_FORM_string and blocks Bytes is where they begin and Value
// is their size, without a string's terminator.
//

typedef struct _READER_DWARF_VALUE {
    ULONGLONG Value;
    const UCHAR *Bytes;
    ULONG Form;
    ULONG Unused;
} READER_DWARF_VALUE;
typedef READER_DWARF_VALUE *PREADER_DWARF_VALUE;
typedef const READER_DWARF_VALUE *PCREADER_DWARF_VALUE;

//
// The sizes of forms that have none: READER_FORM_VARIABLE says that it is in
// the data, READER_FORM_UNKNOWN that the form is not known.
//

#define READER_FORM_VARIABLE 0x100
#define READER_FORM_UNKNOWN 0x200

//
// Begins to read in a section.
// Cursor: the place.
// Offset: where to begin, in bytes.
// End: where to end. What is behind the section's end is cut.
// The cursor is bad if Offset is not in the section.
//

VOID
ImageSetCursor(
    _Out_ PREADER_CURSOR Cursor,
    _In_ PCREADER_DWARF_BYTES Section,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG End
    );

//
// Reads a little-endian number.
// Cursor: the place.
// SizeInBytes: its size, at most 8.
// Returns the number, or 0 if it is not there.
//

ULONGLONG
ImageReadUnsigned(
    _Inout_ PREADER_CURSOR Cursor,
    _In_ ULONG SizeInBytes
    );

typedef ULONGLONG (READER_READ_LEB128)(
    _Inout_ PREADER_CURSOR Cursor
    );

//
// Reads an unsigned number of variable length.
// Cursor: the place.
// Returns the low 64 bits of the number, or 0 if it is not there.
//

READER_READ_LEB128 ImageReadUleb;

//
// Reads a signed number of variable length.
// Cursor: the place.
// Returns the low 64 bits of the number, or 0 if it is not there.
//

READER_READ_LEB128 ImageReadSleb;

//
// Passes over bytes.
// Cursor: the place.
// SizeInBytes: how many.
//

VOID
ImageSkipBytes(
    _Inout_ PREADER_CURSOR Cursor,
    _In_ ULONGLONG SizeInBytes
    );

//
// Reads a string up to and with its terminator, which must be there.
// Cursor: the place.
// LengthInBytes: the string's length, 0 on failure.
// Returns its first byte, or NULL if it does not end.
//

_Ret_maybenull_
const UCHAR *
ImageReadString(
    _Inout_ PREADER_CURSOR Cursor,
    _Out_ PULONGLONG LengthInBytes
    );

//
// Reads the length that units and line tables begin with: all ones means that
// offsets have 8 bytes.  0 if what follows is not all there.
// Cursor: the place.
//

ULONGLONG
ImageReadLength(
    _Inout_ PREADER_CURSOR Cursor,
    _Out_ UCHAR *OffsetSize
    );

//
// Says how large values of a form are.
// Encoding: how the unit writes its values.
// Returns the size in bytes, READER_FORM_VARIABLE or READER_FORM_UNKNOWN.
//

ULONG
ImageGetFormSize(
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _In_ ULONGLONG Form
    );

//
// Reads a value.  One of an unknown form is bad.  DW_FORM_implicit_const is
// not in the data: its value is left alone.
// Cursor: the place.
// Encoding: how the unit writes its values.
//

VOID
ImageReadForm(
    _Inout_ PREADER_CURSOR Cursor,
    _In_ PCREADER_DWARF_ENCODING Encoding,
    _In_ ULONG Form,
    _Inout_ PREADER_DWARF_VALUE Value
    );

//
// Finds a string in a section.  NULL if its offset or its end is not in it.
// LimitInBytes: how much of it is wanted; what is longer is cut.
// LengthInBytes: its length, 0 on failure.
// Returns its first byte, or NULL.
//

_Ret_maybenull_
const UCHAR *
ImageFindString(
    _In_ PCREADER_DWARF_BYTES Section,
    _In_ ULONGLONG Offset,
    _In_ ULONG LimitInBytes,
    _Out_ PULONG LengthInBytes
    );

//
// Makes room for so many more elements; what is new is zero.  FALSE if there
// is no memory.
// ElementInBytes: the size of an element.
// Number: how many elements are to be added.
//

_Must_inspect_result_
BOOLEAN
ImageGrowDwarfArray(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_DWARF_ARRAY Array,
    _In_ ULONG ElementInBytes,
    _In_ ULONG Number
    );

//
// Frees an array, which is empty afterwards.
// Allocator: what it was allocated from.
//

VOID
ImageFreeDwarfArray(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_DWARF_ARRAY Array
    );

//
// Sorts pairs: in place, without recursion, and no order of the input is slow.
// Number: how many there are.
//

VOID
ImageSortDwarfPairs(
    _Inout_updates_(Number) PREADER_DWARF_PAIR Pairs,
    _In_ ULONG Number
    );

//
// Finds, in sorted pairs, the range with the nearest start at or below Rva
// that holds it, or NULL. Of ranges that overlap only the nearest few are
// looked at.
// Number: how many there are.
//

_Ret_maybenull_
PCREADER_DWARF_PAIR
ImageFindDwarfPair(
    _In_reads_(Number) PCREADER_DWARF_PAIR Pairs,
    _In_ ULONG Number,
    _In_ ULONG Rva
    );

//
// Frees the line tables.
// Allocator: what it was allocated from.
//

VOID
ImageFreeDwarfLines(
    _In_ PCALLOCATOR Allocator,
    _In_opt_ PREADER_DWARF_LINES Lines
    );

struct _READER_DWARF_CHUNK {
    PREADER_DWARF_CHUNK Next;
    ULONG CapacityInBytes;          // of what follows the structure
    ULONG UsedInBytes;
};

#define READER_DWARF_START(Pair) ((ULONG)((Pair)->Key >> 32))
#define READER_DWARF_END(Pair) ((ULONG)(Pair)->Key)

#endif // TRACER_IMAGE_DWARF_FORM_H

/*++

Module Name:

    ViewLevels.h

Abstract:

    A thread's calls as boxes, in levels, each coarser than the one before: a
    call that takes as long as a level's resolution is a box of its own there,
    and what is shorter is put together, by where it begins.

--*/

#ifndef TRACER_VIEW_LEVELS_H
#define TRACER_VIEW_LEVELS_H

#include "../Base/BaseContext.h"

#define READER_BOX_ABANDONED    0x01    // ended without an exit
#define READER_BOX_OPEN         0x02    // at the end of the records
#define READER_BOX_WAITS        0x04    // of a function that waits
#define READER_BOX_SUMMARY      0x08    // several calls
#define READER_BOX_UNKNOWN      0x10    // not read yet
#define READER_BOX_LOST         0x20    // records are missing here

#define READER_LEVEL_FACTOR_BITS 3u
#define READER_LEVEL_FACTOR (1u << READER_LEVEL_FACTOR_BITS)
#define READER_MAXIMUM_LEVELS 20u
#define READER_SUMMARY_FUNCTIONS 8u

//
// A call, or several of one row that follow each other.
//

typedef struct _READER_BOX {
    ULONGLONG Start;                // time stamps
    ULONGLONG Stop;
    ULONGLONG Covered;              // ticks between them in which a call of
                                    // the row is open
    ULONG Function;                 // the one with the most of these
    ULONG Calls;
    USHORT Flags;                   // READER_BOX_*
    USHORT Caller;                  // of one call of an import: the module that
                                    // called, index + 1 in Imported; 0: it is
                                    // not known
    ULONG Unused;
} READER_BOX;
typedef READER_BOX *PREADER_BOX;
typedef const READER_BOX *PCREADER_BOX;

//
// Boxes that are being put together.
//

typedef struct _READER_SUMMARY {
    READER_BOX Box;                 // Calls 0: there are none
    ULONGLONG Bucket;
    ULONG NumberOfFunctions;
    ULONG Functions[READER_SUMMARY_FUNCTIONS];
    ULONGLONG Ticks[READER_SUMMARY_FUNCTIONS];
} READER_SUMMARY;
typedef READER_SUMMARY *PREADER_SUMMARY;

//
// The boxes of a depth on a stack, in the order of time: no two overlap.
//

typedef struct _READER_BOX_ROW {
    PREADER_BOX Boxes;
    ULONG NumberOfBoxes;
    ULONG Capacity;
    READER_SUMMARY Open;            // what comes next
} READER_BOX_ROW;
typedef READER_BOX_ROW *PREADER_BOX_ROW;
typedef const READER_BOX_ROW *PCREADER_BOX_ROW;

typedef struct _READER_LEVEL {
    ULONGLONG Resolution;           // ticks; 0: every call is a box
    PREADER_BOX_ROW Rows;
    ULONG NumberOfRows;
    ULONG Capacity;
    ULONGLONG NumberOfBoxes;
} READER_LEVEL;
typedef READER_LEVEL *PREADER_LEVEL;
typedef const READER_LEVEL *PCREADER_LEVEL;

typedef struct _READER_LEVELS {
    PCALLOCATOR Allocator;
    ULONG NumberOfLevels;
    ULONG FirstLevel;               // those before were given up for room
    ULONGLONG MaximumBoxes;
    READER_LEVEL Levels[READER_MAXIMUM_LEVELS];
} READER_LEVELS;
typedef READER_LEVELS *PREADER_LEVELS;
typedef const READER_LEVELS *PCREADER_LEVELS;

//
// Makes levels, as many as it takes from a resolution up to a length of time.
// MaximumBoxes: of all levels; where there are more the finest level goes.
//

VOID
ViewInitializeLevels(
    _Out_ PREADER_LEVELS Levels,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONGLONG Resolution,
    _In_ ULONGLONG Length,
    _In_ ULONGLONG MaximumBoxes
    );

//
// The same with as many levels as are said, for boxes that were in the finest
// one before.
//

VOID
ViewInitializeLevelsOf(
    _Out_ PREADER_LEVELS Levels,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONGLONG Resolution,
    _In_ ULONG NumberOfLevels
    );

//
// Puts a box that has been in the finest level back there, behind those that a
// row has, and so into the others.  STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
ViewAddDoneBox(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Row,
    _In_ PCREADER_BOX Box
    );

VOID
ViewRundownLevels(
    _Inout_ PREADER_LEVELS Levels
    );

//
// Adds a box to a row, behind those that it has.  STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
ViewAddBox(
    _Inout_ PREADER_LEVELS Levels,
    _In_ ULONG Row,
    _In_ PCREADER_BOX Box
    );

//
// Ends what is being put together.
//

_Must_inspect_result_
NTSTATUS
ViewFlushLevels(
    _Inout_ PREADER_LEVELS Levels
    );

//
// The coarsest level that is not coarser than a resolution, or the finest.
//

PCREADER_LEVEL
ViewChooseLevel(
    _In_ PCREADER_LEVELS Levels,
    _In_ ULONGLONG Resolution
    );

//
// The first of a row's boxes that does not end before a time.
//

ULONG
ViewFindBox(
    _In_ PCREADER_BOX_ROW Row,
    _In_ ULONGLONG Timestamp
    );

//
// Adds the boxes of a level that have a part of a range to other levels.
// MaximumRows: rows from there on are left out.
//

_Must_inspect_result_
NTSTATUS
ViewCopyBoxes(
    _In_ PCREADER_LEVEL Level,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_ ULONG MaximumRows,
    _Inout_ PREADER_LEVELS To
    );

#endif // TRACER_VIEW_LEVELS_H

/*++

Module Name:

    ExportParquet.h

Abstract:

    What the export to Parquet files and to datasets of them share.

--*/

#ifndef TRACER_EXPORT_PARQUET_H
#define TRACER_EXPORT_PARQUET_H

#include "../Calls/CallRead.h"
#include "../Functions/FunctionFilter.h"
#include "../Sums/SumTally.h"
#include "Export.h"
#include "ExportTable.h"

//
// The tables; --tables has them as bits.
//

typedef enum _READER_PARQUET_TABLE {
    ReaderParquetFunctions = 0,
    ReaderParquetCalls,
    ReaderParquetMarks,
    ReaderParquetTables
} READER_PARQUET_TABLE;

extern const PCSZ ReaderParquetTableNames[ReaderParquetTables];

#define READER_HOST_SIZE 256u

//
// What a process is known by.
//

#define READER_IDENTITY_SIZE 48u    // bytes of Name

typedef struct _READER_IDENTITY {
    ULONGLONG SystemTime;           // when its first store was created, or it
                                    // was cleared last (FILETIME); 0: not known
    CHAR Name[READER_IDENTITY_SIZE];    // "20261126T140322123456Z-4712"
    ULONG NameLength;               // bytes
} READER_IDENTITY;
typedef READER_IDENTITY *PREADER_IDENTITY;
typedef const READER_IDENTITY *PCREADER_IDENTITY;

//
// The columns of the tables.
//

typedef enum _READER_PARQUET_COLUMN {
    ReaderCellSession = 0,
    ReaderCellHost,
    ReaderCellProgram,
    ReaderCellProcess,
    ReaderCellBegun,
    ReaderCellThread,
    ReaderFirstCells
} READER_PARQUET_COLUMN;

typedef enum _READER_CALLS_COLUMN {
    ReaderCallsFunction = ReaderFirstCells,
    ReaderCallsModule,
    ReaderCallsBuild,
    ReaderCallsEnded,
    ReaderCallsStart,
    ReaderCallsDuration,
    ReaderCallsDepth,
    ReaderCallsColumnCount
} READER_CALLS_COLUMN;

typedef enum _READER_FUNCTIONS_COLUMN {
    ReaderFunctionsFunction = ReaderFirstCells,
    ReaderFunctionsModule,
    ReaderFunctionsBuild,
    ReaderFunctionsThreadName,
    ReaderFunctionsCalls,
    ReaderFunctionsTotal,
    ReaderFunctionsSelf,
    ReaderFunctionsSum,
    ReaderFunctionsMinimum,
    ReaderFunctionsMaximum,
    ReaderFunctionsAbandoned,
    ReaderFunctionsAbandonedTime,
    ReaderFunctionsUnfinished,
    ReaderFunctionsUncertain,
    ReaderFunctionsInTrees,
    ReaderFunctionsWaited,
    ReaderFunctionsBucket,
    ReaderFunctionsBucketCalls,
    ReaderFunctionsColumnCount
} READER_FUNCTIONS_COLUMN;

typedef enum _READER_MARKS_COLUMN {
    ReaderMarksName = ReaderFirstCells,
    ReaderMarksTime,
    ReaderMarksColumnCount
} READER_MARKS_COLUMN;

//
// How a call ended: the keys of its column.
//

#define READER_RETURNED   0u
#define READER_ABANDONED  1u
#define READER_UNFINISHED 2u

//
// Ticks to nanoseconds, rounded down, by a multiplication: Factor is 2^Shift
// times the ratio, rounded down, and what comes out is at most one too small.
//

typedef struct _READER_RATIO {
    ULONGLONG Ticks;
    ULONGLONG Nanoseconds;
    ULONGLONG Factor;
    ULONG Shift;
} READER_RATIO;
typedef READER_RATIO *PREADER_RATIO;
typedef const READER_RATIO *PCREADER_RATIO;

typedef struct _READER_PARQUET {
    PREADER_EXPORT Export;
    READER_CELL_TABLE Tables[ReaderParquetTables];
    BOOLEAN IsOpen[ReaderParquetTables];
    ULONG Selected;                 // tables, a bit each
    READER_READING Reading;
    PREADER_TALLY Tally;
    CORE_ENDED_LIST Ended;
    READER_RATIO Ratio;
    BOOLEAN HasVectors;             // see ExportVectors.h
    ULONG Process;                  // that is read, or READER_NONE: all
    ULONG Thread;                   // that is read
    PREADER_IDENTITY Identities;    // by process
    PULONG ModuleKeys;              // by the tally's functions
    PBOOLEAN AreShown;              // likewise
    ULONG CapacityOfModuleKeys;
    ULONG CapacityOfShown;
    ULONG NumberOfKeys;             // in both
    BOOLEAN IsFiltered;             // some are not shown
    LONGLONG Begun;                 // microseconds since 1970
    CHAR Host[READER_HOST_SIZE];
    CHAR Build[32];                 // of the module that was asked for last
    ULONG HostLength;
    PWSTR Path[ReaderParquetTables];
    PCHAR PathUtf8[ReaderParquetTables];
    ULONGLONG NumberOfCalls;
    ULONGLONG NumberOfRows[ReaderParquetTables];
    ULONGLONG NumberOfBytes;
    ULONG NumberOfFiles;
    READER_NOT_SHOWN NotShown;
} READER_PARQUET;
typedef READER_PARQUET *PREADER_PARQUET;

//
// ExportCells.c: what cells are.
//

extern const READER_CELL_COLUMN ReaderCallsColumns[ReaderCallsColumnCount];
extern const READER_CELL_COLUMN
    ReaderFunctionsColumns[ReaderFunctionsColumnCount];
extern const READER_CELL_COLUMN ReaderMarksColumns[ReaderMarksColumnCount];

READER_CELL_ROUTINE ExportCellsNameCall;
READER_CELL_ROUTINE ExportCellsNameFunction;
READER_CELL_ROUTINE ExportCellsNameMark;

//
// Tells what the keys of functions, which are indexes in the tally, stand for.
//

PCREADER_FUNCTION
ExportCellsFindFunction(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONG Key
    );

//
// A module's key: of the session's, or of those that have imported functions.
//

ULONG
ExportCellsKeyModule(
    _In_ PCREADER_FUNCTION Function
    );

//
// Makes the ratio of a clock with a rate, and converts by it.
//

VOID
ExportCellsBeginRatio(
    _Out_ PREADER_RATIO Ratio,
    _In_ PCCORE_CLOCK Clock
    );

CORE_INLINE
ULONGLONG
ExportCellsMultiply(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second,
    _Out_ PULONGLONG Low
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    ULONGLONG High;

    *Low = _umul128(First, Second, &High);
    return High;

#else

    unsigned __int128 Product = (unsigned __int128)First * Second;

    *Low = (ULONGLONG)Product;
    return (ULONGLONG)(Product >> 64);

#endif
}


CORE_INLINE
ULONGLONG
ExportCellsConvert(
    _In_ PCREADER_RATIO Ratio,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    )
{
    ULONGLONG Result;
    ULONGLONG Shifted;
    ULONGLONG Low;

    //
    // As large a number is years.
    //

    if ((Ticks >> 56) != 0 || Ratio->Shift > 6) {
        CoreTicksToNanoseconds(Clock, Ticks, &Result);
        return Result;
    }

    //
    // What the factor lacks is less than 1, and what the product lacks less
    // than Shifted: where that could reach the next number, it is looked at.
    //

    Shifted = Ticks << Ratio->Shift;
    Result = ExportCellsMultiply(Shifted, Ratio->Factor, &Low);
    if (Low > ~Shifted &&
        Ticks * Ratio->Nanoseconds - Result * Ratio->Ticks >= Ratio->Ticks) {
        Result += 1;
    }

    return Result;
}

//
// ExportDataset.c: finds what tells a process from all others of the host, and
// from itself before it was cleared last: it is the same whenever and wherever
// the session is read, packed or not.
//

VOID
ExportDatasetIdentify(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process,
    _Out_ PREADER_IDENTITY Identity
    );

//
// Finds the host's name: --host, or what this computer is called.  Text is for
// READER_HOST_SIZE bytes; returns how many it has.
//

ULONG
ExportDatasetNameHost(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _Out_writes_bytes_(READER_HOST_SIZE) PCHAR Text
    );

//
// Reads --tables.  FALSE: there is no such table, which has been written.
//

_Success_(return != FALSE)
BOOLEAN
ExportDatasetSelectTables(
    _In_ PCREADER_EXPORT Export,
    _Out_ PULONG Selected
    );

//
// Opens the tables that are asked for: their files are FILE.calls.parquet and
// so on for FILE.parquet, or the process's in the dataset, which is
// DIR\TABLE\host=HOST\date=YYYY-MM-DD\program=PROGRAM\IDENTITY.parquet.
// FALSE: the failure has been written.
//

_Success_(return != FALSE)
BOOLEAN
ExportDatasetOpenTables(
    _Inout_ PREADER_PARQUET Parquet
    );

//
// Closes what is open, with the files' names if all of it is whole; then what
// an earlier export has left of the same process is gone.  Returns
// READER_EXIT_*; a failure has been written.
//

ULONG
ExportDatasetCloseTables(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ BOOLEAN IsComplete
    );

#endif // TRACER_EXPORT_PARQUET_H

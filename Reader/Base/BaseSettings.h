/*++

Module Name:

    BaseSettings.h

Abstract:

    The settings of a traced program (Docs/Settings.md), as TraceReader run
    checks them before it starts one.  The library reads them by itself;
    TestRun.py holds what is refused here against what it reports.

--*/

#ifndef TRACER_BASE_SETTINGS_H
#define TRACER_BASE_SETTINGS_H

#include "BaseNearest.h"

typedef enum _READER_SETTING_KIND {
    ReaderSettingPath = 0,          // with no character that a path has not
    ReaderSettingNumber,            // from Least to Most; K, M and G multiply
    ReaderSettingPowerOfTwo,        // the same
    ReaderSettingZeroOr,            // 0, or the same
    ReaderSettingShare,             // bytes up to Most, or a percentage
    ReaderSettingDuration,          // nanoseconds up to Most, or with a unit
    ReaderSettingWord,              // one of Words, in either case
    ReaderSettingModules,           // prefixes of file names
    ReaderSettingImports            // or of module!function, or *
} READER_SETTING_KIND;

typedef struct _READER_SETTING {
    PCSZ Variable;
    READER_SETTING_KIND Kind;
    ULONGLONG Least;
    ULONGLONG Most;
    const PCSZ *Words;              // then NULL
} READER_SETTING;
typedef const READER_SETTING *PCREADER_SETTING;

//
// The order of BaseSettings, and of the options of TraceReader run.
//

typedef enum _READER_SETTING_INDEX {
    ReaderSettingOfDirectory = 0,
    ReaderSettingOfMode,
    ReaderSettingOfModules,
    ReaderSettingOfExecutables,
    ReaderSettingOfImports,
    ReaderSettingOfCallers,
    ReaderSettingOfChildren,
    ReaderSettingOfExclude,
    ReaderSettingOfChrono,
    ReaderSettingOfMaximumBytes,
    ReaderSettingOfMinimumFree,
    ReaderSettingOfViewSize,
    ReaderSettingOfClock,
    ReaderSettingOfMinimumDuration,
    ReaderSettingOfMaximumDepth,
    ReaderSettingOfStopped,
    ReaderSettingOfFlush,
    ReaderSettingOfControl,
    ReaderSettingOfEnabled,
    ReaderSettingOfConfig,
    ReaderSettingCount
} READER_SETTING_INDEX;

extern const READER_SETTING BaseSettings[ReaderSettingCount];

//
// Is a text a value that the library takes?
//

BOOLEAN
BaseIsSettingGood(
    _In_ PCREADER_SETTING Setting,
    _In_z_ PCWSTR Text
    );

//
// The setting that a variable is: an index, or ReaderSettingCount.  Case does
// not matter, as in an environment.
// Name: the variable's, with LengthInBytes bytes.
//

ULONG
BaseFindSetting(
    _In_reads_bytes_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_BASE_SETTINGS_H

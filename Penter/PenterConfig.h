/*++

Module Name:

    PenterConfig.h

Abstract:

    What the environment and the ini file ask for.

--*/

#ifndef TRACER_PENTER_CONFIG_H
#define TRACER_PENTER_CONFIG_H

#include "../Rtl/Rtl.h"

#define PENTER_INI_STEP "reading the ini file"

#define PENTER_INI_MAXIMUM_SIZE     0x100000    // bytes
#define PENTER_INI_TEXT_IN_CHARS    0x10000     // of all values

typedef enum _PENTER_SETTING {
    PenterSettingExecutables,
    PenterSettingModules,
    PenterSettingExclude,
    PenterSettingChrono,
    PenterSettingDirectory,
    PenterSettingMode,
    PenterSettingMaximumBytes,
    PenterSettingMinimumFree,
    PenterSettingViewSize,
    PenterSettingFlush,
    PenterSettingControl,
    PenterSettingEnabled,
    PenterSettingClock,
    PenterSettingMinimumDuration,
    PenterSettingMaximumDepth,
    PenterSettingStopped,
    PenterSettingImports,
    PenterSettingCallers,
    PenterSettingChildren,
    PenterSettingNone
} PENTER_SETTING;

#define PENTER_NUMBER_OF_SETTINGS   19
C_ASSERT(PENTER_NUMBER_OF_SETTINGS == PenterSettingNone);

typedef struct _PENTER_INI_VALUE {
    ULONG Line;                         // 0: it is not there
    UNICODE_STRING Text;                // in PENTER_INI.Text
} PENTER_INI_VALUE;
typedef PENTER_INI_VALUE *PPENTER_INI_VALUE;

typedef struct _PENTER_INI {
    BOOLEAN IsRead;                     // it has been looked for
    BOOLEAN IsCap;                      // it is a CAP.INI
    PCSZ Taken;                         // which one is used and why, for the
                                        // log; NULL: none
    UNICODE_STRING Path;                // empty: there is none
    PENTER_INI_VALUE Values[PENTER_NUMBER_OF_SETTINGS];
    ULONG LengthInChars;                // of Text
    WCHAR PathBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR Text[PENTER_INI_TEXT_IN_CHARS];
} PENTER_INI;
typedef PENTER_INI *PPENTER_INI;

//
// What is said of functions that are to be chronological, without a tree.
//

#define PENTER_CHRONO_CONSEQUENCE                                           \
    "every call is recorded in its order anyway"

#define PENTER_MAXIMUM_CONFIG_ERRORS 20

//
// The longest duration that TRACER_MIN_DURATION may be, nanoseconds: an hour.
//

#define PENTER_MAXIMUM_DURATION         3600000000000ULL

//
// What a ring has when TRACER_MAX_BYTES does not say.
//

#define PENTER_DEFAULT_RING_BYTES       0x04000000      // 64 MiB

//
// What stays free of the disk when TRACER_MIN_FREE does not say: the smaller
// one of these.
//

#define PENTER_DEFAULT_FREE_BYTES       0x80000000ULL   // 2 GiB
#define PENTER_DEFAULT_FREE_PERCENT     5

typedef struct _PENTER_CONFIG {
    BOOLEAN Enabled;                    // TRACER_ENABLED, TRACER_EXECUTABLES
    BOOLEAN ModuleIncluded;             // TRACER_MODULES
    ULONGLONG MaximumViewSize;          // TRACER_VIEW_SIZE, bytes
    ULONGLONG MaximumBytes;             // TRACER_MAX_BYTES; 0: no limit
    BOOLEAN IsRing;                     // TRACER_MODE
    BOOLEAN IsCompact;                  // likewise
    BOOLEAN IsTree;                     // TRACER_MODE
    BOOLEAN Flush;                      // TRACER_FLUSH
    BOOLEAN IsStopped;                  // TRACER_STOPPED
    ULONG Clock;                        // TRACER_CLOCK: TRACE_CLOCK_*
    ULONG MaximumDepth;                 // TRACER_MAX_DEPTH; 0: no limit
    ULONGLONG MinimumDuration;          // TRACER_MIN_DURATION, nanoseconds
    ULONGLONG MinimumFree;              // TRACER_MIN_FREE: bytes, and a
    ULONG MinimumFreePercent;           // percentage; the smaller one that is
                                        // not 0 holds
    ULONGLONG ControlSize;              // TRACER_CONTROL, bytes; 0: no file
    UNICODE_STRING RootDirectory;       // TRACER_DIRECTORY
    PCWSTR ValueBuffer;                 // where the value that was read last
    ULONG ValueLine;                    // lies, and its line of the ini file;
                                        // 0: the environment's
    BOOLEAN IsDirectoryShared;          // children are to be told of it
    BOOLEAN IsDirectoryDefault;         // it is the user's own for sessions
    UNICODE_STRING ExcludeFile;         // TRACER_EXCLUDE, an NT path; empty:
                                        // none
    UNICODE_STRING ChronoFile;          // TRACER_CHRONO, likewise
    UNICODE_STRING Imports;             // TRACER_IMPORTS and TRACER_CALLERS,
    UNICODE_STRING Callers;             // of TracerImports.dll; empty: none
    BOOLEAN IsEither;                   // what one of the two has is recorded,
                                        // as CAP.INI means them
    BOOLEAN AreChildren;                // TRACER_CHILDREN, likewise
    ULONG NumberOfErrors;
    ULONG NumberOfErrorsLeftOut;        // for which there is no room
    RTL_ERROR Errors[PENTER_MAXIMUM_CONFIG_ERRORS];
    PCSZ Consequences[PENTER_MAXIMUM_CONFIG_ERRORS];    // NULL: the default is
                                                        // used
    PRTL_ERROR Unmatched;                // of Errors: no prefix of
                                        // TRACER_MODULES is the module's, nor
                                        // is meant to leave it out; NULL: it is
                                        // recorded, or left out on purpose
    WCHAR RootDirectoryBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ExcludeFileBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ChronoFileBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ImportsBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR CallersBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR Scratch[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ModuleName[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    PENTER_INI Ini;
} PENTER_CONFIG;
typedef PENTER_CONFIG *PPENTER_CONFIG;

//
// Reads the environment and the ini file into Config, which is zeroed.  A value
// that makes no sense is noted in Errors and its default is used.
// ModuleBase: this module's image base.
//

VOID
PenterReadConfig(
    _In_ PCRTL Rtl,
    _In_ PVOID ModuleBase,
    _Inout_ PPENTER_CONFIG Config
    );

//
// Sets TRACER_BASE_DIRECTORY for children, if they are to be told. Scratch is
// overwritten. Tells the processes that this one starts where its session
// lies, if they could not find out: Nothing depends on it but where their
// sessions go, so that it may fail.
//
// Config: the configuration.
//

VOID
PenterShareDirectory(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    );

//
// Notes something that cannot be done as the environment or the ini file asks:
// where Object is the value that was read last, with its line. Step is a
// literal. Notes a value that makes no sense, or that cannot be had.
//
// Step: a literal that names the variable.
//

VOID
PenterConfigError(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status
    );

//
// Decides whether a module is recorded.  Patterns is the value of
// TRACER_MODULES: prefixes of file names separated by semicolons, compared
// without regard to case; a '-' in front of one leaves modules out.  The
// longest prefix that matches decides.  Where none matches, a module is
// recorded if and only if no prefix asks for modules (there are only '-' ones,
// or none at all).  Name and Patterns are upcased in place.
//
//     STATUS_OBJECT_NAME_INVALID     a prefix that no file name can have, or
//                                    nothing after a '-'
//     STATUS_NO_MEMORY
//
// Included: the decision; TRUE if this fails.
//

_Must_inspect_result_
NTSTATUS
PenterMatchModule(
    _In_ PCRTL Rtl,
    _Inout_ PUNICODE_STRING Name,
    _Inout_ PUNICODE_STRING Patterns,
    _Out_ PBOOLEAN Included
    );

#endif // TRACER_PENTER_CONFIG_H

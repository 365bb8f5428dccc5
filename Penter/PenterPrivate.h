/*++

Module Name:

    PenterPrivate.h

Abstract:

    What the C side of the hooks shares among its files.

--*/

#ifndef TRACER_PENTER_PRIVATE_H
#define TRACER_PENTER_PRIVATE_H

#include "../Rtl/Rtl.h"
#include "../StringTable/StringTable.h"
#include "../TraceStore/TraceStore.h"

//
// PenterHooks.asm: the pointers that the public hooks jump through, and the
// routines that they may point at.
//

typedef VOID (PENTER_ROUTINE)(VOID);
typedef PENTER_ROUTINE *PPENTER_ROUTINE;

extern PPENTER_ROUTINE volatile PenterEnterRoutine;
extern PPENTER_ROUTINE volatile PenterExitRoutine;
extern PPENTER_ROUTINE volatile PenterEnterFunctionRoutine;
extern PPENTER_ROUTINE volatile PenterExitFunctionRoutine;
extern ULONG volatile PenterSlotOffset;

//
// Events that were left out because their thread had no stack left for the
// slow path, or no memory for its TLS slot, and are not yet counted in a store.
//

extern LONGLONG volatile PenterEventsLeftOut;

//
// The clock that a thread of the library publishes, in ticks of the time stamp
// counter.
//

extern ULONGLONG volatile PenterClock;

PENTER_ROUTINE PenterReturn;

//
// The recording routines: for each clock, without and with what leaves calls
// out, for a TLS slot in the thread environment block and for one in the
// expansion array.
//

typedef struct _PENTER_ROUTINES {
    PPENTER_ROUTINE Enter;
    PPENTER_ROUTINE Exit;
    PPENTER_ROUTINE EnterFunction;
    PPENTER_ROUTINE ExitFunction;
} PENTER_ROUTINES;
typedef const PENTER_ROUTINES *PCPENTER_ROUTINES;

#define PENTER_NUMBER_OF_CLOCKS 3               // TRACE_CLOCK_*

extern const PENTER_ROUTINES PenterRoutines[PENTER_NUMBER_OF_CLOCKS][2][2];

//
// Those that keep a tree: for the clocks that have a time, and for both places
// of a TLS slot.
//

extern const PENTER_ROUTINES PenterTreeRoutines[2][2];

//
// What the slow path has saved (SLOW_ROUTINE).  RSP at the call of the hook was
// behind it.
//

typedef struct _PENTER_SLOW_CALL {
    ULONGLONG Flags;
    ULONGLONG Rbp;
    ULONGLONG R11;
    ULONGLONG R10;
    ULONGLONG R9;
    ULONGLONG R8;
    ULONGLONG Rdx;
    ULONGLONG Rcx;
    ULONGLONG Rax;
    ULONGLONG ReturnAddress;
} PENTER_SLOW_CALL;
typedef const PENTER_SLOW_CALL *PCPENTER_SLOW_CALL;

//
// The thread environment block, through gs: the first 64 TLS slots and the
// array of the other 1,024; the stack's highest address; ids; the process
// environment block.
//

#define TEB_STACK_BASE              0x08
#define TEB_THREAD_ID               0x48
#define TEB_PEB                     0x60
#define TEB_TLS_SLOTS               0x1480
#define TEB_TLS_EXPANSION_SLOTS     0x1780
#define TEB_TLS_NUMBER_OF_SLOTS     64
#define PEB_IMAGE_BASE              0x10

//
// Stands in for a store's header where there is none: the hook finds its
// cursor at its limit and its store stopped, counts and returns.  Only the
// first 128 bytes of a header are ever touched by the hook.
//

typedef union _PENTER_STAND_IN {
    UCHAR Bytes[0x80];
    ULONGLONG Alignment;
} PENTER_STAND_IN;
typedef PENTER_STAND_IN *PPENTER_STAND_IN;

//
// A place in the code where a hook is called that a function of TRACER_EXCLUDE
// has, and what was done of such a list.
//

typedef struct _PENTER_SITE {
    ULONG Rva;                          // bit 31: a jump, not a call
    ULONG Displacement;                 // of the call
} PENTER_SITE;
typedef PENTER_SITE *PPENTER_SITE;

typedef struct _PENTER_EXCLUSION {
    PBYTE Base;                         // of the module
    PPENTER_SITE Sites;                 // by Rva; NULL: none
    ULONG NumberOfSites;
    ULONG NumberOfFunctions;
    ULONG NumberRefused;                // functions, one of whose places does
                                        // not call a hook
    ULONG RefusedRva;                   // the first of these places
} PENTER_EXCLUSION;
typedef PENTER_EXCLUSION *PPENTER_EXCLUSION;

//
// One module instance's hooks.
//

typedef struct _PENTER {
    PTRACE_SESSION Session;
    ULONG TlsIndex;
    ULONG FlsIndex;                     // FLS_OUT_OF_INDEXES: none
    ULONG Clock;                        // TRACE_CLOCK_*
    BOOLEAN Chooses;                    // calls may be left out
    BOOLEAN IsTree;
    BOOLEAN IsExe;
    BOOLEAN HasTlsCallback;             // the loader calls PenterTlsCallback
    BOOLEAN ProcessExitDone;
    BOOLEAN SlotReported;               // that a TLS slot could not be set
    PTRACE_STORE Ended;                 // of a DLL's thread that was told to
                                        // detach; under the loader lock
    NTSTATUS NoStoreStatus;             // why the last of these has none
    PENTER_EXCLUSION Exclusion;
    PTRACE_CHRONO_RANGE Chrono;         // the session's; NULL: none
    LONGLONG volatile NumberOfEventsReentered;  // in Attaching, and counted in
                                        // the stores' headers
    PENTER_STAND_IN Attaching;          // for threads that get their store
    PENTER_STAND_IN NoStore;            // for threads that have no store
    PENTER_STAND_IN OwnThread;          // for the library's own, whose calls
                                        // are not the program's
} PENTER;
typedef PENTER *PPENTER;

//
// PenterIni.c: what an ini file asks for, as text.
//

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
    PenterSettingViewSize,
    PenterSettingFlush,
    PenterSettingControl,
    PenterSettingEnabled,
    PenterSettingClock,
    PenterSettingMinimumDuration,
    PenterSettingMaximumDepth,
    PenterSettingStopped,
    PenterSettingNone
} PENTER_SETTING;

#define PENTER_NUMBER_OF_SETTINGS   15
C_ASSERT(PENTER_NUMBER_OF_SETTINGS == PenterSettingNone);

typedef struct _PENTER_INI_VALUE {
    ULONG Line;                         // 0: it is not there
    UNICODE_STRING Text;                // in PENTER_INI.Text
} PENTER_INI_VALUE;
typedef PENTER_INI_VALUE *PPENTER_INI_VALUE;

typedef struct _PENTER_INI {
    BOOLEAN IsRead;                     // it has been looked for
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

//
// PenterConfig.c: what the environment and the ini file ask for.
//

#define PENTER_MAXIMUM_CONFIG_ERRORS 20

//
// The longest duration that TRACER_MIN_DURATION may be, nanoseconds: an hour.
//

#define PENTER_MAXIMUM_DURATION         3600000000000ULL

//
// What a ring has when TRACER_MAX_BYTES does not say.
//

#define PENTER_DEFAULT_RING_BYTES       0x04000000      // 64 MiB

typedef struct _PENTER_CONFIG {
    BOOLEAN Enabled;                    // TRACER_ENABLED, TRACER_EXECUTABLES
    BOOLEAN ModuleIncluded;             // TRACER_MODULES
    ULONGLONG MaximumViewSize;          // TRACER_VIEW_SIZE, bytes
    ULONGLONG MaximumBytes;             // TRACER_MAX_BYTES; 0: no limit
    BOOLEAN IsRing;                     // TRACER_MODE
    BOOLEAN IsTree;                     // TRACER_MODE
    BOOLEAN Flush;                      // TRACER_FLUSH
    BOOLEAN IsStopped;                  // TRACER_STOPPED
    ULONG Clock;                        // TRACER_CLOCK: TRACE_CLOCK_*
    ULONG MaximumDepth;                 // TRACER_MAX_DEPTH; 0: no limit
    ULONGLONG MinimumDuration;          // TRACER_MIN_DURATION, nanoseconds
    ULONGLONG ControlSize;              // TRACER_CONTROL, bytes; 0: no file
    UNICODE_STRING RootDirectory;       // TRACER_DIRECTORY
    PCWSTR ValueBuffer;                 // where the value that was read last
    ULONG ValueLine;                    // lies, and its line of the ini file;
                                        // 0: the environment's
    BOOLEAN IsDirectoryShared;          // children are to be told of it
    UNICODE_STRING ExcludeFile;         // TRACER_EXCLUDE, an NT path; empty:
                                        // none
    UNICODE_STRING ChronoFile;          // TRACER_CHRONO, likewise
    ULONG NumberOfErrors;
    ULONG NumberOfErrorsLeftOut;        // for which there is no room
    RTL_ERROR Errors[PENTER_MAXIMUM_CONFIG_ERRORS];
    PCSZ Consequences[PENTER_MAXIMUM_CONFIG_ERRORS];    // NULL: the default is
                                                        // used
    WCHAR RootDirectoryBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ExcludeFileBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ChronoFileBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR Scratch[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ModuleName[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    PENTER_INI Ini;
} PENTER_CONFIG;
typedef PENTER_CONFIG *PPENTER_CONFIG;

//
// Reads the environment and the ini file into Config, which is zeroed.  A value
// that makes no sense is noted in Errors and its default is used.
//

typedef
VOID
(PENTER_READ_CONFIG)(
    _In_ PCRTL Rtl,
    _In_ PVOID ModuleBase,
    _Inout_ PPENTER_CONFIG Config
    );
PENTER_READ_CONFIG PenterReadConfig;

//
// Sets TRACER_BASE_DIRECTORY for children, if they are to be told.  Scratch is
// overwritten.
//

typedef
VOID
(PENTER_SHARE_DIRECTORY)(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    );
PENTER_SHARE_DIRECTORY PenterShareDirectory;

//
// Notes something that cannot be done as the environment or the ini file asks:
// where Object is the value that was read last, with its line.  Step is a
// literal.
//

typedef
VOID
(PENTER_CONFIG_ERROR)(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status
    );
PENTER_CONFIG_ERROR PenterConfigError;

//
// Notes something that happens to the settings.  Step and Consequence are
// literals; Consequence NULL: the default is used.  Those for which there is
// no room are counted.
//

typedef
VOID
(PENTER_ADD_ERROR)(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status,
    _In_opt_z_ PCSZ Consequence
    );
PENTER_ADD_ERROR PenterAddError;

//
// Tells whether a text is a word, in either case.  Word is in capitals.
//

typedef
BOOLEAN
(PENTER_IS_WORD)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Text,
    _In_z_ PCWSTR Word
    );
PENTER_IS_WORD PenterIsWord;

//
// Finds the next of the patterns that semicolons separate, without the blanks
// around it; empty ones are passed over.  FALSE when there are no more.
//

typedef
BOOLEAN
(PENTER_NEXT_PATTERN)(
    _In_ PCUNICODE_STRING Patterns,
    _Inout_ PULONG Position,
    _Out_ PUNICODE_STRING Pattern
    );
PENTER_NEXT_PATTERN PenterNextPattern;

//
// Tells whether a pattern, with or without a '-' in front, is one that a file
// name can begin with.
//

typedef BOOLEAN (PENTER_IS_PATTERN)(_In_ PCUNICODE_STRING Pattern);
PENTER_IS_PATTERN PenterIsPattern;

//
// The ini file's line for a variable, and the text; 0 if it says nothing.  The
// first call looks for the file and reads it, and uses Config->Scratch and
// Config->ModuleName.
//

typedef
ULONG
(PENTER_QUERY_INI)(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Variable,
    _Out_ PUNICODE_STRING Text
    );
PENTER_QUERY_INI PenterQueryIni;

//
// Takes what SizeInBytes of an ini file say.  Config->Ini.Path is its path.
//

typedef
VOID
(PENTER_PARSE_INI)(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_reads_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes,
    _In_ BOOLEAN IsCap
    );
PENTER_PARSE_INI PenterParseIni;

//
// PenterAddError for a line of the ini file (0: all of it) and, unless it is
// NULL, what is there.
//

typedef
VOID
(PENTER_INI_ERROR)(
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCSZ Step,
    _In_ ULONG Line,
    _In_opt_ PCUNICODE_STRING Text,
    _In_ NTSTATUS Status,
    _In_opt_z_ PCSZ Consequence
    );
PENTER_INI_ERROR PenterIniError;

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

typedef
_Must_inspect_result_
NTSTATUS
(PENTER_MATCH_MODULE)(
    _In_ PCRTL Rtl,
    _Inout_ PUNICODE_STRING Name,
    _Inout_ PUNICODE_STRING Patterns,
    _Out_ PBOOLEAN Included
    );
PENTER_MATCH_MODULE PenterMatchModule;

//
// PenterPatch.c: writes a return over the first byte of every public hook of
// this module, for good.
//

typedef
NTSTATUS
(PENTER_PATCH_HOOKS)(
    _In_ PCRTL Rtl
    );
PENTER_PATCH_HOOKS PenterPatchHooks;

//
// Is this the first byte of one of this module's public hooks?
//

typedef BOOLEAN (PENTER_IS_HOOK)(_In_ const BYTE *Address);
PENTER_IS_HOOK PenterIsHook;

//
// PenterExclude.c: takes the calls of the hooks out of the functions of a list
// (Docs/Exclude.md).  A list is bounded, and so are the names in it.
//

#define PENTER_LIST_VERSION         "tracer-exclude 1"
#define PENTER_MAXIMUM_LIST         0x400000    // 4 MiB
#define PENTER_MAXIMUM_NAME         1024        // bytes of a module's
#define PENTER_MAXIMUM_MODULE_NAME  260         // the same in 16-bit units

//
// Excludes what the list has for the module that Header describes.  A function
// of which a place is no call of a hook is refused and counted; after any
// failure nothing is excluded.
//
//     STATUS_FILE_INVALID            a line makes no sense
//     STATUS_REVISION_MISMATCH       the list is of another build
//     STATUS_CONFLICTING_ADDRESSES   places overlap
//     STATUS_NO_MEMORY
//     NtProtectVirtualMemory's       code may not be changed
//

typedef
_Must_inspect_result_
NTSTATUS
(PENTER_EXCLUDE_BY_TEXT)(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING ListName,
    _In_reads_bytes_(SizeInBytes) const CHAR *Text,
    _In_ ULONG SizeInBytes,
    _Out_ PPENTER_EXCLUSION Exclusion,
    _Out_ PRTL_ERROR Error
    );
PENTER_EXCLUDE_BY_TEXT PenterExcludeByText;

//
// Likewise; also STATUS_FILE_TOO_LARGE and what the file's routines return.
//

typedef
_Must_inspect_result_
NTSTATUS
(PENTER_EXCLUDE_BY_FILE)(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PPENTER_EXCLUSION Exclusion,
    _Out_ PRTL_ERROR Error
    );
PENTER_EXCLUDE_BY_FILE PenterExcludeByFile;

//
// Reads the functions of TRACER_CHRONO, which has such a list, too.  Statuses
// as above.
//

typedef
_Must_inspect_result_
NTSTATUS
(PENTER_READ_CHRONO_LIST)(
    _In_ PCRTL Rtl,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCUNICODE_STRING ModuleName,
    _In_ PCUNICODE_STRING NtPath,
    _Outptr_result_maybenull_ PTRACE_CHRONO_RANGE *Ranges,
    _Out_ PULONG NumberOfRanges,
    _Out_ PRTL_ERROR Error
    );
PENTER_READ_CHRONO_LIST PenterReadChronoList;

//
// Puts the calls back.  Exclusion may be zeroes.
//

typedef
VOID
(PENTER_INCLUDE_AGAIN)(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_EXCLUSION Exclusion
    );
PENTER_INCLUDE_AGAIN PenterIncludeAgain;

//
// Penter.c
//

typedef VOID (PENTER_NOTIFICATION)(VOID);
PENTER_NOTIFICATION PenterModuleLoad;       // the loader maps this module
PENTER_NOTIFICATION PenterThreadStart;      // a thread starts (DLL only)
PENTER_NOTIFICATION PenterThreadExit;       // this thread ends
PENTER_NOTIFICATION PenterProcessExit;      // the process ends
PENTER_NOTIFICATION PenterModuleUnload;     // this DLL is being unloaded

//
// The session of this module, which begins with it; NULL if nothing is
// recorded.
//

typedef PTRACE_SESSION (PENTER_GET_SESSION)(VOID);
PENTER_GET_SESSION PenterGetSession;

//
// Does the process end, rather than this module alone?
//

typedef BOOLEAN (PENTER_IS_PROCESS_ENDING)(VOID);
PENTER_IS_PROCESS_ENDING PenterIsProcessEnding;

//
// Sets what the recording routines read, and returns those that are the hooks'.
//

typedef PCPENTER_ROUTINES (PENTER_SET_SLOT)(_In_ PPENTER Penter);
PENTER_SET_SLOT PenterSetSlot;

//
// PenterProbe.c: measures what a pair of hooks costs, for the stores' headers.
//

typedef
VOID
(PENTER_MEASURE_PROBE)(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER Penter
    );
PENTER_MEASURE_PROBE PenterMeasureProbe;

//
// PenterTls.c: whether the image's TLS directory lists our callback.
//

typedef BOOLEAN (PENTER_HAS_TLS_CALLBACK)(_In_ PVOID ModuleBase);
PENTER_HAS_TLS_CALLBACK PenterHasTlsCallback;

#endif // TRACER_PENTER_PRIVATE_H

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
// One module instance's hooks.
//

typedef struct _PENTER {
    PTRACE_SESSION Session;
    ULONG TlsIndex;
    ULONG FlsIndex;                     // FLS_OUT_OF_INDEXES: none
    ULONG Clock;                        // TRACE_CLOCK_*
    BOOLEAN Chooses;                    // calls may be left out
    BOOLEAN IsExe;
    BOOLEAN HasTlsCallback;             // the loader calls PenterTlsCallback
    BOOLEAN ProcessExitDone;
    BOOLEAN SlotReported;               // that a TLS slot could not be set
    PTRACE_STORE Ended;                 // of a DLL's thread that was told to
                                        // detach; under the loader lock
    NTSTATUS NoStoreStatus;             // why the last of these has none
    LONGLONG volatile NumberOfEventsReentered;  // in Attaching, and counted in
                                        // the stores' headers
    PENTER_STAND_IN Attaching;          // for threads that get their store
    PENTER_STAND_IN NoStore;            // for threads that have no store
} PENTER;
typedef PENTER *PPENTER;

//
// PenterConfig.c: what the environment asks for.
//

#define PENTER_MAXIMUM_CONFIG_ERRORS 12

//
// The longest duration that TRACER_MIN_DURATION may be, nanoseconds: an hour.
//

#define PENTER_MAXIMUM_DURATION         3600000000000ULL

//
// What a ring has when TRACER_MAX_BYTES does not say.
//

#define PENTER_DEFAULT_RING_BYTES       0x04000000      // 64 MiB

typedef struct _PENTER_CONFIG {
    BOOLEAN Enabled;                    // TRACER_ENABLED
    BOOLEAN ModuleIncluded;             // TRACER_MODULES
    ULONGLONG MaximumViewSize;          // TRACER_VIEW_SIZE, bytes
    ULONGLONG MaximumBytes;             // TRACER_MAX_BYTES; 0: no limit
    BOOLEAN IsRing;                     // TRACER_MODE
    BOOLEAN Flush;                      // TRACER_FLUSH
    ULONG Clock;                        // TRACER_CLOCK: TRACE_CLOCK_*
    ULONG MaximumDepth;                 // TRACER_MAX_DEPTH; 0: no limit
    ULONGLONG MinimumDuration;          // TRACER_MIN_DURATION, nanoseconds
    UNICODE_STRING RootDirectory;       // TRACER_DIRECTORY
    ULONG NumberOfErrors;
    RTL_ERROR Errors[PENTER_MAXIMUM_CONFIG_ERRORS];
    WCHAR RootDirectoryBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR Scratch[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR ModuleName[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} PENTER_CONFIG;
typedef PENTER_CONFIG *PPENTER_CONFIG;

//
// Reads the environment into Config, which is zeroed.  A value that makes no
// sense is noted in Errors and its default is used.
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
// Notes something that cannot be done as the environment asks.  Step is a
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
// Penter.c
//

typedef VOID (PENTER_NOTIFICATION)(VOID);
PENTER_NOTIFICATION PenterModuleLoad;       // the loader maps this module
PENTER_NOTIFICATION PenterThreadStart;      // a thread starts (DLL only)
PENTER_NOTIFICATION PenterThreadExit;       // this thread ends
PENTER_NOTIFICATION PenterProcessExit;      // the process ends
PENTER_NOTIFICATION PenterModuleUnload;     // this DLL is being unloaded

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

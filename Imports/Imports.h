/*++

Module Name:

    Imports.h

Abstract:

    TracerImports.dll: calls from one module to another are recorded in programs
    that were not compiled with hooks.  The slots through which a module calls
    its imports get the addresses of stubs, which call the functions between the
    two hooks (ImportsStubs.asm).

    Everything but the stubs runs when modules come and go and when a program
    asks for a function's address; under ImportsLock, whose holder calls nothing
    but ntdll's own system calls.

--*/

#ifndef TRACER_IMPORTS_H
#define TRACER_IMPORTS_H

#include "../Rtl/Rtl.h"
#include "../TraceStore/TraceSession.h"
#include "../TraceStore/TraceFormat.h"
#include "ImportsOs.h"

//
// What ImportsLayout.inc says.
//

#define IMPORTS_SMALL_STUBS     8192
#define IMPORTS_LARGE_STUBS     4096
#define IMPORTS_STUB_SIZE       48
#define IMPORTS_NUMBER_OF_STUBS (IMPORTS_SMALL_STUBS + IMPORTS_LARGE_STUBS)

//
// What they copy arguments with, from here up to the first stub.
//

extern const BYTE ImportsCopySmall[];
extern const BYTE ImportsSmallStubs[IMPORTS_SMALL_STUBS * IMPORTS_STUB_SIZE];
extern const BYTE ImportsLargeStubs[IMPORTS_LARGE_STUBS * IMPORTS_STUB_SIZE];
extern PVOID volatile ImportsTargets[IMPORTS_NUMBER_OF_STUBS];

extern IMAGE_DOS_HEADER __ImageBase;

#define IMPORTS_NONE            0xFFFFFFFFu

//
// A module of the process, as long as it is there and afterwards.
//

#define IMPORTS_MAXIMUM_MODULES 4096
#define IMPORTS_NAME_SIZE       120     // bytes; a longer name is cut

typedef struct _IMPORTS_MODULE {
    PBYTE Base;
    ULONG SizeInBytes;
    ULONG FileIndex;                // its number in the file, or IMPORTS_NONE
    ULONG NameLength;               // bytes
    ULONG TimeDateStamp;            // of its headers
    BOOLEAN IsGone;
    BOOLEAN IsOurs;                 // this one
    BOOLEAN IsSystem;               // from the system's directory
    BOOLEAN IsCaller;               // its imports are asked for
    BOOLEAN IsPatched;
    CHAR Name[IMPORTS_NAME_SIZE];   // of its file, UTF-8, A to Z in lower case
} IMPORTS_MODULE;
typedef IMPORTS_MODULE *PIMPORTS_MODULE;

//
// What a list of the user's says (ImportsList.c).
//

typedef enum _IMPORTS_CHOICE {
    ImportsUnwanted = 0,
    ImportsWanted,
    ImportsNamed                    // by a name of a function
} IMPORTS_CHOICE;

//
// The name of a function that is imported, or its ordinal.
//

typedef struct _IMPORTS_NAME {
    const CHAR *Text;               // NULL: there is none
    ULONG Length;                   // bytes
    USHORT Ordinal;                 // 0: it is imported by its name
    BOOLEAN IsUnknown;              // neither is there any more
} IMPORTS_NAME;
typedef IMPORTS_NAME *PIMPORTS_NAME;
typedef const IMPORTS_NAME *PCIMPORTS_NAME;

//
// The one state of this DLL.
//

typedef struct _IMPORTS {
    RTL Rtl;
    PTRACE_SESSION Session;
    LONG volatile Owner;            // thread that has the lock, or 0
    BOOLEAN IsStarting;             // no other thread calls a stub yet
    BOOLEAN IsPending;              // a module's slots are not filled yet
    BOOLEAN AreChildren;            // processes that this one starts, too
    BOOLEAN IsAttached;             // slots are patched; under the lock
    BOOLEAN IsComplete;             // all that was there is; under the lock
    LONG volatile IsChanging;       // a request is carried out
    PVOID LoadRoutine;              // LoadLibraryW
    IMPORTS_UNREGISTER *Unregister; // these may be missing: then there are no
    IMPORTS_LOCK_LOADER *LockLoader;            // requests
    IMPORTS_UNLOCK_LOADER *UnlockLoader;
    IMPORTS_SUSPEND_THREAD *Suspend;
    IMPORTS_GET_CONTEXT *GetContext;
    IMPORTS_GET_ENVIRONMENT *GetEnvironment;
    IMPORTS_FREE_ENVIRONMENT *FreeEnvironment;
    IMPORTS_REGISTER *Register;
    IMPORTS_ADD_REFERENCE *AddReference;
    IMPORTS_OPEN_EVENT *OpenEvent;
    IMPORTS_GET_ADDRESS *GetAddress[2];     // kernel32's and kernelbase's
    IMPORTS_RESOLVE_DELAYED *Resolve[3];    // and ntdll's
    PVOID Create;                   // NtCreateUserProcess; NULL: as it is
    PVOID OwnGetAddress;            // what takes their places
    PVOID OwnResolve;
    PVOID OwnCreate;
    PVOID Cookie;
    ULONG NumberAtFirst;            // slots that record, when that was so
    ULONG NumberOfModules;
    ULONG LastFound;                // of the modules
    ULONG NextSmall;                // stub that is free
    ULONG NextLarge;
    TRACE_IMPORTS_HEADER Counts;
} IMPORTS;
typedef IMPORTS *PIMPORTS;

extern IMPORTS ImportsState;
extern IMPORTS_MODULE ImportsModules[IMPORTS_MAXIMUM_MODULES];

//
// ImportsQuiet.c: ends the recording of this DLL's hooks, which are turned off:
// the stores are closed.  Threads that are inside of the hooks are waited for;
// the number of those that do not leave them, with which nothing is ended.
//

ULONG
ImportsEndRecording(
    VOID
    );

//
// ImportsLock.c: FALSE if the process ends, whose other threads are gone,
// whatever they held.
//

BOOLEAN
ImportsAcquireLock(
    VOID
    );

VOID
ImportsReleaseLock(
    VOID
    );

//
// ImportsModule.c: enters all modules that the loader has and that are not
// known yet.  Under the loader's lock.
//

VOID
ImportsRefreshModules(
    VOID
    );

//
// Enters a module: its index, or IMPORTS_NONE if there is no room.
//

ULONG
ImportsEnterModule(
    _In_ PVOID Base,
    _In_ ULONG SizeInBytes,
    _In_ PCUNICODE_STRING Path
    );

//
// Of the modules that are known, notes those that the loader no longer has, and
// which are callers by the lists of now.  Under the loader's lock.
//

VOID
ImportsReviewModules(
    VOID
    );

//
// A module has gone: its index, or IMPORTS_NONE.
//

ULONG
ImportsForgetModule(
    _In_ PVOID Base
    );

//
// The index of the module that an address is in, or IMPORTS_NONE.
//

ULONG
ImportsFindModule(
    _In_ const VOID *Address
    );

//
// The index of the module that an import descriptor names; IMPORTS_NONE of an
// API set and of what is not loaded.
//

ULONG
ImportsFindModuleByName(
    _In_z_ PCSZ Name
    );

//
// The characteristics of the section that an address is in, or 0.
//

ULONG
ImportsQuerySection(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const VOID *Address
    );

//
// Is an address in code of a module's image?
//

BOOLEAN
ImportsIsCode(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const VOID *Address
    );

//
// The headers of an image that is mapped, and one of its directories, which
// lies inside of it; NULL if there is none.
//

_Ret_maybenull_
PVOID
ImportsFindDirectory(
    _In_ const IMPORTS_MODULE *Module,
    _In_ ULONG Directory,
    _Out_ PULONG SizeInBytes
    );

//
// ImportsStub.c: the stub for calls from a module to a function: the same one
// for the same function, or a new one, which has a target and an entry in the
// file's buffer.  Returns its index, or IMPORTS_NONE if there is none left.
//

ULONG
ImportsGetStub(
    _In_ ULONG Importer,
    _In_ ULONG Exporter,
    _In_ PVOID Target,
    _In_ PCIMPORTS_NAME Name,
    _In_ BOOLEAN IsLarge
    );

PVOID
ImportsGetStubAddress(
    _In_ ULONG Stub
    );

//
// Which stub an address is in, or IMPORTS_NONE; and the module that calls it.
//

ULONG
ImportsFindStub(
    _In_ const VOID *Address
    );

ULONG
ImportsGetImporter(
    _In_ ULONG Stub
    );

//
// No stub of a module that is gone is given out again: others are, should one
// be loaded there.
//

VOID
ImportsForgetStubs(
    _In_ ULONG Exporter
    );

//
// ImportsFile.c: makes the file, with all that was given out before, or goes on
// in the one that there is in the same directory; puts entries into its buffer;
// writes them.
// Entries count once they are written, with the header.
//

_Must_inspect_result_
NTSTATUS
ImportsCreateFile(
    _Out_ PRTL_ERROR Error
    );

//
// Puts a stub into the file's buffer, unless it is there or the file cannot be
// written.
//

VOID
ImportsPutStub(
    _In_ ULONG Stub,
    _In_ ULONG Importer,
    _In_ ULONG Exporter,
    _In_ PCIMPORTS_NAME Name
    );

VOID
ImportsFlushFile(
    VOID
    );

//
// ImportsPatch.c: patches what is asked for of all modules that were not looked
// at yet.
//

VOID
ImportsPatchModules(
    VOID
    );

//
// What takes the place of a function's address: a stub, or the address itself
// (a function that must stay as it is, or that nobody asks for).
// Importer, Exporter: modules; Exporter IMPORTS_NONE: the one that it is in.
//

PVOID
ImportsWrap(
    _In_ ULONG Importer,
    _In_ ULONG Exporter,
    _In_ PVOID Target,
    _In_ PCIMPORTS_NAME Name
    );

//
// ImportsLate.c: the loader's notifications; and what takes the place of
// GetProcAddress, with two arguments more (RTL_OWN_REQUEST), and of
// ResolveDelayLoadedAPI.
//

IMPORTS_NOTIFICATION ImportsNotify;

FARPROC
WINAPI
ImportsGetProcAddress(
    _In_ HMODULE Module,
    _In_ PCSZ Name,
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second
    );

IMPORTS_RESOLVE_DELAYED ImportsResolveDelayed;

#endif // TRACER_IMPORTS_H

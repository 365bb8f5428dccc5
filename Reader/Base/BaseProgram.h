/*++

Module Name:

    BaseProgram.h

Abstract:

    A program that a command starts: the one that run runs, and a pager.

--*/

#ifndef TRACER_BASE_PROGRAM_H
#define TRACER_BASE_PROGRAM_H

#include "BaseContext.h"

//
// kernel32.dll's routines, which only who starts programs needs.
//

typedef BOOL (WINAPI READER_CREATE_PIPE)(
    _Out_ PHANDLE Read,
    _Out_ PHANDLE Write,
    _In_opt_ LPSECURITY_ATTRIBUTES Attributes,
    _In_ DWORD Size
    );

typedef BOOL (WINAPI READER_CREATE_PROCESS_W)(
    _In_opt_ PCWSTR Image,
    _Inout_opt_ PWSTR CommandLine,
    _In_opt_ LPSECURITY_ATTRIBUTES Process,
    _In_opt_ LPSECURITY_ATTRIBUTES Thread,
    _In_ BOOL IsInherited,
    _In_ DWORD Flags,
    _In_opt_ PVOID Environment,
    _In_opt_ PCWSTR Directory,
    _In_ LPSTARTUPINFOW StartupInfo,
    _Out_ LPPROCESS_INFORMATION ProcessInformation
    );

typedef DWORD (WINAPI READER_GET_LAST_ERROR)(
    VOID
    );

typedef BOOL (WINAPI READER_GET_EXIT_CODE_PROCESS)(
    _In_ HANDLE Process,
    _Out_ PDWORD ExitCode
    );

typedef BOOL (WINAPI READER_TERMINATE_PROCESS)(
    _In_ HANDLE Process,
    _In_ DWORD ExitCode
    );

typedef BOOL (WINAPI READER_SET_BREAK_HANDLER)(
    _In_opt_ PHANDLER_ROUTINE Handler,
    _In_ BOOL IsAdded
    );

typedef BOOL (WINAPI READER_SET_HANDLE_INFORMATION)(
    _In_ HANDLE Handle,
    _In_ DWORD Mask,
    _In_ DWORD Flags
    );

typedef PWSTR (WINAPI READER_GET_ENVIRONMENT_STRINGS_W)(
    VOID
    );

#define READER_PROGRAM_ROUTINES_LIST(ENTRY)                                 \
    ENTRY(READER_CREATE_PIPE, CreatePipe)                                   \
    ENTRY(READER_CREATE_PROCESS_W, CreateProcessW)                          \
    ENTRY(READER_GET_LAST_ERROR, GetLastError)                              \
    ENTRY(READER_GET_EXIT_CODE_PROCESS, GetExitCodeProcess)                 \
    ENTRY(READER_TERMINATE_PROCESS, TerminateProcess)                       \
    ENTRY(READER_SET_BREAK_HANDLER, SetConsoleCtrlHandler)                  \
    ENTRY(READER_SET_HANDLE_INFORMATION, SetHandleInformation)              \
    ENTRY(READER_GET_ENVIRONMENT_STRINGS_W, GetEnvironmentStringsW)

#define READER_PROGRAM_FIELD(Type, Name) Type *Name;

typedef struct _READER_PROGRAM_ROUTINES {
    READER_PROGRAM_ROUTINES_LIST(READER_PROGRAM_FIELD)
} READER_PROGRAM_ROUTINES;

typedef struct _READER_PROGRAM {
    PCREADER_CONTEXT Context;
    READER_PROGRAM_ROUTINES Routines;
    HANDLE Process;                 // NULL: none runs
    ULONG ProcessId;
} READER_PROGRAM;
typedef READER_PROGRAM *PREADER_PROGRAM;

//
// Finds the routines.  STATUS_NOT_SUPPORTED: there are none.
//

_Must_inspect_result_
NTSTATUS
BaseLoadProgram(
    _Out_ PREADER_PROGRAM Program,
    _In_ PCREADER_CONTEXT Context
    );

//
// Makes a pipe for BaseStartProgram.
//

_Must_inspect_result_
NTSTATUS
BasePipeProgram(
    _In_ const READER_PROGRAM *Program,
    _Out_ PHANDLE Read,
    _Out_ PHANDLE Write
    );

//
// Starts a program with the standard handles of this one.  Ctrl+C is its own
// from then on: this one has it too, and goes on.
//
// CommandLine: may be written to.
// Input: its standard input; NULL: this one's.
// Thread: optionally receives its first thread, which is suspended then, and
// which the caller closes.
//
// Returns a status where a Win32 error has a well known one, else the error as
// a customer's status.
//

_Must_inspect_result_
NTSTATUS
BaseStartProgram(
    _Inout_ PREADER_PROGRAM Program,
    _Inout_ PWSTR CommandLine,
    _In_opt_ HANDLE Input,
    _Out_opt_ PHANDLE Thread
    );

//
// Ctrl+C is meant for this program again.
//

VOID
BaseTakeBreak(
    _In_ const READER_PROGRAM *Program
    );

#endif // TRACER_BASE_PROGRAM_H

/*++

Module Name:

    BaseProgram.c

Abstract:

    A program that a command starts: the one that run runs, and a pager.

--*/

#include "BaseProgram.h"

#define READER_PROGRAM_NAME(Type, Name) #Name,

static const PCSZ BaseProgramNames[] = {
    READER_PROGRAM_ROUTINES_LIST(READER_PROGRAM_NAME)
};

C_ASSERT(sizeof(READER_PROGRAM_ROUTINES) ==
         RTL_NUMBER_OF(BaseProgramNames) * sizeof(PVOID));

#define READER_STATUS_WIN32(Error) ((NTSTATUS)(0xC0070000 | (Error)))


static
NTSTATUS
BaseQueryLastStatus(
    _In_ const READER_PROGRAM *Program
    )
{
    DWORD Error = Program->Routines.GetLastError();

    switch (Error) {

    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return STATUS_OBJECT_NAME_NOT_FOUND;

    case ERROR_ACCESS_DENIED:
        return STATUS_ACCESS_DENIED;

    case ERROR_BAD_EXE_FORMAT:
        return STATUS_INVALID_IMAGE_FORMAT;

    case ERROR_NOT_ENOUGH_MEMORY:
        return STATUS_NO_MEMORY;

    default:
        return READER_STATUS_WIN32(Error & 0xFFFF);
    }
}


static
BOOL
WINAPI
BaseIgnoreBreak(
    _In_ DWORD Type
    )
{
    return Type == CTRL_C_EVENT || Type == CTRL_BREAK_EVENT;
}


//
// A handle that the program is to have too: STARTUPINFO's documentation wants
// it to be inheritable.  Handles of older consoles are no handles, and are
// shared anyway.
//

static
HANDLE
BaseShareHandle(
    _In_ const READER_PROGRAM *Program,
    _In_opt_ HANDLE Handle
    )
{
    if (Handle != NULL && Handle != INVALID_HANDLE_VALUE) {
        Program->Routines.SetHandleInformation(Handle,
                                               HANDLE_FLAG_INHERIT,
                                               HANDLE_FLAG_INHERIT);
    }

    return Handle;
}


_Use_decl_annotations_
NTSTATUS
BaseLoadProgram(
    PREADER_PROGRAM Program,
    PCREADER_CONTEXT Context
    )
{
    HMODULE Module = Context->Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);

    RtlZeroBytes(Program, sizeof(*Program));
    Program->Context = Context;
    return Module == NULL ||
                   RtlLoadSymbols(Module,
                                  BaseProgramNames,
                                  (PVOID *)&Program->Routines,
                                  RTL_NUMBER_OF(BaseProgramNames),
                                  NULL) != 0
               ? STATUS_NOT_SUPPORTED
               : STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
BasePipeProgram(
    const READER_PROGRAM *Program,
    PHANDLE Read,
    PHANDLE Write
    )
{
    return Program->Routines.CreatePipe(Read, Write, NULL, 0)
               ? STATUS_SUCCESS
               : BaseQueryLastStatus(Program);
}


_Use_decl_annotations_
NTSTATUS
BaseStartProgram(
    PREADER_PROGRAM Program,
    PWSTR CommandLine,
    HANDLE Input,
    PHANDLE Thread
    )
{
    PCRTL Rtl = Program->Context->Rtl;
    PROCESS_INFORMATION Process;
    STARTUPINFOW Startup;
    NTSTATUS Status;

    RtlZeroBytes(&Startup, sizeof(Startup));
    RtlZeroBytes(&Process, sizeof(Process));
    Startup.cb = sizeof(Startup);
    Startup.dwFlags = STARTF_USESTDHANDLES;
    Startup.hStdInput = BaseShareHandle(
        Program,
        Input != NULL ? Input : Rtl->GetStdHandle(STD_INPUT_HANDLE));
    Startup.hStdOutput = BaseShareHandle(Program,
                                         Rtl->GetStdHandle(STD_OUTPUT_HANDLE));
    Startup.hStdError = BaseShareHandle(Program,
                                        Rtl->GetStdHandle(STD_ERROR_HANDLE));
    Program->Routines.SetConsoleCtrlHandler(BaseIgnoreBreak, TRUE);
    if (!Program->Routines.CreateProcessW(NULL,
                                          CommandLine,
                                          NULL,
                                          NULL,
                                          TRUE,
                                          Thread != NULL ? CREATE_SUSPENDED
                                                         : 0,
                                          NULL,
                                          NULL,
                                          &Startup,
                                          &Process)) {
        Status = BaseQueryLastStatus(Program);
        BaseTakeBreak(Program);
        return Status;
    }

    if (Thread != NULL) {
        *Thread = Process.hThread;
    } else {
        Rtl->NtClose(Process.hThread);
    }
    Program->Process = Process.hProcess;
    Program->ProcessId = Process.dwProcessId;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
BaseTakeBreak(
    const READER_PROGRAM *Program
    )
{
    Program->Routines.SetConsoleCtrlHandler(BaseIgnoreBreak, FALSE);
}

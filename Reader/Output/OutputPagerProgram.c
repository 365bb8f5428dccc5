/*++

Module Name:

    OutputPagerProgram.c

Abstract:

    A program that shows the output page by page: what --pager, TRACER_PAGER and
    PAGER name.

    The text goes to it through a pipe, in UTF-8.  It is started without a
    shell, so that its absence is known at once.

--*/

#include "../../Rtl/RtlTeb.h"
#include "OutputPagerProgram.h"

typedef BOOL (WINAPI READER_CREATE_PIPE)(
    _Out_ PHANDLE Read,
    _Out_ PHANDLE Write,
    _In_opt_ LPSECURITY_ATTRIBUTES Attributes,
    _In_ DWORD Size
    );

typedef BOOL (WINAPI READER_SHARE_HANDLE)(
    _In_ HANDLE Handle,
    _In_ DWORD Mask,
    _In_ DWORD Flags
    );

typedef BOOL (WINAPI READER_START_PROCESS)(
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

typedef BOOL (WINAPI READER_SET_HANDLER)(
    _In_opt_ PHANDLER_ROUTINE Handler,
    _In_ BOOL IsAdded
    );

#define READER_PAGER_ROUTINES_LIST(ENTRY)                                   \
    ENTRY(READER_CREATE_PIPE, CreatePipe)                                   \
    ENTRY(READER_SHARE_HANDLE, SetHandleInformation)                        \
    ENTRY(READER_START_PROCESS, CreateProcessW)                             \
    ENTRY(READER_SET_HANDLER, SetConsoleCtrlHandler)

#define READER_PAGER_FIELD(Type, Name) Type *Name;
#define READER_PAGER_NAME(Type, Name) #Name,

typedef struct _READER_PAGER_ROUTINES {
    READER_PAGER_ROUTINES_LIST(READER_PAGER_FIELD)
} READER_PAGER_ROUTINES;

static const PCSZ OutputPagerNames[] = {
    READER_PAGER_ROUTINES_LIST(READER_PAGER_NAME)
};

#define READER_STATUS_WIN32(Error) ((NTSTATUS)(0xC0070000 | (Error)))

//
// What git gives less, too: colours, and what it showed stays on the screen.
//

#define READER_LESS_OPTIONS L"FRX"


_Use_decl_annotations_
BOOLEAN
OutputIsLess(
    PCWSTR Command
    )
{
    static const WCHAR Less[] = L"less";
    BOOLEAN IsQuoted = Command[0] == L'"';
    ULONG Start = 0;
    ULONG Index;

    for (Index = IsQuoted ? 1 : 0; Command[Index] != 0; Index++) {
        if (Command[Index] == (IsQuoted ? L'"' : L' ')) {
            break;
        }
        if (Command[Index] == L'\\' || Command[Index] == L'/' ||
            Command[Index] == L'"') {
            Start = Index + 1;
        }
    }

    Start += IsQuoted && Start == 0 ? 1 : 0;
    for (Index = 0; Less[Index] != 0; Index++) {
        if ((Command[Start + Index] | 0x20) != Less[Index]) {
            return FALSE;
        }
    }

    return Command[Start + Index] == 0 || Command[Start + Index] == L' ' ||
           Command[Start + Index] == L'.' || Command[Start + Index] == L'"';
}


//
// Ctrl+C is the program's: this one goes on, until the program reads no more.
//

static
BOOL
WINAPI
OutputIgnoreBreak(
    _In_ DWORD Type
    )
{
    return Type == CTRL_C_EVENT || Type == CTRL_BREAK_EVENT;
}


_Use_decl_annotations_
NTSTATUS
OutputStartProgram(
    PREADER_PAGER_PROGRAM Program,
    PCREADER_CONTEXT Context,
    PCWSTR Command
    )
{
    PCRTL Rtl = Context->Rtl;
    PCALLOCATOR Allocator = Context->Allocator;
    HMODULE Module = Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    SIZE_T Size = ((SIZE_T)RtlLengthOfWideString(Command) + 1) * sizeof(WCHAR);
    READER_PAGER_ROUTINES Routines;
    PROCESS_INFORMATION Process;
    STARTUPINFOW Startup;
    UNICODE_STRING Value;
    WCHAR Buffer[4];
    PWCHAR Copy;
    HANDLE Read;
    HANDLE Write;
    ULONG Error;
    BOOL IsStarted;

    RtlZeroBytes(Program, sizeof(*Program));
    Program->Rtl = Rtl;
    if (Module == NULL ||
        RtlLoadSymbols(Module,
                       OutputPagerNames,
                       (PVOID *)&Routines,
                       RTL_NUMBER_OF(OutputPagerNames),
                       NULL) != 0) {
        return STATUS_NOT_SUPPORTED;
    }

    //
    // CreateProcessW may write to it.
    //

    Copy = (PWCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (Copy == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Copy, Command, Size);
    if (!Routines.CreatePipe(&Read, &Write, NULL, 0)) {
        Error = __readgsdword(TEB_LAST_ERROR);
        Allocator->Free(Allocator->Context, Copy);
        return READER_STATUS_WIN32(Error & 0xFFFF);
    }

    if (OutputIsLess(Command) &&
        RtlQueryEnvironment(Rtl, L"LESS", Buffer, RTL_NUMBER_OF(Buffer),
                            &Value) == STATUS_VARIABLE_NOT_FOUND) {
        RtlPointUnicodeString(&Value,
                              READER_LESS_OPTIONS,
                              RTL_NUMBER_OF(READER_LESS_OPTIONS) - 1);
        (VOID)RtlSetEnvironment(Rtl, L"LESS", &Value);
    }

    RtlZeroBytes(&Startup, sizeof(Startup));
    RtlZeroBytes(&Process, sizeof(Process));
    Startup.cb = sizeof(Startup);
    Startup.dwFlags = STARTF_USESTDHANDLES;
    Startup.hStdInput = Read;
    Startup.hStdOutput = Rtl->GetStdHandle(STD_OUTPUT_HANDLE);
    Startup.hStdError = Rtl->GetStdHandle(STD_ERROR_HANDLE);
    Routines.SetHandleInformation(Read,
                                  HANDLE_FLAG_INHERIT,
                                  HANDLE_FLAG_INHERIT);
    Routines.SetHandleInformation(Startup.hStdOutput,
                                  HANDLE_FLAG_INHERIT,
                                  HANDLE_FLAG_INHERIT);
    Routines.SetHandleInformation(Startup.hStdError,
                                  HANDLE_FLAG_INHERIT,
                                  HANDLE_FLAG_INHERIT);
    IsStarted = Routines.CreateProcessW(NULL,
                                        Copy,
                                        NULL,
                                        NULL,
                                        TRUE,
                                        0,
                                        NULL,
                                        NULL,
                                        &Startup,
                                        &Process);
    Error = __readgsdword(TEB_LAST_ERROR);
    Allocator->Free(Allocator->Context, Copy);
    Rtl->NtClose(Read);
    if (!IsStarted) {
        Rtl->NtClose(Write);
        return Error == ERROR_FILE_NOT_FOUND || Error == ERROR_PATH_NOT_FOUND
                   ? STATUS_OBJECT_NAME_NOT_FOUND
                   : READER_STATUS_WIN32(Error & 0xFFFF);
    }

    Routines.SetConsoleCtrlHandler(OutputIgnoreBreak, TRUE);
    Rtl->NtClose(Process.hThread);
    Program->Process = Process.hProcess;
    Program->Pipe = Write;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
OutputWriteToProgram(
    const READER_PAGER_PROGRAM *Program,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    DWORD Written;

    while (SizeInBytes != 0) {

        Written = 0;
        if (!Program->Rtl->WriteFile(Program->Pipe,
                                     Bytes,
                                     SizeInBytes,
                                     &Written,
                                     NULL) ||
            Written == 0 || Written > SizeInBytes) {
            return STATUS_PIPE_BROKEN;
        }

        Bytes += Written;
        SizeInBytes -= Written;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
OutputWaitForProgram(
    PREADER_PAGER_PROGRAM Program
    )
{
    if (Program->Pipe != NULL) {
        Program->Rtl->NtClose(Program->Pipe);
        (VOID)Program->Rtl->NtWaitForSingleObject(Program->Process,
                                                  FALSE,
                                                  NULL);
        Program->Rtl->NtClose(Program->Process);
        Program->Pipe = NULL;
    }
}

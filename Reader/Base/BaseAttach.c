/*++

Module Name:

    BaseAttach.c

Abstract:

    TracerImports.dll in a process that runs: a thread is made there whose
    routine is LoadLibraryW, and another one at the DLL's routine that takes
    requests.  What they need is written into the process's memory.

    LoadLibraryW is at the same address in all processes of a machine's boot.
    The DLL's routine is as far behind the DLL's beginning as in the file, which
    is mapped here to look; that it is the same file there its headers say.

    What comes back is the process's word, which may be anything: lengths are
    checked here.

--*/

#include "../../Rtl/RtlTeb.h"
#include "BaseAttach.h"
#include "BaseInject.h"

//
// How long a thread is waited for, 100 ns.
//

#define READER_ATTACH_PATIENCE      (-600000000LL)      // 60 s

#define READER_ATTACH_LOOK          0x1000u // PROCESS_QUERY_LIMITED_INFORMATION
#define READER_ATTACH_ACCESS                                                \
    (PROCESS_CREATE_THREAD | PROCESS_VM_OPERATION | PROCESS_VM_READ |       \
     PROCESS_VM_WRITE | PROCESS_QUERY_INFORMATION | SYNCHRONIZE)

//
// Classes of information, and flags.
//

#define READER_PROCESS_SESSION      24      // ProcessSessionInformation
#define READER_PROCESS_IS_WOW64     26      // ProcessWow64Information
#define READER_PROCESS_PROTECTION   61      // ProcessProtectionInformation
#define READER_PROCESS_DELETING     0x4     // of the extended basic ones
#define READER_TOKEN_ELEVATION      20      // TokenElevation
#define READER_TOKEN_INTEGRITY      25      // TokenIntegrityLevel
#define READER_POLICY_SIGNATURE     8       // ProcessSignaturePolicy
#define READER_POLICY_MICROSOFT     0x1
#define READER_POLICY_STORE         0x2
#define READER_NO_REFERENCES        0x1     // DONT_RESOLVE_DLL_REFERENCES
#define READER_ATTACH_MODULES       1024
#define READER_STATUS_PENDING       ((NTSTATUS)0x103)

typedef HANDLE (WINAPI READER_CREATE_REMOTE_THREAD)(
    _In_ HANDLE Process,
    _In_opt_ LPSECURITY_ATTRIBUTES Security,
    _In_ SIZE_T StackSize,
    _In_ PVOID Routine,
    _In_opt_ PVOID Parameter,
    _In_ DWORD Flags,
    _Out_opt_ PDWORD ThreadId
    );

typedef BOOL (WINAPI READER_COPY_MEMORY)(
    _In_ HANDLE Process,
    _In_ PVOID Address,
    _Inout_ PVOID Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_opt_ SIZE_T *Copied
    );

typedef BOOL (WINAPI READER_GET_EXIT_CODE_THREAD)(
    _In_ HANDLE Thread,
    _Out_ PDWORD ExitCode
    );

typedef BOOL (WINAPI READER_ENUMERATE_MODULES)(
    _In_ HANDLE Process,
    _Out_ HMODULE *Modules,
    _In_ DWORD SizeInBytes,
    _Out_ PDWORD Needed
    );

typedef DWORD (WINAPI READER_GET_MODULE_NAME)(
    _In_ HANDLE Process,
    _In_opt_ HMODULE Module,
    _Out_writes_(Size) PWSTR Name,
    _In_ DWORD Size
    );

typedef DWORD (WINAPI READER_GET_ERROR)(
    VOID
    );

typedef BOOL (WINAPI READER_GET_POLICY)(
    _In_ HANDLE Process,
    _In_ ULONG Policy,
    _Out_ PVOID Buffer,
    _In_ SIZE_T Length
    );

#define READER_ATTACH_ROUTINES_LIST(ENTRY)                                  \
    ENTRY(READER_CREATE_REMOTE_THREAD, CreateRemoteThread)                  \
    ENTRY(READER_COPY_MEMORY, WriteProcessMemory)                           \
    ENTRY(READER_COPY_MEMORY, ReadProcessMemory)                            \
    ENTRY(READER_GET_EXIT_CODE_THREAD, GetExitCodeThread)                   \
    ENTRY(READER_GET_ERROR, GetLastError)                                   \
    ENTRY(VOID, LoadLibraryW)                                               \
    ENTRY(READER_ENUMERATE_MODULES, K32EnumProcessModules)                  \
    ENTRY(READER_GET_MODULE_NAME, K32GetModuleFileNameExW)                  \
    ENTRY(READER_GET_POLICY, GetProcessMitigationPolicy)

#define READER_ATTACH_FIELD(Type, Name) Type *Name;
#define READER_ATTACH_NAME(Type, Name) #Name,

typedef struct _READER_ATTACH_ROUTINES {
    READER_ATTACH_ROUTINES_LIST(READER_ATTACH_FIELD)
} READER_ATTACH_ROUTINES;

static const PCSZ BaseAttachNames[] = {
    READER_ATTACH_ROUTINES_LIST(READER_ATTACH_NAME)
};

//
// The last one may be missing (Windows 7).
//

#define READER_ATTACH_OPTIONAL 1

typedef struct _READER_ATTACH_PRIVATE {
    READER_ATTACH_ROUTINES Routines;
    PVOID Routine;                  // the DLL's, in the process
    HMODULE Modules[READER_ATTACH_MODULES];
    WCHAR Path[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} READER_ATTACH_PRIVATE;
typedef READER_ATTACH_PRIVATE *PREADER_ATTACH_PRIVATE;

static
READER_ATTACH_END
BaseAttachFail(
    _Inout_ PREADER_ATTACH Attach,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    )
{
    Attach->Step = Step;
    Attach->Status = Status;
    return ReaderAttachFailed;
}

//
// What the last routine of kernel32 has failed with.
//

static
NTSTATUS
BaseAttachLastStatus(
    _In_ PREADER_ATTACH Attach
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    DWORD Error = Private->Routines.GetLastError();

    return Error == ERROR_ACCESS_DENIED
               ? STATUS_ACCESS_DENIED
               : (NTSTATUS)(0xC0070000 | (Error & 0xFFFF));
}

static
VOID
BaseAttachQueryUser(
    _In_ PCRTL Rtl,
    _In_ HANDLE Process,
    _Out_ PREADER_PROCESS_USER User
    )
{
    RTL_USER Known;
    HANDLE Token;
    ULONG Elevated = 0;
    ULONG Returned;
    struct {
        const UCHAR *Sid;
        ULONG Attributes;
        UCHAR Bytes[RTL_MAXIMUM_SID_IN_BYTES];
    } Label;

    RtlZeroBytes(User, sizeof(*User));
    if (!NT_SUCCESS(RtlQueryUser(Rtl, Process, &Known))) {
        return;
    }

    User->IsKnown = TRUE;
    User->IsContainer = Known.IsContainer;
    User->SidSize = Known.SidSize;
    RtlCopyBytes(User->Sid, Known.Sid, Known.SidSize);
    if (!NT_SUCCESS(Rtl->NtOpenProcessToken(Process, TOKEN_QUERY, &Token))) {
        return;
    }

    if (NT_SUCCESS(Rtl->NtQueryInformationToken(Token,
                                                READER_TOKEN_ELEVATION,
                                                &Elevated,
                                                sizeof(Elevated),
                                                &Returned))) {
        User->IsElevated = Elevated != 0;
    }

    //
    // One subauthority, behind the eight bytes that a SID begins with.
    //

    if (NT_SUCCESS(Rtl->NtQueryInformationToken(Token,
                                                READER_TOKEN_INTEGRITY,
                                                &Label,
                                                sizeof(Label),
                                                &Returned)) &&
        Label.Sid >= (const UCHAR *)&Label &&
        Label.Sid + 12 <= (const UCHAR *)(&Label + 1)) {

        User->Integrity = *(const ULONG *)(Label.Sid + 8);
    }

    RtlClose(Rtl, Token);
}

//
// Finds out what there is to know of a process that has been opened.
// Process: with as many rights as could be had.
//

static
VOID
BaseAttachLook(
    _In_ PREADER_ATTACH Attach,
    _In_ HANDLE Process,
    _Inout_ PREADER_PROCESS_FACTS Facts
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    PCRTL Rtl = Attach->Context->Rtl;
    RTL_PROCESS_BASIC Basic;
    struct {
        SIZE_T Size;
        RTL_PROCESS_BASIC Basic;
        ULONG Flags;
        ULONG Padding;
    } Extended;
    ULONG_PTR Wow64 = 0;
    ULONG Policy = 0;

    if (NT_SUCCESS(Rtl->NtQueryInformationProcess(
            Process,
            RTL_PROCESS_BASIC_INFORMATION,
            &Basic,
            sizeof(Basic),
            NULL))) {
        Facts->IsEnding = Basic.ExitStatus != READER_STATUS_PENDING;
    }

    RtlZeroBytes(&Extended, sizeof(Extended));
    Extended.Size = sizeof(Extended);
    if (NT_SUCCESS(Rtl->NtQueryInformationProcess(
            Process,
            RTL_PROCESS_BASIC_INFORMATION,
            &Extended,
            sizeof(Extended),
            NULL)) &&
        (Extended.Flags & READER_PROCESS_DELETING) != 0) {
        Facts->IsEnding = TRUE;
    }

    if (NT_SUCCESS(Rtl->NtQueryInformationProcess(Process,
                                                  READER_PROCESS_IS_WOW64,
                                                  &Wow64,
                                                  sizeof(Wow64),
                                                  NULL))) {
        Facts->Is32Bit = Wow64 != 0;
    }

    Facts->AreSessionsKnown =
        NT_SUCCESS(Rtl->NtQueryInformationProcess(
            Process,
            READER_PROCESS_SESSION,
            &Facts->SessionId,
            sizeof(Facts->SessionId),
            NULL)) &&
        NT_SUCCESS(Rtl->NtQueryInformationProcess(
            (HANDLE)(LONG_PTR)-1,
            READER_PROCESS_SESSION,
            &Facts->OwnSessionId,
            sizeof(Facts->OwnSessionId),
            NULL));
    if (!NT_SUCCESS(Rtl->NtQueryInformationProcess(
            Process,
            READER_PROCESS_PROTECTION,
            &Facts->Protection,
            sizeof(Facts->Protection),
            NULL))) {
        Facts->Protection = 0;
    }

    if (Private->Routines.GetProcessMitigationPolicy != NULL &&
        Private->Routines.GetProcessMitigationPolicy(Process,
                                                     READER_POLICY_SIGNATURE,
                                                     &Policy,
                                                     sizeof(Policy))) {
        Facts->IsSignedOnly = (Policy & READER_POLICY_MICROSOFT) != 0;
        Facts->IsStoreSignedOnly = (Policy & READER_POLICY_STORE) != 0;
    }

    BaseAttachQueryUser(Rtl, Process, &Facts->User);
}

static
NTSTATUS
BaseAttachOpenProcess(
    _In_ PREADER_ATTACH Attach,
    _In_ ULONG Access,
    _Out_ PHANDLE Process
    )
{
    OBJECT_ATTRIBUTES Attributes;
    struct {
        HANDLE Process;
        HANDLE Thread;
    } ClientId;
    NTSTATUS Status;

    ClientId.Process = (HANDLE)(ULONG_PTR)Attach->ProcessId;
    ClientId.Thread = NULL;
    InitializeObjectAttributes(&Attributes, NULL, 0, NULL, NULL);
    Status = Attach->Context->Rtl->NtOpenProcess(Process,
                                                 Access,
                                                 &Attributes,
                                                 &ClientId);
    if (!NT_SUCCESS(Status)) {
        *Process = NULL;
    }

    return Status;
}

static
VOID
BaseAttachFindName(
    _Inout_ PREADER_ATTACH Attach
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    UNICODE_STRING Path;
    UNICODE_STRING Base;
    ULONG Length;

    Length = Private->Routines.K32GetModuleFileNameExW(
        Attach->Process, NULL, Private->Path, RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Path, Private->Path, Length);
    RtlBaseName(&Path, &Base);
    RtlWideToUtf8(Base.Buffer,
                  Base.Length / sizeof(WCHAR),
                  Attach->Name,
                  sizeof(Attach->Name) - 1,
                  &Attach->NameLength);
    Attach->Name[Attach->NameLength] = 0;
}

_Use_decl_annotations_
READER_ATTACH_END
BaseAttachOpen(
    PREADER_ATTACH Attach,
    PCREADER_CONTEXT Context,
    ULONG ProcessId
    )
{
    PREADER_ATTACH_PRIVATE Private;
    READER_PROCESS_FACTS Facts;
    HANDLE Looked = NULL;
    HMODULE Module;

    RtlZeroBytes(Attach, sizeof(*Attach));
    Attach->Context = Context;
    Attach->ProcessId = ProcessId;
    Private = (PREADER_ATTACH_PRIVATE)Context->Allocator->Allocate(
        Context->Allocator->Context, sizeof(*Private));
    if (Private == NULL) {
        return BaseAttachFail(Attach, "opening it", STATUS_NO_MEMORY);
    }

    Attach->Private = Private;
    RtlZeroBytes(Private, sizeof(*Private));
    Module = Context->Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    if (Module == NULL ||
        RtlLoadSymbols(Module,
                       BaseAttachNames,
                       (PVOID *)&Private->Routines,
                       RTL_NUMBER_OF(BaseAttachNames) - READER_ATTACH_OPTIONAL,
                       NULL) != 0) {
        return BaseAttachFail(Attach,
                              "finding the system's routines",
                              STATUS_ENTRYPOINT_NOT_FOUND);
    }

    (VOID)RtlLoadSymbols(
        Module,
        BaseAttachNames + RTL_NUMBER_OF(BaseAttachNames) -
            READER_ATTACH_OPTIONAL,
        (PVOID *)&Private->Routines.GetProcessMitigationPolicy,
        READER_ATTACH_OPTIONAL,
        NULL);

    RtlZeroBytes(&Facts, sizeof(Facts));
    Facts.ProcessId = ProcessId;
    Facts.OwnProcessId = __readgsdword(TEB_PROCESS_ID);
    BaseAttachQueryUser(Context->Rtl,
                        (HANDLE)(LONG_PTR)-1,
                        &Facts.OwnUser);
    Facts.LookStatus = BaseAttachOpenProcess(Attach,
                                             READER_ATTACH_LOOK,
                                             &Looked);
    Facts.OpenStatus = BaseAttachOpenProcess(Attach,
                                             READER_ATTACH_ACCESS,
                                             &Attach->Process);
    if (Attach->Process != NULL || Looked != NULL) {
        BaseAttachLook(Attach,
                       Attach->Process != NULL ? Attach->Process : Looked,
                       &Facts);
    }

    RtlClose(Context->Rtl, Looked);
    if (BaseRefuseProcess(&Facts, &Attach->Refusal)) {
        return ReaderAttachRefused;
    }

    BaseAttachFindName(Attach);
    return ReaderAttachAnswered;
}

//
// Runs a routine of the process's on a thread of its own there.
// ExitCode: the thread's.
//

static
READER_ATTACH_END
BaseAttachCall(
    _Inout_ PREADER_ATTACH Attach,
    _In_ PVOID Routine,
    _In_ PVOID Parameter,
    _Out_ PDWORD ExitCode
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    PCRTL Rtl = Attach->Context->Rtl;
    LARGE_INTEGER Timeout;
    HANDLE Thread;
    NTSTATUS Status;

    *ExitCode = 0;
    Thread = Private->Routines.CreateRemoteThread(Attach->Process,
                                                  NULL,
                                                  0,
                                                  Routine,
                                                  Parameter,
                                                  0,
                                                  NULL);
    if (Thread == NULL) {
        return BaseAttachFail(Attach,
                              "making a thread in it",
                              BaseAttachLastStatus(Attach));
    }

    Timeout.QuadPart = READER_ATTACH_PATIENCE;
    Status = Rtl->NtWaitForSingleObject(Thread, FALSE, &Timeout);
    if (Status == STATUS_SUCCESS &&
        !Private->Routines.GetExitCodeThread(Thread, ExitCode)) {
        Status = BaseAttachLastStatus(Attach);
    }

    RtlClose(Rtl, Thread);
    if (Status != STATUS_SUCCESS) {
        (VOID)BaseAttachFail(Attach, "waiting for its thread", Status);
        return ReaderAttachSilent;
    }

    return ReaderAttachAnswered;
}

//
// Puts bytes into memory of the process's.  The caller frees it.
//

static
NTSTATUS
BaseAttachPut(
    _Inout_ PREADER_ATTACH Attach,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_ PVOID *Memory
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    SIZE_T Size = SizeInBytes;
    SIZE_T Written = 0;
    NTSTATUS Status;

    *Memory = NULL;
    Status = Attach->Context->Rtl->NtAllocateVirtualMemory(
        Attach->Process,
        Memory,
        0,
        &Size,
        MEM_RESERVE | MEM_COMMIT,
        PAGE_READWRITE);
    if (!NT_SUCCESS(Status)) {
        *Memory = NULL;
        return Status;
    }

    if (!Private->Routines.WriteProcessMemory(Attach->Process,
                                              *Memory,
                                              (PVOID)(ULONG_PTR)Bytes,
                                              SizeInBytes,
                                              &Written) ||
        Written != SizeInBytes) {
        return BaseAttachLastStatus(Attach);
    }

    return STATUS_SUCCESS;
}

static
VOID
BaseAttachFree(
    _Inout_ PREADER_ATTACH Attach,
    _In_opt_ PVOID Memory
    )
{
    SIZE_T Size = 0;

    if (Memory != NULL) {
        (VOID)Attach->Context->Rtl->NtFreeVirtualMemory(Attach->Process,
                                                        &Memory,
                                                        &Size,
                                                        MEM_RELEASE);
    }
}

static
BOOLEAN
BaseAttachRead(
    _Inout_ PREADER_ATTACH Attach,
    _In_ const VOID *Address,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ SIZE_T SizeInBytes
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    SIZE_T Read = 0;

    return Private->Routines.ReadProcessMemory(Attach->Process,
                                               (PVOID)(ULONG_PTR)Address,
                                               Bytes,
                                               SizeInBytes,
                                               &Read) &&
           Read == SizeInBytes;
}

//
// Has a module of the process the headers of one that is mapped here?
//

static
BOOLEAN
BaseAttachIsSame(
    _Inout_ PREADER_ATTACH Attach,
    _In_ const BYTE *There,
    _In_ const BYTE *Here
    )
{
    ULONG Offset = (ULONG)((const IMAGE_DOS_HEADER *)Here)->e_lfanew;
    const IMAGE_NT_HEADERS64 *Own =
        (const IMAGE_NT_HEADERS64 *)(Here + Offset);
    IMAGE_NT_HEADERS64 Headers;

    return BaseAttachRead(Attach, There + Offset, &Headers, sizeof(Headers)) &&
           RtlAreBytesEqual(&Headers.FileHeader,
                            &Own->FileHeader,
                            sizeof(Headers.FileHeader)) &&
           Headers.OptionalHeader.SizeOfImage ==
               Own->OptionalHeader.SizeOfImage &&
           Headers.OptionalHeader.CheckSum == Own->OptionalHeader.CheckSum;
}

//
// Looks for the DLL in the process, and for its routine.
//

static
READER_ATTACH_END
BaseAttachFind(
    _Inout_ PREADER_ATTACH Attach,
    _In_z_ PCWSTR Path
    )
{
    static const WCHAR Name[] = READER_IMPORTS_DLL;
    static const PCSZ Names[] = { IMPORTS_REQUEST_NAME };
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    PCRTL Rtl = Attach->Context->Rtl;
    UNICODE_STRING Full;
    UNICODE_STRING Base;
    PVOID Routine;
    HMODULE Here;
    DWORD Needed = 0;
    ULONG Length;
    ULONG Index;
    ULONG Letter;

    if (!Private->Routines.K32EnumProcessModules(Attach->Process,
                                                 Private->Modules,
                                                 sizeof(Private->Modules),
                                                 &Needed)) {
        return BaseAttachFail(Attach,
                              "listing its modules",
                              BaseAttachLastStatus(Attach));
    }

    Length = Needed / sizeof(HMODULE);
    if (Length > RTL_NUMBER_OF(Private->Modules)) {
        Length = RTL_NUMBER_OF(Private->Modules);
    }

    for (Index = 0; Index < Length; Index++) {
        RtlPointUnicodeString(
            &Full,
            Private->Path,
            Private->Routines.K32GetModuleFileNameExW(
                Attach->Process,
                Private->Modules[Index],
                Private->Path,
                RTL_MAXIMUM_PATH_IN_CHARS));
        RtlBaseName(&Full, &Base);
        Letter = 0;
        while (Letter < RTL_NUMBER_OF(Name) - 1 &&
               Base.Length == sizeof(Name) - sizeof(WCHAR) &&
               Rtl->RtlUpcaseUnicodeChar(Base.Buffer[Letter]) ==
                   Rtl->RtlUpcaseUnicodeChar(Name[Letter])) {
            Letter += 1;
        }
        if (Letter == RTL_NUMBER_OF(Name) - 1) {
            break;
        }
    }

    if (Index == Length) {
        return ReaderAttachNotLoaded;
    }

    Here = Rtl->LoadLibraryExW(Path, NULL, READER_NO_REFERENCES);
    if (Here == NULL) {
        return BaseAttachFail(Attach,
                              "mapping TracerImports.dll",
                              BaseAttachLastStatus(Attach));
    }

    if (!BaseAttachIsSame(Attach,
                          (const BYTE *)Private->Modules[Index],
                          (const BYTE *)Here) ||
        RtlLoadSymbols(Here, Names, &Routine, 1, NULL) != 0) {

        Rtl->FreeLibrary(Here);
        return ReaderAttachOther;
    }

    Private->Routine = (PBYTE)Private->Modules[Index] +
                       ((PBYTE)Routine - (PBYTE)Here);
    Rtl->FreeLibrary(Here);
    return ReaderAttachAnswered;
}

_Use_decl_annotations_
READER_ATTACH_END
BaseAttachLoad(
    PREADER_ATTACH Attach,
    PCWSTR Path,
    BOOLEAN IsLoaded
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    READER_ATTACH_END End;
    PVOID Memory;
    DWORD Code;
    NTSTATUS Status;

    End = BaseAttachFind(Attach, Path);
    if (End != ReaderAttachNotLoaded || !IsLoaded) {
        return End;
    }

    Status = BaseAttachPut(Attach,
                           Path,
                           ((SIZE_T)RtlLengthOfWideString(Path) + 1) *
                               sizeof(WCHAR),
                           &Memory);
    if (!NT_SUCCESS(Status)) {
        BaseAttachFree(Attach, Memory);
        return BaseAttachFail(Attach, "writing into it", Status);
    }

    End = BaseAttachCall(Attach,
                         (PVOID)Private->Routines.LoadLibraryW,
                         Memory,
                         &Code);
    if (End != ReaderAttachSilent) {
        BaseAttachFree(Attach, Memory);
    }
    if (End != ReaderAttachAnswered) {
        return End;
    }

    End = BaseAttachFind(Attach, Path);
    return End == ReaderAttachNotLoaded
               ? BaseAttachFail(Attach,
                                "loading TracerImports.dll, which it did not",
                                STATUS_DLL_NOT_FOUND)
               : End;
}

_Use_decl_annotations_
READER_ATTACH_END
BaseAttachAsk(
    PREADER_ATTACH Attach,
    ULONG Kind,
    PCWSTR Settings,
    ULONG FirstLength,
    ULONG SecondLength
    )
{
    PREADER_ATTACH_PRIVATE Private = (PREADER_ATTACH_PRIVATE)Attach->Private;
    PCALLOCATOR Allocator = Attach->Context->Allocator;
    PIMPORTS_REQUEST Request = Attach->Request;
    READER_ATTACH_END End;
    PVOID Memory;
    DWORD Code;
    SIZE_T Length = ((SIZE_T)FirstLength + SecondLength) * sizeof(WCHAR);
    SIZE_T Size = sizeof(*Request) + Length;
    NTSTATUS Status;

    Allocator->Free(Allocator->Context, Request);
    Attach->Request = NULL;
    Request = Size > IMPORTS_REQUEST_MAXIMUM
                  ? NULL
                  : (PIMPORTS_REQUEST)Allocator->Allocate(Allocator->Context,
                                                          Size);
    if (Request == NULL) {
        return BaseAttachFail(Attach, "asking it", STATUS_NO_MEMORY);
    }

    Attach->Request = Request;
    RtlZeroBytes(Request, Size);
    Request->Magic = IMPORTS_REQUEST_MAGIC;
    Request->Version = IMPORTS_REQUEST_VERSION;
    Request->SizeInBytes = (ULONG)Size;
    Request->Kind = Kind;
    Request->FirstLength = FirstLength;
    Request->SecondLength = SecondLength;
    RtlCopyBytes(Request->Settings, Settings, Length);
    Status = BaseAttachPut(Attach, Request, Size, &Memory);
    if (!NT_SUCCESS(Status)) {
        BaseAttachFree(Attach, Memory);
        return BaseAttachFail(Attach, "writing into it", Status);
    }

    End = BaseAttachCall(Attach, Private->Routine, Memory, &Code);
    if (End == ReaderAttachAnswered &&
        !BaseAttachRead(Attach, Memory, Request, sizeof(*Request))) {
        End = BaseAttachFail(Attach,
                             "reading its answer",
                             BaseAttachLastStatus(Attach));
    }
    if (End != ReaderAttachSilent) {
        BaseAttachFree(Attach, Memory);
    }
    if (End != ReaderAttachAnswered) {
        return End;
    }

    if (Request->TextLength > sizeof(Request->Text)) {
        Request->TextLength = sizeof(Request->Text);
    }
    if (Request->PathLength > IMPORTS_REQUEST_PATH_LENGTH - 1) {
        Request->PathLength = 0;
    }
    Request->Path[Request->PathLength] = 0;
    return End;
}

_Use_decl_annotations_
VOID
BaseAttachClose(
    PREADER_ATTACH Attach
    )
{
    PCALLOCATOR Allocator = Attach->Context->Allocator;

    RtlClose(Attach->Context->Rtl, Attach->Process);
    Attach->Process = NULL;
    Allocator->Free(Allocator->Context, Attach->Request);
    Allocator->Free(Allocator->Context, Attach->Private);
    Attach->Request = NULL;
    Attach->Private = NULL;
}

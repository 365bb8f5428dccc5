/*++

Module Name:

    BaseInject.c

Abstract:

    A DLL is loaded by a program before it begins.

    The program's first thread is created suspended, and gets a call of
    LoadLibraryW queued: it comes to that when the loader has done its work for
    all that the program is linked to, and before the entry point.  LoadLibraryW
    is at the same address in all processes of a machine's boot.

--*/

#include "BaseInject.h"

typedef BOOL (WINAPI READER_WRITE_PROCESS_MEMORY)(
    _In_ HANDLE Process,
    _In_ PVOID Address,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_opt_ SIZE_T *Written
    );

typedef DWORD (WINAPI READER_QUEUE_USER_APC)(
    _In_ PVOID Routine,
    _In_ HANDLE Thread,
    _In_ ULONG_PTR Argument
    );

typedef HANDLE (WINAPI READER_CREATE_EVENT_W)(
    _In_opt_ LPSECURITY_ATTRIBUTES Security,
    _In_ BOOL IsManual,
    _In_ BOOL IsSet,
    _In_z_ PCWSTR Name
    );

typedef DWORD (WINAPI READER_LOAD_GET_LAST_ERROR)(
    VOID
    );

#define READER_LOAD_ROUTINES_LIST(ENTRY)                                    \
    ENTRY(READER_WRITE_PROCESS_MEMORY, WriteProcessMemory)                  \
    ENTRY(READER_QUEUE_USER_APC, QueueUserAPC)                              \
    ENTRY(READER_CREATE_EVENT_W, CreateEventW)                              \
    ENTRY(READER_LOAD_GET_LAST_ERROR, GetLastError)                         \
    ENTRY(VOID, LoadLibraryW)

#define READER_LOAD_FIELD(Type, Name) Type *Name;
#define READER_LOAD_NAME(Type, Name) #Name,

typedef struct _READER_LOAD_ROUTINES {
    READER_LOAD_ROUTINES_LIST(READER_LOAD_FIELD)
} READER_LOAD_ROUTINES;

static const PCSZ BaseInjectNames[] = {
    READER_LOAD_ROUTINES_LIST(READER_LOAD_NAME)
};

#define READER_PROCESS_WOW64 26         // ProcessWow64Information

_Use_decl_annotations_
NTSTATUS
BaseFindImportsDll(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PWCHAR Path
    )
{
    static const WCHAR Name[] = READER_IMPORTS_DLL;
    UNICODE_STRING Own;
    UNICODE_STRING BaseName;
    UNICODE_STRING NtPath;
    PWCHAR Buffer;
    HANDLE File;
    ULONG Length;
    NTSTATUS Status;

    Length = Rtl->GetModuleFileNameW(NULL, Path, RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Own, Path, Length);
    RtlBaseName(&Own, &BaseName);
    Length -= BaseName.Length / sizeof(WCHAR);
    if (Length == 0 ||
        Length + RTL_NUMBER_OF(Name) > RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    RtlCopyBytes(Path + Length, Name, sizeof(Name));
    RtlPointUnicodeString(&Own, Path, Length + RTL_NUMBER_OF(Name) - 1);
    Buffer = (PWCHAR)Allocator->Allocate(
        Allocator->Context, RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = RtlDosPathToNtPath(Rtl,
                                &Own,
                                Buffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
    }
    if (NT_SUCCESS(Status)) {
        RtlClose(Rtl, File);
    }

    Allocator->Free(Allocator->Context, Buffer);
    return Status;
}

//
// Makes the event that the DLL sets: nobody else may have made one of its name.
//

static
NTSTATUS
BaseMakeInjectEvent(
    _In_ const READER_LOAD_ROUTINES *Routines,
    _In_ PCRTL Rtl,
    _In_ ULONG ProcessId,
    _Out_ PHANDLE Event
    )
{
    RTL_WRITER Writer;
    CHAR Text[64];
    WCHAR Name[64];
    ULONG Length;
    DWORD Error;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "Local\\TracerImports-%u", ProcessId);
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Name,
                  RTL_NUMBER_OF(Name) - 1,
                  &Length);
    Name[Length] = 0;
    *Event = Routines->CreateEventW(NULL, TRUE, FALSE, Name);
    Error = Routines->GetLastError();
    if (*Event != NULL && Error == ERROR_ALREADY_EXISTS) {
        RtlClose(Rtl, *Event);
        *Event = NULL;
        return STATUS_OBJECT_NAME_COLLISION;
    }

    return *Event == NULL ? STATUS_ACCESS_DENIED : STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
BaseInjectDll(
    PCRTL Rtl,
    HANDLE Process,
    ULONG ProcessId,
    HANDLE Thread,
    PCWSTR Path,
    PREADER_LOAD Load
    )
{
    READER_LOAD_ROUTINES Routines;
    ULONG_PTR Wow64 = 0;
    HMODULE Module;
    PVOID Memory = NULL;
    SIZE_T Size;
    SIZE_T Written = 0;
    SIZE_T PathSize = ((SIZE_T)RtlLengthOfWideString(Path) + 1) *
                      sizeof(WCHAR);

    RtlZeroBytes(Load, sizeof(*Load));
    Load->Step = "finding the system's routines";
    Load->Status = STATUS_ENTRYPOINT_NOT_FOUND;
    Module = Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    if (Module == NULL ||
        RtlLoadSymbols(Module,
                       BaseInjectNames,
                       (PVOID *)&Routines,
                       RTL_NUMBER_OF(BaseInjectNames),
                       NULL) != 0) {
        return;
    }

    Load->Step = "looking at the program";
    Load->Status = Rtl->NtQueryInformationProcess(Process,
                                                  READER_PROCESS_WOW64,
                                                  &Wow64,
                                                  sizeof(Wow64),
                                                  NULL);
    if (!NT_SUCCESS(Load->Status)) {
        return;
    }

    if (Wow64 != 0) {
        Load->Step = "it is a 32-bit program";
        Load->Status = STATUS_NOT_SUPPORTED;
        Load->IsRefused = TRUE;
        return;
    }

    Load->Step = "making the event that it sets";
    Load->Status = BaseMakeInjectEvent(&Routines, Rtl, ProcessId, &Load->Event);
    if (!NT_SUCCESS(Load->Status)) {
        return;
    }

    Load->Step = "writing its path into the program";
    Size = PathSize;
    Load->Status = Rtl->NtAllocateVirtualMemory(Process,
                                                &Memory,
                                                0,
                                                &Size,
                                                MEM_RESERVE | MEM_COMMIT,
                                                PAGE_READWRITE);
    if (!NT_SUCCESS(Load->Status)) {
        return;
    }

    if (!Routines.WriteProcessMemory(Process,
                                     Memory,
                                     Path,
                                     PathSize,
                                     &Written) ||
        Written != PathSize) {
        Load->Status = STATUS_ACCESS_DENIED;
    }

    if (NT_SUCCESS(Load->Status)) {
        Load->Step = "queueing the call that loads it";
        if (!Routines.QueueUserAPC((PVOID)Routines.LoadLibraryW,
                                   Thread,
                                   (ULONG_PTR)Memory)) {
            Load->Status = STATUS_ACCESS_DENIED;
        }
    }

    if (NT_SUCCESS(Load->Status)) {
        Load->Step = NULL;
    } else {
        Size = 0;
        (VOID)Rtl->NtFreeVirtualMemory(Process, &Memory, &Size, MEM_RELEASE);
    }
}

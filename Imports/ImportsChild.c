/*++

Module Name:

    ImportsChild.c

Abstract:

    Processes that this one starts are recorded too, if TRACER_CHILDREN says so.

    All ways to start one lead through NtCreateUserProcess, whose slots in
    kernel32 and kernelbase are changed.  When it returns the new process has
    one thread, which is suspended whatever the program has asked for: it gets a
    call of LoadLibraryW queued, as TraceReader run does it (BaseInject.c), and
    whoever has called goes on, and lets it run or does not.  Nothing is waited
    for.

    The new process finds its settings in its own memory, where they were
    written before it ran: nobody's environment is changed, and only who may
    write there could have written them.

--*/

#include "../Rtl/RtlTeb.h"
#include "../TraceStore/TraceLog.h"
#include "ImportsChild.h"
#include "ImportsSlot.h"

#define IMPORTS_CHILD_MAGIC0    0x682D726563617254ULL   // "Tracer-h"
#define IMPORTS_CHILD_MAGIC1    0x2D2D737365636F72ULL   // "rocess--"
#define IMPORTS_CHILD_VERSION   1
#define IMPORTS_WOW64           26      // ProcessWow64Information
#define IMPORTS_SUSPENDED       0x1     // THREAD_CREATE_FLAGS_CREATE_SUSPENDED

//
// What is written into a new process: settings, and the path of this DLL behind
// them.
//

typedef struct _IMPORTS_CHILD {
    ULONGLONG Magic[2];
    ULONG Version;
    ULONG ProcessId;                // the new one's
    ULONG FirstLength;              // 16-bit units
    ULONG SecondLength;
    WCHAR Text[4];
} IMPORTS_CHILD;
typedef IMPORTS_CHILD *PIMPORTS_CHILD;

#define IMPORTS_CHILD_HEADER FIELD_OFFSET(IMPORTS_CHILD, Text)
#define IMPORTS_CHILD_MAXIMUM 0x400000  // bytes

typedef NTSTATUS (NTAPI IMPORTS_CREATE_PROCESS)(
    _Out_ PHANDLE Process,
    _Out_ PHANDLE Thread,
    _In_ ACCESS_MASK ProcessAccess,
    _In_ ACCESS_MASK ThreadAccess,
    _In_opt_ PVOID ProcessAttributes,
    _In_opt_ PVOID ThreadAttributes,
    _In_ ULONG ProcessFlags,
    _In_ ULONG ThreadFlags,
    _In_opt_ PVOID Parameters,
    _Inout_opt_ PVOID CreateInfo,
    _In_opt_ PVOID AttributeList
    );

typedef NTSTATUS (NTAPI IMPORTS_WRITE_MEMORY)(
    _In_ HANDLE Process,
    _In_ PVOID Address,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_opt_ PSIZE_T Written
    );

typedef NTSTATUS (NTAPI IMPORTS_QUEUE_APC)(
    _In_ HANDLE Thread,
    _In_ PVOID Routine,
    _In_opt_ PVOID First,
    _In_opt_ PVOID Second,
    _In_opt_ PVOID Third
    );

static IMPORTS_WRITE_MEMORY *ImportsWriteMemory;
static IMPORTS_QUEUE_APC *ImportsQueueApc;
static ULONG ImportsPathLength;     // 16-bit units, with the null
static WCHAR ImportsPath[RTL_MAXIMUM_PATH_IN_CHARS];

static
VOID
ImportsLogChild(
    _In_ PCSZ Step,
    _In_ ULONG ProcessId,
    _In_ NTSTATUS Status
    )
{
    RTL_ERROR Error;
    RTL_WRITER Writer;
    UNICODE_STRING Object;
    ULONG Length;
    CHAR Text[32];
    WCHAR Wide[32];

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "process %u", ProcessId);
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide),
                  &Length);
    RtlPointUnicodeString(&Object, Wide, Length);
    RtlSetError(&Error, Step, &Object, Status);
    TraceLogError(ImportsState.Session,
                  &Error,
                  "its imports are not recorded");
}

//
// Makes a new process, which has not run yet, load this DLL.
//

static
VOID
ImportsAdoptChild(
    _In_ HANDLE Process,
    _In_ HANDLE Thread
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    PCIMPORTS_SETTINGS Settings = ImportsGetSettings();
    RTL_PROCESS_BASIC Basic;
    PIMPORTS_CHILD Child;
    PVOID Base = NULL;
    PVOID There = NULL;
    PCSZ Step;
    ULONG_PTR Wow64 = 0;
    SIZE_T Size;
    SIZE_T Written;
    ULONG Length;
    NTSTATUS Status;

    Basic.UniqueProcessId = 0;
    Step = "looking at a process that this one starts";
    Status = Rtl->NtQueryInformationProcess(Process,
                                            RTL_PROCESS_BASIC_INFORMATION,
                                            &Basic,
                                            sizeof(Basic),
                                            NULL);
    if (NT_SUCCESS(Status)) {
        Status = Rtl->NtQueryInformationProcess(Process,
                                                IMPORTS_WOW64,
                                                &Wow64,
                                                sizeof(Wow64),
                                                NULL);
    }
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Wow64 != 0) {
        Step = "following into a 32-bit program that this one starts";
        Status = STATUS_NOT_SUPPORTED;
        goto End;
    }

    Length = Settings->FirstLength + Settings->SecondLength;
    Size = IMPORTS_CHILD_HEADER +
           ((SIZE_T)Length + ImportsPathLength) * sizeof(WCHAR);
    Step = "preparing what a process that this one starts gets";
    Status = Size > IMPORTS_CHILD_MAXIMUM
                 ? STATUS_BUFFER_OVERFLOW
                 : RtlAllocatePages(Rtl, Size, &Base);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Child = (PIMPORTS_CHILD)Base;
    Child->Magic[0] = IMPORTS_CHILD_MAGIC0;
    Child->Magic[1] = IMPORTS_CHILD_MAGIC1;
    Child->Version = IMPORTS_CHILD_VERSION;
    Child->ProcessId = (ULONG)Basic.UniqueProcessId;
    Child->FirstLength = Settings->FirstLength;
    Child->SecondLength = Settings->SecondLength;
    RtlCopyBytes(Child->Text, Settings->Text, Length * sizeof(WCHAR));
    RtlCopyBytes(Child->Text + Length,
                 ImportsPath,
                 ImportsPathLength * sizeof(WCHAR));

    Step = "writing into a process that this one starts";
    Written = Size;
    Status = Rtl->NtAllocateVirtualMemory(Process,
                                          &There,
                                          0,
                                          &Written,
                                          MEM_RESERVE | MEM_COMMIT,
                                          PAGE_READWRITE);
    if (!NT_SUCCESS(Status)) {
        There = NULL;
    } else {
        Status = ImportsWriteMemory(Process, There, Base, Size, &Written);
    }

    if (NT_SUCCESS(Status)) {
        Step = "queueing the call that loads TracerImports.dll";
        Status = ImportsQueueApc(Thread,
                                 ImportsState.LoadRoutine,
                                 ((PIMPORTS_CHILD)There)->Text + Length,
                                 NULL,
                                 NULL);
    }

    if (!NT_SUCCESS(Status) && There != NULL) {
        Size = 0;
        (VOID)Rtl->NtFreeVirtualMemory(Process, &There, &Size, MEM_RELEASE);
    }
    RtlFreePages(Rtl, Base);

End:

    if (!NT_SUCCESS(Status)) {
        ImportsLogChild(Step, (ULONG)Basic.UniqueProcessId, Status);
    }
}

//
// Takes NtCreateUserProcess's place.
//

static
NTSTATUS
NTAPI
ImportsCreateProcess(
    _Out_ PHANDLE Process,
    _Out_ PHANDLE Thread,
    _In_ ACCESS_MASK ProcessAccess,
    _In_ ACCESS_MASK ThreadAccess,
    _In_opt_ PVOID ProcessAttributes,
    _In_opt_ PVOID ThreadAttributes,
    _In_ ULONG ProcessFlags,
    _In_ ULONG ThreadFlags,
    _In_opt_ PVOID Parameters,
    _Inout_opt_ PVOID CreateInfo,
    _In_opt_ PVOID AttributeList
    )
{
    ULONG LastError;
    ULONG LastStatus;
    NTSTATUS Status;

    Status = ((IMPORTS_CREATE_PROCESS *)(ULONG_PTR)ImportsState.Create)(
        Process,
        Thread,
        ProcessAccess,
        ThreadAccess,
        ProcessAttributes,
        ThreadAttributes,
        ProcessFlags,
        ThreadFlags,
        Parameters,
        CreateInfo,
        AttributeList);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    LastError = __readgsdword(TEB_LAST_ERROR);
    LastStatus = __readgsdword(TEB_LAST_STATUS);
    if (ImportsAcquireLock()) {
        if (ImportsState.IsAttached && ImportsState.AreChildren) {
            if ((ThreadFlags & IMPORTS_SUSPENDED) != 0) {
                ImportsAdoptChild(*Process, *Thread);
            } else {
                ImportsLogChild("following into a process that runs at once",
                                0,
                                STATUS_NOT_SUPPORTED);
            }
        }
        ImportsReleaseLock();
    }

    __writegsdword(TEB_LAST_ERROR, LastError);
    __writegsdword(TEB_LAST_STATUS, LastStatus);
    return Status;
}

//
// Changes a module's slots that still have the routine.
//

static
VOID
ImportsChangeCreation(
    _In_ ULONG Index
    )
{
    PIMPORTS_MODULE Module = &ImportsModules[Index];
    PIMAGE_IMPORT_DESCRIPTOR Descriptor;
    PVOID *Slot;
    ULONG Size;

    Descriptor = (PIMAGE_IMPORT_DESCRIPTOR)
        ImportsFindDirectory(Module, IMAGE_DIRECTORY_ENTRY_IMPORT, &Size);
    for (;
         Descriptor != NULL && Size >= sizeof(*Descriptor) &&
         Descriptor->Name != 0;
         Size -= sizeof(*Descriptor), Descriptor += 1) {

        if (Descriptor->FirstThunk == 0 ||
            Descriptor->FirstThunk >= Module->SizeInBytes) {

            continue;
        }

        for (Slot = (PVOID *)(Module->Base + Descriptor->FirstThunk);
             (PBYTE)(Slot + 1) <= Module->Base + Module->SizeInBytes &&
             *Slot != NULL;
             Slot += 1) {

            if (*Slot == ImportsState.Create) {
                (VOID)ImportsChangeSlot(Index,
                                        Slot,
                                        ImportsState.Create,
                                        ImportsState.OwnCreate);
            }
        }
    }

    ImportsCloseSlots();
}

_Use_decl_annotations_
VOID
ImportsPrepareChildren(
    VOID
    )
{
    static const PCSZ Names[] = {
        "NtCreateUserProcess", "NtWriteVirtualMemory", "NtQueueApcThread"
    };
    PVOID Found[RTL_NUMBER_OF(Names)];

    if (!ImportsState.AreChildren || ImportsState.Create != NULL ||
        RtlLoadSymbols(GetModuleHandleW(L"ntdll.dll"),
                       Names,
                       Found,
                       RTL_NUMBER_OF(Names),
                       NULL) != 0) {
        return;
    }

    ImportsPathLength = ImportsState.Rtl.GetModuleFileNameW(
        (HMODULE)&__ImageBase, ImportsPath, RTL_NUMBER_OF(ImportsPath));
    if (ImportsPathLength == 0 ||
        ImportsPathLength >= RTL_NUMBER_OF(ImportsPath)) {
        return;
    }

    ImportsPathLength += 1;
    ImportsWriteMemory = (IMPORTS_WRITE_MEMORY *)(ULONG_PTR)Found[1];
    ImportsQueueApc = (IMPORTS_QUEUE_APC *)(ULONG_PTR)Found[2];
    ImportsState.OwnCreate = (PVOID)(ULONG_PTR)ImportsCreateProcess;
    ImportsState.Create = Found[0];
}

_Use_decl_annotations_
VOID
ImportsFollowChildren(
    VOID
    )
{
    static const PCSZ Owners[] = { "kernel32.dll", "kernelbase.dll" };
    ULONG Index;
    ULONG Module;

    if (!ImportsState.AreChildren || ImportsState.Create == NULL) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Owners); Index += 1) {
        Module = ImportsFindModuleByName(Owners[Index]);
        if (Module != IMPORTS_NONE) {
            ImportsChangeCreation(Module);
        }
    }
}

_Use_decl_annotations_
BOOLEAN
ImportsFindInherited(
    PIMPORTS_SETTINGS Settings
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    MEMORY_BASIC_INFORMATION Information;
    IMPORTS_CHILD Child;
    PBYTE Address;

    if (Rtl->NtQueryVirtualMemory == NULL || Rtl->NtReadVirtualMemory == NULL) {
        return FALSE;
    }

    for (Address = NULL;
         NT_SUCCESS(Rtl->NtQueryVirtualMemory((HANDLE)-1,
                                              Address,
                                              0,
                                              &Information,
                                              sizeof(Information),
                                              NULL)) &&
         Information.RegionSize != 0;
         Address = (PBYTE)Information.BaseAddress + Information.RegionSize) {

        if (Information.State != MEM_COMMIT ||
            Information.Type != MEM_PRIVATE ||
            Information.Protect != PAGE_READWRITE ||
            Information.AllocationBase != Information.BaseAddress) {

            continue;
        }

        //
        // A thread of the program may free it at this moment.  What was left by
        // who has started the process nobody knows of.
        //

        if (NT_SUCCESS(Rtl->NtReadVirtualMemory((HANDLE)-1,
                                                Information.BaseAddress,
                                                &Child,
                                                sizeof(Child),
                                                NULL)) &&
            Child.Magic[0] == IMPORTS_CHILD_MAGIC0 &&
            Child.Magic[1] == IMPORTS_CHILD_MAGIC1 &&
            Child.Version == IMPORTS_CHILD_VERSION &&
            Child.ProcessId == __readgsdword(TEB_PROCESS_ID) &&
            Child.FirstLength <= IMPORTS_CHILD_MAXIMUM &&
            Child.SecondLength <= IMPORTS_CHILD_MAXIMUM &&
            IMPORTS_CHILD_HEADER +
                    ((SIZE_T)Child.FirstLength + Child.SecondLength) *
                        sizeof(WCHAR) <=
                Information.RegionSize) {

            Settings->Text =
                ((PIMPORTS_CHILD)Information.BaseAddress)->Text;
            Settings->FirstLength = Child.FirstLength;
            Settings->SecondLength = Child.SecondLength;
            return TRUE;
        }
    }

    return FALSE;
}

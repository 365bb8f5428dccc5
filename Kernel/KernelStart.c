/*++

Module Name:

    KernelStart.c

Abstract:

    Starts and ends recording.

    A hook reads what KernelState has and nothing else, so it is written before
    the hooks' pointers lead to the recording routines.  At the end the pointers
    lead back to a return before the memory goes.  No hook can be in between:
    a driver must not be unloaded while its code runs, the hooks are run by its
    code alone, and DPCs, which the system itself waits for only after the
    unload routine, are waited for.

--*/

#include "Kernel.h"

//
// One driver has one of each; a kernel stack has no room for them.
//

static KERNEL_SECTION KernelStartSection;
static KERNEL_SETTINGS KernelStartSettings;
static TRACE_KERNEL_HEADER KernelStartPlan;
static BYTE KernelStartName[KERNEL_NAME_SIZE];

static
VOID
KernelStartSetRoutines(
    _In_ PKERNEL_ROUTINE Enter,
    _In_ PKERNEL_ROUTINE Exit,
    _In_ PKERNEL_ROUTINE EnterFunction,
    _In_ PKERNEL_ROUTINE ExitFunction
    )
{
    RtlStoreRelease64((uint64_t *)&KernelEnterRoutine, (ULONG_PTR)Enter);
    RtlStoreRelease64((uint64_t *)&KernelExitRoutine, (ULONG_PTR)Exit);
    RtlStoreRelease64((uint64_t *)&KernelEnterFunctionRoutine,
                      (ULONG_PTR)EnterFunction);
    RtlStoreRelease64((uint64_t *)&KernelExitFunctionRoutine,
                      (ULONG_PTR)ExitFunction);
}

//
// Chooses how the hooks ask the system.  The routine that tells the IRQL is not
// exported by every kernel; it reads CR8.
//

static
VOID
KernelStartChooseRoutines(
    _Inout_ PKERNEL_STATE State
    )
{
    State->GetProcessor = KeGetCurrentProcessorNumberEx;
    State->GetThread = PsGetCurrentThreadId;
    State->GetIrql = (PKERNEL_GET_IRQL)(ULONG_PTR)
        KernelFindRoutine(L"KeGetCurrentIrql");
    if (State->GetIrql == NULL) {
        State->GetIrql = KernelIsUserMode() ? KernelPassiveIrql :
                                              KernelReadIrql;
    }
}

static
ULONG
KernelStartCountProcessors(
    VOID
    )
{
    PKERNEL_COUNT_PROCESSORS CountProcessors;
    ULONG Count;

    CountProcessors = (PKERNEL_COUNT_PROCESSORS)(ULONG_PTR)
        KernelFindRoutine(L"KeQueryMaximumProcessorCountEx");
    Count = 0;
    if (CountProcessors != NULL) {
        Count = CountProcessors(KERNEL_ALL_GROUPS);
    }
    return Count == 0 ? 1 : Count;
}

//
// Fills the header but for the magic number.
//

static
VOID
KernelStartDescribe(
    _In_ PCKERNEL_SETTINGS Settings,
    _In_reads_bytes_(NameLength) const BYTE *Name,
    _In_ ULONG NameLength,
    _Inout_ PTRACE_KERNEL_HEADER Header
    )
{
    Header->MajorVersion = TRACE_KERNEL_MAJOR;
    Header->MinorVersion = TRACE_KERNEL_MINOR;
    Header->HeaderSize = sizeof(*Header);
    Header->RecordSize = sizeof(TRACE_KERNEL_RECORD);
    Header->Flags = KernelIsTscInvariant() ? TRACE_FLAG_TSC_INVARIANT : 0;
    Header->ProcessId = (uint32_t)(ULONG_PTR)PsGetCurrentProcessId();
    Header->BootId = KernelClockBootId();
    KernelClockRead(&Header->OpenAnchor, &Header->QpcFrequency);
    Header->LastAnchor = Header->OpenAnchor;
    Header->LoadTime = Header->OpenAnchor.SystemTime;
    KernelImageDescribe(Header);

    KernelTextCopy(Header->DriverName, Name, NameLength);
    Header->DriverNameLength = NameLength;
    KernelTextCopy(Header->ModulePath, Settings->Path, Settings->PathLength);
    Header->ModulePathLength = Settings->PathLength;
}

//
// Makes the section of a driver and starts recording in it.
//

static
NTSTATUS
KernelStartRecording(
    _Inout_ PKERNEL_SETTINGS Settings,
    _In_ PCUNICODE_STRING Service,
    _In_reads_bytes_(NameLength) const BYTE *Name,
    _In_ ULONG NameLength,
    _Outptr_ PCSZ *Step
    )
{
    PTRACE_KERNEL_HEADER Plan;
    PTRACE_KERNEL_HEADER Header;
    NTSTATUS Status;
    ULONG Records;
    ULONG Functions;

    Plan = &KernelStartPlan;
    KernelTextFill(Plan, sizeof(*Plan));
    Records = Settings->Records;
    Functions = Settings->Functions;
    KernelPlanSection(Settings, KernelStartCountProcessors(), Plan);
    if (Settings->Records != Records) {
        KernelPrint("%s: TracerRecords is too much for %lu processors; it is "
                    "%lu\n",
                    (PCSZ)Name,
                    Plan->NumberOfRings,
                    Settings->Records);
    }

    if (Settings->Functions != Functions) {
        KernelPrint("%s: TracerFunctions is too much for %lu processors; it is "
                    "%lu\n",
                    (PCSZ)Name,
                    Plan->NumberOfRings,
                    Settings->Functions);
    }

    Status = KernelSectionCreate(&KernelStartSection,
                                 Service,
                                 Plan->SectionSize,
                                 Step);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Header = (PTRACE_KERNEL_HEADER)KernelStartSection.Base;
    KernelStartDescribe(Settings, Name, NameLength, Plan);
    Plan->BaseAddress = (ULONG_PTR)Header;
    KernelTextCopy(Header, Plan, sizeof(*Plan));

    KernelStartChooseRoutines(&KernelState);
    KernelPlanTables(Header, &KernelState);
    KernelProbeMeasure(Header, &KernelState);

    //
    // What is in memory before the magic number is complete.
    //

    RtlStoreRelease32(&Header->State, TRACE_KERNEL_STATE_RUNNING);
    RtlStoreRelease64(&Header->Magic, TRACE_KERNEL_MAGIC);
    TracerKernelHeader = Header;
    KernelStartSetRoutines(KernelRecordEnter,
                           KernelRecordExit,
                           KernelRecordEnterFunction,
                           KernelRecordExitFunction);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
TracerKernelStart(
    PUNICODE_STRING RegistryPath
    )
{
    UNICODE_STRING Service;
    NTSTATUS Status;
    PCSZ Step;
    ULONG NameLength;

    if (RegistryPath == NULL) {
        return STATUS_INVALID_PARAMETER;
    }

    if (TracerKernelHeader != NULL) {
        return STATUS_ALREADY_REGISTERED;
    }

    Service = KernelTextLastName(RegistryPath);
    NameLength = KernelTextToUtf8(Service.Buffer,
                                  Service.Length / sizeof(WCHAR),
                                  KernelStartName,
                                  sizeof(KernelStartName) - 1);
    KernelStartName[NameLength] = 0;

    KernelSettingsRead(RegistryPath,
                       (PCSZ)KernelStartName,
                       &KernelStartSettings);
    if (KernelStartSettings.IsEnabled == 0) {
        return STATUS_SUCCESS;
    }

    Step = "";
    Status = KernelStartRecording(&KernelStartSettings,
                                  &Service,
                                  KernelStartName,
                                  NameLength,
                                  &Step);
    if (!NT_SUCCESS(Status)) {
        KernelPrint("%s: %s: status 0x%08lx; the driver is not traced\n",
                    (PCSZ)KernelStartName,
                    Step,
                    (ULONG)Status);
    }
    return Status;
}

_Use_decl_annotations_
VOID
TracerKernelStop(
    VOID
    )
{
    PTRACE_KERNEL_HEADER Header;
    PKERNEL_FLUSH_DPCS FlushDpcs;

    Header = TracerKernelHeader;
    if (Header == NULL) {
        return;
    }

    KernelStartSetRoutines(KernelReturn,
                           KernelReturn,
                           KernelReturn,
                           KernelReturn);

    //
    // A DPC may have told the unload routine that it is done, and be in its
    // exit hook still.  Wine's kernel has no DPCs, and no such routine.
    //

    if (!KernelIsUserMode()) {
        FlushDpcs = (PKERNEL_FLUSH_DPCS)(ULONG_PTR)
            KernelFindRoutine(L"KeFlushQueuedDpcs");
        if (FlushDpcs != NULL) {
            FlushDpcs();
        }
    }

    TracerKernelHeader = NULL;
    KernelClockRead(&Header->LastAnchor, NULL);
    RtlStoreRelease32(&Header->State, TRACE_KERNEL_STATE_UNLOADED);
    KernelSectionDestroy(&KernelStartSection);
}

_Use_decl_annotations_
VOID
TracerKernelPause(
    VOID
    )
{
    if (TracerKernelHeader == NULL) {
        return;
    }
    RtlStoreRelease32(&TracerKernelHeader->State, TRACE_KERNEL_STATE_PAUSED);
    KernelStartSetRoutines(KernelCountPaused,
                           KernelCountPaused,
                           KernelCountPaused,
                           KernelCountPaused);
}

_Use_decl_annotations_
VOID
TracerKernelResume(
    VOID
    )
{
    if (TracerKernelHeader == NULL) {
        return;
    }
    RtlStoreRelease32(&TracerKernelHeader->State, TRACE_KERNEL_STATE_RUNNING);
    KernelStartSetRoutines(KernelRecordEnter,
                           KernelRecordExit,
                           KernelRecordEnterFunction,
                           KernelRecordExitFunction);
}

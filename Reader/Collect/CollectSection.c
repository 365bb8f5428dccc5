/*++

Module Name:

    CollectSection.c

Abstract:

    Opens the section of a traced driver, and checks that everything its header
    says is inside of it: whoever may write to it may not have the collector
    read anything else.

--*/

#include "CollectSection.h"

#define COLLECT_CURRENT_PROCESS ((HANDLE)(LONG_PTR)-1)
#define COLLECT_PAGE_SIZE 4096u

//
// ntdll's routine that only a collector needs.
//

typedef NTSTATUS (NTAPI COLLECT_OPEN_SECTION)(
    _Out_ PHANDLE SectionHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ POBJECT_ATTRIBUTES ObjectAttributes
    );

//
// Are NumberOfElements elements at an offset inside of the section, behind its
// header, and where their fields are aligned?
//

static
BOOLEAN
CollectSectionHolds(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG NumberOfElements,
    _In_ ULONGLONG SizeOfElement
    )
{
    return Offset % sizeof(ULONGLONG) == 0 &&
           Offset >= Header->HeaderSize &&
           Offset <= Header->SectionSize &&
           NumberOfElements <=
               (Header->SectionSize - Offset) / SizeOfElement;
}

#define COLLECT_IS_POWER_OF_TWO(Number)                                     \
    ((Number) != 0 && ((Number) & ((Number) - 1)) == 0)

//
// Finds what is wrong with a header of the right version; NULL: nothing is.
//

static
PCSZ
CollectSectionFindProblem(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _In_ SIZE_T ViewSize
    )
{
    ULONGLONG Rings = Header->NumberOfRings;

    if (Header->HeaderSize < TRACE_HEADER_SIZE ||
        Header->HeaderSize > Header->SectionSize ||
        Header->SectionSize > ViewSize) {
        return "SectionSize or HeaderSize is not possible";
    }

    if (Header->RecordSize != sizeof(TRACE_KERNEL_RECORD)) {
        return "RecordSize is not 32";
    }

    if (Header->State < TRACE_KERNEL_STATE_RUNNING ||
        Header->State > TRACE_KERNEL_STATE_UNLOADED) {
        return "State is not a known one";
    }

    if (Rings == 0 || Rings > COLLECT_MAXIMUM_RINGS ||
        !CollectSectionHolds(Header,
                             Header->RingsOffset,
                             Rings,
                             sizeof(TRACE_KERNEL_RING))) {
        return "the rings are not inside of it";
    }

    if (!COLLECT_IS_POWER_OF_TWO(Header->RecordsPerRing) ||
        Header->RecordsPerRing > COLLECT_MAXIMUM_RECORDS ||
        !CollectSectionHolds(Header,
                             Header->RecordsOffset,
                             Rings * Header->RecordsPerRing,
                             sizeof(TRACE_KERNEL_RECORD))) {
        return "the records are not inside of it";
    }

    if (Header->FunctionSlots != 0 &&
        (!COLLECT_IS_POWER_OF_TWO(Header->FunctionSlots) ||
         !CollectSectionHolds(Header,
                              Header->FunctionsOffset,
                              Rings * Header->FunctionSlots,
                              sizeof(TRACE_KERNEL_FUNCTION)))) {
        return "the functions are not inside of it";
    }

    if (Header->OpenCallSlots != 0 &&
        (!COLLECT_IS_POWER_OF_TWO(Header->OpenCallSlots) ||
         !CollectSectionHolds(Header,
                              Header->OpenCallsOffset,
                              Header->OpenCallSlots,
                              sizeof(TRACE_KERNEL_OPEN_CALL)))) {
        return "the open calls are not inside of it";
    }

    if (Header->ModuleBase == 0 ||
        Header->ModuleBase % COLLECT_PAGE_SIZE != 0 ||
        Header->ModuleSize == 0 ||
        Header->ModuleSize > COLLECT_MAXIMUM_MODULE) {
        return "the driver's image is not a possible one";
    }

    if (Header->DriverNameLength > sizeof(Header->DriverName) ||
        Header->PdbPathLength > sizeof(Header->PdbPath) ||
        Header->ModulePathLength > sizeof(Header->ModulePath)) {
        return "a text is longer than its field";
    }

    return NULL;
}

_Use_decl_annotations_
NTSTATUS
CollectSectionCheck(
    const TRACE_KERNEL_HEADER *Header,
    SIZE_T ViewSize,
    PCSZ *Problem
    )
{
    *Problem = NULL;
    if (ViewSize < sizeof(*Header)) {
        *Problem = "it is smaller than its header";
        return STATUS_FILE_CORRUPT_ERROR;
    }

    if (Header->Magic == 0) {
        *Problem = "the driver has not finished it yet";
        return STATUS_DEVICE_NOT_READY;
    }

    if (Header->Magic != TRACE_KERNEL_MAGIC) {
        *Problem = "it is none of a traced driver";
        return STATUS_FILE_CORRUPT_ERROR;
    }

    if (Header->MajorVersion != TRACE_KERNEL_MAJOR) {
        *Problem = "it is of another version";
        return STATUS_REVISION_MISMATCH;
    }

    *Problem = CollectSectionFindProblem(Header, ViewSize);
    return *Problem == NULL ? STATUS_SUCCESS : STATUS_FILE_CORRUPT_ERROR;
}

_Use_decl_annotations_
NTSTATUS
CollectSectionUse(
    PCOLLECT_SECTION Section,
    PVOID View,
    SIZE_T ViewSize,
    PCSZ *Problem
    )
{
    Section->View = View;
    Section->ViewSize = ViewSize;
    if (ViewSize >= sizeof(Section->Header)) {
        RtlCopyBytes(&Section->Header, View, sizeof(Section->Header));
    }

    return CollectSectionCheck(&Section->Header, ViewSize, Problem);
}

_Use_decl_annotations_
NTSTATUS
CollectSectionOpen(
    PCRTL Rtl,
    PCUNICODE_STRING Name,
    PCOLLECT_SECTION Section,
    PCSZ *Step
    )
{
    static const PCSZ Routines[] = { "NtOpenSection" };
    COLLECT_OPEN_SECTION *NtOpenSection = NULL;
    OBJECT_ATTRIBUTES Attributes;
    HMODULE Library;
    PVOID Routine = NULL;
    PVOID View = NULL;
    HANDLE Handle = NULL;
    SIZE_T Size = 0;
    NTSTATUS Status;

    RtlZeroBytes(Section, sizeof(*Section));
    *Step = "find a system routine";
    Library = Rtl->LoadLibraryExW(L"ntdll.dll",
                                  NULL,
                                  LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (Library == NULL) {
        return STATUS_DLL_NOT_FOUND;
    }

    if (RtlLoadSymbols(Library, Routines, &Routine, 1, NULL) != 0) {
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    NtOpenSection = (COLLECT_OPEN_SECTION *)Routine;
    *Step = "open the section of the driver's records";
    InitializeObjectAttributes(&Attributes,
                               (PUNICODE_STRING)Name,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    Status = NtOpenSection(&Handle, SECTION_MAP_READ, &Attributes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Step = "map the section of the driver's records";
    Status = Rtl->NtMapViewOfSection(Handle,
                                     COLLECT_CURRENT_PROCESS,
                                     &View,
                                     0,
                                     0,
                                     NULL,
                                     &Size,
                                     RTL_VIEW_UNMAP,
                                     0,
                                     PAGE_READONLY);
    Rtl->NtClose(Handle);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = CollectSectionUse(Section, View, Size, Step);
    if (!NT_SUCCESS(Status)) {
        CollectSectionClose(Rtl, Section);
    }

    return Status;
}

_Use_decl_annotations_
VOID
CollectSectionClose(
    PCRTL Rtl,
    PCOLLECT_SECTION Section
    )
{
    RtlUnmapFileSection(Rtl, Section->View);
    Section->View = NULL;
}

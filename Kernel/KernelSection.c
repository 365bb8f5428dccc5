/*++

Module Name:

    KernelSection.c

Abstract:

    The section that a driver's records are in.

    It is backed by the paging file, as every section without a file is, so that
    a name can lead to it and user mode can map it.  The memory that the hooks
    write is another mapping of the same pages, which is there at any IRQL: the
    pages are locked (MmProbeAndLockPages), and mapped by system page table
    entries (MmMapLockedPagesSpecifyCache).  The view of the section itself
    would not do: locked pages stay in memory, but the system may take them out
    of a view, and then an access faults.

    The security descriptor lets the system and administrators map it for
    reading.  Nobody may map it for writing: the driver's own handle is made by
    the kernel, which is not asked.

    Under Wine, drivers run in user mode; a view is all that is needed there,
    and the system does not have the rest.

--*/

#include "Kernel.h"

#define SECTION_MAXIMUM_NAME        128     // characters
#define SECTION_ACCESS              0xF001F // SECTION_ALL_ACCESS
#define SECTION_SYSTEM_PROCESS      ((HANDLE)(LONG_PTR)-1)

//
// A security descriptor as it is in memory, with SYSTEM as owner and group and
// two entries that grant SECTION_QUERY, SECTION_MAP_READ and READ_CONTROL.
//

typedef struct _SECTION_SID {
    BYTE Revision;
    BYTE Count;
    BYTE Authority[6];
    ULONG SubAuthorities[2];
} SECTION_SID;

typedef struct _SECTION_ACE {
    BYTE Type;
    BYTE Flags;
    USHORT Size;
    ULONG Mask;
    SECTION_SID Sid;
} SECTION_ACE;

typedef struct _SECTION_SECURITY {
    BYTE Revision;
    BYTE Unused;
    USHORT Control;
    ULONG Owner;
    ULONG Group;
    ULONG Sacl;
    ULONG Dacl;
    SECTION_SID OwnerSid;
    SECTION_SID GroupSid;
    BYTE AclRevision;
    BYTE AclUnused;
    USHORT AclSize;
    USHORT AclCount;
    USHORT AclUnused2;
    SECTION_ACE System;
    SECTION_ACE Administrators;
} SECTION_SECURITY;

#define SECTION_READ_ACCESS         0x20005

//
// The SID of SYSTEM has one part; the second of the structure is behind it.
//

#define SECTION_SID_SYSTEM          { 1, 1, { 0, 0, 0, 0, 0, 5 }, { 18, 0 } }
#define SECTION_SID_ADMINISTRATORS  { 1, 2, { 0, 0, 0, 0, 0, 5 }, { 32, 544 } }

static const SECTION_SECURITY SectionSecurity = {
    1, 0, 0x9004,                           // self-relative, protected DACL
    FIELD_OFFSET(SECTION_SECURITY, OwnerSid),
    FIELD_OFFSET(SECTION_SECURITY, GroupSid),
    0,
    FIELD_OFFSET(SECTION_SECURITY, AclRevision),
    SECTION_SID_SYSTEM,
    SECTION_SID_SYSTEM,
    2, 0,
    sizeof(SECTION_SECURITY) - FIELD_OFFSET(SECTION_SECURITY, AclRevision),
    2, 0,
    { 0, 0, sizeof(SECTION_ACE), SECTION_READ_ACCESS, SECTION_SID_SYSTEM },
    { 0, 0, sizeof(SECTION_ACE), SECTION_READ_ACCESS,
      SECTION_SID_ADMINISTRATORS },
};

C_ASSERT(FIELD_OFFSET(SECTION_SECURITY, OwnerSid) == 20);
C_ASSERT(sizeof(SECTION_SID) == 16);
C_ASSERT(sizeof(SECTION_ACE) == 24);
C_ASSERT(sizeof(SECTION_SECURITY) == 20 + 2 * 16 + 8 + 2 * 24);

//
// Makes the section with a name that is Prefix, of ASCII, and the service's.
//

static
NTSTATUS
KernelSectionName(
    _Inout_ PKERNEL_SECTION Section,
    _In_z_ PCSZ Prefix,
    _In_ PCUNICODE_STRING Name
    )
{
    WCHAR Buffer[SECTION_MAXIMUM_NAME];
    UNICODE_STRING String;
    OBJECT_ATTRIBUTES Attributes;
    LARGE_INTEGER Size;
    ULONG Length;
    ULONG Index;

    for (Length = 0; Prefix[Length] != 0; Length += 1) {
        Buffer[Length] = (WCHAR)(BYTE)Prefix[Length];
    }
    for (Index = 0; Index < Name->Length / sizeof(WCHAR); Index += 1) {
        if (Length == SECTION_MAXIMUM_NAME) {
            return STATUS_NAME_TOO_LONG;
        }
        Buffer[Length] = Name->Buffer[Index];
        Length += 1;
    }
    String.Buffer = Buffer;
    String.Length = (USHORT)(Length * sizeof(WCHAR));
    String.MaximumLength = String.Length;

    Attributes.Length = sizeof(Attributes);
    Attributes.RootDirectory = NULL;
    Attributes.ObjectName = &String;
    Attributes.Attributes = OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE;
    Attributes.SecurityDescriptor = (PVOID)&SectionSecurity;
    Attributes.SecurityQualityOfService = NULL;

    Size.QuadPart = (LONGLONG)Section->Size;
    return ZwCreateSection(&Section->Section,
                           SECTION_ACCESS,
                           &Attributes,
                           &Size,
                           PAGE_READWRITE,
                           SEC_COMMIT,
                           NULL);
}

//
// Locks the pages of the view, and maps them for any IRQL.
//

static
NTSTATUS
KernelSectionLock(
    _Inout_ PKERNEL_SECTION Section,
    _Outptr_ PCSZ *Step
    )
{
    NTSTATUS Status;
    PKERNEL_MDL Mdl;
    BOOLEAN IsLocked;

    *Step = "describing its pages";
    Mdl = IoAllocateMdl(Section->View,
                        (ULONG)Section->Size,
                        FALSE,
                        FALSE,
                        NULL);
    if (Mdl == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }

    *Step = "locking its pages";
    Status = STATUS_SUCCESS;
    IsLocked = TRUE;
    __try {
        MmProbeAndLockPages(Mdl, KERNEL_MODE, KERNEL_MODIFY_ACCESS);
    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        IsLocked = FALSE;
    }
    if (!IsLocked) {
        IoFreeMdl(Mdl);
        return Status;
    }
    Section->Mdl = Mdl;

    *Step = "mapping its pages";
    Section->Base = MmMapLockedPagesSpecifyCache(Mdl,
                                                 KERNEL_MODE,
                                                 KERNEL_CACHED,
                                                 NULL,
                                                 FALSE,
                                                 KERNEL_NORMAL_PRIORITY |
                                                 KERNEL_NO_EXECUTE);
    if (Section->Base == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }

    //
    // The view has served; so unloading does not depend on the process that it
    // is done in.
    //

    ZwUnmapViewOfSection(SECTION_SYSTEM_PROCESS, Section->View);
    Section->View = NULL;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
KernelSectionCreate(
    PKERNEL_SECTION Section,
    PCUNICODE_STRING Name,
    ULONGLONG Size,
    PCSZ *Step
    )
{
    NTSTATUS Status;
    SIZE_T ViewSize;

    KernelTextFill(Section, sizeof(*Section));
    Section->Size = Size;

    *Step = "making the section";
    Status = KernelSectionName(Section, TRACE_KERNEL_SECTION_PREFIX, Name);
    if (Status == STATUS_OBJECT_PATH_NOT_FOUND ||
        Status == STATUS_OBJECT_NAME_NOT_FOUND) {

        Status = KernelSectionName(Section, TRACE_KERNEL_EARLY_PREFIX, Name);
    }
    if (!NT_SUCCESS(Status)) {
        Section->Section = NULL;
        return Status;
    }

    *Step = "mapping the section";
    ViewSize = 0;
    Status = ZwMapViewOfSection(Section->Section,
                                SECTION_SYSTEM_PROCESS,
                                &Section->View,
                                0,
                                0,
                                NULL,
                                &ViewSize,
                                KERNEL_VIEW_UNMAP,
                                0,
                                PAGE_READWRITE);
    if (!NT_SUCCESS(Status)) {
        Section->View = NULL;
    } else if (ViewSize < Size) {
        Status = STATUS_INVALID_VIEW_SIZE;
    } else if (KernelIsUserMode()) {
        Section->Base = Section->View;
    } else {
        Status = KernelSectionLock(Section, Step);
    }

    if (!NT_SUCCESS(Status)) {
        KernelSectionDestroy(Section);
    }
    return Status;
}

_Use_decl_annotations_
VOID
KernelSectionDestroy(
    PKERNEL_SECTION Section
    )
{
    if (Section->Mdl != NULL) {

        //
        // This also takes the mapping away.
        //

        MmUnlockPages(Section->Mdl);
        IoFreeMdl(Section->Mdl);
        Section->Mdl = NULL;
    }
    if (Section->View != NULL) {
        ZwUnmapViewOfSection(SECTION_SYSTEM_PROCESS, Section->View);
        Section->View = NULL;
    }
    if (Section->Section != NULL) {
        ZwClose(Section->Section);
        Section->Section = NULL;
    }
    Section->Base = NULL;
}

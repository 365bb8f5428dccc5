/*++

Module Name:

    KernelOs.h

Abstract:

    What the library uses of ntoskrnl.exe: its routines, and of its structures
    the fields that are read.  They are declared here because the headers of the
    kernel and those of user mode, which RtlTypes.h has, do not go together.
    Tests/Product/TestDriver.py compares the structures with the kernel's
    header.

    Routines that not every kernel exports are looked up by name
    (KernelFindRoutine).

--*/

#ifndef TRACER_KERNEL_OS_H
#define TRACER_KERNEL_OS_H

#include "KernelHooks.h"

typedef struct _KERNEL_MDL {
    struct _KERNEL_MDL *Next;
    SHORT Size;
    SHORT MdlFlags;
    PVOID Process;
    PVOID MappedSystemVa;
    PVOID StartVa;
    ULONG ByteCount;
    ULONG ByteOffset;
} KERNEL_MDL;
typedef KERNEL_MDL *PKERNEL_MDL;
C_ASSERT(sizeof(KERNEL_MDL) == 48);

struct _KERNEL_DRIVER_OBJECT;

typedef
VOID
(NTAPI KERNEL_UNLOAD)(
    _In_ struct _KERNEL_DRIVER_OBJECT *DriverObject
    );
typedef KERNEL_UNLOAD *PKERNEL_UNLOAD;

//
// DRIVER_OBJECT, up to what is used of it.
//

typedef struct _KERNEL_DRIVER_OBJECT {
    BYTE Unused[0x68];
    PKERNEL_UNLOAD DriverUnload;
} KERNEL_DRIVER_OBJECT;
typedef KERNEL_DRIVER_OBJECT *PKERNEL_DRIVER_OBJECT;
C_ASSERT(FIELD_OFFSET(KERNEL_DRIVER_OBJECT, DriverUnload) == 0x68);

//
// KEY_VALUE_PARTIAL_INFORMATION.
//

typedef struct _KERNEL_VALUE {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataLength;
    BYTE Data[4];
} KERNEL_VALUE;
typedef KERNEL_VALUE *PKERNEL_VALUE;
C_ASSERT(FIELD_OFFSET(KERNEL_VALUE, Data) == 12);

#define KERNEL_VALUE_PARTIAL            2
#define KERNEL_MODE                     0
#define KERNEL_MODIFY_ACCESS            2
#define KERNEL_CACHED                   1
#define KERNEL_NORMAL_PRIORITY          16
#define KERNEL_NO_EXECUTE               0x40000000
#define KERNEL_ALL_GROUPS               0xFFFF
#define KERNEL_VIEW_UNMAP               2
#define KERNEL_PRINT_DRIVER             77      // DPFLTR_IHVDRIVER_ID
#define KERNEL_PRINT_ERROR              0       // printed unless masked

//
// Offsets in KUSER_SHARED_DATA.
//

#define KERNEL_SHARED_SYSTEM_TIME       0x014
#define KERNEL_SHARED_BOOT_ID           0x2C4

DECLSPEC_IMPORT KERNEL_GET_PROCESSOR KeGetCurrentProcessorNumberEx;
DECLSPEC_IMPORT KERNEL_GET_THREAD PsGetCurrentThreadId;
DECLSPEC_IMPORT KERNEL_GET_THREAD PsGetCurrentProcessId;

DECLSPEC_IMPORT
ULONG
__cdecl
DbgPrintEx(
    _In_ ULONG Component,
    _In_ ULONG Level,
    _In_z_ PCSZ Format,
    ...
    );

DECLSPEC_IMPORT
PVOID
NTAPI
MmGetSystemRoutineAddress(
    _In_ PUNICODE_STRING Name
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwOpenKey(
    _Out_ PHANDLE Key,
    _In_ ACCESS_MASK Access,
    _In_ POBJECT_ATTRIBUTES Attributes
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwQueryValueKey(
    _In_ HANDLE Key,
    _In_ PUNICODE_STRING Name,
    _In_ ULONG Class,
    _Out_writes_bytes_(Size) PVOID Information,
    _In_ ULONG Size,
    _Out_ PULONG ResultSize
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwCreateSection(
    _Out_ PHANDLE Section,
    _In_ ACCESS_MASK Access,
    _In_opt_ POBJECT_ATTRIBUTES Attributes,
    _In_opt_ PLARGE_INTEGER MaximumSize,
    _In_ ULONG Protection,
    _In_ ULONG Allocation,
    _In_opt_ HANDLE File
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwMapViewOfSection(
    _In_ HANDLE Section,
    _In_ HANDLE Process,
    _Inout_ PVOID *Base,
    _In_ ULONG_PTR ZeroBits,
    _In_ SIZE_T CommitSize,
    _Inout_opt_ PLARGE_INTEGER Offset,
    _Inout_ PSIZE_T ViewSize,
    _In_ ULONG Inherit,
    _In_ ULONG Allocation,
    _In_ ULONG Protection
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwUnmapViewOfSection(
    _In_ HANDLE Process,
    _In_opt_ PVOID Base
    );

DECLSPEC_IMPORT
NTSTATUS
NTAPI
ZwClose(
    _In_ HANDLE Handle
    );

DECLSPEC_IMPORT
PKERNEL_MDL
NTAPI
IoAllocateMdl(
    _In_opt_ PVOID Address,
    _In_ ULONG Length,
    _In_ BOOLEAN IsSecondary,
    _In_ BOOLEAN IsCharged,
    _Inout_opt_ PVOID Irp
    );

DECLSPEC_IMPORT
VOID
NTAPI
IoFreeMdl(
    _In_ PKERNEL_MDL Mdl
    );

//
// Raises an exception if it fails.
//

DECLSPEC_IMPORT
VOID
NTAPI
MmProbeAndLockPages(
    _Inout_ PKERNEL_MDL Mdl,
    _In_ CCHAR Mode,
    _In_ ULONG Operation
    );

DECLSPEC_IMPORT
VOID
NTAPI
MmUnlockPages(
    _Inout_ PKERNEL_MDL Mdl
    );

DECLSPEC_IMPORT
PVOID
NTAPI
MmMapLockedPagesSpecifyCache(
    _In_ PKERNEL_MDL Mdl,
    _In_ CCHAR Mode,
    _In_ ULONG CacheType,
    _In_opt_ PVOID Base,
    _In_ ULONG BugCheckOnFailure,
    _In_ ULONG Priority
    );

//
// Of those that are looked up.
//

typedef
VOID
(NTAPI KERNEL_FLUSH_DPCS)(
    VOID
    );
typedef KERNEL_FLUSH_DPCS *PKERNEL_FLUSH_DPCS;

typedef
ULONG
(NTAPI KERNEL_COUNT_PROCESSORS)(
    _In_ USHORT Group
    );
typedef KERNEL_COUNT_PROCESSORS *PKERNEL_COUNT_PROCESSORS;

typedef
LARGE_INTEGER
(NTAPI KERNEL_QUERY_COUNTER)(
    _Out_opt_ PLARGE_INTEGER Frequency
    );
typedef KERNEL_QUERY_COUNTER *PKERNEL_QUERY_COUNTER;

typedef
VOID
(NTAPI KERNEL_QUERY_TIME)(
    _Out_ PLARGE_INTEGER Time
    );
typedef KERNEL_QUERY_TIME *PKERNEL_QUERY_TIME;

#endif // TRACER_KERNEL_OS_H

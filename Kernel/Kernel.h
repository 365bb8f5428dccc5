/*++

Module Name:

    Kernel.h

Abstract:

    The C side of TracerPenterKernel.lib: it starts and ends recording, and
    never runs on a hook's path.  All of it is for PASSIVE_LEVEL.

--*/

#ifndef TRACER_KERNEL_PRIVATE_H
#define TRACER_KERNEL_PRIVATE_H

#include "KernelHooks.h"
#include "KernelOs.h"
#include "TracerKernel.h"

//
// The section; NULL while nothing is recorded.  Debuggers look for it.
//

extern PTRACE_KERNEL_HEADER TracerKernelHeader;

//
// Says something where debuggers and DebugView see it.
//

#define KernelPrint(...) \
    DbgPrintEx(KERNEL_PRINT_DRIVER, KERNEL_PRINT_ERROR, "Tracer: " __VA_ARGS__)

//
// KernelText.c: counted text, without a C runtime.
//

#define KERNEL_NAME_SIZE    256
#define KERNEL_PATH_SIZE    2560

//
// Makes UTF-8 of UTF-16, as much of it as there is room for.
// Returns the number of bytes.
//

ULONG
KernelTextToUtf8(
    _In_reads_(LengthInChars) const WCHAR *Text,
    _In_ ULONG LengthInChars,
    _Out_writes_bytes_to_(Size, return) PBYTE Buffer,
    _In_ ULONG Size
    );

//
// Whether Text begins with Prefix, which is of ASCII; letters are compared
// without their case.
//

BOOLEAN
KernelTextBeginsWith(
    _In_reads_(LengthInChars) const WCHAR *Text,
    _In_ ULONG LengthInChars,
    _In_reads_(PrefixLengthInChars) const WCHAR *Prefix,
    _In_ ULONG PrefixLengthInChars
    );

//
// Describes a terminated text.
//

UNICODE_STRING
KernelTextString(
    _In_z_ PCWSTR Text
    );

//
// The part of a path behind its last backslash.
//

UNICODE_STRING
KernelTextLastName(
    _In_ PCUNICODE_STRING Path
    );

//
// Copy memory, and fill it with zeroes.  The compiler does not make a call of
// them.
//

VOID
KernelTextCopy(
    _Out_writes_bytes_(Size) PVOID Memory,
    _In_reads_bytes_(Size) const VOID *Source,
    _In_ SIZE_T Size
    );

VOID
KernelTextFill(
    _Out_writes_bytes_(Size) PVOID Memory,
    _In_ SIZE_T Size
    );

//
// KernelSettings.c: the driver's registry parameters.
//

typedef struct _KERNEL_SETTINGS {
    ULONG IsEnabled;
    ULONG Records;              // of a ring, a power of two, as the next two
    ULONG Functions;            // slots of a ring's table
    ULONG OpenCalls;            // slots; 0: calls are not timed
    ULONG PathLength;           // of the driver's image, UTF-8, bytes
    BYTE Path[KERNEL_PATH_SIZE];
} KERNEL_SETTINGS;
typedef KERNEL_SETTINGS *PKERNEL_SETTINGS;
typedef const KERNEL_SETTINGS *PCKERNEL_SETTINGS;

//
// Reads what the service's key and its Parameters have.  What is not there, or
// cannot be, is as documented; the latter is printed.
// Name: the service's, terminated, for what is printed.
//

VOID
KernelSettingsRead(
    _In_ PUNICODE_STRING RegistryPath,
    _In_z_ PCSZ Name,
    _Out_ PKERNEL_SETTINGS Settings
    );

//
// KernelSection.c: the memory.
//

typedef struct _KERNEL_SECTION {
    HANDLE Section;
    PVOID View;                 // while the section is mapped
    PKERNEL_MDL Mdl;            // while its pages are locked
    PVOID Base;                 // where the hooks see it
    ULONGLONG Size;
} KERNEL_SECTION;
typedef KERNEL_SECTION *PKERNEL_SECTION;

//
// Makes the section of a driver and memory of it that is there at any IRQL, all
// zeroes.
// Name: the service's.
// Size: bytes, a multiple of the page size.
// Step: receives what failed, in words.
// A failure leaves nothing.
//

NTSTATUS
KernelSectionCreate(
    _Out_ PKERNEL_SECTION Section,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG Size,
    _Outptr_ PCSZ *Step
    );

//
// Undoes it, whole or half.
//

VOID
KernelSectionDestroy(
    _Inout_ PKERNEL_SECTION Section
    );

//
// KernelPlan.c: what lies where in it.
//

//
// Plans a section.
// Settings: where the rings would take too much together, Records is less
//     afterwards.
// Header: receives the sizes and offsets; the rest is left alone.
//

VOID
KernelPlanSection(
    _Inout_ PKERNEL_SETTINGS Settings,
    _In_ ULONG NumberOfRings,
    _Inout_ PTRACE_KERNEL_HEADER Header
    );

//
// Makes the tables empty, and what the hooks read.
//

VOID
KernelPlanTables(
    _In_ PTRACE_KERNEL_HEADER Header,
    _Inout_ PKERNEL_STATE State
    );

//
// KernelImage.c: this very image.
//

//
// How many entries its unwind data has: about as many as it has functions.
//

ULONG
KernelImageCountFunctions(
    VOID
    );

VOID
KernelImageDescribe(
    _Inout_ PTRACE_KERNEL_HEADER Header
    );

//
// KernelClock.c.
//

//
// Looks a routine up that not every kernel exports.
// Returns NULL if this one does not.
//

PVOID
KernelFindRoutine(
    _In_z_ const WCHAR *Name
    );

VOID
KernelClockRead(
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _Out_opt_ uint64_t *QpcFrequency
    );

ULONG
KernelClockBootId(
    VOID
    );

//
// KernelEntry.c: the image's entry point.
//

NTSTATUS
NTAPI
TracerKernelDriverEntry(
    _In_ PKERNEL_DRIVER_OBJECT DriverObject,
    _In_ PUNICODE_STRING RegistryPath
    );

//
// KernelProbe.c: what the hooks cost, into the header.  The tables are empty
// before and afterwards.
//

VOID
KernelProbeMeasure(
    _Inout_ PTRACE_KERNEL_HEADER Header,
    _Inout_ PKERNEL_STATE State
    );

#endif // TRACER_KERNEL_PRIVATE_H

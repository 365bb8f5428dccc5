/*++

Module Name:

    CollectSection.h

Abstract:

    The section that a traced driver leaves its records in, as a collector sees
    it: mapped for reading, and not trusted.

--*/

#ifndef TRACER_COLLECT_SECTION_H
#define TRACER_COLLECT_SECTION_H

#include "../../Kernel/KernelFormat.h"
#include "../../Rtl/Rtl.h"

//
// More processors than Windows has in one system, and what one ring may have:
// a record's number is known by its low 31 bits.
//

#define COLLECT_MAXIMUM_RINGS       4096u
#define COLLECT_MAXIMUM_RECORDS     0x40000000ULL
#define COLLECT_MAXIMUM_MODULE      0x80000000u

typedef struct _COLLECT_SECTION {
    PVOID View;                     // NULL: none is mapped
    SIZE_T ViewSize;                // bytes that are mapped
    TRACE_KERNEL_HEADER Header;     // a copy, which does not change: what has
                                    // been checked is what is used
} COLLECT_SECTION;
typedef COLLECT_SECTION *PCOLLECT_SECTION;
typedef const COLLECT_SECTION *PCCOLLECT_SECTION;

#define COLLECT_RINGS(Section)                                              \
    ((volatile TRACE_KERNEL_RING *)((PBYTE)(Section)->View +                \
                                    (Section)->Header.RingsOffset))

#define COLLECT_RECORDS(Section, Ring)                                      \
    ((volatile TRACE_KERNEL_RECORD *)((PBYTE)(Section)->View +              \
                                      (Section)->Header.RecordsOffset) +    \
     (SIZE_T)(Ring) * (SIZE_T)(Section)->Header.RecordsPerRing)

#define COLLECT_OPEN_CALLS(Section)                                         \
    ((volatile TRACE_KERNEL_OPEN_CALL *)((PBYTE)(Section)->View +           \
                                         (Section)->Header.OpenCallsOffset))

#define COLLECT_STATE(Section)                                              \
    (((volatile TRACE_KERNEL_HEADER *)(Section)->View)->State)

//
// Is everything that a header says inside of the section?
// ViewSize: bytes that are mapped.
// Problem: what is not, a literal; NULL if all is good.
//
//     STATUS_DEVICE_NOT_READY    the driver has not finished it yet
//     STATUS_REVISION_MISMATCH   it is of a later version
//     STATUS_FILE_CORRUPT_ERROR  it is damaged
//

_Must_inspect_result_
NTSTATUS
CollectSectionCheck(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _In_ SIZE_T ViewSize,
    _Outptr_result_maybenull_ PCSZ *Problem
    );

//
// Takes over a view, once its header has been checked.  The view stays the
// caller's.
//

_Must_inspect_result_
NTSTATUS
CollectSectionUse(
    _Out_ PCOLLECT_SECTION Section,
    _In_ PVOID View,
    _In_ SIZE_T ViewSize,
    _Outptr_result_maybenull_ PCSZ *Problem
    );

//
// Opens and maps a driver's section.
// Name: the section's, in full.
// Step: what failed, a literal.
//
//     STATUS_OBJECT_NAME_NOT_FOUND   there is none: the driver is not loaded,
//                                    or is not traced
//     STATUS_ACCESS_DENIED           it is for administrators
//     what CollectSectionCheck returns
//

_Must_inspect_result_
NTSTATUS
CollectSectionOpen(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Name,
    _Out_ PCOLLECT_SECTION Section,
    _Outptr_ PCSZ *Step
    );

VOID
CollectSectionClose(
    _In_ PCRTL Rtl,
    _Inout_ PCOLLECT_SECTION Section
    );

#endif // TRACER_COLLECT_SECTION_H

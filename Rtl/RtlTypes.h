/*++

Module Name:

    RtlTypes.h

Abstract:

    The NT types that all of Tracer is written in.  On Windows they come from
    the Windows headers (the SDK's or mingw-w64's).  Elsewhere this header
    supplies the few that portable code needs, so that the reader's core, the
    string table and their fuzzers also build natively.

--*/

#ifndef TRACER_RTL_TYPES_H
#define TRACER_RTL_TYPES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef WIN32_NO_STATUS
#define WIN32_NO_STATUS
#endif
#include <windows.h>
#undef WIN32_NO_STATUS
#include <winternl.h>
#include <ntstatus.h>
#include <sal.h>

//
// The compiler's intrinsics.  mingw-w64's windows.h has those that are used
// here and does not go together with clang's intrin.h.
//

#ifndef __MINGW64_VERSION_MAJOR
#include <intrin.h>
#endif

#else

typedef void VOID, *PVOID;
typedef const void *PCVOID;
typedef char CHAR, *PCHAR, *PSTR;
typedef const char *PCSTR, *PCSZ;
typedef uint8_t BYTE, *PBYTE, UCHAR, *PUCHAR, BOOLEAN, *PBOOLEAN;
typedef uint16_t WCHAR, *PWCHAR, *PWSTR, USHORT, *PUSHORT;
typedef const uint16_t *PCWSTR;
typedef int16_t SHORT;
typedef int32_t LONG, *PLONG, NTSTATUS, BOOL;
typedef uint32_t ULONG, *PULONG, DWORD;
typedef int64_t LONGLONG;
typedef uint64_t ULONGLONG, *PULONGLONG, ULONG64;
typedef size_t SIZE_T, *PSIZE_T;
typedef uintptr_t ULONG_PTR;
typedef intptr_t LONG_PTR;

typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;

#define TRUE 1
#define FALSE 0
#define NTAPI
#define UNREFERENCED_PARAMETER(P) ((void)(P))
#define C_ASSERT(Condition) _Static_assert(Condition, #Condition)
#define FIELD_OFFSET(Type, Field) ((LONG)offsetof(Type, Field))
#define RTL_NUMBER_OF(Array) (sizeof(Array) / sizeof((Array)[0]))
#define NT_SUCCESS(Status) (((NTSTATUS)(Status)) >= 0)

#define _In_
#define _In_z_
#define _In_opt_
#define _In_reads_(Count)
#define _In_reads_opt_(Count)
#define _In_reads_bytes_(Size)
#define _In_reads_bytes_opt_(Size)
#define _Inout_
#define _Inout_opt_
#define _Inout_updates_(Count)
#define _Inout_updates_bytes_(Size)
#define _Out_
#define _Out_opt_
#define _Out_writes_(Count)
#define _Out_writes_bytes_(Size)
#define _Out_writes_bytes_to_(Size, Count)
#define _Out_writes_to_(Size, Count)
#define _Outptr_
#define _Outptr_result_maybenull_
#define _Ret_maybenull_
#define _Success_(Expression)
#define _Must_inspect_result_
#define _Use_decl_annotations_
#define _Printf_format_string_

#define STATUS_SUCCESS                  ((NTSTATUS)0x00000000)
#define STATUS_INVALID_PARAMETER        ((NTSTATUS)0xC000000D)
#define STATUS_NO_MEMORY                ((NTSTATUS)0xC0000017)
#define STATUS_NOT_FOUND                ((NTSTATUS)0xC0000225)
#define STATUS_RETRY                    ((NTSTATUS)0xC000022D)
#define STATUS_END_OF_FILE              ((NTSTATUS)0xC0000011)
#define STATUS_FILE_INVALID             ((NTSTATUS)0xC0000098)
#define STATUS_REVISION_MISMATCH        ((NTSTATUS)0xC0000059)
#define STATUS_FILE_CORRUPT_ERROR       ((NTSTATUS)0xC0000102)
#define STATUS_BUFFER_TOO_SMALL         ((NTSTATUS)0xC0000023)
#define STATUS_NAME_TOO_LONG            ((NTSTATUS)0xC0000106)
#define STATUS_OBJECT_NAME_INVALID      ((NTSTATUS)0xC0000033)
#define STATUS_DUPLICATE_NAME           ((NTSTATUS)0xC00000BD)
#define STATUS_INTEGER_OVERFLOW         ((NTSTATUS)0xC0000095)

#endif

//
// The instruction sets that the processor has and the operating system saves.
//

typedef union _RTL_CPU_FEATURES {
    struct {
        ULONG Sse42:1;
        ULONG Avx2:1;
        ULONG Bmi2:1;
        ULONG Avx512:1;             // F, BW, DQ and VL
        ULONG InvariantTsc:1;       // CPUID 80000007h EDX bit 8
        ULONG Xsave:1;              // OSXSAVE
        ULONG Unused:26;
    };
    ULONG AsULong;
} RTL_CPU_FEATURES;
C_ASSERT(sizeof(RTL_CPU_FEATURES) == sizeof(ULONG));

//
// Loads and stores with ordering, for the few fields that threads or processes
// share.  x64 orders loads with loads and stores with stores, so what these
// have to stop is the compiler.
//

#if defined(_MSC_VER) && !defined(__clang__)

#include <intrin.h>

#define RtlLoadAcquire32(Address) \
    ((uint32_t)__iso_volatile_load32((const volatile __int32 *)(Address)))
#define RtlLoadAcquire64(Address) \
    ((uint64_t)__iso_volatile_load64((const volatile __int64 *)(Address)))
#define RtlStoreRelease32(Address, Value)                                   \
    do {                                                                    \
        _ReadWriteBarrier();                                                \
        __iso_volatile_store32((volatile __int32 *)(Address),               \
                               (__int32)(Value));                           \
    } while (0)
#define RtlStoreRelease64(Address, Value)                                   \
    do {                                                                    \
        _ReadWriteBarrier();                                                \
        __iso_volatile_store64((volatile __int64 *)(Address),               \
                               (__int64)(Value));                           \
    } while (0)
#define RtlCompilerBarrier() _ReadWriteBarrier()

#else

#define RtlLoadAcquire32(Address) \
    __atomic_load_n((const uint32_t *)(Address), __ATOMIC_ACQUIRE)
#define RtlLoadAcquire64(Address) \
    __atomic_load_n((const uint64_t *)(Address), __ATOMIC_ACQUIRE)
#define RtlStoreRelease32(Address, Value) \
    __atomic_store_n((uint32_t *)(Address), (uint32_t)(Value), __ATOMIC_RELEASE)
#define RtlStoreRelease64(Address, Value) \
    __atomic_store_n((uint64_t *)(Address), (uint64_t)(Value), __ATOMIC_RELEASE)
#define RtlCompilerBarrier() __asm__ __volatile__("" ::: "memory")

#endif

#endif // TRACER_RTL_TYPES_H

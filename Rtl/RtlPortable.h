/*++

Module Name:

    RtlPortable.h

Abstract:

    What Rtl.h and the sources above it use of the Windows headers beyond
    RtlTypes.h, so that they build where there is no Windows: as WebAssembly
    for the viewer, and natively, with sanitizers, for the fuzzers.  It is
    included before everything else (-include), and the sources are built with
    -fshort-wchar, since a WCHAR has 16 bits.

    ntstatus.h is mingw-w64's, the one header of it that is nothing but
    numbers.

    Under Windows this header is empty.

    There is no structured exception handling here: the body of a __try runs
    as it stands.

--*/

#ifndef RTL_PORTABLE_H
#define RTL_PORTABLE_H

#ifndef _WIN32

#include "RtlTypes.h"
#include <ntstatus.h>

typedef PVOID HANDLE, *PHANDLE, HMODULE, LPVOID;
typedef const VOID *LPCVOID;
typedef WCHAR *LPWSTR;
typedef const WCHAR *LPCWSTR;
typedef ULONG ACCESS_MASK, *PDWORD, *LPDWORD;
typedef uint64_t DWORD64, *PDWORD64;
typedef VOID (*PFLS_CALLBACK_FUNCTION)(PVOID Data);
typedef struct _OVERLAPPED *LPOVERLAPPED;

typedef union _LARGE_INTEGER {
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef struct _IO_STATUS_BLOCK {
    NTSTATUS Status;
    ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory;
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;

typedef struct _CLIENT_ID {
    HANDLE UniqueProcess;
    HANDLE UniqueThread;
} CLIENT_ID;

//
// What a routine of the RTL is declared with that no target calls.
//

typedef struct _RUNTIME_FUNCTION *PRUNTIME_FUNCTION;
typedef struct _UNWIND_HISTORY_TABLE *PUNWIND_HISTORY_TABLE;
typedef LONG (*PVECTORED_EXCEPTION_HANDLER)(PVOID);

#define InitializeObjectAttributes(Object, Name, Flags, Root, Descriptor)   \
    do {                                                                    \
        (Object)->Length = sizeof(OBJECT_ATTRIBUTES);                       \
        (Object)->RootDirectory = (Root);                                   \
        (Object)->ObjectName = (Name);                                      \
        (Object)->Attributes = (Flags);                                     \
        (Object)->SecurityDescriptor = (Descriptor);                        \
        (Object)->SecurityQualityOfService = NULL;                          \
    } while (0)

#define _In_opt_z_
#define _Out_writes_opt_(Count)
#define _Out_writes_z_(Count)

#define InterlockedIncrement(Address) \
    __atomic_add_fetch((Address), 1, __ATOMIC_SEQ_CST)
#define InterlockedDecrement(Address) \
    __atomic_sub_fetch((Address), 1, __ATOMIC_SEQ_CST)
#define InterlockedOr(Address, Value) \
    __atomic_fetch_or((Address), (Value), __ATOMIC_SEQ_CST)
#define InterlockedCompareExchange(Address, New, Old) \
    __sync_val_compare_and_swap((Address), (Old), (New))

#define InterlockedCompareExchange64(Address, New, Old) \
    __sync_val_compare_and_swap((Address), (Old), (New))
#define InterlockedCompareExchangePointer(Address, New, Old) \
    __sync_val_compare_and_swap((Address), (Old), (New))
#define InterlockedExchangePointer(Address, New) \
    __atomic_exchange_n((Address), (New), __ATOMIC_SEQ_CST)
#define InterlockedExchange(Address, New) \
    __atomic_exchange_n((Address), (New), __ATOMIC_SEQ_CST)
#define InterlockedIncrement64(Address) \
    __atomic_add_fetch((Address), 1, __ATOMIC_SEQ_CST)

typedef NTSTATUS *PNTSTATUS;
typedef LONGLONG *PLONGLONG;

#define WINAPI
#define CALLBACK
#define DECLSPEC_NOINLINE __attribute__((noinline))
#define __declspec(Attribute) __attribute__((Attribute))
#define FORCEINLINE static inline __attribute__((always_inline))

#define FILE_GENERIC_READ                   0x00120089
#define FILE_GENERIC_WRITE                  0x00120116
#define FILE_ALL_ACCESS                     0x001F01FF
#define FILE_READ_DATA                      0x1
#define FILE_LIST_DIRECTORY                 0x1
#define FILE_WRITE_DATA                     0x2
#define FILE_APPEND_DATA                    0x4
#define FILE_WRITE_EA                       0x10
#define FILE_EXECUTE                        0x20
#define FILE_TRAVERSE                       0x20
#define FILE_DELETE_CHILD                   0x40
#define FILE_READ_ATTRIBUTES                0x80
#define FILE_WRITE_ATTRIBUTES               0x100
#define FILE_SHARE_READ                     0x1
#define FILE_SHARE_WRITE                    0x2
#define FILE_SHARE_DELETE                   0x4
#define FILE_ATTRIBUTE_READONLY             0x1
#define FILE_ATTRIBUTE_DIRECTORY            0x10
#define FILE_ATTRIBUTE_REPARSE_POINT        0x400
#define FILE_ATTRIBUTE_NORMAL               0x80
#define FILE_OPEN                           1
#define FILE_OPEN_IF                        3
#define FILE_OVERWRITE_IF                   5
#define FILE_DIRECTORY_FILE                 0x1
#define FILE_SYNCHRONOUS_IO_NONALERT        0x20
#define FILE_NON_DIRECTORY_FILE             0x40
#define OBJ_CASE_INSENSITIVE                0x40
#define GENERIC_READ                        0x80000000u
#define GENERIC_WRITE                       0x40000000u
#define DELETE                              0x00010000
#define FILE_OPEN_REPARSE_POINT             0x200000
#define READ_CONTROL                        0x00020000
#define WRITE_DAC                           0x00040000
#define WRITE_OWNER                         0x00080000
#define GENERIC_ALL                         0x10000000
#define OWNER_SECURITY_INFORMATION          1
#define DACL_SECURITY_INFORMATION           4
#define TOKEN_QUERY                         8
#define SYNCHRONIZE                         0x00100000
#define SECTION_QUERY                       0x1
#define SECTION_MAP_WRITE                   0x2
#define SECTION_MAP_READ                    0x4
#define SEC_COMMIT                          0x08000000
#define PAGE_READONLY                       0x02
#define PAGE_READWRITE                      0x04
#define MEM_COMMIT                          0x1000
#define MEM_RESERVE                         0x2000
#define MEM_RELEASE                         0x8000
#define PROCESS_QUERY_LIMITED_INFORMATION   0x1000
#define EVENT_ALL_ACCESS                    0x001F0003
#define THREAD_ALL_ACCESS                   0x001FFFFF
#define HEAP_ZERO_MEMORY                    0x8
#define STD_OUTPUT_HANDLE                   ((DWORD)-11)
#define STD_ERROR_HANDLE                    ((DWORD)-12)
#define LOAD_LIBRARY_SEARCH_APPLICATION_DIR 0x00000200
#define LOAD_LIBRARY_SEARCH_SYSTEM32        0x00000800
#define INVALID_HANDLE_VALUE                ((HANDLE)(LONG_PTR)-1)
#define ERROR_BROKEN_PIPE                   109
#define ERROR_ALREADY_EXISTS                183
#define ERROR_FILENAME_EXCED_RANGE          206
#define ERROR_NO_DATA                       232
#define ERROR_PIPE_NOT_CONNECTED            233

#define __try
#define __except(...) if (((void)(__VA_ARGS__)), 0)
#define GetExceptionCode() 0u
#define EXCEPTION_EXECUTE_HANDLER 1
#define EXCEPTION_CONTINUE_SEARCH 0

static inline
VOID
__movsb(
    PUCHAR Destination,
    const UCHAR *Source,
    SIZE_T SizeInBytes
    )
{
    while (SizeInBytes != 0) {
        *Destination = *Source;
        Destination += 1;
        Source += 1;
        SizeInBytes -= 1;
    }
}

//
// What consoles have, of which there is none.
//

typedef uint16_t WORD;

typedef struct _COORD {
    int16_t X;
    int16_t Y;
} COORD;

typedef struct _SMALL_RECT {
    int16_t Left;
    int16_t Top;
    int16_t Right;
    int16_t Bottom;
} SMALL_RECT, *PSMALL_RECT;

typedef struct _CHAR_INFO {
    WCHAR UnicodeChar;
    WORD Attributes;
} CHAR_INFO, *PCHAR_INFO;

typedef struct _CONSOLE_CURSOR_INFO {
    DWORD dwSize;
    BOOL bVisible;
} CONSOLE_CURSOR_INFO, *PCONSOLE_CURSOR_INFO;

typedef struct _INPUT_RECORD {
    WORD EventType;
} INPUT_RECORD, *PINPUT_RECORD;

//
// Of a console's screen, only its window and colours: no target has a console.
//

typedef struct _CONSOLE_SCREEN_BUFFER_INFO {
    WORD wAttributes;
    SMALL_RECT srWindow;
} CONSOLE_SCREEN_BUFFER_INFO;
typedef CONSOLE_SCREEN_BUFFER_INFO *PCONSOLE_SCREEN_BUFFER_INFO;

typedef BOOL (*PHANDLER_ROUTINE)(DWORD);

typedef struct _SECURITY_ATTRIBUTES *LPSECURITY_ATTRIBUTES;

typedef struct _STARTUPINFOW {
    DWORD cb;
    DWORD dwFlags;
    HANDLE hStdInput;
    HANDLE hStdOutput;
    HANDLE hStdError;
} STARTUPINFOW, *LPSTARTUPINFOW;

typedef struct _PROCESS_INFORMATION {
    HANDLE hProcess;
    HANDLE hThread;
    DWORD dwProcessId;
    DWORD dwThreadId;
} PROCESS_INFORMATION, *LPPROCESS_INFORMATION;

#define CREATE_SUSPENDED                    0x4
#define STARTF_USESTDHANDLES                0x100
#define HANDLE_FLAG_INHERIT                 0x1
#define STD_INPUT_HANDLE                    ((DWORD)-10)
#define CTRL_C_EVENT                        0
#define CTRL_BREAK_EVENT                    1
#define ERROR_FILE_NOT_FOUND                2
#define ERROR_PATH_NOT_FOUND                3
#define ERROR_ACCESS_DENIED                 5
#define ERROR_NOT_ENOUGH_MEMORY             8
#define ERROR_BAD_EXE_FORMAT                193

//
// The last error, which is all that is read through gs.
//

#define __readgsdword(Offset) ((ULONG)((Offset) * 0))

//
// The time stamp counter: who links this has a counter in its place.
//

extern ULONGLONG RtlPortableTimestamp;
#define __rdtsc() (RtlPortableTimestamp += 16)

#endif // _WIN32

#endif // RTL_PORTABLE_H

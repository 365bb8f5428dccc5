/*++

Module Name:

    RtlOs.h

Abstract:

    The operating system's routines that Tracer calls through the RTL
    structure: their types, and the lists from which the structure's fields
    and the names to resolve are both generated.

    A routine is named here exactly as its DLL exports it.  The required lists
    hold what nothing works without (Windows 7 and later have them all); the
    optional list holds what some feature uses when it is there.

    Sources: Windows SDK winternl.h and the WDK's documentation of the Zw
    routines (same parameters); the numbers of information classes are those
    of the WDK's wdm.h and ntifs.h.

--*/

#ifndef TRACER_RTL_OS_H
#define TRACER_RTL_OS_H

#include "RtlTypes.h"

#ifndef STATUS_REPARSE_POINT_ENCOUNTERED
#define STATUS_REPARSE_POINT_ENCOUNTERED ((NTSTATUS)0xC000050B)
#endif

//
// ntdll.dll: files and directories.
//

typedef NTSTATUS (NTAPI NT_CREATE_FILE)(
    _Out_ PHANDLE FileHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ POBJECT_ATTRIBUTES ObjectAttributes,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock,
    _In_opt_ PLARGE_INTEGER AllocationSize,
    _In_ ULONG FileAttributes,
    _In_ ULONG ShareAccess,
    _In_ ULONG CreateDisposition,
    _In_ ULONG CreateOptions,
    _In_opt_ PVOID EaBuffer,
    _In_ ULONG EaLength
    );

typedef NTSTATUS (NTAPI NT_READ_WRITE_FILE)(
    _In_ HANDLE FileHandle,
    _In_opt_ HANDLE Event,
    _In_opt_ PVOID ApcRoutine,
    _In_opt_ PVOID ApcContext,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock,
    _Inout_ PVOID Buffer,
    _In_ ULONG Length,
    _In_opt_ PLARGE_INTEGER ByteOffset,
    _In_opt_ PULONG Key
    );

typedef NTSTATUS (NTAPI NT_QUERY_SET_INFORMATION_FILE)(
    _In_ HANDLE FileHandle,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock,
    _Inout_ PVOID FileInformation,
    _In_ ULONG Length,
    _In_ ULONG FileInformationClass
    );

typedef NTSTATUS (NTAPI NT_QUERY_DIRECTORY_FILE)(
    _In_ HANDLE FileHandle,
    _In_opt_ HANDLE Event,
    _In_opt_ PVOID ApcRoutine,
    _In_opt_ PVOID ApcContext,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock,
    _Out_writes_bytes_(Length) PVOID FileInformation,
    _In_ ULONG Length,
    _In_ ULONG FileInformationClass,
    _In_ BOOLEAN ReturnSingleEntry,
    _In_opt_ PUNICODE_STRING FileName,
    _In_ BOOLEAN RestartScan
    );

typedef NTSTATUS (NTAPI NT_CLOSE)(
    _In_ HANDLE Handle
    );

typedef NTSTATUS (NTAPI NT_SET_INFORMATION_OBJECT)(
    _In_ HANDLE Handle,
    _In_ ULONG ObjectInformationClass,
    _In_reads_bytes_(Length) PVOID Information,
    _In_ ULONG Length
    );

#define RTL_OBJECT_HANDLE_FLAG_INFORMATION  4   // ObjectHandleFlagInformation

//
// NtQueryVolumeInformationFile: a file's volume.  CallerFree is what a quota
// leaves of it.
//

#define RTL_VOLUME_FULL_SIZE_INFORMATION    7   // FileFsFullSizeInformation

typedef struct _RTL_VOLUME_SIZE {
    LARGE_INTEGER Total;            // units
    LARGE_INTEGER CallerFree;       // units
    LARGE_INTEGER Free;             // units
    ULONG SectorsPerUnit;
    ULONG BytesPerSector;
} RTL_VOLUME_SIZE;

#define RTL_FILE_DIRECTORY_INFORMATION      1   // FileDirectoryInformation
#define RTL_FILE_BASIC_INFORMATION          4   // FileBasicInformation
#define RTL_FILE_STANDARD_INFORMATION       5   // FileStandardInformation
#define RTL_FILE_END_OF_FILE_INFORMATION    20  // FileEndOfFileInformation

//
// ntdll.dll: sections and memory.
//

typedef NTSTATUS (NTAPI NT_CREATE_SECTION)(
    _Out_ PHANDLE SectionHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes,
    _In_opt_ PLARGE_INTEGER MaximumSize,
    _In_ ULONG SectionPageProtection,
    _In_ ULONG AllocationAttributes,
    _In_opt_ HANDLE FileHandle
    );

typedef NTSTATUS (NTAPI NT_MAP_VIEW_OF_SECTION)(
    _In_ HANDLE SectionHandle,
    _In_ HANDLE ProcessHandle,
    _Inout_ PVOID *BaseAddress,
    _In_ ULONG_PTR ZeroBits,
    _In_ SIZE_T CommitSize,
    _Inout_opt_ PLARGE_INTEGER SectionOffset,
    _Inout_ PSIZE_T ViewSize,
    _In_ ULONG InheritDisposition,
    _In_ ULONG AllocationType,
    _In_ ULONG Win32Protect
    );

typedef NTSTATUS (NTAPI NT_UNMAP_VIEW_OF_SECTION)(
    _In_ HANDLE ProcessHandle,
    _In_opt_ PVOID BaseAddress
    );

typedef NTSTATUS (NTAPI NT_ALLOCATE_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _Inout_ PVOID *BaseAddress,
    _In_ ULONG_PTR ZeroBits,
    _Inout_ PSIZE_T RegionSize,
    _In_ ULONG AllocationType,
    _In_ ULONG Protect
    );

typedef NTSTATUS (NTAPI NT_FREE_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _Inout_ PVOID *BaseAddress,
    _Inout_ PSIZE_T RegionSize,
    _In_ ULONG FreeType
    );

typedef NTSTATUS (NTAPI NT_FLUSH_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _Inout_ PVOID *BaseAddress,
    _Inout_ PSIZE_T RegionSize,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock
    );

typedef NTSTATUS (NTAPI NT_FLUSH_BUFFERS_FILE)(
    _In_ HANDLE FileHandle,
    _Out_ PIO_STATUS_BLOCK IoStatusBlock
    );

typedef NTSTATUS (NTAPI NT_QUERY_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _In_opt_ PVOID BaseAddress,
    _In_ ULONG InformationClass,
    _Out_writes_bytes_(SizeInBytes) PVOID Information,
    _In_ SIZE_T SizeInBytes,
    _Out_opt_ PSIZE_T ReturnSize
    );

#define RTL_MEMORY_MAPPED_FILE_NAME 2   // MemoryMappedFilenameInformation: a
                                        // UNICODE_STRING and what it points to

typedef NTSTATUS (NTAPI NT_PROTECT_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _Inout_ PVOID *BaseAddress,
    _Inout_ PSIZE_T RegionSize,
    _In_ ULONG NewProtection,
    _Out_ PULONG OldProtection
    );

typedef NTSTATUS (NTAPI NT_FLUSH_INSTRUCTION_CACHE)(
    _In_ HANDLE ProcessHandle,
    _In_opt_ PVOID BaseAddress,
    _In_ SIZE_T SizeInBytes
    );

#define RTL_VIEW_UNMAP 2                        // SECTION_INHERIT ViewUnmap

typedef PVOID (NTAPI RTL_ALLOCATE_HEAP)(
    _In_ PVOID HeapHandle,
    _In_opt_ ULONG Flags,
    _In_ SIZE_T Size
    );

typedef BOOLEAN (NTAPI RTL_FREE_HEAP)(
    _In_ PVOID HeapHandle,
    _In_opt_ ULONG Flags,
    _In_opt_ PVOID BaseAddress
    );

//
// ntdll.dll: threads, events, time, the process.
//

typedef NTSTATUS (NTAPI NT_CREATE_EVENT)(
    _Out_ PHANDLE EventHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes,
    _In_ ULONG EventType,
    _In_ BOOLEAN InitialState
    );

typedef NTSTATUS (NTAPI NT_SET_EVENT)(
    _In_ HANDLE EventHandle,
    _Out_opt_ PLONG PreviousState
    );

#define RTL_SYNCHRONIZATION_EVENT 1             // EVENT_TYPE: auto-reset

typedef NTSTATUS (NTAPI NT_WAIT_FOR_SINGLE_OBJECT)(
    _In_ HANDLE Handle,
    _In_ BOOLEAN Alertable,
    _In_opt_ PLARGE_INTEGER Timeout
    );

typedef NTSTATUS (NTAPI NT_SIGNAL_AND_WAIT_FOR_SINGLE_OBJECT)(
    _In_ HANDLE SignalHandle,
    _In_ HANDLE WaitHandle,
    _In_ BOOLEAN Alertable,
    _In_opt_ PLARGE_INTEGER Timeout
    );

typedef NTSTATUS (NTAPI NT_DELAY_EXECUTION)(
    _In_ BOOLEAN Alertable,
    _In_ PLARGE_INTEGER DelayInterval
    );

typedef NTSTATUS (NTAPI NT_YIELD_EXECUTION)(
    VOID
    );

typedef NTSTATUS (NTAPI NT_CREATE_THREAD_EX)(
    _Out_ PHANDLE ThreadHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes,
    _In_ HANDLE ProcessHandle,
    _In_ PVOID StartRoutine,
    _In_opt_ PVOID Argument,
    _In_ ULONG CreateFlags,
    _In_ SIZE_T ZeroBits,
    _In_ SIZE_T StackSize,
    _In_ SIZE_T MaximumStackSize,
    _In_opt_ PVOID AttributeList
    );

//
// CreateFlags of NtCreateThreadEx.
//

#define RTL_THREAD_CREATE_SUSPENDED     0x1
#define RTL_THREAD_SKIP_THREAD_ATTACH   0x2

typedef NTSTATUS (NTAPI NT_RESUME_THREAD)(
    _In_ HANDLE ThreadHandle,
    _Out_opt_ PULONG PreviousSuspendCount
    );

typedef NTSTATUS (NTAPI NT_TERMINATE_THREAD)(
    _In_opt_ HANDLE ThreadHandle,
    _In_ NTSTATUS ExitStatus
    );

typedef NTSTATUS (NTAPI NT_QUERY_INFORMATION)(
    _In_ HANDLE Handle,
    _In_ ULONG InformationClass,
    _Out_writes_bytes_(Length) PVOID Information,
    _In_ ULONG Length,
    _Out_opt_ PULONG ReturnLength
    );

#define RTL_PROCESS_BASIC_INFORMATION   0       // ProcessBasicInformation

typedef struct _RTL_PROCESS_BASIC {
    NTSTATUS ExitStatus;
    ULONG Padding;
    PVOID PebBaseAddress;
    ULONG_PTR AffinityMask;
    LONG BasePriority;
    ULONG Padding2;
    ULONG_PTR UniqueProcessId;
    ULONG_PTR InheritedFromUniqueProcessId;
} RTL_PROCESS_BASIC;

#define RTL_PROCESS_TIMES               4       // ProcessTimes
#define RTL_THREAD_BASIC_INFORMATION    0       // ThreadBasicInformation
#define RTL_THREAD_TIMES                1       // ThreadTimes
#define RTL_THREAD_NAME_INFORMATION     38      // ThreadNameInformation

typedef NTSTATUS (NTAPI NT_OPEN_PROCESS)(
    _Out_ PHANDLE ProcessHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ POBJECT_ATTRIBUTES ObjectAttributes,
    _In_ PVOID ClientId
    );

typedef NTSTATUS (NTAPI NT_QUERY_SYSTEM_TIME)(
    _Out_ PLARGE_INTEGER SystemTime
    );

typedef NTSTATUS (NTAPI NT_QUERY_PERFORMANCE_COUNTER)(
    _Out_ PLARGE_INTEGER PerformanceCounter,
    _Out_opt_ PLARGE_INTEGER PerformanceFrequency
    );

typedef BOOLEAN (NTAPI RTL_DLL_SHUTDOWN_IN_PROGRESS)(
    VOID
    );

//
// The next thread of a process, or its first (Thread NULL), in the order of
// their creation; STATUS_NO_MORE_ENTRIES.
//

typedef NTSTATUS (NTAPI NT_GET_NEXT_THREAD)(
    _In_ HANDLE ProcessHandle,
    _In_opt_ HANDLE ThreadHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ ULONG HandleAttributes,
    _In_ ULONG Flags,
    _Out_ PHANDLE NewThreadHandle
    );

typedef NTSTATUS (NTAPI NT_DUPLICATE_OBJECT)(
    _In_ HANDLE SourceProcessHandle,
    _In_ HANDLE SourceHandle,
    _In_opt_ HANDLE TargetProcessHandle,
    _Out_opt_ PHANDLE TargetHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ ULONG HandleAttributes,
    _In_ ULONG Options
    );

#define RTL_WAIT_ANY 1                          // WAIT_TYPE WaitAny

typedef NTSTATUS (NTAPI NT_WAIT_FOR_MULTIPLE_OBJECTS)(
    _In_ ULONG Count,
    _In_reads_(Count) HANDLE *Handles,
    _In_ ULONG WaitType,
    _In_ BOOLEAN Alertable,
    _In_opt_ PLARGE_INTEGER Timeout
    );

typedef NTSTATUS (NTAPI NT_READ_VIRTUAL_MEMORY)(
    _In_ HANDLE ProcessHandle,
    _In_opt_ PVOID BaseAddress,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ SIZE_T SizeInBytes,
    _Out_opt_ PSIZE_T NumberOfBytesRead
    );

typedef NTSTATUS (NTAPI NT_QUERY_SECURITY_OBJECT)(
    _In_ HANDLE Handle,
    _In_ ULONG SecurityInformation,
    _Out_writes_bytes_(Length) PVOID SecurityDescriptor,
    _In_ ULONG Length,
    _Out_ PULONG LengthNeeded
    );

typedef NTSTATUS (NTAPI NT_OPEN_PROCESS_TOKEN)(
    _In_ HANDLE ProcessHandle,
    _In_ ACCESS_MASK DesiredAccess,
    _Out_ PHANDLE TokenHandle
    );

typedef NTSTATUS (NTAPI NT_QUERY_INFORMATION_TOKEN)(
    _In_ HANDLE TokenHandle,
    _In_ ULONG TokenInformationClass,
    _Out_writes_bytes_(Length) PVOID TokenInformation,
    _In_ ULONG Length,
    _Out_ PULONG ReturnLength
    );

//
// Whether User Account Control is on (bit 0): what KUSER_SHARED_DATA has as
// DbgElevationEnabled (WDK, ntddk.h).  Windows Vista and later; not Wine.
//

typedef NTSTATUS (NTAPI RTL_QUERY_ELEVATION_FLAGS)(
    _Out_ PULONG Flags
    );

typedef VOID (NTAPI RTL_EXIT_USER_PROCESS)(
    _In_ NTSTATUS ExitStatus
    );

typedef WCHAR (NTAPI RTL_UPCASE_UNICODE_CHAR)(
    _In_ WCHAR SourceCharacter
    );

typedef NTSTATUS (NTAPI RTL_QUERY_ENVIRONMENT_VARIABLE_U)(
    _In_opt_ PVOID Environment,
    _In_ PUNICODE_STRING Name,
    _Inout_ PUNICODE_STRING Value
    );

typedef NTSTATUS (NTAPI RTL_SET_ENVIRONMENT_VARIABLE)(
    _Inout_opt_ PVOID *Environment,
    _In_ PCUNICODE_STRING Name,
    _In_opt_ PCUNICODE_STRING Value
    );

//
// kernel32.dll.
//

typedef DWORD (WINAPI TLS_ALLOC)(
    VOID
    );

typedef BOOL (WINAPI TLS_FREE)(
    _In_ DWORD TlsIndex
    );

typedef BOOL (WINAPI TLS_SET_VALUE)(
    _In_ DWORD TlsIndex,
    _In_opt_ LPVOID TlsValue
    );

typedef DWORD (WINAPI FLS_ALLOC)(
    _In_opt_ PFLS_CALLBACK_FUNCTION Callback
    );

typedef BOOL (WINAPI FLS_FREE)(
    _In_ DWORD FlsIndex
    );

typedef BOOL (WINAPI FLS_SET_VALUE)(
    _In_ DWORD FlsIndex,
    _In_opt_ PVOID FlsData
    );

typedef DWORD (WINAPI GET_MODULE_FILE_NAME_W)(
    _In_opt_ HMODULE Module,
    _Out_writes_(Size) LPWSTR FileName,
    _In_ DWORD Size
    );

typedef DWORD (WINAPI GET_FULL_PATH_NAME_W)(
    _In_z_ LPCWSTR FileName,
    _In_ DWORD BufferLength,
    _Out_writes_(BufferLength) LPWSTR Buffer,
    _Out_opt_ LPWSTR *FilePart
    );

typedef LPWSTR (WINAPI GET_COMMAND_LINE_W)(
    VOID
    );

typedef DWORD (WINAPI GET_TEMP_PATH_W)(
    _In_ DWORD BufferLength,
    _Out_writes_(BufferLength) LPWSTR Buffer
    );

typedef VOID (WINAPI OUTPUT_DEBUG_STRING_W)(
    _In_opt_ LPCWSTR OutputString
    );

typedef HMODULE (WINAPI LOAD_LIBRARY_EX_W)(
    _In_z_ LPCWSTR FileName,
    _In_opt_ HANDLE File,
    _In_ DWORD Flags
    );

typedef BOOL (WINAPI FREE_LIBRARY)(
    _In_ HMODULE Module
    );

typedef HANDLE (WINAPI GET_STD_HANDLE)(
    _In_ DWORD StdHandle
    );

typedef BOOL (WINAPI GET_CONSOLE_MODE)(
    _In_ HANDLE ConsoleHandle,
    _Out_ LPDWORD Mode
    );

typedef BOOL (WINAPI WRITE_CONSOLE_W)(
    _In_ HANDLE ConsoleOutput,
    _In_reads_(NumberOfCharsToWrite) const VOID *Buffer,
    _In_ DWORD NumberOfCharsToWrite,
    _Out_opt_ LPDWORD NumberOfCharsWritten,
    _In_opt_ LPVOID Reserved
    );

typedef BOOL (WINAPI WRITE_FILE)(
    _In_ HANDLE File,
    _In_reads_bytes_(NumberOfBytesToWrite) LPCVOID Buffer,
    _In_ DWORD NumberOfBytesToWrite,
    _Out_opt_ LPDWORD NumberOfBytesWritten,
    _Inout_opt_ LPOVERLAPPED Overlapped
    );

//
// ntdll.dll: unwind data of code that is not the module's own.
//

typedef PRUNTIME_FUNCTION (NTAPI RTL_LOOKUP_FUNCTION_ENTRY)(
    _In_ DWORD64 ControlPc,
    _Out_ PDWORD64 ImageBase,
    _Inout_opt_ PUNWIND_HISTORY_TABLE HistoryTable
    );

//
// ntdll.dll: what AddVectoredExceptionHandler of kernel32.dll is forwarded to.
//

typedef PVOID (NTAPI RTL_ADD_EXCEPTION_HANDLER)(
    _In_ ULONG First,
    _In_ PVECTORED_EXCEPTION_HANDLER Handler
    );

//
// The lists.  ENTRY(Type, Name).
//

#define RTL_NTDLL_REQUIRED(ENTRY)                                           \
    ENTRY(NT_CREATE_FILE, NtCreateFile)                                     \
    ENTRY(NT_READ_WRITE_FILE, NtReadFile)                                   \
    ENTRY(NT_READ_WRITE_FILE, NtWriteFile)                                  \
    ENTRY(NT_QUERY_SET_INFORMATION_FILE, NtQueryInformationFile)            \
    ENTRY(NT_QUERY_SET_INFORMATION_FILE, NtSetInformationFile)              \
    ENTRY(NT_QUERY_DIRECTORY_FILE, NtQueryDirectoryFile)                    \
    ENTRY(NT_CLOSE, NtClose)                                                \
    ENTRY(NT_CREATE_SECTION, NtCreateSection)                               \
    ENTRY(NT_MAP_VIEW_OF_SECTION, NtMapViewOfSection)                       \
    ENTRY(NT_UNMAP_VIEW_OF_SECTION, NtUnmapViewOfSection)                   \
    ENTRY(NT_ALLOCATE_VIRTUAL_MEMORY, NtAllocateVirtualMemory)              \
    ENTRY(NT_FREE_VIRTUAL_MEMORY, NtFreeVirtualMemory)                      \
    ENTRY(NT_FLUSH_VIRTUAL_MEMORY, NtFlushVirtualMemory)                    \
    ENTRY(NT_PROTECT_VIRTUAL_MEMORY, NtProtectVirtualMemory)                \
    ENTRY(RTL_ALLOCATE_HEAP, RtlAllocateHeap)                               \
    ENTRY(RTL_FREE_HEAP, RtlFreeHeap)                                       \
    ENTRY(NT_CREATE_EVENT, NtCreateEvent)                                   \
    ENTRY(NT_SET_EVENT, NtSetEvent)                                         \
    ENTRY(NT_WAIT_FOR_SINGLE_OBJECT, NtWaitForSingleObject)                 \
    ENTRY(NT_SIGNAL_AND_WAIT_FOR_SINGLE_OBJECT,                             \
          NtSignalAndWaitForSingleObject)                                   \
    ENTRY(NT_DELAY_EXECUTION, NtDelayExecution)                             \
    ENTRY(NT_YIELD_EXECUTION, NtYieldExecution)                             \
    ENTRY(NT_CREATE_THREAD_EX, NtCreateThreadEx)                            \
    ENTRY(NT_RESUME_THREAD, NtResumeThread)                                 \
    ENTRY(NT_TERMINATE_THREAD, NtTerminateThread)                           \
    ENTRY(NT_QUERY_INFORMATION, NtQueryInformationThread)                   \
    ENTRY(NT_QUERY_INFORMATION, NtQueryInformationProcess)                  \
    ENTRY(NT_OPEN_PROCESS, NtOpenProcess)                                   \
    ENTRY(NT_QUERY_SYSTEM_TIME, NtQuerySystemTime)                          \
    ENTRY(NT_QUERY_PERFORMANCE_COUNTER, NtQueryPerformanceCounter)          \
    ENTRY(RTL_UPCASE_UNICODE_CHAR, RtlUpcaseUnicodeChar)                    \
    ENTRY(RTL_QUERY_ENVIRONMENT_VARIABLE_U, RtlQueryEnvironmentVariable_U)

#define RTL_NTDLL_OPTIONAL(ENTRY)                                           \
    ENTRY(RTL_DLL_SHUTDOWN_IN_PROGRESS, RtlDllShutdownInProgress)           \
    ENTRY(NT_QUERY_SET_INFORMATION_FILE, NtQueryVolumeInformationFile)      \
    ENTRY(NT_FLUSH_BUFFERS_FILE, NtFlushBuffersFile)                        \
    ENTRY(NT_SET_INFORMATION_OBJECT, NtSetInformationObject)                \
    ENTRY(NT_GET_NEXT_THREAD, NtGetNextThread)                              \
    ENTRY(NT_WAIT_FOR_MULTIPLE_OBJECTS, NtWaitForMultipleObjects)           \
    ENTRY(NT_READ_VIRTUAL_MEMORY, NtReadVirtualMemory)                      \
    ENTRY(NT_QUERY_VIRTUAL_MEMORY, NtQueryVirtualMemory)                    \
    ENTRY(NT_DUPLICATE_OBJECT, NtDuplicateObject)                           \
    ENTRY(RTL_SET_ENVIRONMENT_VARIABLE, RtlSetEnvironmentVariable)          \
    ENTRY(NT_FLUSH_INSTRUCTION_CACHE, NtFlushInstructionCache)              \
    ENTRY(RTL_EXIT_USER_PROCESS, RtlExitUserProcess)                        \
    ENTRY(RTL_LOOKUP_FUNCTION_ENTRY, RtlLookupFunctionEntry)                \
    ENTRY(RTL_ADD_EXCEPTION_HANDLER, RtlAddVectoredExceptionHandler)        \
    ENTRY(NT_QUERY_SECURITY_OBJECT, NtQuerySecurityObject)                  \
    ENTRY(NT_OPEN_PROCESS_TOKEN, NtOpenProcessToken)                        \
    ENTRY(NT_QUERY_INFORMATION_TOKEN, NtQueryInformationToken)              \
    ENTRY(RTL_QUERY_ELEVATION_FLAGS, RtlQueryElevationFlags)

#define RTL_KERNEL32_REQUIRED(ENTRY)                                        \
    ENTRY(TLS_ALLOC, TlsAlloc)                                              \
    ENTRY(TLS_FREE, TlsFree)                                                \
    ENTRY(TLS_SET_VALUE, TlsSetValue)                                       \
    ENTRY(FLS_ALLOC, FlsAlloc)                                              \
    ENTRY(FLS_FREE, FlsFree)                                                \
    ENTRY(FLS_SET_VALUE, FlsSetValue)                                       \
    ENTRY(GET_MODULE_FILE_NAME_W, GetModuleFileNameW)                       \
    ENTRY(GET_FULL_PATH_NAME_W, GetFullPathNameW)                           \
    ENTRY(GET_COMMAND_LINE_W, GetCommandLineW)                              \
    ENTRY(GET_TEMP_PATH_W, GetTempPathW)                                    \
    ENTRY(OUTPUT_DEBUG_STRING_W, OutputDebugStringW)                        \
    ENTRY(LOAD_LIBRARY_EX_W, LoadLibraryExW)                                \
    ENTRY(FREE_LIBRARY, FreeLibrary)                                        \
    ENTRY(GET_STD_HANDLE, GetStdHandle)                                     \
    ENTRY(GET_CONSOLE_MODE, GetConsoleMode)                                 \
    ENTRY(WRITE_CONSOLE_W, WriteConsoleW)                                   \
    ENTRY(WRITE_FILE, WriteFile)

#endif // TRACER_RTL_OS_H

/*++

Module Name:

    ImportsTrivial.h

Abstract:

    The imported functions that TracerImports.dll leaves out unless a list names
    them: they are called so often and do so little that their records would be
    most of what there is.  TraceReader's info shows them.

--*/

#ifndef TRACER_IMPORTS_TRIVIAL_H
#define TRACER_IMPORTS_TRIVIAL_H

#define IMPORTS_TRIVIAL                                                     \
    "TlsGetValue", "TlsSetValue", "FlsGetValue", "FlsSetValue",             \
    "GetLastError", "SetLastError", "RtlGetLastWin32Error",                 \
    "RtlSetLastWin32Error", "RtlRestoreLastWin32Error",                     \
    "RtlNtStatusToDosError", "EnterCriticalSection", "LeaveCriticalSection",\
    "TryEnterCriticalSection", "RtlEnterCriticalSection",                   \
    "RtlLeaveCriticalSection", "RtlTryEnterCriticalSection",                \
    "AcquireSRWLockExclusive", "AcquireSRWLockShared",                      \
    "ReleaseSRWLockExclusive", "ReleaseSRWLockShared",                      \
    "TryAcquireSRWLockExclusive", "TryAcquireSRWLockShared",                \
    "RtlAcquireSRWLockExclusive", "RtlAcquireSRWLockShared",                \
    "RtlReleaseSRWLockExclusive", "RtlReleaseSRWLockShared", "HeapAlloc",   \
    "HeapFree", "HeapReAlloc", "HeapSize", "GetProcessHeap",                \
    "RtlAllocateHeap", "RtlFreeHeap", "RtlReAllocateHeap", "RtlSizeHeap",   \
    "GetCurrentProcess", "GetCurrentProcessId", "GetCurrentThread",         \
    "GetCurrentThreadId", "GetTickCount", "GetTickCount64",                 \
    "QueryPerformanceCounter", "QueryPerformanceFrequency",                 \
    "RtlQueryPerformanceCounter", "EncodePointer", "DecodePointer",         \
    "EncodeSystemPointer", "DecodeSystemPointer", "RtlEncodePointer",       \
    "RtlDecodePointer", "InterlockedPushEntrySList",                        \
    "InterlockedPopEntrySList", "InterlockedFlushSList",                    \
    "RtlInterlockedPushEntrySList", "RtlInterlockedPopEntrySList",          \
    "RtlInterlockedFlushSList", "QueryDepthSList",                          \
    "IsProcessorFeaturePresent", "IsDebuggerPresent",                       \
    "RtlInitUnicodeString", "RtlInitAnsiString", "RtlInitUnicodeStringEx",  \
    "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp",  \
    "strncmp", "strchr", "strrchr", "strcpy", "strncpy", "strcat", "strstr",\
    "wcslen", "wcscmp", "wcsncmp", "wcschr", "wcsrchr", "wcscpy", "wcsncpy",\
    "wcscat", "wcsstr", "_stricmp", "_strnicmp", "_wcsicmp", "_wcsnicmp",   \
    "RtlCopyMemory", "RtlMoveMemory", "RtlZeroMemory", "RtlFillMemory",     \
    "RtlCompareMemory", "lstrlenA", "lstrlenW", "tolower", "toupper",       \
    "towlower", "towupper", "isalpha", "isdigit", "isspace", "isalnum",     \
    "isupper", "islower", "isxdigit", "isprint", "ispunct", "iswalpha",     \
    "iswdigit", "iswspace", "iswalnum", "_errno", "_doserrno",              \
    "___lc_codepage_func", "___mb_cur_max_func", "__iob_func",              \
    "__acrt_iob_func", "_lock", "_unlock", "_lock_file", "_unlock_file",    \
    "__wine_dbg_get_channel_flags", "__wine_dbg_strdup",                    \
    "__wine_dbg_header", "__wine_dbg_output"

#endif // TRACER_IMPORTS_TRIVIAL_H

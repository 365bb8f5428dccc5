/*++

Module Name:

    Rtl.h

Abstract:

    What stands in for a C runtime: the RTL structure of operating system
    routines, its bootstrap, and the helpers that the rest of Tracer is
    written with.

    An RTL is filled once, by RtlBootstrap, in memory that the caller
    provides, and passed on as a pointer to const.  There is no global RTL.  A
    test may copy it and replace any routine to make it fail.

    No routine here changes the thread's last error value deliberately; those
    that call kernel32 may.  No routine here allocates except through an
    ALLOCATOR that it is given, or takes a lock.

--*/

#ifndef TRACER_RTL_H
#define TRACER_RTL_H

#include "RtlTypes.h"
#include "Allocator.h"
#include "RtlOs.h"

#define RTL_DECLARE_FIELD(Type, Name) Type *Name;

typedef struct _RTL {

    ULONG SizeOfStruct;
    RTL_CPU_FEATURES CpuFeatures;

    PVOID ProcessHeap;              // of PEB: for RtlAllocateHeap

    RTL_NTDLL_REQUIRED(RTL_DECLARE_FIELD)
    RTL_NTDLL_OPTIONAL(RTL_DECLARE_FIELD)       // NULL when missing
    RTL_KERNEL32_REQUIRED(RTL_DECLARE_FIELD)

} RTL;
typedef RTL *PRTL;
typedef const RTL *PCRTL;

//
// What failed: the step (a literal), the object (cut when it does not fit)
// and the status that the failing call gave.
//

typedef struct _RTL_ERROR {
    PCSZ Step;
    NTSTATUS Status;
    ULONG ObjectLengthInChars;
    WCHAR Object[300];
} RTL_ERROR;
typedef RTL_ERROR *PRTL_ERROR;
typedef const RTL_ERROR *PCRTL_ERROR;

//
// RtlBootstrap.c
//

//
// Fills Rtl.  On failure MissingName, if not NULL, receives the name of the
// export that could not be resolved (a literal).
//
//     STATUS_DLL_NOT_FOUND           ntdll.dll or kernel32.dll is not loaded
//     STATUS_ENTRYPOINT_NOT_FOUND    a required export is missing
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_BOOTSTRAP)(
    _Out_ PRTL Rtl,
    _Out_opt_ PCSZ *MissingName
    );
RTL_BOOTSTRAP RtlBootstrap;

//
// Resolves NumberOfNames exports of Module into Pointers, in order.  All the
// pointers are written; those that are missing are NULL.  Returns the number
// that are missing; FirstMissing, if not NULL, receives the first one's index.
//

typedef
ULONG
(RTL_LOAD_SYMBOLS)(
    _In_ HMODULE Module,
    _In_reads_(NumberOfNames) const PCSZ *Names,
    _Out_writes_(NumberOfNames) PVOID *Pointers,
    _In_ ULONG NumberOfNames,
    _Out_opt_ PULONG FirstMissing
    );
RTL_LOAD_SYMBOLS RtlLoadSymbols;

//
// RtlAllocator.c: the process heap as an ALLOCATOR.  Rtl must outlive it.
//

typedef
VOID
(RTL_INITIALIZE_HEAP_ALLOCATOR)(
    _In_ PCRTL Rtl,
    _Out_ PALLOCATOR Allocator
    );
RTL_INITIALIZE_HEAP_ALLOCATOR RtlInitializeHeapAllocator;

//
// Zeroed memory from the system in units of 64 KiB of address space, for what
// must not touch the process heap (the hooks may be called from inside it);
// and an ALLOCATOR of such memory.  RtlFreePages takes NULL.
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_ALLOCATE_PAGES)(
    _In_ PCRTL Rtl,
    _In_ SIZE_T SizeInBytes,
    _Outptr_ PVOID *Base
    );
RTL_ALLOCATE_PAGES RtlAllocatePages;

typedef
VOID
(RTL_FREE_PAGES)(
    _In_ PCRTL Rtl,
    _In_opt_ PVOID Base
    );
RTL_FREE_PAGES RtlFreePages;

RTL_INITIALIZE_HEAP_ALLOCATOR RtlInitializePageAllocator;

//
// RtlMemory.c.  These never become calls to the C library's routines.
//

typedef
VOID
(RTL_COPY_BYTES)(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ SIZE_T SizeInBytes
    );
RTL_COPY_BYTES RtlCopyBytes;

typedef
VOID
(RTL_ZERO_BYTES)(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes
    );
RTL_ZERO_BYTES RtlZeroBytes;

typedef
VOID
(RTL_FILL_BYTES)(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    );
RTL_FILL_BYTES RtlFillBytes;

typedef
BOOLEAN
(RTL_ARE_BYTES_EQUAL)(
    _In_reads_bytes_(SizeInBytes) const VOID *First,
    _In_reads_bytes_(SizeInBytes) const VOID *Second,
    _In_ SIZE_T SizeInBytes
    );
RTL_ARE_BYTES_EQUAL RtlAreBytesEqual;

//
// RtlString.c.  Wide strings are counted in 16-bit units; UNICODE_STRING
// lengths are in bytes, as everywhere in NT.  Ill-formed UTF-16 or UTF-8
// becomes U+FFFD.
//

typedef ULONG (RTL_LENGTH_OF_STRING)(_In_z_ PCSZ String);
RTL_LENGTH_OF_STRING RtlLengthOfString;             // in bytes

typedef ULONG (RTL_LENGTH_OF_WIDE_STRING)(_In_z_ PCWSTR String);
RTL_LENGTH_OF_WIDE_STRING RtlLengthOfWideString;    // in 16-bit units

typedef BOOLEAN (RTL_ARE_STRINGS_EQUAL)(_In_z_ PCSZ First, _In_z_ PCSZ Second);
RTL_ARE_STRINGS_EQUAL RtlAreStringsEqual;

//
// Points a UNICODE_STRING at LengthInChars units (at most 32,767).
//

typedef
VOID
(RTL_POINT_UNICODE_STRING)(
    _Out_ PUNICODE_STRING String,
    _In_reads_(LengthInChars) PCWSTR Buffer,
    _In_ ULONG LengthInChars
    );
RTL_POINT_UNICODE_STRING RtlPointUnicodeString;

//
// Converts; returns the size in bytes (units) that the whole result has,
// which may be more than the Capacity: then what fits is written, cut at a
// character.  *Written, if not NULL, receives what was written.  Nothing is
// terminated.
//

typedef
ULONG
(RTL_WIDE_TO_UTF8)(
    _In_reads_(LengthInChars) PCWSTR Source,
    _In_ ULONG LengthInChars,
    _Out_writes_bytes_to_(CapacityInBytes, *WrittenInBytes) PCHAR Destination,
    _In_ ULONG CapacityInBytes,
    _Out_opt_ PULONG WrittenInBytes
    );
RTL_WIDE_TO_UTF8 RtlWideToUtf8;

typedef
ULONG
(RTL_UTF8_TO_WIDE)(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes,
    _Out_writes_to_(CapacityInChars, *WrittenInChars) PWCHAR Destination,
    _In_ ULONG CapacityInChars,
    _Out_opt_ PULONG WrittenInChars
    );
RTL_UTF8_TO_WIDE RtlUtf8ToWide;

//
// Decodes the character that Source begins with and returns the bytes that it
// takes, 1 to 4; LengthInBytes is at least 1.  What is ill-formed gives U+FFFD
// and its maximal subpart: the longest beginning of a well-formed sequence, or
// one byte.
//

typedef
ULONG
(RTL_DECODE_UTF8)(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes,
    _Out_ PULONG CodePoint
    );
RTL_DECODE_UTF8 RtlDecodeUtf8;

//
// The size of the incomplete character that a text ends with, 0 to 3 bytes: a
// beginning that more bytes could make well-formed.
//

typedef
ULONG
(RTL_INCOMPLETE_UTF8_TAIL)(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes
    );
RTL_INCOMPLETE_UTF8_TAIL RtlIncompleteUtf8Tail;

//
// Parses all of a counted wide string as a decimal or 0x-hexadecimal number,
// with an optional suffix K, M or G (times 1,024 and so on; either case).
// FALSE if there is anything else in it, or if it overflows.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(RTL_PARSE_NUMBER)(
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars,
    _Out_ PULONGLONG Number
    );
RTL_PARSE_NUMBER RtlParseNumber;

//
// RtlWriter.c: formatted UTF-8 text into a buffer that is flushed to a file,
// the console or nowhere.
//
// The format: % [-] [0] [width | *] [. precision | .*] conversion, with
//
//     s    PCSZ, UTF-8           (precision: at most that many bytes)
//     S    PCWSTR, UTF-16        (precision: at most that many units)
//     Z    PCUNICODE_STRING
//     c    int                   a character
//     d u x X                    int, ULONG
//     lld llu llx llX            LONGLONG, ULONGLONG
//     p    PVOID                 16 hexadecimal digits
//     %
//
// and the flag ' (apostrophe) for a comma between groups of three digits.
// Width counts code points, so columns of UTF-8 text line up.  A precision
// never cuts a character: one that does not fit as a whole is left out.  For
// a number it is the least number of digits, as in C.  One l is allowed and
// means nothing (long is int); a conversion that is not listed is written as
// it stands.
//

typedef struct _RTL_WRITER RTL_WRITER;
typedef RTL_WRITER *PRTL_WRITER;

//
// Takes the bytes that have been gathered.  A failure is kept in the writer's
// Status and everything after it is discarded.
//

typedef
NTSTATUS
(RTL_WRITER_FLUSH)(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    );
typedef RTL_WRITER_FLUSH *PRTL_WRITER_FLUSH;

struct _RTL_WRITER {
    PCRTL Rtl;
    PRTL_WRITER_FLUSH Flush;        // NULL: the buffer is all there is, and
                                    // what does not fit is cut at a character
                                    // (Status: STATUS_BUFFER_OVERFLOW)
    HANDLE Handle;
    ULONGLONG FileOffset;           // for a file: where the next bytes go
    NTSTATUS Status;
    BOOLEAN IsConsole;
    PCHAR Buffer;
    ULONG CapacityInBytes;
    ULONG LengthInBytes;
};

//
// A writer over Buffer alone.
//

typedef
VOID
(RTL_INITIALIZE_BUFFER_WRITER)(
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );
RTL_INITIALIZE_BUFFER_WRITER RtlInitializeBufferWriter;

//
// A writer to a standard handle (STD_OUTPUT_HANDLE or STD_ERROR_HANDLE): a
// console gets UTF-16 through WriteConsoleW, anything else UTF-8 bytes.
//

typedef
VOID
(RTL_INITIALIZE_STANDARD_WRITER)(
    _In_ PCRTL Rtl,
    _In_ ULONG StandardHandle,
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );
RTL_INITIALIZE_STANDARD_WRITER RtlInitializeStandardWriter;

//
// A writer to a file that was opened for writing; FileOffset is where it
// starts.  The caller closes the handle after RtlFlushWriter.
//

typedef
VOID
(RTL_INITIALIZE_FILE_WRITER)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );
RTL_INITIALIZE_FILE_WRITER RtlInitializeFileWriter;

typedef
VOID
(RTL_WRITE_TEXT)(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ _Printf_format_string_ PCSZ Format,
    ...
    );
RTL_WRITE_TEXT RtlWriteText;

typedef
VOID
(RTL_WRITE_TEXT_ARGUMENTS)(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ _Printf_format_string_ PCSZ Format,
    _In_ va_list Arguments
    );
RTL_WRITE_TEXT_ARGUMENTS RtlWriteTextArguments;

typedef
VOID
(RTL_WRITE_BYTES)(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    );
RTL_WRITE_BYTES RtlWriteBytes;

typedef NTSTATUS (RTL_FLUSH_WRITER)(_Inout_ PRTL_WRITER Writer);
RTL_FLUSH_WRITER RtlFlushWriter;

//
// "step: object: 0xC0000022 (STATUS_ACCESS_DENIED)", without a line feed; the
// name only for the statuses that RtlStatusName knows.
//

typedef
VOID
(RTL_WRITE_ERROR)(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTL_ERROR Error
    );
RTL_WRITE_ERROR RtlWriteError;

//
// "STATUS_..." for the common failures, or NULL.
//

typedef PCSZ (RTL_STATUS_NAME)(_In_ NTSTATUS Status);
RTL_STATUS_NAME RtlStatusName;

//
// Fills an RTL_ERROR; returns Status, so that a caller can return it.
//

typedef
NTSTATUS
(RTL_SET_ERROR)(
    _Out_opt_ PRTL_ERROR Error,
    _In_z_ PCSZ Step,
    _In_opt_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status
    );
RTL_SET_ERROR RtlSetError;

//
// RtlPath.c.  A path is a counted wide string in a caller's buffer.
//

//
// The longest path that NT takes, in 16-bit units.
//

#define RTL_MAXIMUM_PATH_IN_CHARS 32767

//
// Makes the NT name (\??\C:\..., \??\UNC\server\...) of a DOS path, relative
// or absolute, of any length that NT takes: no MAX_PATH.  The buffer receives
// it and NtPath points into the buffer, whose whole size is its MaximumLength.
// A capacity of eight more than the absolute path has is always enough.
//
//     STATUS_NAME_TOO_LONG, STATUS_OBJECT_NAME_INVALID
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_DOS_PATH_TO_NT_PATH)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING DosPath,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING NtPath
    );
RTL_DOS_PATH_TO_NT_PATH RtlDosPathToNtPath;

//
// The part of Path after its last separator (\ or / or a drive's colon).
//

typedef
VOID
(RTL_BASE_NAME)(
    _In_ PCUNICODE_STRING Path,
    _Out_ PUNICODE_STRING BaseName
    );
RTL_BASE_NAME RtlBaseName;

//
// Appends to Path (whose MaximumLength says what fits); with Separator, puts
// a backslash between if Path is not empty and does not end with one.
// STATUS_NAME_TOO_LONG leaves Path as it was.
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_APPEND_PATH)(
    _Inout_ PUNICODE_STRING Path,
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars,
    _In_ BOOLEAN Separator
    );
RTL_APPEND_PATH RtlAppendPath;

//
// RtlEnvironment.c.  Value points into the buffer.
//
//     STATUS_VARIABLE_NOT_FOUND, STATUS_BUFFER_TOO_SMALL
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_QUERY_ENVIRONMENT)(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR Name,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING Value
    );
RTL_QUERY_ENVIRONMENT RtlQueryEnvironment;

//
// Sets a variable of the process, which its children inherit.
//
//     STATUS_NOT_SUPPORTED, STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_SET_ENVIRONMENT)(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR Name,
    _In_ PCUNICODE_STRING Value
    );
RTL_SET_ENVIRONMENT RtlSetEnvironment;

//
// RtlFile.c.  Paths are NT paths (RtlDosPathToNtPath).  Every status is the
// one that the system gave.
//

//
// Opens for reading, sharing everything: reading never keeps a writer, a
// rename or a deletion out.
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_OPEN_FILE_FOR_READING)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PHANDLE File
    );
RTL_OPEN_FILE_FOR_READING RtlOpenFileForReading;

//
// RTL_CREATE_NEW fails with STATUS_OBJECT_NAME_COLLISION if the file exists;
// RTL_CREATE_ALWAYS empties it; RTL_OPEN_ALWAYS keeps what it has.  Others may
// read and delete the file while it is open, not write it.
//

#define RTL_CREATE_NEW      2   // FILE_CREATE
#define RTL_OPEN_ALWAYS     3   // FILE_OPEN_IF
#define RTL_CREATE_ALWAYS   5   // FILE_OVERWRITE_IF

typedef
_Must_inspect_result_
NTSTATUS
(RTL_CREATE_FILE)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ULONG Disposition,
    _Out_ PHANDLE File
    );
RTL_CREATE_FILE RtlCreateFile;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_READ_FILE)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_to_(SizeInBytes, *ReadInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _Out_ PULONG ReadInBytes
    );
RTL_READ_FILE RtlReadFile;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_WRITE_FILE)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Buffer,
    _In_ ULONG SizeInBytes
    );
RTL_WRITE_FILE RtlWriteFile;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_QUERY_FILE_SIZE)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Out_ PULONGLONG SizeInBytes
    );
RTL_QUERY_FILE_SIZE RtlQueryFileSize;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_SET_FILE_SIZE)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG SizeInBytes
    );
RTL_SET_FILE_SIZE RtlSetFileSize;

//
// A section over a file.  SizeInBytes 0: as large as the file is.  Writable
// sections need a handle of RtlCreateFile.
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_CREATE_FILE_SECTION)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN Writable,
    _Out_ PHANDLE Section
    );
RTL_CREATE_FILE_SECTION RtlCreateFileSection;

//
// FileOffset is a multiple of 64 KiB.  Address NULL: anywhere; otherwise there
// or not at all (STATUS_CONFLICTING_ADDRESSES).
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_MAP_FILE_SECTION)(
    _In_ PCRTL Rtl,
    _In_ HANDLE Section,
    _In_ ULONGLONG FileOffset,
    _In_ SIZE_T SizeInBytes,
    _In_ BOOLEAN Writable,
    _In_opt_ PVOID Address,
    _Outptr_ PVOID *View
    );
RTL_MAP_FILE_SECTION RtlMapFileSection;

typedef
VOID
(RTL_UNMAP_FILE_SECTION)(
    _In_ PCRTL Rtl,
    _In_opt_ PVOID View
    );
RTL_UNMAP_FILE_SECTION RtlUnmapFileSection;

//
// Creates a directory and every missing one above it.  One that is there
// already is a success.
//

typedef
_Must_inspect_result_
NTSTATUS
(RTL_CREATE_DIRECTORY)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath
    );
RTL_CREATE_DIRECTORY RtlCreateDirectory;

//
// Calls Callback for each entry but . and .., in the file system's order;
// stops when it returns a failure and returns that.  STATUS_NOT_A_DIRECTORY
// if NtPath is a file.
//

typedef
NTSTATUS
(RTL_DIRECTORY_CALLBACK)(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    );
typedef RTL_DIRECTORY_CALLBACK *PRTL_DIRECTORY_CALLBACK;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_ENUMERATE_DIRECTORY)(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ PRTL_DIRECTORY_CALLBACK Callback,
    _In_opt_ PVOID Context
    );
RTL_ENUMERATE_DIRECTORY RtlEnumerateDirectory;

//
// Keeps a handle from being closed by anybody else in the process, or lets go
// of it again.  A program that closes handles it does not own (all of a range,
// say) would otherwise leave a value behind that soon names a file of its own.
//

typedef
VOID
(RTL_PROTECT_HANDLE)(
    _In_ PCRTL Rtl,
    _In_ HANDLE Handle,
    _In_ BOOLEAN Protect
    );
RTL_PROTECT_HANDLE RtlProtectHandle;

typedef
VOID
(RTL_CLOSE)(
    _In_ PCRTL Rtl,
    _In_opt_ HANDLE Handle
    );
RTL_CLOSE RtlClose;

//
// RtlClock.c
//

typedef struct _RTL_CLOCK_READING {
    ULONGLONG Tsc;              // ticks
    ULONGLONG Qpc;              // counts
    ULONGLONG QpcFrequency;     // counts per second
    ULONGLONG SystemTime;       // 100 ns since 1601-01-01 UTC
} RTL_CLOCK_READING;
typedef RTL_CLOCK_READING *PRTL_CLOCK_READING;

//
// Reads the clocks as close together as it can: of three tries, the one whose
// two rdtsc around the QPC read were nearest; Tsc is their middle.
//

typedef
VOID
(RTL_READ_CLOCKS)(
    _In_ PCRTL Rtl,
    _Out_ PRTL_CLOCK_READING Reading
    );
RTL_READ_CLOCKS RtlReadClocks;

//
// Calendar fields of a FILETIME, in UTC.
//

typedef struct _RTL_CALENDAR_TIME {
    USHORT Year, Month, Day;    // Month and Day from 1
    USHORT Hour, Minute, Second, Milliseconds;
} RTL_CALENDAR_TIME;
typedef RTL_CALENDAR_TIME *PRTL_CALENDAR_TIME;

typedef
VOID
(RTL_SYSTEM_TIME_TO_CALENDAR)(
    _In_ ULONGLONG SystemTime,
    _Out_ PRTL_CALENDAR_TIME Calendar
    );
RTL_SYSTEM_TIME_TO_CALENDAR RtlSystemTimeToCalendar;

//
// RtlCpu.c
//

typedef RTL_CPU_FEATURES (RTL_QUERY_CPU_FEATURES)(VOID);
RTL_QUERY_CPU_FEATURES RtlQueryCpuFeatures;

//
// RtlStart.c, for programs of ours alone (not for libraries): makes argv out
// of the command line, in UTF-8 for the values that commands take and UTF-16
// for paths.  Splitting follows the documented rules of the Microsoft C
// start-up code.  The arguments and their strings are one block of memory of
// the allocator; an entry of NULLs follows the last argument.
//

typedef struct _RTL_ARGUMENT {
    PCWSTR Wide;                // terminated
    PCSZ Utf8;                  // terminated
} RTL_ARGUMENT;
typedef RTL_ARGUMENT *PRTL_ARGUMENT;
typedef const RTL_ARGUMENT *PCRTL_ARGUMENT;

typedef
_Must_inspect_result_
NTSTATUS
(RTL_SPLIT_COMMAND_LINE)(
    _In_z_ PCWSTR CommandLine,
    _In_ PCALLOCATOR Allocator,
    _Outptr_ PRTL_ARGUMENT *Arguments,
    _Out_ PULONG NumberOfArguments
    );
RTL_SPLIT_COMMAND_LINE RtlSplitCommandLine;

#endif // TRACER_RTL_H

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

    //
    // Security descriptors for what RtlCreateFile and RtlCreateDirectory make;
    // NULL: as the directory above has it.
    //

    PVOID FileSecurity;
    PVOID DirectorySecurity;

    //
    // Where RtlQueryEnvironment looks: a block of variables as the system has
    // them; NULL: the process's own.
    //

    PVOID Environment;

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

_Must_inspect_result_
NTSTATUS
RtlBootstrap(
    _Out_ PRTL Rtl,
    _Out_opt_ PCSZ *MissingName
    );

//
// RtlLoadSymbols gives this and its complement to GetProcAddress, behind its
// arguments: whoever has taken that routine's place (TracerImports.dll) knows
// by them that the library asks, and gives it what the system has.
//

#define RTL_OWN_REQUEST 0x5452414345524F57ULL

//
// Resolves NumberOfNames exports of Module into Pointers, in order.  All the
// pointers are written; those that are missing are NULL.  Returns the number
// that are missing; FirstMissing, if not NULL, receives the first one's index.
//

ULONG
RtlLoadSymbols(
    _In_ HMODULE Module,
    _In_reads_(NumberOfNames) const PCSZ *Names,
    _Out_writes_(NumberOfNames) PVOID *Pointers,
    _In_ ULONG NumberOfNames,
    _Out_opt_ PULONG FirstMissing
    );

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

_Must_inspect_result_
NTSTATUS
RtlAllocatePages(
    _In_ PCRTL Rtl,
    _In_ SIZE_T SizeInBytes,
    _Outptr_ PVOID *Base
    );

VOID
RtlFreePages(
    _In_ PCRTL Rtl,
    _In_opt_ PVOID Base
    );

RTL_INITIALIZE_HEAP_ALLOCATOR RtlInitializePageAllocator;

//
// RtlMemory.c.  These never become calls to the C library's routines.
//

VOID
RtlCopyBytes(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ SIZE_T SizeInBytes
    );

VOID
RtlZeroBytes(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes
    );

VOID
RtlFillBytes(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    );

BOOLEAN
RtlAreBytesEqual(
    _In_reads_bytes_(SizeInBytes) const VOID *First,
    _In_reads_bytes_(SizeInBytes) const VOID *Second,
    _In_ SIZE_T SizeInBytes
    );

//
// RtlString.c.  Wide strings are counted in 16-bit units; UNICODE_STRING
// lengths are in bytes, as everywhere in NT.  Ill-formed UTF-16 or UTF-8
// becomes U+FFFD.
//

typedef ULONG (RTL_LENGTH_OF_STRING)(_In_z_ PCSZ String);
RTL_LENGTH_OF_STRING RtlLengthOfString;             // in bytes

typedef ULONG (RTL_LENGTH_OF_WIDE_STRING)(_In_z_ PCWSTR String);
RTL_LENGTH_OF_WIDE_STRING RtlLengthOfWideString;    // in 16-bit units

BOOLEAN
RtlAreStringsEqual(
    _In_z_ PCSZ First,
    _In_z_ PCSZ Second
    );

//
// Points a UNICODE_STRING at LengthInChars units (at most 32,767).
//

VOID
RtlPointUnicodeString(
    _Out_ PUNICODE_STRING String,
    _In_reads_(LengthInChars) PCWSTR Buffer,
    _In_ ULONG LengthInChars
    );

//
// Converts; returns the size in bytes (units) that the whole result has,
// which may be more than the Capacity: then what fits is written, cut at a
// character.  *Written, if not NULL, receives what was written.  Nothing is
// terminated.
//

ULONG
RtlWideToUtf8(
    _In_reads_(LengthInChars) PCWSTR Source,
    _In_ ULONG LengthInChars,
    _Out_writes_bytes_to_(CapacityInBytes, *WrittenInBytes) PCHAR Destination,
    _In_ ULONG CapacityInBytes,
    _Out_opt_ PULONG WrittenInBytes
    );

ULONG
RtlUtf8ToWide(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes,
    _Out_writes_to_(CapacityInChars, *WrittenInChars) PWCHAR Destination,
    _In_ ULONG CapacityInChars,
    _Out_opt_ PULONG WrittenInChars
    );

//
// Decodes the character that Source begins with and returns the bytes that it
// takes, 1 to 4; LengthInBytes is at least 1.  What is ill-formed gives U+FFFD
// and its maximal subpart: the longest beginning of a well-formed sequence, or
// one byte.
//

ULONG
RtlDecodeUtf8(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes,
    _Out_ PULONG CodePoint
    );

//
// Whether a character may stand in what people read: it shows itself, and
// changes nothing around it.  FALSE for control characters (C0, DEL, C1), line
// and paragraph separators, what sets the direction of text, what takes no
// room (Unicode: Default_Ignorable_Code_Point), noncharacters and surrogates.
// Whatever comes from a traced process, a store or an image asks here.
//

BOOLEAN
RtlIsPrintable(
    _In_ ULONG CodePoint
    );

//
// The size of the incomplete character that a text ends with, 0 to 3 bytes: a
// beginning that more bytes could make well-formed.
//

ULONG
RtlIncompleteUtf8Tail(
    _In_reads_bytes_(LengthInBytes) const CHAR *Source,
    _In_ ULONG LengthInBytes
    );

//
// Parses all of a counted wide string as a decimal or 0x-hexadecimal number,
// with an optional suffix K, M or G (times 1,024 and so on; either case).
// FALSE if there is anything else in it, or if it overflows.
//

_Success_(return != FALSE)
BOOLEAN
RtlParseNumber(
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars,
    _Out_ PULONGLONG Number
    );

//
// RtlWriter.c: formatted UTF-8 text into a buffer that is flushed to a file,
// the console or nowhere.
//
// The format: % [-] [0] [width | *] [. precision | .*] conversion, with
//
//     s    PCSZ, UTF-8, as it is (precision: at most that many bytes): for
//                                literals
//     T    PCSZ, UTF-8, cleaned  (precision as for s)
//     S    PCWSTR, UTF-16, cleaned (precision: at most that many units)
//     Z    PCUNICODE_STRING, cleaned
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
// Cleaned: what RtlIsPrintable refuses becomes a question mark, what is
// ill-formed U+FFFD.  Whatever was not written in this source is cleaned.
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
    PRTL_WRITER_FLUSH Flush;        // NULL: what the buffer cannot hold is cut
                                    // at a character, STATUS_BUFFER_OVERFLOW
    HANDLE Handle;
    ULONGLONG FileOffset;           // for a file: where the next bytes go
    NTSTATUS Status;
    BOOLEAN IsConsole;
    PCHAR Buffer;
    ULONG CapacityInBytes;
    ULONG LengthInBytes;
    PVOID Layout, Colors, Pager;    // the owner's; NULL until it sets them
};

//
// A writer over Buffer alone.
//

VOID
RtlInitializeBufferWriter(
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );

//
// A writer to a standard handle (STD_OUTPUT_HANDLE or STD_ERROR_HANDLE): a
// console gets UTF-16 through WriteConsoleW, anything else UTF-8 bytes.
//

VOID
RtlInitializeStandardWriter(
    _In_ PCRTL Rtl,
    _In_ ULONG StandardHandle,
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );

//
// A writer to a file that was opened for writing; FileOffset is where it
// starts.  The caller closes the handle after RtlFlushWriter.
//

VOID
RtlInitializeFileWriter(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _Out_ PRTL_WRITER Writer,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );

VOID
RtlWriteText(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ _Printf_format_string_ PCSZ Format,
    ...
    );

//
// Text that was not written in this source, cleaned.  Its length in characters
// stays the same.
//

VOID
RtlWriteCleanText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

VOID
RtlWriteTextArguments(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ _Printf_format_string_ PCSZ Format,
    _In_ va_list Arguments
    );

VOID
RtlWriteBytes(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    );

NTSTATUS
RtlFlushWriter(
    _Inout_ PRTL_WRITER Writer
    );

//
// "step: object: 0xC0000022 (STATUS_ACCESS_DENIED)", without a line feed; the
// name only for the statuses that RtlStatusName knows.
//

VOID
RtlWriteError(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCRTL_ERROR Error
    );

//
// "STATUS_..." for the common failures, or NULL.
//

PCSZ
RtlStatusName(
    _In_ NTSTATUS Status
    );

//
// Fills an RTL_ERROR; returns Status, so that a caller can return it.
//

NTSTATUS
RtlSetError(
    _Out_opt_ PRTL_ERROR Error,
    _In_z_ PCSZ Step,
    _In_opt_ PCUNICODE_STRING Object,
    _In_ NTSTATUS Status
    );

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

_Must_inspect_result_
NTSTATUS
RtlDosPathToNtPath(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING DosPath,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING NtPath
    );

//
// The part of Path after its last separator (\ or / or a drive's colon).
//

VOID
RtlBaseName(
    _In_ PCUNICODE_STRING Path,
    _Out_ PUNICODE_STRING BaseName
    );

//
// Appends to Path (whose MaximumLength says what fits); with Separator, puts
// a backslash between if Path is not empty and does not end with one.
// STATUS_NAME_TOO_LONG leaves Path as it was.
//

_Must_inspect_result_
NTSTATUS
RtlAppendPath(
    _Inout_ PUNICODE_STRING Path,
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars,
    _In_ BOOLEAN Separator
    );

//
// Whether a name is one that every directory of Windows can have, and that
// names a file or directory of its own in it: no separator, drive, stream or
// wildcard, not . or .., no blank or dot at its end, no device
// (Microsoft, "Naming Files, Paths, and Namespaces").  With IsPath, whether
// all components of a path between backslashes are such.  Names that somebody
// else chose are asked before a file is opened or made by them.
//

BOOLEAN
RtlIsPlainName(
    _In_ PCUNICODE_STRING Name,
    _In_ BOOLEAN IsPath
    );

//
// RtlEnvironment.c.  Value points into the buffer.
//
//     STATUS_VARIABLE_NOT_FOUND, STATUS_BUFFER_TOO_SMALL
//

_Must_inspect_result_
NTSTATUS
RtlQueryEnvironment(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR Name,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING Value
    );

//
// Sets a variable of the process, which its children inherit.
//
//     STATUS_NOT_SUPPORTED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
RtlSetEnvironment(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR Name,
    _In_ PCUNICODE_STRING Value
    );

//
// RtlFile.c.  Paths are NT paths (RtlDosPathToNtPath).  Every status is the
// one that the system gave.
//

//
// Opens for reading, sharing everything: reading never keeps a writer, a
// rename or a deletion out.
//

_Must_inspect_result_
NTSTATUS
RtlOpenFileForReading(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PHANDLE File
    );

//
// RTL_CREATE_NEW fails with STATUS_OBJECT_NAME_COLLISION if the file exists;
// RTL_CREATE_ALWAYS empties it; RTL_OPEN_ALWAYS keeps what it has.  Others may
// read and delete the file while it is open, not write it.
//

#define RTL_CREATE_NEW      2   // FILE_CREATE
#define RTL_OPEN_ALWAYS     3   // FILE_OPEN_IF
#define RTL_CREATE_ALWAYS   5   // FILE_OVERWRITE_IF

_Must_inspect_result_
NTSTATUS
RtlCreateFile(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ULONG Disposition,
    _Out_ PHANDLE File
    );

_Must_inspect_result_
NTSTATUS
RtlReadFile(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_to_(SizeInBytes, *ReadInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _Out_ PULONG ReadInBytes
    );

_Must_inspect_result_
NTSTATUS
RtlWriteFile(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Buffer,
    _In_ ULONG SizeInBytes
    );

_Must_inspect_result_
NTSTATUS
RtlQueryFileSize(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Out_ PULONGLONG SizeInBytes
    );

_Must_inspect_result_
NTSTATUS
RtlSetFileSize(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG SizeInBytes
    );

//
// A section over a file.  SizeInBytes 0: as large as the file is.  Writable
// sections need a handle of RtlCreateFile.
//

_Must_inspect_result_
NTSTATUS
RtlCreateFileSection(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN Writable,
    _Out_ PHANDLE Section
    );

//
// FileOffset is a multiple of 64 KiB.  Address NULL: anywhere; otherwise there
// or not at all (STATUS_CONFLICTING_ADDRESSES).
//

_Must_inspect_result_
NTSTATUS
RtlMapFileSection(
    _In_ PCRTL Rtl,
    _In_ HANDLE Section,
    _In_ ULONGLONG FileOffset,
    _In_ SIZE_T SizeInBytes,
    _In_ BOOLEAN Writable,
    _In_opt_ PVOID Address,
    _Outptr_ PVOID *View
    );

VOID
RtlUnmapFileSection(
    _In_ PCRTL Rtl,
    _In_opt_ PVOID View
    );

//
// Creates a directory and every missing one above it, of which there may be
// 256.  One that is there already is a success.
//

_Must_inspect_result_
NTSTATUS
RtlCreateDirectory(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath
    );

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

_Must_inspect_result_
NTSTATUS
RtlEnumerateDirectory(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ PRTL_DIRECTORY_CALLBACK Callback,
    _In_opt_ PVOID Context
    );

//
// The same for a directory that is open for synchronous use, with
// FILE_LIST_DIRECTORY, and has not been listed through this handle before; the
// callback gets all attributes.
// Name: the only name, which may have wildcards, or NULL: all.
//

typedef
NTSTATUS
(RTL_ENTRY_CALLBACK)(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONG Attributes
    );
typedef RTL_ENTRY_CALLBACK *PRTL_ENTRY_CALLBACK;

_Must_inspect_result_
NTSTATUS
RtlEnumerateOpenDirectory(
    _In_ PCRTL Rtl,
    _In_ HANDLE Directory,
    _In_opt_ PCUNICODE_STRING Name,
    _In_ PRTL_ENTRY_CALLBACK Callback,
    _In_opt_ PVOID Context
    );

//
// Keeps a handle from being closed by anybody else in the process, or lets go
// of it again.  A program that closes handles it does not own (all of a range,
// say) would otherwise leave a value behind that soon names a file of its own.
//

VOID
RtlProtectHandle(
    _In_ PCRTL Rtl,
    _In_ HANDLE Handle,
    _In_ BOOLEAN Protect
    );

VOID
RtlClose(
    _In_ PCRTL Rtl,
    _In_opt_ HANDLE Handle
    );

//
// RtlSecurity.c: who may write to a file, with which rights a process runs.
//

#define RTL_MAXIMUM_SID_IN_BYTES 68             // 15 subauthorities

typedef struct _RTL_USER {
    ULONG SidSize;                  // bytes
    ULONG ContainerSidSize;         // 0: not in an AppContainer
    BOOLEAN IsContainer;
    BOOLEAN IsRestricted;           // the token has restricting SIDs
    UCHAR Sid[RTL_MAXIMUM_SID_IN_BYTES];
    UCHAR ContainerSid[RTL_MAXIMUM_SID_IN_BYTES];
} RTL_USER;
typedef RTL_USER *PRTL_USER;
typedef const RTL_USER *PCRTL_USER;

//
// Asks who runs a process.  STATUS_NOT_SUPPORTED: the system has no such
// routines.
//

_Must_inspect_result_
NTSTATUS
RtlQueryUser(
    _In_ PCRTL Rtl,
    _In_ HANDLE Process,
    _Out_ PRTL_USER User
    );

//
// Tells whether this process, whose user is User, may do what its user's other
// programs, or whoever started it, may not; if so, Reason says why, or why it
// cannot be known.
//

_Success_(return != FALSE)
BOOLEAN
RtlHasMoreRights(
    _In_ PCRTL Rtl,
    _In_ PCRTL_USER User,
    _Out_ PNTSTATUS Reason
    );

//
// Success if nobody can write to Object, a file or a directory opened with
// READ_CONTROL, but the user, SYSTEM, Administrators and TrustedInstaller.
//
//     STATUS_INVALID_OWNER           it is somebody else's
//     STATUS_ACCESS_DENIED           others are allowed to write
//

_Must_inspect_result_
NTSTATUS
RtlCheckWriters(
    _In_ PCRTL Rtl,
    _In_ PCRTL_USER User,
    _In_ HANDLE Object
    );

//
// Success if Object's owner is one of these, or its file system knows no
// owners; otherwise STATUS_INVALID_OWNER.
//

_Must_inspect_result_
NTSTATUS
RtlCheckOwner(
    _In_ PCRTL Rtl,
    _In_ PCRTL_USER User,
    _In_ HANDLE Object
    );

//
// A descriptor for what is the user's alone: he, SYSTEM and Administrators have
// all rights.  With IsProtected nothing is inherited from the directory above.
//

typedef union _RTL_PRIVATE_DESCRIPTOR {
    ULONGLONG Alignment;
    UCHAR Bytes[256];
} RTL_PRIVATE_DESCRIPTOR;
typedef RTL_PRIVATE_DESCRIPTOR *PRTL_PRIVATE_DESCRIPTOR;

VOID
RtlMakePrivateDescriptor(
    _In_ PCRTL_USER User,
    _In_ BOOLEAN IsDirectory,
    _In_ BOOLEAN IsProtected,
    _Out_ PRTL_PRIVATE_DESCRIPTOR Descriptor
    );

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

VOID
RtlReadClocks(
    _In_ PCRTL Rtl,
    _Out_ PRTL_CLOCK_READING Reading
    );

//
// Calendar fields of a FILETIME, in UTC.
//

typedef struct _RTL_CALENDAR_TIME {
    USHORT Year, Month, Day;    // Month and Day from 1
    USHORT Hour, Minute, Second, Milliseconds;
} RTL_CALENDAR_TIME;
typedef RTL_CALENDAR_TIME *PRTL_CALENDAR_TIME;

VOID
RtlSystemTimeToCalendar(
    _In_ ULONGLONG SystemTime,
    _Out_ PRTL_CALENDAR_TIME Calendar
    );

//
// RtlCpu.c
//

RTL_CPU_FEATURES
RtlQueryCpuFeatures(
    VOID
    );

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
    PCWSTR Rest;                // the command line from here on, as it is
} RTL_ARGUMENT;
typedef RTL_ARGUMENT *PRTL_ARGUMENT;
typedef const RTL_ARGUMENT *PCRTL_ARGUMENT;

_Must_inspect_result_
NTSTATUS
RtlSplitCommandLine(
    _In_z_ PCWSTR CommandLine,
    _In_ PCALLOCATOR Allocator,
    _Outptr_ PRTL_ARGUMENT *Arguments,
    _Out_ PULONG NumberOfArguments
    );

#endif // TRACER_RTL_H

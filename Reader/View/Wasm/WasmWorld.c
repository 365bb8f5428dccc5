/*++

Module Name:

    WasmWorld.c

Abstract:

    The reader's operating system in a browser, behind the routines of an RTL:
    files that the page was given, read on demand; files that the reader itself
    writes (indexes), in memory; no processes, no threads.

    All files are below W:\.  What is mapped is a copy.

--*/

#include "Wasm.h"

//
// Where in NT's structures what is.
//

#define WASM_DIRECTORY_END_OF_FILE 40
#define WASM_DIRECTORY_ATTRIBUTES 56
#define WASM_DIRECTORY_NAME_LENGTH 60
#define WASM_DIRECTORY_NAME 64
#define WASM_STANDARD_END_OF_FILE 8

#define WASM_ROOT_LENGTH 7              // \??\W:\ .
#define WASM_MAXIMUM_WRITTEN 0x10000000u

typedef struct _WASM_FILE {
    PWSTR Path;                         // below the root
    ULONG Length;                       // characters
    ULONG Host;                         // the page's number, or WASM_NO_HOST
    ULONGLONG Size;
    PUCHAR Bytes;                       // of one that the reader writes
    ULONG Capacity;
} WASM_FILE;
typedef WASM_FILE *PWASM_FILE;

typedef enum _WASM_HANDLE_KIND {
    WasmHandleFile = 1,
    WasmHandleDirectory,
    WasmHandleSection,
    WasmHandleOther
} WASM_HANDLE_KIND;

typedef struct _WASM_HANDLE {
    WASM_HANDLE_KIND Kind;
    PWASM_FILE File;
    ULONGLONG Size;                     // of a section
    ULONG Position;                     // of a directory: the next file
    ULONG Length;                       // of its path, with what parts it from
    PWSTR Path;                         // its names
} WASM_HANDLE;
typedef WASM_HANDLE *PWASM_HANDLE;

static PWASM_FILE *WasmFiles;
static ULONG WasmNumberOfFiles;
static ULONG WasmCapacityOfFiles;

//
// The counter that RtlPortable.h has in place of the processor's.
//

ULONGLONG RtlPortableTimestamp;

static
WCHAR
WasmUpcase(
    WCHAR Character
    )
{
    return Character >= 'a' && Character <= 'z' ? (WCHAR)(Character - 32)
                                                : Character;
}

static
BOOLEAN
WasmAreEqual(
    PCWSTR First,
    PCWSTR Second,
    ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < Length; Index++) {
        if (WasmUpcase(First[Index]) != WasmUpcase(Second[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}

static
PVOID
WasmAllocateBytes(
    SIZE_T SizeInBytes
    )
{
    return WasmAllocator.Allocate(NULL, SizeInBytes);
}

static
PWASM_FILE
WasmFindFile(
    PCWSTR Path,
    ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < WasmNumberOfFiles; Index++) {
        if (WasmFiles[Index]->Length == Length &&
            WasmAreEqual(WasmFiles[Index]->Path, Path, Length)) {
            return WasmFiles[Index];
        }
    }

    return NULL;
}

static
PWASM_FILE
WasmAddFile(
    PCWSTR Path,
    ULONG Length,
    ULONG Host,
    ULONGLONG Size
    )
{
    PWASM_FILE File;
    PWASM_FILE *Files;

    if (WasmNumberOfFiles == WasmCapacityOfFiles) {
        WasmCapacityOfFiles = WasmCapacityOfFiles * 2 + 64;
        Files = (PWASM_FILE *)WasmAllocateBytes(WasmCapacityOfFiles *
                                                sizeof(PWASM_FILE));
        if (Files == NULL) {
            return NULL;
        }
        RtlCopyBytes(Files,
                     WasmFiles,
                     WasmNumberOfFiles * sizeof(PWASM_FILE));
        WasmAllocator.Free(NULL, WasmFiles);
        WasmFiles = Files;
    }

    File = (PWASM_FILE)WasmAllocateBytes(sizeof(WASM_FILE));
    if (File == NULL) {
        return NULL;
    }

    File->Path = (PWSTR)WasmAllocateBytes((Length + 1) * sizeof(WCHAR));
    if (File->Path == NULL) {
        WasmAllocator.Free(NULL, File);
        return NULL;
    }

    RtlCopyBytes(File->Path, Path, Length * sizeof(WCHAR));
    File->Length = Length;
    File->Host = Host;
    File->Size = Size;
    WasmFiles[WasmNumberOfFiles] = File;
    WasmNumberOfFiles += 1;
    return File;
}

//
// For the page: says that there is a file, or that it has another size now.
// Path: below the root, with backslashes; the page's.
// Returns whether there was memory for it.
//

WASM_EXPORT(addFile)
ULONG
WasmExportAddFile(
    PCWSTR Path,
    ULONG Length,
    ULONG Host,
    double Size
    );

ULONG
WasmExportAddFile(
    PCWSTR Path,
    ULONG Length,
    ULONG Host,
    double Size
    )
{
    PWASM_FILE File = WasmFindFile(Path, Length);

    if (File == NULL) {
        return WasmAddFile(Path, Length, Host, (ULONGLONG)Size) != NULL;
    }

    if (File->Host == Host) {
        File->Size = (ULONGLONG)Size;
    }

    return TRUE;
}

//
// For the page: gives a file that another instance of the reader has written.
// Bytes: the file's from now on.
//

WASM_EXPORT(addWritten)
ULONG
WasmExportAddWritten(
    PCWSTR Path,
    ULONG Length,
    PUCHAR Bytes,
    ULONG Size
    );

ULONG
WasmExportAddWritten(
    PCWSTR Path,
    ULONG Length,
    PUCHAR Bytes,
    ULONG Size
    )
{
    PWASM_FILE File = WasmFindFile(Path, Length);

    if (File == NULL) {
        File = WasmAddFile(Path, Length, WASM_NO_HOST, 0);
    }

    if (File == NULL) {
        WasmAllocator.Free(NULL, Bytes);
        return FALSE;
    }

    WasmAllocator.Free(NULL, File->Bytes);
    File->Host = WASM_NO_HOST;
    File->Bytes = Bytes;
    File->Capacity = Size;
    File->Size = Size;
    return TRUE;
}

//
// For the page: a file that the reader has written, by its number among these.
// Fields: receives address and size of its path, in bytes, and of its bytes.
// Returns whether there is one.
//

WASM_EXPORT(getWritten)
ULONG
WasmExportGetWritten(
    ULONG Number,
    PULONG Fields
    );

ULONG
WasmExportGetWritten(
    ULONG Number,
    PULONG Fields
    )
{
    PWASM_FILE File;
    ULONG Index;

    for (Index = 0; Index < WasmNumberOfFiles; Index++) {

        File = WasmFiles[Index];
        if (File->Host != WASM_NO_HOST) {
            continue;
        }

        if (Number == 0) {
            Fields[0] = (ULONG)(SIZE_T)File->Path;
            Fields[1] = File->Length * (ULONG)sizeof(WCHAR);
            Fields[2] = (ULONG)(SIZE_T)File->Bytes;
            Fields[3] = (ULONG)File->Size;
            return TRUE;
        }

        Number -= 1;
    }

    return FALSE;
}

//
// For the page: it has a file now that the reader has written, or another
// instance has: the bytes are gone from here.
// Returns whether there was memory for it.
//

WASM_EXPORT(moveWritten)
ULONG
WasmExportMoveWritten(
    PCWSTR Path,
    ULONG Length,
    ULONG Host,
    double Size
    );

ULONG
WasmExportMoveWritten(
    PCWSTR Path,
    ULONG Length,
    ULONG Host,
    double Size
    )
{
    PWASM_FILE File = WasmFindFile(Path, Length);

    if (File == NULL) {
        return WasmAddFile(Path, Length, Host, (ULONGLONG)Size) != NULL;
    }

    WasmAllocator.Free(NULL, File->Bytes);
    File->Bytes = NULL;
    File->Capacity = 0;
    File->Host = Host;
    File->Size = (ULONGLONG)Size;
    return TRUE;
}

_Use_decl_annotations_
ULONG
WasmFindHost(
    PCUNICODE_STRING Path
    )
{
    ULONG Length = Path->Length / sizeof(WCHAR);
    PWASM_FILE File = NULL;

    if (Length > WASM_ROOT_LENGTH) {
        File = WasmFindFile(Path->Buffer + WASM_ROOT_LENGTH,
                            Length - WASM_ROOT_LENGTH);
    }

    return File == NULL ? WASM_NO_HOST : File->Host;
}

//
// Reads bytes of a file; those behind its end are zero.
//

static
NTSTATUS
WasmReadBytes(
    PWASM_FILE File,
    ULONGLONG Offset,
    PVOID Buffer,
    ULONG Size,
    PULONG SizeRead
    )
{
    LONG Read;

    *SizeRead = 0;
    if (Offset >= File->Size) {
        return STATUS_END_OF_FILE;
    }

    if (Size > File->Size - Offset) {
        Size = (ULONG)(File->Size - Offset);
    }

    if (File->Host == WASM_NO_HOST) {
        RtlCopyBytes(Buffer, File->Bytes + Offset, Size);
        *SizeRead = Size;
        return STATUS_SUCCESS;
    }

    Read = WasmHostRead(File->Host, (double)Offset, Buffer, Size);
    if (Read < 0) {
        return STATUS_UNSUCCESSFUL;
    }

    *SizeRead = (ULONG)Read;
    return Read == 0 ? STATUS_END_OF_FILE : STATUS_SUCCESS;
}

static
PWASM_HANDLE
WasmMakeHandle(
    WASM_HANDLE_KIND Kind,
    PWASM_FILE File
    )
{
    PWASM_HANDLE Handle = (PWASM_HANDLE)WasmAllocateBytes(sizeof(*Handle));

    if (Handle != NULL) {
        Handle->Kind = Kind;
        Handle->File = File;
    }

    return Handle;
}

//
// NtCreateFile.
//

static
NTSTATUS
WasmCreateFile(
    PHANDLE Handle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    PCUNICODE_STRING Name = Attributes->ObjectName;
    PCWSTR Path = Name->Buffer + WASM_ROOT_LENGTH;
    ULONG Length = Name->Length / sizeof(WCHAR);
    PWASM_HANDLE New;
    PWASM_FILE File;
    ULONG Index;
    BOOLEAN IsDirectory;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    if (Attributes->RootDirectory != NULL) {
        return STATUS_ACCESS_DENIED;
    }

    if (Length < WASM_ROOT_LENGTH - 1 || Name->Buffer[4] != 'W') {
        return STATUS_OBJECT_NAME_NOT_FOUND;
    }

    Length = Length < WASM_ROOT_LENGTH ? 0 : Length - WASM_ROOT_LENGTH;
    while (Length != 0 && Path[Length - 1] == '\\') {
        Length -= 1;
    }

    File = Length == 0 ? NULL : WasmFindFile(Path, Length);
    if (File != NULL) {

        if ((CreateOptions & FILE_DIRECTORY_FILE) != 0) {
            return STATUS_NOT_A_DIRECTORY;
        }

        if (CreateDisposition == RTL_CREATE_NEW) {
            return STATUS_OBJECT_NAME_COLLISION;
        }

        *Handle = WasmMakeHandle(WasmHandleFile, File);
        return *Handle != NULL ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    }

    IsDirectory = Length == 0;
    for (Index = 0; Index < WasmNumberOfFiles && !IsDirectory; Index++) {
        IsDirectory = WasmFiles[Index]->Length > Length &&
                      WasmFiles[Index]->Path[Length] == '\\' &&
                      WasmAreEqual(WasmFiles[Index]->Path, Path, Length);
    }

    if (IsDirectory) {

        if ((CreateOptions & FILE_DIRECTORY_FILE) == 0) {
            return STATUS_FILE_IS_A_DIRECTORY;
        }

        New = WasmMakeHandle(WasmHandleDirectory, NULL);
        if (New == NULL) {
            return STATUS_NO_MEMORY;
        }

        New->Path = (PWSTR)WasmAllocateBytes((Length + 2) * sizeof(WCHAR));
        if (New->Path == NULL) {
            WasmAllocator.Free(NULL, New);
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(New->Path, Path, Length * sizeof(WCHAR));
        if (Length != 0) {
            New->Path[Length] = '\\';
            Length += 1;
        }

        New->Length = Length;
        *Handle = New;
        return STATUS_SUCCESS;
    }

    if (CreateDisposition == FILE_OPEN ||
        (CreateOptions & FILE_DIRECTORY_FILE) != 0) {
        return STATUS_OBJECT_NAME_NOT_FOUND;
    }

    File = WasmAddFile(Path, Length, WASM_NO_HOST, 0);
    *Handle = File == NULL ? NULL : WasmMakeHandle(WasmHandleFile, File);
    return *Handle != NULL ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

//
// NtReadFile.
//

static
NTSTATUS
WasmReadFile(
    HANDLE FileHandle,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    PWASM_HANDLE Handle = (PWASM_HANDLE)FileHandle;
    ULONG Read;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    Status = WasmReadBytes(Handle->File,
                           (ULONGLONG)ByteOffset->QuadPart,
                           Buffer,
                           Length,
                           &Read);
    IoStatus->Information = Read;
    return Status;
}

//
// Makes a file that the reader writes longer.
//

static
NTSTATUS
WasmGrow(
    PWASM_FILE File,
    ULONGLONG Size
    )
{
    PUCHAR Bytes;
    ULONG Capacity;

    if (File->Host != WASM_NO_HOST) {
        return STATUS_ACCESS_DENIED;
    }

    if (Size > WASM_MAXIMUM_WRITTEN) {
        return STATUS_DISK_FULL;
    }

    if (Size > File->Capacity) {
        Capacity = (ULONG)Size * 2;
        Bytes = (PUCHAR)WasmAllocateBytes(Capacity);
        if (Bytes == NULL) {
            return STATUS_NO_MEMORY;
        }
        RtlCopyBytes(Bytes, File->Bytes, (SIZE_T)File->Size);
        WasmAllocator.Free(NULL, File->Bytes);
        File->Bytes = Bytes;
        File->Capacity = Capacity;
    }

    return STATUS_SUCCESS;
}

//
// NtWriteFile.  What the page has given is not written to: an index that is to
// be made longer stays as it is.
//

static
NTSTATUS
WasmWriteFile(
    HANDLE FileHandle,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    PWASM_FILE File = ((PWASM_HANDLE)FileHandle)->File;
    ULONGLONG Offset = (ULONGLONG)ByteOffset->QuadPart;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    if (File->Host != WASM_NO_HOST) {
        return STATUS_ACCESS_DENIED;
    }

    Status = WasmGrow(File, Offset + Length);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Offset > File->Size) {
        RtlZeroBytes(File->Bytes + File->Size,
                     (SIZE_T)(Offset - File->Size));
    }

    RtlCopyBytes(File->Bytes + Offset, Buffer, Length);
    if (Offset + Length > File->Size) {
        File->Size = Offset + Length;
    }

    IoStatus->Information = Length;
    return STATUS_SUCCESS;
}

//
// NtSetInformationFile: a file's end.  A name that is to be another, and a file
// that is to go, are as they were.  A file of the page's that is to begin anew
// (an index that is of no use here) is one that the reader writes.
//

static
NTSTATUS
WasmSetInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    PWASM_FILE File = ((PWASM_HANDLE)FileHandle)->File;
    ULONGLONG End;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(Length);

    if (FileInformationClass != RTL_FILE_END_OF_FILE_INFORMATION) {
        return STATUS_ACCESS_DENIED;
    }

    RtlCopyBytes(&End, FileInformation, sizeof(End));
    if (File->Host != WASM_NO_HOST) {
        if (End != 0) {
            return STATUS_ACCESS_DENIED;
        }

        File->Host = WASM_NO_HOST;
        File->Size = 0;
    }

    Status = WasmGrow(File, End);
    if (NT_SUCCESS(Status)) {
        if (End > File->Size) {
            RtlZeroBytes(File->Bytes + File->Size,
                         (SIZE_T)(End - File->Size));
        }
        File->Size = End;
    }

    return Status;
}

//
// NtQueryInformationFile: a file's size.
//

static
NTSTATUS
WasmQueryInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    PWASM_FILE File = ((PWASM_HANDLE)FileHandle)->File;

    UNREFERENCED_PARAMETER(IoStatus);

    if (FileInformationClass != RTL_FILE_STANDARD_INFORMATION ||
        File == NULL) {
        return STATUS_INVALID_INFO_CLASS;
    }

    RtlZeroBytes(FileInformation, Length);
    RtlCopyBytes((PUCHAR)FileInformation + WASM_STANDARD_END_OF_FILE,
                 &File->Size,
                 sizeof(File->Size));
    return STATUS_SUCCESS;
}

//
// Whether a file is the first of those in a folder that lies in a directory.
// Start, Length: of the folder's name in its path.
//

static
BOOLEAN
WasmIsFirstOfFolder(
    ULONG Number,
    ULONG Start,
    ULONG Length
    )
{
    PWASM_FILE File = WasmFiles[Number];
    ULONG Index;

    for (Index = 0; Index < Number; Index++) {
        if (WasmFiles[Index]->Length > Start + Length &&
            WasmFiles[Index]->Path[Start + Length] == '\\' &&
            WasmAreEqual(WasmFiles[Index]->Path,
                         File->Path,
                         Start + Length)) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// NtQueryDirectoryFile.
//

static
NTSTATUS
WasmQueryDirectoryFile(
    HANDLE FileHandle,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass,
    BOOLEAN ReturnSingleEntry,
    PUNICODE_STRING FileName,
    BOOLEAN RestartScan
    )
{
    PWASM_HANDLE Handle = (PWASM_HANDLE)FileHandle;
    PUCHAR Entry = NULL;
    PUCHAR Next = (PUCHAR)FileInformation;
    PWASM_FILE File;
    ULONGLONG Size;
    ULONG Attributes;
    ULONG NameLength;
    ULONG Offset;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(FileInformationClass);
    UNREFERENCED_PARAMETER(ReturnSingleEntry);
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(RestartScan);

    for (; Handle->Position < WasmNumberOfFiles; Handle->Position++) {

        File = WasmFiles[Handle->Position];
        if (File->Length <= Handle->Length ||
            !WasmAreEqual(File->Path, Handle->Path, Handle->Length)) {
            continue;
        }

        for (NameLength = 0;
             Handle->Length + NameLength < File->Length &&
             File->Path[Handle->Length + NameLength] != '\\';
             NameLength++) {
        }

        Size = File->Size;
        Attributes = FILE_ATTRIBUTE_NORMAL;
        if (Handle->Length + NameLength < File->Length) {
            if (!WasmIsFirstOfFolder(Handle->Position,
                                     Handle->Length,
                                     NameLength)) {
                continue;
            }
            Size = 0;
            Attributes = FILE_ATTRIBUTE_DIRECTORY;
        }

        NameLength *= (ULONG)sizeof(WCHAR);
        if ((ULONG)(Next - (PUCHAR)FileInformation) + WASM_DIRECTORY_NAME +
                NameLength >
            Length) {
            break;
        }

        if (Entry != NULL) {
            Offset = (ULONG)(Next - Entry);
            RtlCopyBytes(Entry, &Offset, sizeof(Offset));
        }

        Entry = Next;
        RtlZeroBytes(Entry, WASM_DIRECTORY_NAME);
        RtlCopyBytes(Entry + WASM_DIRECTORY_END_OF_FILE, &Size, 8);
        RtlCopyBytes(Entry + WASM_DIRECTORY_ATTRIBUTES, &Attributes, 4);
        RtlCopyBytes(Entry + WASM_DIRECTORY_NAME_LENGTH, &NameLength, 4);
        RtlCopyBytes(Entry + WASM_DIRECTORY_NAME,
                     File->Path + Handle->Length,
                     NameLength);
        Next = Entry + ((WASM_DIRECTORY_NAME + NameLength + 7) & ~7u);
    }

    return Entry == NULL ? STATUS_NO_MORE_FILES : STATUS_SUCCESS;
}

//
// NtClose.
//

static
NTSTATUS
WasmClose(
    HANDLE Handle
    )
{
    WasmAllocator.Free(NULL, ((PWASM_HANDLE)Handle)->Path);
    WasmAllocator.Free(NULL, Handle);
    return STATUS_SUCCESS;
}

//
// NtCreateSection, for reading.
//

static
NTSTATUS
WasmCreateSection(
    PHANDLE SectionHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PLARGE_INTEGER MaximumSize,
    ULONG SectionPageProtection,
    ULONG AllocationAttributes,
    HANDLE FileHandle
    )
{
    PWASM_HANDLE File = (PWASM_HANDLE)FileHandle;
    ULONGLONG Size = File->File->Size;
    PWASM_HANDLE New;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(SectionPageProtection);
    UNREFERENCED_PARAMETER(AllocationAttributes);

    if (Size == 0) {
        return STATUS_MAPPED_FILE_SIZE_ZERO;
    }

    if (MaximumSize != NULL && MaximumSize->QuadPart != 0) {
        if ((ULONGLONG)MaximumSize->QuadPart > Size) {
            return STATUS_SECTION_TOO_BIG;
        }
        Size = (ULONGLONG)MaximumSize->QuadPart;
    }

    New = WasmMakeHandle(WasmHandleSection, File->File);
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    New->Size = Size;
    *SectionHandle = New;
    return STATUS_SUCCESS;
}

//
// NtMapViewOfSection: what is mapped is read.
//

static
NTSTATUS
WasmMapViewOfSection(
    HANDLE SectionHandle,
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    SIZE_T CommitSize,
    PLARGE_INTEGER SectionOffset,
    PSIZE_T ViewSize,
    ULONG InheritDisposition,
    ULONG AllocationType,
    ULONG Win32Protect
    )
{
    PWASM_HANDLE Section = (PWASM_HANDLE)SectionHandle;
    ULONGLONG Offset = (ULONGLONG)SectionOffset->QuadPart;
    PVOID View;
    ULONG Done = 0;
    ULONG Read;
    NTSTATUS Status = STATUS_SUCCESS;

    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(CommitSize);
    UNREFERENCED_PARAMETER(InheritDisposition);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Win32Protect);

    if (Offset >= Section->Size || *ViewSize > Section->Size - Offset) {
        return STATUS_INVALID_VIEW_SIZE;
    }

    if (*ViewSize == 0) {
        if (Section->Size - Offset > 0x40000000) {
            return STATUS_NO_MEMORY;
        }
        *ViewSize = (SIZE_T)(Section->Size - Offset);
    }

    View = WasmAllocateBytes(*ViewSize);
    if (View == NULL) {
        return STATUS_NO_MEMORY;
    }

    while (NT_SUCCESS(Status) && Done < *ViewSize) {
        Status = WasmReadBytes(Section->File,
                               Offset + Done,
                               (PUCHAR)View + Done,
                               (ULONG)*ViewSize - Done,
                               &Read);
        Done += Read;
    }

    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        WasmAllocator.Free(NULL, View);
        return Status;
    }

    *BaseAddress = View;
    return STATUS_SUCCESS;
}

//
// NtUnmapViewOfSection.
//

static
NTSTATUS
WasmUnmapViewOfSection(
    HANDLE ProcessHandle,
    PVOID BaseAddress
    )
{
    UNREFERENCED_PARAMETER(ProcessHandle);

    WasmAllocator.Free(NULL, BaseAddress);
    return STATUS_SUCCESS;
}

//
// NtAllocateVirtualMemory and NtFreeVirtualMemory.
//

static
NTSTATUS
WasmAllocateVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Protect);

    *BaseAddress = WasmAllocateBytes(*RegionSize);
    return *BaseAddress != NULL ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static
NTSTATUS
WasmFreeVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG FreeType
    )
{
    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(RegionSize);
    UNREFERENCED_PARAMETER(FreeType);

    WasmAllocator.Free(NULL, *BaseAddress);
    return STATUS_SUCCESS;
}

//
// NtOpenProcess: whether a process runs is not known here.  One of a session
// that goes on may; of any other none does.
//

static BOOLEAN WasmIsLive;

static
NTSTATUS
WasmOpenProcess(
    PHANDLE ProcessHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PVOID ClientId
    )
{
    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(ClientId);

    return WasmIsLive ? STATUS_ACCESS_DENIED : STATUS_INVALID_CID;
}

WASM_EXPORT(setLive)
VOID
WasmExportSetLive(
    ULONG IsLive
    );

VOID
WasmExportSetLive(
    ULONG IsLive
    )
{
    WasmIsLive = IsLive != 0;
}

static
NTSTATUS
WasmQueryInformationProcess(
    HANDLE Handle,
    ULONG InformationClass,
    PVOID Information,
    ULONG Length,
    PULONG ReturnLength
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(InformationClass);
    UNREFERENCED_PARAMETER(Information);
    UNREFERENCED_PARAMETER(Length);
    UNREFERENCED_PARAMETER(ReturnLength);

    return STATUS_INVALID_INFO_CLASS;
}

//
// The clocks, which are those of the machine that looks: of no use.
//

static
NTSTATUS
WasmQuerySystemTime(
    PLARGE_INTEGER SystemTime
    )
{
    SystemTime->QuadPart = 0;
    return STATUS_SUCCESS;
}

static
NTSTATUS
WasmQueryPerformanceCounter(
    PLARGE_INTEGER PerformanceCounter,
    PLARGE_INTEGER PerformanceFrequency
    )
{
    PerformanceCounter->QuadPart = 0;
    if (PerformanceFrequency != NULL) {
        PerformanceFrequency->QuadPart = 1;
    }
    return STATUS_SUCCESS;
}

static
NTSTATUS
WasmDelayExecution(
    BOOLEAN Alertable,
    PLARGE_INTEGER DelayInterval
    )
{
    UNREFERENCED_PARAMETER(Alertable);
    UNREFERENCED_PARAMETER(DelayInterval);

    return STATUS_SUCCESS;
}

static
WCHAR
WasmUpcaseUnicodeChar(
    WCHAR SourceCharacter
    )
{
    return WasmUpcase(SourceCharacter);
}

//
// GetFullPathNameW, of a path that is absolute.
//

static
DWORD
WasmGetFullPathName(
    LPCWSTR FileName,
    DWORD BufferLength,
    LPWSTR Buffer,
    LPWSTR *FilePart
    )
{
    DWORD Length = 0;

    UNREFERENCED_PARAMETER(FilePart);

    while (FileName[Length] != 0) {
        Length += 1;
    }

    if (Length >= BufferLength) {
        return Length + 1;
    }

    RtlCopyBytes(Buffer, FileName, (Length + 1) * sizeof(WCHAR));
    return Length;
}

//
// LoadLibraryExW: there are no libraries.
//

static
HMODULE
WasmLoadLibrary(
    PCWSTR FileName,
    HANDLE File,
    DWORD Flags
    )
{
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Flags);

    return NULL;
}

_Use_decl_annotations_
VOID
WasmInitializeRtl(
    PRTL Rtl
    )
{
    RtlZeroBytes(Rtl, sizeof(*Rtl));
    Rtl->SizeOfStruct = sizeof(*Rtl);
    Rtl->LoadLibraryExW = WasmLoadLibrary;
    Rtl->NtCreateFile = WasmCreateFile;
    Rtl->NtReadFile = WasmReadFile;
    Rtl->NtWriteFile = WasmWriteFile;
    Rtl->NtSetInformationFile = WasmSetInformationFile;
    Rtl->NtQueryInformationFile = WasmQueryInformationFile;
    Rtl->NtQueryDirectoryFile = WasmQueryDirectoryFile;
    Rtl->NtClose = WasmClose;
    Rtl->NtCreateSection = WasmCreateSection;
    Rtl->NtMapViewOfSection = WasmMapViewOfSection;
    Rtl->NtUnmapViewOfSection = WasmUnmapViewOfSection;
    Rtl->NtAllocateVirtualMemory = WasmAllocateVirtualMemory;
    Rtl->NtFreeVirtualMemory = WasmFreeVirtualMemory;
    Rtl->NtOpenProcess = WasmOpenProcess;
    Rtl->NtQueryInformationProcess = WasmQueryInformationProcess;
    Rtl->NtDelayExecution = WasmDelayExecution;
    Rtl->NtQuerySystemTime = WasmQuerySystemTime;
    Rtl->NtQueryPerformanceCounter = WasmQueryPerformanceCounter;
    Rtl->RtlUpcaseUnicodeChar = WasmUpcaseUnicodeChar;
    Rtl->GetFullPathNameW = WasmGetFullPathName;
}

/*++

Module Name:

    World.c

Abstract:

    The operating system of FuzzSession: files in memory, a process that may
    run, and memory that may not be had, behind the routines of an RTL.

--*/

#include "FuzzSession.h"

//
// Where in NT's structures what is.
//

#define FUZZ_DIRECTORY_END_OF_FILE 40
#define FUZZ_DIRECTORY_ATTRIBUTES 56
#define FUZZ_DIRECTORY_NAME_LENGTH 60
#define FUZZ_DIRECTORY_NAME 64
#define FUZZ_STANDARD_END_OF_FILE 8
#define FUZZ_FILE_RENAME_INFORMATION 10
#define FUZZ_FILE_DISPOSITION_INFORMATION 13

typedef enum _FUZZ_HANDLE_KIND {
    FuzzHandleFile = 1,
    FuzzHandleDirectory,
    FuzzHandleSection,
    FuzzHandleProcess,
    FuzzHandleEvent,
    FuzzHandleThread
} FUZZ_HANDLE_KIND;

typedef struct _FUZZ_HANDLE {
    FUZZ_HANDLE_KIND Kind;
    PFUZZ_FILE File;
    SIZE_T Size;                    // of a section
    ULONG Position;                 // of a directory
    ULONG Directory;                // which one; 0: the session's
} FUZZ_HANDLE;
typedef FUZZ_HANDLE *PFUZZ_HANDLE;

FUZZ_WORLD FuzzWorld;

//
// Says whether it is this call of the system that fails.
//

static
BOOLEAN
FuzzIsFailing(
    VOID
    )
{
    if (FuzzWorld.FailAfter == 0) {
        return FALSE;
    }

    FuzzWorld.FailAfter -= 1;
    return FuzzWorld.FailAfter == 0;
}

//
// File: of which file, or NULL.
//

static
HANDLE
FuzzMakeHandle(
    FUZZ_HANDLE_KIND Kind,
    PFUZZ_FILE File
    )
{
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)calloc(1, sizeof(*Handle));

    if (Handle == NULL) {
        abort();
    }

    Handle->Kind = Kind;
    Handle->File = File;
    FuzzWorld.NumberOfHandles += 1;
    return Handle;
}

//
// Says whether a file of the session is there yet.
//

static
BOOLEAN
FuzzIsThere(
    const FUZZ_FILE *File
    )
{
    return (File->Flags & FUZZ_FILE_IS_BELOW) == 0 &&
           ((File->Flags & FUZZ_FILE_IS_LATE) == 0 ||
            FuzzWorld.NumberOfWaits != 0);
}

_Use_decl_annotations_
BOOLEAN
FuzzIsIndex(
    const WCHAR *Name,
    ULONG Length
    )
{
    static const CHAR Suffix[] = ".trace.index";
    ULONG Index;

    if (Length < sizeof(Suffix) - 1) {
        return FALSE;
    }

    for (Index = 0; Index < sizeof(Suffix) - 1; Index++) {
        if (Name[Length - (sizeof(Suffix) - 1) + Index] !=
            (WCHAR)Suffix[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

static
VOID
FuzzResizeFile(
    PFUZZ_FILE File,
    SIZE_T Size
    );

//
// NtCreateFile in a directory that a command has made: a new file, through no
// link.
// As NtCreateFile.
//

static
NTSTATUS
FuzzCreateBelow(
    PHANDLE Handle,
    POBJECT_ATTRIBUTES Attributes,
    ULONG CreateDisposition,
    ULONG CreateOptions
    )
{
    PCUNICODE_STRING Name = Attributes->ObjectName;
    ULONG Length = Name->Length / sizeof(WCHAR);
    PFUZZ_HANDLE Directory = (PFUZZ_HANDLE)Attributes->RootDirectory;
    PFUZZ_FILE File;
    ULONG Index;

    FUZZ_CHECK(Directory->Kind == FuzzHandleDirectory);
    FUZZ_CHECK(Directory->Directory == FUZZ_NEW_DIRECTORY);
    FUZZ_CHECK(CreateDisposition == RTL_CREATE_NEW);
    FUZZ_CHECK((CreateOptions & FILE_OPEN_REPARSE_POINT) != 0);
    FUZZ_CHECK(Length != 0);
    for (Index = 0; Index < Length; Index++) {
        FUZZ_CHECK(Name->Buffer[Index] >= L' ' &&
                   Name->Buffer[Index] != L'\\' &&
                   Name->Buffer[Index] != L'/' && Name->Buffer[Index] != L':');
    }

    if (FuzzIsFailing() || !FuzzWorld.IsReal) {
        return STATUS_ACCESS_DENIED;
    }

    if ((CreateOptions & FILE_DIRECTORY_FILE) != 0) {
        *Handle = FuzzMakeHandle(FuzzHandleDirectory, NULL);
        ((PFUZZ_HANDLE)*Handle)->Directory = FUZZ_NEW_DIRECTORY;
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        File = &FuzzWorld.Files[Index];
        if ((File->Flags & FUZZ_FILE_IS_BELOW) != 0 &&
            File->NameLength == Length &&
            memcmp(File->Name, Name->Buffer, Name->Length) == 0) {
            return STATUS_OBJECT_NAME_COLLISION;
        }
    }

    if (FuzzWorld.NumberOfFiles == FUZZ_MAXIMUM_MADE_FILES ||
        Length > FUZZ_MAXIMUM_NAME) {
        return STATUS_ACCESS_DENIED;
    }

    File = &FuzzWorld.Files[FuzzWorld.NumberOfFiles];
    FuzzWorld.NumberOfFiles += 1;
    memset(File, 0, sizeof(*File));
    File->Flags = FUZZ_FILE_IS_BELOW;
    File->NameLength = Length;
    memcpy(File->Name, Name->Buffer, Name->Length);
    *Handle = FuzzMakeHandle(FuzzHandleFile, File);
    return STATUS_SUCCESS;
}

//
// NtCreateFile. The last part of the path names the file; a path of one part
// is the session.
// As NtCreateFile.
//

static
NTSTATUS
FuzzCreateFile(
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
    PCUNICODE_STRING Path = Attributes->ObjectName;
    ULONG Length = Path->Length / sizeof(WCHAR);
    ULONG Start = Length;
    ULONG Index;
    PFUZZ_FILE File;
    BOOLEAN WantsDirectory = (CreateOptions & FILE_DIRECTORY_FILE) != 0;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    if (Attributes->RootDirectory != NULL) {
        return FuzzCreateBelow(Handle,
                               Attributes,
                               CreateDisposition,
                               CreateOptions);
    }

    FUZZ_CHECK(CreateDisposition == FILE_OPEN ||
               CreateDisposition == FILE_OPEN_IF ||
               CreateDisposition == RTL_CREATE_NEW ||
               CreateDisposition == RTL_CREATE_ALWAYS);
    FUZZ_CHECK(Path->Length <= Path->MaximumLength);

    //
    // What a command writes anew is to be had with whole sessions only.
    //

    if (FuzzIsFailing() ||
        (!FuzzWorld.IsReal && (CreateDisposition == RTL_CREATE_NEW ||
                               CreateDisposition == RTL_CREATE_ALWAYS))) {
        return STATUS_ACCESS_DENIED;
    }

    while (Start != 0 && Path->Buffer[Start - 1] != L'\\') {
        Start -= 1;
    }

    if (Length == 5 && Path->Buffer[4] == L'S') {
        if (!WantsDirectory) {
            return STATUS_FILE_IS_A_DIRECTORY;
        }
        *Handle = FuzzMakeHandle(FuzzHandleDirectory, NULL);
        return STATUS_SUCCESS;
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_SEVERAL) != 0 && WantsDirectory &&
        Length == 8 && Path->Buffer[4] == L'S' && Path->Buffer[6] == L'D') {
        *Handle = FuzzMakeHandle(FuzzHandleDirectory, NULL);
        ((PFUZZ_HANDLE)*Handle)->Directory =
            1 + (ULONG)(Path->Buffer[7] - L'0') % FUZZ_DIRECTORIES;
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {

        File = &FuzzWorld.Files[Index];
        if (!FuzzIsThere(File) ||
            File->NameLength != Length - Start ||
            memcmp(File->Name,
                   Path->Buffer + Start,
                   File->NameLength * sizeof(WCHAR)) != 0) {
            continue;
        }

        if ((File->Flags & FUZZ_FILE_IS_DIRECTORY) != 0) {
            return STATUS_FILE_IS_A_DIRECTORY;
        }
        if (WantsDirectory) {
            return STATUS_NOT_A_DIRECTORY;
        }
        if (CreateDisposition == RTL_CREATE_NEW) {
            return STATUS_OBJECT_NAME_COLLISION;
        }
        if (CreateDisposition == RTL_CREATE_ALWAYS) {
            FUZZ_CHECK((File->Flags & FUZZ_FILE_IS_KEPT) == 0);
            FuzzResizeFile(File, 0);
        }
        *Handle = FuzzMakeHandle(FuzzHandleFile, File);
        return STATUS_SUCCESS;
    }

    if (CreateDisposition == FILE_OPEN &&
        !(WantsDirectory && FuzzWorld.HasNewDirectory)) {
        return STATUS_OBJECT_NAME_NOT_FOUND;
    }

    if (WantsDirectory) {
        FuzzWorld.HasNewDirectory = TRUE;
        *Handle = FuzzMakeHandle(FuzzHandleDirectory, NULL);
        ((PFUZZ_HANDLE)*Handle)->Directory = FUZZ_NEW_DIRECTORY;
        return STATUS_SUCCESS;
    }

    //
    // The one-store path may be of any name.
    //

    FUZZ_CHECK(FuzzWorld.IsReal ||
               (Length - Start > 6 && Path->Buffer[Length - 6] == L'.' &&
                Path->Buffer[Length - 1] == L'x'));
    if (FuzzWorld.NumberOfFiles == FUZZ_MAXIMUM_MADE_FILES ||
        Length - Start > FUZZ_MAXIMUM_NAME) {
        return STATUS_ACCESS_DENIED;
    }

    File = &FuzzWorld.Files[FuzzWorld.NumberOfFiles];
    FuzzWorld.NumberOfFiles += 1;
    memset(File, 0, sizeof(*File));
    File->NameLength = Length - Start;
    memcpy(File->Name,
           Path->Buffer + Start,
           File->NameLength * sizeof(WCHAR));
    *Handle = FuzzMakeHandle(FuzzHandleFile, File);
    return STATUS_SUCCESS;
}

//
// Changes a file's size.
// Size: its new size; what is new is zero.
//

static
VOID
FuzzResizeFile(
    PFUZZ_FILE File,
    SIZE_T Size
    )
{
    PUCHAR Bytes = (PUCHAR)calloc(1, Size == 0 ? 1 : Size);

    FuzzSpendWork(Size);
    if (Bytes == NULL) {
        abort();
    }

    if (File->Bytes != NULL) {
        memcpy(Bytes, File->Bytes, File->Size < Size ? File->Size : Size);
        free(File->Bytes);
    }

    File->Bytes = Bytes;
    File->Size = Size;
}

//
// The same for a file that is written on and on: the block that it lies in
// doubles, as what is copied is counted as work.
//

static
VOID
FuzzGrowFile(
    PFUZZ_FILE File,
    SIZE_T Size
    )
{
    SIZE_T Capacity = File->Bytes == NULL ? 0
                                          : malloc_usable_size(File->Bytes);

    if (Size > Capacity) {
        Capacity = File->Size;
        FuzzResizeFile(File, Size * 2);
        File->Size = Capacity;
    }

    memset(File->Bytes + File->Size, 0, Size - File->Size);
    File->Size = Size;
}

//
// NtWriteFile.
//

static
NTSTATUS
FuzzWriteFile(
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
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)FileHandle;
    SIZE_T Offset = (SIZE_T)ByteOffset->QuadPart;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    FUZZ_CHECK(Handle->Kind == FuzzHandleFile);
    FuzzSpendWork(Length);
    FUZZ_CHECK((Handle->File->Flags & ~FUZZ_FILE_IS_BELOW) == 0 ||
               FuzzIsIndex(Handle->File->Name, Handle->File->NameLength) ||
               (FuzzWorld.Flags & FUZZ_SESSION_ONE_STORE) != 0);
    if (FuzzIsFailing()) {
        return STATUS_DISK_FULL;
    }

    FUZZ_CHECK(Offset + Length < 0x10000000);
    if (Offset + Length > Handle->File->Size) {
        FuzzGrowFile(Handle->File, Offset + Length);
    }

    memcpy(Handle->File->Bytes + Offset, Buffer, Length);
    IoStatus->Information = Length;
    return STATUS_SUCCESS;
}

//
// NtSetInformationFile: the file's end, its name, that it goes.
// As NtSetInformationFile.
//

static
NTSTATUS
FuzzSetInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)FileHandle;
    LARGE_INTEGER End;

    UNREFERENCED_PARAMETER(IoStatus);

    FUZZ_CHECK(Handle->Kind == FuzzHandleFile);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    //
    // A file that is complete keeps its name here, and one that is not is
    // there to the end of the run.
    //

    if (FileInformationClass == FUZZ_FILE_RENAME_INFORMATION ||
        FileInformationClass == FUZZ_FILE_DISPOSITION_INFORMATION) {
        return STATUS_SUCCESS;
    }

    FUZZ_CHECK(FileInformationClass == RTL_FILE_END_OF_FILE_INFORMATION);
    FUZZ_CHECK(Length == sizeof(End));

    memcpy(&End, FileInformation, sizeof(End));
    FuzzResizeFile(Handle->File, (SIZE_T)End.QuadPart);
    return STATUS_SUCCESS;
}

//
// NtReadFile.
// As NtReadFile.
//

static
NTSTATUS
FuzzReadFile(
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
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)FileHandle;
    ULONGLONG Offset = (ULONGLONG)ByteOffset->QuadPart;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    FUZZ_CHECK(Handle->Kind == FuzzHandleFile);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    if (Offset >= Handle->File->Size) {
        return STATUS_END_OF_FILE;
    }

    if (Length > Handle->File->Size - Offset) {
        Length = (ULONG)(Handle->File->Size - Offset);
    }

    FuzzSpendWork(Length);
    memcpy(Buffer, Handle->File->Bytes + Offset, Length);
    IoStatus->Information = Length;
    return STATUS_SUCCESS;
}

//
// NtQueryInformationFile.
// As NtQueryInformationFile.
//

static
NTSTATUS
FuzzQueryInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)FileHandle;
    ULONGLONG Size;

    UNREFERENCED_PARAMETER(IoStatus);

    FUZZ_CHECK(Handle->Kind == FuzzHandleFile);
    FUZZ_CHECK(FileInformationClass == RTL_FILE_STANDARD_INFORMATION);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    Size = Handle->File->Size;
    memset(FileInformation, 0, Length);
    memcpy((PUCHAR)FileInformation + FUZZ_STANDARD_END_OF_FILE, &Size, 8);
    return STATUS_SUCCESS;
}

//
// NtQueryDirectoryFile. Three entries at a time, if they fit.
// As NtQueryDirectoryFile.
//

static
NTSTATUS
FuzzQueryDirectoryFile(
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
    PFUZZ_HANDLE Handle = (PFUZZ_HANDLE)FileHandle;
    PUCHAR Entry = NULL;
    PUCHAR Next = (PUCHAR)FileInformation;
    PFUZZ_FILE File;
    ULONGLONG FileSize;
    ULONG Attributes;
    ULONG Count = 0;
    ULONG NameLength;
    ULONG Number;
    ULONG Size;
    PCWSTR Name;
    BOOLEAN IsSeveral = (FuzzWorld.Flags & FUZZ_SESSION_SEVERAL) != 0;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(ReturnSingleEntry);
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(RestartScan);

    FUZZ_CHECK(Handle->Kind == FuzzHandleDirectory);
    FUZZ_CHECK(FileInformationClass == RTL_FILE_DIRECTORY_INFORMATION);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    Number = IsSeveral && Handle->Directory == 0 ? FUZZ_DIRECTORIES
             : Handle->Directory == FUZZ_NEW_DIRECTORY ? 0
                                                 : FuzzWorld.NumberOfFiles;
    for (; Handle->Position < Number && Count < 3; Handle->Position++) {

        File = &FuzzWorld.Files[Handle->Position];
        Size = (ULONG)(Next - (PUCHAR)FileInformation) + FUZZ_DIRECTORY_NAME +
               FUZZ_MAXIMUM_NAME * sizeof(WCHAR);
        if (Size > Length) {
            break;
        }

        if (IsSeveral && Handle->Directory == 0) {

            Name = FuzzWorld.DirectoryNames[Handle->Position];
            NameLength = 2;
            FileSize = 0;
            Attributes = FILE_ATTRIBUTE_DIRECTORY;

        } else {

            if (!FuzzIsThere(File) ||
                (IsSeveral && Handle->Position % FUZZ_DIRECTORIES + 1 !=
                                  Handle->Directory)) {
                continue;
            }

            Name = File->Name;
            NameLength = File->NameLength;
            FileSize = File->Size;
            Attributes = (File->Flags & FUZZ_FILE_IS_DIRECTORY) != 0
                             ? FILE_ATTRIBUTE_DIRECTORY
                             : FILE_ATTRIBUTE_NORMAL;
        }

        if (Entry != NULL) {
            Size = (ULONG)(Next - Entry);
            memcpy(Entry, &Size, sizeof(Size));
        }

        Entry = Next;
        memset(Entry, 0, FUZZ_DIRECTORY_NAME);
        memcpy(Entry + FUZZ_DIRECTORY_END_OF_FILE, &FileSize, 8);
        memcpy(Entry + FUZZ_DIRECTORY_ATTRIBUTES, &Attributes, 4);
        Size = NameLength * (ULONG)sizeof(WCHAR);
        memcpy(Entry + FUZZ_DIRECTORY_NAME_LENGTH, &Size, 4);
        memcpy(Entry + FUZZ_DIRECTORY_NAME, Name, Size);
        Next = Entry + ((FUZZ_DIRECTORY_NAME + Size + 7) & ~7u);
        Count += 1;
    }

    return Count == 0 ? STATUS_NO_MORE_FILES : STATUS_SUCCESS;
}

//
// NtClose.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzClose(
    HANDLE Handle
    )
{
    FuzzWorld.NumberOfHandles -= 1;
    free(Handle);
    return STATUS_SUCCESS;
}

//
// NtCreateSection, for reading.
// As NtCreateSection.
//

static
NTSTATUS
FuzzCreateSection(
    PHANDLE SectionHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PLARGE_INTEGER MaximumSize,
    ULONG SectionPageProtection,
    ULONG AllocationAttributes,
    HANDLE FileHandle
    )
{
    PFUZZ_HANDLE File = (PFUZZ_HANDLE)FileHandle;
    SIZE_T Size;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(AllocationAttributes);

    FUZZ_CHECK(File->Kind == FuzzHandleFile);
    FUZZ_CHECK(SectionPageProtection == PAGE_READONLY);
    if (FuzzIsFailing()) {
        return STATUS_NO_MEMORY;
    }

    if (File->File->Size == 0) {
        return STATUS_MAPPED_FILE_SIZE_ZERO;
    }

    Size = File->File->Size;
    if (MaximumSize != NULL) {
        Size = (SIZE_T)MaximumSize->QuadPart;
        if (Size > File->File->Size) {
            return STATUS_SECTION_TOO_BIG;
        }
    }

    *SectionHandle = FuzzMakeHandle(FuzzHandleSection, File->File);
    ((PFUZZ_HANDLE)*SectionHandle)->Size = Size;
    return STATUS_SUCCESS;
}

//
// NtMapViewOfSection. A view is a block of memory of exactly its size: a
// page's rest, which the system would add, is not to be touched.
// As NtMapViewOfSection.
//

static
NTSTATUS
FuzzMapViewOfSection(
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
    PFUZZ_HANDLE Section = (PFUZZ_HANDLE)SectionHandle;
    ULONGLONG Offset = (ULONGLONG)SectionOffset->QuadPart;
    FUZZ_VIEW *View;
    ULONG Index;

    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(CommitSize);
    UNREFERENCED_PARAMETER(InheritDisposition);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Win32Protect);

    FUZZ_CHECK(Section->Kind == FuzzHandleSection);
    if (FuzzIsFailing()) {
        return STATUS_NO_MEMORY;
    }

    if (Offset >= Section->Size || *ViewSize > Section->Size - Offset) {
        return STATUS_INVALID_VIEW_SIZE;
    }

    if (*ViewSize == 0) {
        *ViewSize = Section->Size - Offset;
    }

    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {

        View = &FuzzWorld.Views[Index];
        if (View->Address == NULL) {
            View->Address = (PUCHAR)malloc(*ViewSize);
            if (View->Address == NULL) {
                abort();
            }
            FuzzSpendWork(*ViewSize);
            View->File = Section->File;
            View->Offset = (SIZE_T)Offset;
            memcpy(View->Address, View->File->Bytes + Offset, *ViewSize);
            *BaseAddress = View->Address;
            return STATUS_SUCCESS;
        }
    }

    FUZZ_CHECK(!"views are unmapped");
    return STATUS_NO_MEMORY;
}

//
// NtUnmapViewOfSection.
// As NtUnmapViewOfSection.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzUnmapViewOfSection(
    HANDLE ProcessHandle,
    PVOID BaseAddress
    )
{
    ULONG Index;

    UNREFERENCED_PARAMETER(ProcessHandle);

    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {
        if (FuzzWorld.Views[Index].Address == BaseAddress) {
            FuzzWorld.Views[Index].Address = NULL;
            free(BaseAddress);
            return STATUS_SUCCESS;
        }
    }

    FUZZ_CHECK(!"only what is mapped is unmapped");
    return STATUS_SUCCESS;
}

//
// NtAllocateVirtualMemory.
// As NtAllocateVirtualMemory.
//

static
NTSTATUS
FuzzAllocateVirtualMemory(
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

    if (FuzzIsFailing()) {
        return STATUS_NO_MEMORY;
    }

    FUZZ_CHECK(*RegionSize <= FUZZ_MEMORY);
    FuzzSpendWork(*RegionSize);
    *BaseAddress = calloc(1, *RegionSize);
    if (*BaseAddress == NULL) {
        return STATUS_NO_MEMORY;
    }

    FuzzWorld.NumberOfPages += 1;
    return STATUS_SUCCESS;
}

//
// NtFreeVirtualMemory.
// As NtFreeVirtualMemory.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzFreeVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG FreeType
    )
{
    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(RegionSize);
    UNREFERENCED_PARAMETER(FreeType);

    FuzzWorld.NumberOfPages -= 1;
    free(*BaseAddress);
    return STATUS_SUCCESS;
}

//
// NtOpenProcess.
// As NtOpenProcess.
//

static
NTSTATUS
FuzzOpenProcess(
    PHANDLE ProcessHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PVOID ClientId
    )
{
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(ClientId);

    if ((FuzzWorld.Flags & FUZZ_SESSION_DENIED) != 0) {
        return STATUS_ACCESS_DENIED;
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_PROCESS) == 0) {
        return STATUS_INVALID_CID;
    }

    *ProcessHandle = FuzzMakeHandle(FuzzHandleProcess, NULL);
    return STATUS_SUCCESS;
}

//
// NtQueryInformationProcess: the process's times.
// As NtQueryInformationProcess.
//

static
NTSTATUS
FuzzQueryInformationProcess(
    HANDLE Handle,
    ULONG InformationClass,
    PVOID Information,
    ULONG Length,
    PULONG ReturnLength
    )
{
    LONGLONG Times[4] = { FuzzWorld.CreationTime, 0, 0, 0 };

    UNREFERENCED_PARAMETER(ReturnLength);

    //
    // The reader's own memory is asked for, too.
    //

    if (Handle == (HANDLE)(LONG_PTR)-1) {
        return STATUS_INVALID_INFO_CLASS;
    }

    FUZZ_CHECK(((PFUZZ_HANDLE)Handle)->Kind == FuzzHandleProcess);
    FUZZ_CHECK(InformationClass == RTL_PROCESS_TIMES);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_ENDS) != 0 &&
        FuzzWorld.NumberOfWaits != 0) {
        Times[1] = FuzzWorld.CreationTime + 1;
    }

    FUZZ_CHECK(Length == sizeof(Times));
    memcpy(Information, Times, sizeof(Times));
    return STATUS_SUCCESS;
}

//
// Lets the traced process run on: at the first wait, stores that grow have all
// their records, also where they are mapped.
//

static
VOID
FuzzPassTime(
    VOID
    )
{
    const SIZE_T Offset = offsetof(TRACE_STORE_HEADER, Cursor);
    const SIZE_T First = offsetof(TRACE_STORE_HEADER, FirstPosition);
    const SIZE_T Blocks = offsetof(TRACE_STORE_HEADER, BlocksEnd);
    FUZZ_VIEW *View;
    PFUZZ_FILE File;
    ULONG Index;

    FuzzWorld.NumberOfWaits += 1;
    FUZZ_CHECK(FuzzWorld.NumberOfWaits < (FuzzWorld.IsReal ? 1000 : 100));
    if (FuzzWorld.NumberOfWaits != 1) {
        return;
    }

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        File = &FuzzWorld.Files[Index];
        if ((File->Flags & FUZZ_FILE_GROWS) != 0) {
            memcpy(File->Bytes + Offset, &File->Cursor, 8);
            memcpy(File->Bytes + First, &File->FirstPosition, 8);
            if (File->BlocksEnd != 0) {
                memcpy(File->Bytes + Blocks, &File->BlocksEnd, 8);
            }
        }
    }

    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {
        View = &FuzzWorld.Views[Index];
        if (View->Address != NULL && View->Offset == 0 &&
            (View->File->Flags & FUZZ_FILE_GROWS) != 0) {
            memcpy(View->Address + Offset, &View->File->Cursor, 8);
            memcpy(View->Address + First, &View->File->FirstPosition, 8);
            if (View->File->BlocksEnd != 0) {
                memcpy(View->Address + Blocks, &View->File->BlocksEnd, 8);
            }
        }
    }
}

//
// NtCreateEvent.
// As NtCreateEvent.
//

static
NTSTATUS
FuzzCreateEvent(
    PHANDLE EventHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    ULONG EventType,
    BOOLEAN InitialState
    )
{
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(EventType);
    UNREFERENCED_PARAMETER(InitialState);

    if (FuzzIsFailing()) {
        return STATUS_NO_MEMORY;
    }

    *EventHandle = FuzzMakeHandle(FuzzHandleEvent, NULL);
    return STATUS_SUCCESS;
}

//
// NtCreateThreadEx. The thread runs to its end before this returns.
// As NtCreateThreadEx.
//

static
NTSTATUS
FuzzCreateThread(
    PHANDLE ThreadHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    HANDLE ProcessHandle,
    PVOID StartRoutine,
    PVOID Argument,
    ULONG CreateFlags,
    SIZE_T ZeroBits,
    SIZE_T StackSize,
    SIZE_T MaximumStackSize,
    PVOID AttributeList
    )
{
    DWORD (*Routine)(PVOID) = NULL;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(CreateFlags);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(StackSize);
    UNREFERENCED_PARAMETER(MaximumStackSize);
    UNREFERENCED_PARAMETER(AttributeList);

    if (FuzzIsFailing()) {
        return STATUS_NO_MEMORY;
    }

    *ThreadHandle = FuzzMakeHandle(FuzzHandleThread, NULL);
    memcpy(&Routine, &StartRoutine, sizeof(Routine));
    Routine(Argument);
    return STATUS_SUCCESS;
}

//
// NtWaitForSingleObject, on the process or on a thread, which has ended.
// As NtWaitForSingleObject.
//

static
NTSTATUS
FuzzWaitForSingleObject(
    HANDLE Handle,
    BOOLEAN Alertable,
    PLARGE_INTEGER Timeout
    )
{
    UNREFERENCED_PARAMETER(Alertable);
    UNREFERENCED_PARAMETER(Timeout);

    if (((PFUZZ_HANDLE)Handle)->Kind == FuzzHandleThread) {
        return STATUS_SUCCESS;
    }

    FUZZ_CHECK(((PFUZZ_HANDLE)Handle)->Kind == FuzzHandleProcess);
    FuzzPassTime();
    return (FuzzWorld.Flags & FUZZ_SESSION_ENDS) != 0 ? STATUS_SUCCESS
                                                      : STATUS_TIMEOUT;
}

//
// NtDelayExecution.
// As NtDelayExecution.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzDelayExecution(
    BOOLEAN Alertable,
    PLARGE_INTEGER DelayInterval
    )
{
    UNREFERENCED_PARAMETER(Alertable);
    UNREFERENCED_PARAMETER(DelayInterval);

    FuzzPassTime();
    return STATUS_SUCCESS;
}

//
// NtQuerySystemTime.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzQuerySystemTime(
    PLARGE_INTEGER SystemTime
    )
{
    SystemTime->QuadPart = FuzzWorld.CreationTime +
                           (LONGLONG)(RtlPortableTimestamp / 300);
    return STATUS_SUCCESS;
}

//
// NtQueryPerformanceCounter.
// As NtQueryPerformanceCounter.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzQueryPerformanceCounter(
    PLARGE_INTEGER PerformanceCounter,
    PLARGE_INTEGER PerformanceFrequency
    )
{
    PerformanceCounter->QuadPart =
        100000 + (LONGLONG)(RtlPortableTimestamp / 300);
    if (PerformanceFrequency != NULL) {
        PerformanceFrequency->QuadPart = 10000000;
    }
    return STATUS_SUCCESS;
}

//
// RtlUpcaseUnicodeChar, for ASCII.
// Returns the capital.
//

static
WCHAR
FuzzUpcaseUnicodeChar(
    WCHAR SourceCharacter
    )
{
    if (SourceCharacter >= L'a' && SourceCharacter <= L'z') {
        return (WCHAR)(SourceCharacter - 32);
    }

    return SourceCharacter;
}

//
// GetFullPathNameW, of a path that is absolute.
// As GetFullPathNameW.
// Returns the length, or the size that is needed.
//

static
DWORD
FuzzGetFullPathName(
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

    memcpy(Buffer, FileName, (Length + 1) * sizeof(WCHAR));
    return Length;
}

//
// Stands in for LoadLibraryExW: there are no libraries.
// As the system's.
// Returns NULL.
//

static
HMODULE
FuzzLoadLibrary(
    _In_ PCWSTR FileName,
    _In_opt_ HANDLE File,
    _In_ DWORD Flags
    )
{
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Flags);
    return NULL;
}

//
// Fills the routines that the reader calls; it would fault in any other.
//

VOID
FuzzInitializeRtl(
    PRTL Rtl
    )
{
    memset(Rtl, 0, sizeof(*Rtl));
    Rtl->SizeOfStruct = sizeof(*Rtl);
    Rtl->LoadLibraryExW = FuzzLoadLibrary;
    Rtl->NtCreateFile = FuzzCreateFile;
    Rtl->NtReadFile = FuzzReadFile;
    Rtl->NtWriteFile = FuzzWriteFile;
    Rtl->NtSetInformationFile = FuzzSetInformationFile;
    Rtl->NtQueryInformationFile = FuzzQueryInformationFile;
    Rtl->NtQueryDirectoryFile = FuzzQueryDirectoryFile;
    Rtl->NtClose = FuzzClose;
    Rtl->NtCreateSection = FuzzCreateSection;
    Rtl->NtMapViewOfSection = FuzzMapViewOfSection;
    Rtl->NtUnmapViewOfSection = FuzzUnmapViewOfSection;
    Rtl->NtAllocateVirtualMemory = FuzzAllocateVirtualMemory;
    Rtl->NtFreeVirtualMemory = FuzzFreeVirtualMemory;
    Rtl->NtOpenProcess = FuzzOpenProcess;
    Rtl->NtQueryInformationProcess = FuzzQueryInformationProcess;
    Rtl->NtCreateEvent = FuzzCreateEvent;
    Rtl->NtCreateThreadEx = FuzzCreateThread;
    Rtl->NtWaitForSingleObject = FuzzWaitForSingleObject;
    Rtl->NtDelayExecution = FuzzDelayExecution;
    Rtl->NtQuerySystemTime = FuzzQuerySystemTime;
    Rtl->NtQueryPerformanceCounter = FuzzQueryPerformanceCounter;
    Rtl->RtlUpcaseUnicodeChar = FuzzUpcaseUnicodeChar;
    Rtl->GetFullPathNameW = FuzzGetFullPathName;
}

/*++

Module Name:

    FuzzSession.c

Abstract:

    Fuzz target: a session directory through the whole reader, from the
    arguments of TraceReader to what it writes.  The operating system is the
    RTL structure below, with files in memory; only DbgHelp is left out.

    The input:

        1 byte      the command and its options: FuzzLines below; beyond
                    them, arguments are taken off the input
        1 byte      FUZZ_SESSION_*
        2 bytes     which allocation fails; 0: none
        1 byte      which call of the system fails; 0: none
        files       until the input ends: see FuzzAddFile

    or a whole session: FuzzReal.h.

    What an input may cost is in proportion to what its files have.

--*/

#include "FuzzReal.h"
#include "../../Reader/Symbols/SymbolDbgHelp.h"
#include "../../Reader/Export/ExportHtml.h"
#include "../../Reader/Live/LiveConsole.h"
#include "../../Reader/Commands/Command.h"
#include "../../StringTable/StringTable.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_SESSION_ONE_STORE  0x01    // the path is that of the first file
#define FUZZ_SESSION_PROCESS    0x02    // the process runs
#define FUZZ_SESSION_DENIED     0x04    // or may not be asked
#define FUZZ_SESSION_ENDS       0x08    // it ends when it is waited for
#define FUZZ_SESSION_INDEX      0x10    // there are indexes, and more marks
#define FUZZ_SESSION_FROM       0x20    // --from, --from-start
#define FUZZ_SESSION_TO         0x40    // --to
#define FUZZ_SESSION_SEVERAL    0x80    // the files lie in D0, D1 and D2, in
                                        // turn: of a process each

#define FUZZ_FILE_IS_MADE       0x01    // by FuzzMakeStore, else bytes
#define FUZZ_FILE_IS_LATE       0x02    // is there from the first wait on
#define FUZZ_FILE_GROWS         0x04    // its end moves at the first wait
#define FUZZ_FILE_IS_DIRECTORY  0x08
#define FUZZ_FILE_HAS_SUFFIX    0x10    // .trace follows the name
#define FUZZ_FILE_IS_WIDE       0x20    // the name has 2 bytes a character
#define FUZZ_FILE_IS_IMAGE      0x40    // the name is Program.exe
#define FUZZ_FILE_IS_CACHE      0x80    // the name is symbols.cache
#define FUZZ_FILE_IS_KEPT       0x100   // nothing may be written to it
#define FUZZ_FILE_IS_BELOW      0x200   // in the directory that a command makes

//
// What an input may cost: work (FuzzWork.c), and bytes of memory at a time.
// The reader's own tables have some MiB however little there is to read.  A
// session is read six times and more, by a few hundred comparisons for each
// record.  A hundred million are a second, so that no input of FUZZ_REAL_SIZE
// takes ten.
//

#define FUZZ_WORK               60000000ULL
#define FUZZ_WORK_OF_BYTE       600ULL
#define FUZZ_MEMORY             0x1000000ULL
#define FUZZ_MEMORY_OF_BYTE     32ULL

#define FUZZ_DIRECTORIES 3
#define FUZZ_MAXIMUM_FILES 12
#define FUZZ_MAXIMUM_MADE_FILES 256     // with those that the reader makes
#define FUZZ_MAXIMUM_NAME 80
#define FUZZ_MAXIMUM_VIEWS 256
#define FUZZ_MAXIMUM_ARGUMENTS 24
#define FUZZ_TAKEN_ARGUMENTS 6
#define FUZZ_OUTPUT_SIZE 0x40000
#define FUZZ_FIRST_TIMESTAMP 100000000
#define FUZZ_AROUND_STRING 64           // what a search reads at a time
#define FUZZ_PROCESS_CREATION_TIME 0x01DC000000000000LL
#define FUZZ_MAXIMUM_TIME 0x4000000000000000ULL
#define FUZZ_NEW_DIRECTORY 99           // one that a command makes

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

typedef struct _FUZZ_FILE {
    WCHAR Name[FUZZ_MAXIMUM_NAME];
    ULONG NameLength;
    ULONG Flags;                    // FUZZ_FILE_*
    PUCHAR Bytes;
    SIZE_T Size;
    ULONGLONG Cursor;               // that the header has after the first wait
    ULONGLONG FirstPosition;        // likewise
} FUZZ_FILE;
typedef FUZZ_FILE *PFUZZ_FILE;

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

typedef struct _FUZZ_VIEW {
    PUCHAR Address;                 // NULL: not in use
    PFUZZ_FILE File;
    SIZE_T Offset;
} FUZZ_VIEW;

typedef struct _FUZZ_WORLD {
    FUZZ_FILE Files[FUZZ_MAXIMUM_MADE_FILES];
    ULONG NumberOfFiles;
    BOOLEAN HasNewDirectory;
    FUZZ_VIEW Views[FUZZ_MAXIMUM_VIEWS];
    ULONG Flags;                    // FUZZ_SESSION_*
    ULONG FailAfter;                // calls of the system
    ULONG NumberOfWaits;
    WCHAR DirectoryNames[FUZZ_DIRECTORIES][2];
    LONG NumberOfHandles;
    LONG NumberOfPages;             // allocations of pages
    LONGLONG CreationTime;          // of the process
    BOOLEAN IsReal;                 // a whole session: FuzzReal.h
} FUZZ_WORLD;

static FUZZ_WORLD FuzzWorld;

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

//
// Says whether a file is an index: the only one that the reader may write.
//

static
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
    FUZZ_CHECK(Handle->File->Flags == 0 ||
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
        }
    }

    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {
        View = &FuzzWorld.Views[Index];
        if (View->Address != NULL && View->Offset == 0 &&
            (View->File->Flags & FUZZ_FILE_GROWS) != 0) {
            memcpy(View->Address + Offset, &View->File->Cursor, 8);
            memcpy(View->Address + First, &View->File->FirstPosition, 8);
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
                           (LONGLONG)(FuzzTimestamp / 300);
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
    PerformanceCounter->QuadPart = 100000 + (LONGLONG)(FuzzTimestamp / 300);
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
// Stands in for consoles: there is none, so that the others are not called.
// Returns FALSE.
//

BOOLEAN
LiveLoadConsoleRoutines(
    PCRTL Rtl,
    PREADER_CONSOLE_ROUTINES Routines
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Routines);
    return FALSE;
}

//
// Is not called.
// Returns FALSE.
//

BOOLEAN
LiveOpenConsole(
    PREADER_CONSOLE Console,
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCREADER_CONSOLE_ROUTINES Routines
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);
    UNREFERENCED_PARAMETER(Routines);
    return FALSE;
}

//
// Is not called.
//

VOID
LiveCloseConsole(
    PREADER_CONSOLE Console
    )
{
    UNREFERENCED_PARAMETER(Console);
}

//
// Is not called.
//

VOID
LiveQueryConsoleSize(
    const READER_CONSOLE *Console,
    PULONG Width,
    PULONG Height
    )
{
    UNREFERENCED_PARAMETER(Console);
    *Width = 0;
    *Height = 0;
}

//
// Is not called.
// Returns STATUS_NOT_SUPPORTED.
//

NTSTATUS
LiveShowScreen(
    PREADER_CONSOLE Console,
    PREADER_SCREEN Screen
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Screen);
    return STATUS_NOT_SUPPORTED;
}

//
// Is not called.
// Returns ReaderKeyNone.
//

READER_KEY
LiveReadKey(
    PREADER_CONSOLE Console,
    PULONG Character
    )
{
    UNREFERENCED_PARAMETER(Console);
    *Character = 0;
    return ReaderKeyNone;
}

//
// Is not called.
//

VOID
LiveWaitForKey(
    PREADER_CONSOLE Console,
    HANDLE Process,
    ULONG Milliseconds
    )
{
    UNREFERENCED_PARAMETER(Console);
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(Milliseconds);
}

//
// Stands in for DbgHelp: there is none.
// Returns STATUS_DLL_NOT_FOUND.
//

NTSTATUS
SymbolCreateDbgHelp(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCWSTR ImagePath,
    PCWSTR SearchPath,
    ULONGLONG ModuleBase,
    ULONG ModuleSizeInBytes,
    PREADER_DBGHELP *DbgHelp,
    READER_SYMBOL_SOURCE *Source
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);
    UNREFERENCED_PARAMETER(ImagePath);
    UNREFERENCED_PARAMETER(SearchPath);
    UNREFERENCED_PARAMETER(ModuleBase);
    UNREFERENCED_PARAMETER(ModuleSizeInBytes);

    *DbgHelp = NULL;
    *Source = ReaderSymbolSourceNone;
    return STATUS_DLL_NOT_FOUND;
}

//
// Is not called: there is no session.
// Returns an empty path.
//

PCWSTR
SymbolGetDbgHelpPdb(
    const READER_DBGHELP *DbgHelp
    )
{
    static const WCHAR Empty[1] = { 0 };

    UNREFERENCED_PARAMETER(DbgHelp);
    return Empty;
}

//
// Is not called: there is no library.
// Returns the number of names that are missing: all.
//

ULONG
RtlLoadSymbols(
    HMODULE Module,
    const PCSZ *Names,
    PVOID *Pointers,
    ULONG NumberOfNames,
    PULONG FirstMissing
    )
{
    UNREFERENCED_PARAMETER(Module);
    UNREFERENCED_PARAMETER(Names);
    UNREFERENCED_PARAMETER(Pointers);
    UNREFERENCED_PARAMETER(FirstMissing);
    return NumberOfNames;
}

//
// Stands in for the environment: it is empty.
// Returns STATUS_NOT_FOUND.
//

NTSTATUS
RtlQueryEnvironment(
    PCRTL Rtl,
    PCWSTR Name,
    PWCHAR Buffer,
    ULONG CapacityInChars,
    PUNICODE_STRING Value
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(Buffer);
    UNREFERENCED_PARAMETER(CapacityInChars);
    UNREFERENCED_PARAMETER(Value);
    return STATUS_NOT_FOUND;
}

//
// Is not called: there is no session.
// Returns FALSE.
//

BOOLEAN
SymbolFindDbgHelpSymbol(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SYMBOL Symbol,
    PBOOLEAN IsFunction
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
    UNREFERENCED_PARAMETER(Rva);
    UNREFERENCED_PARAMETER(Symbol);
    UNREFERENCED_PARAMETER(IsFunction);
    return FALSE;
}

//
// Is not called: there is no session.
// Returns FALSE.
//

BOOLEAN
SymbolFindDbgHelpLine(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SOURCE_LINE Line
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
    UNREFERENCED_PARAMETER(Rva);
    UNREFERENCED_PARAMETER(Line);
    return FALSE;
}

//
// Has nothing to do.
// DbgHelp: NULL.
//

VOID
SymbolDestroyDbgHelp(
    PREADER_DBGHELP DbgHelp
    )
{
    UNREFERENCED_PARAMETER(DbgHelp);
}

//
// The arguments of the program.
//

typedef struct _FUZZ_COMMAND {
    RTL_ARGUMENT Arguments[FUZZ_MAXIMUM_ARGUMENTS + 3];
    ULONG Count;
    WCHAR Wide[512];
    CHAR Utf8[512];
    ULONG Used;                     // of both
} FUZZ_COMMAND;
typedef FUZZ_COMMAND *PFUZZ_COMMAND;

//
// What is written: it is kept until it is looked at.
//

typedef struct _FUZZ_OUTPUT {
    RTL_WRITER Writer;
    CHAR Buffer[512];
    SIZE_T Length;
    CHAR Text[FUZZ_OUTPUT_SIZE];
} FUZZ_OUTPUT;
typedef FUZZ_OUTPUT *PFUZZ_OUTPUT;

static FUZZ_OUTPUT FuzzOutput;
static FUZZ_OUTPUT FuzzErrors;

//
// Takes what was written; what does not fit is dropped.
// Writer: the writer, which is the first of its output.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzFlush(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    PFUZZ_OUTPUT Output = (PFUZZ_OUTPUT)(PVOID)Writer;

    FuzzSpendWork(SizeInBytes);
    if (SizeInBytes > FUZZ_OUTPUT_SIZE - Output->Length) {
        SizeInBytes = (ULONG)(FUZZ_OUTPUT_SIZE - Output->Length);
    }

    memcpy(Output->Text + Output->Length, Bytes, SizeInBytes);
    Output->Length += SizeInBytes;
    return STATUS_SUCCESS;
}

//
// Checks that what was written is text without control characters: it goes to
// terminals.
// Output: what was written, not CSV, which has a text's bytes as they are.
//

static
VOID
FuzzCheckOutput(
    const FUZZ_OUTPUT *Output
    )
{
    SIZE_T Index;

    for (Index = 0; Index < Output->Length; Index++) {
        FUZZ_CHECK((UCHAR)Output->Text[Index] >= 0x20 ||
                   Output->Text[Index] == '\n');
        FUZZ_CHECK(Output->Text[Index] != 0x7F);
        FUZZ_CHECK((UCHAR)Output->Text[Index] != 0xC2 ||
                   Index + 1 == Output->Length ||
                   (UCHAR)Output->Text[Index + 1] >= 0xA0);
    }
}

//
// Says whether a command has an argument.
//

static
BOOLEAN
FuzzHasArgument(
    const FUZZ_COMMAND *Command,
    PCSZ Text
    )
{
    ULONG Index;

    for (Index = 0; Index < Command->Count; Index++) {
        if (strcmp(Command->Arguments[Index].Utf8, Text) == 0) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Makes an output.
//

static
VOID
FuzzInitializeOutput(
    PFUZZ_OUTPUT Output
    )
{
    RtlInitializeBufferWriter(&Output->Writer,
                              Output->Buffer,
                              sizeof(Output->Buffer));
    Output->Writer.Flush = FuzzFlush;
    Output->Length = 0;
}

//
// What no directory has: an empty name, and one that is there twice.
//

static
BOOLEAN
FuzzIsTaken(
    ULONG Number
    )
{
    const FUZZ_FILE *File = &FuzzWorld.Files[Number];
    ULONG Index;

    for (Index = 0; Index < Number; Index++) {
        if (FuzzWorld.Files[Index].NameLength == File->NameLength &&
            memcmp(FuzzWorld.Files[Index].Name,
                   File->Name,
                   File->NameLength * sizeof(WCHAR)) == 0) {
            return TRUE;
        }
    }

    return File->NameLength == 0;
}

//
// Adds a file to the session: FUZZ_FILE_* (1 byte), the length of the name (1
// byte), the name, the contents: what FuzzMakeStore takes, or a length (2
// bytes) and bytes.
//

static
VOID
FuzzAddFile(
    PFUZZ_INPUT Input
    )
{
    static const CHAR Image[] = "Program.exe";
    static const CHAR Cache[] = "symbols.cache";
    static const CHAR Suffix[] = ".trace";
    PFUZZ_FILE File = &FuzzWorld.Files[FuzzWorld.NumberOfFiles];
    PTRACE_STORE_HEADER Header;
    const UCHAR *Bytes;
    ULONG Index;
    ULONG Length;

    FuzzWorld.NumberOfFiles += 1;
    memset(File, 0, sizeof(*File));
    File->Flags = (ULONG)FuzzTake(Input, 1);
    Length = (ULONG)FuzzTake(Input, 1) & 31;
    for (Index = 0; Index < Length; Index++) {
        File->Name[Index] = (WCHAR)FuzzTake(
            Input,
            (File->Flags & FUZZ_FILE_IS_WIDE) != 0 ? 2 : 1);
    }

    if ((File->Flags & FUZZ_FILE_HAS_SUFFIX) != 0) {
        for (Index = 0; Suffix[Index] != 0; Index++) {
            File->Name[Length] = (WCHAR)Suffix[Index];
            Length += 1;
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_IMAGE) != 0) {
        for (Length = 0; Image[Length] != 0; Length++) {
            File->Name[Length] = (WCHAR)Image[Length];
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_CACHE) != 0) {
        for (Length = 0; Cache[Length] != 0; Length++) {
            File->Name[Length] = (WCHAR)Cache[Length];
        }
    }

    //
    // What no directory has: an empty name, and one that is there twice.
    //

    if (Length == 0) {
        File->Name[0] = L'x';
        Length = 1;
    }

    File->NameLength = Length;
    for (Index = 0; Index + 1 < FuzzWorld.NumberOfFiles; Index++) {
        if (FuzzWorld.Files[Index].NameLength == Length &&
            memcmp(FuzzWorld.Files[Index].Name,
                   File->Name,
                   Length * sizeof(WCHAR)) == 0) {
            File->Name[0] = (WCHAR)(File->Name[0] + 0x100 *
                                    FuzzWorld.NumberOfFiles);
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_MADE) != 0) {

        File->Size = FuzzMakeStore(Input, &File->Bytes);
        Header = (PTRACE_STORE_HEADER)(PVOID)File->Bytes;
        File->Cursor = Header->Cursor;
        File->FirstPosition = Header->FirstPosition;
        if ((FuzzWorld.Flags & FUZZ_SESSION_SEVERAL) != 0) {
            Header->ProcessId += (FuzzWorld.NumberOfFiles - 1) %
                                 FUZZ_DIRECTORIES;
        }
        if ((File->Flags & FUZZ_FILE_GROWS) != 0) {
            Header->Cursor -= (File->Size - sizeof(*Header)) / 32 * 16;
            if (Header->RingSizeInBytes != 0 &&
                Header->FirstPosition > Header->RingFileOffset) {
                Header->FirstPosition -= Header->RingFileOffset;
            }
            Header->State = TRACE_STATE_OPEN;
            Header->Reason = TRACE_REASON_NONE;
        }
        return;
    }

    File->Flags &= ~(ULONG)FUZZ_FILE_GROWS;
    File->Size = (SIZE_T)FuzzTake(Input, 2);
    Bytes = FuzzTakeBytes(Input, &File->Size);
    File->Bytes = (PUCHAR)malloc(File->Size == 0 ? 1 : File->Size);
    if (File->Bytes == NULL) {
        abort();
    }
    memcpy(File->Bytes, Bytes, File->Size);
}

//
// Adds the files of a whole session.  The process is the one that its first
// store is of.
//

static
VOID
FuzzAddReal(
    const UCHAR *Data,
    SIZE_T Size,
    PUCHAR Line
    )
{
    static FUZZ_REAL_SESSION Session;
    PFUZZ_REAL_FILE Real;
    PFUZZ_FILE File;
    ULONGLONG Time;
    ULONG Index;
    ULONG Number;

    FuzzDecodeReal(Data, Size, &Session);
    *Line = Session.Head[FUZZ_REAL_HEAD - 1];
    for (Number = 0; Number < Session.NumberOfFiles; Number++) {

        Real = &Session.Files[Number];
        File = &FuzzWorld.Files[Number];
        File->Flags = (Real->Flags & FUZZ_REAL_IS_LATE) != 0
                          ? FUZZ_FILE_IS_LATE
                          : 0;
        if (FuzzHasSuffix(Real, ".trace") || FuzzHasSuffix(Real, ".exe") ||
            FuzzHasSuffix(Real, ".control")) {
            File->Flags |= FUZZ_FILE_IS_KEPT;
        }

        for (Index = 0; Index < Real->NameLength; Index++) {
            File->Name[Index] = (UCHAR)Real->Name[Index];
        }

        File->NameLength = Real->NameLength;
        if (FuzzIsTaken(Number)) {
            File->Name[0] = (WCHAR)(0x100 + Number);
            File->NameLength += File->NameLength == 0;
        }

        if (FuzzWorld.CreationTime == FUZZ_PROCESS_CREATION_TIME &&
            FuzzHasSuffix(Real, ".trace") &&
            Real->Size >= sizeof(TRACE_STORE_HEADER)) {
            memcpy(&Time,
                   Real->Bytes + offsetof(TRACE_STORE_HEADER,
                                          ProcessCreationTime),
                   sizeof(Time));
            if (Time < FUZZ_MAXIMUM_TIME) {
                FuzzWorld.CreationTime = (LONGLONG)Time;
            }
        }

        File->Bytes = Real->Bytes;
        File->Size = Real->Size;
        FuzzWorld.NumberOfFiles += 1;
    }
}

STRING_TABLE_SEARCH __real_StringTableSearch;
STRING_TABLE_SEARCH __wrap_StringTableSearch;

//
// Searches with a copy of the string that has something around it: a table
// reads beyond a string, though not beyond its pages, which the sanitizer
// takes for an error.
//
// Returns as StringTableSearch.
//

uint32_t
STRING_TABLE_CALL
__wrap_StringTableSearch(
    PCSTRING_TABLE Table,
    const void *String,
    uint32_t LengthInBytes
    )
{
    PUCHAR Copy;
    uint32_t Found;

    Copy = (PUCHAR)malloc((SIZE_T)LengthInBytes + 2 * FUZZ_AROUND_STRING);
    if (Copy == NULL) {
        abort();
    }

    memset(Copy, 'P', (SIZE_T)LengthInBytes + 2 * FUZZ_AROUND_STRING);
    memcpy(Copy + FUZZ_AROUND_STRING, String, LengthInBytes);
    Found = __real_StringTableSearch(Table,
                                     Copy + FUZZ_AROUND_STRING,
                                     LengthInBytes);
    free(Copy);
    return Found;
}

//
// The page of the HTML export, which an assembly source has, is a short one
// here.
//

const CHAR ReaderHtmlHead[] = "<html>";
const ULONG ReaderHtmlHeadSize = 6;
const CHAR ReaderHtmlTail[] = "</html>";
const ULONG ReaderHtmlTailSize = 7;

//
// Commands and their options, as they are typed.
//

static const PCSZ FuzzLines[] = {
    "info", "info --csv", "info --json",
    "report", "report --csv", "report --json", "report --sort name",
    "report --limit 3", "report --thread 5678", "report --module p",
    "tree", "tree --csv", "tree --json", "tree --depth 2", "tree --limit 4",
    "tree --per-thread",
    "replay", "replay --csv", "replay --json", "replay --limit 9",
    "replay --thread 5678",
    "verify", "verify --csv", "verify --json",
    "live --count 3 --interval 50",
    "live --count 2 --interval 50 --limit 2",
    "report --sort self --module program --csv", "report --sort calls",
    "report --sort min", "report --sort max", "report --sort average",
    "report --sort other", "tree --depth 0", "replay --thread x",
    "live --interval 5", "report --csv --json", "report --limit",
    "info info", "other", "--help", "help report", "tree --help",
};

//
// The same for commands about single calls, for first bytes from FUZZ_CALLS
// on.  A function's name follows where one is needed, and diff compares the
// session with itself.
//

#define FUZZ_CALLS 0xC0
#define FUZZ_RANGED                                                         \
    " replay report outliers callers callees threads modules tree "

static const PCSZ FuzzCallLines[] = {
    "outliers", "outliers --csv", "outliers --json --limit 3",
    "outliers --thread 5678 --limit 1", "callers", "callers --csv --depth 7",
    "callees", "callees --json --sort self --limit 2", "threads",
    "threads --json --sort name", "modules", "modules --csv --sort calls",
    "diff", "diff --json --sort total", "report --percentiles",
    "report --by process", "report --by process --json --process 1235",
    "sessions", "sessions --csv", "threads --process program",
};

//
// Adds an argument of ASCII text.
// Text, Length: the argument; what cannot be printed becomes a letter.
//

static
VOID
FuzzAddArgument(
    PFUZZ_COMMAND Command,
    const CHAR *Text,
    ULONG Length
    )
{
    ULONG Character;
    ULONG Index;

    if (Command->Used + Length + 1 > sizeof(Command->Utf8) ||
        Command->Count > FUZZ_MAXIMUM_ARGUMENTS + 1) {
        return;
    }

    Command->Arguments[Command->Count].Wide = Command->Wide + Command->Used;
    Command->Arguments[Command->Count].Utf8 = Command->Utf8 + Command->Used;
    Command->Count += 1;
    for (Index = 0; Index < Length; Index++) {
        Character = (UCHAR)Text[Index];
        if (Character < 0x20 || Character >= 0x7F) {
            Character = (Character & 0x1F) | 0x40;
        }

        Command->Utf8[Command->Used] = (CHAR)Character;
        Command->Wide[Command->Used] = (WCHAR)Character;
        Command->Used += 1;
    }

    Command->Utf8[Command->Used] = 0;
    Command->Wide[Command->Used] = 0;
    Command->Used += 1;
}

//
// Makes the arguments but for the path.
// Input: arguments if the line has none: their number, and each one's length
// and text.
// First: the first byte: which line.
//

static
VOID
FuzzMakeCommand(
    PFUZZ_INPUT Input,
    ULONG First,
    PFUZZ_COMMAND Command
    )
{
    const UCHAR *Bytes;
    PCSZ Text = NULL;
    SIZE_T Length;
    ULONG Count;
    ULONG Line = First % (RTL_NUMBER_OF(FuzzLines) + 1);

    memset(Command, 0, sizeof(*Command));
    FuzzAddArgument(Command, "TraceReader", 11);

    if (FuzzWorld.IsReal) {
        Text = FuzzRealLines[First % FuzzNumberOfRealLines];
    } else if (First >= FUZZ_CALLS) {
        Text = FuzzCallLines[(First - FUZZ_CALLS) %
                             RTL_NUMBER_OF(FuzzCallLines)];
    } else if (Line < RTL_NUMBER_OF(FuzzLines)) {
        Text = FuzzLines[Line];
    }

    if (Text != NULL) {
        for (; *Text != 0; Text += Length) {
            Text += *Text == ' ';
            Length = strcspn(Text, " ");
            FuzzAddArgument(Command, Text, (ULONG)Length);
        }
        return;
    }

    for (Count = (ULONG)FuzzTake(Input, 1) % FUZZ_TAKEN_ARGUMENTS;
         Count != 0;
         Count--) {
        Length = (SIZE_T)FuzzTake(Input, 1) & 31;
        Bytes = FuzzTakeBytes(Input, &Length);
        FuzzAddArgument(Command, (const CHAR *)Bytes, (ULONG)Length);
    }

    //
    // Otherwise it would go on for as long as the program does.
    //

    if (FuzzHasArgument(Command, "live")) {
        FuzzAddArgument(Command, "--count", 7);
        FuzzAddArgument(Command, "3", 1);
    }
}

//
// Is it one of these commands?  Names: each with a blank on either side.
//

static
BOOLEAN
FuzzIsCommand(
    const FUZZ_COMMAND *Command,
    PCSZ Names
    )
{
    CHAR Name[16] = "?";

    if (Command->Count > 1) {
        snprintf(Name, sizeof(Name), " %.12s ", Command->Arguments[1].Utf8);
    }

    return strstr(Names, Name) != NULL;
}

//
// Adds what the session's flags say of indexes and times.
//

static
VOID
FuzzAddRange(
    PFUZZ_COMMAND Command
    )
{
    BOOLEAN IsLive = FuzzHasArgument(Command, "live");

    if (!IsLive && !FuzzIsCommand(Command, FUZZ_RANGED)) {
        return;
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_INDEX) != 0) {
        FuzzAddArgument(Command, "--mark-every", 12);
        FuzzAddArgument(Command, "64", 2);
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_FROM) != 0) {
        if (IsLive) {
            FuzzAddArgument(Command, "--from-start", 12);
        } else {
            FuzzAddArgument(Command, "--from", 6);
            FuzzAddArgument(Command, "1.5us", 5);
        }
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_TO) != 0 && !IsLive) {
        FuzzAddArgument(Command, "--to", 4);
        FuzzAddArgument(Command, "4000", 4);
    }
}

//
// Fills the routines that the reader calls; it would fault in any other.
//

static
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

//
// Adds the name of the function that the session spent most time in.
// Command: the argument.
// IsFailing: whether something is to fail later, and not before: the name is
// then one that there may not be.
//

static
VOID
FuzzAddFunction(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    const CHAR *Path,
    ULONG PathLength,
    BOOLEAN IsFailing
    )
{
    FUZZ_COMMAND Before;
    ULONG Begin;
    ULONG End;

    if (IsFailing) {
        FuzzAddArgument(Command, "p", 1);
        return;
    }

    memset(&Before, 0, sizeof(Before));
    FuzzAddArgument(&Before, "TraceReader", 11);
    FuzzAddArgument(&Before, "report", 6);
    FuzzAddArgument(&Before, "--csv", 5);
    FuzzAddArgument(&Before, "--no-index", 10);
    FuzzAddArgument(&Before, "--limit", 7);
    FuzzAddArgument(&Before, "1", 1);
    FuzzAddArgument(&Before, Path, PathLength);
    FUZZ_CHECK(CommandMain(Context, Before.Arguments, Before.Count) <=
               READER_EXIT_FAILURE);

    //
    // The last field, or the one before a clock's name: what is in quotes is
    // not looked for.
    //

    End = FuzzOutput.Length;
    while (End != 0 && (FuzzOutput.Text[End - 1] == '\n' ||
                        FuzzOutput.Text[End - 1] == '\r')) {
        End -= 1;
    }

    for (Begin = End; Begin != 0 && FuzzOutput.Text[Begin - 1] != ',';
         Begin--) {
    }

    if (Begin != 0 && End - Begin == 6 &&
        memcmp(FuzzOutput.Text + Begin, "thread", 6) == 0) {
        End = Begin - 1;
        for (Begin = End; Begin != 0 && FuzzOutput.Text[Begin - 1] != ',';
             Begin--) {
        }
    }

    FuzzAddArgument(Command, FuzzOutput.Text + Begin, End - Begin);
    FuzzInitializeOutput(&FuzzOutput);
    FuzzInitializeOutput(&FuzzErrors);
    FuzzTimestamp = FUZZ_FIRST_TIMESTAMP;
}

//
// Checks that the general rules alone, and one worker, make what was made.
//

static
VOID
FuzzCheckGeneral(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    ULONG ExitCode
    )
{
    static FUZZ_OUTPUT Output;
    static FUZZ_OUTPUT Errors;
    READER_CONTEXT General = *Context;
    ULONG Count = Command->Count, Used = Command->Used;

    if (!FuzzIsCommand(Command, " outliers ")) {
        FuzzAddArgument(Command, "--workers=1", 11);
    }

    FuzzAddArgument(Command, "--general", 9);
    if (!FuzzHasArgument(Command, "--general")) {
        Command->Count = Count;
        Command->Used = Used;
        return;
    }

    FuzzInitializeOutput(&Output);
    FuzzInitializeOutput(&Errors);
    General.Output = &Output.Writer;
    General.Errors = &Errors.Writer;
    FuzzTimestamp = FUZZ_FIRST_TIMESTAMP;

    FUZZ_CHECK(CommandMain(&General, Command->Arguments, Command->Count) ==
               ExitCode);
    FUZZ_CHECK(Output.Length == FuzzOutput.Length &&
               memcmp(Output.Text, FuzzOutput.Text, Output.Length) == 0);
    FUZZ_CHECK(Errors.Length == FuzzErrors.Length &&
               memcmp(Errors.Text, FuzzErrors.Text, Errors.Length) == 0);

    Command->Count = Count;
    Command->Used = Used;
}

//
// Runs a command with more arguments.
// More: the arguments, with a blank before each.
// Output, Errors: what is written.
//

static
ULONG
FuzzRunAgain(
    PCREADER_CONTEXT Context,
    const FUZZ_COMMAND *Command,
    PCSZ More,
    FUZZ_OUTPUT *Output,
    FUZZ_OUTPUT *Errors
    )
{
    static FUZZ_COMMAND Longer;
    READER_CONTEXT Again = *Context;
    SIZE_T Length;
    ULONG Index;

    memset(&Longer, 0, sizeof(Longer));
    for (Index = 0; Index < Command->Count; Index++) {
        FuzzAddArgument(&Longer,
                        Command->Arguments[Index].Utf8,
                        (ULONG)strlen(Command->Arguments[Index].Utf8));
    }

    for (; *More != 0; More += Length) {
        More += 1;
        Length = strcspn(More, " ");
        FuzzAddArgument(&Longer, More, (ULONG)Length);
    }

    FuzzInitializeOutput(Output);
    FuzzInitializeOutput(Errors);
    Again.Output = &Output->Writer;
    Again.Errors = &Errors->Writer;
    FuzzTimestamp = FUZZ_FIRST_TIMESTAMP;
    return CommandMain(&Again, Longer.Arguments, Longer.Count);
}

//
// Damages an index: a byte somewhere, or one of those that say how much there
// is of something, which are few among so many. Docs/Format.md has the
// offsets.
//

static
VOID
FuzzDamageIndex(
    PFUZZ_FILE File,
    ULONG Seed
    )
{
    static const UCHAR Fields[] = { 8, 56, 60, 64, 68, 72 };
    SIZE_T Place = (Seed >> 8) % File->Size;
    ULONGLONG Last = 0;
    ULONG NumberOfStores;
    ULONG NumberOfChanges;

    if (File->Size >= 64) {
        memcpy(&Last, File->Bytes + 24, sizeof(Last));
    }

    if (Last >= 64 && Last < File->Size && File->Size - Last >= 80) {

        memcpy(&NumberOfStores, File->Bytes + Last + 56, 4);
        memcpy(&NumberOfChanges, File->Bytes + Last + 64, 4);
        switch (Seed >> 4 & 3) {

        case 0:

            //
            // EndOfMarks: the last mark is cut short.
            //

            Last += (Seed >> 8) % (File->Size - Last);
            memcpy(File->Bytes + 32, &Last, sizeof(Last));
            return;

        case 1:
            Place = (SIZE_T)Last + Fields[(Seed >> 8) % sizeof(Fields)];
            break;

        case 2:

            //
            // How many frames a stack has, and the first of them.
            //

            if (NumberOfChanges != 0 && NumberOfStores < 16) {
                Place = (SIZE_T)Last + 80 + 64 * (SIZE_T)NumberOfStores +
                        40 * (SIZE_T)((Seed >> 8) % NumberOfChanges) + 32 +
                        (Seed >> 20 & 4);
            }
            break;

        default:
            break;
        }
    }

    if (Place < File->Size) {
        File->Bytes[Place] ^= (UCHAR)Seed | 1;
    }
}

//
// Checks that a command shows the same when it writes an index, and from a
// time on with that, a report also by the general rules alone; and that it
// does no harm when the index is damaged. Here checksums do not count.
//
// Context: the context, with what was written in the two outputs.
// Command: the command that wrote it.
// ExitCode: what it returned.
// Seed: says which time, and which damage.
// IsOwn: the input has no index.
//

static
VOID
FuzzCheckIndex(
    PCREADER_CONTEXT Context,
    const FUZZ_COMMAND *Command,
    ULONG ExitCode,
    ULONG Seed,
    BOOLEAN IsOwn
    )
{
    static FUZZ_OUTPUT Outputs[2];
    static FUZZ_OUTPUT Errors[2];
    CHAR Options[2][80];
    PFUZZ_FILE File;
    ULONG Time = Seed % 5000;
    ULONG Index;
    ULONG Turn;

    FUZZ_CHECK(FuzzRunAgain(Context,
                            Command,
                            " --mark-every 64",
                            &Outputs[0],
                            &Errors[0]) == ExitCode);
    FUZZ_CHECK(Outputs[0].Length == FuzzOutput.Length &&
               memcmp(Outputs[0].Text,
                      FuzzOutput.Text,
                      FuzzOutput.Length) == 0);

    snprintf(Options[0],
             sizeof(Options[0]),
             " --from %u --no-index%s",
             Time,
             strcmp(Command->Arguments[1].Utf8, "report") == 0
                 ? " --general --workers 1"
                 : "");
    snprintf(Options[1],
             sizeof(Options[1]),
             " --from %u --mark-every 64",
             Time);
    for (Turn = 0; Turn < 4; Turn++) {

        ExitCode = FuzzRunAgain(Context,
                                Command,
                                Options[Turn != 0],
                                &Outputs[Turn != 0],
                                &Errors[Turn != 0]);
        FUZZ_CHECK(ExitCode <= READER_EXIT_NOTHING &&
                   ExitCode != READER_EXIT_BAD);
        if (Turn == 0) {
            continue;
        }

        if (Turn == 1 && IsOwn) {
            FUZZ_CHECK(Outputs[0].Length == Outputs[1].Length &&
                       memcmp(Outputs[0].Text,
                              Outputs[1].Text,
                              Outputs[0].Length) == 0);
            FUZZ_CHECK(Errors[0].Length == Errors[1].Length &&
                       memcmp(Errors[0].Text,
                              Errors[1].Text,
                              Errors[0].Length) == 0);
        }

        for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
            File = &FuzzWorld.Files[Index];
            if (File->Size != 0 &&
                FuzzIsIndex(File->Name, File->NameLength)) {
                Seed = Seed * 1664525 + 1013904223;
                FuzzDamageIndex(File, Seed);
            }
        }
    }
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_ALLOCATOR Allocator;
    FUZZ_INPUT Input = { Data, Size };
    FUZZ_COMMAND Command;
    FUZZ_COMMAND Before;
    READER_CONTEXT Context;
    RTL Rtl;
    CHAR Path[8 + FUZZ_MAXIMUM_NAME];
    ULONG ExitCode;
    ULONG Index;
    ULONG Length;
    ULONG First;
    BOOLEAN IsFailing;
    BOOLEAN IsOwn = TRUE;
    BOOLEAN IsPlain;
    SIZE_T SizeOfFiles = 0;
    UCHAR Line;
    ULONG Seed = 0;

    memset(&FuzzWorld, 0, sizeof(FuzzWorld));
    for (Index = 0; Index < FUZZ_DIRECTORIES; Index++) {
        FuzzWorld.DirectoryNames[Index][0] = L'D';
        FuzzWorld.DirectoryNames[Index][1] = (WCHAR)(L'0' + Index);
    }

    FuzzTimestamp = FUZZ_FIRST_TIMESTAMP;

    First = (ULONG)FuzzTake(&Input, 1);
    FuzzWorld.Flags = (ULONG)FuzzTake(&Input, 1);
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 2));
    FuzzWorld.FailAfter = (ULONG)FuzzTake(&Input, 1);
    IsFailing = FuzzWorld.FailAfter != 0 || Allocator.FailAfter != 0;
    FuzzWorld.CreationTime = FUZZ_PROCESS_CREATION_TIME;
    FuzzWorld.IsReal = First == FUZZ_REAL;
    if (FuzzWorld.IsReal) {
        FuzzAddReal(Data, Size, &Line);
        FuzzMakeCommand(&Input, Line, &Command);
        FuzzAddRange(&Command);
    } else {
        FuzzMakeCommand(&Input, First, &Command);
        FuzzAddRange(&Command);
        while (Input.Left != 0 &&
               FuzzWorld.NumberOfFiles < FUZZ_MAXIMUM_FILES) {
            FuzzAddFile(&Input);
        }
    }

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        SizeOfFiles += FuzzWorld.Files[Index].Size;
    }

    FuzzBeginWork(FUZZ_WORK + FUZZ_WORK_OF_BYTE * SizeOfFiles);
    Allocator.MaximumSize = FUZZ_MEMORY + FUZZ_MEMORY_OF_BYTE * SizeOfFiles;

    memcpy(Path, "\\??\\S", 5);
    Length = 5;
    if ((FuzzWorld.Flags & FUZZ_SESSION_ONE_STORE) != 0 &&
        FuzzWorld.NumberOfFiles != 0) {
        Path[5] = '\\';
        Length = 6;
        for (Index = 0; Index < FuzzWorld.Files[0].NameLength; Index++) {
            Path[Length] = (CHAR)FuzzWorld.Files[0].Name[Index];
            Length += 1;
        }
    }

    FuzzInitializeRtl(&Rtl);
    FuzzInitializeOutput(&FuzzOutput);
    FuzzInitializeOutput(&FuzzErrors);
    Context.Rtl = &Rtl;
    Context.Allocator = &Allocator.Allocator;
    Context.Output = &FuzzOutput.Writer;
    Context.Errors = &FuzzErrors.Writer;
    Context.NumberOfProcessors = 2;

    if (FuzzHasArgument(&Command, "diff")) {
        FuzzAddArgument(&Command, Path, Length);
    } else if (FuzzHasArgument(&Command, "outliers") ||
               FuzzHasArgument(&Command, "callers") ||
               FuzzHasArgument(&Command, "callees")) {
        FuzzAddFunction(&Context, &Command, Path, Length, IsFailing);
    }

    FuzzAddArgument(&Command, Path, Length);

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        if (FuzzIsIndex(FuzzWorld.Files[Index].Name,
                        FuzzWorld.Files[Index].NameLength)) {
            IsOwn = FALSE;
        }
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_INDEX) != 0 && !IsFailing) {
        memset(&Before, 0, sizeof(Before));
        FuzzAddArgument(&Before, "TraceReader", 11);
        FuzzAddArgument(&Before, "report", 6);
        FuzzAddArgument(&Before, "--mark-every", 12);
        FuzzAddArgument(&Before, "64", 2);
        FuzzAddArgument(&Before, Path, Length);
        ExitCode = CommandMain(&Context, Before.Arguments, Before.Count);
        FUZZ_CHECK(ExitCode <= READER_EXIT_FAILURE);
        FuzzInitializeOutput(&FuzzOutput);
        FuzzInitializeOutput(&FuzzErrors);
        FuzzTimestamp = FUZZ_FIRST_TIMESTAMP;
    }

    ExitCode = CommandMain(&Context, Command.Arguments, Command.Count);

    IsPlain = !IsFailing && !FuzzHasArgument(&Command, "--verbose") &&
              !FuzzHasArgument(&Command, "--");
    if (IsPlain && IsOwn &&
        FuzzIsCommand(&Command, " report tree callers callees outliers ")) {
        FuzzCheckGeneral(&Context, &Command, ExitCode);
    }

    if (IsPlain && (FuzzWorld.Flags & FUZZ_SESSION_ONE_STORE) == 0 &&
        FuzzIsCommand(&Command, FUZZ_RANGED)) {
        for (Index = 0; Index < Size; Index++) {
            Seed = Seed * 31 + Data[Index];
        }
        FuzzCheckIndex(&Context, &Command, ExitCode, Seed, IsOwn);
    }

    (VOID)FuzzEndWork();
    FUZZ_CHECK(ExitCode <= READER_EXIT_NOTHING);
    FUZZ_CHECK(ExitCode != READER_EXIT_BAD ||
               FuzzHasArgument(&Command, "verify") ||
               FuzzHasArgument(&Command, "recover"));
    FUZZ_CHECK(Allocator.Count == 0);
    FUZZ_CHECK(FuzzWorld.NumberOfHandles == 0);
    FUZZ_CHECK(FuzzWorld.NumberOfPages == 0);
    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {
        FUZZ_CHECK(FuzzWorld.Views[Index].Address == NULL);
    }

    if (!FuzzHasArgument(&Command, "--csv")) {
        FuzzCheckOutput(&FuzzOutput);
    }

    FuzzCheckOutput(&FuzzErrors);

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        free(FuzzWorld.Files[Index].Bytes);
    }

    return 0;
}

/*++

Module Name:

    RtlFile.c

Abstract:

    Files, sections over files, and directories, through the NT routines.

--*/

#include "Rtl.h"

#define RTLP_CURRENT_PROCESS ((HANDLE)(LONG_PTR)-1)

//
// Views begin at multiples of this, in the file and in memory.
//

#define RTLP_ALLOCATION_GRANULARITY 0x10000

//
// Entries of a directory are read into this much of the stack.  It holds one
// entry with the longest name that NT's file systems have, 255 units.
//

#define RTLP_DIRECTORY_BUFFER_IN_BYTES 1024

//
// How many directories are created for one path.  Nobody has as many on
// purpose, and a value of the environment may name thousands, each of which
// takes the longer the deeper it is.
//

#define RTLP_MAXIMUM_MISSING_DIRECTORIES 256

//
// The structures of the information classes, which the Windows SDK leaves to
// the WDK (ntifs.h).
//

typedef struct _RTLP_FILE_STANDARD_INFORMATION {
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER EndOfFile;
    ULONG NumberOfLinks;
    BOOLEAN DeletePending;
    BOOLEAN Directory;
} RTLP_FILE_STANDARD_INFORMATION;
C_ASSERT(sizeof(RTLP_FILE_STANDARD_INFORMATION) == 24);

typedef struct _RTLP_FILE_DIRECTORY_INFORMATION {
    ULONG NextEntryOffset;          // in bytes, 0 for the last entry
    ULONG FileIndex;
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    LARGE_INTEGER EndOfFile;
    LARGE_INTEGER AllocationSize;
    ULONG FileAttributes;
    ULONG FileNameLength;           // in bytes
    WCHAR FileName[1];
} RTLP_FILE_DIRECTORY_INFORMATION;
typedef const RTLP_FILE_DIRECTORY_INFORMATION
    *PCRTLP_FILE_DIRECTORY_INFORMATION;
C_ASSERT(FIELD_OFFSET(RTLP_FILE_DIRECTORY_INFORMATION, FileName) == 64);
C_ASSERT(FIELD_OFFSET(RTLP_FILE_DIRECTORY_INFORMATION, FileName) +
         255 * sizeof(WCHAR) <= RTLP_DIRECTORY_BUFFER_IN_BYTES);

//
// Opens or creates a file or a directory for synchronous use.
// NtPath: its NT name; case does not matter.
// DesiredAccess: the access that the handle is to have.
// ShareAccess: what others may do meanwhile.
// Options: FILE_DIRECTORY_FILE or FILE_NON_DIRECTORY_FILE.
// Handle: the handle; not written on failure.
// Returns the status of NtCreateFile.
//

static
_Must_inspect_result_
NTSTATUS
RtlpCreate(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ACCESS_MASK DesiredAccess,
    _In_ ULONG ShareAccess,
    _In_ ULONG Disposition,
    _In_ ULONG Options,
    _Out_ PHANDLE Handle
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    HANDLE File = NULL;
    NTSTATUS Status;

    InitializeObjectAttributes(&Attributes,
                               (PUNICODE_STRING)NtPath,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);

    //
    // What is opened keeps the descriptor that it has.
    //

    if (Disposition != FILE_OPEN) {
        Attributes.SecurityDescriptor = (Options & FILE_DIRECTORY_FILE) != 0 ?
                                        Rtl->DirectorySecurity :
                                        Rtl->FileSecurity;
    }

    Status = Rtl->NtCreateFile(&File,
                               DesiredAccess | SYNCHRONIZE,
                               &Attributes,
                               &IoStatus,
                               NULL,
                               FILE_ATTRIBUTE_NORMAL,
                               ShareAccess,
                               Disposition,
                               Options | FILE_SYNCHRONOUS_IO_NONALERT,
                               NULL,
                               0);
    if (NT_SUCCESS(Status)) {
        *Handle = File;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlOpenFileForReading(
    PCRTL Rtl,
    PCUNICODE_STRING NtPath,
    PHANDLE File
    )
/*++

Routine Description:

    Opens an existing file for reading and shares everything.

Arguments:

    Rtl - Supplies the RTL.

    NtPath - Supplies the file's NT name.

    File - Receives the handle.

Return Value:

    The status of NtCreateFile.

--*/
{
    return RtlpCreate(Rtl,
                      NtPath,
                      FILE_GENERIC_READ,
                      FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                      FILE_OPEN,
                      FILE_NON_DIRECTORY_FILE,
                      File);
}

_Use_decl_annotations_
NTSTATUS
RtlCreateFile(
    PCRTL Rtl,
    PCUNICODE_STRING NtPath,
    ULONG Disposition,
    PHANDLE File
    )
/*++

Routine Description:

    Creates or opens a file for reading and writing.

Arguments:

    Rtl - Supplies the RTL.

    NtPath - Supplies the file's NT name.

    Disposition - Supplies RTL_CREATE_NEW, RTL_OPEN_ALWAYS or
        RTL_CREATE_ALWAYS.

    File - Receives the handle.

Return Value:

    The status of NtCreateFile.

--*/
{
    return RtlpCreate(Rtl,
                      NtPath,
                      FILE_GENERIC_READ | FILE_GENERIC_WRITE,
                      FILE_SHARE_READ | FILE_SHARE_DELETE,
                      Disposition,
                      FILE_NON_DIRECTORY_FILE,
                      File);
}

_Use_decl_annotations_
NTSTATUS
RtlReadFile(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG FileOffset,
    PVOID Buffer,
    ULONG SizeInBytes,
    PULONG ReadInBytes
    )
/*++

Routine Description:

    Reads from a file.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    FileOffset - Supplies where to begin, in bytes.

    Buffer - Receives the bytes.

    SizeInBytes - Supplies how many are wanted.

    ReadInBytes - Receives how many there were, 0 on failure.

Return Value:

    STATUS_SUCCESS, also when the file ended before SizeInBytes.

    STATUS_END_OF_FILE - FileOffset is at the file's end or behind it.

    STATUS_INVALID_PARAMETER - FileOffset is 2^63 or more.

    Or another status of NtReadFile.

--*/
{
    IO_STATUS_BLOCK IoStatus;
    LARGE_INTEGER ByteOffset;
    NTSTATUS Status;

    *ReadInBytes = 0;

    //
    // Negative offsets have meanings of their own.
    //

    if (FileOffset > INT64_MAX) {
        return STATUS_INVALID_PARAMETER;
    }

    ByteOffset.QuadPart = (LONGLONG)FileOffset;
    IoStatus.Information = 0;

    Status = Rtl->NtReadFile(File,
                             NULL,
                             NULL,
                             NULL,
                             &IoStatus,
                             Buffer,
                             SizeInBytes,
                             &ByteOffset,
                             NULL);
    if (NT_SUCCESS(Status)) {
        *ReadInBytes = (ULONG)IoStatus.Information;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlWriteFile(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG FileOffset,
    const VOID *Buffer,
    ULONG SizeInBytes
    )
/*++

Routine Description:

    Writes all of a buffer to a file.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    FileOffset - Supplies where to begin, in bytes.

    Buffer - Supplies the bytes.

    SizeInBytes - Supplies their number.

Return Value:

    STATUS_SUCCESS - All is written.

    STATUS_INVALID_PARAMETER - The end is at 2^63 or more.

    STATUS_DISK_FULL - The file took none of the bytes and gave no reason.

    Or another status of NtWriteFile.

--*/
{
    IO_STATUS_BLOCK IoStatus;
    LARGE_INTEGER ByteOffset;
    const BYTE *Bytes = (const BYTE *)Buffer;
    NTSTATUS Status;

    if (FileOffset > (ULONGLONG)INT64_MAX - SizeInBytes) {
        return STATUS_INVALID_PARAMETER;
    }

    while (SizeInBytes != 0) {

        ByteOffset.QuadPart = (LONGLONG)FileOffset;
        IoStatus.Information = 0;

        Status = Rtl->NtWriteFile(File,
                                  NULL,
                                  NULL,
                                  NULL,
                                  &IoStatus,
                                  (PVOID)Bytes,
                                  SizeInBytes,
                                  &ByteOffset,
                                  NULL);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (IoStatus.Information == 0 || IoStatus.Information > SizeInBytes) {
            return STATUS_DISK_FULL;
        }

        Bytes += IoStatus.Information;
        FileOffset += IoStatus.Information;
        SizeInBytes -= (ULONG)IoStatus.Information;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
RtlQueryFileSize(
    PCRTL Rtl,
    HANDLE File,
    PULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Asks for a file's size.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    SizeInBytes - Receives the size; not written on failure.

Return Value:

    The status of NtQueryInformationFile.

--*/
{
    IO_STATUS_BLOCK IoStatus;
    RTLP_FILE_STANDARD_INFORMATION Information;
    NTSTATUS Status;

    Status = Rtl->NtQueryInformationFile(File,
                                         &IoStatus,
                                         &Information,
                                         sizeof(Information),
                                         RTL_FILE_STANDARD_INFORMATION);
    if (NT_SUCCESS(Status)) {
        *SizeInBytes = (ULONGLONG)Information.EndOfFile.QuadPart;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlSetFileSize(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Cuts a file or extends it with zeros.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file, opened for writing.

    SizeInBytes - Supplies the new size.

Return Value:

    The status of NtSetInformationFile, or STATUS_INVALID_PARAMETER if the size
    is 2^63 or more.

--*/
{
    IO_STATUS_BLOCK IoStatus;
    LARGE_INTEGER EndOfFile;

    if (SizeInBytes > INT64_MAX) {
        return STATUS_INVALID_PARAMETER;
    }

    EndOfFile.QuadPart = (LONGLONG)SizeInBytes;

    return Rtl->NtSetInformationFile(File,
                                     &IoStatus,
                                     &EndOfFile,
                                     sizeof(EndOfFile),
                                     RTL_FILE_END_OF_FILE_INFORMATION);
}

_Use_decl_annotations_
NTSTATUS
RtlCreateFileSection(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG SizeInBytes,
    BOOLEAN Writable,
    PHANDLE Section
    )
/*++

Routine Description:

    Creates a section over a file.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    SizeInBytes - Supplies the section's size, or 0 for the file's.  A writable
        section extends a shorter file.

    Writable - Supplies TRUE for views that can be written.

    Section - Receives the section; not written on failure.

Return Value:

    The status of NtCreateSection (STATUS_MAPPED_FILE_SIZE_ZERO for an empty
    file), or STATUS_INVALID_PARAMETER if the size is 2^63 or more.

--*/
{
    LARGE_INTEGER MaximumSize;
    HANDLE Handle = NULL;
    ACCESS_MASK Access = SECTION_QUERY | SECTION_MAP_READ;
    ULONG Protection = PAGE_READONLY;
    NTSTATUS Status;

    if (SizeInBytes > INT64_MAX) {
        return STATUS_INVALID_PARAMETER;
    }

    if (Writable) {
        Access |= SECTION_MAP_WRITE;
        Protection = PAGE_READWRITE;
    }

    MaximumSize.QuadPart = (LONGLONG)SizeInBytes;

    Status = Rtl->NtCreateSection(&Handle,
                                  Access,
                                  NULL,
                                  (SizeInBytes != 0) ? &MaximumSize : NULL,
                                  Protection,
                                  SEC_COMMIT,
                                  File);
    if (NT_SUCCESS(Status)) {
        *Section = Handle;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlMapFileSection(
    PCRTL Rtl,
    HANDLE Section,
    ULONGLONG FileOffset,
    SIZE_T SizeInBytes,
    BOOLEAN Writable,
    PVOID Address,
    PVOID *View
    )
/*++

Routine Description:

    Maps a view of a section into this process.

Arguments:

    Rtl - Supplies the RTL.

    Section - Supplies the section.

    FileOffset - Supplies where the view begins in the file, a multiple of 64
        KiB.

    SizeInBytes - Supplies the view's size, or 0 for all up to the section's
        end.

    Writable - Supplies TRUE for a view that can be written.

    Address - Optionally supplies the view's address, a multiple of 64 KiB.

    View - Receives the view; not written on failure.

Return Value:

    STATUS_SUCCESS.

    STATUS_CONFLICTING_ADDRESSES - There is no room at Address.

    STATUS_MAPPED_ALIGNMENT - FileOffset or Address is no multiple of 64 KiB.

    Or another status of NtMapViewOfSection.

--*/
{
    LARGE_INTEGER SectionOffset;
    PVOID BaseAddress = Address;
    SIZE_T ViewSize = SizeInBytes;
    NTSTATUS Status;

    //
    // The system would round some of these down instead of refusing them.
    //

    if (FileOffset % RTLP_ALLOCATION_GRANULARITY != 0 ||
        (ULONG_PTR)Address % RTLP_ALLOCATION_GRANULARITY != 0) {
        return STATUS_MAPPED_ALIGNMENT;
    }

    SectionOffset.QuadPart = (LONGLONG)FileOffset;

    Status = Rtl->NtMapViewOfSection(Section,
                                     RTLP_CURRENT_PROCESS,
                                     &BaseAddress,
                                     0,
                                     0,
                                     &SectionOffset,
                                     &ViewSize,
                                     RTL_VIEW_UNMAP,
                                     0,
                                     Writable ? PAGE_READWRITE :
                                                PAGE_READONLY);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Address != NULL && BaseAddress != Address) {
        RtlUnmapFileSection(Rtl, BaseAddress);
        return STATUS_CONFLICTING_ADDRESSES;
    }

    *View = BaseAddress;
    return Status;
}

_Use_decl_annotations_
VOID
RtlUnmapFileSection(
    PCRTL Rtl,
    PVOID View
    )
/*++

Routine Description:

    Unmaps a view.

Arguments:

    Rtl - Supplies the RTL.

    View - Supplies the view, or NULL.

Return Value:

    None.

--*/
{
    if (View != NULL) {
        Rtl->NtUnmapViewOfSection(RTLP_CURRENT_PROCESS, View);
    }
}

//
// Measures the part of a path in which no directory can be created: the
// volume, or the server and the share.
// Returns the length in 16-bit units, without the backslash behind it; 0 if
// the path does not begin with \??\.
//

static
ULONG
RtlpRootLength(
    _In_ PCUNICODE_STRING NtPath
    )
{
    PCWSTR Path = NtPath->Buffer;
    ULONG Length = NtPath->Length / sizeof(WCHAR);
    ULONG Index = 4;
    ULONG NumberOfComponents = 1;

    if (Length < 4 ||
        Path[0] != L'\\' ||
        Path[1] != L'?' ||
        Path[2] != L'?' ||
        Path[3] != L'\\') {
        return 0;
    }

    if (Length >= 8 &&
        (Path[4] | 0x20) == L'u' &&
        (Path[5] | 0x20) == L'n' &&
        (Path[6] | 0x20) == L'c' &&
        Path[7] == L'\\') {
        NumberOfComponents = 3;
    }

    for (; Index < Length; Index++) {
        if (Path[Index] == L'\\') {
            NumberOfComponents--;
            if (NumberOfComponents == 0) {
                break;
            }
        }
    }

    return Index;
}

//
// Creates a directory whose parent is there, or finds it there.
// LengthInChars: how much of it names the directory, in 16-bit units.
// Returns the status of NtCreateFile.
//

static
_Must_inspect_result_
NTSTATUS
RtlpCreateOneDirectory(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ULONG LengthInChars
    )
{
    UNICODE_STRING Name;
    HANDLE Directory;
    NTSTATUS Status;

    RtlPointUnicodeString(&Name, NtPath->Buffer, LengthInChars);

    //
    // Reading attributes is what nearly everybody may do with a directory that
    // is there already.
    //

    Status = RtlpCreate(Rtl,
                        &Name,
                        FILE_READ_ATTRIBUTES,
                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                        FILE_OPEN_IF,
                        FILE_DIRECTORY_FILE,
                        &Directory);
    if (NT_SUCCESS(Status)) {
        RtlClose(Rtl, Directory);
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlCreateDirectory(
    PCRTL Rtl,
    PCUNICODE_STRING NtPath
    )
/*++

Routine Description:

    Creates a directory and every missing one above it.

Arguments:

    Rtl - Supplies the RTL.

    NtPath - Supplies the directory's NT name; it may end with a backslash.

Return Value:

    STATUS_SUCCESS if the directory is there now; STATUS_NAME_TOO_LONG if more
    than RTLP_MAXIMUM_MISSING_DIRECTORIES above it are missing; otherwise the
    status of NtCreateFile for the first directory that could not be had.

--*/
{
    ULONG RootLength = RtlpRootLength(NtPath);
    ULONG FullLength = NtPath->Length / sizeof(WCHAR);
    ULONG Length;
    ULONG Parent;
    ULONG Missing;
    NTSTATUS Status;

    while (FullLength > RootLength + 1 &&
           NtPath->Buffer[FullLength - 1] == L'\\') {
        FullLength--;
    }

    //
    // Walk up to the first directory that can be had.  Mostly that is the last
    // component itself.
    //

    Length = FullLength;

    for (Missing = 0;; Missing++) {

        Status = RtlpCreateOneDirectory(Rtl, NtPath, Length);
        if (Status != STATUS_OBJECT_PATH_NOT_FOUND) {
            break;
        }
        if (Missing == RTLP_MAXIMUM_MISSING_DIRECTORIES) {
            return STATUS_NAME_TOO_LONG;
        }

        Parent = Length;
        while (Parent > RootLength && NtPath->Buffer[Parent - 1] != L'\\') {
            Parent--;
        }
        while (Parent > RootLength && NtPath->Buffer[Parent - 1] == L'\\') {
            Parent--;
        }

        if (Parent <= RootLength) {
            break;
        }

        Length = Parent;
    }

    //
    // Walk down again.
    //

    while (NT_SUCCESS(Status) && Length < FullLength) {

        while (Length < FullLength && NtPath->Buffer[Length] == L'\\') {
            Length++;
        }
        while (Length < FullLength && NtPath->Buffer[Length] != L'\\') {
            Length++;
        }

        Status = RtlpCreateOneDirectory(Rtl, NtPath, Length);
    }

    return Status;
}

//
// Passes an entry of a directory to the callback, unless it is . or ...
// Returns the callback's status, or STATUS_SUCCESS.
//

static
NTSTATUS
RtlpReportDirectoryEntry(
    _In_ PCRTLP_FILE_DIRECTORY_INFORMATION Entry,
    _In_ PRTL_ENTRY_CALLBACK Callback,
    _In_opt_ PVOID Context
    )
{
    UNICODE_STRING Name;
    ULONG Length = Entry->FileNameLength / sizeof(WCHAR);

    if ((Length == 1 && Entry->FileName[0] == L'.') ||
        (Length == 2 &&
         Entry->FileName[0] == L'.' &&
         Entry->FileName[1] == L'.')) {
        return STATUS_SUCCESS;
    }

    RtlPointUnicodeString(&Name, Entry->FileName, Length);

    return Callback(Context,
                    &Name,
                    (ULONGLONG)Entry->EndOfFile.QuadPart,
                    Entry->FileAttributes);
}

_Use_decl_annotations_
NTSTATUS
RtlEnumerateOpenDirectory(
    PCRTL Rtl,
    HANDLE Directory,
    PCUNICODE_STRING Name,
    PRTL_ENTRY_CALLBACK Callback,
    PVOID Context
    )
/*++

Routine Description:

    Calls back for each entry of an open directory.

Arguments:

    Rtl - Supplies the RTL.

    Directory - Supplies the handle.

    Name - Optionally supplies the name that the entries have.

    Callback - Supplies the callback.  The name that it gets lives until it
        returns.

    Context - Optionally supplies the callback's context.

Return Value:

    STATUS_SUCCESS; the callback's failure; or the status of reading the
    directory.

--*/
{
    ULONGLONG Buffer[RTLP_DIRECTORY_BUFFER_IN_BYTES / sizeof(ULONGLONG)];
    PCRTLP_FILE_DIRECTORY_INFORMATION Entry;
    IO_STATUS_BLOCK IoStatus;
    NTSTATUS Status;

    for (;;) {

        Status = Rtl->NtQueryDirectoryFile(Directory,
                                           NULL,
                                           NULL,
                                           NULL,
                                           &IoStatus,
                                           Buffer,
                                           sizeof(Buffer),
                                           RTL_FILE_DIRECTORY_INFORMATION,
                                           FALSE,
                                           (PUNICODE_STRING)Name,
                                           FALSE);

        //
        // The end, or a volume's root directory without any entry.  A name
        // that does not fit (STATUS_BUFFER_OVERFLOW) is a failure as any
        // other: no entry is left out silently.
        //

        if (Status == STATUS_NO_MORE_FILES || Status == STATUS_NO_SUCH_FILE) {
            return STATUS_SUCCESS;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Entry = (PCRTLP_FILE_DIRECTORY_INFORMATION)Buffer;

        for (;;) {

            Status = RtlpReportDirectoryEntry(Entry, Callback, Context);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Entry->NextEntryOffset == 0) {
                break;
            }

            Entry = (PCRTLP_FILE_DIRECTORY_INFORMATION)
                ((const BYTE *)Entry + Entry->NextEntryOffset);
        }
    }
}

//
// The callback of RtlEnumerateDirectory, which is told of directories only.
//

typedef struct _RTLP_LISTING {
    PRTL_DIRECTORY_CALLBACK Callback;
    PVOID Context;
} RTLP_LISTING;

static
NTSTATUS
RtlpListEntry(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONG Attributes
    )
{
    const RTLP_LISTING *Listing = (const RTLP_LISTING *)Context;

    return Listing->Callback(Listing->Context,
                             Name,
                             SizeInBytes,
                             (Attributes & FILE_ATTRIBUTE_DIRECTORY) != 0);
}

_Use_decl_annotations_
NTSTATUS
RtlEnumerateDirectory(
    PCRTL Rtl,
    PCUNICODE_STRING NtPath,
    PRTL_DIRECTORY_CALLBACK Callback,
    PVOID Context
    )
/*++

Routine Description:

    Calls back for each entry of a directory.

Arguments:

    Rtl - Supplies the RTL.

    NtPath - Supplies the directory's NT name.

    Callback - Supplies the callback.  The name that it gets lives until it
        returns.

    Context - Optionally supplies the callback's context.

Return Value:

    STATUS_SUCCESS; the callback's failure; or the status of opening or reading
    the directory.

--*/
{
    RTLP_LISTING Listing;
    HANDLE Directory;
    NTSTATUS Status;

    Status = RtlpCreate(Rtl,
                        NtPath,
                        FILE_LIST_DIRECTORY,
                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                        FILE_OPEN,
                        FILE_DIRECTORY_FILE,
                        &Directory);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Listing.Callback = Callback;
    Listing.Context = Context;
    Status = RtlEnumerateOpenDirectory(Rtl,
                                       Directory,
                                       NULL,
                                       RtlpListEntry,
                                       &Listing);
    RtlClose(Rtl, Directory);
    return Status;
}

_Use_decl_annotations_
VOID
RtlClose(
    PCRTL Rtl,
    HANDLE Handle
    )
/*++

Routine Description:

    Closes a handle.

Arguments:

    Rtl - Supplies the RTL.

    Handle - Supplies the handle, or NULL.

Return Value:

    None.

--*/
{
    if (Handle != NULL) {
        Rtl->NtClose(Handle);
    }
}

_Use_decl_annotations_
VOID
RtlProtectHandle(
    PCRTL Rtl,
    HANDLE Handle,
    BOOLEAN Protect
    )
/*++

Routine Description:

    Sets or clears a handle's protection from being closed.

Arguments:

    Rtl - Supplies the RTL.

    Handle - Supplies the handle, or NULL.

    Protect - Supplies whether it is protected.

Return Value:

    None.  Where the system cannot do it the handle is as any other.

--*/
{
    struct {
        BOOLEAN Inherit;
        BOOLEAN ProtectFromClose;
    } Flags;

    if (Handle == NULL || Rtl->NtSetInformationObject == NULL) {
        return;
    }

    Flags.Inherit = FALSE;
    Flags.ProtectFromClose = Protect;
    (VOID)Rtl->NtSetInformationObject(Handle,
                                      RTL_OBJECT_HANDLE_FLAG_INFORMATION,
                                      &Flags,
                                      sizeof(Flags));
}

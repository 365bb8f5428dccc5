/*++

Module Name:

    TraceLog.c

Abstract:

    Reports what went wrong: to the debugger and to a log file, never on the
    program's own output.

--*/

#include "../Rtl/RtlLog.h"
#include "TraceLog.h"
#include "TraceSession.h"

//
// One thread writes the log at a time, by not sharing it.  How often another
// one tries, a millisecond apart.
//

#define TRACE_LOG_TRIES 20

//
// Opens the log file for appending: <module>.log in the session directory, or
// the file in the temporary directory.
//
// A temporary directory may be one where others can make files, too: what has
// the log's name there and is somebody else's, a link among them, is not
// written to.
//
// Directory: the session directory, or NULL for the temporary one.
// File: the handle.
// Returns STATUS_SUCCESS, NtCreateFile's status or STATUS_INVALID_OWNER.
//

static
NTSTATUS
TraceLogOpen(
    _In_ PTRACE_SESSION Session,
    _In_opt_ HANDLE Directory,
    _Out_ PHANDLE File
    )
{
    NTSTATUS Status;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;
    PUNICODE_STRING Path;
    HANDLE Handle;
    ULONG Options;
    WCHAR Buffer[208];

    if (Directory == NULL) {
        Path = &Session->LogName;
        Options = FILE_OPEN_REPARSE_POINT;
    } else {
        Name.Buffer = Buffer;
        Name.Length = Session->ModuleName.Length;
        Name.MaximumLength = sizeof(Buffer);
        if (Name.Length > 200 * sizeof(WCHAR)) {
            Name.Length = 200 * sizeof(WCHAR);
        }
        RtlCopyBytes(Buffer, Session->ModuleName.Buffer, Name.Length);
        RtlCopyBytes(Buffer + Name.Length / sizeof(WCHAR),
                     L".log",
                     4 * sizeof(WCHAR));
        Name.Length += 4 * sizeof(WCHAR);
        Path = &Name;
        Options = 0;
    }

    InitializeObjectAttributes(&Attributes,
                               Path,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               Session->Rtl.FileSecurity);

    Status = Session->Rtl.NtCreateFile(&Handle,
                                       GENERIC_READ | GENERIC_WRITE |
                                       SYNCHRONIZE,
                                       &Attributes,
                                       &IoStatus,
                                       NULL,
                                       FILE_ATTRIBUTE_NORMAL,
                                       FILE_SHARE_READ | FILE_SHARE_DELETE,
                                       FILE_OPEN_IF,
                                       FILE_NON_DIRECTORY_FILE |
                                       FILE_SYNCHRONOUS_IO_NONALERT |
                                       Options,
                                       NULL,
                                       0);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Directory == NULL && Session->User.SidSize != 0) {
        Status = RtlCheckOwner(&Session->Rtl, &Session->User, Handle);
        if (!NT_SUCCESS(Status)) {
            RtlClose(&Session->Rtl, Handle);
            return Status;
        }
    }

    *File = Handle;
    return Status;
}

//
// Appends a line to the log file.
// Directory: the session directory, or NULL for the temporary one.
// Text: the line, UTF-8.
// Returns STATUS_SUCCESS or the failing call's status.
//

static
NTSTATUS
TraceLogAppend(
    _In_ PTRACE_SESSION Session,
    _In_opt_ HANDLE Directory,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    NTSTATUS Status;
    HANDLE File;
    ULONG Try;
    ULONGLONG Size;
    LARGE_INTEGER Interval;

    Interval.QuadPart = -10000;             // 1 ms
    Status = TraceLogOpen(Session, Directory, &File);
    for (Try = 1;
         Try < TRACE_LOG_TRIES && Status == STATUS_SHARING_VIOLATION;
         Try += 1) {

        Session->Rtl.NtDelayExecution(FALSE, &Interval);
        Status = TraceLogOpen(Session, Directory, &File);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlQueryFileSize(&Session->Rtl, File, &Size);
    if (NT_SUCCESS(Status)) {
        Status = RtlWriteFile(&Session->Rtl,
                              File,
                              Size,
                              Text,
                              LengthInBytes);
    }

    RtlClose(&Session->Rtl, File);
    return Status;
}

//
// Shows a line to the debugger.
// Text: the line, UTF-8.
//

static
VOID
TraceLogDebugString(
    _In_ PCRTL Rtl,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    WCHAR Wide[600];
    ULONG Written;

    RtlUtf8ToWide(Text,
                  LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide) - 1,
                  &Written);
    Wide[Written] = L'\0';
    Rtl->OutputDebugStringW(Wide);
}

_Use_decl_annotations_
VOID
TraceLogError(
    PTRACE_SESSION Session,
    PCRTL_ERROR Error,
    PCSZ Consequence
    )
{
    NTSTATUS Status;
    HANDLE Directory;
    RTL_WRITER Writer;
    CHAR Text[1200];

    if (InterlockedIncrement(&Session->NumberOfErrorsLogged) >
        TRACE_LOG_MAXIMUM_ERRORS) {

        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteLogHead(&Session->Rtl, &Writer, &Session->ModuleName);
    RtlWriteError(&Writer, Error);
    RtlWriteText(&Writer, "; %s\r\n", Consequence);

    TraceLogDebugString(&Session->Rtl, Text, Writer.LengthInBytes);

    //
    // A log that cannot be written where the stores are (their disk is full)
    // goes to where it would be without a session directory.
    //

    Directory = (HANDLE)Session->DirectoryHandle;
    Status = TraceLogAppend(Session, Directory, Text, Writer.LengthInBytes);
    if (!NT_SUCCESS(Status) && Directory != NULL) {
        (VOID)TraceLogAppend(Session, NULL, Text, Writer.LengthInBytes);
    }
}

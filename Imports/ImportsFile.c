/*++

Module Name:

    ImportsFile.c

Abstract:

    The session's file that names the stubs (TraceFormat.h).  It only grows;
    what was given out is in it before anybody can call it.

--*/

#include "../TraceStore/TraceDirectory.h"
#include "../TraceStore/TraceLog.h"
#include "Imports.h"

#define IMPORTS_BUFFER_SIZE 0x10000

static HANDLE ImportsFile;
static PWCHAR ImportsDirectory;     // an NT path: where it is
static USHORT ImportsDirectoryLength;
static CHAR ImportsBuffer[IMPORTS_BUFFER_SIZE];
static ULONG ImportsBuffered;
static ULONG ImportsFileModules;    // those in the buffer, too
static ULONG ImportsWrittenModules;
static ULONG ImportsPending;        // stubs in the buffer: these
static USHORT ImportsPendingStubs[IMPORTS_BUFFER_SIZE /
                                  sizeof(TRACE_IMPORTS_ENTRY)];
static BOOLEAN ImportsIsNamed[IMPORTS_NUMBER_OF_STUBS];     // those, too
static BOOLEAN ImportsIsBroken;

C_ASSERT(IMPORTS_NUMBER_OF_STUBS <= 0x10000);

//
// Has the file that is open been made in the session's directory of now?
//

static
BOOLEAN
ImportsIsSameDirectory(
    VOID
    )
{
    PCUNICODE_STRING Path = TraceDirectoryGetPath(ImportsState.Session);

    return ImportsDirectory != NULL &&
           ImportsDirectoryLength == Path->Length &&
           RtlAreBytesEqual(ImportsDirectory, Path->Buffer, Path->Length);
}

//
// Notes where the file is.  Without memory it is nowhere.
//

static
VOID
ImportsNoteDirectory(
    VOID
    )
{
    PCUNICODE_STRING Path = TraceDirectoryGetPath(ImportsState.Session);
    PVOID Base;

    if (ImportsDirectory == NULL &&
        NT_SUCCESS(RtlAllocatePages(&ImportsState.Rtl,
                                    RTL_MAXIMUM_PATH_IN_CHARS *
                                        sizeof(WCHAR),
                                    &Base))) {
        ImportsDirectory = (PWCHAR)Base;
    }

    if (ImportsDirectory != NULL) {
        RtlCopyBytes(ImportsDirectory, Path->Buffer, Path->Length);
        ImportsDirectoryLength = Path->Length;
    }
}

//
// Takes all that was given out before along to another file.
//

static
NTSTATUS
ImportsCopyFile(
    _In_ HANDLE From,
    _In_ HANDLE To
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    ULONGLONG Position;
    ULONG Size;
    NTSTATUS Status;

    for (Position = sizeof(TRACE_IMPORTS_HEADER);
         Position < ImportsState.Counts.End;
         Position += Size) {

        Size = sizeof(ImportsBuffer);
        if (Size > ImportsState.Counts.End - Position) {
            Size = (ULONG)(ImportsState.Counts.End - Position);
        }

        Status = RtlReadFile(Rtl, From, Position, ImportsBuffer, Size, &Size);
        if (NT_SUCCESS(Status) && Size == 0) {
            Status = STATUS_END_OF_FILE;
        }
        if (NT_SUCCESS(Status)) {
            Status = RtlWriteFile(Rtl, To, Position, ImportsBuffer, Size);
        }
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}

static
NTSTATUS
ImportsMakeFile(
    _In_ HANDLE Directory,
    _In_ ULONG Disposition,
    _Out_ PHANDLE File
    )
{
    PTRACE_SESSION Session = ImportsState.Session;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_IMPORTS_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_IMPORTS_FILE_NAME) - 1);
    InitializeObjectAttributes(&Attributes,
                               &Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               Session->Rtl.FileSecurity);
    return Session->Rtl.NtCreateFile(File,
                                     GENERIC_READ | GENERIC_WRITE |
                                     SYNCHRONIZE,
                                     &Attributes,
                                     &IoStatus,
                                     NULL,
                                     FILE_ATTRIBUTE_NORMAL,
                                     FILE_SHARE_READ | FILE_SHARE_DELETE,
                                     Disposition,
                                     FILE_NON_DIRECTORY_FILE |
                                     FILE_SYNCHRONOUS_IO_NONALERT,
                                     NULL,
                                     0);
}

_Use_decl_annotations_
NTSTATUS
ImportsCreateFile(
    PRTL_ERROR Error
    )
{
    PTRACE_SESSION Session = ImportsState.Session;
    PTRACE_IMPORTS_HEADER Header = &ImportsState.Counts;
    UNICODE_STRING Name;
    HANDLE Directory;
    HANDLE File;
    NTSTATUS Status;

    Status = TraceDirectoryOpenSession(Session, &Directory, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ImportsMakeFile(Directory, FILE_CREATE, &File);
    if (Status == STATUS_OBJECT_NAME_COLLISION && ImportsFile != NULL) {
        if (ImportsIsSameDirectory()) {
            ImportsIsBroken = FALSE;
            return STATUS_SUCCESS;
        }

        //
        // It was there before, and what it had is what is written now.
        //

        Status = ImportsMakeFile(Directory, FILE_OVERWRITE, &File);
    }

    if (NT_SUCCESS(Status) && ImportsFile != NULL) {
        Status = ImportsCopyFile(ImportsFile, File);
        if (!NT_SUCCESS(Status)) {
            RtlClose(&Session->Rtl, File);
        }
    }

    if (!NT_SUCCESS(Status)) {
        RtlPointUnicodeString(&Name,
                              L"" TRACE_IMPORTS_FILE_NAME,
                              RTL_NUMBER_OF(TRACE_IMPORTS_FILE_NAME) - 1);
        return RtlSetError(Error,
                           "creating the file of the imports' names",
                           &Name,
                           Status);
    }

    if (ImportsFile != NULL) {
        RtlProtectHandle(&Session->Rtl, ImportsFile, FALSE);
        RtlClose(&Session->Rtl, ImportsFile);
    } else {
        Header->Magic = TRACE_IMPORTS_MAGIC;
        Header->Version = TRACE_IMPORTS_VERSION;
        Header->HeaderSize = sizeof(*Header);
        Header->ProcessCreationTime = Session->Template->ProcessCreationTime;
        Header->ProcessId = Session->Template->ProcessId;
        Header->ModuleTimeDateStamp = Session->Template->ModuleTimeDateStamp;
        Header->ModuleSize = Session->Template->ModuleSize;
        Header->End = sizeof(*Header);
    }

    ImportsFile = File;
    ImportsIsBroken = FALSE;
    ImportsNoteDirectory();
    RtlProtectHandle(&Session->Rtl, File, TRUE);
    return STATUS_SUCCESS;
}

//
// What could not be written is as if it had never been put there: another
// attachment may write it.  Without a name a stub is an address in the reports,
// and works.
//

static
VOID
ImportsForgetBuffer(
    _In_ NTSTATUS Status
    )
{
    UNICODE_STRING Name;
    RTL_ERROR Error;
    ULONG Index;

    ImportsIsBroken = TRUE;
    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        if (ImportsModules[Index].FileIndex != IMPORTS_NONE &&
            ImportsModules[Index].FileIndex >= ImportsWrittenModules) {

            ImportsModules[Index].FileIndex = IMPORTS_NONE;
        }
    }

    ImportsFileModules = ImportsWrittenModules;
    for (Index = 0; Index < ImportsPending; Index += 1) {
        ImportsIsNamed[ImportsPendingStubs[Index]] = FALSE;
    }

    RtlPointUnicodeString(&Name,
                          L"" TRACE_IMPORTS_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_IMPORTS_FILE_NAME) - 1);
    RtlSetError(&Error,
                "writing the file of the imports' names",
                &Name,
                Status);
    TraceLogError(ImportsState.Session,
                  &Error,
                  "imports that are recorded from now on have no names");
}

//
// Writes what is in the buffer behind what was written, and counts it.
//

_Use_decl_annotations_
VOID
ImportsFlushFile(
    VOID
    )
{
    PCRTL Rtl = &ImportsState.Rtl;
    TRACE_IMPORTS_HEADER Header = ImportsState.Counts;
    NTSTATUS Status;

    if (ImportsFile == NULL || ImportsIsBroken) {
        return;
    }

    Status = STATUS_SUCCESS;
    if (ImportsBuffered != 0) {
        Status = RtlWriteFile(Rtl,
                              ImportsFile,
                              Header.End,
                              ImportsBuffer,
                              ImportsBuffered);
    }
    if (NT_SUCCESS(Status)) {
        Header.End += ImportsBuffered;
        Header.NumberOfStubs += ImportsPending;
        Status = RtlWriteFile(Rtl, ImportsFile, 0, &Header, sizeof(Header));
    }

    //
    // What the file's header does not count is written over.
    //

    if (NT_SUCCESS(Status)) {
        ImportsState.Counts = Header;
        ImportsWrittenModules = ImportsFileModules;
    } else {
        ImportsForgetBuffer(Status);
    }

    ImportsBuffered = 0;
    ImportsPending = 0;
}

static
VOID
ImportsPutEntry(
    _Inout_ PTRACE_IMPORTS_ENTRY Entry,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
{
    ULONG Size;

    Size = (sizeof(*Entry) + Length + 7) & ~7u;
    if (ImportsBuffered + Size > sizeof(ImportsBuffer)) {
        ImportsFlushFile();
        if (ImportsIsBroken) {
            return;
        }
    }

    Entry->SizeInBytes = (USHORT)Size;
    Entry->NameLength = (USHORT)Length;
    RtlZeroBytes(ImportsBuffer + ImportsBuffered, Size);
    RtlCopyBytes(ImportsBuffer + ImportsBuffered, Entry, sizeof(*Entry));
    RtlCopyBytes(ImportsBuffer + ImportsBuffered + sizeof(*Entry),
                 Name,
                 Length);
    ImportsBuffered += Size;
}

//
// The number that a module has in the file.
//

static
ULONG
ImportsPutModule(
    _In_ ULONG Index
    )
{
    PIMPORTS_MODULE Module;
    TRACE_IMPORTS_ENTRY Entry;

    if (Index == IMPORTS_NONE) {
        return TRACE_IMPORTS_NO_MODULE;
    }

    Module = &ImportsModules[Index];
    if (Module->FileIndex == IMPORTS_NONE) {
        RtlZeroBytes(&Entry, sizeof(Entry));
        Entry.Kind = TRACE_IMPORTS_MODULE;
        Entry.Importer = TRACE_IMPORTS_NO_MODULE;
        Entry.Exporter = TRACE_IMPORTS_NO_MODULE;
        ImportsPutEntry(&Entry, Module->Name, Module->NameLength);
        if (ImportsIsBroken) {
            return TRACE_IMPORTS_NO_MODULE;
        }

        Module->FileIndex = ImportsFileModules;
        ImportsFileModules += 1;
    }

    return Module->FileIndex;
}

_Use_decl_annotations_
VOID
ImportsPutStub(
    ULONG Stub,
    ULONG Importer,
    ULONG Exporter,
    PCIMPORTS_NAME Name
    )
{
    TRACE_IMPORTS_ENTRY Entry;
    ULONG Length;

    if (ImportsIsBroken || ImportsIsNamed[Stub]) {
        return;
    }

    RtlZeroBytes(&Entry, sizeof(Entry));
    Entry.Kind = TRACE_IMPORTS_STUB;
    Entry.Ordinal = Name->Ordinal;
    Entry.Rva = (ULONG)((PBYTE)ImportsGetStubAddress(Stub) -
                        (PBYTE)&__ImageBase);
    Entry.StubSize = IMPORTS_STUB_SIZE;
    Entry.Importer = ImportsPutModule(Importer);
    Entry.Exporter = ImportsPutModule(Exporter);
    if (ImportsIsBroken) {
        return;
    }

    Length = Name->Text == NULL ? 0 : Name->Length;
    if (Length > 4096) {
        Length = 4096;
    }
    ImportsPutEntry(&Entry, Name->Text, Length);
    if (ImportsIsBroken) {
        return;
    }

    ImportsIsNamed[Stub] = TRUE;
    ImportsPendingStubs[ImportsPending] = (USHORT)Stub;
    ImportsPending += 1;
}

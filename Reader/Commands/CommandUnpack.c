/*++

Module Name:

    CommandUnpack.c

Abstract:

    TraceReader unpack: makes the files of a pack again.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Session/SessionRebuild.h"
#include "../Session/SessionSource.h"
#include "../Session/SessionTarget.h"
#include "Command.h"

#define READER_UNPACKING_BUFFER 0x100000u

//
// What unpack works with.
//

typedef struct _READER_UNPACKING {
    PCREADER_CONTEXT Context;
    PREADER_PACK Pack;
    PWCHAR PathBuffer;              // RTL_MAXIMUM_PATH_IN_CHARS
    UNICODE_STRING Path;            // of the pack or a folder in it
    READER_TARGET Target;
    ULONG NumberOfDirectories;      // made
    ULONG Directory;                // that is being filled, or READER_NONE
    PUCHAR Buffer;                  // READER_UNPACKING_BUFFER
    PCSZ FailedStep;
    UNICODE_STRING FailedName;      // of a file or folder; "": none
    ULONGLONG SizeInBytes;          // of the files that were made
} READER_UNPACKING;
typedef READER_UNPACKING *PREADER_UNPACKING;


//
// Copies a file out of the pack.  Compact stores have their blocks encoded.
// File: its index.
//

_Must_inspect_result_
static
NTSTATUS
CommandUnpackBytes(
    _Inout_ PREADER_UNPACKING Unpack,
    _In_ ULONG File,
    _In_ ULONGLONG SizeInBytes,
    _In_ HANDLE Handle
    )
{
    READER_PACK_VIEW View;
    ULONGLONG Offset = 0;
    ULONG ReadInBytes;
    PCSZ Step;
    NTSTATUS Status;

    Status = SessionRebuildStore(Unpack->Context,
                                 Unpack->Pack,
                                 File,
                                 Handle,
                                 &Offset,
                                 &Step);
    if (Status != STATUS_NOT_SUPPORTED) {
        Unpack->SizeInBytes += Offset;
        return CommandNoteStep(&Unpack->FailedStep, Step, Status);
    }

    Status = STATUS_SUCCESS;
    RtlZeroBytes(&View, sizeof(View));
    while (NT_SUCCESS(Status) && Offset < SizeInBytes) {

        Status = CommandNoteStep(&Unpack->FailedStep,
                                 "read the pack",
                                 BaseReadPack(Unpack->Pack,
                                              File,
                                              Offset,
                                              Unpack->Buffer,
                                              READER_UNPACKING_BUFFER,
                                              &View,
                                              &ReadInBytes));
        if (NT_SUCCESS(Status)) {
            Status = CommandNoteStep(&Unpack->FailedStep,
                                     "write the file",
                                     RtlWriteFile(Unpack->Context->Rtl,
                                                  Handle,
                                                  Offset,
                                                  Unpack->Buffer,
                                                  ReadInBytes));
            Offset += ReadInBytes;
        }
    }

    BaseFreePackView(Unpack->Pack, &View);
    Unpack->SizeInBytes += Offset;
    return Status;
}


//
// Makes a file of the pack, or a directory to be filled later.
//

static
NTSTATUS
CommandUnpackEntry(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_UNPACKING Unpack = (PREADER_UNPACKING)CallbackContext;
    UNICODE_STRING Path = Unpack->Path;
    HANDLE Handle;
    NTSTATUS Status;

    Unpack->FailedName = *Name;
    if (IsDirectory && Unpack->Directory != READER_NONE) {
        return CommandNoteStep(&Unpack->FailedStep,
                               "make the files (no session has folders in "
                               "its folders)",
                               STATUS_NOT_SUPPORTED);
    }

    if (IsDirectory) {
        Status = SessionMakeTargetDirectory(&Unpack->Target,
                                            Unpack->NumberOfDirectories,
                                            Name);
        Unpack->NumberOfDirectories += NT_SUCCESS(Status);
        return CommandNoteStep(
            &Unpack->FailedStep,
            READER_TARGET_STEP(Status, "make a directory"),
            Status);
    }

    Status = RtlAppendPath(&Path,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (NT_SUCCESS(Status)) {
        Status = SessionMakeTargetFile(&Unpack->Target,
                                       Unpack->Directory,
                                       Name,
                                       &Handle);
    }

    CommandNoteStep(&Unpack->FailedStep,
                    READER_TARGET_STEP(Status, "make a file"),
                    Status);
    if (NT_SUCCESS(Status)) {
        Status = CommandUnpackBytes(Unpack,
                                    BaseFindPackFile(Unpack->Pack, &Path),
                                    SizeInBytes,
                                    Handle);
        SessionCloseTargetFile(&Unpack->Target, Handle, NT_SUCCESS(Status));
    }

    return Status;
}


//
// Fills the directories that were made.  The pack lists them as it did when
// they were.
//

static
NTSTATUS
CommandFillDirectory(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_UNPACKING Unpack = (PREADER_UNPACKING)CallbackContext;
    USHORT Length = Unpack->Path.Length;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);
    if (!IsDirectory) {
        return STATUS_SUCCESS;
    }

    Unpack->Directory = Unpack->Directory == READER_NONE
                            ? 0
                            : Unpack->Directory + 1;
    Status = CommandNoteStep(&Unpack->FailedStep,
                             "read the pack",
                             RtlAppendPath(&Unpack->Path,
                                           Name->Buffer,
                                           Name->Length / sizeof(WCHAR),
                                           TRUE));
    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandUnpackEntry,
                              Unpack);
    }

    Unpack->Path.Length = Length;
    return Status;
}


//
// Makes the files below a directory, which is new or empty.
// Unpack: with the pack's path.
//

_Must_inspect_result_
static
NTSTATUS
CommandUnpackTo(
    _Inout_ PREADER_UNPACKING Unpack,
    _In_z_ PCWSTR Output
    )
{
    NTSTATUS Status;

    Status = BaseOpenPack(Unpack->Context, &Unpack->Path, &Unpack->Pack);
    if (NT_SUCCESS(Status)) {
        Status = SessionEnterPackFolder(Unpack->Pack, &Unpack->Path);
    }

    CommandNoteStep(&Unpack->FailedStep,
                    Status == STATUS_NOT_SUPPORTED
                        ? "open the pack (it is none)"
                        : "open the pack",
                    Status);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SessionOpenTarget(&Unpack->Target,
                               Unpack->Context,
                               Output,
                               BaseCountPackFiles(Unpack->Pack));
    CommandNoteStep(&Unpack->FailedStep,
                    Status == STATUS_DIRECTORY_NOT_EMPTY
                        ? "make the new directory (it exists and is not "
                          "empty)"
                        : "make the new directory",
                    Status);
    Unpack->Directory = READER_NONE;
    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandUnpackEntry,
                              Unpack);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseListPack(Unpack->Pack,
                              &Unpack->Path,
                              CommandFillDirectory,
                              Unpack);
    }

    return Status;
}


static
ULONG
CommandUnpack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_UNPACKING Unpack;
    UNICODE_STRING Given;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: unpack: --output is required (see "
                     "TraceReader unpack --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Unpack, sizeof(Unpack));
    Unpack.Context = Context;
    Unpack.FailedStep = "open the pack";
    Unpack.PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    Unpack.Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                READER_UNPACKING_BUFFER);
    if (Unpack.PathBuffer != NULL && Unpack.Buffer != NULL) {
        RtlPointUnicodeString(&Given,
                              Options->Path,
                              RtlLengthOfWideString(Options->Path));
        Status = RtlDosPathToNtPath(Context->Rtl,
                                    &Given,
                                    Unpack.PathBuffer,
                                    RTL_MAXIMUM_PATH_IN_CHARS,
                                    &Unpack.Path);
    }

    if (NT_SUCCESS(Status)) {
        Unpack.Path.MaximumLength = (USHORT)
            ((RTL_MAXIMUM_PATH_IN_CHARS -
              (ULONG)(Unpack.Path.Buffer - Unpack.PathBuffer)) *
             sizeof(WCHAR));
        Status = CommandUnpackTo(&Unpack, Options->Output);
    }

    if (NT_SUCCESS(Status)) {

        RtlWriteText(Context->Output,
                     "%T: %u files, %llu bytes\n",
                     Options->OutputUtf8,
                     BaseCountPackFiles(Unpack.Pack),
                     Unpack.SizeInBytes);

    } else {

        BaseFail(Context,
                 Unpack.FailedStep,
                 Unpack.Pack != NULL && Unpack.FailedName.Length == 0
                     ? Options->OutputUtf8
                     : Options->PathUtf8,
                 Status);
        if (Unpack.FailedName.Length != 0) {
            RtlWriteText(Context->Errors,
                         "  at %Z\n",
                         &Unpack.FailedName);
            RtlFlushWriter(Context->Errors);
        }
    }

    SessionCloseTarget(&Unpack.Target);
    BaseClosePack(Unpack.Pack);
    Allocator->Free(Allocator->Context, Unpack.Buffer);
    Allocator->Free(Allocator->Context, Unpack.PathBuffer);
    return NT_SUCCESS(Status) ? READER_EXIT_SUCCESS : READER_EXIT_FAILURE;
}


const READER_COMMAND ReaderUnpackCommand = {
    "unpack",
    "PATH",
    "Makes the files of a pack again",
    "PATH is what pack wrote.  The directory of --output, new or empty,\n"
    "becomes the session's: its stores are byte for byte those that were\n"
    "packed, but for what a ring had no longer, which is zero.  Of compact\n"
    "stores the records are encoded again, to the same blocks.\n",
    "  TraceReader unpack -o busy busy.tracepack\n",
    READER_OPTION_OUTPUT,
    CommandUnpack,
    NULL,
    NULL
};

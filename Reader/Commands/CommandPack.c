/*++

Module Name:

    CommandPack.c

Abstract:

    TraceReader pack: puts all that a session is into one file, a tenth of its
    size or less, that is read as it is and elsewhere: its stores up to the end
    of their records, its logs, and the symbol cache with an answer for each
    site.  TraceReader unpack: makes the files again.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Session/SessionName.h"
#include "../Session/SessionRebuild.h"
#include "../Session/SessionSource.h"
#include "../Session/SessionTarget.h"
#include "../Functions/FunctionCache.h"
#include "../Export/ExportPack.h"
#include "Command.h"

#define READER_UNPACKING_BUFFER 0x100000u


//
// Writes the pack under another name and then gives it its own.
// Pack: the pack, its session open.
// PathBuffer: room for two paths.
//

static
ULONG
CommandPackTo(
    _Inout_ PREADER_PACKING Pack,
    _Inout_ PWCHAR PathBuffer
    )
{
    static const WCHAR Suffix[] = L".tmp";
    PCREADER_CONTEXT Context = Pack->Context;
    PCREADER_OPTIONS Options = Pack->Options;
    UNICODE_STRING Given;
    UNICODE_STRING Path;
    UNICODE_STRING Temporary;
    HANDLE Existing;
    ULONGLONG Size = 0;
    NTSTATUS Status;

    RtlPointUnicodeString(&Given,
                          Options->Output,
                          RtlLengthOfWideString(Options->Output));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                PathBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Path);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "create the pack",
                        Options->OutputUtf8,
                        Status);
    }

    Status = RtlOpenFileForReading(Context->Rtl, &Path, &Existing);
    if (NT_SUCCESS(Status) ||
        (Status != STATUS_OBJECT_NAME_NOT_FOUND &&
         Status != STATUS_OBJECT_PATH_NOT_FOUND)) {

        if (NT_SUCCESS(Status)) {
            RtlClose(Context->Rtl, Existing);
        }

        return BaseFail(Context,
                        "create the pack (an existing file is not replaced)",
                        Options->OutputUtf8,
                        NT_SUCCESS(Status) ? STATUS_OBJECT_NAME_COLLISION
                                           : Status);
    }

    Temporary.Buffer = PathBuffer + RTL_MAXIMUM_PATH_IN_CHARS;
    Temporary.Length = Path.Length;
    Temporary.MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
    RtlCopyBytes(Temporary.Buffer, Path.Buffer, Path.Length);
    Status = RtlAppendPath(&Temporary,
                           Suffix,
                           RTL_NUMBER_OF(Suffix) - 1,
                           FALSE);
    if (NT_SUCCESS(Status)) {
        Status = BaseOpenTemporaryFile(Context,
                                       &Temporary,
                                       FALSE,
                                       &Pack->File);
    }

    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "create the pack",
                        Options->OutputUtf8,
                        Status);
    }

    Status = ExportWritePack(Pack);
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Context->Rtl, Pack->File, &Size);
        if (NT_SUCCESS(Status)) {
            Status = BaseRenameFile(Context, Pack->File, &Path, FALSE);
        }

        BaseNoteStep(&Pack->FailedStep, "give the pack its name", Status);
    }

    if (!NT_SUCCESS(Status)) {
        BaseRemoveFile(Context, Pack->File);
    }

    RtlClose(Context->Rtl, Pack->File);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        Pack->FailedStep,
                        Options->OutputUtf8,
                        Status);
    }

    RtlWriteText(Context->Output,
                 "%T: %u store%s with %llu records, %u log%s, %llu names of "
                 "%u functions; %llu bytes\n",
                 Options->OutputUtf8,
                 Pack->Session->NumberOfStores,
                 Pack->Session->NumberOfStores == 1 ? "" : "s",
                 Pack->NumberOfRecords,
                 Pack->NumberOfLogs,
                 Pack->NumberOfLogs == 1 ? "" : "s",
                 Pack->NumberOfNames,
                 Pack->Functions->NumberOfFunctions,
                 Size);
    if (Pack->NumberOvertaken != 0) {
        RtlWriteText(Context->Output,
                     "%llu records were overwritten in their rings before "
                     "they could be copied.\n",
                     Pack->NumberOvertaken);
    }

    return READER_EXIT_SUCCESS;
}


static
ULONG
CommandPack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TEAM Team;
    PREADER_PACKING Pack;
    PWCHAR PathBuffer;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: pack: --output is required (see TraceReader "
                     "pack --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Pack = (PREADER_PACKING)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_PACKING));
    PathBuffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            2 * RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    if (Pack == NULL || PathBuffer == NULL) {
        BaseFail(Context, "pack", Options->PathUtf8, STATUS_NO_MEMORY);
        goto End;
    }

    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Session, &Team.Context, Options)) {
        BaseRundownTeam(&Team);
        goto End;
    }

    FunctionInitializeFunctions(&Functions, &Session);
    Pack->Context = Context;
    Pack->Options = Options;
    Pack->Session = &Session;
    Pack->Functions = &Functions;
    Pack->Team = &Team;
    ExitCode = CommandPackTo(Pack, PathBuffer);
    if (ExitCode == READER_EXIT_SUCCESS) {
        FunctionSaveCache(&Session,
                          (Options->Given & READER_OPTION_VERBOSE) != 0);
    }

    ExportRundownPack(Pack);
    FunctionRundownFunctions(&Functions);
    CommandCloseCommandSession(&Session);
    BaseRundownTeam(&Team);

End:
    Allocator->Free(Allocator->Context, Pack);
    Allocator->Free(Allocator->Context, PathBuffer);
    return ExitCode;
}


const READER_COMMAND ReaderPackCommand = {
    "pack",
    "[PATH]",
    "Puts a session into one small file that can be read elsewhere",
    "FILE has the session's stores, its logs, session.control (what was\n"
    "requested while it was recorded), session.exit (how it ended) and\n"
    "symbols.cache, which holds what the images say about every site.  Every\n"
    "command reads it as it is, here or on another machine, and shows what\n"
    "it shows of the session, without the images; unpack makes the files\n"
    "again.  A call takes some 0.5 to 2 bytes in it (32 in a store).\n"
    "Stores are packed without their unused room; those of a running program\n"
    "have what is there at that moment.  FILE must not exist yet; until it is\n"
    "complete, it is called FILE.tmp.\n",
    "  TraceReader pack -o busy.tracepack SESSION\n"
    "  TraceReader report busy.tracepack\n",
    READER_OPTION_OUTPUT | READER_OPTION_WORKERS | READER_OPTION_VERBOSE |
        READER_OPTION_SYMBOLS | READER_OPTION_PROCESS |
        READER_OPTION_ALL_RUNS,
    CommandPack,
    NULL,
    NULL
};


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
        return BaseNoteStep(&Unpack->FailedStep, Step, Status);
    }

    Status = STATUS_SUCCESS;
    RtlZeroBytes(&View, sizeof(View));
    while (NT_SUCCESS(Status) && Offset < SizeInBytes) {

        Status = BaseNoteStep(&Unpack->FailedStep,
                              "read the pack",
                              BaseReadPack(Unpack->Pack,
                                           File,
                                           Offset,
                                           Unpack->Buffer,
                                           READER_UNPACKING_BUFFER,
                                           &View,
                                           &ReadInBytes));
        if (NT_SUCCESS(Status)) {
            Status = BaseNoteStep(&Unpack->FailedStep,
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
        return BaseNoteStep(&Unpack->FailedStep,
                            "make the files (no session has folders in "
                            "its folders)",
                            STATUS_NOT_SUPPORTED);
    }

    if (IsDirectory) {
        Status = SessionMakeTargetDirectory(&Unpack->Target,
                                            Unpack->NumberOfDirectories,
                                            Name);
        Unpack->NumberOfDirectories += NT_SUCCESS(Status);
        return BaseNoteStep(
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

    BaseNoteStep(&Unpack->FailedStep,
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
    Status = BaseNoteStep(&Unpack->FailedStep,
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

    BaseNoteStep(&Unpack->FailedStep,
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
    BaseNoteStep(&Unpack->FailedStep,
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

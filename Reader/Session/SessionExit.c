/*++

Module Name:

    SessionExit.c

Abstract:

    How a process ended: a file beside its stores.

    The traced process cannot know it: whoever ends it gives the code to the
    system, and a crash or TerminateProcess tells the library nothing.  The one
    who started it can ask.

--*/

#include "../Base/BaseFile.h"
#include "SessionExit.h"
#include "SessionProcess.h"
#include "SessionSource.h"


_Use_decl_annotations_
NTSTATUS
SessionWriteExit(
    PCREADER_CONTEXT Context,
    PCWSTR Directory,
    PREADER_EXIT Exit
    )
{
    PCRTL Rtl = Context->Rtl;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    HANDLE File;
    NTSTATUS Status;

    Exit->Magic = READER_EXIT_MAGIC;
    Exit->Version = READER_EXIT_VERSION;
    Exit->SizeInBytes = sizeof(*Exit);
    Status = BaseMakeNtPath(Context, Directory, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(&NtPath,
                               L"" READER_EXIT_FILE_NAME,
                               RTL_NUMBER_OF(READER_EXIT_FILE_NAME) - 1,
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlCreateFile(Rtl, &NtPath, FILE_OVERWRITE_IF, &File);
        if (NT_SUCCESS(Status)) {
            Status = RtlWriteFile(Rtl, File, 0, Exit, sizeof(*Exit));
            RtlClose(Rtl, File);
        }
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    return Status;
}


_Use_decl_annotations_
VOID
SessionReadExit(
    PREADER_SESSION Session,
    ULONG Process
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_PROCESS Owner = &Session->Processes[Process];
    UNICODE_STRING NtPath;
    READER_EXIT Exit;
    ULONG ReadInBytes = 0;
    READER_SOURCE File;
    NTSTATUS Status;

    if (!NT_SUCCESS(SessionNameProcessFile(
            Session,
            Process,
            L"" READER_EXIT_FILE_NAME,
            RTL_NUMBER_OF(READER_EXIT_FILE_NAME) - 1,
            &NtPath))) {
        return;
    }

    Status = SessionOpenSource(Session->Context,
                               Session->Pack,
                               &NtPath,
                               &File);
    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        return;
    }

    RtlZeroBytes(&Exit, sizeof(Exit));
    Status = SessionReadSource(&File,
                               0,
                               &Exit,
                               sizeof(Exit),
                               &ReadInBytes);
    SessionCloseSource(&File);

    //
    // A later version may have more.
    //

    if (NT_SUCCESS(Status) && ReadInBytes == sizeof(Exit) &&
        Exit.Magic == READER_EXIT_MAGIC && Exit.Version != 0 &&
        Exit.SizeInBytes >= sizeof(Exit) &&
        Exit.ProcessId == Owner->Header->ProcessId &&
        Exit.CreationTime == Owner->Header->ProcessCreationTime) {

        Owner->IsExitKnown = TRUE;
        Owner->ExitCode = Exit.ExitCode;
        Owner->ExitCpuTime = Exit.KernelTime + Exit.UserTime;
        if (Owner->ExitCpuTime < Exit.KernelTime) {
            Owner->ExitCpuTime = 0;
        }
    }
}

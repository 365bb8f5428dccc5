/*++

Module Name:

    BaseErrors.c

Abstract:

    How a command says that it failed: one line on the error output with the
    step, the object and the status.

--*/

#include "BaseErrors.h"

//
// Says what a status means for a file, and what to do about it, in words where
// there are some: then the code follows.
//

static
VOID
BaseWriteStatus(
    _Inout_ PRTL_WRITER Errors,
    _In_ NTSTATUS Status
    )
{
    PCSZ Name = RtlStatusName(Status);
    PCSZ Advice = NULL;

    switch (Status) {

    case STATUS_OBJECT_NAME_NOT_FOUND:
    case STATUS_NO_SUCH_FILE:
        Advice = "no such file or directory";
        break;

    case STATUS_NOT_FOUND:
        Advice = "there is none";
        break;

    case STATUS_OBJECT_PATH_NOT_FOUND:
        Advice = "a directory in the path does not exist";
        break;

    case STATUS_OBJECT_NAME_INVALID:
        Advice = "the name is not valid";
        break;

    case STATUS_FILE_IS_A_DIRECTORY:
        Advice = "it is a directory";
        break;

    case STATUS_NOT_A_DIRECTORY:
        Advice = "it, or what is above it, is no directory";
        break;

    case STATUS_ACCESS_DENIED:
        Advice = "access is denied: check the permissions";
        break;

    case STATUS_SHARING_VIOLATION:
        Advice = "another program has it open";
        break;

    case STATUS_DISK_FULL:
        Advice = "the disk is full: make room, or choose another disk";
        break;

    case STATUS_NO_MEMORY:
        Advice = "there is not enough memory";
        break;

    default:
        RtlWriteText(Errors,
                     ": 0x%08X%s%s%s",
                     (ULONG)Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
        return;
    }

    RtlWriteText(Errors,
                 ": %s (0x%08X%s%s)",
                 Advice,
                 (ULONG)Status,
                 Name != NULL ? ", " : "",
                 Name != NULL ? Name : "");
}

_Use_decl_annotations_
VOID
BaseWriteFailure(
    PCREADER_CONTEXT Context,
    PCRTL_ERROR Error
    )
{
    UNICODE_STRING Object;

    RtlWriteText(Context->Errors, "TraceReader: %s", Error->Step);
    if (Error->ObjectLengthInChars != 0) {
        RtlPointUnicodeString(&Object,
                              Error->Object,
                              Error->ObjectLengthInChars);
        RtlWriteText(Context->Errors, ": %Z", &Object);
    }

    if (Error->Status != STATUS_SUCCESS) {
        BaseWriteStatus(Context->Errors, Error->Status);
    }

    RtlWriteText(Context->Errors, "\n");
    RtlFlushWriter(Context->Errors);
}

_Use_decl_annotations_
ULONG
BaseFail(
    PCREADER_CONTEXT Context,
    PCSZ Step,
    PCSZ Object,
    NTSTATUS Status
    )
{
    RtlWriteText(Context->Errors, "TraceReader: %s: %T", Step, Object);
    BaseWriteStatus(Context->Errors, Status);
    RtlWriteText(Context->Errors, "\n");
    RtlFlushWriter(Context->Errors);
    return READER_EXIT_FAILURE;
}

_Use_decl_annotations_
NTSTATUS
BaseNoteStep(
    PCSZ *FailedStep,
    PCSZ Step,
    NTSTATUS Status
    )
{
    if (!NT_SUCCESS(Status)) {
        *FailedStep = Step;
    }

    return Status;
}

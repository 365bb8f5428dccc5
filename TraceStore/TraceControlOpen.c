/*++

Module Name:

    TraceControlOpen.c

Abstract:

    Makes the control file of a session, or finds the one that another module
    instance has made, enters the instance in it and maps it; and takes it out
    again.

--*/

#include "TraceControl.h"
#include "TraceControlFile.h"
#include "TraceControlOpen.h"
#include "TraceDirectory.h"

//
// Creates the control file, or opens the one that another module instance has
// made.
//

static
NTSTATUS
TraceControlCreateFile(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Directory,
    _Out_ PHANDLE File
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    InitializeObjectAttributes(&Attributes,
                               &Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               Session->Rtl.FileSecurity);

    return Session->Rtl.NtCreateFile(File,
                                     GENERIC_READ | GENERIC_WRITE | SYNCHRONIZE,
                                     &Attributes,
                                     &IoStatus,
                                     NULL,
                                     FILE_ATTRIBUTE_NORMAL,
                                     FILE_SHARE_READ | FILE_SHARE_WRITE |
                                     FILE_SHARE_DELETE,
                                     FILE_OPEN_IF,
                                     FILE_NON_DIRECTORY_FILE |
                                     FILE_SYNCHRONOUS_IO_NONALERT,
                                     NULL,
                                     0);
}

//
// Fills the header of the control file and enters the module instance in it.
// Instances that do this at the same time write the same.
//

static
NTSTATUS
TraceControlFillHeader(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_CONTROL Control,
    _Out_ PULONG Instance
    )
{
    PTRACE_STORE_HEADER Template;
    TRACE_CONTROL Header;
    TRACE_CONTROL_INSTANCE Entry;
    ULONG Index;
    LONGLONG Found;
    SIZE_T Size;

    Template = Session->Template;
    Size = FIELD_OFFSET(TRACE_CONTROL, Instances);
    *Instance = 0;

    if (!TraceControlCopy(&Header, Control, Size)) {
        return STATUS_IN_PAGE_ERROR;
    }

    if (Header.Magic == 0) {
        Header.MajorVersion = TRACE_FORMAT_MAJOR;
        Header.MinorVersion = TRACE_FORMAT_MINOR;
        Header.ProcessId = Template->ProcessId;
        Header.ProcessCreationTime = Template->ProcessCreationTime;
        Header.Capacity = (ULONG)((Session->ControlSize -
                                   TRACE_CONTROL_HEADER_SIZE) /
                                  TRACE_CONTROL_ACTION_SIZE);
        if (!TraceControlCopy(&Control->MajorVersion,
                              &Header.MajorVersion,
                              FIELD_OFFSET(TRACE_CONTROL, NumberClaimed) -
                              FIELD_OFFSET(TRACE_CONTROL, MajorVersion)) ||
            !TraceControlSwap64((LONGLONG volatile *)&Control->Magic,
                                (LONGLONG)TRACE_CONTROL_MAGIC,
                                0,
                                &Found) ||
            !TraceControlCopy(&Header, Control, Size)) {

            return STATUS_IN_PAGE_ERROR;
        }
    }

    if (Header.Magic != TRACE_CONTROL_MAGIC ||
        Header.MajorVersion != TRACE_FORMAT_MAJOR ||
        Header.ProcessId != Template->ProcessId ||
        Header.ProcessCreationTime != Template->ProcessCreationTime) {

        return STATUS_FILE_INVALID;
    }

    //
    // An instance that was not unloaded in good order left its entry.
    //

    RtlZeroBytes(&Entry, sizeof(Entry));
    Entry.State = TRACE_ACTION_START;
    for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index += 1) {
        if (!TraceControlSwap64((LONGLONG volatile *)
                                &Control->Instances[Index].ModuleBase,
                                (LONGLONG)(ULONG_PTR)Session->ModuleBase,
                                0,
                                &Found)) {

            return STATUS_IN_PAGE_ERROR;
        }
        if (Found == 0 || Found == (LONGLONG)(ULONG_PTR)Session->ModuleBase) {
            if (!TraceControlCopy(&Control->Instances[Index].NumberSeen,
                                  &Entry.NumberSeen,
                                  2 * sizeof(ULONG))) {

                return STATUS_IN_PAGE_ERROR;
            }
            break;
        }
    }

    *Instance = Index;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceControlOpen(
    PTRACE_SESSION Session
    )
{
    HANDLE Directory;
    HANDLE File;
    NTSTATUS Status;
    PCSZ Step;
    PVOID Base;
    RTL_ERROR Error;
    ULONG Instance;
    ULONGLONG Size;

    if (Session->Control != NULL ||
        Session->ControlSize == 0 ||
        Session->ControlFailed) {

        return;
    }

    if (!NT_SUCCESS(TraceDirectoryOpenSession(Session, &Directory, &Error))) {
        return;
    }

    Base = NULL;
    Step = "creating the control file";
    if (Session->ControlFile == NULL) {
        Status = TraceControlCreateFile(Session, Directory, &File);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
        RtlProtectHandle(&Session->Rtl, File, TRUE);
        if (InterlockedCompareExchangePointer(
                (PVOID volatile *)&Session->ControlFile,
                File,
                NULL) != NULL) {

            RtlProtectHandle(&Session->Rtl, File, FALSE);
            RtlClose(&Session->Rtl, File);
        }
    }

    //
    // What another instance has made is not made shorter.
    //

    File = (HANDLE)Session->ControlFile;
    Step = "extending the control file";
    Status = RtlQueryFileSize(&Session->Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size < TRACE_CONTROL_LEAST) {
        Status = RtlSetFileSize(&Session->Rtl, File, Session->ControlSize);
    }
    if (NT_SUCCESS(Status)) {
        Step = "mapping the control file";
        Base = TraceControlMapView(Session, 0, Session->ControlSize, &Status);
    }
    if (NT_SUCCESS(Status)) {
        Step = "writing the control file";
        Status = TraceControlFillHeader(Session,
                                        (PTRACE_CONTROL)Base,
                                        &Instance);
    }

End:

    if (!NT_SUCCESS(Status)) {
        RtlUnmapFileSection(&Session->Rtl, Base);
        TraceControlFail(Session, Step, Status);
        return;
    }

    //
    // Threads that came together have written the same.
    //

    Session->ControlInstance = Instance;
    if (InterlockedCompareExchangePointer((PVOID volatile *)&Session->Control,
                                          Base,
                                          NULL) != NULL) {

        RtlUnmapFileSection(&Session->Rtl, Base);
        return;
    }

    //
    // A store of records makes the worker start when it leaves its first view;
    // one of a tree never does, and is there to be looked at for days.
    //

    if (Session->Template->Mode == TRACE_MODE_TREE) {
        TraceControlStartWorker(Session);
    }
}

_Use_decl_annotations_
VOID
TraceControlClose(
    PTRACE_SESSION Session
    )
{
    HANDLE File;
    PTRACE_CONTROL Control;
    ULONG Index;
    ULONGLONG Nothing;

    Control = Session->Control;
    Session->Control = NULL;
    if (Control != NULL) {
        Nothing = 0;
        if (Session->ControlInstance < TRACE_CONTROL_INSTANCES &&
            !TraceControlCopy(&Control->Instances[Session->ControlInstance],
                              &Nothing,
                              sizeof(Nothing))) {

            Session->ControlFailed = 1;
        }
        RtlUnmapFileSection(&Session->Rtl, Control);
    }

    for (Index = 0; Index < TRACE_CONTROL_VIEWS; Index += 1) {
        RtlUnmapFileSection(&Session->Rtl, Session->ControlViews[Index]);
        Session->ControlViews[Index] = NULL;
    }

    File = (HANDLE)Session->ControlFile;
    Session->ControlFile = NULL;
    if (File != NULL) {
        RtlProtectHandle(&Session->Rtl, File, FALSE);
        RtlClose(&Session->Rtl, File);
    }
}

/*++

Module Name:

    CoreControl.c

Abstract:

    The control file of a session: is it one, of this process, and which times
    without recording do its actions make.

    Others write to the file while it is read, and whoever wrote it need not
    have been the library.  What is validated here are copies.

--*/

#include "CoreControl.h"


_Use_decl_annotations_
BOOLEAN
CoreValidateControl(
    PCTRACE_CONTROL Control,
    ULONGLONG FileSize,
    ULONG ProcessId,
    ULONGLONG ProcessCreationTime,
    PCORE_CONTROL_RESULT Result
    )
{
    ULONGLONG Room;
    ULONG Number;

    Result->State = CoreControlBad;
    Result->Problem = "";
    Result->NumberOfActions = 0;
    Result->NumberLeftOut = 0;
    Result->NumberRefused = 0;

    if (Control->Magic == 0) {
        Result->State = CoreControlBeingCreated;
        return FALSE;
    }

    if (Control->Magic != TRACE_CONTROL_MAGIC) {
        Result->Problem = "is not a control file";
        return FALSE;
    }

    if (Control->MajorVersion != TRACE_FORMAT_MAJOR) {
        Result->Problem = "has an unknown version";
        return FALSE;
    }

    if (Control->ProcessId != ProcessId ||
        Control->ProcessCreationTime != ProcessCreationTime) {
        Result->Problem = "belongs to another process than the stores";
        return FALSE;
    }

    Room = 0;
    if (FileSize > TRACE_CONTROL_HEADER_SIZE) {
        Room = (FileSize - TRACE_CONTROL_HEADER_SIZE) /
               TRACE_CONTROL_ACTION_SIZE;
    }

    if (Control->Capacity > Room) {
        Result->Problem = "is shorter than the actions that it has room for";
        return FALSE;
    }

    //
    // Before 1.4, who found no place had claimed one all the same.  What is
    // claimed beyond the end of a file that grows has been cut off, or is a
    // lie.
    //

    Number = Control->NumberClaimed;
    Result->NumberOfActions = Number;
    if (Result->NumberOfActions > Room) {
        Result->NumberOfActions = (ULONG)Room;
    }
    if (Result->NumberOfActions > CORE_MAXIMUM_ACTIONS) {
        Result->NumberOfActions = CORE_MAXIMUM_ACTIONS;
    }

    if (Control->MinorVersion >= 4) {
        Result->NumberLeftOut = Number - Result->NumberOfActions;
        Result->NumberRefused = Control->NumberLeftOut;
    } else if (Number > Result->NumberOfActions &&
               Control->Capacity > Result->NumberOfActions) {

        Result->NumberLeftOut =
            (Number < Control->Capacity ? Number : Control->Capacity) -
            Result->NumberOfActions;
    }

    Result->State = CoreControlValid;
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
CoreValidateAction(
    PTRACE_CONTROL_ACTION Action
    )
{
    if (Action->Kind < TRACE_ACTION_START ||
        Action->Kind > TRACE_ACTION_NAME ||
        Action->Timestamp == 0 ||
        Action->Timestamp == ~0ULL) {
        return FALSE;
    }

    if (Action->TextLength > sizeof(Action->Text)) {
        Action->TextLength = sizeof(Action->Text);
    }

    return TRUE;
}


_Use_decl_annotations_
ULONG
CoreFindPauses(
    PCTRACE_CONTROL_ACTION Actions,
    ULONG NumberOfActions,
    PCORE_PAUSE Pauses
    )
{
    ULONG Number = 0;
    ULONG Index;

    for (Index = 0; Index < NumberOfActions; Index++) {

        PCTRACE_CONTROL_ACTION Action = &Actions[Index];
        BOOLEAN IsStopped = Number != 0 && Pauses[Number - 1].Start == ~0ULL;

        if (Action->Kind == TRACE_ACTION_STOP && !IsStopped) {

            if (Number != 0 &&
                Pauses[Number - 1].Start == Action->Timestamp) {
                Pauses[Number - 1].Start = ~0ULL;
                continue;
            }

            Pauses[Number].Stop = Action->Timestamp;
            Pauses[Number].Start = ~0ULL;
            Number += 1;

        } else if (Action->Kind == TRACE_ACTION_START && IsStopped) {

            if (Pauses[Number - 1].Stop == Action->Timestamp) {
                Number -= 1;
            } else {
                Pauses[Number - 1].Start = Action->Timestamp;
            }
        }
    }

    return Number;
}

/*++

Module Name:

    CoreControl.c

Abstract:

    The control file of a session: is it one, of this process, and which times
    without recording do its actions make.

    Others write to the file while it is read, and whoever wrote it need not
    have been the library.  What is validated here are copies.

--*/

#include "ReaderCore.h"


_Use_decl_annotations_
BOOLEAN
CoreValidateControl(
    PCTRACE_CONTROL Control,
    ULONGLONG FileSize,
    ULONG ProcessId,
    ULONGLONG ProcessCreationTime,
    PCORE_CONTROL_RESULT Result
    )
/*++

Routine Description:

    Validates the header of a control file.

Arguments:

    Control - A copy of it.

    FileSize - The file's size in bytes.

    ProcessId, ProcessCreationTime - Of the session's stores.

    Result - Receives what it is, and how many places may have an action.

Return Value:

    TRUE if it is valid.

--*/
{
    ULONGLONG Room;
    ULONG Number;

    Result->State = CoreControlBad;
    Result->Problem = "";
    Result->NumberOfActions = 0;
    Result->NumberLeftOut = 0;

    if (Control->Magic == 0) {
        Result->State = CoreControlBeingCreated;
        return FALSE;
    }

    if (Control->Magic != TRACE_CONTROL_MAGIC) {
        Result->Problem = "is not a control file";
        return FALSE;
    }

    if (Control->MajorVersion != TRACE_FORMAT_MAJOR) {
        Result->Problem = "has a version that is not known here";
        return FALSE;
    }

    if (Control->ProcessId != ProcessId ||
        Control->ProcessCreationTime != ProcessCreationTime) {
        Result->Problem = "is of another process than the stores";
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
    // Who finds no place has claimed one all the same.
    //

    Number = Control->NumberClaimed;
    if (Number > Control->Capacity) {
        Number = Control->Capacity;
    }

    Result->NumberOfActions = Number;
    if (Number > CORE_MAXIMUM_ACTIONS) {
        Result->NumberOfActions = CORE_MAXIMUM_ACTIONS;
        Result->NumberLeftOut = Number - CORE_MAXIMUM_ACTIONS;
    }

    Result->State = CoreControlValid;
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
CoreValidateAction(
    PTRACE_CONTROL_ACTION Action
    )
/*++

Routine Description:

    Decides whether an action is in a place.

Arguments:

    Action - A copy of the place, of which Kind was read first.  Its text is cut
        to its room.

Return Value:

    FALSE if there is none (yet), or one that is not known here.

--*/
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
/*++

Routine Description:

    Finds the times without recording.  A stop while recording is stopped, and a
    start while it is not, change nothing.

Arguments:

    Actions, NumberOfActions - The actions, in the order of time.

    Pauses - Receives the pauses, in the order of time; they do not touch.

Return Value:

    How many there are.

--*/
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

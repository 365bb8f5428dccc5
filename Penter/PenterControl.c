/*++

Module Name:

    PenterControl.c

Abstract:

    What a traced program calls itself: Penter.h.

--*/

#include "PenterPrivate.h"

#ifndef TRACER_PENTER
#define TRACER_PENTER
#endif
#include "Penter.h"

#define TEB_LAST_ERROR      0x68
#define TEB_LAST_STATUS     0x1250

static
VOID
PenterAct(
    _In_ ULONG Kind,
    _In_z_ PCSZ Text
    )
/*++

Routine Description:

    Appends an action to the control file, and makes the threads of this module
    come by.  Other module instances notice by themselves.

Arguments:

    Kind - Supplies a TRACE_ACTION_*.

    Text - Supplies its text; NULL is allowed.

Return Value:

    None.  An action for which there is no room is left out.

--*/
{
    PTRACE_SESSION Session;
    ULONG LastError;
    ULONG LastStatus;

    LastError = __readgsdword(TEB_LAST_ERROR);
    LastStatus = __readgsdword(TEB_LAST_STATUS);

    Session = PenterGetSession();
    if (Session != NULL) {
        TraceControlOpen(Session);
        if (NT_SUCCESS(TraceControlAppend(Session,
                                          Kind,
                                          Text != NULL ? Text : "",
                                          Text != NULL ?
                                          RtlLengthOfString(Text) : 0))) {

            TraceControlPoll(Session);
        }
    }

    __writegsdword(TEB_LAST_ERROR, LastError);
    __writegsdword(TEB_LAST_STATUS, LastStatus);
}

void
PenterMark(
    const char *Text
    )
/*++

Routine Description:

    Marks this instant.

Arguments:

    Text - Supplies what the mark says.

Return Value:

    None.

--*/
{
    PenterAct(TRACE_ACTION_MARK, Text);
}

void
PenterNameThread(
    const char *Name
    )
/*++

Routine Description:

    Names the calling thread.  Its stores get the name when it comes by.

Arguments:

    Name - Supplies the name.

Return Value:

    None.

--*/
{
    PenterAct(TRACE_ACTION_NAME, Name);
}

void
PenterStart(
    void
    )
/*++

Routine Description:

    Starts recording again.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PenterAct(TRACE_ACTION_START, NULL);
}

void
PenterStop(
    void
    )
/*++

Routine Description:

    Stops recording.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PenterAct(TRACE_ACTION_STOP, NULL);
}

void
PenterClear(
    void
    )
/*++

Routine Description:

    Leaves out what was recorded so far.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PenterAct(TRACE_ACTION_CLEAR, NULL);
}

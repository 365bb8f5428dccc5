/*++

Module Name:

    PenterControl.c

Abstract:

    What a traced program calls itself: Penter.h.

--*/

#include "../Rtl/RtlTeb.h"
#include "../TraceStore/TraceControl.h"
#include "../TraceStore/TraceControlAppend.h"
#include "../TraceStore/TraceControlOpen.h"
#include "PenterStart.h"

#ifndef TRACER_PENTER
#define TRACER_PENTER
#endif
#include "Penter.h"

//
// Appends an action to the control file, and makes the threads of this module
// come by. Other module instances notice by themselves.
// Kind: a TRACE_ACTION_*.
// Text: its text; NULL is allowed.
// An action for which there is no room is left out, and counted.
//

static
VOID
PenterAct(
    _In_ ULONG Kind,
    _In_z_ PCSZ Text
    )
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

//
// Names the calling thread. Its stores get the name when it comes by.
//

void
PenterNameThread(
    const char *Name
    )
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

//
// Leaves out what was recorded so far.
//

void
PenterClear(
    void
    )
{
    PenterAct(TRACE_ACTION_CLEAR, NULL);
}
